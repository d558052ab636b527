r"""
One-hot targets: least squares as a classifier, and why not
===========================================================

Least squares fits numbers. Classes become numbers if each gets a column of its own, with a 1 in the
rows of that class and a 0 elsewhere: a *one-hot* target :math:`t_i`. The fit is

.. math:: \min_{W, b} \ \frac{1}{2n} \sum_i \| t_i - W x_i - b \|^2 ,

and a new point belongs to the class whose output is the largest. That is quick, has no step size,
and every program for least squares can do it. It also has three defects, which
:ref:`logistic regression <sphx_glr_auto_examples_09_logistic.py>` and
:ref:`discriminants <sphx_glr_auto_examples_10_discriminants.py>` do not have. This page shows each
of them, beside both, and one thing that is right about it: for two classes the direction is that
of the linear discriminant, exactly.

Open in the studio: ``separatrix studio --lesson one_hot``
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from separatrix import (
    LeastSquaresClassifier,
    LinearDiscriminantAnalysis,
    LogisticRegression,
)
from separatrix.plots import DecisionDisplay

# %%
# Two classes: the direction is right
# -----------------------------------
#
# One column is enough for two classes, with the targets -1 and +1. Tumours, all thirty
# measurements:

cancer = load_breast_cancer()
A = (cancer.data - cancer.data.mean(axis=0)) / cancer.data.std(axis=0)
kind = np.array(["malignant", "benign"])[cancer.target]
squares = LeastSquaresClassifier().fit(A, kind)
print(squares.certificate_)


def cosine(u, v):
    return u @ v / np.linalg.norm(u) / np.linalg.norm(v)


lda = LinearDiscriminantAnalysis().fit(A, kind)
logistic = LogisticRegression(C=1.0).fit(A, kind)
between = A[kind == "malignant"].mean(axis=0) - A[kind == "benign"].mean(axis=0)
print("the angle between the least squares direction and")
for name, direction in (
    ("the linear discriminant:", lda.coef_[0]),
    ("logistic regression:", logistic.coef_[0]),
    ("the line between the means:", between),
):
    angle = np.degrees(np.arccos(min(1.0, cosine(squares.coef_[0], direction))))
    print(f"  {name:28s} {angle:9.5f} degrees")

# %%
# The reason is short. With :math:`S` for the scatter within the classes and :math:`m = \mu_2 -
# \mu_1`, the scatter of all rows is :math:`S + \frac{n_1 n_2}{n} m m^\top`, and the normal
# equations say
#
# .. math:: \Bigl(S + \frac{n_1 n_2}{n}\, m m^\top\Bigr)\, w = \frac{2 n_1 n_2}{n}\, m .
#
# Since :math:`m m^\top w` is a multiple of :math:`m`, so is :math:`S w`, and :math:`w` is a
# multiple of :math:`S^{-1} m`: the linear discriminant (Fisher, 1936). The offset is not the
# discriminant's. That does no harm here, and does some if malignant tumours are rare, say every
# tenth of them:

rare = (kind == "benign") | (np.cumsum(kind == "malignant") % 10 == 0)
some, kinds = A[rare], kind[rare]
print("                      mistakes, missed tumours: of all    with every tenth")
counts = {}
for name, rule in (
    ("least squares", LeastSquaresClassifier),
    ("linear discriminant", LinearDiscriminantAnalysis),
):
    for X, y in ((A, kind), (some, kinds)):
        wrong = rule().fit(X, y).predict(X) != y
        missed = int(np.sum(wrong & (y == "malignant")))
        counts[name, len(y)] = int(np.sum(wrong)), missed
    print(f"{name:40s} {counts[name, 569]!s:>17s} {counts[name, 378]!s:>17s}")

# %%
# First defect: points that are too right
# ---------------------------------------
#
# A square punishes every distance from the target, also on the right side. A point with the target
# +1 and the output +5 costs as much as one with the output -3. Two clouds, and then twelve points
# more, deep on their own side. No classifier has any reason to move.

rng = np.random.default_rng(0)
near = np.concatenate(
    [rng.normal((-1.4, 0), 0.55, size=(60, 2)), rng.normal((1.4, 0), 0.55, (60, 2))]
)
side = np.repeat(["left", "right"], 60)
far = rng.normal((9, -9), 0.6, size=(12, 2))
more, sides = np.concatenate([near, far]), np.append(side, ["right"] * 12)

rules = {
    "least squares": LeastSquaresClassifier,
    "linear discriminant": LinearDiscriminantAnalysis,
    "logistic regression": LogisticRegression,
}
print("mistakes on the 120 points       alone   with twelve far ones")
moved = {}
for name, rule in rules.items():
    fits = rule().fit(near, side), rule().fit(more, sides)
    turned = np.degrees(np.arccos(cosine(fits[0].coef_[0], fits[1].coef_[0])))
    moved[name] = [int(np.sum(fit.predict(near) != side)) for fit in fits] + [turned]
    print(
        f"{name:32s} {moved[name][0]:5d} {moved[name][1]:8d}   (turned by {turned:.0f} degrees)"
    )

figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.4), layout="constrained")
for ax, name in zip(axes, ("least squares", "logistic regression"), strict=True):
    DecisionDisplay.from_estimator(rules[name]().fit(more, sides), more, sides, ax=ax)
    ax.set_title(name)
plt.show()

# %%
# The log loss of a point that is far on its right side is nearly zero, so it has hardly any say.
# The linear discriminant suffers as least squares does, for the directions are the same: its
# Gaussian has to cover the far points, too.
#
# Second defect: the middle of three
# ----------------------------------
#
# Three classes in a row. The output of the left class falls along the row, that of the right one
# rises, and that of the middle class should be large in the middle, which no line can be.

x = np.concatenate([rng.normal(c, 0.45, 60) for c in (-3.0, 0.0, 3.0)])
row = np.repeat(["left", "middle", "right"], 60)
print("found of 60:               left   middle   right")
found = {}
for name, rule in rules.items():
    predicted = rule().fit(x[:, None], row).predict(x[:, None])
    found[name] = [int(np.sum(predicted[row == c] == c)) for c in np.unique(row)]
    print("{:24s} {:6d} {:8d} {:7d}".format(name, *found[name]))

three = LeastSquaresClassifier().fit(x[:, None], row)
grid = np.linspace(-4.5, 4.5, 200)
outputs = three.decision_function(grid[:, None])
chances = LogisticRegression().fit(x[:, None], row).predict_proba(grid[:, None])
figure, axes = plt.subplots(1, 2, figsize=(9.5, 3.6), sharey=True, layout="constrained")
for ax, title, curves in (
    (axes[0], "least squares: outputs", outputs),
    (axes[1], "logistic regression: probabilities", chances),
):
    for k, (name, style) in enumerate(
        zip(three.classes_, ("-", "--", "-."), strict=True)
    ):
        ax.plot(grid, curves[:, k], style, lw=2, color=f"C{k}", label=name)
        own = x[row == name]
        ax.plot(own, np.full(len(own), -0.42), "|", color=f"C{k}")
    ax.axhline(0, lw=0.6, color="0.5")
    ax.axhline(1, lw=0.6, color="0.5")
    ax.set(title=title, xlabel="x")
axes[0].legend(loc="upper center", ncols=3)
plt.show()

# %%
# The output of the middle class is a third nearly everywhere: that a third of the points belong to
# it is all that a line can learn. It is never the largest: the class is *masked*. Nothing is wrong
# with the data, which two thresholds separate, or with the fit, which is certified. The square of
# a difference from one and zero is not what a classifier is for.
#
# Third defect: outputs that look like probabilities
# --------------------------------------------------
#
# The outputs of a row add up to one. That looks like probabilities, and so they have been called.
# But a line leaves the interval from zero to one on either side, and nothing holds it.

print(f"sum of the outputs of a row: {outputs.sum(axis=1).min():.6f} ", end="")
print(f"to {outputs.sum(axis=1).max():.6f}")
print(f"outputs: {outputs.min():.2f} to {outputs.max():.2f}, ", end="")
print(f"{np.mean((outputs < 0) | (outputs > 1)):.0%} below 0 or above 1")
print(
    f"probabilities of logistic regression: {chances.min():.3f} to {chances.max():.3f}"
)

# %%
# .. admonition:: Exercise
#
#    1. Why do the outputs of a row add up to one? When do they not?
#    2. Give the row of three classes another column, :math:`x^2`. Is the middle class still masked?
#    3. The direction of two classes was right, and the offset was not. Repair it for the rare
#       tumours, without another look at the thirty columns.
#
# .. admonition:: Solution
#    :collapsible: closed
#
#    1. The sum of the outputs is the least squares fit of the sum of the targets, which is 1 for
#       all rows; an offset of 1 and no weights fit that without a residual. Without an offset
#       nothing does.
#
#       >>> from separatrix import LinearRegression
#       >>> one_hot = (row[:, None] == three.classes_).astype(float)
#       >>> total = LinearRegression().fit(x[:, None], one_hot.sum(axis=1))
#       >>> bool(np.isclose(total.intercept_, 1)), bool(np.isclose(total.coef_[0], 0))
#       (True, True)
#       >>> bare = LeastSquaresClassifier(fit_intercept=False).fit(x[:, None], row)
#       >>> bool(abs(bare.decision_function(x[:, None]).sum(axis=1) - 1).max() > 0.5)
#       True
#
#    2. No: a parabola can be large in the middle. Two points at the ends are wrong instead. With
#       four classes in a row it takes a cubic, and so on.
#
#       >>> lifted = np.column_stack([x, x**2])
#       >>> wrong = LeastSquaresClassifier().fit(lifted, row).predict(lifted) != row
#       >>> int(np.sum(wrong)), int(np.sum(wrong & (row == "middle")))
#       (2, 0)
#
#    3. The score is a column, and the discriminant of that one column has the offset that the
#       discriminant of all thirty has.
#
#       >>> few = LeastSquaresClassifier().fit(some, kinds)
#       >>> score = few.decision_function(some)[:, None]
#       >>> repaired = LinearDiscriminantAnalysis().fit(score, kinds).predict(score)
#       >>> wanted = LinearDiscriminantAnalysis().fit(some, kinds).predict(some)
#       >>> int(np.sum(repaired != wanted)), int(np.sum(few.predict(some) != wanted))
#       (0, 4)
#
# .. seealso::
#
#    :class:`separatrix.LeastSquaresClassifier`, :class:`separatrix.LinearDiscriminantAnalysis`,
#    :class:`separatrix.plots.DecisionDisplay`.
#    Next: :ref:`several classes <sphx_glr_auto_examples_19_several_classes.py>`
