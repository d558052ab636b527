"""The models that ``fit`` and ``path`` offer: their options, and the estimators of these.

Imports nothing but click, so that a mistyped option answers at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import click

import separatrix
from separatrix.cli import options
from separatrix.cli.commands.fit.terms import terms_of_options
from separatrix.cli.options import TableOptions, option
from separatrix.models.registry import OFFERS

# The penalties whose weights may be exactly zero.
_SPARSE = ("l1", "elasticnet")

MODELS = tuple(OFFERS)
#: Models whose target is a quantity whatever it looks like.
OF_QUANTITIES = tuple(name for name, offer in OFFERS.items() if offer.quantity)
_LIMITED = tuple(dict.fromkeys(name for offer in OFFERS.values() for name in offer.takes))

# The numbers that the kernels have.
_NUMBERS = {
    "linear": (),
    "rbf": ("gamma",),
    "poly": ("gamma", "degree", "coef0"),
    "sigmoid": ("gamma", "coef0"),
}
KERNELS = ("rbf", "linear", "poly", "sigmoid")

# The names of the schedules in the library, and the exponents that they stand for.
_SCHEDULES = {
    "optimal": ("optimal", None),
    "inverse": ("invscaling", 1.0),
    "power": ("invscaling", None),
    "constant": ("constant", None),
}
SCHEDULES = tuple(_SCHEDULES)

model_option = partial(
    option, "The model to fit. [default: logistic for classes, lstsq for a quantity]"
)
_terms = partial(
    option,
    last=True,
    multiple=True,
    callback=lambda context, param, given: list(given) or None,
)


class _Losses(click.Choice[str]):
    """The losses that are offered, each under any of its names."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in self.choices:
            from separatrix.losses import key_of

            value = key_of(value) if key_of(value) in self.choices else value
        return super().convert(value, param, ctx)


