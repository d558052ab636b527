"""The studio in Jupyter Lab and in marimo, headless, as users have them, where they are there."""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from importlib.util import find_spec

import pytest

# Where a host keeps what it remembers.
_HOMES = (
    "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR",
    "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME",
)  # fmt: skip
_CELLS = [
    "from separatrix.studio import Studio\nstudio = Studio()\nstudio",
    "print('seen', len(studio.points), studio.model, studio.certificate.status)",
    "studio.options = {'C': 0.01}",
]
_MARIMO = """
import marimo
app = marimo.App()

@app.cell
def _():
    import marimo as mo
    from separatrix.studio import Studio
    studio = Studio()
    view = mo.ui.anywidget(studio)
    view
    return mo, studio, view

@app.cell
def _(mo, studio, view):
    view.value
    mo.md(f"seen {len(studio.points)} {studio.model} {studio.certificate.status}")
    return
"""


@pytest.fixture
def page(browser):
    # These hosts say much on the console.
    page = browser.new_page(viewport={"width": 1300, "height": 1000})
    page.set_default_timeout(180_000)
    wrong = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    yield page
    page.close()
    assert wrong == []


@pytest.fixture
def host(tmp_path):
    """Start a host's server, and end it."""
    started = []

    def start(arguments, alive):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        homes = {name: str(tmp_path / name) for name in _HOMES}
        with open(tmp_path / "said.txt", "w") as said:
            process = subprocess.Popen(
                [sys.executable, "-m", *(one.replace("PORT", str(port)) for one in arguments)],
                cwd=tmp_path,
                env={**os.environ, **homes},
                stdout=said,
                stderr=subprocess.STDOUT,
            )
        started.append(process)
        while process.poll() is None:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}{alive}", timeout=10).close()
                return port
            except urllib.error.HTTPError as error:
                # It answers, though it lets nobody in.
                error.close()
                return port
            except OSError:
                time.sleep(0.1)
        pytest.fail((tmp_path / "said.txt").read_text()[-2000:])

    try:
        yield start
    finally:
        for process in started:
            process.terminate()
            try:
                process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _drawn_and_changed(page):
    """A fit is shown; then another model is chosen and a point is added on the page."""
    page.locator(".certificate:not(:empty)").wait_for(state="attached")
    assert "Optimal" in page.locator(".certificate").inner_text()
    page.locator("select.model-chooser").select_option("linear_svm")
    page.locator(".separatrix-studio .surface").focus()
    for key in ("1", "ArrowLeft", "Enter"):
        page.keyboard.press(key)
    # In marimo the page is in a shadow root, which locators see into.
    page.locator(".layer.points .point").nth(60).wait_for(state="attached")
    page.get_by_role("button", name="Separable?").click()
    page.locator(".verdict-sentence").wait_for()


@pytest.mark.skipif(find_spec("jupyterlab") is None, reason="jupyterlab is not installed")
@pytest.mark.skipif(find_spec("ipykernel") is None, reason="ipykernel is not installed")
def test_in_jupyter_lab(page, host, tmp_path):
    cells = [
        {"cell_type": "code", "id": f"c{k}", "metadata": {}, "execution_count": None,
         "outputs": [], "source": source}
        for k, source in enumerate(_CELLS)
    ]  # fmt: skip
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    document = {"cells": cells, "metadata": {"kernelspec": kernel}}
    notebook = tmp_path / "nb.ipynb"
    notebook.write_text(json.dumps({**document, "nbformat": 4, "nbformat_minor": 5}))
    token = secrets.token_hex(16)
    arguments = ["jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1", "--port=PORT"]
    arguments += [f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={tmp_path}"]
    arguments += ["--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
    port = host([*arguments, "--LabApp.news_url="], "/api")
    page.goto(f"http://127.0.0.1:{port}/lab/tree/nb.ipynb?reset&token={token}")

    def run(k):
        page.locator(".jp-Cell .cm-content").nth(k).click()
        page.keyboard.press("Shift+Enter")

    page.locator(".jp-Cell .cm-content").nth(2).wait_for()
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for()
    run(0)
    _drawn_and_changed(page)
    # The trait follows when the hand rests.
    page.wait_for_timeout(1000)
    run(1)
    page.locator("pre").filter(has_text="seen 61 linear_svm optimal").wait_for()
    before = page.locator(".numbers").text_content()
    run(2)
    page.wait_for_function(
        "text => document.querySelector('.numbers').textContent !== text", arg=before
    )


@pytest.mark.skipif(find_spec("marimo") is None, reason="marimo is not installed")
def test_in_marimo(page, host, tmp_path):
    (tmp_path / "nb.py").write_text(_MARIMO)
    arguments = ["marimo", "--quiet", "run", str(tmp_path / "nb.py"), "--headless"]
    port = host([*arguments, "--no-token", "--host=127.0.0.1", "--port=PORT"], "/health")
    page.goto(f"http://127.0.0.1:{port}/")
    _drawn_and_changed(page)
    page.get_by_text("seen 61 linear_svm optimal").wait_for()
