"""A module as a function of its weights, and what is made of modules: copies, losses, users' networks.

Beyond this index, for the papers and specialists:

- `symscope.networks.architectures`: the papers' networks, and weights that depend on a seed alone
- `symscope.networks.structured`: networks for sets, point clouds, graphs and series
- `symscope.networks.losses`: losses by name and as functions, one number per sample
"""

from symscope.networks._functional import ForwardProfile, forward_profile
from symscope.networks._functional import (
    FunctionalModule,
    SavedWeights,
    eval_mode,
    evaluation,
    functional_module,
)
from symscope.networks._jacobian import Jacobian
from symscope.networks._named_networks import NETWORKS
from symscope.networks._stack import Stack, batched_outputs, stack_networks
from symscope.networks._torch_private import is_view
from symscope.networks._tracing import UntraceableModule, trace_module
from symscope.networks._user_model import (
    UserModel,
    arrange_inputs,
    build_network,
    fitting_weights,
    network_builder,
    user_model,
)
from symscope.networks.losses import LOSSES, Loss, named_loss, sample_losses

__all__ = [
    # a module as a function of its weights
    "ForwardProfile",
    "FunctionalModule",
    "Jacobian",
    "SavedWeights",
    "eval_mode",
    "evaluation",
    "forward_profile",
    "functional_module",
    "is_view",
    # its torch.fx graph
    "UntraceableModule",
    "trace_module",
    # many copies along one axis
    "Stack",
    "batched_outputs",
    "stack_networks",
    # losses by name
    "LOSSES",
    "Loss",
    "named_loss",
    "sample_losses",
    # a user's own network, or one by name
    "NETWORKS",
    "UserModel",
    "arrange_inputs",
    "build_network",
    "fitting_weights",
    "network_builder",
    "user_model",
]
