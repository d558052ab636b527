r"""
Slips in common notes
=====================

Code in notes and answers is short, runs, and is copied. Seven slips come back again and again,
and none of them stops with an error:

.. math::

   \underbrace{-\tfrac12 |\Sigma|}_{\text{for } -\frac12 \log |\Sigma|} \qquad
   \underbrace{w \in \mathbb{Z}^d}_{\text{truncated}} \qquad
   \underbrace{y\,(w \cdot x + b)}_{\text{for } y\,(w \cdot x + b) / \|w\|} \qquad
   \underbrace{e^{-\frac12 \|x - z\|^2}}_{\text{for } e^{-\gamma \|x - z\|^2}} \qquad \dots

For each, this page has the code as it is found, what it does, the reason why that is wrong, the
code as it should be, and a *check*. The check matters most: it is a sentence that is true of the
right code for a reason that can be proved, and that the wrong code does not pass.

Open in the studio: ``separatrix studio --lesson slips``
"""

# %%
# The seven checks are run by one function, which refuses a check that says the same of both.

# sphinx_gallery_thumbnail_number = 2
import math
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes, load_iris

from separatrix import (
    Hyperplane,
    LinearRegression,
    LinearSVC,
    Perceptron,
    QuadraticDiscriminantAnalysis,
    separability,
)
from separatrix.kernels import RBFKernel
from separatrix.plots import MarginDisplay

verdicts = {}


def check(sentence, *, wrong, right):
    """Record both verdicts; the check has to distinguish the wrong code from the right one."""
    wrong, right = bool(wrong), bool(right)
    assert right and not wrong, f"{sentence}: wrong code {wrong}, right code {right}"
    verdicts[sentence] = wrong, right
    print(f"check: {sentence}\n  the code as found: {wrong}, corrected: {right}")


# %%
# 1. The determinant without its logarithm
# ----------------------------------------
#
# The logarithm of a Gaussian density has the term :math:`-\frac12 \log |\Sigma|`. It is often
# copied as :math:`-\frac12 |\Sigma|`.

iris = load_iris()


def discriminants(X, y, term):
    """The classes that have the largest discriminant."""
    scores = []
    for k in range(3):
        own = X[y == k]
        S = np.cov(own.T)
        rest = X - own.mean(axis=0)
        squares = np.einsum("ij,jk,ik->i", rest, np.linalg.inv(S), rest)
        scores.append(-term(S) / 2 - squares / 2 + np.log(len(own) / len(X)))
    return np.argmax(scores, axis=0)


def as_found(S):
    return np.linalg.det(S)


def corrected(S):
    return np.linalg.slogdet(S)[1]


predicted = {}
print("mistakes of 150      in cm   in mm")
for term in (as_found, corrected):
    for unit in (1, 10):
        X = unit * iris.data
        predicted[term, unit] = discriminants(X, iris.target, term)
    wrong = [np.sum(predicted[term, unit] != iris.target) for unit in (1, 10)]
    print(f"{term.__name__:18s}  {wrong[0]:6d}  {wrong[1]:6d}")

# %%
# In centimetres the determinants are below 0.001. The wrong term is nearly zero, the right one
# is not missed on these flowers, and nobody notices. In millimetres they are in the hundreds and
# thousands, and every flower is given to the class with the smallest.
#
# The reason: if the unit is changed by a factor :math:`u`, :math:`|\Sigma|` is multiplied by
# :math:`u^{2d}`.  Its logarithm grows by :math:`2 d \log u` *for every class*, and no comparison
# changes; the determinant itself grows by more for the wider class.

check(
    "the unit changes no prediction",
    wrong=np.array_equal(predicted[as_found, 1], predicted[as_found, 10]),
    right=np.array_equal(predicted[corrected, 1], predicted[corrected, 10]),
)
library = QuadraticDiscriminantAnalysis().fit(iris.data, iris.target)
assert np.array_equal(library.predict(iris.data), predicted[corrected, 1])

# %%
# 2. Weights that are whole numbers
# ---------------------------------
#
# ``np.array([0, 0])`` is an array of integers. Whatever is assigned to one of its entries loses
# its decimals, without a word.

X = np.array([(0.2, 0.9), (0.8, 0.3), (0.4, 0.7), (0.9, 0.6)])
y = np.array([1, -1, 1, -1])


