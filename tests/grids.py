"""Grids of numbers inside one test: a failure names its case, and a case costs no test of its own.

``pytest.mark.parametrize`` is for kinds, which one wants to see and run one by one; ``grid`` is for
the numbers that each of them is tried with.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

# make exhaustive sets it, and runs the tests that are marked exhaustive or sampled.
EXHAUSTIVE = os.environ.get("SEPARATRIX_EXHAUSTIVE") == "1"


def share(number: int) -> int:
    """A number of random cases: all of them in make exhaustive, and an eighth otherwise.

    A test that calls it is marked ``sampled``.
    """
    return number if EXHAUSTIVE else -(-number // 8)


def grid(
    names: str | Sequence[str],
    values: Iterable[Any],
    *,
    ids: Any = None,
    kind: Callable[[Any], str] | None = None,
) -> Callable[[Callable[..., None]], Any]:
    """Call a test with each of some values, as ``pytest.mark.parametrize`` does, but in one test.

    Parameters
    ----------
    names : str or sequence of str
        Parameters of the test.
    values : iterable
        The values of the parameters in each case; tuples where there are several names.
    ids : callable or sequence, optional
        How a case is written where it fails.
    kind : callable, optional
        The kind of a case: the cases of each kind become a test of their own.
    """
    split = [one.strip() for one in names.split(",")] if isinstance(names, str) else list(names)
    cases = list(values)
    assert cases
    if callable(ids):
        labels = [str(ids(case)) for case in cases]
    else:
        labels = [repr(case) for case in cases] if ids is None else [str(one) for one in ids]

    def decorate(test: Callable[..., None]) -> Any:
        @functools.wraps(test)
        def every_case(**given: Any) -> None:
            wanted = None if kind is None else given.pop("kind")
            for case, label in zip(cases, labels, strict=True):
                if kind is not None and kind(case) != wanted:
                    continue
                own = case if len(split) > 1 else (case,)
                given_now = given | dict(zip(split, own, strict=True))
                try:
                    with contextlib.ExitStack() as stack:
                        if "monkeypatch" in given:
                            # What one case replaces is as it was for the next.
                            context = given["monkeypatch"].context()
                            given_now["monkeypatch"] = stack.enter_context(context)
                        test(**given_now)
                except BaseException as error:
                    error.add_note(f"in the case {', '.join(split)} = {label}")
                    raise

        signature = inspect.signature(test)
        kept = [one for name, one in signature.parameters.items() if name not in split]
        assert len(kept) == len(signature.parameters) - len(split), "a name is no parameter"
        if kind is None:
            every_case.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
            return every_case

        import pytest

        kept.insert(0, inspect.Parameter("kind", inspect.Parameter.POSITIONAL_OR_KEYWORD))
        every_case.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        kinds = list(dict.fromkeys(kind(case) for case in cases))
        return pytest.mark.parametrize("kind", kinds)(every_case)

    return decorate
