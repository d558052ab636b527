"""Model files: one safetensors file that holds a fitted model and cannot execute anything.

Layout
------
A safetensors file is a header (JSON) followed by the raw bytes of its tensors. The header's
metadata has one entry, ``"separatrix"``, a JSON document::

    {"format": "separatrix-model", "format_version": 1, "library_version": "...", "sha256": "...",
     "model":   {"class": "LogisticRegression", "params": {...}, "fitted": {...},
                 "digest": "..."},
     "encoder": {...} or null,
     "provenance": {...}}

``sha256`` is the digest of the **whole file** with these 64 digits set to ``0``, so no bit of a
file can change unnoticed, not even one that would not change its meaning. It guards against
damage, not against forgery: whoever can write the file can also compute the digest. A forged file
can only ever make a public estimator with other numbers in it, because class names come from a
fixed list and every value is plain data; and these numbers are checked against one another
(`separatrix.data.rules`), because compiled loops trust the sizes that they state.

``digest`` is that of the class, the parameters, everything fitted with its certificate, and the
encoder. A program that edits the file and only brings the checksum of the whole up to date is
noticed by it: weights that are not those of the certificate beside them. Whoever computes this
digest, too, is not noticed; what a certificate is worth for other weights is found by evaluating it
anew, from the data, as `separatrix.verify` does. That finds what changes the objective by more
than rounding, and not, say, a weight near its optimum whose last digits differ.

JSON carries what it can; the rest is an object with one key that starts with ``$``: a tensor
(``$tensor``), an array of labels (``$array``), a sparse matrix by its rows (``$csr``), a numpy
scalar (``$scalar``), a certificate (``$certificate``, of a closed form ``$equations``), a kernel
with its numbers (``$kernel``), a fitted approximation of one (``$lift``), a record of numbers
(``$record``: the sums that a fit goes on from, a schedule of rates), a loss (``$loss``),
a tuple (``$tuple``), a dict whose keys are not plain text (``$dict``), and the floats that JSON
lacks (``$float``).

A file that a reader does not know in full has a higher version than it, so that it says "upgrade"
rather than stumble.  Version 2 has ``SVC``, with ``$kernel``, ``$lift`` and
``$csr``, and the parameter ``calibrate`` of ``LinearSVC`` and ``Perceptron``.  Version 3 has
``LinearRegression``, ``PolynomialRegression``, ``LeastSquaresClassifier``, the two discriminant
analyses, ``SGDClassifier`` and ``LogisticRegressionCV``, with ``$equations``, ``$record`` and
``$loss``.  Version 4 has ``digest``, and every file is written in it.  Every version reads those
before it; they have no ``digest``.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import math
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from safetensors.numpy import save as _serialise_tensors
from sklearn.exceptions import NotFittedError

from separatrix.data.atomic_files import file_beside, whole_file
from separatrix.data.digests import sha256_of
from separatrix.data.rules import ModelCheckError
from separatrix.exceptions import ModelFileError
from separatrix.models.registry import ESTIMATORS, estimator
from separatrix.persistence.checks import NOT_STORED, check_encoder, check_model
from separatrix.persistence.document import (
    FORMAT,
    FORMAT_VERSION,
    MAX_BYTES,
    METADATA_KEY,
    NO_DIGEST,
    digest_of,
    one_line,
    open_regular,
    placeholder,
    read_document,
    reason,
    require_unchanged,
)

__all__ = [
    "FORMAT_VERSION",
    "MAX_BYTES",
    "StoredModel",
    "check_writable",
    "load_model",
    "looks_like_model",
    "save_model",
]

# The bytes that an array of labels may take: a constant, and a multiple of its labels' length.
_LABEL_BYTES = 1 << 24
_LABEL_GROWTH = 64
# The metadata come first in the header, and the format first in the metadata.
_START = 4096

# The classes that a model file can name besides the estimators, by the tag that they stand under,
# and the modules that they are imported from when needed: kernels that are all numbers, the lifts
# that approximate them, records that are all numbers, and certificates.
_CLASSES: dict[str, dict[str, str]] = {
    "$kernel": dict.fromkeys(
        (
            "DeltaKernel",
            "LinearKernel",
            "PolynomialKernel",
            "PrecomputedKernel",
            "RBFKernel",
            "SigmoidKernel",
            "SquaresKernel",
        ),
        "separatrix.kernels",
    ),
    "$lift": dict.fromkeys(("FourierLift", "NystroemLift"), "separatrix.lifts"),
    "$record": {
        "Constant": "separatrix.schedules",
        "InverseTime": "separatrix.schedules",
        "Moments": "separatrix.data.moments",
        "Power": "separatrix.schedules",
        "TriangularFactor": "separatrix.closed_form.triangular",
    },
    "$certificate": {"Certificate": "separatrix.certificate"},
    "$equations": {"ResidualCertificate": "separatrix.certificate"},
}

_FITTED_NAME = re.compile(r"[A-Za-z]([A-Za-z0-9_]*[A-Za-z0-9])?_")
_NUMBER_TYPE = re.compile(r"[|<>=]?(b1|[iuf][1248])")
_LABEL_TYPE = re.compile(r"[<>=]U[0-9]{1,10}|StringDType|object")


@dataclass(frozen=True)
class StoredModel:
    """The contents of a model file.

    Attributes
    ----------
    model : estimator
        The fitted model.
    encoder : Encoder or None
        The encoder that turns a table into the model's features; None when the model was fitted on
        a matrix.
    provenance : dict
        The origin of the model, as given to `save_model`.
    format_version : int
        Version of the file's format.
    library_version : str
        Version of the library that wrote the file.
    digest : str or None
        SHA-256 of everything fitted, its certificate and the encoder, which was found to be right;
        None for a file of a version before 4, which has none.
    """

    model: Any
    encoder: Any
    provenance: dict[str, Any]
    format_version: int = FORMAT_VERSION
    library_version: str = field(default_factory=lambda: _library_version())
    digest: str | None = None


def save_model(
    path: str | os.PathLike[str],
    model: Any,
    *,
    encoder: Any = None,
    provenance: dict[str, Any] | None = None,
) -> None:
    """Write a fitted model to a file, all of it or nothing.

    The bytes go to a temporary file in the same folder, are flushed to the disk, and only then
    take the file's name. When anything fails on the way, a file that had this name is untouched.
    Temporary files of writes that were killed are removed by the next one into the same folder.

    Parameters
    ----------
    path : path-like
        The file to write; by convention it ends in ``.separatrix``.
    model : estimator
        A fitted estimator of this library. Its
        parameters and its fitted attributes are stored, except ``trace_``. Parameters that are
        not data (a random generator, a callback) are left out and come back as their defaults.
    encoder : Encoder, optional
        The fitted encoder that made the model's features.
    provenance : dict, optional
        Anything that JSON can hold: file names, seeds, the resolved configuration.

    Raises
    ------
    TypeError
        If the model is not one of this library's, or holds something that is not data, such as
        a kernel that is a function.
    ValueError
        If attributes of the model do not go together, as where some were changed by hand, or the
        encoder makes other columns than the model takes: such a file could not be read. Also if
        the file would be larger than 16 GiB.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    OSError
        If the file cannot be written; the message is one sentence.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LogisticRegression
    >>> from separatrix.persistence.model_file import load_model, save_model
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "iris.separatrix")
    ...     save_model(path, model)
    ...     again = load_model(path).model
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    write_atomically(path, _serialise(model, encoder, provenance or {}))


