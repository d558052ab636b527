"""Draw the pictures of README.md again: ``python docs/readme_pictures.py``."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from sklearn.datasets import load_iris, make_circles

from separatrix import SVC, LinearSVC
from separatrix.kernels import PolynomialKernel
from separatrix.plots import KernelDisplay, MarginDisplay, theme

FOLDER = Path(__file__).resolve().parent / "images"


def main() -> None:
    mpl.use("agg")
    FOLDER.mkdir(exist_ok=True)
    iris = load_iris(as_frame=True)
    two = iris.target.to_numpy() > 0
    X, y = iris.data.iloc[two, 2:], iris.target_names[iris.target[two]]
    with theme("light"):
        panels = MarginDisplay.from_path(LinearSVC(loss="hinge"), X, y, lam=[1, 0.1, 0.001])
        panels.figure_.savefig(FOLDER / "margins.png", dpi=110)
        X, y = make_circles(120, noise=0.12, factor=0.4, random_state=0)
        model = SVC(kernel=PolynomialKernel(degree=2, coef0=1.0)).fit(X, np.where(y, "in", "out"))
        display = KernelDisplay.from_estimator(model, X, np.where(y, "in", "out"))
        display.figure_.savefig(FOLDER / "kernel.png", dpi=110)


if __name__ == "__main__":
    main()
