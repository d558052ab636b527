"""Dask: a real cluster on this machine, whose workers are killed, gives the bits of one process."""

from __future__ import annotations

import gc
import logging
import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

import engine_tasks
from cluster import local_cluster, until
from separatrix import LinearSVC, LogisticRegression
from separatrix.cli import main
from separatrix.exceptions import DataError
from separatrix.persistence.model_file import load_model
from separatrix.scale import Dask, Local, dask_engine, scan
from separatrix.scale.passes import watch_passes
from separatrix.tables import (
    Encoder,
    Table,
    estimating,
    read_table,
    source_files,
    take_target,
)

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
pd = pytest.importorskip("pandas")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

X, Y = load_breast_cancer(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
DATA = scan(X, Y, block_rows=40)

# Apart from the other tests, with whatever may go wrong among processes that are killed.
pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with local_cluster() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def client(cluster: Any) -> Any:
    return cluster.client


def fitted(engine: Any, model: Any = None, **options: Any) -> Any:
    model = LogisticRegression(C=10.0, random_state=0) if model is None else model
    return model.fit(DATA, engine=engine, **options)


def bits(model: Any) -> tuple[bytes, bytes, float]:
    return model.coef_.tobytes(), model.intercept_.tobytes(), model.certificate_.dual


# The tests run in this order: the cluster grows.


@pytest.mark.parametrize("n", [1, 2, 3])
def test_any_number_of_workers_gives_the_bits_of_one_process(cluster, client, n):
    cluster.have(n)
    engine = Dask(client)
    assert bits(fitted(engine)) == bits(fitted(Local(2)))
    svm = LinearSVC(C=0.1, random_state=0)
    assert bits(fitted(engine, svm)) == bits(fitted(Local(1), svm))
    # All of them worked, on each block with one thread.
    seen = list(engine.map(engine_tasks.threads_of, engine.place(DATA.blocks), None))
    assert {parts for parts, _ in seen} == {1}
    assert len({pid for _, pid in seen}) == n


def test_rows_are_sent_once(client):
    engine = Dask(client)
    first = engine.place(DATA.blocks)
    again = engine.place(DATA.blocks)
    assert all(a.future is b.future is not None for a, b in zip(first, again, strict=True))


def test_what_is_large_goes_to_the_workers_by_itself(client):
    engine, rng = Dask(client), np.random.default_rng(0)
    shared, each = rng.normal(size=200_000), [rng.normal(size=70_000) for _ in DATA.blocks]
    placed = engine.place(DATA.blocks)
    found = list(engine.map(engine_tasks.length_of, placed, shared, each))
    assert found == [float(shared.sum() + own.sum()) for own in each]


def test_the_error_of_a_block_is_that_of_one_process(cluster, client):
    cluster.have(2)
    numbered = np.repeat(np.arange(24.0), 10)[:, None]
    data = scan(numbered, np.arange(240) % 2, block_rows=10)
    said = []
    for engine in (Local(2), Dask(client)):
        with pytest.raises(DataError) as told:
            list(engine.map(engine_tasks.refuse, engine.place(data.blocks), 5.0))
        said.append(str(told.value))
    assert said[0] == said[1] == "the row that begins with 5 cannot be used"


def test_the_error_of_the_first_block_ends_a_sum(cluster, client):
    cluster.have(2)
    data = scan(np.repeat(np.arange(24.0), 10)[:, None], np.arange(240) % 2, block_rows=10)
    engine = Dask(client)
    with pytest.raises(DataError, match="the row that begins with 5 cannot be used"):
        engine.reduce(engine_tasks.refuse, engine.place(data.blocks), 5.0)


def test_only_large_sums_are_added_up_by_workers_and_tasks_have_names(cluster, client, monkeypatch):
    cluster.have(2)
    engine, names = Dask(client), []
    data = scan(X, Y, block_rows=5)
    placed = engine.place(data.blocks)
    fetched = dask_engine.fetched

    def counted(client: Any, futures: Any, *how: Any) -> list[Any]:
        names.extend(future.key.rpartition("-")[0] for future in futures)
        return fetched(client, futures, *how)

    monkeypatch.setattr(dask_engine, "fetched", counted)

    def asked(task: Any, shared: Any) -> tuple[set[str], dict[str, bytes]]:
        names.clear()
        found = engine.reduce(task, placed, shared)
        return set(names), {name: value.tobytes() for name, value in found.items()}

    # Sums of unknown size are added up in a tree; small ones are fetched from then on.
    first, again = asked(engine_tasks.moments, 0.1), asked(engine_tasks.moments, 0.1)
    assert first[0] == {"separatrix-add"} and again[0] == {"separatrix-pass-moments"}
    assert first[1] == again[1]
    large = np.linspace(0.0, 1.0, 50_000)
    for _ in range(2):
        assert asked(engine_tasks.as_long, large)[0] == {"separatrix-add"}
    names.clear()
    list(engine.map(engine_tasks.slow_moments, placed[:3], 0.1))
    assert set(names) == {"separatrix-pass-slow-moments"}


@dask_engine.tuned(dask_engine.Tuning(look=0.005))
def test_whoever_stops_early_cancels_what_is_under_way(client):
    # A wait that times out keeps what it waited for in its traceback, which is garbage in a circle:
    # it may be collected late.
    engine = Dask(client)
    placed = engine.place(DATA.blocks)
    gc.disable()
    try:
        results = engine.map(engine_tasks.slow_moments, placed, 0.1)
        next(results)

        def left(dask_scheduler: Any) -> list[Any]:
            return [key for key in dask_scheduler.tasks if key.startswith("separatrix-")]

        def under_way() -> set[str]:
            return {key for key in client.futures if key.startswith("separatrix-")}

        # A scheduler knows nothing of tasks that it has not taken in yet, and cannot cancel them.
        until(lambda: under_way() <= set(client.run_on_scheduler(left)))
        mine = under_way()
        assert mine
        results.close()
        # Tasks of an earlier test that it took in only after they had been cancelled may be there
        # yet.
        until(lambda: not mine & set(client.run_on_scheduler(left)))
    finally:
        gc.enable()


def test_ctrl_c_keeps_the_best_point_and_a_checkpoint_goes_on(client, tmp_path):
    path, engine = tmp_path / "fit.checkpoint", Dask(client)

    def press(progress: Any) -> None:
        if progress.number == 2 and progress.rows > 200:
            os.kill(os.getpid(), signal.SIGINT)

    model = LogisticRegression(C=100.0, random_state=0)
    with watch_passes(press), pytest.raises(KeyboardInterrupt):
        fitted(engine, model, checkpoint=path)
    assert model.certificate_.status == "interrupted"
    counted: list[Any] = []
    with watch_passes(counted.append):
        fitted(engine, model, checkpoint=path)
    assert counted[0].number == 2
    assert model.certificate_.ok


def test_a_command_that_ended_in_the_middle_resumes_on_the_cluster(
    cluster, client, tmp_path, monkeypatch
):
    """From one checkpoint, a cluster and the threads of a process come to the same bits."""
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame(X[:, :6], columns=list("abcdef")).assign(y=Y)
    table.to_csv("rows.csv", index=False)
    words = ["fit", "rows.csv", "--target", "y", "-C", "1000", "--tol", "1e-10", "--test-size", "0"]
    # Rows are cut into several blocks.
    words += ["--memory", "1MB", "--cache", "cache", "-o", "m.separatrix", "-q"]
    remote = ["--engine", "dask", "--scheduler", cluster.scheduler_address]

    def end(progress: Any) -> None:
        if progress.number == 3:
            raise RuntimeError("the machine lost power")

    with watch_passes(end):
        assert main([*words, *remote]) == 70
    kept = Path("m.separatrix.checkpoint").read_bytes()
    models = []
    for engine in ([], remote):
        Path("m.separatrix.checkpoint").write_bytes(kept)
        counted: list[Any] = []
        with watch_passes(counted.append):
            assert main([*words, *engine, "--resume"]) == 0
        # What two passes found is known, and the blocks are more than one.
        assert counted[0].number == 3 and counted[0].rows < counted[0].n_rows
        models.append(load_model("m.separatrix").model)
        assert not Path("m.separatrix.checkpoint").exists()
    assert bits(models[0]) == bits(models[1])
    # Its workers predict as well, and the rows stay in their order.
    words = ["predict", "m.separatrix", "rows.csv", "--proba", "--memory", "1MB", "-q"]
    monkeypatch.setattr(estimating, "bytes_in_memory", lambda *given, **options: 10_000_000)
    for suffix in (".csv", ".jsonl"):
        for name, engine in (("here", []), ("there", remote)):
            assert main([*words, *engine, "-o", name + suffix]) == 0
        assert Path("here" + suffix).read_bytes() == Path("there" + suffix).read_bytes()
        assert len(Path("there" + suffix).read_text().splitlines()) >= len(Y)
    assert main(["predict", "m.separatrix", "-", *remote]) == 2


@dask_engine.tuned(dask_engine.Tuning(answer=0.3))
def test_what_is_no_cluster_is_said_to_be_none():
    with pytest.raises(TypeError, match="address of a scheduler"):
        Dask(8786)
    with pytest.raises(ConnectionError, match="no Dask scheduler answers at tcp://127.0.0.1:9"):
        Dask("tcp://127.0.0.1:9")


def test_an_address_is_enough(cluster):
    with Dask(cluster.scheduler_address) as engine:
        assert repr(engine) == f"Dask({cluster.scheduler_address!r})"
        placed = engine.place(DATA.blocks)
        assert len(list(engine.map(engine_tasks.threads_of, placed, None))) == 15


def test_a_scheduler_that_is_gone_is_said_to_be_gone_at_once_and_the_connection_ends(
    tmp_path,
) -> None:
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "protocol": "tcp"}
    where = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    cluster = distributed.LocalCluster(**options, **where, silence_logs=logging.CRITICAL)

    def end(progress: Any) -> None:
        if progress.number == 2 and cluster.status.name == "running":
            cluster.close()

    sentence = f"the Dask scheduler at {cluster.scheduler_address} is gone; start it again"
    with Dask(cluster.scheduler_address) as engine:
        with watch_passes(end), pytest.raises(ConnectionError, match=sentence):
            fitted(engine, LogisticRegression(tol=1e-12), checkpoint=tmp_path / "kept")
        with pytest.raises(ConnectionError, match=sentence):
            engine.place(DATA.blocks)
    assert engine.client.status == "closed"
    # The first pass is kept, for another cluster or for this process.
    counted: list[Any] = []
    with watch_passes(counted.append):
        fitted(Local(1), LogisticRegression(tol=1e-12), checkpoint=tmp_path / "kept")
    assert counted[0].number == 2


