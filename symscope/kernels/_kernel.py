"""What every kernel is to the rest of symscope: three functions under a name.

Theory code never knows which kernel it has: an infinite-width network, a finite one, or a classical kernel
all arrive as a `Kernel`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.numerics import checked


def no_working_bytes(points: int, features: tuple[int, ...], dtype: torch.dtype, device: str) -> float:
    """Nothing beyond what grows with the entries."""
    return 0.0


@checked
@final
@dataclass(frozen=True)
class Kernel:
    """A positive semi-definite function of two inputs, evaluated in blocks.

    The three functions must be picklable (module-level functions, `functools.partial` of them, or bound
    methods of picklable objects), so that tiles can run in other processes.

    Attributes:
        name: What a plot or an error message calls it.
        blocks: `(x1 [b, n1, *s], x2 [b, n2, *s] or None) -> [b, n1, n2]`, b small Grams at once; None means
            x1 against itself, of which only one half need be computed.
        diagonal: `x [n, *s] -> [n]`, the entries k(x_i, x_i) alone.
        entry_bytes: `(s, dtype) -> float`, peak working memory per entry of a block; tiles are sized by it.
        working_bytes: `(points, s, dtype, device type) -> float`, what a block takes besides, linear in the
            number of its points (rows and columns together).
        symmetric: Whether `blocks(x, None)` is symmetric to the last bit, with `diagonal` on its diagonal, so
            that nothing need be mirrored.
        cuts: Whether `blocks` cuts its own work into pieces that suit the machine, so that tiles may be as
            large as the memory budget allows.
    """

    name: str
    blocks: Callable[[Tensor, Tensor | None], Tensor]
    diagonal: Callable[[Tensor], Tensor]
    entry_bytes: Callable[[tuple[int, ...], torch.dtype], float]
    working_bytes: Callable[[int, tuple[int, ...], torch.dtype, str], float] = no_working_bytes
    symmetric: bool = False
    cuts: bool = False

    def __call__(
        self, x1: Float[Tensor, "n1 *s"], x2: Float[Tensor, "n2 *s"] | None = None
    ) -> Float[Tensor, "n1 n2"]:
        """The Gram matrix, tiled within the default memory budget (`symscope.kernels.gram` to choose)."""
        from symscope.kernels._gram._gram import gram

        return gram(self, x1, x2)

    def batched(
        self, x1: Float[Tensor, "b n1 *s"], x2: Float[Tensor, "b n2 *s"] | None = None
    ) -> Float[Tensor, "b n1 n2"]:
        """Many small Gram matrices at once, `out[i] = k(x1[i], x2[i])`, chunked within the default budget."""
        from symscope.kernels._gram._gram import batched_gram

        return batched_gram(self, x1, x2)
