"""Dask collections as row blocks: partitions of a frame and chunks of an array.

Rows stay on the cluster.  One pass finds out what no partition knows alone: how many rows there
are, the labels, the levels of the categories, means and deviations.  A second one encodes every
partition, where a worker keeps it; the cluster computes it anew where that worker is lost.
"""

from __future__ import annotations

import importlib.util
import math
import os
import pickle
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.data.design import as_design
from separatrix.data.digests import sha256_of
from separatrix.data.labels import codes_of, require_weights
from separatrix.data.validation import require_finite
from separatrix.exceptions import DataError, imported
from separatrix.messages import counted
from separatrix.scale.blocks import BlockedData, Rows
from separatrix.scale.dask_engine import (
    ClusterBlock,
    Dask,
    Held,
    settled,
)
from separatrix.scale.reading import ClusterReaders
from separatrix.scale.samples import drawn, joined, sample_size
from separatrix.tables import Encoder, Table
from separatrix.tables.placeholders import sentence
from separatrix.tables.statistics import (
    CategoryFacts,
    Facts,
    Numbers,
    category_facts,
    numbers_in,
)
from separatrix.tables.table import is_nothing, nearest, quote

# Arguments of dask.dataframe.read_parquet with which a frame is not what the files are.
_NOT_PLAIN = ("filters", "categories", "index", "storage_options", "_series")


def of_collections(
    source: Any,
    target: Any,
    weight: Any = None,
    *,
    memory: int,
    quantity: bool = False,
    ignore: Sequence[str] = (),
    engine: Dask | None = None,
) -> BlockedData:
    """Row blocks of a Dask frame and the name of its target, or of two Dask arrays.

    Parameters
    ----------
    source : dask.dataframe.DataFrame, dask.array.Array or tuple of two arrays
    target : str or dask.array.Array
    weight : str or dask.array.Array, optional
        Weights of the rows.
    memory : int
        Bytes that may be used here; the blocks lie on the cluster.
    quantity : bool
        Whether the target is a quantity, for regression.
    ignore : sequence of str
        Columns of a frame that are left out.
    engine : Dask, optional
        The engine of the cluster; by default that of the current client.

    Raises
    ------
    DataError
        For data that cannot be used, with partition and row.
    """
    engine = _engine(engine)
    if isinstance(source, tuple):
        source, target = source
    with engine.connected():
        if hasattr(source, "columns"):
            return _Frame(source, target, weight, quantity, ignore).blocked(engine, memory)
        return _Arrays(source, target, weight, quantity).blocked(engine, memory)


def plain_read(
    source: Any, engine: Dask | None, cache: Any
) -> tuple[list[str], list[str], Dask] | None:
    """The Parquet files that are all of a Dask frame, and their columns that it leaves out.

    The workers read such files themselves, and faster.  None for other collections, and where the
    workers do not share the folder of the cache, in which the rows would lie.
    """
    expression = getattr(source, "expr", None)
    if expression is None or importlib.util.find_spec("duckdb") is None:
        return None
    from dask.dataframe.dask_expr.io.parquet import ReadParquet

    read = expression.simplify()
    if not isinstance(read, ReadParquet) or any(read.operand(name) for name in _NOT_PLAIN):
        return None
    # A selection of partitions may be empty.
    if read.operand("_partitions") is not None:
        return None
    paths = read.operand("path")
    paths = [paths] if isinstance(paths, str) else paths
    if not (isinstance(paths, list) and all(isinstance(one, str) for one in paths)):
        return None
    stored, own = read._dataset_info["schema"].names, {str(name) for name in source.columns}
    if not own <= set(stored):
        # The names of folders are columns.
        return None
    engine = _engine(engine)
    if cache is not None:
        os.makedirs(cache, mode=0o700, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="separatrix-", dir=cache) as folder:
        if not ClusterReaders(engine, folder).shares_cache:
            return None
    return paths, [name for name in stored if name not in own], engine


