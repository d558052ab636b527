"""Row blocks in the coordinates of a lift: kernels, approximately, for data larger than memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.data.design import Design, as_design
from separatrix.data.digests import sha256_of
from separatrix.exceptions import DataError
from separatrix.scale.blocks import Block, BlockedData, Rows


@dataclass(frozen=True, eq=False)
class DerivedBlock(Block):
    """A block whose columns are computed from its own, a few rows at a time.

    Attributes
    ----------
    inner : Block
    lift : callable
        ``lift(design)`` is a design of the computed columns.
    width : int
        The number of the computed columns.
    """

    inner: Block
    lift: Callable[[Design], Design]
    width: int

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        return self.inner.n_rows

    @property
    def n_stored(self) -> int:  # type: ignore[override]
        return self.inner.n_rows * self.width

    @property
    def nbytes(self) -> int:  # type: ignore[override]
        return self.inner.nbytes

    @property
    def place(self) -> str:  # type: ignore[override]
        return self.inner.place

    def load(self) -> Rows:
        rows = self.inner.load()
        return Rows(self.lift(rows.design), rows.target, rows.weights)


@dataclass(frozen=True, eq=False)
class LiftedBlock(DerivedBlock):
    """A block whose rows are lifted, all at once, each time they are loaded.

    Attributes
    ----------
    inner : Block
    lift : transformer
        The fitted transformer.
    width : int
        The number of coordinates that it gives.
    """

    lift: Any

    @property
    def nbytes(self) -> int:  # type: ignore[override]
        return 8 * self.n_stored

    def load(self) -> Rows:
        return _lifted(self.inner.load(), self.lift)


@dataclass(frozen=True, eq=False)
class NarrowBlock(DerivedBlock):
    """A block of which some features are kept, ``lift``: by their places."""

    lift: Any

    @property
    def n_stored(self) -> int:  # type: ignore[override]
        return self.inner.n_stored

    def load(self) -> Rows:
        return _narrow(self.inner.load(), self.lift)


def _narrow(rows: Rows, features: np.ndarray) -> Rows:
    matrix = rows.matrix
    narrow = matrix[:, features] if sp.issparse(matrix) else np.take(matrix, features, axis=1)
    return Rows(narrow, rows.target, rows.weights, np.array(as_design(narrow).row_squares()))


def narrowed(data: BlockedData, features: Sequence[int]) -> BlockedData:
    """The same rows with some of their features, in the order in which these are given.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.scale import scan
    >>> from separatrix.scale.lifting import narrowed
    >>> data = scan(np.eye(4), [0, 1, 0, 1], block_rows=2)
    >>> narrowed(data, [3, 1]).blocks[1].load().matrix.tolist()
    [[0.0, 0.0], [1.0, 0.0]]
    """
    chosen, names = np.asarray(features, dtype=np.intp), data.feature_names
    width = len(chosen)
    return replace(
        data,
        blocks=tuple(NarrowBlock(block, chosen, width) for block in data.blocks),
        held=tuple(NarrowBlock(block, chosen, width) for block in data.held),
        n_features=width,
        feature_names=None if names is None else tuple(names[j] for j in chosen),
        fingerprint=sha256_of(data.fingerprint, chosen),
        sample=None if data.sample is None else _narrow(data.sample, chosen),
    )


def derived(data: BlockedData, lift: Callable[[Design], Design], width: int) -> BlockedData:
    """The rows of a fit with columns that are computed from theirs, and without those held out."""
    return replace(
        data,
        blocks=tuple(DerivedBlock(block, lift, width) for block in data.blocks),
        held=(),
        n_features=width,
        feature_names=None,
        encoder=None,
        single=False,
    )


def _lifted(rows: Rows, lift: Any) -> Rows:
    matrix = np.ascontiguousarray(lift.transform(rows.matrix), dtype=np.float64)
    return Rows(matrix, rows.target, rows.weights)


def lifted(data: BlockedData, lift: Any) -> BlockedData:
    """The same rows in the coordinates of a lift, which are computed anew in every pass.

    A linear model fitted to them is a machine with the kernel that the lift approximates, and has
    the certificate of the approximate problem: ``LinearSVC`` is then what ``SVC`` with an
    ``approximation`` is in memory.

    Parameters
    ----------
    data : BlockedData
    lift : transformer
        A :class:`~separatrix.lifts.NystroemLift`, a :class:`~separatrix.lifts.FourierLift`, or
        whatever else has ``transform``.  One that is not fitted yet is fitted to the sample of the
        data, from which landmarks are then drawn.

    Returns
    -------
    BlockedData

    Raises
    ------
    DataError
        For a lift that is not fitted, where the data have no sample.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import LinearSVC
    >>> from separatrix.kernels import RBFKernel
    >>> from separatrix.lifts import NystroemLift
    >>> from separatrix.scale import scan
    >>> from separatrix.scale.lifting import lifted
    >>> X = np.random.default_rng(0).normal(size=(600, 2))
    >>> inside = np.square(X).sum(axis=1) < 1.5
    >>> lift = NystroemLift(RBFKernel(0.5), n_components=30, random_state=0)
    >>> data = lifted(scan(X, inside, block_rows=200), lift)
    >>> model = LinearSVC(C=10.0).fit(data)
    >>> model.certificate_.status, bool(model.score(data) > 0.98)
    ('optimal', True)
    >>> model.predict(lift.transform([[0.0, 0.1], [3.0, 0.0]])).tolist()
    [True, False]
    """
    sample = data.sample
    if not hasattr(lift, "n_features_in_"):
        if sample is None or not len(sample):
            raise DataError(
                f"{data.source} has no sample on which to fit the lift: fit the lift first"
            )
        lift.fit(sample.matrix)
    probe = data.blocks[0].load() if sample is None else sample
    width = int(lift.transform(probe.matrix[:1]).shape[1])
    return replace(
        data,
        blocks=tuple(LiftedBlock(block, lift, width) for block in data.blocks),
        held=tuple(LiftedBlock(block, lift, width) for block in data.held),
        n_features=width,
        feature_names=None,
        encoder=None,
        fingerprint=_fingerprint(data, lift),
        sample=None if sample is None else _lifted(sample, lift),
        single=False,
    )


def _fingerprint(data: BlockedData, lift: Any) -> str:
    """A digest of the rows and of what the lift has learned."""
    parts: list[str | np.ndarray] = [data.fingerprint, type(lift).__name__]
    for name, value in sorted(vars(lift).items()):
        kept = value.toarray() if hasattr(value, "toarray") else value
        is_plain = isinstance(kept, np.ndarray) and not kept.dtype.hasobject
        parts += [name, kept if is_plain else repr(kept)]
    return sha256_of(*parts)
