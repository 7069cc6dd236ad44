"""Solutions of ordinary differential equations on tensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from symscope.errors import InputError
from symscope.numerics._checked import checked


@final
@dataclass(frozen=True)
class FlowPath:
    """A solution at some times.

    Attributes:
        states: The state at each time, in the dtype and on the device of the start.
        evaluations: How often the velocity was evaluated.
    """

    states: Float[Tensor, "t *shape"]
    evaluations: int


@checked
def ode_flow(
    velocity: Callable[[Tensor], Tensor],
    start: Float[Tensor, "*shape"],
    times: Sequence[float],
    *,
    rtol: float,
    atol: float,
    evaluations: int | None = None,
    name: str = "the flow",
    remedy: str = "use a shorter time",
) -> FlowPath:
    """The solution of `dx/dt = velocity(x)` by an embedded Runge-Kutta method of order 8 (scipy's DOP853).

    The solver computes in float64 on the CPU; the velocity gets tensors like the start.

    Args:
        velocity: Function from a state to its derivative, both of the start's shape.
        start: The state at the first time.
        times: When to look: from the start's time on, all later or, to go back, all earlier.
        rtol: Relative error allowed in a step.
        atol: Absolute error allowed in a step.
        evaluations: Evaluations of the velocity before giving up; None for no limit.
        name: What messages call the flow.
        remedy: What a user can do where so many evaluations do not suffice.

    Raises:
        InputError: Times out of order, a velocity that is not finite at the start, more evaluations than
            allowed, or a solution that cannot be continued.

    >>> path = ode_flow(lambda x: -x, torch.ones(1, dtype=torch.float64), [0.0, 1.0], rtol=1e-9, atol=1e-9)
    >>> round(float(path.states[-1]), 8)
    0.36787944
    """
    # imported here, because it would add a quarter to the time of importing torch
    from scipy.integrate import solve_ivp

    moments = [float(t) for t in times]
    steps = [after - before for before, after in pairwise(moments)]
    if not steps or not math.isfinite(moments[-1]) or not (min(steps) > 0 or max(steps) < 0):
        raise InputError(f"times: expected two or more, increasing or decreasing, got {list(times)}.")
    if not (0 < rtol < math.inf and 0 < atol < math.inf):
        raise InputError(f"rtol and atol: expected positive numbers, got {rtol} and {atol}.")
    taken = 0

    def right(now: float, flat: np.ndarray) -> np.ndarray:
        nonlocal taken
        taken += 1
        if evaluations is not None and taken > evaluations:
            raise InputError(
                f"{name} came to time {now:.6g} of {moments[-1]:g} in {evaluations:,} evaluations: {remedy}."
            )
        # a copy: the solver writes into its own arrays
        there = velocity(torch.from_numpy(flat.copy()).reshape(start.shape).to(start))
        if there.shape != start.shape:
            raise InputError(
                f"{name}: expected velocities of the start's shape {tuple(start.shape)}, got "
                f"{tuple(there.shape)}."
            )
        result: np.ndarray = there.detach().reshape(-1).cpu().double().numpy()
        if taken == 1 and not np.isfinite(result).all():  # later ones make the solver try shorter steps
            raise InputError(f"{name} is not finite at its start: rescale it or start elsewhere.")
        return result

    first = start.detach().reshape(-1).cpu().double().numpy()
    span = (moments[0], moments[-1])
    solved = solve_ivp(right, span, first, method="DOP853", t_eval=moments, rtol=rtol, atol=atol)
    if not solved.success or not np.isfinite(solved.y).all():
        raise InputError(
            f"{name} could not be followed to time {moments[-1]:g} ({solved.message}): it may grow without "
            "bound; use a shorter time."
        )
    states = torch.from_numpy(solved.y.T.copy()).reshape(-1, *start.shape).to(start)
    return FlowPath(states, taken)
