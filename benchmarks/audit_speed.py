"""How long does an audit take? `python -m benchmarks.audit_speed [--device cuda] [--profile]`: run it alone.

A convolutional network of 10 million weights, 1,000 images of 64 x 64, C8, remedies included; the aim is 5
minutes on two cores and 30 seconds on one H200, from the first use of the device. The table says where the
time goes; with `--profile` a second audit follows, in which every function is timed, and the slowest are
listed.
"""

from __future__ import annotations

import argparse
import cProfile
import io
import platform
import pstats
import resource
import sys
import time
from collections.abc import Iterable

import torch
from torch import nn

import symscope
from symscope.auditing import Audit

AIMS = {"cpu": 300.0, "cuda": 30.0}  # seconds
LISTED = 45  # functions of a profile


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


class Phases:
    """When each step of an audit began, from what it reports; remedies one by one."""

    def __init__(self) -> None:
        self.start = time.perf_counter()
        self.begun: list[tuple[str, float]] = [("checks", 0.0)]
        self.plan = ""

    def __call__(self, words: str, done: int, total: int) -> None:
        """What `audit` calls."""
        step, _, more = words.partition(": ")
        if "take about" in words:
            self.plan = more
        phase = f"{step}, {more.removeprefix('repair: ')}" if "repair: " in more else step
        if self.begun[-1][0] != phase:
            self.begun.append((phase, time.perf_counter() - self.start))

    def lines(self, total: float) -> Iterable[str]:
        """A line for each phase, with its seconds and its share."""
        ends = [begin for _, begin in self.begun[1:]] + [total]
        for (phase, begin), end in zip(self.begun, ends, strict=True):
            yield f"  {phase:58s} {end - begin:7.2f} s {(end - begin) / total:5.0%}"


def started(device: str) -> float:
    """Seconds that the first convolution, product and gradient on a device take: loading its libraries."""
    begin = time.perf_counter()
    layer = nn.Sequential(nn.Conv2d(1, 4, 3), nn.Flatten(), nn.Linear(4 * 36, 2)).to(device)
    layer(torch.ones(2, 1, 8, 8, device=device)).sum().backward()
    if device != "cpu":
        torch.cuda.synchronize()
    return time.perf_counter() - begin


def audited(device: str) -> tuple[Audit, Phases, float]:
    """One audit, when its phases began, and its seconds."""
    torch.manual_seed(0)
    net, data, phases = network(), images(), Phases()
    result = symscope.audit(net, data, "C8 rotation", device=device, progress=phases)
    return result, phases, time.perf_counter() - phases.start


def print_profile(device: str) -> None:
    """The slowest functions of another audit, by their own time and with what they call."""
    profile = cProfile.Profile()
    profile.enable()
    _, phases, total = audited(device)
    profile.disable()
    print(f"again, every function timed: {total:.1f} s")
    print("\n".join(phases.lines(total)))
    for order in ("tottime", "cumtime"):
        text = io.StringIO()
        pstats.Stats(profile, stream=text).strip_dirs().sort_stats(order).print_stats(LISTED)
        rows = [line[:120] for line in text.getvalue().splitlines() if line.strip()]
        print(f"by {order}:")
        print("\n".join(rows[4:]))


def main() -> None:
    """Print the time, how much of it goes to which step and remedy, and the findings."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu", choices=sorted(AIMS))
    parser.add_argument("--profile", action="store_true", help="time every function of a second audit")
    given = parser.parse_args()
    name = torch.cuda.get_device_name() if given.device == "cuda" else platform.processor() or "cpu"
    weights = sum(one.numel() for one in network().parameters())
    print(f"{weights:,} weights, 1,000 images of 64 x 64, C8, {name}, {torch.get_num_threads()} threads,")
    print(f"torch {torch.__version__}, Python {platform.python_version()}")
    began, loading = time.process_time(), started(given.device)
    print(f"  {'first use of the device':58s} {loading:7.2f} s", flush=True)
    loaded = len(sys.modules)
    result, phases, seconds = audited(given.device)
    print(f"  plan: {phases.plan}")
    print("\n".join(phases.lines(seconds)))
    total, spent = loading + seconds, time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    held = f", {torch.cuda.max_memory_allocated() / 1e9:.1f} GB of the GPU" if given.device == "cuda" else ""
    verdict = "within" if total <= AIMS[given.device] else "ABOVE"
    print(f"{total:.1f} s in all, {verdict} the aim of {AIMS[given.device]:.0f} s")
    print(f"{spent:.1f} s of the processor, {peak:.1f} GB at most{held}")
    compiler = "torch._dynamo" in sys.modules
    print(f"{len(sys.modules) - loaded} modules imported on the way; PyTorch's compiler loaded: {compiler}")
    print(f"{result.samples} samples for the error; {result}")
    for one in result.repairs:
        print(f"  {one!r}; made in {one.seconds:.2f} s; {one.details}; {one.judged} samples judged")
    for note in result.notes:
        print(f"  {note}")
    if given.profile:
        print_profile(given.device)


if __name__ == "__main__":
    main()
