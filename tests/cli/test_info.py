"""``separatrix info``: everything that a model file says of itself."""

from __future__ import annotations

import pytest

from separatrix.cli.commands.info import contents
from separatrix.cli.commands.info import run as command
from separatrix.models.registry import estimator
from separatrix.persistence.model_file import load_model, save_model


def test_text(run, model):
    ran = run("info", model)
    assert ran.code == 0
    lines = ran.lines
    assert lines["model"].startswith("logistic regression: minimise ")
    assert lines["classes"] == "<=50K and >50K"
    assert lines["features"] == "2 numbers, 1 category -> 6"
    assert lines["fit"].startswith("optimal: objective ")
    assert "people.csv: 100 rows, 80 fitted, target income, fingerprint " in lines["data"]
    assert lines["held out"].startswith("accuracy ")
    assert lines["command"].startswith("separatrix fit ")
    assert lines["file"].startswith("format 4, written by separatrix ")
    head, *rows = ran.weights
    assert head == ["feature", "direction", "per s.d.", "per unit"]
    assert rows[0][:2] == ["age", "away from <=50K"]
    for _, direction, standardised, weight, *_ in rows:
        sign = "-" if direction.startswith("away from") else "+"
        assert standardised[0] == weight[0] == sign
    # A number's weight is of one unit of its column, here and in the document.
    stored = load_model(model)
    (age,) = [one for one in stored.provenance["weights"] if one["feature"] == "age"]
    at = stored.encoder.feature_names_.index("age")
    # Towards '<=50K', the rarer class, and the model's scores are towards the second one.
    assert age["weight"] == -stored.model.coef_[0, at] / stored.encoder.scales_[at]
    assert age["standardised"] == pytest.approx(-stored.model.coef_[0, at])
    assert ran.err == ""


def test_json(run, model):
    document = run("info", model, "--json").document
    assert document["schema"] == "separatrix/info"
    assert document["model"]["class"] == "LogisticRegression"
    assert document["certificate"]["status"] == "optimal"
    assert document["provenance"] == load_model(model).provenance


def test_a_model_from_python(run, model):
    save_model(model, load_model(model).model)
    ran = run("info", model)
    assert ran.code == 0
    assert ran.lines["features"] == "6"


def test_names_cannot_drive_the_terminal(run, people):
    people.write_text(people.read_text().replace("age,", "\x1b[2Jage,", 1))
    ran = run("fit", people, "--target", "income", "-o", "m.separatrix")
    assert "\x1b" not in ran.out + ran.err
    assert "\\x1b[2Jage" in [words[0] for words in ran.weights]
    assert "\x1b" not in run("info", "m.separatrix").out
    document = run("info", "m.separatrix", "--json")
    assert "\x1b" not in document.out
    assert "\x1b[2Jage" in document.document["model"]["feature_names"]


@pytest.mark.parametrize("options", [(), ("--model", "svm"), ("--tol", "0.5"), ("--C", "1e-9")])
def test_the_file_alone_tells_what_its_model_tells(run, people, monkeypatch, options):
    assert run("fit", people, "--target", "income", "-o", "m.separatrix", *options).code in (0, 4)
    told = run("info", "m.separatrix")
    assert contents.plain_contents("m.separatrix") is not None
    monkeypatch.setattr(command, "plain_contents", lambda path: None)
    assert run("info", "m.separatrix") == told
    assert told.code == 0


@pytest.mark.parametrize(
    "options",
    [
        ("--model", "lda"),
        ("--model", "kernel-svm"),
        ("--model", "svm", "--calibrate", "sigmoid"),
        ("--model", "perceptron"),
        ("--optimise", "f1"),
    ],
)
def test_of_others_the_model_is_made(run, people, options):
    assert run("fit", people, "--target", "income", "-o", "m.separatrix", *options).code in (0, 4)
    assert contents.plain_contents("m.separatrix") is None
    assert run("info", "m.separatrix").code == 0


def test_names_of_models_that_are_not_made():
    for name, label in contents.PLAIN.items():
        assert vars(estimator(name))["_label"] == label


def test_a_model_that_was_changed_is_refused(run, model):
    data = model.read_bytes()
    coef = load_model(model).model.coef_.tobytes()
    changed = data.replace(coef, coef[8:] + coef[:8], 1)
    for path, content in ((model, changed), (model.with_name("m"), data[:-8])):
        path.write_bytes(content)
        assert run("info", path).code == 3
