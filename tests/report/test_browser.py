"""Reports in a browser: nothing runs, nothing is requested, everything can be read."""

from __future__ import annotations

import functools
import itertools
import re
import shutil
from pathlib import Path

import pytest
from sklearn.datasets import load_diabetes

from separatrix import LinearRegression, Report

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine"),
]

_QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
]
_NAMES = ("report", "hostile", "quantity")

# Contrast of every text with what is behind it, by the formula of WCAG 2.
_CONTRAST = r"""
() => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const rgba = colour => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = "#000"; canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3]));
  const light = c => {
    const [r, g, b] = c.map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92
      : Math.pow((v + 0.055) / 1.055, 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = element => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) {
      const colour = rgba(getComputedStyle(e).backgroundColor);
      layers.push(colour);
      if (colour[3] === 1) break;
    }
    let colour = [255, 255, 255];
    for (const layer of layers.reverse()) colour = over(layer, colour);
    return colour;
  };
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || ["STYLE", "TITLE"].includes(element.tagName)) continue;
    const box = element.getBoundingClientRect();
    if (!box.width || !box.height || element.closest(".hidden, .skip")) continue;
    const style = getComputedStyle(element);
    const svg = element.namespaceURI.endsWith("svg");
    const below = behind(element);
    const ink = over(rgba(svg ? style.fill : style.color), below);
    const [a, b] = [light(ink), light(below)].sort((x, y) => y - x);
    const size = parseFloat(style.fontSize), bold = parseInt(style.fontWeight) >= 700;
    const wanted = size >= 24 || (bold && size >= 18.66) ? 3 : 4.5;
    const ratio = (a + 0.05) / (b + 0.05);
    found.push({text: element.textContent.trim().slice(0, 40), svg, ratio, wanted});
  }
  return found;
}
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory, report, hostile) -> dict[str, Path]:
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = LinearRegression().fit(X[:300], y[:300])
    quantity = Report.from_estimator(model, X[:300], y[:300], test=(X[300:], y[300:]))
    folder = tmp_path_factory.mktemp("pages")
    paths = {}
    for name, one in {"report": report, "hostile": hostile, "quantity": quantity}.items():
        paths[name] = folder / f"{name}.html"
        one.save(paths[name])
    return paths


@pytest.fixture(scope="module")
def shown(pages):
    """Pages by name in one browser, opened when first used; their messages and requests."""
    from playwright.sync_api import sync_playwright

    said, asked = [], []

    @functools.cache
    def page_of(name: str):
        page = browser.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: said.append(dialog.message))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(pages[name].as_uri())
        page.evaluate("document.querySelectorAll('details[open]').forEach(d => d.begun = true)")
        return page

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=_QUIET)
        yield page_of, said, asked
        browser.close()


@pytest.fixture
def opened(shown):
    """Show a page at some width and in some colours, and check that it raises no message."""
    page_of, said, asked = shown

    def show(name: str, *, unfolded=False, width=1280, media="screen", scheme="light"):
        page = page_of(name)
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(media=media, color_scheme=scheme)
        page.evaluate(
            "all => document.querySelectorAll('details').forEach(d => d.open = all || d.begun)",
            unfolded,
        )
        return page

    yield show
    heard = said.copy()
    said.clear()
    assert heard == []
    # The file, and what is in it.
    assert {url.split(":")[0] for url in asked} <= {"file", "data"}
    assert all(url.endswith(".html") for url in asked if url.startswith("file"))


@pytest.mark.parametrize("name", _NAMES)
def test_nothing_runs_and_nothing_is_asked_for(opened, name):
    page = opened(name)
    for details in page.query_selector_all("summary"):
        details.click()
    assert page.title() != "executed"
    assert page.query_selector("script") is None
    assert page.evaluate("document.scripts.length") == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", _NAMES)
def test_every_text_can_be_read(opened, name, scheme):
    page = opened(name, unfolded=True, scheme=scheme)
    found = page.evaluate(_CONTRAST)
    assert len(found) > 100 and sum(one["svg"] for one in found) > 20
    assert [one for one in found if one["ratio"] < one["wanted"]] == []


@pytest.mark.parametrize("width", [360, 800, 1200])
@pytest.mark.parametrize("name", _NAMES)
def test_the_page_is_as_wide_as_the_window(opened, name, width):
    page = opened(name, unfolded=True, width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # What is wider scrolls in a box of its own, which the keyboard can reach.
    outside = page.evaluate(
        """width => [...document.querySelectorAll("body *")].filter(e =>
            !e.parentElement.closest(".scroll, .drawing, pre, .hidden") &&
            !e.matches(".hidden, .skip") && e.getBoundingClientRect().right > width + 1
        ).map(e => e.outerHTML.slice(0, 80))""",
        width,
    )
    assert outside == []
    assert (
        page.evaluate(
            """() => [...document.querySelectorAll(".scroll, .drawing, pre")].filter(e =>
            e.scrollWidth > e.clientWidth + 1 && e.tabIndex !== 0).length"""
        )
        == 0
    )


def test_a_phone_shows_rows_as_cards(opened):
    page = opened("report", unfolded=True, width=390)
    wide = "[...document.querySelectorAll('.cards')].map(t => t.parentElement)"
    boxes = page.evaluate(f"{wide}.map(e => [e.scrollWidth, e.clientWidth])")
    assert len(boxes) >= 5 and all(inside <= outside for inside, outside in boxes)
    bars = page.evaluate("[...document.querySelectorAll('.bar')].map(b => b.clientWidth)")
    assert max(bars) > 100 and min(bars) >= 2
    names = page.evaluate(
        "[...document.querySelectorAll('.weights th[scope=row]')].map(t => t.clientHeight)"
    )
    assert max(names) < 30  # none is broken into two lines
    small = page.evaluate(
        "[...document.querySelectorAll('.histogram svg')].map(s => s.getBoundingClientRect().width)"
    )
    assert len(small) > 20 and min(small) > 20 and max(small) <= 360
    # What a screen shows as cards is a table for screen readers.
    assert page.get_by_role("row").count() > 50
    assert page.get_by_role("columnheader", name="precision").count() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_print_is_dark_on_white(opened, scheme):
    page = opened("report", media="print", scheme=scheme)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    found = page.evaluate(_CONTRAST)
    assert [one for one in found if one["ratio"] < one["wanted"]] == []
    data = page.pdf(format="A4", print_background=True)
    assert data.startswith(b"%PDF")
    assert 3 <= len(re.findall(rb"/Type\s*/Page\b", data)) <= 20


def test_readers_of_the_screen_are_told_everything(opened):
    page = opened("report")
    assert page.evaluate("document.documentElement.lang") == "en"
    assert page.evaluate(
        "[...document.querySelectorAll('svg')].every(s => s.getAttribute('aria-label'))"
    )
    assert page.evaluate("[...document.querySelectorAll('th')].every(t => t.scope)")
    assert page.evaluate("[...document.querySelectorAll('table')].every(t => t.caption)")
    assert page.evaluate(
        "[...document.querySelectorAll('figure')].every(f => f.querySelector('figcaption'))"
    )
    levels = page.evaluate(
        "[...document.querySelectorAll('h1, h2, h3')].map(h => parseInt(h.tagName[1]))"
    )
    assert levels[0] == 1 and all(b - a <= 1 for a, b in itertools.pairwise(levels))


@pytest.mark.parametrize("name", _NAMES)
def test_on_paper_no_caption_is_larger_than_the_text(opened, name):
    page = opened(name, media="print")
    sizes = page.evaluate(
        """() => {
          const of = query => [...document.querySelectorAll(query)].map(
            e => parseFloat(getComputedStyle(e).fontSize));
          return [of("section > p:not(.claim)"), of("figcaption, .aside, tr.text td, td")];
        }"""
    )
    text, small = sizes
    assert small and max(small) <= min(text)
