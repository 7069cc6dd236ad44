"""Actions by name, as the command line writes them: `rotation`, `shift-x`, `dihedral:orthogonal`, ..."""

from __future__ import annotations

import re
from collections.abc import Sequence

import torch

from symscope.data._action import Action, ElementByElement, custom_action
from symscope.data._rotation import dihedral_action, rotation
from symscope.data.images import check_divides, flip, flip_both, shift, shift_both
from symscope.data.nodes import node_permutation
from symscope.errors import InputError, nearest
from symscope.groups import FiniteGroup, Group, PermutationGroup, parse
from symscope.groups import dihedral as dihedral_group
from symscope.numerics import checked
from symscope.user_code import load_user_function

ACTIONS: dict[str, str] = {
    "rotation": "turns square images by n steps, C<n>; also mirrors, D<n>. Add :orthogonal for an exact one",
    "dihedral": "turns and mirrors square images, D<n>. Add :orthogonal for an exact one",
    "shift": "moves images cyclically along both axes, C<n>xC<m> (rows, columns); C<n> along x",
    "shift-x": "moves images cyclically to the right, C<n>; n divides the width",
    "shift-y": "moves images cyclically down, C<n>; n divides the height",
    "flip": "mirrors images left-right, C2; both ways, C2xC2",
    "flip-x": "mirrors images left-right, C2",
    "flip-y": "mirrors images up-down, C2",
    "nodes": "permutes the nodes of graphs, any group of permutations of the nodes (S<n>, C<n>, ...)",
}

_FINITE_PARTS = {
    "SO(2)": "C8 (steps of 45°), C16 (22.5°) or C36 (10°)",
    "O(2)": "D8 (steps of 45°, and mirrored), D16 (22.5°) or D36 (10°)",
    "SO(3)": "O, the 24 rotations of the cube",
    "O(3)": "O, the 24 rotations of the cube",
    "T1": "C8 or C16, steps once around",
    "T2": "C8xC8, steps once around each way",
}
MOST_ROWS = 4  # of a series: signals measured at the same time
_CHANNELS = (3, 4)  # axes of this length at the end are colours


@checked
def parse_action(name: str, group: str | Group, shape: Sequence[int]) -> Action:
    """The action with a given name, of a given group, on samples of a given shape.

    Args:
        name: One of `ACTIONS`; "rotation" and "dihedral" may end in ":spline" or ":orthogonal".
        group: A group or its name, such as "C8" or "C14xC14".
        shape: Shape of one sample, such as (28, 28), or with channels (3, 28, 28).

    Raises:
        InputError: An unknown name (suggests the nearest), a group that does not fit the action (says which
            do), or a shape that does not fit either.

    >>> parse_action("rotation:orthogonal", "C8", (28, 28)).group
    C8 (order 8)
    >>> parse_action("shift", "C14xC14", (28, 28)).group.order
    196
    """
    known = parse(group) if isinstance(group, str) else group
    what, _, method = name.strip().partition(":")
    if what not in ACTIONS:
        raise InputError(f"expected the name of an action, got {name!r}; {nearest(what, ACTIONS)}")
    if ":" in name and what not in ("rotation", "dihedral"):
        raise InputError(f"expected {what} without ':{method}': only rotations have a method.")
    listed = _listed(known)
    if len(shape) < 2:
        raise InputError(
            f"expected samples with two axes for {what}, (height, width), got {tuple(shape)}; series are "
            "moved by shift-x and flip, as images of one row, X[:, None]."
        )
    if what == "nodes":
        return _nodes(listed, shape[-2:])
    _check_channels_first(shape)
    if what in ("rotation", "dihedral"):
        return _rotation(what, listed, shape[-2:], method or "spline")
    return _shift(what, listed, shape[-2:]) if what.startswith("shift") else _flip(what, listed)


def parse_named_action(text: str, shape: tuple[int, ...]) -> tuple[str | None, Action]:
    """An action from a few words: a group and how it acts, either of which may be left out.

    `C8` and `C8 rotation` turn images, `D4` also mirrors them, `C14xC14` shifts, `flip` is `C2 flip`,
    `S4 nodes` permutes the nodes of graphs; `rotation` alone is `C8 rotation`.

    Returns:
        The name of the family of actions, and the action.

    Raises:
        InputError: More than two words, or as `parse` and `parse_action`.

    >>> parse_named_action("C8", (28, 28))[0], parse_named_action("flip", (28, 28))[1].group.name
    ('rotation', 'C2')
    """
    words = text.replace(",", " ").split()
    if not 1 <= len(words) <= 2:
        raise InputError(f"action: expected a group and how it acts, such as 'C8 rotation', got {text!r}.")
    how, group = None, None
    for word in words:
        if re.match(r"[A-Z]", word):
            group = word
        else:
            how = word.removesuffix("s") if word in ("shifts", "rotations", "flips") else word
    if group is None:
        usual = {"rotation": "C8", "dihedral": "D4", "shift": "C8" if shape[-2:-1] == (1,) else "C2xC2"}
        group = usual.get((how or "").partition(":")[0], "C2")
    if how is None:
        how = _usual_action(group)
    action = parse_action(how, group, shape)
    plain = how.partition(":")[0]
    if plain == "rotation" and not group.startswith("C"):
        plain = "dihedral"
    if plain == "shift" and "x" not in group:
        plain = "shift-x"
    return (how if plain in ("rotation", "dihedral", "shift-x", "shift-y") else None), action


