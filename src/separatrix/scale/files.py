"""Files to row blocks: what columns add up to, and then their rows, encoded into a cache."""

from __future__ import annotations

import contextlib
import getpass
import hashlib
import json
import os
import re
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from separatrix._compiled import pool
from separatrix.data.atomic_files import sweep
from separatrix.data.design import Tuning
from separatrix.data.digests import sha256_of
from separatrix.exceptions import DataError, ModelFileError
from separatrix.messages import (
    Message,
    Parameter,
    Setting,
    counted,
    of_record,
    plural,
    record_of,
)
from separatrix.scale.blocks import (
    BLOCK_ROWS,
    Block,
    BlockedData,
    Rows,
    in_pieces,
    rows_of_a_block,
)
from separatrix.scale.column_pairs import alert_about_blocks
from separatrix.scale.dask_engine import Dask
from separatrix.scale.encoding import (
    EncodingPlan,
    RowRange,
    SourceBlock,
    SourceColumn,
    SourceFile,
    Stage,
    at_least,
    contents_of,
    digest_of,
    row_ranges,
)
from separatrix.scale.facts import RowDigest
from separatrix.scale.plans import KeptPlan
from separatrix.scale.reading import (
    ClusterReaders,
    LocalReaders,
    Readers,
    Session,
    cursor,
)
from separatrix.scale.samples import drawn, sample_size
from separatrix.scale.statistics import (
    ReadLevels,
    Statistics,
    cut_of_highest,
    described,
    is_number,
    merged_numbers,
)
from separatrix.scale.storage import (
    StoredBlock,
    cache_file,
    read_record,
    unwritable,
    write_block,
    write_record,
)
from separatrix.tables import Encoder, Table, looks_like_quantity, take_quantity, take_target
from separatrix.tables import source_files as files
from separatrix.tables.column_parts import source_of
from separatrix.tables.date_parts import part_of
from separatrix.tables.lake import is_address, status_of
from separatrix.tables.placeholders import Placeholders, of_values, sentence
from separatrix.tables.reader import (
    Layout,
    column_notes,
    find_files,
    no_rows,
    open_files,
    split_name,
)
from separatrix.tables.statistics import Numbers
from separatrix.tables.table import (
    NoSuchColumn,
    fault_of_role,
    joined,
    missing_mask,
    no_value,
    number_text,
    quote,
    unknown_columns,
)
from separatrix.tables.target import BLANK, one_label_or_none
from separatrix.tables.terms import Terms

# The format of caches: one in another format is written anew.
_FORMAT = 8
# The bytes that the libraries take before there are any rows.
_LIBRARIES = 260_000_000
# DuckDB may take from the first to the second share of the memory that is left, and a stretch of
# rows the third.
_READING, _MOST_READING, _RANGE = 0.2, 0.45, 1.0 / 16.0
# The share for a stretch that is predicted, beside which there is nothing else.
_PREDICTED_RANGE = 0.25
# DuckDB does not run with less.
_LEAST_READING = 64_000_000
# The bytes that a reader takes for every column.
_COLUMN_READING = 600_000
_MANIFEST, _ENCODING, _PLAN = "manifest.json", "encoding.safetensors", "plan.checked"
# More different numbers than these are no classes.
_MOST_CLASSES = 10_000


@dataclass(frozen=True)
class ScanOptions:
    """The options of :func:`~separatrix.scale.scan` for files."""

    target: str | None
    weight: str | None
    memory: int
    cache: str | None
    limit: int | None
    test_size: float
    seed: int
    standardise: bool
    kinds: Mapping[str, str]
    missing: tuple[str, ...] | frozenset[str]
    sql: str | None
    reference: bool
    text: Mapping[str, Any]
    min_frequency: int | None
    encoder: Encoder | None
    quantity: bool | None
    single: bool
    block_rows: int | None
    on_progress: Any
    engine: Any
    reading: Mapping[str, Any]
    drop_missing_target: bool = False
    group: str | None = None
    time: str | None = None
    beside: bool = False
    on_target: Callable[[np.ndarray | None], Mapping[str, bool] | None] | None = None
    terms: Terms | None = None

    def settled(self, classes: np.ndarray | None) -> ScanOptions:
        """The options once the classes of the target are known; these are None for a quantity."""
        if self.on_target is None or self.target is None:
            return self
        own: dict[str, Any] = {**(self.on_target(classes) or {})}
        return replace(self, **own)

    @property
    def predicts(self) -> bool:
        """Whether rows without labels are encoded as those of a fit were, and none is held out."""
        labelled = self.target is not None or self.weight is not None
        return self.encoder is not None and not labelled and self.test_size == 0.0

    @property
    def available(self) -> float:
        """Bytes beside those of the libraries."""
        return max(self.memory - _LIBRARIES, self.memory / 8)

    @property
    def reading_memory(self) -> int:
        """The bytes that DuckDB may take."""
        return max(int(self.available * _READING), _LEAST_READING)

    def report(self, stage: str, rows: int, n_rows: int) -> None:
        if self.on_progress is not None:
            self.on_progress(stage, rows, n_rows)

    def identity(self) -> str:
        """The digest of the options that decide how rows are encoded."""
        settings = {
            name: getattr(self, name)
            for name in (
                *("target", "weight", "memory", "test_size", "seed", "standardise"),
                *("sql", "reference", "quantity", "single", "block_rows"),
            )
        }
        settings |= {
            name: value
            for name in ("drop_missing_target", "group", "time", "beside")
            if (value := getattr(self, name))
        }
        complete = isinstance(self.missing, frozenset)
        settings["missing"] = complete, tuple(sorted(self.missing) if complete else self.missing)
        # Blocks that are decoded on every pass need files that are removed once rows are stored.
        settings["decodes"] = self.limit == 0
        settings["coding"] = sorted(self.text.items(), key=str), self.min_frequency
        if self.terms is not None:
            settings["terms"] = repr(self.terms)
        reading = sorted((name, repr(value)) for name, value in self.reading.items())
        text = repr((_FORMAT, settings, sorted(self.kinds.items()), reading))
        if self.encoder is None:
            return sha256_of(text)
        meta, arrays = self.encoder.state()
        numbers = [arrays[name] for name in sorted(arrays)]
        return sha256_of(text, json.dumps(meta, sort_keys=True), *numbers)


