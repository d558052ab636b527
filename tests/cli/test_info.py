"""``separatrix info``: everything that a model file says of itself."""

from __future__ import annotations

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
    rows = [line.split() for line in ran.out.splitlines() if line.startswith("  ")]
    assert rows[0] == ["largest", "weights", "direction", "weight", "x", "deviation"]
    assert rows[1][:3] == ["age", "towards", ">50K"]
    for line in ran.out.splitlines():
        if "away from" in line or "towards" in line:
            assert ("away from" in line) == (" -" in line)
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
    assert "\\x1b[2Jage" in ran.lines["weights"]
    assert "\x1b" not in run("info", "m.separatrix").out
    document = run("info", "m.separatrix", "--json")
    assert "\x1b" not in document.out
    assert "\x1b[2Jage" in document.document["model"]["feature_names"]
