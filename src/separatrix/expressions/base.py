"""The nodes of a tree, and its evaluation: every node once, however many others use its values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from separatrix.data.design import as_design


class Expression(ABC):
    """A node: numbers for every row, computed from those of the nodes that its fields name.

    Models make their trees anew for every prediction, so nodes are as light as can be.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """The number of its columns: its numbers for each row."""

    @abstractmethod
    def evaluate(self, values: Evaluation) -> np.ndarray:
        """The numbers for all rows, (n_samples, n_columns); for classes (n_samples,)."""

    def deciding(self, values: Evaluation) -> np.ndarray:
        """Scores with the same winners as its numbers, which may take less time than these."""
        return values.of(self)

    def design(self, values: Evaluation) -> Any:
        """The numbers as a design of float64, which may compute them in blocks of rows."""
        return as_design(values.of(self).astype(np.float64, copy=False))

    def logarithms(self, values: Evaluation) -> np.ndarray:
        """The logarithms of the numbers, whose own values may underflow."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.evaluate(values)))


@dataclass(eq=False, slots=True)
class SameColumns(Expression):
    """A node with as many columns as the node that it is computed from."""

    of: Expression

    @property
    def n_columns(self) -> int:
        return self.of.n_columns


@dataclass(eq=False, slots=True)
class Features(Expression):
    """The matrix that a model predicts from, where every tree begins."""

    n_features: int

    @property
    def n_columns(self) -> int:
        return self.n_features

    def evaluate(self, values: Evaluation) -> np.ndarray:
        raise TypeError("The features are the data, which are read as a design.")


def children(node: Any) -> Iterator[Expression]:
    """Yield the nodes from which a node, or the trees of a model, are computed."""
    for each in fields(node):
        value = getattr(node, each.name)
        for one in value if isinstance(value, tuple) else (value,):
            if isinstance(one, Expression):
                yield one


def nodes_of_trees(*trees: Any) -> Iterator[Any]:
    """Yield the nodes of trees, or of the trees of a model, each once."""
    seen: dict[int, Any] = {}
    waiting = [*trees]
    while waiting:
        one = waiting.pop()
        if id(one) not in seen:
            seen[id(one)] = one
            yield one
            waiting += children(one)


class Evaluation:
    """The values of the nodes of trees for the rows of a matrix.

    Parameters
    ----------
    design : Design of shape (n_samples, n_features)
        The rows, already validated.
    """

    __slots__ = ("_known", "design")

    def __init__(self, design: Any):
        self.design = design
        self._known: dict[int, np.ndarray] = {}

    def require_finite(self) -> None:
        """Raise ValueError for rows that must not have NaN or infinity, but have.

        Nodes whose values reveal these call it only then; the others call it before they begin.
        """

    @property
    def finite_design(self) -> Any:
        """The design, after a check of its entries."""
        self.require_finite()
        return self.design

    def knows(self, node: Expression) -> bool:
        """Whether the values of a node have been computed."""
        return id(node) in self._known

    def given(self, node: Expression, known: np.ndarray) -> Evaluation:
        """Take the values of a node from elsewhere."""
        self._known[id(node)] = known
        return self

    def of(self, node: Expression) -> np.ndarray:
        """The values of a node; they are not to be written to."""
        found = self._known.get(id(node))
        if found is None:
            found = self._known[id(node)] = node.evaluate(self)
        return found


def evaluated(node: Expression, design: Any) -> np.ndarray:
    """The values of a node for the rows of a design.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.data.design import as_design
    >>> from separatrix.expressions import Affine, Features, Sigmoid, evaluated
    >>> score = Affine(Features(2), np.array([[1.0, -1.0]]), np.array([0.5]))
    >>> rows = as_design(np.array([[1.0, 1.5], [3.0, 0.0]]))
    >>> evaluated(score, rows)[:, 0].tolist()
    [0.0, 3.5]
    >>> evaluated(Sigmoid(score), rows).round(3).tolist()
    [[0.5, 0.5], [0.029, 0.971]]
    """
    return Evaluation(design).of(node)
