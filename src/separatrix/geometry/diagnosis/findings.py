"""Findings: what a diagnosis says, and the table of its words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from string import Formatter
from typing import Any

from separatrix.messages import Message, counted, percent, sentences

SEVERITIES: tuple[str, ...] = ("problem", "warning", "note")
"""The severities, gravest first.

A problem makes a result useless or misleading, a warning is about what will hurt, and a note is
worth knowing.
"""


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

    def worded(self, wording: Callable[[str], str]) -> Finding:
        """The finding with its sentences in the words of a medium."""
        return replace(
            self, what=wording(self.what), why=wording(self.why), remedy=wording(self.remedy)
        )

    def to_dict(self) -> dict[str, Any]:
        """A JSON-able dictionary."""
        return asdict(self)

    def __str__(self) -> str:
        rest = sentences(self.why, self.remedy)
        return f"{self.severity}: {self.what}." + (f" {rest}" if rest else "")


def counts_by_severity(found: Iterable[Finding]) -> dict[str, int]:
    """The number of findings of every severity, the gravest first."""
    counts = dict.fromkeys(SEVERITIES, 0)
    for one in found:
        counts[one.severity] += 1
    return counts


_ARBITRARY = (
    "the split of the weight among them is arbitrary: without a penalty the solution is not "
    "unique, and with one their single weights have no meaning"
)
_LEAK = (
    "a column that is known only together with the label makes all scores too optimistic and the "
    "model useless",
    "if it is not known before the label, leave it out; if it is, a threshold on it is enough",
)
TARGET_LEAK = (
    "a column that is known only together with the target makes all scores too optimistic and the "
    "model useless",
    "if it is not known before the target, leave it out",
)
"""Why it matters that a column gives the target away, and what to do."""
_DIVERGES = (
    "without a penalty the weights grow without limit, and there is no finite optimum; with one, "
    "its strength alone decides how large they are"
)
_KEEP_A_PENALTY = Message("keep_a_penalty")

# The words of each finding, with a key of their own where a code has several: what was found,
# why it matters, and what to do.  In braces are values of the finding; see ``_Words``.
_WORDINGS: dict[str, tuple[str, str, str]] = {
    "tiny_class": (
        "{n:a class|classes} of few rows: {shown}",
        "so few rows tell little about a class, and none may remain for testing",
        "collect more rows of such a class, merge it with another, or leave it out",
    ),
    "imbalance": (
        "{most_rows:row} of {most} and {least_rows:,} of {least}, {ratio:,.0f} to 1",
        "always predicting {most} is right for {share:percent} of the rows, so accuracy means "
        "little",
        Message("judge_by_class"),
    ),
    "more_columns_than_rows": (
        "there are {n_features:column} for {n_samples:row}",
        "almost any labels of so few rows can be fitted without a mistake, and without a penalty "
        "many different weights do so",
        "keep a penalty, choose its strength by cross-validation, and judge on held-out rows",
    ),
    "constant_column": (
        "{count:column} of one value: {shown}",
        "such a column does not distinguish any rows{effect}",
        "leave {count:it|them} out",
    ),
    "nearly_constant_column": (
        "{count:column} of one value but for one or two rows: {shown}",
        "the weight of such a column depends on those rows alone",
        "leave such columns out, or merge rare levels and leave out rare words",
    ),
    "duplicate_columns": (
        "{count:column} equal to {count:an earlier one|earlier ones} in every row: {shown}",
        "the split of the weight among them is arbitrary, so their single weights have no meaning",
        "keep one of each",
    ),
    "scales_differ": (
        "the columns' scales differ by a factor of {ratio}: {shown}",
        "a penalty falls on the columns of small scale, whose weights must be large, and most "
        "solvers take many times as long",
        "standardise the columns, or divide each by its largest value if they are sparse "
        "(separatrix fit standardises numbers wherever there is a penalty)",
    ),
    "huge_offset": (
        "{count:column} with a spread that is tiny beside {count:its|their} mean: {shown}; {worst} "
        "is {mean:.6g} +- {deviation:.3g}",
        "only the last few of the {digits} digits that are stored distinguish the rows, and sums "
        "over rows lose them",
        "subtract the mean (or the smallest value){before}",
    ),
    "duplicate_rows": (
        "{count:row} ({share:percent}) {count:repeats|repeat} an earlier row{seen}{alike}",
        "copies on both sides of a split make the scores on held-out rows too optimistic",
        "leave them out, or split so that copies stay together",
    ),
    "empty_rows": (
        "{count:row} ({share:percent}) with 0 in every column: {shown}",
        "{effect}",
        "find out why (texts without known words, missing values), or leave them out",
    ),
    "contradictory_rows": (
        "{count:row} {count:equals|equal} a row of another label in every {part}: such as rows "
        "{shown}",
        "every model predicts at least {least_mistakes:row} ({share:percent}) wrong, and no plane "
        "separates the classes",
        "check whether the labels are right, and whether a column that distinguishes them is "
        "missing",
    ),
    "gives_label_away": ("{column} alone determines the class: it is {ranges}", *_LEAK),
    "nearly_gives_label_away": (
        "{column} alone nearly determines the class: {rule} right for {score:percent} of the rows, "
        "with equal weights of the classes",
        *_LEAK,
    ),
    "gives_target_away": (
        "{column} alone nearly determines the target: their correlation is {correlation:.4f}",
        *TARGET_LEAK,
    ),
    "more leaks": (
        "{shown} {count:determines|determine} the class, too, exactly or nearly",
        *_LEAK,
    ),
    "collinear": ("columns depend on one another: {relation}", _ARBITRARY, "leave out one of them"),
    "more relations": (
        "{count:more column} {count:depends|depend} on others",
        _ARBITRARY,
        "leave out those above and diagnose again",
    ),
    "one_hot": (
        "{some} of columns {n:adds|add} up to 1 in every row, as one-hot columns do: {shown}",
        "one column of a group is determined by the others, which a penalty resolves; only "
        "differences of weights within a group have a meaning",
        "",
    ),
    "nearly_collinear": (
        "the condition number of the standardised columns is {condition:,.3g}{sampled}; all but "
        "{part} of the variance of {worst} is explained by {partners}",
        "the single weights of such columns are uncertain: a small change of the data changes them "
        "strongly",
        "leave out a column, or interpret their weights together",
    ),
    "separable": (
        "the classes are separable: a plane has every row strictly on its side",
        _DIVERGES,
        _KEEP_A_PENALTY,
    ),
    "quasi_separable": (
        "the classes are separable in part: a plane has {count:row} strictly on {count:its|their} "
        "side{by}, and all others on it",
        "without a penalty the weights of these columns grow without limit, and there is no finite "
        "optimum",
        _KEEP_A_PENALTY,
    ),
    "separable classes": ("{shown}", _DIVERGES, _KEEP_A_PENALTY),
    "no leaks": (
        "no check was made whether a column gives the label away",
        "it takes too much memory for {columns:,} columns and {classes} classes",
        "",
    ),
    "no relations": (
        "no check was made whether columns are combinations of others",
        "{reason}",
        "",
    ),
    "not asked": (
        "no check was made whether the classes are separable",
        "it can take long on data of this size",
        Message("ask_for_separability"),
    ),
    "undecided": (
        "the check whether the classes are separable did not finish{some}",
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
        if spec in ("row", "column", "pair", "more column"):
            return counted(value, spec)
        return str(super().format_field(value, spec))


_WORDS = _Words()


def finding(
    code: str,
    severity: str,
    where: Mapping[str, Any] | None = None,
    wording: str = "",
    table: Mapping[str, tuple[str, str, str]] = _WORDINGS,
    **values: Any,
) -> Finding:
    """A finding in the words of a table.

    Parameters
    ----------
    code, severity : str
    where : mapping, optional
        The places; the words may use them.
    wording : str
        The key of the words, where it is not the code.
    table : mapping of str to (str, str, str)
        The words for what was found, why it matters, and what to do about it.
    **values : object
        The other values that the words use.
    """
    where = where or {}
    what, why, remedy = (
        text if isinstance(text, Message) else _WORDS.vformat(text, (), {**where, **values})
        for text in table[wording or code]
    )
    return Finding(code, severity, what, why, remedy, where)
