"""Known symmetries of standard layers, found in a user's model and verified on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import torch
from torch import Tensor, nn

from symscope.discovery._parameter_problem import ParameterProblem
from symscope.discovery._verification import Verification, verify
from symscope.discovery.candidates import Transformation
from symscope.discovery.fields import LinearField, linear_combination
from symscope.discovery.known._attention_spaces import unit_rows
from symscope.discovery.known._hidden_spaces import hidden_spaces, traced_graph
from symscope.discovery.known._spaces import ActivationKind, HiddenSpace, sparse_field
from symscope.networks import LOSSES
from symscope.numerics import check_memory, checked, explained, seed_generator

TESTED_PARAMETERS = 2048  # that one test moves at once
GENERATOR_BYTES = 20_000  # a generator without its matrix; its time is counted as memory
NORMS = (nn.LayerNorm, nn.RMSNorm, nn.GroupNorm, nn.InstanceNorm1d, nn.InstanceNorm2d)


@final
@dataclass(frozen=True)
class KnownSymmetry:
    """One entry of the catalogue, applied to a model.

    Attributes:
        name: Name in words, "rescaling of the hidden units between 0 and 2".
        kind: Kind of symmetry, "general linear", "rescaling", "permutation", "sign flip", "shift",
            "translation" or "scaling".
        fields: Generators of its Lie algebra; none for discrete symmetries.
        transformations: Generators of a discrete group; none for continuous ones.
        exact: Whether it holds exactly; a normalisation with eps > 0 is only approximately free of scale.
    """

    name: str
    kind: str
    fields: tuple[LinearField, ...] = ()
    transformations: tuple[Transformation, ...] = ()
    exact: bool = True

    @property
    def dimension(self) -> int:
        """Dimension of its Lie algebra."""
        return len(self.fields)


@final
@dataclass(frozen=True)
class VerifiedSymmetry:
    """A catalogue entry with the held-out tests of a random element of it, or of some of its generators."""

    symmetry: KnownSymmetry
    tests: tuple[Verification, ...]

    @property
    def holds(self) -> bool:
        return all(test.holds for test in self.tests)


@explained
def catalogue(problem: ParameterProblem) -> tuple[KnownSymmetry, ...]:
    """The symmetries that a model has because of its layers.

    - layers with nothing but linear maps between them, queries with keys, values with outputs: `GL(h)`
      (`W1 -> A W1, W2 -> W2 A^-1`), and shifts of the biases between them;
    - ReLU, leaky ReLU, max pooling between: rescaling of every unit, permutations;
    - tanh and other odd activations: sign flips and permutations; other activations: permutations;
    - a layer before a normalisation: its scale (approximately, for eps > 0), and the mean of its outputs;
    - the last layer before a softmax (cross-entropy): a vector added to all its rows;
    - the bias of keys.

    Args:
        problem: Network and loss.

    Returns:
        The entries; `verified_catalogue` tests each.

    >>> from symscope.discovery import gaussian_data, parameter_problem
    >>> net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    >>> made = parameter_problem(net, "squared", gaussian_data((3,), (2,)))
    >>> [(s.kind, s.dimension) for s in catalogue(made)]
    [('rescaling', 4), ('permutation', 0)]
    """
    entries = [e for space in hidden_spaces(problem) for e in space_symmetries(space, problem.size)]
    entries += _normalised(problem)
    entries += _softmax(problem)
    entries += _key_biases(problem)
    return tuple(entries)


@checked
def verified_catalogue(
    problem: ParameterProblem, *, seed: int, points: int = 16
) -> tuple[VerifiedSymmetry, ...]:
    """Every catalogue entry, with held-out tests on this very model.

    Of a Lie algebra a random element is tested: it is a symmetry only if all generators are, with probability
    one. In wide layers it is made of some of the generators. Of a discrete group three generators are drawn.

    Args:
        problem: Network and loss.
        seed: Seed for drawing elements and held-out points.
        points: Number of held-out points of each test.
    """
    generator = seed_generator(seed)
    result = []
    for entry in catalogue(problem):
        tests = []
        if entry.fields:
            weights = torch.randn(len(entry.fields), generator=generator, dtype=torch.float64)
            some = _tested_together(entry.fields, seed)
            element = linear_combination([entry.fields[i] for i in some], weights[some], entry.name)
            tests.append(verify(problem, element, seed=seed, points=points))
        count = len(entry.transformations)
        drawn = torch.randperm(count, generator=generator)[:3].tolist()
        tests += [verify(problem, entry.transformations[i], seed=seed, points=points) for i in drawn]
        result.append(VerifiedSymmetry(entry, tuple(tests)))
    return tuple(result)


def _tested_together(fields: tuple[LinearField, ...], seed: int) -> list[int]:
    """Positions of all generators, or of so many drawn ones that together they act on few parameters."""
    order = list(range(len(fields)))
    if len(torch.unique(torch.cat([field.support for field in fields]))) <= TESTED_PARAMETERS:
        return order
    order = torch.randperm(len(fields), generator=torch.Generator().manual_seed(seed)).tolist()
    sizes = torch.tensor([len(fields[i].support) for i in order]).cumsum(0)
    return order[: max(1, int((sizes <= TESTED_PARAMETERS).sum()))]


def _check_room(name: str, generators: int, size: int) -> None:
    """Refuses generators on so many parameters each that memory would not hold them."""
    check_memory(
        f"{name} ({generators} generators)",
        generators * (GENERATOR_BYTES + size),
        "freeze layers with requires_grad_(False), or take a narrower network",
    )


def space_symmetries(space: HiddenSpace, parameters: int) -> list[KnownSymmetry]:
    """The symmetries of a hidden space, from what lies between its layers.

    Raises:
        InputError: So many units that their generators would not fit into memory.
    """
    units, entries = range(space.size), []
    weights = sum(side.positions.shape[1] for side in space.sides)
    if space.between is ActivationKind.LINEAR and space.mixes:
        _check_room(f"GL({space.size}) on the {space.name}", space.size**2, 8 * (2 * weights) ** 2)
    _check_room(f"symmetries of the {space.name}", space.size, 8 * weights**2 + 16 * parameters)
    if space.between is ActivationKind.LINEAR and space.mixes:
        fields = tuple(space.mixing(a, b) for a in units for b in units)
        entries.append(KnownSymmetry(f"GL({space.size}) on the {space.name}", "general linear", fields))
    elif space.between in (ActivationKind.LINEAR, ActivationKind.HOMOGENEOUS):
        fields = tuple(space.rescaling(a) for a in units)
        entries.append(KnownSymmetry(f"rescaling of the {space.name}", "rescaling", fields))
    if space.between is ActivationKind.LINEAR and space.shifts:
        fields = tuple(space.shift(a) for a in units)
        entries.append(KnownSymmetry(f"shifts of the {space.name}", "shift", fields))
    if space.between is ActivationKind.ODD:
        flips = tuple(space.flip(a, parameters) for a in units)
        entries.append(KnownSymmetry(f"sign flips of the {space.name}", "sign flip", transformations=flips))
    if space.permutes and space.size > 1 and not (space.mixes and space.between is ActivationKind.LINEAR):
        swaps = tuple(space.swap(a, a + 1, parameters) for a in units[:-1])
        entries.append(
            KnownSymmetry(f"permutations of the {space.name}", "permutation", transformations=swaps)
        )
    return entries


def translation(positions: Tensor, name: str) -> LinearField:
    """The same constant added to some entries."""
    size = len(positions)
    zero = torch.zeros(size, size, dtype=torch.float64)
    return LinearField(positions, zero, torch.ones(size, dtype=torch.float64), name)


def _normalised(problem: ParameterProblem) -> list[KnownSymmetry]:
    """Layers that only a normalisation reads: free of scale, and of their mean where it is taken off."""
    module, layout = problem.network.module, problem.layout
    graph, named, entries = traced_graph(module), dict(module.named_modules()), []
    for node in graph.nodes if graph is not None else ():
        writer = named.get(str(node.target)) if node.op == "call_module" else None
        users = list(node.users)
        if not isinstance(writer, nn.Linear | nn.Conv1d | nn.Conv2d) or len(users) != 1:
            continue
        norm = named.get(str(users[0].target)) if users[0].op == "call_module" else None
        rows = unit_rows(str(node.target), writer, layout)
        if not isinstance(norm, NORMS) or rows is None:
            continue
        columns = rows.T.contiguous()
        _check_room(f"scaling of {node.target}", 1, 8 * columns.numel() ** 2)
        name, after = str(node.target), str(users[0].target)
        flat = columns.reshape(-1)
        scale = sparse_field(flat, flat, torch.ones(len(flat)).double(), f"scaling of {name} before {after}")
        free = getattr(norm, "eps", None) == 0
        entries.append(KnownSymmetry(scale.name, "scaling", (scale,), exact=free))
        if isinstance(norm, nn.LayerNorm) and isinstance(writer, nn.Linear):
            what = f"mean of the outputs of {name}, which {after} takes off"
            fields = tuple(translation(c, f"{what}: column {i}") for i, c in enumerate(columns))
            entries.append(KnownSymmetry(f"translation of the {what}", "translation", fields))
    return entries


def _softmax(problem: ParameterProblem) -> list[KnownSymmetry]:
    """The last linear layer, when a softmax reads it: in the loss, or at the network's end.

    A user's own loss may hold a softmax: the entry is then made, and the test on the model decides.
    """
    name, reads = _last_layer(problem.network.module)
    softmax_losses = [LOSSES["cross-entropy"], LOSSES["soft-cross-entropy"]]
    reads |= problem.loss in softmax_losses or problem.loss not in LOSSES.values()
    layer = problem.network.module.get_submodule(name) if name is not None else None
    if name is None or not reads or not isinstance(layer, nn.Linear):
        return []
    rows = unit_rows(name, layer, problem.layout)
    _check_room(f"translation of the outputs of {name}", layer.in_features + 1, 8 * layer.out_features**2)
    what = f"outputs of {name or 'the layer'} before the softmax"
    fields = tuple(
        translation(c, f"translation of the {what}: column {i}")
        for i, c in enumerate(rows.T.contiguous() if rows is not None else ())
    )
    return [KnownSymmetry(f"translation of the {what}", "translation", fields)] if fields else []


def _last_layer(module: nn.Module) -> tuple[str | None, bool]:
    """The name of the module whose outputs are the network's, and whether a softmax follows it."""
    if isinstance(module, nn.Linear):
        return "", False
    graph, named = traced_graph(module), dict(module.named_modules())
    if graph is None:
        return None, False
    end: Any = next(node for node in graph.nodes if node.op == "output").args[0]
    softmax = False
    while _calls(end) and isinstance(named[str(end.target)], nn.Softmax | nn.LogSoftmax):
        softmax, end = True, end.args[0]
    return (str(end.target) if _calls(end) and len(end.users) == 1 else None), softmax


def _calls(node: Any) -> bool:
    return getattr(node, "op", "") == "call_module"


def _key_biases(problem: ParameterProblem) -> list[KnownSymmetry]:
    """A bias of the keys adds one number to all scores of a query: the softmax takes it off."""
    entries = []
    for name, module in problem.network.module.named_modules():
        bias = f"{name}.in_proj_bias" if name else "in_proj_bias"
        if isinstance(module, nn.MultiheadAttention) and bias in problem.layout.names:
            keys = problem.layout.indices(bias).chunk(3)[1]
            fields = tuple(translation(k[None], f"key bias {i} of {name}") for i, k in enumerate(keys))
            entries.append(KnownSymmetry(f"translation of the key bias of {name}", "translation", fields))
    return entries
