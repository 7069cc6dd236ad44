"""A forecast: what was asked, what is predicted, what training gave, and what to do."""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.errors import InputError
from symscope.forecasting._check import TrainingCheck
from symscope.forecasting._equivariance import Equivariance
from symscope.forecasting._full_kernel import kernel_discrepancy
from symscope.forecasting._kernel_prediction import KernelPrediction
from symscope.forecasting._options import ForecastOptions
from symscope.forecasting._pilot import LEARNED, PilotForecast
from symscope.forecasting._prediction_task import Z_975
from symscope.forecasting._price_list import Advice, cheapest_ways
from symscope.forecasting._question import Question
from symscope.forecasting._sample_split import samples_text
from symscope.forecasting._task_wording import interval_words, target_percent
from symscope.networks import UserModel
from symscope.numerics import write_whole
from symscope.report import figure_bytes, write_page
from symscope.training import StepPlan

if TYPE_CHECKING:
    import pandas as pd


@final
@dataclass(frozen=True, eq=False, repr=False)
class Forecast:
    """Whether a network will generalise to transformations of a class that it has not seen.

    For regression, classes are groups of samples by their numbers, lowest first, and every accuracy is the
    share of the numbers' variation that is explained, `1 - mean |f - y|^2 / variance`: 1 is perfect, 0 as
    good as predicting the mean, below 0 worse.

    Attributes:
        question: What was asked: data, action, coverage, target.
        model: The network.
        options: How it was computed; `per_class` is the number that the kernel used.
        samples: Fewest and most samples of a class that networks are trained on.
        training: The training that is forecast.
        equivariance: Equivariance of the network at initialisation.
        prediction: What the architecture alone predicts; None where it was not asked for or not affordable.
        pilot: What pilot trainings predict; None without.
        check: What whole trainings gave; None if the forecast was not checked.
        cautions: Warnings: a kernel that is not invariant, points that coincide, image size, padding, stride.
        advice: The price list, what reaches the target first.
        combinations: Two changes at a time, where the trainings of the price list show them.
        notes: What was left out or made smaller.
        seconds: Time it took.
        variance: Variance of standardised numbers over the training samples; 1 for classes.
    """

    question: Question
    model: UserModel
    options: ForecastOptions
    samples: tuple[int, int]
    training: StepPlan
    equivariance: Equivariance
    prediction: KernelPrediction | None = None
    pilot: PilotForecast | None = None
    check: TrainingCheck | None = None
    cautions: tuple[str, ...] = ()
    advice: tuple[Advice, ...] = ()
    combinations: tuple[Advice, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    variance: float = 1.0

    @property
    def error(self) -> float | None:
        """Predicted root mean square error in the targets' units; for maps that at a position.

        None for classes and masks, and for several numbers that each have a scale of their own.
        """
        return self._in_units(self.accuracy)

    @property
    def trained_error(self) -> float | None:
        """The same of the first trained networks; None if the forecast was not checked."""
        return None if self.check is None else self._in_units(self.check.accuracy)

    def _in_units(self, explained: float) -> float | None:
        """The root mean square error of a share of the variation explained."""
        targets = self.question.targets
        if targets is None or targets.classes or not (targets.moves or len(targets.scale) == 1):
            return None
        return targets.typical_error(float(targets.scale[0]) ** 2 * (1 - explained) * self.variance)

    @property
    def method(self) -> str:
        """Where the numbers come from: "pilot" or "kernel"."""
        return "kernel" if self.pilot is None else "pilot"

    @property
    def about_new(self) -> bool:
        """Whether accuracies are those of new samples; else of samples seen in other transformations."""
        if self.pilot is not None:
            return self.pilot.new is not None
        return self.prediction is not None and self.prediction.about_new

    @property
    def class_accuracy(self) -> Float[Tensor, "c"]:
        """Predicted accuracy of each class at what the training data lacks of it."""
        if self.pilot is not None:
            return self.pilot.headline.class_score
        assert self.prediction is not None
        return self.prediction.class_score

    @property
    def class_interval(self) -> Float[Tensor, "c 2"]:
        """95 % interval of each class."""
        if self.pilot is not None:
            return torch.stack([self.pilot.headline.class_low, self.pilot.headline.class_high], 1)
        asked = (~self.class_accuracy.isnan()).tolist()
        ends = [self._kernel_interval([c]) if there else (math.nan,) * 2 for c, there in enumerate(asked)]
        return torch.tensor(ends, dtype=torch.float64)

    @property
    def accuracy(self) -> float:
        """Predicted accuracy, mean of `class_accuracy`."""
        return float(self.class_accuracy.nanmean())

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of `accuracy`, for a training of a user."""
        if self.pilot is not None:
            return self.pilot.headline.interval
        return self._kernel_interval(slice(None))

    def _kernel_interval(self, classes: slice | list[int]) -> tuple[float, float]:
        """How resamples scatter, and what a kernel does not know of training."""
        prediction = self.prediction
        assert prediction is not None
        assert self.options.per_class is not None
        accuracy, spread = prediction.class_accuracy[:, classes], prediction.class_spread[:, classes]
        ends = self.question.task.interval(accuracy, spread, self.options.per_class)
        middle, unknown = float(accuracy.nanmean()), Z_975 * kernel_discrepancy(self.samples[1])
        reach = [math.hypot(middle - end, unknown) for end in ends]
        score = float(self.class_accuracy[classes].nanmean())
        low, high = score - reach[0], min(1.0, score + reach[1])
        return (max(0.0, low) if self.question.task.bounded else low), high

    @property
    def training_failure(self) -> str | None:
        """What to know where a trained network has not learned its own training data; None where it has."""
        if self.check is None or not self.check.underfit_optimisers:
            return None
        return (
            f"With {' and '.join(self.check.underfit_optimisers)} the network has not learned its training "
            "data, so that the comparison means little: train for more steps or with another learning rate."
        )

    @property
    def difference(self) -> float:
        """Mean over classes of |predicted - trained|, of the same samples; NaN if it was not checked."""
        if self.check is None:
            return math.nan
        trained = self.check.class_accuracy if self.about_new else self.check.known_accuracy
        return float((self.class_accuracy - trained).abs().nanmean())

    @property
    def predicted_answer(self) -> str:
        """Whether the forecast reaches the target: "Yes", "No"; "Borderline" where its interval holds it."""
        if self.accuracy >= self.question.target:
            return "Yes"
        return "No" if max(self.interval[1], self.accuracy) < self.question.target else "Borderline"

    @property
    def answer(self) -> str:
        """The answer of whole trainings that have learned their data, else the predicted one.

        "Borderline" where one of two trainings reaches the target.
        """
        if self.check is None or self.training_failure is not None:
            return self.predicted_answer
        both = (self.check.accuracy, float(self.check.second_accuracy.nanmean()))
        reached = [one >= self.question.target for one in both]
        return "Yes" if all(reached) else "Borderline" if any(reached) else "No"

    @property
    def verdict(self) -> str:
        """The answer in one sentence.

        >>> from symscope.data import mnist_sample
        >>> from symscope.forecasting import ForecastOptions, forecast
        >>> few = ForecastOptions(method="kernel", per_class=2, resamples=1)
        >>> forecast("mlp", mnist_sample(), "C4", options=few).verdict.split(":")[0]
        'No'
        """
        question, words = self.question, self.question.task.words
        unseen = f"unseen transformations ({question.group_words}, {question.action.name})"
        what = unseen
        if question.coverage is not None:
            seen = "seen: " if question.coverage.names_seen else ""
            what = f"what is missing ({seen}{question.coverage.text})"
        whose = "new samples at " if self.about_new else "its own samples at "
        does = words.prediction(self.accuracy, whose + what)
        error = "" if self.error is None else f", error {self.error:.3g} in units of the targets"
        text = (
            f"{self.answer}: {self.model.name} is predicted to {does}; 95 % interval "
            f"{interval_words(self.interval)}, target {target_percent(question.target)}{error}; {self.basis}"
        )
        if self.check is not None:
            text += (
                f"; trained, it {words.outcome(self.check.accuracy)}, noise floor "
                f"{self.check.noise_floor:.0%} per {words.one}"
            )
            if self.training_failure is not None:
                text += ", but it has not learned its training data"
            elif self.answer != self.predicted_answer:
                text += ", and the trainings decide the answer"
        if self.pilot is not None and self.pilot.fitted < LEARNED:
            text += "; the pilot has not yet learned what it was shown"
        return text + "."

    @property
    def ways_to_target(self) -> str:
        """The cheapest ways to the target in words; empty without a price list.

        Where trainings decide the answer, "nothing" is a way if they reach the target.
        """
        if not self.advice:
            return ""
        if self.answer == self.predicted_answer:
            return cheapest_ways(self.advice, self.combinations, self.question.target)
        assert self.check is not None
        trained = f"trained as it is, it reaches {self.check.accuracy:.3f}"
        if self.answer == "Yes":
            return f"Nothing is needed to reach {self.question.target_text}: {trained}."
        others = [one for one in self.advice if one.kind != "nothing"]
        ways = cheapest_ways(others, self.combinations, self.question.target) if others else ""
        return f"T{trained[1:]}. {ways}".strip()

    @property
    def basis(self) -> str:
        """Where the number comes from, in words."""
        count, per = samples_text(*self.samples), f"per {self.question.task.words.one}"
        if self.pilot is None:
            if self.prediction is None or self.prediction.full is None:
                assert self.options.per_class is not None
                count = samples_text(self.options.per_class)
            else:
                count = samples_text(*self.prediction.full.samples)
            return f"from the architecture alone, {count} {per}"
        plan = self.pilot.plan
        share = "less than 1%" if plan.cost < 0.01 else f"{plan.cost:.0%}"
        replaced = "training it replaces" if plan.replaced == 1 else f"{plan.replaced} trainings it replaces"
        several = "a whole training" if plan.repeats == 1 else f"{plan.repeats} whole trainings"
        whole = several if plan.lengths[-1] == plan.full else f"as much as the {replaced}"
        cost = f"{share} of the {replaced}" if plan.cost < 1 else whole
        costs = " and ".join(f"{length:,}" for length in plan.lengths)
        if plan.lengths[-1] == plan.full:  # what the shorter one adds is not in the forecast
            costs = f"{plan.full:,}"
        trained = f"{costs} of {plan.full:,} steps on {count} {per}"
        return f"from pilot trainings at the cost of {trained}, {cost}"

    def __repr__(self) -> str:
        low, high = self.interval
        acting = f"{self.question.group.name} {self.question.action.name}"
        trained = "" if self.check is None else f", trained {self.check.accuracy:.2f}"
        return (
            f"Forecast({self.model.name}, {acting}: {self.answer}, {self.question.task.words.key} "
            f"{self.accuracy:.2f} [{low:.2f}, {high:.2f}]{trained}, target {self.question.target_text})"
        )

    def _repr_html_(self) -> str:
        """The verdict, the table by class and the advice, for a notebook."""
        from symscope.forecasting._forecast_summary import forecast_fragment

        return forecast_fragment(self)

    def plot(self) -> Any:
        """A Matplotlib figure: predicted accuracy by class with its interval, and what training gave."""
        from symscope.forecasting._forecast_figures import classes_figure

        figure = classes_figure(self)
        figure._repr_png_ = partial(figure_bytes, figure, "png")  # shown in a notebook without pyplot
        return figure

    def to_frame(self) -> pd.DataFrame:
        """A row for each class: predicted accuracy, its 95 % interval, and what training gave."""
        from symscope.forecasting._forecast_summary import class_frame

        return class_frame(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page (.html) or the numbers for programs (.json, as `to_dict`).

        Raises:
            InputError: Another ending, or a folder that is not there or cannot be written.
        """
        from symscope.forecasting._forecast_page import forecast_page

        file = Path(path)
        if file.suffix == ".html":
            write_page(forecast_page(self), file)
        elif file.suffix == ".json":
            data = json.dumps(self.to_dict(), indent=1, allow_nan=False, ensure_ascii=False)
            write_whole(data + "\n", file)
        else:
            raise InputError(f"{file}: expected a name that ends in .html (the page) or .json (the numbers).")

    def to_dict(self) -> dict[str, Any]:
        """Everything a program may want, in plain lists and numbers; NaN becomes None.

        For regression, keys say "explained" where they say "accuracy" for classes, and "group" for "class".
        """
        from symscope.forecasting._forecast_data import forecast_data

        return forecast_data(self)
