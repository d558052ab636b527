"""``separatrix evaluate``: figures that scikit-learn and arithmetic confirm."""

from __future__ import annotations

import pytest
from sklearn.metrics import log_loss, roc_auc_score

from separatrix.assessment.scoring import wilson_interval
from separatrix.persistence.model_file import load_model
from separatrix.tables import read_table, take_target


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    [
        # statsmodels.stats.proportion.proportion_confint(hits, n, method="wilson")
        (0, 10, 0.0, 0.2775327998628892),
        (10, 10, 0.7224672001371108, 1.0),
        (5, 10, 0.236593090512564, 0.763406909487436),
        (5516, 6512, 0.8381050220925793, 0.8555889587333564),
    ],
)
def test_wilson_interval(hits, n, low, high):
    assert wilson_interval(hits, n) == pytest.approx((low, high), abs=1e-12)


def test_figures(run, model, people):
    ran = run("evaluate", model, people, "--json")
    assert ran.code == 0
    scores = ran.document["scores"]
    stored = load_model(model)
    features, y = take_target(read_table(people), "income")
    X = stored.encoder.transform(features)
    assert scores["n"] == 100
    assert scores["accuracy"] == pytest.approx(stored.model.score(X, y))
    p = stored.model.predict_proba(X)
    assert scores["roc_auc"] == pytest.approx(roc_auc_score(y, p[:, 1]))
    assert scores["log_loss"] == pytest.approx(log_loss(y, p))
    matrix = scores["confusion_matrix"]
    assert sum(map(sum, matrix)) == 100
    assert matrix[0][0] + matrix[1][1] == round(100 * scores["accuracy"])
    for k, entry in enumerate(scores["per_class"]):
        assert entry["class"] == ["<=50K", ">50K"][k]
        assert entry["n"] == sum(matrix[k]) == (y == entry["class"]).sum()
        assert entry["recall"] == pytest.approx(matrix[k][k] / entry["n"])
        assert entry["precision"] == pytest.approx(matrix[k][k] / (matrix[0][k] + matrix[1][k]))


def test_text(run, model, people):
    ran = run("evaluate", model, people)
    assert ran.lines["rows"] == "100"
    assert ran.lines["scores"].startswith("accuracy 0.")
    words = [line.split() for line in ran.out.splitlines() if line.startswith("  ")]
    assert words[0] == ["class", "precision", "recall", "F1", "rows"]
    assert [row[0] for row in words[1:3]] == ["<=50K", ">50K"]
    assert words[3] == ["true", "\\", "predicted", "<=50K", ">50K"]


def test_rows_of_the_fit_are_told(run, model, people):
    ran = run("evaluate", model, people)
    assert "warning   the model was fitted to 80 of these rows" in ran.err
    people.write_text("\n".join(people.read_text().splitlines()[:50]))
    assert run("evaluate", model, people).err == ""


def test_multiclass_without_probabilities(run):
    run("fit", "iris", "--model", "svm")
    scores = run("evaluate", "iris.separatrix", "iris", "--json").document["scores"]
    assert scores["log_loss"] is None
    assert 0.5 < scores["roc_auc"] <= 1
    assert len(scores["confusion_matrix"]) == 3


def test_multiclass_area_is_the_one_against_the_rest(run):
    run("fit", "wine", "-C", "0.001")
    scores = run("evaluate", "wine.separatrix", "wine", "--json").document["scores"]
    stored = load_model("wine.separatrix")
    features, y = take_target(read_table("wine"), "target")
    p = stored.model.predict_proba(stored.encoder.transform(features))
    assert scores["roc_auc"] == pytest.approx(roc_auc_score(y, p, multi_class="ovr"))


def test_one_class_only_has_no_area_and_no_precision_of_the_other(run, model, people, tmp_path):
    lines = people.read_text().splitlines()
    rich = [line for line in lines if line.endswith(">50K")]
    (tmp_path / "rich.csv").write_text("\n".join([lines[0], *rich]))
    ran = run("evaluate", model, "rich.csv")
    assert ran.code == 0
    assert "ROC AUC" not in ran.out
    document = run("evaluate", model, "rich.csv", "--json").document
    assert document["scores"]["roc_auc"] is None
    assert document["scores"]["per_class"][0]["recall"] is None
    assert document["scores"]["per_class"][1]["n"] == len(rich)


def test_an_unknown_label_is_named_with_its_row(run, model, people):
    text = people.read_text().splitlines()
    text[3] = text[3].rsplit(",", 1)[0] + ",rich"
    people.write_text("\n".join(text))
    ran = run("evaluate", model, people)
    assert ran.code == 3
    assert "row 3: 'rich' is not a class of the model" in ran.err


def test_another_target_column(run, model, people):
    people.write_text(people.read_text().replace(",income", ",wage", 1))
    assert run("evaluate", model, people).code == 3
    assert run("evaluate", model, people, "--target", "wage").code == 0
