"""What a report says, that it is true, and that its two files say the same."""

from __future__ import annotations

import itertools
import json
import math
import re
import warnings
from html.parser import HTMLParser
from threading import Event

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression as Other
from sklearn.metrics import accuracy_score, r2_score, roc_auc_score

import separatrix
from grids import EXHAUSTIVE, grid
from separatrix import (
    SVC,
    Hyperplane,
    LeastSquaresClassifier,
    LinearDiscriminantAnalysis,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    Perceptron,
    PolynomialRegression,
    QuadraticDiscriminantAnalysis,
    Report,
    SGDClassifier,
)
from separatrix.assessment.certificates import certificate_record
from separatrix.messages import percent
from separatrix.report.files import looks_like_report, twin_of
from separatrix.report.rendering import require_extras
from separatrix.tables import Table

from .conftest import HOSTILE, SCRIPT, TURNED, hostile_table, stored_model

IRIS = load_iris()


class Page(HTMLParser):
    """The tags, the text by section, and the numbers of a page."""

    VOID = ("meta", "br", "img", "link", "hr", "input")

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.stack: list[str] = []
        self.tags: list[tuple[str, dict]] = []
        self.text: dict[str, str] = {}
        self.numbers: list[float] = []
        self.section = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "section":
            self.section = dict(attrs)["id"]
        if tag == "data":
            self.numbers.append(json.loads(dict(attrs)["value"]))
        if tag not in self.VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag

    def handle_data(self, data):
        if "style" not in self.stack and "svg" not in self.stack:
            self.text[self.section] = self.text.get(self.section, "") + data


def numbers_of(value) -> list[float]:
    if isinstance(value, dict):
        return [n for item in value.values() for n in numbers_of(item)] + [len(value)]
    if isinstance(value, list):
        return [n for item in value for n in numbers_of(item)] + [len(value)]
    return [value] if isinstance(value, (int, float)) and not isinstance(value, bool) else []


def squeezed(text: str) -> str:
    return " ".join(text.split())


# ------------------------------------------------------------------------------------- content


def test_sections_come_in_order(report):
    page = Page(report.to_html())
    assert page.stack == []
    found = [attrs["id"] for tag, attrs in page.tags if tag == "section"]
    assert found == [
        "alerts", "certificate", "metrics", "pictures", "weights", "diagnostics", "rows", "data",
        "objective", "reproduce",
    ]  # fmt: skip
    assert [tag for tag, _ in page.tags].count("h1") == 1
    links = [attrs["href"] for tag, attrs in page.tags if tag == "a"]
    assert all(href.startswith("#") for href in links)
    assert {href[1:] for href in links[1:]} == set(found)


def test_figures_are_those_of_scikit_learn(report, cancer):
    model, X, y, (X_test, y_test) = cancer
    held, fit = report.to_dict()["metrics"]
    for record, rows, labels in ((held, X_test, y_test), (fit, X, y)):
        assert record["n"] == len(labels)
        assert record["accuracy"] == accuracy_score(labels, model.predict(rows))
        assert record["roc_auc"] == pytest.approx(
            roc_auc_score(labels == "malignant", model.decision_function(rows))
        )
        low, high = record["roc_auc_interval"]
        assert low < record["roc_auc"] < high <= 1.0
        for one in record["per_class"]:
            for name in ("precision", "recall", "f1"):
                low, high = one[f"{name}_interval"]
                assert low - 1e-12 <= one[name] <= high + 1e-12
    text = squeezed(Page(report.to_html()).text["metrics"])
    assert re.search(rf"accuracy\s*{held['accuracy']:.3f}", text)
    assert "test rows" in text and "rows of the fit" in text


