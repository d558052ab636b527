"""The code that makes the same model again: one line of shell, and a few of Python."""

from __future__ import annotations

import math
import shlex
import unicodedata
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from separatrix.assessment.evaluation_data import EvaluationData
from separatrix.tables import DEFAULT_MISSING, Encoder
from separatrix.tables.reader import OPTIONS


def reproduction(evaluation: EvaluationData) -> dict[str, Any]:
    """The ``shell`` command (None for a model that no command made) and the ``python`` code.

    Run as it is, the code ends with ``model`` fitted to the rows of the fit.
    """
    provenance = evaluation.provenance
    shell = provenance.get("command")
    tabular = evaluation.encoder is not None and "config" in provenance and "split" in provenance
    return {
        "shell": None if shell is None else " ".join(map(_word, shlex.split(shell))),
        "python": _from_table(evaluation) if tabular else _from_arrays(evaluation),
        "needs_data": not tabular,
    }


def _word(word: str) -> str:
    """A word for a shell; characters that cannot be seen are spelled out."""
    if all(unicodedata.category(c)[0] != "C" for c in word):
        return shlex.quote(word)
    spelled = "".join(
        f"\\u{ord(c):04x}" if unicodedata.category(c)[0] == "C" and ord(c) < 0x10000
        else f"\\U{ord(c):08x}" if unicodedata.category(c)[0] == "C"
        else c.replace("\\", "\\\\").replace("'", "\\'")
        for c in word
    )  # fmt: skip
    return f"$'{spelled}'"


class _Imports:
    """The names that a piece of code needs, by module."""

    def __init__(self) -> None:
        self.found: dict[str, set[str]] = {}
        self.numpy = False

    def add(self, module: str, name: str) -> str:
        self.found.setdefault(module, set()).add(name)
        return name

    def lines(self) -> list[str]:
        own = ["import numpy as np", ""] if self.numpy else []
        return own + [
            f"from {module} import {', '.join(sorted(names, key=str.lower))}"
            for module, names in sorted(self.found.items())
        ]


def _literal(value: Any, imports: _Imports) -> str:
    """An expression that gives a parameter's value again."""
    if isinstance(value, (float, np.floating)) and not math.isfinite(value):
        return f'float("{float(value)}")'
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    if isinstance(value, np.ndarray):
        imports.numpy = True
        return f"np.array({_literal(value.tolist(), imports)})"
    if isinstance(value, (list, tuple)):
        inner = ", ".join(_literal(item, imports) for item in value)
        if isinstance(value, list):
            return f"[{inner}]"
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, dict):
        pairs = (f"{_literal(k, imports)}: {_literal(v, imports)}" for k, v in value.items())
        return f"{{{', '.join(pairs)}}}"
    kind = type(value)
    if is_dataclass(value) and kind.__module__.startswith("separatrix."):
        name = imports.add(kind.__module__, kind.__name__)
        own = (f"{f.name}={_literal(getattr(value, f.name), imports)}" for f in fields(value))
        return f"{name}({', '.join(own)})"
    # Something of the user's own, which they have and this page has not.
    return f"...  # {kind.__name__}: your own"


def _construction(evaluation: EvaluationData, imports: _Imports) -> str:
    model = evaluation.model
    kind = type(model)
    public = kind.__module__.startswith("separatrix")
    module = "separatrix" if public else kind.__module__
    if module.startswith("sklearn."):
        module = ".".join(part for part in module.split(".") if not part.startswith("_"))
    name = imports.add(module, kind.__name__)
    try:
        defaults = kind().get_params(deep=False)
    except TypeError:
        defaults = {}
    recorded = (evaluation.provenance.get("config") or {}).get("parameters") or {}
    given = []
    for key, value in model.get_params(deep=False).items():
        if key in ("verbose", "record"):
            continue
        value = recorded.get(key, value) if value is None else value
        default = defaults.get(key, _MISSING)
        if default is not _MISSING and _same(value, default):
            continue
        given.append(f"{key}={_literal(value, imports)}")
    return f"{name}({', '.join(given)})"


_MISSING = object()


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return bool(np.array_equal(one, other))
    return type(one) is type(other) and bool(one == other)


def _from_arrays(evaluation: EvaluationData) -> str:
    imports = _Imports()
    construction = _construction(evaluation, imports)
    if type(evaluation.model).__module__.startswith("separatrix"):
        end = "print(model.certificate_)"
    else:
        end = f"print({imports.add('separatrix', 'verify')}(model, X, y))"
    lines = [*imports.lines(), "", "# X and y are the rows of the fit."]
    return "\n".join([*lines, f"model = {construction}.fit(X, y)", end])


