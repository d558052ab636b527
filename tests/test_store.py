"""Model files: what goes in comes out, nothing half-written stays, and no damage goes unnoticed."""

from __future__ import annotations

import builtins
import errno
import hashlib
import json
import math
import os
import pickle
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import separatrix
from grids import EXHAUSTIVE
from separatrix import kernels
from separatrix.exceptions import ModelFileError
from separatrix.kernels import CallableKernel, SquaresKernel
from separatrix.persistence import model_file
from separatrix.persistence.document import digest_of
from separatrix.persistence.model_file import check_writable, load_model, save_model
from separatrix.tables import Encoder, Table

REAL_CERTIFICATES = model_file._CLASSES["$certificate"]
REAL_LIBRARY_VERSION = model_file._library_version


class StandIn(ClassifierMixin, BaseEstimator):
    """Holds whatever a test puts into it; the mechanics of the file do not depend on the model."""

    def __init__(self, C=1.0, class_weight=None, random_state=None, callback=None):
        self.C = C
        self.class_weight = class_weight
        self.random_state = random_state
        self.callback = callback


@dataclass(frozen=True)
class StandInCertificate:
    primal: float
    dual: float
    status: str

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> StandInCertificate:
        return cls(**state)


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setitem(model_file.ESTIMATORS, "StandIn", __name__)
    monkeypatch.setattr(separatrix, "StandIn", StandIn, raising=False)
    stand_in = {"StandInCertificate": __name__}
    monkeypatch.setitem(model_file._CLASSES, "$certificate", stand_in)
    monkeypatch.setattr(model_file, "_library_version", lambda: "0.0.test")


def fitted(**attributes) -> StandIn:
    model = StandIn()
    attributes = attributes or {"coef_": np.array([[0.1, -2.0, 3e-300]])}
    for name, value in attributes.items():
        setattr(model, name, value)
    return model


def round_trip(path: Path, model: Any) -> Any:
    save_model(path, model)
    return load_model(path).model


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "model.separatrix"


# ------------------------------------------------------------------------------------ contents


@pytest.mark.parametrize(
    "value",
    [
        np.array([[0.1, math.pi], [np.inf, np.nan]]),
        np.array([1.5, -0.0], dtype=np.float32),
        np.arange(12.0).reshape(3, 4).T,  # Fortran order
        np.arange(12)[::3],
        np.array([1, 2], dtype=">i4"),
        np.array([255], dtype=np.uint8),
        np.array([True, False]),
        np.array(2.5),
        np.empty((0, 3)),
    ],
    ids=["f8", "f4", "fortran", "strided", "big-endian", "u1", "bool", "0-d", "empty"],
)
def test_arrays_of_numbers_come_back_to_the_bit(path, value):
    again = round_trip(path, fitted(coef_=value)).coef_
    assert again.dtype == value.dtype.newbyteorder("=")
    assert again.shape == value.shape
    assert again.tobytes() == value.astype(again.dtype).tobytes()
    assert again.flags.writeable


@pytest.mark.parametrize(
    "labels",
    [
        np.array([0, 1, 7]),
        np.array([-1, 1], dtype=np.int8),
        np.array([0.5, 1.5]),
        np.array([False, True]),
        np.array(["<=50K", ">50K"]),
        np.array(["", "naïve", "日本", "\x00x", 'quo"te\\']),
        np.array(["no", "yes"], dtype=object),
        np.array([1, "one", 2.5, None, True], dtype=object),
        np.array(["a", "bb"], dtype=np.dtypes.StringDType()),
    ],
    ids=["int", "int8", "float", "bool", "str", "unicode", "object", "mixed", "string-dtype"],
)
def test_labels_come_back_with_their_dtype(path, labels):
    again = round_trip(path, fitted(classes_=labels)).classes_
    assert again.dtype == labels.dtype
    assert again.shape == labels.shape
    assert again.tolist() == labels.tolist()
    assert [type(item) for item in again.tolist()] == [type(item) for item in labels.tolist()]


