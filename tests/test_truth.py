"""Certificates say no more than is true: idle columns, underflow, weights of all sizes."""

from __future__ import annotations

import copy
import dataclasses
import os
import sys
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn import linear_model

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

pytest.importorskip("flint")

from benchmarks import tampering
from benchmarks.tampering import MODELS, trial

import separatrix
from grids import EXHAUSTIVE
from separatrix import (
    SVR,
    ElasticNet,
    HuberRegressor,
    Lasso,
    LassoCV,
    LinearRegression,
    LinearSVR,
    LogisticRegression,
    NuSVC,
    NuSVR,
    OneClassSVM,
    Ridge,
    RidgeClassifier,
    SGDRegressor,
    verify,
)
from separatrix.objectives.enclosure import quotient_above
from separatrix.scale import scan

random = np.random.default_rng(3)
X = random.normal(size=(20, 3))
Y = X @ [1.0, 2.0, 3.0] + random.normal(size=20)


def quiet(fit: Any, *args: Any, **options: Any) -> Any:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return fit(*args, **options)


# --- columns that the rows say nothing about ----------------------------------------------------


@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, -3e7])
def test_a_penalty_wants_the_weights_of_idle_columns_to_be_zero(value):
    rows = X.copy()
    rows[:, 1] = value
    labels = (Y > 0).astype(int)
    blocks = scan(rows, Y, quantity=True, block_rows=7)
    models: list[tuple[Any, tuple[Any, ...], tuple[Any, ...]]] = [
        (model, (rows, target), (rows, target))
        for package in (separatrix, linear_model)
        for model, target in (
            (package.Ridge(alpha=2.7), Y),
            (package.Ridge(alpha=2.7, positive=True, tol=1e-12), np.abs(Y)),
            (package.RidgeCV([0.5, 2.0]), Y),
            (package.RidgeClassifier(alpha=2.7), labels),
        )
    ]
    models.append((Ridge(alpha=2.7), (blocks,), (blocks,)))
    models.append((LinearRegression(lam=0.1), (rows, Y), (rows, Y)))
    for model, data, again in models:
        quiet(model.fit, *data)
        assert verify(model, *again).status == "optimal", model
        coef, intercept = model.coef_, model.intercept_
        for size in (1e-2, 1.0, 1e6, 1e12):
            step = np.zeros_like(coef)
            step[..., 1] = size
            model.coef_, model.intercept_ = coef + step, intercept - size * value
            assert quiet(verify, model, *again).status == "above_tol", (model, size)
        model.coef_, model.intercept_ = coef - step, intercept + size * value
        assert not quiet(verify, model, *again).ok, (model, -size)


def test_an_intercept_that_is_none_is_refused():
    for model in (
        LinearRegression(fit_intercept=False),
        Lasso(0.1, fit_intercept=False),
        linear_model.Ridge(fit_intercept=False),
    ):
        centred = X - X.mean(axis=0)
        model.fit(centred, Y)
        verify(model, centred, Y)
        model.intercept_ = np.float64(5.0)
        with pytest.raises(ValueError, match=r"fit_intercept=False, and its intercept_ is 5"):
            verify(model, centred, Y)


def times_the_optimum(model: Any, rows: Any, numbers: Any, weights: Any) -> float:
    """A Ridge's objective over the least one, in fractions."""
    A = [[*map(Fraction, row), Fraction(1)] for row in rows.tolist()]
    s, y = [list(map(Fraction, v.tolist())) for v in (weights, numbers)]
    alpha, p = Fraction(model.alpha), len(A[0])

    def objective(point: list[Fraction]) -> Fraction:
        left = [
            t - sum(a * v for a, v in zip(row, point, strict=True))
            for row, t in zip(A, y, strict=True)
        ]
        squares = sum(u * r * r for u, r in zip(s, left, strict=True))
        return squares + alpha * sum(v * v for v in point[:-1])

    system = [
        [sum(u * row[i] * row[j] for u, row in zip(s, A, strict=True)) + alpha * (i == j < p - 1)
         for j in range(p)]
        + [sum(u * row[i] * t for u, row, t in zip(s, A, y, strict=True))]
        for i in range(p)
    ]  # fmt: skip
    for i in range(p):
        system[i] = [v / system[i][i] for v in system[i]]
        for k in range(p):
            if k != i:
                system[k] = [
                    a - system[k][i] * b for a, b in zip(system[k], system[i], strict=True)
                ]
    here = [*map(Fraction, model.coef_.tolist()), Fraction(float(model.intercept_))]
    return float(objective(here) / objective([row[-1] for row in system]))


