"""``separatrix separable``: the answers, their proofs, and every way to refuse."""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from separatrix.cli.commands.separable import run as separable_run
from separatrix.tables import Encoder, read_table, take_target

from .conftest import write_csv


def write(path, x, y, name="x"):
    rows = [[*np.atleast_1d(v), c] for v, c in zip(x, y, strict=True)]
    columns = [f"{name}{j}" for j in range(len(rows[0]) - 1)]
    return write_csv(path, [*columns, "target"], rows)


@pytest.fixture
def apart(tmp_path) -> Path:
    """Two classes along a line, 3 apart: rows 2 and 3 are nearest."""
    return write(tmp_path / "apart.csv", [-5, -1, 2, 4, 7], ["a", "a", "b", "b", "b"])


@pytest.fixture
def crossed(tmp_path) -> Path:
    """The corners of a square, the diagonals of different classes."""
    return write(tmp_path / "crossed.csv", [[0, 0], [1, 0], [1, 1], [0, 1]], ["n", "p", "n", "p"])


@pytest.fixture
def partly(tmp_path) -> Path:
    """Classes that overlap, but for one column that only rows 2 and 7 of class b have."""
    x = [[0, 0], [1, 1], [3, 0], [1, 0], [2, 0], [5, 0], [4, 1], [3, 0]]
    return write(tmp_path / "partly.csv", x, ["a", "b", "a", "b", "b", "a", "b", "b"])


def exact(text):
    """A number of a certificate, read by other means than the library's."""
    if "p" in text:
        return Fraction(float.fromhex(text))
    top, _, bottom = text.partition("/")
    return Fraction(int(top), int(bottom or 1))


def matrix(path, **kinds):
    features, y = take_target(read_table(path), "target")
    return Encoder(standardise=False).fit(features).transform(features), y


# -------------------------------------------------------------------------------------- answers


def test_separable(run, apart):
    ran = run("separable", "apart.csv")
    assert (ran.code, ran.err) == (0, "")
    lines = ran.lines
    assert list(lines) == ["read", "classes", "verdict", "gap", "plane", "proof"]
    assert lines["read"] == "5 rows, 1 column: 1 number -> 1 feature"
    assert lines["classes"] == "'a' (2 rows) and 'b' (3 rows)"
    assert lines["verdict"] == (
        "separable: a plane has every one of the 5 rows strictly on its side"
    )
    assert (
        lines["gap"] == "the widest empty band between the classes is 3 wide, held by rows 2 and 3"
    )
    assert (
        lines["plane"]
        == "'b' where 0.6667 * 'x0' - 0.3333 > 0 (rounded; --certificate saves it exactly)"
    )
    assert "exact arithmetic" in lines["proof"]


def test_not_separable_names_rows_of_the_file(run, crossed):
    ran = run("separable", "crossed.csv")
    assert (ran.code, ran.err) == (1, "")
    assert ran.lines["verdict"] == (
        "not separable: no plane has every row of 'n' on one side and every row of 'p' on the other"
    )
    assert ran.lines["proof"] == (
        "these 4 rows: a weighted mean of the rows of one class equals a weighted mean of the rows "
        "of the other, in exact arithmetic"
    )
    table = [line.split() for line in ran.out.splitlines() if line.startswith("   ")]
    assert table[0] == ["row", "class", "weight"]
    assert sorted(table[1:]) == [[str(i), "np"[i % 2 == 0], "0.5"] for i in range(1, 5)]


def test_separable_in_part(run, partly):
    ran = run("separable", "partly.csv")
    assert ran.code == 1
    assert ran.lines["verdict"].startswith(
        "separable in part: no plane has every row strictly on its side, but one has 2 of the 8 "
    )
    assert ran.lines["columns"] == "'x1' towards 'b'"
    assert ran.lines["rows"] == "strictly on their side: rows 2 and 7"
    assert "no finite optimum" in ran.lines["meaning"]
    document = run("separable", "partly.csv", "--json").document
    (verdict,) = document["verdicts"]
    assert verdict["status"] == "quasi_separable"
    assert verdict["off_plane"] == {"columns": ["x1"], "rows": [2, 7]}
    X, y = matrix("partly.csv")
    assert_meeting(verdict["meeting"], X, y)


