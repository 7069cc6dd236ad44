"""A first answer on bundled data: which of two networks will read a digit in a rotation it has not seen?

The digits 0 to 4 in eight rotations each, asked of a fully connected network and of one that averages over
positions: forecast before training, then both are trained and the forecast is checked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from symscope.data import mnist_sample
from symscope.forecasting import Forecast, Training, forecast
from symscope.numerics import Progress
from symscope.training import Optimiser

Stage = Callable[[str, str], object]


@final
@dataclass(frozen=True)
class Demonstration:
    """What the demo asks; small enough for a minute and a half on two cores.

    Attributes:
        classes: The digits.
        action: Group and action.
        per_class: Items of each class in one draw.
        draws: Draws of items, for the interval.
        networks: For each network by name, how it is trained. Networks that average over positions learn
            slowly: their rates are as high as still converges, so that they know what they were shown.
        seed: All randomness follows from it.
    """

    classes: tuple[int, ...] = (0, 1, 2, 3, 4)
    action: str = "C8 rotation"
    per_class: int = 4
    draws: int = 3
    networks: tuple[tuple[str, Training], ...] = (
        ("mlp", Training(epochs=25, sets=5)),
        (
            "conv-gap",
            Training(
                epochs=100,
                batch=16,
                optimiser=Optimiser("adam", 5e-3),
                other=Optimiser("adam", 1e-2),
                sets=5,
            ),
        ),
    )
    seed: int = 0


DEMO = Demonstration()


def demo_forecasts(
    settings: Demonstration = DEMO, *, stage: Stage | None = None, progress: Progress | None = None
) -> list[Forecast]:
    """The demo's forecasts, each with its check.

    Args:
        settings: What is asked.
        stage: Called as `stage(network, words)` before each part.
        progress: Called as `progress(words with the loss, epochs done, epochs in all)` while networks train.

    Returns:
        One for each network, in the order of the settings.
    """
    say = stage or (lambda name, words: None)
    digits = mnist_sample().of_classes(*settings.classes)

    def asked(name: str, training: Training) -> Forecast:
        return forecast(
            name,
            digits,
            settings.action,
            per_class=settings.per_class,
            draws=settings.draws,
            train=training,
            seed=settings.seed,
            stage=lambda words: say(name, words),
            progress=progress,
        )

    return [asked(name, training) for name, training in settings.networks]
