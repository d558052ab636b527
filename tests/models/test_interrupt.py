"""Ctrl-C in the middle of a fit: the best model so far, then KeyboardInterrupt."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest
from sklearn.utils.validation import check_is_fitted

import processes
from separatrix import LinearSVC, LogisticRegression, Perceptron, threads
from separatrix._compiled import pool
from separatrix.solvers.driver import watch

pytestmark = pytest.mark.signals


@pytest.fixture(autouse=True)
def default_ctrl_c():
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, previous)


def data(n: int = 400, classes: int = 3):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 8)), rng.integers(classes, size=n)


class Press:
    """A watcher that presses Ctrl-C once, from a timer thread, at a given check."""

    def __init__(self, part: str, iteration: int) -> None:
        self.part, self.iteration, self.pressed = part, iteration, False

    def __call__(self, progress) -> None:
        if self.pressed or (progress.part, progress.iteration) != (self.part, self.iteration):
            return
        self.pressed = True
        timer = threading.Timer(0.0, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        timer.join()


MODELS = [
    (LogisticRegression(tol=1e-15), ""),
    (LogisticRegression(multiclass="ovr", tol=1e-15), "1"),
    (LinearSVC(loss="hinge", tol=1e-15), "1"),
    (LinearSVC(loss="hinge", tol=1e-15, solver="dual"), "0"),
    (LinearSVC(tol=1e-15), "2"),
    (Perceptron(), "0"),
]


@pytest.mark.parametrize(("model", "part"), MODELS, ids=repr)
def test_interrupted_fit(model, part: str) -> None:
    X, y = data()
    press = Press(part, 2)
    with watch(press), pytest.raises(KeyboardInterrupt) as caught:
        model.fit(X, y)
    assert press.pressed
    check_is_fitted(model)
    certificate = model.certificate_
    assert certificate.status == "interrupted"
    assert str(caught.value) == str(certificate)
    assert "best iterate so far" in str(certificate)
    assert model.coef_.shape == (3, 8)
    assert model.classes_.tolist() == [0, 1, 2]
    assert np.isfinite(certificate.primal)
    assert certificate.primal >= certificate.dual
    # It predicts, and the best of what it saw is what it returns.
    assert set(model.predict(X)) <= {0, 1, 2}
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize(
    "kind", [LogisticRegression(), LinearSVC(loss="hinge"), Perceptron()], ids=repr
)
def test_an_interrupt_at_the_last_check_is_raised_too(kind) -> None:
    X, _ = data()
    y = (X[:, 0] > 0).astype(int)

    pressed = []

    def at_the_end(progress) -> None:
        if progress.relative_gap <= progress.tol and not pressed:
            pressed.append(True)
            os.kill(os.getpid(), signal.SIGINT)

    with watch(at_the_end), pytest.raises(KeyboardInterrupt):
        kind.fit(X, y)
    check_is_fitted(kind)
    assert kind.certificate_.relative_gap <= 1e-6


def test_it_ends_the_classes_that_other_threads_fit() -> None:
    X, y = data(4000)

    class Pressed(LinearSVC):
        """Presses Ctrl-C when two classes are under way, neither of which has an end of its own."""

        def _minimised(self, *args, **options):
            if not pressed and both.wait(60) == 0:
                pressed.append(threading.get_ident())
                os.kill(os.getpid(), signal.SIGINT)
            return super()._minimised(*args, **options)

    both, pressed = threading.Barrier(2), []
    model = Pressed(loss="hinge", tol=1e-300, max_iter=10**9, solver="dual")
    with (
        pool.tuned(pool.Tuning(parallel_work=1.0)),
        threads(2),
        pytest.raises(KeyboardInterrupt),
    ):
        model.fit(X, y)
    assert len(pressed) == 1
    assert [part.status for part in model.certificate_.parts].count("interrupted") >= 2
    assert model.certificate_.primal >= model.certificate_.dual


def test_parts_not_reached_are_said_to_be() -> None:
    X, y = data()
    model = LogisticRegression(multiclass="ovr", tol=1e-15)
    with watch(Press("0", 1)), pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.certificate_.parts[0].status == "interrupted"
    assert not any(part.ok for part in model.certificate_.parts)
    assert not model.coef_[2].any()
    # Their bounds are those of their points.
    assert model.certificate_.primal >= model.certificate_.dual


def test_a_timer_in_the_middle_of_a_long_fit(tmp_path) -> None:
    # A process of its own: nothing of the test runner catches the signal.
    path = tmp_path / "found.txt"
    assert processes.ended(processes.interrupted_fit, path) == 0
    assert path.read_text() == "interrupted (1, 50) 1"
