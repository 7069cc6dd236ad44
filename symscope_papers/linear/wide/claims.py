"""Claims of `linear/wide`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from symscope.runs import Claim, RunTables
from symscope_papers.linear.wide.config import Wide


def judge_claims(config: Wide, tables: RunTables) -> list[Claim]:
    """The claims, judged on the tables of a run."""
    trained, ranks = tables["trained"], tables["ranks"]
    means: Any = trained.groupby(["depth", "width"]).mean(numeric_only=True)
    shown = [f"rank {r} of {w}" for r, w in zip(ranks["rank"], ranks["weights"], strict=True)]
    return [
        _start_claim(config, tables["starts"]),
        _linear_claim(
            trained[trained["depth"] == config.depths[0]],
            "A wider network is closer to its linearisation.",
            "is well approximated by its linearized version",
        ),
        _linear_claim(trained, "It is so at every depth.", "This limit holds regardless of depth."),
        Claim.from_check(
            "The weights kernel's rank is at most the number of samples; overparameterised, it is singular.",
            "App. F.2",
            bool(((ranks["rank"] <= ranks["samples"]) & (ranks["rank"] < ranks["weights"])).all()),
            measured=", ".join(shown),
            threshold=f"at most {int(ranks['samples'].max())}, the number of samples",
            quote="rank is at most the number of samples, such that if the network is overparameterized it",
        ),
        *_kernel_claims(config, means),
    ]


def _start_claim(config: Wide, starts: pd.DataFrame) -> Claim:
    """The mean square of f_0 against one over the width, a line: its value at infinite width."""
    limits, words, good = [], [], True
    for depth in config.depths:
        part = starts[starts["depth"] == depth]
        (limit, error), _ = _line_fit(1 / part["width"], part["square"])
        good &= limit <= 2 * error
        sizes = part.groupby("width")["square"].mean().map(math.sqrt)
        limits.append(math.sqrt(max(limit, 0)))
        listed = ", ".join(f"{size:.3f} ({width} units)" for width, size in sizes.items())
        words.append(f"depth {depth}: {listed}")
    return Claim.from_check(
        "The untrained network approaches zero as it gets wider.",
        "App. F",
        good,
        measured=f"{limits[0]:.3f} at infinite width" + (f", {limits[-1]:.3f} at depth {config.depths[-1]}"),
        threshold="0 within two standard errors, at every depth",
        quote="in the infinite width case f_0 approaches 0 for all inputs",
        reading="The outputs of one network. Their mean over initialisations is zero at any width.",
        why=f"Root mean square of f_0 over inputs and {config.starts} networks: {'; '.join(words)}. Outputs "
        "become Gaussian with a variance that does not vanish; with one hidden layer and PyTorch's "
        "initialisation it is (|x|² + 1) / 54 + 1 / (3 width).",
    )


def _linear_claim(trained: pd.DataFrame, statement: str, quote: str) -> Claim:
    """The distance from the linearised network falls with the width, at every depth that is given."""
    words, good = [], True
    for depth, part in trained.groupby("depth"):
        _, (slope, error) = _line_fit(part["width"].map(math.log), part["linear_gap"].map(math.log))
        good &= slope + 2 * error < 0
        words.append(f"{slope:.2f} ± {error:.2f} (depth {depth})")
    means: Any = trained.groupby(["depth", "width"])["linear_gap"].mean()
    return Claim.from_check(
        statement,
        "App. F, Eq. 10",
        good,
        measured=f"exponent {', '.join(words)}",
        threshold="below 0 by two standard errors",
        quote=quote,
        why="Exponent of the width in the distance from the linearised network's outputs on new points, "
        f"relative to how far training moved them. Means: {_listed(means)}.",
    )


def _kernel_claims(config: Wide, means: Any) -> list[Claim]:
    return [
        Claim.quantified(
            "How far training moved the eigenvalues of the conjugate kernel, relative to their size, at the "
            f"largest width, {config.widths[-1]}.",
            "App. F.2",
            float(means["kernel_shift"].xs(config.widths[-1], level="width").max()),
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
    """Means by depth and width, "depth 1: 0.12 (30), 0.07 (100); depth 2: ..."."""
    parts = []
    for depth, some in values.groupby(level="depth"):
        listed = ", ".join(f"{value:.2g} ({width})" for (_, width), value in some.items())
        parts.append(f"depth {depth}: {listed}")
    return "; ".join(parts)
