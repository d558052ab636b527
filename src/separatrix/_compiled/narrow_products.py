"""Products of a tall matrix with a few columns, in the processor's vector registers.

``dgemm`` is made for square matrices; where one side has ten columns, it reaches a fifth of the
processor's speed, and less with one thread.  Here ``height`` rows by up to three vectors of columns
are kept in registers over a whole sum.  The same tile serves both ways: down the rows for
``X' R``, along them for ``X W``.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from separatrix._compiled import pool, row_access
from separatrix._compiled.compilation import njit
from separatrix._compiled.outer_products import _HEIGHT, _KNOWN, _LANES, _bring

__all__ = ["KNOWN", "ROWS", "add_dot", "add_t_dot", "dot", "padded", "t_dot"]

# Whether the processor is one that this is made for.
KNOWN = _KNOWN
# Rows at a time, which stay in the second-level cache between the two products of a pass.
ROWS = 64


def _tile(width: int, height: int = _HEIGHT, lanes: int = _LANES) -> Any:
    """Code that adds ``sum_t a[t * along + i * across] b[t, column : ...]`` to ``out``.

    ``i`` are ``height`` rows of ``out`` from ``row`` on, and the columns ``width`` vectors of
    ``lanes``.  ``a`` is counted in numbers from ``start``, in float32 or float64.
    """

    @intrinsic
    def tile(typingctx, a, start, along, across, terms, b, first, column, out, row):
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            source = context.make_array(signature.args[0])(context, builder, args[0])
            right = context.make_array(signature.args[5])(context, builder, args[5])
            target = context.make_array(signature.args[8])(context, builder, args[8])
            _, start, along, across, terms, _, first, column, _, row = args
            integer, double = ir.IntType(64), ir.DoubleType()
            vector = ir.VectorType(double, lanes)
            place32 = ir.IntType(32)
            wide = signature.args[0].dtype == types.float64

            def number(value: int) -> Any:
                return ir.Constant(integer, value)

            def columns(array: Any) -> Any:
                return builder.udiv(builder.extract_value(array.strides, 0), number(8))

            def address(pointer: Any, place: Any) -> Any:
                return builder.bitcast(builder.gep(pointer, [place]), vector.as_pointer())

            name = f"llvm.fma.v{lanes}f64"
            fma = builder.module.globals.get(name)
            if fma is None:
                fma = ir.Function(
                    builder.module, ir.FunctionType(vector, [vector, vector, vector]), name
                )
            step = columns(right)
            offsets = [builder.mul(across, number(i)) for i in range(height)]
            base = builder.gep(source.data, [start])
            before = builder.block
            loop = builder.append_basic_block("terms")
            after = builder.append_basic_block("sums")
            done = builder.append_basic_block("done")
            builder.cbranch(builder.icmp_signed(">", terms, number(0)), loop, done)

            builder.position_at_end(loop)
            count = builder.phi(integer)
            count.add_incoming(number(0), before)
            zero = ir.Constant(vector, [ir.Constant(double, 0.0)] * lanes)
            sums = [builder.phi(vector) for _ in range(height * width)]
            line = builder.add(builder.mul(builder.add(first, count), step), column)
            loaded = [
                builder.load(address(right.data, builder.add(line, number(v * lanes))), align=8)
                for v in range(width)
            ]
            head = builder.gep(base, [builder.mul(count, along)])
            nothing = ir.Constant(vector, ir.Undefined)
            everywhere = ir.Constant(
                ir.VectorType(place32, lanes), [ir.Constant(place32, 0)] * lanes
            )
            added = []
            for i in range(height):
                one = builder.load(builder.gep(head, [offsets[i]]))
                if not wide:
                    one = builder.fpext(one, double)
                one = builder.insert_element(nothing, one, ir.Constant(place32, 0))
                one = builder.shuffle_vector(one, nothing, everywhere)
                for v in range(width):
                    added.append(builder.call(fma, [one, loaded[v], sums[i * width + v]]))
            following = builder.add(count, number(1))
            count.add_incoming(following, loop)
            for total, more in zip(sums, added, strict=True):
                total.add_incoming(zero, before)
                total.add_incoming(more, loop)
            builder.cbranch(builder.icmp_signed("<", following, terms), loop, after)

            builder.position_at_end(after)
            stride = columns(target)
            for i in range(height):
                corner = builder.add(builder.mul(builder.add(row, number(i)), stride), column)
                for v in range(width):
                    pointer = address(target.data, builder.add(corner, number(v * lanes)))
                    total = builder.fadd(builder.load(pointer, align=8), added[i * width + v])
                    builder.store(total, pointer, align=8)
            builder.branch(done)
            builder.position_at_end(done)
            return context.get_dummy_value()

        size = types.intp
        kinds = (a, size, size, size, size, b, size, size, out, size)
        return types.void(*kinds), codegen

    return tile


_tile_1, _tile_2, _tile_3 = _tile(1), _tile(2), _tile(3)


@numba.njit(fastmath=row_access.FASTMATH, nogil=True, error_model="numpy")
def _strip(a, start, along, across, terms, b, first, out, row):
    """All columns of ``_HEIGHT`` rows of ``out``, three, two or one vector of them at a time."""
    column = 0
    while column < b.shape[1]:
        vectors = (b.shape[1] - column) // _LANES
        if vectors >= 3 and vectors != 4:
            _tile_3(a, start, along, across, terms, b, first, column, out, row)
            column += 3 * _LANES
        elif vectors >= 2:
            _tile_2(a, start, along, across, terms, b, first, column, out, row)
            column += 2 * _LANES
        else:
            _tile_1(a, start, along, across, terms, b, first, column, out, row)
            column += _LANES


@numba.njit(fastmath=row_access.FASTMATH, nogil=True, error_model="numpy")
def add_dot(x, first, last, w, out, row):
    """``out[row:] += X[first:last] W``; ``x`` and ``w``, ``out`` C-contiguous."""
    d = x.shape[1]
    i = first
    while i + _HEIGHT <= last:
        _strip(x, i * d, 1, d, d, w, 0, out, row + i - first)
        i += _HEIGHT
    while i < last:
        for j in range(d):
            for k in range(w.shape[1]):
                out[row + i - first, k] += x[i, j] * w[j, k]
        i += 1


@numba.njit(fastmath=row_access.FASTMATH, nogil=True, error_model="numpy")
def add_t_dot(x, first, last, a, row, out):
    """``out += X[first:last]' A[row:]``, likewise."""
    d = x.shape[1]
    j = 0
    while j + _HEIGHT <= d:
        _strip(x, first * d + j, d, 1, last - first, a, row, out, j)
        j += _HEIGHT
    if j < d:
        for i in range(first, last):
            for c in range(j, d):
                for k in range(a.shape[1]):
                    out[c, k] += x[i, c] * a[row + i - first, k]


