"""``separatrix verify``: nothing that a file says of itself is believed."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from benchmarks import model_files
from safetensors.numpy import save

from separatrix import Certificate
from separatrix.cli.commands.verify.run import contradiction
from separatrix.persistence.model_file import load_model, save_model


def rewrite(path, **changes):
    """Give a model file another certificate."""
    stored = load_model(path)
    model = stored.model
    model.certificate_ = replace(model.certificate_, **changes)
    save_model(path, model, encoder=stored.encoder, provenance=stored.provenance)


def test_a_good_model_is_verified(run, model, people):
    ran = run("verify", model, people)
    assert ran.code == 0
    assert ran.lines["data"] == "100 rows, the same as those of the fit"
    assert ran.lines["stored"].startswith("optimal: objective ")
    assert ran.lines["computed"].startswith("optimal: objective ")
    assert ran.lines["verdict"].startswith("verified: proved to be within 1e-06 ")
    assert ran.err == ""


@pytest.mark.parametrize(
    "options",
    [
        ["--model", "svm"],
        ["--model", "svm", "--loss", "hinge"],
        ["--multiclass", "ovr"],
        ["--class-weight", "balanced", "--lam", "0.1"],
        ["--no-intercept"],
        ["--test-size", "0", "--seed", "5"],
    ],
)
def test_every_kind_of_model_verifies(run, options):
    assert run("fit", "wine", *options).code == 0
    ran = run("verify", "wine.separatrix", "wine", "--json")
    assert ran.code == 0
    document = ran.document
    assert document["recomputed"]["relative_gap"] <= 1e-6
    assert document["recomputed"]["primal"] == pytest.approx(
        document["stored"]["primal"], rel=1e-12
    )


def test_options_of_reading_are_used_again(run, people):
    run("fit", people, "--target", "income", "--ignore", "hours", "--kind", "age=category",
        "--missing", "cook", "-o", "m.separatrix")  # fmt: skip
    assert run("verify", "m.separatrix", people).code == 0


def test_the_same_data_in_another_format(run, model, people, tmp_path):
    import duckdb

    duckdb.sql(
        f"copy (from read_csv('{people}', nullstr=['', '?'])) to '{tmp_path}/people.parquet'"
    )
    assert run("verify", model, "people.parquet").code == 0


def test_other_data_are_not_verified(run, model, people):
    people.write_text(people.read_text().replace("clerk", "cook", 1))
    ran = run("verify", model, people, "--json")
    assert ran.code == ran.document["exit_code"] == 1
    assert ran.document["same_data"] is False
    text = run("verify", model, people)
    assert text.lines["data"] == "100 rows, NOT the same as the 100 of the fit"
    assert text.lines["verdict"] == "not verified: these are not the data of the fit"
    assert "fit it with a smaller tolerance" not in text.out


def test_a_false_objective_is_contradicted(run, model, people):
    primal = load_model(model).model.certificate_.primal
    rewrite(model, primal=primal * (1 - 1e-6))
    ran = run("verify", model, people)
    assert ran.code == 1
    assert ran.lines["verdict"].startswith("contradicted: the objective is ")


def test_a_false_lower_bound_is_contradicted(run, model, people):
    primal = load_model(model).model.certificate_.primal
    rewrite(model, dual=primal * 1.1)
    ran = run("verify", model, people)
    assert ran.code == 1
    assert ran.lines["verdict"].startswith("contradicted: the file states the lower bound ")


def test_a_model_above_tol_is_told_with_exit_code_4(run, people):
    words = ("fit", people, "--target", "income", "--max-iter", "1", "-o", "m.separatrix")
    assert run(*words).code == 4
    ran = run("verify", "m.separatrix", people)
    assert ran.code == 4
    assert ran.lines["verdict"].startswith("not proved to be within 1e-06 ")


def test_a_looser_tolerance_can_be_asked_for(run, people):
    run("fit", people, "--target", "income", "--max-iter", "1", "-o", "m.separatrix")
    assert run("verify", "m.separatrix", people, "--tol", "100").code == 0


def test_a_model_from_python_has_no_rows_to_find_again(run, model, people):
    stored = load_model(model)
    save_model(model, stored.model, encoder=stored.encoder)
    ran = run("verify", model, people)
    assert ran.code == 3
    assert "does not record which rows were fitted" in ran.err


def test_a_proof_in_exact_arithmetic(run, model, people):
    pytest.importorskip("flint")
    ran = run("verify", model, people, "--rigorous")
    assert ran.code == 0 and ran.err == ""
    assert "in exact arithmetic: optimum in [" in ran.lines["computed"]
    assert ran.lines["verdict"].startswith(
        "verified: proved in exact arithmetic to be within 1e-06 "
    )
    document = run("verify", model, people, "--rigorous", "--json").document
    low, high = document["recomputed"]["interval"]
    # Both hold the optimum; which of the two is the narrower depends on how near the point is.
    dual, primal = document["recomputed"]["dual"], document["recomputed"]["primal"]
    assert dual <= primal and max(float(low), dual) <= min(float(high), primal)
    assert document["recomputed"]["bits"] >= 64


def test_a_proof_in_exact_arithmetic_stops_in_time(run, model, people):
    pytest.importorskip("flint")
    ran = run("verify", model, people, "--rigorous", "--time-limit", "1e-9")
    assert ran.code == 4
    assert ran.lines["computed"].startswith("time_limit: ")


def test_what_has_no_objective_has_no_such_proof(run):
    pytest.importorskip("flint")
    assert run("fit", "wine", "--model", "lda").code == 0
    ran = run("verify", "wine.separatrix", "wine", "--rigorous")
    assert ran.code == 3
    assert "LinearDiscriminantAnalysis solves equations" in ran.err


def test_without_python_flint_it_says_what_to_install(run, model, people, monkeypatch):
    import importlib

    # The command of the same name hides the module.
    module = importlib.import_module("separatrix.cli.commands.verify")
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    ran = run("verify", model, people, "--rigorous")
    assert ran.code == 3
    assert ran.err.strip().endswith('pip install "separatrix[exact]"')


def test_the_digest_of_what_was_fitted_is_told(run, model, people):
    ran = run("verify", model, people)
    digest = load_model(model).digest
    assert ran.lines["weights"] == f"unchanged since they were saved, digest {digest[:16]}"
    assert run("verify", model, people, "--json").document["digest"] == digest


def changed(path, version=None, **arrays):
    """Change arrays by a factor, and not the digest, which earlier versions of files lack."""
    document, tensors = model_files.opened(path.read_bytes())
    for name, factor in arrays.items():
        tensors[f"model/{name}"] = tensors[f"model/{name}"] * factor
    if version is not None:
        document["format_version"] = version
        del document["model"]["digest"]
    document["sha256"] = "0" * 64
    text = json.dumps(document, separators=(",", ":"))
    path.write_bytes(model_files.checked(save(tensors, metadata={"separatrix": text})))


def test_a_weight_that_was_changed_is_noticed_whatever_the_objective_says(run, model, people):
    # The change is so small that the objective, flat at its minimum, stays the same.
    changed(model, coef_=1.0 + 1e-12)
    for command in ("verify", "predict", "evaluate"):
        ran = run(command, model, people)
        assert ran.code == 3
        assert (
            "was changed after it was saved: the fitted numbers do not match its digest" in ran.err
        )
        assert ran.err.count("\n") == 1
    assert run("info", model).code == 3


def test_of_an_earlier_version_the_objective_tells(run, model, people):
    changed(model, version=3, coef_=1.001)
    ran = run("verify", model, people)
    assert ran.code == 1
    assert ran.lines["weights"].startswith("a file of format 3 has no digest of them")
    assert ran.lines["verdict"].startswith("contradicted: the objective is ")


@pytest.mark.parametrize("stored", [float("nan"), float("inf"), 1.0])
def test_an_objective_that_is_none_is_contradicted(stored):
    fitted = Certificate.of(primal=2.0, dual=2.0, tol=1e-6, status="optimal")
    assert contradiction(replace(fitted, primal=stored), fitted) is not None
    assert contradiction(fitted, replace(fitted, primal=stored)) is not None
    assert contradiction(fitted, fitted) is None
    none = replace(fitted, primal=float("inf"), dual=0.0)
    assert contradiction(none, none) is None


ORIGINS = {
    "config": [{}, 3, None, {"data": 1, "missing": None, "kinds": {}, "ignore": []}],
    "split": [{}, [], {"fit_rows": 80, "seed": "x", "test_size": 0.2}, {"fit_rows": 1e400}],
    "data": ["people.csv", {"fingerprint": '"; import os', "rows": 1, "source": "x"}, None],
    "target": [3, ["income"], None, {}],
    "held_out": [{"accuracy": "x"}, 3, [1]],
    "weights": [[3], "x", [{"feature": 1}], {}],
    "command": ["rm -rf ~", "separatrix 'fit", 3],
    "created": [3, []],
    "versions": [3, {"numpy": 2}],
}


@pytest.mark.parametrize("name", ORIGINS)
def test_an_origin_that_no_command_wrote_is_no_bug(run, model, people, name):
    for value in ORIGINS[name]:
        stored = load_model(model)
        provenance = {**stored.provenance, name: value}
        save_model("m.separatrix", stored.model, encoder=stored.encoder, provenance=provenance)
        for words in (["info"], ["info", "--json"], ["verify", people], ["predict", people]):
            ran = run(words[0], "m.separatrix", *words[1:])
            assert ran.code in ((0,) if words[0] == "predict" else (0, 3)), (words, value, ran.err)
            assert "bug" not in ran.err


def test_rows_too_few_to_be_split_as_at_the_fit_are_not_those_of_the_fit(run, make_csv):
    rows = [[i, i * i % 7, "ab"[i % 2]] for i in range(40)]
    make_csv("all.csv", ["x", "z", "y"], rows)
    make_csv("two.csv", ["x", "z", "y"], rows[:2])
    assert run("fit", "all.csv", "--target", "y", "-o", "m.separatrix").code == 0
    ran = run("verify", "m.separatrix", "two.csv")
    assert ran.code == 3
    assert "2 rows cannot be split as those of the fit were" in ran.err
    assert "--test-size" not in ran.err