@dataclass(frozen=True, kw_only=True)
class ModelOptions(TableOptions):
    """A table, and the model to fit to it; None is the default of the model."""

    last_group: ClassVar[str] = "The table and its rows"

    target: str | None = options.target("The column to predict. [default: target]")
    model: str | None = model_option(MODELS)
    loss: str | None = option(
        "The loss of each row's margin. [default: log for logistic and sgd, hinge for svm]",
        _Losses(OFFERS["sgd"].losses),
    )
    C: float | None = option(
        "The weight of the losses; inf is the hard margin of svm and kernel-svm. [default: 1]",
        options.POSITIVE,
        flags=("-C", "--C"),
    )
    lam: float | None = option(
        "The weight of the penalty; C = 1 / (lam * rows). [default: from C; lstsq and poly have "
        "no penalty]",
        options.FINITE_POSITIVE,
    )
    penalty: str | None = option(
        "The penalty on the weights of logistic, svm and sgd; l1 and elasticnet (logistic and svm "
        "only) make many weights exactly zero. [default: l2]",
        ("l2", "l1", "elasticnet", "none"),
    )
    l1_ratio: float | None = option(
        "The share of L1 in --penalty elasticnet.", click.FloatRange(0, 1)
    )
    class_weight: str | None = option(
        "Give every class the same total weight; not for lda, qda and poly.", ("balanced",)
    )
    no_intercept: bool = option(
        "Fit without an intercept: a boundary or plane through the origin.",
        bool,
        flags=("--no-intercept", "--through-origin"),
    )
    no_standardise: bool = option(
        "Do not standardise numbers; the effect of a penalty, and the distances that a kernel "
        "sees, then depend on the units of the columns.",
        bool,
    )
    degree: int | None = option(
        "The degree of --model poly (default: 2) or of the kernel poly (default: 3).",
        options.DEGREE,
    )
    multiclass: str | None = option(
        "How logistic fits three or more classes: as one problem, or each against the rest.",
        ("multinomial", "ovr"),
    )
    calibrate: str | None = option(
        "Fit probabilities to the scores of svm, kernel-svm or perceptron, by cross-fitting.",
        ("sigmoid", "isotonic"),
    )
    kernel: str | None = option("The kernel. [default: rbf]", KERNELS)
    gamma: str | float | None = option(
        "The scale of the kernels rbf, poly and sigmoid. [default: scale, 1 / (features * "
        "variance)]",
        options.GAMMA,
        metavar="scale|auto|NUMBER",
    )
    coef0: float | None = option(
        "The constant term of the kernels poly and sigmoid. [default: 0]", options.FINITE
    )
    cache_mb: float | None = option(
        "The cache of the kernel matrix, in megabytes. [default: 1000]", options.FINITE_POSITIVE
    )
    approximation: str | None = option(
        "Approximate the kernel, for many rows: by landmarks (nystroem), or for rbf by random "
        "Fourier features.",
        ("nystroem", "fourier"),
    )
    components: int | None = option(
        "The number of features of the approximation. [default: 1000]", options.COUNT
    )
    shrinkage: str | float | None = option(
        "The shrinkage of the covariances towards uncorrelated columns, from 0 to 1; auto "
        "estimates it (Ledoit and Wolf). Without shrinkage, a category that does not occur in "
        "some class makes the covariance of that class singular, and a floor is added. [default: "
        "auto]",
        options.SHRINKAGE,
        metavar="auto|none|NUMBER",
    )
    covariance: str | None = option(
        "The estimate of the covariances: maximum likelihood, or divided by the degrees of "
        "freedom. [default: mle]",
        ("mle", "unbiased"),
    )
    priors: str | None = option(
        "The prior probabilities of the classes: their shares of the rows, or all equal. "
        "[default: empirical]",
        ("empirical", "equal"),
    )
    order: str | None = option(
        "The order in which rows are visited: as in the table; the same, from the first row again "
        "after every correction; shuffled in every pass; drawn with replacement; or the lowest "
        "margin first. [default: cyclic]",
        OFFERS["perceptron"].orders,
    )
    learning_rate: float | None = option(
        "The factor of every correction. [default: 1]", options.FINITE_POSITIVE
    )
    margin: float | None = option(
        "Correct rows on the right side as well, up to this score. [default: 0]", options.FROM_ZERO
    )
    start: tuple[float, ...] | None = option(
        "The weights to start from, one number for each feature, and the intercept last if it is "
        "not 0; with --no-standardise in the units of the table. [default: zero]",
        options.NUMBERS,
        metavar="W,W,...[,B]",
    )
    interactions: bool = option(
        "Include products of columns. [default: powers of each column alone]", bool
    )
    schedule: str | None = option(
        "The learning rate at steps k = 1, 2, ...: 1 / (lam (t0 + k)), eta0 / k, eta0 / k^kappa, "
        "or eta0. [default: optimal; without a penalty power; for the loss perceptron constant]",
        SCHEDULES,
    )
    eta0: float | None = option(
        "The initial learning rate. [default: the best of a range, on a sample]",
        options.FINITE_POSITIVE,
    )
    kappa: float | None = option("The exponent of --schedule power. [default: 0.75]", options.KAPPA)
    batch_size: int | None = option("The number of rows in each step. [default: 1]", options.COUNT)
    average: bool | None = option(
        "Return the average of the weights over the steps, or the last weights. [default: the "
        "average; for the loss perceptron the last]",
        flags=("--average/--no-average",),
        default=None,
    )
    early_stopping: bool = option("Stop when the score on held-out rows no longer improves.", bool)
    step_tol: float | None = option(
        "Stop when a pass changes the weights by less than this fraction of their norm.",
        options.FINITE_POSITIVE,
    )
    tol: float | None = option(
        "The certified relative gap to reach. [default: 1e-6; sgd: 1e-3]", options.FINITE_POSITIVE
    )
    max_iter: int | None = option(
        "Stop each fit after this many iterations, or passes over the rows.", options.COUNT
    )
    time_limit: float | None = option("Stop after this many seconds.", options.POSITIVE)
    record: bool = option(
        "Keep the steps of the fit: the corrections of a perceptron, or for a report how the "
        "bounds meet. A correction takes 8 bytes for each feature.",
        bool,
    )
    memory: str | None = options.memory_limit()
    cache: str | None = option(
        "The folder of the encoded rows. [default: a temporary folder of the system]",
        metavar="DIR",
    )
    cache_limit: str | None = option(
        "The limit of the size of --cache; rows beyond it are encoded again in every pass (0: all "
        "rows). [default: half of the free space on its disk]",
        options.LIMIT,
        metavar="SIZE",
    )
    test: str | None = option(
        "A table to measure on; all rows of DATA are then fitted.", metavar="FILE"
    )
    group: str | None = option(
        "A column of groups: rows with the same value stay on one side of every split. It is not a "
        "feature.",
        metavar="COL",
    )
    time: str | None = option(
        "A column of dates or numbers by which the latest rows are held out.", metavar="COL"
    )
    weight: str | None = option(
        "A column with the weights of the rows. It is not a feature.", metavar="COL"
    )
    seed: int = option(
        "The seed of the folds and of the fits.", options.SEED, default=0, show_default=True
    )
    test_size: float = 0.0
    min_count: int | None = option(
        "The fewest rows in which a level of a category has a feature of its own; rarer levels "
        "share one. [default: 1]",
        options.COUNT,
        last=True,
    )
    min_df: int | None = option(
        "The fewest rows in which a word of a text becomes a feature. [default: 2; for few rows 1]",
        options.COUNT,
        last=True,
    )
    word_pairs: bool = option("Include pairs of neighbouring words of a text.", bool, last=True)
    log: Sequence[str] | None = _terms(
        "Take the logarithm of a column of amounts; of 1 + x where there are zeros. Can be "
        "repeated.",
        metavar="COL",
    )
    spline: Sequence[str] | None = _terms(
        "Fit a smooth curve to a column of numbers, a natural cubic spline with DF degrees of "
        "freedom; can be repeated. [default: 4]",
        metavar="COL[:DF]",
    )
    polynomial: Sequence[str] | None = _terms(
        "Fit a polynomial of this degree to a column of numbers; can be repeated. [default: 2]",
        metavar="COL[:DEGREE]",
    )
    interact: Sequence[str] | None = _terms(
        "Include the products of columns, so that the effect of one depends on the other; can be "
        "repeated.",
        metavar="COL:COL",
    )
    formula: str | None = option(
        "All terms of the model, such as 'y ~ age + log(amount) + spline(bp, 4) + sex:age'; other "
        "columns are left out.",
        last=True,
        metavar="FORMULA",
    )

    def require_one_split(self) -> None:
        """Refuse groups and times together."""
        if self.time is not None and self.group is not None:
            raise click.UsageError(
                "--time and --group choose the rows to hold out: give one of them"
            )

    def of_encoder(self) -> dict[str, Any]:
        """The parameters of :class:`separatrix.tables.Encoder` that make features of columns."""
        text: dict[str, Any] = {} if self.min_df is None else {"min_df": self.min_df}
        if self.word_pairs:
            text["ngram_range"] = (1, 2)
        return {
            "text": text or None,
            "min_frequency": self.min_count,
            "terms": terms_of_options(self),
        }

    @property
    def penalised(self) -> bool:
        """Whether the weights of the model have a penalty."""
        takes = OFFERS[self.model or MODELS[0]].takes
        if "C" not in takes:
            return "lam" in takes and self.lam is not None
        if self.model == "sgd" and self.loss == "perceptron":
            return False
        return self.penalty != "none" and math.inf != self.C

    @property
    def in_units(self) -> bool:
        """Whether the model sees numbers in the units of their columns.

        A penalty means something only once numbers are standardised, and iterations go faster
        then. A closed form does not care, nor does an unpenalised optimum: their coefficients are
        of use to those who read them in the units of the table, and are determined once every
        category has a level that the others are compared with.
        """
        if self.model in ("lda", "qda"):
            return True
        return self.model in ("lstsq", "poly", "logistic") and not self.penalised

    @property
    def standardises(self) -> bool:
        """Whether the model sees numbers in standard deviations from their means."""
        return not (self.in_units or self.no_standardise)

    @property
    def rates(self) -> str:
        """The schedule of stochastic gradients."""
        if self.schedule is not None:
            return self.schedule
        if self.penalised:
            return "optimal"
        # The perceptron's updates are of one size.
        return "constant" if self.loss == "perceptron" else "power"

    def check_model(self) -> None:
        """Refuse options that the model does not have, and those that contradict each other."""
        fault = next(_faults(self, self.model or MODELS[0]), None)
        if fault is not None:
            raise click.UsageError(fault)


