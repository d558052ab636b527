"""Machinery that the compiled loops share: compilation, row access, products.

A *kernel* is a plain Python function over raw arrays.  It is written once, against the
row accessors and the scalar loss functions by name; :func:`specialise` binds those names
to concrete functions and compiles the result.  Dense and sparse rows, and every loss,
therefore run the very same algorithm.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any, TypeVar

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from separatrix._compiled.compilation import njit

# Reordering and contraction only.  ``fastmath=True`` also assumes that infinities and NaN do
# not occur, and then a shrinking bound that starts at infinity is compiled away.
FASTMATH = {"contract", "reassoc", "nsz", "arcp"}

_F = TypeVar("_F", bound=Callable[..., Any])


def scalar(function: _F) -> _F:
    """Compile a small function that kernels call and that inlines into them."""
    # numpy's error model: x / 0 is an infinity, as everywhere else in the library.
    return numba.njit(fastmath=FASTMATH, nogil=True, error_model="numpy")(function)


def inlined(function: _F) -> _F:
    """The same for one that LLVM takes to be too long, where a call would cost the vectors."""
    options = {"fastmath": FASTMATH, "nogil": True, "error_model": "numpy"}
    return numba.njit(inline="always", **options)(function)


# --- elementary functions -------------------------------------------------------------------
# Without a branch or a call, so that loops over them run in vector registers, five times as fast
# as the C library's.


@numba.njit(fastmath={"contract"}, nogil=True, error_model="numpy")
def exp_negative(x):
    """``exp(x)`` for ``x <= 0``, to an ulp; below -708 the smallest normal number or so.

    A power of two times the Taylor series of what is left.  No reassociation: the reduction of
    the argument is in two parts on purpose (Cody and Waite, 1980).
    """
    x = max(x, -708.0)
    # 1.5 * 2^52: what is added to it is rounded to a whole number, in its last bits.
    shifted = x * 1.4426950408889634 + 6755399441055744.0
    k = shifted - 6755399441055744.0
    r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10
    p = 1.0 / 6227020800.0
    p = p * r + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    power = (np.float64(shifted).view(np.int64) + np.int64(1023)) << np.int64(52)
    return p * np.int64(power).view(np.float64)


@numba.njit(fastmath={"contract"}, nogil=True, error_model="numpy")
def log1p_unit(x):
    """``log(1 + x)`` for ``0 <= x <= 1``, to two ulps: the series of ``2 atanh(x / (2 + x))``."""
    s = x / (2.0 + x)
    q = s * s
    p = 1.0 / 35.0
    p = p * q + 1.0 / 33.0
    p = p * q + 1.0 / 31.0
    p = p * q + 1.0 / 29.0
    p = p * q + 1.0 / 27.0
    p = p * q + 1.0 / 25.0
    p = p * q + 1.0 / 23.0
    p = p * q + 1.0 / 21.0
    p = p * q + 1.0 / 19.0
    p = p * q + 1.0 / 17.0
    p = p * q + 1.0 / 15.0
    p = p * q + 1.0 / 13.0
    p = p * q + 1.0 / 11.0
    p = p * q + 1.0 / 9.0
    p = p * q + 1.0 / 7.0
    p = p * q + 1.0 / 5.0
    p = p * q + 1.0 / 3.0
    p = p * q + 1.0
    return 2.0 * s * p


@numba.njit(fastmath={"contract"}, nogil=True, error_model="numpy")
def log_normal(x):
    """``log(x)`` for normal numbers ``0 < x < inf``, to seven half units of its size.

    ``k log 2`` and the series of ``2 atanh((m - 1) / (m + 1))`` for ``x = 2^k m`` with ``m``
    between the roots of 1/2 and 2: ``m - 1`` is exact, and the first term, which is in two parts,
    is never less than half as large as the second.
    """
    bits = np.float64(x).view(np.int64)
    # What is added to the bits carries into the exponent where the fraction is above root 1/2.
    power = (bits + np.int64(0x00095F619980C433)) >> np.int64(52)
    # As the last bits of 2^52: no conversion of integers, for which not every processor has lanes.
    k = np.int64(power | np.int64(0x4330000000000000)).view(np.float64) - 4503599627371519.0
    m = np.int64(bits - ((power - np.int64(1023)) << np.int64(52))).view(np.float64)
    s = (m - 1.0) / (m + 1.0)
    q = s * s
    p = 1.0 / 19.0
    p = p * q + 1.0 / 17.0
    p = p * q + 1.0 / 15.0
    p = p * q + 1.0 / 13.0
    p = p * q + 1.0 / 11.0
    p = p * q + 1.0 / 9.0
    p = p * q + 1.0 / 7.0
    p = p * q + 1.0 / 5.0
    p = p * q + 1.0 / 3.0
    p = p * q + 1.0
    return k * 6.93147180369123816490e-01 + (2.0 * s * p + k * 1.90821492927058770002e-10)


def _source_of(function: Callable[..., Any]) -> FunctionType:
    plain: FunctionType = getattr(function, "py_func", function)  # type: ignore[arg-type]
    return plain


def _code(code: CodeType) -> bytes:
    parts = [code.co_code, repr(code.co_names).encode()]
    parts += [
        _code(const) if isinstance(const, CodeType) else repr(const).encode()
        for const in code.co_consts
    ]
    return b"\0".join(parts)


def _referred(source: FunctionType) -> list[Any]:
    """What a function's code refers to by name."""
    values = [cell.cell_contents for cell in source.__closure__ or ()]
    return values + [source.__globals__.get(name) for name in source.__code__.co_names]


