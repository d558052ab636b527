"""Separable or not: every verdict against an independent exact method, every proof by hand."""

from __future__ import annotations

import functools
import importlib
import itertools
import json
import time
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_iris
from tests.census import Clock

from geometry import reference
from grids import EXHAUSTIVE, share
from separatrix.geometry.points import labelled_points
from separatrix.geometry.separation.deciding import separability
from separatrix.geometry.separation.linear_programs import Suggestion
from separatrix.geometry.separation.separability import Separability, SeparabilityTable, decide
from separatrix.geometry.separation.witness import HyperplaneWitness, MultiplierWitness, Sides

# The package has a function of the same name.
module = importlib.import_module("separatrix.geometry.separation.separability")

LARGEST = float(np.finfo(np.float64).max)
TINIEST = 5e-324


def judge(X, y, fit_intercept, **options):
    """The verdict, held to the independent method and to the definitions."""
    s = reference.signs(y, 1)
    verdict = separability(X, y, fit_intercept=fit_intercept, **options)
    moved = reference.movable(X, s, fit_intercept)
    expected = "separable" if all(moved) else "quasi_separable" if any(moved) else "not_separable"
    assert verdict.status == expected
    assert verdict.separable == (expected == "separable")
    proof = verdict.check(X, y)
    assert proof and proof.holds, proof.reason
    assert not reference.witness_error(verdict, X, s)
    if expected == "quasi_separable":
        # Every row that any hyperplane can have strictly on its side is on its side of this one.
        assert verdict.witness.separated == tuple(np.flatnonzero(moved).tolist())
    return verdict


# --- the reference itself ------------------------------------------------------------------------


@pytest.mark.sampled
@pytest.mark.parametrize("kind", reference.KINDS)
def test_two_independent_methods_agree(kind):
    for X, y in reference.problems(kind, share(48), seed=1):
        if X.shape[1] > 4 or len(X) > 8:
            # Elimination squares the number of rows at each step.
            continue
        s = reference.signs(y, 1)
        for intercept in (True, False):
            moved = reference.movable(X, s, intercept)
            assert moved == reference.movable_again(X, s, intercept)
            z = reference.signed_rows(X, s, intercept)
            assert all(moved) == reference.possible(z, [True] * len(z))


# --- verdicts ------------------------------------------------------------------------------------


@pytest.mark.sampled
@pytest.mark.parametrize("kind", reference.KINDS)
def test_small_problems(kind):
    """16 kinds, 170 problems of each, both geometries: in make exhaustive, 5,440 verdicts."""
    seen = set()
    for X, y in reference.problems(kind, 170 if EXHAUSTIVE else 8, seed=0):
        with_offset = judge(X, y, True, margin=False).status
        through_origin = judge(X, y, False, margin=False).status
        seen |= {with_offset, through_origin}
        # A hyperplane through the origin has an offset: 0.
        assert with_offset == "separable" or through_origin != "separable"
    assert len(seen) > 1


def columns(rng, X, low, high):
    return X * 2.0 ** rng.integers(low, high, X.shape[1])


def every(step, first):
    """All kinds of problems in make exhaustive, and otherwise every ``step``-th of them."""
    kinds = list(reference.KINDS)
    return kinds if EXHAUSTIVE else kinds[first % step :: step]


TRANSFORMS = {
    "times 1e15": lambda rng, X: X * 1e15,
    "shifted by 1e15": lambda rng, X: X + 1e15,
    "columns shifted": lambda rng, X: X + rng.choice([1e15, -1e15, 1e8, 0.1], X.shape[1]),
    "columns of other sizes": lambda rng, X: columns(rng, X, -300, 300),
    "columns of all sizes": lambda rng, X: columns(rng, X, -1000, 1000),
    "rows of other sizes": lambda rng, X: X * 2.0 ** rng.integers(-60, 60, (len(X), 1)),
    "rows of all sizes": lambda rng, X: X * 2.0 ** rng.integers(-1000, 1000, (len(X), 1)),
    "moved by an ulp": lambda rng, X: (
        X + np.abs(X) * rng.choice([0, 0, 2.0**-52, -(2.0**-52)], X.shape)
    ),
    "moved by 1e-12": lambda rng, X: X + rng.choice([0, 0, 1e-12, -1e-12], X.shape),
    "moved by 2**-1000": lambda rng, X: X + rng.choice([0, 0, 2.0**-1000, 1e-300], X.shape),
    "tenths": lambda rng, X: X * 0.1,
    "the smallest floats": lambda rng, X: X * TINIEST,
    "the largest floats": lambda rng, X: X / max(1.0, np.abs(X).max()) * LARGEST,
    "from 1e300 to 1e-300": lambda rng, X: X * rng.choice([1e300, 1e-300, 1.0], X.shape),
    "a popular prime": lambda rng, X: X * 2147483647,
    "an unpopular prime": lambda rng, X: X * 2147483629,
}


