"""The number of threads: one knob, a default that knows its limits, and the same bits."""

from __future__ import annotations

import functools
import gc
import os
import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from joblib.externals.loky import get_reusable_executor
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_info, threadpool_limits

import separatrix
from cluster import until
from separatrix import (
    LinearDiscriminantAnalysis,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    threads,
)
from separatrix._compiled import pool
from separatrix.solvers.driver import watch

pytestmark = pytest.mark.usefixtures("several_blas_threads")


@pytest.fixture(autouse=True)
def the_default_afterwards():
    yield
    threads(None)


@pytest.fixture
def any_work():
    """Products of any size are split."""
    with pool.tuned(pool.Tuning(parallel_work=0)):
        yield


# --- the knob -------------------------------------------------------------------------------------


def test_the_number_is_set_at_once_and_restored() -> None:
    default = threads()
    assert isinstance(default, int)
    assert default >= 1
    setting = threads(3)
    assert threads() == 3
    assert repr(setting) == "threads(3)"
    with threads(1):
        assert threads() == 1
        with threads(np.int64(5)):
            assert threads() == 5
        assert threads() == 1
    assert threads() == 3
    with pytest.raises(KeyError), threads(2):
        raise KeyError
    assert threads() == 3
    with threads(None):
        assert threads() == default
    assert threads() == 3
    threads(None)
    assert threads() == default


@pytest.mark.parametrize("bad", [0, -1, True, 1.5, "2", np.nan])
def test_what_is_no_number_of_threads(bad) -> None:
    before = threads()
    with pytest.raises(ValueError, match="must be given a whole number of at least 1, or None"):
        threads(bad)
    assert threads() == before


def test_the_knob_is_for_all_threads_of_the_process() -> None:
    threads(3)
    with ThreadPoolExecutor(1) as executor:
        assert executor.submit(threads).result() == 3


# --- the default ----------------------------------------------------------------------------------


