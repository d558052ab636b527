"""Models as ONNX graphs of core operators in float64.

ONNX Runtime computes these in float64 on a CPU; what it has for whole models (``LinearClassifier``,
``SVMClassifier``, ``Scaler``, ``TfIdfVectorizer``) it computes in float32, so that none is used.
"""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg

from separatrix.data.design import dense
from separatrix.exceptions import imported
from separatrix.exports.artefacts import Heading, Sample, Unprintable
from separatrix.exports.proof import without_empty_texts
from separatrix.expressions import answers, features, scores
from separatrix.expressions.base import Expression, Features
from separatrix.kernels import functions as kernels

if TYPE_CHECKING:
    from separatrix.expressions.features import Program

OPSET = 19
"""The version of the operators."""

_MOST_LEVELS = 20_000
_MOST_TERMS = 5_000


class _Graph:
    """The nodes and constants of a graph, and where the values of expressions are."""

    def __init__(self, program: Program) -> None:
        self.onnx = imported("onnx", "An export to ONNX", extra="onnx")
        self.program = program
        self.nodes: list[Any] = []
        self.constants: dict[Any, tuple[str, Any]] = {}
        self.known: dict[Any, str] = {}
        self.matrix = ""

    def constant(self, values: Any, kind: Any = np.float64) -> str:
        """The name of a tensor that holds numbers or texts."""
        array = np.asarray(values, dtype=kind)
        key = (array.shape, str(array.dtype), array.tobytes() if kind is not object else
               tuple(array.ravel().tolist()))  # fmt: skip
        if key not in self.constants:
            name = f"c{len(self.constants)}"
            self.constants[key] = name, self.onnx.numpy_helper.from_array(array, name)
        return self.constants[key][0]

    def add(self, operator: str, *inputs: str | float, **attributes: Any) -> str:
        """The name of an operator's result for tensors and numbers; equal ones are made once."""
        names = [one if isinstance(one, str) else self.constant([[one]]) for one in inputs]
        key = (operator, *names, tuple(sorted((k, str(v)) for k, v in attributes.items())))
        if key not in self.known:
            name = self.known[key] = f"v{len(self.nodes)}"
            self.nodes.append(self.onnx.helper.make_node(operator, names, [name], **attributes))
        return self.known[key]

    def cast(self, name: str, kind: str = "DOUBLE") -> str:
        return self.add("Cast", name, to=getattr(self.onnx.TensorProto, kind))

    def total(self, operator: str, name: str, axis: int = 1) -> str:
        """A sum or a maximum over an axis, which is kept."""
        return self.add(operator, name, self.constant([axis], np.int64), keepdims=1)

    def part(self, name: str, places: Any, axis: int = 1) -> str:
        return self.add("Gather", name, self.constant(places, np.int64), axis=axis)

    def of(self, node: Expression) -> str:
        """The name of the values of an expression, of shape (n_rows, n_columns)."""
        if isinstance(node, Features):
            return self.matrix
        if node not in self.known:
            self.known[node] = _tree(node, self)
        return self.known[node]


# --- features of cells ----------------------------------------------------------------------------


def _input(cell: features.Cell, program: Program) -> str:
    return f"cell{program.cells.index(cell)}"


@singledispatch
def _number(node: Any, graph: _Graph) -> str:
    raise Unprintable(
        f"ONNX has no operator in float64 for {type(node).__name__}; export to Python, JavaScript "
        "or SQL"
    )


@_number.register
def _(node: features.Cell, graph: _Graph) -> str:
    return _input(node, graph.program)


@_number.register
def _(node: features.Constant, graph: _Graph) -> str:
    return graph.constant([[node.value]])


@_number.register
def _(node: features.Arithmetic, graph: _Graph) -> str:
    operator = {"+": "Add", "-": "Sub", "*": "Mul", "/": "Div"}[node.operator]
    return graph.add(operator, _number(node.left, graph), _number(node.right, graph))


