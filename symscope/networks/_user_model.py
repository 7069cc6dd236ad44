"""A user's network as a forecast sees it: a builder of fresh copies, checked against the data."""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from symscope.errors import InputError
from symscope.networks._functional import functional_module
from symscope.networks._named_networks import named_network
from symscope.networks._weights_files import read_weights
from symscope.networks.architectures import seeded_weights
from symscope.numerics import check_count, check_memory, checked, explained
from symscope.user_code import bind_seed, user_errors

LAYOUTS = {
    "channel": "images with a channel axis, [n, channels, height, width]",
    "flat": "flattened, [n, features]",
    "as is": "as the data has them",
}


@final
@dataclass(frozen=True)
class UserModel:
    """A network that takes the data.

    Attributes:
        name: Name in reports.
        builder: Function of a seed that gives a fresh network, in float64 and evaluation mode.
        layout: Layout of its inputs, one of `LAYOUTS`.
        outputs: Number of outputs for one input.
        parameters: Number of weights.
        fixed: Whether every seed gives the same weights, because they are read from a file.
    """

    name: str
    builder: Callable[[int], nn.Module]
    layout: str
    outputs: int
    parameters: int
    fixed: bool = False


@checked
def user_model(
    model: str | nn.Module | Callable[..., nn.Module],
    shape: Sequence[int],
    classes: int,
    *,
    name: str | None = None,
    weights: str | os.PathLike[str] | None = None,
    maps: bool = False,
) -> UserModel:
    """What the user named, gave or can build, as a `UserModel` that was tried on inputs of the data's shape.

    Args:
        model: "mlp", "conv-fc", "conv-gap" or "vit"; a function that takes nothing, or a seed, and returns a
            module; or a module, whose weights are redrawn by its layers' own `reset_parameters` for every
            seed.
        shape: Shape of one input.
        classes: Number of outputs that are needed.
        name: Name in reports; the model's own name when not given.
        weights: A saved state dict to start from, read with `weights_only=True`; then seeds change nothing.
        maps: Whether its outputs may have positions, `[n, h, w]` or `[n, c, h, w]`, which are flattened.

    Raises:
        InputError: An unknown name, a function that fails or returns something else, weights that are not
            this network's, or a network that does not take the data or changes it in place.

    >>> user_model(lambda: nn.Linear(12, 4), (3, 4), classes=4).layout
    'flat'
    """
    for side in shape:
        check_count("shape", side)
    if not len(shape):
        raise InputError("shape: expected the shape of one input, at least one axis, got ().")
    check_count("classes", classes)
    check_memory("one input", 8 * math.prod(shape), "use smaller ones")
    called = name or (model if isinstance(model, str) else _name(model))
    build = network_builder(model, tuple(shape), classes, called)
    if weights is not None:
        build = _with_weights(build, Path(weights))
    if maps:
        build = _with_rows(build)
    first = build(0)
    layout, outputs = _layout(first, tuple(shape), called)
    count = sum(weight.numel() for weight in first.parameters() if weight.requires_grad)
    if count == 0:
        raise InputError(f"{called}: expected a network with weights to train; it has none.")
    return UserModel(called, build, layout, outputs, count, weights is not None)


@explained
def arrange_inputs(points: Float[Tensor, "n *s"], layout: str) -> Float[Tensor, "n *t"]:
    """Points in the layout a model takes, contiguous: a user's `x.view(len(x), -1)` works.

    >>> images = torch.zeros(5, 2, 3)
    >>> arrange_inputs(images, "channel").shape, arrange_inputs(images, "flat").shape
    (torch.Size([5, 1, 2, 3]), torch.Size([5, 6]))
    """
    if layout == "flat":
        return points.flatten(1).contiguous()
    return (points[:, None] if layout == "channel" and points.ndim == 3 else points).contiguous()


def build_network(what: str, build: Callable[..., nn.Module], seed: int) -> nn.Module:
    """What a user's function builds, in float64 and evaluation mode, its weights drawn from the seed.

    Args:
        what: Name of the function in messages.
        build: Takes nothing, or a seed.
        seed: Seed for drawing the weights.

    Raises:
        InputError: It needs more than a seed, fails, or returns something else than a module.

    >>> build_network("--model", lambda: nn.Linear(3, 2), seed=0).weight.dtype
    torch.float64
    """
    seeded = bind_seed(what, build, seed)
    with user_errors(f"{what}: the function"), seeded_weights(seed):
        module = seeded()
    if not isinstance(module, nn.Module):
        raise InputError(
            f"{what}: expected the function to return an nn.Module, got {type(module).__name__}."
        )
    _check_castable(what, module)
    return module.to(torch.float64).eval()


def _check_castable(what: str, module: nn.Module) -> None:
    """Refuses what cannot become float64: complex or lazy weights, and code that is no longer Python's."""
    if isinstance(module, torch.jit.ScriptModule):
        raise InputError(
            f"{what}: expected a network written in Python, got TorchScript, whose weights cannot be "
            "exchanged; return the module that it was made from."
        )
    for name, value in (*module.named_parameters(), *module.named_buffers()):
        if is_lazy(value):
            raise InputError(
                f"{what}: expected weights of known shapes, got {name!r} of a lazy layer; call the network "
                "once on a sample before it is returned."
            )
        if value.is_complex():
            raise InputError(
                f"{what}: expected real weights, got {value.dtype} in {name!r}; keep real and imaginary "
                "parts as two real tensors."
            )


def _name(model: Any) -> str:
    if isinstance(model, nn.Module):
        return type(model).__name__
    return str(getattr(model, "__name__", type(model).__name__))


