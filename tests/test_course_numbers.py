"""What the second half of the course says is true: its numbers, found again by other means."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from sklearn.metrics import log_loss

from course import run_page
from separatrix import LinearRegression, LogisticRegression, separability
from separatrix.kernels import DeltaKernel, PolynomialKernel, RBFKernel, SquaresKernel


def page(name: str) -> dict:
    """The names that a page has defined."""
    return run_page(name).names


# --- kernels --------------------------------------------------------------------------------------


def test_the_ellipse_is_a_line_in_the_squares():
    names = page("08_kernels")
    points, labels, verdict = names["oval"], names["inside"], names["lifted"]
    lifted = SquaresKernel().lift(points)
    assert not separability(points, labels).separable
    assert verdict.separable and verdict.check(lifted, labels)
    # Both coefficients of one sign and the offset of the other: an ellipse, in the band that the
    # points leave free.
    axes = names["axes_found"]
    assert np.all(axes > 0.85 * names["half_axes"]) and np.all(axes < 1.15 * names["half_axes"])
    assert np.array_equal(((points / axes) ** 2).sum(axis=1) < 1, labels == 1)


def test_the_machine_finds_the_widest_margin_without_the_lift():
    names = page("08_kernels")
    machine, verdict = names["machine"], names["lifted"]
    assert machine.certificate_.ok and machine.n_support_.sum() == 3
    # The verdict's margin is exact, to the digits that it prints.
    assert machine.margin_[0] == pytest.approx(float(str(verdict.margin)), rel=1e-9)
    # With one coordinate more the margin is no narrower.
    tilted = names["tilted"]
    exact = separability(tilted.kernel_.lift(names["oval"]), names["inside"]).margin
    assert tilted.margin_[0] == pytest.approx(float(str(exact)), rel=1e-8)
    assert tilted.margin_[0] > machine.margin_[0] and tilted.n_support_.sum() == 4


def test_the_corners_come_apart_in_the_product():
    names = page("08_kernels")
    corners, labels, kernel = names["corners"], names["diagonal"], names["quadratic"]
    assert kernel == PolynomialKernel(degree=2, coef0=1)
    assert not separability(corners, labels).separable
    assert separability(kernel.lift(corners), labels).separable
    weights = dict(zip(kernel.lift_names(2), names["weights"], strict=True))
    assert weights.pop("sqrt(2) x0 x1") == pytest.approx(math.sqrt(0.5))
    assert max(map(abs, weights.values())) < 1e-9
    # Four points, +1 and -1 at x0 x1 = +-1: w.phi = x0 x1 has the margin 1 / |w| = sqrt(2).
    assert names["saddle"].margin_[0] == pytest.approx(math.sqrt(2))


@pytest.mark.parametrize("n", [2, 3, 5])
def test_every_labelling_is_separable(n):
    lifted = DeltaKernel().lift(np.random.default_rng(n).normal(size=(n, 2)))
    assert np.array_equal(lifted, np.eye(n))
    for signs in itertools.product((-1, 1), repeat=n):
        # The whole argument: with w = y, the score of point i is y . e_i = y_i.
        assert np.array_equal(lifted @ np.array(signs), signs)
        if len(set(signs)) == 2:
            verdict = separability(lifted, signs)
            assert verdict.separable and verdict.check(lifted, signs)


def test_all_labellings_of_six_points_are_tried():
    names = page("08_kernels")
    # All but the two that give every point the same label.
    assert names["proved"]["lifted"] == len(names["ways"]) == 2**6 - 2
    # Lines separate n^2 - n + 2 labellings of n points, no three on a line (Cover, 1965).
    assert names["proved"]["in the plane"] == 6**2 - 6 + 2 - 2


def test_the_radial_kernel_learns_by_heart():
    names = page("08_kernels")
    seen = [m.score(names["X_train"], names["y_train"]) for m in names["machines"]]
    new = [m.score(names["X_test"], names["y_test"]) for m in names["machines"]]
    assert all(m.certificate_.ok for m in names["machines"])
    assert seen == sorted(seen) and seen[-1] == 1.0
    always_benign = np.mean(names["y_test"] == "benign")
    assert round(always_benign, 2) == 0.63
    assert min(new[:2]) > 0.9 > new[2] > 0.7 > new[-1] > always_benign


def test_the_radial_kernel_tends_to_unit_vectors():
    rng = np.random.default_rng(2)
    points, other = rng.normal(size=(2, 80, 2))
    sharp = RBFKernel(1e7)
    assert np.abs(sharp(points) - DeltaKernel()(points)).max() < 1e-20
    # With w = sum_i y_i phi(x_i) and labels from a coin every label is right, and the scores of
    # other points vanish.
    coins = rng.choice([-1, 1], size=80)
    assert np.array_equal(np.sign(sharp(points) @ coins), coins)
    assert np.abs(sharp(other, points) @ coins).max() < 1e-20


# --- logistic regression --------------------------------------------------------------------------


def test_no_other_steepness_has_a_lower_log_loss():
    names = page("09_logistic")
    X, y = names["X_train"], names["y_train"]
    z = names["model"].decision_function(X) * np.where(y == "malignant", 1, -1)

    def mean_loss(k):
        return np.logaddexp(0, -k * z).mean()

    assert mean_loss(1.0) == pytest.approx(log_loss(y, names["model"].predict_proba(X)))
    assert round(mean_loss(1.0), 4) == 0.2451
    assert round(names["model"].certificate_.primal, 3) == 69.622
    # A minimum: the derivative by k is zero there, and the loss is convex in k.
    assert abs(mean_loss(1 + 1e-4) - mean_loss(1 - 1e-4)) / 2e-4 < 1e-4
    assert all(mean_loss(k) > mean_loss(1.0) for k in (0.25, 0.5, 0.9, 1.1, 2, 5))


def test_fifty_tumours_are_separable_so_there_is_no_best_line():
    names = page("09_logistic")
    X, y = names["cancer"].data[:50], names["cancer"].target[:50]
    assert separability(X, y).separable and set(y) == {0, 1}
    assert names["endless"].certificate_.status == "separable"
    assert names["warned"](names["endless"]) and not names["warned"](names["bounded"])
    assert LogisticRegression(C=1.0).fit(X, y).certificate_.ok


# --- discriminants --------------------------------------------------------------------------------


def test_the_quadratic_rule_comes_near_to_the_bayes_error():
    names = page("10_discriminants")
    X, y = names["X_new"], names["y_new"]
    # The Bayes rule again: the largest density, written out.
    density = []
    for mean, cov in zip(names["means"], names["covariances"], strict=True):
        rest = X - mean
        power = np.einsum("ij,jk,ik->i", rest, np.linalg.inv(cov), rest)
        density.append(np.exp(-power / 2) / np.sqrt(np.linalg.det(cov)))
    best = np.mean(names["names"][np.argmax(density, axis=0)] != y)
    assert names["bayes_error"] == pytest.approx(best, abs=1e-5)
    assert round(best, 3) == 0.153
    quadratic, linear = (1 - names[name].score(X, y) for name in ("quadratic", "linear"))
    assert best < quadratic < best + 0.005 < best + 0.03 < linear
    # Regions in two pieces: at the edges, and around the centre.
    own = names["quadratic"].predict([(-4, -5.3), (-3, -0.6), (7.5, 0), (1.4, 2.9)])
    assert own.tolist() == ["E", "E", "C", "C"]


def test_with_few_points_the_simpler_rule_wins():
    names = page("10_discriminants")
    draw, rules = (
        names["draw"],
        (names["LinearDiscriminantAnalysis"], names["QuadraticDiscriminantAnalysis"]),
    )
    new = draw(2_000, seed=3)
    errors = {
        n: [np.mean([1 - r().fit(*draw(n, s)).score(*new) for s in range(10, 20)]) for r in rules]
        for n in (5, 20)
    }
    assert errors[5][0] < errors[5][1] - 0.02
    assert errors[20][1] < errors[20][0] - 0.01


# --- least squares --------------------------------------------------------------------------------


def test_junk_columns_help_in_training_and_harm_elsewhere():
    names = page("11_least_squares")
    rows = [(names["X_train"], names["noise"][:221]), (names["X_test"], names["noise"][221:])]
    seen, new = (np.column_stack([X, junk[:, :100]]) for X, junk in rows)
    fit = LinearRegression().fit(seen, names["y_train"])
    # The same fit by another solver, with the intercept as a column.
    own = np.linalg.lstsq(np.column_stack([np.ones(221), seen]), names["y_train"], rcond=None)[0]
    assert fit.coef_ == pytest.approx(own[1:], rel=1e-8)
    assert fit.score(seen, names["y_train"]) > names["model"].score(*rows[0][:1], names["y_train"])
    assert fit.score(new, names["y_test"]) < 0 < names["model"].score(rows[1][0], names["y_test"])


def test_the_held_out_error_turns_where_the_truth_is():
    curve = page("11_least_squares")["curve"]
    assert np.all(np.diff(curve.training_mse) <= 0)
    assert curve.best_degree == 3
    assert curve.validation_mse[12] > 100 > 0.05 > curve.validation_mse[3]


# --- stochastic gradients -------------------------------------------------------------------------


def test_the_certificates_of_unfinished_runs_hold():
    names = page("12_stochastic")
    best = names["exact"].certificate_.dual
    for run in names["runs"].values():
        found = run.certificate_
        # What is proved is no less than the truth.
        assert found.gap >= found.primal - names["exact"].certificate_.primal - 1e-9
        assert found.dual <= names["exact"].certificate_.primal + 1e-9 and found.primal >= best
        assert found.status == "max_iter"
    distance = {name: run.certificate_.primal - best for name, run in names["runs"].items()}
    assert distance["theory"] < distance["constant"] < distance["power"] < distance["1 / k"]
    average = names["averaged"]["constant, average"].certificate_.primal - best
    assert distance["theory"] < average < distance["constant"]


# --- generalisation -------------------------------------------------------------------------------


def test_one_mistake_is_the_fewest_and_hoeffding_gives_its_width():
    names = page("13_generalisation")
    assert names["floor"].lower == names["floor"].upper == 1
    # Half the width at which 2 exp(-2 n e^2) is 0.05.
    assert 2 * math.exp(-2 * 90 * names["epsilon"] ** 2) == pytest.approx(0.05)
    assert round(names["epsilon"], 3) == 0.143
    # The last model of the table, on the last split.
    radial, A, a, B, b = (names[name] for name in ("candidate", "A", "a", "B", "b"))
    assert radial.score(A, a) == 1.0 and radial.score(B, b) < 0.65