def test_a_certificate_is_shown_in_the_units_of_the_formula():
    X, y = load_iris(return_X_y=True)
    model = LinearSVC(lam=0.01).fit(X, y)
    record = certificate_record(model, model.certificate_, None, str)
    assert record["record"] == model.certificate_.to_dict()
    printed = record["printed"]
    loss = sum(
        Hyperplane.from_model(model, k).objective(X, y == k, "squared_hinge", lam=0.01)
        for k in range(3)
    )
    assert printed["primal"] == pytest.approx(loss, rel=1e-12)
    assert sum(part["dual"] for part in printed["parts"]) == pytest.approx(printed["dual"])


def test_the_certificate_is_told_and_true(report, cancer):
    certificate = cancer[0].certificate_
    record = report.to_dict()["certificate"]
    assert record["record"] == certificate.to_dict()
    text = squeezed(Page(report.to_html()).text["certificate"])
    assert "no weights bring it below" in text
    assert f"{certificate.primal:,.3f}"[:6] in text


def test_the_weights_are_sorted_and_complete(report, cancer):
    model, X, _, _ = cancer
    record = report.to_dict()["weights"]
    sizes = np.abs(model.coef_[0] * np.asarray(X).std(axis=0))
    shown = [one for group in record["columns"] for one in group["features"]]
    assert [one["feature"] for one in shown] == [X.columns[j] for j in np.argsort(-sizes)]
    assert [abs(one["standardised"][0]) for one in shown] == pytest.approx(sorted(sizes)[::-1])
    assert record["used"] == record["shown"] == 30


def test_levels_stand_under_their_column_in_units_of_the_table():
    rng = np.random.default_rng(1)
    age = rng.normal(40, 10, 200)
    job = np.array(["clerk", "cook", "nurse"])[rng.integers(3, size=200)]
    rich = np.where(age + 8 * (job == "cook") + rng.normal(size=200) > 42, "rich", "poor")
    table = Table.from_columns({"age": age, "job": job.tolist(), "income": rich.tolist()})
    stored = stored_model(table, "income")
    report = Report.from_table(stored, table, pictures=False)
    groups = {group["column"]: group for group in report.to_dict()["weights"]["columns"]}
    assert list(groups) == ["age", "job"]
    assert {one["level"] for one in groups["job"]["features"]} == {"clerk", "cook", "nurse"}
    fitted = report.to_dict()["data"]["split"]["fit_rows"]
    assert fitted == 160
    one = groups["age"]["features"][0]
    # The encoding divides by the standard deviation of the rows of the fit.
    assert one["standardised"][0] == pytest.approx(one["weight"][0] * stored.encoder.scales_[0])
    assert 8.0 < stored.encoder.scales_[0] < 12.0


def test_rows_are_counted_by_group_and_class():
    rng = np.random.default_rng(0)
    n = 2_000
    age = rng.integers(17, 90, n).astype(float)
    gain = np.where(rng.uniform(size=n) < 0.9, 0.0, rng.exponential(1e4, n))
    gain[:7] = np.nan
    job = rng.choice([f"j{k}" for k in range(12)], n, p=np.arange(12, 0, -1) / 78).astype(object)
    job[5] = None
    y = np.where(rng.uniform(size=n) < age / 100, "rich", "poor")
    columns = {"age": age, "gain": gain, "job": job, "income": y}
    table = Table.from_columns({name: np.asarray(v).tolist() for name, v in columns.items()})
    stored = stored_model(table, "income", LogisticRegression())
    stored.provenance.update(positive="poor", data={})  # not the data of the fit: all rows
    report = Report.from_table(stored, table, pictures=False)
    record = report.to_dict()["data"]
    assert record["histograms"]["order"] == [0, 1] and record["histograms"]["positive"] == "poor"
    found = {one["column"]: one.get("by_class") for one in record["columns"]}
    for group in found["age"]:
        inside = (age >= group["least"]) & (age <= group["most"])
        assert group["counts"] == [int((inside & (y == c)).sum()) for c in ("poor", "rich")]
        assert 120 <= sum(group["counts"]) <= 280
    assert sum(sum(group["counts"]) for group in found["age"]) == n
    # Nine tenths are one value, which no groups share.
    first, *others, missing = found["gain"]
    assert (first["least"], first["most"]) == (0.0, 0.0) and others[0]["least"] > 0.0
    assert missing == {"missing": True, "counts": missing["counts"]}
    assert sum(missing["counts"]) == 7
    *levels, others, unknown = found["job"]
    for group in levels:
        own = job == group["level"]
        assert group["counts"] == [int((own & (y == c)).sum()) for c in ("poor", "rich")]
    sizes = [sum(group["counts"]) for group in levels]
    assert len(levels) == 8 and sizes == sorted(sizes, reverse=True)
    assert others["others"] == 4 and sum(unknown["counts"]) == 1
    assert sum(sizes) + sum(others["counts"]) == n - 1
    page = report.to_html()
    told = re.search(r'aria-label="gain by class: poor is ([^"]*) of a group"', page)
    assert told[1].split(", ")[-1] == percent(missing["counts"][0] / 7)


