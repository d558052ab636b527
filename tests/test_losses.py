"""Losses: one table that enrols every margin loss by itself."""

from __future__ import annotations

import json

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris

from grids import grid, share
from helpers import loss_value
from separatrix import LinearSVC, SGDClassifier, verify
from separatrix._compiled.elementary import log_normal
from separatrix.losses import LOSSES as BY_NAME
from separatrix.losses import (
    EpsilonInsensitive,
    Hinge,
    Huber,
    LogLoss,
    Loss,
    MarginLoss,
    MarginPerceptronLoss,
    ModifiedHuber,
    PoissonDeviance,
    Softmax,
    SquaredEpsilonInsensitive,
    SquaredError,
    SquaredHinge,
    SquaredResidual,
    ZeroOneLoss,
    loss_of,
    margin_losses,
    table,
)
from separatrix.losses.smoothed import Smoothed
from separatrix.objectives.passes import charges, dual_terms, scalars_of
from separatrix.objectives.pointwise import Charges
from separatrix.plots import LossDisplay

LOSSES = margin_losses()
SMOOTH = [loss for loss in LOSSES if loss.smooth]
each_loss = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
each_smooth_loss = pytest.mark.parametrize("loss", SMOOTH, ids=lambda loss: loss.name)

# Margins where nothing has a kink, and the kinks and extremes that losses have.
ORDINARY = np.linspace(-7.93, 8.11, 401)
SPECIAL = np.array(
    [
        0.0,
        -0.0,
        1.0,
        -1.0,
        1e-300,
        -1e-300,
        5e-324,
        1 - 1e-16,
        1 + 3e-16,
        36.0,
        -37.0,
        710.0,
        -710.0,
        746.0,
        -746.0,
        1e10,
        -1e10,
        1e150,
        -1e150,
    ]
)
HUGE = np.array([1e300, -1e300, 1.7e308, -1.7e308])


def multipliers(loss: Loss, upper: float) -> np.ndarray:
    """Multipliers across the loss's range, edges left out."""
    low = loss.dual_lower * upper if np.isfinite(loss.dual_lower) else -4.0 * upper
    high = loss.dual_upper * upper if np.isfinite(loss.dual_upper) else 4.0 * upper
    return low + (high - low) * np.linspace(0.02, 0.98, 41)


def test_the_table_enrols_every_loss() -> None:
    names = [loss.name for loss in LOSSES]
    assert len(set(names)) == len(names)
    assert {"hinge", "squared hinge", "log loss", "perceptron"} <= set(names)
    # Also losses that are special cases of others.
    kinds = MarginLoss.__subclasses__()
    own = {kind for kind in kinds if kind.__module__.startswith("separatrix.") and kind.convex}
    assert own < {type(loss) for loss in LOSSES}
    assert MarginPerceptronLoss in {type(loss) for loss in LOSSES}


@each_loss
def test_value_is_the_formula(loss: Loss) -> None:
    z = np.concatenate([ORDINARY, SPECIAL[np.abs(SPECIAL) < 1e11]])
    np.testing.assert_allclose(
        loss.value(z), loss_value(loss.name, z.astype(np.longdouble)).astype(float), rtol=1e-14
    )


@each_loss
def test_formula_of_the_loss_as_text(loss: Loss) -> None:
    # The printed formula, read as an expression, is the loss.
    text = loss.expression.format(z="z").replace("^", "**").replace("1/2 ", "0.5 * ")
    scope = {"max": max, "log": np.log, "exp": np.exp}
    for z in (-3.2, -0.5, 0.0, 0.7, 1.0, 2.5):
        assert eval(text, scope, {"z": z}) == pytest.approx(float(loss.value(np.array(z))))


@each_loss
def test_value_is_convex_and_not_negative(loss: Loss) -> None:
    z = np.sort(np.concatenate([ORDINARY, SPECIAL[np.abs(SPECIAL) < 1e11]]))
    assert np.all(loss.value(z) >= 0.0)
    assert np.all(np.diff(loss.derivative(z)) >= -1e-13)


@each_loss
def test_derivative_against_differences(loss: Loss) -> None:
    h = 1e-6
    differences = (loss.value(ORDINARY + h) - loss.value(ORDINARY - h)) / (2 * h)
    np.testing.assert_allclose(loss.derivative(ORDINARY), differences, atol=3e-8, rtol=1e-8)


