"""Every name that code of the package uses is there: the linter cannot say it, because axis names in shapes
(`Float[Tensor, "n"]`) look like undefined names to it."""

from __future__ import annotations

import builtins
import dis
import importlib
import pkgutil
from types import CodeType, ModuleType

import pytest

import symscope
import symscope_papers

ONLY_WITH_A_GPU = "symscope.networks._attention_triton"  # imports Triton
MODULES = sorted(
    module.name
    for package in (symscope, symscope_papers)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    if module.name != ONLY_WITH_A_GPU and not module.name.endswith("__main__")
)


def unknown_names(code: CodeType, module: ModuleType) -> set[str]:
    """Names that code takes from its module and that are neither there nor built in."""
    result = {
        step.argval
        for step in dis.get_instructions(code)
        if step.opname == "LOAD_GLOBAL"
        and not hasattr(module, step.argval)
        and not hasattr(builtins, step.argval)
    }
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            result |= unknown_names(constant, module)
    return result


@pytest.mark.parametrize("name", MODULES)
def test_every_name_is_there(name):
    module = importlib.import_module(name)
    source = module.__loader__.get_source(name)
    assert not unknown_names(compile(source, name, "exec"), module)


def test_a_missing_name_is_found():
    code = compile("def f():\n    return [missing(x) for x in range(3)]", "example", "exec")
    assert unknown_names(code, ModuleType("example")) == {"missing"}
