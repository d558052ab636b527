"""``python -m benchmarks ablation``: what each trick of the solvers is worth.

A trick is a part of a solver without which the optimum is the same and the way to it longer.  Here
each is switched off, by the record of constants that its solver takes or by the name of what it
does, on rows on which it is used.  Both ways take turns in one process, after a warm-up, and are
timed by that process's own clock, so that others may use the machine meanwhile; each number is the
median of their fits.  A trick earns its place where a row says 1.3 or more.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, partial
from typing import Any

import numpy as np
import scipy.sparse as sp

import separatrix
from benchmarks import report
from benchmarks.workloads import dense, load_workloads, match
from separatrix import SVC, LogisticRegression, Perceptron, select_solver
from separatrix._compiled import narrow_products, outer_products
from separatrix.data.design import as_design
from separatrix.losses import EpsilonInsensitive, Hinge, LogLoss, SquaredHinge, SquaredResidual
from separatrix.objectives.margin import MarginObjective
from separatrix.objectives.penalties import L1, L2, ElasticNet
from separatrix.objectives.residual import ResidualObjective
from separatrix.objectives.softmax import SoftmaxObjective
from separatrix.scale import Local, scan
from separatrix.scale.kinked import BlockedKinked
from separatrix.scale.objectives import BlockedPointwise
from separatrix.solvers import (
    AugmentedLagrangian,
    ColumnDescent,
    DualDescent,
    InteriorPoint,
    Newton,
    ProximalNewton,
    QuasiNewton,
    Screening,
    Smoothing,
    Switching,
    TwoLevels,
    augmented_lagrangian,
    dual_descent,
    newton,
    proximal_newton,
    quasi_newton,
    screening,
)
from separatrix.solvers.driver import minimise
from separatrix.solvers.protocol import Solver
from separatrix.solvers.warm_starts import Continuation

__all__ = ["ABLATIONS", "Ablation", "Found", "main", "measure", "text"]

TOL = 1e-6
# The number of timed fits on each side, and the seconds after which a fit is broken off.
REPEATS, LIMIT = 5, 40.0
# A fit that takes more seconds is repeated once, and one that ends above the gap never.
LONG = 4.0
# The ratio from which on a trick earns its place.
EARNED = 1.3

Fit = Callable[[], bool]


@dataclass(frozen=True)
class Ablation:
    """A trick on a row: a fit with it and one without, each of which returns if it is certified.

    ``sides`` reads the data and returns both fits.
    """

    trick: str
    row: str
    sides: Callable[[], tuple[Fit, Fit]]


@dataclass(frozen=True)
class Found:
    """Median times in milliseconds of the process's clock, and which sides ended above the gap."""

    trick: str
    row: str
    having: float
    lacking: float
    ended: tuple[bool, bool]

    @property
    def ratio(self) -> float:
        """The time of the fit without the trick, divided by the time with it."""
        return self.lacking / self.having


# --- data ---------------------------------------------------------------------------------------


@cache
def _workload(name: str) -> Any:
    data = next(w for w in load_workloads() if w.name == name).load()
    return (data.csr if data.csr is not None else data.dense), data.y


@cache
def _standardised(name: str) -> tuple[np.ndarray, np.ndarray]:
    from benchmarks.small import load

    return load(name)


@cache
def _categories(n: int, levels: tuple[int, ...], seed: int = 0) -> tuple[sp.csr_matrix, np.ndarray]:
    """Rows with one level each of some categories, few levels of which are frequent."""
    rng = np.random.default_rng(seed)
    score, columns, first = np.full(n, -1.5), [], 0
    for k, count in enumerate(levels):
        level = np.minimum((count ** rng.random(n)).astype(int), count) - 1
        score += np.sin(level * (1.0 + k))
        columns.append(first + rng.permutation(count)[level])
        first += count
    ends = np.arange(n + 1) * len(levels)
    indices = np.array(columns).T.ravel()
    X = sp.csr_matrix((np.ones(len(indices)), indices, ends), shape=(n, first))
    return X, np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-score)), 1.0, -1.0)


