"""Drives a browser without a screen by its DevTools protocol, over a pipe: nothing but Python and chromium is needed.

    with Browser(folder) as browser:
        page = browser.open("http://127.0.0.1:8080/")
        page.wait("document.querySelector('h3')")
        title = page.ask("document.title")
"""
import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import time

NAMES = ("chromium", "chromium-browser", "google-chrome")
# No name can be looked up: a page has only what its own server gives.
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run",
         "--disable-extensions", "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--remote-debugging-pipe")


class BrowserError(AssertionError):
    """The browser refused a command, or a script failed."""


def find():
    """The path of a browser, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def skip_without():
    """Exits with 77 where there is no browser."""
    if not find():
        print("skipped: no chromium")
        sys.exit(77)


def pipe_at_10():
    """A pipe whose numbers are out of the way of 3 and 4, which the browser reads and writes."""
    ends = os.pipe()
    moved = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends]
    for end in ends:
        os.close(end)
    return moved


class Browser:
    def __init__(self, folder):
        commands, self.writer = pipe_at_10()
        self.reader, answers = pipe_at_10()
        self.log = open(f"{folder}/browser.log", "w")

        def take_ends():
            os.dup2(commands, 3)
            os.dup2(answers, 4)

        self.process = subprocess.Popen([find(), *FLAGS, f"--user-data-dir={folder}/profile", "about:blank"], pass_fds=(3, 4),
                                        preexec_fn=take_ends, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                                        env={**os.environ, "HOME": folder})
        os.close(commands)
        os.close(answers)
        self.pending, self.last, self.events = b"", 0, []
        self.version = self.call("Browser.getVersion", timeout=180)["product"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.call("Browser.close")
            self.process.wait(10)
        except (AssertionError, OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.reader)
        os.close(self.writer)
        self.log.close()

    def receive(self, timeout):
        """The next message, or None after the time."""
        until = time.monotonic() + timeout
        while b"\0" not in self.pending:
            ready, _, _ = select.select([self.reader], [], [], max(0, until - time.monotonic()))
            if not ready:
                return None
            data = os.read(self.reader, 1 << 20)
            if not data:
                raise BrowserError("the browser has ended")
            self.pending += data
        message, self.pending = self.pending.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, session=None, timeout=180, **parameters):
        self.last += 1
        message = {"id": self.last, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.writer, data):]
        until = time.monotonic() + timeout
        while True:
            answer = self.receive(until - time.monotonic())
            if answer is None:
                raise BrowserError(f"{method}: no answer after {timeout} s")
            if answer.get("id") == message["id"]:
                break
            if "method" in answer:
                self.events.append(answer)
        if "error" in answer:
            raise BrowserError(f"{method}: {answer['error']}")
        return answer["result"]

    def open(self, address, **options):
        """A new tab; options as Page.__init__."""
        return Page(self, address, **options)


KEYS = {"Tab": (9, "Tab", ""), "Enter": (13, "Enter", "\r"), "Space": (32, " ", " "), "ArrowDown": (40, "ArrowDown", "")}


class Page:
    """A tab of its own: no cookies and no storage of another one."""

    def __init__(self, browser, address, width=1200, height=900, dark=False):
        self.browser = browser
        self.context = browser.call("Target.createBrowserContext")["browserContextId"]
        self.target = browser.call("Target.createTarget", url="about:blank", browserContextId=self.context)["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.resize(width, height)
        self.color("dark" if dark else "light")
        self.go(address)

    def call(self, method, **parameters):
        return self.browser.call(method, session=self.session, **parameters)

    def go(self, address):
        self.ask("window.isOld = true")
        self.call("Page.navigate", url=address)
        self.wait("!window.isOld && document.readyState === 'complete'")

    def close(self):
        self.browser.call("Target.disposeBrowserContext", browserContextId=self.context)

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)

    def color(self, scheme):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def ask(self, script):
        """The value of an expression; waits for promises."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            details = found["exceptionDetails"]
            raise BrowserError(f"{script}: {details.get('exception', {}).get('description', details['text'])}")
        return found["result"].get("value")

    def wait(self, script, timeout=180):
        """Waits until an expression is true, and returns its value."""
        until = time.monotonic() + timeout
        while True:
            value = self.ask(script)
            if value:
                return value
            if time.monotonic() > until:
                raise BrowserError(f"never true: {script}; the page has: {self.ask('document.body.innerText')[:3000]}")
            time.sleep(0.02)

    def key(self, name, shift=False):
        code, key, text = KEYS[name]
        common = {"key": key, "windowsVirtualKeyCode": code, "modifiers": 8 if shift else 0}
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def type(self, text):
        """Into what has the focus."""
        self.call("Input.insertText", text=text)

    def complaints(self, network=True):
        """What the console has said so far, policy violations included. network: with answers that are not 2xx."""
        self.ask("0")
        found = []
        for event in self.browser.events:
            if event.get("sessionId") != self.session:
                continue
            details = event["params"]
            if event["method"] == "Log.entryAdded" and (network or details["entry"]["source"] != "network"):
                found.append(f"{details['entry']['source']}: {details['entry']['text']} {details['entry'].get('url', '')}")
            elif event["method"] == "Runtime.exceptionThrown":
                found.append(details["exceptionDetails"].get("exception", {}).get("description", "an exception"))
            elif event["method"] == "Runtime.consoleAPICalled":
                found.append(" ".join(str(a.get("value", a.get("description"))) for a in details["args"]))
        return found

    def screenshot(self, path, full=True):
        options = {"captureBeyondViewport": True} if full else {}
        if full:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            options["clip"] = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png", **options)["data"]))
