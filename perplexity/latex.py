"""Writes LaTeX formulas as Unicode text if nothing of a formula is lost and its meaning does not change.

The symbols are those of `pylatexenc`'s table. The grammar is our own, because converters guess at unknown commands;
here, a formula with anything outside the grammar has no exact text. No function here does I/O.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import cache, lru_cache

LONGEST = 200
"""The most characters of a formula that is converted; a longer one would be no easier to read on one line."""

_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\s+|''|.", re.DOTALL)
_DEEPEST = 8
_ABOVE = dict(
    zip("0123456789+−-=()abcdefghijklmnoprstuvwxyzABDEGHIJKLMNOPRTUVWβγδθ",
        "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁⱽᵂᵝᵞᵟᶿ", strict=True)
)  # fmt: skip
_BELOW = dict(zip("0123456789+−-=()aehijklmnoprstuvxβγρφχ", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵦᵧᵨᵩᵪ", strict=True))
_SCRIPTS = "".join([*_ABOVE.values(), *_BELOW.values()])
_RAISED = {"∘": "°", "°": "°", "′": "′", "″": "″"}
"""Maps powers of a single sign, such as `^∘` for degrees, to characters that look raised but are no superscripts."""
_SPACES = {
    ",": "\u2009", ":": "\u205f", ";": "\u2004", " ": " ", "!": "", "quad": "\u2003", "qquad": "\u2003\u2003",
}  # fmt: skip
_SIGNS = {"{": "{", "}": "}", "%": "%", "|": "‖"}
_MORE_SYMBOLS = {"ne": "≠", "neg": "¬", "land": "∧", "lor": "∨", "iff": "⟺", "implies": "⟹", "mid": "∣"}
_GROUP = frozenset("{")
_SCRIPT_SIGNS = frozenset("^_")
_PLAIN = frozenset("+-=<>()[]|/.,:;!?")
_IN_TEXT = frozenset(" +-–—=()/.,:;!?'°€£")
_FUNCTIONS = frozenset(
    {"arccos", "arcsin", "arctan", "cos", "cosh", "cot", "csc", "det", "dim", "exp", "gcd", "inf", "ker", "lim", "ln"}
    | {"log", "max", "min", "Pr", "sec", "sin", "sinh", "sup", "tan", "tanh"}
)
_LAYOUT = frozenset({"displaystyle", "limits", "left", "right", "big", "Big", "bigl", "bigr", "Bigl", "Bigr"})
_ALPHABETS = {"mathbf": "BOLD", "mathbb": "DOUBLE-STRUCK", "mathcal": "SCRIPT"}
_ACCENTS = {"hat": "\u0302", "bar": "\u0304", "tilde": "\u0303", "dot": "\u0307", "vec": "\u20d7"}
_PREFIXES = frozenset("∂∇∀∃∄¬∑∏∫∮")
_UNARY = frozenset("±∓∼≈≤≥≪≫¬")
_SCRIPTED = f"[{_SCRIPTS}′″]*"
_SIMPLE = re.compile(
    rf"[\d.]+|[∂Δ∇dδ]?[^\W\d_]\W?{_SCRIPTED}|[^\W\d_]\([^()]*\)|√(?:\d+|[^\W\d_])".replace(
        r"\W?", "[\u0300-\u036f\u20d7]?"
    )
)
_OF_SYMBOLS = frozenset({"Ll", "Lu", "Lo", "Sm", "So", "Po", "Ps", "Pe"})
_ADDRESS = re.compile(r"\.[^\W\d_]|//|:/")


class _Inexact(Exception):
    """The formula has no exact Unicode text."""


class _Kind(Enum):
    ORDINARY = auto()
    LETTER = auto()
    RELATION = auto()
    FUNCTION = auto()
    FRACTION = auto()
    ROOT = auto()
    ABOVE = auto()
    BELOW = auto()
    SPACE = auto()


@dataclass(frozen=True)
class _Atom:
    """A piece of a formula. `macro` is True for a control word; a space after it may be there only to end the word."""

    text: str
    kind: _Kind = _Kind.ORDINARY
    macro: bool = False


@lru_cache(maxsize=1024)
def unicode_text(formula: str) -> str | None:
    """Return a formula as text, None if no exact text exists.

    An exact text consists of letters, digits, operators, known symbols and functions, indices and powers whose
    characters Unicode has, accents on one letter, fractions and roots, with brackets where one line needs them.
    """
    if len(formula) > LONGEST:
        return None
    try:
        text = _joined(_Reader(_TOKEN.findall(formula)).sequence(""))
    except _Inexact:
        return None
    return text if text and not _ADDRESS.search(text) else None


_CHARACTERS = {character: _Atom(character) for character in _PLAIN} | {
    "*": _Atom("∗"),
    "'": _Atom("′"),
    "''": _Atom("″"),
    "~": _Atom("\u00a0", _Kind.SPACE),
}


class _Reader:
    """Reads tokens into atoms. Raises _Inexact."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self._tokens = tokens
        self._place = 0
        self._depth = 0

    def _next(self) -> str:
        if self._place >= len(self._tokens):
            raise _Inexact
        self._place += 1
        return self._tokens[self._place - 1]

    def _peek(self) -> str:
        return self._tokens[self._place] if self._place < len(self._tokens) else ""

    def sequence(self, end: str) -> list[_Atom]:
        """Return the atoms before the token `end`, and consume that token.

        If `end` is empty, read to the end of the formula.
        """
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _Inexact
        atoms: list[_Atom] = []
        while (token := self._peek()) != end:
            self._next()
            if token in _SCRIPT_SIGNS:
                atoms.append(self._script(token, atoms))
            elif token in _GROUP:
                group = self.sequence("}")
                if len(group) > 1 and self._peek() in {*_SCRIPT_SIGNS, "'"}:
                    raise _Inexact
                atoms += group
            else:
                atoms += self._one(token)
        if end:
            self._next()
        self._depth -= 1
        return atoms

    def _one(self, token: str) -> list[_Atom]:
        if token.startswith("\\"):
            return self._macro(token[1:])
        if token in _CHARACTERS:
            return [_CHARACTERS[token]]
        if token.isspace():
            return [_Atom(" ", _Kind.SPACE)]
        if token.isascii() and token.isalnum():
            return [_Atom(token, _Kind.LETTER if token.isalpha() else _Kind.ORDINARY)]
        if token.isascii() or unicodedata.category(token) not in ("Ll", "Lu", "Lo", "Sm", "Nd"):
            raise _Inexact
        return [_symbol(token)]

    def argument(self) -> list[_Atom]:
        """Read what follows a macro, `^` or `_`, and return its atoms: a group, a macro or one character."""
        token = self._next()
        if token.isspace():
            token = self._next()
        if token in _GROUP:
            return self.sequence("}")
        if token in {"}", *_SCRIPT_SIGNS}:
            raise _Inexact
        return self._one(token)

    def _written(self) -> str:
        """Return an argument as text."""
        return _joined(self.argument())

    def _script(self, sign: str, before: Sequence[_Atom]) -> _Atom:
        kind = _Kind.ABOVE if sign == "^" else _Kind.BELOW
        for atom in reversed(before):
            if atom.kind not in (_Kind.ABOVE, _Kind.BELOW):
                break
            if atom.kind is kind:
                raise _Inexact
        text = "".join(atom.text for atom in self.argument() if atom.kind is not _Kind.SPACE)
        if sign == "^" and text in _RAISED:
            return _Atom(_RAISED[text], kind)
        known = _ABOVE if sign == "^" else _BELOW
        if not text or not all(character in known for character in text):
            raise _Inexact
        return _Atom("".join(known[character] for character in text), kind)

    def _macro(self, name: str) -> list[_Atom]:
        if name in _READERS:
            return _READERS[name](self)
        if name in _LAYOUT:
            return self._layout(name)
        if name in _ALPHABETS:
            return [_Atom("".join(_styled(_ALPHABETS[name], one) for one in self._written()), _Kind.LETTER)]
        if name in _ACCENTS:
            return [_accented(self._written(), _ACCENTS[name])]
        return [_of_name(name)]

    def _layout(self, name: str) -> list[_Atom]:
        """Skip a command that only sets the size of the next bracket or of the whole formula.

        A dot after `left` or `right` stands for an invisible bracket, so it is skipped, too.
        """
        if (name in {"left", "right"} and self._peek() == ".") or self._peek().isspace():
            self._next()
        return []

    def text(self) -> list[_Atom]:
        """Return the words of a text command."""
        if self._next() != "{":
            raise _Inexact
        said: list[str] = []
        while (token := self._next()) != "}":
            shown = " " if token.isspace() else token
            if not (shown in _IN_TEXT or shown.isalnum()):
                raise _Inexact
            said.append(shown)
        return [_Atom(character, _Kind.SPACE if character == " " else _Kind.ORDINARY) for character in "".join(said)]

    def fraction(self) -> list[_Atom]:
        """Return a fraction on one line."""
        above, below = (_whole_part(self._written()) for _ in range(2))
        return [_Atom(f"{above}/{below}", _Kind.FRACTION)]

    def root(self) -> list[_Atom]:
        """Return a square root with its sign."""
        if self._peek() == "[" or not (of := self._written()):
            raise _Inexact
        return [_Atom(f"√({of})", _Kind.ROOT)]