def test_single_rows_and_what_counted(report, cancer):
    model, X, _, (X_test, y_test) = cancer
    record = report.to_dict()["examples"]
    scores = model.decision_function(X_test)
    wrong = np.flatnonzero(model.predict(X_test) != y_test)
    assert record["wrong_count"] == len(wrong) > 0
    worst = wrong[np.argmax(np.abs(scores[wrong]))]
    first = record["wrong"][0]
    assert first["row"] == worst and first["true"] == y_test[worst] != first["predicted"]
    assert first["score"] == pytest.approx(scores[worst])
    unsure = [entry["row"] for entry in record["unsure"]]
    assert unsure == np.argsort(np.abs(scores))[:10].tolist()
    shares = model.coef_[0] * (np.asarray(X_test)[worst] - np.asarray(X).mean(axis=0))
    toward = 1 if first["predicted"] == model.classes_[1] else -1
    top = np.argsort(-np.abs(shares))[:3]
    assert [cause["column"] for cause in first["causes"]] == [X.columns[j] for j in top]
    assert [cause["share"] for cause in first["causes"]] == pytest.approx(toward * shares[top])


def test_alerts_have_what_why_and_what_to_do():
    rng = np.random.default_rng(0)
    a = rng.normal(size=(60, 1))
    X = np.hstack([a, 2 * a, rng.normal(size=(60, 1))])
    y = (a[:, 0] > 0).astype(int)
    with pytest.warns(Warning):
        model = LogisticRegression(penalty=None).fit(X, y)
    report = Report.from_estimator(model, X, y, pictures=False)
    alerts = report.to_dict()["alerts"]
    codes = [finding["code"] for finding in alerts["findings"]]
    assert codes[0] == "separable" and alerts["findings"][0]["severity"] == "problem"
    assert "nothing_held_out" in codes and "collinear" in codes
    text = squeezed(Page(report.to_html()).text["alerts"])
    assert "add a penalty" in text.lower() and "What to do" in text
    assert report.to_dict()["certificate"]["status"] == "separable"


def test_nothing_to_report_is_said():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 3))
    y = (X[:, 0] + rng.logistic(size=400) > 0).astype(int)
    model = LogisticRegression().fit(X[:300], y[:300])
    report = Report.from_estimator(model, X[:300], y[:300], test=(X[300:], y[300:]), pictures=False)
    loud = [f for f in report.to_dict()["alerts"]["findings"] if f["severity"] != "note"]
    assert loud == []
    assert "nothing to report" in Page(report.to_html()).text["alerts"]


def test_a_model_worse_than_the_majority_is_told():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 1))
    y = np.array([0] * 270 + [1] * 30)
    model = LogisticRegression(class_weight="balanced").fit(X, y)
    report = Report.from_estimator(model, X, y, pictures=False)
    codes = {f["code"] for f in report.to_dict()["alerts"]["findings"]}
    assert "no_better_than_majority" in codes


