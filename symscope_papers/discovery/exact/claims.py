"""Claims of `discovery/exact`: known symmetries that Sec. 2 names are found; their number goes beyond it."""

from __future__ import annotations

from typing import Any

from symscope.runs import Claim, RunTables
from symscope_papers.discovery.exact.config import Exact

ROUNDING = 1e-6  # relative; null spaces, flows and gradients of many steps are exact to less than this
SMOOTH = ("tanh", "sigmoid")
HOMOGENEOUS = ("ReLU", "leaky ReLU")


def judge_claims(config: Exact, tables: RunTables) -> list[Claim]:
    """The claims, judged on the tables of a run."""
    table = tables["networks"]
    wide = table["network"] == config.wide
    small = table[~wide]
    return [
        _contained(
            "The generators W -> E W, U -> -U E of invertible matrices between linear layers are found.",
            small[small["family"] == "linear"],
            "invertible linear transformations in linear networks",
        ),
        _contained(
            "One rescaling for each hidden unit of a ReLU or leaky ReLU network is found.",
            small[small["family"].isin(HOMOGENEOUS)],
            "rescaling in homogeneous networks",
        ),
        _translations(small[small["family"] == "softmax"]),
        _none(
            "tanh networks have no continuous symmetry, linear or not.",
            "Sec. 2",
            small[small["family"] == "tanh"],
            quote="In tanh neural networks (Chen et al., 1993), only permutation and sign flip symmetries "
            "preserve the loss function.",
            reading="Continuous symmetries, at random parameters: no computation tries all discrete ones.",
        ),
        _none(
            "Sigmoid networks have no continuous symmetry that ignores the data, linear or not.",
            "Sec. 5.4",
            small[small["family"] == "sigmoid"],
            quote="sigmoid networks have no data-independent continuous symmetry",
            reading="At random parameters; where weights are zero there may be some.",
        ),
        _conserved(small),
        *_counts(small),
        *_quality(small),
        *_wide_claims(table[wide]),
    ]


def _contained(statement: str, part: Any, quote: str) -> Claim:
    """Whether what was found spans the generators of theory, where theory gives them all."""
    sines = part["span_sine"].dropna()
    if not len(sines):
        return Claim.not_checked(statement, "Sec. 2", "none of these networks is in the config", quote=quote)
    why = f"Sine of the largest principal angle to the algebra of theory, worst of {len(sines)} runs."
    return Claim.at_most(statement, "Sec. 2", float(sines.max()), ROUNDING, quote=quote, why=why)


def _translations(part: Any) -> Claim:
    statement = "Shifting all logits alike, by the last layer's weights or biases, is found as a translation."
    quote = "translation in softmax"
    if not len(part):
        return Claim.not_checked(statement, "Sec. 2", "no softmax network is in the config", quote=quote)
    right = part["translations"] == part["expected_translations"]
    words = f"{int(right.sum())} of {len(part)} runs give as many translations as theory"
    threshold = "all: one for each hidden unit, one for the bias"
    return Claim.from_check(
        statement, "Sec. 2", bool(right.all()), measured=words, threshold=threshold, quote=quote
    )


def _none(statement: str, source: str, part: Any, *, quote: str, reading: str) -> Claim:
    """No linear field, and no direction at all in which every sample's loss is still."""
    if not len(part):
        return Claim.not_checked(statement, source, "no such network is in the config", quote=quote)
    none = (part["found"] == 0) & (part["translations"] == 0) & (part["fibre"] == 0)
    return Claim.from_check(
        statement,
        source,
        bool(none.all()),
        measured=f"none in {int(none.sum())} of {len(part)} runs",
        threshold="no linear field, and no direction that keeps every sample's loss to first order",
        quote=quote,
        reading=reading,
    )


def _conserved(small: Any) -> Claim:
    statement = "Gradient flow conserves the quantities that follow from symmetric generators."
    quote = "through the associated conserved quantities of gradient flow"
    kept = small["conservation"].dropna()
    if not len(kept):
        return Claim.not_checked(statement, "Sec. 1", "no such quantity in these networks", quote=quote)
    why = f"Largest relative change in {len(kept)} runs; flows that slide along a kink of ReLU are left out."
    return Claim.at_most(statement, "Sec. 1", float(kept.max()), ROUNDING, quote=quote, why=why)


def _counts(small: Any) -> list[Claim]:
    """How many there are in all: the paper leaves it open."""
    theory = {
        "linear": "gl(h); so(h,h) with one input and one output; more with one of them",
        "homogeneous": "one for each unit",
        "softmax": "one for each ReLU unit, modulo translations",
        "LayerNorm": "scale, and rotations of its sphere",
        "RMSNorm": "scale, and rotations of its sphere",
        "attention": "gl on queries with keys, gl on values with outputs",
    }
    named = small.assign(kind=small["family"].where(~small["family"].isin(HOMOGENEOUS), "homogeneous"))
    claims = []
    for kind, part in named[~named["kind"].isin(SMOOTH)].groupby("kind", sort=False):
        right = int((part["found"] == part["expected"]).sum())
        claims.append(
            Claim.beyond(
                f"Linear symmetries of {kind} networks: runs that find as many as theory has.",
                f"{right} of {len(part)}",
                expected=f"all ({theory[kind]})",
            )
        )
    return claims


def _quality(small: Any) -> list[Claim]:
    drift, rival = small["drift"].dropna(), small["random_drift"].dropna()
    chances = small["largest_chance"].dropna()
    claims = []
    if len(drift):
        claims.append(
            Claim.beyond(
                "Loss drift of a random element of every algebra on held-out parameters and data.",
                float(drift.max()),
                expected="0 to rounding",
                why=f"Worst of {len(drift)} runs; random fields of the same norm drift by {rival.min():.1e} "
                "or more.",
            )
        )
    if len(chances):
        words = "Chance that a gap in singular values which decides a dimension is an accident."
        claims.append(Claim.beyond(words, float(chances.max()), why=f"Largest of {len(chances)} runs."))
    return [
        *claims,
        Claim.beyond(
            "Part of a bracket of two generators that lies outside what was found.",
            float(small["closure"].max()),
            expected="0 to rounding: all linear symmetries form a Lie algebra",
            why="Relative, worst of all runs.",
        ),
    ]


def _wide_claims(wide: Any) -> list[Claim]:
    if not len(wide):
        return []
    row = wide.iloc[0]
    return [
        Claim.beyond(
            "Rescalings found layer by layer in a network too large to try all matrices.",
            f"{row['found']} in {row['parameters']} parameters, {row['unknowns']} unknowns",
            expected=f"{row['expected']}, one for each ReLU unit",
        )
    ]
