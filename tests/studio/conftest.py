"""One browser for all tests of the studio, and pages that are held to silence."""

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


@pytest.fixture
def new_page(browser, said):
    """Make pages that are heard, which are closed after the test."""
    contexts = []

    def make(**options):
        context = browser.new_context(**options)
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        return page

    try:
        yield make
    finally:
        for context in contexts:
            context.close()
