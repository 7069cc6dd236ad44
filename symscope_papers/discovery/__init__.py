"""Experiments on "Finding Symmetry in Neural Network Parameter Spaces"."""

from __future__ import annotations

PAPER = "Finding Symmetry in Neural Network Parameter Spaces"

__all__ = ["PAPER"]