@each_smooth_loss
def test_curvature_against_differences(loss: Loss) -> None:
    h = 1e-6
    differences = (loss.derivative(ORDINARY + h) - loss.derivative(ORDINARY - h)) / (2 * h)
    np.testing.assert_allclose(loss.curvature(ORDINARY), differences, atol=1e-8, rtol=1e-7)


def test_curvature_of_a_loss_with_kinks_is_refused() -> None:
    for loss in LOSSES:
        if not loss.smooth:
            with pytest.raises(NotImplementedError, match=loss.name):
                loss.curvature(np.zeros(2))


@each_loss
def test_derivative_is_a_subgradient_everywhere(loss: Loss) -> None:
    z = np.concatenate([np.linspace(-5, 5, 101), [0.0, 1.0, -0.0]])
    slope = loss.derivative(z)
    support = loss.value(z)[:, None] + slope[:, None] * (z[None, :] - z[:, None])
    assert np.all(support <= loss.value(z)[None, :] + 1e-12)


@each_loss
def test_slope_at_equals_derivative(loss: Loss) -> None:
    z = np.concatenate([ORDINARY, SPECIAL, HUGE])
    with np.errstate(over="ignore"):
        expected = loss.derivative(z)
    found = np.array([loss.slope_at(v) for v in z])
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-300)


@each_loss
def test_nothing_overflows_that_has_a_finite_value(loss: Loss) -> None:
    z = np.concatenate([SPECIAL, -SPECIAL])
    for function in [loss.value, loss.derivative] + ([loss.curvature] if loss.smooth else []):
        assert np.all(np.isfinite(function(z))), function.__name__
    # Linear growth stays finite to the very end; quadratic growth overflows to inf, never NaN.
    with np.errstate(over="ignore"):
        assert not np.any(np.isnan(loss.value(HUGE)))
        assert not np.any(np.isnan(loss.derivative(HUGE)))
    if loss.dual_upper < np.inf:
        assert np.all(np.isfinite(loss.value(HUGE[:2])))
        assert np.all(np.abs(loss.derivative(HUGE)) <= loss.dual_upper)


@each_loss
def test_conjugate_against_brute_force(loss: Loss) -> None:
    for a in multipliers(loss, 1.0):
        u, low, high = -a, -60.0, 60.0
        # What is maximised is concave: the best point of a grid is beside the supremum.
        for _ in range(3):
            z = np.linspace(low, high, 2001)
            values = u * z - loss.value(z)
            k = int(np.argmax(values))
            low, high = z[max(k - 1, 0)], z[min(k + 1, 2000)]
        brute = values[k]
        assert float(loss.conjugate(np.array(u))) == pytest.approx(brute, abs=2e-8)


@each_loss
def test_conjugate_outside_its_domain_is_infinite(loss: Loss) -> None:
    outside = []
    if np.isfinite(loss.dual_upper):
        outside += [-loss.dual_upper - 1e-9, -1e3]
    if np.isfinite(loss.dual_lower):
        outside += [-loss.dual_lower + 1e-9, 1e3]
    for u in outside:
        assert float(loss.conjugate(np.array(u))) == np.inf
        # It is so because the supremum grows without end.
        growth = [np.max(u * z - loss.value(z)) for z in (np.array([-s, s]) for s in (1e12, 1e14))]
        assert growth[1] > growth[0] > 0


@each_loss
def test_conjugate_at_the_edges(loss: Loss) -> None:
    for edge in (loss.dual_lower, loss.dual_upper):
        if np.isfinite(edge):
            z = np.linspace(-200, 200, 400_001)
            brute = np.max(-edge * z - loss.value(z))
            assert float(loss.conjugate(np.array(-edge))) == pytest.approx(brute, abs=1e-9)


@each_loss
@given(z=st.floats(-1e6, 1e6), share=st.floats(0, 1))
@pytest.mark.sampled
@settings(max_examples=share(200), deadline=None)
def test_fenchel_young(loss: Loss, z: float, share: float) -> None:
    low = loss.dual_lower if np.isfinite(loss.dual_lower) else -1e3
    high = loss.dual_upper if np.isfinite(loss.dual_upper) else 1e3
    u = -(low + (high - low) * share)
    value = float(loss.value(np.array(z)))
    conjugate = float(loss.conjugate(np.array(u)))
    size = abs(value) + abs(conjugate) + abs(u * z)
    assert value + conjugate >= u * z - 1e-14 * size
    # With equality at the derivative.
    slope = float(loss.derivative(np.array(z)))
    touching = value + float(loss.conjugate(np.array(slope))) - slope * z
    assert abs(touching) <= 1e-14 * (value + abs(slope * z) + slope * slope + 1)