@_number.register
def _(node: features.Power, graph: _Graph) -> str:
    base = found = _number(node.base, graph)
    for _ in range(node.exponent - 1):
        found = graph.add("Mul", found, base)
    return found


@_number.register
def _(node: features.Function, graph: _Graph) -> str:
    of = _number(node.of, graph)
    if node.name == "log1p":
        # log(u) x / (u - 1) with u = 1 + x as it is rounded (Kahan): x itself where u is 1.
        u = graph.add("Add", 1.0, of)
        quotient = graph.add("Div", of, graph.add("Sub", u, 1.0))
        found = graph.add("Mul", graph.add("Log", u), quotient)
        return graph.add("Where", graph.add("Equal", u, 1.0), of, found)
    return graph.add({"log": "Log", "floor": "Floor", "absolute": "Abs"}[node.name], of)


@_number.register
def _(node: features.Where, graph: _Graph) -> str:
    condition = _condition(node.condition, graph)
    return graph.add("Where", condition, _number(node.then, graph), _number(node.otherwise, graph))


@_number.register
def _(node: features.DatePart, graph: _Graph) -> str:
    add = graph.add

    def whole(left: str, divisor: float) -> str:
        return add("Floor", add("Div", left, divisor))

    def rest(left: str, divisor: float) -> str:
        return add("Sub", left, add("Mul", whole(left, divisor), divisor))

    days = _number(node.cell, graph)
    day = add("Floor", days)
    if node.part == "weekday":
        return add("Add", rest(add("Add", day, 3.0), 7.0), 1.0)
    if node.part == "hour":
        return add("Floor", add("Add", add("Mul", add("Sub", days, day), 24.0), 1e-9))
    # Years that begin in March, in eras of 400 (Hinnant, 2013, chrono-compatible algorithms).
    shifted = add("Add", day, 719468.0)
    of_era = rest(shifted, 146097.0)
    leaps = add("Sub", add("Add", add("Sub", of_era, whole(of_era, 1460.0)),
                           whole(of_era, 36524.0)), whole(of_era, 146096.0))  # fmt: skip
    year = whole(leaps, 365.0)
    before = add("Sub", add("Add", add("Mul", year, 365.0), whole(year, 4.0)), whole(year, 100.0))
    month = whole(add("Add", add("Mul", add("Sub", of_era, before), 5.0), 2.0), 153.0)
    late = add("Greater", month, 9.5)
    if node.part == "month":
        return add("Add", month, add("Where", late, -9.0, 3.0))
    eras = add("Mul", whole(shifted, 146097.0), 400.0)
    return add("Add", add("Add", year, eras), add("Where", late, 1.0, 0.0))


@singledispatch
def _condition(node: Any, graph: _Graph) -> str:
    raise Unprintable(f"ONNX has no operator for {type(node).__name__}")


@_condition.register
def _(node: features.IsMissing, graph: _Graph) -> str:
    cell = _input(node.cell, graph.program)
    if node.cell.kind == "text":
        return graph.add("Equal", cell, graph.constant([[""]], object))
    found = graph.add("IsNaN", cell)
    for value in node.placeholders:
        found = graph.add("Or", found, graph.add("Equal", cell, value))
    return found


@_condition.register
def _(node: features.IsLevel, graph: _Graph) -> str:
    levels = [text for text in node.levels if text]
    if len(levels) > _MOST_LEVELS:
        raise Unprintable(f"column '{node.cell.column}' compares with {len(levels):,} texts")
    each = graph.add("Equal", _input(node.cell, graph.program), graph.constant([levels], object))
    if len(levels) == 1:
        return each
    found = graph.total("ReduceMax", graph.cast(each, "INT32"))
    return graph.cast(found, "BOOL")


