"""What ``separatrix fit`` does, step by step."""

from __future__ import annotations

import platform
import re
import shlex
import warnings
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import click
import numpy as np
import scipy
import sklearn

import separatrix
from separatrix.certificate import Certificate
from separatrix.cli.findings import warn_before_fit
from separatrix.cli.interruption import fitting, undisturbed
from separatrix.cli.meeting import meeting, named, tell_meeting
from separatrix.cli.output import Exit, Output, counted, say
from separatrix.cli.progress import progress_bar
from separatrix.cli.reading import read_training_table
from separatrix.cli.scoring import headline, score_rows
from separatrix.cli.supporting import support_record, tell_support
from separatrix.cli.weights import (
    column_spread,
    describe_weights,
    has_weights,
    largest_weights,
)
from separatrix.exceptions import DataError, NotSeparableError
from separatrix.store import check_writable, save_model
from separatrix.tables import Encoder, Table, split_rows, take_target

MODEL_NAMES = {
    "LogisticRegression": "logistic regression",
    "LinearSVC": "linear support vector machine",
    "Perceptron": "perceptron",
    "SVC": "support vector machine",
}


def fit_table(out: Output, config: dict[str, Any]) -> Exit:
    """Read, split, encode, fit, measure and save; return the exit code."""
    check_writable(config["output"])
    model = build_model(config)
    _check_options(model)

    table = read_training_table(config)
    config["target"] = target_name(table, config["target"])
    features, y = take_target(table, config["target"])
    fit_rows, held_rows = split_rows(y, test_size=config["test_size"], seed=config["seed"])
    fit_part = features.select(fit_rows)
    encoder = Encoder().fit(fit_part, y[fit_rows])
    X = encoder.transform(fit_part)
    # Before the fit, because a held-out row can be refused too, and then the fit would be lost.
    held_X = encoder.transform(features.select(held_rows)) if len(held_rows) else None
    out.report("read", describe_table(features, encoder))
    out.report("split", _describe_split(len(fit_rows), len(held_rows), config["seed"]))
    for note in table.notes:
        out.note(note)
    for alert in (*table.alerts, *encoder.alerts_):
        out.warn(alert)
    # Columns that depend on one another are no trouble for a machine that sees the kernel alone.
    free = config["penalty"] == "none" or config["C"] == np.inf
    penalised = not free or config["model"] == "kernel-svm"
    warn_before_fit(out, X, y[fit_rows], encoder, fit_rows + 1, penalised=penalised)

    try:
        with fitting(model) as interrupted, progress_bar(shown=not out.quiet):
            _fit(out, model, X, y[fit_rows])
    except NotSeparableError as error:
        return _tell_not_separable(out, config, error, y, fit_rows)
    with undisturbed():
        certificate = model.certificate_
        out.report("model", f"{MODEL_NAMES[type(model).__name__]}: {model.objective_formula_}")
        told = describe_certificate(model, certificate)
        out.report("fit", told)
        if out.quiet and not certificate.ok:
            say("warning", told)
        tell_support(out, model)

        scores = None
        if held_X is not None:
            scores = score_rows(model, held_X, y[held_rows])
            for note in encoder.notes_:
                out.note(f"held-out rows: {note}")
        out.report("held out", headline(scores) if scores else "nothing: every row was fitted")

        weights = None
        if has_weights(model):
            weights = largest_weights(model, encoder.feature_names_, column_spread(X))
            out.report("weights", describe_weights(weights, multiclass=len(model.classes_) > 2))

        provenance = {
            "command": _command_line(config),
            "config": {**config, "parameters": model.get_params()},
            "target": config["target"],
            "data": _data_record(table, features, encoder),
            "split": {
                "fit_rows": len(fit_rows),
                "held_out_rows": len(held_rows),
                "test_size": config["test_size"],
                "seed": config["seed"],
            },
            "held_out": scores,
            "weights": weights,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "versions": _versions(),
        }
        save_model(config["output"], model, encoder=encoder, provenance=provenance)
        out.report("saved", config["output"])

        code = Exit.DONE if certificate.ok else Exit.ABOVE_TOL
        if interrupted:
            code = Exit.INTERRUPTED
        out.document(
            code,
            {
                "status": certificate.status,
                "certificate": certificate.to_dict(),
                "model": describe_model(model, encoder),
                "support": support_record(model),
                **provenance,
                "output": config["output"],
            },
        )
    return code


