"""Tables that are read in passes at the command line: the same model, and the same exit codes."""

from __future__ import annotations

import functools
import json
import os
import re
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import processes
from separatrix.assessment import intervals
from separatrix.cli import reading
from separatrix.cli.output import Output
from separatrix.persistence.model_file import load_model
from separatrix.tables import estimating, read_table
from separatrix.tables.writing import to_parquet


@pytest.fixture
def table(tmp_path) -> Path:
    """Numbers of two scales, a category, missing values, a weight and a thousand rows."""
    path = tmp_path / "loans.csv"
    path.write_text(loans())
    return path


@functools.cache
def loans(n: int = 1000) -> str:
    rng = np.random.default_rng(0)
    age, debt = rng.normal(40, 10, n), rng.lognormal(8, 1, n)
    town = rng.choice(["Ulm", "Bern", "Linz"], n, p=[0.5, 0.3, 0.2])
    score = 0.05 * (age - 40) - 0.4 * (np.log(debt) - 8) + (town == "Bern") - 0.3
    y = np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-score)), "yes", "no")
    lines = ["age,debt,town,weight,paid"]
    for i in range(n):
        shown = "" if i % 97 == 0 else f"{age[i]:.2f}"
        lines.append(f"{shown},{debt[i]:.2f},{town[i]},{1 + i % 3},{y[i]}")
    return "\n".join(lines) + "\n"


def fitted(once, table, *options, output="m.separatrix"):
    """The document that ``fit`` prints for a fit in passes, and the model."""
    words = ["fit", table, "--target", "paid", "-o", output, "--json", "--cache", "cache"]
    result = once(*words, *options)
    assert result.code == 0, result.err
    return result.document, load_model(table.parent / output)


def test_a_fit_in_passes_is_that_in_memory(run, once, table):
    document, stored = fitted(once, table, "--test-size", "0")
    assert document["status"] == "optimal" and document["data"]["in_passes"]
    path = table.parent / "whole.separatrix"
    result = run(
        "fit", str(table), "--target", "paid", "--test-size", "0", "-o", str(path), "--json"
    )
    whole = load_model(path)
    assert whole.encoder.feature_names_ == stored.encoder.feature_names_
    ours, theirs = stored.model.certificate_, whole.model.certificate_
    assert ours.dual <= theirs.primal * (1 + 1e-6) and theirs.dual <= ours.primal * (1 + 1e-6)
    np.testing.assert_allclose(stored.model.coef_, whole.model.coef_, atol=1e-3)
    assert json.loads(result.out)["data"].get("in_passes") is None


def test_a_fit_in_passes_is_verified_in_passes(run, once, table):
    fitted(once, table, "--weight", "weight")
    path = str(table.parent / "m.separatrix")
    result = run("verify", path, str(table))
    assert result.code == 0, result.err
    assert "the same as those of the fit" in result.lines["data"]
    assert result.lines["verdict"].startswith("verified: proved to be within 1e-06")
    changed = table.read_text().replace("Ulm", "Linz", 1)
    table.write_text(changed)
    result = run("verify", path, str(table))
    assert result.code == 1 and "NOT the same" in result.lines["data"]


def test_a_fit_with_much_memory_is_verified_with_little(run, once, table, monkeypatch):
    table.write_text(loans(3000))
    _, stored = fitted(once, table, "--weight", "weight", "--memory", "4GB")
    seen = []
    whole = reading.blocks_of_fit

    def watched(*args, **options):
        seen.append(whole(*args, **options))
        return seen[-1]

    monkeypatch.setattr("separatrix.cli.commands.verify.run.blocks_of_fit", watched)
    for memory in ("4GB", "8MB"):
        result = run("verify", str(table.parent / "m.separatrix"), str(table), "--memory", memory)
        assert result.code == 0, result.out + result.err
        assert "the same as those of the fit" in result.lines["data"]
    generous, small = seen
    assert small.memory == 8_000_000 and len(small.blocks) > len(generous.blocks)
    assert small.fingerprint == stored.provenance["data"]["fingerprint"]
    # A row that is held out is one of the data, too.
    lines = table.read_text().splitlines()
    for i in range(1, len(lines)):
        label = "no" if lines[i].endswith("yes") else "yes"
        cells = lines[i].split(",")
        lines[i] = ",".join([*cells[:-1], label]) if cells[2] == "Linz" else lines[i]
    table.write_text("\n".join(lines) + "\n")
    result = run("verify", str(table.parent / "m.separatrix"), str(table), "--memory", "8MB")
    assert result.code == 1 and "NOT the same" in result.lines["data"]


