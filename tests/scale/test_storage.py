"""Blocks on disk: what is damaged is refused, and what cannot be written leaves nothing."""

from __future__ import annotations

import ast
import errno
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix.data import atomic_files
from separatrix.exceptions import DataError
from separatrix.scale import scan, storage
from separatrix.scale.blocks import Rows
from separatrix.scale.checkpoints import Checkpoint, kept_until_end
from separatrix.scale.storage import write_block

duckdb = pytest.importorskip("duckdb")


def rows(n: int = 50, *, sparse: bool = False, seed: int = 0) -> Rows:
    rng = np.random.default_rng(seed)
    dense = rng.standard_normal((n, 3)).astype(np.float32) * (rng.random((n, 3)) < 0.4)
    matrix = sp.csr_matrix(dense) if sparse else dense
    target = rng.integers(0, 3, n).astype(np.int32)
    return Rows(matrix, target, rng.random(n), np.einsum("ij,ij->i", dense, dense, dtype=float))


def same(a: Rows, b: Rows) -> None:
    for name in ("target", "weights", "squares"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
        assert getattr(a, name).dtype == getattr(b, name).dtype
    dense = [r.matrix.toarray() if sp.issparse(r.matrix) else r.matrix for r in (a, b)]
    np.testing.assert_array_equal(*dense)
    assert a.matrix.dtype == b.matrix.dtype
    assert type(a.matrix) is type(b.matrix)


def test_arrays_are_read_as_they_were_without_parsing_python(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    arrays = {
        "raw": rng.standard_normal((3, 50)).astype(np.float32),
        "target": rng.integers(0, 3, 50).astype(np.int32),
        "none": np.zeros((0, 4)),
    }
    storage.write_arrays(tmp_path / "0.raw", arrays)
    # Two threads that parse at once can make it fail (CPython before 3.11.8).
    monkeypatch.setattr(ast, "parse", lambda *given, **options: pytest.fail("Python is parsed"))
    found = storage.read_arrays(tmp_path / "0.raw")
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype and found[name].flags.writeable


@pytest.mark.parametrize("sparse", [False, True])
def test_comes_back(tmp_path: Path, sparse: bool) -> None:
    given = rows(sparse=sparse)
    block = write_block(tmp_path / "a.block", [given], "here")
    loaded = pickle.loads(pickle.dumps(block)).load()
    same(loaded, given)
    arrays = [loaded.target, loaded.squares, loaded.weights]
    arrays += [loaded.matrix.data] if sparse else [loaded.matrix]
    assert all(array.__array_interface__["data"][0] % 64 == 0 for array in arrays)
    # What is done to the arrays does not get into the file.
    arrays[-1][...] = 7.0
    same(block.load(), given)
    assert block.n_stored == (given.matrix.nnz if sparse else 150)


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_are_selected_as_those_of_arrays(sparse: bool) -> None:
    given = rows(12, sparse=sparse)
    dense = given.matrix.toarray() if sparse else given.matrix
    chosen = np.random.default_rng(1).random(12) < 0.5
    slices = [slice(3, 7), slice(-4, None), slice(7, 3), slice(20, 30), slice(None, None, 2)]
    for index in (*slices, slice(9, 2, -3), slice(None, None, -1), chosen, np.array([5, 0, 5])):
        found = given[index]
        matrix = found.matrix.toarray() if sparse else found.matrix
        np.testing.assert_array_equal(matrix, dense[index])
        for name in ("target", "weights", "squares"):
            np.testing.assert_array_equal(getattr(found, name), getattr(given, name)[index])
        assert len(found) == found.matrix.shape[0]


@pytest.mark.parametrize("sparse", [False, True])
def test_parts_are_one_block(tmp_path: Path, sparse: bool) -> None:
    parts = [rows(20, sparse=sparse, seed=1), rows(0, sparse=sparse), rows(9, sparse=sparse)]
    whole = write_block(tmp_path / "a.block", parts, "here").load()
    stack = sp.vstack if sparse else np.concatenate
    expected = Rows(
        stack([part.matrix for part in parts]),
        *(
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("target", "weights", "squares")
        ),
    )
    same(whole, expected)


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 64)


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-200] ^= 1
    path.write_bytes(data)


