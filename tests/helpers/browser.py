"""Chromium without a window, driven by Playwright: open a file, look, click, print."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from typing import Any

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

    def press(self, key: str) -> None:
        """Press a key."""
        self._page.keyboard.press(key)
        self.settle()

    def print_pdf(self, path: Path) -> None:
        """Print the page on A4."""
        self._page.pdf(path=path, width="8.27in", height="11.7in", print_background=False)

    def requests(self) -> list[str]:
        """Return the addresses requested besides the page itself and data in it."""
        files = [url for url in self._requested if url.startswith("file:")]
        others = [url for url in self._requested if not url.startswith(("file:", "data:"))]
        return others + files[1:]

    def close(self) -> None:
        """End the browser."""
        self._chromium.close()
        self._playwright.stop()
