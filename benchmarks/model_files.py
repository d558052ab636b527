"""``python -m benchmarks.model_files``: model files that nobody wrote, and what becomes of them.

A mutant is a valid model file in which something was changed, with all its checksums made right
again: a number, a text, a name, the type or the shape of an array, a part of another file.  It is
then either refused in one sentence (``ModelFileError``), or read as a model that predicts.
Anything else is a failure: another exception, a crash, more than 100 MB of memory, half a minute.

Mutants are numbered; the same number and seed give the same mutant.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import functools
import hashlib
import json
import math
import os
import random
import select
import subprocess
import sys
import tempfile
import traceback
import tracemalloc
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors
from sklearn.exceptions import NotFittedError

import separatrix as sx
from separatrix import kernels
from separatrix.assessment.records import describe_model, details_of, support_record
from separatrix.exceptions import DataError, ModelFileError
from separatrix.persistence.document import digest_of
from separatrix.persistence.model_file import load_model, save_model
from separatrix.tables import Encoder, Table

#: Bytes that reading a mutant and predicting with it may take.
MOST_BYTES = 100_000_000
#: Seconds after which a mutant counts as hanging.
PATIENCE = 30.0

Document = dict[str, Any]
Tensors = dict[str, np.ndarray]


# --- valid files -----------------------------------------------------------------------------


def _data(n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n_classes)
    y = np.arange(36) % n_classes
    return np.round(rng.normal(size=(36, 3)) + 1.5 * y[:, None] * [1.0, -1.0, 0.5], 3), y


@functools.cache
def fitted_models() -> tuple[Any, ...]:
    """One fitted model or more of every kind that a file can hold."""
    models: list[Any] = []
    for n_classes in (2, 3):
        X, y = _data(n_classes)
        rows, kernel, names = sp.csr_matrix(X), X @ X.T, np.array(["a", "b", "c"])
        models += [
            sx.LogisticRegression().fit(X, y),
            sx.LogisticRegression(multiclass="ovr", l1_ratio=0.5).fit(rows, names[y]),
            sx.LogisticRegression(penalty=None, max_iter=20).fit(X[:, :1], y),
            sx.LogisticRegressionCV(Cs=3, cv=2).fit(X, y),
            sx.LinearSVC(calibrate="sigmoid").fit(X, y),
            sx.LinearSVC(loss="hinge", calibrate="isotonic").fit(X, y),
            sx.Perceptron(max_passes=5).fit(X, y),
            sx.Perceptron(max_passes=5, average=True, calibrate="sigmoid").fit(X, y),
            sx.SGDClassifier(max_iter=2).fit(X, y),
            sx.SGDClassifier(loss="log_loss", max_iter=2, average=True).fit(X, y),
            sx.SGDClassifier(max_iter=2, early_stopping=True).fit(X, y),
            sx.SVC().fit(X, y),
            sx.NuSVC(nu=0.3).fit(rows, y),
            sx.SVC(kernel="poly", calibrate="sigmoid").fit(rows, y),
            sx.SVC(kernel="linear", decision_function_shape="ovo").fit(X, y),
            sx.SVC(kernel=kernels.DeltaKernel()).fit(X, y),
            sx.SVC(kernel="precomputed").fit(kernel, y),
            sx.SVC(approximation="nystroem", n_components=4, random_state=0).fit(rows, y),
            sx.SVC(approximation="fourier", n_components=4, random_state=0).fit(X, y),
            sx.LinearDiscriminantAnalysis().fit(X, y),
            sx.QuadraticDiscriminantAnalysis(shrinkage="auto").fit(X, y),
            sx.LeastSquaresClassifier().fit(X, y),
            sx.RidgeClassifier().fit(X, names[y]),
            sx.RidgeClassifierCV().fit(rows, y),
            sx.SGDClassifier(penalty="l1", max_iter=2).fit(X, y),
            sx.DecisionStump().fit(X, y),
        ]
    X, y = _data(2)
    separable = np.vstack([X[y == 0] - 9.0, X[y == 1] + 9.0])
    models += [
        sx.LinearSVC(C=math.inf).fit(separable, np.sort(y)),
        sx.LinearDiscriminantAnalysis().partial_fit(X[:10], y[:10], classes=[0, 1, 2]),
        sx.LinearRegression().fit(X, y + 0.5 * X[:, 0]),
        sx.LinearRegression(lam=0.1).partial_fit(X, X[:, :2]),
        sx.HuberRegressor().fit(X, y + 0.5 * X[:, 0]),
        sx.PoissonRegressor().fit(X, y),
        sx.SVR().fit(X, y + 0.5 * X[:, 0]),
        sx.SVR(kernel="linear").fit(sp.csr_matrix(X), y + 0.5 * X[:, 0]),
        sx.NuSVR().fit(X, y + 0.5 * X[:, 0]),
        sx.NuSVR(kernel="precomputed").fit(X @ X.T, y + 0.5 * X[:, 0]),
        sx.OneClassSVM().fit(X),
        sx.LinearSVR().fit(X, y + 0.5 * X[:, 0]),
        sx.SGDRegressor("huber").fit(X, y + 0.5 * X[:, 0]),
        sx.SGDRegressor(average=True).partial_fit(X, y + 0.5 * X[:, 0]),
        sx.SGDRegressor(penalty="l1", alpha=1.0).fit(X, y + 0.5 * X[:, 0]).sparsify(),
        sx.Ridge().fit(X, y + 0.5 * X[:, 0]),
        sx.Ridge(alpha=[0.1, 2.0]).fit(X, X[:, :2]),
        sx.RidgeCV(store_cv_results=True).fit(X, y + 0.5 * X[:, 0]),
        sx.Lasso(alpha=0.1).fit(X, y + 0.5 * X[:, 0]),
        sx.LassoCV(cv=2, n_alphas=3).fit(X, y + 0.5 * X[:, 0]),
        sx.ElasticNet(alpha=0.1).fit(rows, X[:, :2]),
        sx.ElasticNetCV(cv=2, n_alphas=3, l1_ratio=[0.5, 1.0]).fit(X, y + 0.5 * X[:, 0]),
        sx.PolynomialRegression(degree=2).fit(X, y + X[:, 1]),
        sx.PolynomialRegression(degree=3, lam=0.1).fit(X[:, :1], X[:, 1:]),
    ]
    return tuple(models)


def table() -> Table:
    """A few rows of every kind of column."""
    return Table.from_columns(
        {
            "size": [1.0, 2.5, None, 4.0] * 5,
            "colour": ["red", "blue", None, "green"] * 5,
            "review": ["a great film indeed", "the worst film ever", "a poor one", None] * 5,
        },
        kinds={"review": "text", "colour": "category"},
    )


@functools.cache
def valid_files() -> tuple[bytes, ...]:
    """The files that mutants are made of."""
    out = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "model"
        for model in fitted_models():
            save_model(path, model)
            out.append(path.read_bytes())
        rows, y = table(), np.array([0, 1, 1, 0] * 5)
        for columns, options in (
            (["size", "colour"], {}),
            (["size", "colour"], {"reference": True, "min_frequency": 6}),
            (["review", "size"], {"text": {"ngram_range": (1, 2)}}),
        ):
            part = rows.drop(next(name for name in rows.names if name not in columns))
            encoder = Encoder(**options)
            X = encoder.fit_transform(part, y)
            provenance = {"target": "y", "data": {"rows": 20, "fingerprint": "0"}, "seeds": [1, 2]}
            save_model(
                path, sx.LogisticRegression().fit(X, y), encoder=encoder, provenance=provenance
            )
            out.append(path.read_bytes())
    return tuple(out)


# --- taking a file apart, and putting it together --------------------------------------------


def opened(data: bytes) -> tuple[Document, Tensors]:
    """The document of a model file, and its arrays."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    tensors = {name: np.array(value) for name, value in load_tensors(data).items()}
    return json.loads(header["__metadata__"]["separatrix"]), tensors


