"""Gaussian classes and stochastic gradients on the command line."""

from __future__ import annotations

import csv
import io
import os
import signal

import numpy as np
import pytest
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)

from separatrix.persistence.model_file import load_model
from separatrix.solvers.driver import watch
from separatrix.tables import Encoder, read_table, split_rows, take_target

FAMILY = ("lda", "qda", "lstsq", "sgd")


def rows_of(name, target="target", **options):
    """The rows that ``fit`` fits, encoded for estimates, and those it holds out."""
    features, y = take_target(read_table(name), target)
    fit_rows, held = split_rows(y)
    encoder = Encoder(**options).fit(features.select(fit_rows))
    parts = (encoder.transform(features.select(rows)) for rows in (fit_rows, held))
    return (*parts, y[fit_rows], y[held])


def looser(model):
    """Stochastic gradients end just within their tolerance, and another bound has other slack."""
    return ["--tol", "0.0012"] if model == "sgd" else []


# -------------------------------------------------------------------------------- every model


@pytest.mark.crossed
@pytest.mark.parametrize("model", FAMILY)
@pytest.mark.parametrize("data", ["iris", "breast-cancer", "wine"])
def test_fit_predict_evaluate_and_verify(run, once, model, data):
    ran = once("fit", data, "--model", model)
    assert ran.code == 0
    assert ran.lines["fit"].startswith("optimal: ")
    assert ran.lines["saved"] == f"{data}.separatrix"
    accuracy = load_model(f"{data}.separatrix").provenance["held_out"]["accuracy"]
    assert accuracy > 0.75
    predicted = run("predict", f"{data}.separatrix", data, "--scores")
    assert predicted.code == 0
    assert predicted.out.startswith("prediction,score_")
    evaluated = run("evaluate", f"{data}.separatrix", data)
    assert evaluated.code == 0
    assert evaluated.lines["scores"].startswith("accuracy ")
    verified = run("verify", f"{data}.separatrix", data, *looser(model))
    assert verified.code == 0, verified.out
    assert verified.lines["verdict"].startswith("verified: ")


@pytest.mark.parametrize("model", ["lda", "qda", "sgd"])
def test_probabilities(run, once, model):
    once("fit", "wine", "--model", model)
    rows = list(csv.reader(io.StringIO(run("predict", "wine.separatrix", "wine", "--proba").out)))
    assert rows[0] == ["prediction", *(f"probability_class_{k}" for k in range(3))]
    values = np.array([[float(cell) for cell in row[1:]] for row in rows[1:]])
    np.testing.assert_allclose(values.sum(axis=1), 1.0, rtol=1e-12)
    assert [f"class_{k}" for k in values.argmax(axis=1)] == [row[0] for row in rows[1:]]


def test_other_losses_have_no_probabilities(run):
    run("fit", "wine", "--model", "sgd", "--loss", "hinge", "--max-iter", "3")
    ran = run("predict", "wine.separatrix", "wine", "--proba")
    assert ran.code == 2
    assert "SGDClassifier gives no probabilities without --loss log in fit: --scores " in ran.err


def test_least_squares_has_no_probabilities(run, once):
    once("fit", "wine", "--model", "lstsq")
    ran = run("predict", "wine.separatrix", "wine", "--proba")
    assert ran.code == 2
    assert "LeastSquaresClassifier gives no probabilities: --scores prints its scores" in ran.err


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("lda", ["--shrinkage", "0.25", "--covariance", "unbiased", "--priors", "equal"]),
        ("qda", ["--shrinkage", "none"]),
        ("sgd", ["--loss", "squared_hinge", "-C", "2", "--schedule", "power", "--kappa", "0.6",
                 "--eta0", "0.01", "--batch-size", "4", "--no-average", "--max-iter", "5"]),
        ("sgd", ["--loss", "perceptron", "--average", "--max-iter", "7"]),
    ],
)  # fmt: skip
def test_the_stored_command_makes_the_same_model(run, model, options):
    import shlex

    run("fit", "wine", "--model", model, *options)
    first = load_model("wine.separatrix")
    assert run(*shlex.split(first.provenance["command"])[1:]).code in (0, 4)
    again = load_model("wine.separatrix")
    assert again.provenance["config"] == first.provenance["config"]
    for name in ("coef_", "intercept_", "means_", "covariance_", "priors_"):
        assert hasattr(again.model, name) == hasattr(first.model, name)
        if hasattr(first.model, name):
            assert np.array_equal(getattr(again.model, name), getattr(first.model, name)), name


# ----------------------------------------------------------------------------- Gaussian classes


