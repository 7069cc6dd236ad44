"""Small random networks of every kind of group, for the tests of this package."""

from __future__ import annotations

import math

import torch

from symscope.dynamics import DeclaredNetwork, TrainingProblem, declare_network
from symscope.groups import (
    Representation,
    cyclic,
    dihedral,
    direct_product,
    from_matrices,
    irreps,
    permutation,
    symmetric,
    trivial,
)
from symscope.networks.losses import half_squared_loss


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def corners() -> Representation:
    """The four corners of a square under D4."""
    return permutation(dihedral(4))


def plane() -> Representation:
    """The plane under D4, its axes turned by 0.3: along D4's own axes odd functions would be equivariant."""
    [two] = [rep for rep in irreps(dihedral(4)) if rep.dim == 2]
    cos, sin = math.cos(0.3), math.sin(0.3)
    turn = torch.tensor([[cos, -sin], [sin, cos]], dtype=torch.float64)
    return from_matrices(dihedral(4), turn @ two.matrices.real @ turn.T, name="plane")


def networks() -> dict[str, DeclaredNetwork]:
    """One network per family of groups, with different spaces and steps."""
    c5, d4, s4 = cyclic(5), dihedral(4), symmetric(4)
    v, w, s = permutation(c5), permutation(d4), permutation(s4)
    torus = direct_product(cyclic(3), cyclic(2))
    pixels = permutation(torus, _pixels(3, 2))
    return {
        "C5": declare_network([v, 2 * v, v], "tanh"),
        "D4": declare_network([w + trivial(d4), 2 * w, trivial(d4, 2), trivial(d4, 2)], "softplus"),
        "S4": declare_network([s * s, s + trivial(s4), trivial(s4)], "leaky_relu"),
        "C3xC2": declare_network([pixels, 2 * pixels, trivial(torus, 2)], "tanh"),
    }


def _pixels(rows: int, columns: int) -> torch.Tensor:
    """Where each shift (a, b) sends each pixel of a small image."""
    i, j = torch.arange(rows).repeat_interleave(columns), torch.arange(columns).repeat(rows)
    return torch.stack(
        [((i + a) % rows) * columns + (j + b) % columns for a in range(rows) for b in range(columns)]
    )


def problem(name: str, seed: int = 0, samples: int = 6) -> TrainingProblem:
    """A random problem on one of the networks: data without any symmetry, squared loss."""
    net = networks()[name]
    generator = seeded(seed)
    x = torch.randn(samples, net.sources[0].dim, dtype=torch.float64, generator=generator)
    y = torch.randn(samples, net.output.dim, dtype=torch.float64, generator=generator)
    return TrainingProblem(net, half_squared_loss, x, y)
