"""Quantities on the command line: recognised, fitted by least squares, measured, reported."""

from __future__ import annotations

import csv
import io
import os

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.metrics import mean_absolute_error, mean_squared_error, r2_score
from sklearn.preprocessing import StandardScaler

from separatrix.assessment.documents import headline
from separatrix.assessment.records import term_names
from separatrix.assessment.scoring import score_numbers
from separatrix.persistence.model_file import load_model
from separatrix.tables import read_table, split_rows, take_quantity

RNG = np.random.default_rng(0)


@pytest.fixture
def flats(make_csv):
    """Rents of flats: two numbers, a category, missing cells."""
    rng = np.random.default_rng(1)
    rows = []
    for i in range(200):
        size, floor = rng.uniform(20, 120), int(rng.integers(0, 6))
        town = ["Basel", "Chur", "Zug"][rng.integers(3)]
        rent = 300 + 12 * size + 250 * (town == "Zug") + rng.normal(0, 80)
        rows.append([f"{size:.1f}", floor, town, f"{rent:.2f}"])
        if i % 40 == 7:
            rows[-1][1] = ""
    return make_csv("flats.csv", ["size", "floor", "town", "rent"], rows)


def design(path, target, rows):
    """Columns of the flats as an analyst would write them down, with a leading 1."""
    table = read_table(path).select(rows)
    size, floor = (table.columns[name] for name in ("size", "floor"))
    gone = np.ma.getmaskarray(floor)
    filled = np.where(gone, floor.mean(), np.ma.getdata(floor))
    town = table.columns["town"]
    most = max(sorted(set(town)), key=lambda level: int((town == level).sum()))
    dummies = [(town == level) * 1.0 for level in sorted(set(town)) if level != most]
    columns = [np.ones(table.n_rows), size, filled, gone * 1.0, *dummies]
    return np.column_stack(columns), table.columns[target], most


# ------------------------------------------------------------------------------------------ fit


def test_the_lines(run):
    ran = run("fit", "diabetes")
    assert (ran.code, ran.err) == (0, "")
    labels = ran.labels
    assert labels == [
        "read", "target", "split", "model", "fit", "fitted", "held out", "weights", "saved",
    ]  # fmt: skip
    assert ran.lines["target"] == "a quantity, so least squares; --model poly for curves"
    assert ran.lines["split"] == "354 to fit, 88 held out (at random, seed 0)"
    assert ran.lines["model"].startswith("least squares: minimise ")
    assert ran.lines["fit"].startswith("optimal: normal equations A'r = 0 hold to ")
    assert ran.lines["held out"].startswith("R^2 0.3")
    for name in ("   RMSE ", "   MAE ", "   MSE "):
        assert name in ran.lines["held out"]
        assert name in ran.lines["fitted"]


def test_the_coefficients_are_those_of_the_columns(run, flats):
    assert run("fit", flats, "--target", "rent", "-o", "m.separatrix").code == 0
    stored = load_model("m.separatrix")
    _, y = take_quantity(read_table(flats), "rent")
    fit_rows, held = split_rows(y, stratify=False)
    X, target, most = design(flats, "rent", fit_rows)
    assert stored.encoder.feature_names_[:3] == ["size", "floor", "floor=(missing)"]
    assert stored.encoder.references_ == {"town": most}
    expected = np.linalg.lstsq(X, target, rcond=None)[0]
    found = [stored.model.intercept_, *stored.model.coef_]
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    # What is held out is measured with them.
    table = read_table(flats).select(held)
    predicted = stored.model.predict(stored.encoder.transform(table.drop("rent")))
    scores = stored.provenance["held_out"]
    assert scores["n"] == 40
    assert scores["mse"] == pytest.approx(mean_squared_error(y[held], predicted), rel=1e-12)
    assert scores["rmse"] == pytest.approx(scores["mse"] ** 0.5, rel=1e-12)
    assert scores["mae"] == pytest.approx(mean_absolute_error(y[held], predicted), rel=1e-12)
    assert scores["r2"] == pytest.approx(r2_score(y[held], predicted), rel=1e-12)
    assert stored.provenance["trained"]["mse"] == pytest.approx(stored.model.mse_, rel=1e-10)


