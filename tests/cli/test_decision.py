"""``--positive``, ``--threshold`` and ``--optimise``: chosen, stored, applied, and refused."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix import load_model


def test_the_rarer_class_is_positive(run):
    ran = run("fit", "breast-cancer", "-o", "m.separatrix")
    assert ran.lines["positive"] == "'malignant' (the rarer, 37 %)"
    assert "average precision of 'malignant'" in ran.lines["also"]
    assert ran.lines["constant"] == "accuracy 0.632 for always 'benign'"
    other = run("fit", "breast-cancer", "-o", "m.separatrix", "--positive", "benign")
    assert other.lines["positive"] == "'benign' (63 % of the rows)"
    assert "average precision of 'benign'" in run("evaluate", "m.separatrix", "breast-cancer").out


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("model", ["logistic", "svm", "lda", "kernel-svm", "perceptron", "stump"])
def test_a_threshold_is_stored_and_applied(run, tmp_path, model):
    ran = run("fit", "breast-cancer", "--model", model, "--optimise", "cost=20:1", "-o", "m.s")
    assert (
        ran.code in (0, 4) and "chosen for cost=20:1: mean cost of a row" in ran.lines["threshold"]
    )
    stored = load_model(tmp_path / "m.s")
    decision = stored.provenance["decision"]
    assert decision["interval"][0] <= decision["interval"][1]
    assert run("info", "m.s").lines["threshold"] == ran.lines["threshold"]
    predicted = run("predict", "m.s", "breast-cancer", "--json").document["columns"]["prediction"]
    plain = run("fit", "breast-cancer", "--model", model, "-o", "p.s")
    assert plain.code in (0, 4)
    before = run("predict", "p.s", "breast-cancer", "--json").document["columns"]["prediction"]
    # Twenty false alarms are as bad as one miss: no fewer rows are called malignant.
    assert predicted.count("malignant") >= before.count("malignant")
    own = run("evaluate", "m.s", "breast-cancer", "--json").document
    assert own["threshold"]["threshold"] == decision["threshold"]
    called = np.array(own["scores"]["confusion_matrix"])[:, 1].sum()
    assert called == predicted.count("malignant")
    assert run("report", "m.s", "breast-cancer", "-o", "r.html").code == 0
    assert "Rows are assigned to" in (tmp_path / "r.html").read_text("utf-8")


def test_a_threshold_of_ones_own(run):
    fitted = run("fit", "breast-cancer", "--threshold", "0.9", "-o", "m.s")
    assert fitted.lines["threshold"] == "'malignant' from a probability of 0.9 upwards"
    few = run("predict", "m.s", "breast-cancer").out.count("malignant")
    many = run("predict", "m.s", "breast-cancer", "--threshold", "0.1").out.count("malignant")
    assert few < many
    other = run("evaluate", "m.s", "breast-cancer", "--threshold", "0.1")
    assert "from a probability of 0.1 upwards" in other.lines["threshold"]
    for words in (["fit"], ["predict", "m.s"], ["evaluate", "m.s"]):
        refused = run(*words, "breast-cancer", "--threshold", "1.5")
        assert refused.code == 2 and "give a number from 0 to 1" in refused.err
    scores = ["fit", "breast-cancer", "--model", "svm", "-o", "s.s", "--threshold", "1.5"]
    assert run(*scores).lines["threshold"] == "'malignant' from a score of 1.5 upwards"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["iris", "--optimise", "f1"], "target of two classes, and column 'target' has 3 classes"),
        (["diabetes", "--positive", "x"], "column 'target' is a quantity"),
        (["breast-cancer", "--positive", "x"], "not one of the classes, which are 'benign' and"),
        (["breast-cancer", "--optimise", "cost=3"], "'cost=3' is not f1, balanced or cost="),
        (["breast-cancer", "--optimise", "f1", "--threshold", "1"], "give one of them"),
        (["breast-cancer", "--optimise", "f1", "--test-size", "0"], "holds out none"),
    ],
)
def test_what_is_refused(run, words, said):
    ran = run("fit", *words)
    assert ran.code == 2 and said in ran.err and ran.err.count("\n") == 1


def test_a_model_of_three_classes_has_no_threshold(run):
    assert run("fit", "iris", "-o", "i.s").code == 0
    ran = run("predict", "i.s", "iris", "--threshold", "0.5")
    assert ran.code == 2 and "needs a model of two classes" in ran.err
