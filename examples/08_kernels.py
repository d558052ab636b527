r"""
Kernels: a line somewhere else
==============================

Some classes no line separates: one sits inside the other, say. The points can be *lifted* first:
each gets new coordinates, computed from its old ones, and up there a flat plane may do what no line
does down here. Brought back, the plane is a curve.

The *kernel trick* is that nobody has to go there. The weights of a support vector machine are
:math:`w = \sum_i \alpha_i y_i x_i`, so the score of a new point is :math:`\sum_i \alpha_i y_i\, x_i
\cdot x + b`: of all points it needs nothing but scalar products of pairs. A *kernel* gives the
scalar product of two lifted points,

.. math:: k(x, z) = \varphi(x) \cdot \varphi(z),

straight from the two points themselves (Boser, Guyon and Vapnik, 1992). The lift :math:`\varphi`
may have thousands of coordinates, or infinitely many; the sum is as short as before.

This page lifts an ellipse and the corners of a square, and then goes too far on purpose: with a
lift that is rich enough, *any* labels can be separated, and that is worth nothing.

Open in the studio: ``separatrix studio --lesson kernels``
"""

import itertools

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from separatrix import SVC, separability
from separatrix.kernels import DeltaKernel, PolynomialKernel, SquaresKernel
from separatrix.plots import DecisionDisplay, KernelDisplay

# %%
# An ellipse is a line in the squares
# -----------------------------------
#
# 120 points around an ellipse with the half axes 3 and 1.5: class +1 inside, class -1 outside, and
# nothing in a band between the two. That no line separates them is plain to see, and is proved as
# well: some points of one class have a weighted mean that the other class has too.

half_axes = np.array([3.0, 1.5])
points = np.random.default_rng(0).uniform(-1.8, 1.8, size=(2400, 2)) * half_axes
size = ((points / half_axes) ** 2).sum(axis=1)
keep = np.flatnonzero((size < 0.8) | ((size > 1.25) & (size < 3.0)))[:120]
oval, inside = points[keep].round(3), np.where(size[keep] < 1.0, 1, -1)

print(separability(oval, inside))

# %%
# The lift is as simple as can be: square both coordinates. The equation of the ellipse,
#
# .. math:: \frac{x_0^2}{3^2} + \frac{x_1^2}{1.5^2} = 1,
#
# is the equation of a *line* in :math:`(x_0^2, x_1^2)`. So there the classes come apart, and by how
# much at most is known exactly:

squares = SquaresKernel()
lifted = separability(squares.lift(oval), inside)
print(lifted)

(w0, w1), b = lifted.hyperplane.w, lifted.hyperplane.b
axes_found = np.sqrt([-b / w0, -b / w1])
print(
    f"down here an ellipse with half axes {axes_found[0]:.2f} and {axes_found[1]:.2f}"
)

# %%
# Now the trick. The machine below is given the points as they are, and the kernel
# :math:`k(x, z) = \sum_j (x_j z_j)^2`. ``C=inf`` is the hard margin: no point may be on the wrong
# side. The values of :math:`k`, one for each pair of points, are all that it gets of the lift, and
# it finds the widest margin up there all the same.

machine = SVC(kernel=squares, C=np.inf, tol=1e-10).fit(oval, inside)
print(machine.certificate_)
print(f"largest margin, exactly: {lifted.margin}")
print(f"margin of the machine:   {machine.margin_[0]:.10f}")

# %%
# Read the certificate aloud: *the best possible objective is at most a gap of about 1e-11 below the
# one I reached*. The objective is :math:`\tfrac{1}{2} \|w\|^2` and the margin is :math:`1 / \|w\|`,
# so the same holds of the margin, and to ten digits it is the number that exact arithmetic gave.
#
# A tilted ellipse has a term :math:`x_0 x_1` as well. The quadratic kernel
#
# .. math:: (x \cdot z)^2 = (x_0 z_0 + x_1 z_1)^2
#    = x_0^2\, z_0^2 + \sqrt{2}\, x_0 x_1\, \sqrt{2}\, z_0 z_1 + x_1^2\, z_1^2
#
# is the scalar product of three coordinates, :math:`x_0^2`, :math:`\sqrt{2}\, x_0 x_1` and
# :math:`x_1^2`. There is one direction more to move in, so the margin cannot become narrower:

tilted = SVC(kernel=PolynomialKernel(degree=2), C=np.inf, tol=1e-10).fit(oval, inside)
print(tilted.certificate_)
print(f"margin: {tilted.margin_[0]:.10f}, held by {len(tilted.support_)} points")

KernelDisplay.from_estimator(tilted, oval, inside)
plt.show()

# %%
# Left the data, in the middle their lift and the plane, right the plane brought back: the ellipse,
# and with dashes the margin. Four points, the support vectors, hold it. The other 116 could be
# moved about, or thrown away, and as long as they stay out of the margin nothing would change.
#
# The corners of a square
# -----------------------
#
# Give the opposite corners of a square the same label. No line separates them: this is *exclusive
# or*, on which the perceptron famously fails (Minsky and Papert, 1969). The quadratic kernel
# :math:`(x \cdot z + 1)^2` has these coordinates:

corners = np.array([(1.0, 1.0), (-1.0, -1.0), (1.0, -1.0), (-1.0, 1.0)])
diagonal = np.array([1, 1, -1, -1])
quadratic = PolynomialKernel(degree=2, coef0=1)

saddle = SVC(kernel=quadratic, C=np.inf).fit(corners, diagonal)
weights = saddle.dual_coef_[0] @ quadratic.lift(saddle.support_vectors_)
for name, weight in zip(quadratic.lift_names(2), weights, strict=True):
    print(f"{name:>15}  {weight:8.4f}")