def scan_files(source: Any, options: ScanOptions) -> BlockedData:
    """Row blocks of files, or of what DuckDB can read."""
    root = _root(options)
    with contextlib.ExitStack() as stack:
        if not isinstance(source, list):
            source = [_written(source, root, stack, options)]
        # The names of folders below a folder that was given are columns.
        folders = [os.path.abspath(name) for name in source if os.path.isdir(name)]
        key = sha256_of(f"{options.identity()} {_files_of(source)!r} {folders!r}")
        folder = root / key[:32]
        found = _remembered(folder, options)
        if found is not None:
            return found
        _make_folder(folder)
        stack.enter_context(_alone(folder))
        # Another process may have written them while this one waited.
        found = _remembered(folder, options)
        if found is not None:
            return found
        _sweep(folder)
        scratch = _scratch(folder, stack)
        readers: Readers = LocalReaders(max(pool.n_threads(), 1))
        start = partial(_Scan, options, root, folder, scratch)
        if isinstance(options.engine, Dask):
            there = ClusterReaders(options.engine, str(scratch))
            if options.sql is None and not options.drop_missing_target and _are_parquet(source):
                layout = _laid_out_there(there, source, options, folder)
                return start(there, None, layout).data()
            # Files that this process converts first are read by workers that see its folder.
            readers = there if there.shares_cache else readers
        with files.limited(options.reading_memory, scratch):
            data = open_files(
                source,
                lambda *found: start(readers, *found).data(),
                stack,
                **_reading_options(options),
            )
        if data is None:
            what = "standard input" if source[0] == "-" else source[0]
            raise DataError(Message("memory_only", what=what))
        return data


def _are_parquet(names: Sequence[str]) -> bool:
    """Whether all files that names and patterns stand for are Parquet files."""
    paths = [path for path, _, _ in _files_of(names)]
    return all(path.lower().endswith(".parquet") for path in paths)


def _laid_out_there(
    readers: Readers, names: Sequence[str], options: ScanOptions, folder: Path
) -> Layout:
    """The layout of Parquet files as a worker finds it, by the names that they have here."""
    session = Session(uuid.uuid4().hex, options.reading_memory, str(folder), 1)
    # A worker has another working folder; an absolute pattern stands for the same files there.
    absolute = [name if is_address(name) else os.path.abspath(name) for name in names]
    try:
        (layout,) = readers.map(_layout_of, session, [(absolute, _reading_options(options))])
    finally:
        readers.close(session)
    here = f"{os.getcwd()}{os.sep}"
    if not any(os.path.isabs(name) for name in names):
        for part in layout.parts:
            part.label = part.label.removeprefix(here)
        layout.source = layout.source.removeprefix(here)
    return layout


def _layout_of(session: Session, given: tuple[Sequence[str], dict[str, Any]]) -> Layout:
    names, options = given
    with contextlib.ExitStack() as stack, files.limited(session.memory, Path(session.folder)):
        layout = open_files(names, lambda _, layout: layout, stack, **options)
    assert layout is not None
    return layout


def _unmet(session: Session, layout: Layout) -> list[str]:
    """The message about marks for missing values that no cell has."""
    return layout.unmet(cursor(session))


def _reading_options(options: ScanOptions) -> dict[str, Any]:
    return {
        "missing": options.missing,
        "target": options.target,
        "sql": options.sql,
        # Columns of other roles are looked for by name, so that a message says what they are for.
        "needed": [] if options.target is None else [options.target],
        **_by_encoder(options),
    }


def _roles(options: ScanOptions) -> list[tuple[str, str]]:
    """The columns that the options name, with what each of them is."""
    roles = ("target", "weight", "group", "time")
    return [(name, role) for role in roles if (name := getattr(options, role)) is not None]


def _by_encoder(options: ScanOptions) -> dict[str, Any]:
    """Options of reading; with an encoder that was fitted, those that go with it."""
    reading, encoder = dict(options.reading), options.encoder
    if encoder is None:
        return {"kinds": options.kinds, **reading}
    # Numbers are read by their looks: a requested kind would keep them as they are written.
    own = {
        name: kind
        for name, kind in encoder.kinds_.items()
        if kind != "number" and name not in encoder.spellings_
    }
    spellings = {**encoder.spellings_, **(reading.pop("spellings", None) or {})}
    return {
        "kinds": {**own, **options.kinds},
        "skip_absent": True,
        "spellings": spellings,
        **reading,
    }


# --- the folder of caches -------------------------------------------------------------------------


def _root(options: ScanOptions) -> Path:
    if options.cache is not None:
        # A cluster's workers work in other folders.
        root = Path(options.cache).absolute()
    else:
        try:
            user = getpass.getuser()
        except (KeyError, OSError, ImportError):
            user = "user"
        root = Path(tempfile.gettempdir()) / f"separatrix-cache-{user}"
    _make_folder(root)
    owner = root.stat().st_uid
    if options.cache is None and hasattr(os, "getuid") and owner != os.getuid():
        raise DataError(f"{root} belongs to another user; give another folder for the cache")
    return root


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(path / "", error) from None


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """A context with a folder of its own: another scan of the same data waits, and finds them.

    The system lets go of the lock when a process ends, however it does.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    path = folder / "lock"
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise unwritable(path, error) from None
    try:
        # Not every network disk knows locks.
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def _scratch(folder: Path, stack: contextlib.ExitStack) -> Path:
    """A folder for what is removed in the end."""
    prefix = f"tmp-{os.getpid()}-"
    temporary = tempfile.TemporaryDirectory(prefix=prefix, dir=folder, ignore_cleanup_errors=True)
    return Path(stack.enter_context(temporary)).absolute()


def _sweep(folder: Path) -> None:
    """Remove what processes that are no more have left half done."""
    sweep(folder)
    for path in folder.glob("tmp-*"):
        found = re.match(r"tmp-(\d+)-", path.name)
        if found is not None and not _is_alive(int(found[1])):
            shutil.rmtree(path, ignore_errors=True)


def _is_alive(process: int) -> bool:
    if process == os.getpid() or os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _files_of(names: Sequence[str]) -> list[tuple[str, int, int]]:
    """Names, sizes and times of the files that some names, patterns and addresses stand for."""
    out = []
    for given in names:
        try:
            found = find_files(split_name(given)[0])
            every = [(path, status_of(path)) for path in found]
        except DataError:
            # It is reported where the files are opened.
            out.append((given, -1, -1))
            continue
        for path, status in every:
            name = os.path.abspath(path) if isinstance(path, Path) else str(path)
            out.append((name, status.st_size, status.st_mtime_ns))
    return out


def _written(relation: Any, root: Path, stack: contextlib.ExitStack, options: ScanOptions) -> str:
    """The name of a Parquet file with the rows of a relation; of a copy of an open file."""
    scratch = _scratch(root, stack)
    path = scratch / "rows.parquet"
    if hasattr(relation, "read"):
        suffix = _copied(relation, path)
        return _named(path, root, suffix)
    where = files.literal(str(path))
    duckdb = files.import_duckdb()
    try:
        if type(relation).__module__.startswith("pyarrow"):
            with files.limited(options.reading_memory, scratch):
                connection = stack.enter_context(contextlib.closing(files.connect()))
            connection.register("given", relation)
            connection.execute(f"COPY (SELECT * FROM given) TO {where} (FORMAT parquet)")
        else:
            relation.write_parquet(str(path))
    except duckdb.Error as error:
        raise DataError(f"the rows cannot be read: {str(error).splitlines()[0]}") from None
    return _named(path, root, ".parquet")


def _copied(file: Any, path: Path) -> str:
    """Copy an open file, and find its suffix: by its first bytes, its name, or as text."""
    with path.open("wb") as out:
        while data := file.read(1 << 20):
            out.write(data.encode() if isinstance(data, str) else data)
    with path.open("rb") as copy:
        start = copy.read(4)
    suffix = Path(str(getattr(file, "name", None) or getattr(file, "path", ""))).suffix
    return ".parquet" if start == b"PAR1" else suffix or ".csv"


def _named(path: Path, root: Path, suffix: str) -> str:
    """Name a file by what is in it, so that the same rows are found again."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    named = root / f"rows-{digest.hexdigest()[:32]}{suffix}"
    if not named.exists():
        os.replace(path, named)
    return str(named)


