"""What the machines with kernels share: the kernel's parameters, and scores."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from separatrix.data import rules
from separatrix.data.design import Design, as_design, dense
from separatrix.data.validation import validate
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
from separatrix.kernels.prediction import column_weights, kernel_scores
from separatrix.messages import Message
from separatrix.models.certified import Certified, Claimed, FitContext, Problems
from separatrix.models.parameters import compat, fitted, parameter
from separatrix.models.regressor import TrainingRows
from separatrix.models.training_data import other_data, require_rows
from separatrix.solvers.driver import Solution

__all__ = ["SHARE_OF_ROWS", "KernelMachine", "SingleKernelMachine", "check_support_vectors"]

_KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")
SHARE_OF_ROWS = parameter(
    default=0.5, above=0, maximum=1, beyond="must be a share of the rows, at most 1"
)
# Iterations that no fit comes to.
_NO_LIMIT = 2**62


def check_support_vectors(name: str, value: Any, sizes: rules.Sizes) -> None:
    """Check the support vectors; a precomputed matrix has none."""
    if not isinstance(sizes.own["kernel_"], PrecomputedKernel):
        rules.points("support")(name, value, sizes)


class KernelMachine(Certified):
    """The parameters of the kernel, and scores."""

    kernel: Any = parameter(default="rbf", choices=_KERNELS, instead=(Kernel, Callable))
    degree: int = parameter(default=3, minimum=1, integer=True)
    gamma: Any = parameter(default="scale", choices=("scale", "auto"), minimum=0)
    coef0: float = parameter(default=0.0, number=True)
    # LIBSVM's -1 is no limit.
    max_iter: int = parameter(default=100_000, minimum=-1, integer=True)
    cache_mb: float = parameter(default=1000.0, above=0)
    shrinking: bool = compat(
        "not needed: rows leave the working set where the bounds prove that they may", default=True
    )
    cache_size: float = compat(
        "``cache_mb`` is the limit of what is kept of the kernel's matrix", default=200
    )

    kernel_: Kernel = fitted()
    support_: np.ndarray = fitted()
    support_vectors_: Any = fitted()
    coef_: Any = fitted()
    lift_: Any = fitted()
    intercept_: np.ndarray = fitted()
    _pair_coefficients: ClassVar[Any]

    def _needs_all_rows(self) -> str | None:
        return Message("kernel_in_passes")

    def _resolved(self, design: Design, sample_weight: np.ndarray | None = None) -> Kernel:
        """The kernel, with its numbers."""
        if isinstance(self.kernel, Kernel):
            return self.kernel
        if callable(self.kernel):
            return CallableKernel(self.kernel)
        if self.kernel == "linear":
            return LinearKernel()
        if self.kernel == "precomputed":
            return PrecomputedKernel()
        gamma = self.gamma
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
        if self.kernel == "poly":
            return PolynomialKernel(int(self.degree), float(gamma), float(self.coef0))
        if self.kernel == "sigmoid":
            return SigmoidKernel(float(gamma), float(self.coef0))
        return RBFKernel(float(gamma))

    def _require_square(self, design: Design) -> None:
        if isinstance(self.kernel_, PrecomputedKernel) and design.n_samples != design.n_features:
            raise ValueError(
                "With kernel='precomputed' X must be the square matrix k(x_i, x_j); its shape is "
                f"{design.shape}."
            )

    def _limits(self) -> dict[str, Any]:
        most = _NO_LIMIT if self.max_iter == -1 else int(self.max_iter)
        return {"tol": self.tol, "max_iter": most}

    def _decisions(self, X: Any) -> np.ndarray:
        """The scores of all pairs: shape (n_samples, n_pairs)."""
        check_is_fitted(self)
        return self._decisions_of(validate(self, X))

    def _decisions_of(self, matrix: Any) -> np.ndarray:
        design = as_design(matrix)
        if hasattr(self, "lift_"):
            scores = self.lift_.transform(design.matrix) @ self.coef_.T
        elif isinstance(self.kernel_, LinearKernel):
            scores = design.dot(np.ascontiguousarray(dense(self.coef_).T))
        elif isinstance(self.kernel_, PrecomputedKernel):
            # Columns of rows that support nothing count for nothing, whatever they hold.
            scores = as_design(design.matrix[:, self.support_]).dot(self._pair_coefficients())
        else:
            vectors = as_design(self.support_vectors_)
            scores = kernel_scores(self.kernel_, design, vectors, self._pair_coefficients())
        scores += self.intercept_
        return scores

    def _require_one_answer(self) -> None:
        """Raise ValueError where the weights of the columns are not those of the rows.

        A machine with the linear kernel predicts by the former, and is judged by the latter.
        """
        if not isinstance(self.kernel_, LinearKernel):
            return
        made = self._weights_of_columns()
        # What is left of the difference is charged where it counts.
        size = float(np.abs(made).max(initial=0.0))
        if not np.allclose(dense(self.coef_), made, rtol=1e-9, atol=1e-9 * size):
            raise ValueError(
                "The model's coef_ is not the sum of its support vectors weighted by dual_coef_, "
                "so it is unclear which of the two to verify."
            )

    def _weights_of_columns(self) -> np.ndarray:
        """The sums of the support vectors weighted by ``dual_coef_``."""
        return column_weights(as_design(self.support_vectors_), self._pair_coefficients())

    def __sklearn_tags__(self) -> Any:
        tags: Any = super().__sklearn_tags__()
        pairwise = self.kernel == "precomputed" or isinstance(self.kernel, PrecomputedKernel)
        tags.input_tags.pairwise = pairwise
        tags.input_tags.sparse = not callable(self.kernel) or isinstance(self.kernel, Kernel)
        return tags


class SingleKernelMachine(KernelMachine):
    """A machine of one function, and no classes: regression, or one class alone.

    Subclasses say what they minimise (``_problem``).
    """

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

    def _gram(self, design: Design) -> Any:
        return gram_of(self.kernel_, design, cache_mb=self.cache_mb)

    def _settled(self, fit: FitContext) -> Problems:
        self.kernel_ = self._resolved(fit.design, fit.target.weights)
        self._require_square(fit.design)
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
        matrix = design.matrix
        if isinstance(self.kernel_, PrecomputedKernel):
            matrix = np.empty((design.n_samples, 0))
        self.support_vectors_ = matrix[self.support_]
        self.__dict__.pop("coef_", None)
        if isinstance(self.kernel_, LinearKernel):
            self.coef_ = self._weights_of_columns()
        if sp.issparse(matrix):
            self.dual_coef_ = sp.csr_matrix(self.dual_coef_)
            if "coef_" in vars(self):
                self.coef_ = sp.csr_matrix(self.coef_)
        self._record(problems, solutions)

    def _pair_coefficients(self) -> np.ndarray:
        return np.ascontiguousarray(dense(self.dual_coef_).T)

    @property
    def shape_fit_(self) -> tuple[int, int]:
        """``X.shape`` of the fit."""
        check_is_fitted(self, "n_samples_fit_")
        return self.n_samples_fit_, self.n_features_in_

    @property
    def fit_status_(self) -> int:
        """0 where the certificate is within ``tol``, else 1."""
        check_is_fitted(self, "certificate_")
        return 0 if self.certificate_.ok else 1

    def _claims(self, design: Design, rows: TrainingRows) -> list[Claimed]:
        n = design.n_samples
        if self.n_samples_fit_ != n:
            raise ValueError(other_data(self, f"it was trained on {self.n_samples_fit_:,} rows"))
        require_rows(
            self, design, self.support_, self.support_vectors_, "support vectors", self.kernel_
        )
        self._require_one_answer()
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
