r"""
Stumps and thresholds: the best cut, found by sorting
=====================================================

The smallest classifier there is looks at one column and compares it with one number. It is called
a *decision stump* (Iba and Langley, 1992), and it is a hyperplane at right angles to an axis. For
lines in general the fewest training mistakes are hard to find. For a threshold they are found by
sorting, exactly, and with a proof that everybody accepts: *all of them were tried*.

.. math::

   h(x) = \begin{cases} \text{one class} & \text{if } x_j \le t \\ \text{the other} &
   \text{otherwise} \end{cases} \qquad \min_{j,\, t}\; \sum_i s_i\, [\,h(x_i) \ne y_i\,]

And every classifier that has a score ends with a threshold, so the same search chooses it,
whatever a mistake costs.

Open in the studio: ``separatrix studio --lesson stumps``
"""

# %%
# One column
# ----------
#
# Fifty *versicolor* and fifty *virginica*, by the width of the petal. A threshold can be moved
# between two neighbouring values without any flower changing sides, so of the infinitely many
# there are only as many to try as there are gaps between *different* values. Sorted from the
# left, each flower changes one count by one: that is a running sum, and no second look at the
# rows is needed.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import train_test_split

from separatrix import DecisionStump, LogisticRegression, min_training_error
from separatrix.plots import DecisionDisplay, roc_display

iris = load_iris(as_frame=True)
rows = iris.target > 0
X, y = iris.data[rows], iris.target_names[iris.target[rows]]
width = X["petal width (cm)"].to_numpy()


def thresholds(values, right):
    """All thresholds, and the mistakes of each: ``right`` are the rows that belong above it."""
    order = np.argsort(values, kind="stable")
    values, right = values[order], right[order]
    # Below the cut every one that belongs above is a mistake, above it every other one.
    mistakes = np.cumsum(right) + np.sum(~right) - np.cumsum(~right)
    gaps = np.flatnonzero(values[:-1] < values[1:])
    return (values[gaps] + values[gaps + 1]) / 2, mistakes[gaps]


cuts, mistakes = thresholds(width, y == "virginica")
for cut, count in zip(cuts, mistakes, strict=True):
    mark = "  <- fewest" if count == mistakes.min() else ""
    print(f"petal width <= {cut:.2f}: {count:2d} mistakes{mark}")

# %%
# (With the classes exchanged, each count is 100 minus what it was; the library tries that as well.)
# Two thresholds are equally good. The library takes the lower one, so that the same data always
# give the same stump, and says what it found:

stump = DecisionStump().fit(X[["petal width (cm)"]], y)
print(stump.rule_)
print(stump.certificate_)

_, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
ax.stairs(mistakes, np.unique(width), baseline=None, lw=2, color="C0")
ax.plot(cuts, mistakes, "o", color="C0", ms=4)
spread = np.random.default_rng(0).uniform(-1, 1, size=len(width))
for name, height, colour in (("versicolor", -6, "C1"), ("virginica", -10, "C2")):
    own = y == name
    ax.plot(width[own], height + spread[own], ".", color=colour, label=name)
ax.axvline(stump.threshold_, ls="--", lw=1, color="C3", label="stump")
ax.set(xlabel="petal width (cm), and threshold", ylabel="mistakes", ylim=(-13, 60))
ax.legend(loc="upper left", ncols=3)
plt.show()

# %%
# Read the certificate aloud: *six mistakes, and no threshold makes fewer*. The gap is not small
# but zero; these are whole numbers, and nothing was left untried. The lower bound needs no
# derivation, as it does :ref:`for a soft margin <sphx_glr_auto_examples_14_dual.py>`: it is the
# minimum itself.
#
# Equal values
# ------------
#
# A common slip is to try a cut between any two neighbouring *rows*. Equal values have no
# threshold between them, and in what order they lie is chance. With a lucky order the count is
# too good to be true:

lucky = np.lexsort((y == "virginica", width))
between_rows = (
    np.cumsum((y == "virginica")[lucky])
    + np.sum(y == "versicolor")
    - np.cumsum((y == "versicolor")[lucky])
)
print("between rows, in a lucky order:", between_rows.min(), "mistakes")
print("between values:                ", mistakes.min(), "mistakes")

# %%
# Several columns
# ---------------
#
# With more columns the search is repeated for each, and the best of all is taken; of equally good
# ones the first.

print("column               mistakes   rule")
risks = {}
for column in X:
    one = DecisionStump().fit(X[[column]], y)
    risks[column] = one.risk_
    print(f"{column:20s} {one.risk_:8.0f}   {one.rule_}")
best = DecisionStump().fit(X, y)
print("of all four:         ", best.rule_)

# %%
# A stump is a hyperplane that may not be tilted. What the tilt is worth is known too, because the
# fewest mistakes of *any* hyperplane can be :ref:`computed
# <sphx_glr_auto_examples_13_generalisation.py>`:

