"""The benchmark of data larger than memory: its data, its cost model, its rows on tiny sizes."""

from __future__ import annotations

import importlib.util
import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

pytest.importorskip("duckdb")

import duckdb
from benchmarks.scale import ROWS, command, cost_model, generators, measuring, own, processes
from benchmarks.scale.cost_model import Engine, Rows
from benchmarks.scale.peers import LOGISTIC
from benchmarks.scale.rows import logistic_peers, resume, same_bits
from benchmarks.scale.setup import Setup

pytestmark = pytest.mark.benchmarks


def table(files: str) -> dict[str, np.ndarray]:
    return duckdb.connect().execute(f"select * from '{files}'").fetchnumpy()


@pytest.mark.parametrize("kind", ["dense", "clicks"])
def test_made_data_are_those_of_the_seed(kind, tmp_path):
    make = getattr(generators, kind)
    first, again, other = (
        table(make(tmp_path / name, 900, seed))
        for name, seed in (("first", 3), ("again", 3), ("other", 4))
    )
    names = list(first)
    assert len(first[names[0]]) == 900 and len(list((tmp_path / "first").iterdir())) == 3
    assert all((first[name] == again[name]).all() for name in names)
    assert not any((first[name] == other[name]).all() for name in names if name != "c0")


def test_made_data_are_of_the_kinds_that_are_asked_for(tmp_path):
    dense = table(generators.dense(tmp_path / "d", 4000))
    assert len(dense) == 29 and dense["x0"].dtype == np.float32
    assert dense["x0"].min() > 0.0 > dense["x1"].min()  # lognormal; normal
    assert 0.3 < dense["y"].mean() < 0.5
    clicks = table(generators.clicks(tmp_path / "c", 4000))
    assert len(clicks) == 13 + 26 + 1 and 0.02 < clicks["click"].mean() < 0.12
    assert clicks["c25"].dtype == object and len(set(clicks["c0"])) == 4
    # Zipf: one row in sixteen has the most frequent of 100,000 levels, and most have rare ones.
    counts = np.sort(np.unique(clicks["c25"], return_counts=True)[1])[::-1]
    assert 0.03 < counts[0] / 4000 < 0.12 and len(counts) > 1000


def test_a_cost_model_adds_up_work_and_driver():
    rows = Rows(n_bytes=8e9, blocks=100, columns=28)
    engine = Engine(a_pass=0.5, a_block=0.01, bytes_a_second=1e6)
    driver = 100 * (0.01 + 8 * (2 * 28 + cost_model.SUMS) / 1e6)
    assert engine.driver(100, rows.floats) == pytest.approx(driver)
    assert cost_model.pass_seconds(rows, engine, 2, 1e9) == pytest.approx(0.5 + 4.0)
    # However many work: no faster than the driver.
    assert cost_model.pass_seconds(rows, engine, 10_000, 1e9) == pytest.approx(0.5 + driver)
    alone = Engine(0.0, 0.01, 1e6, overlaps=False)
    assert cost_model.pass_seconds(rows, alone, 1, 1e9) == pytest.approx(8.0 + driver)
    # A disk of half the speed of one core is waited for.
    assert cost_model.pass_seconds(rows, engine, 1, 1e9, disk=5e8) == pytest.approx(0.5 + 16.0)


def test_constants_are_found_again():
    true = Engine(a_pass=0.02, a_block=0.001, bytes_a_second=2e8)
    points = [
        {"blocks": n, "floats": k, "seconds": true.a_pass + true.driver(n, k)}
        for n, k in ((8, 1), (128, 1), (8, 100_000), (32, 100_000), (8, 1_000_000))
    ]
    found = cost_model.fitted(points)
    assert found.a_pass == pytest.approx(true.a_pass, rel=1e-6)
    assert found.a_block == pytest.approx(true.a_block, rel=1e-6)
    assert found.bytes_a_second == pytest.approx(true.bytes_a_second, rel=1e-6)


