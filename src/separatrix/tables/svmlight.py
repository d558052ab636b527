"""svmlight files: a sparse matrix and the numbers that its rows are labelled with."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from separatrix.exceptions import DataError
from separatrix.tables.table import Table, number_column, parse_number, quote

SVMLIGHT_SUFFIXES = (".svm", ".svmlight", ".libsvm")

# Columns that an svmlight file may have however few entries it has, and for each entry.
_FREE_COLUMNS = 1_000_000
_COLUMNS_PER_ENTRY = 100


def read_svmlight(path: Path) -> Table:
    from scipy import sparse
    from sklearn.datasets import load_svmlight_file

    try:
        # Column j of the matrix is index j of the file, so that files counted from 0 and from 1
        # keep their columns apart without guessing; an unused column 0 costs nothing.
        matrix, target = load_svmlight_file(str(path), zero_based=True)
    except (ValueError, OverflowError, UnicodeDecodeError) as error:
        fault = _svmlight_fault(path)
        what = f", {fault}" if fault else f" is not svmlight: {error}"
        raise DataError(f"{path}{what}") from None
    matrix = sparse.csr_matrix(matrix, dtype=np.float64)
    if matrix.shape[0] == 0:
        raise DataError(f"{path} holds no rows")
    if matrix.shape[1] > max(_FREE_COLUMNS, _COLUMNS_PER_ENTRY * matrix.nnz):
        # Names, weights and scales are as many as columns, whatever the file holds.
        row = int(np.searchsorted(matrix.indptr, int(matrix.indices.argmax()), side="right"))
        raise DataError(
            f"{path}, row {row}: feature {matrix.shape[1] - 1:,} needs that many columns, and the "
            f"file has {matrix.nnz:,} entries; number the features consecutively from 1"
        )
    bad = np.flatnonzero(~np.isfinite(matrix.data))
    if len(bad):
        row = int(np.searchsorted(matrix.indptr, bad[0], side="right"))
        raise DataError(
            f"{path}, row {row}: feature {int(matrix.indices[bad[0]])} is "
            f"{matrix.data[bad[0]]}, which is not a finite number"
        )
    target = np.asarray(target, dtype=np.float64)
    return Table(
        names=("target",),
        columns={"target": number_column(target, np.isnan(target))},
        kinds={"target": "number"},
        n_rows=int(matrix.shape[0]),
        source=str(path),
        matrix=matrix,
    )


def _svmlight_fault(path: Path) -> str | None:
    """Describe the fault of the first faulty line of an svmlight file."""
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            fields = raw.split(b"#", 1)[0].split()
            if not fields:
                continue
            label, *pairs = (field_.decode("utf-8", "replace") for field_ in fields)
            if parse_number(label) is None:
                return f"line {number}: the label {quote(label)} is not a number"
            last = -1
            for pair in pairs:
                index, colon, value = pair.partition(":")
                if index == "qid":
                    continue
                if not colon or not index.isdigit() or parse_number(value) is None:
                    return f"line {number}: {quote(pair)} is not index:value"
                if int(index) <= last:
                    return f"line {number}: index {index} comes after {last}; they must increase"
                last = int(index)
    return None