floor = min_training_error(X, y)
print("any hyperplane:", floor)
petals = ["petal length (cm)", "petal width (cm)"]
DecisionDisplay.from_estimator(DecisionStump().fit(X[petals], y), X[petals], y)
plt.show()

# %%
# The threshold of a score
# ------------------------
#
# Any classifier with a score makes a new column of it, and its threshold can be chosen by the
# same search. Tumours by two measurements, half of them in reserve. A malignant tumour that is
# missed shall cost as much as five, or twenty, false alarms: that is a weight on its row.

cancer = load_breast_cancer(as_frame=True)
A, B, a, b = train_test_split(
    cancer.data[["worst concave points", "worst texture"]],
    cancer.target_names[cancer.target],
    test_size=0.5,
    stratify=cancer.target,
    random_state=0,
)
model = LogisticRegression(C=1000).fit(A, a)
print(model.certificate_)
score, new_score = model.decision_function(A), model.decision_function(B)


def price(values, labels, threshold, cost):
    """The cost of the mistakes, and the number of each kind."""
    called = values > threshold
    missed = int(np.sum((labels == "malignant") & ~called))
    alarms = int(np.sum((labels == "benign") & called))
    return cost * missed + alarms, missed, alarms


print("                            training: cost (missed, alarms)    reserve")
chosen = {}
for cost in (1, 5, 20):
    dear = np.where(a == "malignant", float(cost), 1.0)
    found = DecisionStump().fit(score[:, None], a, sample_weight=dear)
    for name, threshold in (
        ("at 0", 0.0),
        ("by probability", -np.log(cost)),
        ("by sorting", found.threshold_),
    ):
        seen = price(score, a, threshold, cost)
        new = price(new_score, b, threshold, cost)
        chosen[cost, name] = seen, new
        print(
            f"cost {cost:2d}, {name:14s} {threshold:7.3f} "
            f"{seen[0]:10d} {seen[1:]!s:14s} {new[0]:10d} {new[1:]}"
        )
    print(f"                       certified: no threshold below {found.risk_:g}")

# %%
# *By probability* is the threshold that is right if the probabilities are: call it malignant
# where :math:`p` times the cost exceeds :math:`1 - p`, so above a score of
# :math:`-\log(\text{cost})`. *By sorting* is the cheapest on the training half, and the
# certificate proves it. On the reserve neither must win: the search has adapted to the rows it
# has seen, as every fit does.
#
# All thresholds at once
# ----------------------
#
# The ROC curve has a point for every threshold: the share of malignant tumours that are found,
# against the share of benign ones that are called malignant as well. A cost chooses a point of
# it; the curve itself does not depend on the cost.

curve = roc_display(model, B, b)[0]
for cost in (1, 20):
    _, missed, alarms = chosen[cost, "by sorting"][1]
    found = 1 - missed / np.sum(b == "malignant")
    false = alarms / np.sum(b == "benign")
    curve.ax_.plot(false, found, "o", ms=9, label=f"cost {cost}")
curve.ax_.legend(loc="lower right")
plt.show()

# %%
# .. admonition:: Exercise
#
#    1. How many different thresholds are there on a column with :math:`m` different values?
#    2. What does a stump find if a column is multiplied by ten, or replaced by its logarithm?
#    3. Give one flower a weight of 50.  What does the stump do?
#
# .. admonition:: Solution
#    :collapsible: closed
#
#    1. :math:`m - 1` between the values, and one beyond them all, which is no cut.
#
#       >>> len(np.unique(width)), len(cuts)
#       (16, 15)
#
#    2. The same flowers on either side: only the order counts, and another order is another count.
#
#       >>> other = np.log(10 * width)
#       >>> int(thresholds(other, y == "virginica")[1].min())
#       6
#       >>> shuffled = np.random.default_rng(0).permutation(width)
#       >>> int(thresholds(shuffled, y == "virginica")[1].min())
#       46
#
#    3. It puts that flower on its own side, at the price of sixteen mistakes in place of six.
#
#       >>> odd = np.argmax(np.where(y == "versicolor", width, 0))
#       >>> heavy = np.where(np.arange(100) == odd, 50, 1)
#       >>> moved = DecisionStump().fit(width[:, None], y, sample_weight=heavy)
#       >>> float(width[odd]), moved.rule_, moved.risk_
#       (1.8, 'x0 <= 1.85: versicolor, else virginica', 16.0)
#
# .. seealso::
#
#    :class:`separatrix.DecisionStump`, :func:`separatrix.min_training_error`,
#    :func:`separatrix.plots.roc_display`.  Next:
#    :ref:`slips in common notes <sphx_glr_auto_examples_17_slips.py>`
