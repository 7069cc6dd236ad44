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
    ("shift", "D4", (2, 8), "shift", "D4"),
    ("rotation", "C4", (5, 2), "points", "C4"),
    ("points", "D3", (4, 3), "points", "D3"),
    ("points", "I", (3, 3), "points", "I"),
    ("points:3", "Oh", (4, 5), "points:3", "Oh"),
    ("flip-y", "C2", (5, 3), "flip-y", "C2"),
    ("rotation", "SO(2)", (6, 6), "rotation", "C16"),
    ("dihedral", "O(2)", (5, 5), "dihedral", "D16"),
    ("points", "SO(3)", (5, 3), "points", "I"),
    ("points", "O(3)", (5, 3), "points", "Ih"),
    ("shift", "T2", (6, 4), "shift", "C6xC4"),
    ("shift-x", "T1", (1, 20), "shift-x", "C10"),
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
        ("rotation", "SO(3)", (4, 4), r"expected clouds \[points, 3\] for I.*images are turned by C<n>"),
        ("rotation", "C8", (3, 9), r"Clouds of points are \[points, 3\]: use X.transpose\(0, 2, 1\)"),
        ("points", "C8", (9, 5), r"or points:3 where further columns are features, got .*\(9, 5\)"),
        ("points", "I", (3, 9), r"for \[3, points\] use X.transpose"),
        ("points:4", "I", (5, 9), "expected points:2 or points:3"),
        ("points", "S3", (5, 3), "turns points in 3 dimensions, got S3: T, O, I"),
        ("points", "I", (5, 2), "turns points in 2 dimensions, got I: C<n> or D<n>"),
        ("flip", "C4", (5, 3), "fits the action flip, got C4"),
        ("shift", "D3", (1, 8), r"divides the length 8"),
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
        ("S8", "S8, which has 40,320 elements; take C8 or D8, which permute the same 8 points"),
        ("C4xSO(2)", "which have a standard finite part, got C4xSO"),
        ("SO(4)", r"standard finite part, got SO\(4\); name a finite group"),
    ],
)
def test_groups_without_a_finite_part_are_refused(group, said):
    with pytest.raises(InputError, match=said):
        parse_action("rotation", group, (8, 8))


@pytest.mark.parametrize("group", ["T1", "T2", "C2xC2"])
def test_shifts_do_not_act_on_points_unless_they_are_asked_for(group):
    with pytest.raises(InputError, match=f"expected a group that turns points, .* got {group}"):
        parse_named_action(group, (4, 2))
    assert parse_named_action(f"{group} shift", (4, 2))[1].name.startswith("shift")


def test_a_continuous_group_says_what_stands_for_it():
    note = parse_action("rotation", "SO(2)", (8, 8)).note
    assert note == "SO(2) through C16: exact for functions of the angle up to frequency 7"
    assert "exact up to degree 5" in parse_action("points", "O(3)", (8, 3)).note
    assert parse_action("rotation", "C16", (8, 8)).note == ""


@pytest.mark.parametrize(
    ("text", "shape", "how", "group"),
    [
        ("C8", (28, 28), "rotation", "C8"),
        ("C8", (1, 64), "shift-x", "C8"),
        ("D8", (2, 64), "shift", "D8"),
        ("C8", (20, 3), "points", "C8"),
        ("I", (20, 3), "points", "I"),
        ("SO(2)", (20, 2), "points", "C16"),
        ("SO(2)", (28, 28), "rotation", "C16"),
        ("SO(3)", (20, 3), "points", "I"),
        ("O(2)", (28, 28), "dihedral", "D16"),
        ("flip", (20, 3), "flip-x", "C2"),
        ("T1", (1, 32), "shift-x", "C16"),
        ("S4", (4, 3), "nodes", "S4"),
    ],
)
def test_the_shape_decides_how_a_group_acts_where_nobody_says(text, shape, how, group):
    action = parse_named_action(text, shape)[1]
    assert (action.name, action.group.name) == (how, group)


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
