"""Witnesses: altered ones fail, for the right reason, and files bring them back exactly."""

from __future__ import annotations

import copy
import dataclasses
import json
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from geometry import reference
from separatrix.geometry.separation.deciding import separability
from separatrix.geometry.separation.separability import Separability
from separatrix.geometry.separation.witness import (
    HyperplaneWitness,
    MultiplierWitness,
    Proof,
    Sides,
    number_from_text,
    number_to_text,
)

TINY = Fraction(1, 2**200)

SEPARABLE = (np.array([[0.0, 1.0], [1.0, 0.0], [3.0, 3.0], [2.0, 4.0]]), np.array([0, 0, 1, 1]))
# One indicator that only one label has, and a crossing in the other column.
QUASI = (
    np.array([[0.0, 0.1], [0.0, 0.2], [0.0, 0.3], [1.0, 0.2], [1.0, 5.0]]),
    np.array([0, 1, 0, 1, 1]),
)
# A point inside a triangle whose weights are not floats.
CROSSED = (
    np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0], [1.0, 1.0], [9.0, 9.0]]),
    np.array([0, 0, 0, 1, 1]),
)
CENTRE = MultiplierWitness(
    rows=(0, 1, 2, 3),
    multipliers=(*[Fraction(1, 6)] * 3, Fraction(1, 2)),
    sides=Sides(0, 1),
    fit_intercept=True,
    overlap=True,
)
# All on one line, so that no rows span the plane: the overlap is shown by all rows together.
FLAT = (
    np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0], [6.0, 6.0]]),
    np.array([0, 1, 0, 0, 1]),
)
STATUSES = {
    "separable": SEPARABLE,
    "quasi_separable": QUASI,
    "not_separable": CROSSED,
}


def verdict_on(data, **options):
    verdict = separability(*data, **options)
    assert verdict.check(*data)
    return verdict


def fails(witness, X, y, *words):
    """Check that a witness fails, for a reason that contains the words."""
    proof = witness.check(X, y)
    assert isinstance(proof, Proof) and not proof and not proof.holds
    assert str(proof) == proof.reason
    for word in words:
        assert word in proof.reason
    return proof


def nudged(values, place, by=TINY):
    return tuple(v + by if k == place else v for k, v in enumerate(values))


def test_what_the_data_are_meant_to_be():
    for status, data in STATUSES.items():
        assert verdict_on(data).status == status
    assert verdict_on(FLAT).status == "not_separable"
    for data in (*STATUSES.values(), FLAT):
        assert not reference.witness_error(verdict_on(data), data[0], reference.signs(data[1], 1))


# --- hyperplanes ---------------------------------------------------------------------------------


def test_a_hyperplane_that_touches_is_not_strict():
    X, y = SEPARABLE
    witness = verdict_on(SEPARABLE, margin=False).witness
    exact = HyperplaneWitness(
        (Fraction(1), Fraction(1)), Fraction(-1), witness.sides, True, strict=True
    )
    fails(exact, X, y, "row 0 is on the plane", "2 of 4 rows")
    # A hair away, in either direction.
    assert dataclasses.replace(exact, b=-1 - TINY).check(X, y)
    fails(dataclasses.replace(exact, b=-1 + TINY), X, y, "row 0 is on the wrong side")
    assert dataclasses.replace(exact, w=(1 - TINY, 1 - TINY)).check(X, y)
    fails(dataclasses.replace(exact, w=(1 + TINY, 1 - TINY)), X, y, "row 1 is on the wrong side")
    fails(dataclasses.replace(exact, w=(Fraction(-1), Fraction(-1))), X, y, "wrong side")


def test_a_strict_hyperplane_on_other_data():
    X, y = SEPARABLE
    for options in ({}, {"fit_intercept": False}):
        verdict = separability(X - [1, 1] if options else X, y, **options)
        if not verdict.separable:
            continue
        data = X - [1, 1] if options else X
        fails(verdict.witness, data, 1 - y, "wrong side", "4 of 4")
        other = y.copy()
        other[3] = 0
        fails(verdict.witness, data, other, "row 3 is on the wrong side", "1 of 4")
        moved = data.copy()
        moved[1] = data[2]
        fails(verdict.witness, moved, y, "row 1 is on the wrong side")
        fails(verdict.witness, data[:, :1], y, "2 weights", "1 columns")
    witness = verdict_on(SEPARABLE).witness
    with pytest.raises(ValueError, match="no class 1"):
        witness.check(X, ["a", "a", "b", "b"])


