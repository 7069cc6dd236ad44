"""`python -m benchmarks.audit_advice`: does the advice of `data_symmetry` win when networks are trained?

In each case the advice is asked of the training data alone. Then a perceptron and a small convolutional
network are trained without augmentation, augmented by the whole group, and augmented by the part that is
advised, if one is; each with three seeds. The advice wins where its choice has the best accuracy on new
samples by more than one percentage point, ties within one, and loses otherwise.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import final

import torch
from torch import Tensor, nn

from symscope.auditing import data_symmetry
from symscope.data import Action, LabelledData, dihedral_action, mnist_sample, rotation
from symscope.data.images import flip, flip_both
from symscope.data.synthetic import letters
from symscope.numerics import seeded

SEEDS = 3
STEPS = 200
BATCH = 48
RATE = 3e-3
MARGIN = 0.01  # accuracies nearer than this are a tie


@final
@dataclass(frozen=True)
class Case:
    """Training data, new samples, and the elements they will be met under if the training data lacks them."""

    name: str
    data: LabelledData
    new: LabelledData
    action: Action
    met: tuple[int, ...] = ()


def moved(data: LabelledData, action: Action, elements: range | list[int], seed: int) -> LabelledData:
    """Each sample moved by one of some elements at random."""
    drawn = torch.tensor(elements)[torch.randint(len(elements), (len(data),), generator=seeded(seed, 51))]
    return replace(data, x=action.act(drawn, data.x))


def digits(*classes: int) -> tuple[LabelledData, LabelledData]:
    """MNIST at 14 x 14: forty training samples of each class, and 160 new ones."""
    whole = mnist_sample(torch.float32).of_classes(*classes)
    small = replace(whole, x=nn.functional.avg_pool2d(whole.x, 2))
    order = torch.cat([(whole.labels == c).nonzero()[:, 0] for c in classes]).reshape(len(classes), -1)
    return tuple(  # type: ignore[return-value]
        replace(
            small.take(part.flatten()), labels=torch.arange(len(classes)).repeat_interleave(part.shape[1])
        )
        for part in (order[:, :40], order[:, 40:])
    )


def drawn_letters(names: str, count: int = 60) -> tuple[LabelledData, LabelledData]:
    """Training letters and new ones."""
    return letters(count, 1, names).to(dtype=torch.float32), letters(150, 2, names).to(dtype=torch.float32)


def cases() -> list[Case]:
    """Cases in which the symmetry is there, is there in part, or is not."""
    quarter, mirrors = rotation(4), flip_both()
    result = []
    known, new = digits(*range(10))
    result.append(Case("digits, new ones upright, C4", known, new, quarter))
    result.append(
        Case("digits, new ones turned, C4", known, moved(new, quarter, range(4), 1), quarter, (1, 2, 3))
    )
    spread = moved(known, quarter, range(4), 2), moved(new, quarter, range(4), 3)
    result.append(Case("turned digits, C4", *spread, quarter))
    result.append(Case("6 and 9, half turn", *digits(6, 9), rotation(2)))
    result.append(Case("b d p q, mirrors", *drawn_letters("bdpq"), mirrors))
    known, new = drawn_letters("FJx", 20)
    result.append(Case("F J x upright, C4", known, new, quarter))
    both = flip("x")
    result.append(
        Case("F J x mirrored at random", moved(known, both, range(2), 4), moved(new, both, range(2), 5), both)
    )
    known, new = drawn_letters("bd", 40)
    chiral = moved(known, quarter, range(4), 6), moved(new, quarter, range(4), 7)
    result.append(Case("chirality: turned b and d, D4", *chiral, dihedral_action(4)))
    near, steps = [*range(33, 36), *range(4)], rotation(36)
    known, new = drawn_letters("bdFJ", 30)
    tilted = moved(known, steps, near, 8), moved(new, steps, near, 9)
    result.append(Case("letters within 30°, C18", *tilted, rotation(18)))
    return result


def perceptron(side: int, classes: int) -> nn.Module:
    """One hidden layer."""
    return nn.Sequential(nn.Flatten(), nn.Linear(side * side, 128), nn.ReLU(), nn.Linear(128, classes))


def convolutional(side: int, classes: int) -> nn.Module:
    """Two convolutions."""
    rest = side // 2 // 2
    return nn.Sequential(
        nn.Unflatten(1, (1, side)),
        nn.Conv2d(1, 8, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(16 * rest * rest, classes),
    )


def accuracy(case: Case, network: Callable[[int, int], nn.Module], points: Tensor, seed: int) -> float:
    """Accuracy on new samples after training on samples under some elements, `points[s, k]`."""
    torch.manual_seed(seed)
    net = network(case.data.x.shape[-1], len(case.data.classes))
    optimiser, draw = torch.optim.Adam(net.parameters(), RATE), seeded(seed, 52)
    for _ in range(STEPS):
        at = torch.randint(len(points), (BATCH,), generator=draw)
        element = torch.randint(points.shape[1], (BATCH,), generator=draw)
        loss = nn.functional.cross_entropy(net(points[at, element]), case.data.labels[at])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    with torch.no_grad():
        return float((net(case.new.x).argmax(1) == case.new.labels).double().mean())


def main() -> None:
    """Asks, trains, and prints a table in Markdown."""
    start, counts = time.process_time(), {"won": 0, "tied": 0, "lost": 0}
    print("| case | advice | network | not augmented | whole group | part | advice |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for case in cases():
        found = data_symmetry(case.data, case.action, met_elements=case.met)
        elements = {"not": [case.action.group.identity], "want": list(case.action.group.elements)}
        if found.recommendation == "part":
            elements["part"] = list(found.wanted_elements)
        moving = {
            name: torch.stack([case.action.act(g, case.data.x) for g in some], 1)
            for name, some in elements.items()
        }
        for network in (perceptron, convolutional):
            scores = {
                name: sum(accuracy(case, network, points, seed) for seed in range(SEEDS)) / SEEDS
                for name, points in moving.items()
            }
            lead = scores[found.recommendation] - max(
                score for name, score in scores.items() if name != found.recommendation
            )
            outcome = "won" if lead > MARGIN else "lost" if lead < -MARGIN else "tied"
            counts[outcome] += 1
            row = (f"{scores[name]:.1%}" if name in scores else "" for name in ("not", "want", "part"))
            cells = (case.name, found.recommendation, network.__name__, *row, outcome)
            print(f"| {' | '.join(cells)} |", flush=True)
    total = ", ".join(f"{count} {name}" for name, count in counts.items())
    print(f"\n{total}; {time.process_time() - start:.0f} CPU seconds.")


if __name__ == "__main__":
    main()