def load_model(path: str | os.PathLike[str]) -> StoredModel:
    """Read a model file written by `save_model`.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    StoredModel
        The model, its encoder and its provenance.

    Raises
    ------
    ModelFileError
        If there is no such file, or it is not a regular file of at most 16 GiB, or not a model
        file, is truncated, was altered, was written in a format of a later version, or holds
        values that do not go together. The message is one sentence.

    Notes
    -----
    Whatever a file says, reading it executes nothing, takes memory in proportion to its size, and
    makes a model whose sizes agree with one another. It does not say who wrote the file: a model
    whose weights somebody chose to do harm loads, and so does a text encoding with a pattern of
    words that takes very long to search for.

    Examples
    --------
    >>> from separatrix.persistence.model_file import load_model
    >>> load_model("no-such-file.separatrix")
    Traceback (most recent call last):
        ...
    separatrix.exceptions.ModelFileError: there is no file 'no-such-file.separatrix'
    """
    if not os.fspath(path):
        raise ModelFileError("the name of the model file is empty")
    path = Path(path)
    try:
        return _parse(path)
    except ModelFileError:
        raise
    except (MemoryError, KeyboardInterrupt):
        raise
    except Exception as error:
        # The digest is right, so this is a file that some other program wrote, and its contents
        # can be wrong in many ways.
        raise ModelFileError(
            f"'{path}' is not a model that this version can read "
            f"({type(error).__name__}: {one_line(error)})"
        ) from error


