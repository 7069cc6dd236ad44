"""What a wide network becomes: infinite-width, finite-width and classical kernels behind one interface.

Public modules for specialists:

- `classical`: linear, polynomial, RBF and arc-cosine kernels, behind the same interface.
- `prediction`: what training with such a kernel predicts, in closed form.
- `activations`: modules PyTorch does not have (`Erf`, `Sin`, `Monomial`, ...), and the duals of activations.
- `infinite`: a wide network as a graph of operations, and the kernels of such a graph.
- `finite`: products with finite-width kernels and their eigenpairs, without the matrices.
- `adapters`: kernels for scikit-learn and GPyTorch.
- `conformance`: the laws every kernel keeps, as one assertion for tests of new kernels.
"""

from symscope.kernels._gram._gram import gram
from symscope.kernels._gram._health import health
from symscope.kernels._gram._storage import open_gram
from symscope.kernels._kernel import Kernel
from symscope.kernels.infinite._operations import UnsupportedLayer
from symscope.kernels.finite._conjugate import conjugate_kernel
from symscope.kernels.finite._empirical_ntk import empirical_ntk, empirical_ntk_blocks
from symscope.kernels.finite._projected_gradients import projected_gradients
from symscope.kernels.finite._weights_kernel import weights_kernel, weights_kernel_spectrum
from symscope.kernels.infinite._infinite_width import infinite_width

__all__ = [
    # Any kernel, its Gram matrix, and whether that is fit for regression
    "Kernel",
    "gram",
    "open_gram",
    "health",
    # Infinitely wide networks
    "infinite_width",
    "UnsupportedLayer",
    # Finite networks at their own weights
    "empirical_ntk",
    "empirical_ntk_blocks",
    "projected_gradients",
    "conjugate_kernel",
    "weights_kernel",
    "weights_kernel_spectrum",
]
