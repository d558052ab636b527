"""The parts of a workload: rows (one objective each) over one data set."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import scipy.sparse as sp


@dataclass(frozen=True)
class Row:
    """One objective on one data set: what every solver in a row of the table minimises."""

    data: str
    loss: str
    C: float
    intercept: bool = False
    quick: bool = True  # whether --quick keeps it
    extra: bool = False  # measured with --all only, and in no mean
    l1_ratio: float = 0.0  # r of the penalty r |w|_1 + (1 - r) / 2 |w|^2
    one_vs_rest: bool = False  # a loss of the margin, with class numbers for labels

    @property
    def question(self) -> str:
        """The objective without the strength: rows of one question are neighbours in C."""
        penalty = {0.0: "", 1.0: " L1"}.get(self.l1_ratio, f" elastic net {self.l1_ratio:g}")
        classes = " one-vs-rest" if self.one_vs_rest else ""
        intercept = " +b" if self.intercept else ""
        return self.data + penalty + " " + self.loss.replace("_", " ") + classes + intercept

    @property
    def name(self) -> str:
        question, intercept = self.question.removesuffix(" +b"), " +b" if self.intercept else ""
        return f"{question} C={self.C:g}{intercept}"


@dataclass(frozen=True)
class Data:
    """The loaded data: the same numbers in each form that a peer may like better."""

    y: np.ndarray
    dense: np.ndarray | None = None
    csr: sp.csr_matrix | None = None
    stand_in: bool = False

    @property
    def stored(self) -> dict[str, np.ndarray | sp.csr_matrix]:
        both = {"csr": self.csr, "dense": self.dense}
        return {name: X for name, X in both.items() if X is not None}

    @property
    def forms(self) -> tuple[str, ...]:
        """The forms there are; dense float32 rows can be had in ``"float64"`` too."""
        wider = ("float64",) if self.dense is not None and self.dense.dtype == np.float32 else ()
        return (*self.stored, *wider)

    @property
    def shape(self) -> tuple[int, int]:
        return next(iter(self.stored.values())).shape


@dataclass(frozen=True)
class Workload:
    """A data set's name, its rows, and the function that reads it."""

    name: str
    about: str
    load: Callable[[], Data]
    rows: tuple[Row, ...] = field(default=())


def weigh_words(X: sp.csr_matrix) -> None:
    """Turn counts of words into TF-IDF weights, with rows of length one, in place."""
    n, d = X.shape
    seen = np.bincount(X.indices, minlength=d)
    X.data *= (np.log((1 + n) / (1 + seen)) + 1.0)[X.indices]
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    X.data /= np.repeat(norms, np.diff(X.indptr))


def shared_file(name: str) -> Path | None:
    """A file of the optional folder of real data, or None where it is absent.

    The folder is named by the environment variable SEPARATRIX_DATA; without it, ``../shared/data``
    beside the repository is tried.
    """
    folder = os.environ.get("SEPARATRIX_DATA")
    root = Path(__file__).resolve().parents[2]
    path = (Path(folder) if folder else root.parent / "shared" / "data") / name
    return path if path.is_file() else None


def noisy_labels(
    scores: np.ndarray, rng: np.random.Generator, sharpness: float, positive: float = 0.5
) -> np.ndarray:
    """Labels -1 and +1 drawn with log-odds ``sharpness`` times the standardised scores.

    The odds are even at the quantile of the scores that ``positive`` of them lie above.
    """
    odds = sharpness * (scores - np.quantile(scores, 1.0 - positive)) / scores.std()
    return np.where(rng.random(len(odds)) < 1.0 / (1.0 + np.exp(-odds)), 1.0, -1.0)
