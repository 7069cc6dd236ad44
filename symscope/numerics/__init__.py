"""What every part needs, below all of them.

- Eigenvalues at the ends of a spectrum, from products with a symmetric matrix: one block Lanczos.
- Gradient flows and other ordinary differential equations on tensors: one solver.
- Files that are whole or not there, and locks that keep a second process out.
- Progress of long computations, as one kind of function.
- Sizes in bytes, random generators, and checks of what callers give.
"""

# eigenvalues from products
from symscope.numerics._lanczos import (
    ROUNDING,
    Eigenpairs,
    columnwise,
    exact_ends,
    iterated_ends,
    top_eigenpairs,
)

# ordinary differential equations
from symscope.numerics._ode import ode_flow

# files
from symscope.numerics._files import atomic_file, exclusive_lock, remove_unfinished, write_whole

# progress
from symscope.numerics._progress import Progress, partial_progress

# sizes in bytes
from symscope.numerics._checks import DEFAULT_MEMORY, byte_count, byte_text, check_memory

# random numbers
from symscope.numerics._randomness import seed_generator, seeded

# checks
from symscope.numerics._checks import (
    check_count,
    check_finite,
    check_point_sets,
    check_ridge,
    out_of_range,
    shortened,
    usable_device,
)
from symscope.numerics._checked import checked, explained, may_be_infinite

__all__ = [
    # eigenvalues from products
    "ROUNDING",
    "Eigenpairs",
    "columnwise",
    "exact_ends",
    "iterated_ends",
    "top_eigenpairs",
    # ordinary differential equations
    "ode_flow",
    # files
    "atomic_file",
    "exclusive_lock",
    "remove_unfinished",
    "write_whole",
    # progress
    "Progress",
    "partial_progress",
    # sizes in bytes
    "DEFAULT_MEMORY",
    "byte_count",
    "byte_text",
    "check_memory",
    # random numbers
    "seed_generator",
    "seeded",
    # checks
    "check_count",
    "check_finite",
    "check_point_sets",
    "check_ridge",
    "checked",
    "explained",
    "may_be_infinite",
    "out_of_range",
    "shortened",
    "usable_device",
]
