"""The subject of a report: a model, its rows, and how they were encoded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import is_regressor
from sklearn.utils import check_consistent_length

from separatrix.assessment.decision import Decision, positive_of
from separatrix.assessment.provenance_checks import known_origin
from separatrix.assessment.rows import both_parts, labelled
from separatrix.assessment.scoring import Predictions, predictions
from separatrix.data.digests import sha256_of
from separatrix.messages import counted
from separatrix.persistence.model_file import StoredModel
from separatrix.tables import Encoder, Table
from separatrix.tables.table import label_text, missing_mask


@dataclass(frozen=True, eq=False)
class Part:
    """Labelled rows.

    Attributes
    ----------
    key : {"held_out", "fit", "given"}
        Rows that the fit has not seen, those it was fitted to, or others of which nothing is known.
    name : str
        The name of the rows in sentences: ``held-out rows``.
    X, y : matrix and ndarray
    numbers : ndarray of int
        The numbers by which rows are called.
    table : Table or None
        The same rows before they were encoded.
    positive : label or None
        The positive one of two classes, where it was chosen.
    decision : Decision or None
        The score from which a row is predicted to be of that class.
    weights : ndarray or None
        The weights of the rows.
    groups : (str, ndarray of str) or None
        The column of groups and the group of each row, where rows were split by it.
    """

    key: str
    name: str
    model: Any
    X: Any
    y: np.ndarray
    numbers: np.ndarray
    table: Table | None = None
    positive: Any = None
    decision: Decision | None = None
    weights: np.ndarray | None = None
    groups: tuple[str, np.ndarray] | None = None

    def __len__(self) -> int:
        return len(self.y)

    @cached_property
    def predictions(self) -> Predictions:
        """The predictions of the model for these rows."""
        return predictions(self.model, self.X, self.decision)


@dataclass(frozen=True, eq=False)
class EvaluationData:
    """Everything that the sections of a report are made from.

    ``figures``: the figures of all rows, by part, where ``parts`` has a sample of them.
    ``scales``: the number of units of its column that make one unit of a feature.
    """

    model: Any
    parts: tuple[Part, ...]
    feature_names: tuple[str, ...]
    target: str
    source: str
    first_row: int
    scales: np.ndarray
    provenance: Mapping[str, Any] = field(default_factory=dict)
    encoder: Encoder | None = None
    table: Table | None = None
    columns: tuple[str | None, ...] = ()
    same_data: bool = True
    fingerprint: str = ""
    notes: tuple[str, ...] = ()
    figures: tuple[Mapping[str, Any], ...] = ()

    @property
    def quantity(self) -> bool:
        """Whether the model predicts a number rather than a class."""
        return is_regressor(self.model)

    @property
    def kinds(self) -> Mapping[str, str]:
        """The kinds of the columns of the table, where there is one."""
        return {} if self.encoder is None else self.encoder.kinds_

    def is_text(self, j: int) -> bool:
        """Whether a feature is a word of a text."""
        return self.kinds.get(self.columns[j] or "") == "text"

    def groups(self, features: Iterable[int]) -> dict[Any, list[int]]:
        """Features by column; words of a text, and features of no column, are for themselves."""
        found: dict[Any, list[int]] = {}
        for j in features:
            column = self.columns[j]
            alone = column is None or self.is_text(j)
            found.setdefault(("feature", j) if alone else column, []).append(j)
        return found

    @property
    def classes(self) -> list[Any]:
        """The labels as plain values."""
        return [] if self.quantity else np.asarray(self.model.classes_).tolist()

    def part(self, *keys: str) -> Part | None:
        """The first of these parts that there is."""
        for key in keys:
            for part in self.parts:
                if part.key == key:
                    return part
        return None

    @property
    def measured(self) -> Part:
        """The rows that are most informative about new ones."""
        return self.part("held_out", "given", "fit") or self.parts[0]

    @property
    def shown(self) -> Part:
        """The rows that pictures of the fit show."""
        return self.part("fit", "given") or self.parts[0]


def of_arrays(
    model: Any,
    X: Any,
    y: Any,
    *,
    test: tuple[Any, Any] | None,
    feature_names: Sequence[str] | None,
    target: str | None,
    source: str,
) -> EvaluationData:
    """The evaluation data of a model and the arrays or frames that it was fitted to."""
    names = _names(X) if feature_names is None else tuple(map(str, feature_names))
    if target is None:
        target = str(getattr(y, "name", None) or "target")
    parts = []
    for key, name, pair in (("fit", "rows of the fit", (X, y)), ("held_out", "test rows", test)):
        if pair is None:
            continue
        matrix, labels = _matrix(pair[0]), np.asarray(pair[1])
        if labels.ndim != 1:
            raise ValueError(
                f"y has the shape {labels.shape}, and a report covers one target: give one column."
            )
        check_consistent_length(matrix, labels)
        if matrix.shape[1] != model.n_features_in_:
            raise ValueError(
                f"X has {counted(matrix.shape[1], 'column')}, and the model was fitted to "
                f"{model.n_features_in_:,}."
            )
        # A frame goes to the model as it is, which checks its names.
        parts.append(Part(key, name, model, pair[0], labels, np.arange(len(labels))))
        _check_labels(model, labels)
    if names is None:
        names = tuple(f"x{j}" for j in range(model.n_features_in_))
    if len(names) != model.n_features_in_:
        raise ValueError(
            f"feature_names has {len(names):,} names for {model.n_features_in_:,} columns."
        )
    return EvaluationData(
        model=model,
        parts=tuple(parts),
        feature_names=names,
        target=target,
        source=source,
        first_row=0,
        columns=names,
        scales=np.ones(len(names)),
        fingerprint=_digest(_matrix(X), np.asarray(y)),
    )


def of_table(
    stored: StoredModel,
    table: Table,
    *,
    target: str | None,
    encoded: Mapping[str, Any] | None,
) -> EvaluationData:
    """The evaluation data of a stored model and a table, split as for its fit where it is the same.

    ``encoded`` has the matrices of ``"fit"`` and ``"held_out"`` where they are at hand, and as
    ``"test"`` rows of another table to measure on: their ``features``, ``X``, ``y``, ``weights``.
    """
    encoder, provenance = stored.encoder, known_origin(stored.provenance)
    if encoder is None:
        raise ValueError(
            "the model has no encoder, so it takes matrices instead of tables: use "
            "Report.from_estimator"
        )
    target = target or provenance.get("target")
    if target is None:
        raise ValueError(
            "the model file does not record the name of its target: give it as target="
        )
    rows_of_table = labelled(stored, table, target)
    features, y, weights = rows_of_table.features, rows_of_table.y, rows_of_table.roles.weights
    fingerprint = table.fingerprint()
    recorded = provenance.get("data") or {}
    same = fingerprint == recorded.get("fingerprint") and target == provenance.get("target")
    chosen: list[tuple[str, str, np.ndarray]] = []
    if same and "split" in provenance:
        fitted, held = both_parts(stored, rows_of_table)
        chosen.append(("fit", "rows of the fit", fitted))
        if len(held):
            chosen.append(("held_out", "held-out rows", held))
    else:
        chosen.append(("given", "rows of this table", np.arange(table.n_rows)))
    parts, notes = [], list(table.notes)
    rule = positive_of(provenance, stored.model), Decision.of(provenance, stored.model)
    for key, name, rows in chosen:
        part = features.select(rows)
        X = (encoded or {}).get(key)
        if X is None:
            X = encoder.transform(part)
            notes += [f"{name}: {note}" for note in encoder.notes_]
        own = None if weights is None else weights[rows]
        groups = _groups(table, provenance, rows)
        parts.append(Part(key, name, stored.model, X, y[rows], rows + 1, part, *rule, own, groups))
    test = (encoded or {}).get("test")
    if test is not None:
        rows = np.arange(1, len(test.y) + 1)
        own = test.features, *rule, test.weights
        parts.append(Part("held_out", "test rows", stored.model, test.X, test.y, rows, *own))
    return EvaluationData(
        model=stored.model,
        parts=tuple(parts),
        feature_names=tuple(encoder.feature_names_),
        target=target,
        source=table.source,
        first_row=1,
        provenance=provenance,
        encoder=encoder,
        table=features,
        columns=tuple(encoder.columns_),
        scales=encoder.scales_,
        same_data=same or not recorded,
        fingerprint=fingerprint,
        notes=tuple(notes),
    )


def _groups(
    table: Table, provenance: Mapping[str, Any], rows: np.ndarray
) -> tuple[str, np.ndarray] | None:
    """The column of groups of the fit, and the groups of some rows of a table that has it."""
    name = (provenance.get("config") or {}).get("group")
    if name is None or name not in table.columns:
        return None
    cells = table.columns[name]
    text = [label_text(cell) for cell in np.ma.getdata(cells)[rows].tolist()]
    return name, np.where(missing_mask(cells)[rows], "(missing)", text)


def of_sample(
    stored: StoredModel,
    table: Table,
    *,
    target: str | None,
    figures: Sequence[Mapping[str, Any]],
    fingerprint: str,
) -> EvaluationData:
    """The evaluation data of a table that is too large, of which ``table`` has some rows."""
    evaluation = of_table(stored, table, target=target, encoded=None)
    recorded = evaluation.provenance.get("data") or {}
    name = f"sample of {table.n_rows:,} rows"
    return replace(
        evaluation,
        parts=tuple(replace(part, key="given", name=name) for part in evaluation.parts),
        same_data=not recorded or fingerprint == recorded.get("fingerprint"),
        fingerprint=fingerprint,
        figures=tuple(figures),
    )


def _names(X: Any) -> tuple[str, ...] | None:
    columns = getattr(X, "columns", None)
    return None if columns is None else tuple(map(str, columns))


def _matrix(X: Any) -> Any:
    """The numbers of an array, a frame or a sparse matrix."""
    if sparse.issparse(X):
        return X
    matrix = np.asarray(X)
    if matrix.ndim != 2:
        raise ValueError(f"X has the shape {matrix.shape}; give one row for each sample.")
    return matrix


def _check_labels(model: Any, labels: np.ndarray) -> None:
    classes = getattr(model, "classes_", None)
    if classes is None:
        return
    unknown = [label for label in np.unique(labels).tolist() if label not in classes.tolist()]
    if unknown:
        raise ValueError(f"y holds the label {unknown[0]!r}, which is not a class of the model.")


def _digest(X: Any, y: np.ndarray) -> str:
    """SHA-256 over arrays, in the order and the type that they have."""
    matrix = X.tocsr() if sparse.issparse(X) else X
    arrays = (matrix.indptr, matrix.indices, matrix.data) if sparse.issparse(X) else (matrix,)
    parts: list[Any] = ["separatrix arrays 1\0", repr(tuple(map(int, matrix.shape)))]
    for array in (*arrays, y):
        if array.dtype.hasobject:  # texts that lie elsewhere
            parts.append("\0".join(map(str, array.ravel().tolist())).encode("utf-8", "replace"))
        else:
            parts += [array.dtype.str, array]
    return sha256_of(*parts)
