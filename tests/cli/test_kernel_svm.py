"""Kernel machines on the command line: fit, info, predict, evaluate, verify, and Ctrl-C."""

from __future__ import annotations

import csv
import os
import shlex
import signal

import numpy as np
import pytest

from separatrix.certificate import Certificate
from separatrix.messages import Message
from separatrix.models.svc import SVC
from separatrix.persistence.model_file import load_model, save_model
from separatrix.solvers.driver import watch

FIT = ("fit", "breast-cancer", "--model", "kernel-svm", "-o", "m.separatrix")


def fitted(once, *options: str, data: str = "breast-cancer"):
    ran = once("fit", data, "--model", "kernel-svm", "-o", "m.separatrix", *options)
    return ran, load_model("m.separatrix").model


def test_the_lines_of_a_fit(run, once):
    ran, model = fitted(once)
    assert ran.code == 0
    labels = [line[:10].rstrip() for line in ran.out.splitlines()]
    # No weights: the surface is no plane in the columns.
    said = ["held out", "also", "constant", "saved"]
    assert labels == ["read", "split", "positive", "model", "fit", "support", *said]
    assert ran.lines["model"].startswith("support vector machine: minimise 1/2 |w|^2 + 1 * sum ")
    assert ran.lines["model"].endswith("phi(x).phi(z) = exp(-0.0333333 |x - z|^2)")
    assert ran.lines["fit"].startswith("optimal: objective ")
    assert ran.err == ""
    conditions = model.dual_coef_[0], model.slack_[model.support_]
    # C is 1 and there are no weights.
    free = np.abs(conditions[0]) < 1.0
    wrong = int((conditions[1][~free] >= 1.0).sum())
    assert ran.lines["support"] == (
        f"{len(free)} of 455 rows are support vectors: {free.sum()} on the margin, "
        f"{(~free).sum() - wrong} inside it, {wrong} on the wrong side"
    )
    assert 0 < wrong < (~free).sum()
    info = run("info", "m.separatrix").lines
    assert info["support"] == ran.lines["support"]
    assert info["kernel"] == "rbf: exp(-0.0333333 |x - z|^2) (gamma 0.0333333)"
    assert info["file"].startswith("format 4, ")


@pytest.mark.parametrize(
    "options", [["-C", "3"], ["--class-weight", "balanced"], ["--lam", "0.01"]]
)
def test_bounded_support_vectors_are_counted_exactly(once, options):
    ran, model = fitted(once, *options)
    # By complementary slackness the multiplier of a row short of the margin is at its upper end.
    short = model.slack_[model.support_] > 1e-3
    assert np.all(model.bounded_[0][short])
    assert np.all(model.slack_[model.support_][~model.bounded_[0]] < 1e-3)
    free = int((~model.bounded_).sum())
    assert f" {free:,} on the margin, " in ran.lines["support"]


def test_of_more_classes(run, once):
    ran, model = fitted(once, data="wine")
    free = ((model.dual_coef_ != 0) & ~model.bounded_).any(axis=0)
    assert 0 < free.sum() < len(free)
    assert ran.lines["support"] == (
        f"{len(free)} of 142 rows are support vectors: {free.sum()} on the margin of a pair, "
        f"the other {(~free).sum()} inside or on the wrong side"
    )
    support = run("info", "m.separatrix", "--json").document["support"]
    assert support["vectors"] == len(free)
    assert support["on_margin"] + support["bounded"] == support["vectors"]
    assert support["wrong"] is None
    assert [entry["vectors"] for entry in support["by_class"]] == model.n_support_.tolist()


def test_the_hard_margin(run, once):
    ran, model = fitted(once, "-C", "inf")
    assert ran.code == 0
    assert ran.lines["support"] == (
        f"{len(model.support_)} of 455 rows are support vectors, all on the margin"
    )
    assert "subject to" in ran.lines["model"]
    assert run("verify", "m.separatrix", "breast-cancer").code == 0


