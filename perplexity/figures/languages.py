"""Whether a text is in English or German, the languages that the rules for figures know. Pure."""

from __future__ import annotations

import re

_HOME_WORDS = (
    "the and of with from that which were are been have has its their than about after between this these those not "
    "but will would could it at by for to is as more most into through during while since only both each every "
    "all some other two three people percent year years said up out when where who "
    "der die das und ist von dem den im mit für auf ein eine einer eines einem einen nicht sich auch werden wird "
    "wurde wurden hat hatte haben bei nach aus zum zur vom über sie sind war waren oder aber dass durch bis seit rund "
    "etwa beim ihre seine diese dieser mehr als um am zwischen jahr jahre jahren prozent millionen milliarden liegt"
)
_FOREIGN_WORDS = (
    "le la les du un une et dans sur qui que avec ont été au aux ce cette sont selon entre ans "
    "el los las por del se su para como más fue sobre años según ha una il lo gli della di che è nel nella sono "
    "dei delle dal alla anni os em uma com não mais foi ao pela pelo dos anos "
    "de het een op te voor zijn werd niet aan ook naar uit door maar van met tot jaar procent "
    "och att det som på är av för till har en ett inte og af til ikke et blev var fra ved med ble år "
    "na się jest oraz po od przez dla roku lat wynosi je ve byl byla "
    "ve bir bu için ile olarak yılında milyon yüzde ja oli ei että vuonna az és hogy egy volt nem és și în din cu pe "
    "este sunt yang di ke dari untuk pada dengan tahun adalah juta persen của và là có trong cho năm với được "
    "za godine su els amb ya wa kwa ni katika ang ng sa mga ay ning aastal ir yra metų un gada að sem "
    "millones milioni miliardi milhões bilhões miljoen miljard miljoner miljarder millioner milliarder milyon milyar"
)
_HOME, _FOREIGN = frozenset(_HOME_WORDS.split(" ")), frozenset(_FOREIGN_WORDS.split(" "))
_WORD = re.compile(r"[^\W\d_]+(?!\.\w)")
_IN_A_NAME = re.compile(r"(?<=[^\W\d_]) (?:del?|della|di|da|do|du|la|le|van|von|el|al|y)(?: la| den| der)?(?= [A-Z])")
_OTHER_LETTER = re.compile(r"[à-ãå-õø-ûý-ɏḀ-ỿ]")
_OTHER_SCRIPT = re.compile("[\u0374-\u03bb\u03bd-\u1dff\u3040-\ufaff\uff66-\uffdc]")
"""A letter of another script; "μm" is a unit."""
_MOST = 4_000
"""Characters of a text that are looked at."""
_FEW = 10
"""So many words of four small letters and more have one of the commonest words among them."""


def is_known(text: str) -> bool | None:
    """Return whether a text is in English or German; None if too few words say so."""
    text = _IN_A_NAME.sub("", text[:_MOST])
    words = _WORD.findall(text)
    small = [word for word in words if word.islower()]
    home = sum(word in _HOME for word in small) + (bool(words) and not words[0].islower() and words[0].lower() in _HOME)
    foreign = sum(word in _FOREIGN or (len(word) > 1 and _OTHER_LETTER.search(word) is not None) for word in small)
    others = len(_OTHER_SCRIPT.findall(text))
    if others > 1 and 3 * others >= sum(map(len, words)) - others:
        return False
    if home or foreign or sum(len(word) > 3 for word in small) >= _FEW:
        return home > foreign
    return None
