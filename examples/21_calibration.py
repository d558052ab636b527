r"""
Calibration: when a probability is one
======================================

*Rain with 80 per cent.* You cannot say of one day whether that was right. Of a hundred such days
you can: it should have rained on about eighty. Probabilities of which that is true are
*calibrated*,

.. math:: P\bigl(y = 1 \mid p(x) = q\bigr) = q \quad\text{for every } q .

A classifier may be right very often and not be calibrated, or be calibrated and know nothing. This
page measures calibration by scores that cannot be cheated, gives probabilities to a machine that
has none, and shows what they are good for: for thresholds where mistakes have a price, and where
the classes are not as frequent as in training.

Open in the studio: ``separatrix studio --lesson calibration``
"""

import matplotlib.pyplot as plt
import numpy as np

from separatrix import LinearSVC, LogisticRegression
from separatrix.plots import calibration_display

# %%
# Scores that cannot be cheated
# -----------------------------
#
# Suppose it rains with probability 0.3, and you are paid by a score. Which number do you announce?

announced = np.linspace(0.01, 0.99, 99)
scores = {
    "log loss": (-np.log(announced), -np.log(1 - announced)),
    "Brier score": ((1 - announced) ** 2, announced**2),
    "absolute error": (1 - announced, announced),
}
best = {}
for name, (rain, dry) in scores.items():
    expected = 0.3 * rain + 0.7 * dry
    best[name] = announced[expected.argmin()]
    print(
        f"{name:15s} the lowest expected value is {expected.min():.3f}, at {best[name]:.2f}"
    )

# %%
# The log loss and the Brier score (Brier, 1950) are *proper*: what you believe is the best that you
# can say. The absolute error is not. It rewards those who exaggerate.
#
# A score of a margin is no probability
# -------------------------------------
#
# Two overlapping clouds in two columns and, as in life, thirty columns more that say nothing. 200
# rows to learn from, and 20,000 new ones to judge by.


