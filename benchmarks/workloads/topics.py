"""Texts of eight topics as TF-IDF weights of words, sparse, always synthetic.

12,000 texts of some hundred words each, 20,000 different words, drawn by Zipf's law. A twentieth of
each text comes from the four hundred words of its topic; a tenth of the labels are random.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from benchmarks.workloads.base import Data, Row, Workload, weigh_words

TEXTS, WORDS, TOPICS = 12_000, 20_000, 8
_OF_A_TOPIC = 400


def load() -> Data:
    rng = np.random.default_rng(0)
    frequency = 1.0 / (np.arange(WORDS) + 20.0)
    topic = rng.integers(0, TOPICS, TEXTS)
    own = np.array([rng.choice(WORDS, _OF_A_TOPIC, replace=False) for _ in range(TOPICS)])
    lengths = rng.lognormal(np.log(100.0), 0.5, TEXTS).astype(np.int64).clip(10, 1000)
    of = np.repeat(np.arange(TEXTS), lengths)
    words = rng.choice(WORDS, size=len(of), p=frequency / frequency.sum())
    special = np.flatnonzero(rng.random(len(of)) < 0.05)
    words[special] = own[topic[of[special]], rng.integers(0, _OF_A_TOPIC, len(special))]
    X = sp.csr_matrix((np.ones(len(of)), (of, words)), shape=(TEXTS, WORDS))
    weigh_words(X)
    other = rng.random(TEXTS) < 0.1
    labels = np.where(other, rng.integers(0, TOPICS, TEXTS), topic)
    return Data(y=labels, csr=X)


WORKLOAD = Workload(
    "topics",
    "texts of eight topics as TF-IDF words, sparse, synthetic",
    load,
    (
        Row("topics", "multinomial", 1.0, quick=False),
        Row("topics", "multinomial", 1000.0, quick=False),
    ),
)
