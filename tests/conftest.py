"""What every test shares: shapes checked at run time, one thread, reproducible examples."""

from __future__ import annotations

import importlib.util
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # one worker per core: threads inside would only fight

import torch
from hypothesis import HealthCheck, settings

from tests.shapes import check_annotations

if importlib.util.find_spec("beartype") is not None:  # a machine may lack it; shapes are then not checked
    check_annotations(["symscope", "symscope_papers"])

torch.set_num_threads(1)

suppressed = [HealthCheck.too_slow, HealthCheck.data_too_large]
for profile, examples in (("symscope", 15), ("thorough", 100)):  # make slow runs the laws thoroughly
    settings.register_profile(
        profile,
        deadline=None,  # wall-clock is never asserted
        max_examples=examples,
        derandomize=True,
        suppress_health_check=suppressed,
    )
settings.load_profile("symscope")
