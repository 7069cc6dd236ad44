"""Kernel regression of a forecast as a cell: on all samples, or on as many as the time allows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, final

from symscope.errors import InputError
from symscope.forecasting._design_trainer import DesignTrainer
from symscope.forecasting._designs import true_designs
from symscope.forecasting._full_kernel import FullKernelPrediction, full_kernel_prediction
from symscope.forecasting._kernel_choice import TangentKernel, tangent_kernel
from symscope.forecasting._projected_kernel import projected_prediction
from symscope.forecasting._question import Question
from symscope.forecasting._stored_answer import plain_regression
from symscope.forecasting._training_task import cell_identity, tensor_digest
from symscope.numerics import Progress


@final
@dataclass(frozen=True, eq=False)
class Regression:
    """Regression with a network's tangent kernel, and what it may take.

    Attributes:
        trainer: Network, samples and device.
        question: Data, action and coverage.
        seed: Seed of the network, where its kernel is finite.
        kernel: "infinite" or "finite".
        ridge: Number added to the kernel's diagonal.
        more_than: Samples of a class that are known from elsewhere: with as few it is not done.
        seconds: Time it may take, by its estimate.
        memory: Bytes it may take.
    """

    trainer: DesignTrainer
    question: Question
    seed: int
    kernel: str
    ridge: float
    more_than: int
    seconds: float
    memory: int

    def run(
        self,
        progress: Progress | None = None,
        measured: Callable[[str, Callable[[], float]], float] = lambda what, measure: measure(),
    ) -> FullKernelPrediction | str:
        """The prediction, or the reason why there is none.

        Args:
            progress: Called as `progress(words, done, total)`.
            measured: Gives a time that a function measures, as `Trainings.measured` does.
        """
        question, samples = self.question, self.trainer.samples
        if question.coverage is not None:  # a worker gets the samples without
            samples = replace(samples, coverage=question.coverage.take(samples.known.indices))
        arguments = (self._tangent, question, samples, self.ridge, self.seconds, self.trainer.device)
        if self.kernel == "infinite":
            return full_kernel_prediction(*arguments, progress, measured, memory=self.memory)
        chosen = (progress, measured)
        try:
            return projected_prediction(
                *arguments, *chosen, seed=self.seed, more_than=self.more_than, memory=self.memory
            )
        except InputError as error:  # an invariant network: gradients are the same where targets differ
            if question.target_action is None:
                raise
            return str(error).removesuffix(".")

    @property
    def _tangent(self) -> TangentKernel:
        return tangent_kernel(self.trainer.model, self.question.shape, self.kernel)

    @property
    def parts(self) -> tuple[Any, ...]:
        """What it is made of beside its trainer, for a worker."""
        return tuple(getattr(self, one.name) for one in fields(self) if one.name != "trainer")

    def tables(self) -> dict[str, Any]:
        """Its prediction as plain values, or the reason why there is none."""
        result = self.run()
        return {"reason": result} if isinstance(result, str) else plain_regression(result)

    def identity(self, samples_digest: str) -> dict[str, Any]:
        """The fields by which a folder knows this regression.

        Args:
            samples_digest: `content_digest` of the samples.
        """
        words = {"network": self.trainer.model.name, "kernel": "regression"}
        designs = enumerate(true_designs(self.trainer.samples, self.question.group))
        decisive = {
            "kernel": self.kernel,
            "ridge": self.ridge,
            "seconds": self.seconds,
            "memory": self.memory,
            "seen": tensor_digest({str(k): one.seen for k, one in designs}),
        }
        return cell_identity(self.trainer, self.seed, samples_digest, words, decisive)
