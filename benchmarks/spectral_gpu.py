"""`python -m benchmarks.spectral_gpu`: rotated MNIST, exact, every class left out, as far as one GPU goes.

Measures the rates of the device, checks the streamed form against dense regression on a subset, then runs
1,000 seeds per class (640,000 points with 64 angles), then as many seeds as the time left allows. Numbers are
written to `--json` after every step, so that a run that is cut short leaves what it has.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.spectral import mlp_ntk, standardised
from symscope import data, spectral
from symscope.groups import FiniteGroup
from symscope.spectral.irrep_blocks import Frequency, fourier_block, frequencies, quotient
from symscope.spectral.panels import Panels, empty_panels, flop_counts, invert_factor, solve
from symscope.spectral.streaming import (
    IrrepPart,
    OrbitPoints,
    ProjectedKernel,
    assemble,
    filled_panels,
    irrep_batches,
    missing_sets,
    orbits_per_panel,
    panel_part,
    set_bytes,
    tile_budget,
)

CANDIDATES = (60_000, 55_000, 50_000, 45_000, 40_000, 30_000, 25_000, 20_000, 15_000)


@dataclass
class Session:
    """What a run shares: where it computes, when it started, and what it has found."""

    device: torch.device
    limit: float
    path: str | None
    started: float = field(default_factory=time.perf_counter)
    found: dict[str, Any] = field(default_factory=dict)

    def now(self) -> float:
        """Seconds since the start, after the device has finished."""
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - self.started

    def keep(self, name: str, values: Any) -> None:
        """Print a result and write everything so far."""
        self.found[name] = values
        print(f"[{self.now():6.1f} s] {name}: {json.dumps(values)}", flush=True)
        if self.path:
            with open(self.path, "w") as file:
                json.dump(self.found, file, indent=1)

    def memory(self) -> int:
        """Bytes that may be used."""
        if self.device.type != "cuda":
            return 2 * 10**9
        torch.cuda.empty_cache()
        return int(0.93 * torch.cuda.mem_get_info()[0])


def timed(session: Session, run: Callable[[], object], repeats: int = 3) -> float:
    """The shortest of some runs, in seconds, after one to warm up."""
    run()
    times = []
    for _ in range(repeats):
        before = session.now()
        run()
        times.append(session.now() - before)
    return min(times)


def rates(session: Session, size: int, widths: tuple[int, ...]) -> dict[str, float]:
    """Tflop/s of real products, of the library's complex Cholesky, and of panels of several widths."""
    device = session.device
    a = torch.randn(size, size, dtype=torch.float64, device=device)
    result = {"product Tflop/s": 2e-12 * size**3 / timed(session, lambda: a @ a)}
    hermitian = torch.complex(a, a.T.contiguous())
    hermitian = hermitian @ hermitian.mH / size
    hermitian.diagonal().add_(1.0)
    library = timed(session, lambda: torch.linalg.cholesky_ex(hermitian), 2)
    whole = timed(session, lambda: torch.cholesky_inverse(torch.linalg.cholesky_ex(hermitian)[0]), 1)
    result |= {
        "library Cholesky Tflop/s (4/3 n^3)": 4e-12 / 3 * size**3 / library,
        "library inverse s": whole,
    }
    counts = flop_counts(size, [], complex=True)
    for width in widths:
        panels = empty_panels(size, width, complex=True, device=device)
        times = []
        for _ in range(2):
            for k in range(len(panels.real)):
                here = hermitian[k * width :, k * width : (k + 1) * width]
                panels.real[k].copy_(here.real)
                panels.imaginary[k].copy_(here.imag)
            before = session.now()
            invert_factor(panels, 0.0)
            times.append(session.now() - before)
        result[f"panels of {width} s"] = min(times)
        result[f"panels of {width} Tflop/s"] = 1e-12 * (counts["factor"] + counts["inverse"]) / min(times)
    return result


