"""Kernel matrices over orbits of digits: how far from circulant, constant, diagonal and singular."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.data import mnist_sample, rotation
from symscope.data.images import shift
from symscope.groups import FiniteGroup
from symscope.runs import CellContext, CellResults
from symscope.spectral import profile_gram, projected_profile
from symscope_papers.spectral.propositions.config import Propositions
from symscope_papers.spectral.propositions.examples import proof_action, proof_images
from symscope_papers.spectral.wide_networks import conv_kernels

PROPOSITION = {
    ("fc", "translation"): "Prop. 1",
    ("gap", "translation"): "Prop. 2",
    ("fc", "rotation"): "Prop. 3",
    ("gap", "rotation"): "Prop. 4",
}


def cells(config: Propositions) -> list[dict[str, Any]]:
    """One cell for each proposition and side of the filters."""
    return [
        {"readout": readout, "orbit": orbit, "filter": side}
        for side in config.filters
        for readout, orbit in PROPOSITION
    ]


def structure(gram: Float[Tensor, "n n"], group: FiniteGroup) -> dict[str, float]:
    """How far a matrix over one orbit is from circulant, from constant, from diagonal and from singular.

    All relative to the largest entry, the last (`rank_ratio`, smallest over largest eigenvalue) by itself.

    >>> from symscope.groups import cyclic
    >>> structure(torch.tensor([[2.0, 1.0], [1.0, 2.0]], dtype=torch.float64), cyclic(2))["spread"]
    0.5
    """
    scale = float(gram.abs().max())
    nearest = profile_gram(projected_profile(gram, group).profile, group)
    eigenvalues = torch.linalg.eigvalsh((gram + gram.T) / 2)
    return {
        "circulant_gap": float((gram - nearest).abs().max()) / scale,
        "spread": float(gram.max() - gram.min()) / scale,
        "off_diagonal": float((gram - gram.diagonal().diag()).abs().max()) / scale,
        "rank_ratio": float(eigenvalues[0] / eigenvalues[-1]),
    }


def measure_cell(config: Propositions, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """Structure, spectra and entries of the kernel matrices over every orbit."""
    readout, orbit, side = cell["readout"], cell["orbit"], cell["filter"]
    kernels = conv_kernels(readout, side)
    action = rotation(4) if orbit == "rotation" else shift(config.shifts)
    digits = _digits(config.digits, context.run_seed)
    problems = [("digit", f"{label} ({number})", image, action) for label, number, image in digits]
    finest = proof_action(orbit, side)
    problems += [("example", name, image, finest) for name, image in proof_images(readout, orbit).items()]
    matrices: list[dict[str, Any]] = []
    spectra: list[dict[str, Any]] = []
    entries: list[dict[str, Any]] = []
    for kind, name, image, acting in problems:
        points = acting.act_all(image.to(context.device))[:, None]
        # a copy: entries on the diagonal then come the same way as all others, with the same rounding
        nngp, ntk = kernels.both(points, points.clone())
        for kernel, gram in (("nngp", nngp), ("ntk", ntk)):
            row = {"kind": kind, "image": name, "kernel": kernel, "points": len(gram)}
            matrices.append({**row, **structure(gram, acting.group)})
        first = not entries or kind == "example"
        spectra += [] if kind == "example" else _spectrum(name, nngp, acting.group)
        entries += _entries(kind, name, nngp) if first else []
    return {"matrices": matrices, "spectra": spectra, "entries": entries}


def _digits(count: int, seed: int) -> list[tuple[int, int, Tensor]]:
    """Class, position in MNIST and standardised image of some digits, all classes in turn."""
    sample = mnist_sample().per_class(-(-count // 10), seed=seed).standardised()
    order = torch.arange(len(sample)).unflatten(0, (10, -1)).T.flatten()[:count]
    chosen = sample.take(order)
    assert chosen.indices is not None
    return [
        (int(label), int(index), image)
        for label, index, image in zip(chosen.labels, chosen.indices, chosen.x, strict=True)
    ]


def _spectrum(name: str, gram: Tensor, group: FiniteGroup) -> list[dict[str, Any]]:
    values = torch.fft.fft(projected_profile(gram, group).profile[0, 0]).real.cpu()
    return [
        {"image": name, "frequency": f, "relative_eigenvalue": float(values[f] / values.abs().max())}
        for f in range(len(values) // 2 + 1)
    ]


def _entries(kind: str, name: str, gram: Tensor) -> list[dict[str, Any]]:
    values = (gram / gram.abs().max()).cpu()
    return [
        {"kind": kind, "image": name, "row": i, "column": j, "value": float(values[i, j])}
        for i in range(len(values))
        for j in range(len(values))
    ]