def _fingerprint(function: Callable[..., Any]) -> bytes:
    """Bytes that tell a function from any other: its code, and what that code refers to."""
    source = _source_of(function)
    parts = [_code(source.__code__)]
    for value in _referred(source):
        if hasattr(value, "py_func"):
            parts.append(_fingerprint(value))
        elif isinstance(value, (bool, int, float, str, tuple)):
            parts.append(repr(value).encode())
    return b"\0".join(parts)


def _importable(function: Callable[..., Any]) -> bool:
    """Whether a function and all that it calls are in modules that another process can import.

    Machine code names these modules, and reading it from disk imports them.  A function that was
    made by ``exec``, as in a doctest, has none.
    """
    source = _source_of(function)
    called = [value for value in _referred(source) if hasattr(value, "py_func")]
    return inspect.getmodule(source) is not None and all(map(_importable, called))


@functools.cache
def _specialise(template: FunctionType, bindings: tuple[tuple[str, Any], ...]) -> Any:
    # Numba's cache on disk is keyed by file, line and qualified name, and does not see the
    # functions that a kernel calls.  Their code is therefore hashed into the name: two
    # bindings never share a file, and an edited loss never meets a stale binary.
    digest = hashlib.sha256()
    for name, function in bindings:
        digest.update(name.encode() + _fingerprint(function))
    label = "_".join(_source_of(function).__name__ for _, function in bindings)
    name = f"{template.__qualname__}__{label}_{digest.hexdigest()[:12]}"
    bound = FunctionType(
        template.__code__, {**template.__globals__, **dict(bindings)}, name, template.__defaults__
    )
    bound.__qualname__ = name
    bound.__module__ = template.__module__
    stored = all(_importable(function) for _, function in bindings)
    return njit(fastmath=FASTMATH, nogil=True, cache=stored, error_model="numpy")(bound)


def specialise(template: Callable[..., Any], **bindings: Callable[..., Any]) -> Any:
    """Compile ``template`` with the global names in ``bindings`` replaced.

    The compiled kernel is cached on disk, under a name that holds a digest of the bound
    functions' code; unless these were made where no other process can import them.
    """
    return _specialise(template, tuple(sorted(bindings.items())))


def read_only(array: np.ndarray) -> np.ndarray:
    """A view that kernels cannot write to.

    Also keeps compilation down: memory-mapped and ordinary input have one type.
    """
    view = array.view()
    view.flags.writeable = False
    return view


# --- rows -----------------------------------------------------------------------------------
# A kernel receives ``rows``: ``(block,)`` for a dense matrix, ``(data, indices, indptr)`` for
# CSR.  Sums are taken in float64 whatever the storage.


@scalar
def dense_dot(rows, i, w):
    """``x_i . w``."""
    x = rows[0]
    total = 0.0
    for j in range(x.shape[1]):
        total += x[i, j] * w[j]
    return total


@scalar
def dense_add(rows, i, scale, w):
    """``w += scale * x_i``."""
    x = rows[0]
    for j in range(x.shape[1]):
        w[j] += scale * x[i, j]


@scalar
def csr_dot(rows, i, w):
    """``x_i . w``."""
    data, indices, indptr = rows
    total = 0.0
    # Unsigned, because Python's negative indices would otherwise cost a test for each entry.
    for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
        total += data[p] * w[np.uint64(indices[p])]
    return total


@scalar
def csr_add(rows, i, scale, w):
    """``w += scale * x_i``."""
    data, indices, indptr = rows
    for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
        w[np.uint64(indices[p])] += scale * data[p]


