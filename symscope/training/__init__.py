"""Trained networks to compare the theory with: many trainings at once, resumable.

Beyond this index, for the papers and specialists:

- `symscope.training.points`: orbits made on the fly, or made once and stored
"""

from symscope.training._checkpoint import Checkpoint
from symscope.training._mini_batch import MiniBatch
from symscope.training._mini_batch import Optimiser
from symscope.training._optimiser_steps import optimiser_steps
from symscope.training._step_training import StepPlan, module_outputs, seconds_per_step, train_steps
from symscope.training._trained_networks import TrainedNetworks, train_networks
from symscope.training.points import StoredPoints

__all__ = [
    # classifiers and regressors of one architecture on one pool of points, in mini-batches
    "MiniBatch",
    "StoredPoints",
    "TrainedNetworks",
    "train_networks",
    # one network of any kind, its schedule run to the end
    "StepPlan",
    "module_outputs",
    "seconds_per_step",
    "train_steps",
    # the steps, and a file to resume from
    "Checkpoint",
    "Optimiser",
    "optimiser_steps",
]
