r"""
The dual by hand
================

Every certificate on these pages is the difference of two numbers: the objective of the point that
was found, and a lower bound on the objective of *all* points. Where does the lower bound come
from? From a second problem, the *dual*, whose unknowns are one multiplier for each point. For the
soft margin,

.. math::

   \min_{w, b, \xi}\; \tfrac12 \|w\|^2 + C \sum_i \xi_i
   \quad\text{subject to}\quad y_i\,(w \cdot x_i + b) \ge 1 - \xi_i, \quad \xi_i \ge 0,

this page derives the dual, solves it for three points in fractions, one pair of multipliers after
the other, and shows that the gap is what is left over of *complementary slackness*.

Open in the studio: ``separatrix studio --lesson dual``
"""

# %%
# From constraints to multipliers
# -------------------------------
#
# Give each constraint a multiplier that is not negative, :math:`\alpha_i` for the margin and
# :math:`\beta_i` for the slack, and subtract it from the objective (Lagrange; for inequalities Kuhn
# and Tucker, 1951):
#
# .. math::
#
#    L = \tfrac12 \|w\|^2 + C \sum_i \xi_i
#    - \sum_i \alpha_i \bigl(y_i\,(w \cdot x_i + b) - 1 + \xi_i\bigr) - \sum_i \beta_i\, \xi_i .
#
# Wherever the constraints hold, what is subtracted is not negative, so :math:`L` is at most the
# objective.  Now let :math:`w`, :math:`b` and :math:`\xi` go, and take the least value of
# :math:`L`: it is a lower bound of the objective, whatever the multipliers are.
#
# * :math:`\xi_i` occurs as :math:`(C - \alpha_i - \beta_i)\, \xi_i`. Unless that factor is zero,
#   the least value is :math:`-\infty` and the bound says nothing. So :math:`\alpha_i + \beta_i =
#   C`; and because neither is negative, every multiplier is in a **box**, :math:`0 \le \alpha_i
#   \le C`.
# * :math:`b` is free and occurs as :math:`-b \sum_i \alpha_i y_i`.  For the same reason there is an
#   **equality**, :math:`\sum_i \alpha_i y_i = 0`.
# * :math:`w` occurs in a square.  The derivative is zero at :math:`w = \sum_i \alpha_i y_i x_i`.
#
# What remains is the dual:
#
# .. math::
#
#    \max_\alpha\; D(\alpha) = \sum_i \alpha_i - \tfrac12 \Bigl\| \sum_i \alpha_i y_i x_i \Bigr\|^2
#    \quad\text{subject to}\quad 0 \le \alpha_i \le C, \quad \sum_i \alpha_i y_i = 0 .
#
# Three points, to be solved with a pencil; ``Fraction`` computes like one.

# sphinx_gallery_thumbnail_number = 1
from fractions import Fraction

import matplotlib.pyplot as plt
import numpy as np

from separatrix import SVC, LinearSVC

points = [(0, -1), (0, 3), (1, 1)]
labels = [1, 1, -1]
C = Fraction(1, 2)


def dot(p, q):
    return sum(a * b for a, b in zip(p, q, strict=True))


def weights(alpha):
    """w = sum alpha y x."""
    terms = list(zip(alpha, labels, points, strict=True))
    return [sum(a * y * x[j] for a, y, x in terms) for j in range(2)]


def dual(alpha):
    return sum(alpha) - dot(weights(alpha), weights(alpha)) / 2


# %%
# Two multipliers at a time
# -------------------------
#
# One multiplier alone cannot move: the equality holds it. Two can, along a line. *Sequential
# minimal optimisation* (Platt, 1998) does nothing else. It picks the pair that promises most, the
# largest :math:`y_i - w \cdot x_i` among the points whose :math:`y_i \alpha_i` may grow, and the
# smallest among those whose :math:`y_j \alpha_j` may fall (Keerthi and others, 2001), and goes to
# the highest point of :math:`D` on the line. On a line :math:`D` is a parabola, so that point has
# a formula,
#
# .. math::
#
#    t = \frac{(y_i - w \cdot x_i) - (y_j - w \cdot x_j)}{\|x_i - x_j\|^2}, \qquad
#    \alpha_i \leftarrow \alpha_i + y_i t, \quad \alpha_j \leftarrow \alpha_j - y_j t,
#
# and where it lies outside of the box, the end of the line in the box is the best there is.