def perceptron(start, passes=100):
    """Weights through the origin, and whether a pass was free of mistakes."""
    w = np.array(start)
    for _ in range(passes):
        mistakes = 0
        for x, label in zip(X, y, strict=True):
            if label * (w @ x) <= 0:
                mistakes += 1
                for j in range(len(w)):
                    w[j] += label * x[j]
        if mistakes == 0:
            return w, True
    return w, False


for start in ([0, 0], [0.0, 0.0]):
    w, separates = perceptron(start)
    print(f"start {start}: w = {w}, separates: {separates}")

# %%
# From 0 an update by 0.9 goes to 0.9, which is stored as 0. All coordinates are below 1, so
# the weights never move, and there are mistakes in every pass. (``w += label * x`` would have
# been refused by numpy; the loop over the coordinates is not.)

check(
    "the weights separate points that are separable",
    wrong=perceptron([0, 0])[1],
    right=perceptron([0.0, 0.0])[1]
    and separability(X, y, fit_intercept=False).separable,
)

# %%
# 3. The loop that starts over, and never ends
# --------------------------------------------
#
# "Correct the first mistake and start over, until there is none." On points that a line separates
# this ends, by the :ref:`convergence theorem <sphx_glr_auto_examples_04_convergence.py>`. On
# others it does not, and the code has no other way out. Here it has one, for this page: it stops
# where the weights are what they have been before.

corners = np.array([(1.0, 1.0), (-1.0, -1.0), (1.0, -1.0), (-1.0, 1.0)])
diagonal = np.array([1, 1, -1, -1])


def restart(points, labels):
    """Start over after each mistake; ``None`` in place of the weights if that never ends."""
    lifted = np.column_stack([points, np.ones(len(points))])
    w, seen = np.zeros(3), []
    while True:
        wrong = [i for i, x in enumerate(lifted) if labels[i] * (w @ x) <= 0]
        if not wrong:
            return w, len(seen)
        if w.tolist() in seen:
            return None, len(seen) - seen.index(w.tolist())
        seen.append(w.tolist())
        w = w + labels[wrong[0]] * lifted[wrong[0]]


print("three corners: ends with", restart(corners[:3], diagonal[:3])[0])
print(
    "four corners:  after",
    restart(corners, diagonal)[1],
    "corrections the same weights again",
)

# %%
# The next correction depends on the weights and on nothing else. So when the weights come
# back, all that followed comes back too: that is the proof that the loop goes on for ever. A
# limit on the passes ends it, and the exact verdict says why there was nothing to be found.

limited = Perceptron(max_passes=20)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    limited.fit(corners, diagonal)
print(limited.certificate_)
verdict = separability(corners, diagonal)
print(verdict)
check(
    "the search ends on every set of points",
    wrong=restart(corners, diagonal)[0] is not None,
    right=limited.n_iter_ == 20 and not verdict.separable,
)

# %%
# 4. "The largest margin", by updates
# -----------------------------------
#
# "Update while :math:`y\,w \cdot x < 1`; where it stops, the band :math:`2/\|w\|` is the widest."
# The first half is a margin perceptron. The second does not follow: nothing made :math:`\|w\|`
# small.

X = np.array([(-1.0, -1.0), (1.0, 0.0), (-1.0, 1.5)])
y = np.array([1, -1, 1])
w = np.zeros(2)
while (y * (X @ w) < 1).any():
    for x, label in zip(X, y, strict=True):
        if label * (w @ x) < 1:
            w = w + label * x
widest = LinearSVC(C=np.inf, fit_intercept=False).fit(X, y)
print(f"claimed: 2/|w| = {2 / np.linalg.norm(w):.4f}")
bands = {
    "updates": 2 * Hyperplane(w, 0).geometric_margin(X, y),
    "LinearSVC": 2 * widest.margin_[0],
}
for name, band in bands.items():
    print(f"empty band, {name:9s}: {band:.4f}")
print(widest.certificate_)

figure, axes = plt.subplots(
    1, 2, figsize=(9, 4), layout="constrained", sharex=True, sharey=True
)
updated = Perceptron(margin=1.0, fit_intercept=False).fit(X, y)
for ax, title, model in zip(axes, bands, (updated, widest), strict=True):
    MarginDisplay.from_estimator(model, X, y, ax=ax, legend=ax is axes[-1])
    ax.set_title(title)
plt.show()

# %%
# The lower bound ``dual`` of :math:`\frac12 \|w\|^2` is an upper bound of the band, :math:`2 /
# \sqrt{2 \cdot \text{dual}}`, for *every* line (:ref:`why
# <sphx_glr_auto_examples_06_maximum_margin.py>`). Whoever claims the widest band has to reach it.