# --------------------------------------------------------------------------------------- models

MODELS = [
    LogisticRegression(),
    LogisticRegression(multiclass="ovr"),
    LinearSVC(),
    LinearSVC(calibrate="sigmoid"),
    SVC(),
    SVC(kernel="linear"),
    SVC(approximation="nystroem", n_components=20, random_state=0),
    SGDClassifier(random_state=0),
    LinearDiscriminantAnalysis(),
    QuadraticDiscriminantAnalysis(),
    LeastSquaresClassifier(),
    Perceptron(max_passes=20),
]
# Models of three classes: one problem, one for each class, one for each pair, and Gaussians.
SEVERAL = [MODELS[0], MODELS[2], MODELS[4], MODELS[9]]


def report_of(model, classes):
    rows = IRIS.target >= 3 - classes
    X, y = IRIS.data[rows], IRIS.target_names[IRIS.target[rows]]
    report = Report.from_estimator(type(model)(**model.get_params()).fit(X, y), X, y)
    pictures = report.to_dict()["pictures"]
    assert len(pictures) >= 3
    # A picture that a model cannot have is not planned; one that is planned is drawn.
    assert [picture["why"] for picture in pictures] == [None] * len(pictures)
    return report


# Pictures of regions, of Gaussians, and of margins of lines and of kernels.
WRITTEN = [(MODELS[0], 3), (MODELS[3], 2), (MODELS[4], 2), (MODELS[9], 2)]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("model", "classes"),
    [
        pytest.param(
            *case,
            marks=() if case in WRITTEN else pytest.mark.exhaustive,
            id=f"{str(case[0])[:40]}-{case[1]}",
        )
        for case in itertools.product(MODELS, (2, 3))
    ],
)
def test_every_classifier_has_a_report(model, classes, written):
    written += ["boundary", "gaussians", "calibration"]
    if model is MODELS[0] or EXHAUSTIVE:
        written += ["margins", "roc", "precision-recall"]
    html = report_of(model, classes).to_html()
    assert Page(html).stack == []
    assert 'role="img"' in html


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@grid(
    ("model", "classes"),
    # With two classes one against the rest is the first model again.
    [
        case
        for case in [*((one, 2) for one in MODELS), *((one, 3) for one in SEVERAL)]
        if case not in [*WRITTEN, (MODELS[1], 2)]
    ],
)
def test_every_classifier_has_its_pictures(model, classes, written):
    assert Page(report_of(model, classes).to_html()).stack == []


def test_quantities_have_a_report(written):
    written += ["fitted", "curve"]
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    for model in (LinearRegression(), PolynomialRegression(2)):
        few = X[["bmi", "bp"]]
        model.fit(few[:300], y[:300])
        report = Report.from_estimator(model, few[:300], y[:300], test=(few[300:], y[300:]))
        held = report.to_dict()["metrics"][0]
        assert held["r2"] == pytest.approx(r2_score(y[300:], model.predict(few[300:])))
        low, high = held["r2_interval"]
        assert low < held["r2"] < high
        drawn = {p["key"]: p["why"] for p in report.to_dict()["pictures"]}
        beside = {} if hasattr(model, "powers_") else {"partial-residuals": None}
        # The plane over two features, where the model is one.
        beside |= {} if hasattr(model, "powers_") else {"curve": None}
        assert drawn == {"fitted": None, "residuals": None, **beside}
        worst = report.to_dict()["examples"]["wrong"][0]
        errors = np.abs(y[300:] - model.predict(few[300:]))
        assert abs(worst["residual"]) == pytest.approx(errors.max())
        text = Page(report.to_html()).text
        assert "R²" in text["metrics"] and "Confusion" not in text["metrics"]
        powers = "polynomial has weights of powers" in squeezed(text["weights"])
        assert powers == hasattr(model, "powers_")


