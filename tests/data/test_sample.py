from __future__ import annotations

import os
from importlib import resources

import numpy as np
import pytest
import torch

from symscope.data._mnist import mnist
from symscope.data._sample import mnist_sample

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
