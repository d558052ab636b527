"""Reading by commands: the table of a fit, a model file, and tables as that model needs them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from separatrix._compiled import memory
from separatrix.assessment.decision import PROBABILITY, SCORE, Decision, positive_of
from separatrix.assessment.provenance_checks import known_origin
from separatrix.assessment.rows import both_parts, labelled
from separatrix.assessment.scoring import gives_probabilities
from separatrix.cli.options import TableOptions
from separatrix.cli.output import Output, reading_bar
from separatrix.data.digests import sha256_of
from separatrix.exceptions import DataError, ModelFileError
from separatrix.messages import counted
from separatrix.persistence.model_file import StoredModel, load_model
from separatrix.tables import DEFAULT_MISSING, Encoder, Table, read_table, take_target
from separatrix.tables.reader import OPTIONS
from separatrix.tables.roles import Roles
from separatrix.tables.table import STRUCTURE, NoSuchColumn

# Commands import row blocks where a table is read in passes.
if TYPE_CHECKING:
    from separatrix.scale.blocks import BlockedData
    from separatrix.scale.engines import Engine

# ----------------------------------------------------------------------------- tables to learn from


def marks_of(config: Mapping[str, Any]) -> frozenset[str]:
    """The texts that stood for missing values when a table was read, as its record has them."""
    if config.get("missing_marks"):
        return frozenset(config["missing_marks"])
    # Earlier versions did not add the usual marks to numbers.
    return frozenset(config.get("missing") or DEFAULT_MISSING)


def read_training_table(
    options: TableOptions,
    marks: frozenset[str] | None = None,
    *,
    most_rows: int | None = None,
    together: str | None = None,
    described: bool = False,
) -> Table:
    """Read the table of a fit; the marks for missing values may be those of an earlier one.

    ``most_rows`` and ``together``: as in :func:`read_table`.  ``described``: the table is only
    described, so that it needs no target.
    """
    target = options.target or "target"
    try:
        table = read_table(
            options.data,
            missing=marks or options.missing or DEFAULT_MISSING,
            kinds={**options.kinds, **dict.fromkeys(options.ignore, "ignore")},
            target=target,
            ignore_unusable=options.ignore_unusable,
            ordered=options.ordered,
            needed=() if described and options.target is None else (target,),
            most_rows=most_rows,
            together=together,
            **{name: getattr(options, name) for name in OPTIONS},
        )
    except NoSuchColumn as error:
        if options.target is not None:
            raise
        raise _no_target(error.names, error.source) from None
    if not options.drop_missing_target or (described and target not in table.columns):
        return table
    return table.drop_missing(target_name(table, options.target))


def given_now(options: Any) -> dict[str, str]:
    """The options of a command that take the place of those of the fit of a model."""
    names = ("unpacked_limit", *STRUCTURE)
    return {name: value for name in names if (value := getattr(options, name, None)) is not None}


def read_again(stored: StoredModel, options: Any, *, keep: str | None = None) -> Table:
    """Read a table with the options of the fit that made a model, but for those given now.

    ``keep``: a column that is read although the fit left it out.
    """
    config = stored.provenance["config"]
    columns = {name: config[name] for name in ("kinds", "ignore", "missing")}
    columns["ignore"] = [name for name in columns["ignore"] if name != keep]
    columns["kinds"] = {name: kind for name, kind in columns["kinds"].items() if name != keep}
    # Files of earlier versions do not have these.
    columns |= {name: config.get(name) for name in OPTIONS}
    columns |= given_now(options)
    for name in ("drop_missing_target", "ignore_unusable"):
        columns[name] = bool(config.get(name))
    columns["ordered"] = config.get("ordered") or {}
    columns["target"] = stored.provenance["target"]
    return read_training_table(TableOptions(data=options.data, **columns), marks_of(config))


def target_name(table: Table, given: str | None) -> str:
    """The column to predict: the one named, or ``target``."""
    if given is not None:
        return given
    if "target" in table.columns:
        return "target"
    raise _no_target(table.names, table.source)


def _no_target(names: Sequence[str], source: str) -> DataError:
    """Return the error of a table in which no column to predict was named."""
    known = ", ".join(repr(name) for name in names[-20:])
    last = "the last of its columns are" if len(names) > 20 else "its columns are"
    return DataError(
        f"{source} has no column 'target': name the column to predict with --target "
        f"({last} {known})"
    )


@dataclass(frozen=True, eq=False)
class LabelledTable:
    """A table and the column to predict, which was taken out of it.

    Attributes
    ----------
    table : Table
    name : str
        The name of that column.
    features : Table
        The other columns.
    y : ndarray of shape (n_rows,)
        The labels, or a quantity as float64.
    roles : Roles
        The weights, groups and times of the rows.
    """

    table: Table
    name: str
    features: Table
    y: np.ndarray
    roles: Roles

    def report(
        self,
        out: Output,
        encoder: Encoder,
        *,
        lines: Mapping[str, str | None] | None = None,
        alerts: Iterable[str] = (),
    ) -> None:
        """Print what was read, `lines` by their labels, and what was noticed on the way."""
        out.report("read", describe_table(self.features, encoder))
        for label, text in (lines or {}).items():
            if text is not None:
                out.report(label, text)
        report_notes(out, self.table, (*self.features.alerts, *alerts))


def report_notes(out: Output, table: Table, alerts: Iterable[str]) -> None:
    """Print how a table was read, and what was noticed on the way."""
    for note in table.notes:
        out.note(note)
    report_alerts(out, (*table.alerts, *alerts))


def report_alerts(out: Output, alerts: Iterable[str]) -> None:
    """Print what was noticed on the way, each once."""
    for alert in dict.fromkeys(alerts):
        # A value that ends a long tail may well be right.
        doubtful = getattr(alert, "code", "") in ("placeholder_named", "zero_named")
        (out.note if doubtful else out.warn)(alert)


def describe_table(features: Table, encoder: Any) -> str:
    """A line about what a table of features has."""
    if not encoder.fitted:
        columns = counted(len(features.names), "column")
        return f"{counted(features.n_rows, 'row')}, {columns}: none of them can be used"
    count = encoder.n_missing(features)
    missing = f"; {count:,} missing" if count else ""
    columns = f"{counted(len(_counted_columns(features, encoder)), 'column')}: "
    columns = columns if features.names else ""
    return (
        f"{counted(features.n_rows, 'row')}, {columns}{encoder.summary_}{missing} -> "
        f"{counted(len(encoder.feature_names_), 'feature')}"
    )


def _counted_columns(features: Table, encoder: Any) -> list[str]:
    """The columns that the kinds of an encoding add up to.

    A column that is taken apart counts as its parts, and a part counts where it has a feature.
    """
    apart = {name for name, one in features.spellings.items() if one.parts}
    unused = set(features.derived) - set(encoder.kinds_)
    return [name for name in features.names if name not in apart | unused]


# ----------------------------------------------------------- tables for exact statements about them


@dataclass(frozen=True, eq=False)
class RawTable(LabelledTable):
    """A labelled table, encoded with its numbers as they are."""

    encoder: Encoder
    X: Any

    @property
    def names(self) -> list[str]:
        """The names of the columns of the matrix."""
        return self.encoder.feature_names_

    @property
    def digest(self) -> str:
        """SHA-256 over the numbers of the matrix, dense or CSR."""
        X = self.X
        parts = (X.indptr, X.indices, X.data) if hasattr(X, "indptr") else (X,)
        alike = (part.astype("<f8" if part.dtype.kind == "f" else "<i8") for part in parts)
        return sha256_of(repr((type(X).__name__, tuple(map(int, X.shape)))), *alike)


def encode_raw(table: Table, target: str | None) -> RawTable:
    """Take out the labels, in the column that was named, and encode the rest."""
    target = target_name(table, target)
    features, y = take_target(table, target)
    encoder = Encoder(standardise=False).fit(features)
    X = encoder.transform(features)
    return RawTable(table, target, features, y, Roles(), encoder, X)


# --------------------------------------------------------------------------- models, and their rows


def load_for_tables(path: str) -> StoredModel:
    """Load a model that can be applied to tables, with what commands know of its origin."""
    stored = load_model(path)
    stored = replace(stored, provenance=known_origin(stored.provenance))
    if stored.encoder is None:
        raise ModelFileError(
            f"'{path}' was saved without an encoder, so it takes matrices instead of tables: use "
            "it from Python"
        )
    return stored


def _reading(stored: StoredModel, options: Any) -> dict[str, Any]:
    """The options for reading the table that a command names: its own, else those of the fit."""
    config = stored.provenance.get("config") or {}
    return {
        "missing": getattr(options, "missing", None) or marks_of(config),
        # A query was over the table of the fit, and another file has other lines.
        **{
            name: getattr(options, name, None) or (None if name in STRUCTURE else config.get(name))
            for name in OPTIONS
            if name != "sql"
        },
    }


def read_like_training(
    stored: StoredModel, options: Any, *, labels: str | None = None, most_rows: int | None = None
) -> Table:
    """Read a table; cells that meant missing when the model was fitted mean so again.

    ``options``: those of the command, which names the table.  ``labels``: the column without whose
    values rows may be left out.
    """
    target = stored.provenance.get("target")
    table = read_like(
        stored.encoder,
        options.data,
        target=target,
        most_rows=most_rows,
        **_reading(stored, options),
    )
    if labels in table.columns and _drops_missing_target(stored, options):
        return table.drop_missing(labels)
    return table


def _drops_missing_target(stored: StoredModel, options: Any) -> bool:
    """Whether rows without a target are left out, by an option or as in the fit."""
    config = stored.provenance.get("config") or {}
    own = getattr(options, "drop_missing_target", False)
    return bool(own or config.get("drop_missing_target"))


# The options for reading a table into memory that `scan` takes as well.
PASSED_ON = (
    *("decimal", "date_format", "delimiter", "encoding", "unpacked_limit"),
    *("ordered", "ignore_unusable", "keep_levels"),
    *STRUCTURE,
)

# A command's share of the machine's memory by default.
_SHARE = 0.5


def memory_of(given: str | None) -> int:
    """Bytes that a command may use: those of ``--memory``, else a share of the installed ones."""
    return int(_SHARE * memory.installed()) if given is None else memory.bytes_of(given)


def exceeds_memory(data: str, given: str | None, sql: str | None = None) -> bool:
    """Whether a table would take more memory than there is to be used, as far as files tell."""
    from separatrix.tables.estimating import bytes_in_memory

    return bytes_in_memory(data, sql=sql) > memory_of(given)


def engine_of(options: Any) -> AbstractContextManager[Engine | None]:
    """The engine of a command's passes, whose connection ends with the block."""
    if getattr(options, "engine", None) != "dask":
        return nullcontext()
    from separatrix.scale import Dask

    return Dask(options.scheduler)


