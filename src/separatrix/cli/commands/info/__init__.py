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


@options.command("info", InfoOptions, summary="Say what a model file holds.", examples=_EXAMPLES)
def info(given: InfoOptions) -> InfoOptions:
    """Say what the model file MODEL holds: formula, classes, certificate, weights, origin.

    Of least squares also the rank and the condition number, of a polynomial the coefficients of its
    plain powers, of lda and qda the priors, and of sgd the learning rates and where they led.
    """
    return given