def test_sums_of_a_cluster_climb_a_tree():
    rows = Rows(n_bytes=8e9, blocks=100, columns=1_000_000)
    engine, local = Engine(0.5, 0.01, 1e9), Engine(0.0, 1e-5, 2e9)
    floats = 2 * 1_000_000 + cost_model.SUMS
    found = cost_model.pass_seconds(rows, engine, 4, 1e9, adding=local)
    adding = 25 * 8 * floats / 2e9
    assert found == pytest.approx(0.5 + 2.0 + adding + 3 * 16 * floats / 1e9)
    # A client that is busy with tasks is waited for; more workers do all else faster.
    many = cost_model.pass_seconds(rows, engine, 10_000, 1e9, adding=local)
    assert many == pytest.approx(0.5 + 1.0 + 15 * 16 * floats / 1e9)
    one, two = (
        cost_model.predicted(cost_model.TERABYTE, engine, local, 5e8, w, cost_model.Cluster())
        for w in (16, 256)
    )
    assert two["adding"] < one["adding"] / 8 and two["a pass"] < one["a pass"]
    points = [
        {"blocks": n, "floats": k, "seconds": 0.5 + 0.01 * n + 8 * k * n / 2 / 2e9 + 32 * k / 1e9}
        for n, k in ((8, 1), (128, 1), (8, 100_000), (32, 100_000), (8, 1_000_000))
    ]
    again = cost_model.fitted(points, 2, local)
    assert (again.a_pass, again.a_block) == pytest.approx((0.5, 0.01), rel=1e-6)
    assert again.bytes_a_second == pytest.approx(1e9, rel=1e-6) and again.overlaps


def test_what_two_workers_gain_follows_from_cpu_times():
    known = {"kind": "dense", "engine": "dask", "predicted": 1.0}
    one = {**known, "workers": 1, "client": 1.0, "others": 4.0}
    two = {**known, "workers": 2, "client": 1.5, "others": 7.0}
    assert cost_model.gains([one, two], "dense") == [(0.2, pytest.approx(5.0 / 3.0), 1.0)]
    assert not cost_model.gains([one], "dense") and not cost_model.gains([one, two], "clicks")
    assert cost_model.on_cores({"engine": "local", "workers": 2, "client": 3.0}) == 1.5


def test_blocks_of_many_columns_send_less_as_they_are_cut():
    found = measuring.cut(140_000, n_columns=300_000, n_values=4)
    assert [one["blocks"] for one in found] == [3, 1]
    assert found[0]["read"] == found[1]["read"] and found[0]["sent"] == 3 * found[1]["sent"]


def test_a_pass_over_the_cache_is_that_in_memory(tmp_path):
    files = generators.dense(tmp_path / "d", 3000)
    given = {"memory": "1GB", "cache": str(tmp_path / "cache")}
    data = own.scanned(files, "y", "1GB", str(tmp_path / "cache"))
    theta = np.linspace(-1.0, 1.0, data.n_features + 1)
    cached, copied = (
        own.objective(part, "log", 1.0).account(theta) for part in (data, own.in_memory(data))
    )
    assert cached["loss"] == copied["loss"] and (cached["gradient"] == copied["gradient"]).all()
    speeds = own.pass_speeds(files, "y", repeats=1, **given)
    assert speeds["rows"] == 3000 and speeds["bytes"] == 3000 * (28 * 4 + 4)


def test_points_of_peers_are_judged_by_the_objective(tmp_path):
    files = generators.dense(tmp_path / "d", 2000)
    fit = own.fit(files, "y", cache=str(tmp_path / "cache"), save=str(tmp_path / "theta.npy"))
    assert fit["status"] == "optimal"
    columns = table(files)
    y = np.where(columns.pop("y") == 1, 1.0, -1.0)
    X = np.column_stack([columns[f"x{j}"] for j in range(28)]).astype(float)
    theta = np.load(tmp_path / "theta.npy")
    losses = np.logaddexp(0.0, -y * (X @ theta[:-1] + theta[-1]))
    expected = 0.5 * theta[:-1] @ theta[:-1] + math.fsum(losses)
    judged = own.judge(
        files,
        "y",
        thetas=[str(tmp_path / "theta.npy")],
        C=1.0,
        memory="1GB",
        cache=str(tmp_path / "cache"),
    )
    assert judged["primals"] == [pytest.approx(expected, rel=1e-9)]
    assert fit["dual"] <= expected * (1 + 1e-12)


