"""``python -m benchmarks.certificates``: an attack on the certificates.

Random small problems of the kinds that floating point is bad at (outliers, offsets, collinear
columns, scales up to 1e150, weights and strengths from one end of the range to the other) are
fitted by every model, loss, penalty, solver and kernel, and each certificate is put before
:mod:`benchmarks.certificate_judge`, whose verdicts are proofs.  What is false is printed as Python
that can be pasted; the last line counts.  Exit status 1 where a certificate is false or a fit ends
in an exception that is no refusal.

Problem number ``k`` of a seed is the same whatever the number of processes is and however many
problems there are.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import re
import sys
import time
import traceback
import warnings
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["FAMILIES", "MODELS", "Case", "Outcome", "attack", "case_of", "main", "tried"]

ROOT = Path(__file__).resolve().parents[1]

# --- data -------------------------------------------------------------------------------------


@dataclass
class Data:
    """What a problem is made of, before it is stored in some way."""

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray | None = None
    storage: str = "dense"
    C: float | None = None
    lam: float | None = None


def _power(rng: np.random.Generator, low: float, high: float) -> float:
    return float(10.0 ** rng.uniform(low, high))


def _outlier_entry(rng: np.random.Generator, data: Data) -> None:
    n, d = data.X.shape
    data.X[rng.integers(n), rng.integers(d)] *= _power(rng, 3, 12)


def _outlier_row(rng: np.random.Generator, data: Data) -> None:
    data.X[rng.integers(len(data.X))] *= _power(rng, 3, 12)


def _outlier_column(rng: np.random.Generator, data: Data) -> None:
    data.X[:, rng.integers(data.X.shape[1])] *= _power(rng, 3, 12)


def _offset(rng: np.random.Generator, data: Data) -> None:
    columns = rng.random(data.X.shape[1]) < 0.7
    data.X[:, columns] += _power(rng, 3, 12)


def _years(rng: np.random.Generator, data: Data) -> None:
    column = rng.integers(data.X.shape[1])
    data.X[:, column] = np.round(1970 + 20 * data.X[:, column])


def _seconds(rng: np.random.Generator, data: Data) -> None:
    column = rng.integers(data.X.shape[1])
    data.X[:, column] = np.round(1.6e9 + 3e7 * data.X[:, column])


def _nanoseconds(rng: np.random.Generator, data: Data) -> None:
    _seconds(rng, data)
    data.X[:, np.abs(data.X).max(axis=0) > 1e8] *= 1e9


def _collinear(rng: np.random.Generator, data: Data) -> None:
    d = data.X.shape[1]
    if d == 1:
        data.X = np.column_stack([data.X, data.X])
        d = 2
    noise = rng.normal(size=len(data.X)) * _power(rng, -16, -6) * rng.integers(2)
    factor = rng.choice([1.0, -1.0, 3.0, 0.1])
    data.X[:, -1] = factor * data.X[:, 0] * (1.0 + noise)
    if d > 2 and rng.random() < 0.4:
        data.X[:, -1] = data.X[:, 0] + data.X[:, 1] + noise


def _one_scale(rng: np.random.Generator, data: Data) -> None:
    data.X *= _power(rng, -150, 150) if rng.random() < 0.5 else _power(rng, -12, 12)


def _column_scales(rng: np.random.Generator, data: Data) -> None:
    reach = 150 if rng.random() < 0.4 else 9
    data.X *= 10.0 ** rng.uniform(-reach, reach, size=data.X.shape[1])


def _row_scales(rng: np.random.Generator, data: Data) -> None:
    reach = 100 if rng.random() < 0.2 else 6
    data.X *= (10.0 ** rng.uniform(-reach, reach, size=len(data.X)))[:, None]


def _weights(rng: np.random.Generator, data: Data) -> None:
    reach = float(rng.choice([1, 3, 8, 30, 100]))
    data.weights = 10.0 ** rng.uniform(-reach, reach, size=len(data.X))


def _zero_weights(rng: np.random.Generator, data: Data) -> None:
    weights = np.ones(len(data.X)) if data.weights is None else data.weights
    weights = np.where(rng.random(len(weights)) < 0.3, 0.0, weights)
    for label in np.unique(data.y):
        own = np.flatnonzero(data.y == label)
        if not weights[own].any():
            weights[own[0]] = 1.0
    data.weights = weights


def _strength(rng: np.random.Generator, data: Data) -> None:
    if rng.random() < 0.15:
        data.C = math.inf
    else:
        data.C = _power(rng, -100, 100) if rng.random() < 0.5 else _power(rng, -12, 12)


def _lam(rng: np.random.Generator, data: Data) -> None:
    data.lam = _power(rng, -30, 30) if rng.random() < 0.3 else _power(rng, -6, 2)


def _duplicate_rows(rng: np.random.Generator, data: Data) -> None:
    n = len(data.X)
    source = rng.integers(max(1, n // 3), size=n)
    data.X, data.y = data.X[source], _all_there(data.y[source], data.y)


def _all_there(y: np.ndarray, before: np.ndarray) -> np.ndarray:
    classes = np.unique(before)
    y = y.copy()
    y[: len(classes)] = classes
    return y


def _duplicate_columns(rng: np.random.Generator, data: Data) -> None:
    d = data.X.shape[1]
    data.X = data.X[:, rng.integers(d, size=min(d + 2, 10))].copy()


def _contradictions(rng: np.random.Generator, data: Data) -> None:
    half = len(data.X) // 2
    data.X[half : 2 * half] = data.X[:half]


def _zero_rows(rng: np.random.Generator, data: Data) -> None:
    data.X[rng.random(len(data.X)) < 0.4] = 0.0


def _constant_column(rng: np.random.Generator, data: Data) -> None:
    data.X[:, rng.integers(data.X.shape[1])] = rng.choice([0.0, 1.0, -3.7, 1e8, 1e-9])


def _few_rows(rng: np.random.Generator, data: Data) -> None:
    """One row a class: two rows of two classes."""
    first = [int(np.flatnonzero(data.y == label)[0]) for label in np.unique(data.y)]
    data.X, data.y = data.X[first].copy(), data.y[first]
    data.weights = None if data.weights is None else data.weights[first]


def _wide(rng: np.random.Generator, data: Data) -> None:
    n = min(len(data.X), 5)
    keep = np.argsort(np.unique(data.y, return_inverse=True)[1], kind="stable")
    keep = np.unique(
        np.r_[[int(np.flatnonzero(data.y == c)[0]) for c in np.unique(data.y)], keep[:n]]
    )
    data.X, data.y = data.X[keep], data.y[keep]
    data.weights = None if data.weights is None else data.weights[keep]
    extra = rng.normal(size=(len(keep), int(rng.integers(2, 7))))
    data.X = np.column_stack([data.X, extra])


def _separable(rng: np.random.Generator, data: Data) -> None:
    codes = np.unique(data.y, return_inverse=True)[1]
    data.X[:, 0] = codes * rng.uniform(0.5, 3.0) + 0.2 * rng.random(len(codes))


def _whole_numbers(rng: np.random.Generator, data: Data) -> None:
    data.X = np.round(np.clip(data.X, -1e15, 1e15) * float(rng.choice([1.0, 3.0, 100.0])))
    data.storage = str(rng.choice(["int64", "int32", "int8", "bool"]))


def _single(rng: np.random.Generator, data: Data) -> None:
    data.storage = "float32"


def _sparse(rng: np.random.Generator, data: Data) -> None:
    data.X[rng.random(data.X.shape) < 0.4] = 0.0
    data.storage = str(rng.choice(["csr", "unsorted"]))


def _strided(rng: np.random.Generator, data: Data) -> None:
    data.storage = str(rng.choice(["fortran", "every other", "reversed"]))


def _ordinary(rng: np.random.Generator, data: Data) -> None:
    pass


FAMILIES: dict[str, Callable[[np.random.Generator, Data], None]] = {
    "ordinary": _ordinary,
    "outlier entry": _outlier_entry,
    "outlier row": _outlier_row,
    "outlier column": _outlier_column,
    "offset": _offset,
    "years": _years,
    "seconds": _seconds,
    "nanoseconds": _nanoseconds,
    "collinear": _collinear,
    "one scale": _one_scale,
    "column scales": _column_scales,
    "row scales": _row_scales,
    "weights": _weights,
    "zero weights": _zero_weights,
    "strength": _strength,
    "lam": _lam,
    "duplicate rows": _duplicate_rows,
    "duplicate columns": _duplicate_columns,
    "contradictions": _contradictions,
    "zero rows": _zero_rows,
    "constant column": _constant_column,
    "few rows": _few_rows,
    "wide": _wide,
    "separable": _separable,
    "whole numbers": _whole_numbers,
    "float32": _single,
    "sparse": _sparse,
    "strided": _strided,
}


def _stored(data: Data) -> Any:
    """The matrix in its storage, with the numbers that it can hold."""
    X, kind = data.X, data.storage
    if kind == "float32":
        with np.errstate(over="ignore", under="ignore"):
            return np.clip(X, -1e30, 1e30).astype(np.float32)
    if kind == "bool":
        return X > 0
    if kind.startswith("int"):
        info = np.iinfo(kind)
        high = min(info.max, 2**62)
        return np.clip(X, -float(min(high, 10**18)), float(min(high, 10**18))).astype(kind)
    if kind == "fortran":
        return np.asfortranarray(X)
    if kind == "every other":
        wide = np.zeros((2 * len(X), 2 * X.shape[1]))
        wide[::2, ::2] = X
        return wide[::2, ::2]
    if kind == "reversed":
        return np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]
    if kind == "csr":
        return sp.csr_matrix(X)
    if kind == "unsorted":
        return _unsorted(X)
    return np.ascontiguousarray(X)


def _unsorted(X: np.ndarray) -> Any:
    """CSR with the entries of a row from the last to the first, some of them in two halves."""
    values, columns, starts = [], [], [0]
    for row in X:
        for j in np.flatnonzero(row)[::-1]:
            half = float(row[j]) / 2.0
            pieces = (
                [half, half] if (j + len(values)) % 3 == 0 and half + half == row[j] else [row[j]]
            )
            values += pieces
            columns += [int(j)] * len(pieces)
        starts.append(len(values))
    return sp.csr_matrix(
        (np.array(values, dtype=np.float64), np.array(columns, dtype=np.int32), np.array(starts)),
        shape=X.shape,
    )


# --- problems ---------------------------------------------------------------------------------


def rounded_products(X: Any, Z: Any) -> np.ndarray:
    """A kernel whose values are exact: products of whole numbers."""
    return np.clip(np.round(X), -1e6, 1e6) @ np.clip(np.round(Z), -1e6, 1e6).T


def least(X: Any, Z: Any) -> np.ndarray:
    """A kernel whose values are exact: the covariance of Brownian motion."""
    return np.minimum(np.abs(X[:, :1]), np.abs(Z[:, :1]).T)


CALLABLES = {"rounded_products": rounded_products, "least": least}


@dataclass
class Case:
    """One fit: a model's name and parameters, and data."""

    number: int
    seed: int
    model: str
    parameters: dict[str, Any]
    X: Any
    y: np.ndarray
    weights: np.ndarray | None
    families: tuple[str, ...]
    # Rows of a block, where it is fitted in passes over these.
    block_rows: int | None = None

    def build(self) -> Any:
        import separatrix

        parameters = dict(self.parameters)
        kernel = parameters.get("kernel")
        if kernel in CALLABLES:
            parameters["kernel"] = CALLABLES[kernel]
        return getattr(separatrix, self.model)(**parameters)

    def fit(self) -> Any:
        model = self.build()
        if self.model == "Perceptron":
            return model.fit(self.X, self.y)
        if self.block_rows is not None:
            from separatrix.scale import scan

            rows = self.block_rows
            return model.fit(scan(self.X, self.y, weight=self.weights, block_rows=rows))
        return model.fit(self.X, self.y, sample_weight=self.weights)

    def code(self) -> str:
        """Python that fits it again."""
        lines = [
            "import numpy as np",
            "import scipy.sparse as sp",
            f"from separatrix import {self.model}",
        ]
        kernel = self.parameters.get("kernel")
        if kernel in CALLABLES:
            lines.append(f"from benchmarks.certificates import {kernel}")
        lines += [_array_code("X", self.X), f"y = {self.y.tolist()!r}"]
        given = "X, y"
        if self.weights is not None and self.model != "Perceptron":
            lines.append(f"weights = {self.weights.tolist()!r}")
            given += ", sample_weight=weights"
        pairs = []
        for name, value in self.parameters.items():
            text = repr(value)
            if isinstance(value, float) and math.isinf(value):
                text = "float('inf')"
            if name == "kernel" and value in CALLABLES:
                text = value
            pairs.append(f"{name}={text}")
        if self.block_rows is not None:
            lines.append("from separatrix.scale import scan")
            given = given.replace("sample_weight", "weight")
            given = f"scan({given}, block_rows={self.block_rows})"
        lines.append(f"model = {self.model}({', '.join(pairs)}).fit({given})")
        lines.append("print(repr(model.certificate_))")
        return "\n".join(lines)


