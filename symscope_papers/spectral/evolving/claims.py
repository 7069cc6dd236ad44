"""Claims of `spectral/evolving`: nothing the paper states has a number, so everything is a measurement."""

from __future__ import annotations

import pandas as pd

from symscope.runs import Claim, RunTables
from symscope_papers.spectral.evolving.config import Evolving
from symscope_papers.spectral.networks.claims import NAMES

FROZEN = (
    "networks cannot learn symmetries because their kernel is defined by their architecture, and cannot "
    "adapt to the symmetries of a given dataset"
)
RAPID = (
    "the kernel of finite-width networks changes rapidly during the first few epochs of training to a more "
    "favourable kernel for the task"
)


def judge_claims(config: Evolving, tables: RunTables) -> list[Claim]:
    """How the kernel changes, whether it then generalises to what was not seen, and where orbits lie."""
    claims = []
    for (network, angles), part in tables["evolving"].groupby(["network", "angles"], sort=False):
        name = f"{NAMES[str(network)]}, {angles} angles"
        claims += [_change(part, name), _adapts(part, name), *_geometry(part, name)]
    return claims


def _by_epoch(part: pd.DataFrame, what: str) -> str:
    groups = part.groupby("epoch")[what]
    means, errors = groups.mean(), groups.sem().fillna(0.0)
    return ", ".join(f"{means[e]:.2g} ± {errors[e]:.1g} at epoch {e}" for e in means.index)


def _change(part: pd.DataFrame, name: str) -> Claim:
    after = part[part["epoch"] > 0]
    return Claim.quantified(
        f"Distance of the tangent kernel from that at the start, 1 - cos(K_t, K_0): {name}.",
        "Sec. 2",
        _by_epoch(after, "kernel_change"),
        quote=RAPID,
        uncertainty=f"± one standard error over {part['start'].nunique()} networks, each "
        "with another digit left out",
    )


def _adapts(part: pd.DataFrame, name: str) -> Claim:
    last = part["epoch"].max()
    ends = part[part["epoch"].isin([0, last])].pivot(index="start", columns="epoch", values="kernel_unseen")
    gain = ends[last] - ends[0]
    own = part[part["epoch"] == last]
    return Claim.quantified(
        "Accuracy on unseen upright images of regression with the kernel after training, less that with the "
        f"kernel before: {name}.",
        "Sec. 4",
        float(gain.mean()),
        quote=FROZEN,
        uncertainty=f"± {gain.sem() if len(gain) > 1 else 0.0:.2g} over {len(gain)} networks, each "
        "with another digit left out",
        why=f"Before {ends[0].mean():.2f}, after {ends[last].mean():.2f}; the network itself "
        f"{own['unseen'].mean():.2f}, and {own['seen'].mean():.2f} on what it was trained on. The kernel "
        f"departs from one that is invariant under rotations by {_by_epoch(part, 'departure')}.",
    )


def _geometry(part: pd.DataFrame, name: str) -> list[Claim]:
    shown = {
        "within_orbits": "Distance of features within an orbit over that between classes",
        "unseen_own": "The same from unseen images to the rest of their orbits",
    }
    return [
        Claim.beyond(
            f"{words}: {name}.",
            _by_epoch(part, what),
            expected="0 for a network that has learned the symmetry",
            uncertainty="± one standard error",
            why=f"From unseen images to other classes {_by_epoch(part, 'unseen_other')}."
            if what == "unseen_own"
            else f"Between orbits of a class {_by_epoch(part, 'within_classes')}.",
        )
        for what, words in shown.items()
    ]
