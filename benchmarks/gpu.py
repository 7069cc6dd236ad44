"""`python -m benchmarks.gpu`: time the one-pass kernels on a CUDA device, beside the peer.

Peer's times are those of neural-tangents' analytic kernels seen on an H200 (same sizes): seconds per Gram, or
per entry for pooling.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable

import torch
from torch import Tensor, nn

from symscope.data import mnist_sample
from symscope.kernels import InfiniteWidth, gram, infinite_width


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


def timings(scale: float) -> list[dict[str, object]]:
    """Times, peak memory and accuracy against float64, beside the peer's."""
    cases = [
        ("MLP, 1 layer", mlp(1), 28, 20_000, 0.013, "gram"),
        ("MLP, 5 layers", mlp(5), 28, 20_000, 0.027, "gram"),
        ("conv 3x3 + FC, 28x28", conv(1, False, 28), 28, 512, 0.0052, "gram"),
        ("conv 3x3 + GAP, 28x28", conv(1, True, 28), 28, 64, 39e-6, "entry"),
        ("conv 3x3 + GAP, 28x28", conv(1, True, 28), 28, 256, 39e-6, "entry"),
        ("3 conv 3x3 + GAP, 12x12", conv(3, True, 12), 12, 256, 6.9e-6, "entry"),
        ("3 conv 3x3 + GAP, 28x28", conv(3, True, 28), 28, 48, float("nan"), "entry"),
    ]
    rows = []
    for name, net, side, full, peer, unit in cases:
        count = max(8, int(full * scale))
        reference = None
        for dtype in (torch.float64, torch.float32):
            x = images(count, side, dtype)
            x = x.flatten(1) if name.startswith("MLP") else x
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
            before = torch.cuda.memory_allocated()
            block = seconds(lambda x=x, net=net: net.ntk.blocks(x[None], None))
            peak = torch.cuda.max_memory_allocated() - before
            whole = seconds(lambda x=x, net=net, dtype=dtype: gram(net.ntk, x, dtype=dtype))
            values = net.ntk.blocks(x[None], None)[0]
            reference = values if reference is None else reference
            per = 1.0 if unit == "gram" else float(count**2)
            rows.append(
                {
                    "case": f"{name}, n = {count}",
                    "dtype": str(dtype)[6:],
                    "seconds": block / per,
                    "through gram": whole / per,
                    "peer": peer,
                    "ratio": peer / (block / per),
                    "peak GB": peak / 1e9,
                    "error": difference(values, reference),
                }
            )
            del values, x
            last = rows[-1]
            print(
                f"{last['case']:34s} {last['dtype']:8s} {last['seconds']:.3e} s/{unit} "
                f"(gram {last['through gram']:.3e}), "
                f"{last['ratio']:6.1f} x peer, {last['peak GB']:6.2f} GB, error {last['error']:.1e}",
                flush=True,
            )
        del reference
    return rows


def main() -> None:
    """Time everything."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="factor on the numbers of inputs (1)")
    parser.add_argument("--json", help="file for the numbers")
    asked = parser.parse_args()
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    rows = timings(asked.scale)
    if asked.json:
        with open(asked.json, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
