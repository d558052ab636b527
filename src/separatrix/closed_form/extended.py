"""Residuals of least squares in twice the working precision.

A number is carried as the unevaluated sum of two floats; see
:mod:`separatrix._compiled.double_double`.
"""

from __future__ import annotations

from separatrix._compiled.double_double import add_parts, compiled, two_product, two_sum

__all__ = ["residual_sums"]


@compiled
def residual_sums(x, y, s, w, w_rest, b, b_rest, gradient, gradient_rest, sums):
    """Add rows to ``X'(s r)``, and to the sums of ``s r`` and of ``s r^2``, for one target.

    ``r = y - X w - b``.  ``sums`` holds the two sums, each as a high and a low part; ``s`` is empty
    where there are no weights.
    """
    n, d = x.shape
    for i in range(n):
        high, low = two_sum(y[i], -b)
        low -= b_rest
        for j in range(d):
            product, error = two_product(x[i, j], w[j])
            error += x[i, j] * w_rest[j]
            high, low = add_parts(high, low, -product, -error)
        if len(s):
            weighted, error = two_product(s[i], high)
            weighted, rest = two_sum(weighted, error + s[i] * low)
        else:
            weighted, rest = high, low
        for j in range(d):
            product, error = two_product(x[i, j], weighted)
            error += x[i, j] * rest
            gradient[j], gradient_rest[j] = add_parts(gradient[j], gradient_rest[j], product, error)
        sums[0], sums[1] = add_parts(sums[0], sums[1], weighted, rest)
        product, error = two_product(high, weighted)
        error += high * rest + low * weighted
        sums[2], sums[3] = add_parts(sums[2], sums[3], product, error)
