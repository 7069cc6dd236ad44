"""Configs to text and back."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symscope import InputError
from symscope.runs._settings import (
    canonical_json,
    config_from_plain,
    config_to_plain,
    fingerprint,
    replace_fields,
)


@dataclass(frozen=True)
class Config:
    count: int = 1
    rate: float = 0.5
    name: str = "a"
    fast: bool = False
    sizes: tuple[int, ...] = (1, 2)
    pair: tuple[int, float] = (1, 2.0)
    limit: float | None = None

    def __post_init__(self) -> None:
        if self.count < 0:
            raise ValueError("count must not be negative")


finite = st.floats(allow_nan=False, allow_infinity=False)
configs = st.builds(
    Config,
    st.integers(0, 10**9),
    finite,
    st.text("abc=-x ", max_size=5).map(str.strip),
    st.booleans(),
    st.lists(st.integers(-9, 9), min_size=1, max_size=4).map(tuple),
    st.tuples(st.integers(), finite),
    st.none() | finite,
)


@given(configs)
def test_every_config_survives_json(config):
    assert config_from_plain(Config, config_to_plain(config)) == config


@given(configs)
def test_every_config_can_be_typed(config):
    words = [
        f"{key}={str(value).strip('()') if key == 'sizes' else value}" for key, value in vars(config).items()
    ]
    assert replace_fields(Config(), words) == config


@given(configs, configs)
def test_fingerprints_tell_configs_apart(a, b):
    assert (fingerprint(config_to_plain(a)) == fingerprint(config_to_plain(b))) == (
        canonical_json(config_to_plain(a)) == canonical_json(config_to_plain(b))
    )


def test_values_are_converted_only_where_nothing_is_lost():
    assert replace_fields(Config(), ["rate=2", "sizes=7", "limit=none", "fast=true"]) == Config(
        rate=2.0, sizes=(7,), limit=None, fast=True
    )


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("cuont=3", "no setting 'cuont': did you mean 'count'\\?"),
        ("zzz=3", "known: count, fast"),
        ("count", "expects key=value, got 'count'"),
        ("count=1.5", "--set count: expected int, got 1.5 \\(float\\)"),
        ("count=many", "--set count: expected int, got 'many' \\(str\\)"),
        ("count=true", "expected int, got True"),
        ("rate=fast", "expected float, got 'fast'"),
        ("fast=1", "expected bool, got 1"),
        ("sizes=1,x", "--set sizes: expected int, got 'x'"),
        ("sizes=1,2.5", "expected int, got 2.5"),
        ("pair=1", "expected tuple\\[int, float\\]"),
        ("limit=no", "expected float | None, got 'no'"),
        ("count=-1", "count must not be negative"),
    ],
)
def test_bad_settings_are_refused(assignment, message):
    with pytest.raises(InputError, match=message):
        replace_fields(Config(), [assignment])


def test_configs_of_another_version_are_refused():
    plain = config_to_plain(Config())
    with pytest.raises(InputError, match=r"another version of symscope.*unknown: colour, missing: count"):
        config_from_plain(
            Config, {**{key: value for key, value in plain.items() if key != "count"}, "colour": 1}
        )
    with pytest.raises(InputError, match="field rate: expected float, got 'high'"):
        config_from_plain(Config, {**plain, "rate": "high"})
