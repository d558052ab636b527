"""Film reviews as TF-IDF weights of words, and of words and pairs of neighbours, both sparse.

25,000 rows: 44,798 columns of words that two reviews have, and 438,654 with the pairs.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import scipy.sparse as sp

from benchmarks.workloads.base import (
    Data,
    Row,
    Workload,
    noisy_labels,
    shared_file,
    weigh_words,
)


def _real(path, words: int) -> Data:
    import duckdb
    from sklearn.feature_extraction.text import TfidfVectorizer

    with duckdb.connect() as connection:
        columns = connection.execute(
            "SELECT text, label FROM read_parquet($path)", {"path": str(path)}
        ).fetchnumpy()
    vectorizer = TfidfVectorizer(ngram_range=(1, words), min_df=2)
    X = sp.csr_matrix(vectorizer.fit_transform(columns["text"].tolist()))
    return Data(y=np.where(np.asarray(columns["label"]) == "pos", 1.0, -1.0), csr=X)


def _stand_in(d: int, length: int) -> Data:
    """Terms drawn by Zipf's law, about ``length`` a row, weighted and normalised alike."""
    rng = np.random.default_rng(0)
    n = 25_000
    lengths = rng.lognormal(np.log(length), 0.5, n).astype(np.int64).clip(10, 2000)
    frequency = 1.0 / (np.arange(d) + 20.0)
    words = rng.choice(d, size=lengths.sum(), p=frequency / frequency.sum())
    X = sp.csr_matrix(
        (np.ones(len(words)), words, np.concatenate([[0], np.cumsum(lengths)])), shape=(n, d)
    )
    X.sum_duplicates()
    weigh_words(X)
    w = rng.standard_normal(d) * (rng.random(d) < 0.1)
    return Data(y=noisy_labels(np.asarray(X @ w), rng, 3.0), csr=X, stand_in=True)


def load(words: int = 1) -> Data:
    """The reviews as single words, or with ``words=2`` as pairs of neighbours too."""
    path = shared_file("imdb-train.parquet")
    if path:
        return _real(path, words)
    return _stand_in(44_798, 135) if words == 1 else _stand_in(438_654, 330)


WORKLOAD = Workload(
    "reviews",
    "film reviews as TF-IDF words, sparse",
    load,
    (
        *(
            Row("reviews", loss, C)
            for loss in ("log", "hinge", "squared_hinge")
            for C in (1.0, 100.0)
        ),
        *(Row("reviews", "log", C, l1_ratio=1.0, quick=C == 1.0) for C in (1.0, 10.0, 100.0)),
        *(Row("reviews", "squared_hinge", C, l1_ratio=1.0, quick=False) for C in (1.0, 10.0)),
        Row("reviews", "log", 30.0, l1_ratio=1.0, quick=False, extra=True),
        Row("reviews", "squared_hinge", 100.0, l1_ratio=1.0, quick=False, extra=True),
        Row("reviews", "log", 1.0, intercept=True, extra=True),
        Row("reviews", "log", 100.0, intercept=True, quick=False, extra=True),
        Row("reviews", "squared_hinge", 1.0, intercept=True, quick=False, extra=True),
    ),
)

PAIRS = Workload(
    "pairs",
    "film reviews as TF-IDF words and pairs of neighbouring words, sparse",
    partial(load, words=2),
    (Row("pairs", "hinge", 1.0, quick=False),),
)
