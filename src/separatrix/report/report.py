"""The report of a fit: one page that needs nothing else, and the same as data."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from separatrix._compiled import pool
from separatrix.assessment.certificates import certificate_of, certificate_record
from separatrix.assessment.documents import jsonable
from separatrix.assessment.evaluation_data import EvaluationData, of_arrays, of_sample, of_table
from separatrix.assessment.findings import diagnosis_of, finding_record
from separatrix.assessment.measuring import measure
from separatrix.assessment.records import details_of, model_name, support_record, versions
from separatrix.assessment.regression_diagnostics import diagnostics_record
from separatrix.geometry import Diagnosis
from separatrix.models.parameters import non_default_parameters
from separatrix.persistence.model_file import StoredModel, write_atomically
from separatrix.report.rendering import (
    document_head,
    document_text,
    ready_twin,
    render,
    require_extras,
)
from separatrix.report.reproducing import reproduction
from separatrix.report.sections import COLUMNS, data_record, row_records, weight_record
from separatrix.tables import Table

VERSION = 1


class Report:
    """The report of a fitted model, or of a table: a page for people, a document for programs.

    The page is one HTML file without scripts that loads nothing from any network; the document has
    every number of the page.

    Parameters
    ----------
    document : dict
        The document that :meth:`to_dict` returns.
    pictures : list
        The pictures of the page.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LinearSVC, Report
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = LinearSVC().fit(X, y)
    >>> report = Report.from_estimator(model, X, y, data="iris", pictures=False)
    >>> report.to_dict()["certificate"]["status"]
    'optimal'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report.save(os.path.join(folder, "iris.html"))
    ...     sorted(os.listdir(folder))
    ['iris.html', 'iris.json']
    """

    def __init__(self, *, document: dict[str, Any], pictures: list[Any]) -> None:
        self.document = document
        self.pictures = pictures

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any,
        *,
        test: tuple[Any, Any] | None = None,
        feature_names: Sequence[str] | None = None,
        target: str | None = None,
        data: str = "arrays in memory",
        pictures: bool = True,
        time_limit: float = 5.0,
    ) -> Report:
        """The report of a model fitted to arrays.

        Parameters
        ----------
        model : estimator
            A fitted model of this library, or one of scikit-learn's linear models, whose
            certificate is then computed by :func:`separatrix.verify`.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows that `model` was fitted to. A sparse matrix is made dense for the regression
            diagnostics alone, if it has at most 500 columns and ten million entries.
        y : array-like of shape (n_samples,)
            The labels of the rows, or numbers.
        test : tuple of X and y, optional
            Rows that were not fitted; without them the report states that its figures flatter.
        feature_names : sequence of str, optional
            The names of the columns; by default those of a frame.
        target : str, optional
            The name of the target, in one or two words; by default the name of a series.
        data : str
            The name of the data.
        pictures : bool, default=True
            Whether to draw pictures.
        time_limit : float, default=5
            Seconds for deciding whether the classes are separable; see :func:`separatrix.diagnose`.

        Returns
        -------
        Report

        Raises
        ------
        ValueError
            If the rows do not fit the model.
        ModuleNotFoundError
            If jinja2 or matplotlib is not installed.
        """
        require_extras()
        evaluation = of_arrays(
            model, X, y, test=test, feature_names=feature_names, target=target, source=data
        )
        return cls._of(evaluation, pictures=pictures, time_limit=time_limit)

    @classmethod
    def from_table(
        cls,
        stored: StoredModel,
        table: Table,
        *,
        target: str | None = None,
        encoded: Mapping[str, Any] | None = None,
        pictures: bool = True,
        time_limit: float = 5.0,
        wording: Callable[[str], str] = str,
    ) -> Report:
        """The report of a model that takes tables.

        Parameters
        ----------
        stored : StoredModel
            A result of :func:`separatrix.load_model`, with its encoder.
        table : Table
            A labelled table. If it is the table of the fit, figures are of its held-out rows and of
            those that were fitted; for another table they are of all rows.
        target : str, optional
            The column of the labels, by default the model's.
        encoded : mapping, optional
            The matrices of ``"fit"`` and ``"held_out"``, if they have been computed already.
        pictures, time_limit
            As for :meth:`from_estimator`.
        wording : callable, optional
            A function that turns sentences about arguments into others, such as about options.

        Returns
        -------
        Report

        Raises
        ------
        DataError
            If the table lacks a column, or holds a label that the model does not know.
        ModuleNotFoundError
            If jinja2 or matplotlib is not installed.
        """
        require_extras()
        evaluation = of_table(stored, table, target=target, encoded=encoded)
        return cls._of(evaluation, pictures=pictures, time_limit=time_limit, wording=wording)

    @classmethod
    def from_sample(
        cls,
        stored: StoredModel,
        table: Table,
        *,
        figures: Sequence[Mapping[str, Any]],
        fingerprint: str,
        target: str | None = None,
        pictures: bool = True,
        time_limit: float = 5.0,
        wording: Callable[[str], str] = str,
    ) -> Report:
        """The report of a model and a table that does not fit into memory.

        Parameters
        ----------
        stored : StoredModel
            A result of :func:`separatrix.load_model`, with its encoder.
        table : Table
            A labelled sample of the rows, from which pictures, alerts and columns' values are made.
        figures : sequence of dict
            Results of :func:`separatrix.assessment.measuring.measure_blocks` for all rows, one for
            each part of them.
        fingerprint : str
            The fingerprint of all rows.
        target, pictures, time_limit, wording
            As for :meth:`from_table`.

        Returns
        -------
        Report

        Raises
        ------
        DataError
            If the table lacks a column, or holds a label that the model does not know.
        ModuleNotFoundError
            If jinja2 or matplotlib is not installed.

        Examples
        --------
        >>> from separatrix import LogisticRegression, Report
        >>> from separatrix.assessment.measuring import measure_blocks
        >>> from separatrix.persistence.model_file import StoredModel
        >>> from separatrix.scale import scan
        >>> from separatrix.tables import Encoder, read_table, take_target
        >>> iris, species = take_target(read_table("iris"), "target")
        >>> encoder = Encoder().fit(iris)
        >>> data = scan(encoder.transform(iris), species, block_rows=50)
        >>> model = LogisticRegression().fit(data)
        >>> stored = StoredModel(model, encoder, {"target": "target"}, 4, "0.1.0")
        >>> figures = [measure_blocks(model, data, "given", "rows")]
        >>> report = Report.from_sample(
        ...     stored, read_table("iris"), figures=figures, fingerprint="", pictures=False
        ... )
        >>> report.to_dict()["metrics"][0]["n"]
        150
        """
        require_extras()
        evaluation = of_sample(
            stored, table, target=target, figures=figures, fingerprint=fingerprint
        )
        return cls._of(evaluation, pictures=pictures, time_limit=time_limit, wording=wording)

    @classmethod
    def from_diagnosis(cls, found: Diagnosis, *, data: str | None = None) -> Report:
        """The profile of a table: what its columns hold, and what in them hurts a linear model.

        Parameters
        ----------
        found : Diagnosis
            A result of :func:`separatrix.diagnose` with ``profile=True``.
        data : str, optional
            The name of the table; by default the place that it was read from.

        Returns
        -------
        Report

        Raises
        ------
        ValueError
            If the diagnosis has no profile.
        ModuleNotFoundError
            If jinja2 or matplotlib is not installed.

        Examples
        --------
        >>> from separatrix import Report, diagnose
        >>> from separatrix.tables import read_table
        >>> found = diagnose(read_table("iris"), target="target", profile=True)
        >>> report = Report.from_diagnosis(found)
        >>> report.to_dict()["profile"]["columns"][0]["name"]
        'sepal length (cm)'
        """
        require_extras()
        from separatrix.report.profile import profile_document

        return cls(document=profile_document(found, source=data), pictures=[])

    @classmethod
    def _of(
        cls,
        evaluation: EvaluationData,
        *,
        pictures: bool,
        time_limit: float,
        wording: Callable[[str], str] = str,
    ) -> Report:
        drawn: list[Any] = []
        diagnostics = diagnostics_record(evaluation)
        # Two things at a time, and neither has a product that is worth a thread of BLAS.
        with pool.one_blas_thread():
            if pictures:
                drawn, diagnosis = _drawn_and_diagnosed(evaluation, diagnostics, time_limit)
            else:
                diagnosis = diagnosis_of(evaluation, time_limit)
            document = jsonable(_document(evaluation, diagnosis, diagnostics, wording))
        document["pictures"] = [picture.to_dict() for picture in drawn]
        return cls(document=document, pictures=drawn)

    def to_dict(self) -> dict[str, Any]:
        """The versioned document, in types that JSON has."""
        return self.document

    def to_json(self) -> str:
        """The document as JSON; ASCII only, so that names of any kind survive."""
        return document_text(self.document)

    def to_html(self) -> str:
        """The page."""
        if self.document.get("kind") == "profile":
            from separatrix.report.profile import profile_page

            return profile_page(self.document)
        return render(self.document, self.pictures)

    def _repr_html_(self) -> str:
        """Show the page in a notebook, in a frame that keeps its own style."""
        from html import escape

        return (
            '<iframe sandbox="" style="width:100%;height:60em;border:0" '
            f'srcdoc="{escape(self.to_html())}"></iframe>'
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page, and the document beside it with the ending ``.json``.

        Each is written to a temporary file first and then takes its name, so that neither is ever
        there in part.

        Parameters
        ----------
        path : path-like
            The path of the page; by convention it ends in ``.html``.

        Raises
        ------
        ValueError
            If the page would have the name of its document.
        OSError
            If a file cannot be written, or exists and is no report; the message is one sentence.
        """
        twin = ready_twin(path)
        page, document = self.to_html().encode("utf-8"), self.to_json().encode("ascii")
        write_atomically(twin, document)
        write_atomically(path, page)


