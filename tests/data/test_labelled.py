from __future__ import annotations

import os
from importlib import resources

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope.data._labelled import LabelledData, mnist_sample
from symscope.data.mnist_files import mnist
from symscope.errors import InputError
from tests.tolerances import ROUNDING


def made(counts: dict[int, int], seed: int = 0) -> LabelledData:
    """`counts[c]` items of class c in mixed order; every item is recognisable by its first entry."""
    labels = torch.cat([torch.full((k,), c) for c, k in counts.items()])
    labels = labels[torch.randperm(len(labels), generator=torch.Generator().manual_seed(seed))]
    x = torch.randn(len(labels), 3, 2, generator=torch.Generator().manual_seed(seed + 1), dtype=torch.float64)
    x[:, 0, 0] = torch.arange(len(labels))
    return LabelledData(x, labels, "made", "typed")


@given(
    st.dictionaries(st.integers(-5, 12), st.integers(4, 9), min_size=1, max_size=4),
    st.integers(1, 4),
    st.integers(0, 2**40),
)
def test_per_class_draws_that_many_of_each_without_repeats(counts, count, seed):
    data = made(counts)
    drawn = data.per_class(count, seed)
    assert drawn.labels.tolist() == [label for label in sorted(counts) for _ in range(count)]
    assert len(drawn.indices.unique()) == len(drawn)
    assert torch.equal(drawn.x, data.x[drawn.indices])
    assert torch.equal(drawn.labels, data.labels[drawn.indices])
    assert torch.equal(drawn.indices, data.per_class(count, seed).indices)


def test_a_class_is_drawn_the_same_whatever_else_is_drawn():
    data = made({0: 30, 3: 40, 7: 35})
    alone = data.per_class(5, seed=2, classes=[3])
    among = data.per_class(9, seed=2, classes=[7, 3])
    assert torch.equal(among.indices[9:14], alone.indices)
    assert torch.equal(data.of_classes(3).per_class(5, seed=2).indices, alone.indices)


def test_seeds_differ_and_every_item_is_equally_likely():
    data = made({1: 6, 2: 6})
    draws = torch.stack([data.per_class(2, seed).indices for seed in range(600)])
    assert len(draws.unique(dim=0)) > 300
    # 600 seeds x 2 of 6: mean 200 each, standard deviation sqrt(600 (1/3)(2/3)) = 11.5
    counts = torch.bincount(draws.flatten(), minlength=12)
    assert int((counts - 200).abs().max()) < 5 * 11.5


def test_of_classes_keeps_order_and_labels():
    data = made({0: 5, 4: 6, 9: 7})
    kept = data.of_classes(9, 0)
    assert kept.classes == (0, 9)
    assert kept.indices.tolist() == [i for i in range(18) if int(data.labels[i]) in (0, 9)]
    assert kept.name == data.name
    assert kept.source == data.source


def test_take_composes():
    data = made({0: 6, 1: 6})
    twice = data.take(torch.tensor([8, 3, 5, 0])).take(torch.tensor([2, 0]))
    assert twice.indices.tolist() == [5, 8]
    assert twice.x[:, 0, 0].tolist() == [5, 8]


def test_standardised_has_mean_zero_norm_one_and_forgets_brightness_and_contrast():
    data = made({0: 5, 1: 4})
    plain = data.standardised()
    assert plain.x.mean((1, 2)).abs().max() < ROUNDING
    assert (plain.x.flatten(1).norm(dim=1) - 1).abs().max() < ROUNDING
    moved = LabelledData(3.5 * data.x + 2.25, data.labels, "moved", "typed").standardised()
    assert (plain.x - moved.x).abs().max() < ROUNDING
    assert (plain.standardised().x - plain.x).abs().max() < ROUNDING
    # by hand, one image
    image = data.x[2] - data.x[2].sum() / 6
    assert (plain.x[2] - image / (image**2).sum().sqrt()).abs().max() < ROUNDING


