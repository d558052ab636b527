"""Model files are hostile until proved otherwise: forgeries, mutants, pipes, orphans."""

from __future__ import annotations

import copy
import os
import re
import subprocess
import sys
import time
import tracemalloc
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from benchmarks import model_files
from benchmarks.model_files import closed, opened

import separatrix
from grids import share
from separatrix.exceptions import ModelFileError
from separatrix.models.discriminant import LinearDiscriminantAnalysis
from separatrix.models.registry import ESTIMATORS
from separatrix.persistence import model_file
from separatrix.persistence.checks import NOT_STORED
from separatrix.persistence.document import digest_of
from separatrix.persistence.model_file import (
    check_writable,
    load_model,
    looks_like_model,
    save_model,
)

# A slice of the mutants; python -m benchmarks.model_files makes all 20,000.
MUTANTS = int(os.environ.get("SEPARATRIX_MUTANTS", share(300)))


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "model.separatrix"


@pytest.fixture(scope="module")
def models() -> tuple[Any, ...]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model_files.fitted_models()


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    return model_files._data(2)


# ------------------------------------------------------------------------------------ mutants


@pytest.mark.sampled
def test_mutants_are_refused_or_predict(tmp_path):
    # What the mutants are made of is fitted before memory is watched, which slows all down.
    model_files.valid_files()
    tracemalloc.start()
    try:
        found = {
            number: model_files.failure_of(number, tmp_path / "mutant", seed=7)
            for number in range(MUTANTS)
        }
    finally:
        tracemalloc.stop()
    assert {number: told for number, told in found.items() if told is not None} == {}


def test_mutants_are_told_apart_from_what_is_wrong(tmp_path):
    # The harness sees what it is there to see.
    valid = model_files.valid_files()[0]
    assert model_files.use(valid, tmp_path / "m") == "loaded"
    assert model_files.use(valid[:-1], tmp_path / "m") == "refused"
    assert model_files.mutant(5) == model_files.mutant(5) != model_files.mutant(6)


@pytest.mark.benchmarks
def test_the_command_counts_failures():
    words = [sys.executable, "-m", "benchmarks.model_files", "--mutants", "3"]
    root = Path(__file__).parents[1]
    paths = os.pathsep.join([str(root / "src"), str(root)])
    ran = subprocess.run(
        words, cwd=root, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": paths}
    )
    assert ran.stdout == "3 mutants, 0 failures\n", ran.stderr
    assert ran.returncode == 0


# -------------------------------------------------------------------------------------- rules


def test_every_fitted_attribute_has_a_rule(models):
    assert {type(model).__name__ for model in models} == set(ESTIMATORS)
    for model in models:
        rules = model._attributes
        named = {key for key in vars(model) if model_file._FITTED_NAME.fullmatch(key)}
        assert named - NOT_STORED <= set(rules), model


def test_every_model_comes_back_and_is_saved_again(path, models):
    for model in models:
        save_model(path, model)
        first = path.read_bytes()
        save_model(path, load_model(path).model)
        assert path.read_bytes() == first, model


@pytest.mark.parametrize("kind", ["LogisticRegression", "LinearSVC", "SGDClassifier", "SVC"])
@pytest.mark.parametrize("n_features", [1, 10**5, 10**8])
def test_a_forged_number_of_columns(path, data, kind, n_features):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        save_model(path, getattr(separatrix, kind)().fit(*data))
    document, tensors = opened(path.read_bytes())
    document["model"]["fitted"]["n_features_in_"] = n_features
    path.write_bytes(closed(document, tensors))
    with pytest.raises(ModelFileError, match="and the rest of the model requires") as caught:
        load_model(path)
    assert kind in str(caught.value) and "\n" not in str(caught.value)


def test_attributes_changed_by_hand_give_an_error_and_no_memory(models):
    for model in models:
        if type(model).__name__ not in ("LogisticRegression", "LinearSVC", "SGDClassifier"):
            continue
        wide = 10**6
        rows = sp.csr_matrix((np.ones(2), [0, wide - 1], [0, 1, 2]), shape=(2, wide))
        model = copy.copy(model)
        model.n_features_in_ = wide
        with pytest.raises(ValueError, match="which does not match data of 1,000,000"):
            model.predict(rows)


def broken(rows: sp.csr_matrix, **parts: Any) -> sp.csr_matrix:
    """A CSR matrix whose arrays were exchanged, as scipy lets anybody do."""
    rows = rows.copy()
    for name, value in parts.items():
        setattr(rows, name, np.asarray(value, dtype=getattr(rows, name).dtype))
    return rows


BROKEN = {
    "an entry beyond the columns": {"indices": [0, 1, 10**6]},
    "an entry before the columns": {"indices": [0, -1, 2]},
    "rows that end before they begin": {"indptr": [0, 3, 1]},
    "rows beyond the entries": {"indptr": [0, 2, 10**6]},
    "rows from the middle": {"indptr": [1, 2, 3]},
}


