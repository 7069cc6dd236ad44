"""Steps keep equivariance where they say so, and only there."""

from __future__ import annotations

import pickle

import pytest
import torch

from symscope import InputError
from symscope.dynamics.layer_steps import (
    POINTWISE,
    batch_normalisation,
    group_pooling,
    norm_gate,
    pointwise,
    rms_normalisation,
)
from symscope.groups import cyclic, permutation, symmetric, trivial
from symscope.testing import assert_equivariant
from tests.dynamics.networks import corners, plane, seeded
from tests.tolerances import ROUNDING

EVERYWHERE = [norm_gate("tanh"), norm_gate("sigmoid"), batch_normalisation(), rms_normalisation()]


@pytest.mark.parametrize("step", EVERYWHERE, ids=str)
def test_steps_for_every_unitary_representation(step):
    space = 2 * plane() + corners()
    x = torch.randn(5, space.dim, dtype=torch.float64, generator=seeded(1))
    assert_equivariant(lambda x: step.function(x, space), space, step.target(space), x, tolerance=ROUNDING)


@pytest.mark.parametrize("step", [pointwise("tanh"), pointwise("leaky_relu"), pointwise("gelu")], ids=str)
def test_pointwise_needs_permutations(step):
    x = torch.randn(5, 4, dtype=torch.float64, generator=seeded(1))
    assert_equivariant(lambda x: step.function(x, corners()), corners(), corners(), x, tolerance=ROUNDING)
    with pytest.raises(AssertionError, match="not equivariant"):
        assert_equivariant(lambda x: step.function(x, plane()), plane(), plane(), x[:, :2])


@pytest.mark.parametrize("kind", ["mean", "sum", "max"])
def test_pooling_is_over_orbits_and_invariant(kind):
    v = permutation(symmetric(4))
    space = 2 * (v * v) + trivial(v.group)
    step = group_pooling(kind)
    x = torch.randn(3, space.dim, dtype=torch.float64, generator=seeded(2))
    pooled = step.function(x, space)
    assert pooled.shape == (3, step.target(space).dim) == (3, 5)
    assert_equivariant(lambda x: step.function(x, space), space, None, x, tolerance=ROUNDING)
    graphs = x[:, :16].reshape(3, 4, 4)
    diagonal = getattr(torch.diagonal(graphs, dim1=1, dim2=2), "amax" if kind == "max" else kind)(dim=-1)
    rest = graphs[:, ~torch.eye(4, dtype=torch.bool)]
    others = getattr(rest, "amax" if kind == "max" else kind)(dim=-1)
    assert torch.allclose(pooled[:, :2], torch.stack([diagonal, others], dim=1))
    assert torch.equal(pooled[:, 4], x[:, -1])


def test_batch_normalisation_is_that_of_torch_on_channels():
    v = permutation(cyclic(6))
    x = 3 + 2 * torch.randn(7, 4, 6, dtype=torch.float64, generator=seeded(3))
    expected = torch.nn.functional.batch_norm(x, None, None, training=True, eps=1e-5)
    assert torch.allclose(batch_normalisation().function(x.flatten(1), 4 * v), expected.flatten(1))
    flat = torch.nn.functional.batch_norm(x[:, :, 0], None, None, training=True, eps=1e-5)
    assert torch.allclose(batch_normalisation().function(x[:, :, 0], trivial(v.group, 4)), flat)
    stacked = batch_normalisation().function(torch.stack([x.flatten(1), 5 * x.flatten(1) ** 2]), 4 * v)
    assert torch.allclose(stacked[0], expected.flatten(1))  # batches side by side do not mix


def test_gate_is_smooth_at_zero():
    x = torch.zeros(1, 2, dtype=torch.float64, requires_grad=True)
    norm_gate("tanh").function(x, plane()).sum().backward()
    assert bool(x.grad.isfinite().all())


def test_bad_steps_are_refused():
    with pytest.raises(InputError, match="did you mean 'leaky_relu'"):
        pointwise("leaky_rel")
    with pytest.raises(InputError, match="mean, sum, max, got 'median'"):
        group_pooling("median")
    with pytest.raises(InputError, match="expected a permutation representation for group pooling"):
        group_pooling().target(plane())


@pytest.mark.parametrize(("step", "kinked"), [("leaky_relu", True), ("tanh", False), ("gelu", False)])
def test_steps_whose_slope_jumps_are_known(step, kinked):
    assert pointwise(step).kinked is kinked
    assert norm_gate(step).kinked is kinked


@pytest.mark.parametrize("name", POINTWISE)
def test_steps_can_be_pickled(name):
    x = torch.randn(2, 4, generator=seeded(0))
    step = pointwise(name)
    again = pickle.loads(pickle.dumps(step))
    assert torch.equal(again.function(x, corners()), step.function(x, corners()))
