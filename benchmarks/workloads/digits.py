"""Handwritten digits, ten classes at once: 1,797 rows, 64 dense columns, inside scikit-learn."""

from __future__ import annotations

import numpy as np

from benchmarks.workloads.base import Data, Row, Workload


def load() -> Data:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return Data(y=y.astype(np.int64), dense=np.ascontiguousarray(X / 16.0))


WORKLOAD = Workload(
    "digits",
    "handwritten digits, ten classes, dense",
    load,
    (
        Row("digits", "multinomial", 1.0, extra=True),
        Row("digits", "multinomial", 100.0, extra=True),
        Row("digits", "multinomial", 1.0, intercept=True, extra=True),
    ),
)
