"""What will hurt, by name: each finding against data made to have it, or against brute force."""

from __future__ import annotations

import itertools
import json
import sys
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from separatrix.data import columns
from separatrix.data.design import as_design
from separatrix.geometry.diagnosis import checks, collinearity
from separatrix.geometry.diagnosis.checks import CHECKS
from separatrix.geometry.diagnosis.diagnosis import diagnose
from separatrix.geometry.diagnosis.findings import SEVERITIES

CHEAP = [name for name in CHECKS if name != "separability"]

LAYOUTS = {
    "dense": np.asarray,
    "fortran": np.asfortranarray,
    "strided": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "csr": sp.csr_array,
    "csc": sp.csc_matrix,
}


def codes(found):
    return [finding.code for finding in found]


def one(found, code):
    (finding,) = [finding for finding in found if finding.code == code]
    return finding


def labels(n, seed=0):
    y = np.random.default_rng(seed).integers(0, 2, n)
    y[:2] = [0, 1]
    return y


# ------------------------------------------------------------------------------------ collinear


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_sum_is_named(layout, dtype):
    rng = np.random.default_rng(0)
    b, c, d = rng.normal(size=(3, 80)).astype(dtype)
    X = LAYOUTS[layout](np.column_stack([b + c, b, d, c]))
    found = diagnose(X, labels(80), checks=["collinear"], feature_names=["a", "b", "d", "c"])
    finding = one(found, "collinear")
    assert finding.what in (
        "columns depend on one another: 'a' = 'b' + 'c'",
        "columns depend on one another: 'a' = 'c' + 'b'",
    )
    assert set(finding.where["columns"]) == {"a", "b", "c"}
    assert sorted(np.abs(finding.where["coefficients"])) == [1, 1, 1]
    assert finding.where["constant"] == 0
    assert found.findings == (finding,)


@pytest.mark.parametrize("seed", range(25))
def test_relations_hold_and_are_as_many_as_the_rank_lacks(seed):
    rng = np.random.default_rng(seed)
    n, free = int(rng.integers(30, 60)), int(rng.integers(2, 7))
    bound = int(rng.integers(1, 5))
    base = rng.normal(size=(n, free)) * 10.0 ** rng.integers(-3, 4, free)
    mix = rng.integers(-3, 4, size=(free, bound)).astype(float)
    mix[rng.integers(0, free, bound), np.arange(bound)] = 2.0
    X = np.column_stack([base, base @ mix + rng.integers(-2, 3, bound)])
    X = X[:, rng.permutation(free + bound)]
    found = diagnose(X, labels(n), checks=["collinear"])
    relations = [finding for finding in found if finding.code == "collinear"]
    centred = X - X.mean(axis=0)
    lacking = X.shape[1] - np.linalg.matrix_rank(centred / centred.std(axis=0))
    assert len(relations) == lacking
    span = []
    for finding in relations:
        weights = np.zeros(X.shape[1])
        weights[finding.where["columns"]] = finding.where["coefficients"]
        values = X @ weights
        size = np.abs(X) @ np.abs(weights)
        assert np.abs(values - finding.where["constant"]).max() <= 1e-9 * size.max()
        span.append(weights)
    assert np.linalg.matrix_rank(np.array(span)) == lacking


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        (lambda b, c: [b, 3 - 2.54 * b], "'x1' = 3 - 2.54 * 'x0'"),
        (lambda b, c: [b, c, (b + c) / 3], ("'x2' = 0.333333 * 'x0' + 0.333333 * 'x1'", 3)),
        (lambda b, c: [b, c, 1e9 + b - c], None),
        (lambda b, c: [1e150 * b, 1e150 * c, 1e150 * b + 1e150 * c], None),
        (lambda b, c: [1e-200 * b, 1e-200 * c, 1e-200 * b - 1e-200 * c], None),
        (lambda b, c: [1e8 + b, c, 1e8 + b + c], None),
    ],
)
def test_relations_of_every_size(columns, told):
    b, c = np.random.default_rng(1).normal(size=(2, 200)).round(3)
    X = np.column_stack(columns(b, c))
    names = [f"x{j}" for j in range(X.shape[1])]
    found = diagnose(X, labels(200), checks=["collinear"], feature_names=names)
    finding = one(found, "collinear")
    assert set(finding.where["columns"]) == set(names)
    if isinstance(told, str):
        # Either column may stand on the left.
        left = finding.what.removeprefix("columns depend on one another: ")
        assert left in (told, "'x0' = 1.1811 - 0.393701 * 'x1'")


