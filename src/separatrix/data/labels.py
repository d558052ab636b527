"""Labels: encoding, weights by class, and the split of K classes into binary problems."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import column_or_1d
from sklearn.utils.class_weight import compute_class_weight

from separatrix.messages import Message, Setting

# Whole numbers have a table where the greatest is less than this above the least.
_TABLE = 1 << 16


def plain_label(label: Any) -> Any:
    """A label, or another value of NumPy's, as Python's own number or text."""
    return label.item() if hasattr(label, "item") else label


@dataclass(frozen=True)
class Labels:
    """Encoded labels.

    Attributes
    ----------
    classes : ndarray of shape (K,)
        The distinct labels, sorted.
    codes : ndarray of shape (n_samples,)
        Position of every label in ``classes``.
    weights : ndarray of shape (n_samples,) or None
        Sample weight times class weight; None where both are one everywhere.
    total : float
        Sum of the sample weights alone: the ``n`` of the ``lam`` form.
    sample_weight : ndarray of shape (n_samples,) or None
        The sample weights alone.
    absent : int
        Classes that are known and have no row here; they are not among ``classes``.
    """

    classes: np.ndarray
    codes: np.ndarray
    weights: np.ndarray | None
    total: float
    sample_weight: np.ndarray | None = None
    absent: int = 0

    @property
    def binary(self) -> bool:
        return len(self.classes) + self.absent == 2

    @property
    def weight(self) -> float:
        """The sum of the weights of the rows, with those of their classes."""
        return self.total if self.weights is None else float(self.weights.sum())

    @property
    def class_totals(self) -> np.ndarray:
        """The sums of the sample weights, by class."""
        out: np.ndarray = np.bincount(
            self.codes, weights=self.sample_weight, minlength=len(self.classes)
        )
        return out

    def signs(self, k: int = 1) -> np.ndarray:
        """+1 for class ``k``, -1 for the rest; for two classes the second is positive."""
        return np.where(self.codes == k, 1.0, -1.0)

    def without(
        self, rows: np.ndarray, class_weight: Any = None, *, lacking: str = "refuse"
    ) -> Labels:
        """The labels when some rows are left out: their weight is zero, which is no row.

        Class weights are those of the rows that remain.  Classes that have no other rows are
        left out where ``lacking`` is ``"drop"``, stay where it is ``"keep"``, and are otherwise
        refused.

        Raises
        ------
        ValueError
            If a class has no other rows, and ``lacking`` is ``"refuse"``.
        """
        n = len(self.codes)
        sample = np.ones(n) if self.sample_weight is None else self.sample_weight.copy()
        sample[rows] = 0.0
        left = np.bincount(self.codes, weights=sample, minlength=len(self.classes))
        if not left.all() and lacking == "drop":
            there = left > 0.0
            # Rows of a class that is absent weigh nothing, so any code does.
            codes = np.maximum(np.cumsum(there)[self.codes] - 1, 0).astype(self.codes.dtype)
            classes = self.classes[there]
            weights = merge_weights(classes[codes], sample, class_weight)
            absent = int(np.sum(~there))
            return Labels(classes, codes, weights, float(sample.sum()), sample, absent)
        if not left.all() and lacking == "refuse":
            label = plain_label(self.classes[int(np.argmin(left > 0.0))])
            raise ValueError(Message("rows_of_a_fold", label=repr(label), cv=Setting("cv", 5)))
        weights = merge_weights(self.classes[self.codes], sample, class_weight)
        return Labels(self.classes, self.codes, weights, float(sample.sum()), sample)

    def parts(self) -> list[tuple[str, np.ndarray]]:
        """One-vs-rest: a name and signs for each binary problem; one for two classes."""
        if self.binary:
            return [("", self.signs())]
        return [(str(c), self.signs(k)) for k, c in enumerate(self.classes)]

    def pairs(self) -> list[tuple[str, np.ndarray, np.ndarray]]:
        """One-vs-one: for each pair of classes a name, its rows and signs, +1 for the first class.

        Rows of weight zero are left out.  With two classes the second is positive, and all rows
        are there.
        """
        if self.binary:
            return [("", np.arange(len(self.codes)), self.signs())]
        used = np.ones(len(self.codes), dtype=bool) if self.weights is None else self.weights > 0.0
        rows_of = [np.flatnonzero((self.codes == k) & used) for k in range(len(self.classes))]
        out = []
        for first, second in itertools.combinations(range(len(self.classes)), 2):
            rows = np.concatenate([rows_of[first], rows_of[second]])
            signs = np.repeat([1.0, -1.0], [len(rows_of[first]), len(rows_of[second])])
            out.append((f"{self.classes[first]} vs {self.classes[second]}", rows, signs))
        return out


def is_pipeline(model: Any) -> bool:
    """Whether a model is a pipeline: ``steps`` of a perceptron is a method."""
    return isinstance(getattr(model, "steps", None), list)


def scores_by_class(model: Any, scores: np.ndarray) -> np.ndarray:
    """A classifier's scores, one a class also where it, or the pipeline's end, gives one a pair."""
    last = model.steps[-1][1] if is_pipeline(model) else model
    if scores.ndim == 2 and getattr(last, "decision_function_shape", None) == "ovo":
        return one_vs_one_scores(scores, len(model.classes_))
    return scores


def one_vs_one_scores(decisions: np.ndarray, n_classes: int) -> np.ndarray:
    """Scores of classes from those of all their pairs: votes, and confidence where votes tie.

    Parameters
    ----------
    decisions : ndarray of shape (n_samples, n_pairs)
        Pairs in the order (0, 1), (0, 2), ..., (1, 2), ...; positive, or zero, for the first.
    n_classes : int

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
        The number of pairs won, plus the sum of the signed scores squeezed into (-1/3, 1/3), so
        that it decides between equal numbers of votes alone.
    """
    pairs = np.array([*itertools.combinations(range(n_classes), 2)]).T
    first, second = (one_hot(of_pair, n_classes) for of_pair in pairs)
    won = (decisions >= 0.0).astype(np.float64)
    votes = won @ first + (1.0 - won) @ second
    # An infinite score counts for its own two classes alone.
    confidence = np.clip(decisions, -1e300, 1e300) @ (first - second)
    return votes + confidence / (3.0 * (np.abs(confidence) + 1.0))


def encode(y: np.ndarray, sample_weight: np.ndarray | None, class_weight: Any) -> Labels:
    """Encode labels and merge the weights.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
    sample_weight : ndarray of shape (n_samples,) or None
    class_weight : dict, "balanced" or None

    Raises
    ------
    ValueError
        For fewer than two classes of positive weight, or negative weights.
    """
    if sample_weight is not None:
        require_weights(sample_weight)
    weights = merge_weights(y, sample_weight, class_weight)
    # A weight of zero is the same as no row: a class that has no other rows is not there.
    classes, codes = _coded(y, None if weights is None else weights > 0)
    if len(classes) < 2:
        only = repr(classes[0].item()) if len(classes) else "none"
        where = "" if weights is None else " of positive weight"
        raise ValueError(
            f"y has one class only{where} ({only}); a classifier needs rows of at least two "
            "classes."
        )
    total = float(len(y) if sample_weight is None else sample_weight.sum())
    return Labels(classes, codes, weights, total, sample_weight)


def _coded(y: np.ndarray, used: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """The sorted labels of the rows in use, and the position of every row's among them."""
    if y.dtype.kind in "iu" and len(y):
        low, high = int(y.min()), int(y.max())
        if high - low < _TABLE and high < 2**63:
            # Whole numbers that lie together: a look into a table, where sorting half a million
            # of them takes as long as a tenth of a fit.
            places = y.astype(np.int64) - low
            seen = np.bincount(places if used is None else places[used], minlength=high - low + 1)
            present = seen > 0
            classes = (np.flatnonzero(present) + low).astype(y.dtype)
            return classes, np.where(present, np.cumsum(present) - 1, 0)[places]
    classes = np.unique(y if used is None else y[used])
    # Without any the caller refuses.
    return classes, codes_of(y, classes) if len(classes) else np.zeros(len(y), dtype=np.intp)


