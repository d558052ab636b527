"""Parameters of estimators, each declared once, where the class says what it is called.

The body of an estimator lists the parameters that it adds or changes::

    class Machine(Parameters):
        C: float = parameter(default=1.0, above=0)
        solver: str = compat("not needed: there is one", default="svd")

    class Larger(Machine):
        C: float = 10.0

``__init__``, its signature and what ``fit`` refuses follow from that.  The signature has them in
the order of the docstring's section of parameters; those that it does not describe come after
them, and among these the own ones before those of parents.  A class that names a parent's parameter
again gives it a default of its own, and ``class Other(Machine, without=("C",))`` leaves one out.
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, dataclass_transform

import numpy as np
from sklearn.base import BaseEstimator

from separatrix.data.validation import check_choice, check_number, is_same

# Where numpydoc has further parameters, in a docstring whose indentation was taken off: Python does
# that itself from 3.13 on.
_AFTER = "\nAttributes\n----------"
_PARAMETERS = "\nParameters\n----------\n"
_FITTED = object()


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A parameter, and the values that it can have.

    Attributes
    ----------
    default : object
        It is not checked.
    kw_only : bool
        Whether it has to be given by name.
    above, minimum, below, maximum : float or None
        The ends of the range of a number, which belong to it or do not.
    finite, integer : bool
        Whether a number has to be finite, and whether it has to be an integer.
    beyond : str
        The end of the sentence that refuses a number at or above its upper end.
    number : bool
        Whether it is a number, where it has no range.
    choices : sequence or None
        The values, or the words that it can be besides a number.
    also : tuple
        Words that are taken, too, and not offered.
    instead : type or tuple of types
        Objects of these types are taken as they are.
    each : bool
        Whether it can be an array of such numbers, too.
    none : bool
        Whether None is a value where it is not the default.
    meaning : str
        The effect of a value for scikit-learn's parameter of that name, in a line.
    annotation : str
        The type, as the class writes it.
    """

    default: Any
    kw_only: bool = True
    above: float | None = None
    minimum: float | None = None
    below: float | None = None
    maximum: float | None = None
    finite: bool = True
    integer: bool = False
    beyond: str = "must be a number from {minimum:g} to {maximum:g}"
    number: bool = False
    choices: Sequence[Any] | None = None
    also: tuple[str, ...] = ()
    instead: Any = ()
    each: bool = False
    none: bool = False
    meaning: str = "the same"
    annotation: Any = inspect.Parameter.empty

    @property
    def numeric(self) -> bool:
        """Whether it can be a number."""
        ends = self.above, self.minimum, self.below, self.maximum
        return self.number or self.integer or any(end is not None for end in ends)

    @property
    def checked(self) -> bool:
        """Whether there are values that it cannot have."""
        return self.numeric or self.choices is not None

    def check(self, name: str, value: Any) -> None:
        """Raise ValueError in one sentence for a value that it cannot have."""
        if value is None and (self.none or self.default is None):
            return
        named = isinstance(value, str) and self.choices is not None
        if (named and value in self.also) or (not named and isinstance(value, self.instead)):
            return
        if self.choices is not None and (named or not self.numeric):
            check_choice(name, value, self.choices)
            return
        for number in np.asarray(value, dtype=object).ravel() if self.each else [value]:
            check_number(
                name,
                number,
                above=self.above,
                minimum=self.minimum,
                finite=self.finite,
                integer=self.integer,
            )
            if (self.maximum is not None and number > self.maximum) or (
                self.below is not None and number >= self.below
            ):
                rule = self.beyond.format(minimum=self.minimum, maximum=self.maximum)
                raise ValueError(f"{name}={number!r} {rule}.")


