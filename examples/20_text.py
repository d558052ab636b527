r"""
Text: spam or not
=================

A message is not a point. It becomes one by counting: a column for each word, and in the row of a
message how often the word occurs. That is the *bag of words*; the order of the words is lost. A
classifier on these columns is as linear as any other, and its weights can be read: each word pulls
to one side or the other,

.. math:: z(\text{message}) = b + \sum_{\text{words } j} w_j \cdot (\text{count of } j) .

There are more words than messages, so training errors say nothing here, and a penalty has to choose
among many perfect fits. This page compares two penalties with a rule that needs no fit at all,
states what a certificate says about a word whose weight is zero, and where all of it fails.

Open in the studio: ``separatrix studio --lesson text``
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import beta
from sklearn.feature_extraction.text import CountVectorizer

from separatrix import LogisticRegression, separability

# %%
# Sixty messages
# --------------
#
# They are invented for this page, thirty of either kind.

spam = """
win a free phone today click the link now
you have won a prize claim your cash now
cheap watches free delivery order today
click here to claim your free gift card
urgent your account is locked click the link
earn cash from home no work needed
last chance free tickets click now
congratulations you won a free holiday
lose weight fast with this cheap pill
your parcel is waiting pay the small fee now
free loan no questions money today
claim your prize before midnight click here
hot offer cheap phone order now
double your money in one week guaranteed
you are our winner send your details today
free trial of the cheap pill click here
urgent reply now to win cash
guaranteed prize in every order today
make money fast click the link
win tickets free entry send now
your gift card is waiting claim it now
cheap loan guaranteed reply today
free phone for every winner order now
urgent payment failed click the link now
cash prize waiting for you reply now
no fee no risk earn money today
exclusive offer free watches click here
you won claim the holiday before midnight
send money now to unlock your prize
order the pill today cheap and fast
""".strip().splitlines()
ham = """
lunch at noon today or tomorrow
the meeting is moved to monday morning
can you send me the notes from class
see you at the station at six
thanks for the book it is great
the train is late i am waiting at the station
shall we cook at home tonight
did you order the tickets for the concert
the report is due on monday please send it
happy birthday see you at the party
i left my keys at your place
the lecture today was about margins
please call me after the meeting
dinner at our place on friday
the garden needs water this week
your parcel is at the neighbours
can we move the lesson to friday
the bus was late sorry
have you read the notes for monday
i will be home at six
the money for the trip is due on friday
is the library open today
the cake recipe is in the book
we won the match last night
the link to the lecture notes is on the page
please water the garden this week
my phone was off i am home now
the tickets are at the station
are you free for lunch on friday
thanks for the lift this morning
""".strip().splitlines()

texts = np.array(spam + ham)
kind = np.repeat(["spam", "ham"], 30)
order = np.random.default_rng(0).permutation(60)
train, reserve = order[:40], order[40:]

counter = CountVectorizer()
X, y = counter.fit_transform(texts[train]), kind[train]
X_new, y_new = counter.transform(texts[reserve]), kind[reserve]
words = counter.get_feature_names_out()
print(f"{X.shape[0]} messages, {X.shape[1]} different words, ", end="")
print(f"{X.nnz / np.prod(X.shape):.0%} of the table is not zero")
print(separability(X, y))

# %%
# The words are taken from the training messages alone. A word that occurs in a new message only has
# no column, and is passed over. That the classes are separable is no news: with 112 columns for 40
# rows nearly every labelling is.
#
# Three ways to weigh words
# -------------------------
#
# *Log odds*: a word's weight is the logarithm of its share in spam over its share in the others,
# with one added to each count. Nothing is minimised, and each word is weighed as if it were alone;
# this is *naive* Bayes. The other two are logistic regressions, with the penalty
# :math:`\tfrac12 \|w\|_2^2` and with :math:`\|w\|_1`.

in_spam = np.asarray(X[y == "spam"].sum(axis=0)).ravel() + 1.0
in_ham = np.asarray(X[y == "ham"].sum(axis=0)).ravel() + 1.0
log_odds = np.log(in_spam / in_spam.sum()) - np.log(in_ham / in_ham.sum())
prior = np.log(np.mean(y == "spam") / np.mean(y == "ham"))

l2 = LogisticRegression(C=1).fit(X, y)
l1 = LogisticRegression(C=1, penalty="l1").fit(X, y)
print("L2:", l2.certificate_)
print("L1:", l1.certificate_)

scores = {
    "log odds": (X @ log_odds + prior, X_new @ log_odds + prior),
    "L2": (l2.decision_function(X), l2.decision_function(X_new)),
    "L1": (l1.decision_function(X), l1.decision_function(X_new)),
}
weights = {"log odds": log_odds, "L2": l2.coef_[0], "L1": l1.coef_[0]}


def interval(wrong, n):
    """The 95 % interval of an error, from the number of mistakes (Clopper and Pearson, 1934)."""
    low = beta.ppf(0.025, wrong, n - wrong + 1) if wrong else 0.0
    high = beta.ppf(0.975, wrong + 1, n - wrong) if wrong < n else 1.0
    return low, high


print(
    "            words used   mistakes of 40   of 20 in reserve   error, 95 % interval"
)
errors = {}
for name, (seen, new) in scores.items():
    wrong = [
        int(np.sum((s > 0) != (t == "spam"))) for s, t in ((seen, y), (new, y_new))
    ]
    errors[name] = wrong
    low, high = interval(wrong[1], 20)
    used = np.count_nonzero(weights[name])
    print(
        f"{name:10s} {used:11d} {wrong[0]:16d} {wrong[1]:18d}   {low:13.1%} to {high:.1%}"
    )

# %%
# The last column is the honest one. With twenty messages in reserve nobody can say which of the
# three is best: the intervals overlap nearly everywhere.
#
# Weights, read as words
# ----------------------

chosen = np.argsort(l2.coef_[0])
chosen = np.concatenate([chosen[:8], chosen[-8:]])
figure, axes = plt.subplots(1, 3, figsize=(9.5, 4.6), sharey=True, layout="constrained")
for ax, (name, w) in zip(axes, weights.items(), strict=True):
    ax.barh(words[chosen], w[chosen], color=np.where(w[chosen] > 0, "C1", "C0"))
    ax.axvline(0, lw=0.6, color="0.5")
    ax.set(title=name, xlabel="weight: ham < 0 < spam")
plt.show()

# %%
# L2 spreads: words that come together share the weight. L1 chooses, and uses six of 112 words. And
# some weights are surprising. *The* says *ham*, since advertisements leave out articles: nobody
# would have put that word on a list. It is true of these messages, and of nothing else.
#
# What the certificate says about a zero
# --------------------------------------
#
# With the L1 penalty the optimum has a condition for each word. The slope of the summed losses
# along the word, times :math:`C`, is one in size where the word is used, and at most one where it
# is not:
#
# .. math:: C\, \Bigl| \sum_i (p_i - t_i)\, x_{ij} \Bigr| \le 1 .

residual = l1.predict_proba(X)[:, 1] - (y == "spam")
slope = np.abs(X.T @ residual)
print("word      weight by L1    |slope|   log odds")
for word in ("the", "click", "now", "free", "prize", "lunch"):
    j = list(words).index(word)
    print(f"{word:8s} {l1.coef_[0, j]:13.3f} {slope[j]:10.4f} {log_odds[j]:10.2f}")

# %%
# Each zero has a reason that can be checked: at this :math:`C` the word *free* is not worth its
# price beside the others, and the certificate says that no other choice of words has an objective
# lower by more than the gap. It does not say that *free* tells nothing about spam. Alone it tells
# a lot, as its log odds show; but most messages that have it have *click* or *now* as well. A
# sparse model is a short list that suffices, and not the list of what matters.
#
# Where it fails
# --------------
#
# Mistakes in reserve, and a message that was written to deceive:

for text, label, z in zip(texts[reserve], y_new, scores["L2"][1], strict=True):
    if (z > 0) != (label == "spam"):
        print(f"{label}, but z = {z:+.2f}: {text}")
bait = "click the link now"
padded = bait + " see you at the station on friday we meet at lunch"
attack = l2.decision_function(counter.transform([bait, padded]))
for text, z in zip((bait, padded), attack, strict=True):
    print(f"z = {z:+.2f}: {text}")

# %%
# A bag of words cannot know that *off* and *home* change what *my phone* means, and whoever knows
# the weights can add good words until the sum is negative. New words, another year, another
# language: the reserve came from the same pen as the training messages, and its error holds for
# such messages only.
#
# .. admonition:: Exercise
#
#    1. *TF-IDF* divides counts by how many messages have the word. Does it change the mistakes in
#       reserve here?
#    2. Count the word *click* twice, as two equal columns. What do the two penalties do with them?
#    3. How many messages without a mistake does a reserve need, so that the interval ends below
#       1 %?
#
# .. admonition:: Solution
#    :collapsible: closed
#
#    1. One mistake in place of two. One message of twenty: no interval is that narrow.
#
#       >>> from sklearn.feature_extraction.text import TfidfVectorizer
#       >>> weigher = TfidfVectorizer().fit(texts[train])
#       >>> fit = LogisticRegression(C=1).fit(weigher.transform(texts[train]), y)
#       >>> int(np.sum(fit.predict(weigher.transform(texts[reserve])) != y_new))
#       1
#
#    2. L2 gives both the same, and together more than the one had, for the price of two halves is
#       lower. L1 pays for the sum, so it does not matter how the sum is shared.
#
#       >>> j = list(words).index("click")
#       >>> twice = np.column_stack([X.toarray(), X.toarray()[:, j]])
#       >>> square = LogisticRegression(C=1).fit(twice, y).coef_[0]
#       >>> bool(np.isclose(square[j], square[-1], atol=1e-3)), bool(2 * square[j] > l2.coef_[0, j])
#       (True, True)
#       >>> sums = LogisticRegression(C=1, penalty="l1").fit(twice, y).coef_[0]
#       >>> bool(np.isclose(sums[j] + sums[-1], l1.coef_[0, j], atol=1e-3))
#       True
#
#    3. With no mistakes the interval ends at :math:`1 - 0.025^{1/n}`.
#
#       >>> n = int(np.ceil(np.log(0.025) / np.log(0.99)))
#       >>> n, bool(interval(0, n)[1] < 0.01), bool(interval(0, n - 1)[1] < 0.01)
#       (368, True, False)
#
# .. seealso::
#
#    :class:`separatrix.LogisticRegression`, :func:`separatrix.separability`;
#    ``separatrix fit`` weighs the words of a text column by TF-IDF, without any Python.
#    Next: :ref:`calibration <sphx_glr_auto_examples_21_calibration.py>`