def known_classes(given: Any, earlier: np.ndarray | None) -> np.ndarray:
    """The sorted labels of all calls of ``partial_fit``.

    Parameters
    ----------
    given : array-like or None
        The labels that this call states.
    earlier : ndarray or None
        The labels that the calls before settled.

    Raises
    ------
    ValueError
        If they are not given, if there are fewer than two, or if they differ from the earlier ones.
    """
    if given is None:
        if earlier is None:
            raise ValueError(
                "classes must be given in the first call of partial_fit, with all labels that will "
                "ever occur."
            )
        return earlier
    classes = np.unique(column_or_1d(given))
    if len(classes) < 2:
        raise ValueError(
            f"classes={classes.tolist()!r} must name at least two labels; a classifier needs two."
        )
    if earlier is not None and not np.array_equal(classes, earlier):
        raise ValueError(
            f"classes={classes.tolist()!r} differ from those of earlier calls, "
            f"{earlier.tolist()!r}; make a new model."
        )
    return classes


def encode_among(
    classes: np.ndarray,
    y: np.ndarray,
    sample_weight: np.ndarray | None = None,
    class_weight: Any = None,
) -> Labels:
    """Encode the labels of one call of ``partial_fit``, which need not show all classes.

    Raises
    ------
    ValueError
        For a label that is none of ``classes``, negative weights, or ``class_weight="balanced"``,
        which needs to know all rows.
    """
    if isinstance(class_weight, str):
        raise ValueError(
            f"class_weight={class_weight!r} needs all rows, and a call of partial_fit has only a "
            "part of them; pass the weights as a dict."
        )
    if sample_weight is not None:
        require_weights(sample_weight)
    listed = f"is not in classes={classes.tolist()!r}; list all labels in the first call of"
    _require_known(y, classes, f"{listed} partial_fit.")
    codes = codes_of(y, classes)
    weights = sample_weight
    if class_weight is not None:
        weights = class_factors(y, classes, None, class_weight)[codes]
        weights = weights if sample_weight is None else weights * sample_weight
    total = float(len(y) if sample_weight is None else sample_weight.sum())
    return Labels(classes, codes, weights, total, sample_weight)


