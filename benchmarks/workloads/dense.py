"""A tall dense table: 1,000,000 rows, 50 correlated columns, always synthetic."""

from __future__ import annotations

import numpy as np

from benchmarks.workloads.base import Data, Row, Workload, noisy_labels


def load(n: int = 1_000_000, d: int = 50) -> Data:
    rng = np.random.default_rng(0)
    # Standardised columns that share a few factors, as measured ones do.
    X = rng.standard_normal((n, d))
    X += rng.standard_normal((n, 5)) @ rng.standard_normal((5, d))
    X -= X.mean(axis=0)
    X /= X.std(axis=0)
    return Data(y=noisy_labels(X @ rng.standard_normal(d), rng, 2.0), dense=X)


WORKLOAD = Workload(
    "dense",
    "1,000,000 x 50, correlated columns, dense, synthetic",
    load,
    (
        Row("dense", "log", 1.0),
        Row("dense", "squared_hinge", 1.0, extra=True),
        Row("dense", "log", 1.0, intercept=True, quick=False, extra=True),
    ),
)
