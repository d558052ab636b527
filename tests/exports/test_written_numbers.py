"""Texts of numbers are read in every language as tables are read."""

from __future__ import annotations

import csv
import itertools
import math
import random
import re
from typing import Any

import numpy as np
import pytest

import tables.test_value_format as columns_of_texts
from exports.texts import PRINTERS, engines, first_engine
from grids import EXHAUSTIVE, share
from separatrix import LogisticRegression, export
from separatrix.exports import sql
from separatrix.exports.artefacts import Answers, Heading, Sample
from separatrix.exports.engines import of_language
from separatrix.expressions import Affine, Features, Prediction
from separatrix.expressions.features import Constant, IsMissing, Parsed, Program, Where
from separatrix.tables import Encoder, read_table
from separatrix.tables.value_format import ValueFormat, find_spelling

MISSING = -12345.0625
COLUMNS = [own for own, _ in columns_of_texts.test_numbers.pytestmark[0].args[1]]
FORMATS = [
    ValueFormat("number", mark, unit)
    for mark in ".,"
    for unit in ("", "$", "EUR", "%", "‰", "Rs", "kr", "pts", "k", "°", "zł", "点", "e", "R$")
]
HOSTILE = (
    *(" 1,234.50 €", "1.234,5", "(250)", "39.6%", "1'000", "1’000", "-", "", "１２", "1\xa0234,5"),
    *("1\u2009234", "1\u202f234,5", "1e5", "1_000", "0x10", "NaN", "Infinity", "inf", "-0", "(0)"),
    *("Rs.500", "Rs..5", "500 Rs.", "Rs. .5", "$5$", "$(5)", "(5)%", "5%%", "5-%", "5%-", "<0.5"),
    *("5*", "5* ", "5 ***", " <5", "≤5", "1e-5", "1 e-5", ".5 e3", "1\te5", "1e５", "12,34,567"),
    *("1,23,45", "007", "0.5", ".5", ",5", "5.", "5,", "5.e3", "-5-", "--5", "5--", "(5", "5)"),
    *("(5))", "((5)", "(-5)", "(5-)", "USD 5", "US$5", "5 USD.", "$US 5", "+5", "+-5", "5+", "−5"),
    *("1e-400", "4e-324", "\n5\n", "5\x85", "5*\n", "5\n-\n", "5\x1c", "\ufeff5", "5 kg", "5k"),
    *("$5k", "12° ", "12 ° C", "1234567890123456789012345e5", "0.1000000000000000055511151231e23"),
    *("9007199254740993", "1.7976931348623157e299", "2.2250738585072011e-308", "5e", "5E-", "5€€"),
)  # fmt: skip


def parsed(name: str, form: ValueFormat) -> Parsed:
    patterns = form.patterns
    assert patterns is not None
    return Parsed(name, "number or text", *patterns, form.decimal)


def drawn(n: int) -> list[str]:
    """Texts that are nearly numbers: signs, brackets, units and marks in any order."""
    source = random.Random(0)
    around = [
        "",
        "",
        "",
        " ",
        "(",
        ")",
        "-",
        "+",
        "−",
        "$",
        "USD.",
        "kr",
        "Rs.",
        "€",
        "%",
        "pts",
        "*",
        "<",
    ]
    digits = ["5", "0", "1,234", "1.234", "1 234", "1'234,5", "0.5", ",25", "12.5", "5e3", "5 e-3"]
    return [
        "".join([*source.choices(around, k=source.randrange(4)), source.choice(digits),
                 *source.choices(around, k=source.randrange(4))])
        for _ in range(n)
    ]  # fmt: skip


def same(found: Any, expected: Any) -> None:
    """Equal as float64, where NaN is equal to NaN."""
    np.testing.assert_array_equal(np.asarray(found, float), np.asarray(expected, float))


def known(number: float | None) -> float:
    return math.nan if number is None else number


def program_of(cells: list[Parsed]) -> Program:
    """A program whose scores are the numbers of its cells, and another number where missing."""
    features = tuple(Where(IsMissing(cell), Constant(MISSING), cell) for cell in cells)
    tree = Affine(Features(len(cells)), np.eye(len(cells)), np.zeros(len(cells)))
    return Program(tuple(cells), features, tuple(c.column for c in cells), Prediction(tree))


LANGUAGES = ["js", "python", "duckdb", "postgres"]


def ready(language: str) -> tuple[Any, Any]:
    """The printer of a language, and the engine that runs it here."""
    if language in PRINTERS:
        return PRINTERS[language], engines(language)[0]
    (engine,) = of_language("sql", language)
    if engine.version() is None:
        pytest.skip(f"{engine.name} is not installed")
    return (lambda *own: sql.printed(*own, dialect=language)), engine


def test_patterns_read_what_tables_read() -> None:
    texts = [*HOSTILE, *itertools.chain(*COLUMNS), *drawn(1500)]
    read = 0
    for form in FORMATS:
        cell = parsed("x", form)
        found = [cell.number(text) for text in texts]
        same(found, [known(form.number(text)) for text in texts])
        read += np.isfinite(found).sum()
        # Engines read a few constructs alike, and characters of ASCII.
        for pattern in (cell.whole, cell.never, cell.negative):
            assert pattern.isascii() and not re.search(r"\\[A-Zbdsw]|\(\?[^:]|[*+?}][?+]", pattern)
    assert 2000 < read < 0.9 * len(FORMATS) * len(texts)


