"""Every solver on every loss that it accepts, and a clear refusal of the others."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from grids import EXHAUSTIVE
from separatrix import select_solver
from separatrix.data.design import as_design
from separatrix.losses import Hinge, PerceptronLoss, SquaredError, margin_losses
from separatrix.objectives.base import DENSE_HESSIAN
from separatrix.objectives.margin import MarginObjective
from separatrix.objectives.mistakes import MistakeObjective
from separatrix.objectives.penalties import L2, NoPenalty
from separatrix.objectives.softmax import SoftmaxObjective
from separatrix.solvers import (
    SOLVERS,
    AugmentedLagrangian,
    DualDescent,
    InteriorPoint,
    Newton,
    ProximalNewton,
    QuasiNewton,
    Switching,
)
from separatrix.solvers.driver import minimise
from separatrix.solvers.perceptron import MistakeDriven

N, D = 60, 5

MAKERS = {
    "newton": Newton,
    "newton dense": lambda: Newton(dense=True),
    "newton products": lambda: Newton(dense=False),
    "quasi-newton": QuasiNewton,
    "dual": DualDescent,
    "augmented-lagrangian": AugmentedLagrangian,
    "interior-point": InteriorPoint,
    "proximal-newton": ProximalNewton,
}
LOSSES = {loss.name: loss for loss in margin_losses()}

DESIGNS = {
    "dense": lambda X: X,
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
    "float32": lambda X: X.astype(np.float32),
    "csr": sp.csr_array,
    "csr int64": lambda X: _int64(sp.csr_array(X)),
    "csr float32": lambda X: sp.csr_array(X.astype(np.float32)),
}


def _int64(X: sp.csr_array) -> sp.csr_array:
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D)) * (rng.random((N, D)) < 0.7)
    y = np.where(X @ rng.normal(size=D) + rng.normal(size=N) > 0.2, 1.0, -1.0)
    # What float32 can hold, so that all designs are the same matrix.
    return X.astype(np.float32).astype(np.float64), y


def objective(loss, kind: str = "dense", penalty=None, **options) -> MarginObjective:
    X, y = data()
    return MarginObjective(as_design(DESIGNS[kind](X)), y, loss, penalty, **options)


def accepts(solver, problem) -> bool:
    try:
        solver.requires(problem)
    except TypeError:
        return False
    return True


def test_the_table_covers_the_public_names() -> None:
    assert set(SOLVERS) <= set(MAKERS)
    for name, kind in SOLVERS.items():
        assert isinstance(MAKERS[name](), kind)


def test_what_accepts_what() -> None:
    # Written out once, so that a capability cannot be lost unnoticed.
    expected = {
        "newton": {"squared hinge", "log loss", "squared error", "modified Huber"},
        "quasi-newton": {"squared hinge", "log loss", "squared error", "modified Huber"},
        "dual": {
            "hinge",
            "squared hinge",
            "log loss",
            "squared error",
            "modified Huber",
            "perceptron",
            "margin perceptron",
        },
        "augmented-lagrangian": {
            "hinge",
            "squared hinge",
            "log loss",
            "squared error",
            "modified Huber",
            "perceptron",
            "margin perceptron",
        },
        "interior-point": {"hinge", "perceptron", "margin perceptron"},
        # Under another penalty only: see its own tests.
        "proximal-newton": set(),
    }
    for name, losses in expected.items():
        found = {k for k, loss in LOSSES.items() if accepts(MAKERS[name](), objective(loss))}
        assert found == losses, name


pairs = [
    (s, k)
    for s, k in itertools.product(MAKERS, LOSSES)
    if accepts(MAKERS[s](), objective(LOSSES[k]))
]


@pytest.mark.crossed
@pytest.mark.parametrize(("solver", "loss"), pairs)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("tol", [1e-6, 1e-10])
def test_reaches_the_tolerance(solver: str, loss: str, intercept: bool, tol: float) -> None:
    problem = objective(LOSSES[loss], fit_intercept=intercept)
    certificate = minimise(problem, MAKERS[solver](), tol=tol, max_iter=20_000, seed=0).certificate
    assert certificate.ok, str(certificate)
    assert certificate.relative_gap <= tol


@pytest.mark.sampled
@pytest.mark.parametrize(("solver", "loss"), pairs)
def test_every_design_gives_the_same_optimum(solver: str, loss: str) -> None:
    # A loop is compiled for every loss and every design: all designs with the first loss of a
    # solver, and rows of either kind with the others, unless make exhaustive asks for all.
    first = next(k for s, k in pairs if s == solver) == loss
    found = {
        kind: minimise(
            objective(LOSSES[loss], kind), MAKERS[solver](), tol=1e-9, max_iter=20_000, seed=0
        ).certificate
        for kind in (DESIGNS if first or EXHAUSTIVE else ("dense", "csr"))
    }
    for kind, certificate in found.items():
        assert certificate.ok, f"{kind}: {certificate}"
        np.testing.assert_allclose(
            certificate.primal, found["dense"].primal, rtol=2e-9, atol=1e-300, err_msg=kind
        )


# The perceptron loss has its optimum under a penalty at zero, for every solver.
@pytest.mark.parametrize(("solver", "loss"), [p for p in pairs if p[1] != "perceptron"])
def test_all_solvers_of_a_loss_find_the_same_weights(solver: str, loss: str) -> None:
    first = next(s for s, k in pairs if k == loss)
    problem = objective(LOSSES[loss], C=0.3)
    solutions = [
        minimise(problem, MAKERS[s](), tol=1e-11, max_iter=50_000, seed=0) for s in (first, solver)
    ]
    # |w - w*|^2 <= 2 gap, by strong convexity in the weights.
    for solution in solutions:
        assert solution.certificate.relative_gap <= 1e-9
    apart = solutions[0].theta[:D] - solutions[1].theta[:D]
    assert apart @ apart <= 2 * sum(2 * s.certificate.gap for s in solutions) + 1e-14


@pytest.mark.parametrize("C", [1e-4, 1e-2, 1e2, 1e4])
@pytest.mark.parametrize(
    ("solver", "loss"),
    [
        ("newton", "log loss"),
        ("newton", "squared hinge"),
        ("quasi-newton", "log loss"),
        ("quasi-newton", "squared hinge"),
        ("augmented-lagrangian", "hinge"),
        ("interior-point", "hinge"),
        ("newton products", "log loss"),
    ],
)
def test_the_default_solvers_across_C(solver: str, loss: str, C: float) -> None:
    certificate = minimise(objective(LOSSES[loss], C=C), MAKERS[solver](), tol=1e-8).certificate
    assert certificate.ok, str(certificate)


@pytest.mark.parametrize("solver", ["newton", "newton dense", "newton products"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("penalty", [L2(), NoPenalty()], ids=repr)
@pytest.mark.parametrize("tol", [1e-6, 1e-10])
def test_multinomial_reaches_the_tolerance(solver, intercept, penalty, tol) -> None:
    X, _ = data()
    rng = np.random.default_rng(1)
    codes = (X @ rng.normal(size=(D, 4)) + 3 * rng.normal(size=(N, 4))).argmax(axis=1)
    problem = SoftmaxObjective(as_design(X), codes, 4, penalty, fit_intercept=intercept)
    certificate = minimise(problem, MAKERS[solver](), tol=tol).certificate
    assert certificate.ok, str(certificate)


@pytest.mark.parametrize("solver", ["newton", "newton dense", "newton products"])
@pytest.mark.parametrize("loss", ["log loss", "squared hinge", "squared error"])
@pytest.mark.parametrize("tol", [1e-6, 1e-10])
def test_no_penalty_reaches_the_tolerance(solver: str, loss: str, tol: float) -> None:
    certificate = minimise(
        objective(LOSSES[loss], penalty=NoPenalty()), MAKERS[solver](), tol=tol
    ).certificate
    assert certificate.ok, str(certificate)


# --- refusals ----------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["newton", "newton dense", "newton products", "quasi-newton"])
@pytest.mark.parametrize("loss", [Hinge(), PerceptronLoss()], ids=repr)
def test_newton_names_the_missing_curvature(solver: str, loss) -> None:
    with pytest.raises(TypeError, match="curvature"):
        minimise(objective(loss), MAKERS[solver]())


@pytest.mark.parametrize("solver", ["dual", "augmented-lagrangian"])
def test_dual_methods_name_the_missing_dual_step(solver: str) -> None:
    X, y = data()
    softmax = SoftmaxObjective(as_design(X), (y > 0).astype(int), 2)
    with pytest.raises(TypeError, match="dual_step"):
        minimise(softmax, MAKERS[solver]())


@pytest.mark.parametrize("solver", ["dual", "augmented-lagrangian"])
def test_dual_methods_need_the_quadratic_penalty(solver: str) -> None:
    with pytest.raises(TypeError, match="needs an L2 penalty"):
        minimise(objective(SquaredError(), penalty=NoPenalty()), MAKERS[solver]())


def test_mistake_driven_needs_slope_and_rows() -> None:
    X, y = data()

    class NoRows:
        shape = X.shape

    design = as_design(X)
    problem = MistakeObjective(design, y, PerceptronLoss())
    problem.design = NoRows()
    with pytest.raises(TypeError, match="'rows'"):
        minimise(problem, MistakeDriven())
    problem = MistakeObjective(design, y, PerceptronLoss())
    problem.loss = object()
    with pytest.raises(TypeError, match="'slope_at'"):
        minimise(problem, MistakeDriven())


# --- the choice --------------------------------------------------------------------------------


def test_select_solver_is_its_table() -> None:
    y = np.array([1.0, -1.0, 1.0, -1.0])
    small = as_design(np.eye(4))
    # More parameters than a Hessian is formed for, and losses too strong for a few products.
    wide = as_design(sp.csr_array(np.eye(4, DENSE_HESSIAN + 1)))
    for loss in margin_losses():
        chosen = select_solver(MarginObjective(small, y, loss))
        # A loss without compiled steps may be tried by dual descent first, even on four rows: the
        # forecast of so few is about as short for either.
        method = chosen.second if isinstance(chosen, Switching) else chosen
        assert not (isinstance(chosen, Switching) and hasattr(loss, "terms_at")), loss
        kinked = AugmentedLagrangian if hasattr(loss, "terms_at") else InteriorPoint
        assert type(method) is (Newton if loss.smooth else kinked), loss
        chosen = type(select_solver(MarginObjective(wide, y, loss, C=1e4)))
        assert chosen is (Switching if loss.smooth else DualDescent), loss
        if loss.smooth:
            # Without a penalty there is no dual descent.
            chosen = select_solver(MarginObjective(wide, y, loss, NoPenalty()))
            assert type(chosen) is Newton
    codes = np.array([0, 1, 2, 0])
    for design in (small, wide):
        assert type(select_solver(SoftmaxObjective(design, codes, 3))) is Newton
        chosen = select_solver(SoftmaxObjective(design, codes, 3, NoPenalty()))
        assert type(chosen) is Newton


def test_select_solver_returns_one_that_accepts_the_problem() -> None:
    X, y = data()
    for loss, penalty in itertools.product(margin_losses(), (L2(), NoPenalty())):
        problem = MarginObjective(as_design(X), y, loss, penalty)
        if not (loss.smooth or loss.smoothable) and not penalty.quadratic:
            # No solver here minimises a loss with kinks without a penalty, and it says so.
            with pytest.raises(TypeError, match="a loss with a kink without a penalty"):
                select_solver(problem)
            continue
        select_solver(problem).requires(problem)
