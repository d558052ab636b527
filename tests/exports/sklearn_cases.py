"""Fitted pipelines and models of scikit-learn, and rows that are hard for them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    ElasticNet,
    GammaRegressor,
    HuberRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
    TweedieRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, SVR, LinearSVC, NuSVC

CLASSIFIERS: dict[str, Callable[[], BaseEstimator]] = {
    "logistic": lambda: LogisticRegression(max_iter=500),
    "l1": lambda: LogisticRegression(C=0.05, l1_ratio=1.0, solver="saga", max_iter=2000),
    "logistic cv": lambda: LogisticRegressionCV(
        Cs=3, max_iter=500, l1_ratios=(0.0,), use_legacy_attributes=False, scoring="accuracy"
    ),
    "linear svc": lambda: LinearSVC(),
    "sgd hinge": lambda: SGDClassifier(random_state=0),
    "sgd log": lambda: SGDClassifier(loss="log_loss", random_state=0),
    "sgd modified huber": lambda: SGDClassifier(loss="modified_huber", random_state=0),
    "perceptron": lambda: Perceptron(random_state=0),
    "ridge classifier": lambda: RidgeClassifier(),
    "lda": lambda: LinearDiscriminantAnalysis(),
    "qda": lambda: QuadraticDiscriminantAnalysis(reg_param=0.01),
    "svc rbf": lambda: SVC(),
    "svc poly": lambda: SVC(kernel="poly", degree=2, coef0=1.0),
    "svc sigmoid": lambda: SVC(kernel="sigmoid", gamma=0.05),
    "svc linear ovo": lambda: SVC(kernel="linear", decision_function_shape="ovo"),
    "svc break ties": lambda: SVC(break_ties=True, decision_function_shape="ovr"),
    "nu svc": lambda: NuSVC(nu=0.2),
    "calibrated": lambda: CalibratedClassifierCV(LinearSVC(), cv=3),
    "calibrated svc": lambda: CalibratedClassifierCV(SVC(), cv=2, ensemble=False),
    "isotonic": lambda: CalibratedClassifierCV(LogisticRegression(), method="isotonic", cv=3),
}

REGRESSORS: dict[str, Callable[[], BaseEstimator]] = {
    "linear": LinearRegression,
    "ridge": Ridge,
    "lasso": lambda: Lasso(alpha=0.3),
    "elastic net": lambda: ElasticNet(alpha=0.1),
    "huber": lambda: HuberRegressor(max_iter=1000),
    "poisson": PoissonRegressor,
    "gamma": GammaRegressor,
    "tweedie": lambda: TweedieRegressor(power=1.5),
    "tweedie normal": lambda: TweedieRegressor(power=0.0),
    "svr": lambda: SVR(C=0.5),
}

STEPS: dict[str, Callable[[], BaseEstimator]] = {
    "standard": StandardScaler,
    "standard without mean": lambda: StandardScaler(with_mean=False),
    "standard without scale": lambda: StandardScaler(with_std=False),
    "min max": MinMaxScaler,
    "min max clip": lambda: MinMaxScaler(feature_range=(-1.0, 2.0), clip=True),
    "max abs": MaxAbsScaler,
    "robust": RobustScaler,
    "polynomial": lambda: make_pipeline(StandardScaler(), PolynomialFeatures(3)),
    "interactions": lambda: PolynomialFeatures(2, interaction_only=True, include_bias=False),
    "bins": lambda: KBinsDiscretizer(4, quantile_method="averaged_inverted_cdf"),
    "bins ordinal": lambda: KBinsDiscretizer(3, encode="ordinal", strategy="uniform"),
    "log1p": lambda: make_pipeline(
        MinMaxScaler(), FunctionTransformer(np.log1p), FunctionTransformer()
    ),
    "impute mean": lambda: SimpleImputer(),
    "impute with indicator": lambda: make_pipeline(
        SimpleImputer(strategy="median", add_indicator=True), StandardScaler()
    ),
    "impute after scaling": lambda: make_pipeline(
        StandardScaler(), SimpleImputer(strategy="constant", fill_value=-1.0)
    ),
    "ordinal numbers": lambda: make_pipeline(
        SimpleImputer(strategy="most_frequent"),
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    ),
}

CATEGORIES: dict[str, Callable[[], BaseEstimator]] = {
    "error": lambda: OneHotEncoder(),
    "ignore": lambda: OneHotEncoder(handle_unknown="ignore", sparse_output=False),
    "infrequent": lambda: OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=15),
    "warn": lambda: OneHotEncoder(handle_unknown="warn", max_categories=3),
    "drop first": lambda: OneHotEncoder(drop="first"),
    "drop if binary": lambda: OneHotEncoder(drop="if_binary", handle_unknown="ignore"),
    "drop infrequent": lambda: OneHotEncoder(
        drop=["b", 2.0, "no"], min_frequency=15, handle_unknown="infrequent_if_exist"
    ),
    "ordinal": lambda: OrdinalEncoder(encoded_missing_value=-2.0),
    "ordinal unknown": lambda: OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=99, encoded_missing_value=-2
    ),
    "ordinal infrequent": lambda: OrdinalEncoder(
        min_frequency=15, handle_unknown="use_encoded_value", unknown_value=-1,
        encoded_missing_value=7,
    ),
    "fill text": lambda: ColumnTransformer([
        ("text", make_pipeline(
            SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")
        ), ["c", "e"]),
        ("gone", make_pipeline(
            SimpleImputer(strategy="constant", fill_value=5.0, add_indicator=True),
            MinMaxScaler(),
        ), [1]),
    ]),
    "fill marked text": lambda: ColumnTransformer([
        ("text", make_pipeline(
            SimpleImputer(missing_values="b", strategy="constant", fill_value="new"),
            OneHotEncoder(),
        ), [2]),
    ], remainder="drop"),
    "fill with a text of its own": lambda: ColumnTransformer([
        ("text", make_pipeline(
            SimpleImputer(strategy="constant", fill_value="a"),
            OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
        ), slice(0, 1)),
        ("number", "passthrough", [False, True, False]),
    ], transformer_weights={"text": 0.5}),
}  # fmt: skip


def numbers(n: int = 90, n_classes: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, their classes, and numbers above 0 to predict."""
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(n, 4)) * [1.0, 20.0, 0.1, 3.0] + [0.0, 100.0, 1.0, -3.0]
    signal = X[:, 0] + 0.05 * (X[:, 1] - 100.0) + rng.normal(size=n)
    codes = np.searchsorted(np.quantile(signal, np.arange(1, n_classes) / n_classes), signal)
    return X, codes, np.exp(0.3 * signal)


