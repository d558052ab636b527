"""The contents of a model file; those of the commonest models are read from the file alone.

A model object needs the library and scikit-learn, whose import takes longer than all the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from separatrix.assessment.provenance_checks import known_origin
from separatrix.certificate import Certificate
from separatrix.exceptions import ModelFileError
from separatrix.persistence.document import read_document, require_unchanged

# The names of models whose contents are a line each.
PLAIN = {
    "LogisticRegression": "logistic regression",
    "LinearSVC": "linear support vector machine",
}
# The attributes of these models once fitted; a model with any other has more contents.
_FITTED = {
    "n_features_in_",
    "classes_",
    "coef_",
    "intercept_",
    "certificate_",
    "n_iter_",
    "objective_formula_",
    "feature_names_in_",
}


@dataclass(frozen=True, kw_only=True)
class Contents:
    """The contents of a model file.

    Attributes
    ----------
    description : dict
        The model in a JSON document; without parameters and the names of features where there is
        no model.
    certificate : Certificate, ResidualCertificate or None
    provenance : dict
    format_version : int
    library_version : str
    summary : str or None
        The summary of the encoder, if there is one.
    model, encoder : estimator and Encoder, or None
        The objects; None where they were not made.
    decision : Decision or None
    support, details : dict
        The records of :mod:`separatrix.assessment.records`.
    """

    description: dict[str, Any]
    certificate: Any
    provenance: dict[str, Any]
    format_version: int
    library_version: str
    summary: str | None
    model: Any = None
    encoder: Any = None
    decision: Any = None
    support: dict[str, Any] | None = None
    details: dict[str, Any] = field(default_factory=dict)

    def origin(self) -> dict[str, Any]:
        """The provenance, as far as commands know it."""
        return known_origin(self.provenance)


def plain_contents(path: str) -> Contents | None:
    """The contents that the file has without a model object; None where a model has more.

    Raises
    ------
    ModelFileError
        If the file is no model file, or damaged.
    """
    if not path:
        return None
    read = read_document(Path(path))
    try:
        require_unchanged(read.content, read.tensors)
        return _of_document(read.content)
    except (ModelFileError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        # The reader that makes the model object refuses the file in a sentence.
        return None


def _of_document(document: dict[str, Any]) -> Contents | None:
    state, encoder = document["model"], document["encoder"]
    fitted, provenance = state["fitted"], _plain(document["provenance"])
    if state["class"] not in PLAIN or not set(fitted) <= _FITTED:
        return None
    if state["params"].get("calibrate") is not None or provenance.get("decision") is not None:
        return None
    if provenance.get("weights") and provenance.get("weights_per") != "unit":
        return None
    if encoder is not None and "terms" in encoder["meta"]:
        return None
    ((tag, certificate),) = fitted["certificate_"].items()
    features = fitted["n_features_in_"]
    classes = fitted["classes_"]["$array"]["values"]
    wording = (fitted["objective_formula_"], *classes, document["library_version"])
    if tag != "$certificate" or type(features) is not int:
        return None
    if not all(isinstance(text, str) for text in wording):
        return None
    return Contents(
        description={
            "name": PLAIN[state["class"]],
            "formula": fitted["objective_formula_"],
            "classes": classes,
            "features": features,
        },
        certificate=Certificate.from_dict(_plain(certificate)),
        provenance=provenance,
        format_version=document["format_version"],
        library_version=document["library_version"],
        summary=None if encoder is None else str(encoder["meta"]["summary"]),
    )


def _plain(value: Any) -> Any:
    """A value as it was before it became JSON; LookupError where it has to be made."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"$float"} and value["$float"] in ("inf", "-inf", "nan"):
        return float(value["$float"])
    if any(key.startswith("$") for key in value):
        raise KeyError("of numpy")
    return {key: _plain(item) for key, item in value.items()}
