"""What the CUDA bindings are asked to do, against stand-ins: a machine without a GPU runs these tests too."""

from __future__ import annotations

import ctypes
import importlib.util
import sys
from enum import IntEnum
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from symscope.kernels import infinite_width
from symscope.kernels.infinite._fused import _chain_blocks, _cuda_driver
from symscope.kernels.infinite._fused._chain_source import conv_source, dense_source
from symscope.kernels.infinite._fused._chains import chain_of
from symscope.kernels.infinite._fused._cuda_driver import (
    CudaKernel,
    can_compile,
    compiled_image,
    cuda_bindings,
    cuda_kernel,
    packed_arguments,
)

CUBIN = b"\x7fELF machine code\x00"
LOG = b"line 1: no such thing\x00"


class Status(IntEnum):
    SUCCESS = 0
    FAILED = 6


def fill(target: bytes, content: bytes) -> tuple[Status]:
    """Write into bytes in place, as the bindings do."""
    ctypes.memmove(target, content, len(content))
    return (Status.SUCCESS,)


class Nvrtc:
    """A stand-in for `cuda.bindings.nvrtc` that accepts any source but one."""

    def __init__(self) -> None:
        self.sources: list[bytes] = []
        self.options: list[bytes] = []
        self.destroyed = 0

    def nvrtcVersion(self):
        return Status.SUCCESS, 12, 9

    def nvrtcCreateProgram(self, source, name, count, headers, names):
        assert (count, headers, names) == (0, [], [])
        self.sources.append(source)
        return Status.SUCCESS, len(self.sources) - 1

    def nvrtcCompileProgram(self, program, count, options):
        assert count == len(options)
        self.options = options
        return (Status.FAILED if b"nonsense" in self.sources[program] else Status.SUCCESS,)

    def nvrtcGetProgramLogSize(self, program):
        return Status.SUCCESS, len(LOG)

    def nvrtcGetProgramLog(self, program, log):
        return fill(log, LOG)

    def nvrtcGetCUBINSize(self, program):
        return Status.SUCCESS, len(CUBIN)

    def nvrtcGetCUBIN(self, program, image):
        return fill(image, CUBIN)

    def nvrtcDestroyProgram(self, program):
        self.destroyed += 1
        return (Status.SUCCESS,)


class Driver:
    """A stand-in for `cuda.bindings.driver` that notes what it is given."""

    CUfunction_attribute = SimpleNamespace(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES="shared")

    def __init__(self) -> None:
        self.shared: int | None = None
        self.launched: list[tuple] = []

    def cuModuleLoadData(self, address):
        return Status.SUCCESS, ctypes.string_at(address, len(CUBIN))

    def cuModuleGetFunction(self, module, name):
        return (Status.SUCCESS, (module, name)) if name == b"known" else (Status.FAILED, None)

    def cuFuncSetAttribute(self, function, attribute, value):
        assert attribute == "shared"
        self.shared = value
        return (Status.SUCCESS,)

    def cuLaunchKernel(self, function, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra):
        count = 3
        pointers = (ctypes.c_void_p * count).from_address(parameters)
        tensor = ctypes.c_void_p.from_address(pointers[0]).value
        numbers = [ctypes.c_int.from_address(pointers[i]).value for i in (1, 2)]
        self.launched.append(((gx, gy, gz), (bx, by, bz), shared, stream, tensor, numbers, extra))
        return (Status.SUCCESS if gx else Status.FAILED,)


@pytest.fixture
def bindings(monkeypatch):
    """Stand-ins where `import cuda.bindings` finds them, and nothing remembered from other tests."""
    driver, nvrtc = Driver(), Nvrtc()
    package = SimpleNamespace(__path__=[])
    for name, module in {"": package, ".bindings": package}.items():
        monkeypatch.setitem(sys.modules, f"cuda{name}", module)
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", driver)
    monkeypatch.setitem(sys.modules, "cuda.bindings.nvrtc", nvrtc)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    monkeypatch.setattr(torch.cuda, "device", lambda device: torch.no_grad())
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: SimpleNamespace(cuda_stream=11))
    for function in (cuda_bindings, cuda_kernel):
        function.cache_clear()
    yield driver, nvrtc
    for function in (cuda_bindings, cuda_kernel):
        function.cache_clear()


def test_a_source_becomes_a_kernel_once(bindings):
    driver, nvrtc = bindings
    kernel = cuda_kernel("source", "known", 50_000, 0)
    assert kernel.function == (CUBIN, b"known")
    assert driver.shared == 50_000
    assert b"--gpu-architecture=sm_90" in nvrtc.options
    assert cuda_kernel("source", "known", 50_000, 0) is kernel
    assert (nvrtc.sources, nvrtc.destroyed) == ([b"source"], 1)


