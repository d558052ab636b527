"""``separatrix info``: what a model file holds."""

from __future__ import annotations

from dataclasses import dataclass

from separatrix.cli import options

_EXAMPLES = """
separatrix info income.separatrix
separatrix info income.separatrix --json | jq .certificate.relative_gap
"""


@dataclass(frozen=True, kw_only=True)
class InfoOptions(options.Options):
    """The options of ``separatrix info``."""

    model: str = options.argument()


@options.command("info", InfoOptions, summary="Print what a model file holds.", examples=_EXAMPLES)
def info(given: InfoOptions) -> InfoOptions:
    """Print what the model file MODEL holds: formula, classes, certificate, weights, origin.

    For least squares it also prints the rank and the condition number, for a polynomial the
    coefficients of its plain powers, for lda and qda the priors, and for sgd the learning rates.
    """
    return given
