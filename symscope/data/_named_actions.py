"""Actions by name, as the command line writes them: `rotation`, `shift-x`, `dihedral:orthogonal`, ..."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from symscope.data._action import Action, custom_action
from symscope.data._rotation import dihedral_action, rotation
from symscope.data._sample_kinds import looks_like_points, looks_like_series
from symscope.data.images import check_divides, flip, flip_both, shift, shift_both
from symscope.data.nodes import node_permutation
from symscope.data.point_clouds import is_dihedral, point_flip, point_rotation
from symscope.data.series import shift_and_reverse
from symscope.errors import InputError, nearest
from symscope.groups import CompactGroup, FiniteGroup, Group, finite_part, parse
from symscope.numerics import checked
from symscope.user_code import load_user_function

ACTIONS: dict[str, str] = {
    "rotation": "turns square images by n steps, C<n>; also mirrors, D<n>. Add :orthogonal for an exact one",
    "dihedral": "turns and mirrors square images, D<n>. Add :orthogonal for an exact one",
    "shift": "moves images cyclically along both axes, C<n>xC<m> (rows, columns); C<n> along x; D<n> also "
    "reverses series",
    "shift-x": "moves images and series cyclically to the right, C<n>; n divides the width",
    "shift-y": "moves images cyclically down, C<n>; n divides the height",
    "flip": "mirrors images left-right, reverses series, mirrors the x of points, C2; both ways, C2xC2",
    "flip-x": "mirrors images left-right, reverses series, mirrors the x of points, C2",
    "flip-y": "mirrors images up-down, mirrors the y of points, C2",
    "points": "turns clouds [points, 2] or [points, 3]: C<n>, D<n> (in space about z), T, O, I, Th, Oh, Ih; "
    "points:3 where further columns are features",
    "nodes": "permutes the nodes of graphs and the rows of sets, any group of permutations of them (S<n>, "
    "C<n>, ...)",
}

TURNING = ("rotation", "dihedral", "points")
AXES = {"points": "(points, coordinates)", "nodes": "(nodes, nodes) or (nodes, features)"}
MOST_SHIFTS = {1: 16, 2: 8}  # steps along each of so many axes for a torus
_CHANNELS = (3, 4)  # axes of this length at the end are colours


@checked
def parse_action(name: str, group: str | Group, shape: Sequence[int]) -> Action:
    """The action with a given name, of a given group, on samples of a given shape.

    Args:
        name: One of `ACTIONS`; "rotation" and "dihedral" may end in ":spline" or ":orthogonal", "points" in
            the number of coordinates.
        group: A group or its name, such as "C8" or "C14xC14"; for SO(2), O(2), SO(3), O(3) and tori a finite
            part of it acts, and the action's `note` says which.
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
    if ":" in name and what not in TURNING:
        raise InputError(f"expected {what} without ':{method}': only rotations have a method.")
    if len(shape) < 2:
        raise InputError(
            f"expected samples with two axes for {what}, {AXES.get(what, '(height, width)')}, got "
            f"{tuple(shape)}; series are moved by shift-x and flip (--action), as images of one row, "
            "X[:, None]; flattened samples need their axes."
        )
    listed, note = _listed(known, what, shape)
    action = _acting(what, method, listed, shape)
    return replace(action, note=note) if note else action


def _acting(what: str, method: str, group: FiniteGroup, shape: Sequence[int]) -> Action:
    if what == "nodes":
        return _nodes(group, shape[-2:])
    cloud = looks_like_points(shape)
    if what == "points" or (cloud and what in TURNING and not method):
        return _points(group, shape, method)
    if cloud and what.startswith("flip"):
        return _point_flip(what, group, shape[-1])
    _check_channels_first(shape)
    if what in TURNING:
        return _rotation(what, group, shape, method or "spline")
    return _shift(what, group, shape[-2:]) if what.startswith("shift") else _flip(what, group)


