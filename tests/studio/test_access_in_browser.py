"""The studio for all hands and eyes, and what it makes of hostile links, messages and tables."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest

from browser import drawn, until
from separatrix.studio import StudioModel
from separatrix.studio.share import to_fragment


@pytest.fixture
def opened(server, port, new_page):
    """Open the page with a state, and hold it to its own address."""
    asked = []

    def open_page(given=None, **options):
        page = new_page(**options)
        page.on("request", lambda request: asked.append(request.url))
        begun = StudioModel().traits["state"]
        page.goto(f"http://127.0.0.1:{port}/token/{to_fragment({**begun, **(given or {})})}")
        page.locator(".separatrix-studio[aria-busy=false]").wait_for()
        return page

    yield open_page
    assert asked != []
    assert all(
        url.startswith((f"http://127.0.0.1:{port}/token/", "data:", "blob:")) for url in asked
    )


def _wrong(page):
    """What axe-core finds, a line for each rule."""
    package = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed"
    )
    found = package.Axe().run(page).response["violations"]
    return [f"{rule['id']}: {rule['nodes'][0]['html']}" for rule in found]


def test_axe_finds_nothing_wrong(opened):
    # Colours that are on their way from one theme to another are no contrast.
    state = {"model": "linear_svm", "panel": "lift", "lift": ["xy"], "test": {"hold_out": 30}}
    page = opened(state, reduced_motion="reduce")
    page.get_by_role("button", name="Move them 25 times").click()
    page.locator(".trials td").first.wait_for()
    for text in ("Names and classes", "Paste and copy"):
        page.get_by_text(text).click()
    page.get_by_role("button", name="Add a class").first.click()
    page.get_by_role("button", name="Separable?").click()
    page.locator(".verdict-sentence").wait_for()
    assert _wrong(page) == []
    page.get_by_role("button", name="Tours").click()
    page.get_by_role("button", name="One outlier").click()
    page.locator(".choice").first.click()
    page.keyboard.press("l")
    page.locator(".gap:not(:empty)").wait_for()
    page.emulate_media(color_scheme="dark")
    assert _wrong(page) == []
    page.get_by_role("button", name="Erase all points").click()
    page.get_by_role("alert").filter(has_text="Draw points").wait_for()
    page.keyboard.press("?")
    assert _wrong(page) == []


def test_keys_alone_go_from_an_empty_canvas_to_a_certified_fit(opened):
    screen = {"width": 390, "height": 844}
    page = opened(
        {"points": [], "model": "logistic"},
        viewport=screen, color_scheme="dark", reduced_motion="reduce",
    )  # fmt: skip
    assert page.get_by_role("alert").filter(has_text="Draw points of two classes").is_visible()

    def focused():
        return page.evaluate("document.activeElement.getAttribute('class')") or ""

    for _ in range(40):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.matches(':focus-visible')")
        if "surface" in focused():
            break
    begin = ["1", *["Shift+ArrowLeft"] * 2, "Enter", "Shift+ArrowUp", "Enter"]
    for key in (*begin, "2", *["Shift+ArrowRight"] * 4, "Enter", "Shift+ArrowDown", "Enter"):
        page.keyboard.press(key)
    page.locator(".certificate").filter(has_text="optimal").wait_for()
    page.keyboard.press("Tab")
    name = page.evaluate("document.activeElement.ariaLabel")
    assert name.startswith("Point 1 of 4 · class -1 · x1 ")
    # A model is chosen past the points, and its parameter is moved.
    page.keyboard.press("m")
    page.keyboard.type("Linear")
    page.locator(".certificate").filter(has_text="optimal").wait_for()
    page.wait_for_function("() => document.querySelector('.status').innerText.includes('street')")
    before = page.locator(".status").inner_text()
    assert before.startswith("0 mistakes in 4 points · the street is ")
    for key in ("Tab", "Tab", "Home"):
        page.keyboard.press(key)
    page.wait_for_function(
        "text => document.querySelector('.status').innerText !== text", arg=before
    )
    page.keyboard.press("Escape")
    assert "surface" in focused()
    page.locator(".separatrix-studio[aria-busy=false]").wait_for()
    where = page.locator(".where")
    last = where.inner_text()
    page.keyboard.press("[")
    assert where.inner_text() != last
    # The counts are those of the step that is shown, at which all weights are zero.
    page.locator(".status").filter(has_text="2 mistakes in 4 points").wait_for()
    page.wait_for_function("() => document.querySelectorAll('.point.mistaken').length === 2")
    page.get_by_label("Pace").select_option("very fast")
    page.keyboard.press("Escape")
    page.keyboard.press("p")
    page.wait_for_function("text => document.querySelector('.where').innerText === text", arg=last)
    page.keyboard.press("Control+z")
    assert page.evaluate("document.documentElement.scrollWidth") == screen["width"]


_APART = """() => {
  const points = document.querySelectorAll(".point");
  const [first, last] = [points[0], points[9]].map((node) => node.getCTM());
  const { width, height } = document.querySelector(".layer.axes .frame").getBoundingClientRect();
  return [(last.e - first.e) / width, (last.f - first.f) / height];
}"""


def test_marks_grow_with_the_points_at_their_place_and_axes_with_their_data(opened):
    nine, two = [[0, 0, 0]] * 9, [[1, 8, 1], [0.5, 4, 1]]
    view = {"x": [-9, 9], "y": [-9, 9], "lock": True}
    page = opened({"points": [*nine, *two], "view": view, "model": "lda"})
    across = "node => node.getBBox().width"
    widths = [page.locator(".point .mark").nth(i).evaluate(across) for i in (0, 8, 9)]
    # A circle is 2 r wide and a square 1.76 r: the area is nine times as large.
    assert widths[0] == widths[1] == pytest.approx(3 * widths[2] / 0.88, rel=0.01)
    page.locator(".point").first.focus()
    assert page.locator(".status").inner_text().endswith(" · 8 more at this place")
    assert page.evaluate("document.activeElement.ariaLabel").endswith(" · 8 more at this place")
    assert page.locator(".layer.axes").get_by_text("largest mark: 9 points").count() == 1

    def apart():
        """The distance from the first to the last of the points, as a share of the frame."""
        drawn(page)
        # In one look, for a page that is drawn anew has other nodes.
        return np.array(page.evaluate(_APART))

    equal = page.get_by_role("button", name="Equal axes")
    assert abs(apart()[0]) < 0.1
    equal.click()
    assert equal.get_attribute("aria-pressed") == "false"
    np.testing.assert_allclose(apart(), [1 / 1.36, -1 / 1.36], atol=0.01)
    page.locator(".status").filter(has_text="the axes have different scales").wait_for()
    equal.click()
    assert equal.get_attribute("aria-pressed") == "true"


def test_names_and_classes_are_changed_and_brought_back(opened):
    page = opened({"points": [[-1, 0, 0], [1, 0, 1], [0, 1, 1]]})
    page.get_by_text("Names and classes").click()
    page.get_by_label("Name of axis across").fill("length / mm")
    page.get_by_label("Name of class 1").fill("small")
    page.get_by_label("Name of class 2").fill("small")
    page.keyboard.press("Tab")
    page.get_by_text("Another class is already called small; choose a different name.").wait_for()
    drawn(page)
    assert page.locator(".axis-name").first.text_content() == "length / mm"
    for _ in range(2):
        page.get_by_role("button", name="Add a class").first.click()
    assert page.get_by_role("button", name="Add a class").count() == 0
    key = page.locator(".toolbar .classes button")
    assert key.all_inner_texts() == ["small", "+1", "third", "fourth"]
    page.get_by_role("button", name="Remove class +1 and its points").click()
    assert key.all_inner_texts()[:3] == ["small", "third", "fourth"]
    drawn(page)
    assert page.locator(".layer.points .point").count() == 1
    page.keyboard.press("Control+z")
    assert key.all_inner_texts() == ["small", "+1", "third", "fourth"]
    drawn(page)
    assert page.locator(".layer.points .point.class-1").count() == 2
    for _ in range(4):
        page.keyboard.press("Control+z")
    drawn(page)
    assert page.locator(".axis-name").first.text_content() == "x1"
    assert key.all_inner_texts() == ["-1", "+1", ""]


# What a tour says to operate, and what it says to watch: by their selectors.
_TOURS = {
    "The start changes": ("[aria-label='start, θ₁']", ".status"),
    "One outlier": (".layer.points .point", ".status"),
    "A smaller C": ("[type=range][aria-label=C]", ".level.margin"),
    "A kernel bends": ("[type=range][aria-label=gamma]", ".level.boundary"),
    "Without a penalty": ("[type=range][aria-label=C]", ".formula"),
    "A high degree": ("[type=range][aria-label=degree]", ".chart"),
}

# Whether the middle of a node is seen: within the screen, and with nothing above it.
_SEEN = """node => {
  const { x, y, width, height } = node.getBoundingClientRect();
  const [left, right] = [Math.max(x, 0), Math.min(x + width, innerWidth)];
  const [top, bottom] = [Math.max(y, 0), Math.min(y + height, innerHeight)];
  if (right <= left || bottom < top) return "outside";
  const there = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
  const isSeen = node.contains(there) || node.closest(".picture")?.contains(there);
  return isSeen ? "" : `below ${there.className}`;
}"""


@pytest.mark.parametrize("width, height", [(390, 844), (820, 1180)])
def test_a_tour_is_followed_with_the_picture_in_sight(opened, port, width, height):
    page = opened(viewport={"width": width, "height": height}, reduced_motion="reduce")
    # A link brings its own state, and the page that is opened without one offers the tours.
    assert not page.get_by_role("button", name="Start a tour").is_visible()
    page.goto("about:blank")
    page.goto(f"http://127.0.0.1:{port}/token/")
    page.get_by_role("button", name="Start a tour").click()
    for title, (control, watched) in _TOURS.items():
        card = page.locator(".tour").filter(has_text=title)
        card.wait_for()
        page.locator(".separatrix-studio[aria-busy=false]").wait_for()
        drawn(page)
        for seen in (".picture", ".tour"):
            until(page, lambda seen=seen: page.locator(seen).first.evaluate(_SEEN) == "")
        jump = page.locator(".jump").get_by_role("button", name="Model")
        if jump.is_visible():
            jump.click()
        for seen in (".picture", control, watched):
            until(page, lambda seen=seen: page.locator(seen).first.evaluate(_SEEN) == "")
        before = page.evaluate("() => scrollY")
        page.locator(control).first.focus()
        page.keyboard.press("ArrowUp")
        page.locator(".separatrix-studio[aria-busy=false]").wait_for()
        drawn(page)
        for seen in (".picture", control, watched):
            until(page, lambda seen=seen: page.locator(seen).first.evaluate(_SEEN) == "")
        assert page.evaluate("() => scrollY") == before
        card.locator(".next").click()
    page.locator(".tour").filter(has_text="Hyperplanes").wait_for()


_TABLES = {
    "": "There is nothing to read: paste lines of two numbers and a class.",
    "a,b,c\n1,2,x\n3,4\n": "Line 3 has 2 columns, and the first has 3.",
    "1\n2\n": "The first line has 1 columns; there should be two of numbers",
    "1,2,3,4\n": "The first line has 4 columns;",
    "1,2,x\n1e300,2,y\n": "Line 2 has 1e300, which is beyond a billion.",
    "1,2,x\n\n1,two,y\n": 'Line 3 has "two" where a number should be.',
    "1,2,x\n1,,y\n": "Line 2 has nothing where a number should be.",
    "1,2,x\n" * 10_000: "There are 10000 rows; the studio takes at most 2000.",
    "1,2,a\n1,2,b\n1,2,c\n1,2,d\n1,2,e\n": "There are 5 classes in the third column",
}


def test_tables_that_are_none_get_a_sentence_and_one_comes_back_as_it_was(opened):
    page = opened({"points": [[-1, 0, 0], [1, 0, 1]]})
    page.get_by_text("Paste and copy").click()
    use = page.get_by_role("button", name="Use these", exact=True)
    for text, sentence in _TABLES.items():
        page.locator("textarea").evaluate("(node, text) => { node.value = text; }", text)
        use.click()
        page.get_by_text(sentence).wait_for()
        drawn(page)
        assert page.locator(".layer.points .point").count() == 2, text[:40]
    text = 'x,"a, b",class\n1,2,"one, two"\n-3.5,1e-3,"say ""no"""\n'
    page.locator("textarea").fill(text)
    use.click()
    page.locator("text.axis-name").filter(has_text="a, b").wait_for()
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV", exact=True).click()
    with open(download.value.path(), encoding="utf-8") as file:
        assert file.read() == text.replace("1e-3", "0.001")