def test_a_curve_of_one_column_is_drawn(written):
    written.append("curve")
    x = np.linspace(0, 1, 60)[:, None]
    y = np.sin(6 * x[:, 0])
    for model in (LinearRegression(), PolynomialRegression(5)):
        report = Report.from_estimator(model.fit(x, y), x, y)
        assert {p["key"]: p["why"] for p in report.to_dict()["pictures"]}["curve"] is None


def test_models_of_scikit_learn_are_certified_here():
    X, y = IRIS.data[50:], IRIS.target[50:]
    report = Report.from_estimator(Other(C=1.0, max_iter=1000).fit(X, y), X, y, pictures=False)
    record = report.to_dict()["certificate"]
    assert record["kind"] == "gap" and record["own"] is False
    assert "came without a certificate" in report.to_html()


def test_sparse_rows_are_never_made_dense(monkeypatch, written):
    rng = np.random.default_rng(0)
    X = sparse.random(3_000, 4_000, density=0.002, random_state=0, format="csr")
    y = (X @ rng.normal(size=4_000) > 0).astype(int)
    model = LogisticRegression().fit(X, y)
    real = sparse.csr_matrix.toarray

    def toarray(self, *args, **kwargs):
        assert self.shape[0] * self.shape[1] <= 100_000, self.shape
        return real(self, *args, **kwargs)

    monkeypatch.setattr(sparse.csr_matrix, "toarray", toarray)
    monkeypatch.setattr(sparse.csr_matrix, "todense", None)
    report = Report.from_estimator(model, X, y)
    assert "sparse" in report.to_dict()["data"]["storage"]
    drawn = {p["key"]: p for p in report.to_dict()["pictures"]}
    assert drawn["boundary"]["drawn"] == 2_000 and drawn["boundary"]["rows"] == 3_000
    assert re.search(r">2,000</data> of <data[^>]*>3,000</data> rows are drawn", report.to_html())


# ----------------------------------------------------------------------------- the two together


@pytest.mark.parametrize("name", ["report", "hostile"])
def test_every_number_of_the_page_is_in_the_document(name, request):
    report = request.getfixturevalue(name)
    known = set(numbers_of(json.loads(report.to_json())))
    page = Page(report.to_html())
    assert len(page.numbers) > 100
    # Each number that remains is the difference of two counts.
    counts = {n for n in known if n == int(n)}
    left = [n for n in page.numbers if n not in known]
    assert [n for n in left if n <= 0 or counts.isdisjoint(b + n for b in counts)] == []
    record = report.to_dict()
    assert record["schema"] == "separatrix/report" and record["version"] == 1


def test_the_document_is_strict_json(hostile):
    text = hostile.to_json()
    assert text.isascii()
    json.loads(text, parse_constant=lambda word: pytest.fail(word))


def test_the_same_twice(report):
    assert report.to_html() == report.to_html()
    assert report.to_json() == report.to_json()


def test_drawings_are_the_same_twice(report, cancer, written):
    model, X, y, test = cancer
    # Axes alone with a bitmap of points, and parts one below the other.
    written += ["boundary", "margins"]
    again = Report.from_estimator(model, X, y, test=test, target="tumour", data="breast cancer")
    both = [{p.key: p.svg for p in one.pictures} for one in (again, report)]
    assert both[0].keys() == both[1].keys()
    assert [both[0][key] for key in written] == [both[1][key] for key in written]


def test_no_identifier_comes_twice_and_none_leads_nowhere(report):
    html = report.to_html()
    ids = re.findall(r'\sid="([^"]+)"', html)
    assert len(ids) == len(set(ids)) > 20
    wanted = set(re.findall(r'href="#([^"]+)"', html)) | set(re.findall(r"url\(#([^)]+)\)", html))
    wanted |= set(re.findall(r'aria-labelledby="([^"]+)"', html))
    assert wanted <= set(ids)


