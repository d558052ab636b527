"""Whether an artefact computes what ``predict`` does: every number is held to a bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from separatrix.data.design import as_design
from separatrix.exports.artefacts import Answers, Sample
from separatrix.exports.rounding import (
    DOUBLE,
    Enclosed,
    Precision,
    arithmetic,
    certain_labels,
    enclosing,
    matrix_of,
)
from separatrix.exports.samples import (
    Rows,
    joined_rows,
    rows_beside_boundaries,
    special_rows,
    taken,
)
from separatrix.exports.words import word_weights
from separatrix.expressions.base import Evaluation
from separatrix.expressions.features import Program

GOLDEN = 50
"""The number of rows that an artefact carries as its own proof."""


@dataclass(frozen=True, eq=False)
class Reference:
    """The answers of a model itself for rows of cells, which others are held to.

    Attributes
    ----------
    program : Program
    encode : callable
        Called with :data:`~separatrix.exports.samples.Rows`; returns the matrix of the features
        that the model itself makes of them, or raises ValueError for rows that it refuses.
    predicted : callable, optional
        Called with the same; returns the answers of a model that is not of this library.
    """

    program: Program
    encode: Callable[[Rows], Any]
    predicted: Callable[[Rows], Answers] | None = None

    def features(self, rows: Rows) -> tuple[Enclosed, np.ndarray]:
        """The features of rows with their errors, and a mask of the rows that have all of them."""
        matrix = matrix_of(self.program, rows, word_weights)
        return matrix, np.isfinite(matrix.values).all(axis=1)

    def answers(self, rows: Rows, whole: np.ndarray | None = None) -> Answers:
        """The model's answers; none for rows without all features, as ``whole`` marks them.

        Without ``whole`` the features are computed for it.
        """
        if whole is None:
            _, whole = self.features(rows)
        trees = self.program.prediction
        n, places = len(whole), np.flatnonzero(whole)
        scores = np.full((n, trees.scores.n_columns), np.nan)
        labels: Any = None if trees.label is None else np.full(n, -1, dtype=np.int64)
        shares: Any = None
        if trees.probabilities is not None:
            shares = np.full((n, trees.probabilities.n_columns), np.nan)
        if len(places):
            own = self._of_whole(taken(rows, places.tolist()))
            scores[places] = own.scores
            if labels is not None:
                found = np.asarray(own.labels)
                if found.ndim == 2:
                    labels = np.full((n, found.shape[1]), -1, dtype=np.int64)
                labels[places] = found
            if shares is not None:
                shares[places] = own.probabilities
        return Answers(scores, labels, shares)

    def _of_whole(self, rows: Rows) -> Answers:
        if self.predicted is not None:
            return self.predicted(rows)
        trees, values = self.program.prediction, Evaluation(as_design(self.encode(rows)))
        with np.errstate(all="ignore"):
            return Answers(
                values.of(trees.scores),
                None if trees.label is None else values.of(trees.label),
                None if trees.probabilities is None else values.of(trees.probabilities),
            )

    def readable(self, rows: Rows) -> Rows:
        """The rows without those that the model refuses, although they have all features."""
        _, whole = self.features(rows)
        kept = ~whole
        kept[self._taken(rows, np.flatnonzero(whole).tolist())] = True
        return rows if kept.all() else taken(rows, np.flatnonzero(kept).tolist())

    def _taken(self, rows: Rows, places: list[int]) -> list[int]:
        """Keep the places of rows that the model takes; halves of what it refuses are tried."""
        try:
            self.encode(taken(rows, places))
        except ValueError:
            half = len(places) // 2
            parts = (places[:half], places[half:]) if half else ()
            return [place for part in parts for place in self._taken(rows, part)]
        return places

    def special(self, seed: int = 0) -> Rows:
        """Typical rows, and rows with one special cell each, of which the model refuses none."""
        padded = self.predicted is not None
        return self.readable(special_rows(self.program, seed=seed, padded=padded))

    def hostile(self) -> Rows:
        """Rows that are hard to compute, of which the model refuses none."""
        plain = self.special()
        if self.program.prediction.label is None:
            return plain
        # Between two rows with all features lie such rows; the sample is judged by each row's own.
        beside = rows_beside_boundaries(
            self.program,
            plain,
            lambda rows: self.answers(rows).labels,
            lambda rows: self._of_whole(rows).labels,
        )
        return joined_rows(self.program, plain, self.readable(beside))


def sample_of(reference: Reference, rows: Rows, precision: Precision = DOUBLE) -> Sample:
    """Rows with the model's answers, and the bounds within which others have to be.

    Parameters
    ----------
    reference : Reference
    rows : dict of str to list
    precision : Precision
        The precision of the artefact.

    Returns
    -------
    Sample
    """
    own, whole = reference.features(rows)
    trees, expected = reference.program.prediction, reference.answers(rows, whole)

    def bounds(errors: np.ndarray, like: np.ndarray) -> np.ndarray:
        # Rows without an answer have none anywhere.
        out = np.zeros(like.shape)
        out[whole] = errors
        return out

    def inner(precise: Precision) -> tuple[Any, ...]:
        with arithmetic(precise):
            matrix = own if precise is DOUBLE else reference.features(rows)[0]
            finite = Enclosed(matrix.values[whole], matrix.errors[whole])
            of = enclosing(finite)
            found = of(trees.scores)
            shares = None if trees.probabilities is None else of(trees.probabilities).errors
            certain = np.ones(int(whole.sum()), dtype=bool)
            if trees.label is not None:
                certain = certain_labels(trees.label, of)[1]
            large = [np.abs(own.values) >= precise.largest for own in (finite, found)]
            beyond = np.asarray(np.hstack(large).any(axis=1))
            errors = np.where(beyond[:, None], np.inf, found.errors)
            shares = None if shares is None else np.where(beyond[:, None], np.inf, shares)
        return errors, shares, certain & ~beyond

    errors, shares, certain = inner(DOUBLE)
    if precision is not DOUBLE:
        other, others, sure = inner(precision)
        errors, certain = 0.5 * (errors + other), certain & sure
        shares = None if shares is None else 0.5 * (shares + others)
    decided = ~whole
    decided[whole] = certain
    score_bounds = 2.0 * bounds(errors, expected.scores)
    share_bounds = None
    if expected.probabilities is not None:
        share_bounds = 2.0 * bounds(shares, expected.probabilities)
    # Where a score is beyond the range of float64, an engine may as well give no answer.
    beyond = whole & ~np.isfinite(expected.scores).all(axis=1)
    for part in (score_bounds, share_bounds):
        if part is not None:
            part[beyond] = np.inf
    if expected.probabilities is not None:
        # They have no value there, which is not to say that there is no answer.
        expected.probabilities[beyond] = 0.0
    return Sample(rows, expected, score_bounds, share_bounds, decided & ~beyond)


def golden(reference: Reference, rows: Rows, precision: Precision = DOUBLE) -> Sample:
    """Rows that an artefact carries as its own proof, with answers and bounds.

    They are spread over all rows, and those whose bounds are finite come first.
    """
    whole = sample_of(reference, rows, precision)
    useful = np.isfinite(whole.score_bounds).all(axis=1)
    none = ~reference.features(rows)[1]
    places = np.flatnonzero(useful & ~none)
    step = max(1, len(places) // (GOLDEN - 6))
    kept = [*places[::step][: GOLDEN - 6].tolist(), *np.flatnonzero(none)[:6].tolist()]
    return _part(whole, kept)


def _part(sample: Sample, places: list[int]) -> Sample:
    def part(values: np.ndarray | None) -> Any:
        return None if values is None else values[places]

    own = sample.expected
    return Sample(
        taken(sample.rows, places),
        Answers(part(own.scores), part(own.labels), part(own.probabilities)),
        part(sample.score_bounds),
        part(sample.probability_bounds),
        part(sample.decided),
    )


@dataclass(frozen=True)
class EngineProof:
    """The answers of an engine, compared with those of the model.

    Attributes
    ----------
    engine, version : str
    rows : int
    worst : float
        The largest difference of a score or a probability, as a share of its bound.
    wrong : int
        Rows beyond the bounds: another class although the score decides, an answer where there is
        none, or none where there is one.
    classes : int
        Rows whose class was compared; 0 for a regression.
    undecided : int
        Rows nearer to a tie than rounding can distinguish, whose class is not compared.
    own : float
        The worst share that the artefact's own proof found.
    first_wrong : int or None
        The number of the first wrong row.
    """

    engine: str
    version: str
    rows: int
    worst: float
    wrong: int
    classes: int
    undecided: int
    own: float
    first_wrong: int | None = None

    @property
    def ok(self) -> bool:
        """Whether every number is within its bound and every class is right."""
        return self.worst <= 1.0 and self.wrong == 0 and self.own <= 1.0

    def record(self) -> dict[str, Any]:
        """The facts as plain values."""
        return {**asdict(self), "ok": self.ok}


def without_empty_texts(program: Program, sample: Sample) -> Sample:
    """The rows in which no text is empty, for engines that take such a text for a missing one."""
    texts = [sample.rows[cell.column] for cell in program.cells if cell.kind == "text"]
    return _part(sample, [k for k in range(sample.n_rows) if all(own[k] != "" for own in texts)])


def prove(engine: Any, version: str, text: Any, program: Program, sample: Sample) -> EngineProof:
    """Run an artefact on rows, and compare its answers with those of the model."""
    if not getattr(engine, "distinguishes_empty_texts", True):
        sample = without_empty_texts(program, sample)
    found = engine.run(text, program, sample.rows)
    expected = sample.expected
    worst, beyond = worst_share(found.scores, expected.scores, sample.score_bounds)
    if expected.probabilities is not None and found.probabilities is not None:
        other, off = worst_share(
            found.probabilities, expected.probabilities, sample.probability_bounds
        )
        worst, beyond = max(worst, other), beyond | off
    if expected.labels is not None:
        differ = np.asarray(found.labels) != expected.labels
        differ = differ.any(axis=1) if differ.ndim == 2 else differ
        beyond = beyond | (differ & sample.decided)
    wrong = np.flatnonzero(beyond)
    decided = 0 if expected.labels is None else int(sample.decided.sum())
    return EngineProof(
        engine.name,
        version,
        sample.n_rows,
        worst,
        len(wrong),
        decided,
        0 if expected.labels is None else sample.n_rows - decided,
        float(engine.own_proof(text)),
        int(wrong[0]) if len(wrong) else None,
    )


def worst_share(found: np.ndarray, expected: np.ndarray, bounds: Any) -> tuple[float, np.ndarray]:
    """The largest difference as a share of its bound, and a mask of the rows beyond it."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        off = np.abs(found - expected)
        share = np.where(off == 0.0, 0.0, off / bounds)
    # Values beyond the range of float64 may be anything.
    free = np.isinf(bounds) | (np.isnan(found) & np.isnan(expected))
    share = np.where(free, 0.0, np.where(np.isnan(share), np.inf, share))
    return float(share.max(initial=0.0)), np.asarray((share > 1.0).any(axis=1))
