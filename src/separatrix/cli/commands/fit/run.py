"""What ``separatrix fit`` does, step by step."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click
import numpy as np

from separatrix._compiled import memory
from separatrix.assessment.decision import Decision
from separatrix.assessment.dependence import leave_out_dependent
from separatrix.assessment.documents import headline
from separatrix.assessment.scoring import (
    rarer_class,
    score_predictions,
    score_rows,
)
from separatrix.cli.commands.diagnose.findings import warn_before_fit
from separatrix.cli.commands.fit import FitOptions, training
from separatrix.cli.commands.fit.models import build_model, suit_table
from separatrix.cli.commands.fit.reporting import (
    decide,
    named_class,
    report_measures,
    report_model,
    save_fit,
)
from separatrix.cli.commands.fit.training import Encoded, Target
from separatrix.cli.commands.report.run import report_fit
from separatrix.cli.commands.separable import infeasibility
from separatrix.cli.interruption import fitting, keeping, undisturbed
from separatrix.cli.output import Exit, Output, progress_bar
from separatrix.cli.reading import exceeds_memory
from separatrix.cli.wording import TERMINAL
from separatrix.exceptions import DataError, NotSeparableError
from separatrix.messages import Message, counted, percent, quoted, said_by
from separatrix.persistence.model_file import StoredModel, check_writable
from separatrix.report.files import twin_of
from separatrix.tables.table import quote

# What lines of their own say: how far the fit got, and which columns bear which powers.
_WITH_LINES_OF_THEIR_OWN = ("certificate", "degree_of_columns")

# Of these columns that depend on one another need no warning before the fit: closed forms name them
# themselves, and the kernel machine and the perceptron have no weights that they would leave open.
_DETERMINED = ("lda", "qda", "lstsq", "kernel-svm", "perceptron")


def run(out: Output, options: FitOptions) -> Exit:
    """Read, split, encode, fit, measure, save, and report if asked to; return the exit code."""
    reports = () if options.report is None else (options.report, twin_of(options.report))
    for path in (options.output, *reports):
        check_writable(path)
    model = build_model(options)
    check_parameters(model)
    if _in_passes(options):
        # Later, because a table that fits does without what reads one that does not.
        from separatrix.cli.commands.fit import passes

        return passes.run(out, options)

    options, target = training.read_target(options)
    positive = _positive(options, target)
    fit_rows, held_rows = _split(options, target)
    memory.give_back()
    model = suit_table(model, options, n_classes=target.n_classes, n_rows=len(fit_rows))
    data = _encode(out, options, target, positive, fit_rows, held_rows)
    memory.give_back()
    if not target.quantity:
        determined = options.penalised or options.model in _DETERMINED
        warn_before_fit(
            out,
            data.X,
            data.y,
            data.encoder,
            fit_rows + 1,
            penalised=determined,
            read=options.model not in _DETERMINED,
        )
    with keeping(model) as interrupted:
        try:
            with fitting(model, interrupted), progress_bar(shown=not out.quiet):
                _fit(out, model, data)
        except NotSeparableError as error:
            return _report_not_separable(out, options, error, data)
        code = Exit.DONE if model.certificate_.ok else Exit.ABOVE_TOL
        details = report_model(out, model, data.encoder)
        decision = decide(out, options, model, positive, data)
        provenance = _measure(out, options, model, target, data, details, positive, decision)
        document = save_fit(out, options.output, model, data.encoder, details, provenance)
    if options.report is not None:
        stored = StoredModel(model, data.encoder, provenance)
        matrices = {"fit": data.X, "held_out": data.held_X, "test": data.test}
        if report_fit(out, stored, target.table, matrices, options.report):
            document["report"] = options.report
        else:
            interrupted.happened = True
    if interrupted:
        code = Exit.INTERRUPTED
    with undisturbed():
        out.document(code, document)
    return code


# -------------------------------------------------------------------------------- before the fit


def _in_passes(options: FitOptions) -> bool:
    """Whether the table is to be read in passes: it would not fit, or a cluster is to read it."""
    if options.engine == "dask" or options.resume or options.cache is not None:
        return True
    return exceeds_memory(options.data, options.memory, options.sql)


def check_parameters(model: Any) -> None:
    """Refuse what the estimator would refuse, before the table is read."""
    try:
        getattr(model, "_check_parameters", lambda: None)()
    except ValueError as error:
        raise click.UsageError(TERMINAL(said_by(error))) from error


def _split(options: FitOptions, target: Target) -> tuple[np.ndarray, np.ndarray]:
    """The rows to fit and those to hold out."""
    y = target.y
    try:
        return target.roles.split(
            y, test_size=options.test_size, seed=options.seed, stratify=not target.quantity
        )
    except DataError as error:
        # So few points of a curve that their values were taken for classes.
        if target.quantity or target.table.columns[target.name].dtype != np.float64:
            raise
        if len(np.unique(y)) < len(y):
            raise
        kind = quote(f"{target.name}=number")
        message = TERMINAL(said_by(error))
        raise DataError(
            f"{message}; if it is a quantity, give --model lstsq --kind {kind}"
        ) from error


def _positive(options: FitOptions, target: Target) -> Any:
    """Return the positive class of two; None for a number or for more classes."""
    classes = target.classes
    named = [
        f"--{name}"
        for name in ("positive", "threshold", "optimise")
        if getattr(options, name) is not None
    ]
    if target.quantity or len(classes) != 2:
        if named:
            has = "is a quantity" if target.quantity else f"has {len(classes):,} classes"
            raise click.UsageError(
                f"{named[0]} needs a target of two classes, and column {quoted(target.name)} {has}"
            )
        return None
    if options.positive is None:
        return rarer_class(target.y, classes)
    return named_class(options.positive, classes)


def _encode(
    out: Output,
    options: FitOptions,
    target: Target,
    positive: Any,
    fit_rows: np.ndarray,
    held_rows: np.ndarray,
) -> Encoded:
    """The encoding that suits the model, and what was read in words."""
    part = target.features.select(fit_rows)
    encoder = target.fit_encoder(
        part,
        fit_rows,
        in_units=options.in_units,
        encoding=options.of_encoder(),
        standardise=options.standardises,
    )
    X = encoder.transform(part)
    # Those whose coefficients are read; others take the answer of the smallest norm.
    read = options.model == "logistic" or (options.model == "lstsq" and target.quantity)
    left_out = None
    if options.in_units and read:
        left_out = leave_out_dependent(encoder, X, fit_intercept=not options.no_intercept)
        X = X if left_out is None else encoder.transform(part)
    # Before the fit, because a held-out row can be refused too, and then the fit would be lost.
    del part
    held_X = encoder.transform(target.features.select(held_rows)) if len(held_rows) else None
    held_y, weights = target.y[held_rows], target.roles.weights
    held_weights = None if weights is None else weights[held_rows]
    test = None
    if options.test is not None:
        test = training.read_test(options, target, encoder)
        held_X, held_y, held_weights = test.X, test.y, test.weights
    target.report(
        out,
        encoder,
        lines={
            "target": target.remark,
            "split": _how(options, target, len(fit_rows), len(held_y)),
            "positive": _said(options, target, positive),
        },
        alerts=(*encoder.alerts_, *filter(None, (left_out,))),
    )
    return Encoded(
        encoder,
        fit_rows,
        X,
        target.y[fit_rows],
        held_X,
        held_y,
        None if weights is None else weights[fit_rows],
        held_weights,
        test,
    )


def _how(options: FitOptions, target: Target, fitted: int, held: int) -> str:
    """How many rows are fitted and how many held out, and by what."""
    if not held:
        return f"{fitted:,} to fit, none held out"
    if options.test is not None:
        return f"{fitted:,} to fit, {counted(held, 'row')} of {options.test} to measure on"
    if options.time is not None:
        return f"{fitted:,} to fit, {held:,} held out (the latest by {quoted(options.time)})"
    if options.group is not None:
        how = f"by {quoted(options.group)}"
    else:
        how = "at random" if target.quantity else "stratified"
    return f"{fitted:,} to fit, {held:,} held out ({how}, seed {options.seed})"


def _said(options: FitOptions, target: Target, positive: Any) -> str | None:
    """Which class is meant by positive, and why."""
    if positive is None:
        return None
    share = percent(float(np.mean(target.y == positive)))
    why = f"{share} of the rows" if options.positive is not None else f"the rarer, {share}"
    return f"{quoted(positive)} ({why})"


# ---------------------------------------------------------------------------- the fit, and after


def _fit(out: Output, model: Any, data: Encoded) -> None:
    try:
        with training.catching_warnings(data.encoder) as caught:
            weighted = {} if data.weights is None else {"sample_weight": data.weights}
            model.fit(data.X, data.y, **weighted)
    finally:
        for warning in caught:
            message = said_by(warning.message)
            if isinstance(message, Message) and message.code in _WITH_LINES_OF_THEIR_OWN:
                continue
            out.warn(training.in_words(message, data.encoder))


def _measure(
    out: Output,
    options: FitOptions,
    model: Any,
    target: Target,
    data: Encoded,
    details: dict[str, Any],
    positive: Any,
    decision: Decision | None,
) -> dict[str, Any]:
    """Print how well the model predicts and what it weighs, and give the record of its origin."""
    trained = held_out = None
    if target.quantity:
        trained = score_rows(model, data.X, data.y, weights=data.weights)
        out.report("fitted", headline(trained))
        if _exact(trained, details):
            out.warn(
                f"the columns determine column {quoted(target.name)} exactly: if one of them was "
                "derived from it, leave it out with --ignore"
            )
    if data.has_held:
        held = data.predict_held(model, decision)
        held_out = score_predictions(model, held, data.held_y, positive, data.held_weights)
        for note in data.encoder.notes_:
            out.note(f"held-out rows: {note}")
    weights = data.largest_weights(model)
    report_measures(out, held_out, weights)
    return training.origin_record(
        options,
        training.command_line(options.record(), "fit"),
        model,
        data=training.data_record(target, data.encoder),
        split=training.split_record(options, target, data, options.test_size),
        quantity=target.quantity,
        trained=trained,
        held_out=held_out,
        weights=weights,
        test=None if data.test is None else data.test.record(),
        positive=positive,
        decision=None if decision is None else decision.record(),
    )


def _exact(scores: dict[str, Any], details: dict[str, Any]) -> bool:
    """Whether a quantity is fitted to the last digits by far fewer coefficients than rows."""
    r2 = scores["r2"]
    return r2 is not None and 1.0 - r2 < 1e-14 and 2 * details["rank"] < scores["n"]


def _report_not_separable(
    out: Output, options: FitOptions, error: NotSeparableError, data: Encoded
) -> Exit:
    """There is no hard margin: say so, with the proof where there is one."""
    verdict = error.verdict
    record: dict[str, Any] = {"status": "not_separable"}
    entries = None
    if verdict is None:
        # A kernel's lift is known by its scalar products alone, which are rounded.
        why = TERMINAL(said_by(error))
    else:
        negative, positive = map(quoted, verdict.classes)
        sides = f"{negative} from {positive}"
        if verdict.sides.against_rest:
            sides = f"{positive} from the rest"
        why = (
            f"no plane separates {sides}, so there is no margin to maximise; a finite -C allows "
            "for overlap"
        )
        # Of classes that are separable in part another witness says that they are not wholly so.
        witness = verdict.common or verdict.witness
        entries = infeasibility.record(witness, data.y, lambda i: int(data.rows[i]) + 1)
        record = {"status": verdict.status, **asdict(verdict.sides)}
    out.answer("verdict", f"not separable: {why}")
    if entries is not None:
        infeasibility.report(out, "proof", entries, fit_intercept=verdict.fit_intercept)
    out.document(
        Exit.NEGATIVE,
        {
            **record,
            # The rows of the infeasibility certificate, under the key that they have always had.
            "meeting": entries,
            "message": str(error),
            "config": options.record(),
            "output": None,
        },
    )
    return Exit.NEGATIVE