@pytest.mark.sampled
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_sizes_that_floats_cannot_handle(transform):
    """The verdict is exact of the numbers as they are stored, whatever the float stage makes."""
    rng = np.random.default_rng([7, *transform.encode()])
    for k, kind in enumerate(every(4, list(TRANSFORMS).index(transform))):
        for X, y in reference.problems(kind, share(3), seed=2):
            moved = TRANSFORMS[transform](rng, X)
            for fit_intercept in (True, False) if EXHAUSTIVE else (k % 2 == 0,):
                judge(moved, y, fit_intercept, margin=False)


@pytest.mark.parametrize("gap", [2.0**-20, 1e-12, 2.0**-52])
def test_margins_below_every_tolerance(gap):
    """Points at a distance of ``gap`` on either side of a plane, or one of them beyond it."""
    rng = np.random.default_rng(3)
    for _ in range(3):
        X = rng.integers(-1, 2, (12, 3)).astype(float)
        y = rng.integers(0, 2, 12)
        y[:2] = [0, 1]
        # The last column is +-gap; adding another to it hides it in a direction of its own.
        X[:, 2] = np.where(y == 1, gap, -gap)
        X[:, 2] += X[:, 0]
        assert judge(X, y, True, margin=False).status == "separable"
        X[0, 2] = X[1, 2] - X[1, 0] + X[0, 0] + gap
        judge(X, y, True, margin=False)
        judge(X, y, False, margin=False)


def test_a_point_beside_a_face_by_one_bit():
    """Barely inside, on, or barely outside the triangle of the other class."""
    triangle = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    for x in (0.5, 0.1, 1 / 3):
        # (x, 1 - x) is on the edge exactly where the subtraction was exact.
        on = Fraction(x) + Fraction(1 - x) == 1
        for neighbour, status in (
            (1 - x, "quasi_separable" if on else None),
            (np.nextafter(1 - x, 2), "separable"),
            (np.nextafter(1 - x, 0), "not_separable"),
        ):
            verdict = judge(np.array([*triangle, [x, neighbour]]), [0, 0, 0, 1], True)
            assert status is None or not on or verdict.status == status


# --- a float stage that cannot be trusted --------------------------------------------------------


