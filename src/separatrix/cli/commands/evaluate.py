"""``separatrix evaluate``: how well a model predicts labelled rows."""

from __future__ import annotations

import math
from typing import Any

import click

from separatrix.cli import options
from separatrix.cli.output import Exit, Output, aligned, short

_EXAMPLES = """
separatrix evaluate income.separatrix labelled.csv
separatrix evaluate income.separatrix labelled.csv --json | jq .scores.accuracy
"""


@options.command(
    "evaluate",
    summary="Measure a model on labelled rows.",
    examples=_EXAMPLES,
)
@click.argument("model")
@click.argument("data")
@click.option("--target", metavar="COL", help="The column with the labels. [default: the model's]")
@options.missing
@options.common
def evaluate(
    model: str, data: str, target: str | None, missing: tuple[str, ...], as_json: bool, quiet: bool
) -> int:
    """Measure the model file MODEL on the labelled rows of DATA.

    Prints the accuracy with its 95 % interval (Wilson), the area under the ROC curve (for more
    than two classes the mean of one against the rest), the log loss where there are
    probabilities, and precision, recall and confusion matrix by class. Of a quantity it prints R^2,
    the root of the mean squared error, the mean absolute and the mean squared error.
    """
    out = Output("evaluate", as_json=as_json, quiet=quiet)

    from separatrix.assessment.scoring import headline, score_rows
    from separatrix.cli.reading import encode, load_for_tables, read_labelled

    with out.telling_warnings():
        stored = load_for_tables(model)
        labelled = read_labelled(stored, data, missing, target)
        scores = score_rows(stored.model, encode(out, stored, labelled.features), labelled.y)

    trained = stored.provenance.get("data") or {}
    same = labelled.table.fingerprint() == trained.get("fingerprint")
    if same and "split" in stored.provenance:
        fitted = stored.provenance["split"]["fit_rows"]
        out.warn(
            f"the model was fitted to {fitted:,} of these rows, so it looks better here than on "
            "new ones; separatrix info shows the held-out figures"
        )
    out.answer("rows", f"{scores['n']:,}")
    out.answer("scores", headline(scores))
    if "per_class" in scores:
        _print_classes(out, scores)
    out.document(
        Exit.DONE, {"model": model, "data": data, "target": labelled.target, "scores": scores}
    )
    return Exit.DONE


def _print_classes(out: Output, scores: dict[str, Any]) -> None:
    names = [short(entry["class"]) for entry in scores["per_class"]]
    out.text()
    rows = [["class", "precision", "recall", "F1", "rows"]]
    for name, entry in zip(names, scores["per_class"], strict=True):
        shares = [_share(entry[key]) for key in ("precision", "recall", "f1")]
        rows.append([name, *shares, f"{entry['n']:,}"])
    for line in aligned(rows):
        out.text(line)
    out.text()
    rows = [["true \\ predicted", *names]]
    for name, counts in zip(names, scores["confusion_matrix"], strict=True):
        rows.append([name, *(f"{count:,}" for count in counts)])
    for line in aligned(rows):
        out.text(line)


def _share(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3f}"
