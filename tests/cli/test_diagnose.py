"""``separatrix diagnose``, and what ``separatrix fit`` says before it fits."""

from __future__ import annotations

import json
import os
import signal
import sys

import numpy as np
import pytest

from separatrix.cli.commands.diagnose import findings
from separatrix.cli.commands.diagnose import run as diagnose_run
from separatrix.geometry.diagnosis import checks

from .conftest import write_csv


@pytest.fixture
def messy(tmp_path):
    """240 rows with one trouble of every sort."""
    rng = np.random.default_rng(0)
    rows = []
    for i in range(240):
        b, c = rng.integers(0, 1000, 2)
        label = "yes" if rng.uniform() < 0.5 else "no"
        big = 1_000_000 * int(rng.integers(1, 9))
        leak = round(rng.uniform(5, 6) if label == "yes" else rng.uniform(1, 2), 3)
        rows.append([b + c, b, c, 7, big, leak, ["r", "s", "t"][i % 3], label])
    rows[60][:7] = rows[20][:7]
    rows[20][7], rows[60][7] = "no", "yes"
    header = ["sum", "b", "c", "seven", "big", "leak", "k", "income"]
    return write_csv(tmp_path / "messy.csv", header, rows)


def by_code(document):
    return {finding["code"]: finding for finding in document["findings"]}


# ------------------------------------------------------------------------------------- diagnose


def test_findings_by_name(run, messy):
    ran = run("diagnose", messy, "--target", "income", "--json")
    assert (ran.code, ran.err) == (0, "")
    document = ran.document
    assert (document["schema"], document["rows"], document["target"]) == (
        "separatrix/diagnose", 240, "income",
    )  # fmt: skip
    found = by_code(document)
    assert found["collinear"]["what"] == "columns depend on one another: 'sum' = 'b' + 'c'"
    assert found["constant_column"]["where"]["columns"] == ["seven"]
    assert found["scales_differ"]["where"]["columns"][0] == "big"
    assert found["contradictory_rows"]["where"]["pairs"] == [[21, 61]]
    assert found["one_hot"]["where"]["groups"] == [["k=r", "k=s", "k=t"]]
    # Two rows share their cells, so the leak is wrong for one of them.
    assert found["nearly_gives_label_away"]["where"]["columns"] == ["leak"]
    ranks = [["problem", "warning", "note"].index(f["severity"]) for f in document["findings"]]
    assert ranks == sorted(ranks)
    assert document["skipped"] == {}


def test_text_for_people(run, messy):
    ran = run("diagnose", messy, "--target", "income")
    lines = ran.out.splitlines()
    assert lines[0] == "read      240 rows, 7 columns: 6 numbers, 1 category -> 9 features"
    heads = [line[:10].rstrip() for line in lines if line[0] != " "]
    assert heads[0] == "read"
    assert heads[-2:] == ["columns", "found"]
    assert set(heads[1:-2]) <= {"problem", "warning", "note"}
    assert lines[-1].startswith("found     ")
    at = lines.index("warning   columns depend on one another: 'sum' = 'b' + 'c'")
    assert lines[at + 1].startswith(" " * 10 + "The split of the weight among them ")
    assert lines[at + 2] == "          Leave out one of them."
    assert "such as rows 21 ('no') and 61 ('yes')" in ran.out
    assert "separatrix.separability" not in ran.out


def test_clean_data(run, tmp_path):
    rng = np.random.default_rng(1)
    rows = [[f"{v:.4f}" for v in rng.normal(size=3)] + [int(rng.integers(2))] for _ in range(200)]
    write_csv(tmp_path / "t.csv", ["a", "b", "c", "target"], rows)
    ran = run("diagnose", "t.csv")
    assert (ran.code, ran.err) == (0, "")
    assert list(ran.lines) == ["read", "columns", "found"]
    assert ran.lines["found"] == "no problems found"
    quiet = run("diagnose", "t.csv", "-q")
    assert list(quiet.lines) == ["found"]


