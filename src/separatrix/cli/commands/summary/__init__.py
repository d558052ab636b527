"""``separatrix summary``: estimates with standard errors, tests and intervals."""

from __future__ import annotations

from dataclasses import dataclass

import click

from separatrix.cli import options

_EXAMPLES = """
separatrix fit table.csv --target price && separatrix summary table.separatrix
separatrix fit table.csv --target income --penalty none && separatrix summary table.separatrix
separatrix summary table.separatrix table.csv --robust HC3
separatrix summary visits.separatrix visits.csv --cluster patient
separatrix summary table.separatrix --json | jq .summary.coefficients
"""


@dataclass(frozen=True, kw_only=True)
class SummaryOptions(options.LineOptions):
    """The options of ``separatrix summary``."""

    model: str = options.argument()
    data: str | None = options.argument(required=False)
    robust: str | None = options.option(
        "Compute standard errors that are valid even if the variance of the residuals differs from "
        "row to row; this needs DATA.",
        ("HC0", "HC1", "HC2", "HC3"),
    )
    cluster: str | None = options.option(
        "Compute standard errors that allow for rows of one cluster which depend on one another, "
        "such as the visits of a patient, by a column that names it; this needs DATA.",
        metavar="COL",
    )
    level: float = options.option(
        "The level of the confidence intervals.", options.LEVEL, default=0.95, show_default=True
    )
    unpacked_limit: str | None = options.unpacked_limit()


@options.command(
    "summary",
    SummaryOptions,
    summary="Print estimates, standard errors, tests, intervals.",
    examples=_EXAMPLES,
)
def summary(given: SummaryOptions) -> SummaryOptions:
    """Print how precise the coefficients of the model file MODEL are: standard errors, t or z,
    p-values, confidence intervals, log-likelihood, AIC and BIC; for classes also odds ratios.

    MODEL must be a fit with --model lstsq or poly without --lam, or with --model logistic --penalty
    none: a penalty draws coefficients towards zero, so that p-values are not valid. Coefficients
    are in the units of their columns. Each level of a category is compared with its reference, the
    most frequent level.

    DATA is the table of the fit, which --robust and --cluster need; the rows of the fit are found
    in it.
    """
    if given.robust is not None and given.cluster is not None:
        raise click.UsageError(
            "--robust takes the rows to be independent, and --cluster does not: give one of them"
        )
    for name in ("robust", "cluster"):
        if getattr(given, name) is not None and given.data is None:
            raise click.UsageError(
                f"--{name} needs the rows of the fit: name their table after the model file"
            )
    return given
