"""Good calls of public functions, classes and methods, recorded while the examples in docstrings run."""

from __future__ import annotations

import contextlib
import copy
import doctest
import functools
import importlib
import inspect
import io
import pkgutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

import symscope
from tests.fuzz.further_calls import CALLS

PROGRAM = "symscope.cli"  # its own area
ONLY_WITH_A_GPU = "symscope.networks._attention_triton"
Calls = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Target:
    """A public function, class or method.

    Attributes:
        name: Full name, `symscope.package.name` or `symscope.package.Class.method`.
        function: What is called.
        owner: The object whose documentation has the example.
    """

    name: str
    function: Callable[..., Any]
    owner: Any

    @functools.cached_property
    def signature(self) -> inspect.Signature:
        """Its parameters, with annotations where they can be evaluated."""
        try:
            return inspect.signature(self.function, eval_str=True)
        except (NameError, ValueError):
            return inspect.signature(self.function)


@functools.cache
def modules() -> list[Any]:
    """Every module of the library."""
    names = [module.name for module in pkgutil.walk_packages(symscope.__path__, "symscope.")]
    return [
        importlib.import_module(name)
        for name in names
        if name != ONLY_WITH_A_GPU and not name.endswith("__main__")
    ]


@functools.cache
def targets() -> dict[str, Target]:
    """Everything public that can be called, by name."""
    found: dict[str, Target] = {}
    for module in modules():
        if any(part.startswith("_") for part in module.__name__.split(".")):
            continue
        for word in getattr(module, "__all__", ()):
            value = getattr(module, word)
            home = getattr(value, "__module__", None) or ""
            if not home.startswith("symscope.") or home.startswith(PROGRAM):
                continue
            name = f"{home}.{word}"
            if inspect.isfunction(value):
                found[name] = Target(name, value, value)
            elif inspect.isclass(value) and not issubclass(value, BaseException):
                found[name] = Target(name, value, value)
                for method, function in vars(value).items():
                    if inspect.isfunction(function) and (method[0] != "_" or method == "__call__"):
                        found[f"{name}.{method}"] = Target(f"{name}.{method}", function, value)
    return {name: found[name] for name in sorted(found) if not is_forward(found[name])}


def is_forward(target: Target) -> bool:
    """Whether it is a module's forward: PyTorch's own errors are what its users expect there."""
    return inspect.isclass(target.owner) and issubclass(target.owner, nn.Module) and ".forward" in target.name


def is_method(name: str) -> bool:
    """Whether a target is a method: `symscope.package.Class.method`."""
    target = targets()[name]
    return target.function is not target.owner


@functools.cache
def with_example() -> list[str]:
    """Names of functions whose own example calls them."""
    return [
        name
        for name, target in targets().items()
        if inspect.isfunction(target.owner) and f"{target.owner.__name__}(" in _example_text(target.owner)
    ]


def _example_text(owner: Any) -> str:
    return "".join(example.source for test in _tests(owner) for example in test.examples)


def _tests(owner: Any, **replaced: Any) -> list[doctest.DocTest]:
    module = sys.modules[owner.__module__]
    finder = doctest.DocTestFinder(recurse=inspect.isclass(owner), exclude_empty=True)
    return finder.find(owner, owner.__name__, module=module, globs={**vars(module), **replaced})


def _run(tests: list[doctest.DocTest]) -> None:
    for test in tests:
        runner = doctest.DocTestRunner(verbose=False)
        _in_folder(functools.partial(runner.run, test, out=lambda text: None, clear_globs=False))


def _in_folder(call: Callable[[], object]) -> None:
    """Call in a folder of its own, with what it prints and warns of kept quiet."""
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        warnings.catch_warnings(action="ignore"),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        call()


def _recorder(name: str, function: Callable[..., Any], calls: Calls) -> Callable[..., Any]:
    """The function, which keeps the arguments of its first call."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def recorded(*arguments: Any, **named: Any) -> Any:
        # inside vmap tensors are not what they seem afterwards
        if name not in calls and torch._C._functorch.peek_interpreter_stack() is None:
            with contextlib.suppress(TypeError):  # a call that the function itself will refuse
                calls[name] = dict(signature.bind(*arguments, **named).arguments)
        return function(*arguments, **named)

    return recorded


@functools.cache
def own_call(name: str) -> dict[str, Any]:
    """The arguments with which a function's own example calls it."""
    target, calls = targets()[name], Calls()
    recorded = _recorder(name, target.function, calls)
    _run(_tests(target.owner, **{target.owner.__name__: recorded}))
    return calls.get(name, {})


@functools.cache
def reached_calls() -> Calls:
    """The first call of everything public that examples reach, but for functions with their own example."""
    calls, apart = Calls(), set(with_example())
    with _recorders({name: target for name, target in targets().items() if name not in apart}, calls):
        for owner in dict.fromkeys(target.owner for target in targets().values()):
            _run(_tests(owner))
        for further in CALLS:
            _in_folder(further)
    return dict(sorted(calls.items()))


@contextlib.contextmanager
def _recorders(wanted: dict[str, Target], calls: Calls) -> Iterator[None]:
    """Functions and methods replaced by recorders wherever a module of the library knows them."""
    changed: list[tuple[Any, str, Any]] = []
    for name, target in wanted.items():
        if inspect.isclass(target.owner):
            method = "__init__" if inspect.isclass(target.function) else target.function.__name__
            if method in vars(target.owner):
                changed.append((target.owner, method, vars(target.owner)[method]))
                setattr(target.owner, method, _recorder(name, changed[-1][2], calls))
            continue
        recorded = _recorder(name, target.function, calls)
        for module in modules():
            for word in [word for word, value in vars(module).items() if value is target.function]:
                changed.append((module, word, target.function))
                setattr(module, word, recorded)
    try:
        yield
    finally:
        for where, word, value in changed:
            setattr(where, word, value)


def copied(value: Any) -> Any:
    """A copy that a call may change; the value itself where it cannot be copied."""
    try:
        return copy.deepcopy(value)
    except Exception:
        return value
