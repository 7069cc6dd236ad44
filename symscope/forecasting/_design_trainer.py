"""A network of a forecast: trained on what a design sees, and asked about what it lacks."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn

from symscope.forecasting._asked_points import first_of_each, spread_points
from symscope.forecasting._designs import Design, class_table
from symscope.forecasting._feature_neighbours import COMPARED, outputs_and_neighbours
from symscope.forecasting._point_answers import PointAnswers
from symscope.forecasting._refitted_output import (
    PROBED,
    RefittedOutput,
    refit_points,
    refit_seconds,
    refitted_output,
    untrained_features,
)
from symscope.forecasting._sample_split import ForecastSamples, OrbitSamples
from symscope.forecasting._trained_answer import ScoreTable, TrainedAnswer
from symscope.networks import UserModel, arrange_inputs
from symscope.numerics import Progress, checked, seeded
from symscope.training import StepPlan, module_outputs, seconds_per_step, train_steps

# points of a class that are asked at what it lacks, at most: fewer where asking takes long
ASKED = (3200, 1600, 800, 400, 200, 100, 50, 25, 12, 6)
ASIDE = 4  # one in so many of these for whatever else is asked
MOST_ASIDE = 400
KNOWN_PARTS = 3  # what known samples are asked: at missing points, at those trained on, at covered ones
PASSED = 128  # points of a forward pass that is timed
SLOW = 0.1  # seconds of a pass from which on it is not followed by a longer one
AVERAGED = 32  # samples of a class whose outputs are averaged over the group, at most


@checked
@final
@dataclass(frozen=True, eq=False)
class DesignTrainer:
    """Trains a network for designs, on one device.

    Attributes:
        model: Network.
        samples: Known and new samples.
        device: Device to train on.
        asked: Points of a class that are asked at what it lacks, at most.
    """

    model: UserModel
    samples: ForecastSamples
    device: torch.device
    asked: int = ASKED[0]

    def step_seconds(self, design: Design, plan: StepPlan) -> float:
        """Seconds of one step, measured."""
        points, wanted = self._training_data()
        at = design.seen.flatten().nonzero()[:, 0].to(self.device)
        return seconds_per_step(self._fresh(0), points, wanted, at, plan, self.samples.mask_classes)

    def asked_seconds(self) -> float:
        """Seconds that asking about one more point takes, measured."""
        module, points = self._fresh(0).eval(), self._inputs(self.samples.known.points.flatten(0, 1)[:PASSED])
        compared = self.samples.task.kind == "classification" and self.samples.new is not None
        beside = None
        if compared:
            count = refit_points(module, points[:PROBED], COMPARED, len(self.samples.columns))
            beside = untrained_features(module, points, count)

        def passed(few: Tensor) -> float:
            start = time.perf_counter()
            if beside is None:
                module_outputs(module, few)
            else:
                outputs_and_neighbours(beside, few)
            return time.perf_counter() - start

        passed(points[:PROBED])  # the first call takes longer
        least = passed(points[:PROBED])
        slow = least > SLOW
        more = points[: 2 * PROBED] if slow else points
        seconds = min(passed(more) for _ in range(1 if slow else 2))
        return (seconds - least) / (len(more) - PROBED) if seconds > least else seconds / len(more)

    def asked_points(self, design: Design) -> int:
        """How many points a trained network is asked at."""
        asked = sum(
            int(class_table(mask, positions, self.samples.classes).sum(1).clamp(max=most).sum())
            for mask, positions, most in self._asked(design)
        )
        return asked + int(self._averaged_samples().sum()) * self.samples.order

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
        return self._fresh(0).eval(), self._inputs(self.samples.known.points[:PROBED, 0])

    def refit(self, module: nn.Module, design: Design, points: int, seed: int) -> RefittedOutput:
        """A trained classifier whose last layer is fitted to so many points of what a design sees."""
        known, seen = self.samples.known, design.seen.flatten().nonzero()[:, 0]
        at = seen[torch.randperm(len(seen), generator=seeded(seed, 83))[:points]]
        inputs = self._inputs(known.points.flatten(0, 1)[at])
        classes = known.positions[at // self.samples.order]
        return refitted_output(module, inputs, classes, self.samples.columns, len(at) < len(seen))

    def evaluate(
        self,
        module: nn.Module,
        design: Design,
        steps: int,
        *,
        beside: RefittedOutput | None = None,
        keeps_weights: bool = False,
    ) -> TrainedAnswer:
        """The scores of a trained module, and its weights if they are wanted.

        Args:
            module: Trained network.
            design: What it is asked about.
            steps: Steps of its training.
            beside: What its last layer was fitted to, whose neighbours new samples are compared with.
            keeps_weights: Whether the answer has its weights.
        """
        known, new = self.samples.known, self.samples.new
        masks = [spread_points(*one) for one in self._asked(design)]
        of_known, of_new = masks[:KNOWN_PARTS], masks[KNOWN_PARTS:]
        answers = self._answers(module, known, of_known)
        scores, asked_mask = answers.scores, of_known[0]
        of_missing, fit, covered = (answers.table(mask, scores) for mask in of_known)
        asked = answers.table(asked_mask, None)
        if new is not None:
            answers, asked_mask = self._answers(module, new, of_new, beside), of_new[0]
            scores = answers.scores
            asked, covered = (answers.table(mask, scores) for mask in of_new)
        averaged, asymmetry = self._averaged(module, known if new is None else new, design)
        weights = {name: one.detach().cpu() for name, one in module.state_dict().items()}
        kept = weights if keeps_weights else None
        return TrainedAnswer(
            of_missing,
            asked,
            covered,
            averaged,
            fit,
            near=answers.table(asked_mask, answers.near),
            sure=answers.table(asked_mask, answers.sure),
            cases=answers.cases(asked_mask),
            asymmetry=asymmetry,
            steps=steps,
            weights=kept,
        )

    @property
    def _aside(self) -> int:
        """Points of a class that are asked at what is not the main question."""
        return min(MOST_ASIDE, max(1, self.asked // ASIDE))

    def _asked(self, design: Design) -> list[tuple[Bool[Tensor, "m n"], Int64[Tensor, "m"], int]]:
        """Points that may be asked, the class of each sample, and how many of a class are asked.

        Known samples at what is missing, trained on, covered; then new ones at what is missing, covered.
        """
        known, new, aside = self.samples.known, self.samples.new, self._aside
        lacks = design.missing[known.positions]
        asked = [
            (~design.seen, known.positions, self.asked if new is None else aside),
            (design.seen, known.positions, aside),
            (design.seen & ~lacks, known.positions, aside if new is None else 0),
        ]
        if new is None:
            return asked
        lacks = design.missing[new.positions]
        return [*asked, (lacks, new.positions, self.asked), (~lacks, new.positions, aside)]

    def _averaged_samples(self) -> Bool[Tensor, "m"]:
        """New samples, or known ones, whose outputs are averaged over the group."""
        most = min(AVERAGED, max(2, self._aside // self.samples.order))
        return first_of_each((self.samples.new or self.samples.known).positions, most)

    def _averaged(self, module: nn.Module, orbit: OrbitSamples, design: Design) -> tuple[ScoreTable, float]:
        """Scores of outputs averaged over the group, `mean_g rho(g)^-1 f(g x)`; and their asymmetry.

        Probabilities are averaged for classes and masks; numbers that elements change are moved back first.
        """
        chosen = self._averaged_samples().nonzero()[:, 0]
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

    def _answers(
        self,
        module: nn.Module,
        orbit: OrbitSamples,
        masks: Sequence[Bool[Tensor, "m n"]],
        beside: RefittedOutput | None = None,
    ) -> PointAnswers:
        """What a network answers at the points of some masks, each asked once."""
        at = torch.stack(list(masks)).any(0).nonzero()
        points = orbit.points[at[:, 0], at[:, 1]]
        if beside is None:
            return PointAnswers(self.samples, orbit, at, self._outputs(module, points))
        outputs, neighbours = outputs_and_neighbours(beside, self._inputs(points))
        return PointAnswers(self.samples, orbit, at, outputs, neighbours)

    def _outputs(self, module: nn.Module, points: Float[Tensor, "p *s"]) -> Float[Tensor, "p c"]:
        """Outputs at points; for masks the probabilities of the classes at each position."""
        outputs, classes = module_outputs(module, self._inputs(points)), self.samples.mask_classes
        return outputs.unflatten(1, (classes, -1)).softmax(1).flatten(1) if classes else outputs

    def _inputs(self, points: Float[Tensor, "p *s"]) -> Float[Tensor, "p *t"]:
        """Points as the network takes them, on the device."""
        return arrange_inputs(points, self.model.layout).to(self.device)

    def _fresh(self, seed: int) -> nn.Module:
        return self.model.builder(seed).to(self.device, torch.float32)

    def _training_data(self) -> tuple[Tensor, Tensor]:
        known = self.samples.known
        points = arrange_inputs(known.points.flatten(0, 1), self.model.layout).contiguous()
        wanted = known.wanted.flatten(0, 1)
        wanted = wanted.float() if wanted.is_floating_point() else wanted
        return points.to(self.device), wanted.to(self.device)


def _spread_columns(values: Float[Tensor, "p k"], columns: Int64[Tensor, "k"]) -> Float[Tensor, "p c"]:
    """Values at the network's outputs that are about classes; -1 elsewhere, below any share."""
    result = values.new_full((len(values), int(columns.max()) + 1), -1.0)
    result[:, columns] = values
    return result