@_condition.register
def _(node: features.Compare, graph: _Graph) -> str:
    left, right = _number(node.left, graph), _number(node.right, graph)
    if node.operator == "==":
        return graph.add("Equal", left, right)
    less = graph.add("Less", left, right)
    return less if node.operator == "<" else graph.add("Or", less, graph.add("Equal", left, right))


# --- scores and answers ---------------------------------------------------------------------------


@singledispatch
def _tree(node: Any, graph: _Graph) -> str:
    raise Unprintable(f"ONNX has no operators in float64 for {type(node).__name__}")


def _affine(graph: _Graph, values: str, weights: np.ndarray, intercepts: Any) -> str:
    product = graph.add("MatMul", values, graph.constant(np.ascontiguousarray(weights.T)))
    return graph.add("Add", product, graph.constant(np.atleast_2d(intercepts)))


@_tree.register
def _(node: scores.Affine, graph: _Graph) -> str:
    return _affine(graph, graph.of(node.of), dense(node.weights).astype(float), node.intercepts)


@_tree.register
def _(node: scores.Difference, graph: _Graph) -> str:
    of = graph.of(node.of)
    return graph.add("Sub", graph.part(of, [1]), graph.part(of, [0]))


@_tree.register
def _(node: scores.Quadratic, graph: _Graph) -> str:
    own, columns = node.gaussians, []
    kept = graph.part(graph.of(node.of), own.kept)
    rest = np.zeros(own.means.shape) if own.rest is None else own.rest
    for k, constant in enumerate(node.constants.tolist()):
        factor = own.factor(k)
        step = graph.add("Sub", kept, graph.constant(own.means[k : k + 1, own.kept]))
        step = graph.add("Sub", step, graph.constant(rest[k : k + 1, own.kept]))
        step = graph.add("Mul", step, graph.constant(factor.scale[None]))
        inverse = scipy.linalg.solve_triangular(
            np.tril(factor.lower), np.eye(len(own.kept)), lower=True
        )
        white = graph.add("MatMul", step, graph.constant(np.ascontiguousarray(inverse.T)))
        square = graph.total("ReduceSum", graph.add("Mul", white, white))
        half = graph.add("Mul", square, 0.5)
        columns.append(graph.add("Sub", constant, half))
    return graph.add("Concat", *columns, axis=1)


@_tree.register
def _(node: scores.KernelSum, graph: _Graph) -> str:
    kernel, rows, vectors = node.kernel, graph.of(node.of), dense(node.vectors).astype(float)
    if isinstance(kernel, kernels.RBFKernel):
        centre = vectors.mean(axis=0)
        near, far = graph.add("Sub", rows, graph.constant(centre[None])), vectors - centre
        squares = graph.total("ReduceSum", graph.add("Mul", near, near))
        product = graph.add("MatMul", near, graph.constant(np.ascontiguousarray(-2.0 * far.T)))
        distance = graph.add("Add", graph.add("Add", squares, product),
                             graph.constant((far**2).sum(axis=1)[None]))  # fmt: skip
        distance = graph.add("Max", distance, 0.0)
        values = graph.add("Exp", graph.add("Mul", distance, -kernel.gamma))
    else:
        values = graph.add("MatMul", rows, graph.constant(np.ascontiguousarray(vectors.T)))
        match kernel:
            case kernels.LinearKernel():
                pass
            case kernels.SigmoidKernel() | kernels.PolynomialKernel():
                values = graph.add("Mul", values, kernel.gamma)
                values = base = graph.add("Add", values, kernel.coef0)
                if isinstance(kernel, kernels.SigmoidKernel):
                    values = graph.add("Tanh", values)
                else:
                    for _ in range(int(kernel.degree) - 1):
                        values = graph.add("Mul", values, base)
            case _:
                raise Unprintable(f"ONNX has no operators for the kernel {kernel.formula}")
    return _affine(graph, values, np.asarray(node.coefficients, dtype=float).T, node.intercepts)


