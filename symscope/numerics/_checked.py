"""Arguments checked against the annotations of a function, so that a wrong one gets a clear message.

The shapes in signatures, `Float[Tensor, "n d"]`, say what a function takes; `checked` holds callers to them.
"""

from __future__ import annotations

import functools
import inspect
import math
import numbers
import operator
import sys
import traceback
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NoReturn, TypeVar, Union, cast, final, get_args, get_origin

import torch
from jaxtyping import jaxtyped
from torch import Tensor

from symscope.errors import InputError, NotFiniteError
from symscope.numerics._checks import check_finite, shortened, usable_device
from symscope.user_code import installed_folders

T = TypeVar("T", bound=Callable[..., Any])
_NUMBERS = {
    "Float": "floating-point numbers",
    "Float64": "float64 numbers",
    "Float32": "float32 numbers",
    "Complex": "complex numbers",
    "Complex128": "complex128 numbers",
    "Int": "whole numbers",
    "Int64": "int64 numbers",
    "Bool": "booleans",
    "Shaped": "a tensor",
}
_WORDS = {
    int: "an integer of 64 bits",
    float: "a number",
    str: "text",
    bool: "True or False",
    torch.dtype: "a floating-point dtype",
    type(None): "None",
}
# by which torch refuses a tensor, a size or an index
_FAILURES = (RuntimeError, ArithmeticError, LookupError, ValueError, TypeError, AttributeError, StopIteration)
_FAULTS = (AttributeError, StopIteration)
_ENGINES = ("torch", "numpy", "scipy")  # what the library computes with
_GENERATED = ("<frozen", "<eval_with_key")  # code without a file: that of imports and of traced networks
_USUAL = (torch.float64, torch.float32, torch.int64)
_FEW = 1000  # parts of a sequence that are looked at
_LARGE = 10**7  # numbers of a result that are not looked at


def checked(function: T) -> T:
    """The function, or the class with its methods, which refuses arguments that its annotations do not allow.

    Tensors must have the annotated kind of numbers and shape, with one size for one name over all arguments,
    and other arguments the annotated type. NaN is looked for last, so that what the function itself says
    about its arguments goes first. A call costs some 100 microseconds and one pass over the tensors; methods
    of a class are only looked at when they fail, and cost nothing.

    Two more checks hold for calls that come from outside the library. A number or tensor that results must be
    finite, or else numbers were too large or small, unless the function is marked by `may_be_infinite`. What
    PyTorch refuses in the package of the function, or of another that is checked, is told with the arguments;
    a failure anywhere else is a fault of the library and stays as it is, and so does one of the caller's own
    functions and networks.

    >>> @checked
    ... def scaled(x: Tensor, factor: float) -> Tensor:
    ...     return factor * x
    >>> scaled(torch.ones(2), float("nan"))
    Traceback (most recent call last):
        ...
    symscope.errors.NotFiniteError: factor: expected a number, got nan.
    """
    if not inspect.isclass(function):
        return cast(T, _wrapped(function, beforehand=True))
    for name, method in list(vars(function).items()):
        public = name in ("__init__", "__call__") or not name.startswith("_")
        if public and inspect.isfunction(method):
            setattr(function, name, explained(method))
    return function


def explained(function: T) -> T:
    """As `checked`, for functions that are called often: arguments are only looked at when the call fails."""
    return cast(T, _wrapped(function, beforehand=False))


def may_be_infinite(function: T) -> T:
    """Marks a function whose result may hold NaN or infinite numbers, as its documentation says."""
    inspect.unwrap(function).may_be_infinite = True
    return function


def _wrapped(function: Callable[..., Any], beforehand: bool) -> Callable[..., Any]:
    check, failures, not_finite = _ArgumentCheck(function), _FAILURES, NotFiniteError
    frame, outside = sys._getframe, _is_outside

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if beforehand:
            check(args, kwargs)
        try:
            result = function(*args, **kwargs)
        except not_finite as error:
            check.finite(args, kwargs)
            check.overflow(error)
        except failures as error:
            check.explain(error, args, kwargs, outside(frame(1)))
            raise
        if beforehand:
            check.finite(args, kwargs)
        if outside(frame(1)):
            check.result(result, args, kwargs)
        return result

    def generator(*args: Any, **kwargs: Any) -> Any:
        try:
            yield from function(*args, **kwargs)
        except failures as error:
            check.explain(error, args, kwargs, outside(frame(1)))
            raise

    # doctest only looks at functions that have the globals of their module; a run-time type checker may have
    # wrapped either function
    home = inspect.unwrap(function).__globals__
    plain = inspect.unwrap(generator if inspect.isgeneratorfunction(function) else wrapper)
    made = types.FunctionType(plain.__code__, home, function.__name__, None, plain.__closure__)
    return functools.update_wrapper(made, function)


def _is_outside(caller: types.FrameType) -> bool:
    """Whether code is neither the library's nor that of the papers."""
    return not caller.f_globals.get("__name__", "").startswith("symscope")


