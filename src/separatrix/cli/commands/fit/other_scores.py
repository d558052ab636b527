"""What ``fit`` measures beside its random split: by groups, on the latest rows, without leaks.

A model is fitted again for each, from where the first one is and to a looser tolerance, and only
where the table gives a reason.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from separatrix.assessment.decision import Decision
from separatrix.assessment.entities import likely_group
from separatrix.assessment.leaks import TELLING, falls_without, single_scores
from separatrix.assessment.other_scores import FALL, OtherScore, figure, main_score
from separatrix.assessment.scoring import score_rows
from separatrix.assessment.weights import has_weights
from separatrix.cli.commands.fit import in_memory
from separatrix.cli.commands.fit.in_memory import MatrixRows
from separatrix.cli.commands.fit.models import build_model, suit_table
from separatrix.cli.interruption import Interruption, fitting
from separatrix.cli.output import Output
from separatrix.data.design import dense
from separatrix.exceptions import DataError
from separatrix.messages import Message, Setting
from separatrix.tables.row_times import likely_time
from separatrix.tables.table import quote

__all__ = ["other_scores"]

_TOL = 1e-4
# The scores from which on columns are searched that give the target away alone, and together with
# others: the one good predictor of a table is none of the latter.
_HIGH, _TOO_HIGH = 0.9, 0.95
# Fits without one column, and columns that are found so.
_TRIED, _ROUNDS = 3, 4
# Where there are twice as many rows, so many of them tell first that a column is no leak.
_FEW = 5_000
# Their passes go on from a state that is more than weights.
_STEPWISE = ("sgd", "perceptron")


def other_scores(
    out: Output,
    model: Any,
    rows: Any,
    held_out: dict[str, Any] | None,
    decision: Decision | None,
    *,
    interrupted: Interruption,
) -> list[OtherScore]:
    """Measure a model beside its random split, where the table gives a reason.

    Parameters
    ----------
    out : Output
        For what is to be warned of.
    model : estimator
        Fitted.
    rows : SplitRows
        Those in memory are looked at; in passes a second fit would read all of them again.
    held_out : dict or None
        The scores on the rows that were held out.
    decision : Decision or None
    interrupted : Interruption
        Ctrl-C ends the fits that are left.
    """
    if not isinstance(rows, MatrixRows) or rows.held is None or held_out is None or interrupted:
        return []
    again = _Again(model, rows, decision, interrupted)
    found = []
    if rows.options.test is None:
        for role, column in _roles_of(rows):
            try:
                scores = again.by(role, column)
            except DataError as error:
                out.note(Message("no_score_by", column=quote(column), why=error))
                continue
            if scores is not None:
                found.append(OtherScore(role, (column,), scores))
                warning = found[-1].warning(held_out)
                if warning is not None:
                    out.warn(warning)
    # What names the entities gives their targets away, but is no leak.
    groups = [one.columns[0] for one in found if one.by == "group"]
    suspects, scores = _leaks(out, again, held_out, groups)
    if suspects and scores is not None:
        found.append(OtherScore("without", tuple(suspects), scores))
    return found


def _roles_of(rows: MatrixRows) -> list[tuple[str, str]]:
    """The roles that columns of the table have by their looks, where no option gives one."""
    options, features = rows.options, rows.target.features
    if options.group is not None or options.time is not None:
        return []
    group = likely_group(features, rows.target.y)
    time = likely_time(features)
    found = [] if group is None else [("group", group.column)]
    return found + ([] if time is None else [("time", time)])


@dataclass(frozen=True, eq=False)
class _Scored:
    """A fitted model, its rows and its scores."""

    model: Any
    rows: MatrixRows
    scores: dict[str, Any]


class _Again:
    """Fits the same model to other rows, or to fewer columns."""

    def __init__(
        self, model: Any, rows: MatrixRows, decision: Decision | None, interrupted: Interruption
    ) -> None:
        self.model, self.rows, self.decision = model, rows, decision
        self.interrupted = interrupted

    def by(self, role: str, column: str) -> dict[str, Any] | None:
        """The scores where rows are split by a column; None after Ctrl-C."""
        other = in_memory.split_by(self.rows, role, column)
        model = self._fitted(other)
        return None if model is None else self._scores(model, other)

    @cached_property
    def few(self) -> MatrixRows:
        """A sample of the rows to fit, or all where these are few, weighted or of a rare class."""
        rows = self.rows
        X, y = rows.given
        if rows.n_fit < 2 * _FEW or rows.weighted:
            return rows
        some = np.sort(np.random.default_rng(0).choice(rows.n_fit, _FEW, replace=False))
        if not rows.quantity and len(np.unique(y[some])) != rows.n_classes:
            return rows
        return replace(rows, given=(X[some], y[some]), n_fit=_FEW)

    def without(self, columns: Sequence[str], rows: MatrixRows | None = None) -> _Scored | None:
        """The model of all rows, or of these, without some columns; None after Ctrl-C."""
        rows = rows or self.rows
        assert rows.held is not None
        kept = [j for j, source in enumerate(rows.sources) if source not in columns]
        other = replace(
            rows,
            given=(rows.given[0][:, kept], rows.given[1]),
            held=replace(rows.held, X=rows.held.X[:, kept]),
            sources=[rows.sources[j] for j in kept],
        )
        model = self._fitted(other, kept)
        return None if model is None else _Scored(model, other, self._scores(model, other))

    def _scores(self, model: Any, rows: MatrixRows) -> dict[str, Any]:
        assert rows.held is not None
        return score_rows(
            model,
            rows.held.X,
            rows.held.y,
            positive=rows.positive,
            decision=self.decision,
            weights=rows.held.weights,
        )

    def _fitted(self, rows: MatrixRows, kept: Sequence[int] | None = None) -> Any:
        """The same model of other rows or features, from where the first one is."""
        options = rows.options
        model = build_model(options)
        model = suit_table(model, options, n_classes=rows.n_classes, n_rows=rows.n_fit)
        parameters = model.get_params(deep=False)
        if parameters.get("tol") is not None:
            model.set_params(tol=max(_TOL, parameters["tol"]))
        if "warm_start" in parameters and options.model not in _STEPWISE:
            self._start(model, rows, kept)
        with warnings.catch_warnings(), fitting(model, self.interrupted):
            # Only the score of this fit is printed.
            warnings.simplefilter("ignore")
            rows.fit(model)
        return None if self.interrupted else model

    def _start(self, model: Any, rows: MatrixRows, kept: Sequence[int] | None) -> None:
        """Start from the weights of features that both fits have."""
        if not has_weights(self.model):
            return
        coef = dense(self.model.coef_)
        if kept is None:
            place = {name: j for j, name in enumerate(self.rows.encoder.feature_names_)}
            names = rows.encoder.feature_names_
            at = np.array([place.get(name, -1) for name in names], dtype=np.intp)
            coef = np.where(at >= 0, coef[..., at], 0.0)
        else:
            coef = coef[..., kept]
        fitted = {name: one for name, one in vars(self.model).items() if name.endswith("_")}
        fitted.pop("certificate_", None)
        vars(model).update({**fitted, "coef_": coef, "n_features_in_": coef.shape[-1]})
        model.set_params(warm_start=True)


def _leaks(
    out: Output, again: _Again, held_out: dict[str, Any], groups: Sequence[str]
) -> tuple[list[str], dict[str, Any] | None]:
    """Columns that give the target away, and the scores without them."""
    rows, high = again.rows, main_score(held_out)
    assert rows.held is not None
    if high < _HIGH:
        return [], None
    sources = rows.sources
    columns = list(dict.fromkeys(sources))
    # Alerts name these already: what the encoder found, and what was found in its matrix.
    known = rows.alerted_leaks()
    suspects = [name for name in columns if name in known and name not in groups]
    if rows.options.test is None:
        fitted = rows.numbers
        held = np.setdiff1d(np.arange(len(rows.target.y)), fitted)
        single = single_scores(
            rows.target.features, rows.target.y, fitted, held, quantity=rows.quantity
        )
        for name in columns:
            if name not in (*suspects, *groups) and single.get(name, 0.0) > TELLING:
                suspects.append(name)
                scale = "R^2" if rows.quantity else "ROC AUC"
                score = f"{scale} {single[name]:.4f}"
                out.warn(
                    Message(
                        "leak_alone",
                        column=quote(name),
                        score=score,
                        option=Setting("ignore", name),
                    )
                )
    if len(suspects) >= len(columns):
        return [], None
    now: _Scored | None = _Scored(again.model, rows, held_out)
    if suspects:
        now = again.without(suspects)
    for _ in range(_ROUNDS):
        if now is None or main_score(now.scores) < _TOO_HIGH or len(columns) - len(suspects) < 2:
            break
        passed = [*suspects, *groups]
        one = _together(again, now, passed)
        found = _substitutes(again, now, passed) if one is None else [one]
        if not found:
            break
        for name, fewer in found:
            out.warn(
                Message(
                    "leak_together",
                    column=quote(name),
                    score=figure(now.scores),
                    fewer=figure(fewer.scores),
                    option=Setting("ignore", name),
                )
            )
            suspects.append(name)
            now = fewer
    return suspects, now.scores if suspects and now is not None else None


def _substitutes(again: _Again, now: _Scored, passed: Sequence[str]) -> list[tuple[str, _Scored]]:
    """Two columns of which each makes up for the other, and without which the score falls far.

    What was repaid of a loan and what was recovered of it both follow the default: without either
    of them the other still tells.  A score that hardly errs is looked at, and no other.
    """
    if main_score(now.scores) <= TELLING:
        return []
    for name in _exchanged(now, passed):
        fewer = _less(again, now, name)
        if fewer is None:
            return []
        other = _together(again, fewer, [*passed, name])
        if other and main_score(now.scores) - main_score(other[1].scores) > 2.0 * FALL:
            return [(name, fewer), other]
    return []


def _exchanged(now: _Scored, passed: Sequence[str]) -> list[str]:
    """The columns of which exchanged values lower the score most, if they lower it far."""
    assert now.rows.held is not None
    places: dict[str, list[int]] = {}
    for j, name in enumerate(now.rows.sources):
        places.setdefault(name, []).append(j)
    held = now.rows.held
    falls = falls_without(now.model, held.X, held.y, list(places.values()))
    if falls is None:
        return []
    most = np.argsort(-falls, kind="stable")[:_TRIED].tolist()
    names = list(places)
    return [names[k] for k in most if falls[k] > FALL and names[k] not in passed]


def _less(again: _Again, now: _Scored, name: str, rows: MatrixRows | None = None) -> _Scored | None:
    """The model of all rows, or of these, without one more column; None after Ctrl-C."""
    kept = set(now.rows.sources)
    gone = [one for one in dict.fromkeys(again.rows.sources) if one not in kept]
    return again.without([*gone, name], rows)


def _together(again: _Again, now: _Scored, passed: Sequence[str]) -> tuple[str, _Scored] | None:
    """The column without which the score falls most, if it falls far; none of those ``passed``."""
    best: tuple[str, _Scored] | None = None
    for name in _exchanged(now, passed):
        fewer = _less(again, now, name, again.few)
        if fewer is not None and again.few is not again.rows and _falls(now, fewer):
            # The score of few rows is the lower one, so that it falls at least as far.
            fewer = _less(again, now, name)
        if fewer is None:
            return None
        if not _falls(now, fewer):
            continue
        if best is None or main_score(fewer.scores) < main_score(best[1].scores):
            best = name, fewer
    return best


def _falls(before: _Scored, after: _Scored) -> bool:
    return main_score(before.scores) - main_score(after.scores) > FALL
