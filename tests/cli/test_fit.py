"""``separatrix fit``: the seven lines, the document, the options, and every way to refuse."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pytest

from separatrix.cli import reading
from separatrix.persistence.model_file import load_model
from separatrix.tables import source_files


def test_the_lines(run, people):
    ran = run("fit", people, "--target", "income", "-o", "m.separatrix")
    assert ran.code == 0
    labels = ran.labels
    first, last = ["read", "split", "positive", "model", "fit"], ["weights", "saved"]
    assert labels == [*first, "held out", "also", "constant", *last]
    lines = ran.lines
    assert lines["read"].startswith("100 rows, 3 columns: 2 numbers, 1 category; ")
    assert lines["read"].endswith(" missing -> 6 features")
    assert lines["split"] == "80 to fit, 20 held out (stratified, seed 0)"
    assert lines["model"].startswith("logistic regression: minimise ")
    assert lines["fit"].startswith("optimal: objective ")
    assert "% of the best possible (certified gap " in lines["fit"]
    assert lines["held out"].startswith("accuracy 0.")
    assert "   ROC AUC 0." in lines["held out"]
    assert "   log loss 0." in lines["held out"]
    head, first, second, *_ = ran.weights
    assert head == ["feature", "direction", "per s.d.", "per unit"]
    assert first[:2] == ["age", "away from <=50K"] and second[0] == "hours"
    assert lines["saved"] == "m.separatrix"
    assert ran.err == ""


@pytest.mark.usefixtures("undrawn")
def test_placeholders_are_missing_cells_in_every_count(run):
    rows = [
        f"{-999 if k % 20 == 0 else k % 37},{'' if k % 8 == 1 else 'ab'[k % 3 % 2]}"
        for k in range(200)
    ]
    lines = [f"{row},{'no' if k * k % 7 < 3 else 'yes'}" for k, row in enumerate(rows)]
    Path("t.csv").write_text("\n".join(["p,c,y", *lines]) + "\n")
    ran = run("fit", "t.csv", "--target", "y", "-o", "m.separatrix", "--report", "r.html")
    assert "10 cells of -999 read as missing" in ran.err
    assert "; 35 missing -> " in ran.lines["read"]
    data = json.loads(Path("r.json").read_text())["data"]
    column = data["columns"][0]
    assert (data["missing"], column["missing"], column["least"]) == (35, 10, 0.0)
    ends = [group["least"] for group in column["by_class"] if "least" in group]
    assert min(ends) >= 0.0


def test_the_model_is_the_one_that_python_fits(run, people):
    from separatrix import LogisticRegression
    from separatrix.tables import Encoder, read_table, split_rows, take_target

    run("fit", people, "--target", "income", "-C", "0.5", "-o", "m.separatrix", "--seed", "3")
    features, y = take_target(read_table(people), "income")
    rows, _ = split_rows(y, test_size=0.2, seed=3)
    encoder = Encoder().fit(features.select(rows), y[rows])
    direct = LogisticRegression(C=0.5, random_state=3).fit(
        encoder.transform(features.select(rows)), y[rows]
    )
    stored = load_model("m.separatrix")
    assert np.array_equal(stored.model.coef_, direct.coef_)
    assert stored.encoder.feature_names_ == encoder.feature_names_


@pytest.mark.parametrize("memory", [[], ["--memory", "0.001MB"]])
def test_numbers_stay_in_the_units_of_the_table(run, people, memory):
    from separatrix import LogisticRegression
    from separatrix.tables import Encoder, read_table, take_target

    words = ("fit", people, "--target", "income", "--no-standardise", "--test-size", "0", *memory)
    ran = run(*words, "-o", "m.separatrix")
    assert ran.code == 0 and ("passes" in ran.out + ran.err) == bool(memory)
    features, y = take_target(read_table(people), "income")
    encoder = Encoder(standardise=False).fit(features, y)
    direct = LogisticRegression(random_state=0).fit(encoder.transform(features), y)
    stored = load_model("m.separatrix")
    assert not stored.encoder.standardise
    # A penalised category keeps all of its levels.
    assert stored.encoder.feature_names_ == encoder.feature_names_
    np.testing.assert_allclose(stored.model.coef_, direct.coef_, rtol=1e-3, atol=1e-6)
    assert "--no-standardise" in stored.provenance["command"]


def test_one_json_document_and_nothing_else(run, people):
    ran = run("fit", people, "--target", "income", "--json")
    document = ran.document
    assert (document["schema"], document["version"]) == ("separatrix/fit", 1)
    assert document["exit_code"] == ran.code == 0
    assert document["status"] == document["certificate"]["status"] == "optimal"
    assert document["config"]["seed"] == 0
    assert document["config"]["parameters"]["C"] == 1.0
    assert document["data"]["rows"] == 100
    assert document["split"] == {
        "fit_rows": 80,
        "held_out_rows": 20,
        "test_size": 0.2,
        "seed": 0,
        "stratified": True,
        "together": True,
    }
    assert document["model"]["classes"] == ["<=50K", ">50K"]
    assert len(document["model"]["feature_names"]) == document["model"]["features"] == 6
    assert 0 <= document["held_out"]["accuracy"] <= 1
    sizes = [abs(entry["standardised"]) for entry in document["weights"]]
    assert sizes == sorted(sizes, reverse=True)
    assert document["output"] == "people.separatrix"


def test_the_file_says_how_it_was_made(run, people):
    document = run("fit", people, "--target", "income", "--tol", "1e-8", "--json").document
    provenance = load_model("people.separatrix").provenance
    for key in ("config", "command", "target", "data", "split", "held_out", "weights"):
        assert provenance[key] == document[key], key
    assert provenance["config"]["tol"] == 1e-8
    assert "--tol=1e-08" in provenance["command"]


def test_the_stored_command_makes_the_same_model(run, people):
    import shlex

    options = "-C2 --class-weight=balanced --no-intercept --missing=cook -o m.separatrix"
    run("fit", people, "--target=income", "--ignore=hours", "--kind=age=category", *options.split())
    first = load_model("m.separatrix")
    words = shlex.split(first.provenance["command"])
    assert words[0] == "separatrix"
    assert run(*words[1:]).code == 0
    again = load_model("m.separatrix")
    assert again.provenance["config"] == first.provenance["config"]
    assert np.array_equal(again.model.coef_, first.model.coef_)
    assert not any(name.startswith("hours") for name in again.encoder.feature_names_)
    assert "job=cook" not in again.encoder.feature_names_
    assert again.model.intercept_.tolist() == [0.0]


def test_quiet_says_nothing(run, people):
    ran = run("fit", people, "--target", "income", "-q")
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert os.path.exists("people.separatrix")


def test_quiet_still_says_what_went_wrong(run, people):
    ran = run("fit", people, "--target", "income", "-q", "--max-iter", "1", "--tol", "1e-12")
    assert (ran.code, ran.out) == (4, "")
    assert ran.err.startswith("warning   max_iter: objective ")


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (["--model", "svm"], "LinearSVC"),
        (["--model", "svm", "--loss", "hinge", "--lam", "0.01"], "LinearSVC"),
        (["--model", "logistic", "--multiclass", "ovr"], "LogisticRegression"),
        (["--model", "logistic", "--loss", "log", "--penalty", "l2"], "LogisticRegression"),
        (["--model", "svm", "--penalty", "l2", "--multiclass", "ovr"], "LinearSVC"),
        (["--model", "logistic", "--penalty", "l1"], "LogisticRegression"),
        (["--model", "svm", "--penalty", "l1"], "LinearSVC"),
        (["--penalty", "elasticnet", "--l1-ratio", "0.5"], "LogisticRegression"),
    ],
)
def test_models_and_options_reach_the_estimator(run, options, name):
    ran = run("fit", "iris", "--json", *options)
    assert ran.code == 0
    assert ran.document["model"]["class"] == name
    parameters = ran.document["model"]["parameters"]
    for option, value in zip(options[::2], options[1::2], strict=True):
        key = option.removeprefix("--").replace("-", "_")
        if key in parameters:
            assert str(parameters[key]) == value


def test_perceptron(run):
    separable = run("fit", "iris", "--model", "perceptron", "--max-iter", "5", "--json")
    parameters = separable.document["model"]["parameters"]
    assert parameters["max_passes"] == 5
    assert separable.document["model"]["name"] == "perceptron"


def test_no_penalty_on_separable_data_says_so_and_exits_4(run):
    ran = run("fit", "iris", "--penalty", "none", "--multiclass", "ovr")
    assert ran.code == 4
    assert "no finite optimum" in ran.lines["fit"]
    assert ran.lines["saved"] == "iris.separatrix"


def test_stopped_above_tol_still_saves(run, people):
    ran = run("fit", people, "--target", "income", "--max-iter", "1", "--tol", "1e-12", "--json")
    assert ran.code == ran.document["exit_code"] == 4
    assert ran.document["status"] == "max_iter"
    assert load_model("people.separatrix").model.certificate_.status == "max_iter"


def test_fit_all_rows(run, people):
    ran = run("fit", people, "--target", "income", "--test-size", "0")
    assert ran.lines["split"] == "100 to fit, none held out"
    assert ran.lines["held out"] == "no rows: every row was fitted"


def test_multiclass_weights_name_the_class(run):
    ran = run("fit", "iris")
    weights = ran.weights[1:]
    assert len(weights) == 10
    sides = {words[1].split()[-1] for words in weights}
    assert sides == {"setosa", "versicolor", "virginica"}
    assert len(load_model("iris.separatrix").provenance["weights"]) == 10


def test_alerts_are_warnings(run, people):
    text = people.read_text().splitlines()
    text = [text[0] + ",copy"] + [line + "," + line.rsplit(",", 1)[1] for line in text[1:]]
    people.write_text("\n".join(text) + "\n")
    ran = run("fit", people, "--target", "income")
    assert ran.code == 0
    assert ran.err.startswith("warning   ")
    assert "'copy'" in ran.err
    as_json = run("fit", people, "--target", "income", "--json")
    assert any("'copy'" in warning for warning in as_json.document["warnings"])


def test_a_perceptron_tells_its_mistakes(run, tmp_path):
    (tmp_path / "t.csv").write_text("x,target\n" + "1,a\n2,b\n3,a\n4,b\n" * 10)
    ran = run("fit", "t.csv", "--model", "perceptron", "--test-size", "0", "--max-iter", "7")
    assert ran.code == 4
    assert " training mistakes left, 7 passes, " in ran.lines["fit"]
    assert "raise --max-iter" in ran.lines["fit"]
    assert "best possible" not in ran.lines["fit"]
    assert ran.lines["model"] == (
        "perceptron: correct each mistake y (w.x + b) <= 0 by w += y x, b += y, until a pass has "
        "none"
    )
    assert run("info", "t.separatrix").lines["fit"] == ran.lines["fit"]
    (tmp_path / "t.csv").write_text("x,target\n" + "1,a\n2,a\n3,b\n4,b\n" * 10)
    ran = run("fit", "t.csv", "--model", "perceptron", "--test-size", "0")
    assert ran.code == 0
    assert ran.lines["fit"].startswith("optimal: no training mistake, ")


def test_advice_in_warnings_names_options(run, people):
    text = people.read_text().splitlines()
    numbered = [text[0] + ",n"] + [f"{line},{i}" for i, line in enumerate(text[1:])]
    people.write_text("\n".join(numbered) + "\n")
    ran = run("fit", people, "--target", "income", "--test-size", "0")
    assert "leave it out with --kind 'n=ignore'" in ran.err


# -------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize("data", ["people.csv", "./people.csv", "p*.csv", "link.csv"])
def test_the_table_is_never_overwritten(run, people, data):
    (people.parent / "link.csv").symlink_to(people)
    before = people.read_bytes()
    ran = run("fit", data, "--target", "income", "-o", "people.csv")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error     --output people.csv is the table ")
    assert ran.err.count("\n") == 1
    assert people.read_bytes() == before


def test_the_table_on_standard_input_is_never_overwritten(people):
    command = [sys.executable, "-m", "separatrix", "fit", "-", "--target", "income"]
    before = people.read_bytes()
    with open(people, "rb") as file:
        ran = subprocess.run(
            [*command, "-o", people.name], stdin=file, capture_output=True, cwd=people.parent
        )
    assert ran.returncode == 2
    assert b"is the table on standard input" in ran.stderr
    assert people.read_bytes() == before


def test_only_a_model_is_replaced_by_a_model(run, people, tmp_path):
    words = ("fit", people, "--target", "income", "-o")
    (tmp_path / "notes.txt").write_text("do not lose me")
    ran = run(*words, "notes.txt")
    assert (ran.code, ran.out) == (2, "")
    assert "--output notes.txt exists and is not a separatrix model" in ran.err
    assert (tmp_path / "notes.txt").read_text() == "do not lose me"
    (tmp_path / "empty").write_bytes(b"")
    assert run(*words, "empty").code == 0
    assert run(*words, "empty", "-C", "7").code == 0
    assert load_model("empty").model.C == 7


@pytest.mark.parametrize("row", range(1, 101, 9))
def test_an_infinity_in_any_row_is_told_before_the_fit(run, people, row):
    lines = people.read_text().splitlines()
    cells = lines[row].split(",")
    lines[row] = ",".join([cells[0], "inf", *cells[2:]])
    people.write_text("\n".join(lines) + "\n")
    ran = run("fit", people, "--target", "income", "-o", "m.separatrix")
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.startswith(f"error     column 'hours', row {row}: inf is not a finite number")
    assert ran.err.count("\n") == 1


def test_one_word_among_numbers_is_told(run, people):
    lines = people.read_text().splitlines()
    lines[50] = "abc," + lines[50].split(",", 1)[1]
    people.write_text("\n".join(lines) + "\n")
    ran = run("fit", people, "--target", "income")
    assert ran.code == 0
    assert ran.err.splitlines()[0] == (
        "warning   column 'age': 1 cell is no number ('abc' in row 50) and counts as missing; "
        "correct the file, or keep what is written with --kind 'age=category'"
    )
    ran = run("fit", people, "--target", "income", "--missing", "abc", "--missing", "?")
    assert (ran.code, "warning" in ran.err) == (0, False)
    assert ran.lines["read"].startswith("100 rows, 3 columns: 2 numbers, 1 category; ")
    ran = run("fit", people, "--target", "income", "--kind", "age=category")
    assert (ran.code, "no number" in ran.err) == (0, False)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["-C", "0"], "0 is not a number above 0"),
        (["-C", "-1"], "-1 is not a number above 0"),
        (["-C", "nan"], "nan is not a number above 0"),
        (["--C", "much"], "much is not a number above 0"),
        (["--lam", "inf"], "inf is not a finite number above 0"),
        (["--C", "1", "--lam", "1"], "-C and --lam set the same thing: give one of them"),
        (["--tol", "0"], "0 is not a finite number above 0"),
        (["--max-iter", "1.5"], "1.5 is not a whole number from 1"),
        (["--seed", "-1"], "-1 is not a whole number from 0 to 4294967295"),
        (["--test-size", "1"], "1 is not a share of the rows from 0 (fit them all) to below 1"),
        (["--model", "svm", "--loss", "log"], "--model svm has the loss squared_hinge or hinge"),
        (["--loss", "hinge"], "--model logistic has the loss log, not hinge"),
        (["--model", "svm", "--multiclass", "multinomial"], "is for --model logistic"),
        (["--model", "svm", "--penalty", "none"], "--model svm and kernel-svm need a penalty"),
        (["--model", "svm", "--penalty", "l1", "--loss", "hinge"], "is for --loss squared_hinge"),
        (["--model", "sgd", "--penalty", "l1"], "--penalty l1 is for --model logistic or svm"),
        (["--penalty", "elasticnet"], "--penalty elasticnet and --l1-ratio go together"),
        (["--l1-ratio", "0.5"], "--penalty elasticnet and --l1-ratio go together"),
        (["--model", "perceptron", "--tol", "1e-3"], "--tol is for --model logistic, svm, kernel-"),
        (["--target", "a", "--ignore", "a"], "--ignore leaves out the column that --target names"),
        (["--ignore", "target"], "--ignore leaves out the column 'target', which is predicted"),
        (["--kind", "target=ignore"], "--kind leaves out the column to predict"),
        (["-o", ""], "--output is empty"),
        (["--kind", "a=colour"], "'a=colour' is not COLUMN=KIND with KIND one of number, "),
        (["--kind", "a=text", "--kind", "a=number"], "--kind gives two kinds to the column 'a'"),
        (["--taget", "a"], "--taget"),
    ],
)
def test_usage_errors_are_one_sentence(run, words, told):
    ran = run("fit", "iris", *words)
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.startswith("error     ")
    assert told in ran.err
    assert ran.err.count("\n") == 1
    assert os.listdir() == []


def test_what_the_estimator_refuses_is_usage(run):
    ran = run("fit", "iris", "--time-limit", "inf", "-o", "m.separatrix")
    assert ran.code == 2
    assert "--time-limit inf must be a finite number greater than 0" in ran.err
    assert not os.path.exists("m.separatrix")


def test_what_the_estimator_refuses_is_told_before_the_table_is_read(run):
    ran = run("fit", "no-such-table.csv", "--time-limit", "inf")
    assert ran.code == 2
    assert "--time-limit inf must be a finite number greater than 0" in ran.err


def test_an_empty_name_is_told(run):
    ran = run("fit", "")
    assert ran.code == 3
    assert ran.err.startswith("error     the name of the table is empty")


def test_advice_names_options_and_not_arguments(run):
    ran = run("fit", "diabetes", "--model", "svm")
    assert ran.code == 3
    assert ran.err.endswith("insist with --kind 'target=category'\n")
    assert "predict it as it is by least squares (fit --model lstsq), " in ran.err


def test_the_last_equals_sign_parts_column_and_kind(run, people):
    people.write_text(people.read_text().replace("age,", "a=b,", 1))
    ran = run("fit", people, "--target", "income", "--kind", "a=b=category", "--json")
    assert ran.document["config"]["kinds"] == {"a=b": "category"}


def test_json_tells_errors_too(run):
    ran = run("fit", "iris", "-C", "-1", "--json")
    assert ran.code == ran.document["exit_code"] == 2
    assert ran.document["schema"] == "separatrix/error"
    assert "-1 is not a number above 0" in ran.document["error"]["message"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "empty"),
        ("a,income\n", "no rows"),
        ("a,income\n1,x\n2\n", "has the label 'x' or none"),
        ("a,income\n1,x\n2,x\n3,x\n", "one class only"),
        ("a,b\n1,x\n2,y\n", "'income'"),
    ],
)
def test_bad_tables_are_one_sentence(run, tmp_path, text, told):
    (tmp_path / "bad.csv").write_text(text)
    ran = run("fit", "bad.csv", "--target", "income", "-o", "m.separatrix")
    assert ran.code == 3
    assert ran.err.startswith("error     ")
    assert told in ran.err
    assert ran.err.count("\n") == 1
    assert not os.path.exists("m.separatrix")


def test_no_target_asks_for_one_and_names_the_columns(run, people):
    ran = run("fit", people)
    assert ran.code == 3
    assert "name the column to predict with --target" in ran.err
    assert "'age', 'hours', 'job', 'income'" in ran.err


def test_unwritable_output_is_told_before_the_data_are_read(run):
    ran = run("fit", "no-such-table.csv", "--target", "a", "-o", "gone/m.separatrix")
    assert ran.code == 3
    assert "cannot write 'gone/m.separatrix': there is no folder" in ran.err


def test_a_full_disk_is_told_and_the_old_model_survives(run, people, monkeypatch):
    import errno

    run("fit", people, "--target", "income", "-o", "m.separatrix")
    with open("m.separatrix", "rb") as file:
        before = file.read()

    def fail(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    ran = run("fit", people, "--target", "income", "-C", "9", "-o", "m.separatrix")
    assert ran.code == 3
    assert ran.err.endswith("error     cannot write 'm.separatrix': the disk is full\n")
    with open("m.separatrix", "rb") as file:
        assert file.read() == before


def test_a_reader_that_leaves_early_costs_no_model(people):
    words = ["fit", "-", "--target", "income", "-o", "m.separatrix"]
    command = [sys.executable, "-m", "separatrix", *words]
    with (
        people.open("rb") as table,
        subprocess.Popen(
            command, stdin=table, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=people.parent
        ) as process,
    ):
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0
    assert load_model(people.parent / "m.separatrix").model.certificate_.ok


# ----------------------------------------------------------------------------------- interruption


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.signals
def test_an_interrupted_fit_saves_the_best_model_so_far(run, people, number):
    from separatrix.solvers.driver import watch

    seen = []

    def interrupt(record):
        seen.append(record)
        if len(seen) == 2:
            signal.raise_signal(number)

    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with watch(interrupt):
        ran = run("fit", people, "--target", "income", "--tol", "1e-15", "--json")
    assert ran.code == ran.document["exit_code"] == 130
    assert ran.document["status"] == "interrupted"
    assert load_model("people.separatrix").model.certificate_.status == "interrupted"
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_an_interruption_before_there_is_a_model(run, people, monkeypatch):
    from separatrix.cli import reading

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(reading, "read_table", interrupted)
    ran = run("fit", people, "--target", "income", "-o", "m.separatrix")
    assert ran.code == 130
    assert ran.err == "error     interrupted; nothing was written\n"
    assert not os.path.exists("m.separatrix")


class _Interrupted:
    """A connection whose query was ended by Ctrl-C, which DuckDB may report in two ways."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def execute(self, sql: str):
        raise self.error