def test_cells_are_read_in_passes_as_they_are_in_memory(run, once, table):
    """Decimal commas, days, another delimiter and encoding, an order, and columns of no use."""
    rows = [line.split(",") for line in table.read_text().splitlines()]
    lines = [";".join([*rows[0][:2], "größe", "day", "nothing", "paid"])]
    sizes = {"Ulm": "klein", "Bern": "groß", "Linz": "mittel"}
    for i, row in enumerate(rows[1:]):
        numbers = [cell.replace(".", ",") for cell in row[:2]]
        lines.append(";".join([*numbers, sizes[row[2]], f"{1 + i % 28:02d}/03/2020", "", row[4]]))
    table.write_bytes(("\n".join(lines) + "\n").encode("latin-1"))
    words = ["--decimal", ",", "--date-format", "%d/%m/%Y", "--delimiter", ";"]
    words += ["--encoding", "latin-1", "--ordered", "größe=klein,mittel,groß"]
    words += ["--ignore-unusable", "--tol", "1e-10"]
    document, stored = fitted(once, table, *words, "--test-size", "0")
    assert document["data"]["in_passes"]
    path = table.parent / "whole.separatrix"
    result = run("fit", str(table), "--target", "paid", "-o", str(path), "--test-size", "0", *words)
    assert result.code == 0, result.err
    whole = load_model(path)
    assert whole.encoder.feature_names_ == stored.encoder.feature_names_
    assert whole.encoder.summary_ == stored.encoder.summary_
    np.testing.assert_allclose(stored.model.coef_, whole.model.coef_, atol=1e-4)
    result = run("verify", str(table.parent / "m.separatrix"), str(table), "--memory", "8MB")
    assert result.code == 0, result.out + result.err


def test_rare_levels_are_put_together_and_rows_of_another_table_measured_on(run, once, table):
    lines = table.read_text().splitlines()
    rare = [line.replace("Ulm", f"Ort{i % 60}") for i, line in enumerate(lines[1:])]
    other = table.parent / "other.csv"
    other.write_text("\n".join([lines[0], *rare[800:]]) + "\n")
    table.write_text("\n".join([lines[0], *rare[:800]]) + "\n")
    words = ["--min-count", "20", "--test", str(other), "--weight", "weight", "--tol", "1e-10"]
    document, stored = fitted(once, table, *words)
    assert document["data"]["in_passes"] and document["test"]["rows"] == 200
    path = table.parent / "whole.separatrix"
    result = run("fit", str(table), "--target", "paid", "-o", str(path), "--json", *words)
    whole, told = load_model(path), json.loads(result.out)
    assert whole.encoder.feature_names_ == stored.encoder.feature_names_
    assert any("rare" in name for name in stored.encoder.feature_names_)
    np.testing.assert_allclose(stored.model.coef_, whole.model.coef_, atol=1e-4)
    assert document["held_out"]["confusion_matrix"] == told["held_out"]["confusion_matrix"]
    assert document["held_out"]["log_loss"] == pytest.approx(told["held_out"]["log_loss"], rel=1e-5)
    assert document["split"]["fit_rows"] == told["split"]["fit_rows"] == 800
    other.write_text(other.read_text().replace(",yes", ",perhaps", 1))
    result = run(
        *["fit", str(table), "--target", "paid", "-o", str(path), *words],
        *["--cache", str(table.parent / "cache")],
    )
    assert result.code == 3 and "rows of class 'perhaps', which" in result.err


def test_words_are_counted_in_passes_as_in_memory(run, once, table):
    rng = np.random.default_rng(1)
    words = np.array(["good", "bad", "long", "slow", "fast", "film", "play", "scene", "end", "odd"])
    lines = ["review,paid"]
    for i in range(400):
        chosen = rng.choice(words, 9)
        lines.append(f"{' '.join(chosen)} {i},{'yes' if 'good' in chosen else 'no'}")
    table.write_text("\n".join(lines) + "\n")
    options = ["--min-df", "15", "--word-pairs", "--test-size", "0"]
    _, stored = fitted(once, table, *options)
    path = table.parent / "whole.separatrix"
    assert run("fit", str(table), "--target", "paid", "-o", str(path), *options).code == 0
    whole = load_model(path)
    assert whole.encoder.feature_names_ == stored.encoder.feature_names_
    assert any(" " in name for name in stored.encoder.feature_names_)
    np.testing.assert_allclose(stored.model.coef_, whole.model.coef_, atol=1e-2)


@pytest.mark.parametrize(
    "model", ["lstsq", *(pytest.param(m, marks=pytest.mark.exhaustive) for m in ("lda", "qda"))]
)
def test_closed_forms_are_those_in_memory(run, once, table, model):
    words = ["--test-size", "0", "--model", model]
    _, stored = fitted(once, table, *words)
    path = table.parent / "whole.separatrix"
    assert run("fit", str(table), "--target", "paid", "-o", str(path), *words).code == 0
    whole = load_model(path).model
    assert stored.model.certificate_.status == whole.certificate_.status
    for name in ("coef_", "means_"):
        if hasattr(whole, name):
            ours, theirs = getattr(stored.model, name), getattr(whole, name)
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("model", ["huber", pytest.param("poisson", marks=pytest.mark.exhaustive)])
def test_regressions_that_iterate_are_those_in_memory(run, once, table, model):
    words = ["--target", "debt", "--lam", "0.1", "--test-size", "0", "--model", model]
    _, stored = fitted(once, table, *words)
    path = table.parent / "whole.separatrix"
    assert run("fit", str(table), "-o", str(path), *words).code == 0
    ours, theirs = stored.model.certificate_, load_model(path).model.certificate_
    assert ours.ok and theirs.ok
    assert ours.dual <= theirs.primal * (1 + 1e-5) and theirs.dual <= ours.primal * (1 + 1e-5)
    assert not Path(f"{table.parent}/m.separatrix.checkpoint").exists()
    assert run("verify", str(table.parent / "m.separatrix"), str(table)).code == 0


