"""Learning symmetries: an action network and generators trained together, several seeds at once (Sec. 5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor, nn
from torch.func import stack_module_state, vmap

from symscope.discovery._parameter_problem import ParameterProblem
from symscope.discovery.learned._action_networks import MLPAction, check_parameter_action
from symscope.discovery.learned._learned_symmetries import LearnedActions, copy_action
from symscope.discovery.learned._objective import (
    TERMS,
    LearningObjective,
    StepDraw,
    all_pairs,
    objective_terms,
)
from symscope.discovery.learned._parameter_action import action_data
from symscope.discovery.loss_derivatives import point_gradients
from symscope.discovery.sampling import ParameterPoints
from symscope.errors import InputError
from symscope.numerics import Progress, check_count, checked, seed_generator

HELD_OUT_PAIRS = 256  # of generators, for the held-out axiom: their number grows with the square

ActionBuilder = Callable[[int], nn.Module]


@final
@dataclass(frozen=True)
class ActionTraining:
    """Settings of the training of an action (Adam).

    Attributes:
        steps: Most training steps.
        learning_rate: Learning rate at the start; the paper's is 1e-3.
        decay: Factor of the learning rate every `decay_every` steps (the paper: 0.6 every 1000).
        decay_every: Steps between two decays of the learning rate; 0 for none.
        points: Number of parameter vectors to learn from, each with its own batch.
        held_out: Number of further ones, for the curves and for stopping.
        minibatch: Number of points in a step.
        batch: Number of samples in a point's batch; the paper uses 1.
        evaluate_every: Steps between two evaluations of the held-out objective.
        patience: Number of evaluations without a better seed after which training stops.
        improvement: Relative decrease of the objective that counts as better.
        pairs: Number of pairs of generators that the axiom is computed for in a step, drawn anew each time.
        axiom_points: Number of points that the axiom is computed at in a step.
        axiom_every: Steps between two computations of the axiom, which counts so many times there: its second
            derivatives cost more than everything else together.

    Raises:
        InputError: A number out of its range.
    """

    steps: int = 5000
    learning_rate: float = 1e-3
    decay: float = 0.6
    decay_every: int = 1000
    points: int = 10_000
    held_out: int = 512
    minibatch: int = 128
    batch: int = 1
    evaluate_every: int = 100
    patience: int = 10
    improvement: float = 1e-3
    pairs: int = 1
    axiom_points: int = 32
    axiom_every: int = 5

    def __post_init__(self) -> None:
        counts = ("steps", "points", "held_out", "minibatch", "batch", "evaluate_every", "patience", "pairs")
        for name in (*counts, "axiom_points", "axiom_every"):
            check_count(name, getattr(self, name))
        check_count("decay_every", self.decay_every, 0)
        if not 0 < self.decay <= 1 or not self.learning_rate > 0:
            raise InputError(
                "expected a positive learning rate and a decay in (0, 1]; got "
                f"{self.learning_rate} and {self.decay}"
            )


@checked
def learn_actions(
    problem: ParameterProblem,
    generators: int,
    *,
    dependent: bool,
    seeds: Sequence[int],
    objective: LearningObjective,
    training: ActionTraining,
    action: ActionBuilder | None = None,
    size: int | None = None,
    progress: Progress | None = None,
) -> LearnedActions:
    """Train an action and its generators (Eq. 11), one copy for each seed, all as one batched computation.

    Points are shared by the seeds; they are drawn from the first seed. Each seed has weights and generators
    of its own, and its result does not depend on the others, to rounding. The result is the state with the
    lowest held-out objective.

    Args:
        problem: Network, loss, and sources of parameters and data.
        generators: Number of generators k.
        dependent: Whether the action may look at the batch (inputs and targets).
        seeds: Seeds of the copies, all different.
        objective: Objective to minimise.
        training: Settings of the training.
        action: Builder of the action for a seed; an `MLPAction` as in the paper when None. It must return a
            module with `forward(g, theta, data)`; data has no columns for a data-independent action.
        size: Size of the group's matrices; the number of parameters when None.
        progress: Called as `progress(words with the mean held-out objective, step, steps)` at every
            evaluation.

    Raises:
        InputError: No seeds or generators, more generators than parameters where the objective keeps their
            fields apart at every point, an action of another shape, an objective that is not finite, or so
            many parameters that the group's matrices alone take a gibibyte.

    >>> from symscope.discovery.learned import LinearAction

    >>> from symscope.discovery import gaussian_data, parameter_problem
    >>> net = nn.Sequential(nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False))
    >>> made = parameter_problem(net, "squared", gaussian_data((1,), (1,)))
    >>> short = ActionTraining(steps=600, points=1000, learning_rate=1e-2)
    >>> result = learn_actions(made, 1, dependent=False, seeds=[0], objective=LearningObjective(),
    ...                       training=short, action=lambda seed: LinearAction())
    >>> h = result.generators[0, 0] / result.generators[0, 0].norm() * 2**0.5
    >>> h.diagonal().sum().abs() < 0.05, (h[0, 0] * h[1, 1] + 1).abs() < 0.05  # +-diag(1, -1)
    (tensor(True), tensor(True))
    """
    matrices = problem.size if size is None else size
    _check(problem, generators, seeds, matrices)
    if objective.orthogonality == "pointwise" and generators > problem.size:
        raise InputError(
            f"generators: expected at most {problem.size}, one for each parameter, got {generators}: no more "
            "fields are at right angles to each other at a point"
        )
    points = problem.random_points(training.points + training.held_out, training.batch, seed=seeds[0])
    columns = action_data(points.theta[:1], points.x[:1], points.y[:1], dependent).shape[1]
    copies = [_built(action, seed, matrices, problem, columns) for seed in seeds]
    check_parameter_action(copies[0], matrices, problem.size, columns)
    learner = _ActionLearner(
        problem, copies, generators, matrices, dependent, seeds, objective, training, points
    )
    return learner.run(progress)


@final
class _ActionLearner:
    """The state of a training: stacked weights and generators, their optimiser, the curves, the best so
    far."""

    def __init__(
        self,
        problem: ParameterProblem,
        copies: list[nn.Module],
        generators: int,
        size: int,
        dependent: bool,
        seeds: Sequence[int],
        objective: LearningObjective,
        training: ActionTraining,
        points: ParameterPoints,
    ) -> None:
        self.problem, self.objective, self.training = problem, objective, training
        self.skeleton, self.dependent, self.seeds = copies[0], dependent, tuple(seeds)
        stacked, buffers = stack_module_state(copies)
        self.weights: dict[str, Tensor] = {name: w.detach().requires_grad_() for name, w in stacked.items()}
        self.buffers: dict[str, Tensor] = dict(buffers)
        self.generators = torch.stack([_start(generators, size, seed, problem) for seed in seeds])
        self.generators.requires_grad_()
        count = training.points
        self.points, self.held_out = _rows(points, slice(0, count)), _rows(points, slice(count, None))
        self.gradients = _gradients(problem, self.points, objective)
        self.randomness = seed_generator(seeds[0])
        self.optimiser = torch.optim.Adam([*self.weights.values(), self.generators], training.learning_rate)
        self.recorded_steps: list[int] = []
        self.curves: dict[str, list[Tensor]] = {name: [] for name in (*TERMS, "total")}
        self.lowest = torch.full((len(seeds),), float("inf"), dtype=problem.dtype, device=problem.device)
        self.best = torch.zeros(len(seeds), dtype=torch.int64)
        self.best_state = self._state()

    def run(self, progress: Progress | None) -> LearnedActions:
        training, idle = self.training, 0
        schedule = torch.optim.lr_scheduler.StepLR(
            self.optimiser, training.decay_every or training.steps + 1, training.decay
        )
        for step in range(training.steps + 1):
            if step % training.evaluate_every == 0 or step == training.steps:
                idle = 0 if self._evaluate(step) else idle + 1
                if progress:
                    objective = float(self.curves["total"][-1].mean())
                    progress(f"learning, objective {objective:.3g}", step, training.steps)
                if idle >= training.patience or step == training.steps:
                    break
            self.optimiser.zero_grad()
            rows = torch.randint(training.points, (training.minibatch,), generator=self.randomness)
            rows = rows.to(self.problem.device)
            gradients = None if self.gradients is None else self.gradients[rows]
            terms = self._terms(_rows(self.points, rows), self._draw(step), gradients)
            self.objective.total(terms).sum().backward()
            self.optimiser.step()
            schedule.step()
        weights, generators = self.best_state
        curves = {name: torch.stack(values) for name, values in self.curves.items()}
        return LearnedActions(
            self.skeleton,
            {**weights, **self.buffers},
            generators,
            self.seeds,
            self.dependent,
            self.objective,
            tuple(self.recorded_steps),
            curves,
            self.best,
            idle >= training.patience,
        )

    def _terms(
        self, points: ParameterPoints, draw: StepDraw, gradients: Tensor | None = None, *, every: bool = False
    ) -> dict[str, Tensor]:
        data = action_data(points.theta, points.x, points.y, self.dependent)

        def of(
            weights: dict[str, Tensor], buffers: dict[str, Tensor], generators: Tensor
        ) -> dict[str, Tensor]:
            action = copy_action(self.skeleton, {**weights, **buffers})
            return objective_terms(
                self.objective,
                self.problem,
                action,
                generators,
                points,
                data,
                draw,
                gradients=gradients,
                every=every,
            )

        return vmap(of)(self.weights, self.buffers, self.generators)

    def _draw(self, step: int) -> StepDraw:
        count = self.generators.shape[1]
        pairs = all_pairs(self.objective, count)
        chosen = torch.randperm(len(pairs), generator=self.randomness)[: self.training.pairs]
        times = (2 * torch.rand(count, generator=self.randomness) - 1) * self.objective.time
        every = self.training.axiom_every
        counts = every if step % every == 0 else 0
        return StepDraw(pairs[chosen], times.to(self.generators), counts, self.training.axiom_points)

    def _evaluate(self, step: int) -> bool:
        """Record the held-out terms; whether some seed got better."""
        with torch.no_grad():
            count = self.generators.shape[1]
            times = torch.full((count,), self.objective.time)
            pairs = all_pairs(self.objective, count)
            pairs = pairs[:: -(-len(pairs) // HELD_OUT_PAIRS) or 1]  # of many generators, some
            draw = StepDraw(pairs, times.to(self.generators), points=64)
            terms = self._terms(self.held_out, draw, every=True)
            total = self.objective.total(terms)
        if not bool(torch.isfinite(total).all()):
            bad = [seed for seed, value in zip(self.seeds, total, strict=True) if not value.isfinite()]
            raise InputError(
                f"the objective is not finite at step {step} for seeds {bad}; lower the learning rate "
                f"({self.training.learning_rate}) or draw smaller parameters or data"
            )
        self.recorded_steps.append(step)
        for name, value in {**terms, "total": total}.items():
            self.curves[name].append(value.detach().clone())
        better = total < self.lowest
        clearly = bool((total < self.lowest * (1 - self.training.improvement)).any())
        self.lowest = torch.where(better, total, self.lowest)
        self.best[better.cpu()] = step
        for best, now in zip(_tensors(self.best_state), _tensors(self._state()), strict=True):
            best[better] = now[better]
        return clearly

    def _state(self) -> tuple[dict[str, Tensor], Tensor]:
        return {n: w.detach().clone() for n, w in self.weights.items()}, self.generators.detach().clone()


GRADIENT_BYTES = 2**28


def _gradients(
    problem: ParameterProblem, points: ParameterPoints, objective: LearningObjective
) -> Tensor | None:
    """`D_theta L` at all points, once, where it is small; steps then need no derivative of the network."""
    needed = 8 * points.count * points.batch * problem.size
    if objective.form == "integrated" or needed > GRADIENT_BYTES:
        return None
    return point_gradients(problem, points).detach()


def _tensors(state: tuple[dict[str, Tensor], Tensor]) -> list[Tensor]:
    return [*state[0].values(), state[1]]


def _rows(points: ParameterPoints, rows: slice | Tensor) -> ParameterPoints:
    return ParameterPoints(points.theta[rows], points.x[rows], points.y[rows])


def _built(
    action: ActionBuilder | None, seed: int, size: int, problem: ParameterProblem, columns: int
) -> nn.Module:
    """The action of one seed; the global random state is as it was afterwards."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        made = MLPAction(problem.size, columns, size) if action is None else action(seed)
    return made.to(problem.device, problem.dtype)


def _start(generators: int, size: int, seed: int, problem: ParameterProblem) -> Tensor:
    randomness = seed_generator(seed)
    drawn = torch.randn(generators, size, size, generator=randomness, dtype=torch.float64) / size**0.5
    return drawn.to(problem.device, problem.dtype)


GENERATOR_BYTES = 2**30


def _check(problem: ParameterProblem, generators: int, seeds: Sequence[int], size: int) -> None:
    if generators < 1 or not seeds or len(set(seeds)) < len(seeds) or size < 1:
        raise InputError(
            "expected at least one generator, different seeds (at least one) and a positive size; got "
            f"{generators}, {list(seeds)} and {size}"
        )
    needed = 8 * len(seeds) * size**2 * (64 + 4 * generators)  # first layer and generators, with Adam's state
    if needed > GENERATOR_BYTES:
        raise InputError(
            f"learning {generators} generators of {size} x {size} matrices for {len(seeds)} seeds needs "
            f"about {needed / 2**30:.1f} GiB, the limit is {GENERATOR_BYTES / 2**30:g} GiB "
            f"({problem.size} parameters); give a smaller `size` for the group, freeze parameters, or use "
            "the exact method, which uses the network's structure"
        )
