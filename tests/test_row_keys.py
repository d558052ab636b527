"""Numbers of rows depend on the contents of the rows, and on nothing else."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from separatrix._compiled.splitmix import GOLDEN, mixed, mixed_word
from separatrix.data.design import as_design
from separatrix.data.row_hashing import row_keys


def keys_of(X) -> np.ndarray:
    return row_keys(as_design(X))


def test_row_numbers_do_not_depend_on_the_storage() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(-2, 3, size=(50, 7)).astype(np.float32)
    X[3] = 0.0
    keys = keys_of(X)
    zero_signed = np.where(X == 0, -0.0, X)
    for stored in (X.astype(np.float64), np.asfortranarray(X), sp.csr_array(X), zero_signed):
        np.testing.assert_array_equal(keys_of(stored), keys)
    assert len(np.unique(keys)) == len(np.unique(X, axis=0))
    # The place of a value counts, too.
    assert len(np.unique(keys_of(np.eye(7)))) == 7


def test_many_columns_are_numbered_in_blocks() -> None:
    X = np.random.default_rng(0).normal(size=(30, 20_000))
    np.testing.assert_array_equal(keys_of(X), np.concatenate([keys_of(X[:7]), keys_of(X[7:])]))
    np.testing.assert_array_equal(keys_of(sp.csr_array(X)), keys_of(X))


def test_words_are_scrambled_as_splitmix_does_it() -> None:
    # The first numbers of the generator whose seed is 0 (Vigna's splitmix64.c).
    expected = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    words = np.arange(1, 4, dtype=np.uint64) * GOLDEN
    assert mixed(words).tolist() == expected
    assert [int(mixed_word(word)) for word in words] == expected
