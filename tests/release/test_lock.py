from __future__ import annotations

import re
import tomllib

import pytest

from release.lock import CPU_BUILDS, ROOT, STEPS, locked, parse_lock

FILES = ("torch", "torch-cpu", *STEPS)


def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize("step", FILES)
def test_what_is_read_is_what_is_written(step):
    packages = locked(step)
    assert parse_lock("".join(map(str, packages))) == packages
    assert all(package.digests for package in packages)


def test_no_package_is_locked_twice_or_in_two_versions():
    packages = locked("torch", *STEPS)
    names = [(package.name, package.marker) for package in packages]
    assert len(names) == len(set(names))
    for name in {package.name for package in packages}:
        same = [package for package in packages if package.name == name]
        assert len({(package.version, package.digests) for package in same}) == 1
        assert all(package.marker for package in same[:-1])  # for some platforms first, then for all


def test_everything_the_project_asks_for_is_locked():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = project["build-system"]["requires"] + project["project"]["dependencies"]
    wanted += [one for extra in project["project"]["optional-dependencies"].values() for one in extra]
    names = {normal(re.match(r"[\w.-]+", one)[0]) for one in wanted} - {"symscope"}
    assert names <= {package.name for package in locked("torch", *STEPS)}


def test_both_builds_of_torch_have_one_version():
    [cpu], [torch] = locked("torch-cpu"), [one for one in locked("torch") if one.name == "torch"]
    assert cpu.version == f"{torch.version}+cpu"
    assert cpu.digests == CPU_BUILDS[torch.version]
    assert not set(cpu.digests) & set(torch.digests)


@pytest.mark.parametrize(
    "line",
    ["numpy>=2.0", "numpy==2.0", "numpy==2.0 --hash=md5:0", f"numpy --hash=sha256:{'0' * 64}", "-r other"],
)
def test_what_is_not_pinned_and_hashed_is_refused(line):
    with pytest.raises(ValueError, match="expected NAME==VERSION"):
        parse_lock(line)
