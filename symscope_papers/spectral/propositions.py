"""Propositions 1 to 4: kernel matrices of convolutional networks over shifts and quarter turns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from symscope.data import mnist_sample, rotation, shift
from symscope.errors import InputError
from symscope.groups import FiniteGroup
from symscope.runs import Claim, Experiment, Preset, Results, Surroundings, Tables, above, below
from symscope.spectral import profile_gram, projected_profile
from symscope_papers.spectral import PAPER
from symscope_papers.spectral.conv_networks import SIDE, check_filter, conv_kernels
from symscope_papers.spectral.propositions_examples import example_action, examples
from symscope_papers.spectral.propositions_figures import proposition_plots

PROPOSITION = {
    ("fc", "translation"): "Prop. 1",
    ("gap", "translation"): "Prop. 2",
    ("fc", "rotation"): "Prop. 3",
    ("gap", "rotation"): "Prop. 4",
}
NAMES = {
    ("fc", "translation"): "dense read-out over shifts",
    ("gap", "translation"): "global pooling over shifts",
    ("fc", "rotation"): "dense read-out over rotations",
    ("gap", "rotation"): "global pooling over rotations",
}
ROUNDING = 1e-12
ANGLE = 1e-8  # an NTK holds angles between windows, those of equal ones known to 2e-8 / pi of half a turn
FULL = 1e-6  # ours: smallest over largest eigenvalue, far above rounding
REGULAR = 1e-10  # ours: the same for digits, whose images under small shifts are nearly alike


@final
@dataclass(frozen=True)
class Propositions:
    """Config of `spectral/propositions`: digits, sides of the filters, positions of a shift orbit."""

    digits: int = 100
    filters: tuple[int, ...] = (3, 5, 7)
    shifts: int = 28

    def __post_init__(self) -> None:
        if not 1 <= self.digits <= 2000:
            raise InputError(f"digits: expected 1 to 2000, got {self.digits}")
        if self.shifts < 2 or SIDE % self.shifts:
            raise InputError(f"shifts: expected a divisor of {SIDE} from 2 on, got {self.shifts}")
        if not self.filters:
            raise InputError("filters: expected at least one side, got none")
        for side in self.filters:
            check_filter("fc", side)
            if side < 3 or side >= SIDE // 2:
                raise InputError(f"filters: expected sides from 3 to {SIDE // 2 - 1}, got {side}")


def _cells(config: Propositions) -> list[dict[str, Any]]:
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


def _cell(config: Propositions, cell: Mapping[str, Any], surroundings: Surroundings) -> Results:
    readout, orbit, side = cell["readout"], cell["orbit"], cell["filter"]
    kernels = conv_kernels(readout, side)
    action = rotation(4) if orbit == "rotation" else shift(config.shifts)
    digits = _digits(config.digits, surroundings.run_seed)
    problems = [("digit", f"{label} ({number})", image, action) for label, number, image in digits]
    finest = example_action(orbit, side)
    problems += [("example", name, image, finest) for name, image in examples(readout, orbit).items()]
    matrices: list[dict[str, Any]] = []
    spectra: list[dict[str, Any]] = []
    entries: list[dict[str, Any]] = []
    for kind, name, image, acting in problems:
        points = acting.act_all(image.to(surroundings.device))[:, None]
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


def proposition_claims(config: Propositions, tables: Tables) -> list[Claim]:
    """The four propositions, part by part."""
    table = tables["matrices"]
    digits = table[table["kind"] == "digit"]
    cases = {case: _of(table, *case) for case in PROPOSITION}
    varied = [_of(digits, *case) for case in PROPOSITION if case != ("gap", "translation")]
    sides = ", ".join(map(str, config.filters))
    claims = [
        below(
            f"The kernel matrix of {NAMES[case]} is circulant.",
            source,
            nngp["circulant_gap"].max(),
            ROUNDING,
            why=f"NNGP, as in the proofs: largest departure over {len(nngp)} matrices, relative to the "
            f"largest entry; filters of side {sides}.",
        )
        for case, source in PROPOSITION.items()
        for nngp in [cases[case][cases[case]["kernel"] == "nngp"]]
    ]
    claims += [
        below(
            "All four are circulant for the NTK as well.",
            "App. C",
            table[table["kernel"] == "ntk"]["circulant_gap"].max(),
            ANGLE,
            why="An NTK holds angles between windows of the two images; that of equal windows is known to "
            "2e-8 only, hence the threshold.",
        ),
        below(
            "The kernel matrix of global pooling over shifts is constant.",
            "Prop. 2",
            cases["gap", "translation"]["spread"].max(),
            ROUNDING,
            why="NNGP and NTK: largest minus smallest entry, relative to the largest.",
        ),
        above(
            "In the other three cases it is not constant.",
            "Prop. 1, 3, 4",
            min(part["spread"].min() for part in varied),
            ANGLE,
            why="Smallest spread over all digits, NNGP and NTK; threshold is ours: more than rounding makes; "
            "it was set after results had been seen. Pooled quarter turns differ by "
            f"{_typical(digits, 'gap'):.1g} in the median, with a "
            f"dense read-out by {_typical(digits, 'fc'):.1g}.",
        ),
        above(
            "In the other three cases the matrices of digits have full rank.",
            "Prop. 1, 3, 4",
            min(part["rank_ratio"].min() for part in varied),
            REGULAR,
            why="Smallest eigenvalue over largest, the smallest over all digits; threshold is ours.",
        ),
    ]
    return claims + _example_claims(table)


def _example_claims(table: pd.DataFrame) -> list[Claim]:
    """What App. C says of the images in its proofs."""
    one = table[table["image"] == "one pixel"]
    two = table[table["image"] == "two pixels"]
    equal = table[table["image"] == "two equal pixels"]
    ours = "Smallest eigenvalue over largest; threshold is ours."
    return [
        below(
            "One bright pixel, shifted by more than the filter: the matrix is a multiple of the identity.",
            "Prop. 1, App. C",
            _of(one, "fc", "translation")["off_diagonal"].max(),
            ROUNDING,
        ),
        above(
            "One bright pixel off the centre, rotated, dense read-out: the matrix has full rank.",
            "Prop. 3, App. C",
            _of(one, "fc", "rotation")["rank_ratio"].min(),
            FULL,
            why=ours,
        ),
        above(
            "Two bright pixels inside a filter, rotated, global pooling: the matrix has full rank.",
            "Prop. 4, App. C",
            two["rank_ratio"].min(),
            FULL,
            why=f"One pixel half as bright as the other. {ours}",
        ),
        below(
            "That example needs pixels of different brightness: two equal ones look the same upside down to "
            "a network that pools, and the matrix is singular.",
            "beyond the paper",
            equal["rank_ratio"].abs().max(),
            ANGLE,
        ),
    ]


def _typical(digits: pd.DataFrame, readout: str) -> float:
    return float(_of(digits, readout, "rotation")["spread"].median())


def _of(table: pd.DataFrame, readout: str, orbit: str) -> pd.DataFrame:
    return table[(table["readout"] == readout) & (table["orbit"] == orbit)]


propositions = Experiment(
    id="spectral/propositions",
    paper=PAPER,
    figure="Prop. 1-4, App. C",
    shows="Kernels of convolutional networks are circulant over shifts and rotations; only global pooling "
    "over shifts makes them constant.",
    config=Propositions,
    presets={
        "quick": Preset(Propositions(digits=10, filters=(3, 5), shifts=14), "20 s on two cores"),
        "paper": Preset(Propositions(), "a minute on a GPU"),
    },
    cells=_cells,
    measure=_cell,
    plot=proposition_plots,
    claims=proposition_claims,
)
