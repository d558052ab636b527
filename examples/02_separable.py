r"""
Separable or not, and how to prove it
=====================================

Before asking for the best hyperplane, ask whether there is one at all.  Points of two classes are
*linearly separable* if some hyperplane has every point strictly on its own side:

.. math::

   y_i\,(w \cdot x_i + b) > 0 \quad \text{for all } i, \qquad y_i \in \{-1, +1\} .

A search that finds a hyperplane has answered the question: anybody can check it, point by point.
But what if a search finds none?  Perhaps it did not look long enough.  For a *no* there must be a
proof as well, and there is one.

Open in the studio: ``separatrix studio --lesson separable``
"""

# %%
# Four panels
# -----------
#
# Four small sets of points.  For each, decide by eye before reading on: can a line separate the
# two classes?  And can a line *through the origin*, which has :math:`b = 0`?

# sphinx_gallery_thumbnail_number = 3
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from separatrix import LinearSVC, NotSeparableError, separability
from separatrix.plots import SeparabilityDisplay

panels = {
    # The same direction from the origin, one class farther away than the other.
    "A: near and far": (
        [(1, 1), (2, 1), (1, 2), (3, 3), (4, 3), (3, 4)],
        [-1, -1, -1, 1, 1, 1],
    ),
    # Exclusive or: the diagonals of a square cross.
    "B: opposite corners": (
        [(1, 1), (-1, -1), (1, -1), (-1, 1)],
        [1, 1, -1, -1],
    ),
    # Either side of a line through the origin.
    "C: left and right": (
        [(2, 1), (3, -1), (1, 0), (-2, 1), (-1, -2), (-3, 0)],
        [1, 1, 1, -1, -1, -1],
    ),
    # One class in the midst of the other.
    "D: inside and outside": (
        [(0, 1), (1, 0), (3, 3), (-3, 3), (0, -4)],
        [1, 1, -1, -1, -1],
    ),
}

verdicts = {}
for title, (points, labels) in panels.items():
    for fit_intercept in (True, False):
        verdict = separability(points, labels, fit_intercept=fit_intercept)
        # The proof, checked again from the points, in whole-number arithmetic.
        assert verdict.check(points, labels)
        verdicts[title, fit_intercept] = verdict
    answers = [
        "yes" if verdicts[title, offset].separable else "no" for offset in (True, False)
    ]
    print(f"{title:22s} any line: {answers[0]:4s} through the origin: {answers[1]}")

# %%
# No panel has the answers *no* and *yes*.  None can: a line through the origin is a line.

figure, axes = plt.subplots(2, 2, figsize=(8, 6.5), layout="compressed")
for ax, (title, (points, labels)) in zip(axes.flat, panels.items(), strict=True):
    SeparabilityDisplay.from_verdict(
        verdicts[title, True], points, labels, ax=ax, legend=ax in axes[0]
    )
    ax.set_title(title)
plt.show()

# %%
# Where the answer is *yes*, the picture has the widest strip without a point in it.  Where it is
# *no*, the star is the proof, and the numbers belong to it.
#
# What a proof looks like
# -----------------------
#
# *Yes* is proved by a line.  *No* is proved by a point that belongs to both classes at once, in
# this sense: it is a weighted mean of points of one class, and also a weighted mean of points of
# the other.  A half-plane that holds some points holds their means too, so that point would have
# to lie strictly on both sides of the line.
#
# .. math::
#
#    \sum_{y_i = +1} \alpha_i x_i = \sum_{y_i = -1} \alpha_i x_i, \qquad
#    \sum_{y_i = +1} \alpha_i = \sum_{y_i = -1} \alpha_i > 0, \qquad \alpha_i \ge 0
#
# Such multipliers exist exactly when there is no separating hyperplane (Gordan, 1873): one of the
# two proofs can always be found, and with :math:`d` columns no more than :math:`d + 2` of the
# multipliers are needed (Kirchberger, 1903).  Here they are for panel D, as fractions, so that no
# rounding is left to argue about.

points, labels = panels["D: inside and outside"]
witness = verdicts["D: inside and outside", True].witness
for row, multiplier in zip(witness.rows, witness.multipliers, strict=True):
    print(f"{multiplier!s:>5} of {points[row]}, label {labels[row]:+d}")
print(witness.check(points, labels).reason)

# %%
# Twice these weights make a mean of each class: (0, 1) alone is 5/14 of (3, 3) and of (-3, 3), and
# 2/7 of (0, -4).  The inner class has a point inside the triangle that the outer class spans.
#
# Through the origin, the proof is simpler still: some points, each with its sign and a weight, add
# up to nothing, so that :math:`y_i\, w \cdot x_i` cannot be positive for all of them.  Panel A
# shows the difference; the offset is what it lacks.  On the right, the ray lies in the cones of
# both classes: a line through the origin would have to have it on both sides.

figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="compressed")
points, labels = panels["A: near and far"]
for ax, fit_intercept in zip(axes, (True, False), strict=True):
    SeparabilityDisplay.from_verdict(
        verdicts["A: near and far", fit_intercept], points, labels, ax=ax
    )
    ax.set_title("A, any line" if fit_intercept else "A, through the origin")
plt.show()

# %%
# The offset as one more column
# -----------------------------
#
# Both questions are the same question.  Give every point a last coordinate that is always 1; then
#
# .. math::
#
#    w \cdot x + b = (w, b) \cdot (x, 1),
#
# and every hyperplane is one through the origin of a space with one dimension more.

points, labels = panels["A: near and far"]
lifted = np.column_stack([points, np.ones(len(points))])
print(separability(lifted, labels, fit_intercept=False))

# %%
# Real flowers
# ------------
#
# Iris has three species and four columns, so the eye is of little help.  The verdict is exact all
# the same, for each pair of species.

iris = load_iris(as_frame=True)
species = iris.target_names[iris.target]
table = separability(iris.data, species)
for pair in (
    ("setosa", "versicolor"),
    ("setosa", "virginica"),
    ("versicolor", "virginica"),
):
    print(" and ".join(pair) + ":")
    print("   ", table[pair])

# %%
# *Setosa* stands apart.  *Versicolor* and *virginica* cannot be separated by any hyperplane
# whatever, and six flowers prove it.  Models that need a separating hyperplane say so with that
# proof; those that have one give a certificate.

setosa_or_versicolor = species != "virginica"
model = LinearSVC(C=np.inf).fit(
    iris.data[setosa_or_versicolor], species[setosa_or_versicolor]
)
print(model.certificate_)

others = species != "setosa"
try:
    LinearSVC(C=np.inf).fit(iris.data[others], species[others])
except NotSeparableError as error:
    print(f"refused, with {len(error.witness.rows)} flowers as the proof")

# %%
# The first line says: a hyperplane was found, and it is the one with the largest margin, to within
# the gap.  The second: none was found, because there is none.
#
# A proof is small, so it can be drawn.  With two of the columns, four flowers are enough.

petals = iris.data.loc[others, ["petal length (cm)", "petal width (cm)"]]
overlap = separability(petals, species[others])
print(overlap)
SeparabilityDisplay.from_verdict(overlap, petals, species[others])
plt.show()

# %%
# .. admonition:: Exercise
#
#    1. Remove one point from panel B.  Is the rest separable?  Through the origin as well?
#    2. Add the product of the two coordinates to panel B as a third column.  What now?
#    3. How many of the sixteen ways to label the four corners of a square are separable?
#
# .. admonition:: Solution
#    :collapsible: closed
#
#    1. Three corners, whatever their labels, are separable by a line.  Not by one through the
#       origin: (1, 1) and (-1, -1) have the same label and lie opposite one another, so the best
#       that such a line can do is to go through both.
#
#       >>> corners, labels = panels["B: opposite corners"]
#       >>> separability(corners[:3], labels[:3]).status
#       'separable'
#       >>> separability(corners[:3], labels[:3], fit_intercept=False).status
#       'quasi_separable'
#
#    2. The product is +1 for one class and -1 for the other: that column alone separates them,
#       with a margin of 1.  Adding columns is how :ref:`kernels
#       <sphx_glr_auto_examples_08_kernels.py>` bend a hyperplane.
#
#       >>> print(separability([(a, b, a * b) for a, b in corners], labels))
#       separable: a hyperplane has all 4 points strictly on their own side;
#       the largest margin is 1
#
#    3. All but the two of panel B.  (Where all labels agree, the offset alone puts every point on
#       its side.)  For :math:`n` points in the plane, no three of them on a line, the number is
#       :math:`n^2 - n + 2`, wherever they are (Cover, 1965): all 8 ways for three points, 14 of 16
#       for four, 92 of 1024 for ten.
#
#       >>> from itertools import product
#       >>> ways = [way for way in product([-1, 1], repeat=4) if len(set(way)) == 2]
#       >>> 2 + sum(separability(corners, way).separable for way in ways)
#       14
#
# .. seealso::
#
#    :func:`separatrix.separability`, :class:`separatrix.plots.SeparabilityDisplay`.  Next:
#    :ref:`the perceptron finds a hyperplane where there is one
#    <sphx_glr_auto_examples_03_perceptron.py>`
