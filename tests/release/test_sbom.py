from __future__ import annotations

import json
import re

from release.lock import locked
from release.sbom import bill_of_materials, main
from symscope import __version__


def test_every_package_that_runs_is_listed_with_the_digests_of_its_files():
    bill = bill_of_materials("9.9")
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    assert bill["metadata"]["component"]["purl"] == "pkg:pypi/symscope@9.9"
    listed = {
        (one["name"], one["version"]): {
            digest["content"] for reference in one["externalReferences"] for digest in reference["hashes"]
        }
        for one in bill["components"]
    }
    assert listed == {(one.name, one.version): set(one.digests) for one in locked("torch", "run")}
    scopes = {one["name"]: one["scope"] for one in bill["components"]}
    assert (scopes["torch"], scopes["numpy"], scopes["nvidia-cublas"]) == ("required", "required", "optional")


def test_references_are_unique_and_lead_somewhere():
    bill = bill_of_materials("9.9")
    references = [bill["metadata"]["component"]["bom-ref"], *(one["bom-ref"] for one in bill["components"])]
    assert len(references) == len(set(references))
    [root] = bill["dependencies"]
    assert root["ref"] == references[0]
    assert set(root["dependsOn"]) < set(references)
    assert len(root["dependsOn"]) == 12


def test_the_same_lock_files_give_the_same_file(tmp_path, capsys):
    main(tmp_path)
    [path] = tmp_path.iterdir()
    assert path.name == f"symscope-{__version__}.cdx.json"
    content = path.read_bytes()
    main(tmp_path)
    assert path.read_bytes() == content
    serial = json.loads(content)["serialNumber"]
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", serial)
