"""The steps of ``separatrix path``."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import click
import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from separatrix.certificate import Certificate
from separatrix.cli.commands.fit import training
from separatrix.cli.commands.fit.in_memory import encoded
from separatrix.cli.commands.fit.models import build_model, suit_table
from separatrix.cli.commands.fit.training import SplitRows
from separatrix.cli.commands.path import PathOptions
from separatrix.cli.interruption import fitting, undisturbed
from separatrix.cli.output import Exit, Output, print_message, progress_bar
from separatrix.cli.reading import exceeds_memory
from separatrix.geometry.diagnosis.alerts import ranked_alerts
from separatrix.messages import counted, message_of, quoted
from separatrix.models.path import Path, PathInterrupt
from separatrix.models.registry import OFFERS
from separatrix.persistence.model_file import check_writable, save_model
from separatrix.tables import Encoder

_TOL = 1e-4


def run(out: Output, options: PathOptions) -> Exit:
    """Read, encode, fit along the path, choose, draw and save; return the exit code."""
    for file in filter(None, (options.output, options.plot)):
        check_writable(file)
    options.check_model()
    in_passes = exceeds_memory(options.data, options.memory, options.sql)
    rows = _over_blocks(out, options) if in_passes else _in_memory(out, options)
    options, encoder = rows.options, rows.encoder
    model = build_model(options)
    model = suit_table(model, options, n_classes=rows.n_classes, n_rows=rows.n_fit)
    start = time.perf_counter()
    path, interrupted, caught = _fit_path(out, options, model, rows)
    # Fits that share passes share their time.
    seconds = time.perf_counter() - start
    edge = None if path.scores is None or np.isnan(path.mean_scores).all() else path.edge
    with undisturbed() as late:
        for message in caught:
            out.warn(training.in_words(message, encoder))
        _report(out, path, options, seconds)
        if edge is not None:
            _warn_of_edge(out, path, edge)
        document: dict[str, Any] = {
            "model": type(model).__name__,
            "parameter": path.parameter,
            "path": path.table(),
            "certificates": [c.to_dict() for c in path.certificates],
            "scores": None if path.scores is None else path.scores.tolist(),
            "scoring": path.scoring or None,
            "not_reached": path.not_reached.tolist(),
            "best": None,
            "one_standard_error": None,
            "config": options.to_dict(),
            "data": rows.data_record(),
            "output": options.output,
            "plot": options.plot,
        }
        if path.scores is not None and not np.all(np.isnan(path.mean_scores)):
            document["best"] = path.best
            document["one_standard_error"] = float(path.values[path.one_standard_error_index])
            if options.output is not None:
                _save(out, options, path, rows)
        elif options.output is not None:
            out.warn(f"{options.output} was not written: no value was scored on all folds")
        if options.plot is not None:
            _draw(path, encoder, options.plot)
            out.report("drawn", options.plot)
        good = all(c.ok for c in path.certificates) and not len(path.not_reached)
        if out.quiet and not good:
            for message in caught:
                print_message("warning", training.in_words(message, encoder))
        code = Exit.DONE if good else Exit.ABOVE_TOL
        if interrupted or late:
            code = Exit.INTERRUPTED
        out.document(code, document)
    return code


def _settled(options: PathOptions) -> tuple[PathOptions, bool]:
    """The tolerance of every fit, and whether columns are taken in their units."""
    if options.tol is None and "tol" in OFFERS[str(options.model)].takes:
        options = replace(options, tol=_TOL)
    # A path of least squares is one of penalties.
    closed = options.model in ("lstsq", "poly")
    return options, replace(options, lam=1.0 if closed else None).in_units


def _in_memory(out: Output, options: PathOptions) -> SplitRows:
    options, target = training.read_target(options)
    options, in_units = _settled(options)
    encoder = target.fit_encoder(target.features, in_units=in_units, encoding=options.of_encoder())
    X = encoder.transform(target.features)
    target.report(out, encoder, lines={"target": target.remark}, alerts=ranked_alerts(encoder))
    return encoded(options, target, encoder, X, np.arange(len(target.y)))


def _over_blocks(out: Output, options: PathOptions) -> SplitRows:
    """Row blocks of a table that does not fit the memory; all values and folds share the passes."""
    from separatrix.cli.commands.fit import passes

    if options.model not in (None, "logistic", "svm"):
        raise click.UsageError(
            f"--model {options.model} has no path in passes, and this table is read in passes: fit "
            "--model logistic or svm, or give a larger --memory"
        )
    for name in ("group", "time"):
        if getattr(options, name) is not None:
            raise click.UsageError(
                f"--{name} makes folds of a table in memory, and this table is read in passes, "
                f"where folds are of consecutive rows: leave out --{name}, or give a larger "
                "--memory"
            )

    def check(settled: PathOptions, classes: np.ndarray | None) -> None:
        if classes is None:
            raise click.UsageError(
                f"column {quoted(settled.target)} is a quantity, and least squares has no "
                "path in passes, in which this table is read: give a larger --memory"
            )

    rows = passes.scanned(options, check, shown=not out.quiet)
    passes.report_blocks(out, rows)
    return replace(rows, options=_settled(rows.options)[0])


def _fit_path(
    out: Output, options: PathOptions, model: Any, rows: SplitRows
) -> tuple[Path, bool, list[str]]:
    """The path, whether it was interrupted, and its warnings."""
    shared: dict[str, Any] = {"scoring": options.scoring, **rows.weighted}
    if options.cv is not None:
        shared["cv"] = rows.folds(options.cv)
    interrupted = False
    start = time.perf_counter()
    with training.catching_warnings(rows.encoder) as caught:
        try:
            with fitting(model), progress_bar(shown=not out.quiet):
                path = model.path(*rows.given, options.values, **shared)
                if _is_to_be_widened(options, path):
                    path = _widened(model, options, path, start, rows, shared)
        except PathInterrupt as stop:
            path, interrupted = stop.path, True
        except TypeError as error:
            # The model or an option cannot be fitted in passes.
            raise click.UsageError(training.in_words(error, rows.encoder)) from error
    # That a fit is above its tolerance comes last.
    caught.sort(key=lambda warning: warning.category is ConvergenceWarning)
    return path, interrupted, list(dict.fromkeys(message_of(w.message) for w in caught))


def _is_to_be_widened(options: PathOptions, path: Path) -> bool:
    """Whether the best value is at an end of a range that the user did not choose."""
    chosen = options.values is not None and not isinstance(options.values, int)
    if chosen or options.cv is None or len(path.not_reached) or np.isnan(path.mean_scores).any():
        return False
    return path.edge is not None


def _widened(
    model: Any, options: PathOptions, path: Path, start: float, rows: SplitRows, shared: Any
) -> Path:
    """The path and what lies beyond its edge, once; in the time that is left."""
    if options.time_limit is not None:
        model = clone(model)
        model.time_limit = max(options.time_limit - (time.perf_counter() - start), 1e-9)
    try:
        return path.joined(model.path(*rows.given, path.beyond(), **shared))
    except PathInterrupt as stop:
        beyond = stop.path
        raise PathInterrupt(path.joined(beyond) if len(beyond) else path) from None


def _warn_of_edge(out: Output, path: Path, edge: str) -> None:
    further = "smaller" if (edge == "weakest") != (path.parameter == "C") else "larger"
    out.warn(
        f"the best {path.parameter}, {path.best:.6g}, is at the end of the values, with the {edge} "
        f"penalty: {further} values may score better; give some with --values"
    )


def _report(out: Output, path: Path, options: PathOptions, seconds: float) -> None:
    fits = len(path) * (1 + (options.cv or 0))
    line = f"{counted(len(path), 'value')} of {path.parameter}, {fits:,} fits, {seconds:.2f} s"
    within = isinstance(path.certificates[0], Certificate) and options.tol
    if within and all(c.ok for c in path.certificates):
        line += f", each within {100 * within:g} % of the best possible"
    out.report("path", line)
    for text in str(path).splitlines():
        out.text(text)


def _save(out: Output, options: PathOptions, path: Path, rows: SplitRows) -> None:
    model, output = path.best_model, str(options.output)
    config = options.to_dict()
    values = config.pop("values")
    if values is not None:
        config["values"] = values if isinstance(values, int) else ",".join(map(str, values))
    provenance = rows.origin(
        training.command_line(config, "path"),
        model,
        trained=rows.fitted_scores(model),
        held_out=None,
        weights=rows.largest_weights(model),
    )
    save_model(output, model, encoder=rows.encoder, provenance=provenance)
    out.report("saved", f"{output}, {path.parameter} = {path.best:.6g}")


def _draw(path: Path, encoder: Encoder, file: str) -> None:
    from separatrix.plots import PathDisplay
    from separatrix.plots.style import drawing, save_picture

    with drawing():
        names = encoder.feature_names_ if path.n_nonzero is not None else None
        scored = path.scores is not None
        display = PathDisplay.from_path(path, feature_names=None if scored else names)
        save_picture(display.figure_, file)
