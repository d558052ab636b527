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
        "Standard errors that hold even if the variance of the residuals differs from row to row; "
        "they need DATA.",
        ("HC0", "HC1", "HC2", "HC3"),
    )
    level: float = options.option(
        "The level of the confidence intervals.", options.LEVEL, default=0.95, show_default=True
    )
    unpacked_limit: str | None = options.unpacked_limit()


@options.command(
    "summary",
    SummaryOptions,
    summary="Estimates, standard errors, tests, intervals.",
    examples=_EXAMPLES,
)
def summary(given: SummaryOptions) -> SummaryOptions:
    """Print how precise the coefficients of the model file MODEL are: standard errors, t or z,
    p-values, confidence intervals, log-likelihood, AIC and BIC; for classes also odds ratios.

    MODEL was fitted by --model lstsq or poly without --lam, or by --model logistic --penalty none:
    a penalty draws coefficients towards zero, and p-values are not valid then. Coefficients are in
    the units of their columns. Each level of a category is compared with its reference, the most
    frequent level.

    DATA is the table of the fit, which --robust needs; the rows that were fitted are identified.
    """
    if given.robust is not None and given.data is None:
        raise click.UsageError(
            "--robust needs the rows of the fit: name their table after the model file"
        )
    return given
