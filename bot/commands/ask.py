"""`/ask`: answers a question from the web, with sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from bot.blocks.answer import ASK_ABOUT, RECHECK, answer_ending, answer_messages
from bot.blocks.escaping import escape
from bot.commands.base import Command, CommandContext, CommandForm, Option, Reply, Stats, ValueKind
from bot.commands.conversation import (
    MAX_SEARCHED,
    NEXT_INSTRUCTION,
    AnswerWithNext,
    WithoutNextQuestions,
    WithPages,
    answer_about,
    build_messages,
    numbered_pages,
    question_about,
    question_again,
    remember_answer,
    standalone_question,
    take_next_questions,
)
from bot.commands.parsing import (
    AFTER,
    BEFORE,
    COUNTRY,
    DOMAIN,
    LANG,
    PRIVATE,
    PUBLIC,
    RECENCY,
    Arguments,
    OptionParser,
    PublicOrPrivate,
    audience_of,
    contradiction,
    filter_options,
    inline_code,
    parse_filters,
    parse_options,
    parse_visibility,
    split_quoted,
    usage_errors,
    value_not_allowed,
    visibility_options,
    write_command,
)
from bot.errors import Refused, UsageError
from bot.model.message import Audience
from bot.model.question import AnswerButtons, SearchPage, StreamEnding, Thread, Turn
from bot.preferences import Preferred, allowed_pages, allows_all
from bot.storage.preferences import PreferenceStore
from bot.translation import N_
from bot.translation import gettext as _
from perplexity.errors import cost_with_failures
from perplexity.filters import Filters
from perplexity.formatting import closest_match
from perplexity.freshness import add_newest_source_line
from perplexity.models import EFFORTS, resolve
from perplexity.notes import no_results_text
from perplexity.sanitize import one_line
from perplexity.threads import run_in_thread_if_long
from perplexity.types import MAX_PROMPT_LENGTH, Answer, AnswerKind, Message, Question, Source, validate_messages

EARLIER_NOT_ALLOWED = N_(
    "The earlier answer rests on pages that its channel’s settings no longer allow, so I didn’t compare the two."
)

REASONING = Option(name="--reasoning", short="-r", help=N_("Think longer before answering"), label=N_("Think longer"))
MODEL = Option(
    name="--model",
    value="NAME",
    help=N_("Who answers: sonar, sonar-pro, …, an effort from fast to xhigh, or vendor/model"),
    label=N_("Model"),
)
EFFORT = Option(
    name="--effort",
    value="|".join(EFFORTS),
    help=N_("How long to think; `--model` takes these levels too"),
    kind=ValueKind.CHOICE,
    label=N_("How long to think"),
)
AGENT = Option(
    name="--agent",
    help=N_("Let an agent search step by step, as often as the question takes"),
    label=N_("Let an agent search"),
)
LANGUAGE = replace(
    LANG,
    help=N_("Answer in this language, two letters; pages in every language are searched"),
    label=N_("Language"),
)
PLACE = replace(COUNTRY, help=N_("Where you are, two letters, for local answers"))
OWN_FILTERS = (RECENCY, DOMAIN, LANGUAGE, PLACE, AFTER, BEFORE)
PARSER = OptionParser(
    max_length=MAX_PROMPT_LENGTH,
    options=(REASONING, MODEL, EFFORT, AGENT, *OWN_FILTERS, PUBLIC, PRIVATE),
    unsupported={
        "--mode": N_("`--mode` works for searches only: an answer always comes from the open web."),
        "--n": N_("`--n` works for searches only: an answer takes as many sources as it needs."),
    },
)


SAME_LANGUAGE = Message(
    role="system", content="Answer in the language of the user’s last question, unless it asks for another one."
)
"""The message that is sent with a question for the web if no option or setting names the language."""


NO_QUESTION = N_("Write your question.")
"""The error that a form shows if its question is empty."""


@dataclass(frozen=True, kw_only=True)
class AskRequest(PublicOrPrivate):
    """A question; `agent` is whether the agent answers it."""

    question: Question
    agent: bool = False


def parse(text: str) -> AskRequest:
    """Parse the text after `/ask`. Raises UsageError."""
    arguments = parse_options(text, PARSER)
    if not arguments.text:
        raise UsageError(_("Add a question after the options."))
    agent, reasoning = AGENT.name in arguments.options, REASONING.name in arguments.options
    model, named = _model(arguments)
    with usage_errors(N_("a question")):
        question = Question(
            messages=validate_messages([Message(role="user", content=arguments.text)]),
            reasoning=reasoning,
            model=model,
            filters=parse_filters(arguments),
            standalone=standalone_about(*split_quoted(arguments.text)),
        )
        target = resolve(model, reasoning=reasoning) if model is not None else None
    if agent and (reasoning or model):
        raise contradiction(AGENT, REASONING if reasoning else named, _("the agent has a model of its own"))
    if reasoning and target is not None and not target.slow:
        raise contradiction(REASONING, named, _("{model} does not reason").format(model=inline_code(target.name)))
    return AskRequest(question=question, agent=agent, **parse_visibility(arguments))


def standalone_about(question: str, message: str) -> str:
    """Return a question with the beginning of the message that it is about, for a service that can only search.

    Return an empty text if the message is empty.
    """
    return f"{question} {one_line(message)[:MAX_SEARCHED]}" if message else ""


def _model(arguments: Arguments) -> tuple[str | None, Option]:
    """Return the model or effort that was typed, and the option for it. Raises UsageError.

    If neither was typed, return None and the option for a model.
    """
    model, effort = arguments.one(MODEL.name), arguments.one(EFFORT.name)
    if effort is None:
        return model, MODEL
    if effort.strip().lower() not in EFFORTS:
        meant = closest_match(effort.strip().lower(), EFFORTS)
        hint = _("Did you mean {name}?").format(name=meant) + " " if meant else ""
        allowed = _("It takes {names} or {last}").format(names=", ".join(EFFORTS[:-1]), last=EFFORTS[-1])
        problem = value_not_allowed(EFFORT.name, inline_code(effort), allowed=f"{hint}{allowed}")
        raise UsageError(problem, option=EFFORT.name)
    if model is not None and model.strip().lower() != effort.strip().lower():
        raise contradiction(MODEL, EFFORT, _("both say how long to think"))
    return effort.strip().lower(), EFFORT


async def answer(
    request: AskRequest,
    context: CommandContext,
    *,
    next_questions: bool = False,
    preferences: PreferenceStore | None = None,
) -> Answer:
    """Answer the question, or resume its background run. Raises PerplexityError.

    `next_questions` is whether the answer suggests further questions.
    """
    if request.agent:
        reply = await context.services.agent.answer(request.question)
    else:
        pages = _pages(context)
        suggests, on_event = next_questions and not pages, context.on_event
        if suggests and on_event is not None:
            on_event = WithoutNextQuestions(on_event=on_event)
        if pages and on_event is not None:
            on_event = WithPages(on_event=on_event, pages=pages)
        question = question_about(request.question, pages) if pages else request.question
        earlier, note = await _earlier(context, preferences)
        if earlier is not None:
            question = question_again(question, *earlier)
        elif not (pages or question.filters.languages):
            question = replace(question, messages=(SAME_LANGUAGE, *question.messages))
        reply = await context.services.provider.answer(
            replace(
                question,
                messages=(NEXT_INSTRUCTION, *question.messages) if suggests else question.messages,
                run_id=context.row.run_id,
                on_run=context.on_run,
                on_event=on_event,
                check_cancelled=context.check_cancelled,
                text_shown=context.text_shown,
            )
        )
        if suggests and reply.kind is AnswerKind.MODEL:
            reply = take_next_questions(reply)
        reply = answer_about(reply, pages) if pages else reply
        reply = replace(reply, stand_in=note) if note else reply
    return await run_in_thread_if_long(
        len(reply.text), add_newest_source_line, reply, request.question, now=context.now()
    )


async def _earlier(
    context: CommandContext, preferences: PreferenceStore | None
) -> tuple[tuple[Answer, datetime] | None, str]:
    """Return a pair: the earlier answer to compare the new one with, and a note for the asker.

    The earlier answer comes with the time of its question. The first item is None if there is no earlier answer, or if
    the rules of its channel no longer allow its sources. The note is empty except in the second case. Raises database
    errors.
    """
    parent = context.parent if context.row.action == RECHECK else None
    if parent is None or not isinstance(parent.result, Answer):
        return None, ""
    row = context.row
    rules = row.preferences.rules
    if preferences is not None and parent.channel_id != row.channel_id:
        place = {"team_id": row.team_id, "user_id": row.user_id}
        rules = (await preferences.get(**place, channel_id=parent.channel_id)).rules
    if not allows_all(parent.result.sources, rules):
        return None, _(EARLIER_NOT_ALLOWED)
    return (parent.result, parent.asked_at), ""


def _pages(context: CommandContext) -> tuple[Source, ...]:
    """Return the pages that the question is about and that the rules allow; empty if the question is for the web.

    Raises PerplexityError if the question is about pages, and none of them is saved and allowed.
    """
    if context.row.action != ASK_ABOUT:
        return ()
    shown = context.parent.result if context.parent is not None else None
    if not isinstance(shown, SearchPage):
        raise Refused(_("I no longer have these pages. Please search again."))
    pages = allowed_pages(numbered_pages(shown), context.row.preferences.rules)
    if not pages:
        raise Refused(_("This channel’s settings no longer allow any of these pages. Please search again."))
    return pages


def write_question(typed: str, *, public: bool | None) -> str:
    """Return a text for `/ask` that asks the `typed` question, and in which no typed word counts as an option.

    If `public` is True, the answer is for everyone. If it is False, the answer is for the asker alone, whatever the
    settings say. If it is None, the place of the question and the settings decide who sees the answer.
    """
    options = visibility_options(public=public is True, private=public is False)
    return " ".join([*options, "--", escape(typed.strip())])


def nothing_found_text(request: AskRequest) -> str:
    """Return the sentence for an empty result."""
    return no_results_text(question_text(request), request.question.filters)


def question_text(request: AskRequest) -> str:
    """Return the question, without the message that it is about."""
    return split_quoted(request.question.text)[0]


def about_text(request: AskRequest) -> str:
    """Return the message that the question is about; empty if there is none."""
    return split_quoted(request.question.text)[1]


def add_turns(request: AskRequest, turns: Sequence[Turn], thread: Thread) -> AskRequest:
    """Return the request with the turns before it, and with the other messages of its thread."""
    question = request.question
    messages = tuple(build_messages(turns, question.messages[-1], thread))
    standalone = standalone_question(turns, question.text) or question.standalone
    return replace(request, question=replace(question, messages=messages, standalone=standalone))


def result_length(answer: Answer) -> int:
    """Return the number of characters in the answer."""
    return len(answer.text)


def render(answer: Answer, request: AskRequest, audience: Audience) -> Reply:
    """Render the answer."""
    cost_usd = cost_with_failures(answer.usage.cost_usd, answer.failed)
    return Reply(
        messages=answer_messages(answer, audience=audience, question=question_text(request)),
        stats=Stats(provider=answer.provider, model=answer.model, effort=answer.effort, cost_usd=cost_usd),
    )


def ending(answer: Answer, request: AskRequest, audience: Audience) -> StreamEnding:
    """Return the end of the answer, after its text."""
    return StreamEnding(answer=answer, blocks=partial(answer_ending, answer))


def deeper(text: str) -> str | None:
    """Return a text that asks the same with a higher effort.

    Return None if `text` already asks for a higher effort, or asks an agent. Raises UsageError if the text cannot be
    parsed.
    """
    request = parse(text)
    question = request.question
    if request.agent or question.reasoning or resolve(question.model).slow:
        return None
    wanted = replace(request, question=replace(question, reasoning=True, model=None))
    options = (
        REASONING.name,
        *filter_options(question.filters),
        *visibility_options(public=request.public, private=request.private),
    )
    return write_command(options, question.text, parse=parse, meaning=wanted)


def filters(request: AskRequest) -> Filters:
    """Return the question's filters."""
    return request.question.filters