def _reading(evaluation: EvaluationData, imports: _Imports) -> list[str]:
    """The arguments by which the table of the fit is read."""
    config = evaluation.provenance["config"]
    reading = [_literal(config["data"], imports)]
    marks = config.get("missing")
    if marks and tuple(marks) != tuple(DEFAULT_MISSING):
        reading.append(f"missing={_literal(list(marks), imports)}")
    kinds = {**config.get("kinds", {}), **dict.fromkeys(config.get("ignore", ()), "ignore")}
    if kinds:
        reading.append(f"kinds={_literal(kinds, imports)}")
    for name in OPTIONS:
        if config.get(name) not in (None, False):
            reading.append(f"{name}={_literal(config[name], imports)}")
    if config.get("ordered"):
        reading.append(f"ordered={_literal(config['ordered'], imports)}")
    if config.get("ignore_unusable"):
        reading.append("ignore_unusable=True")
    if evaluation.target != "target" and "decimal" in config:
        reading.append(f"target={_literal(evaluation.target, imports)}")
    return reading


def _given_of_text(encoder: Any) -> dict[str, Any]:
    """The options for text that are not the usual ones."""
    usual = Encoder().text
    return {name: value for name, value in encoder.text.items() if value != usual[name]}


def _terms(encoder: Any, imports: _Imports) -> str:
    """The terms as a parameter of the encoder, where there are any."""
    if encoder.terms is None:
        return ""
    if encoder.terms.every:
        return f"terms={_literal(encoder.terms.texts, imports)}"
    return f"formula={_literal(encoder.formula_, imports)}"


def _from_table(evaluation: EvaluationData) -> str:
    imports = _Imports()
    config, split = evaluation.provenance["config"], evaluation.provenance["split"]
    encoder = evaluation.encoder
    assert encoder is not None
    construction = _construction(evaluation, imports)
    take = "take_quantity" if evaluation.quantity else "take_target"
    together = bool(split.get("together"))
    for name in ("Encoder", "read_table", "take_roles" if together else "split_rows", take):
        imports.add("separatrix.tables", name)
    reading = _reading(evaluation, imports)
    roles = {role: config.get(role) for role in ("group", "time", "weight")}
    roles = {role: name for role, name in roles.items() if name is not None}
    stratified = bool(split.get("stratified", True))
    stratify = f", stratify={stratified}" if together or not stratified else ""
    weighted = ", sample_weight=roles.weights[fitted]" if "weight" in roles else ""
    text = _given_of_text(encoder)
    arguments = (
        "" if encoder.standardise else "standardise=False",
        "reference=True" if encoder.reference else "",
        f"min_frequency={encoder.min_frequency}" if encoder.min_frequency else "",
        f"text={_literal(text, imports)}" if text else "",
        _terms(encoder, imports),
    )
    fingerprint = (evaluation.provenance.get("data") or {}).get("fingerprint")
    lines = [*imports.lines(), "", f"table = read_table({', '.join(reading)})"]
    if config.get("drop_missing_target"):
        lines.append(f"table = table.drop_missing({_literal(evaluation.target, imports)})")
    if fingerprint:
        lines.append(f'assert table.fingerprint() == "{fingerprint}"  # the same data')
    lines += [f"features, y = {take}(table, {_literal(evaluation.target, imports)})"]
    if together:
        lines.append(f"features, roles = take_roles(features, {_literal(roles, imports)})")
    lines += [
        f"fitted, held_out = {'roles.split' if together else 'split_rows'}(y, "
        f"test_size={split['test_size']!r}, seed={split['seed']!r}{stratify})",
        f"encoder = Encoder({', '.join(filter(None, arguments))}).fit(features.select(fitted))",
    ]
    if encoder.dependent_:
        lines.append(f"encoder.leave_out({_literal(list(encoder.dependent_), imports)})")
    lines += [
        "X = encoder.transform(features.select(fitted))",
        f"model = {construction}.fit(X, y[fitted]{weighted})",
        "print(model.certificate_)",
    ]
    if split.get("held_out_rows"):
        lines += [
            "X_new = encoder.transform(features.select(held_out))",
            "print(model.score(X_new, y[held_out]))",
        ]
    return "\n".join(lines)
