"""The course: every page runs, draws, certifies, and its exercises' solutions hold."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from course import EXAMPLES, PAGES, failures, run_page, text_of
from separatrix import LinearSVC
from separatrix.certificate import REMEDIES
from separatrix.studio.lessons import LESSONS

# A certificate as it is printed: how the fit ended, the objective or the equations, and the time.
_CERTIFICATE = re.compile(
    rf"\b({'|'.join(REMEDIES)}): (objective \S+, .*(certified gap|bound)|.* hold to )"
)


def test_the_pages_are_numbered_without_a_gap():
    assert [int(name[:2]) for name in PAGES] == list(range(1, len(PAGES) + 1))
    # Those that the studio has a state for, in their order: tests/studio/test_lessons.py.
    assert len(PAGES) == len(LESSONS)


@pytest.mark.parametrize("name", PAGES)
class TestEveryPage:
    def test_it_draws(self, name):
        figures = run_page(name).figures
        assert figures
        # A page shrinks what is wider than its column, and the text with it.
        assert all(width <= 12.5 and height <= 11.0 for width, height in figures)
        assert run_page(name).left == []

    def test_it_prints_a_certificate(self, name):
        assert _CERTIFICATE.search(run_page(name).printed)

    def test_the_solutions_hold(self, name):
        page = run_page(name)
        assert page.solutions
        wrong = failures(page)
        assert not wrong, wrong

    def test_its_parts(self, name):
        text = text_of((EXAMPLES / f"{name}.py").read_text(encoding="utf-8"))
        title, rule = text.strip().splitlines()[:2]
        assert title and rule == "=" * len(title)
        assert ".. math::" in text
        assert text.count(".. admonition:: Exercise") == text.count(".. admonition:: Solution") > 0
        # Every solution is folded away.
        folded = re.findall(r"\.\. admonition:: Solution\n +:collapsible: closed\n", text)
        assert len(folded) == text.count(".. admonition:: Solution")

    def test_its_links_lead_somewhere(self, name):
        text = text_of((EXAMPLES / f"{name}.py").read_text(encoding="utf-8"))
        pages = re.findall(r"sphx_glr_auto_examples_(\w+)\.py", text)
        assert set(pages) <= {path.stem for path in EXAMPLES.glob("*.py")}


@pytest.mark.exhaustive
def test_a_page_runs_as_a_script(tmp_path):
    path = EXAMPLES / "01_hyperplanes.py"
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        env={**_environment(), "MPLBACKEND": "agg"},
    )
    assert done.returncode == 0, done.stderr
    assert _CERTIFICATE.search(done.stdout)
    # It leaves nothing behind.
    assert not list(tmp_path.iterdir())


def test_the_pictures_of_a_page_are_saved(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "out"
    monkeypatch.setattr(sys, "argv", [str(EXAMPLES), "14", "--save", str(folder)])
    runpy.run_path(str(EXAMPLES), run_name="__main__")
    saved = sorted(folder.iterdir())
    assert len(saved) == len(run_page("14_dual").figures)
    printed = capsys.readouterr().out
    assert _CERTIFICATE.search(printed) and all(f"saved {path}" in printed for path in saved)
    with Image.open(saved[0]) as picture:
        assert saved[0].name == "14_dual-1.png" and picture.size == (1200, 1110)
        # Something is drawn: it is not all of one grey.
        low, high = picture.convert("L").getextrema()
        assert low < 64 < 192 < high


def _environment():
    import os

    return {key: value for key, value in os.environ.items() if key != "DISPLAY"}


def test_a_wrong_solution_would_be_found():
    page = run_page(PAGES[0])
    wrong = type(page)(page.name, page.text, [">>> 1 + 1\n3\n"], {}, "", [], [])
    assert "Expected:\n    3\nGot:\n    2" in failures(wrong)


# --- the numbers that the field knows -------------------------------------------------------------


def test_the_rule_that_can_be_said_aloud():
    page = run_page("01_hyperplanes")
    assert page.names["model"].n_updates_ == 0
    assert page.names["model"].coef_.tolist() == [[1.0, 1.0]]
    assert page.names["margin"] == pytest.approx(0.35 * np.sqrt(2.0), abs=1e-12)
    assert "margin: 0.818 cm" in page.printed


def test_the_four_panels():
    page = run_page("02_separable")
    panels, verdicts = page.names["panels"], page.names["verdicts"]
    # With an offset, through the origin.  (False, True) cannot be.
    answers = [
        tuple(verdicts[title, offset].separable for offset in (True, False)) for title in panels
    ]
    assert answers == [(True, False), (False, False), (True, True), (False, False)]
    for (title, offset), verdict in verdicts.items():
        assert verdict.fit_intercept == offset and verdict.check(*panels[title])
    # The points and multipliers that the text names.
    weights = sorted(map(str, verdicts["D: inside and outside", True].witness.multipliers))
    assert weights == ["1/2", "1/7", "5/28", "5/28"]
    assert "refused, with 6 flowers as the proof" in page.printed


def test_the_nine_updates_of_the_four_points():
    page = run_page("03_perceptron")
    updates = page.names["four"].trace_.updates
    assert [(*u.coef.tolist(), u.intercept) for u in updates] == [
        (1, -3, -1),
        (2, -2, -2),
        (2, -0.5, -1),
        (2, 1, 0),
        (3, -2, -1),
        (3, -0.5, 0),
        (3, 1, 1),
        (4, -2, 0),
        (4, -0.5, 1),
    ]
    assert [u.sample for u in updates] == [0, 1, 3, 3, 0, 3, 3, 0, 3]
    assert page.names["four"].mistakes_.tolist() == [3, 1, 0, 5]
    assert "9 updates in 6 passes" in page.printed


def test_the_walks_of_the_three_points():
    walks = run_page("03_perceptron").names["walks"]
    near, far = (-1.0, 1.5), (-1.0, 10.0)

    def told(third, what):
        model = walks[third, what][0]
        return model.n_updates_, model.coef_[0].tolist()

    assert told(near, "from (0, 0)") == (2, [-2.0, 0.5])
    assert walks[near, "from (0, 0)"][0].mistakes_.tolist() == [1, 0, 1]
    assert told(near, "from (-1, -1)") == (1, [-2.0, 0.5])
    assert told(far, "from (0, 0)") == (6, [-6.0, 5.0])
    assert told(far, "from (-1, -1)") == (5, [-6.0, 5.0])
    for third in (near, far):
        assert told(third, "from (0, 0), second point first")[0] == 1


def test_setosa_from_sixty_flowers():
    page = run_page("03_perceptron")
    assert page.names["flowers"].n_updates_ == 7
    assert set(page.names["reserve"]).isdisjoint(page.names["shuffled"][:60])
    assert "right in the reserve: 100%" in page.printed
    updates, hits = np.array(page.names["updates"]), np.array(page.names["hits"])
    # What the text says about two hundred samples.
    assert len(updates) == 200 and np.median(updates) == 7
    assert np.mean(updates < 10) > 0.9 and np.mean(hits == 1.0) > 0.9 and hits.min() >= 0.98


def test_the_convergence_theorem_in_numbers():
    page = run_page("04_convergence")
    found = page.names["found"]
    assert found.mistakes == 9 and found.bound == pytest.approx(55.0, rel=1e-9)
    bounds = page.names["bounds"]
    sepals, petals = tuple(page.names["sepals"]), tuple(page.names["petals"])
    assert int(bounds[sepals].bound) == 22_133 and bounds[sepals].mistakes == 1_562
    assert int(bounds[petals].bound) == 410 and bounds[petals].mistakes == 4
    margins = [bound.margin.lower for pair, bound in bounds.items() if pair != sepals]
    assert min(margins) > 2.9 * bounds[sepals].margin.lower
    assert page.names["counts"].max() <= page.names["every"].bound
    # The table of the proof: every row in the order of the theorem.
    table = re.findall(r"^ *\d+" + r" +(\d+\.\d{3})" * 4 + "$", page.printed, re.MULTILINE)
    steps = np.array(table, dtype=float)
    assert len(steps) == 9 and np.all(np.diff(steps, axis=1) >= 0.0)


def test_three_strengths_of_the_penalty():
    page = run_page("05_margins")
    X = page.names["X"]
    signs = np.where(page.names["y"] == "malignant", 1.0, -1.0)
    halves, mistakes, objectives = [], [], []
    for lam, model in page.names["models"].items():
        z = signs * model.decision_function(X)
        w = model.coef_[0]
        objective = np.maximum(0.0, 1.0 - z).mean() + lam / 2 * (w @ w)
        objectives.append(objective)
        # What the text says of the printed objective: the same, divided by lambda.
        assert objective == pytest.approx(lam * model.certificate_.primal, rel=1e-9)
        halves.append(1.0 / np.linalg.norm(w))
        mistakes.append(int(np.sum(z <= 0.0)))
    np.testing.assert_allclose(halves, [6.6, 14.2, 67.7], atol=0.05)
    np.testing.assert_allclose(objectives, [0.1816, 0.2253, 0.5798], atol=5e-5)
    assert mistakes == [9, 9, 26]
    # The line halfway between the means.
    own, means = page.names["own"], page.names["means"]
    np.testing.assert_allclose(own.decision(means), [-1.0, 1.0], atol=1e-12)
    hinge = np.maximum(0.0, 1.0 - signs * (X.to_numpy() @ own.w + own.b)).mean()
    assert own.gap_width == pytest.approx(np.linalg.norm(means[1] - means[0]))
    for lam, above in ((10, 1.27), (100, 1.06)):
        best = LinearSVC(loss="hinge", lam=lam).fit(X, page.names["y"]).certificate_.primal
        objective = hinge + lam / 2 * (own.w @ own.w)
        assert objective == pytest.approx(own.objective(X, page.names["y"], lam=lam))
        assert round(objective / (lam * best), 2) == above


def test_the_shortcut_and_the_largest_margin():
    page = run_page("06_maximum_margin")
    names = page.names
    assert 2.0 * names["free"].margin_[0] == pytest.approx(2.0, abs=1e-9)
    assert names["bound"] == pytest.approx(2.0, abs=1e-9)
    assert names["widest_band"] == pytest.approx(1.635111538578, abs=1e-9)
    assert names["hard"].support_.tolist() == [23, 41, 98]
    for share in ("72.8%", "95.4%", "98.5%", "45.9%", "86.4%", "83.5%"):
        assert share in page.printed


def test_slack_and_support_vectors():
    page = run_page("07_soft_margins")
    names = page.names
    # One flower takes two thirds of the band.
    assert names["hard"].margin_[0] < 0.35 * names["relieved"].margin_[0]
    model, other = names["model"], names["other"]
    assert len(model.support_) == 25 and int(np.sum(model.slack_ > 1.0)) == 5
    assert model.slack_.sum() == pytest.approx(13.57, abs=0.005)
    # Both roads end at one optimum.
    assert model.certificate_.primal >= other.certificate_.dual - 1e-9
    assert other.certificate_.primal >= model.certificate_.dual - 1e-9
    assert "75 outside the margin, 4 on it, 16 inside it, 5 on the wrong side" in page.printed
