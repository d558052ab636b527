r"""
Logistic regression: how sure to be
===================================

A line divides the plane into two sides. Often that is not enough to know: a point far out on one
side and a point right on the line are different cases, and who decides on a treatment or a loan
would like to have a *probability*.

Logistic regression (Cox, 1958) gives one. The score :math:`w \cdot x + b` says how far out a point
is; the logistic function turns it into a number between 0 and 1,

.. math:: p(x) = \sigma(w \cdot x + b), \qquad \sigma(s) = \frac{1}{1 + e^{-s}} .

On the line the probability is one half. How fast it rises on the way across is decided by the
length of :math:`w`, the *steepness*. The direction of :math:`w` says where the line is; its length
says how sure to be.

Open in the studio: ``separatrix studio --lesson logistic``
"""

import warnings

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from separatrix import LogisticRegression
from separatrix.plots import DecisionDisplay, LossDisplay, calibration_display

# %%
# One line, four opinions
# -----------------------
#
# 569 tumours, two measurements of each, and half of them in reserve. The fit has no penalty, so
# nothing but the data decides how long :math:`w` becomes.

cancer = load_breast_cancer(as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(
    cancer.data[["mean radius", "mean texture"]],
    cancer.target_names[cancer.target],
    test_size=0.5,
    stratify=cancer.target,
    random_state=0,
)

model = LogisticRegression(penalty=None).fit(X_train, y_train)
print(model.objective_formula_)
print(model.certificate_)

# %%
# Over the plane of the two measurements the probability is a surface: a cliff, with the line half
# way up. Benign tumours lie at the height 0, malignant ones at 1.

DecisionDisplay.from_estimator(model, X_train, y_train, surface=True)
plt.show()

# %%
# Now multiply :math:`w` and :math:`b` by one half, 1, 2 and 5. The line stays where it is, for
# :math:`k (w \cdot x + b) = 0` is the same line for every :math:`k`. The opinion changes: from "it
# may well be" to "no doubt at all".

DecisionDisplay.steepness(model, X_train, y_train, scales=(0.5, 1, 2, 5))
plt.show()

# %%
# Which is right? All four classify every point alike, so counting mistakes cannot tell. The *log
# loss* can. It is the surprise at what was really the case, averaged over the points,
#
# .. math:: \frac{1}{n} \sum_i -\log p_i, \qquad
#    p_i = \text{the probability that was given to the true class of point } i .
#
# To make it small is to make the labels as probable as possible, all in all: the fit is the one of
# *maximum likelihood*. Who says 0.5 pays 0.69. Who says 0.99 pays 0.01 if right, and 4.6 if wrong.
# Hedging costs a little every time; false certainty costs a lot now and then.

print("steepness   accuracy   log loss: training   in reserve")
for steepness in (0.25, 0.5, 1, 2, 5):
    scaled = LogisticRegression(penalty=None, steepness=steepness).fit(X_train, y_train)
    right = scaled.score(X_test, y_test)
    seen = log_loss(y_train, scaled.predict_proba(X_train))
    new = log_loss(y_test, scaled.predict_proba(X_test))
    print(f"{steepness:9g}   {right:8.3f}   {seen:18.4f}   {new:10.4f}")

# %%
# On the training half the least log loss is at 1: the fit had all lengths of :math:`w` to choose
# from, and took the best. The reserve, which the fit never saw, agrees.
#
# The loss, point by point
# ------------------------
#
# With labels :math:`y = \pm 1` and the margin :math:`z = y (w \cdot x + b)`, which is positive
# where the line is right, the log loss of one point is
#
# .. math:: \ell(z) = \log(1 + e^{-z}) .
#
# It never becomes zero, but far on the right side it hardly differs from it. On the wrong side it
# rises like a straight line, as the hinge loss does. Below it stand the margins of the training
# points:

LossDisplay.from_estimator(model, X_train, y_train, losses=["zero_one", "hinge"])
plt.show()

# %%
# The certificate, read aloud: *the sum of these losses is 69.622, and no line, of whatever
# steepness, has a sum that is lower by more than the gap*, which is less than a millionth. For each
# of the 284 training points that is 0.2451, the number in the table.
#
# Are they probabilities?
# -----------------------
#
# A forecaster who says "70 %" should be right in 70 of 100 such cases. So sort the reserve by the
# predicted probability, and count. On the diagonal the forecast keeps its word.

calibration_display(model, X_test, y_test)
plt.show()

# %%
# A dot stands for 28 or 29 points, so do not expect it to lie on the diagonal exactly: of 28 tosses
# of a fair coin, 10 may well show heads, and that is the dot in the middle.
#
# What the weights say
# --------------------
#
# The score is the logarithm of the *odds*, :math:`\log\frac{p}{1-p} = w \cdot x + b`. One more unit
# of a measurement adds its weight to the score, and so multiplies the odds by :math:`e^{w_j}`, the
# odds ratio. Without a penalty these numbers come with standard errors:

table = model.summary(X_train, y_train).to_frame()
print(
    table[["estimate", "standard_error", "odds_ratio", "odds_lower", "odds_upper"]][1:]
)

# %%
# When there is no best line
# --------------------------
#
# If a line separates the classes, nothing stops the weights: twice as steep is always better still,
# and the loss tends to 0 without ever getting there. A fit has to stop somewhere, and whatever it
# then prints is an accident. The certificate says so. With all 30 columns, 50 tumours are easily
# separated:

few = cancer.data[:50], cancer.target[:50]


def warned(model):
    """Whether the fit warns that it did not converge."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ConvergenceWarning)
        model.fit(*few)
    return bool(told)


endless = LogisticRegression(penalty=None)
print("a warning:", warned(endless))
print(endless.certificate_)

# %%
# A penalty on the length of :math:`w` has an opinion on steepness of its own, and there is a best
# line again:

bounded = LogisticRegression(C=1.0)
print("a warning:", warned(bounded))
print(bounded.certificate_)

# %%
# .. admonition:: Exercise
#
#    1. By how much must the mean radius grow for the odds of *malignant* to double?
#    2. Average the probability of *malignant* over the training half. It is exactly the share of
#       malignant tumours there. Why?
#
# .. admonition:: Solution
#    :collapsible: closed
#
#    The odds are multiplied by :math:`e^{w_0 t}`; that is 2 at :math:`t = \log 2 / w_0`.
#
#    >>> import math
#    >>> print(round(math.log(2) / model.coef_[0, 0], 3))
#    0.618
#
#    At the optimum the derivative of the objective by :math:`b` is zero, and that derivative is
#    :math:`\sum_i (p_i - t_i)`, with :math:`t_i = 1` for malignant and 0 for benign. The intercept
#    is never penalised, so with a penalty it is the same; without an intercept it is not.
#
#    >>> chance = model.predict_proba(X_train)[:, 1].mean()
#    >>> share = (y_train == "malignant").mean()
#    >>> print(round(chance, 4), round(share, 4))
#    0.3732 0.3732
#    >>> penalised = LogisticRegression(lam=1.0).fit(X_train, y_train)
#    >>> print(round(penalised.predict_proba(X_train)[:, 1].mean(), 3))
#    0.373
#    >>> origin = LogisticRegression(lam=1.0, fit_intercept=False).fit(X_train, y_train)
#    >>> print(round(origin.predict_proba(X_train)[:, 1].mean(), 3))
#    0.432
#
# .. seealso::
#
#    :class:`separatrix.LogisticRegression`, :class:`separatrix.plots.DecisionDisplay`,
#    :class:`separatrix.plots.LossDisplay`.
#    Next: :ref:`discriminants <sphx_glr_auto_examples_10_discriminants.py>`
