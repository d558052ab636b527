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

__all__ = [*_HOMES]

if TYPE_CHECKING:
    from typing import Any

    from separatrix._compiled.pool import threads as threads
    from separatrix.assessment.comparing import compare as compare
    from separatrix.assessment.comparison import Comparison as Comparison
    from separatrix.assessment.trials import Trials as Trials
    from separatrix.assessment.trials import evaluate_trials as evaluate_trials
    from separatrix.certificate import Certificate as Certificate
    from separatrix.certificate import ResidualCertificate as ResidualCertificate
    from separatrix.certificate import RigorousCertificate as RigorousCertificate
    from separatrix.exceptions import ConventionWarning as ConventionWarning
    from separatrix.exceptions import DataError as DataError
    from separatrix.exceptions import ModelFileError as ModelFileError
    from separatrix.exceptions import NotSeparableError as NotSeparableError
    from separatrix.exports.export import export as export
    from separatrix.geometry.diagnosis.diagnosis import diagnose as diagnose
    from separatrix.geometry.hyperplane import Hyperplane as Hyperplane
    from separatrix.geometry.mistakes.training_error import min_training_error as min_training_error
    from separatrix.geometry.mistakes.training_error import training_error as training_error
    from separatrix.geometry.mistakes.training_error import zero_one_loss as zero_one_loss
    from separatrix.geometry.separation.deciding import separability as separability
    from separatrix.geometry.separation.perceptron_bound import perceptron_bound as perceptron_bound
    from separatrix.kernels.gram import share_gram as share_gram
    from separatrix.migration.installing import install as install
    from separatrix.migration.installing import uninstall as uninstall
    from separatrix.models.discriminant import (
        LinearDiscriminantAnalysis as LinearDiscriminantAnalysis,
    )
    from separatrix.models.discriminant import (
        QuadraticDiscriminantAnalysis as QuadraticDiscriminantAnalysis,
    )
    from separatrix.models.huber import HuberRegressor as HuberRegressor
    from separatrix.models.lasso import ElasticNet as ElasticNet
    from separatrix.models.lasso import ElasticNetCV as ElasticNetCV
    from separatrix.models.lasso import Lasso as Lasso
    from separatrix.models.lasso import LassoCV as LassoCV
    from separatrix.models.least_squares import LeastSquaresClassifier as LeastSquaresClassifier
    from separatrix.models.least_squares import LinearRegression as LinearRegression
    from separatrix.models.linear_svc import LinearSVC as LinearSVC
    from separatrix.models.linear_svr import LinearSVR as LinearSVR
    from separatrix.models.logistic import LogisticRegression as LogisticRegression
    from separatrix.models.logistic_cv import LogisticRegressionCV as LogisticRegressionCV
    from separatrix.models.nu_svm import NuSVC as NuSVC
    from separatrix.models.one_class import OneClassSVM as OneClassSVM
    from separatrix.models.path import Path as Path
    from separatrix.models.path import PathInterrupt as PathInterrupt
    from separatrix.models.perceptron import Perceptron as Perceptron
    from separatrix.models.poisson import PoissonRegressor as PoissonRegressor
    from separatrix.models.polynomial import PolynomialRegression as PolynomialRegression
    from separatrix.models.ridge import Ridge as Ridge
    from separatrix.models.ridge import RidgeClassifier as RidgeClassifier
    from separatrix.models.ridge import RidgeClassifierCV as RidgeClassifierCV
    from separatrix.models.ridge import RidgeCV as RidgeCV
    from separatrix.models.sgd import SGDClassifier as SGDClassifier
    from separatrix.models.sgd_regressor import SGDRegressor as SGDRegressor
    from separatrix.models.stump import DecisionStump as DecisionStump
    from separatrix.models.svc import SVC as SVC
    from separatrix.models.svr import SVR as SVR
    from separatrix.models.svr import NuSVR as NuSVR
    from separatrix.persistence.model_file import load_model as load_model
    from separatrix.persistence.model_file import save_model as save_model
    from separatrix.report import Report as Report
    from separatrix.solvers import select_solver as select_solver
    from separatrix.solvers.trace import Trace as Trace
    from separatrix.verification.audit import verify as verify


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