def assert_meeting(entries, X, y):
    sides = {}
    for entry in entries:
        row = entry["row"] - 1
        assert str(y[row]) == str(entry["class"])
        total, point = sides.get(entry["class"], (0.0, 0.0))
        sides[entry["class"]] = total + entry["weight"], point + entry["weight"] * X[row]
    (t, p), (u, q) = sides.values()
    assert t == pytest.approx(1)
    assert u == pytest.approx(1)
    np.testing.assert_allclose(p, q, rtol=1e-9, atol=1e-9)


def test_the_document_has_everything(run, crossed):
    ran = run("separable", "crossed.csv", "--json")
    document = ran.document
    assert (document["schema"], document["version"]) == ("separatrix/separable", 1)
    assert document["exit_code"] == ran.code == 1
    assert document["separable"] is False
    assert document["classes"] == ["n", "p"]
    assert document["features"] == ["x0", "x1"]
    assert document["certificate"] is None
    (verdict,) = document["verdicts"]
    assert (verdict["negative"], verdict["positive"]) == ("n", "p")
    assert verdict["plane"] is verdict["gap"] is verdict["off_plane"] is None
    assert_meeting(verdict["meeting"], *matrix("crossed.csv"))


def test_the_plane_in_the_document_separates(run, apart):
    (verdict,) = run("separable", "apart.csv", "--json").document["verdicts"]
    X, y = matrix("apart.csv")
    score = X @ verdict["plane"]["weights"] + verdict["plane"]["intercept"]
    assert ((score > 0) == (y == "b")).all()
    assert verdict["gap"]["lower"] <= 3 <= verdict["gap"]["upper"]
    assert verdict["gap"]["held_by_rows"] == [2, 3]


def test_touching_is_not_separable_and_standardising_must_not_part_it(run, tmp_path):
    # The classes share exactly one point, which floats standardised column by column may not.
    rng = np.random.default_rng(0)
    base = (rng.integers(1, 100, 20) / 10).tolist()
    x = [*base, 10.3, 10.3, *[v + 10.3 for v in base]]
    write(tmp_path / "touch.csv", x, ["a"] * 21 + ["b"] * 21)
    ran = run("separable", "touch.csv", "--json")
    assert ran.code == 1
    (verdict,) = ran.document["verdicts"]
    assert [entry["row"] for entry in verdict["meeting"]] == [21, 22]
    # A last bit apart is apart.
    x[20] = float(np.nextafter(10.3, 0))
    write(tmp_path / "touch.csv", [repr(v) for v in x], ["a"] * 21 + ["b"] * 21)
    ran = run("separable", "touch.csv", "--json")
    assert ran.code == 0
    assert 0 < ran.document["verdicts"][0]["gap"]["upper"] < 1e-14


def test_through_the_origin(run, tmp_path):
    write(tmp_path / "t.csv", [1, 2, 5, 6], ["a", "a", "b", "b"])
    assert run("separable", "t.csv").code == 0
    ran = run("separable", "t.csv", "--no-intercept")
    assert ran.code == 1
    assert "no plane through the origin has every row" in ran.lines["verdict"]
    assert ran.lines["proof"].startswith(
        "these 2 rows: the weighted sums of the rows of the two classes are equal"
    )
    write(tmp_path / "t.csv", [-1, -2, 5, 6], ["a", "a", "b", "b"])
    ran = run("separable", "t.csv", "--no-intercept")
    assert ran.code == 0
    assert "a plane through the origin has every one of the 4 rows" in ran.lines["verdict"]


def test_a_constant_column_stands_in_for_the_intercept(run, tmp_path):
    write(tmp_path / "t.csv", [[1, 7], [2, 7], [5, 7], [6, 7]], ["a", "a", "b", "b"])
    assert run("separable", "t.csv", "--no-intercept").code == 0


