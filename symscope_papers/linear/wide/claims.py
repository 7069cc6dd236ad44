"""Claims of `linear/wide`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from symscope.runs import Claim, RunTables
from symscope_papers.linear.wide.config import Wide

WIDE = 1000  # the largest width that App. F.2 names
DISTANCE = "Distance from the linearised network's outputs on new points, over how far training moved them."


def judge_claims(config: Wide, tables: RunTables) -> list[Claim]:
    """The claims, judged on the tables of a run."""
    trained, ranks = tables["trained"], tables["ranks"]
    means: Any = trained.groupby(["initialisation", "depth", "width"]).mean(numeric_only=True)
    shown = [f"rank {r} of {w}" for r, w in zip(ranks["rank"], ranks["weights"], strict=True)]
    linear = "is well approximated by its linearized version"
    return [
        _start_claim(config, tables["starts"]),
        _linear_claim(
            config,
            trained[trained["depth"] == config.depths[0]],
            "A wide network is close to its linearisation, the closer the wider.",
            linear,
        ),
        _linear_claim(config, trained, "It is so at every depth.", "This limit holds regardless of depth."),
        Claim.quantified(
            "Exponent of the width in the distance from the linearised network.",
            "Eq. 10",
            ", ".join(f"{slope:.2f} ± {error:.2f} ({name})" for name, slope, error in _exponents(trained)),
            quote=linear,
            why=f"{DISTANCE} Means: {_listed(means['linear_gap'])}.",
        ),
        Claim.from_check(
            "The weights kernel's rank is at most the number of samples; overparameterised, it is singular.",
            "App. F.2",
            bool(((ranks["rank"] <= ranks["samples"]) & (ranks["rank"] < ranks["weights"])).all()),
            measured=", ".join(shown),
            threshold=f"at most {int(ranks['samples'].max())}, the number of samples",
            quote="rank is at most the number of samples, such that if the network is overparameterized it "
            "will necessarily be singular",
        ),
        *_kernel_claims(means),
    ]


def _start_claim(config: Wide, starts: pd.DataFrame) -> Claim:
    """The mean square of f_0 against one over the width, a line: its value at infinite width."""
    limits, good = [], True
    for (kind, depth), part in starts.groupby(["initialisation", "depth"]):
        (limit, error), _ = _line_fit(1 / part["width"], part["square"])
        good &= limit <= 2 * error
        limits.append(f"{math.sqrt(max(limit, 0)):.2f} ({kind}, depth {depth})")
    sizes = starts.groupby(["initialisation", "depth", "width"])["square"].mean().map(math.sqrt)
    return Claim.from_check(
        "The untrained network approaches zero as it gets wider.",
        "App. F",
        good,
        measured=", ".join(limits),
        threshold="0 at infinite width, within two standard errors",
        quote="in the infinite width case f_0 approaches 0 for all inputs",
        reading="The outputs of one network. Their mean over initialisations is zero at any width.",
        why=f"Root mean square of f_0 over inputs and {config.starts} networks, its square extrapolated in "
        f"one over the width. By width: {_listed(sizes)}. Outputs become Gaussian with a variance that does "
        "not vanish: (|x|² + 1) / 54 + 1 / (3 width) with one hidden layer and PyTorch's initialisation.",
    )


def _linear_claim(config: Wide, trained: pd.DataFrame, statement: str, quote: str) -> Claim:
    """The distance from the linearised network falls with the width, for all networks given."""
    source = "App. F, Eq. 10"
    if config.widths[-1] < WIDE:
        why = f"A statement about infinite width, and the widest network has {config.widths[-1]} units."
        return Claim.not_checked(statement, source, why, quote=quote)
    exponents = _exponents(trained)
    return Claim.from_check(
        statement,
        source,
        all(slope + 2 * error < 0 for _, slope, error in exponents),
        measured=", ".join(f"{slope:.2f} ({name})" for name, slope, _ in exponents),
        threshold="exponents of the width below 0 by two standard errors",
        quote=quote,
        reading="The paper names no initialisation: PyTorch's and He's must both do it. He's was added after "
        "a first run with PyTorch's, in which widths 10 to 100 showed no fall at depths 2 and 3.",
        why=DISTANCE,
    )


def _exponents(trained: pd.DataFrame) -> list[tuple[str, float, float]]:
    result = []
    for (kind, depth), part in trained.groupby(["initialisation", "depth"]):
        _, (slope, error) = _line_fit(part["width"].map(math.log), part["linear_gap"].map(math.log))
        result.append((f"{kind}, depth {depth}", slope, error))
    return result


def _kernel_claims(means: Any) -> list[Claim]:
    widest = int(means.index.get_level_values("width").max())
    return [
        Claim.quantified(
            "How far training moved the eigenvalues of the conjugate kernel, relative to their size, at the "
            f"largest width, {widest}.",
            "App. F.2",
            float(means["kernel_shift"].xs(widest, level="width").max()),
            quote="eigenvalues noticeably shift during training",
            why=f"The paper names widths of 10^2 - 10^3. All: {_listed(means['kernel_shift'])}.",
        ),
        Claim.quantified(
            "Share of the conjugate kernel's eigenvalues below a hundredth of the largest, the least.",
            "App. F.2",
            float(means["small_share"].min()),
            quote="spectrums are dominated by relatively small eigenvalues",
            why=f"Before training: {_listed(means['small_share'])}.",
        ),
    ]


def _line_fit(x: pd.Series, y: pd.Series) -> tuple[tuple[float, float], tuple[float, float]]:
    """Value at zero and slope of a least-squares line, each with its standard error."""
    design, values = np.stack([np.ones(len(x)), x.to_numpy()], 1), y.to_numpy()
    inverse = np.linalg.inv(design.T @ design)
    line = inverse @ design.T @ values
    noise = np.square(values - design @ line).sum() / (len(x) - 2)
    errors = np.sqrt(noise * np.diag(inverse))
    return (float(line[0]), float(errors[0])), (float(line[1]), float(errors[1]))


def _listed(values: Any) -> str:
    """Means by initialisation, depth and width, "he, depth 1: 0.12 (30), 0.07 (100); ..."."""
    parts = []
    for (kind, depth), some in values.groupby(level=["initialisation", "depth"]):
        listed = ", ".join(f"{value:.2g} ({key[-1]})" for key, value in some.items())
        parts.append(f"{kind}, depth {depth}: {listed}")
    return "; ".join(parts)
