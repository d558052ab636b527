"""Forecasts of the cost of methods, before one of them has taken a step.

The units are nanoseconds of one core of the machine on which they were measured, and only their
ratios count: a decision compares how many passes over the rows a Hessian is worth.  They are
constants, so that the same data lead to the same method on every machine and at every time.

Only the least number of passes of dual descent can be forecast.  Where the margins settle soon,
a few dozen do as much as one Hessian; elsewhere it takes thousands, and sizes and norms alone do
not predict it.  The passes themselves do: see :mod:`~separatrix.solvers.switching`.

They were set by hand to products, Hessians, iterations and passes that tables of the seeds 50 to 59
of ``python -m benchmarks auto`` took to gaps of 1e-4 and 1e-6, and to those of dense tables of
collinear columns (of a few factors and noise, autoregressive, of eigenvalues that fall by a power,
polynomials and categories of some hundred rows) and of words of more columns than rows.
Where a fit takes a few milliseconds they are often off by a factor of two, and where the rows in
play change from step to step by a factor of ten.
"""

from __future__ import annotations

import math
from weakref import WeakKeyDictionary

import numpy as np

from separatrix._compiled.linear_algebra import inner
from separatrix.data.design import CSRDesign
from separatrix.objectives.base import LinearProblem
from separatrix.solvers.two_level_preconditioner import Tuning as Levels

