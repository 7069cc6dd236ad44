"""The bill of materials of a release: CycloneDX 1.6 JSON, written from the lock files (`make release`).

It lists what symscope needs to run. The CUDA packages are optional: only PyTorch's build for them needs them.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
import uuid
from pathlib import Path
from typing import Any

from release.lock import ROOT, TORCH, LockedPackage, locked


def bill_of_materials(version: str) -> dict[str, Any]:
    """The bill, the same for the same lock files: no time, no random number.

    Args:
        version: Version of symscope that is released.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    itself = f"pkg:pypi/symscope@{version}"
    components = [_component(one) for one in locked("torch", "run")]
    direct = {re.split(r"[\[<>=~! ]", text)[0].lower() for text in project["dependencies"]}
    content: dict[str, Any] = {
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": itself,
                "name": "symscope",
                "version": version,
                "purl": itself,
                "licenses": [{"license": {"id": project["license"]}}],
            }
        },
        "components": components,
        "dependencies": [
            {"ref": itself, "dependsOn": [one["bom-ref"] for one in components if one["name"] in direct]}
        ],
    }
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(content, sort_keys=True))
    head = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
    }
    return {**head, **content}


def _component(package: LockedPackage) -> dict[str, Any]:
    purl = f"pkg:pypi/{package.name}@{package.version}"
    return {
        "type": "library",
        "bom-ref": purl,
        "name": package.name,
        "version": package.version,
        "scope": "optional" if package.name != "torch" and TORCH.fullmatch(package.name) else "required",
        "purl": purl,
        "externalReferences": [  # one digest for each file of the package: a wheel per platform, the source
            {
                "type": "distribution",
                "url": f"https://pypi.org/project/{package.name}/{package.version}/#files",
                "hashes": [{"alg": "SHA-256", "content": digest} for digest in package.digests],
            }
        ],
    }


def main(folder: Path) -> None:
    """Write the bill beside what was built."""
    from symscope import __version__

    path = folder / f"symscope-{__version__}.cdx.json"
    bill = bill_of_materials(__version__)
    path.write_text(json.dumps(bill, indent=1) + "\n", encoding="utf-8")
    print(f"{path}: {len(bill['components'])} components")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
