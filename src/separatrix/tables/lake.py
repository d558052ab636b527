"""Files behind addresses such as ``s3://bucket/part.parquet``, and tables that keep a log.

fsspec finds and opens what an address names, with the credentials that its file systems find by
themselves.  DuckDB fetches those parts of a Parquet file that a query needs; files of other kinds
are copied before they are read.  For a Delta or an Iceberg table, only the list of files is needed.
"""

from __future__ import annotations

import contextlib
import datetime
import re
import shutil
import threading
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from glob import has_magic
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, TypeAlias

from separatrix.data.digests import sha256_of
from separatrix.exceptions import DataError, MissingPackageError, imported
from separatrix.messages import clause
from separatrix.tables.limits import Limit

_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+)://")
# The package that a file system needs, by its scheme; "separatrix[lake]" brings the first two.
_PACKAGES = {
    **dict.fromkeys(("http", "https"), "aiohttp"),
    **dict.fromkeys(("s3", "s3a"), "s3fs"),
    **dict.fromkeys(("gs", "gcs"), "gcsfs"),
    **dict.fromkeys(("az", "abfs", "abfss", "adl"), "adlfs"),
    "hdfs": "pyarrow",
}
_OF_LAKE = ("aiohttp", "s3fs")
# The keys under which file systems record what changes with a file.
_VERSIONS = ("ETag", "etag", "mtime", "LastModified", "last_modified", "Last-Modified", "created")
_WEB = ("http:", "https:")
_ICEBERG = "metadata", "*.metadata.json"
_lock = threading.Lock()


class Status(NamedTuple):
    """The size of a remote file and a number of its version, named as :class:`os.stat_result`."""

    st_size: int
    st_mtime_ns: int


