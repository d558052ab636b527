"""Scripts for scikit-learn, run with this library's classes."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path

import pytest
import sklearn.linear_model
import sklearn.linear_model._logistic
import sklearn.svm

import separatrix
from separatrix.migration.running import run

SCRIPT = """
import sys
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC
X, y = load_iris(return_X_y=True)
print(LogisticRegression.__module__, sys.argv[1:], __name__)
LogisticRegression(solver="liblinear", max_iter=200).fit(X[:100], y[:100])
cross_val_score(SVC(gamma="auto"), X, y, cv=3)
"""


@pytest.fixture
def script(tmp_path: Path) -> str:
    path = tmp_path / "somebodys.py"
    path.write_text(SCRIPT, "utf-8")
    return str(path)


def test_installed_classes_are_this_librarys_until_they_are_not() -> None:
    theirs = sklearn.linear_model.LogisticRegression
    try:
        separatrix.install()
        separatrix.install()
        assert sklearn.linear_model.LogisticRegression is separatrix.LogisticRegression
        assert sklearn.linear_model._logistic.LogisticRegression is separatrix.LogisticRegression
        assert sklearn.svm.SVC is separatrix.SVC
    finally:
        separatrix.uninstall()
    assert sklearn.linear_model.LogisticRegression is theirs
    assert theirs.__module__.startswith("sklearn")


def test_a_script_runs_as_it_is_and_is_summed_up(script: str, capsys) -> None:
    fit, argv = separatrix.SVC.fit, sys.argv
    err = io.StringIO()
    assert run([script, "one", "two"], err) == 0
    out = capsys.readouterr().out
    assert out == "separatrix.models.logistic ['one', 'two'] __main__\n"
    text = re.sub(r"\d\.\de-\d+|[\d.e-]+ s$", "#", err.getvalue(), flags=re.MULTILINE)
    assert text == (
        "separatrix: 4 fits in scikit-learn's place, all certified to their tolerance\n"
        "  LogisticRegression  1 fit, at most # from the optimum, #\n"
        "  SVC                 3 fits, at most # from the optimum, #\n"
    )
    # Everything is as it was.
    assert separatrix.SVC.fit is fit and sys.argv is argv
    assert sklearn.svm.SVC is not separatrix.SVC


def test_a_comparison_says_where_scikit_learn_stopped(script: str) -> None:
    err = io.StringIO()
    assert run(["--compare", script], err) == 0
    gaps = re.findall(r"at most ([\d.e+-]+)(?: from|,)", err.getvalue())
    assert len(gaps) == 4
    assert float(gaps[2]) <= 1e-6 < float(gaps[3])


def test_what_a_script_raises_is_raised_and_what_it_did_is_said(tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text("from sklearn.svm import SVC\nSVC().fit([[0], [1]], [0, 1])\n1 / 0\n", "utf-8")
    err = io.StringIO()
    with pytest.raises(ZeroDivisionError):
        run([str(path)], err)
    assert "1 fit in scikit-learn's place" in err.getvalue()
    assert sklearn.svm.SVC is not separatrix.SVC


def test_without_a_script_there_is_a_sentence(tmp_path: Path) -> None:
    err = io.StringIO()
    assert run([], err) == 2 and err.getvalue().startswith("usage: python -m separatrix")
    err = io.StringIO()
    missing = str(tmp_path / "nothing.py")
    assert run([missing], err) == 2
    assert err.getvalue() == (
        f"python -m separatrix: there is no file {missing!r}; name a script.\n"
    )


def test_the_module_is_the_command_line_as_well() -> None:
    command = [sys.executable, "-m", "separatrix", "--version"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("separatrix, version")
