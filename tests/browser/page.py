"""What a person does on the playground's page, for a test to say in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webdriver import WebDriver
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

Found = TypeVar("Found")

CONTRAST = Path(__file__).parent / "contrast.js"
AXE = Path(__file__).parent / "axe.min.js"

MESSAGES = """
    const shown = [...document.querySelectorAll("article")].filter(one => one.checkVisibility());
    return shown.map(one => [one, one.innerText.replaceAll("\\u00a0", " ")]);
"""
"""The messages that are shown, with their texts. To ask the driver for each takes ten times as long."""

BUTTONS = """
    const shown = [...document.querySelectorAll("button")].filter(one => one.checkVisibility());
    return shown.map(one => one.innerText.trim());
"""

SIDEWAYS = """
    const own = ".table, table, pre, .sr-only, .slack_blocks_to_jsx__table";
    const wide = one => one.scrollWidth > one.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(one).overflowX);
    const out = one => { const {left, right, width} = one.getBoundingClientRect();
                         return width && (right > innerWidth + 1 || left < -1); };
    const shown = [...document.querySelectorAll("body *")].filter(one => one.checkVisibility());
    return shown.filter(one => !one.closest(own) && (wide(one) || out(one))).map(one => one.outerHTML.slice(0, 150));
"""

FOCUSED = """
    const one = document.activeElement;
    return [one.checkVisibility() ? one.innerText.trim() : "", one.ariaLabel];
