"""The group experiment on small groups, and claims that can fail."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
import torch

from symscope import InputError
from symscope.groups import cyclic, dihedral, direct_product, symmetric
from symscope.groups.named_groups import quaternion
from symscope.runs import CellContext, ClaimKind
from symscope.spectral.irrep_blocks import fourier_blocks, frequencies
from symscope_papers.block_graphs import is_connected
from symscope_papers.spectral.groups import groups
from symscope_papers.spectral.groups.claims import judge_claims
from symscope_papers.spectral.groups.config import Groups
from symscope_papers.spectral.groups.irrep_names import contents, dimension, irrep_label, partitions
from symscope_papers.spectral.groups.measure import irrep_profile, missing_masks
from symscope_papers.spectral.groups.problems import CASES, ProblemSizes, different_graphs, orbit_problem
from tests.tolerances import FOURIER

SMALL = Groups(seeds=2, side=14, shifts=(2, 7), nodes=4, points=3)


@pytest.fixture(scope="module")
def tables():
    result = {}
    for number, cell in enumerate(groups.cells(SMALL)):
        for name, rows in groups.measure(SMALL, cell, CellContext(number, 0, "cpu")).items():
            result.setdefault(name, []).extend({**cell, **row} for row in rows)
    return {name: pd.DataFrame(rows) for name, rows in result.items()}


def test_the_exact_form_is_dense_regression_and_pooling_is_exact(tables):
    claims = judge_claims(SMALL, tables)
    assert len(claims) == 12
    assert {claim.kind for claim in claims} == {ClaimKind.BEYOND}
    assert max(claim.measured for claim in claims[:10]) < 1e-8
    assert claims[10].measured.endswith("largest error 0")
    assert claims[11].measured < 1e-4


def test_measurements_are_those_of_the_tables(tables):
    for number, table, row, column, value in [
        (0, "errors", 2, "difference", 1e-6),
        (9, "errors", -1, "difference", 1e-6),
        (10, "errors", -1, "error", 1e-12),
        (11, "irreps", 2, "slope", 0.9),
    ]:
        worse = {name: frame.copy() for name, frame in tables.items()}
        worse[table].loc[worse[table].index[row], column] = value
        assert judge_claims(SMALL, worse)[number].measured != judge_claims(SMALL, tables)[number].measured, (
            number
        )


def test_missing_sets_are_of_three_kinds(tables):
    errors = tables["errors"]
    for _, part in errors.groupby("case"):
        sizes = part.groupby(["missing", "set"]).size()
        assert (sizes["one point"] == 1).all()
        assert (sizes["a class's points"] == 2).all()
        assert (sizes["a third of all points"] >= 3).all()
    masks = missing_masks(torch.tensor([[0, 0, 2, 2], [0, 1, 2, 3]]), 1, seed=1)
    assert not masks[:, 0, [1, 3]].any()  # a point is named by its first element only


def test_parts_of_a_profile_are_those_of_its_blocks():
    """By characters here, by matrices of the irreps there."""
    group = symmetric(3)
    draw = torch.rand(2, 2, 6, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    profile = draw + draw.transpose(0, 1)[:, :, group.inverses]
    parts = [irrep_profile(profile, frequency, group) for frequency in frequencies(group)]
    torch.testing.assert_close(sum(parts), profile, rtol=0, atol=FOURIER)
    for i, part in enumerate(parts):
        for j, (_, block) in enumerate(fourier_blocks(part, group)):
            kept = [b for _, b in fourier_blocks(profile, group)][j]
            expected = kept if i == j else torch.zeros_like(kept)
            torch.testing.assert_close(block, expected, rtol=0, atol=FOURIER)


def test_figures_show_what_limits(tables):
    agreement, shares = groups.plot(SMALL, tables)
    assert len([axes for axes in agreement.figure.axes if axes.get_title(loc="left")]) == 10
    titles = [axes.get_title(loc="left") for axes in shares.figure.axes if axes.get_title(loc="left")]
    assert len(titles) == 8  # invariant networks have no shares to show
    assert any("S4: graphs" in title for title in titles)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cases": ("d4-mlp", "d4-vit")}, "cases: unknown 'd4-vit'; did you mean"),
        ({"cases": ()}, "cases: expected at least one"),
        ({"seeds": 0}, "seeds: expected 1 or more, got 0"),
        ({"side": 20}, "14 or 28 pixels, got 20"),
        ({"shifts": (3, 7)}, r"shifts: expected divisors of 14 from 1 on, got \(3, 7\)"),
        ({"nodes": 7}, "nodes: expected numbers from 3 to 6, got 7"),
    ],
)
def test_bad_configs_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        replace(SMALL, **change)


SIZES = ProblemSizes(samples=2, side=14, shifts=(2, 7), nodes=5, points=4)


@pytest.mark.parametrize("case", CASES)
def test_kernels_respect_their_groups(case):
    """`k(g x, g y) = k(x, y)` on samples, whatever the exact form makes of it."""
    asked = orbit_problem(case, SIZES, seed=1, device="cpu")
    x, y = asked.samples[:1], asked.samples[1:]
    before = asked.kernel(x, y)
    for g in (1, asked.action.group.order // 2, asked.action.group.order - 1):
        after = asked.kernel(asked.action.act(g, x), asked.action.act(g, y))
        torch.testing.assert_close(after, before, rtol=1e-7, atol=0)
    assert asked.labels.tolist() == [1, 1, -1, -1]


def test_only_graphs_have_symmetric_seeds():
    for case in CASES:
        kept = orbit_problem(case, SIZES, seed=0, device="cpu").stabilisers
        assert all(len(one) > 1 for one in kept) == case.startswith("graph")


def test_graphs_are_different_up_to_names():
    graphs = different_graphs(5, 5, seed=3)
    assert is_connected(graphs).tolist() == [True] * 5 + [False] * 5
    spectra = torch.linalg.eigvalsh(
        graphs
    )  # graphs on five nodes: equal spectra and degrees mean equal graphs
    degrees = graphs.sum(2).sort(dim=1).values
    names = torch.cat([spectra, degrees], dim=1).round(decimals=6)
    assert len(names.unique(dim=0)) == 10


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: orbit_problem("d5-mlp", SIZES, 0, "cpu"), "cases: expected some of d4-mlp, .* got 'd5-mlp'"),
        (lambda: different_graphs(9, 3, seed=0), "there are not 9 different graphs of each class on 3 nodes"),
        (
            lambda: orbit_problem("set-mlp", ProblemSizes(1, 14, (1, 1), 4, 1), 0, "cpu"),
            "sets of 2 points or more, got 1",
        ),
        (
            lambda: orbit_problem("d4-mlp", ProblemSizes(1, 15, (1, 1), 4, 2), 0, "cpu"),
            "14 or 28 pixels, got 15",
        ),
    ],
)
def test_bad_problems_are_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


# characters of a three-cycle, from the tables of S4 and S5: not what the names are made from
THREE_CYCLE = {
    4: {"(4)": 1, "(3,1)": 0, "(2,2)": -1, "(2,1,1)": 0, "(1,1,1,1)": 1},
    5: {"(5)": 1, "(4,1)": 1, "(3,2)": -1, "(3,1,1)": 0, "(2,2,1)": -1, "(2,1,1,1)": 1, "(1,1,1,1,1)": 1},
}


@pytest.mark.parametrize("n", [4, 5])
def test_partitions_have_the_characters_of_the_books(n):
    group = symmetric(n)
    fixed = (group.permutations == group.permutations[0]).sum(1)
    [cycle, *_] = [g for g in group.elements if int(fixed[g]) == n - 3]  # moving three points: a three-cycle
    result = {}
    for frequency in frequencies(group):
        result[irrep_label(frequency, group)] = round(float(frequency.matrices[cycle].trace().real))
    assert result == THREE_CYCLE[n]


def test_every_irrep_has_its_own_name():
    for group in (symmetric(5), dihedral(8), dihedral(5), direct_product(cyclic(4), cyclic(3)), quaternion()):
        names = [irrep_label(frequency, group) for frequency in frequencies(group)]
        assert len(set(names)) == len(names)
    labels = {irrep_label(f, dihedral(8)): f.dim for f in frequencies(dihedral(8))}
    assert labels == {
        "trivial": 1,
        "turn+ mirror-": 1,
        "turn- mirror+": 1,
        "turn- mirror-": 1,
        "wave 1": 2,
        "wave 2": 2,
        "wave 3": 2,
    }


def test_dimensions_of_partitions():
    assert sum(dimension(shape) ** 2 for shape in partitions(6)) == 720
    reported = {(dimension(shape), contents(shape)) for shape in partitions(6)}
    assert len(reported) == 11  # so that dimension and a swap's character tell all irreps of S6 apart
    assert [contents(shape) for shape in partitions(3)] == [3, 0, -3]