# ------------------------------------------------------------------- what cannot be meant together


def _faults(given: ModelOptions, model: str) -> Iterator[str]:
    """Yield a sentence for every option that does not suit the model."""
    if given.C is not None and given.lam is not None:
        yield "-C and --lam set the same thing: give one of them"
    if model == "kernel-svm":
        yield from _faults_of_kernel(given, given.kernel or KERNELS[0])
    if model == "logistic" and given.calibrate is not None:
        yield "--model logistic gives probabilities without --calibrate: leave it out"
    for name in _LIMITED:
        left_out = getattr(given, name) is getattr(ModelOptions, name)
        if not left_out and name not in OFFERS[model].takes:
            takers = _either(other for other, offer in OFFERS.items() if name in offer.takes)
            named = "" if given.model is None else f", not {model}"
            yield f"{_flag(name)} is for --model {takers}{named}"
    losses = OFFERS[model].losses
    if given.loss is not None and given.loss not in losses:
        yield f"--model {model} has the loss {_either(losses)}, not {given.loss}"
    if model == "svm" and given.multiclass == "multinomial":
        yield "--multiclass multinomial is for --model logistic"
    if model in ("svm", "kernel-svm") and given.penalty == "none":
        yield "--model svm and kernel-svm need a penalty: give --penalty l2"
    sparse = given.penalty in _SPARSE
    if sparse and "l1_ratio" not in OFFERS[model].takes:
        yield f"--penalty {given.penalty} is for --model logistic or svm"
    if (given.penalty == "elasticnet") != (given.l1_ratio is not None):
        yield "--penalty elasticnet and --l1-ratio go together"
    if sparse and math.inf == given.C:
        yield (
            f"--penalty {given.penalty} and -C inf, which means no penalty, contradict each other"
        )
    if sparse and model == "svm" and given.loss == "hinge":
        yield f"--penalty {given.penalty} is for --loss squared_hinge, not for hinge"
    if model == "sgd":
        yield from _faults_of_sgd(given)