def test_a_penalty_is_for_standardised_numbers(run):
    assert run("fit", "diabetes", "--lam", "0.3", "--test-size", "0").code == 0
    stored = load_model("diabetes.separatrix")
    assert stored.encoder.standardise
    features, y = take_quantity(read_table("diabetes"), "target")
    X = StandardScaler().fit_transform(np.column_stack(list(features.columns.values())))
    ridge = Ridge(alpha=0.3 * len(y), tol=1e-12).fit(X, y)
    np.testing.assert_allclose(stored.model.coef_, ridge.coef_, rtol=1e-9)


def test_no_intercept(run, flats):
    words = ("fit", flats, "--target", "rent", "--no-intercept", "-o", "m.separatrix")
    assert run(*words).code == 0
    assert load_model("m.separatrix").model.intercept_ == 0.0


def test_counts(run, make_csv):
    rng = np.random.default_rng(0)
    ages, zones = rng.integers(18, 80, size=120), rng.integers(0, 2, size=120)
    counts = rng.poisson(np.exp(0.02 * ages + 0.5 * zones))
    rows = list(zip(ages, zones, counts, strict=True))
    make_csv("claims.csv", ["age", "zone", "claims"], rows)
    words = ("claims.csv", "--target", "claims", "--model", "poisson", "--lam", "0.01")
    ran = run("fit", *words, "-o", "m.sepx")
    assert (ran.code, ran.err) == (0, "")
    assert "Poisson regression: minimise 0.01/2 |w|^2" in ran.out and "optimal" in ran.out
    stored = load_model("m.sepx")
    assert stored.model.alpha == 0.01
    assert run("verify", "m.sepx", "claims.csv").code == 0
    predicted = run("predict", "m.sepx", "claims.csv").out.split()[1:]
    assert np.all(np.array(predicted, dtype=float) > 0.0)
    # Named by the row of the table, whichever rows are held out.
    make_csv("below.csv", ["age", "zone", "claims"], [*rows, (30, 1, -1)])
    for words in (("below.csv",), ("claims.csv", "--test", "below.csv")):
        refused = run("fit", *words, "--target", "claims", "--model", "poisson")
        assert refused.code != 0 and "column 'claims', row 121: -1 is less than 0" in refused.err


def test_a_polynomial_in_one_column_is_printed(run, make_csv):
    x = np.linspace(0, 3, 60)
    y = 2 - x + 0.5 * x**3 + 0.01 * RNG.normal(size=60)
    make_csv("curve.csv", ["x", "y"], np.column_stack([x, y]).tolist())
    words = ("fit", "curve.csv", "--target", "y", "--model", "poly", "--degree", "3")
    ran = run(*words, "--test-size", "0")
    assert (ran.code, ran.err) == (0, "")
    model = load_model("curve.separatrix").model
    expected = np.polyfit(x, y, 3)
    np.testing.assert_allclose([*model.coef_[::-1], model.intercept_], expected, rtol=1e-8)
    first, second, third = model.coef_
    assert ran.lines["terms"] == (
        f"{model.intercept_:.6g} - {-first:.6g} x {'-' if second < 0 else '+'} "
        f"{abs(second):.6g} x^2 + {third:.6g} x^3"
    )
    info = run("info", "curve.separatrix")
    rows = [line.split() for line in info.out.splitlines() if line.startswith("  ")]
    assert rows[0] == ["term", "coefficient"]
    assert [row[0] for row in rows[1:]] == ["(constant)", "x", "x^2", "x^3"]
    assert float(rows[4][1]) == pytest.approx(third, rel=1e-9)
    assert info.lines["rank"].startswith("3 of 3 columns independent, condition number ")
    details = run("info", "curve.separatrix", "--json").document["details"]
    assert (details["degree"], details["rank"]) == (3, 3)
    assert [entry["term"] for entry in details["terms"]] == ["x", "x^2", "x^3"]


def test_through_every_point_goes_a_polynomial(run, make_csv):
    x = np.arange(8) / 7
    make_csv("t.csv", ["x", "y"], np.column_stack([x, RNG.normal(size=8)]).tolist())
    words = ("--target", "y", "--kind", "y=number", "--model", "poly", "--test-size", "0")
    ran = run("fit", "t.csv", *words, "--degree", "7", "--json")
    assert ran.code == 0
    assert ran.document["trained"]["mse"] < 1e-20
    assert ran.document["trained"]["r2"] == pytest.approx(1.0)


