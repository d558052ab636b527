"""``separatrix path``: the table, the document, the model it saves, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix import load_model


def test_a_table_with_a_choice(run, tmp_path):
    ran = run(
        "path", "breast-cancer", "--cv", "3", "--values", "5", "-o", "m.separatrix",
        "--plot", "p.png",
    )  # fmt: skip
    assert ran.code == 0 and ran.err == ""
    assert ran.lines["path"].startswith("5 values of C, 20 fits,")
    assert ran.out.count("<- best") == 1
    stored = load_model(tmp_path / "m.separatrix")
    assert f"C = {stored.model.C:.6g}" in ran.lines["saved"]
    assert (tmp_path / "p.png").stat().st_size > 5000
    assert run("verify", "m.separatrix", "breast-cancer").code == 0
    assert run("evaluate", "m.separatrix", "breast-cancer").code == 0
    assert "separatrix path breast-cancer" in run("info", "m.separatrix").out


def test_the_document(run):
    ran = run("path", "iris", "--values", "0.1,1,10", "--cv", "4", "--model", "svm", "--json")
    document = ran.document
    assert ran.code == 0 and document["schema"] == "separatrix/path"
    assert document["path"]["C"] == [0.1, 1.0, 10.0]
    assert np.shape(document["scores"]) == (4, 3)
    assert document["best"] in (0.1, 1.0, 10.0)
    assert all(c["relative_gap"] <= 1e-4 for c in document["certificates"])


@pytest.mark.parametrize("model", ["kernel-svm", "sgd", "lda", "lstsq"])
def test_every_model_with_a_strength(run, model):
    ran = run("path", "iris", "--model", model, "--values", "3", "--cv", "3", "--quiet")
    assert ran.code in (0, 4)
    assert ran.out.splitlines()[0].split()[0] in ("C", "alpha", "shrinkage", "lam")


def test_a_quantity(run):
    ran = run("path", "diabetes", "--values", "3", "--cv", "3")
    assert ran.code == 0 and "R^2" in ran.out and "quantity" in ran.out


def test_what_is_recorded_of_a_weighted_quantity_is_weighted(run, tmp_path, make_csv):
    rows = [[i, 1 + 20 * (i > 15), 0.5 * i + (i % 3) * (1 + 5 * (i > 15))] for i in range(30)]
    table = make_csv("t.csv", ["x", "times", "target"], rows)
    words = [table, "--weight", "times", "--kind", "target=number", "-o"]
    run("path", *words, "p.separatrix", "--values", "0.1,0.2", "--cv", "3")
    lam = load_model(tmp_path / "p.separatrix").model.lam
    run("fit", *words, "f.separatrix", "--test-size", "0", "--model", "lstsq", "--lam", str(lam))
    one, other = (load_model(tmp_path / f"{name}.separatrix").provenance for name in "pf")
    assert one["trained"]["r2"] == pytest.approx(other["trained"]["r2"], rel=1e-9)


def test_weights_without_folds(run, tmp_path):
    assert run("path", "breast-cancer", "--values", "3", "--plot", "w.png").code == 0
    assert (tmp_path / "w.png").stat().st_size > 5000


def test_weights_that_are_zero(run, tmp_path):
    words = ["--penalty", "l1", "--values", "4", "--cv", "3", "-o", "sparse.separatrix"]
    ran = run("path", "breast-cancer", *words, "--json")
    values = ran.document["path"]["C"]
    assert ran.code == 0 and values[-1] == pytest.approx(1e3 * values[0])
    model = load_model(tmp_path / "sparse.separatrix").model
    assert model.penalty == "l1" and np.any(model.coef_ == 0.0)
    refused = run("path", "breast-cancer", "--penalty", "elasticnet")
    assert refused.code == 2 and "--l1-ratio go together" in refused.err


def test_quiet_says_what_went_wrong(run):
    ran = run("path", "iris", "--values", "1e300", "-q")
    assert ran.code == 4 and "above" in ran.err and ran.err.startswith("warning")


def test_time_up_is_told(run):
    ran = run("path", "breast-cancer", "--time-limit", "1e-9", "--model", "svm", "--cv", "3")
    assert ran.code == 4
    assert "not reached" in ran.out and "--time-limit" in ran.err


def test_a_model_that_cannot_be_chosen_is_said_not_to_be_written(run, tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n" + "".join(f"{i},{i * 1.5 + i % 3}\n" for i in range(8)))
    # R^2 of one row is not defined.
    words = ("--target", "y", "--model", "lstsq", "--values", "2", "--cv", "8")
    ran = run("path", "t.csv", *words, "-o", "m.separatrix", "--kind", "y=number")
    assert "m.separatrix was not written: no value was scored on all folds" in ran.err
    assert not (tmp_path / "m.separatrix").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("-o", "m.separatrix"), "--cv decides which one is best"),
        (("--scoring", "accuracy"), "give --cv"),
        (("--cv", "3", "--scoring", "nice"), "scoring='nice' is not known"),
        (("--cv", "1"), "1 is not a whole number from 2"),
        (("--values", "a,b"), "'a,b' is neither a number of values, from 1, nor a list"),
        (("--values", "0"), "'0' is neither a number of values"),
        (("--values", "nan"), "'nan' is neither a number of values"),
        (("--values", ""), "'' is neither a number of values"),
        (("--plot", "picture.xyz"), "must end in one of .png"),
        (("--values", "1,-1"), "-C -1.0 must be a finite number greater than 0"),
        (("--model", "lda", "--tol", "1e-3"), "--tol is for --model"),
        (
            ("--model", "svm", "--cv", "3", "--scoring", "neg_log_loss"),
            "this scoring does not suit the model: LinearSVC has none",
        ),
    ],
)
def test_refusals(run, words, told):
    ran = run("path", "iris", *words)
    assert ran.code == 2 and told in ran.err


def test_more_folds_than_rows(run):
    ran = run("path", "iris", "--cv", "200")
    assert ran.code == 3 and "200 folds need 200 different rows" in ran.err


@pytest.fixture
def steep(make_csv):
    """Rows whose best penalty is the weakest of any few: a plane parts them, narrowly."""
    rng = np.random.default_rng(0)
    rows = []
    for i in range(200):
        a, b = rng.normal(size=2)
        rows.append([a, b, 1 + i % 3, i % 40, "yes" if 1000 * a + b > 0 else "no"])
    return make_csv("steep.csv", ["a", "b", "times", "house", "target"], rows)


def test_a_best_value_at_the_end_is_told_and_looked_beyond(run, steep):
    words = ("path", steep, "--cv", "4", "--ignore", "house", "--ignore", "times", "--json")
    widened = run(*words, "--values", "3").document
    values = widened["path"]["C"]
    assert len(values) == 10 and values == sorted(values)
    assert values[-1] == pytest.approx(100 * values[2])
    # Without the further values the best one was the last of three.
    scores = widened["path"]["mean_score"]
    assert max(scores[:2]) < scores[2] and widened["best"] >= values[2]
    # Values that are listed are not extended.
    listed = run(*words, "--values", ".001,.002,.003")
    assert listed.document["path"]["C"] == [0.001, 0.002, 0.003]
    assert "the best C, 0.003, is at the end of the values" in listed.err
    assert "larger values may score better" in listed.err
    # The shrinkage ends at 0.
    assert "is at the end of" not in run(*words, "--model", "lda", "--values", "4").err


def test_groups_and_weights(run, steep):
    words = ("path", steep, "--group", "house", "--weight", "times", "--values", "2")
    ran = run(*words, "--cv", "4", "-o", "steep.separatrix")
    assert "2 columns" in ran.out
    assert run("verify", "steep.separatrix", steep).code == 0
    again = run(*words, "--cv", "41")
    assert again.code == 3 and "--cv 41 needs as many groups of --group" in again.err