"""
"""The text and the label of what has the focus."""


@dataclass(frozen=True, kw_only=True)
class Page:
    """The page in a browser. `timeout_seconds` is how long anything may take to appear."""

    browser: WebDriver
    timeout_seconds: float = 60

    def open(self, address: str) -> None:
        """Open the playground at the address that the app prints, and wait until its stream is there."""
        self.browser.get(address)
        self.wait(lambda: self.browser.find_elements(By.CSS_SELECTOR, "body[data-ready]"))

    def type(self, text: str) -> None:
        """Write into the composer."""
        self.browser.find_element(By.ID, "input").send_keys(text)

    def send(self, line: str) -> None:
        """Write a line and send it with Enter."""
        self.type(line + Keys.ENTER)

    def composer_text(self) -> str:
        """Return what stands in the composer."""
        return self.browser.find_element(By.ID, "input").get_attribute("value") or ""

    def messages(self) -> list[WebElement]:
        """Return the messages that are shown, oldest first."""
        return [message for message, _ in self._messages()]

    def texts(self) -> list[str]:
        """Return the texts of the messages that are shown, oldest first."""
        return [shown for _, shown in self._messages()]

    def buttons(self) -> list[str]:
        """Return the texts of all buttons that are shown."""
        found: list[str] = self.browser.execute_script(BUTTONS)
        return found

    def message_with(self, text: str) -> WebElement:
        """Wait for a message with this text in it; returns the newest one."""
        return self.messages_with(text)[-1]

    def messages_with(self, text: str, *, at_least: int = 1) -> list[WebElement]:
        """Wait until so many messages have this text in them; returns all of them, oldest first."""

        def found() -> list[WebElement]:
            messages = [message for message, shown in self._messages() if text in shown]
            return messages if len(messages) >= at_least else []

        return self.wait(found)

    def wait_until_gone(self, text: str) -> bool:
        """Wait until no message has this text."""
        return self.wait(lambda: all(text not in shown for shown in self.texts()))

    def _messages(self) -> list[tuple[WebElement, str]]:
        found: list[tuple[WebElement, str]] = self.browser.execute_script(MESSAGES)
        return found

    def press(self, message: WebElement, label: str) -> None:
        """Press a button of a message."""
        buttons = message.find_elements(By.TAG_NAME, "button")
        next(button for button in buttons if button.text == label).click()

    def tap(self, element: WebElement) -> None:
        """Touch the middle of an element with a finger, on a screen that `emulate` made for it."""
        at = self.browser.execute_script("return arguments[0].getBoundingClientRect().toJSON();", element)
        point = {"x": (at["left"] + at["right"]) / 2, "y": (at["top"] + at["bottom"]) / 2}
        self._command("Input.dispatchTouchEvent", type="touchStart", touchPoints=[point])
        self._command("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def tab_to(self, label: str) -> None:
        """Go with the Tab key to the next button or field with a label."""
        self._tab(label, 1, back=False)

    def tab_back_to(self, label: str, *, nth: int = 1) -> None:
        """Go back with the Tab key to the nth button or field with a label, counted from where the focus is."""
        self._tab(label, nth, back=True)

    def _tab(self, label: str, nth: int, *, back: bool) -> None:
        for _ in range(60):
            keys = ActionChains(self.browser)
            if back:
                keys.key_down(Keys.SHIFT)
            keys.send_keys(Keys.TAB)
            if back:
                keys.key_up(Keys.SHIFT)
            keys.perform()
            nth -= label in self.browser.execute_script(FOCUSED)
            if not nth:
                return
        raise AssertionError(f"the Tab key does not lead to {label}")

    def key(self, *keys: str) -> None:
        """Type into what has the focus, whatever it is."""
        ActionChains(self.browser).send_keys(*keys).perform()

    def focused(self) -> str:
        """Return the id of the element that has the focus."""
        return self.browser.switch_to.active_element.get_attribute("id") or ""

    def press_prompt(self, label: str) -> None:
        """Press the button of a recorded example."""
        buttons = self.browser.find_elements(By.CSS_SELECTOR, "#examples button")
        next(button for button in buttons if button.text == label).click()

    def reply_to(self, message: WebElement) -> None:
        """Go into the thread of a message."""
        ActionChains(self.browser).move_to_element(message).perform()
        message.find_element(By.CSS_SELECTOR, "button.reply").click()

    def open_direct(self) -> None:
        """Open the direct message with the app."""
        self.browser.find_element(By.CSS_SELECTOR, "button[data-channel^=D]").click()

    def notice(self) -> str:
        """Return the line that tells about the connection."""
        return self.browser.find_element(By.ID, "notice").text

    def links(self, message: WebElement) -> list[tuple[str, str | None]]:
        """Return the words and the address of every link in a message."""
        return [(a.text, a.get_attribute("href")) for a in message.find_elements(By.TAG_NAME, "a")]

    def requested_origins(self) -> set[str]:
        """Return every origin that the page asked for anything; what it was not allowed to ask is in its log."""
        asked: list[str] = self.browser.execute_script(
            "return performance.getEntries().filter(one => one.initiatorType).map(one => one.name);"
        )
        return {"{0.scheme}://{0.netloc}".format(urlsplit(url)) for url in asked}

    def log(self, kind: str) -> list[dict[str, str]]:
        """Return what the browser wrote since this log was last read."""
        entries: list[dict[str, str]] = self.browser.execute("getLog", {"type": kind})["value"]
        return entries

    def faults(self) -> list[dict[str, Any]]:
        """Return what axe-core finds that is serious or critical, one entry for each rule."""
        self.browser.execute_script(AXE.read_text(encoding="utf-8"))
        found: list[dict[str, Any]] = self.browser.execute_async_script(
            "const done = arguments[0];"
            "axe.run(document, {resultTypes: ['violations']}).then(({violations}) => done(violations));"
        )
        return [
            {"rule": one["id"], "at": [(node["target"], node["failureSummary"]) for node in one["nodes"]]}
            for one in found
            if one["impact"] in {"serious", "critical"}
        ]

    def low_contrast_texts(self) -> list[str]:
        """Return the texts with a contrast below 4.5:1, also those under a menu."""
        found: list[str] = self.browser.execute_script(CONTRAST.read_text(encoding="utf-8"))
        return found

    def overflow(self) -> tuple[int, int]:
        """Return by how many pixels the page is wider and higher than its window."""
        root = "document.documentElement"
        wider, higher = self.browser.execute_script(
            f"return [{root}.scrollWidth - {root}.clientWidth, {root}.scrollHeight - {root}.clientHeight];"
        )
        return wider, higher

    def sideways(self) -> list[str]:
        """Return what is wider than its place; tables and code, which scroll inside themselves, may be."""
        found: list[str] = self.browser.execute_script(SIDEWAYS)
        return found

    @contextmanager
    def emulate(self, *, look: str, width: int, height: int = 800, touch: bool = False) -> Iterator[None]:
        """Show the page in a dark or light window of a width and a height in pixels, or on a screen for fingers."""
        self._command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": look}])
        size = {"width": width, "height": height}
        self._command("Emulation.setDeviceMetricsOverride", **size, deviceScaleFactor=1, mobile=False)
        self._command("Emulation.setTouchEmulationEnabled", enabled=touch)
        try:
            yield
        finally:
            self._command("Emulation.setTouchEmulationEnabled", enabled=False)
            self._command("Emulation.clearDeviceMetricsOverride")
            self._command("Emulation.setEmulatedMedia", features=[])

    def download_to(self, folder: Path) -> None:
        """Have the browser save downloads in a folder."""
        self._command("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))

    def _command(self, method: str, **parameters: object) -> None:
        self.browser.execute("executeCdpCommand", {"cmd": method, "params": parameters})

    def wait(self, condition: Callable[[], Found]) -> Found:
        """Wait until a condition gives something true; returns it."""
        waiting = WebDriverWait(
            self.browser, self.timeout_seconds, 0.05, ignored_exceptions=[StaleElementReferenceException]
        )
        return waiting.until(lambda _: condition())
