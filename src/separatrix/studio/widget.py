"""The studio in a notebook: a widget with the same page, whose state is that of Python."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import anywidget
import numpy as np
import traitlets

from separatrix.geometry.hyperplane import Hyperplane
from separatrix.studio.errors import errors_of
from separatrix.studio.export import write_page
from separatrix.studio.fitting import Fitted, fitted
from separatrix.studio.heldout import held_out
from separatrix.studio.kernel import StudioModel
from separatrix.studio.page import joined, style
from separatrix.studio.state import PANELS, parse
from separatrix.studio.table import columns_of


class Studio(anywidget.AnyWidget):
    """Points that are drawn and dragged in a notebook, and real fits of them.

    Changes on the page are seen from Python, and the other way round.  In Jupyter the widget is
    shown where it stands last in a cell; in marimo by ``marimo.ui.anywidget(studio)``.

    Parameters
    ----------
    X : array-like or frame of shape (n_samples, n_features), optional
        Two columns of numbers, or more: those of a frame that are no numbers are left out, and the
        page can choose others for its axes.  With one column and numbers for ``y`` a curve is
        fitted to them.  By default two blobs.
    y : array-like of shape (n_samples,), optional
        The classes; if there are more than four, the most frequent ones are taken.
    features : two names or positions of columns, optional
        The axes to begin with; by default the first two.
    model : str, optional
        A name from :attr:`models`; by default ``"logistic"``, or ``"regression"`` for one
        column.
    options : dict, optional
        Parameters of the model, as in :attr:`parameters`.
    theme : {"auto", "light", "dark"}, default="auto"

    Raises
    ------
    ValueError
        For columns that do not exist, data that are not numbers, or an invalid state.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix.studio import Studio
    >>> iris = load_iris()
    >>> studio = Studio(iris.data, iris.target_names[iris.target], features=(2, 3), model="lda")
    >>> studio.names["classes"]
    ['setosa', 'versicolor', 'virginica']
    >>> studio.model, studio.options = "linear_svm", {"C": 10.0}
    >>> print(studio.certificate.status, len(studio.points))
    optimal 150
    >>> studio.points = [[0, 0, 0], [1, 1, 1]]
    >>> studio.estimator.coef_.round(3).tolist()
    [[1.0, 1.0]]
    """

    _esm = joined()
    _css = style()

    state: Any = traitlets.Dict().tag(sync=True)
    models: Any = traitlets.List().tag(sync=True)
    parameters: Any = traitlets.List().tag(sync=True)
    panels: Any = traitlets.Dict().tag(sync=True)
    show: Any = traitlets.Dict().tag(sync=True)
    seed_tables: Any = traitlets.Dict().tag(sync=True)
    theme: Any = traitlets.Unicode("auto").tag(sync=True)

    def __init__(
        self,
        X: Any = None,
        y: Any = None,
        *,
        features: Sequence[Any] | None = None,
        model: str | None = None,
        options: Mapping[str, Any] | None = None,
        theme: str = "auto",
    ) -> None:
        given = columns_of(X, y, features)
        self._kernel = StudioModel(given.table, given.labels, given.target, given.axes)
        self._found: tuple[str, Fitted] | None = None
        super().__init__(**{**self._kernel.traits, "theme": theme})
        model = given.model if model is None else model
        if given.points is not None:
            self._change(**given.points, source=None)
        if model is not None:
            self.model = model
        if options is not None:
            self.options = options
        self.on_msg(self._answer)

    @traitlets.validate("state")
    def _check(self, proposal: Any) -> dict[str, Any]:
        parse(proposal["value"])
        state: dict[str, Any] = proposal["value"]
        return state

    def _answer(self, widget: Any, content: Any, buffers: Any) -> None:
        notice = self._kernel.notice(content)
        if notice is not None:
            self.send(notice)
        self.send(self._kernel.reply(content))

    def _change(self, **parts: Any) -> None:
        self.state = {**self.state, **parts}

    # --- the state as attributes --------------------------------------------------------------

    @property
    def points(self) -> list[list[Any]]:
        """``[x, y, class]`` for each point, the class by its position among the names."""
        return [list(point) for point in self.state["points"]]

    @points.setter
    def points(self, points: Any) -> None:
        # These come from no shape from which fresh points could be drawn.
        made = [[float(x), float(y), int(c)] for x, y, c in points]
        self._change(points=made, source=None)

    @property
    def X(self) -> np.ndarray:
        """The coordinates of the points, of shape (n, 2)."""
        return np.array([point[:2] for point in self.state["points"]], dtype=float).reshape(-1, 2)

    @property
    def y(self) -> np.ndarray:
        """The names of the points' classes, of shape (n,)."""
        names = np.array(self.names["classes"])
        return names[[int(point[2]) for point in self.state["points"]]]

    @property
    def names(self) -> dict[str, Any]:
        """The names of the axes and of the classes."""
        return dict(self.state["names"])

    @names.setter
    def names(self, names: Mapping[str, Any]) -> None:
        self._change(names=dict(names))

    @property
    def model(self) -> str:
        """The kind of model."""
        return str(self.state["model"])

    @model.setter
    def model(self, model: str) -> None:
        kinds = [one["kind"] for one in PANELS.get(model, [])]
        panel = self.state["panel"]
        panel = panel if panel in kinds else (kinds[0] if kinds else "none")
        self._change(model=model, parameters={}, panel=panel)

    @property
    def options(self) -> dict[str, Any]:
        """All parameters of the model, also those that are at their defaults."""
        return dict(parse(self.state).parameters)

    @options.setter
    def options(self, options: Mapping[str, Any]) -> None:
        self._change(parameters=dict(options))

    @property
    def line(self) -> Hyperplane | None:
        """A line of one's own, which the page compares with the model's fit; None without one."""
        line = self.state.get("line")
        return None if line is None else Hyperplane(line[:2], line[2])

    @line.setter
    def line(self, line: Any) -> None:
        if isinstance(line, Hyperplane):
            line = line.theta
        self._change(line=None if line is None else [float(value) for value in line])

    @property
    def panel(self) -> str:
        """The second picture."""
        return str(self.state["panel"])

    @panel.setter
    def panel(self, panel: str) -> None:
        self._change(panel=panel)

    @property
    def test(self) -> dict[str, Any]:
        """The choice of the points that the model is tested on.

        ``hold_out`` is the percentage of the points that are held out: 0, 20, 30 or 50. With
        ``fresh`` true the model is tested on 100 new points of the same built-in shape instead.
        ``seed`` chooses which points. Keys that are not given have their defaults: 0, False and 0.
        """
        state = parse(self.state)
        return {"hold_out": state.hold_out, "fresh": state.fresh, "seed": state.seed}

    @test.setter
    def test(self, test: Mapping[str, Any]) -> None:
        self._change(test={"hold_out": 0, "fresh": False, "seed": 0, **test})

    @property
    def lift(self) -> list[str]:
        """The features that a linear model has besides the coordinates x and y.

        Any of ``"x2"``, ``"xy"``, ``"y2"`` and ``"sinx"``, or ``"poly"``: all coordinates of the
        polynomial kernel of degree 2.
        """
        return list(parse(self.state).lift)

    @lift.setter
    def lift(self, lift: Sequence[str]) -> None:
        self._change(lift=list(lift))

    # --- what was found -----------------------------------------------------------------------

    @property
    def estimator(self) -> Any:
        """The estimator, fitted to the points as they are now, without those held out.

        Raises
        ------
        ValueError
            Where it cannot be fitted to them.
        """
        return self._fitted().model

    def _fitted(self) -> Fitted:
        state = self.state
        key = json.dumps({**state, "view": None, "panel": None, "show": None}, sort_keys=True)
        if self._found is None or self._found[0] != key:
            self._found = (key, fitted(parse(state)))
        return self._found[1]

    @property
    def certificate(self) -> Any:
        """The certificate of the estimator; None for a model that minimises nothing."""
        return getattr(self.estimator, "certificate_", None)

    @property
    def held_out(self) -> np.ndarray:
        """A mask over :attr:`points`, true for those that are held out.

        Examples
        --------
        >>> from separatrix.studio import Studio
        >>> studio = Studio()
        >>> studio.test = {"hold_out": 20, "seed": 1}
        >>> int(studio.held_out.sum()), len(studio.points)
        (12, 60)
        """
        return held_out(parse(self.state))

    @property
    def errors(self) -> dict[str, Any] | None:
        """The training error and the test error; None where nothing is held out or drawn anew.

        Both are shares of points on the wrong side, or mean squared errors of a regression, with
        the numbers of points that they are of.

        Examples
        --------
        >>> from separatrix.studio import Studio
        >>> studio = Studio()
        >>> studio.test = {"fresh": True}
        >>> studio.errors["test"]
        {'error': 0.0, 'mistakes': 0, 'points': 100}
        """
        found = errors_of(self._fitted())
        return None if found is None else {key: found[key] for key in ("training", "test")}

    def to_html(
        self,
        path: str | os.PathLike[str],
        *,
        models: Sequence[str] | None = None,
        title: str = "separatrix studio",
        notes: bool = False,
    ) -> None:
        """Write one page that needs nothing else and replays what was recorded.

        Parameters
        ----------
        path : str or path
        models : sequence of str, optional
            The models of these points that the page can show: the current one with its current
            options, others with their defaults.  By default the current one alone.
        title : str
        notes : bool, default=False
            Whether the page is a worksheet: the steps of the current model with a field beside
            each, and a button that saves the page with what was written.

        Raises
        ------
        ValueError
            For a model that does not exist, or that cannot be fitted to the points.
        """
        write_page(
            path,
            self._kernel,
            self.state,
            models=models,
            title=title,
            theme=self.theme,
            notes=notes,
        )
