"""Film reviews as TF-IDF words: 25,000 rows, some 75,000 sparse columns."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from benchmarks.workloads.base import Data, Row, Workload, noisy_labels, shared_file


def _real(path) -> Data:
    import duckdb
    from sklearn.feature_extraction.text import TfidfVectorizer

    with duckdb.connect() as connection:
        columns = connection.execute(
            "SELECT text, label FROM read_parquet($path)", {"path": str(path)}
        ).fetchnumpy()
    X = sp.csr_matrix(TfidfVectorizer().fit_transform(columns["text"].tolist()))
    return Data(y=np.where(np.asarray(columns["label"]) == "pos", 1.0, -1.0), csr=X)


def _stand_in() -> Data:
    """Words drawn by Zipf's law, about 137 different ones a row, weighted and normalised alike."""
    rng = np.random.default_rng(0)
    n, d = 25_000, 75_000
    lengths = rng.lognormal(np.log(135), 0.5, n).astype(np.int64).clip(10, 2000)
    frequency = 1.0 / (np.arange(d) + 20.0)
    words = rng.choice(d, size=lengths.sum(), p=frequency / frequency.sum())
    X = sp.csr_matrix(
        (np.ones(len(words)), words, np.concatenate([[0], np.cumsum(lengths)])), shape=(n, d)
    )
    X.sum_duplicates()
    seen = np.bincount(X.indices, minlength=d)
    X.data *= (np.log((1 + n) / (1 + seen)) + 1.0)[X.indices]
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    X.data /= np.repeat(norms, np.diff(X.indptr))
    w = rng.standard_normal(d) * (rng.random(d) < 0.1)
    return Data(y=noisy_labels(np.asarray(X @ w), rng, 3.0), csr=X, stand_in=True)


def load() -> Data:
    path = shared_file("imdb-train.parquet")
    return _real(path) if path else _stand_in()


WORKLOAD = Workload(
    "reviews",
    "film reviews as TF-IDF words, sparse",
    load,
    (
        *(
            Row("reviews", loss, C)
            for C in (1.0, 100.0)
            for loss in ("log", "hinge", "squared_hinge")
        ),
        Row("reviews", "log", 1.0, intercept=True),
        Row("reviews", "log", 100.0, intercept=True, quick=False),
        Row("reviews", "squared_hinge", 1.0, intercept=True, quick=False),
    ),
)
