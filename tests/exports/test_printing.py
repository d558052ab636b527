"""Every node, printed in C, JavaScript and Python and run there, computes what it evaluates to."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from exports.texts import (
    PRINTERS,
    answers_of,
    engines,
    first_engine,
    holds,
    of_columns,
    sample_of,
)
from separatrix.closed_form.gaussian import Gaussians
from separatrix.closed_form.polynomial import PolynomialBasis
from separatrix.data.design import as_design
from separatrix.exports import onnx
from separatrix.exports.artefacts import Heading, Unprintable
from separatrix.exports.engines.processes import Compiler
from separatrix.expressions import (
    Affine,
    Clipped,
    Consistent,
    Difference,
    Exp,
    Features,
    FirstWins,
    Fourier,
    Interpolate,
    KernelSum,
    Leads,
    LogSigmoid,
    Monomials,
    Normalised,
    OnItsSide,
    Positive,
    Prediction,
    Quadratic,
    Scaled,
    Shifted,
    Sigmoid,
    Softmax,
    Stacked,
    Threshold,
    Votes,
    Wins,
)
from separatrix.kernels.functions import (
    DeltaKernel,
    LinearKernel,
    PolynomialKernel,
    PrecomputedKernel,
    RBFKernel,
    SigmoidKernel,
    SquaresKernel,
)
from separatrix.lifts import FourierLift

LANGUAGES = pytest.mark.parametrize("language", PRINTERS)
RANDOM = np.random.default_rng(4)
X = np.vstack(
    [
        RANDOM.standard_normal((12, 3)),
        [[0.0, -0.0, 5e-324], [1e150, 1.0, 1.0], [1.0, 2.0, 3.0]],
        [[np.nan, 0.0, 0.0], [0.0, np.inf, 0.0], [0.0, 0.0, -np.inf]],
    ]
)
FEATURES = Features(3)
ONE = Affine(FEATURES, np.array([[1.0, -2.0, 0.3]]), np.array([0.1]))
THREE = Affine(FEATURES, RANDOM.standard_normal((3, 3)), np.array([0.1, -0.2, 0.0]))
PAIR = Affine(FEATURES, THREE.weights[:2], THREE.intercepts[:2])
BINARY = Threshold(ONE)
WAVES = Fourier(FEATURES, FourierLift(n_components=8, random_state=0).fit(X[:12]))
BEST = FirstWins(THREE)
POINTS = Interpolate(ONE, np.array([-1.0, 0.0, 0.5, 2.0]), np.array([0.1, 0.1, 0.6, 0.9]))


def vectors(kernel, points):
    coefficients = RANDOM.standard_normal((4, 2))
    return KernelSum(FEATURES, kernel, points, coefficients, np.array([0.5, -0.5]))


KERNELS = [
    LinearKernel(),
    PolynomialKernel(3, 0.5, 1.0),
    PolynomialKernel(1, 2.0, 0.0),
    RBFKernel(0.3),
    SigmoidKernel(0.2, -0.1),
    SquaresKernel(),
    DeltaKernel(),
]
CASES = {
    "binary": (ONE, BINARY, Sigmoid(ONE)),
    "inclusive": (ONE, Threshold(ONE, inclusive=True), None),
    "multinomial": (THREE, BEST, Softmax(THREE)),
    "regression": (ONE, None, None),
    "poisson": (Exp(Scaled(ONE, 0.01)), None, None),
    "scaled": (ONE, BINARY, Sigmoid(Scaled(ONE, -1e200, 2.0))),
    "isotonic": (ONE, BINARY, OnItsSide(Normalised(POINTS), BINARY)),
    "one_point": (ONE, BINARY, Normalised(Interpolate(ONE, np.array([0.0]), np.array([0.3])))),
    "one_against_rest": (THREE, BEST, Consistent(Normalised(Exp(LogSigmoid(THREE))), BEST)),
    "clipped": (THREE, BEST, Consistent(Normalised(Clipped(Scaled(THREE, 0.1, -1.0))), BEST)),
    "leads": (THREE, BEST, Softmax(Leads(THREE))),
    "votes": (Votes(THREE, 3), FirstWins(Votes(THREE, 3)), None),
    "wins": (Wins(THREE, 3), FirstWins(Wins(THREE, 3)), None),
    "shifted": (Shifted(THREE, ONE), FirstWins(Shifted(THREE, ONE)), None),
    "waves": (Affine(WAVES, np.cos(np.arange(8.0)).reshape(1, 8), np.ones(1)), None, None),
    "stacked": (Stacked((ONE, PAIR)), FirstWins(Stacked((ONE, PAIR))), None),
    "steps": (Affine(Positive(THREE), np.array([[2.0, -1.0, 0.5]]), np.array([-0.7])), None, None),
    "difference": (Difference(PAIR), Threshold(Difference(PAIR)), None),
    "of_probabilities": (
        ONE,
        Threshold(Affine(Sigmoid(ONE), np.array([[0.0, 1.0]]), np.array([-0.7]))),
        Sigmoid(ONE),
    ),
    **{
        f"kernel{k}": (vectors(kernel, X[:4] if k % 2 else sp.csr_array(X[:4])), None, None)
        for k, kernel in enumerate(KERNELS)
    },
}


@pytest.mark.crossed
@LANGUAGES
@pytest.mark.parametrize("case", CASES)
def test_nodes(case, language):
    scores, label, probabilities = CASES[case]
    classes = () if label is None else ("a", "b", "c")[: max(2, scores.n_columns)]
    prediction = Prediction(scores, label, classes, probabilities)
    # The row that overflows is compared with nothing.
    rows = np.delete(X, 13, axis=0) if probabilities is label is None else X
    program = of_columns(prediction, 3)
    columns = {cell.column: rows[:, j].tolist() for j, cell in enumerate(program.cells)}
    every = case in ("multinomial", "one_against_rest", "kernel3")
    holds(program, sample_of(columns, answers_of(prediction, rows)), language, every=every)


@LANGUAGES
@pytest.mark.parametrize("pooled", [True, False])
def test_gaussians(pooled, language):
    scales = np.array([1.0, 1e-3, 1e3])
    mixed = scales * RANDOM.standard_normal((3, 3, 3))
    covariances = mixed.transpose(0, 2, 1) @ mixed + np.diag(scales**2)
    gaussians = Gaussians.of(
        scales * RANDOM.standard_normal((3, 3)),
        covariances[0] if pooled else covariances,
        np.array([0.2, 0.3, 0.5]),
        kept=np.array([0, 2]),
    )
    node = Quadratic(FEATURES, gaussians)
    prediction = Prediction(node, FirstWins(node), (1, 2, 3), Softmax(node))
    data = 2.0 * scales * RANDOM.standard_normal((20, 3))
    rows = {f"x{j}": data[:, j].tolist() for j in range(3)}
    sample = sample_of(rows, answers_of(prediction, data), 1e-10)
    text = holds(of_columns(prediction, 3), sample, language, every=not pooled)
    assert ("lower1[i]" in text) != pooled  # each class has a factor of its own, or all have one


@LANGUAGES
@pytest.mark.parametrize("degree", [1, 4])
def test_polynomials(degree, language):
    basis = PolynomialBasis.of(as_design(X[:12]), degree)
    terms = Monomials(FEATURES, basis)
    weights = RANDOM.standard_normal((1, terms.n_columns))
    prediction = Prediction(Affine(terms, weights, np.array([0.5])))
    program = of_columns(prediction, 3)
    rows = {f"x{j}": X[:12, j].tolist() for j in range(3)}
    holds(program, sample_of(rows, answers_of(prediction, X[:12])), language)


@pytest.mark.crossed
@LANGUAGES
@pytest.mark.parametrize(
    "classes", [(False, True), (-1, 1), (0, 2**60), (0.5, 1.5), ("", 'é"\\\n*/??/'), ("1", "01")]
)
def test_classes_come_back_as_they_are(classes, language):
    prediction = Prediction(ONE, BINARY, classes)
    rows = {f"x{j}": X[:, j].tolist() for j in range(3)}
    text = holds(of_columns(prediction, 3), sample_of(rows, answers_of(prediction, X)), language)
    if language == "c":
        kind = {str: "const char *", float: "double "}.get(type(classes[0]), "long long ")
        assert f"static inline {kind}model_class(int label)" in text


@LANGUAGES
def test_a_wrong_answer_fails_its_own_proof(language):
    prediction = Prediction(ONE, BINARY, ("a", "b"), Sigmoid(ONE))
    program = of_columns(prediction, 3)
    rows = {f"x{j}": X[:, j].tolist() for j in range(3)}
    sample = sample_of(rows, answers_of(prediction, X))
    own = sample.expected

    def worst(**changed):
        expected = replace(own, **changed)
        text = PRINTERS[language](program, Heading("model"), replace(sample, expected=expected))
        return first_engine(language).own_proof(text)

    assert worst() <= 1.0
    scores, labels = own.scores.copy(), own.labels.copy()
    scores[0] *= 1.0 + 1e-9
    assert 1.0 < worst(scores=scores) < 1e6
    labels[1] = 1 - labels[1]
    assert worst(labels=labels) == np.inf
    # Where rounding may decide, the label is not compared.
    sample = replace(sample, decided=np.arange(len(labels)) != 1)
    assert worst(labels=labels) <= 1.0
    scores[0], scores[-1] = own.scores[0], 1.0
    sample = replace(sample, decided=np.zeros(len(labels), dtype=bool))
    shares = own.probabilities.copy()
    shares[-1] = 0.5
    assert worst(scores=scores, probabilities=shares) == np.inf
    shares = own.probabilities.copy()
    shares[2] = np.nan
    assert worst(probabilities=shares) == np.inf


def test_float32():
    prediction = Prediction(THREE, BEST, ("a", "b", "c"), Consistent(Softmax(THREE), BEST))
    program = of_columns(prediction, 3)
    rows = {f"x{j}": X[:12, j].tolist() for j in range(3)}
    expected = answers_of(prediction, X[:12])
    text = holds(program, sample_of(rows, expected, 1e-5), "c", float32=True)
    assert "double" not in text[: text.index("#ifdef MODEL_PROOF")]
    assert engines("c")[0].own_proof(text) > 0.0
    large = Affine(FEATURES, 1e60 * ONE.weights, ONE.intercepts)
    beyond = of_columns(Prediction(large), 3)
    with pytest.raises(Unprintable, match="1e\\+60 is beyond float32"):
        PRINTERS["c"](beyond, Heading("model"), sample_of(rows, expected), float32=True)


def test_fast_math_is_refused():
    prediction = Prediction(ONE, BINARY, ("a", "b"))
    rows = {f"x{j}": X[:, j].tolist() for j in range(3)}
    program = of_columns(prediction, 3)
    sample = sample_of(rows, answers_of(prediction, X))
    text = PRINTERS["c"](program, Heading("model"), sample)
    with pytest.raises(RuntimeError, match="compile model.h without it"):
        Compiler("gcc", "-std=c99 -ffast-math").run(text, program, rows)


@LANGUAGES
def test_what_has_no_formula_is_refused(language):
    sample = sample_of({"x0": [1.0]}, answers_of(Prediction(ONE), X[:1]))
    several = of_columns(Prediction(THREE, Positive(THREE), (0, 1, 2)), 3)
    with pytest.raises(Unprintable, match="several labels"):
        PRINTERS[language](several, Heading("model"), sample)
    given = KernelSum(FEATURES, PrecomputedKernel(), X[:3], np.ones((3, 1)), np.zeros(1))
    with pytest.raises(Unprintable, match="precomputed has no formula"):
        PRINTERS[language](of_columns(Prediction(given), 3), Heading("model"), sample)
    many = KernelSum(
        FEATURES, RBFKernel(), np.zeros((400_000, 3)), np.ones((400_000, 1)), np.zeros(1)
    )
    with pytest.raises(Unprintable, match="1,000,000 numbers.*NystroemLift"):
        PRINTERS[language](of_columns(Prediction(many), 3), Heading("model"), sample)


def test_python_needs_numpy_alone(tmp_path):
    """A user's calls: with rows or columns, with dates and booleans, and with errors."""
    prediction = Prediction(ONE, BINARY, ("a", "b"))
    rows = {f"x{j}": X[:, j].tolist() for j in range(3)}
    program = of_columns(prediction, 3)
    sample = sample_of(rows, answers_of(prediction, X))
    (tmp_path / "model.py").write_text(PRINTERS["python"](program, Heading("model"), sample))
    script = """
import datetime, sys
sys.path.insert(0, ".")
from model import predict, proof
columns = {"x0": [1, None, True], "x1": [0.5, 0.0, -1.0], "x2": [0, 0, float("inf")]}
rows = [dict(zip(columns, row)) for row in zip(*columns.values())]
print(predict(columns)["label"], predict(rows)["scores"][0], predict([])["scores"].shape)
for wrong in ({"x0": ["1"], "x1": [0], "x2": [0]}, {"x0": [1]}):
    try:
        predict(wrong)
    except (TypeError, KeyError) as error:
        print(type(error).__name__, error)
print(proof() <= 1.0)
"""
    done = subprocess.run(
        [sys.executable, "-I", "-c", script], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.stdout.splitlines() == [
        "['b' None None] [0.1] (0, 1)",
        "TypeError Column 'x0' takes a number, not '1'.",
        "KeyError 'x1'",
        "True",
    ], done.stderr


@LANGUAGES
def test_ties(language):
    """A score of exactly 0, and equal scores, fall as ``predict`` lets them."""
    difference = Affine(Features(2), np.array([[1.0, -1.0]]), np.zeros(1))
    both = Affine(Features(2), np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]), np.zeros(3))
    tied = np.array([[0.1, 0.1], [1e300, 1e300], [0.0, -0.0], [0.3, np.nextafter(0.3, 1.0)]])
    rows = {f"x{j}": tied[:, j].tolist() for j in range(2)}
    for label, expected in [
        (Threshold(difference), [0, 0, 0, 0]),
        (Threshold(difference, inclusive=True), [1, 1, 1, 0]),
        (FirstWins(both), [0, 0, 0, 0]),
    ]:
        prediction = Prediction(label.of, label, ("a", "b", "c")[: max(2, label.of.n_columns)])
        sample = sample_of(rows, answers_of(prediction, tied))
        assert sample.expected.labels.tolist() == expected
        holds(of_columns(prediction, 2), sample, language)


@pytest.mark.parametrize("kernel", [SquaresKernel(), DeltaKernel(), PrecomputedKernel()])
def test_onnx_refuses_kernels_that_it_has_no_operators_for(kernel):
    pytest.importorskip("onnx")
    program = of_columns(Prediction(vectors(kernel, X[:4])), 3)
    rows = {f"x{j}": X[:, j].tolist() for j in range(3)}
    sample = sample_of(rows, answers_of(Prediction(ONE), X))
    with pytest.raises(Unprintable, match="ONNX has no operators for the kernel"):
        onnx.printed(program, Heading("model"), sample)
