"""What Sec. 3.5.3 and App. G.2 state of convolutional networks on shifted digits."""

from __future__ import annotations

import pandas as pd

from symscope.runs import Claim, RunTables
from symscope_papers.spectral.conv_shifts.config import ConvShifts
from symscope_papers.spectral.conv_shifts.measure import READOUTS
from symscope_papers.spectral.pairs.angles import at_angles, by_angles
from symscope_papers.spectral.pairs.judged import agreement_measurements, predicts_claim, same_conclusions

SOURCE = "Sec. 3.5.3, App. G.2"
ROUNDING = 1e-12
AGREES = "in good quantitative agreement with the spectral formula"


def judge_claims(config: ConvShifts, tables: RunTables) -> list[Claim]:
    """The stated claims, the same with the NNGP kernel at the number of positions shown, measurements."""
    table = tables["pairs"]
    ntk = table[table["kernel"] == "NTK"]
    shown = table[table["angles"] == config.shown]
    first, other = (_stated_claims(shown[shown["kernel"] == kernel]) for kernel in ("NTK", "NNGP"))
    fc, gap = (ntk[ntk["readout"] == readout] for readout in READOUTS)
    wrong = {n: float((part["exact"] > 1).mean()) for n, part in by_angles(fc).items()}
    means = {n: float(part["exact"].mean()) for n, part in by_angles(fc).items()}
    return [
        *_stated_claims(ntk),
        same_conclusions(first, other, f"shifts, {config.shown} positions"),
        Claim.quantified(
            "Dense read-out: mean error, and share of pairs that are wrong.",
            SOURCE,
            at_angles(means, wrong, form=".2f .2f", between=" and "),
            quote="we do not see good generalization",
        ),
        *agreement_measurements(
            fc, "Dense read-out, shifts", SOURCE, AGREES, predicted="spectral", exact="exact"
        ),
        _dense_difference(fc, "Dense read-out"),
        _dense_difference(gap, "Global pooling"),
    ]


def _stated_claims(table: pd.DataFrame) -> list[Claim]:
    fc, gap = (table[table["readout"] == readout] for readout in READOUTS)
    explained = gap["unseen"] == gap["irreps"] - 1
    lost = gap["zero_frequencies"] >= 2 * gap["angles"] - 2
    return [
        Claim.from_check(
            "With a dense read-out the missing position is not predicted perfectly for any pair.",
            SOURCE,
            float(fc["exact"].abs().min()) > ROUNDING,
            measured=float(fc["exact"].abs().min()),
            threshold="more than rounding",
            quote="Using a fully connected convolutional network, we do not see good generalization, as "
            "predicted "
            "by Prop. 1",
            reading="Prop. 1 rules out the error 0 of an invariant network; how good generalization is, "
            "is measured.",
        ),
        predicts_claim(
            fc,
            "With a dense read-out the spectral error predicts the exact error at every number of positions.",
            SOURCE,
            AGREES,
            predicted="spectral",
            exact="exact",
        ),
        Claim.at_most(
            "With global pooling the error is zero to rounding.",
            SOURCE,
            float(gap["exact"].abs().max()),
            ROUNDING,
            quote="we see perfect generalization of the network on the leave-out class (error is 0 to "
            "numerical "
            "precision)",
            why=f"Largest error of {len(gap)} problems; nothing was added to the diagonal.",
        ),
        Claim.from_check(
            "The kernel matrix of two orbits is constant on each block: only frequency zero is seen.",
            "Sec. 3.5.2",
            bool(explained.all()),
            measured=f"{int(explained.sum())} of {len(gap)} problems",
            threshold="all",
            quote="The kernel matrix computed over a dataset made of two orbits of two different "
            "classes is thus "
            "blockwise-constant in 2x2 blocks, one for each orbit, and by consequence rank-deficient",
            why=f"The result explains: {gap['explanation'].iloc[0]}",
        ),
        Claim.from_check(
            "In Eq. 7 all frequencies but zero and the labels' own vanish, so that its denominator diverges.",
            SOURCE,
            bool((lost & (gap["spectral"] == 0)).all()),
            measured=f"{int(lost.sum())} of {len(gap)} problems",
            threshold="all",
            quote="this perfect generalization is realized by the fact that the denominator of Eq. 7 "
            "diverges",
        ),
    ]


def _dense_difference(part: pd.DataFrame, name: str) -> Claim:
    solved = part[part["dense"].notna()]
    return Claim.beyond(
        f"{name}: largest difference of the exact group form from dense regression of least norm.",
        float((solved["dense"] - solved["exact"]).abs().max()),
        expected="0 to rounding; an NTK's angles of equal windows are known to 2e-8",
        uncertainty=f"over {len(solved)} problems",
    )