def test_columns_that_only_nearly_depend_are_not_called_dependent():
    rng = np.random.default_rng(2)
    b, c = rng.normal(size=(2, 500))
    X = np.column_stack([b, c, b + c + 1e-6 * rng.normal(size=500), rng.normal(size=500)])
    found = diagnose(X, labels(500), checks=["collinear"])
    assert codes(found) == ["nearly_collinear"]
    finding = found.findings[0]
    assert finding.severity == "warning"
    assert set(finding.where["columns"]) == {0, 1, 2}
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    assert finding.where["condition"] == pytest.approx(np.linalg.cond(scaled), rel=0.02)
    j = finding.where["columns"][0]
    others = np.delete(scaled, j, axis=1)
    rest = scaled[:, j] - others @ np.linalg.lstsq(others, scaled[:, j], rcond=None)[0]
    assert finding.where["unexplained"] == pytest.approx(np.mean(rest**2), rel=1e-2)


def test_no_false_alarm_on_random_columns():
    for seed in range(10):
        X = np.random.default_rng(seed).normal(size=(300, 12))
        assert diagnose(X, labels(300), checks=CHEAP).findings == ()


def test_the_condition_number_of_a_known_table():
    X, y = load_breast_cancer(return_X_y=True)
    finding = one(diagnose(X, y, checks=["collinear"]), "nearly_collinear")
    assert finding.severity == "note"
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    assert finding.where["condition"] == pytest.approx(np.linalg.cond(scaled), rel=1e-6)


def one_hot(values):
    return (values[:, None] == np.arange(values.max() + 1)).astype(float)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_one_hot_columns_are_ordinary(layout):
    rng = np.random.default_rng(3)
    X = np.column_stack([one_hot(rng.integers(0, 4, 300)), one_hot(rng.integers(0, 3, 300))])
    names = [f"c={v}" for v in "abcd"] + [f"d=e={v}" for v in "xyz"]
    found = diagnose(LAYOUTS[layout](X), labels(300), checks=["collinear"], feature_names=names)
    finding = one(found, "one_hot")
    assert finding.severity == "note"
    assert sorted(finding.where["groups"]) == [names[:4], names[4:]]
    assert "'c=...' (4 columns)" in finding.what
    assert "'d=e=...' (3 columns)" in finding.what
    assert codes(found) == ["one_hot"]


def test_one_hot_columns_without_an_intercept_depend_only_across_groups():
    rng = np.random.default_rng(4)
    X = np.column_stack([one_hot(rng.integers(0, 4, 300)), one_hot(rng.integers(0, 3, 300))])
    assert codes(diagnose(X[:, :4], labels(300), checks=["collinear"], fit_intercept=False)) == []
    found = diagnose(X, labels(300), checks=["collinear"], fit_intercept=False)
    assert codes(found) == ["one_hot"]


def test_shares_that_sum_to_one_are_not_one_hot():
    X = np.random.default_rng(5).dirichlet(np.ones(4), 300)
    found = diagnose(X, labels(300), checks=["collinear"])
    assert codes(found) == ["collinear"]
    assert found.findings[0].where["constant"] == 1


def test_a_level_that_equals_a_sum_of_others_does_not_hide_a_group():
    rng = np.random.default_rng(6)
    c = rng.integers(0, 4, 400)
    # The last two levels of c are the last level of d.
    d = np.where(c >= 2, 3, rng.integers(0, 3, 400))
    X = np.column_stack([one_hot(c), one_hot(d)])
    names = [f"c={v}" for v in range(4)] + [f"d={v}" for v in range(4)]
    found = diagnose(X, labels(400), checks=["collinear"], feature_names=names)
    assert sorted(one(found, "one_hot").where["groups"]) == [names[:4], names[4:]]
    assert one(found, "collinear").what.endswith(("'d=3' = 'c=2' + 'c=3'", "'d=3' = 'c=3' + 'c=2'"))


@collinearity.tuned(collinearity.Tuning(budget=9 * 200))
def test_a_sample_suggests_and_all_rows_decide():
    rng = np.random.default_rng(7)
    b, c = rng.normal(size=(2, 4000))
    X = np.column_stack([b, c, b + c])
    found = diagnose(X, labels(4000), checks=["collinear"])
    assert codes(found) == ["collinear"]
    # One row breaks the relation; a sample of 200 is unlikely to hold it, yet nothing is claimed.
    X[1234, 2] += 1.0
    found = diagnose(X, labels(4000), checks=["collinear"])
    assert "depend on one another" not in str(found)


