"""The convergence theorem: the bound is one, for every order, start, rate and margin."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris

import reference_perceptron as reference
from grids import share
from separatrix.geometry.separation.perceptron_bound import _larger_root, perceptron_bound
from separatrix.solvers.perceptron import ORDERS

LIFTED = ([[-1, 3], [-1, -1], [3, -1], [0, 1.5]], [-1, -1, 1, 1])
ORIGIN = ([[-1, -1], [1, 0], [-1, 1.5]], [1, -1, 1])


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, np.float32])
def test_by_hand(kind) -> None:
    X, y = ORIGIN
    found = perceptron_bound(kind(np.array(X, dtype=float)), y, fit_intercept=False)
    # The longest point is (-1, 1.5), and (-1, 0) has the margin 1: so have two of the points.
    assert found.radius == pytest.approx(math.sqrt(3.25), rel=1e-14)
    assert found.margin.lower == 1.0 <= found.margin.upper <= 1.0 + 1e-15
    assert found.bound == pytest.approx(3.25, rel=1e-14)
    assert found.bound >= 3.25
    assert (found.radius * found.B) ** 2 == pytest.approx(found.bound, rel=1e-14)
    assert (found.mistakes, found.by_sample.tolist(), found.passes) == (2, [1, 0, 1], 2)
    assert found.finished
    assert found.separable
    assert str(found) == (
        "at most 3 mistakes in any order: R = 1.80278, margin 1, (R / margin)^2 = 3.25; "
        "the cyclic order from zero made 2 in 2 passes"
    )


def test_lifted_by_hand() -> None:
    found = perceptron_bound(*LIFTED)
    # (2, 0, 1) / sqrt(5) holds three of the lifted points at 1 / sqrt(5); the longest of them is
    # sqrt(11).
    assert found.margin.lower <= 1 / math.sqrt(5) <= found.margin.upper
    assert found.margin.upper - found.margin.lower <= 1e-12
    assert found.bound == pytest.approx(55.0, rel=1e-12)
    assert found.mistakes == 9


def test_the_same_points_lifted_by_hand_go_through_the_origin() -> None:
    X, y = load_iris(return_X_y=True)
    one = perceptron_bound(X, y == 0)
    other = perceptron_bound(np.column_stack([X, np.ones(150)]), y == 0, fit_intercept=False)
    assert one.radius == pytest.approx(other.radius, rel=1e-12)
    assert one.margin.lower == pytest.approx(other.margin.lower, rel=1e-9)
    assert one.bound == pytest.approx(other.bound, rel=1e-9)
    assert one.mistakes == other.mistakes <= one.bound


def test_no_bound_without_separability() -> None:
    overlap = perceptron_bound([[0, 0], [1, 1], [1, 0], [0, 1]], [0, 0, 1, 1])
    touching = perceptron_bound([[0], [1], [1], [2]], [0, 0, 1, 1])
    for found, status in ((overlap, "not_separable"), (touching, "quasi_separable")):
        assert found.verdict.status == status
        assert not found.separable
        assert found.bound == found.B == math.inf
        assert found.margin is found.mistakes is found.passes is None
        assert not found.finished
        assert str(found).startswith("no bound on the mistakes of a perceptron: ")
        assert str(found.verdict) in str(found)
    assert overlap.verdict.check([[0, 0], [1, 1], [1, 0], [0, 1]], [0, 0, 1, 1])


def test_separable_only_with_an_offset() -> None:
    X, y = [[1.0], [2.0]], [0, 1]
    assert perceptron_bound(X, y).separable
    assert not perceptron_bound(X, y, fit_intercept=False).separable


whole = st.integers(-4, 4)


@st.composite
def problems(draw):
    n, d = draw(st.integers(2, 7)), draw(st.integers(1, 3))
    X = draw(st.lists(st.lists(whole, min_size=d, max_size=d), min_size=n, max_size=n))
    # Labels from a hyperplane, so that most are separable.
    w, b = draw(st.lists(whole, min_size=d, max_size=d)), draw(whole)
    scores = [sum(p * q for p, q in zip(x, w, strict=True)) + b + 0.5 for x in X]
    y = [1 if s > 0 else -1 for s in scores]
    assume(len(set(y)) == 2)
    lift = draw(st.booleans())
    start = draw(st.one_of(st.none(), st.lists(whole, min_size=d + lift, max_size=d + lift)))
    return X, y, lift, start


@pytest.mark.sampled
@settings(max_examples=share(150), deadline=None)
@given(
    case=problems(),
    order=st.sampled_from(ORDERS),
    rate=st.sampled_from([1, 0.5, 4]),
    margin=st.sampled_from([0, 0, 1, 3]),
    seed=st.integers(0, 9),
)
def test_no_run_makes_more_mistakes(case, order, rate, margin, seed: int) -> None:
    X, y, lift, start = case
    given_start = {}
    if start is not None:
        d = len(X[0])
        given_start = {"coef_init": start[:d], "intercept_init": start[d] if lift else None}
    found = perceptron_bound(
        X,
        y,
        fit_intercept=lift,
        learning_rate=rate,
        margin=margin,
        order=order,
        random_state=seed,
        max_passes=3000,
        **given_start,
    )
    if not found.separable:
        assert found.bound == math.inf
        return
    assert found.finished
    assert found.mistakes <= found.bound < math.inf
    # A run in exact arithmetic, by the definition, makes just as many mistakes.
    if order not in ("random", "replacement"):
        run = reference.run(
            X,
            y,
            order=order,
            lift=lift,
            start=start,
            rate=rate,
            margin=margin,
            max_passes=found.passes + 1,
        )
        assert sum(run.mistakes) == found.mistakes
        assert run.mistakes == found.by_sample.tolist()
    if start is None and margin == 0:
        # The rate does not matter then, and the bound is (R / gamma)^2, from outside.
        square = Fraction(found.radius) ** 2 / Fraction(found.margin.lower) ** 2
        assert found.bound == pytest.approx(float(square), rel=1e-12)
        longest = max(sum(v * v for v in x) for x in X) + lift
        upper = Fraction(found.margin.upper) ** 2
        assert Fraction(found.bound) >= Fraction(longest) / upper


@pytest.mark.sampled
@settings(max_examples=share(100), deadline=None)
@given(case=problems(), rate=st.sampled_from([0.25, 1, 3]), margin=st.sampled_from([0, 2]))
def test_the_bound_is_the_largest_number_that_the_two_inequalities_allow(
    case, rate, margin
) -> None:
    X, y, lift, start = case
    d = len(X[0])
    start = start or [0] * (d + lift)
    found = perceptron_bound(
        X,
        y,
        fit_intercept=lift,
        coef_init=start[:d],
        intercept_init=start[d] if lift else None,
        learning_rate=rate,
        margin=margin,
        max_passes=1,
    )
    assume(found.separable)
    plane = found.margin.hyperplane
    u = np.append(plane.w, plane.b) if lift else plane.w
    u = u / np.linalg.norm(u)
    rows = np.array([[*x, 1] if lift else x for x in X], dtype=float)
    gamma = (np.array(y) * (rows @ u)).min()
    radius2 = (rows**2).sum(axis=1).max()

    def allowed(k: float) -> bool:
        along = np.dot(start, u) + k * rate * gamma
        square = np.dot(start, start) + k * (2 * rate * margin + rate**2 * radius2)
        return along <= 0 or along**2 <= square

    # Found by bisection, with no quadratic formula.
    low, high = 0.0, 1.0
    while allowed(high):
        low, high = high, 2 * high
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if allowed(middle) else (low, middle)
    # The square root of rounding near a double root at zero.
    assert found.bound == pytest.approx(low, rel=1e-7, abs=1e-5)


def test_a_better_start_is_a_smaller_bound() -> None:
    X, y = LIFTED
    plane = perceptron_bound(X, y).margin.hyperplane
    bounds = [
        perceptron_bound(X, y, coef_init=t * plane.w, intercept_init=t * plane.b).bound
        for t in (-10.0, -1.0, 0.0, 1.0, 5.0)
    ]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[0] > 1.5 * bounds[2] > 1.5 * bounds[-1]


def test_a_margin_is_dearer_at_a_small_rate() -> None:
    bounds = [
        perceptron_bound(*LIFTED, margin=1.0, learning_rate=rate).bound for rate in (10, 1, 0.1)
    ]
    assert bounds == pytest.approx([(11 + 2 / r) * 5 for r in (10, 1, 0.1)], rel=1e-9)


def test_the_root_is_rounded_up() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        a, g, extra, c = (Fraction(int(v), 7) for v in rng.integers(1, 50, size=4))
        a = a if rng.random() < 0.5 else -a
        square = a**2 + extra
        k = Fraction(_larger_root(a, g, square, c))
        # Beyond the root, and no further than rounding.
        assert (a + k * g) ** 2 >= square + k * c
        less = k * (1 - Fraction(1, 2**40))
        assert (a + less * g) ** 2 < square + less * c


@pytest.mark.parametrize("scale", [1e-150, 1e-100, 1e100, 1e150, 1e160, 1e300])
def test_the_scale_of_the_data_cancels(scale: float) -> None:
    X, y = np.array(ORIGIN[0]) * scale, ORIGIN[1]
    found = perceptron_bound(X, y, fit_intercept=False)
    assert found.bound == pytest.approx(3.25, rel=1e-9)
    assert found.radius == pytest.approx(math.sqrt(3.25) * scale, rel=1e-12)


def test_real_data() -> None:
    X, y = load_iris(return_X_y=True)
    for order in ORDERS:
        found = perceptron_bound(X, y == 0, order=order, random_state=0)
        assert found.finished
        assert found.mistakes <= found.bound
        # The theorem is far from what happens here.
        assert found.mistakes < 0.2 * found.bound
    X, y = load_breast_cancer(return_X_y=True)
    assert not perceptron_bound(X[:, :5], y).separable


def test_a_run_that_is_cut_short_says_so() -> None:
    X, y = load_iris(return_X_y=True)
    found = perceptron_bound(X, y == 0, max_passes=1)
    assert not found.finished
    assert found.passes == 1
    assert str(found).endswith(" in 1 pass, and had not ended")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"order": "up"}, "order='up' is not known"),
        ({"learning_rate": 0}, "learning_rate=0 must be"),
        ({"margin": -1}, "margin=-1 must be"),
        ({"max_passes": 0}, "max_passes=0 must be"),
        ({"coef_init": [1, 2, 3]}, r"coef_init has the shape \(3,\); pass one of shape \(1, 2\)"),
        ({"intercept_init": 1, "fit_intercept": False}, "fit_intercept=False, which keeps"),
    ],
)
def test_bad_parameters(options: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        perceptron_bound(*LIFTED, **options)


def test_bad_data() -> None:
    with pytest.raises(ValueError, match="needs two classes, and y has 3; pass one of them"):
        perceptron_bound([[0], [1], [2]], ["a", "b", "c"])
    with pytest.raises(ValueError, match="NaN at row 1, column 0"):
        perceptron_bound([[0], [np.nan]], [0, 1])
