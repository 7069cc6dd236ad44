from __future__ import annotations

import pytest
import torch
from torch import nn

from symscope.errors import InputError
from symscope.networks._vision_transformer import Attention, grid_positions, patches
from symscope.networks.architectures import seeded_weights, vit
from tests.tolerances import ROUNDING


def images(count: int = 2) -> torch.Tensor:
    generator = torch.Generator().manual_seed(3)
    return torch.randn(count, 1, 8, 8, dtype=torch.float64, generator=generator)


def small(seed: int = 0) -> nn.Module:
    return vit(seed, side=8, patch=4, dim=16, heads=2, hidden=12, classes=3)


def moved(x: torch.Tensor, order: list[int]) -> torch.Tensor:
    """Images whose four 4x4 patches change places."""
    pieces = [x[..., 4 * r : 4 * r + 4, 4 * c : 4 * c + 4] for r in (0, 1) for c in (0, 1)]
    a, b, c, d = (pieces[i] for i in order)
    return torch.cat([torch.cat([a, b], -1), torch.cat([c, d], -1)], -2)


def test_patches_are_those_of_unfold():
    x = images()
    unfolded = nn.functional.unfold(x, 4, stride=4).transpose(1, 2)
    assert torch.equal(patches(x, 4), unfolded)


def test_every_place_has_its_own_code():
    codes = grid_positions(3, 4, 16)
    distances = torch.cdist(codes, codes) + torch.eye(12, dtype=torch.float64)
    assert distances.min() > 0.1
    assert torch.equal(codes[1 * 4 + 2, :4], torch.sin(2 * 10000.0 ** (-torch.arange(4.0).double() / 3)))


def test_attention_against_that_of_pytorch():
    with seeded_weights(1):
        ours = Attention(dim=128, heads=2, head_dim=64)
        theirs = nn.MultiheadAttention(128, 2, bias=False, batch_first=True)
    theirs.in_proj_weight.data.copy_(ours.queries_keys_values.weight)
    theirs.out_proj.weight.data.copy_(ours.out.weight)
    x = torch.randn(2, 5, 128, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    normed = ours.norm(x)
    expected = theirs(normed, normed, normed, need_weights=False)[0]
    torch.testing.assert_close(ours(x), expected, rtol=ROUNDING, atol=ROUNDING)


def test_only_the_positions_tell_patches_apart():
    net, x = small(), images()
    turned = moved(x, [2, 0, 3, 1])
    assert not torch.allclose(net(x), net(turned), atol=1e-3)
    net.positions.zero_()
    torch.testing.assert_close(net(x), net(turned), rtol=ROUNDING, atol=ROUNDING)


def test_items_of_a_batch_do_not_mix():
    net, x = small(), images(3)
    torch.testing.assert_close(net(x)[1:2], net(x[1:2]), rtol=ROUNDING, atol=ROUNDING)


def test_images_that_patches_do_not_fill():
    with pytest.raises(InputError, match="multiples of the patch, 4, got 8 x 6"):
        patches(images()[..., :6], 4)
