"""The terms of a model: columns, functions of columns, and products of these.

A term is written as in a formula: ``age``, ``log(amount)``, ``spline(age, 4)``,
``polynomial(dose, 2)``, ``C(zip)`` for a column that is read as a category, and products of these
such as ``age:sex``. Names that are no identifiers stand between backticks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from separatrix.exceptions import DataError
from separatrix.tables.table import joined, nearest, quote

CURVES = {"log": None, "spline": (2, 4, 20), "polynomial": (2, 2, 5)}
"""Functions of a column of numbers: the fewest, the usual and the most features of each."""

_CATEGORY = "C"
_IDENTIFIER = r"[^\W\d][\w.]*"
_FACTOR = re.compile(
    rf"\s*(?:(?P<function>{'|'.join(CURVES)}|{_CATEGORY})\(\s*)?(?P<column>{_IDENTIFIER}|`[^`]+`)\s*"
    r"(?:,\s*(?P<parameter>\d+)\s*)?(?P<end>\))?\s*"
)


@dataclass(frozen=True)
class Factor:
    """A column, or a function of it.

    Attributes
    ----------
    column : str
    function : str
        ``"log"``, ``"spline"``, ``"polynomial"``, ``"C"``, or ``""`` for the column itself.
    parameter : int or None
        The number of features of a spline, or the degree of a polynomial.

    Examples
    --------
    >>> from separatrix.tables.terms import Factor
    >>> str(Factor("age", "spline"))
    'spline(age, 4)'
    """

    column: str
    function: str = ""
    parameter: int | None = None

    def __post_init__(self) -> None:
        bounds = CURVES.get(self.function)
        if bounds is None:
            if self.parameter is not None:
                raise DataError(f"{self.function or 'a column'} takes no number: {self.column}")
            return
        least, usual, most = bounds
        if self.parameter is None:
            object.__setattr__(self, "parameter", usual)
        elif not least <= self.parameter <= most:
            what = "degrees of freedom" if self.function == "spline" else "a degree"
            raise DataError(
                f"{self.function}({self.column}, {self.parameter}): a {self.function} has {what} "
                f"from {least} to {most}"
            )

    @classmethod
    def parse(cls, text: str) -> Factor:
        """The factor that a text means; DataError where it means none."""
        found = _FACTOR.fullmatch(text)
        if found is None or bool(found["function"]) != bool(found["end"]):
            raise DataError(
                f"{text.strip()!r} is not a column or one of "
                f"{', '.join(f'{name}(COLUMN)' for name in (*CURVES, _CATEGORY))}; a name with "
                "other characters than letters and digits stands between backticks"
            )
        number = None if found["parameter"] is None else int(found["parameter"])
        return cls(found["column"].strip("`"), found["function"] or "", number)

    def __str__(self) -> str:
        name = written(self.column)
        if not self.function:
            return name
        number = "" if self.parameter is None else f", {self.parameter}"
        return f"{self.function}({name}{number})"


def written(name: str) -> str:
    """A column as terms write it: between backticks where it is no identifier."""
    return name if re.fullmatch(_IDENTIFIER, name) else f"`{name}`"


@dataclass(frozen=True)
class Terms:
    """The terms of a model.

    Attributes
    ----------
    products : tuple of tuple of Factor
        The factors of each term.
    every : bool
        Whether the columns that are in no term of their own are features as well.
    intercept : bool
    target : str or None
        The column to predict, where a formula names it.
    remarks : tuple of str
        Remarks on what was understood otherwise than it was written.

    Examples
    --------
    >>> from separatrix.tables.terms import Terms
    >>> str(Terms.parse(["log(amount)", "age:sex"]))
    '. + log(amount) + age:sex'
    """

    products: tuple[tuple[Factor, ...], ...] = ()
    every: bool = True
    intercept: bool = True
    target: str | None = None
    remarks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # A column that a term curves on its own is curved in products, too.
        own: dict[str, list[Factor]] = {}
        for product in self.products:
            if len(product) == 1 and product[0].function:
                own.setdefault(product[0].column, []).append(product[0])
        if self.every:
            twice = next((name for name, factors in own.items() if len(set(factors)) > 1), None)
            if twice is not None:
                raise DataError(
                    f"column {quote(twice)} has two functions, {' and '.join(map(str, own[twice]))}"
                    ": give one of them, or a formula"
                )
            curved = {name: factors[0] for name, factors in own.items()}
            products = (
                tuple(
                    curved.get(f.column, f) if not f.function and len(product) > 1 else f
                    for f in product
                )
                for product in self.products
            )
            object.__setattr__(self, "products", tuple(products))
        unique = tuple(dict.fromkeys(self.products))
        object.__setattr__(self, "products", unique)
        for product in unique:
            columns = [factor.column for factor in product]
            if len(set(columns)) < len(columns):
                raise DataError(
                    f"{_text(product)} is a product of a column with itself: "
                    f"polynomial({written(columns[0])}, 2) has its square"
                )

    @classmethod
    def parse(cls, terms: Iterable[str], *, every: bool = True) -> Terms:
        """The terms that texts mean, one each; DataError where one means none."""
        products = [tuple(map(Factor.parse, _parts(term))) for term in terms]
        return cls(tuple(products), every)

    @property
    def texts(self) -> list[str]:
        """The terms as :meth:`parse` takes them."""
        return [_text(product) for product in self.products]

    def __str__(self) -> str:
        parts = (["."] if self.every else []) + self.texts + ([] if self.intercept else ["0"])
        return " + ".join(parts)

    @property
    def columns(self) -> set[str]:
        """The columns that occur in terms."""
        return {factor.column for product in self.products for factor in product}

    @property
    def curved(self) -> set[str]:
        """The columns that terms have functions of."""
        return {f.column for product in self.products for f in product if f.function in CURVES}

    @property
    def kinds(self) -> dict[str, str]:
        """The columns that are read as categories, as ``kinds`` of :func:`read_table`."""
        categories = (f for product in self.products for f in product if f.function == _CATEGORY)
        return {factor.column: "category" for factor in categories}

    def of(self, name: str) -> list[Factor]:
        """The factors that are terms of a column on its own; empty where there are none."""
        own = [product[0] for product in self.products
               if len(product) == 1 and product[0].column == name]  # fmt: skip
        return own or ([Factor(name)] if self.every else [])

    @property
    def interactions(self) -> list[tuple[Factor, ...]]:
        """The products of two factors and more."""
        return [product for product in self.products if len(product) > 1]

    def is_reduced(self, product: Sequence[Factor], factor: Factor) -> bool:
        """Whether a category leaves its reference out of a product.

        It does where the product without it is a term, too: with all levels the features of the
        product would add up to it.
        """
        rest = {other for other in product if other != factor}
        if len(rest) == 1:
            (other,) = rest
            return other in self.of(other.column)
        return any(set(term) == rest for term in self.products)

    def require_columns(self, names: Sequence[str], source: str) -> None:
        """Raise DataError where a term is of a column that is not there."""
        for product in self.products:
            for factor in product:
                if factor.column not in names:
                    hint = nearest(factor.column, names, 0.6)
                    raise DataError(
                        f"{source} has no column {quote(factor.column)}, which the term "
                        f"{_text(product)} needs; its columns are {joined(names)}{hint}"
                    )

    def state(self) -> dict[str, Any]:
        """The terms as JSON can hold them."""
        products = [
            [[factor.column, factor.function, factor.parameter] for factor in product]
            for product in self.products
        ]
        return {"products": products, "every": self.every, "intercept": self.intercept}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Terms:
        """The terms whose :meth:`state` this was."""
        products = tuple(
            tuple(
                Factor(str(column), str(function), None if number is None else int(number))
                for column, function, number in product
            )
            for product in state["products"]
        )
        return cls(products, bool(state["every"]), bool(state["intercept"]))


def _text(product: Sequence[Factor]) -> str:
    return ":".join(map(str, product))


def _parts(term: str) -> list[str]:
    """The factors of a term: what is between its colons, but for those between backticks."""
    parts = re.findall(r"(?:`[^`]*`|[^:`])+", term)
    if term.count(":") - sum(part.count(":") for part in parts) != len(parts) - 1:
        raise DataError(f"{term!r} is no product of columns")
    return parts
