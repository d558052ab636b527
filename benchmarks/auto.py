"""``python -m benchmarks auto``: does the default ever cost much more than the best method by name?

Made tables that nobody has tuned to are drawn by seed: 50 to 300,000 rows, 2 to 5,000 columns,
dense and sparse, independent, correlated, of one factor to half as many as columns, and one-hot,
columns of equal and of wild scales, balanced and rare classes, every loss and penalty of the
classifiers with a ``solver``, C from 1e-4 to 1e4, float64 and float32, one thread and two. On each,
`auto` is timed beside every solver by name and beside scikit-learn's default, to the same relative
gap; and dense tables once more as they lie by columns, as those of a data frame do. This library
has arrived where its certificate says so, scikit-learn where its objective is within that gap of
the least one found.
Besides, scikit-learn's estimator is fitted as a user gets it, with its own tolerance and limit on
iterations; what its point is certified to be off is then the tolerance of `auto`, and the two take
turns (``DEFAULT``).

The constants of the forecasts were set on cells of the seeds 50 to 59; those of other seeds judge
them. It prints how the ratios are distributed, and the cells in which `auto` is furthest behind.
``--clock cpu`` (with one thread) is for machines that have something else to do.

The JSON document is written after each cell. ``--resume`` goes on where one ends; with ``--only``
it measures the named contenders anew and keeps what the document has of the others.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from statistics import median

import numpy as np
import scipy.sparse as sp

from benchmarks import report
from benchmarks.peers import SOLVERS, Solver, by_default, own
from benchmarks.sweep import write
from benchmarks.system.child import threads
from benchmarks.worker import Worker, store
from benchmarks.workloads import match
from benchmarks.workloads.base import Data, Row, noisy_labels

RESULTS = Path(__file__).parent / "results" / "auto.json"
GAPS = (1e-4, 1e-6)
ROWS, COLUMNS, STRENGTHS = (50, 300_000), (2, 5_000), (1e-4, 1e4)
NAMED = (
    "newton",
    "quasi-newton",
    "dual",
    "augmented-lagrangian",
    "interior-point",
    "proximal-newton",
)
PEER, DEFAULT = "scikit-learn", "scikit-learn's default"
WORST = 20
# The largest allowed ratios of times, of `auto` to the best by name and of columns to rows: in the
# given share of the cells, and in all; and the seconds above which scikit-learn's default must not
# be faster.
MOST, SHARE = {"named": (1.3, 2.0), "columns": (1.15, 1.5)}, 0.95
NOTICED = 0.02
# The least and the largest number of entries in a row of the sparse kinds.
_ENTRIES = {"words": (2.0, 150.0), "one-hot": (2.0, 40.0)}
# The seconds below which a run is repeated, and the most runs of a setting.
_SHORT, _REPEATS = 0.2, 3
# Contenders that are about as fast as the fastest, within this factor, are run in turns once more:
# other load on the machine then slows all of them alike.
_CLOSE = 2.0
# The gap of the bound that scikit-learn's point is judged by; and the least gap that the point is
# assumed to have, for the bound is no better.
_REFERENCE, _FLOOR = 1e-9, 1e-8
# The turns of the default and of `auto` to the same accuracy; and the seconds that end them.
_TURNS, _ENOUGH = 7, 3.0
# The limit of a run: this multiple of the fastest contender's time, and at least these seconds.
_PATIENCE, _LEAST = 8.0, 0.5


@dataclass(frozen=True)
class Cell:
    """One generated table, and the objective that is minimised on it."""

    seed: int
    number: int
    rows: int
    columns: int
    kind: str
    sparse: bool
    density: float
    spread: float  # decades that the scales of columns differ by, to either side
    positive: float  # the share of the class +1
    sharpness: float  # how certain the scores make the labels
    classes: int
    loss: str
    C: float
    l1_ratio: float
    intercept: bool
    one_vs_rest: bool
    single: bool
    threads: int

    @property
    def label(self) -> str:
        return f"{self.seed}/{self.number}"

    @property
    def row(self) -> Row:
        return Row(
            self.kind,
            self.loss,
            self.C,
            self.intercept,
            l1_ratio=self.l1_ratio,
            one_vs_rest=self.one_vs_rest,
        )

    @property
    def text(self) -> str:
        """The description of the cell in a line of the table."""
        parts = [f"{self.rows:,} x {self.columns:,} {self.row.question}", f"C={self.C:.2g}"]
        if self.sparse:
            parts.append(f"{self.density * self.columns:.0f} a row")
        if self.spread:
            parts.append("scales")
        if self.positive < 0.5:
            parts.append(f"{self.positive:.0%} positive")
        if self.classes > 2:
            parts.append(f"{self.classes} classes")
        if self.single:
            parts.append("float32")
        if self.threads > 1:
            parts.append(f"{self.threads} threads")
        return ", ".join(parts)


def _between(rng: np.random.Generator, low: float, high: float) -> float:
    """A random number whose logarithm is uniformly distributed."""
    return float(math.exp(rng.uniform(math.log(low), math.log(high))))


def draw(seed: int, number: int, size: float) -> Cell:
    """A cell, independent of the other cells; ``size`` is the largest number of stored entries."""
    rng = np.random.default_rng([seed, number])
    kinds = ("independent", "correlated", "factors", "one-hot", "words")
    kind = str(rng.choice(kinds, p=(0.3, 0.2, 0.2, 0.15, 0.15)))
    while True:
        n, d = round(_between(rng, *ROWS)), round(_between(rng, *COLUMNS))
        # Entries in a row: words of a text, or categories, which need columns to choose from.
        entries = _between(rng, *_ENTRIES.get(kind, (d, d)))
        sparse = kind == "words" or (kind == "one-hot" and bool(rng.random() < 0.5))
        if n * (entries if sparse else d) <= size and (kind not in _ENTRIES or 4 * entries <= d):
            break
    losses = ("log", "squared_hinge", "hinge", "multinomial")
    loss = str(rng.choice(losses, p=(0.4, 0.25, 0.2, 0.15)))
    one_vs_rest = loss != "multinomial" and bool(rng.random() < 0.1)
    many = one_vs_rest or loss == "multinomial"
    penalised = str(rng.choice(("l2", "l1", "elastic net"), p=(0.75, 0.15, 0.1)))
    ratio = {"l2": 0.0, "l1": 1.0, "elastic net": 0.5}[penalised if loss != "hinge" else "l2"]
    spread = 1.5 if kind not in _ENTRIES and rng.random() < 0.25 else 0.0
    return Cell(
        seed,
        number,
        n,
        d,
        kind,
        sparse,
        entries / d,
        spread,
        positive=0.5 if many else float(rng.choice((0.5, 0.5, 0.2, 0.03))),
        sharpness=_between(rng, 0.5, 20.0),
        classes=min(int(rng.integers(3, 13)), n // 10) if many else 2,
        loss=loss,
        C=_between(rng, *STRENGTHS),
        l1_ratio=ratio,
        intercept=bool(rng.random() < 0.5),
        one_vs_rest=one_vs_rest,
        single=bool(rng.random() < 0.15),
        threads=int(rng.choice((1, 2))),
    )


def drawn(seeds: Iterable[int], count: int, size: float) -> list[Cell]:
    """The first ``count`` cells of each seed."""
    return [draw(seed, number, size) for seed in seeds for number in range(count)]


def _dense(cell: Cell, rng: np.random.Generator) -> np.ndarray:
    n, d = cell.rows, cell.columns
    X = rng.standard_normal((n, d))
    if cell.kind == "correlated":
        for j in range(1, d):
            X[:, j] = 0.9 * X[:, j - 1] + math.sqrt(1.0 - 0.81) * X[:, j]
    elif cell.kind == "factors":
        count = round(_between(rng, 1, max(1.0, d / 2)))
        X *= _between(rng, 0.03, 1.0)
        factors = rng.standard_normal((n, count)), rng.standard_normal((count, d))
        X += factors[0] @ factors[1] / math.sqrt(count)
    if cell.spread:
        X *= 10.0 ** rng.uniform(-cell.spread, cell.spread, d)
    return X


def _one_hot(cell: Cell, rng: np.random.Generator) -> sp.csr_matrix:
    """Columns that are levels of categories, of which every row has one each."""
    n, d = cell.rows, cell.columns
    categories = max(1, round(cell.density * d))
    edges = np.unique(np.concatenate([[0, d], rng.choice(d, min(categories, d) - 1, False)]))
    columns = []
    for low, high in pairwise(edges):
        # Levels that are as frequent as words are.
        weights = 1.0 / np.arange(1.0, high - low + 1.0)
        columns.append(low + rng.choice(high - low, n, p=weights / weights.sum()))
    indices = np.stack(columns, axis=1)
    indptr = np.arange(0, indices.size + 1, indices.shape[1])
    return sp.csr_matrix((np.ones(indices.size), indices.ravel(), indptr), shape=(n, d))


def _words(cell: Cell, rng: np.random.Generator) -> sp.csr_matrix:
    """Rows of unit length, with a few entries in frequent columns and in rare ones."""
    n, d = cell.rows, cell.columns
    weights = 1.0 / np.arange(1.0, d + 1.0)
    lengths = np.maximum(1, rng.poisson(cell.density * d, n))
    rows = np.repeat(np.arange(n), lengths)
    columns = rng.choice(d, len(rows), p=weights / weights.sum())
    X = sp.csr_matrix((rng.exponential(1.0, len(rows)), (rows, columns)), shape=(n, d))
    X.sum_duplicates()
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    return sp.csr_matrix(sp.diags_array(1.0 / norms) @ X)


def made(cell: Cell) -> Data:
    """The table of a cell, with labels of every class."""
    rng = np.random.default_rng([cell.seed, cell.number, 1])
    make = {"one-hot": _one_hot, "words": _words}.get(cell.kind)
    X = make(cell, rng) if make else _dense(cell, rng)
    # Weights on the scale of each column's own, so that all have a say.
    squares = X.multiply(X) if sp.issparse(X) else np.square(X)
    scale = np.sqrt(np.maximum(np.asarray(squares.mean(axis=0)).ravel(), 1e-12))
    shape = (cell.columns, cell.classes) if cell.classes > 2 else (cell.columns,)
    scores = X @ (rng.standard_normal(shape).T / scale).T
    if cell.classes > 2:
        scores = cell.sharpness * (scores - scores.mean(axis=0)) / scores.std()
        y = np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)
        y[: cell.classes] = np.arange(cell.classes)
    else:
        y = noisy_labels(scores, rng, cell.sharpness, cell.positive)
        y[:2] = -1.0, 1.0
    kind = np.float32 if cell.single else np.float64
    if cell.sparse:
        return Data(y=y, csr=sp.csr_matrix(X, dtype=kind))
    dense = X.toarray() if sp.issparse(X) else X
    return Data(y=y, dense=np.ascontiguousarray(dense, dtype=kind))


# --- the contenders -------------------------------------------------------------------------------


def peer(cell: Cell) -> Solver | None:
    """The solver that scikit-learn's estimator uses for the cell by default; None without one."""
    if cell.loss in ("log", "multinomial"):
        name = "lbfgs" if cell.l1_ratio == 0.0 else "liblinear"
    else:
        primal = cell.loss == "squared_hinge" and (cell.rows >= cell.columns or cell.l1_ratio)
        name = "LinearSVC primal" if primal else "LinearSVC dual"
    found = next(solver for solver in SOLVERS if solver.name == name)
    return found if found.fits(cell.row, cell.columns) else None