def scan_by(config: Mapping[str, Any], data: str, target: str | None, **own: Any) -> BlockedData:
    """Row blocks of a table that is read as options say, of a command or of a model file."""
    from separatrix.scale import scan

    columns: dict[str, Any] = {name: config.get(name) for name in ("weight", "group", "time")}
    return scan(
        data,
        target,
        **columns,
        sql=config.get("sql"),
        drop_missing_target=bool(config.get("drop_missing_target")),
        ignore=tuple(config.get("ignore") or ()),
        **{name: value for name in PASSED_ON if (value := config.get(name))},
        **own,
    )


def held_out(data: BlockedData) -> BlockedData:
    """The rows of row blocks that are held out."""
    return replace(data, blocks=data.held, held=())


def blocks_like_training(
    out: Output, stored: StoredModel, options: Any, *, target: str | None = None, **by: Any
) -> BlockedData:
    """Row blocks of a table, encoded as that of the fit was; without labels by default.

    Labelled rows count by the weights of the fit, where the table has that column.  ``by``: a
    column of groups or times that rows are to have beside them.
    """
    config = stored.provenance.get("config") or {}
    own = stored.provenance.get("target")
    reading = _reading(stored, options)
    with reading_bar(shown=not out.quiet) as on_progress:
        return scan_where_weighted(
            options.data,
            target,
            weight=None if target is None else config.get("weight"),
            memory=memory_of(options.memory),
            # The blocks are read once.
            cache_limit=0,
            ignore=[
                name
                for name in (own if target is None else None, config.get("group"))
                if name is not None and name not in by.values()
            ],
            drop_missing_target=target is not None and _drops_missing_target(stored, options),
            encoder=stored.encoder,
            quantity=None if target is None else not hasattr(stored.model, "classes_"),
            single=False,
            # Columns that the model does not use need not be usable.
            ignore_unusable=True,
            on_progress=on_progress,
            **by,
            **{name: value for name, value in reading.items() if value is not None},
        )


