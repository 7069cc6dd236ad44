from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from symscope.errors import InputError
from symscope.kernels.finite._contraction import (
    assembled_matrix,
    contraction,
    evaluations,
    inner_of_rows,
    plan,
    products_matrix,
    row_norms,
)
from symscope.networks import forward_profile, functional_module
from tests.kernels.networks import dense_jacobian, inputs, module
from tests.tolerances import ROUNDING


def least(method: str, whole: bool) -> tuple:
    net, shape = module("mlp")
    network, x = functional_module(net), inputs(2 * 5, shape).reshape(2, 5, *shape)
    size = forward_profile(network, x[0])
    eye = torch.eye(3, dtype=torch.float64)
    memory = 1
    while True:  # the smallest budget it accepts, to the factor 1.3
        try:
            return net, network, x, eye, plan(network, size, eye, memory, method, whole), memory
        except InputError:
            memory = int(1.3 * memory) + 1


@pytest.mark.parametrize("method", ["contraction", "products"])
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("symmetric", [False, True])
def test_the_smallest_budget_gives_the_same_numbers(method, whole, symmetric):
    net, network, x1, eye, tight, _ = least(method, whole)
    x2 = None if symmetric else inputs(2 * 4, x1.shape[2:], seed=1).reshape(2, 4, *x1.shape[2:])
    j1 = torch.stack([dense_jacobian(net, x) for x in x1])
    j2 = j1 if x2 is None else torch.stack([dense_jacobian(net, x) for x in x2])
    expected = torch.einsum("siap,sjbp->sijab" if whole else "siap,sjap->sij", j1, j2)
    compute = contraction if method == "contraction" else products_matrix
    roomy = plan(network, forward_profile(network, x1[0]), eye, 10**9, method, whole)
    for how in (tight, roomy):
        result = compute(how, network, x1, x2, eye)
        assert torch.allclose(result, expected, rtol=ROUNDING, atol=ROUNDING)
        if symmetric:
            mirror = result.transpose(1, 2)
            assert torch.equal(result, mirror.transpose(3, 4) if whole else mirror)
        assert torch.allclose(row_norms(how, network, x1[0], eye), j1[0].square().sum((1, 2)), rtol=ROUNDING)


def method_for(net: nn.Module, shape: tuple[int, ...], whole: bool, memory: int = 10**9) -> str:
    network = functional_module(net)
    size = forward_profile(network, inputs(2, shape))
    eye = torch.eye(size.outputs, dtype=torch.float64)
    return plan(network, size, eye, memory, "auto", whole).method


def test_the_cheaper_method_is_chosen():
    dense = nn.Sequential(nn.Linear(30, 20), nn.ReLU(), nn.Linear(20, 10))
    assert method_for(dense, (30,), whole=False) == "contraction"
    assert method_for(dense, (30,), whole=True) == "products"  # ten outputs: a hundred pairs
    conv = nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 10)
    )
    assert method_for(conv, (1, 20, 20), whole=True) == "contraction"  # weights are used at every position
    wide = nn.Sequential(nn.Linear(30, 2), nn.Linear(2, 200))
    assert method_for(wide, (30,), whole=True, memory=60_000) == "products"  # Jacobians would not fit


def test_too_small_a_budget_says_how_much_would_do():
    for method in ("contraction", "products"):
        _, network, x, eye, _, _ = least(method, False)
        size = forward_profile(network, x[0])
        with pytest.raises(InputError, match="needs at least") as error:
            plan(network, size, eye, 100, method)
        needed = int(str(error.value).split("at least ")[1].split(" ")[0])
        assert plan(network, size, eye, needed, method).method == method
        with pytest.raises(InputError, match="needs at least"):
            plan(network, size, eye, needed - 1, method)


sizes = {
    "batch": st.integers(1, 3),
    "n1": st.integers(1, 7),
    "n2": st.none() | st.integers(1, 7),
    "at_once": st.integers(2, 30),
}


@given(**sizes, whole=st.booleans())
def test_any_number_at_once_gives_the_same_and_evaluations_are_counted(batch, n1, n2, at_once, whole):
    """Rows are [n, c = 2, p = 3] tensors themselves, so the whole is a plain sum."""
    x1 = inputs(batch * n1, (2, 3)).unflatten(0, (batch, n1))
    x2 = None if n2 is None else inputs(batch * n2, (2, 3), seed=1).unflatten(0, (batch, n2))
    asked = []

    def kept(x: torch.Tensor) -> dict[str, torch.Tensor]:
        asked.append(x.shape[0] * x.shape[1])
        return {"first": x[..., :1].contiguous(), "others": x[..., 1:].contiguous()}

    pairs = (2, 2) if whole else ()
    result = assembled_matrix(kept, lambda a, b: inner_of_rows(a, b, whole), x1, x2, at_once, pairs, x1)
    y = x1 if x2 is None else x2
    expected = torch.einsum("siap,sjbp->sijab" if whole else "siap,sjap->sij", x1, y)
    assert torch.allclose(result, expected, rtol=ROUNDING, atol=ROUNDING)
    if x2 is None:
        mirror = result.transpose(1, 2)
        assert torch.equal(result, mirror.transpose(3, 4) if whole else mirror)
    assert max(asked) <= max(at_once, 2)
    assert sum(asked) == evaluations(batch, n1, n2, at_once)
