"""Where the trainings of a forecast run and are kept: here, in a folder, on workers; with the same answers.

A folder keeps every finished training and kernel regression as a cell, and the times that were measured for
planning, so that the same question asked again plans the same trainings and runs only those that are missing.
"""

from __future__ import annotations

import io
import os
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, final

import torch

from symscope.errors import DivergedError, InputError
from symscope.forecasting._full_kernel import FullKernelPrediction
from symscope.forecasting._regression import Regression
from symscope.forecasting._sample_split import ForecastSamples
from symscope.forecasting._stored_answer import (
    answer_from_plain,
    plain_answer,
    plain_regression,
    regression_from_plain,
)
from symscope.forecasting._trained_answer import TrainedAnswer
from symscope.forecasting._training_task import Training, plain_digest
from symscope.forecasting._worker_task import (
    WorkerTask,
    pickled_work,
    run_work,
    samples_digest,
    saved_samples,
)
from symscope.numerics import Progress
from symscope.runs import RunFolder, Workers, cell_key, cell_record, finished_cells
from symscope.user_code import user_files

KIND = "trainings of forecasts"


@final
class Trainings:
    """Answers of trainings, from a folder, from workers, or trained here; made by `open_trainings`.

    Attributes:
        notes: What could not be done as asked, in words.
    """

    def __init__(self, folder: RunFolder | None = None, workers: Workers | None = None) -> None:
        self.folder, self.workers = folder, workers
        self.notes: list[str] = []
        self._records: dict[str, dict[str, Any]] = {}
        self._failures: dict[str, InputError] = {}
        self._expected: set[str] = set()
        self._sources: list[Generator[tuple[WorkerTask, dict[str, Any]], None, None]] = []
        self._samples: tuple[ForecastSamples, str, bytes | str] | None = None
        self._identities: dict[Training | Regression, dict[str, Any]] = {}
        self._question: str = ""
        self._times: dict[str, float] = {}
        self._lost = False
        self.files = ExitStack()

    @property
    def threads(self) -> int:
        """Threads of one training."""
        if self.workers is None:
            return torch.get_num_threads()
        return self.workers.threads

    def begin(self, question: dict[str, Any]) -> None:
        """Name the question, for the times that are measured for it."""
        self._question = cell_key({"times": "measured", "of": plain_digest(question)})
        self._times = {}

    def measured(self, what: str, measure: Callable[[], float]) -> float:
        """A number that planning depends on, such as the seconds of a step; the same when asked again.

        Args:
            what: Name of the number.
            measure: Function that measures it, with the threads of one training.

        Raises:
            InputError: A folder that cannot be written, or in which the times are damaged.
        """
        record = None if self.folder is None else self.folder.cell(self._question)
        known: dict[str, Any] = self._times if record is None else record["tables"]
        value = known.get(what)
        if value is not None:
            if type(value) not in (int, float) or not 0 <= value < 1e12:
                raise InputError(f"{self.folder}: expected times in seconds, got {value!r:.40}; start anew")
            return float(value)
        before = torch.get_num_threads()
        torch.set_num_threads(self.threads)
        try:
            value = float(measure())
        finally:
            torch.set_num_threads(before)
        self._times[what] = value
        if self.folder is not None:
            identity = {"key": self._question, "parameters": {}, "seed": 0}
            self.folder.save_cell(cell_record(identity, {**known, what: value}, 0.0))
        return value

    def at_once(self, device: torch.device) -> int:
        """How many trainings make progress at a time: no more than cores, and one on a GPU."""
        workers = self.workers or Workers(1)
        return int(self.measured("trainings at once", partial(workers.slots, device.type)))

    def announce(self, work: Sequence[Training | Regression]) -> None:
        """Hand trainings and regressions to workers, in this order; without workers nothing happens yet."""
        if self.workers is None or self._lost:
            return
        tasks = []
        for one in work:
            identity = self._identity(one)
            if identity["key"] in self._expected or self._record(identity["key"]) is not None:
                continue
            try:
                content = pickled_work(one)
            except Exception as error:  # pickling a user's network may raise anything
                if isinstance(one, Regression):  # computed here; its trainings will say why
                    continue
                self._refuse(one.trainer.model.name, f"{type(error).__name__}: {error}")
                continue
            device, saved = str(one.trainer.device), self._saved(one.trainer.samples)[1]
            task = (identity, self.threads, device, content, saved, user_files(), str(Path.cwd()))
            tasks.append(WorkerTask(*task))
            self._expected.add(identity["key"])
        if tasks:
            self._sources.append(finished_cells(run_work, tasks, self.workers))

    def answer(self, training: Training, progress: Progress | None = None) -> TrainedAnswer:
        """The answer of a training: kept, announced and waited for, or trained now.

        Args:
            training: What to train and ask.
            progress: Called as `progress(words with the loss, steps done, steps)`.

        Raises:
            InputError: A loss that is not finite, an error of the user's code, a folder that is damaged or
                cannot be written, a cluster that gives up.
        """
        if self.folder is None and self.workers is None:
            return training.run(progress)
        identity = self._awaited(training)
        answer = self.kept(training)
        if answer is None:
            start = time.perf_counter()
            answer = training.run(progress)
            self._keep(cell_record(identity, plain_answer(answer), time.perf_counter() - start))
        elif progress is not None:
            progress("trained", training.plan.steps, training.plan.steps)
        return answer

    def kept(self, training: Training) -> TrainedAnswer | None:
        """The answer of a training that is finished already; None where it is not, or is kept nowhere.

        Raises:
            InputError: A folder in which it is damaged.
        """
        if self.folder is None and self.workers is None:
            return None
        key = self._identity(training)["key"]
        record = self._record(key)
        if record is None:
            return None
        try:
            return answer_from_plain(record["tables"], training.trainer.samples)
        except InputError as error:
            where = "" if self.folder is None else f"{self.folder.path}, "
            raise InputError(f"{where}cell {key}: {error}; delete it") from error

    def regression(
        self, regression: Regression, progress: Progress | None = None
    ) -> FullKernelPrediction | str:
        """A prediction by kernel regression: kept, announced and waited for, or computed now.

        The reason why there is none is not kept in a folder.

        Args:
            regression: What to compute.
            progress: Called as `progress(words, done, total)`.

        Raises:
            InputError: A kernel that cannot be computed, a folder that is damaged or cannot be written, a
                cluster that gives up.
        """
        if self.folder is None and self.workers is None:
            return regression.run(progress, self.measured)
        identity = self._awaited(regression)
        record = self._record(identity["key"])
        if record is None:
            result = regression.run(progress, self.measured)
            if not isinstance(result, str):
                self._keep(cell_record(identity, plain_regression(result), result.seconds))
            return result
        if "reason" in record["tables"]:
            return str(record["tables"]["reason"])
        try:
            return regression_from_plain(record["tables"], regression.trainer.samples)
        except InputError as error:
            where = "" if self.folder is None else f"{self.folder.path}, "
            raise InputError(f"{where}cell {identity['key']}: {error}; delete it") from error

    def _awaited(self, work: Training | Regression) -> dict[str, Any]:
        """The identity of work that no worker is busy with any more.

        Raises:
            InputError: It failed in a worker.
        """
        identity = self._identity(work)
        while identity["key"] in self._expected:
            self._take(*next(chain.from_iterable(self._sources)))
        if identity["key"] in self._failures:
            raise self._failures[identity["key"]]
        return identity

    def close(self) -> None:
        """End workers, and forget what was written for them."""
        self._end_workers()
        self.files.close()

    def _end_workers(self) -> None:
        while self._sources:
            self._sources.pop().close()

    def _identity(self, work: Training | Regression) -> dict[str, Any]:
        if work not in self._identities:
            self._identities[work] = work.identity(self._saved(work.trainer.samples)[0])
        return self._identities[work]

    def _record(self, key: str) -> dict[str, Any] | None:
        if key not in self._records and self.folder is not None:
            record = self.folder.cell(key)
            if record is not None:
                self._records[key] = record
        return self._records.get(key)

    def _keep(self, record: dict[str, Any]) -> None:
        self._records[record["key"]] = record
        if self.folder is not None and "reason" not in record["tables"]:
            self.folder.save_cell(record)

    def _take(self, task: WorkerTask, record: dict[str, Any]) -> None:
        """Keep what a worker sent, or refuse it; why a training failed is told to whom it answers."""
        self._expected.discard(record["key"])
        if record["status"] == "done":
            self._keep(record)
        elif record["status"] == "refused":
            self._refuse(str(record["parameters"]["network"]), record["reason"])
        elif "message" in record:
            kind = DivergedError if record["diverged"] else InputError
            self._failures[record["key"]] = kind(record["message"])
        elif record.get("worker") == "":  # lost with its worker; new workers would be lost as well
            self.notes.append(
                "A worker process ended before its training did (killed, out of memory, or a script without "
                '`if __name__ == "__main__":`), so the remaining trainings ran in this one.'
            )
            self._expected.clear()
            self._lost = True
            self._end_workers()
        else:
            raise RuntimeError(f"a training failed in a worker:\n{record['traceback']}")

    def _refuse(self, name: str, reason: str) -> None:
        note = (
            f"{name} cannot be sent to other processes ({reason.splitlines()[0][:160]}), so its trainings "
            "ran one after another in this one; write its classes and functions at the top level of a file "
            "of their own."
        )
        if note not in self.notes:
            self.notes.append(note)

    def _saved(self, samples: ForecastSamples) -> tuple[str, bytes | str]:
        """The digest of samples, and what workers are given of them."""
        if self._samples is None or self._samples[0] is not samples:
            saved: bytes | str = b""
            if self.workers is not None and self.workers.dask:
                content = io.BytesIO()
                torch.save(saved_samples(samples), content)
                saved = content.getvalue()  # a cluster may share no disk
            elif self.workers is not None:
                beside = None if self.folder is None else self.folder.path  # swept there after a kill
                number, saved = tempfile.mkstemp(prefix=".unfinished-", dir=beside)
                self.files.callback(os.unlink, saved)
                with os.fdopen(number, "wb") as file:
                    torch.save(saved_samples(samples), file)
            self._samples = (samples, samples_digest(samples), saved)
        return self._samples[1:]


@contextmanager
def open_trainings(
    folder: str | os.PathLike[str] | None, workers: int | None, dask: str | None
) -> Iterator[Trainings]:
    """Trainings that are kept in a folder, and run on workers, if those are given.

    Raises:
        InputError: A folder that holds something else, or is in use; both workers and a cluster.
    """
    with ExitStack() as stack:
        kept = None if folder is None else RunFolder(Path(folder))
        if kept is not None:
            kept.open_cells(KIND)
            stack.enter_context(kept.lock())
        spread = Workers(workers or None, dask) if workers or dask is not None else None
        trainings = Trainings(kept, spread)
        stack.callback(trainings.close)
        yield trainings
