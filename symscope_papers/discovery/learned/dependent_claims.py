"""Claims of `discovery/sigmoid`, `tanh`, `tanh-deep` and `skip`: fields that depend on the data point."""

from __future__ import annotations

from typing import Any

from symscope.runs import Claim, RunTables
from symscope_papers.discovery.learned.claims import (
    LEVEL,
    drift_claims,
    length_claim,
    outcome,
    part,
)
from symscope_papers.discovery.learned.config import LearnedRun

ATTEMPT = "We apply our framework to learn generators and loss-invariant group actions"
SIGMOID = (
    "this set of symmetries are data-dependent, indicating that our method successfully learns "
    "data-dependent symmetries for this architecture"
)
DEEP = "shows the learned generators for data-dependent symmetries in a three-layer tanh MLP"
LAYERS = "The generators indicate the existence of symmetries that act on non-contiguous layers"
WITHOUT_RESULT = "The paper says that it was tried and shows no result."


def sigmoid_claims(config: LearnedRun, tables: RunTables) -> list[Claim]:
    """Fig. 3: symmetries of a sigmoid network, said to be learned and to depend on the data."""
    return [
        _data_claim(config, tables, "Fig. 3", SIGMOID),
        *_measurements(tables, "Fig. 3", SIGMOID),
    ]


def attempt_claims(config: LearnedRun, tables: RunTables) -> list[Claim]:
    """Two-layer tanh networks and skip connections: nothing is stated, so everything is a measurement."""
    words = "Symmetries of this network are learned."
    return [
        Claim.not_testable(words, "Sec. 5.4", WITHOUT_RESULT, quote=ATTEMPT),
        *_measurements(tables, "Sec. 5.4", ATTEMPT),
    ]


def _measurements(tables: RunTables, source: str, quote: str) -> list[Claim]:
    return [
        *_data_measurements(tables, source, quote),
        *drift_claims(tables, source, quote),
        *length_claim(tables),
    ]


def _data_claim(config: LearnedRun, tables: RunTables, source: str, quote: str) -> Claim:
    """A data-dependent symmetry keeps the loss of the data point it sees, and not that of another."""
    statement = (
        "Along a learned field the loss of the data point it sees changes less than along random fields of "
        "the same length, and less than the loss of another data point."
    )
    rows = part(tables["fields"], "paper")
    if not len(rows):
        why = "the paper's objective is not in the config"
        return Claim.not_checked(statement, source, why, quote=quote)
    random, other = rows["chance"] <= LEVEL, rows["sign_chance"] <= LEVEL
    return outcome(
        config,
        statement,
        source,
        bool((random & other).mean() > 0.5),
        measured=f"{int((random & other).sum())} of {len(rows)} fields: {int(random.sum())} change it less "
        f"than random ones do, {int(other.sum())} less than another point's",
        threshold=f"more than half of the fields; rank and sign tests over held-out points at {LEVEL:.0%}",
        quote=quote,
        reading="The least that learning a data-dependent symmetry can mean; the half is ours, as the paper "
        "shows one training. A field that ignores the data changes both losses alike.",
        why=f"Median change of the seen loss over that of the other: {_ratio(rows):.2g}; median drift over a "
        f"random field's: {rows['drift_ratio'].median():.2g}. A symmetry has 0.",
    )


def _ratio(rows: Any) -> float:
    return float((rows["seen_change"] / rows["other_change"]).median())


def _data_measurements(tables: RunTables, source: str, quote: str) -> list[Claim]:
    claims = []
    for (objective, action), rows in tables["fields"].groupby(["objective", "action"], sort=False):
        statement = (
            "Root mean square change of the seen loss over that of another data point's, both after a tenth "
            f"of the parameters' norm ({objective} objective, action {action})."
        )
        words: dict[str, Any] = {
            "uncertainty": f"(median of {len(rows)} fields)",
            "why": "1 for a field that ignores the data. With one data point the loss is one number, so n "
            "- 1 directions of n keep it everywhere: such fields always exist. "
            f"Share of the way that changes with the data point: {rows['data_dependence'].median():.2g}.",
        }
        if objective == "paper":
            claims.append(Claim.quantified(statement, source, _ratio(rows), quote=quote, **words))
        else:
            claims.append(Claim.beyond(statement, _ratio(rows), expected="0 for a symmetry", **words))
    return claims


def deep_claims(config: LearnedRun, tables: RunTables) -> list[Claim]:
    """Fig. 4: which layers the fields move."""
    claims = [
        _data_claim(config, tables, "Fig. 4", DEEP),
        *_measurements(tables, "Fig. 4", DEEP),
    ]
    for (objective, action), rows in tables["fields"].groupby(["objective", "action"], sort=False):
        shares = ", ".join(f"W{k} {rows[f'share_W{k}'].median():.0%}" for k in (1, 2, 3))
        both = rows[["share_W1", "share_W3"]].min(axis=1)
        statement = (
            f"Shares of the layers in the motion of learned fields ({objective} objective, action {action})."
        )
        words: dict[str, Any] = {
            "uncertainty": f"(medians of {len(rows)} fields; least W2 {rows['share_W2'].min():.0%}, largest "
            f"of the smaller of W1 and W3 {both.max():.0%})",
            "why": "The paper takes layers from h, which an action network may read in any basis; "
            "here they are the field's. Moving W1 across the input keeps the loss: one layer is enough.",
        }
        if objective == "paper":
            claims.append(Claim.quantified(statement, "Fig. 4", shares, quote=LAYERS, **words))
        else:
            claims.append(Claim.beyond(statement, shares, **words))
    return [
        *claims,
        Claim.not_testable(
            "Symmetries that act on non-contiguous layers were unknown.",
            "Sec. 5.4",
            "It is a statement on the literature. That they exist is checked in discovery/examples.",
            quote="which has not been discovered in previous literature",
        ),
    ]
