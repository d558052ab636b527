"""The kernel trick: points that no line separates, lifted to where a plane does.

An ellipse becomes a line, the opposite corners of a square come apart, and any points whatever
with any labels are separable, which is why separating them proves nothing.  What is said to be
separable, or not, comes with a proof, which is checked again here, in exact arithmetic.

Run it with ``python examples/kernel_trick.py [PICTURE]`` where separatrix and matplotlib are
installed.  It draws ``kernel_trick.png``, or the picture that it is told.  It takes seconds.
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import numpy as np

from separatrix import separability
from separatrix.geometry import Separability
from separatrix.kernels import DeltaKernel, PolynomialKernel, RBFKernel, SquaresKernel

# Half the axes of the ellipse.
AXES = np.array([3.0, 1.5])
GAMMAS = 10.0 ** np.arange(-2, 6)


def inside_and_outside(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Points around the ellipse, +1 inside and -1 outside, none of them close to it."""
    points = np.random.default_rng(seed).uniform(-1.8, 1.8, size=(20 * n, 2)) * AXES
    size = ((points / AXES) ** 2).sum(axis=1)
    keep = np.flatnonzero((size < 0.8) | ((size > 1.25) & (size < 3.0)))[:n]
    return points[keep].round(3), np.where(size[keep] < 1.0, 1, -1)


def judged(title: str, points: np.ndarray, labels: np.ndarray) -> Separability:
    """Decide, check the proof, and print both."""
    verdict = separability(points, labels)
    proof = verdict.check(points, labels)
    if not proof:
        raise SystemExit(f"the proof does not hold: {proof}")
    print(f"  {title + ':':28}{'separable' if verdict.separable else 'not separable'}")
    print(f"      checked: {proof}")
    return verdict


def ellipse() -> tuple[np.ndarray, np.ndarray, Separability]:
    """The ellipse that is a line in the squares."""
    print("An ellipse is a line in the squares\n")
    points, labels = inside_and_outside(120, seed=0)
    lift = SquaresKernel()
    judged("in (x0, x1)", points, labels)
    names = ", ".join(lift.lift_names(2))
    verdict = judged(f"in ({names})", lift.lift(points), labels)
    (w0, w1), b = verdict.hyperplane.w, verdict.hyperplane.b
    print(f"\n  the line there: {w0:.4g} x0^2 {w1:+.4g} x1^2 {b:+.4g} = 0")
    axes = np.sqrt([-b / w0, -b / w1])
    print(f"  is here an ellipse, half its axes {axes[0]:.2f} and {axes[1]:.2f};")
    print(f"  the classes were made with {AXES[0]:.2f} and {AXES[1]:.2f}, and a band around it")
    return points, labels, verdict


def corners() -> tuple[np.ndarray, np.ndarray, PolynomialKernel, Separability]:
    """Exclusive or, and all monomials up to degree 2."""
    print("\nOpposite corners, and a product\n")
    points = np.array([(1.0, 1.0), (-1.0, -1.0), (1.0, -1.0), (-1.0, 1.0)])
    labels = np.array([1, 1, -1, -1])
    kernel = PolynomialKernel(degree=2, coef0=1)
    judged("in (x0, x1)", points, labels)
    lifted = kernel.lift(points)
    verdict = judged("in all monomials", lifted, labels)
    heads = "  ".join(f"{f'({x0:g}, {x1:g})':>10}" for x0, x1 in points)
    print(f"\n  {'column':>16}  {heads}   coefficient")
    for name, column, w in zip(kernel.lift_names(2), lifted.T, verdict.hyperplane.w, strict=True):
        values = "  ".join(f"{v:10.4f}" for v in column)
        # What rounding leaves of a zero is shown as one.
        print(f"  {name:>16}  {values}{round(w, 4) + 0.0:14.4f}")
    gap = np.abs(lifted @ lifted.T - kernel(points)).max()
    print(f"\n  no need to go there: {kernel.formula} is the scalar product of these columns;")
    print(f"  the largest difference between the two is {gap:.1g}")
    return points, labels, kernel, verdict


