"""What a network becomes when its layers grow without bound: its NNGP and its neural tangent kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from symscope.errors import InputError
from symscope.kernels._kernel import Kernel
from symscope.kernels.activations._hermite import QuadratureDual
from symscope.kernels.infinite._graph_reader import wide_network
from symscope.kernels.infinite._operations import Activate
from symscope.kernels.infinite._parameterisation import Prior
from symscope.kernels.infinite._propagation import kernel_blocks, working_numbers
from symscope.kernels.infinite._wide_network import WideNetwork
from symscope.numerics import check_point_sets, checked


@checked
@final
@dataclass(frozen=True)
class InfiniteWidth:
    """The two kernels of an infinitely wide network.

    Attributes:
        nngp: Covariance of the outputs over random weights (per output): `K(x, y) = E[f(x) f(y)]`.
        ntk: Neural tangent kernel (per output): `Theta(x, y) = E[grad f(x) . grad f(y)]`.
        network: The operations, as plain values.
    """

    nngp: Kernel
    ntk: Kernel
    network: WideNetwork

    def both(
        self, x1: Float[Tensor, "n1 *s"], x2: Float[Tensor, "n2 *s"] | None = None
    ) -> tuple[Float[Tensor, "n1 n2"], Float[Tensor, "n1 n2"]]:
        """NNGP and NTK in one propagation, in the dtype and on the device of the inputs.

        Works through cache-sized pieces: beyond the two results it holds a few of those, and what belongs to
        single inputs.

        Args:
            x1: First inputs.
            x2: Second inputs; None for x1 with itself.

        Returns:
            The two Gram matrices.

        Raises:
            InputError: The inputs do not fit the network or each other.

        >>> k = infinite_width(nn.Sequential(nn.Linear(2, 9), nn.ReLU(), nn.Linear(9, 1)), b_std=0.0)
        >>> nngp, ntk = k.both(torch.eye(2, dtype=torch.float64))
        >>> round(float(nngp[0, 1]) * 4 * torch.pi, 6), round(float(ntk[0, 0]), 6)
        (1.0, 0.5)
        """
        check_point_sets(x1, x2)
        nngp, ntk = _checked_blocks(self.network, x1[None], None if x2 is None else x2[None], True)
        assert nngp is not None
        assert ntk is not None
        return nngp[0], ntk[0]

    def quadrature_error(
        self, x1: Float[Tensor, "n1 *s"], x2: Float[Tensor, "n2 *s"] | None = None
    ) -> tuple[float, float]:
        """An estimate of the relative errors of NNGP and NTK due to numerical integration of activations.

        The largest change of an entry when the number of nodes is halved, over the largest entry: an upper
        bound of the error wherever the integration converges at all. Zero if every activation has a closed
        form.

        Args:
            x1: Inputs to judge by; a few are enough.
            x2: Second inputs; None for x1 with itself.

        Returns:
            The two estimates.

        >>> net = nn.Sequential(nn.Linear(3, 9), nn.Tanh(), nn.Linear(9, 1))
        >>> nngp, ntk = infinite_width(net).quadrature_error(torch.ones(1, 3, dtype=torch.float64))
        >>> nngp < 1e-9 and ntk < 1e-9
        True
        """
        coarse = _with_half_the_nodes(self.network)
        if coarse == self.network:
            return 0.0, 0.0
        check_point_sets(x1, x2)
        second = None if x2 is None else x2.double()[None]
        fine_pair = _checked_blocks(self.network, x1.double()[None], second, True)
        coarse_pair = _checked_blocks(coarse, x1.double()[None], second, True)
        nngp, ntk = (
            float((f - c).abs().max() / f.abs().max().clamp_min(1e-300))
            for f, c in zip(fine_pair, coarse_pair, strict=True)
            if f is not None and c is not None
        )
        return nngp, ntk


@checked
def infinite_width(
    module: nn.Module,
    *,
    parameterisation: str = "ntk",
    w_std: float | None = None,
    b_std: float | None = None,
    layers: Mapping[str, Mapping[str, float]] | None = None,
    init: str = "default",
    nodes: int = 1024,
) -> InfiniteWidth:
    """The kernels of a module whose hidden layers are infinitely wide.

    NTK parameterisation, layer `z = w_std / sqrt(fan_in) W a + b_std b`, W and b standard normal and both
    trained (Jacot et al. 2018, Eq. 1 and Theorem 1): `K <- w_std^2 A(K) + b_std^2`, `Theta <- w_std^2
    A(Theta) + K`, A the average over the layer's inputs; an activation takes `K <- E[phi phi]`, `Theta <-
    Theta E[phi' phi']`.

    Standard parameterisation, layer `z = W a + b` as PyTorch computes it, with `var(W) = w_std^2 / fan_in`,
    `var(b) = b_std^2`: the same K, and `Theta <- w_std^2 A(Theta) + fan_in A(K) + 1` with the module's own
    widths, so that Theta approximates the module's empirical NTK at that width (Sohl-Dickstein et al. 2020,
    section 3).

    Learning rate and time. Gradient descent with step `eta` on `sum_i |f(x_i) - y_i|^2 / 2` follows the flow
    `df/dt = -Theta (f - y)` with `t = eta * steps`, in either parameterisation with its own Theta; for the
    mean over n examples, `t = eta * steps / n`; steps must stay below `2 / lambda_max(Theta)`. A network in
    the standard parameterisation trained with `eta` is one in the NTK parameterisation whose layers have
    their own steps, `eta fan_in / w_std^2` for weights and `eta / b_std^2` for biases; so time in a wide
    standard network runs about a width faster.

    A network in evaluation mode is meant: Dropout is the identity. Scales and shifts of norms are not
    trained. Parameters with `requires_grad=False` count as random but not trained. Zero-variance
    pre-activations (a blank patch and no bias) have PyTorch's own derivative at zero.

    Args:
        module: Linear, Conv1d/2d/3d (stride, dilation, zero/circular/reflect/replicate padding), padding
            modules, Flatten, AvgPool, AdaptiveAvgPool to sizes that divide, LayerNorm, RMSNorm, GroupNorm,
            Dropout, Identity, sums of branches, and activations; nested or traced by torch.fx. The data may
            be standardised by numbers or buffers first. Images are `[n, c, h, w]`, vectors `[n, d]`.
        parameterisation: "ntk" or "standard".
        w_std: Weight scale of all layers. None: as `init` says.
        b_std: Bias scale of all layers that have biases. None: as `init` says.
        layers: Scales of single layers by qualified name, e.g. `{"0": {"w_std": 1.4}}`.
        init: Scales that are not given: "default" is `w_std = b_std = 1` in the NTK parameterisation, and
            PyTorch's default initialisation (`w_std^2 = 1/3`, `b_std^2 = 1 / (3 fan_in)`) in the standard
            one; "measured" takes the mean squares of the module's own weights and biases.
        nodes: Grid points for activations without closed form, 64 to 8192.

    Returns:
        The kernels.

    Raises:
        UnsupportedLayer: A layer has no infinite-width form; names it.
        InputError: The scales do not fit the module.

    >>> net = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 1))
    >>> k = infinite_width(net, b_std=0.0)
    >>> x = torch.tensor([[1.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
    >>> k.ntk(x).mul(4 * torch.pi).round(decimals=6).tolist()   # diagonal 2 pi: K and Theta are 1/4 each
    [[6.283185, 1.0], [1.0, 6.283185]]
    """
    if not isinstance(module, nn.Module):
        raise InputError(f"module: expected a torch.nn.Module, got {type(module).__name__}")
    if not 64 <= nodes <= 8192:
        raise InputError(f"nodes: expected 64 to 8192 grid points, got {nodes}")
    network = wide_network(module, Prior(parameterisation, init, w_std, b_std, layers or {}), nodes)
    return wide_network_kernels(network)


@checked
def wide_network_kernels(network: WideNetwork) -> InfiniteWidth:
    """The kernels of a network given by its operations.

    >>> from symscope.kernels.infinite import Dense, Input, LayerWeights, Node
    >>> dense = Dense(2, 1, LayerWeights(1.0, 0.0, 1.0, 0.0))
    >>> net = WideNetwork((Node(Input(), (), "x"), Node(dense, (0,), "linear")), "linear")
    >>> wide_network_kernels(net).ntk(torch.ones(1, 2, dtype=torch.float64)).item()
    1.0
    """

    def kernel(name: str, ntk: bool) -> Kernel:
        return Kernel(
            f"{name}({network.name})",
            partial(_blocks, network, ntk),
            partial(_diagonal, network, ntk),
            _entry_bytes,
            partial(_working_bytes, network),
            symmetric=True,
            cuts=True,
        )

    return InfiniteWidth(kernel("NNGP", False), kernel("NTK", True), network)


def _blocks(network: WideNetwork, ntk: bool, x1: Tensor, x2: Tensor | None = None) -> Tensor:
    pair = _checked_blocks(network, x1, x2, ntk, nngp=not ntk)
    wanted = pair[1] if ntk else pair[0]
    assert wanted is not None
    return wanted


def _diagonal(network: WideNetwork, ntk: bool, x: Tensor) -> Tensor:
    return _blocks(network, ntk, x[:, None])[:, 0, 0]


def _checked_blocks(
    network: WideNetwork, x1: Tensor, x2: Tensor | None, ntk: bool, nngp: bool = True
) -> tuple[Tensor | None, Tensor | None]:
    check_point_sets(x1, x2, leading=2)
    if x1.dtype not in (torch.float32, torch.float64):
        raise InputError(f"x1: expected float32 or float64, got {x1.dtype}; use x1.double()")
    return kernel_blocks(network, x1, x2, ntk, nngp)


def _entry_bytes(features: tuple[int, ...], dtype: torch.dtype) -> float:
    """Bytes per entry of a block: the two kernels and a copy of each on the way to its place."""
    return 4.0 * dtype.itemsize


def _working_bytes(
    network: WideNetwork, points: int, features: tuple[int, ...], dtype: torch.dtype, device: str
) -> float:
    """What a block takes besides: the piece in the works, and what is kept for each input."""
    return float(
        working_numbers(network, tuple(features), points, torch.device(device), dtype) * dtype.itemsize
    )


def _with_half_the_nodes(network: WideNetwork) -> WideNetwork:
    nodes = []
    for node in network.nodes:
        operation = node.operation
        if isinstance(operation, Activate) and isinstance(operation.dual, QuadratureDual):
            operation = Activate(replace(operation.dual, nodes=operation.dual.nodes // 2))
        nodes.append(replace(node, operation=operation))
    return WideNetwork(tuple(nodes), network.name)
