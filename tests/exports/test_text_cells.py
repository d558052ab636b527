"""Cells of a row in C, JavaScript and Python: conditions, dates, hostile names and texts, words."""

from __future__ import annotations

import datetime
import json
import subprocess
import unicodedata

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from exports.texts import PRINTERS, answers_of, holds, sample_of
from separatrix.exports.artefacts import Answers, Heading, Unprintable
from separatrix.expressions import Affine, Features, Prediction, Sigmoid, Threshold
from separatrix.expressions.features import (
    Arithmetic,
    Cell,
    Compare,
    Constant,
    DatePart,
    Function,
    IsLevel,
    IsMissing,
    Power,
    Program,
    Where,
    Words,
)

LANGUAGES = pytest.mark.parametrize("language", PRINTERS)
SIZE, KIND, DAY = Cell("size"), Cell("kind", "text"), Cell("day", "date")
ZERO, ONE = Constant(0.0), Constant(1.0)
NAN = float("nan")


def program_of(cells, features, names=None):
    """A program whose scores are its features."""
    names = names or tuple(f"f{k}" for k in range(len(features)))
    d = len(features)
    identity = Affine(Features(d), np.eye(d), np.zeros(d))
    return Program(tuple(cells), tuple(features), names, Prediction(identity))


def holds_features(language, cells, features, rows, expected, every=False, names=None):
    """Hold the features to columns of what they are expected to be; None is no answer."""
    matrix = np.array(expected, dtype=np.float64)
    matrix[~np.isfinite(matrix).all(axis=1)] = np.nan
    sample = sample_of(rows, Answers(matrix))
    return holds(program_of(cells, features, names), sample, language, every=every)


@LANGUAGES
def test_conditions_and_functions(language):
    features = [
        Where(IsMissing(SIZE, (-999.0, 0.1)), Constant(-2.5), SIZE),
        Where(IsMissing(KIND), ONE, ZERO),
        Where(IsLevel(KIND, ("a", "b")), ONE, ZERO),
        Where(IsLevel(KIND, ()), ONE, ZERO),
        # A comparison with a missing cell is false.
        Where(Compare("<", SIZE, ONE), ONE, ZERO),
        Where(Compare("<=", SIZE, ONE), ONE, Where(Compare("==", SIZE, Constant(4.0)), SIZE, ZERO)),
    ]
    rows = {
        "size": [0.5, NAN, 1.0, 4.0, -999.0, 0.1, float("inf"), -0.0],
        "kind": ["a", "b", None, "", "A", "a ", "b", "ab"],
    }
    expected = [
        [0.5, 0, 1, 0, 1, 1],
        [-2.5, 0, 1, 0, 0, 0],
        [1, 1, 0, 0, 0, 1],
        [4, 0, 0, 0, 0, 4],
        [-2.5, 0, 0, 0, 1, 1],
        [-2.5, 0, 0, 0, 1, 1],
        [np.inf] * 6,
        [0, 0, 0, 0, 1, 1],
    ]
    holds_features(language, [SIZE, KIND], features, rows, expected, every=True)
    inner = Arithmetic("-", Arithmetic("/", SIZE, Constant(3.0)), Constant(-2.0))
    features = [
        Function("log", SIZE),
        Function("log1p", inner),
        Function("floor", Arithmetic("*", Constant(-1.0), SIZE)),
        Function("absolute", Arithmetic("+", SIZE, Constant(-5.0))),
        Power(inner, 3),
        Arithmetic("*", Power(SIZE, 2), Power(SIZE, 2)),
    ]
    sizes = np.array([0.3, 1.0, 7.5, 1e300, 0.0, -1.0, NAN])
    with np.errstate(all="ignore"):
        inner = sizes / 3.0 + 2.0
        columns = [np.log(sizes), np.log1p(inner), np.floor(-sizes), np.abs(sizes - 5.0)]
        expected = np.column_stack([*columns, inner**3, sizes**4])
    holds_features(language, [SIZE], features, {"size": sizes.tolist()}, expected)


@LANGUAGES
def test_dates(language):
    random = np.random.default_rng(3)
    first, last = datetime.date(1, 1, 1).toordinal(), datetime.date(9999, 12, 31).toordinal()
    days = random.integers(first, last, size=400)
    corners = [(1970, 1, 1), (2000, 2, 29), (1900, 2, 28), (1900, 3, 1), (2100, 12, 31), (4, 2, 29)]
    days = [*days.tolist(), *(datetime.date(*day).toordinal() for day in corners), first, last]
    cells, expected = [], []
    for ordinal in days:
        date, seconds = datetime.date.fromordinal(ordinal), int(random.integers(24)) * 3600
        cells.append(ordinal - 719163 + seconds / 86400)
        # Far from 1970, days do not hold an hour to a nanosecond: the library reads them so.
        hour = np.floor((cells[-1] - np.floor(cells[-1])) * 24.0 + 1e-9)
        assert hour == seconds // 3600 or abs(ordinal - 719163) > 500_000
        expected.append([date.year, date.month, date.isoweekday(), hour])
    features = [DatePart(DAY, part) for part in ("year", "month", "weekday", "hour")]
    rows = {"day": [*cells, NAN]}
    holds_features(language, [DAY], features, rows, [*expected, [NAN] * 4], every=True)