def scan_where_weighted(*given: Any, weight: str | None, **options: Any) -> BlockedData:
    """Row blocks with the weights of a column, which a table to measure on may lack."""
    from separatrix.scale import scan

    try:
        return scan(*given, weight=weight, **options)
    except NoSuchColumn as error:
        if weight is None or error.absent != weight:
            raise
        return scan(*given, **options)


# The number of rows that are read to be shown of a table that is too large.
SHOWN = 50_000
# With less DuckDB can put no rows in order.
_LEAST = 1 << 28


def sample_of(stored: StoredModel, options: Any) -> Table:
    """Read a sample of a table that does not fit in memory, the same rows each time."""
    labels = getattr(options, "target", None) or stored.provenance.get("target")
    with within_memory(options.memory):
        return read_like_training(stored, options, labels=labels, most_rows=SHOWN)


def training_sample(options: Any, most_rows: int = SHOWN, **chosen: Any) -> Table:
    """Read a sample of the table of a fit, the same rows each time; see `read_training_table`."""
    with within_memory(options.memory):
        return read_training_table(options, most_rows=most_rows, **chosen)


def columns_of_all(options: Any, sample: Table, n_rows: int) -> Iterator[Table]:
    """Read all rows of a table of which a sample was read, as many columns at a time as fit.

    Each time with the target, where there is one.  Nothing is read where the memory does not hold
    one column beside it.
    """
    from separatrix.tables.estimating import CELL

    target = options.target or "target"
    names = [name for name in sample.names if name not in sample.derived]
    others = [name for name in names if name != target]
    most = int(memory_of(options.memory) / (CELL * n_rows)) - (target in names)
    if most < 1:
        return
    for first in range(0, len(others), most):
        wanted = others[first : first + most]
        ignored = (*options.ignore, *(name for name in others if name not in wanted))
        with within_memory(options.memory):
            yield read_training_table(replace(options, ignore=ignored), described=True)


