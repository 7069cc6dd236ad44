"""Claims of `dynamics/counterexamples`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symscope.runs import Claim, RunTables
from symscope_papers.dynamics.counterexamples.config import EXAMPLES, WORDS, Counterexamples

if TYPE_CHECKING:
    import pandas as pd

ROUNDING = 1e-10
QUOTES = {
    "U": "It is not positive definite, since U[e2, e2] = -1. However, as a direct calculation reveals, its "
    "projection to E^⊗2, Π_{E^⊗2} U = id, clearly is.",
    "V": "which is not positive definite, since its restriction to E^⊥ is -id. However, the projection … is "
    "positive definite when restricted to E.",
}
READINGS = {
    "U": "As the risk 1/2 A U A^T of one layer; its Hessian under augmentation is the projection of U.",
    "V": "The projection is read as Π_E ⊗ Π_E, the Hessian of R_eqv by Prop. 2: on E^⊗2, where V lies, the "
    "projection that is printed would leave V as it is.",
}


def judge_claims(config: Counterexamples, tables: RunTables) -> list[Claim]:
    """Whether each example is a minimum of one risk and none of the other."""
    table = tables["minima"]
    parts = {name: table[table["example"] == name] for name in EXAMPLES}
    return [
        *(_stated(config, name, parts[name]) for name in QUOTES),
        _spectra(parts),
        *(_measured(name, parts[name]) for name in EXAMPLES if name not in QUOTES),
    ]


def _stated(config: Counterexamples, name: str, part: pd.DataFrame) -> Claim:
    _, of, not_of, source = EXAMPLES[name]
    first, second = part[part["risk"] == of], part[part["risk"] == not_of]
    return Claim.from_check(
        f"{name}: a strict minimum of {WORDS[of]} that is none of {WORDS[not_of]}; the converse of "
        "Proposition 3 is not true.",
        source,
        bool(first["strict"].all()) and not bool(second["strict"].any()),
        measured=_curvatures(first, second),
        threshold="positive for the first, not for the second",
        quote=QUOTES[name],
        reading=READINGS[name],
        why=f"Sizes {', '.join(map(str, config.sizes))}; gradients at most {part['gradient'].max():.1g}.",
    )


def _spectra(parts: dict[str, pd.DataFrame]) -> Claim:
    """The least eigenvalues that App. B gives."""
    stated = [
        ("U", "nominal", -1.0),
        ("U", "augmented", 1.0),
        ("V", "augmented", -1.0),
        ("V", "equivariant", 1.0),
    ]
    gaps = [
        (parts[name].loc[parts[name]["risk"] == risk, "lowest"] - value).abs().max()
        for name, risk, value in stated
    ]
    return Claim.at_most(
        "The least curvatures are -1 and 1 for U, before and after projection, and -1 outside E and 1 on E "
        "for V.",
        "App. B",
        float(max(gaps)),
        ROUNDING,
        quote="U[e2, e2] = -1; Π_{E^⊗2} U = id; its restriction to E^⊥ is -id",
        why="Largest difference over the sizes.",
    )


def _measured(name: str, part: pd.DataFrame) -> Claim:
    _, of, not_of, _ = EXAMPLES[name]
    return Claim.beyond(
        f"{name}: least curvature of {WORDS[of]}, and of {WORDS[not_of]}, at the same layers.",
        _curvatures(part[part["risk"] == of], part[part["risk"] == not_of]),
        expected="positive for the first, not for the second: counter-examples occur in practice",
    )


def _curvatures(first: pd.DataFrame, second: pd.DataFrame) -> str:
    return f"{first['lowest'].min():.3g} or more, and {second['lowest'].max():.3g} or less"
