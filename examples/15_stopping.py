r"""
When to stop
============

A fit that goes step by step never arrives; somebody has to say when it is near enough. Three
rules are in use. Stop when the steps are short, when the slope is small, or when the gap to a
lower bound is:

.. math::

   \|w_{k+1} - w_k\| \le \varepsilon, \qquad
   \|\nabla J(w_k)\| \le \varepsilon, \qquad
   J(w_k) - D_k \le \varepsilon\, J(w_k), \quad D_k \le \min_w J(w) .

The first two are about the walker, the third is about the goal. This page compares what they cost
and what is left to be gained where they stop. And it turns the question round: there are good
reasons to stop *before* the minimum, and a few held-out points show when.

Open in the studio: ``separatrix studio --lesson stopping``
"""

# %%
# One descent, in two units
# -------------------------
#
# Logistic regression on 569 tumours with 30 standardised measurements, no offset, and plain
# gradient descent: a batch of all rows, a constant rate. ``record=True`` keeps every iterate with
# its objective and its lower bound.
#
# The second run has the same data in another unit, in which all numbers are ten times as large.
# Weights are then a tenth, the strength of the penalty a hundred times as large, the rate a
# hundredth of what they were. So both runs are *the same walk*: after each step they give every
# tumour the same score.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning

from separatrix import LogisticRegression, SGDClassifier
from separatrix.plots import CertificateDisplay