# --- what rounding explains, and what it does not -----------------------------------------------


def test_rounding_excuses_no_objective_that_could_be_less():
    # The returned numbers are as near to the optimum as float64 has them, and not near enough.
    far = X + 1e13
    model = quiet(LinearRegression().fit, far, Y)
    assert model.certificate_.orthogonality > 1e-6
    share = model.certificate_.orthogonality**2
    assert model.certificate_.ok == (share <= 1e-6)
    worst = 0.0
    for seed in range(6):
        own = np.random.default_rng(seed)
        rows, numbers = own.normal(size=(8, 2)), own.normal(size=8)
        heavy = 10.0 ** own.uniform(-60, 60, size=8)
        blocks = scan(rows, numbers, weight=heavy, quantity=True, block_rows=3)
        for data in ((rows, numbers, heavy), (blocks,)):
            model = quiet(Ridge(alpha=0.01).fit, *data)
            excess = times_the_optimum(model, rows, numbers, heavy) - 1.0
            worst = max(worst, excess)
            assert excess <= 1e-5 or not model.certificate_.ok, (seed, excess)
    assert worst > 1e4
    heavy = 10.0 ** np.linspace(-60, 60, 20)
    # Rows that are fitted exactly are, whatever they weigh.
    exact = X @ [1.0, -2.0, 0.5] + 3.0
    assert LinearRegression().fit(X, exact, heavy).certificate_.ok
    years = np.arange(1990.0, 2020.0)[:, None]
    assert LinearRegression().fit(years, 3.0 * years[:, 0] - 7.0).certificate_.ok
    assert LinearRegression().fit(X, np.full(20, 0.1)).certificate_.ok


# --- underflow ----------------------------------------------------------------------------------


def test_a_quotient_is_bounded_from_above_or_not_known():
    assert quotient_above(0.0, 3.0) == 0.0
    for dividend, divisor in ((1.0, 3.0), (1e-300, 1e200), (5e-324, 2.0)):
        assert Fraction(quotient_above(dividend, divisor)) >= Fraction(dividend) / Fraction(divisor)
    assert np.isnan(quotient_above(np.nan, 3.0))


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("heavy", [1e175, 1e200])
def test_a_move_to_balance_that_underflows_is_charged(heavy, loss):
    rows, targets = np.array([[0.0], [0.1], [-0.2], [0.05], [0.3]]), [0.0, 1.0, 1.0, 1.0, -100.0]
    weights = np.array([heavy, *[1e-150] * 4])
    found = quiet(LinearSVR(loss=loss).fit, rows, targets, weights).certificate_
    # The objective of weights of zero, to which the first row costs nothing.
    power = 1 if loss == "epsilon_insensitive" else 2
    null = sum(Fraction(1e-150) * Fraction(abs(t)) ** power for t in targets)
    assert found.dual <= null


def test_weights_whose_products_lose_digits_are_refused():
    rows, weights = [[0.0], [1.0], [2.0]], [1e200, 1e-130, 1e200]
    for model in (Lasso(1.0), LinearSVR(C=1e-200), SGDRegressor(alpha=1.0)):
        with pytest.raises(ValueError, match="sample weight 1e-130 of row 1 times the strength"):
            model.fit(rows, [0.0, 1e150, 0.0], sample_weight=weights)
    labels, small = [0, 1, 0], [1e-200, 1.0, 1.0]
    with pytest.raises(ValueError, match="sample weight 1e-200 of row 0 times"):
        separatrix.LogisticRegression(C=1e-200).fit(rows, labels, small)
    blocks = scan(np.array(rows), np.array(labels), weight=np.array(small), block_rows=2)
    with pytest.raises(ValueError, match="sample weight 1e-200 of row 0 times"):
        separatrix.LogisticRegression(C=1e-200).fit(blocks)


