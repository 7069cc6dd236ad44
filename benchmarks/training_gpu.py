"""`python -m benchmarks.training_gpu`: how long Fig. 1 takes.

3 networks x 6 angle counts x 10 digits x 20 epochs. Times one epoch of each network at 8 and 64 angles on
data of full size (60,000 digits), in compiled and replayed steps: at 8 angles one digit at a time and ten
together (the ViT fills the GPU alone); at 64 the faster of these. An epoch takes
`fixed + per image * images`: two sizes give both numbers, and the whole.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import nn

from symscope.data import LabelledData, mnist_sample, rotation
from symscope.data.mnist_files import mnist
from symscope.networks.architectures import conv_net, digit_mlp, vit
from symscope.training import MiniBatch, Optimiser, train_networks
from symscope_papers.spectral.left_out import LeftOutData, left_out_data

ANGLES = (2, 4, 8, 16, 32, 64)
EPOCHS, DIGITS, BATCH, SEEDS = 20, 10, 2048, 60_000
NETWORKS: dict[str, Callable[[int], nn.Module]] = {"MLP": digit_mlp, "ConvNet": conv_net, "ViT": vit}
# ways worth trying: the copies trained together, whether steps are compiled
WAYS = {
    "MLP": ((10, True), (1, True)),
    "ConvNet": ((1, True), (10, True)),
    "ViT": ((1, True),),
}
MEASURED = 60_000  # points of each set that measure accuracy after an epoch


@dataclass(frozen=True)
class Timing:
    """One epoch of one network, with its measurements of accuracy, per digit."""

    network: str
    angles: int
    together: int
    compiled: bool
    images: int
    train_seconds: float
    measure_seconds: float
    first_seconds: float
    peak_gb: float

    @property
    def seconds(self) -> float:
        return self.train_seconds + self.measure_seconds


def digits(folder: str | None, count: int) -> LabelledData:
    """MNIST from a folder, or the bundled sample repeated."""
    data = mnist_sample(torch.float32) if folder is None else mnist(folder, "train", torch.float32)
    order = torch.randperm(len(data), generator=torch.Generator().manual_seed(0))
    return data.take(order[torch.arange(count) % len(data)])


def now(device: torch.device) -> float:
    """The time, the device having finished."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


def timing(name: str, data: LeftOutData, angles: int, together: int, compiled: bool) -> Timing:
    """Three epochs of one network in one way: a first, one of training alone, one that measures too."""
    device = data.labels.device
    settings = MiniBatch(
        3,
        BATCH,
        Optimiser("adam", 1e-3, betas=(0.7, 0.9)),
        mixed_precision=True,
        compiled=compiled,
        measured_points=MEASURED,
        measured_every=3,
    )
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)
    rows, times = slice(0, together), [now(device)]
    train_networks(
        NETWORKS[name],
        data.points,
        data.labels,
        data.train[rows],
        {key: mask[rows] for key, mask in data.tests.items()},
        settings,
        list(range(together)),
        progress=lambda *_: times.append(now(device)),
    )
    peak = torch.cuda.max_memory_allocated(device) / 1e9 if device.type == "cuda" else float("nan")
    images = int(data.train[0].sum())
    first, train, both = (after - before for before, after in itertools.pairwise(times))
    measure = max(0.0, both - train)
    return Timing(name, angles, together, compiled, images, train / together, measure / together, first, peak)


def whole_figure(timings: list[Timing]) -> list[dict[str, Any]]:
    """For each network what its way, timed at both sizes, makes of 6 angle counts x 10 digits x 20 epochs."""
    rows = []
    for name in NETWORKS:
        own = [one for one in timings if one.network == name]
        large = max(own, key=lambda one: one.images, default=None)
        if large is None:
            continue
        small = next(one for one in own if (one.together, one.compiled) == (large.together, large.compiled))
        if small is large:
            continue
        slope = max(0.0, (large.seconds - small.seconds) / (large.images - small.images))
        fixed = max(0.0, small.seconds - slope * small.images)
        epochs = [fixed + slope * n * large.images / large.angles for n in ANGLES]
        rows.append(
            {
                "network": name,
                "together": large.together,
                "compiled": large.compiled,
                "us per image": 1e6 * slope,
                "largest piece (min)": max(epochs) * EPOCHS * large.together / 60,
                "start (s)": small.first_seconds,
                "whole (min)": EPOCHS * DIGITS * sum(epochs) / 60,
            }
        )
    return rows


def fastest(timings: list[Timing], network: str) -> tuple[tuple[int, bool], ...]:
    """The way that was fastest so far; all that are worth trying if none was tried."""
    own = [one for one in timings if one.network == network]
    if not own:
        return WAYS[network]
    best = min(own, key=lambda one: one.seconds / one.images)
    return ((best.together, best.compiled),)


def main(arguments: Sequence[str] | None = None) -> None:
    """Time everything and print two tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.training_gpu", description=__doc__)
    parser.add_argument("--mnist", help="folder with MNIST; without it the bundled sample, repeated")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"digits ({SEEDS})")
    parser.add_argument("--angles", type=int, nargs="+", default=[8, 64])
    parser.add_argument("--budget", type=float, default=210.0, help="seconds after which no new way is begun")
    parser.add_argument("--plain", action="store_true", help="steps that are not compiled")
    parser.add_argument("--json", help="file for the numbers")
    asked = parser.parse_args(arguments)
    device = torch.device(asked.device)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
    print(f"{name}, torch {torch.__version__}, {asked.seeds} digits, bfloat16, batch {BATCH}", flush=True)
    began = time.perf_counter()
    seeds, timings = digits(asked.mnist, asked.seeds), []
    print("seconds per epoch and digit, first: the first epoch of all digits trained together, with start-up")
    print("network  angles  together  steps         train   measure  us/image    first  peak GB")
    for n in sorted(asked.angles):
        start = now(device)
        data = left_out_data(
            seeds, rotation(n), list(range(DIGITS)), seed=0, dtype=torch.bfloat16, device=device
        )
        print(f"(rotated by {n} angles in {now(device) - start:.1f} s)", flush=True)
        for network in NETWORKS:
            for together, compilable in fastest(timings, network):
                compiled = compilable and not asked.plain
                kind = f"{network:8s} {n:6d} {together:9d}  {'compiled' if compiled else 'plain':9s}"
                if time.perf_counter() - began > asked.budget:
                    print(f"{kind} left out: {asked.budget:.0f} s are over")
                    continue
                try:
                    one = timing(network, data, n, together, compiled)
                except RuntimeError as error:  # a machine without a compiler, or without the memory
                    print(f"{kind} failed: {str(error).strip().splitlines()[0]}", flush=True)
                    continue
                timings.append(one)
                print(
                    f"{kind} {one.train_seconds:9.3f} {one.measure_seconds:9.3f} "
                    f"{1e6 * one.train_seconds / one.images:9.3f} {one.first_seconds:8.1f} {one.peak_gb:8.1f}"
                    f"   ({time.perf_counter() - began:.0f} s so far)",
                    flush=True,
                )
        del data
    rows = whole_figure(timings)
    print("\nthe whole of Fig. 1, each network in its fastest way")
    for row in rows:
        print("; ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items()))
    if rows:
        print(f"in all {sum(row['whole (min)'] for row in rows):.1f} minutes")
    if asked.json:
        with open(asked.json, "w") as file:
            json.dump({"timings": [asdict(one) for one in timings], "figure": rows}, file, indent=1)


if __name__ == "__main__":
    main()