@each_loss
def test_the_compiled_gap_is_what_fenchel_and_young_leave(loss: Loss) -> None:
    rng = np.random.default_rng(4)
    for _ in range(100):
        upper = float(10.0 ** rng.uniform(-3, 3))
        a = float(rng.choice([*multipliers(loss, upper), max(loss.dual_lower, 0.0) * upper]))
        z = float(rng.normal() * rng.choice([0.1, 1.0, 30.0]))
        terms = upper * loss.value(np.array(z)), upper * loss.conjugate(np.array(-a / upper)), a * z
        assert loss.gap_at(a, z, upper) == pytest.approx(
            sum(terms), rel=1e-12, abs=1e-13 * sum(map(abs, terms))
        )


def stated_dual(loss: Loss, t: np.ndarray, a: float, z: float, q: float, upper: float):
    """What ``dual_step`` says it maximises."""
    return -z * (t - a) - 0.5 * q * (t - a) ** 2 - upper * loss.conjugate(-t / upper)


@each_loss
def test_dual_step_against_brute_force(loss: Loss) -> None:
    rng = np.random.default_rng(0)
    for trial in range(150):
        upper = float(10.0 ** rng.uniform(-3, 3))
        a = float(rng.choice(multipliers(loss, upper)))
        if trial % 3 == 0 and np.isfinite(loss.dual_upper):
            a = float(rng.choice([0.0, upper]))
        z = float(rng.normal() * rng.choice([0.1, 1.0, 30.0]))
        q = float(10.0 ** rng.uniform(-3, 3))
        t = float(loss.dual_step(a, z, q, upper))
        assert loss.dual_lower * upper <= t <= loss.dual_upper * upper
        # Brute force: a grid across the range, then finer and finer around its best point.
        low = loss.dual_lower * upper if np.isfinite(loss.dual_lower) else -1e3 * (upper + 1) / q
        high = loss.dual_upper * upper if np.isfinite(loss.dual_upper) else 1e3 * (upper + 1) / q
        low, high = min(low, a - 40 / q), max(high, a + 40 / q)
        if np.isfinite(loss.dual_upper):
            low, high = 0.0, upper
        elif np.isfinite(loss.dual_lower):
            low = 0.0
        for _ in range(8):
            grid = np.linspace(low, high, 201)
            values = stated_dual(loss, grid, a, z, q, upper)
            k = int(np.argmax(values))
            low, high = grid[max(k - 1, 0)], grid[min(k + 1, 200)]
        found = float(stated_dual(loss, np.array(t), a, z, q, upper))
        size = abs(z * (t - a)) + q * (t - a) ** 2 + abs(upper * float(loss.conjugate(-t / upper)))
        assert found >= values[k] - 1e-12 * (size + upper), (a, z, q, upper, t, grid[k])


@each_loss
def test_dual_step_without_curvature(loss: Loss) -> None:
    # A row of zeros: only the loss at margin z remains.
    for upper in (0.5, 3.0):
        for z in (-40.0, -0.3, 0.4, 1.7, 40.0):
            a = float(multipliers(loss, upper)[7])
            t = float(loss.dual_step(a, z, 0.0, upper))
            assert np.isfinite(t)
            grid = multipliers(loss, upper)
            best = stated_dual(loss, grid, a, z, 0.0, upper).max()
            found = float(stated_dual(loss, np.array(t), a, z, 0.0, upper))
            assert found >= best - 1e-12 * (1 + abs(best))


@each_loss
@grid("z", [0.0, 1e300, -1e300, 1e10, -1e10, 800.0, -800.0])
@grid("q", [0.0, 1e-300, 1.0, 1e300])
def test_dual_step_at_extremes(loss: Loss, z: float, q: float) -> None:
    for upper in (1e-12, 1.0, 1e12):
        for a in [0.0, 0.5 * upper] + ([upper] if np.isfinite(loss.dual_upper) else []):
            t = float(loss.dual_step(a, z, q, upper))
            assert not np.isnan(t)
            assert loss.dual_lower * upper <= t <= loss.dual_upper * upper


