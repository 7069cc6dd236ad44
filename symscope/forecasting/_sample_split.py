"""The samples a network is trained on and new ones it never sees, each under every element of the group."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import torch
from jaxtyping import Float, Float64, Int64, Shaped
from torch import Tensor

from symscope.data import Action, LabelledData, fixing_elements
from symscope.errors import InputError
from symscope.forecasting._coverage import Coverage
from symscope.forecasting._orbit_points import sample_points
from symscope.forecasting._prediction_task import PredictionTask, mean_overlap
from symscope.forecasting._targets import kept_targets
from symscope.numerics import Progress, byte_text, checked, explained, partial_progress, seeded

if TYPE_CHECKING:
    from symscope.forecasting._question import Question

NEW_SHARE = 0.2  # of each class, kept apart as new samples where no others are given
FEWEST_SPLIT = 5  # samples of a class below which none is kept apart
MOST_NEW = 100  # new samples of a class: accuracies to 0.05
MEMORY = 2**31  # bytes that all transformed samples may take
PIECE = 2048  # points transformed at a time
COINCIDE = 1e-6  # relative distance of points, in float32, that are one
TIMED = (8, 64)  # samples whose transformation is timed: what a call takes by itself is not theirs
SLOW = 0.05  # seconds of the fewer from which on the more are not transformed


@final
@dataclass(frozen=True, eq=False)
class OrbitSamples:
    """Samples under every element, as the network sees them, in float32.

    Attributes:
        points: `points[s, g]` is element g on sample s.
        labels: Class, or group of numbers, of each sample.
        positions: Place of each sample's class among those of the data.
        wanted: What the network is trained to give at each point: the class, or standardised numbers
            `[m, n, t]`.
        indices: Position of each sample in the data.
    """

    points: Float[Tensor, "m n *s"]
    labels: Int64[Tensor, "m"]
    positions: Int64[Tensor, "m"]
    wanted: Shaped[Tensor, "m n *t"]
    indices: Int64[Tensor, "m"]

    def __repr__(self) -> str:
        return f"OrbitSamples({len(self.labels)} samples under {self.points.shape[1]} elements)"

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, at: Int64[Tensor, "k"]) -> OrbitSamples:
        """The samples at these positions."""
        return OrbitSamples(
            self.points[at], self.labels[at], self.positions[at], self.wanted[at], self.indices[at]
        )


@checked
@final
@dataclass(frozen=True, eq=False)
class ForecastSamples:
    """What networks are trained on and asked about.

    Attributes:
        known: Samples of the training data.
        new: Samples that no network is trained on; None where a class has too few to keep some apart.
        coverage: Elements of the known samples that the training data holds; None for the sweep.
        variance: Variance of the standardised numbers over known samples; 1 for classes.
        task: Classification or regression.
        columns: Outputs of the network that are about classes of the data, or all.
        notes: What was left out, in words.
        target_action: Group action on outputs; None where no element changes what is predicted.
        mask_classes: Classes of masks; 0 where targets are classes of samples or numbers.
    """

    known: OrbitSamples
    new: OrbitSamples | None
    coverage: Coverage | None
    variance: float
    task: PredictionTask
    columns: Int64[Tensor, "c"]
    notes: tuple[str, ...] = ()
    target_action: Action | None = None
    mask_classes: int = 0

    @property
    def classes(self) -> int:
        """How many classes, or groups of numbers, there are."""
        return int(self.known.positions.max()) + 1

    @property
    def order(self) -> int:
        """Elements of the group."""
        return self.known.points.shape[1]

    def per_class(self) -> tuple[int, int]:
        """The fewest and the most known samples of a class."""
        counts = self.known.positions.bincount()
        return int(counts.min()), int(counts.max())

    def scores(self, outputs: Float[Tensor, "p c"], wanted: Shaped[Tensor, "p *t"]) -> Float64[Tensor, "p"]:
        """1 where the largest output is that of the class, else 0; for numbers `1 - |f - y|^2 / V`; for masks
        the overlap."""
        if self.mask_classes:
            return mean_overlap(outputs, wanted, self.mask_classes)
        if not wanted.is_floating_point():
            return (self.columns[outputs[:, self.columns].argmax(1)] == wanted).double()
        return 1 - (outputs.double() - wanted.double()).square().sum(1) / self.variance

    def moved_back(self, outputs: Float[Tensor, "m n t"]) -> Float[Tensor, "m n t"]:
        """Outputs for samples under every element, each moved back by its element: `rho(g)^-1 f(g x)`."""
        if self.target_action is None:
            return outputs
        return self.target_action.act(self.target_action.group.inverses, outputs)


@explained
def forecast_samples(
    question: Question,
    seed: int,
    most: int | None = None,
    memory: int = MEMORY,
    seconds: float = math.inf,
    progress: Progress | None = None,
    measured: Callable[[str, Callable[[], float]], float] = lambda what, measure: measure(),
) -> ForecastSamples:
    """Known and new samples of a question, as many as memory and time allow, every one under every element.

    A class keeps a fifth of its samples apart as new ones, at most 100; none where the question has new
    samples of its own, or a class has fewer than five.

    Args:
        question: Data, action and coverage.
        seed: Seed for drawing new samples.
        most: Known samples of each class at most.
        memory: Bytes that all of them may take.
        seconds: Time that transforming them may take.
        progress: Called as `progress(words, samples done, samples)`.
        measured: Gives a time that a function measures, as `Trainings.measured` does.

    Raises:
        InputError: Orbits the action cannot make; memory that does not hold the fewest samples.
    """
    data = question.data
    known, new = _split(data, seed, question.new_data is None)
    source = question.new_data or data
    if question.new_data is not None:
        new = _first_of_each(source.labels, torch.arange(len(source)), MOST_NEW)
    if most is not None:
        known = _first_of_each(data.labels, known, most)
    known, new, notes = _fitting(question, source, known, new, memory)
    if math.isfinite(seconds):
        known, new, note = _timely(question, source, known, new, seconds, measured)
        notes += note
    total = len(known) + len(new)
    own = _orbits(question, data, known, partial_progress(progress, 0, total))
    others = None
    if len(new):
        others = _orbits(question, source, new, partial_progress(progress, len(known), total))
    targets = None if question.targets is None else question.targets.take(known)
    return ForecastSamples(
        own,
        others,
        None if question.coverage is None else question.coverage.take(known),
        1.0 if targets is None else targets.variance,
        question.task,
        data.labels.unique() if targets is None else torch.arange(question.outputs),
        tuple(notes),
        question.target_action,
        0 if targets is None else targets.classes,
    )


def _split(data: LabelledData, seed: int, apart: bool) -> tuple[Int64[Tensor, "k"], Int64[Tensor, "l"]]:
    """Positions of known and of new samples, each in random order within classes."""
    known, new = [], []
    for label in data.classes:
        members = (data.labels == label).nonzero()[:, 0]
        members = members[torch.randperm(len(members), generator=seeded(seed, label, 7))]
        enough = apart and len(members) >= FEWEST_SPLIT
        count = min(MOST_NEW, round(NEW_SHARE * len(members))) if enough else 0
        new.append(members[:count])
        known.append(members[count:])
    if any(len(one) == 0 for one in new):  # every class has new samples, or none has
        return torch.cat([torch.cat(pair) for pair in zip(new, known, strict=True)]), torch.arange(0)
    return torch.cat(known), torch.cat(new)


def _first_of_each(labels: Int64[Tensor, "m"], at: Int64[Tensor, "k"], most: int) -> Int64[Tensor, "l"]:
    """The first positions of each class, at most so many."""
    return torch.cat([at[labels[at] == label][:most] for label in labels[at].unique()])


@explained
def fewer_samples(samples: ForecastSamples, most: int, most_new: int) -> ForecastSamples:
    """The first samples of each class, at most so many known and so many new ones; 0 for no new ones."""
    at = _first_of_each(samples.known.labels, torch.arange(len(samples.known)), most)
    new = None
    if samples.new is not None and most_new:
        new = samples.new.take(_first_of_each(samples.new.labels, torch.arange(len(samples.new)), most_new))
    coverage = None if samples.coverage is None else samples.coverage.take(at)
    return replace(samples, known=samples.known.take(at), new=new, coverage=coverage)


def samples_text(fewest: int, most: int | None = None) -> str:
    """A number of samples, or a range, in words.

    >>> samples_text(1), samples_text(2, 5), samples_text(1600, 1600)
    ('1 sample', '2 to 5 samples', '1,600 samples')
    """
    count = f"{fewest:,}" if most is None or fewest == most else f"{fewest:,} to {most:,}"
    return f"{count} sample" + ("" if count == "1" else "s")


def _fitting(
    question: Question,
    source: LabelledData,
    known: Int64[Tensor, "k"],
    new: Int64[Tensor, "l"],
    memory: int,
) -> tuple[Int64[Tensor, "k2"], Int64[Tensor, "l2"], list[str]]:
    """Samples that fit some memory under every element, and a note where those are not all."""
    labels, one = question.data.labels, question.task.words.one
    size = 4 * math.prod(question.shape) * question.group.order * len(question.data.classes)
    own = int(labels[known].bincount().max())
    fresh = int(source.labels[new].bincount().max()) if len(new) else 0
    fits, fewest = memory // size, min(own + fresh, 3 if fresh else 2)
    if own + fresh <= fits:
        return known, new, []
    under = f"under {question.group.order} elements take"
    if fits < fewest:
        raise InputError(
            f"memory: {samples_text(fewest)} of each {one} {under} {byte_text(fewest * size)}, got "
            f"{byte_text(memory)} for samples, a third of the memory; allow more (--memory), or take a "
            "smaller group."
        )
    fresh = min(fresh, max(1, round(NEW_SHARE * fits))) if fresh else 0
    own = min(own, fits - fresh)
    used = f"{samples_text(own)} of each {one}" + (f" and {fresh} new" if fresh else "")
    note = (
        f"At most {used} are used, which {under} {byte_text((own + fresh) * size)}; more memory (--memory) "
        "uses more."
    )
    chosen = _first_of_each(labels, known, own)
    return chosen, _first_of_each(source.labels, new, fresh) if fresh else new, [note]


def _timely(
    question: Question,
    source: LabelledData,
    known: Int64[Tensor, "k"],
    new: Int64[Tensor, "l"],
    seconds: float,
    measured: Callable[[str, Callable[[], float]], float],
) -> tuple[Int64[Tensor, "k2"], Int64[Tensor, "l2"], list[str]]:
    """Samples whose transformation takes no more than some time, and a note where those are not all."""
    few, many = (known[:count] for count in TIMED)

    def transformed(at: Int64[Tensor, "j"]) -> float:
        start = time.perf_counter()
        orbit_points(question, question.data, at)
        return time.perf_counter() - start

    def sample_seconds() -> float:
        transformed(few[:1])  # the first call takes longer
        least = transformed(few)
        if least > SLOW or len(many) == len(few):
            return least / len(few)
        seconds = transformed(many)
        return (seconds - least) / (len(many) - len(few)) if seconds > least else seconds / len(many)

    each = measured("transforming a sample", sample_seconds)
    total = each * (len(known) + len(new))
    if total <= seconds:
        return known, new, []
    per_class = max(3, int(seconds / each) // len(question.data.classes))
    fresh = max(1, round(NEW_SHARE * per_class)) if len(new) else 0
    known = _first_of_each(question.data.labels, known, per_class - fresh)
    new = _first_of_each(source.labels, new, fresh) if fresh else new
    note = (
        f"At most {samples_text(per_class - fresh)} of each {question.task.words.one} and {fresh} new are "
        f"used: transforming all of them under {question.group.order} elements would take about {total:.2g} "
        "s of the budget; a larger budget or a smaller group uses more."
    )
    return known, new, [note]


def orbit_points(
    question: Question,
    data: LabelledData,
    at: Int64[Tensor, "k"],
    dtype: torch.dtype | None = None,
    progress: Progress | None = None,
) -> Float[Tensor, "k n *s"]:
    """Samples at these positions of the question's data, or of its new data, under every element.

    Numbers are those of the data's own type, or of `dtype`.
    """
    fresh, pieces, done = data is not question.data, [], 0
    for piece in at.split(max(1, PIECE // question.group.order)):
        pieces.append(sample_points(question, data.take(piece), fresh)[1].to(dtype or data.x.dtype))
        done += len(piece)
        if progress is not None:
            progress("transforming samples", done, len(at))
    return torch.cat(pieces)


def _orbits(
    question: Question, data: LabelledData, at: Int64[Tensor, "k"], progress: Progress | None
) -> OrbitSamples:
    points = orbit_points(question, data, at, torch.float32, progress)
    labels = data.labels[at]
    positions = torch.searchsorted(question.data.labels.unique(), labels)
    order, targets = question.group.order, question.targets
    if targets is None:
        return OrbitSamples(points, labels, positions, labels[:, None].expand(-1, order), at)
    own = targets.take(at)
    if own.moves:
        flat, identity = points.flatten(2), question.group.identity
        fixing = fixing_elements(flat, flat[:, identity], question.group, COINCIDE)[0]
        own = kept_targets(question, own, fixing, at)
    # in double where they vary: regression refuses targets that differ where points coincide
    wanted = own.standardised if own.moves else own.standardised.float().expand(-1, order, -1)
    return OrbitSamples(points, labels, positions, wanted, at)
