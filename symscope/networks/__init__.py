"""A module as a function of its weights: functional form, copies, architectures by name, losses."""

from symscope.networks._architectures import conv_net, digit_mlp, mlp, pair_mlp, vit
from symscope.networks._forward_profile import ForwardProfile, forward_profile
from symscope.networks._functional import FunctionalModule, SavedWeights, evaluation, functional_module
from symscope.networks._initialisation import seeded_weights
from symscope.networks._jacobian import Jacobian
from symscope.networks._named_networks import NETWORKS, pooling
from symscope.networks._stack import (
    Builder,
    Stack,
    batched_outputs,
    check_fits,
    in_mode,
    keeps_statistics,
    noise,
    stacked,
)
from symscope.networks._torch_private import is_view
from symscope.networks._tracing import UntraceableModule, trace_module
from symscope.networks._user_code import is_users, named_function, user_error, with_seed
from symscope.networks._user_model import Model, as_model, laid_out
from symscope.networks._vision_transformer import VisionTransformer
from symscope.networks._window_convolution import by_windows
from symscope.networks.losses import LOSSES, Loss, named_loss, sample_losses

__all__ = [
    "LOSSES",
    "NETWORKS",
    "Builder",
    "ForwardProfile",
    "FunctionalModule",
    "Jacobian",
    "Loss",
    "Model",
    "SavedWeights",
    "Stack",
    "UntraceableModule",
    "VisionTransformer",
    "as_model",
    "batched_outputs",
    "by_windows",
    "check_fits",
    "conv_net",
    "digit_mlp",
    "evaluation",
    "forward_profile",
    "functional_module",
    "in_mode",
    "is_users",
    "is_view",
    "keeps_statistics",
    "laid_out",
    "mlp",
    "named_function",
    "named_loss",
    "noise",
    "pair_mlp",
    "pooling",
    "sample_losses",
    "seeded_weights",
    "stacked",
    "trace_module",
    "user_error",
    "vit",
    "with_seed",
]
