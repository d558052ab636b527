"""The public surface: a flat __all__, quick to import."""

from __future__ import annotations

import subprocess
import sys

import pytest

import separatrix

PUBLIC = [
    "Certificate",
    "Comparison",
    "ConventionWarning",
    "DataError",
    "DecisionStump",
    "ElasticNet",
    "ElasticNetCV",
    "HuberRegressor",
    "Hyperplane",
    "Lasso",
    "LassoCV",
    "LeastSquaresClassifier",
    "LinearDiscriminantAnalysis",
    "LinearRegression",
    "LinearSVC",
    "LinearSVR",
    "LogisticRegression",
    "LogisticRegressionCV",
    "ModelFileError",
    "NotSeparableError",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "Path",
    "PathInterrupt",
    "Perceptron",
    "PoissonRegressor",
    "PolynomialRegression",
    "QuadraticDiscriminantAnalysis",
    "Report",
    "ResidualCertificate",
    "Ridge",
    "RidgeCV",
    "RidgeClassifier",
    "RidgeClassifierCV",
    "RigorousCertificate",
    "SGDClassifier",
    "SGDRegressor",
    "SVC",
    "SVR",
    "Trace",
    "Trials",
    "compare",
    "diagnose",
    "evaluate_trials",
    "export",
    "install",
    "load_model",
    "min_training_error",
    "perceptron_bound",
    "save_model",
    "select_solver",
    "separability",
    "share_gram",
    "threads",
    "training_error",
    "uninstall",
    "verify",
    "zero_one_loss",
]


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{code}"],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    return done.stdout.strip()


def test_the_names_are_these() -> None:
    assert sorted(separatrix.__all__) == PUBLIC == sorted(PUBLIC)


@pytest.mark.parametrize("name", PUBLIC)
def test_every_name_is_there_and_documented(name: str) -> None:
    thing = getattr(separatrix, name)
    assert thing.__name__ == name
    assert thing.__doc__
    assert name in dir(separatrix)


def test_the_package_shows_names_and_modules_once_and_nothing_else() -> None:
    shown = dir(separatrix)
    assert shown == sorted(set(shown))
    modules = set(shown) - set(PUBLIC) - {"__version__"}
    assert {"losses", "kernels", "geometry", "plots", "tables", "schedules"} <= modules
    assert not [name for name in modules if name.startswith("_")]


def test_star_import_gives_these_and_no_more() -> None:
    scope: dict = {}
    exec("from separatrix import *", scope)
    assert sorted(k for k in scope if not k.startswith("__")) == PUBLIC


def test_an_unknown_name() -> None:
    with pytest.raises(AttributeError, match="module 'separatrix' has no attribute 'LassoLars'"):
        separatrix.LassoLars  # noqa: B018


@pytest.mark.parametrize(
    ("package", "absent", "name", "why"),
    [
        ("plots", "matplotlib", "theme", 'plots needs matplotlib: pip install "separatrix[plots]"'),
        ("studio", "anywidget", "Studio", 'needs anywidget: pip install "separatrix[studio]"'),
        ("plots", "nothing", "NoDisplay", "'separatrix.plots' has no attribute 'NoDisplay'"),
    ],
)
def test_a_name_that_cannot_be_loaded_says_why(package, absent, name, why) -> None:
    found = run(
        f"sys.modules[{absent!r}] = None\n"
        f"import separatrix.{package} as package\n"
        f"try:\n    package.{name}\nexcept Exception as error:\n    print(error)"
    )
    assert found.endswith(why)


def test_a_bare_import_loads_nothing_heavy() -> None:
    heavy = ["numpy", "scipy", "sklearn", "numba", "duckdb", "click", "rich", "safetensors"]
    found = run(
        f"import separatrix as s; print([m for m in {heavy} if m in sys.modules], s.__version__)"
    )
    assert found == f"[] {separatrix.__version__}"


def test_the_exceptions_are_light() -> None:
    assert (
        run(
            "from separatrix import DataError, ModelFileError\n"
            "print(issubclass(DataError, ValueError), 'numpy' in sys.modules)"
        )
        == "True False"
    )


def test_the_core_needs_no_extra() -> None:
    # Estimators and verify work where only the core's dependencies are installed.
    code = (
        "import importlib.abc\n"
        "class Absent(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] in ('duckdb', 'click', 'rich', 'matplotlib', 'jinja2',\n"
        "                                  'pandas', 'polars', 'pyarrow'):\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        # A module without an import of its own, in a process that has loaded nothing else.
        "import separatrix; print(len(separatrix.losses.table()))\n"
        "from separatrix import LogisticRegression, verify\n"
        "m = LogisticRegression().fit([[0.0], [1.0]], [0, 1])\n"
        "print(verify(m, [[0.0], [1.0]], [0, 1]).status)"
    )
    assert run(code).split() == ["7", "optimal"]


@pytest.mark.parametrize(
    "name", ["LogisticRegression", "LogisticRegressionCV", "LinearSVC", "Perceptron"]
)
def test_every_parameter_and_attribute_is_documented(name: str) -> None:
    kind = getattr(separatrix, name)
    model = kind().fit([[0.0], [1.0]] * 5, [0, 1] * 5)
    described = {
        word.strip()
        for line in kind.__doc__.splitlines()
        if " : " in line
        for word in line.split(" : ")[0].split(",")
    }
    assert set(kind().get_params()) <= described
    assert {a for a in vars(model) if a.endswith("_")} <= described
