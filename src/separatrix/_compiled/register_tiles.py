"""Tiles of a product of matrices that stay in the processor's vector registers over a whole sum.

BLAS is made for large matrices.  Where one side of a product has ten columns, ``dgemm`` reaches a
fifth of the processor's speed; on rows of a hundred numbers the blocks of ``dsyrk`` hardly fill.
Here ``HEIGHT`` rows by up to three vectors of columns are summed up in registers.  The one tile
serves ``X W`` and ``X' R`` for a few columns, and ``X' X`` for short rows.
"""

from __future__ import annotations

from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from separatrix._compiled.compilation import njit

_INTEGER, _SHORT, _DOUBLE = ir.IntType(64), ir.IntType(32), ir.DoubleType()


def _shape() -> tuple[int, int] | None:
    """The length of a vector and the number of rows of a tile; None for an unsuitable processor."""
    features = binding.get_host_cpu_features()
    if features.get("avx512f"):
        return 8, 8
    if features.get("avx2") and features.get("fma"):
        return 4, 4
    return (2, 8) if features.get("neon") else None


# Whether the processor is suitable.
KNOWN = _shape() is not None
LANES, HEIGHT = _shape() or (8, 8)


def tile_of(width: int, height: int = HEIGHT, lanes: int = LANES) -> Any:
    """Code that adds ``sum_t a[t * along + i * across] b[first + t, column : ...]`` to ``out``.

    ``i`` counts ``height`` rows of ``out`` from ``row`` on, and the columns are ``width`` vectors
    of ``lanes``.  ``a`` is counted in numbers from ``start``, in float32 or float64; ``b`` and
    ``out`` are C-contiguous and of float64.
    """

    @intrinsic
    def tile(typingctx, a, start, along, across, terms, b, first, column, out, row):  # type: ignore[no-untyped-def]
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            arrays = [
                context.make_array(signature.args[k])(context, builder, args[k]) for k in (0, 5, 8)
            ]
            _add_tile(builder, arrays, [*args[1:5], *args[6:8], args[9]], (height, width, lanes))
            return context.get_dummy_value()

        size = types.intp
        kinds = (a, size, size, size, size, b, size, size, out, size)
        return types.void(*kinds), codegen

    return tile


def _add_tile(builder: Any, arrays: Any, numbers: Any, shape: tuple[int, int, int]) -> None:
    """Write the instructions of a tile; its sums are variables, which LLVM keeps in registers."""
    (a, b, out), (start, along, across, terms, first, column, row) = arrays, numbers
    height, width, lanes = shape
    vector = ir.VectorType(_DOUBLE, lanes)
    fma = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(vector, [vector] * 3), f"llvm.fma.v{lanes}f64"
    )

    def vectors(array: Any, i: Any) -> list[Any]:
        """Addresses of the vectors of row ``i`` from ``column`` on."""
        stride = builder.udiv(builder.extract_value(array.strides, 0), _INTEGER(8))
        place = builder.gep(array.data, [builder.add(builder.mul(i, stride), column)])
        at = [builder.gep(place, [_INTEGER(v * lanes)]) for v in range(width)]
        return [builder.bitcast(pointer, vector.as_pointer()) for pointer in at]

    sums = [
        [cgutils.alloca_once_value(builder, ir.Constant(vector, None)) for _ in range(width)]
        for _ in range(height)
    ]
    offsets = [builder.mul(across, _INTEGER(i)) for i in range(height)]
    with cgutils.for_range(builder, terms) as loop:
        right = [builder.load(p, align=8) for p in vectors(b, builder.add(first, loop.index))]
        head = builder.gep(a.data, [builder.add(start, builder.mul(loop.index, along))])
        for offset, totals in zip(offsets, sums, strict=True):
            left = _everywhere(builder, builder.load(builder.gep(head, [offset])), lanes)
            for value, total in zip(right, totals, strict=True):
                builder.store(builder.call(fma, [left, value, builder.load(total)]), total)
    for i, totals in enumerate(sums):
        for pointer, total in zip(vectors(out, builder.add(row, _INTEGER(i))), totals, strict=True):
            added = builder.fadd(builder.load(pointer, align=8), builder.load(total))
            builder.store(added, pointer, align=8)


def _everywhere(builder: Any, number: Any, lanes: int) -> Any:
    """A vector of one number, in float64."""
    if number.type != _DOUBLE:
        number = builder.fpext(number, _DOUBLE)
    nothing = ir.Constant(ir.VectorType(_DOUBLE, lanes), ir.Undefined)
    first = builder.insert_element(nothing, number, _SHORT(0))
    return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(_SHORT, lanes), None))


_tile_1, _tile_2, _tile_3 = tile_of(1), tile_of(2), tile_of(3)


@njit(nogil=True, error_model="numpy")
def add_tile(a, start, along, across, terms, b, first, column, out, row):  # type: ignore[no-untyped-def]
    """Add the widest tile that fits at ``column`` of ``b``; return where the next begins."""
    vectors = (b.shape[1] - column) // LANES
    # Two and two are faster than three and one.
    if vectors >= 3 and vectors != 4:
        _tile_3(a, start, along, across, terms, b, first, column, out, row)
        return column + 3 * LANES
    if vectors >= 2:
        _tile_2(a, start, along, across, terms, b, first, column, out, row)
        return column + 2 * LANES
    _tile_1(a, start, along, across, terms, b, first, column, out, row)
    return column + LANES


@njit(nogil=True, error_model="numpy")
def add_strip(a, start, along, across, terms, b, first, out, row):  # type: ignore[no-untyped-def]
    """Add all tiles of ``HEIGHT`` rows of ``out``; see :func:`tile_of`."""
    column = 0
    while column < b.shape[1]:
        column = add_tile(a, start, along, across, terms, b, first, column, out, row)


@intrinsic
def prefetch(typingctx, array, place):  # type: ignore[no-untyped-def]
    """Prefetch the cache line of one entry of a C-contiguous array into the second-level cache."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        byte = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [byte, _SHORT, _SHORT, _SHORT])
        function = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        address = builder.bitcast(builder.gep(data, [args[1]]), byte)
        # For reading, as data, past the first level, which is full of the factors of the products.
        builder.call(function, [address, _SHORT(0), _SHORT(2), _SHORT(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp), codegen
