"""Residuals by the exact group form and by dense regression; each irrep's share and its slope."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from symscope.groups import FiniteGroup
from symscope.numerics import seeded
from symscope.runs import CellContext, CellResults
from symscope.spectral import LeaveOut, kernel_profile, leave_out, leave_out_residual, precision, profile_gram
from symscope.spectral.dense import leave_one_out_residuals
from symscope.spectral.irrep_blocks import Frequency, frequencies
from symscope_papers.spectral.groups.config import Groups
from symscope_papers.spectral.groups.irrep_names import irrep_label
from symscope_papers.spectral.groups.problems import INVARIANT, OrbitProblem, ProblemSizes, orbit_problem

SLOPES = 16  # irreps whose slope is measured, at most: two dense inversions each
STEP = 1e-4  # relative change of one irrep's strength; the error of the slope is of its square
SINGULAR = 1e-12  # smallest over largest eigenvalue below which a matrix counts as singular
SAME = 1e-9  # distance below which two points are one; norms are about 1
KEPT = 1e-10  # eigenvalues of a singular matrix that count, relative to the largest
KINDS = ("one point", "a class's points", "a third of all points")


def cells(config: Groups) -> list[dict[str, Any]]:
    """One cell for each case."""
    return [{"case": case} for case in config.cases]


def measure_cell(config: Groups, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """Residuals at every missing set, exact and dense, and each irrep's share of them."""
    sizes = ProblemSizes(config.seeds, config.side, config.shifts, config.nodes, config.points)
    asked = orbit_problem(cell["case"], sizes, context.run_seed, context.device)
    group, m = asked.action.group, len(asked.samples)
    profile = kernel_profile(asked.kernel, asked.action.act_all, asked.samples, group)
    first, different = _different_points(asked)
    masks = missing_masks(first, config.seeds, context.seed)
    result = leave_out(profile, asked.labels, masks, group, ridge=0.0, stabilisers=asked.stabilisers)
    points = asked.action.act_all(asked.samples).flatten(0, 1)[different]
    # given one tensor twice the kernel's diagonal is exact; as a pair of points it is off by up to 1e-8, and
    # so were residuals. Not so where points share all their features: there every entry must round alike
    gram = asked.kernel(points, points.clone() if cell["case"] in INVARIANT else points)
    gram = (gram + gram.T) / 2
    place = torch.full((m * group.order,), -1)
    place[different] = torch.arange(len(different))
    errors = _error_rows(result, dense_residuals(gram, asked, different, place, result), len(masks))
    single = leave_out(profile, asked.labels, masks[:m], group, ridge=0.0, stabilisers=asked.stabilisers)
    slopes = {} if cell["case"] in INVARIANT else _slopes(profile, asked, different, place)
    irreps = _irrep_rows(single, group, slopes)
    ones = [row["error"] for row in errors if row["missing"] == KINDS[0]]
    summary = {
        "group": group.name,
        "order": group.order,
        "orbits": m,
        "points": single.points,
        "irreps": len(irreps),
        "mean_error": sum(ones) / len(ones),
        "accuracy": sum(error < 1 for error in ones) / len(ones),
        "limiting": limiting_irreps(irreps),
        "explanation": single.explanation,
    }
    return {"cases": [summary], "errors": errors, "irreps": irreps}


def _different_points(asked: OrbitProblem) -> tuple[Int64[Tensor, "m n"], Int64[Tensor, "p"]]:
    """For every point the first element that gives it, found by comparing samples; the different points."""
    points = asked.action.act_all(asked.samples).cpu().flatten(2)
    own = torch.arange(points.shape[1])
    apart = [torch.cdist(one, one, compute_mode="donot_use_mm_for_euclid_dist") for one in points]
    first = torch.stack([torch.where(one < SAME, own, len(own)).amin(1) for one in apart])
    return first, (first == own).flatten().nonzero()[:, 0]