def step(alpha):
    """The multipliers after one step, and the pair that moved; no pair at the optimum."""
    w = weights(alpha)
    rest = [y - dot(w, x) for x, y in zip(points, labels, strict=True)]
    # How far y alpha can grow, and fall.
    grow = [C - a if y > 0 else a for a, y in zip(alpha, labels, strict=True)]
    fall = [a if y > 0 else C - a for a, y in zip(alpha, labels, strict=True)]
    i = max((k for k in range(3) if grow[k] > 0), key=rest.__getitem__)
    j = min((k for k in range(3) if fall[k] > 0), key=rest.__getitem__)
    if rest[i] <= rest[j]:
        return alpha, None
    between = [a - b for a, b in zip(points[i], points[j], strict=True)]
    t = (rest[i] - rest[j]) / dot(between, between)
    t = min(t, grow[i], fall[j])
    moved = list(alpha)
    moved[i] += labels[i] * t
    moved[j] -= labels[j] * t
    return moved, (i, j)


path, pairs = [[Fraction(0)] * 3], []
while True:
    alpha, pair = step(path[-1])
    if pair is None:
        break
    path.append(alpha)
    pairs.append(pair)

for k, alpha in enumerate(path):
    w = weights(alpha)
    print(
        f"step {k}: alpha = ({', '.join(map(str, alpha))}), "
        f"w = ({', '.join(map(str, w))}), D = {dual(alpha)}"
    )

# %%
# Four steps, four pictures. Each has the box of the two multipliers that move, the line on
# which the equality holds them, and the level lines of :math:`D` while the third stays where it
# is. In the third the top of the parabola is outside of the box, and the step ends at its edge.

figure, axes = plt.subplots(2, 2, figsize=(8, 7.4), layout="constrained")
side = float(C)
grid = np.linspace(-0.1, 1.2, 80) * side
for k, (ax, (i, j)) in enumerate(zip(axes.flat, pairs, strict=True)):
    before, after = (np.array(alpha, dtype=float) for alpha in path[k : k + 2])
    alphas = np.broadcast_to(before, (80, 80, 3)).copy()
    alphas[..., i], alphas[..., j] = np.meshgrid(grid, grid)
    w = (alphas * labels) @ np.array(points)
    heights = alphas.sum(axis=2) - (w**2).sum(axis=2) / 2
    ax.contour(grid, grid, heights, levels=14, linewidths=0.7, alpha=0.6)
    ax.add_patch(
        plt.Rectangle(
            (0, 0), side, side, fill=False, ec="C0", lw=1.5, ls="--", label="the box"
        )
    )
    # Along the line the one grows and the other follows, by the signs of the labels.
    t = np.linspace(-1, 1, 201)
    line = np.column_stack([before[i] + labels[i] * t, before[j] - labels[j] * t])
    line = line[((line >= -1e-9) & (line <= side + 1e-9)).all(axis=1)]
    ax.plot(*line.T, color="C2", lw=2.5, label="the equality")
    ax.plot(
        before[i], before[j], "o", ms=9, mfc="none", mew=2, color="C1", label="before"
    )
    ax.plot(after[i], after[j], "o", ms=9, color="C1", label="after")
    ax.set(xlabel=f"$\\alpha_{i + 1}$", ylabel=f"$\\alpha_{j + 1}$", aspect="equal")
    ax.set_title(f"step {k + 1}: D = {dual(path[k])} to {dual(path[k + 1])}")
figure.legend(
    *axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4
)
plt.show()

# %%
# What is left over is the gap
# ----------------------------
#
# Any multipliers give weights, and weights give slack. So after each step there are two numbers,
# the objective :math:`P` of the weights (with the offset that is best for them, which is where
# one of the points is exactly on its margin) and the bound :math:`D`. Subtract, and use
# :math:`\sum_i \alpha_i y_i = 0` once:
#
# .. math::
#
#    P - D = \sum_i \Bigl( \alpha_i \bigl(y_i\,(w \cdot x_i + b) - 1 + \xi_i\bigr)
#    + (C - \alpha_i)\, \xi_i \Bigr) .
#
# No term is negative. The first is zero if the point has no multiplier or is not beyond its
# margin, the second if its multiplier is at the upper end or it has no slack. All of them vanish
# at the optimum, and that is *complementary slackness*; before the optimum, their sum is the
# certificate.


def primal(w, b):
    """The objective, and the score of each point in the direction of its label."""
    z = [y * (dot(w, x) + b) for x, y in zip(points, labels, strict=True)]
    return dot(w, w) / 2 + C * sum(max(0, 1 - margin) for margin in z), z