@each_loss
def test_dual_slope_against_differences(loss: Loss) -> None:
    for upper in (0.25, 7.0):
        for a in multipliers(loss, upper):
            h = 1e-6 * upper
            conjugates = upper * loss.conjugate(-np.array([a + h, a - h]) / upper)
            expected = 0.3 + (conjugates[0] - conjugates[1]) / (2 * h)
            assert loss.dual_slope(a, 0.3, upper) == pytest.approx(expected, abs=1e-7)


@each_loss
def test_dual_slope_at_the_ends_of_the_range(loss: Loss) -> None:
    # A multiplier reaches its end in floating point; the slope there has the right sign.
    assert not np.isnan(loss.dual_slope(0.0, 0.0, 1.0))
    if np.isfinite(loss.dual_upper):
        assert loss.dual_slope(0.0, 0.0, 1.0) <= loss.dual_slope(0.5, 0.0, 1.0)
        assert loss.dual_slope(1.0, 0.0, 1.0) >= loss.dual_slope(0.5, 0.0, 1.0)


@each_loss
def test_dual_curvature_against_differences(loss: Loss) -> None:
    for upper in (0.25, 7.0):
        a = multipliers(loss, upper)
        h = 1e-6 * upper
        slopes = [
            np.array([loss.dual_slope(v + s * h, 0.0, upper) for v in a]) for s in (1.0, -1.0)
        ]
        found = loss.dual_curvature(a, np.full_like(a, upper))
        np.testing.assert_allclose(found, (slopes[0] - slopes[1]) / (2 * h), rtol=1e-6, atol=1e-8)


@each_smooth_loss
def test_unattained_tells_whether_the_infimum_is_reached(loss: Loss) -> None:
    z = np.linspace(-5, 30, 3501)
    assert np.isclose(loss.value(np.array(700.0)), 0.0) or loss.value(z).min() == 0.0
    assert loss.unattained == (loss.value(z).min() > 0.0)


# --- softmax -----------------------------------------------------------------------------------


def test_softmax_of_two_classes_is_the_log_loss() -> None:
    z = np.concatenate([np.linspace(-50, 50, 201), [200.0, 700.0, -700.0]])
    scores = np.stack([np.zeros_like(z), z], axis=1)
    codes = np.ones(len(z), dtype=int)
    np.testing.assert_allclose(Softmax().value(scores, codes), LogLoss().value(z), rtol=1e-12)


def test_softmax_probabilities_and_divergence() -> None:
    rng = np.random.default_rng(0)
    softmax = Softmax()
    scores = rng.normal(size=(50, 4)) * 10
    p = softmax.probabilities(scores)
    assert np.all(p > 0.0)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-15)
    expected = np.exp(scores.astype(np.longdouble))
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(p, expected.astype(float), rtol=1e-14)
    q = rng.dirichlet(np.ones(4), size=50)
    q[0] = [0.0, 0.0, 0.0, 1.0]
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(q > 0, q * np.log(q / p), 0.0)
    np.testing.assert_allclose(softmax.divergence(q, scores), terms.sum(axis=1), atol=1e-12)


def test_softmax_derivative_against_differences() -> None:
    rng = np.random.default_rng(1)
    scores, codes = rng.normal(size=(20, 3)), rng.integers(3, size=20)
    softmax, h = Softmax(), 1e-6
    gradient = softmax.probabilities(scores)
    gradient[np.arange(20), codes] -= 1.0
    for k in range(3):
        step = np.zeros((1, 3))
        step[0, k] = h
        up, down = softmax.value(scores + step, codes), softmax.value(scores - step, codes)
        np.testing.assert_allclose(gradient[:, k], (up - down) / (2 * h), atol=1e-9)


def test_softmax_at_extremes() -> None:
    softmax = Softmax()
    scores = np.array([[1e300, -1e300, 0.0], [0.0, 0.0, 0.0], [-1e300, -1e300, -1e300]])
    codes = np.array([0, 1, 2])
    value = softmax.value(scores, codes)
    np.testing.assert_allclose(value, [0.0, np.log(3), np.log(3)], rtol=1e-14, atol=1e-300)
    np.testing.assert_allclose(
        softmax.probabilities(scores), [[1, 0, 0], [1 / 3] * 3, [1 / 3] * 3], rtol=1e-15
    )


def test_softmax_does_not_change_its_argument() -> None:
    scores = np.array([[1.0, 2.0], [3.0, 4.0]])
    Softmax().probabilities(scores)
    assert scores.tolist() == [[1.0, 2.0], [3.0, 4.0]]


# --- all losses side by side ------------------------------------------------------------------