def any_labels(n: int = 7) -> int:
    """Every labelling of n points, each lifted to a unit vector of its own; returns how many."""
    print("\nAny points, any labels\n")
    lifted = DeltaKernel().lift(np.random.default_rng(1).normal(size=(n, 2)))
    if not np.array_equal(lifted, np.eye(n)):
        raise SystemExit("distinct points did not become distinct unit vectors")
    count = 0
    for signs in itertools.product((-1, 1), repeat=n):
        labels = np.array(signs)
        # The whole argument: with w = y, the score of point i is y . e_i = y_i.
        if not np.array_equal(lifted @ labels, labels):
            raise SystemExit("a unit vector has another score than its label")
        if len(set(signs)) == 2:
            verdict = separability(lifted, labels)
            if not (verdict.separable and verdict.check(lifted, labels)):
                raise SystemExit(f"the labels {signs} were not separable")
            count += 1
    print(f"  {n} points, each lifted to a unit vector e_i of its own: all {count} ways to give")
    print("  them two labels are separable, by the plane w = (y_1, ..., y_n).")
    print("  A new point is lifted to a direction that none of them has: its score is 0,")
    print("  whatever the labels were.  To separate what was seen is not to have learned.")
    return count


def mistakes(kernel: RBFKernel, seen: tuple, new: tuple) -> tuple[float, float]:
    """Shares of mistakes of the plane ``w = sum_i y_i phi(x_i)``; a score of 0 is one."""
    points, labels = seen
    return tuple(float(np.mean(kernel(x, points) @ labels * y <= 0)) for x, y in (seen, new))


def towards_unit_vectors() -> dict[str, np.ndarray]:
    """The Gaussian kernel on its way to the identity, with true labels and with tossed coins."""
    print("\nThe Gaussian kernel, as gamma grows\n")
    rng = np.random.default_rng(2)
    seen, new = inside_and_outside(120, seed=0), inside_and_outside(1000, seed=5)
    tossed = [(x, rng.choice([-1, 1], size=len(x))) for x, _ in (seen, new)]
    print(f"  {'':10}{'largest k between':>19}{'mistakes, labels true':>26}", end="")
    print(f"{'mistakes, coins tossed':>26}")
    print(f"  {'gamma':>10}{'two points':>19}{'seen':>17}{'new':>9}{'seen':>17}{'new':>9}")
    rows = []
    for gamma in GAMMAS:
        kernel = RBFKernel(gamma)
        nearest = np.abs(kernel(seen[0]) - DeltaKernel()(seen[0])).max()
        rows.append([*mistakes(kernel, seen, new), *mistakes(kernel, *tossed)])
        a, b, c, d = rows[-1]
        print(f"  {gamma:10g}{nearest:19.3g}{a:17.1%}{b:9.1%}{c:17.1%}{d:9.1%}")
    print("\n  In the end the matrix is the identity: no mistakes on what was seen, be it noise,")
    print("  and nothing to say about anything new (a score of 0 counts as a mistake).")
    names = ["true, seen", "true, new", "tossed, seen", "tossed, new"]
    return dict(zip(names, np.array(rows).T, strict=True))


