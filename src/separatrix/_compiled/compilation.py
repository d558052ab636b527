"""Compilation: specialised kernels, and a cache on disk that damaged files cannot spoil.

A *kernel* is a plain Python function over raw arrays.  It is written once, against the
row accessors and the scalar loss functions by name; :func:`specialise` binds those names
to concrete functions and compiles the result.  Dense and sparse rows, and every loss,
therefore run the very same algorithm.

Numba's own cache raises where a file of it was cut off, as on a disk that was full, and runs
whatever machine code it finds in one that was garbled.  It sees edits of a function's own file
alone, and its files are therefore keyed by the code and the options of all functions that it calls.

The machine code of a kernel has its own copies of all functions that it calls.  Numba gives them
names that other code may define as well, and the linker takes whichever came first.  A function
whose sums may be reordered gets one order where it is compiled alone and another one beside its
caller, so that a process that compiles would not find the same bits as one that loads.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import hashlib
import inspect
import itertools
import os
import pickle
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, FunctionType
from typing import Any, TypeVar, cast

import llvmlite.binding as llvm
import numba
import numpy as np
from numba import types
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, compile_result
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import register_pass
from numba.core.environment import lookup_environment
from numba.core.runtime import rtsys
from numba.core.sigutils import normalize_signature
from numba.core.typed_passes import NativeLowering, NopythonTypeInference

# Reordering and contraction only.  ``fastmath=True`` also assumes that infinities and NaN do
# not occur, and then a shrinking bound that starts at infinity is compiled away.
FASTMATH = {"contract", "reassoc", "nsz", "arcp"}

_F = TypeVar("_F", bound=Callable[..., Any])
# The prefix in Numba's names of the variables of functions' environments.
_ENVIRONMENT = "_ZN08NumbaEnv"
_DIGEST = hashlib.sha256
_SIZE = _DIGEST().digest_size


class _Damaged(OSError):
    """A file of the cache does not hold what was written."""


class _CheckedFile(IndexDataCacheFile):
    """The files of one function: machine code counts only with its digest and its key.

    The key is needed because two processes that compile for different types at the same moment may
    both write to the same file.
    """

    def load(self, key: Any) -> Any:
        try:
            found = super().load(key)
        except OSError:
            # The index exists, and this account may not read it.
            return None
        return found[1] if found is not None and found[0] == key else None

    def save(self, key: Any, data: Any) -> None:
        super().save(key, (key, data))

    def _load_index(self) -> Any:
        try:
            return super()._load_index()
        except OSError:
            raise
        except Exception:
            # A damaged pickle can raise anything. Without the index its files are overwritten.
            with contextlib.suppress(OSError):
                os.unlink(self._index_path)
            return {}

    def _save_data(self, name: str, data: Any) -> None:
        content = self._dump(data)
        with self._open_for_write(self._data_path(name)) as file:
            file.write(_DIGEST(content).digest())
            file.write(content)

    def _load_data(self, name: str) -> Any:
        with open(self._data_path(name), "rb") as file:
            digest, content = file.read(_SIZE), file.read()
        if _DIGEST(content).digest() != digest:
            raise _Damaged(name)
        return pickle.loads(content)


class _SelfContainedCode(JITCodeLibrary):
    """Code that calls its own copies of other functions, and no other code's.

    Code that is compiled because another function calls it is kept in LLVM's language alone, which
    its callers copy: compiling it to machine code as well takes a tenth of the time of a first fit.
    A function may call itself; for two that call each other Numba would need the machine code.
    """

    for_callers = False

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            if function.linkage == llvm.Linkage.linkonce_odr and not function.is_declaration:
                function.linkage = llvm.Linkage.internal
        super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        if not self.for_callers:
            super()._finalize_final_module()
            return
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def keep_environments(self) -> None:
        """Keep the Python objects that functions use: values that they raise, print or return.

        Numba gives them to functions when it makes their machine code; where a function is copied
        into a caller's, this gives them to the copy.
        """
        names = [variable.name for variable in self._final_module.global_variables]
        found = [lookup_environment(name) for name in names if name.startswith(_ENVIRONMENT)]
        self.environments = [environment for environment in found if environment is not None]
        for environment in self.environments if not self.for_callers else ():
            self.codegen.set_env(environment.env_name, environment)

    def serialize_using_object_code(self) -> tuple[str, str, Any]:
        if not self.for_callers:
            return super().serialize_using_object_code()
        return self.name, "bitcode", self._get_module_for_linking().as_bitcode()


class _Stored(CompileResultCacheImpl):
    """The format in which compiled functions are written to files and read from them."""

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        (name, kind, code), fndesc, env, signature, objectmode, lifted, annotation, *rest = payload
        if kind == "object":
            return super().rebuild(target_context, payload)
        library = _SelfContainedCode(target_context.codegen(), name)
        library.for_callers = True
        library._final_module = library._shared_module = llvm.parse_bitcode(code)
        library._finalize_final_module()
        return compile_result(
            typing_context=target_context.typing_context,
            target_context=target_context,
            entry_point=library,
            type_annotation=annotation,
            signature=signature,
            objectmode=objectmode,
            lifted=lifted,
            fndesc=fndesc,
            library=library,
            environment=env,
            reload_init=rest[0],
            referenced_envs=rest[1],
        )


class _CheckedCache(FunctionCache):
    """The cache of one function."""

    _impl_class = _Stored

    def __init__(self, compiled: Any) -> None:
        super().__init__(compiled.py_func)
        self._compiled = compiled
        self._cache_file = _CheckedFile(
            cache_path=self._cache_path,
            filename_base=self._impl.filename_base,
            source_stamp=self._impl.locator.get_source_stamp(),
        )

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return super()._index_key(sig, codegen), _for_callers(), self._digest

    @functools.cached_property
    def _digest(self) -> str:
        # Numba's key depends on this function's file, but not on those of functions that it calls.
        return _DIGEST(_fingerprint(self._compiled)).hexdigest()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        # Numba first registers all that it can compile, which takes longer than to load the code of
        # a fit. Its compiler does the same where nothing is found; code needs the runtime alone.
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)

    def save_overload(self, signature: Any, data: Any) -> None:
        # A full disk costs the speed of the next start, not the result of this one.
        with contextlib.suppress(OSError):
            super().save_overload(signature, data)


@register_pass(mutates_CFG=True, analysis_only=False)
class _IntoSelfContainedCode(NativeLowering):
    """Write a function in LLVM's language, and as machine code where Python is to call it."""

    _name = "into_self_contained_code"

    def run_pass(self, state: Any) -> bool:
        library = _SelfContainedCode(state.targetctx.codegen(), state.func_id.func_qualname)
        library.enable_object_caching()
        state.library = library
        if _for_callers():
            library.for_callers = True
            state.flags.no_compile = state.flags.no_cpython_wrapper = True
        super().run_pass(state)
        library.keep_environments()
        if library.for_callers:
            # Callers find it by its code, where they find other functions by their entry points.
            state["cr"] = state["cr"]._replace(cfunc=library)
            state.targetctx.insert_user_function(library, state["cr"].fndesc, [library])
        return True