most = 2 / math.sqrt(2 * widest.certificate_.dual)
check(
    "the band is as wide as the upper bound of all bands",
    wrong=bands["updates"] > most - 1e-6,
    right=bands["LinearSVC"] > most - 1e-6,
)

# %%
# 5. A distance without the length of the weights
# -----------------------------------------------
#
# "The margin is the smallest :math:`y\,(w \cdot x + b)`; take the line with the largest." That
# number has no unit and no meaning by itself: multiply :math:`w` and :math:`b` by ten, and the
# same line wins.

rows = iris.target < 2
petals = iris.data[rows, 2:]
y = np.where(iris.target[rows] == 1, 1, -1)
best = Hyperplane.from_model(LinearSVC(C=np.inf).fit(petals, y))
lines = {
    "length + width = 3": Hyperplane([1, 1], -3),
    "the same, times 10": Hyperplane([10, 10], -30),
    "the largest margin": best,
}
print("line                 smallest score   smallest distance")
scores, distances = {}, {}
for name, line in lines.items():
    scores[name] = float(np.min(line.functional_margin(petals, y)))
    distances[name] = line.geometric_margin(petals, y)
    print(f"{name:18s}   {scores[name]:14.3f}   {distances[name]:14.3f} cm")

# %%
# By its score the second line is the best of the three and the first the worst, and the two are one
# line.  Divided by :math:`\|w\|` the factor cancels.

check(
    "one line has one distance from the points",
    wrong=math.isclose(scores["length + width = 3"], scores["the same, times 10"]),
    right=math.isclose(
        distances["length + width = 3"], distances["the same, times 10"]
    ),
)
check(
    "the line with the largest margin has the largest number",
    wrong=max(scores, key=scores.get) == "the largest margin",
    right=max(distances, key=distances.get) == "the largest margin",
)

# %%
# 6. The map of another radial kernel
# -----------------------------------
#
# The radial kernel :math:`e^{-\gamma (x - z)^2}` of two numbers is a scalar product of infinitely
# many coordinates. They are often written as
#
# .. math:: \varphi_j(x) = e^{-x^2 / 2}\, \frac{x^j}{\sqrt{j!}}, \qquad j = 0, 1, 2, \dots
#
# and called the map of :math:`e^{-(x - z)^2}`, or of any :math:`\gamma`.  They are the map of
# :math:`\gamma = \frac12` and of no other:
#
# .. math:: \sum_j \varphi_j(x)\, \varphi_j(z) = e^{-\frac12 x^2 - \frac12 z^2}
#    \sum_j \frac{(x z)^j}{j!} = e^{-\frac12 x^2 - \frac12 z^2 + x z} = e^{-\frac12 (x - z)^2} .
#
# For another :math:`\gamma`, put :math:`\sqrt{2 \gamma}\, x` in place of :math:`x`.


def lift(x, gamma=0.5):
    """The first forty coordinates of the lift of a Gaussian kernel."""
    x = math.sqrt(2 * gamma) * np.asarray(x, dtype=float)[:, None]
    j = np.arange(40)
    root = np.sqrt([float(math.factorial(k)) for k in j])
    return np.exp(-(x**2) / 2) * x**j / root


gamma = 1.0
z = np.linspace(-2, 2, 81)
announced = RBFKernel(gamma)(z[:, None], np.array([[0.5]]))[:, 0]
found = lift(z) @ lift([0.5])[0]
right = lift(z, gamma) @ lift([0.5], gamma)[0]
at = int(np.argmin(np.abs(z - 1.5)))
print(
    f"at a distance of 1: announced {announced[at]:.4f}, as found {found[at]:.4f}, "
    f"corrected {right[at]:.4f}"
)

_, ax = plt.subplots(layout="constrained")
ax.plot(z, announced, lw=5, alpha=0.4, label="announced: gamma = 1")
ax.plot(z, found, "--", label="product of the map as found")
ax.plot(z, right, ":", color="C3", lw=2, label="product of the corrected map")
ax.set(xlabel="x", ylabel="kernel of x and 0.5")
ax.legend()
plt.show()

check(
    "the product of the lifted points is the kernel that was announced",
    wrong=np.allclose(found, announced, atol=1e-9),
    right=np.allclose(right, announced, atol=1e-9),
)

# %%
# 7. Two statements fused into one loop
# -------------------------------------
#
# Gradient descent for least squares adds up the slopes of all rows *at one* :math:`w`, and takes
# one step. Fused into a single loop, the step is taken while the sum is still being read: each
# row sees weights that the rows before it have moved.

