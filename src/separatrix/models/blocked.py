"""Fits to row blocks, :class:`~separatrix.scale.BlockedData`: what estimators have in common."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from separatrix.data.digests import sha256_of
from separatrix.data.labels import codes_of, factors_of_totals
from separatrix.data.targets import TargetFacts
from separatrix.losses import Huber, Loss
from separatrix.messages import Message
from separatrix.objectives.base import DENSE_HESSIAN
from separatrix.objectives.penalties import Penalty
from separatrix.solvers.driver import lent_interrupt

# Passes over row blocks are imported where there are some: every estimator imports this module.
if TYPE_CHECKING:
    from separatrix.scale.blocks import BlockedData
    from separatrix.scale.engines import Engine
    from separatrix.scale.folds import Fold
    from separatrix.scale.passes import Passes

# The share of the data's memory that fits may hold where they share passes, and the most parameters
# of which a Hessian is formed.
_SHARE, _FORMED = 0.25, 2500


@dataclass(frozen=True, eq=False)
class InPasses:
    """A fit in passes: the data, the passes, and the facts about the targets.

    It stands for the design and for the targets of rows in memory, so that an estimator composes
    its problems of either.

    Attributes
    ----------
    model : estimator
    data : BlockedData
    passes : Passes
    classes : ndarray of shape (K,)
    total : float
        The sum of the sample weights.
    factors : ndarray of shape (K,)
        Weights of the classes.
    fold : Fold or None
        The rows that are left out.
    totals : ndarray of shape (K,) or None
        The sums of the weights of the others, by class.
    held : float
        The sum of the weights of those that are left out.
    facts : TargetFacts or None
        The facts about numbers to be fitted.
    """

    # The values that objectives over blocks take from the rows themselves.
    weights: ClassVar[None] = None
    sample_weight: ClassVar[None] = None
    # Whether there was one target, in one dimension.
    alone: ClassVar[bool] = True

    model: Any
    data: BlockedData
    passes: Passes
    classes: np.ndarray
    total: float
    factors: np.ndarray
    absent: int = 0
    fold: Fold | None = None
    totals: np.ndarray | None = None
    held: float = 0.0
    facts: TargetFacts | None = None

    @property
    def engine(self) -> Engine:
        return self.passes.engine

    @property
    def n_features(self) -> int:
        return self.data.n_features

    @property
    def class_totals(self) -> np.ndarray:
        """The sums of the sample weights, by class."""
        return self.data.class_totals

    @property
    def binary(self) -> bool:
        return len(self.classes) == 2

    @property
    def options(self) -> dict[str, Any]:
        """The options of every objective over the blocks."""
        out: dict[str, Any] = {"factors": self.factors, "passes": self.passes}
        if self.facts is not None:
            out["totals"] = np.array([self.total])
        return out if self.fold is None else {**out, "fold": self.fold, "totals": self.totals}

    def parts(self) -> list[tuple[str, int]]:
        """A name for each problem, and its positive class where targets are classes."""
        if self.binary or self.facts is not None:
            return [("", 1)]
        return [(str(c), k) for k, c in enumerate(self.classes)]

    def facts_of(self, target: int) -> TargetFacts:
        """The facts about the numbers of a part."""
        assert self.facts is not None
        return self.facts

    def pointwise(self, positive: int, loss: Loss, penalty: Penalty, **options: Any) -> Any:
        """The objective of a loss of one score a row; see :mod:`separatrix.models.composing`."""
        from separatrix.scale.kinked import BlockedKinked
        from separatrix.scale.objectives import BlockedPointwise, summable

        if not (loss.smooth and self.n_features < DENSE_HESSIAN):
            self._require_bound(penalty)
        if not (summable(loss) if loss.smooth else loss.pieces):
            raise refuse(
                self.model,
                f"the {loss.name} loss does not say how its slopes can be moved ('shift'), nor of "
                "which lines it is the largest ('pieces')",
            )
        if not (loss.smooth or penalty.strong_convexity > 0.0):
            raise refuse(
                self.model,
                "a loss with a kink has a bound from sums over rows under a share of L2 alone: "
                "give a penalty with one",
            )
        kind = BlockedPointwise if loss.smooth else BlockedKinked
        options = {**options, **self.options, "positive": positive}
        return kind(self.data, self.engine, loss, penalty, **options)

    def with_scale(self, target: int, loss: Huber, penalty: Penalty, **options: Any) -> Any:
        """The objective of Huber's loss with the scale that is best."""
        from separatrix.scale.scaled import BlockedScaled

        self._require_bound(penalty)
        options = {**options, **self.options, "largest": self.facts_of(target).largest}
        return BlockedScaled(self.data, self.engine, loss, penalty, **options)

    def multinomial(self, penalty: Penalty, **options: Any) -> Any:
        """The objective of all classes at once."""
        from separatrix.scale.softmax import BlockedSoftmax

        return BlockedSoftmax(self.data, self.engine, penalty, **options, **self.options)

    def _require_bound(self, penalty: Penalty) -> None:
        if not penalty.coercive:
            # A dual point would have to be orthogonal to all columns, exactly.
            raise refuse(self.model, Message("no_penalty_in_passes"))


