"""One training of a forecast as a cell: what is trained and asked, and what decides the result."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, final

import torch
from torch import Tensor, nn

from symscope._version import __version__
from symscope.errors import InputError
from symscope.forecasting._design_trainer import DesignTrainer
from symscope.forecasting._designs import Design
from symscope.forecasting._stored_answer import plain_answer
from symscope.forecasting._trained_answer import TrainedAnswer
from symscope.networks import arrange_inputs
from symscope.numerics import Progress
from symscope.runs import cell_key
from symscope.training import StepPlan
from symscope.user_code import module_source

PROBED = 4  # points at which the untrained network is part of what decides a result
ADDRESS = re.compile(r"0x[0-9a-f]+")


@final
@dataclass(frozen=True, eq=False)
class Training:
    """One training of a network, and what the trained network is asked.

    Attributes:
        trainer: Network, samples and device.
        design: What it sees.
        plan: Steps, batch and optimiser.
        seed: Seed for weights and order.
        asked: What it is asked about; None for what the design lacks.
        keeps_weights: Whether the answer has the trained weights.
        otherwise: Plan that is followed where the loss does not stay finite or the network fails on batches
            of this size; None where that is an error.
        refitted: Points of what it sees that its last layer is fitted to after the training; 0 for none.
    """

    trainer: DesignTrainer
    design: Design
    plan: StepPlan
    seed: int
    asked: Design | None = None
    keeps_weights: bool = False
    otherwise: StepPlan | None = None
    refitted: int = 0

    def run(self, progress: Progress | None = None) -> TrainedAnswer:
        """Train the network here and ask it.

        Raises:
            DivergedError: A loss that is not finite.
            InputError: A network that fails.
        """
        plan, plain = self.plan, False
        try:
            module = self.trainer.train(self.design, plan, self.seed, progress)
        except InputError:  # it diverges, or fails on batches of this size
            if self.otherwise is None:
                raise
            plan, plain = self.otherwise, True
            module = self.trainer.train(self.design, plan, self.seed, progress)
        asked, keeps, beside = self.asked or self.design, self.keeps_weights, None
        if self.refitted:
            beside = self.trainer.refit(module, self.design, self.refitted, self.seed)
            module = beside.module
        answer = self.trainer.evaluate(module, asked, plan.steps, beside=beside, keeps_weights=keeps)
        return replace(answer, plain=plain)

    @property
    def parts(self) -> tuple[Any, ...]:
        """What it is made of beside its trainer, for a worker."""
        return tuple(getattr(self, one.name) for one in fields(self) if one.name != "trainer")

    def tables(self) -> dict[str, Any]:
        """Its answer as plain values."""
        return plain_answer(self.run())

    def identity(self, samples_digest: str) -> dict[str, Any]:
        """The fields by which a folder knows this training.

        Its key depends on everything that decides the result: samples and what is seen of them, the untrained
        network (weights, form, source of its classes, outputs), the plan, the seed, versions and device.

        Args:
            samples_digest: `content_digest` of the samples.
        """
        trainer, asked = self.trainer, self.asked or self.design
        words: dict[str, Any] = {"network": trainer.model.name, "steps": self.plan.steps, "seed": self.seed}
        decisive = {
            "designs": tensor_digest({"seen": self.design.seen, "asked": asked.seen, "lacks": asked.missing}),
            "plan": asdict(self.plan),
            "otherwise": None if self.otherwise is None else asdict(self.otherwise),
            "layout": trainer.model.layout,
            "samples_asked": trainer.asked,
            "keeps_weights": self.keeps_weights,
            "refitted": self.refitted,
        }
        return cell_identity(trainer, self.seed, samples_digest, words, decisive)


def cell_identity(
    trainer: DesignTrainer,
    seed: int,
    samples_digest: str,
    words: Mapping[str, Any],
    decisive: Mapping[str, Any],
) -> dict[str, Any]:
    """Key, parameters and seed of a cell about a network, of versions, device, samples and more.

    Args:
        trainer: Network, samples and device.
        seed: Seed of the network.
        samples_digest: `content_digest` of the samples.
        words: Parameters that people read.
        decisive: What else decides the result.
    """
    more = {
        "versions": [__version__, torch.__version__],
        "device": trainer.device.type,
        "samples": samples_digest,
        "network": _network_digest(trainer.model.builder(seed), trainer),
    }
    parameters = {**words, "of": plain_digest({**more, **decisive})}
    return {"key": cell_key(parameters), "parameters": parameters, "seed": seed}


def plain_digest(plain: Any) -> str:
    """Twelve hexadecimal digits of plain data."""
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:12]


def tensor_digest(tensors: Mapping[str, Tensor]) -> str:
    """SHA-256 of named tensors, their types and shapes.

    >>> one, two = (tensor_digest({"a": torch.tensor([value])}) for value in (0.0, -0.0))
    >>> one == two
    False
    """
    total = hashlib.sha256()
    for name in sorted(tensors):
        value = tensors[name].detach().cpu().contiguous()
        total.update(f"{name} {value.dtype} {tuple(value.shape)};".encode())
        total.update(value.reshape(-1).view(torch.uint8).numpy().data)
    return total.hexdigest()


def _network_digest(module: nn.Module, trainer: DesignTrainer) -> list[Any]:
    """What an untrained network is: weights, layers, source of classes that are the user's, outputs."""
    weights = tensor_digest(dict([*module.named_parameters(), *module.named_buffers()]))
    names = {type(part).__module__ for part in module.modules()}
    own = [sys.modules[name] for name in names if name.partition(".")[0] not in ("torch", "symscope")]
    sources = sorted(text for text in map(module_source, own) if text is not None)
    points = trainer.samples.known.points[:PROBED, 0].double()
    with torch.no_grad():  # attributes that are no weights show in outputs alone; eight digits: any machine's
        outputs = module(arrange_inputs(points, trainer.model.layout)).norm(dim=1).tolist()
    return [weights, ADDRESS.sub("", repr(module)), sources, [f"{value:.8g}" for value in outputs]]