def test_without_distributed_the_sentence_is_a_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r'pip install "separatrix\[dask\]"$'):
        Dask("tcp://127.0.0.1:8786")


# --- collections --------------------------------------------------------------------------------


def test_chunks_of_an_array_are_blocks_and_lengths_need_not_be_known(client):
    engine = Dask(client)
    # Columns in two chunks; a piece of one class; one of a single row.
    rows = (120, 1, 200, 248)
    order = np.argsort(Y, kind="stable")
    x, y = np.ascontiguousarray(X[order]), np.array(["no", "yes"], dtype=object)[Y[order]]
    data = scan(da.from_array(x, chunks=(rows, 17)), y, engine=engine)
    assert [block.n_rows for block in data.blocks] == list(rows)
    assert data.classes.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(data.class_rows, np.bincount(Y))
    model = LogisticRegression(C=10.0, random_state=0).fit(data)
    # The fit ran on the cluster; brought here, the blocks give the same bits.
    assert bits(model) == bits(LogisticRegression(C=10.0, random_state=0).fit(data, engine=Local()))
    # Nothing is kept of the first chunk.
    mask = np.arange(len(Y)) >= 120
    kept = da.from_array(mask, chunks=(rows,))
    filtered = da.from_array(x, chunks=(rows, -1))[kept]
    labels = da.from_array(y, chunks=(rows,))[kept]
    assert np.isnan(filtered.shape[0])
    unknown = scan((filtered, labels), engine=engine)
    assert [block.n_rows for block in unknown.blocks] == list(rows[1:])
    one = LogisticRegression(C=10.0, random_state=0, tol=1e-9).fit(unknown)
    whole = LogisticRegression(C=10.0, random_state=0, tol=1e-9).fit(x[mask], y[mask])
    assert one.certificate_.primal == pytest.approx(whole.certificate_.primal, rel=1e-8)