def test_what_an_intercept_takes_is_no_measure_of_what_is_left():
    targets = 1.7e18 + 2e4 * (X @ [1.0, 2.0, 3.0])
    found = quiet(Lasso(1.0).fit, X, targets).certificate_
    assert found.status == "precision_limit"
    assert quiet(Lasso(1.0).fit, X, targets - targets.mean()).certificate_.status == "optimal"
    # The status of a fit to numbers that are all the same is also that of verify.
    counts = np.full(20, 3.0)
    model = quiet(separatrix.PoissonRegressor().fit, X, counts)
    assert model.certificate_.status == quiet(verify, model, X, counts).status == "vanishing"


@pytest.mark.parametrize("unit", [1e-170, 1e-200, 1e-310])
def test_squares_that_underflow_are_charged(unit):
    for model in (
        ElasticNet(alpha=1e-3, l1_ratio=0),
        ElasticNet(alpha=1e-3, l1_ratio=0.5),
        Lasso(alpha=max(unit * 1e-10, 1e-300)),
        LinearSVR(),
        LinearSVR(epsilon=0.0, loss="squared_epsilon_insensitive"),
        LinearSVR(epsilon=0.0),
        SGDRegressor(max_iter=3),
        SGDRegressor(max_iter=3, loss="huber"),
        SGDRegressor(max_iter=3, loss="squared_epsilon_insensitive", epsilon=0.0),
        NuSVR(),
        LassoCV(cv=2),
        HuberRegressor(),
    ):
        found = quiet(model.fit, X, unit * Y).certificate_
        assert found.primal > 0.0
        # The optimum is below what float64 holds, or its bound holds.
        assert found.status != "optimal" or found.dual > 0.999 * found.primal, model
    # What is zero stays zero.
    for model in (Lasso(0.1), SGDRegressor(max_iter=3), LinearSVR()):
        found = quiet(model.fit, X, 0.0 * Y).certificate_
        assert (found.status, found.primal, found.dual) == ("optimal", 0.0, 0.0)


def test_the_least_objective_of_zeros_is_zero():
    model = HuberRegressor().fit(X, 0.0 * Y)
    found = model.certificate_
    assert (found.status, found.primal, found.dual) == ("optimal", 0.0, 0.0)
    model.coef_ = np.array([1e-3, 0.0, 0.0])
    assert verify(model, X, 0.0 * Y).status == "above_tol"
    quiet(HuberRegressor().fit, X, 1e-315 * Y)


def test_a_row_that_alone_determines_a_coefficient_is_named():
    rows = X[:6, :2].copy()
    rows[3, 1] = 1e12
    with pytest.raises(ValueError, match="row 3 alone determines a coefficient; give larger"):
        separatrix.RidgeCV([1e-3, 1.0]).fit(rows, Y[:6])


# --- altered models -----------------------------------------------------------------------------


@pytest.mark.sampled
@pytest.mark.parametrize("model", list(MODELS))
def test_no_altered_model_is_called_optimal(model):
    found = []
    for number in range(16):
        found.append(trial(2, number, model=model))
        if not EXHAUSTIVE and found[-1].problems:
            break
    assert any(one.problems for one in found)
    assert [(one.number, one.findings) for one in found if one.findings] == []


@pytest.mark.parametrize(
    "model",
    [
        *("Ridge", "PolynomialRegression", "multiclass LinearDiscriminantAnalysis"),
        *("QuadraticDiscriminantAnalysis", "ElasticNet", "HuberRegressor", "LogisticRegression"),
        *("scikit-learn's LinearSVC", "scikit-learn's multinomial LogisticRegression", "any SVC"),
        *("SVR", "NuSVR", "NuSVC", "OneClassSVM"),
    ],
)
def test_the_attack_would_notice(model, monkeypatch):
    honest, first = separatrix.verify, []

    def blind(*given, **options):
        """The verdict on the model as it was fitted, whatever was altered since."""
        first.extend([honest(*given, **options)] if not first else [])
        return first[0]

    monkeypatch.setattr(separatrix, "verify", blind)
    for number in range(10):
        first.clear()
        if trial(2, number, model=model, family="ordinary").findings:
            return
    raise AssertionError("nothing was found")


def test_numbers_of_problems_stay_what_they_were():
    drawn = [trial(5, number, model="first").model for number in (0, 1, 240)]
    assert drawn == ["LinearSVR", "RidgeCV", "ElasticNet"]


