"""Drawings like handwritten characters: ten classes, 28 x 28 grey pixels, always synthetic.

Each class is a polygonal stroke through five points, each of its eight ways of writing that stroke
with the points moved a little. A picture is one of these, shifted by a random vector, drawn with a
pen of random width (a Gaussian), scaled to a brightest pixel of one, and with noise on half of its
pixels. Neighbouring pixels go together, about half of the numbers are zero, and a kernel machine
keeps a third of 10,000 rows.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from benchmarks.workloads.base import Data, Row, Workload

SIDE = 28
CLASSES = 10
_WAYS = 8
_BLOCK = 1000


def _strokes(rng: np.random.Generator) -> np.ndarray:
    """The ways of writing, ``(class, way, row, column)``: one on the stroke, zero beside it."""
    found = np.zeros((CLASSES, _WAYS, SIDE, SIDE))
    along = np.linspace(0.0, 1.0, 40)[:, None]
    for ways in found:
        corners = rng.uniform(6.0, 22.0, (5, 2))
        for picture in ways:
            moved = corners + rng.normal(0.0, 1.6, corners.shape)
            for start, end in pairwise(moved):
                pixels = np.rint(start + along * (end - start)).astype(np.int64)
                i, j = np.clip(pixels, 0, SIDE - 1).T
                picture[i, j] = 1.0
    return found


def _pen(shift: np.ndarray, width: np.ndarray) -> np.ndarray:
    """One matrix a picture, which moves and blurs along one axis: ``(m, SIDE, SIDE)``."""
    at = np.arange(SIDE, dtype=np.float64)
    apart = np.abs(at[:, None] - at - shift[:, None, None]) / width[:, None, None]
    return np.where(apart <= 4.0, np.exp(-0.5 * apart**2), 0.0)  # beyond, a pen leaves no trace


def images(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Pictures as rows of 784 numbers in [0, 1], and their classes.

    Parameters
    ----------
    n : int
        The number of pictures.
    seed : int
        The same seed gives the same pictures; the ways of writing depend on it too.

    Returns
    -------
    X : ndarray of shape (n, 784), float64
    y : ndarray of shape (n,), int64
        0 ... 9, drawn uniformly.
    """
    rng = np.random.default_rng(seed)
    strokes = _strokes(rng)
    y = rng.integers(0, CLASSES, n)
    X = np.empty((n, SIDE * SIDE))
    for start in range(0, n, _BLOCK):  # what is between would take several times the rows' memory
        labels = y[start : start + _BLOCK]
        m = len(labels)
        shift, width = rng.normal(0.0, 1.2, (2, m)), rng.uniform(0.8, 1.2, m)
        drawn = strokes[labels, rng.integers(0, _WAYS, m)]
        drawn = _pen(shift[0], width) @ drawn @ _pen(shift[1], width).transpose(0, 2, 1)
        drawn /= drawn.max(axis=(1, 2), keepdims=True)
        drawn += rng.normal(0.0, 0.12, drawn.shape) * (rng.random(drawn.shape) < 0.5)
        X[start : start + m] = np.clip(drawn, 0.0, 1.0).reshape(m, -1)
    return X, y


def load() -> Data:
    X, y = images(10_000)
    return Data(y=y, dense=X)


WORKLOAD = Workload(
    "images",
    "drawings of ten classes, 10,000 x 784, dense, synthetic",
    load,
    (
        Row("images", "multinomial", 0.01, quick=False),
        Row("images", "multinomial", 1.0, quick=False),
        Row("images", "hinge", 1.0, one_vs_rest=True, quick=False),
        Row("images", "squared_hinge", 1.0, one_vs_rest=True, quick=False),
    ),
)
