"""The network before it was trained: fresh ones, with the statistics that batch norm takes from data."""

from __future__ import annotations

import copy

import torch
from jaxtyping import Shaped
from torch import Tensor, nn

from symscope.auditing._subject import Subject
from symscope.numerics import seeded

SHUFFLED = "weights shuffled within each tensor"
FRESH = "fresh weights"


def fresh_networks(subject: Subject, x: Shaped[Tensor, "m *s"], seeds: int) -> tuple[list[nn.Module], str]:
    """Networks as they are before training, and how they were made.

    By the builder where there is one. Otherwise the trained weights are shuffled within each tensor: what a
    layer keeps for any weights it keeps then too, and what training arranged is gone.

    Args:
        subject: Network and its builder.
        x: Samples for the statistics of batch norm, which fresh layers do not have yet.
        seeds: Number of networks.
    """
    if subject.builder is not None:
        made = [_with_fixed_parts(subject.builder(seed), subject.module) for seed in range(seeds)]
        how = FRESH
    else:
        made, how = [_shuffled(subject.module, seed) for seed in range(seeds)], SHUFFLED
    for module in made:
        _take_statistics(subject, module, x)
    return made, how


def _with_fixed_parts(fresh: nn.Module, trained: nn.Module) -> nn.Module:
    """The fresh network with what no training changes as it was saved: buffers and weights without gradients.

    A map of positions that a file brings along is the architecture's, though a fresh network has none yet.
    """
    own = dict(fresh.named_parameters())
    fixed = {name: value for name, value in own.items() if not value.requires_grad}
    fixed = {} if len(fixed) == len(own) else fixed  # all of them: frozen to be used
    given = {**dict(trained.named_parameters()), **dict(trained.named_buffers())}
    with torch.no_grad():
        for name, value in {**fixed, **dict(fresh.named_buffers())}.items():
            if name in given and given[name].shape == value.shape:
                value.copy_(given[name])
    return fresh


def _shuffled(module: nn.Module, seed: int) -> nn.Module:
    fresh = copy.deepcopy(module)
    generator = seeded(seed, 7)
    with torch.no_grad():
        for weights in fresh.parameters():
            order = torch.randperm(weights.numel(), generator=generator).to(weights.device)
            weights.copy_(weights.flatten()[order].reshape(weights.shape))
    return fresh


def _take_statistics(subject: Subject, module: nn.Module, x: Tensor) -> None:
    """Batch norm's running statistics from the samples, as the first steps of a training would give them."""
    norms = [
        part
        for part in module.modules()
        if isinstance(part, nn.modules.batchnorm._BatchNorm) and part.running_mean is not None
    ]
    if not norms or len(x) < 2:
        return
    usual = [part.momentum for part in norms]
    for part in norms:
        part.reset_running_stats()
        part.momentum = None  # the mean of all batches
        part.train()
    try:
        subject.call(module, subject.inputs(x, module))
    finally:
        for part, momentum in zip(norms, usual, strict=True):
            part.momentum = momentum
            part.eval()
