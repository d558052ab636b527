"""Scripts for scikit-learn, run with this library's classes."""

from __future__ import annotations

import importlib
import io
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import sklearn.discriminant_analysis
import sklearn.linear_model
import sklearn.linear_model._logistic
import sklearn.linear_model._ransac
import sklearn.svm
from sklearn.base import is_regressor

import separatrix
from separatrix.migration.installing import classes
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
        # Where scikit-learn asks what an estimator is, and in what its classes inherit.
        assert sklearn.linear_model._ransac.LinearRegression is separatrix.LinearRegression
        assert isinstance(separatrix.Ridge(), sklearn.linear_model._base.LinearModel)
    finally:
        separatrix.uninstall()
    assert sklearn.linear_model.LogisticRegression is theirs
    assert sklearn.linear_model._ransac.LinearRegression is sklearn.linear_model.LinearRegression
    assert theirs.__module__.startswith("sklearn")


def test_a_script_runs_as_it_is_and_is_summed_up(script: str, capsys) -> None:
    argv, kinds = sys.argv, [getattr(separatrix, name) for name in separatrix._ESTIMATORS]
    own = [kind.__dict__.get("fit") for kind in kinds]
    err = io.StringIO()
    assert run([script, "one", "two"], err) == 0
    out = capsys.readouterr().out
    assert out == "separatrix.models.logistic ['one', 'two'] __main__\n"
    text = re.sub(r"\d\.\de-\d+|[\d.e-]+ s$", "#", err.getvalue(), flags=re.MULTILINE)
    assert text == (
        "separatrix: 4 fits in place of scikit-learn's, all certified to their tolerance\n"
        "  LogisticRegression  1 fit, at most # from the optimum, #\n"
        "  SVC                 3 fits, at most # from the optimum, #\n"
    )
    # Everything is as it was.
    assert [kind.__dict__.get("fit") for kind in kinds] == own and sys.argv is argv
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
    assert "1 fit in place of scikit-learn's" in err.getvalue()
    assert sklearn.svm.SVC is not separatrix.SVC


def test_an_error_of_the_script_says_that_the_classes_were_exchanged(tmp_path: Path) -> None:
    path = tmp_path / "two words.py"
    path.write_text("raise ValueError('mine')\n", "utf-8")
    with pytest.raises(ValueError, match="mine") as caught:
        run([str(path), "-x"], io.StringIO())
    assert caught.value.__notes__ == [
        "The script ran with separatrix's classes in place of scikit-learn's; "
        f"`python '{path}' -x` runs it with the original ones."
    ]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_class_is_fitted_and_counted_with_and_without_y(tmp_path: Path) -> None:
    rows = "X, y = [[0.0], [1.0], [2.0], [3.5], [5.0], [5.5]] * 5, [0, 0, 1, 0, 1, 1] * 5\n"
    lines = [rows]
    for module, names in classes().items():
        kinds = importlib.import_module(module)
        for name in names:
            number = is_regressor(getattr(kinds, name)())
            lines.append(f"from {module} import {name}\n{name}().fit(X, y)\n{name}().fit(X=X, y=y)")
            if name == "OneClassSVM":
                lines.append("OneClassSVM().fit(X)\nOneClassSVM().fit_predict(X)")
            assert number or not name.endswith("Regressor")
    lines.append("from sklearn.linear_model import RANSACRegressor")
    lines.append("RANSACRegressor(LinearRegression(), random_state=0).fit(X, y)")
    lines.append("SGDClassifier().partial_fit(X, y, [0, 1])")
    path = tmp_path / "all.py"
    path.write_text("\n".join(lines), "utf-8")
    err = io.StringIO()
    assert run([str(path)], err) == 0
    counts = dict(re.findall(r"^  (\w+) +(\d+) fits?,", err.getvalue(), flags=re.MULTILINE))
    every = [name for names in classes().values() for name in names]
    assert sorted(counts) == sorted(every)
    assert counts["OneClassSVM"] == "4" and counts["LogisticRegression"] == "2"
    assert int(counts["LinearRegression"]) > 2
    assert "calls of partial_fit, which have no certificate: 1 of SGDClassifier" in err.getvalue()


