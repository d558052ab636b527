"""The events of a fit that scikit-learn's callbacks receive."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

import separatrix

pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks from 1.9 on")

X, y = load_iris(return_X_y=True)


class Listener:
    """A callback that records its events, and ends the fit after step number ``last``."""

    def __init__(self, last: int | None = None) -> None:
        self.last = last
        self.heard: list[str] = []
        self.fitted: list[Any] = []

    def setup(self, estimator: Any, context: Any) -> None:
        self.heard.append("setup")

    def teardown(self, estimator: Any, context: Any) -> None:
        self.heard.append("teardown")

    def on_fit_task_begin(self, estimator: Any, context: Any, *, X: Any = None) -> None:
        self.heard.append("begin")

    def on_fit_task_end(
        self, estimator: Any, context: Any, *, y: Any = None, fitted_estimator: Any = None
    ) -> bool:
        self.heard.append("end")
        if context.task_name == "iteration" and fitted_estimator is not None:
            self.fitted.append(fitted_estimator)
            return self.last is not None and context.task_id + 1 >= self.last
        return False


def certificates(model: Any) -> tuple[Any, ...]:
    return model.certificate_.parts or (model.certificate_,)


@pytest.mark.parametrize("kind", [separatrix.LogisticRegression, separatrix.LinearSVC])
def test_every_step_is_heard(kind: Any) -> None:
    listener = Listener()
    model = kind().set_callbacks(listener).fit(X, y)
    assert (listener.heard[0], listener.heard[-1]) == ("setup", "teardown")
    assert listener.heard.count("begin") == listener.heard.count("end")
    assert len(listener.fitted) == sum(part.n_iter for part in certificates(model))
    last = listener.fitted[-1]
    np.testing.assert_allclose(last.coef_, model.coef_)
    assert last.predict(X).shape == y.shape
    assert last.certificate_.ok and not listener.fitted[0].certificate_.ok


def test_a_step_is_the_fit_that_stops_there() -> None:
    listener = Listener()
    separatrix.LogisticRegression().set_callbacks(listener).fit(X, y)
    for k, fitted in enumerate(listener.fitted[:3], start=1):
        with pytest.warns(ConvergenceWarning):
            alone = separatrix.LogisticRegression(max_iter=k).fit(X, y)
        np.testing.assert_allclose(fitted.coef_, alone.coef_)
        np.testing.assert_allclose(fitted.intercept_, alone.intercept_)


@pytest.mark.parametrize("kind", [separatrix.LogisticRegression, separatrix.LinearSVC])
def test_a_callback_ends_the_fit(kind: Any) -> None:
    listener = Listener(last=2)
    model = kind().set_callbacks(listener)
    with pytest.warns(ConvergenceWarning, match="a callback ended the fit"):
        model.fit(X, y)
    assert model.certificate_.status == "callback"
    assert len(listener.fitted) == 2
    assert separatrix.verify(model, X, y).primal >= model.certificate_.dual


def test_callbacks_change_nothing() -> None:
    plain = separatrix.LogisticRegression().fit(X, y)
    heard = separatrix.LogisticRegression().set_callbacks(Listener()).fit(X, y)
    assert not hasattr(heard, "trace_")
    np.testing.assert_allclose(heard.coef_, plain.coef_, rtol=1e-5)
    assert len(vars(clone(heard))["_skl_callbacks"]) == 1
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(heard)).coef_, heard.coef_)
    with pytest.raises(TypeError, match="FitCallback"):
        plain.set_callbacks("loud")
