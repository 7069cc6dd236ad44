"""What a trained network answers: its scores by class and element, on known and on new samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor, nn

from symscope.forecasting._designs import Design
from symscope.forecasting._refitted_output import PROBED, refit_points, refit_seconds, refitted_output
from symscope.forecasting._sample_split import ForecastSamples, OrbitSamples
from symscope.networks import UserModel, arrange_inputs
from symscope.numerics import Progress, checked, explained, may_be_infinite, seeded
from symscope.training import StepPlan, module_outputs, seconds_per_step, train_steps

ASKED_SAMPLES = (200, 50, 25, 12, 4, 2)  # of a class, asked at what they lack: fewer where asking takes long
COVERED_SAMPLES = 32  # samples of a class that are asked at what it has


@checked
@final
@dataclass(frozen=True, eq=False)
class ScoreTable:
    """Mean scores by class and element: accuracy, or the share of the numbers' variation explained.

    Attributes:
        total: Sum of the scores of each cell.
        count: Points in each cell.
    """

    total: Float64[Tensor, "c n"]
    count: Int64[Tensor, "c n"]

    @property
    def mean(self) -> Float64[Tensor, "c n"]:
        """NaN where there is no point."""
        return self.total / self.count

    def __repr__(self) -> str:
        return f"ScoreTable(mean {float(self.total.sum() / self.count.sum()):.2f} of {int(self.count.sum())})"

    def __add__(self, other: ScoreTable) -> ScoreTable:
        return ScoreTable(self.total + other.total, self.count + other.count)

    def at(self, cells: Bool[Tensor, "c n"]) -> ScoreTable:
        """The same in these cells alone."""
        return ScoreTable(self.total * cells, self.count * cells)


@final
@dataclass(frozen=True, eq=False)
class TablePrediction:
    """Predicted scores by class and element, and by class.

    Attributes:
        table: Score in each cell; NaN where it was not asked.
        class_score: Mean over the cells of each class; NaN where none was asked.
        class_low: Lower end of the 95 % interval of each class.
        class_high: Upper end.
        interval: 95 % interval of the mean over classes.
    """

    table: Float64[Tensor, "c n"]
    class_score: Float64[Tensor, "c"]
    class_low: Float64[Tensor, "c"]
    class_high: Float64[Tensor, "c"]
    interval: tuple[float, float]

    def __repr__(self) -> str:
        return f"TablePrediction({self.mean:.2f} [{self.interval[0]:.2f}, {self.interval[1]:.2f}])"

    @property
    def mean(self) -> float:
        """Mean over classes."""
        return float(self.class_score.nanmean())


@final
@dataclass(frozen=True, eq=False)
class MissingCase:
    """One sample at an element that the training data lacks, and what a trained network makes of it.

    Attributes:
        sample: Position among the new samples, or among the known ones where there are no new ones.
        point: Sample as the network sees it.
        position: Place of its class among those of the data.
        element: Element that was applied.
        output: Outputs of the network that are about classes, or standardised numbers.
        score: 1 or 0; for numbers the share explained.
        margin: How sure it is: output of its class minus the largest other; for numbers the score.
        wanted: Standardised numbers it should give; None for classes.
    """

    sample: int
    point: Float[Tensor, "*s"]
    position: int
    element: int
    output: Float[Tensor, "c"]
    score: float
    margin: float
    wanted: Float[Tensor, "t"] | None

    def __repr__(self) -> str:
        return f"MissingCase(class at {self.position}, element {self.element}, score {self.score:.2f})"


@final
@dataclass(frozen=True, eq=False)
class TrainedAnswer:
    """Scores of one trained network, or of several together.

    Attributes:
        known: Known samples at points that the training data lacks.
        new: New samples at elements that their class lacks; empty without new samples.
        covered: New samples (known ones, where there are none) at elements that their class has.
        averaged: New samples (or known ones) where outputs are averaged over the group, in the cells that
            are asked of their class.
        fit: Known samples at points of the training data.
        cases: Some missing cases that fail and some that work, the surest of each class.
        asymmetry: Distance of outputs from their mean over the group, over the norm of that mean.
        steps: Steps of one training.
        trainings: How many networks.
        weights: Trained weights by name, of the first network; None where they were not asked for.
        plain: Whether a training with the batch and learning rate of a whole one took the place of a
            compressed one that diverged, at least once.
    """

    known: ScoreTable
    new: ScoreTable
    covered: ScoreTable
    averaged: ScoreTable
    fit: ScoreTable
    cases: tuple[MissingCase, ...]
    asymmetry: float
    steps: int
    trainings: int = 1
    weights: dict[str, Tensor] | None = None
    plain: bool = False

    def __add__(self, other: TrainedAnswer) -> TrainedAnswer:
        return TrainedAnswer(
            self.known + other.known,
            self.new + other.new,
            self.covered + other.covered,
            self.averaged + other.averaged,
            self.fit + other.fit,
            self.cases + other.cases,
            max(self.asymmetry, other.asymmetry),
            self.steps,
            self.trainings + other.trainings,
            self.weights,
            self.plain or other.plain,
        )

    def __repr__(self) -> str:
        return f"TrainedAnswer({self.headline}, {self.trainings} of {self.steps} steps)"

    @property
    def headline(self) -> ScoreTable:
        """New samples where there are some, else known ones."""
        return self.new if bool(self.new.count.any()) else self.known

    @property
    def fitted(self) -> float:
        """Mean score at points of the training data."""
        return float(self.fit.total.sum() / self.fit.count.sum())


@checked
@final
@dataclass(frozen=True, eq=False)
class DesignTrainer:
    """Trains a network for designs, on one device.

    Attributes:
        model: Network.
        samples: Known and new samples.
        device: Device to train on.
        asked: Samples of a class, known or new, that are asked at what they lack, at most.
    """

    model: UserModel
    samples: ForecastSamples
    device: torch.device
    asked: int = ASKED_SAMPLES[0]

    def step_seconds(self, design: Design, plan: StepPlan) -> float:
        """Seconds of one step, measured."""
        points, wanted = self._training_data()
        at = design.seen.flatten().nonzero()[:, 0].to(self.device)
        return seconds_per_step(self._fresh(0), points, wanted, at, plan, self.samples.mask_classes)

    def asked_points(self, design: Design) -> int:
        """About how many points a trained network is asked at."""
        samples, cells = self.samples, int(design.missing.sum())
        most = samples.per_class()[1]
        fresh = 0 if samples.new is None else int(samples.new.positions.bincount().max())
        whole = min(self._few, most) + 2 * min(self._few, fresh or most)
        lacking = min(self.asked, most) + min(self.asked, fresh)
        return lacking * cells + whole * samples.classes * samples.order

    @property
    def _few(self) -> int:
        """Samples of a class that are asked at what it has."""
        return min(COVERED_SAMPLES, self.asked)

    def train(self, design: Design, plan: StepPlan, seed: int, progress: Progress | None = None) -> nn.Module:
        """A fresh network, trained on what a design sees."""
        module, points = self._fresh(seed), self._training_data()
        at = design.seen.flatten().nonzero()[:, 0].to(self.device)
        train_steps(module, *points, at, plan, seed, progress, mask_classes=self.samples.mask_classes)
        return module

    def refit_points(self, design: Design) -> int:
        """Points of what a design sees that a last layer is fitted to, at most; none but for classes."""
        if self.samples.task.kind != "classification":
            return 0
        return refit_points(*self._untrained, int(design.seen.sum()), len(self.samples.columns))

    def refit_seconds(self, points: int) -> float:
        """Seconds that fitting a last layer to so many points takes, measured."""
        return refit_seconds(*self._untrained, points, len(self.samples.columns))

    @property
    def _untrained(self) -> tuple[nn.Module, Tensor]:
        """A fresh network in evaluation mode, and a few inputs."""
        few = arrange_inputs(self.samples.known.points[:PROBED, 0], self.model.layout)
        return self._fresh(0).eval(), few.to(self.device)

    def refit(self, module: nn.Module, design: Design, points: int, seed: int) -> nn.Module:
        """A trained classifier whose last layer is fitted to so many points of what a design sees."""
        known, seen = self.samples.known, design.seen.flatten().nonzero()[:, 0]
        at = seen[torch.randperm(len(seen), generator=seeded(seed, 83))[:points]]
        inputs = arrange_inputs(known.points.flatten(0, 1)[at], self.model.layout).to(self.device)
        classes = known.positions[at // self.samples.order]
        return refitted_output(module, inputs, classes, self.samples.columns, len(at) < len(seen))

    def evaluate(
        self, module: nn.Module, design: Design, steps: int, *, keeps_weights: bool = False
    ) -> TrainedAnswer:
        """The scores of a trained module, and its weights if they are wanted."""
        known, new = self.samples.known, self.samples.new
        lacks = design.missing[known.positions]  # cells that are asked of a sample's class
        few, more = (first_of_each(known.positions, most) for most in (self._few, self.asked))
        missing = ~design.seen & more[:, None]
        fit = design.seen & few[:, None]
        tables = self._tables(module, known, [missing, fit, fit & ~lacks])
        if new is None:
            nothing = torch.zeros_like(tables[0].count)
            asked, covered = ScoreTable(nothing.double(), nothing), tables[2]
        else:
            more = first_of_each(new.positions, self.asked)
            lacking = design.missing[new.positions]
            few = first_of_each(new.positions, self._few)
            asked, covered = self._tables(module, new, [lacking & more[:, None], ~lacking & few[:, None]])
        asked_of = known if new is None else new
        averaged, asymmetry = self._averaged(module, asked_of, design)
        cases = self._cases(module, asked_of, missing if new is None else lacking)
        weights = {name: one.detach().cpu() for name, one in module.state_dict().items()}
        kept = weights if keeps_weights else None
        return TrainedAnswer(
            tables[0], asked, covered, averaged, tables[1], cases, asymmetry, steps, weights=kept
        )

    def _cases(
        self, module: nn.Module, orbit: OrbitSamples, mask: Bool[Tensor, "m n"]
    ) -> tuple[MissingCase, ...]:
        """For each class the surest failure and the surest success among some missing points."""
        at = (mask & first_of_each(orbit.positions, self._few)[:, None]).nonzero()
        points = orbit.points[at[:, 0], at[:, 1]]
        outputs = self._outputs(module, points)
        wanted, positions = orbit.wanted[at[:, 0], at[:, 1]], orbit.positions[at[:, 0]]
        scores, margins = self.samples.scores(outputs, wanted), None
        if not wanted.is_floating_point():
            outputs = outputs[:, self.samples.columns]
            own = outputs.gather(1, positions[:, None])[:, 0]
            margins = own - outputs.scatter(1, positions[:, None], float("-inf")).amax(1)
        margins = scores if margins is None else margins
        result = []
        for position in positions.unique():
            inside = (positions == position).nonzero()[:, 0]
            order = inside[margins[inside].argsort()]
            for k in dict.fromkeys([int(order[0]), int(order[-1])]):
                own_wanted = wanted[k] if wanted.is_floating_point() else None
                result.append(
                    MissingCase(
                        int(at[k, 0]),
                        points[k],
                        int(position),
                        int(at[k, 1]),
                        outputs[k],
                        float(scores[k]),
                        float(margins[k]),
                        own_wanted,
                    )
                )
        return tuple(result)

    def _averaged(self, module: nn.Module, orbit: OrbitSamples, design: Design) -> tuple[ScoreTable, float]:
        """Scores of outputs averaged over the group, `mean_g rho(g)^-1 f(g x)`; and their asymmetry.

        Probabilities are averaged for classes and masks; numbers that elements change are moved back first.
        """
        chosen = first_of_each(orbit.positions, self._few).nonzero()[:, 0]
        outputs = self._outputs(module, orbit.points[chosen].flatten(0, 1))
        rows = (len(chosen), self.samples.order)
        orbits = self.samples.moved_back(outputs.double().unflatten(0, rows))
        middle = orbits.mean(1, keepdim=True)
        norm = float(middle.norm(dim=-1).mean()) or 1.0
        asymmetry = float((orbits - middle).norm(dim=-1).mean()) / norm
        if self.samples.task.kind == "classification":
            outputs = outputs[:, self.samples.columns].softmax(1)
            outputs = _spread_columns(outputs, self.samples.columns)
            mean = outputs.unflatten(0, rows).mean(1)
        else:
            mean = middle[:, 0].float()
        scores = self.samples.scores(mean, orbit.wanted[chosen, 0])
        cells = design.missing[orbit.positions[chosen]]
        total = torch.zeros(design.missing.shape, dtype=torch.float64)
        count = torch.zeros_like(total)
        total.index_add_(0, orbit.positions[chosen], scores[:, None] * cells)
        count.index_add_(0, orbit.positions[chosen], cells.double())
        return ScoreTable(total, count.long()), asymmetry

    def _tables(
        self, module: nn.Module, orbit: OrbitSamples, masks: Sequence[Bool[Tensor, "m n"]]
    ) -> list[ScoreTable]:
        """Score tables over masks of points; a point in several masks is asked once."""
        classes, order = self.samples.classes, self.samples.order
        union = torch.stack(list(masks)).any(0)
        at = union.flatten().nonzero()[:, 0]
        owner, element = at // order, at % order
        outputs = self._outputs(module, orbit.points.flatten(0, 1)[at])
        scores = self.samples.scores(outputs, orbit.wanted[owner, element])
        cells = orbit.positions[owner] * order + element
        result = []
        for mask in masks:
            inside = mask.flatten()[at]
            total = torch.zeros(classes * order, dtype=torch.float64).index_add(
                0, cells[inside], scores[inside]
            )
            count = cells[inside].bincount(minlength=classes * order)
            result.append(ScoreTable(total.reshape(classes, order), count.reshape(classes, order)))
        return result

    def _outputs(self, module: nn.Module, points: Float[Tensor, "p *s"]) -> Float[Tensor, "p c"]:
        """Outputs at points; for masks the probabilities of the classes at each position."""
        inputs = arrange_inputs(points, self.model.layout).to(self.device)
        outputs, classes = module_outputs(module, inputs), self.samples.mask_classes
        return outputs.unflatten(1, (classes, -1)).softmax(1).flatten(1) if classes else outputs

    def _fresh(self, seed: int) -> nn.Module:
        return self.model.builder(seed).to(self.device, torch.float32)

    def _training_data(self) -> tuple[Tensor, Tensor]:
        known = self.samples.known
        points = arrange_inputs(known.points.flatten(0, 1), self.model.layout).contiguous()
        wanted = known.wanted.flatten(0, 1)
        wanted = wanted.float() if wanted.is_floating_point() else wanted
        return points.to(self.device), wanted.to(self.device)


@may_be_infinite
@explained
def class_scores(table: ScoreTable) -> Float64[Tensor, "c"]:
    """The mean over the cells of each class; NaN for classes without any."""
    asked = table.count > 0
    return torch.where(asked, table.mean, 0.0).sum(1) / asked.sum(1)


def grouped_cells(table: ScoreTable) -> ScoreTable:
    """The cells of each class taken together."""
    return ScoreTable(table.total.sum(1, keepdim=True), table.count.sum(1, keepdim=True))


def _spread_columns(values: Float[Tensor, "p k"], columns: Int64[Tensor, "k"]) -> Float[Tensor, "p c"]:
    """Values at the network's outputs that are about classes; -1 elsewhere, below any share."""
    result = values.new_full((len(values), int(columns.max()) + 1), -1.0)
    result[:, columns] = values
    return result


def first_of_each(positions: Int64[Tensor, "m"], most: int) -> Bool[Tensor, "m"]:
    """Whether a sample is among the first so many of its class."""
    order = positions.argsort(stable=True)
    counts = positions.bincount()
    starts = counts.cumsum(0) - counts
    place = torch.empty_like(positions)
    place[order] = torch.arange(len(positions)) - starts[positions[order]]
    return place < most