@dataclass(frozen=True, kw_only=True)
class CompatParameter(Parameter):
    """A parameter that is taken because scikit-learn's class of that name takes it.

    Attributes
    ----------
    allowed : tuple or callable or None
        The values, or a function that returns whether a value is one of them; None for all.
    remedy : str
        The advice for any other value.
    """

    allowed: tuple[Any, ...] | Callable[[Any], bool] | None = None
    remedy: str = ""

    @property
    def checked(self) -> bool:
        return self.allowed is not None or super().checked

    def check(self, name: str, value: Any) -> None:
        if self.allowed is None:
            super().check(name, value)
            return
        if callable(self.allowed):
            taken = bool(self.allowed(value))
        else:
            taken = any(is_same(value, one) for one in self.allowed)
        if not taken:
            raise ValueError(f"{name}={value!r} is not supported: {self.remedy}.")


class _Stated(dict[str, Any]):
    """The facts about a parameter in the body of a class."""


_PLAIN = Parameter(default=None)


def parameter(*, default: Any, kw_only: bool = True, **rule: Any) -> Any:
    """Declare a parameter in the body of an estimator; ``rule``: fields of :class:`Parameter`.

    Fields that are not given are inherited from the parent's parameter of that name, if any.
    """
    return _Stated(default=default, kw_only=kw_only, **rule)


def compat(
    meaning: str,
    allowed: tuple[Any, ...] | Callable[[Any], bool] | None = None,
    remedy: str = "",
    *,
    default: Any,
    kw_only: bool = True,
    **rule: Any,
) -> Any:
    """Declare a parameter that is there for scikit-learn's sake.

    It keeps code running that was written for it.  Most steer a solver that is not here: the
    certificate shows what they were meant to secure, and any value is taken.  A value that requests
    for something other than what is done here is refused, in a sentence that advises what to do
    instead.
    """
    return CompatParameter(
        default=default, meaning=meaning, allowed=allowed, remedy=remedy, kw_only=kw_only, **rule
    )


def fitted(*, init: Literal[False] = False) -> Any:
    """Declare the type of a fitted attribute, which is no parameter."""
    return _FITTED


@dataclass_transform(kw_only_default=True, field_specifiers=(parameter, compat, fitted))
class Parameters(BaseEstimator):
    """An estimator whose body lists its parameters."""

    _parameters: ClassVar[dict[str, Parameter]] = {}
    _checks: ClassVar[tuple[tuple[str, Parameter], ...]] = ()
    _parameter_names: ClassVar[list[str] | None] = []

    def __init_subclass__(cls, *, without: Iterable[str] = (), **options: Any) -> None:
        super().__init_subclass__(**options)
        known: dict[str, Parameter] = {}
        for base in cls.__bases__:
            known = {**getattr(base, "_parameters", {}), **known}
        known = {name: one for name, one in known.items() if name not in set(without)}
        own = {}
        for name, annotation in vars(cls).get("__annotations__", {}).items():
            value = vars(cls).get(name, inspect.Parameter.empty)
            if isinstance(value, Parameter):
                own[name] = replace(value, annotation=annotation)
            elif isinstance(value, _Stated) or (name in known and name in vars(cls)):
                stated = value if isinstance(value, _Stated) else {"default": value}
                # Fields that are not given are inherited.
                inherited = replace(known[name], kw_only=True) if name in known else _PLAIN
                own[name] = replace(inherited, annotation=annotation, **stated)
            elif value is not _FITTED:
                continue
            # It is an attribute of instances alone.
            delattr(cls, name)
        text = inspect.cleandoc(vars(cls).get("__doc__") or "")
        found, parent = _ordered(own, known, _described(text)), cls._parameters
        cls._parameters = found
        cls._checks = tuple((name, one) for name, one in found.items() if one.checked)
        if "__init__" in vars(cls):
            # An __init__ of its own states the parameters in its signature.
            cls._parameter_names = None
        elif cls._parameter_names is not None and not _same(found, parent):
            cls._parameter_names = sorted(found)
            cls.__init__ = _initialiser(cls, found)  # type: ignore[method-assign]
        if text:
            cls.__doc__ = _documented(text, found)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _check_parameters(self) -> None:
        """Raise ValueError for a bad parameter."""
        for name, one in self._checks:
            # A model file or a subclass of earlier days may be without it.
            value = getattr(self, name, one.default)
            if value is not one.default:
                one.check(name, value)

    @classmethod
    def _get_param_names(cls) -> list[str]:
        # Every clone takes them; scikit-learn looks at the signature anew each time.
        names = cls._parameter_names
        return super()._get_param_names() if names is None else names


