"""Configs as plain data: `--set key=value`, JSON and back, and the fingerprint that names a run."""

from __future__ import annotations

import ast
import dataclasses
import hashlib
import json
import types
from collections.abc import Mapping, Sequence
from typing import Any, Union, get_args, get_origin, get_type_hints

from symscope.errors import InputError, nearest


def replace_fields(config: Any, assignments: Sequence[str]) -> Any:
    """A config with some fields set from text, as `--set key=value` gives them.

    Numbers, booleans and tuples are written as in Python, strings without quotes; a tuple may drop its
    brackets: `distances=0,0.5,1`.

    Args:
        config: A frozen dataclass.
        assignments: Texts "key=value".

    Returns:
        A new config of the same class.

    Raises:
        InputError: An unknown key (the nearest is named) or a value of another type.

    >>> @dataclasses.dataclass(frozen=True)
    ... class Config:
    ...     points: int = 6
    ...     distances: tuple[float, ...] = (0.0, 1.0)
    >>> replace_fields(Config(), ["points=8", "distances=0.5, 2"])
    Config(points=8, distances=(0.5, 2.0))
    """
    hints = get_type_hints(type(config))
    values: dict[str, Any] = {}
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        key = key.strip()
        if not equals:
            raise InputError(f"--set expects key=value, got {assignment!r}")
        if key not in hints:
            raise InputError(f"--set {assignment}: no setting {key!r}: {nearest(key, hints)}")
        values[key] = _typed(_literal(text.strip(), hints[key]), hints[key], f"--set {key}")
    return _replaced(config, values)


def config_to_plain(config: Any) -> dict[str, Any]:
    """A config as what JSON can hold: tuples become lists.

    >>> @dataclasses.dataclass(frozen=True)
    ... class Config:
    ...     sizes: tuple[int, ...] = (4, 8)
    >>> config_to_plain(Config())
    {'sizes': [4, 8]}
    """
    plain: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(config)))
    return plain


def config_from_plain(kind: type, plain: Mapping[str, Any]) -> Any:
    """The config that `config_to_plain` wrote down.

    Args:
        kind: The config's dataclass.
        plain: Its fields.

    Raises:
        InputError: Fields that this version does not have, that are missing, or of another type: the
            config was written by another version.

    >>> @dataclasses.dataclass(frozen=True)
    ... class Config:
    ...     sizes: tuple[int, ...] = (4, 8)
    >>> config_from_plain(Config, {"sizes": [2, 3]})
    Config(sizes=(2, 3))
    """
    hints = get_type_hints(kind)
    strange, absent = sorted(set(plain) - set(hints)), sorted(set(hints) - set(plain))
    if strange or absent:
        raise InputError(
            f"the config is of another version of symscope: {kind.__name__} has fields {', '.join(hints)}; "
            f"unknown: {', '.join(strange) or 'none'}, missing: {', '.join(absent) or 'none'}. Start a "
            "new run."
        )
    values = {key: _typed(_tuples(value), hints[key], f"field {key}") for key, value in plain.items()}
    return _constructed(kind, values)


def fingerprint(plain: Any) -> str:
    """Twelve hexadecimal digits of plain data, the same on every machine; one different digit changes it.

    >>> fingerprint({"a": 1, "b": [2.5]}) == fingerprint({"b": [2.5], "a": 1})
    True
    """
    return hashlib.sha256(canonical_json(plain).encode()).hexdigest()[:12]


def canonical_json(plain: Any) -> str:
    """Plain data as the one JSON text everything about it is derived from: keys sorted, no spaces.

    >>> canonical_json({"b": 1, "a": (2, None)})
    '{"a":[2,null],"b":1}'
    """
    return json.dumps(plain, sort_keys=True, separators=(",", ":"))


def _literal(text: str, hint: Any) -> Any:
    if hint is str:
        return text
    if get_origin(hint) is tuple and text[:1] not in ("(", "["):
        inner = get_args(hint)[0]
        return tuple(_literal(part.strip(), inner) for part in text.split(",") if part.strip())
    if text.lower() in ("true", "false", "none"):
        text = text.capitalize()
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text  # left for the type check to refuse, or to take as a string


def _typed(value: Any, hint: Any, where: str) -> Any:
    """The value as the annotated type, converting only what loses nothing (an int for a float)."""
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        for option in get_args(hint):
            try:
                return _typed(value, option, where)
            except InputError:
                continue
    elif origin is tuple:
        items = value if isinstance(value, tuple | list) else (value,)
        inner = get_args(hint)
        if len(inner) == 2 and inner[1] is Ellipsis:
            return tuple(_typed(item, inner[0], where) for item in items)
        if len(items) == len(inner):
            return tuple(_typed(item, kind, where) for item, kind in zip(items, inner, strict=True))
    elif hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    elif hint is type(None) and value is None:
        return None
    elif isinstance(hint, type) and type(value) is hint:
        return value
    name = hint.__name__ if isinstance(hint, type) and origin is None else str(hint)
    raise InputError(f"{where}: expected {name}, got {value!r} ({type(value).__name__})")


def _tuples(value: Any) -> Any:
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value


def _replaced(config: Any, values: Mapping[str, Any]) -> Any:
    current = {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
    return _constructed(type(config), {**current, **values})


def _constructed(kind: type, values: Mapping[str, Any]) -> Any:
    try:
        return kind(**values)
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"{kind.__name__}: {error}") from error