def test_no_hard_margin_without_a_witness(run, tmp_path):
    # Equal points with different labels: no kernel separates them.
    (tmp_path / "t.csv").write_text("x,target\n" + "1,a\n2,b\n3,a\n3,b\n" * 10)
    ran = run("fit", "t.csv", "--model", "kernel-svm", "-C", "inf", "--test-size", "0")
    assert ran.code == 1
    assert ran.lines["verdict"].startswith(
        "not separable: -C inf needs a surface of the kernel exp(-"
    )
    assert ran.lines["verdict"].endswith("; a finite -C allows for overlap")
    assert "proof" not in ran.lines
    assert not os.path.exists("t.separatrix")
    as_json = run("fit", "t.csv", "--model", "kernel-svm", "-C", "inf", "--json")
    assert as_json.document["status"] == "not_separable"
    assert as_json.document["meeting"] is None


def test_no_hard_margin_of_the_linear_kernel_with_a_witness(run):
    words = ("fit", "iris", "--model", "kernel-svm", "--kernel", "linear", "-C", "inf")
    ran = run(*words, "--test-size", "0")
    assert ran.code == 1
    assert ran.lines["verdict"] == (
        "not separable: no plane separates 'versicolor' from 'virginica', so there is no margin to "
        "maximise; a finite -C allows for overlap"
    )
    document = run(*words, "--test-size", "0", "--json").document
    # Rows of the file: the classes are in order, fifty rows each.
    by_class = {entry["row"]: entry["class"] for entry in document["meeting"]}
    assert set(by_class.values()) == {"versicolor", "virginica"}
    assert all((50 < row <= 100) == (c == "versicolor") for row, c in by_class.items())


def test_a_linear_kernel_has_weights(run, once):
    ran, model = fitted(once, "--kernel", "linear", data="wine")
    assert list(ran.lines)[-3:] == ["constant", "weights", "saved"]
    first = load_model("m.separatrix").provenance["weights"][0]
    assert ran.weights[1][0] == first["feature"]
    one, other = (first["class"], first["against"])[:: 1 if first["weight"] > 0 else -1]
    assert ran.weights[1][1] == f"towards {one} from {other}"
    pair = {("class_0", "class_1"): 0, ("class_0", "class_2"): 1, ("class_1", "class_2"): 2}
    row = pair[first["class"], first["against"]]
    names = load_model("m.separatrix").encoder.feature_names_
    at = list(names).index(first["feature"])
    scale = load_model("m.separatrix").encoder.scales_[at]
    assert first["weight"] == model.coef_[row, at] / scale
    assert f"{first['class']} from {first['against']}" in run("info", "m.separatrix").out
    ran, _ = fitted(once, "--kernel", "linear")
    assert not any(" from " in words[1] for words in ran.weights[1:] if "away" not in words[1])


def test_nystroem(run, once):
    ran, model = fitted(once, "--approximation", "nystroem", "--components", "30")
    assert model.lift_.n_components_ == 30
    share = 100 * model.lift_.unexplained_
    assert ran.lines["lift"].startswith(
        "30 components, landmarks among 455 rows, which leave "
        f"{share:.2g} % of the trace of the kernel matrix unexplained; with the exact kernel the "
        f"objective is {model.exact_primal_:,.6g}, within "
    )
    assert ran.lines["lift"].endswith(" % of the best possible")
    assert "support" not in ran.lines
    assert "weights" not in ran.lines
    assert " about exp(-" in ran.lines["model"]
    info = run("info", "m.separatrix")
    assert info.lines["lift"] == ran.lines["lift"]
    support = run("info", "m.separatrix", "--json").document["support"]
    assert support["components"] == 30
    assert support["exact_primal"] == model.exact_primal_
    assert support["exact_dual"] == model.exact_dual_
    assert run("verify", "m.separatrix", "breast-cancer").code == 0


def test_fourier(run, once):
    ran, _ = fitted(once, "--approximation", "fourier", "--components", "41", "--gamma", "0.01")
    assert ran.lines["lift"].startswith("42 components, cosines of random frequencies; ")
    assert run("verify", "m.separatrix", "breast-cancer").code == 0


def test_a_kernel_without_a_bound(run, once):
    ran, _ = fitted(once, "--kernel", "sigmoid")
    assert ran.code == 4
    assert ran.lines["fit"].startswith("indefinite: objective ")
    assert ran.lines["fit"].endswith("; --kernel rbf, or poly with --coef0 >= 0, has a bound")
    again = run("verify", "m.separatrix", "breast-cancer")
    assert again.code == 4
    assert again.lines["computed"].startswith("indefinite: objective ")


