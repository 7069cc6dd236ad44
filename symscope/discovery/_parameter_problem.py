"""A network and a loss as a function of one flat parameter vector, sample by sample.

`L: theta, (x, y) -> R^b`, one number for every sample of a batch (Sec. 3.1), of any `nn.Module`, which is
never touched itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, final

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from symscope.discovery._parameter_layout import ParameterLayout
from symscope.discovery._problem_checks import check_differentiable, check_evaluation, takes_whole_numbers
from symscope.discovery.sampling import (
    DatasetRows,
    DataSource,
    ParameterPoints,
    ParameterSource,
    floating_inputs,
    normal_parameters,
)
from symscope.errors import InputError
from symscope.networks import FunctionalModule, Loss, evaluation, functional_module, named_loss
from symscope.numerics import check_count, check_memory, checked, explained, seed_generator


@checked
@final
@dataclass(frozen=True)
class ParameterProblem:
    """A network, a per-sample loss, and sources of parameters and data.

    Attributes:
        network: Private copy of the module, in eval mode and in `dtype`.
        loss: Per-sample loss, `(outputs [b, ...], targets [b, ...]) -> [b]`.
        data: Source of samples.
        parameters: Source of flat parameter vectors.
        layout: Names and shapes of the weights in a flat vector.
        dtype: Precision of parameters, floating-point data and results.
    """

    network: FunctionalModule
    loss: Loss
    data: DataSource
    parameters: ParameterSource
    layout: ParameterLayout
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
    def test_scope(self) -> str:
        """What the tests hold out, in words."""
        same = isinstance(self.data, DatasetRows) and not self.data.has_test_rows
        return "held-out parameters" if same else "held-out parameters and data"

    def random_points(self, count: int, batch: int, seed: int, held_out: bool = False) -> ParameterPoints:
        """Independent parameter vectors, each with its own batch of samples.

        Args:
            count: Number of parameter vectors.
            batch: Number of samples for each of them.
            seed: Seed for drawing parameters and samples.
            held_out: Take the rows that a `dataset` holds out for tests; other sources draw new data anyway.

        Raises:
            InputError: Not a positive number of points or samples.
        """
        entries = check_count("count", count) * (self.size + check_count("batch", batch))
        check_memory("the points", 8 * entries, "draw fewer")
        generator = seed_generator(seed)
        theta = self.parameters(count, generator).to(self.device, self.dtype)
        source = self.data.held_out if held_out and isinstance(self.data, DatasetRows) else self.data
        x, y = source(count * batch, generator)
        x, y = (self.converted(t).reshape(count, batch, *t.shape[1:]) for t in (x, y))
        return ParameterPoints(theta, x, y)

    def outputs(self, theta: Float[Tensor, "n"], x: Shaped[Tensor, "b *s"]) -> Float[Tensor, "b *o"]:
        """The network's outputs; differentiable in theta, and made for `torch.func` transforms."""
        result: Tensor = self.raw_outputs(theta, x)
        return result

    def raw_outputs(self, theta: Float[Tensor, "n"], x: Shaped[Tensor, "b *s"]) -> Any:
        """Whatever the module returns at these parameters, not yet checked to be one tensor."""
        with evaluation():
            return self.network.outputs(self.layout.named(theta), x)

    def losses(
        self, theta: Float[Tensor, "n"], x: Shaped[Tensor, "b *s"], y: Shaped[Tensor, "b *t"]
    ) -> Float[Tensor, "b"]:
        """`L(theta, X)`, one number per sample; differentiable, and made for `torch.func` transforms."""
        return self.loss(self.outputs(theta, x), y)

    def converted(self, tensor: Shaped[Tensor, "*s"]) -> Shaped[Tensor, "*s"]:
        """Data on the network's device, floating-point ones in its dtype."""
        return tensor.to(self.device, self.dtype if tensor.is_floating_point() else tensor.dtype)


@explained
def parameter_problem(
    module: nn.Module,
    loss: str | Callable[..., Any],
    data: DataSource,
    parameters: ParameterSource | None = None,
    dtype: torch.dtype = torch.float64,
) -> ParameterProblem:
    """A module and a loss, ready for discovery.

    Args:
        module: Any module that maps a batch `[b, ...]` to outputs `[b, ...]`, sample by sample; it is copied
            and put in eval mode. Parameters with `requires_grad=False` are constants.
        loss: Name of a loss ("squared", "mse", "cross-entropy") or a function `(outputs, targets) -> [b]`.
        data: Source of inputs and targets: `gaussian_data`, `class_data`, `token_data`, `dataset`, or your
            own. Whole-number inputs become floating-point ones unless the network takes them as they are
            (tokens).
        parameters: Source of parameters; normal ones scaled by fan-in when None.
        dtype: Precision of parameters, floating-point data and results.

    Returns:
        The problem.

    Raises:
        InputError: The module draws random numbers in eval mode, mixes samples or has no numbers
            (device meta), the loss is not per sample or does not fit the targets, values are not finite, or
            parameters act on the loss without a derivative.

    >>> from symscope.discovery import gaussian_data
    >>> made = parameter_problem(nn.Linear(3, 2, bias=False), "squared", gaussian_data((3,), (2,)))
    >>> made.size, made.layout.entry(5)
    (6, 'weight[1,2]')
    """
    if module is not None and not any(True for _ in module.parameters()):
        raise InputError(f"{type(module).__name__} has no parameters, so nothing can act on them")
    if module is not None and not any(weight.requires_grad for weight in module.parameters()):
        raise InputError(
            f"all parameters of {type(module).__name__} are frozen; call requires_grad_(True) on those that "
            "symmetries may move"
        )
    network = functional_module(module).to(dtype)
    layout = ParameterLayout(
        tuple(network.trainable), tuple(tuple(w.shape) for w in network.trainable.values())
    )
    chosen = named_loss(loss) if isinstance(loss, str) else loss
    made = ParameterProblem(network, chosen, data, parameters or normal_parameters(layout), layout, dtype)
    if network.device.type == "meta":
        raise InputError(
            f"{type(module).__name__} is on the device meta, where parameters have no values; build it on "
            "the CPU or a GPU"
        )
    x = made.random_points(1, 1, seed=0).x
    if not (x.is_floating_point() or x.is_complex() or takes_whole_numbers(made)):
        made = replace(made, data=floating_inputs(data))
    check_evaluation(made)
    check_differentiable(made)
    return made
