"""How an error is divided among five causes.

The squared error T (over all samples and elements, over what varies between samples) is divided by what would
remove it; each part is a difference of two measured errors, and the parts add up to T.

1. **action**. A function that breaks the laws of its group takes all of T: an error under something that is
   no action says nothing about the network. Otherwise, if a corrected action (about the centre, on the other
   axes, with another target action) leaves at most a fifth of T, the action takes what it removes, and the
   rest is divided with the corrected one.
2. **grid**. Of each element that interpolates, what exceeds the error of exact ones, at most what the round
   trip `g^-1 (g x)` changes in the outputs.
3. What is left is the network's own, and is first divided by layers (`_layer_shares`), each of which is put
   right in turn. Is the network made for the symmetry? Yes, if in fresh networks some layer or part that has
   weights and mixes positions keeps it.
   - Made for it: what is added by layers that break the symmetry in fresh networks is the
     **architecture**'s, whatever the data: with those layers mended no weights could break it. What other
     layers add came with training.
   - Not made for it (an ordinary network): its layers could have learned the symmetry, so that all of it
     came with training; a network that was never trained is its architecture.
4. What came with training is the **data**'s, where the training data does not show the symmetry: the error of
   elements that the data lacks, or that change labels, beyond the error of those it holds. The
   rest is **training**'s: data, or declared augmentation, shows the symmetry, and the network left it or did
   not learn it.

Shares are parts of T, with the middle 95 % of 400 resamples of the samples.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float64
from torch import Tensor, nn

from symscope.auditing._action_faults import ActionFault
from symscope.auditing._data_symmetry import DataSymmetry
from symscope.auditing._error_table import ErrorTable, interval, resample_weights
from symscope.auditing._grid import GridPart
from symscope.auditing._layer_shares import QUIET, LayerShare
from symscope.auditing._layer_words import layer_reason
from symscope.auditing._mask_data import MaskData
from symscope.auditing._subject import Subject
from symscope.auditing._symmetry_advice import target_sentences
from symscope.auditing._target_survival import TargetTest
from symscope.groups import FiniteGroup

KINDS = ("action", "grid", "architecture", "data", "training")
START = 1e-4  # squared error that a layer adds in fresh networks if it breaks the symmetry there
OPAQUE = 0.5  # error of fresh networks whose layers are not known, below which they are made for the symmetry
MOST_LAYERS = 3  # layers that a sentence names
NAMED = 0.1  # of what layers add: smaller parts are not named


@final
@dataclass(frozen=True)
class Cause:
    """One cause of an equivariance error.

    Attributes:
        kind: "action", "grid", "architecture", "data" or "training".
        share: Part of the squared error that it explains.
        low: Lower end of the 95 % interval of the share.
        high: Upper end.
        sentence: What was measured, in words.
        remedy: What to do about it.
    """

    kind: str
    share: float
    low: float
    high: float
    sentence: str
    remedy: str


@final
@dataclass(frozen=True, eq=False)
class Evidence:
    """What was measured for the division.

    Attributes:
        subject: What is audited, with a corrected action where the given one is at fault.
        table: Errors under the action as given.
        fault: What is wrong with it; None if nothing is.
        corrected: Errors under the corrected action; the same as `table` where nothing is wrong.
        exact: Elements that move samples exactly.
        grid: What interpolation does.
        shares: What each layer adds in the audited network.
        fresh_shares: The same in a fresh network, or in several.
        start_errors: Errors of fresh networks over the exact elements.
        start_words: How fresh networks were made.
        symmetry: Whether the data has the symmetry; None if it was not asked.
        kept: Whether some part of a fresh network keeps the symmetry by itself.
    """

    subject: Subject
    table: ErrorTable
    fault: ActionFault | None
    corrected: ErrorTable
    exact: tuple[int, ...]
    grid: GridPart
    shares: tuple[LayerShare, ...]
    fresh_shares: tuple[tuple[LayerShare, ...], ...]
    start_errors: tuple[float, ...]
    start_words: str
    symmetry: DataSymmetry | None
    kept: bool = False

    @property
    def start(self) -> float:
        """Median error of fresh networks; NaN where there are none."""
        return float(torch.tensor(self.start_errors).median()) if self.start_errors else math.nan

    @property
    def made_for(self) -> bool:
        """Whether the network is made for the symmetry."""
        mixing = [one for shares in self.fresh_shares for one in shares if one.mixes]
        if self.kept or any(one.own <= QUIET for one in mixing):
            return True
        if any(isinstance(part, nn.MultiheadAttention) for part in self.subject.module.modules()):
            return True
        return not mixing and self.start < OPAQUE

    def breaks_fresh(self, layer: str) -> bool:
        """Whether a layer breaks the symmetry in fresh networks."""
        same = [one for shares in self.fresh_shares for one in shares if one.layer == layer]
        return any(one.own > QUIET or float(one.added.mean()) > START for one in same)


def find_causes(evidence: Evidence, seed: int) -> tuple[Cause, ...]:
    """The five causes, largest first; an action that breaks laws comes first whatever the error.

    Args:
        evidence: What was measured.
        seed: Seed for drawing resamples.
    """
    shares = _parts(evidence, None, None)
    weights = resample_weights(len(evidence.table.squares), seed)
    few = len(evidence.shares[0].added) if evidence.shares else 1
    drawn = _parts(evidence, weights, resample_weights(few, seed + 1))
    causes = []
    for kind in KINDS:
        low, high = interval(drawn[kind])
        share = float(shares[kind])
        sentence, remedy = _words(evidence, kind, share)
        causes.append(Cause(kind, share, min(low, share), max(high, share), sentence, remedy))
    return tuple(sorted(causes, key=lambda one: (-one.share, KINDS.index(one.kind))))


def _parts(
    evidence: Evidence, weights: Float64[Tensor, "r m"] | None, few: Float64[Tensor, "r k"] | None
) -> dict[str, Tensor]:
    """The share of each kind, for all samples or for each resample."""
    total = evidence.table.square(None, weights).clamp_min(1e-300)
    nothing = torch.zeros_like(total)
    if evidence.fault is not None and evidence.fault.corrected is None:
        return {kind: nothing + (kind == "action") for kind in KINDS}
    action, rest = nothing, total
    if evidence.fault is not None:
        rest = torch.minimum(evidence.corrected.square(None, weights), total)
        action = total - rest
    grid = torch.minimum(evidence.grid.square(evidence.corrected, weights), rest)
    network = rest - grid
    built = network * _built_share(evidence, few)
    learned = network - built
    lacking = learned * _lacking_share(evidence, weights)
    parts = (action, grid, built, lacking, learned - lacking)
    return {kind: part / total for kind, part in zip(KINDS, parts, strict=True)}


def _built_share(evidence: Evidence, few: Float64[Tensor, "r k"] | None) -> Tensor | float:
    """Share of the network's own part that its architecture has to answer for."""
    if not evidence.subject.trained:
        return 1.0
    if not evidence.made_for:
        return 0.0
    added = [(one.added.mean() if few is None else few @ one.added).clamp_min(0) for one in evidence.shares]
    whole = sum(added, start=torch.zeros(()).double())
    broken = [
        part for part, one in zip(added, evidence.shares, strict=True) if evidence.breaks_fresh(one.layer)
    ]
    return torch.where(whole > 0, sum(broken, start=torch.zeros(()).double()) / whole.clamp_min(1e-300), 1.0)


