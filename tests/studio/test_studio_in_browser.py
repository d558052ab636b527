"""The studio as it is used: a real kernel behind a real page, served, and taken along."""

from __future__ import annotations

import base64
import re
import warnings

import numpy as np
import pytest

import separatrix
from browser import drawn
from separatrix.studio import StudioModel
from separatrix.studio.export import write_page
from separatrix.studio.fitting import fitted
from separatrix.studio.shapes import shape
from separatrix.studio.share import from_fragment, to_fragment
from separatrix.studio.state import parse


@pytest.fixture
def opened(new_page):
    """Open a page, and hold it to what it was opened from."""
    asked, homes = [], []

    def open_page(address, **options):
        page = new_page(**options)
        page.on("request", lambda request: asked.append(request.url))
        homes.append(address.split("#")[0])
        page.goto(address)
        page.locator(".certificate:not(:empty)").wait_for(state="attached")
        return page

    yield open_page
    assert all(url.startswith((*homes, "data:", "blob:")) for url in asked), asked


def _settled(page):
    page.wait_for_function(
        "() => document.querySelector('.separatrix-studio').ariaBusy === 'false'"
    )
    drawn(page)


def _choose(page, model):
    page.locator("select.model-chooser").select_option(model)
    _settled(page)


def _pixels(page, selector):
    """The corners of a line that is drawn, in pixels of the picture."""
    d = page.locator(selector).first.evaluate(
        "node => node.tagName === 'line'"
        " ? ['x1', 'y1', 'x2', 'y2'].map(name => node.getAttribute(name)).join(' ')"
        " : node.getAttribute('d')"
    )
    return np.array(re.findall(r"-?[\d.]+(?:e-?\d+)?", d), dtype=float).reshape(-1, 2)


def _to_data(page, state):
    """From pixels to data, found from where the points are drawn."""
    places = page.locator(".layer.points .point").evaluate_all(
        "nodes => nodes.map(node => { const m = node.transform.baseVal.consolidate()?.matrix;"
        " return m ? [m.e, m.f] : null; })"
    )
    data = np.array([point[:2] for point in state["points"]])
    fits = [np.polyfit(np.array(places)[:, k], data[:, k], 1) for k in (0, 1)]
    return lambda pixels: np.stack([np.polyval(fits[k], pixels[:, k]) for k in (0, 1)], axis=1)


@pytest.fixture(scope="module")
def state():
    begun = StudioModel().traits["state"]
    return {**begun, **shape("blobs", n=40, noise=1.6), "model": "logistic"}


_ESTIMATORS = {
    "logistic": {"class": "LogisticRegression"},
    "linear_svm": {"class": "LinearSVC", "loss": "hinge"},
    "kernel_svm": {"class": "SVC", "gamma": 0.5, "coef0": 1.0},
    "lda": {"class": "LinearDiscriminantAnalysis"},
    "qda": {"class": "QuadraticDiscriminantAnalysis"},
    "least_squares": {"class": "LeastSquaresClassifier"},
    "perceptron": {"class": "Perceptron", "max_iter": 30},
}