def test_what_the_encoder_noticed_is_a_finding_and_told_once(run, tmp_path):
    rng = np.random.default_rng(2)
    rows = []
    for i in range(300):
        cm = rng.normal()
        code = int(rng.integers(5))
        label = int(rng.integers(2))
        rows.append([f"u{i}", repr(cm), repr(3 - cm / 2.54), code, "abcde"[code], label * 3, label])
    header = ["id", "cm", "inch", "code", "name", "leak", "target"]
    write_csv(tmp_path / "t.csv", header, rows)
    ran = run("diagnose", "t.csv", "--json")
    assert ran.err == ""
    found = [(f["code"], f["what"]) for f in ran.document["findings"]]
    assert [what for code, what in found if code == "left_out"] == [
        "column 'id' has 300 levels in 300 rows, so it identifies rows and does not describe them; "
        "it is left out"
    ]
    leaks = [what for code, what in found if code == "gives_label_away"]
    assert len(leaks) == 1
    assert leaks[0].startswith("column 'leak' equals the target or is one-to-one with it")
    assert [what for code, what in found if code == "one_to_one"] == [
        "columns 'code' and 'name' are one-to-one: each determines the other"
    ]
    assert [what for code, what in found if code == "collinear"] == [
        "column 'inch' is column 'cm' on another scale"
    ]


def test_many_alerts_are_counted(run, tmp_path):
    rows = [[*[f"x{i}.{j}" for j in range(8)], i * i, "ab"[i % 2]] for i in range(30)]
    write_csv(tmp_path / "t.csv", [*[f"id{j}" for j in range(8)], "x", "target"], rows)
    document = run("diagnose", "t.csv", "--json").document
    left_out = [f for f in document["findings"] if f["code"] == "left_out"]
    # All of them in one sentence.
    assert [one["where"] for one in left_out] == [{"columns": [f"id{j}" for j in range(8)]}]
    assert left_out[0]["what"] == (
        "8 columns are left out: 'id0', 'id1', 'id2', 'id3', 'id4' and 3 more identify rows"
    )


def test_alerts_of_the_reader_are_warnings(run, people):
    lines = people.read_text().splitlines()
    lines[50] = "abc," + lines[50].split(",", 1)[1]
    people.write_text("\n".join(lines) + "\n")
    ran = run("diagnose", people, "--target", "income")
    assert ran.code == 0
    assert ran.err.startswith("warning   column 'age': 1 cell is no number ('abc' in row 50)")
    assert "; 4 missing" in ran.lines["read"] or " missing -> " in ran.lines["read"]


def test_three_classes(run):
    ran = run("diagnose", "iris")
    assert ran.code == 0
    assert ran.lines["warning"] == (
        "2 of 3 pairs of classes are separable, and 'setosa' is separable from all the rest"
    )
    assert "separatrix separable has the proof" in ran.out


def test_sparse_and_text(run, tmp_path):
    (tmp_path / "t.svm").write_text("1 1:1 9:2\n-1 3:1000000\n" * 20 + "1\n-1 1:1 9:2\n")
    document = run("diagnose", "t.svm", "--json").document
    found = by_code(document)
    assert found["constant_column"]["where"]["count"] == 6
    assert found["empty_rows"]["where"] == {"rows": [41], "count": 1}
    assert found["contradictory_rows"]["where"]["pairs"] == [[1, 42]]
    words = ["the film was great fun", "dull and long and dull", "great actors in a dull plot"]
    rows = [[words[i % 3] + f" take{i % 11}", "np"[i % 2]] for i in range(60)]
    write_csv(tmp_path / "t.csv", ["review", "target"], rows)
    ran = run("diagnose", "t.csv", "--kind", "review=text")
    assert ran.code == 0
    assert "1 text -> " in ran.lines["read"]


@checks.tuned(checks.Tuning(quick_work=10))
def test_what_was_skipped_is_said(run):
    ran = run("diagnose", "iris")
    assert "note      no check was made whether the classes are separable" in ran.out.splitlines()
    assert "Give a --time-limit, or call separatrix separable." in ran.out
    asked = run("diagnose", "iris", "--time-limit", "60", "--json")
    assert asked.document["skipped"] == {}
    assert "separable" in by_code(asked.document)
    assert run("diagnose", "iris", "--json").document["skipped"] == {
        "separability": "it can take long on data of this size"
    }