def frame() -> Any:
    """Numbers and levels, sorted so that partitions lack labels and levels, with values missing."""
    order = np.argsort(Y, kind="stable")
    levels = np.array(["low", "middle", "high"])[np.digitize(X[order, 2], [-0.5, 0.5])]
    made = pd.DataFrame({"radius": X[order, 0], "area": X[order, 3].round(1), "level": levels})
    made.loc[3, "level"] = None
    made.loc[[5, 300], "area"] = np.nan
    made["whole"] = pd.array(np.arange(len(Y)) % 7, dtype="Int64")
    made["weight"] = 1.0 + np.arange(len(Y)) % 3
    made["click"] = np.where(Y[order] == 1, "yes", "no")
    return made


def test_partitions_of_a_frame_are_encoded_as_the_table_is(client):
    whole = frame()
    # The last of them has no row.
    cut = dd.from_pandas(whole, npartitions=5, sort=False)
    cut = dd.concat([cut, cut[cut["radius"] > 1e9]], interleave_partitions=False)
    data = scan(cut, target="click", weight="weight", engine=Dask(client))
    assert data.n_rows == len(whole) and cut.npartitions > len(data.blocks)
    table = Table.from_columns({name: whole[name].to_numpy() for name in whole.columns[:4]})
    encoder = Encoder().fit(table)
    assert list(data.feature_names) == encoder.feature_names_
    assert "level=(missing)" in data.feature_names and "area=(missing)" in data.feature_names
    matrix = np.vstack([block.load().matrix for block in data.blocks])
    np.testing.assert_allclose(matrix, encoder.transform(table), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(data.encoder.transform(table), matrix)
    model = LogisticRegression(tol=1e-9).fit(data)
    same = LogisticRegression(tol=1e-9).fit(
        encoder.transform(table), whole["click"].to_numpy(), sample_weight=whole["weight"]
    )
    assert model.certificate_.primal == pytest.approx(same.certificate_.primal, rel=1e-8)
    assert model.classes_.tolist() == ["no", "yes"]
    assert list(data.feature_names) == data.encoder.feature_names_


MIXED = """
SELECT random()::FLOAT AS a, CASE WHEN i % 50 = 7 THEN NULL ELSE i / 7.0 END AS b,
    CASE WHEN i % 11 = 3 THEN -999 ELSE i % 40 END AS c,
    CASE WHEN i > 900 THEN 'late' WHEN i % 9 = 0 THEN '?' ELSE ['red', 'green ', 'blue'][i % 3 + 1]
        END AS colour,
    '$' || (i % 50) || '.50' AS price, DATE '2020-01-01' + (i % 400)::INTEGER AS day,
    'the words of row ' || (i % 700) || ' are ' || (i % 600) AS words, i AS row_id,
    ['no', 'yes'][(random() < 0.4)::INTEGER + 1] AS label
FROM range({first}, {last}) t(i)
"""


def write_folder(folder: Path, columns: str = "*") -> str:
    duckdb = pytest.importorskip("duckdb")
    folder.mkdir()
    with duckdb.connect() as connection:
        connection.execute("SELECT setseed(0.5)")
        connection.execute("SET threads = 1")
        for k in range(3):
            sql = MIXED.format(first=400 * k, last=400 * k + 400)
            connection.execute(
                f"COPY (SELECT {columns} FROM ({sql})) TO '{folder}/{k}.parquet' (FORMAT parquet)"
            )
    return f"{folder}/*.parquet"


@pytest.mark.parametrize("columns", ["*", "a, label"])
def test_workers_read_files_that_the_client_never_opens(
    cluster, client, tmp_path, monkeypatch, columns
):
    """Workers find what columns add up to, and encode rows, with the bits of one process."""
    pattern, options = (
        write_folder(tmp_path / "data", columns),
        {"test_size": 0.1, "block_rows": 90},
    )
    here = scan(pattern, "label", cache=tmp_path / "here", **options)
    cluster.have(2)
    opened: list[str] = []
    watching = [True]

    def watch(event: str, given: tuple[Any, ...]) -> None:
        if watching and event == "open" and str(given[0]).endswith(".parquet"):
            opened.append(str(given[0]))

    sys.addaudithook(watch)
    # DuckDB opens files without asking Python.
    monkeypatch.setattr(source_files, "import_duckdb", lambda: pytest.fail("DuckDB is used here"))
    monkeypatch.chdir(tmp_path)
    # Workers open what is behind an address by themselves, too.
    name = "data/*.parquet" if columns == "*" else f"local://{pattern}"
    there = scan(name, "label", cache="there", engine=Dask(client), **options)
    model = LogisticRegression(random_state=0).fit(there)
    watching.clear()
    assert not opened
    assert bits(model) == bits(LogisticRegression(random_state=0).fit(here))
    assert there.fingerprint == here.fingerprint
    assert there.encoder.alerts_ == here.encoder.alerts_ and there.notes == here.notes
    assert there.feature_names == here.feature_names
    assert there.source == name
    for mine, other in zip([*there.blocks, *there.held], [*here.blocks, *here.held], strict=True):
        assert mine.checksum == other.checksum


def test_a_frame_that_is_nothing_but_files_is_read_as_they_are(client, tmp_path, monkeypatch):
    pattern = write_folder(tmp_path / "data")
    names = ["a", "b", "c", "colour", "label"]
    cut, engine, cache = dd.read_parquet(pattern)[names], Dask(client), tmp_path / "cache"
    left_out = [name for name in dd.read_parquet(pattern).columns if name not in names]
    options = {"cache": cache, "test_size": 0.2, "engine": engine}
    there = scan(cut, "label", **options)
    here = scan(pattern, "label", ignore=left_out, **options)
    assert there.fingerprint == here.fingerprint and "found in the cache" in here.notes[0]
    # Rows that are chosen are no files; nor are files any use where workers share no cache.
    filtered = dd.read_parquet(pattern, filters=[("a", ">", 0.5)])[names]
    for frame in (filtered, cut[cut.a > 0.5]):
        assert scan(frame, "label", engine=engine).source == "a Dask collection"
    monkeypatch.setattr(Dask, "on_every_worker", lambda *given: [False])
    assert scan(cut, "label", engine=engine).source == "a Dask collection"


def messy_cells(n: int = 240) -> dict[str, Any]:
    """Cells as offices export them: durations, units, shares, lists, spellings, limits, dates."""
    rng = np.random.default_rng(3)
    times = zip(*(rng.integers(0, k, n) for k in (3, 60, 60)), strict=True)
    words = ("card", "cash", "bill")
    return {
        "took": [f"{hours}:{minutes:02}:{seconds:02}" for hours, minutes, seconds in times],
        "mass": [f"{v:.1f} kg" if v < 70 else f"{1000 * v:.0f} g" for v in rng.uniform(40, 90, n)],
        "share": [f"{k}/10" for k in rng.integers(0, 11, n)],
        "paid": [", ".join(np.array(words)[rng.random(3) < 0.5]) for _ in range(n)],
        "town": rng.choice(["Ulm", "ulm", "Ulm ", "Bern", "Zürich", "zurich"], n),
        "crp": ["<0.5" if v < 0.5 else f"{v:.2f}" for v in rng.lognormal(0.0, 1.0, n)],
        "seen": [str(np.datetime64("2021-01-05") + int(k)) for k in rng.integers(0, 700, n)],
        "level": rng.integers(100, 999, n).astype(float),
        "area": np.exp(rng.normal(3.0, 1.0, n)).round(3),
        "y": rng.choice(["yes", "no"], n),
    }


@pytest.mark.parametrize("terms", [None, ["log(area)", "spline(level, 3)", "area:share"]])
def test_messy_cells_of_partitions_are_read_by_workers_as_in_memory(client, tmp_path, terms):
    cells = pd.DataFrame(messy_cells())
    for k in range(4):
        cells[60 * k : 60 * (k + 1)].to_parquet(tmp_path / f"{k}.parquet", row_group_size=25)
    pattern, engine = str(tmp_path / "*.parquet"), Dask(client)
    table = read_table(pattern, target="y")
    features, y = take_target(table, "y")
    encoder = Encoder(terms=terms).fit(features, y)
    expected = encoder.transform(features)
    found = {
        name: scan(source, "y", terms=terms, single=False, cache=tmp_path / name, engine=on)
        for name, source, on in (
            ("here", pattern, None),
            ("there", pattern, engine),
            ("frame", dd.read_parquet(pattern), engine),
        )
    }
    assert len({data.fingerprint for data in found.values()}) == 1
    for data in found.values():
        assert data.source == pattern and data.encoder.feature_names_ == encoder.feature_names_
        matrix = np.vstack([block.load().matrix for block in data.blocks])
        # Sums over the rows of several files are rounded apart.
        np.testing.assert_allclose(matrix, expected, rtol=1e-13, atol=1e-14)
        notes = {*map(str, (*data.notes[1:], *data.encoder.alerts_))}
        assert notes == {*map(str, (*table.notes, *table.alerts, *encoder.alerts_))}
    if terms is None:
        assert sum("keep what is written with" in note for note in notes) == 4
        assert {"paid (card)", "seen (month)=Feb"} <= set(encoder.feature_names_)


def test_what_is_wrong_in_a_file_is_said_by_the_worker_that_reads_it(client, tmp_path):
    pattern = write_folder(
        tmp_path / "data", "a, CASE WHEN row_id = 900 THEN 'inf'::DOUBLE ELSE b END AS b, label"
    )
    for engine in (None, Dask(client)):
        with pytest.raises(DataError, match=r"2.parquet, row 101: column 'b' is infinite"):
            scan(pattern, "label", cache=tmp_path / "cache", engine=engine)
        with pytest.raises(DataError, match="no column 'lable'.*did you mean 'label'"):
            scan(pattern, "lable", cache=tmp_path / "cache", engine=engine)


@dask_engine.tuned(dask_engine.Tuning(patience=0.2, look=0.05))
def test_where_no_worker_is_left_to_read_one_sentence_says_so(tmp_path):
    pattern = write_folder(tmp_path / "data", "a, label")
    options = {"threads_per_worker": 1, "processes": False, "protocol": "tcp"}
    where = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    with (
        distributed.LocalCluster(
            n_workers=0, **options, **where, silence_logs=logging.CRITICAL
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        engine = Dask(client)
        with pytest.raises(ConnectionError, match="has no workers; start some"):
            scan(pattern, "label", cache=tmp_path / "cache", engine=engine)
        with pytest.raises(ConnectionError, match="has no workers; start some"):
            engine.gathered([client.submit(len, "abc")], "the files")


def test_a_quantity_of_a_collection_is_named_where_values_may_be_missing(client):
    X = np.arange(80.0).reshape(40, 2)
    y = np.where(np.arange(40) % 10 == 0, -999.0, np.arange(40.0))
    engine = Dask(client)
    table = dd.from_pandas(pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y}), npartitions=3)
    by_name = scan(table, target="y", quantity=True, engine=engine)
    (note,) = [note for note in by_name.notes if "-999" in note]
    assert "the target 'y': 4 cells" in note
    arrays = da.from_array(X, chunks=(9, 2)), da.from_array(y, chunks=9)
    assert note in scan(*arrays, quantity=True, engine=engine).notes


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"click": None}, "partition 3, row 1 has no target; leave such rows out"),
        ({"radius": np.inf}, "inf is not a finite number"),
        ({"weight": -1.0}, "partition 3: sample_weight must not be negative; row 0 has -1."),
    ],
)
def test_what_is_wrong_in_a_partition_is_told_with_its_place(client, change, said):
    cut = dd.from_pandas(frame(), npartitions=5, sort=False)
    made = frame()
    first = len(cut.partitions[0]) + len(cut.partitions[1])
    ((name, value),) = change.items()
    made.loc[first, name] = value
    with pytest.raises(DataError, match=re.escape(said)):
        cut = dd.from_pandas(made, npartitions=5, sort=False)
        scan(cut, target="click", weight="weight", engine=Dask(client))