def _engine(engine: Dask | None) -> Dask:
    if engine is not None:
        return engine
    try:
        return Dask(imported("distributed", "the Dask engine", extra="dask").default_client())
    except ValueError:
        raise DataError(
            "a Dask collection needs a cluster, and none is connected: create a distributed.Client "
            "first, or give scan(..., engine=Dask(client))"
        ) from None


def _part_of_target(y: np.ndarray, quantity: bool) -> Numbers | None:
    """The statistics of a quantity to predict in some rows."""
    return Numbers.of(y.astype(np.float64)) if quantity and len(y) else None


def _notes_of_target(name: str, parts: Sequence[Numbers | None]) -> tuple[str, ...]:
    """Return the notes on values of a quantity that may stand for missing ones."""
    known = [part for part in parts if part is not None]
    found = Numbers.merged(known).facts(name, exact=True).placeholders
    return tuple(str(sentence(name, one, target=True)) for one in found)


class _Collection:
    """The common part of frames and arrays: two passes over their pieces."""

    piece: str
    # The arguments of the functions of each piece.
    parts: list[tuple[Any, ...]]
    quantity: bool
    target: str = "y"
    look: Callable[..., dict[str, Any]]
    encode: Callable[..., Held]

    def settle(self, looked: Sequence[dict[str, Any]], classes: np.ndarray | None) -> Any:
        """The facts that the second pass needs, from those that the first one found."""
        raise NotImplementedError

    def details(self) -> dict[str, Any]:
        """Further facts about the data, by their names in :class:`BlockedData`."""
        return {}

    def blocked(self, engine: Dask, memory: int) -> BlockedData:
        places = [f"{self.piece} {k + 1:,}" for k in range(len(self.parts))]
        given = [(place, *part) for place, part in zip(places, self.parts, strict=True)]

        def computed(function: Callable[..., Any], plan: Any, some: Sequence[int]) -> list[Any]:
            """Futures, which go back to where the pieces come from."""
            packed = pickle.dumps(plan)
            return engine.computed(engine.calls(function, packed, [given[k] for k in some]))

        futures = computed(type(self).look, self._arguments(), range(len(given)))
        looked = engine.gathered(futures, "the collection")
        some = [k for k, one in enumerate(looked) if one["rows"]]
        n_rows = sum(one["rows"] for one in looked)
        if not some:
            raise DataError("the Dask collection has no rows")
        classes = None
        if not self.quantity:
            classes = _united([looked[k]["labels"] for k in some])
            if len(classes) < 2:
                raise DataError(
                    "the target of the Dask collection has "
                    f"{counted(len(classes), 'class')}; a classifier needs rows of at least two"
                )
        plan = self.settle([looked[k] for k in some], classes)
        known = self.details()
        of_target = _notes_of_target(self.target, [looked[k]["target"] for k in some])
        held = computed(type(self).encode, (plan, classes, self.quantity), some)
        n_classes = 0 if classes is None else len(classes)
        client = engine.client
        facts = engine.gathered(
            client.map(_facts, held, n_classes=n_classes, pure=False), "the collection"
        )
        n_stored = sum(one["n_stored"] for one in facts)
        share = min(1.0, sample_size(n_rows, 8.0 * n_stored / n_rows, memory) / n_rows)
        order = list(range(len(held)))
        sample = engine.gathered(
            client.map(_drawn, held, order, share=share, pure=False), "the collection"
        )
        header = repr((n_rows, [] if classes is None else classes.tolist()))
        return BlockedData(
            tuple(
                ClusterBlock(
                    future, looked[k]["rows"], one["n_stored"], one["nbytes"], place=places[k]
                )
                for k, future, one in zip(some, held, facts, strict=True)
            ),
            facts[0]["n_features"],
            classes,
            sum(one["counts"] for one in facts) if n_classes else np.empty(0, dtype=np.int64),
            sum(one["totals"] for one in facts) if n_classes else np.empty(0),
            source="a Dask collection",
            fingerprint=sha256_of(header, *(bytes.fromhex(one["digest"]) for one in facts)),
            sample=joined([one for one in sample if one is not None]),
            single=facts[0]["single"],
            memory=memory,
            engine=engine,
            **known | {"notes": (*known.get("notes", ()), *of_target)},
        )

    def _arguments(self) -> tuple[Any, ...]:
        """The arguments of the first pass."""
        return (self.quantity,)


