"""Strict minima of the equivariant risk that augmentation leaves, for any group.

At a saddle inside E training moves away whatever the penalty does outside; only at points with positive
curvature inside E can a penalty be what decides.
"""

from __future__ import annotations

import torch

from symscope.dynamics import TrainingProblem, declare_network, stability
from symscope.dynamics.layer_vectors import LayerWeights
from symscope.errors import InputError
from symscope.groups import equivariant_maps, trivial
from symscope.networks.losses import half_squared_loss
from symscope_papers.dynamics.counterexamples.problems import quadratic_problem
from symscope_papers.dynamics.minima import equivariant_minimum
from symscope_papers.dynamics.random_problems import natural_space

KINDS = ("quadratic", "tied neurons")
STRICT = 1e-4  # of the largest curvature: directions flatter than that take too long to follow
_TRIES = 20


def minimum_inside(
    kind: str, name: str, samples: int, generator: torch.Generator
) -> tuple[TrainingProblem, LayerWeights]:
    """A problem and equivariant layers with zero gradient and positive curvature inside E.

    Args:
        kind: "quadratic", one layer with a random form as in App. B: positive on E, negative in the mean
            outside; or "tied neurons", hidden neurons that the group permutes, fitted to a bump.
        name: Group, as `symscope.groups.parse` takes it.
        samples: Number of samples of tied neurons.
        generator: Source of randomness.

    Raises:
        InputError: No such minimum in 20 draws.

    >>> problem, weights = minimum_inside("quadratic", "C4", 9, torch.Generator().manual_seed(0))
    >>> ends = stability(problem, weights)
    >>> ends.inside.lowest > 0, ends.verdict
    (True, 'unstable')
    """
    if kind == "quadratic":
        return _quadratic(name, generator)
    for _ in range(_TRIES):
        problem, start = _tied(name, samples, generator)
        try:
            weights = equivariant_minimum(problem, start, steps=200)
        except InputError:
            continue  # no minimum near this start: the fit runs off to infinity
        inside = stability(problem, weights).inside
        if inside is not None and inside.lowest > STRICT * inside.highest:
            return problem, weights
    raise InputError(f"no strict minimum inside E for {name} in {_TRIES} draws: give another seed.")


def _quadratic(name: str, generator: torch.Generator) -> tuple[TrainingProblem, LayerWeights]:
    v = natural_space(name)
    drawn = torch.randn(v.dim, v.dim, generator=generator, dtype=torch.float64)
    form = (drawn + drawn.T) / 2
    rows = torch.eye(v.dim, dtype=torch.float64)[:, None]
    on = equivariant_maps(v, trivial(v.group)).project(rows)[:, 0]  # the projection on invariant vectors
    off = torch.eye(v.dim, dtype=torch.float64) - on
    inside = on @ form @ on
    lowest = torch.linalg.eigvalsh(inside + 1e3 * off)[0]
    mean = torch.trace(off @ form) / torch.trace(off)
    shifted = form + (1 - lowest) * on - (1 + mean) * off
    symmetric = (shifted + shifted.T) / 2
    return quadratic_problem(symmetric, v), (torch.zeros(1, v.dim, dtype=torch.float64),)


def _tied(name: str, samples: int, generator: torch.Generator) -> tuple[TrainingProblem, LayerWeights]:
    v = natural_space(name)
    network = declare_network([trivial(v.group, 2), v, trivial(v.group)], "tanh")
    centre, slope = torch.rand(2, generator=generator, dtype=torch.float64)
    t = torch.linspace(-2, 2, samples, dtype=torch.float64)
    x = torch.stack([t, torch.ones_like(t)], dim=1)
    y = torch.exp(-((t - 0.2 - 0.2 * centre) ** 2)) + (0.1 + 0.2 * slope) * t
    row = torch.tensor([0.8, 0.5], dtype=torch.float64).expand(v.dim, 2).clone()
    start = (row, torch.full((1, v.dim), 0.8 / v.dim, dtype=torch.float64))
    return TrainingProblem(network, half_squared_loss, x, y[:, None]), start
