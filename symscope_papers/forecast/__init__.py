"""Experiments on the library's own forecasts: how good they are, measured against trained networks."""

from __future__ import annotations

PAPER = "Beyond the papers: the forecast of this library"

__all__ = ["PAPER"]
