"""What every estimator checks before it fits or predicts."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array, validate_data

__all__ = ["check_choice", "check_number", "require_finite", "validate"]

_ROWS = 4096


def check_number(
    name: str,
    value: Any,
    *,
    above: float | None = None,
    minimum: float | None = None,
    finite: bool = True,
    integer: bool = False,
) -> None:
    """Raise ValueError in one sentence unless ``value`` is a number in the range.

    Parameters
    ----------
    name : str
        The parameter's name.
    value : object
    above : float, optional
        Exclusive lower end.
    minimum : float, optional
        Inclusive lower end.
    finite, integer : bool
    """
    kind = numbers.Integral if integer else numbers.Real
    what = "a whole number" if integer else "a number"
    if above is not None:
        what += f" greater than {above:g}"
    if minimum is not None:
        what += f" of at least {minimum:g}"
    # A bool is a number to Python, and a mistake here.
    good = isinstance(value, kind) and value is not True and value is not False
    good = good and not np.isnan(float(value))
    good = good and (above is None or value > above) and (minimum is None or value >= minimum)
    good = good and (not finite or bool(np.isfinite(float(value))))
    if not good:
        raise ValueError(f"{name}={value!r} must be {'a finite' + what[1:] if finite else what}.")


def check_choice(name: str, value: Any, choices: Sequence[Any]) -> None:
    """Raise ValueError in one sentence unless ``value`` is one of ``choices``."""
    if not any(value is c or (isinstance(value, str) and value == c) for c in choices):
        options = ", ".join(repr(c) for c in choices)
        raise ValueError(f"{name}={value!r} is not known; choose one of {options}.")


def _first_bad(x: Any) -> tuple[int, int, float] | None:
    """Row, column and value of the first entry that is not finite."""
    if sp.issparse(x):
        # The sum is finite exactly when all entries are, short of overflow.
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(x.data.sum()):
                return None
        bad = np.flatnonzero(~np.isfinite(x.data))
        if not len(bad):
            return None
        entry = int(bad[0])
        row = int(np.searchsorted(x.indptr, entry, side="right")) - 1
        return row, int(x.indices[entry]), float(x.data[entry])
    for start in range(0, x.shape[0], _ROWS):
        block = x[start : start + _ROWS]
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(block.sum()):
                continue
        places = np.argwhere(~np.isfinite(block))
        if len(places):
            row, column = (int(v) for v in places[0])
            return start + row, column, float(block[row, column])
    return None


def require_finite(x: Any, names: Sequence[str] | None = None) -> None:
    """Raise ValueError naming the first NaN or infinity by row and column.

    Reads the matrix in blocks and allocates no mask of its size.
    """
    found = _first_bad(x)
    if found is None:
        return
    row, column, value = found
    where = f"row {row}, column {column}"
    if names is not None:
        where += f" ({names[column]!r})"
    what = "NaN" if np.isnan(value) else "infinity (inf)"
    raise ValueError(
        f"Input X contains {what} at {where}; fill it in (for instance with "
        "sklearn.impute.SimpleImputer) or drop the row."
    )


def validate(estimator: Any, X: Any, y: Any = "no_validation") -> Any:
    """The matrix that an estimator works on: dense or CSR, float32 or float64, finite.

    With ``y``, to fit: remembers the columns and returns the pair.  Without, to predict or to
    verify: holds the columns to those remembered and returns the matrix.  Nothing is copied
    that is usable as it is.
    """
    # scikit-learn's own mark for "no y here"; None is a y that was forgotten, and an error.
    fitting = not isinstance(y, str)
    accepted: dict[str, Any] = {
        "accept_sparse": "csr",
        "accept_large_sparse": True,
        "dtype": [np.float64, np.float32],
        "ensure_all_finite": False,
    }
    try:
        out = validate_data(estimator, X, y, reset=fitting, **accepted)
    except ValueError:
        if not fitting:
            # Of two things that are wrong, a missing value comes before a missing column.
            require_finite(check_array(X, **accepted))
        raise
    require_finite(out[0] if fitting else out, getattr(estimator, "feature_names_in_", None))
    return out
