"""Reports that several tests look at, made once."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from separatrix import LogisticRegression, Report
from separatrix.assessment.rows import both_parts, labelled
from separatrix.persistence.model_file import FORMAT_VERSION, StoredModel
from separatrix.report.svg import to_svg
from separatrix.tables import Encoder, Table, split_rows, take_target

mpl.use("agg")

SCRIPT = "<script>document.title='executed'</script>"
TURNED = "\u202egnp.exe"
HOSTILE = {
    SCRIPT: "number",
    "\"' onload=alert(1) x=": "number",
    "</script></style></svg>": "number",
    "$x^2$ \\frac{": "number",
    TURNED: "number",
    "bell\x07null\x00esc\x1b[31m": "number",
    "long" * 2_500: "number",
}


@pytest.fixture(scope="session")
def cancer():
    """A model of arrays with rows that it has not seen."""
    data = load_breast_cancer(as_frame=True)
    X = (data.data - data.data.mean()) / data.data.std()
    y = np.where(data.target == 0, "malignant", "benign")
    model = LogisticRegression(record=True).fit(X[:400], y[:400])
    return model, X[:400], y[:400], (X[400:], y[400:])


@pytest.fixture(scope="session")
def report(cancer) -> Report:
    model, X, y, test = cancer
    return Report.from_estimator(model, X, y, test=test, target="tumour", data="breast cancer")


def hostile_table(n: int = 80) -> Table:
    """Names, levels, classes and texts that would like to be code."""
    rng = np.random.default_rng(0)
    columns: dict = {name: rng.normal(size=n) for name in HOSTILE}
    columns["<b>level</b>"] = [[SCRIPT, TURNED, "$a$", None][i % 4] for i in range(n)]
    columns["text"] = [
        f"{SCRIPT} word{i % 7} {TURNED} and </q></td> & more {i} words here" for i in range(n)
    ]
    score = columns[SCRIPT] + 0.3 * rng.normal(size=n)
    columns["<img src=x onerror=alert(1)>"] = [
        f"{SCRIPT} yes" if s > 0 else f"{TURNED} & no" for s in score
    ]
    return Table.from_columns(columns, kinds={"text": "text"}, source=f"{SCRIPT}.csv")


def stored_model(table: Table, target: str, model=None) -> StoredModel:
    """A model of a table, as the command line stores it."""
    features, y = take_target(table, target)
    fitted, held = split_rows(y)
    encoder = Encoder().fit(features.select(fitted), y[fitted])
    model = LogisticRegression() if model is None else model
    model.fit(encoder.transform(features.select(fitted)), y[fitted])
    provenance = {
        "command": f"separatrix fit '{SCRIPT}.csv'",
        "config": {"data": table.source, "kinds": {}, "ignore": [], "missing": None},
        "target": target,
        "data": {"fingerprint": table.fingerprint(), "rows": table.n_rows},
        "split": {
            "fit_rows": len(fitted), "held_out_rows": len(held),
            "test_size": 0.2, "seed": 0, "stratified": True,
        },
        "created": "2026-01-02T03:04:05+00:00",
        "versions": {"separatrix": "0.1.0"},
    }  # fmt: skip
    stored = StoredModel(model, encoder, provenance, FORMAT_VERSION, "0.1.0")
    assert np.array_equal(both_parts(stored, labelled(stored, table, target))[0], fitted)
    return stored


@pytest.fixture(scope="session")
def hostile() -> Report:
    table = hostile_table()
    return Report.from_table(stored_model(table, "<img src=x onerror=alert(1)>"), table)


@pytest.fixture
def written(monkeypatch) -> list[str]:
    """The keys of the pictures that are written as vectors; the others are only drawn.

    To lay out a figure and to write it takes most of the time of a report.
    """
    keys: list[str] = []
    monkeypatch.setattr(
        "separatrix.report.pictures.to_svg",
        lambda figure, key, alt: to_svg(figure, key, alt) if key in keys else "<svg></svg>",
    )
    return keys
