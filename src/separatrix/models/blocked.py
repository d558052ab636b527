"""Fits to row blocks: what estimators share who take :class:`~separatrix.scale.BlockedData`."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.data.labels import factors_of_totals
from separatrix.messages import Message
from separatrix.scale.blocks import BlockedData
from separatrix.scale.checkpoints import Checkpoint
from separatrix.scale.engines import Engine, Local
from separatrix.scale.passes import Passes

__all__ = [
    "InPasses",
    "begin",
    "begin_equations",
    "in_blocks",
    "is_blocked",
    "refuse",
    "require_alone",
    "require_blocks",
    "starts",
]


@dataclass(frozen=True, eq=False)
class InPasses:
    """A fit in passes: the data, who goes over them, and the labels as counts.

    Attributes
    ----------
    data : BlockedData
    passes : Passes
    classes : ndarray of shape (K,)
    total : float
        The sum of the sample weights.
    factors : ndarray of shape (K,)
        Weights of the classes.
    """

    data: BlockedData
    passes: Passes
    classes: np.ndarray
    total: float
    factors: np.ndarray
    absent: int = 0

    @property
    def engine(self) -> Engine:
        return self.passes.engine

    @property
    def binary(self) -> bool:
        return len(self.classes) == 2

    @property
    def options(self) -> dict[str, Any]:
        """What every objective over the blocks takes."""
        return {"factors": self.factors, "passes": self.passes}

    def parts(self) -> list[tuple[str, int]]:
        """One-vs-rest: a name and the positive class of each binary problem."""
        if self.binary:
            return [("", 1)]
        return [(str(c), k) for k, c in enumerate(self.classes)]


def is_blocked(X: Any) -> bool:
    """Whether these are row blocks rather than a matrix."""
    return isinstance(X, BlockedData)


def in_blocks(
    X: Any, y: Any, sample_weight: Any, engine: Any = None, checkpoint: Any = None
) -> bool:
    """Whether a fit is to row blocks; ValueError where what it is given does not go together."""
    if is_blocked(X):
        require_alone(y, sample_weight)
        return True
    require_blocks(engine, checkpoint)
    return False


def refuse(model: Any, why: str) -> TypeError:
    """What is raised by an estimator, or for parameters, that cannot be fitted in passes."""
    return TypeError(Message("no_passes", model=type(model).__name__, why=why))


def begin(
    model: Any,
    data: BlockedData,
    engine: Engine | None,
    checkpoint: str | os.PathLike[str] | None = None,
    *,
    classes: bool = True,
) -> InPasses:
    """Settle what the data say before the first pass.

    ``classes``: whether it is a classifier that is fitted.

    Raises
    ------
    ValueError
        For data of fewer than two classes, or with a quantity for a classifier, or with classes
        for a regression.
    """
    if not classes and data.classes is not None:
        raise ValueError(
            f"The target of {data.source} has classes; a regression needs numbers: scan it with "
            "quantity=True."
        )
    if classes and (data.classes is None or np.count_nonzero(data.class_totals) < 2):
        found = "a quantity" if data.classes is None else f"{len(data.classes)} class"
        raise ValueError(
            f"The target of {data.source} has {found}; a classifier needs rows of at least two "
            "classes."
        )
    model.n_features_in_ = data.n_features
    vars(model).pop("feature_names_in_", None)
    if data.feature_names is not None:
        model.feature_names_in_ = np.array(data.feature_names, dtype=object)
    file = None
    if checkpoint is not None:
        file = Checkpoint(checkpoint, _identity(model, data))
    passes = Passes(data, engine or data.engine or Local(), file)
    labels = np.empty(0) if data.classes is None else data.classes
    factors = np.ones(len(labels))
    if getattr(model, "class_weight", None) is not None:
        factors = factors_of_totals(labels, data.class_totals, model.class_weight)
    return InPasses(data, passes, labels, float(data.class_totals.sum()), factors)


def begin_equations(
    model: Any, data: BlockedData, engine: Engine | None, checkpoint: Any, *, classes: bool = True
) -> InPasses:
    """:func:`begin` for a model that solves equations, whose few passes leave nothing to keep.

    Raises
    ------
    ValueError
        As :func:`begin`, and where a checkpoint is asked for.
    """
    if checkpoint is not None:
        raise ValueError(
            f"checkpoint is for fits of many passes, and {type(model).__name__} takes a few that "
            "build on each other: leave it out."
        )
    return begin(model, data, engine, classes=classes)


def _identity(model: Any, data: BlockedData) -> str:
    """A digest of what is fitted to which data, but not of how exactly or for how long."""
    of_no_weight = ("tol", "max_iter", "time_limit", "verbose", "record", "random_state")
    told = {k: repr(v) for k, v in sorted(model.get_params().items()) if k not in of_no_weight}
    text = repr((type(model).__name__, told, data.fingerprint, data.shape))
    return hashlib.sha256(text.encode()).hexdigest()


def require_alone(y: Any, sample_weight: Any) -> None:
    """Raise ValueError where labels or weights are given beside blocks, which have their own."""
    for name, given in (("y", y), ("sample_weight", sample_weight)):
        if given is not None:
            raise ValueError(f"{name} is given, but blocks have theirs: name it in scan instead.")


def require_blocks(engine: Any, checkpoint: Any) -> None:
    """Raise ValueError where what is for blocks is given with a matrix."""
    for name, given in (("engine", engine), ("checkpoint", checkpoint)):
        if given is not None:
            raise ValueError(
                f"{name} is for data in row blocks: make them by separatrix.scale.scan(X, y)."
            )


def starts(fit: InPasses, problems: list[tuple[str, Any]]) -> list[np.ndarray] | None:
    """Where to begin: at what a checkpoint has, and at zero otherwise."""
    found = None if fit.passes.checkpoint is None else fit.passes.checkpoint.load()
    if found is None:
        return None
    part, count, theta, account = found
    points = [problem.zero() for _, problem in problems]
    for k, (name, problem) in enumerate(problems):
        if name == part and theta.shape == problem.shape:
            problem.recall(theta, account)
            points[k] = theta
    fit.passes.count = count
    return points