# ------------------------------------------------------------------------- three classes, more


def test_three_classes(run):
    ran = run("separable", "iris")
    assert ran.code == 1
    assert ran.lines["verdict"] == (
        "not separable: 3 pairs of classes, 2 separable and 1 not separable"
    )
    rows = [line.split("  ") for line in ran.out.splitlines() if line.startswith("  ")]
    words = [[word.strip() for word in row if word.strip()] for row in rows]
    assert words[0] == ["pair", "verdict", "gap", "proof"]
    assert words[1][:2] == ["setosa, versicolor", "separable"]
    assert words[3][:2] == ["versicolor, virginica", "not separable"]
    assert words[3][3].startswith("rows ")
    assert words[4][0] == "class against the rest"
    assert [row[:2] for row in words[5:]] == [
        ["setosa", "separable"], ["versicolor", "not separable"], ["virginica", "not separable"],
    ]  # fmt: skip
    document = run("separable", "iris", "--json").document
    assert [v["status"] for v in document["verdicts"] if v["against_rest"]] == [
        "separable", "not_separable", "not_separable",
    ]  # fmt: skip
    for verdict in document["verdicts"]:
        if verdict["status"] == "not_separable" and not verdict["against_rest"]:
            assert_meeting(verdict["meeting"], *matrix("iris"))


def test_all_pairs_separable_is_0_though_a_class_lies_between(run, tmp_path):
    write(tmp_path / "line.csv", [1, 2, 5, 6, 9, 10], [0, 0, 1, 1, 2, 2])
    ran = run("separable", "line.csv", "--json")
    assert ran.code == 0
    statuses = [v["status"] for v in ran.document["verdicts"]]
    assert statuses == ["separable"] * 4 + ["not_separable", "separable"]
    assert ran.document["separable"] is True


# -------------------------------------------------------------------------------- kinds of data


def test_every_kind_of_column(run, tmp_path):
    rng = np.random.default_rng(1)
    rows = []
    for i in range(40):
        label = ["low", "high"][i % 2]
        x = rng.normal() + 20 * (i % 2)
        text = " ".join(rng.choice(["alpha", "beta", "gamma", "delta", "eps"], 4)) + f" word{i}"
        rows.append([f"{x:.3f}" if i % 7 else "", rng.choice(["r", "s", "?"]), text, label])
    rows[0][0] = rows[1][0] = "0"
    write_csv(tmp_path / "t.csv", ["x", "c", "words", "y"], rows)
    ran = run("separable", "t.csv", "--target", "y", "--kind", "words=text")
    assert ran.code in (0, 1)
    assert "1 number, 1 category, 1 text; " in ran.lines["read"]
    assert " missing -> " in ran.lines["read"]
    ran = run("separable", "t.csv", "--target", "y", "--ignore", "words", "--missing", "r")
    assert "1 number, 1 category; " in ran.lines["read"]


def test_names_of_any_kind(run, tmp_path):
    names = ['quo"te', "[bold]br[/bold]", "naïve ☃ 数", "it's = 5", "esc\x1b[31m"]
    rng = np.random.default_rng(2)
    rows = []
    for i in range(12):
        rows.append([*rng.integers(0, 9, 5), ["[red]no\x07", 'ye"s'][i % 2]])
    write_csv(tmp_path / "t.csv", [*names, "tar=get"], rows)
    ran = run("separable", "t.csv", "--target", "tar=get", "--certificate", "p.json")
    assert ran.code in (0, 1)
    assert "\x1b" not in ran.out
    assert "\x07" not in ran.out
    checked = run("check-certificate", "p.json", "t.csv")
    assert checked.code == 0
    assert "\x07" not in checked.out
    document = run("separable", "t.csv", "--target", "tar=get", "--json").document
    assert document["features"] == names


def test_svmlight(run, tmp_path):
    (tmp_path / "t.svm").write_text("1 1:0.5 3:2\n-1 2:1\n1 1:3\n-1 2:4 3:1\n")
    ran = run("separable", "t.svm", "--certificate", "p.json")
    assert ran.code == 0
    assert "'f1'" in ran.lines["plane"] or "'f2'" in ran.lines["plane"]
    assert run("check-certificate", "p.json", "t.svm").code == 0