def build_model(config: dict[str, Any]) -> Any:
    """The estimator that the options describe; what is not given is left to the estimator."""
    given = {
        "fit_intercept": not config["no_intercept"],
        "class_weight": config["class_weight"],
        "random_state": config["seed"],
        "time_limit": config["time_limit"],
    }
    of_all = ("C", "lam", "tol", "multiclass", "loss", "max_iter", "penalty", "calibrate")
    for option in (*of_all, "kernel", "gamma", "degree", "coef0", "cache_mb", "approximation"):
        if config[option] is not None:
            given[option] = config[option]
    if given.get("penalty") == "none":
        given["penalty"] = None
    if config["model"] == "logistic":
        given.pop("loss", None)  # there is one
        return separatrix.LogisticRegression(**given)
    if config["model"] == "svm":
        given.pop("multiclass", None)  # always one against the rest
        given.pop("penalty", None)  # always there
        return separatrix.LinearSVC(**given)
    if config["model"] == "kernel-svm":
        for settled in ("loss", "penalty", "fit_intercept"):
            given.pop(settled, None)
        if config["components"] is not None:
            given["n_components"] = config["components"]
        return separatrix.SVC(**given)
    if "max_iter" in given:
        given["max_passes"] = given.pop("max_iter")
    return separatrix.Perceptron(**given)


def describe_model(model: Any, encoder: Any) -> dict[str, Any]:
    """What a JSON document says of a model."""
    return {
        "class": type(model).__name__,
        "name": MODEL_NAMES.get(type(model).__name__, type(model).__name__),
        "formula": getattr(model, "objective_formula_", None),
        "parameters": model.get_params(),
        "classes": model.classes_.tolist(),
        "features": model.n_features_in_,
        "feature_names": None if encoder is None else list(encoder.feature_names_),
    }


# The library speaks of its arguments; here they are options.
_AS_OPTIONS = (
    (re.compile(r"\bmax_(iter|passes)\b"), "--max-iter"),
    (re.compile(r"\btime_limit\b(?!:)"), "--time-limit"),
    (re.compile(r"penalty='l2'"), "--penalty l2"),
    (
        re.compile(r"kernel='rbf' or 'poly' with coef0 >= 0"),
        "--kernel rbf, or poly with --coef0 >= 0,",
    ),
    (re.compile(r"separatrix\.separability\(X, y\)"), "separatrix separable"),
    (re.compile(r"\btol=([0-9])"), r"--tol \1"),
)


def describe_certificate(model: Any, certificate: Certificate, *, advice: bool = True) -> str:
    """A certificate in one sentence, with what to do about it unless `advice` is false."""
    sentence, _, remedy = str(certificate).partition("; ")
    if isinstance(model, separatrix.Perceptron):
        # Its objective is the number of mistakes, and no bound but zero is known.
        mistakes = "no training mistake"
        if certificate.primal > 0:
            noun = "training mistake" if certificate.primal == 1 else "training mistakes"
            weighted = "weighted " if model.class_weight is not None else ""
            mistakes = f"{certificate.primal:,.6g} {weighted}{noun} left"
        passes = "pass" if certificate.n_iter == 1 else "passes"
        sentence = (
            f"{certificate.status}: {mistakes}, {certificate.n_iter:,} {passes}, "
            f"{certificate.seconds:.2f} s"
        )
    if not advice or not remedy:
        return sentence
    for pattern, replacement in _AS_OPTIONS:
        remedy = pattern.sub(replacement, remedy)
    return f"{sentence}; {remedy}"


def _data_record(table: Table, features: Table, encoder: Encoder) -> dict[str, Any]:
    return {
        "source": table.source,
        "rows": table.n_rows,
        "columns": list(features.names),
        "missing": features.n_missing,
        # Of the labels too: verify must notice when one was changed.
        "fingerprint": table.fingerprint(),
        "summary": encoder.summary_,
    }


def _versions() -> dict[str, str]:
    return {
        "separatrix": separatrix.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }


