"""Test points, noise, features and lambda, as they are used on the page."""

from __future__ import annotations

import numpy as np
import pytest

from browser import drawn
from separatrix.studio import StudioModel
from separatrix.studio.heldout import held_out
from separatrix.studio.shapes import shape
from separatrix.studio.share import from_fragment, to_fragment
from separatrix.studio.state import parse


@pytest.fixture
def page(server, port, new_page):
    begun = StudioModel().traits["state"]
    state = {**begun, **shape("strip", n=40), "model": "linear_svm", "panel": "lift"}
    page = new_page(viewport={"width": 1440, "height": 900})
    page.goto(f"http://127.0.0.1:{port}/token/{to_fragment(state)}")
    page.locator(".certificate:not(:empty)").wait_for(state="attached")
    return page


def _settled(page):
    page.wait_for_function(
        "() => document.querySelector('.separatrix-studio').ariaBusy === 'false'"
    )
    drawn(page)


def _places(page):
    return page.locator(".layer.points .point").evaluate_all(
        "nodes => nodes.map(node => node.getAttribute('transform'))"
    )


def test_points_are_held_out_drawn_anew_and_come_back_by_undo_and_link(page):
    hollow = page.locator(".layer.points .held-out")
    page.get_by_label("Test on").select_option("30")
    page.locator(".errors:visible").wait_for()
    _settled(page)
    held = hollow.evaluate_all("nodes => nodes.map(node => Number(node.dataset.index))")
    page.get_by_role("button", name="Link").click()
    linked = from_fragment(page.evaluate("location.hash"))
    assert held == np.flatnonzero(held_out(parse(linked))).tolist() and len(held) == 12
    assert "of 28 points" in page.locator(".errors").inner_text()
    hollow.first.focus()
    assert "held out" in page.locator(".status").inner_text()
    page.get_by_label("Test on").select_option("fresh")
    page.locator(".layer.tests .held-out").first.wait_for(state="attached")
    assert "of 100 points" in page.locator(".errors").inner_text() and hollow.count() == 0
    page.get_by_role("button", name="Undo").click()
    hollow.first.wait_for(state="attached")
    assert page.locator(".layer.tests .held-out").count() == 0
    page.reload()
    hollow.first.wait_for(state="attached")
    assert hollow.count() == 12


def test_noise_moves_the_points_features_bend_the_line_and_keys_turn_the_lift(page):
    before = _places(page)
    page.get_by_role("button", name="Move them again and again").click()
    page.locator(".trials td").first.wait_for()
    page.wait_for_function(
        "before => document.querySelector('.points .point').getAttribute('transform') !== before",
        arg=before[0],
    )
    page.get_by_role("button", name="Stop").click()
    _settled(page)
    assert _places(page) == before
    # Lambda, where C is typed, and C, where lambda is.
    lam, strength = page.get_by_label("λ = 1/(nC)"), page.get_by_label("C, as a number")
    assert float(lam.input_value()) == 1 / 40
    lam.fill("0.05")
    lam.press("Enter")
    page.wait_for_function(
        "() => document.querySelector('[aria-label=\"C, as a number\"]').value === '0.5'"
    )
    strength.fill("2")
    strength.press("Enter")
    page.wait_for_function("field => field.value === '0.0125'", arg=lam.element_handle())
    # A straight line has no other corner; that of a feature has.
    boundary = page.locator(".level.boundary").first
    assert boundary.get_attribute("d").count("L") == 1
    page.get_by_label("x·y").check()
    page.locator(".lift .axis-name", has_text="x·y").wait_for()
    _settled(page)
    assert boundary.get_attribute("d").count("L") > 5 and page.locator(".theta").count() == 0
    lift = page.get_by_role("application", name="The arrow keys turn it.")
    turned = lift.locator(".mark").first.get_attribute("transform")
    lift.press("ArrowRight")
    assert lift.locator(".mark").first.get_attribute("transform") != turned


def test_who_wants_no_motion_gets_the_draws_at_once(server, port, new_page):
    page = new_page(reduced_motion="reduce")
    page.goto(f"http://127.0.0.1:{port}/token/")
    page.locator(".certificate:not(:empty)").wait_for(state="attached")
    before = _places(page)
    page.get_by_role("button", name="Move them 25 times").click()
    page.locator(".trials td", has_text="25").wait_for()
    drawn(page)
    assert _places(page) == before
