"""The scores of ``fit`` beside its random split: by groups, on the latest rows, without leaks.

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
from separatrix.assessment.entities import likely_group, possible_groups
from separatrix.assessment.leaks import TELLING, falls_without, single_scores
from separatrix.assessment.other_scores import FALL, OtherScore, figure, main_score
from separatrix.assessment.weights import has_weights
from separatrix.cli.commands.fit.in_memory import MatrixRows
from separatrix.cli.commands.fit.models import build_model, suit_table
from separatrix.cli.commands.fit.training import SplitRows
from separatrix.cli.interruption import Interruption, fitting
from separatrix.cli.output import Output
from separatrix.data.design import dense
from separatrix.exceptions import DataError
from separatrix.messages import Message, Setting
from separatrix.tables.row_times import likely_time
from separatrix.tables.table import quote

_TOL = 1e-4
# The scores from which columns are searched for those that give the target away, alone and together
# with others: the one good predictor of a table is none of the latter.
_HIGH, _TOO_HIGH = 0.9, 0.95
# Fits without one column, and columns that are found so.
_TRIED, _ROUNDS = 3, 4
# With at least twice as many rows, a sample of this many shows first whether a column is no leak.
_FEW = 5_000
# Models whose passes go on from a state that is more than weights.
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
        The output, for warnings.
    model : estimator
        The fitted model.
    rows : SplitRows
        The rows of the fit. Those in memory are looked at; of a table in passes a sample is, and
        where its score falls all rows are fitted once more.
    held_out : dict or None
        The scores on the rows that were held out.
    decision : Decision or None
    interrupted : Interruption
        The record of Ctrl-C, which ends the fits that are left.
    """
    if held_out is None or interrupted:
        return []
    again = _Again(model, rows, decision, interrupted, shown=not out.quiet)
    seen = _Seen(again, held_out) if isinstance(rows, MatrixRows) else again.in_sample()
    if seen is None:
        return []
    found = []
    groups: list[str] = []
    roles = [] if rows.options.test is not None else _roles_of(again, seen)
    for role, column, drawn in roles:
        if role == "group":
            # A column that names the entities gives their targets away, but is no leak.
            groups.append(column)
        try:
            if drawn is not None and not _falls_by(out, drawn, role, column):
                continue
            scores = again.by(role, column)
        except DataError as error:
            out.note(Message("no_score_by", column=quote(column), why=error))
            continue
        if scores is not None:
            found.append(OtherScore(role, (column,), scores))
            warning = found[-1].warning(held_out)
            if warning is not None:
                out.warn(warning)
    suspects, scores = _leaks(out, again, seen, groups)
    if suspects and scores is not None:
        found.append(OtherScore("without", tuple(suspects), scores))
    return found


def _roles_of(again: _Again, seen: _Seen) -> list[tuple[str, str, _Seen | None]]:
    """The roles that columns of the table have by their looks, where no option gives one.

    Each comes with the sample in which the score may fall; None for a table in memory.
    """
    options, features, y = seen.rows.options, seen.rows.target.features, seen.rows.target.y
    if options.group is not None or options.time is not None:
        return []
    found: list[tuple[str, str, _Seen | None]] = []
    time = likely_time(features)
    if seen.rows is again.rows:
        group = likely_group(features, y)
        found = [] if group is None else [("group", group.column, None)]
        return found + ([] if time is None else [("time", time, None)])
    for name in possible_groups(features, y)[:_TRIED]:
        drawn = again.in_sample(together=name)
        if drawn is None:
            continue
        target = drawn.rows.target
        if likely_group(target.features, target.y, (name,)) is not None:
            found.append(("group", name, drawn))
            break
    return found + ([] if time is None else [("time", time, seen)])


def _falls_by(out: Output, drawn: _Seen, role: str, column: str) -> bool:
    """Whether the score falls in a sample whose rows are split by a column."""
    scores = drawn.again.by(role, column)
    if scores is None:
        return False
    falls = OtherScore(role, (column,), scores).warning(drawn.scores) is not None
    if not falls:
        values = {
            "column": quote(column),
            "count": len(drawn.rows.target.y),
            "score": figure(scores),
            "random": figure(drawn.scores),
            "option": Setting(role, column),
        }
        out.note(Message("no_fall_in_sample", **values))
    return falls


@dataclass(frozen=True, eq=False)
class _Scored:
    """A fitted model, its rows and its scores."""

    model: Any
    rows: SplitRows
    scores: dict[str, Any]


@dataclass(frozen=True, eq=False)
class _Seen:
    """The rows in memory that are looked at, all or a sample, and the scores of their split."""

    again: _Again
    scores: dict[str, Any]

    @property
    def rows(self) -> MatrixRows:
        rows: MatrixRows = self.again.rows
        return rows


