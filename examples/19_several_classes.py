r"""
Several classes: against the rest, by pairs, at once
====================================================

A hyperplane has two sides, and many tables have more classes than two. There are three ways to
make do.

* **One against the rest**: one problem for each class, its points against all others. The largest
  of the :math:`K` scores wins.
* **One against one**: a problem for each pair of classes, :math:`K (K - 1) / 2` of them, each on
  the points of the two. Each is one vote, and most votes win.
* **All at once**: a score :math:`z_k = w_k \cdot x + b_k` for each class, and *one* problem in
  which they compete. For probabilities that is the multinomial logistic regression, with the
  *softmax*

  .. math:: p_k(x) = \frac{e^{z_k}}{\sum_j e^{z_j}} , \qquad
     \min_{W, b}\; \tfrac12 \|W\|^2 - C \sum_i \log p_{y_i}(x_i) .

Four clouds, one of which lies between the others, show where the three differ.

Open in the studio: ``separatrix studio --lesson several_classes``
"""

import itertools

import matplotlib.pyplot as plt
import numpy as np

from separatrix import SVC, LinearSVC, LogisticRegression, separability
from separatrix.plots import DecisionDisplay

centres = {"north": (0, 3), "east": (2.6, -1.5), "west": (-2.6, -1.5), "middle": (0, 0)}
names = np.array(sorted(centres))


def draw(each, seed):
    rng = np.random.default_rng(seed)
    clouds = [rng.normal(centres[name], 0.55, size=(each, 2)) for name in names]
    return np.concatenate(clouds), np.repeat(names, each)


X, y = draw(40, seed=0)
X_new, y_new = draw(1000, seed=1)

# %%
# What can be separated from what? That has an exact answer, pair by pair and class by class:

verdict = separability(X, y)
print(verdict)

# %%
# Every pair can be separated, and three of the classes can be separated from the rest. The fourth
# cannot: it lies within the triangle of the others, and no line has the inside of a triangle on one
# side and its corners on the other. One against the rest asks for just that.
#
# One against the rest
# --------------------

against_rest = LinearSVC(loss="hinge", C=1).fit(X, y)
print(against_rest.certificate_)
for name, w, b in zip(names, against_rest.coef_, against_rest.intercept_, strict=True):
    w = w.round(3) + 0.0  # no zero with a minus sign
    print(f"{name:7s} score = {w[0]:6.3f} x0 {w[1]:+6.3f} x1 {b:+6.3f}")

# %%
# The certificate is for all four problems together: *no four lines have a smaller sum of
# objectives*. And the machine for the middle has given up. Its weights are zero and its score is
# -1 everywhere: call everything *rest*, and be wrong about the forty. That is the optimum of the
# problem posed. So it never says yes, and it wins only where the other three say no even louder.
#
# Elsewhere two machines say yes. Only one of them can be right, and nobody has compared their
# scores: they come from different problems, each in its own unit.

axis = np.linspace(-5, 5, 121)
plane = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
yes = (against_rest.decision_function(plane) > 0).sum(axis=1)
for count in range(3):
    print(f"{count} machines say yes on {np.mean(yes == count):5.1%} of the square")

figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.4), layout="constrained")
axes[0].contourf(
    axis, axis, yes.reshape(121, 121), levels=[-0.5, 0.5, 1.5, 2.5],
    colors=["0.55", "none", "0.8"], hatches=["", "", "//"],
)  # fmt: skip
for k, name in enumerate(names):
    axes[0].plot(*X[y == name].T, "os^D"[k], ms=5, color="0.2", mec="w")
axes[0].set(
    title="grey: no machine says yes, hatched: two", xlabel="x0", ylabel="x1",
    xlim=(-5, 5), ylim=(-5, 5),
)  # fmt: skip
DecisionDisplay.from_estimator(against_rest, X, y, ax=axes[1])
axes[1].set_title("the largest score wins")
plt.show()

# %%
# One against one
# ---------------
#
# Six problems of 80 points each. Every one of them has an answer without a mistake, and the middle
# is a class like others.

pairs = SVC(kernel="linear", C=1, decision_function_shape="ovo").fit(X, y)
print(pairs.certificate_)
scores = pairs.decision_function(plane)
votes = np.zeros((len(plane), 4), dtype=int)
for k, (i, j) in enumerate(itertools.combinations(range(4), 2)):
    votes[:, i] += scores[:, k] > 0
    votes[:, j] += scores[:, k] <= 0