def test_every_loss_has_a_name_to_be_asked_for() -> None:
    assert set(BY_NAME.values()) == set(MarginLoss.__subclasses__())
    rows = table()
    assert [row["key"] for row in rows] == list(BY_NAME)
    assert [row["name"] for row in rows][:2] == ["zero-one", "perceptron"]


def test_only_what_can_be_minimised_is_handed_out() -> None:
    assert all(type(loss_of(key)) is kind for key, kind in BY_NAME.items() if key != "zero_one")
    for name in ("zero_one", "nonsense"):
        with pytest.raises(ValueError, match=rf"loss='{name}' is not known; choose one of 'per"):
            loss_of(name)


def test_zero_one_counts_mistakes() -> None:
    z = np.array([-np.inf, -1.0, -5e-324, -0.0, 0.0, 5e-324, 1.0, np.inf])
    assert ZeroOneLoss().value(z).tolist() == [1, 1, 1, 1, 1, 0, 0, 0]


@pytest.mark.parametrize("kind", BY_NAME.values(), ids=BY_NAME)
def test_the_factor_of_zero_one_is_the_smallest(kind) -> None:
    loss = kind()
    # The worst margins are those from 0 down; further down a convex loss only grows.
    z = -np.concatenate([[0.0], np.geomspace(1e-12, 1e3, 400)])
    lowest = loss.value(z).min()
    if lowest == 0.0:
        assert loss.zero_one_factor == np.inf
    else:
        assert loss.zero_one_factor == pytest.approx(1.0 / lowest, rel=1e-12)
        everywhere = np.linspace(-20.0, 20.0, 4001)
        bound = loss.zero_one_factor * loss.value(everywhere) * (1.0 + 1e-12)
        assert np.all(bound >= ZeroOneLoss().value(everywhere))
    assert loss.bounds_zero_one == (loss.zero_one_factor == 1.0)


@pytest.mark.parametrize("kind", BY_NAME.values(), ids=BY_NAME)
def test_convexity_is_as_stated(kind) -> None:
    z = np.linspace(-6.0, 6.0, 121)
    a, b = z[:, None], z[None, :]
    loss = kind()
    below = loss.value(0.5 * (a + b)) <= 0.5 * (loss.value(a) + loss.value(b)) + 1e-12
    assert bool(below.all()) == loss.convex


@pytest.mark.parametrize("kind", BY_NAME.values(), ids=BY_NAME)
def test_smoothness_is_as_stated(kind) -> None:
    loss = kind()
    z = np.linspace(-4.0, 4.0, 801)
    h = 1e-7
    jump = np.abs(loss.value(z + h) - 2.0 * loss.value(z) + loss.value(z - h)) / h
    # A kink or a step leaves a difference of slopes (or more); a smooth loss one of order h.
    assert bool(jump.max() < 1e-3) == loss.smooth


@pytest.mark.parametrize("kind", BY_NAME.values(), ids=BY_NAME)
def test_the_stated_conjugate_is_the_one_that_is_computed(kind) -> None:
    loss = kind()
    formula, _, domain = loss.conjugate_formula.partition(" for ")
    domain = domain.removesuffix(", else inf").replace("u = 0", "u == 0") or "True"
    names = {"log": np.log, "__builtins__": {}}
    for u in [-2.0, -1.0 + 1e-9, -0.7, -0.25, -1e-9, 0.0, 0.5]:
        inside = eval(domain, names, {"u": u})
        if inside and not (u == 0.0 and "log" in formula):
            expected = eval(formula.replace("^", "**"), names, {"u": u})
            assert loss.conjugate(np.array(u)) == pytest.approx(expected, rel=1e-9, abs=1e-12)
        elif not inside:
            assert loss.conjugate(np.array(u)) == np.inf


@given(st.floats(-30, 30), st.sampled_from([-1.0, 1.0]))
def test_the_two_forms_of_log_loss_agree(a: float, y: float) -> None:
    # Cross-entropy of the target t = (y + 1) / 2 and the probability sigma(a).
    t = (y + 1.0) / 2.0
    log_p, log_q = -np.logaddexp(0.0, -a), -np.logaddexp(0.0, a)
    cross_entropy = -(t * log_p + (1.0 - t) * log_q)
    assert LogLoss().value(np.array(y * a)) == pytest.approx(cross_entropy, rel=1e-12)
    assert np.log(1.0 + np.exp(-y * a)) == pytest.approx(cross_entropy, rel=1e-12, abs=1e-15)