def _faults_of_sgd(given: ModelOptions) -> Iterator[str]:
    strength = next(
        (_flag(name) for name in ("C", "lam") if getattr(given, name) is not None), None
    )
    if given.loss == "perceptron" and (strength or given.penalty == "l2"):
        yield (
            "under a penalty the best weights of --loss perceptron are zero: leave out "
            f"{strength or '--penalty l2'}"
        )
    if given.schedule == "optimal" and not given.penalised:
        yield (
            "--schedule optimal is computed from the penalty, and there is none: choose "
            f"{_either(SCHEDULES[1:])}"
        )
    if given.kappa is not None and given.rates != "power":
        yield "--kappa is for --schedule power"


def _faults_of_kernel(given: ModelOptions, kernel: str) -> Iterator[str]:
    """Yield a sentence for every option that does not suit the kernel."""
    if given.multiclass is not None:
        yield "--model kernel-svm takes three or more classes in pairs"
    for name in ("gamma", "degree", "coef0"):
        if getattr(given, name) is not None and name not in _NUMBERS[kernel]:
            yield f"--kernel {kernel} has no --{name}"
    if given.approximation is None:
        if given.components is not None:
            yield "--components is for --approximation"
        return
    if given.cache_mb is not None:
        yield "--approximation does not compute the kernel matrix, so leave out --cache-mb"
    if given.approximation == "fourier" and kernel != "rbf":
        yield f"--approximation fourier is for --kernel rbf, not {kernel}"
    only = "--approximation needs a positive semidefinite kernel, and --kernel "
    if kernel == "sigmoid":
        yield only + "sigmoid is not"
    if kernel == "poly" and (given.coef0 or 0.0) < 0.0:
        yield only + "poly with --coef0 below 0 is not"


