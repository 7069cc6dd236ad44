"""Claims of `linear/shear`."""

from __future__ import annotations

from symscope.runs import Claim, RunTables
from symscope_papers.linear.shear.config import Shear


def judge_claims(config: Shear, tables: RunTables) -> list[Claim]:
    """The claims, judged on the tables of a run."""
    groups = tables["groups"]
    sheared, straight = groups[groups["shear"] > 0], groups[groups["shear"] == 0]
    translations = sheared[sheared["kind"] == "translations"]
    reflections = sheared[sheared["kind"] == "reflection"]
    missing = int((~translations["transposes"].astype(bool)).sum())
    mirrors = int((~reflections["transposes"].astype(bool)).sum())
    return [
        Claim.from_check(
            "The transposes of translations by a ≠ 0 are not translations.",
            "App. A",
            missing == len(translations),
            measured=f"{missing} of {len(translations)} sets of translations lack transposes",
            threshold="all of them",
            quote=r"Clearly, for $a \neq 0$ the transposed matrices",
            why="The sentence ends “are not in it”, the group. Any number of translations stands for all.",
        ),
        Claim.at_least(
            "Without transposes the symmetric part drives the asymmetric one.",
            "App. B, proof of 3.3.2",
            float(sheared["drift"].min()),
            1e-9,
            quote="Here Assumption 3 becomes necessary.",
            reading="Necessary for the statement and not only for the proof: without it the parts mix, by "
            "more than rounding.",
            why="Largest distance between the asymmetric weights of two runs that start with the same ones "
            "and symmetric parts one apart, the least over all sheared groups. Coupling: "
            f"{100 * sheared['coupling'].min():.2g} to {100 * sheared['coupling'].max():.2g} % of the "
            "fastest rate.",
        ),
        Claim.at_most(
            "With transposes it does not.",
            "Theorem 3.3.2",
            float(straight["drift"].max()),
            1e-12,
            quote="the value of one does not affect the dynamics of the other",
            why="Reflection about the origin: zero to rounding.",
        ),
        Claim.beyond(
            "Reflections about a point other than the origin, as matrices on (1, x), that lack transposes.",
            f"{mirrors} of {len(reflections)}",
            expected="all: Assumption 3 depends on the origin",
        ),
        Claim.beyond(
            "Asymmetry loss of the limit without transposes, the worst group.",
            float(groups["limit_asymmetry"].max()),
            expected="0 to rounding",
            why="The loss does not change under the group, so its only minimum is invariant; this needs no "
            "transposes, only K_G positive definite.",
        ),
    ]
