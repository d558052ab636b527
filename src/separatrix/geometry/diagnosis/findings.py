"""Findings: what a diagnosis says, and the words it says it in."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["SEVERITIES", "Finding", "counted", "join", "percent", "quoted", "sentences"]

SEVERITIES: tuple[str, ...] = ("problem", "warning", "note")
"""From the gravest: what makes a result useless or misleading, what will hurt, what to know."""


@dataclass(frozen=True)
class Finding:
    """One thing that will hurt, or that is worth knowing.

    Attributes
    ----------
    code : str
        A short fixed name, such as ``"collinear"``.
    severity : {"problem", "warning", "note"}
    what : str
        What was found, and where.
    why : str
        Why it matters.
    remedy : str
        What to do about it; empty where there is nothing to do.
    where : mapping
        The places, for programs: ``columns`` (names, or numbers where there are no names),
        ``rows``, ``classes``, counts; JSON-able.
    """

    code: str
    severity: str
    what: str
    why: str
    remedy: str = ""
    where: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-able dictionary."""
        return {
            "code": self.code,
            "severity": self.severity,
            "what": self.what,
            "why": self.why,
            "remedy": self.remedy,
            "where": dict(self.where),
        }

    def __str__(self) -> str:
        rest = sentences(self.why, self.remedy)
        return f"{self.severity}: {self.what}." + (f" {rest}" if rest else "")


# ---------------------------------------------------------------------------------------- words


def counted(count: int, noun: str) -> str:
    """``1 row``, ``2,000 rows``."""
    plural = {"class": "classes"}.get(noun, f"{noun}s")
    return f"{count:,} {noun if count == 1 else plural}"


def join(words: Sequence[str], more: int = 0, comma: str = ", ") -> str:
    """``a, b and c``; ``a, b and 7 more``."""
    words = list(words)
    if more > 0:
        words.append(f"{more:,} more")
    if len(words) < 2:
        return "".join(words)
    return f"{comma.join(words[:-1])} and {words[-1]}"


def sentences(*parts: str) -> str:
    """The parts that are not empty, each a sentence of its own."""
    return " ".join(f"{part[:1].upper()}{part[1:]}." for part in parts if part)


def quoted(value: Any, limit: int = 60) -> str:
    """A name or a label in a sentence; a long one shortened."""
    if not isinstance(value, str):
        return str(value)
    return repr(value if len(value) <= limit else value[: limit - 3] + "...")


def percent(share: float) -> str:
    """A percentage with as many decimals as tell it from 0 and from 100."""
    value = 100.0 * share
    gap = min(value, 100.0 - value)
    if gap <= 0.0:
        return f"{value:.0f} %"
    decimals = max(0, 1 - math.floor(math.log10(gap)))
    return f"{value:.{min(decimals, 10)}f} %"
