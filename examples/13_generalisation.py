r"""
Generalisation: what training errors do not tell
================================================

A model is fitted to rows that are known, and used on rows that are not. How many mistakes it makes
on the known ones is the *training error*. How many it would make on all that may ever come is the
*true error*. The two are not the same, and the first is nearly always smaller: the model was chosen
because it does well on the rows at hand, some of it by luck.

The remedy is a *reserve*: rows that had no say in the choice. On these luck evens out, and how well
can be said beforehand. If :math:`n` rows are held out and :math:`\hat e` is the share of mistakes
there, then (Hoeffding, 1963)

.. math:: P\big(|\hat e - e| \ge \varepsilon\big) \le 2\, e^{-2 n \varepsilon^2} .

Nothing about Gaussians or lines is assumed; only that the rows of the reserve are drawn like those
to come, and that nobody has looked.

Open in the studio: ``separatrix studio --lesson generalisation``
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris
from sklearn.model_selection import (
    LearningCurveDisplay,
    StratifiedShuffleSplit,
    train_test_split,
)

from separatrix import (
    SVC,
    LinearDiscriminantAnalysis,
    LinearSVC,
    LogisticRegression,
    QuadraticDiscriminantAnalysis,
    min_training_error,
    training_error,
)
from separatrix.plots import DecisionDisplay, confusion_matrix_display

# %%
# One split
# ---------
#
# Iris: 150 flowers of three species. 60 of them train a logistic regression on the two measurements
# of the petals, 90 stay in reserve.

iris = load_iris(as_frame=True)
species = iris.target_names[iris.target]
petals = ["petal length (cm)", "petal width (cm)"]
X_train, X_test, y_train, y_test = train_test_split(
    iris.data[petals], species, train_size=60, stratify=species, random_state=1
)

model = LogisticRegression(C=10).fit(X_train, y_train)
print(model.certificate_)
print("training:  ", training_error(model, X_train, y_train))
print("in reserve:", training_error(model, X_test, y_test))

DecisionDisplay.from_estimator(model, X_test, y_test)
plt.show()

# %%
# The reserve comes out better than the training rows did: luck has two sides, and one split is one
# throw of the dice. The picture has the flowers of the reserve. The confusion matrix shows *which*
# mistakes they are: the true species down, the predicted ones across.

confusion_matrix_display(model, X_test, y_test)
plt.show()

# %%
# Read the certificate aloud: *no weights whatever have a smaller objective on these 60 flowers, but
# for a gap far below anything that matters*. That is a statement about 60 flowers. About flowers as
# such only the reserve speaks. With 90 rows and :math:`2 e^{-2 n \varepsilon^2} = 0.05` it does not
# say much:

epsilon = np.sqrt(np.log(2 / 0.05) / (2 * len(y_test)))
print(f"off by {100 * epsilon:.1f} points in a hundred at most, with probability 95 %")

# %%
# Twenty splits, five models
# --------------------------
#
# So throw more than once. Here are 20 splits, with all four measurements, and five models from
# simple to extravagant.

models = {
    "LDA": LinearDiscriminantAnalysis(),
    "QDA": QuadraticDiscriminantAnalysis(),
    "logistic regression": LogisticRegression(),
    "linear SVM": LinearSVC(loss="hinge"),
    "radial SVM, gamma = 100": SVC(gamma=100),
}
print("mistakes, mean of 20 splits    of 60 in training    of 90 in reserve")
for name, candidate in models.items():
    seen = new = 0
    for seed in range(20):
        A, B, a, b = train_test_split(
            iris.data, species, train_size=60, stratify=species, random_state=seed
        )
        candidate.fit(A, a)
        seen += np.sum(candidate.predict(A) != a)
        new += np.sum(candidate.predict(B) != b)
    print(f"{name:28}   {seen / 20:17.1f}    {new / 20:16.1f}")

# %%
# By its training error the last model would be the winner, with no mistake at all. In reserve it is
# wrong for nearly every second flower. Its mistakes in training are few because it can adapt to
# anything, and not because it has understood flowers: training errors may be compared between
# models that are equally free, and not otherwise.
#
# The fewest mistakes there can be
# --------------------------------
#
# A line cannot learn everything by heart, and how little can be proved. Versicolor and virginica,
# four measurements, all 100 flowers:

two = iris.target > 0
X, y = iris.data[two], species[two]
floor = min_training_error(X, y)
print(floor)
print(training_error(LinearSVC(C=1000, loss="hinge").fit(X, y), X, y))

# %%
# That is a certificate of another kind: *every* hyperplane makes a mistake here. A model that makes
# none uses something else than a hyperplane. The radial machine above did, and you know what that
# was worth.
#
# More rows
# ---------
#
# What helps is data. With few rows a hyperplane can fit them all: in :math:`d` columns, :math:`d +
# 1` points in general position (in the plane: no three on a line) have a separating hyperplane
# whatever their labels are, and of all labellings of :math:`2(d + 1)` points it is still one half
# (Cover, 1965). So the training error is too good, and the reserve suffers. Vapnik and Chervonenkis
# (1971) made that number, :math:`d + 1`, the measure of how free a family of models is. With many
# more rows than that there is less to choose from: the training error gets worse, the error in
# reserve better.

LearningCurveDisplay.from_estimator(
    LinearSVC(C=100, loss="hinge"),
    X,
    y,
    train_sizes=[6, 12, 24, 40, 60],
    cv=StratifiedShuffleSplit(n_splits=20, test_size=40, random_state=0),
    score_name="share that is right",
    std_display_style=None,
)
plt.show()

# %%
# *Train* is the share that is right among the rows of the fit, *Test* the share in reserve. The two
# approach each other, towards the share that hyperplanes reach at best on such flowers; with 60
# rows they have not met yet.
#
# Three rules remain:
#
# * Rows that had a say in the choice (of the weights, but also of :math:`C`, of a kernel, of a
#   column to leave out) must not be the judges of it.
# * A reserve is used up by looking. Who tries a hundred models on it and keeps the best has trained
#   on it.
# * A certificate answers whether the *problem posed* was solved, and a reserve whether it was the
#   right one to pose. You need both: without the first you do not know what you are judging.
#
# .. admonition:: Exercise
#
#    1. How many rows must a reserve have to know the true error to within 2 points in a hundred,
#       with probability 95 %?
#    2. A reserve of 90 rows has two classes, decided by tossing a coin, so nobody can predict them.
#       Try 1000 models that guess. How good is the best of them?
#
# .. admonition:: Solution
#    :collapsible: closed
#
#    Solve :math:`2 e^{-2 n \varepsilon^2} = 0.05` for :math:`n`.
#
#    >>> int(np.ceil(np.log(2 / 0.05) / (2 * 0.02**2)))
#    4612
#
#    The best of a thousand looks like a discovery, and is a tossed coin; the first one does not.
#
#    >>> rng = np.random.default_rng(0)
#    >>> truth = rng.integers(0, 2, size=90)
#    >>> guesses = rng.integers(0, 2, size=(1000, 90))
#    >>> right = (guesses == truth).mean(axis=1)
#    >>> bool(right[0] > 0.65), bool(right.max() > 0.65)
#    (False, True)
#
# .. seealso::
#
#    :func:`separatrix.training_error`, :func:`separatrix.min_training_error`,
#    :func:`separatrix.plots.confusion_matrix_display`.
#    Next: :ref:`the dual by hand <sphx_glr_auto_examples_14_dual.py>`
