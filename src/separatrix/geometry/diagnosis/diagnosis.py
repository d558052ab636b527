"""What will hurt a linear classifier on these data, by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from separatrix.data.validation import check_choice, check_number
from separatrix.geometry.diagnosis.checks import CHECKS, Examined, Skipped
from separatrix.geometry.diagnosis.findings import SEVERITIES, Finding
from separatrix.geometry.points import labelled_points
from separatrix.messages import counted, join, sentences
from separatrix.messages.markup import paragraphs_html, table_html

__all__ = ["Diagnosis", "Finding", "diagnose"]


@dataclass(frozen=True)
class Diagnosis:
    """The findings of :func:`diagnose`, from the gravest; iterable.

    Like a list of them, it is true in a condition if and only if there is one.

    Attributes
    ----------
    findings : tuple of Finding
    n_samples, n_features : int
    classes : tuple
        The labels, sorted.
    checked : tuple of str
        What was looked at, by the names in ``CHECKS``.
    skipped : mapping of str to str
        What was not, or not in full, and why.
    """

    findings: tuple[Finding, ...]
    n_samples: int
    n_features: int
    classes: tuple[Any, ...]
    checked: tuple[str, ...]
    skipped: Mapping[str, str] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-able dictionary."""
        return {
            "findings": [finding.to_dict() for finding in self.findings],
            "n_samples": self.n_samples,
            "n_features": self.n_features,
            "classes": list(self.classes),
            "checked": list(self.checked),
            "skipped": dict(self.skipped),
        }

    def __str__(self) -> str:
        head = (
            f"{counted(self.n_samples, 'row')}, {counted(self.n_features, 'column')}, "
            f"{counted(len(self.classes), 'class')}: "
        )
        return "\n".join([head + self.summary(), *map(str, self.findings)])

    def _repr_html_(self) -> str:
        head, *_ = str(self).splitlines()
        rows = [[one.severity, one.what, sentences(one.why, one.remedy)] for one in self]
        table = table_html([["", "what", "why, and what to do"], *rows], left=3) if rows else ""
        return paragraphs_html([head]) + table

    def __repr__(self) -> str:
        return f"<Diagnosis: {self.summary()}>"

    def summary(self) -> str:
        """How many findings there are of every severity, in words."""
        counts = {s: sum(f.severity == s for f in self.findings) for s in SEVERITIES}
        words = [counted(count, severity) for severity, count in counts.items() if count]
        return join(words) if words else "no problems found"


def diagnose(
    X: Any,
    y: Any,
    *,
    fit_intercept: bool = True,
    time_limit: float | None = None,
    checks: Sequence[str] | None = None,
    feature_names: Sequence[str] | None = None,
    row_numbers: Any = None,
) -> Diagnosis:
    """Say what will hurt a linear classifier on these data, by name.

    Looked for are, by the name of the check:

    ``classes``
        Classes of few rows, and far more rows of one class than of another.
    ``shape``
        More columns than rows.
    ``columns``
        Columns that are constant, constant but for a row or two, or equal to others.
    ``scales``
        Ranges that differ by orders of magnitude, and deviations that are tiny beside the mean.
    ``rows``
        Equal rows with different labels, and rows of zeros.
    ``label``
        Columns that give the label away: one threshold on them (or one a class) is enough.
    ``collinear``
        Columns that are combinations of others, with the coefficients, and columns that nearly
        are; groups of one-hot columns, which are ordinary, are a note.
    ``separability``
        Whether a hyperplane separates the classes, strictly or in part
        (:func:`separatrix.separability`); for three and more classes each pair, and each class
        against the rest.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Looked at a block of rows at a time, and never made dense as a whole. Copied only where a
        sparse matrix has column indices out of order or more than once.
    y : array-like of shape (n_samples,)
        Labels.
    fit_intercept : bool, default=True
        Whether the classifier in mind has an intercept.
    time_limit : float, optional
        Seconds for the question of separability, the only one that can take long. By default it
        is put where it is quick, and skipped (which a finding says) where it may not be.
    checks : sequence of str, optional
        Which checks to make; all by default.
    feature_names : sequence of str, optional
        Names of the columns, where `X` is no data frame.
    row_numbers : array-like of int of shape (n_samples,), optional
        What to call the rows, in sentences and in ``where``; 0, 1, 2, ... by default.

    Returns
    -------
    Diagnosis

    Raises
    ------
    ValueError
        For NaN or infinity, lengths that differ, one class only, or a parameter that cannot be
        meant.

    Notes
    -----
    Statements about every row were checked on every row. Of condition numbers, and of which
    columns may depend on others, a sample of rows decides where the Gram matrix of all of them
    would take more than 2e10 multiplications; the finding says so.

    References
    ----------
    D. A. Belsley, E. Kuh and R. E. Welsch, *Regression Diagnostics* (1980): condition numbers.
    N. J. Higham, *Analysis of the Cholesky decomposition of a semi-definite matrix* (1990).

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.geometry import diagnose
    >>> rng = np.random.default_rng(0)
    >>> b, c = rng.normal(size=(2, 60))
    >>> X = np.column_stack([b + c, b, c])
    >>> found = diagnose(X, rng.integers(0, 2, 60), feature_names=["a", "b", "c"],
    ...                  checks=["collinear"])
    >>> [finding.code for finding in found]
    ['collinear']
    >>> found.findings[0].what
    "columns depend on one another: 'a' = 'b' + 'c'"
    """
    if time_limit is not None:
        check_number("time_limit", time_limit, above=0)
    chosen = list(CHECKS) if checks is None else list(checks)
    for name in chosen:
        check_choice("checks", name, list(CHECKS))
    points = labelled_points(X, y)
    names = points.names if feature_names is None else tuple(map(str, feature_names))
    if names is not None and len(names) != points.design.n_features:
        raise ValueError(
            f"feature_names has {len(names):,} names for {points.design.n_features:,} columns."
        )
    numbers = None if row_numbers is None else np.asarray(row_numbers)
    if numbers is not None and numbers.shape != (points.design.n_samples,):
        raise ValueError(
            f"row_numbers has the shape {numbers.shape} for {points.design.n_samples:,} rows."
        )
    data = Examined(points, names, bool(fit_intercept), time_limit, numbers)
    found: list[Finding] = []
    skipped: dict[str, str] = {}
    for name, check in CHECKS.items():
        if name not in chosen:
            continue
        try:
            found += check(data)
        except Skipped as skip:
            skipped[name] = skip.finding.why
            found += skip.found
    found.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    return Diagnosis(
        findings=tuple(found),
        n_samples=points.design.n_samples,
        n_features=points.design.n_features,
        classes=tuple(points.labels.classes.tolist()),
        checked=tuple(name for name in CHECKS if name in chosen and name not in skipped),
        skipped=skipped,
    )
