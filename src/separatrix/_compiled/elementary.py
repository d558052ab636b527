"""Elementary functions for loops that run in vector registers.

They have no branch and no call, and are five times as fast as those of the C library.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import intrinsic

from separatrix._compiled.compilation import njit


def _chosen_by(relation: str) -> Any:
    """Code for the one of two floats that a relation chooses, neither of them NaN.

    Numba's ``max`` and ``min`` do not give LLVM this information, and it then finds the extreme of
    an array one number at a time: fifteen times as long as in vectors.
    """

    @intrinsic
    def choose(typingctx, a, b):
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            first = builder.fcmp_ordered(relation, *args, flags=("nnan", "nsz"))
            return builder.select(first, *args, flags=("nnan", "nsz"))

        return (a(a, b), codegen) if a == b else None

    return choose


larger, smaller = _chosen_by(">"), _chosen_by("<")


@njit(fastmath={"contract"}, nogil=True, error_model="numpy")
def exp_negative(x):
    """``exp(x)`` for ``x <= 0``, to an ulp; below -708 the smallest normal number or so.

    It is a power of two times the Taylor series of the rest.  There is no reassociation: the
    reduction of the argument is in two parts on purpose (Cody and Waite, 1980).
    """
    x = max(x, -708.0)
    # 1.5 * 2^52: a number added to it is rounded to a whole one, in the last bits of the sum.
    shifted = x * 1.4426950408889634 + 6755399441055744.0
    k = shifted - 6755399441055744.0
    r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10
    # The loop is over constants, so that the compiler unrolls it.
    factorial = 6227020800.0
    p = 1.0 / factorial
    for k in range(13, 0, -1):
        factorial /= k
        p = p * r + 1.0 / factorial
    power = (np.float64(shifted).view(np.int64) + np.int64(1023)) << np.int64(52)
    return p * np.int64(power).view(np.float64)


@njit(fastmath={"contract"}, nogil=True, error_model="numpy")
def _odd_powers(q, last):
    """``1 + q/3 + q^2/5 + ...`` to the term over ``last``: ``atanh(s) / s`` for ``q = s^2``."""
    p = 1.0 / last
    for k in range(last - 2, 0, -2):
        p = p * q + 1.0 / k
    return p


@njit(fastmath={"contract"}, nogil=True, error_model="numpy")
def log1p_unit(x):
    """``log(1 + x)`` for ``0 <= x <= 1``, to two ulps: the series of ``2 atanh(x / (2 + x))``."""
    s = x / (2.0 + x)
    q = s * s
    return 2.0 * s * _odd_powers(q, 35)


@njit(fastmath={"contract"}, nogil=True, error_model="numpy")
def log_normal(x):
    """``log(x)`` for normal numbers ``0 < x < inf``, to seven half units of its size.

    It is ``k log 2`` and the series of ``2 atanh((m - 1) / (m + 1))`` for ``x = 2^k m`` with ``m``
    between the roots of 1/2 and 2: ``m - 1`` is exact, and the first term, which is in two parts,
    is never less than half as large as the second.
    """
    bits = np.float64(x).view(np.int64)
    # The number added to the bits carries into the exponent where the fraction is above root 1/2.
    power = (bits + np.int64(0x00095F619980C433)) >> np.int64(52)
    # The exponent as the last bits of 2^52: not every processor converts integers in vectors.
    k = np.int64(power | np.int64(0x4330000000000000)).view(np.float64) - 4503599627371519.0
    m = np.int64(bits - ((power - np.int64(1023)) << np.int64(52))).view(np.float64)
    s = (m - 1.0) / (m + 1.0)
    q = s * s
    p = _odd_powers(q, 19)
    return k * 6.93147180369123816490e-01 + (2.0 * s * p + k * 1.90821492927058770002e-10)
