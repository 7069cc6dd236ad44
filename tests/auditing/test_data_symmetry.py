"""Has the data the symmetry? Planted alignment, ranges, subgroups, labels that do not survive, numbers."""

from dataclasses import replace

import pytest
import torch

from symscope.auditing._data_symmetry import data_symmetry
from symscope.data import LabelledData, MeasuredData, custom_action, mnist_sample, plane_vectors, rotation
from symscope.data.images import flip, flip_both
from symscope.data.synthetic import letters
from symscope.errors import InputError
from symscope.groups import cyclic
from symscope.numerics import seeded
from tests.auditing.trained import tilts


def turned(data, action, elements, seed=0):
    """Each sample moved by one of some elements, drawn at random."""
    drawn = torch.tensor(elements)[torch.randint(len(elements), (len(data),), generator=seeded(seed))]
    return replace(data, x=action.act(drawn, data.x))


def verdicts(found):
    return {one.element: one.verdict for one in found.elements}


def test_aligned_letters_are_told_from_turned_ones_and_turned_ones_are_not():
    data = letters(90, 0, "FJ")
    aligned = data_symmetry(data, rotation(4))
    assert aligned.aligned
    assert set(verdicts(aligned).values()) == {"different"}
    assert {one.verdict for one in aligned.classes} == {"different"}
    assert aligned.seen_elements == aligned.wanted_elements == (0,)
    assert aligned.recommendation == "not"
    spread = data_symmetry(turned(data, rotation(4), [0, 1, 2, 3]), rotation(4))
    assert not spread.aligned
    assert set(verdicts(spread).values()) == {"same"}
    assert spread.recommendation == "want"
    assert spread.wanted_elements == (0, 1, 2, 3)
    assert "the data looks the same" in spread.evidence[0]


def test_the_part_of_the_group_that_the_data_holds_is_named():
    data = turned(letters(150, 1, "FJ"), rotation(8), [0, 4])
    found = data_symmetry(data, rotation(8))
    assert verdicts(found) == {g: "same" if g == 4 else "different" for g in range(1, 8)}
    assert found.recommendation == "part"
    assert found.wanted_elements == found.seen_elements == (0, 4)
    assert "180°" in found.evidence[-1]
    assert "subgroup, which may be built in" in found.evidence[-1]
    assert found.interpolation is not None
    assert found.interpolation < 0.6


def test_a_range_of_small_rotations_is_wanted_but_no_subgroup():
    data = turned(letters(100, 2, "FJ"), rotation(36), [33, 34, 35, 0, 1, 2, 3])
    found = data_symmetry(data, rotation(18))  # 20 degrees against data within 30
    assert found.recommendation == "part"
    assert found.wanted_elements == (0, 1, 17)
    assert "20°, 340°" in found.evidence[-1]
    assert "no subgroup" in found.evidence[-1]
    assert verdicts(found)[9] == "different"


def test_mirrored_letters_look_the_same_together_but_their_labels_do_not_survive():
    data = letters(100, 3, "bd")
    found = data_symmetry(data, flip("x"), class_names=["b", "d"])
    assert verdicts(found) == {1: "same"}  # b and d together are as many after the mirror
    assert {one.verdict for one in found.classes} == {"different"}
    assert found.recommendation == "not"
    assert any("moved by r is confused with" in one for one in found.evidence)
    assert repr(found).endswith("flip-x: not; 1 same, 1 pair of classes mixed up)")
    kept = data_symmetry(letters(100, 3, "xF").of_classes(0), flip("x"))
    assert kept.recommendation == "want"
    assert "one class only" in " ".join(kept.evidence)


def test_quotients_of_wanted_elements_mix_no_labels():
    """Upside-down letters look like the data; mirrored ones change labels, both ways too."""
    data = turned(letters(120, 4, "bd"), flip_both(), [0, 2])  # upside down, b stays b as p does here
    found = data_symmetry(data, flip_both())
    assert found.wanted_elements == (0, 2)
    assert {one.element for one in found.labels} == {1, 3}


def test_what_will_be_met_is_wanted_whatever_the_data_shows():
    data = letters(40, 5, "FJ")
    found = data_symmetry(data, rotation(4), met_elements=(0, 1, 2, 3))
    assert found.aligned
    assert found.recommendation == "want"
    part = data_symmetry(data, rotation(4), met_elements=(2,))
    assert part.wanted_elements == (0, 2)


def test_few_samples_cannot_tell():
    found = data_symmetry(turned(letters(12, 6, "Fx"), flip("x"), [0, 1]), flip("x"))
    assert verdicts(found) == {1: "unknown"}
    assert not found.aligned
    assert "cannot be told from 24 samples" in found.evidence[0]


