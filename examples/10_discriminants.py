r"""
Discriminants: describe each class, then compare
================================================

The methods so far look for the line that divides the classes. There is another way: describe each
class by itself, as a cloud with a centre and a shape, and give a new point to the class that it
fits best. Where two clouds fit equally well is the boundary, and nobody had to look for it.

The description here is a Gaussian: class :math:`k` has a mean :math:`\mu_k`, a covariance
:math:`\Sigma_k` (how wide the cloud is in which direction), and a prior :math:`\pi_k` (how many of
all points it has). By Bayes' rule the most probable class has the largest

.. math:: \delta_k(x) = -\tfrac{1}{2} \log|\Sigma_k|
   - \tfrac{1}{2} (x - \mu_k)^\top \Sigma_k^{-1} (x - \mu_k) + \log \pi_k .

These are squares in :math:`x`, so boundaries are ellipses, hyperbolas, parabolas: *quadratic*
discriminant analysis. If all classes share one :math:`\Sigma`, the squares are the same for all and
drop out of every comparison. What is left is linear: *linear* discriminant analysis (Fisher, 1936,
who tried it on two species of iris).

Seven overlapping classes, made from known Gaussians, show what the difference costs and what it
buys. And because the Gaussians are known, so is the best that anybody could do.

Open in the studio: ``separatrix studio --lesson discriminants``
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from separatrix import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
    training_error,
)
from separatrix.geometry import Discriminant
from separatrix.plots import DiscriminantDisplay

# %%
# Seven classes
# -------------
#
# Each class has a centre, the lengths of the two axes of its cloud, and the angle of the first.

clouds = {
    "A": ((0, 0), (1.0, 1.0), 0),
    "B": ((3.2, 0.4), (1.5, 0.5), 60),
    "C": ((1.4, 2.9), (1.6, 0.6), -20),
    "D": ((-1.9, 2.4), (0.8, 0.8), 0),
    "E": ((-3, -0.6), (1.5, 0.5), 80),
    "F": ((-1.2, -2.9), (1.7, 0.6), 10),
    "G": ((2.2, -2.6), (0.7, 1.2), 30),
}


def covariance(first, second, degrees):
    """The covariance of a cloud with two axes of these lengths, turned by an angle."""
    c, s = np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))
    axes = np.array([[c, -s], [s, c]]) * [first, second]
    return axes @ axes.T


names = np.array(list(clouds))
means = [centre for centre, _, _ in clouds.values()]
covariances = [covariance(*lengths, angle) for _, lengths, angle in clouds.values()]


def draw(per_class, seed):
    """Points of all classes, and their labels."""
    rng = np.random.default_rng(seed)
    points = [
        rng.multivariate_normal(mean, cov, size=per_class)
        for mean, cov in zip(means, covariances, strict=True)
    ]
    return np.concatenate(points), np.repeat(names, per_class)


X, y = draw(100, seed=0)
X_new, y_new = draw(20_000, seed=1)

# %%
# The classes overlap, so mistakes cannot be avoided. Who knows the true Gaussians makes the fewest.
# This is the *Bayes error*, here counted on 140,000 new points; no rule whatever has less in the
# long run.

truth = Discriminant(means, covariances, classes=names)
bayes_error = np.mean(truth.predict(X_new) != y_new)
print(f"Bayes error: {bayes_error:.1%}")

# %%
# Quadratic
# ---------
#
# The fit is a closed form: means, covariances and shares are counted out in one pass over the rows,
# and no step size or starting point comes into it.

quadratic = QuadraticDiscriminantAnalysis().fit(X, y)
print(quadratic.certificate_)
print(f"mistakes: {1 - quadratic.score(X, y):.1%} in training, ", end="")
print(f"{1 - quadratic.score(X_new, y_new):.1%} on new points")

DiscriminantDisplay.from_estimator(quadratic, X, y)
plt.show()

# %%
# The certificate of a closed form is about its equations. Each covariance was taken apart into
# :math:`L L^\top`, which is all that a discriminant needs, and put together again; *the two agree
# to sixteen digits, and the condition number says that at most one of them is lost on the way*.
#
# Look at the edges of the picture: E has a second region at the bottom left, and C one on the
# right. Far from all centres every density is next to nothing, and the cloud that reaches furthest
# in that direction wins. A boundary has an equation too, and a kind:

for pair in (("A", "B"), ("A", "D"), ("B", "C")):
    print(*pair, quadratic.discriminant().boundary(*pair).kind)
print(quadratic.discriminant().boundary("A", "D"))

# %%
# Linear
# ------
#
# Now with one covariance for all seven, their average. Every boundary is a straight line, and every
# region is convex: of two points in it, it also has all points in between.

linear = LinearDiscriminantAnalysis().fit(X, y)
print(linear.certificate_)
print(f"mistakes: {1 - linear.score(X, y):.1%} in training, ", end="")
print(f"{1 - linear.score(X_new, y_new):.1%} on new points")

DiscriminantDisplay.from_estimator(linear, X, y)
plt.show()

# %%
# The seven ellipses are all alike now, which the data are not, and that costs three points in a
# hundred. The quadratic rule is close to the best there is. So why would anybody assume one
# covariance?
#
# What it buys
# ------------
#
# Because it is less to learn. The quadratic rule has to estimate :math:`7 \times (2 + 3)` numbers,
# the linear one :math:`7 \times 2 + 3`. With few points the many numbers are guesses. Here are the
# mistakes on new points, each the mean of ten draws:

rules = LinearDiscriminantAnalysis(), QuadraticDiscriminantAnalysis()
every_tenth = X_new[::10], y_new[::10]
print("points a class   linear   quadratic")
for per_class in (5, 8, 12, 20, 100, 500):
    errors = np.zeros(2)
    for seed in range(10, 20):
        sample = draw(per_class, seed)
        errors += [1 - rule.fit(*sample).score(*every_tenth) for rule in rules]
    print(f"{per_class:14d}   {errors[0] / 10:6.1%}   {errors[1] / 10:9.1%}")
least = np.mean(truth.predict(every_tenth[0]) != every_tenth[1])
print(f"the true Gaussians, on the same points: {least:.1%}")

# %%
# With five points a class the *wrong* model wins by far, for it has less to learn. At eight the
# two meet, and from then on the truth pays. The quadratic rule tends to the Bayes error, which is
# 15.1 % on these points; the linear one gets stuck at some 18.4 %, and no data will ever help it.
# The first defect is called *variance*, the second *bias*.
#
# Real classes
# ------------
#
# Three growers' wines, by thirteen chemical measurements. Linear discriminants are a map as well:
# the directions in which the centres are furthest apart, measured in widths of the clouds, are its
# coordinates. Two of them hold everything that tells three classes apart.

wine = load_wine(as_frame=True)
grower = np.array(["first", "second", "third"])[wine.target]
wines = LinearDiscriminantAnalysis().fit(wine.data, grower)
print(wines.certificate_)
print("in training:", training_error(wines, wine.data, grower))

DiscriminantDisplay.from_estimator(wines, wine.data, grower)
plt.show()

# %%
# Dashed, the line of two growers goes on where the third is more likely than both: there it decides
# nothing. And no mistake in training, with thirteen columns for 178 bottles, is less than it seems:
# :ref:`a later page <sphx_glr_auto_examples_13_generalisation.py>` is about that.
#
# .. admonition:: Exercise
#
#    Suppose class A is twice as common as before, and nothing else changes. How does the boundary
#    of A and B move, for the linear rule? Try ``priors=``.
#
# .. admonition:: Solution
#    :collapsible: closed
#
#    The prior is a term of its own in :math:`\delta_k`. The difference of two discriminants gets
#    another constant, larger by :math:`\log 2`, and keeps its weights: the line moves to B's side,
#    parallel to itself.
#
#    >>> priors = np.array([2, 1, 1, 1, 1, 1, 1]) / 8
#    >>> shifted = LinearDiscriminantAnalysis(priors=priors).fit(X, y)
#    >>> old = linear.discriminant().boundary("A", "B")
#    >>> new = shifted.discriminant().boundary("A", "B")
#    >>> np.allclose(old.w, new.w)
#    True
#    >>> print(round(new.b - old.b, 6), round(np.log(2), 6))
#    0.693147 0.693147
#
# .. seealso::
#
#    :class:`separatrix.QuadraticDiscriminantAnalysis`,
#    :class:`separatrix.LinearDiscriminantAnalysis`, :class:`separatrix.geometry.Discriminant`,
#    :class:`separatrix.plots.DiscriminantDisplay`.
#    Next: :ref:`least squares <sphx_glr_auto_examples_11_least_squares.py>`