def draw(n, share, seed):
    """Rows, and their classes: the given share is of class 1."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < share).astype(int)
    X = rng.normal(size=(n, 32))
    X[:, :2] += np.where(y == 1, 0.8, -0.8)[:, None]
    return X, y


X, y = draw(200, 0.5, seed=0)
X_new, y_new = draw(20_000, 0.5, seed=1)


def squashed(z):
    return 1 / (1 + np.exp(-z))


def judged(p, y):
    """Log loss and Brier score."""
    p = np.clip(p, 1e-12, 1 - 1e-12)
    return -np.mean(np.log(np.where(y == 1, p, 1 - p))), np.mean((p - y) ** 2)


machine = LinearSVC(loss="hinge", C=10).fit(X, y)
models = {
    "free logistic": LogisticRegression(C=1e4).fit(X, y),
    "shrunk logistic": LogisticRegression(C=0.02).fit(X, y),
    "Platt": LinearSVC(loss="hinge", C=10, calibrate="sigmoid").fit(X, y),
    "isotonic": LinearSVC(loss="hinge", C=10, calibrate="isotonic").fit(X, y),
}
print(machine.certificate_)
chances = {
    "truth": squashed(3.2 * X_new[:, :2].mean(axis=1)),
    "base rate": np.full(len(y_new), y.mean()),
    "score, squashed": squashed(machine.decision_function(X_new)),
} | {name: model.predict_proba(X_new)[:, 1] for name, model in models.items()}

print("                  log loss    Brier   right")
losses = {}
for name, p in chances.items():
    losses[name] = judged(p, y_new)
    right = np.mean((p > 0.5) == y_new)
    print(f"{name:16s} {losses[name][0]:9.4f} {losses[name][1]:8.4f} {right:7.1%}")

# %%
# The clouds are Gaussians, so the truth is known: the log odds are :math:`3.2` times the mean of
# the two columns. The *base rate*, the share in training for all, is nearly calibrated and useless:
# proper scores reward both, calibration and knowledge. The logistic regression with hardly a
# penalty is right on four rows of five, and so sure of the fifth that its log loss is no better
# than that. The score of the machine, put through the logistic function, is no probability either.
# *Platt* (1999) fits a slope and an offset to the scores, *isotonic* (Zadrozny and Elkan, 2002) any
# increasing function. What they predict is what the machine predicts; only the numbers beside it
# have changed.
#
# The reliability curve
# ---------------------

figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.4), layout="constrained")
for ax, pair in zip(
    axes, (("free logistic", "shrunk logistic"), ("Platt", "isotonic")), strict=True
):
    for k, name in enumerate(pair):
        curve = calibration_display(models[name], X_new, y_new, ax=ax)[0]
        curve.line_.set(label=name, color=f"C{k}", ls=("-", "--")[k])
    ax.legend(loc="upper left")
plt.show()

# %%
# On the diagonal, what was announced came about. The logistic regression with hardly a penalty is
# too sure: where it announces the most, less comes about. With a strong penalty it is not sure
# enough: its curve is steeper than the diagonal. The solver is not to blame: *the certificate says
# that the objective was minimised on the 200 rows*, and knows nothing of the new ones.
#
# The functions must be fitted to scores of rows that the machine has *not* seen; the library fits
# five more machines, each without a fifth of the rows, for that (``calibrate=``). With the scores
# of its own rows, the machine looks better than it is:

own = LogisticRegression(C=1e4).fit(machine.decision_function(X)[:, None], y)
naive = own.predict_proba(machine.decision_function(X_new)[:, None])[:, 1]
print("                      log loss")
print(f"fitted to its own rows {judged(naive, y_new)[0]:7.4f}")
print(f"cross-fitted           {losses['Platt'][0]:7.4f}")

# %%
# Another base rate
# -----------------
#
# Now one in twenty is of class 1. Nothing about the clouds has changed, but all probabilities are
# wrong, since the prior is a part of them. By Bayes' rule only the offset of the log odds changes,
# by the difference of the log odds of the base rates.

X_rare, y_rare = draw(20_000, 0.05, seed=2)
p = models["Platt"].predict_proba(X_rare)[:, 1]
shift = np.log(0.05 / 0.95) - np.log(y.mean() / (1 - y.mean()))
corrected = squashed(np.log(p / (1 - p)) + shift)
print(f"class 1 came about in {y_rare.mean():.1%}")
for name, q in (("as fitted", p), ("corrected", corrected)):
    print(f"{name}: announced {q.mean():.1%}, log loss {judged(q, y_rare)[0]:.4f}")

# %%
# Thresholds from costs
# ---------------------
#
# A missed one costs 20, a false alarm 1. With probability :math:`p`, silence costs :math:`20 p` on
# average and an alarm :math:`1 - p`: alarm where :math:`p > 1/21`. That needs a probability that is
# one.

print("threshold 1/21                cost per row")
costs = {}
for name in ("truth", "Platt", "free logistic", "score, squashed"):
    alarm = chances[name] > 1 / 21
    costs[name] = np.mean(np.where(alarm, 1 - y_new, 20 * y_new))
    print(f"{name:28s} {costs[name]:13.3f}")
costs["one half"] = np.mean(np.where(chances["Platt"] > 0.5, 1 - y_new, 20 * y_new))
print(f"{'Platt, threshold one half':28s} {costs['one half']:13.3f}")

# %%
# .. admonition:: Exercise
#
#    1. What is the expected log loss of the announcement 0.9 if the truth is 0.3? And of 0.3?
#    2. What does a single announcement of zero cost if it rains after all, by either proper score?
#    3. Does Platt's function change which rows are predicted to be of class 1?
#
# .. admonition:: Solution
#    :collapsible: closed
#
#    1. The difference is the divergence of Kullback and Leibler, and never negative.
#
#       >>> [round(-0.3 * np.log(q) - 0.7 * np.log(1 - q), 3) for q in (0.9, 0.3)]
#       [np.float64(1.643), np.float64(0.611)]
#
#    2. By the Brier score 1, the most there is; by the log loss, infinitely much. The library's
#       isotonic probabilities stay away from zero and one for that reason.
#
#       >>> bool(chances["isotonic"].min() > 0), bool(chances["isotonic"].max() < 1)
#       (True, True)
#
#    3. No: the largest probability is always that of the class that the scores choose.
#
#       >>> bool(np.all(models["Platt"].predict(X_new) == machine.predict(X_new)))
#       True
#       >>> bool(np.all((chances["Platt"] > 0.5) == (machine.decision_function(X_new) > 0)))
#       True
#
# .. seealso::
#
#    :class:`separatrix.LinearSVC`, :class:`separatrix.LogisticRegression`,
#    :func:`separatrix.plots.calibration_display`.
#    Back to the start: :ref:`hyperplanes <sphx_glr_auto_examples_01_hyperplanes.py>`