def test_numbers_of_every_size(run, tmp_path):
    x = [[1e300, 1e-300], [-1e300, 2e-300], [1.5e300, -1e-300], [-1.7e308, -2e-300]]
    write(tmp_path / "t.csv", x, ["a", "a", "b", "b"])
    ran = run("separable", "t.csv", "--certificate", "p.json")
    assert ran.code == 0
    assert run("check-certificate", "p.json", "t.csv").code == 0


def test_yes_and_no_and_numbers_as_classes(run, tmp_path):
    for labels in (["true", "false"], ["0", "1"], ["0.5", "1.5"], ["", "x"]):
        write(tmp_path / "t.csv", [1, 2, 5, 6], [labels[0]] * 2 + [labels[1]] * 2)
        ran = run("separable", "t.csv", "--certificate", "p.json")
        if "" in labels:
            assert (ran.code, "has the label 'x' or none" in ran.err) == (3, True)
            continue
        assert ran.code == 0
        assert run("check-certificate", "p.json", "t.csv").code == 0


# ---------------------------------------------------------------------------------- certificate


def test_the_certificate_proves_it_by_other_means(run, crossed, apart):
    assert run("separable", "crossed.csv", "--certificate", "p.json").code == 1
    document = json.loads(Path("p.json").read_text())
    assert (document["format"], document["format_version"]) == ("separatrix-separability", 1)
    assert document["data"]["rows"] == 4
    assert document["data"]["fingerprint"] == read_table("crossed.csv").fingerprint()
    (verdict,) = document["verdicts"]
    witness = verdict["witness"]
    X, y = matrix("crossed.csv")
    sums = {"n": [Fraction(0)] * 3, "p": [Fraction(0)] * 3}
    for row, text in zip(witness["rows"], witness["multipliers"], strict=True):
        alpha = exact(text)
        assert alpha > 0
        point = [*map(Fraction, X[row].tolist()), Fraction(1)]
        side = sums[str(y[row])]
        sums[str(y[row])] = [s + alpha * v for s, v in zip(side, point, strict=True)]
    assert sums["n"] == sums["p"]

    assert run("separable", "apart.csv", "--certificate", "q.json").code == 0
    (verdict,) = json.loads(Path("q.json").read_text())["verdicts"]
    w, b = [exact(v) for v in verdict["witness"]["w"]], exact(verdict["witness"]["b"])
    X, y = matrix("apart.csv")
    for row, label in zip(X.tolist(), y, strict=True):
        score = sum(wj * Fraction(v) for wj, v in zip(w, row, strict=True)) + b
        assert score > 0 if label == "b" else score < 0


def test_the_certificate_is_said_and_replaced(run, apart):
    ran = run("separable", "apart.csv", "--certificate", "p.json")
    assert ran.lines["saved"] == "p.json"
    before = Path("p.json").read_bytes()
    assert before.isascii()
    assert run("separable", "apart.csv", "--certificate", "p.json", "--no-intercept").code == 0
    assert Path("p.json").read_bytes() != before
    document = run("separable", "apart.csv", "--certificate", "p.json", "--json").document
    assert document["certificate"] == "p.json"
    assert [name for name in os.listdir() if name.startswith(".")] == []


def test_quiet_says_the_answer_only(run, apart):
    ran = run("separable", "apart.csv", "-q", "--certificate", "p.json")
    assert list(ran.lines) == ["verdict", "gap", "plane", "proof"]
    assert (ran.code, ran.err) == (0, "")


def test_alerts_are_told_because_columns_are_left_out(run, tmp_path):
    rows = [[f"id{i}", i * i, ["a", "b"][i > 15]] for i in range(30)]
    write_csv(tmp_path / "t.csv", ["id", "x", "target"], rows)
    ran = run("separable", "t.csv")
    assert ran.code == 0
    assert "warning   column 'id' has 30 levels in 30 rows" in ran.err


