"""Every experiment by its id: found by looking into modules, so that adding one takes no code elsewhere.

Two places are searched: the modules and packages that installed distributions name under the entry point
group `symscope.experiments` (the papers are one of them), and the modules a user names with `--module`. An
installed module that cannot be imported takes away its own experiments only:
`broken_modules` names it and the reason.
"""

from __future__ import annotations

import importlib.util
import pkgutil
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import final

from symscope.errors import InputError, nearest
from symscope.runs._definition import Experiment
from symscope.user_code import load_user_module

ENTRY_POINTS = "symscope.experiments"
_HOMES: dict[str, str] = {}  # the module of an installed experiment, once it was found
EXTRAS = ("dask", "gpytorch", "lightning", "sklearn")  # extras that are called as the package they bring


@final
@dataclass(frozen=True)
class BrokenModule:
    """A module of experiments that cannot be imported: what it is called, why, and its files."""

    module: str
    reason: str
    files: tuple[Path, ...]

    @property
    def message(self) -> str:
        """One line: which module, and which error."""
        return f"{self.module} cannot be imported: {self.reason}"

    def mentions(self, name: str) -> bool:
        """Whether its files hold this id, or one of this family; they cannot be asked in any other way."""
        texts = [file.read_text(encoding="utf-8", errors="replace") for file in self.files]
        return any(re.search(rf"""["']{re.escape(name)}["'/]""", text) for text in texts)


def experiments(modules: Sequence[str] = ()) -> dict[str, Experiment]:
    """All experiments by id, in the order of their ids; those of `broken_modules` are not among them.

    Args:
        modules: Further modules: dotted names, or paths of Python files.

    Raises:
        InputError: One of `modules` cannot be found or loaded, or two experiments have one id.

    >>> "spectral/circles-distance" in experiments()
    True
    """
    return _by_id([*_found()[0], *_named(modules)])


def _named(modules: Sequence[str]) -> list[ModuleType]:
    return [load_user_module("--module", name) for name in modules]


def _by_id(modules: Iterable[ModuleType]) -> dict[str, Experiment]:
    result: dict[str, tuple[Experiment, str]] = {}
    for module in modules:
        for value in vars(module).values():
            if not isinstance(value, Experiment):
                continue
            known, where = result.setdefault(value.id, (value, module.__name__))
            if known is not value:
                raise InputError(
                    f"two experiments are called {value.id!r}, in {where} and {module.__name__}: "
                    "rename one of them"
                )
    return {name: result[name][0] for name in sorted(result)}


def broken_modules() -> tuple[BrokenModule, ...]:
    """Installed modules of experiments that cannot be imported.

    >>> broken_modules()
    ()
    """
    return tuple(_found()[1])


def find_experiment(name: str, modules: Sequence[str] = ()) -> Experiment:
    """The experiment with this id.

    Args:
        name: The experiment's id.
        modules: Further modules to look into.

    Raises:
        InputError: No such experiment; the nearest is named. Or its module cannot be imported.

    >>> find_experiment("spectral/circles-density").figure
    'Fig. 3D-F'
    """
    found = _by_id(_named(modules)).get(name) or _installed(name)
    if found is None:
        known = experiments(modules)
        if name not in known:
            raise _unknown(name, known)
        found = known[name]
    return found


def experiment_ids(name: str, modules: Sequence[str] = ()) -> list[str]:
    """The ids a name stands for: an experiment's own, or those of a whole family.

    Args:
        name: An id, or the part of ids before the slash.
        modules: Further modules to look into.

    Raises:
        InputError: No such experiment or family; the nearest is named. Or its module cannot be imported.

    >>> experiment_ids("spectral/missing"), experiment_ids("linear")[:2]
    (['spectral/missing'], ['linear/decay', 'linear/decoupling'])
    """
    if (name in _by_id(_named(modules))) != (_installed(name) is not None):
        return [name]
    known = experiments(modules)
    result = [one for one in known if name in (one, one.partition("/")[0])]
    if not result:
        raise _unknown(name, {*known, *(one.partition("/")[0] for one in known)})
    return result


