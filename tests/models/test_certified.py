"""Every fit that minimises goes through the same code, and leaves nothing else on the model."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import separatrix as sx
from separatrix.models.certified import Certified
from separatrix.scale import scan
from separatrix.solvers.driver import watch

FAMILY = [
    sx.ElasticNet(alpha=0.1),
    sx.HuberRegressor(),
    sx.Lasso(alpha=0.1),
    sx.LinearSVC(),
    sx.LinearSVR(),
    sx.LogisticRegression(),
    sx.NuSVC(),
    sx.NuSVR(),
    sx.OneClassSVM(),
    sx.Perceptron(),
    sx.PoissonRegressor(),
    sx.SGDClassifier(),
    sx.SGDClassifier(eta0="search", average=False, max_iter=3),
    sx.SGDRegressor(),
    sx.SVC(),
    sx.SVR(),
]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 3))
    return X, (X[:, 0] + 0.5 * rng.normal(size=60) > 0.0).astype(int)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", FAMILY, ids=lambda model: type(model).__name__)
def test_one_sequence_fits_them_all(rows, model, monkeypatch):
    contexts, run = [], Certified._run
    monkeypatch.setattr(Certified, "_run", lambda self, fit: contexts.append(fit) or run(self, fit))
    before, seen = set(vars(model)), set()
    with watch(lambda progress: seen.update(vars(model))):
        model.fit(*rows)
    assert len(contexts) == 1 and contexts[0].design.n_samples == 60
    # The state of a fit under way is kept apart from the model's attributes.
    assert not {name for name in seen - before if not name.endswith("_")}
    kept = {name for name in vars(model).keys() - before if not name.endswith("_")}
    assert kept <= {"_conditions"}, kept
    assert len(pickle.dumps(model)) < 20_000


def test_the_weights_that_a_fit_starts_from_are_not_kept_where_it_is_refused(rows):
    X, y = rows
    for model in (sx.SGDClassifier(), sx.SGDRegressor(), sx.Perceptron()):
        with pytest.raises(ValueError, match="coef_init"):
            model.fit(X, y, coef_init=np.zeros(7))
        assert not {name for name in vars(model) if name.startswith("_")}


def test_a_fit_in_passes_forgets_the_information_of_another_fit(rows):
    X, y = rows
    model = sx.LogisticRegression(penalty=None).fit(X, y)
    assert hasattr(model, "information_") and hasattr(model, "class_totals_")
    model.set_params(penalty="l2").fit(scan(X, y))
    assert not hasattr(model, "information_") and not hasattr(model, "class_totals_")