@intrinsic
def _prefetch(typingctx, array, index):
    """Ask the processor to bring one entry of a vector into its cache."""

    def codegen(context, builder, signature, args):
        vector = context.make_array(signature.args[0])(context, builder, args[0])
        byte = ir.IntType(8).as_pointer()
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        address = builder.bitcast(builder.gep(vector.data, [args[1]]), byte)
        # For reading, to be kept in every level, as data.
        builder.call(function, [address, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, index), codegen


@scalar
def dense_prefetch(rows, i):
    """Nothing: a long row is its own prefetch."""


@scalar
def csr_prefetch(rows, i):
    """Announce row ``i``, which is read next: rows in random order miss every cache."""
    data, indices, indptr = rows
    # A cache line of 64 bytes at a time.
    for p in range(indptr[i], indptr[i + 1], 64 // data.itemsize):
        _prefetch(data, p)
    for p in range(indptr[i], indptr[i + 1], 64 // indices.itemsize):
        _prefetch(indices, p)


@scalar
def dense_length(rows, i):
    """How many entries of row ``i`` there are to read."""
    return rows[0].shape[1]


@scalar
def dense_entry(rows, i, k):
    """Column and value of the ``k``-th of them."""
    return k, np.float64(rows[0][i, k])


@scalar
def csr_length(rows, i):
    """How many entries of row ``i`` there are to read."""
    return rows[2][i + 1] - rows[2][i]


@scalar
def csr_entry(rows, i, k):
    """Column and value of the ``k``-th of them."""
    p = rows[2][i] + k
    return rows[1][p], np.float64(rows[0][p])


@scalar
def dense_block_dot(rows, first, last, w, out):
    """``out[k] = x_i . w`` for the rows ``i = first + k`` before ``last``."""
    x = rows[0]
    i = first
    # Four rows for each look at the weights.
    while i + 4 <= last:
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for j in range(x.shape[1]):
            a += x[i, j] * w[j]
            b += x[i + 1, j] * w[j]
            c += x[i + 2, j] * w[j]
            d += x[i + 3, j] * w[j]
        k = i - first
        out[k], out[k + 1], out[k + 2], out[k + 3] = a, b, c, d
        i += 4
    while i < last:
        out[i - first] = dense_dot(rows, i, w)
        i += 1


@scalar
def dense_block_add(rows, first, last, scales, w):
    """``w += sum_k scales[k] x_i`` over the rows ``i = first + k`` before ``last``."""
    x = rows[0]
    i = first
    while i + 4 <= last:
        k = i - first
        a, b, c, d = scales[k], scales[k + 1], scales[k + 2], scales[k + 3]
        for j in range(x.shape[1]):
            w[j] += (a * x[i, j] + b * x[i + 1, j]) + (c * x[i + 2, j] + d * x[i + 3, j])
        i += 4
    while i < last:
        dense_add(rows, i, scales[i - first], w)
        i += 1


@scalar
def csr_block_dot(rows, first, last, w, out):
    """``out[k] = x_i . w`` for the rows ``i = first + k`` before ``last``."""
    for i in range(first, last):
        out[i - first] = csr_dot(rows, i, w)


@scalar
def csr_block_add(rows, first, last, scales, w):
    """``w += sum_k scales[k] x_i`` over the rows ``i = first + k`` before ``last``."""
    for i in range(first, last):
        csr_add(rows, i, scales[i - first], w)


# The defaults that templates are written against.
row_dot = dense_dot
row_add = dense_add
block_dot = dense_block_dot
block_add = dense_block_add
row_prefetch = dense_prefetch
row_length = dense_length
row_entry = dense_entry


# --- products with dense rows ---------------------------------------------------------------


@njit(fastmath=FASTMATH, nogil=True, cache=True)
def dense_matvec(x, w, out, start, stop):
    # As fast as memory gives the rows, which BLAS is for float64 alone.
    for i in range(start, stop):
        total = 0.0
        for j in range(x.shape[1]):
            total += x[i, j] * w[j]
        out[i] = total


@njit(fastmath=FASTMATH, nogil=True, cache=True)
def dense_rmatvec(x, a, out, start, stop):
    i = start
    # Four rows for each look at the sums.
    while i + 4 <= stop:
        p, q, r, s = a[i], a[i + 1], a[i + 2], a[i + 3]
        if p != 0.0 or q != 0.0 or r != 0.0 or s != 0.0:
            for j in range(x.shape[1]):
                out[j] += (p * x[i, j] + q * x[i + 1, j]) + (r * x[i + 2, j] + s * x[i + 3, j])
        i += 4
    while i < stop:
        for j in range(x.shape[1]):
            out[j] += a[i] * x[i, j]
        i += 1


@njit(fastmath=FASTMATH, nogil=True, cache=True)
def dense_row_squares(x, out, start, stop):
    for i in range(start, stop):
        total = 0.0
        for j in range(x.shape[1]):
            total += np.float64(x[i, j]) * np.float64(x[i, j])
        out[i] = total


# --- products with CSR ----------------------------------------------------------------------
# scipy's own products convert the data to the result's type, a silent copy for float32.


@njit(fastmath=FASTMATH, nogil=True, cache=True)
def csr_matvec(data, indices, indptr, w, out, start, stop):
    for i in range(start, stop):
        total = 0.0
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            total += data[p] * w[np.uint64(indices[p])]
        out[i] = total


@njit(fastmath=FASTMATH, nogil=True, cache=True)
def csr_rmatvec(data, indices, indptr, a, out, start, stop):
    for i in range(start, stop):
        if a[i] != 0.0:
            for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
                out[np.uint64(indices[p])] += a[i] * data[p]


@njit(fastmath=FASTMATH, nogil=True, cache=True)
def csr_matmat(data, indices, indptr, w, out, start, stop):
    k = w.shape[1]
    for i in range(start, stop):
        for c in range(k):
            out[i, c] = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            value = np.float64(data[p])
            for c in range(k):
                out[i, c] += value * w[j, c]


@njit(fastmath=FASTMATH, nogil=True, cache=True)
def csr_rmatmat(data, indices, indptr, a, out, start, stop):
    k = a.shape[1]
    for i in range(start, stop):
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            value = np.float64(data[p])
            for c in range(k):
                out[j, c] += value * a[i, c]


@njit(fastmath=FASTMATH, nogil=True, cache=True)
def csr_half_gram(data, indices, indptr, weights, out, start, stop):
    # What, added to its transpose, is the Gram matrix.  Indices may be unsorted, so that a pair
    # is put into its triangle; one that is repeated is a pair on the diagonal, which the
    # transpose counts twice, as it should be.
    for i in range(start, stop):
        if weights[i] != 0.0:
            for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
                scaled = weights[i] * data[p]
                j = np.uint64(indices[p])
                out[j, j] += 0.5 * scaled * data[p]
                for q in range(np.uint64(indptr[i]), p):
                    k = np.uint64(indices[q])
                    out[max(j, k), min(j, k)] += scaled * data[q]


@njit(nogil=True, cache=True)
def csr_count(indices, indptr, place, out, start, stop):
    """How many entries of each row are in columns that have a place; row ``i`` at ``i + 1``."""
    for i in range(start, stop):
        count = 0
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            count += place[np.uint64(indices[p])] >= 0
        out[i + 1] = count


@njit(nogil=True, cache=True)
def csr_pick(data, indices, indptr, place, ends, out, out_indices, start, stop):
    """The entries of rows in columns that have a place, the columns renamed by it."""
    for i in range(start, stop):
        q = ends[i]
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            j = place[np.uint64(indices[p])]
            if j >= 0:
                out[q] = data[p]
                out_indices[q] = j
                q += 1


@njit(fastmath=FASTMATH, nogil=True, cache=True)
def csr_column_squares(data, indices, indptr, weights, out, start, stop):
    # sum_i weights_i x_ij^2; a repeated index counts as the square of its parts, which is
    # good enough for the preconditioner, its only use.
    for i in range(start, stop):
        if weights[i] != 0.0:
            for p in range(indptr[i], indptr[i + 1]):
                out[indices[p]] += weights[i] * data[p] * data[p]


@njit(fastmath=FASTMATH, nogil=True, cache=True)
def csr_absolute_dot(data, indices, indptr, t, out, start, stop):
    for i in range(start, stop):
        total = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            total += abs(data[p] * t[indices[p]])
        out[i] = total


@njit(fastmath=FASTMATH, nogil=True, cache=True)
def csr_absolute_rmatvec(data, indices, indptr, a, out, start, stop):
    for i in range(start, stop):
        for p in range(indptr[i], indptr[i + 1]):
            out[indices[p]] += abs(a[i] * data[p])


@njit(fastmath=FASTMATH, nogil=True, cache=True)
def csr_plain_row_squares(data, indptr, out, start, stop):
    """Where no index of a row is repeated."""
    for i in range(start, stop):
        total = 0.0
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            total += np.float64(data[p]) * np.float64(data[p])
        out[i] = total


@njit(fastmath=FASTMATH, nogil=True, cache=True)
def csr_row_squares(data, indices, indptr, met, scratch, out, start, stop):
    # ``met`` holds the last row that had a column; -1 to begin with.  Returns whether any row had
    # one twice.
    ever = False
    for i in range(start, stop):
        total = 0.0
        repeated = False
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            j = np.uint64(indices[p])
            total += np.float64(data[p]) * np.float64(data[p])
            repeated |= met[j] == i
            met[j] = i
        if repeated:
            ever = True
            # (u + v)^2 != u^2 + v^2: through a scratch vector.
            for p in range(indptr[i], indptr[i + 1]):
                scratch[indices[p]] += data[p]
            total = 0.0
            for p in range(indptr[i], indptr[i + 1]):
                j = np.uint64(indices[p])
                total += scratch[j] * scratch[j]
                scratch[j] = 0.0
        out[i] = total
    return ever