@each_loss
def test_compiled_conjugate(loss: Loss) -> None:
    rng = np.random.default_rng(4)
    upper = 10.0 ** rng.uniform(-20.0, 20.0, 1000)
    low = 10.0 ** rng.uniform(-280.0, 0.0, 333)
    high = 1.0 - 10.0 ** rng.uniform(-16.0, 0.0, 333)
    share = np.concatenate([rng.random(332), low, high, [0.0, 1.0]])
    a = np.minimum(share * upper, upper)
    found = np.array([loss.conjugate_at(*pair) for pair in zip(a, upper, strict=True)])
    wide = upper.astype(np.longdouble)
    if isinstance(loss, LogLoss):
        m = np.minimum(a, wide - a)
        entropy = m * np.log(np.where(m > 0.0, m / wide, 1.0))
        true = entropy + (wide - m) * np.log1p(-m / wide)
    else:
        true = wide * loss.conjugate(-a / wide)
    sizes = np.abs(true) + np.abs(a)
    assert np.all(np.abs(found - true) <= loss.units * 2.0**-53 * sizes + 1e-300)


@pytest.mark.parametrize(
    "loss",
    [
        SquaredResidual(),
        EpsilonInsensitive(0.0),
        EpsilonInsensitive(0.3),
        SquaredEpsilonInsensitive(0.0),
        SquaredEpsilonInsensitive(0.3),
    ],
    ids=repr,
)
def test_compiled_loss_of_the_residual_and_its_conjugate(loss: Loss) -> None:
    rng = np.random.default_rng(6)
    upper = 10.0 ** rng.uniform(-20.0, 20.0, 500)
    z = np.append(10.0 ** rng.uniform(-9.0, 9.0, 499) * rng.choice([-1.0, 1.0], 499), 0.0)
    found = np.array([loss.cost_at(v, loss.parameter) for v in z])
    true = loss.value(z.astype(np.longdouble))
    assert np.all(np.abs(found - true) <= loss.units * 2.0**-53 * np.abs(true))
    a = upper * (np.clip(z, -1.0, 1.0) if loss.dual_upper == 1.0 else z)
    found = np.array(
        [loss.dual_cost_at(v, u, loss.parameter) for v, u in zip(a, upper, strict=True)]
    )
    wide = upper.astype(np.longdouble)
    true = wide * loss.conjugate(np.clip(-a / wide, -loss.dual_upper, loss.dual_upper))
    assert np.all(np.abs(found - true) <= loss.units * 2.0**-53 * np.abs(true))


@pytest.mark.parametrize(
    "loss",
    [
        SquaredHinge(),
        ModifiedHuber(),
        SquaredError(),
        SquaredResidual(),
        SquaredEpsilonInsensitive(0.3),
    ],
    ids=repr,
)
def test_squares_of_multipliers_do_not_underflow_in_compiled_sums(loss: Loss) -> None:
    y, nothing = np.array([-1.0 if loss.of_residual else 1.0]), np.zeros(1)
    centres, scalars = nothing if loss.of_residual else None, scalars_of(loss)
    assert scalars is not None
    for upper in (np.array([size]) for size in (1e-300, 1e-170, 1.0, 1e170, 1e308)):
        r = -0.5 * y * upper
        vectors = y, upper, nothing, r
        true = float((upper * loss.conjugate(np.array([-0.5])))[0])
        _, conjugate = dual_terms(loss, scalars, *vectors, centres)
        assert conjugate == pytest.approx(true, rel=1e-14)
        for moves in ((0.0, 0.0), (0.0, 1e-30)):
            sums = charges(loss, scalars, *vectors, nothing, centres, (0.0, 0.0), moves, 0.0)
            assert sums[Charges._fields.index("conjugate"), 0] == pytest.approx(true, rel=1e-14)


def test_logarithm_of_normal_numbers() -> None:
    rng = np.random.default_rng(5)
    near = 1.0 + rng.uniform(-1.0, 1.0, 1000) * 10.0 ** rng.uniform(-16.0, -1.0, 1000)
    edges = [2.0**-1022, 0.5, np.sqrt(0.5), np.nextafter(np.sqrt(0.5), 0.0), 1.0, 1.7e308]
    x = np.concatenate([near, 2.0 ** rng.uniform(-1022.0, 1023.0, 1000), edges])
    found = np.array([log_normal(v) for v in x])
    true = np.log(x.astype(np.longdouble))
    assert np.all(np.abs(found - true) <= 7.0 * 2.0**-53 * np.abs(true))