def _array_code(name: str, X: Any) -> str:
    if sp.issparse(X):
        parts = ", ".join(repr(v.tolist()) for v in (X.data, X.indices, X.indptr))
        return f"{name} = sp.csr_matrix(({parts}), shape={X.shape!r})"
    text = f"{name} = np.array({X.tolist()!r}, dtype={X.dtype.name!r})"
    if X.flags.c_contiguous:
        return text
    if X.flags.f_contiguous:
        return f"{text[:-1]}, order='F')"
    if X.strides[0] < 0:
        return f"{text}[::-1, ::-1].copy()[::-1, ::-1]"
    return f"{text}.repeat(2, 0).repeat(2, 1)[::2, ::2]"


_SMOOTH = ("newton", "quasi-newton", "dual", "augmented-lagrangian")


def _solver(rng: np.random.Generator, *names: str) -> dict[str, Any]:
    if rng.random() < 0.45 or not names:
        return {}
    return {"solver": str(rng.choice(names))}


def _shared(rng: np.random.Generator, data: Data, *, hard: bool = False) -> dict[str, Any]:
    """Strength, tolerance, limits."""
    out: dict[str, Any] = {"tol": _power(rng, -12, -2)}
    if data.lam is not None:
        out["lam"] = data.lam
    elif data.C is not None:
        out["C"] = data.C
    elif rng.random() < 0.7:
        out["C"] = _power(rng, -3, 3)
    if not hard and math.isinf(out.get("C", 1.0)):
        out["C"] = _power(rng, 3, 12)
    out["max_iter"] = int(rng.choice([1, 3, 10, 20, 20, 30, 30, 100]))
    out["random_state"] = 0
    return out


