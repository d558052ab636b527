"""Results of several models on the same folds: scores, differences, and which may be chance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from separatrix.messages import counted, join
from separatrix.messages.markup import paragraphs_html, table_html, table_text


@dataclass(frozen=True, eq=False)
class Contender:
    """The results of one model.

    Attributes
    ----------
    name : str
    estimator : estimator
        The model, not fitted.
    scores : ndarray of shape (n_folds,)
        The scores on the rows of each fold that it was not fitted to; NaN where it has none.
    seconds : float
        The seconds of the fits to the folds, added up.
    gap : float or None
        The largest certified relative gap of the fits, for a closed form the largest relative
        residual; None for a model without a certificate.
    certified : bool
        Whether every fit reached its tolerance.
    status : str
        The status at the end of the fit that came least far.
    why : str
        The reason why there are no scores, in a sentence; empty where there are some.
    stopped : str
        The reason why the fits ended before the last fold, in a sentence; empty where they did
        not. The scores of the folds before are kept.
    """

    name: str
    estimator: Any
    scores: np.ndarray
    seconds: float
    gap: float | None
    certified: bool
    status: str
    why: str = ""
    stopped: str = ""

    @property
    def score(self) -> float:
        """The mean over the folds that were scored; NaN where none was."""
        scored = self.scores[np.isfinite(self.scores)]
        return float(np.mean(scored)) if len(scored) else math.nan

    @property
    def n_scored(self) -> int:
        """The number of folds that have a score."""
        return int(np.isfinite(self.scores).sum())


@dataclass(frozen=True, eq=False)
class Comparison:
    r"""Models on the same folds, the best first.

    Attributes
    ----------
    contenders : tuple of Contender
        The models by falling score; those that were stopped before the last fold come after the
        others, and those without a score at the end.
    scoring : str
        The name of the scores.
    n_folds : int
    n_samples : int
    shares : float
        Rows scored for each row fitted, in a fold.
    interrupted : bool
        Whether Ctrl-C ended it before the last model.
    budget : float or None
        The seconds that all models together were given; None without a limit.
    yardstick : Contender or None
        A model that is neither linear nor certified, on the same folds; it takes no part in the
        order and in the verdict.

    Notes
    -----
    The difference of two models has one value a fold, :math:`d_1, \dots, d_k`. The folds share
    most of the rows that they fit, so :math:`s^2 / k` understates how much their mean would vary;
    the interval is that of Nadeau and Bengio (2003), Inference for the generalization error:
    :math:`\bar d \pm t_{k-1} \sqrt{(1/k + n_{score} / n_{fit})\, s^2}`, at 95 %. It does not
    account for the choice of the best model by the same scores.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import compare
    >>> compare(*load_iris(return_X_y=True), ["lda", "stump"])
    <Comparison of 2 models: lda 0.9667>
    """

    contenders: tuple[Contender, ...]
    scoring: str
    n_folds: int
    n_samples: int
    shares: float
    interrupted: bool = False
    budget: float | None = None
    yardstick: Contender | None = None

    @property
    def best(self) -> Contender:
        """The model with the highest score."""
        return self.contenders[0]

    def behind(self, contender: Contender) -> tuple[float, float, float] | None:
        """The difference of a contender from the best: the mean over the folds and its interval.

        Returns
        -------
        mean, low, high : float
            The mean over the folds that both were scored on, and its interval; None where there are
            no such folds.
        """
        apart = self.best.scores - contender.scores
        apart = apart[np.isfinite(apart)]
        if self.best.why or contender.why or not len(apart):
            return None
        mean, k = float(np.mean(apart)), len(apart)
        if k < 2:
            return mean, -math.inf, math.inf
        error = math.sqrt((1.0 / k + self.shares) * float(np.var(apart, ddof=1)))
        half = float(stdtrit(k - 1, 0.975)) * error
        return mean, mean - half, mean + half

    def noise(self, contender: Contender) -> bool:
        """Whether chance alone may have put a contender behind the best."""
        found = self.behind(contender)
        if found is None or contender is self.best:
            return False
        return found[1] <= 0.0 <= found[2]

    def table(self) -> list[dict[str, Any]]:
        """The records of the contenders, of plain values."""
        return [self._record(one) for one in self.contenders]

    def yardstick_record(self) -> dict[str, Any] | None:
        """The record of the yardstick; None where there is none."""
        if self.yardstick is None:
            return None
        about = {"estimator": type(self.yardstick.estimator).__name__, "linear": False}
        return {**self._record(self.yardstick), "certified": False, **about}

    def _record(self, one: Contender) -> dict[str, Any]:
        found = self.behind(one)
        return {
            "model": one.name,
            "score": None if one.why else one.score,
            "scores": None if one.why else _or_none(one.scores),
            "folds_scored": one.n_scored,
            "behind": None if found is None else found[0],
            "behind_interval": None if found is None or math.isinf(found[1]) else list(found[1:]),
            "noise": self.noise(one),
            "seconds": one.seconds,
            "gap": one.gap,
            "certified": one.certified,
            "status": one.status,
            "why": one.why or None,
            "stopped": one.stopped or None,
        }

    def lines(self) -> list[list[str]]:
        """The table in words, with its heads; the yardstick is the last row."""
        rows = [["model", self.scoring, "behind the best", "s", "gap"]]
        rows += [[one.name, *self._figures(one), _gap(one)] for one in self.contenders]
        if self.yardstick is not None:
            rows.append([self.yardstick.name, *self._figures(self.yardstick), "not linear"])
        return rows

    def _figures(self, one: Contender) -> list[str]:
        score = "-" if one.why else f"{one.score:.{self.digits}f}"
        if not one.why and one.n_scored < self.n_folds:
            score += f" ({one.n_scored} of {self.n_folds})"
        return [score, self._apart(one), _seconds(one.seconds)]

    @property
    def digits(self) -> int:
        """The decimals of scores that this number of rows can distinguish."""
        return 3 if self.n_samples < 10_000 else 4

    def _apart(self, one: Contender) -> str:
        found = self.behind(one)
        if one is self.best and found is not None:
            return "best"
        if found is None:
            return "-"
        return f"{'~ ' if self.noise(one) else ''}{self._with_interval(found)}"

    def _with_interval(self, found: tuple[float, float, float]) -> str:
        """A difference in words; a single fold has no interval."""
        mean, low, high = (f"{end:.{self.digits}f}" for end in found)
        return f"{mean} [{low}, {high}]" if math.isfinite(found[1]) else mean

    def _ahead(self, one: Contender) -> bool:
        """Whether a model is ahead of the best by more than chance explains on its folds."""
        found = self.behind(one)
        return found is not None and found[2] < 0.0

    @property
    def verdict(self) -> str:
        """The conclusion about the differences, in a sentence."""
        if self.best.why:
            return "no model could be scored"
        scored = [one for one in self.contenders if not one.why]
        close = [one.name for one in scored if self.noise(one)]
        if len(scored) == 1:
            return f"{self.best.name} is the only one with a score"
        behind = [one.name for one in self.contenders if one.stopped]
        rest = f"; {join(behind)} {'was' if len(behind) == 1 else 'were'} not fitted to all folds"
        rest = rest if behind else ""
        ahead = [one.name for one in scored if one.stopped and self._ahead(one)]
        if ahead:
            verb = "is" if len(ahead) == 1 else "are"
            rest += f", and {join(ahead)} {verb} ahead on the folds that were scored"
        if not close:
            among = " of those that were fitted to all folds" if ahead else ""
            return (
                f"{self.best.name} is best{among}, by more than chance explains on these folds"
                f"{rest}"
            )
        return (
            f"{self.best.name} may be ahead of {join(close)} by chance alone: the 95 % interval of "
            f"the difference reaches 0{rest}"
        )

    def __str__(self) -> str:
        beside = [] if self.yardstick is None else [self.beside_the_yardstick]
        return "\n".join([*table_text(self.lines()), self.verdict, *beside, *self.remarks()])

    @property
    def beside_the_yardstick(self) -> str:
        """The yardstick, and how far the best model is from it, in words; empty without one."""
        one = self.yardstick
        if one is None:
            return ""
        text = (
            f"{one.name} is scikit-learn's {type(one.estimator).__name__} at its defaults, which "
            "is neither linear nor certified"
        )
        found = self.behind(one)
        if found is None:
            return text
        ahead = found[0] < 0.0
        by = self._with_interval((-found[0], -found[2], -found[1]) if ahead else found)
        chance = "which may be chance alone" if self.noise(one) else "more than chance explains"
        where = "ahead of" if ahead else "behind"
        return f"{text}; it is {where} {self.best.name} by {by}, {chance} on these folds"

    def remarks(self) -> list[str]:
        """Remarks on models that lack scores, with the reason, and on fits that are marked."""
        unfinished = "a fit stopped above its tolerance, which the list marks with !"
        measured = [one for one in (*self.contenders, self.yardstick) if one is not None]
        return [
            f"{one.name}: {why}"
            for one in measured
            for why in (one.why or one.stopped, "" if one.certified or one.why else unfinished)
            if why
        ]

    def __repr__(self) -> str:
        if self.best.why:
            return f"<Comparison of {counted(len(self.contenders), 'model')}>"
        return (
            f"<Comparison of {counted(len(self.contenders), 'model')}: {self.best.name} "
            f"{self.best.score:.4f}>"
        )

    def _repr_html_(self) -> str:
        sentences = paragraphs_html((self.verdict, *self.remarks()))
        return table_html(self.lines()) + sentences


def _or_none(scores: np.ndarray) -> list[float | None]:
    """Scores fold by fold, None where there is none."""
    return [score if math.isfinite(score) else None for score in scores.tolist()]


def _seconds(value: float) -> str:
    return f"{value:.2f}" if value < 10.0 else f"{value:,.0f}"


def _gap(one: Contender) -> str:
    # Where the bound is zero, nothing is known: a perceptron's, with mistakes left.
    if one.gap is None or one.gap >= 1.0:
        return "-" if one.certified else "- !"
    return f"{one.gap:.0e}" + ("" if one.certified else " !")
