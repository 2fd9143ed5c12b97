"""A browser without a window, driven over a pipe: enough to open a file, look and click."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE = 60.0  # seconds for one answer


def program() -> str | None:
    """Where the browser is, if there is one."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Browser:
    """Chromium, which speaks its DevTools protocol over two pipes: no port, no package."""

    def __init__(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="partita-browser-")
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()

        def pipes() -> None:  # it reads from 3 and writes to 4; first out of each other's way
            a, b = os.dup(theirs_in), os.dup(theirs_out)
            high = [os.dup(a), os.dup(b)]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self._process = subprocess.Popen(
            [
                program(),
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--disable-background-networking",
                "--hide-scrollbars",
                f"--user-data-dir={self._folder}",
                "--remote-debugging-pipe",
                "about:blank",
            ],
            close_fds=False,
            preexec_fn=pipes,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._number, self._rest, self.events = 0, b"", []
        target = self.call("Target.createTarget", url="about:blank", session=None)["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True, session=None)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, session: str | None = "", **parameters):
        """Ask, and wait for the answer; events on the way are kept."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            found = self._receive()
            if found.get("id") == self._number:
                assert "error" not in found, f"{method}: {found['error']}"
                return found["result"]
            self.events.append(found)

    def _receive(self):
        until = time.monotonic() + PATIENCE
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], max(0.0, until - time.monotonic()))
            assert ready, "the browser does not answer"
            part = os.read(self._in, 1 << 20)
            assert part, "the browser has gone"
            self._rest += part
        first, _, self._rest = self._rest.partition(b"\0")
        return json.loads(first)

    def open(self, path: Path, width: int = 1200, height: int = 900, dark: bool = False) -> None:
        """Open a file in a window of this size."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", media="", features=scheme)
        self.events.clear()
        self.call("Page.navigate", url=path.resolve().as_uri())
        until = time.monotonic() + PATIENCE
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            assert time.monotonic() < until, "the page does not load"
            self.call("Runtime.evaluate", expression="0")
        self.settle()

    def paper(self, path: Path, width: int) -> None:
        """Open a file as it is laid out on paper that is so many pixels wide."""
        self.open(path, width, 1000)
        self.call("Emulation.setEmulatedMedia", media="print")
        self.run("dispatchEvent(new Event('beforeprint'))")
        self.settle()

    def settle(self) -> None:
        """Wait until what was asked for is drawn."""
        self.run("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")

    def run(self, expression: str):
        """The value of an expression of JavaScript."""
        found = self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def mouse(self, kind: str, x: float, y: float, **more) -> None:
        """Move or press the mouse at a place of the window."""
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, selector: str) -> None:
        """Click an element, where a reader would."""
        box = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center', behavior: 'instant'});"
            "const b = e.getBoundingClientRect(); return [b.x + b.width/2, b.y + b.height/2] })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, *box, button="left", clickCount=1)
        self.settle()

    def drag(self, x: float, y: float, dx: float, dy: float, steps: int = 8) -> None:
        """Press the mouse at a place of the window, and let it go at another."""
        self.mouse("mousePressed", x, y, button="left", clickCount=1)
        for i in range(1, steps + 1):
            at = x + dx * i / steps, y + dy * i / steps
            self.mouse("mouseMoved", *at, button="left", buttons=1)
        self.mouse("mouseReleased", x + dx, y + dy, button="left", clickCount=1)
        self.mouse("mouseMoved", 1, 1)
        self.settle()

    def swipe(self, x: float, y: float, dx: float, dy: float, steps: int = 8) -> None:
        """The same by a finger, on a screen that feels it."""
        self.call("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=1)
        self._touch("touchStart", {"x": x, "y": y})
        for i in range(1, steps + 1):
            self._touch("touchMove", {"x": x + dx * i / steps, "y": y + dy * i / steps})
            self.settle()
        self._touch("touchEnd")
        self.settle()
        self.call("Emulation.setTouchEmulationEnabled", enabled=False)

    def _touch(self, kind: str, *points: dict[str, float]) -> None:
        self.call("Input.dispatchTouchEvent", type=kind, touchPoints=list(points))

    def key(self, name: str) -> None:
        """Press a key."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name)
        self.settle()

    def picture(self, path: Path, whole: bool = True) -> None:
        """A picture of the page."""
        found = self.call("Page.captureScreenshot", captureBeyondViewport=whole, **self._all(whole))
        path.write_bytes(base64.b64decode(found["data"]))

    def _all(self, whole: bool):
        if not whole:
            return {}
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        return {
            "clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        }

    def pdf(self, path: Path) -> None:
        """The page as it would be printed."""
        found = self.call(
            "Page.printToPDF", printBackground=False, paperWidth=8.27, paperHeight=11.7
        )
        path.write_bytes(base64.b64decode(found["data"]))

    def complaints(self) -> list[str]:
        """What the console and the page complained of."""
        found = []
        for event in self.events:
            method, more = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(str(more["exceptionDetails"]))
            elif method == "Runtime.consoleAPICalled" and more["type"] in ("error", "warning"):
                found.append(str(more["args"]))
            elif method == "Log.entryAdded":
                found.append(str(more["entry"]))
        return found

    def requests(self) -> list[str]:
        """What was asked for beyond the page itself and what it holds."""
        asked = [
            event["params"]["request"]["url"]
            for event in self.events
            if event.get("method") == "Network.requestWillBeSent"
        ]
        return [url for url in asked if not url.startswith(("file:", "data:"))] + [
            url for url in asked if url.startswith("file:")
        ][1:]

    def close(self) -> None:
        """End the browser and what it left."""
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        os.close(self._out)
        shutil.rmtree(self._folder, ignore_errors=True)