def test_drawings_take_the_colours_of_the_page(report):
    html = report.to_html()
    assert "var(--ink)" in html and "var(--muted)" in html
    for sentinel in ("#010203", "#030201", "#020304", "#040302"):
        assert sentinel not in html


def test_it_needs_nothing_else(report):
    html = report.to_html()
    assert len(html) < 3_000_000
    assert "<script" not in html and "<link" not in html and "@import" not in html
    assert re.search(r"""(?:src|href)=["'](?!#|data:)""", html) is None
    assert "http://" not in html and "https://" not in html
    assert "default-src 'none'" in html


# -------------------------------------------------------------------------------------- hostile


def test_names_are_escaped(hostile):
    html = hostile.to_html()
    page = Page(html)
    assert page.stack == []
    assert {tag for tag, _ in page.tags}.isdisjoint({"script", "img", "iframe", "b"})
    assert [a for _, attrs in page.tags for a in attrs if a.startswith("on")] == []
    assert html.count("</style>") == 1 and "&lt;script&gt;" in html
    # Nothing that HTML forbids, and no mark that turns the rest of the page around.
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", html)
    for tag, attrs in page.tags:
        assert "\u202e" not in "".join(filter(None, attrs.values())), tag


def test_marks_of_direction_are_isolated(hostile):
    depth, marks = 0, 0
    for match in re.finditer("\u202e|</?bdi>", hostile.to_html()):
        depth += {"<bdi>": 1, "</bdi>": -1}.get(match[0], 0)
        if match[0] == "\u202e":
            marks += 1
            assert depth > 0
    assert marks > 0


def test_long_names_are_whole_in_the_document_alone(hostile):
    long = next(name for name in HOSTILE if len(name) > 1_000)
    assert long not in hostile.to_html()
    columns = {column["column"] for column in hostile.to_dict()["data"]["columns"]}
    assert set(HOSTILE) <= columns
    assert SCRIPT in hostile.to_json()


def test_class_labels_and_sources_are_escaped(hostile):
    page = Page(hostile.to_html())
    # Beyond forty characters the middle is left out.
    assert SCRIPT[:20] in page.text["metrics"]
    assert f"{SCRIPT}.csv" in page.text["data"]
    assert TURNED in page.text["rows"]


# ---------------------------------------------------------------------------------- reproduction


def ran(code: str, **names):
    scope = dict(names)
    exec(compile(code, "report", "exec"), scope)
    return scope


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", MODELS, ids=lambda model: str(model)[:40])
def test_the_code_comes_to_the_same_model(model, capsys):
    X, y = IRIS.data[50:], IRIS.target[50:]
    model = type(model)(**model.get_params()).fit(X, y)
    report = Report.from_estimator(model, X, y, pictures=False)
    again = ran(report.to_dict()["reproduce"]["python"], X=X, y=y)["model"]
    assert capsys.readouterr().out
    assert type(again) is type(model)
    if hasattr(model.certificate_, "primal"):
        assert again.certificate_.primal == model.certificate_.primal
    assert (again.predict(X) == model.predict(X)).all()


def test_parameters_of_every_kind_come_back():
    from separatrix.kernels import PolynomialKernel
    from separatrix.schedules import Power

    X, y = IRIS.data[50:], IRIS.target[50:]
    for model in (
        LinearSVC(C=math.inf, class_weight={1: 2.0, 2: 1.0}),
        SVC(kernel=PolynomialKernel(degree=2, coef0=1.0), C=np.float64(3.0)),
        SGDClassifier(learning_rate=Power(0.5, tau=10.0, kappa=0.75), random_state=np.int64(1)),
    ):
        rows = y > -1
        if model.get_params().get("C") == math.inf:
            X_, y_ = IRIS.data[:100], IRIS.target[:100] + 1
        else:
            X_, y_ = X[rows], y[rows]
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X_, y_)
            report = Report.from_estimator(model, X_, y_, pictures=False)
            again = ran(report.to_dict()["reproduce"]["python"], X=X_, y=y_)["model"]
        assert again.certificate_.primal == model.certificate_.primal


