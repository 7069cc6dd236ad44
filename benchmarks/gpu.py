"""`python -m benchmarks.gpu`: time the one-pass kernels on a CUDA device, beside the peer.

The peer's times are those of neural-tangents' analytic kernels seen on an H200, same networks and sizes:
seconds per Gram, or per entry for pooling.

Floors: the larger of operations over peak rate and bytes over bandwidth. Operations are multiply-adds counted
by hand in `conv_chain.cu` and `arc.cu` per pair of positions and layer (address arithmetic and loads not
counted); matrix products at the rate measured in the same run; one half of a symmetric Gram.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from symscope.data import mnist_sample
from symscope.kernels import gram, infinite_width
from symscope.kernels.infinite import InfiniteWidth


def mlp(depth: int, features: int = 784) -> InfiniteWidth:
    """ReLU network with biases, w_std = b_std = 1."""
    layers: list[nn.Module] = [nn.Linear(features, 8), nn.ReLU()]
    for _ in range(depth - 1):
        layers += [nn.Linear(8, 8), nn.ReLU()]
    return infinite_width(nn.Sequential(*layers, nn.Linear(8, 1)))


def conv(
    depth: int, pooled: bool, side: int, *, mode: str = "circular", bias: bool = False, taps: int = 3
) -> InfiniteWidth:
    """Convolutions with ReLU (leaky in the middle when there are biases), then pooling or flattening."""
    layers: list[nn.Module] = []
    for i in range(depth):
        layers += [
            nn.Conv2d(8 if i else 1, 8, taps, padding=taps // 2, padding_mode=mode, bias=bias),
            nn.LeakyReLU(0.2) if bias and i == 1 else nn.ReLU(),
        ]
    head = (
        [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 1)]
        if pooled
        else [nn.Flatten(), nn.Linear(8 * side**2, 1)]
    )
    return infinite_width(
        nn.Sequential(*layers, *head), w_std=1.0 if not bias else 1.3, b_std=0.3 if bias else 0.0
    )


def images(count: int, side: int, dtype: torch.dtype) -> Tensor:
    """Digits of the bundled sample, centred, of unit norm; noise makes more of them distinct."""
    x = mnist_sample().x.unsqueeze(1)
    generator = torch.Generator().manual_seed(0)
    x = x[torch.randperm(len(x), generator=generator)]
    x = x.repeat(-(-count // len(x)), 1, 1, 1)[:count]
    x = x + 0.05 * torch.randn(x.shape, dtype=torch.float64, generator=generator)
    if side != 28:
        x = nn.functional.adaptive_avg_pool2d(x, side)
    x = x - x.mean((1, 2, 3), keepdim=True)
    return (x / x.flatten(1).norm(dim=1)[:, None, None, None]).to("cuda", dtype)


def seconds(run: Callable[[], object], repeats: int = 5) -> float:
    """Median time of a GPU computation, after a warm-up."""
    run()
    times = []
    for _ in range(repeats):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        start.record()
        run()
        stop.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(stop) / 1e3)
    return sorted(times)[repeats // 2]


def difference(a: Tensor, b: Tensor) -> float:
    """Largest difference over the largest entry: kernels of opposite inputs can be 0."""
    return float((a.double() - b.double()).abs().max() / b.double().abs().max())


@dataclass(frozen=True)
class Case:
    """One network on one number of images.

    Attributes:
        name: In the table.
        net: Its kernels.
        side: Height and width of the images.
        count: How many images.
        peer: The peer's seconds, per Gram or per entry.
        per_entry: Whether times are per entry of the whole (unhalved) Gram.
        layers: Layers with activations.
        pairs: Pairs of positions per pair of images.
    """

    name: str
    net: InfiniteWidth
    side: int
    count: int
    peer: float
    per_entry: bool
    layers: int
    pairs: int


CASES = (
    Case("MLP, 1 layer", mlp(1), 28, 20_000, 0.013, False, 1, 1),
    Case("MLP, 5 layers", mlp(5), 28, 20_000, 0.027, False, 5, 1),
    Case("conv 3x3 + FC, 28x28", conv(1, False, 28), 28, 512, 0.0052, False, 1, 28**2),
    Case("conv 3x3 + GAP, 28x28", conv(1, True, 28), 28, 64, 39e-6, True, 1, 28**4),
    Case("conv 3x3 + GAP, 28x28", conv(1, True, 28), 28, 1000, 39e-6, True, 1, 28**4),
    Case("3 conv 3x3 + GAP, 12x12", conv(3, True, 12), 12, 256, 6.9e-6, True, 3, 12**4),
    Case("3 conv 3x3 + GAP, 12x12", conv(3, True, 12), 12, 1000, 6.9e-6, True, 3, 12**4),
)
# Multiply-adds per pair of positions and layer: window sums 7, weights 3, arc cosine (polynomial, two roots,
# the pair A, B), kernel and tangent 7, sum 2; a hardware root of float32 takes four slots.
OPERATIONS = {torch.float64: 7 + 3 + (20 + 20 + 5) + 7 + 2, torch.float32: 7 + 3 + (8 + 8 + 5) + 7 + 2}
LANES = {torch.float64: 64, torch.float32: 128}  # multiply-adds per cycle and multiprocessor


def floor_seconds(case: Case, dtype: torch.dtype, matmul: float) -> float:
    """The least time a Gram can take on this device, see above."""
    device = torch.cuda.get_device_properties(0)
    peak = device.multi_processor_count * LANES[dtype] * device.clock_rate * 1e3
    images_pairs = case.count**2 / 2
    arithmetic = images_pairs * case.pairs * case.layers * OPERATIONS[dtype] / peak
    if case.name.startswith("MLP"):
        arithmetic += images_pairs * 2 * 784 / matmul
    written = case.count**2 * dtype.itemsize / 4.3e12
    return max(arithmetic, written)


def matmul_rate(dtype: torch.dtype) -> float:
    """Floating-point operations per second of a large matrix product."""
    a = torch.randn(8192, 8192, device="cuda", dtype=dtype)
    return 2 * 8192**3 / seconds(lambda: a @ a)


def timings() -> list[dict[str, object]]:
    """Times through `gram`, peak memory and accuracy against float64, beside the peer's."""
    rows: list[dict[str, object]] = []
    rates = {dtype: matmul_rate(dtype) for dtype in (torch.float64, torch.float32)}
    for case in CASES:
        reference = None
        for dtype, rate in rates.items():
            x = images(case.count, case.side, dtype)
            x = x.flatten(1) if case.name.startswith("MLP") else x
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
            before = torch.cuda.memory_allocated()

            def run(x: Tensor = x, case: Case = case, dtype: torch.dtype = dtype) -> Tensor:
                return gram(case.net.ntk, x, dtype=dtype)

            taken = seconds(run, 3 if case.count == 1000 else 7)
            values = run()
            working = torch.cuda.max_memory_allocated() - before - values.numel() * values.element_size()
            reference = values if reference is None else reference
            per = float(case.count**2) if case.per_entry else 1.0
            rows.append(
                {
                    "case": f"{case.name}, n = {case.count:,}",
                    "dtype": str(dtype)[6:],
                    "seconds": taken / per,
                    "peer": case.peer,
                    "ratio": case.peer * per / taken,
                    "floor": floor_seconds(case, dtype, rate) / taken,
                    "working GB": working / 1e9,
                    "error": difference(values, reference),
                }
            )
            print(_line(rows[-1]), flush=True)
            del values, x
        del reference
    return rows


def _line(row: dict[str, object]) -> str:
    return (
        f"| {row['case']} | {row['dtype']} | {row['seconds']:.2e} | {row['peer']:.1e} | {row['ratio']:.1f} | "
        f"{row['floor']:.0%} | {row['working GB']:.2f} | {row['error']:.0e} |"
    )


def main() -> None:
    """Time everything."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--json", help="file for the numbers")
    asked = parser.parse_args()
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    print("| case | dtype | seconds per Gram or entry | peer | ratio | of the floor | working GB | error |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    rows = timings()
    if asked.json:
        with open(asked.json, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
