"""The attack on the certificates: a slice of it, and whether its judge finds false ones."""

from __future__ import annotations

import dataclasses
import os
import sys
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

pytest.importorskip("flint")

from benchmarks import certificates as command
from benchmarks.certificate_judge import judge, parts_of
from benchmarks.certificates import FAMILIES, MODELS, attack, case_of, tried
from flint import ctx
from mpmath import mp

import separatrix
from grids import share

# Bits of the logarithm's reference.
mp.prec = 300


@pytest.fixture(autouse=True)
def the_environment_afterwards():
    # The command sets the number of threads of its processes in the environment.
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


# --- the slice --------------------------------------------------------------------------------


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("seed", "way"),
    [
        (1, "ordinary"),
        pytest.param(2, "ordinary", marks=pytest.mark.exhaustive),
        pytest.param(3, "ordinary", marks=pytest.mark.exhaustive),
        (5, "tall"),
        pytest.param(6, "tall", marks=pytest.mark.exhaustive),
        (7, "blocks"),
    ],
)
def test_no_certificate_is_false(seed, way):
    false = [o for o in attack(seed, problems=share(200), way=way) if o.findings]
    told = [f"{o.code}\n# FALSE {o.findings[0]}" for o in false]
    assert not false, f"{len(false)} false certificates, the first two:\n\n" + "\n\n".join(told[:2])


def test_the_way_of_many_rows_is_taken_only_while_it_is_attacked():
    from separatrix.objectives import margin

    before = margin._MANY
    assert len(list(attack(5, problems=2, way="tall"))) == 2
    assert margin._MANY == before > 0


@pytest.mark.parametrize("number", [190407, 212429, 322193, 408179])
def test_what_a_long_attack_found(number):
    assert not tried(case_of(7, number)).findings


# --- the judge --------------------------------------------------------------------------------


def points(classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(14, 3)) * [1.0, 30.0, 0.1] + [0.0, 5.0, 0.0]
    y = np.arange(14) % classes
    X[:, 0] += 0.2 * y
    return X, y, rng.choice([0.5, 1.0, 3.0, 0.0], size=14) + (np.arange(14) < classes)


