"""A lesson as it is opened: by the command, in a real browser."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.fixture
def address():
    """The address of a studio that the command serves with a lesson, until the test is over."""
    words = [sys.executable, "-u", "-m", "separatrix", "studio", "--lesson", "soft_margins"]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            yield process.stdout.readline().split()[-1]
        finally:
            process.terminate()


def test_a_lesson_is_opened_and_another_is_chosen(address, new_page):
    page = new_page(viewport={"width": 1280, "height": 900})
    page.goto(address)
    card = page.get_by_role("region", name="Tour")
    claim = card.get_by_text("leaves a street of 0.18 cm")
    claim.wait_for()
    assert page.locator(".layer.points .point").count() == 100
    page.get_by_text("--model svm --loss hinge -C inf --no-standardise").wait_for()
    # What was opened is what a page begins with: there is nothing to undo.
    assert page.get_by_role("button", name="Undo").is_disabled()
    page.get_by_role("button", name="Tours", exact=True).click()
    page.get_by_role("button", name="Discriminants: describe each class, then compare").click()
    card.get_by_text("37 of 400 points").wait_for()
    page.get_by_text("separatrix fit points.csv --target class --model qda").wait_for()
    assert page.locator(".layer.points .point").count() == 400
    borders = page.locator("path.level.boundary")
    assert borders.count() == 1 and borders.get_attribute("d").count("M") >= 3
