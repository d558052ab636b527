"""The compiled Gaussian against NumPy's, and the scores that it serves."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix.data.design import as_design
from separatrix.kernels import LinearKernel, PolynomialKernel, RBFKernel, SigmoidKernel
from separatrix.kernels.prediction import certain_predictions, kernel_scores
from separatrix.kernels.rbf_values import gaussian


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("gamma", [0.0, 1e-12, 0.05, 3.0, 1e4])
def test_it_is_the_exponential_to_the_rounding_of_its_argument(kind: type, gamma: float) -> None:
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(7, 5)).astype(kind), rng.normal(size=(301, 5)).astype(kind)
    z[:7] = x
    left, right = (x * x).sum(axis=1), (z * z).sum(axis=1)
    products = x @ z.T
    argument = -gamma * np.maximum(
        left.astype(np.float64)[:, None] + right.astype(np.float64) - 2.0 * products, 0.0
    )
    expected = np.exp(argument)
    # In a larger array, so that rows are further apart than they are long.
    room = np.full((7, 400), -1.0, dtype=kind)
    room[:, 50:351] = products
    assert gaussian(room[:, 50:351], left, right, gamma)
    found = room[:, 50:351]
    eps = float(np.finfo(kind).eps)
    allowed = eps * (4.0 + 4.0 * gamma * (left[:, None] + right)) * expected + np.finfo(kind).tiny
    assert np.all(np.abs(found - expected) <= allowed)
    assert np.all(found <= 1.0)
    assert np.all(room[:, :50] == -1.0)
    assert np.all(room[:, 351:] == -1.0)


def test_what_it_does_not_do_is_left_alone() -> None:
    ones = np.ones(4)
    for products in (np.ones((4, 8))[:, ::2], np.ones((4, 4), order="F"), np.ones((4, 4), int)):
        before = products.copy()
        assert gaussian(products, ones, ones, 1.0) is False
        np.testing.assert_array_equal(products, before)


KERNELS = {
    "linear": LinearKernel(),
    "poly": PolynomialKernel(degree=3, gamma=0.3, coef0=1.0),
    "rbf": RBFKernel(0.2),
    "sigmoid": SigmoidKernel(0.1, 0.2),
}


@pytest.mark.parametrize("name", [*KERNELS])
@pytest.mark.parametrize("scale", [1.0, 1e-100, 1e100])
def test_what_float32_is_certain_of_is_so_in_float64(name: str, scale: float) -> None:
    kernel = KERNELS[name]
    rng = np.random.default_rng(1)
    vectors, new = rng.normal(size=(200, 6)), rng.normal(size=(3000, 6))
    coefficients = rng.normal(size=(200, 3))
    if scale != 1.0:
        if name != "linear":
            pytest.skip("the other kernels have scales of their own")
        vectors, new = vectors * scale, new * scale
    designs = as_design(new), as_design(vectors)
    exact = kernel_scores(kernel, *designs, coefficients)
    # Through the middle of the scores, so that many are near zero.
    intercept = -np.median(exact, axis=0)
    scores, certain = certain_predictions(kernel, *designs, coefficients, intercept)
    np.testing.assert_array_equal((scores >= 0.0)[certain], (exact + intercept >= 0.0)[certain])
    assert certain.mean() > 0.9 if scale == 1.0 else not certain.any()
    assert np.abs(scores - exact - intercept)[certain].max(initial=0.0) < 1e-3
