"""Experiments on "Implicitly Learned Invariance and Equivariance in Linear Regression"."""

from __future__ import annotations

PAPER = "Implicitly Learned Invariance and Equivariance in Linear Regression"

# What figures 1, 3 and 4 leave open, and what is done here.
OPEN_SETTINGS = (
    "Number and distribution of the points are not stated: 100, uniform in [-1, 1], then whole orbits.",
    "Learning rate, epochs and batches are not stated: 0.01 and thousands of epochs of full-batch descent "
    "on the mean squared error, in float64.",
    "Number and distribution of the initial weights are not stated: ten runs, standard normal.",
)

__all__ = ["OPEN_SETTINGS", "PAPER"]