@dataclass(frozen=True)
class RemoteFile:
    """A file behind an address, with those methods of a path that readers call.

    Attributes
    ----------
    address : str
    below : tuple of str
        The folders between the folder that was given and the file.
    listed : Status or None
        The status in the listing by which the file was found.
    """

    address: str
    below: tuple[str, ...] = ()
    listed: Status | None = None

    def __str__(self) -> str:
        return self.address

    @property
    def _path(self) -> PurePosixPath:
        # Behind a question mark of a web address are parameters.
        web = self.address.startswith(_WEB)
        return PurePosixPath(urllib.parse.urlsplit(self.address).path if web else self.address)

    @property
    def name(self) -> str:
        return self._path.name

    @property
    def suffix(self) -> str:
        return self._path.suffix

    @property
    def stem(self) -> str:
        return self._path.stem

    @property
    def parents(self) -> tuple[Path, ...]:
        """The folders of this machine that hold the file: none."""
        return ()

    def absolute(self) -> RemoteFile:
        return self

    def stat(self) -> Status:
        """The size and the version of the file as it is now."""
        with _answers(self.address):
            system, path = _system_of(self.address)
            system.invalidate_cache(path)
            found = _status_in(system.info(path))
            if found is None:
                raise ValueError("its size is unknown")
            return found

    def open(self, mode: str = "rb") -> Any:
        with _answers(self.address):
            system, path = _system_of(self.address)
            return system.open(path, mode)

    def copied(self, folder: Path, limit: Limit) -> Path:
        """A copy of the file in a folder of this machine."""
        copy = folder / self.name
        if self.stat().st_size > limit.bytes:
            raise limit.exceeded(f"{self.address}, copied,")
        with _answers(self.address), self.open() as source, copy.open("wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
        return copy

    def register(self, connection: Any) -> None:
        """Have a connection of DuckDB read files of this scheme by :meth:`open`."""
        scheme = _scheme_of(self.address)
        with _lock:
            if not connection.filesystem_is_registered(scheme):
                connection.register_filesystem(_for_duckdb(scheme))


FilePath: TypeAlias = Path | RemoteFile


def is_address(name: str) -> bool:
    return _ADDRESS.match(name) is not None


def path_of(name: str) -> FilePath:
    """The path of a file by its name or address."""
    return RemoteFile(name) if is_address(name) else Path(name)


def status_of(path: FilePath) -> Any:
    """The size and time of a file; those of the listing of a remote one, which was just found."""
    return (isinstance(path, RemoteFile) and path.listed) or path.stat()


def _status_in(info: Mapping[str, Any]) -> Status | None:
    """The status in a file system's record of a file."""
    stamp = next((info[name] for name in _VERSIONS if info.get(name) is not None), None)
    version = int(sha256_of(repr(stamp))[:15], 16)
    return None if info.get("size") is None else Status(int(info["size"]), version)


def _scheme_of(address: str) -> str:
    return address.partition("://")[0]


@lru_cache(maxsize=8)
def _for_duckdb(scheme: str) -> Any:
    """The file system of a scheme as DuckDB calls it."""
    import fsspec

    class Addresses(fsspec.AbstractFileSystem):
        protocol = scheme
        cachable = False

        def glob(self, path: str, **_: Any) -> list[str]:
            # Patterns have been looked up: a bracket in a name is one.
            return [path]

        def exists(self, path: str, **_: Any) -> bool:
            return True

        def size(self, path: str) -> int:
            return RemoteFile(path).stat().st_size

        def modified(self, path: str) -> datetime.datetime:
            # DuckDB keeps the footer of a file for as long as this stays.
            version = RemoteFile(path).stat().st_mtime_ns
            return datetime.datetime.fromtimestamp(version % (1 << 31), datetime.UTC)

        def open(self, path: str, mode: str = "rb", *_: Any, **__: Any) -> Any:
            return RemoteFile(path).open()

    return Addresses()


def _system_of(address: str) -> tuple[Any, str]:
    """The file system of an address, and the path in it."""
    scheme = _scheme_of(address)
    package = _PACKAGES.get(scheme, scheme)
    what = '"separatrix[lake]"' if package in _OF_LAKE else package
    fsspec = imported("fsspec", f"{address} is an address, which", extra="lake")
    try:
        system, path = fsspec.core.url_to_fs(address)
    except ImportError:
        raise MissingPackageError(
            f"reading {scheme}:// needs {package}: pip install {what}"
        ) from None
    except ValueError as error:
        if "rotocol not known" not in str(error):
            raise
        raise DataError(
            f"{address}: {scheme}:// is no address that can be read; give one of https://, s3://, "
            "gs://, az:// or hdfs://, or the name of a file"
        ) from None
    return system, path


@contextlib.contextmanager
def _answers(address: str) -> Iterator[None]:
    """Turn what file systems raise into one sentence about an address."""
    try:
        yield
    except (DataError, ImportError):
        raise
    # Each file system has errors of its own, which share no class but this one.
    except Exception as error:
        cause = error.__cause__ or error
        status = getattr(cause, "status", None)
        text = " ".join(f"{cause}".split()) or type(cause).__name__
        denied = isinstance(error, PermissionError) or status in (401, 403)
        if denied or "redential" in f"{type(cause).__name__} {text}":
            package = _PACKAGES.get(_scheme_of(address), "its file system")
            raise DataError(
                f"no access to {address} ({text.rstrip('.')}); set the credentials that {package} "
                "looks for, in the environment or in the files of the service"
            ) from None
        if isinstance(error, FileNotFoundError) and (cause is error or status == 404):
            raise DataError(f"{address} does not exist") from None
        raise DataError(unreadable(address, text)) from None


def unreadable(name: str, text: str) -> str:
    """The sentence about a file that its file system cannot read, for the reason in a text."""
    if "range requests" in text:
        return (
            f"{name} cannot be read where it is, because its server sends no parts of files; "
            "download it, and give the name of the copy"
        )
    return f"{name} cannot be read: {text.rstrip(' .')}"


def remote_files(name: str) -> tuple[Sequence[FilePath], bool]:
    """The files of an address, and whether they are all that a folder without a log has.

    Raises
    ------
    DataError
        If nothing is there, or access is denied.
    ImportError
        If a package is missing.
    """
    with _answers(name):
        system, path = _system_of(name)
        try:
            is_folder = name.endswith("/") or system.info(path)["type"] == "directory"
        except FileNotFoundError:
            if not has_magic(name):
                raise
            found = system.glob(path, detail=True)
            if not found:
                raise DataError(f"no file matches the pattern {name}") from None
            return [_listed("", system, *one) for one in sorted(found.items())], False
        if not is_folder:
            return [RemoteFile(name)], False
        base = _address(system, path).rstrip("/")
        if (listed := files_of_log(base)) is not None:
            # Folders of Iceberg are named for people: its files have all columns.
            own = "" if is_iceberg(base) else base
            return [RemoteFile(str(p), _below(own, str(p))) for p in listed], False
        found = system.find(path, detail=True)
        return [_listed(base, system, *one) for one in sorted(found.items())], True


def _listed(base: str, system: Any, path: str, info: Mapping[str, Any]) -> RemoteFile:
    """A file of a listing, with its folders below a base."""
    address = _address(system, path)
    return RemoteFile(address, _below(base, address), _status_in(info))


def _address(system: Any, path: str) -> str:
    """The address of a path, with folders such as ``year=2024`` as they are called."""
    address: str = system.unstrip_protocol(path)
    if address.startswith(_WEB):
        # Pages that list a folder may write "year%3D2024".
        head, mark, parameters = address.partition("?")
        address = f"{re.sub('%3D', '=', head, flags=re.IGNORECASE)}{mark}{parameters}"
    return address


def _below(base: str, address: str) -> tuple[str, ...]:
    """The folders between a base and a file in it."""
    inside = base and address.startswith(f"{base}/")
    return tuple(address.removeprefix(f"{base}/").split("/")[:-1]) if inside else ()


# --- tables with a log ----------------------------------------------------------------------------


def files_of_log(folder: str | Path) -> Sequence[FilePath] | None:
    """The Parquet files of a Delta or an Iceberg table; None for a folder that is neither.

    Raises
    ------
    DataError
        If rows or columns of the files are not those of the table.
    ImportError
        If the package that reads the log is missing.
    """
    if _names_in(folder, "_delta_log", "*"):
        return _files_of_delta(str(folder))
    metadata = _names_in(folder, *_ICEBERG)
    return _files_of_iceberg(str(folder), metadata) if metadata else None


def is_iceberg(folder: str | Path) -> bool:
    """Whether a folder is an Iceberg table."""
    return bool(_names_in(folder, *_ICEBERG))


def _names_in(folder: str | Path, inner: str, pattern: str) -> list[str]:
    """The files of a folder inside another one that match a pattern."""
    if isinstance(folder, Path):
        return [str(path) for path in sorted((folder / inner).glob(pattern))]
    if folder.startswith(_WEB):
        return []  # pages list no logs
    system, path = _system_of(folder)
    return [
        system.unstrip_protocol(one) for one in sorted(system.glob(f"{path}/{inner}/{pattern}"))
    ]


def _refused(folder: str, fault: str) -> DataError:
    return DataError(
        f"{folder} {fault}; write its rows to Parquet files in another folder, and give that one"
    )


def _files_of_delta(folder: str) -> list[FilePath]:
    deltalake = imported("deltalake", f"{folder} is a Delta table, which", extra="lake")
    try:
        table = deltalake.DeltaTable(folder)
        features = {*(table.protocol().reader_features or ())}
        settings = table.metadata().configuration
        names = table.file_uris()
    except Exception as error:
        text = clause(str(error))
        raise DataError(f"the log of the Delta table {folder} cannot be read: {text}") from None
    if "deletionVectors" in features:
        raise _refused(folder, "is a Delta table that may mark rows of its files as deleted")
    if settings.get("delta.columnMapping.mode", "none") != "none":
        raise _refused(folder, "is a Delta table whose columns have other names in its files")
    if not names:
        raise DataError(f"{folder} is a Delta table without rows")
    return [_local_or_remote(name) for name in sorted(names)]


def _files_of_iceberg(folder: str, metadata: list[str]) -> list[FilePath]:
    what = f"{folder} is an Iceberg table, which"
    iceberg = imported("pyiceberg.table", what, package="pyiceberg", extra="lake")

    def number(name: str) -> tuple[int, str]:
        found = re.match(r"v?(\d+)", name.rpartition("/")[2])
        return (int(found[1]) if found else -1, name)

    try:
        table = iceberg.StaticTable.from_metadata(max(metadata, key=number))
        names: dict[int, set[str]] = {}
        for schema in table.schemas().values():
            for one in schema.fields:
                names.setdefault(one.field_id, set()).add(one.name)
        tasks = list(table.scan().plan_files())
    except Exception as error:
        text = clause(str(error))
        raise DataError(f"the log of the Iceberg table {folder} cannot be read: {text}") from None
    if any(task.delete_files for task in tasks):
        raise _refused(folder, "is an Iceberg table of which rows were deleted")
    if any(len(own) > 1 for own in names.values()):
        raise _refused(folder, "is an Iceberg table of which columns were renamed")
    if not tasks:
        raise DataError(f"{folder} is an Iceberg table without rows")
    return [_local_or_remote(name) for name in sorted(task.file.file_path for task in tasks)]


def _local_or_remote(name: str) -> FilePath:
    """The path of a file in a log, where files of this machine may be named by an address."""
    return Path(urllib.parse.urlsplit(name).path) if name.startswith("file:") else path_of(name)
