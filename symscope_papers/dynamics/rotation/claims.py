"""Claims of `dynamics/rotation`."""

from __future__ import annotations

from dataclasses import replace

from symscope.runs import Claim, RunTables
from symscope_papers.dynamics.rotation.config import HALF_TURNS, Rotation
from symscope_papers.dynamics.strategies.claims import common_claims, rotation_claims


def judge_claims(config: Rotation, tables: RunTables) -> list[Claim]:
    """The claims, judged on the tables of a run."""
    whole = replace(config, initial=Rotation.initial) == Rotation()
    large = (config.size, config.images, config.channels) == (
        Rotation.size,
        Rotation.images,
        Rotation.channels,
    )
    return [
        *common_claims(config, tables, whole=whole),
        *rotation_claims(tables, HALF_TURNS.name, whole=large),
    ]