def _require_known(y: np.ndarray, classes: np.ndarray, why: str) -> None:
    """Raise ValueError for the first label that is none of the classes."""
    unknown = np.flatnonzero(~np.isin(y, classes))
    if len(unknown):
        label = y[unknown[:1]].tolist()[0]
        raise ValueError(f"Row {unknown[0]} has the label {label!r}, which {why}")


def encode_as(
    classes: Any,
    y: Any,
    n: int,
    sample_weight: np.ndarray | None = None,
    class_weight: Any = None,
) -> Labels:
    """Encode the labels of the ``n`` rows that a model was trained on by its classes.

    Raises
    ------
    ValueError
        For another number of labels, or one that is none of ``classes``.
    """
    y, classes = np.asarray(y), np.asarray(classes)
    if y.ndim != 1 or len(y) != n:
        raise ValueError(f"y must hold one label for each of the {n} rows; its shape is {y.shape}.")
    _require_known(y, classes, "the model was not trained on; pass the training data.")
    total = float(n if sample_weight is None else sample_weight.sum())
    weights = merge_weights(y, sample_weight, class_weight)
    return Labels(classes, codes_of(y, classes), weights, total, sample_weight)


def require_weights(sample_weight: np.ndarray) -> None:
    """Raise ValueError naming the first negative weight."""
    if np.any(sample_weight < 0):
        row = int(np.flatnonzero(sample_weight < 0)[0])
        raise ValueError(
            f"sample_weight must not be negative; row {row} has {sample_weight[row]:g}."
        )