def test_every_picture_is_where_the_estimator_says(server, port, opened, state):
    page = opened(f"http://127.0.0.1:{port}/token/{to_fragment(state)}")
    state = from_fragment(page.evaluate("location.hash"))
    points = np.array(state["points"])
    X, y = points[:, :2], np.where(points[:, 2] == 1, 1, -1)
    to_data, most = None, 0
    for name, options in _ESTIMATORS.items():
        _choose(page, name)
        to_data = to_data or _to_data(page, state)
        options = dict(options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = getattr(separatrix, options.pop("class"))(**options).fit(X, y)
        line = to_data(_pixels(page, ".level.boundary"))
        scores = model.decision_function(line)
        scale = np.abs(model.decision_function(X)).max()
        assert len(line) >= 2 and np.abs(scores).max() < 0.01 * scale, name
        mistakes = int(np.sum(model.predict(X) != y))
        assert page.locator(".point.mistaken").count() == mistakes, name
        most = max(most, mistakes)
        supported = page.locator(".point.support-free, .point.support-bound")
        if name == "kernel_svm":
            assert supported.count() == len(model.support_)
        if name in ("linear_svm", "kernel_svm"):
            supported.first.focus()
            assert "α = " in page.locator(".status").inner_text()
    assert most > 0
    corner = page.locator(".layer.axes .frame").bounding_box()
    page.mouse.move(corner["x"] + 5, corner["y"] + 5)
    page.locator(".status").filter(has_text="score").wait_for()
    _choose(page, "regression")
    curve = to_data(_pixels(page, ".level.curve"))
    own = separatrix.PolynomialRegression(degree=1).fit(X[:, :1], X[:, 1])
    np.testing.assert_allclose(curve[:, 1], own.predict(curve[:, :1]), atol=0.02)
    squares = _pixels(page, ".residual .square").reshape(-1, 4, 2)
    sides = np.ptp(to_data(squares.reshape(-1, 2)).reshape(-1, 4, 2), axis=1)
    residual = np.abs(X[:, 1] - own.predict(X[:, :1]))
    np.testing.assert_allclose(sides, np.stack([residual, residual], axis=1), atol=0.02)
    page.locator(".layer.points .point").first.focus()
    assert "residual" in page.locator(".status").inner_text()
    # The page's own link is read in Python.
    page.get_by_role("button", name="Link").click()
    linked = from_fragment(page.evaluate("location.hash"))
    assert (linked["points"], linked["model"]) == (state["points"], "regression")


def test_steps_go_back_and_forth_to_equal_pictures(server, port, opened, state):
    page = opened(f"http://127.0.0.1:{port}/token/{to_fragment(state)}")

    def drawn(step):
        page.locator(f".separatrix-studio[data-shown='{step}']").wait_for()
        _settled(page)
        picture = [page.locator(f".layer.{name}").inner_html() for name in ("lines", "points")]
        return page.locator(".where").inner_text(), page.locator(".formula").inner_text(), *picture

    for model in ("perceptron", "linear_svm", "kernel_svm", "sgd"):
        _choose(page, model)
        last = int(page.locator(".where").inner_text().rpartition(" ")[2])
        seen = [drawn(last)]
        for key, step in ((",", last - 1), (",", last - 2), (".", last - 1), (".", last)):
            page.keyboard.press(key)
            seen.append(drawn(step))
        assert seen[4] == seen[0] and seen[3] == seen[1], model
        assert len({one[0] for one in seen}) == 3
        assert seen[2] != seen[0], model


def test_two_pages_at_once_and_a_server_that_was_killed(server, port, opened, said, state):
    address = f"http://127.0.0.1:{port}/token/"
    one, two = opened(address + to_fragment(state)), opened(address)
    before = two.locator(".numbers").text_content()
    _choose(one, "linear_svm")
    assert two.locator(".numbers").text_content() == before
    assert one.locator(".numbers").text_content() != before
    processes, begin_again = server
    processes[-1].kill()
    processes[-1].wait()
    one.get_by_role("alert").filter(has_text="does not answer").wait_for()
    # A change and a request that are made meanwhile are sent as soon as there is a kernel again.
    one.locator("select.model-chooser").select_option("lda")
    one.get_by_role("button", name="Draw a line of your own").click()
    begin_again()
    one.get_by_role("alert").wait_for(state="hidden")
    one.wait_for_function(
        "() => document.querySelector('.certificate').innerText.includes('Solved')"
    )
    assert one.locator(".layer.points .point").count() == len(state["points"])
    one.locator(".handle.tip").wait_for()
    # The browser itself reports the connection that was lost.
    said[:] = [text for text in said if "WebSocket connection" not in text]


def test_a_worksheet_keeps_what_was_written_in_it(tmp_path, opened, state):
    kernel = StudioModel()
    asked = {"type": "save", "seq": 1, "what": "worksheet"}
    saved = kernel.reply({**asked, "state": {**state, "model": "perceptron"}})
    path, again = tmp_path / "worksheet.html", tmp_path / "again.html"
    path.write_bytes(base64.b64decode(saved["data"]))
    page = opened(path.as_uri(), offline=True)
    fit = fitted(parse({**state, "model": "perceptron"}))
    # A start, each correction and the end, as far as there is space.
    assert page.locator(".notes li").count() == min(24, int(fit.model.mistakes_.sum()) + 2)
    assert page.locator(".notes li").nth(2).locator(".sketch .level.boundary").count() == 1
    text = "One </script> of two\nlines \u2260 <!-- none -->"
    page.locator(".notes textarea").nth(2).fill(text)
    with page.expect_download() as download:
        page.get_by_role("button", name="Save with my notes").click()
    download.value.save_as(again)
    # It is the same page, with the notes in its recording.
    page = opened(again.as_uri(), offline=True)
    written = [field.input_value() for field in page.locator(".notes textarea").all()]
    assert written[2] == text and not any(written[:2] + written[3:])
    name = page.locator(".notes h3").nth(2).inner_text()
    page.get_by_role("button", name=f"Show {name}", exact=True).click()
    assert page.locator(".where").inner_text().startswith(f"{name} of ")


def test_a_page_from_disk_needs_no_network(tmp_path, opened, state):
    kernel = StudioModel()
    path = tmp_path / "page.html"
    write_page(path, kernel, state, models=["perceptron", "logistic", "kernel_svm"])
    page = opened(path.as_uri(), offline=True)
    for model in ("perceptron", "logistic", "kernel_svm"):
        _choose(page, model)
        answer = kernel.reply(
            {"type": "ask", "seq": 1, "state": {**state, "model": model, "parameters": {}}}
        )
        shown, said = page.locator(".certificate").inner_text(), answer["certificate"]["sentence"]
        # The seconds are those of two fits.
        assert re.sub(r"[\d.]+ s\b", "s", shown) == re.sub(r"[\d.]+ s\b", "s", said)
        where, last = page.locator(".where"), answer["steps"]["count"] - 1
        assert where.inner_text().endswith(f"{last} of {last}")
        lines = page.locator(".layer.lines").inner_html()
        page.keyboard.press(",")
        page.locator(f".separatrix-studio[data-shown='{last - 1}']").wait_for()
        _settled(page)
        assert page.locator(".formula-text").inner_text() == answer["steps"]["formula"][last - 1]
        page.keyboard.press(".")
        page.locator(f".separatrix-studio[data-shown='{last}']").wait_for()
        _settled(page)
        assert page.locator(".layer.lines").inner_html() == lines
    page.get_by_role("button", name="Separable?").click()
    page.locator(".verdict-sentence").filter(has_text="eparable").wait_for()
    assert page.locator(".layer.points .point").count() == len(state["points"])
    # It shows, and changes nothing.
    page.mouse.click(300, 300)
    assert page.locator(".layer.points .point").count() == len(state["points"])