def hostile(X: np.ndarray) -> np.ndarray:
    """Rows far from those of the fit, at them, and without some of their numbers."""
    rng = np.random.default_rng(5)
    far = X[:20] + rng.normal(size=(20, X.shape[1])) * X.std(axis=0)
    edges = np.array([[0.0, -0.0, 5e-324, 1.0], [-1e5, 1e5, 2.0**53, -1.0], [1e-300, 1, 2, 3]])
    gone = np.array([[np.nan, 1, 1, 1], [1, 2, np.inf, 3], [np.nan] * 4, [1, -np.inf, 0, np.nan]])
    return np.vstack([X[:10], far, edges, gone])


def categories(n: int = 120) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(11)
    c = rng.choice(
        np.array(["a", "b", "c", "d", "x'y\"--"], object), n, p=[0.4, 0.3, 0.2, 0.05, 0.05]
    )
    k = rng.choice([1.0, 2.0, 3.0, 10.0], n, p=[0.4, 0.4, 0.1, 0.1])
    e = rng.choice(np.array(["yes", "no"], object), n)
    return {"c": c, "k": k, "e": e}


def with_missing(columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    rng, made = np.random.default_rng(2), {}
    for name, column in columns.items():
        own = column.copy()
        own[rng.random(len(own)) < 0.15] = np.nan
        made[name] = own
    return made


TEXTS = ["good, very good film", "bad film", "É good é", "not bad at all", "", "the worst film"] * 6
VECTORIZERS: dict[str, Callable[[], BaseEstimator]] = {
    "tfidf": TfidfVectorizer,
    "tfidf pairs": lambda: TfidfVectorizer(
        ngram_range=(1, 2), sublinear_tf=True, stop_words="english", norm="l1"
    ),
    "counts": lambda: CountVectorizer(binary=True, strip_accents="unicode", lowercase=False),
    "counts weighed": lambda: make_pipeline(CountVectorizer(), TfidfTransformer(use_idf=False)),
}