@pytest.mark.parametrize(
    ("options", "kernel"),
    [
        (["--gamma", "auto"], {"name": "rbf", "gamma": 1 / 30}),
        (["--gamma", "0.5"], {"name": "rbf", "gamma": 0.5}),
        (["--gamma", "0"], {"name": "rbf", "gamma": 0.0}),
        (
            ["--kernel", "poly", "--degree", "2", "--coef0", "1", "--gamma", "auto"],
            {"name": "poly", "degree": 2, "coef0": 1.0, "gamma": 1 / 30},
        ),
        (
            ["--kernel", "sigmoid", "--coef0", "-1", "--gamma", "0.001"],
            {"name": "sigmoid", "coef0": -1.0, "gamma": 0.001},
        ),
        (["--kernel", "linear", "--cache-mb", "1"], {"name": "linear"}),
    ],
)
def test_options_reach_the_kernel(run, options, kernel):
    document = run(*FIT, *options, "--json").document
    found = document["support"]["kernel"]
    assert {key: found[key] for key in kernel} == kernel
    assert set(found) == {*kernel, "formula"}
    assert document["weights"] is None or kernel["name"] == "linear"
    if "--cache-mb" in options:
        assert document["model"]["parameters"]["cache_mb"] == 1.0


def test_the_stored_command_makes_the_same_model(run):
    ran, model = fitted(
        run, "--kernel", "poly", "--degree", "2", "--coef0", "0.5", "--gamma", "0.02",
        "--cache-mb", "3", "-C", "2", "--calibrate", "sigmoid", "--loss", "hinge",
    )  # fmt: skip
    words = shlex.split(load_model("m.separatrix").provenance["command"])
    assert run(*words[1:]).code == ran.code == 0
    again = load_model("m.separatrix").model
    assert again.get_params() == model.get_params()
    assert np.array_equal(again.dual_coef_, model.dual_coef_)
    assert again.calibration_ == model.calibration_


# ---------------------------------------------------------------------------------- probabilities


@pytest.mark.crossed
@pytest.mark.parametrize("model", ["svm", "kernel-svm", "perceptron"])
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibrate(run, model, method):
    ran = run("fit", "breast-cancer", "--model", model, "--calibrate", method, "-o", "m.separatrix")
    assert ran.lines["calibrate"] == f"{method}, fitted to the scores of 5 folds"
    assert "log loss" in ran.lines["held out"]
    assert run("info", "m.separatrix").lines["calibrate"] == ran.lines["calibrate"]
    run("predict", "m.separatrix", "breast-cancer", "--proba", "-o", "p.csv")
    with open("p.csv", newline="") as file:
        lines = list(csv.reader(file))
    assert lines[0] == ["prediction", "probability_benign", "probability_malignant"]
    for predicted, benign, malignant in lines[1:]:
        assert (float(malignant) > float(benign)) == (predicted == "malignant")
    assert "log loss" in run("evaluate", "m.separatrix", "breast-cancer").lines["scores"]


@pytest.mark.parametrize("model", ["svm", "kernel-svm", "perceptron"])
def test_without_calibration_there_are_no_probabilities(run, model):
    run("fit", "iris", "--model", model, "-o", "m.separatrix")
    ran = run("predict", "m.separatrix", "iris", "--proba")
    assert ran.code == 2
    assert "gives no probabilities without --calibrate in fit: --scores prints" in ran.err
    assert run("predict", "m.separatrix", "iris", "--scores").code == 0


def test_folds_that_stopped_early_are_told(run, monkeypatch):
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    real = SVC.fit
    stopped = Certificate.of(primal=2.0, dual=1.0, tol=1e-6, status="max_iter")

    def fit(self, *args, **kwargs):
        real(self, *args, **kwargs)
        early = Message("calibration_folds", folds=5, early=2, first=str(stopped))
        warnings.warn(early, ConvergenceWarning, stacklevel=2)
        return self

    monkeypatch.setattr(SVC, "fit", fit)
    ran = run(*FIT, "--calibrate", "sigmoid")
    assert ran.code == 0
    assert ran.err.startswith(
        "warning   The probabilities are based on fits to 5 folds, 2 of which did"
    )
    assert ran.err.endswith("came before --tol 1e-06; raise --max-iter\n")


