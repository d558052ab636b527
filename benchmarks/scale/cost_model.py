r"""What a pass costs: bytes that are read and worked on, floats that are added up, latencies.

With ``B`` bytes of encoded rows in ``n`` blocks, ``W`` workers and ``k`` floats that each block
sends to the driver,

    T(pass) = c + max( B / (beta W),  B / delta,  n (lambda + 8 k / gamma) ),

the work on the blocks, the disks where the blocks do not lie in memory, and the driver, which takes
what every block gave in the blocks' order.  They overlap, so the largest counts; a single thread
does one after the other, and there the first and the last add up.  ``k`` is ``2 d + 24`` for a
gradient with its certificate (the gradient itself, what moves the slopes' balance, and two dozen
sums), and ``d^2 / 2`` for a Hessian, of which a method with few columns asks for once or twice.

A tree of sums would cost, instead of the driver's term,

    n / W * 8 k / gamma_local + ceil(log2 W) (lambda + 2 * 8 k / gamma):

each worker adds up what its own run of blocks gave, and pairs of a sum and of what it rounded off
climb the tree.  The tree's shape would be that of the blocks, not of the workers, so that the bits
stay those of one worker.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks import report
from benchmarks.scale import processes
from benchmarks.scale.published import PUBLISHED
from benchmarks.scale.setup import Setup, here

SUMS = 24
CORES_A_MACHINE = 16
WORKERS = (1, 16, 256)


@dataclass(frozen=True)
class Engine:
    """What an engine costs: seconds a pass and a block, and bytes a second to the driver."""

    a_pass: float
    a_block: float
    bytes_a_second: float
    overlaps: bool = True

    def driver(self, blocks: int, floats: float, network: float = math.inf) -> float:
        """Seconds that the driver takes for what all blocks send."""
        speed = min(self.bytes_a_second, network)
        return blocks * (self.a_block + 8.0 * floats / speed)


@dataclass(frozen=True)
class Rows:
    """What there is to fit: encoded bytes, in blocks, of so many columns."""

    n_bytes: float
    blocks: int
    columns: int

    @property
    def floats(self) -> float:
        """What a block sends for a gradient and its certificate."""
        return 2.0 * self.columns + SUMS


@dataclass(frozen=True)
class Cluster:
    """What is assumed of machines that are not here: bytes, and bytes a second."""

    memory: float = 128e9
    disk: float = 2e9
    network: float = 1.25e9


# Four billion rows of 39 values: a 32-bit column and a 32-bit number each, a label, a start.
TERABYTE_ROWS = 4_000_000_000
TERABYTE = Rows(TERABYTE_ROWS * (39 * 8.0 + 12.0), -(-TERABYTE_ROWS // 65_536), 1_000_000)
LARGE_BLOCKS = Rows(TERABYTE.n_bytes, -(-TERABYTE_ROWS // 2**20), 1_000_000)


def pass_seconds(
    rows: Rows, engine: Engine, workers: int, speed: float, disk: float = math.inf
) -> float:
    """Seconds of a pass for the gradient and the certificate; ``speed`` in bytes a second a core.

    Examples
    --------
    >>> from benchmarks.scale.cost_model import Engine, Rows, pass_seconds
    >>> rows = Rows(n_bytes=4e9, blocks=100, columns=28)
    >>> threads = Engine(a_pass=0.0, a_block=1e-3, bytes_a_second=1e9)
    >>> pass_seconds(rows, threads, workers=2, speed=1e9)
    2.0
    """
    work, driver = rows.n_bytes / (speed * workers), engine.driver(rows.blocks, rows.floats)
    if workers == 1 and not engine.overlaps:
        return engine.a_pass + max(work, rows.n_bytes / disk) + driver
    return engine.a_pass + max(work, rows.n_bytes / disk, driver)


def tree_seconds(
    rows: Rows, engine: Engine, local: Engine, workers: int, network: float = math.inf
) -> float:
    """Seconds that sums take where workers add up their own blocks and a tree adds up theirs."""
    own = rows.blocks / workers * 8.0 * rows.floats / local.bytes_a_second
    steps = math.ceil(math.log2(workers)) if workers > 1 else 0
    speed = min(engine.bytes_a_second, network)
    return own + steps * (engine.a_block + 16.0 * rows.floats / speed)


def predicted(
    rows: Rows, engine: Engine, local: Engine, speed: float, workers: int, cluster: Cluster
) -> dict[str, float]:
    """The terms of a pass over a terabyte, in seconds, as it is built and with a tree."""
    machines = -(-workers // CORES_A_MACHINE)
    work = rows.n_bytes / (speed * workers)
    # What does not fit the machines' memory is read from their disks on every pass.
    in_memory = rows.n_bytes <= 0.8 * cluster.memory * machines
    disk = 0.0 if in_memory else rows.n_bytes / (cluster.disk * machines)
    if machines == 1:
        star, tree = (
            local.driver(rows.blocks, rows.floats),
            tree_seconds(rows, local, local, workers),
        )
    else:
        star = engine.driver(rows.blocks, rows.floats, cluster.network)
        tree = tree_seconds(rows, engine, local, workers, cluster.network)
    # One worker adds up what it has worked out; of several the driver is another.
    built = max(work, disk) + star if workers == 1 else max(work, disk, star)
    send = 0.0 if machines == 1 else machines * 8.0 * rows.columns / cluster.network
    return {
        "work": work,
        "disk": disk,
        "driver": star,
        "tree": tree,
        "send": send,
        "as built": built + send,
        "with a tree": max(work, disk) + tree + send,
    }


# --- measured -------------------------------------------------------------------------------------


def measure(setup: Setup) -> dict[str, Any]:
    """The constants, what they predict for 1 and 2 workers here, and what those took."""
    with_dask = not processes.has(here(), ["distributed"])
    found: dict[str, Any] = {"reading": {}, "work": {}, "engines": {}, "checks": []}
    for kind in ("dense", "clicks"):
        setup.say(f"{kind}: reading and encoding on one core")
        found["reading"][kind] = _asked(setup, "reading", setup.files(kind))
    names = [("local", 1), ("local", 2), *([("dask", 1), ("dask", 2)] if with_dask else [])]
    for name, workers in names:
        setup.say(f"sums of {workers} workers, {name}")
        points = _asked(setup, "sums", {"engine_name": name, "workers": workers})["points"]
        found["engines"][f"{name} {workers}"] = asdict(fitted(points, name == "dask"))
    for kind in ("dense", "clicks"):
        given = {**setup.files(kind), "memory": setup.memory, "cache": setup.cache(kind)}
        setup.say(f"{kind}: passes of 1 and 2 workers")
        part = _asked(setup, "work", {**given, "ways": names, "repeats": max(3, setup.repeats)})
        speed = part["part_bytes"] / part["part_seconds"]
        found["work"][kind] = {**part, "bytes_a_second": speed}
        rows = Rows(part["bytes"], part["blocks"], part["columns"])
        for (name, workers), seconds in zip(names, part["seconds"], strict=True):
            engine = Engine(**found["engines"][f"{name} {workers}"])
            model = pass_seconds(rows, engine, workers, speed)
            found["checks"].append(
                {
                    "kind": kind,
                    "engine": name,
                    "workers": workers,
                    "predicted": model,
                    "measured": seconds,
                }
            )
    setup.say("passes to 1e-3 and 1e-6 over the click log")
    cache = setup.cache("clicks")
    found["passes"] = {
        f"{tol:g}": setup.fit("clicks", tol=tol, standardise=True, cache=cache).result["passes"]
        for tol in (1e-3, 1e-6)
    }
    return found


def _asked(setup: Setup, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    if name == "reading":
        arguments = {**arguments, "memory": setup.memory}
    function = f"benchmarks.scale.measuring:{name}"
    ended = processes.call(function, arguments, limit=setup.limit)
    if not ended.ok:
        raise RuntimeError(f"{name} could not be measured: {ended.why}")
    result: dict[str, Any] = ended.result
    return result


def fitted(points: list[dict[str, float]], overlaps: bool) -> Engine:
    """The engine whose ``c + n (lambda + 8 k / gamma)`` is nearest to what was measured.

    Relative to what was measured, so that small sums count as much as large ones.
    """
    import numpy as np
    from scipy.optimize import nnls

    A = np.array([[1.0, p["blocks"], 8.0 * p["blocks"] * p["floats"]] for p in points])
    seconds = np.array([p["seconds"] for p in points])
    scale = A.max(axis=0)
    c, latency, slowness = nnls(A / scale / seconds[:, None], np.ones(len(points)))[0] / scale
    return Engine(float(c), float(latency), float(1.0 / max(slowness, 1e-15)), overlaps)


# --- in words -------------------------------------------------------------------------------------


def tables(found: dict[str, Any], cluster: Cluster | None = None) -> dict[str, str]:
    """The constants, the check, the predictions, and what was published, as tables."""
    return {
        "constants": _constants(found),
        "checks": _checked(found),
        "predictions": _predictions(found, Cluster() if cluster is None else cluster),
        "published": _published(),
    }


def _constants(found: dict[str, Any]) -> str:
    lines = [["constants measured here", "", ""]]
    for kind in ("dense", "clicks"):
        one = found["reading"][kind]
        speed, rows = one["bytes"] / one["seconds"], one["rows"] / one["seconds"]
        name = f"read, decode, encode: {kind}, one core"
        lines.append([name, f"{speed / 1e6:.0f} MB/s", f"{rows / 1e6:.2f} million rows/s"])
    for kind in ("dense", "clicks"):
        one = found["work"][kind]
        rows = one["bytes_a_second"] / one["bytes"] * one["rows"]
        name = f"pass over cached blocks: {kind}, one core"
        speed = f"{one['bytes_a_second'] / 1e6:.0f} MB/s"
        lines.append([name, speed, f"{rows / 1e6:.2f} million rows/s"])
    for name, one in found["engines"].items():
        kind, workers = name.split()
        what = f"sums: {'Dask over loopback' if kind == 'dask' else 'threads'}, {workers}"
        latency = f"{1e3 * one['a_pass']:.1f} ms a pass, {1e3 * one['a_block']:.2f} ms a block"
        lines.append([what, f"{one['bytes_a_second'] / 1e6:.0f} MB/s", latency])
    return report.layout(lines, left=(0, 2)) + "\n\n" + found.get("where", "")


def _checked(found: dict[str, Any]) -> str:
    lines = [["a pass here", "engine", "workers", "predicted", "measured", "ratio"]]
    for one in found["checks"]:
        shown = [one["kind"], one["engine"], str(one["workers"])]
        times = [f"{one['predicted']:.3f} s", f"{one['measured']:.3f} s"]
        lines.append([*shown, *times, f"{one['measured'] / one['predicted']:.2f}"])
    return report.layout(lines, left=(0, 1))


def _predictions(found: dict[str, Any], cluster: Cluster) -> str:
    local = Engine(**found["engines"]["local 2"])
    over = found["engines"].get("dask 2")
    engine = local if over is None else Engine(**over)
    speed = found["work"]["clicks"]["bytes_a_second"]
    passes = found["passes"]["0.001"]
    head = "a pass over a terabyte of clicks"
    names = ["work", "disk", "driver", "as built", "tree", "with a tree"]
    lines = [[head, "workers", *names, f"{passes} passes as built", f"{passes} passes, tree"]]
    for what, rows in (("blocks of 65,536", TERABYTE), ("blocks of 1,048,576", LARGE_BLOCKS)):
        for workers in WORKERS:
            one = predicted(rows, engine, local, speed, workers, cluster)
            totals = [_time(passes * one[name]) for name in ("as built", "with a tree")]
            lines.append([what, str(workers), *(_time(one[name]) for name in names), *totals])
    read = found["reading"]["clicks"]
    once = TERABYTE_ROWS * read["seconds"] / read["rows"]
    notes = (
        f"{TERABYTE_ROWS:,} rows x 39 values, 1,000,000 features: "
        f"{TERABYTE.n_bytes / 1e12:.2f} TB as blocks. Before the first pass they are read, decoded "
        f"and encoded once: {_time(once)} of one core, {_time(once / CORES_A_MACHINE)} of a "
        f"machine's {CORES_A_MACHINE}.\nAssumed: {CORES_A_MACHINE} workers a machine of "
        f"{cluster.memory / 1e9:.0f} GB, disks of {cluster.disk / 1e9:g} GB/s a machine, a network "
        f"of {cluster.network / 1e9:g} GB/s. {found['passes']['0.001']} passes to 1e-3 and "
        f"{found['passes']['1e-06']} to 1e-6 are what the made click log took here."
    )
    return report.layout(lines, left=(0,)) + "\n\n" + notes


def _published() -> str:
    lines = [["published", "data", "machines", "time"]]
    lines += [[one.what, one.data, one.machines, one.time] for one in PUBLISHED]
    return report.layout(lines, left=(0, 1, 2, 3))


def _time(seconds: float) -> str:
    if seconds < 100.0:
        return f"{seconds:.3g} s"
    return f"{seconds / 60.0:.0f} min" if seconds < 6000.0 else f"{seconds / 3600.0:.1f} h"
