"""Regression diagnostics of a report, each against refits or formulas of another kind."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import LinAlgWarning
from sklearn.datasets import load_breast_cancer, load_diabetes

from separatrix import LinearRegression, LinearSVC, LogisticRegression, Report
from separatrix.assessment.evaluation_data import of_arrays
from separatrix.assessment.regression_diagnostics import _fit_of, deletions, diagnostics_record
from separatrix.report.sections import row_records, weight_record


def _evaluation(model, X, y, **options):
    given = {"test": None, "feature_names": None, "target": None, "source": "arrays", **options}
    return of_arrays(model, X, y, **given)


def _classes(n=160, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.array([1.0, 20.0, 0.3, 1.0][:d])
    y = (X[:, 0] + 0.05 * X[:, 1] + rng.logistic(size=n) > 0.3).astype(int)
    return X, y


def _without(model, X, y, i):
    keep = np.arange(len(y)) != i
    again = type(model)(**model.get_params()).fit(X[keep], y[keep])
    return np.r_[again.intercept_, np.ravel(again.coef_)]


@pytest.mark.parametrize("lam", [0.0, 0.3])
def test_deletions_of_least_squares_are_those_of_refits(lam) -> None:
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:60, :5] * 30.0, y[:60]
    model = LinearRegression(lam=lam).fit(X, y)
    changes, distances, leverages = deletions(_fit_of(_evaluation(model, X, y)))
    whole = np.r_[model.intercept_, model.coef_]
    for i in (0, 7, int(distances.argmax())):
        again = LinearRegression(lam=lam * 60 / 59).fit(np.delete(X, i, 0), np.delete(y, i))
        expected = np.r_[again.intercept_, again.coef_] - whole
        assert changes[i] == pytest.approx(expected, rel=1e-6, abs=1e-9)
    A = np.c_[np.ones(60), X]
    hat = A @ np.linalg.solve(A.T @ A + lam * 60 * np.diag([0.0] + [1.0] * 5), A.T)
    assert leverages == pytest.approx(np.diagonal(hat))
    if lam == 0.0:
        # The textbook's formula of Cook's distance.
        e, h = y - A @ whole, leverages
        variance = e @ e / (60 - 6)
        assert distances == pytest.approx(e**2 * h / (6 * variance * (1.0 - h) ** 2))


@pytest.mark.parametrize("options", [{"penalty": None}, {"C": 0.5}, {"class_weight": "balanced"}])
def test_deletions_of_logistic_regression_are_near_those_of_refits(options) -> None:
    X, y = _classes()
    model = LogisticRegression(tol=1e-10, **options).fit(X, y)
    changes, distances, leverages = deletions(_fit_of(_evaluation(model, X, y)))
    whole = np.r_[model.intercept_, model.coef_[0]]
    order = np.argsort(-distances)
    for i in order[:3].tolist() + order[80:82].tolist():
        if options.get("class_weight"):
            # Balanced weights are those of the rows that are there: the row alone is left out.
            weights = np.where(y == 1, len(y) / (2 * y.sum()), len(y) / (2 * (len(y) - y.sum())))
            weights[i] = 0.0
            again = LogisticRegression(tol=1e-10).fit(X, y, sample_weight=weights)
            moved = np.r_[again.intercept_, again.coef_[0]] - whole
        else:
            moved = _without(model, X, y, i) - whole
        assert np.linalg.norm(changes[i] - moved) <= 0.15 * np.linalg.norm(moved) + 1e-6
    if options == {"penalty": None}:
        p = model.predict_proba(X)[:, 1]
        A, v = np.c_[np.ones(len(y)), X], p * (1.0 - p)
        hat = (A * v[:, None]) @ np.linalg.inv((A.T * v) @ A) @ A.T
        assert leverages == pytest.approx(np.diagonal(hat)) and leverages.sum() == pytest.approx(5)
        # Pregibon (1981): the squared Pearson residual times h / (1 - h)^2.
        pearson = (y - p) ** 2 / v
        assert distances == pytest.approx(pearson * leverages / (1.0 - leverages) ** 2)


def test_the_rows_are_those_that_move_the_weights_most() -> None:
    X, y = _classes()
    X[5] = [6.0, 150.0, 0.0, 0.0]
    y[5] = 0
    model = LogisticRegression(penalty=None).fit(X, y)
    found = diagnostics_record(_evaluation(model, X, y))["influence"]
    assert len(found["rows"]) == 10 and found["rows"][0]["row"] == 5
    sizes = [one["distance"] for one in found["rows"]]
    assert sizes == sorted(sizes, reverse=True)
    first = found["rows"][0]["moved"][0]
    assert first["standardised"] == pytest.approx(
        first["weight"] * X[:, int(first["feature"][1:])].std()
    )


def test_inflation_is_that_of_regressions_on_the_other_columns() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 4))
    X[:, 3] = X[:, 0] + 0.5 * rng.normal(size=200)
    y = X @ [1.0, 2.0, 0.0, 1.0] + rng.normal(size=200)
    model = LinearRegression().fit(X, y)
    found = diagnostics_record(_evaluation(model, X, y))["inflation"]["columns"]
    by_name = {one["column"]: one["vif"] for one in found}
    for j in range(4):
        A = np.c_[np.ones(200), np.delete(X, j, axis=1)]
        rest = X[:, j] - A @ np.linalg.lstsq(A, X[:, j], rcond=None)[0]
        assert by_name[f"x{j}"] == pytest.approx(X[:, j].var() / rest.var())
    assert found[0]["vif"] > 3.0
    penalised = diagnostics_record(_evaluation(LinearRegression(lam=1.0).fit(X, y), X, y))
    assert "no penalty" in penalised["inflation"]["why"]
    X[:, 2] = X[:, 0] - X[:, 1]
    with pytest.warns(LinAlgWarning, match="depend on one another"):
        model = LinearRegression().fit(X, y)
    dependent = diagnostics_record(_evaluation(model, X, y))
    assert "infinite" in dependent["inflation"]["why"]
    assert "determined" in dependent["influence"]["why"]


def test_odds_ratios_have_the_intervals_of_the_information() -> None:
    X, y = _classes()
    model = LogisticRegression(penalty=None, tol=1e-10).fit(X, y)
    found = diagnostics_record(_evaluation(model, X, y))["odds_ratios"]
    p = model.predict_proba(X)[:, 1]
    A = np.c_[np.ones(len(y)), X]
    errors = np.sqrt(np.diagonal(np.linalg.inv((A.T * (p * (1.0 - p))) @ A)))[1:]
    for one in found["ratios"]:
        j = int(one["feature"][1:])
        w = model.coef_[0, j]
        assert one["ratio"] == pytest.approx(np.exp(w))
        ends = np.exp([w - 1.959964 * errors[j], w + 1.959964 * errors[j]])
        assert one["interval"] == pytest.approx(ends, rel=1e-5)
    assert found["class"] == 1 and len(found["ratios"]) == 4
    with_penalty = diagnostics_record(_evaluation(LogisticRegression().fit(X, y), X, y))
    assert "without a penalty" in with_penalty["odds_ratios"]["why"]


def test_everything_points_towards_the_positive_class() -> None:
    X, y = _classes()
    evaluations = []
    for positive, labels in ((0, y), (1, 1 - y)):
        model = LogisticRegression(penalty=None, tol=1e-12).fit(X, labels)
        known = _evaluation(model, X, labels)
        parts = tuple(replace(part, positive=positive) for part in known.parts)
        evaluations.append(replace(known, parts=parts))
    first, second = map(diagnostics_record, evaluations)
    for own, other in zip(
        first["partial_residuals"]["curves"], second["partial_residuals"]["curves"], strict=True
    ):
        assert own["column"] == other["column"]
        assert own["weight"] == pytest.approx(other["weight"], rel=1e-5)
        for key in ("residual", "line"):
            drawn = [[group[key] for group in one["groups"]] for one in (own, other)]
            assert drawn[0] == pytest.approx(drawn[1], rel=1e-5, abs=1e-6)
    weights = {one["feature"]: one["weight"] for one in weights_of(evaluations[0])}
    for curve in first["partial_residuals"]["curves"]:
        assert curve["weight"] == pytest.approx(weights[curve["column"]])
    for own, other in zip(first["influence"]["rows"], second["influence"]["rows"], strict=True):
        assert own["row"] == other["row"]
        moved = [{m["feature"]: m["weight"] for m in one["moved"]} for one in (own, other)]
        assert moved[0] == pytest.approx(moved[1], rel=1e-4)
    assert (first["odds_ratios"]["class"], second["odds_ratios"]["class"]) == (0, 1)
    for one in first["odds_ratios"]["ratios"]:
        assert np.log(one["ratio"]) == pytest.approx(weights[one["feature"]])
        assert one["interval"][0] < one["ratio"] < one["interval"][1]
    for one in row_records(evaluations[0])["wrong"]:
        assert (one["score"] > 0.0) == (one["predicted"] == 0)


def weights_of(evaluation):
    record = weight_record(evaluation)
    return [
        {"feature": one["feature"], "weight": one["weight"][0]}
        for column in record["columns"]
        for one in column["features"]
    ]


def test_partial_residuals_show_the_bend_that_a_line_leaves() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(900, 3))
    y = 2.0 * X[:, 0] + X[:, 1] ** 2 + X[:, 1] + 0.1 * rng.normal(size=900)
    model = LinearRegression().fit(X, y)
    found = diagnostics_record(_evaluation(model, X, y))["partial_residuals"]
    assert [one["column"] for one in found["curves"][:2]] == ["x0", "x1"]
    residual = y - model.predict(X)
    for curve in found["curves"]:
        j = int(curve["column"][1:])
        partial = model.coef_[j] * (X[:, j] - X[:, j].mean()) + residual
        groups = curve["groups"]
        assert sum(one["n"] for one in groups) == 900
        mean = sum(one["n"] * one["residual"] for one in groups) / 900
        assert mean == pytest.approx(partial.mean(), abs=1e-9)
        order = np.argsort(X[:, j])[: groups[0]["n"]]
        assert groups[0]["residual"] == pytest.approx(partial[order].mean())
        assert groups[0]["value"] == pytest.approx(X[order, j].mean())
    away = [
        [not one["interval"][0] <= one["line"] <= one["interval"][1] for one in curve["groups"]]
        for curve in found["curves"][:2]
    ]
    assert sum(away[1]) > 10 and sum(away[0]) < 6


def test_deciles_are_shares_of_rows_by_probability() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = LogisticRegression().fit(X[:300], y[:300])
    test = X[300:], y[300:]
    found = diagnostics_record(_evaluation(model, X[:300], y[:300], test=test))["deciles"]
    p = model.predict_proba(X[300:])[:, 1]
    order = np.argsort(p)
    deciles, start = found["deciles"], 0
    assert found["name"] == "test rows" and len(deciles) == 10
    for one in deciles:
        own = order[start : start + one["n"]]
        start += one["n"]
        assert one["predicted"] == pytest.approx(p[own].mean())
        assert one["observed"] == pytest.approx(y[300:][own].mean())
        low, high = one["interval"]
        assert low - 1e-12 <= one["observed"] <= high + 1e-12
    assert start == len(p)


def test_what_does_not_apply_says_why() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    found = diagnostics_record(_evaluation(LinearSVC(tol=1e-2, max_iter=50).fit(X, y), X, y))
    assert all(set(one) == {"why"} for one in found.values())


def test_the_document_and_the_page_have_them(written) -> None:
    written.append("partial-residuals")
    X, y = _classes()
    report = Report.from_estimator(LogisticRegression(penalty=None).fit(X, y), X, y)
    document, page = report.to_dict(), report.to_html()
    assert len(document["diagnostics"]["influence"]["rows"]) == 10
    assert "partial-residuals" in [one["key"] for one in document["pictures"]]
    for title in ("Influence", "Odds ratios", "Variance inflation", "Calibration by deciles"):
        assert f">{title}" in page


@pytest.mark.filterwarnings("ignore:columns depend on one another")
@pytest.mark.parametrize("scale", [1e-160, 1.0, 1e155])
def test_diagnostics_do_not_depend_on_the_units_of_columns_and_target(scale) -> None:
    rng = np.random.default_rng(3)
    X = np.c_[rng.normal(size=(60, 2)), np.full(60, 0.1)]
    y = X[:, 0] + rng.normal(size=60)
    known = diagnostics_record(_evaluation(LinearRegression().fit(X, y), X, y))
    own, target = X * [scale, 1.0, 1.0], y * scale
    found = diagnostics_record(_evaluation(LinearRegression().fit(own, target), own, target))
    # A constant column whose mean is rounded does not vary.
    assert [one["column"] for one in known["inflation"]["columns"]] == ["x0", "x1"]
    factors = [[c["vif"] for c in one["inflation"]["columns"]] for one in (known, found)]
    assert factors[0] == pytest.approx(factors[1])
    fits = [_fit_of(_evaluation(LinearRegression().fit(A, b), A, b))
            for A, b in ((X[:, :2], y), (own[:, :2], target))]  # fmt: skip
    for first, second in zip(deletions(fits[0])[1:], deletions(fits[1])[1:], strict=True):
        assert first == pytest.approx(second, rel=1e-9)


def test_leverages_keep_their_digits_beside_collinear_columns() -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(50, 3))
    X = np.c_[X, X[:, 0] + 1e-6 * rng.normal(size=50), 1.6e9 + 1e3 * rng.normal(size=50)]
    y = X[:, 0] + rng.normal(size=50)
    leverages = deletions(_fit_of(_evaluation(LinearRegression().fit(X, y), X, y)))[2]
    Z = X - X.mean(axis=0)
    Q = np.linalg.qr(Z / np.linalg.norm(Z, axis=0))[0]
    assert leverages == pytest.approx(1 / 50 + np.square(Q).sum(axis=1), abs=1e-8)