def _class_weight(rng: np.random.Generator, data: Data) -> dict[str, Any]:
    draw = rng.random()
    if draw < 0.06:
        return {"class_weight": "balanced"}
    if draw < 0.12:
        classes = np.unique(data.y).tolist()
        return {"class_weight": {c: _power(rng, -3, 3) for c in classes}}
    return {}


def _logistic(rng: np.random.Generator, data: Data) -> dict[str, Any]:
    out = _shared(rng, data)
    several = len(np.unique(data.y)) > 2
    if several and rng.random() < 0.3:
        out["multiclass"] = "ovr"
        several = False
    kind = rng.choice(["l2", "l1", "elasticnet", "none"], p=[0.45, 0.2, 0.15, 0.2])
    if kind == "l2":
        out |= _solver(rng, *(_SMOOTH[:1] if several else _SMOOTH))
        if several and rng.random() < 0.02:
            out["solver"] = "quasi-newton"
    elif kind == "none":
        out.pop("C", None)
        if data.C is not None and math.isinf(data.C):
            out["C"] = math.inf
            out.pop("lam", None)
        else:
            out["penalty"] = None
        out |= _solver(rng, "newton")
    else:
        out["penalty"] = str(kind)
        if kind == "elasticnet":
            out["l1_ratio"] = float(rng.choice([rng.random(), 1e-9, 1.0 - 1e-9, 0.5]))
        out |= _solver(rng, "proximal-newton")
    return out | {"fit_intercept": bool(rng.random() < 0.7)} | _class_weight(rng, data)