@cache
def _tall(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows of normal columns, and labels that follow them with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    score = X @ rng.normal(size=d) / math.sqrt(d) + rng.logistic(size=n)
    return X, np.where(score > 0.0, 1.0, -1.0)


LOSSES: dict[str, Callable[[], Any]] = {
    "log": LogLoss,
    "hinge": Hinge,
    "squared hinge": SquaredHinge,
}


def _objective(
    data: Callable[[], Any], loss: str, C: float, penalty: Any = None, *, intercept: bool = False
) -> Callable[[], Any]:
    """Sets up an objective anew, as every fit does, so that nothing is kept from the last one."""

    def made() -> Any:
        X, y = data()
        options = {"C": C, "fit_intercept": intercept}
        if loss == "multinomial":
            codes = np.unique(y, return_inverse=True)[1]
            return SoftmaxObjective(
                as_design(X), codes, int(codes.max()) + 1, penalty or L2(), **options
            )
        signs = np.where(y == np.max(y), 1.0, -1.0)
        return MarginObjective(as_design(X), signs, LOSSES[loss](), penalty or L2(), **options)

    return made


def _in_passes(data: Callable[[], Any], loss: str, C: float, rows: int) -> Callable[[], Any]:
    def made() -> Any:
        X, y = data()
        blocks = scan(X, y, block_rows=rows)
        if loss == "hinge":
            return BlockedKinked(blocks, Local(), Hinge(), L2(), C=C)
        return BlockedPointwise(blocks, Local(), LOSSES[loss](), L2(), C=C)

    return made


# --- both sides ---------------------------------------------------------------------------------


def _fit(problem: Callable[[], Any], solver: Callable[[Any], Any]) -> Fit:
    def fitted() -> bool:
        made = problem()
        found = minimise(made, solver(made), tol=TOL, max_iter=1_000_000, time_limit=LIMIT, seed=0)
        return bool(found.certificate.ok)

    return fitted


def _solvers(
    trick: str,
    rows: dict[str, Callable[[], Any]],
    having: Callable[[Any], Any],
    lacking: Callable[[Any], Any],
) -> list[Ablation]:
    """One trick on some rows, by a solver that has it and one that lacks it."""

    def sides(problem: Callable[[], Any]) -> Callable[[], tuple[Fit, Fit]]:
        return lambda: (_fit(problem, having), _fit(problem, lacking))

    return [Ablation(trick, row, sides(problem)) for row, problem in rows.items()]


def _path(data: Callable[[], Any], solver: Solver) -> Fit:
    """Twenty fits along values of C, each of which starts from those before."""

    def fitted() -> bool:
        X, y = data()
        design, signs = as_design(X), np.where(y == np.max(y), 1.0, -1.0)
        chain, ok = Continuation(), True
        for C in np.geomspace(1e-2, 1e2, 20):
            problem = MarginObjective(design, signs, LogLoss(), L2(), C=C)
            own = chain.method(0, solver)
            found = minimise(problem, own, tol=1e-4, seed=0, **chain.start(0, problem))
            chain.add(0, problem, found, own)
            ok = ok and found.certificate.ok
        return ok

    return fitted


def _paths(
    trick: str, having: Solver, lacking: Solver, **rows: Callable[[], Any]
) -> list[Ablation]:
    def sides(data: Callable[[], Any]) -> Callable[[], tuple[Fit, Fit]]:
        return lambda: (_path(data, having), _path(data, lacking))

    return [Ablation(trick, f"path of {name} log", sides(data)) for name, data in rows.items()]


@contextlib.contextmanager
def _without_tiles() -> Iterator[None]:
    """Switch the tiles off, as on a processor for which they are not made."""
    before = outer_products.KNOWN, narrow_products.KNOWN
    outer_products.KNOWN = narrow_products.KNOWN = False
    try:
        yield
    finally:
        outer_products.KNOWN, narrow_products.KNOWN = before


def _estimators(
    trick: str,
    row: str,
    data: Callable[[], Any],
    having: Callable[[], Any],
    lacking: Callable[[], Any],
    around: Callable[[], Any] = contextlib.nullcontext,
) -> Ablation:
    """One trick on a row, by two estimators, the second one's fits in a context."""

    def fit(make: Callable[[], Any], context: Callable[[], Any]) -> Fit:
        def fitted() -> bool:
            X, y = data()
            with context():
                model = make().fit(X, y)
            return bool(model.certificate_.ok)

        return fitted

    return Ablation(trick, row, lambda: (fit(having, contextlib.nullcontext), fit(lacking, around)))


class _Never:
    @staticmethod
    def of(problems: Any) -> None:
        """Make no batch of the machines, so that each is fitted by itself."""


class _Apart(SVC):
    _batched = _Never


class _PassByPass(Perceptron):
    def _solver(self, *arguments: Any) -> Any:
        solver = super()._solver(*arguments)
        solver.at_once = False
        return solver


def _reviews() -> Any:
    return _workload("reviews")


def _adult() -> Any:
    return _workload("adult")


def _embeddings() -> Any:
    return _workload("embeddings")


def _digits() -> Any:
    return _workload("digits")


@cache
def _separable(n: int, d: int, margin: float) -> tuple[np.ndarray, np.ndarray]:
    """Normally distributed rows without those too near to a plane, and the side of each."""
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(n, d)), rng.normal(size=d)
    score = X @ w / np.linalg.norm(w)
    far = np.abs(score) > margin
    return X[far], np.sign(score[far])