def test_the_lines_of_lda(once):
    ran = once("fit", "wine", "--model", "lda")
    assert (ran.code, ran.err) == (0, "")
    labels = ran.labels
    said = ["held out", "also", "constant", "weights", "saved"]
    assert labels == ["read", "split", "model", "fit", "classes", *said]
    assert ran.lines["model"].startswith("linear discriminant analysis: delta_k(x) = mu_k' S^-1 x")
    assert ran.lines["classes"].startswith("3 means, priors class_0 0.331, class_1 0.401, ")
    assert "; covariances shrunk by 0." in ran.lines["classes"]


@pytest.mark.parametrize(
    ("model", "reference"),
    [
        ("lda", LinearDiscriminantAnalysis(solver="lsqr")),
        ("qda", QuadraticDiscriminantAnalysis()),
    ],
)
def test_the_same_as_scikit_learn(run, model, reference):
    X, held_X, y, held_y = rows_of("wine", standardise=False, reference=True)
    reference.fit(X, y)
    words = ["--shrinkage", "none"]
    # Quadratic analysis of scikit-learn divided by the degrees of freedom before it had solvers.
    if model == "qda" and not hasattr(reference, "solver"):
        words += ["--covariance", "unbiased"]
    assert run("fit", "wine", "--model", model, *words).code == 0
    stored = load_model("wine.separatrix")
    found, expected = stored.model.predict_proba(held_X), reference.predict_proba(held_X)
    np.testing.assert_allclose(found, expected, atol=1e-8)
    assert stored.provenance["held_out"]["accuracy"] == np.mean(reference.predict(held_X) == held_y)


def test_equal_priors_and_unbiased_covariances(run):
    words = ("--shrinkage", "none", "--priors", "equal", "--covariance", "unbiased")
    assert run("fit", "wine", "--model", "lda", *words).code == 0
    model = load_model("wine.separatrix").model
    X, held_X, y, _ = rows_of("wine", standardise=False, reference=True)
    labels = sorted(set(y))
    means = np.array([X[y == label].mean(axis=0) for label in labels])
    within = X - means[np.searchsorted(labels, y)]
    solved = np.linalg.solve(within.T @ within / (len(y) - len(labels)), means.T)
    scores = held_X @ solved - 0.5 * np.sum(means.T * solved, axis=0)
    expected = np.exp(scores - scores.max(axis=1, keepdims=True))
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(held_X), expected, atol=1e-8)


def test_covariances_of_rare_categories_are_shrunk_by_default(run, make_csv):
    """A level that does not occur in a class leaves that class without a density of its own."""
    rng = np.random.default_rng(0)
    rows = [[f"{rng.normal():.3f}", "yes", "a"] for _ in range(40)]
    rows += [[f"{rng.normal():.3f}", "no" if i < 4 else "yes", "b"] for i in range(40)]
    make_csv("rare.csv", ["x", "flag", "target"], rows)
    words = ("fit", "rare.csv", "--model", "qda", "--test-size", "0")
    assert run(*words).code == 0
    assert load_model("rare.separatrix").model.shrinkage == "auto"
    ran = run(*words, "--shrinkage", "none")
    assert ran.code == 0
    told = next(line for line in ran.err.splitlines() if line.startswith("warning "))
    assert "has been given a floor" in told
    assert "class 'a'" in told
    assert "'flag=no' is constant there" in told
    assert "--shrinkage auto" in told
    assert "shrinkage=" not in told


def test_weights_of_discriminants_are_differences(run):
    document = run("fit", "wine", "--model", "lda", "--json").document
    model = load_model("wine.separatrix").model
    names = document["model"]["feature_names"]
    labels = document["model"]["classes"]
    for entry in document["weights"]:
        j, k = names.index(entry["feature"]), labels.index(entry["class"])
        own = model.coef_[k, j] - model.coef_[:, j].mean()
        assert entry["weight"] == pytest.approx(own, rel=1e-9)


def test_info_of_gaussian_classes(run):
    run("fit", "wine", "--model", "qda", "--shrinkage", "0.5", "--priors", "equal")
    ran = run("info", "wine.separatrix")
    assert ran.lines["gaussians"] == (
        "3 means, priors class_0 0.333, class_1 0.333, class_2 0.333; covariances shrunk by 0.5"
    )
    rows = [line.split() for line in ran.out.splitlines() if line.startswith("  ")]
    assert rows == [
        ["class", "prior", "rows"],
        ["class_0", "0.333333", "47"],
        ["class_1", "0.333333", "57"],
        ["class_2", "0.333333", "38"],
    ]
    details = run("info", "wine.separatrix", "--json").document["details"]
    assert sum(entry["rows"] for entry in details["classes"]) == 142
    assert details["condition_number"] >= 1


# ------------------------------------------------------------------------ stochastic gradients


