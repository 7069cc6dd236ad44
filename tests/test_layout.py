"""The layout: packages meet only in their public indices, and what is private is used by nobody outside."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = sorted(path.parent.name for path in (ROOT / "symscope").glob("*/__init__.py"))
NO_INDEX = {"symscope.data.bundled"}  # a folder of files


def imports(text: str) -> Iterator[tuple[str, str]]:
    """Module and name of every `from module import name`; an empty name for `import module`."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)


def sources(*folders: str) -> list[Path]:
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def past_an_index(text: str, own: str) -> list[str]:
    """Imports of another package's names that its index does not list."""
    wrong = []
    for module, name in imports(text):
        parts = module.split(".")
        if parts[0] != "symscope" or len(parts) < 2 or parts[1] not in PACKAGES or parts[1] == own:
            continue
        if len(parts) > 2 or name not in importlib.import_module(module).__all__:
            wrong.append(f"{module}:{name}")
    return wrong


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_meet_in_their_indices(package):
    wrong = {
        str(path.relative_to(ROOT)): names
        for path in sources(f"symscope/{package}")
        if (names := past_an_index(path.read_text(), package))
    }
    assert not wrong


def test_an_import_past_an_index_is_noticed():
    assert past_an_index("from symscope.groups.fourier import fourier", "data")
    assert past_an_index("from symscope.groups import fourier_of_nothing", "data")
    assert not past_an_index("from symscope.groups import cyclic\nimport torch", "data")
    assert not past_an_index("from symscope.groups._permutation import x", "groups")


def private(text: str, own: str = "") -> list[str]:
    """Imports of symscope's private modules and names by code that is not symscope's."""
    return [
        f"{module}:{name}"
        for module, name in imports(text)
        if module.split(".")[0] in {"symscope", "symscope_papers"} - {own}
        and re.search(r"(^|\.)_(?!version)", f"{module}.{name}")
    ]


def test_papers_and_benchmarks_use_public_modules_only():
    wrong = {
        str(path.relative_to(ROOT)): names
        for path in sources("symscope_papers", "benchmarks", "examples", "docs")
        if (names := private(path.read_text(), path.relative_to(ROOT).parts[0]))
    }
    assert not wrong
    assert private("from symscope.kernels._kernel import Kernel")
    assert private("from symscope.kernels import _kernel")


def test_documents_use_public_modules_only():
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for block in re.findall(r"^```python\n(.*?)^```", path.read_text(), re.DOTALL | re.MULTILINE):
            assert not private(block), path


def test_the_library_never_imports_the_papers():
    for path in sources("symscope"):
        assert not [module for module, _ in imports(path.read_text()) if module.startswith("symscope_papers")]


def public_modules() -> list[str]:
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in sources("symscope")]
    names = [name.removesuffix(".__init__") for name in names]
    public = [name for name in names if not re.search(r"\._|__main__", name)]
    return sorted(set(public) - NO_INDEX - {"symscope.data.bundled.make_sample"})


@pytest.mark.parametrize("name", public_modules())
def test_public_modules_list_what_they_offer(name):
    module = importlib.import_module(name)
    assert module.__doc__
    listed = module.__all__
    assert len(set(listed)) == len(listed)
    assert all(hasattr(module, one) for one in listed)


@pytest.mark.parametrize("package", PACKAGES)
def test_an_index_names_its_public_modules(package):
    text = importlib.import_module(f"symscope.{package}").__doc__ or ""
    prefix = f"symscope.{package}."
    inside = [name for name in public_modules() if name.startswith(prefix) and name.count(".") == 2]
    ends = {name: name.removeprefix(prefix) for name in inside}
    assert [name for name, end in ends.items() if not re.search(rf"`([a-z_]+\.)*{end}`", text)] == []


def test_importing_symscope_loads_no_package_and_knows_them_all():
    import symscope

    assert set(symscope.__all__) >= {*PACKAGES, "forecast", "testing"} - {"cli"}
    assert callable(symscope.forecast)
    assert set(dir(symscope)) == set(symscope.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        symscope.nothing  # noqa: B018
