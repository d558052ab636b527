"""``separatrix predict``: one line for each row, whatever the row."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys

import duckdb
import numpy as np
import pytest

from separatrix.persistence.model_file import load_model, save_model
from separatrix.tables import read_table


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_one_line_a_row_in_order(run, model, people):
    ran = run("predict", model, people)
    assert (ran.code, ran.err) == (0, "")
    stored = load_model(model)
    expected = stored.model.predict(stored.encoder.transform(read_table(people).drop("income")))
    assert [row["prediction"] for row in rows_of(ran.out)] == expected.tolist()


def test_probabilities_and_scores_are_named_by_class_and_exact(run, model, people):
    ran = run("predict", model, people, "--proba", "--scores")
    rows = rows_of(ran.out)
    assert list(rows[0]) == ["prediction", "probability_<=50K", "probability_>50K", "score_>50K"]
    stored = load_model(model)
    X = stored.encoder.transform(read_table(people).drop("income"))
    probabilities = [[float(r["probability_<=50K"]), float(r["probability_>50K"])] for r in rows]
    assert np.array_equal(probabilities, stored.model.predict_proba(X))
    scores = [float(row["score_>50K"]) for row in rows]
    assert np.array_equal(scores, stored.model.decision_function(X))


def test_multiclass_has_a_score_for_each_class(run, once):
    once("fit", "iris", "--model", "svm")
    ran = run("predict", "iris.separatrix", "iris", "--scores")
    rows = rows_of(ran.out)
    assert len(rows) == 150
    for row in rows:
        scores = {
            name: float(row[f"score_{name}"]) for name in ("setosa", "versicolor", "virginica")
        }
        assert row["prediction"] == max(scores, key=scores.get)


def test_a_model_without_probabilities_says_what_it_has(run, once):
    once("fit", "iris", "--model", "svm")
    ran = run("predict", "iris.separatrix", "iris", "--proba")
    assert ran.code == 2
    assert ran.out == ""
    assert "LinearSVC gives no probabilities without --calibrate in fit: --scores" in ran.err


def test_columns_are_matched_by_name(run, model, people, tmp_path):
    lines = [line.split(",") for line in people.read_text().splitlines()]
    shuffled = tmp_path / "shuffled.csv"
    shuffled.write_text("\n".join(",".join([*row[3:0:-1], "z", row[0]]) for row in lines))
    ran = run("predict", model, shuffled)
    assert ran.out == run("predict", model, people).out
    assert "'z'" in run("predict", model, shuffled).err


def test_unseen_levels_are_told(run, model, people):
    people.write_text(people.read_text().replace(",cook,", ",baker,"))
    ran = run("predict", model, people)
    assert ran.code == 0
    assert ran.err.startswith("warning   column 'job': 1 level not seen at fit")
    assert run("predict", model, people, "-q").err == ""


def test_a_missing_column_is_an_error(run, model, people):
    people.write_text(people.read_text().replace("age,", "years,", 1))
    ran = run("predict", model, people)
    assert (ran.code, ran.out) == (3, "")
    assert "'age'" in ran.err


def test_codes_that_look_like_numbers_keep_their_zeros(run, tmp_path):
    table = tmp_path / "zips.csv"
    body = "".join(f"{zip_},{label}\n" for zip_, label in [("01", "a"), ("1", "b")] * 20)
    table.write_text("zip,target\n" + body)
    assert run("fit", table, "--kind", "zip=category", "-o", "m.separatrix").code == 0
    new = tmp_path / "new.csv"
    new.write_text("zip\n01\n1\n")
    assert [row["prediction"] for row in rows_of(run("predict", "m.separatrix", new).out)] == [
        "a",
        "b",
    ]


def test_codes_keep_their_zeros_on_standard_input(run, tmp_path, monkeypatch):
    table = tmp_path / "zips.csv"
    table.write_text("zip,target\n" + "01,a\n1,b\n" * 20)
    assert run("fit", table, "--kind", "zip=category", "-o", "m.separatrix").code == 0
    stdin = io.TextIOWrapper(io.BytesIO(b"zip\n01\n1\n"))
    monkeypatch.setattr("sys.stdin", stdin)
    ran = run("predict", "m.separatrix", "-")
    assert [row["prediction"] for row in rows_of(ran.out)] == ["a", "b"]
    assert ran.err == ""


def test_output_file_holds_what_stdout_would(run, model, people, tmp_path):
    expected = run("predict", model, people).out
    ran = run("predict", model, people, "-o", "p.csv")
    assert (ran.code, ran.out) == (0, "")
    assert ran.err == "note      100 predictions in p.csv\n"
    assert (tmp_path / "p.csv").read_bytes().decode() == expected
    assert run("predict", model, people, "-o", "p.csv", "--json").code == 2


def test_json(run, model, people):
    document = run("predict", model, people, "--proba", "--json").document
    assert document["schema"] == "separatrix/predict"
    assert document["classes"] == ["<=50K", ">50K"]
    columns = document["columns"]
    assert list(columns) == ["prediction", "probability_<=50K", "probability_>50K"]
    assert {len(column) for column in columns.values()} == {100}


@pytest.mark.parametrize("labels", [[0, 1], [True, False]])
def test_labels_that_are_no_text(run, tmp_path, labels):
    table = tmp_path / "t.csv"
    table.write_text("x,target\n" + "".join(f"{i},{labels[i > 9]}\n" for i in range(20)))
    run("fit", table, "-o", "m.separatrix")
    rows = rows_of(run("predict", "m.separatrix", table).out)
    assert [row["prediction"] for row in rows[:2]] == [str(labels[0])] * 2


def test_a_reader_of_what_was_standard_input_may_leave_early(model, people):
    header, _, rows = people.read_text().partition("\n")
    people.write_text(f"{header}\n{rows * 30}")
    # The answer is larger than any pipe, so it cannot be written at once.
    command = [sys.executable, "-m", "separatrix", "predict", model.name, "-", "--proba"]
    with (
        people.open("rb") as table,
        subprocess.Popen(
            command, stdin=table, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=people.parent
        ) as process,
    ):
        assert process.stdout.readline().startswith(b"prediction,probability_<=50K")
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_a_model_without_an_encoder_is_for_python(run, model, people, tmp_path):
    save_model(tmp_path / "bare.separatrix", load_model(model).model)
    ran = run("predict", "bare.separatrix", people)
    assert ran.code == 3
    assert "saved without an encoder" in ran.err


def test_not_a_model(run, people):
    ran = run("predict", people, people)
    assert (ran.code, ran.out) == (3, "")
    assert ran.err == f"error     '{people}' is not a separatrix model file\n"


def test_inputs_are_never_overwritten(run, model, people):
    table, file = people.read_bytes(), model.read_bytes()
    for output, told in [
        (people, f"--output {people} is the table {people}, which would be lost"),
        (model, f"--output {model} is the model file, which would be lost"),
    ]:
        ran = run("predict", model, people, "-o", output)
        assert (ran.code, ran.out) == (2, "")
        assert told in ran.err
        assert ran.err.count("\n") == 1
    assert (people.read_bytes(), model.read_bytes()) == (table, file)


def test_another_table_is_overwritten_but_no_model(run, model, people, tmp_path):
    (tmp_path / "p.csv").write_text("old\n")
    assert run("predict", model, people, "-o", "p.csv").code == 0
    assert (tmp_path / "p.csv").read_text().startswith("prediction\n")
    (tmp_path / "other.separatrix").write_bytes(model.read_bytes())
    ran = run("predict", model, people, "-o", "other.separatrix")
    assert ran.code == 2
    assert "is a separatrix model, so it is not overwritten" in ran.err
    assert (tmp_path / "other.separatrix").read_bytes() == model.read_bytes()


def test_empty_names_are_told(run, model, people):
    assert "--output is empty" in run("predict", model, people, "-o", "").err
    ran = run("predict", "", people)
    assert (ran.code, ran.err) == (3, "error     the name of the model file is empty\n")


LABELS = ["=cmd|' /C calc'!A0", "+x", "-5", "@sum", "\x1b[31mred", "plain", "\uff1dwide", "a\x9bb"]
SAFE = [
    "'=cmd|' /C calc'!A0",
    "'+x",
    "-5",
    "'@sum",
    "\\x1b[31mred",
    "plain",
    "'\uff1dwide",
    "a\\x9bb",
]


@pytest.fixture
def traps(once, make_csv):
    """Classes whose names a spreadsheet or a terminal would obey."""
    rows = [[10.0 * k + i, LABELS[k]] for k in range(len(LABELS)) for i in range(4)]
    table = make_csv("traps.csv", ["a", "c"], rows)
    ran = once(
        "fit", table, "--target", "c", "--model", "lda", "--test-size", "0", "-o", "m.separatrix"
    )
    assert ran.code == 0
    assert "\x1b" not in ran.out + ran.err and "\x9b" not in ran.out + ran.err
    return table


def test_names_that_a_spreadsheet_would_run_are_quoted(run, traps, tmp_path):
    ran = run("predict", "m.separatrix", traps, "--proba")
    rows = rows_of(ran.out)
    assert [row["prediction"] for row in rows[::4]] == SAFE
    assert f"probability_{LABELS[0]}" in rows[0] and "probability_\\x1b[31mred" in rows[0]
    # 6 of 8 classes, 4 rows each, and 2 names in the header.
    assert ran.err.startswith(
        "note      26 cells changed, so that no spreadsheet or terminal executes"
    )
    assert "--raw" in ran.err and "differ from the labels in the data" in ran.err
    assert run("predict", "m.separatrix", traps, "-o", "p.csv").code == 0
    assert [r["prediction"] for r in rows_of((tmp_path / "p.csv").read_text())[::4]] == SAFE
    # Numbers are never touched.
    assert all(0.0 <= float(row["probability_-5"]) <= 1.0 for row in rows)


def test_raw_writes_names_as_they_are(run, traps):
    ran = run("predict", "m.separatrix", traps, "--raw")
    assert ran.err == ""
    assert [row["prediction"] for row in rows_of(ran.out)[::4]] == LABELS


def test_json_has_the_names_but_no_control_characters(run, traps):
    ran = run("predict", "m.separatrix", traps, "--json")
    assert "\x9b" not in ran.out and "\x1b" not in ran.out
    assert ran.document["columns"]["prediction"][::4] == LABELS


def test_help_tells_of_names_that_are_changed(run):
    told = " ".join(run("predict", "--help").out.split())
    assert "gets an apostrophe in front" in told and "such as \\x1b" in told and "--raw" in told


@pytest.mark.parametrize("command", ["evaluate", "verify", "info", "diagnose", "separable"])
def test_no_command_passes_escape_codes_on(run, traps, command):
    words = {
        "info": ["m.separatrix"],
        "evaluate": ["m.separatrix", traps],
        "verify": ["m.separatrix", traps],
        "diagnose": [traps, "--target", "c"],
        "separable": [traps, "--target", "c"],
    }[command]
    ran = run(command, *words)
    assert ran.code in (0, 1, 4)
    assert not {"\x1b", "\x9b"} & set(ran.out + ran.err)


def test_columns_beside_the_predictions_and_other_formats(run, tmp_path):
    rows = ["id,price,when,y"] + [
        f"{k:03d},${k % 7}.50,{1 + k % 28}/5/2024,{'ab'[k % 7 > 3]}" for k in range(60)
    ]
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n")
    assert run("fit", "t.csv", "--target", "y", "-o", "m.separatrix").code == 0
    ran = run("predict", "m.separatrix", "t.csv", "--keep", "id,when", "-o", "p.csv")
    assert ran.code == 0
    first, second = (tmp_path / "p.csv").read_text().splitlines()[:2]
    assert first == "id,when,prediction"
    # The cells are kept as they are written, zeros and all.
    assert second == "000,1/5/2024,a"
    ran = run("predict", "m.separatrix", "t.csv", "--keep", "all", "--proba", "-o", "p.parquet")
    assert ran.code == 0
    answer = duckdb.sql("SELECT * FROM 'p.parquet'").fetchnumpy()
    assert list(answer) == [
        "id",
        "price",
        "when",
        "y",
        "prediction",
        "probability_a",
        "probability_b",
    ]
    assert answer["price"][3] == "$3.50"
    assert answer["probability_a"].dtype == float
    assert run("predict", "m.separatrix", "t.csv", "-o", "p.jsonl").code == 0
    lines = (tmp_path / "p.jsonl").read_text().splitlines()
    assert (len(lines), json.loads(lines[0])) == (60, {"prediction": "a"})
    ran = run("predict", "m.separatrix", "t.csv", "-o", "p.xlsx")
    assert ran.code == 2
    assert "predictions cannot be written as .xlsx" in ran.err
    ran = run("predict", "m.separatrix", "t.csv", "--keep", "name")
    assert ran.code == 3
    assert "has no column 'name'; its columns are 'id', 'price', 'when', 'y'" in ran.err
    assert run("predict", "m.separatrix", "-", "--keep", "id").code == 2
