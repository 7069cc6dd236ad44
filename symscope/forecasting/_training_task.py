"""One training of a forecast as a cell: what decides its result, and how a worker runs it.

The network travels in its initial state, pickled from one process of the user to another as executors do
with every call; no file is ever unpickled. The samples, the same for all trainings, are written once.
"""

from __future__ import annotations

import hashlib
import io
import json
import pickle
import re
import sys
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from typing import Any, final

import torch
from torch import Tensor, nn

from symscope._version import __version__
from symscope.errors import DivergedError, InputError
from symscope.forecasting._design_trainer import DesignTrainer
from symscope.forecasting._designs import Design
from symscope.forecasting._prediction_task import TASKS
from symscope.forecasting._sample_split import ForecastSamples, OrbitSamples
from symscope.forecasting._stored_answer import plain_answer
from symscope.forecasting._trained_answer import TrainedAnswer
from symscope.networks import UserModel, arrange_inputs
from symscope.numerics import Progress
from symscope.runs import cell_key, cell_record
from symscope.training import StepPlan
from symscope.user_code import load_user_module, module_source, user_errors

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


@final
@dataclass(frozen=True, eq=False)
class TrainingTask:
    """A training for a worker.

    Attributes:
        identity: Key, parameters and seed.
        threads: Threads of the training.
        device: Device to train on.
        training: The untrained network, what it sees, is asked and how it is trained, pickled.
        samples: The samples, as `torch.save` writes them, or the path of a file with them.
        files: Files of the user's own to load first, so that classes in them are known.
        folder: Folder from which the user's modules are imported.
    """

    identity: dict[str, Any]
    threads: int
    device: str
    training: bytes
    samples: bytes | str
    files: tuple[str, ...]
    folder: str


def pickled_training(training: Training) -> bytes:
    """A training without its samples, for a worker.

    Raises:
        Exception: Whatever pickling a user's network raises.
    """
    trainer = training.trainer
    model = (trainer.model.name, trainer.model.layout, trainer.model.outputs, trainer.model.parameters)
    how = (training.keeps_weights, training.otherwise, training.refitted)
    parts = (training.design, training.plan, training.seed, training.asked, *how)
    own = (trainer.samples.target_action, trainer.asked)
    return pickle.dumps((trainer.model.builder(training.seed), model, own, parts))


def run_training(task: TrainingTask) -> dict[str, Any]:
    """Run one training in a worker.

    Returns:
        The cell's record: `status` is "done" with the answer as `tables`; "refused" with the `reason` why the
        network could not be received; "failed" with a `message` for the user and whether it `diverged`, or a
        traceback.
    """
    start = time.perf_counter()
    try:
        with _user_modules(task):
            received = pickle.loads(task.training)  # noqa: S301  # from the process that started this one
            module, (name, layout, outputs, parameters), (target_action, asked), parts = received
    except Exception as error:  # whatever the user's network raises in a process where it is not known
        return {**task.identity, "status": "refused", "reason": f"{type(error).__name__}: {error}"}
    model = UserModel(name, lambda seed: module, layout, outputs, parameters)
    samples = replace(_received_samples(task.samples), target_action=target_action)
    trainer = DesignTrainer(model, samples, torch.device(task.device), asked)
    before = torch.get_num_threads()
    torch.set_num_threads(task.threads)
    try:
        with user_errors("your code", mixed=True):
            answer = Training(trainer, *parts).run()
    except InputError as error:
        diverged = isinstance(error, DivergedError)
        return {**task.identity, "status": "failed", "message": str(error), "diverged": diverged}
    except Exception:
        return {**task.identity, "status": "failed", "traceback": traceback.format_exc()}
    finally:
        torch.set_num_threads(before)
    return cell_record(task.identity, plain_answer(answer), time.perf_counter() - start)


@contextmanager
def _user_modules(task: TrainingTask) -> Iterator[None]:
    """The user's own modules, known as where the network comes from."""
    sys.path.insert(0, task.folder)
    try:
        for file in task.files:
            load_user_module("--model", file)
        yield
    finally:
        sys.path.remove(task.folder)


def saved_samples(samples: ForecastSamples) -> dict[str, Any]:
    """What trainings need of samples, as tensors and plain values."""
    orbits = {"known": samples.known, "new": samples.new}
    return {
        **{
            name: None if orbit is None else {one.name: getattr(orbit, one.name) for one in fields(orbit)}
            for name, orbit in orbits.items()
        },
        "variance": samples.variance,
        "columns": samples.columns,
        "kind": samples.task.kind,
        "mask_classes": samples.mask_classes,
    }


@lru_cache(maxsize=1)
def _received_samples(saved: bytes | str) -> ForecastSamples:
    """The samples of `saved_samples`; pages of a file are shared by all processes that read it."""
    if isinstance(saved, bytes):
        plain = torch.load(io.BytesIO(saved), weights_only=True)
    else:
        plain = torch.load(saved, weights_only=True, mmap=True)
    known, new = (None if plain[name] is None else OrbitSamples(**plain[name]) for name in ("known", "new"))
    assert known is not None
    task = TASKS[plain["kind"]]
    return ForecastSamples(
        known, new, None, plain["variance"], task, plain["columns"], mask_classes=plain["mask_classes"]
    )


def samples_digest(samples: ForecastSamples) -> str:
    """A digest of everything that trainings take from samples."""
    plain = saved_samples(samples)
    tensors = {"columns": plain["columns"], "variance": torch.tensor(plain["variance"], dtype=torch.float64)}
    for name in ("known", "new"):
        tensors |= {f"{name} {part}": value for part, value in (plain[name] or {}).items()}
    return tensor_digest(tensors) + plain["kind"]


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
