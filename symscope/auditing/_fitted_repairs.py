"""Repairs with new weights: a last layer refitted in closed form, fine-tuning, and projected layers."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor, nn
from torch.nn.utils.parametrize import is_parametrized
from torch.random import fork_rng

from symscope.auditing._mask_data import AuditData, MaskData, mask_scores, moved_masks
from symscope.auditing._subject import Subject
from symscope.data import LabelledData, MeasuredData
from symscope.dynamics import DeclaredNetwork, build_module
from symscope.errors import InputError
from symscope.numerics import Progress, byte_text, seeded
from symscope.training import Optimiser, StepPlan, optimiser_steps
from symscope.user_code import user_errors

STEPS = 1000  # of fine-tuning, at most
LEAST_STEPS = 10  # of fine-tuning, however long they take
BATCH = 32
RATE = 1e-3  # Adam's highest learning rate
PENALTY = 1.0  # of the squared change, relative to what varies between samples
TRIED_STEPS = 3  # steps whose time is measured
DRAWN_STEPS = 64  # steps whose samples are drawn together
RIDGES = (1e-6, 1e-4, 1e-2, 1.0)  # relative to the mean square of features
HELD = 4  # every fourth fitted sample chooses the ridge
WIDEST = 4096  # features of a layer that is refitted
LARGEST_ORBITS = 2**29  # bytes


def ridge_solution(
    features: Float64[Tensor, "n d"], targets: Float64[Tensor, "n t"], ridge: float, bias: bool
) -> tuple[Float64[Tensor, "t d"], Float64[Tensor, "t"]]:
    """The layer with the smallest `|F W^T + b - Y|^2 / n + ridge |W|^2`; b is 0 without a bias.

    >>> x = torch.tensor([[0.0], [1.0], [2.0]], dtype=torch.float64)
    >>> weight, shift = ridge_solution(x, 3 * x + 1, 0.0, bias=True)
    >>> weight.item(), shift.item()
    (3.0, 1.0)
    """
    mean, centre = features.mean(0), targets.mean(0)
    if not bias:
        mean, centre = torch.zeros_like(mean), torch.zeros_like(centre)
    rows, wanted = features - mean, targets - centre
    gram = rows.mT @ rows / len(rows)
    gram.diagonal().add_(ridge)
    weight = torch.linalg.solve(gram, rows.mT @ wanted / len(rows)).mT
    return weight, centre - weight @ mean


def refitted(subject: Subject, samples: AuditData, elements: tuple[int, ...]) -> tuple[nn.Module, str]:
    """The network with its last linear layer fitted anew on features of all transformations of samples.

    Least squares in closed form, of class indicators or targets; the ridge is chosen on every fourth sample.
    For classes the layer is then scaled so that softmax fits best there, which changes no decision.

    Args:
        subject: The network and how the group acts.
        samples: Samples to fit.
        elements: Elements to move them by, the identity included.

    Returns:
        A copy of the network, and what was done in words.

    Raises:
        InputError: No linear layer whose outputs are the network's, or too many features.
    """
    module = copy.deepcopy(subject.module)
    name, layer = _last_linear(subject, module, samples.x[:3])
    if layer.in_features > WIDEST:
        raise InputError(f"its last layer {name} has {layer.in_features} features, more than {WIDEST}")
    kept: list[Tensor] = []
    hook = layer.register_forward_pre_hook(lambda part, given: kept.append(given[0].double().cpu()))
    try:
        for g in elements:
            subject.outputs(subject.moved(g, samples.x), module)
    finally:
        hook.remove()
    features = torch.cat(kept).unflatten(0, (len(elements), len(samples)))
    wanted = _wanted(subject, samples, elements, layer.out_features)
    held = torch.arange(len(samples)) % HELD == 0
    size = float(features.square().mean())
    held_rows, held_wanted = features[:, held].flatten(0, 1), wanted[:, held].flatten(0, 1)

    def fitted(rows: Tensor, targets: Tensor, ridge: float) -> tuple[Tensor, Tensor]:
        return ridge_solution(rows.flatten(0, 1), targets.flatten(0, 1), ridge * size, layer.bias is not None)

    def loss(ridge: float) -> float:
        weight, shift = fitted(features[:, ~held], wanted[:, ~held], ridge)
        return float((held_rows @ weight.mT + shift - held_wanted).square().mean())

    ridge = min(RIDGES, key=loss)
    weight, shift = fitted(features, wanted, ridge)
    if isinstance(samples, LabelledData):
        tried, moved = fitted(features[:, ~held], wanted[:, ~held], ridge)
        scale = best_scale(held_rows @ tried.mT + moved, held_wanted)
        weight, shift = scale * weight, scale * shift
    with torch.no_grad():
        _set(layer, "weight", weight)
        if layer.bias is not None:
            _set(layer, "bias", shift)
    return module, f"layer {name}, {layer.in_features} features, relative ridge {ridge:g}"


def _set(layer: nn.Linear, name: str, value: Tensor) -> None:
    """Give a layer new weights, through its parametrization where it has one.

    Raises:
        InputError: A parametrization that cannot take these weights, as spectral norm.
    """
    value = value.to(getattr(layer, name))
    if not is_parametrized(layer, name):
        getattr(layer, name).copy_(value)
        return
    with user_errors("its last layer's parametrization"):
        setattr(layer, name, value)
    if not torch.allclose(getattr(layer, name), value, rtol=1e-3, atol=1e-5 * float(value.abs().max())):
        raise InputError("its last layer has a parametrization that cannot take other weights")


def fine_tuned(
    subject: Subject,
    samples: AuditData,
    elements: tuple[int, ...],
    *,
    penalty: bool,
    seconds: float | int,
    seed: int,
    steps: int = STEPS,
    points: Tensor | None = None,
    progress: Progress | None = None,
) -> tuple[nn.Module, str]:
    """The network trained on for a few steps, by Adam with a rate that falls to 0.

    Args:
        subject: The network and how the group acts.
        samples: Samples to fit.
        elements: Elements to draw transformations from, the identity included.
        penalty: False for transformed samples with their targets (augmentation); True for samples as they are
            plus `|f(g x) - rho(g) f(x)|^2`, which needs no targets of transformed samples.
        seconds: Time for the steps; 10 are made however long they take.
        seed: Seed for the order of samples and the elements drawn.
        steps: Most steps.
        points: From `orbit_inputs`, where several networks are trained on the same samples.
        progress: Called as `progress(words, steps done, steps)`.

    Returns:
        A copy of the network, and what was done in words.

    Raises:
        InputError: No weights to train, a network that cannot be trained, or too many numbers to hold.
    """
    module = copy.deepcopy(subject.module)
    points = orbit_inputs(subject, samples, elements) if points is None else points
    truth = _truth(subject, samples, elements).to(points.device)
    like = subject.outputs(samples.x[:64])
    spread = float((like - like.mean(0)).flatten(1).square().sum(1).mean())
    loss_of = _loss(samples, tuple(like.shape[1:]))
    generator = seeded(seed, 1 + penalty)
    first = elements.index(subject.action.group.identity)

    def loss(batch: Tensor, drawn: Tensor) -> Tensor:
        out = module(points[drawn, batch])
        if not penalty:
            return loss_of(out, truth[drawn, batch])
        plain = module(points[first, batch])
        aim = _moved_outputs(subject, elements, drawn, plain.detach())
        change = (out - aim).flatten(1).square().sum(1).mean() / max(spread, 1e-12)
        return loss_of(plain, truth[first, batch]) + PENALTY * change

    module.train()
    grad = (torch.inference_mode(False), torch.enable_grad())  # whatever the caller has switched off
    with grad[0], grad[1], user_errors(f"model {subject.name}: its training"), fork_rng(devices=[]):
        torch.manual_seed(seed)  # dropout
        draws = _draws(len(samples), len(elements), generator, points.device)
        made = _descend(module, loss, draws, len(samples), (steps, seconds), points.device, progress)
    if not all(bool(weight.isfinite().all()) for weight in module.parameters()):
        raise InputError("its weights are not finite after fine-tuning")
    return module.eval(), f"{made} steps of {min(BATCH, len(samples))} samples, Adam, rate {RATE:g} to 0"


def orbit_inputs(subject: Subject, samples: AuditData, elements: tuple[int, ...]) -> Float[Tensor, "k n *s"]:
    """Samples moved by each element, as the network takes them.

    Raises:
        InputError: Too many numbers to hold.
    """
    needed = len(elements) * samples.x.numel() * 4
    if needed > LARGEST_ORBITS:
        raise InputError(f"all transformations of {len(samples)} samples need {byte_text(needed)}")
    return torch.stack([subject.inputs(subject.moved(g, samples.x)) for g in elements])


def projected(subject: Subject) -> tuple[nn.Module, str]:
    """A declared network of `symscope.dynamics` with its layers projected on equivariant ones.

    Raises:
        InputError: A network that declares no representations.
    """
    network = getattr(subject.module, "network", None)
    if not isinstance(network, DeclaredNetwork):
        raise InputError("its layers declare no representations to project on (symscope.dynamics)")
    module: Any = copy.deepcopy(subject.module)
    nearest = build_module(network, module.matrices(), equivariant=True).matrices()
    with torch.no_grad():
        for layer, matrix in zip(module.layers, nearest, strict=True):
            if hasattr(layer, "weight"):
                layer.weight.copy_(matrix)
    return module, f"{len(nearest)} layers"


def _draws(
    samples: int, elements: int, generator: torch.Generator, device: torch.device
) -> Iterator[tuple[Int64[Tensor, "b"], Int64[Tensor, "b"]]]:
    """For each step the samples and the elements that move them, brought to the device many at a time."""
    size = min(BATCH, samples)
    while True:
        pairs = [
            torch.stack(
                [
                    torch.randperm(samples, generator=generator)[:size],
                    torch.randint(elements, (size,), generator=generator),
                ]
            )
            for _ in range(DRAWN_STEPS)
        ]
        yield from ((pair[0], pair[1]) for pair in torch.stack(pairs).to(device))


def _clock(device: torch.device) -> float:
    """The time when all that was asked of a device is done."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


