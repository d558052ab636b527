"""The question whether a hyperplane separates the classes, of a matrix or of row blocks."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from separatrix.data.labels import plain_label
from separatrix.data.validation import check_number
from separatrix.geometry.points import labelled_points
from separatrix.geometry.separation.in_passes import separability_in_passes
from separatrix.geometry.separation.separability import Separability, SeparabilityTable, decide
from separatrix.geometry.separation.witness import Sides
from separatrix.scale.blocks import BlockedData


def separability(
    X: Any,
    y: Any = None,
    *,
    fit_intercept: bool = True,
    margin: bool = True,
    time_limit: float | None = None,
    engine: Any = None,
) -> Separability | SeparabilityTable:
    r"""Decide whether a hyperplane separates the classes, and prove it.

    By Gordan's theorem (1873) exactly one of two things is true of the points :math:`x_i` with
    signs :math:`y_i`: there is a hyperplane with every :math:`y_i (w\cdot x_i + b) > 0`, or
    there are multipliers :math:`\alpha \ge 0`, not all zero, with
    :math:`\sum \alpha_i y_i x_i = 0` and :math:`\sum \alpha_i y_i = 0`: a point that the convex
    hulls of the two classes share.  Either is returned as a witness that holds exactly, of the
    floats as they are stored, whatever their size; no tolerance is involved.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features), or BlockedData
        Used where it lies, without a copy, if float32 or float64 and dense or CSR. Row blocks, of
        :func:`separatrix.scale.scan`, are gone through in passes, and have labels of their own.
    y : array-like of shape (n_samples,)
        Labels of two classes or more.  If there are two, the second in sorted order is positive.
    fit_intercept : bool, default=True
        Hyperplanes with an offset; False: through the origin.
    margin : bool, default=True
        Also find the largest margin, where there is one, between two certified bounds; not for row
        blocks.
    time_limit : float, optional
        Seconds; a verdict that is not there by then is "undecided".
    engine : separatrix.scale.Engine, optional
        The engine of the passes over row blocks; by default the threads of this process.

    Returns
    -------
    Separability, for two classes
    SeparabilityTable, for more
        The verdicts on pairs and on each class against the rest.

    Raises
    ------
    ValueError
        For NaN or infinity (named by row and column), or one class only.

    References
    ----------
    Albert and Anderson (1984), On the existence of maximum likelihood estimates in logistic
    regression models.  Konis (2007), Linear programming algorithms for detecting separated data.

    Examples
    --------
    >>> from separatrix import separability
    >>> X = [[0, 0], [1, 1], [1, 0], [0, 1]]
    >>> verdict = separability(X, [0, 0, 1, 1])
    >>> print(verdict)
    not separable: a weighted mean of some points of 1 is
    exactly a weighted mean of points of the other class, 4 points in all
    >>> [str(a) for a in verdict.witness.multipliers]
    ['1/4', '1/4', '1/4', '1/4']
    >>> print(verdict.witness.check(X, [0, 0, 1, 1]))
    a point common to the convex hulls of the two classes, from 4 rows;
    and no hyperplane has all points on their own sides
    """
    if time_limit is not None:
        check_number("time_limit", time_limit, above=0)
    if isinstance(X, BlockedData):
        if y is not None:
            raise ValueError(
                "y is given, but row blocks contain their target: name it in scan instead."
            )
        return separability_in_passes(
            X, fit_intercept=fit_intercept, time_limit=time_limit, engine=engine
        )
    points = labelled_points(X, y)
    start = time.perf_counter()
    deadline = np.inf if time_limit is None else start + time_limit

    def verdict(sides: Sides) -> Separability:
        return decide(points, sides, fit_intercept=fit_intercept, margin=margin, deadline=deadline)

    classes = [plain_label(c) for c in points.labels.classes]
    return SeparabilityTable.of(classes, verdict)
