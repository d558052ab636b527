"""The checks that every estimator makes before it fits or predicts."""

from __future__ import annotations

import contextlib
import math
import numbers
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_X_y, validate_data

from separatrix._compiled import pool
from separatrix.data.labels import require_weights
from separatrix.messages import Message, Setting, quoted

_ROWS = 4096
# Entries that are added up at a time: little enough for a core's cache.
_ENTRIES = 1 << 17
_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
_MATRICES = (np.ndarray, sp.csr_array, sp.csr_matrix)


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
    # Plain numbers, which most are, need no check by an abstract class.  A bool is a number to
    # Python, and a mistake here.
    plain = type(value) is int or (type(value) is float and not integer)
    kind = numbers.Integral if integer else numbers.Real
    good = plain or (isinstance(value, kind) and value is not True and value is not False)
    if good:
        number = float(value)
        good = math.isfinite(number) or (not finite and not math.isnan(number))
        good = good and (above is None or value > above) and (minimum is None or value >= minimum)
    if not good:
        allowed = "a finite " if finite else "a "
        allowed += "whole number" if integer else "number"
        if above is not None:
            allowed += f" greater than {above:g}"
        if minimum is not None:
            allowed += f" of at least {minimum:g}"
        raise ValueError(Message("out_of_range", setting=Setting(name, value), range=allowed))


def check_share(name: str, value: Any, above: float | None = None) -> None:
    """Raise ValueError in one sentence unless ``value`` is a number from 0 to 1.

    Parameters
    ----------
    name : str
        The parameter's name.
    value : object
    above : float, optional
        Exclusive lower end, in place of 0.
    """
    check_number(name, value, above=above, minimum=0 if above is None else None)
    if value > 1:
        raise ValueError(f"{name}={value!r} must be a number from 0 to 1.")


def is_same(value: Any, other: Any) -> bool:
    """Whether a value of a parameter is another one, of the same kind."""
    if value is other:
        return True
    # True and False are NumPy's as well, which grids of parameters consist of.
    if isinstance(value, (bool, np.bool_)) or isinstance(other, bool):
        return isinstance(value, (bool, np.bool_)) and bool(value) == other
    if isinstance(value, str) or isinstance(other, str) or value is None or other is None:
        return isinstance(value, str) and isinstance(other, str) and value == other
    return bool(np.ndim(value) == 0 and value == other)


def check_choice(name: str, value: Any, choices: Sequence[Any]) -> None:
    """Raise ValueError in one sentence unless ``value`` is one of ``choices``."""
    if not any(is_same(value, choice) for choice in choices):
        options = ", ".join(repr(c) for c in choices)
        raise ValueError(Message("unknown_choice", setting=Setting(name, value), choices=options))


def _place_of(column: Any, names: Sequence[str]) -> int:
    """The index of a column that is given by its name or its index."""
    if isinstance(column, (int, np.integer)) and not isinstance(column, bool):
        if 0 <= column < len(names):
            return int(column)
    elif column in names:
        return list(names).index(column)
    raise ValueError(f"bounds names the column {column!r}, which is not there.")


def _by_place(items: Iterable[tuple[Any, Any]], names: Sequence[str]) -> dict[int, Any]:
    """The values given for columns by name or index, by the index alone."""
    found: dict[int, Any] = {}
    said: dict[int, Any] = {}
    for column, value in items:
        place = _place_of(column, names)
        if place in found:
            raise ValueError(
                f"bounds names the column {names[place]!r} twice, as {said[place]!r} and as "
                f"{column!r}; give it one pair."
            )
        found[place], said[place] = value, column
    return found


def _bounds_of_side(side: str, given: Any, names: Sequence[str]) -> np.ndarray:
    """The lower or the upper bounds of all columns, from a number or one for each of them."""
    none = -math.inf if side == "lower" else math.inf

    def number(value: Any, place: int) -> float:
        if value is None:
            return none
        if isinstance(value, numbers.Real) and value is not True and value is not False:
            with contextlib.suppress(OverflowError):
                return float(value)
        raise ValueError(
            f"bounds has {reprlib.repr(value)} as the {side} bound of column {names[place]!r}; "
            "give a number, or None for no bound."
        )

    out = np.full(len(names), none)
    if hasattr(given, "reindex"):  # a pandas Series, and no array
        if not hasattr(given, "index") or np.ndim(given) != 1:
            raise ValueError(
                f"bounds has {side} bounds of type {type(given).__name__}; give a number, a list "
                "with one for each column, or a Series by the names of the columns."
            )
        # A pandas Series names the columns by its labels, in whatever order they are; it keeps None
        # among numbers as NaN.
        for place, value in _by_place(zip(given.index, given, strict=True), names).items():
            missing = value is None or value is getattr(given.dtype, "na_value", None)
            missing = missing or value != value
            out[place] = none if missing else number(value, place)
        return out
    if isinstance(given, np.ma.MaskedArray):
        given = [None if value is np.ma.masked else value for value in given]
    elif hasattr(given, "__array__"):
        given = np.asarray(given)
    elif isinstance(given, Iterable) and not isinstance(given, Sequence):
        raise ValueError(
            f"bounds has {side} bounds of type {type(given).__name__}, whose order is not that of "
            "the columns; give a list, or a dict of pairs by column."
        )
    listed = isinstance(given, Sequence) and not isinstance(given, (str, bytes))
    shape = (len(given),) if listed else np.shape(given)
    if shape == ():
        out[:] = number(given.item() if isinstance(given, np.ndarray) else given, 0)
    elif shape != out.shape:
        raise ValueError(
            f"bounds has {side} bounds of the shape {shape}; give one number for all columns, or "
            f"one for each of the {len(names):,} columns."
        )
    elif isinstance(given, np.ndarray) and given.dtype.kind in "iuf":
        out[:] = given
    else:
        out[:] = [number(value, place) for place, value in enumerate(given)]
    return out


