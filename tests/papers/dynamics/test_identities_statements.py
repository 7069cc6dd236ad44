"""Every statement of the paper on random networks of four families of groups; and broken ones are noticed."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from symscope.dynamics import TrainingProblem, declare_network
from symscope.dynamics.layer_steps import batch_normalisation, norm_gate, pointwise
from symscope.groups import cyclic, dihedral, permutation, symmetric, trivial
from symscope.networks.losses import half_squared_loss, soft_cross_entropy_loss
from symscope_papers.dynamics.identities.statements import (
    IDENTITIES,
    equation_3_gap,
    identity_errors,
    induced_matrices,
)
from tests.dynamics.networks import plane, problem, seeded
from tests.tolerances import DYNAMICS


def random_problem(net, loss=half_squared_loss, samples=6):
    x = torch.randn(samples, net.sources[0].dim, dtype=torch.float64, generator=seeded(1))
    y = torch.rand(samples, net.output.dim, dtype=torch.float64, generator=seeded(2))
    return TrainingProblem(net, loss, x, y)


def cases():
    c, d, s = cyclic(4), dihedral(3), symmetric(3)
    v, w, p = permutation(c), permutation(d), permutation(s)
    return {
        "C4, batch normalisation": random_problem(
            declare_network([v, 2 * v, v], [(batch_normalisation(), "tanh"), ()])
        ),
        "D3, classes": random_problem(
            declare_network([w + trivial(d), w, trivial(d, 3)], "softplus"), soft_cross_entropy_loss
        ),
        "S3, graphs": random_problem(declare_network([p * p, p, p], "tanh")),
        "D4, a plane": random_problem(
            declare_network([plane(), 2 * plane(), plane()], [norm_gate("softplus"), ()])
        ),
        "C3xC2, images": problem("C3xC2", samples=9),
    }


@pytest.mark.parametrize("name", cases())
def test_every_identity_holds(name):
    result = identity_errors(cases()[name], seed=4)
    assert [one.name for one in result] == list(IDENTITIES)
    for one in result:
        assert one.error < DYNAMICS, one


def test_assumptions_are_needed():
    """A nonlinearity or a loss that breaks an assumption breaks just the statements that rest on it."""
    v = permutation(cyclic(4))
    ramp = pointwise(lambda x: torch.tanh(x * torch.arange(1.0, 5.0, dtype=x.dtype)), name="ramp")
    broken = {
        one.name: one.error for one in identity_errors(random_problem(declare_network([v, v, v], ramp)))
    }
    for name in ("Lemma 3", "Lemma 4", "Prop. 1", "Prop. 2", "Cor. 1"):
        assert broken[name] > 1e-4, name
    for name in ("Lemma 1", "Lemma 2", "Lemma 5", "Lemma 6", "Lemma 7"):
        assert broken[name] < DYNAMICS, name
    sound = random_problem(declare_network([v, v, v], "tanh"))
    weights = torch.arange(1.0, 5.0, dtype=torch.float64)
    loss = lambda p, y: (weights * (p - y) ** 2).sum(-1)  # noqa: E731
    biased = {one.name: one.error for one in identity_errors(replace(sound, loss=loss))}
    assert biased["Lemma 3"] < DYNAMICS
    for name in ("Lemma 4", "Prop. 1", "Prop. 2"):
        assert biased[name] > 1e-4, name


def test_equation_3_is_a_bound():
    for name in ("C5", "S4"):
        assert equation_3_gap(problem(name), seed=1) > 1e-3


def test_induced_matrices_are_kronecker_products():
    net = declare_network([plane(), plane()])
    result = induced_matrices(net)
    for g in net.group.elements:
        rho = plane()(g)
        assert torch.allclose(result[g], torch.kron(rho, rho), atol=1e-12)
