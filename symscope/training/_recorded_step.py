"""A training step as one recorded piece of GPU work: launched once instead of kernel by kernel.

A step of 2,048 small images is a millisecond of arithmetic spread over a hundred kernels; launching them one
by one takes longer than that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import final

import torch
from jaxtyping import Bool, Int64
from torch import Tensor

WARM_UP = 3  # real steps taken one by one first: compilers and optimisers set themselves up in them

Step = Callable[[Int64[Tensor, "copies b"], Bool[Tensor, "copies b"]], None]


@final
class ReplayedStep:
    """A step that is recorded after its first few calls and replayed from then on.

    Every call takes exactly one step; results are those of the plain step. All calls must have one shape, and
    everything the step reads or changes must stay where it is in memory.

    Args:
        step: Takes the positions of a batch and which of them are real; works on one CUDA device without
            waiting for it.
        reset: Called before recording; forgets gradients, so that they become part of the recording.
    """

    def __init__(self, step: Step, reset: Callable[[], object]) -> None:
        self._step, self._reset, self._taken = step, reset, 0
        self._graph: torch.cuda.CUDAGraph | None = None
        self._inputs: tuple[Tensor, Tensor] | None = None

    def __call__(self, index: Int64[Tensor, "copies b"], real: Bool[Tensor, "copies b"]) -> None:
        if self._taken < WARM_UP:
            self._taken += 1
            # on a side stream, as recording needs it
            side = torch.cuda.Stream(index.device)
            side.wait_stream(torch.cuda.current_stream(index.device))
            with torch.cuda.stream(side):
                self._step(index, real)
            torch.cuda.current_stream(index.device).wait_stream(side)
            return
        if self._graph is None or self._inputs is None:
            self._inputs = (index.clone(), real.clone())
            self._graph = torch.cuda.CUDAGraph()
            self._reset()
            with torch.cuda.graph(self._graph):  # records, computes nothing
                self._step(*self._inputs)
        for kept, given in zip(self._inputs, (index, real), strict=True):
            kept.copy_(given)
        self._graph.replay()
