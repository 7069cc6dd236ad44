"""From a kernel and an action to what is predicted at missing points, in one call that chooses the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from jaxtyping import Bool, Shaped
from torch import Tensor, nn

from symscope.data import Action, check_action
from symscope.errors import InputError
from symscope.numerics import Progress, byte_count, check_ridge, checked, usable_device
from symscope.spectral._kernel_entries import OrbitPoints, check_samples
from symscope.spectral._leave_out import orbit_labels
from symscope.spectral._leave_out_result import LeaveOut
from symscope.spectral._missing_sets import check_sample_classes, class_masks, missing_sets
from symscope.spectral._orbit_inverse import OrbitInverse, orbit_quotient
from symscope.spectral._orbit_tiles import projected_kernel

KernelFunction = Callable[[Tensor, Tensor], Tensor]
TRIED = 8  # samples on which an action is asked whether it is one


@checked
def leave_out_orbits(
    kernel: KernelFunction,
    action: Action,
    samples: Shaped[Tensor, "*shape"],
    labels: Shaped[Tensor, "labels *c"],
    ridge: float,
    *,
    missing: Bool[Tensor, "*sets samples elements"] | None = None,
    memory: int | float | str = "2GB",
    device: torch.device | str | None = None,
    progress: Progress | None = None,
) -> LeaveOut:
    """What kernel regression on whole orbits predicts at points it has not seen.

    Samples that some elements fix are found, and their points count once. Where the action or the
    kernel's symmetry is only approximate, the kernel is replaced by the nearest invariant one, block by block
    over pairs of orbits; `invariance_error` is how far that is, and `explanation` mentions it. Points that
    nearly coincide then all count; those that coincide count once.

    Args:
        kernel: `(x1 [a, *sample], x2 [b, *sample]) -> [a, b]`: any `symscope.kernels.Kernel`, such as the
            `ntk` of `kernels.infinite_width(network)`.
        action: Action on the samples, `data.rotation(8)`.
        samples: One sample of each orbit, `[m, *channels, *sample]`, floating point.
        labels: Classes, whole numbers `[m]`, which become one-hot vectors in increasing order; or one
            number or vector for each orbit, or for each of its points, `[m |G|, *c]`.
        ridge: Number added to the diagonal of K; there is no default.
        missing: The points left out, as in `leave_out`; by default the samples themselves, class by class.
        memory: What may be used besides samples and missing sets, in bytes or as text.
        device: Device to compute on; the samples' device when None.
        progress: Called as `progress("kernel" or "irreps", done, total)`.

    Raises:
        InputError: As for `leave_out` and `kernel_profile`; a function that is no action of its group; labels
            that are not classes without missing points; or too little memory (says how much is needed).

    >>> from symscope import data, kernels
    >>> digits = data.mnist_sample().per_class(2, seed=0).standardised()
    >>> net = nn.Sequential(nn.Flatten(), nn.Linear(784, 8), nn.ReLU(), nn.Linear(8, 10))
    >>> ntk = kernels.infinite_width(net).ntk
    >>> result = leave_out_orbits(ntk, data.rotation(4), digits.x, digits.labels, ridge=0.0)
    >>> result.points, len(result.residual), result.invariance_error
    (80, 20, 0.0)
    """
    check_samples(samples)
    check_ridge(ridge)
    values = _outputs(labels, len(samples))
    masks = _by_class(labels, action) if missing is None else missing
    x, group, budget = samples.to(usable_device(device, samples)), action.group, byte_count(memory)
    check_action(action, x[:TRIED])
    orbits = OrbitPoints(x, group, action.orbit)
    points = orbit_quotient(orbits, budget)
    inverse = OrbitInverse(projected_kernel(kernel, orbits), orbits, points, ridge, budget, progress=progress)
    result = inverse.left_out(orbit_labels(values, group, points), missing_sets(masks, group, points))
    invariance_error = inverse.norms.invariance_error
    if not invariance_error:
        return result
    note = (
        f"The kernel is not invariant under {group.name} ({action.name}: {100 * invariance_error:.2g} %); it "
        "was replaced by the nearest one that is."
    )
    return replace(
        result, invariance_error=invariance_error, explanation=f"{note} {result.explanation}".strip()
    )


def _outputs(labels: Shaped[Tensor, "*shape"], samples: int) -> Shaped[Tensor, "m *c"]:
    """Numbers as they are; classes as one-hot vectors."""
    if labels.is_floating_point() or labels.ndim != 1:
        return labels
    check_sample_classes(labels, samples)
    return nn.functional.one_hot(labels.unique(return_inverse=True)[1]).double()


def _by_class(labels: Shaped[Tensor, "*shape"], action: Action) -> Bool[Tensor, "c m n"]:
    if labels.is_floating_point() or labels.ndim != 1:
        raise InputError(
            "missing: labels that are not classes do not say what to leave out together; mark the points, "
            "[samples, elements] or [sets, samples, elements]"
        )
    return class_masks(labels, action.group, action.group.identity)
