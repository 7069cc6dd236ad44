"""Claims of `dynamics/identities`."""

from __future__ import annotations

from symscope.runs import Claim, RunTables
from symscope_papers.dynamics.identities.config import ROUNDING, Identities
from symscope_papers.dynamics.identities.statements import IDENTITIES


def judge_claims(config: Identities, tables: RunTables) -> list[Claim]:
    """Every proved statement to rounding; Eq. 3 as printed, and how far it is off."""
    table, gaps = tables["identities"], tables["feature_averaging"]["gap"]
    worst = table.groupby("identity", sort=False)["error"].max()
    seen = f"Largest relative error over {len(gaps)} random networks of {table['group'].nunique()} groups."
    claims = [
        Claim.at_most(
            one.statement, name, float(worst[name]), ROUNDING, quote=one.quote, reading=one.reading, why=seen
        )
        for name, one in IDENTITIES.items()
    ]
    return [*claims, _normalised(tables), *_equation_3(tables)]


def _normalised(tables: RunTables) -> Claim:
    statement = "Networks with batch normalisation are equivariant for every A in E."
    quote = "importantly does not break the invariance or equivariance under G at test time"
    table = tables["identities"]
    rows = table[(table["identity"] == "Lemma 3") & table["declaration"].str.contains("batch_norm")]
    if rows.empty:
        return Claim.not_checked(
            statement, "Sec. 5", "No network of this run has batch normalisation.", quote=quote
        )
    return Claim.at_most(
        statement,
        "Sec. 5",
        float(rows["error"].max()),
        ROUNDING,
        quote=quote,
        reading="Statistics are those of the batch, as in training: harder than fixed ones, as at test time.",
        why=f"Largest relative error of Lemma 3 over the {len(rows)} networks that have it.",
    )


def _equation_3(tables: RunTables) -> list[Claim]:
    gaps = tables["feature_averaging"]["gap"]
    source = "Remark 1, Eq. 3"
    return [
        Claim.at_most(
            "Feature averaging has the augmented risk for every A, Eq. 3 as printed.",
            source,
            float(gaps.abs().max()),
            ROUNDING,
            quote="It is not hard to prove … that under the invariance assumption on ℓ, "
            "R_aug(A) = E(ℓ(Φ_A^FA(x), y))",
            why="Largest relative difference for layers off E. An average of losses is not the loss of an "
            "average: for convex losses Jensen's inequality makes the equality a bound. On E it holds.",
        ),
        Claim.quantified(
            "Relative difference of the augmented and the feature-averaged risk for random layers off E.",
            source,
            float(gaps.median()),
            uncertainty=f"from {gaps.min():.2g} to {gaps.max():.2g} over {len(gaps)} networks",
        ),
        Claim.beyond(
            "Largest relative difference of the two risks for layers in E.",
            float(tables["feature_averaging"]["gap_on_e"].abs().max()),
            expected="0 to rounding: all averaged networks are the same there",
        ),
        Claim.beyond(
            "Largest relative excess of the feature-averaged risk over the augmented one.",
            float((-gaps).max()),
            expected="0 or less, to rounding: Jensen's inequality for convex losses",
        ),
    ]
