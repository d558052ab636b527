"""``separatrix report`` and ``fit --report``."""

from __future__ import annotations

import contextlib
import io
import json

import pytest

from separatrix.report import rendering
from separatrix.report.files import looks_like_report


def test_fit_with_a_report(run, people, tmp_path):
    ran = run("fit", people, "--target", "income", "-o", "m.separatrix", "--report", "out.html")
    assert ran.code == 0 and ran.err == ""
    assert ran.lines["report"] == "out.html, numbers in out.json"
    document = json.loads((tmp_path / "out.json").read_text())
    assert document["schema"] == "separatrix/report"
    assert [m["rows"] for m in document["metrics"]] == ["held_out", "fit"]
    assert [m["n"] for m in document["metrics"]] == [20, 80]
    drawn = {picture["key"]: picture["why"] for picture in document["pictures"]}
    curves = {"roc", "precision-recall", "calibration", "partial-residuals"}
    assert set(drawn) == {"boundary", "margins", *curves}
    assert set(drawn.values()) == {None}
    assert looks_like_report(tmp_path / "out.html")


@pytest.mark.usefixtures("undrawn")
def test_dates_are_written_as_dates(run, tmp_path):
    days = [f"2021-{1 + k % 12:02}-{1 + k % 28:02}" for k in range(120)]
    lines = [f"{day},{k % 7},{'no' if k % 12 < 6 else 'yes'}" for k, day in enumerate(days)]
    data = tmp_path / "t.csv"
    data.write_text("\n".join(["seen,x,y", *lines]))
    assert run("fit", data, "--target", "y", "--report", "out.html").code == 0
    document = json.loads((tmp_path / "out.json").read_text())
    (seen,) = (one for one in document["data"]["columns"] if one["column"] == "seen")
    assert seen["date"] and 18628 <= seen["least"] < seen["most"] < 18993
    shown = {c["value"] for one in document["examples"]["unsure"] for c in one["causes"]
             if c.get("date")}  # fmt: skip
    page = (tmp_path / "out.html").read_text()
    assert shown and "2021-01-01 to 2021-12-" in page
    assert not any(f"seen {day:.0f}" in page.replace("<bdi>", "").replace("</bdi>", "")
                   for day in shown)  # fmt: skip


@pytest.mark.parametrize(
    "model",
    [
        *(pytest.param(m, marks=pytest.mark.exhaustive) for m in ("logistic", "svm", "kernel-svm")),
        "sgd",
    ],
)
def test_the_model_does_not_know_of_the_report(run, people, tmp_path, model):
    documents = []
    for extra in ([], ["--report", "out.html"]):
        words = ["--target", "income", "--model", model, "-o", "m.separatrix", "--json", *extra]
        document = run("fit", people, *words).document
        assert document.get("report") == ("out.html" if extra else None)
        same = {key: document[key] for key in ("command", "config", "model", "weights")}
        bounds = {key: document["certificate"][key] for key in ("primal", "dual", "n_iter")}
        documents.append((same, bounds))
    assert documents[0] == documents[1]


@pytest.mark.usefixtures("undrawn")
def test_report_of_the_same_table_is_that_of_the_fit(run, people, tmp_path):
    # Two columns that determine each other: found at the fit, and reported in both reports.
    rows = [line.split(",") for line in people.read_text().splitlines()]
    grades = [["grade"], *([{"clerk": 1, "cook": 2}.get(row[2], "")] for row in rows[1:])]
    text = "\n".join(",".join(map(str, [*g, *row])) for g, row in zip(grades, rows, strict=True))
    people.write_text(text)
    run("fit", people, "--target", "income", "-o", "m.separatrix", "--report", "a.html")
    ran = run("report", "m.separatrix", people, "-o", "b.html")
    assert ran.code == 0
    one, other = (json.loads((tmp_path / f"{name}.json").read_text()) for name in "ab")
    for key in ("alerts", "metrics", "weights", "examples", "data", "certificate", "reproduce"):
        assert one[key] == other[key], key
    assert any(finding["remedy"] for finding in one["alerts"]["findings"])
    assert "one_to_one" in {finding["code"] for finding in one["alerts"]["findings"]}