@_tree.register
def _(node: scores.Fourier, graph: _Graph) -> str:
    own = node.lift
    step = graph.add("Sub", graph.of(node.of), graph.constant(own.offset_[None]))
    turned = np.ascontiguousarray(own.frequencies_.T)
    angles = graph.add("MatMul", step, graph.constant(turned))
    both = graph.add("Concat", graph.add("Cos", angles), graph.add("Sin", angles), axis=1)
    m = len(own.frequencies_)
    in_turn = graph.part(both, np.arange(2 * m).reshape(2, m).T.ravel())
    return graph.add("Mul", in_turn, (1.0 / m) ** 0.5)


@_tree.register
def _(node: scores.Shifted, graph: _Graph) -> str:
    return graph.add("Add", graph.of(node.of), graph.of(node.by))


@_tree.register
def _(node: scores.Monomials, graph: _Graph) -> str:
    basis, of, columns = node.basis, graph.of(node.of), []
    if basis.n_terms > _MOST_TERMS:
        raise Unprintable(
            f"a polynomial of {basis.n_terms:,} terms would be as many operators, and at most "
            f"{_MOST_TERMS:,} are written; lower the degree"
        )

    for j in range(len(basis.centre)):
        x = graph.part(of, [j])
        t = graph.add("Mul", graph.add("Sub", x, float(basis.centre[j])), float(basis.scale[j]))
        one = graph.add("Add", graph.add("Mul", x, 0.0), 1.0)
        own, before = [one], graph.add("Mul", x, 0.0)
        for a, b, s in basis.recurrence[j, : int(basis.top[j])].tolist():
            after = graph.add("Sub", graph.add("Mul", graph.add("Sub", t, a), own[-1]),
                              graph.add("Mul", before, b))  # fmt: skip
            before = own[-1]
            own.append(graph.add("Mul", after, s))
        columns.append(own)
    terms = []
    for powers in basis.powers.tolist():
        factors = [own[power] for own, power in zip(columns, powers, strict=True) if power]
        term = factors[0]
        for factor in factors[1:]:
            term = graph.add("Mul", term, factor)
        terms.append(term)
    return graph.add("Concat", *terms, axis=1)


@_tree.register
def _(node: scores.Votes, graph: _Graph) -> str:
    of, k = graph.of(node.of), node.n_classes
    first, second = np.triu_indices(k, 1)
    one = np.eye(k)
    lost = graph.cast(graph.add("Less", of, 0.0))
    # A pair's first class has the vote, unless the second has.
    votes = _affine(graph, lost, (one[second] - one[first]).T, one[first].sum(axis=0))
    low, high = graph.constant(-1e300), graph.constant(1e300)
    signed = _affine(graph, graph.add("Clip", of, low, high), (one[first] - one[second]).T,
                     np.zeros(k))  # fmt: skip
    scale = graph.add("Add", graph.add("Abs", signed), 1.0)
    share = graph.add("Div", signed, graph.add("Mul", scale, 3.0))
    return graph.add("Add", votes, share)


@_tree.register
def _(node: scores.Wins, graph: _Graph) -> str:
    k = node.n_classes
    first, second = np.triu_indices(k, 1)
    one = np.eye(k)
    won = graph.cast(graph.add("Greater", graph.of(node.of), 0.0))
    return _affine(graph, won, (one[first] - one[second]).T, one[second].sum(axis=0))


@_tree.register
def _(node: scores.Stacked, graph: _Graph) -> str:
    return graph.add("Concat", *map(graph.of, node.of), axis=1)


@_tree.register
def _(node: answers.Threshold, graph: _Graph) -> str:
    of = graph.part(graph.of(node.of), [0])
    above = graph.add("Greater", of, 0.0)
    if node.inclusive:
        above = graph.add("Or", above, graph.add("Equal", of, 0.0))
    return graph.cast(above, "INT64")


@_tree.register
def _(node: answers.FirstWins, graph: _Graph) -> str:
    return graph.add("ArgMax", graph.of(node.of), axis=1, keepdims=1, select_last_index=0)


