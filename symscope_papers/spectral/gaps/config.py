"""Config of `spectral/gaps`, and which angles each pattern leaves out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from symscope_papers.config_bounds import (
    check_at_least,
    check_between,
    check_distinct,
    check_field,
    check_one_of,
)
from symscope_papers.spectral.trained.config import RUNS

ONE, SCATTERED = "one angle", "scattered angles"


@final
@dataclass(frozen=True)
class Gaps:
    """Config of `spectral/gaps`.

    Attributes:
        mnist: Which digits: "sample" (bundled), "fetched" (by `symscope data fetch mnist`) or a folder.
        pairs: Random pairs of digits of different classes; each orbit of a pair loses its angles in turn.
        angles: Numbers of angles n.
        gaps: Widths in degrees of the arc around upright without any image: its two ends are seen.
        runs: Trained networks, as in `spectral/trained`.
        width: Width of their hidden layer.
        epochs: Most full-batch steps.
        tolerance: A network is done when its mean squared error is at most this.
        centred: Subtract each image's mean before it is normalised.
    """

    mnist: str = "sample"
    pairs: int = 128
    angles: tuple[int, ...] = (8, 16, 32, 64)
    gaps: tuple[int, ...] = (45, 90)
    runs: tuple[str, ...] = ("ntk-adam",)
    width: int = 512
    epochs: int = 2000
    tolerance: float = 1e-5
    centred: bool = False

    def __post_init__(self) -> None:
        check_at_least(self, 3, "pairs")
        check_at_least(self, 3, "angles")
        check_at_least(self, 1, "width", "epochs")
        check_between(self, 1, 180, "gaps")
        check_distinct(self, "angles", "gaps", "runs")
        check_one_of(self, RUNS, "runs")
        for gap in self.gaps:
            whole = any(ends_seen(n, gap) for n in self.angles)
            check_field(
                self,
                "gaps",
                whole,
                f"widths whose ends are among the angles, n * width / 720 whole; {gap} is not",
            )


def ends_seen(angles: int, gap: int) -> bool:
    """Whether both ends of a gap of so many degrees around upright are among the angles.

    >>> ends_seen(8, 90), ends_seen(8, 45), ends_seen(64, 45)
    (True, False, True)
    """
    return angles * gap % 720 == 0


def missing_elements(angles: int, gap: int) -> list[int]:
    """The elements nearer to upright than half the gap, upright first.

    >>> missing_elements(8, 90), missing_elements(32, 45)
    ([0], [0, 1, 31])
    """
    reach = angles * gap // 720 - 1
    return [0, *range(1, reach + 1), *range(angles - reach, angles)]
