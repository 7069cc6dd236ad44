"""One pass of compiled code against the plain propagation, for every feature the kernels have."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
import torch
from torch import nn

from symscope.kernels import gram, infinite_width
from symscope.kernels.infinite._fused import _chain_blocks as blocks
from symscope.kernels.infinite._fused import _native as native
from symscope.kernels.infinite._fused._compiler import compiler
from tests.tolerances import COINCIDENT

needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


needs_compiler = pytest.mark.skipif(compiler() is None, reason="needs a C compiler")
DEVICES = [
    pytest.param("cpu", marks=needs_compiler),
    pytest.param("cuda", marks=[needs_cuda, pytest.mark.cuda]),
]


@contextmanager
def plain():
    before = blocks.can_compile, blocks.native_chain
    blocks.can_compile, blocks.native_chain = (lambda device: False), (lambda *_: None)
    try:
        yield
    finally:
        blocks.can_compile, blocks.native_chain = before


@pytest.fixture(autouse=True)
def compiled_here(tmp_path_factory, monkeypatch):
    """Every size is worth compiling, into a folder of the tests' own."""
    monkeypatch.setattr(native, "WORTH", 0)
    monkeypatch.setenv("SYMSCOPE_CACHE", str(tmp_path_factory.getbasetemp() / "compiled"))


def mlp(depth: int):
    layers = [nn.Linear(50, 4), nn.ReLU()]
    for i in range(depth - 1):
        layers += [nn.Linear(4, 4), nn.LeakyReLU(0.3) if i % 2 else nn.ReLU()]
    return infinite_width(nn.Sequential(*layers, nn.Linear(4, 1)), w_std=1.2, b_std=0.3)


def convs(
    depth: int, pooled: bool, mode: str, bias: bool, taps: tuple[int, int], shape: tuple[int, int, int]
):
    c, h, w = shape
    layers = []
    for i in range(depth):
        pad = (taps[0] // 2, taps[1] // 2)
        layers += [
            nn.Conv2d(4 if i else c, 4, taps, padding=pad, padding_mode=mode, bias=bias),
            nn.LeakyReLU(0.2) if i == 1 else nn.ReLU(),
        ]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 1)]
    head = head if pooled else [nn.Flatten(), nn.Linear(4 * h * w, 1)]
    return infinite_width(nn.Sequential(*layers, *head), w_std=1.3, b_std=0.2 if bias else 0.0)


CASES = {
    "mlp-1": (mlp(1), (50,)),
    "mlp-5": (mlp(5), (50,)),
    **{
        f"{depth}-{'gap' if pooled else 'fc'}-{mode}-{bias}-{taps}-{shape}": (
            convs(depth, pooled, mode, bias, taps, shape),
            shape,
        )
        for depth, mode, bias, taps, shape in [
            (1, "circular", False, (3, 3), (1, 28, 28)),
            (1, "zeros", True, (5, 3), (1, 11, 7)),
            (3, "circular", False, (3, 3), (1, 12, 12)),
            (3, "zeros", True, (3, 3), (2, 13, 9)),
            (2, "circular", True, (3, 5), (3, 6, 9)),
            (2, "zeros", False, (5, 5), (1, 9, 9)),
        ]
        for pooled in (True, False)
    },
}


def gap(result: torch.Tensor, expected: torch.Tensor) -> float:
    """The largest difference over the largest entry: opposite inputs may have kernel 0."""
    return float((result.double() - expected).abs().max() / expected.abs().max())


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", CASES)
def test_one_pass_equals_plain_propagation(name, device):
    net, shape = CASES[name]
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(7, *shape, dtype=torch.float64, generator=generator)
    x[1], x[2] = x[0], -x[0]  # identical and opposite inputs
    x[3].view(-1)[: x[3].numel() // 2] = 0  # blank patches
    x = x.to(device)
    with plain():
        exact = [*net.both(x), *net.both(x, x[2:5].clone())]
    assert blocks.usable_chain(net.network, x[None], True, 7) is not None
    for result, tolerance in (
        ([*net.both(x), *net.both(x, x[2:5].clone())], COINCIDENT),
        ([*net.both(x.float()), *net.both(x.float(), x[2:5].float())], 5e-4),
    ):
        for a, b in zip(result, exact, strict=True):
            assert gap(a, b) < tolerance
    distinct = torch.tensor([0, 4, 5, 6])  # half-blank images have parallel patches, where c = 1 again
    for a, b in zip(net.both(x[distinct]), exact[:2], strict=True):
        far = b[distinct][:, distinct]
        assert gap(a, far) < 1e-12
        assert torch.equal(a, a.T)
    batch = torch.stack([x[:3], x[3:6]])
    assert torch.allclose(net.ntk.blocks(batch, None)[1], net.both(x[3:6])[1], rtol=1e-13)
    assert gap(gram(net.ntk, x), exact[1]) < COINCIDENT
    assert gap(gram(net.ntk, x, tile=3), exact[1]) < COINCIDENT


@needs_cuda
@pytest.mark.cuda
def test_the_budget_is_kept_on_the_device():
    net = convs(1, True, "circular", False, (3, 3), (1, 28, 28))
    x = torch.randn(200, 1, 28, 28, device="cuda", dtype=torch.float64)
    gram(net.ntk, x[:4])
    for budget in (1.2e9, 1.6e9):
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        result = gram(net.ntk, x, memory=budget)
        assert torch.cuda.max_memory_allocated() - before - result.numel() * 8 < budget
        del result


def test_small_grams_are_not_worth_compiling(monkeypatch):
    net, shape = CASES["mlp-1"]
    monkeypatch.setattr(native, "WORTH", 1 << 20)
    assert blocks.usable_chain(net.network, torch.ones(1, 2, *shape), True, 2) is None


@needs_compiler
def test_cores_do_not_change_results():
    net, shape = CASES["3-gap-zeros-True-(3, 3)-(2, 13, 9)"]
    x = torch.randn(5, *shape, dtype=torch.float64, generator=torch.Generator().manual_seed(4))
    alone = net.both(x)
    torch.set_num_threads(2)
    try:
        for a, b in zip(net.both(x), alone, strict=True):
            assert torch.equal(a, b)
    finally:
        torch.set_num_threads(1)