# --- losses of the residual, and envelopes -----------------------------------------------------

RESIDUAL = [
    Huber(1.35),
    Huber(0.5, scale=2.0),
    SquaredResidual(),
    EpsilonInsensitive(0.0),
    EpsilonInsensitive(0.7),
    SquaredEpsilonInsensitive(0.7),
]


@pytest.mark.parametrize("loss", [*LOSSES, *RESIDUAL], ids=repr)
def test_a_loss_is_a_function_of_a_score_and_a_target(loss: Loss) -> None:
    s = np.linspace(-3.03, 3.04, 101)
    grid = np.linspace(-60, 60, 120_001)
    for t in (-0.37, 1.61) if loss.of_residual else (-1.0, 1.0):
        assert loss.domain[0] <= t <= loss.domain[1]
        target = np.full_like(s, t)
        z = t - s if loss.of_residual else t * s
        np.testing.assert_array_equal(loss(s, target), loss.value(z))
        h = 1e-6
        slopes = (loss(s + h, target) - loss(s - h, target)) / (2 * h)
        np.testing.assert_allclose(loss.slope(s, target), slopes, atol=1e-8)
        for u in np.linspace(max(loss.dual_lower, -3.0), min(loss.dual_upper, 3.0), 5):
            slope = u if loss.of_residual else -t * u
            brute = np.max(slope * grid - loss(grid, np.full_like(grid, t)))
            found = loss.score_conjugate(np.array(slope), np.array(t))
            assert float(found) == pytest.approx(brute, abs=1e-6)


def test_the_poisson_deviance_against_differences_and_brute_force() -> None:
    loss, h = PoissonDeviance(), 1e-6
    s = np.linspace(-4.0, 4.0, 81)
    for t in (0.0, 0.3, 1.0, 7.0):
        target = np.full_like(s, t)
        log = np.log(t) if t > 0.0 else 0.0
        np.testing.assert_allclose(loss(s, target), np.exp(s) - t * s + t * log - t, atol=1e-13)
        slopes = (loss(s + h, target) - loss(s - h, target)) / (2 * h)
        np.testing.assert_allclose(loss.slope(s, target), slopes, atol=1e-7)
        bends = (loss.slope(s + h, target) - loss.slope(s - h, target)) / (2 * h)
        curvature = loss.given(target).curvature(loss.argument(s, target))
        np.testing.assert_allclose(curvature, bends, rtol=1e-7)
        grid = np.linspace(-40.0, 8.0, 480_001)
        values = loss(grid, np.full_like(grid, t))
        for u in (0.0, 0.4, 3.0, 100.0, -0.5 * t, -0.99 * t):
            found = float(loss.score_conjugate(np.array([u]), np.array([t]))[0])
            assert found == pytest.approx(np.max(u * grid - values), abs=1e-6)
        end = loss.score_conjugate(np.array([-t]), np.array([t]))
        assert float(end[0]) == pytest.approx(t - t * log, abs=1e-12)
        assert loss.score_conjugate(np.array([-t - 1e-9]), np.array([t]))[0] == np.inf
    assert np.all(loss(s, np.exp(s)) < 1e-28 * np.exp(s))


@pytest.mark.sampled
def test_the_poisson_deviance_is_as_exact_as_it_says() -> None:
    rng = np.random.default_rng(0)
    unit = 2.0**-53
    with mpmath.workdps(60):
        for _ in range(share(1500)):
            t = float(rng.choice([0.0, 1.0, 10.0 ** rng.uniform(-300, 300)]))
            z = float(rng.normal() * rng.choice([1.0, 10.0 ** rng.uniform(-12.0, 2.5)]))
            loss, T, Z = PoissonDeviance(np.array([t])), mpmath.mpf(t), mpmath.mpf(z)
            true = T * (mpmath.exp(Z) - 1 - Z) if t > 0.0 else mpmath.exp(Z)
            if 1e-290 < true < 1e300:
                above = float(loss.value_above(np.array([z]))[0])
                assert above * (1.0 + loss.units * unit) >= true, (t, z)
                error = abs(float(loss.value(np.array([z]))[0]) - true)
                assert error <= loss.units * unit * (true + 2 * T * abs(Z)), (t, z)
            part = rng.choice([rng.uniform(-1, 2), 10.0 ** rng.uniform(-16, 0) - 1, 1e6, -1.0])
            u = float(t * part if t > 0.0 else 10.0 ** rng.uniform(-20, 20))
            v = mpmath.mpf(u) + T
            if v < 0.0 or not 1e-280 < abs(u) < 1e290:
                continue
            true = v * mpmath.log(v / (T or 1)) - u if v > 0 else T
            found = float(loss.conjugate(np.array([u]))[0])
            assert abs(found - true) <= loss.units * unit * (abs(true) + abs(u)), (t, u)