def test_what_is_said(run, table):
    path = table.parent / "m.separatrix"
    result = run(
        "fit", str(table), "--target", "paid", "--cache", str(table.parent / "c"), "-o", str(path)
    )
    assert result.code == 0 and result.err == ""
    said = {line[:10].strip(): line[10:] for line in result.out.splitlines()}
    assert said["read"].startswith("1,000 rows, 3 numbers, 1 category")
    assert "held out (by a hash of the row, seed 0)" in said["split"]
    assert "block" in said["blocks"] and "over" in said["passes"]
    assert said["fit"].startswith("optimal: ") and "accuracy" in said["held out"]
    assert not Path(f"{path}.checkpoint").exists()


def test_rows_are_held_out_by_their_group_or_time(run, once, table):
    by_time, stored = fitted(once, table, "--time", "debt")
    split = by_time["split"]
    assert split["by"] == "time" and split["held_out_rows"] == 200
    rows = [line.split(",") for line in table.read_text().splitlines()[1:]]
    latest = Counter(row[4] for row in sorted(rows, key=lambda row: float(row[1]))[-200:])
    measured = {one["class"]: one["n"] for one in by_time["held_out"]["per_class"]}
    assert measured == latest and "debt" in stored.encoder.kinds_
    grouped, stored = fitted(once, table, "--group", "town", "--seed", "1")
    assert grouped["split"]["by"] == "group" and "town" not in stored.encoder.kinds_
    sizes = Counter(row[2] for row in rows)
    held = grouped["split"]["held_out_rows"]
    assert held >= 200 and held in [*sizes.values(), *(1000 - n for n in sizes.values())]
    assert run("verify", str(table.parent / "m.separatrix"), str(table)).code == 0
    cache = ["--cache", str(table.parent / "cache")]
    for column, fault in (("town", "holds '"), ("age", "has no value in")):
        refused = run("fit", str(table), "--target", "paid", "--time", column, *cache)
        assert refused.code == 3 and f"--time {column}: column '{column}' {fault}" in refused.err
    evaluated = run("evaluate", str(table.parent / "m.separatrix"), str(table))
    assert evaluated.code == 0 and "town" not in evaluated.err


def test_rows_without_a_target_are_left_out_where_that_is_asked_for(
    run, once, table, tmp_path, large
):
    lines = table.read_text().splitlines()
    lines[1:301] = [line.rpartition(",")[0] + "," for line in lines[1:301]]
    some = tmp_path / "some.csv"
    some.write_text("\n".join(lines) + "\n")
    output = str(tmp_path / "m.separatrix")
    assert run("fit", str(table), "--target", "paid", "-o", output).code == 0
    found = []
    for memory in ("4GB", "100MB"):
        words = ["evaluate", output, str(some), "--memory", memory]
        assert "--drop-missing-target" in run(*words).err
        found.append(run(*words, "--drop-missing-target", "--json").document["scores"]["accuracy"])
    assert found[0] == pytest.approx(found[1], abs=1e-12)
    options = ("--drop-missing-target", "--memory", "100MB", "--test-size", "0")
    document, _ = fitted(once, some, *options, output="part.separatrix")
    assert document["split"]["fit_rows"] == 700
    assert run("verify", str(tmp_path / "part.separatrix"), str(some)).code == 0
    ran = run("fit", str(some), "--target", "paid", "-o", output, *options)
    assert "300 rows without 'paid' left out" in ran.err
    empty = [lines[0], *(line.rpartition(",")[0] + "," for line in lines[1:20])]
    some.write_text("\n".join(empty) + "\n")
    for memory in ("4GB", "100MB"):
        words = ["--target", "paid", "--drop-missing-target"]
        ran = run("fit", str(some), *words, "-o", output, "--memory", memory)
        assert ran.code == 3 and f"has no value in any row of {some}" in ran.err


def test_weights_that_are_written_as_people_do_are_numbers(run, once, table):
    lines = [line.split(",") for line in table.read_text().splitlines()]
    for line in lines[1:]:
        line[3] = f"${line[3]}.00"
    written = table.parent / "dollars.csv"
    written.write_text("\n".join(map(",".join, lines)) + "\n")
    _, plain = fitted(once, table, "--weight", "weight")
    _, same = fitted(once, written, "--weight", "weight")
    np.testing.assert_array_equal(plain.model.coef_, same.model.coef_)
    words = ["fit", str(table), "--target", "paid", "--weight", "town"]
    refused = run(*words, "--cache", str(table.parent / "cache"))
    assert refused.code == 3 and "--weight town: column 'town' holds texts" in refused.err


