"""Every experiment by its id: found by looking into modules, so that adding one takes no code elsewhere.

Three places are searched: the modules inside `symscope.experiments`, those that installed packages name under
the entry point group `symscope.experiments`, and those a user names with `--module`.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from types import ModuleType

from symscope.errors import InputError, nearest
from symscope.experiments.definition import Experiment

ENTRY_POINTS = "symscope.experiments"


def experiments(modules: Sequence[str] = ()) -> dict[str, Experiment]:
    """All experiments by id, in the order of their ids.

    Args:
        modules: Further modules: dotted names, or paths of Python files.

    Raises:
        InputError: A module that cannot be found or loaded, or two experiments with one id.

    >>> "spectral/circles-distance" in experiments()
    True
    """
    found: dict[str, tuple[Experiment, str]] = {}
    for module in [*_shipped(), *_installed(), *[load_module(name) for name in modules]]:
        for value in vars(module).values():
            if not isinstance(value, Experiment):
                continue
            known, where = found.setdefault(value.id, (value, module.__name__))
            if known is not value:
                raise InputError(
                    f"two experiments are called {value.id!r}, in {where} and {module.__name__}: "
                    "rename one of them"
                )
    return {name: found[name][0] for name in sorted(found)}


def find(name: str, modules: Sequence[str] = ()) -> Experiment:
    """The experiment with this id.

    Args:
        name: Its id.
        modules: Further modules to look into.

    Raises:
        InputError: No such experiment; the nearest is named.

    >>> find("spectral/circles-density").figure
    'Fig. 3D-F'
    """
    known = experiments(modules)
    if name not in known:
        raise InputError(
            f"no experiment is called {name!r}: {nearest(name, known)} `symscope list` shows all."
        )
    return known[name]


def load_module(name: str) -> ModuleType:
    """A module by its dotted name or by the path of its file; one path is loaded only once.

    Raises:
        InputError: It does not exist or cannot be loaded, with the reason.

    >>> load_module("json").__name__
    'json'
    """
    try:
        if not name.endswith(".py"):
            return importlib.import_module(name)
        path = Path(name).resolve()
        if not path.is_file():
            raise InputError(f"--module {name}: there is no such file")
        unique = f"symscope_module_{hashlib.sha256(str(path).encode()).hexdigest()[:12]}"
        if unique in sys.modules:
            return sys.modules[unique]
        spec = importlib.util.spec_from_file_location(unique, path)
        if spec is None or spec.loader is None:
            raise InputError(f"--module {name}: not a Python file")
        module = importlib.util.module_from_spec(spec)
        sys.modules[unique] = module  # dataclasses look their module up while it is being loaded
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[unique]
            raise
        return module
    except InputError:
        raise
    except Exception as error:  # whatever a user's module raises is the user's to see
        raise InputError(f"--module {name} cannot be loaded: {type(error).__name__}: {error}") from error


def resolved(modules: Sequence[str]) -> tuple[str, ...]:
    """Module names as other processes can use them: paths made absolute.

    >>> resolved(["json"])
    ('json',)
    """
    return tuple(str(Path(name).resolve()) if name.endswith(".py") else name for name in modules)


def _shipped() -> list[ModuleType]:
    package = importlib.import_module("symscope.experiments")
    names = [
        info.name
        for info in pkgutil.walk_packages(package.__path__, "symscope.experiments.")
        if not info.name.rsplit(".", 1)[-1].startswith("_")
    ]
    return [importlib.import_module(name) for name in names]


def _installed() -> list[ModuleType]:
    modules = []
    for point in metadata.entry_points(group=ENTRY_POINTS):
        try:
            modules.append(importlib.import_module(point.module))
        except Exception as error:  # an installed package that is broken must not look like ours
            raise InputError(
                f"the installed experiments {point.name!r} ({point.value}) cannot be loaded: "
                f"{type(error).__name__}: {error}; repair or uninstall that package"
            ) from error
    return modules
