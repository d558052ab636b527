"""The drawn tables of ``python -m benchmarks auto``, its ratios, and one small run of it."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import __main__ as command
from benchmarks import auto, report
from benchmarks.objectives import LOSSES

pytestmark = pytest.mark.benchmarks
SIZE = 2e4


def test_a_seed_always_draws_the_same_cells_within_the_size() -> None:
    cells = auto.drawn(range(20), 10, SIZE)
    assert cells[:15] == [*auto.drawn([0], 10, SIZE), *auto.drawn([1], 5, SIZE)]
    assert len({cell.label for cell in cells}) == len(cells) == 200
    assert {cell.loss for cell in cells} == set(LOSSES)
    for name in ("kind", "sparse", "l1_ratio", "intercept", "one_vs_rest", "single", "threads"):
        assert len({getattr(cell, name) for cell in cells}) > 1, name
    for cell in cells:
        assert cell.rows * cell.columns * (cell.density if cell.sparse else 1.0) <= SIZE
        assert auto.ROWS[0] <= cell.rows <= auto.ROWS[1]
        assert auto.COLUMNS[0] <= cell.columns <= auto.COLUMNS[1]
        assert auto.STRENGTHS[0] <= cell.C <= auto.STRENGTHS[1]
        assert cell.loss != "hinge" or cell.l1_ratio == 0.0


def test_a_table_is_what_its_cell_says() -> None:
    for cell in auto.drawn(range(4), 5, SIZE):
        data, again = auto.made(cell), auto.made(cell)
        X = data.csr if cell.sparse else data.dense
        assert X is not None
        assert X.shape == (cell.rows, cell.columns), cell
        assert X.dtype == (np.float32 if cell.single else np.float64)
        many = cell.one_vs_rest or cell.loss == "multinomial"
        labels = range(cell.classes) if many else (-1.0, 1.0)
        assert set(np.unique(data.y)) == set(labels), cell
        other = again.csr if cell.sparse else again.dense
        dense = [M.toarray() if sp.issparse(M) else M for M in (X, other)]
        assert np.isfinite(dense[0]).all()
        np.testing.assert_array_equal(*dense)
        np.testing.assert_array_equal(data.y, again.y)


def test_every_cell_has_contenders_and_at_most_one_of_scikit_learn() -> None:
    for cell in auto.drawn(range(5), 10, SIZE):
        found = auto.contenders(cell, 1.0)
        assert ("columns" in found) is not cell.sparse
        assert {"auto", *auto.NAMED} <= set(found)
        for solver, _ in found.values():
            assert solver.fits(cell.row, cell.columns), (cell, solver.name)


def document(**seconds: dict[str, float]) -> dict:
    runs = {
        name: {"seconds": dict.fromkeys(("0.0001", "1e-06"), s), "primal": 1.0, "over": None}
        for name, s in seconds.items()
    }
    cell = {**asdict(auto.draw(0, 0, SIZE)), "text": "a table", "runs": runs}
    options = {"clock": "cpu", "limit": 1.0, "size": SIZE}
    machine = report.machine(1)
    return {"cells": [cell], "date": "", "machine": machine, "options": options}


def test_ratios_are_to_the_best_by_name_and_to_columns() -> None:
    made = document(auto=0.3, newton=0.1, dual=0.2, columns=0.6, **{"scikit-learn": 0.15})
    (line, _) = auto.lines(made)
    assert line.named == (0.1, "newton")
    assert line.behind == pytest.approx(3.0)
    printed = auto.text(made)
    assert printed.count("0% <= 1.3") == 2
    assert "a table" in printed
    missed = document(auto=0.3, newton=0.1)
    missed["cells"][0]["runs"]["auto"].update(seconds={}, over=1.0)
    (line, _) = auto.lines(missed)
    assert (line.auto, line.behind) == (None, pytest.approx(10.0))
    assert "1 of them not in time" in auto.text(missed)


def test_the_default_is_judged_at_the_accuracy_that_it_reaches() -> None:
    made = document(auto=0.3)
    assert "equal suboptimality" not in auto.text(made)
    turns = {"seconds": {}, "primal": 1.0, "over": None, "off": 1e-3, "ours": 0.05, "theirs": 0.02}
    made["cells"][0]["runs"][auto.DEFAULT] = turns
    (head, table) = auto._beside_default(made)
    assert head.count("0% <= 1") == 2
    assert "2.50" in table
    assert "0.001" in table


def test_seeds_are_read() -> None:
    assert auto.seeds_of("0-2,7") == [0, 1, 2, 7]
    for words in ("", "a", "1-", "1-b"):
        with pytest.raises(argparse.ArgumentTypeError, match="no list of seeds"):
            auto.seeds_of(words)


def test_a_run_measures_goes_on_and_measures_anew(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(auto, "ROWS", (50, 100))
    monkeypatch.setattr(auto, "COLUMNS", (8, 12))
    monkeypatch.setattr(auto, "NAMED", ("newton", "augmented-lagrangian"))
    target = tmp_path / "auto.json"
    words = ["auto", "--seeds", "0", "--cells", "2", "--json", str(target), "--clock", "cpu"]
    assert command.main([*words, "--rows", "0/0"]) == 0
    first = json.loads(target.read_text())["cells"]
    assert command.main([*words, "--resume"]) == 0
    cells = json.loads(target.read_text())["cells"]
    assert len(cells) == 2
    assert cells[0] == first[0]
    beside = [cell["runs"][auto.DEFAULT] for cell in cells if auto.DEFAULT in cell["runs"]]
    assert beside
    for run in beside:
        assert run["status"] == "optimal"
        assert run["off"] > 0.0
    for cell in cells:
        assert set(cell["runs"]["auto"]["seconds"]) == {"0.0001", "1e-06"}
        assert any("error" not in cell["runs"][name] for name in auto.NAMED)
    capsys.readouterr()
    assert command.main([*words, "--resume", "--only", "auto"]) == 0
    printed = capsys.readouterr().out
    anew = json.loads(target.read_text())["cells"]
    assert anew[0]["runs"]["newton"] == cells[0]["runs"]["newton"]
    assert command.main(["auto", "--table", "--json", str(target)]) == 0
    assert capsys.readouterr().out == printed
