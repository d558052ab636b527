r"""
Why margins
===========

The perceptron is content with any hyperplane that makes no mistake, however close a point may be.
Where the classes overlap, it never stops at all.  Both troubles have one remedy: ask for more
than the right side.  Ask for a score of at least 1 in the direction of the label, and charge what
is missing:

.. math::

   \ell(z) = \max(0,\; 1 - z), \qquad z = y\,(w \cdot x + b) .

This is the *hinge loss*.  A mistake costs 1 or more; a point on the right side costs nothing
only if it is on the right side *clearly*, with a score of 1 or more.  The points with a score of
exactly :math:`\pm 1` are two lines beside the boundary, each at the distance :math:`1/\|w\|` from
it.  The band between them is the *margin*.

Open in the studio: ``separatrix studio --lesson margins``
"""

# %%
# Counting is not enough
# ----------------------
#
# What we want to be small is the number of mistakes, the *zero-one loss*.  But it is a staircase:
# almost everywhere it is flat, and no slope says where to go.  A ramp can be walked down.  The
# perceptron's own loss is one, but it is content with a score of 0.  The hinge begins a step
# earlier, and is nowhere below the staircase: the sum of the hinge losses is never less than the
# number of mistakes.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from separatrix import Hyperplane, LinearSVC, training_error
from separatrix.plots import LossDisplay, MarginDisplay

LossDisplay.from_losses(["zero_one", "perceptron", "hinge"])
plt.show()

# %%
# What keeps the band wide
# ------------------------
#
# Where a hyperplane separates the classes, every score can be made as large as one likes: multiply
# :math:`w` and :math:`b` by a hundred.  The loss is then 0, and the band has shrunk to nothing.
# So the length of :math:`w` must have a price too.  The support vector machine weighs the two
# against each other,
#
# .. math::
#
#    J(w, b) = \frac1n \sum_{i=1}^n \max\bigl(0,\; 1 - y_i\,(w \cdot x_i + b)\bigr)
#    + \frac{\lambda}{2}\,\|w\|^2 ,
#
# and :math:`\lambda` is the price.  A small one: the loss decides, the band is narrow and few
# points are in it.  A large one: a wide band matters more, and many points may be inside it, or
# beyond.
#
# The data are tumours of the breast, benign or malignant; every fifth row of the table, so that
# the pictures stay clear.  Two measurements of their cells are used, the largest perimeter and the
# largest texture, and the two classes overlap.

cancer = load_breast_cancer(as_frame=True)
X = cancer.data[["worst perimeter", "worst texture"]].iloc[::5]
y = cancer.target_names[cancer.target][::5]

print("lambda   objective   1/|w|   score below 1   mistakes")
models = {}
for lam in (1, 10, 1000):
    model = models[lam] = LinearSVC(loss="hinge", lam=lam).fit(X, y)
    plane = Hyperplane.from_model(model)
    objective, half = plane.objective(X, y, "hinge", lam=lam), plane.gap_width / 2
    # Points on the margin line are not below it, whatever rounding makes of them.
    below = np.sum(plane.functional_margin(X, y) < 1 - 1e-6)
    mistakes = training_error(plane, X, y).count
    print(f"{lam:6d}   {objective:9.4f}   {half:5.1f}   {below:13d}   {mistakes:8d}")

figure, axes = plt.subplots(1, 3, figsize=(10, 3.7), layout="constrained")
MarginDisplay.from_path(LinearSVC(loss="hinge"), X, y, lam=(1, 10, 1000), ax=axes)
plt.show()

# %%
# From left to right the band grows from 6.6 units of perimeter on either side to 68.  With
# :math:`\lambda = 10` that costs no mistake more; with :math:`\lambda = 1000` the band covers most
# tumours, the line itself has moved, and 26 instead of 9 are on the wrong side.
#
# The rings are the points that the line depends on, the *support vectors*; the
# :ref:`page after next <sphx_glr_auto_examples_07_soft_margins.py>` is about them.
#
# How large is large?  Scores have no unit, so :math:`w` is measured in one over the unit of the
# data, and :math:`\lambda` in the unit squared: :math:`\sqrt\lambda` is a *length*.  Compare it
# with the distance between the classes.  Here it is 1, 3.2 and 31.6, and the class means are 53
# apart.

