"""Words as scikit-learn counts and weighs them, but compiled: the same words and counts."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

import separatrix
from separatrix._compiled import pool
from separatrix.tables.words import (
    _LETTERS,
    WordTable,
    count_words,
    inverse_frequency,
    weighed,
)

# Letters of which lower case is longer, or depends on where they stand; marks, digits of other
# scripts, letters beyond 16 bits, lone surrogates, and everything that can end a word.
ALPHABET = [
    *"abcXYZ019_ ,.-'\n\t\0",
    *"éÉßİΣςΩﬁ\u0301٣²½中𝒳𐐀\ud800\u200b—",
]


def texts(seed: int, count: int = 60) -> list[str]:
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(ALPHABET, rng.integers(0, 60))) for _ in range(count)]


def reference(documents, **options):
    vectorizer = CountVectorizer(dtype=np.float64, **options)
    counts = vectorizer.fit_transform(documents)
    counts.sort_indices()
    return vectorizer, counts


def same(one, other) -> bool:
    return (
        one.shape == other.shape
        and np.array_equal(one.indptr, other.indptr)
        and np.array_equal(one.indices, other.indices)
        and np.array_equal(one.data, other.data)
    )


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("least", [1, 3])
@pytest.mark.parametrize("seed", range(8))
def test_the_counts_are_those_of_scikit_learn(seed, least, pairs) -> None:
    documents = texts(seed, 200)
    vectorizer, expected = reference(documents, min_df=least, ngram_range=(1, 1 + pairs))
    words, counts = count_words(documents, pairs=pairs, least=least)
    assert words == vectorizer.get_feature_names_out().tolist()
    assert same(counts, expected)
    # Other texts, by these words alone.
    later = texts(seed + 100)
    known = count_words(later, pairs=pairs, vocabulary=words)[1]
    assert same(known, vectorizer.transform(later).sorted_indices())


def test_more_letters_than_are_looked_at_together() -> None:
    documents = texts(3, 400) * 50
    assert sum(map(len, documents)) > 2 * _LETTERS
    vectorizer, expected = reference(documents)
    words, counts = count_words(documents)
    assert words == vectorizer.get_feature_names_out().tolist() and same(counts, expected)


@pytest.mark.parametrize("documents", [[], [""], ["a b c"], ["", "ab", ""], ["ab"] * 5])
def test_few_words_or_none(documents) -> None:
    words, counts = count_words(documents, pairs=True)
    assert words == (["ab"] if "ab" in documents else [])
    assert counts.shape == (len(documents), len(words))
    assert counts.sum() == documents.count("ab")


def test_words_of_one_hash_are_told_apart() -> None:
    # Two slots at first: nearly all words meet others.
    table = WordTable()
    table._slots = np.full(2, np.int32(-1))
    words = [f"w{i}" for i in range(3000)]
    found, _ = table.read([" ".join(words), " ".join(words[::-1])])
    assert found.tolist() == [*range(3000), *range(2999, -1, -1)]
    assert table.words() == words


@pytest.mark.parametrize("norm", ["l2", "l1", None])
@pytest.mark.parametrize("sublinear", [True, False])
@pytest.mark.parametrize("smooth", [True, False])
def test_the_weights_are_those_of_scikit_learn(smooth, sublinear, norm) -> None:
    documents = [*texts(1), ""]
    _, counts = count_words(documents)
    expected = TfidfTransformer(norm=norm, sublinear_tf=sublinear, smooth_idf=smooth)
    rows = expected.fit_transform(counts.copy())
    held = np.bincount(counts.indices, minlength=counts.shape[1])
    idf = inverse_frequency(held, len(documents), smooth=smooth)
    np.testing.assert_allclose(idf, expected.idf_, rtol=4e-16)
    mine = weighed(counts, idf, sublinear=sublinear, norm=norm)
    np.testing.assert_allclose(mine.toarray(), rows.toarray(), rtol=1e-15)
    assert np.array_equal(mine.indices, rows.indices)


def test_threads_find_the_same_words() -> None:
    documents, split = texts(4, 300), pool.Tuning(parallel_work=10)
    with separatrix.threads(1), pool.tuned(split):
        alone = count_words(documents, pairs=True)
    with separatrix.threads(3), pool.tuned(split):
        words, counts = count_words(documents, pairs=True)
        known = count_words(documents, pairs=True, vocabulary=words)[1]
    assert words == alone[0] and same(counts, alone[1]) and same(known, alone[1])


def test_a_vocabulary_of_others_may_hold_what_is_no_word() -> None:
    documents = ["ab cd ef", "x ab", "cd-ef"]
    vocabulary = ["ab", "x ab", "cd-ef", "ab cd ef", "AB", "", " ", "cd ef", "x"]
    vectorizer = CountVectorizer(vocabulary=vocabulary, ngram_range=(1, 2), dtype=np.float64)
    expected = vectorizer.transform(documents).sorted_indices()
    assert same(count_words(documents, pairs=True, vocabulary=vocabulary)[1], expected)
