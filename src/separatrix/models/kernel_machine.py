"""The base of the machines with kernels: the kernel's parameters, and scores."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from separatrix.data import rules
from separatrix.data.design import Design, as_design, dense
from separatrix.data.targets import TrainingRows
from separatrix.data.validation import sample_weight_of, validate
from separatrix.expressions import Affine, Expression, Features, Fourier, KernelSum, Prediction
from separatrix.kernels.feature_maps import FourierLift
from separatrix.kernels.functions import (
    CallableKernel,
    Kernel,
    LinearKernel,
    PolynomialKernel,
    PrecomputedKernel,
    RBFKernel,
    SigmoidKernel,
    check_kernel,
)
from separatrix.kernels.gram import entry_variance, gram_of
from separatrix.kernels.prediction import column_weights
from separatrix.messages import Message
from separatrix.models.certified import Certified, Claimed, FitContext, Problems
from separatrix.models.limits import counted
from separatrix.models.parameters import compat, fitted, parameter
from separatrix.models.predicting import OfNumbers, Predicting, affine
from separatrix.models.training_data import other_data, require_rows
from separatrix.solvers.driver import Solution

_KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")
SHARE_OF_ROWS = parameter(
    default=0.5, above=0, maximum=1, beyond="must be a share of the rows, at most 1"
)
# The parameters of the kernel, of the limits and of the cache.
KERNEL = parameter(default="rbf", choices=_KERNELS, instead=(Kernel, Callable))
DEGREE = parameter(default=3, minimum=1, integer=True)
GAMMA = parameter(default="scale", choices=("scale", "auto"), minimum=0)
COEF0 = parameter(default=0.0, number=True)
# LIBSVM's -1 is no limit.
MAX_ITER = parameter(default=100_000, minimum=-1, integer=True)
CACHE_MB = parameter(default=1000.0, above=0)
SHRINKING = compat(
    "not needed: rows leave the working set where the bounds prove that they may", default=True
)
CACHE_SIZE = compat("``cache_mb`` is the limit of what is kept of the kernel's matrix", default=200)
# Iterations that no fit comes to.
_NO_LIMIT = 2**62


def check_support_vectors(name: str, value: Any, sizes: rules.Sizes) -> None:
    """Check the support vectors; a precomputed matrix has none."""
    if not isinstance(sizes.own["kernel_"], PrecomputedKernel):
        rules.points("support")(name, value, sizes)


def resolved_kernel(model: Any, design: Design, sample_weight: np.ndarray | None = None) -> Kernel:
    """The kernel of a machine that is fitted to rows, with its numbers."""
    if isinstance(model.kernel, Kernel):
        return model.kernel
    if callable(model.kernel):
        return CallableKernel(model.kernel)
    if model.kernel == "linear":
        return LinearKernel()
    if model.kernel == "precomputed":
        return PrecomputedKernel()
    gamma = model.gamma
    if gamma == "auto":
        gamma = 1.0 / design.n_features
    elif gamma == "scale":
        variance = entry_variance(design, sample_weight)
        # Features that do not vary have no scale.
        gamma = 1.0 / (design.n_features * variance) if variance > 0.0 else 1.0
        if not 0.0 < gamma < np.inf:
            raise ValueError(
                f"gamma='scale' is 1 / (n_features X.var()), and X.var() is {variance:.3g}, "
                "too close to the limits of floats; scale the features."
            )
    if model.kernel == "poly":
        return PolynomialKernel(int(model.degree), float(gamma), float(model.coef0))
    if model.kernel == "sigmoid":
        return SigmoidKernel(float(gamma), float(model.coef0))
    return RBFKernel(float(gamma))


def require_square(kernel: Kernel, design: Design) -> None:
    """Raise ValueError unless a precomputed matrix is square."""
    if isinstance(kernel, PrecomputedKernel) and design.n_samples != design.n_features:
        raise ValueError(
            "With kernel='precomputed' X must be the square matrix k(x_i, x_j); its shape is "
            f"{design.shape}."
        )


def limits_of(model: Any) -> dict[str, Any]:
    """``tol`` and ``max_iter``, for the driver."""
    return {
        "tol": model.tol,
        "max_iter": _NO_LIMIT if model.max_iter == -1 else int(model.max_iter),
    }


def scores(model: Any) -> Expression:
    """The scores of all pairs, of a machine or of its lift."""
    of, kernel, intercepts = Features(model.n_features_in_), model.kernel_, model.intercept_
    lift = vars(model).get("lift_")
    if isinstance(lift, FourierLift):
        return Affine(Fourier(of, lift), model.coef_, intercepts)
    if lift is not None:
        weights = np.ascontiguousarray(lift.coefficients(model.coef_).T)
        return KernelSum(of, lift.kernel_, lift.landmark_points_, weights, intercepts)
    if isinstance(kernel, LinearKernel):
        return affine(model, model.coef_, intercepts)
    precomputed = isinstance(kernel, PrecomputedKernel)
    vectors = model.support_ if precomputed else model.support_vectors_
    return KernelSum(of, kernel, vectors, model._pair_coefficients(), intercepts)


def prediction(self: Any) -> Prediction:
    """All trees of a machine whose kernel has a formula."""
    check_is_fitted(self)
    if isinstance(self.kernel_, PrecomputedKernel | CallableKernel):
        what = "a precomputed" if isinstance(self.kernel_, PrecomputedKernel) else "a callable"
        raise ValueError(
            f"{type(self).__name__} with {what} kernel has no formula of the columns; fit it with "
            "a kernel that the library knows by name."
        )
    return Predicting._prediction(self)


def require_one_answer(model: Any) -> None:
    """Raise ValueError where the weights of the columns are not those of the rows.

    A machine with the linear kernel predicts by the former, and is judged by the latter.
    """
    if not isinstance(model.kernel_, LinearKernel):
        return
    made = weights_of_columns(model)
    # The rest of the difference is charged where it counts.
    size = float(np.abs(made).max(initial=0.0))
    if not np.allclose(dense(model.coef_), made, rtol=1e-9, atol=1e-9 * size):
        raise ValueError(
            "The model's coef_ is not the sum of its support vectors weighted by dual_coef_, "
            "so it is unclear which of the two to verify."
        )


def weights_of_columns(model: Any) -> np.ndarray:
    """The sums of the support vectors weighted by ``dual_coef_``."""
    return column_weights(as_design(model.support_vectors_), model._pair_coefficients())


def vectors_of(model: Any, matrix: Any) -> Any:
    """The support vectors among the rows; those of a kernel matrix have no columns."""
    if isinstance(model.kernel_, PrecomputedKernel):
        return np.empty((len(model.support_), 0))
    return matrix[model.support_]


def keep_vectors(model: Any, matrix: Any) -> None:
    """Keep the support vectors, and what their storage and a linear kernel make of them."""
    model.support_vectors_ = vectors_of(model, matrix)
    model.__dict__.pop("coef_", None)
    if isinstance(model.kernel_, LinearKernel):
        model.coef_ = weights_of_columns(model)
    if sp.issparse(model.support_vectors_):
        model.dual_coef_ = sp.csr_matrix(model.dual_coef_)
        if "coef_" in vars(model):
            model.coef_ = sp.csr_matrix(model.coef_)


def fit_status(self: Any) -> int:
    """0 where the certificate is within ``tol``, else 1."""
    check_is_fitted(self, "certificate_")
    return 0 if self.certificate_.ok else 1


def tag_input(model: Any, tags: Any) -> Any:
    """The tags of a machine, with what its kernel takes."""
    pairwise = model.kernel == "precomputed" or isinstance(model.kernel, PrecomputedKernel)
    tags.input_tags.pairwise = pairwise
    tags.input_tags.sparse = not callable(model.kernel) or isinstance(model.kernel, Kernel)
    return tags


class KernelMachine(Certified):
    """A machine of one function, and no classes: regression, or one class alone.

    Subclasses say what they minimise (``_problem``).
    """

    kernel: Any = KERNEL
    degree: int = DEGREE
    gamma: Any = GAMMA
    coef0: float = COEF0
    max_iter: int = MAX_ITER
    cache_mb: float = CACHE_MB
    shrinking: bool = SHRINKING
    cache_size: float = CACHE_SIZE

    fit_status_ = property(fit_status)
    # True, unless a machine has a parameter for it.
    fit_intercept = True

    kernel_: Kernel = fitted()
    support_: np.ndarray = fitted()
    support_vectors_: Any = fitted()
    coef_: Any = fitted()
    intercept_: np.ndarray = fitted()

    _attributes: ClassVar[rules.Rules] = {
        **rules.COMMON,
        "support_": rules.whole_array("support"),
        "n_support_": rules.whole_array("one"),
        "kernel_": check_kernel,
        "intercept_": rules.array("one"),
        "coef_": rules.weights("one"),
        "dual_coef_": rules.weights("one", "support"),
        "support_vectors_": check_support_vectors,
        "n_samples_fit_": rules.whole(1),
        "certificate_": rules.certificate,
    }
    _needed: ClassVar[tuple[str, ...]] = (
        *("kernel_", "intercept_", "dual_coef_", "support_", "n_support_", "n_samples_fit_"),
        "certificate_",
    )

    @abstractmethod
    def _problem(self, gram: Any, y: np.ndarray, weights: np.ndarray | None) -> Any:
        """Build the problem that the fit minimises."""

    @counted
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit to training data.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            For a precomputed kernel, its matrix, shape (n_samples, n_samples).
        y : array-like of shape (n_samples,)
            Numbers; :class:`~separatrix.OneClassSVM` ignores them.
        sample_weight : array-like of shape (n_samples,), optional
            Weights >= 0; a weight of k is the same as k copies of the row.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For bad parameters, or NaN or infinity (named by row and column).
        KeyboardInterrupt
            On Ctrl-C, after the fitted attributes have been set from the best iterate so far.

        Warns
        -----
        ConvergenceWarning
            If the certified relative gap is above ``tol``; the text is the certificate.
        """
        self._fit(X, y, sample_weight)
        return self

    def _rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[Design, TrainingRows]:
        matrix, numbers = validate(self, X, y, regression=True)
        weights = sample_weight_of(sample_weight, matrix)
        numbers = np.asarray(column_or_1d(numbers, warn=True), dtype=np.float64)
        return as_design(matrix), TrainingRows.of(matrix, numbers, weights)

    def predict(self, X: Any) -> np.ndarray:
        r"""The fitted values :math:`\langle w, \varphi(x)\rangle + b`, in float64.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            For a precomputed kernel, of shape (n_samples, n_samples_fit).

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return OfNumbers.predict(self, X)

    _scores, _prediction = scores, prediction

    def _needs_all_rows(self, n_classes: int | None = None) -> str | None:
        return Message("kernel_in_passes")

    def _limits(self) -> dict[str, Any]:
        return limits_of(self)

    def __sklearn_tags__(self) -> Any:
        return tag_input(self, super().__sklearn_tags__())

    def _gram(self, design: Design) -> Any:
        level = bool(self.fit_intercept)
        return gram_of(self.kernel_, design, cache_mb=self.cache_mb, fit_intercept=level)

    def _settled(self, fit: FitContext) -> Problems:
        self.kernel_ = resolved_kernel(self, fit.design, fit.target.weights)
        require_square(self.kernel_, fit.design)
        return super()._settled(fit)

    def _problems(self, design: Design, rows: TrainingRows) -> Problems:
        return [
            (part, self._problem(self._gram(design), y, rows.weights)) for part, y in rows.parts()
        ]

    def _starts(self, problems: Problems, fit: FitContext) -> list[dict[str, Any]]:
        return [{"theta": problem.zero()} for _, problem in problems]

    def _keep_fit(self, fit: FitContext, problems: Problems, solutions: list[Solution]) -> None:
        problem, solution, design = problems[0][1], solutions[0], fit.design
        coefficients = problem.weights_of(solution.theta)
        self.intercept_ = np.array(
            [float(problem.intercept_of(problem.from_internal(solution.theta)))]
        )
        self.support_ = np.flatnonzero(coefficients).astype(np.int32)
        self.n_support_ = np.array([len(self.support_)], dtype=np.int32)
        self.dual_coef_ = coefficients[None, self.support_]
        self.n_samples_fit_ = design.n_samples
        keep_vectors(self, design.matrix)
        self._record(problems, solutions)

    def _pair_coefficients(self) -> np.ndarray:
        return np.ascontiguousarray(dense(self.dual_coef_).T)

    @property
    def shape_fit_(self) -> tuple[int, int]:
        """``X.shape`` of the fit."""
        check_is_fitted(self, "n_samples_fit_")
        return self.n_samples_fit_, self.n_features_in_

    def _claims(self, design: Design, rows: TrainingRows) -> list[Claimed]:
        n = design.n_samples
        if self.n_samples_fit_ != n:
            raise ValueError(other_data(self, f"it was trained on {self.n_samples_fit_:,} rows"))
        require_rows(
            self, design, self.support_, self.support_vectors_, "support vectors", self.kernel_
        )
        require_one_answer(self)
        ((part, problem),) = self._problems(design, rows)
        if isinstance(self.kernel_, LinearKernel):
            problem.predicting = dense(self.coef_)[0]
        c = np.zeros(n)
        c[self.support_] = dense(self.dual_coef_)[0]
        return [(part, problem, problem.join(c, float(self.intercept_[0])), rows.weights)]

    def _check_attributes(self, sizes: rules.Sizes) -> None:
        if len(self.intercept_) != 1 or int(self.n_support_[0]) != len(self.support_):
            raise rules.refuse("n_support_", "is not the number of the support vectors")
        rows, d = self.n_samples_fit_, sizes.known["d"]
        if len(self.support_) and int(self.support_.max()) >= rows:
            raise rules.refuse("support_", f"names a row outside the {rows:,} rows of the fit")
        if isinstance(self.kernel_, LinearKernel):
            rules.require(self, ["coef_"])
        elif isinstance(self.kernel_, PrecomputedKernel):
            if d != rows:
                why = f"is {rows:,}, for a kernel matrix of {d:,} columns"
                raise rules.refuse("n_samples_fit_", why)
        else:
            rules.require(self, ["support_vectors_"])
        if not len(self.support_) and d > rules.MOST_UNSEEN:
            raise rules.refuse("n_features_in_", f"is {d:,}, and there are no support vectors")