def test_the_lines_of_sgd(run):
    # Without an option of the steps there are none.
    whole = run("fit", "breast-cancer", "--model", "sgd")
    assert (whole.code, whole.err) == (0, "") and "steps" not in whole.labels
    ran = run("fit", "breast-cancer", "--model", "sgd", "--batch-size", "2")
    # Steps end by their own rule, whatever the gap is.
    assert ran.code == 4 and "stalled: " in ran.lines["fit"]
    labels = ran.labels
    said = ["held out", "also", "constant", "weights", "saved"]
    assert labels == ["read", "split", "positive", "model", "fit", "steps", *said]
    assert " (the best of 11 rates on a sample), weights averaged" in ran.lines["steps"]
    info = run("info", "breast-cancer.separatrix")
    told = ran.lines["steps"].partition(" in ")[2]
    assert f"{told}; the sum of the rates is infinite" in info.lines["steps"]


def test_steps_and_passes_of_several_classes_are_of_all_together(run):
    ran = run("fit", "iris", "--model", "sgd", "--eta0", "0.05")
    certificate = run("info", "iris.separatrix", "--json").document["certificate"]
    passes, each = certificate["n_iter"], [one["n_iter"] for one in certificate["parts"]]
    # A step a row: 121 of them in a pass, since two are equal.
    expected = f"{121 * passes:,} in {passes} passes, 3 classes together, eta_k = "
    assert ran.lines["steps"].startswith(expected)
    assert f", {min(each)} to {max(each)} iterations in each of 3 problems, " in ran.lines["fit"]
    two = run("fit", "breast-cancer", "--model", "sgd", "--eta0", "0.05", "--json").document
    assert two["details"]["fits"] == 1
    assert two["details"]["passes"] == two["certificate"]["n_iter"]
    assert two["details"]["steps"] == two["split"]["fit_rows"] * two["details"]["passes"]


def test_kappa_is_for_the_schedule_that_is_the_default_without_a_penalty(run, people):
    words = ("fit", people, "--target", "income", "--model", "sgd", "--kappa", "0.6", "--json")
    document = run(*words, "--penalty", "none", "--max-iter", "1").document
    parameters = document["model"]["parameters"]
    assert (parameters["learning_rate"], parameters["power_t"]) == ("invscaling", 0.6)
    for others in ([], ["--loss", "perceptron"], ["--schedule", "inverse"]):
        ran = run(*words, *others)
        assert ran.code == 2
        assert "--kappa is for --schedule power" in ran.err


def test_options_reach_the_estimator(run):
    document = run(
        "fit", "wine", "--model", "sgd", "--loss", "hinge", "--lam", "0.01", "--schedule",
        "inverse", "--eta0", "0.5", "--batch-size", "3", "--no-average", "--early-stopping",
        "--step-tol", "1e-9", "--max-iter", "4", "--tol", "0.5", "--class-weight", "balanced",
        "--no-intercept", "--seed", "3", "--json",
    ).document  # fmt: skip
    expected = {
        "loss": "hinge", "alpha": 0.01, "learning_rate": "invscaling", "power_t": 1.0, "eta0": 0.5,
        "batch_size": 3, "average": False, "early_stopping": True, "step_tol": 1e-9, "max_iter": 4,
        "tol": 0.5, "class_weight": "balanced", "fit_intercept": False, "random_state": 3,
    }  # fmt: skip
    parameters = document["model"]["parameters"]
    assert {name: parameters[name] for name in expected} == expected
    assert document["details"]["schedule"].endswith(" / k")
    assert document["details"]["searched"] == 0
    assert document["details"]["passes"] <= 4 * document["details"]["fits"] == 12


def test_c_is_the_weight_of_the_losses(run):
    words = ("fit", "breast-cancer", "--model", "sgd", "-C", "0.5", "--tol", "1e-3", "--json")
    document = run(*words).document
    n = document["split"]["fit_rows"]
    assert document["model"]["parameters"]["alpha"] == pytest.approx(1 / (0.5 * n))
    assert f"+ 1/{n} * sum log(" in document["model"]["formula"]
    # The same problem as that of the other solver, and the same optimum.
    best = run("fit", "breast-cancer", "-C", "0.5", "--json").document["certificate"]["primal"]
    assert best <= document["certificate"]["primal"] <= best * (1 + 1e-3)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], {"loss": "log_loss", "learning_rate": "optimal", "penalty": "l2"}),
        (["--penalty", "none"], {"learning_rate": "invscaling", "penalty": None}),
        (["-C", "inf"], {"learning_rate": "invscaling", "penalty": None}),
        (["--loss", "perceptron"],
         {"learning_rate": "constant", "penalty": None, "average": False, "eta0": 1.0}),
    ],
)  # fmt: skip
def test_defaults(run, options, expected):
    document = run("fit", "iris", "--model", "sgd", "--max-iter", "2", *options, "--json").document
    parameters = document["model"]["parameters"]
    assert {name: parameters[name] for name in expected} == expected


