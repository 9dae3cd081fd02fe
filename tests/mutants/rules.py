# ruff: noqa: E501 - lines of the source, as they are there
"""The rules of the gate, each with the change of the source that disables it and the tests that must notice."""

from __future__ import annotations

from dataclasses import dataclass

from bot.features import FEATURES

CALLS = "tests/together/test_calls.py"
LINKS = "tests/together/test_links.py"
NEEDED = {
    "ask_about", "budgets", "checking", "deepdive", "digests", "home", "limits", "saving", "settings", "sharing"
}  # fmt: skip
"""The features that these two need: a copy without one of them has neither."""
UNTRUSTED = "tests/end_to_end/test_untrusted_text.py"
PREVIEWS = "tests/end_to_end/test_no_unfurling.py"
OUTSIDERS = "tests/end_to_end/test_outsiders.py"
SIGNATURE = "tests/end_to_end/test_signature.py"

ESCAPING = "bot/blocks/escaping.py"
RENDER = "bot/blocks/markdown/render.py"
MESSAGES = "bot/blocks/messages.py"
ELEMENTS = "bot/blocks/elements.py"
SOURCES = "bot/blocks/sources.py"
URLS = "perplexity/urls.py"
SANITIZE = "perplexity/sanitize.py"
REPORT = "perplexity/deepdive/report.py"
VERIFY = "bot/web/signature.py"
SLACK = "bot/slack/messages.py"


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A rule, by its `name`; in the file `path`, `old` becomes `new`, and one of the `tests` must fail."""

    name: str
    path: str
    old: str
    new: str
    tests: tuple[str, ...]


def _rule(name: str, path: str, old: str, new: str, *tests: str) -> Rule:
    return Rule(name=name, path=path, old=old, new=new, tests=tests)


ALL = (
    _rule(
        "control and reordering characters are removed",
        ESCAPING,
        '_SURROGATES.sub("\\ufffd", _UNWANTED.sub("", text))',
        '_SURROGATES.sub("\\ufffd", text)',
        CALLS,
    ),
    _rule(
        "half a character is replaced",
        ESCAPING,
        '_SURROGATES.sub("\\ufffd", _UNWANTED.sub("", text))',
        '_UNWANTED.sub("", text)',
        CALLS,
    ),
    _rule("tokens that call are broken", ESCAPING, '_TOKEN.sub(rf"\\1{WORD_JOINER}", text)', "text", CALLS),
    _rule(
        "tokens that begin with an entity are broken",
        ESCAPING,
        "(<|&lt;|&LT;|&#0{0,5}60;|&#[xX]0{0,5}3[cC];)",
        "(<)",
        CALLS,
    ),
    _rule(
        "bare @here and its like are broken",
        ESCAPING,
        '_BROADCAST.sub(f"@{WORD_JOINER}", _TOKEN.sub(rf"\\1{WORD_JOINER}", text))',
        '_TOKEN.sub(rf"\\1{WORD_JOINER}", text)',
        CALLS,
    ),
    _rule("@here is broken before an underscore, too", ESCAPING, "(?![^\\W_])", "\\b", CALLS),
    _rule(
        "& is escaped",
        ESCAPING,
        '.replace("&", "&amp;")',
        "",
        CALLS,
        LINKS,
        "tests/bot/blocks/test_sources.py",
    ),
    _rule("< is escaped", ESCAPING, '.replace("<", "&lt;")', "", CALLS, LINKS),
    _rule(
        "> is escaped",
        ESCAPING,
        '.replace(">", "&gt;")',
        "",
        CALLS,
        LINKS,
        "tests/bot/blocks/test_sources.py",
        "tests/bot/blocks/test_news.py",
    ),
    _rule(
        "backticks in code are replaced",
        ESCAPING,
        ".replace('`', 'ˋ')",
        "",
        CALLS,
        LINKS,
        "tests/bot/commands/test_help.py",
    ),
    _rule(
        "messages are made harmless before they leave",
        ESCAPING,
        "blocks=tuple(_sanitize_block(block) for block in message.blocks),",
        "blocks=message.blocks,",
        CALLS,
    ),
    _rule(
        "views are made harmless before they leave",
        ESCAPING,
        "    return _sanitize_block(view)",
        "    return view",
        CALLS,
    ),
    _rule("a date has no link", ESCAPING, "[^<>|^]*\\|[^<>|]*>)", "[^|]*\\|[^<>|]*>)", CALLS),
    _rule(
        "HTML and autolinks in Markdown are broken",
        ESCAPING,
        'prose = _TAG.sub(f"<{WORD_JOINER}", prose)',
        "pass",
        CALLS,
        LINKS,
    ),
    _rule(
        "links and definitions in Markdown are broken",
        ESCAPING,
        'prose = _LABEL_END.sub(f"]{WORD_JOINER}", prose)',
        "pass",
        LINKS,
    ),
    _rule("addresses with slashes are broken", ESCAPING, 'prose = _SLASH.sub(f"{WORD_JOINER}/", prose)', "pass", LINKS),
    _rule(
        "addresses with other schemes are broken",
        ESCAPING,
        'prose = _SCHEME.sub(f":{WORD_JOINER}", prose)',
        "pass",
        LINKS,
    ),
    _rule("schemes are broken after an underscore, too", ESCAPING, "(?<![^\\W_]){scheme}", "\\b{scheme}", LINKS),
    _rule(
        "bare hosts are broken",
        ESCAPING,
        "    prose = _HOST_DOT.sub(_broken_dot, prose)",
        "    pass",
        LINKS,
    ),
    _rule(
        "entities of addresses and tokens are broken",
        ESCAPING,
        "prose = _ENTITY.sub(_broken_entity, prose)",
        "pass",
        CALLS,
        LINKS,
    ),
    _rule("entities of tokens are broken, too", ESCAPING, 'frozenset(".:/@!#")', 'frozenset(".:/@")', CALLS),
    _rule(
        "tokens in code are broken",
        RENDER,
        "return render_numbers(break_mentions(text))",
        "return render_numbers(text)",
        "tests/bot/blocks/test_streaming.py",
        CALLS,
    ),
    _rule(
        "a message without blocks links nothing else",
        MESSAGES,
        "piece if place % 2 else neutralize(piece)",
        "piece",
        LINKS,
    ),
    _rule(
        "quotations without blocks link nothing else",
        MESSAGES,
        'escape(neutralize(clean(element["text"])))',
        'escape(clean(element["text"]))',
        LINKS,
    ),
    _rule(
        "the text beside blocks links nothing",
        ELEMENTS,
        'escape(neutralize("\\n".join(said).translate(_SHOWN).replace(WORD_JOINER, "")))',
        'escape("\\n".join(said).translate(_SHOWN).replace(WORD_JOINER, ""))',
        LINKS,
        "tests/bot/blocks/test_answer.py",
    ),
    _rule(
        "texts are shown without a client's own links",
        ELEMENTS,
        '"text": text, "verbatim": True}',
        '"text": text}',
        LINKS,
    ),
    _rule(
        "only safe addresses are linked",
        SOURCES,
        "    address = safe_url(source.url)\n",
        "    address = source.url\n",
        LINKS,
    ),
    _rule(
        "no title reads as another address",
        SOURCES,
        "if address and _names_another_site(title, address):",
        "if False:",
        LINKS,
    ),
    _rule("only http and https are linked", URLS, "parts.scheme not in _PORTS or host is None", "host is None", LINKS),
    _rule("no user name is in an address", URLS, ' or "@" in parts.netloc', "", LINKS),
    _rule(
        "no hidden character is in an address",
        URLS,
        "any(unicodedata.category(c) in _UNSEEN for c in url)",
        "False",
        LINKS,
    ),
    _rule(
        "an address has at most 2,000 characters",
        URLS,
        "MAX_URL_LENGTH = 2000",
        "MAX_URL_LENGTH = 2_000_000",
        LINKS,
    ),
    _rule("a host is shown in punycode", URLS, "punycode(name)", "name", LINKS),
    _rule(
        "what ends a link is encoded",
        URLS,
        """parts.path or "/"), safe="/%:@!$&+,;=~'")""",
        """parts.path or "/"), safe="/%:@!$&+,;=~'|<>()[] ")""",
        LINKS,
        "tests/perplexity/test_urls.py",
    ),
    _rule(
        "no entity is in an address",
        URLS,
        '_ENTITY.sub(r"\\1%3B", path + query + fragment)',
        "path + query + fragment",
        "tests/perplexity/test_urls.py",
        "tests/bot/blocks/test_properties.py",
    ),
    _rule("no call is in an address", URLS, '_MENTION.sub("%40", ', "str(", LINKS, "tests/perplexity/test_urls.py"),
    _rule(
        "queries in progress are broken text",
        "bot/blocks/answer.py",
        "neutralize(clean(shorten(one_line(query), _QUERY)))",
        "clean(shorten(one_line(query), _QUERY))",
        LINKS,
        CALLS,
    ),
    _rule(
        "files link only sources",
        REPORT,
        "text, _ = drop_unknown_links(readable(parse(strip_controls(text))).text, sources)",
        "text = readable(parse(strip_controls(text))).text",
        LINKS,
    ),
    _rule(
        "lines in files link nothing",
        REPORT,
        "    words, _ = drop_unknown_links(one_line(text), ())\n",
        "    words = one_line(text)\n",
        LINKS,
    ),
    _rule("files hold no HTML and no mail links", REPORT, '_MARKUP.sub(r"\\g<0> ", words)', "words", CALLS, LINKS),
    _rule("files define no links", REPORT, "    return _DEFINITION.sub(broken, text)", "    return text", LINKS),
    _rule(
        "controls are removed from what models and files get",
        SANITIZE,
        '_CONTROLS.sub("", _LINE_ENDS.sub("\\n", text))',
        '_LINE_ENDS.sub("\\n", text)',
        CALLS,
    ),
    _rule(
        "half a character is replaced for models",
        SANITIZE,
        '_SURROGATES.sub("\\ufffd", _CONTROLS',
        "str(_CONTROLS",
        CALLS,
    ),
    _rule(
        "no page closes its section",
        SANITIZE,
        'return _MARKER.sub(r"‹\\1›", strip_tags(line))',
        'return _MARKER.sub(r"‹\\1›", line)',
        CALLS,
        UNTRUSTED,
    ),
    _rule(
        "no answer imitates our markup",
        SANITIZE,
        'return _TAG.sub("‹", strip_controls(text))',
        "return strip_controls(text)",
        CALLS,
    ),
    _rule(
        "no page imitates a marker",
        SANITIZE,
        'return _MARKER.sub(r"‹\\1›", strip_tags(line))',
        "return strip_tags(line)",
        "tests/perplexity/test_sanitize.py",
    ),
    _rule(
        "nothing controls a terminal",
        "perplexity/sanitize.py",
        "return _UNSAFE.sub(lambda match: _picture(ord(match[0])), text",
        "return (text",
        CALLS,
    ),
    _rule(
        "posted messages unfold no link",
        SLACK,
        "metadata=metadata_of(question, part), **_content(message)",
        "metadata=metadata_of(question, part), text=message.text, blocks=list(message.blocks) or None",
        PREVIEWS,
    ),
    _rule(
        "private messages unfold no link",
        SLACK,
        "thread_ts=thread_ts, **_content(message))",
        "thread_ts=thread_ts, text=message.text, blocks=list(message.blocks) or None)",
        PREVIEWS,
    ),
    _rule(
        "answers to commands unfold no link",
        SLACK,
        '_content(message) | {"response_type"',
        '{"text": message.text, "blocks": list(message.blocks)} | {"response_type"',
        PREVIEWS,
    ),
    _rule(
        "acknowledgements unfold no link",
        "bot/listeners/slash.py",
        "        unfurl_links=False,\n        unfurl_media=False,\n",
        "",
        PREVIEWS,
    ),
    _rule(
        "answers go to Slack's hosts alone",
        SLACK,
        'if parts.scheme == "https" and parts.netloc in HOSTS:',
        "if parts.scheme:",
        "tests/end_to_end/test_no_fetching.py",
    ),
    _rule(
        "a header that is repeated signs nothing",
        VERIFY,
        "    if len(timestamps) != 1 or len(signatures) != 1:",
        "    if not timestamps or not signatures:",
        SIGNATURE,
    ),
    _rule(
        "a signature holds for five minutes",
        VERIFY,
        "    if abs(now - int(timestamp)) > MAX_SKEW_SECONDS:",
        "    if False:",
        SIGNATURE,
    ),
    _rule(
        "a time is digits of ASCII",
        VERIFY,
        "timestamp.isascii() and timestamp.isdigit() and",
        "timestamp.isdigit() and",
        SIGNATURE,
    ),
    _rule(
        "a signature is of the body",
        VERIFY,
        'f"v0:{timestamp}:".encode() + body',
        'f"v0:{timestamp}:".encode()',
        SIGNATURE,
    ),
    _rule(
        "the signature is compared",
        VERIFY,
        "    if not hmac.compare_digest(",
        "    if False and not hmac.compare_digest(",
        SIGNATURE,
    ),
    _rule(
        "nothing is parsed before the signature",
        VERIFY,
        "            verify(timestamps, signatures, body, secret=self.signing_secret.encode(), now=self.now())\n            parsed = parse(body, content_type=request.content_type)\n",
        "            parsed = parse(body, content_type=request.content_type)\n            verify(timestamps, signatures, body, secret=self.signing_secret.encode(), now=self.now())\n",
        SIGNATURE,
    ),
    _rule(
        "bots are not answered",
        "bot/slack/threads.py",
        'message.get("subtype") in USER_SUBTYPES and not automatic and',
        'message.get("subtype") in USER_SUBTYPES and',
        "tests/end_to_end/test_loops.py",
    ),
    _rule(
        "a thread has so many answers a minute",
        "bot/storage/queries.py",
        "threads >= nullif(thread_per_minute, 0)",
        "threads < 0",
        "tests/end_to_end/test_loops.py",
    ),
    _rule(
        "a private answer's buttons are its asker's",
        "bot/listeners/clicks.py",
        "return row.user_id == self.user and row.team_id in self.teams",
        "return True",
        "tests/end_to_end/test_forged_buttons.py",
    ),
    _rule(
        "outsiders are refused",
        "bot/model/membership.py",
        "profile.outside or not theirs & ours.ids",
        "not theirs & ours.ids",
        OUTSIDERS,
    ),
    _rule(
        "who names no workspace is refused",
        "bot/model/membership.py",
        "profile.outside or not theirs & ours.ids",
        "profile.outside or (theirs and not theirs & ours.ids)",
        OUTSIDERS,
    ),
    _rule(
        "an open channel is open for questions alone",
        "bot/listeners/intake.py",
        "of_channel and row.command not in MEMBERS_COMMANDS",
        "of_channel",
        OUTSIDERS,
    ),
    _rule(
        "sources of denied sites are left out",
        "perplexity/domains.py",
        "return _matches(name, self._denied) or (",
        "return (",
        "tests/end_to_end/test_rules_for_sites.py",
    ),
    _rule(
        "nothing is asked without redaction",
        "bot/chain.py",
        "[Redacting(redactor=redactor)] if redactor.is_set else []",
        "list[Step]()",
        "tests/end_to_end/test_redaction.py",
    ),
)
"""Every rule. What a text must be changed to is a line of the source, so that a rule that moves is noticed at once."""

LEFT_OUT = set() if {feature.name for feature in FEATURES} >= NEEDED else {CALLS, LINKS}

RULES = tuple(rule for rule in ALL if not LEFT_OUT & {*rule.tests})
"""The rules whose tests this copy of the project has."""
