"""What every part needs: eigenvalues from products, random numbers, whole files, progress, checks."""

from symscope.numerics._arithmetic import Arithmetic, arithmetic, usable_device
from symscope.numerics._checks import (
    check_count,
    check_finite,
    check_point_sets,
    check_ridge,
)
from symscope.numerics._files import atomic_file, exclusive_lock, remove_unfinished, write_whole
from symscope.numerics._ode import FlowPath, ode_flow
from symscope.numerics._progress import Progress, partial_progress, progress_steps
from symscope.numerics._randomness import seeded
from symscope.numerics._sizes import DEFAULT_MEMORY, byte_count, byte_text
from symscope.numerics._lanczos import (
    ROUNDING,
    Eigenpairs,
    columnwise,
    exact_ends,
    iterated_ends,
    top_eigenpairs,
)
from symscope.numerics._threads import cores_for, each, one_core_each

__all__ = [
    "DEFAULT_MEMORY",
    "ROUNDING",
    "Arithmetic",
    "Eigenpairs",
    "Progress",
    "arithmetic",
    "byte_count",
    "byte_text",
    "check_count",
    "check_finite",
    "check_point_sets",
    "check_ridge",
    "cores_for",
    "each",
    "columnwise",
    "exact_ends",
    "iterated_ends",
    "one_core_each",
    "partial_progress",
    "progress_steps",
    "ode_flow",
    "remove_unfinished",
    "atomic_file",
    "exclusive_lock",
    "FlowPath",
    "seeded",
    "top_eigenpairs",
    "usable_device",
    "write_whole",
]
