"""The answer of an audit: the error, its causes, what follows from it, and remedies."""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import torch
from torch import Tensor, nn

from symscope._version import __version__
from symscope.auditing._causes import Cause
from symscope.auditing._error_table import clean_error
from symscope.auditing._grid import LocalError
from symscope.auditing._subject import Subject
from symscope.errors import InputError
from symscope.numerics import write_whole

if TYPE_CHECKING:
    import pandas as pd

    from symscope.auditing._consequences import Consequences
    from symscope.auditing._data_symmetry import DataSymmetry
    from symscope.auditing._repair import Repair

FORMAT = 1


@final
@dataclass(frozen=True)
class AuditedLayer:
    """What one layer does to the symmetry.

    Attributes:
        layer: Name of the layer in the network; "outputs" for what stands after the last one.
        kind: Class of the layer.
        own: Its error by itself, `|L(g a) - g L(a)| / |L(a)|`; NaN where it is not known.
        added: What it adds to the squared error of the outputs, as a share.
        own_fresh: Its error by itself in a fresh network; NaN where it is not known.
        reason: Why it breaks the symmetry, in words; empty where it does not.
    """

    layer: str
    kind: str
    own: float
    added: float
    own_fresh: float
    reason: str


@final
@dataclass(frozen=True)
class ElementError:
    """The error under one element.

    Attributes:
        element: Name of the element, degrees for rotations.
        error: Its equivariance error.
        exact: Whether it moves samples exactly, without interpolation.
    """

    element: str
    error: float
    exact: bool


@final
@dataclass(frozen=True, eq=False)
class Audit:
    """How far a network is from a symmetry, and why; made by `symscope.audit`.

    Attributes:
        subject: Network, data and actions.
        samples: Number of samples that the error was measured on.
        error: `|rho(g)^-1 f(g x) - f(x)|`, root mean square over samples and elements, over that of
            `f(x) - mean f(x)`.
        low: Lower end of its 95 % interval.
        high: Upper end.
        elements: The error under each element.
        start_errors: Errors of fresh networks.
        causes: The five causes, largest first; empty for a network that is equivariant.
        layers: What each layer does, in their order.
        local: The derivative at the identity; None for groups without one.
        smooth_error: Error on smoothed samples over elements that interpolate; NaN if there are none.
        stability: Whether augmented training would come back to the symmetry, in words.
        consequences: Accuracy and decisions by transformation; None if not asked.
        data_symmetry: Whether the data has the symmetry; None if not asked.
        repairs: Remedies, applied and measured.
        notes: What was left out or made smaller.
        seconds: Duration of the audit.
    """

    subject: Subject
    samples: int
    error: float
    low: float
    high: float
    elements: tuple[ElementError, ...]
    start_errors: tuple[float, ...]
    causes: tuple[Cause, ...]
    layers: tuple[AuditedLayer, ...]
    local: LocalError | None
    smooth_error: float
    stability: str
    consequences: Consequences | None
    data_symmetry: DataSymmetry | None
    repairs: tuple[Repair, ...]
    notes: tuple[str, ...]
    seconds: float

    def __repr__(self) -> str:
        first = f", first cause: {self.causes[0].kind}" if self.causes else ""
        return f"Audit({self.subject.name}, {self.symmetry}: error {self.error:.1%}{first})"

    @property
    def symmetry(self) -> str:
        """The group and how it acts."""
        return f"{self.subject.action.group.name} {self.subject.action.name}"

    @property
    def clean(self) -> bool:
        """Whether nothing is wrong: the error is rounding, and the action is one."""
        return not self.causes

    @property
    def verdict(self) -> str:
        """The answer in a sentence or two."""
        kept = "invariant" if self.subject.target is None else "equivariant"
        if self.clean:
            return f"{self.subject.name} is {kept} under {self.symmetry} (error {self.error:.1g})."
        first = self.causes[0]
        size = f"{self.error:.0%}" if self.error >= 0.1 else f"{self.error:.1%}"
        begin = f"{self.subject.name} is not {kept} under {self.symmetry} ({size})"
        if self.error < clean_error(self.subject):
            begin = f"The error of {self.subject.name} under {self.symmetry} ({self.error:.1g}) says nothing"
        return (
            f"{begin}. First cause: {first.kind} ({first.share:.0%} of the squared error). {first.sentence}"
        )

    def to_frame(self) -> pd.DataFrame:
        """A row for each cause: share, 95 % interval, sentence and remedy."""
        import pandas as pd

        names = ["kind", "share", "low", "high", "sentence", "remedy"]
        return pd.DataFrame(
            [{name: getattr(one, name) for name in names} for one in self.causes], columns=names
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything a program may want, in plain lists and numbers; NaN becomes None."""
        subject = self.subject
        data: dict[str, Any] = {
            "format": FORMAT,
            "symscope": __version__,
            "verdict": self.verdict,
            "clean": self.clean,
            "network": subject.name,
            "data": {"name": subject.data.name, "samples": len(subject.data), "source": subject.data.source},
            "group": subject.action.group.name,
            "action": subject.action.name,
            "target_action": "same" if subject.target is None else subject.target.name,
        }
        for one in fields(self):
            if one.name != "subject":
                data[one.name] = _plain(getattr(self, one.name))
        return data

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page (.html), or the numbers for programs (.json, as `to_dict`).

        Raises:
            InputError: Another ending, or a folder that is not there or cannot be written.
        """
        file = Path(path)
        if file.suffix == ".json":
            write_whole(
                json.dumps(self.to_dict(), indent=1, allow_nan=False, ensure_ascii=False) + "\n", file
            )
        elif file.suffix == ".html":
            from symscope.auditing._audit_page import audit_page

            write_whole(audit_page(self), file)
        else:
            raise InputError(f"{file}: expected a name that ends in .html (the page) or .json (the numbers).")

    def plot(self) -> Any:
        """The causes as a matplotlib figure: shares of the squared error, with intervals.

        Raises:
            InputError: A network that is equivariant, whose error has no causes.
        """
        from symscope.auditing._audit_figures import causes_figure

        if not self.causes:
            raise InputError(f"there is nothing to plot: {self.verdict}")
        return causes_figure(self)

    def _repr_html_(self) -> str:
        """The verdict and the causes, for a notebook."""
        from html import escape

        rows = "".join(
            f"<tr><td>{escape(one.kind)}</td><td>{one.share:.0%} ({one.low:.0%} to {one.high:.0%})</td>"
            f"<td>{escape(one.sentence)}</td><td>{escape(one.remedy)}</td></tr>"
            for one in self.causes
        )
        head = "<tr><th>cause</th><th>share</th><th>measured</th><th>what to do</th></tr>"
        table = f"<table>{head}{rows}</table>" if rows else ""
        return f"<p>{escape(self.verdict)}</p>{table}"


def _plain(value: Any) -> Any:
    """Numbers, words and lists; tensors as lists, networks and actions left out."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Tensor):
        return _plain(value.tolist()) if value.numel() <= 10_000 else list(value.shape)
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if is_dataclass(value) and not isinstance(value, type):
        kept = {one.name: getattr(value, one.name) for one in fields(value)}
        return {name: _plain(one) for name, one in kept.items() if not _hidden(one)}
    if value is None or isinstance(value, (str, int, bool)):
        return value
    return str(value)


def _hidden(value: Any) -> bool:
    return isinstance(value, (nn.Module, Subject, torch.device)) or callable(value)
