"""What becomes of every parameter of scikit-learn's classes, as a table."""

from __future__ import annotations

import importlib
import inspect

from separatrix.migration.installing import CLASSES, originals
from separatrix.models.parameters import CompatParameter

__all__ = ["parameter_table"]

# Parameters of both that mean something else here, or more.
_HERE = {
    "tol": "the certified relative gap, `{default}` by default",
    "max_iter": "the limit of iterations of the method, `{default}` by default",
    "solver": 'its names mean `"auto"`',
    "verbose": "1 prints the checks of the certificate to stderr",
    "random_state": "the seed of methods that visit rows in random order; it changes results by no "
    "more than `tol`",
    "penalty": 'the same; with `"deprecated"`, `l1_ratio` decides',
    "eta0": 'the same, or `"search"`, the default',
    "average": 'the same, or `"linear"`, the default',
    "learning_rate": "the same, or a schedule; `adaptive` is `invscaling`; no `pa1`, `pa2`",
    "loss": "the same",
    "cv": "the same; None is 5 folds",
    "scoring": "the same; `score` also uses it",
    "class_weight": "the same",
}
# Exceptions to these.
_BY_CLASS = {
    ("LinearSVC", "penalty"): "the same",
    ("LinearSVC", "loss"): "the same",
    ("LinearSVR", "loss"): "the same",
    ("SGDClassifier", "penalty"): "the same; with L1 the solver uses all rows at once",
    ("SGDClassifier", "loss"): "the same",
    ("SGDRegressor", "penalty"): "the same",
    ("SGDRegressor", "eta0"): "the same",
    ("SGDRegressor", "average"): "the same, for `partial_fit`",
    ("SGDClassifier", "tol"): "the certified relative gap; with chosen steps the same, and None "
    "makes all passes",
    ("HuberRegressor", "max_iter"): "the same",
    **{
        (name, "cv"): "the same; None is leave-one-out" for name in ("RidgeCV", "RidgeClassifierCV")
    },
}


def parameter_table() -> str:
    """Markdown, by the signatures of scikit-learn's classes as installed.

    Returns
    -------
    str
        A table for each class: the parameter, its default in scikit-learn, and what it does here.

    Examples
    --------
    >>> from separatrix.migration.parameters import parameter_table
    >>> print(parameter_table().splitlines()[0])
    ### ElasticNet
    """
    library = importlib.import_module("separatrix")
    out = []
    for name in sorted(name for names in CLASSES.values() for name in names):
        ours = getattr(library, name)
        out += [
            f"### {name}",
            "",
            "| parameter | default of scikit-learn | here |",
            "|---|---|---|",
        ]
        for key, parameter in inspect.signature(originals()[name]).parameters.items():
            declared = ours._parameters[key]
            if isinstance(declared, CompatParameter):
                text = declared.meaning.replace("``", "`")
                text = text.replace(":func:", "").replace(":meth:", "")
            else:
                text = _BY_CLASS.get((name, key)) or _HERE.get(key, "the same")
                text = text.format(default=declared.default)
            out.append(f"| `{key}` | `{parameter.default!r}` | {text} |")
        out.append("")
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    print(parameter_table(), end="")
