"""Claims of `discovery/objectives`."""

from __future__ import annotations

from symscope.runs import Claim, RunTables
from symscope_papers.discovery.objectives.config import Objectives

ROUNDING = 1e-10  # relative, of second derivatives and products of a few small matrices
TRUE_ACTIONS = ("gθ", "projective")


def judge_claims(config: Objectives, tables: RunTables) -> list[Claim]:
    """The claims, judged on the tables of a run."""
    defects = tables["defects"]
    here = defects["what"].isin(TRUE_ACTIONS)
    true, wrong = defects[here], defects[~here]
    cosines = tables["orthogonality"].groupby("what")["cosine"]
    signed = cosines.get_group("signed")
    return [
        Claim.at_most(
            "Eq. 7 is zero on true group actions.",
            "Eq. 7, App. A.2",
            float(true["eq7"].median()),
            ROUNDING,
            quote="This loss enforces that the commutator of the infinitesimal actions matches the Lie "
            "bracket of the Lie algebra",
            reading="The product of the two derivatives is read as the derivative of one field along the "
            "other, the second-order term of the action.",
            why="Over the second-order term, median over draws. The derivation drops the second-order terms "
            f"of one side. The commutator of fields itself, which is compared with the bracket's field, is "
            f"{float(true['bracket'].max()):.1e} at most.",
        ),
        Claim.at_most(
            "The product of two group elements to second order is I + ε(h1 + h2) + ε²[h1, h2]/2.",
            "App. A.2",
            float(true["expansion"].median()),
            ROUNDING,
            quote="Expand the group multiplication to second order in ε using the Baker-Campbell-Hausdorff "
            "(BCH) formula",
            why="Difference of the second-order terms over the true one, (h1² + h2²)/2 + h2 h1, median over "
            "draws: the formula is that of the logarithm, with the other sign.",
        ),
        Claim.at_most(
            "The objective with exponentials is zero on true group actions.",
            "App. A.3",
            float(true["integrated"].max()),
            ROUNDING,
            quote="this objective also directly enforces the necessary group structures",
            reading="The index exp(h1) X of the first term is read as X: the group does not act on data.",
            why="Worst of all draws.",
        ),
        _cost_claim(tables),
        Claim.at_least(
            "Eq. 9 is least where generators are orthogonal, so that its trained value is not below 0.",
            "Eq. 9",
            float(signed.median()),
            0.0,
            quote="we want them to be orthogonal",
            why="Median cosine of two generators after training with Eq. 9 as written: it is lowest at -1, "
            "where both span one direction. With squared cosines it ends at "
            f"{cosines.get_group('squared').abs().median():.2g}.",
        ),
        Claim.beyond(
            "Commutator of the fields of a true action minus the field of the bracket.",
            float(true["bracket"].max()),
            expected="0 to rounding",
            why="Over the second-order term, worst of all draws: what this package learns with.",
        ),
        Claim.beyond(
            "The same of a map that is no left action.",
            float(wrong["bracket"].min()),
            expected="not 0",
            why="Least of all draws.",
        ),
        *[
            Claim.beyond(
                f"Held-out loss drift of fields learned with the {row['what']} form, over a random field's.",
                float(row["drift_ratio"]),
                why=f"Worst of two fields; their length is {float(row['length']):.2g}, 1 is asked for.",
            )
            for _, row in tables["forms"].iterrows()
        ],
    ]


def _cost_claim(tables: RunTables) -> Claim:
    forms = tables["forms"]
    cost = dict(zip(forms["what"], forms["seconds_per_step"].astype(float), strict=True))
    fast, slow = cost["infinitesimal"], cost["integrated"]
    return Claim.from_check(
        "A step of the infinitesimal form is cheaper than one with exponentials.",
        "Sec. 3.2, App. A.3",
        fast < slow,
        measured=f"{1e3 * fast:.1f} ms of processor time a step against {1e3 * slow:.1f} ms",
        threshold="less",
        quote="We adopt the infinitesimal formulation to avoid the computational overhead of evaluating "
        "exponential maps.",
        why="A network of 4 parameters; one exponential for each generator and step. The integrated form "
        "evaluates its loss in every step, the infinitesimal one knows the gradients beforehand.",
    )