def default(cell: Cell) -> Solver | None:
    """scikit-learn's estimator with its own settings; None where it minimises something else."""
    found = by_default(cell.loss)
    return found if cell.l1_ratio != 0.5 and found.fits(cell.row, cell.columns) else None


def contenders(cell: Cell, limit: float) -> dict[str, tuple[Solver, str]]:
    """Solvers by name, each with its form of the data; one that does not apply fails by itself."""
    form = "csr" if cell.sparse else "dense"
    found = {"auto": (own("auto", GAPS, limit), form)}
    if not cell.sparse:
        found["columns"] = (own("auto", GAPS, limit), "columns")
    found |= {name: (own(name, GAPS, limit), form) for name in NAMED}
    other = peer(cell)
    if other is not None:
        found[PEER] = other, form
    plain = default(cell)
    if plain is not None:
        found[DEFAULT] = plain, form
    return found


class Bench:
    """The processes that fit, one for each group of solvers and number of threads."""

    def __init__(self, folder: Path, limit: float, clock: str) -> None:
        self.folder, self.limit, self.clock = folder, limit, clock
        # Where others use the machine too, a processor second takes longer than a second.
        self.patience = 4.0 if clock == "cpu" else 1.0
        self._workers: dict[tuple[str, int], Worker] = {}

    def run(
        self, solver: Solver, form: str, cell: Cell, setting: float, limit: float
    ) -> dict | None:
        key = solver.group, cell.threads
        worker = self._workers.get(key)
        if worker is None or not worker.alive:
            os.environ.update(threads(cell.threads))  # read by its libraries when they load
            worker = self._workers[key] = Worker(self.folder, form, clock=self.clock)
        worker.folder, worker.form = self.folder / cell.label, form
        return worker.run(solver, cell.row, setting, self.patience * limit + 1.0)

    def close(self) -> None:
        for worker in self._workers.values():
            worker.close()

    def measure(self, cell: Cell, names: Iterable[str], known: dict[str, dict]) -> dict[str, dict]:
        """Seconds of contenders by gap; ``known`` are those that were measured before."""
        runs = dict(known)
        ready = contenders(cell, self.patience * self.limit)
        for name in (n for n in ready if n in names):
            solver, form = ready[name]
            measured = {PEER: self._peer, DEFAULT: self._default}.get(name, self._own)
            runs[name] = measured(cell, solver, form, runs)
        own = {name: ready[name] for name in ("auto", *NAMED) if name in ready}
        for gap in GAPS:
            self._in_turns(cell, own, gap, runs)
        return runs

    def _in_turns(
        self, cell: Cell, own: dict[str, tuple[Solver, str]], gap: float, runs: dict[str, dict]
    ) -> None:
        """Run this library's contenders that are close together again, one after the other."""
        fastest = fastest_of(runs, gap, own)
        if fastest is None or fastest[0] >= _SHORT:
            return
        key = f"{gap:g}"
        found = {name: runs[name]["seconds"] for name in own if name in runs}
        found = {name: seconds for name, seconds in found.items() if key in seconds}
        close = [name for name in found if found[name][key] <= _CLOSE * fastest[0]]
        for _ in range(_REPEATS if len(close) > 1 else 0):
            for name in close:
                solver, form = own[name]
                record = self.run(solver, form, cell, gap, self.limit)
                if record is not None and "error" not in record:
                    found[name][key] = min(found[name][key], record["seconds"])

    def _limit(self, runs: dict[str, dict], gap: float) -> float:
        fastest = fastest_of(runs, gap, runs)
        if fastest is None:
            return self.limit
        return min(self.limit, max(_PATIENCE * fastest[0], _LEAST))

    def _times(
        self, solver: Solver, form: str, cell: Cell, setting: float, limit: float
    ) -> tuple[list[float], dict | None]:
        """Seconds of repeated runs, and the record of the last one."""
        times: list[float] = []
        record: dict | None = None
        while not times or (len(times) < _REPEATS and min(times) < _SHORT):
            record = self.run(solver, form, cell, setting, limit)
            if record is None or "error" in record:
                return times, record
            times.append(record["seconds"])
        return times, record

    def _own(self, cell: Cell, solver: Solver, form: str, runs: dict[str, dict]) -> dict:
        found: dict = {"seconds": {}, "primal": None, "over": None, "iterations": {}}
        for gap in GAPS:
            limit = self._limit(runs, gap)
            times, record = self._times(solver, form, cell, gap, limit)
            if record is None or "error" in record:
                found["over" if record is None else "error"] = (
                    limit if record is None else (record["error"])
                )
                return found
            found["iterations"][f"{gap:g}"] = record["n_iter"]
            found["primal"] = record["primal"]
            if record["claims"]["status"] != "optimal":
                found["over"], found["status"] = min(times), record["claims"]["status"]
                return found
            found["seconds"][f"{gap:g}"] = min(times)
        return found

    def _peer(self, cell: Cell, solver: Solver, form: str, runs: dict[str, dict]) -> dict:
        found: dict = {"seconds": {}, "primal": None, "over": None, "name": solver.name}
        values = [run["primal"] for run in runs.values() if run.get("primal") is not None]
        left = list(GAPS)
        for setting in solver.settings:
            limit = self._limit(runs, left[0])
            times, record = self._times(solver, form, cell, setting, limit)
            if record is None or "error" in record:
                found["over" if record is None else "error"] = (
                    limit if record is None else (record["error"])
                )
                break
            best = min([*values, record["primal"]])
            while left and record["primal"] - best <= left[0] * abs(best):
                found["seconds"][f"{left.pop(0):g}"] = min(times)
            found["primal"] = record["primal"]
            if not left or min(times) > limit:
                break
        return found

    def _default(self, cell: Cell, solver: Solver, form: str, runs: dict[str, dict]) -> dict:
        """scikit-learn's default, and `auto` to the gap that the default reached, in turns."""
        found: dict = {"seconds": {}, "primal": None, "over": None}
        limit = self.patience * self.limit
        theirs = self.run(solver, form, cell, solver.settings[0], limit)
        ours = own("auto", GAPS, limit)
        best = self.run(ours, form, cell, _REFERENCE, limit)
        if theirs is None or best is None or "error" in theirs or "error" in best:
            found["over"] = self.limit
            return found
        gap = (theirs["primal"] - best["claims"]["dual"]) / abs(theirs["primal"])
        found |= {"primal": theirs["primal"], "off": gap, "iterations": theirs["n_iter"]}
        times: tuple[list[float], list[float]] = [], []
        while len(times[0]) < _TURNS and sum(map(sum, times)) < _ENOUGH:
            for taken, (one, setting) in zip(
                times, ((solver, solver.settings[0]), (ours, max(gap, _FLOOR))), strict=True
            ):
                record = self.run(one, form, cell, setting, limit)
                if record is None or "error" in record:
                    found["over"] = self.limit
                    return found
                taken.append(record["seconds"])
                status = record["claims"]["status"] if record["claims"] else None
        found |= {"status": status, "theirs": median(times[0]), "ours": median(times[1])}
        return found