# ----------------------------------------------------------------------------------------- files


def test_both_files_are_written_and_replaced(report, tmp_path):
    path = tmp_path / "out.html"
    report.save(path)
    report.save(path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.html", "out.json"]
    assert path.read_text("utf-8") == report.to_html()
    assert json.loads((tmp_path / "out.json").read_text()) == report.to_dict()
    assert looks_like_report(path) and looks_like_report(tmp_path / "out.json")


@pytest.mark.parametrize("name", ["out.html", "out.json"])
def test_what_is_no_report_is_not_overwritten(report, tmp_path, name):
    (tmp_path / name).write_text("{}")
    with pytest.raises(FileExistsError, match=f"{name}' exists and is not a report"):
        report.save(tmp_path / "out.html")
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_a_page_needs_a_name_of_its_own(report, tmp_path):
    with pytest.raises(ValueError, match="name of the report's data"):
        report.save(tmp_path / "out.json")
    assert twin_of("a/b.html").endswith("b.json") and twin_of("plain") == "plain.json"


def test_a_folder_that_is_not_there(report, tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        report.save(tmp_path / "no" / "out.html")


def test_a_failure_leaves_the_old_page(report, tmp_path, monkeypatch):
    import os

    report.save(tmp_path / "out.html")
    before = (tmp_path / "out.html").read_bytes()

    def full(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(KeyboardInterrupt):
        report.save(tmp_path / "out.html")
    assert (tmp_path / "out.html").read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 2


def test_a_missing_extra_names_the_exact_command(monkeypatch, cancer):
    from separatrix.report import rendering

    real = rendering.find_spec
    monkeypatch.setattr(
        rendering, "find_spec", lambda name: None if name == "jinja2" else real(name)
    )
    with pytest.raises(ModuleNotFoundError) as error:
        require_extras()
    assert str(error.value) == 'a report needs jinja2: pip install "separatrix[app]"'
    with pytest.raises(ModuleNotFoundError):
        Report.from_estimator(*cancer[:3])


# ----------------------------------------------------------------------------------------- input


def test_rows_that_do_not_fit_are_refused(cancer):
    model, X, y, _ = cancer
    with pytest.raises(ValueError, match="X has 2 columns, and the model was fitted to 30"):
        Report.from_estimator(model, np.zeros((3, 2)), ["benign"] * 3)
    with pytest.raises(ValueError, match="'other', which is not a class of the model"):
        Report.from_estimator(model, X[:2], np.array(["benign", "other"]))
    with pytest.raises(ValueError, match="feature_names has 1 names for 30 columns"):
        Report.from_estimator(model, X, y, feature_names=["a"])
    with pytest.raises(ValueError, match="one target"):
        Report.from_estimator(model, X, np.zeros((400, 2)))


def test_other_data_have_figures_of_all_rows():
    table = hostile_table()
    stored = stored_model(table, "<img src=x onerror=alert(1)>")
    other = hostile_table(120)
    report = Report.from_table(stored, other, pictures=False).to_dict()
    assert report["data"]["same_data"] is False
    assert [m["rows"] for m in report["metrics"]] == ["given"]
    assert report["metrics"][0]["n"] == 120
    assert "other_data" in {f["code"] for f in report["alerts"]["findings"]}


def test_rows_of_one_class_are_no_reproach():
    table = hostile_table()
    target = "<img src=x onerror=alert(1)>"
    stored = stored_model(table, target)
    label = stored.model.classes_[0]
    rows = np.flatnonzero([cell == label for cell in table.columns[target]])
    for chosen, told in ((rows, f"All {len(rows)} rows of this table are"), (rows[:1], "only one")):
        report = Report.from_table(stored, table.select(chosen), pictures=False)
        found = {f["code"]: f for f in report.to_dict()["alerts"]["findings"]}
        assert "no_better_than_majority" not in found
        assert told.lower() in found["one_class"]["what"].lower()
        text = squeezed(Page(report.to_html()).text[""])
        assert ("1 row of this table" in text) == (len(chosen) == 1)


def test_the_remedy_for_learning_by_heart_is_one_of_the_model():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 40)), rng.integers(0, 2, 120)
    for model, told in (
        (LinearSVC(C=1e3), "smaller C"),
        (LinearDiscriminantAnalysis(), "more shrinkage"),
        (LeastSquaresClassifier(), "larger lam"),
        (Perceptron(), "fewer columns"),
    ):
        model.fit(X[:60], y[:60])
        report = Report.from_estimator(model, X[:60], y[:60], test=(X[60:], y[60:]), pictures=False)
        found = {f["code"]: f for f in report.to_dict()["alerts"]["findings"]}
        assert told in found["overfitted"]["remedy"]
        assert ("C)" in found["overfitted"]["remedy"]) == (told == "smaller C")


def test_separable_classes_are_a_danger_to_some_models_alone():
    X, y = IRIS.data[:100], IRIS.target[:100]
    for model, severity, told in (
        (LogisticRegression(), "warning", "no finite optimum"),
        (LinearDiscriminantAnalysis(), "note", "finite all the same"),
        (Perceptron(), "note", "the perceptron stops"),
        (SVC(), "note", "LinearSVC may do"),
    ):
        report = Report.from_estimator(model.fit(X, y), X, y, pictures=False)
        found = {f["code"]: f for f in report.to_dict()["alerts"]["findings"]}
        assert found["separable"]["severity"] == severity
        assert told in found["separable"]["why"]


def test_many_classes_have_pictures_that_can_be_read(written):
    written += ["boundary", "roc", "calibration"]
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(12), 40)
    centres = 4.0 * rng.normal(size=(12, 5))
    X = centres[y] + 1.5 * rng.normal(size=(480, 5))
    model = LogisticRegression().fit(X, y)
    report = Report.from_estimator(model, X, y)
    drawn = {picture.key: picture for picture in report.pictures}
    assert all(picture.why is None for picture in drawn.values())
    # Where no plane shows all classes, two stand for them: those most often taken for one another.
    told = model.predict(X)
    counts = np.zeros((12, 12), dtype=int)
    np.add.at(counts, (y, told), 1)
    counts = np.triu(counts + counts.T, 1)
    one, other = np.unravel_index(counts.argmax(), counts.shape)
    assert f"these are '{one}' and '{other}'" in drawn["boundary"].caption
    # The curves keep their width beside the names of twelve classes.
    for key in ("roc", "calibration"):
        assert drawn[key].wide
        width = float(re.search(r"--width:(\d+)px", drawn[key].svg)[1])
        assert width > 500.0
    html = report.to_html()
    assert 'class="confusion many"' in html and Page(html).stack == []


def test_it_is_public():
    assert separatrix.Report is Report


def test_two_threads_leave_the_filters_of_warnings_as_they_were(monkeypatch):
    X, y = np.arange(12.0).reshape(6, 2), np.array(["a", "b"] * 3)
    model, (begun, drawing, done) = LogisticRegression().fit(X, y), (Event() for _ in range(3))

    def diagnosed(*_):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            begun.set()
            assert drawing.wait(60)
        done.set()

    def drawn(*_):
        assert begun.wait(60)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            drawing.set()
            assert done.wait(60)
        return []

    monkeypatch.setattr("separatrix.report.report.diagnosis_of", diagnosed)
    monkeypatch.setattr("separatrix.report.pictures.pictures_of", drawn)
    before = list(warnings.filters)
    Report.from_estimator(model, X, y)
    assert list(warnings.filters) == before
