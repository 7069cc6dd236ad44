"""Rows of tidy tables, from columns that were computed at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor


def rows_of(columns: Mapping[str, Tensor], **constants: Any) -> list[dict[str, Any]]:
    """One row for each entry of columns of equal length.

    Args:
        columns: Columns by name.
        constants: Values that all rows have, before the columns.

    >>> import torch
    >>> rows_of({"pair": torch.tensor([0, 1]), "error": torch.tensor([0.5, 2.0])}, kernel="NTK")
    [{'kernel': 'NTK', 'pair': 0, 'error': 0.5}, {'kernel': 'NTK', 'pair': 1, 'error': 2.0}]
    """
    lists = {name: values.tolist() for name, values in columns.items()}
    return [
        {**constants, **dict(zip(lists, entries, strict=True))}
        for entries in zip(*lists.values(), strict=True)
    ]