# The cost of a visit of a row by dual descent: for each entry, dense and sparse; for the row, whose
# best multiplier has a formula, or is the root of an equation; and for a pass of whatever length.
_DENSE_VISIT, _SPARSE_VISIT = 0.5, 2.0
_ROW, _ROOT = 60.0, 220.0
_PASS = 1e5
# The cost of an extrapolation of passes: the products with its points and the search along it, in
# evaluations; its overhead, of whatever size; and the number of passes before the first of them.
_LEAP, _LEAPING, _PLAIN = 2.2, 1.5e5, 8.0
# The share of the rows that have a curvature at the optimum, where rows settle, and the power of
# the losses' strength with which it falls.
_SETTLED, _FEWER = 1.0 / 3.0, 0.03
# The number of rows for each dense column that can be separated, as a rule.
_SEPARABLE = 2.0
# The cost of value and gradient at a point, for each entry, and for the row.
_DENSE_PRODUCT, _SPARSE_PRODUCT, _SCORE = 0.5, 1.9, 30.0
# The cost of a multiplication for a Gram matrix, dense and sparse; that of factorising a matrix of
# ``d`` rows, for each of ``d^2`` and of ``d^3``; and that of a step of whatever size.
_DENSE_GRAM, _SPARSE_GRAM, _SQUARE, _CUBE = 0.055, 1.1, 5.0, 0.013
_STEP = 2e5
# The number of passes of dual descent to a gap of 1e-6: those in any case, and the factor of the
# root of the difficulty: for losses without rows that settle, as a rule and where each row has one
# level of every category; and for losses with such rows.
_LEAST, _MORE, _MORE_COLLINEAR, _SETTLING = 3.0, 9.0, 14.0, 11.0
# The number of further passes until the multipliers balance, as a free intercept requires; and the
# evaluations of a certificate, of which there is at least one.
_BALANCED, _JUDGED = 5.0, 4.0
# The steps of Newton's method, in any case and for each decade of the losses' strength relative to
# the penalty, of which there are fewer where rows settle and more of them are left than columns;
# and the evaluations of each.
_STEPS, _STEPS_MORE, _STEPS_FEWER, _LOOKS = 2.5, 1.5, 0.9, 2.5
# The iterations of the quasi-Newton method, likewise, and its Hessians: in all, and for each step
# where the rows in play change; then in all for losses with rows that settle.
_ITERATIONS, _ITERATIONS_MORE, _FACTORS, _RENEWED = 4.0, 2.5, 1.1, 0.7
_FACTORS_SETTLING = 2.0
# The Hessians for each decade where margins grow; the iterations with the diagonal, times the root
# of the strength; the risk that a Hessian is needed nevertheless; and the iterations that show that
# the diagonal is not enough.  A Hessian that costs as much as `DEAR` passes waits for them.  Where
# rows settle and it costs less than `CHEAP`, steps are Newton's.
_FACTORS_MORE, _DIAGONAL, _RISK, _TRIED = 0.45, 10.0, 0.5, 5.0
DEAR, CHEAP = 10.0, 2.0
# Where the rows in play change from step to step: the strength from which this takes longer, and
# the power of the strength with which the time grows.  Then the factor of the time for fewer rows
# than columns.
_CALM, _CHANGING, _BROAD = 30.0, 0.25, 1.5
# The passes of dual descent where losses have a kink: those in any case, and the factor of the root
# of the difficulty.
_LEAST_KINKED, _KINKED = 5.0, 30.0
# The share of the rows whose multipliers are at no end of their range, for losses with a kink.
_BETWEEN = 0.6
# The steps of the augmented Lagrangian, and the share of the rows in their Hessians, where no rows
# are left out.  Where rows are few, those in play change from step to step, and there are often
# three times as many steps.
_ENVELOPED, _SHARE = 30.0, 0.8
# The steps of the interior-point method, and the evaluations of each.
_INSIDE, _ALONG = 15.0, 6.0
# The evaluations of a step of the augmented Lagrangian, and its products instead of a Hessian,
# which grow with the losses' strength.
_ENVELOPES, _SOLVING = 2.0, 10.0
# The augmented Lagrangian with many rows: the rows for each column from which most rows are left
# out after a sample; the rows for each row of the sample, or its rows for each column if that makes
# it larger; the looks at all rows; the steps on the rows in play; and the relative growth of their
# number with the columns for each row, since more rows are then close to the kink.
_PLENTY, _ONE_OF, _SAMPLE, _LOOKED, _PLAYED, _CROWDED = 48.0, 16.0, 4.0, 10.0, 40.0, 300.0
# The products where there is no Hessian: beside one, the factor of the cube root of the largest
# eigenvalue; for more rows than columns those in any case, and the factors of the root of the
# spread of the eigenvalues, dense and sparse; the factor of the root of the losses' strength, where
# the rows in play change; and the most for each column.  Then the overhead of each product, of
# whatever size.
_CUBE_ROOT, _PRODUCTS, _TALL, _WORDS, _WIDE, _ENDS = 3.0, 8.0, 18.0, 15.0, 20.0, 1.5
_AROUND = 6e4
# The products with two levels of columns: in any case, and the factor of the root of the strength;
# and the cost in each product of an entry of the levels' matrix.  Then the cost of a multiplication
# for that matrix, over the entries of a row or, for long rows, in dense products; and the largest
# number of coarse columns beside the frequent ones.
_LEVELLED, _LEVELLED_MORE, _SOLVED = 10.0, 2.5, 2.0
_ADDED, _SUMMED, _RUNS = 2.5, 0.11, 500
# The cost of several outputs: of a row's weights for each pair of them, and of an entry that they
# multiply; the evaluations of a step by products where columns are independent; the factor of the
# root of categories times strength, for further ones; the factor of the cost of such steps, because
# they are inexact; and the products without a penalty, for each column.
_PAIR, _WEIGHTED, _INDEPENDENT, _LEVELS, _INEXACT, _UNPENALISED = 10.0, 1.3, 2.0, 2.0, 1.25, 0.8
# The quasi-Newton method for several outputs: its Hessians of a sample, in any case and for each
# decade of the losses' strength; its evaluations, in any case and for a sample of one row a column;
# and the steps of Newton's method with which they are compared, and the share of the cost of these
# up to which it is chosen, because its own steps are less certain.
_SAMPLED, _SAMPLED_MORE, _EVALUATED, _COARSE, _SEVERAL, _CERTAIN = 4.0, 1.5, 7.0, 120.0, 5.0, 0.9


def _stored(problem: LinearProblem, dense: float, sparse: float) -> float:
    design = problem.design
    return design.n_stored * (sparse if isinstance(design, CSRDesign) else dense)


def visits(problem: LinearProblem, share: float = 1.0) -> float:
    """The cost of a pass of dual descent over a share of the rows."""
    root = problem.loss.unattained  # type: ignore[attr-defined]
    rows = problem.design.n_samples * (_ROOT if root else _ROW)
    return _PASS + share * (rows + _stored(problem, _DENSE_VISIT, _SPARSE_VISIT))


