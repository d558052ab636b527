r"""
Hyperplanes and half-spaces
===========================

A linear classifier asks one question about a point: on which side of a flat surface does it
lie?  In the plane the flat surface is a line, in space it is a plane, and in any number of
dimensions it is called a *hyperplane*.  It cuts the space into two *half-spaces*, and each class
gets one of them.

.. math::

   \{x : w \cdot x + b = 0\}, \qquad
   h(x) = \begin{cases} +1 & \text{if } w \cdot x + b \ge 0 \\ -1 & \text{otherwise} \end{cases}

The vector :math:`w` stands at right angles to the surface and points to the positive side; the
number :math:`b`, the *offset* or *intercept*, moves the surface along :math:`w`.  That is the
whole model.  The perceptron, logistic regression, support vector machines, discriminant analysis
and least squares differ only in how they choose :math:`w` and :math:`b`.

Open in the studio: ``separatrix studio --lesson hyperplanes``
"""

# %%
# A rule that one can say aloud
# -----------------------------
#
# Here are a hundred irises that Edgar Anderson measured on the Gaspé Peninsula, and that R. A.
# Fisher (1936) made famous: fifty of the species *setosa*, fifty *versicolor*.  For each we take
# the length and the width of a petal, in centimetres.  And here is a rule, made up after one look
# at the table: *it is a versicolor if length and width add up to more than three centimetres.*

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from separatrix import Hyperplane, LinearSVC, Perceptron
from separatrix.plots import DecisionDisplay

iris = load_iris(as_frame=True)
species = iris.target_names[iris.target]
rows = species != "virginica"
X = iris.data.loc[rows, ["petal length (cm)", "petal width (cm)"]]
y = species[rows]

plane = Hyperplane([1, 1], -3)
print(plane.equation(["length", "width"]))

# %%
# The *score* of a flower is :math:`w \cdot x + b`.  Its sign is the answer.

first_of_each = X.iloc[[0, 50]]
print("scores", plane.decision(first_of_each).round(2))
print("sides ", plane.side(first_of_each))

# %%
# How far, not only which side
# ----------------------------
#
# The size of a score means little by itself: multiply :math:`w` and :math:`b` by ten, and every
# score is ten times as large, while no point has moved to the other side.  Divided by the length
# of :math:`w`, the score becomes the *signed distance* from the hyperplane, which stays:
#
# .. math::
#
#    d(x) = \frac{w \cdot x + b}{\|w\|}, \qquad \|w\| = \sqrt{w_1^2 + \dots + w_d^2}

tenfold = Hyperplane([10, 10], -30)
for name, rule in (("the rule", plane), ("times ten", tenfold)):
    print(f"{name:10s} scores    ", rule.decision(first_of_each).round(2))
    print(f"{name:10s} distances ", rule.signed_distance(first_of_each).round(3), "cm")

# %%
# The rule is right about all hundred flowers, and the nearest of them is half a centimetre away.
# That smallest distance, counted as negative where a point is on the wrong side, is the
# hyperplane's *margin* on these data.

margin = plane.geometric_margin(X, y)
print(f"margin of the rule: {margin:.3f} cm")

# %%
# The same rule, as a fitted model
# --------------------------------
#
# The perceptron, of which :ref:`a later page <sphx_glr_auto_examples_03_perceptron.py>` tells
# more, starts from any hyperplane and changes it only where it errs.  Ours does not err, so it
# comes back as it was, now as a model that predicts and can be drawn.

model = Perceptron().fit(X, y, coef_init=plane.w, intercept_init=plane.b)
print(model.n_updates_, "corrections; w =", model.coef_[0], "b =", model.intercept_[0])
print(model.certificate_)

# %%
# The last line is the *certificate*.  Every fit in this library ends with one, and all of them
# are read alike.  The *objective* is what the fit tries to make small, for a perceptron the number
# of training mistakes: 0.  The *gap* says how far that can be from the best possible.  No rule
# makes fewer than no mistakes, so the gap is 0 too, and nothing is left to be done.

DecisionDisplay.from_estimator(model, X, y)
plt.show()

# %%
# Tinted by the score itself, the picture has no edge but a slope: the tint is stronger the farther
# a flower is from the line, and the same along every line parallel to it.

DecisionDisplay.from_estimator(model, X, y, shade="score")
plt.show()

# %%
# More dimensions than paper
# --------------------------
#
# Nothing in the formula asks for two columns.  With all four measurements a flower is a point in
# four dimensions, and a hyperplane has three.  This one is the hyperplane with the largest margin
# of all, which :ref:`another page <sphx_glr_auto_examples_06_maximum_margin.py>` is about.

X4 = iris.data[rows]
widest = LinearSVC(C=np.inf).fit(X4, y)
plane4 = Hyperplane.from_model(widest)
print(plane4.equation(["sepal length", "sepal width", "petal length", "petal width"]))
print(f"{plane4.dimension} dimensions, in a space of {plane4.n_features}")
print(f"margin: {plane4.geometric_margin(X4, y):.3f} cm")
print(widest.certificate_)

# %%
# Here the objective is :math:`\frac12\|w\|^2`, where :math:`1/\|w\|` is the margin, and the gap is
# a few parts in :math:`10^{14}`: no other hyperplane has a margin that is larger by more than
# rounding.
#
# Four dimensions do not fit on paper, but the distance from a hyperplane is one number in any
# number of dimensions.  The picture has it on one axis, where it is not distorted at all, and on
# the other the direction *within* the hyperplane along which the flowers spread most.

DecisionDisplay.from_estimator(widest, X4, y)
plt.show()

# %%
# .. admonition:: Exercise
#
#    1. A petal is 2.5 cm long and 0.5 cm wide.  What does the rule say?
#    2. You measure in millimetres.  Which :math:`w` and :math:`b` say the same?  What is the
#       margin now?
#    3. Which of the hundred flowers is nearest to the line, and which point of the line is nearest
#       to that flower?
#
# .. admonition:: Solution
#    :collapsible: closed
#
#    1. The score is 0: the point is *on* the hyperplane.  In a prediction that counts as the
#       positive side; in training it counts as a mistake, because no side has been earned.
#
#       >>> plane.decision([[2.5, 0.5]]).tolist(), plane.side([[2.5, 0.5]]).tolist()
#       ([0.0], [1])
#       >>> plane.functional_margin([[2.5, 0.5]], [1]).tolist()
#       [0.0]
#
#    2. The threshold grows with the unit.  So does the margin, which is a length.
#
#       >>> millimetres = Hyperplane([1, 1], -30)
#       >>> bool((millimetres.side(10 * X) == plane.side(X)).all())
#       True
#       >>> round(millimetres.geometric_margin(10 * X, y), 2)
#       4.95
#
#    3. A setosa with a large petal, row 44.  The nearest point of the line lies straight ahead,
#       along :math:`w`: here just as much further in length as in width.
#
#       >>> nearest = int(np.argmin(np.abs(plane.signed_distance(X))))
#       >>> nearest, X.iloc[nearest].tolist()
#       (44, [1.9, 0.4])
#       >>> plane.project(X.iloc[[nearest]]).round(3).tolist()
#       [[2.25, 0.75]]
#
# .. seealso::
#
#    :class:`separatrix.Hyperplane`, :class:`separatrix.plots.DecisionDisplay`.  Next:
#    :ref:`is there a hyperplane at all? <sphx_glr_auto_examples_02_separable.py>`
