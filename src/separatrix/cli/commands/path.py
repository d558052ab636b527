"""``separatrix path``: fits over a range of strengths, and the choice among them."""

from __future__ import annotations

from functools import partial
from pathlib import PurePath
from typing import Any

import click

from separatrix.cli import options
from separatrix.cli.choices import KERNELS
from separatrix.cli.commands.fit import settle_columns
from separatrix.cli.output import Output
from separatrix.cli.overwriting import refuse_to_overwrite_inputs, refuse_to_overwrite_others

_EXAMPLES = """
separatrix path table.csv --target income --cv 5
separatrix path table.csv --target income --cv 5 -o income.separatrix --plot path.png
separatrix path reviews.parquet --target label --model svm --values 0.01,0.1,1,10 --cv 5
separatrix path table.csv --target income --penalty l1 --cv 5
separatrix path table.csv --target income --cv 10 --scoring roc_auc --json > path.json
"""

# The models that have a strength.
_MODELS = ("logistic", "svm", "kernel-svm", "sgd", "lda", "qda", "lstsq", "poly")
_PICTURES = (".png", ".svg", ".pdf", ".jpg", ".webp")
_BASIC = "What to predict, and how"
_MODEL = "The model"
_STOP = "When to stop"
_TABLE = "The table and its rows"


class _Values(click.ParamType):
    """How many values, or the values themselves, separated by commas."""

    name = "values"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | list[float]:
        if not isinstance(value, str):
            return value
        try:
            if value.strip().lstrip("+").isdecimal() and int(value) > 0:
                return int(value)
            found = [float(word) for word in value.split(",") if word.strip()]
        except ValueError:
            found = []
        # One alone is a value where it could be no count: 0.5, or 1, with a comma behind it.
        if not found or ("," not in value and not ("." in value or "e" in value.lower())):
            self.fail(
                f"{value!r} is neither how many, a whole number from 1, nor numbers separated by "
                "commas",
                param,
                ctx,
            )
        return found


class _Folds(options.Number):
    def __init__(self) -> None:
        super().__init__("a whole number from 2", lambda x: x >= 2, int)


@options.command(
    "path",
    summary="Fit over a range of strengths, certified, and choose.",
    examples=_EXAMPLES,
)
@click.argument("data")
@options.option(
    "--target", group=_BASIC, metavar="COL", help="The column to predict. [default: target]"
)
@options.option(
    "--model",
    group=_BASIC,
    type=click.Choice(_MODELS),
    help="What to fit. [default: logistic for classes, lstsq for a quantity]",
)
@options.option(
    "--values",
    "--Cs",
    "values",
    group=_BASIC,
    type=_Values(),
    metavar="N|LIST",
    help="How many, or which (with commas, one alone too): of C; of sgd alpha, of lda and qda "
    "shrinkage, of lstsq and poly lam. [default: 20, over six powers of ten from where the penalty "
    "decides; for l1 over three from where the first weight is not zero]",
)
@options.option(
    "--cv", group=_BASIC, type=_Folds(), help="Folds to choose by. [default: none, no choice]"
)
@options.option(
    "--scoring",
    group=_BASIC,
    metavar="NAME",
    help="What to choose by, one of scikit-learn's scorers. [default: accuracy, or R^2]",
)
@options.option(
    "-o",
    "--output",
    group=_BASIC,
    metavar="FILE",
    help="Save the model at the best value, fitted to all rows.",
)
@options.option(
    "--plot", group=_BASIC, metavar="FILE", help="Draw the scores, or without --cv the weights."
)
@partial(options.loss, group=_MODEL)
@options.option(
    "--penalty",
    group=_MODEL,
    type=click.Choice(["l2", "l1", "elasticnet"]),
    help="On the weights of logistic and svm: l1 and elasticnet make many of them exactly zero. "
    "[default: l2]",
)
@partial(options.l1_ratio, group=_MODEL)
@partial(options.class_weight, group=_MODEL)
@options.option("--no-intercept", group=_MODEL, is_flag=True, help="A boundary through the origin.")
@partial(options.multiclass, group=_MODEL)
@options.option(
    "--kernel",
    group=_MODEL,
    type=click.Choice(KERNELS),
    help="Of kernel-svm. [default: rbf]",
)
@partial(options.gamma, group=_MODEL)
@options.option(
    "--degree", group=_MODEL, type=options.DEGREE, help="Of poly, or of the kernel poly."
)
@options.option(
    "--tol",
    group=_STOP,
    type=options.FINITE_POSITIVE,
    help="Certified relative gap to reach, at every value and in every fold; not of closed forms. "
    "[default: 1e-4]",
)
@partial(options.max_iter, group=_STOP)
@options.option(
    "--time-limit",
    group=_STOP,
    type=options.POSITIVE,
    help="Stop after this many seconds; what was reached is told.",
)
@options.option(
    "--seed",
    group=_TABLE,
    type=options.SEED,
    default=0,
    show_default=True,
    help="Of the folds and the fits.",
)
@partial(options.ignore, group=_TABLE)
@partial(options.kinds, group=_TABLE)
@partial(options.missing, group=_TABLE)
@options.common
def path(as_json: bool, quiet: bool, **config: Any) -> int:
    """Fit a model to the table DATA over a range of strengths of its penalty.

    Each fit starts from where those before it point to, and is proved to be within --tol of the
    best possible. With --cv so are the fits to the folds; the table then has the mean score on
    held-out rows and its standard error, a mark at the best, and one at the strongest penalty
    within one standard error of it. All rows take part.

    What columns are and how they are encoded (means and spreads of numbers, levels, words of text)
    is found once, on all rows and without the labels: the scores know that much of the rows that
    they are taken on, as they would of any that came with the table.

    The exit code is 4 when a fit stopped above --tol, or time was up before the last value.
    """
    if config["output"] is not None:
        if config["cv"] is None:
            raise click.UsageError("--output saves the best model, and --cv is what decides it")
        refuse_to_overwrite_inputs(config["output"], data=config["data"])
        refuse_to_overwrite_others(config["output"], models=True)
    if config["plot"] is not None:
        refuse_to_overwrite_inputs(config["plot"], data=config["data"], option="--plot")
        if PurePath(config["plot"]).suffix.lower() not in _PICTURES:
            raise click.UsageError(
                f"--plot {config['plot']} has to end in one of {', '.join(_PICTURES)}"
            )
        if config["plot"] == config["output"]:
            raise click.UsageError("--plot and --output name the same file")
    if config["scoring"] is not None and config["cv"] is None:
        raise click.UsageError("--scoring judges held-out rows: give --cv")
    settle_columns(config)
    out = Output("path", as_json=as_json, quiet=quiet)

    # After the checks, because these take a second to import.
    from separatrix.cli.commands.path_work import follow_table

    with out.telling_warnings():
        return follow_table(out, config)
