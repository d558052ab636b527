"""Maps from points with many features to points of a picture, with notes that describe them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from separatrix.data.labels import is_pipeline, scores_by_class
from separatrix.geometry.directions import main_direction, mean_row, oriented, scatter_along
from separatrix.geometry.discriminant import Discriminant, Quadric
from separatrix.geometry.hyperplane import Hyperplane, design_of
from separatrix.plots.fitted import (
    column_names,
    last_step,
    quietly,
    take_rows,
    two_columns,
    two_labels,
)
from separatrix.plots.style import plain

# The most rows that are used to choose columns, and to count those in the region of their class.
_LOOK = 1_000
# The largest number of held columns that are named.
_NAMED = 3
# Probabilities that differ by less than this are equal.
_TIE = 1e-12
# A slice that no argument named is refused where it places a smaller share of the rows right.
_RIGHT = 0.5


@dataclass(frozen=True, eq=False, repr=False)
class View:
    """A plane, and the map of points of ``d`` features to it.

    Made by :meth:`of`.  Every point ``p`` of the picture stands for the point ``origin + p @
    basis`` of the space of features, where the model is evaluated.

    Attributes
    ----------
    kind : str
        ``"plane"``: the two features themselves.  ``"line"``: the only feature, and the score.
        ``"distance"``: the signed distance from a hyperplane, and the main direction within it.
        ``"span"``: the plane that the weights of three classes span.  ``"slice"``: two features,
        or two directions, with the rest held.
    xlabel, ylabel : str
        The labels of the axes, ready to be shown.
    note : str
        A description of what is shown, where it is not the features themselves; else empty.
    exact : bool
        Whether the model predicts for every row the class of its place in the picture.
    isometric : bool
        Whether lengths in the picture are lengths in the space of features.
    origin : ndarray of shape (d,)
    basis : ndarray of shape (2, d)
    classes : ndarray
        The labels of the classes that are distinguished.
    model : object
        The model that is evaluated on :meth:`inverse`: the last step of a pipeline, if the space
        of the picture is the one that its other steps lead to.
    steps : object or None
        The other steps of such a pipeline.
    """

    kind: str
    model: Any
    classes: np.ndarray
    origin: np.ndarray
    basis: np.ndarray
    xlabel: str
    ylabel: str
    note: str = ""
    exact: bool = True
    isometric: bool = False
    steps: Any = None
    # Scores of the classes as linear functions of the whole space, where they are.
    linear: tuple[np.ndarray, np.ndarray] | None = None
    hyperplane: Hyperplane | None = None
    columns: tuple[int, int] | None = None
    frame: Any = None
    sparse: bool = False
    # The value of every feature in a slice along two of them.
    held: Sequence[Any] | None = None

    # --- how it is chosen ---------------------------------------------------------------------

    @classmethod
    def of(
        cls,
        model: Any,
        X: Any,
        *,
        features: Sequence[Any] | None = None,
        at: Any = None,
        classes: Sequence[Any] | None = None,
    ) -> View:
        """The view of a fitted model and data that shows most, without distortion if possible.

        Two features are shown as they are, and a single one against the model's score.  With more
        features, a linear model of two classes is shown by the signed distance from its hyperplane,
        so that the boundary is exactly a vertical line, and the main direction within the
        hyperplane (first principal component of what is orthogonal to the weights); a linear model
        of three classes in the plane that its weights span, which holds the regions exactly; one of
        more classes in a slice through the mean; and any other model in a slice along two features.

        Parameters
        ----------
        model : object
            A fitted model of any library, with ``classes_`` and ``decision_function`` or
            ``predict_proba``.  For a pipeline whose last step is linear, the space is the one that
            its other steps lead to.
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
            Sparse data are never made dense as a whole.
        features : two names or positions of columns, optional
            The columns of the slice to show.
        at : array-like of shape (n_features,), or dict of names or positions to values, optional
            The point that the slice goes through; columns not given are held at their medians
            (those of text at the most frequent value).
        classes : two labels, optional
            The two classes to show, of a model of more.

        Raises
        ------
        TypeError
            For a model that is not a fitted classifier, or one whose kernel is a matrix.
        ValueError
            For columns or labels that are not there, data that do not fit, or if the only slice
            there is would show less than half of the points among those of their class; it names
            what to choose.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from separatrix import LogisticRegression
        >>> from separatrix.plots.view import View
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> model = LogisticRegression().fit(X, y)
        >>> view = View.of(model, X)
        >>> view.kind, view.xlabel
        ('distance', 'signed distance from the boundary')
        >>> bool(((view.transform(X)[:, 0] > 0) == model.predict(X)).all())
        True
        """
        labels = _labels(model)
        # A search predicts by the best model that it found.
        model = getattr(model, "best_estimator_", model)
        chosen = labels
        if classes is not None:
            known = labels.tolist()
            two_labels("classes", classes, known)
            # Two classes have one score, which is positive for the second of the model.
            if len(known) > 2:
                chosen = labels[[known.index(label) for label in classes]]
        if not hasattr(X, "shape"):
            X = np.asarray(X)
        if len(X.shape) != 2:
            raise ValueError(f"X must be a table of rows and columns; its shape is {X.shape}.")
        frame = X if hasattr(X, "columns") and not sp.issparse(X) else None
        names = _column_names(model, X)
        expected = getattr(model, "n_features_in_", len(names))
        if len(names) != expected:
            raise ValueError(
                f"X has {len(names)} columns, but {type(model).__name__} takes {expected}."
            )
        common: dict[str, Any] = {"classes": chosen, "frame": frame, "sparse": sp.issparse(X)}
        positions = None if features is None else two_columns(features, names)
        if positions is None and at is None and len(names) > 2:
            found = cls._of_linear(model, X, labels, chosen, common)
            if found is not None:
                return found
        common |= {"model": model, "linear": _selected(_planes(model), labels, chosen)}
        if len(names) == 1:
            common |= {"origin": np.zeros(1), "basis": np.array([[1.0], [0.0]])}
            ylabel = "score" if len(chosen) == 2 else "largest score"
            return cls(kind="line", xlabel=plain(names[0]), ylabel=ylabel, **common)
        if len(names) == 2 and at is None:
            positions = positions or (0, 1)
        return cls._slice(model, X, names, positions, at, common)

    @classmethod
    def _of_linear(
        cls, model: Any, X: Any, labels: np.ndarray, chosen: np.ndarray, common: dict[str, Any]
    ) -> View | None:
        """The view in the space of the last step, if that is linear."""
        last = last_step(model)
        steps = model[:-1] if last is not model and len(model.steps) > 1 else None
        linear = _selected(_planes(last), labels, chosen)
        if linear is None:
            return None
        design = design_of(X if steps is None else steps.transform(X))
        coef, intercept = linear
        differences = coef[1:] - coef[:1]
        size = float(np.abs(differences).max())
        if design.n_features < 3 or size == 0.0:
            return None
        common = {**common, "model": last, "steps": steps, "linear": linear, "isometric": True}
        common["sparse"] = sp.issparse(design.matrix)
        count = f"{design.n_features:,} features"
        if steps is not None:
            common["frame"] = None
            count += ", after " + ", ".join(type(step).__name__ for _, step in steps.steps)
        mean = mean_row(design)
        _, spans, directions = np.linalg.svd(differences / size, full_matrices=False)
        rank = int((spans > 1e-10 * spans[0]).sum())
        if rank == 1:
            j = int(np.abs(differences).max(axis=1).argmax()) + 1
            plane = Hyperplane(coef[j] - coef[0], float(intercept[j] - intercept[0]))
            unit = plane.unit
            second, share = main_direction(design, mean, unit[None])
            percent = "less than 1%" if 0.0 < share < 0.005 else f"{share:.0%}"
            return cls(
                kind="distance",
                origin=mean - float(plane.signed_distance(mean[None])[0]) * unit,
                basis=np.stack([unit, second]),
                xlabel="signed distance from the boundary",
                ylabel="main direction along the boundary",
                note=f"{count}: horizontally the distance from the boundary, vertically the "
                f"direction along it with the largest spread ({percent})",
                hyperplane=plane,
                **common,
            )
        if rank == 2:
            of = "direction of the weights"
            note = f"{count}: the plane of the weights' differences, in which the regions are exact"
            common |= {"origin": mean, "basis": oriented(directions[:2]), "note": note}
            return cls(kind="span", xlabel=f"first {of}", ylabel=f"second {of}", **common)
        own, sizes = directions[:rank], spans[:rank]
        # The principal components of the differences of scores, and along what these change.
        products = scatter_along(design, mean, own) * sizes[:, None] * sizes
        spread, axes = np.linalg.eigh(products)
        basis = oriented(np.linalg.qr((own.T * sizes) @ axes[:, :-3:-1])[0].T)
        of = "direction of the scores"
        common |= {"origin": mean, "basis": basis, "exact": False}
        view = cls(kind="slice", xlabel=f"first {of}", ylabel=f"second {of}", **common)
        share = float(spread[-2:].sum() / spread.sum()) if spread.sum() > 0.0 else 1.0
        note = (
            f"{count}: a slice through the mean, along the two directions with the largest spread "
            f"of the scores ({share:.0%})"
        )
        return view._noted(note, X, named=False)

    @classmethod
    def _slice(
        cls,
        model: Any,
        X: Any,
        names: list[str],
        positions: tuple[int, int] | None,
        at: Any,
        common: dict[str, Any],
    ) -> View:
        """The view of two features, with any others held."""
        why, named = "", positions is not None or at is not None
        given = _given(names, at)
        if positions is None:
            # A column that is to be held is not one of those that are shown.
            apart = set(given) if isinstance(at, Mapping) else set()
            positions = _most_apart(model, X, names, apart)
            why = ", the two in which the predicted classes differ most"
        elif isinstance(at, Mapping) and not set(given).isdisjoint(positions):
            name = names[next(j for j in positions if j in given)]
            raise ValueError(f"at fixes column {name!r}, which is one of the two that are shown.")
        held, (i, j) = _held(X, names, given), positions
        others = [k for k in range(len(names)) if k not in positions]
        origin, basis = np.zeros(len(names)), np.zeros((2, len(names)))
        origin[others] = [0.0 if isinstance(held[k], str) else float(held[k]) for k in others]
        basis[0, i] = basis[1, j] = 1.0
        common = {**common, "origin": origin, "basis": basis, "columns": positions, "held": held}
        common |= {"xlabel": plain(names[i]), "ylabel": plain(names[j]), "isometric": True}
        if not others:
            return cls(kind="plane", **common)
        if len(others) <= _NAMED:
            where = "at " + ", ".join(f"{plain(names[k], 24)} = {_short(held[k])}" for k in others)
        else:
            where = f"the other {len(others):,} held at "
            where += "their medians" if at is None else "the point given"
        view = cls(kind="slice", exact=False, **common)
        return view._noted(f"a slice along two of {len(names):,} columns{why}; {where}", X, named)

    def _noted(self, text: str, X: Any, named: bool) -> View:
        """The view with a note, which gives the share of rows in the region of their prediction."""
        some = _some(X)
        predicted = quietly(lambda rows: self.model.predict(self._prepared(rows)), some)
        mine = np.isin(predicted, self.classes)
        if mine.any():
            codes = self.codes(self.scores(self.transform(some)[mine]))
            right = float((self.classes[codes] == predicted[mine]).mean())
            if right < _RIGHT and not named:
                raise ValueError(self._refusal(some, right))
            text += (
                f"; for {right:.0%} of the points the prediction is the class of their place in it"
            )
        return replace(self, note=text)

    def _refusal(self, some: Any, right: float) -> str:
        """The error message: why there is no picture of all, and which pictures there are."""
        # Rounded down, so that less than a half does not read 50%.
        percent = int(100.0 * right)
        text = (
            f"In a plane of the {len(self.origin):,} features only {percent}% of the points would "
            "lie in the region of their predicted class, so the picture would mislead; choose a "
            "slice yourself, features=(i, j)"
        )
        if len(self.classes) == 2:
            return f"{text}."
        scores = np.argsort(-self.scores_of(some), axis=1, kind="stable")[:, :2]
        pairs, counts = np.unique(np.sort(scores, axis=1), axis=0, return_counts=True)
        closest = tuple(self.classes[pairs[counts.argmax()]].tolist())
        return f"{text}, or two classes, such as classes={closest!r}, whose scores are often close."

    def _prepared(self, X: Any) -> Any:
        """Rows as the last step of a pipeline sees them."""
        return X if self.steps is None else self.steps.transform(X)

    # --- points --------------------------------------------------------------------------------

    def transform(self, X: Any) -> np.ndarray:
        """The places of rows in the picture.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
            The rows as the model takes them: before the steps of a pipeline.

        Returns
        -------
        ndarray of shape (n_samples, 2)
        """
        X = self._prepared(X)
        if self.columns is not None:
            return np.stack([_column(X, j) for j in self.columns], axis=1)
        if self.kind == "line":
            scores = self._scores_of(X)
            height = scores if scores.ndim == 1 else scores.max(axis=1)
            return np.stack([_column(X, 0), height], axis=1)
        design = design_of(X, len(self.origin))
        out = np.empty((design.n_samples, 2))
        if sp.issparse(design.matrix):
            out[:] = design.dot(np.ascontiguousarray(self.basis.T)) - self.basis @ self.origin
        else:
            for part, block in design.blocks():
                out[part] = (block - self.origin) @ self.basis.T
        if self.hyperplane is not None:
            out[:, 0] = self.hyperplane.signed_distance(X)
            # Values that are rounding alone would be stretched over the whole axis.
            noise = 1e-14 * max(float(np.abs(self.origin).max()), float(np.abs(out).max(initial=0)))
            out[np.abs(out[:, 1]) <= noise, 1] = 0.0
        return out

    def inverse(self, points: Any) -> Any:
        """The points of the space of features that points of the picture stand for.

        Parameters
        ----------
        points : array-like of shape (k, 2)

        Returns
        -------
        ndarray of shape (k, n_features), or a frame or sparse matrix where the data were one
        """
        points = np.asarray(points, dtype=np.float64)
        if self.sparse and self.columns is not None:
            base = sp.csr_array(self.origin[None])
            held = sp.csr_array(np.ones((len(points), 1))) @ base
            entries = np.repeat(np.arange(len(points)), 2), np.tile(self.columns, len(points))
            return (held + sp.csr_array((points.ravel(), entries), held.shape)).tocsr()
        rows = self.origin + points @ self.basis
        if self.frame is None:
            return rows
        values: dict[Any, Any] = dict(zip(self.frame.columns, rows.T, strict=True))
        for name, held in zip(values, self.held or (), strict=False):
            if isinstance(held, str):
                values[name] = [held] * len(points)
        return type(self.frame)(values)

    # --- the model on the plane ----------------------------------------------------------------

    def scores(self, points: Any) -> np.ndarray:
        """The model's scores of points of the picture.

        Parameters
        ----------
        points : array-like of shape (k, 2)

        Returns
        -------
        ndarray of shape (k,) for two classes, positive for the second; (k, K) for more
        """
        return self._scores_of(self.inverse(points))

    def scores_of(self, X: Any) -> np.ndarray:
        """The model's scores of rows, as :meth:`transform` takes them.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) for two classes, (n_samples, K) for more
        """
        return self._scores_of(self._prepared(X))

    def _scores_of(self, rows: Any) -> np.ndarray:
        scores, chosen = _scores(self.model, rows, len(_labels(self.model))), self.chosen()
        return scores if chosen is None else scores[:, chosen[1]] - scores[:, chosen[0]]

    def chosen(self) -> list[int] | None:
        """Positions of the classes among those of a model of more; None where they are all."""
        every = _labels(self.model).tolist()
        if len(self.classes) == len(every):
            return None
        return [every.index(label) for label in self.classes.tolist()]

    def probabilities(self, points: Any) -> np.ndarray:
        """Return the probabilities of the classes at points of the picture.

        Parameters
        ----------
        points : array-like of shape (k, 2)

        Returns
        -------
        ndarray of shape (k, K)
            The probabilities; for two classes out of more, given that it is one of the two.

        Raises
        ------
        TypeError
            If the model has no probabilities.
        """
        if not hasattr(self.model, "predict_proba"):
            raise TypeError(
                f"{type(self.model).__name__} has no predict_proba; shade by 'score' or 'class'."
            )
        found = np.asarray(quietly(self.model.predict_proba, self.inverse(points)))
        chosen = self.chosen()
        if chosen is None:
            return found
        found = found[:, chosen]
        total = found.sum(axis=1, keepdims=True)
        return np.where(total > 0.0, found / np.where(total > 0.0, total, 1.0), 0.5)

    @staticmethod
    def codes(scores: np.ndarray) -> np.ndarray:
        """The positions in ``classes`` of the classes with the largest scores."""
        if scores.ndim == 1:
            return (scores > 0.0).astype(np.intp)
        return np.asarray(scores.argmax(axis=1))

    def planes(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Weights, shape (K, 2), and intercepts, shape (K,), of the classes' scores in the picture.

        None for a model that is not linear.
        """
        if self.linear is None:
            return None
        coef, intercept = self.linear
        if self.hyperplane is not None and len(coef) == 2:
            return np.array([[0.0, 0.0], [self.hyperplane.norm, 0.0]]), np.zeros(2)
        # Only differences matter, and those of weights that are much alike lose no digits.
        steps = coef - coef[0]
        return steps @ self.basis.T, steps @ self.origin + (intercept - intercept[0])

    def restrict(self, surface: Hyperplane | Quadric) -> Hyperplane | Quadric:
        """The intersection of a surface in the space of features with the plane of the picture.

        Parameters
        ----------
        surface : Hyperplane or Quadric

        Returns
        -------
        Hyperplane or Quadric
            The intersection, in the two dimensions of the picture.
        """
        if isinstance(surface, Hyperplane):
            w = self.basis @ surface.w
            return Hyperplane(w, float(surface.decision(self.origin[None])[0]))
        assert surface.origin is not None
        # About the point of the plane that is nearest to the surface's own origin.
        place = np.linalg.pinv(self.basis.T) @ (surface.origin - self.origin)
        start = self.origin + place @ self.basis
        b = self.basis @ (2.0 * (surface.A @ (start - surface.origin)) + surface.b)
        c = float(surface.decision(start[None])[0])
        return Quadric(self.basis @ surface.A @ self.basis.T, b, c, place)


