"""The common part of the encodings of columns: their settings, their faults and their storage.

One kind of column is a class: :class:`~separatrix.tables.number_encoding.Number`,
:class:`~separatrix.tables.category_encoding.Category`,
:class:`~separatrix.tables.word_encoding.Text`, :class:`~separatrix.tables.curves.Curve`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from separatrix.exceptions import ModelFileError
from separatrix.tables.cells import Column
from separatrix.tables.features import Feature

ColumnOf = Callable[[str], Column]
"""A function that gives a column of an encoding, by its name, in terms of the cells of a row."""

Alert = Callable[..., None]
"""A function called with the sort of an alert in a few words, the sentence, and the columns."""

# How columns are stored: a plain dictionary each, and arrays by name.
Entries = list[dict[str, Any]]
Arrays = dict[str, Any]


@dataclass(frozen=True)
class Settings:
    """The parameters of an :class:`Encoder`."""

    text: dict[str, Any]
    min_frequency: int | None
    standardise: bool
    reference: bool

    @property
    def exact(self) -> bool:
        """Whether numbers are left exactly as the table has them."""
        return not self.standardise and not self.reference


class Unusable(Exception):
    """A column gives no feature: what sort of column it is, and why."""

    def __init__(self, sort: str, why: str):
        super().__init__(why)
        self.sort, self.why = sort, why


class Encoding:
    """The interface of every kind: ``encode``, ``store``, ``load``, and names of features."""

    kind: str
    noun: tuple[str, str]
    name: Any
    with_date = False
    """Whether the column is a part of a date with features, which show where cells are missing."""

    @property
    @abstractmethod
    def feature_names(self) -> list[str]: ...

    @property
    def n_features(self) -> int:
        return len(self.feature_names)

    @abstractmethod
    def features(self, column_of: ColumnOf, settings: Settings) -> Sequence[Feature]:
        """The features that ``encode`` computes from the cells of a row, in their order."""

    def value_text(self, feature: int, value: float, settings: Settings) -> str:
        """A value of one of the features in the units of the column."""
        return f"{value:.6g}"

    def require_sound(self) -> None:
        """Raise ModelFileError unless this can have been fitted."""


def damaged(what: object) -> ModelFileError:
    return ModelFileError(f"the stored encoding is damaged: {what}")
