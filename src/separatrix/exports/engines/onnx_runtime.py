"""ONNX Runtime, on one thread of a CPU."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from separatrix.exports.artefacts import Answers
from separatrix.exports.proof import worst_share
from separatrix.expressions.features import Program


class OnnxRuntime:
    """ONNX Runtime, where it is installed."""

    name = "ONNX Runtime"
    # Its tensors of texts have no missing entries.
    distinguishes_empty_texts = False

    def version(self) -> str | None:
        if find_spec("onnxruntime") is None:
            return None
        import onnxruntime

        return str(onnxruntime.__version__)

    def run(self, text: bytes, program: Program, rows: Any) -> Answers:
        """The answers of a model for rows."""
        cells = enumerate(program.cells)
        return _answers(text, {f"cell{k}": rows[cell.column] for k, cell in cells})

    def own_proof(self, text: bytes) -> float:
        """The worst difference of the golden rows as a share of the bound."""
        session = _session(text)
        facts = json.loads(session.get_modelmeta().custom_metadata_map["separatrix_proof"])
        found = _answers(text, facts["rows"])
        worst = 0.0
        for part, bounds in (("scores", "score_bounds"), ("probabilities", "probability_bounds")):
            if facts[part] is not None:
                pair = np.array(facts[part]), np.array(facts[bounds])
                worst = max(worst, worst_share(np.asarray(getattr(found, part)), *pair)[0])
        if facts["places"] is not None:
            decided = np.array(facts["decided"], dtype=bool)
            wrong = np.asarray(found.labels)[decided] != np.array(facts["places"])[decided]
            worst = np.inf if wrong.any() else worst
        return float(worst)


def _session(text: bytes) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(text, options, providers=["CPUExecutionProvider"])


def _answers(text: bytes, cells: Mapping[str, Sequence[Any]]) -> Answers:
    """The answers for cells by the names of the inputs, of which ``X`` has all in one matrix."""
    session = _session(text)
    feeds = {one.name: _input(one, cells) for one in session.get_inputs()}
    names = [one.name for one in session.get_outputs()]
    found = dict(zip(names, session.run(names, feeds), strict=True))
    places = found.get("place")
    if places is not None and places.shape[1] == 1:
        places = places[:, 0]
    return Answers(found["scores"], places, found.get("probabilities"))


def _input(one: Any, cells: Mapping[str, Sequence[Any]]) -> np.ndarray:
    if one.name == "X":
        return np.column_stack([np.asarray(v, dtype=np.float64) for v in cells.values()])
    if one.type == "tensor(string)":
        texts = ["" if value is None else value for value in cells[one.name]]
        return np.array(texts, dtype=object)[:, None]
    return np.asarray(cells[one.name], dtype=np.float64)[:, None]
