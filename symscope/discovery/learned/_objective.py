"""The terms that learning minimises: Eq. 5-10 of the paper, and the integrated forms of App. A.3."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.func import vmap

from symscope.discovery._parameter_problem import ParameterProblem
from symscope.discovery.learned._parameter_action import (
    ParameterAction,
    bracket_defect,
    eq7_defect,
    identity_and_fields,
    integrated_defect,
)
from symscope.discovery.loss_derivatives import point_derivatives, point_gradients, point_losses
from symscope.discovery.sampling import ParameterPoints
from symscope.errors import InputError, nearest
from symscope.numerics import checked


@final
@dataclass(frozen=True)
class TermWeights:
    """The weights gamma_1 .. gamma_6 of Eq. 11; a term of weight 0 is not computed while training.

    The defaults are the paper's for data-independent symmetries (Sec. 5.3). The paper gives no gamma_3; 1 is
    ours.
    """

    invariance: float | int = 10.0
    identity: float | int = 1.0
    axiom: float | int = 1.0
    norm: float | int = 1.0
    orthogonality: float | int = 1.0
    sparsity: float | int = 0.1

    def __post_init__(self) -> None:
        for name, weight in asdict(self).items():
            if not 0 <= weight < float("inf"):
                raise InputError(f"weight of {name}: expected a number of 0 or more, got {weight}")


DATA_DEPENDENT = TermWeights(1.0, 10.0, 1.0, 10.0, 1.0, 0.1)
"""The paper's weights for data-dependent symmetries (Sec. 5.4), gamma_3 = 1 again ours."""

TINY = 1e-12  # keeps a field of length zero, or a flat loss, from dividing by zero

TERMS = tuple(field.name for field in fields(TermWeights))


@checked
@final
@dataclass(frozen=True)
class LearningObjective:
    """The objective of learning (Eq. 11).

    Means are taken over points, samples, generators and pairs of them, so that the weights mean the same for
    any number of generators.

    Attributes:
        weights: Weights of the six terms.
        beta: Length the fields should have (Eq. 8).
        form: "infinitesimal" (Eq. 5-7, no exponentials) or "integrated" (App. A.3) for invariance and axiom.
        axiom: Form of the action axiom: "bracket", the condition every action meets, or "eq7", the paper's,
            which true actions break. Used by the infinitesimal form.
        invariance: Form of invariance: "eq5", the derivative of the loss along the field as it is, which
            shrinking the field lowers too; or "cosine", the same over `|D L| |V|`, which only turning the
            field lowers. Used by the infinitesimal form.
        orthogonality: Form of orthogonality of two generators: "squared" cosines; "signed" ones as Eq. 9 is
            written (lowest when generators are opposite, not orthogonal); "fields": squared cosines of the
            fields as functions, which keeps the fields apart even when the action forgets part of the
            generators; or "pointwise": those of the fields at every point, which a field and a function times
            it do not pass.
        time: Largest |t| of the integrated form, which draws t uniformly from [-time, time].

    Raises:
        InputError: An unknown name, or a length or time that is not positive.

    >>> LearningObjective(axiom="eq7").beta
    1.0
    """

    weights: TermWeights = TermWeights()
    beta: float | int = 1.0
    form: str = "infinitesimal"
    axiom: str = "bracket"
    invariance: str = "eq5"
    orthogonality: str = "squared"
    time: float | int = 1.0

    def __post_init__(self) -> None:
        known = {
            "form": ("infinitesimal", "integrated"),
            "axiom": ("bracket", "eq7"),
            "invariance": ("eq5", "cosine"),
            "orthogonality": ("squared", "signed", "fields", "pointwise"),
        }
        for name, names in known.items():
            if getattr(self, name) not in names:
                raise InputError(
                    f"{name}: unknown {getattr(self, name)!r}; {nearest(getattr(self, name), names)}"
                )
        if not (self.beta > 0 and self.time > 0):
            raise InputError(f"beta and time: expected positive numbers, got {self.beta} and {self.time}")

    def total(self, terms: dict[str, Tensor]) -> Tensor:
        """The weighted sum of terms (Eq. 11)."""
        weights = asdict(self.weights)
        return torch.stack([weights[name] * term for name, term in terms.items()]).sum(0)