def test_what_passes_cannot_read_is_refused_in_words_of_the_terminal(run, tmp_path):
    refused = run("fit", "iris", "--cache", str(tmp_path / "cache"))
    assert refused.code == 3 and "scan()" not in refused.err
    assert "iris can only be read into memory; leave out --cache" in refused.err


def test_a_quantity_is_known_before_rows_are_encoded(run, table):
    cache = table.parent / "cache"
    words = ["fit", str(table), "--target", "debt", "--cache", str(cache), "-C", "2"]
    refused = run(*words)
    assert refused.code == 2 and "column 'debt' is a quantity, so least squares" in refused.err
    assert not list(cache.rglob("*.block"))
    output = table.parent / "quantity.separatrix"
    assert run(*words[:-2], "-o", str(output)).code == 0
    # In the units of the table, as in memory.
    assert not load_model(output).encoder.standardise


def test_no_cache_at_all(run, table):
    folder, path = table.parent / "c", str(table.parent / "m.separatrix")
    options = ("--target", "paid", "--cache", str(folder), "-o", path)
    result = run("fit", str(table), "--cache-limit", "0", *options)
    assert result.code == 0, result.err
    assert "decoded in every pass" in result.out and not list(folder.rglob("*-000.block"))


@pytest.fixture
def large(monkeypatch):
    """Estimate every table to be larger than the memory that is given."""
    monkeypatch.setattr(estimating, "bytes_in_memory", lambda *a, **o: 150_000_000)


def test_rows_predicted_and_scored_a_block_at_a_time_are_those_in_memory(
    run, once, table, tmp_path, large
):
    fitted(once, table)
    model, out = str(tmp_path / "m.separatrix"), str(tmp_path / "p")
    for suffix in (".csv", ".jsonl", ".parquet"):
        for memory in (("--memory", "200MB"), ("--memory", "100MB")):
            result = run("predict", model, str(table), "--proba", "-o", out + suffix, *memory)
            assert result.code == 0, result.err
            content = Path(out + suffix).read_bytes()
            if memory[1] == "200MB":
                whole = content
        if suffix != ".parquet":
            assert content == whole
    printed = run("predict", model, str(table), "--proba", "--memory", "100MB").out
    assert printed.encode() == (tmp_path / "p.csv").read_bytes()
    for threshold in ((), ("--threshold", "0.3")):
        scores = [
            json.loads(run("evaluate", model, str(table), "--json", *memory).out)["scores"]
            for memory in (("--memory", "200MB", *threshold), ("--memory", "100MB", *threshold))
        ]
        assert scores[1].pop("roc_auc_error") == 0.0
        assert scores[0].keys() == scores[1].keys()
        for name, value in scores[0].items():
            if isinstance(value, float):
                assert scores[1][name] == pytest.approx(value, rel=1e-9), name
            else:
                assert scores[1][name] == value, name


def test_rows_found_in_the_cache_are_spoken_of_in_the_same_words(run, tmp_path):
    rows = [f"{99999 if i % 20 == 0 else i % 37},{'ab'[i % 3 == 0]}" for i in range(400)]
    (tmp_path / "t.csv").write_text("x,y\n" + "\n".join(rows) + "\n")
    words = ("fit", "t.csv", "--target", "y", "--cache", "cache")
    first, again = run(*words), run(*words)
    assert "found in the cache" in again.out
    assert "--kind 'x=number'" in first.err and again.err == first.err


def test_stochastic_gradients_go_over_the_rows_in_passes(run, once, table):
    document, stored = fitted(once, table, "--model", "sgd", "--weight", "weight")
    assert stored.model.certificate_.status == "optimal" and document["held_out"]["n"] > 150
    assert run("verify", str(table.parent / "m.separatrix"), str(table)).code == 0


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("target", ["paid", "debt"])
def test_rows_count_by_their_weights_in_passes_as_in_memory(run, table, tmp_path, large, target):
    model, page = str(tmp_path / "m.separatrix"), tmp_path / "m.html"
    words = ("--target", target, "--weight", "weight", "-o", model, "--test-size", "0")
    assert run("fit", str(table), *words).code == 0
    found = []
    for memory in ("200MB", "100MB"):
        result = run("evaluate", model, str(table), "--json", "--memory", memory)
        assert "weight" not in result.err
        found.append(json.loads(result.out)["scores"])
    name = {"paid": "log_loss", "debt": "mse"}[target]
    assert found[1][name] == pytest.approx(found[0][name], rel=1e-9)
    assert run("report", model, str(table), "--memory", "100MB", "-o", str(page)).code == 0
    told = json.loads(page.with_suffix(".json").read_text())["metrics"][0]
    assert told[name] == pytest.approx(found[0][name], rel=1e-9)
    # A table that lacks the column is scored all the same, with each row counted once.
    lines = [line.split(",") for line in table.read_text().splitlines()]
    bare = tmp_path / "bare.csv"
    bare.write_text("\n".join(",".join(c[:3] + c[4:]) for c in lines) + "\n")
    alike = [
        json.loads(run("evaluate", model, str(bare), "--json", "--memory", memory).out)["scores"]
        for memory in ("200MB", "100MB")
    ]
    assert alike[1][name] == pytest.approx(alike[0][name], rel=1e-9)
    assert alike[0][name] != pytest.approx(found[0][name], rel=1e-6)
    # A table that has the column must not give all rows a weight of zero.
    zero = tmp_path / "zero.csv"
    zero.write_text("\n".join(",".join(c if c[3] == "weight" else [*c[:3], "0", *c[4:]])
                              for c in lines) + "\n")  # fmt: skip
    for memory in ("200MB", "100MB"):
        result = run("evaluate", model, str(zero), "--memory", memory)
        assert result.code == 3
        assert "column 'weight' gives every row the weight 0" in result.err


