"""Trained networks to hold the theory against: the papers' architectures, many trainings at once."""

from symscope.training.batched import FullBatch, TrainedCopies, train_copies
from symscope.training.checkpoint import Checkpoint
from symscope.training.classifier import TrainedClassifiers, train_classifiers
from symscope.training.course import MiniBatch
from symscope.training.left_out import LeftOutData, left_out_data
from symscope.training.networks import conv_net, digit_mlp, mlp, pair_mlp, vit
from symscope.training.optimiser import Optimiser
from symscope.training.points import Acted, Stored, orbit_points
from symscope.training.regressor import TrainedRegressors, train_regressors
from symscope.training.stack import Stack, stacked
from symscope.training.transformer import VisionTransformer

__all__ = [
    "Acted",
    "Checkpoint",
    "FullBatch",
    "LeftOutData",
    "MiniBatch",
    "Optimiser",
    "Stack",
    "Stored",
    "TrainedClassifiers",
    "TrainedCopies",
    "TrainedRegressors",
    "VisionTransformer",
    "conv_net",
    "digit_mlp",
    "left_out_data",
    "mlp",
    "orbit_points",
    "pair_mlp",
    "stacked",
    "train_classifiers",
    "train_copies",
    "train_regressors",
    "vit",
]
