"""Turns of objects against turns of images: beyond the paper, which leaves the former open (Sec. 4)."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from symscope.runs import Claim, RunTables
from symscope_papers.spectral.latent.config import NETWORKS, Latent
from symscope_papers.spectral.latent.measure import WIDE
from symscope_papers.spectral.latent.objects import KINDS

METHODS = {**WIDE, **NETWORKS}
RATIO = "mean over numbers of objects; standard error over sets of objects"
EXPECTED = "1 or more by Sec. 4, where networks are not expected to learn latent symmetries"


def judge_claims(config: Latent, tables: RunTables) -> list[Claim]:
    """Errors about every axis, how they compare, and what is lost where the group does not act on images."""
    errors, kernels = tables["errors"], tables["kernels"]
    claims = []
    for kind in config.kinds:
        mine, of_kind = errors[errors["kind"] == kind], kernels[kernels["kind"] == kind]
        wide = of_kind[of_kind["varied"] == "objects"]
        for by in (*WIDE, *config.networks):
            claims.append(_errors(mine[mine["by"] == by], kind, by))
            if by != "averaged":  # whose error for turns of the image is 0 by construction
                claims.append(_ratios(mine[mine["by"] == by], kind, by))
        for by in ("wide-mlp", "wide-cnn"):
            denser = of_kind[(of_kind["varied"] == "poses") & (of_kind["by"] == by)]
            claims += [_equal_steps(denser, kind, by), _group_form(wide[wide["by"] == by], kind, by)]
        claims.append(_geometry(wide[wide["by"] == "wide-mlp"], kind))
    return claims


def axis_name(tilt: int) -> str:
    """What a page calls an axis.

    >>> axis_name(0), axis_name(45), axis_name(90)
    ('image turned', 'axis tilted by 45°', 'vertical axis')
    """
    return {0: "image turned", 90: "vertical axis"}.get(tilt, f"axis tilted by {tilt}°")


def by_tilt(table: pd.DataFrame) -> dict[int, pd.DataFrame]:
    """The part of a table for each axis, ascending.

    >>> {tilt: len(part) for tilt, part in by_tilt(pd.DataFrame({"tilt": [90, 0, 90]})).items()}
    {0: 1, 90: 2}
    """
    return {tilt: table[table["tilt"] == tilt] for tilt in sorted(table["tilt"].unique().tolist())}


def mean_and_error(values: pd.Series) -> tuple[float, float]:
    """Mean over sets of objects and its standard error.

    >>> mean_and_error(pd.Series([1.0, 3.0]))
    (2.0, 1.0)
    """
    return float(values.mean()), float(values.std()) / math.sqrt(len(values))


def ratio_and_error(above: pd.Series, below: pd.Series) -> tuple[float, float]:
    """Ratio of two means over sets of objects, with its jackknife standard error.

    >>> ratio_and_error(pd.Series([1.0, 2.0, 3.0]), pd.Series([2.0, 4.0, 6.0]))
    (0.5, 0.0)
    """
    n = len(above)
    without = [float(above.drop(one).sum() / below.drop(one).sum()) for one in above.index]
    middle = sum(without) / n
    spread = math.sqrt((n - 1) / n * sum((value - middle) ** 2 for value in without))
    return float(above.sum() / below.sum()), spread


def _subject(kind: str, by: str) -> str:
    return f"{KINDS[kind].capitalize()}, {METHODS[by]}"


def _errors(part: pd.DataFrame, kind: str, by: str) -> Claim:
    few, many = part["objects"].min(), part["objects"].max()
    words, shares = [], []
    for tilt, own in by_tilt(part).items():
        ends = (mean_and_error(own[own["objects"] == count]["error"]) for count in (few, many))
        between = " to ".join(f"{mean:.2f} ± {error:.2f}" for mean, error in ends)
        words.append(f"{between} ({axis_name(tilt)})")
        shares.append(f"{own[own['objects'] == many]['accuracy'].mean():.2f} ({axis_name(tilt)})")
    return Claim.beyond(
        f"{_subject(kind, by)}: mean error at the unseen pose, with {few} to {many} objects.",
        ", ".join(words),
        expected="0 for turns of the image, but for the pixel grid" if by == "averaged" else "",
        uncertainty=f"± one standard error over {part['trial'].nunique()} sets of objects",
        why=f"Held-out accuracy with {many} objects: {', '.join(shares)}.",
    )


def _ratios(part: pd.DataFrame, kind: str, by: str) -> Claim:
    """Errors about other axes over those for turns of the image, of the same objects."""
    means = part.pivot_table(index="trial", columns="tilt", values="error")
    words = [
        "{:.2f} ± {:.2f}".format(*ratio_and_error(means[tilt], means[0])) + f" ({axis_name(tilt)})"
        for tilt in by_tilt(part)
        if tilt
    ]
    return Claim.beyond(
        f"{_subject(kind, by)}: error for turns of the object, relative to turns of the image by the same "
        "angles.",
        ", ".join(words),
        expected=EXPECTED,
        uncertainty=RATIO,
    )


def _equal_steps(part: pd.DataFrame, kind: str, by: str) -> Claim:
    """Errors about other axes where images are as near each other as for turns of the image, set by set."""
    counts = sorted(part["poses"].unique().tolist())
    densest = counts[-1]
    curves = {
        tilt: {trial: one.sort_values("step") for trial, one in own.groupby("trial")}
        for tilt, own in by_tilt(part).items()
    }
    words = []
    for tilt in [tilt for tilt in curves if tilt]:
        pairs = []
        for trial, own in curves[tilt].items():
            image = curves[0][trial].set_index("poses").loc[densest]
            pairs.append(
                (np.interp(image["step"], own["step"], own["error"], np.nan, np.nan), image["error"])
            )
        both = pd.DataFrame(pairs, columns=["turned", "image"], dtype=float).dropna()
        ratio = (
            "{:.2f} ± {:.2f}".format(*ratio_and_error(both["turned"], both["image"]))
            if len(both) > 1
            else "none"
        )
        words.append(f"{ratio} ({axis_name(tilt)})")
    return Claim.beyond(
        f"{_subject(kind, by)}: error for turns of the object, relative to {densest} turns of the image, at "
        "as many poses as bring neighbouring images as near each other.",
        ", ".join(words),
        expected="1 if only distances between neighbouring images counted",
        uncertainty=f"standard error over sets of {part['objects'].iloc[0]} objects; interpolated between "
        f"{', '.join(str(count) for count in counts)} poses, none where these do not reach",
    )


def _group_form(part: pd.DataFrame, kind: str, by: str) -> Claim:
    """The cost of a group that does not act on images: dense over group form, at equal mean similarities."""
    words = []
    for tilt, own in by_tilt(part).items():
        means = own.groupby("trial")[["error", "group_form", "invariance_error"]].mean()
        ratio, error = ratio_and_error(means["error"], means["group_form"])
        words.append(
            f"{ratio:.3f} ± {error:.3f} ({axis_name(tilt)}, invariance error "
            f"{100 * means['invariance_error'].mean():.2g} %)"
        )
    return Claim.beyond(
        f"{_subject(kind, by)}: error of dense regression over that of the group form, which makes the "
        "kernel invariant and keeps mean similarities between poses.",
        ", ".join(words),
        expected="1 for turns of the image, but for the pixel grid",
        uncertainty=RATIO,
    )


def _geometry(part: pd.DataFrame, kind: str) -> Claim:
    largest = part[part["objects"] == part["objects"].max()]
    return Claim.beyond(
        f"{KINDS[kind].capitalize()}: distance from an image to that at the next pose; distance between "
        "means of orbits.",
        ", ".join(
            f"{own['step'].mean():.2f}; {own['separation'].mean():.2f} ({axis_name(tilt)})"
            for tilt, own in by_tilt(largest).items()
        ),
        uncertainty="in units of an image's norm",
        why="Regression predicts an unseen pose well where orbits are dense and far apart (Sec. 3.2).",
    )