def test_many_relations_are_counted():
    rng = np.random.default_rng(8)
    base = rng.normal(size=(100, 9))
    X = np.column_stack([base, base * 2.0 + 1.0])
    found = diagnose(X, labels(100), checks=["collinear"])
    assert codes(found) == ["collinear"] * 6
    assert found.findings[-1].what == "4 more columns depend on others"


# -------------------------------------------------------------------------------------- columns


@pytest.mark.parametrize("layout", LAYOUTS)
def test_constant_and_equal_columns(layout):
    rng = np.random.default_rng(9)
    b, c = rng.normal(size=(2, 90))
    spike = np.zeros(90)
    spike[17] = 5.0
    X = np.column_stack([np.full(90, 7.0), b, np.zeros(90), b, c, b, spike])
    names = ["seven", "b", "nil", "b2", "c", "b3", "spike"]
    found = diagnose(LAYOUTS[layout](X), labels(90), checks=["columns"], feature_names=names)
    constant = one(found, "constant_column")
    assert constant.where == {"columns": ["seven", "nil"], "values": [7.0, 0.0], "count": 2}
    assert constant.what == "2 columns of one value: 'seven' is 7 and 'nil' is 0"
    equal = one(found, "duplicate_columns")
    assert equal.where == {"groups": [["b", "b2", "b3"]], "count": 2}
    odd = one(found, "nearly_constant_column")
    assert odd.where == {"columns": ["spike"], "odd_rows": [1], "count": 1}


def test_nearly_constant_at_another_value():
    X = np.random.default_rng(10).normal(size=(100, 3))
    X[:, 1] = 3.5
    for row in (0, 99):
        X[row, 1] = 2.0
        found = diagnose(X, labels(100), checks=["columns"])
        assert one(found, "nearly_constant_column").where["columns"] == [1]
    X[50, 1] = 1.0
    assert codes(diagnose(X, labels(100), checks=["columns"])) == []


def test_a_difference_in_the_last_bit_is_a_difference():
    X = np.full((60, 2), 0.3)
    X[:, 1] = np.nextafter(0.3, 1.0)
    X[5, 1] = 0.3
    found = diagnose(X, labels(60), checks=["columns"])
    assert one(found, "constant_column").where["columns"] == [0]
    assert one(found, "nearly_constant_column").where["columns"] == [1]


@pytest.mark.parametrize("layout", ["dense", "fortran", "strided", "csr"])
def test_pairs_of_columns_and_of_rows_are_compared_number_by_number(layout):
    """Beside hashes, which are the same of equal ones and seldom of others."""
    X = np.random.default_rng(28).choice([0.0, -0.0, 1.0, 5e-324], (4, 4), p=[0.5, 0.2, 0.2, 0.1])
    X[2], X[:, 3] = X[1], X[:, 0]
    table = columns.columns_of(as_design(LAYOUTS[layout](X)))
    a, b = (one.ravel() for one in np.indices(X.shape))
    assert table.equal_rows(a, b).tolist() == (X[a] == X[b]).all(axis=1).tolist()
    assert table.equal_columns(a, b).tolist() == (X[:, a] == X[:, b]).all(axis=0).tolist()


# --------------------------------------------------------------------------------------- scales


def test_scales_that_differ():
    rng = np.random.default_rng(11)
    X = rng.uniform(size=(100, 3)) * [1.0, 1e-3, 5e4]
    finding = one(
        diagnose(X, labels(100), checks=["scales"], feature_names=["a", "b", "c"]), "scales_differ"
    )
    assert finding.where["columns"] == ["c", "b"]
    assert finding.where["ranges"] == [[X[:, j].min(), X[:, j].max()] for j in (2, 1)]
    assert diagnose(X[:, :2], labels(100), checks=["scales"]).findings == ()


def test_offsets_that_eat_the_digits():
    rng = np.random.default_rng(12)
    X = rng.normal(size=(100, 2)) + np.array([1e8, 0.0])
    finding = one(diagnose(X, labels(100), checks=["scales"]), "huge_offset")
    assert finding.where["columns"] == [0]
    assert "1e+08 +- " in finding.what
    near = rng.normal(size=(100, 2)) + np.array([1e4, 0.0])
    assert diagnose(near, labels(100), checks=["scales"]).findings == ()
    single = one(diagnose(near.astype(np.float32), labels(100), checks=["scales"]), "huge_offset")
    assert "float64 before storing float32" in single.remedy