HOSTILE = (
    *("it's", 'say "so"', "a;b -- c", "*/ int x; /*", "// \\", "??/", "\\", "\n", "\r\n", "\t", ""),
    *("\u2028", "\u202e", "</script><!--", "${x}", "`", "%d", "@m@", "{name}", "É", "漢字", "😀"),
    *("__proto__", "toString", "constructor", "class", "int", "linux", "NAN", "row", "1", "\x7f1"),
)


@LANGUAGES
def test_hostile_names_and_texts(language):
    """Nothing in a name or a text leaves its comment, its identifier or its literal."""
    cells = [*(Cell(text, "text") for text in HOSTILE), *(Cell(f"{text}#") for text in HOSTILE)]
    features = [Where(IsLevel(cells[k], (text,)), ONE, ZERO) for k, text in enumerate(HOSTILE)]
    n = len(HOSTILE)
    rows = {cell.column: [*HOSTILE, "other", None] for cell in cells[:n]}
    rows |= {cell.column: [0.0] * (n + 2) for cell in cells[n:]}
    expected = np.vstack([np.eye(n), np.zeros((2, n))])
    holds_features(language, cells, features, rows, expected, every=True, names=HOSTILE)


def test_texts_that_a_language_does_not_have():
    def text_of(language, level):
        program = program_of([KIND], [Where(IsLevel(KIND, (level,)), ONE, ZERO)])
        sample = sample_of({"kind": ["a"]}, Answers(np.zeros((1, 1))))
        return PRINTERS[language](program, Heading("model"), sample)

    for level in ("a\0b", "\ud800"):
        with pytest.raises(Unprintable, match="cannot stand in C"):
            text_of("c", level)
    with pytest.raises(Unprintable, match="cannot tell"):
        text_of("js", "\ud83d\ude00")


@LANGUAGES
def test_texts_with_half_characters_and_nul_are_other_texts(language):
    rows = {"kind": ["a", "a\0", "a\0b", "\ud800", "\ufffd", None]}
    levels = {"c": ("a",), "js": ("a", "\ud800"), "python": ("a", "\ud800", "a\0b")}[language]
    expected = [[float(text in levels)] for text in rows["kind"]]
    feature = Where(IsLevel(KIND, levels), ONE, ZERO)
    holds_features(language, [KIND], [feature], rows, expected, every=True)


DOCUMENTS = [
    "Good good very GOOD, not bad",
    "naïve Café 漢字漢字 x_1 ٣٤ ² Ⅷ١",
    "ΑΣ ΑΣΑ ΑΣ. Σ ΟΔΟΣ, İstanbul ISTANBUL ıx",
    "a b ab",
    "",
    "e\u0301te\u0301 can't re-do __init__ ß ﬁne ǅ",
    "not good not  good\nnot",
    "constructor __proto__ toString",
]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"lowercase": False, "norm": "l1", "sublinear_tf": False},
        {"ngram_range": (1, 3), "norm": None, "stop_words": ["not", "very"]},
        {"binary": True, "stop_words": "english"},
        {"ngram_range": (2, 2), "stop_words": "english"},
        {"strip_accents": "unicode"},
        {"strip_accents": "ascii", "token_pattern": r"(?u)\b(\w)\w+"},
    ],
)
@pytest.mark.parametrize("language", ["js", "python"])
def test_words(options, language):
    """The features of words are the same as scikit-learn's."""
    vectorizer = TfidfVectorizer(**{"sublinear_tf": True, **options}).fit(DOCUMENTS)
    words = tuple(vectorizer.get_feature_names_out().tolist())
    node = Words(KIND, words, tuple(vectorizer.idf_.tolist()), options)
    texts = [*DOCUMENTS, "unknown words alone", None]
    matrix = vectorizer.transform([text or "" for text in texts]).toarray()
    d = matrix.shape[1] + 1
    score = Affine(Features(d), np.cos(np.arange(2.0 * d)).reshape(2, d), np.zeros(2))
    names = ("size", *words)
    program = Program((SIZE, KIND), (SIZE, node), names, Prediction(score))
    rows = {"size": [1.0] * len(texts), "kind": texts}
    full = np.column_stack([np.ones(len(texts)), matrix])
    sample = sample_of(rows, answers_of(program.prediction, full))
    refused = language == "js" and {"strip_accents", "token_pattern"} & options.keys()
    if refused:
        with pytest.raises(Unprintable, match="JavaScript has other rules"):
            PRINTERS[language](program, Heading("model"), sample)
    else:
        holds(program, sample, language)


