"""`python -m benchmarks.spectral table|scale|stream`: how accurate the spectral theory is, how far it goes.

`table` compares the paper's formula and the group-projected form with the exact symmetrised error on pairs of
rotated digits of the bundled sample. `scale` leaves out the upright images of every class of 10 classes x 100
seeds x 64 angles, 64,000 points, exactly, and checks the answer against dense regression on a subset;
`stream` does it without holding the profile.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

from symscope import data, kernels, spectral
from symscope.spectral import circulant
from symscope_papers.spectral.symmetrised import mean_set_error, symmetrised_error


def mlp_ntk(hidden: int = 1, features: int = 784) -> kernels.Kernel:
    """The NTK of a ReLU network with w_std = b_std = 1."""
    layers: list[nn.Module] = [nn.Linear(features, 8), nn.ReLU()]
    for _ in range(hidden - 1):
        layers += [nn.Linear(8, 8), nn.ReLU()]
    return kernels.infinite_width(nn.Sequential(*layers, nn.Linear(8, 1))).ntk


def conv_ntk(pooled: bool) -> kernels.Kernel:
    """The NTK of one 3x3 circular convolution without bias, then FC or pooling."""
    head = (
        [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 1)]
        if pooled
        else [nn.Flatten(), nn.Linear(8 * 784, 1)]
    )
    net = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1, padding_mode="circular", bias=False), nn.ReLU(), *head)
    return kernels.infinite_width(net, w_std=1.0, b_std=0.0).ntk


def standardised(points: Tensor) -> Tensor:
    """Each image minus its mean, then of unit norm."""
    centred = points - points.mean((-2, -1), keepdim=True)
    return centred / centred.flatten(-2).norm(dim=-1)[..., None, None]


def digit_pairs(count: int, seed: int) -> Tensor:
    """Pairs of digits of different classes, `[count, 2, 28, 28]`."""
    sample = data.mnist_sample()
    generator = torch.Generator().manual_seed(seed)
    first = torch.randint(len(sample.x), (4 * count,), generator=generator)
    second = torch.randint(len(sample.x), (4 * count,), generator=generator)
    differ = (sample.labels[first] != sample.labels[second]).nonzero()[:count, 0]
    return sample.x[torch.stack([first[differ], second[differ]], 1)]


def pair_errors(kernel: kernels.Kernel, pairs: Tensor, n: int, images: bool) -> dict[str, Tensor]:
    """Exact symmetrised, spectral and group-projected errors of every pair, and the departure.

    The exact error is that of the upright images, as in the paper, and the mean over all angles.
    """
    action, labels = data.rotation(n), torch.tensor([1.0, -1.0], dtype=torch.float64)
    masks = torch.zeros(2, 2, n, dtype=torch.bool)
    masks[0, 0, 0] = masks[1, 1, 0] = True
    names = ("upright", "mean", "spectral", "projected", "departure")
    result: dict[str, list[float]] = {name: [] for name in names}
    order = torch.arange(2 * n).reshape(2, n).T.flatten()
    for pair in pairs:
        points = standardised(action.act_all(pair)).flatten(0, 1)
        gram = kernel(points[:, None] if images else points.flatten(1))
        interleaved = gram[order][:, order]
        result["upright"].append(float(symmetrised_error(interleaved, 0.0, 0)))
        result["mean"].append(float(symmetrised_error(interleaved, 0.0, None)))
        spectrum = circulant.circulant_spectrum(circulant.circulant_row(interleaved))
        result["spectral"].append(float(circulant.spectral_error(spectrum, 0.0)))
        projection = spectral.projected_profile(gram, action.group)
        left = spectral.leave_out(projection.profile, labels, masks, action.group, 0.0)
        result["projected"].append(float(mean_set_error(left.residual, left.label, left.sets)))
        result["departure"].append(projection.invariance_error)
    return {key: torch.tensor(values, dtype=torch.float64) for key, values in result.items()}


def agreement(exact: Tensor, other: Tensor) -> tuple[float, float]:
    """Pearson's r and the mean absolute difference."""
    r = torch.corrcoef(torch.stack([exact, other]))[0, 1]
    return float(r), float((exact - other).abs().mean())


def table(pairs: int, quick: bool) -> list[dict[str, object]]:
    """The two tables: MLP, and one convolution with FC and with pooling."""
    settings: list[tuple[str, Callable[[], kernels.Kernel], bool, int, int]] = [
        *(("MLP", mlp_ntk, False, n, pairs) for n in (4, 8, 16, 32)),
        *(("conv FC", lambda: conv_ntk(False), True, n, min(pairs, 64)) for n in (4, 8)),
        *(("conv GAP", lambda: conv_ntk(True), True, n, min(pairs, 32)) for n in (4, 8)),
    ]
    rows = []
    for name, make, images, n, count in settings[: 2 if quick else None]:
        started = time.perf_counter()
        errors = pair_errors(make(), digit_pairs(count, seed=0), n, images)
        paper, group = (agreement(errors["upright"], errors[key]) for key in ("spectral", "projected"))
        overall = agreement(errors["mean"], errors["projected"])
        rows.append(
            {
                "net": name,
                "rotations": n,
                "pairs": count,
                "paper r": paper[0],
                "paper error": paper[1],
                "group r": group[0],
                "group error": group[1],
                "group r, mean over angles": overall[0],
                "group error, mean over angles": overall[1],
                "mean exact error": float(errors["upright"].mean()),
                "departure": float(errors["departure"].mean()),
                "seconds": time.perf_counter() - started,
            }
        )
        print(json.dumps(rows[-1]), flush=True)
    return rows


