"""Good calls of public functions, classes and methods, recorded while the examples in docstrings run."""

from __future__ import annotations

import contextlib
import copy
import doctest
import functools
import importlib
import inspect
import io
import os
import pkgutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

import symscope

PROGRAM = ("symscope.cli",)  # its own area


@dataclass(frozen=True)
class Target:
    """A public function, class or method.

    Attributes:
        name: Full name, `symscope.package.name` or `symscope.package.Class.method`.
        function: What is called.
        code: What Python runs when it is called.
        owner: The object whose documentation has the example.
    """

    name: str
    function: Callable[..., Any]
    code: CodeType
    owner: Any

    @functools.cached_property
    def signature(self) -> inspect.Signature:
        """Its parameters, with annotations where they can be evaluated."""
        try:
            return inspect.signature(self.function, eval_str=True)
        except NameError:
            return inspect.signature(self.function)


def public_modules() -> list[Any]:
    """The index of every package, and its public modules."""
    names = ["symscope.errors", "symscope.testing"] + [
        module.name
        for module in pkgutil.walk_packages(symscope.__path__, "symscope.")
        if not any(part.startswith("_") for part in module.name.split("."))
    ]
    return [importlib.import_module(name) for name in dict.fromkeys(names) if not name.startswith(PROGRAM)]


@functools.cache
def targets() -> dict[str, Target]:
    """Everything public that can be called, by name."""
    found: dict[str, Target] = {}
    for module in public_modules():
        for word in getattr(module, "__all__", ()):
            value = getattr(module, word)
            home = getattr(value, "__module__", "") or ""
            if not home.startswith("symscope") or home.startswith(PROGRAM):
                continue
            name = f"{home}.{word}"
            if inspect.isfunction(value):
                found[name] = Target(name, value, inspect.unwrap(value).__code__, value)
            elif inspect.isclass(value) and not issubclass(value, BaseException):
                for method, function in vars(value).items():
                    code = getattr(inspect.unwrap(function), "__code__", None) if callable(function) else None
                    if code is None or (method[0] == "_" and method not in ("__init__", "__call__")):
                        continue
                    called = value if method == "__init__" else function
                    full = name if method == "__init__" else f"{name}.{method}"
                    found[full] = Target(full, called, code, value)
    return dict(sorted(found.items()))


def with_example() -> list[str]:
    """Names of functions whose own example calls them."""
    return [
        name
        for name, target in targets().items()
        if inspect.isfunction(target.owner) and f"{target.owner.__name__}(" in _example_text(target.owner)
    ]


def _example_text(owner: Any) -> str:
    return "".join(example.source for test in _tests(owner) for example in test.examples)


def _tests(owner: Any) -> list[doctest.DocTest]:
    module = sys.modules[owner.__module__]
    finder = doctest.DocTestFinder(recurse=inspect.isclass(owner), exclude_empty=True)
    return finder.find(owner, owner.__name__, module=module, globs=dict(vars(module)))


@contextlib.contextmanager
def recorder(wanted: dict[CodeType, str], calls: dict[str, dict[str, Any]]) -> Iterator[None]:
    """Record the arguments of the first call of each wanted function."""

    def note(frame: FrameType, event: str, _: Any) -> None:
        name = wanted.get(frame.f_code) if event == "call" else None
        if name is not None and name not in calls:
            code = frame.f_code
            count = code.co_argcount + code.co_kwonlyargcount
            count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
            calls[name] = {
                key: frame.f_locals[key] for key in code.co_varnames[:count] if key in frame.f_locals
            }

    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)


def run_examples(owner: Any, wanted: dict[CodeType, str], calls: dict[str, dict[str, Any]]) -> None:
    """Run the examples in an object's documentation, recording calls."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        os.chdir(folder)
        try:
            for test in _tests(owner):
                with contextlib.redirect_stderr(io.StringIO()), recorder(wanted, calls):
                    doctest.DocTestRunner(verbose=False).run(test, out=lambda text: None, clear_globs=False)
        finally:
            os.chdir(before)


@functools.cache
def own_call(name: str) -> dict[str, Any]:
    """The arguments with which a function's own example calls it."""
    target, calls = targets()[name], {}
    run_examples(target.owner, {target.code: name}, calls)
    return calls.get(name, {})


@functools.cache
def reached_calls() -> dict[str, dict[str, Any]]:
    """The first call of everything public that examples reach, but for functions with their own example."""
    apart = set(with_example())
    wanted = {target.code: name for name, target in targets().items() if name not in apart}
    calls: dict[str, dict[str, Any]] = {}
    for owner in dict.fromkeys(target.owner for target in targets().values()):
        run_examples(owner, wanted, calls)
    return dict(sorted(calls.items()))


def copied(value: Any) -> Any:
    """A copy that a call may change; the value itself where it cannot be copied."""
    try:
        return copy.deepcopy(value)
    except Exception:
        return value