def test_names_of_any_kind(run, tmp_path):
    names = ['quo"te', "[bold]br[/bold]", "naïve ☃ 数", "esc\x1b[31m", "a=b"]
    rng = np.random.default_rng(3)
    rows = []
    for i in range(60):
        b = int(rng.integers(100))
        rows.append([b, b, 3, b * b, "uv"[i % 2 == 0 and b > 50], ["[red]no\x07", 'ye"s'][i % 2]])
    write_csv(tmp_path / "t.csv", [*names, "tar=get"], rows)
    ran = run("diagnose", "t.csv", "--target", "tar=get")
    assert ran.code == 0
    assert "\x1b" not in ran.out
    assert "naïve ☃ 数" in ran.out
    document = run("diagnose", "t.csv", "--target", "tar=get", "--json").document
    assert by_code(document)["constant_column"]["where"]["columns"] == ["naïve ☃ 数"]


def test_numbers_of_every_size(run, tmp_path):
    rows = [[s * 1.7e308, s * 1e-300, "ab"[k]] for k, s in [(0, 1), (1, -1)] * 30]
    write_csv(tmp_path / "t.csv", ["big", "tiny", "target"], rows)
    ran = run("diagnose", "t.csv", "--json")
    assert ran.code == 0
    json.dumps(ran.document, allow_nan=False)
    assert "scales_differ" in by_code(ran.document)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "empty"),
        ("x,target\n", "no rows"),
        ("x,target\n1,a\n2,a\n", "one class only"),
        ("x,target\n1,a\ninf,b\n", "row 2: inf is not a finite number"),
    ],
)
def test_bad_tables_are_one_sentence(run, tmp_path, text, told):
    (tmp_path / "bad.csv").write_text(text)
    ran = run("diagnose", "bad.csv")
    assert (ran.code, ran.out) == (3, "")
    assert told in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--time-limit", "-1"], "-1 is not a finite number above 0"),
        (["--kind", "target=ignore"], "--kind leaves out the column to predict"),
        (["--certificate", "p"], "--certificate"),
        (["--report", "t.json"], "end the page's name in .html"),
    ],
)
def test_usage_errors_are_one_sentence(run, words, told):
    ran = run("diagnose", "iris", *words)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.skipif(sys.platform == "win32", reason="signals as POSIX has them")
@pytest.mark.signals
def test_ctrl_c(run, monkeypatch):
    monkeypatch.setattr(
        diagnose_run, "diagnose_table", lambda *a, **o: signal.raise_signal(signal.SIGINT)
    )
    ran = run("diagnose", "iris")
    assert ran.code == 130
    assert ran.err == "error     interrupted; nothing was written\n"
    assert os.listdir() == []


# ------------------------------------------------------------------------------------------ fit


def warnings_of(ran):
    lines = ran.err.splitlines()
    return [line.removeprefix("warning   ") for line in lines if line.startswith("warning   ")]


def test_fit_warns_of_what_gives_the_label_away(run, messy):
    ran = run("fit", messy, "--target", "income", "--test-size", "0")
    assert ran.code == 0
    leak = [line for line in warnings_of(ran) if "'leak'" in line]
    assert len(leak) == 1
    assert leak[0].startswith("column 'leak' alone nearly determines the class: a threshold on")
    assert leak[0].endswith("if it is, a threshold on it is enough")
    as_json = run("fit", messy, "--target", "income", "--test-size", "0", "--json")
    assert leak[0] in as_json.document["warnings"]
    assert run("fit", messy, "--target", "income", "--test-size", "0", "-q").err == ""


def test_fit_calls_rows_as_the_file_does(run, messy):
    lines = messy.read_text().splitlines()
    other = {"yes": "no", "no": "yes"}
    for line in lines[1:6]:
        cells, _, label = line.rpartition(",")
        lines.append(f"{cells},{other[label]}")
    messy.write_text("\n".join(lines) + "\n")
    ran = run("fit", messy, "--target", "income", "--test-size", "0")
    (told,) = [line for line in warnings_of(ran) if "of another label" in line]
    assert told.startswith("12 rows equal a row of another label in every feature: ")
    assert "such as rows 1 (" in told
    assert " and 241 (" in told


def test_fit_counts_rows_of_the_file_though_some_are_held_out(run, messy):
    lines = messy.read_text().splitlines()
    # Whatever is held out, one of these many pairs is fitted.
    pairs = [f"1,0,1,7,{10**6 + i},1.5,r,{label}" for i in range(10) for label in ("no", "yes")]
    messy.write_text("\n".join([*lines, *pairs]) + "\n")
    ran = run("fit", messy, "--target", "income")
    (told,) = [line for line in warnings_of(ran) if "of another label" in line]
    numbers = [int(word) for word in told.replace(";", " ").split() if word.isdigit()]
    assert {n for n in numbers if n > 240}


def test_fit_does_not_repeat_the_encoder(run, tmp_path):
    rng = np.random.default_rng(4)
    rows = []
    for _ in range(100):
        label = int(rng.integers(2))
        rows.append([repr(rng.normal()), label * 3, label])
    write_csv(tmp_path / "t.csv", ["x", "leak", "target"], rows)
    ran = run("fit", "t.csv")
    assert [line for line in warnings_of(ran) if "leak" in line] == [
        "column 'leak' equals the target or is one-to-one with it: if it is not known before the "
        "target, leave it out"
    ]


def test_fit_without_a_penalty_tells_what_is_not_determined(run, messy):
    words = ("fit", messy, "--target", "income", "--ignore", "leak", "--test-size", "0")
    told = "a feature follows from others and is left out, because coefficients would not be "
    assert not any(line.startswith(told) for line in warnings_of(run(*words)))
    for options in (["--penalty", "none"], ["-C", "inf"]):
        ran = run(*words, *options)
        assert any(line.startswith(told) for line in warnings_of(ran))


def test_fit_warns_of_tiny_classes_in_options(run, tmp_path):
    rng = np.random.default_rng(5)
    rows = [[repr(rng.normal()), "a"] for _ in range(996)] + [[repr(9 + i), "b"] for i in range(4)]
    write_csv(tmp_path / "t.csv", ["x", "target"], rows)
    warned = warnings_of(run("fit", "t.csv", "--test-size", "0"))
    assert any(line.startswith("a class of few rows: 'b' has 4 rows; ") for line in warned)
    assert any(line.endswith("and consider --class-weight balanced") for line in warned)


def test_fit_tells_of_columns_a_line_each(run, tmp_path):
    rng = np.random.default_rng(6)
    numbers = rng.normal(size=(60, 80)).round(6)
    rows = []
    for i, row in enumerate(numbers):
        # A column again, one that is 0 but once, and a rare level.
        rows.append([*row, row[3], int(i == 7), "r" if i == 9 else "st"[i % 2], "ab"[i % 2]])
    rows.append([*rows[0][:-1], "b"])
    rows += [[*line[:-2], "s", line[-1]] for line in rows[10:15]]
    write_csv(tmp_path / "t.csv", [*(f"c{j}" for j in range(80)), "dup", "odd", "k", "y"], rows)
    words = ("fit", "t.csv", "--target", "y", "--test-size", "0")
    ran = run(*words)
    assert warnings_of(ran) == [
        "column 'dup' is column 'c3' on another scale",
        "there are 85 columns for 66 rows; keep a penalty, choose its strength by "
        "cross-validation, and judge on held-out rows",
        "2 rows equal a row of another label in every feature: such as rows 1 ('a') and "
        "61 ('b'); check whether the labels are right, and whether a column that distinguishes "
        "them is missing",
    ]
    notes = [line[10:] for line in ran.err.splitlines() if line.startswith("note ")]
    assert "2 columns of one value but for one or two rows: 'odd' and 'k=r'" in notes
    # Every table has rare levels.
    assert "one or two rows" not in run(*words, "--ignore", "odd").err
    # A kernel machine has more columns than any table.
    assert not any("85 columns" in w for w in warnings_of(run(*words, "--model", "kernel-svm")))


@pytest.mark.parametrize("name", ["iris", "wine", "breast-cancer", "digits"])
def test_fit_has_nothing_to_say_of_clean_data(run, name):
    assert "alone" not in run("fit", name).err


def test_fit_skips_what_would_hold_it_up(run, messy, monkeypatch):
    seen = []
    real = findings.diagnose
    monkeypatch.setattr(
        findings, "diagnose", lambda X, y, **o: seen.append(o["checks"]) or real(X, y, **o)
    )
    run("fit", messy, "--target", "income")
    with findings.tuned(findings.Tuning(quick_entries=100, quick_gram=100)):
        run("fit", messy, "--target", "income", "--penalty", "none", "--max-iter", "5")
    assert seen == [
        ["classes", "rows", "label", "shape", "columns"],
        ["classes", "shape", "columns"],
    ]
    assert all("separability" not in checks for checks in seen)