# ------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--time-limit", "0"], "0 is not a finite number above 0"),
        (["--time-limit", "inf"], "inf is not a finite number above 0"),
        (["--target", "a", "--ignore", "a"], "--ignore leaves out the column that --target names"),
        (["--kind", "a=colour"], "'a=colour' is not COLUMN=KIND"),
        (["--kind", "a=text", "--kind", "a=number"], "--kind gives two kinds to the column 'a'"),
        (["--certificate", ""], "--certificate is empty"),
        (["--certificates", "p"], "--certificates"),
    ],
)
def test_usage_errors_are_one_sentence(run, words, told):
    ran = run("separable", "iris", *words)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
    assert ran.err.count("\n") == 1
    assert os.listdir() == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "empty"),
        ("x,target\n", "no rows"),
        ("x,target\n1,a\n2,a\n", "one class only"),
        ("x,target\n1,a\ninf,b\n", "row 2: inf is not a finite number"),
        ("x,y\n1,a\n2,b\n", "no column 'target'"),
        ("x,target\n1,\n2,b\n", "has the label 'b' or none"),
        ("x,target\n,a\n,b\n", "no column that a model can use"),
    ],
)
def test_bad_tables_are_one_sentence(run, tmp_path, text, told):
    (tmp_path / "bad.csv").write_text(text)
    ran = run("separable", "bad.csv", "--certificate", "p.json")
    assert (ran.code, ran.out) == (3, "")
    assert told in ran.err
    assert ran.err.count("\n") == 1
    assert not os.path.exists("p.json")


def test_a_wrong_target_is_named(run, apart):
    ran = run("separable", "apart.csv", "--target", "tagret", "--json")
    assert ran.code == 3
    assert "did you mean 'target'?" in ran.document["error"]["message"]


def test_only_a_certificate_is_replaced(run, apart, tmp_path):
    (tmp_path / "notes.txt").write_text("do not lose me")
    ran = run("separable", "apart.csv", "--certificate", "notes.txt")
    assert (ran.code, ran.out) == (2, "")
    assert "--certificate notes.txt exists and is not a certificate of separability" in ran.err
    assert (tmp_path / "notes.txt").read_text() == "do not lose me"
    before = apart.read_bytes()
    ran = run("separable", "apart.csv", "--certificate", "./apart.csv")
    assert ran.code == 2
    assert "--certificate ./apart.csv is the table apart.csv, which would be lost" in ran.err
    assert apart.read_bytes() == before
    (tmp_path / "empty").write_bytes(b"")
    assert run("separable", "apart.csv", "--certificate", "empty").code == 0


def test_an_unwritable_certificate_is_told_before_the_data_are_read(run, tmp_path):
    ran = run("separable", "no-such.csv", "--certificate", "gone/p.json")
    assert ran.code == 3
    assert "cannot write 'gone/p.json': there is no folder" in ran.err
    (tmp_path / "folder").mkdir()
    ran = run("separable", "no-such.csv", "--certificate", "folder")
    assert ran.code == 3
    assert "it is a folder" in ran.err


# ------------------------------------------------------------------------ time and interruption


def undecided(verdict):
    return replace(verdict, status="undecided", witness=None, common=None, margin=None)


@pytest.fixture
def out_of_time(monkeypatch):
    real = separable_run.separability

    def slow(*args, **options):
        answer = real(*args, **options)
        if isinstance(answer, separable_run.Separability):
            return undecided(answer)
        first = next(iter(answer.pairs))
        return replace(answer, pairs={**answer.pairs, first: undecided(answer.pairs[first])})

    monkeypatch.setattr(separable_run, "separability", slow)


def test_a_time_limit_that_comes_first(run, apart, out_of_time):
    ran = run("separable", "apart.csv", "--time-limit", "5", "--certificate", "p.json")
    assert ran.code == 4
    assert ran.lines["verdict"] == "not decided: the time limit came first; raise --time-limit"
    assert ran.err == "warning   nothing was proved, so p.json was not written\n"
    assert not os.path.exists("p.json")