SCALE_FREE = LearningObjective(
    TermWeights(10, 1, 0.1, 1, 1, 0.01), invariance="cosine", orthogonality="fields"
)
"""Ours: nothing is gained by fields that shrink, and fields are kept apart, not only generators."""

POINTWISE = replace(SCALE_FREE, orthogonality="pointwise")
"""Ours: fields kept apart at every point. With one sample a batch its minima are poor; take several."""


@final
@dataclass(frozen=True)
class StepDraw:
    """What a step draws besides its points.

    Attributes:
        pairs: Pairs of generators that the axiom is computed for.
        times: Times for the exponentials of the integrated form, one for each generator.
        axiom: Factor of the axiom: 0 in a step that leaves it out, m in one that stands for m steps.
        points: Number of points, the first ones, that the axiom is computed at; all when None. Its second
            derivatives cost more than everything else together.
    """

    pairs: Int[Tensor, "m 2"]
    times: Float[Tensor, "k"]
    axiom: int = 1
    points: int | None = None


def all_pairs(objective: LearningObjective, generators: int) -> Int[Tensor, "m 2"]:
    """The pairs the axiom holds for: i < j for the bracket, which is antisymmetric; otherwise all, i = j too.

    >>> all_pairs(LearningObjective(), 3).tolist(), len(all_pairs(LearningObjective(axiom="eq7"), 3))
    ([[0, 1], [0, 2], [1, 2]], 9)
    """
    if objective.form == "infinitesimal" and objective.axiom == "bracket":
        return torch.triu_indices(generators, generators, 1).T
    return torch.cartesian_prod(torch.arange(generators), torch.arange(generators)).reshape(-1, 2)


def objective_terms(
    objective: LearningObjective,
    problem: ParameterProblem,
    action: ParameterAction,
    generators: Float[Tensor, "k p p"],
    points: ParameterPoints,
    data: Float[Tensor, "b q"],
    draw: StepDraw,
    *,
    gradients: Float[Tensor, "b d n"] | None = None,
    every: bool = False,
) -> dict[str, Float[Tensor, ""]]:
    """All terms of the objective at some points, differentiable in the action's weights and the generators.

    Args:
        objective: Weights and forms of the terms.
        problem: Network and loss.
        action: Action on parameters.
        generators: Generators of the action.
        points: Parameters with their batches.
        data: Numbers the action may look at, one row per point.
        draw: Pairs and times that the step draws.
        gradients: `D_theta L` at the points where it is known already: it does not depend on the action. When
            None, derivatives along the fields are taken by Jacobian-vector products.
        every: Whether to compute terms of weight 0 too.

    Returns:
        Terms by name, unweighted.

    >>> from symscope.discovery.learned import LinearAction

    >>> from symscope.discovery import gaussian_data, parameter_problem
    >>> net = torch.nn.Sequential(torch.nn.Linear(1, 1, bias=False), torch.nn.Linear(1, 1, bias=False))
    >>> made = parameter_problem(net, "squared", gaussian_data((1,), (1,)))
    >>> h = torch.diag(torch.tensor([1.0, -1.0], dtype=torch.float64))[None]
    >>> points, data = made.random_points(4, 1, seed=0), torch.ones(4, 0)
    >>> draw = StepDraw(torch.ones(0, 2, dtype=torch.int64), torch.ones(1))
    >>> terms = objective_terms(LearningObjective(), made, LinearAction(), h, points, data, draw)
    >>> float(terms["invariance"]) < 1e-12, float(terms["sparsity"])
    (True, 2.0)
    """
    wanted = {name for name, weight in asdict(objective.weights).items() if weight > 0 or every}
    start, along = identity_and_fields(action, generators, points.theta, data)
    terms: dict[str, Tensor] = {}
    if "invariance" in wanted:
        if objective.form == "integrated":
            terms["invariance"] = _loss_change(problem, action, generators, points, data, draw)
        else:
            terms["invariance"] = _invariance(objective, problem, along, points, gradients)
    if "identity" in wanted:
        terms["identity"] = (start - points.theta).norm(dim=-1).mean()
    if "axiom" in wanted:
        terms["axiom"] = _axiom(objective, action, generators, points, data, draw)
    if "norm" in wanted:
        terms["norm"] = (objective.beta - along.norm(dim=-1)).abs().mean()
    if "orthogonality" in wanted:
        terms["orthogonality"] = _orthogonality(objective, generators, along)
    if "sparsity" in wanted:
        terms["sparsity"] = generators.abs().sum((-2, -1)).mean()
    return terms


