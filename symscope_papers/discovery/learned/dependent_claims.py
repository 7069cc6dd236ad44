"""Claims of `discovery/sigmoid`, `discovery/tanh-deep` and `discovery/skip`: fields that depend on data."""

from __future__ import annotations

from symscope.runs import Claim, RunTables
from symscope_papers.discovery.learned.claims import OURS, drift_claims, part
from symscope_papers.discovery.learned.config import LearnedRun

DEPENDENT = 0.1  # ours: a tenth of where theta goes depends on the data point
PRESENT = 0.1  # ours: share of a field's square that counts as acting on a layer


def _dependence_claims(config: LearnedRun, tables: RunTables, source: str) -> list[Claim]:
    claims = drift_claims(tables, source, "Learned data-dependent fields")
    for objective in config.objectives:
        rows = part(tables["fields"], objective)
        claims.append(
            Claim.at_least(
                f"The fields depend on the data point ({objective} objective).",
                source,
                float(rows["data_dependence"].median()),
                DEPENDENT,
                why="Share of the way theta goes that changes with the data point, median over fields. Near "
                f"0 the action has found directions in which the loss is merely flat. {OURS}",
            )
        )
    rows = part(tables["fields"], "scale-free") if "scale-free" in config.objectives else tables["fields"]
    claims.append(
        Claim.from_check(
            "They hold for the data point they saw only: another one's loss changes more.",
            "Prop. 4.4",
            bool((rows["other_data_drift"] > 2 * rows["derivative"] * 0.1).mean() > 0.5),
            measured=f"drift {rows['other_data_drift'].median():.3g} after a tenth of the norm",
            threshold="more than twice what the seen one's slope allows, for most fields",
            why="With one data point the loss is one number, so n - 1 directions of n keep it everywhere: "
            f"such fields always exist. They are no symmetries of larger batches. {OURS}",
        )
    )
    return claims


def sigmoid_claims(config: LearnedRun, tables: RunTables) -> list[Claim]:
    return _dependence_claims(config, tables, "Fig. 3")


def deep_claims(config: LearnedRun, tables: RunTables) -> list[Claim]:
    claims = _dependence_claims(config, tables, "Fig. 4")
    rows = part(tables["fields"], "scale-free")
    apart = (rows["share_W2"] < PRESENT) & (rows["share_W1"] > PRESENT) & (rows["share_W3"] > PRESENT)
    shares = ", ".join(f"W{k} {rows[f'share_W{k}'].median():.0%}" for k in (1, 2, 3))
    claims.append(
        Claim.from_check(
            "Left to itself, some learned field acts on layers 1 and 3 and leaves layer 2 alone.",
            "Fig. 4",
            bool(apart.any()),
            measured=f"{int(apart.sum())} of {len(rows)} fields; median shares of the motion: {shares}",
            threshold="one field with less than 10 % of its square in W2, more in W1 and in W3",
            why="The paper reads this off the matrices h, which an action network may read in any basis; "
            f"here it is measured on the field. {OURS}",
        )
    )
    if "without W2" in config.actions:
        forced = part(tables["fields"], "scale-free", "without W2")
        both = (
            (forced["share_W1"] > PRESENT) & (forced["share_W3"] > PRESENT) & (forced["drift_ratio"] <= 0.1)
        )
        claims.append(
            Claim.from_check(
                "An action that cannot touch W2 finds fields that move layers 1 and 3 together.",
                "Fig. 4",
                bool(both.any()),
                measured=f"{int(both.sum())} of {len(forced)} fields; W1 {forced['share_W1'].median():.0%}, "
                f"W3 {forced['share_W3'].median():.0%} of the motion; drift "
                f"{forced['drift_ratio'].median():.2g} of a random field's",
                threshold="one field with more than 10 % in W1 and in W3, and a tenth of the drift",
                why="Moving W1 across the input, W1 + u v^T with v x = 0, keeps the output of one data point "
                "exactly: the easiest field needs one layer only. Asked after first runs; the paper "
                f"trains no such action. {OURS}",
            )
        )
    return claims


def skip_claims(config: LearnedRun, tables: RunTables) -> list[Claim]:
    return _dependence_claims(config, tables, "Sec. 5.4")
