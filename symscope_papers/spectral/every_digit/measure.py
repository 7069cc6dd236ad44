"""Cells of `spectral/every-digit`: those of `spectral/networks` that train."""

from __future__ import annotations

from typing import Any

from symscope_papers.spectral.networks.config import Networks
from symscope_papers.spectral.networks.measure import RULE
from symscope_papers.spectral.networks.measure import cells as all_cells


def cells(config: Networks) -> list[dict[str, Any]]:
    """One training each: number of angles, network, digits."""
    return [cell for cell in all_cells(config) if cell["part"] != RULE]
