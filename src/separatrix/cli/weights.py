"""The weights of a linear model in one line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from separatrix.cli.output import short


def describe_weights(entries: Sequence[dict[str, Any]], *, multiclass: bool) -> str:
    """``capital_gain +2.31, ...``, with the class in front when there are several."""
    if not entries:
        return "all zero"
    texts = [
        (f"{_sides(entry)}: " if multiclass else "")
        + f"{short(entry['feature'])} {entry['standardised']:+.3g}"
        for entry in entries
    ]
    return ", ".join(texts)


def _sides(entry: dict[str, Any]) -> str:
    against = f" vs {short(entry['against'])}" if "against" in entry else ""
    return f"{short(entry['class'])}{against}"