@numba.njit(fastmath=row_access.FASTMATH, nogil=True, error_model="numpy")
def fetch(x, first, last):
    """Ask for rows in the order in which they lie; the tiles of :func:`add_t_dot` jump."""
    for place in range(first * x.shape[1], last * x.shape[1], 64 // x.itemsize):
        _bring(x, place)


@njit(fastmath=row_access.FASTMATH, nogil=True, cache=True, error_model="numpy")
def _dot(x, w, out, first, last):
    padded = np.empty((ROWS, w.shape[1]))
    for start in range(first, last, ROWS):
        stop = min(start + ROWS, last)
        padded[:] = 0.0
        add_dot(x, start, stop, w, padded, 0)
        for i in range(start, stop):
            for k in range(out.shape[1]):
                out[i, k] = padded[i - start, k]


@njit(fastmath=row_access.FASTMATH, nogil=True, cache=True, error_model="numpy")
def _t_dot(x, a, out, first, last):
    padded = np.zeros((ROWS, out.shape[1]))
    for start in range(first, last, ROWS):
        stop = min(start + ROWS, last)
        fetch(x, start, stop)
        for i in range(start, stop):
            for k in range(a.shape[1]):
                padded[i - start, k] = a[i, k]
        add_t_dot(x, start, stop, padded, 0, out)


def padded(columns: int) -> int:
    """So many columns, up to whole vectors."""
    return -(-columns // _LANES) * _LANES


def dot(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """``X W`` for C-contiguous ``x`` of shape (n, d) and ``w`` (d, K); column by column."""
    n, k = len(x), w.shape[1]
    wide = np.zeros((w.shape[0], padded(k)))
    wide[:, :k] = w
    out = np.empty((n, k), order="F")
    ranges = pool.ranges(n, float(x.size) * k)
    pool.run([partial(_dot, x, wide, out, a, b) for a, b in ranges])
    return out


def t_dot(x: np.ndarray, a: np.ndarray) -> np.ndarray:
    """``X' A`` for C-contiguous ``x`` of shape (n, d) and ``a`` (n, K), in any order."""
    n, k = a.shape
    ranges = pool.ranges(n, float(x.size) * k)
    parts = [np.zeros((x.shape[1], padded(k))) for _ in ranges]
    pool.run(
        [
            partial(_t_dot, x, a, out, first, last)
            for (first, last), out in zip(ranges, parts, strict=True)
        ]
    )
    for part in parts[1:]:
        parts[0] += part
    return np.ascontiguousarray(parts[0][:, :k])
