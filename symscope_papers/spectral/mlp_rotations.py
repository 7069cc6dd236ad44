"""Pairs of rotated digits, wide ReLU networks: spectral error against regression (Fig. 4, 10, App. D)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from symscope.errors import InputError
from symscope.runs import Claim, Experiment, Preset, Results, Surroundings, Tables, above, below, unchecked
from symscope.spectral.circulant import inverse_spectrum
from symscope_papers.digits import digits
from symscope_papers.scatter_plots import agreement
from symscope_papers.spectral import PAPER
from symscope_papers.spectral.mlp_rotations_figures import plots
from symscope_papers.spectral.pairs.angles import by_angles
from symscope_papers.spectral.rotated_pairs import (
    PairErrors,
    digit_pairs,
    mlp_kernels,
    pair_errors,
    pair_geometry,
    pair_profiles,
    pair_spectra,
    rotated,
)

RIDGE = 0.0
TRACKS = 0.98  # Pearson's r
GAP = 0.05  # mean absolute difference
CLOSER = 10.0  # how many times closer the group form is to be, up to 16 angles
LINEAR = 0.9  # Pearson's r of what the paper calls approximately linear
SAME = 0.95  # share of pairs on which two verdicts agree


@final
@dataclass(frozen=True)
class MlpRotations:
    """Config of `spectral/mlp-rotations`.

    Attributes:
        mnist: Which digits: "sample" (bundled), "fetched" (by `symscope data fetch mnist`) or a folder.
        pairs: Random pairs of digits of different classes; the same ones for every network and angle.
        angles: Numbers of angles n.
        hidden: Numbers of hidden layers.
        shown: The number of angles of figures that show only one.
    """

    mnist: str = "sample"
    pairs: int = 512
    angles: tuple[int, ...] = (2, 4, 8, 16, 32, 64)
    hidden: tuple[int, ...] = (1, 5)
    shown: int = 8

    def __post_init__(self) -> None:
        if self.pairs < 3:
            raise InputError(f"pairs: expected 3 or more to correlate, got {self.pairs}")
        if not self.angles or min(self.angles) < 2 or len(set(self.angles)) < len(self.angles):
            raise InputError(f"angles: expected different numbers from 2 on, got {self.angles}")
        if not self.hidden or min(self.hidden) < 1 or len(set(self.hidden)) < len(self.hidden):
            raise InputError(f"hidden: expected different numbers of layers from 1 on, got {self.hidden}")
        if self.shown not in self.angles:
            raise InputError(f"shown: expected one of the angles {self.angles}, got {self.shown}")


def _cells(config: MlpRotations) -> list[dict[str, Any]]:
    digits(config.mnist)  # files that are not there are told before anything runs
    return [{"hidden": hidden, "angles": n} for hidden in config.hidden for n in config.angles]


def _cell(config: MlpRotations, cell: Mapping[str, Any], surroundings: Surroundings) -> Results:
    data = digits(config.mnist)
    chosen = digit_pairs(data, config.pairs, surroundings.run_seed)
    points = rotated(data.x[chosen].to(surroundings.device), cell["angles"])
    wide = mlp_kernels(cell["hidden"])
    geometry = {
        **{f"class_{name}": data.labels[chosen[:, side]] for side, name in enumerate("ab")},
        **dict(zip(("separation", "density"), pair_geometry(points), strict=True)),
    }
    rows: list[dict[str, Any]] = []
    for name, kernel in (("NTK", wide.ntk), ("NNGP", wide.nngp)):
        gram = kernel.batched(points.flatten(1, 2))
        found = pair_errors(gram, RIDGE)
        rows += _rows(name, found, geometry)
        if name == "NTK":
            spectra = _spectra(found)
            matrices = _matrices(gram[0]) if cell["angles"] == config.shown else []
    return {"pairs": rows, "spectra": spectra, "matrices": matrices}


def _rows(kernel: str, found: PairErrors, geometry: Mapping[str, Tensor]) -> list[dict[str, Any]]:
    columns = {
        "exact": found.exact,
        "mean_exact": found.mean_exact,
        "spectral": found.spectral,
        "projected": found.projected,
        "departure": found.departure,
        "lambda_n": found.lambda_n,
        "mean_inverse": found.mean_inverse,
        **geometry,
    }
    lists = {name: values.tolist() for name, values in columns.items()}
    return [
        {"kernel": kernel, "pair": i, **{name: values[i] for name, values in lists.items()}}
        for i in range(len(found.exact))
    ]


def _spectra(found: PairErrors) -> list[dict[str, Any]]:
    """The inverse spectra of three pairs: the best predicted, the one nearest to the border, the worst."""
    chosen = [int(found.exact.argmin()), int((found.exact - 1).abs().argmin()), int(found.exact.argmax())]
    half = found.spectra.shape[1] // 2
    inverse = inverse_spectrum(found.spectra, RIDGE)
    return [
        {"place": place, "pair": pair, "frequency": f, "inverse_lambda": inverse[pair, f]}
        for place, pair in zip(("best", "border", "worst"), chosen, strict=True)
        for f in range(half + 1)
    ]


def _matrices(gram: Float[Tensor, "p p"]) -> list[dict[str, Any]]:
    """One pair's kernel, interleaved as A0, B0, A1, .., beside the two it is replaced by."""
    n = len(gram) // 2
    order = torch.arange(2 * n).reshape(2, n).T.flatten()
    profile = pair_profiles(gram[None])[0].cpu()
    row = torch.fft.ifft(pair_spectra(profile[None])[0]).real
    gram = gram.cpu()[order][:, order]
    rows = []
    for i in range(2 * n):
        for j in range(2 * n):
            (g, s), (h, t) = divmod(i, 2), divmod(j, 2)
            rows.append(
                {
                    "row": i,
                    "column": j,
                    "kernel": gram[i, j],
                    "circularised": row[(j - i) % (2 * n)],
                    "projected": profile[s, t, (h - g) % n],
                }
            )
    return rows


