"""Stochastic gradients, and the steps of the best length where their rates are too slow."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix import LinearSVC, SGDClassifier, threads
from separatrix.losses import LogLoss
from separatrix.schedules import Power
from separatrix.solvers import dual_descent


def words(n: int = 300, d: int = 1500, length: int = 30, seed: int = 0):
    """Rows of unit length with few entries, as of rare and of frequent words; separable."""
    rng = np.random.default_rng(seed)
    frequency = 1.0 / (np.arange(d) + 20.0)
    columns = rng.choice(d, size=n * length, p=frequency / frequency.sum())
    ends = np.arange(0, n * length + 1, length)
    X = sp.csr_matrix((np.ones(n * length), columns, ends), shape=(n, d))
    X.sum_duplicates()
    X.data /= np.repeat(np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel()), np.diff(X.indptr))
    w = rng.normal(size=d) * (rng.random(d) < 0.3)
    return X, np.where(X @ w + 0.05 * rng.normal(size=n) > 0, "pos", "neg")


def objective(model, X, y, alpha: float) -> float:
    z = np.where(y == model.classes_[1], 1.0, -1.0) * model.decision_function(X)
    return float(np.maximum(0.0, 1.0 - z).mean() + 0.5 * alpha * (model.coef_**2).sum())


@pytest.mark.parametrize("alpha", [1e-5, 1e-7])
def test_a_tiny_penalty_is_certified_all_the_same(alpha: float) -> None:
    X, y = words()
    model = SGDClassifier(alpha=alpha, max_iter=300, random_state=0).fit(X, y)
    assert model.certificate_.status == "optimal", str(model.certificate_)
    assert 0 < model.finish_passes_[0] < model.n_iter_ <= 300
    best = objective(LinearSVC(loss="hinge", lam=alpha, tol=1e-6).fit(X, y), X, y, alpha)
    assert best * (1.0 - 1e-6) <= objective(model, X, y, alpha) <= best * (1.0 + 1.1e-3)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_without_it_the_steps_are_the_schedules_own() -> None:
    X, y = words()
    given = {"alpha": 1e-6, "max_iter": 120, "random_state": 0}
    plain = SGDClassifier(finish=None, **given).fit(X, y)
    finished = SGDClassifier(**given).fit(X, y)
    assert plain.finish_passes_.tolist() == [0]
    assert plain.n_steps_.tolist() == [120 * 300]
    # The steps before the finish are those of the schedule, and only they are counted.
    assert finished.n_steps_.tolist() == [(finished.n_iter_ - finished.finish_passes_[0]) * 300]
    assert plain.certificate_.primal > finished.certificate_.primal


@pytest.mark.parametrize("loss", ["hinge", "log_loss", "squared_hinge", LogLoss()])
def test_rates_that_get_there_are_left_alone(loss) -> None:
    X, y = words()
    given = {"alpha": 0.01, "tol": 0.01, "random_state": 0}
    models = [SGDClassifier(loss, finish=f, **given).fit(X, y) for f in ("dual", None)]
    assert models[0].certificate_.status == "optimal"
    assert models[0].finish_passes_.tolist() == [0]
    for name in ("coef_", "intercept_", "plain_coef_"):
        assert np.array_equal(getattr(models[0], name), getattr(models[1], name))


@pytest.mark.parametrize("number", [1, 2])
def test_one_seed_gives_one_answer(monkeypatch, number: int) -> None:
    # So that even these few rows employ all threads there are.
    monkeypatch.setattr(dual_descent, "_THREAD_WORK", 1)
    monkeypatch.setattr(dual_descent, "_THREAD_SHARE", 0)
    X, y = words(100)
    with threads(number):
        first, second = (SGDClassifier(alpha=1e-5, random_state=3).fit(X, y) for _ in range(2))
    assert first.finish_passes_[0] > 0
    assert np.array_equal(first.coef_, second.coef_)
    assert np.array_equal(first.intercept_, second.intercept_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_what_has_no_such_step_has_no_finish() -> None:
    X, y = words(d=900)
    assert SGDClassifier(alpha=1e-7, random_state=0).fit(X, y).finish_passes_.tolist() == [0]
    X, y = words()
    rates = Power(1.0, kappa=0.75)
    common = {"learning_rate": rates, "max_iter": 100, "random_state": 0}
    for model in (
        SGDClassifier(penalty=None, **common),
        SGDClassifier(alpha=1e-7, early_stopping=True, **common),
    ):
        assert model.fit(X, y).finish_passes_.tolist() == [0]


def test_several_classes_and_later_calls_go_on_from_the_finish() -> None:
    X, y = words()
    y = np.where(np.arange(len(y)) % 3 == 0, "other", y)
    model = SGDClassifier(alpha=1e-6, random_state=0).fit(X, y)
    assert model.certificate_.status == "optimal"
    assert model.finish_passes_.shape == (3,)
    finished = model.finish_passes_ > 0
    assert finished.any()
    assert np.array_equal(model.plain_coef_[finished], model.coef_[finished])
    model.partial_fit(X, y)
    assert model.finish_passes_.tolist() == [0, 0, 0]


def test_a_trace_sees_both_kinds_of_steps() -> None:
    X, y = words()
    model = SGDClassifier(alpha=1e-6, random_state=0, record=True).fit(X, y)
    assert model.certificate_.status == "optimal"
    assert model.trace_.iterations[-1] == model.n_iter_
    assert model.finish_passes_[0] > 0


def test_a_name_that_there_is_not_is_refused() -> None:
    X, y = words()
    with pytest.raises(ValueError, match="finish"):
        SGDClassifier(finish="primal").fit(X, y)