def test_some_pairs_not_decided(run, tmp_path, out_of_time):
    write(tmp_path / "line.csv", [1, 2, 5, 6, 9, 10], [0, 0, 1, 1, 2, 2])
    ran = run("separable", "line.csv", "--certificate", "p.json")
    assert ran.code == 4
    assert ran.lines["verdict"] == (
        "not decided: 3 pairs of classes, 2 separable and 1 not decided in time"
    )
    ran = run("check-certificate", "p.json", "line.csv")
    assert ran.code == 0
    assert "undecided 0 and 1: the time limit came first" in ran.out
    assert ran.lines["verdict"] == "holds: 5 of 6 verdicts, proved again from the data"
    # One pair that is not separable settles it, whatever time would have shown.
    assert run("separable", "iris").code == 1


def test_the_time_limit_is_handed_on(run, apart, monkeypatch):
    seen = []
    real = separable_run.separability
    monkeypatch.setattr(
        separable_run, "separability", lambda *a, **o: seen.append(o) or real(*a, **o)
    )
    run("separable", "apart.csv", "--time-limit", "2.5", "--no-intercept")
    assert seen == [{"fit_intercept": False, "time_limit": 2.5}]


@pytest.mark.skipif(sys.platform == "win32", reason="signals as POSIX has them")
@pytest.mark.signals
def test_ctrl_c_writes_nothing(run, apart, monkeypatch):
    def interrupted(*args, **options):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(separable_run, "separability", interrupted)
    ran = run("separable", "apart.csv", "--certificate", "p.json")
    assert ran.code == 130
    assert ran.err == "error     interrupted; nothing was written\n"
    assert os.listdir() == ["apart.csv"]


# ---------------------------------------------------------------------------- the hard margin


def test_a_hard_margin_that_is_not_there_comes_with_the_proof(run, crossed):
    words = ("fit", "crossed.csv", "--model", "svm", "-C", "inf", "--test-size", "0")
    ran = run(*words, "-o", "m.separatrix")
    assert ran.code == 1
    assert "error" not in ran.err
    assert ran.lines["verdict"] == (
        "not separable: no plane separates 'n' from 'p', so there is no margin to maximise; a "
        "finite -C allows for overlap"
    )
    assert ran.lines["proof"].startswith("these 4 rows: ")
    assert not os.path.exists("m.separatrix")
    document = run(*words, "--json").document
    assert (document["exit_code"], document["status"]) == (1, "not_separable")
    assert [entry["row"] for entry in document["meeting"]] == [1, 2, 3, 4]


def test_rows_of_that_proof_are_those_of_the_file(run):
    document = run("fit", "iris", "--model", "svm", "-C", "inf", "--json").document
    assert document["against_rest"] is True
    X, y = matrix("iris")
    y = np.where(y == document["positive"], y, "rest")
    entries = [
        {**entry, "class": entry["class"] if entry["class"] == document["positive"] else "rest"}
        for entry in document["meeting"]
    ]
    assert_meeting(entries, X, y)


# ------------------------------------------------------------------------------------- real data


def test_adult_is_separable_in_part(run, real_data):
    ran = run(
        "separable", real_data / "adult.csv", "--target", "income", "--certificate", "p.json",
        "--json",
    )  # fmt: skip
    assert ran.code == 1
    (verdict,) = ran.document["verdicts"]
    assert verdict["status"] == "quasi_separable"
    assert "education=Preschool" in verdict["off_plane"]["columns"]
    features, y = take_target(read_table(real_data / "adult.csv"), "income")
    # The columns that were named: all of their rows are of one class, or the plane would part them.
    encoder = Encoder(standardise=False).fit(features)
    X = encoder.transform(features)
    for name in verdict["off_plane"]["columns"]:
        rows = X[:, [encoder.feature_names_.index(name)]].nonzero()[0]
        assert len(set(y[rows].tolist())) == 1
    assert run("check-certificate", "p.json", real_data / "adult.csv").code == 0