def apart(classes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, y, s = points(classes)
    X[:, 0] = 5.0 * (y == 1) + 0.01 * X[:, 1]
    X[:, 2] = 5.0 * (y == 2) + 0.02 * X[:, 1]
    return X, y, s


def minima(X: Any, Z: Any) -> np.ndarray:
    """Values that float64 holds exactly, of a kernel that is a scalar product."""
    return np.minimum(np.abs(X[:, :1]), np.abs(Z[:, :1]).T)


INF = float("inf")
# Name, parameters, number of classes.  Coarse tolerances leave space between the two bounds.
COARSE = [
    ("LogisticRegression", {"tol": 1e-2}, 2),
    ("LogisticRegression", {"tol": 1e-2, "fit_intercept": False, "lam": 0.1}, 2),
    ("LogisticRegression", {"tol": 1e-2, "max_iter": 2, "penalty": None}, 2),
    ("LogisticRegression", {"tol": 1e-2, "penalty": "l1", "C": 3.0}, 2),
    ("LogisticRegression", {"tol": 1e-2, "l1_ratio": 0.3}, 2),
    ("LogisticRegression", {"tol": 1e-2}, 3),
    ("LogisticRegression", {"tol": 1e-2, "l1_ratio": 0.3}, 3),
    ("LogisticRegression", {"tol": 1e-2, "multiclass": "ovr"}, 3),
    ("LogisticRegression", {"tol": 1e-2, "class_weight": "balanced"}, 2),
    ("LinearSVC", {"tol": 1e-2, "loss": "hinge"}, 2),
    ("LinearSVC", {"tol": 1e-2, "loss": "hinge", "solver": "dual"}, 3),
    ("LinearSVC", {"tol": 1e-2, "class_weight": {0: 0.3, 1: 2.0}}, 2),
    ("LinearSVC", {"tol": 1e-2, "penalty": "l1"}, 2),
    ("LinearSVC", {"tol": 1e-2, "C": INF}, 2),
    ("SVC", {"tol": 1e-2, "kernel": "linear"}, 2),
    ("SVC", {"tol": 1e-2, "kernel": "rbf", "gamma": 0.1}, 2),
    ("SVC", {"tol": 1e-2, "kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": 0.01}, 3),
    ("SVC", {"tol": 1e-2, "kernel": minima}, 2),
    ("SVC", {"tol": 1e-2, "C": INF, "gamma": 0.1}, 2),
    ("SGDClassifier", {"loss": "log_loss", "alpha": 0.1, "eta0": 0.01, "random_state": 0}, 2),
    ("SGDClassifier", {"loss": "hinge", "alpha": 0.1, "eta0": 0.01, "random_state": 0}, 2),
    ("SGDClassifier", {"loss": "squared_error", "alpha": 0.1, "eta0": 0.001, "random_state": 0}, 2),
]


def named(value: Any) -> str | None:
    if isinstance(value, dict):
        shown = ((k, getattr(v, "__name__", v)) for k, v in value.items() if k != "tol")
        return ",".join(f"{k}={v}" for k, v in shown) or "plain"
    return None


def fitted(name: str, parameters: dict[str, Any], classes: int) -> tuple[Any, tuple[Any, ...]]:
    data = (apart if parameters.get("C") == INF else points)(classes)
    model = getattr(separatrix, name)(**parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name == "Perceptron":
            return model.fit(*data[:2]), (*data[:2], None)
        return model.fit(*data[:2], sample_weight=data[2]), data


def forged(certificate: Any, **numbers: float) -> Any:
    new = dataclasses.replace(certificate, status="max_iter", **numbers)
    gap = new.primal - new.dual
    return dataclasses.replace(new, gap=gap, relative_gap=gap / abs(new.primal))


def kinds(model: Any, data: tuple[Any, ...], certificate: Any) -> set[str]:
    model.certificate_ = certificate
    return {finding.kind for finding in judge(model, *data).findings}


def honest(model: Any, data: tuple[Any, ...]) -> tuple[list[float], list[float]]:
    """Objectives of the parts at the coefficients, and the least ones that were found."""
    ctx.prec = 300
    values = [float(p.problem.value(p.point)) for p in parts_of(model, *data)]
    # A bound of almost zero is false of nothing, and has the search made.
    low = [forged(c, dual=1e-300) for c in model.certificate_.parts or [model.certificate_]]
    model.certificate_ = (
        forged(model.certificate_, dual=1e-300) if len(low) == 1 else whole_of(model, low)
    )
    verdict = judge(model, *data)
    assert verdict.judged == verdict.settled == len(low)
    return values, [float(v) for v in verdict.lowest]


def whole_of(model: Any, parts: list[Any]) -> Any:
    return dataclasses.replace(
        forged(
            model.certificate_,
            primal=sum(p.primal for p in parts) * (1 + 1e-15),
            dual=sum(p.dual for p in parts) * (1 - 1e-15),
        ),
        parts=tuple(parts),
    )


@pytest.mark.parametrize(("name", "parameters", "classes"), COARSE, ids=named)
def test_a_bound_a_hair_above_the_optimum_is_caught(name, parameters, classes):
    model, data = fitted(name, parameters, classes)
    before = model.certificate_
    values, lowest = honest(model, data)
    hair = 1e-13
    own = list(before.parts) or [before]
    true = [
        forged(c, primal=v * (1 + hair), dual=low * (1 - hair))
        for c, v, low in zip(own, values, lowest, strict=True)
    ]
    for k in range(len(own)):
        high = forged(true[k], dual=lowest[k] * (1 + hair))
        short = forged(true[k], primal=values[k] * (1 - hair))
        for part, kind in ((true[k], set()), (high, {"dual"}), (short, {"primal"})):
            parts = [*true[:k], part, *true[k + 1 :]]
            certificate = part if len(own) == 1 else whole_of(model, parts)
            found = kinds(model, data, certificate)
            # Where nothing is left between the two, the order of them says it as well.
            assert found - {"order"} == kind, (k, kind)


def test_a_sum_is_judged_by_itself():
    model, data = fitted("LinearSVC", {"tol": 1e-2}, 3)
    values, lowest = honest(model, data)
    parts = [
        forged(c, primal=v * (1 + 1e-13), dual=low * (1 - 1e-13))
        for c, v, low in zip(model.certificate_.parts, values, lowest, strict=True)
    ]
    whole = whole_of(model, parts)
    assert kinds(model, data, whole) == set()
    high = forged(whole, dual=sum(lowest) * (1 + 1e-13))
    short = forged(whole, primal=sum(values) * (1 - 1e-13))
    assert kinds(model, data, high) == {"dual"}
    assert kinds(model, data, short) == {"primal"}


def test_mistakes_are_counted():
    model, data = fitted("Perceptron", {"max_passes": 2, "class_weight": {0: 0.3, 1: 2.0}}, 2)
    X, y, _ = data
    margins = np.where(y == 1, 1, -1) * (X @ model.coef_[0] + model.intercept_[0])
    wrong = Fraction(0)
    for margin, label in zip(margins, y.tolist(), strict=True):
        wrong += Fraction({0: 0.3, 1: 2.0}[label]) if margin <= 0 else 0
    (part,) = parts_of(model, *data)
    ctx.prec = 300
    assert float(part.problem.value(part.point)) == float(wrong)
    short = forged(model.certificate_, primal=float(wrong) * (1 - 1e-13), dual=0.0)
    assert kinds(model, data, short) == {"primal"}
    assert "dual" in kinds(model, data, forged(short, dual=float(wrong) * (1 + 1e-13)))


def test_contradictions_are_caught():
    model, data = fitted("LogisticRegression", {"tol": 1e-6}, 2)
    true = model.certificate_
    fake = dataclasses.replace
    assert "order" in kinds(model, data, fake(true, dual=true.primal * (1 + 1e-9)))
    assert "gap" in kinds(model, data, fake(true, gap=true.gap + 1e-9))
    assert "gap" in kinds(model, data, fake(true, dual=-INF))
    assert "nan" in kinds(model, data, fake(true, dual=float("nan")))
    assert "status" in kinds(model, data, forged_optimal(true))
    model.coef_[0, 0] = float("nan")
    assert "nan" in kinds(model, data, true)


def forged_optimal(certificate: Any) -> Any:
    return dataclasses.replace(forged(certificate, dual=0.9 * certificate.dual), status="optimal")


# --- the judge's objectives, against others in plain fractions --------------------------------


def by_hand(name: str, parameters: dict[str, Any], model: Any, data: tuple[Any, ...]) -> Any:
    """The objective of a model of two classes, term by term."""
    X, y, s = data
    rows = [[Fraction(float(v)) for v in row] for row in X]
    total = sum((Fraction(float(v)) for v in s), Fraction(0))
    factors = parameters.get("class_weight") or {0: 1.0, 1: 1.0}
    own = [Fraction(float(v)) * Fraction(factors[int(c)]) for v, c in zip(s, y, strict=True)]
    C = Fraction(parameters.get("C", 1.0)) if parameters.get("C") != INF else None
    if "lam" in parameters:
        C = 1 / (Fraction(parameters["lam"]) * total)
    if name == "SGDClassifier":
        C = 1 / (Fraction(parameters["alpha"]) * total)
    b = Fraction(float(model.intercept_[0]))
    if name == "SVC":
        kernel = parameters["kernel"]
        pairs = zip(model.support_, model.dual_coef_[0], strict=True)
        c = {int(i): Fraction(float(v)) for i, v in pairs}

        def k(i: int, j: int) -> Fraction:
            if callable(kernel):
                return Fraction(float(kernel(X[[i]], X[[j]])[0, 0]))
            dot = sum(p * q for p, q in zip(rows[i], rows[j], strict=True))
            if kernel == "poly":
                gamma, shift = Fraction(parameters["gamma"]), Fraction(parameters["coef0"])
                return (gamma * dot + shift) ** parameters["degree"]
            return dot

        scores = [sum(c[j] * k(i, j) for j in c) + b for i in range(len(X))]
        penalty = sum(c[i] * c[j] * k(i, j) for i in c for j in c) / 2
    else:
        w = [Fraction(float(v)) for v in model.coef_[0]]
        scores = [sum(p * q for p, q in zip(w, row, strict=True)) + b for row in rows]
        ratio = Fraction(parameters.get("l1_ratio", 0.0))
        ratio = Fraction(1) if parameters.get("penalty", "l2") == "l1" else ratio
        penalty = ratio * sum(map(abs, w)) + (1 - ratio) * sum(v * v for v in w) / 2
        if parameters.get("penalty", "l2") is None:
            penalty = Fraction(0)
    margins = [f if label == 1 else -f for f, label in zip(scores, y, strict=True)]
    if C is None:
        least = min(z for z, v in zip(margins, own, strict=True) if v > 0)
        return mp.mpf((penalty / least**2).numerator) / (penalty / least**2).denominator
    loss = {"LogisticRegression": "log_loss", "SVC": "hinge"}.get(name)
    loss = loss or parameters.get("loss", "squared_hinge")
    terms = mp.mpf(penalty.numerator) / penalty.denominator
    for z, v in zip(margins, own, strict=True):
        u = C * v
        z, u = mp.mpf(z.numerator) / z.denominator, mp.mpf(u.numerator) / u.denominator
        terms += u * {
            "log_loss": lambda z: mp.log(1 + mp.exp(-z)),
            "hinge": lambda z: max(mp.mpf(0), 1 - z),
            "squared_hinge": lambda z: max(mp.mpf(0), 1 - z) ** 2,
            "squared_error": lambda z: (1 - z) ** 2 / 2,
        }[loss](z)
    return terms


PLAIN = [
    (name, parameters)
    for name, parameters, classes in COARSE
    if classes == 2 and parameters.get("class_weight") != "balanced"
    if name != "SVC" or parameters.get("kernel") in ("linear", "poly", minima)
]


@pytest.mark.parametrize(("name", "parameters"), PLAIN, ids=named)
def test_objectives_are_those_of_the_documentation(name, parameters):
    model, data = fitted(name, parameters, 2)
    (part,) = parts_of(model, *data)
    ctx.prec = 300
    value = mp.mpf(part.problem.value(part.point).str(70, radius=False))
    assert abs(value / by_hand(name, parameters, model, data) - 1) < mp.mpf(10) ** -60


def test_softmax_and_radial_kernels_against_plain_floats():
    model, data = fitted("LogisticRegression", {"tol": 1e-2, "C": 2.0}, 3)
    X, y, s = data
    scores = X @ model.coef_.T + model.intercept_
    loss = np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(len(y)), y]
    (part,) = parts_of(model, *data)
    expected = 0.5 * np.sum(model.coef_**2) + 2.0 * s @ loss
    assert float(part.problem.value(part.point)) == pytest.approx(expected, rel=1e-12)

    model, data = fitted("SVC", {"gamma": 0.1}, 3)
    parts = parts_of(model, *data)
    for part, certificate in zip(parts, model.certificate_.parts, strict=True):
        value = float(part.problem.value(part.point))
        # Charged for rounding, by at most a thousandth of the tolerance.
        assert value <= certificate.primal <= value * (1.0 + 1e-9)


# --- the problems -----------------------------------------------------------------------------


def test_a_problem_is_the_same_whatever_comes_with_it():
    many = list(attack(7, problems=12, chunk=12))
    few = list(attack(7, problems=12, chunk=5))
    assert [o.number for o in many] == list(range(12))
    assert [(o.status, o.refusal, o.findings) for o in many] == [
        (o.status, o.refusal, o.findings) for o in few
    ]


@pytest.mark.parametrize("number", range(40))
def test_a_reproduction_is_the_same_fit(number):
    case = case_of(11, number)
    names: dict[str, Any] = {"print": lambda *_: None}
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            model = case.fit()
            exec(case.code(), names)
    except (ValueError, TypeError):
        return
    X, Y = case.X, names["X"]
    assert type(X) is type(Y) and X.dtype == Y.dtype
    if sp.issparse(X):
        assert (X.data == Y.data).all() and (X.indices == Y.indices).all()
    else:
        assert (X == Y).all() and X.strides == Y.strides
    one, other = model.certificate_, names["model"].certificate_
    assert (one.primal, one.dual, one.status) == (other.primal, other.dual, other.status)


def test_every_family_and_every_model_can_be_asked_for():
    for k, family in enumerate(FAMILIES):
        assert family in case_of(0, k, family=family).families
    for k, model in enumerate(MODELS):
        assert case_of(0, k, model=model).model == model


def test_what_reads_like_internals_is_no_refusal(monkeypatch):
    def fails(error: Exception) -> list[tuple[str, float, str]]:
        def fit(self: Any) -> Any:
            raise error

        monkeypatch.setattr(command.Case, "fit", fit)
        return tried(case_of(0, 0)).findings

    assert fails(ZeroDivisionError("float division by zero"))[0][0] == "crash"
    assert fails(ValueError("-inf + inf in fsum"))[0][0] == "crash"
    assert fails(ValueError("operands could not be broadcast together with shapes (3,) (4,)"))
    assert fails(AssertionError())
    assert not fails(ValueError("y has one class only (0); a classifier needs rows of two."))
    assert not fails(TypeError("Newton's method needs a penalty without a kink."))


def test_a_model_that_cannot_be_read_is_not_passed_over(monkeypatch):
    def fit(self: Any) -> Any:
        model = self.build().fit(self.X, self.y)
        del model.coef_
        return model

    monkeypatch.setattr(command.Case, "fit", fit)
    case = case_of(0, 0, model="LogisticRegression", family="ordinary")
    assert [kind for kind, _, _ in tried(case).findings] == ["unreadable"]


def test_the_command_counts_and_shows(capsys, monkeypatch):
    assert command.main(["--problems", "0"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "0 problems, 0 false certificates"

    def fit(self: Any) -> Any:
        raise ZeroDivisionError("float division by zero")

    monkeypatch.setattr(command.Case, "fit", fit)
    assert command.main(["--problems", "2", "--model", "SVC", "--seed", "5"]) == 1
    out = capsys.readouterr().out
    assert "python -m benchmarks.certificates --seed 5 --only 1 --model SVC" in out
    assert "FALSE crash" in out and out.splitlines()[-1] == "2 problems, 2 false certificates"
    assert command.main(["--only", "3"]) == 1