@contextmanager
def within_memory(given: str | None) -> Iterator[None]:
    """Keep DuckDB within the memory of ``--memory`` inside the ``with`` statement."""
    from separatrix.tables.source_files import limited

    with (
        tempfile.TemporaryDirectory(prefix="separatrix-") as folder,
        limited(max(memory_of(given) // 2, _LEAST), Path(folder)),
    ):
        yield


def blocks_of_fit(out: Output, stored: StoredModel, options: Any) -> BlockedData:
    """Row blocks of the table of a fit in passes, with the same rows held out."""
    config, origin = stored.provenance["config"], stored.provenance
    own = (origin["target"], config.get("weight"))
    with reading_bar(shown=not out.quiet) as on_progress:
        return scan_by(
            {**config, **given_now(options)},
            options.data,
            origin["target"],
            # Another amount than at the fit makes other blocks, with the same fingerprint.
            memory=memory_of(options.memory),
            # The blocks are read once or twice.
            cache_limit=0,
            test_size=origin["split"]["test_size"],
            seed=origin["split"]["seed"],
            missing=marks_of(config),
            encoder=stored.encoder,
            quantity=bool(origin.get("quantity")),
            # The encoder knows the kinds of the features.
            kinds={name: kind for name, kind in (config.get("kinds") or {}).items() if name in own},
            on_progress=on_progress,
        )


def read_like(
    encoder: Encoder, data: str, *, missing: Iterable[str], target: str | None, **options: Any
) -> Table:
    """Read a table like the one that an encoder was fitted to."""
    # Names that all look like numbers in this file would lose their spelling (01 and 1 become one),
    # so they are read as what they were. Numbers are read by their looks: dates are numbers too.
    spellings = encoder.spellings_
    kinds = {
        name: kind
        for name, kind in encoder.kinds_.items()
        if kind != "number" and name not in spellings
    }
    return read_table(
        data,
        missing=missing,
        kinds=kinds,
        skip_absent=True,
        target=target,
        spellings=spellings,
        # Columns that the model does not use need not be usable.
        ignore_unusable=True,
        **options,
    )


def target_of(stored: StoredModel, given: str | None) -> str:
    """The column that a model predicts: the one named, or the one that its file records."""
    target: str | None = given or stored.provenance.get("target")
    if target is None:
        raise DataError(
            "the model file does not record the name of its target: give it with --target"
        )
    return target


def decision_of(stored: StoredModel, threshold: float | None) -> Decision | None:
    """The score from which a row is of the positive class: as given, or as in the fit."""
    if threshold is None:
        return Decision.of(stored.provenance, stored.model)
    classes: Any = getattr(stored.model, "classes_", ())
    if len(classes) != 2:
        raise click.UsageError("--threshold needs a model of two classes")
    positive = positive_of(stored.provenance, stored.model)
    scale = PROBABILITY if gives_probabilities(stored.model) else SCORE
    require_threshold(threshold, scale)
    return Decision(classes[1].item() if positive is None else positive, threshold, scale)


def require_threshold(threshold: float, scale: str) -> None:
    """Refuse a threshold of probabilities that is none."""
    if scale == PROBABILITY and not 0.0 <= threshold <= 1.0:
        raise click.UsageError(
            f"--threshold {threshold:g} is not a probability, with which it is compared: give a "
            "number from 0 to 1"
        )


def encode(out: Output, stored: StoredModel, features: Table) -> Any:
    """Turn a table into the model's features, and warn of what does not match."""
    X = stored.encoder.transform(features)
    _warn_of_notes(out, stored, features)
    return X


def encoded_blocks(
    out: Output, stored: StoredModel, features: Table
) -> Iterator[tuple[slice, Any]]:
    """:func:`encode` a few rows at a time, each time with the rows that they are."""
    for rows, X in stored.encoder.blocks(features):
        if rows.start == 0:
            _warn_of_notes(out, stored, features)
        yield rows, X


def _warn_of_notes(out: Output, stored: StoredModel, features: Table) -> None:
    for note in (*features.notes, *features.alerts, *stored.encoder.notes_):
        out.warn(note)


def rows_of_fit(
    stored: StoredModel, table: Table
) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray | None]:
    """The rows of the table of a fit that were fitted.

    Returns
    -------
    X : matrix
        The encoded rows.
    y : ndarray
    numbers : ndarray of int
        The numbers of the rows in the table, from 1.
    weights : ndarray or None
        The weights of the rows, where a column has them.
    """
    found = labelled(stored, table, stored.provenance["target"])
    rows = both_parts(stored, found)[0]
    weights = None if found.roles.weights is None else found.roles.weights[rows]
    X = stored.encoder.transform(found.features.select(rows))
    return X, found.y[rows], rows + 1, weights
