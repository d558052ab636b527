r"""Separability of data that are read in passes.

A verdict on some rows is a suggestion about all of them.  Multipliers of a few rows that no
hyperplane survives are a proof for all, whatever the other rows are; a hyperplane that separates
those few is checked on every row, exactly, in one pass, and the rows that contradict it join the
few.  Either ends after finitely many passes, and mostly after two or three.

That not even a weak separation exists is the one statement which knows all rows: a hyperplane with
every point on its side must have the few on it, so either the few span the space, or every row
satisfies the equations that the few do, which is one more pass.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.data.design import as_design
from separatrix.data.labels import encode_among, plain_label
from separatrix.geometry.exact.products import product_signs
from separatrix.geometry.exact.rational import dependency, independent, whole_numbers
from separatrix.geometry.points import Cloud, LabelledPoints
from separatrix.geometry.separation.separability import Separability, SeparabilityTable, decide
from separatrix.geometry.separation.witness import (
    HyperplaneWitness,
    MultiplierWitness,
    Sides,
    multiplier_witness,
)
from separatrix.scale.blocks import BlockedData, Rows
from separatrix.scale.engines import Engine
from separatrix.scale.passes import Passes


@dataclass(frozen=True)
class Tuning:
    """The numbers of rows that are gathered, which affect the number of passes but no verdict.

    Parameters
    ----------
    first : int
        The number of rows from which the first suggestion is made.
    joining : int
        The most rows of a block that may join after a pass.
    """

    first: int = 2000
    joining: int = 200


@dataclass(frozen=True)
class _Question:
    """A query of the rows of a block: exact signs of equations, or the rows themselves.

    Attributes
    ----------
    positive, negative : int or None
        The numbers of the classes; a negative class of None stands for all others.
    equations : tuple of (w, b)
        The equations whose signs are evaluated at the rows.
    kind : {"strict", "weak", "zero"}
        The condition on every row: every sign is positive, or none is negative, or all are zero.
    """

    positive: int
    negative: int | None
    equations: tuple[tuple[tuple[Fraction, ...], Fraction], ...]
    kind: str
    lifted: bool
    joining: int


def _violators(rows: Rows, question: _Question, start: int) -> tuple[int, np.ndarray, Any]:
    """The number of rows that contradict, the numbers of some of them, and these rows."""
    codes = rows.target
    used = np.ones(len(codes), dtype=bool)
    if question.negative is not None:
        used = (codes == question.positive) | (codes == question.negative)
    if rows.weights is not None:
        used &= rows.weights > 0.0
    index = np.flatnonzero(used)
    y = np.where(codes[index] == question.positive, 1.0, -1.0)
    design = rows.design.take(index)
    wrong, worst = np.zeros(len(index), dtype=bool), np.zeros(len(index))
    for w, b in question.equations:
        signs, values = product_signs(design, y, w, b)
        if question.kind == "zero":
            bad = signs != 0
        else:
            bad = signs <= 0 if question.kind == "strict" else signs < 0
        wrong |= bad
        worst = np.minimum(worst, np.where(bad, -np.abs(values), 0.0))
    found = np.flatnonzero(wrong)
    chosen = found[np.argsort(worst[found], kind="stable")[: question.joining]]
    chosen = index[np.sort(chosen)]
    return len(found), start + chosen, (rows.matrix[chosen], codes[chosen])


def _drawn(rows: Rows, share: float, start: int) -> tuple[int, np.ndarray, Any]:
    """Rows at equal distances."""
    count = max(1, int(np.ceil(share * len(rows))))
    chosen = np.unique(np.linspace(0, len(rows) - 1, count).astype(np.int64))
    if rows.weights is not None:
        chosen = chosen[rows.weights[chosen] > 0.0]
    return 0, start + chosen, (rows.matrix[chosen], rows.target[chosen])


class _Gathered:
    """The few rows, with their numbers among all."""

    def __init__(self, data: BlockedData, passes: Passes, joining: int) -> None:
        self.data, self.passes, self.joining = data, passes, joining
        lengths = [block.n_rows for block in data.blocks]
        self.starts = [0, *np.cumsum(lengths)[:-1].tolist()]
        self.numbers = np.empty(0, dtype=np.int64)
        self.matrix: Any = None
        self.codes = np.empty(0, dtype=np.int64)

    def ask(self, task: Callable[..., Any], shared: Any) -> int:
        """Take in the rows that a pass brings, and return how many of all rows contradict."""
        total = 0
        matrices, codes, numbers = [], [self.codes], [self.numbers]
        for count, found, (matrix, own) in self.passes.each(task, shared, each=self.starts):
            total += count
            new = ~np.isin(found, self.numbers)
            if new.any():
                matrices.append(matrix[np.flatnonzero(new)])
                codes.append(np.asarray(own)[new].astype(np.int64))
                numbers.append(found[new])
        if matrices:
            parts = ([] if self.matrix is None else [self.matrix]) + matrices
            if sp.issparse(parts[0]):
                self.matrix = sp.csr_matrix(sp.vstack(parts, format="csr"))
            else:
                self.matrix = np.concatenate(parts)
            self.codes, self.numbers = np.concatenate(codes), np.concatenate(numbers)
        return total

    def points(self) -> LabelledPoints:
        classes = self.data.classes
        assert classes is not None
        labels = encode_among(classes, classes[self.codes])
        return LabelledPoints(as_design(self.matrix), labels, self.data.feature_names)


def separability_in_passes(
    data: BlockedData,
    *,
    fit_intercept: bool = True,
    time_limit: float | None = None,
    engine: Engine | None = None,
    tuning: Tuning = Tuning(),
) -> Separability | SeparabilityTable:
    """Decide whether a hyperplane separates the classes of row blocks, and prove it.

    The verdict is that of :func:`separatrix.separability` on such data, without the largest margin,
    which needs all rows at once.

    Parameters
    ----------
    data : BlockedData
        Labelled.
    fit_intercept : bool, default=True
    time_limit : float, optional
        Seconds.
    engine : Engine, optional
    tuning : Tuning
        The numbers of rows that are gathered.

    Returns
    -------
    Separability, for two classes
    SeparabilityTable, for more
        Rows of witnesses are numbered in the order of the blocks; :func:`places_of` says where
        they come from.

    Raises
    ------
    ValueError
        For a quantity, or one class only.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix.geometry.separation.in_passes import separability_in_passes
    >>> from separatrix.scale import scan
    >>> X, y = load_iris(return_X_y=True)
    >>> verdicts = separability_in_passes(scan(X, y, block_rows=40))
    >>> {pair: verdict.status for pair, verdict in verdicts.pairs.items()}
    {(0, 1): 'separable', (0, 2): 'separable', (1, 2): 'not_separable'}
    """
    if data.classes is None or len(data.classes) < 2:
        raise ValueError(f"The target of {data.source} does not have two classes.")
    start = time.perf_counter()
    deadline = np.inf if time_limit is None else start + time_limit
    passes = Passes(data, engine)
    gathered = _Gathered(data, passes, tuning.joining)
    gathered.ask(_drawn, min(1.0, tuning.first / max(data.n_rows, 1)))
    classes = [plain_label(c) for c in data.classes]

    def verdict(sides: Sides) -> Separability:
        return _decided(gathered, sides, classes, fit_intercept, deadline)

    return SeparabilityTable.of(classes, verdict)


def _decided(
    gathered: _Gathered, sides: Sides, classes: list[Any], lifted: bool, deadline: float
) -> Separability:
    start = time.perf_counter()
    positive = classes.index(sides.positive)
    negative = None if sides.against_rest else classes.index(sides.negative)
    data = gathered.data
    rows = data.class_rows
    n = data.n_rows if negative is None else int(rows[positive] + rows[negative])
    while True:
        found = decide(
            gathered.points(), sides, fit_intercept=lifted, margin=False, deadline=deadline
        )
        witness, kind = found.witness, "strict"
        equations: tuple[tuple[tuple[Fraction, ...], Fraction], ...] = ()
        if isinstance(witness, HyperplaneWitness):
            equations = (_scaled(witness),)
            kind = "strict" if witness.strict else "weak"
        elif isinstance(witness, MultiplierWitness) and not _spans(gathered, sides, witness):
            equations = tuple(_equations(gathered, sides, lifted))
            kind = "zero"
        question = _Question(positive, negative, equations, kind, lifted, gathered.joining)
        late = time.perf_counter() > deadline
        if not equations or late or not gathered.ask(_violators, question):
            status = "undecided" if late and equations else found.status
            break
    of_all = status != "undecided"
    return replace(
        found,
        status=status,
        n_samples=n,
        witness=_numbered(gathered, sides, found.witness) if of_all else None,
        common=_numbered(gathered, sides, found.common) if of_all else None,
        seconds=time.perf_counter() - start,
    )


def _scaled(witness: HyperplaneWitness) -> tuple[tuple[Fraction, ...], Fraction]:
    """The plane with denominators that are powers of two, and the same signs."""
    scale = math.lcm(witness.b.denominator, *(v.denominator for v in witness.w))
    if scale & (scale - 1) == 0:
        scale = 1
    return tuple(v * scale for v in witness.w), witness.b * scale


def _block(gathered: _Gathered, sides: Sides, rows: np.ndarray | None, lifted: bool) -> np.ndarray:
    """Return some of the gathered rows, signed and lifted, as integers."""
    cloud, kept = sides.cloud(gathered.points(), lifted)
    index = np.arange(cloud.n) if rows is None else rows
    if rows is not None and kept is not None:
        index = np.searchsorted(kept, rows)
    block: np.ndarray = whole_numbers(Cloud.signed(cloud, index))[0]
    return block


def _spans(gathered: _Gathered, sides: Sides, witness: MultiplierWitness) -> bool:
    """Whether the rows that prove a contradiction leave no equation for a weak separation."""
    rows = np.array(witness.rows, dtype=np.int64) if not witness.extra_rows else None
    block = _block(gathered, sides, rows, witness.fit_intercept)
    return len(independent(block)[0]) == block.shape[1]


def _equations(
    gathered: _Gathered, sides: Sides, lifted: bool
) -> list[tuple[tuple[Fraction, ...], Fraction]]:
    """All equations that the few satisfy: of each column that depends on others one."""
    columns = _block(gathered, sides, None, lifted).T
    _, basis = independent(columns.T)
    kept = sorted(basis.tolist())
    found = []
    for j in sorted(set(range(len(columns))) - set(kept)):
        index = [*kept, j]
        relation = dependency(columns[index])
        if relation is None:
            continue
        full = [Fraction(0)] * len(columns)
        for place, value in zip(index, relation, strict=False):
            full[place] = Fraction(int(value))
        b = full.pop() if lifted else Fraction(0)
        found.append((tuple(full), b))
    return found


def _numbered(gathered: _Gathered, sides: Sides, witness: Any) -> Any:
    """A witness about the few as one about all rows."""
    numbers = gathered.numbers
    if isinstance(witness, HyperplaneWitness):
        return replace(witness, separated=tuple(numbers[list(witness.separated)].tolist()))
    if not isinstance(witness, MultiplierWitness):
        return witness
    multipliers = dict(zip(witness.rows, witness.multipliers, strict=True))
    if witness.extra_rows:
        # All of the few with weight one and some more: multipliers of the few alone, all positive.
        cloud, kept = sides.cloud(gathered.points(), witness.fit_intercept)
        used = np.arange(cloud.n) if kept is None else kept
        multipliers = dict.fromkeys(used.tolist(), Fraction(1))
        for row, more in zip(witness.extra_rows, witness.extra_multipliers, strict=True):
            multipliers[row] += more
    return multiplier_witness(
        {int(numbers[row]): value for row, value in multipliers.items()},
        sides,
        witness.fit_intercept,
        overlap=witness.overlap,
    )


def places_of(data: BlockedData, rows: Any) -> list[str]:
    """Say where rows come from, by their numbers in the order of the blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.geometry.separation.in_passes import places_of
    >>> from separatrix.scale import scan
    >>> places_of(scan(np.eye(4), [0, 1, 0, 1], block_rows=2), [3])
    ['rows 3 to 4, row 2 of these']
    """
    ends = np.cumsum([block.n_rows for block in data.blocks])
    out = []
    for row in rows:
        k = int(np.searchsorted(ends, row, side="right"))
        within = int(row) - (int(ends[k - 1]) if k else 0)
        out.append(f"{data.blocks[k].place}, row {within + 1:,} of these")
    return out
