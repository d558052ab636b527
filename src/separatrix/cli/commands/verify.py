"""``separatrix verify``: the certificate of a model file, recomputed from the data."""

from __future__ import annotations

import math
from importlib.util import find_spec
from typing import Any

import click

from separatrix.cli import options
from separatrix.cli.output import Output

_EXAMPLES = """
separatrix verify income.separatrix table.csv
separatrix verify income.separatrix table.csv --tol 1e-8 --json
separatrix verify income.separatrix table.csv --rigorous
"""

# Two evaluations of one objective, on the same numbers, agree to far better than this; and what
# either is charged for its rounding is at most this share of its tolerance.
_SAME_OBJECTIVE = 1e-9
_CHARGED = 2e-3
_SAME_ROUNDING = 1e3


@options.command(
    "verify",
    summary="Recompute a model's certificate from its data.",
    examples=_EXAMPLES,
)
@click.argument("model")
@click.argument("data")
@click.option(
    "--tol",
    type=options.FINITE_POSITIVE,
    help="The relative gap, or residual of a closed form, to prove. [default: the fit's]",
)
@click.option("--time-limit", type=options.POSITIVE, help="Stop after this many seconds.")
@click.option(
    "--rigorous",
    is_flag=True,
    help="Prove it without rounding, in integers and balls; needs separatrix[exact].",
)
@options.common
def verify(
    model: str,
    data: str,
    tol: float | None,
    time_limit: float | None,
    rigorous: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Recompute the certificate of the model file MODEL from the table DATA it was fitted to.

    Nothing of the stored certificate is trusted: the rows of the fit are found again from the
    stored seed, encoded as the file says, and the objective and its lower bound are computed from
    scratch, or of a closed form what is left of its equations. The exit code is 0 when the model
    is proved to be within the tolerance, 4 when it is not, and 1 when the data are others than
    those of the fit or the objective is another than the one stored.

    With --rigorous nothing is rounded on the way to the proof, and the interval is told in which
    the exact optimum lies. It takes seconds to minutes.

    A file of which any weight was changed after it was saved is refused, with exit code 3, by the
    digest that stands beside its certificate. Whoever changes weights can renew the digest, too;
    then what is told here is true of the weights as they are, from the data alone, and a change
    too small to change the objective is not noticed.
    """
    if rigorous and find_spec("flint") is None:
        raise click.ClickException('--rigorous needs python-flint: pip install "separatrix[exact]"')
    out = Output("verify", as_json=as_json, quiet=quiet)

    from separatrix.cli.commands.verify_work import verify_file

    with out.telling_warnings():
        return verify_file(out, model, data, tol=tol, time_limit=time_limit, rigorous=rigorous)


def contradiction(stored: Any, recomputed: Any) -> str | None:
    """What a recomputed certificate says against the stored one; None when they agree.

    Both lower bounds are proofs, and a longer search finds a better one, so bounds may differ;
    but the objective at the stored weights is one number, and no lower bound can exceed it.
    What is left of linear equations is rounding, which may differ, but not by orders of magnitude.
    """
    if not hasattr(stored, "primal"):
        left, claimed = recomputed.relative_residual, stored.relative_residual
        if not left <= max(_SAME_ROUNDING * claimed, stored.tol) or stored.rank != recomputed.rank:
            return (
                f"the equations hold to {left:.2g} with {recomputed.rank:,} independent columns, "
                f"and the file says to {claimed:.2g} with {stored.rank:,}"
            )
        return None
    if recomputed.status == "time_limit" and math.isinf(recomputed.primal):
        # Nothing was recomputed.
        return None
    scale = max(abs(stored.primal), abs(recomputed.primal))
    share = _SAME_OBJECTIVE + _CHARGED * max(stored.tol, recomputed.tol)
    off = abs(stored.primal - recomputed.primal)
    # Not "greater": NaN agrees with nothing, and infinity with itself alone.
    same = math.isfinite(scale) and off <= share * scale
    if stored.primal != recomputed.primal and not same:
        return f"the objective is {recomputed.primal:.10g}, and the file says {stored.primal:.10g}"
    if stored.dual > recomputed.primal + share * scale:
        return (
            f"the file claims the lower bound {stored.dual:.10g}, above the objective "
            f"{recomputed.primal:.10g}"
        )
    return None