means = np.array([X[y == label].mean() for label in ("benign", "malignant")])
print("distance of the means:", np.linalg.norm(means[1] - means[0]).round(1))

# %%
# Where the points are
# --------------------
#
# The margins :math:`z_i` of all points, below the loss that they are charged.  What is left of 1
# pays.

LossDisplay.from_estimator(models[10], X, y, losses="zero_one")
plt.show()

# %%
# What the certificate says
# -------------------------

for lam, model in models.items():
    print(f"lambda = {lam}:", model.certificate_)
print(models[10].objective_formula_)

# %%
# Nobody knows the best possible :math:`J`; but the fit also computes a number that it cannot be
# below (:doc:`how </certificate>` is a page of its own), and the gap is the difference of the two.
# The middle one says: *no line whatever has an objective that is smaller by more than this gap*.
# So when the three pictures differ, it is :math:`\lambda` that makes the difference, and not an
# optimiser that stopped early.
#
# The objective that is printed is the one of the formula below it, with :math:`C = 1/(\lambda n)`
# before the sum: the same problem, divided by :math:`\lambda`.
#
# A line of one's own
# -------------------
#
# So the certificate also judges lines that no optimiser has seen.  Halfway between the means of the
# two classes, with a score of -1 at one mean and of +1 at the other, is one that you can compute by
# hand.

between = means[1] - means[0]
w = 2 * between / (between @ between)
own = Hyperplane(w, -w @ means.mean(axis=0))
bound = 10 * models[10].certificate_.dual

print(training_error(own, X, y))
print(f"objective {own.objective(X, y, lam=10):.4f}, and no line is below {bound:.4f}")

MarginDisplay.from_estimator(own, X, y)
plt.show()

# %%
# Its band is as wide as the means are apart, and the points within it pay for that: the objective
# is 27 % above the best.  With :math:`\lambda = 100`, which asks for a band of about this width,
# the same line is within 6 % of the best.  Try others: a pair ``(w, b)`` will do.
#
# .. admonition:: Exercise
#
#    1. Two points on a line, -1 with the label -1 and +1 with the label +1.  By symmetry
#       :math:`b = 0`.  Which :math:`w` is the best for a given :math:`\lambda`?  How wide is the
#       band?
#    2. Back to the tumours.  As :math:`\lambda` grows without bound, :math:`w` goes to zero.  What
#       does the objective go to?  (74 of the 114 tumours are benign.)
#
# .. admonition:: Solution
#    :collapsible: closed
#
#    1. For :math:`0 \le w \le 1` both points pay :math:`1 - w`, so :math:`J = 1 - w +
#       \frac\lambda2 w^2`, which is smallest at :math:`w = 1/\lambda`.  Beyond :math:`w = 1` there
#       is nothing to gain.  Hence :math:`1/|w| = \max(1, \lambda)`: the margin stops at the points
#       when :math:`\lambda` is small, and is :math:`\lambda` itself when it is large.
#
#       >>> for lam in (0.5, 2, 4):
#       ...     pair = LinearSVC(loss="hinge", lam=lam).fit([[-1.0], [1.0]], [-1, 1])
#       ...     print(lam, (1 / pair.coef_[0, 0]).round(3))
#       0.5 1.0
#       2 2.0
#       4 4.0
#
#    2. With :math:`w = 0` all scores are :math:`b`, and :math:`b = -1` is best: it satisfies the
#       larger class, and each malignant tumour pays 2.  That is :math:`2 \cdot 40 / 114`.
#
#       >>> round(2 * 40 / 114, 4)
#       0.7018
#       >>> limit = LinearSVC(loss="hinge", lam=1e9).fit(X, y)
#       >>> round(1e9 * limit.certificate_.primal, 4), limit.intercept_.round(4).tolist()
#       (0.7018, [-1.0])
#
# .. seealso::
#
#    :class:`separatrix.LinearSVC`, :mod:`separatrix.losses`,
#    :class:`separatrix.plots.MarginDisplay`.  Next:
#    :ref:`the largest margin <sphx_glr_auto_examples_06_maximum_margin.py>`