def _check_options(model: Any) -> None:
    """Refuse what the estimator would refuse, before the table is read."""
    try:
        model._check_parameters()
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _fit(out: Output, model: Any, X: Any, y: np.ndarray) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(X, y)
        except (DataError, NotSeparableError):
            raise
        except ValueError as error:
            # The table was checked before, so what an estimator refuses now is an option.
            raise click.UsageError(str(error)) from error
        finally:
            _tell_caught(out, model, caught)


def _tell_caught(out: Output, model: Any, caught: Sequence[warnings.WarningMessage]) -> None:
    """Retell what a fit warned of; that it is above its tolerance has a line of its own."""
    own = str(getattr(model, "certificate_", ""))
    for warning in caught:
        message = " ".join(str(warning.message).split())
        if message == own or issubclass(warning.category, DeprecationWarning):
            continue
        for pattern, replacement in _AS_OPTIONS:
            message = pattern.sub(replacement, message)
        out.warn(message)


def _tell_not_separable(
    out: Output,
    config: dict[str, Any],
    error: NotSeparableError,
    y: np.ndarray,
    fit_rows: np.ndarray,
) -> Exit:
    """There is no hard margin: say so, with the proof where there is one."""
    verdict = error.verdict
    record: dict[str, Any] = {"status": "not_separable"}
    if verdict is None:
        # A kernel's lift is known by its scalar products alone, which are rounded.
        sentence, _, _ = str(error).partition("; ")
        sentence = sentence.replace("C=inf", "-C inf", 1)
        out.answer("verdict", f"not separable: {sentence}; a finite -C allows for overlap")
        entries = None
    else:
        negative, positive = map(named, verdict.classes)
        sides = f"{negative} from {positive}"
        if verdict.sides.against_rest:
            sides = f"{positive} from the rest"
        out.answer(
            "verdict",
            f"not separable: no plane separates {sides}, so there is no margin to make large; a "
            "finite -C allows for overlap",
        )
        # Of classes that are separable in part another witness says that they are not wholly so.
        witness = verdict.common or verdict.witness
        entries = meeting(witness, y[fit_rows], lambda i: int(fit_rows[i]) + 1)
        tell_meeting(out, "proof", entries, fit_intercept=verdict.fit_intercept)
        record = {
            "status": verdict.status,
            "negative": verdict.sides.negative,
            "positive": verdict.sides.positive,
            "against_rest": verdict.sides.against_rest,
        }
    out.document(
        Exit.NEGATIVE,
        {**record, "meeting": entries, "message": str(error), "config": config, "output": None},
    )
    return Exit.NEGATIVE


def target_name(table: Table, given: str | None) -> str:
    if given is not None:
        return given
    if "target" in table.columns:
        return "target"
    shown = ", ".join(repr(name) for name in table.names[-20:])
    last = "the last of its columns are" if len(table.names) > 20 else "its columns are"
    raise DataError(
        f"{table.source} has no column 'target': name the column to predict with --target "
        f"({last} {shown})"
    )


def describe_table(features: Table, encoder: Any) -> str:
    missing = f"; {features.n_missing:,} missing" if features.n_missing else ""
    columns = f"{counted(len(features.names), 'column')}: " if features.names else ""
    return (
        f"{counted(features.n_rows, 'row')}, {columns}{encoder.summary_}{missing} -> "
        f"{counted(len(encoder.feature_names_), 'feature')}"
    )


def _describe_split(n_fit: int, n_held: int, seed: int) -> str:
    if not n_held:
        return f"{n_fit:,} to fit, none held out"
    return f"{n_fit:,} to fit, {n_held:,} held out (stratified, seed {seed})"


def _command_line(config: dict[str, Any]) -> str:
    """The command that does the same again."""
    words = ["separatrix", "fit", config["data"]]
    for option, value in config.items():
        name = {"kinds": "kind"}.get(option, option).replace("_", "-")
        if option == "data" or value is None or value is False:
            continue
        if value is True:
            words.append(f"--{name}")
        elif isinstance(value, dict):
            words += [f"--{name}={key}={item}" for key, item in value.items()]
        elif isinstance(value, list):
            words += [f"--{name}={item}" for item in value]
        else:
            words.append(f"--{name}={value}")
    return shlex.join(words)
