"""Networks trained on partly seen orbits, examined on the way: outputs, tangent kernel, features."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from symscope.groups import cyclic
from symscope.kernels import conjugate_kernel, empirical_ntk
from symscope.numerics import seeded
from symscope.runs import CellContext, CellResults
from symscope.spectral import leave_out_residual, precision, projected_profile
from symscope_papers.digits import digits
from symscope_papers.spectral.evolving.config import Evolving
from symscope_papers.spectral.networks.config import BUILDERS
from symscope_papers.spectral.pairs.orbits import rotated

MEMORY = {"cpu": "1GB", "cuda": "6GB"}  # for Jacobians: fewer and larger tiles
RIDGE = 1e-6  # of the mean of the diagonal: kernels of trained networks are nearly singular


def cells(config: Evolving) -> list[dict[str, Any]]:
    """One cell for each network, number of angles and start."""
    digits(config.mnist)  # missing files are reported before anything runs
    return [
        {"network": name, "angles": n, "start": start}
        for name in config.networks
        for n in config.angles
        for start in range(config.starts)
    ]


def measure_cell(config: Evolving, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """What the network, its kernel and its features are like before, while and after training."""
    n, start = cell["angles"], cell["start"]
    left_out = config.classes[start % len(config.classes)]
    source = digits(config.mnist).of_classes(*config.classes)
    data = source.per_class(config.seeds, context.run_seed + start)
    points = rotated(data.x.to(context.device, torch.float64), n, config.centred).flatten(0, 1)
    images = points.unflatten(-1, (1, *data.x.shape[1:]))
    labels = data.labels.to(context.device).repeat_interleave(n)
    missing = (labels == left_out) & (torch.arange(len(labels), device=labels.device) % n == 0)
    net = BUILDERS[cell["network"]](context.seed % 2**31, torch.float32).to(context.device)
    optimiser = torch.optim.Adam(net.parameters(), config.learning_rate, config.betas)
    generator = seeded(context.seed, 1)
    net.eval()
    memory = MEMORY[images.device.type]
    first: Float[Tensor, "p p"] | None = None
    rows = []
    for before, epoch in pairwise((0, *config.epochs)):
        with torch.random.fork_rng():
            torch.manual_seed(context.seed + epoch)  # of dropout
            for _ in range(before, epoch):
                _train(net, images[~missing].float(), labels[~missing], config.batch, optimiser, generator)
        gram = empirical_ntk(net, memory=memory)(images)
        first = gram if first is None else first
        rows.append(
            {
                "left_out": left_out,
                "epoch": epoch,
                "kernel_change": 1 - float((gram * first).sum() / (gram.norm() * first.norm())),
                **examined(net, gram, images, labels, missing, n),
            }
        )
    return {"evolving": rows}


def _train(
    net: nn.Module,
    x: Float[Tensor, "p 1 h w"],
    labels: Int64[Tensor, "p"],
    batch: int,
    optimiser: torch.optim.Optimizer,
    generator: torch.Generator,
) -> None:
    net.train()
    for part in torch.randperm(len(x), generator=generator).to(x.device).split(batch):
        optimiser.zero_grad()
        nn.functional.cross_entropy(net(x[part]), labels[part]).backward()
        optimiser.step()
    net.eval()


def examined(
    net: nn.Module,
    gram: Float[Tensor, "p p"],
    images: Float[Tensor, "p 1 h w"],
    labels: Int64[Tensor, "p"],
    missing: Tensor,
    n: int,
) -> dict[str, float]:
    """Accuracies of the network and of regression with its kernel, and the geometry of its features."""
    targets = nn.functional.one_hot(labels).to(gram.dtype)
    places = missing.nonzero()[:, 0]
    inverse = precision(gram, RIDGE * float(gram.diagonal().mean()))
    by_kernel = targets[places] - leave_out_residual(inverse, targets, places)
    with torch.no_grad():
        right = net(images.float()).argmax(1) == labels
    features = conjugate_kernel(net)(images)
    return {
        "seen": float(right[~missing].double().mean()),
        "unseen": float(right[missing].double().mean()),
        "kernel_unseen": float((by_kernel.argmax(1) == labels[places]).double().mean()),
        "departure": projected_profile(gram, cyclic(n)).invariance_error,
        **feature_geometry(features, labels, missing, n),
    }


def feature_geometry(
    kernel: Float[Tensor, "p p"], labels: Int64[Tensor, "p"], missing: Tensor, n: int
) -> dict[str, float]:
    """Root mean square distances of features: within an orbit, between orbits of a class, between classes.

    Of features with the scalar products `kernel`; relative to the distance between classes. `unseen_own` is
    from an unseen point to the rest of its orbit, `unseen_other` to points of other classes.

    >>> line = torch.tensor([0.0, 1.0, 4.0, 5.0], dtype=torch.float64)  # two orbits of two points
    >>> labels, none = torch.tensor([0, 0, 1, 1]), torch.tensor([True, False, False, False])
    >>> round(feature_geometry(line[:, None] * line, labels, none, 2)["within_orbits"] ** 2, 4)  # 1 / 16.5
    0.0606
    """
    size = kernel.diagonal()
    squared = (size[:, None] + size - 2 * kernel).clamp(min=0)
    orbit = torch.arange(len(labels), device=labels.device) // n
    same_orbit = orbit[:, None] == orbit
    itself = torch.eye(len(labels), dtype=torch.bool, device=labels.device)
    same_class = labels[:, None] == labels
    between = squared[~same_class].mean()

    def relative(mask: Tensor) -> float:
        return float((squared[mask].mean() / between).sqrt()) if bool(mask.any()) else float("nan")

    mine = missing[:, None].expand_as(squared)
    return {
        "within_orbits": relative(same_orbit & ~itself),
        "within_classes": relative(same_class & ~same_orbit),
        "unseen_own": relative(mine & same_orbit & ~itself),
        "unseen_other": relative(mine & ~same_class),
    }
