"""Run lessons of the course, and save their pictures: ``python examples 05 --save out``.

Without ``--save`` a lesson runs as ``python examples/05_margins.py`` does.
"""

from __future__ import annotations

import argparse
import runpy
from pathlib import Path

HERE = Path(__file__).resolve().parent


def run(path: Path, folder: Path | None) -> None:
    """Run a lesson; with a folder, every figure that it shows goes there as a PNG."""
    if folder is None:
        runpy.run_path(str(path), run_name="__main__")
        return
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    count = 0

    def save(*args: object, **kwargs: object) -> None:
        nonlocal count
        for number in plt.get_fignums():
            count += 1
            file = folder / f"{path.stem}-{count}.png"
            plt.figure(number).savefig(file, dpi=150)
            print(f"saved {file}")
        plt.close("all")

    folder.mkdir(parents=True, exist_ok=True)
    show, plt.show = plt.show, save
    try:
        runpy.run_path(str(path), run_name="__main__")
    finally:
        plt.show = show


def main() -> None:
    lessons = {path.stem[:2]: path for path in sorted(HERE.glob("[0-9][0-9]_*.py"))}
    parser = argparse.ArgumentParser(
        prog="python examples",
        description="Run lessons of the course.",
        epilog="lessons: " + ", ".join(path.stem for path in lessons.values()),
    )
    parser.add_argument(
        "lesson",
        nargs="+",
        choices=list(lessons),
        metavar="NN",
        help="its number, as 05",
    )
    parser.add_argument(
        "--save", type=Path, metavar="DIR", help="save its pictures there, as PNG"
    )
    given = parser.parse_args()
    for number in given.lesson:
        run(lessons[number], given.save)


if __name__ == "__main__":
    main()
