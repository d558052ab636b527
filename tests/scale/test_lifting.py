"""Kernels over row blocks: linear models in the coordinates of a lift."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import PolynomialFeatures

from separatrix import SVC, LinearRegression, LinearSVC
from separatrix.exceptions import DataError
from separatrix.kernels import RBFKernel
from separatrix.lifts import FourierLift, NystroemLift
from separatrix.scale import Local, scan
from separatrix.scale.lifting import lifted

RNG = np.random.default_rng(0)
X = RNG.normal(size=(500, 3))
Y = np.where(np.square(X).sum(axis=1) + 0.3 * RNG.normal(size=500) < 2.5, "in", "out")


@pytest.mark.parametrize("kind", [np.float64, "sparse"])
@pytest.mark.parametrize(
    "lift",
    [
        NystroemLift(RBFKernel(0.5), n_components=40, random_state=0),
        FourierLift(0.5, 40, random_state=0),
    ],
    ids=str,
)
def test_blocks_are_lifted_as_rows_in_memory_are(lift, kind):
    rows = sp.csr_array(np.where(np.abs(X) > 0.3, X, 0.0)) if kind == "sparse" else X
    lift = type(lift)(**lift.get_params())
    data = lifted(scan(rows, Y, block_rows=90), lift)
    models = [LinearSVC(tol=1e-8).fit(data, engine=Local(w)) for w in (1, 2, 3)]
    assert len({m.coef_.tobytes() for m in models}) == 1
    whole = LinearSVC(tol=1e-8).fit(lift.transform(rows), Y)
    np.testing.assert_allclose(models[0].coef_, whole.coef_, atol=1e-3)
    assert models[0].certificate_.primal == pytest.approx(whole.certificate_.primal, rel=1e-7)
    assert models[0].score(data) == whole.score(lift.transform(rows), Y)


def test_a_lift_is_fitted_once_and_told_from_others():
    plain = scan(X, Y, block_rows=90)
    lift = NystroemLift(RBFKernel(0.5), n_components=10, random_state=0)
    one, again = lifted(plain, lift), lifted(plain, lift)
    other = lifted(plain, NystroemLift(RBFKernel(0.5), n_components=10, random_state=1))
    assert one.fingerprint == again.fingerprint != other.fingerprint != plain.fingerprint
    assert one.shape == (500, 10) and plain.shape == (500, 3)
    with pytest.raises(DataError, match="no sample on which to fit the lift"):
        lifted(replace(plain, sample=None), NystroemLift(RBFKernel(0.5)))


@pytest.mark.parametrize("approximation", [None, "nystroem"])
def test_a_machine_says_how_to_fit_it_to_blocks(approximation):
    with pytest.raises(TypeError, match=r"separatrix\.scale\.lifting"):
        SVC(approximation=approximation).fit(scan(X, Y))


def test_polynomials_are_a_lift():
    numbers = X[:, 0] ** 2 - X[:, 1] + 0.1 * np.random.default_rng(0).normal(size=len(X))
    lift = PolynomialFeatures(2, include_bias=False)
    data = lifted(scan(X, numbers, quantity=True, block_rows=90), lift)
    found = LinearRegression().fit(data)
    known = LinearRegression().fit(lift.transform(X), numbers)
    np.testing.assert_allclose(found.coef_, known.coef_, rtol=1e-9, atol=1e-12)
