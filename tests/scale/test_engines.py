"""Engines: results in the order of the blocks, the same bits for any number of workers."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace

import numpy as np
import pytest

import engine_tasks
from separatrix.exceptions import DataError
from separatrix.scale import Local, dask_engine, scan
from separatrix.scale.sums import summed

RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 3)) * 10.0 ** RNG.integers(-8, 8, size=(240, 1))
NUMBERED = np.repeat(np.arange(24.0), 10)[:, None]
Y = np.arange(240) % 2


def mapped(engine, task, data, shared=None, each=None):
    return list(engine.map(task, engine.place(data.blocks), shared, each))


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_results_come_in_the_order_of_the_blocks(workers):
    data = scan(NUMBERED, Y, block_rows=10)
    assert mapped(Local(workers), engine_tasks.late_first, data) == list(range(24))


def test_sums_have_the_same_bits_for_any_number_of_workers():
    data = scan(X, Y, block_rows=7)
    each = list(RNG.uniform(size=len(data.blocks)))
    found = []
    for workers in (1, 2, 3):
        engine = Local(workers)
        results = engine.map(engine_tasks.moments, engine.place(data.blocks), 0.1, each)
        found.append(engine.reduce(results))
    for name in ("sum", "squares"):
        assert len({one[name].tobytes() for one in found}) == 1
    # Digits that are lost in float64 are there: the exact sums, rounded.
    exact = summed(
        engine_tasks.moments(b.load(), 0.1, e) for b, e in zip(data.blocks, each, strict=True)
    )
    np.testing.assert_array_equal(found[0]["sum"], exact["sum"])


def test_a_sum_is_rounded_once():
    parts = [{"x": np.array(v)} for v in (1.0, 1e100, 1.0, -1e100)]
    assert float(summed(parts)["x"]) == 2.0
    assert float(summed([{"x": np.array(v)} for v in (1.0, np.inf, 1.0)])["x"]) == np.inf


@pytest.mark.parametrize("workers", [1, 2])
def test_the_first_block_that_fails_is_told_of(workers):
    data = scan(NUMBERED, Y, block_rows=10)
    with pytest.raises(DataError, match="begins with 5 cannot"):
        mapped(Local(workers), engine_tasks.refuse, data, 5.0)


def test_no_more_is_under_way_than_can_be_held():
    data, begun = scan(NUMBERED, Y, block_rows=10), []

    def begin(rows, shared, own):
        begun.append(float(rows.matrix[0, 0]))

    results = Local(2).map(begin, data.blocks, None)
    for done in range(1, 25):
        next(results)
        assert len(begun) <= done + 3
    assert len(begun) == 24
    # Whoever stops early stops all of them.
    begun.clear()
    results = Local(2).map(begin, data.blocks, None)
    next(results)
    results.close()
    assert len(begun) <= 4
    assert not any(t.name.startswith("separatrix-block") for t in threading.enumerate())


def test_every_block_is_worked_on_by_one_thread():
    data = scan(NUMBERED, Y, block_rows=10)
    assert {parts for parts, _ in mapped(Local(2), engine_tasks.threads_of, data)} == {1}


@pytest.mark.parametrize("state", ["lost", "finished"])
def test_results_that_are_lost_on_their_way_are_fetched_again(monkeypatch, state):
    """Also where the scheduler had them computed anew before anybody looked."""
    monkeypatch.setattr(dask_engine, "_LOOK", 0.01)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    future = SimpleNamespace(status="finished")
    seen = []

    async def gather(futures, direct, asynchronous):
        assert asynchronous
        seen.append(direct)
        if len(seen) == 1:
            # The worker has died, and its answer never comes.
            future.status = state
            await asyncio.Event().wait()
        future.status = "pending"
        await asyncio.sleep(0.1)
        future.status = "finished"
        return [7 for _ in futures]

    client = SimpleNamespace(
        gather=gather, status="running", loop=SimpleNamespace(asyncio_loop=loop)
    )
    try:
        assert dask_engine.fetched(client, [future], True) == [7]
        # What is computed is waited for, however long it takes.
        assert seen == [True, True]
        client.status, seen[:] = "closed", []
        with pytest.raises(ConnectionError, match="has ended"):
            dask_engine.fetched(client, [future], True)
    finally:
        # What was cancelled ends before the loop does.
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0.05), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
