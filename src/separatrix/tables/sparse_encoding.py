"""The features of an svmlight file, which has no named columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from separatrix.tables.column_encoding import ColumnOf, Encoding, Settings
from separatrix.tables.features import Cell
from separatrix.tables.table import Remarks, Table


@dataclass
class Sparse(Encoding):
    """The features of an svmlight file, as they are: its columns from ``first`` up to ``stop``."""

    first: int
    stop: int

    name = None
    noun = ("sparse number", "sparse numbers")

    @property
    def n_features(self) -> int:
        return max(0, self.stop - self.first)

    @property
    def feature_names(self) -> list[str]:
        return [f"f{j}" for j in range(self.first, self.stop)]

    def features(self, column_of: ColumnOf, settings: Settings) -> list[Cell]:
        return [Cell(name) for name in self.feature_names]

    def encode(self, table: Table, settings: Settings, notes: Remarks) -> Any:
        from scipy import sparse

        matrix = table.matrix
        width = int(matrix.shape[1])
        if width > self.stop:
            beyond = int((matrix.indices >= self.stop).sum())
            notes.add(
                "",
                f"features above {self.stop - 1} were not known at fit; their {beyond:,} values "
                "are ignored",
            )
        elif width < self.stop:
            matrix = sparse.csr_matrix(
                (matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], self.stop)
            )
        if self.first and (matrix.indices == 0).any():
            notes.add("", "feature 0 was not known at fit; its values are ignored")
        return matrix[:, self.first : self.stop]
