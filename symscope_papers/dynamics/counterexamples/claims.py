"""Claims of `dynamics/counterexamples`."""

from __future__ import annotations

from symscope.runs import Claim, RunTables
from symscope_papers.dynamics.counterexamples.config import EXAMPLES, WORDS, Counterexamples


def judge_claims(config: Counterexamples, tables: RunTables) -> list[Claim]:
    """The claims, judged on the tables of a run."""
    table = tables["minima"]
    claims = []
    for name, (_, of, not_of, source) in EXAMPLES.items():
        part = table[table["example"] == name]
        strict = {risk: part[part["risk"] == risk] for risk in (of, not_of)}
        good = bool(strict[of]["strict"].all()) and not bool(strict[not_of]["strict"].any())
        low, high = strict[not_of]["lowest"].max(), strict[of]["lowest"].min()
        claims.append(
            Claim.from_check(
                f"{name}: a strict minimum of {WORDS[of]} that is none of {WORDS[not_of]}.",
                source,
                good,
                measured=f"least curvature {high:.3g} or more, and {low:.3g} or less",
                threshold="positive for the first, not for the second",
                why=f"Sizes {', '.join(map(str, config.sizes))}; gradients at most "
                f"{part['gradient'].max():.1g}.",
            )
        )
    return claims
