"""The largest margin, between bounds that an independent exact solution lies between."""

from __future__ import annotations

import importlib
import json
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from geometry import reference
from grids import share
from separatrix.data.design import as_design
from separatrix.geometry.exact.deadline import OutOfTime
from separatrix.geometry.hyperplane import Hyperplane
from separatrix.geometry.points import Cloud
from separatrix.geometry.separation import margin as module
from separatrix.geometry.separation.deciding import separability
from separatrix.geometry.separation.margin import MarginBounds, margin_bounds

# Cloud.lifted and penalised_intercept of each.
GEOMETRIES = {"offset": (True, False), "origin": (False, False), "lifted": (True, True)}
LARGEST = float(np.finfo(np.float64).max)


def bounds_of(X, s, geometry, *rest, **options):
    lifted, penalised = GEOMETRIES[geometry]
    cloud = Cloud(as_design(X), np.array(s, dtype=np.float64), lifted)
    return margin_bounds(cloud, *rest, penalised_intercept=penalised, **options)


def separable(kinds, count, seed, geometry):
    """Small separable problems: points and signs."""
    for kind in kinds:
        for X, y in reference.problems(kind, count, seed):
            s = reference.signs(y, 1)
            if X.shape[1] > 4 or len(X) > 8:
                # Too many sets of rows to try.
                continue
            if reference.status(X, s, GEOMETRIES[geometry][0]) == "separable":
                yield X, s


def own_margin(plane, X, s, geometry):
    """The squared margin of a hyperplane in floats, exactly; 0 where it does not separate."""
    w, b = [Fraction(v) for v in plane.w.tolist()], Fraction(plane.b)
    least = min(reference.scores(X, s, w, b))
    length = sum(v * v for v in w) + (b * b if geometry == "lifted" else 0)
    return least**2 / length if least > 0 else Fraction(0)


def hold(bounds, X, s, geometry, tight=1e-9):
    """Bounds on either side of the exact margin, and close together."""
    square = reference.squared_margin(X, s, geometry)
    assert Fraction(bounds.lower) ** 2 <= square
    assert bounds.upper == np.inf or Fraction(bounds.upper) ** 2 >= square
    assert bounds.upper - bounds.lower <= tight * bounds.upper
    return square


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_bounds_on_small_problems(geometry):
    kinds = ["split cleanly", "any", "one column", "two points", "duplicates", "wide"]
    count = 0
    for X, s in separable(kinds, 10, 0, geometry):
        bounds = bounds_of(X, s, geometry)
        square = hold(bounds, X, s, geometry)
        # On these the hyperplane in floats reaches it, and is scaled to margin 1.
        assert own_margin(bounds.hyperplane, X, s, geometry) >= square * Fraction(1 - 1e-8)
        z = np.array(s) * (X @ bounds.hyperplane.w + bounds.hyperplane.b)
        assert z.min() == pytest.approx(1.0, abs=1e-8)
        # Rows that hold it are at the margin.
        assert bounds.support and z[list(bounds.support)] == pytest.approx(1.0, abs=1e-6)
        assert bounds.width == 2 * bounds.lower
        count += 1
    assert count > 20


@pytest.mark.crossed
@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize(
    "change",
    ["tenths", "shifted", "columns", "ulps", "tiny"],
)
def test_bounds_where_floats_are_short_of_digits(geometry, change):
    rng = np.random.default_rng([1, *change.encode()])
    count = 0
    for X, s in separable(["split cleanly", "any", "one column"], 8, 1, "offset"):
        if change == "tenths":
            X = X * 0.1
        elif change == "shifted":
            X = X + rng.choice([1e15, 1e8, -1e12])
        elif change == "columns":
            X = X * 2.0 ** rng.integers(-200, 200, X.shape[1])
        elif change == "ulps":
            X = X + np.abs(X) * rng.choice([0, 2.0**-52], X.shape)
        else:
            X = X * 2.0**-1000
        if reference.status(X, s, GEOMETRIES[geometry][0]) == "separable":
            bounds = bounds_of(X, s, geometry)
            # Denormal margins have few digits.
            hold(bounds, X, s, geometry)
            count += 1
    assert count > 5


