"""The three ways in which people use the page: with a mouse, with keys, with a finger."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from tests.browser.page import Page

REACHED = """
    const [element] = arguments;
    element.scrollIntoView({block: "nearest"});
    const {left, top, right, bottom} = element.getBoundingClientRect();
    const seen = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
    const inside = left >= 0 && top >= 0 && right <= innerWidth + 1 && bottom <= innerHeight + 1;
    return inside && element.contains(seen) ? "" : `${Math.round(left)}–${Math.round(right)} × ${Math.round(top)}–`
      + `${Math.round(bottom)} in ${innerWidth} × ${innerHeight}, there: ${seen?.outerHTML.slice(0, 200)}`;
"""
"""Where an element is if it is not whole in the window or something covers it, else nothing."""

FIELDS = {"input", "select", "textarea"}

Hand = Callable[[Page, WebElement], None]


def reach(page: Page, element: WebElement) -> None:
    """Fail if an element is outside the window or under something else."""
    assert page.browser.execute_script(REACHED, element) == ""


def mouse(page: Page, element: WebElement) -> None:
    """Move to an element and press the mouse's button."""
    ActionChains(page.browser, duration=20).move_to_element(element).perform()
    reach(page, element)
    ActionChains(page.browser, duration=20).move_to_element(element).click().perform()


def keyboard(page: Page, element: WebElement) -> None:
    """Go to an element as its role says, with Tab or arrows, and press it; a field only gets the focus."""
    role, kind = element.get_attribute("role"), element.get_attribute("type")
    if role == "tab":
        page.tab_back_to("Messages", nth=2)  # the list of messages has this name, too
        page.key(Keys.ARROW_LEFT)
        return
    while role == "option" and element.get_attribute("aria-selected") != "true":
        page.key(Keys.ARROW_DOWN)
    for _ in range(100):
        focused = page.browser.switch_to.active_element
        if role == "option" or focused == element:
            break
        among_others = role == "menuitem" or (
            kind == "radio" and focused.get_attribute("name") == element.get_attribute("name")
        )
        page.key(Keys.ARROW_DOWN if among_others else Keys.TAB)
    reach(page, element)
    assert role == "option" or page.browser.switch_to.active_element == element
    if kind in {"checkbox", "radio"}:
        page.key(Keys.SPACE)
    elif element.tag_name not in FIELDS:
        page.key(Keys.ENTER)


def touch(page: Page, element: WebElement) -> None:
    """Tap an element."""
    reach(page, element)
    page.tap(element)


HANDS: tuple[Hand, ...] = (mouse, keyboard, touch)


@contextmanager
def held(page: Page, hand: Hand, *, width: int) -> Iterator[None]:
    """Show the page in a window of a width, on a screen that can be touched if the hand is a finger."""
    with page.emulate(look="light", width=width, touch=hand is touch):
        yield