def test_plain_values_come_back_with_their_type(path):
    values = {
        "n_iter_": 9,
        "objective_formula_": "minimise 1/2 |w|^2",
        "seconds_": np.float64(0.25),
        "count_": np.int32(4),
        "bound_": -math.inf,
        "none_": None,
        "parts_": [(1, "a"), {"x": [True, None]}],
        "weights_by_label_": {0: 1.0, 1: 2.0},
        "tagged_": {"$tensor": "not a tensor", "plain": 1},
        "certificate_": StandInCertificate(2.0, -math.inf, "max_iter"),
    }
    again = round_trip(path, fitted(**values))
    for name, value in values.items():
        assert getattr(again, name) == value, name
        assert type(getattr(again, name)) is type(value), name


def test_not_a_number_comes_back(path):
    assert math.isnan(round_trip(path, fitted(loss_=math.nan)).loss_)


def test_arrays_whose_names_would_collide_stay_apart(path):
    again = round_trip(
        path,
        fitted(
            nested_={"a/b": np.array([1.0]), "a": {"b": np.array([2.0])}},
            accents_={"\u00e9": np.array([3.0]), "\\xe9": np.array([4.0])},
        ),
    )
    assert again.nested_["a/b"] == 1.0
    assert again.nested_["a"]["b"] == 2.0
    assert again.accents_["\u00e9"] == 3.0
    assert again.accents_["\\xe9"] == 4.0


def test_parameters_come_back_and_those_that_are_not_data_as_defaults(path):
    model = fitted()
    model.set_params(
        C=math.inf,
        class_weight={0: 2.0, "one": 1.0},
        random_state=np.random.RandomState(0),
        callback=print,
    )
    again = round_trip(path, model)
    assert again.get_params() == {
        "C": math.inf,
        "class_weight": {0: 2.0, "one": 1.0},
        "random_state": None,
        "callback": None,
    }


def test_trace_and_private_attributes_stay_out(path):
    model = fitted(coef_=np.ones(2), trace_=object(), _scratch=object())
    assert vars(round_trip(path, model)).keys() == {*model.get_params(), "coef_"}


def test_provenance_and_versions(path):
    provenance = {"data": "adult.csv", "options": {"C": 1.0, "ignore": []}, "rows": [1, 2]}
    save_model(path, fitted(), provenance=provenance)
    stored = load_model(path)
    assert stored.provenance == provenance
    assert stored.format_version == 4
    assert stored.library_version == "0.0.test"
    assert stored.encoder is None


def test_the_same_model_makes_the_same_bytes(tmp_path):
    save_model(tmp_path / "a", fitted(coef_=np.arange(3.0), intercept_=np.ones(1)))
    save_model(tmp_path / "b", fitted(coef_=np.arange(3.0), intercept_=np.ones(1)))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_unfitted_model_is_refused(path):
    with pytest.raises(NotFittedError, match="StandIn is not fitted yet: call fit before saving"):
        save_model(path, StandIn())
    assert not path.exists()


def test_only_registered_classes_are_stored(path):
    class Subclass(StandIn):
        pass

    Subclass.__name__ = "StandIn"  # the name alone does not open the door
    for model in (Subclass(), object()):
        with pytest.raises(TypeError, match="a model file holds one of DecisionStump, "):
            save_model(path, model)


def test_values_that_are_not_data_are_refused_by_name(path):
    with pytest.raises(TypeError, match=r"not function \(at model/rule_\)"):
        save_model(path, fitted(rule_=lambda: 0))
    with pytest.raises(TypeError, match=r"array of datetime64\[D\] \(at model/days_\)"):
        save_model(path, fitted(days_=np.array(["2026-01-01"], dtype="M8[D]")))


# ------------------------------------------------------------------------------ real estimators


def test_every_public_model_can_be_stored():
    from separatrix.certificate import Certificate

    public = {name: getattr(separatrix, name) for name in separatrix.__all__}
    models = {
        name
        for name, value in public.items()
        if isinstance(value, type) and issubclass(value, BaseEstimator)
    }
    assert models == set(model_file.ESTIMATORS) - {"StandIn"}
    assert {Certificate.__name__: Certificate.__module__} == REAL_CERTIFICATES