def _lacking_share(evidence: Evidence, weights: Float64[Tensor, "r m"] | None) -> Tensor | float:
    """Share of the error added by training that the data explains: that at elements which it lacks."""
    symmetry = evidence.symmetry
    if symmetry is None:
        return 0.0
    table, subject = evidence.corrected, evidence.subject
    lacks = lacking_elements(symmetry, subject.action.group, subject.augmented)
    lacking = [g for g in table.elements if g in lacks]
    held = [g for g in table.elements if g not in lacks]
    if not lacking:
        return 0.0
    if not held:
        return 1.0
    base = table.square(held, weights)
    beyond = (table.square(lacking, weights) - base).clamp_min(0) * len(lacking)
    return beyond / (table.square(None, weights) * len(table.elements)).clamp_min(1e-300)


def lacking_elements(symmetry: DataSymmetry, group: FiniteGroup, augmented: bool = False) -> set[int]:
    """Elements under which the data looks different, or labels do not survive; untested as the nearest.

    A training with augmentation saw all of them, and lacks labels alone.
    """
    changed = [one.element for one in symmetry.labels] + [one.element for one in _changed_targets(symmetry)]
    mixing = {g for one in changed for g in (one, group.inverse(one))}
    different = {one.element: one.verdict == "different" for one in symmetry.elements}
    listed = sorted(different)
    result = set()
    for g in range(max(listed, default=0) + 1):
        nearest = min(listed, key=lambda one: abs(one - g))
        if g in mixing or (different[nearest] and not augmented):
            result.add(g)
    return result