def indicator(y: Any, n: int) -> np.ndarray:
    """The labels that each of ``n`` rows has among several, as zeros and ones.

    Parameters
    ----------
    y : array-like or sparse matrix of shape (n, K)

    Raises
    ------
    ValueError
        For another shape, or for the first entry that is neither 0 nor 1, with row and column.

    Examples
    --------
    >>> from separatrix.data.labels import indicator
    >>> indicator([[True, False], [True, True]], 2).tolist()
    [[1, 0], [1, 1]]
    """
    present = y.toarray() if sp.issparse(y) else np.asarray(y)
    if present.ndim != 2 or len(present) != n:
        raise ValueError(
            f"y must hold a row of labels for each of the {n} rows; its shape is {present.shape}."
        )
    wrong = np.argwhere((present != 0) & (present != 1))
    if len(wrong):
        row, column = wrong[0]
        raise ValueError(
            f"y has {present[row, column]!s} in row {row}, column {column}; where a row has "
            "several labels, y must have 1 for each of them and 0 for the others."
        )
    return present.astype(np.int64)


def one_hot(codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Targets of which each row has a 1 in the column of its class and 0 in the others.

    Parameters
    ----------
    codes : ndarray of shape (n_samples,)
        Class numbers from 0.
    n_classes : int

    Returns
    -------
    ndarray of shape (n_samples, n_classes)

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.data.labels import one_hot
    >>> one_hot(np.array([0, 2, 1]), 3).tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    # Column by column in memory, as least squares with several targets reads it.
    targets = np.zeros((len(codes), n_classes), order="F")
    targets[np.arange(len(codes)), codes] = 1.0
    return targets


def targets_of(codes: np.ndarray, n_classes: int, other: float = 0.0) -> np.ndarray:
    """Numbers that stand for classes in least squares.

    Parameters
    ----------
    codes : ndarray of shape (n_samples,)
    n_classes : int
    other : float, default=0.0
        The number that stands for the other classes, where there are more than two.

    Returns
    -------
    ndarray of shape (n_samples, 1), or (n_samples, n_classes) for more than two classes
        The targets: for two classes -1 and +1, for more 1 in the column of the row's own class.
    """
    if n_classes == 2:
        return np.where(codes == 1, 1.0, -1.0)[:, None]
    present = one_hot(codes, n_classes)
    return present if other == 0.0 else other + (1.0 - other) * present


def codes_of(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Position of every label among sorted classes; 0 for a label of no class."""
    codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    codes[classes[codes] != y] = 0
    return codes


def merge_weights(
    y: np.ndarray, sample_weight: np.ndarray | None, class_weight: Any
) -> np.ndarray | None:
    """Sample weight times class weight; None where there is neither."""
    if class_weight is None:
        return sample_weight
    used = np.ones(len(y), dtype=bool) if sample_weight is None else sample_weight > 0
    classes = np.unique(y[used])
    factors = class_factors(y, classes, sample_weight, class_weight)
    by_row = np.where(used, factors[codes_of(y, classes)], 0.0)
    return by_row if sample_weight is None else sample_weight * by_row


def class_factors(
    y: np.ndarray, classes: np.ndarray, sample_weight: np.ndarray | None, class_weight: Any
) -> np.ndarray:
    """The weight of every class that has rows of positive weight."""
    used = slice(None) if sample_weight is None else sample_weight > 0
    factors = compute_class_weight(
        class_weight,
        classes=classes,
        y=y[used],
        sample_weight=None if sample_weight is None else sample_weight[used],
    )
    if np.any(factors < 0):
        raise ValueError("class_weight must not be negative.")
    return factors


def factors_of_totals(classes: np.ndarray, totals: np.ndarray, class_weight: Any) -> np.ndarray:
    """:func:`class_factors` where only the sums of the sample weights by class are known.

    Parameters
    ----------
    classes : ndarray of shape (K,)
    totals : ndarray of shape (K,)
    class_weight : dict, "balanced" or None

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.data.labels import factors_of_totals
    >>> factors_of_totals(np.array(["a", "b"]), np.array([3.0, 1.0]), "balanced").tolist()
    [0.6666666666666666, 2.0]
    """
    # One row for each class, of its whole weight: "balanced" goes by nothing else.
    used = totals > 0.0
    out = np.ones(len(classes))
    out[used] = class_factors(classes[used], classes[used], totals[used], class_weight)
    return out