def parse_named_action(text: str, shape: tuple[int, ...]) -> tuple[str | None, Action]:
    """An action from a few words: a group and how it acts, either of which may be left out.

    `C8` and `C8 rotation` turn images, `D4` also mirrors them, `C14xC14` shifts, `flip` is `C2 flip`,
    `S4 nodes` permutes the nodes of graphs; `rotation` alone is `C8 rotation`. Without a word for how it
    acts, the shape decides: series are shifted, clouds of points are turned.

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
        usual["points"] = "C8" if shape[-1:] == (2,) else "I"
        group = usual.get((how or "").partition(":")[0], "C2")
    if how is None:
        how = _usual_action(group, shape)
    action = parse_action(how, group, shape)
    plain, acting = how.partition(":")[0], action.group
    if plain == "shift" and acting.cyclic_factors is not None and len(acting.cyclic_factors) == 1:
        plain = "shift-x"
    return (how if plain in (*TURNING, "shift-x", "shift-y") else None), action


def action_from_source(name: str, group: str, shape: tuple[int, ...]) -> Action:
    """A user's MODULE:FUNCTION, `(g, x) -> g x` on batches of samples, as an action of a named group.

    Raises:
        InputError: A function that cannot be loaded, or a group that is not listed.
    """
    known = parse(group)
    acting, note = _listed(known, "", shape)
    if note:
        raise InputError(
            f"expected a listed finite group, got {known.name}: your function is given the number of "
            f"an element; take {acting.name}."
        )
    function = load_user_function("--action", name)
    return custom_action(acting, function, len(shape), getattr(function, "__name__", "custom"))


def _usual_action(group: str, shape: Sequence[int]) -> str:
    """How a group acts on samples of a shape where nobody says it."""
    known = parse(group)
    factors = getattr(known, "cyclic_factors", None)
    if (factors is not None and len(factors) == 2) or re.match(r"T\d", group):
        if looks_like_points(shape):
            raise InputError(
                f"expected a group that turns points, C<n>, D<n>, SO(2), SO(3), T, O or I, got {group}, "
                f"which shifts images and series; if samples of shape {tuple(shape)} are images, say so: "
                "--action shift."
            )
        return "shift"
    if not isinstance(known, CompactGroup) and group[0] in "SAQ":
        return "nodes"
    if looks_like_points(shape) or getattr(known, "matrices", None) is not None:
        return "points"
    mirrors = group[0] in "DO"
    if looks_like_series(shape):
        return "shift" if mirrors else "shift-x"
    return "dihedral" if mirrors else "rotation"


def _listed(group: Group, what: str, shape: Sequence[int]) -> tuple[FiniteGroup, str]:
    """The group, or a finite part of a continuous one with a note that says so.

    Raises:
        InputError: A group of permutations too large to list, or a continuous one without a finite part.
    """
    if isinstance(group, FiniteGroup):
        return group, ""
    if isinstance(group, CompactGroup):
        steps = _shift_steps(group, what, shape) if what.startswith("shift") else None
        part = finite_part(group, steps)
        return part.group, part.text
    raise InputError(
        f"expected a listed finite group, got {group.name}, which has {group.order:,} elements; take "
        f"C{group.degree} or D{group.degree}, which permute the same {group.degree} points."
    )


def _shift_steps(group: CompactGroup, what: str, shape: Sequence[int]) -> tuple[int, ...]:
    """Steps of a torus along the axes it shifts: the most that divide the size, up to a limit."""
    both = group.name == "T2" and what == "shift"
    sizes = shape[-2:] if both else (shape[-2 if what == "shift-y" else -1],)
    most = MOST_SHIFTS[len(sizes)]
    return tuple(max(n for n in range(1, most + 1) if size % n == 0) for size in sizes)


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


def _points(group: FiniteGroup, shape: Sequence[int], dimension: str) -> Action:
    columns = shape[-1]
    if dimension and dimension not in ("2", "3"):
        raise InputError(f"points:{dimension}: expected points:2 or points:3, the number of coordinates.")
    size = int(dimension) if dimension else columns
    if len(shape) != 2 or size not in (2, 3) or columns < size:
        where = "; for [3, points] use X.transpose(0, 2, 1)" if len(shape) == 2 and shape[0] in (2, 3) else ""
        raise InputError(
            f"expected clouds [points, 2] or [points, 3] to turn, or points:3 where further columns are "
            f"features, got samples of shape {tuple(shape)}{where}."
        )
    action = point_rotation(group, size)
    return replace(action, name=f"points:{size}") if dimension else action


def _point_flip(what: str, group: FiniteGroup, dimension: int) -> Action:
    if group.cyclic_factors != (2,):
        raise _misfit(what, group)
    return point_flip("y" if what == "flip-y" else "x", dimension)


def _rotation(what: str, group: FiniteGroup, shape: Sequence[int], method: str) -> Action:
    if group.matrices is not None:
        raise InputError(
            f"expected clouds [points, 3] for {group.name}, which turns space, got samples of shape "
            f"{tuple(shape)}; images are turned by C<n>, D<n>, SO(2) or O(2)."
        )
    height, width = shape[-2:]
    if height != width:
        hint = (
            f"Clouds of points are [points, {height}]: use X.transpose(0, 2, 1)."
            if len(shape) == 2 and height in (2, 3)
            else "Pad or crop them first."
        )
        raise InputError(f"expected square images to rotate, got {(height, width)}. {hint}")
    if what == "rotation" and group.cyclic_factors is not None and len(group.cyclic_factors) == 1:
        return rotation(group.order, method)
    if is_dihedral(group):
        return dihedral_action(group.order // 2, method)
    raise _misfit(what, group)


def _shift(what: str, group: FiniteGroup, shape: Sequence[int]) -> Action:
    factors = group.cyclic_factors
    if factors is None and what == "shift" and looks_like_series(shape) and is_dihedral(group):
        check_divides(group.order // 2, shape[1], "length")
        return shift_and_reverse(group.order // 2)
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