def _garbage(cloud, how, rng):
    n, d = cloud.n, cloud.design.n_features
    b = float(cloud.lifted)
    rows = rng.permutation(n)[: max(1, n // 2)]
    if how == "nothing":
        return Suggestion(np.zeros(d), 0.0, np.empty(0, dtype=int), np.empty(0), 0.0)
    if how == "NaN":
        return Suggestion(np.full(d, np.nan), b, rows, np.ones(len(rows)), np.nan)
    if how == "infinity":
        return Suggestion(np.full(d, np.inf), -b, rows, np.full(len(rows), 1e308), np.inf)
    if how == "wrong hyperplane":
        return Suggestion(rng.standard_normal(d), b, np.empty(0, dtype=int), np.empty(0), 1.0)
    if how == "wrong rows":
        return Suggestion(np.zeros(d), 0.0, rows, rng.random(len(rows)) + 0.1, 0.0)
    if how == "all rows":
        return Suggestion(rng.standard_normal(d), -b, np.arange(n), np.ones(n), 1.0)
    raise KeyError(how)


@pytest.mark.sampled
@pytest.mark.parametrize(
    "how", ["nothing", "NaN", "infinity", "wrong hyperplane", "wrong rows", "all rows"]
)
def test_the_verdict_does_not_rest_on_the_float_stage(monkeypatch, how):
    rng = np.random.default_rng(4)

    def suggest(working, *rest, **options):
        return _garbage(working.cloud, how, rng)

    def suggest_margin(cloud, **options):
        garbage = _garbage(cloud, how, rng)
        alpha = np.zeros(cloud.n)
        alpha[garbage.rows] = garbage.multipliers
        return np.append(garbage.w, garbage.b) if cloud.lifted else garbage.w, alpha

    for name, garbage in (
        ("suggest_strict", suggest),
        ("suggest_boundary", suggest),
        ("suggest_margin", suggest_margin),
    ):
        assert callable(getattr(module, name))
        monkeypatch.setattr(module, name, garbage)
    for kind in every(2, len(how)):
        for X, y in reference.problems(kind, share(8), seed=3):
            for fit_intercept in (True, False):
                judge(X, y, fit_intercept, margin=False)


@pytest.mark.sampled
@pytest.mark.crossed
@pytest.mark.parametrize("transform", ["tenths", "moved by an ulp", "columns of other sizes"])
@pytest.mark.parametrize("limits", [("wide",), ("medium",), ("medium", "largest_margin")])
def test_the_ways_of_wide_data(transform, limits):
    """Methods that are tried first where columns are many, on problems that can be judged."""
    rng = np.random.default_rng(5)
    with module.tuned(module.Tuning(**dict.fromkeys(limits, 0))):
        for k, kind in enumerate(every(2, len(limits[0]))):
            for X, y in reference.problems(kind, share(8), seed=4):
                for fit_intercept in (True, False) if EXHAUSTIVE else (k % 2 == 0,):
                    judge(TRANSFORMS[transform](rng, X), y, fit_intercept, margin=False)
                    judge(X, y, fit_intercept, margin=False)


def test_more_columns_than_a_linear_program_likes():
    rng = np.random.default_rng(6)
    X = rng.integers(-9, 10, (16, 1100)).astype(float)
    y = np.arange(16) % 2
    assert separability(X, y).separable
    twins = np.vstack([X, X[:1]]), np.append(y, 1 - y[0])
    verdict = separability(*twins)
    assert verdict.status == "quasi_separable" and verdict.check(*twins)
    assert set(verdict.witness.separated) == set(range(1, 16))
    assert verdict.common.rows == (0, 16)


def test_larger_problems_with_a_known_answer():
    """Lattices with many ties; planted planes, touching hulls, and a point inside."""
    rng = np.random.default_rng(7)
    for n, d in ((600, 6), (300, 20)):
        X = rng.integers(-2, 3, (n, d)).astype(float)
        w = rng.integers(1, 4, d)
        v = X @ w
        X, v = X[v != 0], v[v != 0]
        y = (v > 0).astype(int)
        verdict = separability(X, y, fit_intercept=False)
        assert verdict.separable and verdict.check(X, y)
        # Each row on the plane, with both labels: those stay on it, all others leave it.
        on = np.zeros((6, d))
        on[:, 0], on[:, 1] = w[1] * np.arange(1, 7), -w[0] * np.arange(1, 7)
        X2 = np.vstack([X, on, on])
        y2 = np.concatenate([y, np.zeros(6, dtype=int), np.ones(6, dtype=int)])
        verdict = separability(X2, y2, fit_intercept=False)
        assert verdict.status == "quasi_separable" and verdict.check(X2, y2)
        assert verdict.witness.separated == tuple(range(len(X)))
        # The mean of all points of one class, with the other label, is inside its hull.
        inside = np.vstack([X, 4 * X[:4].mean(axis=0)[None]])
        y3 = np.append(y, 1 - y[:4].max())
        if y[:4].min() == y[:4].max():
            assert not separability(inside, y3).separable


# --- storage -------------------------------------------------------------------------------------


def _unsorted(X):
    matrix = sp.csr_matrix(X)
    for i in range(matrix.shape[0]):
        part = slice(matrix.indptr[i], matrix.indptr[i + 1])
        matrix.indices[part] = matrix.indices[part][::-1]
        matrix.data[part] = matrix.data[part][::-1]
    matrix.has_sorted_indices = False
    return matrix


def _explicit_zeros(X):
    n, d = X.shape
    return sp.csr_matrix((X.ravel(), np.tile(np.arange(d), n), np.arange(0, n * d + 1, d)), X.shape)


def _in_parts(X):
    """Each entry stored in two parts, whose sum is exact."""
    n, d = X.shape
    data = np.stack([X / 2, X / 2], axis=2).ravel()
    indices = np.repeat(np.tile(np.arange(d), n), 2)
    return sp.csr_matrix((data, indices, np.arange(0, 2 * n * d + 1, 2 * d)), (n, d))


LAYOUTS = {
    "float32": lambda X: X.astype(np.float32),
    "integers": lambda X: X.astype(np.int64),
    "small integers": lambda X: X.astype(np.int8),
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
    "reversed": lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
    "list": lambda X: X.tolist(),
    "csr": sp.csr_matrix,
    "csr array": sp.csr_array,
    "csr float32": lambda X: sp.csr_array(X.astype(np.float32)),
    "csr int64 indices": lambda X: _wide_indices(sp.csr_matrix(X)),
    "csc": sp.csc_matrix,
    "coo": sp.coo_array,
    "csr unsorted": _unsorted,
    "csr explicit zeros": _explicit_zeros,
    "csr in parts": _in_parts,
    "pandas": lambda X: pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])]),
}


