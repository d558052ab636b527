"""The diagnosis of data: what will hurt a linear classifier, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.data.validation import check_choice, check_number
from separatrix.geometry.diagnosis.alerts import alerts_as_findings, gravity, not_alerted
from separatrix.geometry.diagnosis.checks import CHECKS, WITHOUT_CLASSES, Examined, Skipped
from separatrix.geometry.diagnosis.findings import Finding, counts_by_severity
from separatrix.geometry.points import labelled_points
from separatrix.messages import counted, join, sentences
from separatrix.messages.markup import paragraphs_html, table_html
from separatrix.tables import Table

if TYPE_CHECKING:
    from separatrix.geometry.diagnosis.tabular import PreparedTable
    from separatrix.tables.profiles.records import TableProfile

__all__ = ["Diagnosis", "Finding", "diagnose", "diagnose_table"]


@dataclass(frozen=True)
class Diagnosis:
    """The findings of :func:`diagnose`, from the gravest; iterable.

    Like a list of them, it is true in a condition if and only if there is one.

    Attributes
    ----------
    findings : tuple of Finding
    n_samples, n_features : int
    classes : tuple
        The labels, sorted; empty for a quantity, and where there is no target.
    checked : tuple of str
        The checks that were made, by their names in ``CHECKS``.
    skipped : mapping of str to str
        The checks that were not made, or not in full, and why.
    profile : TableProfile or None
        The profile of the columns and of how they depend on one another, where requested.
    """

    findings: tuple[Finding, ...]
    n_samples: int
    n_features: int
    classes: tuple[Any, ...]
    checked: tuple[str, ...]
    skipped: Mapping[str, str] = field(default_factory=dict)
    profile: TableProfile | None = field(default=None, repr=False)

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
            **({} if self.profile is None else {"profile": self.profile.to_dict()}),
        }

    def __str__(self) -> str:
        counts = [counted(self.n_samples, "row"), counted(self.n_features, "column")]
        counts += [counted(len(self.classes), "class")] if self.classes else []
        head = f"{', '.join(counts)}: "
        return "\n".join([head + self.summary(), *map(str, self.findings)])

    def _repr_html_(self) -> str:
        head, *_ = str(self).splitlines()
        rows = [[one.severity, one.what, sentences(one.why, one.remedy)] for one in self]
        table = table_html([["", "what", "why, and what to do"], *rows], left=3) if rows else ""
        return paragraphs_html([head]) + table

    def __repr__(self) -> str:
        return f"<Diagnosis: {self.summary()}>"

    def summary(self) -> str:
        """The number of findings of every severity, in words."""
        counts = counts_by_severity(self.findings)
        words = [counted(count, severity) for severity, count in counts.items() if count]
        return join(words) if words else "no problems found"


def diagnose(
    X: Any,
    y: Any = None,
    *,
    fit_intercept: bool = True,
    time_limit: float | None = None,
    checks: Sequence[str] | None = None,
    feature_names: Sequence[str] | None = None,
    row_numbers: Any = None,
    target: str | None = None,
    profile: bool = False,
    value_text: Callable[[int, float], str] | None = None,
) -> Diagnosis:
    """Say what will hurt a linear model on these data, by name.

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

    Where `y` is a quantity, and where there is none, those checks are left out that need classes;
    ``label`` then looks for columns whose correlation with the quantity is nearly 1.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame or Table of shape (n_samples, n_features)
        Looked at a block of rows at a time, and never made dense as a whole. Copied only where a
        sparse matrix has column indices out of order or more than once. A
        :class:`~separatrix.tables.Table`, and a data frame that holds words, dates or missing
        values, is encoded as ``separatrix fit`` encodes it, with its numbers as they are.
    y : array-like of shape (n_samples,), optional
        Labels, or a quantity: numbers that are no plausible classes.
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
        The numbers by which rows are named, in sentences and in ``where``; 0, 1, 2, ... by default.
    target : str, optional
        The column of a Table or a data frame that is the target, in place of `y`.
    profile : bool, default=False
        Whether to describe every column as well, and how columns depend on one another: the
        distribution of its values, missing cells, levels, correlations, and how columns move with
        time. :meth:`separatrix.Report.from_diagnosis` makes a page of it.
    value_text : callable, optional
        ``value_text(j, value)`` is a value of column `j` of a matrix as sentences have it, such as
        :meth:`~separatrix.tables.Encoder.value_text`; by default the number itself.

    Returns
    -------
    Diagnosis

    Raises
    ------
    ValueError
        For NaN in a matrix, infinity, lengths that differ, one class only, or a parameter that
        cannot be meant.

    Notes
    -----
    Statements about every row were checked on every row. Condition numbers, and the candidates for
    columns that depend on others, come from a sample of rows where the Gram matrix of all of them
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

    A table without a target, and what its columns hold:

    >>> found = diagnose({"x": [1.0, 2.0, 2.5, None], "k": ["a", "b", "b", "b"]}, profile=True)
    >>> [(one.name, one.kind, one.n_missing, one.n_distinct) for one in found.profile.columns]
    [('x', 'number', 1, 3), ('k', 'category', 0, 2)]
    """
    if time_limit is not None:
        check_number("time_limit", time_limit, above=0)
    chosen = list(CHECKS) if checks is None else list(checks)
    for name in chosen:
        check_choice("checks", name, list(CHECKS))
    if profile or target is not None or _is_table(X):
        from separatrix.geometry.diagnosis.tabular import prepared_table, table_of

        names = None if feature_names is None else [str(name) for name in feature_names]
        table, own = table_of(X, y, names)
        if target is not None and own is not None:
            raise ValueError("give the labels as y, or the name of their column as target")
        prepared = prepared_table(table, own if target is None else target)
        return diagnose_table(
            prepared,
            fit_intercept=bool(fit_intercept),
            time_limit=time_limit,
            checks=chosen,
            row_numbers=row_numbers,
            profile=profile,
        )
    kind = "" if y is None else "quantity" if _is_quantity(y) else "classes"
    settings = (bool(fit_intercept), time_limit, chosen)
    return _of_matrix(X, y, kind, feature_names, row_numbers, value_text, *settings)


def diagnose_table(
    prepared: PreparedTable,
    *,
    fit_intercept: bool = True,
    time_limit: float | None = None,
    checks: Sequence[str] | None = None,
    row_numbers: Any = None,
    profile: bool = False,
    n_rows: int | None = None,
    parts: Iterable[Table] = (),
) -> Diagnosis:
    """Diagnose a table that was prepared; see :func:`diagnose`.

    Parameters
    ----------
    prepared : PreparedTable
    fit_intercept, time_limit, checks, row_numbers, profile
        As in :func:`diagnose`.
    n_rows : int, optional
        The number of rows, where those of the table are a sample.
    parts : iterable of Table
        The columns of such a table, some at a time, as in :func:`profile_of`.
    """
    encoder = prepared.encoder
    kind = "" if prepared.y is None else "quantity" if prepared.quantity else "classes"
    chosen = list(CHECKS) if checks is None else checks
    findings = [*prepared.placeholders, *alerts_as_findings(encoder)]
    if prepared.X is None:
        found = Diagnosis((), prepared.table.n_rows, 0, (), ())
    else:
        settings = (fit_intercept, time_limit, chosen)
        names = encoder.feature_names_
        texts = encoder.value_text
        found = _of_matrix(prepared.X, prepared.y, kind, names, row_numbers, texts, *settings)
        findings += not_alerted(found, encoder)
    described = None
    if profile:
        # Later, because what a fit warns of does without.
        from separatrix.geometry.diagnosis.described import profile_findings
        from separatrix.geometry.diagnosis.tabular import short_alerts
        from separatrix.tables.profiles.profiling import profile_of

        described = profile_of(
            prepared.table,
            prepared.target,
            quantity=prepared.quantity,
            alerts=short_alerts(encoder),
            n_rows=n_rows,
            parts=parts,
        )
        known = {
            name for one in findings if one.code in _ALIKE for name in one.where.get("columns", ())
        }
        findings = [one for one in findings if not _of_missing_cells(one)]
        findings += profile_findings(described, known)
    return replace(found, findings=_from_the_gravest(findings), profile=described)


# Findings after which a profile need not say that a column repeats another, or the target.
_ALIKE = ("gives_label_away", "gives_target_away", "collinear", "one_to_one")


def _of_missing_cells(finding: Finding) -> bool:
    """Whether features are equal of which a profile says that their cells are missing together."""
    groups = finding.where.get("groups", ()) if finding.code == "duplicate_columns" else ()
    features = [name for group in groups for name in group]
    return bool(features) and all(str(name).endswith("=(missing)") for name in features)


def _is_table(X: Any) -> bool:
    """Whether X is a table, and not a matrix of numbers."""
    if isinstance(X, (Table, dict)):
        return True
    kinds = getattr(X, "dtypes", None) if hasattr(X, "columns") else None
    if kinds is None:
        return False
    return any(getattr(kind, "kind", "O") not in "biuf" for kind in kinds)


def _is_quantity(y: Any) -> bool:
    """Whether labels are numbers that are no plausible classes."""
    from separatrix.tables.target import is_quantity

    values = np.asarray(y)
    return values.ndim == 1 and values.dtype.kind == "f" and is_quantity(values)


def _from_the_gravest(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=gravity))


def _of_matrix(
    X: Any,
    y: Any,
    kind: str,
    feature_names: Sequence[str] | None,
    row_numbers: Any,
    value_text: Callable[[int, float], str] | None,
    fit_intercept: bool,
    time_limit: float | None,
    checks: Sequence[str],
) -> Diagnosis:
    points = labelled_points(X, y, classes=kind == "classes")
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
    data = Examined(points, names, fit_intercept, time_limit, numbers, kind, value_text)
    possible = [name for name in CHECKS if name in WITHOUT_CLASSES.get(kind, CHECKS)]
    found: list[Finding] = []
    skipped: dict[str, str] = {}
    for name in possible:
        if name not in checks:
            continue
        try:
            found += CHECKS[name](data)
        except Skipped as skip:
            skipped[name] = skip.finding.why
            found += skip.found
    return Diagnosis(
        findings=_from_the_gravest(found),
        n_samples=points.design.n_samples,
        n_features=points.design.n_features,
        classes=tuple(points.labels.classes.tolist()) if kind == "classes" else (),
        checked=tuple(name for name in possible if name in checks and name not in skipped),
        skipped=skipped,
    )
