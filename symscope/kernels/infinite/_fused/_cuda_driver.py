"""CUDA source to kernels of this process: NVRTC and the CUDA driver through NVIDIA's own Python bindings.

PyTorch's CUDA builds bring both (`cuda-bindings`, `nvidia-cuda-nvrtc`), so neither a compiler nor a toolkit
is needed. No other file knows of them: where they are missing, the plain propagation does the work.
"""

from __future__ import annotations

import ctypes
import importlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, final

import torch
from torch import Tensor


def can_compile(device: torch.device) -> bool:
    """Whether chains can be compiled for a device: an NVIDIA device, and bindings that can be used.

    >>> can_compile(torch.device("cpu"))
    False
    """
    return device.type == "cuda" and torch.version.hip is None and cuda_bindings() is not None


@cache
def cuda_bindings() -> tuple[Any, Any] | None:
    """`driver` and `nvrtc` of `cuda.bindings`; None, with one warning, if they cannot be used."""
    try:
        driver, nvrtc = (importlib.import_module(f"cuda.bindings.{name}") for name in ("driver", "nvrtc"))
        _checked(nvrtc.nvrtcVersion())  # the first call loads the library
    except (ImportError, OSError, RuntimeError) as error:
        warnings.warn(
            f"kernels run on the GPU without compiled code, more slowly ({' '.join(str(error).split())}); "
            "pip install cuda-bindings, and the CUDA build of PyTorch with its libraries",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
    return driver, nvrtc


@final
@dataclass(frozen=True)
class CudaKernel:
    """A compiled kernel, loaded into the primary context of one device for the life of the process.

    Attributes:
        driver: The module `cuda.bindings.driver`.
        function: Handle of the kernel.
        shared: Bytes of dynamic shared memory of a block.
    """

    driver: Any
    function: Any
    shared: int

    def launch(
        self, grid: tuple[int, int, int], block: tuple[int, int, int], arguments: Sequence[Tensor | int]
    ) -> None:
        """Queue the kernel on PyTorch's current stream; tensors are passed as pointers, numbers as C ints.

        PyTorch's allocator reuses memory in the order of that stream, so tensors may be freed right after.
        """
        values, pointers = packed_arguments(arguments)
        stream = torch.cuda.current_stream().cuda_stream
        address = ctypes.addressof(pointers)
        _checked(self.driver.cuLaunchKernel(self.function, *grid, *block, self.shared, stream, address, 0))
        del values  # the driver has copied what `pointers` pointed to


@cache
def cuda_kernel(source: str, name: str, shared: int, device: int) -> CudaKernel:
    """The kernel of one source on one device; NVRTC takes about a second the first time.

    Args:
        source: CUDA C++ without includes.
        name: Name of the kernel, declared `extern "C"`.
        shared: Bytes of dynamic shared memory a block needs.
        device: Index of the device.

    Raises:
        RuntimeError: The source does not compile, with the compiler's log; or the driver refuses it.
    """
    result = cuda_bindings()
    assert result is not None, "asked for only where `can_compile` holds"
    driver, nvrtc = result
    major, minor = torch.cuda.get_device_capability(device)
    image = compiled_image(nvrtc, source, f"{name}.cu", f"sm_{major}{minor}")
    memory = ctypes.create_string_buffer(image, len(image))
    with torch.cuda.device(device):
        module = _checked(driver.cuModuleLoadData(ctypes.addressof(memory)))
        function = _checked(driver.cuModuleGetFunction(module, name.encode()))
        if shared:  # past 48 KiB, static memory included, a kernel has to ask
            attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            _checked(driver.cuFuncSetAttribute(function, attribute, shared))
    return CudaKernel(driver, function, shared)


def compiled_image(nvrtc: Any, source: str, name: str, architecture: str) -> bytes:
    """The machine code (CUBIN) of a CUDA source.

    Args:
        nvrtc: The module `cuda.bindings.nvrtc`.
        source: CUDA C++ without includes.
        name: File name the log uses.
        architecture: Architecture of the device, such as "sm_90".

    Raises:
        RuntimeError: The source does not compile, with the compiler's log.
    """
    program = _checked(nvrtc.nvrtcCreateProgram(source.encode(), name.encode(), 0, [], []))
    try:
        options = [f"--gpu-architecture={architecture}".encode(), b"--std=c++17"]
        status, *_ = nvrtc.nvrtcCompileProgram(program, len(options), options)
        if int(status):
            log = b" " * _checked(nvrtc.nvrtcGetProgramLogSize(program))
            _checked(nvrtc.nvrtcGetProgramLog(program, log))
            raise RuntimeError(
                f"{name} does not compile for {architecture}:\n{log.rstrip(bytes(1)).decode()}"
            )
        image = b" " * _checked(nvrtc.nvrtcGetCUBINSize(program))  # the bindings fill bytes in place
        _checked(nvrtc.nvrtcGetCUBIN(program, image))
        return image
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def packed_arguments(arguments: Sequence[Tensor | int]) -> tuple[list[Any], ctypes.Array[ctypes.c_void_p]]:
    """Arguments as the driver wants them: C values, and an array of pointers to these.

    The pointers are good as long as the values are kept.

    >>> values, pointers = packed_arguments([torch.ones(2), 7])
    >>> ctypes.cast(pointers[1], ctypes.POINTER(ctypes.c_int)).contents.value
    7
    """
    values = [
        ctypes.c_void_p(one.data_ptr()) if isinstance(one, Tensor) else ctypes.c_int(one) for one in arguments
    ]
    pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
    return values, pointers


def _checked(result: tuple[Any, ...]) -> Any:
    """What a call of the bindings returned after its status.

    Raises:
        RuntimeError: The status is not success; names it.
    """
    status, *values = result
    if int(status):
        raise RuntimeError(f"CUDA: {getattr(status, 'name', status)}")
    return values[0] if len(values) == 1 else values
