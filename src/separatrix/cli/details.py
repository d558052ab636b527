"""What there is to know of a model besides its weights: priors, terms, ranks, learning rates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from separatrix.cli.output import Output, aligned, short
from separatrix.messages import counted
from separatrix.tables.table import shown

# Of terms and classes in a line of text or a table; --json has them all.
_IN_A_LINE = 6
_IN_A_TABLE = 50


def degree_alert(model: Any, columns: Sequence[str]) -> str | None:
    """What to say where columns of a polynomial do not bear its degree; None where all do.

    Columns of two values, such as the levels of a category, have no powers at all, and nobody who
    fits a curve to a table expects them to.
    """
    alone = model.powers_[np.count_nonzero(model.powers_, axis=1) == 1]
    top = alone.max(axis=0, initial=0)
    short = [j for j, power in enumerate(top.tolist()) if 2 <= power < model.degree]
    if not short:
        return None
    told = [f"{shown(columns[j])} up to {top[j]}" for j in short[:_IN_A_LINE]]
    more = f" and {len(short) - _IN_A_LINE} more" if len(short) > _IN_A_LINE else ""
    return (
        f"by their distinct values some columns bear fewer powers than --degree {model.degree} "
        f"asks for: {', '.join(told)}{more}; the higher ones are left out"
    )


def tell_details(out: Output, record: dict[str, Any]) -> None:
    """Print, with a fit, what its user will want to know at once."""
    if "terms" in record:
        out.report("terms", _polynomial(record))
    if "classes" in record:
        out.report("classes", _gaussians(record))
    if "schedule" in record:
        out.report("steps", _steps(record))


def print_details(out: Output, record: dict[str, Any]) -> None:
    """Print, of a model file, all of it."""
    if "rank" in record:
        told = (
            f"{record['rank']:,} of {counted(record['columns'], 'column')} independent, condition "
            f"number {record['condition_number']:.3g}"
        )
        if "mse" in record:
            told += f", mean squared error of the fit {record['mse']:,.6g}"
        out.answer("rank", told)
    if "classes" in record:
        out.answer("gaussians", _gaussians(record))
    if "schedule" in record:
        out.answer("steps", f"{_steps(record)}; {record['condition']}")


def print_tables(out: Output, record: dict[str, Any]) -> None:
    """Print the tables that stand at the end: of terms, and of classes."""
    if "terms" in record:
        rows = [["term", "coefficient"], ["(constant)", f"{record['constant']:.10g}"]]
        rows += [
            [short(entry["term"]), f"{entry['coefficient']:.10g}"]
            for entry in record["terms"][:_IN_A_TABLE]
        ]
        _print(out, rows, len(record["terms"]))
    if "classes" in record:
        rows = [["class", "prior", "rows"]]
        rows += [
            [short(entry["class"]), f"{entry['prior']:.6g}", f"{entry['rows']:,.6g}"]
            for entry in record["classes"][:_IN_A_TABLE]
        ]
        _print(out, rows, len(record["classes"]))


def _print(out: Output, rows: list[list[str]], count: int) -> None:
    out.text()
    for line in aligned(rows):
        out.text(line)
    if count > _IN_A_TABLE:
        out.text(f"  and {count - _IN_A_TABLE:,} more; --json has them all")


def _polynomial(record: dict[str, Any]) -> str:
    terms = record["terms"]
    if len(terms) > _IN_A_LINE:
        return f"{len(terms):,} and a constant; separatrix info lists their coefficients"
    told = f"{record['constant']:.6g}"
    for entry in terms:
        sign = "-" if entry["coefficient"] < 0 else "+"
        told += f" {sign} {abs(entry['coefficient']):.6g} {short(entry['term'])}"
    return told


def _gaussians(record: dict[str, Any]) -> str:
    classes = record["classes"]
    told = f"{len(classes):,} means"
    if len(classes) <= _IN_A_LINE:
        told += ", priors " + ", ".join(f"{short(c['class'])} {c['prior']:.3g}" for c in classes)
    shrinkage = sorted(set(np.ravel(record["shrinkage"]).tolist()))
    if shrinkage[-1] > 0.0:
        low, high = f"{shrinkage[0]:.3g}", f"{shrinkage[-1]:.3g}"
        told += f"; covariances shrunk by {low}" + (f" to {high}" if low != high else "")
    else:
        told += "; covariances not shrunk"
    return told


def _steps(record: dict[str, Any]) -> str:
    steps = "" if record["steps"] is None else f"{record['steps']:,} in "
    told = f"{steps}{_passes(record['passes'])}"
    if record["fits"] > 1:
        told += f", {record['fits']:,} classes together"
    told += f", {record['schedule']}"
    if record["searched"]:
        told += f" (the best of {record['searched']} rates on a sample)"
    return told + (", weights averaged" if record["averaged"] else "")


def _passes(count: int) -> str:
    return "1 pass" if count == 1 else f"{count:,} passes"
