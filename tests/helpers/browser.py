"""Chromium without a window, driven by Playwright: open a file, look, click, print."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from typing import Any

import pytest

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
TIMEOUT = 60_000.0  # milliseconds for one answer


def why_absent() -> str | None:
    """Return what is missing to run a browser, or None."""
    if importlib.util.find_spec("playwright") is None:
        return "Playwright is not installed (pip install playwright)"
    if _program() is None:
        return "Chromium is not installed (make programs)"
    return None


def _program() -> str | None:
    return next((path for name in PROGRAMS if (path := shutil.which(name))), None)


IN_BROWSER = [  # the marks of a file whose tests open pages
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(why_absent() is not None, reason=str(why_absent())),
]


class Browser:
    """One page of a browser that is installed on this system; nothing is downloaded."""

    def __init__(self) -> None:
        from playwright.sync_api import sync_playwright

        self._playwright = sync_playwright().start()
        self._chromium = self._playwright.chromium.launch(
            executable_path=_program(), args=list(FLAGS), timeout=TIMEOUT
        )
        self.dialogs: list[str] = []
        self.complaints: list[str] = []  # errors and warnings of the console and the page
        self._requested: list[str] = []
        self._init_script = ""
        self._page: Any = None
        self._new_page(has_touch=False)

    def _new_page(self, has_touch: bool) -> None:
        if self._page is not None:
            self._page.context.close()
        self._has_touch, self._emulated = has_touch, None
        self._page = self._chromium.new_page(has_touch=has_touch)
        self._page.set_default_timeout(TIMEOUT)
        self._page.on("console", self._on_console)
        self._page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self._page.on("request", lambda request: self._requested.append(request.url))
        self._page.on("dialog", self._on_dialog)

    def _on_console(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def _on_dialog(self, dialog: Any) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def open(
        self,
        path: Path,
        width: int = 1200,
        height: int = 900,
        *,
        dark: bool = False,
        has_touch: bool = False,
        before: str = "",
    ) -> None:
        """Open a file in a window of this size; the script `before` runs first."""
        if has_touch != self._has_touch or before != self._init_script:
            self._new_page(has_touch)  # neither can be changed in a page that is open
            self._init_script = before
            if before:
                self._page.add_init_script(before)
        window = {"width": width, "height": height}
        if self._page.viewport_size != window:
            self._page.set_viewport_size(window)
        self._emulate(dark=dark)
        self.move_mouse(1, 1)  # away from where the last test left it
        self.dialogs.clear()
        self.complaints.clear()
        self._requested.clear()
        self._page.goto(path.resolve().as_uri())
        self.settle()

    def _emulate(self, *, dark: bool = False, media: str = "null") -> None:
        if (dark, media) != self._emulated:
            self._emulated = (dark, media)
            self._page.emulate_media(media=media, color_scheme="dark" if dark else "light")

    def open_as_print(self, path: Path, width: int) -> None:
        """Open a file as it is laid out on paper of this width in pixels."""
        self.open(path, width, 1000)
        self._emulate(media="print")
        self.run("dispatchEvent(new Event('beforeprint'))")
        self.settle()

    def settle(self) -> None:
        """Wait until the page is painted."""
        self.run("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")

    def run(self, expression: str) -> Any:
        """Return the value of a JavaScript expression."""
        return self._page.evaluate(expression)

    def move_mouse(self, x: float, y: float) -> None:
        """Move the mouse to a place in the window."""
        self._page.mouse.move(x, y)

    def click(self, selector: str) -> None:
        """Scroll to an element and click its middle."""
        self._page.click(selector, force=True)  # without waiting until it has stopped moving
        self.settle()

    def drag(self, x: float, y: float, dx: float, dy: float, steps: int = 4) -> None:
        """Press the mouse at a place in the window, and release it at another."""
        mouse = self._page.mouse
        mouse.move(x, y)
        mouse.down()
        mouse.move(x + dx, y + dy, steps=steps)
        mouse.up()
        mouse.move(1, 1)
        self.settle()

    def swipe(self, x: float, y: float, dx: float, dy: float, steps: int = 8) -> None:
        """Drag with a finger; the page must be opened with `has_touch`."""
        devtools = self._page.context.new_cdp_session(self._page)  # Playwright can only tap

        def touch(kind: str, *points: dict[str, float]) -> None:
            devtools.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": list(points)})
            self.settle()

        touch("touchStart", {"x": x, "y": y})
        for i in range(1, steps + 1):
            touch("touchMove", {"x": x + dx * i / steps, "y": y + dy * i / steps})
        touch("touchEnd")
        devtools.detach()

    def pinch(self, x: float, y: float, before: float, after: float, steps: int = 8) -> None:
        """Spread two fingers around a place, from one distance to another, one above the other."""
        devtools = self._page.context.new_cdp_session(self._page)

        def touch(kind: str, gap: float) -> None:
            fingers = [{"x": x, "y": y + t * gap / 2, "id": i} for i, t in enumerate((-1, 1))]
            devtools.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": fingers})
            self.settle()

        touch("touchStart", before)
        for i in range(1, steps + 1):
            touch("touchMove", before + (after - before) * i / steps)
        devtools.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        self.settle()
        devtools.detach()

    def wheel(self, x: float, y: float, dy: float, *, control: bool = False) -> None:
        """Turn the wheel of the mouse at a place, with the control key held down or not."""
        self._page.mouse.move(x, y)
        if control:
            self._page.keyboard.down("Control")
        self._page.mouse.wheel(0, dy)
        self.settle()
        if control:
            self._page.keyboard.up("Control")

    def double_click(self, x: float, y: float) -> None:
        """Click twice at a place in the window."""
        self._page.mouse.dblclick(x, y)
        self.settle()

    def type_text(self, selector: str, text: str) -> None:
        """Replace the text of a field, and press Enter."""
        self._page.fill(selector, text, force=True)
        self._page.press(selector, "Enter")
        self.settle()

    def choose(self, selector: str, value: str) -> None:
        """Choose a value of a list."""
        self._page.select_option(selector, value, force=True)
        self.settle()

    def download(self, selector: str) -> tuple[str, bytes]:
        """Click an element, and return the name and the content of the file that it saves."""
        with self._page.expect_download() as waiting:
            self._page.click(selector, force=True)
        return waiting.value.suggested_filename, Path(waiting.value.path()).read_bytes()

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        """Save what the window shows, or the whole page."""
        self._page.screenshot(path=path, full_page=whole)

    def press(self, key: str) -> None:
        """Press a key."""
        self._page.keyboard.press(key)
        self.settle()

    def print_pdf(self, path: Path) -> None:
        """Print the page on A4."""
        self._page.pdf(path=path, width="8.27in", height="11.7in", print_background=False)

    def axe(self) -> list[dict[str, Any]]:
        """Return the violations that axe-core finds; it runs outside of the page's policy."""
        from importlib.resources import files

        source = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
        self._page.evaluate(f"{source}; void 0")
        found = self._page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
        violations: list[dict[str, Any]] = found["violations"]
        return violations

    def requests(self) -> list[str]:
        """Return the addresses requested besides the page itself and data in it."""
        files = [url for url in self._requested if url.startswith("file:")]
        others = [url for url in self._requested if not url.startswith(("file:", "data:"))]
        return others + files[1:]

    def close(self) -> None:
        """End the browser."""
        self._chromium.close()
        self._playwright.stop()


def map_box(browser: Browser) -> list[float]:
    """Scroll to the map of a report, and return its left, top, width and height in the window."""
    box: list[float] = browser.run(
        "(() => { const c = document.getElementById('canvas');"
        "c.scrollIntoView({block: 'center', behavior: 'instant'});"
        "const b = c.getBoundingClientRect(); return [b.x, b.y, b.width, b.height] })()"
    )
    return box


def point_at_a_row(browser: Browser) -> tuple[float, float]:
    """Move the mouse over the map of a report until a row answers, and return the place."""
    left, top, width, height = map_box(browser)
    for v in (0.3 + 0.05 * i for i in range(9)):
        for u in (0.3 + 0.4 * i / 24 for i in range(25)):
            x, y = left + u * width, top + v * height
            browser.move_mouse(x, y)
            if not browser.run("document.getElementById('tip').hidden"):
                return x, y
    raise AssertionError("no row answers")
