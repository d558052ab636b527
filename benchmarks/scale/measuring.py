"""The constants of the cost model, each measured in a process of its own."""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.scale import own

# Blocks and floats of the sums that are timed.
SUMS = ((8, 1), (128, 1), (8, 100_000), (32, 100_000), (8, 1_000_000))


def reading(files: str, target: str, memory: str) -> dict[str, Any]:
    """Seconds to read, decode and encode everything once, on one thread."""
    import separatrix

    options = {"standardise": target == "click"}
    with tempfile.TemporaryDirectory(prefix="separatrix-scale-") as folder, separatrix.threads(1):
        # Once before: afterwards loops are compiled, and the system has the files in memory.
        own.scanned(files, target, memory, f"{folder}/before", **options)
        start = time.perf_counter()
        data = own.scanned(files, target, memory, f"{folder}/timed", **options)
        seconds = time.perf_counter() - start
        return {"seconds": seconds, "rows": data.n_rows, "bytes": own.stored_bytes(data)}


def wide(rows: Any, shared: int, own: Any) -> dict[str, np.ndarray]:
    """A sum of so many floats, at next to no cost; zeros would not be sent."""
    return {"sum": np.ones(shared)}


def sums(engine_name: str, workers: int, repeats: int = 3) -> dict[str, Any]:
    """Seconds until what so many blocks sent was added up."""
    from separatrix.scale import scan

    most = max(blocks for blocks, _ in SUMS)
    data = scan(np.eye(2)[np.arange(2 * most) % 2], np.arange(2 * most) % 2, block_rows=2)
    points = []
    with own.quiet(), own.engine(engine_name, workers) as way:
        placed = way.place(data.blocks)
        for blocks, floats in SUMS:
            seconds = []
            for _ in range(repeats + 1):
                start = time.perf_counter()
                way.reduce(wide, placed[:blocks], floats)
                seconds.append(time.perf_counter() - start)
            points.append(
                {"blocks": blocks, "floats": floats, "seconds": float(np.median(seconds[1:]))}
            )
    return {"points": points}


def work(
    files: str,
    target: str,
    memory: str,
    cache: str,
    ways: list[tuple[str, int]],
    repeats: int,
) -> dict[str, Any]:
    """Seconds of a pass over a quarter of the blocks on one thread, and over all in every way.

    The first calibrates the model; what it says of the others is a prediction.
    """
    data = own.scanned(files, target, memory, cache, standardise=target == "click")
    part = replace(data, blocks=data.blocks[: max(1, len(data.blocks) // 4)])
    seconds = []
    with own.quiet():
        part_seconds = _passes(part, "local", 1, repeats)
        for name, workers in ways:
            seconds.append(_passes(data, name, workers, repeats))
    return {
        "part_bytes": own.stored_bytes(part),
        "part_seconds": part_seconds,
        "bytes": own.stored_bytes(data),
        "blocks": len(data.blocks),
        "rows": data.n_rows,
        "columns": data.n_features,
        "seconds": seconds,
    }


def _passes(data: Any, engine_name: str, workers: int, repeats: int) -> float:
    rng = np.random.default_rng(0)
    with own.engine(engine_name, workers) as way:
        problem = own.objective(data, "log", 1.0, way=way)
        seconds = []
        for _ in range(repeats + 1):
            theta = 0.01 * rng.standard_normal(problem.shape)
            start = time.perf_counter()
            problem.account(theta)
            seconds.append(time.perf_counter() - start)
    return float(np.median(seconds[1:]))