def claims(config: MlpRotations, tables: Tables) -> list[Claim]:
    """The claims of Fig. 4, App. D and Fig. 10, and what the exact group form adds."""
    table = tables["pairs"]
    found: list[Claim] = []
    for hidden in config.hidden:
        mine = table[table["hidden"] == hidden]
        ntk, nngp = (mine[mine["kernel"] == kernel] for kernel in ("NTK", "NNGP"))
        source = "Fig. 4B, App. D" if hidden == 1 else "Fig. 10"
        found += _tracking(ntk, _layers(hidden), source)
        found += _closeness(ntk, _layers(hidden))
        found += _geometry(ntk, hidden, config.shown)
        found += _other_kernel(ntk, nngp, _layers(hidden))
    return found


def _tracking(ntk: pd.DataFrame, layers: str, source: str) -> list[Claim]:
    each_n = {n: agreement(part, "spectral", "exact") for n, part in by_angles(ntk).items()}
    each = ", ".join(f"{r:.4f} and {gap:.2g} at n = {n}" for n, (r, gap) in each_n.items())
    same = {
        n: float(((part["spectral"] > 1) == (part["exact"] > 1)).mean()) for n, part in by_angles(ntk).items()
    }
    return [
        above(
            f"The spectral error tracks the symmetrised NTK error at every number of angles ({layers}).",
            source,
            min(r for r, _ in each_n.values()),
            TRACKS,
            why=f"Smallest Pearson r. Pearson r and mean absolute difference: {each}. Threshold is ours.",
        ),
        below(
            f"The spectral error is near the symmetrised NTK error in size ({layers}).",
            source,
            max(gap for _, gap in each_n.values()),
            GAP,
            why="Largest mean absolute difference over numbers of angles. Threshold is ours.",
        ),
        above(
            f"The spectral error tells right from wrong predictions ({layers}).",
            source,
            min(same.values()),
            SAME,
            why="Share of pairs for which it is on the same side of 1 as the exact error, smallest over n "
            f"(n = {min(same, key=lambda n: same[n])}). Threshold is ours.",
        ),
    ]


