"""Experiments on "On the Ability of Deep Networks to Learn Symmetries from Data: A Neural Kernel Theory"."""

from __future__ import annotations

PAPER = "On the Ability of Deep Networks to Learn Symmetries from Data: A Neural Kernel Theory"

__all__ = ["PAPER"]