# --- models ------------------------------------------------------------------------------------


def _labels(model: Any) -> np.ndarray:
    name = type(model).__name__
    if isinstance(model, type) or not hasattr(model, "fit"):
        what = f"the class {model.__name__}" if isinstance(model, type) else name
        raise TypeError(f"model must be a fitted classifier, not {what}.")
    check_is_fitted(model)
    labels = getattr(model, "classes_", None)
    if not isinstance(labels, np.ndarray) or labels.ndim != 1:
        raise TypeError(f"{name} has no classes_, so it has no boundary to draw.")
    if getattr(last_step(model), "kernel", None) == "precomputed":
        raise TypeError(
            f"{name} was fitted to a precomputed kernel matrix, so it cannot be evaluated at "
            "points; fit it with the kernel itself."
        )
    return labels


def _scores(model: Any, rows: Any, n_classes: int) -> np.ndarray:
    """Scores of shape (n,) for two classes, else (n, K)."""
    if hasattr(model, "decision_function"):
        scores = np.asarray(quietly(model.decision_function, rows), dtype=np.float64)
        scores = scores_by_class(model, scores)
    elif hasattr(model, "predict_proba"):
        scores = np.asarray(quietly(model.predict_proba, rows), dtype=np.float64)
        # Shares of votes are often equal, and a tie goes to the first of the classes.
        scores = scores - _TIE * np.arange(n_classes)
        if n_classes == 2:
            scores = scores[:, 1] - scores[:, 0]
    else:
        raise TypeError(
            f"{type(model).__name__} has neither decision_function nor predict_proba, so it has no "
            "boundary to draw."
        )
    return scores[:, 0] if scores.ndim == 2 and scores.shape[1] == 1 else scores


