"""The convolutional networks of the paper."""

from __future__ import annotations

import pytest
import torch

from symscope import InputError
from symscope_papers.spectral.wide_networks import conv_kernels, conv_module, pooled_apart
from tests.tolerances import COINCIDENT, ORACLE


@pytest.mark.parametrize(
    ("readout", "filter", "windows"),
    [("gap", 3, 28), ("gap-apart", 3, 10), ("gap-apart", 5, 6), ("fc", 5, 28)],
)
def test_windows_cover_the_image_evenly(readout, filter, windows):
    conv = next(iter(conv_module(readout, filter).children()))
    with torch.no_grad():
        conv.weight.fill_(1.0)
        seen = torch.zeros(28, 28)
        for pixel in range(28):
            image = torch.zeros(1, 1, 28, 28)
            image[0, 0, 11, pixel] = 1.0
            response = conv(image)
            assert response.shape[-2:] == (windows, windows)
            seen[11, pixel] = response.sum()
    if readout == "gap-apart":  # once each, but for the pixels at the seam
        assert set(seen[11].tolist()) == {1.0, 2.0}
        assert (seen[11] == 2).nonzero()[:, 0].tolist() == [0, 27]
        assert torch.equal(seen[11], seen[11].flip(0))
    else:
        assert (seen[11] == filter**2).all()


def test_entries_are_averages_over_windows():
    """One layer by hand: windows' inner products, arc cosines, the mean over equal or over all positions."""
    generator = torch.Generator().manual_seed(3)
    x, y = torch.rand(2, 28, 28, generator=generator, dtype=torch.float64) - 0.4
    wide = torch.nn.functional.pad(torch.stack([x, y])[:, None], (1, 1, 1, 1), mode="circular")
    a, b = torch.nn.functional.unfold(wide, 3).mT  # [784, 9]
    inner = a @ b.T / 9
    norms = (a.norm(dim=1)[:, None] * b.norm(dim=1)) / 9
    angle = (inner / norms).clamp(-1, 1).arccos()
    nngp = norms * (angle.sin() + (torch.pi - angle) * angle.cos()) / (2 * torch.pi)
    ntk = nngp + inner * (torch.pi - angle) / (2 * torch.pi)
    points = torch.stack([x, y])[:, None]
    for readout, mean in (("fc", lambda k: k.diagonal().mean()), ("gap", lambda k: k.mean())):
        result = conv_kernels(readout, 3)
        torch.testing.assert_close(result.nngp(points)[0, 1], mean(nngp), rtol=1e-10, atol=0)
        torch.testing.assert_close(result.ntk(points)[0, 1], mean(ntk), rtol=1e-10, atol=0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("max", 3), "read-out: expected one of fc, gap, gap-apart; got 'max'"),
        (("fc", 4), "an odd side from 1 to 28, got 4"),
        (("gap", 29), "an odd side from 1 to 28, got 29"),
        (("gap-apart", 11), "cannot be padded evenly"),
    ],
)
def test_bad_networks_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        conv_module(*arguments)


@pytest.mark.parametrize(("filter", "side"), [(3, 28), (5, 28), (3, 7)])
def test_the_kernel_by_windows_is_the_kernel_of_the_network(filter, side):
    x = torch.randn(5, 1, side, side, dtype=torch.float64, generator=torch.Generator().manual_seed(side))
    plain, quick = conv_kernels("gap-apart", filter, side).ntk, pooled_apart(filter, side)
    torch.testing.assert_close(quick(x[:2], x[2:]), plain(x[:2], x[2:]), rtol=ORACLE, atol=0)
    torch.testing.assert_close(quick(x), plain(x), rtol=COINCIDENT, atol=0)
    torch.testing.assert_close(quick.diagonal(x), plain.diagonal(x), rtol=COINCIDENT, atol=0)
    pairs = torch.stack([x[:2], x[3:]])
    torch.testing.assert_close(quick.batched(pairs)[1], quick(x[3:]), rtol=ORACLE, atol=0)
