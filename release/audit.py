"""Known vulnerabilities of the locked packages, asked of https://osv.dev (`make audit`).

Exit status: 0 none is known, 1 some are, 2 the question could not be asked.
"""

from __future__ import annotations

import json
import sys
import urllib.error
import urllib.request
from collections.abc import Sequence

from release.lock import STEPS, LockedPackage, locked

SERVICE = "https://api.osv.dev/v1/querybatch"


def known_vulnerabilities(
    packages: Sequence[LockedPackage], service: str = SERVICE, seconds: float = 30.0
) -> dict[LockedPackage, list[str]]:
    """Identifiers of what is known, for the packages that have any.

    Args:
        packages: Packages to ask about.
        service: Address of an OSV `querybatch`.
        seconds: How long to wait for each answer.

    Raises:
        OSError: The service cannot be reached or refuses.
        ValueError: The answer is not OSV's.
    """
    known: dict[LockedPackage, list[str]] = {}
    waiting = [(package, "") for package in packages]
    while waiting:  # long answers come in pages
        queries = [
            {"package": {"name": one.name, "ecosystem": "PyPI"}, "version": one.version}
            | ({"page_token": token} if token else {})
            for one, token in waiting
        ]
        request = urllib.request.Request(
            service, json.dumps({"queries": queries}).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=seconds) as answer:
            results = json.load(answer)
        try:
            pairs = list(zip(waiting, results["results"], strict=True))
            waiting = []
            for (package, _), result in pairs:
                for one in result.get("vulns", []):
                    known.setdefault(package, []).append(str(one["id"]))
                if token := result.get("next_page_token"):
                    waiting.append((package, token))
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"expected OSV's answer, got something else ({error!r})") from error
    return known


def main(service: str = SERVICE) -> int:
    """Ask about every locked package, print what is known; the exit status."""
    packages = locked("torch", *STEPS)
    try:
        known = known_vulnerabilities(packages, service)
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        print(f"audit: {service} could not be asked ({reason}); it needs a network, nothing was checked.")
        return 2
    for package, identifiers in known.items():
        print(f"{package.name} {package.version}: {', '.join(sorted(identifiers))}")
    print(f"{len(packages)} locked packages, {len(known)} with known vulnerabilities (https://osv.dev/ID).")
    return 1 if known else 0


if __name__ == "__main__":
    sys.exit(main())
