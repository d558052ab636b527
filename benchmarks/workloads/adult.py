"""Census income, one-hot: 32,561 rows, 108 columns, 14 of them not zero in a row."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from benchmarks.workloads.base import Data, Row, Workload, noisy_labels, shared_file


def _encode(numbers: np.ndarray, levels: list[np.ndarray]) -> np.ndarray:
    """Standardised numbers, then one 0/1 column for each level of each category."""
    numbers = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)
    one_hot = [np.eye(codes.max() + 1)[codes] for codes in levels]
    return np.ascontiguousarray(np.hstack([numbers, *one_hot]))


def _real(path) -> Data:
    import duckdb

    with duckdb.connect() as connection:
        columns = connection.execute(
            "SELECT * FROM read_csv($path, header = true)", {"path": str(path)}
        ).fetchnumpy()
    income = np.asarray(columns.pop("income")).astype(str)
    is_number = {name: np.issubdtype(v.dtype, np.number) for name, v in columns.items()}
    numbers = np.column_stack([v for name, v in columns.items() if is_number[name]])
    # A missing value ("?") is a level of its own.
    levels = [
        np.unique(np.asarray(v).astype(str), return_inverse=True)[1]
        for name, v in columns.items()
        if not is_number[name]
    ]
    X = _encode(numbers.astype(np.float64), levels)
    return Data(y=np.where(income == ">50K", 1.0, -1.0), dense=X, csr=sp.csr_matrix(X))


def _stand_in() -> Data:
    rng = np.random.default_rng(0)
    n, sizes = 32_561, (9, 16, 7, 15, 6, 5, 2, 42)
    # Two columns of rare large values, as capital gains are.
    rare = rng.lognormal(8.0, 1.0, (n, 2)) * (rng.random((n, 2)) < 0.07)
    numbers = np.hstack([rng.standard_normal((n, 4)), rare])
    levels = []
    for size in sizes:
        share = 1.0 / np.arange(1, size + 1) ** 1.5
        codes = rng.choice(size, size=n, p=share / share.sum())
        codes[:size] = np.arange(size)
        levels.append(codes)
    X = _encode(numbers, levels)
    y = noisy_labels(X @ rng.standard_normal(X.shape[1]), rng, 4.0, positive=0.2)
    return Data(y=y, dense=X, csr=sp.csr_matrix(X), stand_in=True)


def load() -> Data:
    path = shared_file("adult.csv")
    return _real(path) if path else _stand_in()


WORKLOAD = Workload(
    "adult",
    "census income, standardised numbers and one-hot levels, sparse or dense",
    load,
    (
        Row("adult", "log", 1.0),
        Row("adult", "log", 100.0),
        Row("adult", "log", 1.0, l1_ratio=1.0),
        Row("adult", "log", 100.0, l1_ratio=1.0, quick=False),
        *(
            Row("adult", loss, C, extra=True)
            for loss in ("hinge", "squared_hinge")
            for C in (1.0, 100.0)
        ),
        Row("adult", "log", 1.0, intercept=True, extra=True),
        Row("adult", "log", 100.0, intercept=True, quick=False, extra=True),
        Row("adult", "squared_hinge", 1.0, intercept=True, quick=False, extra=True),
    ),
)