def _closeness(ntk: pd.DataFrame, layers: str) -> list[Claim]:
    """How many times nearer the group form is than the formula, to each of the two exact errors."""
    statements = {
        "mean_exact": f"The group-projected error is 10 times closer to the exact error, averaged over the "
        f"missing angle, than the spectral error is, for n <= 16 ({layers}).",
        "exact": f"With the upright image missing, the group-projected error is 10 times closer to the "
        f"exact error than the spectral error is, for n <= 16 ({layers}).",
    }
    few = ntk[ntk["angles"] <= 16]
    found = []
    for column, statement in statements.items():
        if few.empty:
            found.append(unchecked(statement, "beyond the paper", "needs 16 angles or fewer"))
            continue
        factors = {
            n: agreement(part, "spectral", column)[1] / max(agreement(part, "projected", column)[1], 1e-12)
            for n, part in by_angles(few).items()
        }
        each = ", ".join(f"{factor:.3g} at n = {n}" for n, factor in factors.items())
        found.append(
            above(
                statement,
                "beyond the paper",
                min(factors.values()),
                CLOSER,
                why=f"Smallest factor between mean absolute differences: {each}.",
            )
        )
    return found


def _geometry(ntk: pd.DataFrame, hidden: int, shown: int) -> list[Claim]:
    found = []
    for one, other, statement, letter in (
        ("lambda_n", "separation", "λ_N is nearly linear in the squared distance of orbit centres", "D"),
        ("mean_inverse", "density", "The mean inverse spectrum is nearly linear in orbit density", "E"),
    ):
        each_n = {n: agreement(part, one, other)[0] for n, part in by_angles(ntk).items()}
        each = ", ".join(f"{r:.3f} at n = {n}" for n, r in each_n.items())
        found.append(
            above(
                f"{statement} ({_layers(hidden)}, {shown} angles).",
                f"Fig. 4{letter}" if hidden == 1 else f"Fig. 10 (as 4{letter})",
                each_n[shown],
                LINEAR,
                why=f"Pearson r: {each}. Threshold is ours.",
            )
        )
    return found


def _other_kernel(ntk: pd.DataFrame, nngp: pd.DataFrame, layers: str) -> list[Claim]:
    tracks = {n: agreement(part, "spectral", "exact")[0] for n, part in by_angles(nngp).items()}
    spread = {n: agreement(part, "spectral", "mean_exact")[0] for n, part in by_angles(nngp).items()}
    each = ", ".join(f"{r:.4f} ({spread[n]:.4f}) at n = {n}" for n, r in tracks.items())
    keys = ["angles", "pair"]
    both = ntk.merge(nngp, on=keys, suffixes=("", "_nngp"))
    return [
        above(
            f"With the NNGP kernel the spectral error tracks the exact error as well ({layers}).",
            "section 2",
            min(tracks.values()),
            TRACKS,
            why=f"Smallest Pearson r, in brackets with the error averaged over the missing angle: {each}. "
            "The upright image is one of four that no spline has smoothed. Threshold is ours.",
        ),
        above(
            f"NNGP and NTK agree on which pairs are predicted rightly ({layers}).",
            "section 2",
            float(((both["exact"] > 1) == (both["exact_nngp"] > 1)).mean()),
            SAME,
            why=f"Share of {len(both)} problems (pairs at every n). Threshold is ours.",
        ),
    ]


def _layers(hidden: int) -> str:
    return "1 hidden layer" if hidden == 1 else f"{hidden} hidden layers"


mlp_rotations = Experiment(
    id="spectral/mlp-rotations",
    paper=PAPER,
    figure="Fig. 4, 10, App. D",
    shows="On pairs of rotated digits the spectral error tracks wide networks; the exact group form is them.",
    config=MlpRotations,
    presets={
        "quick": Preset(MlpRotations(pairs=100, angles=(2, 4, 8, 16, 32)), "20 s on two cores"),
        "paper": Preset(MlpRotations(mnist="fetched"), "under a minute on a GPU, 2 minutes on two cores"),
    },
    cells=_cells,
    measure=_cell,
    plot=plots,
    claims=claims,
)
