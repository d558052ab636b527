"""What ``separatrix fit`` does, step by step."""

from __future__ import annotations

import platform
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
from separatrix.assessment.records import (
    describe_model,
    details_of,
    model_name,
    support_record,
    term_names,
)
from separatrix.assessment.scoring import headline, score_rows
from separatrix.assessment.weights import column_spread, has_weights, largest_weights
from separatrix.cli.building import build_model
from separatrix.cli.choices import MODELS, own_units, penalised
from separatrix.cli.commands.report_work import report_fit
from separatrix.cli.dependence import leave_out_dependent
from separatrix.cli.describing import (
    describe_certificate,
    describe_table,
)
from separatrix.cli.details import degree_alert, tell_details
from separatrix.cli.findings import warn_before_fit
from separatrix.cli.interruption import fitting, undisturbed
from separatrix.cli.meeting import meeting, named, tell_meeting
from separatrix.cli.output import MANY_CLASSES, Exit, Output, say
from separatrix.cli.progress import progress_bar
from separatrix.cli.reading import read_training_table
from separatrix.cli.supporting import tell_support
from separatrix.cli.targets import Target, settle_target
from separatrix.cli.weights import describe_weights
from separatrix.cli.wording import TERMINAL, Terminal
from separatrix.exceptions import DataError, NotSeparableError
from separatrix.messages import Message, said_by
from separatrix.persistence.model_file import (
    FORMAT_VERSION,
    StoredModel,
    check_writable,
    save_model,
)
from separatrix.report.files import twin_of
from separatrix.tables import Encoder, Table, split_rows
from separatrix.tables.table import shown

# What lines of their own say: how far the fit got, and which columns bear which powers.
_WITH_LINES_OF_THEIR_OWN = ("certificate", "degree_of_columns")

# Of these columns that depend on one another need no warning before the fit: closed forms name them
# themselves, and the kernel machine and the perceptron have no weights that they would leave open.
_DETERMINED = ("lda", "qda", "lstsq", "kernel-svm", "perceptron")


