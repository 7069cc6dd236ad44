"""Annotations of both packages checked at run time: every call in a test holds to the shapes it promises.

jaxtyping's own import hook does the same, but checks every argument twice and prepares all functions while
they are imported: it took half of the suite's time. Here a function is prepared at its first call.
"""

from __future__ import annotations

import ast
import functools
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import is_dataclass
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any, TypeVar, get_args, get_type_hints

from jaxtyping import AbstractArray, jaxtyped

T = TypeVar("T")
_DECORATOR = "__annotations_checked__"
_checking = True
ALWAYS, SOMETIMES = 100, 20  # calls of one function that are all checked; of the later ones every so many


def check_annotations(packages: Sequence[str]) -> None:
    """Checks calls of all functions and dataclasses of packages that are imported from here on."""
    sys.meta_path.insert(0, _Finder(packages))


@contextmanager
def annotations_unchecked() -> Iterator[None]:
    """In it a call is what it is for a user, who has no run-time type checker."""
    global _checking
    _checking = False
    try:
        yield
    finally:
        _checking = True


def annotations_checked(made: T) -> T:
    """A function, method or dataclass whose calls raise TypeError where they break their annotations."""
    if isinstance(made, type):
        if is_dataclass(made) and "__init__" in vars(made):
            made.__init__ = _checked_function(made.__init__)
        return made
    return _checked_function(made) if inspect.isfunction(made) else made


def _checked_function(function: Callable[..., Any]) -> Callable[..., Any]:
    if hasattr(function, "__wrapped__"):  # the __init__ that somebody wrote in a dataclass
        return function
    if inspect.isgeneratorfunction(function):  # a GeneratorExit from a with block would end it too early
        return function
    typed: Callable[..., Any] | None = None
    shapes, calls = False, 0

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        nonlocal typed, shapes, calls
        calls += 1
        if not _checking or (calls > ALWAYS and calls % SOMETIMES):
            return function(*args, **kwargs)
        if typed is None:  # names of types that are defined further down are known by now
            from beartype import BeartypeConf, beartype  # a machine may lack it

            function.__annotations__ = _hints(function)
            shapes = any(map(_has_shape, function.__annotations__.values()))
            typed = beartype(conf=BeartypeConf(violation_type=TypeError))(function)
        if not shapes:
            return typed(*args, **kwargs)
        with jaxtyped("context"):  # in it one name is one size
            return typed(*args, **kwargs)

    return wrapper


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """The evaluated annotations; Any for a type that is only imported for type checkers."""
    evaluated = {}
    for name, annotation in function.__annotations__.items():
        alone = type("Alone", (), {"__annotations__": {name: annotation}})
        try:
            evaluated |= get_type_hints(alone, function.__globals__, include_extras=True)
        except NameError:
            evaluated[name] = Any
    return evaluated


def _has_shape(hint: Any) -> bool:
    if isinstance(hint, type) and issubclass(hint, AbstractArray):
        return True
    return any(map(_has_shape, get_args(hint)))


class _Decorating(ast.NodeVisitor):
    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        node.decorator_list.append(_name(node))  # next to the function: other decorators lose annotations
        self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        node.decorator_list.insert(0, _name(node))  # after @dataclass
        self.generic_visit(node)


def _name(node: ast.AST) -> ast.expr:
    return ast.copy_location(ast.Name(_DECORATOR, ast.Load()), node)


class _Loader(SourceFileLoader):
    def get_code(self, fullname: str) -> Any:
        path = self.get_filename(fullname)
        tree = ast.parse(self.get_data(path), path)
        _Decorating().visit(tree)
        return compile(tree, path, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        vars(module)[_DECORATOR] = annotations_checked
        super().exec_module(module)


class _Finder:
    def __init__(self, packages: Sequence[str]) -> None:
        self.packages = packages

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name.partition(".")[0] not in self.packages:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec
