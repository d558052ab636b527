"""The library's messages in the words of the command line: options, commands and column names."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from separatrix.certificate import Certificate
from separatrix.messages import Column, Row, Setting, Wording, quoted
from separatrix.models.registry import stated

# Parameters whose option has another name than ``--`` and their own.
_OPTIONS = {
    "C": "-C",
    "kinds": "--kind",
    "learning_rate": "--schedule",
    "n_components": "--components",
}


class Terminal(Wording):
    """The words of the command line.

    Parameters
    ----------
    names : sequence of str
        The names of the columns of the matrix, where messages may be about its columns.
    """

    templates: ClassVar[Mapping[str, str]] = {
        # Tables are standardised where it helps, and no option does more.
        "advice.max_iter": "raise --max-iter",
        "advice.scale": "standardise the columns, or leave --gamma at scale: the values of column "
        "{column} are many times as large as those of the others, and products of theirs drown the "
        "rest",
        "advice.memory_limit": "raise --memory, or accept this gap",
        "advice.not_separated": "separable classes may need more passes (raise --max-iter; "
        "separatrix separable decides whether they are); --model svm and --model logistic allow "
        "for overlap",
        "advice.indefinite": "these weights are stationary to {tol=:g}; --kernel rbf, or poly "
        "with --coef0 >= 0, has a bound",
        "advice.averaged": "--no-average returns the last weights",
        "advice.small_step": "lower --step-tol, or choose a --schedule whose rates fall more "
        "slowly",
        "advice.stalled": "lower --tol, or leave the options of the steps (--schedule, --eta0, "
        "--average, ...) out for a certified optimum",
        "advice.early_stopped": "without --early-stopping the fit continues to --tol",
        "mixture_of_l1": "{penalty} and {l1_ratio} contradict each other; for a mixture of L1 and "
        "L2 give --penalty elasticnet",
        "no_passes": "{model} cannot be fitted in passes, in which a table "
        "larger than --memory is read: {why}.",
        "no_penalty_in_passes": "without a penalty there is no bound in passes: give a large "
        "-C, or a small --lam",
        "multinomial_in_passes": "without a penalty there is no bound in passes for several "
        "classes at once: give a large -C, a small --lam, or --multiclass ovr",
        "kernel_in_passes": "a kernel matrix has a row and a column for every row; fit --model "
        "svm, or give a larger --memory",
        "hinge_needs_l2": "--loss hinge goes with the L2 penalty only; for weights that are "
        "exactly zero leave --loss at squared_hinge, or give --penalty l2",
        "hard_margin_needs_l2": "The hard margin, -C inf or --lam 0, is defined for the L2 norm; "
        "with an L1 penalty give a finite -C.",
        "approximation_needs_finite_C": "--approximation needs a finite -C; the hard margin, -C "
        "inf, has none.",
        "fourier_needs_rbf": "--approximation fourier is for --kernel rbf; use nystroem for other "
        "kernels.",
        "no_surface": "-C inf needs a surface of the kernel {kernel} that separates {sides}, and "
        "float64 cannot distinguish the best one from a surface that touches both{proof}; a "
        "finite -C allows for overlap",
        "early_stopping_rows": "--early-stopping needs two different rows of some class, one to "
        "fit and one to hold out; give more rows, or leave out --early-stopping.",
        "calibration_rows": "{calibrate} needs two rows of every class, one to fit and one to "
        "calibrate on, and class {label} has 1; add rows of it, leave it out, or leave out "
        "--calibrate.",
        "rows_of_a_fold": "one of the folds holds out all rows of class {label}, so that none is "
        "left to fit; give fewer folds, or more rows of that class.",
        "too_wide_for_covariances": "Covariances of {columns:,} columns take {matrices} of "
        "{columns:,} x {columns:,} numbers ({size:,.0f} GB), which do not fit in memory; leave "
        "columns out with --ignore, or fit --model logistic.",
        "missing_target": "column {column} lacks {count:,} of {rows:,} {what}, the first in row "
        "{row}; fill them in, or leave those rows out with --drop-missing-target",
        "memory_only": "{what} can only be read into memory; leave out --cache, --resume and "
        "--engine and give a larger --memory, or save it as a Parquet or CSV file",
        "blocks_to_fit": "{model} cannot be fitted in passes, in which a table larger than "
        "--memory is read: it needs all rows at once; give a larger --memory",
        "one_group": "--group: all rows belong to one group, so no group can be held out; name a "
        "column with several groups",
        "few_groups": "--cv {folds} needs as many groups of --group, and there {are}",
        "no_order_of_dates": "--date-format: {order} is not a date order; give {known}, or a "
        "format such as %d/%m/%Y",
        "query": "--sql: the query cannot be answered: {fault}",
        "summary_of_weighted": "--class-weight changes how often rows count, so that standard "
        "errors would be wrong; fit without --class-weight for a summary.",
        "without_weights": "fit without --class-weight where probabilities must be frequencies, "
        "and choose a threshold with --optimise balanced instead; of a model without probabilities "
        "--calibrate sigmoid makes them then",
        "calibrate": "fit with --calibrate sigmoid or isotonic where probabilities are needed",
        "one_of_many_planes": "the perceptron stops at one of many such planes, and --model svm "
        "-C inf finds the one with the largest margin",
        "plane_without_kernel": "a plane does that without a kernel, so --model svm may do",
    }
    phrases: ClassVar[Mapping[str, str]] = {
        "least_squares": "fit --model lstsq",
        "less_memory": "use fewer --threads, fewer rows or columns, or for kernel machines a "
        "smaller --cache-mb",
        "positive_alpha": "--lam above 0",
        # To standardise would not help a summary.
        "remove_offset": "subtract it first",
        "separability": "separatrix separable",
        "set_lam": "give --lam",
        "set_no_interactions": "leave out --interactions",
        "similar_scales": "bring the columns to a similar scale",
        "summary": "separatrix summary MODEL DATA",
    }

    def __init__(self, names: Sequence[str] = ()) -> None:
        self.names = names

    def parameter(self, name: str) -> str:
        return _OPTIONS.get(name, f"--{name.replace('_', '-')}")

    def setting(self, setting: Setting) -> str:
        parameter, value = setting.parameter, setting.value
        option = self.parameter(parameter)
        if parameter == "kinds":
            return f"{option} {_in_quotes('='.join(value))}"
        if parameter in ("missing", "log", "sheet"):
            return f"{option} {_in_quotes(value)}"
        if parameter in ("group", "time", "ignore"):
            return f"{option} {shlex.quote(value)}"
        if value is True:
            return option
        if parameter == "penalty" and value is None:
            return f"{option} none"
        if value is None or value is False or (parameter == "lam" and value == 0):
            return f"no {option}"
        return f"{option} {format(value, setting.spec)}"

    def column(self, column: Column) -> str:
        known = column.number < len(self.names)
        return quoted(self.names[column.number]) if known else column.name

    def row(self, row: Row) -> str:
        return f"row {row.number + 1}"


def _in_quotes(text: str) -> str:
    """A text between quotation marks as a shell reads it, whatever it holds."""
    return shlex.quote(text) if "'" in text else f"'{text}'"


TERMINAL = Terminal()


def describe_certificate(model: Any, certificate: Any, *, advice: bool = True) -> str:
    """A certificate in one sentence, with what to do about it unless `advice` is false."""
    sentence = certificate.outcome
    if isinstance(certificate, Certificate) and stated(model, "_counts_mistakes"):
        sentence = certificate.in_mistakes()
    remedy = certificate.remedy if advice else ""
    return f"{sentence}; {TERMINAL(remedy)}" if remedy else sentence
