"""The Lightning callback's class; imported only when one is asked for, because it needs Lightning."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any, final

from torch import Tensor

from symscope.linear._weighted_elements import Symmetry
from symscope.linear.tracker import AsymmetryTracker

_LIGHTNING = "lightning.pytorch" if importlib.util.find_spec("lightning") else "pytorch_lightning"
_Base: Any = importlib.import_module(_LIGHTNING).Callback


@final
class AsymmetryCallback(_Base):
    """Makes a tracker when fitting begins, records after every optimiser step, logs `asymmetry`."""

    def __init__(self, x: Tensor, symmetry: Symmetry, options: dict[str, Any]) -> None:
        super().__init__()
        self._x, self._symmetry, self._options = x, symmetry, options
        self.tracker: AsymmetryTracker | None = None

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        x = self._x.to(pl_module.device)
        self.tracker = AsymmetryTracker(
            pl_module, x, self._symmetry, start=trainer.global_step, **self._options
        )

    def on_train_batch_end(self, trainer: Any, pl_module: Any, *_: Any) -> None:
        assert self.tracker is not None
        if trainer.global_step <= self.tracker.step:  # gradients are still being gathered
            return
        record = self.tracker.record(trainer.global_step)
        if record is not None:
            pl_module.log("asymmetry", record.asymmetry)
