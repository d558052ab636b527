"""The work of this library in a process of its own, from files to a certified result."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

LOSSES = {"log": "LogisticRegression", "hinge": "LinearSVC", "squared_hinge": "LinearSVC"}


def scanned(
    files: str,
    target: str,
    memory: str,
    cache: str | None,
    *,
    standardise: bool = False,
) -> Any:
    """The files as row blocks, in the units of the table, with no rows held out."""
    from separatrix.scale import scan

    return scan(files, target, memory=memory, cache=cache, test_size=0.0, standardise=standardise)


def estimator(loss: str, C: float, tol: float, intercept: bool = True) -> Any:
    import separatrix

    options = {} if loss == "log" else {"loss": loss}
    kind = getattr(separatrix, LOSSES[loss])
    return kind(C=C, tol=tol, fit_intercept=intercept, random_state=0, **options)


@contextlib.contextmanager
def engine(name: str, workers: int | None) -> Iterator[Any]:
    """An engine: ``"local"``, or ``"dask"``, a cluster on this machine of one-thread workers."""
    if name == "local":
        from separatrix.scale import Local

        yield Local(workers)
        return
    import distributed

    from separatrix.scale import Dask

    with (
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield Dask(client)


def fit(
    files: str,
    target: str,
    *,
    tol: float = 1e-6,
    loss: str = "log",
    C: float = 1.0,
    intercept: bool = True,
    memory: str = "1GB",
    cache: str | None = None,
    standardise: bool = False,
    engine_name: str = "local",
    workers: int | None = None,
    kill_worker: bool = False,
    checkpoint: str | None = None,
    log: str | None = None,
    save: str | None = None,
    again: int = 0,
) -> dict[str, Any]:
    """Fit from files to a certificate; returns its times, its numbers and its weights.

    ``again`` is the number of repeated fits by the same workers, which have loaded the library and
    its loops by then.
    """
    from separatrix.scale.passes import watch_passes

    start = time.perf_counter()
    data = scanned(files, target, memory, cache, standardise=standardise)
    read = time.perf_counter()
    model = estimator(loss, C, tol, intercept)
    begun: set[int] = set()

    def heard(progress: Any) -> None:
        if progress.number not in begun:
            begun.add(progress.number)
            if log is not None:
                with open(log, "a") as file:
                    file.write(f"{os.getpid()} {progress.number}\n")

    with quiet(), engine(engine_name, workers) as way, watch_passes(heard):
        opened = time.perf_counter()
        if kill_worker:
            _kill_one_soon(way)
        model.fit(data, engine=way, checkpoint=checkpoint)
        fitted = time.perf_counter()
        repeated = [_seconds(model, data, way) for _ in range(again)]
    if log is not None:
        with open(log, "a") as file:
            file.write("done\n")
    if save is not None:
        np.save(save, np.append(model.coef_.ravel(), np.ravel(model.intercept_)))
    certificate = model.certificate_
    return {
        "read_seconds": read - start,
        "fit_seconds": fitted - opened,
        "again_seconds": repeated,
        "passes": model.n_passes_,
        "rows": data.n_rows,
        "features": data.n_features,
        "blocks": len(data.blocks),
        "bytes": int(sum(block.nbytes for block in data.blocks)),
        "primal": certificate.primal,
        "dual": certificate.dual,
        "relative_gap": certificate.relative_gap,
        "status": certificate.status,
        "bits": model.coef_.tobytes().hex() + np.asarray(model.intercept_).tobytes().hex(),
    }


def _seconds(model: Any, data: Any, way: Any) -> float:
    """The seconds of one more fit."""
    start = time.perf_counter()
    model.fit(data, engine=way)
    return time.perf_counter() - start


def _kill_one_soon(way: Any) -> None:
    """End a worker of the cluster, by its process, while the first passes are under way."""
    import signal
    import threading

    client = way.client
    pids = client.run(os.getpid)
    victim = pids[sorted(pids)[-1]]
    timer = threading.Timer(0.5, os.kill, (victim, signal.SIGKILL))
    timer.daemon = True
    timer.start()


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Silence warnings: a fit that stops above its tolerance shows that in its certificate."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def fit_in_memory(
    files: str, target: str, *, reader: str, tol: float = 1e-6, C: float = 1.0
) -> dict[str, Any]:
    """Read everything with pyarrow or DuckDB into one array, and fit it."""
    start = time.perf_counter()
    X, y = read_all(files, target, reader)
    read = time.perf_counter()
    with quiet():
        model = estimator("log", C, tol).fit(X, y)
    certificate = model.certificate_
    return {
        "read_seconds": read - start,
        "fit_seconds": time.perf_counter() - read,
        "primal": certificate.primal,
        "dual": certificate.dual,
        "relative_gap": certificate.relative_gap,
        "status": certificate.status,
    }


def read_all(files: str, target: str, reader: str) -> tuple[np.ndarray, np.ndarray]:
    """All rows as float32, column by column, and the labels."""
    if reader == "pyarrow":
        import pyarrow.dataset

        table = pyarrow.dataset.dataset(str(Path(files).parent), format="parquet").to_table()
        columns = {name: table[name].to_numpy() for name in table.column_names}
    else:
        import duckdb

        columns = duckdb.connect().execute(f"select * from '{files}'").fetchnumpy()
    y = np.asarray(columns.pop(target))
    X = np.empty((len(y), len(columns)), dtype=np.float32)
    for j, name in enumerate(list(columns)):
        X[:, j] = columns.pop(name)
    return X, y


def fit_clicks_in_memory(
    files: str, target: str, *, tol: float = 1e-6, C: float = 1.0
) -> dict[str, Any]:
    """Read everything and encode it with this library's own encoder, and fit that matrix."""
    from separatrix.tables import Encoder, read_table, take_target

    start = time.perf_counter()
    table, labels = take_target(read_table(files), target)
    X = Encoder(standardise=True).fit_transform(table)
    read = time.perf_counter()
    with quiet():
        model = estimator("log", C, tol).fit(X, labels)
    certificate = model.certificate_
    return {
        "read_seconds": read - start,
        "fit_seconds": time.perf_counter() - read,
        "features": int(X.shape[1]),
        "primal": certificate.primal,
        "dual": certificate.dual,
        "relative_gap": certificate.relative_gap,
        "status": certificate.status,
    }


