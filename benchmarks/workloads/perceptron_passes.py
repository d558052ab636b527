"""Seconds a perceptron pass, beside scikit-learn's, with one thread.

    python -m benchmarks.workloads.perceptron_passes [--quick] [--cpu]

Both run the same number of passes over rows in the same order, this library with all that it adds:
the best weights seen, and at the end a certificate that counts all rows. Fits take turns; a figure
is the median. "Marginal" is what a further pass costs: the difference between a fit of many passes
and a fit of one, so that validation and the final certificate drop out. ``--cpu`` measures
processor time, for a machine that others use too.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
import warnings

import numpy as np

from benchmarks.workloads.base import noisy_labels
from benchmarks.workloads.reviews import load as load_reviews

HEADER = f"{'data':34s} {'passes':>6s} {'separatrix':>21s} {'scikit-learn':>21s} {'ratio':>6s}"


def dense(n: int = 500_000, d: int = 100) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    return X, noisy_labels(X @ rng.standard_normal(d), rng, 2.0)


def compare(name: str, X, y: np.ndarray, passes: int, repeats: int, clock, order: str) -> str:
    """One line of the table: milliseconds a pass in whole fits and in further passes."""
    from sklearn.linear_model import Perceptron as Peer

    from separatrix import Perceptron

    def own(k: int):
        return Perceptron(order=order, max_passes=k, random_state=0)

    def peer(k: int):
        return Peer(tol=None, max_iter=k, shuffle=order == "random", random_state=0)

    own(1).fit(X, y)  # compiled, or read from the cache, before anything is timed
    taken: dict[tuple, list[float]] = {(m, k): [] for m in (own, peer) for k in (1, passes)}
    for _ in range(repeats):
        for (make, k), times in taken.items():
            model = make(k)
            start = clock()
            model.fit(X, y)
            times.append(1e3 * (clock() - start))
    medians = {key: statistics.median(times) for key, times in taken.items()}
    cells = []
    for make in (own, peer):
        whole = medians[make, passes] / passes
        further = (medians[make, passes] - medians[make, 1]) / (passes - 1)
        cells.append(f"{whole:8.2f} ({further:8.2f}) ms")
    ratio = medians[peer, passes] / medians[own, passes]
    return f"{name:34s} {passes:6d} {cells[0]:>21s} {cells[1]:>21s} {ratio:6.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, fewer repeats")
    parser.add_argument("--cpu", action="store_true", help="processor time instead of wall time")
    args = parser.parse_args()
    if os.environ.get("OMP_NUM_THREADS") != "1":
        # It is read when the libraries are loaded, which is done by now: start over.
        command = [sys.executable, "-m", "benchmarks.workloads.perceptron_passes", *sys.argv[1:]]
        os.execve(sys.executable, command, {**os.environ, "OMP_NUM_THREADS": "1"})
    warnings.simplefilter("ignore")  # neither is to converge here
    clock = time.process_time if args.cpu else time.perf_counter
    repeats = 3 if args.quick else 9
    print("ms a pass in a whole fit (and of one more pass); ratio: scikit-learn / separatrix")
    print(HEADER, flush=True)
    X, y = dense(50_000 if args.quick else 500_000)
    shape = f"{len(y):,} x {X.shape[1]}"
    for order, k in (("cyclic", 10), ("random", 5)):
        print(compare(f"dense {shape}, {order}", X, y, k, repeats, clock, order), flush=True)
    data = load_reviews()
    X, y = data.csr, data.y
    assert X is not None
    if args.quick:
        X, y = X[:2500], y[:2500]
    kind = "stand-in for reviews" if data.stand_in else "reviews"
    name = f"{kind} {X.shape[0]:,} x {X.shape[1]:,}"
    for order in ("cyclic", "random"):
        print(compare(f"{name}, {order}", X, y, 20, repeats, clock, order), flush=True)


if __name__ == "__main__":
    main()