diabetes = load_diabetes(scaled=False)
bmi, progress = diabetes.data[::15, 2], diabetes.target[::15]
A = np.column_stack([(bmi - bmi.mean()) / bmi.std(), np.ones(len(bmi))])
rate = 1.0


def fused(w, rate=rate):
    for a, target in zip(A, progress, strict=True):
        w = w + rate / len(A) * (target - a @ w) * a
    return w


def separate(w):
    slope = sum((target - a @ w) * a for a, target in zip(A, progress, strict=True))
    return w + rate / len(A) * slope


ways = {}
for step in (fused, separate):
    way = [np.zeros(2)]
    for _ in range(60):
        way.append(step(way[-1]))
    ways[step.__name__] = np.array(way)
    left = A.T @ (progress - A @ way[-1])
    print(
        f"{step.__name__:9s} ends at w = {way[-1].round(3)}, A'r = {left.round(6) + 0.0}"
    )
line = LinearRegression().fit(A[:, :1], progress)
print(
    f"LinearRegression: {line.coef_.round(3)}, {line.intercept_:.3f};",
    line.certificate_,
)

_, ax = plt.subplots(layout="constrained")
first, second = np.meshgrid(np.linspace(50, 66, 60), np.linspace(163, 181, 60))
heights = ((progress - first[..., None] * A[:, 0] - second[..., None]) ** 2).mean(
    axis=-1
)
ax.contour(first, second, heights, levels=14, linewidths=0.7, alpha=0.6)
for name, marker in (("fused", "s"), ("separate", "o")):
    ax.plot(*ways[name][-1], marker, ms=9, label=f"where the {name} loop ends")
ax.plot(
    line.coef_[0], line.intercept_, "+", color="C3", ms=16, mew=2, label="least squares"
)
ax.set(xlabel="$w$", ylabel="$b$")
ax.legend()
plt.show()

# %%
# Both loops stand still at the end. Only one stands at the minimum, where the residuals are
# orthogonal to the columns, :math:`A^\top r = 0`. The fused pass is another map with another
# fixed point, which depends on the rate and on the order of the rows. (It has a name, one epoch
# of stochastic gradients, and its use :ref:`where the rate falls
# <sphx_glr_auto_examples_12_stochastic.py>`.)

check(
    "where the loop stands still, the residuals are orthogonal to the columns",
    wrong=np.allclose(A.T @ (progress - A @ ways["fused"][-1]), 0, atol=1e-6),
    right=np.allclose(A.T @ (progress - A @ ways["separate"][-1]), 0, atol=1e-6),
)

# %%
# .. admonition:: Exercise
#
#    1. Halve the rate of the fused loop, and halve it again.  Where does it end?
#    2. By how much do the two terms grow from centimetres to millimetres, class by class?
#    3. Which of the seven would a unit test on a single example not have found?
#
# .. admonition:: Solution
#    :collapsible: closed
#
#    1. Nearer to the minimum: the distance falls with the rate, and is zero for no rate.
#
#       >>> goal = np.array([line.coef_[0], line.intercept_])
#       >>> for rate in (1.0, 0.5, 0.25):
#       ...     w = np.zeros(2)
#       ...     for _ in range(400):
#       ...         w = fused(w, rate)
#       ...     print(rate, np.linalg.norm(w - goal).round(2))
#       1.0 6.67
#       0.5 3.45
#       0.25 1.75
#
#    2. The logarithm by :math:`2 d \log 10` for each, the determinant by a different number.
#
#       >>> groups = [iris.data[iris.target == k].T for k in range(3)]
#       >>> [round(float(corrected(np.cov(10 * g)) - corrected(np.cov(g))), 3) for g in groups]
#       [18.421, 18.421, 18.421]
#       >>> [round(float(as_found(np.cov(10 * g)) - as_found(np.cov(g)))) for g in groups]
#       [211, 1894, 13275]
#
#    3. The first, in centimetres: there it makes as few mistakes as the right one.
#
#       >>> [int((predicted[term, 1] != iris.target).sum()) for term in (as_found, corrected)]
#       [3, 3]
#
# .. seealso::
#
#    :ref:`The perceptron <sphx_glr_auto_examples_03_perceptron.py>`,
#    :ref:`discriminants <sphx_glr_auto_examples_10_discriminants.py>`,
#    :ref:`kernels <sphx_glr_auto_examples_08_kernels.py>`.
#    Next: :ref:`one-hot targets <sphx_glr_auto_examples_18_one_hot.py>`