def test_terms_have_the_names_of_columns(run, flats):
    words = ("fit", flats, "--target", "rent", "--model", "poly", "-o", "m.separatrix")
    ran = run(*words, "--interactions")
    assert ran.code == 0
    assert ran.lines["terms"].endswith(" and a constant; separatrix info lists their coefficients")
    terms = load_model("m.separatrix").model.terms_
    assert {"size", "size^2", "size * floor", "floor^2"} <= set(terms)
    assert not any("^2" in term and "town" in term for term in terms)
    alone = run(*words, "--json").document
    assert [entry["term"] for entry in alone["details"]["terms"]] == [
        *alone["model"]["feature_names"], "size^2", "floor^2",
    ]  # fmt: skip
    assert alone["model"]["parameters"]["interactions"] is False
    assert alone["weights"] is None


def test_term_names():
    powers = np.array([[1, 0], [0, 2], [3, 1]])
    assert term_names(powers, ["a b", "c"]) == ["a b", "c^2", "a b^3 * c"]


def test_columns_of_few_values_bear_few_powers(run, flats):
    """Levels of categories determine no powers, as everybody expects: no warning names them."""
    ran = run("fit", flats, "--target", "rent", "--model", "poly", "--degree", "4")
    assert ran.err == ""
    ran = run("fit", flats, "--target", "rent", "--model", "poly", "--degree", "8")
    # Six floors, and their mean where none is known.
    assert ran.err.splitlines()[-1] == (
        "warning   columns with few distinct values do not determine all powers up to --degree 8: "
        "'floor' up to 6; higher powers are left out"
    )
    assert "town" not in ran.err
    assert "'x" not in ran.err


def test_dependent_columns_are_left_out_and_named(run, flats):
    lines = flats.read_text().splitlines()
    made = [lines[0] + ",half"] + [f"{x},{float(x.split(',')[0]) / 2 - 3}" for x in lines[1:]]
    flats.write_text("\n".join(made) + "\n")
    ran = run("fit", flats, "--target", "rent", "--json")
    assert ran.code == 0
    assert (
        "a feature follows from others and is left out, because coefficients would not be "
        "determined: 'half' = 0.5 * 'size' - 3"
    ) in ran.document["warnings"]
    assert ran.document["details"]["rank"] == ran.document["details"]["columns"]
    # What is predicted does not depend on it, nor on which of the two it is.
    first = run("predict", "flats.separatrix", flats).out
    run("fit", flats, "--target", "rent", "--ignore", "size")
    second = run("predict", "flats.separatrix", flats).out
    np.testing.assert_allclose(
        [float(x) for x in first.split()[1:]], [float(x) for x in second.split()[1:]], rtol=1e-9
    )
    # Models whose coefficients are not read take the solution of least norm.
    ran = run("fit", flats, "--target", "rent", "--model", "poly", "--degree", "1")
    assert "1 of 6 terms depend on the others" in ran.err
    ran = run("fit", flats, "--target", "town", "--model", "lstsq")
    assert "columns independent" in ran.lines["fit"]
    assert "'half'" in ran.err


def test_more_columns_than_rows(run, make_csv):
    rows = RNG.normal(size=(12, 31)).round(3).tolist()
    make_csv("wide.csv", [*(f"x{j}" for j in range(30)), "y"], rows)
    ran = run("fit", "wide.csv", "--target", "y")
    assert ran.code == 0
    assert "warning   10 rows cannot determine 30 columns" in ran.err
    assert "9 of 30 columns independent" in ran.lines["fit"]


def test_a_column_that_gives_the_quantity_away(run, flats):
    lines = flats.read_text().splitlines()
    made = [lines[0] + ",tax"] + [f"{x},{float(x.rsplit(',', 1)[1]) / 10:.6f}" for x in lines[1:]]
    flats.write_text("\n".join(made) + "\n")
    ran = run("fit", flats, "--target", "rent")
    assert ran.code == 0
    assert "warning   the columns determine column 'rent' exactly" in ran.err


def test_the_stored_command_makes_the_same_model(run, flats):
    import shlex

    run("fit", flats, "--target", "rent", "--model", "poly", "--degree", "3", "--interactions",
        "--lam", "0.01", "--ignore", "town", "-o", "m.separatrix")  # fmt: skip
    first = load_model("m.separatrix")
    assert run(*shlex.split(first.provenance["command"])[1:]).code == 0
    again = load_model("m.separatrix")
    assert again.provenance["config"] == first.provenance["config"]
    assert np.array_equal(again.model.coef_, first.model.coef_)