# ----------------------------------------------------------------------------------------- rows


def forced(X, y):
    """Rows that any rule gets wrong, by comparing every row with every other."""
    groups = {}
    for row, label in zip(np.asarray(X).tolist(), y.tolist(), strict=True):
        groups.setdefault(tuple(v + 0.0 for v in row), []).append(label)
    mixed = [group for group in groups.values() if len(set(group)) > 1]
    return (
        sum(map(len, mixed)),
        len(mixed),
        sum(len(g) - max(map(g.count, set(g))) for g in mixed),
    )


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("seed", range(6))
def test_contradictory_rows_against_brute_force(layout, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, size=(80, 3)).astype([np.float64, np.float32][seed % 2])
    X[X == 0] *= rng.choice([1.0, -1.0], (X == 0).sum())  # 0.0 and -0.0 are one number
    y = rng.integers(0, 3, 80)
    found = diagnose(LAYOUTS[layout](X), y, checks=["rows"])
    count, groups, wrong = forced(X, y)
    finding = one(found, "contradictory_rows")
    assert finding.where["count"] == count
    assert finding.where["groups"] == groups
    assert finding.where["least_mistakes"] == wrong
    assert finding.where["pairs"]
    for a, b in finding.where["pairs"]:
        assert (X[a] == X[b]).all()
        assert y[a] != y[b]


def test_a_row_stored_in_another_order_is_the_same_row():
    data = np.array([1.0, 2.0, 2.0, 1.0, 0.5, 0.5, 2.0, 0.0])
    indices = np.array([0, 3, 3, 0, 0, 0, 3, 1])
    X = sp.csr_matrix((data, indices, [0, 2, 4, 8]), shape=(3, 5))
    before = X.data.copy(), X.indices.copy(), X.indptr.copy()
    found = diagnose(X, [0, 1, 0], checks=["rows"])
    finding = one(found, "contradictory_rows")
    assert finding.where["count"] == 3
    assert finding.where["least_mistakes"] == 1
    for part, was in zip((X.data, X.indices, X.indptr), before, strict=True):
        np.testing.assert_array_equal(part, was)


def test_rows_are_called_what_the_caller_calls_them():
    X = np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]])
    found = diagnose(X, ["a", "b", "b"], checks=["rows"], row_numbers=[10, 20, 30])
    finding = one(found, "contradictory_rows")
    assert finding.where["pairs"] == [[10, 30]]
    assert "such as rows 10 ('a') and 30 ('b')" in finding.what


def test_copies_are_a_note():
    X = np.random.default_rng(13).normal(size=(100, 4))
    y = labels(100)
    X, y = np.vstack([X, X[:20]]), np.r_[y, y[:20]]
    finding = one(diagnose(X, y, checks=["rows"]), "duplicate_rows")
    assert (finding.severity, finding.where["count"]) == ("note", 20)
    assert "20 rows (17 %)" in finding.what


def test_empty_rows_of_sparse_text():
    X = sp.random(200, 500, 0.02, random_state=0, format="lil")
    for row in (3, 77, 150):
        X[row] = 0
    X = sp.csr_matrix(X)
    X.data[X.indptr[5] : X.indptr[6]] = 0.0  # stored zeros
    empty = np.flatnonzero(abs(X).sum(axis=1) == 0)
    finding = one(diagnose(X, labels(200), checks=["rows"]), "empty_rows")
    assert finding.where == {"rows": empty.tolist(), "count": len(empty)}
    assert {3, 5, 77, 150} <= set(empty.tolist())


# ---------------------------------------------------------------------------------------- label


