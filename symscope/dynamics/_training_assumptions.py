"""The paper's three assumptions, measured before training."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, final

import torch
from torch import Tensor

from symscope.dynamics.averaged_elements import element_name, probes
from symscope.dynamics.layer_steps import summands
from symscope.dynamics.risks import TrainingProblem
from symscope.errors import InputError
from symscope.groups import Representation
from symscope.networks import sample_losses
from symscope.numerics import checked, seed_generator

TOLERANCE = 1e-8
SAMPLES = 7  # an odd number of random samples; batches of them meet normalisation too


@final
@dataclass(frozen=True)
class TrainingAssumption:
    """One assumption and whether it holds.

    Attributes:
        number: 1, 2 or 3, as in the paper.
        statement: What is assumed.
        holds: The verdict.
        error: The largest relative violation found; infinite where a value is not finite.
        detail: Layer and element that show the violation, or how it was checked.
    """

    number: int
    statement: str
    holds: bool
    error: float
    detail: str

    def __str__(self) -> str:
        verdict = "holds" if self.holds else "FAILS"
        return f"Assumption {self.number} {verdict} (error {self.error:.1e}): {self.statement} {self.detail}"


@checked
def training_assumptions(
    problem: TrainingProblem, *, seed: int = 0, samples: int = 64, tolerance: float = TOLERANCE
) -> tuple[TrainingAssumption, TrainingAssumption, TrainingAssumption]:
    """Verdicts on the three assumptions of Section 3.2, for one problem.

    Args:
        problem: Network, loss and data.
        seed: Seed for random vectors, and for elements where there are too many.
        samples: Elements to test on: all of a smaller group, else generators and this many random ones.
        tolerance: Largest relative violation that counts as rounding.

    >>> from symscope.groups import cyclic, permutation, trivial
    >>> from symscope.dynamics import declare_network
    >>> from symscope.networks.losses import half_squared_loss
    >>> g = cyclic(4); v = permutation(g)
    >>> x = torch.eye(4).double()
    >>> problem = TrainingProblem(declare_network([v, v]), half_squared_loss, x, x)
    >>> [result.holds for result in training_assumptions(problem)]
    [True, True, True]
    """
    generator = seed_generator(seed)
    elements = probes(problem.network.group, samples, generator)
    return (
        _unitary(problem, elements, generator, tolerance),
        _equivariant(problem, elements, generator, tolerance),
        _invariant(problem, elements, generator, tolerance),
    )


@checked
def check_training_assumptions(problem: TrainingProblem, *, seed: int = 0, samples: int = 64) -> None:
    """Raise unless the three assumptions hold; arguments as in `training_assumptions`.

    Raises:
        InputError: Names the assumption, the layer and the element that shows it, and what to do.
    """
    remedies = {
        1: "change the basis with groups.unitary_form(rep), which gives (unitary, S), and write x as S x; or "
        "correct the representation.",
        2: "use pointwise steps on permutation representations only, norm_gate elsewhere.",
        3: "choose a loss that compares coordinates as the group moves them, such as half_squared_loss.",
    }
    for result in training_assumptions(problem, seed=seed, samples=samples):
        if not result.holds:
            finite = math.isfinite(result.error)
            remedy = remedies[result.number] if finite else "choose one that is finite on all numbers."
            raise InputError(f"{result} What to do: {remedy}")


def _unitary(
    problem: TrainingProblem, elements: list[Any], generator: torch.Generator, tolerance: float
) -> TrainingAssumption:
    network = problem.network
    worst, detail = 0.0, "Every space, on random vectors."
    spaces = [("X_0", network.sources[0])]
    spaces += [(f"X_{i + 1}", space) for i, space in enumerate(network.targets)]
    for name, space in spaces:
        for _, rep in summands(space):
            x = torch.randn(SAMPLES, rep.dim, dtype=torch.float64, generator=generator)
            # each element after itself and after the next: generators are among them
            pairs = [*zip(elements, elements, strict=True), *pairwise(elements)]
            for g, h in pairs:
                error, what = _representation_error(rep, g, h, x)
                if error > worst:
                    where = f"{rep.name} in {name}, element {element_name(space.group, g)}"
                    worst, detail = error, f"{what} ({where})."
    statement = "The group acts on every space by unitary matrices."
    return TrainingAssumption(1, statement, worst <= tolerance, worst, detail)


def _representation_error(rep: Representation, g: Any, h: Any, x: Tensor) -> tuple[float, str]:
    moved = rep.act(g, x)
    size = float(torch.linalg.vector_norm(x))
    gram = float((moved @ moved.mH - x @ x.mH).abs().max()) / size**2
    product = rep.act(rep.group.multiply(h, g), x)
    law = float(torch.linalg.vector_norm(rep.act(h, moved) - product)) / size
    if not math.isfinite(gram + law):
        return math.inf, "It gives values that are not finite"
    return (gram, "It changes inner products") if gram >= law else (law, "It does not multiply as the group")


def _equivariant(
    problem: TrainingProblem, elements: list[Any], generator: torch.Generator, tolerance: float
) -> TrainingAssumption:
    network = problem.network
    worst, detail = 0.0, "Every step after every layer, on random vectors."
    for layer, steps in enumerate(network.steps):
        space = network.targets[layer]
        for step in steps:
            z = 2 * torch.randn(SAMPLES, space.dim, dtype=torch.float64, generator=generator)
            target = step.target(space)
            plain = step.function(z, space)
            size = max(float(torch.linalg.vector_norm(plain)), torch.finfo(torch.float64).tiny)
            for g in elements:
                moved = step.function(space.act(g, z), space)
                error = _relative(torch.linalg.vector_norm(moved - target.act(g, plain)), size)
                if error > worst:
                    where = f"{step.name} after layer {layer} on {space.name}"
                    worst, detail = error, _detail(where, element_name(space.group, g), error)
            space = target
    statement = "The nonlinearities are equivariant."
    return TrainingAssumption(2, statement, worst <= tolerance, worst, detail)


def _invariant(
    problem: TrainingProblem, elements: list[Any], generator: torch.Generator, tolerance: float
) -> TrainingAssumption:
    space = problem.network.output
    y = problem.y.reshape(-1, problem.y.shape[-2], space.dim)[0][:64].to(device="cpu", dtype=torch.float64)
    prediction = torch.randn(y.shape, dtype=torch.float64, generator=generator)
    plain = sample_losses(problem.loss, prediction, y)
    size = max(float(plain.abs().max()), torch.finfo(torch.float64).tiny)
    worst, detail = 0.0, "Random predictions against the problem's own targets."
    for g in elements:
        moved = problem.loss(space.act(g, prediction), space.act(g, y))
        error = _relative((moved - plain).abs().max(), size)
        if error > worst:
            where = f"The loss on {space.name}"
            worst, detail = error, _detail(where, element_name(space.group, g), error)
    return TrainingAssumption(3, "The loss is invariant.", worst <= tolerance, worst, detail)


def _relative(difference: Tensor, size: float) -> float:
    """A relative error that nothing exceeds where a value is NaN or infinite."""
    error = float(difference) / size
    return error if math.isfinite(error) else math.inf


def _detail(where: str, element: str, error: float) -> str:
    finite = math.isfinite(error)
    return f"{where}, element {element}." if finite else f"{where} gives values that are not finite."
