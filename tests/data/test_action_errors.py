from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.ndimage
import torch

from symscope import groups
from symscope.data._action import custom_action
from symscope.data._action_errors import action_errors
from symscope.data._rotation import dihedral_action, rotation
from symscope.data.images import shift_both
from symscope.data.vectors import linear_action
from symscope.errors import InputError
from tests.tolerances import ROUNDING

IMAGES = torch.randn(3, 6, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("action", [rotation(4), shift_both(2, 3), dihedral_action(4)], ids=lambda a: a.name)
def test_permutations_depart_nowhere(action: object) -> None:
    measured = action_errors(action, IMAGES)
    assert (measured.homomorphism, measured.identity) == (0.0, 0.0)
    assert measured.orthogonality < ROUNDING
    assert measured.samples == 3


@pytest.mark.parametrize("n", [3, 8, 12])
def test_orthogonal_rotation_departs_by_rounding(n: int) -> None:
    for action in (rotation(n, "orthogonal"), dihedral_action(n, "orthogonal")):
        measured = action_errors(action, IMAGES)
        assert max(measured.homomorphism, measured.identity, measured.orthogonality) < ROUNDING


def test_spline_rotation_departs_as_scipy_does() -> None:
    """The same three numbers by loops over scipy's rotations."""
    n, x = 5, IMAGES.numpy()

    def turn(k: int, images: np.ndarray) -> np.ndarray:
        return scipy.ndimage.rotate(images, 360 * (k % n) / n, axes=(1, 2), reshape=False)

    def norm(images: np.ndarray) -> np.ndarray:
        return np.sqrt((images**2).sum(axis=(1, 2)))

    pairs = {
        (g, h): (norm(turn(g, turn(h, x)) - turn(g + h, x)) / norm(x)).max()
        for g in range(n)
        for h in range(n)
    }
    gram = np.einsum("ahw,bhw->ab", x, x)
    bent = [np.linalg.norm(np.einsum("ahw,bhw->ab", turn(g, x), turn(g, x)) - gram) for g in range(n)]
    measured = action_errors(rotation(n), IMAGES)
    assert measured.homomorphism == pytest.approx(max(pairs.values()), rel=1e-9)
    assert pairs[measured.worst_pair] == pytest.approx(max(pairs.values()), rel=1e-9)
    assert measured.orthogonality == pytest.approx(max(bent) / np.linalg.norm(gram), rel=1e-9)
    assert bent[measured.worst_element] == pytest.approx(max(bent), rel=1e-9)
    assert measured.identity == 0.0


def test_a_wrong_action_is_caught_with_its_numbers() -> None:
    doubling = custom_action(groups.cyclic(2), lambda g, x: 2.0 * x if g else x, 1)
    measured = action_errors(doubling, torch.tensor([[1.0, 2.0], [0.0, 3.0]]))
    assert measured.homomorphism == pytest.approx(3.0)  # 4x instead of x
    assert measured.worst_pair == (1, 1)
    assert measured.orthogonality == pytest.approx(3.0)
    assert measured.worst_element == 1
    shifted = custom_action(groups.cyclic(1), lambda g, x: x + 1.0, 1)
    assert action_errors(shifted, torch.tensor([[3.0, 4.0]])).identity == pytest.approx(2**0.5 / 5)


def test_homomorphic_but_not_orthogonal() -> None:
    swap = torch.tensor([[0.0, 2.0], [0.5, 0.0]])
    rep = groups.from_matrices(groups.cyclic(2), torch.stack([torch.eye(2), swap]))
    measured = action_errors(linear_action(rep), torch.tensor([[1.0, 0.0], [1.0, 3.0]], dtype=torch.float64))
    assert measured.homomorphism < ROUNDING
    assert measured.orthogonality > 1


def test_integers_are_measured_too() -> None:
    assert action_errors(rotation(4), torch.arange(9, dtype=torch.uint8).reshape(1, 3, 3)).homomorphism == 0.0


def test_the_guide_says_what_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "guides" / "rotations.md").read_text()
    block = guide.split("```python\n")[1].split("```")[0]
    exec(block, {})
    spline, orthogonal = (float(line) for line in capsys.readouterr().out.split())
    assert f"# {spline:.3f}" in block
    assert orthogonal < 1e-13


def test_bad_input() -> None:
    for bad in (torch.zeros(0, 3, 3), torch.zeros(3, 3)):
        with pytest.raises(InputError, match=r"expected samples .m, ....* with 2 axes each and m >= 1"):
            action_errors(rotation(4), bad)
    with pytest.raises(InputError, match="sample 1 is zero"):
        action_errors(rotation(4), torch.stack([torch.ones(3, 3), torch.zeros(3, 3)]))
    with pytest.raises(InputError, match="finite"):
        action_errors(rotation(4), torch.full((1, 3, 3), torch.nan))