def test_uncertified_fits_are_named_by_line_with_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / "short.py"
    path.write_text(
        "from sklearn.datasets import load_iris\n"
        "from sklearn.linear_model import LogisticRegression\n"
        "from sklearn.model_selection import cross_val_score\n"
        "from sklearn.pipeline import make_pipeline\n"
        "X, y = load_iris(return_X_y=True)\n"
        "LogisticRegression().fit(X, y)\n"
        "LogisticRegression(max_iter=1).fit(X, y)\n"
        "cross_val_score(make_pipeline(LogisticRegression(max_iter=1)), X, y, cv=2)\n",
        "utf-8",
    )
    err = io.StringIO()
    with pytest.warns(sklearn.exceptions.ConvergenceWarning) as caught:
        assert run([str(path)], err) == 0
    # Also of fits that scikit-learn calls for the user.
    places = [(w.filename, w.lineno) for w in caught]
    assert places == [(str(path), 7), (str(path), 8), (str(path), 8)]
    lines = err.getvalue().splitlines()
    assert lines[0].startswith("separatrix: 4 fits in place of scikit-learn's, 1 certified")
    assert lines[2] == "not certified to their tolerance:"
    assert lines[3].startswith(f"  {path}:7: LogisticRegression, 1 fit: max_iter: ")
    assert lines[3].endswith("raise max_iter, or standardise the features")
    assert lines[4].startswith(f"  {path}:8: LogisticRegression, 2 fits, the worst: max_iter: ")
    assert len(lines) == 5


def test_without_a_script_there_is_a_sentence(tmp_path: Path) -> None:
    err = io.StringIO()
    assert run([], err) == 2 and err.getvalue().startswith("usage: python -m separatrix")
    err = io.StringIO()
    missing = str(tmp_path / "nothing.py")
    assert run([missing], err) == 2
    assert err.getvalue() == (
        f"python -m separatrix: there is no file {missing!r}; give the name of a script.\n"
    )


def test_the_module_is_the_command_line_as_well() -> None:
    command = [sys.executable, "-m", "separatrix", "--version"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("separatrix, version")


KINDS = """
import pickle
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import VotingClassifier
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.inspection import permutation_importance
from sklearn.linear_model import Lasso, LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.model_selection import GridSearchCV, cross_val_predict, learning_curve
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC
X, y = load_iris(return_X_y=True)
A, b = load_diabetes(return_X_y=True)
columns = make_column_transformer((StandardScaler(), [0, 1]), remainder="passthrough")
pipe = make_pipeline(columns, LogisticRegression(max_iter=1000))
search = GridSearchCV(pipe, {"logisticregression__C": [0.01, 1.0]}, cv=2).fit(X, y)
print(search.best_params_, round(search.best_score_, 2))
print(learning_curve(SVC(), X, y, cv=2, train_sizes=[60], shuffle=True, random_state=0)[0])
print(CalibratedClassifierCV(LinearSVC(), cv=2).fit(X, y).predict_proba(X).shape)
print(VotingClassifier([("r", RidgeClassifier()), ("s", SVC())]).fit(X, y).score(X, y) > 0.9)
print((cross_val_predict(pipe, X, y, cv=2) == y).mean().round(1))
print(RFE(LogisticRegression(max_iter=1000), n_features_to_select=2).fit(X, y).support_)
print(SelectFromModel(Lasso(1.0)).fit(A, b).get_support())
print(OneVsRestClassifier(SVC()).fit(X, y).predict(X[:3]))
print(MultiOutputRegressor(SVR()).fit(A, A[:, :2]).predict(A).shape)
print(permutation_importance(search, X, y, n_repeats=1, random_state=0).importances.shape)
model = SGDClassifier(random_state=0)
for part in (slice(0, 150, 2), slice(1, 150, 2)) * 5:
    model.partial_fit(X[part], y[part], [0, 1, 2])
print((pickle.loads(pickle.dumps(model)).predict(X) == model.predict(X)).all())
"""


@pytest.mark.filterwarnings("ignore")
def test_scripts_of_many_kinds_print_the_same(tmp_path: Path, capsys) -> None:
    path = tmp_path / "kinds.py"
    path.write_text(KINDS, "utf-8")
    runpy.run_path(str(path), run_name="__main__")
    expected = capsys.readouterr().out
    err = io.StringIO()
    assert run([str(path)], err) == 0
    assert capsys.readouterr().out == expected and len(expected.splitlines()) == 11
    assert "all certified to their tolerance" in err.getvalue()
