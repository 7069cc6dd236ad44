"""Networks that a group cannot change at inference: averaged over it, or shown every sample in one pose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from symscope.data import Action
from symscope.errors import InputError
from symscope.numerics import check_finite, explained

VARIANCE = 0.95  # share of what varies between samples that a frame holds
LARGEST_FRAME = 64  # directions


@final
class Averaged(nn.Module):
    """A network averaged over a group at inference, `F(x) = mean_g rho(g)^-1 f(g x)`.

    Over a whole group that acts exactly F is equivariant to rounding: `F(h x) = rho(h) F(x)`. Where the
    action interpolates, what interpolation changes is left.

    Args:
        module: The network f; not copied.
        action: Action on its inputs.
        target_action: Action rho on its outputs; None where they should not change.
        elements: Elements to average over; all when not given.
        probabilities: True to average softmax probabilities of classes and return the logarithm of the mean;
            False to average the outputs themselves.
        shape: Shape of one sample, where the network takes samples flattened.

    Raises:
        InputError: Elements that are not the group's, or probabilities beside an action on outputs.

    >>> from symscope.data import rotation
    >>> net = Averaged(nn.Sequential(nn.Flatten(), nn.Linear(9, 2)), rotation(4))
    >>> image = torch.rand(1, 3, 3)
    >>> torch.allclose(net(image), net(image.rot90(1, (1, 2))))
    True
    """

    def __init__(
        self,
        module: nn.Module,
        action: Action,
        target_action: Action | None = None,
        *,
        elements: Sequence[int] | None = None,
        probabilities: bool = False,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__()
        if probabilities and target_action is not None:
            raise InputError(
                "probabilities: expected outputs that are classes, which the group leaves alone."
            )
        self.module = module
        self.action, self.target_action = action, target_action
        self.elements = _checked_elements(action, elements)
        self.probabilities = probabilities
        self.shape = None if shape is None else tuple(shape)

    def forward(self, x: Tensor) -> Tensor:
        total: Tensor | None = None
        for g in self.elements:
            out = self.module(_moved(self.action, g, x, self.shape))
            if self.probabilities:
                out = out.log_softmax(1)
                total = out if total is None else torch.logaddexp(total, out)
            else:
                out = _moved_back(self.target_action, g, out)
                total = out if total is None else total + out
        assert total is not None
        count = len(self.elements)
        return total - torch.log(total.new_tensor(count)) if self.probabilities else total / count

    def settings(self) -> dict[str, Any]:
        """What `load_repaired` needs beside the actions."""
        return {
            "elements": list(self.elements),
            "probabilities": self.probabilities,
            "shape": None if self.shape is None else list(self.shape),
        }


@final
class Canonical(nn.Module):
    """A network that sees every sample in a canonical pose, `F(x) = rho(h)^-1 f(h x)`, h the best element.

    The best element has the highest score: the network's own confidence, the largest softmax probability of
    `f(h x)`; or, with a frame, the share of `h x` that lies in the main directions of the data, which costs
    one pass of the network. It helps where the data is aligned, so that a pose can be recognised; where all
    poses look alike the choice is arbitrary.

    Args:
        module: The network f; not copied.
        action: Action on its inputs.
        target_action: Action rho on its outputs; None where they should not change.
        elements: Elements to search; all when not given.
        frame: Mean `[d]` and directions `[k, d]` of flattened samples, from `data_frame`; the network's own
            confidence when not given.
        shape: Shape of one sample, where the network takes samples flattened.

    Raises:
        InputError: Elements that are not the group's.
    """

    frame_mean: Tensor
    frame_directions: Tensor

    def __init__(
        self,
        module: nn.Module,
        action: Action,
        target_action: Action | None = None,
        *,
        elements: Sequence[int] | None = None,
        frame: tuple[Tensor, Tensor] | None = None,
        shape: Sequence[int] | None = None,
    ) -> None:
        super().__init__()
        self.module = module
        self.action, self.target_action = action, target_action
        self.elements = _checked_elements(action, elements)
        self.shape = None if shape is None else tuple(shape)
        self.score = "confidence" if frame is None else "frame"
        if frame is not None:
            _check_frame(frame)
            self.register_buffer("frame_mean", frame[0])
            self.register_buffer("frame_directions", frame[1])

    def forward(self, x: Tensor) -> Tensor:
        if self.score == "confidence":  # every pose has been answered for its score
            outs = [self.module(_moved(self.action, g, x, self.shape)) for g in self.elements]
            best = torch.stack([_confidences(out) for out in outs]).argmax(0)
            backs = [
                _moved_back(self.target_action, g, out) for g, out in zip(self.elements, outs, strict=True)
            ]
            return torch.stack(backs)[best, torch.arange(len(x), device=x.device)]
        best = self.best_elements(x)
        if not len(x):
            return self.module(x)
        chosen = {g: (best == g).nonzero()[:, 0] for g in best.unique().tolist()}
        posed = x
        for g, rows in chosen.items():
            posed = posed.index_copy(0, rows, _moved(self.action, g, x[rows], self.shape))
        out: Tensor = self.module(posed)  # one pass: a GPU prepares its convolutions for each size of batch
        if self.target_action is None:
            return out
        result = out
        for g, rows in chosen.items():
            result = result.index_copy(0, rows, _moved_back(self.target_action, g, out[rows]))
        return result

    @explained
    def best_elements(self, x: Float[Tensor, "n *s"]) -> Int64[Tensor, "n"]:
        """For each sample the element that brings it into its canonical pose, `[n]`."""
        with torch.no_grad():
            scores = torch.stack([self._scores(_moved(self.action, g, x, self.shape)) for g in self.elements])
        return torch.tensor(self.elements, device=x.device)[scores.argmax(0)]

    def _scores(self, x: Tensor) -> Tensor:
        if self.score == "confidence":
            return _confidences(self.module(x))
        rows = x.flatten(1) - self.frame_mean
        held = (rows @ self.frame_directions.mT).square().sum(1)
        return held / rows.square().sum(1).clamp_min(torch.finfo(x.dtype).tiny)

    def settings(self) -> dict[str, Any]:
        """What `load_repaired` needs beside the actions."""
        return {"elements": list(self.elements), "shape": None if self.shape is None else list(self.shape)}


@explained
def data_frame(x: Float[Tensor, "n *s"]) -> tuple[Float[Tensor, "d"], Float[Tensor, "k d"]]:
    """Mean and main directions of samples in the pose they have, for `Canonical`.

    The directions are principal components: as few as hold 95 % of the variance, at most 64.

    Raises:
        InputError: Fewer than two samples, or numbers that are not finite.

    >>> mean, directions = data_frame(torch.tensor([[1.0, 0.0], [3.0, 0.0], [5.0, 0.0]]))
    >>> mean.tolist(), directions.abs().tolist()
    ([3.0, 0.0], [[1.0, 0.0]])
    """
    if x.ndim < 2 or len(x) < 2 or x[0].numel() == 0:
        raise InputError(f"expected two samples or more, [n, ...], got shape {tuple(x.shape)}.")
    check_finite("samples of a frame", x)
    rows = x.flatten(1).double().cpu()  # a singular value decomposition takes seconds on a GPU
    mean = rows.mean(0)
    away = rows - mean
    if len(rows) < rows.shape[1]:  # fewer samples than numbers: by their products with each other
        squares, turns = torch.linalg.eigh(away @ away.mT)
        squares, turns = squares.flip(0).clamp_min(0), turns.flip(1)
    else:
        _, sizes, directions = torch.linalg.svd(away, full_matrices=False)
        squares = sizes.square()
    shares = squares.cumsum(0) / squares.sum().clamp_min(torch.finfo(torch.float64).tiny)
    count = min(int((shares < VARIANCE).sum()) + 1, LARGEST_FRAME, max(1, len(rows) // 2))
    if len(rows) < rows.shape[1]:
        directions = torch.nn.functional.normalize(turns[:, :count].mT @ away, dim=1)
    return mean.to(x), directions[:count].to(x)


def _confidences(outputs: Tensor) -> Tensor:
    """The largest probability of each row, or the size of a single output, which says one of two classes."""
    rows = outputs.reshape(len(outputs), -1)
    return rows.abs()[:, 0] if rows.shape[1] == 1 else rows.softmax(1).amax(1)


def _check_frame(frame: Any) -> None:
    """Refuses something else than a mean and directions of one length."""
    tensors = (
        isinstance(frame, (tuple, list)) and len(frame) == 2 and all(isinstance(one, Tensor) for one in frame)
    )
    if not tensors or frame[0].ndim != 1 or frame[1].ndim != 2 or frame[1].shape[1] != len(frame[0]):
        raise InputError("frame: expected a mean [d] and directions [k, d], as data_frame gives them.")


def _checked_elements(action: Action, elements: Sequence[int] | None) -> tuple[int, ...]:
    everyone = tuple(action.group.elements)
    chosen = everyone if elements is None else tuple(int(g) for g in elements)
    if not chosen or not set(chosen) <= set(everyone) or len(set(chosen)) < len(chosen):
        raise InputError(
            f"elements: expected different elements of {action.group.name}, 0 to {len(everyone) - 1}, got "
            f"{list(chosen)[:12]}."
        )
    return chosen


def _moved(action: Action, g: int, x: Tensor, shape: tuple[int, ...] | None) -> Tensor:
    """g x, for samples as the network takes them."""
    if g == action.group.identity:
        return x
    return action.act(g, x if shape is None else x.unflatten(1, shape)).reshape(x.shape)


def _moved_back(action: Action | None, g: int, y: Tensor) -> Tensor:
    """`rho(g)^-1 y`."""
    return y if action is None else action.act(action.group.inverse(g), y)
