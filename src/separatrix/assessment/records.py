"""Fitted models as records of plain data: their name, what they rest on, what there is to know."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import scipy
import sklearn

import separatrix
from separatrix.data.design import dense
from separatrix.kernels.functions import Kernel
from separatrix.models.parameters import non_default_parameters
from separatrix.models.registry import stated


def model_name(model: Any) -> str:
    """The name of a model in words."""
    name: str = stated(model, "_label", type(model).__name__)
    return name


def versions() -> dict[str, str]:
    """The versions on which a fit depends besides its data and parameters, by library."""
    return {
        "separatrix": separatrix.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }


def describe_model(model: Any, encoder: Any) -> dict[str, Any]:
    """The description of a model in a JSON document."""
    terms = None if encoder is None else encoder.formula_
    return {
        **({} if terms is None else {"terms": terms}),
        "class": type(model).__name__,
        "name": model_name(model),
        "formula": getattr(model, "objective_formula_", None),
        "parameters": non_default_parameters(model),
        "classes": model.classes_.tolist() if hasattr(model, "classes_") else None,
        "features": model.n_features_in_,
        "feature_names": None if encoder is None else list(encoder.feature_names_),
    }


def details_of(model: Any) -> dict[str, Any]:
    """The facts about a fitted model besides its weights.

    Returns
    -------
    dict
        For least squares ``rank``, ``columns``, ``condition_number`` and ``mse``, on the rows that
        were fitted; for a polynomial of one target also ``constant`` and ``terms``, with the
        coefficients of plain powers; for Gaussian classes ``classes``, each with its ``prior`` and
        its ``rows``, ``shrinkage`` and ``condition_number``; for stochastic gradients ``schedule``,
        ``condition`` (of its convergence), ``searched`` (rates that were tried), ``steps`` and
        ``passes``, both of all ``fits`` together (one a class against the rest), and ``averaged``;
        for a perceptron ``corrections``, ``passes`` and the training ``mistakes`` that are left;
        for other models nothing.
    """
    record: dict[str, Any] = {}
    if hasattr(model, "rank_"):
        record |= {
            "rank": int(model.rank_),
            "columns": int(model.certificate_.n_columns),
            "condition_number": float(model.condition_number_),
        }
        if hasattr(model, "mse_"):
            record["mse"] = float(np.mean(model.mse_))
    if hasattr(model, "powers_") and np.ndim(model.intercept_) == 0:
        terms = zip(model.terms_, np.ravel(dense(model.coef_)).tolist(), strict=True)
        record["degree"] = int(model.degree)
        record["constant"] = float(model.intercept_)
        record["terms"] = [{"term": term, "coefficient": value} for term, value in terms]
    if hasattr(model, "moments_") and hasattr(model, "priors_"):
        record["classes"] = [
            {"class": label, "prior": float(prior), "rows": float(rows)}
            for label, prior, rows in zip(
                model.classes_.tolist(), model.priors_, model.moments_.weight, strict=True
            )
        ]
        record["shrinkage"] = np.asarray(model.shrinkage_).tolist()
        record["condition_number"] = float(model.condition_number_)
        record["used_columns"] = len(model.independent_columns_)
    if hasattr(model, "n_updates_"):
        record |= {
            "corrections": int(model.n_updates_),
            "passes": None if model.certificate_.parts else int(model.certificate_.n_iter),
            "mistakes": float(model.certificate_.primal),
        }
    if getattr(model, "learning_rate_formula_", "none") != "none":
        curve = getattr(model, "rate_curve_", None)
        record |= {
            "schedule": model.learning_rate_formula_,
            "condition": model.learning_rate_condition_,
            "searched": 0 if curve is None else len(curve["rates"]),
            "steps": int(np.sum(model.n_steps_)) if hasattr(model, "n_steps_") else None,
            "passes": int(model.certificate_.n_iter),
            "fits": max(1, len(model.certificate_.parts)),
            "averaged": bool(model.average),
        }
    return record


def term_names(powers: np.ndarray, columns: Sequence[str]) -> list[str]:
    """The terms of a polynomial as text: ``age``, ``age^2``, ``age * hours``."""

    def factor(j: int, power: int) -> str:
        return columns[j] if power == 1 else f"{columns[j]}^{power}"

    rows = np.asarray(powers).tolist()
    return [" * ".join(factor(j, power) for j, power in enumerate(row) if power) for row in rows]


# The names of kernels in the options, for those that these can name.
_NAMES = {
    "LinearKernel": "linear",
    "PolynomialKernel": "poly",
    "PrecomputedKernel": "precomputed",
    "RBFKernel": "rbf",
    "SigmoidKernel": "sigmoid",
}


def kernel_record(kernel: Kernel) -> dict[str, Any]:
    """The name of a kernel, its formula and its numbers."""
    name = type(kernel).__name__
    return {"name": _NAMES.get(name, name), "formula": kernel.formula, **asdict(kernel)}  # type: ignore[call-overload]


def support_record(model: Any) -> dict[str, Any] | None:
    """The facts on which a kernel machine for classes rests; None for another model.

    Parameters
    ----------
    model : estimator
        The fitted model.

    Returns
    -------
    dict or None
        ``kernel``, ``rows`` (that were fitted), and for a machine on the kernel itself
        ``vectors``, ``on_margin`` (support vectors with a coefficient between its ends, which
        lie on the margin, for more than two classes on that of some pair), ``bounded`` (the
        others), for two classes ``wrong`` (those of the others that are on the wrong side), and
        ``by_class``; for an approximation ``approximation``, ``components``, and for the one by
        landmarks ``unexplained`` (share of the kernel), ``exact_primal`` (the true problem's
        objective) and ``exact_dual`` (a lower bound of it).
    """
    if not hasattr(model, "slack_"):
        return None
    record: dict[str, Any] = {"kernel": kernel_record(model.kernel_), "rows": len(model.slack_)}
    if hasattr(model, "lift_"):
        return {
            **record,
            "approximation": model.approximation,
            "components": int(model.lift_.n_components_),
            "unexplained": getattr(model.lift_, "unexplained_", None),
            "exact_primal": getattr(model, "exact_primal_", None),
            "exact_dual": getattr(model, "exact_dual_", None),
        }
    dual = dense(model.dual_coef_)
    free = ((dual != 0.0) & ~model.bounded_).any(axis=0)
    binary = len(model.classes_) == 2
    wrong = int(np.sum(model.slack_[model.support_[~free]] >= 1.0)) if binary else None
    return {
        **record,
        "vectors": len(model.support_),
        "on_margin": int(free.sum()),
        "bounded": int((~free).sum()),
        "wrong": wrong,
        "by_class": [
            {"class": label, "vectors": int(count)}
            for label, count in zip(model.classes_.tolist(), model.n_support_, strict=True)
        ],
    }