def _planes(model: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Weights, shape (K, d), and intercepts of the scores; None if they are not linear."""
    if is_pipeline(model):
        return _unscaled(model)
    lifted = hasattr(model, "lift_") or getattr(model, "kernel", "linear") != "linear"
    if lifted or not hasattr(model, "coef_"):
        return None
    if getattr(model, "feature_", None) is not None and len(model.classes_) > 2:
        return None
    try:
        found = Discriminant.from_model(model)
    except TypeError:
        return None
    if not found.linear:
        return None
    coef, intercept = found._planes  # type: ignore[attr-defined]
    return np.asarray(coef, dtype=np.float64), np.asarray(intercept, dtype=np.float64)


def _unscaled(model: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Weights and intercepts of a pipeline that only shifts and scales before a linear model."""
    found = _planes(last_step(model))
    if found is None:
        return None
    coef, intercept = found
    for _, step in reversed(model.steps[:-1]):
        kind = type(step).__name__
        if step is None or step == "passthrough":
            continue
        scale: Any = getattr(step, "scale_", None)
        shift: Any = 0.0
        if kind == "StandardScaler":
            scale = 1.0 if scale is None else scale
            shift = 0.0 if step.mean_ is None or not step.with_mean else step.mean_
        elif kind == "MinMaxScaler" and not step.clip:
            scale, shift = 1.0 / scale, -step.min_ / scale
        elif kind != "MaxAbsScaler" or getattr(step, "clip", False):
            return None
        coef = coef / scale
        intercept = intercept - coef @ np.broadcast_to(shift, coef.shape[1:])
    return coef, intercept


def _selected(
    planes: tuple[np.ndarray, np.ndarray] | None, labels: np.ndarray, chosen: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    if planes is None or len(chosen) == len(labels):
        return planes
    rows = [labels.tolist().index(c) for c in chosen.tolist()]
    return planes[0][rows], planes[1][rows]


# --- columns -----------------------------------------------------------------------------------


def _column_names(model: Any, X: Any) -> list[str]:
    if hasattr(X, "columns") and not sp.issparse(X):
        return [str(name) for name in X.columns]
    known = getattr(model, "feature_names_in_", None)
    own = known if known is not None and len(known) == X.shape[1] else None
    return column_names(own, X.shape[1])


def _column(X: Any, j: int) -> np.ndarray:
    """One column in float64; a sparse one is made dense alone."""
    try:
        if sp.issparse(X):
            return np.asarray(X.tocsc()[:, [j]].toarray(), dtype=np.float64)[:, 0]
        if hasattr(X, "columns"):
            return np.asarray(X[X.columns[j]], dtype=np.float64)
        return np.asarray(np.asarray(X)[:, j], dtype=np.float64)
    except ValueError as error:
        name = X.columns[j] if hasattr(X, "columns") else j
        raise ValueError(
            f"Column {name!r} of X does not hold numbers, which the picture needs: {error}."
        ) from None


def _some(X: Any) -> Any:
    """A few rows, from all over the data."""
    n = X.shape[0]
    return X if n <= _LOOK else take_rows(X, np.linspace(0, n - 1, _LOOK).astype(int))


def _is_number(X: Any, j: int) -> bool:
    if not hasattr(X, "columns") or sp.issparse(X):
        return True
    kind = X[X.columns[j]].dtype
    if getattr(kind, "kind", None) is not None:
        return bool(kind.kind in "fiu")
    return bool(getattr(kind, "is_numeric", lambda: False)())


def _most_apart(model: Any, X: Any, names: list[str], apart: set[int]) -> tuple[int, int]:
    """The two columns with the largest ratio of variance between predicted classes and within."""
    some = _some(X)
    predicted = np.unique(np.asarray(quietly(model.predict, some)), return_inverse=True)[1]
    count = np.bincount(predicted)
    within, between = np.zeros(len(names)), np.zeros(len(names))
    if sp.issparse(some):
        # One product for all columns; these are near zero, so their squares lose no digits.
        some = some.astype(np.float64)
        member = sp.csr_array((np.ones(len(predicted)), (predicted, np.arange(len(predicted)))))
        means = (member @ some).toarray() / count[:, None]
        total = np.asarray(some.multiply(some).sum(axis=0)).ravel()
        within = np.maximum(total - count @ means**2, 0.0)
        between = count @ (means - count @ means / len(predicted)) ** 2
    else:
        for j in range(len(names)):
            column = _column(some, j) if _is_number(some, j) else np.array([np.nan])
            size = float(np.abs(column - column[0]).max())
            if not np.isfinite(size):
                apart = {*apart, j}
            elif size > 0.0:
                column = (column - column[0]) / size
                centres = np.bincount(predicted, weights=column) / count
                within[j] = ((column - centres[predicted]) ** 2).sum()
                between[j] = (count * (centres - column.mean()) ** 2).sum()
    ratios = between / (within + 1e-12 * (within + between) + 1e-300)
    ratios[list(apart)] = -1.0
    best = np.sort(np.argsort(-ratios, kind="stable")[:2])
    if ratios[best].min() < 0.0:
        raise ValueError("A slice needs two columns of finite numbers, and X has fewer.")
    return int(best[0]), int(best[1])


def _given(names: list[str], at: Any) -> dict[int, Any]:
    """The values that columns shall have, by position."""
    if at is None:
        return {}
    if not isinstance(at, Mapping):
        values = list(np.asarray(at, dtype=object).ravel())
        if len(values) != len(names):
            raise ValueError(
                f"at must be a point of {len(names)} values, one for each column; it has "
                f"{len(values)}."
            )
        return dict(enumerate(values))
    given: dict[int, Any] = {}
    for name, value in at.items():
        if name in names:
            given[names.index(name)] = value
        elif isinstance(name, int) and 0 <= name < len(names):
            given[name] = value
        else:
            raise ValueError(f"at names {name!r}, which is not a column of X.")
    return given


def _held(X: Any, names: list[str], given: Mapping[int, Any]) -> list[Any]:
    """A value for every column: the given one, the median, or the most frequent text."""
    out: list[Any] = [0.0] * len(names)
    rest = [j for j in range(len(names)) if j not in given]
    if sp.issparse(X):
        # The median of a column that is mostly zero is zero.
        X = X.tocsc()
        rest = np.flatnonzero(2 * np.diff(X.indptr) >= X.shape[0]).tolist()
    for j in rest:
        if _is_number(X, j):
            column = _column(X, j)
            column = column[np.isfinite(column)]
            out[j] = float(np.median(column)) if len(column) else 0.0
        else:
            texts = np.asarray(X[X.columns[j]], dtype=str)
            found, counts = np.unique(texts, return_counts=True)
            out[j] = str(found[counts.argmax()])
    for j, value in given.items():
        number = _is_number(X, j)
        if number != isinstance(value, int | float | np.number):
            kind = "numbers" if number else "text"
            raise ValueError(f"at holds {value!r} for column {names[j]!r}, which is of {kind}.")
        if number and not np.isfinite(float(value)):
            raise ValueError(f"at holds {value!r} for column {names[j]!r}; it must be finite.")
        out[j] = value
    return out


def _short(value: Any) -> str:
    return plain(value, 16) if isinstance(value, str) else f"{float(value):.4g}"