def _linear_svc(rng: np.random.Generator, data: Data) -> dict[str, Any]:
    hard = data.C is not None and math.isinf(data.C)
    out = _shared(rng, data, hard=hard)
    if hard and "lam" not in out:
        out["C"] = math.inf
        out["loss"] = str(rng.choice(["hinge", "squared_hinge"]))
    else:
        kind = rng.choice(["hinge", "squared_hinge", "l1", "elasticnet"], p=[0.35, 0.3, 0.2, 0.15])
        if kind == "hinge":
            out["loss"] = "hinge"
            out |= _solver(rng, "dual", "augmented-lagrangian")
        elif kind == "squared_hinge":
            out |= _solver(rng, *_SMOOTH)
        else:
            out["penalty"] = str(kind)
            if kind == "elasticnet":
                out["l1_ratio"] = float(rng.choice([rng.random(), 1e-9, 0.5]))
            out |= _solver(rng, "proximal-newton")
    return out | {"fit_intercept": bool(rng.random() < 0.7)} | _class_weight(rng, data)


def _svc(rng: np.random.Generator, data: Data) -> dict[str, Any]:
    hard = data.C is not None and math.isinf(data.C)
    out = _shared(rng, data, hard=hard)
    if hard and "lam" not in out:
        out["C"] = math.inf
    kernel = str(
        rng.choice(
            ["linear", "rbf", "poly", "precomputed", "rounded_products", "least"],
            p=[0.3, 0.3, 0.2, 0.1, 0.05, 0.05],
        )
    )
    out["kernel"] = kernel
    if kernel in CALLABLES:
        data.storage = "dense"
    if kernel == "precomputed":
        # Whole numbers, so that the matrix is exactly that of scalar products.
        points = np.clip(np.round(data.X), -1000, 1000)
        data.X, data.storage = points @ points.T, "dense"
    if kernel in ("rbf", "poly"):
        draw = rng.random()
        if draw < 0.3:
            out["gamma"] = "auto"
        elif draw < 0.6:
            out["gamma"] = _power(rng, -3, 2)
    if kernel == "poly":
        out["degree"] = int(rng.integers(1, 5))
        out["coef0"] = float(rng.choice([0.0, 1.0, 0.3]))
    return out | _class_weight(rng, data)


