"""What PyTorch offers under private names only, in one place; the tests say what breaks without each.

`TorchDispatchMode` sees every operator a module runs; PyTorch's guides use it, from a private module.
`torch.overrides.TorchFunctionMode` sees calls from Python only: neither the intermediate results of
composite functions (attention) nor random numbers drawn inside them.
"""

from __future__ import annotations

from typing import Any, final

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode


@final
class OperatorWatch(TorchDispatchMode):
    """Counts the numbers that operators compute, and notices random ones.

    Attributes:
        numbers: Count of the numbers computed; views count nothing.
        random: Name of the last operator that drew random numbers, empty if none did.

    >>> with OperatorWatch() as watch:
    ...     _ = torch.ones(3).relu()
    >>> watch.numbers, watch.random
    (6, '')
    """

    def __init__(self) -> None:
        super().__init__()
        self.numbers = 0
        self.random = ""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if torch.Tag.nondeterministic_seeded in func.tags:
            self.random = str(func)
        for t in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(t, Tensor) and not func.is_view:
                self.numbers += t.numel()
        return result


def is_view(tensor: Tensor) -> bool:
    """Whether a tensor shares memory with the one it was made from, as autograd sees it.

    Storage alone does not show it: the base may exist only inside the operator that returned the view.

    >>> is_view(torch.ones(4)[:2]), is_view(torch.ones(4))
    (True, False)
    """
    return tensor._is_view()