def test_words_are_refused_in_c():
    program = Program((KIND,), (Words(KIND, ("ab",), (1.0,)),), ("ab",), Prediction(Features(1)))
    sample = sample_of({"kind": ["ab"]}, Answers(np.ones((1, 1))))
    with pytest.raises(Unprintable, match="Export the model as JavaScript or Python"):
        PRINTERS["c"](program, Heading("model"), sample)


def test_letters_of_all_alphabets_are_those_of_python():
    """The pattern and the lower case of node, at every character that this Python knows."""
    script = r"""
    const found = { letters: [], lower: [] };
    for (let code = 0; code < 0x110000; ++code) {
        if (code >= 0xd800 && code < 0xe000) continue;
        const text = String.fromCodePoint(code);
        if (/[\p{L}\p{N}_]/u.test(text)) found.letters.push(code);
        if (text.toLowerCase() !== text) found.lower.push([code, text.toLowerCase()]);
    }
    console.log(JSON.stringify(found));
    """
    done = subprocess.run(["node", "-e", script], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    letters, lower = set(found["letters"]), dict(found["lower"])
    for code in range(0x110000):
        text = chr(code)
        if unicodedata.category(text) in ("Cn", "Cs"):
            continue
        assert (code in letters) == (text.isalnum() or text == "_"), hex(code)
        assert lower.get(code, text) == text.lower(), hex(code)


@pytest.mark.parametrize("row, complaint", [
    ('{ "size": 1, "kind": "a" }', "no column \"day\""),
    ('{ "size": "1", "kind": "a", "day": 0 }', "Column \"size\" takes a number, not a string"),
    ('{ "size": 1, "kind": 1, "day": 0 }', "Column \"kind\" takes a text, not a number"),
    ('{ "size": true, "kind": null, "day": new Date("2020-03-01T05:00Z") }', "[1,2020,5]"),
    ('{ "size": 1n, "kind": undefined, "day": 0 }', "[1,1970,0]"),
    ('{ "size": null, "kind": "a", "day": 0 }', "null"),
])  # fmt: skip
def test_javascript_by_hand(row, complaint, tmp_path):
    features = [SIZE, DatePart(DAY, "year"), DatePart(DAY, "hour")]
    program = program_of([SIZE, KIND, DAY], features)
    rows = {"size": [1.0], "kind": ["a"], "day": [0.0]}
    sample = sample_of(rows, Answers(np.array([[1.0, 1970.0, 0.0]])))
    (tmp_path / "model.mjs").write_text(PRINTERS["js"](program, Heading("model"), sample))
    script = f"""
    import {{ predict, proof }} from "./model.mjs";
    try {{ console.log(proof(), JSON.stringify(predict({row})?.scores ?? null)); }}
    catch (error) {{ console.log(0, error.message); }}
    """
    (tmp_path / "try.mjs").write_text(script)
    done = subprocess.run(["node", "try.mjs"], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.startswith("0 ") and complaint in done.stdout, done.stdout + done.stderr


def test_a_c_program_reads_as_its_header_says(tmp_path):
    score = Affine(Features(2), np.array([[1.0, -1.0]]), np.array([0.5]))
    prediction = Prediction(score, Threshold(score), ("no", "yes"), Sigmoid(score))
    features = (Where(IsMissing(SIZE), ONE, SIZE), Where(IsLevel(KIND, ("é",)), ONE, ZERO))
    program = Program((SIZE, KIND), features, ("size", "kind=é"), prediction)
    rows = {"size": [1.0, NAN], "kind": ["é", None]}
    expected = answers_of(prediction, np.array([[1.0, 1.0], [1.0, 0.0]]))
    text = PRINTERS["c"](program, Heading("iris", ("model: by hand",)), sample_of(rows, expected))
    (tmp_path / "iris.h").write_text(text)
    (tmp_path / "main.c").write_text(
        r"""
#include <stdio.h>
#include "iris.h"
int main(void)
{
    iris_row row = {.size = -3.0, .kind = "\303\251"};
    double scores[1], shares[2];
    int label = iris_predict(&row, scores, shares);
    printf("%s %g %.3f", iris_class(label), scores[0], shares[1]);
    row.size = INFINITY;
    printf(" %d %d", iris_label(&row), iris_scores(&row, scores));
    printf(" %f", scores[0]);
    return iris_probabilities(&row, shares) + 1;
}
"""
    )
    order = "gcc -std=c99 -Wall -Wextra -pedantic -Wconversion -Werror main.c -lm -o main"
    subprocess.run(order.split(), cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True)
    assert done.stdout == "no -3.5 0.029 -1 -1 nan"
    assert "Proof: cc -x c -DIRIS_PROOF iris.h -lm && ./a.out" in text
    proof = "gcc -x c -DIRIS_PROOF iris.h -lm"
    subprocess.run(proof.split(), cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "a.out"], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("of the bound at the worst\n")
