"""The count of others' code that runs unchanged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

from benchmarks.borrowed.__main__ import Count, programs
from benchmarks.borrowed.program import statements

pytestmark = pytest.mark.benchmarks

SCRIPT = """
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
X, y = load_iris(return_X_y=True)
model = LogisticRegression(solver="lbfgs", max_iter=1000).fit(X, y)
LogisticRegression().fit(X, y).no_such_attribute
"""


def test_statements_of_scripts_notebooks_and_texts(tmp_path: Path) -> None:
    script, notebook, text = (tmp_path / f"a.{kind}" for kind in ("py", "ipynb", "rst"))
    script.write_text("x = 1\ny = 2\n")
    cells = [
        {"cell_type": "code", "source": ["%matplotlib inline\n", "x = 1"]},
        {"cell_type": "markdown", "source": ["no code"]},
    ]
    notebook.write_text(json.dumps({"cells": cells}))
    text.write_text("Words::\n\n    >>> x = 1\n    >>> x + 1\n    2\n")
    assert [len(statements(path)) for path in (script, notebook, text)] == [2, 1, 2]


def test_what_fails_with_scikit_learn_is_no_use(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "script.py").write_text(SCRIPT)
    count = programs(tmp_path / "code", tmp_path)
    assert (count.programs, count.uses, count.runs, count.errors) == (1, 1, 1, [])


def test_words_and_private_names_are_counted_apart() -> None:
    count = Count()
    theirs = {"used": ["SVC"], "error": None}
    count.add("a", theirs, {"error": None})
    count.add("b", theirs, {"error": "AssertionError: Regex pattern did not match."})
    count.add("c", theirs, {"error": "ValueError: no"})
    count.add("d", {"used": [], "error": None}, None)
    assert (count.uses, count.runs, sum(count.left_out.values())) == (3, 1, 1)
    assert "of the 2 that are left" in str(count)
    assert count.by_piece() == (1 / 3, 0.5)
    # The cases of a parametrised test are one piece of code.
    for case, error in (("x", None), ("y", "ValueError: no"), ("z", "DID NOT RAISE")):
        count.add(f"t.py::test[{case}]", theirs, {"error": error})
    assert count.by_piece() == ((1 + 1 / 3) / 4, (1 + 0.5) / 3)