def _united(labels: Sequence[np.ndarray]) -> np.ndarray:
    """The sorted labels of all pieces."""
    try:
        return np.unique(np.concatenate(labels))
    except TypeError:
        kinds = sorted({type(one).__name__ for some in labels for one in some.tolist()})
        raise DataError(
            f"the target mixes labels of several types ({', '.join(kinds)}); convert them to one "
            "type"
        ) from None


# --- on the workers -------------------------------------------------------------------------------


def _target(y: Any, w: Any, n: int, place: str, quantity: bool) -> tuple[np.ndarray, Any]:
    """The target of a piece and its weights, as arrays that can be used."""
    y = np.asarray(y)
    y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
    if y.ndim != 1 or len(y) != n:
        raise DataError(
            f"{place} has {n:,} rows, and a target of the shape {y.shape}; chunk both alike"
        )
    lacking = _lacking(y)
    if lacking.any():
        raise DataError(
            f"{place}, row {int(np.argmax(lacking)) + 1:,} has no target; leave such rows out"
        )
    if quantity:
        y = y.astype(np.float64)
        if not np.isfinite(y).all():
            row = int(np.argmin(np.isfinite(y)))
            raise DataError(f"{place}, row {row + 1:,}: the target is infinite; correct it")
    if w is None:
        return y, None
    try:
        w = np.asarray(w, dtype=np.float64)
        if w.shape != (n,) or not np.isfinite(w).all():
            raise ValueError("the weights must be finite numbers, one for each row")
        require_weights(w)
    except (TypeError, ValueError) as error:
        raise DataError(f"{place}: {error}") from None
    return y, w


def _lacking(y: np.ndarray) -> np.ndarray:
    """Whether each row lacks a label."""
    if y.dtype.kind == "f":
        return np.isnan(y)
    if y.dtype.kind != "O":
        return np.zeros(len(y), dtype=bool)
    # NaN is not equal to itself, and pandas' two have no truth.
    return np.array([is_nothing(v) or v != v for v in y], dtype=bool)


def _seen(y: np.ndarray, w: Any, quantity: bool) -> np.ndarray:
    """The labels of a piece; a weight of zero is no row."""
    if quantity:
        return np.empty(0)
    used = y if w is None else y[w > 0.0]
    try:
        return np.unique(used)
    except TypeError:
        # Labels of several types, which are reported once all are known.
        return np.array(list(dict.fromkeys(used.tolist())), dtype=object)


def _rows(matrix: Any, y: np.ndarray, w: Any, classes: np.ndarray | None) -> Held:
    """A piece as it is worked on."""
    # Squares, too, are those of rows that lie as they do anywhere else.
    matrix = settled(Rows(matrix, y)).matrix
    design = as_design(matrix).merged()
    target = y if classes is None else codes_of(y, classes).astype(np.int32)
    return Held(settled(Rows(design.matrix, target, w, design.row_squares())))


def _facts(held: Held, n_classes: int) -> dict[str, Any]:
    """Summarise an encoded piece."""
    rows = held.load()
    parts = [one for one in (rows.squares, rows.target, rows.weights) if one is not None]
    counts, totals = rows.totals(n_classes) if n_classes else (None, None)
    return {
        "n_features": int(rows.matrix.shape[1]),
        "n_stored": rows.n_stored,
        "nbytes": rows.nbytes,
        "single": bool(rows.matrix.dtype == np.float32),
        "counts": counts,
        "totals": totals,
        "digest": sha256_of(*parts),
    }


def _drawn(held: Held, k: int, share: float) -> Rows | None:
    """The rows of a piece that are drawn for the sample."""
    rows = held.load()
    index = drawn(len(rows), share, 0, k)
    return rows[index] if len(index) else None