# --- what is printed ------------------------------------------------------------------------------


def fastest_of(runs: dict[str, dict], gap: float, names: Iterable[str]) -> tuple[float, str] | None:
    """Seconds and name of the fastest of some contenders to a gap."""
    found = [
        (runs[name]["seconds"][f"{gap:g}"], name)
        for name in names
        if name in runs and f"{gap:g}" in runs[name]["seconds"]
    ]
    return min(found, default=None)


@dataclass(frozen=True)
class Line:
    """The times of a cell to one gap, of `auto` and of the others; None where there are none."""

    cell: dict
    gap: float
    auto: float | None
    named: tuple[float, str] | None
    peer: float | None
    columns: float | None
    over: float | None  # the limit that `auto` did not keep

    @property
    def behind(self) -> float | None:
        """The time of `auto`, or at least its limit, divided by the best named solver's time."""
        own = self.auto if self.auto is not None else self.over
        return own / self.named[0] if own is not None and self.named else None


def lines(document: dict) -> Iterator[Line]:
    """The lines of the measured cells, one for each gap."""
    for cell in document["cells"]:
        runs = cell["runs"]
        if "auto" not in runs:
            continue
        for gap in GAPS:
            seconds = {name: run["seconds"].get(f"{gap:g}") for name, run in runs.items()}
            yield Line(
                cell,
                gap,
                seconds["auto"],
                fastest_of(runs, gap, NAMED),
                seconds.get(PEER),
                seconds.get("columns"),
                runs["auto"]["over"],
            )


