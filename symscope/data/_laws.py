"""Whether a function given as an action is one of its group, tried on data before anything is built on it."""

from __future__ import annotations

import torch
from jaxtyping import Float64
from torch import Tensor

from symscope.data._action import Action, default_tolerance
from symscope.errors import InputError
from symscope.numerics import checked

TOGETHER = 1e-6  # of the samples' norm: nearer points are one
NEARER = 3.0  # times: a product so much nearer to another element's samples is that element
VISIBLE = 0.25  # of what varies between samples: smaller gaps are left to `departure`
LARGE, WIDE = 1.1, 0.95  # of what varies, all of which interpolation can lose, and of the orbit's width


@checked
def check_action(action: Action, x: Tensor) -> None:
    """Refuses a function that is clearly no action of its group.

    `g (h x) = (g h) x` is tried for the generators g and all h, on all samples together, less their mean: a
    bright background that turning cuts off says nothing. Interpolation misses it and may; `departure` says by
    how much. Refused are elements that give the same samples though the group tells them apart, products that
    are another element's samples, and gaps as wide as the orbit.

    Args:
        action: What acts.
        x: Samples `[m, *channels, *sample]`; a few different ones are enough.

    Raises:
        InputError: It is none; says for which elements.

    >>> from symscope.data import custom_action, rotation
    >>> from symscope.groups import cyclic
    >>> images = torch.rand(2, 6, 6, generator=torch.Generator().manual_seed(0))
    >>> check_action(rotation(8), images)
    >>> check_action(custom_action(cyclic(3), lambda g, x: x.roll(2 * g, -1), 2), images)
    >>> check_action(custom_action(cyclic(4), lambda g, x: x.roll(2 * g, -1), 2), images)
    Traceback (most recent call last):
    ...
    symscope.errors.InputError: custom is not an action of C4: elements 0 (e) and 3 (r^3) give the same ...
    """
    group, axis = action.group, x.ndim - action.sample_ndim
    orbit = action.act_all(x)
    _check_different(action, _rows(orbit, axis), default_tolerance(x.dtype))
    points, start = _centred(orbit, axis), _centred(x.unsqueeze(axis), axis)
    norm, width = float(start.norm()), float(torch.cdist(points, points).max())
    if norm <= TOGETHER * float(x.norm()):
        return  # samples that are all the same
    for g in (None, *group.generators):
        moved = start if g is None else _centred(action.act(g, orbit), axis)
        meant = torch.tensor([group.identity]) if g is None else group.table[g]
        gaps = torch.cdist(moved, points)
        own, nearest = gaps.gather(1, meant[:, None])[:, 0], gaps.min(1)
        near = NEARER * nearest.values  # a likeness of that element's samples, too
        another = (own > VISIBLE * norm) & (own > near) & (points.norm(dim=1)[nearest.indices] > near)
        wrong = another | (own > max(LARGE * norm, WIDE * width))
        if bool(wrong.any()):
            h = int(torch.where(wrong, own, -1).argmax())
            instead = int(nearest.indices[h]) if bool(another[h]) else None
            raise InputError(_refusal(action, g, h, float(own[h]) / norm, instead))


def _rows(orbit: Tensor, axis: int) -> Float64[Tensor, "n m d"]:
    """What each element makes of every sample."""
    return orbit.movedim(axis, 0).flatten(2).double().cpu()


def _centred(orbit: Tensor, axis: int) -> Float64[Tensor, "n d"]:
    """What each element makes of all samples, less their mean, in one row."""
    rows = _rows(orbit, axis)
    return (rows - rows.mean(1, keepdim=True)).flatten(1)


def _check_different(action: Action, points: Float64[Tensor, "n m d"], tolerance: float) -> None:
    """Refuses `g x = h x` for all samples where `g^-1 h` does not keep them."""
    group, rows = action.group, points.flatten(1)
    apart = torch.cdist(rows, rows)
    together = max(TOGETHER, tolerance) * float(rows[group.identity].norm())
    kept = (apart[group.identity] <= 10 * together)[group.table[group.inverses]]  # [g, h]
    wrong = ((apart <= together) & ~kept).nonzero()
    if len(wrong):
        g, h = wrong[0].tolist()
        pair = " and ".join(_name(action, k) for k in sorted((g, h)))
        step = _name(action, group.multiply(group.inverse(g), h))
        raise InputError(
            f"{action.name} is not an action of {group.name}: elements {pair} give the same samples, but "
            f"{step}, by which they differ, does not keep them. What is left out under one would be seen "
            "under the other; choose the group that acts"
        )


def _name(action: Action, g: int) -> str:
    return f"{g} ({action.group.labels[g]})"


def _refusal(action: Action, g: int | None, h: int, gap: float, instead: int | None) -> str:
    """Why element g on the samples of h is not what it should be; without g the identity on the samples."""
    group = action.group
    if g is None:
        should = f"element {_name(action, group.identity)}, the identity, should keep the samples"
    else:
        product = _name(action, group.multiply(g, h))
        should = f"element {_name(action, g)} after {_name(action, h)} should give what {product} gives"
    result = "" if instead is None else f", as {_name(action, instead)} does"
    return (
        f"{action.name} is not an action of {group.name}: {should}; it gives something else{result}, off by "
        f"{gap:.0%} of what varies between samples. Number the elements as the group does (group.labels, "
        "group.table), let the right factor act first, or choose the group that acts"
    )
