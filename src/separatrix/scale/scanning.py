"""Scans of data before they are fitted, and the sources of their row blocks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from separatrix._compiled.memory import bytes_of, limit_of
from separatrix.data.design import as_design
from separatrix.data.digests import sha256_of
from separatrix.data.labels import encode
from separatrix.data.row_hashing import row_keys
from separatrix.data.validation import require_classes, require_finite, sample_weight_of
from separatrix.exceptions import DataError, warn
from separatrix.scale.blocks import (
    ArrayBlock,
    BlockedData,
    Rows,
    in_pieces,
    rows_of_a_block,
    total_weights,
)
from separatrix.scale.files import ScanOptions, scan_files
from separatrix.scale.samples import sample_of, sample_size
from separatrix.tables import DEFAULT_MISSING, Encoder
from separatrix.tables.formulas import terms_of
from separatrix.tables.reader import OPTIONS
from separatrix.tables.table import given_marks
from separatrix.tables.terms import Terms

__all__ = ["bytes_of", "sample_of", "scan"]

ProgressCallback = Callable[[str, int, int], None]
"""``on_progress(stage, rows, n_rows)`` is called with the progress of a scan."""

TargetCallback = Callable[[np.ndarray | None], Mapping[str, bool] | None]

_READING = (*OPTIONS, "spellings", "ignore_unusable", "ordered")


def scan(
    source: Any,
    target: Any = None,
    *,
    weight: Any = None,
    memory: str | int = "1GB",
    cache: str | os.PathLike[str] | None = None,
    cache_limit: str | int | None = None,
    test_size: float = 0.0,
    seed: int = 0,
    standardise: bool | None = None,
    kinds: Mapping[str, str] | None = None,
    missing: Iterable[str] = DEFAULT_MISSING,
    ignore: Sequence[str] = (),
    sql: str | None = None,
    reference: bool = False,
    text: Mapping[str, Any] | None = None,
    min_frequency: int | None = None,
    terms: Any = None,
    formula: str | None = None,
    encoder: Encoder | None = None,
    quantity: bool | None = None,
    drop_missing_target: bool = False,
    group: str | None = None,
    time: str | None = None,
    beside: bool = False,
    single: bool = True,
    block_rows: int | None = None,
    engine: Any = None,
    on_progress: ProgressCallback | None = None,
    on_target: TargetCallback | None = None,
    **reading: Any,
) -> BlockedData:
    """Look through data that need not fit memory, and make row blocks of them.

    Files are read twice: once for what their columns add up to (levels, means, classes), and once
    to encode their rows into a cache, from which every pass of a fit is read. The same data with
    the same options are found there the next time.

    Parameters
    ----------
    source : str, path, list of these, DuckDB relation, pyarrow table or data set, or array-like
        Files, folders, patterns and addresses of what :func:`separatrix.tables.read_table` reads;
        Parquet files are read as they are, and others are written as Parquet into the cache first.
        An open file is copied into the cache.
        Or an array-like, sparse matrix or Dask array of shape (n_samples, n_features), or a Dask
        frame: partitions and chunks are the blocks then, and stay on the cluster. A frame that
        ``dask.dataframe.read_parquet`` gives is read as its files are, also with some of their
        columns, if the workers share the folder of the cache.
    target : str, or array-like of shape (n_samples,)
        The column to predict; the labels of an array. None for files without labels.
    weight : str, or array-like of shape (n_samples,), optional
        The column of sample weights; those of an array. A weight of k is the same as k copies.
    memory : str or int
        The memory that scanning and fitting may use together, everything included, in bytes or as
        ``"1GB"``.
    cache : path, optional
        The folder for encoded blocks; by default one of this user's in the temporary folder.
    cache_limit : str or int, optional
        Bytes that the folder may take, by default half of what is free on its disk. The oldest
        data in it make room for new ones. Blocks that do not fit are decoded on every pass
        instead; all of them with 0.
    test_size : float
        The share of rows that are held out, chosen by their values apart from the target, so that
        equal rows are on one side.
    seed : int
        The seed of that choice: another seed holds out other rows.
    standardise : bool, optional
        Whether numbers of files and tables are standardised; by default they are. Arrays and Dask
        collections are fitted as they are, and standardise=True is refused with them.
    reference, text, min_frequency, terms, formula
        As in :class:`~separatrix.tables.Encoder`.
    kinds, missing, sql
        As in :func:`~separatrix.tables.read_table`.
    ignore : sequence of str
        Columns that are left out.
    encoder : Encoder, optional
        An encoder that was fitted before, by which rows are encoded.
    quantity : bool, optional
        Whether the target is a quantity rather than classes; found out by default.
    drop_missing_target : bool
        Whether rows of files without a target are left out, which are an error otherwise.
    group : str, optional
        A column that is no feature: rows of one group are held out together, groups in the order of
        a hash of what is written in them, until they have the share of the rows.
    time : str, optional
        A column of dates or numbers by which the latest rows are held out.
    beside : bool
        Whether the rows of blocks have their group or time beside them, as a number; such rows are
        decoded on every pass, and their group may be a feature of `encoder`.
    single : bool
        Whether matrices of files are stored in float32.
    block_rows : int, optional
        Rows of a block, at most.  By default 65,536, and more where there are so many columns that
        what a block sends would be more than a quarter of its bytes.
    engine : Dask, optional
        The engine of the cluster that holds a Dask collection, by default that of the current
        client. For files, the engine of the cluster whose workers read Parquet files, each its row
        groups, find what columns add up to and encode the rows. The files have the same path for
        all workers.
    on_progress : callable, optional
        ``on_progress(stage, rows, n_rows)`` is called on the way; stages are ``"statistics"`` and
        ``"encoding"``.
    on_target : callable, optional
        ``on_target(classes)`` is called before rows of files are encoded, with the classes or None
        for a quantity. What it raises ends the scan; it may return a dictionary of ``standardise``
        and ``reference``, which take the place of the arguments.
    **reading
        Other options of :func:`~separatrix.tables.read_table`: ``decimal``, ``date_format``,
        ``delimiter``, ``encoding``, ``unpacked_limit``, ``spellings``,
        ``ignore_unusable``, ``ordered``, ``keep_levels``.

    Returns
    -------
    BlockedData

    Raises
    ------
    DataError
        For data that cannot be used; the message says what is wrong, where, and what to do.
    TypeError
        For an option of files with data that are no files.
    ImportError
        If DuckDB is not installed, and files are to be read.

    Notes
    -----
    ``scan(X, y)`` of arrays is the problem of ``fit(X, y)``: ``coef_`` is per unit of a column. For
    files the encoder standardises numbers: ``coef_`` of a number is per standard deviation of its
    column, which ``encoder`` of the result knows, and the intercept is the score where all numbers
    are at their means. With ``standardise=False`` both are in the units of the files.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from separatrix import LogisticRegression
    >>> from separatrix.scale import scan
    >>> data = scan(*load_breast_cancer(return_X_y=True), block_rows=100)
    >>> LogisticRegression().fit(data).certificate_.status
    'optimal'

    Files are named, and so is the column to predict:

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "colours.csv")
    ...     _ = path.write_text("x,colour,y\\n1,red,0\\n2,blue,1\\n4,red,1\\n3,blue,0\\n")
    ...     data = scan(path, "y", cache=Path(folder, "cache"))
    ...     data.shape, list(data.feature_names)
    ((4, 3), ['x', 'colour=blue', 'colour=red'])
    """
    on_progress = _by_old_name(on_progress, reading)
    _require_parts(test_size, group, time, block_rows)
    marks = given_marks(missing)
    of_files = {
        "standardise": standardise,
        "test_size": test_size,
        "kinds": kinds,
        "missing": marks != DEFAULT_MISSING,
        "sql": sql,
        "reference": reference,
        "text": text,
        "min_frequency": min_frequency is not None,
        "terms": terms is not None,
        "formula": formula is not None,
        "encoder": encoder is not None,
        "drop_missing_target": drop_missing_target,
        "group": group,
        "time": time,
        "beside": beside,
        **dict.fromkeys(reading, True),
    }
    source, ignore, engine = _as_files(source, target, ignore, engine, cache)
    if _is_collection(source):
        from separatrix.scale.collections import of_collections

        _require_files(of_files, "Dask collections")
        own = {"quantity": bool(quantity), "ignore": ignore, "engine": engine}
        return of_collections(source, target, weight, memory=bytes_of(memory), **own)
    _require_known(reading)
    names = _names_of(source)
    if names is None and not _is_relation(source):
        if target is None or isinstance(target, str):
            raise DataError("scan(X, y) of arrays needs the labels y")
        _require_files({**of_files, "ignore": ignore}, "arrays")
        return _of_arrays(source, target, weight, bytes_of(memory), block_rows, bool(quantity))
    _require_column(weight)
    chosen, target = _terms_and_target(terms, formula, target)
    options = ScanOptions(
        target=target,
        weight=weight,
        memory=bytes_of(memory),
        cache=None if cache is None else os.fspath(cache),
        limit=0 if beside else None if cache_limit is None else limit_of(cache_limit),
        test_size=float(test_size),
        seed=int(seed),
        standardise=standardise is not False,
        kinds={**chosen.kinds, **(kinds or {}), **dict.fromkeys(ignore, "ignore")},
        missing=marks,
        sql=sql,
        reference=reference,
        text=dict(text or {}),
        min_frequency=min_frequency,
        terms=chosen if chosen.products else None,
        encoder=encoder,
        quantity=quantity,
        single=single,
        block_rows=block_rows,
        on_progress=on_progress,
        engine=engine,
        reading=reading,
        drop_missing_target=drop_missing_target,
        group=group,
        time=time,
        beside=beside,
        on_target=on_target,
    )
    return scan_files(source if names is None else names, options)


def _terms_and_target(terms: Any, formula: str | None, target: Any) -> tuple[Terms, Any]:
    """The terms that are given, none by default, and the target, which a formula may name."""
    chosen = terms_of(terms, formula) or Terms()
    if chosen.target is None:
        return chosen, target
    if target not in (None, chosen.target):
        raise DataError(f"target={target!r} and the formula {formula!r} name two columns")
    return chosen, chosen.target


def _by_old_name(
    on_progress: ProgressCallback | None, reading: dict[str, Any]
) -> ProgressCallback | None:
    """The callback, also where it is given by the name that it had; taken out of the options."""
    if "heard" not in reading:
        return on_progress
    if on_progress is not None:
        raise TypeError("scan takes on_progress or its old name heard, not both")
    warn("scan(heard=...) is called on_progress now; heard will be refused.", FutureWarning)
    found: ProgressCallback | None = reading.pop("heard")
    return found


def _require_parts(test_size: Any, group: Any, time: Any, block_rows: Any) -> None:
    """Raise DataError for parts of the rows, to hold out and in blocks, that there cannot be."""
    if not 0.0 <= float(test_size) < 1.0:
        raise DataError(f"test_size must be a share from 0 up to below 1, not {test_size!r}")
    if group is not None and time is not None:
        raise DataError("group and time both choose the rows to hold out: give one of them")
    if block_rows is not None and block_rows < 1:
        raise DataError(f"block_rows must be a whole number from 1, not {block_rows!r}")


def _require_known(reading: Mapping[str, Any]) -> None:
    unknown = next((name for name in reading if name not in _READING), None)
    if unknown is not None:
        raise TypeError(f"scan() has no parameter {unknown!r}")


def _require_column(weight: Any) -> None:
    if not (weight is None or isinstance(weight, str)):
        raise DataError("the weights of files are a column: give its name, weight='column'")


def _require_files(options: Mapping[str, Any], what: str) -> None:
    """Raise TypeError for an option that is set and that only files have a use for."""
    name = next((name for name, value in options.items() if value), None)
    if name == "standardise":
        raise TypeError(
            f"scan() of {what} does not support standardise=True; scale them first, for instance "
            "with sklearn.preprocessing.StandardScaler"
        )
    if name is not None:
        raise TypeError(f"scan() of {what} does not take {name!r}, which is for files and tables")


def _names_of(source: Any) -> list[str] | None:
    """The files that are named; None for anything else."""
    if isinstance(source, (str, os.PathLike)):
        return [os.fspath(source)]
    if not isinstance(source, (list, tuple)) or not source:
        return None
    named = all(isinstance(one, (str, os.PathLike)) for one in source)
    return [os.fspath(one) for one in source] if named else None


def _is_collection(source: Any) -> bool:
    """Whether this is a Dask collection, or a pair of two."""
    first = source[0] if isinstance(source, tuple) and len(source) == 2 else source
    return hasattr(first, "__dask_graph__")


def _as_files(
    source: Any, target: Any, ignore: Sequence[str], engine: Any, cache: Any
) -> tuple[Any, Sequence[str], Any]:
    """The files that a Dask collection is nothing but, what is left out of them, and the engine."""
    found = None
    if _is_collection(source) and isinstance(target, str):
        from separatrix.scale.collections import plain_read

        found = plain_read(source, engine, cache)
    if found is None:
        return source, ignore, engine
    names, left_out, engine = found
    return names, [*ignore, *left_out], engine


def _is_relation(source: Any) -> bool:
    """Whether DuckDB can read rows of an object that is neither a name nor an array."""
    kind = type(source)
    module = kind.__module__.split(".")[0]
    if module == "pyspark":
        raise DataError(
            "a Spark frame lies with Spark's workers: write it with frame.write.parquet(folder), "
            "and give scan() the folder"
        )
    return hasattr(source, "read") or (
        module in ("pyarrow", "duckdb", "_duckdb") and kind.__name__ not in ("Array",)
    )


def _of_arrays(
    X: Any, y: Any, weights: Any, memory: int, block_rows: int | None, quantity: bool = False
) -> BlockedData:
    from sklearn.utils import assert_all_finite, check_array, check_consistent_length, column_or_1d

    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False)
    require_finite(X)
    y = column_or_1d(y, dtype=np.float64) if quantity else column_or_1d(y)
    check_consistent_length(X, y)
    if quantity:
        require_finite(y[:, None], called="y")
    else:
        assert_all_finite(y, input_name="y")
        require_classes(y)
    weights = sample_weight_of(weights, X)
    classes, codes = None, y
    if not quantity:
        labels = encode(y, weights, None)
        classes, codes = labels.classes, labels.codes.astype(np.int32)
    design = as_design(X).merged()
    matrix, squares = design.matrix, design.row_squares()
    rows = Rows(matrix, codes, weights, squares)
    if block_rows is None:
        block_rows = rows_of_a_block(rows.nbytes / len(rows), design.n_features, memory)
    blocks = tuple(
        ArrayBlock(rows[piece], f"rows {piece.start + 1:,} to {piece.stop:,}")
        for piece in in_pieces(len(y), block_rows)
    )
    counts, totals = np.empty(0, dtype=np.int64), np.empty(0)
    if classes is not None:
        counts, totals = total_weights(blocks, len(classes))
    listed = None if classes is None else classes.tolist()
    arrays = (row_keys(design), codes, *(() if weights is None else (weights,)))
    return BlockedData(
        blocks,
        design.n_features,
        classes,
        counts,
        totals,
        fingerprint=sha256_of(repr((X.shape, str(X.dtype), listed, weights is None)), *arrays),
        sample=sample_of(blocks, sample_size(len(y), 8.0 * design.n_stored / len(y), memory)),
        single=matrix.dtype == np.float32,
        memory=memory,
    )