def _wide_indices(matrix):
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return matrix


@functools.cache
def verdicts_on_dense(kind):
    return [
        (X, y, separability(X, y, margin=False))
        for X, y in reference.problems(kind, share(8), seed=5)
    ]


@pytest.mark.sampled
@pytest.mark.parametrize("layout", LAYOUTS)
def test_storage_does_not_matter(layout):
    for kind in ("any", "split with ties", "indicators", "opposite twins"):
        for X, y, dense in verdicts_on_dense(kind):
            stored = LAYOUTS[layout](X)
            before = stored.copy() if hasattr(stored, "copy") else None
            verdict = separability(stored, y, margin=False)
            assert verdict.status == dense.status
            assert verdict.check(stored, y) and verdict.check(X, y) and dense.check(stored, y)
            s = reference.signs(y, 1)
            assert not reference.witness_error(verdict, X, s)
            if verdict.status == "quasi_separable":
                assert verdict.witness.separated == dense.witness.separated
            if sp.issparse(stored):
                assert (stored != before).nnz == 0 and stored.nnz == before.nnz


def test_float32_is_exact_of_the_floats_as_stored():
    rng = np.random.default_rng(8)
    for X, y in reference.problems("split with ties", 7, seed=6):
        single = (X * 0.1 + rng.choice([0, 1e-7], X.shape)).astype(np.float32)
        for fit_intercept in (True, False):
            judge(single, y, fit_intercept, margin=False)
            judge(sp.csr_array(single), y, fit_intercept, margin=False)


def test_repeated_entries_are_added_in_floats():
    """The sum of 0.1 and 0.2 at one place is 0.30000000000000004, as everywhere else."""
    X = sp.csr_matrix(([0.1, 0.2, 0.3], [0, 0, 0], [0, 2, 3]), shape=(2, 1))
    assert separability(X, [0, 1]).separable
    X = sp.csr_matrix(([0.1, 0.2, 0.1 + 0.2], [0, 0, 0], [0, 2, 3]), shape=(2, 1))
    verdict = separability(X, [0, 1])
    assert verdict.status == "not_separable"
    assert verdict.check(X, [0, 1]) and verdict.check(X.toarray(), [0, 1])
    # Also in single precision, and where more than one is repeated.
    X = sp.csr_matrix(
        (np.array([0.1, 0.2, 0.5, 0.7, 1.2], dtype=np.float32), [0, 0, 1, 1, 0], [0, 2, 4, 5]),
        shape=(3, 2),
    )
    judge(X, np.array([0, 1, 0]), True)


def test_labels_of_any_kind():
    X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]])
    for labels in (
        ["no", "no", "yes"],
        [False, False, True],
        [-1, -1, 1],
        [1.0, 1.0, 2.0],
        [7, 7, 9],
    ):
        y = np.array(labels)
        verdict = separability(X, y)
        assert verdict.separable and verdict.check(X, y)
        assert verdict.classes == (labels[0], labels[2])
        # The second in sorted order is positive.
        assert verdict.hyperplane.w @ X[2] + verdict.hyperplane.b > 0
        again = Separability.from_dict(json.loads(json.dumps(verdict.to_dict())))
        assert again.check(X, y) and again.classes == verdict.classes