def extrapolation(problem: LinearProblem) -> float:
    """The cost of an extrapolation of passes of dual descent, before the next pass."""
    return _LEAPING + _LEAP * _evaluation(problem)


def passes(problem: LinearProblem, tol: float) -> float:
    """The least number of passes that dual descent takes, as a rule."""
    if not problem.smooth:
        # The weaker the losses, the more multipliers go to an end of their range at once.
        spread = _spread(_BETWEEN * problem.design.n_samples / problem.design.n_features)
        together = 1.0 / max(_strength(problem), 1e-300) + 1.0 / spread
        hard = 1.0 / together if together > 0.0 else math.inf
        count = (_LEAST_KINKED + _KINKED * math.sqrt(hard)) * math.log(tol) / math.log(1e-6)
        return count + (_BALANCED if problem.balances else 0.0)  # type: ignore[attr-defined]
    bond, spread = _bond(problem), _spread(_in_play(problem) / problem.design.n_features)
    sparse = isinstance(problem.design, CSRDesign)
    unattained = problem.loss.unattained  # type: ignore[attr-defined]
    if _has_margins(problem) and not sparse:
        # Rows that reach their margins keep a strength of about the size of these.
        bond, spread = min(bond, math.log1p(4.0 * bond)), math.inf
    # The penalty and independent rows each keep the eigenvalues together.
    together = 1.0 / max(bond, 1e-300) + 1.0 / spread
    # Where the squares of the entries overflow, neither of them does.
    hard = 1.0 / together if together > 0.0 else math.inf
    more = _MORE_COLLINEAR if _categories(problem) else _MORE
    more = more if unattained else _SETTLING
    count = (_LEAST + more * math.sqrt(hard)) * math.log(tol) / math.log(1e-6)
    if problem.balances:  # type: ignore[attr-defined]
        count += _BALANCED
    more = max(count - _PLAIN, 0.0) * extrapolation(problem) + _JUDGED * _evaluation(problem)
    return count + more / visits(problem)


def _in_play(problem: LinearProblem) -> float:
    """The number of rows with a curvature at the optimum: at most a third where rows settle."""
    if not _settles(problem):
        return float(problem.design.n_samples)
    # Where the squares of the entries overflow, some rows are left nevertheless.
    bond = min(_bond(problem), 1e9)
    return problem.design.n_samples * _SETTLED * float((1.0 + bond) ** -_FEWER)


def _settles(problem: LinearProblem) -> bool:
    return not problem.loss.unattained  # type: ignore[attr-defined]


def _few_in_play(problem: LinearProblem) -> bool:
    return _in_play(problem) < min(problem.design.shape)


def is_calm(problem: LinearProblem, in_play: int) -> bool:
    """Whether more rows have a curvature than weights could separate, so that most keep it."""
    return in_play >= _SEPARABLE * problem.design.n_features


def _longer(problem: LinearProblem) -> float:
    """The factor of the time where the rows in play change from step to step.

    They do where rows settle and fewer are left than there are columns: each step then fits those
    in play, and brings others back.
    """
    if _few_in_play(problem):
        return float((1.0 + _bond(problem) / _CALM) ** _CHANGING)
    return _BROAD if problem.design.n_samples < problem.design.n_features else 1.0


def _steps(problem: LinearProblem, least: float, more: float) -> float:
    """The number of steps of a second-order method, by the decades of the losses' strength."""
    return least + more * math.log10(1.0 + _bond(problem))


def _bond(problem: LinearProblem) -> float:
    """The strength of the losses relative to the penalty.

    It is the mean of the squared length of a row times the curvature of its loss at a margin of
    zero.
    """
    if problem.output_shape:
        # The curvature of the probability of one of several outputs that are alike.
        share = 1.0 / math.prod(problem.output_shape)
        bend = share * (1.0 - share)
    else:
        bend = float(problem.loss.curvature(np.zeros(1))[0])  # type: ignore[attr-defined]
    return bend * _strength(problem)