def objective(data: Any, loss: str, C: float, intercept: bool = True, way: Any = None) -> Any:
    """The objective over row blocks."""
    from separatrix.losses import LogLoss, SquaredHinge
    from separatrix.objectives.penalties import L2
    from separatrix.scale import Local
    from separatrix.scale.objectives import BlockedPointwise

    kind = {"log": LogLoss, "squared_hinge": SquaredHinge}[loss]()
    way = Local() if way is None else way
    return BlockedPointwise(data, way, kind, L2(), C=C, fit_intercept=intercept)


def judge(
    files: str, target: str, *, thetas: list[str], C: float, memory: str, cache: str | None
) -> dict[str, Any]:
    """The objective at saved points, each charged for the possible rounding errors of float64."""
    data = scanned(files, target, memory, cache)
    problem = objective(data, "log", C)
    found = []
    for path in thetas:
        theta = np.load(path)
        with np.errstate(all="ignore"):
            found.append(float(problem.certify(theta, problem.bound(theta), 1e-9).primal))
    return {"primals": found}


def in_memory(data: Any) -> Any:
    """The same blocks as copies in memory."""
    from separatrix.scale.blocks import ArrayBlock, Rows

    def copied(part: Any) -> Any:
        if part is None or isinstance(part, np.ndarray):
            return None if part is None else np.array(part)
        return part.copy()

    blocks = []
    for block in data.blocks:
        rows = block.load()
        parts = (rows.matrix, rows.target, rows.weights, rows.squares)
        blocks.append(ArrayBlock(Rows(*map(copied, parts)), block.place))
    return replace(data, blocks=tuple(blocks))


def stored_bytes(data: Any) -> int:
    """The bytes that a pass over the blocks reads, of the matrix and of the labels."""
    total = 0
    for block in data.blocks:
        rows = block.load()
        matrix = rows.matrix
        parts = [matrix] if isinstance(matrix, np.ndarray) else [matrix.data, matrix.indices]
        total += sum(part.nbytes for part in parts) + rows.target.nbytes
    return total


def pass_speeds(
    files: str,
    target: str,
    *,
    memory: str,
    cache: str | None,
    repeats: int,
    workers: int | None = None,
) -> dict[str, Any]:
    """Seconds of a pass for loss, gradient and certificate: over the cache, and in memory."""
    data = scanned(files, target, memory, cache)
    held = in_memory(data)
    size = stored_bytes(data)
    seconds: dict[str, list[float]] = {"cached": [], "memory": []}
    rng = np.random.default_rng(0)
    # In turn, so that other load on the machine affects both.
    for name in ["cached", "memory"] * (repeats + 1):
        seconds[name].append(pass_seconds({"cached": data, "memory": held}[name], rng, workers))
    return {
        "bytes": size,
        "rows": data.n_rows,
        "cached": float(np.median(seconds["cached"][1:])),
        "memory": float(np.median(seconds["memory"][1:])),
    }


def pass_seconds(data: Any, rng: np.random.Generator, workers: int | None) -> float:
    """Seconds of one pass at a new random point."""
    from separatrix.scale import Local

    problem = objective(data, "log", 1.0, way=Local(workers))
    theta = 0.01 * rng.standard_normal(problem.shape)
    start = time.perf_counter()
    problem.account(theta)
    return time.perf_counter() - start
