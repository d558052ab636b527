"""The constants of the cost model, each measured in a process of its own."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks.scale import own
from separatrix.scale import Local

# The numbers of blocks and of floats of the timed sums.
SUMS = ((8, 1), (128, 1), (8, 100_000), (32, 100_000), (8, 1_000_000))


def reading(files: str, target: str, memory: str) -> dict[str, Any]:
    """CPU seconds to read, decode and encode everything, on one thread: the least of several."""
    import separatrix

    options = {"standardise": target == "click"}
    with tempfile.TemporaryDirectory(prefix="separatrix-scale-") as folder, separatrix.threads(1):
        seconds = []
        for k in range(4):
            start = time.process_time()
            data = own.scanned(files, target, memory, f"{folder}/{k}", **options)
            seconds.append(time.process_time() - start)
        # In the first scan loops are compiled, and the system does not have the files in memory.
        return {"seconds": min(seconds[1:]), "rows": data.n_rows, "bytes": own.stored_bytes(data)}


def wide(rows: Any, shared: int, own: Any) -> dict[str, np.ndarray]:
    """A sum of ``shared`` floats, at next to no cost; zeros would not be sent."""
    return {"sum": np.ones(shared)}


def sums(engine_name: str, workers: int, repeats: int = 6) -> dict[str, Any]:
    """CPU seconds to add up what blocks send, for each size of `SUMS`."""
    from separatrix.scale import scan

    most = max(blocks for blocks, _ in SUMS)
    data = scan(np.eye(2)[np.arange(2 * most) % 2], np.arange(2 * most) % 2, block_rows=2)
    points = []
    with own.quiet(), own.engine(engine_name, workers) as way:
        placed = way.place(data.blocks)
        for blocks, floats in SUMS:
            seconds = []
            for _ in range(repeats + 1):
                client, others = _cpu_of(way, partial(way.reduce, wide, placed[:blocks], floats))
                seconds.append(client + others / workers)
            points.append({"blocks": blocks, "floats": floats, "seconds": min(seconds[1:])})
    return {"points": points}


def work(
    files: str,
    target: str,
    memory: str,
    cache: str,
    ways: list[tuple[str, int]],
    repeats: int,
) -> dict[str, Any]:
    """CPU seconds of a pass over a quarter of the blocks on one thread, and over all in every way.

    The first times calibrate the model; the others are predicted by it.
    """
    data = own.scanned(files, target, memory, cache, standardise=target == "click")
    part = replace(data, blocks=data.blocks[: max(1, len(data.blocks) // 4)])
    with own.quiet():
        alone = _passes(part, "local", 1, repeats)
        passes = [_passes(data, name, workers, repeats) for name, workers in ways]
    return {
        "part_bytes": own.stored_bytes(part),
        "part_seconds": alone["client"],
        "bytes": own.stored_bytes(data),
        "blocks": len(data.blocks),
        "rows": data.n_rows,
        "columns": data.n_features,
        "passes": passes,
    }


def _passes(data: Any, engine_name: str, workers: int, repeats: int) -> dict[str, float]:
    """CPU seconds of this process and of the workers in a pass: the least of several."""
    rng, found = np.random.default_rng(0), []
    with own.engine(engine_name, workers) as way:
        problem = own.objective(data, "log", 1.0, way=way)
        for _ in range(repeats + 1):
            theta = 0.01 * rng.standard_normal(problem.shape)
            found.append(_cpu_of(way, partial(problem.account, theta)))
    client, others = (min(seconds) for seconds in zip(*found[1:], strict=True))
    return {"client": client, "workers": others}


def _cpu_of(way: Any, call: Callable[[], Any]) -> tuple[float, float]:
    """CPU seconds of this process and of a cluster's workers while something is called.

    Unlike wall-clock time they do not count other load on the machine.
    """
    client = getattr(way, "client", None)

    def of_workers() -> float:
        # The threads of this process are not counted again.
        return 0.0 if client is None else float(sum(client.run(time.process_time).values()))

    before, start = of_workers(), time.process_time()
    call()
    seconds = time.process_time() - start
    return seconds, of_workers() - before


def cut(n_rows: int, n_columns: int = 1_000_000, n_values: int = 39) -> list[dict[str, Any]]:
    """The bytes that blocks of sparse rows send in a pass of one thread, and its CPU seconds.

    The blocks have 65,536 rows, or are cut by what they send. Levels follow Zipf's law.
    """
    import scipy.sparse as sp

    from separatrix.scale import scan
    from separatrix.scale.blocks import BLOCK_ROWS

    rng, levels = np.random.default_rng(0), n_columns // n_values
    ranks = np.exp(rng.random((n_rows, n_values), dtype=np.float32) * np.log(levels)) - 1.0
    columns = ranks.astype(np.int32) + levels * np.arange(n_values, dtype=np.int32)
    starts = np.arange(0, n_rows * n_values + 1, n_values)
    values = np.ones(columns.size, dtype=np.float32)
    X = sp.csr_matrix((values, columns.ravel(), starts), shape=(n_rows, n_columns))
    y = rng.random(n_rows) < 0.5
    ways = [scan(X, y, block_rows=block_rows, memory="8GB") for block_rows in (BLOCK_ROWS, None)]
    problems = [own.objective(data, "log", 1.0, way=_Counting(1)) for data in ways]
    seconds: list[list[float]] = [[], []]
    # In turn, so that other load on the machine affects both.
    for k in [0, 1] * 8:
        theta, problems[k].engine.sent = 0.01 * rng.standard_normal(problems[k].shape), 0
        seconds[k].append(_cpu_of(None, partial(problems[k].account, theta))[0])
    return [
        {
            "rows": max(block.n_rows for block in data.blocks),
            "blocks": len(data.blocks),
            "read": own.stored_bytes(data),
            "sent": problem.engine.sent,
            "seconds": min(times[1:]),
        }
        for data, problem, times in zip(ways, problems, seconds, strict=True)
    ]


class _Counting(Local):
    """Counts the bytes that blocks send."""

    sent = 0

    def map(self, task: Any, blocks: Any, shared: Any, each: Any = None) -> Iterator[Any]:
        for part in super().map(task, blocks, shared, each):
            self.sent += sum(np.asarray(array).nbytes for array in part.values())
            yield part
