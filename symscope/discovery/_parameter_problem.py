"""A network and a loss as a function of one flat parameter vector, per data point.

`L: theta, (x, y) -> R^b`, one number for every data point of a batch (Sec. 3.1), of any
`nn.Module`, which is never touched itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, final

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from symscope.discovery._parameter_layout import Layout
from symscope.discovery._problem_checks import check_differentiable, check_evaluation, takes_whole_numbers
from symscope.discovery.sampling import (
    DataSource,
    ParameterSource,
    Rows,
    Sample,
    floating_inputs,
    normal_parameters,
)
from symscope.errors import InputError
from symscope.networks import FunctionalModule, Loss, evaluation, functional_module, named_loss


@final
@dataclass(frozen=True)
class Problem:
    """A network, a per-sample loss, and where parameters and data are drawn from.

    Attributes:
        network: A private copy of the module, in eval mode, in float64 unless told otherwise.
        loss: `(outputs [b, ...], targets [b, ...]) -> [b]`.
        data: Draws data points.
        parameters: Draws flat parameter vectors.
        layout: Which entry of a flat vector is which weight.
        dtype: Of parameters, floating-point data and results.
    """

    network: FunctionalModule
    loss: Loss
    data: DataSource
    parameters: ParameterSource
    layout: Layout
    dtype: torch.dtype = torch.float64

    @property
    def size(self) -> int:
        """Number of trainable parameters."""
        return self.layout.size

    @property
    def device(self) -> torch.device:
        return self.network.device

    def theta(self) -> Float[Tensor, "n"]:
        """The module's own parameters as a flat vector."""
        return self.layout.flat(self.network.weights(self.dtype))

    def module_at(self, theta: Float[Tensor, "n"]) -> nn.Module:
        """A new copy of the module with the given parameters."""
        copied = functional_module(self.network.module).module
        with torch.no_grad():
            named = dict(copied.named_parameters())
            for name, value in self.layout.named(theta).items():
                named[name].copy_(value)
        return copied

    @property
    def tested_on(self) -> str:
        """What tests are made on that nothing was found on, in words."""
        same = isinstance(self.data, Rows) and not self.data.split
        return "held-out parameters" if same else "held-out parameters and data"

    def sample(self, points: int, batch: int, seed: int, held_out: bool = False) -> Sample:
        """Independent parameters, each with its own batch of data.

        Args:
            points: How many parameter vectors.
            batch: Data points for each.
            seed: The same seed gives the same sample.
            held_out: Take the rows a `dataset` keeps for tests; other sources draw new data anyway.

        Raises:
            InputError: Not a positive number of points or data.
        """
        if points < 1 or batch < 1:
            raise InputError(f"expected at least one point and one data point, got {points} and {batch}")
        generator = torch.Generator().manual_seed(seed)
        theta = self.parameters(points, generator).to(self.device, self.dtype)
        source = self.data.held_out if held_out and isinstance(self.data, Rows) else self.data
        x, y = source(points * batch, generator)
        x, y = (self.ready(t).reshape(points, batch, *t.shape[1:]) for t in (x, y))
        return Sample(theta, x, y)

    def outputs(self, theta: Float[Tensor, "n"], x: Shaped[Tensor, "b *s"]) -> Float[Tensor, "b *o"]:
        """The network's outputs; differentiable in theta, and made for `torch.func` transforms."""
        result: Tensor = self.returned(theta, x)
        return result

    def returned(self, theta: Float[Tensor, "n"], x: Shaped[Tensor, "b *s"]) -> Any:
        """Whatever the module returns at these parameters, not yet known to be one tensor."""
        with evaluation():
            return self.network.outputs(self.layout.named(theta), x)

    def losses(
        self, theta: Float[Tensor, "n"], x: Shaped[Tensor, "b *s"], y: Shaped[Tensor, "b *t"]
    ) -> Float[Tensor, "b"]:
        """`L(theta, X)`, one number per data point; differentiable, and made for `torch.func` transforms."""
        return self.loss(self.outputs(theta, x), y)

    def ready(self, tensor: Shaped[Tensor, "*s"]) -> Shaped[Tensor, "*s"]:
        """Data on the network's device, floating-point ones in its dtype."""
        return tensor.to(self.device, self.dtype if tensor.is_floating_point() else tensor.dtype)


def problem(
    module: nn.Module,
    loss: str | Callable[..., Any],
    data: DataSource,
    parameters: ParameterSource | None = None,
    dtype: torch.dtype = torch.float64,
) -> Problem:
    """A module and a loss, ready for discovery.

    Args:
        module: Any module that maps a batch `[b, ...]` to outputs `[b, ...]`, one by one; it is copied and
            put in eval mode. Parameters with `requires_grad=False` are constants.
        loss: A name ("squared", "mse", "cross-entropy") or `(outputs, targets) -> [b]`.
        data: Draws inputs and targets: `gaussian_data`, `class_data`, `token_data`, `dataset`, or your own.
            Whole-number inputs become floating-point ones unless the network takes them as they are (tokens).
        parameters: Draws parameters; normal ones scaled by fan-in when None.
        dtype: Precision of everything.

    Returns:
        The problem.

    Raises:
        InputError: The module draws random numbers in eval mode, mixes data points or has no numbers
            (device meta), the loss is not per sample or does not fit the targets, values are not finite, or
            parameters act on the loss without a derivative.

    >>> from symscope.discovery import gaussian_data
    >>> found = problem(nn.Linear(3, 2, bias=False), "squared", gaussian_data((3,), (2,)))
    >>> found.size, found.layout.entry(5)
    (6, 'weight[1,2]')
    """
    if module is not None and not any(True for _ in module.parameters()):
        raise InputError(f"{type(module).__name__} has no parameters, so nothing can act on them.")
    if module is not None and not any(weight.requires_grad for weight in module.parameters()):
        raise InputError(
            f"all parameters of {type(module).__name__} are frozen; call requires_grad_(True) on those that "
            "symmetries may move"
        )
    network = functional_module(module).to(dtype)
    layout = Layout(tuple(network.trainable), tuple(tuple(w.shape) for w in network.trainable.values()))
    chosen = named_loss(loss) if isinstance(loss, str) else loss
    made = Problem(network, chosen, data, parameters or normal_parameters(layout), layout, dtype)
    if network.device.type == "meta":
        raise InputError(
            f"{type(module).__name__} is on the device meta, where parameters have no values; build it on "
            "the CPU or a GPU"
        )
    x = made.sample(1, 1, seed=0).x
    if not (x.is_floating_point() or x.is_complex() or takes_whole_numbers(made)):
        made = replace(made, data=floating_inputs(data))
    check_evaluation(made)
    check_differentiable(made)
    return made