def test_an_offset_through_the_origin():
    X, y = np.array([[1.0], [-1.0]]), [1, 0]
    witness = separability(X, y, fit_intercept=False).witness
    assert witness.b == 0 and witness.check(X, y)
    fails(dataclasses.replace(witness, b=TINY), X, y, "does not pass through the origin")


def test_a_weak_hyperplane():
    X, y = QUASI
    witness = verdict_on(QUASI).witness
    assert (witness.separated, witness.columns, witness.strict) == ((3, 4), (0,), False)
    j = witness.columns[0]
    # Any weight on the other column puts a point of the crossing on the wrong side.
    for by in (TINY, -TINY):
        tilted = dataclasses.replace(witness, w=nudged(witness.w, 1, by), columns=(0, 1))
        fails(tilted, X, y, "wrong side")
        fails(dataclasses.replace(witness, b=witness.b + by), X, y, "wrong side")
    fails(
        dataclasses.replace(witness, w=tuple(-v for v in witness.w)), X, y, "row 3 is on the wrong"
    )
    nothing = dataclasses.replace(witness, w=(Fraction(0),) * 2, b=Fraction(0), columns=())
    fails(nothing, X, y, "every row is on the plane")
    for separated in ((3,), (3, 4, 0), (4, 3), (), (2, 4)):
        fails(
            dataclasses.replace(witness, separated=separated),
            X,
            y,
            "the rows strictly on their side",
        )
    for columns in ((), (1,), (0, 1)):
        fails(dataclasses.replace(witness, columns=columns), X, y, "columns")
    # The witness is no strict one.
    strict = dataclasses.replace(witness, strict=True, separated=(), columns=())
    fails(strict, X, y, "row 0 is on the plane", "3 of 5")
    assert j == 0 and dataclasses.replace(witness, w=nudged(witness.w, 0)).check(X, y)


# --- multipliers ---------------------------------------------------------------------------------


def test_multipliers():
    X, y = CROSSED
    witness = CENTRE
    assert witness.check(X, y)
    for k in range(4):
        for by in (TINY, -TINY):
            altered = dataclasses.replace(witness, multipliers=nudged(witness.multipliers, k, by))
            fails(altered, X, y, "do not add up to zero")
        signs = nudged(witness.multipliers, k, -2 * witness.multipliers[k])
        altered = dataclasses.replace(witness, multipliers=signs)
        fails(altered, X, y, f"the multiplier of row {k} is negative")
    swapped = dataclasses.replace(witness, rows=(0, 1, 2, 4))
    fails(swapped, X, y, "do not add up to zero: column 0 gives 4")
    fails(dataclasses.replace(witness, rows=(0, 1, 2, 5)), X, y, "there is no row 5")
    fails(dataclasses.replace(witness, rows=(0, 1, 2, -2)), X, y, "there is no row -2")
    fails(
        dataclasses.replace(witness, rows=(0, 1, 3, 3)),
        X,
        y,
        "the number of multipliers is not the number of rows",
    )
    fails(
        dataclasses.replace(witness, rows=(0, 1, 2)),
        X,
        y,
        "the number of multipliers is not the number of rows",
    )
    zero = dataclasses.replace(witness, multipliers=(Fraction(0),) * 4)
    fails(zero, X, y, "all multipliers are zero")
    fails(dataclasses.replace(witness, rows=(), multipliers=()), X, y, "all multipliers are zero")
    # In another order it is the same.
    again = dataclasses.replace(
        witness, rows=witness.rows[::-1], multipliers=witness.multipliers[::-1]
    )
    assert again.check(X, y)


def test_multipliers_on_other_data():
    X, y = CROSSED
    witness = CENTRE
    # The statement is the same for the classes exchanged, and another for other labels.
    assert witness.check(X, 1 - y)
    other = y.copy()
    other[0] = 1
    fails(witness, X, other, "the constant 1")
    moved = X.copy()
    moved[3, 1] = np.nextafter(1.0, 2)
    fails(witness, moved, y, "column 1 gives 1.11022e-16")
    frame = pd.DataFrame(moved, columns=["left", "right"])
    fails(witness, frame, y, "column 'right' gives 1.11022e-16")
    huge = X * 1.7e307
    huge[3] = -1e308
    fails(witness, huge, y, "column 0")


