"""One answer: weights are copies, storage and order do not matter."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix import LinearSVC, LogisticRegression

MODELS = {
    "binary": (LogisticRegression(), 2),
    "multinomial": (LogisticRegression(), 3),
    "ovr": (LogisticRegression(multiclass="ovr"), 3),
    "hinge": (LinearSVC(loss="hinge"), 2),
    "squared hinge": (LinearSVC(), 3),
    "hinge dual": (LinearSVC(loss="hinge", solver="dual", random_state=0), 3),
    "no penalty": (LogisticRegression(penalty=None), 3),
    "balanced": (LogisticRegression(class_weight="balanced"), 3),
    "hinge balanced": (LinearSVC(loss="hinge", class_weight="balanced"), 3),
    "by class": (LogisticRegression(class_weight={0: 2.0, 1: 0.5}), 2),
    "l1": (LogisticRegression(l1_ratio=1.0), 2),
    "elastic net": (LogisticRegression(penalty="elasticnet", l1_ratio=0.5), 3),
    "squared hinge l1": (LinearSVC(penalty="l1"), 3),
    "lam": (LogisticRegression(lam=0.01), 3),
}
TOL = 1e-9


def make(name: str, **more):
    model, classes = MODELS[name]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4)) * (rng.random((90, 4)) < 0.8)
    X = X.astype(np.float32).astype(np.float64)
    y = (X @ rng.normal(size=(4, classes)) + 2 * rng.normal(size=(90, classes))).argmax(axis=1)
    # The last rows show every class, so that removing others never removes one.
    y[-classes:] = np.arange(classes)
    model = type(model)(**{**model.get_params(), "tol": TOL, "max_iter": 100_000, **more})
    return model, X, y


@functools.cache
def fitted(name: str):
    """A model fitted to its data, which no test changes."""
    model, X, y = make(name)
    return model.fit(X, y)


def same(one, other, rtol: float = 2 * TOL) -> None:
    """Check that both are certified, with one objective and, where it allows, the same weights."""
    assert one.certificate_.ok, str(one.certificate_)
    assert other.certificate_.ok, str(other.certificate_)
    assert one.certificate_.primal == pytest.approx(other.certificate_.primal, rel=rtol)
    # |w - w*|^2 <= 2 gap for a strongly convex penalty.
    if "penalty" not in one.get_params() or one.penalty is not None:
        apart = np.sum((one.coef_ - other.coef_) ** 2)
        assert apart <= 16 * rtol * one.certificate_.primal


@pytest.mark.parametrize("name", MODELS)
def test_a_weight_of_k_is_k_copies(name: str) -> None:
    model, X, y = make(name)
    weights = np.random.default_rng(1).integers(0, 4, size=len(y))
    weights[-3:] = 1
    copied = make(name)[0].fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    same(model.fit(X, y, sample_weight=weights), copied)


@pytest.mark.parametrize("name", MODELS)
def test_a_weight_of_zero_is_removal(name: str) -> None:
    model, X, y = make(name)
    weights = np.ones(len(y))
    weights[:40:2] = 0.0
    wild = X.copy()
    wild[weights == 0.0] = 1e3
    removed = make(name)[0].fit(X[weights > 0], y[weights > 0])
    same(model.fit(wild, y, sample_weight=weights), removed)


@pytest.mark.parametrize(
    "name",
    ["multinomial", "ovr", "squared hinge", "balanced", "lam", "hinge balanced", "no penalty"],
)
@pytest.mark.parametrize("extra", [1, 2])
def test_a_class_of_weight_zero_is_removed(name: str, extra: int) -> None:
    # All rows of some classes have weight 0: the optimum is that of the others.
    model, X, y = make(name)
    more = np.random.default_rng(2).normal(size=(10 * extra, 4))
    labels = np.concatenate([y, 3 + np.arange(10 * extra) % extra])
    weights = np.concatenate([np.ones(len(y)), np.zeros(10 * extra)])
    removed = make(name)[0].fit(X, y)
    model.fit(np.vstack([X, more]), labels, sample_weight=weights)
    assert model.certificate_.ok, str(model.certificate_)
    assert model.certificate_.primal == pytest.approx(removed.certificate_.primal, rel=2 * TOL)
    np.testing.assert_array_equal(model.predict(X), removed.predict(X))


@pytest.mark.parametrize("name", MODELS)
def test_dense_equals_csr(name: str) -> None:
    model, X, y = make(name)
    same(fitted(name), model.fit(sp.csr_array(X), y))


@pytest.mark.parametrize("name", MODELS)
def test_float32_within_the_certificate(name: str) -> None:
    model, X, y = make(name)
    same(fitted(name), model.fit(X.astype(np.float32), y))


@pytest.mark.parametrize("name", MODELS)
def test_permuted_rows(name: str) -> None:
    model, X, y = make(name)
    order = np.random.default_rng(3).permutation(len(y))
    same(fitted(name), model.fit(X[order], y[order]))


@pytest.mark.parametrize("name", MODELS)
def test_permuted_columns(name: str) -> None:
    model, X, y = make(name)
    order = np.array([2, 0, 3, 1])
    one, other = fitted(name), model.fit(X[:, order], y)
    other.coef_ = other.coef_[:, np.argsort(order)]
    same(one, other)


@pytest.mark.parametrize("name", [n for n in MODELS if n != "lam" and n != "no penalty"])
def test_duplicated_data_with_half_of_C(name: str) -> None:
    twice, X, y = make(name, C=0.5)
    twice.fit(np.vstack([X, X]), np.concatenate([y, y]))
    same(fitted(name), twice)


def test_duplicated_data_with_the_same_lam() -> None:
    model, X, y = make("lam")
    twice = make("lam")[0].fit(np.vstack([X, X]), np.concatenate([y, y]))
    np.testing.assert_allclose(model.fit(X, y).coef_, twice.coef_, atol=1e-4)


@pytest.mark.parametrize("name", MODELS)
def test_the_same_seed_gives_the_same_bits(name: str) -> None:
    one, X, y = make(name, random_state=7)
    other = make(name, random_state=7)[0]
    one.fit(X, y)
    other.fit(X, y)
    assert np.array_equal(one.coef_, other.coef_)
    assert np.array_equal(one.intercept_, other.intercept_)
    assert np.array_equal(one.n_iter_, other.n_iter_)


@pytest.mark.parametrize("name", MODELS)
def test_the_data_are_left_as_they_were(name: str) -> None:
    model, X, y = make(name)
    before = X.copy()
    X.flags.writeable = y.flags.writeable = False
    model.fit(X, y)
    model.predict(X)
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("name", MODELS)
def test_swapped_labels_swap_the_sign(name: str) -> None:
    model, X, y = make(name)
    classes = MODELS[name][1]
    if name == "by class":
        model.set_params(class_weight={1: 2.0, 0: 0.5})
    one, flipped = fitted(name), model.fit(X, classes - 1 - y)
    assert one.certificate_.primal == pytest.approx(flipped.certificate_.primal, rel=2 * TOL)
    if classes == 2:
        np.testing.assert_allclose(one.coef_, -flipped.coef_, atol=1e-4)


def test_two_classes_multinomial_and_ovr_are_one_problem() -> None:
    _, X, y = make("binary")
    one, other = (LogisticRegression(multiclass=m).fit(X, y) for m in ("multinomial", "ovr"))
    assert np.array_equal(one.coef_, other.coef_)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVC])
def test_lam_is_C_in_another_form(kind, weighted: bool) -> None:
    _, X, y = make("binary")
    weights = np.random.default_rng(4).choice([0.0, 0.5, 2.0], size=len(y)) if weighted else None
    total = len(y) if weights is None else weights.sum()
    lam = 0.03
    one = kind(lam=lam).fit(X, y, sample_weight=weights)
    other = kind(C=1 / (lam * total)).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-9)
    # And the sum of the weights, not class_weight, is the n of the formula.
    balanced = kind(lam=lam, class_weight="balanced").fit(X, y, sample_weight=weights)
    other = kind(C=1 / (lam * total), class_weight="balanced").fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(balanced.coef_, other.coef_, rtol=1e-9)


def test_lam_is_the_objective_per_row() -> None:
    _, X, y = make("binary")
    lam = 0.05
    model = LogisticRegression(lam=lam, tol=1e-12).fit(X, y)
    w, b = model.coef_[0], model.intercept_[0]

    def per_row(w, b):
        z = (2 * y - 1) * (X @ w + b)
        return np.mean(np.log1p(np.exp(-z))) + lam / 2 * w @ w

    rng = np.random.default_rng(5)
    best = per_row(w, b)
    for _ in range(50):
        assert per_row(w + 1e-3 * rng.normal(size=4), b + 1e-3 * rng.normal()) > best


def test_C_of_infinity_is_no_penalty() -> None:
    _, X, y = make("binary")
    one = LogisticRegression(C=np.inf).fit(X, y)
    two = LogisticRegression(penalty=None).fit(X, y)
    three = LogisticRegression(lam=0).fit(X, y)
    assert np.array_equal(one.coef_, two.coef_)
    assert np.array_equal(one.coef_, three.coef_)
    assert "|w|" not in one.objective_formula_
