"""The rows of a table in memory, encoded: what ``fit`` and ``path`` do with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix._compiled import memory
from separatrix.assessment.decision import Decision
from separatrix.assessment.dependence import leave_out_dependent
from separatrix.assessment.logarithms import logarithms_that_help
from separatrix.assessment.scoring import Predictions, predictions, score_rows
from separatrix.cli.commands.fit import FitOptions
from separatrix.cli.commands.fit.models import MODELS, ModelOptions
from separatrix.cli.commands.fit.training import (
    SplitRows,
    Target,
    describe_positive,
    describe_split,
    given_roles,
    how_held_out,
    positive_class,
    read_target,
    starting_values,
)
from separatrix.cli.output import Output
from separatrix.cli.reading import read_like
from separatrix.cli.wording import TERMINAL, Terminal
from separatrix.exceptions import DataError
from separatrix.geometry.diagnosis.alerts import ranked_alerts
from separatrix.messages import Message
from separatrix.models.registry import OFFERS
from separatrix.persistence.model_file import StoredModel
from separatrix.tables import DEFAULT_MISSING, Encoder, Table, take_quantity, take_target
from separatrix.tables.reader import OPTIONS
from separatrix.tables.roles import take_roles
from separatrix.tables.table import STRUCTURE, missing_marks, quote

# Models that are not sums of columns: the gain of a column in least squares says little of them.
_CURVED = ("kernel-svm", "poly", "qda", "stump")


@dataclass(frozen=True, eq=False)
class Measured:
    """Rows to measure on; `table` and `features` where they are of another table."""

    X: Any
    y: np.ndarray
    weights: np.ndarray | None
    table: Table | None = None
    features: Table | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class MatrixRows(SplitRows):
    """The rows to fit as a matrix, and those to measure on."""

    target: Target
    numbers: np.ndarray
    held: Measured | None = None

    def source_of(self, name: str) -> str:
        return self.target.features.derived.get(name, name)

    @property
    def held_notes(self) -> list[str]:
        return [] if self.held is None else self.encoder.notes_

    def held_predictions(self, model: Any) -> tuple[Predictions, np.ndarray]:
        if self.held is None:
            raise ValueError("no rows are held out")
        return predictions(model, self.held.X), self.held.y

    def scores(self, model: Any, decision: Decision | None) -> dict[str, Any] | None:
        if self.held is None:
            return None
        return score_rows(
            model,
            self.held.X,
            self.held.y,
            positive=self.positive,
            decision=decision,
            weights=self.held.weights,
        )

    def fitted_scores(self, model: Any) -> dict[str, Any] | None:
        if not self.quantity:
            return None
        return score_rows(model, *self.given, weights=self.weighted.get("sample_weight"))

    def folds(self, cv: int) -> Any:
        return self.target.folds(self.given[0], cv, seed=self.options.seed)

    def data_record(self) -> dict[str, Any]:
        target = self.target
        return {
            "source": target.table.source,
            "rows": target.table.n_rows,
            "columns": list(target.features.names),
            "missing": self.encoder.n_missing(target.features),
            # It covers the labels, too: verify must notice when one was changed.
            "fingerprint": target.fingerprint(),
            "summary": self.encoder.summary_,
        }

    def test_record(self) -> dict[str, Any] | None:
        table = None if self.held is None else self.held.table
        if table is None:
            return None
        return {"source": table.source, "rows": table.n_rows, "fingerprint": table.fingerprint()}

    def make_report(self, stored: StoredModel) -> Any:
        from separatrix.report.report import Report

        wording, encoded = Terminal(self.encoder.feature_names_), self._encoded
        return Report.from_table(stored, self.target.table, encoded=encoded, wording=wording)

    def evaluation(self, stored: StoredModel) -> Any:
        from separatrix.assessment.evaluation_data import of_table

        return of_table(stored, self.target.table, target=None, encoded=self._encoded)

    @property
    def _encoded(self) -> dict[str, Any]:
        """The matrices of the parts, as a report takes them."""
        encoded: dict[str, Any] = {"fit": self.given[0]}
        if self.held is not None:
            # The report reads the columns of another table besides.
            encoded |= {"held_out": self.held.X} if self.held.table is None else {"test": self.held}
        return encoded

    @contextmanager
    def split_again(self, role: str, column: str, *, shown: bool = False) -> Iterator[MatrixRows]:
        features, roles = take_roles(self.target.features, {role: column})
        roles = replace(roles, weights=self.target.roles.weights)
        target = replace(self.target, features=features, roles=roles)
        yield split(replace(self.options, **{role: column}), target, self.positive)

    def without(self, kept: Sequence[int]) -> MatrixRows:
        assert self.held is not None
        return replace(
            self,
            given=(self.given[0][:, kept], self.given[1]),
            held=replace(self.held, X=self.held.X[:, kept]),
            features=self.places_of(kept),
        )


# -------------------------------------------------------------------------------- before the fit


def read(out: Output, options: FitOptions) -> MatrixRows:
    """Read, split and encode a table to fit."""
    options, target = read_target(options)
    classes = None if target.quantity else target.classes
    counts = np.array([] if classes is None else [np.sum(target.y == one) for one in classes[:2]])
    positive = positive_class(options, classes, counts)
    fit_rows, held_rows = _split(options, target)
    memory.give_back()
    rows = _encode(out, options, target, positive, fit_rows, held_rows)
    memory.give_back()
    return rows


def _split(options: FitOptions, target: Target) -> tuple[np.ndarray, np.ndarray]:
    """The rows to fit and those to hold out."""
    y = target.y
    try:
        return target.roles.split(
            y, test_size=options.test_size, seed=options.seed, stratify=not target.quantity
        )
    except DataError as error:
        # The values of so few points of a curve were taken for classes.
        if target.quantity or target.table.columns[target.name].dtype != np.float64:
            raise
        if len(np.unique(y)) < len(y):
            raise
        kind = quote(f"{target.name}=number")
        message = TERMINAL(error)
        raise DataError(
            f"{message}; if it is a quantity, give --model lstsq --kind {kind}"
        ) from error


def _encode(
    out: Output,
    options: FitOptions,
    target: Target,
    positive: Any,
    fit_rows: np.ndarray,
    held_rows: np.ndarray,
) -> MatrixRows:
    """Fit the encoding that suits the model, and report what was read."""
    encoder, X, held, left_out, skewed = _matrices(options, target, fit_rows, held_rows)
    # The features are known now: numbers of --start that do not match them are refused at once.
    starting_values(options, encoder, target.n_classes)
    if options.test is not None:
        held = _read_test(options, target, encoder)
    of_positive = None
    if positive is not None:
        of_positive = describe_positive(options, positive, float(np.mean(target.y == positive)))
    how = how_held_out(options, "at random" if target.quantity else "stratified")
    n_held = 0 if held is None else len(held.y)
    for remark in () if encoder.terms is None else encoder.terms.remarks:
        out.note(remark)
    formula = encoder.formula_
    target.report(
        out,
        encoder,
        lines={
            "formula": None if formula is None else f"{target.name} ~ {formula}",
            "target": target.remark,
            "split": describe_split(options, len(fit_rows), n_held, how),
            "positive": of_positive,
        },
        alerts=(*ranked_alerts(encoder), *filter(None, (left_out,))),
    )
    if skewed is not None:
        out.note(TERMINAL(skewed))
    return encoded(options, target, encoder, X, fit_rows, positive=positive, held=held)


def split(options: FitOptions, target: Target, positive: Any) -> MatrixRows:
    """Rows that were read, split and encoded; nothing is reported."""
    fit_rows, held_rows = _split(options, target)
    encoder, X, held, *_ = _matrices(options, target, fit_rows, held_rows, advise=False)
    return encoded(options, target, encoder, X, fit_rows, positive=positive, held=held)


def _matrices(
    options: FitOptions,
    target: Target,
    fit_rows: np.ndarray,
    held_rows: np.ndarray,
    *,
    advise: bool = True,
) -> tuple[Encoder, Any, Measured | None, str | None, Message | None]:
    """The encoding, the rows to fit and to measure on, what was left out, and skewed columns."""
    part = target.features.select(fit_rows)
    encoder = target.fit_encoder(
        part,
        fit_rows,
        in_units=options.in_units,
        encoding=options.of_encoder(),
        standardise=options.standardises,
    )
    X = encoder.transform(part)
    # Readers want the coefficients of these; the other models take those of the smallest norm.
    read = options.model == "logistic" or (options.model == "lstsq" and target.quantity)
    left_out = None
    if options.in_units and read:
        left_out = leave_out_dependent(encoder, X, fit_intercept=not options.no_intercept)
        X = X if left_out is None else encoder.transform(part)
    skewed = None
    if advise and options.model not in _CURVED:
        skewed = logarithms_that_help(
            encoder, part, X, target.y[fit_rows], quantity=target.quantity, seed=options.seed
        )
    # Before the fit, because a held-out row can be refused too, and then the fit would be lost.
    del part
    held, weights = None, target.roles.weights
    if len(held_rows):
        own = None if weights is None else weights[held_rows]
        held = Measured(
            encoder.transform(target.features.select(held_rows)), target.y[held_rows], own
        )
    return encoder, X, held, left_out, skewed


def encoded(
    options: ModelOptions,
    target: Target,
    encoder: Encoder,
    X: Any,
    numbers: np.ndarray,
    **measured: Any,
) -> MatrixRows:
    """Rows of a table by their numbers, with the matrix that they are encoded as."""
    weights = target.roles.weights
    return MatrixRows(
        options=options,
        encoder=encoder,
        quantity=target.quantity,
        n_classes=target.n_classes,
        n_fit=len(numbers),
        n_held=len(target.y) - len(numbers),
        given=(X, target.y[numbers]),
        weighted={} if weights is None else {"sample_weight": weights[numbers]},
        sample=X,
        target=target,
        numbers=numbers,
        **measured,
    )


def _read_test(options: ModelOptions, target: Target, encoder: Encoder) -> Measured:
    """Read a table as that of the fit was read, and encode it."""
    table = read_like(
        encoder,
        str(options.test),
        missing=missing_marks(options.missing or DEFAULT_MISSING),
        target=target.name,
        # A query and numbers of lines are those of the other file.
        **{n: getattr(options, n) for n in OPTIONS if n != "sql" and n not in STRUCTURE},
    )
    table = table.drop(name for name in options.ignore if name in table.columns)
    if options.drop_missing_target:
        table = table.drop_missing(target.name)
    if target.quantity:
        least = OFFERS[options.model or MODELS[0]].least
        features, y = take_quantity(table, target.name, fitted=True, least=least)
    else:
        features, y = take_target(table, target.name, classes=target.classes.tolist())
    features, roles = take_roles(features, given_roles(options), equal=False, absent=True)
    return Measured(encoder.transform(features), y, roles.weights, table, features)
