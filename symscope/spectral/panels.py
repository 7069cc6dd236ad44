"""Large Hermitian matrices as column panels: Cholesky and triangular inverse made of large real products.

Only the lower half is stored, real and imaginary parts apart. Complex products take three real ones instead
of four, `Re = T1 - T2`, `Im = T3 - T1 - T2` with `T1 = Ar Br`, `T2 = Ai Bi`, `T3 = (Ar + Ai)(Br + Bi)`. A GPU
runs real float64 products several times faster than its library's Cholesky; nearly all the work is in them.

Methods: left-looking block Cholesky (Golub and Van Loan, Matrix Computations, sec. 4.2); triangular inverse
by block columns from the last to the first (Du Croz and Higham, IMA J. Numer. Anal. 12, 1992); the
three-product form, whose imaginary part is accurate relative to the norm of the whole product and not entry
by entry (Higham, SIAM J. Matrix Anal. Appl. 13, 1992), which is what a factorisation needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float, Int64, Shaped
from torch import Tensor

from symscope.errors import InputError
from symscope.numerics import check_memory, checked, explained
from symscope.spectral._irrep_parts import SingularBlockError

LARGEST_PANELS = 2**44  # bytes: 16 TiB, more than a machine has

__all__ = ["Panels", "empty_panels", "flop_counts", "invert_factor", "solve"]


@final
@dataclass(frozen=True, eq=False)
class Panels:
    """The lower half of a Hermitian or lower triangular matrix, changed in place by `invert_factor`.

    Attributes:
        size: Rows n.
        width: Columns of a panel.
        real: Panel j holds rows `j width ..` of columns `j width .. (j + 1) width`.
        imaginary: Imaginary parts in the same layout; empty for a real matrix.
    """

    size: int
    width: int
    real: tuple[Float[Tensor, "_ _"], ...]
    imaginary: tuple[Float[Tensor, "_ _"], ...]

    @property
    def is_complex(self) -> bool:
        """Whether there are imaginary parts."""
        return len(self.imaginary) > 0


@explained
def empty_panels(
    size: int, width: int, *, complex: bool, device: torch.device | str, dtype: torch.dtype = torch.float64
) -> Panels:
    """Panels to be filled, zero until then: of blocks on the diagonal only the lower half ever is.

    Args:
        size: Rows n.
        width: Columns of a panel.
        complex: Whether imaginary parts are kept.
        device: Device holding the panels.
        dtype: Precision of the real numbers.

    Raises:
        InputError: A size or width below 1.

    >>> [tuple(panel.shape) for panel in empty_panels(5, 2, complex=False, device="cpu").real]
    [(5, 2), (3, 2), (1, 1)]
    """
    if size < 1 or width < 1:
        raise InputError(f"panels need a size and a width of 1 or more, got {size} and {width}")
    check_memory("the panels", panel_bytes(size, width, complex=complex), "take fewer rows", LARGEST_PANELS)

    def half() -> tuple[Tensor, ...]:
        return tuple(
            torch.zeros(size - start, min(width, size - start), dtype=dtype, device=device)
            for start in range(0, size, width)
        )

    return Panels(size, width, half(), half() if complex else ())


def fill_diagonal(matrix: Panels, where: Int64[Tensor, "r"]) -> None:
    """Put the largest entry of the diagonal in some of its places, where rows and columns are zero.

    >>> A = empty_panels(3, 2, complex=False, device="cpu")
    >>> A.real[0][0, 0] = 5.0
    >>> fill_diagonal(A, torch.tensor([1, 2]))
    >>> [panel[: panel.shape[1]].diagonal().tolist() for panel in A.real]
    [[5.0, 5.0], [5.0]]
    """
    largest = max(float(panel[: panel.shape[1]].diagonal().max()) for panel in matrix.real)
    for place in where.tolist():
        panel, at = divmod(place, matrix.width)
        matrix.real[panel][at, at] = largest


def panel_bytes(size: int, width: int, *, complex: bool, itemsize: int = 8) -> int:
    """What the panels of one matrix take.

    >>> panel_bytes(5, 2, complex=True)
    272
    """
    whole, rest = divmod(size, width)
    entries = width * (whole * size - width * whole * (whole - 1) // 2) + rest**2
    return entries * itemsize * (2 if complex else 1)


def workspace_bytes(size: int, width: int, *, itemsize: int = 8) -> int:
    """What `invert_factor` takes besides: five panels of full height, and a few squares."""
    wide = min(width, size)
    return itemsize * (5 * size * wide + 12 * wide * wide)


@explained
def invert_factor(matrix: Panels, ridge: float) -> None:
    """`A + ridge = L L^H`, and X = L^-1 written over A, so that `(A + ridge)^-1 = X^H X`.

    The factor is made panel after panel, each from all panels to its left, with the inverse of each diagonal
    block in that block's place, which nothing else needs; then it is inverted from the last panel to the
    first, `X_j = -X_below L_j X_jj`.

    Args:
        matrix: A, Hermitian.
        ridge: Number added to the diagonal.

    Raises:
        SingularBlockError: A pivot that is not positive to rounding; the panels are then of no use.

    >>> A = empty_panels(2, 1, complex=False, device="cpu")
    >>> A.real[0][:, 0], A.real[1][:, 0] = torch.tensor([4.0, 2.0]), torch.tensor([2.0])
    >>> invert_factor(A, ridge=0.0)
    >>> [panel.flatten().tolist() for panel in A.real]
    [[0.5, -0.5], [1.0]]
    """
    largest = max(float(panel[: panel.shape[1]].diagonal().max()) for panel in matrix.real) + ridge
    # left-looking: a panel is read until its own turn and then written once, so that it is updated in place
    for k in range(len(matrix.real)):
        _subtract_products(matrix, k)
        top = matrix.real[k].shape[1]
        matrix.real[k][:top].diagonal().add_(ridge)
        inverse = _inverse_of_diagonal(matrix, k, largest)
        below = _product(_rows(matrix, k, top, None), _halves(inverse.mH))
        _write(matrix, k, top, None, below)
        _write(matrix, k, 0, top, _halves(inverse))
    for j in reversed(range(len(matrix.real))):
        top = matrix.real[j].shape[1]
        own = _rows(matrix, j, 0, top)
        # -L_j X_jj first: the panel below is then free to be written over
        scaled = _product(_rows(matrix, j, top, None), (-own[0], None if own[1] is None else -own[1]))
        _apply_inverse(matrix, j, scaled)


def _inverse_of_diagonal(matrix: Panels, k: int, largest: float) -> Tensor:
    """L_kk^-1 from a small Cholesky: a product with it is then as fast as all the others."""
    top = matrix.real[k].shape[1]
    real, imaginary = _rows(matrix, k, 0, top)
    block = real if imaginary is None else torch.complex(real, imaginary)
    factor, failed = torch.linalg.cholesky_ex(block)
    rounding = torch.finfo(real.dtype).eps * matrix.size
    if bool(failed) or not float(factor.diagonal().real.square().min()) > rounding * largest:
        start = k * matrix.width
        raise SingularBlockError(f"a pivot vanishes to rounding in rows {start} .. {start + top - 1}")
    eye = torch.eye(top, dtype=factor.dtype, device=factor.device)
    return torch.linalg.solve_triangular(factor, eye, upper=False).tril()


def _halves(matrix: Tensor) -> tuple[Tensor, Tensor | None]:
    return (matrix.real, matrix.imag) if matrix.is_complex() else (matrix, None)


def _rows(matrix: Panels, k: int, start: int, stop: int | None) -> tuple[Tensor, Tensor | None]:
    return matrix.real[k][start:stop], matrix.imaginary[k][start:stop] if matrix.is_complex else None


def _write(
    matrix: Panels, k: int, start: int, stop: int | None, values: tuple[Tensor, Tensor | None]
) -> None:
    matrix.real[k][start:stop] = values[0]
    if values[1] is not None:
        matrix.imaginary[k][start:stop] = values[1]


def _subtract_products(matrix: Panels, k: int) -> None:
    """`A_k -= sum_(j < k) L_j L_j[k]^H`; sums of the three products are kept apart until the end."""
    if k == 0:
        return
    real = matrix.real[k]
    columns = real.shape[1]
    start = k * matrix.width
    if not matrix.is_complex:
        for j in range(k):
            a = matrix.real[j][start - j * matrix.width :]
            real.addmm_(a, a[:columns].T, alpha=-1)
        return
    imaginary = matrix.imaginary[k]
    first, second = torch.zeros_like(real), torch.zeros_like(real)
    for j in range(k):
        ar = matrix.real[j][start - j * matrix.width :]
        ai = matrix.imaginary[j][start - j * matrix.width :]
        br, bi = ar[:columns], ai[:columns]
        first.addmm_(ar, br.T)
        second.addmm_(ai, bi.T)
        imaginary.addmm_(ar + ai, (br - bi).T, alpha=-1)  # (Ar + i Ai)(Br - i Bi)^T
    real.sub_(first).sub_(second)
    imaginary.add_(first).sub_(second)


def _apply_inverse(matrix: Panels, j: int, right: tuple[Tensor, Tensor | None]) -> None:
    """Panel j below its own block becomes `X_below right`, X the inverses of the panels to its right."""
    real, width = matrix.real[j], matrix.width
    top = real.shape[1]
    below = real[top:]
    below.zero_()
    if right[1] is None:
        for k in range(j + 1, len(matrix.real)):
            start = (k - j - 1) * width
            x = matrix.real[k]
            below[start:].addmm_(x, right[0][start : start + x.shape[1]])
        return
    imaginary = matrix.imaginary[j][top:]
    imaginary.zero_()
    second = torch.zeros_like(below)
    for k in range(j + 1, len(matrix.real)):
        start = (k - j - 1) * width
        xr, xi = matrix.real[k], matrix.imaginary[k]
        rows = slice(start, start + xr.shape[1])
        br, bi = right[0][rows], right[1][rows]
        below[start:].addmm_(xr, br)
        second[start:].addmm_(xi, bi)
        imaginary[start:].addmm_(xr + xi, br + bi)
    imaginary.sub_(below).sub_(second)
    below.sub_(second)


def _product(
    left: tuple[Tensor, Tensor | None], right: tuple[Tensor, Tensor | None]
) -> tuple[Tensor, Tensor | None]:
    """A product of two matrices given as real and imaginary parts."""
    if left[1] is None or right[1] is None:
        return left[0] @ right[0], None
    first, second = left[0] @ right[0], left[1] @ right[1]
    third = (left[0] + left[1]) @ (right[0] + right[1])
    return first - second, third.sub_(first).sub_(second)


def columns_of(matrix: Panels, columns: Int64[Tensor, "c"]) -> tuple[Tensor, Tensor | None]:
    """Some columns of a lower triangular matrix, from the first row that is not zero in any of them.

    Args:
        matrix: X, lower triangular, zeros above the diagonal included.
        columns: Positions of the columns, increasing.
    """
    first = int(columns[0])
    parts = []
    for half in (matrix.real, matrix.imaginary):
        if not half:
            continue
        out = torch.zeros(matrix.size - first, len(columns), dtype=half[0].dtype, device=half[0].device)
        done = 0
        for k, panel in enumerate(half):
            start = k * matrix.width
            inside = columns[(columns >= start) & (columns < start + matrix.width)] - start
            if len(inside) == 0:
                continue
            here = slice(done, done + len(inside))
            local = inside.to(panel.device)
            low = max(start, first)
            out[low - first :, here] = panel[low - start :, local]
            done += len(inside)
        parts.append(out)
    return parts[0], parts[1] if len(parts) > 1 else None


def inverse_block(
    inverse: Panels, columns: Int64[Tensor, "c"], *, real_only: bool
) -> tuple[Tensor, Tensor | None]:
    """A diagonal block of `A^-1 = X^H X` from X = L^-1, as real and imaginary parts.

    Args:
        inverse: X, from `invert_factor`.
        columns: Positions of the rows and columns, increasing.
        real_only: Leave the imaginary part out.
    """
    real, imaginary = columns_of(inverse, columns)
    block = real.T @ real
    if imaginary is None:
        return block, None
    block.addmm_(imaginary.T, imaginary)
    if real_only:
        return block, None
    across = real.T @ imaginary
    return block, across - across.T


@explained
def solve(inverse: Panels, right: Shaped[Tensor, "n c"]) -> Shaped[Tensor, "n c"]:
    """`A^-1 right = X^H X right` from X = L^-1; complex for a complex matrix, real for a real one.

    >>> X = empty_panels(2, 1, complex=False, device="cpu")
    >>> X.real[0][:, 0], X.real[1][:, 0] = torch.tensor([0.5, -0.5]), torch.tensor([1.0])
    >>> solve(X, torch.tensor([[4.0], [2.0]], dtype=torch.float64)).flatten().tolist()  # of [[4, 2], [2, 2]]
    [1.0, 0.0]
    """
    if right.is_complex() != inverse.is_complex:
        kind = "complex" if inverse.is_complex else "real"
        raise InputError(f"solve: the matrix is {kind}, expected a {kind} right-hand side, got {right.dtype}")
    if not inverse.is_complex:
        return _transposed_times(inverse, inverse.real, _times(inverse, inverse.real, right))
    count = right.shape[1]
    both = torch.cat([right.real, right.imag], 1)
    first, second = _times(inverse, inverse.real, both), _times(inverse, inverse.imaginary, both)
    forward = torch.cat([first[:, :count] - second[:, count:], first[:, count:] + second[:, :count]], 1)
    first = _transposed_times(inverse, inverse.real, forward)
    second = _transposed_times(inverse, inverse.imaginary, forward)
    return torch.complex(first[:, :count] + second[:, count:], first[:, count:] - second[:, :count])


def _times(matrix: Panels, half: Sequence[Tensor], right: Float[Tensor, "n c"]) -> Float[Tensor, "n c"]:
    result = torch.zeros_like(right)
    for k, panel in enumerate(half):
        start = k * matrix.width
        result[start:].addmm_(panel, right[start : start + panel.shape[1]])
    return result


def _transposed_times(
    matrix: Panels, half: Sequence[Tensor], right: Float[Tensor, "n c"]
) -> Float[Tensor, "n c"]:
    return torch.cat([panel.T @ right[k * matrix.width :] for k, panel in enumerate(half)])


@checked
def flop_counts(size: int, sets: Sequence[int], *, complex: bool) -> dict[str, float]:
    """Floating-point operations of one block: factor, inverse of the factor, and the blocks asked for.

    `n^3 / 3` each for the first two, times 3 for complex numbers (4 without the three-product form);
    `n c^2` for a set of c columns spread over the matrix, times 2 (real part only).

    >>> flop_counts(3000, [300] * 10, complex=True)["factor"] == 2.7e10
    True
    """
    cube = float(size) ** 3 / 3
    blocks = sum(float(size) * c * c for c in sets)
    return {
        "factor": cube * (3 if complex else 1),
        "inverse": cube * (3 if complex else 1),
        "blocks": blocks * (2 if complex else 1),
    }
