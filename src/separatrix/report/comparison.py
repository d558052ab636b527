"""A comparison of models as a page, and its numbers beside it."""

from __future__ import annotations

import os
import warnings
from typing import Any

from separatrix.assessment.comparison import Comparison
from separatrix.assessment.documents import jsonable
from separatrix.persistence.model_file import write_atomically
from separatrix.report.rendering import (
    document_head,
    document_text,
    page_of,
    ready_twin,
    require_extras,
)


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
        The name of the target, and of the table.
    commands : dict of str to str
        The commands that fit the models, by the models' names.

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
    twin = ready_twin(path)
    document: dict[str, Any] = jsonable(
        {
            **document_head("comparison"),
            "target": target,
            "data": source,
            "rows": found.n_samples,
            "folds": found.n_folds,
            "scoring": found.scoring,
            "digits": found.digits,
            "interrupted": found.interrupted,
            "budget": found.budget,
            "verdict": found.verdict,
            "models": found.table(),
            "yardstick": found.yardstick_record(),
            "beside_the_yardstick": found.beside_the_yardstick or None,
            "commands": commands,
        }
    )
    page = page_of(
        "comparison.html.jinja",
        r=document,
        title=os.path.basename(source) or source,
        picture=_picture(found),
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

    shown = (*found.contenders, *([] if found.yardstick is None else [found.yardstick]))
    scored = sum(not one.why for one in shown)
    with drawing(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        axes = plt.subplots(figsize=(7.0, 1.4 + 0.36 * scored), layout="constrained")[1]
        figure = ComparisonDisplay.from_comparison(found, ax=axes).figure_
        try:
            return to_svg(figure, "comparison", "How far each model is behind the best one")
        finally:
            plt.close(figure)