def test_a_table_to_measure_on_may_lack_the_weights_and_may_not_have_zeros(
    run, once, table, tmp_path
):
    lines = [line.split(",") for line in table.read_text().splitlines()]
    bare, zero = tmp_path / "bare.csv", tmp_path / "zero.csv"
    bare.write_text("\n".join(",".join(c[:3] + c[4:]) for c in lines) + "\n")
    zero.write_text("\n".join(",".join(c if c[3] == "weight" else [*c[:3], "0", *c[4:]])
                              for c in lines) + "\n")  # fmt: skip
    document, _ = fitted(once, table, "--weight", "weight", "--test", str(bare))
    assert document["held_out"]["n"] == 1000
    words = ("--target", "paid", "--weight", "weight", "--cache", str(tmp_path / "cache"))
    for data, rest in ((table, ("--test", str(zero))), (zero, ("--test-size", "0"))):
        result = run("fit", str(data), *words, *rest, "-o", str(tmp_path / "z.separatrix"))
        assert result.code == 3
        assert "column 'weight' gives every row the weight 0" in result.err
        assert not (tmp_path / "z.separatrix").exists()


def test_an_area_that_is_not_exact_is_printed_with_how_far_it_may_be_off(run, once, table, large):
    table.write_text(loans(3000))
    fitted(once, table)
    words = ("evaluate", str(table.parent / "m.separatrix"), str(table), "--memory", "1kB")
    scores = run(*words, "--json").document["scores"]
    assert 0.0 < scores["roc_auc_error"] < 0.02
    said = f"ROC AUC {scores['roc_auc']:.3f} (within {scores['roc_auc_error']:.3f})   log loss"
    assert said in run(*words).out


def test_predictions_that_overflow_are_told_by_their_row_in_the_table(run, tmp_path, large):
    lines = [f"{i},{i**3 + i % 3}" for i in range(40)]
    (tmp_path / "t.csv").write_text("x,y\n" + "\n".join(lines) + "\n")
    words = ("--target", "y", "--model", "poly", "--degree", "3", "--memory", "1GB")
    assert run("fit", "t.csv", *words).code == 0
    (tmp_path / "far.csv").write_text("x\n" + "1\n" * 3_000 + "1e120\n")
    for memory in ("1GB", "1KB"):
        result = run("predict", "t.separatrix", "far.csv", "-o", "p.csv", "--memory", memory)
        assert "1 prediction beyond the range of numbers, the first in row 3,001" in result.err


def test_predictions_in_passes_have_the_bits_of_those_in_memory(run, tmp_path):
    # Products with a million entries and more are made in another way than smaller ones.
    rng, n = np.random.default_rng(3), 42_000
    columns = {f"x{j}": rng.normal(size=n) for j in range(50)}
    columns["y"] = np.where(columns["x0"] + rng.normal(size=n) > 0.0, "yes", "no")
    rows = {name: column[:500] for name, column in columns.items()}
    (tmp_path / "fit.parquet").write_bytes(b"".join(to_parquet([rows])))
    parts = [{name: c[k : k + 5_250] for name, c in columns.items()} for k in range(0, n, 5_250)]
    for k, part in enumerate(parts):
        (tmp_path / f"all-{k}.parquet").write_bytes(b"".join(to_parquet([part])))
    assert run("fit", "fit.parquet", "--target", "y", "-o", "m.separatrix").code == 0
    found = []
    for name, memory in (("passes", "1MB"), ("memory", "4GB")):
        words = ("--proba", "--scores", "--memory", memory, "-o", f"{name}.parquet")
        assert run("predict", "m.separatrix", "all-*.parquet", *words).code == 0
        found.append(read_table(tmp_path / f"{name}.parquet"))
    passes, memory = found
    assert passes.n_rows == memory.n_rows == n and passes.names == memory.names
    for name in memory.names:
        np.testing.assert_array_equal(passes.columns[name], memory.columns[name], name)


