"""Chromium without a window, driven through its pipe (Chrome DevTools Protocol): what a page does, logs and asks for."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATH = next((path for name in NAMES if (path := shutil.which(name))), None)
# Descriptors 3 and 4 of the browser are what it reads commands from and writes answers to.
SCRIPT = (
    'exec "$0" --headless=new --no-sandbox --disable-gpu --disable-extensions --no-first-run --hide-scrollbars '
    "--disable-background-networking --disable-component-update --disable-sync --force-device-scale-factor=1 "
    '--user-data-dir="$1" --remote-debugging-pipe about:blank 3<&0 4>&1 1>/dev/null 2>/dev/null'
)


class Browser:
    """A browser with one page; `logged` has its messages and errors, `asked` the addresses that it asked for."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True)
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "start_new_session": True}
        self.process = subprocess.Popen(["sh", "-c", SCRIPT, PATH, self.folder.name], **pipes)
        self.number, self.session, self.rest = 0, None, b""
        self.logged, self.asked, self.events = [], [], []
        target = self("Target.createTarget", url="about:blank")["targetId"]
        self.session = self("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self(f"{domain}.enable")
        self("Emulation.setDeviceMetricsOverride", width=1200, height=1000, deviceScaleFactor=1, mobile=False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()

    def __call__(self, method, **parameters):
        """Answer of a command."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        self.process.stdin.write(json.dumps(message).encode() + b"\0")
        self.process.stdin.flush()
        while (answer := self.message()).get("id") != self.number:
            self.note(answer)
        assert "error" not in answer, (method, answer["error"])
        return answer["result"]

    def message(self, seconds=30):
        """Next message of the browser."""
        end = time.monotonic() + seconds
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.process.stdout], [], [], max(end - time.monotonic(), 0))
            assert ready, "the browser does not answer"
            piece = os.read(self.process.stdout.fileno(), 1 << 20)
            assert piece, "the browser has ended"
            self.rest += piece
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def note(self, event):
        """Keep what an event tells."""
        name, about = event.get("method"), event.get("params", {})
        self.events.append(name)
        if name in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            self.logged.append(about)
        elif name == "Network.requestWillBeSent":
            self.asked.append(about["request"]["url"])

    def open(self, path):
        """Load a file and wait until it is there."""
        self.events.clear()
        self("Page.navigate", url=path.resolve().as_uri())
        while "Page.loadEventFired" not in self.events:
            self.note(self.message())

    def value(self, expression):
        """Value of an expression of JavaScript."""
        answer = self("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def box(self, name):
        """Place of an element in the window, scrolled into view: dict of x, y, left, top, width, height and others."""
        self.value(f"document.getElementById('{name}').scrollIntoView({{block: 'center'}})")
        return self.value(f"document.getElementById('{name}').getBoundingClientRect().toJSON()")

    def mouse(self, kind, x, y, **more):
        """One event of the mouse."""
        self("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def drag(self, start, end):
        """Press, move, release."""
        button = {"button": "left", "clickCount": 1}
        self.mouse("mousePressed", *start, **button)
        self.mouse("mouseMoved", *((a + b) / 2 for a, b in zip(start, end)), buttons=1, **button)
        self.mouse("mouseMoved", *end, buttons=1, **button)
        self.mouse("mouseReleased", *end, **button)

    def click(self, x, y, count=1):
        """Press and release, for the first time or the second of a double click."""
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=count)

    def screenshot(self, box):
        """PNG of a part of the window."""
        place = {"x": box["x"] + self.value("window.scrollX"), "y": box["y"] + self.value("window.scrollY")}
        clip = {"width": box["width"], "height": box["height"], "scale": 1} | place
        return base64.b64decode(self("Page.captureScreenshot", format="png", clip=clip)["data"])