def fit_table(out: Output, config: dict[str, Any], report: str | None = None) -> Exit:
    """Read, split, encode, fit, measure, save, and report if asked to; return the exit code."""
    check_writable(config["output"])
    if report is not None:
        check_writable(report)
        check_writable(twin_of(report))
    _check_options(build_model({**config, "model": config["model"] or MODELS[0]}))

    table = read_training_table(config)
    target = settle_target(config, table)
    features, y = target.features, target.y
    fit_rows, held_rows = _split(config, table, target)
    model = build_model(
        config,
        quantity=target.quantity,
        n_classes=_count_classes(target),
        n_rows=len(fit_rows),
    )
    fit_part = features.select(fit_rows)
    # That columns give a quantity away shows when it is fitted exactly.
    labels = None if target.quantity else y[fit_rows]
    encoder, X, gone = _encoded(config, fit_part, labels, quantity=target.quantity)
    # Before the fit, because a held-out row can be refused too, and then the fit would be lost.
    held_X = encoder.transform(features.select(held_rows)) if len(held_rows) else None
    out.report("read", describe_table(features, encoder))
    if target.told is not None:
        out.report("target", target.told)
    out.report("split", _describe_split(fit_rows, held_rows, config["seed"], target.quantity))
    for note in table.notes:
        out.note(note)
    for alert in (*table.alerts, *encoder.alerts_, *filter(None, (gone,))):
        out.warn(alert)
    if not target.quantity:
        determined = penalised(config) or config["model"] in _DETERMINED
        warn_before_fit(out, X, y[fit_rows], encoder, fit_rows + 1, penalised=determined)

    try:
        with fitting(model) as interrupted, progress_bar(shown=not out.quiet):
            _fit(out, model, X, y[fit_rows], encoder)
    except NotSeparableError as error:
        return _tell_not_separable(out, config, error, y, fit_rows)
    with undisturbed():
        certificate = model.certificate_
        details = _tell_model(out, model, encoder)
        trained = None
        if target.quantity:
            trained = score_rows(model, X, y[fit_rows])
            out.report("fitted", headline(trained))
            if _exact(trained, details):
                out.warn(
                    f"the columns determine column {named(target.name)} exactly: if one of them "
                    "was made from it, leave it out with --ignore"
                )
        scores = None
        if held_X is not None:
            scores = score_rows(model, held_X, y[held_rows])
            for note in encoder.notes_:
                out.note(f"held-out rows: {note}")
        out.report("held out", headline(scores) if scores else "nothing: every row was fitted")

        weights = None
        if has_weights(model):
            weights = largest_weights(model, encoder.feature_names_, column_spread(X))
            several = len(getattr(model, "classes_", ())) > 2
            out.report("weights", describe_weights(weights, multiclass=several))

        provenance = {
            "command": command_line(config),
            "config": {**config, "parameters": model.get_params()},
            "target": config["target"],
            "data": data_record(table, features, encoder),
            "split": {
                "fit_rows": len(fit_rows),
                "held_out_rows": len(held_rows),
                "test_size": config["test_size"],
                "seed": config["seed"],
                "stratified": not target.quantity,
            },
            "quantity": target.quantity,
            "trained": trained,
            "held_out": scores,
            "weights": weights,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "versions": versions(),
        }
        save_model(config["output"], model, encoder=encoder, provenance=provenance)
        out.report("saved", config["output"])

        code = Exit.DONE if certificate.ok else Exit.ABOVE_TOL
        if interrupted:
            code = Exit.INTERRUPTED
        document = {
            "status": certificate.status,
            "certificate": certificate.to_dict(),
            "model": describe_model(model, encoder),
            "support": support_record(model),
            "details": details,
            **provenance,
            "output": config["output"],
        }
    if report is not None:
        stored = StoredModel(model, encoder, provenance, FORMAT_VERSION, separatrix.__version__)
        matrices = {"fit": X, "held_out": held_X}
        if report_fit(out, stored, table, matrices, report):
            document["report"] = report
        else:
            code = Exit.INTERRUPTED
    with undisturbed():
        out.document(code, document)
    return code


def data_record(table: Table, features: Table, encoder: Encoder) -> dict[str, Any]:
    return {
        "source": table.source,
        "rows": table.n_rows,
        "columns": list(features.names),
        "missing": features.n_missing,
        # Of the labels too: verify must notice when one was changed.
        "fingerprint": table.fingerprint(),
        "summary": encoder.summary_,
    }


def versions() -> dict[str, str]:
    return {
        "separatrix": separatrix.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }


def _check_options(model: Any) -> None:
    """Refuse what the estimator would refuse, before the table is read."""
    check = getattr(model, "_check_parameters", None)
    if check is None:
        return
    try:
        check()
    except ValueError as error:
        raise click.UsageError(TERMINAL(said_by(error))) from error


def _split(config: dict[str, Any], table: Table, target: Target) -> tuple[Any, Any]:
    """The rows to fit and those to hold out."""
    y = target.y
    try:
        return split_rows(
            y, test_size=config["test_size"], seed=config["seed"], stratify=not target.quantity
        )
    except DataError as error:
        # So few points of a curve that their values were taken for classes.
        if target.quantity or table.columns[target.name].dtype != np.float64:
            raise
        if len(np.unique(y)) < len(y):
            raise
        kind = shown(f"{target.name}=number")
        told = TERMINAL(said_by(error))
        raise DataError(f"{told}; if it is a quantity, --model lstsq --kind {kind}") from error