@pytest.mark.usefixtures("undrawn")
def test_a_report_in_passes_has_the_figures_of_all_rows(run, once, table, tmp_path, large):
    page, own = tmp_path / "m.html", tmp_path / "own.html"
    document, _ = fitted(once, table, "--report", str(own))
    assert document["report"] == str(own) and own.exists()
    result = run(
        "report", str(tmp_path / "m.separatrix"), str(table), "--memory", "100MB", "-o", str(page)
    )
    assert result.code == 0, result.err
    found = json.loads(page.with_suffix(".json").read_text())
    held, fit = found["metrics"]
    assert (held["rows"], fit["rows"]) == ("held_out", "fit")
    assert held["n"] + fit["n"] == 1000
    assert held["confusion_matrix"] == document["held_out"]["confusion_matrix"]
    assert held["log_loss"] == pytest.approx(document["held_out"]["log_loss"], rel=1e-9)
    assert found["data"]["same_data"] and found["data"]["sample"] == 1000
    # Intervals are those of the same rows in memory.
    stored = load_model(tmp_path / "m.separatrix")
    options = SimpleNamespace(data=str(table), memory="100MB", unpacked_limit=None)
    data = reading.blocks_of_fit(Output("report", as_json=False, quiet=True), stored, options)
    rows = [block.load() for block in data.held]
    X = np.vstack([one.matrix for one in rows])
    y = data.classes[np.concatenate([one.target for one in rows])]
    proba = stored.model.predict_proba(X)
    scores = stored.model.decision_function(X)
    expected = intervals.area_interval(y, scores, stored.model.classes_)
    assert held["roc_auc_interval"] == pytest.approx(expected, rel=1e-5)
    losses = -np.log(proba[np.arange(len(y)), np.searchsorted(stored.model.classes_, y)])
    expected = intervals.mean_interval(losses)
    assert held["log_loss_interval"] == pytest.approx(expected, rel=1e-5)
    # The report of the fit has the same metrics.
    told = json.loads(own.with_suffix(".json").read_text())
    for one, other in zip(told["metrics"], found["metrics"], strict=True):
        assert one["confusion_matrix"] == other["confusion_matrix"]
        assert one["log_loss"] == pytest.approx(other["log_loss"], rel=1e-9)
    assert told["data"]["same_data"]
    assert 'use a sample of <data value="1000">1,000</data> rows' in page.read_text()


def test_a_path_in_passes_chooses_among_the_fits_of_one_in_memory(run, table, large):
    words = ["path", str(table), "--target", "paid", "--weight", "weight", "--tol", "1e-8"]
    words += ["--values", "0.003,0.1,3", "--json"]
    path = table.parent / "p.separatrix"
    cache = ["--cache", str(table.parent / "cache")]
    small = run(*words, "--memory", "1MB", "--cv", "3", "-o", str(path), *cache)
    assert small.code == 0, small.err
    document, stored = small.document, load_model(path)
    assert document["data"]["in_passes"] and np.shape(document["scores"]) == (3, 3)
    whole = run(*words, "--memory", "4GB").document
    for one, other in zip(document["certificates"], whole["certificates"], strict=True):
        assert one["status"] == "optimal"
        assert one["primal"] == pytest.approx(other["primal"], rel=1e-6)
    assert document["best"] in (0.003, 0.1, 3.0)
    result = run("verify", str(path), str(table), "--memory", "8MB")
    assert result.code == 0, result.out + result.err
    # The scores are those of rows that a fit did not see, and the rows of a fold are few enough
    # that another cut moves them by a few hundredths at the most.
    again = run(*words, "--memory", "4GB", "--cv", "3").document
    ours, theirs = np.mean(document["scores"], axis=0), np.mean(again["scores"], axis=0)
    np.testing.assert_allclose(ours, theirs, atol=0.04)
    assert stored.provenance["split"]["fit_rows"] == 1000
    # The time that all fits share counts once.
    begun = time.perf_counter()
    printed = run(*words[:-1], "--memory", "1MB", *cache).lines["path"]
    seconds = float(re.search(r"3 fits, ([\d.]+) s", printed)[1])
    assert seconds <= time.perf_counter() - begun + 0.01


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--model", "lstsq"], "--model lstsq has no path in passes"),
        (["--group", "town"], "--group makes folds of a table in memory"),
        (
            ["--scoring", "roc_auc", "--cv", "3"],
            "its folds are scored by accuracy: leave out --scoring",
        ),
    ],
)
def test_a_path_that_needs_the_whole_table_is_refused(run, table, large, options, said):
    words = ["path", str(table), "--target", "paid", "--memory", "100MB", "--values", "1,2"]
    result = run(*words, *options)
    errors = [line for line in result.err.splitlines() if line.startswith("error")]
    assert result.code == 2 and len(errors) == 1 and said in errors[0]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--model", "kernel-svm"], "fit --model svm, or give a larger --memory"),
        (["--model", "svm", "--calibrate", "sigmoid"], "leave out --calibrate"),
        (["--model", "stump"], "give a larger --memory"),
        (["--target", "town", "--penalty", "none"], "a small --lam, or --multiclass ovr"),
        (["--engine", "dask"], "--engine dask and --scheduler ADDRESS go together"),
        (["--memory", "a lot"], "'--memory': 'a lot' is not an amount of memory"),
        (["--cache-limit", "-1"], "'--cache-limit': '-1' is not an amount of memory"),
        (["--positive", "maybe"], "--positive maybe is not one of the classes"),
        (["--target", "town", "--positive", "Ulm"], "column 'town' has 3 classes"),
        (["--target", "debt", "--threshold", "0.4"], "column 'debt' is a quantity"),
    ],
)
def test_what_needs_the_whole_table_is_refused_in_one_sentence(run, table, options, said):
    words = ["fit", str(table), "--target", "paid", "-o", str(table.parent / "m.separatrix")]
    result = run(*words, "--cache", str(table.parent / "cache"), *options)
    assert result.code == 2
    errors = [line for line in result.err.splitlines() if line.startswith("error")]
    assert len(errors) == 1 and said in errors[0]
    assert not (table.parent / "m.separatrix").exists()
    # What no table changes is refused before one is read, and what its classes do before rows are
    # encoded.
    assert "--model" not in options or not (table.parent / "cache").exists()
    assert not list((table.parent / "cache").rglob("*.block"))