# -------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--gamma", "-1"], "-1 is not scale, auto or a finite number from 0"),
        (["--gamma", "inf"], "inf is not scale, auto or a finite number from 0"),
        (["--gamma", "much"], "much is not scale, auto or a finite number from 0"),
        (["--kernel", "poly", "--degree", "0"], "0 is not a whole number from 1"),
        (["--kernel", "poly", "--degree", "1.5"], "1.5 is not a whole number from 1"),
        (["--kernel", "poly", "--coef0", "nan"], "nan is not a finite number"),
        (["--kernel", "precomputed"], "'precomputed' is not one of 'rbf', 'linear', 'poly', 'sig"),
        (["--kernel", "linear", "--gamma", "1"], "--kernel linear has no --gamma"),
        (["--degree", "2"], "--kernel rbf has no --degree"),
        (["--kernel", "rbf", "--coef0", "0"], "--kernel rbf has no --coef0"),
        (["--kernel", "sigmoid", "--degree", "2"], "--kernel sigmoid has no --degree"),
        (["--cache-mb", "0"], "0 is not a finite number above 0"),
        (["--components", "10"], "--components is for --approximation"),
        (["--approximation", "nystroem", "--components", "0"], "0 is not a whole number from 1"),
        (
            ["--approximation", "nystroem", "--cache-mb", "5"],
            "does not compute the kernel matrix, so leave out --cache-mb",
        ),
        (["--approximation", "fourier", "--kernel", "poly"], "fourier is for --kernel rbf, not po"),
        (["--approximation", "nystroem", "--kernel", "sigmoid"], "--kernel sigmoid is not"),
        (
            ["--approximation", "nystroem", "--kernel", "poly", "--coef0", "-1"],
            "--kernel poly with --coef0 below 0 is not",
        ),
        (["--approximation", "nystroem", "--C", "inf"], "needs a finite -C"),
        (["--loss", "squared_hinge"], "--model kernel-svm has the loss hinge, not squared_hinge"),
        (["--loss", "log"], "--model kernel-svm has the loss hinge, not log"),
        (["--penalty", "none"], "--model svm and kernel-svm need a penalty"),
        (["--multiclass", "ovr"], "--model kernel-svm takes three or more classes in pairs"),
        (["--calibrate", "platt"], "'platt' is not one of 'sigmoid', 'isotonic'"),
    ],
)
def test_usage_errors_are_one_sentence(run, words, told):
    ran = run("fit", "iris", "--model", "kernel-svm", *words)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
    assert ran.err.count("\n") == 1
    assert os.listdir() == []


@pytest.mark.parametrize("model", ["logistic", "svm", "perceptron"])
@pytest.mark.parametrize(
    "words",
    [
        ["--kernel", "rbf"],
        ["--gamma", "1"],
        ["--degree", "2"],
        ["--coef0", "0"],
        ["--cache-mb", "5"],
        ["--approximation", "nystroem"],
        ["--components", "5"],
    ],
)
def test_options_of_kernels_are_refused_elsewhere(run, model, words):
    ran = run("fit", "iris", "--model", model, *words)
    assert ran.code == 2
    takers = "kernel-svm or poly" if words[0] == "--degree" else "kernel-svm"
    assert ran.err.startswith(f"error     {words[0]} is for --model {takers}, not {model} (see ")


def test_logistic_regression_needs_no_calibration(run):
    ran = run("fit", "iris", "--calibrate", "sigmoid")
    assert ran.code == 2
    assert "--model logistic gives probabilities without --calibrate" in ran.err


def test_a_class_of_one_row_cannot_be_calibrated(run, tmp_path):
    (tmp_path / "t.csv").write_text("x,target\n" + "1,a\n2,a\n4,a\n" * 10 + "9,b\n")
    ran = run("fit", "t.csv", "--model", "kernel-svm", "--calibrate", "sigmoid", "--test-size", "0")
    assert ran.code == 2
    assert "needs two rows of every class" in ran.err
    assert ran.err.splitlines()[-1].startswith("error     ")


# -------------------------------------------------------------------------- tables and other data


