"""The studio's page in a browser with a stand-in for the kernel: hands, fingers and keys."""

from __future__ import annotations

from pathlib import Path

import pytest

import separatrix
from browser import drawn
from separatrix.studio.page import joined

PAGE = Path(separatrix.__file__).parent / "studio" / "page"
STAND_IN = Path(__file__).with_name("stand_in.js")
HOST = "http://studio.test/"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'"
)
_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}
_WIDE = {"viewport": {"width": 1200, "height": 800}}
_PHONE = {"viewport": {"width": 360, "height": 760}, "has_touch": True, "is_mobile": True}


def _serve(route):
    name = route.request.url.removeprefix(HOST).split("#")[0].split("?")[0] or "index.html"
    path = STAND_IN if name == "main.js" else PAGE / name
    route.fulfill(
        # With one script, as in a notebook, the page is there sooner than with all of them.
        body=joined(last="export { render };\n") if name == "studio.js" else path.read_bytes(),
        content_type=_TYPES.get(path.suffix, "image/svg+xml"),
        headers={"Content-Security-Policy": POLICY},
    )


@pytest.fixture
def opened(new_page):
    """Open the page, and hold it to its own host."""
    asked = []

    def open_page(options=_WIDE, fragment=""):
        page = new_page(**options)
        page.on("request", lambda request: asked.append(request.url))
        page.route("**/*", _serve)
        page.goto(HOST + fragment)
        page.locator(".certificate:not(:empty)").wait_for(state="attached")
        drawn(page)
        return page

    yield open_page
    assert all(url.startswith((HOST, "data:", "blob:")) for url in asked)


def _points(page) -> list:
    return page.evaluate("() => standIn.sent.filter(m => m.type === 'ask').at(-1).state.points")


def _at(page, x: float, y: float) -> tuple[float, float]:
    """Where a point of the data lies on the screen, found from two points that are drawn."""
    a, b = (page.locator(".point .mark").nth(i).bounding_box() for i in (0, 2))
    middle = [(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for box in (a, b)]
    scale_x, scale_y = (middle[1][0] - middle[0][0]) / 3, (middle[1][1] - middle[0][1]) / 3
    return middle[0][0] + (x + 2) * scale_x, middle[0][1] + (y + 1) * scale_y


def _drag(page, start, stop):
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*stop, steps=6)
    page.mouse.up()


def _settled(page):
    page.wait_for_function(
        "() => document.querySelector('.separatrix-studio').ariaBusy === 'false'"
        " && document.querySelectorAll('.point').length"
        " === standIn.sent.filter(m => m.type === 'ask').at(-1).state.points.length"
    )
    drawn(page)


def test_points_are_added_dragged_erased_and_brought_back(opened):
    page = opened()
    page.mouse.click(*_at(page, 3, -3))
    _settled(page)
    assert _points(page)[4] == pytest.approx([3, -3, 1], abs=0.03)
    _drag(page, _at(page, 3, -3), _at(page, 2, -2))
    _settled(page)
    assert len(_points(page)) == 5
    assert _points(page)[4] == pytest.approx([2, -2, 1], abs=0.05)
    # A drag is one step back, an added point another.
    page.keyboard.press("Control+z")
    _settled(page)
    assert _points(page)[4] == pytest.approx([3, -3, 1], abs=0.03)
    page.keyboard.press("Control+z")
    _settled(page)
    assert len(_points(page)) == 4
    page.keyboard.press("Control+y")
    page.keyboard.press("Control+y")
    _settled(page)
    assert _points(page)[4] == pytest.approx([2, -2, 1], abs=0.05)
    page.get_by_role("button", name="Erase", exact=True).click()
    _drag(page, _at(page, 1.8, -2), _at(page, 2.2, -2))
    _settled(page)
    assert _points(page) == [[-2, -1, 0], [-1, -2, 0], [1, 2, 1], [2, 1, 1]]
    page.get_by_role("button", name="Brush").click()
    _drag(page, _at(page, -3, 3), _at(page, 0, 3))
    _settled(page)
    assert len(_points(page)) > 10


