"""Arguments checked against the annotations of a function, so that a wrong one gets a clear message.

The shapes in signatures, `Float[Tensor, "n d"]`, say what a function takes; `checked` holds callers to them.
"""

from __future__ import annotations

import functools
import inspect
import numbers
import operator
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, ParamSpec, TypeVar, Union, final, get_args, get_origin

import torch
from jaxtyping import jaxtyped
from torch import Tensor

from symscope.errors import InputError
from symscope.numerics._checks import check_finite, shortened, usable_device

P = ParamSpec("P")
R = TypeVar("R")
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
_FAILURES = (RuntimeError, IndexError, ValueError, ZeroDivisionError)  # by which torch refuses a tensor
_USUAL = (torch.float64, torch.float32, torch.int64)
_FEW = 1000  # parts of a sequence that are looked at


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """The function, which refuses arguments that its annotations do not allow.

    Tensors must have the annotated kind of numbers and shape, with one size for one name over all arguments,
    and other arguments the annotated type. Where an empty tensor makes the function fail, the message says
    so. NaN is looked for last, so that what the function itself says about its arguments goes first. A call
    costs some 100 microseconds and one pass over the tensors.

    >>> @checked
    ... def scaled(x: Tensor, factor: float) -> Tensor:
    ...     return factor * x
    >>> scaled(torch.ones(2), float("nan"))
    Traceback (most recent call last):
        ...
    symscope.errors.InputError: factor: expected a number, got nan.
    """
    check, failures = _ArgumentCheck(function), _FAILURES

    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        check(args, kwargs)
        try:
            result = function(*args, **kwargs)
        except failures as error:
            check.explain(error, args, kwargs)
            raise
        check.finite(args, kwargs)
        return result

    # doctest only looks at functions that have the globals of their module; a run-time type checker may have
    # wrapped either function
    home, plain = inspect.unwrap(function).__globals__, inspect.unwrap(wrapper)
    made = types.FunctionType(plain.__code__, home, function.__name__, None, plain.__closure__)
    return functools.update_wrapper(made, function)


@final
class _ArgumentCheck:
    """Compares arguments with the annotations of one function, which are read at the first call."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = inspect.unwrap(function)

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

    def explain(self, error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raises an error in the caller's words where an argument is the likely reason."""
        if isinstance(error, InputError):
            return
        for name, value in self._given(args, kwargs).items():
            if isinstance(value, float) and abs(value) > torch.finfo(torch.float32).max:
                raise InputError(f"{name}: expected a number that float32 can hold, got {value}.") from error
            for x in _tensors(value):
                if x.numel() == 0 or x.dtype not in _USUAL:
                    expected = "at least one number" if x.numel() == 0 else "float32 or float64 numbers"
                    raise InputError(f"{name}: expected {expected}, got {_shown(x)}.") from error
        self.finite(args, kwargs)

    def finite(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raises where an argument is NaN, or a tensor holds NaN or infinite numbers."""
        for name, value in self._given(args, kwargs).items():
            if isinstance(value, float) and value != value:
                raise InputError(f"{name}: expected a number, got nan.")
            for x in _tensors(value):
                # inside torch.func.vmap a tensor stands for many, and nothing can be decided by its numbers
                if not torch._C._functorch.is_functorch_wrapped_tensor(x):
                    check_finite(name, x)

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
    if isinstance(value, Tensor) or not alike or isinstance(value, dict):
        return not isinstance(value, dict | str)
    return all(_conforms(part, inside[0]) for part, _ in zip(value, range(_FEW), strict=False))


def _tensors(value: Any) -> Iterable[Tensor]:
    if isinstance(value, Tensor):
        return (value,)
    return (part for part in value if isinstance(part, Tensor)) if isinstance(value, list | tuple) else ()


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
