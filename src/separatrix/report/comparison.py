"""A comparison of models as a page, and its numbers beside it."""

from __future__ import annotations

import os
import warnings
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any

import separatrix
from separatrix.assessment.comparing import Comparison
from separatrix.assessment.documents import jsonable
from separatrix.persistence.model_file import check_writable, write_atomically
from separatrix.report.files import GENERATOR, SCHEMA, require_report_or_nothing, twin_of
from separatrix.report.rendering import document_text, page_of, require_extras

__all__ = ["save_comparison"]


def save_comparison(
    found: Comparison,
    path: str | os.PathLike[str],
    *,
    target: str,
    source: str,
    commands: dict[str, str],
) -> None:
    """Write the page of a comparison, and its document with the ending ``.json``.

    Parameters
    ----------
    found : Comparison
    path : path-like
    target, source : str
        What is predicted, and from which table.
    commands : dict of str to str
        The command that fits a model, by its name.

    Raises
    ------
    ValueError
        If the page would have the name of its document.
    OSError
        If a file cannot be written, or exists and is no report; the message is one sentence.
    ModuleNotFoundError
        If jinja2 or matplotlib is not installed.
    """
    require_extras()
    twin = twin_of(path)
    for one in (path, twin):
        require_report_or_nothing(one)
        check_writable(one)
    document: dict[str, Any] = jsonable(
        {
            "schema": SCHEMA,
            "version": 1,
            "kind": "comparison",
            "library_version": separatrix.__version__,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "target": target,
            "data": source,
            "rows": found.n_samples,
            "folds": found.n_folds,
            "scoring": found.scoring,
            "digits": found.digits,
            "interrupted": found.interrupted,
            "verdict": found.verdict,
            "models": found.table(),
            "commands": commands,
        }
    )
    style = files("separatrix.report").joinpath("templates", "report.css").read_text("utf-8")
    page = page_of(
        "comparison.html.jinja",
        r=document,
        title=os.path.basename(source) or source,
        picture=_picture(found),
        style=style,
        generator=GENERATOR,
    )
    write_atomically(twin, document_text(document).encode("ascii"))
    write_atomically(path, page.encode("utf-8"))


def _picture(found: Comparison) -> str | None:
    """The intervals; None where no model has scores."""
    if found.best.why:
        return None
    import matplotlib.pyplot as plt

    from separatrix.plots.comparison import ComparisonDisplay
    from separatrix.report.svg import drawing, to_svg

    scored = sum(not one.why for one in found.contenders)
    with drawing(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        axes = plt.subplots(figsize=(7.0, 1.4 + 0.36 * scored), layout="constrained")[1]
        figure = ComparisonDisplay.from_comparison(found, ax=axes).figure_
        try:
            return to_svg(figure, "comparison", "How far each model is behind the best one")
        finally:
            plt.close(figure)
