"""Makes the bundled sample: the first images of each class in MNIST's training file.

python -m symscope.data.bundled.make_sample FOLDER [--out FILE] [--per-class 200]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import torch

from symscope.data.mnist_files import mnist
from symscope.errors import InputError


def write_sample(folder: Path, out: Path, per_class: int) -> None:
    """Writes `images`, `labels` and `indices` of the first `per_class` training images of each class.

    Args:
        folder: Holds MNIST's training files.
        out: The `.npz` to write.
        per_class: Images per class.

    Raises:
        InputError: A class has fewer images.
    """
    data = mnist(folder, "train", dtype=torch.float32)
    chosen = []
    for digit in data.classes:
        members = (data.labels == digit).nonzero()[:per_class, 0]
        if len(members) < per_class:
            raise InputError(
                f"{folder}: class {digit} has {len(members)} images, {per_class} were asked for."
            )
        chosen.append(members)
    indices = torch.cat(chosen)
    np.savez_compressed(
        out,
        images=(data.x[indices] * 255).round().to(torch.uint8).numpy(),
        labels=data.labels[indices].to(torch.uint8).numpy(),
        indices=indices.to(torch.int32).numpy(),
    )


def main(arguments: list[str] | None = None) -> int:
    """Parses the command line and writes the sample; 0 when all went well, 2 for bad input."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path, help="holds MNIST's training files")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("mnist_sample.npz"))
    parser.add_argument("--per-class", type=int, default=200)
    given = parser.parse_args(arguments)
    try:
        write_sample(given.folder, given.out, given.per_class)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
