"""Word lists for negation, hedging, debunking and text addressed to a model, in several languages.

The lists are short and match too often rather than too rarely, because a match can only make a verdict unclear. No
function here does I/O.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import pairwise

_END = r"(?!\w)"
_BEGIN = r"(?<!\w)"


def _words(*alternatives: str) -> str:
    """Return a pattern of whole words; each may be a regular expression."""
    return rf"{_BEGIN}(?:{'|'.join(' '.join(alternatives).split())}){_END}"


_NO_NEGATION = re.compile(
    rf"{_BEGIN}(?:not (?:only|just|merely|least)|no (?:less|fewer) than|no doubt|without (?:a )?doubt|nos?\. ?(?=\d)"
    r"|nicht (?:nur|zuletzt)|ohne zweifel|non seulement|no s[oó]lo|non solo|não só|niet alleen|не только)"
    r"|非[洲常]|未[来來]|不[仅僅但断斷久]|[无無][锡线线論论]|[暑寒]?假[期日]"
)
_NEGATION = re.compile("|".join((
        _words(r"""
            not no(?:ne|body|thing|where)? never neither without cannot hardly barely scarcely fails? failed
            false(?:ly)? untrue incorrect(?:ly)? wrong(?:ly)? fake hoax(?:es)? myths? misconceptions? debunk\w* deny
            den(?:y|ies|ied|ying) refut\w+ disprov\w+ unlikely unsupported unproven unfounded baseless
            contrary fiction(?:al)? satir\w+ parody fabricat\w+ misleading erroneous(?:ly)? mistaken(?:ly)? non
            in(?:accurate|valid) retract\w+ impossible discredited rather\sthan instead\sof
        """),
        r"n't(?!\w)",
        _words(r"""
            nicht kein(?:e[nmrs]?)? nie niemals niemand(?:e[nm])? nichts weder ohne falsch\w* unwahr\w* mythos
            mythen irrtum irrtümer irrig\w* widerleg\w+ dementier\w+ bestreite[nt] bestritt\w* unzutreffend\w*
            entgegen unmöglich keinesfalls keineswegs kaum lüge\w* erfunden\w*
        """),
        _words(r"""
            pas jamais aucun\w* sans fau(?:x|sses?) mythe démenti\w* nunca jamás ningun\w* ningún sin fals[oae]s?
            mito bulo nessun\w* senza bufala não nenhum\w* sem niet geen nooit zonder onwaar inte ikke ikkje aldrig
            ingen не нет ни никогда без ложь ложн\w+ миф nigdy bez nieprawd\w* değil yok ليس لا لم لن غير לא אין
        """),
        "[不没沒无無非未否假谣謠]|ない|なかっ|ません|ではな|デマ|嘘|않|아니|없|못",
    )))  # fmt: skip
_HEDGE = re.compile("|".join((
        _words(r"""
            might possibly perhaps maybe allegedly alleged reportedly supposedly supposed purported(?:ly)?
            apparently rumou?r\w* unconfirmed unverified disput\w+ speculat\w+ hypothe\w+ conspiracy
            claim(?:s|ed|ing)? if could may(?!\s\d) would(?!\slater) unless whether believe[sd]?
            (?:is|are|was|were|been)\s(?:thought|said)\sto assum\w+ pretend\w* imagin\w+ joke[ds]?
            some\s(?:people|users|critics|say|believe|argue|think) many\sbelieve former(?:ly)? ex until used\sto
            partly partially sometimes almost nearly one\sof among\sthe planned plans? propos\w+ expected
            hop(?:e|es|ed|ing) aim(?:s|ed)? should ought will shall thinks? why predict\w* forecast\w* legend\w* tales?
            folklore in\s(?:the|a|an)\s(?:film|movie|novel|book|game|series|story|show|dream)
            sa(?:id|ys?) sta(?:ted?|tes)\sthat told according report(?:s|ed)?\sthat argue[sd]? suggest(?:s|ed)?
            warn(?:s|ed)? wr(?:ote|ites?) thought feels? felt opinion beliefs? petition\w* refus\w+ abstain\w* ceas\w+
            candidat\w+ appl(?:y|ies|ied)\sto cancel\w* nominat\w+ threaten\w*
        """),
        _words(r"""
            angeblich\w* vermeintlich\w* vermutlich möglicherweise vielleicht wahrscheinlich mutmasslich\w*
            gerücht\w* behaupte\w* umstritten\w* wenn könnte\w* soll(?:en)? würde\w* ehemalig\w* früher\w* vormals
            sollten? glaub\w+ legende\w* im\s(?:film|roman|spiel|märchen) prognose\w* einst beinahe teilweise
            geplant\w* sogenannt\w* eine[rs]?\sder zählt\szu sagte[n]? laut zufolge berichte\w* meint\w*
            kandida\w+ bewarb\w* weigerte\w*
        """),
        _words(r"""
            serai(?:t|ent) aurai(?:t|ent) prétendu\w* peut-être rumeur supuest\w* presunt\w* quizás? podría\w*
            rumor\w* forse sarebbe avrebbe presunt\w* talvez seria misschien zou vermeend\w* якобы возможно если
        """),
        "据说|據說|传闻|傳聞|可能|也许|也許|如果|据称|かもしれ|らしい|という噂|もし|可能性",
    )))  # fmt: skip
_DEBUNK = re.compile(
    _words(r"""
            myths? hoax(?:es)? debunk\w* misconceptions? fact[-\s]?check\w* satir\w+ parody fabricat\w+ fake untrue
            false disproved refuted conspiracy mythos mythen faktencheck falschmeldung\w* widerleg\w+ irrtümer
            irrtum unwahr\w* mythe désinformation mito bulo bufala misinformation disinformation desinformation
            fiction(?:al)? joke
        """)
    + "|谣言|謠言|辟谣|デマ|嘘"
)
_META = re.compile(
    _words(r"""
            claims? verdicts? as\ssupported as\scontradicted prompts? instructions? ignore disregard chatbots? llms?
            fact-?checkers? behauptung\w* anweisung\w* ignorier\w* affirmations? consignes? afirmaci[oó]n\w*
            instrucciones affermazion[ei] istruzioni
        """)
    + r"|[:=(\[] ?(?:supported|contradicted|belegt)\b|指令|忽略|無視|主張"
)
"""Words of sentences about claims or to a model; such a sentence is no evidence, unless the claim has the words."""

_QUESTION_MARKS = frozenset("?？؟")


def _near(*groups: str, gap: int = 60) -> str:
    """Return a pattern of the groups in this order, with at most `gap` characters between two of them."""
    return rf"[^\n]{{0,{gap}}}?".join(f"(?:{group})" for group in groups)


_RULES = r"\b(?:instructions?|prompts?|rules?|directions?|guidelines?|commands?|orders?|context|task)\b"
_EARLIER = r"\b(?:previous|above|prior|earlier|preceding|all|any|your|these|other|system|foregoing)\b"
_TOLD = (
    r"(?:^|[.!?:;,\n\"“‘'(\[\]>*#|-] ?"
    r"|\b(?:please|must|should|shall|now|and|then|to|always|you|just|simply|instead|so|but|kindly) )"
)
"""What stands before an imperative: the beginning of a clause, or a word that asks. "People who ignore" has neither."""
_IGNORE = _TOLD + r"(?:ignore|ignoring|disregard|forget|override|bypass|neglect|do not follow|don't follow)\b"
_RATE = _TOLD + (
    r"(?:mark|label|rate|classify|judge|treat|consider|report|return|answer|reply|respond|output|declare|set|flag|accept"
    r"|confirm|deem|rule|verify|say|write|print|give|assign|find)\b"
)
_CLAIM = r"\b(?:claims?|statements?|verdicts?|assertions?|everything|all of (?:them|it))\b"
_RATING = r"\b(?:supported|contradicted|unclear|true|verified|confirmed|correct|proven|false)\b"
_REASON = r"(?! (?:by|with|before|in|from|against)\b)"
"""Matches unless a word such as "by" follows: "claims must be supported by evidence" demands no verdict."""
_ADDRESS = (
    r"\b(?:you are|you're|act as|if you are|dear|hey|attention"
    r"|(?:note|notice|message|instructions?|reminder) (?:to|for))"
)
_MODEL = (
    r"(?:ai|a\.i\.|llms?|(?:large )?language models?|(?:ai|virtual|automated) (?:assistants?|models?|systems?|agents?)"
    r"|assistants?|chatbots?|fact[- ]?check(?:ers?|ing (?:model|system|bot)s?))\b"
)


_INSTRUCTIONS = tuple(map(re.compile, (
    _near(_IGNORE, _EARLIER, _RULES),
    _near(_IGNORE, r"\b(?:the|everything|what is|all)\b", r"\b(?:above|before|else|pages?|sources?)\b"),
    _near(_RATE, _CLAIM, _RATING),
    _near(_RATE, r"\b(?:supported|contradicted)\b", _CLAIM),
    _near(_RATE, r"\bas\b", r"[\"'“‘]?(?:supported|contradicted)\b"),
    _near(
        r"\b(?:respond|reply|answer|output)\b",
        r"\b(?:with|only|exactly)\b",
        r"\b(?:supported|contradicted|verdict|yes|true)\b",
        gap=30,
    ),
    rf"\b(?:quote|page|source) ?[:=] ?[\"'“]?(?:supported|contradicted)\b{_REASON}|\bverdict ?[:=] ?unclear\b",
    rf"\bverdict\b[^\n]{{0,20}}?[ \"'“](?:supported|contradicted)\b{_REASON}",
    rf"(?:^|[.!?\n] ?)(?:to|for) (?:the |any |all |every )?{_MODEL}(?: reading this)? ?[:,]",
    rf"{_ADDRESS},? (?:an? |the |any |all |our )?(?:helpful )?{_MODEL}",
    r"\bas an? (?:ai|llm|(?:large )?language model)(?:[,.:]| (?:language )?(?:model|assistant)\b)",
    _near(_CLAIM, r"\b(?:must|should|shall|ha(?:s|ve) to|needs? to) be\b", _RATING + _REASON),
    r"\bsystem (?:prompt|override|instructions?)\b",
    r"\bdeveloper (?:prompt|message|mode)\b|\bnew instructions? ?:",
    _near(
        r"(?:^|\n)[ \t>*#]*+(?:system|assistant) ?:",
        r"\b(?:you|must|ignore|answer|reply|respond|output|verdicts?|claims?|supported|contradicted)\b",
    ),
    r"<\|?[ /]*(?:im_start|im_end|endoftext|system|assistant|user|instructions?)\b",
    r"\[/?inst\]|###? ?instruction",
    r"[<‹][ /]*(?:pages?|verdict|claims?|message|sources?|excerpts?|results?|references)\b[^\n]{0,40}[>›]",
    r"\bend of (?:the )?(?:excerpts?|pages?|sources?|document)\b",
    # German, French, Spanish, Italian, Portuguese, Dutch, Polish, Russian, Chinese, Japanese, Korean, Arabic.
    _near(
        r"\b(?:ignorier\w*|missacht\w*|vergiss|vergesst|vergessen sie|beachte\w* nicht)\b",
        r"\b(?:anweisung\w*|instruktion\w*|vorgabe\w*|regeln?|prompts?|obig\w*|vorherig\w*|bisherig\w*|vorigen?)\b",
    ),
    _near(
        r"\b(?:markieren?|markiert|bewerten?|bewertet|stufen?|stuft|kennzeichnen?|kennzeichnet|werten?|wertet|gib|gebt)\b",
        r"\b(?:behauptung\w*|aussage\w*|supported|belegt)\b",
        r"\b(?:belegt|bestätigt|gestützt|unterstützt|wahr|richtig|korrekt|supported|behauptung\w*|aussage\w*)\b",
    ),
    _near(
        r"\b(?:ignore[zsr]?|oublie[zsr]?|ignora[dr]?|ignoren?|olvid[ae]\w*|dimentica\w*|esqueça\w*|negeer|vergeet|"
        r"zignoruj|pomiń)\b",
        r"\b(?:instruct\w*|instrucc\w*|instruç\w*|istruzion\w*|consignes?|précédent\w*|anterior\w*|precedent\w*|"
        r"règles|reglas|regole|regras|vorige|bovenstaande|polecenia|instrukcj\w*|poprzedni\w*)",
    ),
    _near(
        r"\b(?:marque[zsr]?|marca\w*|classe[zr]?|considère\w*|considera\w*|declara\w*|markeer|oznacz)\b",
        r"\b(?:affirmations?|afirmaci\w*|afirmaç\w*|affermazion\w*|bewering\w*|todo|todas?|tout\w*|twierdzen\w*)\b",
        r"\b(?:étayée?s?|confirmée?s?|vraie?s?|soutenue?s?|verdader\w*|confirmad\w*|respaldad\w*|ver[ae]\b|"
        r"verdadeir\w*|supportat\w*|waar|supported|potwierdzon\w*)",
    ),
    _near(
        r"\b(?:(?:про)?игнорируй|забудь|не обращай)(?:те)?\b",
        r"(?:инструкц|указани|предыдущ|выше|правил)",
    ),
    r"\b(?:antworte\w*|gib|schreib\w*)\b[^\n]{0,30}?\b(?:belegt|gestützt|supported)\b",
    "(?:忽略|无视|忽視|無視|忘记|忘掉|不要理会)[^\n]{0,20}(?:指令|指示|说明|說明|以上|之前|提示|规则|上述|先前)",
    "(?:指示|命令|上記|以前|これまで|プロンプト)[^\n]{0,20}(?:無視|忘れ)",
    "(?:标记|標記|判定|判断|视为|回答|标注)[^\n]{0,20}(?:声明|说法|主张|断言|陈述)[^\n]{0,20}(?:支持|真实|正确|属实|成立)",
    "(?:지시|명령|이전)[^\n]{0,20}무시|(?:تجاهل|انس)[^\n]{0,30}(?:تعليمات|السابقة|أعلاه)",
    # Letters one by one, or letters of two scripts in one word, both of which hide the word from a filter.
    r"(?:\b[a-z][ .\-_*]){7,}[a-z]\b|[a-z][а-яёіјѕԁ][a-z]|[а-яё][a-z][а-яё]|\b[а-яёіјѕԁ][a-z]{2}",
)))  # fmt: skip
"""Patterns of text that addresses a model.

