"""What Fig. 1B states, over all digits."""

from __future__ import annotations

from dataclasses import replace

from symscope.runs import Claim, RunTables
from symscope_papers.spectral.networks.claims import (
    NAMES,
    few_angles,
    final_accuracy,
    last_gaps,
    whole_groups,
)
from symscope_papers.spectral.networks.config import Networks


def judge_claims(config: Networks, tables: RunTables) -> list[Claim]:
    """That in-test accuracy follows training and out-test accuracy does not, network by network.

    Of a run that was closed before its end only networks that were trained for every digit are judged.
    """
    course = whole_groups(tables["course"], config)
    final = final_accuracy(course)
    claims = []
    for network in config.networks:
        row = final[final["network"] == network]
        digits = tables["course"].loc[tables["course"]["network"] == network, "left_out"].nunique()
        why = f"trained for {digits} of {len(config.left_out)} digits"
        claims += few_angles(NAMES[network], row, last_gaps(course, network), why, config.images)
    return [replace(claim, complete=True) for claim in claims]