def scale(seeds: int, angles: int, check: int) -> dict[str, object]:
    """Every class left out in turn, 10 classes x `seeds` x `angles`, with times and peak memory."""
    clock = [time.perf_counter()]
    action = data.rotation(angles, "orthogonal")
    digits = data.mnist_sample().per_class(seeds, seed=0).standardised()
    x, classes = digits.x.flatten(1), digits.labels
    one_hot = nn.functional.one_hot(classes, 10).double()

    def orbit(x: Tensor) -> Tensor:
        return action.act_all(x.unflatten(1, (28, 28))).flatten(2)

    orbit(x[:1])  # the basis of exact rotations is made once
    clock.append(time.perf_counter())
    profile = spectral.kernel_profile(mlp_ntk(2), orbit, x, action.group, memory="1GB")
    clock.append(time.perf_counter())
    masks = spectral.class_masks(classes, action.group)
    result = spectral.leave_out(profile, one_hot, masks, action.group, 0.0, memory="2GB")
    clock.append(time.perf_counter())
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    chosen = torch.cat([(classes == c).nonzero()[:check, 0] for c in range(10)])
    difference = against_dense(profile[chosen][:, chosen], classes[chosen], action.group)
    return {
        "points": len(x) * angles,
        "rotation basis s": clock[1] - clock[0],
        "profile s": clock[2] - clock[1],
        "leave-out s": clock[3] - clock[2],
        "all s": clock[3] - clock[0],
        "peak GB": memory,
        "accuracy": float(result.accuracy().mean()),
        "dense subset points": len(chosen) * angles,
        "largest difference": difference,
        "irreps": result.table()[:5],
    }


def stream(seeds: int, angles: int, memory: str) -> dict[str, object]:
    """The same without holding the profile, within a budget; the memory above what inputs and basis take."""
    action = data.rotation(angles, "orthogonal")
    digits = data.mnist_sample().per_class(seeds, seed=0).standardised()
    x, classes = digits.x.flatten(1), digits.labels
    one_hot = nn.functional.one_hot(classes, 10).double()

    def orbit(x: Tensor) -> Tensor:
        return action.act_all(x.unflatten(1, (28, 28))).flatten(2)

    kernel = mlp_ntk(2)
    kernel(x[:2], orbit(x[:2]).flatten(0, 1))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    started = time.perf_counter()
    result = spectral.leave_out_streamed(
        lambda a, b: kernel.blocks(a[None], None if b is a else b[None])[0],
        orbit,
        x,
        one_hot,
        spectral.class_masks(classes, action.group),
        action.group,
        0.0,
        memory=memory,
    )
    return {
        "points": result.points,
        "budget": memory,
        "all s": time.perf_counter() - started,
        "peak GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
        "peak GB before": before,
        "accuracy": float(result.accuracy().mean()),
    }


def against_dense(profile: Tensor, classes: Tensor, group: object) -> float:
    """The largest difference between group form and dense regression, one class left out."""
    labels = nn.functional.one_hot(classes, 10).double()
    mask = spectral.class_masks(classes, group)[3]
    ours = spectral.leave_out(profile, labels, mask, group, 0.0).residual
    gram = spectral.profile_gram(profile, group)
    points = labels.repeat_interleave(profile.shape[2], 0)
    dense = spectral.leave_out_residual(spectral.precision(gram, 0.0), points, mask.flatten().nonzero()[:, 0])
    return float((ours - dense).abs().max())


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spectral", description=__doc__)
    parser.add_argument("what", choices=["table", "scale", "stream"])
    parser.add_argument("--pairs", type=int, default=100, help="pairs of digits in `table` (100)")
    parser.add_argument("--seeds", type=int, default=100, help="seeds per class in `scale` (100)")
    parser.add_argument("--angles", type=int, default=64, help="angles in `scale` (64)")
    parser.add_argument("--check", type=int, default=3, help="seeds per class in the dense check (3)")
    parser.add_argument("--memory", default="500MB", help="budget of `stream` (500MB)")
    parser.add_argument("--quick", action="store_true", help="two rows of the table only")
    parser.add_argument("--json", help="file for the numbers")
    asked = parser.parse_args()
    result: object
    if asked.what == "table":
        result = table(asked.pairs, asked.quick)
    elif asked.what == "scale":
        result = scale(asked.seeds, asked.angles, asked.check)
    else:
        result = stream(asked.seeds, asked.angles, asked.memory)
    print(json.dumps(result, indent=1))
    if asked.json:
        with open(asked.json, "w") as file:
            json.dump(result, file, indent=1)


if __name__ == "__main__":
    main()