@pytest.mark.usefixtures("undrawn")
def test_the_name_follows_from_the_model(run, model, people, tmp_path):
    assert run("report", model, people).lines["report"].startswith("people.html")
    assert (tmp_path / "people.json").exists()
    assert run("report", model, people, "-q").out == ""


@pytest.mark.usefixtures("undrawn")
def test_json_is_the_document(run, model, people, tmp_path):
    ran = run("report", model, people, "-o", "out.html", "--json")
    written = json.loads((tmp_path / "out.json").read_text())
    document = ran.document
    assert document["schema"] == written["schema"] == "separatrix/report"
    assert document["metrics"] == written["metrics"]
    assert document["exit_code"] == 0 and document["output"] == "out.html"


@pytest.mark.usefixtures("undrawn")
def test_other_rows(run, model, people, tmp_path):
    lines = people.read_text().splitlines()
    (tmp_path / "new.csv").write_text("\n".join(lines[:60]))
    ran = run("report", model, "new.csv", "-o", "new.html")
    assert ran.code == 0 and "these are not the data of the fit" in ran.err
    document = json.loads((tmp_path / "new.json").read_text())
    assert [m["rows"] for m in document["metrics"]] == ["given"]
    assert document["metrics"][0]["n"] == 59
    assert document["earlier"]["n"] == 20
    assert "On the rows held out from the fit" in (tmp_path / "new.html").read_text()


@pytest.mark.parametrize(
    "words",
    [
        ["people.csv", "--target", "income"],
        ["people.csv", "--target", "income", "--model", "svm", "--calibrate", "sigmoid"],
        ["people.csv", "--target", "income", "--penalty", "none", "--kind", "age=category"],
        ["people.csv", "--target", "income", "--ignore", "job", "--missing", "clerk"],
        ["people.csv", "--target", "hours", "--ignore", "income"],
        ["people.csv", "--target", "income", "--model", "kernel-svm", "-C", "2"],
        ["people.csv", "--target", "income", "--model", "sgd"],
        ["people.csv", "--target", "income", "--model", "lda", "--test-size", "0"],
        ["iris", "--model", "qda"],
        ["diabetes", "--model", "poly", "--degree", "2"],
    ],
    ids=lambda words: " ".join(words)[:60],
)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("undrawn")
def test_the_code_comes_to_the_same_objective(run, people, tmp_path, words):
    if words[2:3] == ["hours"]:
        people.write_text("\n".join(x for x in people.read_text().splitlines() if ",," not in x))
    ran = run("fit", *words, "-o", "m.separatrix", "--report", "out.html", "--json")
    assert ran.code in (0, 4), ran.err
    document = json.loads((tmp_path / "out.json").read_text())
    scope: dict = {}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(document["reproduce"]["python"], "report", "exec"), scope)
    assert printed.getvalue()
    found = scope["model"].certificate_.to_dict()
    for key in ("primal", "dual", "relative_residual", "rank"):
        assert found.get(key) == ran.document["certificate"].get(key), key
    # The shell's command ends in the same model too.
    again = run(*document["reproduce"]["shell"].split()[1:], "--json")
    assert again.document["certificate"].get("primal") == found.get("primal")


# ------------------------------------------------------------------------------ what is refused