def _distribution(title: str, ratios: list[float], most: Sequence[float]) -> list[str]:
    if not ratios:
        return [title, "0", *[""] * (4 + len(most))]
    shares = [f"{np.mean(np.array(ratios) <= limit):.0%} <= {limit:g}" for limit in most]
    quantiles = np.quantile(ratios, (0.5, 0.9, 0.95, 1.0))
    return [title, str(len(ratios)), *(f"{q:.2f}" for q in quantiles), *shares]


def _beside_default(document: dict) -> list[str]:
    """The comparison of `auto` with scikit-learn's default at equal accuracy, the worst first."""
    cells = [
        (run["ours"] / run["theirs"], run, cell)
        for cell in document["cells"]
        if "ours" in (run := cell["runs"].get(DEFAULT, {}))
    ]
    if not cells:
        return []
    noticed = [ratio for ratio, run, _ in cells if run["ours"] > NOTICED]
    shown = [["seconds at equal suboptimality", "cells", "median", "90 %", "95 %", "most", "", ""]]
    shown.append(_distribution(f"auto / {DEFAULT}", [c[0] for c in cells], (1.0, 2.0)))
    title = f"where auto takes more than {1000 * NOTICED:.0f} ms"
    shown.append(_distribution(title, noticed, (1.0, 2.0)))
    table = [["cell", "", "suboptimality", "auto", DEFAULT, "ratio"]]
    for ratio, run, cell in sorted(cells, key=lambda c: -c[0])[:WORST]:
        table.append(
            [
                "{seed}/{number}".format(**cell),
                cell["text"],
                f"{run['off']:.1g}",
                f"{run['ours']:.3g}",
                f"{run['theirs']:.3g}",
                f"{ratio:.2f}",
            ]
        )
    return [report.layout(shown, left=(0,)), report.layout(table, left=(1,))]