def test_a_column_that_is_not_there_is_refused_with_the_option_that_names_it(run, table, large):
    for option in ("--group", "--weight", "--time"):
        words = ["fit", str(table), "--target", "paid", option, "nope"]
        errors = [run(*words, *more).err for more in ((), ("--memory", "100MB"))]
        assert all(f"{option} nope: {table} has no column 'nope'" in error for error in errors)


@pytest.mark.signals
def test_a_fit_that_was_killed_goes_on_from_its_last_pass(run, table):
    words = ["fit", str(table), "--target", "paid", "-C", "1000", "--tol", "1e-10", "--json"]
    words += ["--cache", str(table.parent / "cache"), "-o", str(table.parent / "m.separatrix")]
    straight = json.loads(run(*words).out)
    passes = load_model(table.parent / "m.separatrix").model.n_passes_
    assert passes >= 3
    for number in (1, 2, passes):
        assert processes.ended(processes.killed_command, number, *words) == -9
        checkpoint = table.parent / "m.separatrix.checkpoint"
        assert checkpoint.exists() == (number > 1)
        result = run(*words, "--resume")
        assert result.code == 0, result.err
        assert ("ended before its first complete pass" in result.err) == (number == 1)
        document = json.loads(result.out)
        assert document["status"] == "optimal"
        gap = document["certificate"]["primal"] - straight["certificate"]["primal"]
        assert abs(gap) <= 2e-10 * straight["certificate"]["primal"]
        # At most the pass that was under way is made again, and what ends the fit.
        again = load_model(table.parent / "m.separatrix").model.n_passes_
        assert again <= passes + 2
        assert not checkpoint.exists()


# --- groups, times and leaks --------------------------------------------------------------------


def written(path: Path, columns: dict) -> Path:
    """A file of CSV with some columns."""
    rows = zip(*columns.values(), strict=True)
    cells = (",".join(f"{x:.4f}" if isinstance(x, float) else str(x) for x in row) for row in rows)
    path.write_text("\n".join([",".join(columns), *cells]) + "\n")
    return path


def fit_in_passes(run, table, *words):
    ran = run("fit", table, "--target", "y", "-o", "m.separatrix", "--cache", "cache", *words)
    assert ran.code == 0, ran.err
    return ran


def test_patients_are_found_in_passes_where_a_sample_has_few_rows_of_each(run, tmp_path):
    rng = np.random.default_rng(0)
    patient = rng.permutation(np.repeat(np.arange(600), 10))
    values = rng.normal(size=(4, 600))[:, patient] + 0.3 * rng.normal(size=(4, 6000))
    ill = (rng.uniform(size=600) < 0.45)[patient]
    names = [f"P-{k * 7919 % 10007:05}" for k in patient]
    measured = dict(zip("abcd", values.tolist(), strict=True))
    table = written(tmp_path / "t.csv", {"patient": names, **measured, "y": ill})
    ran = fit_in_passes(run, table, "--json")
    document = ran.document
    (other,) = document["other_scores"]
    assert (other["by"], other["columns"]) == ("group", ["patient"])
    assert document["held_out"]["accuracy"] > 0.95 > 0.65 > other["scores"]["accuracy"]
    assert any("--group patient splits so" in one for one in document["warnings"])
    # All rows are split as the named option splits them, and the cache keeps those of the fit.
    assert len(os.listdir(tmp_path / "cache")) == 1
    named = fit_in_passes(run, table, "--group", "patient", "--json").document
    assert named["held_out"]["n"] == other["scores"]["n"]
    assert abs(named["held_out"]["accuracy"] - other["scores"]["accuracy"]) <= 0.01
    assert "other_scores" not in named


