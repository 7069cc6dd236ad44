"""Build in or augment? Networks between representations; nominal, augmented and equivariant training.

For papers, benchmarks and specialists:

- `symscope.dynamics.averaged_elements`: the group elements that an average runs over;
- `symscope.dynamics.curvature`: Hessians of risks, and products with them;
- `symscope.dynamics.deviations`: steps off the equivariant layers, and how they grow;
- `symscope.dynamics.gradients`: gradients of the risks, exact and from random elements;
- `symscope.dynamics.layer_steps`: nonlinearities, normalisation and pooling between layers;
- `symscope.dynamics.layer_vectors`: layers as vectors, and their projection on equivariant ones;
- `symscope.dynamics.risks`: nominal, augmented, equivariant and feature-averaged risks.
"""

from symscope.dynamics._declared_module import build_module
from symscope.dynamics._declared_network import DeclaredNetwork, declare_network
from symscope.dynamics._layer_equivariance import LayerEquivariance, LayerSpaces, layer_equivariance
from symscope.dynamics._stability import Stability, stability
from symscope.dynamics._training_assumptions import check_training_assumptions, training_assumptions
from symscope.dynamics._training_flow import Trajectory, training_descent, training_flow
from symscope.dynamics.deviations import drift
from symscope.dynamics.gradients import gradient_field
from symscope.dynamics.layer_vectors import equivariant_weights
from symscope.dynamics.risks import TrainingProblem

__all__ = [
    # declare a network by its representations, and a problem to train it on
    "declare_network",
    "DeclaredNetwork",
    "build_module",
    "equivariant_weights",
    "TrainingProblem",
    "training_assumptions",
    "check_training_assumptions",
    # will augmented training stay equivariant?
    "stability",
    "Stability",
    "drift",
    # train
    "gradient_field",
    "training_flow",
    "training_descent",
    "Trajectory",
    # layers of an existing module
    "layer_equivariance",
    "LayerEquivariance",
    "LayerSpaces",
]