def closed(document: Document, tensors: Tensors) -> bytes:
    """A model file of a document and arrays, whatever they hold, with the right checksums."""
    # A document that is too broken for a digest gets none.
    try:
        if "digest" in document["model"]:
            document["model"]["digest"] = digest_of(document, tensors)
    except Exception:
        pass
    document["sha256"] = "0" * 64
    text = json.dumps(document, separators=(",", ":"))
    return checked(save_tensors(tensors, metadata={"separatrix": text}))


def checked(blank: bytes) -> bytes:
    """A file with the right checksum in place of zeros."""
    digest = hashlib.sha256(blank).hexdigest()
    return blank.replace(b'sha256\\":\\"' + b"0" * 64, f'sha256\\":\\"{digest}'.encode(), 1)


# --- mutations -------------------------------------------------------------------------------

Place = tuple[Any, Any]

_NUMBERS = [
    *(0, 1, 2, 3, -1, -2, 7, 255, 10**5, 10**8, 2**31 - 1, 2**31, 2**53, 2**63, 2**64, -(2**63)),
    *(10**30, 10**400, 0.5, -0.5, 1e-300, 1e300, 1.7e308, -0.0, math.nan, math.inf, -math.inf),
]
_TEXTS = ["", "x", "inf", "nan", "optimal", "no_such_status", "\ud800", "a\nb", "x" * 5000]