def prefer(request: AskRequest, settings: Preferred) -> AskRequest:
    """Return the request with the settings for everything that was not typed."""
    question = request.question
    chosen = request.agent or question.reasoning or question.model is not None
    filters = settings.filters(question.filters, language=True)
    return replace(
        request,
        question=replace(question, model=question.model if chosen else settings.model, filters=filters),
        public=settings.visible(public=request.public, private=request.private),
    )


def buttons(answer: Answer, request: AskRequest) -> AnswerButtons | None:
    """Return the facts that decide the buttons below the answer; None if the answer is empty."""
    if not (answer.text.strip() or answer.passages):
        return None
    question = request.question
    thinks = request.agent or question.reasoning or resolve(question.model).slow
    suggested = answer.next_questions if isinstance(answer, AnswerWithNext) else ()
    by_model = answer.kind is AnswerKind.MODEL
    return AnswerButtons(deeper=by_model and not thinks, sources=len(answer.sources), next_questions=suggested)


ASK = Command(
    name="ask",
    summary=N_("Get an answer from the web, with sources"),
    usage="[--reasoning] [--recency week] [--domain a.com,-b.com] [--public] QUESTION",
    options=PARSER.options,
    examples=(
        ("what changed in python 3.14?", N_("an answer with its sources")),
        ("-r compare postgres and mysql full-text search", N_("think longer first")),
        ("--domain docs.python.org how do t-strings work", N_("from one site")),
        ("--agent which of these three trains is the cheapest tomorrow", N_("search step by step")),
        ("--recency day --public what is new in AI today", N_("the past day, shown to everyone here")),
    ),
    parse=parse,
    audience=audience_of,
    answer=answer,
    render=render,
    result_length=result_length,
    add_turns=add_turns,
    remember=remember_answer,
    ending=ending,
    buttons=buttons,
    filters=filters,
    deeper=deeper,
    form=CommandForm(title=N_("Ask a question"), text=N_("Question"), missing=NO_QUESTION),
    prefer=prefer,
    nothing_found=nothing_found_text,
    pending_label=N_("Searching the web"),
    stoppable=True,
    question_text=question_text,
    about_text=about_text,
)
ASK_WITHOUT_AGENT = ASK.without(AGENT)
"""The command for an app without an agent: its help leaves out `--agent`; a question with it raises AgentNotSetUp."""


def ask_command(*, agent: bool, next_questions: bool, preferences: PreferenceStore) -> Command[AskRequest, Answer]:
    """Return the command; without an agent, its help does not list `--agent`."""
    answers = partial(answer, next_questions=next_questions, preferences=preferences)
    return replace(ASK if agent else ASK_WITHOUT_AGENT, answer=answers)