class _Again:
    """Fits the same model to other rows, or to fewer columns."""

    def __init__(
        self,
        model: Any,
        rows: Any,
        decision: Decision | None,
        interrupted: Interruption,
        *,
        shown: bool,
    ) -> None:
        self.model, self.rows, self.decision = model, rows, decision
        self.interrupted, self.shown = interrupted, shown

    def in_sample(self, together: str | None = None) -> _Seen | None:
        """The same in a sample of the rows; None where there is none, and after Ctrl-C."""
        rows = self.rows.sampled(together)
        model = None if rows is None else self._fitted(rows)
        if model is None:
            return None
        again = _Again(model, rows, self.decision, self.interrupted, shown=False)
        return _Seen(again, rows.scores(model, self.decision))

    def by(self, role: str, column: str) -> dict[str, Any] | None:
        """The scores where rows are split by a column; None after Ctrl-C."""
        with self.rows.split_again(role, column, shown=self.shown) as other:
            model = self._fitted(other)
            found: dict[str, Any] | None = None
            if model is not None:
                found = other.scores(model, self.decision)
        return found

    @cached_property
    def few(self) -> SplitRows:
        """A sample of the rows to fit, or all where these are few, weighted or of a rare class."""
        rows = self.rows
        X, y = rows.given
        if rows.n_fit < 2 * _FEW or rows.weighted:
            return rows
        some = np.sort(np.random.default_rng(0).choice(rows.n_fit, _FEW, replace=False))
        if not rows.quantity and len(np.unique(y[some])) != rows.n_classes:
            return rows
        return replace(rows, given=(X[some], y[some]), n_fit=_FEW)

    def without(self, columns: Sequence[str], rows: SplitRows | None = None) -> _Scored | None:
        """The model of all rows, or of these, without some columns; None after Ctrl-C."""
        rows = rows or self.rows
        kept = [j for j, source in enumerate(rows.sources) if source not in columns]
        other = rows.without(kept)
        model = self._fitted(other, kept)
        if model is None:
            return None
        scores = other.scores(model, self.decision)
        assert scores is not None
        return _Scored(model, other, scores)

    def _fitted(self, rows: SplitRows, kept: Sequence[int] | None = None) -> Any:
        """The same model of other rows or features, from where the first one is."""
        # Fewer features have other weights to start from.
        options = replace(rows.options, start=None, record=False)
        model = build_model(options)
        model = suit_table(model, options, n_classes=rows.n_classes, n_rows=rows.n_fit)
        parameters = model.get_params(deep=False)
        if parameters.get("tol") is not None:
            model.set_params(tol=max(_TOL, parameters["tol"]))
        if "warm_start" in parameters and options.model not in _STEPWISE:
            self._start(model, rows, kept)
        bar = rows.bar(shown=self.shown and not isinstance(rows, MatrixRows))
        with warnings.catch_warnings(), fitting(model, self.interrupted), bar:
            # Only the score of this fit is printed.
            warnings.simplefilter("ignore")
            replace(rows, options=options).fit(model)
        return None if self.interrupted else model

    def _start(self, model: Any, rows: SplitRows, kept: Sequence[int] | None) -> None:
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
    out: Output, every: _Again, seen: _Seen, groups: Sequence[str]
) -> tuple[list[str], dict[str, Any] | None]:
    """Columns that give the target away, and the scores of all rows without them."""
    again, rows = seen.again, seen.rows
    if main_score(seen.scores) < _HIGH:
        return [], None
    sampled = again is not every
    where = f" in a sample of {len(rows.target.y):,} rows" if sampled else ""
    columns = list(dict.fromkeys(rows.sources))
    # Alerts name these already: what the encoder found, and what was found in its matrix.
    known = every.rows.alerted_leaks()
    suspects = [name for name in columns if name in known and name not in groups]
    if rows.options.test is None:
        fitted, held = rows.numbers, np.ones(len(rows.target.y), dtype=bool)
        held[fitted] = False
        single = single_scores(
            rows.target.features,
            rows.target.y,
            fitted,
            np.flatnonzero(held),
            quantity=rows.quantity,
        )
        for name in columns:
            if name not in (*suspects, *groups) and single.get(name, 0.0) > TELLING:
                suspects.append(name)
                scale = "R^2" if rows.quantity else "ROC AUC"
                score = f"{scale} {single[name]:.4f}{where}"
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
    now: _Scored | None = _Scored(again.model, rows, seen.scores)
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
                    fewer=figure(fewer.scores) + where,
                    option=Setting("ignore", name),
                )
            )
            suspects.append(name)
            now = fewer
    if sampled and suspects and now is not None:
        now = every.without(suspects)
    return suspects, now.scores if suspects and now is not None else None


def _substitutes(again: _Again, now: _Scored, passed: Sequence[str]) -> list[tuple[str, _Scored]]:
    """Two columns that make up for each other, and without which the score falls far.

    The amounts repaid of a loan and recovered of it both follow the default: without either of
    them the other still reveals it.  Only a nearly perfect score is looked at.
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
    """The columns whose exchanged values lower the score most, if they lower it far."""
    rows = now.rows
    assert isinstance(rows, MatrixRows)
    held = rows.held
    assert held is not None
    places: dict[str, list[int]] = {}
    for j, name in enumerate(rows.sources):
        places.setdefault(name, []).append(j)
    falls = falls_without(now.model, held.X, held.y, list(places.values()))
    if falls is None:
        return []
    most = np.argsort(-falls, kind="stable")[:_TRIED].tolist()
    names = list(places)
    return [names[k] for k in most if falls[k] > FALL and names[k] not in passed]


def _less(again: _Again, now: _Scored, name: str, rows: SplitRows | None = None) -> _Scored | None:
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