def _remembered(folder: Path, options: ScanOptions) -> BlockedData | None:
    """The data that lie in a folder, where all of them do."""
    try:
        data = (folder / _ENCODING).read_bytes()
        manifest = read_record(folder / _MANIFEST, format=_FORMAT, encoding=sha256_of(data))
        if manifest is None:
            return None
        encoder = Encoder.from_state(manifest["meta"], load(data))
    except (OSError, ModelFileError, SafetensorError):
        return None
    # The state of an encoder has their text alone, in Python's words.
    encoder.alerts_ = [*map(of_record, manifest["alerts"])]
    blocks = [
        StoredBlock(**{**one, "path": str(folder / one["path"])}) for one in manifest["blocks"]
    ]
    if not all(_is_there(block) for block in blocks):
        return None
    with contextlib.suppress(OSError):
        os.utime(folder / _MANIFEST)
    note = _note(blocks[: manifest["fit"]], "found in the cache")
    found = _blocked(manifest, blocks, encoder, options, note)
    options.settled(found.classes)
    return found


def _blocked(
    record: dict[str, Any],
    blocks: Sequence[Block],
    encoder: Encoder,
    options: ScanOptions,
    note: str,
) -> BlockedData:
    """The data in some blocks: those to fit, those held out, and at last that of the sample."""
    classes, n_fit, n_rest = record["classes"], record["fit"], record["fit"] + record["held"]
    return BlockedData(
        blocks=tuple(blocks[:n_fit]),
        n_features=encoder.n_features_,
        classes=None if classes is None else np.array(classes[1], dtype=classes[0]),
        class_rows=np.array(record["class_rows"], dtype=np.int64),
        class_totals=np.array(record["class_totals"], dtype=np.float64),
        held=tuple(blocks[n_fit:n_rest]),
        feature_names=tuple(encoder.feature_names_),
        encoder=encoder,
        source=record["source"],
        fingerprint=record["fingerprint"],
        sample=blocks[n_rest].load() if len(blocks) > n_rest else None,
        single=options.single,
        memory=options.memory,
        engine=options.engine,
        notes=(note, *map(of_record, record["notes"])),
    )


def _is_there(block: StoredBlock) -> bool:
    try:
        return os.stat(block.path).st_size == block.size
    except OSError:
        return False


