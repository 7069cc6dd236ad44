"""How a group acts on outputs: not at all, on their positions, on nodes, or on vectors."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import torch

from symscope.data._action import Action, custom_action
from symscope.data._named_actions import parse_action
from symscope.data._sample_kinds import is_builtin_action, point_coordinates, sample_kind
from symscope.errors import InputError, nearest
from symscope.groups import FiniteGroup, Representation
from symscope.user_code import user_errors

TARGETS = ("same", "image", "nodes", "vector")
TargetAction = Action | Representation | Callable[[int, torch.Tensor], torch.Tensor] | str
"""How targets change: "same", "image", "nodes", "vector", an action, a representation, or (g, y) -> g y."""


def target_of(
    target: TargetAction | None, action: Action, shape: tuple[int, ...], outputs: tuple[int, ...]
) -> Action | None:
    """The action on outputs of a shape that a user named or gave; None where they should not change.

    Args:
        target: None, "same", "image", "nodes", "vector", an action, a representation that acts on the last
            axis of outputs, or a function `(g, y) -> g y` of an element and outputs `[b, *outputs]`.
        action: Action on the samples.
        shape: Shape of one sample.
        outputs: Shape of the outputs for one sample.

    Raises:
        InputError: An unknown word, an action of another group, or one that the outputs cannot take.

    >>> from symscope.data import rotation
    >>> target_of("vector", rotation(4), (8, 8), (2,)).act(1, torch.tensor([1.0, 0.0])).round().tolist()
    [0.0, 1.0]
    """
    if target is None or target == "same":
        return None
    if target == "vector":
        return plane_vectors(action, outputs)
    if target == "nodes":
        return node_targets(action, shape, outputs)
    if target == "image":
        if len(outputs) < action.sample_ndim:
            raise InputError(
                f"target action 'image': expected outputs with {action.sample_ndim} axes or more, as the "
                f"samples, got shape {outputs}; use 'same' or 'vector', or give an action."
            )
        moved = same_action(action, shape, outputs[len(outputs) - action.sample_ndim :])
        if moved is None:
            raise InputError(
                f"target action 'image': the action {action.name} on samples of shape {shape} has no "
                f"counterpart on outputs of shape {outputs}; give an action of its group."
            )
        return moved
    if isinstance(target, str):
        raise InputError(
            f"target action: expected same, image, nodes, vector or an Action, got {target!r}; "
            f"{nearest(target, TARGETS)}"
        )
    if isinstance(target, Representation):
        target = _represented(target, outputs)
    elif not isinstance(target, Action) and callable(target):
        name = getattr(target, "__name__", "custom")
        target = custom_action(action.group, target, len(outputs), name)
    if not isinstance(target, Action):
        raise InputError(
            "target action: expected same, image, nodes, vector, an Action, a Representation or a function "
            f"(g, y), got {type(target).__name__}."
        )
    if not same_group(target.group, action.group):
        raise InputError(
            f"target action: expected an action of {action.group.name}, the group that acts on the samples, "
            f"got one of {target.group.name}."
        )
    if len(outputs) < target.sample_ndim:
        raise InputError(
            f"target action {target.name}: it moves outputs with {target.sample_ndim} axes, they have shape "
            f"{outputs}."
        )
    with user_errors(f"target action {target.name}: its function"):  # refuses other shapes
        target.act(action.group.identity, torch.zeros(1, *outputs, dtype=torch.float64))
    return target


def _represented(representation: Representation, outputs: tuple[int, ...]) -> Action:
    """A representation on the last axis of outputs, as an action."""
    group, size = representation.group, outputs[-1] if outputs else 0
    if not isinstance(group, FiniteGroup):
        raise InputError(f"target action: expected a listed finite group, got {group.name}.")
    if size != representation.dim:
        raise InputError(
            f"target action {representation.name}: it acts on {representation.dim} numbers, the last axis of "
            f"outputs of shape {outputs} has {size}."
        )
    matrices = representation.matrices
    if matrices.is_complex():
        raise InputError(
            f"target action {representation.name}: expected real matrices, got {matrices.dtype}."
        )
    return custom_action(group, partial(_multiplied, matrices), 1, representation.name)


def same_group(one: FiniteGroup, other: FiniteGroup) -> bool:
    """Whether two groups have the same elements in the same order."""
    return one.order == other.order and torch.equal(one.table, other.table)


def same_action(action: Action, shape: tuple[int, ...], other: tuple[int, ...]) -> Action | None:
    """The action on samples of one shape, for maps of another size; None where there is none.

    Args:
        action: Action on the samples.
        shape: Shape of one sample.
        other: Sizes of the axes that should be moved in the same way, as many as the action moves.
    """
    if tuple(other) == tuple(shape[len(shape) - action.sample_ndim :]):
        return action
    try:
        return parse_action(action.name, action.group, other)
    except InputError:  # a user's own action, or shifts by less than a pixel
        return None


def node_targets(action: Action, shape: tuple[int, ...], outputs: tuple[int, ...]) -> Action:
    """The permutations of nodes of graphs, or of rows of sets, on numbers of each node.

    Args:
        action: Action on the samples.
        shape: Shape of one sample.
        outputs: Shape of the numbers of one sample, `(nodes,)` or `(nodes, d)`.

    Raises:
        InputError: An action that does not permute nodes, or outputs that do not have numbers for each.

    >>> from symscope.data.nodes import node_permutation
    >>> from symscope.groups import cyclic
    >>> node_targets(node_permutation(cyclic(3)), (3, 3), (3,)).act(1, torch.tensor([5.0, 6.0, 7.0])).tolist()
    [7.0, 5.0, 6.0]
    """
    if sample_kind(action, shape) not in ("graph", "set"):
        raise InputError(
            f"target action 'nodes': expected permutations of nodes or of rows, got {action.name}; use "
            "'same', 'vector' or 'image', or give an action."
        )
    nodes = shape[-2]
    if len(outputs) not in (1, 2) or outputs[0] != nodes:
        raise InputError(
            f"target action 'nodes': expected numbers of each of the {nodes} nodes, ({nodes},) or ({nodes}, "
            f"d), got targets (outputs) of shape {outputs}."
        )
    permuted = parse_action("nodes", action.group, (nodes, nodes + 1))  # rows alone: a square is a graph
    if len(outputs) == 2:
        return permuted
    return custom_action(action.group, partial(_single_numbers, permuted), 1, "nodes")


def _single_numbers(action: Action, g: int, numbers: torch.Tensor) -> torch.Tensor:
    return action.act(g, numbers[..., None])[..., 0]


def plane_vectors(action: Action, outputs: tuple[int, ...]) -> Action:
    """Turns and mirrors on vectors, as a built-in action moves images (x to the right, y up) or points."""
    group, name = action.group, action.name.partition(":")[0]
    size = outputs[-1] if outputs else 0
    if is_builtin_action(action) and size in (2, 3) and sample_kind(action, (size + 2, size)) == "points":
        needed = point_coordinates(action, (size + 2, size)) or size
        if size < needed:
            raise InputError(
                f"target action 'vector': expected targets whose last axis has length {needed}, as the "
                f"points have coordinates, got targets of shape {outputs}; use 'same', or give an action."
            )
        basis = torch.eye(size, dtype=torch.float64)  # as points: rho(g) takes them to its columns
        turned = torch.stack([action.act(g, basis).T for g in group.elements])
        return custom_action(group, partial(_multiplied, turned), 1, "vector")
    if size != 2:
        raise InputError(
            "target action 'vector': expected targets (outputs) whose last axis has length 2, x and y, or 3 "
            f"for points in space, got {outputs}."
        )
    still, mirror_x, mirror_y = (torch.diag(torch.tensor(s).double()) for s in ([1, 1], [-1, 1], [1, -1]))
    if name == "rotation" and group.cyclic_factors is not None:
        matrices = [_turn(k / group.order) for k in group.elements]
    elif name in ("rotation", "dihedral"):
        n = group.order // 2
        matrices = [_turn(k % n / n) @ (mirror_x if k >= n else still) for k in group.elements]
    elif name in ("flip-x", "flip-y"):
        matrices = [still, mirror_x if name == "flip-x" else mirror_y]
    elif name == "flip":
        matrices = [still, mirror_x, mirror_y, mirror_x @ mirror_y]
    else:
        raise InputError(
            f"target action 'vector': expected rotations, dihedral actions or flips of images, got "
            f"{action.name}; give an action of {group.name} on the outputs."
        )
    return custom_action(group, partial(_multiplied, torch.stack(matrices)), 1, "vector")


def _multiplied(matrices: torch.Tensor, g: int, vectors: torch.Tensor) -> torch.Tensor:
    return vectors @ matrices[g].to(vectors).T


def _turn(share: float) -> torch.Tensor:
    """Counterclockwise by this share of a full turn."""
    c, s = math.cos(2 * math.pi * share), math.sin(2 * math.pi * share)
    return torch.tensor([[c, -s], [s, c]], dtype=torch.float64)
