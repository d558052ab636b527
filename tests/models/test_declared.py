"""Options of commands and controls of the studio stay within what the estimators declare."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import click
import pytest

from separatrix.cli.commands.fit import FitOptions
from separatrix.cli.commands.fit.models import SCHEDULES
from separatrix.models.parameters import Parameter
from separatrix.models.registry import OFFERS, estimator
from separatrix.studio.state import ESTIMATORS, PARAMETERS

# Options whose words stand for several parameters, and those of the table.
_OF_THEIR_OWN = {"loss", "penalty", "priors", "class_weight", "no_intercept", "schedule", "average"}
_DEFAULT = re.compile(r"\[default: ([\w.+-]+)(?:; ([\w-]+): ([\w.+-]+))?\]")
_PROBES: tuple[Any, ...] = (-1, 0, 1, 2, 0.25, 0.75, 1.5, 1e-9, 1e9, float("inf"), "no such word")


def _pairs() -> Iterator[tuple[str, str, Parameter]]:
    """Every option of a model with the declaration of its parameter."""
    for model, offer in OFFERS.items():
        declared = estimator(offer.estimator)._parameters
        for option in sorted(set(offer.takes) - _OF_THEIR_OWN):
            one = declared.get(offer.called.get(option, option))
            if one is not None:
                yield model, option, one


def _refusal(one: Parameter, value: Any) -> str | None:
    try:
        if one.checked:
            one.check("value", value)
    except (TypeError, ValueError) as error:
        return str(error)
    return None


@pytest.fixture(scope="module")
def options() -> dict[str, Any]:
    declared = [one for one in fields(FitOptions) if one.metadata]
    return {one.name: one.metadata["make"](one.name, FitOptions) for one in declared}


def test_every_option_of_a_model_has_a_parameter_or_a_meaning_of_its_own(options) -> None:
    paired = {(model, option) for model, option, _ in _pairs()}
    unpaired = {
        (model, option)
        for model, offer in OFFERS.items()
        for option in set(offer.takes) - _OF_THEIR_OWN
        if (model, option) not in paired
    }
    # The estimators have these under names and in units of their own.
    assert unpaired == {
        *{("huber", "lam"), ("svm", "multiclass"), ("perceptron", "start")},
        *{("sgd", option) for option in ("C", "lam", "kappa")},
    }
    assert len(paired) > 50 and set(SCHEDULES) == set(options["schedule"].type.choices)


def test_what_an_option_takes_the_parameter_takes(options) -> None:
    for model, name, one in _pairs():
        kind = options[name].type
        values = [*getattr(kind, "choices", ())]
        for probe in () if values else _PROBES:
            with contextlib.suppress(click.UsageError):
                values.append(kind.convert(str(probe), None, None))
        for value in values:
            # Infinity is refused by the estimator, of most options, before a table is read.
            if value in ("none", float("inf")) and name != "C":
                continue
            assert _refusal(one, value) is None, f"{model}: --{name} {value}"


def test_defaults_in_the_help_are_those_of_the_declarations(options) -> None:
    found = 0
    for model, name, one in _pairs():
        stated = re.search(
            r"\[default: ([\w.+-]+)(?:; ([\w-]+): ([\w.+-]+))?\]", options[name].help
        )
        if stated is None:
            continue
        default, other, its = stated.groups()
        text = its if other == model else default
        expected: Any = OFFERS[model].defaults.get(name, one.default)
        assert text == str(expected) or float(text) == expected, f"{model}: --{name}"
        found += 1
    assert found > 15


@pytest.mark.parametrize("control", PARAMETERS, ids=lambda c: f"{c['model']}-{c['name']}")
def test_a_control_of_the_studio_gives_values_that_its_parameter_takes(control) -> None:
    declared = estimator(ESTIMATORS[control["model"]])._parameters
    if control["name"] == "start":
        # This one is an argument of `fit`.
        assert "start" not in declared
        return
    one = declared[control["name"]]
    values = control.get("choices") or [control.get("low", True), control.get("high", False)]
    for value in [*values, control["default"]]:
        if value != "hard margin":
            assert _refusal(one, value) is None, value
