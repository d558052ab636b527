"""``python -m benchmarks exporters``: whose exports of scikit-learn's models compute the same.

Pipelines of a scaler and a model are fitted to 4,000 rows of 8 columns, whose scales go from 1e-2
to 1e2 and whose offsets go from 0 to 1e4, and exported by each library that is installed. Each
export is run on 20,000 rows, and its labels and probabilities are compared with the pipeline's own.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import numpy as np

from benchmarks import report

_ROWS = 20_000


def _data(classes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    scales, offsets = np.logspace(-2, 2, 8), np.linspace(0.0, 1e4, 8)
    X = random.standard_normal((4_000 + _ROWS, 8))
    noise = random.standard_normal((len(X), classes))
    scores = X @ random.standard_normal((8, classes)) + noise
    y = scores.argmax(axis=1)
    X = X * scales + offsets
    return X[:4_000], y[:4_000], X[4_000:]


def _models() -> dict[str, tuple[int, Any]]:
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.discriminant_analysis import (
        LinearDiscriminantAnalysis,
        QuadraticDiscriminantAnalysis,
    )
    from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
    from sklearn.svm import SVC, LinearSVC

    return {
        "logistic, 2 classes": (2, LogisticRegression()),
        "logistic, 3 classes": (3, LogisticRegression()),
        "LinearSVC": (2, LinearSVC()),
        "LinearSVC, calibrated": (2, CalibratedClassifierCV(LinearSVC(), cv=3)),
        "LDA, 2 classes": (2, LinearDiscriminantAnalysis()),
        "QDA": (2, QuadraticDiscriminantAnalysis()),
        "RidgeClassifier": (2, RidgeClassifier()),
        "Perceptron": (2, Perceptron()),
        "SGDClassifier": (2, SGDClassifier(random_state=0)),
        "SVC, RBF": (2, SVC(C=1.0)),
    }


# --- exporters: a pipeline and rows in, labels and probabilities out ------------------------------

Answer = tuple[np.ndarray, np.ndarray | None]


def _skl2onnx(double: bool) -> Callable[[Any, np.ndarray], Answer]:
    def run(pipeline: Any, rows: np.ndarray) -> Answer:
        import onnxruntime
        import skl2onnx
        from skl2onnx.common import data_types as types

        kind = types.DoubleTensorType if double else types.FloatTensorType
        names = {id(pipeline): {"zipmap": False}} if hasattr(pipeline, "predict_proba") else None
        made = skl2onnx.convert_sklearn(
            pipeline, initial_types=[("X", kind([None, rows.shape[1]]))], options=names
        )
        session = onnxruntime.InferenceSession(made.SerializeToString())
        found = session.run(None, {"X": rows.astype(np.float64 if double else np.float32)})
        return np.asarray(found[0]).ravel(), found[1] if names else None

    return run


def _orbital(pipeline: Any, rows: np.ndarray) -> Answer:
    import duckdb
    import orbital
    import pandas

    names = [f"x{j}" for j in range(rows.shape[1])]
    parsed = orbital.parse_pipeline(
        pipeline, features={name: orbital.types.DoubleColumnType() for name in names}
    )
    data = pandas.DataFrame(rows, columns=names)  # DuckDB reads it by this name.
    found = duckdb.sql(orbital.export_sql("data", parsed, dialect="duckdb")).df()
    del data
    shares = [name for name in found if "prob" in name]
    label = next(name for name in found if "label" in name)
    return found[label].to_numpy(), found[shares].to_numpy() if shares else None


def _m2cgen(pipeline: Any, rows: np.ndarray) -> Answer:
    import m2cgen

    scope: dict[str, Any] = {}
    exec(m2cgen.export_to_python(pipeline[-1]), scope)
    scaled = pipeline[:-1].transform(rows)
    found = np.array([np.atleast_1d(scope["score"](row.tolist())) for row in scaled])
    return (found[:, 0] > 0).astype(int) if found.shape[1] == 1 else found.argmax(axis=1), None


def _separatrix(to: str, dialect: str | None = None) -> Callable[[Any, np.ndarray], Answer]:
    def run(pipeline: Any, rows: np.ndarray) -> Answer:
        from separatrix import export
        from separatrix.exports import engines
        from separatrix.exports.programs import program_of

        made = export(pipeline, to, dialect=dialect)
        engine = engines.of_language(to, dialect)[0]
        program = program_of(pipeline)
        columns = {cell.column: rows[:, k].tolist() for k, cell in enumerate(program.cells)}
        found = engine.run(made.content, program, columns)
        return np.asarray(found.labels), found.probabilities

    return run


_EXPORTERS: dict[str, tuple[str, Callable[[Any, np.ndarray], Answer]]] = {
    "skl2onnx, float32": ("skl2onnx", _skl2onnx(double=False)),
    "skl2onnx, float64": ("skl2onnx", _skl2onnx(double=True)),
    "orbital, DuckDB": ("orbital", _orbital),
    "m2cgen, Python": ("m2cgen", _m2cgen),
    "separatrix, DuckDB": ("duckdb", _separatrix("sql", "duckdb")),
    "separatrix, ONNX": ("onnxruntime", _separatrix("onnx")),
    "separatrix, C": ("separatrix", _separatrix("c")),
    "separatrix, JavaScript": ("separatrix", _separatrix("js")),
}


def _outcome(run: Callable[[Any, np.ndarray], Answer], pipeline: Any, rows: np.ndarray) -> str:
    """The outcome of an export, in a few words."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            labels, shares = run(pipeline, rows)
        except Exception as error:
            return f"fails ({type(error).__name__})"
    own = pipeline.predict(rows)
    wrong = int((labels.astype(str) != own.astype(str)).sum())
    text = f"{wrong:,} wrong"
    if not hasattr(pipeline, "predict_proba"):
        return text
    if shares is None or shares.shape != (len(rows), len(pipeline.classes_)):
        return f"{text}; no probabilities"
    return f"{text}; {np.abs(shares - pipeline.predict_proba(rows)).max():.0e}"


