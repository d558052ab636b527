"""The same call on the same data gives the same bits, for any number of threads or workers."""

from __future__ import annotations

import threading
import warnings
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import is_regressor
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info

import separatrix as sx
from separatrix._compiled import pool
from separatrix.scale import Local, scan
from separatrix.solvers import DualDescent
from separatrix.solvers.driver import watch

pytestmark = pytest.mark.usefixtures("several_blas_threads")

N, D = 5_200, 40
# Their products are shared by threads, and in as many parts as those of five times the rows.
SHARED = pool.Tuning(parallel_work=200_000, part_work=100_000)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, D))
SCORES = X @ RNG.normal(size=D) + 2.0 * RNG.normal(size=N)
Y = (SCORES > 0.0).astype(int)
SPARSE = sp.csr_matrix(np.where(np.abs(X) > 0.3, X, 0.0))
FEW = slice(0, 1500)

CLASSIFIERS: dict[str, Any] = {
    "logistic": partial(sx.LogisticRegression, C=0.1),
    "logistic L1": partial(sx.LogisticRegression, C=0.01, penalty="l1"),
    "squared hinge": partial(sx.LinearSVC, C=0.01),
    "hinge": partial(sx.LinearSVC, C=0.001, loss="hinge"),
    "sgd": partial(sx.SGDClassifier, max_iter=2),
    "perceptron": partial(sx.Perceptron, max_iter=2),
    "discriminant": sx.LinearDiscriminantAnalysis,
}
REGRESSORS: dict[str, Any] = {
    "ridge": sx.Ridge,
    "least squares": sx.LinearRegression,
    "lasso": partial(sx.Lasso, alpha=0.01),
    "lasso cv": partial(sx.LassoCV, alphas=4, cv=3),
    "elastic net cv": partial(sx.ElasticNetCV, alphas=3, cv=3, l1_ratio=[0.5, 0.9]),
    "huber": sx.HuberRegressor,
    "svr": partial(sx.LinearSVR, C=0.001),
    "sgd regression": partial(sx.SGDRegressor, max_iter=2),
}


def bits(model: Any) -> bytes:
    return np.concatenate([np.ravel(model.coef_), np.ravel(model.intercept_)]).tobytes()


def fits(make: Any, *data: Any, threads: Any = (1, 2, 2, 3), **options: Any) -> set[bytes]:
    """What fits give for one thread, twice for two, and for three."""
    found = set()
    with warnings.catch_warnings(), pool.tuned(SHARED):
        warnings.simplefilter("ignore")
        for number in threads:
            with sx.threads(number):
                found.add(bits(make().fit(*data, **options)))
    return found


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers_in_memory_and_in_passes(name: str) -> None:
    make = CLASSIFIERS[name]
    assert len(fits(make, X, Y)) == 1
    if name != "discriminant":
        assert len(fits(make, SPARSE, Y)) == 1
    data = scan(X, Y, block_rows=800)
    two_workers = fits(make, data, threads=(1, 2), engine=Local(workers=2))
    assert len(fits(make, data, threads=(1, 2, 3)) | two_workers) == 1


@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors_in_memory(name: str) -> None:
    assert len(fits(REGRESSORS[name], X, SCORES)) == 1


@pytest.mark.parametrize("shape", [(700, 560), (200, 1040)])
def test_closed_forms_of_many_columns(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=shape)
    scores = x[:, 0] + rng.normal(size=len(x))
    y = (scores > 0.0).astype(int)
    for make in (sx.LinearRegression, partial(sx.Lasso, alpha=0.3)):
        assert len(fits(make, x, scores)) == 1
    discriminant = partial(sx.LinearDiscriminantAnalysis, shrinkage=0.1)
    for make in (discriminant, partial(sx.QuadraticDiscriminantAnalysis, reg_param=0.1)):
        found = set()
        for number in (1, 2, 3):
            with sx.threads(number), pool.tuned(SHARED):
                found.add(make().fit(x, y).decision_function(x[:200]).tobytes())
        assert len(found) == 1


def test_what_the_readme_fits() -> None:
    x, y = load_breast_cancer(return_X_y=True)
    x, new, y, _ = train_test_split(x, y, test_size=0.2, stratify=y, random_state=0)
    found = set()
    for number in (1, 2, 2):
        with sx.threads(number):
            model = make_pipeline(StandardScaler(), sx.LogisticRegression(C=1.0)).fit(x, y)
            proof = str(sx.separability(x, y))
            found.add((bits(model[-1]), model.decision_function(new).tobytes(), proof))
    assert len(found) == 1


def test_sixteen_fits_of_one_scan_have_one_answer() -> None:
    data = scan(X[FEW], Y[FEW], block_rows=300)
    assert len({bits(sx.LogisticRegression().fit(data)) for _ in range(16)}) == 1


