"""The records of a profile: plain numbers and names, which a terminal, a page or JSON shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any


@dataclass(frozen=True)
class Bin:
    """Rows whose values lie together, and their target.

    Attributes
    ----------
    n : int
        The number of rows.
    least, most : float, optional
        The ends of the values, for a column of numbers.
    level : str, optional
        The level, for a column of words.
    others : int
        The number of further levels that the bin stands for.
    missing : bool
        Whether these are the rows without a value.
    by_class : tuple of int
        The rows of each class of the target.
    mean : float, optional
        The mean of a target that is a quantity.
    """

    n: int
    least: float | None = None
    most: float | None = None
    level: str | None = None
    others: int = 0
    missing: bool = False
    by_class: tuple[int, ...] = ()
    mean: float | None = None


@dataclass(frozen=True)
class ColumnProfile:
    """The contents of one column.

    Attributes
    ----------
    name : str
    kind : {"number", "truth", "date", "category", "text", "empty"}
    read_as : str
        The reading of the column, and why it was read so.
    n_missing : int
        The number of rows without a value, with those whose value stands for a missing one.
    n_distinct : int
        The number of distinct values.
    placeholders : tuple of mapping
        Values that may stand for missing ones: ``values``, ``n`` and ``missing``, whether they are
        read so.
    numbers : mapping
        Statistics of numbers and dates: ``least``, ``most``, ``mean``, ``deviation``,
        ``quartiles`` and ``zeros``; dates are days since 1970-01-01.
    levels : tuple of (str, int)
        The most frequent levels, and their rows.
    bins : tuple of Bin
        The distribution.
    association : float, optional
        The strength of the dependence of the column and the target, from 0 to 1; see `measure`.
    measure : str
        The measure of `association`.
    missing_association : float, optional
        The strength of the dependence of the target on whether the column has a value.
    alerts : tuple of str
        Alerts about what looks wrong, in a few words each.
    remarks : tuple of str
        Remarks on the reading of the column, a sentence each.

    Examples
    --------
    >>> from separatrix import diagnose
    >>> found = diagnose({"size": ["S", "L", "S"], "price": [1.0, 3.0, 2.0]}, profile=True)
    >>> found.profile.columns[0].levels
    (('S', 2), ('L', 1))
    """

    name: str
    kind: str
    read_as: str
    n_missing: int
    n_distinct: int
    placeholders: tuple[Mapping[str, Any], ...] = ()
    numbers: Mapping[str, Any] = field(default_factory=dict)
    levels: tuple[tuple[str, int], ...] = ()
    bins: tuple[Bin, ...] = ()
    association: float | None = None
    measure: str = ""
    missing_association: float | None = None
    alerts: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Dependence:
    """The dependence of two columns.

    Attributes
    ----------
    first, second : str
    measure : {"Pearson", "Spearman", "Cramér's V", "correlation ratio"}
        The stronger one of the two correlations of numbers; Cramér's V of categories, corrected for
        chance (Bergsma, 2013); the correlation ratio of a category and numbers, also corrected.
    value : float
        From -1 to 1 for a correlation, from 0 to 1 for the others.
    pearson, spearman : float, optional
        Both correlations, for two columns of numbers.
    """

    first: str
    second: str
    measure: str
    value: float
    pearson: float | None = None
    spearman: float | None = None


@dataclass(frozen=True)
class MissingTogether:
    """Columns whose cells are missing in the same rows.

    Attributes
    ----------
    columns : tuple of str
    n : int
        The number of rows in which all of them are missing.
    exactly : bool
        Whether no row lacks only some of them.
    """

    columns: tuple[str, ...]
    n: int
    exactly: bool


@dataclass(frozen=True)
class Duplicates:
    """Rows that are equal to an earlier one in every column.

    Attributes
    ----------
    n : int
        The number of rows that repeat an earlier one.
    rows : tuple of (int, int)
        Examples of duplicate rows, each after the first row that it equals, numbered from 1.
    """

    n: int
    rows: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Drift:
    """The drift of one column with time.

    Attributes
    ----------
    column : str
    measure : str
        The measure of the dependence on ten periods of about equally many rows.
    value : float
        The strength of that dependence, from 0 to 1.
    what : str
        The quantity that moves: the mean, the share of a level, or the share of missing cells.
    before, after : float
        Its value in the first period, and in the last.
    """

    column: str
    measure: str
    value: float
    what: str
    before: float
    after: float


@dataclass(frozen=True)
class TableProfile:
    """The profile of a table.

    Attributes
    ----------
    source : str
    n_rows : int
        The number of rows of the table.
    n_profiled : int
        The number of rows in the profile: fewer than `n_rows` where the table was too large to be
        read as a whole, so that a sample of it was.
    n_described : int
        The number of rows by which single columns are described: all, where a few of the columns
        at a time could be read as a whole.
    target : str or None
        The column to predict.
    classes : tuple of str
        Its classes, where it has some, the most frequent first.
    columns : tuple of ColumnProfile
        The profiles of the columns, in the order of the table.
    missing_together : tuple of MissingTogether
    duplicates : Duplicates
    dependences : tuple of Dependence
        The strongest dependences, the strongest first.
    matrix : mapping
        ``columns``, and ``values``: the strength of the dependence of every two of these columns;
        a correlation has its sign.
    rows_compared : int
        The number of rows, spread over the table, from which the dependences are computed.
    columns_compared : int
        The number of columns that were compared with each other.
    time : str or None
        The column of dates whose periods `drift` compares.
    drift : tuple of Drift
        Columns that move with time, the farthest first.
    notes : tuple of str
        Further remarks on the reading of the table, a sentence each.

    Examples
    --------
    >>> from separatrix import diagnose
    >>> profile = diagnose({"x": [1.0, 2.0, None], "y": [2.0, 4.0, 5.0]}, profile=True).profile
    >>> profile.column("x").n_missing, profile.column("y").numbers["most"]
    (1, 5.0)
    """

    source: str
    n_rows: int
    n_profiled: int
    n_described: int
    target: str | None
    classes: tuple[str, ...]
    columns: tuple[ColumnProfile, ...]
    missing_together: tuple[MissingTogether, ...]
    duplicates: Duplicates
    dependences: tuple[Dependence, ...]
    matrix: Mapping[str, Any]
    rows_compared: int
    columns_compared: int
    time: str | None
    drift: tuple[Drift, ...]
    notes: tuple[str, ...] = ()

    @property
    def sampled(self) -> bool:
        """Whether the profile is that of a sample of the rows."""
        return self.n_profiled < self.n_rows

    def worded(self, wording: Callable[[str], str]) -> TableProfile:
        """The profile with its sentences in the words of a medium."""
        columns = (replace(one, remarks=tuple(map(wording, one.remarks))) for one in self.columns)
        return replace(self, columns=tuple(columns), notes=tuple(map(wording, self.notes)))

    def column(self, name: str) -> ColumnProfile:
        """The profile of a column by its name."""
        return next(one for one in self.columns if one.name == name)

    def to_dict(self) -> dict[str, Any]:
        """The profile in plain containers; a bin has no more than what is true of it."""
        document = asdict(self)
        for column in document["columns"]:
            column["bins"] = [
                {key: value for key, value in one.items() if value not in (None, (), False, 0)}
                | {"n": one["n"]}
                | {key: one[key] for key in ("least", "most") if one[key] is not None}
                for one in column["bins"]
            ]
        return document