def _table() -> list[list[str]]:
    from importlib.metadata import PackageNotFoundError, version

    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    there = {}
    for name, (package, run) in _EXPORTERS.items():
        try:
            there[name] = run, "" if package == "separatrix" else version(package)
        except PackageNotFoundError:
            print(f"{name}: {package} is not installed, so it is left out.")
    lines = [["model", *(name if name.startswith("separatrix") else f"{name.split(',')[0]} "
              f"{found},{name.split(',')[1]}" for name, (_, found) in there.items())]]  # fmt: skip
    for label, (classes, model) in _models().items():
        X, y, rows = _data(classes)
        pipeline = make_pipeline(StandardScaler(), model).fit(X, y)
        line = [label, *(_outcome(run, pipeline, rows) for run, _ in there.values())]
        print("  ".join(line), flush=True)
        lines.append(line)
    return lines


def main(argv: list[str]) -> int:
    """Run the exporters that are installed, and print the outcome of each."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks exporters", description=__doc__)
    parser.add_argument("--docs", action="store_true", help="put the table into docs/exports.md")
    given = parser.parse_args(argv)
    lines = _table()
    text = "\n".join(
        ["| " + " | ".join(line) + " |" for line in lines[:1]]
        + ["|" + "---|" * len(lines[0])]
        + ["| " + " | ".join(line) + " |" for line in lines[1:]]
    )
    from sklearn import __version__

    text += (
        f"\n\nscikit-learn {__version__}; printed on {datetime.now(UTC):%Y-%m-%d} by "
        "`python -m benchmarks exporters`."
    )
    print(text)
    if given.docs:
        report.put(report.PAGE.with_name("exports.md"), "exporters", text, fenced=False)
    return 0
