"""How many planted faults does an audit name first? `python -m benchmarks.audit_faults [SEED]`; a minute.

The first list was fixed before the rules of the audit were tuned, the second was written afterwards
(`tests/auditing/planted.py`, `planted_more.py`). Named first: the first cause is of the planted kind, and
where the fault has a place its sentence says it. Clean subjects must have no cause at all.
"""

from __future__ import annotations

import sys
import time

import symscope
from tests.auditing.planted import CLEAN, DRAW, FAULTS, Fault, is_named
from tests.auditing.planted_more import MORE, MORE_CLEAN


def main() -> None:
    """Print a row for each subject, then the rates."""
    DRAW["seed"] = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    lists = {"first list": FAULTS, "second list": MORE, "clean": (*CLEAN, *MORE_CLEAN)}
    rates = []
    for title, faults in lists.items():
        print(f"\n{title}")
        named = sum(_row(fault) for fault in faults)
        rates.append(f"{title}: {named} of {len(faults)} ({named / len(faults):.0%})")
    print("\nNamed first, or clean: " + "; ".join(rates))


def _row(fault: Fault) -> bool:
    given = fault.make()
    model, data, action = (given.pop(key) for key in ("model", "data", "action"))
    start = time.process_time()
    result = symscope.audit(model, data, action, repairs=False, **given)
    right = is_named(fault, result)
    shares = "  ".join(f"{one.kind} {one.share:.0%}" for one in result.causes if one.share >= 0.005)
    mark = "yes" if right else "NO "
    spent = time.process_time() - start
    print(
        f"{mark} {fault.name:34s} error {result.error:7.1%}  {shares or 'clean':42s} {spent:4.1f} s",
        flush=True,
    )
    if not right:
        print(f"    {result.verdict}")
    return right


if __name__ == "__main__":
    main()
