"""Seconds to draw 10,000 points with every display: ``python -m benchmarks.pictures``.

Each picture is computed, laid out and rendered to memory; the median of five, after one that is not
counted.  The model is fitted before.
"""

from __future__ import annotations

import argparse
import io
import platform
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import matplotlib as mpl
import numpy as np

import separatrix as sx
from separatrix import plots


def pictures(n: int) -> dict[str, Callable[[], Any]]:
    """The function that draws each picture, for n points."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    y = np.where(X @ (1.0, -0.5) + 0.7 * rng.normal(size=n) > 0, "right", "left")
    wide = np.hstack([X, rng.normal(size=(n, 28))])
    apart = X + 3.0 * np.where(y == "right", 1.0, -1.0)[:, None] * (1.0, -0.5)
    away = y == "right"
    three = np.where(X[:, 1] > 1.0, "up", y)
    t = X[:, :1]
    value = np.sin(2.0 * t[:, 0]) + 0.3 * rng.normal(size=n)

    logistic = sx.LogisticRegression().fit(X, y)
    many = sx.LogisticRegression().fit(wide, y)
    svm = sx.LinearSVC(loss="hinge").fit(X, y)
    kernel = sx.SVC(kernel="rbf").fit(X[:2000], y[:2000])
    quadratic = sx.SVC(kernel="poly", degree=2, coef0=1.0).fit(X[:2000], y[:2000])
    perceptron = sx.Perceptron(record=True).fit(apart, away)
    lda = sx.LinearDiscriminantAnalysis().fit(X, three)
    qda = sx.QuadraticDiscriminantAnalysis().fit(X, three)
    line = sx.LinearRegression().fit(t, value)
    curve = sx.PolynomialRegression(degree=7).fit(t, value)
    verdict = sx.separability(X, y)
    return {
        "DecisionDisplay, lines": lambda: plots.DecisionDisplay.from_estimator(logistic, X, y),
        "DecisionDisplay, probabilities": lambda: plots.DecisionDisplay.from_estimator(
            logistic, X, y, shade="probability"
        ),
        "DecisionDisplay, surface": lambda: plots.DecisionDisplay.from_estimator(
            logistic, X, y, surface=True
        ),
        "DecisionDisplay, 30 columns": lambda: plots.DecisionDisplay.from_estimator(many, wide, y),
        "DecisionDisplay, radial kernel": lambda: plots.DecisionDisplay.from_estimator(
            kernel, X, y
        ),
        "DecisionDisplay.steepness, 4 panels": lambda: plots.DecisionDisplay.steepness(
            logistic, X, y
        ),
        "MarginDisplay": lambda: plots.MarginDisplay.from_estimator(svm, X, y),
        "MarginDisplay, radial kernel": lambda: plots.MarginDisplay.from_estimator(
            kernel, X[:2000], y[:2000]
        ),
        "PerceptronDisplay": lambda: plots.PerceptronDisplay.from_estimator(
            perceptron, apart, away
        ),
        "LossDisplay": lambda: plots.LossDisplay.from_estimator(logistic, X, y),
        "SeparabilityDisplay": lambda: plots.SeparabilityDisplay.from_verdict(verdict, X, y),
        "DiscriminantDisplay, LDA": lambda: plots.DiscriminantDisplay.from_estimator(lda, X, three),
        "DiscriminantDisplay, QDA": lambda: plots.DiscriminantDisplay.from_estimator(qda, X, three),
        "KernelDisplay, 3 panels": lambda: plots.KernelDisplay.from_estimator(quadratic, X, y),
        "LeastSquaresDisplay": lambda: plots.LeastSquaresDisplay.from_estimator(line, t, value),
        "PolynomialDisplay": lambda: plots.PolynomialDisplay.from_estimator(curve, t, value),
        "roc_display": lambda: plots.roc_display(logistic, X, y),
        "calibration_display": lambda: plots.calibration_display(logistic, X, y),
        "confusion_matrix_display": lambda: plots.confusion_matrix_display(logistic, X, y),
    }


def seconds(draw: Callable[[], Any]) -> float:
    """The seconds of one picture, from data to PNG."""
    from matplotlib import pyplot as plt

    start = time.perf_counter()
    display = draw()
    display.figure_.savefig(io.BytesIO(), format="png", dpi=100)
    took = time.perf_counter() - start
    plt.close("all")
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    mpl.use("agg")
    warnings.simplefilter("ignore")
    print(f"{given.points:,} points, matplotlib {mpl.__version__}, {platform.machine()}")
    print(f"{'picture':40s} median s   least s")
    for name, draw in pictures(given.points).items():
        seconds(draw)
        took = [seconds(draw) for _ in range(given.repeats)]
        print(f"{name:40s} {statistics.median(took):8.2f}  {min(took):8.2f}")


if __name__ == "__main__":
    main()
