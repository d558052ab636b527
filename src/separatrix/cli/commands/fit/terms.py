"""The options that name terms: functions of columns, products of these, and formulas."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from separatrix.cli.options import TableOptions
from separatrix.exceptions import DataError, MissingPackageError

# Only those who name terms wait until tables are loaded.
if TYPE_CHECKING:
    from separatrix.tables.terms import Factor, Terms

O = TypeVar("O", bound=TableOptions)  # noqa: E741

OPTIONS = ("log", "spline", "polynomial", "interact")


def terms_of_options(given: Any) -> Terms | None:
    """The terms that the options name; None where they name none."""
    if given.formula is not None:
        from separatrix.tables.formulas import terms_of_formula

        return terms_of_formula(given.formula)
    if not any(getattr(given, name) for name in OPTIONS):
        return None
    from separatrix.tables.terms import Terms

    return Terms(tuple(_products(given)))


def _products(given: Any) -> Iterator[tuple[Factor, ...]]:
    from separatrix.tables.terms import Factor

    for name in given.log or ():
        yield (Factor(name, "log"),)
    for function in ("spline", "polynomial"):
        for text in getattr(given, function) or ():
            column, _, number = text.rpartition(":")
            if not (column and number.isdecimal()):
                column, number = text, ""
            yield (Factor(column, function, int(number) if number else None),)
    for text in given.interact or ():
        columns = next(csv.reader([text], delimiter=":"), [])
        if len(columns) < 2 or "" in columns:
            raise DataError(f"--interact {text} is not COL:COL, two columns or more")
        yield tuple(map(Factor, columns))


def with_terms(options: O) -> O:
    """The options of a model with what their terms settle: the target, the intercept, categories.

    Raises
    ------
    click.UsageError
        If options cannot be meant together, or a formula cannot be read.
    """
    given: Any = options
    named = [f"--{name}" for name in OPTIONS if getattr(given, name)]
    if given.formula is not None and named:
        raise click.UsageError(
            f"--formula has all terms of a model, so leave out {named[0]}: log(COL), spline(COL), "
            "poly(COL, 2) and COL:COL are terms of it"
        )
    try:
        terms = terms_of_options(given)
    except MissingPackageError:
        raise
    except DataError as error:
        raise click.UsageError(str(error)) from error
    if terms is None:
        return options
    if terms.target is not None and given.target not in (None, terms.target):
        raise click.UsageError(
            f"--target {given.target} and --formula, whose left side is {terms.target}, name two "
            "columns to predict"
        )
    given = replace(given, target=terms.target or given.target)
    for name in sorted(terms.columns):
        if name == (given.target or "target"):
            raise click.UsageError(
                f"the column to predict, {name}, is also one of the terms: leave out that term, or "
                "give another --target"
            )
        roles = {option: getattr(given, option, None) for option in ("group", "weight")}
        left_out = name in given.ignore or given.kinds.get(name) == "ignore"
        taken = "ignore" if left_out else next((o for o, one in roles.items() if one == name), "")
        if taken:
            raise click.UsageError(
                f"the column {name} is one of the terms, and --{taken} makes it no feature: leave "
                "out one of the two"
            )
        if terms.kinds.get(name) not in (None, given.kinds.get(name, "category")):
            raise click.UsageError(
                f"C({name}) is a category, and --kind {name}={given.kinds[name]} is none: give one "
                "of them"
            )
    settled: O = replace(
        given,
        kinds={**terms.kinds, **given.kinds},
        no_intercept=given.no_intercept or not terms.intercept,
    )
    return settled
