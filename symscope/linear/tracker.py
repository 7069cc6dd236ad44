"""A monitor for any training loop: how symmetric are predictions and weights, and what does theory predict?

Five lines:

    tracker = AsymmetryTracker(net, points, symmetry)              # before training
    for batch in batches:
        ...                                                        # your training step
        tracker.record()
    tracker.predict(x, y, optimiser=optimiser, loss="mean")        # what theory predicts, optional
    tracker.save("asymmetry.png")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import torch
from jaxtyping import Shaped
from torch import Tensor, nn

from symscope.errors import InputError
from symscope.groups import Quadrature
from symscope.linear._closed_flow import RegressionFlow
from symscope.linear._plain_descent import active_layers, linear_weight, plain_learning_rate
from symscope.linear._records import (
    AsymmetryRecord,
    LayerSymmetry,
    PartSizes,
    layer_spaces,
    part_sizes,
    table_row,
)
from symscope.linear._weighted_elements import Symmetry, act, act_inverse, random_elements
from symscope.linear.asymmetry import asymmetric_part, sampled_asymmetry_loss
from symscope.linear.linearised import LinearisedNetwork, linearised_network
from symscope.networks import eval_mode
from symscope.numerics import DEFAULT_MEMORY, checked

__all__ = ["AsymmetryRecord", "AsymmetryTracker", "PartSizes"]

if TYPE_CHECKING:
    import pandas as pd


@checked
@final
class AsymmetryTracker:
    """Records, during training, how far a network is from symmetric, and lays the theory over it.

    The network as it is when the tracker is made is the first record, and where the theory starts. Measuring
    leaves training alone: it runs in eval mode without gradients, and every layer gets its own mode back.

    Args:
        module: The network that is trained, from [n, *shape] to [n] or [n, *output].
        x: Inputs the asymmetry is measured on; some hundreds are enough.
        symmetry: What acts on the inputs: a data action, a representation, or matrices `[order, d, d]` that
            act as `x g`.
        outputs: What acts on the outputs; nothing moves by default, which asks for invariance.
        weights: Representations on layers, by the name of the parameter: `(on its inputs, on its outputs)`
            for a weight `[out, in]` that acts as `W x`, one representation for a bias.
        every: Measure at every so many calls of `record`.
        start: The step the network is at now.
        quadrature: Elements that stand for a compact group.
        samples: Number of random elements that stand for a large group, instead of all.
        seed: Seed for drawing those elements.

    Attributes:
        records: What was measured, in order.
        theory: What was predicted, in order; empty until `predict`.

    Raises:
        InputError: The module does not take x, the symmetry does not fit, or a weight does not exist or has
            another shape than its representations.

    >>> from symscope.groups import cyclic, permutation
    >>> net = nn.Linear(2, 1, bias=False)
    >>> _ = nn.init.constant_(net.weight[:, :1], 3.0), nn.init.constant_(net.weight[:, 1:], 1.0)
    >>> tracker = AsymmetryTracker(net, torch.eye(2), permutation(cyclic(2)))
    >>> _ = nn.init.constant_(net.weight, 2.0)  # stands for training
    >>> _ = tracker.record()
    >>> [(r.step, r.symmetric, r.asymmetry) for r in tracker.records]
    [(0, 2.0, 1.0), (1, 2.0, 0.0)]
    """

    def __init__(
        self,
        module: nn.Module,
        x: Shaped[Tensor, "n *s"],
        symmetry: Symmetry,
        *,
        outputs: Symmetry | None = None,
        weights: Mapping[str, LayerSymmetry] | None = None,
        every: int = 1,
        start: int = 0,
        quadrature: Quadrature | None = None,
        samples: int | None = None,
        seed: int = 0,
    ) -> None:
        if every < 1 or start < 0:
            raise InputError(f"expected every of at least 1 and start of at least 0, got {every}, {start}.")
        if samples is not None and quadrature is not None:
            raise InputError("expected a quadrature or a number of samples, not both.")
        self.module, self.x, self.symmetry, self.outputs = module, x.detach(), symmetry, outputs
        self.every, self.quadrature, self.samples, self.seed = every, quadrature, samples, seed
        self._spaces = layer_spaces(module, weights or {})
        self._start = {name: t.detach().clone() for name, t in module.state_dict().items()}
        self._start_step, self._step = start, start
        self._unpredictable: dict[str, None] = {}
        self.records: list[AsymmetryRecord] = []
        self.theory: tuple[AsymmetryRecord, ...] = ()
        self._check_runs()
        self._measure(start)

    @property
    def step(self) -> int:
        """The step of the last call of `record`."""
        return self._step

    def record(self, step: int | None = None) -> AsymmetryRecord | None:
        """Measure the network as it is now.

        Args:
            step: The number of training steps so far; None counts calls.

        Returns:
            What was measured; None at the calls `every` leaves out.

        Raises:
            InputError: A step that is not after the last one.
        """
        at = self._step + 1 if step is None else step
        if at <= self._step:
            raise InputError(f"step: expected a number above {self._step}, the last one, got {at}.")
        self._step = at
        if (at - self._start_step) % self.every:
            return None
        return self._measure(at)

    def predict(
        self,
        x: Shaped[Tensor, "n *s"],
        y: Shaped[Tensor, "*targets"],
        *,
        loss: str,
        learning_rate: float | None = None,
        optimiser: torch.optim.Optimizer | None = None,
        steps: Sequence[float | int] | None = None,
        flow: bool = False,
        memory: int | float | str = DEFAULT_MEMORY,
    ) -> tuple[AsymmetryRecord, ...]:
        """What the network, linearised at the tracker's start, does under full-batch gradient descent.

        For a linear layer this is the exact closed form (Eq. 3 and 5); for a network it holds as long as
        training moves its weights little (Eq. 10), and what the measured curve does besides is what the
        network's features learned. Momentum, Adam, weight decay and small batches are outside it: hand over
        the optimiser, and those that can be seen are refused.

        Args:
            x: Training inputs, all of them.
            y: Targets in the shape of outputs, [n, o], [n] or [n, h, w].
            loss: "mean" for `nn.MSELoss()`, "sum" for its `reduction="sum"`, "half sum" for half of that.
            learning_rate: Learning rate of plain gradient descent on all trainable parameters.
            optimiser: Optimiser that trains the network, instead of a learning rate: it must be plain
                gradient descent, and its learning rate is taken.
            steps: Steps to predict; None for those recorded.
            flow: Gradient flow instead of gradient descent.
            memory: Working memory of the kernel.

        Returns:
            Records like the measured ones, also kept as `theory`.

        Raises:
            InputError: As `linearised_network`; also if gradient descent diverges at this learning rate, the
                optimiser is not plain gradient descent on all trainable parameters, a trainable parameter has
                not moved though it should have, or dropout or batch norm were active while training.
        """
        if (learning_rate is None) == (optimiser is None):
            raise InputError("expected either a learning rate or an optimiser, and not both.")
        if self._unpredictable:
            raise InputError(
                f"no closed form: {', '.join(self._unpredictable)} in train mode, whose outputs depend on "
                "chance or on the batch; use the measured records, or train with these layers in eval mode."
            )
        if optimiser is not None:
            learning_rate = plain_learning_rate(optimiser, self.module)
        assert learning_rate is not None
        lin = linearised_network(
            self.module, x, y, learning_rate=learning_rate, loss=loss, params=self._start, memory=memory
        )
        self._check_moved(lin)
        start = {name: weight.to(torch.float64) for name, weight in self._start.items()}
        chosen = self._steps(steps)
        result: list[AsymmetryRecord] = []
        for some in lin.displacements([step - self._start_step for step in chosen], flow=flow):
            states = [{name: start[name] + by for name, by in lin.changes(change).items()} for change in some]
            here = chosen[len(result) : len(result) + len(some)]
            result += self._predicted_records(here, partial(lin.outputs, displacements=some), states)
        self.theory = tuple(result)
        return self.theory

    def predict_linear(
        self, solution: RegressionFlow, *, learning_rate: float, steps: Sequence[int] | None = None
    ) -> tuple[AsymmetryRecord, ...]:
        """The closed form of a linear model on whole orbits, from `K_G` and `C_G` alone (Eq. 3 and 5).

        For data too large to hold, or seen through random group elements: `regression_flow(problem.k,
        problem.c)` of an `orbit_regression` needs second moments only. The module must be `nn.Linear(...,
        bias=False)`, alone or in an `nn.Sequential` with `nn.Flatten` and `nn.Unflatten`.

        Args:
            solution: The flow of the regression problem, `d x o` weights.
            learning_rate: Learning rate for the loss `1/2 sum |f - y|^2` over all orbits; `mean_loss_rate`
                converts one for the mean.
            steps: Steps of gradient descent to predict; None for those recorded.

        Returns:
            Records like the measured ones, also kept as `theory`.

        Raises:
            InputError: A module that is not linear, weights that do not fit, a rate that diverges.
        """
        name = linear_weight(self.module)
        chosen = [int(step) for step in self._steps(steps)]
        w0 = self._start[name].to(solution.rates).mT
        if w0.numel() != solution.minimum.numel():
            raise InputError(
                f"expected weights of shape {tuple(solution.minimum.shape)}, as the solution's, got "
                f"{tuple(w0.shape)}."
            )
        since = torch.tensor(chosen) - self._start_step
        path = solution.descent(w0.reshape(solution.minimum.shape), learning_rate, since)
        path = path.reshape(len(chosen), *w0.shape)
        f = partial(_linear_outputs, path, self._output_shape)
        self.theory = tuple(self._predicted_records(chosen, f, [{name: w.mT} for w in path]))
        return self.theory

    def table(self) -> pd.DataFrame:
        """Everything measured and predicted, one row per step; told apart by column `kind`.

        Parts of weights are columns `<name> symmetric` and `<name> asymmetric`.
        """
        import pandas as pd

        return pd.DataFrame(
            [
                table_row(kind, record)
                for kind, records in (("measured", self.records), ("theory", self.theory))
                for record in records
            ]
        )

    def figure(self) -> Any:
        """The asymmetry over training with the theory laid over it, and the parts of predictions and weights.

        Returns:
            A matplotlib figure.
        """
        from symscope.linear._tracker_figure import tracker_figure

        return tracker_figure(self.records, self.theory)

    def save(self, path: str | Path) -> None:
        """Write the figure to a file that ends in .png, .svg or .pdf.

        Raises:
            InputError: Another ending, or a folder that cannot be written.
        """
        from symscope.report import save_figure

        save_figure(self.figure(), Path(path))

    def _check_moved(self, lin: LinearisedNetwork) -> None:
        """Refuses a network some of whose trainable parameters were left out of its training."""
        if self._step == self._start_step:
            return
        now = {name: p.detach() for name, p in self.module.named_parameters()}
        trainable = [name for name, p in self.module.named_parameters() if p.requires_grad]
        still = [name for name in trainable if torch.equal(now[name], self._start[name])]
        if not still or len(still) == len(trainable):
            return
        change = lin.changes(lin.displacement(self._step - self._start_step, flow=True))
        # a unit that is silent has no gradient; one whose change is below rounding cannot move
        spacing = torch.finfo(now[still[0]].dtype).eps
        if left := [n for n in still if float(change[n].norm()) > 100 * spacing * float(now[n].norm())]:
            raise InputError(
                f"expected every trainable parameter to be trained, {left[0]!r} has not moved; call "
                "requires_grad_(False) on parameters the optimiser does not hold, before making the tracker."
            )

    def _steps(self, steps: Sequence[float | int] | None) -> list[float | int]:
        chosen = [r.step for r in self.records] if steps is None else list(steps)
        if not chosen or min(chosen) < self._start_step:
            raise InputError(
                f"steps: expected some, from {self._start_step} on, where the tracker began, got {chosen}."
            )
        return chosen

    def _predicted_records(
        self,
        steps: Sequence[float | int],
        f: Callable[[Tensor], Tensor],
        states: Sequence[Mapping[str, Tensor]],
    ) -> list[AsymmetryRecord]:
        points = self.x.to(torch.float64) if self.x.is_floating_point() else self.x
        with torch.no_grad():
            return self._records(steps, f, points, states)

    def _check_runs(self) -> None:
        with eval_mode(self.module):
            try:
                out = self.module(self.x)
            except Exception as error:  # whatever the user's forward raises
                raise InputError(
                    f"x: the module cannot be evaluated on inputs of shape {list(self.x.shape)}, "
                    f"{self.x.dtype}: {error}"
                ) from error
        self._output_shape = tuple(out.shape[1:]) if isinstance(out, Tensor) else ()

    def _measure(self, step: int) -> AsymmetryRecord:
        self._unpredictable |= dict.fromkeys(active_layers(self.module))
        with eval_mode(self.module):
            weights = dict(self.module.named_parameters())
            [record] = self._records([step], lambda z: self.module(z).unsqueeze(1), self.x, [weights])
        self.records.append(record)
        return record

    def _records(
        self,
        steps: Sequence[float | int],
        f: Callable[[Tensor], Tensor],
        x: Tensor,
        states: Sequence[Mapping[str, Tensor]],
    ) -> list[AsymmetryRecord]:
        """One record per step; f gives the outputs at all of them, `[n, steps, *output]`."""
        spreads = [0.0] * len(steps)
        if self.samples is None:
            part = asymmetric_part(f, x, self.symmetry, self.outputs, self.quadrature)
            asymmetry, mean = _mean_norms(part), f(x) - part
        else:
            elements = random_elements(self.symmetry, self.samples, self.seed)
            images = [f(act(self.symmetry, g, x)) for g in elements]
            if self.outputs is not None:
                images = [act_inverse(self.outputs, g, y) for g, y in zip(elements, images, strict=True)]
            mean = torch.stack(images).mean(0)
            asymmetry, spreads = self._sampled_losses(f, x, len(steps))
        return [
            AsymmetryRecord(
                step,
                size,
                loss,
                spread,
                {name: part_sizes(space, state[name]) for name, space in self._spaces.items()},
            )
            for step, size, loss, spread, state in zip(
                steps, _mean_norms(mean), asymmetry, spreads, states, strict=True
            )
        ]

    def _sampled_losses(
        self, f: Callable[[Tensor], Tensor], x: Tensor, count: int
    ) -> tuple[list[float], list[float]]:
        assert self.samples is not None
        result = [
            sampled_asymmetry_loss(
                lambda z, at=at: f(z)[:, at],  # type: ignore[misc]
                x,
                self.symmetry,
                self.outputs,
                samples=self.samples,
                seed=self.seed,
            )
            for at in range(count)
        ]
        return [loss.value for loss in result], [loss.standard_error for loss in result]


def _mean_norms(part: Tensor) -> list[float]:
    """`[n, steps, *output] -> [steps]`: the norm of each output, averaged over inputs."""
    return torch.linalg.vector_norm(part.reshape(*part.shape[:2], -1), dim=2).mean(0).tolist()


def _linear_outputs(path: Tensor, shape: tuple[int, ...], x: Tensor) -> Tensor:
    rows = torch.einsum("nd,tdo->nto", x.flatten(1), path.to(x))
    return rows.reshape(len(x), len(path), *shape)