def flip_header(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[70] ^= 1
    path.write_bytes(data)


def lie(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[0] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(
    "harm, message",
    [
        (cut, "has .* bytes where .* were written"),
        (flip, "was changed"),
        (flip_header, "was changed"),
        (lie, "was changed"),
        (Path.unlink, "is missing"),
    ],
)
@pytest.mark.parametrize("loaded", [False, True])
def test_damage(tmp_path: Path, harm: Any, message: str, loaded: bool) -> None:
    block = write_block(tmp_path / "a.block", [rows()], "clicks.parquet, rows 1 to 50")
    if loaded:
        block.load()
    os.utime(block.path, ns=(1, 1))
    harm(Path(block.path))
    with pytest.raises(DataError, match=message) as caught:
        block.load()
    assert "the block of clicks.parquet, rows 1 to 50 in the cache" in str(caught.value)


def test_looks_through_a_block_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    block = write_block(tmp_path / "a.block", [rows()], "here")
    storage._verified.clear()
    looked = []
    real = storage.checksum_of
    monkeypatch.setattr(storage, "checksum_of", lambda data: looked.append(1) or real(data))
    for _ in range(3):
        block.load()
    assert len(looked) == 1
    os.utime(block.path, ns=(1, 1))
    block.load()
    assert len(looked) == 2


class Full:
    """A file on a disk that fills up."""

    def __init__(self, file: Any, room: int) -> None:
        self.file, self.room = file, room

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)

    def __enter__(self) -> Full:
        return self

    def __exit__(self, *error: Any) -> None:
        self.file.close()

    def write(self, data: Any) -> int:
        self.room -= len(data)
        if self.room < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return int(self.file.write(data))


def nearly_full(path: Any, mode: str) -> Any:
    file = open(path, mode)  # noqa: SIM115
    return Full(file, 4000)


def test_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.parquet"
    duckdb.connect().execute(
        f"COPY (SELECT i * 0.5 AS x, i % 2 AS y FROM range(9000) t(i)) TO '{path}' "
        "(FORMAT parquet, ROW_GROUP_SIZE 2048)"
    )
    with monkeypatch.context() as patch:
        patch.setattr(atomic_files, "open", nearly_full, raising=False)
        with pytest.raises(DataError, match="the disk is full: another block does not fit"):
            scan(path, "y", cache=tmp_path / "cache", block_rows=1000)
    left = [entry.name for entry in (tmp_path / "cache").rglob("*") if entry.is_file()]
    assert not [name for name in left if ".tmp" in name or name == "manifest.json"]
    assert scan(path, "y", cache=tmp_path / "cache", block_rows=1000).n_rows == 9000


def test_source_that_changed(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    sql = "COPY (SELECT i * 0.5 AS x, i % {} AS y FROM range(900) t(i)) TO '{}' (FORMAT parquet)"
    duckdb.connect().execute(sql.format(2, path))
    data = scan(path, "y", cache=tmp_path / "cache", cache_limit=0)
    again = pickle.loads(pickle.dumps(data.blocks[0])).load()
    same_matrix = data.blocks[0].load().matrix
    np.testing.assert_array_equal(again.matrix, same_matrix)
    duckdb.connect().execute(sql.format(3, path))
    with pytest.raises(DataError, match="t.parquet was changed after it was scanned"):
        data.blocks[0].load()
    path.unlink()
    with pytest.raises(DataError, match="t.parquet cannot be read any more"):
        data.blocks[0].load()


CHILD = """
import sys
from separatrix import LogisticRegression
from separatrix.scale import scan
data = scan(sys.argv[1], "y", cache=sys.argv[2], memory="500MB")
model = LogisticRegression().fit(data)
# Of this process alone: ru_maxrss begins with what its parent had.
lines = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
print(1024 * int(lines["VmHWM"].split()[0]), model.certificate_.status)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="VmHWM is of Linux")
def test_memory(tmp_path: Path) -> None:
    """A process takes about the memory that it was given, half of which are its libraries."""
    path = tmp_path / "t.parquet"
    columns = ", ".join(f"random()::FLOAT AS x{j}" for j in range(60))
    duckdb.connect().execute(
        f"COPY (SELECT {columns}, i % 2 AS y FROM range(400000) t(i)) TO '{path}' "
        "(FORMAT parquet, COMPRESSION uncompressed)"
    )
    command = [sys.executable, "-c", CHILD, str(path), str(tmp_path / "cache")]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert out[1] == "optimal"
    assert int(out[0]) <= 525e6


@pytest.mark.skipif(sys.platform == "win32", reason="locks as POSIX has them")
def test_a_checkpoint_takes_away_what_a_killed_save_left(tmp_path: Path) -> None:
    (tmp_path / ".separatrix-12-0123456789abcdef.tmp").write_bytes(b"half")
    checkpoint = Checkpoint(tmp_path / "fit", "this one")
    checkpoint.hold("part", np.ones(2), {"loss": np.float64(3.0)})
    checkpoint.save(4)
    assert [path.name for path in tmp_path.iterdir()] == ["fit"]
    passes, held = Checkpoint(tmp_path / "fit", "this one").load() or (0, {})
    assert passes == 4 and held["part"][1]["loss"] == 3.0


def test_a_checkpoint_of_another_fit_is_refused(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "fit", "this one")
    checkpoint.hold("part", np.ones(2), {"loss": np.float64(3.0)})
    checkpoint.save(4)
    with pytest.raises(DataError, match="belongs to another fit"):
        Checkpoint(tmp_path / "fit", "that one").load()
    # What comes after the fit may end, too, and the fit goes on from there.
    with pytest.raises(KeyboardInterrupt), kept_until_end():
        checkpoint.remove()
        raise KeyboardInterrupt
    assert checkpoint.path.exists()
    with kept_until_end():
        checkpoint.remove()
        assert checkpoint.path.exists()
    assert not checkpoint.path.exists()