def test_what_cannot_be_scanned_is_said_in_a_sentence(client):
    engine = Dask(client)
    cut = dd.from_pandas(frame(), npartitions=2, sort=False)
    with pytest.raises(DataError, match="target='clack' is not a column.*did you mean 'click'"):
        scan(cut, target="clack", engine=engine)
    with pytest.raises(DataError, match="create a distributed.Client first"):
        scan(cut, target="click")
    with pytest.raises(DataError, match="has 1 class; a classifier"):
        scan(cut[cut["click"] == "no"], target="click", engine=engine)
    x = da.from_array(X, chunks=(300, -1))
    with pytest.raises(DataError, match="569 rows and 568 targets"):
        scan(x, Y[1:], engine=engine)
    with pytest.raises(DataError, match="chunk 2: Input X contains NaN at row 4, column 1"):
        scan(
            da.where(np.arange(569)[:, None] * 30 + np.arange(30) == 9121, np.nan, x),
            Y,
            engine=engine,
        )


# --- workers die ----------------------------------------------------------------------------------


@pytest.mark.parametrize("known", [False, True], ids=["tree", "fetched"])
def test_a_worker_that_dies_in_the_middle_of_a_pass_changes_no_bit(cluster, client, known):
    cluster.have(3)
    data = scan(X, Y, block_rows=10)
    engine = Dask(client)
    placed = engine.place(data.blocks)
    if known:
        # This pass finds out the size of the sums; small ones are added up here.
        engine.reduce(engine_tasks.slow_moments, placed, 0.1)
    before = {one.future.key for one in placed}
    done: list[int] = []
    struck: list[int] = []

    def strike(k: int) -> None:
        done.append(k)
        if not struck:
            struck.append(cluster.kill_one())

    found = engine.reduce(engine_tasks.slow_moments, placed, 0.1, strike)
    expected = Local(1).reduce(engine_tasks.moments, data.blocks, 0.1)
    assert {name: x.tobytes() for name, x in found.items()} == {
        name: x.tobytes() for name, x in expected.items()
    }
    # Every block is reported once, however often it was worked on.
    assert sorted(done) == list(range(len(placed)))
    # The blocks that lay with the dead worker were sent again, and no others.
    lost = before - {one.future.key for one in placed}
    assert 0 < len(lost) < len(before)
    cluster.have(3)
    assert struck[0] not in cluster.pids().values()


