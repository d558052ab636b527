"""Parameters that are declared once make the constructor, its signature and what a fit refuses."""

from __future__ import annotations

import ast
import inspect
import pickle
import re
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import separatrix
from separatrix.models.parameters import Parameters, compat, fitted, parameter
from separatrix.models.registry import ESTIMATORS, estimator


class Machine(Parameters):
    """A machine.

    Attributes
    ----------
    coef_ : float
    """

    kind: str = parameter(default="a", choices=("a", "b", None), also=("old",), kw_only=False)
    C: float = parameter(default=1.0, above=0, finite=False)
    share: Any = parameter(default=0.5, minimum=0, maximum=1, choices=("auto",), none=True)
    count: int = parameter(default=3, minimum=1, integer=True)
    values: Any = parameter(default=(0.1, 1.0), minimum=0, each=True)
    seed: Any = parameter(default=None)
    dual: bool = compat("not needed", (False, True), "give True or False", default=False)

    coef_: float = fitted()


class Smaller(Machine, without=("values", "seed")):
    extra: float = parameter(default=2.0, below=4, beyond="must be less than 4")
    C: float = 10.0
    # Neither declared here nor by a parent.
    note: str = "a fact"


class Described(Machine, without=("values", "seed")):
    """A machine whose parameters are described in an order of their own.

    Parameters
    ----------
    count : int
        Of what.
    C, extra
        See elsewhere.

    Attributes
    ----------
    share : float
        No parameter stands here.
    """

    extra: float = parameter(default=2.0)


class Dedented(Smaller):
    # The docstring as Python compiles it from 3.13 on.
    __doc__ = inspect.cleandoc(Described.__doc__ or "").partition("\nOther Parameters")[0]

    extra: float = parameter(default=2.0)


@pytest.mark.parametrize("kind", [Described, Dedented])
def test_the_signature_has_the_order_of_the_description(kind: type) -> None:
    expected = ["kind", "count", "C", "extra", "share", "dual"]
    assert [*inspect.signature(kind).parameters] == expected


def test_the_signature_follows_from_the_body() -> None:
    assert [*inspect.signature(Machine).parameters] == [
        *("kind", "C", "share", "count", "values", "seed", "dual")
    ]
    kinds = [p.kind.name for p in inspect.signature(Machine).parameters.values()]
    assert kinds == ["POSITIONAL_OR_KEYWORD", *["KEYWORD_ONLY"] * 6]
    assert str(inspect.signature(Smaller)) == (
        "(kind: 'str' = 'a', *, extra: 'float' = 2.0, C: 'float' = 10.0, share: 'Any' = 0.5, "
        "count: 'int' = 3, dual: 'bool' = False) -> 'None'"
    )
    assert Machine("b").kind == "b" and Smaller().C == 10.0 and Machine().C == 1.0
    assert Smaller.note == "a fact" and not hasattr(Machine, "C")
    assert Smaller._get_param_names() == ["C", "count", "dual", "extra", "kind", "share"]
    assert not hasattr(Machine, "coef_") and "coef_" not in Machine._parameters
    assert "dual : default=False\n    not needed." in (Machine.__doc__ or "")
    again = pickle.loads(pickle.dumps(clone(Smaller("b", extra=1.0))))
    assert again.get_params() == Smaller("b", extra=1.0).get_params()


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"kind": "c"}, "kind='c' is not known; choose one of 'a', 'b', None."),
        ({"C": 0}, "C=0 must be a number greater than 0."),
        ({"C": np.nan}, "C=nan must be a number greater than 0."),
        ({"share": 1.5}, "share=1.5 must be a number from 0 to 1."),
        ({"share": "half"}, "share='half' is not known; choose one of 'auto'."),
        ({"count": 2.5}, "count=2.5 must be a finite whole number of at least 1."),
        ({"count": True}, "count=True must be a finite whole number of at least 1."),
        ({"values": [1.0, -2.0]}, "values=-2.0 must be a finite number of at least 0."),
        ({"dual": "no"}, "dual='no' is not supported: give True or False."),
    ],
)
def test_a_value_outside_is_refused_in_a_sentence(given: dict[str, Any], sentence: str) -> None:
    model = Machine(**given)
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        model._check_parameters()


def test_values_inside_are_taken() -> None:
    for given in (
        *({"kind": kind} for kind in ("b", None, "old")),
        *({"share": share} for share in (None, "auto", 0, 1, np.float32(0.5))),
        *({"C": np.inf}, {"values": 2.0}, {"values": np.ones(3)}, {"seed": "any"}, {"dual": True}),
    ):
        Machine(**given)._check_parameters()
    with pytest.raises(ValueError, match=r"^extra=4 must be less than 4\.$"):
        Smaller(extra=4)._check_parameters()


def test_a_subclass_may_have_a_constructor_of_its_own() -> None:
    class Own(Machine):
        def __init__(self, C: float = 1.0, depth: int = 2) -> None:
            super().__init__(C=C)
            self.depth = depth

    class Child(Own):
        pass

    assert Own._get_param_names() == ["C", "depth"] == Child._get_param_names()
    assert clone(Child(depth=5)).depth == 5
    with pytest.raises(ValueError, match="C=-1"):
        Child(C=-1)._check_parameters()


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_unknown_name_is_refused_with_the_nearest(name: str) -> None:
    known = next(iter(inspect.signature(estimator(name)).parameters))
    with pytest.raises(TypeError, match=f"argument '{known}x'; did you mean '{known}'"):
        estimator(name)(**{f"{known}x": 1})


@pytest.mark.parametrize("name", ESTIMATORS)
def test_documented_defaults_are_the_defaults(name: str) -> None:
    """Documented defaults are those of the signature, and values that the parameter can have."""
    kind = getattr(separatrix, name)
    text = inspect.cleandoc(kind.__doc__)
    found = re.findall(
        r"^([\w, ]+) : .*\bdefault=(\(.*\)|\"[\w ]+\"|[\w.+-]+)$", text, re.MULTILINE
    )
    for names, default in found:
        for own in names.split(", "):
            assert kind._parameters[own].default == ast.literal_eval(default), own
    for own, one in kind._checks:
        one.check(own, one.default)


@pytest.mark.parametrize(
    "model",
    [
        separatrix.LogisticRegressionCV(time_limit=0),
        separatrix.RidgeCV(fit_intercept="no"),
        separatrix.RidgeClassifierCV(fit_intercept="no"),
    ],
)
def test_a_search_refuses_what_its_fits_refuse(model: Any) -> None:
    X = np.arange(12.0).reshape(6, 2)
    with pytest.raises(ValueError, match=r"time_limit=0 must be|fit_intercept='no' is not"):
        model.fit(X, [0, 1, 0, 1, 0, 1])


# Classes of the library above an estimator, where they are more than three.
DEEPER = dict.fromkeys(
    (
        *("Lasso", "LassoCV", "LeastSquaresClassifier", "LinearRegression"),
        *("LogisticRegressionCV", "NuSVC", "PolynomialRegression", "Ridge", "RidgeCV"),
        *("RidgeClassifier", "RidgeClassifierCV", "SGDClassifier", "SGDRegressor"),
    ),
    4,
)


def test_few_classes_stand_above_an_estimator() -> None:
    above = {
        name: sum(one.__module__.startswith("separatrix.") for one in estimator(name).__mro__[1:])
        for name in ESTIMATORS
    }
    assert {name: count for name, count in above.items() if count > 3} == DEEPER
