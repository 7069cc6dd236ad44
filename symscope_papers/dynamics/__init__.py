"""Experiments on "Optimization Dynamics of Equivariant and Augmented Neural Networks"."""

from __future__ import annotations

PAPER = "Optimization Dynamics of Equivariant and Augmented Neural Networks"

__all__ = ["PAPER"]