def test_bad_input():
    with pytest.raises(ValueError, match="one class"):
        separability([[0.0], [1.0]], [1, 1])
    with pytest.raises(ValueError, match="NaN at row 1, column 0"):
        separability([[0.0], [np.nan]], [0, 1])
    with pytest.raises(ValueError, match="infinity"):
        separability([[0.0], [np.inf]], [0, 1])
    with pytest.raises(ValueError, match="inconsistent"):
        separability([[0.0], [1.0]], [0, 1, 1])
    for limit in (0, -1, "soon", np.nan):
        with pytest.raises(ValueError, match="time_limit"):
            separability([[0.0], [1.0]], [0, 1], time_limit=limit)


# --- what a verdict says -------------------------------------------------------------------------


def test_what_a_verdict_says():
    separable = separability([[0.0], [1.0], [4.0]], [0, 0, 1])
    assert str(separable) == (
        "separable: a hyperplane has all 3 points strictly on their own side; "
        "the largest margin is 1.5"
    )
    assert isinstance(separable.witness, HyperplaneWitness) and separable.witness.strict
    assert separable.common is None and separable.classes == (0, 1)
    assert (separable.n_samples, separable.n_features) == (3, 1)
    quasi = separability(
        pd.DataFrame({"age": [1, 2, 3, 4], "rare": [0, 0, 0, 1]}), [0, 1, 0, 1], margin=False
    )
    assert quasi.status == "quasi_separable" and not quasi.separable
    assert quasi.witness.columns == (1,) and quasi.witness.separated == (3,)
    assert "1 of 4 strictly on their own side and the others on the plane (by rare)" in str(quasi)
    assert quasi.feature_names == ("age", "rare") and quasi.margin is None
    crossed = separability([[0.0], [1.0], [2.0]], [0, 1, 0])
    assert isinstance(crossed.witness, MultiplierWitness) and crossed.hyperplane is None
    assert "a weighted mean of some points of 1 is exactly a weighted mean of points of the" in str(
        crossed
    )
    origin = separability([[1.0], [2.0]], [0, 1], fit_intercept=False)
    assert str(origin).startswith("not separable through the origin: 2 points")
    for verdict in (separable, quasi, crossed, origin):
        assert verdict.seconds >= 0


def test_the_plain_hyperplane_of_a_verdict():
    """In floats, and on the right sides where floats can be."""
    for kind in ("split cleanly", "two points", "wide"):
        for X, y in reference.problems(kind, 5, seed=7):
            for margin in (True, False):
                verdict = separability(X, y, margin=margin)
                if verdict.separable:
                    plane = verdict.hyperplane
                    s = np.where(y == 1, 1, -1)
                    assert np.all(s * (X @ plane.w + plane.b) > 0)


def test_the_offset_alone_cannot_be_a_witness():
    verdict = separability([[0.0], [0.0], [0.0]], [0, 1, 1])
    assert verdict.status == "not_separable"
    assert verdict.check([[0.0], [0.0], [0.0]], [0, 1, 1])


# --- more than two classes -----------------------------------------------------------------------