@pytest.mark.parametrize("kind", [RuntimeError, duckdb.InterruptException])
def test_ctrl_c_while_the_table_is_read(run, people, monkeypatch, kind):
    """DuckDB meets the signal first, and raises an error of its own in its place."""

    def slow(*args, **kwargs):
        part = source_files.Part(people, "people.csv", ".csv")
        return part.run(_Interrupted(kind("Query interrupted")), "SELECT 1")

    monkeypatch.setattr(reading, "read_table", slow)
    ran = run("fit", people, "--target", "income", "-o", "m.separatrix")
    assert (ran.code, ran.out) == (130, "")
    assert ran.err == "error     interrupted; nothing was written\n"
    assert not Path("m.separatrix").exists()


# -------------------------------------------------------------------------------------- real data


def test_adult(run, real_data):
    ran = run("fit", real_data / "adult.csv", "--target", "income", "-o", "income.separatrix")
    assert ran.code == 0
    assert ran.lines["read"] == (
        "32,561 rows, 14 columns: 6 numbers, 8 categories; 4,262 missing -> 108 features"
    )
    assert ran.lines["split"] == "26,049 to fit, 6,512 held out (stratified, seed 0)"
    held_out = load_model("income.separatrix").provenance["held_out"]
    assert held_out["accuracy"] >= 0.845
    assert ran.weights[1][:2] == ["capital_gain", "towards >50K"]
    assert ran.weights[1][2].startswith("+2.")
    assert run("verify", "income.separatrix", real_data / "adult.csv").code == 0


def test_the_split_of_a_few_rows_names_the_option_that_fits_all(run, tmp_path):
    table = tmp_path / "points.csv"
    table.write_text("x1,x2,y\n-1,3,-1\n-1,-1,-1\n3,-1,1\n0,1.5,1\n")
    given = ("fit", str(table), "--target", "y", "--model", "perceptron", "-o", "m.separatrix")
    assert run(*given).lines["split"] == (
        "3 to fit, 1 held out (stratified, seed 0); --test-size 0 fits all rows"
    )
    assert run(*given, "--test-size", "0").lines["split"] == "4 to fit, none held out"
