"""The MNIST sample that comes with the package, so that everything runs without a download."""

from __future__ import annotations

from importlib import resources

import numpy as np
import torch

from symscope.data._labelled import LabelledData


def mnist_sample(dtype: torch.dtype = torch.float64) -> LabelledData:
    """The first 200 training images of each MNIST class, pixels in [0, 1].

    Origin and licence (CC BY-SA 3.0) are in `symscope/data/bundled/MNIST.txt`.

    Args:
        dtype: Floating-point type of the pixels.

    Returns:
        2,000 images [2000, 28, 28], class after class; `indices` are positions in MNIST's training file.

    >>> mnist_sample().per_class(3, seed=0).x.shape
    torch.Size([30, 28, 28])
    """
    file = resources.files("symscope.data.bundled") / "mnist_sample.npz"
    with file.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
        images, labels, indices = (torch.from_numpy(arrays[key]) for key in ("images", "labels", "indices"))
    return LabelledData(
        images.to(dtype) / 255, labels.long(), "MNIST sample", "bundled with symscope", indices.long()
    )