def test_the_keyboard_alone_does_all_of_it(opened):
    page = opened()
    page.locator(".surface").focus()
    for key in ("1", "ArrowLeft", "Shift+ArrowUp", "Enter", "Tab"):
        page.keyboard.press(key)
    _settled(page)
    assert _points(page)[4][2] == 0
    assert page.evaluate("document.activeElement.dataset.index") == "0"
    assert "class -1" in page.evaluate("document.activeElement.ariaLabel")
    page.keyboard.press("ArrowRight")
    _settled(page)
    assert _points(page)[0][0] > -2
    assert page.evaluate("document.activeElement.dataset.index") == "0"
    page.keyboard.press("2")
    _settled(page)
    assert _points(page)[0][2] == 1
    page.keyboard.press("Delete")
    _settled(page)
    assert len(_points(page)) == 4
    assert page.evaluate("document.activeElement.dataset.index") == "0"
    # A point stays in the picture, and keeps the focus there.
    for key in [*["Shift+ArrowUp"] * 25, *["Shift+ArrowRight"] * 25]:
        page.keyboard.press(key)
    _settled(page)
    top = page.locator(".point").first
    assert top.get_attribute("visibility") is None
    assert page.evaluate("document.activeElement.dataset.index") == "0"
    x, y, _ = _points(page)[0]
    view = page.evaluate("standIn.sent.filter(m => m.type === 'ask').at(-1).state.view")
    assert 0 <= view["y"][1] - y < 0.1 and 0 <= view["x"][1] - x < 0.1
    # Where the picture leaves it, the canvas has the focus, and receives the keys.
    for _ in range(3):
        page.keyboard.press("+")
    page.wait_for_function("() => document.activeElement.matches('.surface')")
    page.keyboard.press("0")
    _settled(page)
    page.keyboard.press("Tab")
    page.keyboard.press("Delete")
    _settled(page)
    assert len(_points(page)) == 3
    page.keyboard.press("?")
    assert page.get_by_role("dialog", name="Help").is_visible()
    page.keyboard.press("Escape")
    assert page.locator("dialog[open]").count() == 0


def test_steps_go_back_and_forth_to_the_same_picture(opened):
    page = opened()
    where, lines = page.locator(".where"), page.locator(".layer.lines")
    last = lines.inner_html()
    seen = []
    for step in (1, 0):
        page.keyboard.press(",")
        where.filter(has_text=f"update {step} of 2").wait_for()
        drawn(page)
        seen.append((where.inner_text(), page.locator(".formula-text").inner_text()))
        assert lines.inner_html() != last
    assert seen == [("update 1 of 2", "second"), ("update 0 of 2", "first")]
    assert page.locator(".point.visited").get_attribute("data-index") == "0"
    assert page.get_by_role("button", name="One step back").is_disabled()
    # The boundary of a step is where its theta says: x + 3 y = 0 crosses (-3, 1) and (3, -1).
    line = page.locator(".level.boundary").bounding_box()
    slope = line["height"] / line["width"]
    assert slope == pytest.approx(1 / 3, rel=0.05)
    for _ in range(2):
        page.keyboard.press(".")
    where.filter(has_text="update 2 of 2").wait_for()
    drawn(page)
    assert lines.inner_html() == last
    # From the only correction to either end, and back to it.
    for key, step in (("[", 0), (">", 1), (">", 2), ("<", 1), ("<", 0)):
        page.keyboard.press(key)
        assert where.inner_text() == f"update {step} of 2"
    page.get_by_role("slider", name="Step").fill("1")
    assert where.inner_text() == "update 1 of 2"


def test_it_opens_with_steps_that_play_until_something_is_done(opened):
    page = opened(fragment="?moving")
    line = page.locator(".opening")
    assert line.inner_text() == "Click adds a point, drag moves one."
    page.locator(".where").filter(has_text="update 2 of 2").wait_for()
    page.wait_for_function("() => document.querySelector('.primary').ariaLabel === 'Play'")
    page.mouse.click(*_at(page, 3, -3))
    line.wait_for(state="detached")
    # With reduced motion nothing moves before the button is pressed; with a link nothing does.
    still = opened({**_WIDE, "reduced_motion": "reduce"}, "?moving")
    assert still.locator(".where").inner_text() == "update 2 of 2"
    assert (
        still.evaluate(
            "() => { document.querySelector('.opening button').click();"
            " return document.querySelector('.where').innerText; }"
        )
        == "update 0 of 2"
    )
    linked = opened(fragment="?moving#s=none")
    assert linked.locator(".opening").count() == 0