def test_one_document(run, flats):
    document = run("fit", flats, "--target", "rent", "--json").document
    assert document["status"] == document["certificate"]["status"] == "optimal"
    assert document["certificate"]["relative_residual"] < 1e-10
    assert document["config"]["model"] == "lstsq"
    assert document["quantity"] is True
    assert document["split"]["stratified"] is False
    assert document["model"]["classes"] is None
    assert document["model"]["name"] == "least squares"
    assert document["details"]["rank"] == document["model"]["features"]
    assert all("class" not in entry for entry in document["weights"])


# ------------------------------------------------------------------ which column is a quantity


def test_classes_are_not_taken_for_a_quantity(run):
    assert run("fit", "digits", "--json", "--max-iter", "1").document["model"]["classes"]


def test_least_squares_of_classes(run):
    ran = run("fit", "digits", "--model", "lstsq")
    assert ran.code == 0
    assert ran.lines["target"] == (
        "10 classes, so least squares on one-hot targets; --kind 'target=number' for a quantity"
    )
    assert ran.lines["model"].startswith("least squares classifier: ")
    assert ran.lines["held out"].startswith("accuracy 0.9")
    words = run("fit", "breast-cancer", "--model", "lstsq", "--class-weight", "balanced")
    assert words.lines["target"] == "2 classes, so least squares on targets -1 and +1"
    number = run("fit", "digits", "--model", "lstsq", "--kind", "target=number", "--json")
    assert number.document["quantity"] is True


def test_a_kind_overrules(run, flats):
    as_class = run("fit", flats, "--target", "floor", "--missing", "none", "--json")
    assert as_class.code == 3  # five labels are missing, whatever it is
    ran = run("fit", "iris", "--target", "petal width (cm)", "--json")
    assert ran.document["quantity"] is True
    ran = run("fit", "iris", "--target", "petal width (cm)", "--kind", "petal width (cm)=category",
              "--json", "--max-iter", "1")  # fmt: skip
    assert ran.document["quantity"] is False


@pytest.mark.parametrize("model", ["logistic", "svm", "lda", "sgd"])
def test_a_classifier_of_a_quantity_is_told_the_remedy(run, model):
    ran = run("fit", "diabetes", "--model", model)
    assert ran.code == 3
    assert "it looks like a quantity, not like classes; predict it as it is by least squares (fit "
    assert "(fit --model lstsq), cut it into classes, " in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    ("cells", "model", "told"),
    [
        ({3: ""}, None, "column 'y' lacks 1 of 40 values, the first in row 4; fill them in"),
        ({3: "", 9: "NA"}, "poly", "column 'y' lacks 2 of 40 values, the first in row 4"),
        ({7: "inf"}, None, "column 'y', row 8: inf is not a finite number; correct it"),
        ({7: "-inf"}, "lstsq", "column 'y', row 8: -inf is not a finite number; correct it"),
        ({5: "abc"}, None, "would be a quantity but for 'abc' in row 6, which is not a number"),
        ({5: "abc"}, "lstsq", "would be a quantity but for 'abc' in row 6, which is not a number"),
        ({5: "abc"}, "poly", "column 'y', row 6: 'abc' is not a number"),
        ({5: "2,5"}, "poly", "column 'y', row 6: '2,5' has a comma; write numbers with a decimal"),
        (dict.fromkeys(range(40), "2.5"), "poly", "column 'y' is 2.5 in every row, so there is"),
        (dict.fromkeys(range(40), "2.5"), "lstsq", "column 'y' is 2.5 in every row, so there is"),
        (dict.fromkeys(range(40), ""), "lstsq", "column 'y' lacks 40 of 40 "),
        (dict.fromkeys(range(40), "yes"), "poly", "column 'y' holds classes ('yes' in row 1)"),
    ],
)
def test_bad_targets_are_one_sentence(run, make_csv, cells, model, told):
    y = [f"{value:.4f}" for value in RNG.normal(size=40)]
    for row, text in cells.items():
        y[row] = text
    rows = [[f"{x:.3f}", value] for x, value in zip(RNG.normal(size=40), y, strict=True)]
    make_csv("bad.csv", ["x", "y"], rows)
    words = [] if model is None else ["--model", model]
    ran = run("fit", "bad.csv", "--target", "y", *words)
    assert ran.code == 3
    assert ran.err.startswith("error     ")
    assert told in ran.err
    assert ran.err.count("\n") == 1
    assert os.listdir() == ["bad.csv"]