def is_blocked(X: Any) -> bool:
    """Whether these are row blocks rather than a matrix."""
    return getattr(type(X), "in_row_blocks", False) is True


def in_blocks(
    X: Any, y: Any, sample_weight: Any, engine: Any = None, checkpoint: Any = None
) -> bool:
    """Whether a fit is to row blocks; ValueError where what it is given does not go together."""
    if is_blocked(X):
        require_alone(y, sample_weight)
        return True
    require_blocks(engine, checkpoint)
    return False


def no_splitter(cv: Any) -> str | None:
    """The reason why ``cv`` makes no folds of row blocks; None if it is their number, or None."""
    if cv is None or (isinstance(cv, Integral) and int(cv) >= 2):
        return None
    return "no splitter sees all of its rows: give the number of folds, at least two, as cv"


def keeps_passes(model: Any) -> bool:
    """Whether the passes of a fit to row blocks leave a checkpoint to continue from."""
    return getattr(model, "_resumes", True) and not getattr(model, "_in_closed_form", False)


def refuse(model: Any, why: str) -> TypeError:
    """Return the error of an estimator, or of parameters, that cannot be fitted in passes."""
    return TypeError(Message("no_passes", model=type(model).__name__, why=why))


def refusal(model: Any, n_classes: int | None = None) -> TypeError | None:
    """The error of a model that takes no row blocks, known before there are any; else None.

    ``n_classes``: how many classes the target has, as far as that is known.
    """
    if not hasattr(model, "_needs_all_rows"):
        return TypeError(Message("blocks_to_fit", model=type(model).__name__))
    why = model._needs_all_rows(n_classes)
    return None if why is None else refuse(model, why)


