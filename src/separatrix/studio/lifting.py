"""The features that points are lifted by before a linear model is fitted to them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from separatrix.kernels import PolynomialKernel

# The kernel (x.z + 1)^2: the first coordinate of its lift is constant and left to the intercept.
_KERNEL = PolynomialKernel(degree=2, gamma=1.0, coef0=1.0)
_COLUMNS: dict[str, tuple[Callable[[np.ndarray, np.ndarray], np.ndarray], str]] = {
    "x2": (lambda x, y: x * x, "X[:, 0] ** 2"),
    "xy": (lambda x, y: x * y, "X[:, 0] * X[:, 1]"),
    "y2": (lambda x, y: y * y, "X[:, 1] ** 2"),
    "sinx": (lambda x, y: np.sin(x), "np.sin(X[:, 0])"),
}


def lifted(places: np.ndarray, features: tuple[str, ...]) -> np.ndarray:
    """Points with their features: the two coordinates, and a column for each that was chosen.

    With ``"poly"``, the coordinates of the polynomial kernel replace all of these.

    Parameters
    ----------
    places : ndarray of shape (n, 2)
    features : tuple of str

    Returns
    -------
    ndarray of shape (n, n_features)
    """
    if "poly" in features:
        return _KERNEL.lift(places)[:, 1:]
    x, y = places.T
    return np.column_stack([places, *(_COLUMNS[name][0](x, y) for name in features)])


def lifting_code(features: tuple[str, ...]) -> list[str]:
    """Lines of Python that lift ``X`` as :func:`lifted` does."""
    if "poly" in features:
        return ["from separatrix.kernels import PolynomialKernel",
                f"X = {_KERNEL!r}.lift(X)[:, 1:]  # without the constant"]  # fmt: skip
    columns = ", ".join(["X", *(_COLUMNS[name][1] for name in features)])
    return [f"X = np.column_stack([{columns}])"] if features else []