@pytest.fixture
def real(monkeypatch):
    """Undo what stands in for the library."""
    monkeypatch.setitem(model_file._CLASSES, "$certificate", REAL_CERTIFICATES)
    monkeypatch.setattr(model_file, "_library_version", REAL_LIBRARY_VERSION)


LABELS = {
    "int": np.array([3, -1, 7]),
    "float": np.array([0.0, 1.0, 2.0]),
    "str": np.array(["a", "bb", "ccc"]),
    "object": np.array(["x", "y", "z"], dtype=object),
}


@pytest.mark.crossed
@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", ["LinearSVC", "LogisticRegression", "Perceptron"])
def test_real_estimators_predict_the_same_to_the_bit(path, real, name, n_classes, labels):
    X, target = load_iris(return_X_y=True)
    X, y = X[target < n_classes], LABELS[labels][target[target < n_classes]]
    parameters = {"max_passes": 10} if name == "Perceptron" else {"C": 0.3}
    model = getattr(separatrix, name)(**parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    again = round_trip(path, model)
    assert type(again) is type(model)
    assert again.get_params() == model.get_params()
    assert again.certificate_ == model.certificate_
    assert again.classes_.dtype == model.classes_.dtype
    assert np.array_equal(again.predict(X), model.predict(X))
    assert np.array_equal(again.decision_function(X), model.decision_function(X))
    assert {key for key in vars(model) if not key.startswith("_")} == vars(again).keys()


@pytest.mark.parametrize(
    "model",
    [
        separatrix.LogisticRegression(l1_ratio=1, C=0.1),
        separatrix.LogisticRegression(penalty="elasticnet", l1_ratio=0.5, multiclass="ovr"),
        separatrix.LinearSVC(penalty="l1", C=0.1),
    ],
    ids=repr,
)
def test_weights_that_are_zero_stay_so(path, real, model):
    X, y = load_iris(return_X_y=True)
    again = round_trip(path, model.fit(X, y))
    assert again.get_params() == model.get_params()
    assert again.certificate_ == model.certificate_ and again.certificate_.ok
    assert np.array_equal(again.coef_, model.coef_) and np.any(again.coef_ == 0.0)
    assert separatrix.verify(again, X, y).ok


KERNEL_MACHINES = [
    {"kernel": "linear"},
    {"kernel": "rbf", "gamma": 0.7},
    {"kernel": "poly", "degree": 2, "coef0": 1.0, "class_weight": "balanced"},
    {"kernel": "sigmoid", "gamma": 0.01},
    {"kernel": SquaresKernel()},
    {"kernel": "rbf", "C": math.inf, "gamma": 5.0},
    {"kernel": "rbf", "decision_function_shape": "ovo", "C": 30.0},
    {"kernel": "rbf", "calibrate": "sigmoid"},
    {"kernel": "poly", "calibrate": "isotonic"},
    {"approximation": "nystroem", "n_components": 9, "calibrate": "sigmoid"},
    {"approximation": "fourier", "n_components": 20},
]


@pytest.mark.crossed
@pytest.mark.parametrize("options", KERNEL_MACHINES, ids=str)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("form", ["dense", "fortran", "csr", "csr-array"])
def test_kernel_machines_predict_the_same_to_the_bit(path, real, options, n_classes, form):
    X, target = load_iris(return_X_y=True)
    X, y = X[target < n_classes], LABELS["str"][target[target < n_classes]]
    rows = {"fortran": np.asfortranarray, "csr": sp.csr_matrix, "csr-array": sp.csr_array}
    rows = rows.get(form, np.array)(X)
    new = np.random.default_rng(0).normal(X.mean(axis=0), 2.0 * X.std(axis=0), size=(300, 4))
    model = separatrix.SVC(**{"C": 2.0, "random_state": 0, **options})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(rows, y)
    again = round_trip(path, model)
    assert again.get_params() == model.get_params()
    assert again.kernel_ == model.kernel_
    assert again.certificate_ == model.certificate_
    for given in (new, sp.csr_array(new), new.astype(np.float32)):
        assert np.array_equal(again.decision_function(given), model.decision_function(given))
        assert np.array_equal(again.predict(given), model.predict(given))
        if "calibrate" in options:
            assert np.array_equal(again.predict_proba(given), model.predict_proba(given))
    private = {key for key in vars(model) if key.startswith("_")}
    assert set(vars(model)) - private == set(vars(again))
    assert np.array_equal(again.slack_, model.slack_, equal_nan=True)
    found, before = again.kkt_violations(rows, y), model.kkt_violations()
    if n_classes == 2:
        found, before = (found,), (before,)
    for one, other in zip(found, before, strict=True):
        if "approximation" not in options:
            assert one.side.tolist() == other.side.tolist()
        assert np.allclose(one.margin, other.margin, rtol=0, atol=1e-9, equal_nan=True)
    with pytest.raises(ValueError, match="does not hold the training data"):
        again.kkt_violations()
    assert load_model(path).format_version == 4


def test_a_sparse_matrix_comes_back_with_its_types(path):
    for kind in (sp.csr_matrix, sp.csr_array):
        for index in (np.int32, np.int64):
            value = kind(np.array([[0.0, 1.5, 0.0], [2.0, 0.0, -3.0]], dtype=np.float32))
            value.indices, value.indptr = value.indices.astype(index), value.indptr.astype(index)
            again = round_trip(path, fitted(support_vectors_=value)).support_vectors_
            assert type(again) is type(value)
            assert again.dtype == value.dtype
            assert again.shape == value.shape
            for name in ("data", "indices", "indptr"):
                assert np.array_equal(getattr(again, name), getattr(value, name))
    with pytest.raises(TypeError, match="sparse matrices by rows, not csc"):
        save_model(path, fitted(support_vectors_=sp.csc_array(np.eye(2))))


def test_a_precomputed_kernel(path, real):
    X, y = load_iris(return_X_y=True)
    K = X @ X.T
    model = separatrix.SVC(kernel="precomputed").fit(K, y)
    again = round_trip(path, model)
    assert np.array_equal(again.decision_function(K[:20]), model.decision_function(K[:20]))


def laplace(X, Z):
    return np.exp(-np.abs(X[:, None] - Z[None]).sum(axis=2))


@pytest.mark.parametrize("kernel", [laplace, CallableKernel(laplace)])
def test_a_function_is_refused_in_a_sentence_that_says_why(path, real, kernel):
    X, y = load_iris(return_X_y=True)
    model = separatrix.SVC(kernel=kernel).fit(X, y)
    with pytest.raises(TypeError, match="is the function 'laplace', and a model file cannot hold"):
        save_model(path, model)
    with pytest.raises(TypeError, match="the function 'laplace'") as caught:
        save_model(path, separatrix.SVC().fit(X, y).set_params(kernel=kernel))
    assert "\n" not in str(caught.value)
    assert not path.exists()


def test_a_kernel_of_ones_own_class_is_refused(path, real):
    class RBFKernel(kernels.RBFKernel):
        pass

    X, y = load_iris(return_X_y=True)
    model = separatrix.SVC(kernel=RBFKernel(0.5)).fit(X, y)
    with pytest.raises(TypeError, match="a kernel of separatrix.kernels, not RBFKernel"):
        save_model(path, model)


def edited(path: Path, edit) -> None:
    """Forge a file: its document changed, its tensors kept, its digests right."""
    data = path.read_bytes()
    path.write_bytes(rewrite(data, edit, load_tensors(data)))


def forge(*keys, value):
    def edit(document):
        place = document["model"]
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value

    return edit


FORGERIES = {
    "kernel": forge("fitted", "kernel_", "$kernel", "class", value="CallableKernel"),
    "module": forge("fitted", "kernel_", "$kernel", "class", value="os.system"),
    "field": forge("fitted", "kernel_", "$kernel", "fields", value={"gamma": 1.0, "x": 2}),
    "gamma": forge("fitted", "kernel_", "$kernel", "fields", value={"gamma": -1.0}),
    "lift": forge("fitted", "lift_", value={"$lift": {"class": "Pipeline", "params": {}}}),
    "lift's attribute": forge("fitted", "lift_", "$lift", "fitted", "__class__", value=1),
    "lift's method": forge("fitted", "lift_", "$lift", "fitted", "transform", value=1),
    "lift's parameter": forge("fitted", "lift_", "$lift", "params", "x", value=1),
    "parameter": forge("params", "shell", value=True),
    "sparse kind": forge("fitted", "lift_", "$lift", "fitted", "landmark_points_", "$csr", "kind",
                         value="coo_matrix"),
    "sparse shape": forge("fitted", "lift_", "$lift", "fitted", "landmark_points_", "$csr",
                          "shape", value=[9, 2]),
    "sparse type": forge("fitted", "lift_", "$lift", "fitted", "landmark_points_", "$csr",
                         "indices", value=["a"]),
}  # fmt: skip


@pytest.fixture(scope="module")
def machine() -> separatrix.SVC:
    X, y = load_iris(return_X_y=True)
    model = separatrix.SVC(approximation="nystroem", n_components=9, random_state=0)
    return model.fit(sp.csr_array(X), y)


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_kernel_machine_is_refused(path, real, name, machine):
    X, model = load_iris().data, machine
    save_model(path, model)
    edited(path, lambda document: None)
    assert np.array_equal(load_model(path).model.predict(X), model.predict(X))
    edited(path, FORGERIES[name])
    with pytest.raises(ModelFileError) as caught:
        load_model(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # of passes
@pytest.mark.parametrize("name", sorted(model_file.ESTIMATORS))
def test_files_of_earlier_versions_are_read(path, real, name):
    X, y = load_iris(return_X_y=True)
    model = getattr(separatrix, name)().fit(X, y > 0)
    save_model(path, model)
    new = load_model(path)
    assert new.format_version == 4 and len(new.digest) == 64
    for version in (1, 2, 3):
        edited(path, lambda document, version=version: document.update(format_version=version))
        stored = load_model(path)
        assert (stored.format_version, stored.digest) == (version, None)
        assert np.array_equal(stored.model.predict(X), model.predict(X)), version


@pytest.mark.parametrize("name", ["LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"])
@pytest.mark.parametrize("shrinkage", [None, "auto", 0.3])
def test_gaussians_go_on_from_a_file(path, real, name, shrinkage):
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    whole = getattr(separatrix, name)(shrinkage=shrinkage).fit(X, y)
    half = getattr(separatrix, name)(shrinkage=shrinkage).fit(X[:90], y[:90])
    again = round_trip(path, half)
    assert again.certificate_ == half.certificate_
    again.partial_fit(X[90:], y[90:])
    np.testing.assert_allclose(again.means_, whole.means_, rtol=1e-13)
    np.testing.assert_allclose(
        again.decision_function(X), whole.decision_function(X), rtol=1e-9, atol=1e-9
    )


def test_least_squares_goes_on_from_a_file(path, real):
    X, y = load_iris(return_X_y=True)
    whole = separatrix.LinearRegression().fit(X, y)
    again = round_trip(path, separatrix.LinearRegression().fit(X[:90], y[:90]))
    again.partial_fit(X[90:], y[90:])
    np.testing.assert_allclose(again.coef_, whole.coef_, rtol=1e-11)
    np.testing.assert_allclose(again.intercept_, whole.intercept_, rtol=1e-11)
    assert again.certificate_.ok


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_schedules_and_losses_are_stored_by_name(path, real):
    from separatrix.losses import LogLoss
    from separatrix.schedules import Power

    X, y = load_iris(return_X_y=True)
    schedule = Power(0.5, tau=2.0, kappa=0.75)
    model = separatrix.SGDClassifier(LogLoss(), learning_rate=schedule, max_iter=3).fit(X, y > 0)
    again = round_trip(path, model)
    assert again.learning_rate == schedule
    assert type(again.loss) is LogLoss
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_a_record_of_an_unknown_kind_is_refused(path, real):
    X, y = load_iris(return_X_y=True)
    save_model(path, separatrix.LinearDiscriminantAnalysis().fit(X, y))

    def edit(document):
        document["model"]["fitted"]["moments_"]["$record"]["class"] = "Popen"

    data = path.read_bytes()
    path.write_bytes(rewrite(data, edit, load_tensors(data)))
    with pytest.raises(ModelFileError, match="unknown record 'Popen'"):
        load_model(path)


@pytest.mark.parametrize("name", ["LinearSVC", "Perceptron"])
def test_a_file_of_the_first_version_still_loads(path, real, name):
    X, y = load_iris(return_X_y=True)
    model = getattr(separatrix, name)().fit(X, y > 0)
    save_model(path, model)

    def as_it_was(document):
        document["format_version"] = 1
        del document["model"]["params"]["calibrate"]

    edited(path, as_it_was)
    stored = load_model(path)
    assert stored.format_version == 1
    assert stored.model.calibrate is None
    assert np.array_equal(stored.model.decision_function(X), model.decision_function(X))


def test_parameters_that_there_are_no_more_are_passed_over(path, real):
    X, y = load_iris(return_X_y=True)
    model = separatrix.SGDClassifier().fit(X, y > 0)
    save_model(path, model)
    edited(path, forge("params", "finish", value="dual"))
    edited(path, forge("fitted", "finish_passes_", value=[3]))
    again = load_model(path).model
    assert not {"finish", "finish_passes_"} & set(vars(again))
    assert np.array_equal(again.decision_function(X), model.decision_function(X))


def test_what_a_later_version_may_know_is_told(path, real):
    X, y = load_iris(return_X_y=True)
    save_model(path, separatrix.LogisticRegression().fit(X, y))
    edited(path, forge("params", "novelty", value=1))
    with pytest.raises(ModelFileError, match="unknown parameter 'novelty'; a later version may"):
        load_model(path)
    save_model(path, separatrix.LogisticRegression().fit(X, y))
    edited(path, forge("class", value="Novelty"))
    with pytest.raises(ModelFileError, match="unknown class 'Novelty'; a later version may know"):
        load_model(path)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("name", ["LinearSVC", "Perceptron"])
def test_calibrated_models_give_the_same_probabilities(path, real, name, method):
    X, y = load_iris(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = getattr(separatrix, name)(calibrate=method).fit(X, y)
    again = round_trip(path, model)
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


def test_boolean_labels_and_column_names(path, real):
    frame = load_iris(as_frame=True).data
    model = separatrix.LogisticRegression().fit(frame, load_iris().target == 0)
    again = round_trip(path, model)
    assert again.predict(frame).dtype == bool
    assert again.feature_names_in_.tolist() == list(frame.columns)
    assert np.array_equal(again.predict_proba(frame), model.predict_proba(frame))


def test_the_encoder_travels_along(path, real):
    table = Table.from_columns(
        {
            "size": [1.0, 2.5, None, 4.0] * 5,
            "colour": ["red", "n\u00efl", None, "red\nish"] * 5,
            "review": ["a great film indeed", "the worst film ever", "a poor one", None] * 5,
        },
        kinds={"review": "text", "colour": "category"},
    )
    y = np.array([0, 1, 1, 0] * 5)
    encoder = Encoder().fit(table, y)
    X = encoder.transform(table)
    save_model(path, separatrix.LinearSVC().fit(X, y), encoder=encoder)
    again = load_model(path).encoder
    assert again.feature_names_ == encoder.feature_names_
    assert (again.transform(table) != X).nnz == 0


@pytest.mark.sampled
def test_a_flipped_bit_in_any_byte_of_a_real_file(path, real):
    X, y = load_iris(return_X_y=True)
    save_model(path, separatrix.LogisticRegression().fit(X, y))
    data = bytearray(path.read_bytes())
    bits = np.random.default_rng(0).integers(8, size=len(data)).tolist()
    for position, bit in list(enumerate(bits))[:: 1 if EXHAUSTIVE else 5]:
        data[position] ^= 1 << bit
        path.write_bytes(data)
        with pytest.raises(ModelFileError):
            load_model(path)
        data[position] ^= 1 << bit


# ------------------------------------------------------------------------------------- writing


def test_a_full_disk_keeps_the_old_file(path, monkeypatch):
    save_model(path, fitted(coef_=np.array([1.0])))
    before = path.read_bytes()

    def fail(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError) as caught:
        save_model(path, fitted(coef_=np.array([2.0])))
    assert str(caught.value) == f"cannot write '{path}': the disk is full"
    assert caught.value.errno == errno.ENOSPC
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_a_disk_that_fills_up_half_way_leaves_nothing(path, monkeypatch):
    real_open = builtins.open

    def open_with_little_room(file, *args, **kwargs):
        handle = real_open(file, *args, **kwargs)
        if not isinstance(file, int):
            return handle

        class LittleRoom:
            def __enter__(self):
                return self

            def __exit__(self, *exc):
                handle.close()

            def write(self, data):
                handle.write(data[:100])
                raise OSError(errno.ENOSPC, "No space left on device")

        return LittleRoom()

    monkeypatch.setattr(builtins, "open", open_with_little_room)
    with pytest.raises(OSError, match="^cannot write '.*': the disk is full$"):
        save_model(path, fitted())
    assert os.listdir(path.parent) == []


def test_an_interruption_leaves_no_temporary_file(path, monkeypatch):
    def interrupt(source, target):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        save_model(path, fitted())
    assert os.listdir(path.parent) == []


def test_permissions_follow_the_users_mask(path):
    mask = os.umask(0o027)
    try:
        save_model(path, fitted())
    finally:
        os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    link = tmp_path / "latest"
    link.symlink_to(tmp_path / "real" / "model.separatrix")
    save_model(link, fitted())
    assert link.is_symlink()
    assert load_model(tmp_path / "real" / "model.separatrix").model.coef_.shape == (1, 3)


@pytest.mark.parametrize("write", [check_writable, lambda path: save_model(path, fitted())])
def test_unwritable_places_are_told_in_one_sentence(tmp_path, write, monkeypatch):
    with pytest.raises(FileNotFoundError, match="^cannot write '.*': there is no folder '.*gone'$"):
        write(tmp_path / "gone" / "m.separatrix")
    with pytest.raises(IsADirectoryError, match="^cannot write '.*': it is a folder"):
        write(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError, match="^cannot write '.*': '.*file' is not a folder$"):
        write(tmp_path / "file" / "m.separatrix")
    with pytest.raises(OSError, match="^cannot write '/dev/null': it is not a regular file$"):
        write("/dev/null")

    def refuse(*args, **kwargs):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(PermissionError, match="^cannot write '.*': permission denied$"):
        write(tmp_path / "m.separatrix")


def test_check_writable_leaves_no_trace_and_keeps_an_old_file(tmp_path):
    old = tmp_path / "old.separatrix"
    old.write_bytes(b"old")
    check_writable(old)
    check_writable(tmp_path / "new.separatrix")
    assert os.listdir(tmp_path) == ["old.separatrix"]
    assert old.read_bytes() == b"old"


# ----------------------------------------------------------------------------------- bad files


@pytest.fixture
def small_file(path) -> bytes:
    model = fitted(
        coef_=np.array([[0.25, -3.0]]),
        # Escapes in JSON have letters whose case does not matter: a flip there changes no meaning,
        # and must be noticed all the same.
        classes_=np.array(["caf\u00e9", "\u00efvy"]),
    )
    save_model(path, model, provenance={"data": "t\u00eate.csv"})
    load_model(path)
    return path.read_bytes()


@pytest.mark.sampled
def test_every_flipped_bit_is_noticed(path, small_file):
    data = bytearray(small_file)
    for position in range(len(data)):
        # The one that changes the case of letters, and each of the others in turn.
        for bit in range(8) if EXHAUSTIVE else {5, position % 8}:
            data[position] ^= 1 << bit
            path.write_bytes(data)
            with pytest.raises(ModelFileError) as caught:
                load_model(path)
            assert str(path) in str(caught.value)
            data[position] ^= 1 << bit


def test_every_truncation_is_noticed(path, small_file):
    for length in range(len(small_file)):
        path.write_bytes(small_file[:length])
        with pytest.raises(ModelFileError, match="is empty|is cut short") as caught:
            load_model(path)
        assert "\n" not in str(caught.value)


def test_appended_bytes_are_noticed(path, small_file):
    path.write_bytes(small_file + b"\0")
    with pytest.raises(ModelFileError, match="is damaged"):
        load_model(path)


def rewrite(data: bytes, edit, tensors=None) -> bytes:
    """A file with an edited document and the right digest, as another program could write it."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    document = json.loads(header["__metadata__"]["separatrix"])
    digest = document["sha256"]
    edit(document)
    document["sha256"] = "0" * 64
    assert digest not in json.dumps(document)
    if tensors is None:
        tensors = {"model/coef_": np.array([[0.25, -3.0]])}
    if document["format_version"] < 4:
        document["model"].pop("digest", None)
    elif "digest" in document["model"]:
        document["model"]["digest"] = digest_of(document, tensors)
    text = json.dumps(document, separators=(",", ":"))
    blank = save_tensors(tensors, metadata={"separatrix": text})
    return blank.replace(b"0" * 64, hashlib.sha256(blank).hexdigest().encode(), 1)


def test_a_file_rewritten_without_changes_loads(path, small_file):
    path.write_bytes(rewrite(small_file, lambda document: None))
    assert load_model(path).model.coef_.tolist() == [[0.25, -3.0]]


def test_future_version_says_to_upgrade(path, small_file):
    path.write_bytes(rewrite(small_file, lambda document: document.update(format_version=5)))
    with pytest.raises(
        ModelFileError, match="format version 5, and this .* reads up to 4: upgrade"
    ):
        load_model(path)


def edit_class(document):
    document["model"]["class"] = "Popen"


def edit_attribute(document):
    document["model"]["fitted"]["__class__"] = "x"


def edit_method(document):
    document["model"]["fitted"]["predict"] = "x"


def edit_parameter(document):
    document["model"]["params"]["shell"] = True


def edit_tensor(document):
    document["model"]["fitted"]["coef_"] = {"$tensor": "missing"}


def edit_scalar(document):
    document["model"]["fitted"]["coef_"] = {"$scalar": ["O", 1]}


@pytest.mark.parametrize(
    "edit",
    [edit_class, edit_attribute, edit_method, edit_parameter, edit_tensor, edit_scalar],
)
def test_a_forged_file_with_a_right_digest_is_refused(path, small_file, edit):
    path.write_bytes(rewrite(small_file, edit))
    with pytest.raises(ModelFileError) as caught:
        load_model(path)
    assert str(path) in str(caught.value)


def test_a_header_nested_too_deeply_is_refused(path):
    header = b'{"__metadata__":' + b"[" * 100_000
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(ModelFileError, match="is damaged"):
        load_model(path)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_is_named_and_not_executed(path, protocol):
    class Bomb:
        def __reduce__(self):
            return (pytest.fail, ("the pickle was executed",))

    path.write_bytes(pickle.dumps(Bomb(), protocol=protocol))
    with pytest.raises(ModelFileError, match="is a pickle, which can execute code"):
        load_model(path)


def test_files_of_other_kinds(tmp_path):
    def message(name):
        with pytest.raises(ModelFileError) as caught:
            load_model(tmp_path / name)
        return str(caught.value).replace(str(tmp_path), "DIR")

    (tmp_path / "empty").touch()
    (tmp_path / "table.csv").write_text("a,b,target\n1,2,yes\n" * 5)
    (tmp_path / "object.json").write_text('        {"a": 1}' * 5)
    (tmp_path / "other.safetensors").write_bytes(save_tensors({"w": np.ones(2)}))
    (tmp_path / "other2.safetensors").write_bytes(
        save_tensors({"w": np.ones(2)}, metadata={"separatrix": "[1]"})
    )
    assert message("none") == "there is no file 'DIR/none'"
    assert message("") == "'DIR' is a folder, not a model file"
    assert message("empty") == "'DIR/empty' is empty, so it is not a model file"
    assert message("table.csv") == "'DIR/table.csv' is not a separatrix model file"
    assert "is cut short" in message("object.json")
    assert message("other.safetensors").endswith(
        "is a safetensors file, but not a separatrix model"
    )
    assert "is damaged" in message("other2.safetensors")


def test_an_unreadable_file_is_told(path, small_file, monkeypatch):
    def refuse(*args):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(ModelFileError, match="cannot be read: permission denied$"):
        load_model(path)