def column_bounds(bounds: Any, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """The lower and the upper bound of the weight of every column.

    Parameters
    ----------
    bounds : tuple or dict
        A pair of a lower and an upper bound, for all columns or with one a column; or a dict of
        such pairs by a column's name or index, where the others have none. None is no bound, also
        among others, and a Series has its bounds by name or index, too. An index counts columns
        from 0, also where a frame calls its columns by numbers.
    names : sequence of str
        The names of the columns.

    Raises
    ------
    ValueError
        For anything else, a column that is not there or named twice, and bounds that exclude zero.
    """
    sides: list[np.ndarray]
    if isinstance(bounds, Mapping):
        sides = [np.full(len(names), end) for end in (-math.inf, math.inf)]
        for place, pair in _by_place(bounds.items(), names).items():
            found = _pair_of(pair, f"bounds of column {names[place]!r}", "two numbers")
            for side, out, given in zip(("lower", "upper"), sides, found, strict=True):
                out[place] = _bounds_of_side(side, given, names[place : place + 1])[0]
    else:
        pair = _pair_of(
            bounds,
            "bounds",
            f"each a number or one for each of the {len(names):,} columns, or a dict of such pairs "
            "by column",
        )
        sides = [
            _bounds_of_side(k, v, names) for k, v in zip(("lower", "upper"), pair, strict=True)
        ]
    lower, upper = sides
    wrong = np.flatnonzero(~((lower <= 0.0) & (upper >= 0.0)))
    if len(wrong):
        j = wrong[0]
        raise ValueError(
            f"bounds of column {names[j]!r} are {lower[j]:g} and {upper[j]:g}, and have to allow a "
            "weight of zero: lower <= 0 <= upper."
        )
    return lower, upper


def _pair_of(given: Any, what: str, wanted: str) -> tuple[Any, Any]:
    try:
        if isinstance(given, (str, bytes)):
            raise TypeError
        low, high = given
    except (TypeError, ValueError):
        raise ValueError(
            f"{what} must be a pair (lower, upper), {wanted}; got {reprlib.repr(given)}."
        ) from None
    return low, high


def _all_finite(x: np.ndarray) -> bool:
    """Whether all is finite; False where sums overflow, too."""
    if x.size <= _ENTRIES:
        # To share out what is summed in one piece takes longer than to sum it.
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            return math.isfinite(x.sum())
    ranges = pool.ranges(x.shape[0], x.size)
    sums = np.zeros(len(ranges))
    rows = max(1, _ENTRIES * x.shape[0] // max(1, x.size))

    def add(k: int, start: int, stop: int) -> None:
        # Errors are ignored by thread.  A sum is finite where all that is added is.
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            for first in range(start, stop, rows):
                sums[k] += x[first : min(first + rows, stop)].sum()

    pool.run([partial(add, k, a, b) for k, (a, b) in enumerate(ranges)])
    return bool(np.isfinite(sums).all())


def _first_bad(x: Any) -> tuple[int, int, float] | None:
    """Row, column and value of the first entry that is not finite."""
    if _all_finite(x.data if sp.issparse(x) else x):
        return None
    if sp.issparse(x):
        bad = np.flatnonzero(~np.isfinite(x.data))
        if not len(bad):
            return None
        entry = int(bad[0])
        row = int(np.searchsorted(x.indptr, entry, side="right")) - 1
        return row, int(x.indices[entry]), float(x.data[entry])
    for start in range(0, x.shape[0], _ROWS):
        block = x[start : start + _ROWS]
        places = np.argwhere(~np.isfinite(block))
        if len(places):
            row, column = (int(v) for v in places[0])
            return start + row, column, float(block[row, column])
    return None


def require_finite(x: Any, names: Sequence[str] | None = None, *, called: str = "X") -> None:
    """Raise ValueError naming the first NaN or infinity by row and column.

    ``called`` is the name of the matrix in the message. The matrix is read in blocks, without a
    mask of its size.
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
        f"Input {called} contains {what} at {where}; fill it in (for instance with "
        "sklearn.impute.SimpleImputer) or drop the row."
    )


def _targets(y: Any) -> Any:
    """Numbers to predict, in float64; NaN and infinity are named by row."""
    if y is None:
        return y
    try:
        values = np.asarray(y)
        if np.iscomplexobj(values):
            # scikit-learn's own check has a sentence for these.
            return y
        values = values.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        kind = np.asarray(y, dtype=object).ravel()
        for row, value in enumerate(kind):
            if not isinstance(value, numbers.Real):
                raise ValueError(
                    f"y must hold numbers for a regression; entry {row} is {value!r}. For classes "
                    "use a classifier."
                ) from None
        raise
    if values.ndim not in (1, 2):
        return values
    finite = np.isfinite(values)
    if not finite.all():
        place = np.argwhere(~finite)[0]
        where = f"row {int(place[0])}" + (f", column {int(place[1])}" if values.ndim == 2 else "")
        what = "NaN" if np.isnan(values[tuple(place)]) else "infinity (inf)"
        raise ValueError(f"Input y contains {what} at {where}; fill it in or drop the row.")
    return values


def sample_weight_of(sample_weight: Any, X: Any) -> np.ndarray | None:
    """Weights of the rows of ``X`` in float64, or None; a single number is that of every row.

    Raises
    ------
    ValueError
        For a wrong shape, a weight that is no number, not finite or negative (named by row), or
        none that is positive.
    """
    if sample_weight is None:
        return None
    n_samples = X.shape[0]
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError("sample_weight must hold numbers, one for each row.") from error
    if weights.ndim == 0:
        weights = np.full(n_samples, float(weights))
    if weights.shape != (n_samples,):
        raise ValueError(
            f"sample_weight has the shape {weights.shape}; pass one weight for each of the "
            f"{n_samples:,} rows."
        )
    finite = np.isfinite(weights)
    if not finite.all():
        row = int(np.argmin(finite))
        raise ValueError(f"sample_weight must be finite; row {row} has {weights[row]:g}.")
    require_weights(weights)
    require_some_weight(float(weights.max(initial=0.0)))
    return weights


def require_some_weight(weight: float) -> None:
    """Raise ValueError unless the sum of the weights of all rows, or the largest, is positive."""
    if not weight > 0.0:
        raise ValueError(
            "sample_weight is zero for every row; rows of weight zero count as absent, and at "
            "least one weight must be positive."
        )


def require_classes(y: Any) -> None:
    """Raise ValueError for targets that are not classes, by scikit-learn's rules.

    Numbers without a fraction and strings are: to find it out takes scikit-learn a third of a
    small fit.
    """
    if type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "biuSU":
        return
    if getattr(getattr(y, "dtype", None), "kind", "") == "O" and y.ndim == 1:
        missing = [k for k, label in enumerate(y.tolist()) if label is None]
        if missing:
            raise ValueError(
                f"y has no label in row {missing[0]} (None): give it one, or leave out such rows."
            )
    check_classification_targets(y)


def _ready(X: Any, y: Any, kinds: str) -> bool:
    """Whether scikit-learn's checks for a fit would return the very pair.

    ``kinds``: the types that ``y`` may hold; numbers with a fraction only if they are finite.
    """
    return (
        type(X) in _MATRICES
        and X.ndim == 2
        and X.dtype in _FLOATS
        and type(y) is np.ndarray
        and y.ndim == 1
        and y.dtype.kind in kinds
        and X.shape[0] == len(y) > 0
        and X.shape[1] > 0
        and (y.dtype.kind != "f" or bool(np.isfinite(y).all()))
    )


def _usable(estimator: Any, x: Any) -> bool:
    """Whether scikit-learn's checks for a prediction, which take 0.1 ms, would return ``x`` itself.

    A plain array or CSR matrix of the right width, for a model whose columns have no names.
    """
    known = vars(estimator)
    return (
        type(x) in _MATRICES
        and x.ndim == 2
        and x.dtype in _FLOATS
        and "feature_names_in_" not in known
        and x.shape[0] > 0
        and x.shape[1] == known.get("n_features_in_")
    )


def _block_of(X: Any) -> np.ndarray | None:
    """The matrix of a data frame whose columns are of one floating type; None for anything else.

    scikit-learn looks at the type of every column several times, which takes longer than to read
    the numbers of a few hundred columns.
    """
    if type(X).__module__.split(".")[0] != "pandas" or X.ndim != 2 or X.empty:
        return None
    kinds = set(X.dtypes)
    return X.to_numpy() if len(kinds) == 1 and kinds.issubset(_FLOATS) else None


def _knows_columns(estimator: Any, X: Any, fitting: bool) -> bool:
    """Whether all columns of a frame have unique names, which a fit keeps or has kept.

    Other frames are left to scikit-learn, which takes a millisecond for a few hundred columns.
    """
    listed = X.columns.tolist()
    if not X.columns.is_unique or any(type(name) is not str for name in listed):
        return False
    names = np.array(listed, dtype=object)
    if fitting:
        estimator.feature_names_in_, estimator.n_features_in_ = names, len(names)
        return True
    known = vars(estimator).get("feature_names_in_")
    return known is not None and known.shape == names.shape and bool(np.all(known == names))


def _require_numbers(X: Any) -> None:
    """Raise ValueError for the first column of a frame that holds something else, with its row."""
    if not (hasattr(X, "columns") and hasattr(X, "__getitem__") and hasattr(X, "shape")):
        return
    for name in X.columns:
        column = X[name]
        if getattr(column, "ndim", 1) != 1:
            # Two columns of one name.
            continue
        values = np.asarray(column)
        if values.dtype.kind in "biuf":
            continue
        if values.dtype.kind in "mM":
            what = "dates" if values.dtype.kind == "M" else "durations"
            found = f"{what} ({values[0]} in row 0)" if len(values) else what
        else:
            row = next((i for i, v in enumerate(values.tolist()) if not _is_number(v)), None)
            if row is None:
                continue
            found = f"{quoted(values[row], 40)} in row {row}"
        raise ValueError(
            f"column {str(name)!r} holds {found}, and a model needs numbers: encode the column "
            "(sklearn.preprocessing.OneHotEncoder, separatrix.tables), or leave it out."
        )


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        # None and pandas' NA are missing, which is for others to report.
        return value is None or type(value).__name__ == "NAType"
    return True


def validate(
    estimator: Any,
    X: Any,
    y: Any = "no_validation",
    *,
    regression: bool = False,
    finite: bool = True,
    reset: bool | None = None,
    several: bool = False,
) -> Any:
    """The matrix that an estimator works on: dense or CSR, float32 or float64, finite.

    With ``y``, to fit: remembers the columns and returns the pair.  Without, to predict or to
    verify: holds the columns to those remembered and returns the matrix.  Nothing is copied
    that is usable as it is.

    Parameters
    ----------
    estimator : estimator
    X, y : array-like
    regression : bool
        Whether ``y`` holds numbers, of one target or several; it is returned in float64.
    finite : bool
        Whether the matrix is searched for NaN and infinity; it need not be for a fit that sees
        them in its own sums, and then calls :func:`require_finite`.
    reset : bool, optional
        Whether to remember the columns; by default if there is a ``y``.
    several : bool
        Whether rows may have several labels, each a column of ``y``.
    """
    # scikit-learn's own mark for "no y here"; None is a y that was forgotten, and an error.
    labelled = not isinstance(y, str)
    fitting = labelled if reset is None else reset
    if getattr(X, "in_row_blocks", False):
        name = type(estimator).__name__
        if fitting:
            raise TypeError(Message("blocks_to_fit", model=name))
        raise TypeError(Message("blocks_as_matrix", model=name))
    if not labelled and not fitting and _usable(estimator, X):
        if finite:
            require_finite(X)
        return X
    if labelled and fitting and _ready(X, y, "iuf" if regression else "biuU"):
        estimator.n_features_in_ = X.shape[1]
        vars(estimator).pop("feature_names_in_", None)
        if finite:
            require_finite(X)
        return X, y.astype(np.float64, copy=False) if regression else y
    accepted: dict[str, Any] = {
        "accept_sparse": "csr",
        "accept_large_sparse": True,
        "dtype": [np.float64, np.float32],
        "ensure_all_finite": False,
    }
    if regression and labelled:
        y = _targets(y)
        accepted.update(y_numeric=True, multi_output=True)
    elif several:
        accepted.update(multi_output=True)
    try:
        block = _block_of(X)
        if block is None:
            out = validate_data(estimator, X, y, reset=fitting, **accepted)
        else:
            # The names and the number of columns; then the numbers.
            if y is None or not _knows_columns(estimator, X, fitting):
                validate_data(estimator, X, y, reset=fitting, skip_check_array=True)
            accepted["estimator"] = estimator
            out = check_X_y(block, y, **accepted) if labelled else check_array(block, **accepted)
    except (TypeError, ValueError):
        _require_numbers(X)
        if not fitting:
            # Where both are wrong, a missing value is reported before a missing column.
            for option in ("y_numeric", "multi_output"):
                accepted.pop(option, None)
            require_finite(check_array(X, **accepted))
        raise
    if finite:
        require_finite(out[0] if labelled else out, getattr(estimator, "feature_names_in_", None))
    return out
