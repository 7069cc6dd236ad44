"""Claims of `linear/equations`."""

from __future__ import annotations

from symscope.runs import Claim, RunTables
from symscope_papers.linear.equations.config import Equations

ROUNDING, INTEGRATED = 1e-11, 1e-8
# column, statement, source, quote, largest difference allowed
EQUALITIES = (
    (
        "flow",
        "Eq. 1 is the integrated gradient flow.",
        "Sec. 2, Eq. 1",
        "Under gradient flow the weights over time are",
        INTEGRATED,
    ),
    (
        "loss",
        "The loss of the data set is the sum over one sample of each orbit and the group.",
        "Corollary 3.2, Eq. 2",
        "Assumption 1 allows rewriting the loss as",
        ROUNDING,
    ),
    (
        "invariant_flow",
        "Eq. 3 is the integrated gradient flow on the data set.",
        "Theorem 3.3.1, Eq. 3",
        "The weights over time are:",
        INTEGRATED,
    ),
    (
        "scaled",
        "A factor of the loss changes the speed and not the path.",
        "Sec. 3",
        "a constant factor only affects the speed with which the weights evolve and not their trajectory",
        ROUNDING,
    ),
    ("gradient", "Eq. 6 is the gradient.", "App. B, Eq. 6", "by taking the gradient of the loss", ROUNDING),
    (
        "transposes",
        "Transposes of permutations, quarter turns and the reflection x → -x are in their groups.",
        "Assumption 3",
        "It holds for many common groups, including rotations, permutations, and reflections",
        ROUNDING,
    ),
    ("reynolds", "R absorbs every group element.", "App. B", "Rg = gR = R", ROUNDING),
    (
        "equivariant_loss",
        "The loss of equivariant data is the sum over one sample of each orbit and the group.",
        "Corollary 4.1, Eq. 4",
        "Assumption 5 allows rewriting the loss as",
        ROUNDING,
    ),
    (
        "equivariant_flow",
        "Eq. 5 is the integrated gradient flow on the data set.",
        "Theorem 4.2.1, Eq. 5",
        "Given initial weights W_0 , the weights over time are:",
        INTEGRATED,
    ),
    (
        "commutator",
        "C_G commutes with the group.",
        "App. C",
        "C_G commutes with the group elements",
        ROUNDING,
    ),
    (
        "kernel_commutator",
        "K_G commutes with the group.",
        "App. C",
        "as it commutes with the group elements, exactly like C_G",
        ROUNDING,
    ),
    (
        "components",
        "The named components of 2 x 2 weights are their projection onto what commutes with the swap.",
        "App. E",
        "Note that here the symmetric components of a matrix",
        ROUNDING,
    ),
    (
        "polynomial",
        "The swap acts on (x, y, x², xy, y²) as the permutation (1 2)(3 5).",
        "Example F.1",
        r"is given by $G := \{I_5, (1\ 2)(3\ 5)\}$",
        ROUNDING,
    ),
)


def judge_claims(config: Equations, tables: RunTables) -> list[Claim]:
    """The claims, judged on the tables of a run."""
    table, ranks = tables["equations"], tables["ranks"]
    number = f"The worst of {len(table)} random problems: zero to rounding"
    claims = [
        Claim.at_most(
            statement,
            source,
            float(table[column].max()),
            most,
            quote=quote,
            why=f"{number}{' and the error of integration' if most == INTEGRATED else ''}.",
        )
        for column, statement, source, quote, most in EQUALITIES
    ]
    full, data = ranks["group_rank"] == ranks["features"], ranks["data_rank"] == ranks["features"]
    plain = ranks["rank"] == ranks["features"]
    few = ranks[full & ~plain].sort_values(["samples", "features"], ascending=[True, False])
    words = "none"
    if len(few):
        first = few.iloc[0]
        words = (
            f"{first['samples']} sample under {first['group']}: X^T X has rank {first['rank']}, K_G rank "
            f"{first['group_rank']}"
        )
    return [
        *claims,
        Claim.at_least(
            "K_G is positive semi-definite.",
            "Theorem 3.3.3",
            float(table["least_eigenvalue"].min()),
            -ROUNDING,
            quote="K_G is positive semi-definite (PSD), being a sum of PSD matrices",
            why="Least eigenvalue over the largest, the worst problem.",
        ),
        Claim.from_check(
            "K_G is positive definite where the data span the space.",
            "Sec. 3",
            bool((full | ~data).all()),
            measured=f"{int((full & data).sum())} of {int(data.sum())} problems whose data span the space",
            threshold="all",
            quote="if it spans the entire space then K_G will be PD",
        ),
        Claim.from_check(
            "K_G is positive definite if and only if X^T X is.",
            "Sec. 3",
            bool((full == plain).all()),
            measured=words,
            threshold="no such case",
            quote="As all the group elements g are invertible, K_G is PD iff $X^T X$ is PD",
            reading="X has one sample of each orbit, as K_G is defined with it (Theorem 3.3.1). If X^T X is "
            "definite so is K_G; the converse fails: the images of one sample may span the space.",
        ),
        Claim.from_check(
            "A definite K_G needs as many samples as there are features.",
            "App. F.2",
            bool((ranks["rows"] >= ranks["features"])[full].all()),
            measured=f"at least {(ranks['rows'] - ranks['features'])[full].min():g} more",
            threshold="0 or more",
            quote="requires there to be at least as many samples as there are features",
            reading="Samples of the data set, whole orbits; samples of X may be fewer.",
        ),
    ]
