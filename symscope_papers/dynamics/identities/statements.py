"""Every lemma, proposition and corollary of the paper as a number that is zero when it holds.

Each is computed from independent ingredients: sums over all group elements on one side, projections found
from generators on the other; derivatives by automatic differentiation of the risk in question.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import final

import torch
from torch import Tensor

from symscope.dynamics import (
    DeclaredNetwork,
    TrainingProblem,
    gradient_field,
    training_descent,
    training_flow,
)
from symscope.dynamics.averaged_elements import all_elements
from symscope.dynamics.gradients import (
    augmented_gradient,
    equivariant_gradient,
    gradient_of,
    nominal_gradient,
)
from symscope.dynamics.layer_vectors import (
    LayerWeights,
    flatten,
    gaussian_weights,
    inner,
    norm,
    project,
    residual,
    subtract,
    transform,
    unflatten,
)
from symscope.dynamics.risks import (
    augmented_problem,
    augmented_risk,
    equivariant_risk,
    feature_averaged_risk,
    nominal_risk,
)
from symscope.groups import direct_sum, equivariant_maps, hom
from symscope_papers.dynamics.dense_hessian import hessian_of
from symscope_papers.dynamics.minima import stationary_targets

FLOW_TIME = 0.5


@final
@dataclass(frozen=True)
class PaperIdentity:
    """One statement of the paper on one problem.

    Attributes:
        name: "Lemma 4".
        statement: Statement in words.
        error: The largest relative violation; rounding when it holds.
    """

    name: str
    statement: str
    error: float


def identity_errors(problem: TrainingProblem, *, seed: int = 0) -> tuple[PaperIdentity, ...]:
    """Every identity of `IDENTITIES` on one problem, with random layers.

    Args:
        problem: A small network (matrices of all elements on all layers are built), float64, with at least as
            many target numbers as E has dimensions.
        seed: Seed for the random layers.

    >>> from symscope.groups import cyclic, permutation
    >>> from symscope.dynamics import declare_network
    >>> from symscope.networks.losses import half_squared_loss
    >>> v = permutation(cyclic(3)); x = torch.eye(3).double()
    >>> y = x.flip(0) ** 2 + x[1]
    >>> result = identity_errors(TrainingProblem(declare_network([v, v, v]), half_squared_loss, x, y))
    >>> len(result), max(one.error for one in result) < 1e-10
    (13, True)
    """
    out = []
    for name, one in IDENTITIES.items():
        generator = torch.Generator().manual_seed(seed)
        out.append(PaperIdentity(name, one.statement, one.check(problem, generator)))
    return tuple(out)


def equation_3_gap(problem: TrainingProblem, *, seed: int = 0, inside: bool = False) -> float:
    """`R_aug(A) - R_FA(A)` relative to R_aug, for random layers in E or off it: zero if Eq. 3 holds there."""
    weights = _random_layers(problem.network, torch.Generator().manual_seed(seed))
    weights = project(problem.network, weights) if inside else weights
    augmented = float(augmented_risk(problem, weights))
    return (augmented - float(feature_averaged_risk(problem, weights))) / augmented


def induced_matrices(network: DeclaredNetwork) -> Tensor:
    """rho_bar(g) on flattened layers for every element, `[order, parameters, parameters]`."""
    eye = unflatten(network, torch.eye(network.parameters, dtype=torch.float64))
    moved = [flatten(transform(network, g, eye)).T for g in all_elements(network.group)]
    return torch.stack(moved)


def _random_layers(network: DeclaredNetwork, generator: torch.Generator) -> LayerWeights:
    return gaussian_weights(network, generator, scale="preserving")


def _gap(a: Tensor, b: Tensor) -> float:
    """`|a - b|` relative to the larger of the two."""
    size = max(float(torch.linalg.vector_norm(a)), float(torch.linalg.vector_norm(b)), 1e-300)
    return float(torch.linalg.vector_norm(a - b)) / size


def _lemma_1(problem: TrainingProblem, generator: torch.Generator) -> float:
    """Layers of E are fixed by all g; and no others are: the characters count the fixed dimensions."""
    network = problem.network
    inside = project(network, _random_layers(network, generator))
    elements = all_elements(network.group)
    moved = max(_gap(flatten(transform(network, g, inside)), flatten(inside)) for g in elements)
    traces = [
        sum(float(w(g).trace() * v(g).trace()) for v, w in zip(network.sources, network.targets, strict=True))
        for g in elements
    ]
    return max(moved, abs(sum(traces) / len(traces) - network.equivariant_dimension))


def _lemma_2(problem: TrainingProblem, generator: torch.Generator) -> float:
    network = problem.network
    a, b = _random_layers(network, generator), _random_layers(network, generator)
    moved = [flatten(transform(network, g, a)) for g in all_elements(network.group)]
    mean = _gap(torch.stack(moved).mean(dim=0), flatten(project(network, a)))
    angle = abs(float(inner(residual(network, a), project(network, b)))) / float(norm(a) * norm(b))
    return max(mean, angle)


def _lemma_3(problem: TrainingProblem, generator: torch.Generator) -> float:
    """For any layers, transformed back; and for layers of E, which stay what they are."""
    network, group = problem.network, problem.network.group
    weights = _random_layers(network, generator)
    inside = project(network, weights)
    errors = []
    for g in all_elements(group):
        moved = network.sources[0].act(g, problem.x)
        for layers, back in ((weights, transform(network, group.inverse(g), weights)), (inside, inside)):
            right = network.output.act(g, network.forward(back, problem.x))
            errors.append(_gap(network.forward(layers, moved), right))
    return max(errors)


def _lemma_4(problem: TrainingProblem, generator: torch.Generator) -> float:
    weights = _random_layers(problem.network, generator)
    return _gap(augmented_risk(problem, weights), augmented_risk(problem, weights, over="layers"))


def _lemma_5(problem: TrainingProblem, generator: torch.Generator) -> float:
    """Against the projection on maps L -> L that commute with G, found from generators."""
    network = problem.network
    a, b = flatten(_random_layers(network, generator)), flatten(_random_layers(network, generator))
    outer = torch.outer(a, b)
    rho = induced_matrices(network)
    mean = torch.einsum("gij,jk,glk->il", rho, outer, rho) / len(rho)
    space = direct_sum(*(hom(v, w) for v, w in zip(network.sources, network.targets, strict=True)))
    return _gap(mean, equivariant_maps(space, space).project(outer))


def _lemma_6(problem: TrainingProblem, generator: torch.Generator) -> float:
    network = problem.network
    count = network.parameters
    form = torch.randn(count, count, generator=generator, dtype=torch.float64)
    inside = flatten(project(network, _random_layers(network, generator)))
    outside = flatten(residual(network, _random_layers(network, generator)))
    rho = induced_matrices(network)
    projected = torch.einsum("gij,jk,glk->il", rho, form, rho) / len(rho)
    same = abs(float(inside @ projected @ inside - inside @ form @ inside)) / float(inside @ inside)
    size = float(torch.linalg.vector_norm(inside) * torch.linalg.vector_norm(outside))
    cross = abs(float(inside @ projected @ outside)) / size if size else 0.0
    return max(same, cross)


def _lemma_7(problem: TrainingProblem, generator: torch.Generator) -> float:
    network = problem.network
    a, b = _random_layers(network, generator), _random_layers(network, generator)
    size = float(norm(a) * norm(b))
    product = float(inner(a, b))
    moved = [(transform(network, g, a), transform(network, g, b)) for g in all_elements(network.group)]
    return max(abs(float(inner(x, y)) - product) / size for x, y in moved)


def _proposition_1(problem: TrainingProblem, generator: torch.Generator) -> float:
    network = problem.network
    inside = project(network, _random_layers(network, generator))
    augmented = flatten(augmented_gradient(problem, inside))
    projected = flatten(project(network, nominal_gradient(problem, inside)))
    equivariant = flatten(gradient_of(partial(equivariant_risk, problem), inside))
    return max(_gap(augmented, projected), _gap(equivariant, projected))


def _proposition_2(problem: TrainingProblem, generator: torch.Generator) -> float:
    network = problem.network
    inside = flatten(project(network, _random_layers(network, generator)))
    rho = induced_matrices(network)
    plain = hessian_of(partial(nominal_risk, problem), network, inside)
    augmented = hessian_of(partial(nominal_risk, augmented_problem(problem)), network, inside)
    equivariant = hessian_of(partial(equivariant_risk, problem), network, inside)
    averaged = torch.einsum("gij,jk,glk->il", rho, plain, rho) / len(rho)
    projector = rho.mean(dim=0)
    return max(_gap(augmented, averaged), _gap(equivariant, projector @ plain @ projector))


def _proposition_3(problem: TrainingProblem, generator: torch.Generator) -> float:
    """Positive curvature is passed on: lowest of R <= lowest of R_aug <= lowest of R_eqv on E."""
    network = problem.network
    inside = flatten(project(network, _random_layers(network, generator)))
    plain = hessian_of(partial(nominal_risk, problem), network, inside)
    augmented = hessian_of(partial(nominal_risk, augmented_problem(problem)), network, inside)
    values, vectors = torch.linalg.eigh(induced_matrices(network).mean(dim=0))
    basis = vectors[:, values > 0.5]
    equivariant = basis.T @ hessian_of(partial(equivariant_risk, problem), network, inside) @ basis
    low = [float(torch.linalg.eigvalsh(h)[0]) for h in (plain, augmented, equivariant)]
    size = float(torch.linalg.matrix_norm(plain))
    return max(low[0] - low[1], low[1] - low[2], 0.0) / size


def _corollary_1(problem: TrainingProblem, generator: torch.Generator) -> float:
    """The augmented flow from E, followed by the ODE solver, stays in E; descent is that of R_eqv.

    Where slopes jump, a flow may slide along a kink and cannot be followed; descent alone is looked at then.
    """
    network = problem.network
    inside = project(network, _random_layers(network, generator))
    # steps of equal length: an adaptive solver would take others for fields that differ by rounding
    ends = [
        training_descent(network, gradient_field(problem, strategy), inside, rate=0.01, steps=50, every=50)
        for strategy in ("augmented", "equivariant")
    ]
    apart = norm(subtract(ends[0].weights[-1], ends[1].weights[-1])) / ends[0].travelled()[-1]
    paths = ends[:1]
    if not any(step.kinked for steps in network.steps for step in steps):
        paths.append(training_flow(network, gradient_field(problem, "augmented"), inside, [FLOW_TIME]))
    return max(float(apart), *(float(path.drift()[-1] / path.travelled()[-1]) for path in paths))


def _corollary_2(problem: TrainingProblem, generator: torch.Generator) -> float:
    """Targets are moved until layers are stationary for R_eqv; the gradient of R_aug must vanish there.

    It is measured against the gradient of R, which need not.
    """
    layers = project(problem.network, _random_layers(problem.network, generator))
    stationary = stationary_targets(problem, layers)
    plain = float(norm(nominal_gradient(problem, layers)))
    equivariant = float(norm(equivariant_gradient(stationary, layers)))
    return max(float(norm(augmented_gradient(stationary, layers))), equivariant) / plain


def _decoupling(problem: TrainingProblem, generator: torch.Generator) -> float:
    """No curvature of R_aug mixes E and E_perp."""
    network = problem.network
    inside = flatten(project(network, _random_layers(network, generator)))
    augmented = hessian_of(partial(nominal_risk, augmented_problem(problem)), network, inside)
    projector = induced_matrices(network).mean(dim=0)
    mixed = projector @ augmented @ (torch.eye(network.parameters, dtype=torch.float64) - projector)
    return float(torch.linalg.matrix_norm(mixed) / torch.linalg.matrix_norm(augmented))


@final
@dataclass(frozen=True)
class PaperStatement:
    """A statement of the paper and the function that measures its violation.

    Attributes:
        statement: Statement in words.
        quote: The paper's own words, formulas in plain text.
        check: The largest relative violation on one problem, with random layers.
        reading: What was tested where the words allow more than one test.
    """

    statement: str
    quote: str
    check: Callable[[TrainingProblem, torch.Generator], float]
    reading: str = ""


IDENTITIES: Mapping[str, PaperStatement] = {
    "Lemma 1": PaperStatement(
        "A is equivariant if and only if every element leaves it in place.",
        "A ∈ E if and only if ρ̄(g)A = A for all g ∈ G.",
        _lemma_1,
    ),
    "Lemma 2": PaperStatement(
        "The mean over the group is the orthogonal projection on E.",
        "For any A ∈ L the orthogonal projection Π_E is given by Π_E A = ∫ ρ̄(g)A dμ(g).",
        _lemma_2,
    ),
    "Lemma 3": PaperStatement(
        "Transforming inputs is transforming layers back; equivariant layers make equivariant networks.",
        "Φ_A(ρ_X(g)x) = ρ_Y(g)Φ_{ρ̄(g)^-1 A}(x). In particular, Φ_A is equivariant for every A ∈ E.",
        _lemma_3,
    ),
    "Lemma 4": PaperStatement(
        "The augmented risk is the mean risk of transformed layers.",
        "the augmented risk can be expressed as R_aug(A) = ∫ R(ρ̄(g)A) dμ(g)",
        _lemma_4,
    ),
    "Lemma 5": PaperStatement(
        "The mean over the group projects tensors on invariant ones.",
        "the orthogonal projection Π_{E^⊗2} is given by Π_{E^⊗2}(A ⊗ B) = ∫ ρ̄^⊗2(g)(A ⊗ B) dμ(g)",
        _lemma_5,
    ),
    "Lemma 6": PaperStatement(
        "An invariant form agrees on E and does not mix E with E_perp.",
        "(i) (Π_{E^⊗2} M)[A, A] = M[A, A] and (ii) (Π_{E^⊗2} M)[A, B] = 0.",
        _lemma_6,
    ),
    "Lemma 7": PaperStatement(
        "The action on layers is unitary.",
        "are unitary with respect to the canonical inner products",
        _lemma_7,
    ),
    "Prop. 1": PaperStatement(
        "On E the gradients of R_aug and R_eqv are the projected gradient of R.",
        "For A ∈ E we have ∇R_aug(A) = Π_E ∇R(A) = ∇R_eqv(A).",
        _proposition_1,
    ),
    "Prop. 2": PaperStatement(
        "On E the Hessians of R_aug and R_eqv are projections of that of R.",
        "For A ∈ E we have ∇²R_aug(A) = Π_{E^⊗2} ∇²R(A) and ∇²R_eqv(A) = Π_E^⊗2 ∇²R(A).",
        _proposition_2,
    ),
    "Prop. 3": PaperStatement(
        "Strict minima of R in E are strict minima of R_aug, and these of R_eqv.",
        "If A* is a strict local minimum of R, it is a strict local minimum of R_aug. If A* is a strict "
        "local minimum of R_aug, it is a strict local minimum of R_eqv.",
        _proposition_3,
        "Tested is what its proof uses: the least curvature does not fall from R to R_aug to R_eqv on E. "
        "Minima whose Hessian is singular are not covered, there or here.",
    ),
    "Cor. 1": PaperStatement(
        "E is invariant under the augmented flow, which is the equivariant flow there.",
        "The equivariant subspace E is invariant under the gradient flow of R_aug.",
        _corollary_1,
    ),
    "Cor. 2": PaperStatement(
        "Equivariant stationary points are the same for both.",
        "A* ∈ E is a stationary point of the gradient flow of R_aug if and only if it is a stationary point "
        "of the gradient flow of R_eqv.",
        _corollary_2,
    ),
    "Sec. 4.2": PaperStatement(
        "Near E the motions in E and E_perp decouple.",
        "Consequently, the dynamics approximately decouple",
        _decoupling,
        "To first order: no second derivative of R_aug mixes E and E_perp.",
    ),
}
