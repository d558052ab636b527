r"""
Stochastic gradients: many cheap steps
======================================

To go downhill one needs the slope. The slope of a training objective is a mean over all rows, so
one honest step costs a look at all of them; with a million rows that is a lot of looking for one
step.

The *stochastic* gradient looks at a single row, drawn at random, and takes its slope for the whole.
It is wrong every time and right on average. For the objective :math:`\frac{1}{n} \sum_i \ell(y_i (w
\cdot x_i + b)) + \frac{\alpha}{2} \|w\|^2` the step :math:`k` is

.. math:: w \leftarrow (1 - \eta_k \alpha)\, w - \eta_k\, \ell'(z_i)\, y_i x_i .

Everything hangs on the *rate* :math:`\eta_k`. If it stays large, the noise of the single rows never
lets the weights settle. If it shrinks too soon, they never arrive. Robbins and Monro (1951) said
what is needed:

.. math:: \sum_k \eta_k = \infty \qquad\text{and}\qquad \sum_k \eta_k^2 < \infty .

The first says that any distance can be covered, the second that the noise dies out.

Open in the studio: ``separatrix studio --lesson stochastic``
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning

from separatrix import LogisticRegression, SGDClassifier
from separatrix.plots import CertificateDisplay, ScheduleDisplay
from separatrix.schedules import Constant, InverseTime, Power

# %%
# Four schedules
# --------------
#
# A constant rate; one over the number of the step; a power of it, in between; and the rate that
# theory proposes for a penalty of strength :math:`\alpha`, one over :math:`\alpha` times the step,
# with a head start so that the first steps are not enormous.

alpha = 0.01
schedules = {
    "constant": Constant(0.05),
    "1 / k": InverseTime(1.0),
    "power": Power(1.0, tau=10.0, kappa=0.75),
    "theory": Power.strongly_convex(alpha, t0=1000.0),
}
for name, schedule in schedules.items():
    print(f"{name:9} {schedule.formula:28} reaches the optimum: {schedule.converges}")

ScheduleDisplay.from_schedules(list(schedules.values()), n_steps=60 * 569)
plt.show()

# %%
# Sixty passes
# ------------
#
# Logistic regression on 569 tumours with all 30 measurements. The optimum is known beforehand, from
# Newton's method, which looks at all rows in each of its few steps:

X, y = load_breast_cancer(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)

exact = LogisticRegression(lam=alpha).fit(X, y)
best = exact.certificate_.primal
print(exact.certificate_)

# %%
# Each schedule gets 60 passes, that is 34,140 steps, in the same random order, and the objective is
# taken after each pass. With ``tol=None`` no rule ends the passes earlier.


def passes(schedule, average=False):
    """Sixty passes of stochastic gradients, recorded."""
    model = SGDClassifier(
        "log_loss",
        alpha=alpha,
        learning_rate=schedule,
        average=average,
        max_iter=60,
        tol=None,
        random_state=0,
        record=True,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


runs = {name: passes(schedule) for name, schedule in schedules.items()}
print("above the optimum after      1 pass    10 passes    60 passes")
for name, run in runs.items():
    above = (np.array(run.trace_.primal) - best) / best
    print(f"{name:23}  {above[1]:10.2%}   {above[10]:10.2%}   {above[60]:10.3%}")

CertificateDisplay.from_traces(runs, against="iteration", dual=exact.certificate_.dual)
plt.show()

# %%
# (An iteration is a pass.) The constant rate is quickly near, and then goes nowhere: it jumps about
# in a cloud around the optimum that is as wide as its steps. :math:`1/k` meets the condition to the
# letter and is hopeless all the same: after one pass its steps are down to 1/569, and most of the
# way is still to go. *Reaches the optimum* is a promise without a date. The schedule that knows
# :math:`\alpha` beats the others by far.
#
# Four runs that ended alike, after 60 passes. Their certificates tell them apart, without knowing
# the optimum.

print("             stopped   proved gap   true distance")
for name, run in runs.items():
    found = run.certificate_
    print(
        f"{name:9}  {found.status:>9}   {found.gap:10.6f}   {found.primal - best:13.6f}"
    )

# %%
# Read the first line aloud: *the passes ran out before the target was met; the best possible
# objective is at most so much below mine*. The true distance is never larger than what was proved,
# and for the three that came near it is hardly smaller.
#
# The mean of the way
# -------------------
#
# The cloud has a middle. Return the *average* of all weights on the way and the jumps cancel, even
# at a constant rate (Polyak and Juditsky, 1992). The later weights count more here, so that the
# start is forgotten sooner.

averaged = {
    "constant, last weights": runs["constant"],
    "constant, average": passes(schedules["constant"], average="linear"),
    "theory, last weights": runs["theory"],
}
for name, run in averaged.items():
    print(f"{name:23}  {run.trace_.primal[-1] / best - 1:8.3%}")

CertificateDisplay.from_traces(
    averaged, against="iteration", dual=exact.certificate_.dual
)
plt.show()

# %%
# Much smoother, and nearer, but not there: a constant step is a little biased too, and that no
# average takes away.
#
# In practice
# -----------
#
# With an average and nothing else, :class:`separatrix.SGDClassifier` searches for the first rate on
# a sample, follows the last schedule, and stops when the mean objective of its passes no longer
# falls. Left alone altogether it takes no such steps: where all rows are at hand, other methods get
# to a certified optimum sooner.

for average in (True, "linear"):
    model = SGDClassifier("log_loss", alpha=alpha, average=average, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    print(model.learning_rate_formula_)
    print(model.certificate_)

# %%
# And a step may look at several rows, a *mini-batch*, whose mean slope is less noisy. Fewer steps
# are needed then, but more looking in all:

print("rows a step   passes    steps")
for size in (1, 10, 100, 569):
    batch = SGDClassifier(
        "log_loss",
        alpha=alpha,
        batch_size=size,
        average=True,
        tol=1e-5,
        max_iter=10_000,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        batch.fit(X, y)
    print(f"{size:11d}   {batch.n_iter_:6d}   {batch.n_steps_[0]:6,d}")

# %%
# The last line, all rows in every step, is gradient descent without chance. It needs some twenty
# times as many passes as single rows do. That is the whole case for being wrong every time.
#
# .. admonition:: Exercise
#
#    The rates :math:`1/k` of 60 passes add up to :math:`1 + \frac{1}{2} + \dots + \frac{1}{34140}`.
#    How much is that? How many passes does it take to double it?
#
# .. admonition:: Solution
#    :collapsible: closed
#
#    The sum up to :math:`K` is :math:`\log K + 0.577` to good accuracy. To double it,
#    :math:`\log K` has to grow by the whole sum once more.
#
#    >>> rates = InverseTime(1.0)(np.arange(1, 60 * 569 + 1))
#    >>> total = rates.sum()
#    >>> print(round(total, 2))
#    11.02
#    >>> print(f"{np.exp(2 * total - 0.5772) / 569 / 1e6:.1f} million passes")
#    3.6 million passes
#
# .. seealso::
#
#    :class:`separatrix.SGDClassifier`, :mod:`separatrix.schedules`,
#    :class:`separatrix.plots.CertificateDisplay`, :class:`separatrix.plots.ScheduleDisplay`.
#    Next: :ref:`generalisation <sphx_glr_auto_examples_13_generalisation.py>`
