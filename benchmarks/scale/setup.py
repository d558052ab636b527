"""The settings and the helpers that the rows of the table are measured with."""

from __future__ import annotations

import shutil
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.scale import generators, processes
from benchmarks.scale.processes import Ended

SMALL = 20_000
TARGETS = {"dense": "y", "clicks": "click"}


@dataclass
class Setup:
    """The settings and the helpers that the rows share.

    Attributes
    ----------
    folder : path
        The folder of everything that is written.
    rows, clicks, hinge_rows : int
        The numbers of rows of the made data.
    repeats : int
        The number of timings of each fit, of which the median counts.
    memory : str
        The memory limit, as ``--memory`` takes it.
    limit : float
        The seconds that one process may take.
    peers : str
        The interpreter that other libraries are installed for.
    kills : int
        The number of moments at which a fit is killed.
    say : callable
        A function that is called with each progress message.
    """

    folder: Path
    rows: int
    clicks: int
    hinge_rows: int
    repeats: int
    memory: str
    limit: float
    peers: str
    kills: int
    seed: int
    quick: bool
    say: Callable[[str], None]
    made: dict[tuple[str, int], str] = field(default_factory=dict)
    found: dict[str, Any] = field(default_factory=dict)

    def files(self, kind: str, rows: int | None = None) -> dict[str, str]:
        """``files`` and ``target`` of made data, which are made when they are first needed."""
        n = (self.rows if kind == "dense" else self.clicks) if rows is None else rows
        key = (kind, n)
        if key not in self.made:
            folder = self.folder / f"{kind}-{n}"
            make = generators.dense if kind == "dense" else generators.clicks
            marker = folder / "_made"  # readers of whole folders leave out such names
            if not marker.exists():
                self.say(f"making {n:,} rows of {kind}")
                make(folder, n, self.seed)
                marker.touch()
            self.made[key] = f"{folder}/*.parquet"
        return {"files": self.made[key], "target": TARGETS[kind]}

    def forget(self, kind: str, n: int) -> None:
        """Remove made data that only one row needs."""
        if n not in (self.rows if kind == "dense" else self.clicks, self.hinge_rows):
            shutil.rmtree(self.folder / f"{kind}-{n}")
            del self.made[kind, n]

    def cache(self, name: str) -> str:
        """A folder for encoded blocks, empty at first."""
        folder = self.folder / "cache" / name
        folder.mkdir(parents=True, exist_ok=True)
        return str(folder)

    def call(self, function: str, /, **arguments: Any) -> Ended:
        """Call a function of `benchmarks.scale.own` in a process of its own."""
        return processes.call(f"benchmarks.scale.own:{function}", arguments, limit=self.limit)

    def fit(self, kind: str, n_rows: int | None = None, /, **arguments: Any) -> Ended:
        """A fit to made data; raises RuntimeError with the reason where it fails."""
        given = {"memory": self.memory, **self.files(kind, n_rows), **arguments}
        ended = self.call("fit", **given)
        if not ended.ok:
            raise RuntimeError(f"the fit failed: {ended.why}")
        return ended

    def warm(self) -> None:
        """Have every loop compiled, and kept on disk, before anything is timed."""
        self.say("loops are compiled")
        for kind, loss in (("dense", "log"), ("dense", "hinge"), ("clicks", "log")):
            self.call(
                "fit",
                **self.files(kind, SMALL),
                loss=loss,
                tol=1e-3,
                intercept=loss == "log",
                standardise=kind == "clicks",
                cache=self.cache("warm"),
            )
        self.call("fit_in_memory", reader="duckdb", **self.files("dense", SMALL))
        self.call("fit_clicks_in_memory", **self.files("clicks", SMALL))
        self.forget("dense", SMALL)
        self.forget("clicks", SMALL)

    def best(self) -> dict[str, float]:
        """The primal and dual objectives of a logistic regression of the dense data, to 1e-10."""
        if "best" not in self.found:
            self.say("the optimum, to 1e-10")
            ended = self.fit("dense", tol=1e-10, cache=self.cache("dense"))
            self.found["best"] = {k: ended.result[k] for k in ("primal", "dual")}
        return self.found["best"]


def median(values: list[float]) -> float:
    return float(statistics.median(values))


def verdict(met: bool) -> str:
    return "met" if met else "NOT MET"


def here() -> str:
    return sys.executable
