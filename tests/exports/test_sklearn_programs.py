"""Programs of scikit-learn's pipelines answer what these answer themselves."""

from __future__ import annotations

import warnings
from functools import partial
from itertools import compress
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from exports import sklearn_cases as cases
from exports.row_reference import matrix
from separatrix.data.design import as_design
from separatrix.exports.artefacts import Unprintable
from separatrix.exports.programs import program_of
from separatrix.exports.proof import Reference, sample_of, worst_share
from separatrix.exports.sklearn_programs import answers_of
from separatrix.expressions import evaluated


def cells_of_rows(X: Any) -> list[dict[str, Any]]:
    if isinstance(X, pd.DataFrame):
        rows = X.to_dict("records")
    elif isinstance(X, list):
        rows = [{"text": text} for text in X]
    else:
        rows = [{f"x{j}": value for j, value in enumerate(row)} for row in X.tolist()]
    return rows


def theirs(model: Any, method: str, rows: Any) -> Any:
    """What scikit-learn answers to rows; None where it refuses one of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return getattr(model, method)(rows)
        except ValueError:
            return None


def answered(model: Any, rows: Any) -> list[bool]:
    """Whether scikit-learn answers to each row; halves of what it refuses are tried."""
    if theirs(model, "predict", rows) is not None:
        return [True] * len(rows)
    if len(rows) == 1:
        return [False]
    half = len(rows) // 2
    return [*answered(model, rows[:half]), *answered(model, rows[half:])]


def assert_same(model: Any, X: Any, rtol: float = 1e-13) -> Any:
    program = program_of(model)
    found = matrix(program.features, cells_of_rows(X))
    there = np.isfinite(found).all(axis=1)
    taken = answered(model, X)
    if any("Left out" in remark for remark in program.remarks):
        there &= taken  # a missing cell that has no weight does not matter
    assert there.tolist() == taken
    assert there.sum() > 5
    kept = [*compress(X, there)] if isinstance(X, list) else X[there]
    design, own = as_design(np.ascontiguousarray(found[there])), program.prediction

    def compared(node: Any, method: str) -> None:
        values = evaluated(node, design)
        other = np.asarray(theirs(model, method, kept), dtype=np.float64).reshape(values.shape)
        # A row is as exact as its largest number.
        sizes = np.abs(other).max(axis=1, keepdims=True) + np.abs(other).max() * 1e-3
        assert (np.abs(values - other) / np.maximum(sizes, 1e-300)).max() <= rtol

    if not is_classifier(model):
        compared(own.scores, "predict")
        return program
    labels = [own.classes[k] for k in evaluated(own.label, design)]
    assert labels == theirs(model, "predict", kept).tolist()
    if hasattr(model, "decision_function"):
        compared(own.reported or own.scores, "decision_function")
    assert hasattr(model, "predict_proba") == (own.probabilities is not None)
    if own.probabilities is not None:
        compared(own.probabilities, "predict_proba")
    return program


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", cases.CLASSIFIERS)
def test_classifiers(name: str, n_classes: int) -> None:
    X, codes, _ = cases.numbers(n_classes=n_classes)
    model = make_pipeline(StandardScaler(), cases.CLASSIFIERS[name]())
    classes = np.array(["low", "mid'\"", "high"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, classes[codes])
    # Rows at which a polynomial or an exponential is beyond all numbers are for the bounds.
    rows = cases.hostile(X)
    assert_same(model, rows[np.nan_to_num(np.abs(rows)).max(axis=1) < 1e4], 1e-12)


@pytest.mark.parametrize("name", cases.REGRESSORS)
def test_regressors(name: str) -> None:
    X, _, y = cases.numbers()
    model = make_pipeline(StandardScaler(), cases.REGRESSORS[name]()).fit(X, y)
    rows = cases.hostile(X)
    assert_same(model, rows[np.nan_to_num(np.abs(rows)).max(axis=1) < 1e4], 1e-12)


@pytest.mark.parametrize("name", cases.STEPS)
def test_steps_of_numbers(name: str) -> None:
    X, _, y = cases.numbers()
    if "impute" in name or name == "ordinal numbers":
        X = X.copy()
        X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    X = X.round(1) if name == "ordinal numbers" else X
    model = make_pipeline(cases.STEPS[name](), Ridge()).fit(X, y)
    assert_same(model, cases.hostile(X), 1e-12)


@pytest.mark.crossed
@pytest.mark.parametrize("gone", [False, True])
@pytest.mark.parametrize("name", cases.CATEGORIES)
def test_steps_of_categories(name: str, gone: bool) -> None:
    columns = cases.categories()
    table = pd.DataFrame(cases.with_missing(columns) if gone else columns)
    if gone and name in ("fill marked text", "fill with a text of its own"):
        table = table.fillna({"c": "c", "k": 3.0, "e": "no"})  # they refuse missing cells
    y = np.random.default_rng(0).normal(size=len(table))
    model = make_pipeline(cases.CATEGORIES[name](), Ridge()).fit(table, y)
    later = pd.DataFrame(
        {
            "c": np.array(["a", "new", "B", np.nan, "d", "x'y\"--", "", "b", "c"], object),
            "k": np.array([1.0, 2.0, 7.0, np.nan, 10.0, 3.0, 1.0, np.inf, 2.0]),
            "e": np.array(["yes", "no", "no", "yes", np.nan, "maybe", "no", "no", "yes"], object),
        }
    )
    assert_same(model, pd.concat([table.iloc[:40], later], ignore_index=True))


@pytest.mark.parametrize("name", cases.VECTORIZERS)
def test_texts(name: str) -> None:
    y = np.arange(len(cases.TEXTS)) % 6 < 2
    model = make_pipeline(cases.VECTORIZERS[name](), LogisticRegression()).fit(cases.TEXTS, y)
    program = assert_same(model, [*cases.TEXTS[:6], "unseen words", "Good GOOD good. É"])
    assert program.prediction.classes == (False, True)


def test_columns_of_a_table() -> None:
    n = 120
    X, codes, _ = cases.numbers(n)
    table = pd.DataFrame(cases.categories(n)).assign(age=X[:, 0], pay=X[:, 1], idle=1.0)
    table["review"] = [*cases.TEXTS, *cases.TEXTS, *cases.TEXTS, *cases.TEXTS][:n]
    every = ColumnTransformer(
        [
            ("words", cases.VECTORIZERS["tfidf"](), "review"),
            ("levels", OneHotEncoder(handle_unknown="ignore"), make_column_selector("^[ce]$")),
            ("numbers", StandardScaler(), lambda frame: ["pay", "age"]),
            ("idle", "drop", ["idle"]),
        ],
        remainder="passthrough",
    )
    model = make_pipeline(every, LogisticRegression(max_iter=1000)).fit(table, codes)
    program = assert_same(model, table.iloc[:60])
    assert [cell.column for cell in program.cells] == ["c", "k", "e", "age", "pay", "review"]
    assert program.names[-3:] == ("numbers__pay", "numbers__age", "remainder__k")


def test_a_step_that_changes_nothing_may_stand_before_the_words_of_a_table() -> None:
    table = pd.DataFrame({"text": cases.TEXTS})
    words = make_column_transformer((cases.VECTORIZERS["tfidf"](), "text"))
    model = make_pipeline("passthrough", words, LogisticRegression())
    model.fit(table, np.arange(len(table)) % 2)
    found = answers_of(model, program_of(model), {"text": [*cases.TEXTS]})
    assert found.scores[:, 0].tolist() == model.decision_function(table).tolist()


def test_features_without_a_weight_are_left_out() -> None:
    X, codes, _ = cases.numbers(n_classes=2)
    model = make_pipeline(StandardScaler(), cases.CLASSIFIERS["l1"]()).fit(X, codes)
    program = assert_same(model, X)
    idle = int((model[-1].coef_ == 0.0).sum())
    assert idle and len(program.features) == 4 - idle
    assert any(f"weights of zero: {idle} feature" in remark for remark in program.remarks)


def test_a_category_that_refuses_rows_is_kept_without_a_weight() -> None:
    table = pd.DataFrame({"c": ["a", "b"] * 20, "x": np.linspace(-1.0, 1.0, 40)})
    model = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["c"]), ("passthrough", ["x"])),
        LogisticRegression(C=0.1, l1_ratio=1.0, solver="saga", max_iter=5000),
    ).fit(table, table["x"] > 0.0)
    assert (model[-1].coef_[0, :2] == 0.0).all()
    later = pd.DataFrame({"c": ["a", "new"], "x": [0.5, 0.5]})
    assert_same(model, pd.concat([table, later], ignore_index=True))


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (make_pipeline(StandardScaler(), PCA(2), LogisticRegression()), "step PCA has no formula"),
        (OneVsRestClassifier(LogisticRegression()), "OneVsRestClassifier has no formula"),
        (SVC(kernel=lambda X, Y: X @ Y.T), "a kernel without a formula"),
        (make_pipeline(FunctionTransformer(np.sqrt), Ridge()), "numpy.log1p have a formula"),
        (
            CalibratedClassifierCV(make_pipeline(StandardScaler(), LogisticRegression()), cv=2),
            "a pipeline of its own for each fold",
        ),
        (
            CalibratedClassifierCV(LogisticRegression(), method="temperature", cv=2),
            "method='temperature'",
        ),
    ],
)
def test_what_has_no_formula_is_refused(model: Any, words: str) -> None:
    X, codes, _ = cases.numbers(n_classes=2)
    model.fit(np.abs(X), codes)
    with pytest.raises(Unprintable, match=words):
        program_of(model)


def test_names_are_those_of_the_caller() -> None:
    X, codes, _ = cases.numbers(n_classes=2)
    program = program_of(
        LogisticRegression(max_iter=500).fit(X, codes), names=["a;", "b", "c", "d"]
    )
    assert [cell.column for cell in program.cells] == ["a;", "b", "c", "d"]
    assert_allclose(program.prediction.scores.weights.shape, (1, 4))


@pytest.mark.parametrize("name", ["logistic", "l1", "lda", "qda", "svc linear ovo", "calibrated"])
def test_hostile_rows_are_within_the_bounds(name: str) -> None:
    X, codes, _ = cases.numbers(n_classes=2)
    model = make_pipeline(StandardScaler(), cases.CLASSIFIERS[name]()).fit(X, codes)
    program = program_of(model)
    predicted = partial(answers_of, model, program)
    reference = Reference(program, predicted, predicted)
    sample = sample_of(reference, reference.hostile())
    rows = [
        dict(zip(sample.rows, cells, strict=True))
        for cells in zip(*sample.rows.values(), strict=True)
    ]
    found = matrix(program.features, rows)
    there = np.isfinite(found).all(axis=1)
    assert there.tolist() == (sample.expected.labels >= 0).tolist()
    design, own, expected = as_design(found[there]), program.prediction, sample.expected
    labels, decided = evaluated(own.label, design), sample.decided[there]
    assert (labels == expected.labels[there])[decided].all() and decided.sum() > 100
    pairs = [(own.scores, expected.scores, sample.score_bounds)]
    if own.probabilities is not None:
        pairs.append((own.probabilities, expected.probabilities, sample.probability_bounds))
    for node, theirs_, bounds in pairs:
        worst, beyond = worst_share(evaluated(node, design), theirs_[there], bounds[there])
        assert worst <= 1.0 and not beyond.any()


@pytest.mark.parametrize("name", ["svc rbf", "svc linear ovo", "isotonic", "qda", "sgd hinge"])
def test_answers_are_those_of_the_pipeline(name: str) -> None:
    X, codes, _ = cases.numbers()
    model = make_pipeline(StandardScaler(), cases.CLASSIFIERS[name]()).fit(X, codes)
    program = program_of(model)
    rows = {f"x{j}": X[:, j].tolist() for j in range(4)}
    found, design = (
        answers_of(model, program, rows),
        as_design(matrix(program.features, cells_of_rows(X))),
    )
    own = program.prediction
    assert found.labels.tolist() == model.predict(X).tolist()
    assert_allclose(found.scores, evaluated(own.scores, design), rtol=1e-11, atol=1e-12)
    if own.probabilities is not None:
        assert_allclose(found.probabilities, evaluated(own.probabilities, design), atol=1e-12)