def test_what_draws_at_random_draws_the_same_without_a_random_state() -> None:
    x, y = X[FEW], Y[FEW]
    np.random.seed(None)
    for draw in (
        lambda: sx.SVC(approximation="nystroem", n_components=20).fit(x, y).decision_function(x),
        lambda: sx.SVC(approximation="fourier", n_components=20).fit(x, y).decision_function(x),
        lambda: sx.LinearSVC(calibrate="sigmoid").fit(x, y).predict_proba(x),
        lambda: sx.LinearDiscriminantAnalysis().fit(x, y).sample(5)[0],
        lambda: sx.LogisticRegressionCV(Cs=2, cv=2).fit(x, y).coef_,
        lambda: sx.SGDClassifier(max_iter=2).partial_fit(x, y, classes=[0, 1]).coef_,
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.testing.assert_array_equal(draw(), draw())


def test_a_scan_of_arrays_is_the_problem_of_a_fit_in_memory() -> None:
    scales = np.geomspace(0.01, 100.0, D)
    x, y = X[FEW] * scales + scales, Y[FEW]
    for make in (
        partial(sx.LogisticRegression, tol=1e-9),
        partial(sx.LogisticRegression, C=0.01, penalty="l1", tol=1e-9),
        partial(sx.LinearSVC, C=0.01, tol=1e-9),
        partial(sx.LinearSVC, C=0.01, loss="hinge", tol=1e-9),
    ):
        one, other = make().fit(x, y), make().fit(scan(x, y, block_rows=400))
        # Strong convexity: weights of a gap are within its root of the optimum's.
        gaps = one.certificate_.gap + other.certificate_.gap
        assert abs(one.certificate_.primal - other.certificate_.primal) <= gaps
        if one.penalty == "l2":
            assert np.linalg.norm(one.coef_ - other.coef_) <= 2.0 * np.sqrt(2.0 * gaps)
    numbers = scan(x, SCORES[FEW], block_rows=400, quantity=True)
    for closed, data, target in (
        (sx.Ridge, numbers, SCORES[FEW]),
        (sx.LinearRegression, numbers, SCORES[FEW]),
        (sx.LinearDiscriminantAnalysis, scan(x, y, block_rows=400), y),
        (sx.QuadraticDiscriminantAnalysis, scan(x, y, block_rows=400), y),
    ):
        one, other = closed().fit(x, target), closed().fit(data)
        find = one.decision_function if closed.__name__.endswith("Analysis") else one.predict
        there = other.decision_function if closed.__name__.endswith("Analysis") else other.predict
        np.testing.assert_allclose(there(x), find(x), rtol=1e-6, atol=1e-8)
    chosen = [
        sx.LogisticRegressionCV(Cs=[0.01, 1.0], cv=3, tol=1e-9).fit(x, y),
        sx.LogisticRegressionCV(Cs=[0.01, 1.0], cv=3, tol=1e-9).fit(scan(x, y, block_rows=400)),
    ]
    values = [model.certificate_.primal for model in chosen]
    assert abs(values[0] - values[1]) <= sum(model.certificate_.gap for model in chosen)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for steps in (partial(sx.SGDClassifier, max_iter=20), partial(sx.Perceptron, max_iter=20)):
            # The same problem: neither bound is above the other's objective.
            two = [
                steps().fit(x, y).certificate_,
                steps().fit(scan(x, y, block_rows=400)).certificate_,
            ]
            assert all(a.dual <= b.primal for a in two for b in two)
    with pytest.raises(TypeError, match="does not support standardise=True; scale them first"):
        scan(x, y, standardise=True)
    with pytest.raises(TypeError, match="arrays does not take 'test_size', which is for files"):
        scan(x, y, test_size=0.1)


# Without a penalty some of these fits have no optimum.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_to_record_to_print_or_to_watch_changes_no_fit(capsys: pytest.CaptureFixture[str]) -> None:
    x, y = (one[::3] for one in load_iris(return_X_y=True))
    target = x[:, 3] + 0.01 * x[:, 2] ** 2
    x, two = x[:, :3], y < 2
    options: dict[str, list[dict[str, Any]]] = {
        "LogisticRegression": [{}, {"penalty": "l1"}, {"penalty": None}],
        "LinearSVC": [{"loss": "hinge"}, {"loss": "hinge", "C": 0.1}, {"penalty": "l1"}, {}],
        "Perceptron": [{"max_iter": 30}, {"max_iter": 30, "average": True}],
        "SGDClassifier": [
            {"max_iter": 30},
            {"max_iter": 30, "average": False},
            {"max_iter": 30, "penalty": None},
        ],
        "Lasso": [{"alpha": 0.01}, {"alpha": 0.1, "positive": True}],
        "SVC": [{}, {"kernel": "linear"}, {"C": 100.0}],
    }
    tested = set()
    for name in sx.__all__:
        make = getattr(sx, name)
        if not (isinstance(make, type) and hasattr(make, "get_params")):
            continue
        names = make().get_params()
        if "record" not in names:
            continue
        tested.add(name)
        for given in options.get(name, [{}]):
            for rows in (slice(None), two):
                data = (x[rows], target[rows] if is_regressor(make()) else y[rows])
                alone = make(**given).fit(*data)
                with watch(lambda progress: None):
                    found = [make(**given).fit(*data)]
                for more in ({"record": True}, {"verbose": 1}, {"time_limit": 1e6}):
                    if names.keys() >= more.keys():
                        found.append(make(**given, **more).fit(*data))
                for model in found:
                    assert facts(model) == facts(alone), (name, given, model)
                trace = found[1].trace_
                trace = trace[-1] if isinstance(trace, tuple) else trace
                assert trace.iterations == sorted(set(trace.iterations)), name
    assert tested >= {"OneClassSVM", "NuSVC", "NuSVR", "SVR", "ElasticNet", "HuberRegressor"}
    capsys.readouterr()


class Meeting(sx.LinearSVC):
    """Fits whose first two classes wait for each other, and that note the threads of BLAS."""

    def _minimised(self, *args: Any, **options: Any) -> Any:
        if len(self._met) < 2:
            self._met.append(threading.get_ident())
            self._barrier.wait(60)
        before = blas_threads()
        solution = super()._minimised(*args, **options)
        self._blas.update((before, blas_threads()))
        return solution

    def meet(self, x: np.ndarray, y: np.ndarray) -> Any:
        self._met, self._blas, self._barrier = [], set(), threading.Barrier(2)
        return self.fit(x, y)


def blas_threads() -> int:
    return max(lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas")


@pytest.mark.parametrize(
    ("loss", "penalty"), [("hinge", "l2"), ("squared_hinge", "l2"), ("squared_hinge", "l1")]
)
def test_classes_side_by_side_are_the_classes_one_by_one(
    loss: str, penalty: str, capsys: pytest.CaptureFixture[str]
) -> None:
    x, y = load_iris(return_X_y=True)
    x = np.tile(x, (12, 1)) + np.random.default_rng(0).normal(0.0, 0.1, (1800, 4))
    y, given = np.tile(y, 12), {"loss": loss, "penalty": penalty, "C": 0.5}
    own = blas_threads()
    with pool.tuned(pool.Tuning(parallel_work=1.0, part_work=1.0)):
        with sx.threads(1):
            alone = sx.LinearSVC(**given).fit(x, y)
            with pool.alone():
                undivided = sx.LinearSVC(**given).fit(x, y)
        for _ in range(3):
            with sx.threads(2):
                met = Meeting(**given).meet(x, y)
            assert facts(met) == facts(alone)
            assert len(set(met._met)) == 2
            assert met._blas == {1}
        assert blas_threads() == own > 1
        with sx.threads(3), pool.alone():
            assert facts(sx.LinearSVC(**given).fit(x, y)) == facts(undivided)
        with sx.threads(2):
            with watch(lambda progress: None):
                found = [sx.LinearSVC(**given).fit(x, y)]
            for more in ({"record": True}, {"verbose": 1}, {"time_limit": 1e6}):
                found.append(sx.LinearSVC(**given, **more).fit(x, y))
    for model in found:
        assert facts(model) == facts(alone), model
    assert len(found[1].trace_) == 3
    capsys.readouterr()


class Counting(DualDescent):
    """A method that keeps the threads on which it began."""

    def init(self, *args: Any, **options: Any) -> Any:
        vars(self).setdefault("threads", []).append(threading.get_ident())
        return super().init(*args, **options)


def test_a_method_that_the_caller_made_solves_one_problem_at_a_time() -> None:
    solver = Counting()
    with pool.tuned(pool.Tuning(parallel_work=1.0)), sx.threads(2):
        sx.LinearSVC(solver=solver, C=0.01).fit(*load_iris(return_X_y=True))
    assert solver.threads == [threading.get_ident()] * 3


def facts(model: Any) -> Any:
    """All that a fit is, without the time it took and the record of its way."""
    arrays = {
        name: np.asarray(value).tobytes()
        for name, value in vars(model).items()
        if name.endswith("_") and isinstance(value, np.ndarray | np.number | int | float)
    }
    found = model.certificate_
    return arrays, [replace(c, seconds=0.0, parts=()) for c in (found, *found.parts)]