def digits(count: int, folder: str | None) -> tuple[Tensor, Tensor, str]:
    """Images of unit norm and their classes, as many of each class as there are; and where they come from."""
    if folder is not None:
        result = data.mnist_files.mnist(folder)
        chosen = torch.cat(
            [
                (result.labels == c).nonzero()[: -(-count // 10) if count < 60_000 else None, 0]
                for c in range(10)
            ]
        )
        return standardised(result.x[chosen]), result.labels[chosen], "MNIST"
    sample = data.mnist_sample()
    generator = torch.Generator().manual_seed(0)
    repeats = -(-count // len(sample.x))
    per_class = -(-count // 10)
    images, labels = [], []
    for c in range(10):
        x = sample.x[sample.labels == c].repeat(repeats, 1, 1)[:per_class]
        shear = torch.eye(2) + 0.15 * (2 * torch.rand(len(x), 2, 2, generator=generator) - 1)
        shift = 0.1 * (2 * torch.rand(len(x), 2, 1, generator=generator) - 1)
        grid = nn.functional.affine_grid(
            torch.cat([shear, shift], 2).double(), [len(x), 1, 28, 28], align_corners=False
        )
        images.append(nn.functional.grid_sample(x[:, None], grid, align_corners=False)[:, 0])
        labels.append(torch.full((len(x),), c))
    return (
        standardised(torch.cat(images)),
        torch.cat(labels),
        "bundled MNIST sample, each image sheared, scaled and moved at random",
    )


def complex_solve(panels: Panels, right: Tensor) -> Tensor:
    """`X^H X right` for real right sides, without a complex copy of the panels."""
    real, imaginary = torch.zeros_like(right), torch.zeros_like(right)
    halves = list(zip(panels.real, panels.imaginary, strict=True))
    for k, (xr, xi) in enumerate(halves):
        start = k * panels.width
        own = right[start : start + xr.shape[1]]
        real[start:] += xr @ own
        imaginary[start:] += xi @ own
    columns = []
    for k, (xr, xi) in enumerate(halves):
        fr, fi = real[k * panels.width :], imaginary[k * panels.width :]
        columns.append(torch.complex(xr.T @ fr + xi.T @ fi, xr.T @ fi - xi.T @ fr))
    return torch.cat(columns)


def probe(
    panels: Panels, frequency: Frequency, kernel: Any, orbit: Any, x: Tensor, group: FiniteGroup, ridge: float
) -> float:
    """How far rows of the block times columns of its inverse are from the identity, for three samples."""
    chosen = torch.tensor([0, len(x) // 2, len(x) - 1], device=x.device)
    points = x[chosen]
    tiles = [kernel(points, orbit(part).flatten(0, 1)) for part in x.split(512)]
    entries = torch.cat(tiles, dim=1).unflatten(1, (-1, group.order))
    # as in the panels: a kernel of pairs knows k(x, x) to 1e-8 only, which the inverse makes 1e-6
    entries[torch.arange(3), chosen, group.identity] = kernel(points, points).diagonal()
    rows = fourier_block(entries, frequency)
    rows[torch.arange(3, device=x.device), chosen] += ridge
    unit = torch.zeros(len(x), 3, dtype=torch.float64, device=x.device)
    unit[chosen, torch.arange(3, device=x.device)] = 1
    columns = complex_solve(panels, unit) if panels.is_complex else solve(panels, unit)
    away = rows @ columns - torch.eye(3, dtype=rows.dtype, device=x.device)
    return float(away.abs().max())


def big_run(
    session: Session, x: Tensor, classes: Tensor, angles: int, panel: int | None, rate: float
) -> dict[str, Any]:
    """Every class left out, irrep by irrep, with times; stops cleanly when the time is up."""
    action = data.rotation(angles, "orthogonal")
    group, m = action.group, len(x)
    ntk = mlp_ntk(2)
    x = x.flatten(1).to(session.device)
    labels = nn.functional.one_hot(classes, 10).double().to(session.device)

    def orbit(seeds: Tensor) -> Tensor:
        return action.act_all(seeds.unflatten(1, (28, 28))).flatten(2)

    def kernel(a: Tensor, b: Tensor) -> Tensor:
        return ntk.blocks(a[None], None if b is a else b[None])[0]

    orbit(x[:1])
    points = quotient(group, None, m)
    exact = ProjectedKernel(kernel, group, (group.identity,))
    orbits = OrbitPoints(x, group, orbit)
    sets = missing_sets(spectral.class_masks(classes, group), group, points)
    budget = session.memory() - set_bytes(m, group, sets)
    batches = irrep_batches(m, group, panel, budget)
    clock = {"kernel and transform s": 0.0, "factor, inverse and blocks s": 0.0}
    probes: dict[str, float] = {}
    done: list[str] = []
    started = session.now()

    def parts() -> Iterator[tuple[Frequency, IrrepPart]]:
        for batch in batches:
            before = session.now()
            filled = filled_panels(exact, orbits, batch, panel, tile_budget(budget), points)
            after = session.now()
            clock["kernel and transform s"] += after - before
            for frequency in batch:
                before = session.now()
                panels, scale = filled.pop(0)
                part = panel_part(panels, frequency, sets, points, labels[:, None].flatten(2), 0.0, scale)
                elapsed = session.now() - before
                clock["factor, inverse and blocks s"] += elapsed
                if frequency.index in (0, 1, angles // 2):
                    probes[frequency.name] = probe(panels, frequency, kernel, orbit, x, group, 0.0)
                del panels
                done.append(frequency.name)
                print(f"[{session.now():6.1f} s] {m} seeds, {frequency.name}: {elapsed:.2f} s", flush=True)
                if session.now() > session.limit:
                    raise TimeoutError
                yield frequency, part

    result: dict[str, Any] = {"seeds": m, "points": m * angles, "passes": len(batches)}
    try:
        results = assemble(parts(), sets, labels[:, None].cpu(), group, points)
        result |= {
            "complete": True,
            "accuracy": float(results.accuracy().mean()),
            "mean absolute residual": float(results.residual.abs().mean()),
        }
    except TimeoutError:
        result |= {"complete": False, "irreps done": len(done), "of": len(frequencies(group))}
    counts = [
        flop_counts(m, [len(one.owners) for one in sets], complex=not f.is_real) for f in frequencies(group)
    ]
    flops = sum(sum(one.values()) for one in counts) + 1568.0 * m * m / 2 * angles * len(batches)
    share = len(done) / len(counts)
    seconds = session.now() - started
    result |= {
        "seconds": seconds,
        **clock,
        "panel": orbits_per_panel(m, panel),
        "flops": flops * share,
        "floor s at the product rate": 1e-12 * flops * share / rate,
        "share of the floor": 1e-12 * flops * share / rate / seconds,
        "rows times inverse minus identity": probes,
    }
    if session.device.type == "cuda":
        result["peak GB"] = torch.cuda.max_memory_allocated() / 1e9
        torch.cuda.reset_peak_memory_stats()
    return result


def subset_check(session: Session, x: Tensor, classes: Tensor, angles: int) -> dict[str, float]:
    """The streamed form against dense regression over all points of a few seeds per class."""
    action = data.rotation(angles, "orthogonal")
    ntk = mlp_ntk(2)
    x = x.flatten(1).to(session.device)
    labels = nn.functional.one_hot(classes, 10).double().to(session.device)

    def orbit(seeds: Tensor) -> Tensor:
        return action.act_all(seeds.unflatten(1, (28, 28))).flatten(2)

    def kernel(a: Tensor, b: Tensor) -> Tensor:
        return ntk.blocks(a[None], None if b is a else b[None])[0]

    masks = spectral.class_masks(classes, action.group)
    ours = spectral.leave_out_streamed(
        kernel, orbit, x, labels, masks, action.group, 0.0, memory=session.memory() // 2
    )
    everything = orbit(x).flatten(0, 1)
    inverse = spectral.precision(ntk.blocks(everything[None], None)[0], 0.0)
    worst = 0.0
    for c, mask in enumerate(masks):
        missing = mask.flatten().nonzero()[:, 0].to(session.device)
        dense = spectral.leave_out_residual(inverse, labels.repeat_interleave(angles, 0), missing)
        worst = max(worst, float((ours.residual[ours.sets == c] - dense.cpu()).abs().max()))
    return {"points": len(everything), "largest difference": worst}


def predicted(m: int, angles: int, classes: int, rate: float, memory: int) -> float:
    """Seconds a run of m seeds takes at a rate of Tflop/s, from its counted operations."""
    each = [flop_counts(m, [m // classes] * classes, complex=c) for c in (True, False)]
    blocks = (angles // 2 - 1) * sum(each[0].values()) + 2 * sum(each[1].values())
    # passes over the kernel at a third of the rate: half of it is not products
    passes = max(1.0, (angles / 2 + 1) * 8.0 * m * m / max(0.7 * memory, 1.0))
    return 1e-12 * (blocks + 3 * passes * 1568.0 * m * m / 2 * angles) / rate


def main() -> None:
    """Measure everything that fits the time."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spectral_gpu", description=__doc__)
    parser.add_argument("--json", help="file for the numbers")
    parser.add_argument("--mnist", help="folder with MNIST's files; without it the bundled sample is varied")
    parser.add_argument("--seconds", type=float, default=460.0, help="time for everything (460)")
    parser.add_argument("--seeds", type=int, default=1000, help="seeds per class of the first run (1000)")
    parser.add_argument("--angles", type=int, default=64, help="angles (64)")
    parser.add_argument("--largest", type=int, help="seeds of the second run; by default what fits")
    parser.add_argument("--device", default="cuda", help="cuda or cpu")
    parser.add_argument("--rate-size", type=int, default=10_000, help="size of the matrices that are timed")
    asked = parser.parse_args()
    os.environ.setdefault("PYTORCH_ALLOC_CONF", "expandable_segments:True")
    session = Session(torch.device(asked.device), asked.seconds, asked.json)
    name = torch.cuda.get_device_name() if session.device.type == "cuda" else "CPU"
    session.keep("device", f"{name}, torch {torch.__version__}")
    widths = tuple(w for w in (512, 1024, 2048) if w < asked.rate_size) or (asked.rate_size,)
    speed = rates(session, asked.rate_size, widths)
    session.keep("rates", speed)
    best = max(widths, key=lambda w: speed[f"panels of {w} Tflop/s"])
    rate = speed["product Tflop/s"]
    few = min(20, asked.seeds)
    x, classes, source = digits(10 * few, asked.mnist)
    session.keep("images", source)
    session.keep("subset", subset_check(session, x, classes, asked.angles))
    x, classes, _ = digits(10 * asked.seeds, asked.mnist)
    panel = min(best, orbits_per_panel(len(x), None)) if asked.device == "cpu" else best
    first = big_run(session, x, classes, asked.angles, panel, rate)
    session.keep("first run", first)
    reached = first["flops"] / 1e12 / first["seconds"]
    session.keep("rate reached Tflop/s", reached)
    memory, left = session.memory(), session.limit - session.now()
    # large panels come nearer to the product rate than the first run did
    hoped = max(reached, 0.75 * rate) if asked.device == "cuda" else reached
    fitting = [m for m in CANDIDATES if predicted(m, asked.angles, 10, hoped, memory) < left]
    m = asked.largest or (fitting[0] if fitting else None)
    if m is None:
        session.keep("second run", f"no candidate fits the {left:.0f} s left")
        return
    session.keep(
        "second run asked", {"seeds": m, "predicted s": predicted(m, asked.angles, 10, hoped, memory)}
    )
    x, classes, _ = digits(m, asked.mnist)
    session.keep("second run", big_run(session, x, classes, asked.angles, None, rate))


if __name__ == "__main__":
    main()
