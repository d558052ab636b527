"""``python -m benchmarks kernels``: kernel machines on tables that are drawn, beside LIBSVM.

Rows, columns, classes, ``C``, ``gamma`` and the noise of the labels are drawn by a seed.  This
library's ``SVC`` is fitted to each target, a certified relative gap.  LIBSVM, scikit-learn's, is
fitted with ever smaller tolerances, and counts with the first fit whose objective, evaluated from
its coefficients alone, is within the target of the largest lower bound that is known.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks import report
from benchmarks.kernel_machines import CACHE_MB, Point, objective

TARGETS = (1e-3, 1e-6)
# LIBSVM's tolerances, from loose to tight; and the seconds that one of its fits may take before no
# tighter one is tried.
TOLERANCES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
PATIENCE = 20.0


@dataclass(frozen=True)
class Drawn:
    """A table and the parameters of a machine."""

    X: np.ndarray
    y: np.ndarray
    classes: int
    C: float
    gamma: float
    scaled: bool

    def __str__(self) -> str:
        n, d = self.X.shape
        gamma = "scale" if self.scaled else f"{self.gamma:g}"
        return f"{n:,} x {d}, {self.classes} classes, C = {self.C:.3g}, gamma = {gamma}"


@dataclass(frozen=True)
class Cell:
    """Seconds of both libraries to one target; LIBSVM's are None where it was not reached."""

    drawn: str
    target: float
    ours: float
    theirs: float | None
    certified: bool

    @property
    def ratio(self) -> float | None:
        return None if self.theirs is None else self.ours / self.theirs


def draw(seed: int, k: int) -> Drawn:
    """Table number ``k`` of a seed: 1,000 to 8,000 rows of 2 to 50 columns."""
    rng = np.random.default_rng([seed, k])
    n = int(np.exp(rng.uniform(np.log(1000), np.log(8000))))
    d = int(np.exp(rng.uniform(np.log(2), np.log(50))))
    classes, C = int(rng.choice([2, 5])), float(10.0 ** rng.uniform(-1.0, 2.0))
    scaled, noise = bool(rng.integers(2)), float(rng.choice([0.1, 0.5, 1.5]))
    X = rng.normal(size=(n, d))
    values = X @ rng.normal(size=(d, classes)) + noise * np.sqrt(d) * rng.normal(size=(n, classes))
    y = np.unique(values.argmax(axis=1), return_inverse=True)[1]
    gamma = 1.0 / (d * X.var()) if scaled else 1.0
    return Drawn(X, y, int(y.max()) + 1, C, gamma, scaled)


def measure(drawn: Drawn, clock: Callable[[], float]) -> list[Cell]:
    """Fit both libraries to every target."""
    from sklearn.svm import SVC as Peer

    from separatrix import SVC

    X, y, own = drawn.X, drawn.y, {"C": drawn.C, "gamma": drawn.gamma}
    ours, certified, bound = {}, {}, 0.0
    for target in TARGETS:
        start = clock()
        model = SVC(**own, tol=target, cache_mb=CACHE_MB).fit(X, y)
        ours[target] = clock() - start
        certified[target] = bool(model.certificate_.ok)
        bound = max(bound, model.certificate_.dual)
    theirs: dict[float, float] = {}
    for tol in TOLERANCES:
        start = clock()
        model = Peer(**own, tol=tol, cache_size=CACHE_MB).fit(X, y)
        seconds = clock() - start
        point = Point(model.support_, model.dual_coef_, model.intercept_)
        value = objective(X, y, point, C=drawn.C, gamma=drawn.gamma)
        for target in TARGETS:
            if value - bound <= target * value:
                theirs.setdefault(target, seconds)
        if len(theirs) == len(TARGETS) or seconds > PATIENCE:
            break
    return [
        Cell(str(drawn), target, ours[target], theirs.get(target), certified[target])
        for target in TARGETS
    ]


def text(found: Sequence[Cell], worst: int = 10) -> str:
    """The distribution for each target, and the worst cells."""
    parts = []
    for target in TARGETS:
        cells = [cell for cell in found if cell.target == target]
        ratios = [cell.ratio for cell in cells if cell.ratio is not None]
        if not ratios:
            continue
        even = sum(ratio <= 1.0 for ratio in ratios)
        certified = sum(cell.certified for cell in cells)
        parts.append(
            f"To {target:g}: {even} of {len(ratios)} cells take no longer than LIBSVM; median of "
            f"the ratios {np.median(ratios):.2f}, worst {max(ratios):.2f}; {certified} of "
            f"{len(cells)} certified; LIBSVM did not reach it in {len(cells) - len(ratios)}."
        )
    lines = [["the worst cells", "target", "separatrix", "LIBSVM", "ratio"]]
    known = [cell for cell in found if cell.ratio is not None]
    for cell in sorted(known, key=lambda cell: -(cell.ratio or 0.0))[:worst]:
        times = [f"{cell.ours:.3f}", f"{cell.theirs:.3f}", f"{cell.ratio:.2f}"]
        lines.append([cell.drawn, f"{cell.target:g}", *times])
    return "\n".join([*parts, "", report.layout(lines, left=(0,))])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks kernels", description=__doc__)
    add = parser.add_argument
    add("--seeds", type=int, nargs="+", default=[10], metavar="SEED", help="of the tables (10)")
    add("--cells", type=int, default=20, help="tables of each seed (20)")
    report.add_timing(parser)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    import sklearn.svm  # noqa: F401 - before the limit, which holds for what is loaded
    from threadpoolctl import threadpool_limits

    import separatrix

    args = _parser().parse_args(argv)
    clock = time.perf_counter if args.clock == "wall" else time.process_time
    found: list[Cell] = []
    limits = threadpool_limits(args.threads), separatrix.threads(args.threads)
    with limits[0], limits[1], warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k in range(3):
            # All loops are compiled here.
            measure(draw(0, k), clock)
        for seed in args.seeds:
            for k in range(args.cells):
                cells = measure(draw(seed, k), clock)
                found += cells
                for cell in cells:
                    print(cell, file=sys.stderr, flush=True)
    report.publish(
        args,
        "kernels",
        text(found),
        f"Seconds of {{}} time of one fit each, seeds {', '.join(map(str, args.seeds))}",
    )
    return 0
