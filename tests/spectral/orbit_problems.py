"""Random kernels invariant under a group, and the dense regression over their different points."""

from __future__ import annotations

import torch
from torch import Tensor

from symscope.groups import FiniteGroup, cyclic, dihedral, direct_product, symmetric
from symscope.groups.named_groups import quaternion
from symscope.groups.polyhedral import octahedral
from symscope.spectral import leave_out_residual, precision, profile_gram

GROUPS = {
    "C1": lambda: cyclic(1),
    "C2": lambda: cyclic(2),
    "C5": lambda: cyclic(5),
    "C8": lambda: cyclic(8),
    "C3xC4": lambda: direct_product(cyclic(3), cyclic(4)),
    "C2xC2": lambda: direct_product(cyclic(2), cyclic(2)),
    "D3": lambda: dihedral(3),
    "D5": lambda: dihedral(5),
    "S3": lambda: symmetric(3),
    "S4": lambda: symmetric(4),
    "Q8": quaternion,
    "O": octahedral,
    "Q8xC3": lambda: direct_product(quaternion(), cyclic(3)),
}


def random_profile(group: FiniteGroup, m: int, seed: int, ridge: float = 0.3) -> Tensor:
    """A positive definite profile without any other symmetry: random functions on the group, correlated."""
    generator = torch.Generator().manual_seed(seed)
    features = torch.randn(m, 2 * m, group.order, generator=generator, dtype=torch.float64)
    return feature_profile(group, features, ridge)


def feature_profile(group: FiniteGroup, features: Tensor, ridge: float = 0.0) -> Tensor:
    """`k(x, y) = <f_x, f_y>` of functions on the group under left translation, `(d f)(g) = f(d^-1 g)`."""
    moved = features[:, :, group.table[group.inverses]]  # [t, c, d, g]
    profile = torch.einsum("scg,tcdg->std", features, moved) / features[0].numel()
    profile[torch.arange(len(features)), torch.arange(len(features)), 0] += ridge
    return profile


def kept_profile(group: FiniteGroup, stabilisers: list[Tensor], seed: int) -> Tensor:
    """A profile of samples fixed by given subgroups, positive definite on their different points."""
    m = len(stabilisers)
    generator = torch.Generator().manual_seed(seed)
    features = torch.randn(m, 2 * m + 4, group.order, generator=generator, dtype=torch.float64)
    # f_s(h g) = f_s(g): averaged over the subgroup, x_s is kept by it
    kept = [f[:, group.table[h]].mean(1) for f, h in zip(features, stabilisers, strict=True)]
    profile = feature_profile(group, torch.stack(kept))
    for s, h in enumerate(stabilisers):
        profile[s, s, h] += 0.2
    return profile


def dense_residuals(
    profile: Tensor, labels: Tensor, missing: Tensor, group: FiniteGroup, ridge: float, stabilisers=None
) -> Tensor:
    """The same by dense regression over the points that are different, marked ones left out."""
    m, n = len(profile), group.order
    if stabilisers is None:
        first = torch.arange(n).expand(m, n)
    else:
        first = torch.stack([group.table[:, h].min(1).values for h in stabilisers])
    different = (first == torch.arange(n)).flatten()
    marked = torch.zeros(m, n, dtype=torch.bool)
    where = missing.nonzero()
    marked[where[:, 0], first[where[:, 0], where[:, 1]]] = True
    gram = profile_gram(profile, group)[different][:, different]
    points = labels.repeat_interleave(n, 0)[different]
    return leave_out_residual(precision(gram, ridge), points, marked.flatten()[different].nonzero()[:, 0])


def random_missing(group: FiniteGroup, m: int, seed: int, share: float = 0.4) -> Tensor:
    """A mask that is neither empty nor full."""
    generator = torch.Generator().manual_seed(seed + 7)
    mask = torch.rand(m, group.order, generator=generator) < share
    mask.view(-1)[seed % mask.numel()] = True
    mask.view(-1)[(seed + 1) % mask.numel()] = False
    return mask
