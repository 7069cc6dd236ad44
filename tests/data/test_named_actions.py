from __future__ import annotations

import pytest
import torch

from symscope import groups
from symscope.data._named_actions import ACTIONS, action_from_source, parse_action, parse_named_action
from symscope.errors import InputError

CASES = [
    ("rotation", "C8", (6, 6), "rotation", "C8"),
    ("rotation:orthogonal", "C8", (6, 6), "rotation:orthogonal", "C8"),
    ("rotation:spline", "C3", (5, 5), "rotation", "C3"),
    ("rotation", "D4", (5, 5), "dihedral", "D4"),
    ("dihedral", "D6", (5, 5), "dihedral", "D6"),
    ("dihedral:orthogonal", "D6", (5, 5), "dihedral:orthogonal", "D6"),
    ("shift", "C3xC2", (6, 4), "shift", "C3xC2"),
    ("shift", "C4", (5, 4), "shift-x", "C4"),
    ("shift-x", "C2", (5, 4), "shift-x", "C2"),
    ("shift-y", "C5", (5, 4), "shift-y", "C5"),
    ("flip", "C2", (3, 4), "flip-x", "C2"),
    ("flip", "C2xC2", (3, 4), "flip", "C2xC2"),
    ("flip-y", "C2", (3, 4), "flip-y", "C2"),
    ("nodes", "S4", (4, 4), "nodes", "S4"),
    ("nodes", "C5", (5, 2), "nodes", "C5"),
]


@pytest.mark.parametrize(("name", "group", "shape", "called", "acting"), CASES)
def test_every_name_acts_on_its_shape(
    name: str, group: str, shape: tuple[int, ...], called: str, acting: str
) -> None:
    action = parse_action(name, group, shape)
    assert (action.name, action.group.name) == (called, acting)
    x = torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    orbit = action.act_all(x)
    assert orbit.shape == (action.group.order, *shape)
    assert len(orbit.flatten(1).round(decimals=9).unique(dim=0)) == action.group.order


def test_every_listed_action_is_tried() -> None:
    assert {name.partition(":")[0] for name, *_ in CASES} == set(ACTIONS) - {"flip-x"}
    assert parse_action("flip-x", "C2", (2, 3)).name == "flip-x"


def test_groups_may_be_given_as_values() -> None:
    assert parse_action("rotation", groups.cyclic(8), (4, 4)).group == groups.cyclic(8)


@pytest.mark.parametrize(
    ("name", "group", "shape", "message"),
    [
        ("rotaton", "C8", (4, 4), "did you mean 'rotation'"),
        ("wobble", "C8", (4, 4), "known: dihedral, flip"),
        ("rotation:cubic", "C8", (4, 4), "expected method 'spline' or 'orthogonal', got 'cubic'"),
        ("shift:spline", "C4", (4, 4), "expected shift without ':spline'"),
        ("rotation", "S3", (4, 4), r"fits the action rotation, got S3. rotation: turns.*C<n>.*D<n>"),
        ("rotation", "C4xC4", (4, 4), "fits the action rotation, got C4xC4"),
        ("dihedral", "C8", (4, 4), r"fits the action dihedral, got C8. dihedral: .*D<n>"),
        ("shift", "D4", (4, 4), r"fits the action shift, got D4. shift: .*C<n>xC<m>"),
        ("shift-x", "C2xC2", (4, 4), r"fits the action shift-x, got C2xC2"),
        ("shift-x", "C3", (4, 4), r"divides the width 4 \(1, 2, 4\), got 3"),
        ("shift", "C3xC2", (4, 4), r"divides the height 4 \(1, 2, 4\), got 3"),
        ("flip-x", "C4", (4, 4), "fits the action flip-x, got C4. flip-x: mirrors"),
        ("nodes", "S4", (5, 5), "expected samples of 4 nodes, as S4 permutes, got shape"),
        ("nodes", "S10", (10, 10), "expected a listed finite group, got S10"),
        ("rotation", "SO(2)", (4, 4), "expected a listed finite group, got SO"),
        ("rotation", "C8", (4, 5), r"expected square images to rotate, got \(4, 5\)"),
        ("rotation", "C8", (16,), r"expected samples with two axes for rotation.*\(16,\)"),
        ("rotation", "K8", (4, 4), "K8"),
    ],
)
def test_bad_input(name: str, group: str, shape: tuple[int, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_action(name, group, shape)


def test_an_action_of_one_s_own():
    action = action_from_source("tests.forecasting.own_code:negative", "C2", (6, 6))
    x = torch.rand(2, 6, 6, generator=torch.Generator().manual_seed(1))
    assert torch.equal(action.act(1, x), -x)
    with pytest.raises(InputError, match="listed finite group"):
        action_from_source("tests.forecasting.own_code:negative", "SO(3)", (6, 6))


@pytest.mark.parametrize(
    ("group", "said"),
    [
        ("SO(2)", r"SO\(2\), which has infinitely many elements; take C8 \(steps of 45°\), C16"),
        ("O(2)", "take D8"),
        ("SO(3)", "take O, the 24 rotations of the cube"),
        ("T2", "take C8xC8"),
        ("S8", "S8, which has 40,320 elements; take C8 or D8, which permute the same 8 points"),
        ("C4xSO(2)", "take a finite subgroup"),
    ],
)
def test_groups_without_a_list_of_elements_get_finite_ones_to_take(group, said):
    with pytest.raises(InputError, match=said):
        parse_action("rotation", group, (8, 8))


@pytest.mark.parametrize("name", ["rotation", "flip", "shift-x"])
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_channels_last_is_noticed_and_channels_first_is_not(name, channels):
    group = "C2"
    with pytest.raises(InputError, match=r"channels first, .*permute\(0, 3, 1, 2\)"):
        parse_action(name, group, (12, 12, channels))
    assert parse_action(name, group, (channels, 12, 12)).group.order == 2
    assert parse_action("shift-y", group, (16, 12, 2)).group.order == 2  # 16 channels of narrow images


def test_actions_by_a_few_words():
    assert parse_named_action("D4", (6, 6))[1].group.name == "D4"
    assert parse_named_action("C2xC3 shifts", (6, 6))[1].group.order == 6
    assert parse_named_action("C8 rotation:orthogonal", (6, 6))[0] == "rotation:orthogonal"
    assert parse_named_action("flip", (6, 6))[0] is None
    assert parse_named_action("S3", (3, 3))[1].name == "nodes"
    with pytest.raises(InputError, match="fits the action flip"):
        parse_named_action("C3 flip", (6, 6))
    assert groups.cyclic(4).order == parse_named_action("rotation C4", (6, 6))[1].group.order
