"""The encoding plan of files on disk: what the first passes over the rows found out.

A process that is killed while rows are encoded, or while a model is fitted to rows that are decoded
in every pass, leaves it to the next one.  The folder that it lies in is that of the same files and
options, and a digest shows whether it is whole.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.exceptions import DataError, ModelFileError
from separatrix.messages import of_record, record_of
from separatrix.scale.encoding import EncodingPlan, RowRange, SourceColumn, SourceFile, Stage
from separatrix.scale.reading import Session
from separatrix.scale.storage import cache_file, checked_bytes, checked_parts
from separatrix.tables import Encoder

_FORMAT = 1
# Single columns of a plan, arrays, and plain values.
_COLUMNS = ("target", "weight", "split", "beside")
_ARRAYS = ("classes", "codes")
_VALUES = ("n_classes", "single", "test_size", "seed")


@dataclass(frozen=True, eq=False)
class KeptPlan:
    """An encoding plan, and what else is known after the passes that found it.

    Attributes
    ----------
    plan : EncodingPlan
    labels : ndarray or None
        The classes of the target.
    types : list of list of str
        The types of the columns of each source.
    spans : list of RowRange
        The ranges in which rows were put aside, where they were.
    notes : list of str
    derived : collection of str
        Columns that the table does not have as such.
    settled : mapping
        Options that the classes of the target settled.
    dates_beside : bool
    """

    plan: EncodingPlan
    labels: np.ndarray | None
    types: Sequence[Sequence[str]]
    spans: Sequence[RowRange]
    notes: Sequence[str]
    derived: Collection[str]
    settled: Mapping[str, Any]
    dates_beside: bool

    def write(self, path: Path) -> None:
        """Write it into a file, which is there whole or not at all."""
        plan, labels = self.plan, self.labels
        meta, arrays = plan.encoder.state()
        tensors = {f"encoder {name}": one for name, one in arrays.items()}
        for name in _ARRAYS:
            if (array := getattr(plan, name)) is not None:
                tensors[name] = array
        stage = plan.stage
        record = {
            "format": _FORMAT,
            "sources": [asdict(one) for one in plan.sources],
            "columns": [
                _recorded(one, f"column {k}", tensors) for k, one in enumerate(plan.columns)
            ],
            **{name: _recorded(getattr(plan, name), name, tensors) for name in _COLUMNS},
            **{name: getattr(plan, name) for name in _VALUES},
            "stage": None
            if stage is None
            else [_recorded(one, f"stage {k}", tensors) for k, one in enumerate(stage.columns)],
            "encoder": meta,
            "alerts": [record_of(one) for one in plan.encoder.alerts_],
            "labels": None if labels is None else [labels.dtype.str, labels.tolist()],
            "types": [[*one] for one in self.types],
            "spans": [[one.pieces, one.start] for one in self.spans],
            "notes": [record_of(one) for one in self.notes],
            "derived": sorted(self.derived),
            "settled": dict(self.settled),
            "dates_beside": self.dates_beside,
        }
        with cache_file(path) as file:
            file.write(checked_bytes(tensors, {"record": json.dumps(record)}))

    @classmethod
    def read(cls, path: Path, session: Session) -> KeptPlan | None:
        """The plan in a file; None where there is none, it is damaged or its sources are others."""
        try:
            found = checked_parts(path.read_bytes())
            if found is None:
                return None
            record: dict[str, Any] = json.loads(found[1]["record"])
            if record["format"] != _FORMAT:
                return None
            sources = tuple(
                SourceFile(**{**one, "groups": tuple(one["groups"])}) for one in record["sources"]
            )
            for one in sources:
                one.require_same()
            return cls._of_record(record, found[0], sources, session, str(path.parent))
        except (OSError, DataError, ModelFileError):
            return None

    @classmethod
    def _of_record(
        cls,
        record: dict[str, Any],
        tensors: Mapping[str, np.ndarray],
        sources: tuple[SourceFile, ...],
        session: Session,
        folder: str,
    ) -> KeptPlan:
        own = {
            name.removeprefix("encoder "): one
            for name, one in tensors.items()
            if name.startswith("encoder ")
        }
        encoder = Encoder.from_state(record["encoder"], own)
        encoder.alerts_ = [*map(of_record, record["alerts"])]
        columns = [_read(one, f"column {k}", tensors) for k, one in enumerate(record["columns"])]
        stage = None
        if record["stage"] is not None:
            staged = [_read(one, f"stage {k}", tensors) for k, one in enumerate(record["stage"])]
            stage = Stage(folder, tuple(one for one in staged if one is not None))
        others: dict[str, Any] = {
            **{name: tensors.get(name) for name in _ARRAYS},
            **{name: _read(record[name], name, tensors) for name in _COLUMNS},
            **{name: record[name] for name in _VALUES},
        }
        plan = EncodingPlan(
            sources=sources,
            columns=tuple(one for one in columns if one is not None),
            encoder=encoder,
            session=session,
            stage=stage,
            **others,
        )
        labels = record["labels"]
        return cls(
            plan,
            None if labels is None else np.array(labels[1], dtype=labels[0]),
            record["types"],
            [RowRange(tuple(map(tuple, pieces)), start) for pieces, start in record["spans"]],
            [*map(of_record, record["notes"])],
            record["derived"],
            record["settled"],
            record["dates_beside"],
        )


def _recorded(
    column: SourceColumn | None, name: str, tensors: dict[str, np.ndarray]
) -> dict[str, Any] | None:
    """A column in plain values; its arrays are put among others by a name."""
    if column is None:
        return None
    record = dict(vars(column))
    for key in ("hashes", "numbers"):
        array = record.pop(key)
        if array is not None:
            tensors[f"{name} {key}"] = array
    return record


def _read(
    record: dict[str, Any] | None, name: str, tensors: Mapping[str, np.ndarray]
) -> SourceColumn | None:
    if record is None:
        return None
    own: dict[str, Any] = {
        key: tuple(one) if isinstance(one, list) else one for key, one in record.items()
    }
    own |= {key: tensors.get(f"{name} {key}") for key in ("hashes", "numbers")}
    return SourceColumn(**own)