_READERS: dict[str, Callable[[_Reader], list[_Atom]]] = {
    "text": _Reader.text,
    "textrm": _Reader.text,
    "mathrm": _Reader.argument,
    "frac": _Reader.fraction,
    "dfrac": _Reader.fraction,
    "tfrac": _Reader.fraction,
    "sqrt": _Reader.root,
}


def _of_name(name: str) -> _Atom:
    """Return the atom of a control word without arguments."""
    if name in _SPACES:
        return _Atom(_SPACES[name], _Kind.SPACE)
    if name in _SIGNS:
        return _Atom(_SIGNS[name])
    if name in _FUNCTIONS:
        return _Atom(name, _Kind.FUNCTION, macro=True)
    symbol = _MORE_SYMBOLS.get(name) or _symbols().get(name)
    if symbol is None:
        raise _Inexact
    return replace(_symbol(symbol), macro=True)


def _whole_part(text: str) -> str:
    """Return the text above or below a fraction's line, in brackets if it could be misread on one line."""
    if not text:
        raise _Inexact
    return text if _SIMPLE.fullmatch(text) else f"({text})"


def _symbol(symbol: str) -> _Atom:
    if symbol.isalpha() or symbol in _PREFIXES:
        return _Atom(symbol, _Kind.LETTER)
    relation = symbol in "·<>" or (unicodedata.category(symbol) == "Sm" and symbol not in "∞√|¬")
    arrow = "\u2190" <= symbol <= "\u21ff" or "\u27f0" <= symbol <= "\u27ff"
    return _Atom(symbol, _Kind.RELATION if relation or arrow else _Kind.ORDINARY)


