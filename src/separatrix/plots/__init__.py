"""Pictures of data, models and fits: one call each, in scikit-learn's Display conventions.

Each display computes once, holds what it drew from as attributes, and keeps its artists after
``plot``::

    display = MarginDisplay.from_estimator(model, X, y)
    display.ax_, display.figure_, display.boundary_

Where points have more than two features, the axes say what they show; nothing is projected
silently.  Colours are Petroff's (2021), each class also has a marker of its own, and the colours
of ink and paper are those of matplotlib's settings, so that any style works; :func:`theme` has one
for light and one for dark pages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from separatrix._compiled.lazy_names import lazy_names

# Where each public name lives.
_HOMES = {
    "CertificateDisplay": "separatrix.plots.certificate",
    "ComparisonDisplay": "separatrix.plots.comparison",
    "ConvergenceDisplay": "separatrix.plots.convergence",
    "DecisionDisplay": "separatrix.plots.decision",
    "DescentDisplay": "separatrix.plots.descent",
    "DiscriminantDisplay": "separatrix.plots.discriminant",
    "HyperplaneDisplay": "separatrix.plots.hyperplane",
    "KernelDisplay": "separatrix.plots.kernel",
    "LeastSquaresDisplay": "separatrix.plots.least_squares",
    "LossDisplay": "separatrix.plots.loss",
    "MarginDisplay": "separatrix.plots.margin",
    "OrdersDisplay": "separatrix.plots.orders",
    "PathDisplay": "separatrix.plots.path",
    "PerceptronDisplay": "separatrix.plots.perceptron",
    "PolynomialDisplay": "separatrix.plots.polynomial",
    "ScheduleDisplay": "separatrix.plots.schedule",
    "SeparabilityDisplay": "separatrix.plots.separability",
    "StoppingDisplay": "separatrix.plots.stopping",
    "calibration_display": "separatrix.plots.metrics",
    "confusion_matrix_display": "separatrix.plots.metrics",
    "precision_recall_display": "separatrix.plots.metrics",
    "roc_display": "separatrix.plots.metrics",
    "stopping_rules": "separatrix.plots.stopping",
    "theme": "separatrix.plots.style",
}

__all__ = [*_HOMES]

if TYPE_CHECKING:
    from separatrix.plots.certificate import CertificateDisplay as CertificateDisplay
    from separatrix.plots.comparison import ComparisonDisplay as ComparisonDisplay
    from separatrix.plots.convergence import ConvergenceDisplay as ConvergenceDisplay
    from separatrix.plots.decision import DecisionDisplay as DecisionDisplay
    from separatrix.plots.descent import DescentDisplay as DescentDisplay
    from separatrix.plots.discriminant import DiscriminantDisplay as DiscriminantDisplay
    from separatrix.plots.hyperplane import HyperplaneDisplay as HyperplaneDisplay
    from separatrix.plots.kernel import KernelDisplay as KernelDisplay
    from separatrix.plots.least_squares import LeastSquaresDisplay as LeastSquaresDisplay
    from separatrix.plots.loss import LossDisplay as LossDisplay
    from separatrix.plots.margin import MarginDisplay as MarginDisplay
    from separatrix.plots.metrics import calibration_display as calibration_display
    from separatrix.plots.metrics import confusion_matrix_display as confusion_matrix_display
    from separatrix.plots.metrics import precision_recall_display as precision_recall_display
    from separatrix.plots.metrics import roc_display as roc_display
    from separatrix.plots.orders import OrdersDisplay as OrdersDisplay
    from separatrix.plots.path import PathDisplay as PathDisplay
    from separatrix.plots.perceptron import PerceptronDisplay as PerceptronDisplay
    from separatrix.plots.polynomial import PolynomialDisplay as PolynomialDisplay
    from separatrix.plots.schedule import ScheduleDisplay as ScheduleDisplay
    from separatrix.plots.separability import SeparabilityDisplay as SeparabilityDisplay
    from separatrix.plots.stopping import StoppingDisplay as StoppingDisplay
    from separatrix.plots.stopping import stopping_rules as stopping_rules
    from separatrix.plots.style import theme as theme

__getattr__, __dir__ = lazy_names(
    __name__,
    _HOMES,
    needs=("matplotlib",),
    remedy='separatrix.plots needs {}: pip install "separatrix[plots]"',
)
