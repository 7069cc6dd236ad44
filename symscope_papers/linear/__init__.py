"""Experiments on "Implicitly Learned Invariance and Equivariance in Linear Regression"."""

from __future__ import annotations

PAPER = "Implicitly Learned Invariance and Equivariance in Linear Regression"

__all__ = ["PAPER"]