def _link(carried):
    text = json.dumps(carried).encode()
    return "#s=" + base64.urlsafe_b64encode(text).decode().rstrip("=")


def test_hostile_links_open_a_page_that_says_so(opened):
    good = {"v": 1, "q": [0, 0], "p": [1, 2, 0], "names": {"x": "a", "y": "b"}, "model": "lda"}
    good["names"]["classes"], good["view"] = ["c", "d"], {"x": [0, 1], "y": [0, 1]}
    page = opened()
    assert page.locator(".layer.points .point").count() == 60
    wrong = [
        {"p": [1, 2, 7]}, {"p": [None, 1, 0]}, {"q": "x"}, {"names": {"x": 1}}, {"view": None},
        {"view": {"x": [1, 0], "y": [0, 1]}}, {"model": ["lda"]}, {"parameters": 3}, {"p": {}},
        {"p": [0] * 6003}, {"names": {**good["names"], "x": "x" * 201}},
    ]  # fmt: skip
    alert = page.get_by_role("alert").filter(has_text="does not contain a state")
    for change in wrong:
        page.evaluate("() => { document.querySelector('.alert').hidden = true; }")
        page.evaluate("link => { location.hash = link; }", _link({**good, **change}))
        alert.wait_for()
        drawn(page)
        assert page.locator(".layer.points .point").count() == 60
    # As an address that one comes by, too; and a good one is followed.
    page.reload()
    alert.wait_for()
    page.evaluate("link => { location.hash = link; }", _link(good))
    page.locator(".layer.points .point").nth(1).wait_for(state="detached")
    assert page.locator(".model-chooser").input_value() == "lda"
    # One point is no fit, and what was drawn and said of others has gone.
    page.get_by_role("alert").filter(has_text="Draw points of two classes").wait_for()
    assert page.locator(".certificate:empty").count() == 1
    page.wait_for_function("() => !document.querySelector('.layer.lines').childElementCount")


def test_numbers_far_and_near_are_said_in_few_letters(opened):
    page = opened({"points": [[-1e8, 1e6, 0], [1e8, 1e6 + 1, 1]], "view": {
        "x": [-2e8, 2e8], "y": [1e6 - 1, 1e6 + 2], "lock": False,
    }})  # fmt: skip
    frame = page.locator(".picture").bounding_box()
    for tick in page.locator(".layer.axes .tick").all():
        box = tick.bounding_box()
        assert box["x"] >= frame["x"] and box["width"] < 60
    names = page.locator(".layer.axes .axis-name").all_text_contents()
    assert names == ["x1 / 10⁸", "x2 − 1 · 10⁶"]