def test_commas_in_a_quantity(run, make_csv):
    make_csv("commas.csv", ["x", "y"], [[i * i % 17, f"{i},5"] for i in range(60)])
    for model in ([], ["--model", "poly"]):
        ran = run("fit", "commas.csv", "--target", "y", *model)
        assert ran.code == 0
        assert "column 'y' holds numbers written like '0,5', which is read as 0.5" in ran.err
    ran = run("fit", "commas.csv", "--target", "y", "--model", "lda")
    assert ran.code == 3
    assert "it looks like a quantity" in ran.err
    make_csv("odd.csv", ["x", "y"], [[i * i % 17, f"{i},5" if i else "x"] for i in range(60)])
    ran = run("fit", "odd.csv", "--target", "y", "--model", "lstsq")
    assert ran.code == 3
    assert ran.err.count("\n") == 1


def test_so_few_points_that_their_values_look_like_classes(run, make_csv):
    make_csv("points.csv", ["x", "y"], [[1, 2.5], [2, 3.0], [3, 5.5], [5, 6.25], [6, 8.0]])
    for model in ([], ["--model", "lstsq"]):
        ran = run("fit", "points.csv", "--target", "y", *model)
        assert ran.code == 3
        assert ran.err.endswith("; if it is a quantity, give --model lstsq --kind 'y=number'\n")
    words = ("points.csv", "--target", "y", "--model", "lstsq", "--kind", "y=number")
    assert run("fit", *words).code == 0
    make_csv("words.csv", ["x", "y"], [[1, "a"], [2, "b"], [3, "c"], [5, "d"], [6, "e"]])
    ran = run("fit", "words.csv", "--target", "y")
    assert ran.code == 3
    assert "quantity" not in ran.err


def test_that_numbers_are_classes_is_told_once_and_in_our_words(run, make_csv):
    rng = np.random.default_rng(4)
    rows = [[f"{x:.3f}", f"{y:.3f}"] for x, y in rng.normal(size=(40, 2))]
    make_csv("t.csv", ["x", "y"], rows)
    for model in ("logistic", "lda", "lstsq"):
        ran = run("fit", "t.csv", "--target", "y", "--kind", "y=category", "--model", model,
                  "--test-size", "0")  # fmt: skip
        # Classes of one row each have no covariance.
        assert ran.code == (3 if model == "lda" else 0)
        assert "unique classes" not in ran.err
    # A column that is declared a number is not thereby declared to hold classes.
    ran = run("fit", "t.csv", "--target", "y", "--kind", "y=number", "--model", "lda")
    assert ran.code == 3
    assert "it looks like a quantity, not like classes" in ran.err


def test_predictions_that_overflow_are_told(run, make_csv):
    rows = [[f"{x:.3f}", f"{y:.3f}"] for x, y in RNG.normal(size=(40, 2))]
    make_csv("t.csv", ["x", "y"], rows)
    assert run("fit", "t.csv", "--target", "y", "--model", "poly").code == 0
    make_csv("far.csv", ["x"], [["0.5"], ["1e200"], ["-1e250"]])
    ran = run("predict", "t.separatrix", "far.csv")
    assert ran.code == 0
    assert ran.err == (
        "warning   2 predictions beyond the range of numbers, the first in row 2: its values are "
        "far from those of the fit\n"
    )
    document = run("predict", "t.separatrix", "far.csv", "--json").document
    assert [isinstance(value, float) for value in document["columns"]["prediction"]] == [
        True, False, False,
    ]  # fmt: skip
    make_csv("near.csv", ["x"], [["0.5"], ["2.5"]])
    assert run("predict", "t.separatrix", "near.csv").err == ""


def test_an_r2_far_below_zero_has_few_digits():
    assert headline({"mse": 9.0, "rmse": 3.0, "mae": 2.0, "r2": -4.4801696968786148e16}) == (
        "R^2 -4.48e+16   RMSE 3   MAE 2   MSE 9"
    )


