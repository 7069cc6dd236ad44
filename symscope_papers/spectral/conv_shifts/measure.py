"""Errors of pairs of shifted digits: the exact group form, Eq. 7, and dense regression."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.data.images import shift
from symscope.groups import cyclic
from symscope.kernels import Kernel
from symscope.runs import CellContext, CellResults
from symscope.spectral import class_masks, leave_out
from symscope_papers.digits import digits
from symscope_papers.spectral.conv_shifts.config import ConvShifts
from symscope_papers.spectral.pairs.errors import pair_spectra
from symscope_papers.spectral.pairs.orbits import digit_pairs, on_sphere, orbit_signs, pair_geometry
from symscope_papers.spectral.wide_networks import conv_kernels

READOUTS = ("fc", "gap")
RIDGE = 0.0
ZERO = 1e-12  # of the largest eigenvalue: a frequency below it is zero to rounding
KEPT = 1e-8  # of the largest eigenvalue: what counts in a singular matrix whose entries are known to 1e-11


def cells(config: ConvShifts) -> list[dict[str, Any]]:
    """One cell for each read-out and number of positions."""
    return [{"readout": readout, "angles": n} for readout in READOUTS for n in config.angles]


def measure_cell(config: ConvShifts, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """Errors, geometry and spectra of all pairs; at `shown` with the NNGP kernel too."""
    data = digits(config.mnist)
    chosen = digit_pairs(data, config.pairs, context.run_seed)
    images = on_sphere(data.x[chosen].flatten(-2), config.centred).unflatten(-1, data.x.shape[1:])
    points = shift(cell["angles"]).act_all(images.to(context.device))  # [pairs, 2, n, 28, 28]
    wide = conv_kernels(cell["readout"], config.filter)
    kernels = {"NTK": wide.ntk, "NNGP": wide.nngp} if cell["angles"] == config.shown else {"NTK": wide.ntk}
    separation, density = (values.tolist() for values in pair_geometry(points.flatten(3)))
    rows: list[dict[str, Any]] = []
    drawn: list[dict[str, Any]] = []
    for name, kernel in kernels.items():
        profiles = shift_profiles(kernel, points)
        spectra = pair_spectra(profiles)
        dense = dense_errors(kernel, points[: config.dense]) if name == "NTK" else []
        drawn = _spectra(spectra) if name == "NTK" else drawn
        for i, profile in enumerate(profiles):
            rows.append(
                {
                    "pair": i,
                    "kernel": name,
                    "class_a": int(data.labels[chosen[i, 0]]),
                    "class_b": int(data.labels[chosen[i, 1]]),
                    **_errors(profile.cpu()),
                    **_formula(spectra[i].cpu()),
                    "dense": dense[i] if i < len(dense) else None,
                    "separation": separation[i],
                    "density": density[i],
                }
            )
    return {"pairs": rows, "spectra": drawn}


def shift_profiles(kernel: Kernel, points: Float[Tensor, "p 2 n h w"]) -> Float[Tensor, "p 2 2 n"]:
    """`kappa_st(d) = k(x_s, d x_t)` of every pair: shifts are exact, so one row for each sample is enough.

    Every entry is computed as one of two different images, that of a sample with itself too: then all entries
    over one orbit have the same rounding, and what a network does not see is zero to rounding.
    """
    pairs, n = len(points), points.shape[2]
    rows = kernel.batched(points[:, :, 0, None], points.flatten(1, 2)[:, :, None])
    profile = rows.reshape(pairs, 2, 2, n)
    mirrored = profile.transpose(1, 2)[..., (-torch.arange(n, device=points.device)) % n]
    return (profile + mirrored) / 2


def _errors(profile: Float[Tensor, "2 2 n"]) -> dict[str, Any]:
    """The exact error, averaged over which orbit loses a point, and why it is what it is."""
    group = cyclic(profile.shape[-1])
    masks = class_masks(torch.arange(2), group)
    labels = torch.tensor([1.0, -1.0], dtype=torch.float64)
    result = leave_out(profile, labels, masks, group, RIDGE)
    return {
        "exact": float((result.residual * result.label).mean()),
        "unseen": sum(one.stiffness == float("inf") for one in result.irreps),
        "irreps": len(result.irreps),
        "explanation": result.explanation,
    }


def _formula(spectrum: Float[Tensor, "f"]) -> dict[str, Any]:
    """Eq. 7 and its parts; where other frequencies vanish and the labels' own does not, its limit, zero."""
    n = len(spectrum) // 2
    zero = spectrum <= ZERO * spectrum.max()
    if bool(zero.any()):
        error, inverse = (None if bool(zero[n]) else 0.0), None
    else:
        inverse = float((1 / spectrum).mean())
        error = float(1 / spectrum[n]) / inverse
    return {
        "spectral": error,
        "zero_frequencies": int(zero.sum()),
        "lambda_n": float(spectrum[n]),
        "mean_inverse": inverse,
    }


def dense_errors(
    kernel: Callable[[Tensor, Tensor], Tensor], points: Float[Tensor, "p 2 n h w"]
) -> list[float]:
    """The same errors by regression over all other points of the pair: of least norm where it is singular.

    `y_i (y_i - k_i K^+ y)` for the two samples, K over the 2n - 1 other points.
    """
    n = points.shape[2]
    signs = orbit_signs(n).to(points)
    errors = []
    for pair in points.flatten(1, 2)[:, :, None]:
        gram = kernel(pair, pair.clone())  # a copy: every entry with the same rounding, as in the profiles
        each = []
        for missing in (0, n):
            there = torch.arange(2 * n, device=gram.device) != missing
            values, vectors = torch.linalg.eigh((gram + gram.T)[there][:, there] / 2)
            kept = values > KEPT * values[-1]
            weights = vectors[:, kept] @ ((vectors[:, kept].T @ signs[there]) / values[kept])
            each.append(1 - float(signs[missing] * (gram[missing, there] @ weights)))
        errors.append(sum(each) / 2)
    return errors


def _spectra(spectra: Float[Tensor, "p f"]) -> list[dict[str, Any]]:
    """The circularised spectra of the first pairs, relative to their largest eigenvalue."""
    half = spectra.shape[1] // 2
    relative = (spectra / spectra.amax(1, keepdim=True))[:16].tolist()
    return [
        {"pair": i, "frequency": f, "relative_eigenvalue": values[f]}
        for i, values in enumerate(relative)
        for f in range(half + 1)
    ]