def test_sums_beyond_the_range_of_floats():
    X = np.array([[1.7e308], [-1.7e308], [1.6e308]])
    witness = MultiplierWitness(
        (0, 1), (Fraction(1, 2), Fraction(1, 2)), Sides(0, 1), False, overlap=True
    )
    fails(dataclasses.replace(witness, multipliers=(Fraction(9), Fraction(1))), X, [1, 1, 0])
    assert witness.check(X, [1, 1, 0])


def test_overlap_needs_its_own_proof():
    """Multipliers of few rows show that nothing separates strictly, and no more."""
    X, y = FLAT
    witness = verdict_on(FLAT).witness
    assert witness.overlap and witness.extra_rows
    for k in range(len(witness.extra_rows)):
        altered = dataclasses.replace(
            witness, extra_multipliers=nudged(witness.extra_multipliers, k)
        )
        fails(altered, X, y, "all rows together do not add up to zero")
    negative = nudged(witness.extra_multipliers, 0, -1 - witness.extra_multipliers[0])
    fails(dataclasses.replace(witness, extra_multipliers=negative), X, y, "is negative")
    for rows in ((99,) * len(witness.extra_rows), (*witness.extra_rows, 0)):
        assert not dataclasses.replace(witness, extra_rows=rows).check(X, y)
    without = dataclasses.replace(witness, extra_rows=(), extra_multipliers=())
    fails(without, X, y, "all rows together do not add up to zero")
    # The rows of the multipliers themselves still cancel.
    assert dataclasses.replace(without, overlap=False).check(X, y)
    # The crossing of the quasi-separable points does not prove an overlap.
    X, y = QUASI
    common = verdict_on(QUASI).common
    assert common.check(X, y) and not common.overlap
    fails(dataclasses.replace(common, overlap=True), X, y, "all rows together")


# --- verdicts made up ----------------------------------------------------------------------------


def test_a_status_needs_its_own_witness():
    for status, data in STATUSES.items():
        verdict = verdict_on(data)
        for other in (*STATUSES, "undecided"):
            if other != status:
                assert not dataclasses.replace(verdict, status=other).check(*data)
        assert not dataclasses.replace(verdict, witness=None).check(*data)
        assert not dataclasses.replace(verdict, fit_intercept=False).check(*data)
        assert not dataclasses.replace(verdict, sides=Sides(1, 0)).check(*data)
        assert not dataclasses.replace(verdict, n_samples=3).check(*data)
        assert not dataclasses.replace(verdict, n_features=3).check(*data)
    # Strictly separable points do have a weak hyperplane, but nothing excludes a strict one.
    verdict = verdict_on(SEPARABLE)
    weak = dataclasses.replace(
        verdict.witness,
        strict=False,
        separated=(0, 1, 2, 3),
        columns=tuple(j for j, v in enumerate(verdict.witness.w) if v),
    )
    assert weak.check(*SEPARABLE)
    for common in (None, weak, verdict.witness):
        made_up = dataclasses.replace(
            verdict, status="quasi_separable", witness=weak, common=common, margin=None
        )
        assert not made_up.check(*SEPARABLE)
    quasi = verdict_on(QUASI)
    assert not dataclasses.replace(quasi, common=None).check(*QUASI)
    assert not dataclasses.replace(quasi, status="not_separable", witness=quasi.common).check(
        *QUASI
    )
    altered = dataclasses.replace(quasi.common, multipliers=nudged(quasi.common.multipliers, 0))
    proof = dataclasses.replace(quasi, common=altered).check(*QUASI)
    assert not proof and "do not add up" in proof.reason