def text(document: dict) -> str:
    """The distribution of the ratios, and the cells in which `auto` is furthest behind."""
    parts = []
    for gap in GAPS:
        these = [line for line in lines(document) if line.gap == gap]
        named = [line.behind for line in these if line.behind is not None]
        beside = [
            (line.auto / line.peer, line.auto)
            for line in these
            if line.auto is not None and line.peer is not None
        ]
        columns = [
            line.columns / line.auto
            for line in these
            if line.columns is not None and line.auto is not None
        ]
        noticed = [ratio for ratio, seconds in beside if seconds > NOTICED]
        shown = [["seconds", "cells", "median", "90 %", "95 %", "most", "", ""]]
        shown.append(_distribution("auto / best by name", named, MOST["named"]))
        shown.append(_distribution("auto / scikit-learn", [r for r, _ in beside], (1.0, 2.0)))
        title = f"where auto takes more than {1000 * NOTICED:.0f} ms"
        shown.append(_distribution(title, noticed, (1.0, 2.0)))
        shown.append(_distribution("by columns / by rows", columns, MOST["columns"]))
        missed = sum(line.auto is None for line in these)
        parts.append(
            f"To a relative gap of {gap:g}: {len(these)} cells, {missed} of them not in time\n\n"
            + report.layout(shown, left=(0,))
        )
    worst = sorted(
        (line for line in lines(document) if line.behind is not None),
        key=lambda line: -(line.behind or 0.0),
    )
    table = [["cell", "", "gap", "auto", "best by name", "", "ratio", "scikit-learn", "columns"]]
    for line in worst[:WORST]:
        assert line.named is not None and line.behind is not None
        times = [line.peer, line.columns]
        table.append(
            [
                "{seed}/{number}".format(**line.cell),
                line.cell["text"],
                f"{line.gap:g}",
                f">{line.over:.3g}" if line.auto is None else f"{line.auto:.3g}",
                f"{line.named[0]:.3g}",
                line.named[1],
                f"{line.behind:.2f}",
                *("" if s is None else f"{s:.3g}" for s in times),
            ]
        )
    parts.append(report.layout(table, left=(1, 5)) if len(table) > 1 else "No cell was measured.")
    parts += _beside_default(document)
    clock, cpu = document["options"]["clock"], document["machine"]["cpu"]
    parts.append(f"Seconds by the {clock} clock, {document['date']}, {cpu}.")
    return "\n\n".join(parts) + "\n"


