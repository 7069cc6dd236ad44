"""`python -m benchmarks.coverage --mnist FOLDER`: kernel regression on a coverage at the size users have.

Ten classes x 400 digits x 8 angles (splines, so that the kernel is only nearly invariant), each class in turn
without its upright images, and 1,000 new digits under all angles: how long every stage takes, in CPU seconds
too (other work on the machine does not count in those), how far that is from the floor of the operations at
the rate of a matrix product in the same run, and what dense regression gives on a subset.
"""

from __future__ import annotations

import argparse
import json
import resource
import time

import torch
from torch import Tensor, nn

from symscope import data, kernels, spectral
from symscope.data.mnist_files import mnist

RATE_SIDE = 2000  # rows of the product whose rate is the floor's
STEP = 60  # operations of one ReLU step of an entry: root, arc cosine, sums, as short polynomials
HIDDEN = 2


def mlp_ntk(features: int = 784) -> kernels.Kernel:
    """The NTK of the network 784-512-128-10, in PyTorch's own parameterisation."""
    net = nn.Sequential(
        nn.Linear(features, 512), nn.ReLU(), nn.Linear(512, 128), nn.ReLU(), nn.Linear(128, 10)
    )
    return kernels.infinite_width(net, parameterisation="standard").ntk


def cpu_seconds() -> float:
    """What all threads of this process have used."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def product_rate() -> float:
    """Operations of a float64 product per CPU second."""
    a = torch.ones(RATE_SIDE, RATE_SIDE, dtype=torch.float64)
    a @ a
    before = cpu_seconds()
    for _ in range(3):
        a @ a
    return 6 * RATE_SIDE**3 / (cpu_seconds() - before)


def digits(folder: str | None, per_class: int) -> tuple[Tensor, Tensor]:
    """Standardised digits, class after class, from MNIST's files or the bundled sample."""
    whole = data.mnist_sample() if folder is None else mnist(folder)
    chosen = whole.per_class(per_class, seed=0).standardised()
    return chosen.x, chosen.labels


def run(folder: str | None, per_class: int, new: int, check: int, device: str = "cpu") -> dict[str, object]:
    """The regression, with its stages; `new` digits of each class that are not in the training data."""
    x, classes = digits(folder, per_class + new)
    action, training = data.rotation(8), torch.arange(len(x)).reshape(10, -1)[:, :per_class].flatten()
    held_out = torch.ones(len(x), dtype=torch.bool)
    held_out[training] = False
    before = time.perf_counter(), cpu_seconds()
    every = action.orbit(x).flatten(2)
    turning = time.perf_counter() - before[0], cpu_seconds() - before[1]
    points, fresh, labels = every[training].to(device), every[held_out].to(device), classes[training]
    del every
    seen = ~spectral.class_masks(labels, action.group)
    one_hot, kernel = nn.functional.one_hot(labels, 10).double(), mlp_ntk()
    if device != "cpu":  # the first call of a process loads libraries and compiles
        spectral.coverage_regression(kernel, points[::100], one_hot[::100], seen[:, ::100], action.group)
        torch.cuda.reset_peak_memory_stats()
    asked = {"outputs": 10, "new_samples": len(fresh)}
    cost = spectral.coverage_cost(kernel, points[:4], seen, action.group, **asked)
    stages: dict[str, tuple[float, float]] = {}
    rate = product_rate()
    before = time.perf_counter(), cpu_seconds()

    def progress(what: str, done: int, total: int) -> None:
        stages[what] = (time.perf_counter() - before[0], cpu_seconds() - before[1])

    result = spectral.coverage_regression(
        kernel,
        points,
        one_hot,
        seen,
        action.group,
        new=fresh,
        memory="4GB" if device == "cpu" else "40GB",
        progress=progress,
    )
    wall, cpu = time.perf_counter() - before[0], cpu_seconds() - before[1]
    operations = cost.operations + cost.entries * (2 * points[0, 0].numel() + STEP * HIDDEN)
    difference = against_dense(kernel, points.cpu(), one_hot, labels, fresh.cpu(), check)
    predicted, truth = result.new_prediction.argmax(-1).cpu(), classes[held_out]
    return {
        "points": points.shape[0] * 8,
        "new points": len(fresh) * 8,
        "device": torch.cuda.get_device_name() if device != "cpu" else "cpu",
        "threads": torch.get_num_threads(),
        "rotations s (CPU s)": turning,
        "wall s": wall,
        "CPU s": cpu,
        "until the end of each stage s (CPU s)": stages,
        "kernel entries": cost.entries,
        "operations": operations,
        "product rate per CPU s": rate,
        "floor CPU s": operations / rate,
        "share of the floor": operations / rate / cpu,
        "working bytes": cost.bytes,
        "seconds foretold": cost.seconds,
        "peak GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
        "peak GB of the GPU": torch.cuda.max_memory_allocated() / 1e9 if device != "cpu" else 0.0,
        "invariance error": result.invariance_error,
        "ridge": result.ridge,
        "accuracy, missing": _accuracy(result.prediction.argmax(-1).cpu(), labels),
        "accuracy, new, missing angle": _accuracy(predicted, truth),
        "accuracy, new, other angles": float((predicted[:, :, 1:] == truth[:, None]).double().mean()),
        "largest difference to dense regression": difference,
    }


def _accuracy(predicted: Tensor, truth: Tensor) -> list[float]:
    """Of each class, upright, where its upright images were missing."""
    return [float((predicted[c, truth == c, 0] == c).double().mean()) for c in range(10)]


def against_dense(
    kernel: kernels.Kernel, points: Tensor, one_hot: Tensor, labels: Tensor, fresh: Tensor, check: int
) -> float:
    """The largest difference to dense regression with the projected kernel, a few digits of each class."""
    group = data.rotation(8).group
    chosen = torch.cat([(labels == c).nonzero()[:check, 0] for c in range(10)])
    few, y, new = points[chosen], one_hot[chosen], fresh[:check]
    seen = ~spectral.class_masks(labels[chosen], group)[3]
    ours = spectral.coverage_regression(kernel, few, y, seen, group, new=new, method="orbits")
    every = torch.cat([few, new]).flatten(0, 1)
    gram = spectral.profile_gram(spectral.projected_profile(kernel(every), group).profile, group)
    there = seen.flatten().nonzero()[:, 0]
    weights = torch.linalg.solve(gram[there][:, there], y.repeat_interleave(8, 0)[there])
    predicted = torch.cat([ours.prediction[0], ours.new_prediction[0]]).flatten(0, 1)
    return float((gram[:, there] @ weights - predicted).abs().max())


def main() -> None:
    """Run it and print the numbers."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coverage", description=__doc__)
    parser.add_argument("--mnist", help="folder of MNIST's files (the bundled sample, 200 of each class)")
    parser.add_argument("--samples", type=int, default=400, help="training digits of each class (400)")
    parser.add_argument("--new", type=int, default=100, help="new digits of each class (100)")
    parser.add_argument("--check", type=int, default=5, help="digits of each class in the dense check (5)")
    parser.add_argument("--device", default="cpu", help="cpu or cuda (cpu)")
    parser.add_argument("--json", help="file for the numbers")
    asked = parser.parse_args()
    result = run(asked.mnist, asked.samples, asked.new, asked.check, asked.device)
    print(json.dumps(result, indent=1))
    if asked.json:
        with open(asked.json, "w") as file:
            json.dump(result, file, indent=1)


if __name__ == "__main__":
    main()