def test_the_page_is_as_wide_as_its_screen(opened):
    page = opened({"viewport": {"width": 360, "height": 760}, "color_scheme": "dark"})
    for width in (360, 390, 1200, 3840):
        page.set_viewport_size({"width": width, "height": 760})
        assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate("getComputedStyle(document.querySelector('.card')).color") == (
        "rgb(240, 246, 252)"
    )
    for _ in range(2):
        page.get_by_role("button", name="Theme").click()
    dark = page.evaluate("getComputedStyle(document.querySelector('.card')).backgroundColor")
    assert dark == "rgb(21, 27, 35)"
    # Letters of the second picture are as large in every card, and names move no picture.
    for width in (390, 820, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function(
            "() => { const chart = document.querySelector('.chart');"
            " const scale = chart.getBoundingClientRect().width / chart.viewBox.baseVal.width;"
            " return Math.abs(scale - 1) < 0.02; }"
        )
        top = page.locator(".picture").bounding_box()["y"]
        page.evaluate("""() => {
          const state = standIn.get("state");
          const long = (name) => `${name.repeat(9)}${innerWidth}`;
          const classes = ["setosa", "versicolor", "virginica"].map(long);
          standIn.set("state", { ...state, names: { ...state.names, classes } });
          standIn.listeners.get("change:state").forEach((one) => one());
        }""")
        page.locator(".toolbar .classes").get_by_text(f"setosa{width}").wait_for(state="attached")
        assert page.locator(".picture").bounding_box()["y"] == top
        assert page.evaluate("document.documentElement.scrollWidth") == width
        page.keyboard.press("Control+z")
    unnamed = page.evaluate(
        "() => [...document.querySelectorAll('button, input, select, textarea')].filter(e =>"
        " !e.ariaLabel && !e.textContent.trim() && !(e.labels?.length)).map(e => e.outerHTML)"
    )
    assert unnamed == []


def test_fingers_add_a_point_and_a_link_carries_it(opened):
    page = opened(_PHONE)
    page.touchscreen.tap(*_at(page, 2, -2))
    _settled(page)
    points = _points(page)
    assert len(points) == 5
    page.get_by_role("button", name="Link").tap()
    fragment = page.evaluate("location.hash")
    again = opened(_WIDE, fragment)
    assert _points(again) == points
    # The second finger takes the picture, and the point that the first one dragged is put back.
    session = page.context.new_cdp_session(page)

    def touch(kind, *places):
        spots = [{"x": x, "y": y, "id": k} for k, (x, y) in enumerate(places)]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": spots})

    page.locator(".surface").scroll_into_view_if_needed()
    (x, y), other = _at(page, -2, -1), _at(page, 1, 1)
    view = "standIn.sent.filter(m => m.type === 'ask').at(-1).state.view"
    width = f"() => {view}.x[1] - {view}.x[0]"
    before = page.evaluate(width)
    touch("touchStart", (x, y))
    touch("touchMove", (x + 20, y))
    touch("touchStart", (x + 20, y), other)
    apart = (x + 20 - other[0], y - other[1])
    touch("touchMove", (other[0] + 2 * apart[0] / 3, other[1] + 2 * apart[1] / 3), other)
    wide = f"was => Math.abs(({width})() / was - 1) < 0.02"
    page.wait_for_function(wide, arg=1.5 * before)
    touch("touchEnd")
    _settled(page)
    assert _points(page) == points
    page.get_by_role("button", name="Undo").tap()
    page.wait_for_function(wide, arg=before)


_SECOND = """async () => {
  const { render } = await import("./studio.js");
  const el = document.createElement("div");
  el.style.width = "900px";
  document.body.append(el);
  const listeners = new Map();
  const tell = (state) => [...(listeners.get("change:state") ?? [])].forEach((one) => one(state));
  const second = Object.create(standIn, {
    on: { value: (event, one) => listeners.set(event, [...(listeners.get(event) ?? []), one]) },
    send: { value: () => {} },
  });
  // What one page saves the other is told of, as by a notebook.
  const saves = standIn.save_changes.bind(standIn);
  standIn.save_changes = () => { saves(); tell(); };
  second.save_changes = () => {
    saves();
    for (const one of standIn.listeners.get("change:state")) one();
  };
  render({ model: second, el });
}"""


def test_two_pages_of_different_shapes_come_to_rest(opened):
    page = opened()
    page.evaluate(_SECOND)
    page.mouse.click(*_at(page, 3, -3))
    # A point more is saved once; the other page, which is wider, has nothing to add.
    page.wait_for_function("() => standIn.saved.length > 0")
    page.wait_for_timeout(550)
    assert page.evaluate("standIn.saved.map(state => state.points.length)") == [5]
    assert page.locator(".layer.points").nth(1).locator(".point").count() == 5
    start, stop = _at(page, 1, 2), _at(page, 3, 3)
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*stop, steps=3)
    # Python takes the point from under the hand.
    page.evaluate("""() => {
      standIn.set("state", { ...standIn.get("state"), points: [[0, 0, 0], [1, 1, 1]] });
      standIn.listeners.get("change:state").forEach((one) => one());
    }""")
    page.mouse.move(*start, steps=3)
    page.mouse.up()
    page.locator(".layer.points").first.locator(".point").nth(2).wait_for(state="detached")
    assert _points(page) == [[0, 0, 0], [1, 1, 1]]