def _descend(
    module: nn.Module,
    loss: Callable[[Tensor, Tensor], Tensor],
    draws: Iterator[tuple[Tensor, Tensor]],
    samples: int,
    limits: tuple[int, float | int],
    device: torch.device,
    progress: Progress | None,
) -> int:
    """Steps of Adam, as many as number and time allow; the number of steps."""
    most, seconds = limits
    rule, size = Optimiser("adam", RATE), min(BATCH, samples)
    take_step = optimiser_steps(rule, module.parameters())
    plan, step, start = StepPlan(most, size, rule), 0, 0.0
    while step < plan.steps:
        if step == 1:
            start = _clock(device)  # the first step loads kernels
        if step == 1 + TRIED_STEPS:
            possible = int(seconds / max(1e-9, (_clock(device) - start) / TRIED_STEPS))
            plan = StepPlan(min(most, max(LEAST_STEPS, possible)), size, rule)
        loss(*next(draws)).backward()
        take_step(RATE * plan.rate(step))
        step += 1
        if progress and step % 20 == 0:
            progress("fine-tuning", step, plan.steps)
    return plan.steps


def _last_linear(subject: Subject, module: nn.Module, x: Tensor) -> tuple[str, nn.Linear]:
    """The linear layer whose outputs are those of the network."""
    results: dict[str, Tensor] = {}
    hooks = [
        part.register_forward_hook(lambda part, given, out, name=name: results.update({name: out}))
        for name, part in module.named_modules()
        if isinstance(part, nn.Linear)
    ]
    try:
        final = subject.call(module, subject.inputs(x))
    finally:
        for hook in hooks:
            hook.remove()
    for name, out in reversed(results.items()):
        if out.ndim == 2 and out.shape == final.shape and torch.equal(out, final):
            layer = module.get_submodule(name)
            assert isinstance(layer, nn.Linear)
            return name or "of the network", layer
    raise InputError("no linear layer gives its outputs")