print(saddle.certificate_)

# %%
# Five of the six weights are zero. One coordinate does it all, the product :math:`x_0 x_1`: it is
# positive at two corners and negative at the other two. The boundary down here is the cross
# :math:`x_0 x_1 = 0`.

KernelDisplay.from_estimator(saddle, corners, diagonal)
plt.show()

# %%
# And the kernel is the scalar product of those six coordinates, up to rounding:

difference = quadratic(corners) - quadratic.lift(corners) @ quadratic.lift(corners).T
print(f"largest difference: {np.abs(difference).max():.1g}")

# %%
# The radial kernel, and how to learn by heart
# --------------------------------------------
#
# The *radial* (Gaussian) kernel
#
# .. math:: k(x, z) = e^{-\gamma \|x - z\|^2}
#
# says how near two points are: 1 for the same point, almost 0 for points far apart. Its lift has
# infinitely many coordinates. The number :math:`\gamma` says what *near* means: the larger it is,
# the smaller the neighbourhood that a point can speak for.
#
# Real data now: 569 tumours, of which we look at two measurements. Half of them train the machine,
# the other half stay in reserve.

cancer = load_breast_cancer(as_frame=True)
columns = ["worst concave points", "worst texture"]
X_train, X_test, y_train, y_test = train_test_split(
    cancer.data[columns],
    cancer.target_names[cancer.target],
    test_size=0.5,
    stratify=cancer.target,
    random_state=0,
)
centre, spread = X_train.mean(), X_train.std()
X_train, X_test = (X_train - centre) / spread, (X_test - centre) / spread

gammas = (0.1, 10, 100, 1000)
machines = [SVC(gamma=gamma, C=10).fit(X_train, y_train) for gamma in gammas]
print("gamma   support vectors   right: training   in reserve   certificate")
for gamma, model in zip(gammas, machines, strict=True):
    kept = model.n_support_.sum()
    seen, new = model.score(X_train, y_train), model.score(X_test, y_test)
    found = f"{model.certificate_.status}, gap {model.certificate_.gap:.0e}"
    print(f"{gamma:5g}   {kept:15d}   {seen:15.1%}   {new:10.1%}   {found}")

# %%
_, axes = plt.subplots(1, 3, figsize=(9, 3.4), sharey=True, layout="constrained")
for gamma, model, ax in zip(gammas, machines, axes, strict=False):
    last = ax is axes[-1]
    DecisionDisplay.from_estimator(model, X_train, y_train, ax=ax, legend=last)
    ax.set_title(f"gamma = {gamma:g}")
    ax.label_outer()
plt.show()

# %%
# All certificates say *optimal*. That is about the problem that was posed, and not about the world.
# On the left a calm curve; in the middle it begins to run around single points; on the right the
# malignant tumours sit on islands of their own. At 1000 the islands would be hidden under their
# points. There all of the training half are classified correctly, and of the reserve hardly more
# than by always answering *benign*, which is right for 63 of 100. A certificate rules out that the
# *solver* is to blame. Whether gamma made sense it cannot know; the reserve can.
#
# Where this ends can be said without a computer. In the limit every point is lifted to a direction
# of its own, :math:`\varphi(x_i) = e_i`, perpendicular to all others. Then :math:`w = (y_1, \dots,
# y_n)` gives each point its own label as its score, whatever the labels. Six points, every way to
# give them two labels; once where they lie in the plane, and once lifted:

six = np.random.default_rng(1).normal(size=(6, 2))
ways = [np.array(signs) for signs in itertools.product((-1, 1), repeat=6)]
ways = [signs for signs in ways if abs(signs.sum()) < 6]
unit = DeltaKernel().lift(six)
proved = {
    where: sum(separability(points, signs).separable for signs in ways)
    for where, points in (("in the plane", six), ("lifted", unit))
}
for where, count in proved.items():
    print(f"{where:12s}: {count} of {len(ways)} labellings are separable")

# %%
# Lines separate thirty, as :ref:`they must <sphx_glr_auto_examples_02_separable.py>`; up there it
# is all of them. A new point is lifted to yet another direction. Its score is 0: the machine has
# nothing to say. To separate what was seen is not to have learned;
# :ref:`sphx_glr_auto_examples_13_generalisation.py` takes it up from there.
#
# .. admonition:: Exercise
#
#    1. How many coordinates has the lift of the cubic kernel :math:`(x \cdot z + 1)^3` for 30
#       columns? How many products does the kernel itself need?
#    2. Toss a coin for every label of the training half, and fit the radial kernel with
#       :math:`\gamma = 1000` to that. How many of the training labels come out right?
#
# .. admonition:: Solution
#    :collapsible: closed
#
#    All monomials of degree at most 3 in 30 columns: 33 choose 3. The kernel needs 30 products for
#    the scalar product, and 2 for the power.
#
#    >>> import math
#    >>> math.comb(33, 3), len(PolynomialKernel(degree=3, coef0=1).lift_names(30))
#    (5456, 5456)
#
#    Every single one: the machine learns the coins by heart, and is proud of it. With a wider
#    neighbourhood it cannot.
#
#    >>> coins = np.random.default_rng(0).choice(["heads", "tails"], size=len(X_train))
#    >>> for gamma in (1000, 0.1):
#    ...     print(round(SVC(gamma=gamma, C=10).fit(X_train, coins).score(X_train, coins), 2))
#    1.0
#    0.6
#
# .. seealso::
#
#    :class:`separatrix.SVC`, :mod:`separatrix.kernels`, :class:`separatrix.plots.KernelDisplay`.
#    Next: :ref:`logistic regression <sphx_glr_auto_examples_09_logistic.py>`