# --- arrays ---------------------------------------------------------------------------------------


def _chunk(place: str, X: Any) -> Any:
    from sklearn.utils import check_array

    try:
        X = check_array(
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
            ensure_min_samples=0,
        )
        if X.shape[0]:
            require_finite(X)
    except ValueError as error:
        raise DataError(f"{place}: {error}") from None
    return X


def _look_at_chunk(plan: bytes, place: str, X: Any, y: Any, w: Any = None) -> dict[str, Any]:
    (quantity,) = pickle.loads(plan)
    X = _chunk(place, X)
    y, w = _target(y, w, X.shape[0], place, quantity)
    single = X.dtype == np.float32
    seen = {"rows": len(y), "labels": _seen(y, w, quantity), "single": single, "width": X.shape[1]}
    return {**seen, "target": _part_of_target(y, quantity)}


def _encode_chunk(plan: bytes, place: str, X: Any, y: Any, w: Any = None) -> Held:
    dtype, classes, quantity = pickle.loads(plan)
    X = _chunk(place, X).astype(dtype, copy=False)
    y, w = _target(y, w, X.shape[0], place, quantity)
    return _rows(X, y, w, classes)


class _Arrays(_Collection):
    """A Dask array, and others as long as it, in chunks of rows."""

    piece = "chunk"
    look = staticmethod(_look_at_chunk)
    encode = staticmethod(_encode_chunk)

    def __init__(self, X: Any, y: Any, w: Any, quantity: bool) -> None:
        if y is None or isinstance(y, str):
            raise DataError("scan(X, y) of a Dask array needs the labels as y")
        if X.ndim != 2:
            raise DataError(f"a Dask array of rows must have two dimensions, not {X.ndim}")
        if X.numblocks[1] > 1:
            # A row's numbers side by side.
            X = X.rechunk({1: -1})
        self.quantity = quantity
        columns = [X.to_delayed()[:, 0]]
        columns += [_along(X, one) for one in (y, w) if one is not None]
        self.parts = list(zip(*(column.tolist() for column in columns), strict=True))

    def settle(self, looked: Sequence[dict[str, Any]], classes: np.ndarray | None) -> Any:
        # As NumPy has it where some are of another type: with all digits.
        return np.float32 if all(one["single"] for one in looked) else np.float64


def _along(X: Any, y: Any) -> np.ndarray:
    """The pieces of a column that go with those of the rows."""
    import dask.array as da

    rows = X.chunks[0]
    known = not any(math.isnan(size) for size in rows)
    if hasattr(y, "to_dask_array"):
        y = y.to_dask_array()
    if not hasattr(y, "to_delayed"):
        y = np.asarray(y)
        if not known:
            raise DataError(
                "the lengths of the chunks are unknown, so the target must also be a Dask array"
            )
        if y.shape[:1] != X.shape[:1]:
            raise DataError(f"there are {X.shape[0]:,} rows and {len(y):,} targets")
        y = da.from_array(y, chunks=(rows, *y.shape[1:]))
    elif known and y.chunks[0] != rows and not any(math.isnan(size) for size in y.chunks[0]):
        if y.shape[0] != X.shape[0]:
            raise DataError(f"there are {X.shape[0]:,} rows and {y.shape[0]:,} targets")
        y = y.rechunk({0: rows})
    if y.numblocks[0] != len(rows):
        raise DataError(
            f"the rows are in {len(rows):,} chunks of unknown length and the targets in "
            f"{y.numblocks[0]:,}; chunk both alike, or call compute_chunk_sizes()"
        )
    pieces: np.ndarray = y.to_delayed().reshape(len(rows), -1)[:, 0]
    return pieces