def _changed_targets(symmetry: DataSymmetry) -> list[TargetTest]:
    """Tests of elements under which numbers to predict, or masks, do not survive."""
    return [one for one in symmetry.targets if one.verdict == "changes"]


def _words(evidence: Evidence, kind: str, share: float) -> tuple[str, str]:
    """What was measured about a cause, and what to do."""
    words = {
        "action": _action_words,
        "grid": _grid_words,
        "architecture": _architecture_words,
        "data": _data_words,
        "training": _training_words,
    }[kind]
    return words(evidence)


def _action_words(evidence: Evidence) -> tuple[str, str]:
    if evidence.fault is not None:
        return evidence.fault.sentence, evidence.fault.remedy
    group = evidence.subject.action.group.name
    return (
        f"The action is one of {group} on this data, and no corrected one removes the error.",
        "Nothing to do.",
    )


def _grid_words(evidence: Evidence) -> tuple[str, str]:
    grid, table = evidence.grid, evidence.corrected
    if grid.trips is None:
        return "All elements move samples exactly: nothing is interpolated.", "Nothing to do."
    still = [g for g in table.elements if g in evidence.exact]
    exact = f"{table.error(still):.1%} over elements that move pixels exactly, " if still else ""
    smooth = "" if math.isnan(grid.smooth_rough) else f", {grid.smooth_rough:.1%} on smoothed samples"
    return (
        f"Interpolation alone (samples moved there and back) changes outputs by {grid.trips.error():.1%}; "
        f"the error is {exact}{table.error(grid.rough):.1%} over the others{smooth}.",
        "Use larger or smoother images, average over the group at inference, or ask for exact elements alone "
        "(C4, D4).",
    )


def _architecture_words(evidence: Evidence) -> tuple[str, str]:
    start = (
        ""
        if not evidence.start_errors
        else f" Networks with {evidence.start_words}: error {evidence.start:.1%}."
    )
    named = named_layers(evidence)
    if not evidence.made_for and evidence.subject.trained:
        return (
            f"The network is not made for the symmetry: its layers have to learn it.{start}",
            "Build the symmetry in, or let the network learn it from data that shows it.",
        )
    if not named:
        return f"No layer breaks the symmetry by itself.{start}", "Nothing to do."
    return f"{'; '.join(named)}.{start}", "Mend these layers, or average over the group at inference."


def named_layers(evidence: Evidence) -> list[str]:
    """Layers that break the symmetry in fresh networks, those that add most first, with the reason."""
    broken = [one for one in evidence.shares if evidence.breaks_fresh(one.layer)]
    parts = {id(one): max(0.0, float(one.added.mean())) for one in broken}
    whole = sum(max(0.0, float(one.added.mean())) for one in evidence.shares)
    result = []
    for one in sorted(broken, key=lambda one: -parts[id(one)])[:MOST_LAYERS]:
        if whole == 0 or parts[id(one)] < NAMED * whole:
            continue
        reason = layer_reason(one, evidence.subject)
        name = "After the last layer" if not one.kind else f"Layer {one.layer!r} ({one.kind})"
        result.append(f"{name} adds {parts[id(one)] / whole:.0%}: {reason}")
    return result


