"""``separatrix compare``: the table, the commands it names, the page, and what it refuses."""

from __future__ import annotations

import json
import shlex

import pytest


def test_a_table_and_the_commands_below_it(run, tmp_path):
    ran = run("compare", "iris", "--models", "lda,stump,constant", "--report", "c.html")
    assert ran.code == 0 and ran.err == ""
    names = [line.split()[0] for line in ran.out.splitlines() if line.startswith("  ")][1:4]
    assert names == ["lda", "stump", "constant"]
    assert max(map(len, ran.out.split("verdict")[0].splitlines())) <= 64
    assert ran.lines["verdict"] == "lda is best, by more than chance explains on these folds"
    command = shlex.split(ran.lines["to fit"])
    assert command[:3] == ["separatrix", "fit", "iris"] and run(*command[1:]).code == 0
    assert "<svg" in (tmp_path / "c.html").read_text("utf-8")
    record = json.loads((tmp_path / "c.json").read_text("utf-8"))
    assert [one["model"] for one in record["models"]] == ["lda", "stump", "constant"]
    # A page of its own is replaced, another file is not.
    assert run("compare", "iris", "--models", "lda", "--report", "c.html").code == 0
    (tmp_path / "d.html").write_text("mine")
    assert run("compare", "iris", "--report", "d.html").code == 2


def test_the_document(run):
    ran = run("compare", "breast-cancer", "--models", "svm,logistic", "--cv", "3", "--json")
    document = ran.document
    assert document["schema"] == "separatrix/compare" and document["folds"] == 3
    assert all(one["certified"] and len(one["scores"]) == 3 for one in document["models"])
    assert all(one["command"].startswith("separatrix fit") for one in document["models"])


def test_a_quantity(run):
    ran = run("compare", "diabetes")
    assert ran.code == 0 and "R^2" in ran.out and "constant" in ran.out


def test_many_rows_have_landmarks(run, tmp_path):
    lines = [f"{i % 7},{i % 11},{'ab'[(i % 7) > 3]}" for i in range(3200)]
    (tmp_path / "t.csv").write_text("\n".join(["p,q,target", *lines]) + "\n")
    ran = run("compare", "t.csv", "--models", "kernel-svm,stump", "--cv", "2")
    assert ran.code == 0 and "--approximation=nystroem --components=300" in ran.out


def test_the_yardstick_is_marked_wherever_it_stands(run, tmp_path):
    ran = run(
        "compare", "iris", "--models", "lda", "--yardstick", "--cv", "2", "--report", "y.html"
    )
    assert ran.code == 0 and ran.err == ""
    row = next(line for line in ran.out.splitlines() if line.startswith("  boosting"))
    assert row.endswith("not linear")
    assert "HistGradientBoostingClassifier at its defaults" in ran.lines["yardstick"]
    assert "neither linear nor certified" in ran.lines["yardstick"]
    page = (tmp_path / "y.html").read_text("utf-8")
    assert "not linear, not certified" in page and "neither linear nor certified" in page
    record = json.loads((tmp_path / "y.json").read_text("utf-8"))
    assert record["yardstick"]["linear"] is False and record["budget"] == 60.0
    assert [one["model"] for one in record["models"]] == ["lda"] == list(record["commands"])
    document = run(
        "compare", "iris", "--models", "lda", "--yardstick", "--cv", "2", "--json"
    ).document
    for key in ("model", "score", "scores", "behind", "linear", "certified", "estimator"):
        assert document["yardstick"][key] == record["yardstick"][key]


def test_a_budget_that_is_used_up(run, tmp_path):
    ran = run("compare", "iris", "--budget", "1e-9", "--report", "b.html")
    assert ran.code == 1 and ran.lines["verdict"] == "no model could be scored"
    assert "the budget of 1e-09 s ended before its first fold was scored" in ran.err
    page = (tmp_path / "b.html").read_text("utf-8")
    assert "ended before its first fold was scored" in page
    document = run("compare", "iris", "--budget", "1e-9", "--json").document
    assert document["budget"] == 1e-9 and document["models"][0]["stopped"]


def test_probabilities_are_calibrated_where_they_are_scored(run):
    ran = run("compare", "breast-cancer", "--models", "svm", "--scoring", "neg_log_loss")
    command = shlex.split(ran.lines["to fit"])
    assert ran.code == 0 and "--calibrate=sigmoid" in command and run(*command[1:]).code == 0
    assert "--calibrate" not in run("compare", "breast-cancer", "--models", "svm").out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["iris", "--models", "forest"], "'forest' is not one of logistic"),
        (["iris", "--models", "huber"], "holds classes, which --models huber cannot predict"),
        (
            ["diabetes", "--models", "lda"],
            "holds a quantity, which --models lda cannot predict",
        ),
        (["iris", "--scoring", "beauty"], "--scoring beauty is not one of scikit-learn's scorers"),
        (["iris", "--cv", "1"], "1 is not a whole number from 2"),
        (["iris", "--budget", "0"], "0 is not a finite number above 0"),
        (["iris", "--budget", "inf"], "inf is not a finite number above 0"),
    ],
)
def test_what_is_refused(run, words, said):
    ran = run("compare", *words)
    assert ran.code == 2 and said in ran.err and ran.err.count("\n") == 1


def test_too_few_rows(run, tmp_path):
    (tmp_path / "t.csv").write_text("a,target\n1,x\n2,y\n3,x\n")
    ran = run("compare", "t.csv")
    assert ran.code == 3 and "5 folds need 5 different rows, and there are 3" in ran.err