@pytest.mark.parametrize("name", BROKEN)
def test_index_arrays_that_point_outside_are_refused(models, name):
    good = sp.csr_matrix((np.ones(3), [0, 1, 2], [0, 2, 3]), shape=(2, 3))
    bad = broken(good, **BROKEN[name])
    seen = set()
    for model in models:
        if model.n_features_in_ != 3 or not hasattr(model, "certificate_"):
            continue
        model.predict(good)
        with pytest.raises(ValueError, match=r"CSR matrix of shape 2 by 3 is damaged"):
            model.predict(bad)
        seen.add(type(model).__name__)
    assert seen == set(ESTIMATORS)


def test_what_could_not_be_read_is_not_written(path, data):
    model = separatrix.LogisticRegression().fit(*data)
    model.coef_ = np.array([[1.0, np.nan, 0.0]])
    with pytest.raises(ValueError, match="cannot be saved.* coef_ holds NaN or infinity"):
        save_model(path, model)
    model.coef_ = np.zeros((1, 2))
    with pytest.raises(ValueError, match=r"cannot be saved.* coef_ has the shape \(1, 2\)"):
        save_model(path, model)
    assert os.listdir(path.parent) == []


def test_a_model_that_waits_for_rows_of_a_class(path, data):
    X, y = data
    model = LinearDiscriminantAnalysis().partial_fit(X[:9], y[:9], classes=[0, 1, 2])
    save_model(path, model)
    again = load_model(path).model
    more = np.concatenate([y[9:], [2, 2, 2]])
    again.partial_fit(np.vstack([X[9:], X[:3] + 4.0]), more)
    assert again.predict(X).shape == y.shape


# ------------------------------------------------------------------------------- other sorts


@pytest.mark.skipif(sys.platform == "win32", reason="pipes and devices as POSIX has them")
def test_what_is_not_a_regular_file_is_refused_at_once(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "link").symlink_to(pipe)
    for name in (pipe, tmp_path / "link", "/dev/zero", "/dev/null", "/dev/tty"):
        if not os.path.exists(name):
            continue
        start = time.process_time()
        with pytest.raises(
            ModelFileError, match="is not a regular file, so it cannot be a model file"
        ):
            load_model(name)
        assert not looks_like_model(name)
        assert time.process_time() - start < 5.0
    with pytest.raises(ModelFileError, match="is a folder, not a model file"):
        load_model(tmp_path)
    with pytest.raises(ModelFileError, match="cannot be read: embedded null byte"):
        load_model("a\0b")


def test_a_file_that_is_too_large_is_not_read(path, monkeypatch):
    with open(path, "wb") as file:
        # The file is sparse: the disk holds nothing of it.
        file.truncate(model_file.MAX_BYTES + 1)
    tracemalloc.start()
    try:
        with pytest.raises(
            ModelFileError, match="17,179,869,185 bytes, and the limit of a model file"
        ):
            load_model(path)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_nothing_larger_is_written(data):
    model = separatrix.LogisticRegression().fit(*data)
    with pytest.raises(ValueError, match="bytes, and the limit of a model file is 500"):
        model_file._serialise(model, None, {}, most_bytes=500)


def test_wide_labels_take_what_they_warrant(path, data):
    X, y = data
    labels = np.array(["no", "yes"], dtype="<U3")[y]
    wide = separatrix.LogisticRegression().fit(X, labels.astype("<U400"))
    save_model(path, wide)
    assert load_model(path).model.classes_.dtype == np.dtype("<U400")
    wide.classes_ = wide.classes_.astype("<U5000000")
    with pytest.raises(TypeError, match="much wider than the labels are"):
        save_model(path, wide)


def test_memory_that_a_forged_width_asks_for_is_not_taken(path, data):
    save_model(path, separatrix.LogisticRegression().fit(*data))
    document, tensors = opened(path.read_bytes())
    labels = {"dtype": "<U500000000", "shape": [2], "values": ["a", "b"]}
    document["model"]["fitted"]["classes_"] = {"$array": labels}
    path.write_bytes(closed(document, tensors))
    assert path.stat().st_size < 2000
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match="much wider than they need to be"):
            load_model(path)
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


# ------------------------------------------------------------------------------------- digest


def test_any_change_of_anything_fitted_is_noticed(path, models):
    """Every number of every array, by one unit in the last place, and every plain number."""
    rng = np.random.default_rng(0)
    for model in models:
        save_model(path, model)
        data = path.read_bytes()
        document, tensors = opened(data)
        digest = document["model"]["digest"]
        assert load_model(path).digest == digest
        for name, value in tensors.items():
            if not value.size:
                continue
            flat = value.reshape(-1)
            place = rng.integers(flat.size)
            before = flat[place]
            flat[place] = np.nextafter(before, 1e308) if value.dtype.kind == "f" else before ^ 1
            if np.isnan(before):
                flat[place] = 0.0
            assert digest_of(document, tensors) != digest, (model, name)
            flat[place] = before
        assert digest_of(document, tensors) == digest
        for holder, key in model_files._places(document["model"]["fitted"]):
            value = holder[key]
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                holder[key] = value + 1 if abs(value) < 1e9 else 2 * value
                assert digest_of(document, tensors) != digest, (model, key)
                holder[key] = value