def _parse(path: Path) -> StoredModel:
    read = read_document(path)
    try:
        return _decode_document(read.content, read.tensors)
    except (ModelFileError, ModelCheckError) as error:
        raise ModelFileError(f"'{path}' {one_line(error)}") from error


def looks_like_model(path: str | os.PathLike[str]) -> bool:
    """Whether a file starts like a model file of any version; it may still be damaged.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    bool
        False too where there is no such file, or it cannot be read.

    Examples
    --------
    >>> from separatrix.persistence.model_file import looks_like_model
    >>> looks_like_model("no-such-file.separatrix")
    False
    """
    try:
        with open_regular(path) as file:
            start = file.read(_START)
    except (OSError, ValueError):
        return False
    return start[8:9] == b"{" and rf"\"format\":\"{FORMAT}\"".encode("ascii") in start


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise unless a file of this name could be written now; call it before a long fit.

    It writes an empty file next to `path` and removes it again, because permission bits alone do
    not suffice (read-only file systems, privileged users).

    Parameters
    ----------
    path : path-like
        The file that will be written.

    Raises
    ------
    OSError
        If the folder is missing or not writable, or `path` is not a regular file. The message is
        one sentence.

    Examples
    --------
    >>> from separatrix.persistence.model_file import check_writable
    >>> check_writable("no-such-folder/model.separatrix")
    Traceback (most recent call last):
        ...
    FileNotFoundError: cannot write 'no-such-folder/model.separatrix': there is no folder ...
    """
    path = Path(path)
    target = _resolve_target(path)
    with _one_sentence(path), file_beside(target):
        pass


# --------------------------------------------------------------------------------------------
# Model to bytes


def _serialise(
    model: Any, encoder: Any, provenance: dict[str, Any], most_bytes: int = MAX_BYTES
) -> bytes:
    tensors: dict[str, np.ndarray] = {}
    document: dict[str, Any] = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "library_version": _library_version(),
        "sha256": NO_DIGEST,
        "model": _encode_model(model, tensors),
        "encoder": _encode_encoder(encoder, tensors),
        "provenance": _encode(provenance, "provenance", tensors),
    }
    document["model"]["digest"] = digest_of(document, tensors)
    try:
        # Only a file that can be read is written: better none now than none when it is needed.
        _decode_document(document, tensors)
    except (ModelFileError, ModelCheckError) as error:
        raise ValueError(
            f"this {type(model).__name__} cannot be saved, because its file could not be loaded "
            f"again: it {one_line(error)}"
        ) from error
    # ASCII only: text of any kind, unpaired surrogates included, survives as escapes.
    text = json.dumps(document, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    data = _serialise_tensors(tensors, metadata={METADATA_KEY: text})
    if len(data) > most_bytes:
        raise ValueError(
            f"this {type(model).__name__} takes {len(data):,} bytes, and the limit of a model file "
            f"is {most_bytes:,}"
        )
    # The placeholder stands once in the document, before anything that a user named.
    return data.replace(placeholder(NO_DIGEST), placeholder(sha256_of(data)), 1)


def _encode_model(model: Any, tensors: dict[str, np.ndarray]) -> dict[str, Any]:
    name = type(model).__name__
    if name not in ESTIMATORS or type(model) is not estimator(name):
        raise TypeError(f"a model file holds one of {', '.join(sorted(ESTIMATORS))}, not {name}")
    state = _encode_state(model, "params", "model", tensors)
    if not state["fitted"]:
        raise NotFittedError(f"this {name} is not fitted yet: call fit before saving it")
    # Without its function a kernel is no kernel, so this parameter cannot be left out.
    _require_no_function(getattr(model, "kernel", None))
    return state


def _encode_state(
    model: Any, params: str, fitted: str, tensors: dict[str, np.ndarray]
) -> dict[str, Any]:
    """The class of an estimator or a lift, its parameters, and the attributes of its fit."""
    return {
        "class": type(model).__name__,
        "params": _encode_params(model, params, tensors),
        "fitted": {
            key: _encode(value, f"{fitted}/{key}", tensors)
            for key, value in vars(model).items()
            if _FITTED_NAME.fullmatch(key) and key not in NOT_STORED
        },
    }


def _encode_params(model: Any, where: str, tensors: dict[str, np.ndarray]) -> dict[str, Any]:
    params = {}
    for key, value in model.get_params(deep=False).items():
        # A parameter that is not data has done its work in fit.
        with contextlib.suppress(TypeError):
            params[key] = _encode(value, f"{where}/{key}", tensors)
    return params


def _require_no_function(kernel: Any) -> None:
    kernels = importlib.import_module("separatrix.kernels")
    if isinstance(kernel, kernels.CallableKernel):
        kernel = kernel.function
    if callable(kernel) and not isinstance(kernel, kernels.Kernel):
        name = getattr(kernel, "__name__", type(kernel).__name__)
        raise TypeError(
            f"the kernel of this model is the function {name!r}, and a model file cannot hold a "
            "function, because such a file could execute anything when it is read: compute the "
            "matrix and fit with kernel='precomputed', or use a kernel of separatrix.kernels"
        )


def _encode_fields(record: Any, where: str, tensors: dict[str, np.ndarray]) -> dict[str, Any]:
    state = {
        field.name: _encode(getattr(record, field.name), f"{where}/{field.name}", tensors)
        for field in fields(record)
    }
    return {"class": type(record).__name__, "fields": state}


def _encode_csr(matrix: Any, where: str, tensors: dict[str, np.ndarray]) -> dict[str, Any]:
    if matrix.format != "csr":
        raise TypeError(
            f"a model file holds sparse matrices by rows, not {matrix.format} ({where})"
        )
    parts = {
        key: _encode_array(getattr(matrix, key), f"{where}/{key}", tensors)
        for key in ("data", "indices", "indptr")
    }
    kind = "array" if isinstance(matrix, sp.sparray) else "matrix"
    return {**parts, "shape": [int(n) for n in matrix.shape], "kind": kind}


def _encode_encoder(encoder: Any, tensors: dict[str, np.ndarray]) -> dict[str, Any] | None:
    if encoder is None:
        return None
    meta, arrays = encoder.state()
    return {
        "meta": _encode(meta, "encoder-meta", tensors),
        "arrays": {
            key: _encode(np.asarray(value), f"encoder/{key}", tensors)
            for key, value in arrays.items()
        },
    }


def _encode(value: Any, where: str, tensors: dict[str, np.ndarray]) -> Any:
    """Turn a value into JSON; arrays of numbers go to `tensors` under the name `where`."""
    if value is None or isinstance(value, (bool, int, str)):
        # An np.str_ is a str, and a plain one does the same.
        return str(value) if isinstance(value, str) else value
    if isinstance(value, np.generic):
        return {"$scalar": [value.dtype.str, _encode(value.item(), where, tensors)]}
    if isinstance(value, float):
        return value if math.isfinite(value) else {"$float": repr(value)}
    if isinstance(value, np.ndarray):
        return _encode_array(value, where, tensors)
    if isinstance(value, list):
        return [_encode(item, f"{where}/{i}", tensors) for i, item in enumerate(value)]
    if isinstance(value, tuple):
        return {"$tuple": _encode(list(value), where, tensors)}
    if isinstance(value, dict):
        if all(type(key) is str and not key.startswith("$") for key in value):
            return {key: _encode(item, f"{where}/{key}", tensors) for key, item in value.items()}
        pairs = [[key, item] for key, item in value.items()]
        return {"$dict": _encode(pairs, where, tensors)}
    if sp.issparse(value):
        return {"$csr": _encode_csr(value, where, tensors)}
    tag = _tag_of(value)
    if tag in ("$certificate", "$equations"):
        return {tag: _encode(value.to_dict(), where, tensors)}
    if tag == "$lift":
        return {tag: _encode_state(value, where, where, tensors)}
    if tag is not None:
        return {tag: _encode_fields(value, where, tensors)}
    if isinstance(value, importlib.import_module("separatrix.kernels").Kernel):
        _require_no_function(value)
        name = type(value).__name__
        raise TypeError(f"a model file holds a kernel of separatrix.kernels, not {name} ({where})")
    if type(value) in _losses().values():
        return {"$loss": next(key for key, kind in _losses().items() if type(value) is kind)}
    raise TypeError(
        f"a model file holds numbers, text, lists, dicts and arrays, not {type(value).__name__} "
        f"(at {where})"
    )


def _encode_array(value: np.ndarray, where: str, tensors: dict[str, np.ndarray]) -> Any:
    if value.dtype.kind in "bfiu" and value.dtype.itemsize <= 8:
        # Native byte order and row-major, the one layout that the file has. (order="C" and not
        # ascontiguousarray, which would give a 0-d array a dimension.)
        array = np.asarray(value, dtype=value.dtype.newbyteorder("="), order="C")
        name = _tensor_name(where, tensors)
        tensors[name] = array
        return {"$tensor": name}
    if value.dtype.kind == "U":
        dtype = value.dtype.newbyteorder("=").str
    elif value.dtype.kind == "T":
        dtype = "StringDType"
    elif value.dtype.kind == "O":
        dtype = "object"
    else:
        raise TypeError(f"a model file cannot hold an array of {value.dtype} (at {where})")
    items = [_encode(item, where, tensors) for item in value.ravel().tolist()]
    if value.dtype.kind == "U" and value.nbytes > _room_for(items):
        raise TypeError(
            f"a model file cannot hold labels in {value.dtype}, which is much wider than the "
            f"labels are (at {where}): fit with y.astype(str), or y.astype(object)"
        )
    return {"$array": {"dtype": dtype, "shape": list(value.shape), "values": items}}


def _tensor_name(where: str, tensors: dict[str, np.ndarray]) -> str:
    """A readable name that no other tensor has; `where` can hold any text that a user named."""
    readable = where.encode("ascii", "backslashreplace").decode("ascii")
    name, count = readable, 1
    while name in tensors:
        count += 1
        name = f"{readable}#{count}"
    return name


# --------------------------------------------------------------------------------------------
# Bytes to model


def _decode_document(document: dict[str, Any], tensors: dict[str, np.ndarray]) -> StoredModel:
    """The contents of a document whose checksum is right; every part is held to the others."""
    version, digest = document["format_version"], require_unchanged(document, tensors)
    model = _decode_model(document["model"], tensors)
    try:
        check_model(model)
    except ModelCheckError as error:
        raise ModelFileError(
            f"holds a {type(model).__name__} that is inconsistent: {error}"
        ) from error
    encoder = _decode_encoder(document["encoder"], tensors, getattr(model, "n_features_in_", None))
    if encoder is not None:
        check_encoder(encoder, model)
    provenance = _decode(document["provenance"], tensors)
    if not isinstance(provenance, dict):
        raise ModelFileError("holds an invalid provenance")
    library_version = document["library_version"]
    if not isinstance(library_version, str):
        raise ModelFileError("does not record what wrote it")
    return StoredModel(model, encoder, provenance, version, library_version, digest)


def _decode_model(state: dict[str, Any], tensors: dict[str, np.ndarray]) -> Any:
    name = state["class"]
    if name not in ESTIMATORS:
        raise ModelFileError(
            f"holds a model of the unknown class {name!r}; a later version may know it"
        )
    return _restored(estimator(name), state, tensors)


def _restored(kind: Any, state: dict[str, Any], tensors: dict[str, np.ndarray]) -> Any:
    """An object of a class that is on one of the lists, with the attributes of its fit."""
    retired = getattr(kind, "_retired", ())
    params = _decode(state["params"], tensors)
    params = {name: value for name, value in params.items() if name not in retired}
    unknown = sorted(set(params) - set(kind._get_param_names()))
    if unknown:
        raise ModelFileError(
            f"holds a {kind.__name__} with the unknown parameter {unknown[0]!r}; a later version "
            "may know it"
        )
    out = kind(**params)
    for stored, value in state["fitted"].items():
        if stored in retired:
            continue
        key = getattr(kind, "_renamed", {}).get(stored, stored)
        if not _FITTED_NAME.fullmatch(key) or hasattr(kind, key) or key in NOT_STORED:
            raise ModelFileError(f"holds a {kind.__name__} with the unknown attribute {key!r}")
        setattr(out, key, _decode(value, tensors))
    return out


def _decode_fields(tag: str, content: dict[str, Any], tensors: dict[str, np.ndarray]) -> Any:
    return _named(tag, content)(**_decode(content["fields"], tensors))


def _decode_lift(content: dict[str, Any], tensors: dict[str, np.ndarray]) -> Any:
    return _restored(_named("$lift", content), content, tensors)


def _named(tag: str, content: dict[str, Any]) -> Any:
    """The class that the content of a tag names."""
    name = content["class"]
    if name not in _CLASSES[tag]:
        raise ModelFileError(f"holds the unknown {tag[1:]} {name!r}; a later version may know it")
    return _class(tag, name)


def _decode_csr(content: dict[str, Any], tensors: dict[str, np.ndarray]) -> Any:
    parts = tuple(_decode(content[key], tensors) for key in ("data", "indices", "indptr"))
    kind = {"array": sp.csr_array, "matrix": sp.csr_matrix}[content["kind"]]
    for part, kinds in zip(parts, ("f", "i", "i"), strict=True):
        if part.ndim != 1 or part.dtype.kind not in kinds or part.dtype.itemsize not in (4, 8):
            raise ValueError(f"a sparse matrix cannot be made of {part.dtype}{part.shape}")
    matrix = kind(parts, shape=tuple(content["shape"]))
    # Compiled loops follow these indices without looking; and scipy does not look at them where
    # the last number of indptr says that there are none.
    importlib.import_module("separatrix.data.design").require_in_range(matrix)
    matrix.check_format(full_check=True)
    return matrix


def _decode_encoder(
    state: dict[str, Any] | None, tensors: dict[str, np.ndarray], n_features: int | None
) -> Any:
    if state is None:
        return None
    encoder_class = importlib.import_module("separatrix.tables").Encoder
    arrays = {key: _decode(value, tensors) for key, value in state["arrays"].items()}
    return encoder_class.from_state(_decode(state["meta"], tensors), arrays, n_features=n_features)


def _decode(value: Any, tensors: dict[str, np.ndarray]) -> Any:
    if isinstance(value, list):
        return [_decode(item, tensors) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        (tag, content), *_ = value.items()
        decode = _DECODERS.get(tag)
        if decode is not None:
            return decode(content, tensors)
    return {key: _decode(item, tensors) for key, item in value.items()}


def _decode_array(content: dict[str, Any], tensors: dict[str, np.ndarray]) -> np.ndarray:
    name, shape = content["dtype"], tuple(content["shape"])
    if not isinstance(name, str) or not _LABEL_TYPE.fullmatch(name):
        raise ValueError(f"an array of labels cannot be of {name!r:.40}")
    items = [_decode(item, tensors) for item in content["values"]]
    if name == "object":
        flat = np.empty(len(items), dtype=object)
        for i, item in enumerate(items):
            flat[i] = item
        return flat.reshape(shape)
    if not all(isinstance(item, str) for item in items):
        raise ValueError("an array of texts cannot hold anything else")
    dtype = np.dtypes.StringDType() if name == "StringDType" else np.dtype(name)
    if dtype.kind == "U" and dtype.itemsize * len(items) > _room_for(items):
        raise ValueError(f"labels in {name} are much wider than they need to be")
    return np.array(items, dtype=dtype).reshape(shape)


def _room_for(labels: list[str]) -> int:
    """The bytes that an array of labels may take, by the labels rather than the stated type."""
    return _LABEL_BYTES + _LABEL_GROWTH * sum(map(len, labels))


def _decode_certificate(tag: str, content: Any, tensors: dict[str, np.ndarray]) -> Any:
    (name,) = _CLASSES[tag]
    return _class(tag, name).from_dict(_decode(content, tensors))


def _decode_scalar(content: list[Any], tensors: dict[str, np.ndarray]) -> Any:
    name, value = content[0], _decode(content[1], tensors)
    if not isinstance(name, str) or not _NUMBER_TYPE.fullmatch(name):
        raise ValueError(f"a number cannot be of {name!r:.40}")
    if not isinstance(value, (bool, int, float)):
        raise ValueError(f"a number cannot be a {type(value).__name__}")
    return np.dtype(name).type(value)


def _decode_tensor(name: Any, tensors: dict[str, np.ndarray]) -> np.ndarray:
    if name not in tensors:
        raise ValueError(f"there is no array {name!r:.80}")
    # A copy, because what the file's reader hands out may be read-only memory.
    return np.array(tensors[name])


def _decode_float(content: Any, tensors: dict[str, np.ndarray]) -> float:
    if content not in ("inf", "-inf", "nan"):
        raise ValueError(f"a number cannot be {content!r:.40}")
    return float(content)


def _decode_dict(content: Any, tensors: dict[str, np.ndarray]) -> dict[Any, Any]:
    pairs = _decode(content, tensors)
    if not all(isinstance(key, (str, bool, int, float, tuple, np.generic)) for key, _ in pairs):
        raise ValueError("a key cannot be a list")
    return dict(pairs)


_DECODERS: dict[str, Any] = {
    "$tensor": _decode_tensor,
    "$array": _decode_array,
    "$scalar": _decode_scalar,
    "$float": _decode_float,
    "$tuple": lambda content, tensors: tuple(_decode(content, tensors)),
    "$dict": _decode_dict,
    "$csr": _decode_csr,
    "$kernel": partial(_decode_fields, "$kernel"),
    "$record": partial(_decode_fields, "$record"),
    "$lift": _decode_lift,
    "$certificate": partial(_decode_certificate, "$certificate"),
    "$equations": partial(_decode_certificate, "$equations"),
    "$loss": lambda content, tensors: _losses()[content](),
}


# --------------------------------------------------------------------------------------------
# Files


def write_atomically(path: str | os.PathLike[str], *data: bytes | Iterable[bytes]) -> None:
    """Write `data` to a file, all of it or nothing; see `save_model` for how.

    Data that do not come at once are written as they come.
    """
    path = Path(path)
    target = _resolve_target(path)
    with _one_sentence(path), whole_file(target, durable=True) as file:
        for given in data:
            for part in (given,) if isinstance(given, bytes) else given:
                file.write(part)


def _resolve_target(path: Path) -> Path:
    """Follow links, so that the file they point to is written, and refuse what is not a file."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"cannot write '{path}': it is a folder; name a file in it")
    if target.exists() and not target.is_file():
        raise OSError(f"cannot write '{path}': it is not a regular file")
    if not target.parent.exists():
        raise FileNotFoundError(f"cannot write '{path}': there is no folder '{target.parent}'")
    if not target.parent.is_dir():
        raise NotADirectoryError(f"cannot write '{path}': '{target.parent}' is not a folder")
    return target


@contextlib.contextmanager
def _one_sentence(path: Path) -> Iterator[None]:
    """Rephrase an OSError in one sentence that names the file."""
    try:
        yield
    except OSError as error:
        retold = type(error)(f"cannot write '{path}': {reason(error)}")
        retold.errno = error.errno
        raise retold from error


# --------------------------------------------------------------------------------------------
# Names that are looked up late: a model file without a model of some kind needs none of its code


def _class(tag: str, name: str) -> Any:
    return getattr(importlib.import_module(_CLASSES[tag][name]), name)


def _tag_of(value: Any) -> str | None:
    """The tag under which a value of a named class stands; a subclass may be another thing."""
    name = type(value).__name__
    for tag, classes in _CLASSES.items():
        if name in classes and type(value) is _class(tag, name):
            return tag
    return None


def _losses() -> Any:
    return importlib.import_module("separatrix.losses").LOSSES


def _library_version() -> str:
    return importlib.import_module("separatrix").__version__
