"""Trained networks to hold the theory against: the papers' architectures, many trainings at once."""

from symscope.training._batched import FullBatch, TrainedCopies, train_copies
from symscope.training._checkpoint import Checkpoint
from symscope.training._classifier import TrainedClassifiers, train_classifiers
from symscope.training._mini_batch import MiniBatch
from symscope.training._optimiser import Optimiser
from symscope.training._regressor import TrainedRegressors, train_regressors
from symscope.training._training_points import Acted, Stored, orbit_points

__all__ = [
    "Acted",
    "Checkpoint",
    "FullBatch",
    "MiniBatch",
    "Optimiser",
    "Stored",
    "TrainedClassifiers",
    "TrainedCopies",
    "TrainedRegressors",
    "orbit_points",
    "train_classifiers",
    "train_copies",
    "train_regressors",
]
