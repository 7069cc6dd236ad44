"""How long does an audit take? `python -m benchmarks.audit_speed [cpu|cuda]`: run it alone on the machine.

A convolutional network of 10 million weights, 1,000 images of 64 x 64, C8, remedies included; the aim is 5
minutes on two cores and 30 seconds on one H200.
"""

from __future__ import annotations

import resource
import sys
import time

import torch
from torch import nn

import symscope


def network() -> nn.Module:
    """Three blocks of convolutions, flattened, and two linear layers: 10 million weights."""
    layers: list[nn.Module] = []
    given = 1
    for width in (32, 64, 128):
        layers += [nn.Conv2d(given, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2)]
        given = width
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(128 * 64, 1200), nn.ReLU(), nn.Linear(1200, 10))


def images(count: int = 1000, side: int = 64) -> tuple[torch.Tensor, torch.Tensor]:
    """Smooth patterns, one for each class, with noise."""
    generator = torch.Generator().manual_seed(0)
    base = torch.randn(10, 1, 8, 8, generator=generator)
    base = nn.functional.interpolate(base, size=(side, side), mode="bicubic")[:, 0]
    labels = torch.arange(count) % 10
    return base[labels] + 0.5 * torch.randn(count, side, side, generator=generator), labels


def main() -> None:
    """Print the time, how much of it goes to which step, and what was found."""
    device = sys.argv[1] if len(sys.argv) > 1 else "cpu"
    torch.manual_seed(0)
    net, data = network(), images()
    weights = sum(one.numel() for one in net.parameters())
    print(f"{weights:,} weights, {len(data[0]):,} images, C8, {device}, {torch.get_num_threads()} threads")
    start, began = time.perf_counter(), time.process_time()
    steps: list[tuple[str, float]] = []

    def told(words: str, done: int, total: int) -> None:
        step = words.partition(":")[0]
        if "take about" in words:
            print(f"  plan: {words}")
        if not steps or steps[-1][0] != step:
            steps.append((step, time.perf_counter() - start))

    result = symscope.audit(net, data, "C8 rotation", device=device, progress=told)
    total, spent = time.perf_counter() - start, time.process_time() - began
    ends = [begin for _, begin in steps[1:]] + [total]
    for (step, begin), end in zip(steps, ends, strict=True):
        print(f"  {step:16s} {end - begin:6.1f} s")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{total:.1f} s in all, {spent:.1f} s of the processor, {peak:.1f} GB at most")
    print(f"{result.samples} samples for the error; {result}")
    for note in result.notes:
        print(f"  {note}")


if __name__ == "__main__":
    main()