def test_one_row(run, tmp_path):
    (tmp_path / "one.csv").write_text("x,y\n1.5,2.5\n")
    ran = run("fit", "one.csv", "--target", "y", "--model", "poly")
    assert ran.code == 3
    assert ran.err == "error     one.csv has 1 row, from which there is nothing to learn\n"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--class-weight", "balanced"], "--class-weight is for classes, and column 'target' is a"),
        (["--multiclass", "ovr"], "column 'target' is a quantity, so least squares is fitted, but "
         "--multiclass is for --model logistic or svm, not lstsq"),
        (["-C", "2"], "but -C is for --model logistic, svm, kernel-svm or sgd, not lstsq"),
        (["--model", "lstsq", "--tol", "1e-3"],
         "--tol is for --model logistic, svm, kernel-svm, huber, poisson or sgd, not lstsq"),
        (["--model", "poly", "--no-intercept"], "--no-intercept is for --model logistic, svm, "),
        (["--model", "poly", "--class-weight", "balanced"], "not poly"),
        (["--model", "poly", "--degree", "0"], "0 is not a whole number from 1 to 1000"),
        (["--model", "poly", "--degree", "1001"], "1001 is not a whole number from 1 to 1000"),
        (["--model", "poly", "--degree", "100000000"], "100000000 is not a whole number from 1 to"),
        (["--model", "lstsq", "--degree", "2"], "--degree is for --model kernel-svm or poly, not"),
        (["--interactions"], "--interactions is for --model poly"),
        (["--model", "lstsq", "--lam", "0"], "0 is not a finite number above 0"),
    ],
)  # fmt: skip
def test_usage_errors_are_one_sentence(run, words, told):
    ran = run("fit", "diabetes", *words)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
    assert ran.err.count("\n") == 1
    assert os.listdir() == []


# --------------------------------------------------------------- predict, evaluate, info, verify


@pytest.fixture
def rents(once, flats):
    """A model of the rents."""
    assert once("fit", flats, "--target", "rent").code == 0
    return flats.with_suffix(".separatrix")


def test_predictions_are_numbers(run, rents, flats):
    ran = run("predict", rents, flats)
    assert ran.code == 0
    rows = list(csv.reader(io.StringIO(ran.out)))
    assert rows[0] == ["prediction"]
    stored = load_model(rents)
    expected = stored.model.predict(stored.encoder.transform(read_table(flats).drop("rent")))
    assert [float(row[0]) for row in rows[1:]] == expected.tolist()
    document = run("predict", rents, flats, "--json").document
    assert document["classes"] is None
    assert document["columns"]["prediction"] == expected.tolist()
    for option, word in (("--proba", "probabilities"), ("--scores", "scores")):
        refused = run("predict", rents, flats, option)
        assert refused.code == 2
        assert (
            f"predicts a quantity, so there are no classes and no {word} of classes" in refused.err
        )


def test_what_is_new_is_read_as_the_reference_or_the_mean(run, rents, tmp_path):
    stored = load_model(rents)
    reference = stored.encoder.references_["town"]
    (tmp_path / "new.csv").write_text(f"size,floor,town\n50,1,Bern\n50,1,{reference}\n,1,Zug\n")
    ran = run("predict", rents, "new.csv")
    assert ran.code == 0
    first, second = ran.out.splitlines()[1:3]
    assert first == second
    assert f"('Bern'), read as the reference '{reference}'" in ran.err
    assert "column 'size': 1 missing, none at fit; read as the mean (" in ran.err


def test_evaluate(run, rents, flats):
    ran = run("evaluate", rents, flats)
    assert ran.code == 0
    assert ran.lines["rows"] == "200"
    assert ran.lines["scores"].startswith("R^2 0.")
    assert "the model was fitted to 160 of these rows" in ran.err
    assert len(ran.out.splitlines()) == 2  # no table of classes
    scores = run("evaluate", rents, flats, "--json").document["scores"]
    stored = load_model(rents)
    table = read_table(flats)
    predicted = stored.model.predict(stored.encoder.transform(table.drop("rent")))
    assert scores["r2"] == pytest.approx(r2_score(table.columns["rent"], predicted), rel=1e-12)
    assert scores["mae"] == pytest.approx(
        mean_absolute_error(table.columns["rent"], predicted), rel=1e-12
    )


