r"""
The perceptron, step by step
============================

A hyperplane can be learnt from its own mistakes, and the rule for that is the shortest in the field
(Rosenblatt, 1958).  Start from zero.  Look at one point after another.  When a point is on the
wrong side, or on the hyperplane itself, move the hyperplane towards putting it right; otherwise do
nothing.  Stop when a whole pass over the points finds no mistake.

.. math::

   \text{if } y_i\,(w \cdot x_i + b) \le 0: \qquad
   w \leftarrow w + y_i\,x_i, \qquad b \leftarrow b + y_i

Why does that help?  After the update the score of that point, counted in the direction of its
label, is larger than before by :math:`\|x_i\|^2 + 1`.  Perhaps not enough to be right at once, and
perhaps at the expense of other points.  That it ends nevertheless is a theorem, and
:ref:`the next page <sphx_glr_auto_examples_04_convergence.py>` is about it.

Open in the studio: ``separatrix studio --lesson perceptron``
"""

# %%
# Four points by hand
# -------------------
#
# This is small enough to check with a pencil.  ``record=True`` keeps every update.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from separatrix import Perceptron
from separatrix.plots import PerceptronDisplay

X = np.array([[-1.0, 3.0], [-1.0, -1.0], [3.0, -1.0], [0.0, 1.5]])
y = np.array([-1, -1, 1, 1])
four = Perceptron(record=True).fit(X, y)

print("update  pass  point             w after          b after")
for k, update in enumerate(four.trace_.updates, start=1):
    point = "({:g}, {:g})".format(*X[update.sample])
    w = "({:g}, {:g})".format(*update.coef)
    print(f"{k:6d}  {update.epoch:4d}  {point:16s}  {w:15s}  {update.intercept:g}")
print(
    f"{four.n_updates_} updates in {four.n_iter_} passes; on each point: {four.mistakes_}"
)
print(four.certificate_)

# %%
# Follow the first line: from zero every score is 0, which counts as a mistake, so the first
# point, (-1, 3) with the label -1, is subtracted: :math:`w = (1, -3)`, :math:`b = -1`.  The ninth
# update ends at :math:`w = (4, -0.5)`, :math:`b = 1`, and the sixth pass finds nothing to correct.
# The certificate says the same: the objective is the number of mistakes that are left, 0, and no
# hyperplane makes fewer.
#
# Here is the eighth update.  The ring is the mistake; the dashed line is the boundary before, the
# solid one after.  The red arrow is the point times its label, which is added to the weights
# (dotted, the parallelogram of that sum).  The boundary is always at right angles to the weights.

PerceptronDisplay.from_estimator(four, X, y, updates=[8])
plt.show()

# %%
# And all nine.  Read them with the table.

display = PerceptronDisplay.from_estimator(four, X, y)
plt.show()

# %%
# The last point needed five corrections of the nine, the third none.  Mistakes come in turns: what
# puts one point right may put another wrong.

display.plot_mistakes()
plt.show()

# %%
# The start and the order matter
# ------------------------------
#
# Three points, and lines through the origin only, so that the weights are :math:`w` alone.  The
# number of mistakes depends on where the search starts and on which point is visited first; and
# where it ends may depend on that too.  The third point is first (-1, 1.5), then, farther out,
# (-1, 10).


def walk(third, start, order=(0, 1, 2)):
    """A perceptron that visited three points in an order, the points, and their labels."""
    points = np.array([(-1.0, -1.0), (1.0, 0.0), third])[list(order)]
    labels = np.array([1, -1, 1])[list(order)]
    model = Perceptron(fit_intercept=False, record=True)
    return model.fit(points, labels, coef_init=start), points, labels


walks = {}
for third in ((-1.0, 1.5), (-1.0, 10.0)):
    for what, start, order in (
        ("from (0, 0)", (0, 0), (0, 1, 2)),
        ("from (-1, -1)", (-1, -1), (0, 1, 2)),
        ("from (0, 0), second point first", (0, 0), (1, 2, 0)),
    ):
        model, points, labels = walks[third, what] = walk(third, start, order)
        end = model.trace_.updates[-1].coef
        print(
            f"third {third!s:12s} {what:31s}: {model.n_updates_} "
            f"{'mistake, ' if model.n_updates_ == 1 else 'mistakes,'} to {end.tolist()}"
        )

# %%
# Pulling one point outwards makes the task no harder: the vertical line through the origin
# separates both sets, with the same margin of 1.  But a long point makes a long step, and then
# short steps have to work it off.  Six mistakes instead of two, unless the second point comes
# first: then one is enough in both cases.

