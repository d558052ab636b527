"""Mistake-driven passes: published sequences, the definition, the pocket, the average."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import reference_perceptron as reference
from grids import share
from separatrix.data.design import as_design
from separatrix.losses import PerceptronLoss
from separatrix.objectives.mistakes import MistakeObjective
from separatrix.solvers.driver import minimise, watch
from separatrix.solvers.perceptron import (
    ORDERS,
    MistakeDriven,
    Tuning,
    finalize,
    starting_points,
)
from separatrix.solvers.stochastic import ResumeState, one_pass

FORMS = {
    "dense": np.asarray,
    "fortran": np.asfortranarray,
    "csr": sp.csr_array,
    "float32": lambda X: X.astype(np.float32),
    "csr float32": lambda X: sp.csr_array(X.astype(np.float32)),
}
each_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


def problem(X, y, form=np.asarray, **options) -> MistakeObjective:
    return MistakeObjective(
        as_design(form(np.asarray(X, dtype=float))),
        np.asarray(y, dtype=float),
        PerceptronLoss(),
        **options,
    )


def permutations(seed, n: int, order: str = "random"):
    """The rows of every pass, as a generator of this seed shuffles or draws them."""
    rng = np.random.default_rng(seed)
    while True:
        yield (rng.permutation(n) if order == "random" else rng.integers(n, size=n)).tolist()


def steps(updates) -> list:
    return [(u.sample, u.epoch, *u.coef.tolist(), u.intercept) for u in updates]


LIFTED = ([[-1, 3], [-1, -1], [3, -1], [0, 1.5]], [-1, -1, 1, 1])
ORIGIN = ([[-1, -1], [1, 0], [-1, 1.5]], [1, -1, 1])
FAR = ([[-1, -1], [1, 0], [-1, 10]], [1, -1, 1])


# --- published sequences -----------------------------------------------------------------------


@each_form
def test_published_lifted_sequence(form) -> None:
    state = minimise(problem(*LIFTED, form), MistakeDriven(record=True)).state
    W = [(*u.coef.tolist(), u.intercept) for u in state.updates]
    assert len(W) == 9
    assert W[:2] == [(1.0, -3.0, -1.0), (2.0, -2.0, -2.0)]
    assert W[-1] == (4.0, -0.5, 1.0)


@each_form
def test_published_sequences_through_the_origin(form) -> None:
    start = np.array([-1.0, -1.0])
    for (X, y), begin, mistakes, last in (
        (ORIGIN, None, 2, [-2.0, 0.5]),
        (ORIGIN, start, 1, [-2.0, 0.5]),
        (FAR, None, 6, [-6.0, 5.0]),
        (FAR, start, 5, [-6.0, 5.0]),
    ):
        solution = minimise(
            problem(X, y, form, fit_intercept=False, start=begin), MistakeDriven(record=True)
        )
        assert solution.state.mistakes.sum() == mistakes
        assert solution.theta.tolist() == last
        assert len(solution.state.updates) == mistakes
    assert start.tolist() == [-1.0, -1.0]
    first = minimise(problem(*ORIGIN, form, fit_intercept=False), MistakeDriven())
    assert first.state.mistakes.tolist() == [1, 0, 1]
    for X, y in (ORIGIN, FAR):
        # From the second point on.
        rolled = minimise(
            problem(np.roll(X, -1, axis=0), np.roll(y, -1), form, fit_intercept=False),
            MistakeDriven(),
        )
        assert rolled.state.mistakes.tolist() == [1, 0, 0]


def test_the_driver_may_say_where_to_start() -> None:
    start = np.array([-1.0, -1.0])
    one = minimise(problem(*FAR, fit_intercept=False), MistakeDriven(), theta=start)
    other = minimise(problem(*FAR, fit_intercept=False, start=start), MistakeDriven())
    assert np.array_equal(one.theta, other.theta)
    assert np.array_equal(one.state.mistakes, other.state.mistakes)


# --- the definition ----------------------------------------------------------------------------

whole = st.integers(-3, 3)


@st.composite
def small_problems(draw):
    n, d = draw(st.integers(1, 8)), draw(st.integers(1, 3))
    X = draw(st.lists(st.lists(whole, min_size=d, max_size=d), min_size=n, max_size=n))
    y = draw(st.lists(st.sampled_from([-1, 1]), min_size=n, max_size=n))
    lift = draw(st.booleans())
    p = d + int(lift)
    start = draw(st.one_of(st.none(), st.lists(whole, min_size=p, max_size=p)))
    return {
        "X": X,
        "y": y,
        "lift": lift,
        "start": start,
        "rate": draw(st.sampled_from([1, 0.5, 2])),
        "margin": draw(st.sampled_from([0, 1, 0.25, 7])),
        "order": draw(st.sampled_from(ORDERS)),
        "max_passes": draw(st.integers(1, 12)),
    }


def both(case, form=np.asarray, seed: int = 0, **options):
    """A run of the solver, and one from the definition."""
    n = len(case["y"])
    expected = reference.run(**case, permutations=permutations(seed, n, case["order"]))
    start = case["start"]
    solver = MistakeDriven(case["order"], **options)
    mistake = problem(
        case["X"],
        case["y"],
        form,
        fit_intercept=case["lift"],
        margin=case["margin"],
        rate=case["rate"],
        start=None if start is None else np.array(start, dtype=float),
    )
    solution = minimise(
        mistake, solver, max_iter=case["max_passes"], seed=seed, exhausted="not_separated"
    )
    return mistake, solver, solution, expected


@pytest.mark.sampled
@settings(max_examples=share(300), deadline=None)
@given(case=small_problems(), seed=st.integers(0, 99))
def test_every_update_is_that_of_the_definition(case, seed: int) -> None:
    _, _, solution, expected = both(case, seed=seed, record=True)
    state = solution.state
    assert state.theta.tolist() == [float(t) for t in expected.theta]
    assert state.mistakes.tolist() == expected.mistakes
    lift = case["lift"]
    made = [
        (
            u.sample,
            u.epoch,
            reference.exact([*u.coef_before, u.intercept_before] if lift else u.coef_before),
            reference.exact([*u.coef, u.intercept] if lift else u.coef),
        )
        for u in state.updates
    ]
    assert made == expected.updates
    seen = [0] * len(case["y"])
    for update in state.updates:
        seen[update.sample] += 1
        assert update.mistakes == seen[update.sample]


@pytest.mark.sampled
@settings(max_examples=share(200), deadline=None)
@given(case=small_problems(), form=st.sampled_from(list(FORMS.values())))
def test_the_end_is_that_of_the_definition_in_every_form(case, form) -> None:
    mistake, solver, solution, expected = both(case, form)
    assert solution.state.theta.tolist() == [float(t) for t in expected.theta]
    assert solution.state.mistakes.tolist() == expected.mistakes
    answer = finalize(mistake, solver, solution, case["max_passes"]).certificate
    assert answer.ok == (
        reference.count_mistakes(case["X"], case["y"], expected.theta, case["lift"], case["margin"])
        == 0
    )
    if answer.n_iter:
        assert answer.n_iter == expected.passes
    else:
        # The start makes no mistake, and nothing was visited.
        assert expected.passes == 1
        assert expected.clean


@pytest.mark.sampled
@settings(max_examples=share(200), deadline=None)
@given(case=small_problems(), record=st.booleans())
def test_the_pocket_holds_the_best_of_what_was_put_up(case, record: bool) -> None:
    mistake, solver, solution, expected = both(case, record=record)
    answer = finalize(mistake, solver, solution, case["max_passes"])
    start = case["start"] or [0] * len(expected.theta)
    seen = [reference.exact(start), *expected.put_up]

    def count(theta) -> int:
        return reference.count_mistakes(case["X"], case["y"], theta, case["lift"], case["margin"])

    assert answer.certificate.primal == min(map(count, seen))
    assert answer.certificate.primal <= min(map(count, expected.ends))
    # The certificate is that of the point that is returned.
    assert count(reference.exact(answer.theta)) == answer.certificate.primal
    # The latest of equally good weights is returned.
    best = [theta for theta in seen if count(theta) == answer.certificate.primal]
    assert answer.theta.tolist() == [float(t) for t in best[-1]]


@pytest.mark.sampled
@settings(max_examples=share(200), deadline=None)
@given(case=small_problems(), record=st.booleans(), watched=st.booleans())
def test_the_average_is_that_of_the_definition(case, record: bool, watched: bool) -> None:
    with watch(lambda _: None) if watched else watch(lambda _: 1):
        mistake, solver, solution, expected = both(case, record=record, keep="average")
    answer = finalize(mistake, solver, solution, case["max_passes"])
    if answer.certificate.n_iter == 0:
        # The start makes no mistake: nothing was visited.
        np.testing.assert_array_equal(answer.theta, mistake.zero())
        return
    p = len(expected.theta)
    total = [sum((v[j] for v in expected.visited), Fraction(0)) for j in range(p)]
    mean = [float(t / len(expected.visited)) for t in total]
    np.testing.assert_allclose(answer.theta, mean, rtol=1e-12, atol=1e-12)
    # A row of which rounding leaves open on which side it is counts as a mistake.
    assert answer.certificate.primal >= mistake.bound(answer.theta).primal
    assert answer.certificate.ok == (answer.certificate.primal == 0.0)


# --- the rule ----------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ORDERS)
def test_on_the_plane_and_on_the_margin(order: str) -> None:
    X, y = [[1.0], [-1.0]], [1.0, -1.0]
    start = np.array([2.0])

    def mistakes(margin: float) -> int:
        mistake = problem(X, y, fit_intercept=False, margin=margin, start=start)
        return int(minimise(mistake, MistakeDriven(order), seed=0).state.mistakes.sum())

    # A point that reaches the margin is none; one short of it by the last bit is.
    assert mistakes(2.0) == 0
    assert mistakes(np.nextafter(2.0, 3.0)) == 1
    # On the plane is a mistake by the plain rule.
    on = problem([[0.0], [1.0]], [1.0, 1.0], start=np.array([1.0, 0.0]))
    assert minimise(on, MistakeDriven(order), seed=0).state.mistakes.tolist() == [1, 0]
    assert problem(X, y).level == 0.0
    assert problem(X, y, margin=5e-324).level == 0.0


def test_a_margin_leaves_every_point_at_least_that_far() -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(80, 3))
    y = np.where(X[:, 0] > X[:, 1], 1.0, -1.0)
    X[:, 0] += 0.5 * y
    mistake = problem(X, y, margin=3.0)
    solution = minimise(mistake, MistakeDriven(), max_iter=10_000)
    assert solution.certificate.ok
    assert np.min(y * mistake.linear(solution.theta)) >= 3.0
    assert solution.state.mistakes.sum() > minimise(problem(X, y), MistakeDriven()).state.passes


def test_the_learning_rate_scales_the_weights_and_nothing_else() -> None:
    one = minimise(problem(*LIFTED), MistakeDriven())
    other = minimise(problem(*LIFTED, rate=0.25), MistakeDriven())
    np.testing.assert_array_equal(other.theta, 0.25 * one.theta)
    np.testing.assert_array_equal(one.state.mistakes, other.state.mistakes)


def test_what_it_says_it_does() -> None:
    X, y = LIFTED
    assert problem(X, y).formula() == (
        "correct each mistake y (w.x + b) <= 0 by w += y x, b += y, until a pass has none"
    )
    assert problem(X, y, fit_intercept=False, margin=0.5, rate=0.1).formula() == (
        "correct each row with y (w.x) < 0.5 by w += 0.1 y x, until a pass has none"
    )


def test_novikoff() -> None:
    # At most (R / gamma)^2 updates, here for a known separating direction.
    rng = np.random.default_rng(2)
    u = rng.normal(size=4)
    u /= np.linalg.norm(u)
    X = rng.normal(size=(400, 4))
    X = X[np.abs(X @ u) > 0.15]
    y = np.sign(X @ u)
    gamma, radius = np.abs(X @ u).min(), np.linalg.norm(X, axis=1).max()
    for order in ORDERS:
        solution = minimise(
            problem(X, y, fit_intercept=False), MistakeDriven(order), max_iter=10_000, seed=0
        )
        assert solution.certificate.ok
        assert solution.state.mistakes.sum() <= (radius / gamma) ** 2


# --- weights -----------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["cyclic", "restart"])
@pytest.mark.parametrize("keep", ["best", "average"])
def test_a_weight_is_that_many_visits_in_a_row(order: str, keep: str) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 3))
    y = np.where(X[:, 0] + 0.4 * rng.normal(size=30) > 0, 1.0, -1.0)
    weights = rng.integers(0, 4, size=30)
    solver = MistakeDriven(order, keep=keep)
    whole = problem(X, y, weights=weights.astype(float))
    copies = problem(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    weighted, copied = (
        finalize(p, solver, minimise(p, solver, max_iter=50), 50) for p in (whole, copies)
    )
    np.testing.assert_allclose(weighted.theta, copied.theta, rtol=1e-12, atol=1e-12)
    assert weighted.state.mistakes.sum() == copied.state.mistakes.sum()
    assert weighted.certificate.primal == copied.certificate.primal
    assert weighted.state.elapsed == copied.state.elapsed


def test_a_fraction_is_a_step_of_that_fraction() -> None:
    X, y = [[1.0, 0.0], [0.0, 1.0]], [1.0, -1.0]
    mistake = problem(X, y, weights=np.array([0.5, 1.0]), fit_intercept=False)
    solver = MistakeDriven(record=True, keep="average")
    solution = minimise(mistake, solver, max_iter=1)
    assert [u.coef.tolist() for u in solution.state.updates] == [[0.5, 0.0], [0.5, -1.0]]
    # ... and as much of a visit: half of one at (0.5, 0), one at (0.5, -1).
    assert solution.state.elapsed == 1.5
    np.testing.assert_allclose(solution.state.average, [0.5, -1.0 / 1.5])


# --- the record --------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ORDERS)
def test_the_record_is_a_chain(order: str) -> None:
    X, y = (np.array(a, dtype=float) for a in LIFTED)
    start = np.array([-3.0, 2.0, -0.5])
    state = minimise(
        problem(X, y, start=start), MistakeDriven(order, record=True), seed=3, max_iter=99
    ).state
    assert len(state.updates) == state.mistakes.sum() > 3
    before = start
    for update in state.updates:
        row, i = np.append(X[update.sample], 1.0), update.sample
        np.testing.assert_array_equal(
            np.append(update.coef_before, update.intercept_before), before
        )
        # It was a mistake, and the step is y x.
        assert y[i] * (row @ before) <= 0.0
        before = before + y[i] * row
        np.testing.assert_array_equal(np.append(update.coef, update.intercept), before)
    # One array serves two updates, and so must not be written to.
    first, second = state.updates[:2]
    assert first.coef is second.coef_before or np.shares_memory(first.coef, second.coef_before)
    with pytest.raises(ValueError, match="read-only"):
        first.coef[0] = 1.0
    assert [u.epoch for u in state.updates] == sorted(u.epoch for u in state.updates)


@pytest.mark.parametrize("keep", ["best", "average"])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("overlap", [0.0, 0.7])
def test_looking_on_changes_nothing(order: str, keep: str, overlap: float) -> None:
    # Data so large that weights are judged by a sample.
    tuning = Tuning(small=100)
    rng = np.random.default_rng(6)
    X = rng.normal(size=(150, 3))
    y = np.where(X[:, 0] + overlap * rng.normal(size=150) > 0, 1.0, -1.0)
    X[:, 0] += 0.02 * y * (overlap == 0.0)
    mistake = problem(X, y)

    def fit(record: bool):
        solver = MistakeDriven(order, record=record, keep=keep, tuning=tuning)
        solution = minimise(mistake, solver, max_iter=20, seed=1, exhausted="not_separated")
        return finalize(mistake, solver, solution, 20)

    plain, recorded = fit(False), fit(True)
    with watch(lambda _: None):
        watched = fit(False)
    for other in (recorded, watched):
        np.testing.assert_allclose(other.theta, plain.theta, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(other.state.mistakes, plain.state.mistakes)
        assert other.certificate.n_iter == plain.certificate.n_iter
        assert other.certificate.primal == plain.certificate.primal
        assert other.certificate.status == plain.certificate.status
    assert plain.certificate.ok == (overlap == 0.0 and plain.certificate.primal == 0.0)


# --- the pocket --------------------------------------------------------------------------------


def test_overlapping_classes_end_with_the_fewest_mistakes_seen() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(50, 2))
    y = rng.choice([-1.0, 1.0], 50)
    solution = minimise(
        problem(X, y), MistakeDriven(), max_iter=40, record=True, exhausted="not_separated"
    )
    assert solution.certificate.status == "not_separated"
    assert solution.certificate.primal == min(solution.trace.primal)
    scores = X @ solution.theta[:2] + solution.theta[2]
    assert np.sum(y * scores <= 0) == solution.certificate.primal


def test_a_sample_judges_large_data() -> None:
    rng = np.random.default_rng(7)
    n = 4000
    X = rng.normal(size=(n, 4))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    mistake = problem(X, y)

    def fit(tuning: Tuning):
        solver = MistakeDriven(tuning=tuning)
        return finalize(mistake, solver, minimise(mistake, solver, max_iter=30), 30)

    best = fit(Tuning())
    assert len(best.state.sample) == n
    sampled = fit(Tuning(small=1000))
    # A sixteenth of the rows, and no row twice.
    assert len(set(sampled.state.sample)) == len(sampled.state.sample) == n // 16
    scores = mistake.linear(sampled.theta)
    # What is certified counts all rows.
    assert np.sum(y * scores <= 0) == sampled.certificate.primal >= best.certificate.primal
    assert np.sum((y * scores <= 0)[sampled.state.sample]) == sampled.state.fewest
    # Within the noise of the sample: five standard deviations.
    p = best.certificate.primal / n
    assert sampled.certificate.primal / n <= p + 5 * np.sqrt(p * 16 / n)


def test_zero_on_the_sample_is_not_zero() -> None:
    # One row in hundreds can be got right only together with the others late: no sample sees it.
    rng = np.random.default_rng(8)
    X = np.column_stack([np.ones(800), np.zeros(800)]) * rng.uniform(1, 2, size=(800, 1))
    y = np.ones(800)
    mistake = problem(X, y, fit_intercept=False)
    solver = MistakeDriven(tuning=Tuning(small=100))
    sample = solver.init(mistake, mistake.zero(), np.random.default_rng(0)).sample
    assert len(sample) == 50
    missed = next(i for i in range(800) if i not in sample)
    X[missed], y[missed] = [1.0, 0.1], -1.0
    mistake = problem(X, y, fit_intercept=False)
    solution = finalize(mistake, solver, minimise(mistake, solver, max_iter=2000), 2000)
    assert solution.certificate.ok
    assert np.all(y * mistake.linear(solution.theta) > 0)


@pytest.mark.sampled
def test_a_clean_pass_is_optimal_whatever_the_summation_order() -> None:
    # Points that lie on the plane only up to rounding: a pass that finds no mistake ends the fit,
    # whatever a product that sums in another order would say.
    rng = np.random.default_rng(4)
    clean = 0
    for trial in range(share(100)):
        most = trial % 9
        X = rng.normal(size=(6, 7)) * 10.0 ** rng.integers(-most, most + 1, size=7)
        y = np.where(rng.random(6) < 0.5, 1.0, -1.0)
        solution = minimise(problem(X, y), MistakeDriven(), max_iter=300)
        assert solution.certificate.ok or not solution.state.clean, trial
        clean += solution.state.clean
    assert clean > share(100) / 3


@pytest.mark.parametrize("order", ORDERS)
@each_form
def test_a_clean_pass_is_its_own_proof(order: str, form, monkeypatch) -> None:
    rng = np.random.default_rng(12)
    X = rng.integers(-9, 10, size=(100, 3)).astype(float)
    y = np.where(X @ [1, -2, 3] > 0.5, 1.0, -1.0)
    mistake = problem(X, y, form)
    # Data so large that all rows are counted only where necessary: only the passes visit them.
    if order != "margin":
        monkeypatch.setattr(mistake.design, "dot", None)
    solver = MistakeDriven(order, tuning=Tuning(small=50))
    solution = minimise(mistake, solver, max_iter=5000, seed=0)
    assert solution.state.clean
    assert finalize(mistake, solver, solution, 5000).certificate.ok
    assert np.all(y * (X @ solution.theta[:3] + solution.theta[3]) > 0)


def test_a_clean_restart_ends_the_pass_it_is_in() -> None:
    # The first row is corrected once, and the sweep after it is clean: two visits of a pass of
    # three are left when it begins, so it ends in the second pass.
    X, y = [[1.0], [2.0], [3.0]], [1.0, 1.0, 1.0]
    solver = MistakeDriven("restart", keep="average")
    mistake = problem(X, y, fit_intercept=False)
    state = solver.init(mistake, mistake.zero(), np.random.default_rng(0))
    solver.step(mistake, state, lambda: None)
    assert (state.clean, state.elapsed, state.position) == (False, 3.0, 2)
    solver.step(mistake, state, lambda: None)
    assert (state.clean, state.elapsed, state.passes) == (True, 4.0, 2)


# --- limits ------------------------------------------------------------------------------------


class Enough(Exception):
    pass


@pytest.mark.parametrize("order", ["cyclic", "restart"])
@pytest.mark.parametrize("visits", [1, 7, 20])
def test_a_long_pass_can_be_stopped(order: str, visits: int) -> None:
    rng = np.random.default_rng(9)
    X = rng.integers(-3, 4, size=(30, 2)).astype(float)
    y = rng.choice([-1.0, 1.0], 30)
    calls = itertools.count()

    def check_interrupt() -> None:
        if next(calls) >= 0:
            raise Enough

    mistake = problem(X, y)
    solver = MistakeDriven(order, tuning=Tuning(stretch=2 * visits))
    state = solver.init(mistake, mistake.zero(), np.random.default_rng(0))
    with pytest.raises(Enough):
        solver.step(mistake, state, check_interrupt)
    # The weights are those of the definition after so many visits.
    expected = reference.run(X.tolist(), y.tolist(), order=order, max_passes=1)
    assert state.theta.tolist() == [float(t) for t in expected.visited[visits - 1]]
    assert state.elapsed == visits
    # They can be offered as they are.
    assert np.isfinite(mistake.bound(solver.candidate(mistake, state).theta).primal)


@pytest.mark.parametrize("order", ORDERS)
def test_a_pass_is_as_many_visits_as_rows(order: str) -> None:
    rng = np.random.default_rng(10)
    X, y = rng.normal(size=(25, 2)), rng.choice([-1.0, 1.0], 25)
    solution = minimise(problem(X, y), MistakeDriven(order, keep="average"), max_iter=7, seed=0)
    assert solution.state.elapsed == 7 * 25
    assert solution.certificate.n_iter == 7


@each_form
def test_an_overflow_ends_with_finite_weights(form) -> None:
    X = np.array([[3e38, -1.0], [-3e38, 1.0], [3e38, 2.0]])
    y = [1.0, 1.0, -1.0]
    mistake = problem(X, y, form, rate=1e300)
    solver = MistakeDriven()
    solution = finalize(mistake, solver, minimise(mistake, solver, max_iter=50), 50)
    assert np.all(np.isfinite(solution.theta))
    assert solution.certificate.status == "non_finite"
    assert not solution.certificate.ok


@each_form
def test_scores_that_overflow_prove_nothing(form) -> None:
    # Finite weights, and yet infinity minus infinity for the second row: neither right nor wrong.
    X, y = np.array([[1.0, -1.0], [3e38, 3e38]]), [1.0, 1.0]
    mistake = problem(X, y, form, rate=1e290, fit_intercept=False)
    solver = MistakeDriven()
    solution = finalize(mistake, solver, minimise(mistake, solver, max_iter=50), 50)
    assert solution.certificate.status == "non_finite"
    assert solution.certificate.primal == 2.0
    assert not solution.theta.any()
    # Such weights do not displace others.
    state = solver.init(mistake, mistake.zero(), np.random.default_rng(0))
    solver._put_up(mistake, state, np.array([1e290, -1e290]))
    assert not state.best.any()


# --- one pass ----------------------------------------------------------------------------------


@pytest.mark.parametrize("keep", ["last", "average"])
@pytest.mark.parametrize("sizes", [[40], [10, 30], [1] * 40, [13, 13, 14]])
def test_chunks_make_a_pass(keep: str, sizes: list[int]) -> None:
    rng = np.random.default_rng(11)
    X = rng.integers(-4, 5, size=(40, 3)).astype(float)
    y = rng.choice([-1.0, 1.0], 40)
    expected = reference.run(X.tolist(), y.tolist(), max_passes=1)
    theta, average, visits, mistakes, at = np.zeros(4), np.zeros(4), 0.0, [], 0
    for size in sizes:
        rows = slice(at, at + size)
        solution = one_pass(
            problem(X[rows], y[rows], start=theta),
            MistakeDriven(keep=keep),
            carried=ResumeState(0, visits, average),
            tol=1e-6,
        )
        theta, average, visits = solution.state.theta, solution.theta, solution.state.elapsed
        mistakes += solution.state.mistakes.tolist()
        wrong = np.sum(y[rows] * (X[rows] @ solution.theta[:3] + solution.theta[3]) <= 0)
        assert solution.certificate.primal == wrong
        at += size
    assert theta.tolist() == [float(t) for t in expected.theta]
    assert mistakes == expected.mistakes
    if keep == "average":
        mean = [float(sum(v[j] for v in expected.visited) / 40) for j in range(4)]
        np.testing.assert_allclose(average, mean, rtol=1e-12, atol=1e-12)
        assert visits == 40


def test_a_pass_that_overflows_goes_back() -> None:
    start = np.array([1.0, 1.0])
    mistake = problem([[1e308], [-1e308]], [1.0, 1.0], rate=1e300, start=start)
    carried = ResumeState(0, 3.0, start)
    solution = one_pass(mistake, MistakeDriven(keep="last"), carried=carried, tol=1e-6)
    assert solution.theta.tolist() == [1.0, 1.0]
    assert solution.certificate.status == "non_finite"


# --- starting points ---------------------------------------------------------------------------


def test_starting_points() -> None:
    def points(coef, intercept, parts=1, fit_intercept=True):
        return starting_points(
            coef, intercept, n_features=2, parts=parts, fit_intercept=fit_intercept
        ).tolist()

    assert points(None, None) == [[0.0, 0.0, 0.0]]
    assert points([1, 2], 3) == points([[1, 2]], [3]) == [[1.0, 2.0, 3.0]]
    assert points([1, 2], None, fit_intercept=False) == [[1.0, 2.0]]
    assert points([[1, 2], [3, 4], [5, 6]], [7, 8, 9], 3) == [[1, 2, 7], [3, 4, 8], [5, 6, 9]]


@pytest.mark.parametrize(
    ("coef", "intercept", "options", "words"),
    [
        ([1], None, {}, r"coef_init has the shape \(1,\); pass one of shape \(1, 2\)"),
        ([1, 2], None, {"parts": 3}, r"coef_init has the shape \(2,\); .* \(3, 2\)"),
        (None, [1, 2], {}, r"intercept_init has the shape \(2,\); pass one of shape \(1,\)"),
        (None, 1.0, {"parts": 3}, r"intercept_init has the shape \(\); .* \(3,\)"),
        ([1, np.nan], None, {}, "coef_init holds NaN or infinity"),
        (None, np.inf, {}, "intercept_init holds NaN or infinity"),
        (["a", "b"], None, {}, "coef_init must hold numbers"),
        ([[1, 2], [3]], None, {}, "coef_init must hold numbers"),
        (None, 1.0, {"fit_intercept": False}, "fit_intercept=False, which keeps the plane"),
    ],
)
def test_bad_starting_points(coef, intercept, options: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        starting_points(
            coef, intercept, **{"n_features": 2, "parts": 1, "fit_intercept": True, **options}
        )