def _sgd(rng: np.random.Generator, data: Data) -> dict[str, Any]:
    out: dict[str, Any] = {
        "tol": _power(rng, -8, -1),
        "max_iter": int(rng.choice([1, 3, 10])),
        "random_state": 0,
        "loss": str(
            rng.choice(["hinge", "log_loss", "squared_hinge", "perceptron", "squared_error"])
        ),
        "fit_intercept": bool(rng.random() < 0.7),
        "average": [True, False, "linear"][rng.integers(3)],
        "alpha": _power(rng, -6, 1),
        "batch_size": int(rng.choice([1, 1, 3])),
    }
    if data.lam is not None and rng.random() < 0.5:
        out["alpha"] = data.lam
    if out["loss"] == "perceptron":
        if rng.random() < 0.5:
            out["margin"] = _power(rng, -2, 2)
        else:
            out["penalty"] = None
    elif rng.random() < 0.15:
        out["penalty"] = None
    if out.get("penalty", "l2") is None:
        out["learning_rate"] = str(rng.choice(["invscaling", "constant"]))
    else:
        out["learning_rate"] = str(rng.choice(["optimal", "invscaling", "constant"]))
    if rng.random() < 0.9:
        out["eta0"] = _power(rng, -4, 0)
    if data.weights is not None and data.weights.any() and rng.random() < 0.95:
        # A row of weight k is visited k times.
        largest = float(data.weights.max())
        data.weights = np.clip(data.weights / largest, 0.01, 1.0) * (data.weights > 0.0)
        data.weights *= 10.0 if largest > 10.0 else largest
    return out | _class_weight(rng, data)


def _perceptron(rng: np.random.Generator, data: Data) -> dict[str, Any]:
    return {
        "max_passes": int(rng.choice([1, 3, 20])),
        "margin": float(rng.choice([0.0, 0.0, _power(rng, -2, 2)])),
        "average": bool(rng.random() < 0.3),
        "order": str(rng.choice(["cyclic", "restart", "random"])),
        "learning_rate": float(rng.choice([1.0, 0.1, _power(rng, -3, 3)])),
        "fit_intercept": bool(rng.random() < 0.7),
        "random_state": 0,
    } | _class_weight(rng, data)


# Name on the command line: how often, and what draws the parameters.
MODELS: dict[str, tuple[float, Callable[[np.random.Generator, Data], dict[str, Any]]]] = {
    "LogisticRegression": (0.36, _logistic),
    "LinearSVC": (0.27, _linear_svc),
    "SVC": (0.24, _svc),
    "SGDClassifier": (0.07, _sgd),
    "Perceptron": (0.06, _perceptron),
}


def case_of(seed: int, number: int, *, family: str | None = None, model: str | None = None) -> Case:
    """Problem ``number`` of a seed; of one family or one model where they are named."""
    rng = np.random.default_rng([seed, number])
    names = list(MODELS)
    shares = np.array([MODELS[name][0] for name in names])
    chosen = model or str(rng.choice(names, p=shares / shares.sum()))
    count = int(rng.choice([1, 1, 1, 2, 2, 3]))
    families = [str(f) for f in rng.choice(list(FAMILIES), size=count, replace=False)]
    if family is not None:
        families = [family, *(f for f in families[1:] if f != family)]
    if chosen == "SVC" and rng.random() < 0.15:
        families.append("separable")
    several = rng.random() < (0.3 if chosen == "LogisticRegression" else 0.15)
    classes = int(rng.integers(3, 5)) if several else 2
    large = rng.random() < 0.02 and chosen != "SVC"
    n = int(rng.integers(20, 61)) if large else int(rng.integers(max(2, classes), 17))
    d = int(rng.integers(1, 11)) if large else int(rng.integers(1, 6))
    X = rng.normal(size=(n, d))
    shape = rng.integers(4)
    if shape == 0:
        X = rng.integers(-3, 4, size=(n, d)).astype(np.float64)
    elif shape == 1:
        X = np.exp(2.0 * X)
    if rng.random() < 0.6:
        scores = X @ rng.normal(size=d) + 0.5 * rng.normal(size=n)
        y = np.searchsorted(np.quantile(scores, np.arange(1, classes) / classes), scores)
    else:
        y = rng.integers(classes, size=n)
    y = _all_there(y, np.arange(classes))
    data = Data(X, y)
    # What breaks a structure comes before what makes one.
    for name in sorted(dict.fromkeys(families), key=list(FAMILIES).index):
        FAMILIES[name](rng, data)
    if len(data.y) > 3 and data.weights is None and rng.random() < 0.1:
        data.weights = rng.choice([0.5, 1.0, 2.0, 3.0, 0.1], size=len(data.y))
    if chosen in ("LinearSVC", "SVC") and rng.random() < 0.2:
        data.C, data.lam = math.inf, None
        if rng.random() < 0.7:
            _separable(rng, data)
    parameters = MODELS[chosen][1](rng, data)
    with np.errstate(all="ignore"):
        X = _stored(data)
    return Case(
        number, seed, chosen, parameters, X, data.y, data.weights, tuple(dict.fromkeys(families))
    )