@final
class _ArgumentCheck:
    """Compares arguments with the annotations of one function, which are read at the first call."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = inspect.unwrap(function)
        self.name = self.function.__qualname__.removesuffix(".__init__").removesuffix(".__call__")

    @functools.cached_property
    def hints(self) -> dict[str, Any]:
        """The annotated type of each argument, in order; Any where it cannot be compared."""
        several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        return {
            name: self._evaluated(parameter.annotation)
            for name, parameter in inspect.signature(self.function).parameters.items()
            if parameter.kind not in several
        }

    def _evaluated(self, annotation: Any) -> Any:
        if annotation is inspect.Parameter.empty:
            return Any
        if not isinstance(annotation, str):
            return annotation
        try:
            return eval(annotation, self.function.__globals__)
        except NameError:  # a type that is only imported for type checkers
            return Any

    def _given(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        return dict(zip(self.hints, args, strict=False)) | kwargs

    def explain(self, error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any], outside: bool) -> None:
        """Raises an error in the caller's words where an argument is the likely reason."""
        if isinstance(error, (InputError, torch.OutOfMemoryError)):  # a full device is no fault of arguments
            return
        if self._is_users(error) or not self._bound(args, kwargs):
            return
        try:
            self(args, kwargs)
            for name, value in self._given(args, kwargs).items():
                if isinstance(value, float) and abs(value) > torch.finfo(torch.float32).max:
                    raise InputError(f"{name}: expected a number that float32 can hold, got {value}.")
                for x in _tensors(value):
                    if x.numel() == 0 or x.dtype not in _USUAL:
                        expected = "at least one number" if x.numel() == 0 else "float32 or float64 numbers"
                        raise InputError(f"{name}: expected {expected}, got {_shown(x)}.")
            self.finite(args, kwargs)
        except InputError as reason:
            raise reason from error
        refused = self._is_refusal(error) or getattr(error, "refused", False)
        error.refused = refused  # type: ignore[attr-defined]  # for the function that the user called
        if outside and refused:
            given = ", ".join(f"{k} {_shown(v)}" for k, v in self._given(args, kwargs).items() if k != "self")
            words = str(error).strip().splitlines()
            refusal = f"{type(error).__name__}: {words[0][:200] if words else 'no message'}"
            raise InputError(f"{self.name}: expected arguments that fit, got {given} ({refusal}).") from error

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether the arguments are those of the function; Python says it well where they are not."""
        try:
            inspect.signature(self.function).bind(*args, **kwargs)
        except TypeError:
            return False
        return True

    def _is_users(self, error: BaseException) -> bool:
        """Whether a function or network of the caller's own failed, by itself or in what it called."""
        frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
        others = (*installed_folders(), *_GENERATED)
        written = [frame for frame in frames if not frame.f_code.co_filename.startswith(others)]
        home = self.function.__globals__
        return bool(written) and _is_outside(written[-1]) and written[-1].f_globals is not home

    def _is_refusal(self, error: BaseException) -> bool:
        """Whether the package of the function, or what it computes with, failed, by an error of Python's."""
        trace, own, here = error.__traceback__, _package(self.function.__globals__), False
        while trace is not None:
            package = _package(trace.tb_frame.f_globals)
            here = package == own or (here and package.partition(".")[0] in _ENGINES)
            trace = trace.tb_next
        # an attribute that is not there is nothing PyTorch refuses: where types are right, it is a fault
        return here and not isinstance(error, _FAULTS) and not type(error).__module__.startswith("symscope")

    def finite(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raises where an argument is NaN, or a tensor holds NaN or infinite numbers."""
        for name, value in self._given(args, kwargs).items():
            if isinstance(value, float) and value != value:
                raise NotFiniteError(f"{name}: expected a number, got nan.")
            for x in _tensors(value):
                # inside torch.func.vmap a tensor stands for many, and nothing can be decided by its numbers
                if not torch._C._functorch.is_functorch_wrapped_tensor(x):
                    try:
                        check_finite(name, x)
                    except InputError as error:
                        raise NotFiniteError(*error.args) from None

    def result(self, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raises where a result is not finite, though all arguments may be."""
        if getattr(self.function, "may_be_infinite", False) or _is_finite(result):
            return
        for name, value in self._given(args, kwargs).items():
            if isinstance(value, float) and math.isinf(value):
                raise InputError(f"{name}: expected a finite number, got {value}.")
        self.finite(args, kwargs)
        self.overflow(None)

    def overflow(self, reason: Exception | None) -> NoReturn:
        """Raises for finite arguments that lead to NaN or infinite numbers, here or further inside."""
        where = "a result is" if reason is None else "others on the way are"
        raise InputError(
            f"{self.name}: expected numbers of moderate size, got some so large or small that {where} NaN or "
            f"infinite; scale them{'' if reason is None else f' ({reason})'}."
        ) from reason

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        given = self._given(args, kwargs)
        with jaxtyped("context"):  # in it one name is one size
            for name, value in given.items():
                hint = self.hints.get(name, Any)
                if isinstance(value, str) and torch.device in get_args(hint):
                    usable_device(value, torch.empty(0))
                if not _conforms(value, hint):
                    shown = f"{_shown(value)}{_beside(given, name)}"
                    raise InputError(f"{name}: expected {_expected(hint)}, got {shown}.")
        for name, value in given.items():
            for tensor in _tensors(value):
                _check_dense(name, tensor)


def _package(home: dict[str, Any]) -> str:
    return ".".join(home.get("__name__", "").split(".")[:2])


def _conforms(value: Any, hint: Any) -> bool:
    if hint is Any:
        return True
    origin = get_origin(hint)
    if origin in (types.UnionType, Union):
        return any(_conforms(value, option) for option in get_args(hint))
    if origin is Literal:
        return value in get_args(hint)
    if hint is None:
        return value is None
    if hint is int:
        return not isinstance(value, bool) and _is_index(value)
    if hint is torch.dtype:
        return isinstance(value, torch.dtype) and value.is_floating_point
    if hint is float:
        return isinstance(value, numbers.Real) or (isinstance(value, Tensor) and value.ndim == 0)
    if origin is Callable or hint is Callable:
        return callable(value)
    if origin in (list, tuple, Sequence):
        return _is_sequence(value, origin, get_args(hint))
    kind = origin or hint
    if not isinstance(kind, type) or kind is bool or kind.__module__.startswith("symscope"):
        return True  # classes of the library: whatever behaves like one will do
    return isinstance(value, kind)


def _is_index(value: Any) -> bool:
    try:
        return operator.index(value).bit_length() < 64
    except (TypeError, RuntimeError):  # the latter from a tensor of several numbers
        return False


def _is_sequence(value: Any, origin: Any, inside: tuple[Any, ...]) -> bool:
    if isinstance(value, str) and origin is Sequence and inside == (str,):
        return False
    if not (hasattr(value, "__len__") and hasattr(value, "__getitem__")):
        return False
    if origin is tuple and inside and Ellipsis not in inside:
        same = len(value) == len(inside)
        return same and all(_conforms(part, kind) for part, kind in zip(value, inside, strict=True))
    alike = len(inside) == 1 or (len(inside) == 2 and inside[1] is Ellipsis)
    if isinstance(value, Tensor) and int in inside:
        return not (value.is_floating_point() or value.is_complex())
    if isinstance(value, Tensor) or not alike or isinstance(value, dict):
        return not isinstance(value, dict | str)
    return all(_conforms(part, inside[0]) for part, _ in zip(value, range(_FEW), strict=False))


def _tensors(value: Any) -> Iterable[Tensor]:
    if isinstance(value, Tensor):
        return (value,)
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return (part for part in parts if isinstance(part, Tensor))


def _is_finite(value: Any) -> bool:
    """Whether a number, a tensor that is not large, or a row of them is finite."""
    if isinstance(value, float | complex):
        return math.isfinite(abs(value))
    if isinstance(value, Tensor):
        wrapped = torch._C._functorch.is_functorch_wrapped_tensor(value)
        return wrapped or value.numel() > _LARGE or bool(torch.isfinite(value.detach()).all())
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return all(_is_finite(part) for part, _ in zip(parts, range(_FEW), strict=False))


def _check_dense(name: str, x: Tensor) -> None:
    if x.layout is not torch.strided or x.is_meta:
        kind = "a tensor without data" if x.is_meta else f"a tensor of layout {x.layout}"
        raise InputError(f"{name}: expected a dense tensor, got {kind}; use {name}.to_dense().")


def _expected(hint: Any) -> str:
    options = get_args(hint) if get_origin(hint) in (types.UnionType, Union) else (hint,)
    return " or ".join(dict.fromkeys(_one_expected(option) for option in options))


def _one_expected(hint: Any) -> str:
    if isinstance(shape := getattr(hint, "dim_str", None), str):
        kind = hint.__name__.partition("[")[0]
        return f"{_NUMBERS.get(kind, kind)} of shape [{', '.join(shape.split())}]"
    if get_origin(hint) is Literal:
        return " or ".join(repr(option) for option in get_args(hint))
    if hint in _WORDS or hint is None:
        return _WORDS.get(hint, "None")
    kind = get_origin(hint) or hint
    inside = [_expected(part) for part in get_args(hint) if part is not Ellipsis]
    name = "a torch.Tensor" if kind is Tensor else getattr(kind, "__name__", str(kind))
    return f"{name} of {inside[0]}" if inside and kind in (list, tuple, Sequence) else name


def _shown(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"{value.dtype} of shape {tuple(value.shape)}"
    if value is None or isinstance(value, int | float | str):
        return shortened(value)
    return type(value).__name__


def _beside(given: dict[str, Any], name: str) -> str:
    """The shapes of other arguments, with which one may disagree."""
    if not isinstance(given[name], Tensor):
        return ""
    others = [
        f"{k} of shape {tuple(v.shape)}" for k, v in given.items() if k != name and isinstance(v, Tensor)
    ]
    return f" beside {', '.join(others)}" if others else ""
