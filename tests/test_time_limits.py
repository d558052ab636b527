"""Time limits, by a clock that goes by products with the data."""

from __future__ import annotations

import functools
import time
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import is_regressor
from sklearn.exceptions import ConvergenceWarning

import separatrix as sx
from separatrix.data.design import CSRDesign, DenseDesign
from separatrix.models import limits

# How long each operation takes, in products of the matrix with a vector; a Gram matrix goes by its
# columns, and what only loops over the rows is free.
COSTS = {"dot": 1.0, "t_dot": 1.0, "absolute_dot": 2.0, "absolute_t_dot": 2.0, "row_squares": 1.0}
MODELS: dict[str, Any] = {
    "logistic l2": functools.partial(sx.LogisticRegression, C=100.0),
    "logistic l1": functools.partial(sx.LogisticRegression, penalty="l1", C=1.0),
    "logistic none": functools.partial(sx.LogisticRegression, penalty=None),
    "squared hinge": functools.partial(sx.LinearSVC, C=10.0),
    "hinge": functools.partial(sx.LinearSVC, loss="hinge"),
    "newton": functools.partial(sx.LogisticRegression, C=100.0, solver="newton"),
    "svr": sx.LinearSVR,
    "huber": sx.HuberRegressor,
    "poisson": functools.partial(sx.PoissonRegressor, alpha=0.01),
    "poisson l1": functools.partial(sx.PoissonRegressor, alpha=0.01, l1_ratio=1.0),
    "lasso": functools.partial(sx.Lasso, alpha=0.01),
    "elastic net": functools.partial(sx.ElasticNet, alpha=0.01),
    "sgd": functools.partial(sx.SGDClassifier, max_iter=50),
    "sgd regression": functools.partial(sx.SGDRegressor, max_iter=50),
}
# What the end of a fit may take beyond its limit, in products: the operation under way (a Gram
# matrix of so few rows is one), and where no step was completed before, so that the end could not
# be rehearsed, the first point and its certificate.
BEYOND = 8.1


class Products:
    """A clock that products with the data move on."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        # Each look moves it on a little, so that no loop over the clock is endless.
        self.now += 1e-6
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Products:
    clock = Products()
    inside = [False]

    def timed(function: Any, cost: Any) -> Any:
        @functools.wraps(function)
        def wrapped(self: Any, *arguments: Any, **options: Any) -> Any:
            if inside[0]:
                return function(self, *arguments, **options)
            inside[0] = True
            try:
                return function(self, *arguments, **options)
            finally:
                inside[0] = False
                # The cost is in proportion to the rows of this matrix among those of the whole one.
                clock.now += cost * self.shape[0] / ROWS

        return wrapped

    for kind in (DenseDesign, CSRDesign):
        for name, cost in COSTS.items():
            monkeypatch.setattr(kind, name, timed(getattr(kind, name), cost))
        monkeypatch.setattr(kind, "gram", timed(kind.gram, COLUMNS / 4.0))
    monkeypatch.setattr(time, "perf_counter", clock)
    return clock


ROWS, COLUMNS = 400, 12


def _data(kind: str) -> tuple[Any, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(ROWS, COLUMNS))
    X[rng.random(X.shape) < 0.5] = 0.0
    numbers = X @ rng.normal(size=COLUMNS) + 2.0 * rng.normal(size=ROWS)
    return (sp.csr_array(X) if kind == "sparse" else X), (numbers > 0.0).astype(int), numbers


@pytest.mark.crossed
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("name", MODELS)
def test_a_limit_holds_in_products_with_the_data(name: str, kind: str, clock: Products) -> None:
    X, y, numbers = _data(kind)
    y = numbers if is_regressor(MODELS[name]()) else y
    y = np.round(np.abs(y)) if name.startswith("poisson") else y

    def taken(**limits: Any) -> tuple[float, Any]:
        begun = clock.now
        model = MODELS[name](tol=1e-10, **limits)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y)
        return clock.now - begun, model

    whole, full = taken()
    over = {}
    for share in (0.1, 0.3, 0.6, 0.9):
        limit = share * whole
        spent, model = taken(time_limit=limit)
        certificate = model.certificate_
        assert certificate.status in ("time_limit", full.certificate_.status, "optimal")
        assert certificate.dual <= full.certificate_.primal * (1.0 + 1e-12)
        over[round(share, 1)] = (spent - limit, limit)
    assert all(by <= max(0.1 * limit, BEYOND) for by, limit in over.values()), over


def test_fits_share_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits.time, "perf_counter", lambda: 10.0)
    assert limits.shared_deadline(16.0, 3) == 12.0
    assert limits.shared_deadline(np.inf, 3) == np.inf
    # Once it has passed, a fit still looks at the clock once.
    assert 10.0 < limits.shared_deadline(9.0, 2) < 10.0 + 1e-8
