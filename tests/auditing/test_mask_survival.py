"""Masks under turns and mirrors: cases whose answer is known by construction, and false alarms."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
import torch
from torch import nn

import symscope
from symscope.auditing import audit_page, data_symmetry
from symscope.auditing._mask_survival import surroundings
from symscope.auditing._target_survival import CHANGED, target_tests
from symscope.auditing._two_sample import holm
from symscope.data import rotation
from symscope.data.images import flip
from tests.auditing.planted_masks import SIDE, ends, hands, left_sides, sky

COUNT = 300


def verdicts(data, action) -> set[str]:
    return {one.verdict for one in data_symmetry(data, action).targets}


@pytest.mark.parametrize("action", [rotation(4), flip("x"), flip("y")], ids=["turns", "mirror x", "mirror y"])
def test_masks_that_move_with_the_picture_survive(action):
    assert verdicts(ends(COUNT, 3), action) == {"survives"}


def test_masks_of_the_left_side_change_under_turns_and_one_mirror():
    assert verdicts(left_sides(COUNT, 3), rotation(4)) == {"changes"}
    assert verdicts(left_sides(COUNT, 3), flip("x")) == {"changes"}
    assert verdicts(left_sides(COUNT, 3), flip("y")) == {"survives"}


def test_masks_that_are_the_same_for_every_picture_change_where_they_are_not_symmetric():
    assert verdicts(sky(COUNT, 3), rotation(4)) == {"changes"}
    assert verdicts(sky(COUNT, 3), flip("x")) == {"survives"}


def test_masks_of_a_hand_survive_turns_and_no_mirror():
    found = data_symmetry(hands(2 * COUNT, 3), "D4")
    mirrors = {one.element for one in found.targets if one.verdict == "changes"}
    assert mirrors == {4, 5, 6, 7}
    assert {one.verdict for one in found.targets if one.element < 4} == {"survives"}
    assert (found.recommendation, found.wanted_elements) == ("part", (0, 1, 2, 3))
    assert any("samples have other masks" in one for one in found.evidence)
    assert any("have their masks, moved with them" in one for one in found.evidence)


def test_aligned_pictures_cannot_tell():
    found = data_symmetry(ends(COUNT, 3, upright=True), rotation(4))
    assert {one.verdict for one in found.targets} == {"not testable"}
    assert any("cannot be tested" in one for one in found.evidence)


def test_masks_that_have_nothing_to_do_with_the_picture_cannot_tell():
    x, _ = ends(COUNT, 3)
    noise = torch.randint(2, x.shape, generator=torch.Generator().manual_seed(0))
    assert verdicts((x, noise), flip("x")) == {"not testable"}


def test_few_samples_raise_no_false_alarm():
    found = [data_symmetry(ends(80, seed), rotation(4)).targets for seed in range(12)]
    assert not any(one.verdict == "changes" for tests in found for one in tests)


def test_coarser_masks_and_colours_are_taken_and_finer_ones_are_not_asked():
    x, masks = left_sides(COUNT, 3)
    coarse = nn.functional.max_pool2d(masks.float(), 2, ceil_mode=True).long()
    colours = torch.stack([x, -x, 0 * x], 1)
    assert verdicts((colours, coarse), flip("x")) == {"changes"}
    finer = masks.repeat_interleave(2, 1).repeat_interleave(2, 2)
    assert "finer than the samples" in " ".join(data_symmetry((x, finer), flip("x")).evidence)
    assert "not of pictures" in " ".join(data_symmetry((x, 0 * masks), flip("x")).evidence)


def test_large_pictures_and_their_masks_are_made_smaller_together():
    x, masks = left_sides(200, 3)
    large = [one.repeat_interleave(4, 1).repeat_interleave(4, 2) for one in (x, masks)]
    assert verdicts((large[0], large[1]), flip("x")) == {"changes"}


def test_surroundings_are_the_pixels_around_a_position_and_where_it_lies():
    pictures = torch.rand(2, SIDE, SIDE, generator=torch.Generator().manual_seed(1))
    at = torch.tensor([[5 * SIDE + 7], [9 * SIDE + 3]])
    found = surroundings(pictures, (SIDE, SIDE), None, at)
    for row, (picture, (low, right)) in enumerate(zip(pictures, [(5, 7), (9, 3)], strict=True)):
        plain = (picture - picture.median()).numpy()
        around = plain[low - 2 : low + 3, right - 2 : right + 3].ravel()
        np.testing.assert_allclose(found[row, :25], around, atol=1e-6)
        centre = plain[low - 1 : low + 2, right - 1 : right + 2].mean()
        np.testing.assert_allclose(found[row, 25 + 12], centre, atol=1e-6)  # of pixels three apart
        np.testing.assert_allclose(found[row, -2:], [(2 * low + 1) / SIDE - 1, (2 * right + 1) / SIDE - 1])


def test_positions_of_a_sample_are_no_more_evidence_than_the_sample():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(160, 2, generator=generator).double()
    y = x[:, :1] + 0.2 * torch.randn(160, 1, generator=generator).double()
    fitted, asked = (x[:80], y[:80]), (x[80:], y[80:])
    moved = {1: (asked[0], asked[1] + 0.5), 2: (asked[0], asked[1] + 0.2)}
    once = target_tests(fitted, asked, moved, [1, 2])

    def thrice(pair):
        return tuple(one.repeat_interleave(3, 0) for one in pair)

    again = target_tests(fitted, thrice(asked), {g: thrice(one) for g, one in moved.items()}, [1, 2], 3)
    for one, other in zip(once, again, strict=True):
        assert (one.low, one.high, one.p_value) == pytest.approx((other.low, other.high, other.p_value))
    expected = []
    for one in once:
        middle, deviation = (one.low + one.high) / 2, (one.high - one.low) / 2 / scipy.stats.norm.ppf(0.975)
        expected.append(min(1.0, 2 * scipy.stats.norm.sf((middle - CHANGED) / deviation)))
    assert [one.p_value for one in once] == pytest.approx(holm(expected), rel=1e-4)


def test_an_audit_of_a_network_that_learned_them_names_masks_that_do_not_survive():
    x, masks = left_sides(COUNT, 3)
    torch.manual_seed(0)
    body = [nn.Flatten(), nn.Linear(SIDE**2, 64), nn.ReLU(), nn.Linear(64, 3 * SIDE**2)]
    net = nn.Sequential(*body, nn.Unflatten(1, (3, SIDE, SIDE)))
    optimiser = torch.optim.Adam(net.parameters(), 1e-2)
    for _ in range(60):
        optimiser.zero_grad()
        nn.functional.cross_entropy(net(x[:, None]), masks).backward()
        optimiser.step()
    found = symscope.audit(net, (x, masks), flip("x"), seconds=20)
    assert found.causes[0].kind == "data"
    assert "Not all masks survive" in found.causes[0].sentence
    assert found.data_symmetry is not None
    assert found.data_symmetry.recommendation == "not"
    assert {one.module for one in found.repairs} == {None}
    assert "masks change when samples are moved" in found.repairs[0].reason
    page = audit_page(found)
    assert "Do masks move with samples?" in page
    assert "samples and their labels alone" in page