def test_one_row_from_the_command_line(tmp_path, capsys, monkeypatch):
    """The whole way: data, processes, the table, the document; a peer that is not there says so."""
    monkeypatch.setattr(Setup, "warm", lambda self: None)  # times are not looked at here
    out = tmp_path / "scale.json"
    sizes = ["--rows", "1500", "--clicks", "600", "--repeats", "1"]
    code = command.main(
        [*sizes, "--only", "cached", "--output", str(out), "--folder", str(tmp_path / "data")]
    )
    document = json.loads(out.read_text())
    assert code == 0 and document["rows"]["cached_pass"]["dense"]["rows"] == 1500
    shown = capsys.readouterr().out
    assert "a pass over cached blocks, clicks" in shown and "failed" not in shown


def test_a_process_is_measured_whole():
    ended = processes.call("math:sqrt", {}, limit=60.0)
    assert not ended.ok and "TypeError" in ended.why
    code = "x = bytearray(80_000_000); x[::4096] = b'1' * len(x[::4096])"
    ended = processes.run([sys.executable, "-c", code])
    assert ended.ok and ended.peak > 80_000_000
    killed = processes.run([sys.executable, "-c", "import time; time.sleep(60)"], kill_after=0.3)
    assert killed.code == -9
    late = processes.run([sys.executable, "-c", "import time; time.sleep(60)"], limit=0.3)
    assert late.why == "not done after 0 s"


def test_rows_say_what_is_missing_and_what_is_not_met():
    for name in ROWS:
        assert hasattr(command.row(name), "measure") and hasattr(command.row(name), "lines")
    for name in LOGISTIC:
        module = logistic_peers.peer(name)
        if any(importlib.util.find_spec(need) is None for need in module.NEEDS):
            assert module.HOW in logistic_peers.missing(module, sys.executable)
    point = {"name": "p", "seconds": 12.0, "suboptimality": 1e-4}
    found = {
        "own": {"0.001": 2.0, "1e-06": 3.0},
        "peers": [
            {"name": "a", "points": [point], "failures": []},
            {"name": "b", "absent": "not installed (b): pip install b"},
        ],
    }
    lines = logistic_peers.lines(found)
    assert lines[0][1:] == ["2.00 s", "fastest peer 6.0 times", ">= 5 times the fastest", "met"]
    assert lines[1][1:3] == ["12.00 s", "6.0 times"] and lines[2][1].startswith("not installed")
    assert lines[3][2] == "no peer gets there" and "1.0e-04 after 12.0 s" in lines[4][1]
    ends = [{"same": True, "optimal": True, "lost": lost, "killed": True} for lost in (0, 2)]
    assert resume.lines({"ends": ends, "passes": 4})[0][-1] == "NOT MET"
    apart = {"same": False, "ways": ["1 threads", "2 threads"], "apart": ["2 threads"]}
    assert same_bits.lines(apart)[0][1::3] == ["others: 2 threads", "NOT MET"]


def test_the_page_takes_what_was_measured(tmp_path):
    page = tmp_path / "scale.md"
    page.write_text("a\n<!-- table -->\nold\n<!-- end of table -->\nb\n")
    bits = {"same": True, "ways": ["1 threads", "2 threads"], "apart": []}
    document = {"rows": {"same_bits": bits}, "machine": {"cpu": "c", "cores": 2}, "load": 0.1}
    document |= {"command": "python -m benchmarks scale", "date": "2026-01-01"}
    (tmp_path / "scale.json").write_text(json.dumps(document))
    command.write_page(page, tmp_path)
    said = page.read_text()
    assert "old" not in said and "1 threads, 2 threads" in said and said.endswith("-->\nb\n")
