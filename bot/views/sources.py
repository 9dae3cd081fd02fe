"""The modal with an answer's sources: pages, the sentences that cite each, and figures missing in the excerpts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from uuid import UUID

from slack_bolt.async_app import AsyncApp

from bot.blocks.answer import SOURCES
from bot.blocks.elements import context as small_text
from bot.blocks.elements import divider, note_lines, section
from bot.blocks.escaping import clean, escape, one_line, shorten
from bot.blocks.sources import linked_title, site_and_date
from bot.listeners.clicks import (
    NOT_YOUR_ANSWER,
    UNKNOWN_ANSWER,
    Click,
    ClickReply,
    as_uuid,
    button,
    find_question,
    may_see,
    text_reply,
)
from bot.listeners.context import ListenerContext
from bot.model.message import Block
from bot.model.question import KeptResult
from bot.slack.views import View
from bot.translation import figures, listing, money, ngettext
from bot.translation import gettext as _
from bot.views.base import modal, open_for_click, shown_problem, update_modal
from bot.views.forms import menu
from bot.views.sent import NOTHING_SENT
from perplexity.citations import number_citations
from perplexity.errors import cost_with_failures
from perplexity.figures import CheckedSentence, check_figures
from perplexity.formatting import format_dollars, format_duration
from perplexity.threads import run_in_thread_if_long
from perplexity.types import Answer, Source
from perplexity.urls import hostname

CALLBACK_ID = "sources_modal"
SITE = "sources_site"
"""The menu that shows the pages of one site only."""

EVERY_SITE = "*"
MAX_SITES = 99
MAX_LISTED = 30
_EXCERPT = 300
_SENTENCE = 160
_MAX_SENTENCES = 5
_QUERY = 80
_FACT = 300
_FIGURES = 2
_NOTES = 5
_QUERIES = 5


def register(app: AsyncApp, context: ListenerContext) -> None:
    """Listen to the button below an answer, and to the menu in the modal."""
    button(app, context, SOURCES, open_sources)
    button(app, context, SITE, choose_site)


async def open_sources(click: Click, context: ListenerContext) -> ClickReply | None:
    """Open the sources of an answer, for everyone who sees the answer."""
    view = await _view(click, context, click.id, EVERY_SITE)
    if isinstance(view, str):
        return text_reply(view)
    return await open_for_click(click, context, view, on_top=click.in_modal)


async def choose_site(click: Click, context: ListenerContext) -> ClickReply | None:
    """Show the pages of the chosen site in the same modal."""
    view = await _view(click, context, as_uuid(click.metadata.get("question")), click.choice)
    if isinstance(view, str):
        view = modal(CALLBACK_ID, _("Sources"), [section(escape(view))])
    return await shown_problem(click, context, await update_modal(context, click.view_id, view, hash=click.view_hash))


async def _view(click: Click, context: ListenerContext, question_id: UUID | None, site: str) -> View | str:
    """Return the view of a question's sources, or the text that says why there is none."""
    row = await find_question(question_id, context)
    kept = await context.questions.result(row.id) if row is not None else None
    if row is None or kept is None or not isinstance(kept.result, Answer):
        return _(UNKNOWN_ANSWER)
    if not may_see(row, click, context.commands):
        return _(NOT_YOUR_ANSWER)
    # Numbering the citations and checking the figures of a long answer takes long.
    build = partial(sources_view, channel=click.channel, site=site)
    length = len(kept.result.text) + sum(len(source.snippet) for source in kept.result.sources)
    return await run_in_thread_if_long(length, build, kept, kept.result)


def sources_view(kept: KeptResult, answer: Answer, *, channel: str, site: str = EVERY_SITE) -> View:
    """Build the view of an answer's sources, or of those from one `site`; `channel` is the place of the click."""
    cited = number_citations(clean(answer.text), answer.sources)
    sentences = check_figures(cited)
    numbered = enumerate([*cited.sources, *cited.others], 1)
    shown = [(number, source) for number, source in numbered if site in {EVERY_SITE, _site(source)}]
    count, cited_count = len(answer.sources), len(cited.sources)
    counted = ngettext("{count} page · {cited} cited", "{count} pages · {cited} cited", count, cited=cited_count)
    blocks = [small_text(counted), *_site_menu(answer.sources, site)]
    for number, source in shown[:MAX_LISTED]:
        if number <= cited_count:
            blocks += [*_cited_source(number, source, sentences), divider()]
        else:
            blocks.append(_other_source(number, source))
    if (hidden := len(shown) - MAX_LISTED) > 0:
        more = ngettext(
            "{count} more page. Choose a site to see its pages.",
            "{count} more pages. Choose a site to see its pages.",
            hidden,
        )
        blocks.append(small_text(more))
    if site == EVERY_SITE and (details := "\n".join(_details(kept, answer, cited.dangling, sentences))):
        blocks += [section(_("*Details*")), small_text(details)]
    return modal(CALLBACK_ID, _("Sources"), blocks, metadata={"question": str(kept.question_id), "channel": channel})


