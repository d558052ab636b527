"""``separatrix fit`` of a table that is read in passes, because it would not fit the memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from inspect import signature
from typing import Any

import click
import numpy as np

from separatrix.assessment.blocks import score_blocks
from separatrix.assessment.decision import Decision
from separatrix.assessment.in_passes import labels_over, predicted_over
from separatrix.assessment.scoring import Predictions
from separatrix.assessment.weights import column_spread, has_weights, largest_weights
from separatrix.cli.commands.fit import FitOptions, training
from separatrix.cli.commands.fit.models import OF_QUANTITIES, ModelOptions, build_model, suit_table
from separatrix.cli.commands.fit.reporting import (
    decide,
    named_class,
    report_measures,
    report_model,
    save_fit,
)
from separatrix.cli.interruption import fitting, keeping, undisturbed
from separatrix.cli.output import Exit, Output, passes_bar, reading_bar
from separatrix.cli.reading import PASSED_ON, memory_of
from separatrix.exceptions import DataError
from separatrix.messages import counted, percent, quoted
from separatrix.persistence.model_file import StoredModel
from separatrix.scale import BlockedData, Engine, scan
from separatrix.tables import DEFAULT_MISSING
from separatrix.tables.table import missing_marks

# Options for which a table in memory is needed.
_IN_MEMORY = ("group", "time", "drop_missing_target")

# What takes a few passes that build on each other, and leaves nothing to go on from.
_CLOSED = ("lda", "qda", "lstsq", "poly")


@dataclass(frozen=True, eq=False)
class _Blocks:
    """Row blocks in the place of encoded matrices: those of the fit, and those to measure on."""

    data: BlockedData
    measured: BlockedData

    @property
    def has_held(self) -> bool:
        return bool(self.measured.blocks)

    def scores(self, model: Any, positive: Any, decision: Decision | None) -> dict[str, Any] | None:
        """The scores of the rows to measure on; None where there are none."""
        if not self.has_held:
            return None
        found = score_blocks(model, self.measured, positive=positive, decision=decision)
        if not found.get("roc_auc_error"):
            # The area is that of all scores in order.
            found.pop("roc_auc_error", None)
        return found

    @cached_property
    def held_y(self) -> np.ndarray:
        """Labels of all rows to measure on, by which a threshold is chosen."""
        return labels_over(self.measured, self.measured.blocks)[0]

    def predict_held(self, model: Any, decision: Decision | None = None) -> Predictions:
        """All that is said of them: a few numbers a row, by which a threshold is chosen."""
        return predicted_over(model, self.measured.blocks, decision)

    def largest_weights(self, model: Any) -> list[dict[str, Any]] | None:
        return weights_over(self.data, model)


def weights_over(data: BlockedData, model: Any) -> list[dict[str, Any]] | None:
    """The largest weights, by the spread of columns in the sample; None where there are none."""
    if not has_weights(model) or data.sample is None:
        return None
    encoder = data.encoder
    spread = column_spread(data.sample.matrix)
    return largest_weights(model, encoder.feature_names_, spread, scales=encoder.scales_)


def run(out: Output, options: FitOptions) -> Exit:
    """Look through the table, fit in passes, measure, save; return the exit code."""
    require_no_whole_table(options)
    with reading_bar(shown=not out.quiet) as on_progress:
        data = scanned(
            options, on_progress, test_size=options.test_size, cache_limit=options.cache_limit
        )
    quantity = data.classes is None
    options = replace(options, target=options.target or "target")
    options = replace(options, model=model_over(options, quantity))
    options.check_model()
    model = suit_table(
        build_model(options),
        options,
        n_classes=None if quantity else len(data.classes),  # type: ignore[arg-type]
        n_rows=data.n_rows,
    )
    positive = _positive(options, data)
    test = None if options.test is None else _test(options, data)
    _report_data(out, options, data, positive, test)
    checkpoint = f"{options.output}.checkpoint"
    _prepare(out, checkpoint, options.resume)
    held = replace(data, blocks=data.held, held=())
    blocks = _Blocks(data, held if test is None else test)
    with keeping(model) as interrupted:
        with fitting(model, interrupted), passes_bar(shown=not out.quiet):
            _fit(out, options, model, data, checkpoint)
        code = Exit.DONE if model.certificate_.ok else Exit.ABOVE_TOL
        details = report_model(out, model, data.encoder)
        out.report("passes", _passes(model, data))
        decision = decide(out, options, model, positive, blocks)
        held_out = blocks.scores(model, positive, decision)
        weights = blocks.largest_weights(model)
        report_measures(out, held_out, weights)
        provenance = training.origin_record(
            options,
            training.command_line(options.record(), "fit"),
            model,
            data=data_record(data),
            split=split_record(options, data, options.test_size),
            quantity=quantity,
            trained=None,
            held_out=held_out,
            weights=weights,
            test=None if test is None else _test_record(test),
            positive=positive,
            decision=None if decision is None else decision.record(),
        )
        document = save_fit(out, options.output, model, data.encoder, details, provenance)
    if options.report is not None:
        from separatrix.cli.commands.report.run import report_fit_in_passes

        stored = StoredModel(model, data.encoder, provenance)
        if report_fit_in_passes(out, stored, data, test, options.report, memory=options.memory):
            document["report"] = options.report
        else:
            code = Exit.INTERRUPTED
    if interrupted:
        code = Exit.INTERRUPTED
        out.note(_how_to_resume(checkpoint))
    with undisturbed():
        out.document(code, document)
    return code


# -------------------------------------------------------------------------------- before the fit


def require_no_whole_table(options: ModelOptions) -> None:
    """Refuse what needs the whole table."""
    for name in _IN_MEMORY:
        if getattr(options, name):
            flag = f"--{name.replace('_', '-')}"
            raise click.UsageError(
                f"{flag} needs the whole table in memory, and this table is read in passes: leave "
                f"out {flag}, or give a larger --memory"
            )
    if getattr(options, "report", None) and options.sql:
        raise click.UsageError(
            "--report takes a sample of the file, which does not contain the rows that --sql "
            "selects: leave out one of them, or give a larger --memory"
        )


def scanned(
    options: ModelOptions,
    on_progress: Any,
    *,
    test_size: float = 0.0,
    cache_limit: str | None = None,
) -> BlockedData:
    """The row blocks of the table to learn from."""
    return scan(
        options.data,
        options.target or "target",
        weight=options.weight,
        memory=memory_of(options.memory),
        cache=options.cache,
        cache_limit=cache_limit,
        test_size=test_size,
        seed=options.seed,
        standardise=options.standardises,
        reference=options.in_units,
        **options.of_encoder(),
        kinds=dict(options.kinds),
        missing=options.missing or DEFAULT_MISSING,
        ignore=tuple(options.ignore),
        sql=options.sql,
        quantity=True if options.model in OF_QUANTITIES else None,
        on_progress=on_progress,
        **{name: value for name in PASSED_ON if (value := getattr(options, name))},
    )


def _test(options: FitOptions, data: BlockedData) -> BlockedData:
    """The rows of another table, to measure on, encoded as those of the fit are."""
    own = (options.target, options.weight)
    test = scan(
        options.test,
        options.target,
        weight=options.weight,
        memory=memory_of(options.memory),
        # They are gone through a few times, and no fit is.
        cache_limit=0,
        kinds={name: kind for name, kind in options.kinds.items() if name in own},
        missing=missing_marks(options.missing or DEFAULT_MISSING),
        ignore=tuple(name for name in options.ignore if name not in data.encoder.kinds_),
        encoder=data.encoder,
        quantity=data.classes is None,
        **{
            **{name: value for name in PASSED_ON if (value := getattr(options, name))},
            "ignore_unusable": True,
        },
    )
    if data.classes is not None:
        assert test.classes is not None
        new = ~np.isin(test.classes, data.classes)
        if new.any():
            raise DataError(
                f"{test.source} has rows of class {quoted(test.classes[new][0].item())}, which "
                f"does not occur in {data.source}"
            )
    return test


def _test_record(test: BlockedData) -> dict[str, Any]:
    return {"source": test.source, "rows": test.n_rows, "fingerprint": test.fingerprint}


def model_over(options: ModelOptions, quantity: bool) -> str:
    """The model that is fitted to classes or to a quantity, where none was named."""
    if options.model is not None:
        return options.model
    return "lstsq" if quantity else "logistic"


def _positive(options: FitOptions, data: BlockedData) -> Any:
    """Return the positive class of two; None for a number or for more classes."""
    if data.classes is None or len(data.classes) != 2:
        return None
    if options.positive is None:
        return data.classes[int(data.class_rows[1] <= data.class_rows[0])].item()
    return named_class(options.positive, data.classes)


def _report_data(
    out: Output,
    options: FitOptions,
    data: BlockedData,
    positive: Any,
    test: BlockedData | None,
) -> None:
    held = sum(block.n_rows for block in data.held)
    report_blocks(out, data)
    split = f"{data.n_rows:,} to fit, "
    split += f"{held:,} held out (by a hash of the row, seed {options.seed})" if held else "none"
    if test is not None:
        split = f"{data.n_rows:,} to fit, {counted(test.n_rows, 'row')} of {options.test} to "
        split += "measure on"
    out.report("split", split + ("" if held or test is not None else " held out"))
    if positive is not None:
        assert data.classes is not None
        share = data.class_rows[list(data.classes).index(positive)] / max(data.n_rows, 1)
        why = "" if options.positive is not None else "the rarer, "
        out.report("positive", f"{quoted(positive)} ({why}{percent(float(share))})")


def report_blocks(out: Output, data: BlockedData) -> None:
    """Print what was read, and in which blocks."""
    encoder = data.encoder
    held = sum(block.n_rows for block in data.held)
    out.report(
        "read",
        f"{counted(data.n_rows + held, 'row')}, {encoder.summary_} -> "
        f"{counted(data.n_features, 'feature')}",
    )
    for note in data.notes[:1]:
        out.report("blocks", note)
    for note in data.notes[1:]:
        out.note(note)
    for alert in encoder.alerts_:
        out.warn(alert)


def _how_to_resume(checkpoint: str) -> str:
    if os.path.exists(checkpoint):
        return f"--resume continues from {checkpoint}"
    return "no pass was completed, so --resume has nothing to continue from"


def _prepare(out: Output, checkpoint: str, resume: bool) -> None:
    """Remove an earlier checkpoint, or note that there is none to resume from."""
    if not resume:
        _forget(checkpoint)
    elif not os.path.exists(checkpoint):
        out.note(
            f"there is no {checkpoint}: the earlier fit was completed, or it ended before its "
            "first complete pass, for instance while rows were encoded. This fit starts with its "
            "first pass; rows are encoded again unless the cache has all of them"
        )


def _forget(checkpoint: str) -> None:
    """Without --resume nothing of an earlier fit counts."""
    try:
        os.unlink(checkpoint)
    except FileNotFoundError:
        return
    except OSError as error:
        raise DataError(f"{checkpoint} cannot be removed: {error.strerror}") from error


# ---------------------------------------------------------------------------- the fit, and after


def _engine(options: FitOptions) -> AbstractContextManager[Engine | None]:
    """The engine, whose connection ends with the block."""
    if options.engine != "dask":
        return nullcontext()
    from separatrix.scale import Dask

    return Dask(options.scheduler)


def _fit(out: Output, options: FitOptions, model: Any, data: BlockedData, checkpoint: str) -> None:
    try:
        with training.catching_warnings(data.encoder) as caught, _engine(options) as engine:
            given: dict[str, Any] = {"engine": engine}
            if options.model not in _CLOSED:
                given["checkpoint"] = checkpoint
            # Who takes no row blocks at all says so itself.
            taken = signature(model.fit).parameters
            model.fit(data, **{name: value for name, value in given.items() if name in taken})
    except TypeError as error:
        raise click.UsageError(training.in_words(error, data.encoder)) from error
    finally:
        for text in _said(caught, data):
            out.warn(text)


def _said(caught: Any, data: BlockedData) -> Iterator[str]:
    from separatrix.messages import Message, said_by

    for warning in caught:
        message = said_by(warning.message)
        # How far the fit got has a line of its own.
        if not (isinstance(message, Message) and message.code == "certificate"):
            yield training.in_words(message, data.encoder)


def _passes(model: Any, data: BlockedData) -> str:
    """``3 over 1.2 GB in 153 blocks``."""
    count = getattr(model, "n_passes_", 1)
    size = f"{data.nbytes / 1e9:.2g} GB" if data.nbytes > 1e8 else f"{data.nbytes / 1e6:.2g} MB"
    return f"{count} over {size} in {counted(len(data.blocks), 'block')}"


def data_record(data: BlockedData) -> dict[str, Any]:
    """What a model file says of its data."""
    return {
        "source": data.source,
        "rows": data.n_rows + sum(block.n_rows for block in data.held),
        "columns": list(data.encoder.kinds_),
        "missing": None,
        "fingerprint": data.fingerprint,
        "summary": data.encoder.summary_,
        # By which the rows were cut into blocks, in whose order sums were taken.
        "in_passes": {"memory": data.memory},
    }


def split_record(options: ModelOptions, data: BlockedData, test_size: float) -> dict[str, Any]:
    """What a model file says of which rows were fitted."""
    return {
        "fit_rows": data.n_rows,
        "held_out_rows": sum(block.n_rows for block in data.held),
        "test_size": test_size,
        "seed": options.seed,
        "stratified": False,
        "together": True,
        "by": "hash",
    }