def _strength(problem: LinearProblem) -> float:
    """The mean of the squared length of a row times its weight."""
    found = _strengths.get(problem)
    if found is None:
        # Rows without weight count for nothing, even where their squares overflow.
        used = problem.upper > 0.0
        total = inner(problem.upper[used], problem.design.row_squares()[used])
        found = _strengths[problem] = float(total) / max(int(np.count_nonzero(used)), 1)
    return found


# The strength is needed a dozen times before a fit begins, and takes a pass over all rows.
_strengths: WeakKeyDictionary[LinearProblem, float] = WeakKeyDictionary()


def _spread(ratio: float) -> float:
    """The spread of the eigenvalues of ``ratio`` random vectors for each dimension.

    It is the quotient of the largest and the least one.  Fewer than one vector for each dimension
    are nearly orthogonal to one another (Marchenko and Pastur, 1967); for more, the least
    eigenvalue is zero.
    """
    root = math.sqrt(ratio)
    return ((1.0 + root) / (1.0 - root)) ** 2 if root < 1.0 else math.inf


def newton(problem: LinearProblem, *, changing: bool | None = None) -> float:
    """The cost of Newton's method with the Hessian of all rows.

    ``changing``: whether the rows in play change from step to step, where that is known.
    """
    a_step = _STEP + _hessian(problem) + _LOOKS * _evaluation(problem)
    changing = _few_in_play(problem) if changing is None else changing
    more = _STEPS_FEWER if _settles(problem) and not changing else _STEPS_MORE
    longer = 1.0
    if problem.design.n_samples < problem.design.n_features:
        # Rows that are nearly independent all reach their margins, and few of them leave play.
        longer = _BROAD
    elif changing:
        longer = _longer(problem)
    return longer * _steps(problem, _STEPS, more) * a_step


def quasi_newton(problem: LinearProblem) -> float:
    """The cost of the quasi-Newton method from the Hessian of all rows, or from its diagonal.

    Where the rows in play change, a Hessian is soon far off, and is formed anew with most steps.
    """
    longer, hessian = _longer(problem), _hessian(problem)
    a_step = _STEP + _evaluation(problem)
    count = longer * _steps(problem, _ITERATIONS, _ITERATIONS_MORE)
    in_passes = hessian_in_passes(problem)
    if _settles(problem) and in_passes < CHEAP:
        return newton(problem)
    factors = _FACTORS_SETTLING if _settles(problem) else _FACTORS
    hessians = _RENEWED * count if _few_in_play(problem) else longer * factors
    if _has_margins(problem):
        hessians = max(hessians, longer * _FACTORS_MORE * math.log10(1.0 + _bond(problem)))
    cost = hessians * hessian + count * a_step
    if in_passes < DEAR:
        return cost
    bond = _bond(problem)
    cost += _TRIED * a_step
    if _few_in_play(problem) and bond > 1.0:
        return cost
    sparse = isinstance(problem.design, CSRDesign)
    alone = (_ITERATIONS + _DIAGONAL * math.sqrt(bond if sparse else _hard(problem))) * a_step
    # Independent columns, which dense rows reveal, need no Hessian.
    needed = 1.0 if sparse else 1.0 - 1.0 / _related(problem)
    return min(alone + _RISK * min(bond, 1.0) * needed * min(hessian, 2.0 * alone), cost)


def augmented_lagrangian(problem: LinearProblem) -> float:
    """The cost of the augmented Lagrangian, most of whose Hessians are those of some rows."""
    evaluation, (n, d) = _evaluation(problem), problem.design.shape
    if n >= _PLENTY * d:
        share = max(1.0 / _ONE_OF, _SAMPLE * d / n)
        a_step = share * (gram(problem) + _ENVELOPES * evaluation) + factorisation(problem)
        return _LOOKED * evaluation + _PLAYED * (1.0 + _CROWDED * d / n) * (_STEP + a_step)
    strength = _strength(problem)
    if hessian_pays(problem):
        system = _SHARE * _hessian(problem)
    else:
        system = _SOLVING * (1.0 + strength) ** 0.25 * (_AROUND + evaluation)
    count = _ENVELOPED
    if _BETWEEN * n <= d:
        # Few rows can all reach their margins, and the rows in play change from step to step.
        count *= math.sqrt(1.0 + strength / _CALM)
    return count * (_STEP + system + _ENVELOPES * evaluation)


