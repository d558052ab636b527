"""The record of a fit: bounds against iteration and seconds, and every iterate on request."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Update:
    """One correction of a mistake-driven method.

    The arrays are read-only: the weights after one update and before the next are the same one.

    Attributes
    ----------
    sample : int
        The row that was on the wrong side, on the plane, or within the margin.
    epoch : int
        The pass over the data, from 1.
    coef_before : ndarray of shape (n_features,)
        Weights before the update.
    intercept_before : float
        Intercept before the update.
    coef : ndarray of shape (n_features,)
        Weights after the update.
    intercept : float
        Intercept after the update.
    mistakes : int
        The number of updates that ``sample`` has caused so far, with this one.
    """

    sample: int
    epoch: int
    coef_before: np.ndarray
    intercept_before: float
    coef: np.ndarray
    intercept: float
    mistakes: int


@dataclass(frozen=True)
class Stretch:
    """Visits of a mistake-driven method in succession at the same weights.

    Attributes
    ----------
    epoch : int
        The pass over the data, from 1.
    samples : ndarray of int
        The rows that were visited.
    scores : ndarray
        The scores of these rows at the visits.
    corrected : bool
        Whether the last visit was a mistake and changed the weights; the others changed nothing.
    """

    epoch: int
    samples: np.ndarray
    scores: np.ndarray
    corrected: bool


@dataclass
class Trace:
    """The record of a fit, filled in by the driver when ``record=True``.

    Attributes
    ----------
    part : str
        The name of the binary problem, where there are several.
    iterations, seconds, primal, dual : list
        One entry for each certificate check.  ``primal`` is the objective at that iterate,
        ``dual`` the best lower bound so far.
    coef, intercept : list
        The iterate at each check.
    n_support, n_bounded : list of int
        For a kernel machine, one entry for each check: the number of multipliers that are not zero
        (the support vectors), and the number of these that are at their upper end.
    updates : list of Update
        The single corrections, for a perceptron.
    stretches : list of Stretch
        All visits of a perceptron, where ``record="visits"``.
    forecast : dict of str to float
        For a method that was chosen by its cost: the forecast of each method that was considered,
        in passes over the rows.
    methods : list of tuple (int, str)
        For such a method: the iteration after which each method began, and its name.

    Examples
    --------
    >>> from separatrix import Perceptron
    >>> X, y = [[-1, 3], [-1, -1], [3, -1], [0, 1.5]], [-1, -1, 1, 1]
    >>> trace = Perceptron(record=True).fit(X, y).trace_
    >>> [update.sample for update in trace.updates]
    [0, 1, 3, 3, 0, 3, 3, 0, 3]
    """

    part: str = ""
    iterations: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    primal: list[float] = field(default_factory=list)
    dual: list[float] = field(default_factory=list)
    coef: list[np.ndarray] = field(default_factory=list)
    intercept: list[np.ndarray] = field(default_factory=list)
    n_support: list[int] = field(default_factory=list)
    n_bounded: list[int] = field(default_factory=list)
    updates: list[Update] = field(default_factory=list)
    stretches: list[Stretch] = field(default_factory=list)
    forecast: dict[str, float] = field(default_factory=dict)
    methods: list[tuple[int, str]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.iterations)

    def extend(self, later: Trace, iteration: int, seconds: float) -> None:
        """Append the record of what followed, which began at this iteration and second.

        Parameters
        ----------
        later : Trace
        iteration : int
        seconds : float
        """
        # The first point of the later record is the last one here.
        begin = int(self.iterations[-1:] == [iteration])
        best = max(self.dual, default=-np.inf)
        self.iterations += [iteration + k for k in later.iterations[begin:]]
        self.seconds += [seconds + s for s in later.seconds[begin:]]
        self.dual += [max(best, dual) for dual in later.dual[begin:]]
        for name in ("primal", "coef", "intercept", "n_support", "n_bounded"):
            getattr(self, name).extend(getattr(later, name)[begin:])
        self.updates += later.updates
        self.forecast = self.forecast or later.forecast
        self.methods += [(iteration + k, method) for k, method in later.methods]

    @property
    def gap(self) -> np.ndarray:
        """``primal - dual`` at each check."""
        return np.asarray(self.primal) - np.asarray(self.dual)

    def running_mistakes(self, n_samples: int) -> np.ndarray:
        """The number of updates that each row has caused, after each update.

        It is computed on request: it has as many numbers as there are updates times rows.

        Parameters
        ----------
        n_samples : int
            The number of rows of the training data.

        Returns
        -------
        ndarray of shape (n_updates, n_samples)
            Its last row is ``Perceptron.mistakes_``.

        Raises
        ------
        ValueError
            If a recorded row is beyond ``n_samples``.

        Examples
        --------
        >>> from separatrix import Perceptron
        >>> model = Perceptron(fit_intercept=False, record=True)
        >>> model = model.fit([[-1, -1], [1, 0], [-1, 1.5]], [1, -1, 1])
        >>> model.trace_.running_mistakes(3).tolist()
        [[1, 0, 0], [1, 0, 1]]
        """
        samples = np.array([update.sample for update in self.updates], dtype=np.intp)
        if len(samples) and samples.max() >= n_samples:
            raise ValueError(
                f"n_samples={n_samples} is too small: the record has an update on row "
                f"{samples.max()}."
            )
        counts = np.zeros((len(samples), n_samples), dtype=np.int64)
        counts[np.arange(len(samples)), samples] = 1
        return np.cumsum(counts, axis=0, out=counts)
