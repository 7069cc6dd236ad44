"""What a network answers at single points, and the tables and cases that are made of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

from symscope.forecasting._sample_split import ForecastSamples, OrbitSamples
from symscope.forecasting._trained_answer import MissingCase, ScoreTable


@final
@dataclass(frozen=True, eq=False)
class PointAnswers:
    """Outputs of a trained network at some points of known samples, or of new ones.

    Attributes:
        samples: Known and new samples.
        orbit: Those that were asked.
        at: Sample and element of each point.
        outputs: Outputs at each point.
        neighbours: Class of the nearest point of the training data; None where it was not looked for.
    """

    samples: ForecastSamples
    orbit: OrbitSamples
    at: Int64[Tensor, "p 2"]
    outputs: Float[Tensor, "p c"]
    neighbours: Int64[Tensor, "p"] | None = None

    def __repr__(self) -> str:
        return f"PointAnswers({len(self.at)} points)"

    @property
    def positions(self) -> Int64[Tensor, "p"]:
        """Class of each point."""
        return self.orbit.positions[self.at[:, 0]]

    @property
    def scores(self) -> Float64[Tensor, "p"]:
        """Whether each point is classified right; for numbers the share explained."""
        return self.samples.scores(self.outputs, self.orbit.wanted[self.at[:, 0], self.at[:, 1]])

    @property
    def near(self) -> Float64[Tensor, "p"] | None:
        """Whether the nearest point of the training data has the class of each point."""
        return None if self.neighbours is None else (self.neighbours == self.positions).double()

    @property
    def sure(self) -> Float64[Tensor, "p"] | None:
        """The probability of the class of each point."""
        if self.neighbours is None:
            return None
        shares = self.outputs[:, self.samples.columns].double().softmax(1)
        return shares.gather(1, self.positions[:, None])[:, 0]

    def table(self, mask: Bool[Tensor, "m n"], values: Float64[Tensor, "p"] | None) -> ScoreTable:
        """Some numbers of the points of a mask, by class and element; no point without numbers."""
        shape = (self.samples.classes, self.samples.order)
        if values is None:
            nothing = torch.zeros(shape, dtype=torch.int64)
            return ScoreTable(nothing.double(), nothing)
        inside = mask[self.at[:, 0], self.at[:, 1]]
        cells = (self.positions * self.samples.order + self.at[:, 1])[inside]
        total = torch.zeros(shape, dtype=torch.float64).flatten().index_add(0, cells, values[inside])
        count = cells.bincount(minlength=total.numel())
        return ScoreTable(total.reshape(shape), count.reshape(shape))

    def cases(self, mask: Bool[Tensor, "m n"]) -> tuple[MissingCase, ...]:
        """For each class the surest failure and the surest success among the points of a mask."""
        inside = mask[self.at[:, 0], self.at[:, 1]]
        at, outputs, scores = self.at[inside], self.outputs[inside], self.scores[inside]
        wanted, positions = self.orbit.wanted[at[:, 0], at[:, 1]], self.positions[inside]
        margins, numbers = scores, wanted.is_floating_point()
        if not numbers:
            outputs = outputs[:, self.samples.columns]
            own = outputs.gather(1, positions[:, None])[:, 0]
            margins = own - outputs.scatter(1, positions[:, None], float("-inf")).amax(1)
        result = []
        for position in positions.unique():
            ours = (positions == position).nonzero()[:, 0]
            order = ours[margins[ours].argsort()]
            result += [
                MissingCase(
                    int(at[k, 0]),
                    self.orbit.points[at[k, 0], at[k, 1]],
                    int(position),
                    int(at[k, 1]),
                    outputs[k],
                    float(scores[k]),
                    float(margins[k]),
                    wanted[k] if numbers else None,
                )
                for k in dict.fromkeys([int(order[0]), int(order[-1])])
            ]
        return tuple(result)
