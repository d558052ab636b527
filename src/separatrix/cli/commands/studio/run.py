"""The work of ``separatrix studio``."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from separatrix.cli.commands.studio import StudioOptions
from separatrix.cli.output import Exit, Output
from separatrix.cli.reading import read_training_table, report_notes, target_name
from separatrix.exceptions import DataError
from separatrix.persistence.model_file import check_writable
from separatrix.studio.kernel import StudioModel, load
from separatrix.studio.lessons import lesson_of
from separatrix.studio.state import PANELS, StateError
from separatrix.tables import Table, take_target
from separatrix.tables.placeholders import missing_cells, sentence


def run(out: Output, options: StudioOptions) -> Exit:
    """Serve the page, or write one that needs no server."""
    if options.export is not None:
        check_writable(options.export)
    table: dict[str, Any] | None = None
    labels, target = None, None
    if options.data is not None:
        read = read_training_table(options)
        target = target_name(read, options.target)
        features, labels = take_target(read, target)
        table, alerts = _numbers(features)
        report_notes(out, read, (*features.alerts, *alerts))
        if len(table) < 2:
            texts = [repr(name) for name in features.names if name not in table]
            have = (
                f"one column of numbers, {next(iter(table))!r}" if table else "no column of numbers"
            )
            besides = f"; {', '.join(texts[:3])} hold text" if texts else ""
            raise DataError(f"{options.data} has {have}, and the picture needs two{besides}")
    make = partial(
        StudioModel, table, labels, target, lesson=options.lesson, moving=options.export is None
    )
    try:
        kernel = make()
        if options.export is not None:
            return _export(out, options, kernel)
    except StateError as error:
        raise DataError(f"{options.data or options.lesson}: {error}") from None
    return _serve(out, options, make, kernel)


def _numbers(features: Table) -> tuple[dict[str, np.ndarray], list[str]]:
    """The columns of numbers, NaN where a value is missing, and notes on their placeholders."""
    columns: dict[str, np.ndarray] = {}
    alerts: list[str] = []
    for name in features.names:
        if features.kinds[name] != "number":
            continue
        gone, found = missing_cells(features, name)
        alerts += [sentence(name, one) for one in found]
        columns[name] = np.where(gone, np.nan, np.ma.getdata(features.columns[name]).astype(float))
    return columns, alerts


def _fitting(out: Output, kernel: StudioModel, models: list[str]) -> list[str]:
    """The models that can be fitted to the points; the others are noted."""
    state, kept = kernel.traits["state"], []
    for model in models:
        own = {**state, "model": model, "parameters": {}}
        answer = kernel.reply({"type": "ask", "seq": 0, "state": own})
        if answer["type"] == "answer":
            kept.append(model)
        else:
            out.note(f"the page leaves {model} out: {answer['text']}")
    return kept


def _export(out: Output, options: StudioOptions, kernel: StudioModel) -> Exit:
    from separatrix.studio.export import write_page

    assert options.export is not None
    state = kernel.traits["state"]
    # A curve to y is fitted to points without classes, and those of a table have classes.
    own = state["model"]
    others = [model for model in PANELS if model not in (own, "regression")]
    models = [own] if own == "regression" else [own, *_fitting(out, kernel, others)]
    name = "separatrix studio" if options.data is None else f"{options.data} in the studio"
    write_page(options.export, kernel, state, models=models, title=name)
    points = f"{len(state['points']):,} points"
    out.report("saved", f"{options.export} ({points}, {len(models)} models)")
    out.document(
        Exit.DONE, {"page": options.export, "points": len(state["points"]), "models": models}
    )
    return Exit.DONE


def _serve(
    out: Output, options: StudioOptions, make: Callable[[], StudioModel], warm: StudioModel
) -> Exit:
    from separatrix.studio.serving import serve

    out.note("loading compiled loops, which takes a moment")
    warm.reply({"type": "ask", "seq": 0, "state": warm.traits["state"]})
    # The loaded modules stay. To look through them for garbage takes a tenth of a second, now and
    # then in the middle of a drag.
    gc.collect()
    gc.freeze()

    begun: list[str] = []
    ended = threading.Event()

    def opened(address: str) -> None:
        begun.append(address)
        out.answer("studio", address)
        note = warm.traits["seed_tables"]["note"]
        if note is not None:
            out.note(note.rstrip("."))
        # Other models and the proofs, so that nobody waits for a compiler.
        threading.Thread(target=load, args=(lambda: not ended.is_set(),), daemon=True).start()
        if options.lesson is not None:
            lesson = lesson_of(options.lesson, {})
            out.answer("lesson", f"{lesson['title']}. {lesson['claim']}")
        out.document(Exit.DONE, {"address": address})

    try:
        serve(make, port=options.port, keep=options.keep, opened=opened)
    except OSError as error:
        raise DataError(
            f"port {options.port} is not available: {error.strerror or error}; choose another "
            "--port"
        ) from None
    except KeyboardInterrupt:
        # Once it serves, Ctrl-C is how its user ends it, and nothing is lost.
        if not begun:
            raise
        out.note("ended by Ctrl-C")
    finally:
        ended.set()
    return Exit.DONE