def _flag(name: str) -> str:
    """The option that sets a field."""
    return "-C" if name == "C" else f"--{name.replace('_', '-')}"


def _either(words: Iterable[str]) -> str:
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


# ---------------------------------------------------------------------------------- estimators

# The options that estimators do not take as they are.
_APART = (
    "loss", "penalty", "class_weight", "no_intercept", "priors", "shrinkage", "schedule", "kappa",
    "average", "start",
)  # fmt: skip


def build_model(given: ModelOptions) -> Any:
    """The estimator that the options describe; what is not given is left to the estimator.

    Parameters that depend on the table are still open, see `suit_table`.
    """
    model = given.model or MODELS[0]
    offer = OFFERS[model]
    taken = {name: getattr(given, name) for name in offer.takes if name not in _APART}
    arguments = {
        offer.called.get(name, name): one for name, one in taken.items() if one is not None
    }
    if "class_weight" in offer.takes and model != "lstsq":
        arguments["class_weight"] = given.class_weight
        if model != "stump":
            arguments["random_state"] = given.seed
    if "no_intercept" in offer.takes:
        arguments["fit_intercept"] = not given.no_intercept
    if model == "huber":
        # Its strength is that of a sum over the rows: it waits for their number.
        arguments.pop("lam", None)
    if model in ("lda", "qda"):
        estimated = given.shrinkage or offer.defaults["shrinkage"]
        arguments["shrinkage"] = None if estimated == "none" else estimated
    if model == "logistic" and given.penalty is not None:
        arguments["penalty"] = None if given.penalty == "none" else given.penalty
    if model == "svm":
        # Several classes are always one against the rest.
        arguments.pop("multiclass", None)
        arguments["penalty"] = given.penalty or "l2"
        sparse = given.penalty in _SPARSE
        arguments["loss"] = given.loss or ("squared_hinge" if sparse else offer.defaults["loss"])
    if model == "sgd":
        arguments = _stochastic(given, arguments)
    return getattr(separatrix, offer.estimator)(**arguments)


def _stochastic(given: ModelOptions, arguments: dict[str, Any]) -> dict[str, Any]:
    """The parameters of stochastic gradients, which have other names."""
    arguments = {name: value for name, value in arguments.items() if name not in ("C", "lam")}
    # The perceptron's updates are of one size, and the last of them makes no mistake.
    plain = given.loss == "perceptron"
    arguments["loss"] = "log_loss" if given.loss in (None, "log") else given.loss
    if given.average is False or (plain and given.average is None):
        arguments["average"] = False
    if plain:
        arguments.setdefault("eta0", 1.0)
    if not given.penalised:
        arguments["penalty"] = None
    elif given.lam is not None:
        arguments["alpha"] = given.lam
    arguments["learning_rate"], exponent = _SCHEDULES[given.rates]
    if exponent is not None or given.kappa is not None:
        arguments["power_t"] = exponent or given.kappa
    return arguments


def suit_table(model: Any, given: ModelOptions, *, n_classes: int | None, n_rows: int) -> Any:
    """The estimator, with the parameters that depend on the table.

    Parameters
    ----------
    model : estimator
        The estimator that `build_model` made; another one is made if the table settled another
        sort.
    given : ModelOptions
        The options, with the model settled.
    n_classes : int or None
        The number of classes of the target; None for a quantity.
    n_rows : int
        The number of rows to fit.
    """
    if type(model).__name__ != OFFERS[given.model or MODELS[0]].estimator:
        model = build_model(given)
    if given.model == "lstsq" and n_classes is not None:
        return separatrix.LeastSquaresClassifier(
            lam=model.lam, fit_intercept=model.fit_intercept, class_weight=given.class_weight
        )
    if given.model == "huber" and given.lam is not None:
        model.set_params(alpha=0.5 * given.lam * n_rows)
    if given.priors == "equal" and n_classes is not None:
        model.set_params(priors=[1.0 / n_classes] * n_classes)
    if given.model == "sgd" and given.penalised and given.lam is None:
        # The same objective as that of the other models.
        model.set_params(alpha=1.0 / ((given.C or 1.0) * n_rows))
    return model
