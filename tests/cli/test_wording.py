"""The library's messages in the words of the command line."""

from __future__ import annotations

import pickle
import re
import warnings
from string import Formatter

import pytest

from grids import grid
from separatrix.certificate import REMEDIES, Certificate
from separatrix.cli.wording import TERMINAL, Terminal
from separatrix.messages import PYTHON, TEMPLATES, Column, Joined, Message, Row, Setting, message_of
from sources import sources

NAMES = ["age", "job=cook", "it's"]


def fields(template):
    return {name for _, name, _, _ in Formatter().parse(template) if name}


def advice(status):
    found = Certificate.of(primal=2.0, dual=1.0, tol=1e-3, status=status)
    return Terminal(NAMES)(found.remedy)


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        (Joined((Column(0, "0"),), before="column "), "column 'age'"),
        (Joined((Column(0, "0"), Column(2, "2")), before="columns "), "columns 'age' and \"it's\""),
        (Joined((Column(1, "1"),), 2, "columns "), "columns 'job=cook' and 2 more"),
        (Joined((Column(7, "7"),), before="column "), "column 7"),
        (Column(1, "'x1'"), "'job=cook'"),
        (Row(4), "row 5"),
    ],
)
def test_places_are_named_as_in_the_file(columns, told):
    assert Terminal(NAMES)(columns) == told


@pytest.mark.parametrize(
    ("setting", "python", "terminal"),
    [
        (Setting("covariance", "mle"), "covariance='mle'", "--covariance mle"),
        (Setting("C", 0), "C=0", "-C 0"),
        (Setting("tol", 1e-6, ".0e"), "tol=1e-06", "--tol 1e-06"),
        (Setting("penalty", None), "penalty=None", "--penalty none"),
        (Setting("early_stopping", False), "early_stopping=False", "no --early-stopping"),
        (Setting("lam", 0), "lam=0", "no --lam"),
        (Setting("kinds", ("a b", "ignore")), 'kinds={"a b": "ignore"}', "--kind 'a b=ignore'"),
        (Setting("missing", "?"), 'missing=["?"]', "--missing '?'"),
        (Setting("log", "it's"), 'log="it\'s"', """--log 'it'"'"'s'"""),
        (Setting("kinds", ("it's", "a")), 'kinds={"it\'s": "a"}', """--kind 'it'"'"'s=a'"""),
    ],
)
def test_settings_are_options(setting, python, terminal):
    assert str(setting) == python
    assert TERMINAL(setting) == terminal


def test_every_code_has_a_wording_in_each_table():
    # Fields that are not values are phrases, which both tables have, and no code is left over.
    assert set(PYTHON.phrases) == set(TERMINAL.phrases)
    assert set(TERMINAL.templates) <= set(TEMPLATES)
    named = set().union(*map(fields, TEMPLATES.values()), *map(fields, TERMINAL.templates.values()))
    assert set(PYTHON.phrases) <= named
    for code, template in TERMINAL.templates.items():
        assert fields(template) <= fields(TEMPLATES[code]) | set(TERMINAL.phrases), code


def test_every_code_is_said_somewhere():
    said = {code for source in sources() for code in source.codes}
    stops = {f"{part}.{s}" for part in ("cause", "advice") for s in REMEDIES if s != "optimal"}
    assert said | stops == set(TEMPLATES)


# What is Python: settings, calls with arguments, classes of estimators.
SPEAKS_PYTHON = re.compile(r"[a-z_]+\w=|\bC=|\(X, y\)|[a-z][A-Z]|\bmax_|\b(step_tol|cache_mb)\b")


@grid("code", TEMPLATES)
def test_the_terminal_does_not_speak_python(code):
    template = TERMINAL.templates.get(code, TEMPLATES[code])
    words = "".join(text for text, *_ in Formatter().parse(template))
    assert not SPEAKS_PYTHON.search(words)


def test_the_phrases_of_the_terminal_are_not_python():
    assert not any(map(SPEAKS_PYTHON.search, TERMINAL.phrases.values()))


@grid("status", [status for status in REMEDIES if status != "optimal"])
def test_every_remedy_has_a_terminal_wording(status):
    told = advice(status)
    assert told and not SPEAKS_PYTHON.search(told)
    if "{tol" in REMEDIES[status]:
        assert "--tol 0.001" in told


def test_python_says_what_the_table_of_remedies_says():
    for status, text in REMEDIES.items():
        found = Certificate.of(primal=2.0, dual=1.0, tol=1e-3, status=status)
        assert found.remedy == text.format(tol=1e-3)
        assert str(found) == f"{found.outcome}; {found.remedy}".removesuffix("; ")


def test_a_message_is_a_string_that_keeps_its_record():
    found = Message("too_few_to_hold_out", rows="2 rows are", share=0.1)
    error = pickle.loads(pickle.dumps(ValueError(found)))
    again = message_of(error)
    assert again == str(error) == found and type(str(found)) is str
    assert isinstance(again, Message) and (again.code, again.values) == (found.code, found.values)
    assert TERMINAL(again).endswith("hold out none (--test-size 0)")
    assert TERMINAL("a sentence") == "a sentence"


def test_a_certificate_that_is_warned_of_keeps_its_record():
    with pytest.warns(UserWarning) as caught:
        certificate = Certificate.of(primal=2.0, dual=1.0, tol=1e-3, status="max_iter")
        warnings.warn(str(certificate), UserWarning, stacklevel=1)
    told = message_of(caught[0].message)
    assert isinstance(told, Message) and told.code == "certificate"
    assert TERMINAL(told).endswith("came before --tol 0.001; raise --max-iter")
