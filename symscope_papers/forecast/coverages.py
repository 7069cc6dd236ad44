"""What the training data of a case holds: by name, as `symscope.forecasting.forecast` takes it."""

from __future__ import annotations

from typing import Any

from symscope.errors import InputError, nearest
from symscope.groups import FiniteGroup

COVERAGES = {
    "one": "one element missing",
    "half": "half of the classes upright only",
    "gap": "a gap of 90°",
    "once": "each sample once",
}
GAP = 45.0  # degrees to either side


def case_coverage(name: str, classes: tuple[int, ...], group: FiniteGroup) -> dict[str, Any]:
    """What the training data holds or lacks.

    Args:
        name: "one", one element missing of one class, a sweep over classes; "half", half of the classes
            upright only; "gap", half of the classes without every angle within 45 degrees of upright; "once",
            each sample at one random element.
        classes: Classes of the data.
        group: Group that acts.

    Raises:
        InputError: An unknown name.

    >>> from symscope.groups import parse
    >>> case_coverage("half", (3, 5, 8), parse("C4"))
    {'seen': {3: [0]}}
    """
    if name not in COVERAGES:
        raise InputError(f"coverage: no {name!r}: {nearest(name, tuple(COVERAGES))}")
    half = classes[: len(classes) // 2]
    if name == "half":
        return {"seen": {label: [group.identity] for label in half}}
    if name == "once":
        return {"seen": "once"}
    if name == "gap":
        near = [k for k in group.elements if min(k, group.order - k) * 360 / group.order <= GAP]
        return {"missing": dict.fromkeys(half, near)}
    return {}
