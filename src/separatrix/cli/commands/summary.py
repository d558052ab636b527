"""``separatrix summary``: estimates with standard errors, tests and intervals."""

from __future__ import annotations

import click

from separatrix.cli import options
from separatrix.cli.output import Output

_EXAMPLES = """
separatrix fit table.csv --target price && separatrix summary table.separatrix
separatrix fit table.csv --target income --penalty none && separatrix summary table.separatrix
separatrix summary table.separatrix table.csv --robust HC3
separatrix summary table.separatrix --json | jq .summary.coefficients
"""


@options.command(
    "summary",
    summary="Estimates, standard errors, tests, intervals.",
    examples=_EXAMPLES,
)
@click.argument("model")
@click.argument("data", required=False)
@click.option(
    "--robust",
    type=click.Choice(["HC0", "HC1", "HC2", "HC3"]),
    help="Standard errors that hold where the residuals' variance differs from row to row; needs "
    "DATA.",
)
@click.option(
    "--level",
    type=options.LEVEL,
    default=0.95,
    show_default=True,
    help="Of the confidence intervals.",
)
@options.common
def summary(
    model: str, data: str | None, robust: str | None, level: float, as_json: bool, quiet: bool
) -> int:
    """Print what the coefficients of the model file MODEL are worth: standard errors, t or z,
    p-values and confidence intervals, the log-likelihood, AIC and BIC; for classes odds ratios too.

    MODEL is one of fit --model lstsq or poly without --lam, or of fit --model logistic --penalty
    none: a penalty draws coefficients towards zero, and then no p-value means what it says.
    Numbers are in the units of their columns. Of a category each level is compared with its
    reference, the level of the most rows.

    DATA is the table of the fit, which --robust needs; its rows that were fitted are found again.
    """
    if robust is not None and data is None:
        raise click.UsageError(
            "--robust needs the rows of the fit: name their table after the model file"
        )
    out = Output("summary", as_json=as_json, quiet=quiet)

    from separatrix.cli.commands.summary_work import summarise_file

    with out.telling_warnings():
        return summarise_file(out, model, data, robust=robust, level=level)
