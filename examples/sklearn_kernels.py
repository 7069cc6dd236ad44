"""Kernels of symscope in scikit-learn: a support vector machine, ridge regression, a Gaussian process.

Needs `pip install symscope[sklearn]`.
"""

from __future__ import annotations

import numpy as np
import torch
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC
from torch import nn

from symscope import kernels
from symscope.kernels.adapters import as_sklearn, as_sklearn_process
from symscope.kernels.classical import median_length_scale, rbf_kernel


def data(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Points in the plane, and a noisy function of their radius."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, (n, 2))
    return x, np.cos(2 * np.linalg.norm(x, axis=1)) + 0.1 * rng.standard_normal(n)


def main() -> dict[str, float]:
    """Fit three models and return how well each does on new points."""
    x, y = data(150, seed=0)
    new_x, new_y = data(100, seed=1)
    net = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
    wide = kernels.infinite_width(net)

    svm = SVC(kernel=as_sklearn(wide.nngp), C=10.0).fit(x, y > 0)

    gram = as_sklearn(wide.ntk)  # whole Grams: scikit-learn asks a callable for one entry at a time
    ridge = KernelRidge(alpha=0.05, kernel="precomputed").fit(gram(x), y)

    length_scale = median_length_scale(torch.from_numpy(x)) / 2
    smooth = as_sklearn_process(rbf_kernel(length_scale))
    process = GaussianProcessRegressor(ConstantKernel(1.0) * smooth + WhiteKernel(0.1)).fit(x, y)

    return {
        "SVC, NNGP kernel: accuracy": float(svm.score(new_x, new_y > 0)),
        "KernelRidge, NTK: R^2": float(ridge.score(gram(new_x, x), new_y)),
        "GaussianProcessRegressor, RBF: R^2": float(process.score(new_x, new_y)),
    }


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name:40s} {value:.3f}")
