"""Labels that do not survive: letters that become each other, 6 and 9, and no others."""

import pytest
import torch

from symscope.auditing._comparable import comparable_features, kept_pixels
from symscope.auditing._label_survival import label_tests, mixed_labels
from symscope.data import mnist_sample, parse_named_action, rotation
from symscope.data.images import flip, flip_both
from symscope.data.synthetic import letters


def found_of(data, action, elements=None):
    inside = kept_pixels(action, tuple(data.x.shape[1:]))
    elements = list(action.group.elements) if elements is None else elements
    features = torch.stack([comparable_features(action.act(g, data.x), inside) for g in elements])
    return label_tests(features, data.labels, elements, action.group)


def test_letters_become_each_other_under_the_right_mirrors():
    found = found_of(letters(40, 0, "bdpqF"), flip_both())
    by_element = {
        g: {frozenset((one.first, one.second)) for one in found if one.element == g} for g in range(1, 4)
    }
    columns, rows, both = 1, 2, 3  # elements that reverse columns, rows, both
    assert by_element[columns] == {frozenset((0, 1)), frozenset((2, 3))}
    assert by_element[rows] == {frozenset((0, 2)), frozenset((1, 3))}
    assert by_element[both] == {frozenset((0, 3)), frozenset((1, 2))}
    for one in found:
        assert one.accuracy < 0.7
        assert one.upright > 0.95
        assert one.assigned > 0.8
        assert one.p_value < 1e-4


def test_letters_without_mirror_images_survive():
    assert found_of(letters(40, 1, "bFJx"), flip("x")) == ()
    assert found_of(letters(40, 1, "bFJx"), rotation(4)) == ()


def test_six_and_nine_of_mnist_become_each_other_and_no_others():
    found = found_of(mnist_sample(torch.float32), rotation(4), [0, 2])
    assert [({one.first, one.second}, one.element) for one in found] == [({6, 9}, 2)]
    assert found[0].accuracy < 0.95 < found[0].upright


def test_classes_that_are_alike_anyway_are_not_mixed_up_by_the_action():
    """Two names for one class are confused before anything is moved: that is not the action's doing."""
    data = letters(80, 2, "xF")
    labels = torch.where(data.labels == 1, 2, torch.arange(160) % 2)  # x is called 0 or 1 at random
    moved = torch.stack([comparable_features(flip("x").act(g, data.x), None) for g in (0, 1)])
    assert label_tests(moved, labels, [0, 1], flip("x").group) == ()


@pytest.mark.parametrize("count", [1, 4])
def test_too_few_samples_name_nothing(count):
    assert found_of(letters(count, 0, "bd"), flip("x")) == ()


def test_one_test_is_left_of_each_pair_and_says_what_it_found():
    data, action = letters(40, 0, "bdx"), flip_both()
    found = mixed_labels(action.orbit(data.x), data.labels, list(range(4)), action)
    assert len(found) == 1
    sentence = found[0].sentence(["b", "d", "x"], action.group.labels)
    assert "moved by (e, r) is confused with" in sentence
    assert "against 100% where nothing is moved" in sentence


def test_mirrors_exchange_hands_whatever_turn_follows_and_rotations_do_not():
    generator = torch.Generator().manual_seed(0)
    corner = torch.tensor([[1.0, 0, 0], [0, 1.4, 0], [0, 0, 1.9], [-1, -1, -1]], dtype=torch.float64)
    labels = torch.arange(80) % 2
    x = corner + 0.1 * torch.randn(80, 4, 3, generator=generator, dtype=torch.float64)
    x[labels == 1, :, 0] *= -1  # the other hand
    for name, mixed in (("I", 0), ("Ih", 1)):
        action = parse_named_action(name, (4, 3))[1]
        elements = [0, 7, action.group.order - 7]  # of Ih the last is a mirror, turned
        found = mixed_labels(action.act(torch.tensor(elements), x[:, None]), labels, elements, action)
        assert len(found) == mixed


def clouds(kinds, count, seed, shuffled=True):
    """Points along curves, in random order or one along each: "v", "down" (v upside down), "spiral"."""
    draw = torch.Generator().manual_seed(seed)
    t = torch.rand(count * len(kinds), 24, generator=draw)
    t = t if shuffled else t.sort(1).values
    curves = {
        "v": torch.stack([2 * t - 1, 1.3 * (2 * t - 1).abs() - 0.4], -1),
        "down": torch.stack([1 - 2 * t, 0.4 - 1.3 * (2 * t - 1).abs()], -1),
        "spiral": 1.2 * torch.stack([t * torch.cos(5 * t), t * torch.sin(5 * t)], -1),
    }
    labels = torch.arange(count * len(kinds)) % len(kinds)
    x = torch.stack([curves[kinds[label]][k] for k, label in enumerate(labels.tolist())])
    return x + 0.12 * torch.randn(x.shape, generator=draw), labels


@pytest.mark.parametrize("shuffled", [True, False])
@pytest.mark.parametrize(("kinds", "mixed"), [(("v", "spiral"), []), (("v", "down", "spiral"), [{0, 1}])])
def test_clouds_are_told_apart_whatever_the_order_of_their_points(kinds, mixed, shuffled):
    x, labels = clouds(kinds, 60, 3, shuffled)
    action = parse_named_action("C8 points", (24, 2))[1]
    elements = list(action.group.elements)
    points = torch.stack([action.act(g, x) for g in elements], 1)
    assert [{one.first, one.second} for one in mixed_labels(points, labels, elements, action)] == mixed