@pytest.mark.parametrize("value", [0.0, 0.1, 1e30, -7.3])
def test_constant_images_cannot_be_standardised(value):
    x = torch.randn(4, 28, 28, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    x[2] = value
    data = LabelledData(x, torch.tensor([0, 1, 0, 1]), "made", "typed")
    with pytest.raises(InputError, match="got 1 constant ones, the first at index 2"):
        data.standardised()


def test_faint_images_are_not_constant():
    x = torch.full((1, 28, 28), 0.5, dtype=torch.float64)
    x[0, 3, 4] += 1e-9
    assert torch.isfinite(LabelledData(x, torch.tensor([0]), "faint", "typed").standardised().x).all()


def test_to_changes_type_and_keeps_the_rest():
    data = made({0: 2, 1: 2})
    single = data.to(dtype=torch.float32)
    assert single.x.dtype == torch.float32
    assert torch.equal(single.labels, data.labels)
    assert torch.equal(single.indices, data.indices)


def test_repr_says_what_it_is():
    assert repr(made({0: 2, 1: 3})) == "LabelledData(made: 5 items of 3 x 2, 2 classes, typed)"
    assert len(made({0: 2, 1: 3})) == 5


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_non_finite_numbers_are_counted_and_placed(value):
    x = torch.ones(4, 2, 3)
    x[1, 1, 2] = x[3, 0, 0] = value
    with pytest.raises(InputError, match=r"2 of 24 entries NaN or infinite, the first at index \(1, 1, 2\)"):
        LabelledData(x, torch.zeros(4, dtype=torch.long), "made", "typed")


@pytest.mark.parametrize(
    ("x", "labels", "message"),
    [
        (
            torch.ones(3),
            torch.zeros(3, dtype=torch.long),
            r"expected inputs \[n, \*shape\], .*got shape \(3,\)",
        ),
        (torch.ones(0, 2), torch.zeros(0, dtype=torch.long), "at least one"),
        (torch.ones(3, 2).byte(), torch.zeros(3, dtype=torch.long), "floating-point inputs, got torch.uint8"),
        (torch.ones(3, 2), torch.zeros(3), "int64 .*got shape .* of torch.float32"),
        (torch.ones(3, 2), torch.zeros(3, 1, dtype=torch.long), r"labels \[n\]"),
        (torch.ones(3, 2), torch.zeros(4, dtype=torch.long), "got 3 inputs, 4 labels"),
    ],
)
def test_wrong_shapes_and_types(x, labels, message):
    with pytest.raises(InputError, match=message):
        LabelledData(x, labels, "made", "typed")


def test_wrong_indices():
    with pytest.raises(InputError, match="expected 2 indices"):
        LabelledData(torch.ones(2, 2), torch.tensor([0, 1]), "made", "typed", torch.tensor([4]))


def test_empty_and_small_classes_are_named():
    data = made({2: 5, 6: 3})
    with pytest.raises(InputError, match=r"class 4 is empty; the set has classes \(2, 6\)"):
        data.per_class(1, seed=0, classes=[2, 4])
    with pytest.raises(InputError, match="class 6 has 3 items, not 4"):
        data.per_class(4, seed=0)
    with pytest.raises(InputError, match="class 5 is empty"):
        data.of_classes(2, 5)
    with pytest.raises(InputError, match="at least one class, got none"):
        data.of_classes()
    with pytest.raises(InputError, match="at least one class, got none"):
        data.per_class(1, seed=0, classes=[])
    with pytest.raises(InputError, match="count: expected an integer of at least 1, got 0"):
        data.per_class(0, seed=0)
    with pytest.raises(InputError, match=r"positions 0 \.\. 7, got 0 \.\. 8"):
        data.take(torch.tensor([0, 8]))
    with pytest.raises(InputError, match="at least one position"):
        data.take(torch.tensor([], dtype=torch.long))


SAMPLE = mnist_sample()


def test_200_of_each_class():
    assert SAMPLE.x.shape == (2000, 28, 28)
    assert SAMPLE.x.dtype == torch.float64
    assert torch.bincount(SAMPLE.labels).tolist() == [200] * 10
    assert SAMPLE.x.min() == 0
    assert SAMPLE.x.max() == 1
    assert mnist_sample(torch.float32).x.dtype == torch.float32


def test_they_are_the_first_of_each_class():
    # until the first class is full, every training image is in the sample; none is there twice
    per_class = SAMPLE.indices.reshape(10, 200)
    assert (per_class.diff(dim=1) > 0).all()
    full = int(per_class[:, -1].min())
    there = SAMPLE.indices.sort().values
    assert there[: full + 1].tolist() == list(range(full + 1))
    assert len(there.unique()) == 2000


def test_the_beginning_of_the_training_file_is_as_everybody_knows_it():
    order = SAMPLE.indices.argsort()
    assert SAMPLE.labels[order][:20].tolist() == [5, 0, 4, 1, 9, 2, 1, 3, 1, 4, 3, 5, 3, 6, 1, 7, 2, 8, 6, 9]


def test_the_images_are_digits_the_right_way_up():
    means = torch.stack([SAMPLE.of_classes(digit).x.mean(0) for digit in range(10)])
    # a one is a stroke in the middle, a zero has a hole there
    assert means[1, 13:15, 13:15].mean() > 0.8 > 0.2 > means[0, 13:15, 13:15].mean()
    # a seven's weight is at the top, its bar; upside down it would not be
    assert means[7, 6:10].sum() > means[7, 19:23].sum()
    # a six bends out to the left above its ring; mirrored it would be to the right
    assert means[6, 8:14, :13].sum() > means[6, 8:14, 15:].sum()
    # the mean pixel of all of MNIST is 0.1307
    assert abs(SAMPLE.x.mean().item() - 0.1307) < 0.005
    # nearest class mean reads two thirds of the digits and more
    distance = torch.cdist(SAMPLE.x.flatten(1), means.flatten(1))
    assert (distance.argmin(1) == SAMPLE.labels).double().mean() > 0.66


def test_file_is_small_and_its_licence_beside_it():
    folder = resources.files("symscope.data.bundled")
    assert len((folder / "mnist_sample.npz").read_bytes()) < 400_000
    licence = (folder / "MNIST.txt").read_text()
    for words in ("Yann LeCun", "Corinna Cortes", "Burges", "ShareAlike 3.0", "NIST"):
        assert words in licence
    with (folder / "mnist_sample.npz").open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
        assert {key: arrays[key].dtype.name for key in arrays} == {
            "images": "uint8",
            "labels": "uint8",
            "indices": "int32",
        }


@pytest.mark.skipif("SYMSCOPE_MNIST" not in os.environ, reason="set SYMSCOPE_MNIST to a folder with MNIST")
def test_the_sample_is_in_the_training_file():
    train = mnist(os.environ["SYMSCOPE_MNIST"])
    assert torch.equal(train.x[SAMPLE.indices], SAMPLE.x)
    assert torch.equal(train.labels[SAMPLE.indices], SAMPLE.labels)