def test_a_source_that_does_not_compile_shows_its_log(bindings):
    _, nvrtc = bindings
    with pytest.raises(RuntimeError, match="does not compile for sm_80:\nline 1: no such thing"):
        compiled_image(nvrtc, "nonsense", "chain.cu", "sm_80")
    assert nvrtc.destroyed == 1


def test_what_the_driver_refuses_is_named(bindings):
    driver, _ = bindings
    with pytest.raises(RuntimeError, match="CUDA: FAILED"):
        cuda_kernel("source", "unknown", 0, 0)
    with pytest.raises(RuntimeError, match="CUDA: FAILED"):
        CudaKernel(driver, None, 0).launch((0, 1, 1), (32, 1, 1), [torch.ones(1), 1, 2])


def test_a_launch_passes_pointers_and_numbers_on_the_current_stream(bindings):
    driver, _ = bindings
    x = torch.arange(3.0)
    CudaKernel(driver, None, 96).launch((4, 2, 1), (32, 8, 1), [x, -5, 1 << 30])
    assert driver.launched == [((4, 2, 1), (32, 8, 1), 96, 11, x.data_ptr(), [-5, 1 << 30], 0)]


def test_packed_values_are_what_the_pointers_point_to():
    x = torch.ones(2)
    values, pointers = packed_arguments([x, 3, x[1:], True])
    assert [ctypes.addressof(value) for value in values] == list(pointers)
    assert [value.value for value in values] == [x.data_ptr(), 3, x.data_ptr() + 4, 1]


def without_bindings(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)  # an import that fails
    cuda_bindings.cache_clear()


def test_missing_bindings_are_reported_once(bindings, monkeypatch, recwarn):
    gpu = torch.device("cuda")
    assert can_compile(gpu)
    without_bindings(monkeypatch)
    monkeypatch.delitem(sys.modules, "cuda.bindings.driver")
    with pytest.warns(RuntimeWarning, match="without compiled code, .*pip install cuda-bindings"):
        assert not can_compile(gpu)
    assert not can_compile(gpu)
    assert len(recwarn) == 0


def test_a_library_that_cannot_be_loaded_is_reported(bindings, monkeypatch):
    _, nvrtc = bindings

    def missing():
        raise RuntimeError("libnvrtc.so.12 not found")

    monkeypatch.setattr(nvrtc, "nvrtcVersion", missing)
    with pytest.warns(RuntimeWarning, match="libnvrtc.so.12 not found"):
        assert not can_compile(torch.device("cuda"))


def test_without_bindings_a_gpu_falls_back_to_plain_propagation(monkeypatch):
    monkeypatch.setattr(_cuda_driver, "cuda_bindings", lambda: None)
    network = infinite_width(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))).network
    x = torch.empty(1, 5, 3, device="meta")
    assert _chain_blocks.usable_chain(network, x, True, 5, torch.device("cuda")) is None
    monkeypatch.setattr(_cuda_driver, "cuda_bindings", lambda: ("driver", "nvrtc"))
    assert _chain_blocks.usable_chain(network, x, True, 5, torch.device("cuda")) is not None


@pytest.mark.skipif(importlib.util.find_spec("cuda") is None, reason="needs cuda-bindings")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_every_chain_compiles_with_the_real_compiler(dtype):
    """NVRTC needs no GPU."""
    result = cuda_bindings()
    if result is None:
        pytest.skip("needs NVRTC")
    dense = chain_of(infinite_width(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))).network)
    layers = (
        nn.Conv2d(1, 4, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(4, 4, 3, padding=1),
        nn.ReLU(),
        nn.Flatten(),
    )
    conv = chain_of(infinite_width(nn.Sequential(*layers, nn.Linear(4 * 64, 1))).network)
    sources = (dense_source(dense, dtype, True, True), conv_source(conv, (1, 8, 8), 4, 2, 2, dtype, True))
    for name, source in zip(("dense_chain", "conv_chain"), sources, strict=True):
        image = compiled_image(result[1], source, f"{name}.cu", "sm_90")
        assert image.startswith(b"\x7fELF")
        assert name.encode() in image


def test_the_cpu_needs_no_bindings(monkeypatch):
    monkeypatch.setattr(_cuda_driver, "cuda_bindings", lambda: pytest.fail("asked for"))
    assert not can_compile(torch.device("cpu"))
