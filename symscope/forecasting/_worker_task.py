"""Work of a forecast on its way to a worker and there: trainings, and regression with kernels.

The network travels in its initial state, pickled from one process of the user to another as executors do
with every call; no file is ever unpickled. The samples, the same for all work, are written once.
"""

from __future__ import annotations

import io
import pickle
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any, Protocol, final, runtime_checkable

import torch

from symscope.errors import DivergedError, InputError
from symscope.forecasting._design_trainer import DesignTrainer
from symscope.forecasting._prediction_task import TASKS
from symscope.forecasting._sample_split import ForecastSamples, OrbitSamples
from symscope.forecasting._training_task import tensor_digest
from symscope.networks import UserModel
from symscope.runs import cell_record
from symscope.user_code import load_user_module, user_errors


@runtime_checkable
class Work(Protocol):
    """What a worker can do: made of a trainer and parts that can be pickled, its answer plain values."""

    @property
    def trainer(self) -> DesignTrainer:
        """Network, samples and device."""

    @property
    def seed(self) -> int:
        """Seed of the network."""

    @property
    def parts(self) -> tuple[Any, ...]:
        """What it is made of beside its trainer."""

    def tables(self) -> dict[str, Any]:
        """Its answer as plain values."""

    def identity(self, samples_digest: str) -> dict[str, Any]:
        """The fields by which a folder knows it."""


@final
@dataclass(frozen=True, eq=False)
class WorkerTask:
    """Work of a forecast for a worker: a training, or regression with a kernel.

    Attributes:
        identity: Key, parameters and seed.
        threads: Threads of the work.
        device: Device to compute on.
        work: The untrained network, what is done with it and how, pickled.
        samples: The samples, as `torch.save` writes them, or the path of a file with them.
        files: Files of the user's own to load first, so that classes in them are known.
        folder: Folder from which the user's modules are imported.
    """

    identity: dict[str, Any]
    threads: int
    device: str
    work: bytes
    samples: bytes | str
    files: tuple[str, ...]
    folder: str


def pickled_work(work: Work) -> bytes:
    """Work without its samples, for a worker.

    Raises:
        Exception: Whatever pickling a user's network raises.
    """
    trainer = work.trainer
    model = (trainer.model.name, trainer.model.layout, trainer.model.outputs, trainer.model.parameters)
    own = (trainer.samples.target_action, trainer.asked)
    return pickle.dumps((type(work), trainer.model.builder(work.seed), model, own, work.parts))


def run_work(task: WorkerTask) -> dict[str, Any]:
    """Do the work of a task in a worker.

    Returns:
        The cell's record: `status` is "done" with the answer as `tables`; "refused" with the `reason` why the
        network could not be received; "failed" with a `message` for the user and whether it `diverged`, or a
        traceback.
    """
    start = time.perf_counter()
    try:
        with _user_modules(task):
            received = pickle.loads(task.work)  # noqa: S301  # from the process that started this one
            kind, module, (name, layout, outputs, parameters), (target_action, asked), parts = received
    except Exception as error:  # whatever the user's network raises in a process where it is not known
        return {**task.identity, "status": "refused", "reason": f"{type(error).__name__}: {error}"}
    model = UserModel(name, lambda seed: module, layout, outputs, parameters)
    samples = replace(_received_samples(task.samples), target_action=target_action)
    trainer = DesignTrainer(model, samples, torch.device(task.device), asked)
    before = torch.get_num_threads()
    torch.set_num_threads(task.threads)
    try:
        with user_errors("your code", mixed=True):
            tables = kind(trainer, *parts).tables()
    except InputError as error:
        diverged = isinstance(error, DivergedError)
        return {**task.identity, "status": "failed", "message": str(error), "diverged": diverged}
    except Exception:
        return {**task.identity, "status": "failed", "traceback": traceback.format_exc()}
    finally:
        torch.set_num_threads(before)
    return cell_record(task.identity, tables, time.perf_counter() - start)


@contextmanager
def _user_modules(task: WorkerTask) -> Iterator[None]:
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
