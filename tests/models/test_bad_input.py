"""Bad and difficult input: one clear sentence, or a certified answer, or why not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from helpers import minimum_hinge, minimum_smooth, pad
from separatrix import LinearSVC, LogisticRegression, Perceptron

KINDS = [LogisticRegression, LinearSVC, Perceptron]
PENALISED = [
    LogisticRegression(),
    LogisticRegression(multiclass="ovr"),
    LinearSVC(),
    LinearSVC(loss="hinge"),
]
each_kind = pytest.mark.parametrize("kind", KINDS)
each_penalised = pytest.mark.parametrize("model", PENALISED, ids=repr)


def data(classes: int = 2, n: int = 60, d: int = 4):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = (X @ rng.normal(size=(d, classes)) + rng.normal(size=(n, classes))).argmax(axis=1)
    return X, y


# --- parameters --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"C": 0}, "C=0 must be a number greater than 0."),
        ({"C": -1.5}, "C=-1.5 must be a number greater than 0."),
        ({"C": np.nan}, "C=nan must be a number greater than 0."),
        ({"C": "1"}, "C='1' must be a number greater than 0."),
        ({"C": True}, "C=True must be a number greater than 0."),
        ({"C": None}, "C=None must be a number greater than 0."),
        ({"lam": -0.1}, "lam=-0.1 must be a finite number of at least 0."),
        ({"lam": np.inf}, "lam=inf must be a finite number of at least 0."),
        ({"lam": np.nan}, "lam=nan must be a finite number of at least 0."),
        ({"C": 2.0, "lam": 0.1}, "Give C or lam, not both: C=2.0 and lam=0.1"),
        ({"tol": 0}, "tol=0 must be a finite number greater than 0."),
        ({"tol": np.nan}, "tol=nan must be a finite number greater than 0."),
        ({"max_iter": -1}, "max_iter=-1 must be a finite whole number of at least 0."),
        ({"max_iter": 10.0}, "max_iter=10.0 must be a finite whole number of at least 0."),
        ({"time_limit": 0}, "time_limit=0 must be a finite number greater than 0."),
        ({"time_limit": -1}, "time_limit=-1 must be a finite number greater than 0."),
        (
            {"solver": "bfgs"},
            "solver='bfgs' is not known; choose one of 'auto', 'newton', 'quasi-newton', "
            "'dual', 'augmented-lagrangian', 'interior-point', 'proximal-newton'.",
        ),
    ],
    ids=lambda v: str(v) if isinstance(v, dict) else "",
)
@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVC])
def test_bad_parameters(kind, options: dict, words: str) -> None:
    with pytest.raises(ValueError) as caught:
        kind(**options).fit(*data())
    assert str(caught.value).startswith(words)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"penalty": "l0"},
            "penalty='l0' is not known; choose one of 'l2', 'l1', 'elasticnet', None.",
        ),
        ({"l1_ratio": 1.5}, "l1_ratio=1.5 must be a number from 0 to 1."),
        ({"l1_ratio": -1}, "l1_ratio=-1 must be a finite number of at least 0."),
        (
            {"penalty": "l1", "l1_ratio": 0.5},
            "penalty='l1' and l1_ratio=0.5 contradict each other; for a mixture of L1 "
            "and L2 leave penalty out, or set penalty='elasticnet'.",
        ),
        (
            {"penalty": None, "l1_ratio": 0.5},
            "penalty=None and l1_ratio=0.5 contradict each other; leave one of them out.",
        ),
        (
            {"multiclass": "auto"},
            "multiclass='auto' is not known; choose one of 'multinomial', 'ovr'.",
        ),
        ({"steepness": 0}, "steepness=0 must be a finite number greater than 0."),
        ({"steepness": -2}, "steepness=-2 must be a finite number greater than 0."),
    ],
)
def test_bad_parameters_of_logistic_regression(options: dict, words: str) -> None:
    with pytest.raises(ValueError) as caught:
        LogisticRegression(**options).fit(*data())
    assert str(caught.value) == words


def test_bad_loss() -> None:
    with pytest.raises(
        ValueError, match="loss='log' is not known; choose one of 'hinge', 'squared"
    ):
        LinearSVC(loss="log").fit(*data())


def test_numpy_numbers_are_numbers() -> None:
    X, y = data()
    model = LogisticRegression(C=np.float32(2.0), max_iter=np.int64(50), tol=np.float64(1e-5))
    assert model.fit(X, y).certificate_.ok


def test_parameters_are_checked_at_fit_not_before() -> None:
    LogisticRegression(C=-1).set_params(C=-2)


# --- values ------------------------------------------------------------------------------------


@each_kind
@pytest.mark.parametrize(
    ("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")]
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_bad_value_is_named_by_row_and_column(kind, value, word, dtype) -> None:
    X, y = data(n=9000)
    X = X.astype(dtype)
    X[8500, 2] = X[8600, 0] = value
    with pytest.raises(ValueError, match=rf"X contains {word}.* at row 8500, column 2;"):
        kind().fit(X, y)
    with pytest.raises(ValueError, match=rf"X contains {word}.* at row 8500, column 2;"):
        kind().fit(np.asfortranarray(X), y)
    sparse = sp.csr_array(np.where(np.abs(X) < 0.3, 0.0, X).astype(dtype))
    with pytest.raises(ValueError, match=rf"X contains {word}.* at row 8500, column 2;"):
        kind().fit(sparse, y)


@each_kind
def test_a_bad_value_at_prediction(kind) -> None:
    X, _y = data()
    model = kind().fit(X, (X[:, 0] > 0).astype(int))
    X = X.copy()
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN at row 3, column 1"):
        model.predict(X)


def test_large_finite_values_are_not_taken_for_infinity() -> None:
    # Their sum overflows; they are finite.
    X, y = data()
    X[0, 0] = X[1, 0] = X[2, 0] = 1.7e308
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the fit itself may overflow
        model = LogisticRegression().fit(X, y)
    assert np.all(np.isfinite(model.coef_))
    big = np.full((20, 3), 3e38, dtype=np.float32)
    big[::2] *= -1
    model.fit(big, np.arange(20) % 2)


@each_penalised
@pytest.mark.parametrize("power", [100, 160, 200, 300])
def test_overflow_is_certified_or_says_why(model, power: int) -> None:
    X, y = data(3)
    X = X * 10.0**power
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    certificate = model.certificate_
    assert {w.category for w in caught} <= {ConvergenceWarning}
    assert np.all(np.isfinite(model.coef_))
    assert np.all(np.isfinite(model.intercept_))
    assert certificate.ok == (len(caught) == 0)
    if certificate.ok:
        assert certificate.relative_gap <= 1e-6
        assert np.isfinite(certificate.primal)
    else:
        assert "standardise the features" in str(certificate)


@pytest.mark.parametrize("weight", [1e300, 1e-300])
@each_penalised
def test_extreme_sample_weights(model, weight: float) -> None:
    X, y = data()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, sample_weight=np.full(len(y), weight))
    assert {w.category for w in caught} <= {ConvergenceWarning}
    assert model.certificate_.ok == (len(caught) == 0)
    assert np.all(np.isfinite(model.coef_))
    if model.certificate_.ok:
        assert np.isfinite(model.certificate_.primal)


@pytest.mark.crossed
@each_penalised
@pytest.mark.parametrize(
    "scales",
    [
        [1e-12] * 4,
        [1e12] * 4,
        [1e-12, 1.0, 1e12, 1.0],
        [1e-12, 1e-6, 1e6, 1e12],
        [1e-300, 1, 1, 1],
    ],
    ids=str,
)
@pytest.mark.parametrize("classes", [2, 3])
def test_scaled_features_are_certified_or_say_why(model, scales, classes) -> None:
    X, y = data(classes)
    X = X * scales
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    certificate = model.certificate_
    assert {w.category for w in caught} <= {ConvergenceWarning}
    assert certificate.ok == (len(caught) == 0)
    if certificate.ok:
        assert certificate.relative_gap <= 1e-6
    else:
        assert certificate.status in ("precision_limit", "max_iter")
        assert "standardise the features" in str(certificate)
    # Ok or not, the bound holds.
    if classes == 2:
        signs = np.where(y == 1, 1.0, -1.0)
        batch = pad(
            [{"X": X, "y": signs, "upper": np.ones(len(y)), "intercept": True, "penalised": True}],
            len(y),
            4,
        )
        name = {"hinge": "hinge", "squared_hinge": "squared hinge"}.get(
            getattr(model, "loss", ""), "log loss"
        )
        solve = minimum_hinge if name == "hinge" else lambda b: minimum_smooth(name, b)
        optimum = float(solve(batch)[1][0])
        # Products with entries of 1e12 lose what lies 16 digits below.
        assert certificate.dual <= optimum * (1 + 1e-9)
        assert certificate.primal >= optimum * (1 - 1e-9)


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1e6, 1e12])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_common_scale_is_a_change_of_C(scale: float, loss: str) -> None:
    # With X' = c X and C' = C / c^2 the weights are w / c: the same problem.
    X, y = data()
    plain = LinearSVC(loss=loss, tol=1e-8).fit(X, y)
    scaled = LinearSVC(loss=loss, tol=1e-8, C=1 / scale**2).fit(scale * X, y)
    assert scaled.certificate_.ok, str(scaled.certificate_)
    np.testing.assert_allclose(scaled.coef_ * scale, plain.coef_, atol=1e-3)


# --- shapes ------------------------------------------------------------------------------------


@each_kind
def test_one_class_only(kind) -> None:
    X, _ = data()
    with pytest.raises(ValueError, match=r"y has one class only \('spam'\)"):
        kind().fit(X, np.full(len(X), "spam"))


@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVC])
def test_one_class_of_positive_weight(kind) -> None:
    X, y = data()
    with pytest.raises(ValueError, match=r"one class only of positive weight \(1\)"):
        kind().fit(X, y, sample_weight=(y == 1).astype(float))
    with pytest.raises(ValueError):
        kind().fit(X, y, sample_weight=np.zeros(len(y)))


@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVC])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -1.0])
def test_bad_weights(kind, bad: float) -> None:
    X, y = data()
    weights = np.ones(len(y))
    weights[7] = bad
    with pytest.raises(ValueError, match=r"(?i)sample_weight|weights"):
        kind().fit(X, y, sample_weight=weights)
    if bad == -1.0:
        with pytest.raises(ValueError, match="sample_weight must not be negative; row 7 has -1"):
            kind().fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVC])
def test_weights_of_the_wrong_length(kind) -> None:
    X, y = data()
    with pytest.raises(ValueError, match="sample_weight"):
        kind().fit(X, y, sample_weight=np.ones(3))


@each_kind
def test_wrong_number_of_features_at_prediction(kind) -> None:
    X, _ = data()
    model = kind().fit(X, X[:, 0] > 0)
    for wrong in (X[:, :3], np.hstack([X, X]), sp.csr_array(X[:, :3])):
        with pytest.raises(ValueError, match=r"X has \d features, but \w+ is expecting 4 features"):
            model.predict(wrong)


@each_kind
def test_before_fit(kind) -> None:
    with pytest.raises(NotFittedError):
        kind().predict([[1.0]])


@each_kind
@pytest.mark.parametrize(
    "X",
    [np.zeros((0, 3)), np.zeros((4, 0)), np.zeros(4), [["a"], ["b"]]],
    ids=["no rows", "no columns", "1-D", "text"],
)
def test_what_is_no_table_of_numbers(kind, X) -> None:
    with pytest.raises(ValueError):
        kind().fit(X, [0, 1, 0, 1][: len(X)])


@each_kind
def test_labels_of_another_length(kind) -> None:
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        kind().fit(np.zeros((4, 2)), [0, 1, 0])


# --- difficult geometry ------------------------------------------------------------------------


@each_penalised
@pytest.mark.parametrize("classes", [2, 3])
def test_all_constant_features(model, classes: int) -> None:
    X = np.tile([3.0, -1.0, 0.0], (60, 1))
    y = np.arange(60) % classes
    y[:10] = 0
    model.fit(X, y)
    assert model.certificate_.ok
    # Only the intercept can distinguish the classes: the weights stay at zero.
    np.testing.assert_allclose(model.coef_, 0.0, atol=1e-3)
    assert len(set(model.predict(X))) == 1


def test_all_constant_features_without_a_penalty() -> None:
    X = np.tile([3.0, -1.0, 0.0], (60, 1))
    y = (np.arange(60) % 3 == 0).astype(int)
    model = LogisticRegression(penalty=None).fit(X, y)
    assert model.certificate_.ok
    np.testing.assert_allclose(model.predict_proba(X)[0], [2 / 3, 1 / 3], atol=1e-3)


def test_all_constant_features_for_a_perceptron() -> None:
    with pytest.warns(ConvergenceWarning, match="not_separated"):
        Perceptron(max_passes=20).fit(np.ones((6, 2)), [0, 1] * 3)


@each_penalised
def test_rows_repeated_with_opposite_labels(model) -> None:
    X, _ = data()
    X2, y2 = np.vstack([X, X]), np.repeat([0, 1], len(X))
    model.fit(X2, y2)
    assert model.certificate_.ok
    # Every row contradicts its twin: no direction is better than none.
    np.testing.assert_allclose(model.coef_, 0.0, atol=1e-2)
    per_row = {"hinge": 1.0, "squared_hinge": 1.0}.get(getattr(model, "loss", ""), np.log(2))
    assert model.certificate_.primal == pytest.approx(len(X2) * per_row, rel=1.1e-6)


@pytest.mark.crossed
@each_penalised
@pytest.mark.parametrize("sparse", [False, True])
def test_ten_rows_by_a_hundred_thousand_columns(model, sparse: bool) -> None:
    rng = np.random.default_rng(0)
    X = (
        rng.normal(size=(10, 100_000))
        if not sparse
        else sp.random_array((10, 100_000), density=0.01, rng=rng, format="csr")
    )
    y = np.arange(10) % 2
    model.fit(X, y)
    assert model.certificate_.ok, str(model.certificate_)
    assert model.coef_.shape == (1, 100_000)
    np.testing.assert_array_equal(model.predict(X), y)


def test_ten_rows_by_a_hundred_thousand_columns_without_a_penalty() -> None:
    X = np.random.default_rng(0).normal(size=(10, 100_000))
    with pytest.warns(ConvergenceWarning, match="separable: .*add a penalty"):
        LogisticRegression(penalty=None).fit(X, np.arange(10) % 2)


def test_ten_rows_by_a_hundred_thousand_columns_for_a_perceptron() -> None:
    X = np.random.default_rng(0).normal(size=(10, 100_000))
    assert Perceptron().fit(X, np.arange(10) % 2).certificate_.ok


@each_kind
def test_two_rows(kind) -> None:
    model = kind().fit([[0.0], [1.0]], [0, 1])
    assert model.certificate_.ok
    assert model.predict([[-1.0], [2.0]]).tolist() == [0, 1]


@each_kind
@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.uint16, bool, np.float16, object])
def test_other_kinds_of_numbers(kind, dtype) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(50, 4))
    y = X[:, 0] ^ (rng.random(50) < (0.1 if kind is not Perceptron else 0.0))
    model = kind().fit(X.astype(dtype), y)
    plain = kind().fit(X.astype(float), y)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    np.testing.assert_array_equal(model.predict(X.astype(dtype)), plain.predict(X.astype(float)))


@each_kind
@pytest.mark.parametrize("layout", ["fortran", "read-only", "slice", "reversed", "memmap"])
def test_layouts(kind, layout: str, tmp_path) -> None:
    X, _ = data()
    y = (X[:, 0] > 0).astype(int)
    if layout == "fortran":
        other = np.asfortranarray(X)
    elif layout == "read-only":
        other = X.copy()
        other.flags.writeable = False
    elif layout == "slice":
        other = np.repeat(np.repeat(X, 3, axis=0), 2, axis=1)[1::3, ::2]
    elif layout == "reversed":
        other = X[::-1, ::-1].copy()[::-1, ::-1]
    else:
        np.save(tmp_path / "x.npy", X)
        other = np.load(tmp_path / "x.npy", mmap_mode="r")
    model, plain = kind().fit(other, y), kind().fit(X, y)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(model.predict(other), plain.predict(X))


@each_kind
def test_unsorted_and_repeated_sparse_indices(kind) -> None:
    X, _ = data()
    y = (X[:, 0] > 0).astype(int)
    indices = np.tile(np.int32([3, 1, 0, 2, 0]), len(X))
    values = np.stack([X[:, 3], X[:, 1], 3 * X[:, 0], X[:, 2], -2 * X[:, 0]], axis=1).ravel()
    messy = sp.csr_array(
        (values, indices, 5 * np.arange(len(X) + 1, dtype=np.int32)), shape=X.shape
    )
    model, plain = kind().fit(messy, y), kind().fit(X, y)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(model.predict(messy), plain.predict(X))
    # The caller's matrix is as messy as before.
    assert messy.indices[:5].tolist() == [3, 1, 0, 2, 0]


@pytest.mark.parametrize("C", [1e-300, 1e-30, 1e30, 1e300])
@each_penalised
def test_extreme_C(model, C: float) -> None:
    X, y = data()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kind = type(model)(**{**model.get_params(), "C": C, "max_iter": 2000}).fit(X, y)
    assert {w.category for w in caught} <= {ConvergenceWarning}
    assert kind.certificate_.ok == (len(caught) == 0)
    assert np.all(np.isfinite(kind.coef_))
    if kind.certificate_.ok:
        assert kind.certificate_.relative_gap <= 1e-6
