"""The widest band between two classes, and a textbook's shortcut to it, side by side.

The shortcut: correct a perceptron until every point has ``y (w.x + b) >= 1``, and take the plane
where it stops.  It separates, and the formula for the width of the band, ``2 / |w|``, can be
computed.  But nothing made ``|w|`` small, so the band is not the widest one, and how far it falls
short depends on the learning rate and on the order of the rows.  ``LinearSVC(C=inf)`` minimises
``|w|`` under the same constraints, and proves how wide a band there can be at most.

Run it with ``python examples/hard_margin.py`` where separatrix is installed.  It takes seconds.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_iris

from separatrix import LinearSVC, Perceptron


def band(model, X: np.ndarray, signs: np.ndarray) -> tuple[float, float]:
    """``|w|``, and the width of the band around the plane that no point is in."""
    length = float(np.linalg.norm(model.coef_))
    nearest = float(np.min(signs * model.decision_function(X))) / length
    return length, 2.0 * nearest


def compare(title: str, X: np.ndarray, signs: np.ndarray, *, fit_intercept: bool) -> None:
    """Print the shortcut at some learning rates, and the hard margin."""
    print(f"\n{title}: {X.shape[0]} points in {X.shape[1]} dimensions")
    print(f"{'':34s}{'|w|':>10s}{'2/|w|':>10s}{'band':>10s}{'of widest':>11s}")
    hard = LinearSVC(C=np.inf, fit_intercept=fit_intercept, tol=1e-10).fit(X, signs)
    widest = band(hard, X, signs)[1]

    def line(name: str, model) -> None:
        length, width = band(model, X, signs)
        print(f"{name:34s}{length:10.4f}{2 / length:10.4f}{width:10.4f}{width / widest:11.1%}")

    for rate in (1.0, 0.1, 0.01):
        shortcut = Perceptron(
            margin=1.0, learning_rate=rate, fit_intercept=fit_intercept, max_passes=100_000
        ).fit(X, signs)
        line(f"margin perceptron, rate {rate:g}", shortcut)
        print(f"{'':4s}{shortcut.n_updates_:,} updates in {shortcut.n_iter_:,} passes")
    line("hard margin, LinearSVC(C=inf)", hard)

    certificate = hard.certificate_
    most = 2.0 / np.sqrt(2.0 * certificate.dual)
    print(f"    {certificate}")
    print(f"    proved: no empty band is wider than {most:.12f}; this one is {widest:.12f} wide")
    print(f"    {len(hard.support_)} points hold it:")
    for row, weight in zip(hard.support_, hard.dual_coef_[0], strict=True):
        margin = signs[row] * hard.decision_function(X[[row]])[0]
        print(f"      row {row:3d} {X[row].tolist()}: y alpha {weight:+.6f}, margin {margin:.12f}")


def main() -> None:
    points = np.array([[-1.0, -1.0], [1.0, 0.0], [-1.0, 1.5]])
    signs = np.array([1.0, -1.0, 1.0])
    compare("Three points, planes through the origin", points, signs, fit_intercept=False)
    # With an offset there are more planes to choose from; here none of them is better.
    compare("Three points, any plane", points, signs, fit_intercept=True)
    features, species = load_iris(return_X_y=True)
    setosa = np.where(species == 0, 1.0, -1.0)
    compare("Iris, setosa against the rest", features, setosa, fit_intercept=True)


if __name__ == "__main__":
    main()
