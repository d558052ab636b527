"""Rows to fit on and rows to test on."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, ShuffleSplit, StratifiedShuffleSplit

from separatrix.data.splitting import folds_of
from separatrix.exceptions import DataError
from separatrix.tables import split_rows


def check(y, fit_rows, held):
    assert sorted([*fit_rows, *held]) == list(range(len(y)))
    assert (np.diff(fit_rows) > 0).all()
    assert (np.diff(held) > 0).all()
    assert set(np.asarray(y)[fit_rows]) == set(y)


def test_shares_are_kept_and_the_seed_decides():
    y = np.array(["a"] * 70 + ["b"] * 30)
    fit_rows, held = split_rows(y, test_size=0.2, seed=0)
    check(y, fit_rows, held)
    assert Counter(y[held].tolist()) == {"a": 14, "b": 6}
    again = split_rows(y, test_size=0.2, seed=0)
    np.testing.assert_array_equal(held, again[1])
    assert not np.array_equal(held, split_rows(y, test_size=0.2, seed=1)[1])


def test_the_number_held_out_is_rounded():
    y = np.arange(32_561) % 2
    fit_rows, held = split_rows(y)
    assert (len(fit_rows), len(held)) == (26_049, 6_512)


@pytest.mark.parametrize(
    "y",
    [
        [0] * 10 + [1] * 9 + [2],  # one class with a single row
        [0] * 10 + [1, 2, 3, 4, 5],
        [0, 0, 1, 1, 2, 2, 3, 3, 4, 4],  # fewer rows to hold out than classes
        [0, 1, 1],
        [0, 1, 2, 3, 4, 4],
        [*range(8), 0, 0],
        ["a"] * 99 + ["b"],
    ],
)
@pytest.mark.parametrize("seed", range(5))
def test_every_class_keeps_a_row_to_fit_on(y, seed):
    fit_rows, held = split_rows(y, test_size=0.3, seed=seed)
    check(y, fit_rows, held)
    assert len(held) >= 1
    for label, count in Counter(y).items():
        if count == 1:
            assert label not in {y[i] for i in held}


def test_none_held_out():
    fit_rows, held = split_rows([0, 1, 0], test_size=0)
    assert fit_rows.tolist() == [0, 1, 2]
    assert held.tolist() == []


@pytest.mark.parametrize("share", [-0.1, 1.0, 2, float("nan")])
def test_a_share_must_be_a_share(share):
    with pytest.raises(DataError, match="test_size must be a share"):
        split_rows([0, 1] * 10, test_size=share)


@pytest.mark.parametrize("stratify", [True, False])
def test_rows_that_belong_together_are_on_the_side_of_the_first(stratify):
    y, together = np.array(["a", "b"] * 30), np.arange(60) // 3
    alone = split_rows(y, test_size=0.3, seed=1, stratify=stratify)[1]
    fit_rows, held = split_rows(y, test_size=0.3, seed=1, stratify=stratify, together=together)
    assert held.tolist() == [i for i in range(60) if i - i % 3 in alone]
    check(y, fit_rows, held)


def test_too_few_rows():
    with pytest.raises(DataError, match="too few to hold out"):
        split_rows([0, 1], test_size=0.2)
    with pytest.raises(DataError, match="every class has a single row"):
        split_rows([0, 1, 2, 3], test_size=0.5)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_the_rows_are_those_of_scikit_learn(seed, n_classes):
    # Files of earlier versions say a seed, by which it found them.
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.repeat(np.arange(n_classes), 2), rng.integers(0, n_classes, 41)])
    fitted, held = split_rows(y, test_size=0.3, seed=seed)
    drawn = StratifiedShuffleSplit(n_splits=1, test_size=len(held), random_state=seed)
    theirs = next(drawn.split(y, y))
    if {*y[theirs[0]]} == {*y}:
        assert np.array_equal(fitted, np.sort(theirs[0]))
        assert np.array_equal(held, np.sort(theirs[1]))
    fitted, held = split_rows(y, test_size=0.3, seed=seed, stratify=False)
    theirs = next(ShuffleSplit(1, test_size=len(held), random_state=seed).split(y))
    assert np.array_equal(held, np.sort(theirs[1]))


@pytest.mark.parametrize(
    ("cv", "groups", "said"),
    [
        (GroupKFold(2), np.arange(5), r"^groups has the shape \(5,\); give one group for each"),
        ([], None, "^cv has no folds; give at least one pair"),
        (
            [([0, 1], [2, 3]), ([0, 1], [8])],
            None,
            "^Fold 1 of cv is no pair .* from 0 to 7: index 8",
        ),
    ],
)
def test_a_splitter_that_does_not_suit_the_rows_is_refused_in_one_sentence(cv, groups, said):
    y = np.arange(8) % 2
    with pytest.raises(DataError, match=said):
        folds_of(cv, np.zeros((8, 1)), y, None, groups, stratify=True)