def action_from_source(name: str, group: str, shape: tuple[int, ...]) -> Action:
    """A user's MODULE:FUNCTION, `(g, x) -> g x` on batches of samples, as an action of a named group.

    Raises:
        InputError: A function that cannot be loaded, or a group that is not listed.
    """
    acting = _listed(parse(group))
    function = load_user_function("--action", name)
    return custom_action(acting, function, len(shape), getattr(function, "__name__", "custom"))


def is_builtin_action(action: Action) -> bool:
    """Whether an action is made of symscope's own functions alone, which are known to be actions.

    >>> from symscope.data import custom_action, rotation
    >>> from symscope.groups import cyclic
    >>> is_builtin_action(rotation(8)), is_builtin_action(custom_action(cyclic(2), torch.mul, 1))
    (True, False)
    """
    made = action.transform
    function = made.function if isinstance(made, ElementByElement) else getattr(made, "func", made)
    return str(getattr(function, "__module__", "")).startswith("symscope.")


def sample_kind(action: Action, shape: Sequence[int]) -> str:
    """What samples are, as far as their shape and the action show it.

    Returns:
        "image"; "series" for a few rows that shifts or flips move; "points" for a user's own action on rows,
        or columns, of two or three coordinates; "graph" for nodes; "other".

    >>> from symscope.data import custom_action, rotation
    >>> from symscope.data.images import shift
    >>> from symscope.groups import cyclic
    >>> own = custom_action(cyclic(4), torch.mul, sample_ndim=2)
    >>> sample_kind(rotation(8), (28, 28)), sample_kind(shift(8), (1, 64)), sample_kind(own, (20, 3))
    ('image', 'series', 'points')
    """
    if action.sample_ndim != 2:
        return "other"
    if action.name == "nodes":
        return "graph"
    few = min(shape[-2:])
    if is_builtin_action(action):
        return "series" if shape[-2] == few <= MOST_ROWS and shape[-1] > MOST_ROWS else "image"
    return "points" if few in (2, 3) else "image"


def _usual_action(group: str) -> str:
    known = parse(group)
    factors = getattr(known, "cyclic_factors", None)
    if factors is not None and len(factors) == 2:
        return "shift"
    if group.startswith("D"):
        return "dihedral"
    return "rotation" if group.startswith("C") else "nodes"


def _listed(group: Group) -> FiniteGroup:
    """Refuses groups without a list of elements, with finite ones to take instead."""
    if isinstance(group, FiniteGroup):
        return group
    if isinstance(group, PermutationGroup):
        degree = group.degree
        has = f"{group.order:,} elements"
        instead = f"C{degree} or D{degree}, which permute the same {degree} points"
    else:
        has = "infinitely many elements"
        instead = _FINITE_PARTS.get(group.name, "a finite subgroup of it")
    raise InputError(f"expected a listed finite group, got {group.name}, which has {has}; take {instead}.")


def _check_channels_first(shape: Sequence[int]) -> None:
    """Refuses images that look as if their last axis were colours."""
    if len(shape) != 3 or min(shape[:2]) <= max(_CHANNELS):
        return
    if shape[2] in _CHANNELS or (shape[2] == 1 and shape[0] == shape[1]):
        height, width, channels = shape
        raise InputError(
            f"expected images with channels first, ({channels}, {height}, {width}), got "
            f"({height}, {width}, {channels}); use X.permute(0, 3, 1, 2), or for arrays "
            "X.transpose(0, 3, 1, 2)."
        )


def _rotation(what: str, group: FiniteGroup, shape: Sequence[int], method: str) -> Action:
    if shape[0] != shape[1]:
        raise InputError(f"expected square images to rotate, got {tuple(shape)}. Pad or crop them first.")
    if what == "rotation" and group.cyclic_factors is not None and len(group.cyclic_factors) == 1:
        return rotation(group.order, method)
    if group.order % 2 == 0 and _is_dihedral(group):
        return dihedral_action(group.order // 2, method)
    raise _misfit(what, group)


def _is_dihedral(group: FiniteGroup) -> bool:
    """Whether products with the generators r and s, of which all others are made, are those of D_n."""
    n = group.order // 2
    elements, steps = torch.arange(group.order)[:, None], torch.tensor([1, n])
    return torch.equal(group.law(elements, steps), dihedral_group(n).law(elements, steps))


def _shift(what: str, group: FiniteGroup, shape: Sequence[int]) -> Action:
    factors = group.cyclic_factors
    if factors is None or len(factors) > (2 if what == "shift" else 1):
        raise _misfit(what, group)
    if len(factors) == 2:
        check_divides(factors[0], shape[0], "height")
        check_divides(factors[1], shape[1], "width")
        return shift_both(*factors)
    down = what == "shift-y"
    check_divides(factors[0], shape[0 if down else 1], "height" if down else "width")
    return shift(factors[0], "y" if down else "x")


def _flip(what: str, group: FiniteGroup) -> Action:
    if group.cyclic_factors == (2,):
        return flip("y" if what == "flip-y" else "x")
    if what == "flip" and group.cyclic_factors == (2, 2):
        return flip_both()
    raise _misfit(what, group)


def _nodes(group: FiniteGroup, shape: Sequence[int]) -> Action:
    degree = group.degree
    if shape[0] != degree:
        raise InputError(
            f"expected samples of {degree} nodes, as {group.name} permutes, got shape {tuple(shape)}. "
            f"{_fits('nodes')}"
        )
    return node_permutation(group, "adjacency" if shape[1] == degree else "features")


def _misfit(what: str, group: FiniteGroup) -> InputError:
    return InputError(f"expected a group that fits the action {what}, got {group.name}. {_fits(what)}")


def _fits(what: str) -> str:
    return f"{what}: {ACTIONS[what]}."
