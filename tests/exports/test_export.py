"""Exports as users make them: every estimator, whole tables, the command, the proof of a file."""

from __future__ import annotations

import csv
import json
import sqlite3
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

import separatrix
from exports.texts import Here, made_by
from separatrix import LogisticRegression, export
from separatrix.cli import main
from separatrix.cli.commands.export import export as command
from separatrix.exports import engines
from separatrix.exports.export import LANGUAGES, _Source
from separatrix.exports.proof import prove, sample_of, worst_share
from separatrix.exports.sql import statements

IRIS, SPECIES = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "it's", 'v"*/'])[SPECIES]
NUMBERS = load_diabetes()
ROWS, TARGET = 10.0 * NUMBERS.data[:120, 2:], NUMBERS.target[:120] / 50.0
OPTIONS = {
    "LogisticRegression": {"steepness": 2.0},
    "LinearSVC": {"calibrate": "isotonic"},
    "Perceptron": {"calibrate": "sigmoid", "max_passes": 20},
    "SGDClassifier": {"loss": "modified_huber", "random_state": 0},
    "LogisticRegressionCV": {"Cs": 3, "cv": 3},
    "LassoCV": {"cv": 3},
    "ElasticNetCV": {"cv": 3},
    "SGDRegressor": {"random_state": 0},
}
TARGETS = [("sql", "duckdb"), ("sql", "postgres"), ("sql", "sqlite"),
           *((name, None) for name in LANGUAGES if name != "sql")]  # fmt: skip
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def names_of(target):
    return "-".join(filter(None, target))


@pytest.fixture
def quick(monkeypatch):
    """Run texts in Python here."""
    real = engines.of_language
    monkeypatch.setattr(
        engines, "of_language", lambda to, *more: [Here()] if to == "python" else real(to, *more)
    )


def fitted(name, classes=3):
    model = getattr(separatrix, name)(**OPTIONS.get(name, {}))
    if name == "OneClassSVM":
        return model.fit(IRIS), IRIS
    if not is_classifier(model):
        counts = np.round(TARGET) if name == "PoissonRegressor" else TARGET
        return model.fit(ROWS, counts), ROWS
    chosen = slice(None) if classes == 3 else slice(50, None)
    return model.fit(IRIS[chosen], NAMES[chosen]), IRIS[chosen]


def proved(made):
    """Hold an artefact to what it says of itself; its engines were there."""
    if not made.proofs:
        pytest.skip(f"{', '.join(made.absent)} is not installed here")
    for proof in made.proofs:
        assert proof.ok, proof
        assert proof.rows > 300
        assert proof.undecided < proof.rows / 2
    return made


# --- every estimator, and every language ----------------------------------------------------------


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("name", sorted(separatrix._ESTIMATORS))
def test_every_estimator_in_python_and_onnx(name):
    for classes in (2, 3) if is_classifier(getattr(separatrix, name)()) else (2,):
        model, X = fitted(name, classes)
        made = proved(export(model, "python"))
        # The text also agrees with the library's public answers, without a tree.
        found = made_by(str(made))["predict"]({f"x{j}": X[:, j] for j in range(X.shape[1])})
        if "label" in found:
            assert found["label"].tolist() == model.predict(X).tolist()
        else:
            np.testing.assert_allclose(found["scores"][:, 0], model.predict(X), rtol=1e-9)
        if "probabilities" in found:
            np.testing.assert_allclose(found["probabilities"], model.predict_proba(X), atol=1e-12)
        proved(export(model, "onnx"))


@pytest.mark.crossed
@pytest.mark.parametrize("target", TARGETS, ids=names_of)
@pytest.mark.parametrize(
    "name",
    [
        "LogisticRegression",
        "LinearSVC",
        "LinearDiscriminantAnalysis",
        "QuadraticDiscriminantAnalysis",
        "PoissonRegressor",
        "PolynomialRegression",
        "NuSVC",
        "DecisionStump",
    ],
)
def test_every_language(name, target):
    model, _ = fitted(name)
    made = proved(export(model, target[0], dialect=target[1]))
    assert "exported by: separatrix" in str(made) or target[0] == "onnx"