@pytest.mark.parametrize("drifts", [False, True])
def test_the_latest_rows_are_scored_in_passes_where_those_of_a_sample_fall(run, tmp_path, drifts):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(2, 5000))
    late = drifts & (np.arange(5000) >= 3700)
    y = rng.uniform(size=5000) < 1.0 / (1.0 + np.exp(np.where(late, 1.5, -1.5) * x[0]))
    days = np.datetime64("2021-01-01") + np.arange(5000) // 10
    columns = {"day": days, "a": x[0].tolist(), "b": x[1].tolist(), "y": y}
    ran = fit_in_passes(run, written(tmp_path / "t.csv", columns))
    assert ("by time" in ran.out) == drifts
    if drifts:
        assert float(ran.line("by time").split()[1]) < float(ran.line("held out").split()[1]) - 0.1
        assert "the latest rows by 'day' are predicted worse than rows at random" in ran.err
    else:
        assert "of a sample of 2,000 rows those that --time day holds out are predicted" in ran.err


def test_leaks_are_found_in_a_sample_and_scored_on_all_rows_in_passes(run, tmp_path):
    rng = np.random.default_rng(8)
    n = 5000
    amount, rate = rng.lognormal(9.0, 0.6, n), rng.normal(12.0, 3.0, n)
    bad = rng.uniform(size=n) < 1.0 / (1.0 + np.exp(1.5 - 0.3 * (rate - 12.0)))
    paid = amount * np.where(bad, rng.uniform(0.1, 0.8, n), rng.uniform(0.99, 1.0, n))
    last = np.where(bad, rng.uniform(0.0, 330.0, n), rng.uniform(290.0, 900.0, n))
    columns = {"amount": amount, "rate": rate, "paid": paid, "last": last, "y": bad}
    columns = {name: one.tolist() for name, one in columns.items()}
    table = written(tmp_path / "t.csv", columns)
    ran = fit_in_passes(run, table)
    assert "column 'last' alone predicts held-out rows with ROC AUC 0.99" in ran.err
    assert "column 'paid' nearly gives the target away together with others" in ran.err
    assert ran.err.count("in a sample of 2,000 rows") == 2
    assert ran.line("without").endswith("--ignore last --ignore paid)")
    clean = fit_in_passes(run, table, "--ignore", "last", "--ignore", "paid", "--json").document
    # Rows are held out by a hash of all that is in them, so that these are others.
    shown = float(ran.line("without").split()[1])
    assert abs(clean["held_out"]["accuracy"] - shown) <= 0.05
    assert not os.path.exists("m.separatrix.checkpoint")


def test_groups_and_times_are_scored_in_passes_as_in_memory(run, tmp_path):
    rng = np.random.default_rng(2)
    n = 300
    who, x = rng.integers(0, 30, n), rng.normal(size=n)
    day = np.datetime64("2023-01-01") + rng.permutation(n) // 4
    price = 3.0 * x + rng.normal(size=n)
    columns = {"who": [f"w{k}" for k in who], "number": who + 7, "day": day, "x": x.tolist()}
    table = written(tmp_path / "t.csv", {**columns, "y": price + 0.3 * rng.normal(size=n) > 0})
    costs = written(tmp_path / "c.csv", {**columns, "y": price.tolist()})
    # Each way to name groups once, and each kind of target.
    for data, words, group in ((table, ["--group", "who"], "number"), (costs, [], "who")):
        assert run("fit", data, "--target", "y", "-o", "m.separatrix", *words).code == 0
        apart = "m.separatrix", data, "--group", group, "--time", "day"
        whole, passes = (
            run("evaluate", *apart, "--memory", memory, "--json").document
            for memory in ("4GB", "1KB")
        )
        assert passes["groups"]["groups"] == whole["groups"]["groups"] == 30
        assert passes["groups"]["mean"] == pytest.approx(whole["groups"]["mean"], rel=1e-12)
        assert passes["groups"]["interval"] == pytest.approx(whole["groups"]["interval"])
        ends = [[(one["first"], one["last"]) for one in d["times"]] for d in (whole, passes)]
        assert ends[0] == ends[1] and len(ends[0]) == 5
        for one, other in zip(whole["times"], passes["times"], strict=True):
            for name in {"n", "accuracy", "roc_auc", "mse", "r2"} & set(one["scores"]):
                # With so little memory the area under the curve is computed from bins.
                off = 1e-3 if name == "roc_auc" else 1e-12
                assert other["scores"][name] == pytest.approx(one["scores"][name], abs=off)
    shown = [run("evaluate", *apart, "--memory", memory).out for memory in ("4GB", "1KB")]
    assert shown[0].splitlines()[-6:] == shown[1].splitlines()[-6:]
    # A row without a group is named, as in memory.
    costs.write_text(re.sub(r"\nw\d+,", "\n,", costs.read_text(), count=1))
    ran = run("evaluate", "m.separatrix", costs, "--group", "who", "--memory", "1KB")
    assert ran.code == 3 and "'who' has no value in c.csv, row 1;" in ran.err.replace(
        f"{tmp_path}/", ""
    )