@pytest.mark.sampled
def test_sizes_at_the_ends_of_the_range():
    """No bound is on the wrong side, even where a float cannot hold the margin."""
    rng = np.random.default_rng(2)
    for X, s in separable(["split cleanly", "any", "two points"], share(8), 2, "offset"):
        largest = max(1.0, np.abs(X).max())
        for scaled in (
            X / largest * LARGEST,
            X * 5e-324,
            X * rng.choice([1e300, 1e-300, 1.0], X.shape[1]),
        ):
            y = (np.array(s) + 1) // 2
            verdict = separability(scaled, y)
            assert verdict.separable and verdict.check(scaled, y)
            # Text that every reader of JSON takes, and the same again.
            text = json.dumps(verdict.to_dict(), allow_nan=False)
            assert type(verdict).from_dict(json.loads(text)).to_dict() == verdict.to_dict()
            str(verdict)
            if verdict.margin is not None:
                square = reference.squared_margin(scaled, s, "offset")
                assert Fraction(verdict.margin.lower) ** 2 <= square
                upper = verdict.margin.upper
                assert upper == np.inf or Fraction(upper) ** 2 >= square


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_hyperplane_of_a_verdict_separates(fit_intercept):
    """Whatever the exact optimum rounds to, the plane in floats is one that separates."""
    rng = np.random.default_rng(3)
    geometry = "offset" if fit_intercept else "origin"
    count = 0
    for X, s in separable(["split cleanly", "any", "one column"], 9, 3, "offset"):
        for moved in (
            X * 2.0 ** rng.integers(-60, 60, (len(X), 1)),
            X + rng.choice([1e15, -1e15, 1e8], X.shape[1]),
            X + np.abs(X) * rng.choice([0, 2.0**-52], X.shape),
        ):
            y = (np.array(s) + 1) // 2
            verdict = separability(moved, y, fit_intercept=fit_intercept)
            if verdict.separable:
                witness = verdict.witness
                if all(Fraction(float(v)) == v for v in (*witness.w, witness.b)):
                    # There is such a plane in floats: the witness.
                    assert own_margin(verdict.hyperplane, moved, s, geometry) > 0
                    count += 1
    assert count > 20


def found(theta, residual, interrupted=False):
    """What a search in floating point says it found."""
    return SimpleNamespace(theta=theta, residual=residual, interrupted=interrupted)


SEARCHES = {
    "nothing": lambda y, p: found(np.zeros(p), None),
    "NaN": lambda y, p: found(np.full(p, np.nan), np.full(len(y), np.nan)),
    "infinity": lambda y, p: found(np.full(p, np.inf), -y * np.inf),
    "a wrong plane": lambda y, p: found(-np.ones(p), np.zeros(len(y))),
    "wrong multipliers": lambda y, p: found(np.zeros(p), -y * (1.0 + np.arange(len(y)))),
    "multipliers of one class": lambda y, p: found(np.zeros(p), -y * (y > 0)),
}


@pytest.mark.crossed
@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("how", [*SEARCHES, "an error"])
def test_bounds_without_any_help_from_floats(monkeypatch, geometry, how):
    """The search raises, or finds nothing, or nonsense: the exact method does it all."""

    def search(design, y, *, fit_intercept, **options):
        if how == "an error":
            raise FloatingPointError("no")
        return SEARCHES[how](y, design.n_features + fit_intercept)

    monkeypatch.setattr(module, "maximum_margin", search)
    for X, s in separable(["split cleanly", "two points"], 4, 4, geometry):
        hold(bounds_of(X, s, geometry), X, s, geometry)


def test_interruption_is_passed_on(monkeypatch):
    stopped = found(np.zeros(2), None, interrupted=True)
    monkeypatch.setattr(module, "maximum_margin", lambda *args, **options: stopped)
    with pytest.raises(KeyboardInterrupt):
        bounds_of(np.array([[0.0], [1.0]]), [-1, 1], "offset")