def best_intervals(values, y):
    """Mean recall of the best intervals, one a class, by trying every order and every cut."""
    classes = np.unique(y)
    cuts = [-np.inf, *np.unique(values)]
    best = 0.0
    for order in itertools.permutations(classes):
        for chosen in itertools.combinations_with_replacement(cuts, len(classes) - 1):
            place = np.searchsorted(chosen, values, side="left")
            right = np.array(order)[place] == y
            best = max(best, np.mean([right[y == c].mean() for c in classes]))
    return best


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_interval_scores_against_brute_force(n_classes, seed):
    rng = np.random.default_rng(seed)
    y = np.r_[np.arange(n_classes), rng.integers(0, n_classes, 14)]
    columns = np.column_stack([rng.integers(0, 5, len(y)), rng.normal(size=len(y)) + y])
    score, order = checks._interval_scores(columns.astype(float), y, n_classes)
    for j in range(2):
        best = best_intervals(columns[:, j], y)
        # The order of the classes is taken from their means, so other orders may do better.
        assert score[j] <= best + 1e-12
        assert sorted(order[:, j]) == list(range(n_classes))
    separated = rng.permutation(n_classes)[y] + 0.3 * rng.uniform(size=len(y))
    score, _ = checks._interval_scores(separated[:, None], y, n_classes)
    assert score[0] == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_column_that_gives_the_label_away(layout):
    rng = np.random.default_rng(14)
    X = rng.normal(size=(60, 4))
    y = np.array(["no", "yes"])[labels(60)]
    X[:, 2] = np.where(y == "yes", rng.uniform(-9, -8, 60), rng.uniform(1, 2, 60))
    found = diagnose(LAYOUTS[layout](X), y, checks=["label"], feature_names=list("abcd"))
    finding = one(found, "gives_label_away")
    assert finding.where == {"columns": ["c"], "score": 1.0}
    assert " for 'yes' and " in finding.what
    low, high = X[y == "yes", 2].min(), X[y == "yes", 2].max()
    assert f"it is {low:.6g} to {high:.6g} for 'yes'" in finding.what


def test_a_column_that_nearly_gives_the_label_away():
    rng = np.random.default_rng(15)
    y = np.arange(1000) % 2
    x = y + 0.1 * rng.normal(size=1000)
    flipped = [10, 501, 777]
    x[flipped] = 1 - y[flipped]
    found = diagnose(np.column_stack([x, rng.normal(size=1000)]), y, checks=["label"])
    finding = one(found, "nearly_gives_label_away")
    assert finding.where["columns"] == [0]
    assert finding.where["score"] == pytest.approx(0.997)
    assert "right for 99.70 % of the rows" in finding.what


def test_the_sample_loses_no_leak():
    rng = np.random.default_rng(16)
    y = (rng.uniform(size=20_000) < 0.01).astype(int)
    X = rng.normal(size=(20_000, 30))
    X[:, 11] = y + 0.2 * rng.uniform(size=20_000)
    X = sp.hstack([sp.csr_array(X), sp.csr_array((y * 3.0)[:, None])], format="csr")
    found = diagnose(X, y, checks=["label"])
    assert [f.where["columns"] for f in found] == [[11], [30]]


def test_few_rows_prove_nothing():
    X = np.random.default_rng(17).normal(size=(6, 2))
    X[:, 0] = np.sort(X[:, 0])
    assert diagnose(X, [0, 0, 0, 1, 1, 1], checks=["label"]).findings == ()


def test_three_classes_on_one_column():
    rng = np.random.default_rng(18)
    y = rng.integers(0, 3, 90)
    X = np.column_stack([rng.normal(size=90), np.array([5.0, -1.0, 2.0])[y]])
    finding = one(diagnose(X, y, checks=["label"]), "gives_label_away")
    assert finding.what == (
        "column 1 alone determines the class: it is -1 for 1, 2 for 2 and 5 for 0"
    )
    iris = load_iris(return_X_y=True)
    assert diagnose(*iris, checks=["label"]).findings == ()


# ------------------------------------------------------------------------------ classes and shape


def test_imbalance_and_tiny_classes():
    X = np.random.default_rng(19).normal(size=(1215, 2))
    y = ["a"] * 1200 + ["b"] * 12 + ["c"] * 2 + ["d"]
    found = diagnose(X, y, checks=["classes"])
    tiny = one(found, "tiny_class")
    assert tiny.severity == "problem"
    assert tiny.what == "classes of few rows: 'd' has 1 row and 'c' has 2 rows"
    imbalance = one(found, "imbalance")
    assert imbalance.severity == "warning"
    assert imbalance.where["ratio"] == 1200
    assert "98.8 % of the rows" in imbalance.why
    found = diagnose(X[:1100], [0] * 1050 + [1] * 50, checks=["classes"])
    assert [(f.code, f.severity) for f in found] == [("imbalance", "note")]