def test_float32_has_a_bound_of_its_own(monkeypatch):
    model, _ = fitted("LogisticRegression")
    made = proved(export(model, "c", float32=True))
    monkeypatch.setattr(engines, "of_language", lambda *_: [])
    double = export(model, "c")
    assert len(str(made)) < len(str(double))
    assert max(proof.worst for proof in made.proofs) <= 1.0


def test_arguments_that_contradict_one_another():
    model, _ = fitted("LinearSVC", 2)
    for words, options in {
        "to must be one of sql, c, js, onnx, python, not 'rust'": {"to": "rust"},
        "dialect must be one of duckdb, .*, not 'mysql'": {"to": "sql", "dialect": "mysql"},
        "dialect must be one of none for this language": {"to": "c", "dialect": "duckdb"},
        "float32=True is for C alone": {"to": "js", "float32": True},
    }.items():
        with pytest.raises(ValueError, match=words):
            export(model, **options)


# --- the proof ------------------------------------------------------------------------------------


def altered(text, model):
    """A text in which one weight is larger by a billionth of itself."""
    weight = float(model.coef_[0, 1])
    changed = weight * (1.0 + 1e-9)
    if isinstance(text, str):
        # SQL has the weight in the query of the table and in that of the proof.
        assert text.count(repr(abs(weight))) in (1, 2)
        return text.replace(repr(abs(weight)), repr(abs(changed)))
    onnx = pytest.importorskip("onnx")
    graph = onnx.load_from_string(text)
    found = 0
    for tensor in graph.graph.initializer:
        values = onnx.numpy_helper.to_array(tensor).copy()
        if values.dtype == np.float64 and (values == weight).any():
            found += 1
            values[values == weight] = changed
            tensor.CopyFrom(onnx.numpy_helper.from_array(values, tensor.name))
    assert found == 1
    return graph.SerializeToString()


@pytest.mark.parametrize("target", TARGETS, ids=names_of)
def test_a_weight_that_was_altered_fails_the_proof_of_the_file(target, monkeypatch):
    model, _ = fitted("LogisticRegression")
    used = [one for one in engines.of_language(*target) if one.version() is not None][:1]
    monkeypatch.setattr(engines, "of_language", lambda *_: used)
    made = proved(export(model, target[0], dialect=target[1]))
    assert made.proofs[0].own <= 1.0
    assert used[0].own_proof(altered(made.content, model)) > 1000.0


@pytest.mark.parametrize(
    ("language", "own", "other"),
    [("python", "[10, 20]", "[20, 10]"), ("js", "[10, 20]", "[20, 10]")],
)
def test_classes_in_another_order_are_wrong(language, own, other):
    (engine,) = engines.of_language(language)
    if engine.version() is None:
        pytest.skip(f"{engine.name} is not installed")
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    source = _Source.of(LogisticRegression().fit(X, [10, 10, 20, 20]), None)
    reference = source.reference()
    sample = sample_of(reference, reference.hostile())
    text = proved(export(source.model, language)).content
    assert text.count(own) == 1
    assert prove(engine, "", text.replace(own, other), reference.program, sample).wrong > 100


def test_numbers_are_shares_of_their_bounds():
    expected = np.array([[1.0, np.nan], [np.nan, np.nan], [2.0, 2.0], [np.inf, 1.0]])
    bounds = np.array([[0.5, np.inf], [0.0, 0.0], [0.5, 0.0], [np.inf, 1.0]])
    assert worst_share(expected, expected, bounds)[0] == 0.0
    for row, value, worst in [(0, 1.25, 0.5), (0, 2.0, 2.0), (0, np.nan, np.inf),
                              (1, 0.0, np.inf), (3, np.nan, 0.0)]:  # fmt: skip
        found = expected.copy()
        found[row, 0] = value
        share, beyond = worst_share(found, expected, bounds)
        assert share == worst
        assert np.flatnonzero(beyond).tolist() == [row] * (worst > 1.0)


# --- a table, and the command ---------------------------------------------------------------------