@_tree.register
def _(node: answers.Positive, graph: _Graph) -> str:
    return graph.cast(graph.add("Greater", graph.of(node.of), 0.0))


@_tree.register
def _(node: answers.Scaled, graph: _Graph) -> str:
    own = graph.add("Mul", graph.of(node.of), node.slope)
    own = graph.add("Add", own, node.offset)
    return graph.add("Clip", own, graph.constant(-1e300), graph.constant(1e300))


@_tree.register
def _(node: answers.Exp, graph: _Graph) -> str:
    return graph.add("Exp", graph.of(node.of))


@_tree.register
def _(node: answers.LogSigmoid, graph: _Graph) -> str:
    of = graph.of(node.of)
    rest = graph.add("Exp", graph.add("Neg", graph.add("Abs", of)))
    log = graph.add("Log", graph.add("Add", rest, 1.0))
    return graph.add("Sub", graph.add("Min", of, 0.0), log)


@_tree.register
def _(node: answers.Interpolate, graph: _Graph) -> str:
    of, x, p = graph.of(node.of), node.points, node.heights
    if len(x) == 1:
        return graph.add("Add", graph.add("Mul", of, 0.0), graph.constant(p))
    held = graph.add("Clip", of, graph.constant(x[0]), graph.constant(x[-1]))
    wide = graph.add("Unsqueeze", held, graph.constant([2], np.int64))
    # The number of the inner points that have been passed.
    below = graph.add("Less", wide, graph.constant(x[None, None, 1:-1]))
    passed = graph.cast(graph.add("Not", below), "INT64")
    left = graph.add("ReduceSum", passed, graph.constant([2], np.int64), keepdims=0)

    def at(values: np.ndarray) -> str:
        return graph.add("Gather", graph.constant(values), left, axis=0)

    share = graph.add("Div", graph.add("Sub", held, at(x[:-1])), at(x[1:] - x[:-1]))
    rise = graph.add("Mul", share, at(p[1:] - p[:-1]))
    return graph.add("Min", graph.add("Add", at(p[:-1]), rise), at(p[1:]))


@_tree.register
def _(node: answers.Clipped, graph: _Graph) -> str:
    held = graph.add("Clip", graph.of(node.of), graph.constant(-1.0), graph.constant(1.0))
    return graph.add("Mul", graph.add("Add", held, 1.0), 0.5)


@_tree.register
def _(node: answers.Leads, graph: _Graph) -> str:
    of, k = graph.of(node.of), node.n_columns
    without = np.where(np.eye(k, dtype=bool), -np.inf, 0.0)[None]
    wide = graph.add("Unsqueeze", of, graph.constant([1], np.int64))
    others = graph.add("Add", wide, graph.constant(without))
    rival = graph.add("ReduceMax", others, graph.constant([2], np.int64), keepdims=0)
    return graph.add("Sub", of, rival)


@_tree.register
def _(node: answers.Sigmoid, graph: _Graph) -> str:
    own = graph.part(graph.of(node.of), [0])
    both = graph.add("Concat", graph.add("Neg", own), own, axis=1)
    # Exponentials of numbers below zero alone, so that none overflows and small shares keep
    # their digits.
    part = graph.add("Exp", graph.add("Neg", graph.add("Abs", both)))
    total = graph.add("Add", part, 1.0)
    large = graph.add("Div", 1.0, total)
    above = graph.add("Greater", both, 0.0)
    return graph.add("Where", above, large, graph.add("Div", part, total))


@_tree.register
def _(node: answers.Softmax, graph: _Graph) -> str:
    of = graph.of(node.of)
    part = graph.add("Exp", graph.add("Sub", of, graph.total("ReduceMax", of)))
    return graph.add("Div", part, graph.total("ReduceSum", part))