def test_text_and_categories_are_sparse(run, tmp_path):
    rng = np.random.default_rng(0)
    words = ["fine", "grand", "poor", "awful", "film", "plot", "actor", "music", "scene", "story"]
    lines = ["review,stars,target"]
    for i in range(80):
        good = i % 2
        picked = [words[2 * (1 - good) + rng.integers(2)], *rng.choice(words[4:], size=5)]
        lines.append(f"a {' '.join(picked)} number {i},{rng.integers(5)},{('no', 'yes')[good]}")
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    for options in ([], ["--kernel", "linear"], ["--approximation", "nystroem", "-C", "5"]):
        ran = run("fit", "t.csv", "--model", "kernel-svm", "--kind", "review=text", *options)
        assert ran.code == 0, ran.err
        assert run("verify", "t.separatrix", "t.csv").code == 0
        assert run("predict", "t.separatrix", "t.csv").code == 0
    model = load_model("t.separatrix").model
    assert model.lift_.landmark_points_.format == "csr"


def test_scores_are_by_class_even_of_a_model_that_gives_them_by_pair(run, once):
    fitted(once, data="digits")
    before = (
        run("predict", "m.separatrix", "digits", "--scores"),
        run("evaluate", "m.separatrix", "digits", "--json"),
    )
    stored = load_model("m.separatrix")
    stored.model.set_params(decision_function_shape="ovo")
    save_model("m.separatrix", stored.model, encoder=stored.encoder, provenance=stored.provenance)
    after = run("predict", "m.separatrix", "digits", "--scores")
    assert after.code == 0
    assert after.out == before[0].out
    scores = run("evaluate", "m.separatrix", "digits", "--json").document["scores"]
    assert scores == before[1].document["scores"]


def test_evaluate_gives_the_held_out_scores(run, people):
    run("fit", people, "--target", "income", "--model", "kernel-svm", "-o", "m.separatrix")
    ran = run("evaluate", "m.separatrix", people)
    assert ran.code == 0
    assert ran.lines["rows"] == "100"
    assert "ROC AUC" in ran.lines["scores"]


@pytest.mark.parametrize(
    "options", [[], ["--kernel", "linear"], ["--approximation", "nystroem"], ["-C", "inf"]]
)
def test_other_data_are_not_verified(run, tmp_path, options):
    rows = [f"{i},{(i * 37) % 101},{'ab'[i % 41 > 20]}" for i in range(100)]
    (tmp_path / "t.csv").write_text("x,z,target\n" + "\n".join(rows) + "\n")
    gamma = [] if "linear" in options else ["--gamma", "9"]
    assert run("fit", "t.csv", "--model", "kernel-svm", *gamma, *options).code == 0
    assert run("verify", "t.separatrix", "t.csv").code == 0
    (tmp_path / "t.csv").write_text("x,z,target\n" + "\n".join(rows[:90]) + "\n")
    ran = run("verify", "t.separatrix", "t.csv")
    assert ran.code == 1
    assert ran.lines["verdict"] == "not verified: these are not the data of the fit"
    assert ran.lines["computed"].startswith("nothing: X is not what this SVC was trained on: ")
    document = run("verify", "t.separatrix", "t.csv", "--json").document
    assert document["recomputed"] is None


def test_a_changed_support_vector_is_a_contradiction(run, once):
    fitted(once)
    stored = load_model("m.separatrix")
    stored.model.support_vectors_[0, 0] += 1e-9
    save_model("m.separatrix", stored.model, encoder=stored.encoder, provenance=stored.provenance)
    ran = run("verify", "m.separatrix", "breast-cancer")
    assert ran.code == 1
    assert ran.lines["verdict"].startswith("contradicted: X is not what this SVC was trained on: ")


def test_a_model_from_python(run, tmp_path):
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    save_model(tmp_path / "p.separatrix", SVC(kernel="precomputed").fit(X @ X.T, y))
    ran = run("info", "p.separatrix")
    assert ran.code == 0
    assert ran.lines["kernel"] == "precomputed: precomputed"
    assert " of 150 rows are support vectors: " in ran.lines["support"]


# ----------------------------------------------------------------------------------- interruption


