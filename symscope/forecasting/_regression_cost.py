"""What kernel regression on a resample costs beside its Gram matrix, counted and not timed.

Two things take time: factorising the dense kernel, `p^3` operations over p points, for the table by class and
element; and, for many classes and large groups, the number of small PyTorch calls, one round for each irrep
of each class, or of each pair of classes. How many calls a round takes was counted, as the tests do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from symscope.forecasting._kernel_prediction import DENSE_POINTS, MOST_PAIRS
from symscope.groups import FiniteGroup
from symscope.numerics import explained

OPERATIONS_PER_SECOND = 3e9  # in double precision on one core
CALL_SECONDS = 1e-5  # of one PyTorch call on a few numbers
CLASS_CALLS, CLASS_IRREP_CALLS, CELL_CALLS = 140, 37, 50  # for each class, and irrep of it, and element
COVERAGE_IRREP_CALLS, COVERAGE_CELL_CALLS = 150, 12  # for each irrep, and each class and element
PAIR_CALLS, PAIR_IRREP_CALLS = 225, 120  # for each pair of classes, and irrep of it
FEW_ELEMENTS = 2000  # up to here conjugacy classes are counted


@final
@dataclass(frozen=True)
class RegressionCost:
    """What a computation takes.

    Attributes:
        operations: Multiplications and additions of large matrices.
        calls: PyTorch calls.
    """

    operations: int
    calls: int

    @property
    def seconds(self) -> float:
        """The time on one core."""
        return self.operations / OPERATIONS_PER_SECOND + self.calls * CALL_SECONDS


@explained
def resample_cost(classes: int, per_class: int, group: FiniteGroup, swept: bool) -> RegressionCost:
    """The cost of `resample_prediction`.

    Args:
        classes: Number of classes, or of groups of numbers.
        per_class: Samples of each.
        group: Group that acts.
        swept: Whether each class in turn lacks the identity; else a coverage is given.
    """
    points, cells, irreps = classes * per_class * group.order, classes * group.order, irrep_count(group)
    if swept:
        calls = classes * (CLASS_CALLS + CLASS_IRREP_CALLS * irreps)
        calls += CELL_CALLS * cells if points <= DENSE_POINTS else 0
    else:
        calls = CLASS_CALLS + COVERAGE_IRREP_CALLS * irreps + COVERAGE_CELL_CALLS * cells
    operations = points**3 + 2 * points**2 * classes if points <= DENSE_POINTS else 0
    return RegressionCost(operations, calls)


@explained
def pairs_cost(classes: int, group: FiniteGroup) -> RegressionCost:
    """The cost of `class_pairs`; its matrices are small.

    Args:
        classes: Number of classes.
        group: Group that acts.
    """
    pairs = classes * (classes - 1) // 2
    solved = pairs if pairs <= MOST_PAIRS else 0
    return RegressionCost(0, solved * (PAIR_CALLS + PAIR_IRREP_CALLS * irrep_count(group)))


@explained
def irrep_count(group: FiniteGroup) -> int:
    """How many blocks the kernel has: irreps, complex conjugates together.

    As many as classes of elements that are conjugate to each other or to each other's inverses.

    >>> from symscope.groups import cyclic, dihedral
    >>> irrep_count(cyclic(8)), irrep_count(dihedral(8))
    (5, 7)
    """
    if group.order > FEW_ELEMENTS:
        return group.order // 2 + 1
    table, inverses = group.table, group.inverses
    conjugates = table[table, inverses[:, None]]  # [g, h] is g h g^-1
    smallest = conjugates.amin(0)
    return len(smallest.minimum(smallest[inverses]).unique())
