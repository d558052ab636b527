"""The program of a fitted model: the cells of a row, its features, and the model's trees."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from separatrix.exports import sklearn_models, sklearn_programs
from separatrix.exports.artefacts import Unprintable
from separatrix.expressions import Affine, Expression, Features, Prediction
from separatrix.expressions.base import children, nodes_of_trees
from separatrix.expressions.features import Cell, Feature, Program
from separatrix.messages import counted
from separatrix.tables.features import Constant, cells_of, nodes_of


def program_of(
    model: Any, encoder: Any = None, *, names: Sequence[str] | None = None, parsed: bool = False
) -> Program:
    """The computation of a fitted model from the cells of a row, features included.

    Features whose weights are all zero are left out: a finite number times zero is zero.

    Parameters
    ----------
    model : estimator
        A model of this library or of scikit-learn, or a pipeline with its transformers.
    encoder : Encoder, optional
        The encoder that made the matrix of the fit; without one the columns of that matrix are the
        cells.
    names : sequence of str, optional
        The columns of the matrix; by default ``feature_names_in_``, or ``x0``, ``x1``, and so on.
    parsed : bool, default=False
        Whether the language reads numbers from texts by regular expressions.

    Returns
    -------
    Program

    Raises
    ------
    Unprintable
        If a step or the model has no formula here; the text names it.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from separatrix.exports.programs import program_of
    >>> X, y = np.array([[1.0], [2.0], [6.0]]), ["a", "a", "b"]
    >>> program = program_of(make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y))
    >>> program.cells[0].column, program.features[0].left.right, program.prediction.classes
    ('x0', Constant(value=3.0), ('a', 'b'))
    """
    steps, model = sklearn_programs.taken_apart(model)
    features: list[Feature]
    if encoder is None:
        columns = [*names] if names is not None else sklearn_programs.input_names(steps, model)
        features, own_names = sklearn_programs.features_of(steps, columns)
        remarks = sklearn_programs.REMARKS if steps else ()
    else:
        features, remarks = encoder.features(parsed=parsed)
        own_names, columns = encoder.feature_names_, []
        if steps:
            raise Unprintable(
                "A pipeline has an encoding of its own, so it is exported without an encoder."
            )
    prediction = prediction_of(model)
    width = sum(one.n_columns for one in features)
    needed = next(
        node.n_features for node in nodes_of_trees(prediction) if isinstance(node, Features)
    )
    if width != needed:
        raise Unprintable(
            f"The encoding makes {width:,} features, and the model takes {needed:,}: they are not "
            "of one fit."
        )
    return _without_idle(features, own_names, prediction, remarks, columns)


def prediction_of(model: Any) -> Prediction:
    """The trees of a fitted model of this library, or of scikit-learn."""
    own = getattr(model, "_prediction", None)
    if own is not None:
        found: Prediction = own()
        return found
    return sklearn_models.prediction_of(model)


# --- features without a weight -------------------------------------------------------------------


def _without_idle(
    features: list[Feature],
    names: Sequence[str],
    prediction: Prediction,
    remarks: Sequence[str],
    columns: Sequence[str],
) -> Program:
    """The program without the features whose weights are all zero."""
    readers = [
        node
        for node in nodes_of_trees(prediction)
        if any(isinstance(one, Features) for one in children(node))
    ]
    bounds = np.cumsum([0, *(one.n_columns for one in features)])
    used = np.ones(bounds[-1], dtype=bool)
    if all(isinstance(node, Affine) for node in readers):
        used = np.any([np.any(node.weights != 0.0, axis=0) for node in readers], axis=0)
    whole = [
        bool(used[start:stop].any()) or _refuses(feature)
        for feature, start, stop in zip(features, bounds[:-1], bounds[1:], strict=True)
    ]
    whole[0] |= not any(whole)  # a row without a cell would have no place for its answer
    kept, places = np.repeat(whole, np.diff(bounds)), None
    if not kept.all():
        idle = counted(int((~kept).sum()), "feature")
        why = f"Left out for weights of zero: {idle}; what their cells hold does not matter."
        remarks = (*remarks, why)
        prediction = _narrowed(prediction, kept, Features(int(kept.sum())), {})
        places = tuple(np.flatnonzero(kept).tolist())
    features = [feature for feature, keep in zip(features, whole, strict=True) if keep]
    return Program(
        _cells(features, columns),
        tuple(features),
        tuple(name for name, keep in zip(names, kept, strict=True) if keep),
        prediction,
        tuple(remarks),
        places,
    )


def _refuses(feature: Feature) -> bool:
    """Whether a feature leaves rows without an answer that other features do not notice."""
    return any(isinstance(one, Constant) and math.isnan(one.value) for one in nodes_of(feature))


def _narrowed(node: Any, kept: np.ndarray, features: Features, known: dict[int, Any]) -> Any:
    """The node, or the trees, of the features that are kept."""
    if isinstance(node, Features):
        return features
    if isinstance(node, tuple):
        return tuple(_narrowed(one, kept, features, known) for one in node)
    if not isinstance(node, (Expression, Prediction)):
        return node
    if id(node) not in known:
        changed = {
            each.name: _narrowed(getattr(node, each.name), kept, features, known)
            for each in dataclasses.fields(node)  # type: ignore[arg-type]
        }
        if isinstance(node, Affine) and isinstance(node.of, Features):
            changed["weights"] = np.ascontiguousarray(node.weights[:, kept])
        known[id(node)] = dataclasses.replace(node, **changed)
    return known[id(node)]


def _cells(features: Sequence[Feature], columns: Sequence[str]) -> tuple[Cell, ...]:
    """The cells that features are made of, each once, in the order of the columns."""
    found: dict[str, Cell] = {}
    for feature in features:
        for cell in cells_of(feature):
            if found.setdefault(cell.column, cell) != cell:
                raise Unprintable(
                    f"Column {cell.column!r} is used as {found[cell.column].kind} and as "
                    f"{cell.kind}, and another language has one type for a column; give it twice, "
                    "under two names, before the fit."
                )
    order = {name: place for place, name in enumerate(columns)}
    return tuple(sorted(found.values(), key=lambda cell: order.get(cell.column, 0)))
