"""Models across threads, processes and refits."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix import LinearSVC, LogisticRegression, Perceptron

MODELS = [
    LogisticRegression(record=True),
    LinearSVC(loss="hinge", random_state=0),
    LinearSVC(loss="hinge", solver="dual", random_state=0),
    LogisticRegression(solver="newton", multiclass="ovr"),
]
each_model = pytest.mark.parametrize("model", MODELS, ids=repr)


def data(classes: int = 3, n: int = 200):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    return X, (X @ rng.normal(size=(5, classes)) + rng.normal(size=(n, classes))).argmax(axis=1)


@each_model
def test_a_fitted_model_pickles_and_copies(model) -> None:
    X, y = data()
    model.fit(X, y)
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(again.coef_, model.coef_)
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        assert again.certificate_ == model.certificate_
        assert again.get_params().keys() == model.get_params().keys()


@each_model
def test_fits_side_by_side_in_threads(model) -> None:
    X, y = data()
    expected = copy.deepcopy(model).fit(X, y).coef_
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: copy.deepcopy(model).fit(X, y).coef_, range(8)))
    for coef in found:
        np.testing.assert_array_equal(coef, expected)


def test_a_second_fit_forgets_the_first() -> None:
    X, y = data(3)
    model = LogisticRegression(record=True).fit(X, y)
    model.set_params(record=False, multiclass="ovr").fit(X[:, :2], y == 1)
    assert not hasattr(model, "trace_")
    assert model.coef_.shape == (1, 2)
    assert model.n_features_in_ == 2
    assert model.classes_.tolist() == [False, True]
    assert model.certificate_.parts == ()
    perceptron = Perceptron(record=True).fit(X, X[:, 0] > 0)
    perceptron.set_params(record=False).fit(X[:50], X[:50, 1] > 0)
    assert not hasattr(perceptron, "trace_")
    assert perceptron.mistakes_.shape == (50,)


def test_a_second_fit_is_the_same_as_a_first() -> None:
    X, y = data()
    for model in MODELS:
        once = copy.deepcopy(model).fit(X, y)
        twice = copy.deepcopy(once).fit(X, y)
        np.testing.assert_array_equal(once.coef_, twice.coef_)
        assert np.array_equal(once.n_iter_, twice.n_iter_)


def test_a_random_state_object_moves_on() -> None:
    X, y = data()
    state = np.random.RandomState(0)
    model = LinearSVC(loss="hinge", solver="dual", random_state=state)
    first = model.fit(X, y).coef_
    assert not np.array_equal(model.fit(X, y).coef_, first)


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


FORK = """
import multiprocessing as mp
import numpy as np, scipy.sparse as sp
from separatrix import LogisticRegression
from separatrix._compiled import pool
of_any_size = pool.tuned(pool.Tuning(parallel_work=0))
of_any_size.__enter__()
X = sp.random_array((300, 20), density=0.3, rng=np.random.default_rng(0), format="csr")
y = (X[:, [0]].toarray()[:, 0] > 0.2).astype(int)
def fit(_):
    return LogisticRegression(solver="newton").fit(X, y).certificate_.ok
assert fit(0)
assert pool._pools or pool.n_threads() == 1
# The parent's threads do not survive the fork; the child must start its own.
with mp.get_context("fork").Pool(1) as pool:
    print(pool.apply_async(fit, (0,)).get(timeout=200))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_fork_after_threads_were_used() -> None:
    assert run(FORK).strip() == "True"


def test_sparse_input_of_both_index_widths_is_one_answer() -> None:
    X, y = data()
    X = sp.csr_array(X)
    wide = X.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    for model in MODELS:
        one = copy.deepcopy(model).fit(X, y)
        two = copy.deepcopy(model).fit(wide, y)
        np.testing.assert_array_equal(one.coef_, two.coef_)