def _size_of(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            total += path.stat().st_size
    return total


# --- one scan -------------------------------------------------------------------------------------


class _Scan:
    """A scan of files, step by step."""

    def __init__(
        self,
        options: ScanOptions,
        root: Path,
        folder: Path,
        scratch: Path,
        readers: Readers,
        connection: Any,
        layout: Layout,
    ) -> None:
        self.options, self.root, self.folder, self.scratch = options, root, folder, scratch
        self.readers, self.connection, self.layout = readers, connection, layout
        self.converted = options.drop_missing_target or any(
            part.suffix != ".parquet" for part in layout.parts
        )
        self.notes: list[str] = []
        self.spans: list[RowRange] = []
        # Columns that the table does not have as such: parts of its dates.
        self.derived: set[str] = set()
        self.stage: Stage | None = None
        self.resumed = ""
        self.dates_beside = False
        for name, what in _roles(options):
            if name not in layout.groups:
                if name in layout.parts[0].places:
                    raise DataError(f"column {quote(name)} is the {what}, so it cannot be ignored")
                role = None if what == "target" else what
                raise NoSuchColumn(name, layout.parts[0].names, layout.source, role)

    def data(self) -> BlockedData:
        options = self.options
        identity = sha256_of(repr((str(self.folder), uuid.uuid4().hex)))
        self.session = Session(identity, options.reading_memory, str(self.folder), 1)
        try:
            return self._data()
        except DataError:
            # The same rows are refused again: what was put aside for another scan is of no use.
            self._read_again()
            raise
        finally:
            self.readers.close(self.session)

    def _data(self) -> BlockedData:
        options = self.options
        kept = KeptPlan.read(self.folder / _PLAN, self.session)
        if kept is None:
            found = [*self.readers.map(described, self.session, self._sources())]
        else:
            found = [*zip(kept.plan.sources, map(list, kept.types), strict=True)]
        sources = [source for source, _ in found]
        n_rows = sum(source.n_rows for source in sources)
        if options.drop_missing_target and kept is None:
            self._note_left_out(sources)
        if n_rows == 0:
            raise no_rows(self.layout.source, self.layout.parts[0])
        # A reader holds a row group, and of every column what it is unpacking.
        each = 1.25 * max(source.largest for source in sources)
        each += _COLUMN_READING * (len(self.layout.groups) + 4)
        workers = max(1, min(pool.n_threads(), int(_MOST_READING * options.available / each)))
        reading = max(
            options.reading_memory,
            int(max(min(workers * each, _MOST_READING * options.available), each)),
        )
        self.session = replace(self.session, memory=reading, readers=workers)
        self.statistics = Statistics(
            self.readers,
            self.session,
            self.layout,
            found,
            options.memory,
            converted=self.converted,
            on_progress=lambda rows: options.report("statistics", rows, n_rows),
        )
        raw = self.statistics.row_bytes()
        self.statistics.row_ranges = row_ranges(sources, self._most(sources, raw))
        known = None if kept is None else self._known_plan(kept)
        if known is None:
            plan, labels = self._encoding_plan(sources)
            self._keep(plan, labels, [types for _, types in found])
        else:
            plan, labels = known
        width = self._row_bytes(plan)
        if options.block_rows is None:
            rows = rows_of_a_block(width, plan.encoder.n_features_, options.memory)
            self.options = replace(self.options, block_rows=rows)
        spans = self.spans or row_ranges(sources, self._most(sources, raw + width))
        if options.predicts:
            # Scores are then products of the same kind, with the same bits, as those of a table in
            # memory.
            spans = at_least(spans, -(-Tuning().own_products // max(plan.encoder.n_features_, 1)))
        stored = self.stage is not None or (
            self.readers.shares_cache and self._fits_cache(n_rows * width + 24.0 * n_rows)
        )
        return self._encoded(plan, labels, spans, n_rows, width, stored)

    def _most(self, sources: Sequence[SourceFile], row_bytes: float) -> int:
        """Rows of a stretch: of as many as two threads can have in memory.

        To read a part of a row group, all of it is unpacked, beside which a quarter is little; for
        predictions a half, because it is unpacked for each part anew.
        """
        largest = max(max(source.groups, default=0) for source in sources)
        share, part = (_PREDICTED_RANGE, 0.5) if self.options.predicts else (_RANGE, 0.25)
        rows = max(self.options.available * share / max(row_bytes, 1.0), largest * part)
        return int(max(min(rows, 4 * (self.options.block_rows or BLOCK_ROWS)), 256))

    # --- sources --------------------------------------------------------------------------------

    def _sources(self) -> list[tuple[str, str, int, bool]]:
        """The path of each file as it is read, and what :func:`described` is given beside it."""
        if self.connection is not None:
            self.connection.execute(f"SET threads = {max(pool.n_threads(), 1)}")
        out = []
        for k, part in enumerate(self.layout.parts):
            path = part.path
            if self.converted:
                path = self._converted(part, k)
            elif isinstance(path, Path) and self.scratch in path.absolute().parents:
                # Made on the way: kept for as long as blocks may be decoded from it.
                path = path.replace(self._own(k))
            columns = len(self.layout.groups) if self.converted else len(part.names)
            out.append((str(path.absolute()), part.label, columns, part.hive))
        return out

    def _own(self, k: int) -> Path:
        return self.folder / f"rows-{k:06d}.parquet"

    def _converted(self, part: files.Part, k: int) -> Path:
        """A file of text as a Parquet file of typed columns."""
        path = self._own(k)
        chosen = ", ".join(
            f"{self.layout.select(part, name, f'c{part.places[name]}')} AS f{j}"
            for j, name in enumerate(self.layout.groups)
        )
        rows = f"SELECT {chosen} FROM {part.relation()}"
        if self.options.drop_missing_target:
            rows = f"SELECT * FROM ({rows}) WHERE {self._has_target()}"
        sql = f"COPY ({rows}) TO {files.literal(str(path))} "
        part.run(
            self.connection,
            f"{sql} (FORMAT parquet, COMPRESSION lz4_raw, ROW_GROUP_SIZE 65536)",
            fetch=False,
        )
        return path

    def _has_target(self) -> str:
        """SQL for whether a row of a converted file has a target."""
        name = self.options.target
        f = f"f{list(self.layout.groups).index(name)}"  # type: ignore[arg-type]
        numbers = self.layout.groups[name] in ("integer", "number")  # type: ignore[index]
        return f"{f} IS NOT NULL" + (f" AND {is_number(f)}" if numbers else "")

    def _note_left_out(self, sources: Sequence[SourceFile]) -> None:
        """Note how many rows have no target and were left out."""
        relations = (part.relation() for part in self.layout.parts)
        counts = [
            part.run(self.connection, f"SELECT count(*) AS n FROM {relation}")["n"][0]
            for part, relation in zip(self.layout.parts, relations, strict=True)
        ]
        name, n_rows = str(self.options.target), sum(source.n_rows for source in sources)
        left_out = int(sum(counts)) - n_rows
        if left_out and not n_rows:
            raise no_value(name, self.layout.source)
        if left_out:
            self.notes.append(f"{counted(left_out, 'row')} without {quote(name)} left out")

    # --- the encoding plan ----------------------------------------------------------------------

    def _keep(
        self, plan: EncodingPlan, labels: np.ndarray | None, types: Sequence[Sequence[str]]
    ) -> None:
        """Leave what the first passes found to a process that has to go on from there."""
        kept = KeptPlan(
            plan,
            labels,
            types,
            self.spans,
            self.notes,
            self.derived,
            self._settled,
            self.dates_beside,
        )
        kept.write(self.folder / _PLAN)

    def _known_plan(self, kept: KeptPlan) -> tuple[EncodingPlan, np.ndarray | None] | None:
        """The plan that an earlier process left; None where the model needs another."""
        self.options = self.options.settled(kept.labels)
        if kept.settled != self._settled:
            return None
        self.notes, self.spans = [*kept.notes], [*kept.spans]
        self.derived, self.stage = {*kept.derived}, kept.plan.stage
        self.dates_beside = kept.dates_beside
        self.resumed = "; the facts of the first pass were there"
        plan = replace(kept.plan, session=self.session)
        if self.options.encoder is not None:
            plan = replace(plan, encoder=self.options.encoder)
        return plan, kept.labels

    @property
    def _settled(self) -> dict[str, bool]:
        """The options that the classes of the target settle."""
        return {name: getattr(self.options, name) for name in ("standardise", "reference")}

    def _encoding_plan(self, sources: list[SourceFile]) -> tuple[EncodingPlan, np.ndarray | None]:
        """The plan by which rows are encoded, and the classes."""
        options, known = self.options, self.statistics
        target, classes, codes, labels = self._target()
        self.options = options = options.settled(labels)
        weight = None
        if options.weight is not None:
            weight = known.column(options.weight)
            if weight.way == "levels":
                weight = known.of_levels(weight)[0]
            if weight.way == "levels" and weight.numbers is None:
                fault = f"column {quote(options.weight)} holds texts; name a column of numbers"
                raise DataError(fault_of_role("weight", options.weight, fault))
            known.spellings.pop(options.weight, None)
        names, extra = self._encoded_columns()
        encoder = Encoder(
            text=options.text or None,
            min_frequency=options.min_frequency,
            standardise=options.standardise,
            reference=options.reference,
            terms=options.terms,
        )
        encoder = encoder if options.encoder is None else options.encoder
        plan = EncodingPlan(
            sources=tuple(sources),
            columns=(),
            encoder=encoder,
            target=target,
            classes=classes,
            codes=codes,
            weight=weight,
            n_classes=0 if labels is None else len(labels),
            single=options.single,
            test_size=options.test_size,
            seed=options.seed,
            session=self.session,
            split=self._split(),
            beside=self._beside(),
        )
        read = self._read_once(plan, names)
        columns, facts = known.of_columns(names, encoder, read)
        if options.encoder is None:
            left_out = [name for name in self.layout.groups if name not in {*names, *self._apart}]
            encoder.fit_statistics(
                facts, source=self.layout.source, spellings=known.spellings, left_out=left_out
            )
        self.notes += [*dict.fromkeys([*self.layout.notes, *known.notes, *known.alerts])]
        if self.layout.options.given:
            self.notes += next(self.readers.map(_unmet, self.session, [self.layout]))
        self.notes += column_notes(self.layout.groups, self.layout.wanted, names)
        if extra:
            self.notes.append(unknown_columns(extra))
        used = {one.name for one in encoder.column_encodings}
        self.derived = {one.name for one in facts if one.derived}
        dates = {one.name for one in facts if one.derived and one.name in used}
        kept = [
            one
            for one in columns
            if one.name in used or any(name.startswith(f"{one.name} (") for name in dates)
        ]
        stage = self.stage
        return replace(plan, columns=tuple(kept), encoder=encoder, stage=stage), labels

    def _split(self) -> SourceColumn | None:
        """A column of whether rows are held out, by group or time; None where a hash decides it.

        Rows are put in the order of a number, that of their time or a hash of their group, and the
        last of them are held out; those of one number stay together.
        """
        options, known = self.options, self.statistics
        role, name = self._orders
        if name is None or options.test_size == 0.0:
            return None
        column = known.column(name)
        if column.way == "levels":
            return self._split_by_levels(column, role)
        values = [f"CAST({one} AS DOUBLE)" for one in column.sql]
        sql = list(values)
        if role == "group":
            texts = [f"concat('{options.seed}:', CAST({one} AS VARCHAR))" for one in column.sql]
            sql = [f"CAST(md5_number_upper({text}) AS DOUBLE)" for text in texts]
        there = map(is_number, values)
        sql = [f"CASE WHEN {has} THEN {one} END" for has, one in zip(there, sql, strict=True)]
        order = replace(column, way="number", sql=tuple(sql))
        self._require_split(role, name, known.first_missing(order))
        found = known.cut_of_highest(order, self._n_held())
        cut = f"'{self._require_cut(role, found)!r}'::DOUBLE"
        held = tuple(f"CAST({one} >= {cut} AS UTINYINT)" for one in sql)
        return replace(order, key=f"{order.key}_held", sql=held)

    def _split_by_levels(self, column: SourceColumn, role: str) -> SourceColumn:
        """A column of levels of which the numbers are 1 for those whose rows are held out.

        Levels are what they are read as: two ways to write a number, a date or a truth value are
        one group.
        """
        levels, _ = self.statistics.levels(column)
        column, labels = self._labelled(column, role)
        if role == "group":
            order = np.array([_drawn_number(self.options.seed, label) for label in labels])
        else:
            order = np.array(labels, dtype=np.float64)
        cut = self._require_cut(role, cut_of_highest(order, levels.counts, self._n_held()))
        return replace(column, numbers=np.append(order >= cut, np.nan).astype(np.float64))

    def _labelled(self, column: SourceColumn, role: str) -> tuple[SourceColumn, list[Any]]:
        """A column of levels that labels the rows, and the value that each level is read as."""
        known, name = self.statistics, column.name
        levels, _ = known.levels(column)
        column, facts, _ = known.of_levels(column)
        self.dates_beside = bool(getattr(facts, "date", False))
        labels: list[Any] = list(column.texts)
        if column.numbers is not None:
            labels = [None if np.isnan(x) else x for x in column.numbers[:-1].tolist()]
        lost = np.array([label is None for label in labels], dtype=bool)
        where = known.first_missing(column)
        if where is None and lost.any():
            where = known.place(int(levels.first[lost].min()))
        self._require_split(role, name, where)
        if role == "time" and column.numbers is None:
            value, kind = quote(labels[0]), Setting("kinds", (name, "date"))
            fault = Message("role_in_words", column=quote(name), value=value, what=role, kind=kind)
            raise DataError(fault_of_role(role, name, fault))
        return column, labels

    def _beside(self) -> SourceColumn | None:
        """The numbers of the groups or times of the rows, where rows are to have them."""
        role, name = self._orders
        if name is None or not self.options.beside:
            return None
        column = self.statistics.column(name)
        if column.way == "levels":
            column, labels = self._labelled(column, role)
            numbers = np.array(labels)
            if role == "group":
                numbers = np.unique(numbers, return_inverse=True)[1]
            return replace(column, numbers=np.append(numbers, np.nan).astype(np.float64))
        sql = tuple(f"CAST({one} AS DOUBLE)" for one in column.sql)
        self.dates_beside = column.way == "date"
        column = replace(column, way="number", sql=sql, key=f"{column.key}_beside")
        self._require_split(role, name, self.statistics.first_missing(column))
        return column

    @property
    def _orders(self) -> tuple[str, str | None]:
        """Whether rows belong together by group or time, and the column of groups or times."""
        role = "group" if self.options.group is not None else "time"
        return role, getattr(self.options, role)

    def _n_held(self) -> int:
        """The number of rows to hold out by group or time."""
        return max(1, round(self.options.test_size * self.statistics.n_rows))

    @staticmethod
    def _require_split(role: str, name: str, where: str | None) -> None:
        """Refuse a column by which rows are to be held out where a row has no value."""
        if where is not None:
            fault = (
                f"column {quote(name)} has no value in {where}; fill it in, or leave the row out"
            )
            raise DataError(fault_of_role(role, name, fault))

    @staticmethod
    def _require_cut(role: str, cut: float | None) -> float:
        if cut is not None:
            return cut
        if role == "group":
            raise DataError(Message("one_group"))
        raise DataError("all rows have the same time, so the latest cannot be held out")

    @property
    def _apart(self) -> set[str | None]:
        """The columns that are no features."""
        own, group = self.options.encoder, self.options.group
        # Rows may be scored by groups that the model knows.
        known = self.options.beside and own is not None and group in own.kinds_
        return {self.options.target, self.options.weight, None if known else group}

    def _encoded_columns(self) -> tuple[list[str], list[str]]:
        """The columns to encode, and those that an encoder which is there already leaves out."""
        options = self.options
        names = [name for name in self.layout.groups if name not in self._apart]
        if options.encoder is None:
            if options.terms is None or options.terms.every:
                return names, []
            wanted = options.terms.columns
            dates = {found[0]: name for name in wanted if (found := part_of(name)) is not None}
            parts = [part for name, part in dates.items() if name in names]
            options.terms.require_columns([*names, *parts], self.layout.source)
            return [name for name in names if name in wanted or name in dates], []
        kinds, spellings = options.encoder.kinds_, options.encoder.spellings_
        sources = [one for name in kinds if (one := source_of(name, spellings)) is not None]
        needed = dict.fromkeys([*kinds, *sources])
        lacking = [n for n in needed if n not in names and source_of(n, spellings) is None]
        if lacking:
            noun = plural("column", len(lacking))
            raise DataError(
                f"{self.layout.source} lacks the {noun} {joined(lacking)}, which the encoding "
                f"needs; it has {joined(names)}"
            )
        extra = [name for name in names if name not in {*needed, options.time}]
        return [name for name in names if name in needed], extra

    def _read_once(self, plan: EncodingPlan, names: Sequence[str]) -> list[Numbers] | None:
        """Put all rows aside while they are read for their sums, where that is possible.

        It is possible for columns of numbers that float32 holds as they are.  The result is None
        where there are other columns, where a value is missing, or where there is not enough space;
        the rows are read again then.
        """
        options, known = self.options, self.statistics
        if options.encoder is not None or not (options.single and options.standardise):
            return None
        if options.terms is not None:
            # Rows that are put aside become features by being standardised alone.
            return None
        if not self.readers.shares_cache:
            # Another worker may encode the rows than the one that put them aside.
            return None
        known.look_for(plan.encoder)
        columns = [known.column(name) for name in names]
        if not columns or not all(known.is_narrow(one) for one in columns):
            return None
        width = 4.0 * len(columns)
        if not self._fits_cache((width + 24.0) * known.n_rows, spare=1.0):
            return None
        self.spans = row_ranges(plan.sources, self._most(plan.sources, known.row_bytes() + width))
        stage = Stage(str(self.folder), tuple(columns))
        plan = replace(plan, columns=tuple(columns))
        parts, rows = [], 0
        found = self.readers.map(_staged, (plan, stage), self.spans)
        with contextlib.closing(found):  # type: ignore[type-var]
            for span, part in zip(self.spans, found, strict=True):
                if part is None:
                    self._read_again()
                    return None
                parts.append(part)
                rows += span.n_rows
                options.report("statistics", rows, known.n_rows)
        read = merged_numbers(parts)
        if any(one.n_missing for one in known.of_numbers(columns, read)):
            self._read_again()
            return None
        self.stage = stage
        return read

    def _read_again(self) -> None:
        """Remove rows that were put aside and cannot be encoded from there."""
        self.spans = []
        _remove(self.folder, "*.raw", "*.sums", _PLAN)

    def _target(
        self,
    ) -> tuple[SourceColumn | None, np.ndarray | None, np.ndarray | None, np.ndarray | None]:
        """The column to predict, its classes as they are stored or coded, and the labels."""
        options, known = self.options, self.statistics
        name = options.target
        if name is None:
            return None, None, None, None
        column = known.column(name)
        if column.way == "date":
            raise DataError(f"column {quote(name)} holds dates, which cannot be predicted")
        if column.way == "number":
            (numbers,) = known.numbers_in([column])
            found = known.numbers(column, 2 * _MOST_CLASSES)
            if numbers.n_missing and len(found.values) == 1:
                raise one_label_or_none(name, found.values[0])
            self._require_all(column, known.n_rows - numbers.n_missing)
            if found.too_many and options.quantity is not False:
                self._name_placeholders(numbers.facts(name, exact=True).placeholders)
                return column, None, None, None
            if found.too_many:
                raise DataError(
                    f"column {quote(name)} has about {found.about:,} different numbers, too "
                    "many for classes; predict it as a quantity"
                )
            read = known.read_numbers(column, found)
        else:
            read = known.read_levels(column)
            if len(read.counts) == 1 and read.counts[0] < known.n_rows:
                return self._with_blanks(read)
            self._require_all(column, int(read.counts.sum()))
            if missing_mask(read.table.columns[name]).any():
                self._require_all(column, 0)
        column, own, counts = read.column, read.own, read.counts
        table = _expanded(read.table, name, counts, read.first, known.n_rows)
        at = np.concatenate([[0], np.cumsum(_few(counts))[:-1]])
        if self._is_quantity(table, name):
            values = take_quantity(table, name)[1][at]
            self._name_placeholders(of_values(values, counts))
            if column.way == "levels":
                column = replace(column, numbers=np.append(values[own], np.nan))
            return column, None, None, None
        labels = take_target(table, name)[1]
        # The order of labels need not be that of the numbers: those of fractions are texts.
        classes, codes = np.unique(labels, return_inverse=True)
        codes = codes.reshape(-1)[at].astype(np.int32)
        if column.way == "number":
            return column, found.values.astype(np.float64), codes, classes
        return column, None, np.append(np.where(own < 0, -1, codes[own]), -1), classes

    def _with_blanks(self, read: ReadLevels) -> tuple[SourceColumn, None, np.ndarray, np.ndarray]:
        """A target that has one label or none, of which the latter is a class."""
        name, (label,) = read.column.name, np.ma.getdata(read.table.columns[read.column.name])
        if self.layout.wanted.get(name) != "category":
            raise one_label_or_none(name, label)
        classes, codes = np.unique([BLANK, label], return_inverse=True)
        blank, own = codes.astype(np.int32)
        return read.column, None, np.append(np.where(read.own < 0, blank, own), blank), classes

    def _is_quantity(self, table: Table, name: str) -> bool:
        if self.options.quantity is not None:
            return self.options.quantity
        return looks_like_quantity(table, name)

    def _name_placeholders(self, found: Sequence[Placeholders]) -> None:
        """Note which values of a quantity to predict may stand for missing ones."""
        name = self.options.target
        if name is not None and self.options.encoder is None and name not in self.layout.wanted:
            self.notes += [sentence(name, one, target=True) for one in found]

    def _require_all(self, column: SourceColumn, there: int) -> None:
        n_rows = self.statistics.n_rows
        if there < n_rows:
            where = self.statistics.first_missing(column)
            raise DataError(
                Message(
                    "missing_in_file",
                    column=quote(column.name),
                    count=n_rows - there,
                    rows=n_rows,
                    where=where,
                )
            )

    # --- blocks ---------------------------------------------------------------------------------

    def _row_bytes(self, plan: EncodingPlan) -> float:
        encoder, size = plan.encoder, 4.0 if plan.single else 8.0
        if encoder.dense:
            return size * encoder.n_features_
        return (size + 4.0) * len(encoder.encodings)

    def _fits_cache(self, needed: float, spare: float = 0.0) -> bool:
        """Whether the encoded rows fit the cache, once older ones have made room.

        ``spare``: so many times as much has to be free on the disk for a while.
        """
        limit = self.options.limit
        free = shutil.disk_usage(self.folder).free
        if limit is None:
            limit = free // 2
        if needed > limit or (1.0 + spare) * needed > 0.95 * free:
            return False
        others = []
        for path in self.root.iterdir():
            if path.is_dir() and path != self.folder and len(path.name) == 32:
                with contextlib.suppress(OSError):
                    mark = path / _MANIFEST
                    used = (mark if mark.exists() else path).stat().st_mtime
                    others.append((used, _size_of(path), path))
        total = sum(size for _, size, _ in others)
        for _, size, path in sorted(others):
            if total + needed <= limit:
                break
            shutil.rmtree(path, ignore_errors=True)
            total -= size
        return True

    def _encoded(
        self,
        plan: EncodingPlan,
        labels: np.ndarray | None,
        spans: list[RowRange],
        n_rows: int,
        width: float,
        stored: bool,
    ) -> BlockedData:
        options, encoder = self.options, plan.encoder
        meta, arrays = encoder.state()
        state = save({name: np.ascontiguousarray(one) for name, one in arrays.items()})
        share = min(1.0, sample_size(n_rows, width, options.memory) / n_rows)
        work_text = json.dumps(meta, sort_keys=True) + repr((spans, plan.sources, share))
        quiet = replace(options, on_progress=None, engine=None)
        work = _Encoding(plan, self.folder, quiet, share, stored, sha256_of(state, work_text))
        if options.predicts and not stored:
            found = self._as_they_come(plan, spans, width)
        else:
            found = self._all_encoded(work, spans, n_rows, width)
        self._require_classes(labels, found.counts)
        self._require_weight(found.totals, "every row to fit" if found.held else "every row")
        # The digest is of rows, not of how they are cut: with other memory the data are the same.
        listed, names = None if labels is None else labels.tolist(), tuple(encoder.feature_names_)
        record = {
            "format": _FORMAT,
            "encoding": sha256_of(state),
            "fit": len(found.fit),
            "held": len(found.held),
            "classes": None if labels is None else [labels.dtype.str, listed],
            "class_rows": found.counts.tolist(),
            "class_totals": [] if labels is None else found.totals.tolist(),
            "source": self.layout.source,
            "fingerprint": sha256_of(repr((found.contents, found.aside, listed, names))),
            "notes": [record_of(one) for one in self.notes],
        }
        blocks = [*found.fit, *found.held]
        if found.sample:
            blocks.append(write_block(self.folder / "sample.block", found.sample, "the sample"))
            found.sample.clear()
        place = "encoded into the cache" if stored else None
        note = _note(found.fit, place, self.readers.shares_cache) + self.resumed
        data = _blocked(record, blocks, encoder, options, note)
        data = replace(data, dates_beside=self.dates_beside)
        if options.encoder is None:
            alert_about_blocks(data, self.derived)
        if stored:
            alerts = [record_of(one) for one in encoder.alerts_]
            record.update(meta=encoder.state()[0], alerts=alerts)
            self._remember(record, state, blocks)
        return data

    @staticmethod
    def _as_they_come(plan: EncodingPlan, spans: list[RowRange], width: float) -> _EncodedRows:
        """The blocks of rows without labels, of which nothing has to be known before their use."""
        out = _EncodedRows.none(0)
        for span in spans:
            n, place = span.n_rows, span.place(plan.sources, 0, span.n_rows)
            stored = n * plan.encoder.n_features_
            out.fit.append(SourceBlock(plan, span, False, "", n, stored, int(n * width), place))
        return out

    def _all_encoded(
        self, work: _Encoding, spans: list[RowRange], n_rows: int, width: float
    ) -> _EncodedRows:
        """The blocks of all stretches, in their order, and what their rows add up to."""
        out = _EncodedRows.none(work.plan.n_classes)
        # The stretches that the readers hold must fit in memory together.
        each = max(span.n_rows for span in spans) * (self.statistics.row_bytes() + width)
        readers = self.readers.at_most(int(self.options.available / each))
        found = readers.map(_blocks_of, work, [*enumerate(spans)])
        rows, there, missing = 0, set[tuple[int, int]](), set[tuple[int, int]]()
        with contextlib.closing(found):  # type: ignore[type-var]
            for span, one in zip(spans, found, strict=True):
                out.add(one)
                rows += span.n_rows
                (there if one.was_there else missing).update(span.groups())
                self.options.report("encoding", rows, n_rows)
        if there:
            every = counted(len(there | missing), "row group")
            self.resumed += f"; {len(there - missing):,} of {every} were there"
        return out

    def _require_weight(self, totals: np.ndarray, every: str) -> None:
        if self.options.weight is not None and not totals.any():
            raise DataError(f"column {quote(self.options.weight)} gives {every} the weight 0")

    def _require_classes(self, labels: np.ndarray | None, counts: np.ndarray) -> None:
        if labels is not None and not counts.all():
            label = labels[int(np.argmin(counts > 0))]
            options = {"share": Parameter("test_size"), "seed": Parameter("seed")}
            raise DataError(Message("class_held_out", label=quote(str(label)), **options))

    def _remember(self, record: dict[str, Any], state: bytes, blocks: Sequence[Block]) -> None:
        """Write the manifest, which makes the cache whole, last."""
        names = [{**vars(block), "path": os.path.basename(vars(block)["path"])} for block in blocks]
        with cache_file(self.folder / _ENCODING) as file:
            file.write(state)
        write_record(self.folder / _MANIFEST, {**record, "blocks": names})
        _remove(self.folder, "rows-*.parquet", "*.done", "*.raw", "*.sums", _PLAN)


def _remove(folder: Path, *patterns: str) -> None:
    """Remove the files of a folder that match one of some patterns."""
    for pattern in patterns:
        for path in folder.glob(pattern):
            with contextlib.suppress(OSError):
                path.unlink()


def _drawn_number(seed: int, label: Any) -> float:
    """A number by which groups are put in an order at random: that of DuckDB's md5_number_upper."""
    text = label if isinstance(label, str) else number_text(label)
    digest = hashlib.md5(f"{seed}:{text}".encode("utf-8", "surrogatepass"), usedforsecurity=False)
    return float(int.from_bytes(digest.digest()[:8], "little"))


def _few(counts: np.ndarray) -> np.ndarray:
    """Return how many rows of each value decide whether it is rare."""
    return np.minimum(counts, 1000 if len(counts) <= 1000 else 20)


def _expanded(table: Table, name: str, counts: np.ndarray, rows: np.ndarray, n_rows: int) -> Table:
    """A table of one column with some rows of every value, where the first of them is."""
    index = np.repeat(np.arange(len(counts)), _few(counts))
    column = table.columns[name]
    column = np.asarray(np.ma.getdata(column))[index]
    return replace(
        table, columns={name: column}, names=(name,), n_rows=n_rows, rows=np.asarray(rows)[index]
    )


def _note(fit: Sequence[Block], place: str | None, shared: bool = True) -> str:
    rows = sum(block.n_rows for block in fit)
    size = sum(block.nbytes for block in fit)
    why = "the cache is too small for them" if shared else "the workers do not share the cache"
    how = f"decoded in every pass, because {why}"
    if place is not None:
        how = f"{size / 1e6:,.0f} MB {place}"
    return f"{rows:,} rows in {counted(len(fit), 'block')}, {how}"


@dataclass
class _EncodedRows:
    """The blocks of one stretch of rows, or of several that follow one after the other."""

    fit: list[Block]
    held: list[Block]
    sample: list[Rows]
    contents: RowDigest
    aside: RowDigest
    counts: np.ndarray
    totals: np.ndarray
    # Whether an earlier process encoded them.
    was_there: bool = False

    @classmethod
    def none(cls, n_classes: int) -> _EncodedRows:
        counts, totals = np.zeros(n_classes, dtype=np.int64), np.zeros(max(n_classes, 1))
        return cls([], [], [], RowDigest(), RowDigest(), counts, totals)

    def add(self, other: _EncodedRows) -> None:
        """Append the rows that follow."""
        self.fit += other.fit
        self.held += other.held
        self.sample += other.sample
        self.contents = self.contents.then(other.contents)
        self.aside = self.aside.then(other.aside)
        self.counts += other.counts
        self.totals += other.totals


@dataclass(frozen=True)
class _Encoding:
    """The encoding of ranges of rows into blocks, in a form that can be sent to a worker."""

    plan: EncodingPlan
    folder: Path
    options: ScanOptions
    share: float
    stored: bool
    mark: str

    def blocks_of(self, k: int, span: RowRange) -> _EncodedRows:
        """The blocks of a stretch: those that an earlier process finished, or new ones."""
        blocks = self._finished(k)
        was_there = blocks is not None
        if blocks is None:
            blocks = self._blocks(k, span)
            if self.stored:
                described = [(vars(block), held) for block, _, held in blocks]
                done = {"mark": self.mark, "blocks": described}
                write_record(self.folder / f"{k:06d}.done", done)
            if self.plan.stage is not None:
                self.plan.stage.forget(span)
        n = self.plan.n_classes
        found = _EncodedRows.none(n)
        found.was_there = was_there
        for i, (block, rows, held) in enumerate(blocks):
            if held:
                found.held.append(block)
                found.aside = found.aside.then(contents_of(rows))
                continue
            found.fit.append(block)
            found.contents = found.contents.then(contents_of(rows))
            index = drawn(len(rows), self.share, self.options.seed, 1000 * k + i)
            if len(index):
                found.sample.append(rows[index])
            if n:
                counts, totals = rows.totals(n)
                found.counts += counts
                found.totals += totals
            else:
                found.totals += len(rows) if rows.weights is None else rows.weights.sum()
        return found

    def _finished(self, k: int) -> list[tuple[Block, Rows, bool]] | None:
        """The blocks of a stretch that lie in the folder already, whole."""
        record = read_record(self.folder / f"{k:06d}.done", mark=self.mark) if self.stored else None
        if record is None:
            return None
        blocks = [(StoredBlock(**one), held) for one, held in record["blocks"]]
        try:
            return [(block, block.load(), held) for block, held in blocks]
        except DataError:
            return None

    def _blocks(self, k: int, span: RowRange) -> list[tuple[Block, Rows, bool]]:
        plan, out = self.plan, []
        fit, held = plan.rows(span)
        # Decoded on every pass, a stretch is one block, so that it is decoded once.
        size = self.options.block_rows if self.stored else None
        for i, piece in enumerate(in_pieces(len(fit), size or max(len(fit), 1))):
            rows = fit[piece]
            place = span.place(plan.sources, 0, span.n_rows)
            if held is None:
                place = span.place(plan.sources, piece.start, piece.stop)
            out.append((self._block(rows, f"{k:06d}-{i:03d}", place, span, False), rows, False))
        if held is not None and len(held):
            place = span.place(plan.sources, 0, span.n_rows)
            out.append((self._block(held, f"{k:06d}-held", place, span, True), held, True))
        return out

    def _block(self, rows: Rows, name: str, place: str, span: RowRange, held: bool) -> Block:
        if self.stored:
            return write_block(self.folder / f"{name}.block", [rows], place)
        size = rows.matrix.dtype.itemsize * rows.n_stored
        digest = digest_of(rows)
        return SourceBlock(self.plan, span, held, digest, len(rows), rows.n_stored, size, place)


def _staged(shared: tuple[EncodingPlan, Stage], span: RowRange) -> list[Numbers] | None:
    plan, stage = shared
    return plan.staged(span, stage)


def _blocks_of(work: _Encoding, numbered: tuple[int, RowRange]) -> _EncodedRows:
    return work.blocks_of(*numbered)
