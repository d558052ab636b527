"""What becomes of every parameter of scikit-learn's classes, as a table."""

from __future__ import annotations

import importlib
import inspect

from separatrix.migration.installing import CLASSES, originals

__all__ = ["parameter_table"]

# Parameters of both that mean something else here, or more.
_HERE = {
    "tol": "the certified relative gap, `{default}` by default",
    "max_iter": "of the method that is chosen here, `{default}` by default",
    "solver": 'its names stand for `"auto"`',
    "verbose": "1 prints certificate checks to stderr",
    "random_state": "for methods that visit rows at random; it moves answers by no more than `tol`",
    "penalty": 'as there; `"deprecated"` leaves it to `l1_ratio`',
    "eta0": 'as there, or `"search"`, the default',
    "average": 'as there, or `"linear"`, the default',
    "learning_rate": "as there, or a schedule; `adaptive` is `invscaling`; no `pa1`, `pa2`",
    "loss": "as there",
    "cv": "as there; None is 5 folds",
    "scoring": "as there; `score` uses it, too",
    "class_weight": "as there",
}
# Exceptions to these.
_BY_CLASS = {
    ("LinearSVC", "penalty"): "as there",
    ("LinearSVC", "loss"): "as there",
    ("LinearSVR", "loss"): "as there",
    ("SGDClassifier", "penalty"): "as there; with L1 all rows are looked at once",
    ("SGDClassifier", "loss"): "as there",
    ("SGDRegressor", "penalty"): "as there",
    ("SGDRegressor", "eta0"): "as there",
    ("SGDRegressor", "average"): "as there, of `partial_fit`",
    ("SGDClassifier", "tol"): "the certified relative gap; where steps are given, "
    "as there, and None asks for all passes",
    ("HuberRegressor", "max_iter"): "as there",
    **{
        (name, "cv"): "as there; None leaves out every row"
        for name in ("RidgeCV", "RidgeClassifierCV")
    },
}


def parameter_table() -> str:
    """Markdown, by the signatures of scikit-learn's classes as installed.

    Returns
    -------
    str
        A table for each class: the parameter, its default there, and what it does here.

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
        known = inspect.signature(ours).parameters
        out += [f"### {name}", "", "| parameter | there | here |", "|---|---|---|"]
        for key, parameter in inspect.signature(originals()[name]).parameters.items():
            inherited = getattr(ours, "_inherited", {})
            if key in inherited:
                text = inherited[key].meaning.replace("``", "`")
                text = text.replace(":func:", "").replace(":meth:", "")
            else:
                text = _BY_CLASS.get((name, key)) or _HERE.get(key, "as there")
                text = text.format(default=known[key].default)
            out.append(f"| `{key}` | `{parameter.default!r}` | {text} |")
        out.append("")
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    print(parameter_table(), end="")