# --- frames ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Roles:
    """The roles of the columns of a frame."""

    kinds: Mapping[str, str]
    target: str
    weight: str | None
    quantity: bool

    def table(self, place: str, part: Any) -> Table:
        columns = {name: np.asarray(part[name]) for name in self.kinds}
        return Table.from_columns(columns, kinds=dict(self.kinds), source=place)

    def target_of(self, place: str, part: Any) -> tuple[np.ndarray, Any]:
        w = None if self.weight is None else part[self.weight]
        return _target(part[self.target], w, len(part), place, self.quantity)


def _look_at_partition(plan: bytes, place: str, part: Any) -> dict[str, Any]:
    (roles,) = pickle.loads(plan)
    y, w = roles.target_of(place, part)
    seen: dict[str, Any] = {"rows": len(y), "labels": _seen(y, w, roles.quantity)}
    seen["target"] = _part_of_target(y, roles.quantity)
    if not len(y):
        return seen
    table = roles.table(place, part)
    for name, kind in table.kinds.items():
        of = numbers_in if kind == "number" else category_facts
        seen[f"column {name}"] = of(table, name)
    return seen


def _encode_partition(plan: bytes, place: str, part: Any) -> Held:
    (encoder, roles, single), classes, _ = pickle.loads(plan)
    y, w = roles.target_of(place, part)
    matrix = encoder.transform(roles.table(place, part))
    return _rows(matrix.astype(np.float32) if single else matrix, y, w, classes)


class _Frame(_Collection):
    """A Dask frame, of which one column is the target."""

    piece = "partition"
    look = staticmethod(_look_at_partition)
    encode = staticmethod(_encode_partition)

    def __init__(
        self, frame: Any, target: Any, weight: Any, quantity: bool, ignore: Sequence[str] = ()
    ) -> None:
        columns = [str(name) for name in frame.columns]
        for what, name in (("target", target), ("weight", weight)):
            if what == "weight" and name is None:
                continue
            if not isinstance(name, str) or name not in columns:
                hint = nearest(name, columns, 0.7) if isinstance(name, str) else ""
                raise DataError(
                    f"{what}={name!r} is not a column of the Dask frame, which has "
                    f"{', '.join(map(quote, columns[:8]))}{', ...' if columns[8:] else ''}{hint}"
                )
        kinds, single = {}, True
        self.flags = {n for n, one in zip(columns, frame.dtypes, strict=True) if one.kind == "b"}
        for name, dtype in zip(columns, frame.dtypes, strict=True):
            if name not in (target, weight, *ignore):
                kinds[name] = _kind(name, dtype)
                single &= kinds[name] != "number" or dtype.itemsize <= 4
        if not kinds:
            raise DataError("the Dask frame has no column besides its target")
        self.roles, self.quantity, self.single = (
            _Roles(kinds, target, weight, quantity),
            quantity,
            single and "number" in kinds.values(),
        )
        self.target = target
        self.parts = [(one,) for one in frame.to_delayed()]

    def _arguments(self) -> tuple[Any, ...]:
        return (self.roles,)

    def settle(self, looked: Sequence[dict[str, Any]], classes: np.ndarray | None) -> Any:
        facts: list[Facts] = []
        for name, kind in self.roles.kinds.items():
            seen = [one[f"column {name}"] for one in looked]
            if kind == "number":
                usual = name not in self.flags
                facts.append(Numbers.merged(seen).facts(name, exact=False, usual=usual))
            else:
                facts.append(CategoryFacts.merged(name, seen))
        self.encoder = Encoder().fit_statistics(facts, source="the Dask frame")
        return self.encoder, self.roles, self.single

    def details(self) -> dict[str, Any]:
        names = tuple(self.encoder.feature_names_)
        notes = tuple(map(str, self.encoder.alerts_))
        return {"encoder": self.encoder, "feature_names": names, "notes": notes}


def _kind(name: str, dtype: Any) -> str:
    """The kind that a column of a frame is read as."""
    if dtype.kind in "biuf":
        return "number"
    if dtype.kind in "mM":
        raise DataError(
            f"column {quote(name)} of the Dask frame holds dates; convert them to numbers or "
            "categories, or leave it out"
        )
    return "category"
