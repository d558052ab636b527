"""Parameters that a class takes because scikit-learn's class of that name does.

They keep code running that was written for it.  Most steer a solver that is not here: the
certificate says what they were meant to secure, and any value is taken.  A value that asks for
something else than what is done here is refused, in a sentence that says what to do instead.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np

from separatrix.exceptions import ConventionWarning, warn

__all__ = [
    "CompatParameter",
    "CompatParameters",
    "compat_parameters",
    "is_default",
    "non_default_parameters",
    "warn_once",
]

T = TypeVar("T", bound=type)

# Where numpydoc has further parameters.
_AFTER = "\n    Attributes\n    ----------"


@dataclass(frozen=True)
class CompatParameter:
    """A parameter that is taken for scikit-learn's sake.

    Attributes
    ----------
    default : object
        Scikit-learn's.
    meaning : str
        What becomes of it, in a line.
    allowed : tuple or callable or None
        The values, or a function that tells whether a value is one of them; None for all.
    remedy : str
        What to do instead of any other value.
    """

    default: Any
    meaning: str
    allowed: tuple[Any, ...] | Callable[[Any], bool] | None = None
    remedy: str = ""

    def takes(self, value: Any) -> bool:
        if self.allowed is None:
            return True
        if callable(self.allowed):
            return bool(self.allowed(value))
        return any(is_default(value, one) for one in self.allowed)


class CompatParameters:
    """An estimator with such parameters; :func:`compat_parameters` says which."""

    _inherited: ClassVar[dict[str, CompatParameter]] = {}

    def _inherit(self, given: dict[str, Any]) -> None:
        """Keep them; TypeError for a name that there is not."""
        for name, one in self._inherited.items():
            setattr(self, name, given.pop(name, one.default))
        for name in given:
            known = [p for p in inspect.signature(type(self)).parameters if p != "inherited"]
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise TypeError(
                f"{type(self).__name__}() got an unexpected keyword argument {name!r}{hint}"
            )

    def _check_inherited(self) -> None:
        """Raise ValueError for a value that asks for something else than what is done."""
        for name, one in self._inherited.items():
            value = getattr(self, name, one.default)
            if not one.takes(value):
                raise ValueError(f"{name}={value!r} is not supported: {one.remedy}.")


def compat_parameters(**names: CompatParameter) -> Callable[[T], T]:
    """Declare the parameters that a class inherits.

    Its constructor takes them as ``**inherited``, or by position, and hands them to
    :meth:`CompatParameters._inherit`; to whoever asks for the signature they are parameters like
    the others.
    """

    def decorate(cls: T) -> T:
        cls._inherited = names  # type: ignore[attr-defined]
        init = cls.__init__  # type: ignore[misc]
        signature = inspect.signature(init)
        own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        more = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=one.default)
            for name, one in names.items()
            if name not in signature.parameters
        ]
        init.__signature__ = signature.replace(parameters=[*own, *more])
        if cls.__doc__ and _AFTER in cls.__doc__:
            lines = [
                f"    {name} : default={one.default!r}\n        {one.meaning}."
                for name, one in names.items()
            ]
            section = "\n    Other Parameters\n    ----------------\n" + "\n".join(lines) + "\n"
            cls.__doc__ = cls.__doc__.replace(_AFTER, section + _AFTER, 1)
        return cls

    return decorate


def is_default(value: Any, default: Any) -> bool:
    """Whether a value is a default, of the same kind."""
    if value is default:
        return True
    if isinstance(value, (bool, np.bool_)) or isinstance(default, bool):
        return isinstance(value, (bool, np.bool_)) and bool(value) == default
    if isinstance(value, str) or isinstance(default, str) or value is None or default is None:
        return isinstance(value, str) and isinstance(default, str) and value == default
    return bool(np.ndim(value) == 0 and value == default)


def non_default_parameters(estimator: Any) -> dict[str, Any]:
    """The parameters of an estimator that its readers care for: inherited ones where set."""
    inherited = getattr(estimator, "_inherited", {})
    return {
        name: value
        for name, value in estimator.get_params(deep=False).items()
        if name not in inherited or not is_default(value, inherited[name].default)
    }


# What differs from scikit-learn on purpose, and is told once.
CONVENTIONS = {
    "free_intercept_of_regression": "the intercept is not penalised here, but scikit-learn's "
    "LinearSVR penalises it with the weights, so intercept_ and "
    "the predictions differ",
    "weights_are_copies": "a row of weight k counts as k copies of the row here, so the mean loss "
    "is divided by the sum of the weights; scikit-learn divides by the "
    "number of rows: give alpha / mean(sample_weight) for its objective",
    "free_perceptron": "under any penalty the perceptron's loss is smallest at zero weights, which "
    "separate no classes, so no penalty is applied here; scikit-learn's steps "
    "shrink the weights",
    "free_intercept": "the intercept is not penalised here, but scikit-learn's LinearSVC penalises "
    "it with the weights, so intercept_ and the scores differ; verify(model, X, "
    "y) shows for both how far each is from its own optimum",
}
_warned: set[str] = set()


def warn_once(convention: str) -> None:
    """Warn of a convention that changes numbers, the first time in a process that it does."""
    if convention not in _warned:
        _warned.add(convention)
        warn(CONVENTIONS[convention], ConventionWarning)
