"""Dipoles of real molecules under rotations of space, and stereocentres under a mirror.

python docs/guides/molecules.py            what targets-that-transform.md has of molecules, two minutes

Needs biotite, `pip install symscope[molecules]`.
"""

from __future__ import annotations

from moving_targets import print_case

from symscope.auditing import data_symmetry
from symscope.data import parse_action
from symscope.data.molecules import dipole_samples, handed_samples

HANDS = ("S", "R")


def main() -> None:
    """Forecast and trained dipoles, in the dictionary's orientation only; then what survives for R and S."""
    data = dipole_samples()
    print(f"{len(data)} molecules of up to {data.x.shape[1]} atoms")
    for group in ("O points:3", "I points:3"):
        print_case("dipoles", "pointnet", data, group, "vector")
    handed = handed_samples()
    print(f"{len(handed)} stereocentres, {handed.labels.bincount().tolist()} S and R")
    for group, action in (("O", "points"), ("C2", "flip-x")):
        acting = parse_action(action, group, tuple(handed.x.shape[1:]))
        answer = data_symmetry(handed, acting, class_names=HANDS)
        print(f"{group} {action}: {answer.recommendation}")
        for test in answer.labels:
            print(test.sentence(HANDS, acting.group.labels))


if __name__ == "__main__":
    main()