# --- one fit ----------------------------------------------------------------------------------

# What a sentence for users does not say.
_INTERNAL = re.compile(
    r"broadcast|fsum|math (domain|range)|singular matrix|division by zero|out of bounds|"
    r"NoneType|has no attribute|invalid value encountered|must not contain infs|"
    r"cannot convert|not aligned|unsupported operand|setting an array|empty sequence|"
    r"incompatible dimensions|cannot reshape|converted to|ill-conditioned|zero-size|"
    r"[Ll]eading minor|object is not"
)
_CAPABILITY = re.compile(r"needs|does not have|No solver takes|only|cannot be fitted in passes")


@dataclass
class Outcome:
    """What became of a problem."""

    number: int
    model: str
    families: tuple[str, ...]
    refusal: str = ""
    # Kind, size and sentence of what is false.
    findings: list[tuple[str, float, str]] = field(default_factory=list)
    code: str = ""
    status: str = ""
    judged: int = 0
    settled: int = 0
    fit_seconds: float = 0.0
    judge_seconds: float = 0.0


def _describes(error: Exception) -> bool:
    """Whether an exception is a refusal in words for users."""
    text = str(error)
    if _INTERNAL.search(text) or len(text.split()) < 4:
        return False
    if isinstance(error, ValueError):
        return not isinstance(error, UnicodeError)
    return type(error) is TypeError and bool(_CAPABILITY.search(text))


def tried(case: Case) -> Outcome:
    """Fit a case and judge what it claims."""
    from benchmarks.certificate_judge import judge

    out = Outcome(case.number, case.model, case.families)
    start = time.process_time()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            model = case.fit()
        except Exception as error:
            out.fit_seconds = time.process_time() - start
            if _describes(error):
                out.refusal = f"{type(error).__name__}: {error}"
            else:
                where = traceback.extract_tb(error.__traceback__)[-1]
                text = (
                    f"{type(error).__name__}: {error} "
                    f"({os.path.basename(where.filename)}:{where.lineno})"
                )
                out.findings.append(("crash", math.inf, text))
                out.code = case.code()
            return out
        out.fit_seconds = time.process_time() - start
        out.status = model.certificate_.status
        start = time.process_time()
        try:
            verdict = judge(model, case.X, case.y, _weights_of(case))
        except Exception as error:
            # Attributes that contradict one another, or a mistake of the judge: never passed over.
            where = traceback.extract_tb(error.__traceback__)[-1]
            text = f"{type(error).__name__}: {error} (line {where.lineno} of the judge)"
            out.findings.append(("unreadable", math.inf, text))
            out.code = case.code()
            return out
        out.judge_seconds = time.process_time() - start
    out.findings = [(f.kind, f.size, f.text) for f in verdict.findings]
    out.judged, out.settled = verdict.judged, verdict.settled
    if out.findings:
        out.code = case.code()
    return out


def _weights_of(case: Case) -> np.ndarray | None:
    return None if case.model == "Perceptron" else case.weights


#: How the library goes about a case: by itself, as if there were many rows, or in passes.
WAYS = ("ordinary", "tall", "blocks")
#: The models that are fitted in passes over row blocks, with certificates of a gap.
IN_PASSES = ("LogisticRegression", "LinearSVC")
# Seconds between the lines that say how far a long attack has come.
_EVERY = 60.0

# --- many -------------------------------------------------------------------------------------


@contextmanager
def _as_tall(tall: bool) -> Iterator[None]:
    """Whether few rows take the way of many, which is compiled and bounds by blocks of rows."""
    # Here, since the cache of compiled code is chosen before the library is loaded.
    from separatrix.objectives import margin

    ordinary = margin._MANY
    margin._MANY = 0 if tall else ordinary
    try:
        yield
    finally:
        margin._MANY = ordinary