def _details(kept: KeptResult, answer: Answer, dangling: int, sentences: Sequence[CheckedSentence]) -> Iterator[str]:
    """Yield lines on how an answer was made, its searches, and its doubtful parts."""
    cost = money(format_dollars(cost_with_failures(answer.usage.cost_usd, answer.failed)))
    duration = figures(format_duration(answer.seconds)) if answer.seconds else ""
    facts = (answer.provider, answer.effort or answer.model, duration, cost)
    if kept.is_recorded:
        yield _(NOTHING_SENT)
    elif known := [escape(shorten(one_line(fact), _FACT)) for fact in facts if fact]:
        yield " · ".join(known)
    if queries := [escape(shorten(one_line(query), _QUERY)) for query in answer.queries[:_QUERIES]]:
        quoted = ", ".join(_("“{name}”").format(name=query) for query in queries)
        yield _("Searched for {queries}").format(queries=quoted)
    if kept.limits:
        yield escape(shorten(_("Limited to: {filters}").format(filters=", ".join(kept.limits)), _FACT))
    missing = [figure for sentence in sentences for figure in sentence.not_found]
    if missing:
        named = [escape(shorten(figure, 40)) for figure in missing[:_FIGURES]]
        left = len(missing) - _FIGURES
        more = [ngettext("{count} more figure", "{count} more figures", left)] if left > 0 else []
        yield _("Not found in the excerpts: {figures}").format(figures=listing([*named, *more]))
    if dangling:
        yield ngettext(
            "{count} reference without a source removed", "{count} references without a source removed", dangling
        )
    yield from note_lines(answer.notes[:_NOTES])


def _site_menu(sources: Sequence[Source], chosen: str) -> Iterator[Block]:
    sites = [*dict.fromkeys(_site(source) for source in sources if _site(source))]
    if len(sites) > 1:
        options = {EVERY_SITE: _("All sites")} | {site: site for site in sites[:MAX_SITES]}
        yield {"type": "actions", "elements": [menu(SITE, options, chosen=chosen)]}


def _site(source: Source) -> str:
    return shorten(hostname(source.url), 75)


def _cited_source(number: int, source: Source, sentences: Sequence[CheckedSentence]) -> Iterator[Block]:
    yield section("\n".join(_lines(number, source)))
    citing = [sentence for sentence in sentences if number in sentence.sources]
    if citing:
        yield small_text("\n".join(_cited_for(citing)))


def _lines(number: int, source: Source) -> Iterator[str]:
    yield f"*{number}*  {linked_title(source)}"
    if known := site_and_date(source):
        yield known
    if excerpt := escape(shorten(one_line(source.snippet), _EXCERPT)):
        yield f"> {excerpt}"


def _cited_for(citing: Sequence[CheckedSentence]) -> Iterator[str]:
    for sentence in citing[:_MAX_SENTENCES]:
        missing = [escape(shorten(figure, 40)) for figure in sentence.not_found[:5]]
        text = escape(shorten(sentence.text.replace(" | ", " · "), _SENTENCE))
        note = _not_found(missing) if sentence.is_checked else f"   {_('figures not checked in this language')}"
        yield _("Cited for: “{text}”").format(text=text) + note
    if (more := len(citing) - _MAX_SENTENCES) > 0:
        yield ngettext("and for {count} more sentence", "and for {count} more sentences", more)


def _not_found(missing: Sequence[str]) -> str:
    if not missing:
        return ""
    said = _("{figures} are not in the excerpts") if len(missing) > 1 else _("{figures} is not in the excerpts")
    return f"   :mag: {said.format(figures=', '.join(f'*{figure}*' for figure in missing))}"


def _other_source(number: int, source: Source) -> Block:
    title, *others = _lines(number, source)
    return section("\n".join([f"{_('*Not cited*')}  {title}", *others]))