def test_more_columns_than_rows():
    X = np.random.default_rng(20).normal(size=(20, 30))
    found = diagnose(X, labels(20), checks=["shape", "collinear"])
    assert one(found, "more_columns_than_rows").where == {"n_samples": 20, "n_features": 30}
    skipped = one(found, "skipped")
    assert skipped.severity == "note"
    assert skipped.why == "30 columns always depend on one another in 20 rows"
    assert found.skipped == {"collinear": skipped.why}
    assert found.checked == ("shape",)
    square = X[:, :20]
    assert codes(diagnose(square, labels(20), checks=["shape"])) == ["more_columns_than_rows"]
    assert codes(diagnose(square, labels(20), checks=["shape"], fit_intercept=False)) == []


# --------------------------------------------------------------------------------- separability


def test_separable_data_are_told():
    X, y = load_iris(return_X_y=True)
    found = diagnose(X, y == 0, checks=["separability"])
    assert codes(found) == ["separable"]
    assert codes(diagnose(X, y == 1, checks=["separability"])) == []
    finding = one(diagnose(X, y, checks=["separability"]), "separable")
    assert finding.what == (
        "2 of 3 pairs of classes are separable, and 0 is separable from all the rest"
    )
    assert finding.where["pairs"] == [
        [0, 1, "separable"], [0, 2, "separable"], [1, 2, "not_separable"],
    ]  # fmt: skip
    X, y = load_wine(return_X_y=True)
    finding = one(diagnose(X, y, checks=["separability"]), "separable")
    assert "3 of 3 pairs" in finding.what


def test_quasi_separable_data_name_their_columns():
    rng = np.random.default_rng(21)
    X = rng.normal(size=(60, 3))
    y = labels(60)
    X[:, 1] = 0.0
    X[[4, 9], 1] = 1.0
    y[[4, 9]] = 1
    found = diagnose(X, y, checks=["separability"], feature_names=["a", "rare level", "c"])
    finding = one(found, "quasi_separable")
    assert finding.where["columns"] == ["rare level"]
    assert finding.where["rows"] == [4, 9]
    assert "a plane has 2 rows strictly on their side by column 'rare level'" in finding.what


def test_what_may_take_long_is_skipped_and_said():
    X = np.random.default_rng(22).normal(size=(1000, 300))
    found = diagnose(X, labels(1000), checks=["separability"])
    assert codes(found) == ["skipped"]
    assert "time_limit" in found.findings[0].remedy
    assert list(found.skipped) == ["separability"]


def test_a_time_limit_that_comes_first_is_said(monkeypatch):
    module = sys.modules["separatrix.geometry.separation.deciding"]
    real = module.separability
    monkeypatch.setattr(
        module, "separability", lambda *args, **options: undecide(real(*args, **options))
    )
    X, y = load_iris(return_X_y=True)
    found = diagnose(X, y == 0, checks=["separability"], time_limit=3)
    assert found.findings[0].why == "the time limit of 3 s came first"
    found = diagnose(X, y, checks=["separability"], time_limit=3)
    assert codes(found) == ["skipped"]
    assert "in 6 of 6 questions" in found.findings[0].what


def undecide(answer):
    from dataclasses import replace

    if hasattr(answer, "pairs"):
        pairs = {k: undecide(v) for k, v in answer.pairs.items()}
        return replace(
            answer, pairs=pairs, one_vs_rest={k: undecide(v) for k, v in answer.one_vs_rest.items()}
        )
    return replace(answer, status="undecided", witness=None, common=None, margin=None)


# ------------------------------------------------------------------------------------- the whole