@pytest.mark.parametrize("loss", RESIDUAL, ids=repr)
def test_losses_of_residuals_against_differences_and_brute_force(loss: Loss) -> None:
    z = np.linspace(-3.03, 3.04, 101)
    h = 1e-6
    slopes = (loss.value(z + h) - loss.value(z - h)) / (2 * h)
    np.testing.assert_allclose(loss.derivative(z), slopes, atol=1e-8)
    if loss.smooth:
        bends = (loss.derivative(z + h) - loss.derivative(z - h)) / (2 * h)
        np.testing.assert_allclose(loss.curvature(z), bends, atol=1e-8)
    grid = np.linspace(-60, 60, 1_200_001)
    values = loss.value(grid)
    for u in np.linspace(max(loss.dual_lower, -3.0), min(loss.dual_upper, 3.0), 13):
        brute = np.max(u * grid - values)
        assert float(loss.conjugate(np.array(u))) == pytest.approx(brute, abs=1e-7)


@pytest.mark.parametrize(
    "loss", [Hinge(), Huber(0.5), EpsilonInsensitive(0.0), EpsilonInsensitive(0.7)], ids=repr
)
@pytest.mark.parametrize("width", [1e-3, 0.4, 5.0])
def test_envelopes_against_brute_force(loss: Loss, width: float) -> None:
    smooth = Smoothed(loss, width)
    z = np.linspace(-3.03, 3.04, 41)
    grid = np.linspace(-12, 12, 480_001)
    values = loss.value(grid)
    brute = [np.min(values + (t - grid) ** 2 / (2 * width)) for t in z]
    np.testing.assert_allclose(smooth.value(z), brute, atol=1e-6)
    assert np.all(smooth.value(z) <= loss.value(z) + 1e-15)
    h = 1e-7
    slopes = (smooth.value(z + h) - smooth.value(z - h)) / (2 * h)
    np.testing.assert_allclose(smooth.derivative(z), slopes, atol=1e-6)
    bends = (smooth.derivative(z + h) - smooth.derivative(z - h)) / (2 * h)
    np.testing.assert_allclose(smooth.curvature(z), bends, rtol=1e-6, atol=1e-6)
    for u in np.linspace(loss.dual_lower, loss.dual_upper, 7) * (1 if loss.of_residual else -1):
        brute_conjugate = np.max(u * grid - smooth.value(grid))
        assert float(smooth.conjugate(np.array(u))) == pytest.approx(brute_conjugate, abs=1e-6)


def test_a_loss_is_known_by_all_of_its_names():
    X, y = load_iris(return_X_y=True)
    for key, name in (("log_loss", "log"), ("squared_hinge", "squared hinge")):
        first, other = (clone(SGDClassifier(n, alpha=0.1)).fit(X, y) for n in (key, name))
        assert other.get_params()["loss"] == name
        np.testing.assert_array_equal(first.coef_, other.coef_)
        assert hasattr(other, "predict_proba") == (name == "log")
        assert list(LossDisplay.from_losses([name]).curves_) == [loss_of(key).name]
    machine = LinearSVC(loss="squared hinge").fit(X, y)
    assert verify(machine, X, y).ok
    assert (loss_of("logistic").key, loss_of("0-1", convex=False).key) == ("log", "zero_one")
    with pytest.raises(ValueError, match="loss='logarithm' is not known"):
        LinearSVC(loss="logarithm").fit(X, y)


def test_the_table_is_printed_as_one():
    rows = table(z=[-1.0, 2.0])
    assert rows[1]["name"] == "perceptron" and json.loads(json.dumps(rows)) == rows
    lines = str(rows).splitlines()
    assert repr(rows) == str(rows) and len({len(line) for line in lines}) == 1
    assert lines[1 + [row["key"] for row in rows].index("hinge")].split()[-2:] == ["2", "0"]
    assert rows._repr_html_().count("<tr>") == len(rows) + 1