def begin(
    model: Any,
    data: BlockedData,
    engine: Engine | None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> InPasses:
    """Settle what the data say before the first pass.

    Raises
    ------
    TypeError
        For a model, or parameters, that need all rows at once.
    ValueError
        For data of fewer than two classes, or with a quantity for a classifier, or with classes
        for a regression; for what is no engine, or no path of a file; and for a checkpoint of a
        model that solves equations, whose few passes leave nothing to keep.
    """
    from separatrix.scale.checkpoints import Checkpoint
    from separatrix.scale.engines import Engine
    from separatrix.scale.passes import Passes

    error = refusal(model, None if data.classes is None else len(data.classes))
    if error is not None:
        raise error
    if not (engine is None or isinstance(engine, Engine)):
        raise ValueError(
            f"engine={engine!r} is not an engine: give an object of separatrix.scale, for instance "
            "Local(workers=2), or leave engine out."
        )
    if checkpoint is not None and not keeps_passes(model):
        raise ValueError(
            f"checkpoint is for fits of many passes, and {type(model).__name__} needs only a few: "
            "leave it out."
        )
    classes = isinstance(model, ClassifierMixin)
    if not classes and data.classes is not None:
        raise ValueError(
            f"The target of {data.source} has classes; a regression needs numbers: scan it with "
            "quantity=True."
        )
    if classes:
        _require_two(data, data.class_totals)
    model.n_features_in_ = data.n_features
    vars(model).pop("feature_names_in_", None)
    # An encoder's matrices have no names, as those of tables in memory have none.
    if data.feature_names is not None and data.encoder is None:
        model.feature_names_in_ = np.array(data.feature_names, dtype=object)
    file = None
    if checkpoint is not None:
        file = Checkpoint(_require_file(checkpoint), _identity(model, data))
    passes = Passes(data, engine, file)
    labels = np.empty(0) if data.classes is None else data.classes
    factors = np.ones(len(labels))
    if getattr(model, "class_weight", None) is not None:
        factors = factors_of_totals(labels, data.class_totals, model.class_weight)
        _require_two(data, factors * data.class_totals)
    if data.classes is None and not model._in_closed_form:
        facts = _facts_over(passes)
        return InPasses(model, data, passes, labels, facts.total, np.ones(1), facts=facts)
    return InPasses(model, data, passes, labels, float(data.class_totals.sum()), factors)


def _require_file(path: Any) -> str | os.PathLike[str]:
    """Return the path of a checkpoint; ValueError unless a file can be written there."""
    if not isinstance(path, str | os.PathLike):
        raise ValueError(f"checkpoint={path!r} is not a path: give the name of a file.")
    if os.path.isdir(path):
        raise ValueError(f"checkpoint={str(path)!r} is a folder: give the name of a file in it.")
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise ValueError(f"checkpoint={str(path)!r} is in a folder that does not exist: make it.")
    return path


def _facts_over(passes: Passes) -> TargetFacts:
    """The facts about the numbers of all blocks, by one pass."""
    out = TargetFacts.of(np.empty(0), None)
    for found in passes.each(_facts, None):
        out = out.merged(found)
    passes.weighted = out.weighted
    return out


def _facts(rows: Any, shared: None, own: Any) -> TargetFacts:
    return TargetFacts.of(rows.target, rows.weights)


def _require_two(data: BlockedData, totals: np.ndarray) -> None:
    """Raise ValueError unless two classes have a weight; ``totals``: those of the classes."""
    if data.classes is not None and np.count_nonzero(totals) >= 2:
        return
    if data.classes is None:
        found = "a quantity"
    elif len(data.classes) == 1:
        found = f"1 class ({data.classes[0].item()!r})"
    elif not totals.any():
        found = "no row of positive weight"
    else:
        found = f"one class only of positive weight ({data.classes[totals > 0.0][0].item()!r})"
    raise ValueError(
        f"The target of {data.source} has {found}; a classifier needs rows of at least two classes."
    )


def _identity(model: Any, data: BlockedData) -> str:
    """A digest of what is fitted to which data, but not of how exactly or for how long."""
    of_no_weight = ("tol", "max_iter", "time_limit", "verbose", "record", "random_state")
    fitted = {k: repr(v) for k, v in sorted(model.get_params().items()) if k not in of_no_weight}
    # Sums are taken in the order of the blocks.
    cut = [block.n_rows for block in data.blocks]
    return sha256_of(repr((type(model).__name__, fitted, data.fingerprint, data.shape, cut)))


def require_alone(y: Any, sample_weight: Any, groups: Any = None) -> None:
    """Raise ValueError where labels or weights are given beside blocks, which have their own."""
    if groups is not None:
        raise ValueError(
            "groups is given, but the folds of row blocks are those of consecutive rows: leave it "
            "out."
        )
    for name, given in (("y", y), ("sample_weight", sample_weight)):
        if given is not None:
            raise ValueError(
                f"{name} is given, but row blocks contain it: name it in scan instead."
            )


def require_blocks(engine: Any, checkpoint: Any) -> None:
    """Raise ValueError where what is for blocks is given with a matrix."""
    for name, given in (("engine", engine), ("checkpoint", checkpoint)):
        if given is not None:
            raise ValueError(
                f"{name} is for data in row blocks: make them with separatrix.scale.scan(X, y)."
            )


class PredictionAdapter:
    """A fitted model's answers about matrices that blocks hold, which have no column names.

    Parameters
    ----------
    model : estimator
    """

    def __init__(self, model: Any) -> None:
        self.model = copy.copy(model)
        vars(self.model).pop("feature_names_in_", None)

    def labels(self, matrix: Any) -> tuple[np.ndarray, None, None]:
        """The number of the class that is predicted for each row, and nothing to rank them by."""
        return codes_of(self.model.predict(matrix), self.model.classes_), None, None

    def numbers(self, matrix: Any) -> np.ndarray:
        """A predicted number for each row."""
        return np.asarray(self.model.predict(matrix), dtype=np.float64).reshape(matrix.shape[0])


def require_columns(model: Any, data: BlockedData) -> None:
    """Raise ValueError unless blocks have as many columns as a model was fitted to."""
    check_is_fitted(model)
    if data.n_features != model.n_features_in_:
        raise ValueError(
            f"The rows of {data.source} have {data.n_features:,} features, and "
            f"{type(model).__name__} was fitted to {model.n_features_in_:,}."
        )


def require_same(model: Any, data: BlockedData) -> None:
    """Raise ValueError unless blocks can be those that a model was fitted to."""
    require_columns(model, data)
    if hasattr(model, "classes_"):
        codes = codes_for(model, data)
        if not np.array_equal(codes, np.arange(len(model.classes_))):
            raise ValueError(
                f"The classes of {data.source} are not those of this {type(model).__name__}; give "
                "the row blocks that it was fitted to."
            )


def codes_for(model: Any, data: BlockedData) -> np.ndarray:
    """The model's number of each class of the data; -1 for one that it does not know."""
    if data.classes is None:
        raise ValueError(
            f"The target of {data.source} is a quantity; {type(model).__name__} predicts classes."
        )
    known = {label: k for k, label in enumerate(model.classes_.tolist())}
    return np.array([known.get(label, -1) for label in data.classes.tolist()], dtype=np.int64)


def accuracy_over(model: Any, data: BlockedData, y: Any, sample_weight: Any) -> float:
    """The share of the rows of blocks, by their weights, that are predicted right."""
    from separatrix.scale.scores import scores_over

    require_alone(y, sample_weight)
    require_columns(model, data)
    codes, count = codes_for(model, data), len(model.classes_)
    return scores_over(
        data, PredictionAdapter(model).labels, codes=codes, n_classes=count, exact=True
    ).accuracy


def require_numbers(model: Any, data: BlockedData, y: Any, sample_weight: Any) -> None:
    """Raise ValueError unless a model that predicts numbers can be scored on blocks."""
    require_alone(y, sample_weight)
    require_columns(model, data)
    if data.classes is not None:
        raise ValueError(
            f"The target of {data.source} has classes; {type(model).__name__} predicts numbers: "
            "scan it with quantity=True."
        )


def r2_over(model: Any, data: BlockedData, y: Any, sample_weight: Any) -> float:
    """The share of the variation of a quantity that is explained, over blocks."""
    from separatrix.scale.scores import errors_over

    require_numbers(model, data, y, sample_weight)
    found = errors_over(data, PredictionAdapter(model).numbers)
    if found["r2"] is None:
        # As scikit-learn has it.
        return 1.0 if found["mse"] == 0.0 else 0.0
    return float(found["r2"])


def share(problems: Sequence[tuple[str, Any]]) -> bool:
    """Whether passes of these problems can be common: sums, and nothing beside the blocks."""
    from separatrix.scale.objectives import BlockedObjective

    return all(isinstance(p, BlockedObjective) and p.smooth for _, p in problems)


def together(
    fit: InPasses,
    jobs: Sequence[Callable[[], Any]],
    size: int,
    names: Sequence[str] | None = None,
) -> list[Any]:
    """The results of several fits that share their passes; Ctrl-C ends them like this thread's.

    As many run at a time as memory has room for.

    Parameters
    ----------
    fit : InPasses
    jobs : sequence of callables
    size : int
        The number of parameters of each.
    names : sequence of str, optional
        The names of their parts, for a checkpoint.
    """
    from separatrix.scale.shared_passes import in_rounds

    # Hessians and their factors, as far as they are formed, and the points that are remembered.
    held = 8.0 * (2.0 * min(size, _FORMED) ** 2 + 52.0 * size)
    most = max(1, int(_SHARE * fit.data.memory / held))
    out: list[Any] = []
    with lent_interrupt():
        for first in range(0, len(jobs), most):
            with in_rounds(fit.passes) as rounds:
                some = slice(first, first + most)
                out += rounds.run(jobs[some], None if names is None else names[some])
    return out


def starts(fit: InPasses, problems: list[tuple[str, Any]]) -> list[np.ndarray] | None:
    """The points to start from: a checkpoint's, or zero where it lacks one; None without it."""
    found = None if fit.passes.checkpoint is None else fit.passes.checkpoint.load()
    if found is None:
        return None
    count, parts = found
    points = [problem.zero() for _, problem in problems]
    for k, (name, problem) in enumerate(problems):
        theta, account = parts.get(name, (np.empty(0), {}))
        if theta.shape == problem.shape:
            problem.recall(theta, account)
            points[k] = theta
    fit.passes.count = count
    return points