tied = (votes == votes.max(axis=1, keepdims=True)).sum(axis=1) > 1
print(f"no single winner on {tied.mean():.2%} of the square")

# %%
# Votes can be equal: A beats B, B beats C, and C beats A. There the library goes by the sum of the
# scores, and where these are equal as well, by the order of the classes. Such places are few here.
#
# All at once
# -----------

together = LogisticRegression(C=1).fit(X, y)
print(together.certificate_)
machines = {
    "against the rest, hinge": against_rest,
    "against the rest, log loss": LogisticRegression(C=1, multiclass="ovr").fit(X, y),
    "by pairs, hinge": pairs,
    "at once, log loss": together,
}
print(
    "                             problems   mistakes of 160   new points   new, middle"
)
mistakes = {}
for name, model in machines.items():
    wrong = model.predict(X_new) != y_new
    middle = wrong[y_new == "middle"]
    mistakes[name] = int(np.sum(model.predict(X) != y)), wrong.mean(), middle.mean()
    problems = {"against": 4, "by": 6, "at": 1}[name.split()[0]]
    print(
        "{:28s} {:8d} {:17d} {:12.1%} {:13.1%}".format(name, problems, *mistakes[name])
    )

DecisionDisplay.from_estimator(together, X, y)
plt.show()

# %%
# Scores that were fitted together can be compared, and the middle class needs no line of its own:
# its score has only to be the largest, as it is where those of the others are low. Against the
# rest the middle is found all the same, more often than not, but in a region that has come about by
# accident. With a certificate for every problem, mind: *each problem was solved, and they were not
# the right ones*.
#
# Softmax knows differences only
# ------------------------------
#
# Add one vector to all :math:`w_k`, or a number to all :math:`b_k`: every score changes by the same
# amount, and no probability does. So the losses do not determine the weights. The penalty does: of
# all those with the same probabilities it takes the shortest, and these add up to zero.


def probabilities(W, b, points):
    z = points @ W.T + b
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


W, b = together.coef_, together.intercept_
before = probabilities(W, b, X)
moved = W + np.array([1, -2])
after = probabilities(moved, b + 3, X)
print(f"probabilities differ by at most {np.abs(after - before).max():.0e}")
print(f"the penalty: {(W**2).sum() / 2:.3f}, and {(moved**2).sum() / 2:.3f}")
print("sums of the weights are zero:", bool(np.allclose(W.sum(axis=0), 0, atol=1e-8)))

# %%
# (Add the vector to one of the classes only, and the probabilities change; the tests of this page
# try that, too.) And :math:`z - \max z` in the code is the same invariance, put to use: :math:`e^z`
# overflows for scores above 709.
#
# .. admonition:: Exercise
#
#    1. Ten classes of 100 points each. How many problems are there in each of the three ways, and
#       how many points does each have?
#    2. Give the points more columns, the squares and the product. Can the middle be separated from
#       the rest now?
#    3. Two classes, one at -1 and one at +1. Which class gets the point 0?
#
# .. admonition:: Solution
#    :collapsible: closed
#
#    1. Ten of 1000, 45 of 200, one of 1000 (with ten times the weights).
#
#       >>> len(list(itertools.combinations(range(10), 2)))
#       45
#
#    2. Yes: an ellipse can have the middle inside. Then one against the rest has a machine for it.
#
#       >>> lifted = np.column_stack([X, X**2, X[:, :1] * X[:, 1:]])
#       >>> separability(X, y == "middle").separable
#       False
#       >>> separability(lifted, y == "middle").separable
#       True
#
#    3. Neither has the larger score. Somebody has to decide, and it should always be the same: a
#       score of 0 goes to the first of the two.
#
#       >>> tie = LogisticRegression(C=1).fit([[-1.0], [1.0]], ["minus", "plus"])
#       >>> tie.decision_function([[0.0]]).tolist(), tie.predict([[0.0]]).tolist()
#       ([0.0], ['minus'])
#       >>> tie.predict([[1e-9]]).tolist()
#       ['plus']
#
# .. seealso::
#
#    :class:`separatrix.LogisticRegression`, :class:`separatrix.SVC`,
#    :func:`separatrix.separability`, :class:`separatrix.plots.DecisionDisplay`.
#    Back to the start: :ref:`hyperplanes <sphx_glr_auto_examples_01_hyperplanes.py>`
