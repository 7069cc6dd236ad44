"""What samples are: images, series, point clouds, sets, graphs, as their shape and the action show it."""

from __future__ import annotations

from collections.abc import Sequence

from symscope.data._action import Action, ElementByElement
from symscope.data.nodes import NodePermutation
from symscope.data.point_clouds import PointTransform

MOST_ROWS = 4  # of a series: signals measured at the same time


def is_builtin_action(action: Action) -> bool:
    """Whether an action is made of symscope's own functions alone, which are known to be actions.

    >>> import torch
    >>> from symscope.data import custom_action, rotation
    >>> from symscope.groups import cyclic
    >>> is_builtin_action(rotation(8)), is_builtin_action(custom_action(cyclic(2), torch.mul, 1))
    (True, False)
    """
    made = action.transform
    function = made.function if isinstance(made, ElementByElement) else getattr(made, "func", made)
    return str(getattr(function, "__module__", type(function).__module__)).startswith("symscope.")


def looks_like_series(shape: Sequence[int]) -> bool:
    """Whether samples are `[length]`, or a few rows `[channels, length]`.

    >>> looks_like_series((64,)), looks_like_series((3, 64)), looks_like_series((28, 28))
    (True, True, False)
    """
    return len(shape) == 1 or (len(shape) == 2 and shape[0] <= MOST_ROWS < shape[1])


def looks_like_points(shape: Sequence[int]) -> bool:
    """Whether samples are `[points, 2]` or `[points, 3]`; a square is an image.

    >>> looks_like_points((20, 3)), looks_like_points((3, 3)), looks_like_points((3, 20))
    (True, False, False)
    """
    return len(shape) == 2 and shape[1] in (2, 3) and shape[0] != shape[1]


def point_coordinates(action: Action, shape: Sequence[int]) -> int | None:
    """How many of the last axis's columns are coordinates of points; None where samples are none.

    >>> from symscope.data import parse_action
    >>> point_coordinates(parse_action("points:3", "I", (20, 7)), (20, 7))
    3
    """
    if sample_kind(action, shape) != "points":
        return None
    made = action.transform
    if isinstance(made, PointTransform):
        return made.matrices.shape[-1]
    return shape[-1] if shape[-1] in (2, 3) else None


def sample_kind(action: Action, shape: Sequence[int]) -> str:
    """What samples are, as far as their shape and the action show it.

    Returns:
        "image"; "series" for a few rows that shifts or flips move; "points" for coordinates that are turned,
        or for a user's own action on rows, or columns, of two or three coordinates; "graph" for adjacency
        matrices and "set" for rows that are permuted; "other".

    >>> import torch
    >>> from symscope.data import custom_action, rotation
    >>> from symscope.data.images import shift
    >>> from symscope.groups import cyclic
    >>> own = custom_action(cyclic(4), torch.mul, sample_ndim=2)
    >>> sample_kind(rotation(8), (28, 28)), sample_kind(shift(8), (1, 64)), sample_kind(own, (20, 3))
    ('image', 'series', 'points')
    """
    made = action.transform
    if isinstance(made, NodePermutation):
        return "graph" if made.both else "set"
    if isinstance(made, PointTransform):
        return "points"
    if action.sample_ndim != 2:
        return "other"
    if is_builtin_action(action):
        return "series" if looks_like_series(shape[-2:]) else "image"
    return "points" if min(shape[-2:]) in (2, 3) else "image"
