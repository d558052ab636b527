"""One browser for all tests of the studio, and pages that must write nothing on the console."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
HERE = Path(__file__).parent
# Milliseconds after which something does not come, however busy the machine is.
PATIENCE = 180_000

# The browser, and what drives it.
_RUNNING: list[Any] = []
# Pages to be used again: to start one takes four times as long as to load the studio into it. What
# they take on at any time are these options.
_IDLE: list[Any] = []
_TAKEN_ON = {"viewport", "color_scheme", "reduced_motion", "offline"}

# Serves at an address that is known, so that it can be ended and begun again.
_SERVER = """
import sys, uvicorn
from separatrix.studio import StudioModel
from separatrix.studio.serving import application
host = f"127.0.0.1:{sys.argv[1]}"
app = application(StudioModel, "token", lambda: frozenset({host}))
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error", lifespan="off")
"""


def _serve_at(port):
    process = subprocess.Popen([sys.executable, "-c", _SERVER, str(port)])
    # It listens, or it ends.
    while process.poll() is None:
        with socket.socket() as attempt:
            if attempt.connect_ex(("127.0.0.1", port)) == 0:
                return process
        time.sleep(0.05)
    pytest.fail("the server does not listen")


@pytest.fixture(scope="session")
def port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture(scope="session")
def server(port):
    """Processes of a server, of which the last runs; and how another is begun."""
    processes = [_serve_at(port)]
    try:
        yield processes, lambda: processes.append(_serve_at(port))
    finally:
        for process in processes:
            process.terminate()
            process.wait()


@pytest.fixture
def browser():
    """A Chromium that is already there; without it, or without playwright, its tests skip."""
    if not _RUNNING:
        driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
        if CHROMIUM is None:
            pytest.skip("there is no Chromium on this machine")
        playwright = driver.sync_playwright().start()
        options = ["--no-sandbox", "--disable-gpu"]
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=options)
        _RUNNING.extend([chromium, playwright])
    return _RUNNING[0]


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem):
    """End the browser after the studio's last test: its loop is in the way of others' loops."""
    if _RUNNING and (nextitem is None or HERE not in nextitem.path.parents):
        chromium, playwright = _RUNNING
        _RUNNING.clear()
        _IDLE.clear()
        try:
            chromium.close()
        finally:
            playwright.stop()


@pytest.fixture
def said():
    """What the pages of a test say on the console; nothing, unless the test takes it away."""
    lines: list[str] = []
    yield lines
    assert lines == []


def _page(browser, options):
    """A page that has some options, and whether it can be used again."""
    again = options.keys() <= _TAKEN_ON
    if again and _IDLE:
        page = _IDLE.pop()
    else:
        page = browser.new_context(**({} if again else options)).new_page()
        page.context.set_default_timeout(PATIENCE)
    if again:
        page.set_viewport_size(options.get("viewport", {"width": 1280, "height": 720}))
        page.emulate_media(
            color_scheme=options.get("color_scheme", "light"),
            reduced_motion=options.get("reduced_motion", "no-preference"),
        )
        page.context.set_offline(options.get("offline", False))
    return page, again


@pytest.fixture
def new_page(browser, said):
    """Make pages whose messages are recorded, and which leave nothing behind after the test."""
    used = []
    heard = {
        "console": lambda message: said.append(message.text),
        "pageerror": lambda error: said.append(str(error)),
    }

    def make(**options):
        used.append(_page(browser, options))
        page, _ = used[-1]
        for event, hear in heard.items():
            page.on(event, hear)
        return page

    try:
        yield make
    finally:
        for page, again in used:
            if page.is_closed() or not again:
                page.context.close()
                continue
            for event, hear in heard.items():
                page.remove_listener(event, hear)
            page.unroute_all()
            page.goto("about:blank")
            page.mouse.move(-1, -1)
            _IDLE.append(page)
