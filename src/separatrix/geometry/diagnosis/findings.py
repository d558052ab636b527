"""Findings: what a diagnosis says, and the table of its words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from string import Formatter
from typing import Any

from separatrix.messages import Message, counted, percent, sentences

__all__ = ["SEVERITIES", "Finding", "finding"]

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
        return asdict(self)

    def __str__(self) -> str:
        rest = sentences(self.why, self.remedy)
        return f"{self.severity}: {self.what}." + (f" {rest}" if rest else "")


_ARBITRARY = (
    "how the weight is shared out among them is arbitrary: without a penalty there is no one "
    "answer, and with one no single weight means anything"
)
_LEAK = (
    "a column that is known only once the label is makes every figure too good and the model "
    "useless",
    "if it is not known before the label, leave it out; if it is, a threshold will do",
)
_DIVERGES = (
    "without a penalty the weights grow without end, and there is no finite optimum; with one, its "
    "strength alone decides how large they get"
)
_KEEP_A_PENALTY = Message("keep_a_penalty")

# What is said of each finding, in a few words of its own where a code has several: what was found,
# why it matters, and what to do.  In braces are values of the finding; see ``_Words``.
_SAID: dict[str, tuple[str, str, str]] = {
    "tiny_class": (
        "{n:a class|classes} of few rows: {shown}",
        "so few rows say little about a class, and none may be left to test on",
        "get more rows of such a class, merge it with another, or leave it out",
    ),
    "imbalance": (
        "{most_rows:row} of {most} and {least_rows:,} of {least}, {ratio:,.0f} to 1",
        "always to answer {most} is right for {share:percent} of the rows, so accuracy says little",
        Message("judge_by_class"),
    ),
    "more_columns_than_rows": (
        "there are {n_features:column} for {n_samples:row}",
        "almost any labels of so few rows can be fitted without a mistake, and without a penalty "
        "many different weights do it",
        "keep a penalty, choose its strength by cross-validation, and judge on rows held out",
    ),
    "constant_column": (
        "{count:column} of one value: {shown}",
        "such a column tells no row from another{effect}",
        "leave {count:it|them} out",
    ),
    "nearly_constant_column": (
        "{count:column} of one value but for one or two rows: {shown}",
        "the weight of such a column rests on those rows alone",
        "leave such columns out, or merge rare levels and drop rare words",
    ),
    "duplicate_columns": (
        "{count:column} equal to {count:an earlier one|earlier ones} in every row: {shown}",
        "how their weight is shared out is arbitrary, so none of these weights means anything by "
        "itself",
        "keep one of each",
    ),
    "scales_differ": (
        "the columns' scales differ by a factor of {ratio}: {shown}",
        "a penalty falls on the narrow ones, whose weights have to be large, and most solvers take "
        "many times as long",
        "standardise the columns, or divide each by its largest value if they are sparse "
        "(separatrix fit standardises the numbers of a table by itself)",
    ),
    "huge_offset": (
        "{count:column} with a spread that is tiny beside {count:its|their} mean: {shown}; {worst} "
        "is {mean:.6g} +- {deviation:.3g}",
        "of the {digits} digits that are stored only the last few tell rows apart, and sums over "
        "rows lose them",
        "subtract the mean (or the smallest value){before}",
    ),
    "duplicate_rows": (
        "{count:row} ({share:percent}) {count:repeats|repeat} an earlier row, label and all",
        "copies on both sides of a split make the figures on the rows held out too good",
        "drop them, or split so that copies stay together",
    ),
    "empty_rows": (
        "{count:row} ({share:percent}) with 0 in every column: {shown}",
        "{effect}",
        "look at what they are (texts without known words, missing values), or leave them out",
    ),
    "contradictory_rows": (
        "{count:row} equal another in every column but have another label: such as rows {shown}",
        "whatever the model, at least {least_mistakes:row} ({share:percent}) will be answered "
        "wrong, and no plane separates the classes",
        "look whether the labels are right, and whether a column is missing that tells them apart",
    ),
    "gives_label_away": ("{column} alone tells the classes apart: it is {ranges}", *_LEAK),
    "nearly_gives_label_away": (
        "{column} alone nearly tells the classes apart: {rule} right for {score:percent} of the "
        "rows, every class counted alike",
        *_LEAK,
    ),
    "more leaks": ("so do, or nearly, {shown}", *_LEAK),
    "collinear": ("columns depend on one another: {relation}", _ARBITRARY, "leave out one of them"),
    "more relations": (
        "{count:more column} {count:depends|depend} on others",
        _ARBITRARY,
        "leave out those above and look again",
    ),
    "one_hot": (
        "{some} of columns {n:adds|add} up to 1 in every row, as one-hot columns do: {shown}",
        "one column of a group follows from the others, which a penalty takes care of; only "
        "differences within a group mean something",
        "",
    ),
    "nearly_collinear": (
        "the condition number of the standardised columns is {condition:,.3g}{sampled}; all but "
        "{part} of the variance of {worst} is explained by {partners}",
        "single weights of such columns are uncertain: a small change of the data changes them "
        "much",
        "leave out a column, or read their weights together, not one by one",
    ),
    "separable": (
        "the classes are separable: a plane has every row strictly on its side",
        _DIVERGES,
        _KEEP_A_PENALTY,
    ),
    "quasi_separable": (
        "the classes are separable in part: a plane has {count:row} strictly on {count:its|their} "
        "side{by}, and all others on it",
        "without a penalty the weights of these columns grow without end, and there is no finite "
        "optimum",
        _KEEP_A_PENALTY,
    ),
    "separable classes": ("{shown}", _DIVERGES, _KEEP_A_PENALTY),
    "no leaks": (
        "whether a column gives the label away was not looked at",
        "it takes too much memory for {columns:,} columns and {classes} classes",
        "",
    ),
    "no relations": (
        "whether columns are combinations of others was not looked at",
        "{reason}",
        "",
    ),
    "not asked": (
        "whether the classes are separable was not asked",
        "it can take long on data of this size",
        Message("ask_for_separability"),
    ),
    "undecided": (
        "whether the classes are separable was not decided{some}",
        "the time limit of {limit:g} s came first",
        "raise the time limit",
    ),
}


class _Words(Formatter):
    """``{n:row}`` counts rows, ``{n:is|are}`` agrees with a number, ``{x:percent}`` is a share."""

    def format_field(self, value: Any, spec: str) -> str:
        if "|" in spec:
            return spec.split("|")[value != 1]
        if spec == "percent":
            return percent(value)
        if spec in ("row", "column", "more column"):
            return counted(value, spec)
        return str(super().format_field(value, spec))


_WORDS = _Words()


def finding(
    code: str,
    severity: str,
    where: Mapping[str, Any] | None = None,
    said: str = "",
    table: Mapping[str, tuple[str, str, str]] = _SAID,
    **values: Any,
) -> Finding:
    """A finding in the words of a table.

    Parameters
    ----------
    code, severity : str
    where : mapping, optional
        The places; the words may use them.
    said : str
        The key of the words, where it is not the code.
    table : mapping of str to (str, str, str)
        What is said of what was found, why it matters, and what to do about it.
    **values : object
        What else the words use.
    """
    where = where or {}
    what, why, remedy = (
        text if isinstance(text, Message) else _WORDS.vformat(text, (), {**where, **values})
        for text in table[said or code]
    )
    return Finding(code, severity, what, why, remedy, where)
