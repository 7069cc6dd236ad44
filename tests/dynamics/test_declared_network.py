"""Declared networks."""

from __future__ import annotations

import inspect

import pytest
import torch

from symscope import InputError
from symscope.dynamics import declare_network, equivariant_weights
from symscope.dynamics.layer_steps import batch_normalisation, group_pooling, pointwise
from symscope.dynamics.layer_vectors import gaussian_weights
from symscope.groups import cyclic, from_matrices, irreps, permutation, symmetric, trivial
from symscope.groups.unitarity import unitary_form
from symscope.testing import assert_equivariant
from tests.dynamics.networks import networks, plane, seeded
from tests.tolerances import ROUNDING


@pytest.mark.parametrize("name", networks())
def test_forward_is_the_composition_written_out(name):
    net = networks()[name]
    weights = gaussian_weights(net, seeded(0))
    x = torch.randn(6, net.sources[0].dim, dtype=torch.float64, generator=seeded(1))
    sigma = {"C5": torch.tanh, "D4": torch.nn.functional.softplus, "C3xC2": torch.tanh}.get(
        name, torch.nn.functional.leaky_relu
    )
    z = x
    for weight in weights[:-1]:
        z = sigma(torch.einsum("oi,ni->no", weight, z))
    assert torch.allclose(net.forward(weights, x), torch.einsum("oi,ni->no", weights[-1], z))


@pytest.mark.parametrize("name", networks())
def test_layers_in_e_make_equivariant_networks(name):
    net = networks()[name]
    x = torch.randn(6, net.sources[0].dim, dtype=torch.float64, generator=seeded(1))
    weights = equivariant_weights(net, seeded(2))
    assert_equivariant(lambda x: net.forward(weights, x), net.sources[0], net.output, x, tolerance=ROUNDING)
    loose = gaussian_weights(net, seeded(2))
    with pytest.raises(AssertionError, match="not equivariant"):
        assert_equivariant(lambda x: net.forward(loose, x), net.sources[0], net.output, x)


def test_runs_are_networks_side_by_side():
    g = cyclic(4)
    v = permutation(g)
    net = declare_network([v, 2 * v, trivial(g, 3)], [(batch_normalisation(), "relu"), ()])
    weights = gaussian_weights(net, seeded(0), runs=(2, 3))
    x = torch.randn(5, 4, dtype=torch.float64, generator=seeded(1))
    together = net.forward(weights, x)
    assert together.shape == (2, 3, 5, 3)
    alone = net.forward([w[1, 2] for w in weights], x)
    assert torch.allclose(together[1, 2], alone)
    several = net.forward([w[1, 2] for w in weights], torch.stack([x, x.flip(0) ** 2]))
    assert torch.allclose(several[0], alone)  # batches do not mix in normalisation
    chosen = net.forward(weights, x, product=lambda x, a: torch.einsum("...ni,...oi->...no", x, a))
    assert torch.allclose(chosen, together)


def test_big_groups_are_never_listed():
    g = symmetric(10)
    v = permutation(g)
    net = declare_network([v * v, 3 * (v * v), trivial(g, 2), trivial(g)], "leaky_relu")
    assert net.equivariant_dimension == 3 * 15 + 2 * 3 * 2 + 2
    weights = equivariant_weights(net, seeded(0))
    x = torch.randn(4, 100, dtype=torch.float64, generator=seeded(1))
    assert_equivariant(lambda x: net.forward(weights, x), v * v, None, x, tolerance=ROUNDING, samples=8)


def test_pooling_changes_what_the_next_layer_takes():
    g = symmetric(4)
    v = permutation(g)
    net = declare_network([v * v, 2 * (v * v), trivial(g, 3)], [("tanh", group_pooling("max")), "sigmoid"])
    assert net.shapes == ((32, 16), (3, 4))
    assert net.output.dim == 3
    assert "[group_pooling(max)]" in repr(net)


def test_bad_declarations_are_refused():
    v = permutation(cyclic(4))
    shear = torch.tensor([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.5], [0.0, -1.0]]])
    complex_rep = next(rep for rep in irreps(cyclic(4)) if rep(1).is_complex() and rep(1).imag.abs() > 0.5)
    for spaces, message in [
        ([v], "at least two spaces"),
        ([v, permutation(cyclic(5))], "X_1 is V5 of C5, X_0 is V4 of C4"),
        (
            [from_matrices(cyclic(2), shear), trivial(cyclic(2))],
            "not: change its basis with groups.unitary_form",
        ),
        ([v, complex_rep], "expected real representations; X_1"),
    ]:
        with pytest.raises(InputError, match=message):
            declare_network(spaces)
    with pytest.raises(InputError, match="expected 2 entries of steps, one per layer, got 1"):
        declare_network([v, v, v], ["tanh"])
    with pytest.raises(InputError, match="permutation representation for group pooling"):
        declare_network([plane(), plane()], [group_pooling()])


def test_bad_weights_and_samples_are_refused():
    v = permutation(cyclic(4))
    net = declare_network([v, v, v], pointwise("tanh"))
    x, a = torch.zeros(2, 4), torch.zeros(4, 4)
    with pytest.raises(InputError, match="expected 2 matrices, one per layer"):
        net.forward([a], x)
    with pytest.raises(InputError, match="layer 1 of shape"):
        net.forward([a, torch.zeros(4, 3)], x)
    with pytest.raises(InputError, match="same leading axes"):
        net.forward([a.expand(3, 4, 4), a], x)
    with pytest.raises(InputError, match="expected samples"):
        net.forward([a, a], torch.zeros(2, 5))


@pytest.mark.parametrize(
    "steps", [torch.tanh, [torch.tanh, ()], [["relu", torch.tanh], ()], [torch.nn.Tanh(), ()]]
)
def test_a_bare_function_is_no_step(steps):
    v = permutation(cyclic(4))
    with pytest.raises(InputError, match=r"got [tT]anh.*pointwise\(torch.tanh\)"):
        inspect.unwrap(declare_network)([v, v, v], steps)  # the checks of the test suite stop it earlier


def test_the_hint_for_representations_that_are_not_unitary_works():
    shear = from_matrices(cyclic(2), torch.tensor([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.5], [0.0, -1.0]]]))
    with pytest.raises(
        InputError, match=r"groups.unitary_form\(rep\), which gives \(unitary, S\): declare unitary"
    ):
        declare_network([shear, shear])
    unitary, _ = unitary_form(shear)
    assert declare_network([unitary, unitary]).parameters == 4
