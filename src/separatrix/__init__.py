"""Linear classification with a certificate.

Every fit carries proof of how good it is: the objective, a lower bound, and the gap between
them.  Names are loaded when they are first used, so that importing the package is quick.
"""

from __future__ import annotations

from importlib import import_module

# Not that of typing, which takes longer to import than all that is here.
TYPE_CHECKING = False

__version__ = "0.1.0"

# The estimators, and where each lives: the closed list of what a model file can name.
_ESTIMATORS = {
    "DecisionStump": "separatrix.models.stump",
    "ElasticNet": "separatrix.models.lasso",
    "ElasticNetCV": "separatrix.models.lasso",
    "HuberRegressor": "separatrix.models.huber",
    "Lasso": "separatrix.models.lasso",
    "LassoCV": "separatrix.models.lasso",
    "LeastSquaresClassifier": "separatrix.models.least_squares",
    "LinearDiscriminantAnalysis": "separatrix.models.discriminant",
    "LinearRegression": "separatrix.models.least_squares",
    "LinearSVC": "separatrix.models.linear_svc",
    "LinearSVR": "separatrix.models.linear_svr",
    "LogisticRegression": "separatrix.models.logistic",
    "LogisticRegressionCV": "separatrix.models.logistic_cv",
    "NuSVC": "separatrix.models.nu_svm",
    "NuSVR": "separatrix.models.svr",
    "OneClassSVM": "separatrix.models.one_class",
    "Perceptron": "separatrix.models.perceptron",
    "PoissonRegressor": "separatrix.models.poisson",
    "PolynomialRegression": "separatrix.models.polynomial",
    "QuadraticDiscriminantAnalysis": "separatrix.models.discriminant",
    "Ridge": "separatrix.models.ridge",
    "RidgeCV": "separatrix.models.ridge",
    "RidgeClassifier": "separatrix.models.ridge",
    "RidgeClassifierCV": "separatrix.models.ridge",
    "SGDClassifier": "separatrix.models.sgd",
    "SGDRegressor": "separatrix.models.sgd_regressor",
    "SVC": "separatrix.models.svc",
    "SVR": "separatrix.models.svr",
}

# Where each public name lives.
_HOMES = {
    **_ESTIMATORS,
    "Certificate": "separatrix.certificate",
    "Comparison": "separatrix.assessment.comparison",
    "ConventionWarning": "separatrix.exceptions",
    "DataError": "separatrix.exceptions",
    "Hyperplane": "separatrix.geometry",
    "ModelFileError": "separatrix.exceptions",
    "NotSeparableError": "separatrix.exceptions",
    "Path": "separatrix.models.path",
    "PathInterrupt": "separatrix.models.path",
    "Report": "separatrix.report",
    "ResidualCertificate": "separatrix.certificate",
    "RigorousCertificate": "separatrix.certificate",
    "Trace": "separatrix.solvers.trace",
    "install": "separatrix.migration",
    "uninstall": "separatrix.migration",
    "Trials": "separatrix.assessment.trials",
    "compare": "separatrix.assessment.comparing",
    "diagnose": "separatrix.geometry",
    "evaluate_trials": "separatrix.assessment.trials",
    "export": "separatrix.exports.export",
    "load_model": "separatrix.persistence.model_file",
    "min_training_error": "separatrix.geometry",
    "perceptron_bound": "separatrix.geometry",
    "save_model": "separatrix.persistence.model_file",
    "select_solver": "separatrix.solvers",
    "separability": "separatrix.geometry",
    "share_gram": "separatrix.kernels.gram",
    "threads": "separatrix._compiled.pool",
    "training_error": "separatrix.geometry",
    "verify": "separatrix.verification.audit",
    "zero_one_loss": "separatrix.geometry",
}

# Modules whose names are public, too; they are loaded like names.
_SUBMODULES = (
    "certificate",
    "exceptions",
    "geometry",
    "kernels",
    "lifts",
    "losses",
    "plots",
    "report",
    "schedules",
    "solvers",
    "tables",
    "trace",
)

__all__ = [
    "SVC",
    "SVR",
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

if TYPE_CHECKING:
    from typing import Any

    from separatrix._compiled.pool import threads
    from separatrix.assessment.comparing import compare
    from separatrix.assessment.comparison import Comparison
    from separatrix.assessment.trials import Trials, evaluate_trials
    from separatrix.certificate import Certificate, ResidualCertificate, RigorousCertificate
    from separatrix.exceptions import (
        ConventionWarning,
        DataError,
        ModelFileError,
        NotSeparableError,
    )
    from separatrix.exports.export import export
    from separatrix.geometry.diagnosis.diagnosis import diagnose
    from separatrix.geometry.hyperplane import Hyperplane
    from separatrix.geometry.mistakes.training_error import (
        min_training_error,
        training_error,
        zero_one_loss,
    )
    from separatrix.geometry.separation.deciding import separability
    from separatrix.geometry.separation.perceptron_bound import perceptron_bound
    from separatrix.kernels.gram import share_gram
    from separatrix.migration.installing import install, uninstall
    from separatrix.models.discriminant import (
        LinearDiscriminantAnalysis,
        QuadraticDiscriminantAnalysis,
    )
    from separatrix.models.huber import HuberRegressor
    from separatrix.models.lasso import ElasticNet, ElasticNetCV, Lasso, LassoCV
    from separatrix.models.least_squares import LeastSquaresClassifier, LinearRegression
    from separatrix.models.linear_svc import LinearSVC
    from separatrix.models.linear_svr import LinearSVR
    from separatrix.models.logistic import LogisticRegression
    from separatrix.models.logistic_cv import LogisticRegressionCV
    from separatrix.models.nu_svm import NuSVC
    from separatrix.models.one_class import OneClassSVM
    from separatrix.models.path import Path, PathInterrupt
    from separatrix.models.perceptron import Perceptron
    from separatrix.models.poisson import PoissonRegressor
    from separatrix.models.polynomial import PolynomialRegression
    from separatrix.models.ridge import Ridge, RidgeClassifier, RidgeClassifierCV, RidgeCV
    from separatrix.models.sgd import SGDClassifier
    from separatrix.models.sgd_regressor import SGDRegressor
    from separatrix.models.stump import DecisionStump
    from separatrix.models.svc import SVC
    from separatrix.models.svr import SVR, NuSVR
    from separatrix.persistence.model_file import load_model, save_model
    from separatrix.report import Report
    from separatrix.solvers import select_solver
    from separatrix.solvers.trace import Trace
    from separatrix.verification.audit import verify


def __getattr__(name: str) -> Any:
    if name not in _HOMES and name not in _SUBMODULES:
        raise AttributeError(f"module 'separatrix' has no attribute {name!r}")
    # While there is memory: where it has run out, nothing can be imported.
    from separatrix._compiled.memory import message_for

    try:
        if name in _SUBMODULES:
            return import_module(f"separatrix.{name}")
        value = getattr(import_module(_HOMES[name]), name)
    except (ImportError, MemoryError, OSError, RuntimeError, SystemError) as error:
        # The compiler and others have texts of their own for a lack of memory.
        message = message_for(error)
        if message is None:
            raise
        raise MemoryError(message) from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, *_SUBMODULES, "__version__"])
