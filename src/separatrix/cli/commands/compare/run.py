"""The steps of ``separatrix compare``."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import click
from sklearn.metrics import get_scorer

from separatrix.assessment.comparing import (
    contenders,
    for_targets,
    scores_probabilities,
    settings_of,
)
from separatrix.assessment.comparison import Comparison
from separatrix.assessment.racing import Entry, race, yardstick_of
from separatrix.cli.commands.compare import CLASSIFIERS, REGRESSORS, CompareOptions
from separatrix.cli.commands.fit import training
from separatrix.cli.commands.fit.models import build_model, suit_table
from separatrix.cli.commands.fit.training import Target
from separatrix.cli.interruption import undisturbed
from separatrix.cli.output import Exit, Output, rows_bar
from separatrix.cli.wording import TERMINAL
from separatrix.geometry.diagnosis.alerts import ranked_alerts
from separatrix.messages import counted
from separatrix.models.registry import OFFERS

# Options that a comparison settles, and that the command of a fit therefore names.
_SETTLED = ("approximation", "components", "calibrate", "max_iter")


def run(out: Output, options: CompareOptions) -> Exit:
    """Read, encode, fit every model to every fold, print, and report; return the exit code."""
    if options.scoring is not None:
        try:
            get_scorer(options.scoring)
        except ValueError as error:
            raise click.UsageError(
                f"--scoring {options.scoring} is not one of scikit-learn's scorers, such as "
                "accuracy, balanced_accuracy, f1_macro, roc_auc, neg_log_loss, r2"
            ) from error
    settled, target = training.read_target(replace(options, model=None))
    chosen = _chosen(options, target)
    entries, encoder = _entries(settled, target, chosen)
    target.report(
        out,
        encoder,
        lines={"folds": training.how_folded(options, quantity=target.quantity)},
        alerts=ranked_alerts(encoder),
    )
    X = next(iter(entries.values())).X
    folds = target.folds(X, options.cv, seed=options.seed)
    beside = None
    if options.yardstick:
        beside = yardstick_of(X, quantity=target.quantity, random_state=options.seed)
    with _watching(out, options) as on_progress:
        found = race(
            entries,
            target.y,
            folds,
            scoring=options.scoring,
            sample_weight=target.roles.weights,
            budget=options.budget,
            yardstick=beside,
            on_progress=on_progress,
        )
    with undisturbed():
        return _report(out, options, target, found)


def _chosen(options: CompareOptions, target: Target) -> tuple[str, ...]:
    """The models by name; those of classes do not go with a quantity, nor the other way round."""
    known = REGRESSORS if target.quantity else CLASSIFIERS
    if options.models is None:
        return tuple(for_targets(contenders(len(target.y), quantity=target.quantity), target.y))
    odd = [name for name in options.models if name not in known]
    if odd:
        what = "a quantity" if target.quantity else "classes"
        raise click.UsageError(
            f"column {target.name!r} holds {what}, which --models {odd[0]} cannot predict; choose "
            f"among {', '.join(known)}"
        )
    return tuple(options.models)


def _of_model(options: CompareOptions, name: str, n_rows: int) -> CompareOptions:
    """The options under which one model is fitted to the folds."""
    takes = OFFERS[name].takes
    probabilities = scores_probabilities(options.scoring)
    given = {"model": name, **settings_of(name, n_rows, probabilities=probabilities)}
    for option in ("C", "class_weight", "time_limit"):
        if option not in takes:
            given[option] = None
    return replace(options, **given)


def _entries(options: Any, target: Target, names: tuple[str, ...]) -> tuple[dict[str, Entry], Any]:
    """The estimators with the matrices that they see, and the first encoder."""
    n_rows = len(target.y)
    encoders: dict[bool, tuple[Any, Any]] = {}
    entries = {}
    for name in names:
        own = None if name == "constant" else _of_model(options, name, n_rows)
        in_units = own is not None and own.in_units
        if own is None:
            in_units = next(iter(encoders), False)
            model = contenders(n_rows, quantity=target.quantity)["constant"]
        else:
            model = suit_table(build_model(own), own, n_classes=target.n_classes, n_rows=n_rows)
        if in_units not in encoders:
            encoder = target.fit_encoder(
                target.features, in_units=in_units, encoding=options.of_encoder()
            )
            encoders[in_units] = encoder, encoder.transform(target.features)
        entries[name] = Entry(model, encoders[in_units][1])
    return entries, next(iter(encoders.values()))[0]


@contextlib.contextmanager
def _watching(out: Output, options: CompareOptions) -> Iterator[Any]:
    """A bar on a terminal that shows the present model and the used share of the budget."""
    if out.quiet or not sys.stderr.isatty():
        yield None
        return
    begun = time.monotonic()
    with rows_bar("compare  ") as show:

        def on_progress(name: str, fold: int, share: float) -> None:
            state = f"{name}, {fold} of {counted(options.cv, 'fold')}"
            show(share, f"{state}; {time.monotonic() - begun:.0f} s of {options.budget:g} s")

        yield on_progress


def _report(out: Output, options: CompareOptions, target: Target, found: Comparison) -> Exit:
    out.table(found.lines())
    out.text()
    out.answer("verdict", found.verdict)
    if found.yardstick is not None:
        out.answer("yardstick", found.beside_the_yardstick)
    for remark in found.remarks():
        out.warn(TERMINAL(remark))
    own = {
        one.name: _of_model(options, one.name, len(target.y))
        for one in found.contenders
        if one.name != "constant"
    }
    # The command that is shown fits more closely than a comparison needs.
    commands = {name: _command(replace(one, tol=None), target.name) for name, one in own.items()}
    if not out.quiet:
        out.text()
        for name, command in commands.items():
            out.report("to fit" if name == next(iter(commands)) else "", command)
    document: dict[str, Any] = {
        "target": target.name,
        "scoring": found.scoring,
        "folds": found.n_folds,
        "rows": found.n_samples,
        "verdict": found.verdict,
        "interrupted": found.interrupted,
        "budget": found.budget,
        "models": [
            {**record, "command": commands.get(record["model"])} for record in found.table()
        ],
        "yardstick": found.yardstick_record(),
        "report": options.report,
    }
    if options.report is not None:
        from separatrix.report.comparison import save_comparison

        save_comparison(
            found,
            options.report,
            target=target.name,
            source=target.table.source,
            commands=commands,
        )
        out.report("report", options.report)
    code = Exit.NEGATIVE if found.best.why else Exit.DONE
    if found.interrupted:
        out.warn("interrupted before the last model")
        code = Exit.INTERRUPTED
    out.document(code, document)
    return code


def _command(options: CompareOptions, target: str) -> str:
    """The ``separatrix fit`` of one line."""
    config = {
        **options.to_dict(),
        "target": target,
        "model": options.model,
        **{name: getattr(options, name) for name in _SETTLED},
    }
    for name in ("models", "cv", "scoring", "yardstick", "report", "budget"):
        config.pop(name, None)
    if not config["seed"]:
        config.pop("seed")
    return training.command_line(config, "fit")