def draw(path: Path, oval: tuple, square: tuple, curves: dict[str, np.ndarray]) -> None:
    """The three stories, side by side: here above, and there below."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 8.4), layout="constrained")
    grid = figure.add_gridspec(2, 3)
    colours = {1: "#0072b2", -1: "#d55e00"}

    def scatter(axes, points: np.ndarray, labels: np.ndarray, size: int) -> None:
        for label, mark in ((1, "o"), (-1, "s")):
            of = points[labels == label]
            axes.scatter(of[:, 0], of[:, 1], s=size, c=colours[label], marker=mark, zorder=3)

    def regions(axes, limits: tuple, score) -> None:
        x, y = np.meshgrid(np.linspace(*limits[:2], 400), np.linspace(*limits[2:], 400))
        values = score(np.column_stack([x.ravel(), y.ravel()])).reshape(x.shape)
        shades = ["#f6dccb", "#cfe3f0"]
        axes.contourf(x, y, values, levels=[-np.inf, 0, np.inf], colors=shades)
        axes.contour(x, y, values, levels=[0], colors="black", linewidths=1.5)

    points, labels, verdict = oval
    plane = verdict.hyperplane
    w, b = np.array(plane.w), plane.b
    lift = SquaresKernel().lift
    here, there = figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[1, 0])
    regions(here, (-5.4, 5.4, -5.0, 5.0), lambda x: lift(x) @ w + b)
    scatter(here, points, labels, 18)
    here.set(title="An ellipse here ...", xlabel="x₀", ylabel="x₁", aspect="equal")
    regions(there, (0, 27, 0, 7), lambda x: x @ w + b)
    scatter(there, lift(points), labels, 18)
    there.set(title="... is a line in the squares", xlabel="x₀²", ylabel="x₁²")

    points, labels, kernel, verdict = square
    w, b = np.array(verdict.hyperplane.w), verdict.hyperplane.b
    here, there = figure.add_subplot(grid[0, 1]), figure.add_subplot(grid[1, 1])
    regions(here, (-1.6, 1.6, -1.6, 1.6), lambda x: kernel.lift(x) @ w + b)
    scatter(here, points, labels, 90)
    here.set(title="Opposite corners here ...", xlabel="x₀", ylabel="x₁")
    # Two of the six coordinates; the others do not tell the corners apart.
    names = kernel.lift_names(2)
    shown = [names.index("sqrt(2) x0"), names.index("sqrt(2) x0 x1")]
    middle = kernel.lift(points).mean(axis=0)
    rest = float(np.delete(w, shown) @ np.delete(middle, shown)) + b
    regions(there, (-2.2, 2.2, -2.2, 2.2), lambda x: x @ w[shown] + rest)
    scatter(there, kernel.lift(points)[:, shown], labels, 90)
    there.set(
        title="... come apart in the product",
        xlabel="√2 x₀",
        ylabel="√2 x₀ x₁",
    )

    above = figure.add_subplot(grid[0, 2])
    styles = [("-", "o"), ("--", "o"), ("-", "s"), ("--", "s")]
    shades = ["#0072b2", "#0072b2", "#d55e00", "#d55e00"]
    for (name, values), (line, mark), shade in zip(curves.items(), styles, shades, strict=True):
        above.plot(GAMMAS, 100 * values, line, marker=mark, color=shade, label=name, ms=5)
    above.set(
        xscale="log",
        title="Gaussian kernel: mistakes in %",
        xlabel="γ",
        ylim=(-4, 104),
    )
    above.set_xticks(GAMMAS[::2], [f"{gamma:g}" for gamma in GAMMAS[::2]])
    above.minorticks_off()
    above.legend(title="labels, points", loc="upper left", frameon=False)
    below = grid[1, 2].subgridspec(1, 3)
    sample, signs = inside_and_outside(30, seed=0)
    order = np.argsort(-signs, kind="stable")
    for place, gamma in enumerate((0.1, 1.0, 100.0)):
        axes = figure.add_subplot(below[place])
        axes.imshow(RBFKernel(gamma)(sample[order]), vmin=0, vmax=1, cmap="Blues")
        axes.set(title=f"γ = {gamma:g}", xticks=[], yticks=[])
        if place == 1:
            axes.set_xlabel("its matrix of 30 points tends to the identity")
    figure.savefig(path, dpi=120)


def main(picture: str | Path = "kernel_trick.png") -> None:
    """Tell the three stories, and draw them."""
    oval = ellipse()
    square = corners()
    any_labels()
    curves = towards_unit_vectors()
    draw(Path(picture), oval, square, curves)
    print(f"\ndrawn: {picture}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