def _small(name: str) -> Callable[[], Any]:
    return lambda: _standardised(name)


def _images() -> Any:
    X, y = _workload("images")
    return X[:2500], y[:2500]


@cache
def _words() -> Any:
    """The first 4,000 reviews, in five classes that depend on a twentieth of the words."""
    X, rng = _workload("reviews")[0][:4000], np.random.default_rng(0)
    weights = rng.normal(size=(X.shape[1], 5)) * (rng.random((X.shape[1], 1)) < 0.05)
    scores = X @ weights
    return X, np.argmax(2.0 * scores / scores.std() + rng.gumbel(size=scores.shape), axis=1)


def _clicks() -> Any:
    return _categories(100_000, (20, 100, 300, 300, 1000, 1000, 4000, 4000, 20_000, 20_000))


def _wide_tall() -> Any:
    return _tall(200_000, 30)


def _columns() -> Any:
    return _tall(100_000, 60)


def _wide() -> Any:
    return _tall(4000, 2000)


def _taller() -> Any:
    return _tall(150_000, 40)


def _lasso(n: int, d: int, share: float) -> Callable[[], Any]:
    """Squared residuals with L1, at a share of the least strength at which all weights are zero."""
    rng = np.random.default_rng(0)
    X, w = np.asfortranarray(rng.normal(size=(n, d))), np.zeros(d)
    w[:30] = rng.normal(size=30)
    y = X @ w + 2.0 * rng.normal(size=n)
    C = 1.0 / (share * float(np.abs(X.T @ (y - y.mean())).max()))
    return lambda: ResidualObjective(as_design(X), y, SquaredResidual(), L1(), C=C)


def _collinear() -> Any:
    data = dense.load(5000, 500)
    return data.dense, data.y


