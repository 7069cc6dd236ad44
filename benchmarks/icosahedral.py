"""`python -m benchmarks.icosahedral`: point clouds under the 60 rotations of the icosahedron.

69 random clouds in every orientation, 4,140 points: the exact group form leaves out the untransformed clouds
of each of three classes, beside the dense solve of the same regression in the same run with the same kernel.
"""

from __future__ import annotations

import argparse
import json
import resource
import time

import torch
from torch import nn

from symscope import kernels, spectral
from symscope.data.point_clouds import centred, point_rotation
from symscope.groups.polyhedral import icosahedral
from symscope.numerics import seeded


def clouds(count: int, points: int, seed: int) -> torch.Tensor:
    """Random clouds `[count, points, 3]`, centred, with coordinates of the order of 1.

    >>> tuple(clouds(2, 5, seed=0).shape)
    (2, 5, 3)
    """
    return centred(torch.randn(count, points, 3, generator=seeded(seed), dtype=torch.float64))


def compare(count: int, points: int, dense: bool) -> dict[str, object]:
    """Seconds of the group form and of the dense solve, and how far their residuals are apart.

    Args:
        count: Number of clouds.
        points: Points of each cloud.
        dense: Whether to solve densely too.
    """
    layers = nn.Sequential(nn.Flatten(), nn.Linear(3 * points, 8), nn.ReLU(), nn.Linear(8, 3))
    kernel = kernels.infinite_width(layers, w_std=1.0, b_std=1.0).ntk
    action = point_rotation(icosahedral())
    samples, labels = clouds(count, points, seed=0), torch.arange(count) % 3
    started = time.perf_counter(), time.process_time()
    result = spectral.leave_out_orbits(kernel, action, samples, labels, ridge=0.0)
    group_form = time.perf_counter() - started[0], time.process_time() - started[1]
    row: dict[str, object] = {
        "clouds": count,
        "points": result.points,
        "threads": torch.get_num_threads(),
        "invariance_error": result.invariance_error,
        "group_form_s": group_form[0],
        "group_form_cpu_s": group_form[1],
    }
    if dense:
        started = time.perf_counter(), time.process_time()
        order = action.group.order
        orbits = action.act_all(samples).flatten(0, 1)
        inverse = spectral.precision(kernel(orbits), ridge=0.0)
        values = nn.functional.one_hot(labels).double().repeat_interleave(order, 0)
        dense_residuals = torch.cat(
            [
                spectral.leave_out_residual(inverse, values, (labels == one).nonzero()[:, 0] * order)
                for one in range(3)
            ]
        )
        solve = time.perf_counter() - started[0], time.process_time() - started[1]
        row |= {
            "dense_s": solve[0],
            "dense_cpu_s": solve[1],
            "ratio": solve[0] / group_form[0],
            "cpu_ratio": solve[1] / group_form[1],
            "largest_difference": float((result.residual - dense_residuals).abs().max()),
        }
    return row | {"peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}


def main() -> None:
    """Read the command line, compare, print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clouds", type=int, default=69)
    parser.add_argument("--points", type=int, default=32, help="points of each cloud")
    parser.add_argument("--no-dense", action="store_true", help="the group form alone")
    parser.add_argument("--threads", type=int, default=2)
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    print(json.dumps(compare(asked.clouds, asked.points, not asked.no_dense), indent=1))


if __name__ == "__main__":
    main()
