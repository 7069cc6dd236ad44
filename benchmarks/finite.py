"""Seconds and memory of the empirical NTK of a few networks, by each method; each in a fresh process.

python -m benchmarks.finite
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import subprocess
import sys
import time
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from symscope.kernels import empirical_ntk, empirical_ntk_blocks

OUTPUTS = 10


@dataclass(frozen=True)
class Case:
    """A network, how many inputs, and what is asked: "trace" or "blocks"; `before` is the general method."""

    network: str
    inputs: int
    asked: str
    before: str

    def module(self) -> nn.Module:
        """The network, in float64."""
        torch.manual_seed(0)
        if self.network == "MLP 784-512-10":
            return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, OUTPUTS)).double()
        return nn.Sequential(
            nn.Conv2d(1, 24, 5),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(24, 32, 3),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(800, 256),
            nn.ReLU(),
            nn.Linear(256, OUTPUTS),
        ).double()

    def points(self) -> Tensor:
        """Random inputs of the size of MNIST images."""
        shape = (784,) if self.network.startswith("MLP") else (1, 28, 28)
        generator = torch.Generator().manual_seed(1)
        return torch.rand(self.inputs, *shape, dtype=torch.float64, generator=generator)

    def matrix(self, method: str) -> Tensor:
        """What is asked."""
        x = self.points()
        if self.asked == "trace":
            return empirical_ntk(self.module(), method=method).blocks(x[None], None)[0]
        return empirical_ntk_blocks(self.module(), x, method=method)


CASES = (
    Case("MLP 784-512-10", 64, "trace", "contraction"),
    Case("MLP 784-512-10", 256, "trace", "contraction"),
    Case("MLP 784-512-10", 64, "blocks", "products"),
    Case("conv 24@5x5, pool, 32@3x3, pool, 256, 10", 64, "trace", "contraction"),
    Case("conv 24@5x5, pool, 32@3x3, pool, 256, 10", 64, "blocks", "contraction"),
)


def measured(index: int, method: str, repeats: int) -> dict[str, float]:
    """In this process: the least seconds of some runs, peak megabytes above the start, and a checksum."""
    case = CASES[index]
    case.module()(case.points()[:2])
    started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = []
    for _ in range(repeats):
        begin = time.perf_counter()
        matrix = case.matrix(method)
        seconds.append(time.perf_counter() - begin)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - started
    signs = torch.randn(matrix.shape, dtype=matrix.dtype, generator=torch.Generator().manual_seed(2))
    return {
        "seconds": min(seconds),
        "megabytes": grown / 1024,
        "checksum": float((matrix * signs).sum()),
        "size": float(matrix.norm()),
    }


def in_fresh_process(index: int, method: str, repeats: int) -> dict[str, float]:
    """The same in a process of its own, so that memory is its own."""
    command = [sys.executable, "-m", "benchmarks.finite", "--case", str(index), "--method", method]
    done = subprocess.run([*command, "--repeats", str(repeats)], check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def table() -> str:
    """A row per case: before, now, ratio, memory of both, and how far the results are apart."""
    lines = [
        "| network | inputs | asked | before | s | now, s | ratio | MB before | MB now | apart |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for index, case in enumerate(CASES):
        now = in_fresh_process(index, "auto", 5)
        before = in_fresh_process(index, case.before, 1)
        apart = abs(now["checksum"] - before["checksum"]) / now["size"]
        lines.append(
            f"| {case.network} | {case.inputs} | {case.asked} | {case.before} | {before['seconds']:.2f} "
            f"| {now['seconds']:.3f} | {before['seconds'] / now['seconds']:.0f} "
            f"| {before['megabytes']:.0f} | {now['megabytes']:.0f} | {apart:.0e} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Print the table, or one measurement as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", type=int)
    parser.add_argument("--method", default="auto")
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    if args.case is not None:
        print(json.dumps(measured(args.case, args.method, args.repeats)))
        return
    print(table())
    print(
        f"\ntorch {torch.__version__}, Python {platform.python_version()}, {torch.get_num_threads()} threads"
    )


if __name__ == "__main__":
    main()
