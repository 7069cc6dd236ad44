from __future__ import annotations

import pytest
from torch import nn

from symscope.kernels import infinite_width
from symscope.kernels.activations import Erf
from symscope.kernels.infinite._fused._chains import chain_of


def conv(channels: int, size: int = 3, **options: object) -> nn.Conv2d:
    return nn.Conv2d(channels, 4, size, **{"padding": size // 2, **options})


POOL = (nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 1))


def chain(*layers: nn.Module):
    return chain_of(infinite_width(nn.Sequential(*layers), w_std=1.5, b_std=0.5).network)


def test_a_dense_network_is_one_chain():
    result = chain(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 5), nn.LeakyReLU(0.2), nn.Linear(5, 1))
    assert result.readout == "dense"
    assert [step.dual.below for step in result.steps] == [0.0, 0.2]
    assert [step.node for step in result.steps] == [2, 4]
    assert result.final.w_var == 2.25
    assert result.last == 5


@pytest.mark.parametrize(("mode", "circular"), [("zeros", False), ("circular", True)])
def test_convolutions_of_equal_size(mode, circular):
    pooled = chain(conv(1, 3, padding_mode=mode), nn.ReLU(), conv(4, 5, padding_mode=mode), nn.ReLU(), *POOL)
    assert pooled.readout == "all"
    assert pooled.circular == circular
    assert [step.taps for step in pooled.steps] == [(3, 3), (5, 5)]
    assert pooled.last == 5  # the pooling; what follows is left to the plain propagation
    flat = chain(conv(1, 3, padding_mode=mode), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 1))
    assert flat.readout == "equal"


@pytest.mark.parametrize(
    "layers",
    [
        (nn.Linear(3, 1),),
        (nn.Linear(3, 4), Erf(), nn.Linear(4, 1)),
        (nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 4), Erf(), nn.Linear(4, 1)),
        (nn.Flatten(), nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)),
        (conv(1, stride=2), nn.ReLU(), *POOL),
        (conv(1, padding=0), nn.ReLU(), *POOL),
        (conv(1, 4), nn.ReLU(), *POOL),
        (conv(1, dilation=2), nn.ReLU(), *POOL),
        (conv(1), Erf(), *POOL),
        (conv(1), nn.ReLU(), nn.AvgPool2d(2), *POOL),
        (conv(1), nn.ReLU(), conv(4, padding_mode="circular"), nn.ReLU(), *POOL),
        (conv(1), *POOL),
    ],
    ids=repr,
)
def test_what_is_no_chain(layers):
    assert chain(*layers) is None


def test_branches_are_no_chain():
    class Residual(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second, self.last = nn.Linear(3, 4), nn.Linear(4, 4), nn.Linear(4, 1)

        def forward(self, x):
            h = self.first(x)
            return self.last(h + self.second(h.relu()))

    assert chain_of(infinite_width(Residual()).network) is None