def _invariance(
    objective: LearningObjective,
    problem: ParameterProblem,
    along: Tensor,
    points: ParameterPoints,
    gradients: Tensor | None,
) -> Tensor:
    """Eq. 5; as a cosine it needs the length of the gradients, so they are taken whole."""
    if gradients is None and objective.invariance == "cosine":
        gradients = point_gradients(problem, points)
    if gradients is None:
        return vmap(lambda tangent: point_derivatives(problem, points, tangent))(along).abs().mean()
    slopes = torch.einsum("bdn,kbn->kbd", gradients, along).abs()
    if objective.invariance == "cosine":
        slopes = slopes / (gradients.norm(dim=-1) * along.norm(dim=-1)[..., None]).clamp_min(TINY)
    return slopes.mean()


def _loss_change(
    problem: ParameterProblem,
    action: ParameterAction,
    generators: Tensor,
    points: ParameterPoints,
    data: Tensor,
    draw: StepDraw,
) -> Tensor:
    """`|L(a_X(exp(t h), theta), X) - L(theta, X)|` (App. A.3), at one time per generator."""
    before = point_losses(problem, points)

    def change(h: Tensor, time: Tensor) -> Tensor:
        there = action(torch.linalg.matrix_exp(time * h), points.theta, data)
        return point_losses(problem, points.at(there)) - before

    return vmap(change)(generators, draw.times).abs().mean()


def _axiom(
    objective: LearningObjective,
    action: ParameterAction,
    generators: Tensor,
    points: ParameterPoints,
    data: Tensor,
    draw: StepDraw,
) -> Tensor:
    if len(draw.pairs) == 0 or draw.axiom == 0:
        return generators.new_zeros(())
    if objective.form == "integrated":
        defect = integrated_defect
    else:
        defect = bracket_defect if objective.axiom == "bracket" else eq7_defect
    one, two = generators[draw.pairs[:, 0]], generators[draw.pairs[:, 1]]
    theta, numbers = points.theta[: draw.points], data[: draw.points]
    defects = vmap(lambda h1, h2: defect(action, h1, h2, theta, numbers))(one, two)
    return draw.axiom * defects.norm(dim=-1).mean()


def _orthogonality(objective: LearningObjective, generators: Tensor, along: Tensor) -> Tensor:
    count = len(generators)
    if count < 2:
        return generators.new_zeros(())
    i, j = torch.triu_indices(count, count, 1, device=generators.device)
    if objective.orthogonality == "pointwise":
        directions = torch.nn.functional.normalize(along, dim=-1)
        return (directions[i] * directions[j]).sum(-1).square().mean()
    vectors = along if objective.orthogonality == "fields" else generators
    unit = torch.nn.functional.normalize(vectors.reshape(count, -1), dim=1)
    cosines = (unit @ unit.T)[i, j]
    return cosines.mean() if objective.orthogonality == "signed" else cosines.square().mean()
