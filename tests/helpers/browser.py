"""A headless Chromium, driven over its debugging pipe; needs nothing but the program."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time


def find_chromium():
    """The program's path, or None."""
    names = ("chromium", "chromium-browser", "google-chrome", "chrome", "headless_shell")
    return next((path for name in names if (path := shutil.which(name))), None)


class Browser:
    """One page at a time; `problems` collects what the console and the network complain about."""

    def __init__(self, folder, timeout=60):
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        self._timeout = timeout

        def wire():
            # The program reads commands from descriptor 3 and writes answers to 4. Both ends are
            # moved out of the way first, because they may be these very numbers.
            reader, writer = os.dup(to_browser), os.dup(from_browser)
            while reader in (3, 4):
                reader = os.dup(reader)
            while writer in (3, 4):
                writer = os.dup(writer)
            os.dup2(reader, 3)
            os.dup2(writer, 4)

        self._process = subprocess.Popen(
            [
                find_chromium(),
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--hide-scrollbars",
                "--remote-debugging-pipe",
                f"--user-data-dir={folder}",
                "about:blank",
            ],
            preexec_fn=wire,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._buffer = b""
        self._number = 0
        self._session = None
        self.problems = []
        self.requests = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        os.close(self._out)

    def call(self, method, **parameters):
        """Send a command and wait for its answer; note complaints on the way."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self._note(answer)

    def open(self, path, width, height=900, scheme="light"):
        """Load a file in a window of this width, and wait until it is complete."""
        self.problems, self.requests = [], []
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        self.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )
        self.call("Page.navigate", url=path.absolute().as_uri())
        deadline = time.monotonic() + self._timeout
        while self.evaluate("document.readyState") != "complete":
            if time.monotonic() > deadline:
                raise TimeoutError(f"{path} does not load")
            time.sleep(0.05)

    def evaluate(self, expression):
        """The value of a JavaScript expression in the page."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"])
        return result["result"].get("value")

    def screenshot(self, path):
        """Write the whole page as PNG."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        data = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)["data"]
        path.write_bytes(base64.b64decode(data))

    def pdf(self, path):
        """Write the page as it prints."""
        path.write_bytes(base64.b64decode(self.call("Page.printToPDF")["data"]))

    def _receive(self):
        deadline = time.monotonic() + self._timeout
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(deadline - time.monotonic(), 0))
            if not ready:
                raise TimeoutError("the browser does not answer")
            chunk = os.read(self._in, 1 << 20)
            if not chunk:
                raise RuntimeError("the browser has ended")
            self._buffer += chunk
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def _note(self, event):
        method, parameters = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.problems.append(parameters["exceptionDetails"]["text"])
        elif method == "Log.entryAdded":
            self.problems.append(parameters["entry"]["text"])
        elif method == "Runtime.consoleAPICalled":
            self.problems.append(f"console.{parameters['type']}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
