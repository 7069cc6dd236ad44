"""Errors at missing angles of one orbit: exact kernel regression, the paper's formula, trained networks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from symscope.numerics import seeded
from symscope.runs import CellContext, CellResults
from symscope.spectral.circulant import spectral_residual
from symscope_papers.digits import digits
from symscope_papers.spectral.gaps.config import ONE, SCATTERED, Gaps, ends_seen, missing_elements
from symscope_papers.spectral.pairs.errors import pair_profiles, pair_spectra
from symscope_papers.spectral.pairs.orbits import digit_pairs, orbit_signs, rotated
from symscope_papers.spectral.trained.config import Trained
from symscope_papers.spectral.trained.full_batch import FullBatch, train_copies
from symscope_papers.spectral.wide_networks import mlp_kernels

KERNEL, FORMULA = "kernel regression", "formula of App. A.1"


def cells(config: Gaps) -> list[dict[str, Any]]:
    """One cell for each number of angles and method: the kernel, and each way of training."""
    digits(config.mnist)  # missing files are reported before anything runs
    return [{"angles": n, "method": method} for n in config.angles for method in (KERNEL, *config.runs)]


def patterns(config: Gaps, angles: int, seed: int) -> dict[str, Int64[Tensor, "missing"]]:
    """What is left out of an orbit: one angle, each gap, and as many scattered angles as the widest gap.

    >>> {name: len(elements) for name, elements in patterns(Gaps(), 32, seed=0).items()}
    {'one angle': 1, 'gap of 45°': 3, 'gap of 90°': 7, 'scattered angles': 7}
    """
    found = {
        f"gap of {gap}°": torch.tensor(missing_elements(angles, gap))
        for gap in config.gaps
        if ends_seen(angles, gap)
    }
    widest = max((len(elements) for elements in found.values()), default=1)
    others = 1 + torch.randperm(angles - 1, generator=seeded(seed, 7))[: widest - 1]
    return {ONE: torch.tensor([0]), **found, SCATTERED: torch.cat([torch.tensor([0]), others.sort().values])}


def measure_cell(config: Gaps, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """Errors of every pair and pattern by one method, averaged over which orbit has the gap."""
    n, method = cell["angles"], cell["method"]
    data = digits(config.mnist)
    chosen = digit_pairs(data, config.pairs, context.run_seed)
    points = rotated(data.x[chosen].to(context.device), n, config.centred)
    gram = mlp_kernels(1).ntk.batched(points.flatten(1, 2)) if method == KERNEL else None
    rows: list[dict[str, Any]] = []
    profile: list[dict[str, Any]] = []
    for name, missing in patterns(config, n, context.run_seed).items():
        if gram is not None:
            found = {KERNEL: kernel_errors(gram, missing), FORMULA: formula_errors(gram, missing)}
        else:
            found = {method: trained_errors(config, method, points, missing, context.seed)}
        for by, errors in found.items():  # [pairs, 2, missing], upright first
            rows += [
                {
                    "by": by,
                    "pattern": name,
                    "missing": len(missing),
                    "pair": pair,
                    "upright": float(errors[pair, :, 0].mean()),
                    "mean": float(errors[pair].mean()),
                }
                for pair in range(config.pairs)
            ]
            profile += [
                {
                    "by": by,
                    "pattern": name,
                    "degrees": (int(element) if element <= n // 2 else int(element) - n) * 360 / n,
                    "error": float(errors[:, :, place].mean()),
                }
                for place, element in enumerate(missing)
            ]
    return {"errors": rows, "profile": profile}


def kernel_errors(
    gram: Float[Tensor, "pairs p p"], missing: Int64[Tensor, "missing"]
) -> Float[Tensor, "pairs 2 missing"]:
    """`y (y - prediction)` at missing angles of each orbit in turn: `(P_MM)^-1 (P y)_M`, no ridge.

    >>> K = torch.eye(4, dtype=torch.float64)[None] + 0.5
    >>> kernel_errors(K, torch.tensor([0]))[0, 0].round(decimals=4).tolist()
    [1.2]
    """
    n = gram.shape[1] // 2
    signs = orbit_signs(n).to(gram)
    precision = torch.cholesky_inverse(torch.linalg.cholesky(gram))
    weights = precision @ signs
    errors = []
    for orbit in (0, 1):
        places = missing.to(gram.device) + orbit * n
        block = precision[:, places[:, None], places]
        residual = torch.linalg.solve(block, weights[:, places])
        errors.append(signs[places] * residual)
    return torch.stack(errors, 1).cpu()


def formula_errors(
    gram: Float[Tensor, "pairs p p"], missing: Int64[Tensor, "missing"]
) -> Float[Tensor, "pairs 2 missing"]:
    """The same by App. A.1: the linear system over missing points of the circularised kernel."""
    n = gram.shape[1] // 2
    spectra = pair_spectra(pair_profiles(gram)).cpu()
    labels = orbit_signs(n).reshape(2, n).T.flatten()  # interleaved
    errors = [
        torch.stack(
            [
                labels[places] * spectral_residual(spectrum, labels, places, 0.0)
                for places in (2 * missing, 2 * missing + 1)
            ]
        )
        for spectrum in spectra
    ]
    return torch.stack(errors)


def trained_errors(
    config: Gaps,
    run: str,
    points: Float[Tensor, "pairs 2 n pixels"],
    missing: Int64[Tensor, "missing"],
    seed: int,
) -> Float[Tensor, "pairs 2 missing"]:
    """`1 - y f(x)` at missing angles: two networks for each pair, each without these angles of one orbit."""
    n = points.shape[2]
    flat = points.flatten(1, 2).float()
    signs = orbit_signs(n).to(flat)
    absent = torch.stack([missing, missing + n]).to(flat.device)
    seen = torch.ones(2, 2 * n, dtype=torch.bool, device=flat.device)
    seen[torch.arange(2, device=flat.device)[:, None], absent] = False
    places = torch.stack([row.nonzero()[:, 0] for row in seen])
    how = Trained(width=config.width)
    settings = FullBatch(config.epochs, how.optimiser(run), config.tolerance, look_every=10)
    seeds = torch.randint(2**31, (2 * len(flat),), generator=seeded(seed)).tolist()
    x, y = flat[:, places].flatten(0, 1), signs[places].repeat(len(flat), 1)
    trained = train_copies(how.network(run), x, y, settings, seeds)
    outputs = trained.stack.outputs(flat[:, absent].flatten(0, 1)).reshape(len(flat), 2, -1)
    return (1 - signs[absent] * outputs).double().cpu()