def interior_point(problem: LinearProblem) -> float:
    """The cost of the interior-point method, whose Hessians are those of all rows."""
    return _INSIDE * (_STEP + _hessian(problem) + _ALONG * _evaluation(problem))


def conjugate_gradients(problem: LinearProblem) -> float:
    """The cost of Newton's method with products in place of the Hessian."""
    steps = _steps(problem, _STEPS, _STEPS_MORE)
    return steps * _STEP + _products(problem) * (_AROUND + _evaluation(problem))


def _has_margins(problem: LinearProblem) -> bool:
    """Whether fewer rows than columns have a loss whose curvature falls as margins grow.

    Nearly orthogonal rows all reach their margins.  The stronger the loss, the larger these and the
    less its curvature there, so that a row keeps a strength of about its margin, which grows with
    the logarithm of its strength at zero.
    """
    n, d = problem.design.shape
    enough = d if isinstance(problem.design, CSRDesign) else _SEPARABLE * d
    return not _settles(problem) and n <= enough


def _products(problem: LinearProblem) -> float:
    """The number of products of Newton's method without a Hessian.

    Conjugate gradients meet the largest eigenvalues one after another, and then take the root of
    the spread of those that are left.  For eigenvalues that fall as fast as the frequencies of
    words, the k-th being 1 / k of the first, this is least for the cube root of the first one.
    """
    n, d = problem.design.shape
    bond = _bond(problem)
    if _few_in_play(problem):
        longer = 1.0
        if not isinstance(problem.design, CSRDesign):
            longer = _related(problem) ** (1.0 / 3.0)
        return _PRODUCTS + longer * _WIDE * math.sqrt(bond)
    largest = n * math.sqrt(problem.design.collinearity / d)
    count = 1.0 + _CUBE_ROOT * (bond * largest) ** (1.0 / 3.0)
    if n <= d:
        # Rows keep a strength of about the size of their margins, which grow with each step.
        left = min(bond, math.log1p(4.0 * bond)) * largest
        steps = _longer(problem) * _steps(problem, _STEPS, _STEPS_MORE)
        return min(count, steps * (1.0 + left ** (1.0 / 3.0)))
    if isinstance(problem.design, CSRDesign):
        # Rows without curvature count for as little as those of a loss that settles.
        most = _WORDS * math.sqrt(min(bond, _spread(d / (_SETTLED * n))))
    else:
        most = _TALL * math.sqrt(_hard(problem))
    return min(count, _PRODUCTS + most, _PRODUCTS + _ENDS * d)


def _hard(problem: LinearProblem) -> float:
    """The spread of the eigenvalues of the Hessian of dense rows.

    The penalty keeps those of independent columns together, and so do many rows; the more collinear
    the columns are, the further apart they are.
    """
    n, d = _in_play(problem), problem.design.n_features
    if n <= d:
        return _bond(problem) * _related(problem) ** (2.0 / 3.0)
    return problem.design.collinearity * min(_bond(problem), _spread(d / n))


def _related(problem: LinearProblem) -> float:
    """The collinearity of the columns, of which there may be more than rows.

    Few rows show little of it: they are nearly orthogonal where there are fewer of them than
    directions that the columns have in common.
    """
    n, d = _in_play(problem), problem.design.n_features
    return max(1.0, problem.design.collinearity * min(1.0, n / d))


def _categories(problem: LinearProblem) -> float:
    """The likely number of categories, of which every row has one level; 0 where there are none.

    All rows are equally long then.  The levels of every category add up to the same column of ones,
    and only the penalty determines the share of each category in it.
    """
    design = problem.design
    alike = design.gram_cost * design.n_samples == float(design.n_stored) ** 2
    return design.n_stored / max(design.n_samples, 1) if alike else 0.0


def step_by_hessian(problem: LinearProblem) -> float:
    """The cost of a step of Newton's method for several outputs: a Gram matrix for each pair."""
    hessian = _pairs(problem) + factorisation(problem)
    return _STEP + hessian + 2.0 * _evaluation(problem)


