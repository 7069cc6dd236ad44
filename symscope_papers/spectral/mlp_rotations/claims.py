"""What Sec. 3.3, App. D and E state of wide networks on pairs of rotated digits."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from symscope.runs import Claim, RunTables, Verdict
from symscope_papers.spectral.mlp_rotations.config import MlpRotations
from symscope_papers.spectral.pairs.angles import at_angles, by_angles, correlations, distances
from symscope_papers.spectral.pairs.judged import (
    agreement_measurements,
    falls_claim,
    line_claim,
    predicts_claim,
    same_conclusions,
    skill,
)

ROUNDING = 1e-12  # of entries of a kernel matrix, relative to the largest
EXACT_ANGLES = (2, 4)  # rotations that move pixels and interpolate nothing


def judge_claims(config: MlpRotations, tables: RunTables) -> list[Claim]:
    """The claims for every depth with the NTK; those with the NNGP kernel compared; the exact group form."""
    table = tables["pairs"]
    result: list[Claim] = []
    for hidden in config.hidden:
        mine = table[table["hidden"] == hidden]
        ntk, nngp = (mine[mine["kernel"] == kernel] for kernel in ("NTK", "NNGP"))
        layers = layers_text(hidden)
        if hidden == config.hidden[0]:
            result += [*_assumption_claims(ntk, config.shown), *_interleaving_claims(ntk, config.shown)]
        claims = _stated_claims(ntk, hidden, config.shown)
        result += claims
        result.append(same_conclusions(claims, _stated_claims(nngp, hidden, config.shown), layers))
        result += agreement_measurements(
            ntk,
            f"Spectral and symmetrised NTK error ({layers})",
            _source(hidden),
            "the spectral error tracks the symmetrized NTK error across all sampled pairs",
            predicted="spectral",
            exact="exact",
        )
        result += [*_relations(ntk, layers), *_closeness(ntk, layers)]
    return [_with_ridges(claim, config) for claim in result]


def _with_ridges(claim: Claim, config: MlpRotations) -> Claim:
    """The claim, which says, where it does not hold, that both errors have ridges of their own."""
    if claim.verdict is not Verdict.CONTRADICTED or config.spectral_ridge == config.relative_ridge:
        return claim
    words = (
        f"A ridge of {config.spectral_ridge:g} of the trace is in the spectral error and one of "
        f"{config.relative_ridge:g} in regression; compare preset paper, without any."
    )
    return replace(claim, why=f"{claim.why.rstrip('.')}. {words}" if claim.why else words)


def _source(hidden: int) -> str:
    return "Sec. 3.3, Fig. 4B, App. D" if hidden == 1 else "Sec. 3.3, App. E, Fig. 10"


def _assumption_claims(ntk: pd.DataFrame, shown: int) -> list[Claim]:
    """Assumption 1 where rotations are exact, and how far it is off where they are not; Eq. 12."""
    gaps = {n: float(part["orbit_gap"].max()) for n, part in by_angles(ntk).items()}
    exact = {n: gap for n, gap in gaps.items() if n in EXACT_ANGLES}
    rest = {n: gap for n, gap in gaps.items() if n not in EXACT_ANGLES}
    circulant = "Over a single orbit the kernel matrix of an MLP is circulant."
    quote = (
        "the kernel matrix corresponding to the kernel function induced by the MLP on a single "
        "class is circulant"
    )
    source = "Sec. 3.3, assumption 1"
    if exact:
        first = Claim.at_most(
            circulant,
            source,
            max(exact.values()),
            ROUNDING,
            quote=quote,
            reading="To rounding, where rotations permute pixels (2 and 4 angles): the paper grants "
            "\u201cpixel discretization effects\u201d elsewhere.",
            why="Largest distance from circulant, relative to the largest entry.",
        )
    else:
        first = Claim.not_checked(circulant, source, "needs 2 or 4 angles", quote=quote)
    return [
        first,
        Claim.quantified(
            "How far the same matrix is from circulant where rotations interpolate.",
            source,
            at_angles(rest, form=".2g") if rest else "no such number of angles",
            quote="up to pixel discretization effects",
            why="Largest distance over pairs, relative to the largest entry.",
        ),
        Claim.at_most(
            "The diagonal of the kernel matrix of two orbits is constant.",
            "Sec. 3.3, footnote 3",
            float(ntk["diagonal_spread"].max()),
            ROUNDING,
            quote="is constant in virtue of the fact that we normalize each data point to be on the sphere",
            reading="To rounding.",
        ),
        Claim.from_check(
            "Over two orbits the kernel matrix is not circulant.",
            "Sec. 3.3, assumption 2",
            float(ntk["circularised"].min()) > ROUNDING,
            measured=float(ntk[ntk["angles"] == shown]["circularised"].median()),
            threshold="more than rounding for every pair",
            quote="NTK matrix is in general not circulant",
            why=f"Median of |K - circulant K| / |K| at {shown} angles.",
        ),
        Claim.not_testable(
            "The circularised matrix is a realistic approximation.",
            "Sec. 3.3, assumption 2",
            "No criterion is given; how near errors and conclusions come is judged below.",
            quote="we empirically show that it is a realistic approximation",
        ),
    ]


def _unequal(statement: str, equation: str, differences: pd.Series, shown: int, quote: str) -> Claim:
    return Claim.from_check(
        statement,
        f"Sec. 3.3, {equation}",
        float(differences.abs().min()) > ROUNDING,
        measured=float(differences.abs().median()),
        threshold="differ by more than rounding for every pair",
        quote=quote,
        why=f"Median difference of the two scalar products, {shown} angles.",
    )


def _interleaving_claims(ntk: pd.DataFrame, shown: int) -> list[Claim]:
    """Eq. 10 and 11, and the range of angular distances."""
    part = ntk[ntk["angles"] == shown]
    across, own = part["across_left"] - part["across_right"], part["neighbours_a"] - part["neighbours_b"]
    near = 1 - pd.concat([part["neighbours_a"], part["neighbours_b"]])
    return [
        _unequal(
            "A point of one orbit is not equally far from its two neighbours on the other.",
            "Eq. 10",
            across,
            shown,
            "are in general not geometrically interleaved",
        ),
        _unequal(
            "Neighbours on the two orbits are not equally far apart.",
            "Eq. 11",
            own,
            shown,
            "the angular distance between first neighbors in each orbit is not necessarily the same",
        ),
        Claim.from_check(
            "The angular distance of neighbours on an orbit is between 0 and 1.",
            "Sec. 3.3, assumption 2",
            bool(near.between(0, 1).all()),
            measured=f"{near.min():.3g} to {near.max():.3g}",
            threshold="from 0 to 1",
            quote="The angular distance between first neighbors on a same orbit thus sits between 0 and 1",
            reading="One minus the scalar product: 0 for equal and 1 for orthogonal images, as in the text.",
        ),
        Claim.from_check(
            "Some digits are nearer to an upright digit of another class than to themselves turned by one "
            f"step ({shown} angles).",
            "Sec. 4",
            bool((part["across_left"] > part["neighbours_a"]).any()),
            measured=f"{(part['across_left'] > part['neighbours_a']).mean():.0%} of {len(part)} pairs",
            threshold="more than none",
            quote="they may even be closer to a different digit class altogether",
        ),
    ]


def _stated_claims(part: pd.DataFrame, hidden: int, shown: int) -> list[Claim]:
    """What is stated of errors and spectra, of one kernel."""
    layers, source = layers_text(hidden), _source(hidden)
    one = part[part["angles"] == shown]
    return [
        predicts_claim(
            part,
            f"The spectral error tracks the symmetrised error at every number of angles ({layers}).",
            source,
            "the spectral error tracks the symmetrized NTK error across all sampled pairs"
            if hidden == 1
            else "this agreement qualitatively holds for finite-width, trained networks (Fig. 5B and "
            "App. E), "
            "as well as for deeper MLPs",
            predicted="spectral",
            exact="exact",
        ),
        _whole_range(one, layers, shown),
        line_claim(
            one.assign(distance=one["separation"].pow(0.5)),
            f"λ_N is linear in the distance between orbit averages ({layers}, {shown} angles).",
            "Sec. 3.3, Fig. 4D",
            "the euclidean distance between orbit averages in input space are, for the explored ranges, "
            "in an "
            "approximate linear relationship",
            one="distance",
            other="lambda_n",
        ),
        line_claim(
            one,
            f"The mean inverse spectrum is linear in orbit density ({layers}, {shown} angles).",
            "Sec. 3.3, Fig. 4E",
            "We see that these two quantities are in an approximately linear relation",
            one="density",
            other="mean_inverse",
        ),
        Claim.from_check(
            f"Pairs whose orbits are further apart have smaller errors ({layers}, {shown} angles).",
            "Sec. 3.3",
            float(one["separation"].corr(one["exact"], method="spearman")) < 0,
            measured=float(one["separation"].corr(one["exact"], method="spearman")),
            threshold="rank correlation < 0",
            quote="the separation between the orbits is a key indicator of prediction error",
        ),
        falls_claim(
            part, "exact", f"The error at the missing image falls with the number of angles ({layers})."
        ),
    ]


def _whole_range(one: pd.DataFrame, layers: str, shown: int) -> Claim:
    """Fig. 4C: the two errors agree wherever numerator and denominator of Eq. 7 lie."""
    one = one.assign(numerator=1 / one["lambda_n"])
    names = ("lowest", "middle", "highest")
    skills = {}
    for column, words in (("numerator", "1/λ_N"), ("mean_inverse", "mean 1/λ")):
        thirds = pd.qcut(one[column].rank(method="first"), 3, labels=names)
        for name in names:
            skills[f"{name} third of {words}"] = skill(one[thirds == name], "spectral", "exact")
    return Claim.from_check(
        f"The errors agree over the whole range of 1/λ_N and of the mean of 1/λ ({layers}, {shown} angles).",
        "Sec. 3.3, Fig. 4C",
        min(skills.values()) > 0,
        measured=min(skills.values()),
        threshold="skill > 0 in every third",
        quote="This agreement holds across the whole range of explored values",
        reading="In the lowest, middle and highest third of pairs in each quantity the spectral error "
        "predicts the "
        "exact one better than their mean does.",
        why=", ".join(f"{value:.3f} in the {name}" for name, value in skills.items()) + ".",
    )


def _relations(ntk: pd.DataFrame, layers: str) -> list[Claim]:
    """How linear the two relations of Fig. 4D and 4E are, at every number of angles."""
    cases = (
        ("λ_N and squared distance of orbit averages", "lambda_n", "separation", "Fig. 4D"),
        ("Mean inverse spectrum and orbit density", "mean_inverse", "density", "Fig. 4E"),
    )
    return [
        Claim.quantified(
            f"{words}: Pearson's r, and the share of the variance a line leaves ({layers}).",
            f"Sec. 3.3, {figure}",
            at_angles(r, {n: 1 - value**2 for n, value in r.items()}, form=".2f .3f", between=", leaving "),
            quote="We see that these two quantities are in an approximately linear relation"
            if other == "density"
            else "approximate linear relationship",
            uncertainty=f"over {ntk['pair'].nunique()} pairs",
        )
        for words, one, other, figure in cases
        for r in [correlations(ntk, one, other)]
    ]


def _closeness(ntk: pd.DataFrame, layers: str) -> list[Claim]:
    """How near the exact group form is, to the error with the upright image missing and to its mean."""
    result = []
    for column, words in (
        ("mean_exact", "averaged over the missing angle"),
        ("exact", "upright image missing"),
    ):
        near, far = distances(ntk, "projected", column), distances(ntk, "spectral", column)
        result.append(
            Claim.beyond(
                "Mean distance of the group-projected error, and of the spectral error, from the exact "
                "error "
                f"({words}, {layers}).",
                at_angles(near, far, form=".2g", between=" against "),
                expected="0 to rounding at 2 and 4 angles for the group form, where rotations are exact",
            )
        )
    return result


def layers_text(hidden: int) -> str:
    """How many hidden layers, in words."""
    return "1 hidden layer" if hidden == 1 else f"{hidden} hidden layers"
