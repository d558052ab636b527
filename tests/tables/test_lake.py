"""Tables behind addresses, and tables whose log lists their files."""

from __future__ import annotations

import functools
import http.server
import sys
import threading
from pathlib import Path

import duckdb
import numpy as np
import pytest

from separatrix import LogisticRegression
from separatrix.exceptions import DataError
from separatrix.scale import scan
from separatrix.tables import read_table

ROWS = "SELECT i % 7 AS x, (i * i) % 5 AS z, CASE WHEN i % 3 = 0 THEN 'a' ELSE 'b' END AS y"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A partitioned table in Parquet files of several row groups, and one in text."""
    for year in (2023, 2024):
        inner = tmp_path / "table" / f"year={year}"
        inner.mkdir(parents=True)
        sql = f"{ROWS} FROM range({year}, {year} + 5000) AS t(i)"
        duckdb.execute(
            f"COPY ({sql}) TO '{inner}/part [1].parquet' (FORMAT parquet, ROW_GROUP_SIZE 2048)"
        )
    duckdb.execute(f"COPY ({ROWS} FROM range(90) AS t(i)) TO '{tmp_path}/small.csv.gz'")
    return tmp_path


@pytest.fixture
def memory(folder: Path):
    fsspec = pytest.importorskip("fsspec")
    system = fsspec.filesystem("memory")
    system.put(str(folder), "/lake", recursive=True)
    yield "memory://lake"
    system.rm("/lake", recursive=True)


class Whole(http.server.SimpleHTTPRequestHandler):
    """Sends whole files alone."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *args: object) -> None:
        pass


class Ranges(Whole):
    """Answers requests for a part of a file, and only signed ones for what is secret."""

    def do_GET(self) -> None:
        path, asked = Path(self.translate_path(self.path)), self.headers.get("Range")
        if "secret" in self.path:
            self.send_error(403)
        elif asked is None or not path.is_file():
            super().do_GET()
        else:
            data = path.read_bytes()
            first, _, last = asked.removeprefix("bytes=").partition("-")
            part = data[int(first) : int(last or len(data)) + 1]
            self.send_response(206)
            end = int(first) + len(part) - 1
            self.send_header("Content-Range", f"bytes {first}-{end}/{len(data)}")
            self.send_header("Content-Length", str(len(part)))
            self.end_headers()
            self.wfile.write(part)

    def do_HEAD(self) -> None:
        if "secret" in self.path:
            self.send_error(403)
        else:
            super().do_HEAD()