def stale(path: Path, change) -> None:
    """Change arrays, and bring the checksum of the whole file up to date, but not the digest."""
    from safetensors.numpy import save

    document, tensors = opened(path.read_bytes())
    change(tensors)
    document["sha256"] = "0" * 64
    text = model_files.json.dumps(document, separators=(",", ":"))
    path.write_bytes(model_files.checked(save(tensors, metadata={"separatrix": text})))


def test_a_changed_weight_under_a_right_checksum_is_refused(path, models):
    changed = 0
    for model in models:
        if "coef_" not in vars(model):
            continue
        save_model(path, model)

        def change(tensors: dict[str, np.ndarray]) -> None:
            name = "model/coef_" if "model/coef_" in tensors else "model/coef_/data"
            weights = tensors[name].reshape(-1)
            weights[-1] = np.nextafter(weights[-1], np.inf)

        stale(path, change)
        with pytest.raises(
            ModelFileError, match="was changed after it was saved: the fitted numbers"
        ):
            load_model(path)
        changed += 1
    assert changed > 20


# ------------------------------------------------------------------------------------ orphans


WRITER = """
import os, sys, time
from pathlib import Path
from separatrix.persistence import model_file

if sys.argv[2] == "hang":
    os.fsync = lambda descriptor: (print("writing", flush=True), time.sleep(60))
model_file.write_atomically(sys.argv[1], b"by another process")
"""


def writer(path: Path) -> subprocess.Popen:
    """A process in the middle of a write."""
    source = str(Path(model_file.__file__).parents[2])
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), "hang"],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": source},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"writing\n"
    return process


@pytest.mark.skipif(sys.platform == "win32", reason="locks as POSIX has them")
@pytest.mark.signals
def test_the_next_write_sweeps_up_after_one_that_was_killed(path):
    process = writer(path)
    temporary = [name for name in os.listdir(path.parent) if name.endswith(".tmp")]
    assert len(temporary) == 1
    assert re.fullmatch(r"\.separatrix-[0-9]+-[0-9a-f]{16}\.tmp", temporary[0])
    # As long as the process lives, its temporary file is kept.
    model_file.write_atomically(path, b"mine")
    assert sorted(os.listdir(path.parent)) == sorted([*temporary, path.name])
    process.kill()
    process.communicate()
    model_file.write_atomically(path, b"mine again")
    assert os.listdir(path.parent) == [path.name]
    assert path.read_bytes() == b"mine again"


@pytest.mark.skipif(sys.platform == "win32", reason="locks as POSIX has them")
def test_only_orphans_of_ours_are_swept(path):
    folder = path.parent
    kept = [
        ".separatrix-0123456789abcdef.tmp",  # of a version that locked nothing, and new
        ".separatrix-12-0123456789abcde.tmp",
        ".separatrix-12-0123456789abcdef.tmp.txt",
        "separatrix-12-0123456789abcdef.tmp",
        ".separatrix-notes.tmp",
    ]
    for name in kept:
        (folder / name).write_bytes(b"")
    (folder / ".separatrix-12-00000000000000aa.tmp").mkdir()
    outside = folder.parent / "outside"
    outside.write_bytes(b"")
    (folder / ".separatrix-12-00000000000000bb.tmp").symlink_to(outside)
    (folder / ".separatrix-12-0123456789abcdef.tmp").write_bytes(b"")
    old = folder / ".separatrix-fedcba9876543210.tmp"
    old.write_bytes(b"")
    os.utime(old, (time.time() - 2e5,) * 2)
    model_file.write_atomically(path, b"new")
    left = set(os.listdir(folder))
    assert left == {
        *(*kept, path.name),
        ".separatrix-12-00000000000000aa.tmp",
        ".separatrix-12-00000000000000bb.tmp",
    }
    assert outside.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="locks as POSIX has them")
def test_a_file_taken_for_an_orphan_before_it_was_locked_is_made_again(path, monkeypatch):
    import fcntl

    real, taken = fcntl.flock, []

    def sweep_first(descriptor: int, how: int) -> None:
        if how == fcntl.LOCK_EX and not taken:
            taken.extend(name for name in os.listdir(path.parent) if name.endswith(".tmp"))
            os.unlink(path.parent / taken[0])
        real(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", sweep_first)
    model_file.write_atomically(path, b"all of it")
    assert taken
    assert path.read_bytes() == b"all of it"
    assert os.listdir(path.parent) == [path.name]


def test_where_there_are_no_locks_writes_still_work(path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def refuse(descriptor: int, how: int) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", refuse)
    orphan = path.parent / ".separatrix-12-0123456789abcdef.tmp"
    orphan.write_bytes(b"")
    model_file.write_atomically(path, b"one")
    check_writable(path)
    assert orphan.exists() and path.read_bytes() == b"one"