PerceptronDisplay.from_estimator(*walks[(-1.0, 10.0), "from (0, 0)"])
plt.show()

# %%
# Real flowers, and a reserve
# ---------------------------
#
# *Iris setosa* against the two other species, with all four measurements.  Sixty flowers, drawn at
# random, are the training sample.  The other ninety are the *reserve*: the perceptron never sees
# them, so they can say what its line is worth for flowers that are new.

iris = load_iris(as_frame=True)
is_setosa = np.where(iris.target == 0, "setosa", "other")
shuffled = np.random.default_rng(0).permutation(len(iris.data))
sample, reserve = shuffled[:60], shuffled[60:]

flowers = Perceptron(record=True).fit(iris.data.iloc[sample], is_setosa[sample])
print(flowers.certificate_)
print(f"{flowers.n_updates_} updates in {flowers.n_iter_} passes")
print(
    f"right in the sample:  {flowers.score(iris.data.iloc[sample], is_setosa[sample]):.0%}"
)
print(
    f"right in the reserve: {flowers.score(iris.data.iloc[reserve], is_setosa[reserve]):.0%}"
)

# %%
# Seven corrections, and all ninety flowers of the reserve are recognised.  Was that luck?  Two
# hundred other samples of sixty say how often it goes so well.

updates, hits = [], []
for seed in range(200):
    sample = np.random.default_rng(seed).permutation(len(iris.data))[:60]
    model = Perceptron().fit(iris.data.values[sample], is_setosa[sample])
    updates.append(model.n_updates_)
    hits.append(model.score(iris.data.values, is_setosa))
print(f"updates: median {np.median(updates):g}, at most {max(updates)}")
print(f"fewer than ten updates: {np.mean(np.array(updates) < 10):.0%} of the samples")
print(f"all 150 flowers right: {np.mean(np.array(hits) == 1.0):.0%} of the samples")
print(f"worst: {min(hits):.1%} of the flowers right")

# %%
# The certificate is about the sixty flowers that were seen; only the reserve speaks about new
# ones. :ref:`A later page <sphx_glr_auto_examples_13_generalisation.py>` comes back to the
# difference.
#
# .. admonition:: Exercise
#
#    1. Do the four points again with a learning rate of 10: each update adds ten times as
#       much.  How many mistakes are there now, and how does the line change?
#    2. In which orders of the four points are there fewer than nine mistakes?
#    3. What happens on the four points of panel B of
#       :ref:`the page before <sphx_glr_auto_examples_02_separable.py>`, which no line separates?
#
# .. admonition:: Solution
#    :collapsible: closed
#
#    1. Nothing changes.  From zero, all weights are ten times as large at every step, all scores
#       too, and a mistake stays a mistake.
#
#       >>> ten = Perceptron(learning_rate=10).fit(X, y)
#       >>> ten.n_updates_, (ten.coef_ / 10).tolist(), (ten.intercept_ / 10).tolist()
#       (9, [[4.0, -0.5]], [1.0])
#
#    2. There are four mistakes or nine, whatever the order; four in nine of the 24 orders, six of
#       which begin with the third point.
#
#       >>> from itertools import permutations
#       >>> counts = {p: Perceptron().fit(X[list(p)], y[list(p)]).n_updates_
#       ...           for p in permutations(range(4))}
#       >>> sorted(set(counts.values()))
#       [4, 9]
#       >>> [sum(n == 4 and p[0] == first for p, n in counts.items()) for first in range(4)]
#       [0, 0, 6, 3]
#
#    3. It never ends by itself; the passes run out, and the certificate says so.  All four points
#       are mistakes in every pass, and their four updates add up to nothing, so that a pass ends
#       where it began, at zero.  Those four with equal weights are also the proof that no line
#       exists.
#
#       >>> import warnings
#       >>> corners, labels = np.array([(1, 1), (-1, -1), (1, -1), (-1, 1)]), [1, 1, -1, -1]
#       >>> with warnings.catch_warnings():
#       ...     warnings.simplefilter("ignore")
#       ...     lost = Perceptron(record=True, max_passes=50).fit(corners, labels)
#       >>> print(lost.certificate_)
#       not_separated: 4 training mistakes left, 50 passes, ...; no pass was free of ...
#       >>> [u.coef.tolist() for u in lost.trace_.updates[:4]]
#       [[1.0, 1.0], [0.0, 0.0], [-1.0, 1.0], [0.0, 0.0]]
#
# .. seealso::
#
#    :class:`separatrix.Perceptron`, :class:`separatrix.plots.PerceptronDisplay`.  Next:
#    :ref:`why it ends <sphx_glr_auto_examples_04_convergence.py>`