def _data_words(evidence: Evidence) -> tuple[str, str]:
    symmetry = evidence.symmetry
    if symmetry is None:
        return "Whether the data has the symmetry was not asked.", "Nothing to do."
    why, augmented = " ".join(symmetry.evidence[:2]), evidence.subject.augmented
    seen = any(one.verdict == "same" for one in symmetry.elements)
    shows = "The data shows the symmetry." if seen else "Whether the data shows the symmetry cannot be told."
    if symmetry.aligned:
        shows = "The data does not show the symmetry, and a network learns what it is shown."
    if augmented:
        shows = "Training saw moved samples (augmentation), whatever the samples given show."
    if symmetry.labels:
        subject = evidence.subject
        names = subject.class_names or {one: str(one) for pair in symmetry.labels for one in pair.classes}
        elements = [subject.element_name(g) for g in subject.action.group.elements]
        mixed = symmetry.labels[0].sentence(names, elements)
        return (
            f"{shows} {why} Not all labels survive: {mixed}",
            "Augment the training data by the elements that keep labels apart, and by no others.",
        )
    if changed := _changed_targets(symmetry):
        subject = evidence.subject
        what = "masks" if isinstance(subject.data, MaskData) else "numbers"
        elements = [subject.element_name(g) for g in subject.action.group.elements]
        return (
            f"{shows} {why} Not all {what} survive: {target_sentences(changed, elements, what)[0]}",
            f"Augment the training data by the elements that keep {what}, and by no others.",
        )
    if symmetry.aligned and not augmented:
        return (
            f"{shows} {why}",
            "Augment the training data by the elements that it lacks, or average over the group at "
            "inference. If it was trained with augmentation, say so: augmented=True (--augmented).",
        )
    return f"{shows} {why}", "Nothing to do."


def _training_words(evidence: Evidence) -> tuple[str, str]:
    table = evidence.corrected
    still = [g for g in table.elements if g in evidence.exact] or list(table.elements)
    now = table.error(still)
    if not evidence.subject.trained:
        return "The network was not trained.", "Nothing to do."
    if not evidence.start_errors:
        return (
            f"The trained network has an error of {now:.1%}.",
            "Train with all transformations of each sample.",
        )
    errors = f"error {evidence.start:.1%} with {evidence.start_words}, {now:.1%} trained."
    augmented = evidence.subject.augmented
    if evidence.symmetry is not None and evidence.symmetry.aligned and not augmented:
        return f"The data does not show the symmetry to training: {errors}", "Nothing to do."
    if evidence.symmetry is not None and evidence.symmetry.labels:
        return f"Labels do not survive, so that training has no symmetry to learn: {errors}", "Nothing to do."
    moved = "left it" if evidence.start < now / 3 else "did not reach it"
    moved = "came near it" if now < evidence.start / 3 else moved
    allowed = "The data allows the symmetry and training" if evidence.symmetry else "Training"
    if augmented:
        return (
            f"Training with augmentation {moved}: {errors}",
            "Augmentation was not enough: train longer or with more transformations of each sample, add a "
            "penalty on the error, build the symmetry in, or average over the group at inference.",
        )
    return (
        f"{allowed} {moved}: {errors}",
        "Train with every transformation of each sample, more samples or a penalty on the error; or average "
        "over the group at inference.",
    )


def error_interval(table: ErrorTable, seed: int) -> tuple[float, float]:
    """The 95 % interval of an error."""
    low, high = interval(table.square(None, resample_weights(len(table.squares), seed)))
    return math.sqrt(low), math.sqrt(high)


def shares_of(causes: Sequence[Cause]) -> dict[str, float]:
    """The share of each kind."""
    return {one.kind: one.share for one in causes}
