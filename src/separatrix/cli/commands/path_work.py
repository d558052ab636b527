"""What ``separatrix path`` does, step by step."""

from __future__ import annotations

import warnings
from datetime import UTC, datetime
from typing import Any

import click
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, StratifiedKFold

from separatrix.assessment.scoring import score_rows
from separatrix.assessment.weights import column_spread, has_weights, largest_weights
from separatrix.certificate import Certificate
from separatrix.cli.building import build_model
from separatrix.cli.choices import TAKES, check_model_options, own_units
from separatrix.cli.commands.fit_work import command_line, data_record, in_words, versions
from separatrix.cli.describing import describe_table
from separatrix.cli.interruption import fitting, undisturbed
from separatrix.cli.output import Exit, Output, say
from separatrix.cli.progress import progress_bar
from separatrix.cli.reading import read_training_table
from separatrix.cli.targets import settle_target
from separatrix.exceptions import DataError
from separatrix.messages import counted, said_by
from separatrix.models.path import Path, PathInterrupt
from separatrix.persistence.model_file import check_writable, save_model
from separatrix.tables import Encoder

_TOL = 1e-4
# Options of ``fit`` that a path does not have.
_UNSET: dict[str, Any] = dict.fromkeys(name for names in TAKES.values() for name in names)
_UNSET |= {"interactions": False, "early_stopping": False, "no_intercept": False}


def follow_table(out: Output, config: dict[str, Any]) -> Exit:
    """Read, encode, fit along the path, choose, draw and save; return the exit code."""
    for file in (config["output"], config["plot"]):
        if file is not None:
            check_writable(file)
    whole = {**_UNSET, **config}
    check_model_options(whole)
    table = read_training_table(config)
    target = settle_target(whole, table)
    config["target"], config["model"] = whole["target"], whole["model"]
    if config["tol"] is None and "tol" in TAKES[config["model"]]:
        config["tol"] = whole["tol"] = _TOL
    whole["lam"] = 1.0 if config["model"] in ("lstsq", "poly") else None
    in_units = own_units(whole)
    labels = None if target.quantity else target.y
    encoder = Encoder(standardise=not in_units, reference=in_units).fit(target.features, labels)
    X = encoder.transform(target.features)
    out.report("read", describe_table(target.features, encoder))
    if target.told is not None:
        out.report("target", target.told)
    for note in table.notes:
        out.note(note)
    for alert in (*table.alerts, *encoder.alerts_):
        out.warn(alert)

    whole["lam"] = None
    n_classes = None if target.quantity else len(np.unique(target.y))
    model = build_model(whole, quantity=target.quantity, n_classes=n_classes, n_rows=len(target.y))
    path, interrupted, caught = _followed(out, model, X, target, config, encoder)
    with undisturbed():
        for message in caught:
            out.warn(in_words(message, encoder))
        _tell(out, path, config)
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
            "config": config,
            "data": data_record(table, target.features, encoder),
            "output": config["output"],
            "plot": config["plot"],
        }
        if path.scores is not None and not np.all(np.isnan(path.mean_scores)):
            document["best"] = path.best
            document["one_standard_error"] = float(path.values[path.one_standard_error_index])
            if config["output"] is not None:
                _save(out, path, X, target, table, encoder, config)
        if config["plot"] is not None:
            _draw(path, encoder, config["plot"])
            out.report("drawn", config["plot"])
        good = all(c.ok for c in path.certificates) and not len(path.not_reached)
        if out.quiet and not good:
            for message in caught:
                say("warning", in_words(message, encoder))
        code = Exit.DONE if good else Exit.ABOVE_TOL
        if interrupted:
            code = Exit.INTERRUPTED
        out.document(code, document)
    return code


def _followed(
    out: Output, model: Any, X: Any, target: Any, config: dict[str, Any], encoder: Encoder
) -> tuple[Path, bool, list[str]]:
    """The path, whether it was interrupted, and what it warned of."""
    folds: Any = None
    if config["cv"] is not None:
        kind = KFold if target.quantity else StratifiedKFold
        folds = kind(config["cv"], shuffle=True, random_state=config["seed"])
    interrupted = False
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with fitting(model), progress_bar(shown=not out.quiet):
                path = model.path(
                    X, target.y, config["values"], cv=folds, scoring=config["scoring"]
                )
        except PathInterrupt as stop:
            path, interrupted = stop.path, True
        except DataError as error:
            raise DataError(in_words(error, encoder)) from error
        except ValueError as error:
            # The table was checked before, so what is refused now is an option.
            raise click.UsageError(in_words(error, encoder)) from error
    own = [w for w in caught if not issubclass(w.category, DeprecationWarning)]
    # What else there is comes before what did not converge.
    own.sort(key=lambda w: w.category is ConvergenceWarning)
    return path, interrupted, list(dict.fromkeys(said_by(w.message) for w in own))


def _tell(out: Output, path: Path, config: dict[str, Any]) -> None:
    seconds = float(path.seconds.sum())
    seconds += sum(c.seconds for row in path.fold_certificates for c in row if c is not None)
    fits = len(path) * (1 + (config["cv"] or 0))
    told = f"{counted(len(path), 'value')} of {path.parameter}, {fits:,} fits, {seconds:.2f} s"
    if all(c.ok for c in path.certificates) and isinstance(path.certificates[0], Certificate):
        told += f", each within {100 * config['tol']:g} % of the best possible"
    out.report("path", told)
    for line in str(path).splitlines():
        out.text(line)


def _save(
    out: Output,
    path: Path,
    X: Any,
    target: Any,
    table: Any,
    encoder: Encoder,
    config: dict[str, Any],
) -> None:
    model = path.best_model
    weights = None
    if has_weights(model):
        weights = largest_weights(model, encoder.feature_names_, column_spread(X))
    shown = {name: value for name, value in config.items() if name != "values"}
    if config["values"] is not None:
        given = config["values"]
        shown["values"] = given if isinstance(given, int) else ",".join(map(str, given))
    provenance = {
        "command": command_line(shown, "path"),
        "config": {**config, "test_size": 0.0, "parameters": model.get_params()},
        "target": config["target"],
        "data": data_record(table, target.features, encoder),
        "split": {
            "fit_rows": len(target.y),
            "held_out_rows": 0,
            "test_size": 0.0,
            "seed": config["seed"],
            "stratified": not target.quantity,
        },
        "quantity": target.quantity,
        "trained": score_rows(model, X, target.y) if target.quantity else None,
        "held_out": None,
        "weights": weights,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
    }
    save_model(config["output"], model, encoder=encoder, provenance=provenance)
    out.report("saved", f"{config['output']}, {path.parameter} = {path.best:.6g}")


def _draw(path: Path, encoder: Encoder, file: str) -> None:
    import matplotlib

    matplotlib.use("agg")
    from separatrix.plots import PathDisplay, theme

    with theme("light"):
        names = encoder.feature_names_ if path.n_nonzero is not None else None
        scored = path.scores is not None
        display = PathDisplay.from_path(path, feature_names=None if scored else names)
        display.figure_.savefig(file, dpi=150)