def test_inverse_elements_share_a_test_and_large_groups_are_thinned_out():
    data = mnist_sample().of_classes(3, 7).per_class(12, 0)
    found = data_symmetry(data, rotation(60))
    tests = {one.element: one for one in found.elements}
    assert len(tests) == 20
    assert all(tests[60 - g].accuracy == one.accuracy for g, one in tests.items() if g != 30)
    assert "20 of 59 elements were tried" in found.notes[0]


def points(seed=0, count=400):
    return torch.randn(count, 2, generator=seeded(seed), dtype=torch.float64)


def reflected():
    return custom_action(cyclic(2), lambda g, x: x * torch.tensor([1.0, -1.0]) if g else x, 1, "reflection")


@pytest.mark.parametrize(("numbers", "verdict", "advice"), [
    (lambda x: x[:, 0] + x[:, 1] ** 2, "survives", "want"),
    (lambda x: x[:, 0] + x[:, 1], "changes", "not"),
])  # fmt: skip
def test_numbers_to_predict(numbers, verdict, advice):
    x = points()
    found = data_symmetry(MeasuredData(x, numbers(x), "points", "tests"), reflected())
    assert verdicts(found) == {1: "same"}
    assert [one.verdict for one in found.targets] == [verdict]
    assert found.recommendation == advice
    assert found.classes == found.labels == ()


def test_numbers_that_move_with_the_samples():
    x = points(1)
    data = MeasuredData(x, x @ torch.tensor([[2.0, 0.0], [0.0, 3.0]]).double(), "points", "tests")
    assert data_symmetry(data, reflected(), target=reflected()).targets[0].verdict == "survives"
    assert data_symmetry(data, reflected()).targets[0].verdict == "changes"


def test_numbers_of_samples_unlike_the_data_cannot_be_tested():
    x = points(2) + torch.tensor([0.0, 5.0])
    found = data_symmetry(MeasuredData(x, x[:, 0], "points", "tests"), reflected())
    assert [one.verdict for one in found.targets] == ["not testable"]
    assert any("cannot be tested" in one for one in found.evidence)
    noise = torch.randn(400, generator=seeded(3), dtype=torch.float64)
    found = data_symmetry(MeasuredData(points(2), noise, "noise", "tests"), reflected())
    assert [one.verdict for one in found.targets] == ["not testable"]


def test_bad_input():
    data = letters(4, 0, "bd")
    with pytest.raises(InputError, match="at least 20 samples to compare, got 8"):
        data_symmetry(data, flip("x"))
    data = letters(15, 0, "bd")
    with pytest.raises(InputError, match="order 1"):
        data_symmetry(data, rotation(1))
    with pytest.raises(InputError, match=r"met_elements: expected elements 0 \.\. 1, got \(5,\)"):
        data_symmetry(data, flip("x"), met_elements=(5,))
    with pytest.raises(InputError, match="class_names: expected one for each class"):
        data_symmetry(data, flip("x"), class_names=["b"])
    with pytest.raises(InputError, match="square images"):
        data_symmetry(LabelledData(data.x[:, :9], data.labels, "cut", "tests"), rotation(8))


def test_a_weak_classifier_does_not_make_a_large_change_wanted():
    """Noise with a faint mark: hard to tell from its mirror image, which is far from it all the same."""
    x = torch.randn(300, 12, 12, generator=seeded(5))
    x[:, :3] += 0.2 * torch.linspace(-1, 1, 12)
    data = LabelledData(x, torch.arange(300) % 2, "noise", "tests")
    found = data_symmetry(data, flip("x"))
    (one,) = found.elements
    assert one.verdict == "different"
    assert one.accuracy < 0.75
    assert one.displacement > 0.7
    assert found.recommendation == "not"


def test_displacement_is_the_median_distance_over_that_between_samples():
    x = points(4)
    found = data_symmetry(MeasuredData(x, x[:, 0], "points", "tests"), reflected())
    apart = torch.pdist(x).median()
    assert found.elements[0].displacement == pytest.approx(
        float((2 * x[:, 1]).abs().median() / apart), rel=0.1
    )


def test_numbers_are_not_judged_where_moved_samples_do_not_look_like_the_data():
    found = data_symmetry(tilts(120, seed=1), rotation(8), target=plane_vectors(rotation(8), (2,)))
    assert (
        min(one.accuracy for one in found.elements) > 0.9
    )  # few and interpolated: "unknown", and told apart
    assert {one.verdict for one in found.targets} == {"not testable"}