def best_offset(w):
    """The best intercept: P is piecewise linear in b, and least at one of its kinks."""
    kinks = [y - dot(w, x) for x, y in zip(points, labels, strict=True)]
    return min(kinks, key=lambda b: primal(w, b)[0])


print("step     P      D      gap    what is left, point by point")
gaps = []
for k, alpha in enumerate(path):
    w = weights(alpha)
    b = best_offset(w)
    P, z = primal(w, b)
    left = [
        a * max(0, margin - 1) + (C - a) * max(0, 1 - margin)
        for a, margin in zip(alpha, z, strict=True)
    ]
    gaps.append(P - dual(alpha))
    assert sum(left) == gaps[-1]
    print(
        f"{k:4d}  {P!s:>6} {dual(alpha)!s:>6} {gaps[-1]!s:>7}"
        f"    {' + '.join(map(str, left))}"
    )

# %%
# The gap need not fall with every step, although :math:`D` rises with every step: it is a
# bound, and only the best :math:`P` and the best :math:`D` so far count. At the end nothing is
# left over, and no rounding is left to argue about, because these are fractions.
#
# The library does the same in floating point:

model = SVC(kernel="linear", C=0.5, tol=1e-12).fit(points, labels)
own = np.zeros(3)
own[model.support_] = np.abs(model.dual_coef_[0])
print("by hand ", [str(a) for a in path[-1]], "offset", best_offset(weights(path[-1])))
print("SVC     ", own.round(9).tolist(), "offset", model.intercept_.round(9)[0])
print(model.certificate_)

# %%
# The third point has the multiplier :math:`C`: it pays slack, 3/2, and is on the wrong side.
# The two others have multipliers inside of the box, so they are exactly on their margin.
#
# Without an offset
# -----------------
#
# The equality came from :math:`b` and from nothing else. Where the hyperplane goes through the
# origin, there is no :math:`b`, no equality, and each multiplier moves by itself: pairs are not
# needed, and the best step of one is :math:`(1 - y_i\, w \cdot x_i) / \|x_i\|^2`, cut off at the
# box.

alone = [Fraction(0)] * 3
for _ in range(30):
    for i, (x, y) in enumerate(zip(points, labels, strict=True)):
        to = alone[i] + (1 - y * dot(weights(alone), x)) / Fraction(dot(x, x))
        alone[i] = min(max(to, Fraction(0)), C).limit_denominator(10**12)
balance = sum(a * y for a, y in zip(alone, labels, strict=True))
print("multipliers", [round(float(a), 6) for a in alone])
print("sum of y alpha:", round(float(balance), 6), "and with an offset:", end=" ")
print(sum(a * y for a, y in zip(path[-1], labels, strict=True)))

origin = LinearSVC(loss="hinge", C=0.5, fit_intercept=False, tol=1e-12)
origin.fit(points, labels)
print("w, by hand:   ", [round(float(v), 6) for v in weights(alone)])
print("w, LinearSVC: ", origin.coef_[0].round(6).tolist())
print(origin.certificate_)

# %%
# .. admonition:: Exercise
#
#    1. Choose other multipliers that satisfy the box and the equality, say (1/2, 0, 1/2). What do
#       they prove about the objective?
#    2. What does the bound say for multipliers that satisfy the box but not the equality?
#    3. Raise :math:`C` to 10.  Which multipliers are at the upper end now, and what is the margin?
#
# .. admonition:: Solution
#    :collapsible: closed
#
#    1. That it is at least 3/8 for every line whatsoever.  It is true, and weaker than 7/8.
#
#       >>> str(dual([C, Fraction(0), C])), str(dual(path[-1]))
#       ('3/8', '7/8')
#
#    2. Nothing: the least value of :math:`L` over :math:`b` is :math:`-\infty`.  The number
#       :math:`D(\alpha)` can still be computed, and it may be above the optimum.
#
#       >>> wrong = [C, C, C]
#       >>> str(dual(wrong)), dual(wrong) > primal([Fraction(-1, 2), 0], 1)[0]
#       ('5/4', True)
#
#    3. None. The points are separable, the hard margin has multipliers of 1, 1 and 2, and above
#       that the box is never touched.
#
#       >>> wide = SVC(kernel="linear", C=10, tol=1e-12).fit(points, labels)
#       >>> np.abs(wide.dual_coef_).round(6).tolist(), float(wide.margin_[0].round(6))
#       ([[2.0, 1.0, 1.0]], 0.5)
#
# .. seealso::
#
#    :class:`separatrix.SVC`, :doc:`the certificate </certificate>`.  Next:
#    :ref:`when to stop <sphx_glr_auto_examples_15_stopping.py>`
