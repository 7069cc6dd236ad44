"""A module as a function of its weights: functional form, copies, architectures by name, losses."""

from symscope.networks._architectures import conv_net, digit_mlp, mlp, pair_mlp, vit
from symscope.networks._functional import (
    DEFAULT_MEMORY,
    FiniteNetwork,
    Params,
    Probe,
    Weights,
    check_inputs,
    evaluation,
    finite_network,
    outputs,
    probe,
)
from symscope.networks._initialisation import seeded_weights
from symscope.networks._jacobian import flattened, jacobian_rows, named, product, products, transposed_product
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
from symscope.networks._tracing import UntraceableModule, trace_module
from symscope.networks._user_code import is_users, named_function, user_error, with_seed
from symscope.networks._user_model import Model, as_model, laid_out
from symscope.networks._vision_transformer import VisionTransformer
from symscope.networks._window_convolution import by_windows
from symscope.networks.losses import LOSSES, Loss, named_loss, sample_losses

__all__ = [
    "DEFAULT_MEMORY",
    "LOSSES",
    "NETWORKS",
    "Builder",
    "FiniteNetwork",
    "Loss",
    "Model",
    "Params",
    "Probe",
    "Stack",
    "UntraceableModule",
    "VisionTransformer",
    "Weights",
    "as_model",
    "batched_outputs",
    "by_windows",
    "check_fits",
    "check_inputs",
    "conv_net",
    "digit_mlp",
    "evaluation",
    "finite_network",
    "flattened",
    "in_mode",
    "is_users",
    "jacobian_rows",
    "keeps_statistics",
    "laid_out",
    "mlp",
    "named",
    "named_function",
    "named_loss",
    "noise",
    "outputs",
    "pair_mlp",
    "pooling",
    "probe",
    "product",
    "products",
    "sample_losses",
    "seeded_weights",
    "stacked",
    "trace_module",
    "transposed_product",
    "user_error",
    "vit",
    "with_seed",
]