def test_a_few_new_rows_can_be_evaluated(run, rents, flats, tmp_path):
    lines = flats.read_text().splitlines()
    (tmp_path / "one.csv").write_text("\n".join(lines[:2]))
    ran = run("evaluate", rents, "one.csv")
    assert ran.code == 0
    assert ran.lines["scores"].startswith("RMSE ")  # R^2 is undefined for one row
    assert run("evaluate", rents, "one.csv", "--json").document["scores"]["r2"] is None
    (tmp_path / "bad.csv").write_text("\n".join([*lines[:2], "50,1,Zug,cheap"]))
    ran = run("evaluate", rents, "bad.csv")
    assert ran.code == 3
    assert "column 'rent', row 2: 'cheap' is not a number" in ran.err


def test_info(run, rents):
    ran = run("info", rents)
    assert ran.code == 0
    assert "classes" not in ran.lines
    assert ran.lines["rank"].startswith("5 of 5 columns independent, condition number ")
    assert ", mean squared error of the fit " in ran.lines["rank"]
    assert ran.lines["fitted"].startswith("R^2 0.9")
    assert ran.lines["held out"].startswith("R^2 0.9")
    assert ran.weights[0] == ["feature", "per s.d.", "per unit"]
    assert ran.weights[1][0] == "size"
    assert float(ran.weights[1][2]) == pytest.approx(12, abs=0.5)


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--lam", "0.1"],
        ["--no-intercept"],
        ["--model", "poly", "--degree", "3"],
        ["--model", "poly", "--interactions", "--lam", "0.1"],
        ["--test-size", "0", "--seed", "7"],
    ],
)
def test_every_fit_verifies(run, words):
    assert run("fit", "diabetes", *words).code == 0
    ran = run("verify", "diabetes.separatrix", "diabetes")
    assert ran.code == 0, ran.out
    assert ran.lines["data"] == "442 rows, the same as those of the fit"
    assert ran.lines["computed"].startswith("optimal: ")
    assert ran.lines["verdict"].startswith("verified: ")
    assert ran.lines["verdict"].endswith(" hold to within 1e-10")


def test_false_coefficients_are_contradicted(run, rents, flats):
    from separatrix.persistence.model_file import save_model

    stored = load_model(rents)
    stored.model.coef_ = stored.model.coef_ * (1 + 1e-6)
    save_model(rents, stored.model, encoder=stored.encoder, provenance=stored.provenance)
    ran = run("verify", rents, flats)
    assert ran.code == 1
    assert ran.lines["verdict"].startswith("contradicted: the equations hold to ")


# --------------------------------------------------------------------------------------- scores


@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e200])
def test_scores_of_numbers(scale):
    y, predicted = RNG.normal(3, 1, 50), RNG.normal(3, 1, 50)
    scores = score_numbers(scale * y, scale * predicted)
    assert scores["n"] == 50
    assert scores["r2"] == pytest.approx(r2_score(y, predicted), rel=1e-12)
    assert scores["rmse"] / scale == pytest.approx(
        mean_squared_error(y, predicted) ** 0.5, rel=1e-12
    )
    assert scores["mae"] / scale == pytest.approx(mean_absolute_error(y, predicted), rel=1e-12)


def test_scores_without_variation():
    assert score_numbers(np.array([2.0, 2.0]), np.array([1.0, 2.0])) == {
        "n": 2, "mse": 0.5, "rmse": 0.5**0.5, "mae": 0.5, "r2": None,
    }  # fmt: skip
    tiny = score_numbers(np.array([1e-300, 2e-300]), np.array([1.0, 1.0]))
    assert tiny["r2"] == -np.inf


# ------------------------------------------------------------------------------------ real data


@pytest.mark.parametrize(
    "words",
    [[], *(pytest.param(["--model", m], marks=pytest.mark.exhaustive) for m in ("lstsq", "poly"))],
)
def test_adult_ages(run, real_data, words):
    path = real_data / "adult.csv"
    ran = run("fit", path, "--target", "age", "-o", "age.separatrix", *words)
    assert ran.code == 0
    assert ran.lines["fit"].startswith("optimal: ")
    assert load_model("age.separatrix").provenance["held_out"]["r2"] > 0.4
    assert "column 99" not in ran.err
    assert run("verify", "age.separatrix", path).code == 0
