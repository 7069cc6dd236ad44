"""Claims of `discovery/objectives`."""

from __future__ import annotations

from symscope.runs import Claim, RunTables
from symscope_papers.discovery.objectives.config import Objectives


def judge_claims(config: Objectives, tables: RunTables) -> list[Claim]:
    """The claims, judged on the tables of a run."""
    defects, forms = tables["defects"], tables["forms"].set_index("what")
    cost = dict(zip(tables["forms"]["what"], tables["forms"]["seconds_per_step"].astype(float), strict=True))
    true = defects[defects["what"].isin(["gθ", "projective"])]
    wrong = defects[~defects["what"].isin(["gθ", "projective"])]
    cosines = tables["orthogonality"].groupby("what")["cosine"]
    fast, slow = cost["infinitesimal"], cost["integrated"]
    return [
        Claim.at_most(
            "The bracket condition vanishes on true actions.",
            "App. A.2",
            float(true["bracket"].max()),
            1e-10,
            why="Relative to the second-order term, worst of all draws.",
        ),
        Claim.at_least(
            "It sees a map that is no left action.", "App. A.2", float(wrong["bracket"].min()), 0.01
        ),
        Claim.at_least(
            "Eq. 7 does not vanish on true actions.",
            "Eq. 7",
            float(true["eq7"].median()),
            0.1,
            why="A finding against the paper, restated as one after the first run: its derivation drops "
            "second-order terms of one side, so it asks true actions to be something else. Median over "
            "draws, relative. The threshold is ours.",
        ),
        Claim.at_most(
            "The integrated axiom vanishes on true actions.",
            "App. A.3",
            float(true["integrated"].max()),
            1e-10,
        ),
        Claim.from_check(
            "The infinitesimal form is cheaper than the one with exponentials.",
            "Sec. 3.2, App. A.3",
            fast < slow,
            measured=f"{1e3 * fast:.1f} ms of processor time a step against {1e3 * slow:.1f} ms",
            threshold="less",
            why="A network of 4 parameters; one exponential for each generator and step. The integrated form "
            "evaluates its loss in every step, the infinitesimal one knows the gradients beforehand.",
        ),
        Claim.at_most(
            "Both forms learn fields that keep held-out losses far stiller than random fields do.",
            "App. A.3",
            float(forms["drift_ratio"].max()),
            0.1,
            why=", ".join(
                f"{name}: drift {row['drift_ratio']:.3g} of a random field's, length {row['length']:.2g}"
                for name, row in forms.iterrows()
            )
            + ". The threshold is ours.",
        ),
        Claim.at_least(
            "Eq. 9 as written, with signs, makes two generators opposite instead of orthogonal.",
            "Eq. 9",
            float(cosines.get_group("signed").abs().median()),
            0.9,
            why="A finding against the paper, restated as one after the first run: a signed cosine is lowest "
            "at -1, where both span one direction. The threshold is ours. Median "
            f"over seeds; the squared cosine ends at {cosines.get_group('squared').abs().median():.2g}.",
        ),
    ]
