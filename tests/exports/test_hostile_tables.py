"""Exports of tables that are read in other ways than they are written, by engines of their own."""

from __future__ import annotations

import csv
import sqlite3

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression as TheirRegression
from sklearn.pipeline import make_pipeline

from separatrix import LogisticRegression, export
from separatrix.exceptions import DataError
from separatrix.exports.artefacts import Answers
from separatrix.exports.dialects import DIALECTS
from separatrix.exports.engines import of_language
from separatrix.exports.programs import program_of
from separatrix.exports.proof import Reference, golden
from separatrix.exports.sql import _source, statements
from separatrix.expressions.features import Arithmetic, Cell
from separatrix.tables import Encoder, read_table

N = 60


def fitted(folder, columns):
    """A model of a file, and the table that the file was read as."""
    with open(folder / "t.csv", "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(columns)
        out.writerows(zip(*columns.values(), strict=True))
    table = read_table(folder / "t.csv")
    encoder = Encoder().fit(table)
    y = np.where(np.random.default_rng(0).random(N) < 0.5, "no", "yes")
    return LogisticRegression().fit(encoder.transform(table), y), encoder, table


def cycle(*cells):
    return [cells[k % len(cells)] for k in range(N)]


def test_levels_that_encoders_find_in_several_spellings_are_exported(tmp_path):
    columns = {
        "plan": cycle("Pro", "PRO", "Zürich", "Pro.", "Basic", "zurich"),
        "zip": cycle("00731", "10115", "20095"),
        "via": cycle("web", "web, phone", "phone", "mail, web", ""),
        "day": [f"{k % 28 + 1:02d}.{k % 12 + 1:02d}.2020" for k in range(N)],
    }
    model, encoder, table = fitted(tmp_path, columns)
    made = export(model, "python", encoder=encoder, check=table)
    assert made.ok, made.proofs
    assert "'Pro.'" in made.content and "'zurich'" in made.content
    remarks = " ".join(made.remarks)
    assert "without blanks at their ends" in remarks
    assert "'day' was read from texts, as dates: give dates" in remarks


def test_truth_values_are_numbers_whether_they_are_texts_or_not(tmp_path):
    columns = {"t": cycle("true", "false", "true", "true"), "x": [*range(N)]}
    model, encoder, table = fitted(tmp_path, columns)
    expected = model.predict(encoder.transform(table)).tolist()
    made = export(model, "sql", dialect="sqlite", encoder=encoder, check=table)
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE TABLE data (t, x)")
        rows = zip(columns["t"], columns["x"], strict=True)
        database.executemany("INSERT INTO data VALUES (?, ?)", rows)
        query = statements(made.content)[0]
        names = [one[0] for one in database.execute(query).description]
        place = names.index("prediction")
        assert [row[place] for row in database.execute(query)] == expected
    for dialect, kinds in (("postgres", ("boolean", "text")), ("duckdb", ("BOOLEAN", "VARCHAR"))):
        (engine,) = of_language("sql", dialect)
        if engine.version() is None:
            continue
        for kind in kinds:
            values = DIALECTS[dialect].number.format("t")
            found = engine._rows(
                f"SELECT max({values}), min({values}) FROM data",
                [f"CREATE TABLE data (t {kind})", "INSERT INTO data VALUES ('true'), ('false')"],
            )
            assert [float(cell) for cell in found[0]] == [1.0, 0.0]


def test_products_of_a_huge_and_a_small_number_have_an_answer_in_postgresql():
    (engine,) = of_language("sql", "postgres")
    if engine.version() is None:
        pytest.skip("PostgreSQL is not installed here")
    from separatrix.exports.queries import Query

    x, z = Cell("x"), Cell("z")
    model = LogisticRegression().fit(np.array([[0.0, 1.0], [1.0, 0.0]]), [0, 1])
    program = program_of(model, names=["x", "z"])
    query = Query(program, DIALECTS["postgres"], "data", ())
    query._cells |= {x: "x", z: "z"}
    text = query._number(Arithmetic("*", x, z))
    values = [(-1e160, 1.5), (1e160, 1e-160), (1e200, 1e200), (1e-200, 1e-200), (1e-160, 1e160)]
    rows = ", ".join(f"({a!r}::float8, {b!r}::float8)" for a, b in values)
    found = engine._rows(f"SELECT {text} FROM (VALUES {rows}) AS data (x, z)")
    assert [None if own is None else float(own) for (own,) in found] == [
        *(-1.5e160, 1.0, None, 0.0, 1.0),
    ]


def test_golden_rows_without_an_answer_are_those_without_a_feature():
    model = LogisticRegression().fit(np.array([[0.0], [1.0]]), [0, 1])
    program = program_of(model, names=["x"])

    def overflown(rows):
        n = len(rows["x"])
        return Answers(np.full((n, 1), np.nan), np.zeros(n, dtype=int), np.full((n, 2), np.nan))

    reference = Reference(program, lambda rows: np.array(rows["x"])[:, None], overflown)
    own = golden(reference, {"x": [1.0, np.nan, 2.0, np.inf]})
    assert np.isfinite(own.rows["x"]).sum() == 0 and len(own.rows["x"]) == 2


def test_frames_with_marks_of_pandas_are_checked_with():
    frame = pd.DataFrame({"i": pd.array([1, None, 3, 0] * 5, dtype="Int64"), "x": range(20)})
    pipeline = make_pipeline(SimpleImputer(), TheirRegression())
    pipeline.fit(frame.astype(float), [0, 1, 1, 0] * 5)
    assert export(pipeline, "python", check=frame).ok
    with pytest.raises(DataError, match="'x' of the data to check with holds something that is no"):
        export(pipeline, "python", check={"i": [1], "x": ["many"]})


def test_tables_are_names_or_queries():
    sqlite = DIALECTS["sqlite"]
    assert _source("(SELECT * FROM t)", sqlite) == "(SELECT * FROM t)"
    assert _source("main.order", sqlite) == 'main."order"'
    assert _source("user", sqlite) == '"user"' and _source("Users", sqlite) == "Users"
