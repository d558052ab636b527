"""The picture of a fit: its rows and the model's predictions, or the steps of a perceptron."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np

from separatrix.cli.commands.fit.training import SplitRows
from separatrix.cli.options import ending_of
from separatrix.cli.output import Output, print_message
from separatrix.messages import quoted
from separatrix.persistence.model_file import StoredModel


def draw_fit(out: Output, rows: SplitRows, stored: StoredModel, path: str) -> str | None:
    """Draw a model that was just fitted and saved; the file, or None where it was not written."""
    from separatrix.plots.style import drawing

    try:
        with drawing(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            caption = (_steps if ending_of(path) == ".gif" else _rows)(rows, stored, path)
    except (TypeError, ValueError) as error:
        # A display refuses in one sentence what it has no picture of.
        out.warn(f"{path} was not drawn: {error}")
        return None
    except KeyboardInterrupt:
        print_message("error", "interrupted before the picture was drawn; the model is saved")
        raise
    out.report("drawn", f"{path}: {caption}")
    return path


def _rows(rows: SplitRows, stored: StoredModel, path: str) -> str:
    from separatrix.plots.style import save_picture
    from separatrix.report.pictures import first_display

    display, caption = first_display(rows.evaluation(stored))
    save_picture(display.figure_, path)
    return caption


def _steps(rows: SplitRows, stored: StoredModel, path: str) -> str:
    from separatrix.plots import PerceptronDisplay
    from separatrix.report.pictures import with_names

    model: Any = with_names(stored.model, rows.encoder)
    part = None
    if isinstance(model.trace_, tuple):
        counts = [len(trace.updates) for trace in model.trace_]
        part = model.classes_[int(np.argmax(counts))].item()
    display = PerceptronDisplay.from_estimator(model, *rows.given, updates=[1], part=part)
    if rows.numbers is not None:
        display.row_numbers = (rows.numbers + 1).tolist()
    display.save_gif(os.path.realpath(path))
    which = "" if part is None else f" of {quoted(part)} against the rest"
    return f"the {display.n_frames:,} corrections{which}"