def _accented(letter: str, accent: str) -> _Atom:
    if len(letter) != 1 or not letter.isalpha():
        raise _Inexact
    return _Atom(unicodedata.normalize("NFC", letter + accent), _Kind.LETTER)


def _styled(alphabet: str, character: str) -> str:
    name = unicodedata.name(character, "")
    what = name.removeprefix("LATIN ").removeprefix("GREEK ").replace("LETTER ", "")
    for styled in (f"MATHEMATICAL {alphabet} {what}", f"{alphabet} {what}"):
        try:
            return unicodedata.lookup(styled)
        except KeyError:
            continue
    raise _Inexact


def _joined(atoms: Sequence[_Atom]) -> str:
    return re.sub(" {2,}", " ", "".join(_pieces(atoms))).strip()


def _pieces(atoms: Sequence[_Atom]) -> Iterator[str]:
    """Yield the text of atoms, with spaces around relations and functions, and brackets where two atoms would merge."""
    before, function = "", False
    for index, atom in enumerate(atoms):
        after = next((later for later in atoms[index + 1 :] if later.kind is not _Kind.SPACE), None)
        shown = atom.text
        match atom.kind:
            case _Kind.SPACE:
                if shown == " " and _only_ends_a_word(atoms, index):
                    continue
            case _Kind.RELATION if before or shown not in _UNARY:
                shown = f" {shown} "
            case _Kind.FUNCTION:
                shown = f" {shown}" if before and (before.isalnum() or before in ")′") else shown
            case _Kind.FRACTION if _binds(before) or function or _continues(after):
                shown = f"({shown})"
            case _Kind.ROOT if not _continues(after) and _SIMPLE.fullmatch(bare := f"{shown[0]}{shown[2:-1]}"):
                shown = bare
            case _:
                pass
        spaced = atom.kind in (_Kind.SPACE, _Kind.ABOVE, _Kind.BELOW, _Kind.FUNCTION)
        if function and not spaced and shown[:1] not in "([|){},:;=+-/" and not shown.startswith(" "):
            shown = f" {shown}"
        function = atom.kind is _Kind.FUNCTION or (function and atom.kind in (_Kind.ABOVE, _Kind.BELOW))
        before = shown.rstrip(" ")[-1:] or before
        yield shown


def _only_ends_a_word(atoms: Sequence[_Atom], index: int) -> bool:
    r"""Return whether a space only ends a control word, such as the one in `\Delta x`."""
    if not 0 < index < len(atoms) - 1:
        return False
    last, following = atoms[index - 1], atoms[index + 1]
    unary = last.kind is _Kind.RELATION and index == 1 and last.text in _UNARY
    letters = last.kind is _Kind.LETTER and following.kind in (_Kind.LETTER, _Kind.ROOT)
    return last.macro and (unary or letters)


def _binds(before: str) -> bool:
    """Return whether a fraction after the character `before` could be read as joined to it, as in `2a/b`."""
    return bool(before) and (before.isalnum() or before in ")]}/′″°!|%^√" or before in _SCRIPTS)


def _continues(after: _Atom | None) -> bool:
    """Return whether the next atom could be read as a part of a fraction or a root before it."""
    kinds = (_Kind.LETTER, _Kind.FRACTION, _Kind.ROOT, _Kind.ABOVE, _Kind.BELOW, _Kind.FUNCTION)
    return after is not None and (after.kind in kinds or after.text[:1].isalnum() or after.text[:1] in "([{/|!′")


@cache
def _symbols() -> dict[str, str]:
    """Return the symbols of control words that stand for a single symbol; empty if the library is not installed."""
    try:
        from pylatexenc.latex2text import get_default_latex_context_db
    except ImportError:
        return {}
    specs = get_default_latex_context_db().iter_macro_specs()
    found = ((spec.macroname, spec.simplify_repl) for spec in specs)
    return {name: text for name, text in found if len(name) > 1 and isinstance(text, str) and _is_symbol(text)}


def _is_symbol(text: str) -> bool:
    return len(text) == 1 and not text.isascii() and unicodedata.category(text) in _OF_SYMBOLS