def test_every_column_of_numbers_is_read_or_given_as_numbers() -> None:
    rich = 0
    for texts in COLUMNS:
        form = find_spelling(texts).spelling
        if form.patterns is None:
            rich += 1
            continue
        same([parsed("x", form).number(text) for text in texts], [*map(form.number, texts)])
    assert rich == 5  # magnitudes twice, kilograms, kilometres an hour, degrees Celsius
    for form in (ValueFormat("number", unit="krM"), ValueFormat("measure", unit="s")):
        assert form.patterns is None


@pytest.mark.sampled
@pytest.mark.parametrize("language", LANGUAGES)
def test_languages_read_the_same_float64(language: str) -> None:
    printer, engine = ready(language)
    forms = FORMATS if EXHAUSTIVE else FORMATS[::3]
    texts = list(dict.fromkeys([*HOSTILE, *itertools.chain(*COLUMNS), *drawn(share(400))]))
    numbers = np.array([[known(form.number(text)) for form in forms] for text in texts])
    whole = ~np.isinf(numbers).any(axis=1)
    texts = [*itertools.compress(texts, whole), None]
    expected = np.vstack([numbers[whole], np.full(len(forms), np.nan)])
    expected[np.isnan(expected)] = MISSING
    cells = [parsed(f"c{k}", form) for k, form in enumerate(forms)]
    program, rows = program_of(cells), {cell.column: texts for cell in cells}
    sample = Sample(rows, Answers(expected), np.zeros(expected.shape),
                    decided=np.ones(len(texts), dtype=bool))  # fmt: skip
    text = printer(program, Heading("model"), sample)
    same(engine.run(text, program, rows).scores, expected)
    assert engine.own_proof(text) == 0.0


@pytest.mark.parametrize("language", LANGUAGES)
def test_numbers_are_taken_as_they_are(language: str) -> None:
    printer, engine = ready(language)
    cell = parsed("x", ValueFormat("number", ",", "€"))
    program = program_of([cell])
    sample = Sample({"x": ["1.234,5 €"]}, Answers(np.array([[1234.5]])), np.zeros((1, 1)),
                    decided=np.ones(1, dtype=bool))  # fmt: skip
    text = printer(program, Heading("model"), sample)
    numbers = [1234.5, -0.1, 1e-300, math.nan]
    expected = np.array([[1234.5], [-0.1], [1e-300], [MISSING]])
    if language in PRINTERS:
        same(engine.run(text, program, {"x": numbers}).scores, expected)
        return
    query = sql.statements(text)[0]
    for kind, values in (("float8", ["1234.5", "-0.1", "1e-300", "'NaN'", "NULL"]),
                         ("integer", ["12", "NULL"]), ("numeric(9, 2)", ["12.25"])):  # fmt: skip
        setup = [f"CREATE TABLE data (x {kind})",
                 *(f"INSERT INTO data VALUES ({one})" for one in values)]  # fmt: skip
        found = [float(row[-1]) for row in engine._rows(query, setup)]
        same(found, [MISSING if one in ("'NaN'", "NULL") else float(one) for one in values])
    # A number beyond float64 leaves its row without an answer, and the query goes on.
    setup = ["CREATE TABLE data (x text)", "INSERT INTO data VALUES ('1e999'), ('-2e308'), ('5')"]
    assert [row[-1] and float(row[-1]) for row in engine._rows(query, setup)] == [None, None, 5.0]


def test_an_export_reads_the_texts_of_the_fit(tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(
        "separatrix.exports.engines.of_language",
        lambda to, dialect: of_language(to, dialect) if dialect else [first_engine(to)],
    )
    n = 60
    columns = {
        "price": [f"${k},063.50" if k % 3 else f"(${k}.25)" for k in range(1, n + 1)],
        "weight": [f"{k},5 kg" for k in range(n)],
        "kind": [["a", "b", "b"][k % 3] for k in range(n)],
    }
    with (path := tmp_path / "t.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(columns)
        rows.writerows(zip(*columns.values(), strict=True))
    table = read_table(path)
    encoder = Encoder().fit(table.drop("kind"))
    X = encoder.transform(table.drop("kind"))
    model = LogisticRegression().fit(X, np.array(columns["kind"]))
    check = {"price": columns["price"], "weight": [float(k) for k in range(n)]}
    for language, dialect in (("js", None), ("python", None), ("sql", "duckdb"), ("c", None)):
        given = check | ({"price": [1.5] * n} if language == "c" else {})
        made = export(model, language, dialect=dialect, encoder=encoder, check=given)
        assert made.ok and made.proofs
        texts = any("'price' is read as in the fit" in remark for remark in made.remarks)
        assert texts == (language != "c")
        assert any("'weight' was read from texts, as numbers in kg" in own for own in made.remarks)
