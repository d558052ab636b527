"""Features that follow from others: exactly those go that have to, the last ones."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix.assessment.dependence import leave_out_dependent
from separatrix.tables import Encoder, Table


def encoded(columns, **kinds):
    table = Table.from_columns(columns, kinds=kinds or None)
    encoder = Encoder(standardise=False, reference=True).fit(table)
    return encoder, encoder.transform(table), table


def rank(X, *, centred):
    X = X.toarray() if hasattr(X, "toarray") else X
    X = np.column_stack([np.ones(len(X)), X]) if centred else X
    return np.linalg.matrix_rank(X / np.linalg.norm(X, axis=0)), X.shape[1]


def test_nothing_is_left_out_without_need():
    rng = np.random.default_rng(0)
    encoder, X, _ = encoded({name: rng.normal(size=50) for name in "abc"})
    assert leave_out_dependent(encoder, X, fit_intercept=True) is None
    assert encoder.dependent_ == []


def test_relations_in_words():
    rng = np.random.default_rng(0)
    a, b, c = rng.normal(size=(3, 60)) * [[1], [1e3], [1e-4]]
    encoder, X, _ = encoded({"a": a, "b": b, "c": c, "d": 2 * a - b + 5, "e": 3 * c})
    told = leave_out_dependent(encoder, X, fit_intercept=True)
    assert told == (
        "features follow from others and are left out, because coefficients would not be "
        "determined: 'e' = 3 * 'c'; 'd' = 2 * 'a' + 5 - 'b'"
    )
    assert encoder.feature_names_ == ["a", "b", "c"]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_what_is_left_is_independent_and_spans_the_same(seed, fit_intercept):
    rng = np.random.default_rng(seed)
    basis = rng.normal(size=(80, 4)) * 10.0 ** rng.integers(-3, 4, 4)
    mixed = basis @ rng.integers(-2, 3, (4, 5))
    columns = np.column_stack([basis, mixed, rng.normal(size=(80, 2))])[:, rng.permutation(11)]
    columns = columns[:, np.abs(columns).max(axis=0) > 0]
    encoder, X, table = encoded({f"c{j}": column for j, column in enumerate(columns.T)})
    before, _ = rank(X, centred=fit_intercept)
    leave_out_dependent(encoder, X, fit_intercept=fit_intercept)
    after, width = rank(encoder.transform(table), centred=fit_intercept)
    assert after == before == width


def test_levels_go_rather_than_numbers():
    rng = np.random.default_rng(1)
    level = rng.choice(list("uvw"), 90)
    number = np.array([{"u": 1.0, "v": 2.0, "w": 4.0}[x] for x in level])
    encoder, X, table = encoded({"level": level.tolist(), "x": rng.normal(size=90), "n": number})
    assert "'level=" in leave_out_dependent(encoder, X, fit_intercept=True)
    assert {"x", "n"} <= set(encoder.feature_names_)
    found, width = rank(encoder.transform(table), centred=True)
    assert found == width


def test_constant_columns_of_a_file_without_names(tmp_path):
    from separatrix.tables import read_table, take_quantity

    rng = np.random.default_rng(0)
    lines = [f"{y:.3f} 1:{x:.3f} 3:{z:.3f}" for y, x, z in rng.normal(size=(40, 3))]
    (tmp_path / "a.svm").write_text("\n".join(lines))
    features, _ = take_quantity(read_table(tmp_path / "a.svm"), "target")
    encoder = Encoder(standardise=False, reference=True).fit(features)
    told = leave_out_dependent(encoder, encoder.transform(features), fit_intercept=True)
    assert told.startswith("a feature follows from others and is left out")
    assert told.endswith(": 'f2' is constant")
    assert encoder.feature_names_ == ["f1", "f3"]
    assert encoder.transform(features).shape == (40, 2)


def test_too_few_rows_are_left_as_they_are():
    rng = np.random.default_rng(0)
    encoder, X, _ = encoded({f"c{j}": rng.normal(size=6) for j in range(8)})
    assert leave_out_dependent(encoder, X, fit_intercept=True) is None