class _ResolvedCalls:
    """Numba's typing context, which resolves no call of a function twice.

    Parameters
    ----------
    context : numba.core.typing.Context
        The context that resolves a call the first time, and does everything else.
    """

    def __init__(self, context: Any) -> None:
        self._context = context
        self._found: dict[Any, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def resolve_function_type(self, function: Any, arguments: Any, keywords: Any) -> Any:
        call = function, tuple(arguments), tuple(dict(keywords).items())
        if call not in self._found:
            self._found[call] = self._context.resolve_function_type(function, arguments, keywords)
        return self._found[call]


@register_pass(mutates_CFG=True, analysis_only=False)
class _TypeInference(NopythonTypeInference):
    """Numba's type inference, in less time.

    It goes through all calls again until no type changes, although the type of a call's result
    depends on the types of its arguments alone. To remember it saves a tenth of the time of most
    first fits.
    """

    _name = "type_inference"

    def run_pass(self, state: Any) -> bool:
        context = state.typingctx
        state.typingctx = _ResolvedCalls(context)
        try:
            return bool(super().run_pass(state))
        finally:
            state.typingctx = context


_PASSES = {NativeLowering: _IntoSelfContainedCode, NopythonTypeInference: _TypeInference}


class _Compiler(CompilerBase):
    """Numba's compiler, whose code is self-contained."""

    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [(_PASSES.get(one, one), why) for one, why in passes.passes]
        passes.finalize()
        return [passes]


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let Ctrl-C wait until the block has ended.

    An exception between a call of LLVM and the line that records what the call has taken over would
    let Python free it a second time, which ends the process by a segmentation fault.
    """
    handler = signal.getsignal(signal.SIGINT)
    # Python runs its handlers in the main thread alone, and raises nothing where there is none.
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    pressed = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        pressed = True

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if pressed:
            signal.raise_signal(signal.SIGINT)


_seconds = 0.0
_depth = threading.local()


def _for_callers() -> bool:
    """Whether the function that is compiled now is called by other compiled functions alone."""
    return getattr(_depth, "inside", 0) > 1


def seconds() -> float:
    """The time that this process has spent on compiling loops or loading them from disk."""
    return _seconds


@contextlib.contextmanager
def _compiling() -> Iterator[None]:
    """Measure the time, counted once where a compilation starts others, and let Ctrl-C wait."""
    global _seconds
    # One thread compiles at a time: with two, one could find the collector as set by the other, and
    # leave it so for ever.
    with _uninterrupted(), global_compiler_lock:
        _depth.inside, begun = getattr(_depth, "inside", 0) + 1, time.perf_counter()
        # A compiler makes a million objects, nearly all of which last until it is done.
        collects = gc.isenabled()
        gc.disable()
        try:
            yield
        finally:
            if collects:
                gc.enable()
            _depth.inside -= 1
            if not _depth.inside:
                _seconds += time.perf_counter() - begun


def _of_any_value(template: Callable[..., Any]) -> Callable[..., Any]:
    """A template that types calls of a compiled function without the values of constants.

    Numba takes ``f(x, 0)`` and ``f(x, n)`` for calls of two types, and would compile ``f`` twice,
    although the machine code of both is the same.
    """

    def typed(args: Any, kws: Any) -> Any:
        return template(
            tuple(map(types.unliteral, args)),
            {name: types.unliteral(kind) for name, kind in kws.items()},
        )

    return typed


def _jit(function: Callable[..., Any], **options: Any) -> Any:
    """Compile as ``numba.njit`` does, without an interruption by Ctrl-C."""
    compiled = numba.njit(pipeline_class=_Compiler, **options)(function)
    # With NUMBA_DISABLE_JIT it is the function itself.
    if compiled is not function:
        _split(compiled)
        # Numba searches all installed packages for types of their own; these functions need none.
        compiled._compilation_chain_init_hook = _nothing
        compiled.get_call_template = _of_any_value(compiled.get_call_template)
    return compiled


def _nothing() -> None:
    """Do nothing."""


def _split(compiled: Any) -> None:
    """Give a function machine code once Python calls it, and none before."""
    overloads = compiled.overloads
    compile_for, add_overload = compiled.compile, compiled.add_overload

    def compile_once(signature: Any) -> Any:
        with _compiling():
            arguments = tuple(normalize_signature(signature)[0])
            found = overloads.get(arguments)
            if found is not None and found.entry_point is found.library and not _for_callers():
                del overloads[arguments]
            return compile_for(signature)

    def add(result: Any) -> None:
        if result.entry_point is result.library:
            overloads[tuple(result.signature.args)] = result
        else:
            add_overload(result)

    compiled.compile, compiled.add_overload = compile_once, add


@functools.cache
def _warn_of_no_cache() -> None:
    """Warn, once in a process, that machine code cannot be kept."""
    warnings.warn(
        "No folder for compiled loops can be written, so every process compiles them again, which "
        "takes some seconds; set the variable NUMBA_CACHE_DIR to a folder that can be written.",
        RuntimeWarning,
        stacklevel=2,
    )


def njit(*, cache: bool = False, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """A decorator like ``numba.njit``, which compiles anew where its cache cannot be read.

    Parameters
    ----------
    cache : bool
        Whether to keep machine code on disk.
    **options
        The options of ``numba.njit``.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        compiled = _jit(function, no_cfunc_wrapper=True, **options)
        if cache and hasattr(compiled, "enable_caching"):
            try:
                compiled._cache = _CheckedCache(compiled)
            except RuntimeError:
                # Neither the folder of the source nor that of the user can be written.
                _warn_of_no_cache()
        return compiled

    return decorate


# --- specialised kernels ------------------------------------------------------------------------


# No C callback uses these functions: the wrappers for that are not compiled either.
_SCALAR = {"fastmath": FASTMATH, "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}


def scalar(function: _F) -> _F:
    """Compile a small function that kernels call and that inlines into them."""
    # numpy's error model: x / 0 is an infinity, as everywhere else in the library.
    return cast(_F, _jit(function, **_SCALAR))


def ordered(function: _F) -> _F:
    """Compile a small function in the order of its operations, because another could underflow."""
    # Otherwise LLVM turns a (a / U) into (a a) / U.
    return cast(_F, _jit(function, **{**_SCALAR, "fastmath": {"contract"}}))


def inlined(function: _F) -> _F:
    """Compile into its callers a function that LLVM would not inline: a call prevents vectors."""
    return cast(_F, _jit(function, inline="always", **_SCALAR))


def source_of(function: Any) -> FunctionType:
    """The plain function behind one that is compiled, or that writes instructions of its own.

    Python calls it where machine code for one call would take half a second to make.
    """
    plain: FunctionType = getattr(function, "py_func", getattr(function, "_defn", function))
    return plain


def _codes(code: CodeType) -> list[CodeType]:
    """The code of a function and of those inside of it."""
    inner = [_codes(const) for const in code.co_consts if isinstance(const, CodeType)]
    return [code, *itertools.chain(*inner)]


def _referred(source: FunctionType) -> list[Any]:
    """The values to which a function's code refers by name."""
    values = [cell.cell_contents for cell in source.__closure__ or ()]
    names = itertools.chain(*(code.co_names for code in _codes(source.__code__)))
    return values + [source.__globals__.get(name) for name in names]


def _family(function: Any) -> list[Any]:
    """A function and all those that it calls, itself or through others, each once."""
    family = [function]
    for member in family:
        for value in _referred(source_of(member)):
            if isinstance(source_of(value), FunctionType) and value not in family:
                family.append(value)
    return family


def _fingerprint(function: Any) -> bytes:
    """Bytes that identify a function: its code, its options, and the values that it refers to."""
    family, parts = _family(function), []
    for member in family:
        source, options = source_of(member), getattr(member, "targetoptions", {})
        parts += [source.__module__, source.__qualname__]
        # The order of a set differs between processes.
        parts += [
            f"{name}={sorted(value) if isinstance(value, set) else value}"
            for name, value in sorted(options.items())
        ]
        for code in _codes(source.__code__):
            consts = [const for const in code.co_consts if not isinstance(const, CodeType)]
            parts += [code.co_code.hex(), repr(code.co_names), repr(consts)]
        for value in _referred(source):
            if isinstance(source_of(value), FunctionType):
                parts.append(f"function {family.index(value)}")
            elif isinstance(value, np.ndarray):
                parts.append(f"{value.dtype} {value.shape} {value.tobytes().hex()}")
            elif isinstance(value, (bool, int, float, str, tuple, np.generic)):
                parts.append(repr(value))
    return "\0".join(parts).encode()


def _importable(function: Any) -> bool:
    """Whether a function and all that it calls are in modules that another process can import.

    Machine code names these modules, and reading it from disk imports them.  A function that was
    made by ``exec``, as in a doctest, has none.
    """
    return all(inspect.getmodule(source_of(member)) is not None for member in _family(function))


@functools.cache
def _specialise(template: FunctionType, bindings: tuple[tuple[str, Any], ...]) -> Any:
    # Numba names files and symbols by the qualified name.  The bindings of a kernel are therefore
    # hashed into it: two bindings never share a file, nor a symbol.
    digest = hashlib.sha256()
    for name, function in bindings:
        digest.update(name.encode() + _fingerprint(function))
    label = "_".join(source_of(function).__name__ for _, function in bindings)
    # A file's name has at most 255 characters, of which Numba adds 22 while it writes: a longer one
    # would be refused, and the kernel compiled again in every process.
    name = f"{template.__qualname__}__{label[:80]}_{digest.hexdigest()[:12]}"
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