@pytest.fixture
def web(folder: Path):
    pytest.importorskip("aiohttp")
    handler = functools.partial(Ranges, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.fixture
def bucket(folder: Path, monkeypatch):
    pytest.importorskip("s3fs")
    from fsspec import filesystem

    moto = pytest.importorskip("moto.server")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    endpoint = "http://{}:{}".format(*server.get_host_and_port())
    for name, value in {
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": endpoint,
    }.items():
        monkeypatch.setenv(name, value)
    system = filesystem("s3", skip_instance_cache=True)
    system.makedirs("bucket", exist_ok=True)
    system.put(str(folder), "bucket/lake", recursive=True)
    yield "s3://bucket/lake"
    system.rm("bucket/lake", recursive=True)
    server.stop()
    # It knows the server's address.
    type(system).clear_instance_cache()


def same(first, second) -> None:
    assert first.names == second.names and first.kinds == second.kinds
    for name in first.names:
        np.testing.assert_array_equal(first.columns[name], second.columns[name])


# A server of S3 takes seconds to load.
@pytest.fixture(params=["memory", pytest.param("bucket", marks=pytest.mark.exhaustive)])
def lake(request) -> str:
    return request.getfixturevalue(request.param)


def test_an_address_is_read_as_the_files_are(lake: str, folder: Path, tmp_path: Path) -> None:
    same(read_table(f"{lake}/table"), read_table(folder / "table"))
    pattern = read_table(f"{lake}/table/*/*.parquet")
    same(pattern, read_table(str(folder / "table" / "*" / "*.parquet")))
    same(read_table(f"{lake}/small.csv.gz"), read_table(folder / "small.csv.gz"))
    query = "SELECT x, y FROM data WHERE z = 1"
    same(read_table(f"{lake}/table", sql=query), read_table(folder / "table", sql=query))
    options = {"block_rows": 1000, "cache": tmp_path / "cache"}
    here, there = (scan(f"{one}/table", "y", **options) for one in (folder, lake))
    assert there.fingerprint == here.fingerprint and there.source == f"{lake}/table"
    assert there.encoder.kinds_["year"] == "category"
    again = scan(f"{lake}/table", "y", **options)
    assert "found in the cache" in again.notes[0]
    coefs = [LogisticRegression().fit(one).coef_ for one in (here, there)]
    np.testing.assert_array_equal(*coefs)
    decoded = scan(f"{lake}/table", "y", cache_limit=0, **options)
    assert decoded.fingerprint == here.fingerprint and len(decoded.blocks[0].load()) > 1000


def test_what_is_not_there_is_named(lake: str) -> None:
    with pytest.raises(DataError, match=r"lake/none.parquet does not exist"):
        read_table(f"{lake}/none.parquet")
    with pytest.raises(DataError, match=r"no file matches the pattern \S+/none-\*.parquet"):
        scan(f"{lake}/none-*.parquet", "y")
    with pytest.raises(DataError, match="nothing://bucket is no address that can be read|://"):
        read_table("nothing://bucket/a.parquet")


def test_a_file_that_changed_is_read_again(memory: str, folder: Path, tmp_path: Path) -> None:
    import fsspec

    address = f"{memory}/small.csv.gz"
    first = scan(address, "y", cache=tmp_path / "cache")
    duckdb.execute(f"COPY ({ROWS} FROM range(80) AS t(i)) TO '{folder}/small.csv.gz'")
    fsspec.filesystem("memory").put(f"{folder}/small.csv.gz", "/lake/small.csv.gz")
    assert first.n_rows == 90 and scan(address, "y", cache=tmp_path / "cache").n_rows == 80


def test_a_web_server_sends_the_parts_that_are_read(web: str, folder: Path) -> None:
    path = "table/year=2024/part [1].parquet"
    same(read_table(f"{web}/{path}?token=1"), read_table(folder / path))
    same(read_table(f"{web}/small.csv.gz"), read_table(folder / "small.csv.gz"))
    data = scan(f"{web}/{path}", "y", cache=folder / "cache")
    assert data.fingerprint == scan(folder / path, "y", cache=folder / "cache").fingerprint
    # The server's page has "year%3D2024" in the place of names of folders.
    same(read_table(f"{web}/table/"), read_table(folder / "table"))
    with pytest.raises(DataError, match=r"table has the suffix .*; the address of a folder end"):
        read_table(f"{web}/table")
    with pytest.raises(DataError, match=r"none.parquet does not exist"):
        read_table(f"{web}/none.parquet")
    with pytest.raises(DataError, match=r"no access to \S+secret.parquet .*credentials"):
        read_table(f"{web}/secret.parquet")
    with pytest.raises(DataError, match=r"a.parquet cannot be read: "):
        read_table("http://127.0.0.1:9/a.parquet")


def test_a_web_server_that_sends_no_parts_is_named(folder: Path) -> None:
    pytest.importorskip("aiohttp")
    handler = functools.partial(Whole, directory=str(folder))
    # Smaller files are fetched whole.
    (folder / "large.parquet").write_bytes(b"PAR1" + bytes(6_000_000) + b"PAR1")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(DataError, match=r"its server sends no parts of files; download it"):
            read_table(f"http://127.0.0.1:{server.server_address[1]}/large.parquet")
        server.shutdown()


def test_credentials_that_are_missing_are_named(monkeypatch, tmp_path: Path) -> None:
    pytest.importorskip("s3fs")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    # No server answers at this address, and no request is made.
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(DataError, match="no access to .*; set the credentials that s3fs looks for"):
        read_table("s3://bucket/lake/small.csv.gz")


def test_packages_that_are_missing_are_named(monkeypatch, tmp_path: Path) -> None:
    registry = pytest.importorskip("fsspec.registry")
    for module, address in (("aiohttp", "https://host/a.parquet"), ("s3fs", "s3://b/a.parquet")):
        monkeypatch.setitem(sys.modules, module, None)
        monkeypatch.delitem(sys.modules, "fsspec.implementations.http", raising=False)
        monkeypatch.delitem(registry._registry, address.partition(":")[0], raising=False)
        with pytest.raises(ImportError, match=rf'needs {module}: pip install "separatrix\[lake\]"'):
            read_table(address)
    for module, inner, what in (
        ("deltalake", "_delta_log/0.json", "is a Delta table"),
        ("pyiceberg", "metadata/1.metadata.json", "is an Iceberg table"),
    ):
        monkeypatch.setitem(sys.modules, module, None)
        path = tmp_path / module / inner
        path.parent.mkdir(parents=True)
        path.touch()
        with pytest.raises(ImportError, match=rf'{what}, which needs {module}: .*"separatrix\['):
            read_table(tmp_path / module)
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(ImportError, match=r'needs fsspec: pip install "separatrix\[lake\]"'):
        read_table("memory://a/b.parquet")


def test_the_log_of_a_delta_table_says_which_files_count(tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake")
    import pyarrow as pa

    def rows(n: int) -> pa.Table:
        years = np.where(np.arange(n) < n // 2, "2 0", "21")
        return pa.table({"x": np.arange(n), "year": years, "y": np.arange(n) % 2})

    path = tmp_path / "delta"
    for n in (20, 30):
        deltalake.write_deltalake(path, rows(n), mode="overwrite", partition_by=["year"])
    table = read_table(path)
    assert table.n_rows == 30 and table.kinds["year"] == "category"
    assert sorted(set(np.ma.getdata(table.columns["year"]).tolist())) == ["2 0", "21"]
    assert scan(path, "y", cache=tmp_path / "cache").n_rows == 30
    marked = tmp_path / "marked"
    settings = {"delta.enableDeletionVectors": "true"}
    deltalake.write_deltalake(marked, rows(20), configuration=settings)
    with pytest.raises(DataError, match="may mark rows of its files as deleted; write its rows to"):
        read_table(marked)


def test_the_metadata_of_an_iceberg_table_list_its_files(tmp_path: Path) -> None:
    memory = pytest.importorskip("pyiceberg.catalog.memory")
    import pyarrow as pa

    rows = pa.table({"x": np.arange(20), "y": np.arange(20) % 2})
    catalog = memory.InMemoryCatalog("lake", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("own")
    tables = [catalog.create_table(f"own.t{k}", rows.schema) for k in range(3)]
    paths = [Path(table.location().removeprefix("file://")) for table in tables]
    for table in tables:
        table.append(rows)
        table.append(rows)
    assert read_table(paths[0]).n_rows == 40
    tables[0].overwrite(rows)
    assert read_table(paths[0]).n_rows == 20
    assert scan(paths[0], "y", cache=tmp_path / "cache").n_rows == 20
    with tables[1].update_schema() as update:
        update.rename_column("x", "z")
    with pytest.raises(DataError, match="is an Iceberg table of which columns were renamed"):
        read_table(paths[1])
