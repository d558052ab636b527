"""Rows as kernels read them, dense and CSR alike, and products of matrices with vectors."""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from separatrix._compiled.compilation import FASTMATH, njit, scalar


def read_only(array: np.ndarray) -> np.ndarray:
    """A view that kernels cannot write to.

    It also saves compilations: memory-mapped and ordinary input have one type.
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
    """Prefetch one entry of a contiguous array into the processor's cache."""

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
    """Do nothing: a long row is its own prefetch."""


@scalar
def csr_prefetch(rows, i):
    """Prefetch row ``i``, which is read next: rows in random order miss every cache."""
    data, indices, indptr = rows
    # A cache line of 64 bytes at a time.
    for p in range(indptr[i], indptr[i + 1], 64 // data.itemsize):
        _prefetch(data, p)
    for p in range(indptr[i], indptr[i + 1], 64 // indices.itemsize):
        _prefetch(indices, p)


@scalar
def dense_length(rows, i):
    """The number of entries of row ``i`` to read."""
    return rows[0].shape[1]


@scalar
def dense_entry(rows, i, k):
    """The column and the value of the ``k``-th entry of row ``i``."""
    return k, np.float64(rows[0][i, k])


@scalar
def csr_length(rows, i):
    """The number of entries of row ``i`` to read."""
    return rows[2][i + 1] - rows[2][i]


@scalar
def csr_entry(rows, i, k):
    """The column and the value of the ``k``-th entry of row ``i``."""
    p = np.uint64(rows[2][i]) + np.uint64(k)
    return rows[1][p], np.float64(rows[0][p])


@scalar
def dense_block_dot(rows, first, last, w, out):
    """``out[k] = x_i . w`` for the rows ``i = first + k`` before ``last``."""
    x = rows[0]
    i = first
    # Four rows at a time, for one reading of the weights.
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
def turned_block_dot(rows, first, last, w, out):
    """``out[k] = x_i . w`` as :func:`dense_block_dot`, for rows that are columns of ``rows[0]``."""
    x = rows[0]
    count, d = last - first, x.shape[0]
    for k in range(count):
        out[k] = 0.0
    j = 0
    # Four columns at a time, for one reading of the sums.  They are slices, because the compiler
    # does not use vectors where an index might be negative, for all it knows.
    while j + 4 <= d:
        p, q, r, s = w[j], w[j + 1], w[j + 2], w[j + 3]
        a, b = x[j, first:last], x[j + 1, first:last]
        c, e = x[j + 2, first:last], x[j + 3, first:last]
        for k in range(count):
            out[k] += (p * a[k] + q * b[k]) + (r * c[k] + s * e[k])
        j += 4
    while j < d:
        a = x[j, first:last]
        for k in range(count):
            out[k] += w[j] * a[k]
        j += 1


@scalar
def turned_block_add(rows, first, last, scales, w):
    """``w += sum_k scales[k] x_i``, for rows that are columns of ``rows[0]``."""
    x = rows[0]
    count, d = last - first, x.shape[0]
    j = 0
    while j + 4 <= d:
        a, b = x[j, first:last], x[j + 1, first:last]
        c, e = x[j + 2, first:last], x[j + 3, first:last]
        p, q, r, s = 0.0, 0.0, 0.0, 0.0
        for k in range(count):
            scale = scales[k]
            p += scale * a[k]
            q += scale * b[k]
            r += scale * c[k]
            s += scale * e[k]
        w[j] += p
        w[j + 1] += q
        w[j + 2] += r
        w[j + 3] += s
        j += 4
    while j < d:
        a = x[j, first:last]
        p = 0.0
        for k in range(count):
            p += scales[k] * a[k]
        w[j] += p
        j += 1


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


# The functions that templates are written against.
row_dot = dense_dot
row_add = dense_add
block_dot = dense_block_dot
block_add = dense_block_add
row_prefetch = dense_prefetch
row_length = dense_length
row_entry = dense_entry


# --- products with dense rows ---------------------------------------------------------------


@njit(fastmath=FASTMATH, nogil=True, cache=True)
def dense_matvec(x, w, offset, out, start, stop):
    """Compute ``X w + offset``, and the sum of its entries, without reading them once more."""
    # As fast as memory gives the rows, which BLAS is for float64 alone; numbers 4 kB ahead are
    # prefetched, a cache line of 64 bytes at a time, for the end of a row delays the next one.
    all_of_them = 0.0
    d, line, ahead = x.shape[1], 64 // x.itemsize, 4096 // x.itemsize
    place = start * d
    for i in range(start, stop):
        while place < (i + 1) * d:
            _prefetch(x, place + ahead)
            place += line
        total = offset
        for j in range(x.shape[1]):
            total += x[i, j] * w[j]
        out[i] = total
        all_of_them += total
    return all_of_them


@njit(fastmath=FASTMATH, nogil=True, cache=True)
def dense_rmatvec(x, a, out, start, stop):
    i = start
    # Four rows at a time, for one reading of the sums.
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


@njit(fastmath=FASTMATH, nogil=True, cache=True)
def dense_column_squares(x, a, out, start, stop):
    """``out_j += sum_i a_i x_ij^2``."""
    i = start
    while i + 4 <= stop:
        p, q, r, s = a[i], a[i + 1], a[i + 2], a[i + 3]
        for j in range(x.shape[1]):
            b, c = np.float64(x[i, j]), np.float64(x[i + 1, j])
            d, e = np.float64(x[i + 2, j]), np.float64(x[i + 3, j])
            out[j] += (p * b * b + q * c * c) + (r * d * d + s * e * e)
        i += 4
    while i < stop:
        for j in range(x.shape[1]):
            out[j] += a[i] * np.float64(x[i, j]) * np.float64(x[i, j])
        i += 1


@njit(fastmath=FASTMATH, nogil=True, cache=True)
def turned_column_squares(x, a, out, start, stop):
    """``out_j += sum_i a_i x_ij^2``, for rows that are columns of ``x``."""
    weights = a[start:stop]
    for j in range(x.shape[0]):
        column = x[j, start:stop]
        total = 0.0
        for k in range(len(weights)):
            total += weights[k] * np.float64(column[k]) * np.float64(column[k])
        out[j] += total


# The number of rows and of columns of a tile that is copied within the first-level cache.
_TILE = 32


@njit(nogil=True, cache=True)
def turned_copy(x, first, out):
    """Copy rows from ``first`` on, which are columns of ``x``, into the rows of ``out``."""
    for a in range(0, out.shape[0], _TILE):
        b = min(a + _TILE, out.shape[0])
        for j in range(0, x.shape[0], _TILE):
            k = min(j + _TILE, x.shape[0])
            tile, own = x[j:k, first + a : first + b], out[a:b, j:k]
            for r in range(own.shape[0]):
                for c in range(own.shape[1]):
                    own[r, c] = tile[c, r]


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


@scalar
def csr_add_dot(rows, first, last, w, out, row):
    """``out[row:] += X[first:last] W``."""
    data, indices, indptr = rows
    for i in range(first, last):
        place = row + i - first
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            j, value = np.uint64(indices[p]), np.float64(data[p])
            for c in range(w.shape[1]):
                out[place, c] += value * w[j, c]


@scalar
def csr_add_t_dot(rows, first, last, a, row, out):
    """``out += X[first:last]' A[row:]``."""
    data, indices, indptr = rows
    for i in range(first, last):
        place = row + i - first
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            j, value = np.uint64(indices[p]), np.float64(data[p])
            for c in range(a.shape[1]):
                out[j, c] += value * a[place, c]


@njit(fastmath=FASTMATH, nogil=True, cache=True)
def csr_matmat(data, indices, indptr, w, out, start, stop):
    out[start:stop] = 0.0
    csr_add_dot((data, indices, indptr), start, stop, w, out, start)


@njit(fastmath=FASTMATH, nogil=True, cache=True)
def csr_rmatmat(data, indices, indptr, a, out, start, stop):
    csr_add_t_dot((data, indices, indptr), start, stop, a, start, out)


@njit(fastmath=FASTMATH, nogil=True, cache=True)
def csr_half_gram(data, indices, indptr, weights, out, start, stop):
    # The sum of this and its transpose is the Gram matrix, whichever triangle a pair is put into; a
    # repeated index is a pair on the diagonal, which the transpose counts twice, as it should be.
    # Two entries at a time share the reading of those before them.
    one, two = np.uint64(1), np.uint64(2)
    for i in range(start, stop):
        weight, first, end = weights[i], np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        if weight == 0.0:
            continue
        p = first
        while p + one < end:
            j, k = np.uint64(indices[p]), np.uint64(indices[p + one])
            scaled, other = weight * data[p], weight * data[p + one]
            row, next_row = out[j], out[k]
            for q in range(first, p):
                m = np.uint64(indices[q])
                row[m] += scaled * data[q]
                next_row[m] += other * data[q]
            row[j] += 0.5 * scaled * data[p]
            next_row[j] += other * data[p]
            next_row[k] += 0.5 * other * data[p + one]
            p += two
        if p < end:
            j = np.uint64(indices[p])
            scaled, row = weight * data[p], out[j]
            for q in range(first, p):
                row[np.uint64(indices[q])] += scaled * data[q]
            row[j] += 0.5 * scaled * data[p]


@njit(nogil=True, cache=True)
def csr_count(indices, indptr, place, out, start, stop):
    """Count the entries of each row in columns that have a place; row ``i`` at ``i + 1``."""
    for i in range(start, stop):
        count = 0
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            count += place[np.uint64(indices[p])] >= 0
        out[i + 1] = count


@njit(nogil=True, cache=True)
def csr_pick(data, indices, indptr, place, ends, out, out_indices, start, stop):
    """Copy the entries of rows in columns that have a place, the columns renamed by it."""
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
    # sum_i weights_ik x_ij^2; a repeated index counts as the square of its parts, which is
    # good enough for the preconditioner, its only use.
    width = weights.shape[1]
    for i in range(start, stop):
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            square = np.float64(data[p]) * data[p]
            if width == 1:
                out[j, 0] += square * weights[i, 0]
                continue
            for k in range(width):
                out[j, k] += square * weights[i, k]


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
    """Compute the squared lengths of rows in which no index is repeated."""
    for i in range(start, stop):
        total = 0.0
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            total += np.float64(data[p]) * np.float64(data[p])
        out[i] = total


@njit(fastmath=FASTMATH, nogil=True, cache=True)
def csr_row_squares(data, indices, indptr, met, scratch, out, start, stop):
    # ``met`` holds, for each column, the last row with an entry in it; -1 at first.  Returns
    # whether any row had a column twice.
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