X, y = load_breast_cancer(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
signs = np.where(y == 1, 1.0, -1.0)
alpha, rate = 0.01, 2.0


def descend(X, y, n_steps, **settings):
    """Gradient descent with a record; warnings that the steps ran out are expected here."""
    model = SGDClassifier(
        "log_loss",
        learning_rate="constant",
        batch_size=len(X),
        max_iter=n_steps,
        tol=None,
        record=True,
        **settings,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


runs = {
    unit: descend(
        unit * X,
        y,
        75,
        alpha=alpha * unit**2,
        eta0=rate / unit**2,
        fit_intercept=False,
    )
    for unit in (1, 10)
}
difference = runs[1].decision_function(X) - runs[10].decision_function(10 * X)
print(f"largest difference of two scores: {np.abs(difference).max():.0e}")
print(runs[1].certificate_)

# %%
# The optimum is known from Newton's method, so that what is left at each step can be stated, as a
# share of the objective:

exact = LogisticRegression(lam=alpha, fit_intercept=False, tol=1e-12).fit(X, y)
print(exact.certificate_)
best = exact.certificate_.primal
left = 1 - best / np.array(runs[1].trace_.primal)


def slopes(model, X, alpha):
    """The gradient of the mean objective at every recorded iterate."""
    w = np.array(model.trace_.coef)
    z = signs * (w @ X.T)
    return -(signs / (1 + np.exp(z))) @ X / len(X) + alpha * w


def rules(model, X, alpha):
    """The quantity that each rule bounds, at every recorded iterate."""
    trace = model.trace_
    w, g = np.array(trace.coef), slopes(model, X, alpha)
    objective = alpha * np.array(trace.primal)
    steps = np.linalg.norm(np.diff(w, axis=0), axis=1)
    return {
        "step": np.r_[np.inf, steps],
        "slope": np.linalg.norm(g, axis=1),
        "slope^2 / 2 alpha J": (g**2).sum(axis=1) / (2 * alpha) / objective,
        "gap": trace.gap / np.abs(trace.primal),
    }


seen = {unit: rules(run, unit * X, alpha * unit**2) for unit, run in runs.items()}
stops = {}
print("rule, at 0.01            unit    stops after   left to be gained")
for rule in seen[1]:
    for unit in runs:
        below = seen[unit][rule] <= 0.01
        k = stops[rule, unit] = int(np.argmax(below)) if below.any() else None
        after = f"{k:3d} steps   {left[k]:10.2%}" if below.any() else "not in 75"
        print(f"{rule:22s} {unit:6d}    {after}")

# %%
# One walk, and the first two rules cannot agree with themselves. In larger numbers the steps are
# shorter and the slopes steeper, so the step rule stops earlier and the slope rule later, though
# nothing has changed but the unit. Neither number says what
# is left: where it was 0.01, between 1.6 % and 16 % were to go.
#
# The last two are shares of the objective, and no unit is in them. The third turns the slope into
# a proof: an objective with the penalty :math:`\frac{\alpha}{2} \|w\|^2` curves at least as much
# as the penalty alone, and so
#
# .. math:: J(w) - \min J \;\le\; \frac{\|\nabla J(w)\|^2}{2 \alpha} .
#
# It is a gap too, from one particular dual point. The fourth is the certificate. Where these two
# stop at 0.01, at most 1 % is left; in fact less.

assert all(
    left[k] <= 0.01
    for (rule, _), k in stops.items()
    if rule in ("slope^2 / 2 alpha J", "gap")
)
assert all(
    np.all(seen[1][rule] >= left - 1e-12) for rule in ("slope^2 / 2 alpha J", "gap")
)
CertificateDisplay.from_estimator(runs[1])
plt.show()

# %%
# What do they cost? A step length costs nothing. The slope is known where all rows were read for
# the step, and costs a reading of all rows where they were not, as for :ref:`single rows
# <sphx_glr_auto_examples_12_stochastic.py>`. The gap costs the slope, and one more term a row.
# That is one reading in either case, next to the one that each pass is anyway: and if even that
# is too much, ask every tenth pass.

_, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for (rule, values), colour in zip(
    seen[1].items(), ("C0", "C1", "C2", "C4"), strict=True
):
    ax.plot(values, color=colour, label=rule)
    ax.plot(seen[10][rule], color=colour, ls="--")
ax.plot(left, color="C3", lw=3, alpha=0.5, label="left to be gained")
ax.axhline(0.01, lw=0.8, color="C5")
ax.set(yscale="log", xlabel="step", ylabel="what the rule looks at", ylim=(1e-4, 50))
ax.legend(title="solid: unit 1, dashed: unit 10", ncols=2)
plt.show()

# %%
# The step and the slope have two curves each, one for each unit, and they cross what is left. The
# two gaps have one, and stay above it.
#
# Stopping early, on purpose
# --------------------------
#
# Now without a penalty, and with 40 tumours to learn from. With 30 columns they are separable, so
# the training loss has no minimum: the longer the descent, the longer the weights, and the surer
# the model of what 40 rows cannot tell. Two hundred other tumours are held out, and the rest has
# no say at all.

order = np.random.default_rng(0).permutation(len(X))
train, held_out, rest = order[:40], order[40:240], order[240:]
free = descend(X[train], y[train], 150, penalty=None, eta0=0.5)
weights = np.array(free.trace_.coef)
offsets = np.array(free.trace_.intercept).reshape(-1, 1)


def losses(rows):
    """The mean log loss of some rows at every recorded iterate."""
    return np.logaddexp(0, -signs[rows] * (weights @ X[rows].T + offsets)).mean(axis=1)


curves = {"training": losses(train), "held out": losses(held_out), "rest": losses(rest)}
stop = int(np.argmin(curves["held out"]))
print("steps    |w|    training   held out   the rest")
for k in (1, 3, 10, 30, stop, 100, 150):
    mark = "  <- stop here" if k == stop else ""
    print(
        f"{k:5d}  {np.linalg.norm(weights[k]):5.2f}"
        + "".join(f"  {curve[k]:9.4f}" for curve in curves.values())
        + mark
    )

_, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for name, curve in curves.items():
    ax.plot(np.arange(1, 151), curve[1:], label=name)
ax.axvline(stop, ls="--", lw=1, color="C3", label="least held-out loss")
ax.set(xscale="log", xlabel="step", ylabel="mean log loss")
ax.legend()
plt.show()

# %%
# The training loss falls all the way. The held-out loss falls, turns, and rises. Stopped where it
# is least, the descent is better on the 329 tumours that were neither learnt from nor looked at
# than it is at its end. (With other draws it turns earlier or later, and with some the rest does
# not turn at all.) A short descent from zero cannot have long weights, and that is what a penalty
# on the length does: *early stopping is a regularisation*, with the number of steps in place of
# :math:`1 / \lambda`.

print("lambda     |w|    training   held out   the rest")
for lam in (0.1, 0.01, 0.001, 0.0001):
    model = LogisticRegression(lam=lam).fit(X[train], y[train])
    z = signs * model.decision_function(X)
    line = [np.logaddexp(0, -z[rows]).mean() for rows in (train, held_out, rest)]
    print(
        f"{lam:<7g} {np.linalg.norm(model.coef_):6.2f}"
        + "".join(f"  {value:9.4f}" for value in line)
    )
print(model.certificate_)

# %%
# The two columns of lengths go the same way, and so do the losses. There is a difference, though.
# Each row of this table is an optimum with a certificate: whoever fits it again, in whatever way,
# gets it again. The table before depends on the rate, the start and the method. Stop early to
# save time, or choose :math:`\lambda` on held-out points and then stop by the gap: the second can
# be checked.
#
# .. admonition:: Exercise
#
#    1. By which factor do the step and the slope differ between the two units, and why?
#    2. With the step rule at 0.01, take a thousandth of the rate.  When does it stop?
#    3. The descent without a penalty has a training loss that falls for ever.  What is its gap?
#
# .. admonition:: Solution
#    :collapsible: closed
#
#    1. Weights are a tenth, and so are steps; slopes are per unit of weight, ten times as large.
#
#       >>> [(seen[10][rule][1:] / seen[1][rule][1:]).round(6)[[0, 50]].tolist()
#       ...  for rule in ("step", "slope", "gap")]
#       [[0.1, 0.1], [10.0, 10.0], [1.0, 1.0]]
#
#    2. At once: a short step is a property of the rate, and nearly all is left.
#
#       >>> timid = descend(X, y, 3, alpha=alpha, eta0=rate / 1000, fit_intercept=False)
#       >>> lengths = np.linalg.norm(np.diff(timid.trace_.coef, axis=0), axis=1)
#       >>> (lengths <= 0.01).tolist(), bool(timid.trace_.primal[2] > 6 * best)
#       ([True, True, True], True)
#
#    3. As large as the objective: the only lower bound is zero, and zero is not reached.
#
#       >>> free.certificate_.status, bool(free.certificate_.dual <= 0)
#       ('max_iter', True)
#
# .. seealso::
#
#    :class:`separatrix.SGDClassifier`, :class:`separatrix.plots.CertificateDisplay`.  Next:
#    :ref:`stumps and thresholds <sphx_glr_auto_examples_16_stumps.py>`
