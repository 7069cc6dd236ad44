"""What Fig. 1 claims."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pandas as pd

from symscope.runs import Claim, RunTables
from symscope_papers.spectral.networks.config import Networks

NAMES = {"mlp": "MLP", "conv": "ConvNet", "vit": "ViT"}
SETS = ("train", "in-test", "out-test")
FEW = 8  # angles of Fig. 1B
ENOUGH = 500  # digits of each class: networks that see fewer fit those without learning the others
DECIDING = 100  # left-out points: with fewer, chance moves their accuracy by more than 0.05
FITTED = 0.99  # training accuracy from which later gains would be grokking


def final_accuracy(course: pd.DataFrame) -> pd.DataFrame:
    """Accuracy at the end of training: mean over left-out digits, and its standard error.

    Args:
        course: Rows of the part "figure".

    Returns:
        A row for each network and number of angles; columns NAME and "NAME error" for each of the sets.

    >>> row = {"part": "figure", "network": "mlp", "angles": 8, "epoch": 1}
    >>> digits = [{"left_out": d, "train": 1.0, "in-test": 0.5, "out-test": 0.2 * d} for d in (1, 2)]
    >>> result = final_accuracy(pd.DataFrame([{**row, **digit} for digit in digits]))
    >>> result[["out-test", "out-test error"]].round(4).values.tolist()
    [[0.3, 0.1]]
    """
    figure = course[course["part"] == "figure"]
    last = figure[figure["epoch"] == figure["epoch"].max()]
    groups = last.groupby(["network", "angles"], sort=False)[list(SETS)]
    means, errors = groups.mean(), groups.sem().fillna(0.0).add_suffix(" error")
    return means.join(errors).reset_index().sort_values(["network", "angles"])


def judge_claims(config: Networks, tables: RunTables) -> list[Claim]:
    """The claims of Fig. 1B and 1C, network by network, and that very long training changes nothing."""
    course = tables["course"]
    final = final_accuracy(course)
    claims = []
    for network, name in NAMES.items():
        own = final[final["network"] == network].sort_values("angles")
        claims += _few_angles(name, own[own["angles"] == FEW], len(own) > 0, config.images)
        claims.append(_rise(name, own))
    return [*claims, *(_late(config, course, network) for network in NAMES)]


def _few_angles(name: str, row: pd.DataFrame, trained: bool, images: int | None) -> list[Claim]:
    follows = f"{name}: with {FEW} angles, in-test accuracy follows training accuracy."
    lower = f"{name}: with {FEW} angles, accuracy on left-out upright digits is far lower."
    if row.empty:
        why = f"needs {FEW} angles" if trained else f"this size does not train the {name}"
        return [Claim.not_checked(follows, "Fig. 1B", why), Claim.not_checked(lower, "Fig. 1B", why)]
    [one] = row.to_dict("records")
    words = ", ".join(f"{kind} {one[kind]:.3f} ± {one[f'{kind} error']:.3f}" for kind in SETS)
    tracking = Claim.at_most(
        follows,
        "Fig. 1B",
        abs(one["train"] - one["in-test"]),
        0.05,
        why=f"Difference of the two; threshold is ours. Mean and standard error over digits: {words}.",
    )
    if images is not None and images < ENOUGH:
        why = (
            f"needs {ENOUGH} digits of each class or more, a limit set after results had been seen; here "
            f"{images}: {words}"
        )
        tracking = Claim.not_checked(follows, "Fig. 1B", why)
    return [
        tracking,
        Claim.at_least(
            lower,
            "Fig. 1B",
            one["in-test"] - one["out-test"],
            0.2,
            why="In-test less out-test accuracy; threshold is ours.",
        ),
    ]


def _rise(name: str, own: pd.DataFrame) -> Claim:
    statement = f"{name}: more angles make left-out upright digits recognisable."
    if len(own) < 2:
        return Claim.not_checked(
            statement, "Fig. 1C", f"this size does not train the {name} at two numbers of angles"
        )
    rising = own["out-test"].tolist()
    drop = max(a - b for a, b in pairwise(rising))
    return Claim.at_least(
        statement,
        "Fig. 1C",
        rising[-1] - rising[0],
        0.3,
        why=f"Rise of out-test accuracy from {own['angles'].iloc[0]} to {own['angles'].iloc[-1]} angles "
        f"({_listed(rising)}); threshold is ours. "
        + (f"It falls by {drop:.3f} once on the way." if drop > 0 else "It never falls on the way."),
    )


def _late(config: Networks, course: pd.DataFrame, network: str) -> Claim:
    statement = f"{NAMES[network]}: very long training does not help (no grokking)."
    own = course[(course["part"] == "long") & (course["network"] == network)]
    if own.empty:
        return Claim.not_checked(
            statement, "Sec. 2", f"this size does not train the {NAMES[network]} for long"
        )
    means = own.groupby("epoch")[list(SETS)].mean()
    fitted = means[(means.index >= config.epochs) & (means["train"] >= FITTED)]
    if fitted.empty:
        why = f"training accuracy reaches {means['train'].max():.3f}, not {FITTED}: grokking comes after that"
        return Claim.not_checked(statement, "Sec. 2", why)
    usual, late = fitted.iloc[0], means.iloc[-max(1, len(means) // 10) :].mean()
    words = (
        f"Gain of out-test accuracy from epoch {usual.name}, where training points are fitted "
        f"({usual['out-test']:.3f}), to the last tenth of {means.index.max()} ({late['out-test']:.3f}), "
        f"{config.long_angles} angles; where the count starts was settled after results had been seen"
    )
    points = None if config.long_images is None else config.long_images * own["left_out"].nunique()
    if points is not None and points < DECIDING:
        why = f"{points} left-out points are too few, {DECIDING} are needed. {words}"
        return Claim.not_checked(statement, "Sec. 2", why)
    gain = float(late["out-test"] - usual["out-test"])
    return Claim.at_most(statement, "Sec. 2", gain, 0.05, why=f"{words}; threshold is ours.")


def _listed(values: Sequence[float]) -> str:
    return ", ".join(f"{value:.2f}" for value in values)
