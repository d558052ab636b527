r"""
Least squares: fitting numbers, and fitting too well
====================================================

Least squares is the oldest method of all (Legendre, 1805; Gauss, 1809), and the one with the least
mystery. Numbers are to be predicted by a line. Whatever the line, it misses every point by some
residual :math:`r_i = y_i - (w \cdot x_i + b)`. Take the line whose squared residuals add up to the
least:

.. math:: \min_{w, b} \ \frac{1}{2n} \sum_i (y_i - w \cdot x_i - b)^2 .

The smallest sum is where the derivatives are zero, and these are linear equations: nothing has to
be searched for. With :math:`A` for the table of the columns, they read

.. math:: A^\top r = 0 .

*The residuals are orthogonal to every column*. What could still be explained by the columns has
been explained.

From there it is a short way to a fit with no residuals at all, and to the most important picture of
the field: the training error falls and falls, and the error on new data turns round and rises.

Open in the studio: ``separatrix studio --lesson least_squares``
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from separatrix import LinearRegression, PolynomialRegression
from separatrix.plots import LeastSquaresDisplay, PolynomialDisplay

# %%
# A line, and its squares
# -----------------------
#
# Patients with diabetes: the body mass index on one day, and how far the disease had gone a year
# later. With every fifteenth patient the squares can be seen one by one. No other line has a
# smaller total area.

diabetes = load_diabetes(as_frame=True, scaled=False)
thirty = diabetes.data[["bmi"]][::15], diabetes.target[::15]

line = LinearRegression().fit(*thirty)
print(line.certificate_)

LeastSquaresDisplay.from_estimator(line, *thirty, projection=True)
plt.show()

# %%
# The right-hand picture is the same fit in another space. Think of the 30 targets as *one* point
# with 30 coordinates. All that a line can predict is a flat surface in that space, and the
# prediction is the point of it that is nearest: the foot of the perpendicular. By Pythagoras, the
# squared lengths of the sides add up, and their ratio is
#
# .. math:: R^2 = \frac{\|\hat y - \bar y\|^2}{\|y - \bar y\|^2},
#
# the share of the variance that the line explains.
#
# The certificate, read aloud: *the residuals are orthogonal to the columns to sixteen digits or so,
# and the condition number, 1, says that no digits are lost*. Which can be checked by hand:

bmi, target = thirty[0]["bmi"], thirty[1]
steeper = 1.01 * line.coef_[0] * bmi + line.intercept_
print("                                    fitted   one per cent steeper")
for what, column in (("sum of the residuals:", 1), ("scalar product with bmi:", bmi)):
    sums = [
        np.sum((target - line_) * column)
        for line_ in (line.predict(thirty[0]), steeper)
    ]
    print(f"{what:32s}   {sums[0]:7.1g}   {sums[1]:20.1f}")
print(f"R^2:                             {line.score(*thirty):.4f}")

# %%
# Many columns
# ------------
#
# Nothing changes with ten columns in place of one; the flat surface has more dimensions. With
# several columns the picture has the fitted numbers across and the observed ones upwards, and the
# line is where the two agree. Half of the patients stay in reserve.

X_train, X_test, y_train, y_test = train_test_split(
    diabetes.data, diabetes.target, test_size=0.5, random_state=0
)
model = LinearRegression().fit(X_train, y_train)
print(model.certificate_)
print(f"R^2: {model.score(X_train, y_train):.2f} in training, ", end="")
print(f"{model.score(X_test, y_test):.2f} in reserve")

LeastSquaresDisplay.from_estimator(model, X_train, y_train, squares=False)
plt.show()

# %%
# Now add columns that cannot possibly help: random numbers. Every column is one more dimension for
# the flat surface, so in training the fit can only get better. It is the reserve that tells:

noise = np.random.default_rng(0).normal(size=(442, 200))
print("junk columns   R^2: training   in reserve")
for count in (0, 50, 100, 150, 200):
    seen = np.column_stack([X_train, noise[:221, :count]])
    new = np.column_stack([X_test, noise[221:, :count]])
    fit = LinearRegression().fit(seen, y_train)
    r2 = fit.score(seen, y_train), fit.score(new, y_test)
    print(f"{count:12d}   {r2[0]:13.2f}   {r2[1]:10.2f}")

# %%
# An :math:`R^2` below zero is worse than predicting the mean for everybody. The certificate of that
# last fit is spotless, by the way: it *is* the least squares answer. The question was wrong.
#
# A polynomial is a line in the powers
# ------------------------------------
#
# A curve :math:`c_0 + c_1 x + c_2 x^2 + \dots` is curved in :math:`x`, and a line in the columns
# :math:`x, x^2, \dots`. So least squares fits curves as well, and the degree sets how much they may
# bend. Here the truth is known, because we made it: one period of a sine, and noise. Half of 30
# points are fitted, half held out.

rng = np.random.default_rng(0)
x = np.linspace(0, 1, 30)
y = np.sin(2 * np.pi * x) + 0.3 * rng.standard_normal(30)

PolynomialDisplay.from_degrees(x[:, None], y, degrees=(1, 3, 12), validation=0.5)
plt.show()

# %%
# Degree 1 is too stiff for the truth, and it misses old and new points alike: *bias*. Degree 12 has
# thirteen numbers for fifteen points. It goes through nearly all of them and swings wildly in
# between: *variance*. Degree 3 has just enough.

curve = PolynomialRegression.degree_curve(
    x[:, None], y, degrees=range(13), validation=0.5
)
print(curve)

# %%
# The training column falls all the way. It has to: whatever a cubic can do, a curve of degree four
# can do as well. The other column, but for a wobble, falls, turns, and rises. Only the reserve can
# show where it turns; no look at the training error could.
#
# .. admonition:: Exercise
#
#    1. Why is the training error of degree 2 almost that of degree 1 here?
#    2. The fit with 200 junk columns can be saved without knowing which they are: by a penalty
#       :math:`\tfrac{\lambda}{2} \|w\|^2` on long weights. Standardise the columns, try
#       :math:`\lambda = 1`, and compare :math:`R^2` in reserve.
#
# .. admonition:: Solution
#    :collapsible: closed
#
#    The sine is odd about the middle of the interval, and a parabola adds only what is even about
#    it. It can help with the noise, and with nothing else.
#
#    >>> print(curve.training_mse[1:4].round(2).tolist())
#    [0.27, 0.27, 0.06]
#
#    With the penalty, 200 weights can no longer all be long for nothing. It is still worse than the
#    ten columns alone, but no disaster any more.
#
#    >>> centre, spread = X_train.mean(), X_train.std()
#    >>> seen = np.column_stack([(X_train - centre) / spread, noise[:221]])
#    >>> new = np.column_stack([(X_test - centre) / spread, noise[221:]])
#    >>> for lam in (0, 1):
#    ...     fit = LinearRegression(lam=lam).fit(seen, y_train)
#    ...     print(lam, round(fit.score(seen, y_train), 2), round(fit.score(new, y_test), 2))
#    0 0.98 -7.7
#    1 0.72 0.32
#
# .. seealso::
#
#    :class:`separatrix.LinearRegression`, :class:`separatrix.PolynomialRegression`,
#    :class:`separatrix.plots.LeastSquaresDisplay`, :class:`separatrix.plots.PolynomialDisplay`.
#    Next: :ref:`stochastic gradients <sphx_glr_auto_examples_12_stochastic.py>`