def network_builder(
    model: str | nn.Module | Callable[..., nn.Module], shape: tuple[int, ...], classes: int, name: str
) -> Callable[[int], nn.Module]:
    """A function of a seed that gives a fresh network, in float64 and evaluation mode.

    Args:
        model: A name, a function that builds a network, or a module, whose layers are drawn anew.
        shape: Shape of one input, for networks by name.
        classes: Number of outputs, for networks by name.
        name: Name of the network in messages.

    Raises:
        InputError: An unknown name, something else, or a module with weights that cannot be drawn anew.

    >>> network_builder(nn.Linear(3, 2), (3,), 2, "linear")(5).weight.shape
    torch.Size([2, 3])
    """
    if isinstance(model, str):
        build: Callable[..., nn.Module] = named_network(model, shape, classes)
    elif isinstance(model, nn.Module):
        build = _redrawn(model, name)
    elif callable(model):
        build = model
    else:
        raise InputError(
            "model: expected a name, an nn.Module or a function that returns one, got "
            f"{type(model).__name__}."
        )

    return lambda seed: build_network(f"model {name}", build, seed)


def _redrawn(module: nn.Module, name: str) -> Callable[[], nn.Module]:
    own = [part for part in module.modules() if next(part.parameters(recurse=False), None) is not None]
    stuck = [type(part).__name__ for part in own if not hasattr(part, "reset_parameters")]
    if stuck:
        raise InputError(
            f"model {name}: its part {stuck[0]} holds weights and has no reset_parameters, so new ones "
            "cannot be drawn; give a function that builds the network instead."
        )

    def build() -> nn.Module:
        fresh = copy.deepcopy(module).to(torch.float64)
        for part in fresh.modules():
            if next(part.parameters(recurse=False), None) is not None:
                part.reset_parameters()  # type: ignore[operator]
        return fresh

    return build


def fitting_weights(module: nn.Module, path: Path) -> Mapping[str, Tensor]:
    """A saved state dict, read with `weights_only=True`, if it is of this network.

    Raises:
        InputError: No such file, something else than a state dict, or other names and shapes.
    """
    saved = read_weights(path, "weights")
    _check_fit(module.state_dict(), saved, path)
    return saved


def _with_weights(build: Callable[[int], nn.Module], path: Path) -> Callable[[int], nn.Module]:
    first = build(0)
    saved = fitting_weights(first, path)
    loaded = functional_module(first, saved)
    state = {**loaded.trainable, **loaded.fixed}

    def made(seed: int) -> nn.Module:
        module = build(seed)
        module.load_state_dict(state, strict=False)  # non-persistent buffers are the module's own
        return module

    return made


def _with_rows(build: Callable[[int], nn.Module]) -> Callable[[int], nn.Module]:
    """Networks whose outputs are flattened to rows."""

    def made(seed: int) -> nn.Module:
        module = build(seed)
        if type(module) is nn.Sequential:  # its layers keep their names
            return module.append(nn.Flatten())
        return nn.Sequential(module, nn.Flatten()).eval()

    return made


def _check_fit(own: Mapping[str, Tensor], saved: Mapping[str, Tensor], path: Path) -> None:
    """Refuses weights that are not those of the network, with the names and shapes of the first."""
    lacking = [name for name in own if name not in saved]
    foreign = [name for name in saved if name not in own]
    problems = [f"the file lacks {_few(lacking)}"] if lacking else []
    problems += [f"the network has no {_few(foreign)}"] if foreign else []
    problems += [
        f"{name} has shape {tuple(value.shape)} in the network and {tuple(saved[name].shape)} in the file"
        for name, value in own.items()
        if name in saved and saved[name].shape != value.shape
    ]
    if problems:
        raise InputError(
            f"weights: {path} does not fit the network: {'; '.join(problems[:3])}. Save the weights of this "
            "network, or build the one they are of."
        )


def _few(names: Iterable[str]) -> str:
    """The first names, and how many more there are."""
    listed = [str(name) for name in names]
    more = f" and {len(listed) - 3} more" if len(listed) > 3 else ""
    return ", ".join(listed[:3]) + more


def _layout(module: nn.Module, shape: tuple[int, ...], name: str) -> tuple[str, int]:
    """The first layout the network takes, and its number of outputs."""
    # a channel axis first: a convolution would take images without one for a single picture
    tried = ["channel", "flat", "as is"] if len(shape) in (2, 3) else ["as is", "flat"]
    if len(shape) == 1:
        tried = ["as is"]
    problems = []
    for layout in tried:
        x = arrange_inputs(torch.rand(3, *shape, dtype=torch.float64, generator=_generator()), layout)
        given, version = x.clone(), x._version
        try:
            with user_errors("it"), torch.no_grad():
                out = module(x)
        except InputError as error:
            problems.append(f"{tuple(given.shape)}: {error}")
            continue
        if isinstance(out, Tensor) and out.ndim == 2 and len(out) == 3:
            if not out.is_floating_point():
                raise InputError(
                    f"model {name}: expected outputs of floating-point numbers, scores of classes, got "
                    f"{out.dtype}; leave argmax and rounding out of its forward."
                )
            if x._version != version or not torch.equal(x, given):
                raise InputError(
                    f"model {name}: its forward changes its input in place, so that the data would not stay "
                    "what they are; write x = x - 1 instead of x -= 1, leave inplace=True out of the first "
                    "layers, or begin with x = x.clone()."
                )
            return layout, out.shape[1]
        got = f"shape {tuple(out.shape)}" if isinstance(out, Tensor) else type(out).__name__
        problems.append(f"{tuple(x.shape)}: expected outputs [n, outputs], got {got}")
    raise InputError(
        f"model {name}: it does not take the data, samples of shape {shape}. Tried " + "; ".join(problems)
    )


def _generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)
