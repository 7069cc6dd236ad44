"""Audits of the bank's trained networks: how far each is from the symmetry, whose fault it is, and labels."""

from __future__ import annotations

import copy
from typing import Any

import pandas as pd
import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from symscope.auditing import Audit, DataSymmetry, audit
from symscope.errors import InputError
from symscope.forecasting.methods import Design, DesignTrainer, Question, standardise_points
from symscope.networks import arrange_inputs
from symscope.numerics import seeded
from symscope_papers.forecast.bank.networks import NETWORKS
from symscope_papers.forecast.bank.scores import CASE

SAMPLES = 300  # points of the training data that a network is audited on
SECONDS = 5.0  # for forward passes and moving samples; numbers of samples follow from it
KINDS = ("action", "grid", "architecture", "data", "training")


class Standardised(nn.Module):
    """A network behind what trainings do to points: centred, scaled to a mean square of 1, and arranged.

    The audit moves samples as they are, and each is then standardised, as the action and the training do.

    Args:
        network: The network, as it was trained.
        question: Whether and how points are standardised, and their shape.
        layout: Layout of the network's inputs.
    """

    def __init__(self, network: nn.Module, question: Question, layout: str) -> None:
        super().__init__()
        self.network, self.layout = network, layout
        self.shape, self.coordinates = tuple(question.shape), question.coordinates
        self.standardised, self.name = question.standardised, question.data.name

    def forward(self, x: Tensor) -> Tensor:
        samples = x.reshape(1, len(x), *self.shape)  # whatever layout the audit tries first
        points = standardise_points(samples, self.standardised, self.name, coordinates=self.coordinates)
        out: Tensor = self.network(arrange_inputs(points[0], self.layout))
        return out


def seen_points(
    question: Question, trainer: DesignTrainer, design: Design, most: int, seed: int
) -> tuple[Float[Tensor, "k *s"], Shaped[Tensor, "k *t"]]:
    """Points that a training sees, before they are standardised, and what it is to give at each.

    Args:
        question: Samples and the action on them.
        trainer: Samples that trainings take.
        design: Points that the training sees.
        most: Points to draw, at most.
        seed: Seed for drawing them.
    """
    known = trainer.samples.known
    cells = design.seen.cpu().nonzero()
    cells = cells[torch.randperm(len(cells), generator=seeded(seed, 61))[:most]]
    x = question.data.x[known.indices.cpu()[cells[:, 0]]]
    moved = x.clone()
    for g in cells[:, 1].unique().tolist():
        rows = (cells[:, 1] == g).nonzero()[:, 0]
        moved[rows] = question.action.act(g, x[rows])
    return moved, known.wanted.cpu()[cells[:, 0], cells[:, 1]]


def audit_rows(
    question: Question, trainer: DesignTrainer, design: Design, module: nn.Module, seed: int
) -> list[dict[str, Any]]:
    """The audit of one trained network on points it was trained on, as a row; with a note where it has none.

    Args:
        question: Samples, the action on them and on targets.
        trainer: Architecture, samples and device.
        design: Points that the network was trained on.
        module: The trained network.
        seed: Seed for drawing points.
    """
    layout = trainer.model.layout
    x, wanted = seen_points(question, trainer, design, SAMPLES, seed)
    classes = not wanted.is_floating_point()

    def fresh(seed: int) -> nn.Module:
        return Standardised(trainer.model.builder(seed).float(), question, layout)

    try:
        found = audit(
            Standardised(copy.deepcopy(module).float(), question, layout),
            (x.float(), wanted if classes else wanted.double()),
            question.action,
            target_action=question.target_action,
            builder=fresh,
            task="classification" if classes else "regression",
            name=trainer.model.name,
            device=trainer.device,
            repairs=False,
            seconds=SECONDS,
            seed=seed,
        )
    except InputError as error:
        return [{"note": str(error)}]
    return [audit_row(found)]


def audit_row(found: Audit) -> dict[str, Any]:
    """The error, each cause's share of it, what is named first, and whether labels survive."""
    shares = {one.kind: one.share for one in found.causes}
    return {
        "error": found.error,
        "low": found.low,
        "high": found.high,
        "first": found.causes[0].kind if found.causes else "none",
        "sentence": found.verdict,
        **{f"{kind}_share": shares.get(kind, 0.0) for kind in KINDS},
        "labels": label_verdict(found.data_symmetry),
        "recommendation": "" if found.data_symmetry is None else found.data_symmetry.recommendation,
        "audited": found.samples,
        "audit_seconds": found.seconds,
        "note": " ".join(found.notes),
    }


def label_verdict(found: DataSymmetry | None) -> str:
    """Whether labels or numbers survive the action: "survive", "change", or "unknown"."""
    if found is None:
        return "unknown"
    verdicts = {one.verdict for one in found.targets}
    if found.labels or "changes" in verdicts:
        return "change"
    return "survive" if verdicts <= {"survives"} else "unknown"


def audits_section(audits: pd.DataFrame, cases: pd.DataFrame) -> str:
    """A section of the page of results: errors of the trained networks, and what is named first, by network.

    Args:
        audits: A row for each case, from `audit_rows`.
        cases: Times of the forecasts and trainings of the cases.
    """
    done = audits[audits["error"].notna()] if "error" in audits else audits.iloc[:0]
    if done.empty:
        return f"## Audits of the trained networks\n\nNone of {len(audits)} could be made.\n"
    times = done.merge(cases[[*CASE, "training_seconds"]], on=CASE)
    share = times["audit_seconds"].sum() / times["training_seconds"].sum()
    lines = [
        "## Audits of the trained networks\n",
        f"The first network that each of {len(done)} cases trained, audited (`symscope.audit`, without "
        f"remedies) on up to {SAMPLES} points of its training data. Time of the audits over that of the "
        f"trainings: {share:.2f}. Labels or numbers were seen to change under the group in "
        f"{int((done['labels'] == 'change').sum())} of them.\n",
        "| network | cases | error, median | lowest to highest | named first | labels change |",
        "| --- | ---: | ---: | ---: | --- | ---: |",
    ]
    for name, part in done.groupby("network"):
        named = ", ".join(f"{kind} {count}" for kind, count in part["first"].value_counts().items())
        error = part["error"]
        lines.append(
            f"| {NETWORKS.get(str(name), str(name))} | {len(part)} | {error.median():.1%} | "
            f"{error.min():.1%} to {error.max():.1%} | {named} | {int((part['labels'] == 'change').sum())} |"
        )
    missed = audits[~audits.index.isin(done.index)]
    if len(missed):
        lines.append(f"\nNot audited: {len(missed)}. The first: {missed['note'].iloc[0]}")
    return "\n".join(lines) + "\n"