def _odd(rng: random.Random, tensors: Tensors) -> Any:
    """A random value, which need not be valid where it is put."""
    names = list(tensors) or ["none"]
    deep: Any = 0
    for _ in range(rng.choice([3, 90, 200, 600])):
        deep = [deep]
    return rng.choice(
        [
            rng.choice(_NUMBERS),
            rng.choice(_NUMBERS),
            rng.choice(_TEXTS),
            *(None, True, False, [], {}, [[]], [1, 2, 3], {"a": 1}, deep),
            {"$tensor": rng.choice(names)},
            {"$tensor": "no/such"},
            {"$tensor": []},
            {"$float": rng.choice(["nan", "inf", "-inf", "1e999", "x"])},
            {"$scalar": [rng.choice(["<f8", "<i8", "|b1", "<i1", "O", "<U9", "V9"]), 300]},
            {"$scalar": ["<i8", 2**70]},
            {"$tuple": [1, 2]},
            {"$tuple": 3},
            {"$dict": [[1, 2]]},
            {"$dict": [[[1], 2]]},
            {"$dict": [[{"$tensor": rng.choice(names)}, 2]]},
            {"$loss": rng.choice(["log", "hinge", "x", []])},
            {"$array": {"dtype": f"<U{rng.choice([1, 5, 500_000_000])}", "shape": [1],
                        "values": ["abc"]}},
            {"$array": {"dtype": "object", "shape": [2], "values": [1, "a"]}},
            {"$array": {"dtype": "object", "shape": [10**9, 0], "values": []}},
            {"$csr": {"data": {"$tensor": rng.choice(names)},
                      "indices": {"$tensor": rng.choice(names)},
                      "indptr": {"$tensor": rng.choice(names)},
                      "shape": [rng.choice(_NUMBERS), 3], "kind": "matrix"}},
            {"$kernel": {"class": rng.choice(["RBFKernel", "LinearKernel", "PrecomputedKernel",
                                              "DeltaKernel", "CallableKernel"]), "fields": {}}},
            {"$kernel": {"class": "PolynomialKernel",
                         "fields": {"degree": rng.choice(_NUMBERS), "gamma": 1.0, "coef0": 0.0}}},
        ]
    )  # fmt: skip


def _places(document: Any) -> list[Place]:
    """Every place of a document: the list or dict that holds it, and its index or key."""
    out: list[Place] = []
    rest = [document]
    while rest:
        holder = rest.pop()
        for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
            out.append((holder, key))
            if isinstance(holder[key], (dict, list)):
                rest.append(holder[key])
    return out


def _replace(rng: random.Random, document: Document, tensors: Tensors) -> None:
    holder, key = rng.choice(_places(document))
    holder[key] = _odd(rng, tensors)


def _replace_number(rng: random.Random, document: Document, tensors: Tensors) -> None:
    found = [
        (holder, key)
        for holder, key in _places(document["model"])
        if isinstance(holder[key], (int, float))
    ]
    if found:
        holder, key = rng.choice(found)
        holder[key] = rng.choice([*_NUMBERS, holder[key] + 1, holder[key] - 1, 2 * holder[key]])


def _remove(rng: random.Random, document: Document, tensors: Tensors) -> None:
    holder, key = rng.choice(_places(document))
    del holder[key]


def _rename(rng: random.Random, document: Document, tensors: Tensors) -> None:
    named = [(holder, key) for holder, key in _places(document) if isinstance(holder, dict)]
    if len(named) < 2:
        return
    (holder, key), (_, other) = rng.choice(named), rng.choice(named)
    holder[other] = holder[key]
    if rng.random() < 0.5 and other != key:
        del holder[key]


def _swap(rng: random.Random, document: Document, tensors: Tensors) -> None:
    fitted = document["model"]["fitted"]
    if isinstance(fitted, dict) and len(fitted) > 1:
        a, b = rng.sample(sorted(fitted), 2)
        fitted[a], fitted[b] = fitted[b], fitted[a]


def _repeat(rng: random.Random, document: Document, tensors: Tensors) -> None:
    lists = [h[k] for h, k in _places(document) if isinstance(h[k], list) and h[k]]
    if lists:
        chosen = rng.choice(lists)
        chosen.append(copy.deepcopy(rng.choice(chosen)))


