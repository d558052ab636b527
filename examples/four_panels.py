"""Four small sets of points: which can a line separate, and which a line through the origin?

Run it with ``python examples/four_panels.py`` where separatrix is installed. Every answer comes
with its proof, which is checked again here, in exact arithmetic.
"""

from __future__ import annotations

from separatrix.geometry import Hyperplane, Separability, separability

PANELS = {
    # The same direction from the origin, one class farther away than the other.
    "A: near and far": (
        [(1, 1), (2, 1), (1, 2), (3, 3), (4, 3), (3, 4)],
        [-1, -1, -1, 1, 1, 1],
    ),
    # Exclusive or: the diagonals of a square cross.
    "B: opposite corners": (
        [(1, 1), (-1, -1), (1, -1), (-1, 1)],
        [1, 1, -1, -1],
    ),
    # Either side of a line through the origin.
    "C: left and right": (
        [(2, 1), (3, -1), (1, 0), (-2, 1), (-1, -2), (-3, 0)],
        [1, 1, 1, -1, -1, -1],
    ),
    # One class in the midst of the other.
    "D: inside and outside": (
        [(0, 1), (1, 0), (3, 3), (-3, 3), (0, -4)],
        [1, 1, -1, -1, -1],
    ),
}


def main() -> None:
    """Print the panels, the answers and their proofs."""
    for title, (points, labels) in PANELS.items():
        print(f"\n{title}\n")
        print("  row     x0   x1   label")
        for row, ((x0, x1), label) in enumerate(zip(points, labels, strict=True)):
            print(f"  {row:>3}   {x0:>4} {x1:>4}   {label:>+5}")
        print()
        for fit_intercept in (True, False):
            verdict = separability(points, labels, fit_intercept=fit_intercept)
            where = "with an offset" if fit_intercept else "through the origin"
            print(f"  {where + ':':20}{'yes' if verdict.separable else 'no'}")
            for line in explain(verdict, points, labels):
                print(f"      {line}")
            proof = verdict.check(points, labels)
            if not proof:
                raise SystemExit(f"the proof does not hold: {proof}")
            print(f"      checked: {proof}")
    print(
        "\nSeparable through the origin but not with an offset cannot be:"
        "\na line through the origin is a line with the offset 0."
    )


def explain(verdict: Separability, points: list, labels: list) -> list[str]:
    """A verdict's witness in words and numbers."""
    if verdict.separable:
        return [
            f"the line {plane_text(verdict.hyperplane)} has the two classes on its two sides;",
            f"it is {verdict.margin} from the nearest points, and no other is farther",
        ]
    # Multipliers: weights of some rows, with sum 1.
    weights = dict(zip(verdict.witness.rows, verdict.witness.multipliers, strict=True))
    if not verdict.fit_intercept:
        terms = [f"{a} ({labels[row]:+}) {points[row]}" for row, a in weights.items()]
        return [
            "some points, each with its label and a weight, add up to nothing:",
            f"{' + '.join(terms)} = (0, 0);",
            "so label times w . x cannot be positive for all of them, whatever w",
        ]
    sides = []
    for label in (1, -1):
        # Of each class the weights have the sum 1/2.
        side = [(2 * a, points[row]) for row, a in weights.items() if labels[row] == label]
        sides.append(" + ".join(f"{point}" if a == 1 else f"{a} {point}" for a, point in side))
    return [f"there is a point among both classes: {sides[0]} = {sides[1]}"]


def plane_text(plane: Hyperplane) -> str:
    """The equation of a line, in short."""
    parts = [(w, f" x{j}") for j, w in enumerate(plane.w)] + [(plane.b, "")]
    text = " ".join(f"{'-' if v < 0 else '+'} {abs(v):.4g}{name}" for v, name in parts if v)
    return text.removeprefix("+ ") + " = 0"


if __name__ == "__main__":
    main()
