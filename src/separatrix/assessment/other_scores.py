"""Scores of a fit beside that of its random split: by groups, of the latest rows, without leaks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from separatrix.assessment.documents import headline
from separatrix.messages import Joined, Message, Setting, quoted

FALL = 0.1
"""A decrease of a score by more than this is large."""


def main_score(scores: Mapping[str, Any]) -> float:
    """The figure that a leak raises: the area under the ROC curve, else accuracy, or R^2."""
    if "mse" in scores:
        return 0.0 if scores["r2"] is None else float(scores["r2"])
    return float(scores["accuracy"] if scores["roc_auc"] is None else scores["roc_auc"])


def figure(scores: Mapping[str, Any]) -> str:
    """The same figure with its name."""
    if "mse" in scores:
        return f"R^2 {main_score(scores):.3f}"
    return f"{'accuracy' if scores['roc_auc'] is None else 'ROC AUC'} {main_score(scores):.3f}"


@dataclass(frozen=True)
class OtherScore:
    """A score beside that of the random split.

    Attributes
    ----------
    by : {"group", "time", "without"}
        Rows of one group are on one side, the latest rows are held out, or columns are left out.
    columns : tuple of str
        The column of the groups or times, or those that were left out.
    scores : dict
    """

    by: str
    columns: tuple[str, ...]
    scores: dict[str, Any]

    @property
    def settings(self) -> tuple[Setting, ...]:
        """The options that make it the score of the fit."""
        option = "ignore" if self.by == "without" else self.by
        return tuple(Setting(option, column) for column in self.columns)

    @property
    def line(self) -> tuple[str, Message]:
        """Its label, and the line behind it."""
        values = {
            "scores": headline(self.scores),
            "columns": Joined(tuple(map(quoted, self.columns))),
            "options": Joined(self.settings, separator=" "),
        }
        if self.by == "group":
            return "by group", Message("score_group", **values)
        if self.by == "time":
            return "by time", Message("score_time", **values)
        return "without", Message("score_without", **values)

    def warning(self, at_random: Mapping[str, Any]) -> Message | None:
        """Return the message that it is far below the score of the random split, if it is."""
        if self.by == "without" or not self._falls(at_random):
            return None
        # Both are of the same figure.
        before, after = (
            figure(one) if "mse" in one else f"accuracy {one['accuracy']:.3f}"
            for one in (at_random, self.scores)
        )
        values = {
            "column": quoted(self.columns[0]),
            "score": after,
            "random": before,
            "option": self.settings[0],
        }
        if self.by == "group":
            return Message("falls_by_group", **values)
        return Message("falls_by_time", **values)

    def _falls(self, before: Mapping[str, Any]) -> bool:
        """Whether it is lower by more than chance explains, or far."""
        if main_score(self.scores) < main_score(before) - FALL:
            return True
        if "mse" in before:
            return False
        return bool(self.scores["accuracy_interval"][1] < before["accuracy_interval"][0])

    def record(self) -> dict[str, Any]:
        """As plain values, for a model file."""
        return {"by": self.by, "columns": list(self.columns), "scores": self.scores}

    @classmethod
    def all_of(cls, provenance: Mapping[str, Any]) -> list[OtherScore]:
        """The other scores that a model file states."""
        return [
            cls(one["by"], tuple(one["columns"]), one["scores"])
            for one in provenance.get("other_scores") or ()
        ]
