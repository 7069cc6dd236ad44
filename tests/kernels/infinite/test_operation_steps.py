from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from symscope.kernels.infinite import _operation_steps as layers
from symscope.kernels.infinite._operation_steps import (
    data_covariance,
    data_step,
    own_covariance,
    patch_covariance,
)
from symscope.kernels.infinite._operations import (
    Conv,
    Flatten,
    GlobalPool,
    LayerWeights,
    Normalise,
    Pad,
    Pool,
    Scale,
    Sum,
    Unflatten,
)
from symscope.kernels.infinite._sliding_windows import Window
from symscope.kernels.infinite._wide_network import Extent

F64 = torch.float64
NONE = LayerWeights(1.0, 0.0, 1.0, 0.0)


def points(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=F64, generator=torch.Generator().manual_seed(seed))


CONVS = [
    (nn.Conv2d(3, 1, (3, 2), stride=(2, 1), dilation=(1, 2), padding=(1, 2), bias=False), False),
    (nn.Conv2d(3, 1, 3, padding=1, padding_mode="circular", bias=False), True),
    (nn.Conv2d(3, 1, (1, 3), stride=3, padding=(0, 2), padding_mode="circular", bias=False), True),
]


def operation(conv: nn.Conv2d, circular: bool) -> Conv:
    windows = tuple(
        Window(k, s, d, int(p), int(p), circular)
        for k, s, d, p in zip(conv.kernel_size, conv.stride, conv.dilation, conv.padding, strict=True)
    )
    return Conv(3, 1, windows, NONE)


@pytest.mark.parametrize(("conv", "circular"), CONVS)
def test_convolving_a_covariance_is_averaging_over_filters(conv: nn.Conv2d, circular: bool) -> None:
    """Filters that are one basis vector each: their outputs' products, added up, are the window average."""
    x, y = points(1, 1, 3, 5, 4), points(1, 1, 3, 5, 4, seed=1)
    op = operation(conv, circular)
    taps = conv.weight[0].numel()
    total: Tensor | float = 0.0
    for tap in range(taps):
        with torch.no_grad():
            conv.to(F64).weight.zero_().view(-1)[tap] = 1.0
            a, b = conv(x[0])[0, 0], conv(y[0])[0, 0]
        total = total + torch.einsum("ij,kl->ijkl", a, b) / taps
    assert isinstance(total, Tensor)
    everything = layers.convolved_covariance(data_covariance(x, y, 2, True), op, Extent.ALL)[0, 0, 0]
    equal = layers.convolved_covariance(data_covariance(x, y, 2, False), op, Extent.EQUAL)[0, 0, 0]
    torch.testing.assert_close(everything, total)
    torch.testing.assert_close(equal, torch.einsum("ijij->ij", total))
    patched = patch_covariance(
        layers.window_patches(x, op), layers.window_patches(y, op), tuple(total.shape[:2])
    )[0, 0, 0]
    torch.testing.assert_close(patched, total)


@pytest.mark.parametrize(
    "module",
    [
        nn.AvgPool2d(2, 1),
        nn.AvgPool2d((2, 3), padding=(1, 0)),
        nn.AvgPool2d(3, 2, padding=1, count_include_pad=False),
    ],
)
def test_pooling_a_covariance_is_the_covariance_of_pooled_data(module: nn.AvgPool2d) -> None:
    size = (module.kernel_size,) * 2 if isinstance(module.kernel_size, int) else module.kernel_size
    stride = (module.stride,) * 2 if isinstance(module.stride, int) else module.stride
    pad = (module.padding,) * 2 if isinstance(module.padding, int) else module.padding
    windows = tuple(Window(k, s, 1, p, p) for k, s, p in zip(size, stride, pad, strict=True))
    pool = Pool(windows, float(size[0] * size[1]) if module.count_include_pad else None)
    x, y = points(1, 2, 3, 5, 6), points(1, 4, 3, 5, 6, seed=1)
    pooled = data_covariance(module(x[0])[None], module(y[0])[None], 2, True)
    torch.testing.assert_close(layers.pooled_covariance(data_covariance(x, y, 2, True), pool), pooled)
    torch.testing.assert_close(data_step(pool, [x], 2)[0], module(x[0]))


def test_steps_on_data_are_pytorch_s() -> None:
    x = points(2, 3, 4, 5, 6)
    flat = x.flatten(0, 1)
    pairs = [
        (Flatten(), nn.Flatten()(flat)),
        (GlobalPool(True), nn.AdaptiveAvgPool2d(1)(flat)),
        (GlobalPool(False), flat.mean((2, 3))),
        (Pad((1, 2), (0, 1), "reflect"), nn.ReflectionPad2d((2, 1, 1, 0))(flat)),
        (Normalise("all", 1e-5), nn.functional.layer_norm(flat, (4, 5, 6))),
        (Scale(3.0), 3 * flat),
    ]
    for step, expected in pairs:
        torch.testing.assert_close(data_step(step, [x], 2).flatten(0, 1), expected)
    torch.testing.assert_close(data_step(Unflatten((4, 5, 6)), [x.flatten(2)], 2), x)
    torch.testing.assert_close(data_step(Sum(), [x, x], 2), 2 * x)
    with pytest.raises(TypeError, match="has weights"):
        data_step(Conv(4, 1, (Window(1), Window(1)), NONE), [x], 2)


@pytest.mark.parametrize("pairs", [True, False])
def test_own_covariances_are_the_diagonal_of_all(pairs: bool) -> None:
    x = points(2, 3, 4, 5, 2)
    everything = data_covariance(x, x, 2, pairs)
    own = torch.stack([everything[:, i, i] for i in range(3)], 1)
    torch.testing.assert_close(own_covariance(x, 2, pairs), own)
    vectors = x.flatten(2)
    torch.testing.assert_close(
        own_covariance(vectors, 0, False),
        data_covariance(vectors, vectors, 0, False).diagonal(dim1=1, dim2=2),
    )


def test_padding_a_covariance_is_padding_the_data() -> None:
    x, y = points(1, 2, 3, 4, 5), points(1, 3, 3, 4, 5, seed=1)
    for mode, module in (("zeros", nn.ZeroPad2d), ("circular", nn.CircularPad2d)):
        pad = module((1, 2, 0, 3))
        expected = data_covariance(pad(x[0])[None], pad(y[0])[None], 2, True)
        result = layers.pad_positions(data_covariance(x, y, 2, True), Pad((0, 1), (3, 2), mode), Extent.ALL)
        torch.testing.assert_close(result, expected)


def test_equal_positions_of_all_pairs() -> None:
    k = points(2, 3, 4, 5, 4, 5)
    torch.testing.assert_close(
        layers.restricted_covariance(k, 2, Extent.ALL, Extent.EQUAL), torch.einsum("abhwhw->abhw", k)
    )
    assert layers.restricted_covariance(k, 2, Extent.ALL, Extent.ALL) is k
    single = points(2, 3, 1, 1)
    assert layers.restricted_covariance(single, 2, Extent.EQUAL, Extent.ALL).shape == (2, 3, 1, 1, 1, 1)