def test_numbers_that_are_not_finite_are_held_to_not_being_optimal(monkeypatch):
    def fit(self: Any) -> None:
        self.model.coef_, self.model.intercept_ = np.full(self.X.shape[1], np.inf), 0.0

    monkeypatch.setattr(tampering._Case, "fit", fit)
    assert trial(2, 0, model="Lasso", family="ordinary").findings == []
    known = dataclasses.replace(LinearSVR().fit(X, Y).certificate_, status="optimal")
    monkeypatch.setattr(separatrix, "verify", lambda *given, **options: known)
    (finding,) = trial(2, 0, model="Lasso", family="ordinary").findings
    assert finding[0] == "optimal" and "not finite" in finding[1]


def test_the_command_counts_by_estimator(capsys, monkeypatch):
    monkeypatch.setattr(tampering, "MODELS", {name: MODELS[name] for name in ("Ridge", "SVR")})
    before = dict(os.environ)
    assert tampering.main(["--problems", "12", "--seed", "2"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].split() == [
        "problems",
        "fits",
        "optimal",
        "altered",
        "refused",
        "false",
        "CPU",
        "s",
    ]
    assert {line.split()[-1] for line in out[1:-2]} == {"Ridge", "SVR"}
    assert out[-1].endswith(" problems, 0 false") and int(out[-1].split()[0]) >= 12
    assert tampering.main(["--only", "1", "--seed", "2"]) == 0
    os.environ.clear()
    os.environ.update(before)


@pytest.mark.parametrize("model", [SVR, NuSVR, OneClassSVM, NuSVC, separatrix.SVC])
def test_a_machine_predicts_by_the_weights_that_are_judged(model):
    # One class away from the origin.
    rows, labels = X + 5.0, Y > 0 if issubclass(model, separatrix.SVC) else Y
    machine = model(kernel="linear").fit(rows, labels)
    assert verify(machine, rows, labels).ok
    machine.coef_ = machine.coef_ * 1.001
    with pytest.raises(ValueError, match="coef_ is not the sum of its support vectors"):
        verify(machine, rows, labels)


def test_the_constant_of_a_polynomial_without_terms_is_judged():
    rows, targets = np.ones((4, 2)), np.array([1.0, 2.0, 3.0, 4.0])
    model = quiet(separatrix.PolynomialRegression().fit, rows, targets)
    assert not len(model.powers_) and verify(model, rows, targets).ok
    model.intercept_ = model.intercept_ * 1.001
    assert not verify(model, rows, targets).ok


def test_a_share_of_the_rows_is_kept_and_the_intercept_judged():
    rows, labels = X + 5.0, np.median(Y) < Y
    for kernel in ("rbf", "linear"):
        for model in (NuSVC(nu=0.75, kernel=kernel), OneClassSVM(nu=0.33, kernel=kernel)):
            model.fit(rows, labels)
            fitted = verify(model, rows, labels)
            assert fitted.status == "optimal"
            assert fitted.primal == pytest.approx(model.certificate_.primal, rel=1e-9)
            # The combination is the best one for another share.
            for name, by in (("dual_coef_", 1.001), ("intercept_", 1.001), ("intercept_", -1e6)):
                other = copy.copy(model)
                setattr(other, name, getattr(model, name) * by)
                if "coef_" in vars(model):
                    other.coef_ = other.dual_coef_ @ model.support_vectors_
                assert verify(other, rows, labels).status == "above_tol", (kernel, model, name)


# --- nothing to solve ---------------------------------------------------------------------------


def test_weights_that_are_all_zero_are_refused_in_passes_as_in_memory():
    for model in (Ridge(), LinearRegression()):
        with pytest.raises(ValueError, match="sample_weight is zero for every row"):
            model.fit(X, Y, 0.0 * Y)
    with pytest.raises(ValueError, match="sample_weight is zero for every row"):
        scan(X, Y, weight=0.0 * Y, quantity=True, block_rows=7)


def test_lapack_says_nothing_where_no_column_is_active(capfd):
    labels = (Y > 0).astype(int)
    blocks = scan(X, labels, block_rows=7)
    for options in ({}, {"fit_intercept": False}):
        model = LogisticRegression(penalty="l1", C=1e-6, **options)
        assert not quiet(model.fit, blocks).coef_.any()
        assert not quiet(model.fit, X, labels).coef_.any()
    from separatrix._compiled.linear_algebra import solve_positive

    assert solve_positive(np.zeros((0, 0)), np.zeros(0)).shape == (0,)
    assert capfd.readouterr().out == ""


def test_classes_on_idle_columns():
    rows = X.copy()
    rows[:, 1] = 0.1
    labels = (Y > 0).astype(int)
    model = RidgeClassifier(alpha=1e-9).fit(rows, labels)
    assert verify(model, rows, labels).status == "optimal"


def test_a_plain_power_that_no_term_has_is_judged():
    rows = np.column_stack([np.arange(8.0), np.arange(8.0) % 3])
    model = separatrix.PolynomialRegression(2).fit(rows, np.arange(8.0) ** 2)
    assert verify(model, rows, np.arange(8.0) ** 2).ok
    for j in range(len(model.coef_)):
        given = model.coef_.copy()
        model.coef_ = given.copy()
        model.coef_[j] += 1e3
        assert not quiet(verify, model, rows, np.arange(8.0) ** 2).ok, model.powers_[j]
        model.coef_ = given


def test_no_weight_of_a_positive_model_is_negative():
    rows = X.copy()
    rows[:, 1] = 3.0
    for package in (separatrix, linear_model):
        model = package.LinearRegression(positive=True).fit(rows, np.abs(Y))
        assert verify(model, rows, np.abs(Y)).ok
        step = np.array([0.0, -1.0, 0.0])
        model.coef_, model.intercept_ = model.coef_ + step, model.intercept_ + 3.0
        assert not quiet(verify, model, rows, np.abs(Y)).ok


# --- offsets and units --------------------------------------------------------------------------


def margins_of(model: Any, rows: np.ndarray, labels: np.ndarray, weights: Any) -> list[float]:
    """The margins of a machine of two classes by weights of the columns, in fractions."""
    out = []
    for row, label in zip(rows.tolist(), labels, strict=True):
        score = Fraction(float(model.intercept_[0]))
        score += sum(Fraction(a) * w for a, w in zip(row, weights, strict=True))
        out.append(float(score if label == model.classes_[1] else -score))
    return out


def test_a_machine_on_offsets_has_the_margins_that_its_certificate_says():
    # Sums of the support vectors in float64 alone moved these margins by hundredths.
    rows = np.random.default_rng(1).normal(size=(8, 3)) + np.array([0.0, 6e6, 6e6])
    labels = rows[:, 1] > np.median(rows[:, 1])
    model = NuSVC(nu=0.2, kernel="linear").fit(rows, labels)
    assert model.certificate_.ok and verify(model, rows, labels).ok
    c = list(map(Fraction, model.dual_coef_[0].tolist()))
    assert sum(c) == 0
    vectors = [list(map(Fraction, row)) for row in model.support_vectors_.tolist()]
    combined = [sum(a * row[j] for a, row in zip(c, vectors, strict=True)) for j in range(3)]
    for weights in (combined, list(map(Fraction, model.coef_[0].tolist()))):
        margins = margins_of(model, rows, labels, weights)
        assert min(abs(m - 1.0) for m in margins) < 1e-7
        support = [m for k, m in enumerate(margins) if k in set(model.support_.tolist())]
        assert max(support) < 1.0 + 1e-7


def test_weights_of_columns_that_are_a_little_off_are_charged_what_offsets_make_of_it():
    rows = np.random.default_rng(1).normal(size=(8, 3)) + np.array([0.0, 6e6, 6e6])
    labels = rows[:, 1] > np.median(rows[:, 1])
    for kind in (NuSVC(nu=0.2, kernel="linear"), separatrix.SVC(kernel="linear")):
        model = quiet(kind.fit, rows, labels)
        before = verify(model, rows, labels).gap
        model.coef_ = model.coef_ + np.array([[0.0, 5e-10, 0.0]]) * np.abs(model.coef_).max()
        found = verify(model, rows, labels)
        assert found.status == "above_tol" and found.gap > 100.0 * before, kind


def test_targets_whose_squares_underflow_are_judged_in_passes_as_in_memory():
    for unit, weight in ((1e-165, 1.0), (1e-110, 1e-100)):
        targets, weights = unit * Y, np.full(len(Y), weight)
        blocks = scan(X, targets, weight=weights, quantity=True, block_rows=7)
        for model in (LinearRegression(), LinearRegression(lam=0.1), Ridge(alpha=weight)):
            for data, more in (((X, targets), {"sample_weight": weights}), ((blocks,), {})):
                quiet(model.fit, *data, **more)
                assert verify(model, *data, **more).ok, (model, unit)
                model.coef_ = model.coef_ * np.array([1.001, 1.0, 1.0])
                assert not verify(model, *data, **more).ok, (model, unit, len(data))


def test_columns_whose_squares_underflow_are_judged():
    rows, targets = 1e-170 * np.abs(X), np.abs(Y)
    blocks = scan(rows, targets, quantity=True, block_rows=7)
    for options in ({"positive": True}, {}):
        model = quiet(LinearRegression(fit_intercept=False, **options).fit, rows, targets)
        assert verify(model, rows, targets).ok
        for j in range(3):
            other = copy.copy(model)
            other.coef_ = model.coef_ + np.eye(3)[j] * model.coef_.max()
            assert not verify(other, rows, targets).ok, (options, j)
            assert options or not verify(other, blocks).ok, j


def test_a_row_without_weight_has_no_say_in_the_least_scale():
    rows, targets = np.vstack([X, X[:1]]), np.append(X @ [1.0, 2.0, 3.0], 1e20)
    weights = np.append(np.ones(len(X)), 0.0)
    model = quiet(HuberRegressor(alpha=0.0).fit, rows, targets, sample_weight=weights)
    assert model.scale_ < 1e-9 and np.allclose(model.coef_, [1.0, 2.0, 3.0])


def test_bounds_of_an_objective_in_other_units_are_rounded_outward():
    # The mean of the losses times alpha is below the smallest float, and not zero.
    from sklearn.linear_model import SGDRegressor as Theirs

    model = Theirs(penalty="l1", alpha=1e-3, max_iter=5, random_state=0)
    targets, weights = 1e-190 * Y, np.full(len(Y), 1e-100)
    quiet(model.fit, X, targets, sample_weight=weights)
    found = verify(model, X, targets, sample_weight=weights)
    assert found.primal > 0.0 and found.status != "optimal"


def test_plain_powers_of_terms_out_of_range_are_judged():
    rows = 1e-150 * X[:, :1]
    model = quiet(separatrix.PolynomialRegression(degree=3, lam=1e-3).fit, rows, 1e-150 * Y)
    assert verify(model, rows, 1e-150 * Y).ok and np.isfinite(model.coef_).all()
    model.coef_ = model.coef_ * np.array([1.0, 1.0, 1.05])
    assert not verify(model, rows, 1e-150 * Y).ok


def test_a_nu_machine_is_verified_where_its_divisor_has_no_square():
    rows, labels = 1e100 * X, np.median(Y) < Y
    model = quiet(NuSVC(nu=0.3, kernel="linear").fit, rows, labels)
    assert model.rho_[0] > 1e160
    found = verify(model, rows, labels)
    assert found.primal == pytest.approx(model.certificate_.primal, rel=1e-9)


@pytest.mark.parametrize("kind", [ElasticNet, Lasso, SGDRegressor])
def test_weights_in_float32_are_judged_in_float64(kind):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(9, 3)).astype(np.float32)
    y = X @ rng.normal(size=3) + 0.1 * rng.normal(size=9)
    model = kind(alpha=0.01, fit_intercept=False).fit(X, y)
    assert model.coef_.dtype == np.float32
    found = verify(model, X, y)
    # The objective in exact numbers, with the factor on the loss.
    alpha, w = Fraction(model.alpha), [Fraction(float(v)) for v in model.coef_]
    rows = zip(X.tolist(), y.tolist(), strict=True)
    residuals = [
        Fraction(t) - sum(Fraction(v) * u for v, u in zip(x, w, strict=True)) for x, t in rows
    ]
    share = Fraction({Lasso: 1.0, SGDRegressor: 0.0}.get(kind, 0.5))
    penalty = share * sum(map(abs, w)) + (1 - share) / 2 * sum(v * v for v in w)
    primal = sum(r * r for r in residuals) / (2 * len(y)) / alpha + penalty
    assert 0 <= (Fraction(found.primal) - primal) / primal <= Fraction(1, 10**13)
