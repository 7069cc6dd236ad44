from __future__ import annotations

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor, nn

from symscope.kernels.infinite._sliding_windows import Window, padded_axes, window_sum

windows = st.builds(
    Window,
    size=st.integers(1, 4),
    stride=st.integers(1, 3),
    dilation=st.integers(1, 3),
    before=st.integers(0, 4),
    after=st.integers(0, 4),
    circular=st.booleans(),
)


def by_hand(x: Tensor, window: Window, together: bool) -> Tensor:
    """The definition: pad, then add up, one output at a time."""
    n = len(x)

    def at(i: int) -> int | None:
        i -= window.before
        return i % n if window.circular else i if 0 <= i < n else None

    outputs = range(window.length(n))
    taps = range(window.size)
    if not together:
        where = [[at(o * window.stride + t * window.dilation) for t in taps] for o in outputs]
        return torch.stack(
            [sum((x[i] for i in row if i is not None), torch.zeros(()).double()) for row in where]
        )
    out = torch.zeros(len(outputs), len(outputs), dtype=x.dtype)
    for o in outputs:
        for p in outputs:
            for t in taps:
                i, j = (at(a * window.stride + t * window.dilation) for a in (o, p))
                if i is not None and j is not None:
                    out[o, p] += x[i, j]
    return out


@given(windows, st.integers(1, 7), st.integers(0, 1000))
def test_window_sums_follow_their_definition(window: Window, n: int, seed: int) -> None:
    assume(window.length(n) >= 1)
    x = torch.randn(n, n, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    torch.testing.assert_close(window_sum(x[:, 0], [0], window), by_hand(x[:, 0], window, False))
    torch.testing.assert_close(window_sum(x, [0, 1], window), by_hand(x, window, True))


@given(windows, st.integers(4, 9))
def test_lengths_and_sums_are_those_of_convolutions(window: Window, n: int) -> None:
    assume(window.length(n) >= 1)
    x = torch.randn(1, 1, n, dtype=torch.float64, generator=torch.Generator().manual_seed(n))
    mode = "circular" if window.circular else "constant"
    wide = nn.functional.pad(x, (window.before, window.after), mode=mode)
    ones = torch.ones(1, 1, window.size, dtype=torch.float64)
    expected = nn.functional.conv1d(wide, ones, stride=window.stride, dilation=window.dilation)
    torch.testing.assert_close(window_sum(x, [2], window), expected)


@pytest.mark.parametrize(
    ("mode", "module"),
    [
        ("zeros", nn.ZeroPad2d),
        ("circular", nn.CircularPad2d),
        ("reflect", nn.ReflectionPad2d),
        ("replicate", nn.ReplicationPad2d),
    ],
)
def test_padding_is_pytorch_s(mode: str, module: type[nn.Module]) -> None:
    x = torch.randn(2, 1, 4, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert torch.equal(padded_axes(x, [2, 3], [1, 3], [2, 0], mode), module((3, 0, 1, 2))(x))
