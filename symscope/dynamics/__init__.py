"""Build in or augment? Networks in Hom spaces, nominal/augmented/equivariant training, stability of E."""

from symscope.dynamics.layers import (
    Split,
    add,
    equivariant_weights,
    flatten,
    gaussian_weights,
    inner,
    norm,
    project,
    residual,
    split,
    subtract,
    transform,
    unflatten,
)
from symscope.dynamics.module import DeclaredModule, DenseLayer, EquivariantLayer, build
from symscope.dynamics.network import Layers, Network, declare
from symscope.dynamics.steps import (
    Step,
    batch_normalisation,
    group_pooling,
    norm_gate,
    pointwise,
    rms_normalisation,
)

__all__ = [
    "DeclaredModule",
    "DenseLayer",
    "EquivariantLayer",
    "Layers",
    "Network",
    "Split",
    "Step",
    "add",
    "batch_normalisation",
    "build",
    "declare",
    "equivariant_weights",
    "flatten",
    "gaussian_weights",
    "group_pooling",
    "inner",
    "norm",
    "norm_gate",
    "pointwise",
    "project",
    "residual",
    "rms_normalisation",
    "split",
    "subtract",
    "transform",
    "unflatten",
]