def messy(n=150):
    rng = np.random.default_rng(23)
    b, c = rng.normal(size=(2, n))
    X = np.column_stack([b + c, b, c, np.ones(n), b, 1e7 + c, rng.integers(0, 2, (n, 2))])
    X[n // 2] = X[0]
    y = labels(n)
    y[n // 2] = 1 - y[0]
    return X, y


@pytest.mark.parametrize("part", [1 << 20, 7])
def test_dense_and_sparse_agree(part):
    X, y = messy()
    with columns.tuned(columns.Tuning(part=part, block=8 * part)):
        dense = diagnose(X, y, checks=CHEAP).to_dict()
        for layout in LAYOUTS.values():
            assert diagnose(layout(X), y, checks=CHEAP).to_dict() == dense
    assert {"collinear", "constant_column", "duplicate_columns", "contradictory_rows"} <= {
        finding["code"] for finding in dense["findings"]
    }


def test_a_diagnosis_can_be_read_and_stored():
    X, y = messy()
    found = diagnose(X, np.array(["yes", "no"])[y])
    record = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert record["classes"] == ["no", "yes"]
    assert record["checked"] == list(CHECKS)
    assert len(found) == len(list(found)) == len(record["findings"])
    ranks = [SEVERITIES.index(finding.severity) for finding in found]
    assert ranks == sorted(ranks)
    lines = str(found).splitlines()
    assert lines[0].startswith("150 rows, 8 columns, 2 classes: ")
    assert len(lines) == 1 + len(found)
    assert all(line.endswith(".") for line in lines[1:])
    with pytest.raises(AttributeError):
        found.findings = ()


def test_clean_data_have_nothing():
    X = np.random.default_rng(24).normal(size=(400, 5))
    found = diagnose(X, labels(400))
    assert found.findings == ()
    assert found.summary() == "no problems found"
    assert not found  # as a list of findings
    assert str(found) == "400 rows, 5 columns, 2 classes: no problems found"


def test_names_come_from_data_frames():
    X, y = messy()
    frame = pd.DataFrame(X, columns=["a", 'quo"te', "[br]", "ü☃", "it's", "l" * 90, "g", "h"])
    found = diagnose(frame, y, checks=["columns", "collinear"])
    assert one(found, "constant_column").where["columns"] == ["ü☃"]
    assert one(found, "duplicate_columns").what.endswith("'quo\"te' = \"it's\"")
    assert "'" + "l" * 57 + "...'" in str(found)
    assert set(one(found, "constant_column").to_dict()) == {
        "code", "severity", "what", "why", "remedy", "where",
    }  # fmt: skip


def test_huge_and_tiny_numbers_overflow_nothing():
    rng = np.random.default_rng(25)
    X = rng.uniform(-1, 1, size=(60, 4)) * [1.7e308, 1e-308, 1.0, 1e200]
    X[0, 0], X[1, 0] = sys.float_info.max, -sys.float_info.max
    for layout in LAYOUTS.values():
        found = diagnose(layout(X), labels(60), checks=CHEAP)
        assert codes(found) == ["scales_differ"]
        json.dumps(found.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("X", "y", "told"),
    [
        ([[0.0], [np.nan]], [0, 1], "NaN at row 1, column 0"),
        ([[0.0], [np.inf]], [0, 1], "infinity .* at row 1, column 0"),
        ([[0.0], [1.0]], [1, 1], "one class only"),
        (np.empty((0, 2)), [], "0 sample"),
        (np.empty((2, 0)), [0, 1], "0 feature"),
        ([[0.0], [1.0]], [0, 1, 1], "inconsistent numbers of samples"),
        ([[0.0], [1.0]], [0.5, 1.7], "continuous"),
    ],
)
def test_data_that_cannot_be_diagnosed(X, y, told):
    with pytest.raises(ValueError, match=told):
        diagnose(X, y)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"checks": ["leaks"]}, "checks='leaks' is not known; choose one of 'classes', "),
        ({"time_limit": 0}, "time_limit=0 must be a finite number greater than 0"),
        ({"feature_names": ["a"]}, "feature_names has 1 names for 2 columns"),
        ({"row_numbers": [1, 2]}, r"row_numbers has the shape \(2,\) for 3 rows"),
    ],
)
def test_options_that_cannot_be_meant(options, told):
    with pytest.raises(ValueError, match=told):
        diagnose(np.eye(3)[:, :2], [0, 1, 1], **options)


def test_nothing_is_made_dense():
    rng = np.random.default_rng(26)
    n, d, per_row = 2000, 20_000, 30
    indices = np.sort(rng.integers(0, d, (n, per_row)), axis=1).ravel()
    ends = np.arange(0, n * per_row + 1, per_row)
    X = sp.csr_matrix((np.ones(n * per_row), indices, ends), (n, d))
    X.sum_duplicates()
    y = labels(n)
    diagnose(X, y, checks=CHEAP)  # what is imported and compiled is not counted
    tracemalloc.start()
    diagnose(X, y, checks=CHEAP)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * n * d / 10


def test_read_only_memory_is_enough():
    X, y = messy()
    X.flags.writeable = False
    before = X.copy()
    diagnose(X, y)
    np.testing.assert_array_equal(X, before)
