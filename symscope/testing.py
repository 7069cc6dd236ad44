"""Test tools for users' own groups, representations and networks; each states the error it measured.

>>> from symscope.groups import cyclic
>>> assert_group_laws(cyclic(6))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from symscope.auditing import exact_elements, layer_errors
from symscope.data import Action, check_action
from symscope.errors import InputError
from symscope.groups import CompactGroup, FiniteGroup, Group, Representation, from_table
from symscope.numerics import check_count, check_finite, checked, explained, seed_generator

SHOWN_LAYERS = 3  # layers that a failure names

__all__ = ["Acts", "assert_equivariant", "assert_group_laws", "assert_representation"]


@runtime_checkable
class Acts(Protocol):
    """Anything that lets a group act on tensors: a `Representation`, or an action of `symscope.data`."""

    @property
    def group(self) -> Any:
        """The group that acts."""

    def act(self, g: Any, x: Tensor) -> Tensor:
        """g applied to x."""


@explained
def assert_group_laws(group: FiniteGroup) -> None:
    """Assert closure, associativity, identity and inverses, and that generators and permutations fit.

    Raises:
        AssertionError: Says which law fails and where.
    """
    try:
        from_table(group.table)
    except ValueError as error:
        raise AssertionError(f"{group.name}: {error}") from error
    everyone = torch.arange(group.order)
    products = group.law(everyone, group.inverses)
    assert bool((products == group.identity).all()), f"{group.name}: some g g^-1 is not the identity"
    reached = len(group.subgroup(group.generators))
    assert reached == group.order, f"{group.name}: its generators reach {reached} of {group.order} elements"
    assert len(group.labels) == group.order, (
        f"{group.name}: {len(group.labels)} labels for {group.order} elements"
    )
    for a in group.elements:
        composed = group.permutations[a][group.permutations]
        wrong = (composed != group.permutations[group.table[a]]).any(dim=1)
        assert not bool(wrong.any()), (
            f"{group.name}: as permutations, {group.labels[a]} after "
            f"{group.labels[int(wrong.nonzero()[0])]} is not their product"
        )
    distinct = len(group.permutations.unique(dim=0))
    assert distinct == group.order, f"{group.name}: only {distinct} of {group.order} permutations differ"


@checked
def assert_representation(
    rep: Representation, tolerance: float = 1e-10, seed: int = 0, samples: int = 64
) -> None:
    """Assert `rho(g) rho(h) = rho(gh)`, `rho(e) = 1`, and unitarity where it is claimed.

    Pairs are all pairs of small listed groups, otherwise `samples` seeded random ones. For compact groups
    the derivative is compared with the action of `exp(t h)` for small t.

    Raises:
        InputError: A negative tolerance or no samples.
        AssertionError: Gives the largest error and the pair of elements that shows it.
    """
    _check_bounds(tolerance, samples)
    generator = seed_generator(seed)
    x = torch.randn(3, rep.dim, dtype=torch.float64, generator=generator)
    size = float(torch.linalg.vector_norm(x))
    at_identity = float(torch.linalg.vector_norm(rep.act(rep.group.identity, x) - x)) / size
    assert at_identity <= tolerance, f"{rep!r}: the identity moves vectors by {at_identity:.3g} (relative)"
    worst, pair = 0.0, ""
    for g, h in _pairs(rep.group, samples, generator):
        once = rep.act(rep.group.multiply(g, h), x)
        error = float(torch.linalg.vector_norm(rep.act(g, rep.act(h, x)) - once)) / size
        if error > worst:
            worst, pair = error, f"{_named(rep.group, g)} and {_named(rep.group, h)}"
    assert worst <= tolerance, (
        f"{rep!r}: rho(g) rho(h) differs from rho(gh) by {worst:.3g} (relative) for {pair}"
    )
    if rep.unitary:
        for g in _elements(rep.group, samples, generator):
            change = abs(float(torch.linalg.vector_norm(rep.act(g, x))) / size - 1)
            assert change <= tolerance, (
                f"{rep!r}: claims to be unitary, but {_named(rep.group, g)} changes norms by {change:.3g}"
            )
    if isinstance(rep.group, CompactGroup) and rep.derivative is not None:
        _assert_derivative(rep, x)


@checked
def assert_equivariant(
    function: Callable[[Tensor], Tensor],
    source: Acts,
    target: Acts | None,
    x: Tensor,
    tolerance: float = 1e-8,
    seed: int = 0,
    samples: int = 64,
) -> float:
    """Assert `f(g x) = g f(x)`, or `f(g x) = f(x)` when `target` is None.

    Args:
        function: What should be equivariant.
        source: How the group acts on its input.
        target: How the group acts on its output; None for invariance.
        x: Inputs, which should have no symmetry of their own.
        tolerance: Largest allowed `|f(gx) - g f(x)| / |f(x)|`.
        seed: Seed for drawing elements of groups that are not listed.
        samples: How many of those.

    Returns:
        The largest error.

    Raises:
        InputError: Inputs that are none, not finite or no floating-point numbers; a function that returns
            something else than a tensor; actions of different groups; a negative tolerance or no samples.
        AssertionError: Gives the error and the worst element. For a module and an action of `symscope.data`
            also where it comes from: whether the action is one, elements that move samples exactly beside
            those that interpolate, and the layers with the largest errors of their own.

    >>> from symscope.groups import cyclic, permutation
    >>> v = permutation(cyclic(5))
    >>> x = torch.tensor([[1.0, 2.0, 4.0, 8.0, 16.0]], dtype=torch.float64)
    >>> assert_equivariant(torch.relu, v, v, x)
    0.0
    """
    generator = seed_generator(seed)
    _check_inputs(x)
    _check_bounds(tolerance, samples)
    if target is not None and not _agree(source.group, target.group):
        raise InputError(
            f"target: expected an action of {source.group.name}, the group of the source with its elements "
            f"in the same order, got one of {target.group.name}."
        )
    plain = _one_tensor(function(x))
    assert bool(plain.isfinite().all()), "the function gives numbers that are not finite on the inputs given"
    largest = float(plain.abs().max())
    assert largest > 0, "the function is zero on the inputs given: give inputs on which it is not"
    size = float(torch.linalg.vector_norm(plain / largest))  # outputs of any scale have a norm
    worst, element, errors = 0.0, "", []
    for g in _elements(source.group, samples, generator):
        expected = plain if target is None else target.act(g, plain)
        apart = _one_tensor(function(source.act(g, x))) - expected
        error = float(torch.linalg.vector_norm(apart / largest)) / size
        errors.append((g, error))
        if not error <= worst:  # also true for NaN
            worst, element = error, _named(source.group, g)
    kind = "invariant" if target is None else "equivariant"
    if not worst <= tolerance:
        lines = [
            f"not {kind}: relative error {worst:.3g} (allowed {tolerance:.3g}), worst for element {element} "
            f"of {source.group.name}"
        ]
        if isinstance(function, nn.Module) and isinstance(source, Action):
            lines += _origin(function, source, x, dict(errors), tolerance)
        raise AssertionError("\n".join(lines))
    return worst


def _check_inputs(x: Tensor) -> None:
    """Refuses inputs on which nothing could be seen."""
    if x.numel() == 0:
        raise InputError(f"x: expected inputs, got none (shape {tuple(x.shape)}).")
    if not x.is_floating_point() and not x.is_complex():
        raise InputError(f"x: expected floating-point inputs, got {x.dtype}; use x.double().")
    check_finite("x", x)


def _check_bounds(tolerance: float, samples: int) -> None:
    if not tolerance >= 0:  # NaN too
        raise InputError(f"tolerance: expected a number of at least 0, got {tolerance}.")
    check_count("samples", samples)


def _agree(one: Any, other: Any) -> bool:
    """Whether elements of one group are elements of the other."""
    if one is other:
        return True
    if isinstance(one, FiniteGroup) and isinstance(other, FiniteGroup):
        return one.order == other.order and torch.equal(one.table, other.table)
    return type(one) is type(other) and bool(one.name == other.name)


def _one_tensor(out: object) -> Tensor:
    if not isinstance(out, Tensor):
        raise InputError(
            f"function: expected one that returns a tensor, got {type(out).__name__}; test one output at a "
            "time: lambda x: f(x)[0]."
        )
    if out.numel() == 0:
        raise InputError(f"function: expected outputs, got none (shape {tuple(out.shape)}).")
    return out.detach() if out.is_floating_point() or out.is_complex() else out.detach().double()


def _origin(
    module: nn.Module, action: Action, x: Tensor, errors: dict[int, float], tolerance: float
) -> list[str]:
    """Where the error of a network comes from, in a few lines; what cannot be measured says why."""
    try:
        check_action(action, x)
    except InputError as error:
        return [f"the action, not the network: {error}"]
    exact = [g for g in exact_elements(action, x) if g != action.group.identity]
    rough = [g for g in errors if g not in exact and g != action.group.identity]
    if not rough:
        lines = ["every element moves samples exactly: none of it is interpolation"]
    elif not exact:
        g = max(rough, key=lambda one: errors[one])
        lines = [
            f"no element moves samples exactly: g^-1 (g x) misses x by {_return_error(action, g, x):.3g} for "
            f"{action.group.labels[g]}, by interpolation or because the action is none"
        ]
    else:
        own, blurred = max(errors[g] for g in exact), max(errors[g] for g in rough)
        lines = [
            f"elements that move samples exactly ({_few(action, exact)}): {own:.3g}; elements that "
            f"interpolate: {blurred:.3g}"
        ]
        if own <= tolerance:
            return [*lines, "so it is interpolation: test with exact elements, or allow what it changes"]
    return [*lines, _layers(module, action, x, exact or rough, tolerance)]


def _layers(module: nn.Module, action: Action, x: Tensor, elements: list[int], tolerance: float) -> str:
    """The layers with the largest errors of their own."""
    try:
        with torch.no_grad():
            totals, kinds = layer_errors(module, lambda samples: samples, action, elements, x)
    except Exception as error:  # a layer of the user's may refuse to be called by itself
        return f"its layers could not be measured one by one: {error}"
    parts = list(totals)[1:]  # the whole network comes first
    broken = sorted((name for name in parts if not totals[name] <= tolerance), key=lambda name: -totals[name])
    if not broken:
        return "no layer that could be measured has an error of its own: look at what is done between them"
    listed = [f"{name} ({kinds[name][0]}) {totals[name]:.3g}" for name in broken[:SHOWN_LAYERS]]
    more = f" and {len(broken) - SHOWN_LAYERS} more" if len(broken) > SHOWN_LAYERS else ""
    return f"largest errors of layers by themselves: {', '.join(listed)}{more}"


def _return_error(action: Action, g: int, x: Tensor) -> float:
    """`|g^-1 (g x) - x| / |x|`."""
    back = action.act(action.group.inverse(g), action.act(g, x))
    return float((back - x).norm() / x.norm())


def _few(action: Action, elements: list[int]) -> str:
    names = [str(action.group.labels[g]) for g in elements[:4]]
    return ", ".join(names) + (", ..." if len(elements) > len(names) else "")


def _assert_derivative(rep: Representation, x: Tensor) -> None:
    """The central difference of the action along exp(t h), with error O(t^2)."""
    assert isinstance(rep.group, CompactGroup)
    step = 1e-5
    for h in rep.group.lie_algebra:
        remaining = rep.act(torch.linalg.matrix_exp(step * h), x)
        behind = rep.act(torch.linalg.matrix_exp(-step * h), x)
        exact = rep.act_algebra(h, x)
        error = float(((remaining - behind) / (2 * step) - exact).abs().max())
        scale = max(1.0, float(exact.abs().max())) * max(1.0, float(rep.dim)) ** 2
        assert error <= 1e-6 * scale, (
            f"{rep!r}: its derivative differs from the slope of the action by {error:.3g}"
        )


def _elements(group: Group, samples: int, generator: torch.Generator) -> Iterable[Any]:
    if isinstance(group, FiniteGroup) and group.order <= max(samples, 512):
        return group.elements
    return [*group.generators, *group.sample(samples, generator)]


def _pairs(group: Group, samples: int, generator: torch.Generator) -> Iterable[tuple[Any, Any]]:
    if isinstance(group, FiniteGroup) and group.order <= 32:
        return [(g, h) for g in group.elements for h in group.elements]
    return zip(group.sample(samples, generator), group.sample(samples, generator), strict=True)


def _named(group: Group, g: Any) -> str:
    if isinstance(group, FiniteGroup):
        return f"{g} ({group.labels[g]})"
    return str(
        g.tolist() if isinstance(g, Tensor) and g.ndim == 1 else torch.as_tensor(g).round(decimals=3).tolist()
    )
