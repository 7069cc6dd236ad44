"""Code of the user's own: imported only when the user names it, its errors shown as the user's.

For whatever reads networks, data, actions, losses or experiments that are written MODULE:FUNCTION.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import os
import re
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

from symscope.errors import InputError

__all__ = [
    "bind_seed",
    "installed_folders",
    "load_user_function",
    "load_user_module",
    "module_source",
    "user_error",
    "user_errors",
    "user_files",
]

FILE_MODULE = re.compile(r".+_[0-9a-f]{16}")
_OURS = str(Path(__file__).parent) + os.sep  # the whole library


def load_user_function(option: str, name: str) -> Callable[..., Any]:
    """The function a user names as MODULE:FUNCTION or FILE.py:FUNCTION; nothing else is imported.

    Args:
        option: Name of the option in messages, such as "--model".
        name: The module or file and the function, with a colon between them.

    Raises:
        InputError: No such module or function, or an error of the user's own while it is imported.

    >>> load_user_function("--loss", "math:hypot")(3, 4)
    5.0
    """
    place, _, function = name.rpartition(":")
    if not place or not function:
        remedy = f"; write {name}:FUNCTION with the name of a function in it" if name.endswith(".py") else ""
        raise InputError(f"{option} {name}: expected MODULE:FUNCTION or FILE.py:FUNCTION{remedy}")
    loaded = getattr(load_user_module(option, place), function, None)
    if not callable(loaded):
        raise InputError(f"{option} {name}: {place} has no function {function!r}")
    chosen: Callable[..., Any] = loaded
    return chosen


def load_user_module(option: str, name: str) -> ModuleType:
    """The module a user names, by its dotted name or by the path of its file; a file is loaded only once.

    Args:
        option: Name of the option in messages, such as "--module".
        name: The dotted name, or a path that ends in .py.

    Raises:
        InputError: No such module, or an error of the user's own while it is imported.

    >>> load_user_module("--module", "json").__name__
    'json'
    """
    with user_errors(f"{option} {name}: importing it"):
        try:
            return _from_file(Path(name)) if name.endswith(".py") else _from_name(name)
        except InputError as error:
            raise InputError(f"{option} {name}: {error}") from error
        except ModuleNotFoundError as error:
            if _user_frames(error):  # a module that the user's code imports, in a line to be named
                raise
            raise InputError(f"{option} {name}: {error}") from error


def bind_seed(what: str, build: Callable[..., Any], seed: int) -> Callable[[], Any]:
    """A user's function with the seed filled in, where it has an argument `seed` or needs a single one.

    Args:
        what: Name of the function in messages.
        build: The function.
        seed: The value to fill in.

    Raises:
        InputError: It needs more than a seed.

    >>> bind_seed("--model", lambda width=3, seed=0: (width, seed), 7)()
    (3, 7)
    >>> bind_seed("--model", lambda number: number, 7)(), bind_seed("--model", dict, 7)()
    (7, {})
    """
    try:
        arguments = inspect.signature(build).parameters
    except (TypeError, ValueError):  # some built-in callables have no signature
        return build
    any_number = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    needed = [name for name, a in arguments.items() if a.default is a.empty and a.kind not in any_number]
    named = "seed" in arguments and arguments["seed"].kind not in (
        inspect.Parameter.POSITIONAL_ONLY,
        *any_number,
    )
    if set(needed) - {"seed"} and (named or len(needed) > 1):
        raise InputError(
            f"{what}: expected a function of nothing, or of a seed; it needs {', '.join(needed)}. Wrap it: "
            "def build(seed): return ..."
        )
    if named:
        return partial(build, seed=seed)
    return partial(build, seed) if needed else build


@contextmanager
def user_errors(what: str, mixed: bool = False) -> Iterator[None]:
    """Turns whatever a user's code raises, `SystemExit` and its like included, into an error with its line.

    Args:
        what: What raised it, in words, for the message.
        mixed: Whether our own code runs in the block as well, whose errors then stay as they are.

    Raises:
        InputError: The user's code raised something else than this or KeyboardInterrupt.

    >>> with user_errors("it"):  # doctest: +ELLIPSIS
    ...     raise GeneratorExit
    Traceback (most recent call last):
        ...
    symscope.errors.InputError: it raised GeneratorExit: no message (...)
    """
    try:
        yield
    except (InputError, KeyboardInterrupt):
        raise
    except BaseException as error:  # only the user's code raises one that is no Exception
        if mixed and isinstance(error, Exception) and not _user_frames(error):
            raise
        raise user_error(what, error) from error


def _user_frames(error: BaseException) -> list[traceback.FrameSummary]:
    """Where an error passed through code that is neither ours nor installed, the innermost place last."""
    others = (_OURS, *installed_folders())
    return [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).is_file() and not frame.filename.startswith(others)
    ]


def installed_folders() -> tuple[str, ...]:
    """Folders of Python and of installed packages, with a separator at their ends.

    Packages need not be in the environment's own folder: one that sees those of the system or of the user,
    or of another environment, has them in further folders of the same names.

    >>> os.__file__.startswith(installed_folders())
    True
    """
    own = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    further = {place for place in sys.path if Path(place).name in ("site-packages", "dist-packages")}
    return tuple(sorted(place + os.sep for place in own | further))


def user_error(what: str, error: BaseException) -> InputError:
    """What a user's own code raised, with the user's line it happened in, as one sentence.

    The line is the user's also where code that it calls, of PyTorch or anybody, raised the error.

    >>> user_error("it", ValueError("too small")).args[0]
    'it raised ValueError: too small'
    """
    frames = _user_frames(error) or traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    words = str(error).strip().splitlines()
    if isinstance(error, SyntaxError):  # the file with the mistake never ran
        place, words = f" ({Path(error.filename or '?').name}, line {error.lineno})", [error.msg]
    return InputError(f"{what} raised {type(error).__name__}: {words[0] if words else 'no message'}{place}")


@cache
def module_source(module: ModuleType) -> str | None:
    """The text of a module, read once: the file may change while the module stays as it was loaded."""
    try:
        return inspect.getsource(module)
    except (OSError, TypeError):  # it has no file
        return None


def user_files() -> tuple[str, ...]:
    """The files that `load_user_module` has loaded here, for another process to load them as well."""
    named = [(name, sys.modules[name]) for name in list(sys.modules) if FILE_MODULE.fullmatch(name)]
    files = [(name, Path(file)) for name, module in named if (file := getattr(module, "__file__", None))]
    return tuple(str(file.resolve()) for name, file in files if name == _file_module(file))


def _file_module(path: Path) -> str:
    """The name in `sys.modules` of a file: that of no other, `math.py` of a user is not Python's."""
    return f"{path.stem}_{hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:16]}"


def _from_name(name: str) -> ModuleType:
    """A module by name, from the folder the user is in first, as with `python -m`."""
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        importlib.invalidate_caches()
        return importlib.import_module(name)
    finally:
        sys.path.remove(here)


def _from_file(path: Path) -> ModuleType:
    """A file as a module, which may import the files beside it; loaded once, as with `import`.

    Its folder stays at the end of `sys.path`, for imports inside functions; nothing installed is hidden so.
    """
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    name = _file_module(path)
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path} is not a Python file")
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)
    importlib.invalidate_caches()
    module = sys.modules[name] = importlib.util.module_from_spec(spec)  # dataclasses look themselves up there
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module
