"""A trained answer as plain values and back: what a worker sends and a folder keeps.

What is read back may be damaged or somebody else's: it has the expected form, or it is refused.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from symscope.errors import InputError
from symscope.forecasting._full_kernel import FullKernelPrediction
from symscope.forecasting._sample_split import ForecastSamples
from symscope.forecasting._trained_answer import MissingCase, ScoreTable, TrainedAnswer

TABLES = ("known", "new", "covered", "averaged", "fit", "near", "sure")
REGRESSED = ("known", "new", "covered")


def plain_answer(answer: TrainedAnswer) -> dict[str, Any]:
    """The answer of one training as JSON values; samples by their positions, numbers to the last digit."""
    plain: dict[str, Any] = {name: _plain_table(getattr(answer, name)) for name in TABLES}
    plain["cases"] = [
        {
            "sample": one.sample,
            "element": one.element,
            "output": one.output.tolist(),
            "score": one.score,
            "margin": one.margin,
        }
        for one in answer.cases
    ]
    plain |= {"asymmetry": answer.asymmetry, "steps": answer.steps, "plain": answer.plain}
    if answer.weights is not None:
        content = io.BytesIO()
        torch.save(answer.weights, content)
        plain["weights"] = base64.b64encode(content.getvalue()).decode()
    return plain


def answer_from_plain(plain: Mapping[str, Any], samples: ForecastSamples) -> TrainedAnswer:
    """The answer that `plain_answer` wrote down.

    Args:
        plain: What was read.
        samples: Samples the network was trained and asked on.

    Raises:
        InputError: It has another form, or is about other samples.
    """
    try:
        known, new, covered, averaged, fit, near, sure = (
            _table(plain[name], (samples.classes, samples.order)) for name in TABLES
        )
        return TrainedAnswer(
            known,
            new,
            covered,
            averaged,
            fit,
            near,
            sure,
            cases=tuple(_case(one, samples) for one in plain["cases"]),
            asymmetry=float(plain["asymmetry"]),
            steps=int(plain["steps"]),
            weights=_weights(plain["weights"]) if "weights" in plain else None,
            plain=bool(plain["plain"]),
        )
    except (KeyError, TypeError, ValueError, IndexError, RuntimeError, OverflowError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0][:120]
        raise InputError(f"expected the answer of a training on these samples ({reason})") from error


def plain_regression(result: FullKernelPrediction) -> dict[str, Any]:
    """A prediction by kernel regression as JSON values, numbers to the last digit."""
    plain: dict[str, Any] = {name: _plain_table(getattr(result, name)) for name in REGRESSED}
    rest = ("samples", "notes", "seconds", "complete", "infinite")
    return plain | {name: getattr(result, name) for name in rest}


def regression_from_plain(plain: Mapping[str, Any], samples: ForecastSamples) -> FullKernelPrediction:
    """The prediction that `plain_regression` wrote down.

    Raises:
        InputError: It has another form, or is about other samples.
    """
    try:
        known, new, covered = (_table(plain[name], (samples.classes, samples.order)) for name in REGRESSED)
        fewest, most = (int(count) for count in plain["samples"])
        notes = tuple(str(note) for note in plain["notes"])
        return FullKernelPrediction(
            known,
            new,
            covered,
            (fewest, most),
            notes,
            float(plain["seconds"]),
            bool(plain["complete"]),
            bool(plain["infinite"]),
        )
    except (KeyError, TypeError, ValueError, RuntimeError, OverflowError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0][:120]
        raise InputError(f"expected a kernel regression on these samples ({reason})") from error


def _plain_table(table: ScoreTable) -> dict[str, Any]:
    return {"total": table.total.tolist(), "count": table.count.tolist()}


def _table(plain: Mapping[str, Any], shape: tuple[int, int]) -> ScoreTable:
    total = torch.tensor(plain["total"], dtype=torch.float64)
    count = torch.tensor(plain["count"], dtype=torch.int64)
    if total.shape != shape or count.shape != shape or bool((count < 0).any()):
        raise ValueError(f"tables of shape {shape}")
    return ScoreTable(total, count)


def _case(plain: Mapping[str, Any], samples: ForecastSamples) -> MissingCase:
    orbit = samples.known if samples.new is None else samples.new
    sample, element = plain["sample"], plain["element"]
    if type(sample) is not int or type(element) is not int or min(sample, element) < 0:
        raise ValueError("positions of samples and elements")
    output = torch.tensor(plain["output"], dtype=torch.float32)
    if output.ndim != 1:
        raise ValueError("outputs of one sample")
    wanted = orbit.wanted[sample, element]
    return MissingCase(
        sample,
        orbit.points[sample, element],
        int(orbit.positions[sample]),
        element,
        output,
        float(plain["score"]),
        float(plain["margin"]),
        wanted if wanted.is_floating_point() else None,
    )


def _weights(text: Any) -> dict[str, Tensor]:
    """Weights by name, read without running any code of the file."""
    try:
        content = torch.load(io.BytesIO(base64.b64decode(text, validate=True)), weights_only=True)
    except Exception as error:  # bytes that hold no weights make the reader fail in any way
        raise ValueError("weights that can be read") from error
    if not isinstance(content, dict) or not all(isinstance(one, Tensor) for one in content.values()):
        raise ValueError("weights by name")
    return content