def _wanted(
    subject: Subject, samples: AuditData, elements: tuple[int, ...], outputs: int
) -> Float64[Tensor, "k n t"]:
    """What a linear layer should give for each transformation: class indicators, or targets moved."""
    if isinstance(samples, MeasuredData):
        return _truth(subject, samples, elements).double().flatten(2)
    if isinstance(samples, MaskData):
        raise InputError("its outputs have positions, a row of features for each sample is needed")
    if outputs == 1:
        rows = 2.0 * samples.labels.double()[:, None] - 1
    else:
        rows = nn.functional.one_hot(samples.labels, outputs).double()
    return rows.expand(len(elements), *rows.shape)


def _truth(
    subject: Subject, samples: AuditData, elements: tuple[int, ...]
) -> Float[Tensor, "k n *t"] | Tensor:
    """Class, mask, or targets `rho(g) y` in the shape of outputs, of all transformations of all samples."""
    if isinstance(samples, LabelledData):
        return samples.labels.expand(len(elements), -1)
    if isinstance(samples, MaskData):
        if samples.masks is None:
            raise InputError("the data has no labels")
        return torch.stack([moved_masks(subject.target, g, samples.masks) for g in elements])
    shape = subject.outputs(samples.x[:1]).shape[1:]
    if samples.targets[0].numel() != shape.numel():
        raise InputError(f"its outputs {tuple(shape)} are not the {samples.targets.shape[1]} numbers given")
    targets = samples.targets.double().reshape(len(samples), *shape)
    if subject.target is None:
        return targets.expand(len(elements), *targets.shape)
    return torch.stack([subject.target.act(g, targets) for g in elements])


