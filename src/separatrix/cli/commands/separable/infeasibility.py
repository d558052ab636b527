"""Infeasibility certificates: the rows that prove that no plane separates two classes."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from separatrix.cli.output import Output, aligned
from separatrix.geometry.separation.witness import MultiplierWitness
from separatrix.messages import counted

# The most rows in a line of text or a table; --json has them all.
MOST_ROWS = 10


def record(
    witness: MultiplierWitness, y: Any, row_number: Callable[[int], int]
) -> list[dict[str, Any]]:
    """Rows of the file with their classes and weights; the weights of a class have the sum 1.

    For a plane through the origin the weights of both classes together have the sum 1.
    """
    labels = y[list(witness.rows)].tolist()
    positive = witness.sides.positive
    totals = {True: Fraction(0), False: Fraction(0)}
    for multiplier, label in zip(witness.multipliers, labels, strict=True):
        totals[label == positive] += multiplier
    if not witness.fit_intercept:
        totals = dict.fromkeys(totals, sum(totals.values(), Fraction(0)))
    entries = []
    for row, multiplier, label in zip(witness.rows, witness.multipliers, labels, strict=True):
        weight = float(multiplier / totals[label == positive])
        entries.append({"row": row_number(row), "class": label, "weight": weight})
    return entries


def report(out: Output, label: str, entries: list[dict[str, Any]], *, fit_intercept: bool) -> None:
    """Print the rows whose weighted means are one point, the heaviest first."""
    count = counted(len(entries), "row")
    if fit_intercept:
        sentence = (
            f"these {count}: a weighted mean of the rows of one class equals a weighted mean of "
            "the rows of the other"
        )
    else:
        sentence = f"these {count}: the weighted sums of the rows of the two classes are equal"
    out.answer(label, f"{sentence}, in exact arithmetic")
    lines = [["row", "class", "weight"]]
    for entry in sorted(entries, key=lambda entry: -entry["weight"])[:MOST_ROWS]:
        lines.append([f"{entry['row']:,}", str(entry["class"]), f"{entry['weight']:.4g}"])
    for line in aligned(lines, indent="          "):
        out.text(line)
    if len(entries) > MOST_ROWS:
        out.text(f"          and {len(entries) - MOST_ROWS:,} more; --json has them all")