def _encoded(
    config: dict[str, Any], table: Table, labels: np.ndarray | None, *, quantity: bool
) -> tuple[Encoder, Any, str | None]:
    """The encoding that suits the model, the rows to fit, and what was left out of it."""
    in_units = own_units(config)
    encoder = Encoder(standardise=not in_units, reference=in_units).fit(table, labels)
    X = encoder.transform(table)
    # Those whose coefficients are read; others take the answer of the smallest norm.
    read = config["model"] == "logistic" or (config["model"] == "lstsq" and quantity)
    if not (in_units and read):
        return encoder, X, None
    told = leave_out_dependent(encoder, X, fit_intercept=not config["no_intercept"])
    return encoder, X if told is None else encoder.transform(table), told


def _count_classes(target: Target) -> int | None:
    return None if target.quantity else len(np.unique(target.y))


def _fit(out: Output, model: Any, X: Any, y: np.ndarray, encoder: Encoder) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(X, y)
        except NotSeparableError:
            raise
        except DataError as error:
            raise DataError(in_words(error, encoder)) from error
        except ValueError as error:
            # The table was checked before, so what an estimator refuses now is an option.
            raise click.UsageError(in_words(error, encoder)) from error
        finally:
            _tell_caught(out, caught, encoder)


def _tell_model(out: Output, model: Any, encoder: Encoder) -> dict[str, Any]:
    """Print what was fitted and how well it is proved, and give its details."""
    out.report("model", f"{model_name(model)}: {model.objective_formula_}")
    told = describe_certificate(model, model.certificate_)
    out.report("fit", told)
    if out.quiet and not model.certificate_.ok:
        say("warning", told)
    tell_support(out, model)
    if hasattr(model, "powers_"):
        model.terms_ = term_names(model.powers_, encoder.feature_names_)
        short = degree_alert(model, encoder.feature_names_)
        if short is not None:
            out.warn(short)
    details = details_of(model)
    tell_details(out, details)
    return details


def _exact(scores: dict[str, Any], details: dict[str, Any]) -> bool:
    """Whether a quantity is fitted to the last digits by far fewer coefficients than rows."""
    r2 = scores["r2"]
    return r2 is not None and 1.0 - r2 < 1e-14 and 2 * details["rank"] < scores["n"]


def in_words(error: BaseException | str, encoder: Encoder) -> str:
    return " ".join(Terminal(encoder.feature_names_)(said_by(error)).split())


def _tell_caught(out: Output, caught: Sequence[warnings.WarningMessage], encoder: Encoder) -> None:
    """Retell what a fit warned of; that it is above its tolerance has a line of its own."""
    for warning in caught:
        told = said_by(warning.message)
        if isinstance(told, Message) and told.code in _WITH_LINES_OF_THEIR_OWN:
            continue
        if issubclass(warning.category, DeprecationWarning) or told.startswith(MANY_CLASSES):
            continue
        out.warn(in_words(told, encoder))


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
        out.answer("verdict", f"not separable: {TERMINAL(said_by(error))}")
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


def _describe_split(fit_rows: Any, held_rows: Any, seed: int, quantity: bool) -> str:
    n_fit, n_held = len(fit_rows), len(held_rows)
    if not n_held:
        return f"{n_fit:,} to fit, none held out"
    how = "at random" if quantity else "stratified"
    return f"{n_fit:,} to fit, {n_held:,} held out ({how}, seed {seed})"


def command_line(config: dict[str, Any], command: str = "fit") -> str:
    """The command that does the same again."""
    words = ["separatrix", command, config["data"]]
    for option, value in config.items():
        name = {"kinds": "kind"}.get(option, option).replace("_", "-")
        if option == "average" and value is False:
            words.append("--no-average")  # the one flag that is not off by itself
        elif option == "data" or value is None or value is False:
            continue
        elif value is True:
            words.append(f"--{name}")
        elif isinstance(value, dict):
            words += [f"--{name}={key}={item}" for key, item in value.items()]
        elif isinstance(value, list):
            words += [f"--{name}={item}" for item in value]
        else:
            words.append(f"--{name}={value}")
    return shlex.join(words)
