"""Everything about one network at once: exact symmetries, known ones, learned ones, each verified."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

from symscope.discovery._parameter_problem import ParameterProblem
from symscope.discovery._verification import Verification, verify
from symscope.discovery.exact._lie_algebra import LieAlgebra, is_too_large, lie_algebra
from symscope.discovery.exact._linear_symmetries import (
    LinearSymmetries,
    fibre_dimension,
    linear_symmetries,
    orbit_dimension,
)
from symscope.discovery.fields import LinearField
from symscope.discovery.known._catalogue import VerifiedSymmetry, verified_catalogue
from symscope.discovery.learned._learned_symmetries import LearnedActions, runge_kutta_action
from symscope.discovery.learned._learning import ActionTraining, learn_actions
from symscope.discovery.learned._objective import POINTWISE, SCALE_FREE, LearningObjective
from symscope.discovery.uses._conserved import ConservedQuantity, conserved_quantities
from symscope.errors import InputError
from symscope.numerics import Progress, checked

TEST_LIMIT = 32  # most generators that are tested one by one
ALGEBRA_LIMIT = 128  # most generators whose algebra is named
FIBRE_LIMIT = 1024  # most parameters for which the directions that keep all losses are counted
FIBRE_POINTS = (
    8  # parameter vectors: where few samples reach a unit more seem to keep losses; the least counts
)
STAGES = 4

NO_SEARCH = LinearSymmetries((), (), (), "none", 0, 0)
SHORT = ActionTraining(steps=1500, learning_rate=3e-3, decay_every=500)


@final
@dataclass(frozen=True)
class LearningOptions:
    """What to learn beside the exact search.

    Attributes:
        generators: Number of generators.
        dependent: Whether the action may look at the sample.
        seeds: Number of trainings.
        training: Length and settings of each training.
        objective: Objective to minimise.
        flow_steps: Runge-Kutta steps along a learned field, whose own error is far larger than theirs.
        tolerance: Largest relative loss drift of a learned field that counts as a symmetry.
    """

    generators: int
    dependent: bool = False
    seeds: int = 1
    training: ActionTraining = SHORT
    objective: LearningObjective = SCALE_FREE
    flow_steps: int = 12
    tolerance: float = 0.05


@checked
def learning_options(generators: int, dependent: bool, steps: int) -> LearningOptions:
    """Options that suit most networks; the learning rate falls twice on the way.

    Fields that do not see the data learn from several samples at once, which keeps them apart.

    Args:
        generators: Number of generators.
        dependent: Whether the action may look at the sample.
        steps: Most training steps.
    """
    training = ActionTraining(
        steps=steps, learning_rate=3e-3, decay_every=max(steps // 3, 1), batch=1 if dependent else 8
    )
    objective = SCALE_FREE if dependent else POINTWISE
    return LearningOptions(generators, dependent, training=training, objective=objective)


@final
@dataclass(frozen=True, eq=False)
class Discovery:
    """What was found on one network.

    Attributes:
        problem: Network and loss.
        exact: Linear symmetries, data-independent, without those whose test failed: all of them where every
            matrix was tried (method "all"), some of them where the layers were followed ("layers").
        directions: Directions in which the linear symmetries move random parameters.
        most_directions: Directions in which no sample's loss changes there, the least of several parameter
            vectors: an upper bound for all symmetries that ignore the data, linear or not. None where there
            are too many parameters, or no search was asked for.
        algebra: Lie algebra of the linear symmetries; None when there are none, or too many to take apart.
        tests: Held-out tests of the first `TEST_LIMIT` translations and generators that the search gave.
        catalogue: Known symmetries of the network's layers, verified.
        conserved: Quantities that gradient flow keeps because of the linear symmetries.
        learned: Learned actions, if asked for.
        learned_tests: Held-out tests of the learned fields, by seed.
    """

    problem: ParameterProblem
    exact: LinearSymmetries
    directions: int
    most_directions: int | None
    algebra: LieAlgebra | None
    tests: tuple[Verification, ...]
    catalogue: tuple[VerifiedSymmetry, ...]
    conserved: tuple[ConservedQuantity, ...]
    learned: LearnedActions | None
    learned_tests: tuple[tuple[Verification, ...], ...]

    def answer(self) -> str:
        """The answer in a sentence or two."""
        exact = self.exact
        name = self.algebra.name if self.algebra is not None else "a Lie algebra too large to name"
        least = "" if exact.complete else "at least "
        continuous = f"{least}{exact.dimension} continuous" + (f" ({name})" if exact.fields else "")
        translations = f", {len(exact.translations)} translations" if exact.translations else ""
        discrete = sum(len(entry.symmetry.transformations) for entry in self.catalogue if entry.holds)
        passed = sum(test.holds for test in self.tests)
        tested = f"; {passed} of {len(self.tests)} tested ones hold on {self.problem.test_scope}"
        if exact.method == "none":
            known = sum(entry.symmetry.dimension for entry in self.catalogue if entry.holds)
            return (
                f"{self.problem.size} parameters: the catalogue alone was tried. Known symmetries of the "
                f"layers have {known} continuous dimensions and {discrete} generating permutations and sign "
                f"flips that hold on {self.problem.test_scope}."
            )
        return (
            f"{self.problem.size} parameters have {continuous} linear symmetries{translations} and "
            f"{discrete} known generating permutations and sign flips{tested if self.tests else ''}."
            f"{'' if exact.complete else ' ' + self.completeness()}"
        )

    def completeness(self) -> str:
        """How much of all symmetries that ignore the data was found, in a sentence.

        Directions are compared, not generators: several generators may move parameters alike.
        """
        if self.most_directions is None:
            return "There may be more: their number was not bounded."
        moved = f"Those found move parameters in {self.directions}"
        if self.directions >= self.most_directions:
            return f"{moved} directions, and there are no others that keep every loss."
        return f"{moved} of at most {self.most_directions} directions that keep every loss; others may exist."


@checked
def discover(
    problem: ParameterProblem,
    *,
    seed: int,
    method: str = "auto",
    points: int = 16,
    learning: LearningOptions | None = None,
    progress: Progress | None = None,
) -> Discovery:
    """Find the symmetries of a network's parameters, name them, and test them where they were not found.

    Args:
        problem: Network and loss.
        seed: Seed for all randomness.
        method: Method of the exact search: "auto", "all" or "layers"; "none" leaves it out, for networks
            beyond its limit, and tries the catalogue alone.
        points: Number of held-out parameter vectors of each test.
        learning: Options for learning fields too; nothing is learned when None.
        progress: Called as `progress(words, done, total)` with every stage that begins, and while learning
            with the objective and steps.

    Raises:
        InputError: See `linear_symmetries` and `learn_actions`.

    >>> from torch import nn
    >>> from symscope.discovery import gaussian_data, parameter_problem
    >>> net = nn.Sequential(nn.Linear(2, 3, bias=False), nn.ReLU(), nn.Linear(3, 1, bias=False))
    >>> result = discover(parameter_problem(net, "mse", gaussian_data((2,), (1,))), seed=0)
    >>> result.exact.dimension, result.algebra.name, all(test.holds for test in result.tests)
    (3, 'R^3', True)
    """
    say = progress or (lambda what, done, total: None)
    say("searching linear fields", 0, STAGES)
    exact = NO_SEARCH if method == "none" else linear_symmetries(problem, seed=seed, method=method)
    say(f"testing on {problem.test_scope}", 1, STAGES)
    candidates = [*exact.translations, *exact.fields][:TEST_LIMIT]
    tests = tuple(verify(problem, field, seed=seed, points=points) for field in candidates)
    exact = _passed(exact, {id(f) for f, test in zip(candidates, tests, strict=True) if not test.holds})
    say("testing the catalogue of known symmetries", 2, STAGES)
    known = verified_catalogue(problem, seed=seed, points=points)
    learned: LearnedActions | None = None
    learned_tests: tuple[tuple[Verification, ...], ...] = ()
    if learning is not None:
        say("learning an action", 3, STAGES)
        learned, learned_tests = _learned(problem, learning, seed, points, progress)
    return Discovery(
        problem,
        exact,
        *_directions(problem, exact, seed),
        _algebra(problem, exact),
        tests,
        known,
        conserved_quantities(exact.fields),
        learned,
        learned_tests,
    )


def _passed(exact: LinearSymmetries, failed: set[int]) -> LinearSymmetries:
    """Without the fields, by identity, that held wherever the search looked and failed farther away."""

    def without(fields: tuple[LinearField, ...]) -> tuple[LinearField, ...]:
        return tuple(field for field in fields if id(field) not in failed)

    return replace(exact, translations=without(exact.translations), fields=without(exact.fields))


def _directions(problem: ParameterProblem, exact: LinearSymmetries, seed: int) -> tuple[int, int | None]:
    """Directions in which what was found moves random parameters, and an upper bound for all symmetries."""
    if exact.method == "none":
        return 0, None
    points = problem.random_points(FIBRE_POINTS, 1, seed).theta
    everything = (*exact.fields, *exact.translations)
    moved = max(orbit_dimension(everything, theta.double().cpu()) for theta in points)
    if problem.size > FIBRE_LIMIT:
        return moved, None
    return moved, min(fibre_dimension(problem, theta, seed=seed) for theta in points)


def _algebra(problem: ParameterProblem, exact: LinearSymmetries) -> LieAlgebra | None:
    """The structure of what was found; what is too large to take apart stays without a name."""
    if (
        not exact.fields
        or len(exact.fields) > ALGEBRA_LIMIT
        or is_too_large(exact.fields, exact.translations)
    ):
        return None
    return lie_algebra(exact.fields, problem.size, exact.translations)


def _learned(
    problem: ParameterProblem, learning: LearningOptions, seed: int, points: int, progress: Progress | None
) -> tuple[LearnedActions, tuple[tuple[Verification, ...], ...]]:
    if learning.tolerance <= 0 or learning.seeds < 1:
        raise InputError(
            f"learning needs a positive tolerance and a seed, got {learning.tolerance}, {learning.seeds}"
        )
    result = learn_actions(
        problem,
        learning.generators,
        dependent=learning.dependent,
        seeds=range(seed, seed + learning.seeds),
        objective=learning.objective,
        training=learning.training,
        progress=progress,
    )
    tests = tuple(
        tuple(
            verify(
                problem,
                runge_kutta_action(field, learning.flow_steps),
                seed=seed,
                points=points,
                batch_sizes=(learning.training.batch,),
                tolerance=learning.tolerance,
            )
            for field in result.fields(index)
        )
        for index in range(learning.seeds)
    )
    return result, tests
