r"""The cost of a pass: bytes that are read and worked on, floats that are added up, latencies.

With ``B`` bytes of encoded rows in ``n`` blocks, ``W`` workers and ``k`` floats that each block
gives, threads of one process take

    T(pass) = c + max( B / (beta W),  B / delta,  n (lambda + 8 k / gamma) ),

the work on the blocks, the disks where the blocks do not lie in memory, and one thread that adds up
what every block gave.  They overlap, so the largest counts; a single thread does one after the
other, and there the first and the last add up.  Workers of a cluster add up their own blocks, and
pairs of a sum and of what it rounded off climb a tree, whose root comes to the client:

    T(pass) = c + max( (B / beta + 8 n k / gamma_0) / W,  B / delta,  n lambda )
                + (ceil(log2 W) + 1) 16 k / gamma,

with ``gamma_0`` for one thread's additions.  ``k`` is ``2 d + 24`` for a gradient with its
certificate (the gradient itself, what moves the slopes' balance, and two dozen sums), and ``d^2``
for a Hessian, which a method with few columns evaluates once or twice.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks import report
from benchmarks.scale import processes
from benchmarks.scale.published import PUBLISHED
from benchmarks.scale.setup import Setup, here
from separatrix.scale.blocks import BLOCK_ROWS, rows_of_a_block

SUMS = 24
CORES_A_MACHINE = 16
WORKERS = (1, 16, 256)


@dataclass(frozen=True)
class Engine:
    """The costs of an engine: seconds a pass and a block, and bytes a second.

    The bytes a second are those that threads add up, or that are sent between processes.
    """

    a_pass: float
    a_block: float
    bytes_a_second: float
    overlaps: bool = True

    def driver(self, blocks: int, floats: float) -> float:
        """Seconds that one thread takes to add up what all blocks give."""
        return blocks * (self.a_block + 8.0 * floats / self.bytes_a_second)

    def climb(self, floats: float, workers: int, network: float = math.inf) -> float:
        """Seconds that sums take up the tree of the workers, and from its root to the client."""
        return steps_of(workers) * 16.0 * floats / min(self.bytes_a_second, network)


def steps_of(workers: int) -> int:
    """The number of times a pair is sent, one after another, until the client has it."""
    return math.ceil(math.log2(workers)) + 1


@dataclass(frozen=True)
class Rows:
    """The rows to fit: encoded bytes, in blocks, and the number of columns."""

    n_bytes: float
    blocks: int
    columns: int

    @property
    def floats(self) -> float:
        """The number of floats that a block sends for a gradient and its certificate."""
        return 2.0 * self.columns + SUMS


@dataclass(frozen=True)
class Cluster:
    """The assumed machines of a cluster: bytes of memory, and bytes a second."""

    memory: float = 128e9
    disk: float = 2e9
    network: float = 1.25e9


# Four billion rows of 39 values: a 32-bit column and a 32-bit number each, a label, a start.
TERABYTE_ROWS = 4_000_000_000
ROW_BYTES = 39 * 8.0 + 12.0
TERABYTE = Rows(TERABYTE_ROWS * ROW_BYTES, -(-TERABYTE_ROWS // BLOCK_ROWS), 1_000_000)
CUT_ROWS = rows_of_a_block(ROW_BYTES, TERABYTE.columns, 8e9)
AS_CUT = Rows(TERABYTE.n_bytes, -(-TERABYTE_ROWS // CUT_ROWS), TERABYTE.columns)


def pass_seconds(
    rows: Rows,
    engine: Engine,
    workers: int,
    speed: float,
    disk: float = math.inf,
    *,
    adding: Engine | None = None,
    network: float = math.inf,
) -> float:
    """Seconds of a pass for the gradient and the certificate; ``speed`` in bytes a second a core.

    The pass is one of threads, or, with the engine of the thread that adds, of a cluster.

    Examples
    --------
    >>> from benchmarks.scale.cost_model import Engine, Rows, pass_seconds
    >>> rows = Rows(n_bytes=4e9, blocks=100, columns=28)
    >>> threads = Engine(a_pass=0.0, a_block=1e-3, bytes_a_second=1e9)
    >>> pass_seconds(rows, threads, workers=2, speed=1e9)
    2.0
    """
    work, reading = rows.n_bytes / (speed * workers), rows.n_bytes / disk
    if adding is not None:
        work += adds(rows, adding, workers)
        climb = engine.climb(rows.floats, workers, network)
        return engine.a_pass + max(work, reading, rows.blocks * engine.a_block) + climb
    driver = engine.driver(rows.blocks, rows.floats)
    if workers == 1 and not engine.overlaps:
        return engine.a_pass + max(work, reading) + driver
    return engine.a_pass + max(work, reading, driver)


def adds(rows: Rows, adding: Engine, workers: int) -> float:
    """Seconds that each worker takes to add up what its own blocks give."""
    return rows.blocks / workers * 8.0 * rows.floats / adding.bytes_a_second


def predicted(
    rows: Rows, engine: Engine, local: Engine, speed: float, workers: int, cluster: Cluster
) -> dict[str, float]:
    """The terms of a pass over a terabyte on a cluster, in seconds."""
    machines = -(-workers // CORES_A_MACHINE)
    # Rows that do not fit the machines' memory are read from their disks on every pass.
    in_memory = rows.n_bytes <= 0.8 * cluster.memory * machines
    disk = math.inf if in_memory else cluster.disk * machines
    network = math.inf if machines == 1 else cluster.network
    send = 0.0 if machines == 1 else machines * 8.0 * rows.columns / cluster.network
    whole = pass_seconds(rows, engine, workers, speed, disk, adding=local, network=network)
    return {
        "work": rows.n_bytes / (speed * workers),
        "disk": rows.n_bytes / disk,
        "adding": adds(rows, local, workers),
        "tasks": rows.blocks * engine.a_block,
        "tree": engine.climb(rows.floats, workers, network),
        "a pass": whole + send,
    }


# --- measured -------------------------------------------------------------------------------------


def measure(setup: Setup) -> dict[str, Any]:
    """The constants, their predictions for 1 and 2 workers here, and the measured times."""
    with_dask = not processes.has(here(), ["distributed"])
    found: dict[str, Any] = {"reading": {}, "work": {}, "engines": {}, "checks": []}
    for kind in ("dense", "clicks"):
        setup.say(f"{kind}: reading and encoding on one core")
        found["reading"][kind] = _asked(setup, "reading", setup.files(kind))
    names = [("local", 1), ("local", 2), *([("dask", 1), ("dask", 2)] if with_dask else [])]
    for name, workers in names:
        setup.say(f"sums of {workers} workers, {name}")
        points = _asked(setup, "sums", {"engine_name": name, "workers": workers})["points"]
        adding = Engine(**found["engines"]["local 1"]) if name == "dask" else None
        found["engines"][f"{name} {workers}"] = asdict(fitted(points, workers, adding))
    for kind in ("dense", "clicks"):
        given = {**setup.files(kind), "memory": setup.memory, "cache": setup.cache(kind)}
        setup.say(f"{kind}: passes of 1 and 2 workers")
        part = _asked(setup, "work", {**given, "ways": names, "repeats": max(3, setup.repeats)})
        speed = part["part_bytes"] / part["part_seconds"]
        found["work"][kind] = {**part, "bytes_a_second": speed}
        rows = Rows(part["bytes"], part["blocks"], part["columns"])
        for (name, workers), one in zip(names, part["passes"], strict=True):
            engine = Engine(**found["engines"][f"{name} {workers}"])
            adding = Engine(**found["engines"]["local 1"]) if name == "dask" else None
            model = pass_seconds(rows, engine, workers, speed, adding=adding)
            found["checks"].append(
                {
                    "kind": kind,
                    "engine": name,
                    "workers": workers,
                    "predicted": model,
                    "client": one["client"],
                    "others": one["workers"],
                }
            )
    setup.say("what blocks of many columns send")
    found["cut"] = _asked(setup, "cut", {"n_rows": 200_000 if setup.quick else 1_000_000})
    setup.say("passes to 1e-3 and 1e-6 over the click log")
    cache = setup.cache("clicks")
    found["passes"] = {
        f"{tol:g}": setup.fit("clicks", tol=tol, standardise=True, cache=cache).result["passes"]
        for tol in (1e-3, 1e-6)
    }
    return found


def _asked(setup: Setup, name: str, arguments: dict[str, Any]) -> Any:
    if name == "reading":
        arguments = {**arguments, "memory": setup.memory}
    function = f"benchmarks.scale.measuring:{name}"
    ended = processes.call(function, arguments, limit=setup.limit)
    if not ended.ok:
        raise RuntimeError(f"{name} could not be measured: {ended.why}")
    return ended.result


def fitted(
    points: list[dict[str, float]], workers: int = 1, adding: Engine | None = None
) -> Engine:
    """The engine whose times of sums are nearest to the measured ones.

    Sums take ``c + n (lambda + 8 k / gamma)``; those of a cluster, beside what its workers add up,
    ``c + n lambda + (ceil(log2 W) + 1) 16 k / gamma``.  Errors are relative to the measured times,
    so that small sums count as much as large ones.
    """
    import numpy as np
    from scipy.optimize import nnls

    def sent(p: dict[str, float]) -> float:
        return 8.0 * p["floats"] * (p["blocks"] if adding is None else 2 * steps_of(workers))

    A = np.array([[1.0, p["blocks"], sent(p)] for p in points])
    seconds, rest = np.array([p["seconds"] for p in points]), np.ones(len(points))
    if adding is not None:
        known = [8.0 * p["floats"] * p["blocks"] / workers for p in points]
        rest = 1.0 - np.array(known) / adding.bytes_a_second / seconds
    scale = A.max(axis=0)
    c, latency, slowness = nnls(A / scale / seconds[:, None], rest)[0] / scale
    overlaps = adding is not None
    return Engine(float(c), float(latency), float(1.0 / max(slowness, 1e-15)), overlaps)


# --- in words -------------------------------------------------------------------------------------


def tables(found: dict[str, Any], cluster: Cluster | None = None) -> dict[str, str]:
    """The constants, the check, the predictions, and what was published, as tables."""
    return {
        "constants": _constants(found),
        "checks": _checked(found),
        "cut": _cut(found),
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
    head = ["a pass here", "engine", "workers", "predicted", "CPU: workers", "client"]
    lines = [[*head, "each on a core", "ratio"]]
    for one in found["checks"]:
        shown = [one["kind"], one["engine"], str(one["workers"]), f"{one['predicted']:.3f} s"]
        seconds = on_cores(one)
        # The CPU time of threads is that of one process, with the thread that adds up.
        cpu = [one["client"], None] if one["engine"] == "local" else [one["others"], one["client"]]
        cells = ["" if value is None else f"{value:.3f} s" for value in (*cpu, seconds)]
        lines.append([*shown, *cells, f"{seconds / one['predicted']:.2f}"])
    notes = [
        f"{kind}: the client has {share:.0%} of the CPU time of a pass of one worker, so that two "
        f"make it {most:.2f} times as fast at most; {gain:.2f} times by their own CPU times"
        for kind in ("dense", "clicks")
        for share, most, gain in gains(found["checks"], kind)
    ]
    return "\n\n".join([report.layout(lines, left=(0, 1)), "\n".join(notes)]).rstrip()


def on_cores(check: dict[str, Any]) -> float:
    """Seconds of a pass where every worker has a core, by CPU times.

    Workers share their work, and the client's comes before it and after it.
    """
    if check["engine"] == "local":
        return float(check["client"] / check["workers"])
    return float(check["client"] + check["others"] / check["workers"])


def gains(checks: list[dict[str, Any]], kind: str) -> list[tuple[float, float, float]]:
    """The client's share of the CPU time of a pass of one worker, and two gains of a second worker.

    The first gain is the largest possible, if only the workers' part is shared (Amdahl, 1967); the
    second one follows from the CPU times of the two.  The list is empty without a cluster.
    """
    known = {
        one["workers"]: one for one in checks if (one["kind"], one["engine"]) == (kind, "dask")
    }
    if not {1, 2} <= set(known):
        return []
    alone, both = on_cores(known[1]), on_cores(known[2])
    share = known[1]["client"] / alone
    return [(share, 1.0 / (share + (1.0 - share) / 2.0), alone / both)]


def _cut(found: dict[str, Any]) -> str:
    lines = [["rows of a block", "blocks", "read", "sent by blocks", "share", "CPU of a pass"]]
    for one in found["cut"]:
        sizes = [f"{one[name] / 1e6:.0f} MB" for name in ("read", "sent")]
        share = f"{one['sent'] / one['read']:.0%}"
        counts = [f"{one['rows']:,}", str(one["blocks"])]
        lines.append([*counts, *sizes, share, f"{one['seconds']:.2f} s"])
    return report.layout(lines, left=())


def _predictions(found: dict[str, Any], cluster: Cluster) -> str:
    local = Engine(**found["engines"]["local 1"])
    over = found["engines"].get("dask 2")
    engine = local if over is None else Engine(**over)
    speed = found["work"]["clicks"]["bytes_a_second"]
    passes = found["passes"]["0.001"]
    names = ["work", "disk", "adding", "tasks", "tree", "a pass"]
    lines = [["a pass over a terabyte of clicks", "workers", *names, f"{passes} passes"]]
    cuts = {f"blocks of {BLOCK_ROWS:,}": TERABYTE, f"blocks of {CUT_ROWS:,}, as cut": AS_CUT}
    for what, rows in cuts.items():
        for workers in WORKERS:
            one = predicted(rows, engine, local, speed, workers, cluster)
            shown = [_time(one[name]) for name in names]
            lines.append([what, str(workers), *shown, _time(passes * one["a pass"])])
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