def test_witnesses_of_other_problems_do_not_pass():
    """Each verdict's witness on each other problem of the same shape: true only if it is true."""
    problems = [
        (X, y)
        for X, y in reference.problems("any", 150, seed=11)
        if X.shape[1] == 2 and len(X) in (4, 5)
    ]
    verdicts = [separability(X, y, margin=False) for X, y in problems]
    passed = 0
    for verdict in verdicts:
        for X, y in problems:
            if len(X) == verdict.n_samples and verdict.check(X, y):
                passed += 1
                assert verdict.status == reference.status(X, reference.signs(y, 1))
                assert not reference.witness_error(verdict, X, reference.signs(y, 1))
    assert passed >= len(verdicts)


# --- in and out of files -------------------------------------------------------------------------


def some_numbers(rng):
    yield from (Fraction(0), Fraction(5), Fraction(-3, 7), Fraction(0.1), Fraction(5e-324))
    yield from (
        Fraction(2) ** 1023,
        Fraction(-(2**53)),
        Fraction(2**53 + 1),
        Fraction(1, 3) ** 3000,
    )
    yield from (Fraction(7) ** 5000, -(Fraction(7) ** 5000) / 3, Fraction(2) ** -5000)
    for _ in range(200):
        size = int(rng.integers(1, 80))
        yield Fraction(
            int.from_bytes(rng.bytes(size)) * int(rng.choice([-1, 1])),
            int.from_bytes(rng.bytes(size)) + 1,
        )
    yield from (Fraction(v) for v in rng.standard_normal(100).tolist())


def test_numbers_as_text():
    for number in some_numbers(np.random.default_rng(0)):
        text = number_to_text(number)
        assert text.isascii() and number_from_text(json.loads(json.dumps(text))) == number
    assert [number_to_text(Fraction(v)) for v in (5, 0.1)] == ["5", (0.1).hex()]
    assert number_to_text(Fraction(3, 7)) == "3/7"


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "x",
            "1/0",
            "nan",
            "inf",
            "0x1p99999",
            "pp",
            "1/2/3",
            "1.5",
            "1e5",
            "--1",
            "9" * 5000,
        ),
        *(None, 1, 1.5, True, ["1"], {"1": 2}, b"1"),
    ],
)
def test_text_that_is_no_number(text):
    with pytest.raises(ValueError):
        number_from_text(text)


def test_round_trip():
    for data in (*STATUSES.values(), FLAT):
        for options in ({}, {"fit_intercept": False}, {"margin": False}):
            verdict = separability(*data, **options)
            text = json.dumps(verdict.to_dict(), allow_nan=False)
            again = Separability.from_dict(json.loads(text))
            assert again.to_dict() == verdict.to_dict()
            assert dataclasses.replace(again, margin=None) == dataclasses.replace(
                verdict, margin=None
            )
            assert again.check(*data) and str(again) == str(verdict)


def leaves(record, path=()):
    """Every place in a document."""
    yield path
    if isinstance(record, dict):
        for key, value in record.items():
            yield from leaves(value, (*path, key))
    elif isinstance(record, list):
        for k, value in enumerate(record):
            yield from leaves(value, (*path, k))


def put(record, path, value):
    if not path:
        return value
    out = copy.deepcopy(record)
    part = out
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = value
    return out


JUNK = [
    *(None, True, False, 0, 1, -1, 1.5, 10**400, math.inf, math.nan, "", "x", "1", "0x1p99999"),
    *([], {}, [1], [[1, 2], [3]], {"kind": "hyperplane"}, ["1", "2"], [None], "quasi_separable"),
]


@pytest.mark.parametrize("status", STATUSES)
def test_documents_that_were_altered(status):
    """One place replaced by junk: refused in the promised ways, or else checked as any other."""
    X, y = STATUSES[status]
    record = json.loads(json.dumps(verdict_on((X, y)).to_dict()))
    refused = 0
    for path in leaves(record):
        for value in JUNK:
            try:
                altered = Separability.from_dict(put(record, path, value))
            except (ValueError, KeyError, TypeError):
                refused += 1
                continue
            try:
                proof = altered.check(X, y)
            except ValueError:
                # Labels that these data do not have.
                assert "negative" in path or "positive" in path
                continue
            # Whatever passes is true.
            if proof:
                s = reference.signs(y, altered.sides.positive)
                assert altered.status == reference.status(X, s, altered.fit_intercept)
    for key in record:
        with pytest.raises(KeyError):
            Separability.from_dict({k: v for k, v in record.items() if k != key})
    assert refused > 100