@_tree.register
def _(node: answers.Normalised, graph: _Graph) -> str:
    of = graph.of(node.of)
    if node.of.n_columns == 1:
        return graph.add("Concat", graph.add("Sub", 1.0, of), of, axis=1)
    total = graph.total("ReduceSum", of)
    some = graph.add("Greater", total, 0.0)
    divisor = graph.add("Where", some, total, 1.0)
    equal = graph.constant(np.full((1, node.of.n_columns), 1.0 / node.of.n_columns))
    return graph.add("Where", some, graph.add("Div", of, divisor), equal)


def _mine(node: Any, graph: _Graph) -> str:
    """A mark for the class that is predicted, among marks for all classes."""
    places = graph.constant([np.arange(node.n_columns)], np.int64)
    return graph.add("Equal", graph.of(node.label), places)


@_tree.register
def _(node: answers.OnItsSide, graph: _Graph) -> str:
    of = graph.of(node.of)
    against = graph.add("And", _mine(node, graph), graph.add("Less", of, 0.5))
    some = graph.cast(graph.total("ReduceMax", graph.cast(against, "INT32")), "BOOL")
    return graph.add("Where", some, 0.5, of)


@_tree.register
def _(node: answers.Consistent, graph: _Graph) -> str:
    of, mine = graph.of(node.of), _mine(node, graph)
    best = graph.total("ReduceMax", graph.add("Where", mine, -1.0, of))
    above = graph.add("Mul", best, 1.0 + 2.0**-52)
    lost = graph.add("And", mine, graph.add("Not", graph.add("Greater", of, best)))
    return graph.add("Where", lost, above, of)


# --- the whole ------------------------------------------------------------------------------------


def is_plain(program: Program) -> bool:
    """Whether the features are the cells themselves, which come as one matrix ``X`` then."""
    return program.features == program.cells and all(c.kind == "number" for c in program.cells)


def printed(program: Program, heading: Heading, sample: Sample) -> bytes:
    """A program as an ONNX model.

    Its inputs are a matrix ``X``, or ``cell0``, ``cell1``, ... of shape (n, 1) for the columns
    named in its description; its outputs ``label`` (the class), ``place`` (its place among the
    classes, -1 for a row without an answer), ``scores`` and ``probabilities``.

    Parameters
    ----------
    program : Program
    heading : Heading
    sample : Sample
        Rows that the model's description carries as its own proof.

    Returns
    -------
    bytes

    Raises
    ------
    Unprintable
        If the program has words, or needs what core operators do not compute in float64.
    MissingPackageError
        If the package ``onnx`` is not installed.
    """
    graph, sample = _Graph(program), without_empty_texts(program, sample)
    helper, types = graph.onnx.helper, graph.onnx.TensorProto
    if is_plain(program):
        graph.matrix = "X"
        inputs = [helper.make_tensor_value_info("X", types.DOUBLE, [None, len(program.cells)])]
    else:
        inputs = [
            helper.make_tensor_value_info(
                f"cell{k}", types.STRING if cell.kind == "text" else types.DOUBLE, [None, 1]
            )
            for k, cell in enumerate(program.cells)
        ]
        columns = []
        for feature in program.features:
            if isinstance(feature, features.Words):
                raise Unprintable(
                    "its words would be counted by TfIdfVectorizer, which ONNX Runtime computes in "
                    "float32 alone; export to Python, JavaScript or SQL"
                )
            column = _number(feature, graph)
            if isinstance(feature, features.Constant):
                column = graph.add("Expand", column, graph.add("Shape", inputs[0].name))
            columns.append(column)
        graph.matrix = graph.add("Concat", *columns, axis=1)
    outputs = _outputs(program, graph)
    made = helper.make_graph(
        graph.nodes, heading.name, inputs, outputs,
        [tensor for _, tensor in graph.constants.values()],
    )  # fmt: skip
    model = helper.make_model(
        made,
        opset_imports=[helper.make_opsetid("", OPSET)],
        producer_name="separatrix",
        doc_string="\n".join([*heading.lines, *_description(program)]),
    )
    model.ir_version = 9
    helper.set_model_props(model, _proof(program, sample))
    graph.onnx.checker.check_model(model)
    return bytes(model.SerializeToString())