def interrupt_at(count: int, number: signal.Signals = signal.SIGINT):
    """Interrupt at a certificate check, as a terminal would."""
    seen = []

    def interrupt(record):
        seen.append(record)
        if len(seen) == count:
            signal.raise_signal(number)

    return interrupt, seen


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("options", [[], ["-C", "inf"], ["--approximation", "nystroem"]])
@pytest.mark.signals
def test_an_interrupted_fit_saves_the_best_model_so_far(run, number, options):
    interrupt, _ = interrupt_at(3, number)
    with watch(interrupt):
        ran = run(*FIT, "--tol", "1e-14", *options, "--json")
    assert ran.code == ran.document["exit_code"] == 130
    assert ran.document["status"] == "interrupted"
    model = load_model("m.separatrix").model
    assert model.certificate_.status == "interrupted"
    assert model.predict(np.zeros((1, 30))).shape == (1,)
    # What was saved is as good as it says.
    if "inf" not in options:
        assert run("verify", "m.separatrix", "breast-cancer", "--tol", "1").code == 0


@pytest.mark.parametrize("count", [1, 4, 9])
@pytest.mark.signals
def test_an_interruption_among_the_pairs_keeps_those_that_are_done(run, count):
    interrupt, seen = interrupt_at(count)
    # The pairs are fitted one after another where the matrix is not all in memory.
    options = "--cache-mb", "1", "-o", "m.separatrix", "--json"
    with watch(interrupt):
        ran = run("fit", "digits", "--model", "kernel-svm", *options)
    assert ran.code == 130
    parts = load_model("m.separatrix").model.certificate_.parts
    assert len(parts) == 45
    stopped = [str(record.part) for record in seen[:count]][-1]
    done = [part.status for part in parts]
    at = [p for p, _ in zip(_pairs(10), parts, strict=True)].index(stopped)
    assert set(done[:at]) <= {"optimal"}
    # Where it was within the tolerance already it is optimal.
    assert done[at] in ("interrupted", "optimal")
    # Pairs that were not reached stand at zero, with honest bounds.
    assert all(part.status != "optimal" or part.gap == 0 for part in parts[at + 1 :])
    assert all(part.dual <= part.primal for part in parts)
    assert run("predict", "m.separatrix", "digits").code == 0


def _pairs(k: int) -> list[str]:
    return [f"{i} vs {j}" for i in range(k) for j in range(i + 1, k)]


@pytest.mark.signals
def test_an_interruption_while_probabilities_are_made_keeps_the_model(run):
    proved = []

    def interrupt(record):
        # The first check after the fit itself is one of a fold.
        if proved:
            signal.raise_signal(signal.SIGINT)
        proved.extend([record] if record.relative_gap <= record.tol else [])

    with watch(interrupt):
        ran = run(*FIT, "--calibrate", "sigmoid")
    assert ran.code == 130
    assert ran.lines["fit"].startswith("optimal: ")
    assert ran.lines["calibrate"] == (
        "interrupted before it was complete, so there are no probabilities"
    )
    assert "log loss" not in ran.lines["held out"]
    ran = run("predict", "m.separatrix", "breast-cancer", "--proba")
    assert ran.code == 2
    assert "because its fit was interrupted before they were calibrated" in ran.err
    assert run("predict", "m.separatrix", "breast-cancer", "--scores").code == 0
    assert run("evaluate", "m.separatrix", "breast-cancer").code == 0


def test_the_time_limit_gives_the_best_so_far(run):
    ran = run(*FIT, "--time-limit", "1e-9", "--json")
    assert ran.code == 4
    assert ran.document["status"] == "time_limit"
    assert ran.document["certificate"]["relative_gap"] <= 1.0
    assert run("predict", "m.separatrix", "breast-cancer").code == 0


def test_adult(run, real_data):
    # A part of the table, which takes seconds.
    lines = (real_data / "adult.csv").read_text().splitlines()[:3001]
    with open("part.csv", "w") as file:
        file.write("\n".join(lines) + "\n")
    words = ("part.csv", "--target", "income", "--model", "kernel-svm", "--kernel", "rbf")
    ran = run("fit", *words, "--gamma", "scale", "-o", "m.separatrix")
    assert ran.code == 0
    assert ran.lines["fit"].startswith("optimal: ")
    assert load_model("m.separatrix").provenance["held_out"]["accuracy"] >= 0.82
    assert run("verify", "m.separatrix", "part.csv").code == 0