# --- the command ----------------------------------------------------------------------------------


def seeds_of(words: str) -> list[int]:
    """``"0-3,7"`` is 0, 1, 2, 3 and 7.

    Raises
    ------
    argparse.ArgumentTypeError
        For any other text.
    """
    try:
        found: list[int] = []
        for part in words.split(","):
            first, dash, last = part.partition("-")
            found += range(int(first), int(last if dash else first) + 1)
        return found
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{words!r} is no list of seeds such as 0-9 or 3,5"
        ) from None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks auto", description=__doc__)
    add = parser.add_argument
    add("--seeds", type=seeds_of, default=seeds_of("0-9"), help="such as 0-9 or 3,5 (0-9)")
    add("--cells", type=int, default=10, metavar="N", help="cells of each seed (10)")
    add("--size", type=float, default=1e7, metavar="N", help="the most stored entries (1e7)")
    add("--rows", nargs="+", default=[], metavar="CELL", help="cells such as 3/7, globs too")
    add("--only", nargs="+", default=[], metavar="NAME", help="contenders, globs too")
    add("--limit", type=float, default=3.0, metavar="S", help="seconds that a fit may take (3)")
    add("--clock", choices=("wall", "cpu"), default="wall", help="what is timed (wall)")
    add("--threads", type=int, metavar="N", help="for all cells alike; by default one or two")
    add("--json", type=Path, default=RESULTS, metavar="FILE", help="the JSON document")
    add("--resume", action="store_true", help="keep what the JSON document has, and go on")
    add("--table", action="store_true", help="print what the JSON document has; measure nothing")
    add("--list", action="store_true", help="print the cells, and stop")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    args = _parser().parse_args(argv)
    if args.table:
        print(text(json.loads(args.json.read_text())))
        return 0
    cells = [c for c in drawn(args.seeds, args.cells, args.size) if match(c.label, args.rows)]
    fixed = args.threads or (1 if args.clock == "cpu" else None)
    if fixed:
        cells = [Cell(**{**asdict(cell), "threads": fixed}) for cell in cells]
    if args.list:
        print(*(f"{cell.label:>6s}  {cell.text}" for cell in cells), sep="\n")
        return 0
    document = {
        "format": 1,
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": report.machine(fixed or 2),
        "options": {"clock": args.clock, "limit": args.limit, "size": args.size},
        "cells": [],
    }
    if args.resume and args.json.is_file():
        document = json.loads(args.json.read_text())
    records = {"{seed}/{number}".format(**record): record for record in document["cells"]}
    args.json.parent.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="bench-auto-") as folder:
        bench = Bench(Path(folder), args.limit, args.clock)
        try:
            for cell in cells:
                record = records.get(cell.label)
                if record is None:
                    record = {**asdict(cell), "text": cell.text, "runs": {}}
                    records[cell.label] = record
                    document["cells"].append(record)
                names = [name for name in contenders(cell, args.limit) if match(name, args.only)]
                if not args.only:
                    names = [name for name in names if name not in record["runs"]]
                if names:
                    known = {n: run for n, run in record["runs"].items() if n not in names}
                    place = Path(folder) / cell.label
                    store(made(cell), place)
                    record["runs"] = bench.measure(cell, names, known)
                    for file in place.iterdir():
                        file.unlink()
                    seconds = time.perf_counter() - start
                    print(f"{seconds:7.0f} s  {_said(cell, record)}", file=sys.stderr, flush=True)
                    write(document, args.json)
        except KeyboardInterrupt:
            print("interrupted: the cells so far", file=sys.stderr)
        finally:
            bench.close()
    print(text(document))
    return 0


def _said(cell: Cell, record: dict) -> str:
    runs, gap = record["runs"], f"{GAPS[-1]:g}"
    times = {name: run["seconds"].get(gap) for name, run in runs.items() if "error" not in run}
    if "ours" in (plain := runs.get(DEFAULT, {})):
        times |= {DEFAULT: plain["theirs"], "auto to that": plain["ours"]}
    shown = (f"{name} {'-' if s is None else f'{s:.3g}'}" for name, s in times.items())
    return f"{cell.label} {cell.text}: {', '.join(shown)}"
