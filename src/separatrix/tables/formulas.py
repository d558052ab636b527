"""Formulas such as ``y ~ age + spline(bp) + sex:age`` to terms, by formulaic's grammar.

Formulaic (Wardrop, 2022) brings pandas along, so it is an extra, and only its grammar is used: what
columns become is learned by the same encodings as without a formula.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Any

from separatrix.exceptions import DataError, MissingPackageError
from separatrix.tables.terms import CURVES, Factor, Terms

# The functions of formulas, and what they are called here.
_FUNCTIONS = {
    "log": "log",
    "C": "C",
    "poly": "polynomial",
    "polynomial": "polynomial",
    **dict.fromkeys(("spline", "cr", "bs"), "spline"),
}
# How the number of a function may be named.
_KEYWORDS = {"polynomial": "degree", "spline": "df"}
_QUOTED = re.compile(r"`([^`]*)`")
# A power of one column, which the grammar takes for a product of it with itself, the column.
_POWER = re.compile(r"(?:\w|`)\s*(?:\^|\*\*)\s*\d")


def terms_of(terms: Sequence[str] | Terms | None, formula: str | None = None) -> Terms | None:
    """The terms that are given one by one, or those of a formula; None where there are none."""
    if formula is not None:
        if terms is not None:
            raise DataError("terms and formula both say what features are made of: give one")
        return terms_of_formula(formula)
    if terms is None or isinstance(terms, Terms):
        return terms
    if isinstance(terms, str):
        raise DataError("terms are a list of texts; formula takes all of them in one")
    return Terms.parse(terms) if terms else None


def terms_of_formula(text: str) -> Terms:
    """The terms of a formula.

    Parameters
    ----------
    text : str
        Columns, functions of them and products, as in ``"y ~ age + log(amount) + sex:age"``; the
        column to predict may be left out. ``a*b`` is ``a + b + a:b``; ``- 1`` or ``+ 0`` leaves
        out the intercept.

    Returns
    -------
    Terms

    Raises
    ------
    DataError
        If the formula cannot be read; the message states where.
    ImportError
        If formulaic is not installed.

    Examples
    --------
    >>> from separatrix.tables.formulas import terms_of_formula
    >>> terms = terms_of_formula("y ~ a*b + log(amount) - 1")
    >>> terms.texts, terms.target, terms.intercept
    (['a', 'b', 'log(amount)', 'a:b'], 'y', False)
    """
    parsed = _parsed(text)
    right = getattr(parsed, "rhs", parsed)
    if isinstance(right, tuple):
        raise _fault(text, text.find("|"), "a formula has one part on its right")
    target = None
    if hasattr(parsed, "lhs"):
        left = [*parsed.lhs]
        factor = left[0].factors[0] if len(left) == 1 and len(left[0].factors) == 1 else None
        if factor is None or factor.eval_method.value != "lookup":
            raise _fault(text, 0, "the left side is one column to predict, as it is")
        target = str(factor.expr)
    products: list[tuple[Factor, ...]] = []
    remarks: list[str] = []
    intercept = False
    for term in sorted(right, key=lambda term: len(term.factors)):
        if str(term) == "1":
            intercept = True
            continue
        products.append(tuple(_factor(text, one, remarks) for one in term.factors))
    if not products:
        raise _fault(text, len(text), "the right side has no column")
    return Terms(tuple(products), False, intercept, target, tuple(dict.fromkeys(remarks)))


def _parsed(text: str) -> Any:
    try:
        from formulaic.errors import FormulaParsingError, FormulaSyntaxError
        from formulaic.parser import DefaultFormulaParser
    except ImportError as error:
        raise MissingPackageError(
            'formulas need formulaic, which is not installed: pip install "separatrix[formula]"; '
            "terms and the options --log, --spline, --polynomial and --interact need no package"
        ) from error
    plain = _QUOTED.sub(lambda found: "`" + "q" * len(found[1]) + "`", text)
    power = _POWER.search(plain)
    if power is not None:
        raise _fault(
            text, power.start(), "a formula has no powers of a column; poly(COLUMN, 2) "
            "has the column and its square"
        )  # fmt: skip
    if re.search(r"(?:^|[~+\-*:/(\s])\.(?:$|[+\-*:/)\s])", plain):
        raise _fault(
            text, plain.index("."), "name the columns; without a formula every column is a term, "
            "and --log, --spline, --polynomial and --interact go with that"
        )  # fmt: skip
    try:
        return DefaultFormulaParser(include_intercept=True).get_terms(text)
    except (FormulaParsingError, FormulaSyntaxError) as error:
        what, _, shown = str(error).partition("\n")
        place = shown.strip().find("\u29db")
        if what.startswith("Operator"):
            what = "an operand is lacking here, or the operator is out of place"
        raise _fault(text, max(place, 0), what.strip().rstrip(".")) from None


def _factor(text: str, factor: Any, remarks: list[str]) -> Factor:
    """The factor that a part of a term means."""
    expression, token = str(factor.expr), getattr(factor, "token", None)
    place = getattr(token, "source_start", None) or 0
    if factor.eval_method.value == "lookup":
        return Factor(expression)
    if factor.eval_method.value == "literal":
        raise _fault(text, place, f"{expression} is no column, and columns are not scaled")
    names: dict[str, str] = {}

    def kept(found: re.Match[str]) -> str:
        return names.setdefault(found[1], f"quoted_{len(names)}_")

    quoted = _QUOTED.sub(kept, expression)
    own = {called: name for name, called in names.items()}
    known = ", ".join(f"{name}(COLUMN)" for name in _FUNCTIONS)
    fault = _fault(text, place, f"{expression} is not one of {known}")
    try:
        call = ast.parse(quoted, mode="eval").body
    except SyntaxError:
        raise fault from None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise fault
    function = _FUNCTIONS.get(call.func.id)
    if function is None or not call.args or len(call.args) + len(call.keywords) > 2:
        raise fault
    column, numbers = call.args[0], [*call.args[1:]]
    if not isinstance(column, (ast.Name, ast.Attribute)):
        raise fault
    for keyword in call.keywords:
        if keyword.arg != _KEYWORDS.get(function):
            raise fault
        numbers.append(keyword.value)
    parameter = None
    if numbers:
        value = getattr(numbers[0], "value", None)
        if type(value) is not int or CURVES.get(function) is None:
            raise fault
        parameter = value
    if call.func.id == "bs":
        remarks.append(f"{expression} is read as spline(), which is linear beyond its last knots")
    name = ast.unparse(column)
    try:
        return Factor(own.get(name, name), function, parameter)
    except DataError as error:
        raise _fault(text, place, str(error)) from None


def _fault(text: str, place: int, why: str) -> DataError:
    return DataError(f"formula {text!r}, character {place + 1}: {why}")