def _splice(rng: random.Random, document: Document, tensors: Tensors) -> None:
    """A part of another file."""
    other, more = opened(rng.choice(valid_files()))
    section = rng.choice(["class", "params", "fitted", "encoder", "attribute", "attribute"])
    for name, value in more.items():
        tensors.setdefault(name, value)
    if section == "encoder":
        document["encoder"] = other["encoder"]
    elif section == "attribute":
        name = rng.choice(sorted(other["model"]["fitted"]))
        document["model"]["fitted"][name] = other["model"]["fitted"][name]
    else:
        document["model"][section] = other["model"][section]


def _reshape(rng: random.Random, document: Document, tensors: Tensors) -> None:
    if not tensors:
        return
    name = rng.choice(sorted(tensors))
    value = tensors[name]
    changes: list[Callable[[], np.ndarray]] = [
        lambda: value.T,
        lambda: value.reshape(-1),
        lambda: value[None],
        lambda: value[..., None],
        lambda: value[:-1] if value.ndim else value,
        lambda: value[..., :-1] if value.ndim else value,
        lambda: np.concatenate([value, value[:1]]) if value.ndim else value,
        lambda: np.zeros(0, value.dtype),
        lambda: np.zeros((0, *value.shape[1:]), value.dtype),
        lambda: np.zeros((*value.shape[:1], 0), value.dtype),
        lambda: np.zeros((0, 10**9), value.dtype),
        lambda: value.reshape(-1)[:1].reshape(()) if value.size else value,
        lambda: np.tile(value, 3),
    ]
    tensors[name] = np.ascontiguousarray(rng.choice(changes)())


def _retype(rng: random.Random, document: Document, tensors: Tensors) -> None:
    if tensors:
        name = rng.choice(sorted(tensors))
        kind = rng.choice(["f4", "f8", "i8", "i4", "i2", "u1", "u8", "?"])
        with np.errstate(all="ignore"):
            tensors[name] = tensors[name].astype(kind)


def _renumber(rng: random.Random, document: Document, tensors: Tensors) -> None:
    """Other numbers in an array."""
    full = [name for name in sorted(tensors) if tensors[name].size]
    if not full:
        return
    name = rng.choice(full)
    value = tensors[name].reshape(-1)
    with np.errstate(all="ignore"):
        for _ in range(rng.choice([1, 1, value.size])):
            place = rng.randrange(value.size)
            pool = [n for n in _NUMBERS if abs(n) < 1e19 or isinstance(n, float)]
            value[place] = np.array(rng.choice(pool)).astype(value.dtype)
    if rng.random() < 0.1:
        value[:] = value[::-1].copy()


def _retensor(rng: random.Random, document: Document, tensors: Tensors) -> None:
    if len(tensors) > 1:
        a, b = rng.sample(sorted(tensors), 2)
        tensors[a], tensors[b] = tensors[b], tensors[a]


_CHANGES = [
    *(_replace, _replace, _replace_number, _replace_number, _remove, _rename, _swap, _repeat),
    *(_splice, _reshape, _reshape, _retype, _renumber, _renumber, _retensor),
]


def mutant(number: int, seed: int = 0) -> bytes:
    """The mutant of a number."""
    rng = random.Random(f"{seed}/{number}")
    data = rng.choice(valid_files())
    if rng.random() < 0.05:
        return _damaged(rng, data)
    document, tensors = opened(data)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        try:
            rng.choice(_CHANGES)(rng, document, tensors)
        except (AttributeError, KeyError, TypeError, ValueError, IndexError, OverflowError):
            # An earlier change may have removed what a later one is meant to alter.
            continue
    return closed(document, tensors)


def _damaged(rng: random.Random, data: bytes) -> bytes:
    """A file with a few bytes changed, under a right checksum."""
    stored = json.loads(
        json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]["separatrix"]
    )["sha256"]
    blank = bytearray(data.replace(stored.encode(), b"0" * 64, 1))
    for _ in range(rng.choice([1, 2, 5])):
        blank[rng.randrange(len(blank))] = rng.randrange(256)
    return checked(bytes(blank))


# --- what becomes of them ----------------------------------------------------------------------


