"""``separatrix summary``: estimates with standard errors, tests and intervals."""

from __future__ import annotations

from dataclasses import dataclass

import click

from separatrix.cli import options

_EXAMPLES = """
separatrix fit table.csv --target price && separatrix summary table.separatrix
separatrix fit table.csv --target income --penalty none && separatrix summary table.separatrix
separatrix summary table.separatrix table.csv --robust HC3
separatrix summary table.separatrix --json | jq .summary.coefficients
"""


@dataclass(frozen=True, kw_only=True)
class SummaryOptions(options.Options):
    """The options of ``separatrix summary``."""

    model: str = options.argument()
    data: str | None = options.argument(required=False)
    robust: str | None = options.option(
        "Standard errors that hold where the residuals' variance differs from row to row; needs "
        "DATA.",
        ("HC0", "HC1", "HC2", "HC3"),
    )
    level: float = options.option(
        "Of the confidence intervals.", options.LEVEL, default=0.95, show_default=True
    )


@options.command(
    "summary",
    SummaryOptions,
    summary="Estimates, standard errors, tests, intervals.",
    examples=_EXAMPLES,
)
def summary(given: SummaryOptions) -> SummaryOptions:
    """Print what the coefficients of the model file MODEL are worth: standard errors, t or z,
    p-values and confidence intervals, the log-likelihood, AIC and BIC; for classes odds ratios too.

    MODEL is one of fit --model lstsq or poly without --lam, or of fit --model logistic --penalty
    none: a penalty draws coefficients towards zero, and then no p-value means what it says.
    Numbers are in the units of their columns. Of a category each level is compared with its
    reference, the level of the most rows.

    DATA is the table of the fit, which --robust needs; its rows that were fitted are found again.
    """
    if given.robust is not None and given.data is None:
        raise click.UsageError(
            "--robust needs the rows of the fit: name their table after the model file"
        )
    return given
