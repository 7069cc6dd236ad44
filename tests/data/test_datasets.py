from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from torch.utils.data import Dataset, IterableDataset, Subset, TensorDataset

from symscope.data import LabelledData, as_samples
from symscope.errors import InputError

X = torch.randn(6, 2, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
Y = torch.tensor([3, 0, 3, 1, 0, 3])


class Listed(Dataset):
    """Map-style, from any list of items."""

    def __init__(self, items: list) -> None:
        self.items = items

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> object:
        return self.items[index]


class Streamed(IterableDataset):
    """Iterable and endless."""

    def __iter__(self) -> Iterator[tuple[torch.Tensor, int]]:
        return ((X[i % 6] + i, int(Y[i % 6])) for i in itertools.count())


def from_dataset(dataset: object, limit: int | None = None) -> LabelledData:
    """Samples with classes."""
    return as_samples(dataset, "classification", limit)[0]


def test_map_style_whole_and_in_part():
    data = from_dataset(TensorDataset(X, Y))
    assert torch.equal(data.x, X)
    assert torch.equal(data.labels, Y)
    assert data.name == "TensorDataset"
    assert torch.equal(from_dataset(TensorDataset(X, Y), limit=4).x, X[:4])
    assert len(from_dataset(TensorDataset(X, Y), limit=99)) == 6
    assert torch.equal(from_dataset(Subset(TensorDataset(X, Y), [5, 1])).x, X[[5, 1]])


def test_iterable_is_read_no_further_than_its_limit():
    data = from_dataset(Streamed(), limit=8)
    assert data.labels.tolist() == [3, 0, 3, 1, 0, 3, 3, 0]
    assert torch.equal(data.x[7], X[1] + 7)


@pytest.mark.parametrize(
    "convert",
    [lambda x: x, lambda x: x.numpy(), lambda x: x.tolist(), lambda x: x.clone().requires_grad_()],
)
@pytest.mark.parametrize(
    "label", [int, float, np.int32, torch.tensor, lambda y: np.array([y]), lambda y: [y][0]]
)
def test_every_common_kind_of_item(convert, label):
    items = [(convert(x), label(int(y))) for x, y in zip(X, Y, strict=True)]
    data = from_dataset(Listed(items))
    assert torch.equal(data.x, X)
    assert torch.equal(data.labels, Y)
    assert not data.x.requires_grad


def test_scalars_get_an_axis():
    assert from_dataset(Listed([(0.5, 0), (1.5, True)])).x.tolist() == [[0.5], [1.5]]


def test_pil_images():
    image = pytest.importorskip("PIL.Image")
    grey = np.random.default_rng(0).integers(0, 256, (4, 5), dtype=np.uint8)
    colour = np.random.default_rng(1).integers(0, 256, (4, 5, 3), dtype=np.uint8)
    read = from_dataset(Listed([(image.fromarray(grey), 2)])).x[0]
    np.testing.assert_array_equal((read * 255).round().numpy(), grey)
    assert read.max() <= 1
    read = from_dataset(Listed([(image.fromarray(colour), 2)])).x[0]
    np.testing.assert_array_equal((read * 255).round().numpy(), colour.transpose(2, 0, 1))
    read = from_dataset(Listed([(image.fromarray(grey > 99), 2)])).x[0]
    np.testing.assert_array_equal(read.numpy(), grey > 99)
    with pytest.raises(
        InputError, match="sample 0: expected a PIL image of mode 1, L, RGB, RGBA, got CMYK; convert"
    ):
        from_dataset(Listed([(image.fromarray(colour).convert("CMYK"), 2)]))


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([], "expected a dataset with samples, got an empty one"),
        ([X[0]], r"sample 0: expected a pair \(input, label\), got a Tensor"),
        ([(X[0], 1), (X[1], 1, 2)], "sample 1: expected a pair .* got a tuple of length 3"),
        ([(X[0], 1), (X[1, :1], 1)], r"sample 1: .*one shape, \(2, 3\) as in sample 0, got \(1, 3\); resize"),
        ([(X[0], 1.5)], "expected whole numbers as classes, got 1.5 at index 0"),
        ([(X[0], float("nan"))], "whole numbers as classes, got nan"),
        ([(X[0], {"cat": 1})], "sample 0: expected as label a word, or .* numbers, got {'cat': 1}"),
        ([(X[0], torch.eye(3)[0])], r"expected one class number for each sample, got shape \(1, 3\)"),
        ([("cat", 0)], "expected numbers, a tensor or an image, got a str"),
        ([([[1.0], [1.0, 2.0]], 0)], "sample 0: expected a rectangular array"),
        ([(X[0].to(torch.complex64), 0)], "expected real numbers, got torch.complex64"),
        ([(X[0], 0), (X[0] / 0, 0)], r"6 of 12 entries NaN or infinite, the first at index \(1, 0, 0\)"),
    ],
)
def test_items_that_do_not_fit(items, message):
    with pytest.raises(InputError, match=message):
        from_dataset(Listed(items))


def test_bad_limits():
    with pytest.raises(InputError, match="limit: expected an integer of at least 1, got 0"):
        from_dataset(TensorDataset(X, Y), limit=0)


def test_numbers_to_predict_from_a_dataset():
    pairs = [(torch.ones(2) * k, value) for k, value in enumerate((torch.tensor([0.5, 2.0]), [1.0, 3.5]))]
    assert as_samples(pairs)[0].targets.tolist() == [[0.5, 2.0], [1.0, 3.5]]
    scalars = [(torch.ones(2), 1), (torch.zeros(2), np.float32(2.5))]
    assert as_samples(scalars)[0].targets.tolist() == [[1.0], [2.5]]
    with pytest.raises(InputError, match=r"sample 1: expected a label of shape \(2,\) as in sample 0"):
        as_samples([pairs[0], scalars[0]])
    with pytest.raises(InputError, match="expected real numbers to predict, got <U3"):
        as_samples([(torch.ones(2), "cat")], "regression")
    with pytest.raises(InputError, match="expected finite numbers"):
        as_samples([(torch.ones(2), float("nan"))], "regression")