def missing_masks(first: Int64[Tensor, "m n"], samples: int, seed: int) -> Bool[Tensor, "sets m n"]:
    """What is left out: each orbit's own sample; those of each class; a random third of all points, twice.

    >>> missing_masks(torch.tensor([[0, 1, 2], [0, 1, 2]]), 1, seed=0).sum((1, 2)).tolist()
    [1, 1, 1, 1, 2, 2]
    """
    m, n = first.shape
    ones = torch.zeros(m, m, n, dtype=torch.bool)
    ones[torch.arange(m), torch.arange(m), 0] = True
    classes = torch.stack([ones[:samples].any(0), ones[samples:].any(0)])
    generator = seeded(seed)
    different = (first == torch.arange(n)).flatten().nonzero()[:, 0]
    thirds = torch.zeros(2, m * n, dtype=torch.bool)
    for row in thirds:
        row[different[torch.randperm(len(different), generator=generator)[: len(different) // 3]]] = True
    return torch.cat([ones, classes, thirds.unflatten(1, (m, n))])


def dense_residuals(
    gram: Float[Tensor, "p p"],
    asked: OrbitProblem,
    different: Int64[Tensor, "p"],
    place: Int64[Tensor, "all"],
    result: LeaveOut,
) -> Float[Tensor, "q"]:
    """The same residuals by dense regression over all different points; of least norm where K is singular."""
    n = asked.action.group.order
    labels = asked.labels[(different // n).to(gram.device)]
    values = torch.linalg.eigvalsh(gram)
    regular = bool(values[0] > SINGULAR * values[-1])
    inverse = precision(gram, ridge=0.0) if regular else gram
    residuals = []
    for number in result.sets.unique():
        rows = result.sets == number
        missing = place[result.samples[rows] * n + result.elements[rows]].to(gram.device)
        solved = leave_out_residual(inverse, labels, missing) if regular else _least(gram, labels, missing)
        residuals.append(solved.cpu())
    return torch.cat(residuals)


def _least(
    gram: Float[Tensor, "p p"], labels: Float[Tensor, "p"], missing: Int64[Tensor, "q"]
) -> Float[Tensor, "q"]:
    """`y_M - K_MT K_TT^+ y_T`: the regression of least norm, the limit of a vanishing ridge."""
    there = torch.ones(len(gram), dtype=torch.bool, device=gram.device)
    there[missing] = False
    values, vectors = torch.linalg.eigh(gram[there][:, there])
    kept = values > KEPT * values[-1]
    weights = vectors[:, kept] @ ((vectors[:, kept].T @ labels[there]) / values[kept])
    return labels[missing] - gram[missing][:, there] @ weights


def _error_rows(result: LeaveOut, dense: Float[Tensor, "q"], sets: int) -> list[dict[str, Any]]:
    rows = []
    for i in range(len(dense)):
        number, residual, label = int(result.sets[i]), float(result.residual[i]), float(result.label[i])
        kind = KINDS[0] if number < sets - 4 else KINDS[1] if number < sets - 2 else KINDS[2]
        rows.append(
            {
                "missing": kind,
                "set": number,
                "orbit": int(result.samples[i]),
                "element": int(result.elements[i]),
                "error": residual * label,
                "dense_error": float(dense[i]) * label,
                "difference": abs(residual - float(dense[i])),
            }
        )
    return rows


def irrep_profile(profile: Float[Tensor, "m m n"], frequency: Frequency, group: FiniteGroup) -> Tensor:
    """The part of a profile on one irrep, by its character: `d copies / |G| sum_u Re chi(u) kappa(d u^-1)`.

    >>> from symscope.groups import cyclic
    >>> profile = torch.tensor([[[3.0, 1.0]]], dtype=torch.float64)
    >>> [irrep_profile(profile, f, cyclic(2)).tolist() for f in frequencies(cyclic(2))]
    [[[[2.0, 2.0]]], [[[1.0, -1.0]]]]
    """
    characters = torch.einsum("gii->g", frequency.matrices.to(torch.complex128)).real.to(profile)
    others = group.table[:, group.inverses].to(profile.device)  # [d, u] -> d u^-1
    scale = frequency.dim * frequency.copies / group.order
    return torch.stack([profile[:, :, row] @ characters for row in others], dim=-1) * scale


def _slopes(
    profile: Float[Tensor, "m m n"],
    asked: OrbitProblem,
    different: Int64[Tensor, "p"],
    place: Int64[Tensor, "all"],
) -> dict[int, float]:
    """How fast errors grow with an irrep's strength s, by dense regression: mean of d log error / d log s."""
    group = asked.action.group
    labels = asked.labels[(different // group.order).to(profile.device)]
    own = place[torch.arange(len(asked.samples)) * group.order].to(profile.device)
    chosen = different.to(profile.device)
    slopes = {}
    others = frequencies(group)[1:]
    for frequency in others[:: -(-len(others) // SLOPES)]:
        part = irrep_profile(profile, frequency, group)
        logs = []
        for step in (STEP, -STEP):
            gram = profile_gram(profile + step * part, group)[chosen][:, chosen]
            logs.append(leave_one_out_residuals(precision(gram, ridge=0.0), labels)[own].abs().log())
        slopes[frequency.index] = float((logs[0] - logs[1]).mean()) / (2 * STEP)
    return slopes


def _irrep_rows(result: LeaveOut, group: FiniteGroup, slopes: Mapping[int, float]) -> list[dict[str, Any]]:
    rows = []
    for frequency, one in zip(frequencies(group), result.irreps, strict=True):
        absent = (
            one.weight == 0
        )  # no function on these orbits is of this irrep: their samples are too symmetric
        unseen = one.stiffness == float("inf") and not absent
        rows.append(
            {
                "irrep": one.irrep,
                "label": irrep_label(frequency, group),
                "dim": one.dim,
                "copies": one.copies,
                "stiffness": None if unseen or absent else one.stiffness,
                "share": one.share,
                "weight": one.weight,
                "slope": slopes.get(frequency.index),
                "trivial": one.trivial,
                "unseen": unseen,
                "limits": one.limits,
            }
        )
    return rows


def limiting_irreps(irreps: Sequence[Mapping[str, Any]]) -> str:
    """The irreps that hold a network back, the worst first: those whose share is furthest below its weight.

    >>> limiting_irreps([{"label": "a", "share": 0.2, "weight": 0.5, "limits": True}])
    'a'
    """
    held = sorted((row for row in irreps if row["limits"]), key=lambda row: row["share"] - row["weight"])
    rest = f" and {len(held) - 3} more" if len(held) > 3 else ""
    return ", ".join(row["label"] for row in held[:3]) + rest if held else "none"