def _described(text: str) -> list[str]:
    """The names in the section of parameters of a docstring, in its order."""
    section = text.partition(_PARAMETERS)[2].partition(_AFTER)[0]
    lines = re.findall(r"^(\w+(?:, \w+)*)", section, re.MULTILINE)
    return ", ".join(lines).split(", ")


def _ordered(
    own: dict[str, Parameter], known: dict[str, Parameter], described: list[str]
) -> dict[str, Parameter]:
    """Sort parameters as in the signature: those by position first, and scikit-learn's last."""
    found = own | {name: one for name, one in known.items() if name not in own}
    places = {name: k for k, name in enumerate(described)}

    def place(named: tuple[str, Parameter]) -> tuple[bool, bool, int]:
        name, one = named
        compatible = isinstance(one, CompatParameter)
        if not one.kw_only or compatible:
            return one.kw_only, one.kw_only and compatible, 0
        return True, False, places.get(name, len(places))

    return dict(sorted(found.items(), key=place))


def _same(some: dict[str, Parameter], others: dict[str, Parameter]) -> bool:
    return [*some] == [*others] and all(some[name] is others[name] for name in some)


def _initialiser(cls: type, parameters: dict[str, Parameter]) -> Callable[..., None]:
    """Make the ``__init__`` of a class, which keeps what it is given."""
    named = [k for k, p in parameters.items() if p.kw_only]
    words = [f"{k}=_[{k!r}].default" for k, p in parameters.items() if not p.kw_only]
    words += ["*", *(f"{k}=_[{k!r}].default" for k in named)] if named else []
    body = [*(f"self.{k} = {k}" for k in parameters), "if _unknown: _refuse(self, _unknown)"]
    source = f"def __init__(self, {', '.join([*words, '**_unknown'])}):\n  " + "\n  ".join(body)
    space: dict[str, Any] = {"_": parameters, "_refuse": _refuse}
    exec(source, space)
    made = space["__init__"]
    made.__module__, made.__qualname__ = cls.__module__, f"{cls.__qualname__}.__init__"
    made.__annotations__ = {k: p.annotation for k, p in parameters.items()} | {"return": "None"}
    kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    made.__signature__ = inspect.Signature(
        [
            inspect.Parameter("self", kinds[0]),
            *(
                inspect.Parameter(k, kinds[p.kw_only], default=p.default, annotation=p.annotation)
                for k, p in parameters.items()
            ),
        ],
        return_annotation="None",
    )
    return made


def _refuse(model: Any, unknown: dict[str, Any]) -> None:
    """Raise TypeError for a name that there is not."""
    name = next(iter(unknown))
    near = difflib.get_close_matches(name, type(model)._parameters, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise TypeError(f"{type(model).__name__}() got an unexpected keyword argument {name!r}{hint}")


def _documented(text: str, parameters: dict[str, Parameter]) -> str:
    """The docstring of a class, with the parameters that are there for scikit-learn's sake."""
    lines = [
        f"{name} : default={one.default!r}\n    {one.meaning}."
        for name, one in parameters.items()
        if isinstance(one, CompatParameter)
    ]
    section = "\nOther Parameters\n----------------\n" + "\n".join(lines) + "\n"
    return text.replace(_AFTER, section + _AFTER, 1) if lines else text


def non_default_parameters(estimator: Any) -> dict[str, Any]:
    """The parameters of an estimator that its readers care for: scikit-learn's where set."""
    declared = getattr(estimator, "_parameters", {})
    return {
        name: value
        for name, value in estimator.get_params(deep=False).items()
        if not isinstance(declared.get(name), CompatParameter)
        or not is_same(value, declared[name].default)
    }
