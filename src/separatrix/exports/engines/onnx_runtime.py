"""ONNX Runtime, on one thread of a CPU."""

from __future__ import annotations

import json
from importlib.util import find_spec
from typing import Any

import numpy as np

from separatrix.exports.artefacts import Answers
from separatrix.exports.onnx import is_plain
from separatrix.exports.proof import worst_share
from separatrix.expressions.features import Program

__all__ = ["OnnxRuntime"]


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
        if is_plain(program):
            columns = [np.asarray(rows[cell.column], dtype=np.float64) for cell in program.cells]
            return _answers(text, {"X": np.column_stack(columns)})
        feeds = {}
        for k, cell in enumerate(program.cells):
            if cell.kind == "text":
                texts = ["" if value is None else value for value in rows[cell.column]]
                feeds[f"cell{k}"] = np.array(texts, dtype=object)[:, None]
            else:
                feeds[f"cell{k}"] = np.asarray(rows[cell.column], dtype=np.float64)[:, None]
        return _answers(text, feeds)

    def own_proof(self, text: bytes) -> float:
        """The worst difference of the golden rows as a share of the bound."""
        session = _session(text)
        facts = json.loads(session.get_modelmeta().custom_metadata_map["separatrix_proof"])
        rows = facts["rows"]
        names = [one.name for one in session.get_inputs()]
        if names == ["X"]:
            feeds = {"X": np.column_stack([np.array(v, dtype=np.float64) for v in rows.values()])}
        else:
            feeds = {
                one.name: np.array(["" if v is None else v for v in rows[one.name]], dtype=object)[
                    :, None
                ]
                if one.type == "tensor(string)"
                else np.array(rows[one.name], dtype=np.float64)[:, None]
                for one in session.get_inputs()
            }
        found = _answers(text, feeds)
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


def _answers(text: bytes, feeds: dict[str, np.ndarray]) -> Answers:
    session = _session(text)
    names = [one.name for one in session.get_outputs()]
    found = dict(zip(names, session.run(names, feeds), strict=True))
    places = found.get("place")
    if places is not None and places.shape[1] == 1:
        places = places[:, 0]
    return Answers(found["scores"], places, found.get("probabilities"))