# ------------------------------------------------------------------------------------ document


def _drawn_and_diagnosed(
    evaluation: EvaluationData, diagnostics: dict[str, Any], time_limit: float
) -> tuple[list[Any], Diagnosis | None]:
    """The pictures, and the diagnosis that another thread makes meanwhile."""
    from separatrix.report.pictures import pictures_of

    # The filters of warnings belong to the process. Libraries change them for a while in both
    # threads, and the one that ends last would put back what the other had set for itself.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        diagnosis = pool.aside(lambda: diagnosis_of(evaluation, time_limit))
        try:
            drawn = pictures_of(evaluation, diagnostics)
        except Exception:
            diagnosis()
            raise
        return drawn, diagnosis()


def _document(
    evaluation: EvaluationData,
    diagnosis: Diagnosis | None,
    diagnostics: dict[str, Any],
    wording: Callable[[str], str],
) -> dict[str, Any]:
    model = evaluation.model
    shown = evaluation.shown
    certificate, why = certificate_of(model, shown.X, shown.y)
    measured = [dict(one) for one in evaluation.figures] or [
        measure(part)
        for part in sorted(evaluation.parts, key=lambda part: part.key == "fit")
        if len(part)
    ]
    provenance = evaluation.provenance
    return {
        **document_head(version=VERSION, created=provenance.get("created")),
        "model": {
            "name": model_name(model),
            "class": type(model).__name__,
            "formula": getattr(model, "objective_formula_", None),
            "parameters": {
                key: _shown(value) for key, value in sorted(non_default_parameters(model).items())
            },
            "classes": evaluation.classes or None,
            "target": evaluation.target,
            "data": evaluation.source,
            "title": os.path.basename(evaluation.source) or evaluation.source,
            "details": details_of(model),
            "support": support_record(model) if hasattr(model, "objective_formula_") else None,
        },
        "alerts": finding_record(evaluation, certificate, why, measured, wording, diagnosis),
        "certificate": certificate_record(model, certificate, why, wording),
        "metrics": measured,
        "threshold": None
        if evaluation.measured.decision is None
        else str(evaluation.measured.decision),
        "earlier": None if evaluation.same_data else provenance.get("held_out"),
        "weights": weight_record(evaluation),
        "diagnostics": diagnostics,
        "examples": row_records(evaluation),
        "data": data_record(evaluation),
        "reproduce": reproduction(evaluation),
        "versions": dict(provenance.get("versions") or versions()),
        "limits": {"columns": COLUMNS},
    }


def _shown(value: Any) -> Any:
    """A parameter as JSON can hold it."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return repr(value)
