"""The steps of ``separatrix fit``."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import partial
from typing import Any

import click

from separatrix.assessment.decision import PROBABILITY, SCORE, Decision
from separatrix.assessment.documents import headline
from separatrix.assessment.measuring import spoiled_by_weights
from separatrix.cli.commands.diagnose.findings import warn_before_fit
from separatrix.cli.commands.fit import FitOptions, in_memory, training
from separatrix.cli.commands.fit.drawing import draw_fit
from separatrix.cli.commands.fit.models import build_model, suit_table
from separatrix.cli.commands.fit.other_scores import other_scores
from separatrix.cli.commands.fit.reporting import decide, report_measures, report_model, save_fit
from separatrix.cli.commands.fit.steps import (
    plane_record,
    report_plane,
    report_steps,
    steps_record,
)
from separatrix.cli.commands.fit.training import SplitRows
from separatrix.cli.commands.report.run import report_fit
from separatrix.cli.commands.separable import infeasibility
from separatrix.cli.interruption import Interruption, fitting, keeping, undisturbed
from separatrix.cli.output import Exit, Output
from separatrix.cli.reading import exceeds_memory, require_threshold
from separatrix.cli.wording import TERMINAL
from separatrix.exceptions import NotSeparableError
from separatrix.messages import Message, message_of, quoted
from separatrix.persistence.model_file import StoredModel, check_writable
from separatrix.report.files import twin_of

# The messages with lines of their own: how far the fit got, and which columns bear which powers.
_WITH_LINES_OF_THEIR_OWN = ("certificate", "degree_of_columns")

# The models for which columns that depend on one another need no warning before the fit: closed
# forms name them themselves, and the kernel machine and the perceptron have no weights that they
# would leave open.
_DETERMINED = ("lda", "qda", "lstsq", "kernel-svm", "perceptron")


def run(out: Output, options: FitOptions) -> Exit:
    """Read, split, encode, fit, measure, save, and report if requested; return the exit code."""
    reports = () if options.report is None else (options.report, twin_of(options.report))
    for path in filter(None, (options.output, options.plot, *reports)):
        check_writable(path)
    model = build_model(options)
    check_parameters(model)
    if options.threshold is not None:
        # A calibration that the fit has yet to make gives probabilities, too.
        require_threshold(
            options.threshold, PROBABILITY if hasattr(model, "predict_proba") else SCORE
        )
    rows = _read(out, options, model)
    options = rows.options
    model = suit_table(model, options, n_classes=rows.n_classes, n_rows=rows.n_fit)
    with rows.until_saved(), keeping(model) as interrupted:
        try:
            with fitting(model, interrupted), rows.bar(shown=not out.quiet):
                _fit(out, model, rows)
        except NotSeparableError as error:
            return _report_not_separable(out, error, rows)
        code = Exit.DONE if model.certificate_.ok else Exit.ABOVE_TOL
        details = report_model(out, model, rows.encoder)
        plane = plane_record(model, rows.encoder.feature_names_)
        # In standardised units only where it is what the steps are about.
        if plane and (options.model == "perceptron" or not options.standardises):
            report_plane(out, plane, rows)
        passes = rows.describe_passes(model)
        if passes is not None:
            out.report("passes", passes)
        decision = decide(out, model, rows)
        provenance = _measure(out, model, rows, details, decision, interrupted)
        document = save_fit(out, options.output, model, rows.encoder, details, provenance)
        document |= {"plane": plane, "steps": steps_record(model, rows)}
        report_steps(out, document["steps"] or ())
    if options.plot is not None and not interrupted:
        stored = StoredModel(model, rows.encoder, provenance)
        document["plot"] = draw_fit(out, rows, stored, options.plot)
    if options.report is not None:
        stored = StoredModel(model, rows.encoder, provenance)
        if report_fit(out, partial(rows.make_report, stored), options.report):
            document["report"] = options.report
        else:
            code = Exit.INTERRUPTED
    if interrupted:
        code, how = Exit.INTERRUPTED, rows.how_to_resume(model)
        if how is not None:
            out.note(how)
    with undisturbed():
        out.document(code, document)
    return code


# -------------------------------------------------------------------------------- before the fit


def _read(out: Output, options: FitOptions, model: Any) -> SplitRows:
    """The rows: in passes where the table would not fit, or a cluster is to read it."""
    apart = options.engine == "dask" or options.resume or options.cache is not None
    if not (apart or exceeds_memory(options.data, options.memory, options.sql)):
        rows = in_memory.read(out, options)
        if not rows.quantity:
            read = rows.options.model not in _DETERMINED
            penalised = rows.options.penalised or not read
            numbers = rows.numbers + 1
            findings = warn_before_fit(
                out, *rows.given, rows.encoder, numbers, penalised=penalised, read=read
            )
            return replace(rows, findings=tuple(findings))
        return rows
    # Later, because a table that fits does without what reads one that does not.
    from separatrix.cli.commands.fit import passes

    if options.model is not None:
        passes.require_in_passes(model)
    return passes.read(out, options)


def check_parameters(model: Any) -> None:
    """Refuse what the estimator would refuse, before the table is read."""
    try:
        getattr(model, "_check_parameters", lambda: None)()
    except ValueError as error:
        raise click.UsageError(TERMINAL(error)) from error


# ---------------------------------------------------------------------------- the fit, and after


def _fit(out: Output, model: Any, rows: SplitRows) -> None:
    try:
        with training.catching_warnings(rows.encoder) as caught:
            rows.fit(model)
    finally:
        for warning in caught:
            message = message_of(warning.message)
            if isinstance(message, Message) and message.code in _WITH_LINES_OF_THEIR_OWN:
                continue
            out.warn(training.in_words(message, rows.encoder))


def _measure(
    out: Output,
    model: Any,
    rows: SplitRows,
    details: dict[str, Any],
    decision: Decision | None,
    interrupted: Interruption,
) -> dict[str, Any]:
    """Print how well the model predicts and what it weighs, and give the record of its origin."""
    trained = rows.fitted_scores(model)
    if trained is not None:
        out.report("fitted", headline(trained))
        if _exact(trained, details):
            out.warn(
                f"the columns determine column {quoted(rows.options.target)} exactly: if one of "
                "them was derived from it, leave it out with --ignore"
            )
    held_out = rows.scores(model, decision)
    for note in rows.held_notes:
        out.note(f"held-out rows: {note}")
    if held_out is not None and rows.options.class_weight is not None:
        shifted = spoiled_by_weights(model, *rows.held_predictions(model))
        if shifted is not None:
            out.warn("; ".join(map(TERMINAL, (shifted.what, shifted.remedy))))
    weights = rows.largest_weights(model)
    others = other_scores(out, model, rows, held_out, decision, interrupted=interrupted)
    report_measures(out, held_out, weights, others)
    return rows.origin(
        training.command_line(rows.options.to_dict(), "fit"),
        model,
        trained=trained,
        held_out=held_out,
        **({"other_scores": [one.record() for one in others]} if others else {}),
        weights=weights,
        test=rows.test_record(),
        positive=rows.positive,
        decision=None if decision is None else decision.record(),
    )


def _exact(scores: dict[str, Any], details: dict[str, Any]) -> bool:
    """Whether a quantity is fitted to the last digits by far fewer coefficients than rows."""
    r2 = scores["r2"]
    return r2 is not None and 1.0 - r2 < 1e-14 and 2 * details["rank"] < scores["n"]


def _report_not_separable(out: Output, error: NotSeparableError, rows: SplitRows) -> Exit:
    """Report that there is no hard margin, with the proof where there is one."""
    verdict = error.verdict
    record: dict[str, Any] = {"status": "not_separable"}
    entries = None
    if verdict is None:
        # A kernel's lift is known by its scalar products alone, which are rounded.
        why = TERMINAL(error)
    else:
        negative, positive = map(quoted, verdict.classes)
        sides = f"{negative} from {positive}"
        if verdict.sides.against_rest:
            sides = f"{positive} from the rest"
        why = (
            f"no plane separates {sides}, so there is no margin to maximise; a finite -C allows "
            "for overlap"
        )
        # For classes that are separable in part, another witness shows that they are not wholly so.
        witness = verdict.common or verdict.witness
        numbers = rows.numbers
        assert numbers is not None
        entries = infeasibility.record(witness, rows.given[1], lambda i: int(numbers[i]) + 1)
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
            "config": rows.options.to_dict(),
            "output": None,
        },
    )
    return Exit.NEGATIVE