def test_results_of_blocks_come_in_their_order_although_a_worker_dies(cluster, client):
    cluster.have(3)
    data = scan(X, Y, block_rows=10)
    engine = Dask(client)
    results = engine.map(engine_tasks.slow_moments, engine.place(data.blocks), 0.1)
    found = [next(results)]
    cluster.kill_one()
    found += results
    expected = [engine_tasks.moments(block.load(), 0.1, None) for block in data.blocks]
    assert [x["sum"].tobytes() for x in found] == [x["sum"].tobytes() for x in expected]


def test_a_worker_that_is_added_in_the_middle_of_a_pass_changes_no_bit(cluster, client):
    cluster.have(3)
    data = scan(X, Y, block_rows=10)
    engine, grown = Dask(client), []

    def grow(k: int) -> None:
        if not grown:
            grown.append(k)
            cluster.have(4)

    placed = engine.place(data.blocks)
    found = [engine.reduce(engine_tasks.slow_moments, placed, 0.1, grow) for _ in range(2)]
    expected = Local(1).reduce(engine_tasks.moments, data.blocks, 0.1)
    for name, value in expected.items():
        assert {one[name].tobytes() for one in found} == {value.tobytes()}


def test_a_fit_during_which_a_worker_dies_has_the_same_bits(cluster, client):
    cluster.have(2)
    struck: list[int] = []

    def strike(progress: Any) -> None:
        if progress.number == 2 and not struck:
            struck.append(cluster.kill_one())

    with watch_passes(strike):
        model = fitted(Dask(client))
    assert struck
    assert bits(model) == bits(fitted(Local(2)))


def test_rows_that_a_dead_worker_kept_are_made_again(cluster, client):
    cluster.have(2)
    data = scan(da.from_array(X, chunks=(50, -1)), Y, engine=Dask(client))
    before = bits(LogisticRegression(C=10.0, random_state=0).fit(data))
    cluster.kill_one()
    # A scheduler that has not noticed the death may have the dead worker make the rows, and this
    # cluster, unlike others, gives every task back whose worker died, also those of the collection.
    cluster.have(2)
    assert bits(LogisticRegression(C=10.0, random_state=0).fit(data)) == before


@dask_engine.tuned(dask_engine.Tuning(tries=2))
def test_a_block_that_no_worker_survives_is_said_to_be_one(cluster, client):
    cluster.have(2)
    data = scan(X[:60], Y[:60], block_rows=60)
    engine = Dask(client)
    with pytest.raises(
        ConnectionError, match="died again and again while they worked on rows 1 to 60"
    ):
        list(engine.map(engine_tasks.die, engine.place(data.blocks), None))
    with pytest.raises(ConnectionError, match="again and again while they worked on the files"):
        engine.gathered([client.submit(engine_tasks.die, None, None, None)], "the files")
