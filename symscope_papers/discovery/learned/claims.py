"""Claims shared by the learned experiments."""

from __future__ import annotations

import pandas as pd

from symscope.runs import Claim, RunTables

FAR_BELOW = 0.1  # ours: the paper says that losses keep still, not how still
OURS = "The threshold is ours, set after trial runs: the paper names none."


def part(table: pd.DataFrame, objective: str, action: str = "network") -> pd.DataFrame:
    """Rows of one objective and one action."""
    return table[(table["objective"] == objective) & (table["action"] == action)]


def drift_claims(tables: RunTables, source: str, what: str) -> list[Claim]:
    """Held-out drift against random fields, for each objective and action."""
    claims = []
    for (objective, action), rows in tables["fields"].groupby(["objective", "action"], sort=False):
        how = {"network": "action network", "linear": "action gθ"}.get(str(action), f"action {action}")
        good = int((rows["judgement"] == "SYMMETRY").sum())
        claims.append(
            Claim.at_most(
                f"{what} keep held-out losses far stiller than random ones do ({objective} objective, "
                f"{how}).",
                source,
                float(rows["drift_ratio"].median()),
                FAR_BELOW,
                why=f"Median over {len(rows)} fields of the worst loss drift over that of random fields of "
                f"the same length; {good} of {len(rows)} stay within the tolerance at all held-out points. "
                f"{OURS}",
            )
        )
    return claims


def length_claim(tables: RunTables, source: str) -> Claim:
    """Eq. 8 asks for fields of length 1; with Eq. 5 a shorter field is a better one."""
    rows = part(tables["fields"], "paper")
    return Claim.at_most(
        "With the paper's weights the fields keep the length beta = 1 that Eq. 8 asks for, within a half.",
        source,
        abs(float(rows["length"].median()) - 1),
        0.5,
        why=f"Median length {rows['length'].median():.3g}. Eq. 5 falls when a field shrinks, so weights "
        f"decide whether it turns or shrinks. {OURS}",
    )