def absolute_modules(modules: Sequence[str]) -> tuple[str, ...]:
    """Module names as other processes can use them: paths made absolute.

    >>> absolute_modules(["json"])
    ('json',)
    """
    return tuple(str(Path(name).resolve()) if name.endswith(".py") else name for name in modules)


def _unknown(name: str, known: Iterable[str]) -> InputError:
    """What to say of a name that nothing has: a module that cannot be imported, or the nearest name."""
    failed = broken_modules()
    for one in failed:
        if one.mentions(name):
            return InputError(f"experiment {name!r} cannot be run: {one.message}")
    more = "".join(f" Another may be missing: {one.message}." for one in failed)
    return InputError(
        f"no experiment is called {name!r}: {nearest(name, known)} `symscope list` shows all.{more}"
    )


def _installed(name: str) -> Experiment | None:
    """The installed experiment whose id stands in a file, found without importing all the others.

    None where it takes more: an id that code puts together, a module that cannot be imported.
    """
    for module in [_HOMES[name]] if name in _HOMES else _modules_holding(name):
        try:
            found = _by_id([importlib.import_module(module)]).get(name)
        except (Exception, SystemExit):  # tried again, and reported, by `experiments`
            continue
        if found is not None:
            _HOMES[name] = module
            return found
    return None


def _modules_holding(name: str) -> Iterator[str]:
    for point in metadata.entry_points(group=ENTRY_POINTS):
        spec = importlib.util.find_spec(point.module)
        for place in (spec and spec.submodule_search_locations) or ():
            for file in sorted(Path(place).rglob("*.py")):
                if f'"{name}"' in file.read_text(encoding="utf-8", errors="replace"):
                    inside = file.relative_to(place).with_suffix("").parts
                    yield ".".join((point.module, *(part for part in inside if part != "__init__")))


def _found() -> tuple[list[ModuleType], list[BrokenModule]]:
    """The installed modules that can be imported, and those that cannot."""
    modules: list[ModuleType] = []
    failed: list[BrokenModule] = []
    for point in metadata.entry_points(group=ENTRY_POINTS):
        for name, files in _inside(point.module):
            try:
                modules.append(importlib.import_module(name))
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # one broken module must not take the others with it
                failed.append(BrokenModule(name, _reason(error), files))
    return modules, failed


def _inside(name: str, files: tuple[Path, ...] = ()) -> Iterator[tuple[str, tuple[Path, ...]]]:
    """A module, or a package with every module in it that is not private: names and files."""
    yield name, files
    try:
        package = importlib.import_module(name)
    except KeyboardInterrupt:
        raise
    except BaseException:  # tried again, and reported, by the caller
        return
    for info in pkgutil.iter_modules(getattr(package, "__path__", ()), f"{name}."):
        last = info.name.rpartition(".")[2]
        if last.startswith("_"):
            continue
        place = Path(getattr(info.module_finder, "path", "."))
        inside = sorted((place / last).glob("*.py")) if info.ispkg else [place / f"{last}.py"]
        there = tuple(file for file in inside if file.is_file())
        yield from _inside(info.name, there) if info.ispkg else [(info.name, there)]


def _reason(error: BaseException) -> str:
    """The error in one line; a package that is not installed is named, with what to do."""
    absent = (getattr(error, "name", None) or "").partition(".")[0]
    if isinstance(error, ModuleNotFoundError) and absent and importlib.util.find_spec(absent) is None:
        remedy = f": `pip install 'symscope[{absent}]'`" if absent in EXTRAS else ""
        return f"it needs the package {absent}, which is not installed{remedy}"
    words = str(error).strip().splitlines()
    return f"{type(error).__name__}: {words[0] if words else 'no message'}"
