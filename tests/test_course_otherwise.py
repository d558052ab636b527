"""What lessons claim could come out otherwise: each claim, and a case in which it does.

A page that prints "0 corrections", or asserts a bound, proves nothing by it if nothing else could
have been printed.  Here the same question is put to data, or to an answer, for which it is false.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import binomtest

from course import run_page
from separatrix import (
    Hyperplane,
    LinearDiscriminantAnalysis,
    LinearSVC,
    Perceptron,
    min_training_error,
)
from separatrix.kernels import PolynomialKernel


def page(name: str) -> dict:
    """The names that a page has defined."""
    return run_page(name).names


# --- claims of the first thirteen lessons ---------------------------------------------------------


def test_another_rule_is_corrected_and_another_unit_has_other_sides():
    names = page("01_hyperplanes")
    X, y = names["X"], names["y"]
    other = Perceptron().fit(X, y, coef_init=[1.0, 1.0], intercept_init=-5.0)
    assert names["model"].n_updates_ == 0 < other.n_updates_
    assert (Hyperplane([1, 1], -3).side(10 * X) != names["plane"].side(X)).any()


def test_a_proof_of_other_labels_is_refused():
    names = page("02_separable")
    for (title, _), verdict in names["verdicts"].items():
        points, labels = names["panels"][title]
        # With one label changed, what was proved of all points is no longer proved.
        changed = [
            k
            for k in range(len(labels))
            if not verdict.check(points, [*labels[:k], -labels[k], *labels[k + 1 :]])
        ]
        assert changed


def test_from_elsewhere_than_zero_the_learning_rate_matters():
    names = page("03_perceptron")
    runs = [
        Perceptron(learning_rate=rate).fit(
            names["X"], names["y"], coef_init=[5.0, 1.0], intercept_init=0.0
        )
        for rate in (1.0, 10.0)
    ]
    assert not np.allclose(runs[0].coef_, runs[1].coef_ / 10.0)


def test_a_margin_that_there_is_not_breaks_the_proof_of_convergence():
    names = page("04_convergence")
    updates, found, u = names["model"].trace_.updates, names["found"], names["u"]
    thetas = np.array([[*update.coef, update.intercept] for update in updates])
    k = np.arange(1, len(thetas) + 1)
    for factor, holds in ((1.0, True), (1.1, False)):
        gamma = factor * found.margin.lower
        assert bool(np.all(k * gamma <= thetas @ u + 1e-9)) == holds
    # Nor does the last step hold for points that are longer than R.
    assert not np.all(np.linalg.norm(thetas, axis=1) <= np.sqrt(k) * found.radius / 2.0)
    # The bound on mistakes, of a margin that is three times too large.
    assert found.mistakes > found.bound / 9.0


def test_intervals_of_two_problems_do_not_overlap():
    names = page("07_soft_margins")
    own, same, other = (names[name].certificate_ for name in ("model", "other", "dearer"))
    assert max(own.dual, same.dual) <= min(own.primal, same.primal) + 1e-9
    assert other.dual > max(own.primal, same.primal)


def test_without_the_root_of_two_the_kernel_is_not_the_product():
    corners = page("08_kernels")["corners"]
    kernel = PolynomialKernel(degree=2, coef0=1)
    lifted = kernel.lift(corners)
    names = kernel.lift_names(2)
    wrong = lifted / [np.sqrt(2.0) if "sqrt" in name else 1.0 for name in names]
    assert np.abs(kernel(corners) - lifted @ lifted.T).max() < 1e-14
    assert np.abs(kernel(corners) - wrong @ wrong.T).max() > 1.0


def test_another_line_is_not_as_often_right():
    names = page("09_logistic")
    X, y, model = names["X_test"], names["y_test"], names["model"]
    score, malignant = model.decision_function(X), y == "malignant"
    steeper, moved = (np.mean((s > 0) == malignant) for s in (5.0 * score, score + 2.0))
    assert steeper == model.score(X, y) > moved


def test_another_prior_moves_the_line_by_another_logarithm():
    names = page("10_discriminants")
    old = names["linear"].discriminant().boundary("A", "B")
    for times in (2, 3):
        priors = np.array([times, *[1] * 6]) / (6 + times)
        model = LinearDiscriminantAnalysis(priors=priors).fit(names["X"], names["y"])
        new = model.discriminant().boundary("A", "B")
        assert new.b - old.b == pytest.approx(np.log(times)) and np.allclose(new.w, old.w)
    turned = LinearDiscriminantAnalysis().fit(names["X"] @ [[1.0, 0.3], [0.0, 1.0]], names["y"])
    assert not np.allclose(turned.discriminant().boundary("A", "B").w, old.w)


def test_a_bound_of_another_penalty_is_none():
    names = page("12_stochastic")
    heavier = names["LogisticRegression"](lam=2 * names["alpha"]).fit(names["X"], names["y"])
    # In the unit of this problem: the objective is divided by the strength of the penalty.
    claimed = 2.0 * heavier.certificate_.dual
    near = names["runs"]["theory"].certificate_
    assert near.dual <= near.primal < claimed


def test_other_species_have_a_hyperplane_without_a_mistake():
    iris = page("13_generalisation")["iris"]
    rows = iris.target < 2
    assert min_training_error(iris.data[rows], iris.target[rows]).upper == 0


# --- the dual by hand -----------------------------------------------------------------------------


def test_no_multipliers_of_a_grid_have_a_higher_dual():
    names = page("14_dual")
    labels, path, dual = names["labels"], names["path"], names["dual"]
    steps = [Fraction(k, 40) for k in range(21)]
    feasible = [a for a in product(steps, repeat=3) if a[0] + a[1] == a[2]]
    assert len(feasible) == 231
    assert max(map(dual, feasible)) == dual(path[-1]) == Fraction(7, 8)
    assert path[-1] == [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)] and names["gaps"][-1] == 0
    for before, after, pair in zip(path[:-1], path[1:], names["pairs"], strict=True):
        assert sum(a * y for a, y in zip(after, labels, strict=True)) == 0
        assert min(after) >= 0 and max(after) <= names["C"] and dual(before) < dual(after)
        # Each step is the highest point of its line in the box: no other step along it is higher.
        i, j = pair
        for k in range(-20, 21):
            other = list(after)
            other[i] += labels[i] * Fraction(k, 200)
            other[j] -= labels[j] * Fraction(k, 200)
            if min(other) >= 0 and max(other) <= names["C"]:
                assert dual(other) <= dual(after)
    # A gap is what is left over, and before the end something is.
    assert all(gap > 0 for gap in names["gaps"][:-1])


def test_the_offset_is_what_holds_the_multipliers_in_balance():
    names = page("14_dual")
    exact = names["weights"](names["path"][-1])
    assert np.allclose(names["model"].coef_[0], np.array(exact, dtype=float), atol=1e-9)
    assert names["balance"] != 0
    assert np.allclose(
        names["origin"].coef_[0], np.array(names["weights"](names["alone"]), dtype=float), atol=1e-8
    )
    # With an offset it is another line.
    free = LinearSVC(loss="hinge", C=0.5).fit(names["points"], names["labels"])
    assert not np.allclose(free.coef_, names["origin"].coef_, atol=0.1)


# --- when to stop ---------------------------------------------------------------------------------


def test_only_rules_with_a_proof_agree_in_both_units_and_keep_their_word():
    names = page("15_stopping")
    stops, left = names["stops"], names["left"]
    assert [stops[rule, 1] == stops[rule, 10] for rule in names["seen"][1]] == [
        False, False, True, True,
    ]  # fmt: skip
    assert left[stops["step", 1]] > 0.01 and left[stops["step", 10]] > 0.15
    assert left[stops["slope", 1]] > 0.01 and stops["slope", 10] is None
    # The slope by finite differences, and its bound at each iterate.
    X, signs, alpha = names["X"], names["signs"], names["alpha"]

    def objective(w):
        return np.logaddexp(0.0, -signs * (X @ w)).mean() + alpha / 2.0 * (w @ w)

    w = np.array(names["runs"][1].trace_.coef)
    g = names["slopes"](names["runs"][1], X, alpha)
    for k in (0, 5, 40):
        ahead = np.array([objective(w[k] + e) for e in 1e-6 * np.eye(30)])
        back = np.array([objective(w[k] - e) for e in 1e-6 * np.eye(30)])
        assert g[k] == pytest.approx((ahead - back) / 2e-6, abs=1e-7)
    best = alpha * names["best"]
    above = np.array([objective(one) for one in w]) - best
    assert np.all(above <= (g**2).sum(axis=1) / (2.0 * alpha) + 1e-12)
    # With a strength of the penalty that is not that of the objective it is no bound.
    assert np.any(above > (g**2).sum(axis=1) / (2.0 * 100.0 * alpha))


def test_the_held_out_loss_turns_and_the_training_loss_does_not():
    names = page("15_stopping")
    curves, stop = names["curves"], names["stop"]
    assert np.all(np.diff(curves["training"]) < 0.0) and 0 < stop < 150
    assert curves["held out"][-1] > curves["held out"][stop] < curves["held out"][10]
    assert curves["rest"][stop] < curves["rest"][-1]
    sets = [set(names[name]) for name in ("train", "held_out", "rest")]
    assert [len(one) for one in sets] == [40, 200, 329] and len(set.union(*sets)) == 569


# --- stumps and thresholds ------------------------------------------------------------------------


def test_no_threshold_is_better_by_trying_them_one_by_one():
    names = page("16_stumps")
    width, right = names["width"], names["y"] == "virginica"
    by_hand = [int(np.sum((width > cut) != right)) for cut in names["cuts"]]
    assert by_hand == names["mistakes"].tolist()
    assert min(by_hand) == names["stump"].risk_ == 6 and by_hand.count(6) == 2
    # Between equal values there is no threshold, and a count there claims too little.
    assert names["between_rows"].min() == 5
    assert names["floor"].lower == names["floor"].upper == 1


def test_the_cheapest_threshold_depends_on_the_cost_and_on_the_rows():
    names = page("16_stumps")
    malignant = names["a"] == "malignant"
    for cost in (1, 5, 20):
        tried = [
            cost * np.sum(malignant & (names["score"] <= cut))
            + np.sum(~malignant & (names["score"] > cut))
            for cut in [-np.inf, *names["score"]]
        ]
        assert min(tried) == names["chosen"][cost, "by sorting"][0][0]
    # On the reserve the probabilities win for one of the costs, and lose for another.
    new = {key: value[1][0] for key, value in names["chosen"].items()}
    assert new[5, "by probability"] < new[5, "by sorting"]
    assert new[20, "by probability"] > new[20, "by sorting"]


# --- slips in common notes ------------------------------------------------------------------------


def test_each_check_fails_on_the_code_as_found_and_passes_when_it_is_corrected():
    names = page("17_slips")
    assert len(names["verdicts"]) == 8
    assert set(names["verdicts"].values()) == {(False, True)}
    for wrong, right in ((True, True), (False, False), (True, False)):
        with pytest.raises(AssertionError, match="a sentence"):
            names["check"]("a sentence", wrong=wrong, right=right)


def test_the_slips_are_what_their_proofs_say():
    names = page("17_slips")
    # The fused loop stands still at the fixed point of the product of its affine maps.
    A, target, step = names["A"], names["progress"], names["rate"] / len(names["A"])
    through, shift = np.eye(2), np.zeros(2)
    for a, t in zip(A, target, strict=True):
        one = np.eye(2) - step * np.outer(a, a)
        through, shift = one @ through, one @ shift + step * t * a
    fixed = np.linalg.solve(np.eye(2) - through, shift)
    assert names["ways"]["fused"][-1] == pytest.approx(fixed, rel=1e-9)
    own = np.linalg.lstsq(A, target, rcond=None)[0]
    assert names["ways"]["separate"][-1] == pytest.approx(own, rel=1e-9)
    assert np.linalg.norm(fixed - own) > 1.0
    # The map as found is that of gamma = 1/2, and right where that was announced.
    x = np.linspace(-2.0, 2.0, 9)
    squares = (x[:, None] - x) ** 2
    for gamma in (0.5, 1.0):
        assert np.allclose(names["lift"](x) @ names["lift"](x).T, np.exp(-gamma * squares)) == (
            gamma == 0.5
        )
    # The loop that starts over does end where a line separates the points.
    assert names["restart"](names["corners"][:3], names["diagonal"][:3])[0] is not None


# --- one-hot targets ------------------------------------------------------------------------------


def test_the_direction_of_least_squares_is_the_discriminant_of_the_same_rows_alone():
    names = page("18_one_hot")
    A, kind = names["A"], names["kind"] == "malignant"
    # The discriminant by its formula.
    within = sum(np.cov(A[rows].T) * (rows.sum() - 1) for rows in (kind, ~kind))
    direction = np.linalg.solve(within, A[kind].mean(axis=0) - A[~kind].mean(axis=0))
    assert names["cosine"](names["squares"].coef_[0], direction) == pytest.approx(1.0, abs=1e-12)
    assert names["cosine"](names["logistic"].coef_[0], direction) < 0.2
    # With the targets of other rows it is another direction.
    other = LinearDiscriminantAnalysis().fit(names["some"], names["kinds"]).coef_[0]
    assert names["cosine"](names["squares"].coef_[0], other) < 0.999


def test_the_class_in_the_middle_is_masked_where_the_three_stand_in_a_row():
    names = page("18_one_hot")
    x, row = names["x"], names["row"]
    assert [found[1] for found in names["found"].values()] == [0, 60, 60]
    # Three classes at the corners of a triangle have none in the middle.
    height = np.where(row == "middle", 3.0, 0.0) + 0.1 * np.sin(40.0 * x)
    corner = np.column_stack([x, height])
    found = names["LeastSquaresClassifier"]().fit(corner, row).predict(corner)
    assert np.sum(found != row) == 0
    assert names["moved"]["least squares"][:2] == [1, 6]
    assert names["moved"]["logistic regression"][:2] == [1, 1]
    # With as many further points that are near, least squares stays.
    near = np.concatenate([names["near"], names["near"][60:72]])
    model = names["LeastSquaresClassifier"]().fit(near, names["sides"])
    assert np.sum(model.predict(names["near"]) != names["side"]) == 1


# --- several classes ------------------------------------------------------------------------------


def test_against_the_rest_a_class_in_the_middle_has_zero_weights_and_at_the_edge_none_has():
    names = page("19_several_classes")
    X, y, model = names["X"], names["y"], names["against_rest"]
    length = dict(zip(names["names"], np.linalg.norm(model.coef_, axis=1), strict=True))
    assert length.pop("middle") < 1e-6 and min(length.values()) > 1.0
    # No constant is cheaper than -1, and no line that was tried is cheaper than the constant.
    target, rng = np.where(y == "middle", 1.0, -1.0), np.random.default_rng(0)

    def objective(w, b):
        return w @ w / 2.0 + np.maximum(0.0, 1.0 - target * (X @ w + b)).sum()

    best = objective(np.zeros(2), -1.0)
    tried = [objective(*np.split(one, [2])) for one in rng.normal(0.0, 1.0, size=(500, 3))]
    assert best == 80.0 < min(tried)
    # Where the middle is moved out of the triangle, it has a line of its own.
    moved = X + np.where(y == "middle", 8.0, 0.0)[:, None]
    again = LinearSVC(loss="hinge", C=1).fit(moved, y)
    assert np.linalg.norm(again.coef_[1]) > 0.1 and np.sum(again.predict(moved) != y) <= 1


def test_votes_and_probabilities_by_hand():
    names = page("19_several_classes")
    votes, tied, classes = names["votes"], names["tied"], names["names"]
    assert np.all(votes.sum(axis=1) == 6) and 0.0 < tied.mean() < 0.02
    # Where one class has most votes it wins, whatever the sums of the scores are.
    predicted = names["pairs"].predict(names["plane"][~tied])
    assert np.array_equal(predicted, classes[votes[~tied].argmax(axis=1)])
    X, W, b, before = names["X"], names["W"], names["b"], names["before"]
    assert np.allclose(before, names["together"].predict_proba(X), atol=1e-12)
    one = W + np.where(np.arange(4)[:, None] == 1, [1.0, -2.0], 0.0)
    assert np.abs(names["probabilities"](one, b, X) - before).max() > 0.1
    shares = {name: middle for name, (_, _, middle) in names["mistakes"].items()}
    assert shares["against the rest, hinge"] > 0.2 > 0.03 > shares["at once, log loss"]


# --- text -----------------------------------------------------------------------------------------


def test_words_that_are_left_out_cost_more_than_they_are_worth_and_only_those():
    names = page("20_text")
    w, slope, words = names["l1"].coef_[0], names["slope"], list(names["words"])
    used = w != 0.0
    assert used.sum() == 6 and slope[used] == pytest.approx(1.0, abs=1e-3)
    assert slope[~used].max() < 1.0
    # Without the words that are used, others are worth their price.
    left = np.delete(names["X"].toarray(), np.flatnonzero(used), axis=1)
    other = names["LogisticRegression"](C=1, penalty="l1").fit(left, names["y"])
    assert np.count_nonzero(other.coef_) > 0
    texts = [set(text.split()) for text in names["texts"][names["train"]]]
    free = [text for text in texts if "free" in text]
    assert 2 * sum(bool(text & {"click", "now"}) for text in free) > len(free)
    assert names["log_odds"][words.index("free")] > 1.0
    # The columns are so many that they separate random labels as well.
    coin = np.random.default_rng(0).integers(0, 2, size=40)
    assert names["separability"](names["X"], coin).separable
    few = names["X"].toarray()[:, :5]
    assert not names["separability"](few, coin).separable


def test_good_words_change_the_class_and_words_without_a_column_do_not():
    names = page("20_text")
    bait, padded = names["attack"]
    assert bait > 0.0 > padded
    unknown = names["counter"].transform([names["bait"] + " zebra quartz"])
    assert names["l2"].decision_function(unknown)[0] == pytest.approx(bait)
    assert names["errors"] == {"log odds": [0, 1], "L2": [0, 2], "L1": [2, 2]}
    for wrong, n in ((0, 20), (2, 20), (20, 20)):
        result = binomtest(wrong, n).proportion_ci(0.95)
        assert names["interval"](wrong, n) == pytest.approx((result.low, result.high))


# --- calibration ----------------------------------------------------------------------------------


def test_only_proper_scores_are_lowest_at_the_truth():
    names = page("21_calibration")
    assert names["best"] == pytest.approx(
        {"log loss": 0.3, "Brier score": 0.3, "absolute error": 0.01}
    )
    truth, y = names["chances"]["truth"], names["y_new"]
    # The truth by its densities, and not by its log odds.
    density = [np.exp(-0.5 * ((names["X_new"][:, :2] - m) ** 2).sum(axis=1)) for m in (-0.8, 0.8)]
    assert truth == pytest.approx(density[1] / (density[0] + density[1]))
    best = names["losses"].pop("truth")
    assert all(best < one for one in names["losses"].values())
    names["losses"]["truth"] = best
    assert np.mean(truth[truth > 0.9]) == pytest.approx(y[truth > 0.9].mean(), abs=0.01)
    free, shrunk = names["chances"]["free logistic"], names["chances"]["shrunk logistic"]
    assert y[free > 0.95].mean() < 0.93 and y[shrunk > 0.8].mean() > 0.95


def test_the_cross_fit_the_base_rate_and_the_costs_matter():
    names = page("21_calibration")
    assert names["judged"](names["naive"], names["y_new"])[0] > names["losses"]["Platt"][0] + 0.1
    rate = names["y_rare"].mean()
    assert abs(names["corrected"].mean() - rate) < 0.01 < 0.2 < names["p"].mean() - rate
    costs = names["costs"]
    assert costs["truth"] < costs["Platt"] < costs["score, squashed"] < costs["free logistic"]
    # No threshold on the true probability is much cheaper than 1/21.
    truth, y = names["chances"]["truth"], names["y_new"]
    tried = [np.mean(np.where(truth > t, 1 - y, 20 * y)) for t in np.linspace(0.01, 0.99, 99)]
    assert costs["truth"] < min(tried) + 0.01 < costs["one half"]
