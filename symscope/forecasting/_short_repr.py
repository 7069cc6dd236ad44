"""Values that hold tensors, shown in one short line: shapes and names instead of numbers."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from torch import Tensor

from symscope.numerics import shortened

LONGEST = 300  # letters of a line


def short_repr(value: Any) -> str:
    """A dataclass in one line of at most 300 letters: tensors by shape, parts by name.

    Set as `__repr__` of a dataclass whose numbers would fill screens.

    >>> import torch
    >>> from symscope.data import MeasuredData
    >>> from symscope.forecasting._targets import grouped
    >>> grouped(MeasuredData(torch.rand(20, 3), torch.arange(20.0), "toy", "typed"))[1]
    Targets(values=[20, 1, 1], mean=[1], scale=[1], positions=1, classes=0)
    """
    parts = (f"{one.name}={_short(getattr(value, one.name))}" for one in fields(value) if one.repr)
    text = f"{type(value).__name__}({', '.join(parts)})"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 4]}...)"


def _short(value: Any) -> str:
    if isinstance(value, Tensor):
        return str(list(value.shape))
    if isinstance(value, tuple) and value and (is_dataclass(value[0]) or isinstance(value[0], (str, Tensor))):
        return f"<{len(value)}>"
    if is_dataclass(value) and len(repr(value)) > LONGEST // 3:
        return f"{type(value).__name__}(...)"
    return f"{value:.3g}" if isinstance(value, float) else shortened(value)
