"""Sentence embeddings of the film reviews: 25,000 rows, 384 dense columns of float32."""

from __future__ import annotations

import numpy as np

from benchmarks.workloads.base import Data, Row, Workload, noisy_labels, shared_file


def _stand_in() -> Data:
    rng = np.random.default_rng(0)
    n, d = 25_000, 384
    # A decaying spectrum and rows of length one, as sentence encoders give.
    basis = np.linalg.qr(rng.standard_normal((d, d)))[0] * (1.0 + np.arange(d)) ** -0.5
    X = rng.standard_normal((n, d)) @ basis.T
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = noisy_labels(X @ rng.standard_normal(d), rng, 2.0)
    return Data(y=y, dense=X.astype(np.float32), stand_in=True)


def load() -> Data:
    path = shared_file("imdb-train-minilm.npz")
    if path is None:
        return _stand_in()
    with np.load(path) as file:
        X = np.ascontiguousarray(file["X"], dtype=np.float32)
        return Data(y=np.where(file["y"] == "pos", 1.0, -1.0), dense=X)


WORKLOAD = Workload(
    "embeddings",
    "sentence embeddings of film reviews, dense, float32",
    load,
    (
        Row("embeddings", "log", 1.0),
        Row("embeddings", "hinge", 1.0),
        Row("embeddings", "squared_hinge", 1.0, extra=True),
        Row("embeddings", "log", 1.0, intercept=True, quick=False, extra=True),
    ),
)