def _case(seed: int, number: int, family: str | None, model: str | None, way: str) -> Case:
    """A case, as it is fitted in one of :data:`WAYS`."""
    if way != "blocks":
        return case_of(seed, number, family=family, model=model)
    chosen = model or IN_PASSES[number % len(IN_PASSES)]
    case = case_of(seed, number, family=family, model=chosen)
    parameters = {name: v for name, v in case.parameters.items() if name != "solver"}
    # From one row a block on; other parameters that have no way in passes are refused.
    return replace(case, parameters=parameters, block_rows=1 + number % 7)


def _several(task: tuple[int, int, int, str | None, str | None, str]) -> list[Outcome]:
    seed, first, last, family, model, way = task
    with _as_tall(way == "tall"):
        return [tried(_case(seed, k, family, model, way)) for k in range(first, last)]


def _own_cache(numbers: Any) -> None:
    """One compilation cache per process: two that compile the same function could mix them up."""
    caches = os.environ.get("NUMBA_CACHE_DIR", str(ROOT / ".numba_cache"))
    os.environ["NUMBA_CACHE_DIR"] = os.path.join(caches, f"attack-{numbers.get()}")


def _warm(seed: int, count: int) -> None:
    """Compile what the problems will need, on the clock of nobody."""
    for number in range(count):
        tried(case_of(seed + 10**6, number))


def attack(
    seed: int,
    *,
    problems: int | None = None,
    minutes: float | None = None,
    jobs: int = 1,
    family: str | None = None,
    model: str | None = None,
    way: str = "ordinary",
    chunk: int = 100,
) -> Iterator[Outcome]:
    """Outcomes in the order of the problems' numbers, until there are enough, or time is up."""

    def tasks() -> Iterator[tuple[int, int, int, str | None, str | None, str]]:
        first = 0
        while problems is None or first < problems:
            last = first + chunk if problems is None else min(first + chunk, problems)
            yield seed, first, last, family, model, way
            first = last

    until = math.inf if minutes is None else time.perf_counter() + 60.0 * minutes
    if jobs == 1:
        for task in tasks():
            yield from _several(task)
            if time.perf_counter() > until:
                return
        return
    context = multiprocessing.get_context("spawn")
    numbers = context.SimpleQueue()
    for number in range(jobs):
        numbers.put(number)
    with ProcessPoolExecutor(jobs, context, _own_cache, (numbers,)) as pool:
        waiting: deque[Future[list[Outcome]]] = deque()
        source = tasks()
        done = False
        while waiting or not done:
            while not done and len(waiting) < 2 * jobs:
                task = next(source, None)
                if task is None or time.perf_counter() > until:
                    done = True
                else:
                    waiting.append(pool.submit(_several, task))
            if waiting:
                yield from waiting.popleft().result()


# --- the report -------------------------------------------------------------------------------


def _again(args: argparse.Namespace, outcome: Outcome) -> str:
    parts = [f"python -m benchmarks.certificates --seed {args.seed} --only {outcome.number}"]
    parts += [f"--model {args.model}"] if args.model else []
    parts += [f"--family '{args.family}'"] if args.family else []
    parts += [f"--way {args.way}"] if args.way != "ordinary" else []
    return " ".join(parts)


def _reported(args: argparse.Namespace, outcome: Outcome) -> str:
    lines = [f"# problem {outcome.number}, {outcome.model}: {', '.join(outcome.families)}"]
    lines += [f"# {_again(args, outcome)}", outcome.code]
    lines += [f"# FALSE {kind}, by {size:.2g}: {text}" for kind, size, text in outcome.findings]
    return "\n".join(lines)


