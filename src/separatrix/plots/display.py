"""The base of every display: data first, then axes and a figure once it is drawn."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from copy import copy
from pathlib import Path
from typing import Any, Self

import matplotlib as mpl
import numpy as np
from matplotlib.animation import FFMpegWriter, PillowWriter
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from separatrix.data.validation import check_number
from separatrix.plots.points import figure_of, one_axes, write_legend

# How an artist looks, as keywords of matplotlib.
Looks = dict[str, Any]

# The most frames of an animation, by default.
_FRAMES = 120


class Display:
    """The axes and the figure that a display is drawn in, by the names that all displays share.

    Attributes
    ----------
    axes_ : ndarray of Axes
    ax_ : Axes
        The main axes, or the only ones.
    figure_ : Figure
    """

    axes_: np.ndarray
    ax_: Axes
    figure_: Figure

    def _begin(self, axes: Any, main: int = 0) -> None:
        """Keep the axes that are about to be drawn in."""
        self.axes_ = np.atleast_1d(np.asarray(axes, dtype=object))
        self.ax_ = self.axes_.flat[main]
        self.figure_ = figure_of(self.ax_)


class Animated:
    """Displays that have steps, one a frame, and can be written as animations.

    Attributes
    ----------
    frame_size : (float, float)
        The width and the height of a frame, in inches.
    """

    frame_size: tuple[float, float] = (5.6, 6.2)

    @property
    def n_frames(self) -> int:
        """The number of frames of an animation."""
        raise NotImplementedError

    def legend_handles(self) -> list[Any]:
        """The handles of what has been drawn, for a legend."""
        raise NotImplementedError

    def _draw_step(self, k: int, ax: Axes) -> None:
        """Draw frame ``k`` without a legend."""
        raise NotImplementedError

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the last frame, which has all steps.

        Parameters
        ----------
        ax : Axes, optional

        Returns
        -------
        self
        """
        given = one_axes(ax, self.frame_size)
        self._draw_step(self.n_frames - 1, given)
        write_legend(given, self.legend_handles(), below=True, inside=ax is not None)
        return self

    def draw_frame(self, k: int, ax: Axes) -> None:
        """Draw frame ``k`` into axes that are empty, and a legend below them with the first.

        The figure of the axes is the same for all frames, and so is the layout, which is that of
        the first.

        Parameters
        ----------
        k : int
            The number of the frame, from 0 to ``n_frames - 1``.
        ax : Axes
        """
        self._draw_step(k, ax)
        if not figure_of(ax).legends:
            write_legend(ax, self.legend_handles(), below=True)

    def save_gif(
        self, path: str | os.PathLike[str], *, fps: float = 2.0, dpi: float = 120.0
    ) -> Path:
        """Write the steps as an animation that repeats and holds its last picture.

        Parameters
        ----------
        path : str or path
            A name that ends in ``.gif``.
        fps : float, default=2.0
            Steps a second.
        dpi : float, default=120.0
            Dots an inch.

        Returns
        -------
        Path
            The path of the file, which is complete, or not written at all.  It has all steps, or,
            if there are more than 120, the first few, the last, and some between, ever farther
            apart.

        Raises
        ------
        ValueError
            For another ending of the name, a folder that is not there, or a number out of its
            range.
        """
        return self._save_frames(path, None, fps, dpi, (".gif",))[0]

    def _save_frames(
        self,
        path: str | os.PathLike[str],
        frames: Sequence[int] | None,
        fps: float,
        dpi: float,
        endings: Sequence[str] = (".gif", ".mp4", ".png"),
    ) -> list[Path]:
        """Write frames, from 0, as one animation or as numbered pictures; all files or none."""
        check_number("fps", fps, above=0)
        check_number("dpi", dpi, above=0)
        target = Path(path)
        kind = target.suffix.lower()
        if kind not in endings:
            known = " or ".join([", ".join(endings[:-1]), endings[-1]][len(endings) == 1 :])
            raise ValueError(f"{target.name!r} must end in {known}.")
        if not target.parent.is_dir():
            raise ValueError(f"There is no folder {str(target.parent)!r}.")
        if kind == ".mp4" and not FFMpegWriter.isAvailable():
            raise ValueError(
                "An .mp4 file needs ffmpeg, which is not installed; give the name of "
                "a .gif file instead."
            )
        if frames is None:
            frames = [k - 1 for k in spread_steps(self.n_frames, _FRAMES)]
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".separatrix-") as folder:
            files = self._write_frames(Path(folder) / target.name, frames, fps, dpi)
            for file in files:
                os.replace(file, target.with_name(file.name))
        return [target.with_name(file.name) for file in files]

    def _write_frames(
        self, path: Path, frames: Sequence[int], fps: float, dpi: float
    ) -> list[Path]:
        # A whole number of dots, even, as video formats want it.
        width, height = (2 * round(v * dpi / 2) / dpi for v in self.frame_size)
        # Not by pyplot: a file is no window.
        figure, layout = Figure(figsize=(width, height), dpi=dpi), ConstrainedLayoutEngine()
        figure.set_layout_engine(layout)
        # What plot() left stays as it is.
        own, ax, kind = copy(self), figure.add_subplot(), path.suffix.lower()

        def draw(k: int) -> None:
            ax.clear()
            own.draw_frame(k, ax)
            if k == frames[0]:
                # The layout settles in a few steps; that of the first frame holds for all.
                for _ in range(4):
                    before = ax.get_position().bounds
                    layout.execute(figure)
                    if ax.get_position().bounds == before:
                        break
                figure.set_layout_engine("none")

        # Writers refuse a background that shines through.
        with mpl.rc_context({"savefig.bbox": "standard"}):
            if kind == ".png":
                digits, files = max(3, len(str(len(frames)))), []
                for i, k in enumerate(frames, 1):
                    draw(k)
                    files.append(path.with_name(f"{path.stem}-{i:0{digits}d}.png"))
                    figure.savefig(files[-1], dpi=dpi)
                return files
            writer: Any = (PillowWriter if kind == ".gif" else FFMpegWriter)(fps=fps)  # type: ignore[arg-type]
            with writer.saving(figure, str(path), dpi):
                for k in frames:
                    draw(k)
                    writer.grab_frame()
                # Time to look at the answer before it starts again.
                for _ in range(max(1, round(2.0 * fps))):
                    writer.grab_frame()
        return [path]


def spread_steps(n: int, limit: int) -> list[int]:
    """The numbers from 1 to ``n``; if more than ``limit``, the first few, then ever fewer."""
    if n <= limit:
        return list(range(1, n + 1))
    few = max(3, limit // 3)
    later = np.round(np.geomspace(few + 1, n, limit - few)).astype(int)
    return sorted({*range(1, few + 1), *later.tolist()})
