"""Methods that go from row to row, over blocks: the steps that rows in memory get."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix import LinearSVC, LogisticRegression, Perceptron, SGDClassifier
from separatrix.objectives.enclosure import Level
from separatrix.scale import Local, kinked, scan
from separatrix.scale.online import BlockedMistakes
from separatrix.scale.passes import Passes

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def table(rng, n=600, d=4, k=2, noise=0.0):
    X = rng.normal(size=(n, d))
    scores = X @ rng.normal(size=(d, k)) + noise * rng.normal(size=(n, k))
    y = scores.argmax(axis=1)
    if noise == 0.0:
        # A margin, or the perceptron goes on for long.
        best = np.sort(scores, axis=1)
        keep = best[:, -1] - best[:, -2] > 0.3
        X, y = X[keep], y[keep]
    return X, np.array(list("abcd"))[y]


def bits(model):
    return model.coef_.tobytes(), model.intercept_.tobytes(), model.certificate_.primal


def in_blocks(model, *data, **options):
    found = []
    blocks = scan(*data, block_rows=90, **options)
    for workers in (1, 2, 3):
        found.append(type(model)(**model.get_params()).fit(blocks, engine=Local(workers)))
    assert bits(found[0]) == bits(found[1]) == bits(found[2])
    return found[0]


# --- the perceptron -------------------------------------------------------------------------------


@pytest.mark.crossed
@pytest.mark.parametrize(
    "model",
    [
        Perceptron(max_passes=12),
        Perceptron(margin=0.5, learning_rate=0.1, max_passes=12),
        Perceptron(average=True, max_passes=12),
        Perceptron(fit_intercept=False, max_passes=5),
        Perceptron(),
        Perceptron(n_iter_no_change=2),
        Perceptron(class_weight={"a": 2.0, "b": 0.25, "c": 1.0}, max_passes=5),
    ],
    ids=str,
)
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_a_perceptron_makes_the_same_updates(model, k, noise):
    if model.class_weight is not None and k == 2:
        model = Perceptron(class_weight={"a": 2.0, "b": 0.25}, max_passes=5)
    X, y = table(np.random.default_rng(k), k=k, noise=noise)
    blocked, whole = in_blocks(model, X, y), model.fit(X, y)
    # The same numbers to the last bit: the rows come in the same order, each by itself.
    assert bits(blocked)[:2] == bits(whole)[:2]
    assert blocked.certificate_.primal == pytest.approx(whole.certificate_.primal, rel=1e-14)
    assert blocked.n_updates_ == whole.n_updates_
    assert blocked.n_iter_ == whole.n_iter_
    assert blocked.certificate_.status == whole.certificate_.status
    assert blocked.objective_formula_ == whole.objective_formula_
    assert not hasattr(blocked, "mistakes_")


def test_a_clean_pass_ends_the_search_and_one_more_certifies():
    X, y = table(np.random.default_rng(0))
    model = Perceptron().fit(scan(X, y, block_rows=90))
    assert model.certificate_.status == "optimal" and model.certificate_.primal == 0.0
    assert model.n_passes_ <= model.n_iter_ + 1
    assert model.score(X, y) == 1.0


def test_sparse_rows_weights_and_a_start():
    X, y = table(np.random.default_rng(5), noise=0.5)
    X = sp.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))
    s = np.random.default_rng(5).integers(4, size=len(y))
    start = {"coef_init": np.ones(4), "intercept_init": 1.0}
    model = Perceptron(max_passes=5)
    blocked = Perceptron(max_passes=5).fit(scan(X, y, weight=s, block_rows=90), **start)
    assert bits(blocked) == bits(model.fit(X, y, sample_weight=s, **start))


def test_the_mistakes_of_zero_weights_are_as_many_as_there_can_be():
    n, weight = 6000, 0.1
    data = scan(np.ones((n, 1)), np.arange(n) % 2, weight=np.full(n, weight), block_rows=3000)
    problem = BlockedMistakes(Passes(data, Local(1)), factors=np.ones(2))
    found = problem.charged(problem.zero(), Level.NORMS, problem.bound(problem.zero()))
    # Added up one after another, the weights come to less than they are.
    exact = n * Fraction(weight)
    assert problem.total * (1.0 + 1e-14) < exact
    assert exact <= Fraction(found.primal) <= exact * (1 + Fraction(1, 10**11))


def test_a_perceptron_goes_on_from_its_checkpoint(tmp_path):
    X, y = table(np.random.default_rng(6), noise=1.0)
    blocks, path = scan(X, y, block_rows=90), tmp_path / "kept"
    Perceptron(max_passes=4).fit(blocks, checkpoint=path)
    assert path.exists()
    # The second fit makes all its passes, from the first one on.
    resumed = Perceptron(max_passes=4).fit(blocks, checkpoint=path)
    assert bits(resumed) == bits(Perceptron(max_passes=4).fit(blocks))


@pytest.mark.parametrize(
    "options",
    [{"order": "random"}, {"calibrate": "sigmoid"}, {"early_stopping": True}, {"record": True}],
)
def test_what_a_perceptron_cannot_do_over_blocks(options):
    X, y = table(np.random.default_rng(0))
    with pytest.raises(TypeError, match="cannot be fitted in passes over row blocks"):
        Perceptron(**options).fit(scan(X, y))


# --- stochastic gradients -------------------------------------------------------------------------


@pytest.mark.crossed
@pytest.mark.parametrize("loss", ["hinge", "log_loss", "squared_hinge"])
@pytest.mark.parametrize("k", [2, 3])
def test_steps_in_order_are_those_of_rows_in_memory(loss, k):
    X, y = table(np.random.default_rng(k), k=k, noise=1.0)
    options = {"shuffle": False, "eta0": 1.0, "max_iter": 4, "tol": 1e-9, "alpha": 0.03}
    blocked = in_blocks(SGDClassifier(loss, **options), X, y)
    whole = SGDClassifier(loss, **options).fit(X, y)
    np.testing.assert_allclose(blocked.coef_, whole.coef_, rtol=1e-10)
    np.testing.assert_allclose(blocked.intercept_, whole.intercept_, rtol=1e-10)
    np.testing.assert_allclose(blocked.plain_coef_, whole.plain_coef_, rtol=1e-10)
    assert blocked.certificate_.primal == pytest.approx(whole.certificate_.primal, rel=1e-10)
    assert blocked.n_steps_.tolist() == whole.n_steps_.tolist()
    assert blocked.learning_rate_formula_ == whole.learning_rate_formula_
    assert blocked.objective_formula_ == whole.objective_formula_


@pytest.mark.crossed
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", ["hinge", "log_loss"])
def test_shuffled_steps_come_to_a_certificate(loss, intercept):
    """The bounds of the certificate enclose the optimum that another method finds in memory."""
    X, y = table(np.random.default_rng(7), noise=1.0)
    s = np.random.default_rng(7).uniform(0.2, 3.0, size=len(y))
    data = scan(X, y, weight=s, block_rows=90)
    options = {"alpha": 0.05, "fit_intercept": intercept, "tol": 1e-2}
    options["learning_rate"] = "invscaling"
    model = SGDClassifier(loss, **options, random_state=0)
    model.fit(data)
    assert model.certificate_.status == "optimal"
    kind = LinearSVC(loss="hinge") if loss == "hinge" else LogisticRegression()
    best = kind.set_params(lam=0.05, fit_intercept=intercept, tol=1e-9).fit(X, y, s).certificate_
    assert model.certificate_.dual <= best.primal and best.dual <= model.certificate_.primal
    assert model.certificate_.dual > 0.9 * best.dual


@kinked.tuned(kinked.Tuning(few=0))
def test_the_bound_of_hinge_steps_is_that_of_the_rows_near_the_kink():
    """Every pass has a bound below the optimum, and a sharp one where not all rows are near."""
    X, y = table(np.random.default_rng(8), noise=2.0)
    best = LinearSVC(loss="hinge", lam=0.1, tol=1e-9).fit(X, y).certificate_.primal
    for passes in (1, 3):
        options = {"alpha": 0.1, "max_iter": passes, "tol": 0.0, "learning_rate": "invscaling"}
        model = SGDClassifier(**options, random_state=0)
        dual = model.fit(scan(1.0 * X, y, block_rows=90)).certificate_.dual
        assert 0.999 * best < dual <= best


@pytest.mark.parametrize(
    "options",
    [
        {"loss": "perceptron"},
        {"penalty": "l1"},
        {"early_stopping": True},
        {"record": True, "eta0": 1.0},
        {"penalty": None, "learning_rate": "constant"},
    ],
)
def test_what_stochastic_gradients_cannot_do_over_blocks(options):
    X, y = table(np.random.default_rng(0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(TypeError, match="cannot be fitted in passes over row blocks"):
            SGDClassifier(**options).fit(scan(X, y))
    with pytest.raises(ValueError, match="leave out checkpoint"):
        SGDClassifier(eta0=1.0).fit(scan(X, y), checkpoint="x")
