"""Writes the bank's data that comes with other packages to small files, for machines without these packages.

python -m symscope_papers.forecast.bank.export FOLDER [AEON]

`rings.npz` and `handed.npz` need biotite (`pip install symscope[molecules]`). `italy.npz` is the set
ItalyPowerDemand that aeon brings along; AEON is its wheel (`pip download --no-deps aeon`), which is read and
not installed; without it that set is left out.
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import numpy as np
import torch

from symscope.data import LabelledData
from symscope.data.molecules import handed_samples, ring_samples
from symscope.errors import InputError

ITALY = "aeon/datasets/data/ItalyPowerDemand/ItalyPowerDemand_{}.ts"
LARGEST_CENTRE = 16  # heavy atoms of a molecule with a stereocentre, at most


def power_demand(wheel: Path) -> LabelledData:
    """Days of electrical power demand, 24 hours each: October to March (class 0) or April to September (1).

    Both parts of the set together, `[1096, 1, 24]`.

    Args:
        wheel: File of aeon, as pip downloads it.

    Raises:
        InputError: A file that is not there, no wheel, or without the set.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            text = [archive.read(ITALY.format(part)).decode() for part in ("TRAIN", "TEST")]
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise InputError(f"expected the wheel of aeon, `pip download --no-deps aeon`: {error}") from error
    lines = [line for part in text for line in part.splitlines() if line and line[0] not in "#@"]
    values, labels = zip(*(line.rsplit(":", 1) for line in lines), strict=True)
    x = torch.tensor([[float(one) for one in row.split(",")] for row in values], dtype=torch.float64)
    return LabelledData(x[:, None], torch.tensor([int(one) - 1 for one in labels]), "italy", wheel.name)


def export(folder: Path, wheel: Path | None = None) -> list[Path]:
    """Writes the files, and returns their paths."""
    sets = {"rings": ring_samples(), "handed": handed_samples(LARGEST_CENTRE)}
    if wheel is not None:
        sets["italy"] = power_demand(wheel)
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in sets.items():
        np.savez_compressed(
            folder / f"{name}.npz", X=data.x.to(torch.float32).numpy(), y=data.labels.to(torch.uint8).numpy()
        )
    return [folder / f"{name}.npz" for name in sets]


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(f"expected a folder, and the wheel of aeon where there is one\n{__doc__}")
    try:
        written = export(Path(sys.argv[1]), *[Path(one) for one in sys.argv[2:]])
    except InputError as problem:
        sys.exit(f"{problem}")
    for path in written:
        print(f"{path}: {path.stat().st_size / 1e6:.2f} MB")
