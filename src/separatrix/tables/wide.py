"""CSV files of very many columns, as one cell a line, where their first rows do not suffice.

The time that DuckDB takes for a query of every column of a CSV file grows with the square of their
number. As long as columns are what their first rows are, no cell is checked. Otherwise Python
takes the rows of such a file apart and writes one cell a line, ``number,"value",False``, counting
the cells along the rows; DuckDB then answers the same queries, in the same SQL, about one column.
"""

from __future__ import annotations

import csv
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.tables.table import BLANKS


def is_wide(n_columns: int, n_bytes: int) -> bool:
    """Whether a CSV file is read faster cell by cell.

    DuckDB takes about ``2 us * n_columns**2`` on top of its time for the cells (half a second for
    500 columns, 8 s for 2,000), and this way 2 us more for each cell. So it pays for files with
    more columns than rows, at about 8 bytes a cell; below 500 columns nobody would notice.
    """
    return n_columns >= 500 and n_bytes <= 8 * n_columns**2


@dataclass(frozen=True)
class Cells:
    """A file of one cell a line.

    Its columns are ``k``, the number of the cell, ``c``, the value, and ``b``, whether there are
    blanks around it: to take them off is the slowest step of all, and seldom needed.
    """

    path: Path
    width: int
    n_rows: int
    longest_line: int

    def relation(self, literal_path: str) -> str:
        return (
            f"read_csv({literal_path}, auto_detect = false, delim = ',', quote = '\"', "
            "escape = '\"', header = false, strict_mode = true, hive_partitioning = false, "
            f"max_line_size = {self.longest_line}, "
            "columns = {'k': 'BIGINT', 'c': 'VARCHAR', 'b': 'BOOLEAN'})"
        )

    def per_column(self, counts: Iterable[str], relation: str) -> str:
        """SQL that counts cells of every column."""
        columns = ", ".join(f"{count} AS n{i}" for i, count in enumerate(counts))
        return f"SELECT k % {self.width} AS j, {columns} FROM {relation} GROUP BY j"

    def by_column(self, counted: dict[str, Any]) -> Any:
        """The answer to :meth:`per_column`, an array of shape (counts, columns)."""
        counts = np.zeros((len(counted) - 1, self.width), dtype=np.int64)
        for i in range(len(counts)):
            counts[i, counted["j"]] = counted[f"n{i}"]
        return counts

    def any_row_of(
        self,
        texts: Mapping[int, str],
        value: str,
        run: Callable[[str], Any],
        relation: str,
    ) -> bool:
        """Whether a row holds some texts, each a literal of SQL by its column."""
        listed = ", ".join(texts.get(j, "NULL") for j in range(self.width))
        found = run(
            f"SELECT k // {self.width} AS n FROM {relation} "
            f"WHERE {value} = ([{listed}]::VARCHAR[])[k % {self.width} + 1] "
            f"GROUP BY n HAVING count(*) = {len(texts)} LIMIT 1"
        )["n"]
        return len(found) > 0

    def chosen(self, value: str, columns: Sequence[int], relation: str) -> str:
        """SQL for the cells of some columns, in the order of the file."""
        bits = np.zeros(self.width, dtype=np.uint8)
        bits[list(columns)] = 1
        where = ""
        if len(columns) < self.width:
            text = (bits + ord("0")).tobytes().decode()
            where = f" WHERE get_bit('{text}'::BIT, (k % {self.width})::INTEGER) = 1"
        return f"SELECT {value} AS f FROM {relation}{where}"

    def split(self, values: Any, n_columns: int) -> list[Any]:
        """The answer to :meth:`chosen`, column by column."""
        data = np.ma.getdata(values).reshape(self.n_rows, n_columns)
        gone = np.ma.getmaskarray(values).reshape(self.n_rows, n_columns)
        some: Any = gone.any(axis=0)
        return [
            np.ma.MaskedArray(data[:, j], mask=gone[:, j]) if some[j] else data[:, j]
            for j in range(n_columns)
        ]


def write_cells(rows: Iterable[Sequence[str]], width: int, path: Path) -> Cells:
    """Write rows of ``width`` values each, one cell a line."""
    n_rows = longest = 0
    with path.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
        for row in rows:
            blanks = [value.strip(BLANKS) != value for value in row]
            writer.writerows(zip(itertools.count(n_rows * width), row, blanks, strict=False))
            longest = max(longest, max(map(len, row)))
            n_rows += 1
    # A character takes up to 4 bytes, and a quote is doubled.
    return Cells(path, width, n_rows, 4 * longest + 1024)
