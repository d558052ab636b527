"""Grids inside one test: every case runs, and the one that fails is named."""

from __future__ import annotations

import inspect

import pytest

from grids import grid


def test_every_case_runs_and_the_one_that_fails_is_named() -> None:
    seen = []

    @grid("a, b", [(1, 2), (3, 4)])
    @grid("c", [5, 6], ids=lambda c: f"five or six: {c}")
    def case(a: int, b: int, c: int, fixture: str) -> None:
        seen.append((a, b, c, fixture))
        assert (a, c) != (3, 6)

    assert list(inspect.signature(case).parameters) == ["fixture"]
    with pytest.raises(AssertionError) as failed:
        case(fixture="f")
    assert seen == [(1, 2, 5, "f"), (1, 2, 6, "f"), (3, 4, 5, "f"), (3, 4, 6, "f")]
    assert failed.value.__notes__ == [
        "in the case c = five or six: 6",
        "in the case a, b = (3, 4)",
    ]


def test_the_cases_of_a_kind_are_a_test() -> None:
    seen = []

    @grid("x", [1, "a", 2], kind=lambda x: type(x).__name__)
    def case(x: object) -> None:
        seen.append(x)

    (mark,) = case.pytestmark
    assert mark.args == ("kind", ["int", "str"])
    case(kind="int")
    assert seen == [1, 2]
    with pytest.raises(AssertionError, match="no parameter"):
        grid("y", [1])(lambda x: None)
