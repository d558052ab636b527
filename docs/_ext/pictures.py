"""Pictures of the pages and of the course, each for light and for dark paper."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("agg")

import matplotlib.pyplot as plt

from separatrix.plots import style

# Text as outlines looks the same on every machine; named parts keep the same names.
_SVG = {"svg.fonttype": "path", "svg.hashsalt": "separatrix"}


def light_theme(gallery_conf: Any, where: Any) -> None:
    """Set matplotlib to its defaults and the light theme before an example runs."""
    plt.close("all")
    mpl.rcdefaults()
    mpl.use("agg")
    mpl.rcParams.update(style.settings(**style.THEMES["light"]))
    mpl.rcParams.update(_SVG)


def _darkened(light: str) -> str:
    """The picture with the light theme's colours replaced by the dark theme's."""
    pairs = {
        style.THEMES["light"][part]: style.THEMES["dark"][part]
        for part in ("ink", "muted", "grid", "paper")
    }
    return re.sub("|".join(pairs), lambda found: pairs[found[0]], light)


def _save(figure: Any, path: Path) -> None:
    """Save the figure as it is, and beside it one for dark paper."""
    figure.savefig(path, format="svg", bbox_inches="tight", metadata={"Date": None})
    # matplotlib marks its files with addresses, which a page has no use for.
    light = re.sub(
        r"<!DOCTYPE.*?>|<metadata>.*?</metadata>", "", path.read_text("utf-8"), flags=re.S
    )
    path.write_text(light, "utf-8")
    path.with_name(f"{path.stem}-dark.svg").write_text(_darkened(light), "utf-8")


def _both(path: str, indent: str = "") -> str:
    dark = path.removesuffix(".svg") + "-dark.svg"
    return "".join(
        f".. image:: {name}\n   :class: {shown} lesson-picture\n   :alt: {{alt}}\n\n"
        for name, shown in ((path, "only-light"), (dark, "only-dark"))
    )


def drawn_for_two_themes(block: Any, block_vars: Any, gallery_conf: Any, **kwargs: Any) -> str:
    """Scrape the open figures of an example, which are drawn with the light theme."""
    rst = []
    for number in plt.get_fignums():
        figure = plt.figure(number)
        path = Path(next(block_vars["image_path_iterator"])).with_suffix(".svg")
        _save(figure, path)
        title = figure.get_suptitle() or next(
            (text for ax in figure.axes if (text := ax.get_title(loc="left") or ax.get_title())),
            "",
        )
        alt = " ".join(f"{title or 'Picture'} (drawn by the code above)".split())
        name = "/" + path.relative_to(gallery_conf["src_dir"]).as_posix()
        rst.append(_both(name).format(alt=alt))
    plt.close("all")
    return "".join(rst)


_THUMBNAIL = re.compile(
    r"^(?P<indent> *)\.\. image:: (?P<name>\S+)(?P<kind>_thumb\.svg)\n"
    r"(?P<rest>(?:(?P=indent) +\S.*\n)*)",
    flags=re.M,
)


def thumbnails_for_two_themes(app: Any, page: str, source: list[str]) -> None:
    """Give the small pictures of the course's contents a dark twin, too."""

    def twins(found: re.Match[str]) -> str:
        light = Path(app.srcdir) / (found["name"].removeprefix("/") + found["kind"])
        dark = light.with_name(f"{light.stem}-dark.svg")
        dark.write_text(_darkened(light.read_text("utf-8")), "utf-8")
        indent, rest = found["indent"], found["rest"]
        return "".join(
            f"{indent}.. image:: {found['name']}_thumb{suffix}.svg\n{rest}"
            f"{indent}  :class: {shown}\n\n"
            for suffix, shown in (("", "only-light"), ("-dark", "only-dark"))
        )

    if page == "auto_examples/index":
        source[0] = _THUMBNAIL.sub(twins, source[0])


def draw_pictures(folder: Path) -> None:
    """Draw the pictures of the pages anew."""
    from sklearn.datasets import load_iris

    from separatrix import LinearSVC
    from separatrix.plots import MarginDisplay

    folder.mkdir(parents=True, exist_ok=True)
    light_theme(None, None)
    iris = load_iris(as_frame=True)
    rows = iris.target > 0
    X = iris.data.loc[rows, ["petal length (cm)", "sepal length (cm)"]]
    y = iris.target_names[iris.target[rows]]
    model = LinearSVC(loss="hinge", C=10).fit(X, y)
    display = MarginDisplay.from_estimator(model, X, y)
    _save(display.figure_, folder / "margin.svg")
    plt.close("all")
