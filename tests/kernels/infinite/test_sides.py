from __future__ import annotations

import pytest
import torch
from torch import nn

from symscope.kernels import infinite_width
from symscope.kernels.infinite._sides import covariance_count, side
from symscope.kernels.infinite._wide_network import Extent


@pytest.mark.parametrize("piece", [1, 1 << 19])
def test_variances_are_the_diagonals_of_the_networks_up_to_there(
    piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With pooling in between, a variance after it needs all pairs of positions before it."""
    monkeypatch.setattr("symscope.kernels.infinite._sides.PIECES", {"cpu": piece, "cuda": piece})
    steps = [
        nn.Conv2d(2, 3, 2),
        nn.ReLU(),
        nn.AvgPool2d(2, 1),
        nn.Conv2d(3, 4, (2, 1)),
        nn.GELU(),
        nn.Flatten(),
    ]
    network = infinite_width(nn.Sequential(*steps, nn.Linear(8, 1)), w_std=1.2, b_std=0.3).network
    x = torch.randn(2, 3, 2, 4, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    result = side(network, x).variances[5]
    assert result is not None
    assert result.shape == (2, 3, 1, 2)
    flat = infinite_width(nn.Sequential(*steps[:4], nn.Flatten()), w_std=1.2, b_std=0.3)
    torch.testing.assert_close(result.flatten(2).mean(2).flatten(), flat.nngp.diagonal(x.flatten(0, 1)))
    left = infinite_width(
        nn.Sequential(*steps[:4], nn.AdaptiveAvgPool2d(1), nn.Flatten()), w_std=1.2, b_std=0.3
    )
    torch.testing.assert_close(result[..., 0, 0].flatten(), left.nngp.diagonal(x.flatten(0, 1)[..., :3]))


def test_what_is_not_needed_is_not_kept() -> None:
    net = nn.Sequential(nn.Flatten(), nn.Linear(12, 4), nn.ReLU(), nn.Linear(4, 1))
    one = side(infinite_width(net).network, torch.ones(1, 2, 3, 2, 2, dtype=torch.float64))
    assert [v is not None for v in one.variances] == [False, False, False, True, False]
    assert one.patches == (None,) * 5
    assert [d is not None for d in one.data] == [True, True, False, False, False]
    assert one.part(slice(0, 1), slice(1, 2)).variances[3].shape == (1, 1)  # type: ignore[union-attr]


def test_covariances_per_pair() -> None:
    shapes = ((1, 4, 3), (2, 4, 3), (2,))
    assert covariance_count(shapes, (Extent.EQUAL, Extent.ALL, Extent.EQUAL)) == 144
    assert covariance_count(shapes, (Extent.EQUAL, Extent.EQUAL, Extent.EQUAL)) == 12
