"""The provenance that a model file states, as far as it is of the form that commands write.

A provenance may hold anything, and nothing in it is checked when the file is read.  Commands and
reports take rows, seeds and names from it, so what is not of the form that they write is left out
here, as if it had not been recorded.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from separatrix.tables.table import FLAGS, OPTIONS

_FINGERPRINT = re.compile(r"[0-9a-f]{8,128}")
Form = Callable[[Any], bool]


def _is(kind: type) -> Form:
    return lambda value: isinstance(value, kind)


_text, _flag, _mapping = _is(str), _is(bool), _is(dict)


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e308


def _score(value: Any) -> bool:
    return isinstance(value, float) or _number(value)


def _share(value: Any) -> bool:
    return _number(value) and 0 <= value < 1 and math.isfinite(value)


def _or_none(form: Form) -> Form:
    return lambda value: value is None or form(value)


def _list(form: Form) -> Form:
    return lambda value: isinstance(value, (list, tuple)) and all(map(form, value))


def _texts_by_text(value: Any) -> bool:
    return _mapping(value) and all(map(_text, value)) and all(map(_text, value.values()))


def _orders(value: Any) -> bool:
    return _mapping(value) and all(map(_text, value)) and all(map(_list(_text), value.values()))


def _record(needed: Mapping[str, Form], optional: Mapping[str, Form] | None = None) -> Form:
    optional = optional or {}

    def holds(value: Any) -> bool:
        return (
            isinstance(value, dict)
            and all(name in value and form(value[name]) for name, form in needed.items())
            and all(form(value[name]) for name, form in optional.items() if name in value)
        )

    return holds


_REGRESSION = _record({"mse": _score, "rmse": _score, "mae": _score, "r2": _or_none(_score)})
_CLASSIFICATION = _record(
    {
        "accuracy": _score,
        "accuracy_interval": lambda value: _list(_score)(value) and len(value) == 2,
        "roc_auc": _or_none(_score),
        "log_loss": _or_none(_score),
    }
)


def _scores(value: Any) -> bool:
    of_quantity = isinstance(value, dict) and "mse" in value
    return _REGRESSION(value) if of_quantity else _CLASSIFICATION(value)


def _command(value: Any) -> bool:
    """A command of this program, in words of a shell: it is shown to be run again."""
    try:
        return _text(value) and shlex.split(value)[0] == "separatrix"
    except (IndexError, ValueError):
        return False


def _label(value: Any) -> bool:
    return isinstance(value, (str, bool, int)) or _number(value)


def _pair(value: Any) -> bool:
    return _list(_score)(value) and len(value) == 2


_DECISION = _record(
    {
        "positive": _label,
        "threshold": _score,
        "scale": lambda value: value in ("probability", "score"),
        "goal": _or_none(_text),
        "interval": _or_none(_pair),
        "value": _or_none(_score),
        "value_interval": _or_none(_pair),
    }
)

_FORMS: dict[str, Form] = {
    "command": _command,
    "config": _record(
        {
            "data": _text,
            "missing": _or_none(_list(_text)),
            "kinds": _texts_by_text,
            "ignore": _list(_text),
        },
        {
            "parameters": _mapping,
            "ignore_unusable": _flag,
            "drop_missing_target": _flag,
            "ordered": _orders,
            **dict.fromkeys(("log", "spline", "polynomial", "interact"), _or_none(_list(_text))),
            "formula": _or_none(_text),
            **dict.fromkeys((*OPTIONS, "group", "time", "weight"), _or_none(_text)),
            **dict.fromkeys(FLAGS, _or_none(_flag)),
        },
    ),
    "created": _text,
    "data": _record(
        {
            "fingerprint": lambda value: _text(value) and bool(_FINGERPRINT.fullmatch(value)),
            "rows": _count,
        },
        {"source": _text},
    ),
    "decision": _or_none(lambda value: _DECISION(value) and len(value) == 7),
    "held_out": _or_none(_scores),
    "other_scores": _list(
        _record(
            {
                "by": lambda value: value in ("group", "time", "without"),
                "columns": lambda value: _list(_text)(value) and len(value) > 0,
                "scores": _scores,
            }
        )
    ),
    "positive": _or_none(_label),
    "quantity": _flag,
    "split": _record(
        {"fit_rows": _count, "seed": _or_none(_count), "test_size": _share},
        {"held_out_rows": _count, "stratified": _flag, "together": _flag},
    ),
    "target": _text,
    "trained": _or_none(_scores),
    "versions": _texts_by_text,
    "weights_per": _text,
    "weights": _or_none(
        _list(
            _record(
                {"feature": _text, "weight": _score, "standardised": _score},
                {"class": lambda value: True, "against": lambda value: True},
            )
        )
    ),
}


def known_origin(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """A provenance without the entries that are not of the form that commands write.

    Parameters
    ----------
    provenance : mapping

    Returns
    -------
    dict
        The provenance; entries that commands do not know stay.
    """
    known = {
        name: value
        for name, value in provenance.items()
        if name not in _FORMS or _FORMS[name](value)
    }
    if not all(name in known for name in ("config", "data", "split", "target")):
        # Without one of them the rows of the fit cannot be found again.
        known.pop("split", None)
    return known