def test_a_lower_bound_from_many_rows_at_the_margin():
    """More rows at almost the smallest margin than are looked at one by one."""
    n = 600
    rng = np.random.default_rng(5)
    # Along a line that is no plane of floats: distances differ in the last digits only.
    t = rng.uniform(-1, 1, n)
    X = np.column_stack([t, t / 3 + 1, t / 7])
    X = np.vstack([X, -X])
    s = np.concatenate([np.ones(n), -np.ones(n)])
    for geometry in GEOMETRIES:
        bounds = bounds_of(X, s, geometry)
        assert bounds.upper - bounds.lower <= 1e-6 * bounds.upper
        assert Fraction(bounds.lower) ** 2 <= own_margin(bounds.hyperplane, X, s, geometry) * (
            1 + Fraction(1, 10**12)
        )
        # The bound from a given plane is on the right side of that plane's own margin.
        plane = Hyperplane(rng.standard_normal(3) * 1e-3 + [-1 / 3, 1.0, 0.0], 0.0)
        cloud = Cloud(as_design(X), s, GEOMETRIES[geometry][0])
        below = module._square_below(cloud, plane.w, plane.b, GEOMETRIES[geometry][1])
        assert below <= own_margin(plane, X, s.astype(int).tolist(), geometry)
        tied = np.tile(X[:1], (1100, 1)) * (1 + 2.0**-52 * rng.integers(0, 3, (1100, 1)))
        ones = np.ones(1100)
        cloud = Cloud(as_design(tied), ones, GEOMETRIES[geometry][0])
        below = module._square_below(cloud, plane.w, 0.5, GEOMETRIES[geometry][1])
        exact = own_margin(Hyperplane(plane.w, 0.5), tied, [1] * 1100, geometry)
        assert exact * (1 - Fraction(1, 10**9)) <= below <= exact


def test_storage_does_not_matter():
    for X, s in separable(["split cleanly"], 10, 6, "offset"):
        expected = bounds_of(X, s, "offset")
        for stored in (X.astype(np.float32), sp.csr_array(X), np.asfortranarray(X)):
            bounds = bounds_of(stored, s, "offset")
            assert bounds.lower == pytest.approx(expected.lower, rel=1e-9)
            hold(bounds, X, s, "offset")


def test_what_bounds_say():
    bounds = bounds_of(np.array([[0.0], [1.0], [4.0]]), [-1, -1, 1], "offset")
    assert (bounds.lower, bounds.upper, bounds.width) == pytest.approx((1.5, 1.5, 3.0), rel=1e-15)
    assert str(bounds) == "1.5" and bounds.support == (1, 2)
    apart = MarginBounds(0.5, 0.75, bounds.hyperplane, ())
    assert str(apart) == "between 0.5 and 0.75"
    again = MarginBounds.from_dict(json.loads(json.dumps(bounds.to_dict())))
    assert again.to_dict() == bounds.to_dict()
    # Through the origin, and with the offset in the norm.
    X, s = np.array([[1.0], [3.0]]), [1, 1]
    assert bounds_of(X, s, "origin").upper == pytest.approx(1.0, rel=1e-15)
    X, s = np.array([[1.0], [-3.0]]), [1, -1]
    assert bounds_of(X, s, "offset").lower == pytest.approx(2.0, rel=1e-15)
    lifted = bounds_of(X, s, "lifted")
    square = reference.squared_margin(X, s, "lifted")
    assert Fraction(lifted.lower) ** 2 <= square <= Fraction(lifted.upper) ** 2


def test_a_time_limit_leaves_the_verdict(monkeypatch):
    """Where the time ends in the middle of the search for the margin, the verdict stands."""
    # The package has a function of the same name.
    where = importlib.import_module("separatrix.geometry.separation.separability")

    def late(*args, **options):
        raise OutOfTime

    monkeypatch.setattr(where, "margin_bounds", late)
    verdict = separability([[0.0], [1.0]], [0, 1], time_limit=100)
    assert verdict.separable and verdict.margin is None
    assert verdict.check([[0.0], [1.0]], [0, 1])
