"""Peak resident memory of the command line with ``--memory``, everything included."""

from __future__ import annotations

import os
import sys
from typing import Any

from benchmarks.scale import processes
from benchmarks.scale.generators import COLUMNS
from benchmarks.scale.setup import Setup, verdict

# The least bytes of the dense data's rows in float64, where the sizes are the full ones.
FULL_BYTES = 3 * 2**30
MOST = 2**30


def measure(setup: Setup) -> dict[str, Any]:
    least = -(-FULL_BYTES // (8 * COLUMNS))
    found: dict[str, Any] = {"memory": setup.memory, "data": []}
    for kind in ("dense", "clicks"):
        n = setup.rows if kind == "dense" else setup.clicks
        if kind == "dense" and not setup.quick:
            n = max(n, least)
        given = setup.files(kind, n)
        setup.say(f"separatrix fit --memory {setup.memory}, {n:,} rows of {kind}")
        model = setup.folder / f"{kind}.separatrix"
        command = [sys.executable, "-m", "separatrix", "fit", given["files"], "--target"]
        command += [given["target"], "--memory", setup.memory, "-o", str(model)]
        command += ["--cache", setup.cache(f"memory-{kind}")]
        ended = processes.run(command, limit=setup.limit)
        found["data"].append(
            {
                "kind": kind,
                "rows": n,
                "float64_bytes": 8 * COLUMNS * n if kind == "dense" else None,
                "file_bytes": _size(given["files"]),
                "peak_bytes": ended.peak,
                "seconds": ended.seconds,
                "code": ended.code,
                "why": ended.why,
            }
        )
        setup.forget(kind, n)
    return found


def _size(files: str) -> int:
    folder = os.path.dirname(files)
    names = [name for name in os.listdir(folder) if name.endswith(".parquet")]
    return sum(os.path.getsize(os.path.join(folder, name)) for name in names)


def lines(found: dict[str, Any]) -> list[list[str]]:
    out = []
    for one in found["data"]:
        size = one["float64_bytes"]
        data = f"{one['rows']:,} rows of {one['kind']}"
        beside = f"{size / 2**30:.2f} GiB of float64" if size else "sparse"
        beside += f", {one['file_bytes'] / 2**20:.0f} MiB of files"
        name = f"peak memory, --memory {found['memory']}: {data}"
        if one["code"]:
            out.append([name, f"failed: {one['why']}", beside, "<= 1 GiB", verdict(False)])
            continue
        peak = f"{one['peak_bytes'] / 2**20:.0f} MiB, {one['seconds']:.1f} s"
        out.append([name, peak, beside, "<= 1 GiB", verdict(one["peak_bytes"] <= MOST)])
    return out