They are not joined into one pattern, because all other threads wait while one pattern is searched for.
"""


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().translate({0x2019: "'", 0x2018: "'", 0x02BC: "'"})


def negations(text: str) -> int:
    """Return how many times a text denies something; "not only" and similar phrases do not count."""
    return len(_NEGATION.findall(_NO_NEGATION.sub(" ", _folded(text))))


def hedges(text: str) -> set[str]:
    """Return a text's words that express doubt, hearsay, a plan or a condition, or limit it to a part or the past."""
    return {match[0] for match in _HEDGE.finditer(_folded(text))}


def debunks(text: str) -> bool:
    """Return whether a text speaks of myths, hoaxes or corrections."""
    return _DEBUNK.search(_folded(text)) is not None


def meta_words(text: str) -> set[str]:
    """Return the words of a text that speak of claims, verdicts or instructions."""
    return {match[0] for match in _META.finditer(_folded(text))}


def is_question(text: str) -> bool:
    """Return whether a question mark follows the last letter or digit of a sentence."""
    last = next((sign for sign in reversed(text) if sign.isalnum() or sign in _QUESTION_MARKS), "")
    return last in _QUESTION_MARKS


def addresses_model(text: str) -> bool:
    """Return whether a text seems to give a model an instruction, or imitates a part of our prompt."""
    folded = re.sub(r"[ \t\v\f\r\xa0]+", " ", _folded(text))
    joined = folded.replace("\n", " ")
    return any(pattern.search(folded) or pattern.search(joined) for pattern in _INSTRUCTIONS)


def without_instructions(text: str, sentences: Sequence[int]) -> str:
    """Return a text without the sentence that addresses a model, and without the neighbours of that sentence.

    Return "" if several sentences address a model, or if the remaining text still does. `sentences` are the places at
    which the sentences begin, followed by the text's end.
    """
    if not addresses_model(text):
        return text
    parts = [text[start:end] for start, end in pairwise(sentences)]
    told = [place for place, part in enumerate(parts) if addresses_model(part)]
    kept = "\n\n".join(part for place, part in enumerate(parts) if all(abs(place - one) > 1 for one in told))
    return "" if len(told) > 1 or addresses_model(kept) else kept
