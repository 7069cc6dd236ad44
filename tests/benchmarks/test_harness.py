"""The benchmark harness measures what it says: checked with a side that sleeps and sides that differ."""

from __future__ import annotations

import mmap
import sys

import numpy as np
import pytest
import torch

from benchmarks.cases import CASES, inputs, quick
from benchmarks.floors import Rates, bytes_moved, floor_seconds, machine_rates, operations
from benchmarks.measure import Comparison, Measured, off_diagonal
from benchmarks.protocol import Side, resident
from benchmarks.results import Run, document, table

SLEEPER = "tests.benchmarks.sleeper"


def measured(*seconds: float, peak: int = 3 * 2**20) -> Measured:
    return Measured(seconds, peak, 2**20, 1.0, "jit")


def run_of(*comparisons: Comparison, quick: bool = False, load: float = 0.1) -> Run:
    rates = {"float64": Rates(1e9, 1e9), "float32": Rates(2e9, 1e9)}
    imports = {"torch": 1.0, "symscope": 0.01, "symscope.kernels": 0.04}
    return Run("python -m benchmarks", 2, 3, quick, {"torch": "2"}, rates, comparisons, imports, {}, load)


def test_a_side_times_saves_and_counts_memory(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(6.0).reshape(3, 2))
    with Side(sys.executable, SLEEPER, cores=1) as side:
        assert side.ask("versions") == {"sleeper": "1"}
        side.ask("prepare", inputs=str(tmp_path / "x.npy"), pause=0.05, megabytes=64)
        assert 0.05 <= side.ask("run")["seconds"] < 1
        side.ask("save", path=str(tmp_path / "K.npy"))
        memory = side.ask("memory")
    assert np.array_equal(np.load(tmp_path / "K.npy"), np.array([[1.0, 3, 5], [3, 13, 23], [5, 23, 41]]))
    assert memory["peak"] - memory["started"] >= 60 * 2**20
    assert memory["peak"] < 512 * 2**20  # and not that of the process that started it


def test_a_side_that_dies_is_reported():
    side = Side(sys.executable, SLEEPER, cores=1)
    with pytest.raises(RuntimeError, match="sleeper ended with"):
        side.ask("die")
    side.__exit__()


def test_resident_memory_sees_an_allocation():
    before, size = resident(), 64 * 2**20
    with mmap.mmap(-1, size) as block:  # fresh pages: NumPy may be given memory that was freed before
        block.write(bytes(size))
        assert resident() - before > 48 * 2**20
        assert resident("VmHWM") >= resident() > size


def test_medians_ratios_and_verdicts():
    case = CASES[0]
    good = Comparison(case, "float64", measured(1, 2, 9), measured(3, 3.2, 5), 1e-12)
    assert good.ratio == 1.6
    assert ">= 1.5: met" in table(run_of(good))
    slow = Comparison(case, "float64", measured(2.5), measured(3.0), 1e-12)
    assert ">= 1.5: MISSED" in table(run_of(slow))
    assert "not judged" in table(run_of(slow, quick=True))
    alone = Comparison(case, "float32", measured(2.5), None, None)
    text = document(run_of(good, alone))
    assert "add 50 ms (5 %)" in text
    assert "1.0e-12" in text
    assert "busy" not in text
    assert "Load before the run: 1.9 (busy: the times are noise)" in document(run_of(good, load=1.9))


def test_difference_is_relative_and_off_the_diagonal():
    a = np.array([[5.0, 2.0], [2.0, 7.0]])
    b = np.array([[9.0, 2.002], [2.0, 7.0]])
    assert off_diagonal(a, b) == pytest.approx(0.002 / 2.002)


@pytest.mark.parametrize("case", CASES, ids=[case.key for case in CASES])
def test_inputs_are_centred_units_of_all_classes(case):
    x = inputs(quick(case))
    assert x.shape == (quick(case).images, 1, 6, 6)
    np.testing.assert_allclose(x.mean((1, 2, 3)), 0, atol=1e-15)
    np.testing.assert_allclose((x**2).sum((1, 2, 3)), 1)
    assert len(np.unique(x.reshape(len(x), -1), axis=0)) == len(x)


def test_floors_grow_as_the_work_does():
    mlp, _, flat, pooled, _ = CASES
    assert operations(mlp) == 2000 * 2001 / 2 * (2 * 784 + 30)
    assert bytes_moved(mlp, 8) == 8 * (2000 * 784 + 2000**2)
    per_pair = {case.key: operations(case) / (case.images * (case.images + 1) / 2) for case in (flat, pooled)}
    assert per_pair["convgap"] == 784 * per_pair["convfc"]
    assert floor_seconds(mlp, 8, Rates(1e9, 1e12)) == operations(mlp) / 1e9
    assert floor_seconds(mlp, 8, Rates(1e15, 1e6)) == bytes_moved(mlp, 8) / 1e6


def test_machine_rates_are_plausible():
    rates = machine_rates(torch.float32, size=128)
    assert 1e8 < rates.operations < 1e15
    assert 1e8 < rates.bytes < 1e13
