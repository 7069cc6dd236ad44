"""Configs of the two experiments on circles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from symscope_papers.config_bounds import check_at_least, check_field, check_increasing, check_positive

LOGSPACE = tuple(10 ** (-2 + 3 * i / 19) for i in range(20))


@final
@dataclass(frozen=True)
class Distance:
    """Config of `spectral/circles-distance`; kernel `exp(-inverse_scale^2 r^2)`, ridges times its trace.

    The paper has no ridge (Eq. 21). It states neither sizes nor scales: these are the authors' scripts'.
    """

    points: int = 6
    distances: tuple[float, ...] = (0.0, *LOGSPACE)
    inverse_scale: float = 0.85
    relative_ridges: tuple[float, ...] = (0.0,)

    def __post_init__(self) -> None:
        _check_sweep(self, "distances")


@final
@dataclass(frozen=True)
class Density:
    """Config of `spectral/circles-density`; fields as in `Distance`."""

    points: tuple[int, ...] = tuple(range(4, 49, 4))
    distance: float = 1.0
    inverse_scale: float = 1.4
    relative_ridges: tuple[float, ...] = (0.0,)

    def __post_init__(self) -> None:
        _check_sweep(self, "points")


def _check_sweep(config: Distance | Density, sweep: str) -> None:
    check_positive(config, "inverse_scale")
    check_field(
        config,
        "relative_ridges",
        config.relative_ridges != () and all(0 <= ridge < 1 for ridge in config.relative_ridges),
        "numbers from 0 to below 1",
    )
    check_increasing(config, sweep, least=2)
    check_at_least(config, 0, sweep)