@cache
def _noisy(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns that share a few factors, and numbers that follow them with heavy tails."""
    X, rng = dense.load(n, d).dense, np.random.default_rng(1)
    return X, X @ rng.normal(size=d) + rng.standard_t(3, n)


def _tube(n: int, d: int, epsilon: float) -> Any:
    X, y = _noisy(n, d)
    return ResidualObjective(as_design(X), y, EpsilonInsensitive(epsilon))


def _alone(problem: Any) -> Any:
    """The method that would take over from dual descent, or that is chosen without it."""
    chosen = select_solver(problem)
    return chosen.second if isinstance(chosen, Switching) else chosen


def _not_compiled(problem: Any) -> Any:
    if problem.smooth:
        return Newton(tuning=newton.Tuning(small=False))
    return AugmentedLagrangian(augmented_lagrangian.Tuning(small=False))


def _compiled(problem: Any) -> Any:
    return Newton() if problem.smooth else AugmentedLagrangian()


def _constant(solver: Any) -> Callable[[Any], Any]:
    return lambda problem: solver


def _rows(
    data: Callable[[], Any],
    name: str,
    *cells: tuple[str, float],
    penalty: Any = None,
    **options: Any,
) -> dict[str, Callable[[], Any]]:
    """Objectives on one data set, by name."""
    words = name if penalty is None else f"{name} L1"
    return {
        f"{words} {loss} C={C:g}": _objective(data, loss, C, penalty, **options)
        for loss, C in cells
    }


def _without(**constants: Any) -> Callable[[Any], Any]:
    return _constant(ProximalNewton(proximal_newton.Tuning(**constants)))


_SWITCHED = {
    **_rows(_reviews, "reviews", ("log", 1.0), ("squared hinge", 100.0)),
    **_rows(_adult, "adult", ("hinge", 1.0)),
    **_rows(_embeddings, "embeddings", ("hinge", 1.0)),
}
_DUAL = {
    **_rows(_reviews, "reviews", ("hinge", 1.0), ("hinge", 100.0), ("squared hinge", 100.0)),
    **_rows(_adult, "adult", ("squared hinge", 1.0)),
    **_rows(_embeddings, "embeddings", ("hinge", 1.0)),
}
_CLICKED = _rows(_clicks, "categories", ("log", 1.0), ("log", 100.0))
_HELD = {
    **_rows(_adult, "adult", ("hinge", 1.0)),
    **_rows(_embeddings, "embeddings", ("hinge", 1.0)),
    **_rows(_columns, "100,000 x 60", ("hinge", 1.0)),
}
_SAMPLED = {
    **_rows(_adult, "adult", ("log", 1.0)),
    **_rows(_columns, "100,000 x 60", ("log", 1.0)),
    **_rows(_embeddings, "embeddings", ("log", 1.0)),
}
_SMALL = {
    **_rows(_small("tiny"), "100 x 2", ("log", 1.0), ("hinge", 1.0), intercept=True),
    **_rows(_small("cancer"), "cancer", ("log", 1.0), ("hinge", 1.0), intercept=True),
    **_rows(_small("iris"), "iris", ("multinomial", 1.0), intercept=True),
}
_KINKED = {
    **_rows(_reviews, "reviews", ("log", 1.0), ("log", 3.0), penalty=L1()),
}
_CLASSES = {
    **_rows(_images, "2,500 images", ("multinomial", 0.1), penalty=L1()),
    **_rows(
        _words,
        "4,000 reviews, 5 classes",
        ("multinomial", 1.0),
        ("multinomial", 10.0),
        penalty=L1(),
    ),
}
_INSIDE = _rows(_collinear, "5,000 x 500, collinear", ("hinge", 1.0), ("hinge", 100.0))
_LASSO = {"2,000 x 100": (2000, 100, 0.05), "500 x 2,000": (500, 2000, 0.01)}
_PASSES = {"categories in passes log C=1": _in_passes(_clicks, "log", 1.0, 25_000)}
_NEAR = {"200,000 x 30 in passes hinge C=1": _in_passes(_wide_tall, "hinge", 1.0, 50_000)}

#: Every trick on every row.
ABLATIONS: tuple[Ablation, ...] = (
    *_solvers("switching, beside the second method", _SWITCHED, select_solver, _alone),
    *_solvers("switching, beside dual descent", _SWITCHED, select_solver, _constant(DualDescent())),
    *_solvers(
        "two-level preconditioner",
        _CLICKED,
        _constant(Newton(dense=False, levels=True)),
        _constant(Newton(dense=False)),
    ),
    *_solvers(
        "interior points, beside the augmented Lagrangian",
        _INSIDE,
        _constant(InteriorPoint()),
        _constant(AugmentedLagrangian()),
    ),
    *_solvers(
        "interior points, beside envelopes",
        {
            f"{n:,} x {d} epsilon-insensitive, epsilon={epsilon:g}": partial(_tube, n, d, epsilon)
            for n, d, epsilon in ((20_000, 50, 0.5), (3000, 170, 0.0))
        },
        _constant(InteriorPoint()),
        _constant(Smoothing(select_solver)),
    ),
    *_solvers("levels in passes", _PASSES, _constant(TwoLevels()), _constant(QuasiNewton())),
    *(
        _estimators("batched decomposition", f"{name} SVC", data, SVC, _Apart)
        for name, data in {"iris": _small("iris"), "digits": _digits}.items()
    ),
    *(
        _estimators(
            "several passes in one call", f"{n:,} x {d} Perceptron",
            partial(_separable, n, d, margin), Perceptron, _PassByPass,
        )
        for n, d, margin in ((200, 5, 0.2), (3000, 20, 0.05))
    ),
    *_solvers("compiled steps", _SMALL, _compiled, _not_compiled),
    *_solvers(
        "extrapolation of dual descent",
        _DUAL,
        _constant(DualDescent()),
        _constant(DualDescent(dual_descent.Tuning(early=math.inf))),
    ),
    *_solvers(
        "rows in groups",
        _DUAL,
        _constant(DualDescent()),
        _constant(DualDescent(dual_descent.Tuning(group=1))),
    ),
    *_solvers(
        "rows that are held",
        _HELD,
        _constant(AugmentedLagrangian()),
        _constant(AugmentedLagrangian(augmented_lagrangian.Tuning(large=math.inf))),
    ),
    *_solvers(
        "rows near the kink in passes",
        _NEAR,
        _constant(Screening(select_solver)),
        _constant(Screening(select_solver, screening.Tuning(crowded=-1.0))),
    ),
    *_solvers("Hessian of a sample", _SAMPLED, _constant(QuasiNewton()), _constant(Newton())),
    *_paths(
        "Hessian of the fit before",
        QuasiNewton(),
        QuasiNewton(quasi_newton.Tuning(most_kept=0)),
        adult=lambda: _workload("adult"),
        embeddings=lambda: _workload("embeddings"),
    ),
    *_solvers(
        "Hessian's diagonal first",
        _rows(_wide, "4,000 x 2,000", ("log", 0.001), ("log", 0.1)),
        _constant(QuasiNewton()),
        _constant(QuasiNewton(quasi_newton.Tuning(dear=math.inf))),
    ),
    *_solvers(
        "Newton's steps where a Hessian is cheap",
        _rows(_adult, "adult", ("squared hinge", 1.0), ("squared hinge", 100.0)),
        _constant(QuasiNewton()),
        _constant(QuasiNewton(quasi_newton.Tuning(closer=math.inf, far=math.inf))),
    ),
    *_solvers(
        "blocks of the Hessian",
        _rows(lambda: _workload("images"), "images", ("multinomial", 1.0)),
        _constant(Newton(dense=False)),
        _constant(Newton(dense=False, tuning=newton.Tuning(patience=math.inf))),
    ),
    *_solvers(
        "a sixteenth of the rows first",
        _rows(_taller, "150,000 x 40", ("log", 1.0)),
        _constant(Newton()),
        _constant(Newton(tuning=newton.Tuning(large=10**15))),
    ),
    *_solvers(
        "column descent",
        {f"{name} lasso": _lasso(*shape) for name, shape in _LASSO.items()},
        _constant(ColumnDescent()),
        _constant(ProximalNewton()),
    ),
    *_solvers(
        "column model",
        _KINKED,
        _constant(ProximalNewton()),
        _without(cheap=math.inf, dense=math.inf),
    ),
    *_solvers(
        "leaps",
        _KINKED,
        _constant(ProximalNewton()),
        _without(settled=((-1.0, 0.0), (-1.0, 0.0)), settled_classes=-1.0),
    ),
    *_solvers(
        "class columns",
        _CLASSES,
        _constant(ProximalNewton()),
        _without(cheap=math.inf, dense=math.inf),
    ),
    *_solvers(
        "a sample's optimum under L1",
        {
            **_rows(_columns, "100,000 x 60", ("log", 0.01), penalty=L1()),
            "100,000 x 60 elastic net log C=0.01": _objective(
                _columns, "log", 0.01, ElasticNet(0.5)
            ),
        },
        _constant(ProximalNewton()),
        _without(tall=math.inf),
    ),
    _estimators(
        "tiles", "digits LogisticRegression", _digits, LogisticRegression, LogisticRegression,
        _without_tiles,
    ),
    _estimators(
        "tiles", "images LogisticRegression", lambda: _workload("images"),
        LogisticRegression, LogisticRegression, _without_tiles,
    ),
)  # fmt: skip


def measure(ablation: Ablation, repeats: int = REPEATS) -> Found:
    """Fit with the trick and without it in turn, and take the medians."""
    times: tuple[list[float], list[float]] = ([], [])
    sides, ended = ablation.sides(), []
    # The first fits may compile loops: their times count only where nothing is repeated.
    first = []
    for fit in sides:
        start = time.process_time()
        ended.append(not fit())
        first.append(1e3 * (time.process_time() - start))
    for _ in range(repeats):
        for fit, own, early in zip(sides, times, ended, strict=True):
            # A long fit is repeated once.
            if not early and max(own, default=0.0) <= 1e3 * LONG:
                start = time.process_time()
                fit()
                own.append(1e3 * (time.process_time() - start))
    having, lacking = (
        statistics.median(own or [alone]) for own, alone in zip(times, first, strict=True)
    )
    return Found(ablation.trick, ablation.row, having, lacking, (ended[0], ended[1]))


def text(found: Sequence[Found]) -> str:
    """A table of all rows, by the best row of each trick, and the tricks that earn nothing."""
    best: dict[str, float] = {}
    for one in found:
        best[one.trick] = max(best.get(one.trick, 0.0), one.ratio)
    lines = ["| trick | row | with, ms | without, ms | ratio |", "|---|---|--:|--:|--:|"]
    for one in sorted(found, key=lambda one: (-best[one.trick], one.trick, -one.ratio)):
        sides = [
            f"{value:,.{0 if value >= 100.0 else 1}f}" + (" (above the gap)" if ended else "")
            for value, ended in zip((one.having, one.lacking), one.ended, strict=True)
        ]
        ratio = f"**{one.ratio:.2f}**" if one.ratio == best[one.trick] else f"{one.ratio:.2f}"
        lines.append(f"| {one.trick} | {one.row} | {sides[0]} | {sides[1]} | {ratio} |")
    nothing = [trick for trick, ratio in best.items() if ratio < EARNED]
    said = f"Tricks below {EARNED} on every row: {', '.join(nothing) or 'none'}."
    return "\n".join(lines) + "\n\n" + said


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks ablation", description=__doc__)
    add = parser.add_argument
    add("--rows", nargs="+", default=[], metavar="NAME", help="rows or tricks, globs too")
    add("--repeats", type=int, default=REPEATS, help=f"fits on each side ({REPEATS})")
    add("--docs", action="store_true", help=f"also write the table into {report.PAGE.name}")
    args = parser.parse_args(argv)
    chosen = [a for a in ABLATIONS if match(a.row, args.rows) or match(a.trick, args.rows)]
    begun, found = time.process_time(), []
    for ablation in chosen:
        found.append(measure(ablation, args.repeats))
        print(found[-1], file=sys.stderr, flush=True)
    minutes = (time.process_time() - begun) / 60.0
    cpu = report.machine(separatrix.threads())["cpu"]
    printed = (
        f"{text(found)}\n\nMedians of {args.repeats} fits, both sides in turn, in milliseconds of "
        f"the processor's time ({cpu}).\n"
        f"Printed on {datetime.now(UTC):%Y-%m-%d} by `python -m benchmarks ablation` in "
        f"{minutes:.0f} minutes of that time."
    )
    print(printed)
    if args.docs:
        report.put(report.PAGE, "ablation", printed, fenced=False)
    return 0