def rows_of_people(n, seed):
    """Cells as texts: numbers, levels, dates and yes or no, some of them missing or unseen."""
    random = np.random.default_rng(seed)
    jobs = ["clerk", "cook", "it's; --", "漢字"] + (["never seen", "Clerk "] if seed else [])
    for _ in range(n):
        age, job = random.normal(40, 10), jobs[random.integers(len(jobs))]
        day = np.datetime64("2021-03-01") + random.integers(700)
        rich = age + 9 * (job == "clerk") + 0.01 * random.integers(700) + random.normal(0, 4) > 45
        cells = [f"{age:.2f}", job, str(day), random.choice(["yes", "no"])]
        cells = ["" if random.random() < 0.06 else cell for cell in cells]
        yield [*cells, ">50K" if rich else "<=50K"]


HEAD = ['a"ge', "job, of", "since", "married", "income"]


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """A folder with the model of a table, with the table, and with rows of later days."""
    folder = tmp_path_factory.mktemp("people")
    for name, seed in (("people.csv", 0), ("later.csv", 1)):
        with open(folder / name, "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([HEAD, *rows_of_people(240, seed)])
    words = ["fit", folder / "people.csv", "--target", "income", "-o", folder / "people.model"]
    assert main([str(word) for word in [*words, "-q"]]) == 0
    return folder


@pytest.mark.parametrize("target", TARGETS, ids=names_of)
def test_a_table_in_every_language(run, people, target):
    words = ["export", people / "people.model", "--to", target[0]]
    words += ["--dialect", target[1]] if target[1] else []
    words += ["--check", people / "later.csv", "-o", "made", "--json"]
    ran = run(*words)
    assert ran.code == 0, ran.err
    document = ran.document
    assert document["schema"] == "separatrix/export"
    assert (document["to"], document["dialect"], document["output"]) == (*target, "made")
    assert all(proof["ok"] and proof["rows"] > 600 for proof in document["proofs"])
    assert document["proofs"] or document["absent"]
    assert Path("made").stat().st_size > 2000
    if target[0] == "onnx":
        saved = pytest.importorskip("onnx").load("made").metadata_props
        properties = {one.key: one.value for one in saved}
        assert sorted(json.loads(properties["separatrix_columns"])) == sorted(HEAD[:-1])


def test_sqlite_answers_as_predict_does(run, people):
    """SQLite reads the table as it stands in the file, without an engine of the library."""
    ran = run("export", people / "people.model", "--to", "sql", "--dialect", "sqlite",
              "--table", "my people", "--keep", "id", "-q")  # fmt: skip
    assert ran.code == 0 and ran.err == ""
    with open(people / "later.csv", encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    cells = [[k, *(cell or None for cell in row)] for k, row in enumerate(rows)]
    base = sqlite3.connect(":memory:")
    named = ", ".join('"' + name.replace('"', '""') + '"' for name in ["id", *head])
    base.execute(f'CREATE TABLE "my people" ({named})')
    base.executemany(f'INSERT INTO "my people" VALUES ({", ".join("?" * 6)})', cells)
    found = base.execute(statements(ran.out)[0]).fetchall()
    answers = run("predict", people / "people.model", people / "later.csv", "--proba", "--json")
    columns = answers.document["columns"]
    assert [row[0] for row in found] == list(range(len(rows)))
    assert [row[1] for row in found] == columns["prediction"]
    shares = np.column_stack([v for name, v in columns.items() if name.startswith("prob")])
    np.testing.assert_allclose([row[-2:] for row in found], shares, rtol=1e-12)


@pytest.mark.usefixtures("quick")
def test_what_is_printed_and_what_is_said(run, people):
    ran = run("export", people / "people.model", "--to", "python")
    assert ran.code == 0
    assert made_by(ran.out)["proof"]() <= 1.0
    assert "proof     python 3." in ran.err and "every class is the model's" in ran.err
    saved = run("export", people / "people.model", "--to", "python", "-o", "people.py")
    assert saved.lines["written"] == "people.py"
    assert Path("people.py").read_text("utf-8") == ran.out
    # Without a name of its own, what is printed is called as its file is.
    assert run("export", people / "people.model", "--to", "python", "-o", "rich.v2.py").code == 0
    named = ran.out.replace("from people import", "from rich import")
    assert Path("rich.v2.py").read_text("utf-8") == named
    unproved = run("export", people / "people.model", "--to", "sql", "--dialect", "bigquery")
    assert unproved.code == 0 and "no engine here runs this dialect" in unproved.err


@pytest.mark.usefixtures("quick")
def test_a_threshold_is_part_of_the_model(run):
    assert run("fit", "breast-cancer", "--threshold", "0.9", "-o", "m.model").code == 0
    made = made_by(run("export", "m.model", "--to", "python").out)
    expected = run("predict", "m.model", "breast-cancer", "--json").document
    data = load_breast_cancer()
    rows = {name: data.data[:, j] for j, name in enumerate(data.feature_names)}
    found = made["predict"](rows)["label"].tolist()
    assert found == expected["columns"]["prediction"]
    shares = made["predict"](rows)["probabilities"]
    assert (np.array(found) != np.array(made["CLASSES"])[shares.argmax(axis=1)]).any()


def test_an_engine_that_contradicts_leaves_no_file(run, people, monkeypatch):
    class Wrong(Here):
        def run(self, *given):
            found = super().run(*given)
            labels = found.labels.copy()
            labels[3] = 1 - labels[3]
            return replace(found, labels=labels)

    class Off(Here):
        def run(self, *given):
            found = super().run(*given)
            return replace(found, scores=found.scores * (1.0 + 1e-9))

    class Doubting(Here):
        def own_proof(self, text):
            return 1.5

    words = ["export", people / "people.model", "--to", "python", "-o", "model.py"]
    for engine, wrong in ((Wrong, 1), (Off, None), (Doubting, 0)):
        monkeypatch.setattr(engines, "of_language", lambda *_, own=engine: [own()])
        document = run(*words, "--json").document
        (proof,) = document["proofs"]
        assert not proof["ok"] and document["output"] is None and document["exit_code"] == 1
        assert wrong is None or proof["wrong"] == wrong
        assert not Path("model.py").exists()
    printed = run(*words[:-2])
    assert printed.code == 1 and "nothing is written" in printed.lines["refuted"]
    assert "def predict" not in printed.out


def test_the_command_offers_every_language_and_dialect():
    offered = {
        one.name: list(one.type.choices) for one in command.params if one.name in ("to", "dialect")
    }
    assert offered == {"to": [*LANGUAGES], "dialect": [*LANGUAGES["sql"].dialects]}


def test_refusals_of_the_command(run, people):
    model = people / "people.model"
    for words, why in {
        ("--to", "c", "--dialect", "duckdb"): "--dialect is of SQL, and --to is c",
        ("--to", "js", "--table", "t"): "--table is for --to sql",
        ("--to", "python", "--keep", "t"): "--keep is for --to sql",
        ("--to", "js", "--float32"): "--float32 is for --to c",
        ("--to", "onnx"): "name a file with --output",
        ("--to", "sql", "--json"): "name a file with --output",
        ("--to", "sql", "-o", model): "",
        ("--to", "sql", "-o", "nowhere/model.sql"): "nowhere",
        ("--to", "sql", "--check", "absent.csv"): "absent.csv",
        ("--to", "basic"): "basic",
    }.items():
        ran = run("export", model, *words)
        assert ran.code in (2, 3) and why in ran.err and ran.err[:5] == "error", words
        assert ran.out == "" or ran.document["schema"] == "separatrix/error", words
    assert run("info", model).code == 0


def test_a_model_without_a_formula_in_a_language_is_refused(run, tmp_path):
    random, words = np.random.default_rng(0), ["good", "bad", "film", "with", "the", "plot", "so"]
    texts = [[" ".join(random.choice(words, 20)), "yn"[k % 2]] for k in range(60)]
    with open(tmp_path / "reviews.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["review", "liked"], *texts])
    fit = run("fit", "reviews.csv", "--target", "liked", "-o", "r.model")
    assert fit.code == 0, fit.err
    for to in ("c", "onnx"):
        ran = run("export", "r.model", "--to", to, "-o", "made")
        assert ran.code == 3 and f"'r.model' has no export to {to}: " in ran.err
        assert not Path("made").exists()
    assert run("export", "r.model", "--to", "python", "-q").code == 0
