"""How sentences of the paper without a number are judged: what predicts, what is a line, what is the same.

The paper says of its formula that it "tracks" or "predicts" errors and calls relations "approximately "
"linear".
Each has a natural border, used here and shown with every verdict; how good an agreement is, is a measurement.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np
import pandas as pd

from symscope.runs import Claim, Verdict
from symscope_papers.spectral.pairs.angles import at_angles, by_angles

PREDICTS = (
    "Nearer to the errors, in mean square, than their own mean is (skill above 0); the paper gives no number."
)
LINEAR = (
    "A straight line explains more of the variance than it leaves (r² above 1/2). The paper gives no number; "
    "the border is ours, and what lies within two standard errors of it is not judged."
)
NNGP = (
    "we repeated our analyses using the NNGP kernel instead of the NTK and it did not change our conclusions"
)
RESAMPLES = 200


def skill(part: pd.DataFrame, predicted: str, exact: str) -> float:
    """`1 - mean (exact - predicted)^2 / var(exact)`: 1 for a perfect prediction, 0 for the mean of all.

    >>> skill(pd.DataFrame({"p": [0.0, 2.0], "e": [0.0, 2.0]}), "p", "e")
    1.0
    >>> skill(pd.DataFrame({"p": [1.0, 1.0], "e": [0.0, 2.0]}), "p", "e")
    0.0
    """
    spread = float(part[exact].var(ddof=0))
    missed = float(((part[exact] - part[predicted]) ** 2).mean())
    return 1 - missed / spread if spread > 0 else math.nan


def explained(part: pd.DataFrame, one: str, other: str) -> float:
    """Pearson's r squared: the share of the variance a straight line explains.

    >>> explained(pd.DataFrame({"a": [0.0, 1.0, 2.0], "b": [5.0, 3.0, 1.0]}), "a", "b")
    1.0
    """
    return correlation(part, one, other) ** 2


def correlation(part: pd.DataFrame, one: str, other: str, method: str = "pearson") -> float:
    """Pearson's r or Spearman's rho; not a number where a column is constant.

    >>> correlation(pd.DataFrame({"a": [0.0, 1.0, 2.0], "b": [5.0, 5.0, 5.0]}), "a", "b")
    nan
    """
    if part[one].nunique() < 2 or part[other].nunique() < 2:
        return math.nan
    return float(part[one].corr(part[other], method=method))  # type: ignore[arg-type]


def slope(part: pd.DataFrame, x: str, y: str) -> float:
    """The slope of a line of least squares through y against x; not a number where x is constant.

    >>> round(slope(pd.DataFrame({"x": [0.0, 1.0, 2.0], "y": [1.0, 3.0, 5.0]}), "x", "y"), 9)
    2.0
    """
    spread = float(part[x].var(ddof=0))
    together = float(((part[x] - part[x].mean()) * part[y]).mean())
    return together / spread if spread > 0 else math.nan


def resampled(part: pd.DataFrame, quantity: Callable[[pd.DataFrame], float]) -> list[float]:
    """A quantity over resampled rows, the same resamples every time; those without spread are left out.

    >>> len(resampled(pd.DataFrame({"a": [0.0, 1.0]}), lambda part: float(part["a"].mean())))
    200
    """
    draw = np.random.default_rng(0)
    values = [quantity(part.iloc[draw.integers(len(part), size=len(part))]) for _ in range(RESAMPLES)]
    return [value for value in values if math.isfinite(value)]


def standard_error(part: pd.DataFrame, quantity: Callable[[pd.DataFrame], float]) -> float:
    """The standard error of a quantity over rows, by resampling them.

    >>> rows = pd.DataFrame({"a": [0.0, 1.0] * 50})
    >>> round(standard_error(rows, lambda part: float(part["a"].mean())), 2)
    0.05
    """
    values = resampled(part, quantity)
    return float(np.std(values)) if values else math.nan


def predicts_claim(
    table: pd.DataFrame, statement: str, source: str, quote: str, *, predicted: str, exact: str
) -> Claim:
    """Stated: a column predicts another at every number n of angles or positions, better than the mean."""
    skills = {n: skill(part, predicted, exact) for n, part in by_angles(table).items()}
    worst = min(skills, key=lambda n: skills[n])
    values = resampled(by_angles(table)[worst], lambda part: skill(part, predicted, exact))
    error = float(np.std(values)) if values else math.nan
    if values and float(np.quantile(values, 0.025)) <= 0 < float(np.quantile(values, 0.975)):
        why = f"too few problems: skill {skills[worst]:.2f} ± {error:.2f} at n = {worst}"
        return Claim.not_checked(statement, source, why, quote=quote)
    return Claim.from_check(
        statement,
        source,
        skills[worst] > 0,
        measured=skills[worst],
        threshold="skill > 0",
        quote=quote,
        reading=PREDICTS,
        uncertainty=f"± {error:.2g}",
        why=f"The smallest of {at_angles(skills)}.",
    )


def mean_and_error(values: pd.Series) -> tuple[float, float]:
    """A mean and its standard error; of a condition, the share for which it holds.

    >>> mean_and_error(pd.Series([True, False, True, False]))
    (0.5, 0.25)
    """
    numbers = values.to_numpy(float)
    return float(numbers.mean()), float(numbers.std() / math.sqrt(len(numbers)))


def agreement_measurements(
    table: pd.DataFrame, what: str, source: str, quote: str, *, predicted: str, exact: str
) -> list[Claim]:
    """Quantified: Pearson's r, the slope on the figure's axes, distances and verdicts, at every n."""
    parts = by_angles(table)
    quantities: tuple[tuple[str, str, Callable[[pd.DataFrame], tuple[float, float]]], ...] = (
        ("Pearson's r", ".3f .3f", lambda part: _correlation_and_error(part, predicted, exact)),
        (
            "slope of a line through predicted against exact errors",
            ".2f .2f",
            lambda part: _slope_and_error(part, exact, predicted),
        ),
        (
            "mean absolute difference",
            ".2g .1g",
            lambda part: mean_and_error((part[predicted] - part[exact]).abs()),
        ),
        (
            "share on the same side of 1, right or wrong",
            ".2f .2f",
            lambda part: mean_and_error((part[predicted] > 1) == (part[exact] > 1)),
        ),
    )
    least = min(len(part) for part in parts.values())
    return [
        Claim.quantified(
            f"{what}: {name}.",
            source,
            with_errors({n: quantity(part) for n, part in parts.items()}, form),
            quote=quote,
            uncertainty=f"(± one standard error; {least} problems at each n)",
        )
        for name, form, quantity in quantities
    ]


def with_errors(values: Mapping[int, tuple[float, float]], form: str) -> str:
    """Values and their standard errors for each n, in words.

    >>> with_errors({4: (0.5, 0.01)}, ".2f .2f")
    '0.50 ± 0.01 at n = 4'
    """
    first, second = ({n: pair[k] for n, pair in values.items()} for k in (0, 1))
    return at_angles(first, second, form=form, between=" ± ")


def _correlation_and_error(part: pd.DataFrame, one: str, other: str) -> tuple[float, float]:
    r = correlation(part, one, other)
    return r, (1 - r**2) / math.sqrt(max(1, len(part) - 3))


def _slope_and_error(part: pd.DataFrame, x: str, y: str) -> tuple[float, float]:
    value, r = slope(part, x, y), correlation(part, x, y)
    error = abs(value) * math.sqrt(max(0.0, 1 / r**2 - 1) / max(1, len(part) - 2)) if r else math.nan
    return value, error


def line_claim(
    part: pd.DataFrame, statement: str, source: str, quote: str, *, one: str, other: str, broken: bool = False
) -> Claim:
    """Stated: two columns are, or with `broken` are not, approximately in a linear relation."""
    share = explained(part, one, other)
    error = standard_error(part, lambda some: explained(some, one, other))
    if abs(share - 0.5) <= 2 * error:
        why = (
            f"Share of the variance that a line explains (r = {correlation(part, one, other):.2f}), near "
            "half: a trend; “linear” has no border."
        )
        return Claim.not_testable(
            statement, source, why, quote=quote, measured=share, uncertainty=f"± {error:.2g}"
        )
    return Claim.from_check(
        statement,
        source,
        (share > 0.5) != broken,
        measured=share,
        threshold="r² <= 1/2" if broken else "r² > 1/2",
        quote=quote,
        reading=LINEAR,
        uncertainty=f"± {error:.2g}",
        why=f"r = {correlation(part, one, other):.3f}; a line leaves {1 - share:.0%} of the variance.",
    )


def falls_claim(table: pd.DataFrame, column: str, statement: str) -> Claim:
    """Whether the mean error in a column falls with every number of angles."""
    quote = "network performance gradually increases with the number of angles sampled from the group orbits"
    means = {n: float(part[column].mean()) for n, part in by_angles(table).items()}
    if len(means) < 2:
        return Claim.not_checked(statement, "Sec. 4", "needs two numbers of angles", quote=quote)
    return Claim.from_check(
        statement,
        "Sec. 4",
        all(later < earlier for earlier, later in pairwise(means.values())),
        measured=f"mean error {at_angles(means, form='.2f')}",
        threshold="falls with every n",
        quote=quote,
    )


def same_conclusions(ntk: Sequence[Claim], nngp: Sequence[Claim], what: str) -> Claim:
    """Stated: with the NNGP kernel every stated claim has the verdict it has with the NTK."""
    decided = (Verdict.HOLDS, Verdict.CONTRADICTED)
    both = list(zip(ntk, nngp, strict=True))
    pairs = [(one, other) for one, other in both if one.verdict in decided and other.verdict in decided]
    changed = [other for one, other in pairs if one.verdict is not other.verdict]
    words = "; ".join(f"{claim.statement} {claim.outcome}: {claim.measured_text}" for claim in changed)
    return Claim.from_check(
        f"With the NNGP kernel the conclusions are the same ({what}).",
        "Sec. 2",
        not changed,
        measured=f"{len(pairs) - len(changed)} of {len(pairs)} verdicts the same",
        threshold="all the same",
        quote=NNGP,
        why=f"Changed: {words}" if changed else "",
    )