def _description(program: Program) -> list[str]:
    plain = is_plain(program)
    lines = ["inputs: X, a matrix of doubles whose columns are, in this order,"] if plain else [
        "inputs, of shape (n, 1) each: doubles (NaN where missing; dates in days since "
        "1970-01-01) or texts (empty where missing),"
    ]  # fmt: skip
    lines += [
        f"{k if plain else f'cell{k}'}: {cell.column!r} ({cell.kind})"
        for k, cell in enumerate(program.cells)
    ]
    if program.prediction.classes:
        lines.append(f"classes: {list(program.prediction.classes)!r}")
    lines.append("A row in which a feature is missing or not finite has no answer: place -1, NaN.")
    return [*lines, *program.remarks]


def _outputs(program: Program, graph: _Graph) -> list[Any]:
    helper, types, trees = graph.onnx.helper, graph.onnx.TensorProto, program.prediction
    zero = graph.add("Mul", graph.matrix, 0.0)
    # Zero times infinity is no number, and neither is any sum with one.
    gone = graph.add("IsNaN", graph.total("ReduceSum", zero))
    nothing = graph.constant([[np.nan]])
    outputs = []

    def put(name: str, value: str, kind: int, width: int) -> None:
        graph.nodes.append(helper.make_node("Identity", [value], [name]))
        outputs.append(helper.make_tensor_value_info(name, kind, [None, width]))

    if trees.label is not None:
        several = isinstance(trees.label, answers.Positive)
        width = trees.label.n_columns if several else 1
        found = graph.cast(graph.of(trees.label), "INT64")
        place = graph.add("Where", gone, graph.constant([[-1]], np.int64), found)
        put("place", place, types.INT64, width)
        if not several:
            kind, listed = _listed(trees.classes, types)
            # The last is that of -1.
            put("label", graph.add("Gather", graph.constant(*listed), place, axis=0), kind, 1)
    put("scores", graph.add("Where", gone, nothing, graph.of(trees.scores)), types.DOUBLE,
        trees.scores.n_columns)  # fmt: skip
    if trees.probabilities is not None:
        shares = graph.add("Where", gone, nothing, graph.of(trees.probabilities))
        put("probabilities", shares, types.DOUBLE, trees.probabilities.n_columns)
    return outputs


def _listed(classes: tuple[object, ...], types: Any) -> tuple[int, tuple[Any, Any]]:
    """The type of the labels, and their tensor with what stands for none at its end."""
    if all(isinstance(one, (bool, int)) for one in classes):
        return types.INT64, ([*map(int, classes), -1], np.int64)  # type: ignore[arg-type]
    if all(isinstance(one, float) for one in classes):
        return types.DOUBLE, ([*classes, np.nan], np.float64)
    return types.STRING, ([*map(str, classes), ""], object)


def _proof(program: Program, sample: Sample) -> dict[str, str]:
    """The names of the columns and the golden rows, as the properties of the model."""
    import json

    own = sample.expected

    def listed(values: Any) -> Any:
        return None if values is None else np.asarray(values).tolist()

    rows = {f"cell{k}": listed(sample.rows[c.column]) for k, c in enumerate(program.cells)}
    facts = {
        "rows": rows,
        "scores": listed(own.scores),
        "score_bounds": listed(sample.score_bounds),
        "places": listed(own.labels),
        "decided": listed(sample.decided),
        "probabilities": listed(own.probabilities),
        "probability_bounds": listed(sample.probability_bounds),
    }
    columns = [cell.column for cell in program.cells]
    return {"separatrix_columns": json.dumps(columns), "separatrix_proof": json.dumps(facts)}