def _loss(samples: AuditData, shape: tuple[int, ...]) -> Callable[[Tensor, Tensor], Tensor]:
    if isinstance(samples, MeasuredData):
        return lambda out, truth: (out.reshape(truth.shape) - truth.to(out.dtype)).square().mean()
    if isinstance(samples, MaskData):
        return _mask_loss
    if shape == (1,):
        return lambda out, truth: nn.functional.binary_cross_entropy_with_logits(
            out.reshape(-1), truth.to(out.dtype)
        )
    return nn.functional.cross_entropy


def _mask_loss(out: Tensor, truth: Tensor) -> Tensor:
    scores = mask_scores(out, truth)
    if scores is None:
        raise InputError("its outputs are no scores of the classes of the masks")
    return nn.functional.cross_entropy(scores, truth)


def _moved_outputs(subject: Subject, elements: tuple[int, ...], drawn: Tensor, out: Tensor) -> Tensor:
    """`rho(g) f(x)`, each row by the element drawn for it."""
    if subject.target is None:
        return out
    moved = out.clone()
    for place in drawn.unique().tolist():
        rows = drawn == place
        moved[rows] = subject.target.act(elements[place], out[rows])
    return moved


def best_scale(outputs: Float64[Tensor, "n c"], wanted: Float64[Tensor, "n c"]) -> float:
    """The factor of outputs with the smallest cross-entropy, of factors 5 % apart from 0.1 to 100.

    Args:
        outputs: A row for each sample.
        wanted: Class indicators; 1 or -1 where there is a single output.
    """
    factors = torch.logspace(-1, 2, 142, dtype=torch.float64)
    if outputs.shape[1] == 1:
        losses = [nn.functional.softplus(-k * outputs * wanted).mean() for k in factors]
    else:
        rows = (outputs * wanted).sum(1)
        losses = [((k * outputs).logsumexp(1) - k * rows).mean() for k in factors]
    return float(factors[torch.stack(losses).argmin()])