class Tally:
    """Counts of outcomes."""

    def __init__(self) -> None:
        self.n = self.false = self.refused = self.judged = self.settled = 0
        self.seconds: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
        self.kinds: Counter[tuple[str, str, str]] = Counter()
        self.refusals: Counter[str] = Counter()
        self.statuses: Counter[str] = Counter()
        self.worst: dict[tuple[str, str], float] = {}
        self.slowest = (0.0, 0)

    def add(self, outcome: Outcome) -> None:
        self.n += 1
        self.refused += bool(outcome.refusal)
        self.false += bool(outcome.findings)
        self.judged += outcome.judged
        self.settled += outcome.settled
        if outcome.refusal:
            self.refusals[f"{outcome.model}: {outcome.refusal[:60]}"] += 1
        else:
            self.statuses[f"{outcome.model}: {outcome.status or 'crash'}"] += 1
        seconds = self.seconds[outcome.model]
        seconds[0] += 1
        seconds[1] += outcome.fit_seconds
        seconds[2] += outcome.judge_seconds
        self.slowest = max(self.slowest, (outcome.fit_seconds, outcome.number))
        for kind in {kind for kind, _, _ in outcome.findings}:
            for family in outcome.families:
                self.kinds[outcome.model, family, kind] += 1
        for kind, size, _ in outcome.findings:
            key = outcome.model, kind
            self.worst[key] = max(self.worst.get(key, 0.0), size)

    def text(self, seconds: float, verbose: bool) -> str:
        lines = [f"{self.refused} refusals; bounds of {self.judged} parts were compared with"]
        lines[0] += f" better points, {self.settled} of them with an optimum to 25 digits"
        for model, (count, fit, judging) in sorted(self.seconds.items()):
            lines.append(
                f"{model:20s}{count:9.0f} problems, {1e3 * fit / count:7.2f} ms to fit, "
                f"{1e3 * judging / count:7.2f} ms to judge"
            )
        if seconds > 0:
            lines.append(
                f"{self.n / seconds:.0f} problems a second; the slowest fit, of number "
                f"{self.slowest[1]}, took {self.slowest[0]:.1f} s"
            )
        if verbose:
            lines += [f"  {count:7d} {name}" for name, count in self.statuses.most_common()]
            lines += [
                f"  {count:7d} refused {name}" for name, count in self.refusals.most_common(40)
            ]
        for (model, kind), size in sorted(self.worst.items()):
            lines.append(f"{model}: {kind}, by up to {size:.2g}")
        for (model, family, kind), count in self.kinds.most_common():
            lines.append(f"  {count:5d} {model}, {family}: {kind}")
        lines.append(f"{self.n} problems, {self.false} false certificates")
        return "\n".join(lines)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.certificates",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--minutes", type=float, default=None, help="how long (10, unless --problems says more)")
    add("--problems", type=int, metavar="N", help="how many problems, however long it takes")
    add("--seed", type=int, default=0, help="of all problems (0)")
    add("--jobs", type=int, default=1, metavar="J", help="processes (1)")
    add("--family", choices=list(FAMILIES), metavar="NAME", help="of data: " + ", ".join(FAMILIES))
    add("--model", choices=list(MODELS), metavar="NAME", help="one of " + ", ".join(MODELS))
    add(
        "--way",
        choices=WAYS,
        default=WAYS[0],
        help="tall: few rows take the way of many, which is another; blocks: they are fitted in "
        "passes over blocks of some rows",
    )
    add("--only", type=int, metavar="K", help="fit and judge problem number K, and show it")
    add("--quiet", action="store_true", help="counts alone, and no reproductions")
    add("--statuses", action="store_true", help="also count ways of stopping, and refusals")
    return parser


def _only(args: argparse.Namespace) -> int:
    case = _case(args.seed, args.only, args.family, args.model, args.way)
    with _as_tall(args.way == "tall"):
        outcome = tried(case)
    outcome.code = case.code()
    print(_reported(args, outcome))
    print(f"# {outcome.refusal or outcome.status}")
    print(f"1 problems, {int(bool(outcome.findings))} false certificates")
    return int(bool(outcome.findings))


def main(argv: Sequence[str] | None = None) -> int:
    args = _parser().parse_args(argv)
    # Tiny problems: threads would cost more than they bring.  The processes inherit these.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    if args.only is not None:
        return _only(args)
    minutes = args.minutes
    if args.problems is None and minutes is None:
        minutes = 10.0
    if args.jobs == 1:
        _warm(args.seed, min(150, 150 if args.problems is None else args.problems))
    tally, start = Tally(), time.perf_counter()
    outcomes = attack(
        args.seed,
        problems=args.problems,
        minutes=minutes,
        jobs=args.jobs,
        family=args.family,
        model=args.model,
        way=args.way,
    )
    told = start
    try:
        for outcome in outcomes:
            tally.add(outcome)
            now = time.perf_counter()
            if now - told > _EVERY:
                told = now
                print(f"{tally.n} problems, {tally.false} false", file=sys.stderr, flush=True)
            if outcome.findings and not args.quiet:
                print(_reported(args, outcome), end="\n\n", flush=True)
    except KeyboardInterrupt:
        print("interrupted: the problems so far", file=sys.stderr)
    print(tally.text(time.perf_counter() - start, args.statuses))
    return int(tally.false > 0)


if __name__ == "__main__":
    sys.exit(main())
