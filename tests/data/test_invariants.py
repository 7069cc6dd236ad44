from __future__ import annotations

import pytest
import torch

from symscope.data import parse_named_action, with_invariants
from symscope.data.point_clouds import point_flip


@pytest.mark.parametrize(
    ("text", "shape"), [("I", (6, 3)), ("C5", (6, 2)), ("points:3 O", (6, 5)), ("S4", (4, 4)), ("S4", (4, 2))]
)
def test_no_element_changes_what_comes_after_the_samples_themselves(text, shape):
    action = parse_named_action(text, shape)[1]
    x = torch.randn(3, *shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    if shape == (4, 4):
        x = x + x.mT
    raw = x[0].numel()
    before = with_invariants(x, action)
    assert before.shape[1] > raw
    for g in (1, action.group.order - 1):
        assert torch.allclose(with_invariants(action.act(g, x), action)[:, raw:], before[:, raw:])


def test_mirrors_turn_volumes_around_and_images_stay_as_they_are():
    x = torch.randn(2, 4, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    mirror = point_flip("x")
    before, after = with_invariants(x, mirror), with_invariants(mirror.act(1, x), mirror)
    assert torch.allclose(before[:, 12:18], after[:, 12:18])
    assert torch.allclose(before[:, 18:], -after[:, 18:])
    image = torch.randn(2, 8, 8)
    assert torch.equal(with_invariants(image, parse_named_action("C4", (8, 8))[1]), image.flatten(1).double())


def test_without_order_clouds_are_where_their_points_lie():
    x = torch.randn(2, 5, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    action = parse_named_action("C8 points", (5, 2))[1]
    order = torch.tensor([3, 0, 4, 1, 2])
    rows, mixed = (with_invariants(one, action, ordered=False) for one in (x, x[:, order]))
    assert torch.allclose(rows, mixed)
    assert not torch.allclose(with_invariants(x, action), with_invariants(x[:, order], action))
    lines = torch.tensor([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [1.0, -1.0]]).double()
    along = torch.einsum("mpd,kd->mkp", x, lines / lines.norm(dim=1, keepdim=True)).sort(-1).values.flatten(1)
    assert torch.allclose(rows[:, :20], along / along.square().sum(1).mean().sqrt())
    assert not torch.allclose(with_invariants(action.act(1, x), action, ordered=False)[:, :20], rows[:, :20])
