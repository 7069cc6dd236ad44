"""What passes as an action of a group: exact ones, interpolating ones, and nothing that is clearly none."""

from __future__ import annotations

import pytest
import scipy.ndimage
import torch

from symscope import groups
from symscope.data import Action, custom_action, dihedral_action, mnist_sample, rotation
from symscope.data._laws import check_action
from symscope.data.images import pixel_permutation, shift, shift_both
from symscope.data.nodes import node_permutation
from symscope.errors import InputError

DIGITS = mnist_sample().x[::500]
SMOOTH = torch.nn.functional.interpolate(
    torch.rand(4, 1, 5, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64),
    14,
    mode="bilinear",
)[:, 0]
NOISE = torch.randn(4, 9, 9, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
IMAGES = {
    "digits": DIGITS,
    "single": DIGITS.float(),
    "bright": 0.9 + 0.1 * DIGITS,  # turning cuts more of the background off than there is in the digits
    "smooth": SMOOTH,
    "noise": NOISE,
    "nothing": 0 * DIGITS,
    "alike": DIGITS[:1].expand(4, -1, -1),
}


def rolled(order: int, step: int) -> Action:
    return custom_action(groups.cyclic(order), lambda g, x: x.roll(step * g, -1), 2, "rolled")


def turned(order: int, degree: int) -> Action:
    """A user's own rotation."""

    def turn(g: int, x: torch.Tensor) -> torch.Tensor:
        result = scipy.ndimage.rotate(x.numpy(), 360 * g / order, (-2, -1), reshape=False, order=degree)
        return torch.from_numpy(result).to(x.dtype)

    return custom_action(groups.cyclic(order), turn, 2, "turned")


@pytest.mark.parametrize("name", sorted(IMAGES))
@pytest.mark.parametrize("order", [3, 8])
def test_interpolating_rotations_pass(name: str, order: int) -> None:
    for action in (rotation(order), rotation(order, "orthogonal"), dihedral_action(order), turned(order, 1)):
        check_action(action, IMAGES[name])


@pytest.mark.parametrize(
    "action", [shift(14), shift_both(2, 7), rolled(4, 7), rolled(8, 7), rolled(7, 4), rotation(4)]
)
def test_exact_actions_pass_also_where_elements_keep_everything(action: Action) -> None:
    check_action(action, DIGITS)
    check_action(action, DIGITS[:, None].expand(-1, 3, -1, -1))


def test_permutations_of_pixels_and_nodes_pass() -> None:
    group = groups.symmetric(4)
    check_action(node_permutation(group), torch.rand(3, 4, 4, generator=torch.Generator().manual_seed(0)))
    check_action(pixel_permutation(group, group.permutations), NOISE[:, :2, :2])


@pytest.mark.parametrize("images", ["digits", "single", "noise"])
def test_elements_that_coincide_though_the_group_tells_them_apart_are_refused(images: str) -> None:
    """C5 by quarters of the width: element 4 is the identity, so that what is left out is seen."""
    x = IMAGES[images]
    quarter = x.shape[-1] // 4 if x.shape[-1] % 4 == 0 else x.shape[-1] // 3
    turns = x.shape[-1] // quarter
    with pytest.raises(
        InputError, match=rf"action of C{turns + 1}: elements 0 \(e\) and {turns} .* the same"
    ):
        check_action(rolled(turns + 1, quarter), x)


def test_elements_in_another_order_or_from_the_right_are_refused() -> None:
    for group, given in ((groups.dihedral(4), dihedral_action(4)), (groups.dihedral(8), dihedral_action(8))):
        right = custom_action(group, lambda g, x, a=given: a.act(a.group.inverse(g), x), 2, "right")
        with pytest.raises(
            InputError, match=r"right is not an action of D\d: element 1 \(r\) after .* gives;"
        ):
            check_action(right, DIGITS)
    late = custom_action(groups.cyclic(28), lambda g, x: x.roll(g + 1, -1), 2, "late")
    with pytest.raises(
        InputError, match=r"0 \(e\), the identity, should keep the samples; .* as 27 \(r\^27\) does"
    ):
        check_action(late, DIGITS)


def test_what_is_no_action_of_any_group_is_refused() -> None:
    doubled = custom_action(groups.cyclic(2), lambda g, x: 2 * x if g else x, 2, "doubled")
    with pytest.raises(InputError, match="off by 300% of what varies"):
        check_action(doubled, DIGITS)
    with pytest.raises(InputError, match=r"rolled is not an action of C3: element 1 \(r\) after 2 .* off by"):
        check_action(rolled(3, 2), NOISE)
