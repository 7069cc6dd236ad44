from __future__ import annotations

import threading

import pytest
import torch
from torch import nn

from symscope.kernels import gram, infinite_width
from symscope.kernels._threads import cores_for, each, one_core_each
from symscope.kernels.classical import rbf_kernel

CPU = torch.device("cpu")


@pytest.fixture
def two_cores():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("two_cores")
def test_pieces_run_beside_each_other_with_one_core_each():
    meet = threading.Barrier(2, timeout=30)  # passed only if two pieces run at once
    inside = []

    def piece(n: int) -> int:
        meet.wait()
        inside.append((torch.get_num_threads(), torch.is_grad_enabled(), threading.get_ident()))
        return n + 1

    with torch.no_grad():
        assert each(piece, range(4), CPU) == [1, 2, 3, 4]
    assert {(cores, grad) for cores, grad, _ in inside} == {(1, False)}
    assert len({ident for *_, ident in inside}) == 2
    assert torch.get_num_threads() == 2


@pytest.mark.usefixtures("two_cores")
def test_gradients_and_gpus_stay_in_one_thread():
    here = threading.get_ident()
    assert each(lambda _: threading.get_ident(), range(3), CPU) == [here] * 3
    assert cores_for(CPU) == 1
    with torch.no_grad():
        assert cores_for(CPU) == 2
        assert cores_for(torch.device("cuda")) == 1
        assert each(lambda _: threading.get_ident(), range(1), CPU) == [here]


@pytest.mark.usefixtures("two_cores")
def test_a_failing_piece_is_raised_and_the_cores_put_back():
    def piece(n: int) -> int:
        return 1 // n

    with torch.no_grad(), pytest.raises(ZeroDivisionError):
        each(piece, range(3), CPU)
    with pytest.raises(RuntimeError, match="inside"), one_core_each(2):
        raise RuntimeError("inside")
    assert torch.get_num_threads() == 2


@pytest.mark.usefixtures("two_cores")
def test_the_number_of_cores_does_not_change_results():
    net = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 1)
    )
    x = torch.randn(9, 1, 24, 24, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    for kernel in (infinite_width(net).ntk, rbf_kernel(3.0)):
        parallel = gram(kernel, x, tile=4), kernel.blocks(x[None], None)[0]
        torch.set_num_threads(1)
        alone = gram(kernel, x, tile=4), kernel.blocks(x[None], None)[0]
        torch.set_num_threads(2)
        for a, b in zip(parallel, alone, strict=True):
            assert torch.allclose(a, b, rtol=1e-13, atol=0)