def test_only_the_newest_state_is_asked_about_and_the_last_arrives(opened):
    page = opened()
    before = page.evaluate("standIn.sent.length")
    _drag(page, _at(page, 1, 2), _at(page, 3, 3))
    _settled(page)
    asks = page.evaluate(
        "(k) => standIn.sent.slice(k).filter(m => m.type === 'ask').length", before
    )
    assert 1 <= asks <= 12
    assert _points(page)[2] == pytest.approx([3, 3, 1], abs=0.1)
    page.wait_for_function("() => standIn.saved.at(-1)?.points[2][0] > 2.8")
    # An answer to an older question changes nothing.
    page.evaluate("() => standIn.tell({type: 'answer', seq: 1, lines: [], points: {}})")
    assert page.locator(".certificate").inner_text() == "Of 4 points."


def test_what_is_typed_is_what_is_fitted_and_stays_in_sight_on_a_phone(opened):
    page = opened({"viewport": {"width": 390, "height": 844}})
    page.locator("select.model-chooser").select_option("logistic")
    field, slider = page.get_by_label("C, as a number"), page.get_by_role("slider", name="C")
    told = page.get_by_role("alert")
    for typed, taken, place in (("99999", "1000", "3"), ("10", "10", "1"), ("-4", "0.001", "-3")):
        field.fill(typed)
        field.press("Enter")
        _settled(page)
        assert (field.input_value(), slider.input_value()) == (taken, place)
        sent = "standIn.sent.filter(m => m.type === 'ask').at(-1).state.parameters.C"
        assert page.evaluate(sent) == float(taken)
        clamped = f"C must be from 0.001 to 1000: {typed} became {taken}."
        assert (told.inner_text().replace("\u2212", "-") == clamped) == (typed != taken)
    slider.fill("2")
    field.fill("")
    field.press("Enter")
    assert (field.input_value(), slider.input_value()) == ("100", "2")
    # A tour is read, and followed, with the picture in sight.
    page.get_by_role("button", name="Tours").click()
    page.get_by_role("button", name="One", exact=True).click()
    page.locator(".tour:not([hidden])").wait_for()
    picture = page.locator(".picture").bounding_box()
    for seen in (page.locator(".tour"), page.locator(".parameters .row").first):
        box = seen.bounding_box()
        assert picture["y"] >= 0 and picture["y"] + picture["height"] <= box["y"]
        assert box["y"] + box["height"] <= 844


def test_proofs_tours_and_what_leaves_the_page(opened):
    page = opened()
    page.get_by_role("button", name="Separable?").click()
    page.locator(".strip").wait_for(state="attached")
    assert page.locator(".verdict").inner_text() == "A strip."
    page.locator(".point").first.focus()
    page.keyboard.press("ArrowUp")
    page.locator(".strip").wait_for(state="detached")
    for name, start in (("PNG", b"\x89PNG"), ("SVG", b"<svg"), ("CSV", b"x1,x2,class\n")):
        with page.expect_download() as download:
            page.get_by_role("button", name=name, exact=True).click()
        content = Path(download.value.path()).read_bytes()
        assert content.startswith(start)
        assert b"class=" not in content
        if name == "SVG":
            assert b">Separatrix studio: Perceptron</title>" in content
            assert b"2 of class -1, 2 of class +1; x1 across, x2 up. Of 4 points.</desc>" in content
    page.get_by_role("button", name="Model file").click()
    page.get_by_role("alert").filter(has_text="It cannot.").wait_for()
    page.get_by_role("button", name="Tours").click()
    page.get_by_role("button", name="One", exact=True).click()
    page.get_by_role("button", name="this", exact=True).click()
    assert "Not quite" in page.locator(".tour").inner_text()
    page.get_by_role("button", name="that", exact=True).click()
    assert "So it is." in page.locator(".tour").inner_text()
    page.get_by_text("Paste and copy").click()
    page.locator("textarea").fill("a,b,c\n1,2,no\nx,4,yes\n")
    page.get_by_role("button", name="Use these", exact=True).click()
    page.get_by_text('Line 3 has "x" where a number should be.').wait_for()
    page.locator("textarea").fill("a,b,c\n1,2,no\n3,4,yes\n")
    page.get_by_role("button", name="Use these", exact=True).click()
    _settled(page)
    assert _points(page) == [[1, 2, 0], [3, 4, 1]]