def use(data: bytes, path: Path) -> str:
    """Read a file and predict with its model; returns the outcome in a word.

    Any other exception is a failure, and is raised.
    """
    path.write_bytes(data)
    try:
        stored = load_model(path)
    except ModelFileError as error:
        told = str(error)
        if "\n" in told or str(path) not in told or len(told) > 2000:
            raise AssertionError(f"not one sentence: {told[:300]!r}") from error
        return "refused"
    model = stored.model
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        predict(model)
        str(getattr(model, "certificate_", ""))
        describe_model(model, stored.encoder)
        details_of(model)
        support_record(model)
        if stored.encoder is not None:
            with contextlib.suppress(DataError):
                model.predict(stored.encoder.transform(table()))
        # A model that was read can be written.
        save_model(path, model, encoder=stored.encoder, provenance=stored.provenance)
    return "loaded"


def predict(model: Any) -> None:
    """Call every method that predicts on a few rows."""
    d = int(model.n_features_in_)
    columns = np.array([0, d - 1, 0, d // 2])
    rows = sp.csr_matrix((np.ones(4), columns, [0, 2, 4]), shape=(2, d))
    given: list[Any] = [rows]
    if d <= 100_000:
        given += [rows.toarray(), rows.toarray().astype(np.float32)]
    for X in given:
        for name in ("predict", "decision_function", "predict_proba", "transform"):
            if not hasattr(model, name):
                continue
            try:
                getattr(model, name)(X)
            except (DataError, NotFittedError, *_unfinished(model)) as error:
                if "\n" in str(error):
                    raise


def _unfinished(model: Any) -> tuple[type[Exception], ...]:
    """The exceptions allowed to a model whose fit waits for more rows, as to its next fit."""
    return () if hasattr(model, "certificate_") else (ValueError,)


def failure_of(number: int, path: Path, seed: int = 0) -> str | None:
    """The failure of a mutant in words; None where there was none."""
    data = mutant(number, seed)
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    told = None
    try:
        use(data, path)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        place = traceback.extract_tb(error.__traceback__)[-1]
        told = f"{type(error).__name__}: {str(error)[:300]} ({place.filename}:{place.lineno})"
    taken = tracemalloc.get_traced_memory()[1] - before
    if told is None and taken > MOST_BYTES:
        told = f"took {taken / 1e6:,.0f} MB, of a file of {len(data):,} bytes"
    return told


# --- many of them ------------------------------------------------------------------------------


def _work(first: int, stop: int, seed: int) -> None:
    """Run mutants in a process of their own: print each number before, and each failure after."""
    tracemalloc.start()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mutant"
        valid_files()
        for number in range(first, stop):
            print(f"begin {number}", flush=True)
            told = failure_of(number, path, seed)
            if told is not None:
                print(f"failed {number} {' '.join(told.split())}", flush=True)


def run(mutants: int, seed: int = 0) -> list[str]:
    """The failures of all mutants; crashes and hangs, which end only their own process, count."""
    failures: list[str] = []
    first = 0
    while first < mutants:
        first = _run_some(first, mutants, seed, failures)
    return failures


def _run_some(first: int, stop: int, seed: int, failures: list[str]) -> int:
    """Run mutants until one ends the process, and return the number to go on from."""
    words = [sys.executable, "-m", "benchmarks.model_files"]
    words += ["--work", str(first), str(stop), "--seed", str(seed)]
    child = subprocess.Popen(words, stdout=subprocess.PIPE, env=os.environ)
    assert child.stdout is not None
    last, rest = first - 1, b""
    # The first mutant has to wait for the fits.
    patience = 20.0 * PATIENCE
    while True:
        if not select.select([child.stdout], [], [], patience)[0]:
            child.kill()
            child.wait()
            failures.append(f"{last} took more than {patience:g} seconds")
            break
        found = os.read(child.stdout.fileno(), 1 << 16)
        if not found:
            if child.wait() == 0:
                return stop
            failures.append(f"{last} ended the process with the code {child.returncode}")
            break
        patience = PATIENCE
        *lines, rest = (rest + found).split(b"\n")
        for line in lines:
            word, _, told = line.decode(errors="replace").partition(" ")
            if word == "begin":
                last = int(told)
            elif word == "failed":
                failures.append(told)
                print(told, file=sys.stderr, flush=True)
    print(failures[-1], file=sys.stderr, flush=True)
    if last < first:
        raise RuntimeError("the process ended before its first mutant")
    return last + 1


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; 0 where no mutant failed."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.model_files", description=__doc__.split("\n\n")[0]
    )
    parser.add_argument("--mutants", type=int, default=20_000, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--work", type=int, nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.work is not None:
        _work(*options.work, options.seed)
        return 0
    failures = run(options.mutants, options.seed)
    print(f"{options.mutants} mutants, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
