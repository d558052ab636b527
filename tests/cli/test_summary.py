"""``separatrix summary``: the figures of statsmodels, for the columns of the table."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm

from separatrix.cli.commands.summary import run as summary_run
from separatrix.persistence.model_file import load_model, save_model
from separatrix.tables import Encoder, read_table, split_rows, take_quantity


@pytest.fixture
def wages(make_csv):
    """Wages by years of school, place and sex, with a variance that grows."""
    rng = np.random.default_rng(3)
    rows = []
    for _ in range(300):
        years, place, sex = rng.integers(8, 21), rng.choice(list("nsw")), rng.choice(["f", "m"])
        wage = 2.0 * years + 4.0 * (place == "s") + 3.0 * (sex == "m") + rng.normal() * years / 4
        rows.append([years, place, sex, f"{wage:.3f}", "high" if wage > 32 else "low"])
    return make_csv("wages.csv", ["years", "place", "sex", "wage", "class"], rows)


def fitted(once, path, *words):
    assert once("fit", path, *words, "-o", "m.separatrix").code == 0
    return load_model("m.separatrix")


def design(path, stored, rows):
    """The columns as the summary names them, with a leading 1, from the table itself."""
    table = read_table(path).select(rows)
    columns = [np.ones(table.n_rows), table.columns["years"]]
    for name in stored.encoder.feature_names_[1:]:
        column, _, level = name.partition("=")
        columns.append((table.columns[column] == level) * 1.0)
    return np.column_stack(columns), table


def check(document, reference, *, level=0.95):
    coefficients = document["summary"]["coefficients"]
    found = {key: [entry[key] for entry in coefficients] for key in coefficients[0]}
    np.testing.assert_allclose(found["estimate"], reference.params, rtol=1e-8)
    np.testing.assert_allclose(found["standard_error"], reference.bse, rtol=1e-8)
    np.testing.assert_allclose(found["statistic"], reference.tvalues, rtol=1e-8)
    np.testing.assert_allclose(found["p_value"], reference.pvalues, rtol=1e-6, atol=1e-300)
    ends = reference.conf_int(1.0 - level)
    np.testing.assert_allclose(found["lower"], ends[:, 0], rtol=1e-7)
    np.testing.assert_allclose(found["upper"], ends[:, 1], rtol=1e-7)
    assert document["summary"]["log_likelihood"] == pytest.approx(reference.llf, rel=1e-9)
    assert document["summary"]["aic"] == pytest.approx(reference.aic, rel=1e-9)
    assert document["summary"]["bic"] == pytest.approx(reference.bic, rel=1e-9)
    return found


@pytest.mark.parametrize("robust", [None, "HC0", "HC1", "HC2", "HC3"])
def test_least_squares(run, once, wages, robust):
    stored = fitted(once, wages, "--target", "wage", "--ignore", "class")
    _, y = take_quantity(read_table(wages), "wage")
    rows, _ = split_rows(y, stratify=False)
    X, table = design(wages, stored, rows)
    reference = sm.OLS(table.columns["wage"], X).fit(
        **({} if robust is None else {"cov_type": robust, "use_t": True})
    )
    words = [] if robust is None else [wages, "--robust", robust]
    document = run("summary", "m.separatrix", *words, "--json").document
    assert document["exit_code"] == 0
    found = check(document, reference)
    assert found["name"] == ["(intercept)", *stored.encoder.feature_names_]
    assert document["summary"]["r2"] == pytest.approx(reference.rsquared, rel=1e-9)
    assert document["summary"]["robust"] == robust
    assert document["target"] == "wage"
    assert document["standardised"] is False
    assert set(document["references"]) == {"place", "sex"}


@pytest.mark.parametrize("robust", [None, "HC0"])
def test_logistic_regression(run, once, wages, robust):
    words = ("--target", "class", "--ignore", "wage", "--penalty", "none", "--tol", "1e-12")
    stored = fitted(once, wages, *words)
    labels = np.array(read_table(wages).columns["class"].tolist())
    rows, _ = split_rows(labels)
    X, table = design(wages, stored, rows)
    # The odds are those of the class that is called positive, here the rarer.
    positive = stored.provenance["positive"]
    reference = sm.Logit((table.columns["class"] == positive) * 1.0, X).fit(
        disp=False, tol=1e-14, **({} if robust is None else {"cov_type": robust})
    )
    given = [] if robust is None else [wages, "--robust", robust]
    document = run("summary", "m.separatrix", *given, "--level", "0.9", "--json").document
    found = check(document, reference, level=0.9)
    np.testing.assert_allclose(found["odds_ratio"], np.exp(reference.params), rtol=1e-7)
    assert document["summary"]["target"].startswith(f"class: odds of {positive}")


def test_text(run, once, wages):
    fitted(once, wages, "--target", "wage", "--ignore", "class")
    ran = run("summary", "m.separatrix")
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0].startswith("Least squares")
    assert lines[0].endswith(" wage")
    names = [line.partition(" ")[0] for line in lines]
    first = names.index("(intercept)")
    assert names[first + 1] == "years"
    assert lines[first - 1].split() == [
        "estimate", "std.", "error", "t", "p", "95", "%", "from", "to",
    ]  # fmt: skip
    assert lines[-2] == "Coefficients of numbers are per unit of their columns."
    references = load_model("m.separatrix").encoder.references_
    assert lines[-1] == (
        f"Levels are compared with 'place={references['place']}', 'sex={references['sex']}'."
    )
    assert run("summary", "m.separatrix", "-q").out == ran.out


def test_a_polynomial_has_the_names_of_its_terms(run, once, wages):
    words = ("--target", "wage", "--ignore", "class", "--ignore", "place", "--ignore", "sex")
    fitted(once, wages, *words, "--model", "poly", "--test-size", "0")
    document = run("summary", "m.separatrix", "--json").document
    names = [entry["name"] for entry in document["summary"]["coefficients"]]
    assert names == ["(intercept)", "years", "years^2"]
    table = read_table(wages)
    years = table.columns["years"]
    X = np.column_stack([np.ones(len(years)), years, years**2])
    check(document, sm.OLS(table.columns["wage"], X).fit())


def test_several_classes(run, once):
    fitted(once, "wine", "--penalty", "none", "--kind", "proline=number", *[
        word for name in read_table("wine").names[2:-1] for word in ("--ignore", name)
    ])  # fmt: skip
    document = run("summary", "m.separatrix", "--json").document
    assert document["summary"]["target"] == "target: odds of each class against class_0"
    names = [entry["name"] for entry in document["summary"]["coefficients"]]
    assert names[:3] == ["class_1: (intercept)", "class_1: alcohol", "class_1: malic_acid"]


def test_a_model_from_python_with_standardised_numbers(run, wages):
    from separatrix import LinearRegression

    features, y = take_quantity(read_table(wages), "wage")
    encoder = Encoder(reference=True).fit(features.drop("class"))
    model = LinearRegression().fit(encoder.transform(features), y)
    save_model("p.separatrix", model, encoder=encoder, provenance={"target": "wage"})
    ran = run("summary", "p.separatrix", wages, "--robust", "HC1")
    assert ran.code == 0
    assert "Coefficients of numbers are per standard deviation of their columns." in ran.out
    assert "Standard errors: HC1" in ran.out


# -------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--target", "wage", "--lam", "0.1"], "a penalty draws the estimates towards zero, so "),
        (["--target", "wage", "--model", "poly", "--lam", "0.1"], "a penalty draws the estimates"),
        (["--target", "class"], "fit with --penalty none for a summary"),
        (["--target", "class", "--model", "svm"], "model (linear support vector machine): only "),
        (["--target", "class", "--model", "lda"], "fit --model lstsq, poly, or logistic --penalty"),
        (["--target", "class", "--model", "lstsq"], "model (least squares classifier): only "),
        (["--target", "class", "--penalty", "none"], "no finite optimum"),  # wage decides it
    ],
)
def test_what_has_no_standard_errors(run, wages, words, told):
    assert run("fit", wages, *words, "-o", "m.separatrix").code in (0, 4)
    ran = run("summary", "m.separatrix")
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.startswith("error     ")
    assert ran.err.count("\n") == 1
    assert told in ran.err
    for argument in ("lam=", "penalty=", "X, y"):
        assert argument not in ran.err


@pytest.mark.parametrize(
    "words", [["--target", "wage"], ["--target", "class", "--penalty", "none"]]
)
def test_dependent_columns_are_left_out_and_named(run, once, wages, words):
    other = "class" if "wage" in words else "wage"
    assert run("fit", wages, *words, "--ignore", other, "-o", "plain.separatrix").code == 0
    plain = run("summary", "plain.separatrix", "--json").document["summary"]["coefficients"]
    text = wages.read_text().splitlines()
    made = [text[0] + ",months"] + [f"{x},{12 * int(x.split(',')[0])}" for x in text[1:]]
    wages.write_text("\n".join(made) + "\n")
    fitted(once, wages, *words, "--ignore", other)
    ran = run("summary", "m.separatrix")
    assert ran.code == 0
    assert "Features left out, because they depend on others: 'months'." in ran.out
    document = run("summary", "m.separatrix", "--json").document
    assert document["left_out"] == ["months"]
    for one, other in zip(plain, document["summary"]["coefficients"], strict=True):
        assert one["name"] == other["name"]
        assert one["standard_error"] == pytest.approx(other["standard_error"], rel=1e-6)
    assert run("summary", "m.separatrix", wages, "--robust", "HC1").code == 0


def test_only_the_rows_of_the_fit_will_do(run, once, wages):
    fitted(once, wages, "--target", "wage")
    wages.write_text(wages.read_text().replace("high", "hi", 1))
    ran = run("summary", "m.separatrix", wages)
    assert (ran.code, ran.out) == (3, "")
    assert "wages.csv is not the table of the fit" in ran.err


def test_robust_errors_need_the_table(run, once, wages):
    fitted(once, wages, "--target", "wage")
    ran = run("summary", "m.separatrix", "--robust", "HC3")
    assert ran.code == 2
    assert "--robust needs the rows of the fit: name their table after the model file" in ran.err


@pytest.mark.parametrize("level", ["0", "1", "1.5", "nan", "x"])
def test_levels(run, level):
    ran = run("summary", "m.separatrix", "--level", level)
    assert ran.code == 2
    assert f"{level} is not a number above 0 and below 1" in ran.err


def test_no_file(run):
    ran = run("summary", "gone.separatrix")
    assert ran.code == 3
    assert ran.err.count("\n") == 1


def test_names_cannot_drive_the_terminal(run, once, wages):
    wages.write_text(wages.read_text().replace("years,", "\x1b[2Jyears,", 1))
    fitted(once, wages, "--target", "wage")
    ran = run("summary", "m.separatrix")
    assert ran.code == 0
    assert "\x1b" not in ran.out
    assert "\\x1b[2Jyears" in ran.out


def test_the_rows_that_rule_out_hc3_are_named(run, once, make_csv):
    rng = np.random.default_rng(5)
    rows = [[f"{rng.normal():.3f}", "ab"[i % 2], f"{rng.normal():.3f}"] for i in range(40)]
    rows[16][1], rows[30][1] = "c", "d"
    make_csv("t.csv", ["x", "k", "y"], rows)
    fitted(once, "t.csv", "--target", "y", "--test-size", "0")
    ran = run("summary", "m.separatrix", "t.csv", "--robust", "HC3")
    assert ran.code == 3
    assert ran.err.startswith("error     'm.separatrix': HC3 is not defined here: ")
    assert ran.err.endswith(" (row 17 alone has 'k=c', row 31 alone has 'k=d')\n")
    assert run("summary", "m.separatrix", "t.csv", "--robust", "HC1").code == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["iris", "--multiclass", "ovr", "--penalty", "none"], "fit with --multiclass multinomial"),
        (["iris", "--model", "sgd"], "holds another model (stochastic gradients): only"),
        (["iris", "--model", "lda"], "holds another model (linear discriminant analysis): only"),
        (["iris", "--model", "lstsq"], "holds another model (least squares classifier): only"),
        (["diabetes", "--lam", "1"], "fit with no --lam for a summary"),
    ],
)
def test_refusals_name_the_file_and_the_remedy(run, words, told):
    run("fit", *words, "-o", "m.separatrix")
    for options in ([], ["--json"]):
        ran = run("summary", "m.separatrix", *options)
        assert ran.code == 3
        assert ran.err.startswith("error     'm.separatrix'")
        assert told in ran.err
        assert ran.err.count("\n") == 1


def test_lines_under_the_table_are_wrapped(run, once, make_csv):
    rng = np.random.default_rng(6)
    names = [f"a category with a name, number {j}" for j in range(6)]
    rows = [[*rng.choice(["yes", "no"], 6), f"{rng.normal():.3f}"] for _ in range(80)]
    make_csv("t.csv", [*names, "y"], rows)
    fitted(once, "t.csv", "--target", "y")
    ran = run("summary", "m.separatrix")
    _, found, under = ran.out.partition("\nLevels are compared with ")
    assert found
    assert under.count("\n") > 2
    assert max(map(len, ran.out.splitlines())) <= 100
    assert all(f"'{name}=" in " ".join(under.split()) for name in names)


def test_a_narrow_terminal_has_the_intervals_below(run, monkeypatch):
    assert run("fit", "diabetes", "-o", "d.separatrix").code == 0
    wide = run("summary", "d.separatrix", "diabetes").out
    (row,) = [line for line in wide.splitlines() if line.startswith("bmi ")]
    monkeypatch.setattr(summary_run, "terminal_width", lambda: 64)
    narrow = run("summary", "d.separatrix", "diabetes").out
    assert max(map(len, narrow.splitlines())) <= 64
    first, second = (line for line in narrow.splitlines() if line.startswith("bmi "))
    assert [*first.split(), *second.split()[1:]] == row.split()