def step_by_products(problem: LinearProblem) -> float:
    """The cost of such a step with products in place of the Hessian, and of its inexactness."""
    d = problem.design.n_features
    if problem.penalty.strong_convexity > 0.0:  # type: ignore[attr-defined]
        levels = _LEVELS * math.sqrt(_categories(problem) * min(_bond(problem), float(d) ** 2))
        count = _INDEPENDENT + math.log(problem.design.collinearity) + min(levels, d)
    else:
        # Nothing keeps the eigenvalues of the Hessian together.
        count = 1.0 + _UNPENALISED * d
    return _INEXACT * (_STEP + count * _evaluation(problem))


def sample_serves_outputs(problem: LinearProblem, share: float) -> bool:
    """Whether the quasi-Newton method on a share of the rows is cheaper for several outputs."""
    a_hessian = _STEP + share * _pairs(problem) + factorisation(problem)
    hessians = _steps(problem, _SAMPLED, _SAMPLED_MORE) * a_hessian
    n, d = problem.design.shape
    evaluations = (_EVALUATED + _COARSE * d / (share * n)) * (_STEP + _evaluation(problem))
    steps = _SEVERAL * min(step_by_hessian(problem), step_by_products(problem))
    return hessians + evaluations < _CERTAIN * steps


def _pairs(problem: LinearProblem) -> float:
    """The cost of the Gram matrices of all pairs of outputs, and of the weighted rows of each."""
    outputs, design = math.prod(problem.output_shape), problem.design
    weights = _PAIR * design.n_samples + _WEIGHTED * design.n_stored
    return gram(problem) + 0.5 * outputs * (outputs + 1) * weights


def two_levels(problem: LinearProblem) -> float:
    """The cost of Newton's method with products and two levels of columns, with their factor."""
    design = problem.design
    length = design.n_stored / max(design.n_samples, 1)
    size = min(Levels.frequent, design.n_features) + min(length, _RUNS) + 1.0
    products = min(_ADDED * design.gram_cost, _SUMMED * design.n_samples * size**2)
    count = _LEVELLED + _LEVELLED_MORE * math.sqrt(_bond(problem))
    a_product = 0.5 * _STEP + _evaluation(problem) + _SOLVED * size**2
    return products + _factorised(size) + count * a_product


def hessian_pays(problem: LinearProblem) -> bool:
    """Whether Hessians of one output do not dwarf some tens of products."""
    gram, product = problem.design.gram_cost, float(max(problem.design.n_stored, 1))
    # Dense blocks run at BLAS speed, an order of magnitude above sparse products.
    speed = 1.0 if gram > 100 * product else 10.0
    return gram / speed + float(np.prod(problem.shape)) ** 3 / 100 < 400.0 * product


def hessian_in_passes(problem: LinearProblem, share: float = 1.0) -> float:
    """The number of evaluations that a Hessian of a share of the rows costs, with its factor."""
    return _hessian(problem, share) / _evaluation(problem)


def _evaluation(problem: LinearProblem) -> float:
    """The cost of value and gradient at a point, or of a product with the Hessian."""
    outputs = max(1.0, float(np.prod(problem.output_shape)))
    rows = problem.design.n_samples * _SCORE
    return outputs * (rows + _stored(problem, _DENSE_PRODUCT, _SPARSE_PRODUCT))


def _hessian(problem: LinearProblem, share: float = 1.0) -> float:
    """The cost of a Hessian of all rows, or of a share of them, and its factor."""
    return share * gram(problem) + factorisation(problem)


def factorisation(problem: LinearProblem) -> float:
    """The cost of factorising a Hessian of all parameters, however many rows it is formed from."""
    return _factorised(float(np.prod(problem.shape)))


def _factorised(size: float) -> float:
    return (_SQUARE + _CUBE * size) * size**2


def gram(problem: LinearProblem) -> float:
    """The cost of weighted Gram matrices of all rows: one, or one for each pair of outputs."""
    sparse = isinstance(problem.design, CSRDesign)
    outputs = int(np.prod(problem.output_shape))
    pairs = 0.5 * outputs * (outputs + 1)
    return pairs * problem.design.gram_cost * (_SPARSE_GRAM if sparse else _DENSE_GRAM)