def test_stopped_early_is_told_in_options(run, people):
    ran = run("fit", people, "--target", "income", "--model", "sgd", "--early-stopping",
              "--tol", "1e-12")  # fmt: skip
    assert ran.code == 4
    assert ran.lines["fit"].startswith("early_stopped: ")
    assert ran.lines["fit"].endswith("; without --early-stopping the fit continues to --tol")
    assert run("verify", "people.separatrix", people).code in (0, 4)


def test_small_steps_are_told_in_options(run, people):
    ran = run("fit", people, "--target", "income", "--model", "sgd", "--step-tol", "0.5",
              "--tol", "1e-12")  # fmt: skip
    assert ran.code == 4
    assert "lower --step-tol" in ran.lines["fit"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.signals
def test_an_interrupted_fit_saves_the_best_model_so_far(run, people, number):
    seen = []

    def interrupt(record):
        seen.append(record)
        if len(seen) == 3:
            signal.raise_signal(number)

    with watch(interrupt):
        ran = run("fit", people, "--target", "income", "--model", "sgd", "--tol", "1e-12", "--json")
    assert ran.code == ran.document["exit_code"] == 130
    assert ran.document["status"] == "interrupted"
    stored = load_model("people.separatrix")
    assert stored.model.certificate_.status == "interrupted"
    assert np.isfinite(stored.model.certificate_.relative_gap)
    assert stored.model.coef_.any()
    assert run("predict", "people.separatrix", people).code == 0


# -------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--model", "lda", "-C", "1"], "-C is for --model logistic, svm, kernel-svm or sgd, not"),
        (["--model", "lda", "--lam", "1"], "--lam is for --model logistic, svm, kernel-svm, lstsq"),
        (["--model", "qda", "--no-intercept"], "--no-intercept is for --model "),
        (["--model", "qda", "--class-weight", "balanced"], "not qda"),
        (["--model", "qda", "--tol", "0.1"], "not qda"),
        (["--model", "lda", "--shrinkage", "2"], "2 is not auto, none or a number from 0 to 1"),
        (["--model", "lda", "--shrinkage", "some"], "some is not auto, none or a number from"),
        (["--shrinkage", "auto"], "--shrinkage is for --model lda or qda"),
        (["--priors", "equal", "--model", "svm"], "--priors is for --model lda or qda, not svm"),
        (["--eta0", "1"], "--eta0 is for --model sgd"),
        (["--model", "sgd", "--kappa", "0.5"], "0.5 is not a number above 0.5, up to 1"),
        (["--model", "sgd", "--kappa", "0.7"], "--kappa is for --schedule power"),
        (["--model", "sgd", "--eta0", "0"], "0 is not a finite number above 0"),
        (["--model", "sgd", "-C", "1", "--lam", "1"], "-C and --lam set the same thing"),
        (["--model", "sgd", "--loss", "perceptron", "-C", "1"], "leave out -C"),
        (["--model", "sgd", "--loss", "perceptron", "--penalty", "l2"], "leave out --penalty l2"),
        (["--model", "sgd", "--schedule", "optimal", "--penalty", "none"],
         "is computed from the penalty, and there is none: choose inverse, power"),
        (["--model", "sgd", "--multiclass", "ovr"], "--multiclass is for --model logistic or svm"),
        (["--model", "logistic", "--average"], "--average is for --model sgd, not logistic"),
        (["--no-average"], "--average is for --model sgd"),
        (["--early-stopping"], "--early-stopping is for --model sgd"),
    ],
)  # fmt: skip
def test_usage_errors_are_one_sentence(run, words, told):
    ran = run("fit", "iris", *words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error     ")
    assert told in ran.err
    assert ran.err.count("\n") == 1
    assert os.listdir() == []


def test_the_help_has_the_options_in_groups(run):
    text = run("fit", "--help").out
    titles = [line[:-1] for line in text.splitlines() if line.endswith(":") and line[0] != " "]
    assert titles == [
        "Examples", "What to predict, and how", "Which of two classes matters",
        "Options of several models",
        "Options of kernel-svm", "Options of lda and qda", "Options of perceptron",
        "Options of poly", "Options of sgd",
        "When to stop", "Larger than memory", "The table and its rows", "Other options",
    ]  # fmt: skip
    assert text.count("  --kind COL=KIND") == text.count("  --json") == 1
    for line in text.splitlines():
        assert len(line) <= 100


# ------------------------------------------------------------------------------------ real data


@pytest.mark.exhaustive
@pytest.mark.parametrize("model", FAMILY)
def test_adult(run, real_data, model):
    path = real_data / "adult.csv"
    ran = run("fit", path, "--target", "income", "--model", model, "-o", "m.separatrix")
    assert ran.code == 0
    assert ran.lines["fit"].startswith("optimal: ")
    assert load_model("m.separatrix").provenance["held_out"]["accuracy"] > 0.8
    assert run("verify", "m.separatrix", path, *looser(model)).code == 0