def test_inputs_models_and_other_files_are_not_overwritten(run, model, people, tmp_path):
    (tmp_path / "notes.html").write_text("my notes")
    (tmp_path / "data.json").write_text('[{"a": 1}]')
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for output, told in (
        (people.name, "is the table people.csv, which would be lost"),
        (model.name, "is the model file, which would be lost"),
        ("notes.html", "is not a report of separatrix"),
        ("data.html", "data.json' exists and is not a report"),
        ("out.json", "name of the report's data"),
        ("", "is empty"),
        ("-", "is not the name of a file"),
        ("folder/", "is not the name of a file"),
    ):
        ran = run("report", model.name, people.name, "-o", output)
        assert ran.code == 2 and told in ran.err, ran.err
        words = ["-o", "other.separatrix", "--report", output]
        ran = run("fit", people.name, "--target", "income", *words)
        assert ran.code == 2 and "--report" in ran.err, ran.err
    ran = run("fit", people.name, "--target", "income", "-o", "m.html", "--report", "m.html")
    assert ran.code == 2 and "where the model is saved" in ran.err
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_table_beside_the_page_is_safe(run, tmp_path):
    rows = [{"a": i % 7, "b": "yes" if i % 7 > 3 else "no"} for i in range(40)]
    (tmp_path / "table.json").write_text(json.dumps(rows))
    ran = run("fit", "table.json", "--target", "b", "--report", "table.html")
    assert ran.code == 2 and "is the table table.json, which would be lost" in ran.err


def test_a_missing_extra_is_told_before_the_fit(run, people, monkeypatch, tmp_path):
    real = rendering.find_spec
    monkeypatch.setattr(
        rendering, "find_spec", lambda name: None if name == "matplotlib" else real(name)
    )
    ran = run("fit", people, "--target", "income", "--report", "out.html")
    assert ran.code == 2
    assert 'a report needs matplotlib: pip install "separatrix[app]"' in ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


def test_a_folder_that_is_not_there_is_told_before_the_fit(run, people, tmp_path):
    ran = run("fit", people, "--target", "income", "--report", "no/out.html")
    assert ran.code == 3 and "there is no folder" in ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


def test_a_folder_that_is_not_there_is_told_before_the_table_is_read(run, model, tmp_path):
    ran = run("report", model, "no-such.csv", "-o", "no/out.html")
    assert ran.code == 3 and "there is no folder" in ran.err


@pytest.mark.filterwarnings("ignore:overflow")
def test_scores_beyond_floats_are_shown(run, model, people, tmp_path):
    header, *lines = people.read_text().splitlines()[:20]
    rows = [["1e308", "1e308", *line.split(",")[2:]] for line in lines]
    people.write_text("\n".join([header, *map(",".join, rows)]))
    ran = run("report", model, people, "-o", "out.html")
    assert ran.code == 0, ran.err
    assert "∞" in (tmp_path / "out.html").read_text()


def test_labels_are_needed(run, model, people):
    text = people.read_text().replace(",income", ",other", 1)
    people.write_text(text)
    ran = run("report", model, people, "-o", "out.html")
    assert ran.code == 3 and "has no column 'income'" in ran.err


def test_ctrl_c_while_it_is_made_keeps_the_model(run, people, monkeypatch, tmp_path):
    from separatrix.cli.commands.report import run as report_run

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(report_run.Report, "from_table", interrupted)
    ran = run("fit", people, "--target", "income", "-o", "m.separatrix", "--report", "out.html")
    assert ran.code == 130 and "the model is saved" in ran.err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.separatrix", "people.csv"]


@pytest.mark.usefixtures("undrawn")
def test_a_fit_above_its_tolerance_says_so_first(run, people, tmp_path):
    words = ["--target", "income", "--max-iter", "1", "--report", "out.html"]
    ran = run("fit", people, *words)
    assert ran.code == 4
    first = json.loads((tmp_path / "out.json").read_text())["alerts"]["findings"][0]
    assert first["code"] == "max_iter" and "--max-iter" in first["remedy"]


def test_no_margin_no_report(run, people, tmp_path):
    words = ["--target", "income", "--model", "svm", "-C", "inf", "--report", "out.html"]
    assert run("fit", people, *words).code == 1
    assert not (tmp_path / "out.html").exists()