def test_classes_by_pairs_and_against_the_rest():
    rng = np.random.default_rng(9)
    for labels in ([0, 1, 2], ["a", "b", "c", "d"]):
        for _ in range(2):
            X = rng.integers(-2, 3, (10, 2)).astype(float)
            y = np.array(labels)[np.arange(10) % len(labels)]
            for fit_intercept in (True, False):
                table = separability(X, y, fit_intercept=fit_intercept)
                assert isinstance(table, SeparabilityTable)
                assert table.classes == tuple(labels)
                assert set(table.pairs) == set(itertools.combinations(labels, 2))
                assert set(table.one_vs_rest) == set(labels)
                for (a, b), verdict in table.pairs.items():
                    rows = np.flatnonzero((y == a) | (y == b))
                    s = reference.signs(y[rows], b)
                    assert verdict.classes == (a, b) and verdict.n_samples == len(rows)
                    assert verdict.status == reference.status(X[rows], s, fit_intercept)
                    assert verdict.check(X, y)
                    # Rows are numbered as in all the data.
                    if verdict.status == "not_separable":
                        assert set(verdict.witness.rows) <= set(rows.tolist())
                    if verdict.status == "quasi_separable":
                        assert set(verdict.witness.separated) <= set(rows.tolist())
                        assert set(verdict.common.rows) <= set(rows.tolist())
                    if verdict.margin is not None:
                        assert set(verdict.margin.support) <= set(rows.tolist())
                for c, verdict in table.one_vs_rest.items():
                    s = reference.signs(y, c)
                    assert verdict.classes == (None, c) and verdict.n_samples == len(y)
                    assert verdict.status == reference.status(X, s, fit_intercept)
                    assert verdict.check(X, y)
                    assert not reference.witness_error(verdict, X, s)
                assert table.separable == all(v.separable for v in table.pairs.values())
                assert table.check(X, y)
                assert len(str(table).splitlines()) == len(table.pairs) + len(table.one_vs_rest)
                again = SeparabilityTable.from_dict(json.loads(json.dumps(table.to_dict())))
                assert again.check(X, y) and again.to_dict() == table.to_dict()
                assert list(again.pairs) == list(table.pairs)


def test_a_table_says_which_verdict_fails():
    X, y = load_iris(return_X_y=True)
    table = separability(X, y, margin=False)
    assert [v.separable for v in table.pairs.values()] == [True, True, False]
    assert [v.separable for v in table.one_vs_rest.values()] == [True, False, False]
    assert not table.separable and table.check(X, y)
    other = X.copy()
    other[0] = X[100]
    proof = table.check(other, y)
    assert not proof and proof.reason.startswith("0 and 1: row 0 is on the wrong side")


def test_well_known_data():
    X, y = load_breast_cancer(return_X_y=True)
    verdict = separability(X, y)
    assert verdict.separable and verdict.check(X, y)
    assert separability(X[:, :10], y, margin=False).status == "not_separable"


# --- the time limit ------------------------------------------------------------------------------


def test_a_time_limit_never_makes_a_wrong_verdict(monkeypatch):
    """Stopped after every number of looks at the clock: the verdict is undecided or right."""
    for kind in ("any", "split with ties", "opposite twins"):
        for X, y in reference.problems(kind, 2, seed=8):
            points = labelled_points(X, y)
            expected = reference.status(X, reference.signs(y, 1))
            for limit in range(60):
                with monkeypatch.context() as patched:
                    patched.setattr(time, "perf_counter", Clock())
                    verdict = decide(points, Sides(0, 1), deadline=float(limit))
                if verdict.status == "undecided":
                    assert verdict.witness is None and verdict.margin is None
                    assert not verdict.check(X, y) and "time" in verdict.check(X, y).reason
                    assert "time limit" in str(verdict)
                    again = Separability.from_dict(json.loads(json.dumps(verdict.to_dict())))
                    assert again == verdict
                else:
                    break
            assert limit > 0 and verdict.status == expected and verdict.check(X, y)


# --- the four panels -----------------------------------------------------------------------------

# Points, labels, and whether a line separates them: any line, one through the origin.
FOUR_PANELS = {
    "near and far": (
        [(1, 1), (2, 1), (1, 2), (3, 3), (4, 3), (3, 4)],
        [-1, -1, -1, 1, 1, 1],
        (True, False),
    ),
    "opposite corners": ([(1, 1), (-1, -1), (1, -1), (-1, 1)], [1, 1, -1, -1], (False, False)),
    "left and right": (
        [(2, 1), (3, -1), (1, 0), (-2, 1), (-1, -2), (-3, 0)],
        [1, 1, 1, -1, -1, -1],
        (True, True),
    ),
    "inside and outside": (
        [(0, 1), (1, 0), (3, 3), (-3, 3), (0, -4)],
        [1, 1, -1, -1, -1],
        (False, False),
    ),
}


@pytest.mark.parametrize("panel", FOUR_PANELS)
def test_the_four_panels(panel):
    points, labels, answers = FOUR_PANELS[panel]
    X, y = np.array(points, dtype=float), np.array(labels)
    assert tuple(judge(X, y, offset).separable for offset in (True, False)) == answers