def default(monkeypatch, *, cores: int = 8, **environment: str) -> int:
    for name in ("SEPARATRIX_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    # joblib's number: affinity, the container's quota and LOKY_MAX_CPU_COUNT.
    monkeypatch.setattr(joblib, "cpu_count", lambda: cores)
    threads(None)
    return threads()


def test_the_default(monkeypatch) -> None:
    assert default(monkeypatch) == 8
    assert default(monkeypatch, OMP_NUM_THREADS="2") == 2
    assert default(monkeypatch, OMP_NUM_THREADS="20") == 8
    assert default(monkeypatch, OMP_NUM_THREADS="2,1") == 8
    assert default(monkeypatch, SEPARATRIX_THREADS="3", OMP_NUM_THREADS="2") == 3
    assert default(monkeypatch, SEPARATRIX_THREADS=" 20 ") == 20
    assert default(monkeypatch, SEPARATRIX_THREADS="") == 8


@pytest.mark.parametrize("bad", ["two", "0", "-1", "1.5", "2,2", "²"])
def test_a_bad_variable_is_one_sentence(monkeypatch, bad) -> None:
    with pytest.raises(ValueError, match=f"^SEPARATRIX_THREADS='{bad}' must be a whole number of"):
        default(monkeypatch, SEPARATRIX_THREADS=bad)
    with pytest.raises(ValueError, match="SEPARATRIX_THREADS"):
        LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    # What is chosen in the program needs no variable.
    with threads(1):
        LogisticRegression().fit([[0.0], [1.0]], [0, 1])


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity on this system")
def test_the_cores_that_a_process_may_use_count() -> None:
    code = (
        "import os; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])\n"
        "import separatrix; print(separatrix.threads())"
    )
    assert run(code) == "1"


def run(code: str, **environment: str) -> str:
    clean = {k: v for k, v in os.environ.items() if not k.endswith("_THREADS")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=300,
        env={**clean, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# --- the same bits --------------------------------------------------------------------------------


def problem(sparse: bool, n: int = 3000, d: int = 40):
    rng = np.random.default_rng(0)
    X = sp.random_array((n, d), density=0.3, rng=rng, format="csr") if sparse else None
    X = rng.normal(size=(n, d)) if X is None else X
    return X, (X @ rng.normal(size=d) + rng.normal(size=n) > 0).astype(int)


MODELS = [
    LogisticRegression(solver="newton", C=10.0),
    LinearSVC(solver="dual", random_state=0, tol=1e-3),
    LinearSVC(loss="hinge", random_state=0, tol=1e-2),
    LinearDiscriminantAnalysis(),
    LinearRegression(),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_any_number_gives_the_same_bits(any_work, model, sparse) -> None:
    X, y = problem(sparse)
    coefs, scores = [], []
    for number in (1, 2, 2, 3):
        with threads(number):
            fitted = model.fit(X, y)
            coefs.append(fitted.coef_.copy())
            predict = getattr(fitted, "decision_function", fitted.predict)
            scores.append(predict(X))
    for coef, score in zip(coefs, scores, strict=True):
        np.testing.assert_array_equal(coef, coefs[0])
        np.testing.assert_array_equal(score, scores[0])


@pytest.mark.parametrize("number", [1, 2, 3])
def test_bits_do_not_depend_on_who_else_computes(any_work, number) -> None:
    X, y = problem(True)

    def fit(_: int) -> np.ndarray:
        return LogisticRegression(solver="newton").fit(X, y).coef_

    with threads(number):
        alone = fit(0)
        with ThreadPoolExecutor(4) as executor:
            together = list(executor.map(fit, range(8)))
    for coef in together:
        np.testing.assert_array_equal(coef, alone)


def test_the_number_of_parts_is_that_of_the_work() -> None:
    for number in (1, 2, 5):
        with threads(number):
            assert len(pool.ranges(100, 1e12)) == 8
            assert len(pool.ranges(100, 1e6)) == 2
            assert len(pool.ranges(100, 1e12, most=3.5)) == 3
            assert len(pool.ranges(100, 0.0)) == 1
            assert len(pool.ranges(3, 1e12)) == 3


# --- no more cores than that ----------------------------------------------------------------------


@pytest.mark.parametrize("number", [1, 2, 3])
def test_calls_side_by_side_share_the_threads(number) -> None:
    lock, at_once, too_many = threading.Lock(), 0, threading.Event()
    enough = threading.Barrier(4)

    def part() -> None:
        nonlocal at_once
        with lock:
            at_once += 1
            if at_once > max(number, 1):
                too_many.set()
        # Time for another part to come where it must not.
        too_many.wait(0.01)
        with lock:
            at_once -= 1

    def call(_: int) -> None:
        enough.wait(60)
        pool.run([part] * 3)

    with threads(number):
        if number == 1:
            # Each call has its own thread, and that is all.
            pool.run([part] * 3)
        else:
            with ThreadPoolExecutor(4) as executor:
                list(executor.map(call, range(4)))
    assert not too_many.is_set()
    assert at_once == 0


def test_parts_that_have_parts_do_not_wait_for_each_other() -> None:
    done = []

    def outer() -> None:
        pool.run([lambda: done.append(1)] * 3)

    with threads(2):
        pool.run([outer] * 5)
    assert len(done) == 15


def test_a_thread_that_wakes_when_all_is_done_is_not_waited_for() -> None:
    done: list[int] = []
    held = threading.Event()
    with threads(2):
        pool.run([lambda: None, lambda: None])
        (shared,) = (one for size, one in pool._pools.items() if size == 2)
        # Both threads of the pool are kept from helping, and there is a token for this one.
        shared.tokens.put(None)
        for _ in range(2):
            kept = pool._Shares([lambda: held.wait(60.0)], 1)
            shared.call(kept, kept.places[0])
        try:
            pool.run([lambda: done.append(1), lambda: done.append(2)])
        finally:
            held.set()
            shared.tokens.get()
    assert done == [1, 2]


def test_calls_that_nobody_answers_do_not_pile_up() -> None:
    shared = pool._Pool(2)
    # With no token left the threads come no further than their first call.
    shared.tokens.get()
    shared.tokens.get()
    late = [pool._Shares([lambda: None], 1) for _ in range(1000)]
    for shares in late:
        shared.call(shares, shares.places[0])
    waiting = shared._calls.qsize()
    assert waiting <= pool.Tuning().backlog * 2
    for shares in late:
        shares.close()
    shared.tokens.put(None)
    shared.tokens.put(None)
    until(shared._calls.empty)


def test_an_error_of_a_part_holds_nothing_that_the_part_held() -> None:
    class Rows:
        pass

    def part(rows: Rows) -> None:
        time.sleep(0.01)
        raise ZeroDivisionError

    rows = Rows()
    held = weakref.ref(rows)
    gc.disable()
    try:
        with threads(2), pytest.raises(ZeroDivisionError):
            pool.run([functools.partial(part, rows) for _ in range(2)])
        del rows
        until(lambda: held() is None)
    finally:
        gc.enable()


@pytest.mark.parametrize("bad", [0, 1, 2])
def test_an_error_of_a_part_is_raised_when_no_other_is_at_work(bad: int) -> None:
    at_work = [False] * 3

    def part(k: int) -> None:
        at_work[k] = True
        try:
            if k == bad:
                raise ZeroDivisionError
            time.sleep(0.01)
        finally:
            at_work[k] = False

    with threads(2), pytest.raises(ZeroDivisionError):
        pool.run([lambda k=k: part(k) for k in range(3)])  # type: ignore[misc]
    assert at_work == [False] * 3


def test_a_number_that_changes_under_way() -> None:
    done = []

    def change() -> None:
        threads(4)
        pool.run([lambda: done.append(1)] * 4)

    threads(2)
    pool.run([change, lambda: done.append(2)])
    pool.run([lambda: done.append(3)] * 4)
    assert sorted(done) == [1, 1, 1, 1, 2, 3, 3, 3, 3]


IN_JOBLIB = """
import joblib, separatrix

def inner(_):
    return joblib.Parallel(n_jobs=2)(joblib.delayed(separatrix.threads)() for _ in range(2))

nested = joblib.Parallel(n_jobs=2)(joblib.delayed(inner)(k) for k in range(2))
print({n for pair in nested for n in pair} == {max(1, joblib.cpu_count() // 2)})
"""


def test_workers_of_joblib_have_their_share() -> None:
    assert run(IN_JOBLIB) == "True"


def test_workers_of_joblib_find_the_same(monkeypatch) -> None:
    for name in [name for name in os.environ if name.endswith("_THREADS")]:
        monkeypatch.delenv(name)
    X = np.random.default_rng(0).normal(size=(60, 3))
    # One task for both workers: the other one need not load the library.
    split = [(np.arange(40), np.arange(40, 60))]
    options = {"cv": split, "refit": False, "scoring": "neg_log_loss"}
    alone, there = (
        GridSearchCV(LogisticRegression(), {"C": [0.1]}, n_jobs=n_jobs, **options)
        .fit(X, X[:, 0] > 0)
        .cv_results_["mean_test_score"]
        for n_jobs in (1, 2)
    )
    get_reusable_executor().shutdown()
    assert alone == there


def test_the_threads_of_joblib_share_the_knob(any_work) -> None:
    X, y = problem(True, 500)
    with threads(2):
        alone = LogisticRegression(solver="newton").fit(X, y).coef_
        found = joblib.Parallel(n_jobs=3, backend="threading")(
            joblib.delayed(LogisticRegression(solver="newton").fit)(X, y) for _ in range(6)
        )
    for model in found:
        np.testing.assert_array_equal(model.coef_, alone)


# --- BLAS -----------------------------------------------------------------------------------------


def blas_threads() -> int:
    return max(lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas")


def test_blas_keeps_to_the_knob_in_a_fit() -> None:
    X, y = problem(False)
    own, seen = blas_threads(), []
    with threads(1), watch(lambda _: seen.append(blas_threads())):
        LogisticRegression(solver="newton").fit(X, y)
    assert set(seen) == {1}
    assert blas_threads() == own


def test_limits_that_overlap_leave_blas_as_it_was() -> None:
    own = blas_threads()
    one, two = pool.one_blas_thread(), pool.one_blas_thread()
    one.__enter__()
    two.__enter__()
    one.__exit__(None, None, None)
    assert blas_threads() == 1
    two.__exit__(None, None, None)
    assert blas_threads() == own


def test_any_thread_may_set_the_limit_of_blas_and_any_restore_it() -> None:
    own, seen = blas_threads(), []
    entered, left = threading.Event(), threading.Event()

    def enter_first() -> None:
        with pool.one_blas_thread():
            seen.append(blas_threads())
            entered.set()
            left.wait(200)

    for first_to_leave in ("here", "there"):
        entered.clear()
        left.clear()
        other = threading.Thread(target=enter_first)
        # Within its own limits threadpoolctl does what this thread says, and no other.
        with threadpool_limits(own, user_api="blas"):
            other.start()
            entered.wait(200)
            with pool.one_blas_thread():
                seen.append(blas_threads())
                if first_to_leave == "there":
                    left.set()
                    other.join()
                    seen.append(blas_threads())
            if first_to_leave == "here":
                seen.append(blas_threads())
                left.set()
                other.join()
            assert blas_threads() == own
    assert own > 1
    assert seen == [1] * 6


def test_of_two_limits_the_lower_counts() -> None:
    own = blas_threads()
    with pool._blas().limited(own + 3):
        assert blas_threads() == own
        with pool.one_blas_thread():
            assert blas_threads() == 1
        assert blas_threads() == own
    assert blas_threads() == own


FORK = """
import multiprocessing as mp, threading
import numpy, separatrix
from separatrix._compiled import pool
from threadpoolctl import threadpool_info

def blas():
    return max(lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas")

def child(own):
    done = []
    pool.run([lambda: done.append(1)] * 3)
    return separatrix.threads(), len(done), blas() == own

if __name__ == "__main__":
    separatrix.threads(3)
    own = blas()
    inside, leave = threading.Event(), threading.Event()

    def hold():
        with pool.one_blas_thread():
            inside.set()
            leave.wait(200)

    def part():
        inside.wait(200)

    # While parts run and BLAS is limited, in threads that the child does not have.
    holder = threading.Thread(target=hold)
    holder.start()
    inside.wait(200)
    pool.run([part] * 3)
    with mp.get_context("fork").Pool(1) as executor:
        print(*executor.apply_async(child, (own,)).get(timeout=200))
    leave.set()
    holder.join()
    print(blas() == own)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_child_process_starts_afresh() -> None:
    assert run("import warnings; warnings.simplefilter('ignore')\n" + FORK).split("\n") == [
        "3 3 True",
        "True",
    ]


def test_the_knob_loads_nothing_heavy() -> None:
    code = (
        "import sys, separatrix; separatrix.threads(2)\n"
        "print([m for m in ('numpy', 'numba', 'sklearn', 'joblib') if m in sys.modules])"
    )
    assert run(code) == "[]"


def test_it_is_public() -> None:
    assert separatrix.threads is threads
