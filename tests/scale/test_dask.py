"""Dask: a real cluster on this machine, whose workers are killed, gives the bits of one process."""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

import engine_tasks
from separatrix import LinearSVC, LogisticRegression
from separatrix.exceptions import DataError
from separatrix.scale import Dask, Local, dask_engine, scan
from separatrix.scale.passes import watch_passes

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

X, Y = load_breast_cancer(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
DATA = scan(X, Y, block_rows=20)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    options = {
        "n_workers": 1,
        "threads_per_worker": 1,
        "processes": True,
        "host": "127.0.0.1",
        "dashboard_address": "127.0.0.1:0",
        "silence_logs": logging.CRITICAL,
    }
    # A task whose worker died is given back at once, as otherwise after three more of them.
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(**options) as cluster,
    ):
        yield cluster


@pytest.fixture(scope="module")
def client(cluster: Any) -> Iterator[Any]:
    with distributed.Client(cluster, set_as_default=False) as client:
        yield client


def workers(cluster: Any, client: Any, n: int) -> None:
    """As many workers as a number, at least."""
    if len(client.nthreads()) < n:
        cluster.scale(n)
        client.wait_for_workers(n, timeout=60)


def fitted(engine: Any, model: Any = None, **options: Any) -> Any:
    model = LogisticRegression(C=10.0, random_state=0) if model is None else model
    return model.fit(DATA, engine=engine, **options)


def bits(model: Any) -> tuple[bytes, bytes, float]:
    return model.coef_.tobytes(), model.intercept_.tobytes(), model.certificate_.dual


def kill_one(client: Any) -> int:
    """End a worker as if its machine had lost power."""
    pid = min(client.run(os.getpid).values())
    os.kill(pid, signal.SIGKILL)
    return int(pid)


# The tests run in this order: the cluster grows.


@pytest.mark.parametrize("n", [1, 2, 3])
def test_any_number_of_workers_gives_the_bits_of_one_process(cluster, client, n):
    workers(cluster, client, n)
    engine = Dask(client)
    assert bits(fitted(engine)) == bits(fitted(Local(2)))
    svm = LinearSVC(C=0.1, random_state=0)
    assert bits(fitted(engine, svm)) == bits(fitted(Local(1), svm))
    # All of them worked, on each block with one thread.
    seen = list(engine.map(engine_tasks.threads_of, engine.place(DATA.blocks), None))
    assert {parts for parts, _ in seen} == {1}
    assert len({pid for _, pid in seen}) == n


def test_rows_are_sent_once(client):
    engine = Dask(client)
    first = engine.place(DATA.blocks)
    again = engine.place(DATA.blocks)
    assert all(a.future is b.future is not None for a, b in zip(first, again, strict=True))


def test_what_is_large_goes_to_the_workers_by_itself(client):
    engine, rng = Dask(client), np.random.default_rng(0)
    shared, each = rng.normal(size=200_000), [rng.normal(size=70_000) for _ in DATA.blocks]
    placed = engine.place(DATA.blocks)
    found = list(engine.map(engine_tasks.length_of, placed, shared, each))
    assert found == [float(shared.sum() + own.sum()) for own in each]


def test_a_worker_that_dies_in_the_middle_of_a_pass_changes_no_bit(cluster, client):
    workers(cluster, client, 3)
    data = scan(X, Y, block_rows=10)
    engine = Dask(client)
    placed = engine.place(data.blocks)
    before = {one.future.key for one in placed}
    results = engine.map(engine_tasks.slow_moments, placed, 0.1)
    some = [next(results)]
    pid = kill_one(client)
    found = engine.reduce(iter([*some, *results]))
    one_by_one = Local(1)
    expected = one_by_one.reduce(one_by_one.map(engine_tasks.moments, data.blocks, 0.1))
    assert {name: x.tobytes() for name, x in found.items()} == {
        name: x.tobytes() for name, x in expected.items()
    }
    # What lay with it was sent again, and nothing else.
    lost = before - {one.future.key for one in placed}
    assert 0 < len(lost) < len(before)
    assert pid not in client.run(os.getpid).values()


def test_a_fit_during_which_a_worker_dies_has_the_same_bits(cluster, client):
    workers(cluster, client, 2)
    struck: list[int] = []

    def strike(progress: Any) -> None:
        if progress.number == 2 and not struck:
            struck.append(kill_one(client))

    with watch_passes(strike):
        model = fitted(Dask(client))
    assert struck
    assert bits(model) == bits(fitted(Local(2)))


def test_a_block_that_no_worker_survives_is_said_to_be_one(cluster, client):
    workers(cluster, client, 2)
    data = scan(X[:60], Y[:60], block_rows=60)
    engine = Dask(client)
    with pytest.raises(ConnectionError, match="die again and again over rows 1 to 60"):
        list(engine.map(engine_tasks.die, engine.place(data.blocks), None))


def test_the_error_of_a_block_is_that_of_one_process(cluster, client):
    workers(cluster, client, 2)
    numbered = np.repeat(np.arange(24.0), 10)[:, None]
    data = scan(numbered, np.arange(240) % 2, block_rows=10)
    said = []
    for engine in (Local(2), Dask(client)):
        with pytest.raises(DataError) as told:
            list(engine.map(engine_tasks.refuse, engine.place(data.blocks), 5.0))
        said.append(str(told.value))
    assert said[0] == said[1] == "the row that begins with 5 cannot be used"


def test_whoever_stops_early_cancels_what_is_under_way(client):
    engine = Dask(client)
    results = engine.map(engine_tasks.slow_moments, engine.place(DATA.blocks), 0.1)
    next(results)
    results.close()

    def left(dask_scheduler: Any) -> int:
        return sum(key.startswith("separatrix-") for key in dask_scheduler.tasks)

    for _ in range(100):
        if not client.run_on_scheduler(left):
            break
        time.sleep(0.05)
    assert client.run_on_scheduler(left) == 0


def test_ctrl_c_keeps_the_best_point_and_a_checkpoint_goes_on(client, tmp_path):
    path, engine = tmp_path / "fit.checkpoint", Dask(client)

    def press(progress: Any) -> None:
        if progress.number == 3 and progress.rows > 200:
            os.kill(os.getpid(), signal.SIGINT)

    model = LogisticRegression(C=100.0, random_state=0)
    with watch_passes(press), pytest.raises(KeyboardInterrupt):
        fitted(engine, model, checkpoint=path)
    assert model.certificate_.status == "interrupted"
    counted: list[Any] = []
    with watch_passes(counted.append):
        fitted(engine, model, checkpoint=path)
    assert counted[0].number == 3
    assert model.certificate_.ok


def test_what_is_no_cluster_is_said_to_be_none(monkeypatch):
    monkeypatch.setattr(dask_engine, "_ANSWER", 0.3)
    with pytest.raises(TypeError, match="address of a scheduler"):
        Dask(8786)
    with pytest.raises(ConnectionError, match="no Dask scheduler answers at tcp://127.0.0.1:9"):
        Dask("tcp://127.0.0.1:9")


def test_an_address_is_enough(cluster):
    with Dask(cluster.scheduler_address) as engine:
        assert repr(engine) == f"Dask({cluster.scheduler_address!r})"
        assert len(list(engine.map(engine_tasks.threads_of, engine.place(DATA.blocks), None))) == 29


def test_without_distributed_the_sentence_is_a_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r'pip install "separatrix\[dask\]"$'):
        Dask("tcp://127.0.0.1:8786")
