"""What is audited: a network, samples, and how the group acts on its inputs and outputs, checked together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import torch
from jaxtyping import Float, Float64, Int64, Shaped
from torch import Tensor, nn

from symscope.auditing._mask_data import AuditData
from symscope.data import (
    Action,
)
from symscope.errors import InputError
from symscope.networks import arrange_inputs
from symscope.numerics import check_finite, checked
from symscope.user_code import user_errors

BATCH = 256  # samples in one forward pass
LARGEST_BATCH = {"cpu": 2**17, "cuda": 2**22}  # numbers in one batch of inputs; a CPU wants them in its cache


@checked
@final
@dataclass(frozen=True, eq=False)
class Subject:
    """A network, the samples it is tried on, and how the group acts on inputs and outputs.

    Made by `audit_subject`.

    Attributes:
        module: The network, a copy, in evaluation mode, in its own dtype, on `device`.
        name: Name of the network in reports.
        data: Samples as the user has them, not standardised: a trained network expects its own inputs.
        action: Group action on the samples.
        target: Group action on the outputs; None where they should not change.
        layout: Layout of the network's inputs, as in `networks.arrange_inputs`.
        class_names: Names of classes 0, 1, ...; None where they are numbered.
        builder: Function of a seed that gives a fresh network; None where none can be drawn.
        device: Device of the network.
        trained: Whether the weights are given ones; False for a network that was only built.
        augmented: Whether training saw transformations of the samples by all elements.
        dtype: Type of the inputs, for networks with weights of several; None for that of the weights.
    """

    module: nn.Module
    name: str
    data: AuditData
    action: Action
    target: Action | None
    layout: str
    class_names: tuple[str, ...] | None
    builder: Callable[[int], nn.Module] | None
    device: torch.device
    trained: bool = True
    augmented: bool = False
    dtype: torch.dtype | None = None

    def __repr__(self) -> str:
        group = f"{self.action.group.name} {self.action.name}"
        return f"Subject({self.name}, {self.data.name}: {len(self.data)} samples, {group})"

    def outputs(self, x: Shaped[Tensor, "m *s"], module: nn.Module | None = None) -> Float64[Tensor, "m *t"]:
        """Outputs for samples, in batches, without gradients, in float64 on the CPU.

        Args:
            x: Samples, as the data has them.
            module: Another network of the same kind; the audited one when not given.

        Raises:
            InputError: The network fails on them, or gives something else than one finite tensor.
        """
        chosen = self.module if module is None else module
        largest = LARGEST_BATCH.get(self.device.type, LARGEST_BATCH["cuda"])
        size = max(1, min(BATCH, largest // max(1, x[0].numel())))
        parts = [self.call(chosen, self.inputs(part, chosen)) for part in x.split(size)]
        result = torch.cat([part.double().cpu() for part in parts])
        check_finite(f"outputs of {self.name}", result)
        return result

    def inputs(self, x: Shaped[Tensor, "m *s"], module: nn.Module | None = None) -> Tensor:
        """Samples as the network takes them: its layout, dtype and device."""
        dtype = self.dtype or weight_types(self.module if module is None else module)[0]
        return arrange_inputs(x.to(self.device, dtype), self.layout)

    def call(self, module: nn.Module, inputs: Tensor) -> Tensor:
        """One forward pass without gradients; single numbers become rows of one."""
        with user_errors(f"model {self.name}: its forward"), torch.no_grad():
            out = module(inputs)
        return _rows(out, self.name, len(inputs))

    def moved(self, g: int, x: Shaped[Tensor, "m *s"]) -> Shaped[Tensor, "m *s"]:
        """The samples g x."""
        with user_errors(f"action {self.action.name}: its function", mixed=True):
            return self.action.act(g, x)

    def moved_back(self, g: int, y: Float64[Tensor, "m *t"]) -> Float64[Tensor, "m *t"]:
        """The outputs `rho(g)^-1 y`; y itself where outputs should not change."""
        if self.target is None:
            return y
        with user_errors(f"target action {self.target.name}: its function", mixed=True):
            return self.target.act(self.target.group.inverse(g), y)

    def decisions(self, outputs: Float[Tensor, "m k"]) -> Int64[Tensor, "m"]:
        """The class of each row: the largest output, or whether a single one is above 0."""
        if outputs.shape[1] == 1:
            return (outputs[:, 0] > 0).long()
        return outputs.argmax(1)

    @property
    def others(self) -> tuple[int, ...]:
        """Elements other than the identity."""
        group = self.action.group
        return tuple(g for g in group.elements if g != group.identity)

    def element_name(self, g: int) -> str:
        """An element as users write it: degrees for rotations, else the group's own name."""
        return self.action.element_name(g)


def weight_types(module: nn.Module) -> list[torch.dtype]:
    """The floating-point types of a network's weights, the first weight's first; torch's default for none.

    >>> weight_types(nn.Sequential(nn.Linear(2, 2).double(), nn.Linear(2, 1)))
    [torch.float64, torch.float32]
    """
    kinds = dict.fromkeys(one.dtype for one in module.parameters() if one.is_floating_point())
    return list(kinds) or [torch.get_default_dtype()]


def _rows(out: Any, name: str, count: int) -> Tensor:
    """The outputs, if they are one tensor of one row for each sample."""
    if not isinstance(out, Tensor):
        raise InputError(
            f"model {name}: expected its forward to return one tensor, got {type(out).__name__}; wrap it in "
            "a module that returns the tensor to audit."
        )
    if not out.is_floating_point() or out.ndim == 0 or len(out) != count or out.numel() == 0:
        raise InputError(
            f"model {name}: expected one row of floating-point numbers for each of {count} samples, got "
            f"shape {tuple(out.shape)} of {out.dtype}."
        )
    return out[:, None] if out.ndim == 1 else out
