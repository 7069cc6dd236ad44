"""Fig. 1 at the smallest size: the same whatever the cells, and claims that can fail."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
import torch

from symscope import InputError
from symscope.dynamics import assumptions, split
from symscope.experiments import Place, Verdict, request, run
from symscope.experiments.definition import Surroundings
from symscope.experiments.dynamics.permutation import Permutation, graph_problem, permutations
from symscope.experiments.dynamics.rotation import Rotation, mask_problem, rotations, turned_points
from symscope.experiments.dynamics.strategies import mini_batches, product_rate, starting_layers
from symscope.experiments.dynamics.translation import (
    Translation,
    digit_problem,
    shifted_points,
    shown_digits,
    translations,
)
from symscope.experiments.outcome import tables_of
from symscope.experiments.store import RunFolder

GRAPHS = Permutation(
    nodes=4, graphs=24, channels=2, invariant=4, hidden=3, runs=3, epochs=4, passes=5, batch=6, block=2,
    check_epochs=2,
)  # fmt: skip
DIGITS = Translation(
    size=4, images=20, channels=(2, 2), invariant=3, mnist="sample", runs=2, epochs=3, passes=4, batch=5,
    block=1, check_runs=1, check_epochs=2,
)  # fmt: skip
SHAPES = Rotation(
    size=4, images=20, channels=(2, 2, 2), runs=2, epochs=3, passes=6, batch=5, block=2, check_runs=1,
    check_epochs=2,
)  # fmt: skip
HERE = Surroundings(seed=0, run_seed=5, device="cpu")
CASES = {
    "permutation": (permutations, GRAPHS, graph_problem),
    "translation": (translations, DIGITS, digit_problem),
    "rotation": (rotations, SHAPES, mask_problem),
}


def measured(experiment, config):
    """All tables of a run, without a run folder."""
    rows: dict[str, list] = {}
    for cell in experiment.cells(config):
        for name, found in experiment.measure(config, cell, HERE).items():
            rows.setdefault(name, []).extend(found)
    return {name: pd.DataFrame(found) for name, found in rows.items()}


@pytest.mark.parametrize("name", CASES)
def test_problems_meet_the_assumptions_and_start_in_e(name):
    _, config, build = CASES[name]
    problem = build(config, 1, torch.float64, "cpu")
    assert [found.holds for found in assumptions(problem)] == [True, True, True]
    start = starting_layers(problem, [0, 1], 1)
    parts = split(problem.network, start)
    assert float(parts.total_residual.max()) < 1e-12
    assert float(parts.total_equivariant.min()) > 1
    assert not torch.equal(start[0][0], start[0][1])


def test_smaller_layers_start_in_the_same_direction():
    problem = mask_problem(SHAPES, 1, torch.float64, "cpu")
    standard, small = (starting_layers(problem, [0], 1, how) for how in ("standard", "fan-in"))
    for one, other in zip(standard, small, strict=True):
        torch.testing.assert_close(one, other * one.shape[-1] ** 0.5)


@pytest.mark.parametrize("name", CASES)
def test_results_do_not_depend_on_how_runs_are_put_together(name):
    experiment, config, _ = CASES[name]
    config = replace(config, precision="double")
    apart = measured(experiment, replace(config, block=1, together=False))["paths"]
    side_by_side = measured(experiment, replace(config, block=3, together=True))["paths"]
    keys = ["run", "strategy", "epoch"]
    one, other = (t.sort_values(keys).reset_index(drop=True) for t in (apart, side_by_side))
    pd.testing.assert_frame_equal(one[keys], other[keys])
    scale = one["travelled"].max()
    assert (one[["travelled", "drift"]] - other[["travelled", "drift"]]).abs().max().max() < 1e-9 * scale


@pytest.mark.parametrize("name", CASES)
def test_claims_follow_from_the_tables_and_can_fail(name):
    experiment, config, _ = CASES[name]
    tables = measured(experiment, config)
    verdicts = {claim.statement: claim.verdict for claim in experiment.claims(config, tables)}
    good = {s for s, verdict in verdicts.items() if verdict is Verdict.REPRODUCED}
    assert {
        "EQUIVARIANT stays in E.",
        "AUGMENTED leaves E in every run.",
        "Drift is not rounding: single and double precision give the same.",
    } <= good
    assert len(experiment.plot(config, tables)) == 3
    paths = tables["paths"]
    still = paths.assign(drift=paths["drift"].where(paths["strategy"] != "augmented", 1e-30))
    wide = paths.assign(drift=paths["travelled"], published=paths["travelled"] ** 2)
    off = tables["precision"].assign(drift_single=tables["precision"]["drift_double"] * 1.01)
    slow = tables["work"].assign(seconds=1e4)
    for change, statement in (
        ({"paths": still}, "AUGMENTED leaves E in every run."),
        ({"paths": wide}, "EQUIVARIANT stays in E."),
        ({"paths": wide}, "The drift of AUGMENTED is the noise of sampling group elements."),
        ({"precision": off}, "Drift is not rounding: single and double precision give the same."),
        ({"work": slow}, "The experiment takes a small part of the authors' 75 GPU hours for all three."),
    ):
        worse = experiment.claims(config, {**tables, **change})
        failed = {claim.statement for claim in worse if claim.verdict is Verdict.NOT_REPRODUCED}
        assert statement in failed


def test_what_the_scripts_plot_is_the_square_where_one_layer_moves():
    paths = measured(*CASES["translation"][:2])["paths"]
    moving = paths[paths["drift"] > 0]
    assert (moving["published"] <= moving["drift"] ** 2 * (1 + 1e-9)).all()  # sum of squares, then root
    assert (moving["published"] >= moving["drift"] ** 2 / 3).all()  # three layers can leave E


def test_half_turns_leave_drift_that_four_turns_average_away():
    config = replace(SHAPES, images=40, epochs=8, passes=25, runs=3)
    ends = measured(rotations, config)["paths"].query("epoch == 8").groupby("strategy")["drift"].mean()
    assert ends["augmented"] < 0.3 * ends["half turns"] < 0.3 * ends["nominal"]


def test_points_move_as_images_do():
    image = torch.arange(25.0).reshape(5, 5) ** 1.5
    for k in range(4):
        moved = torch.empty(25)
        moved[turned_points(5)[k]] = image.flatten()
        assert torch.equal(moved.reshape(5, 5), torch.rot90(image, k))
    moved = torch.empty(25)
    moved[shifted_points(5)[2 * 5 + 1]] = image.flatten()
    assert torch.equal(moved.reshape(5, 5), image.roll((2, 1), (0, 1)))


def test_shapes_are_not_symmetric_so_there_is_something_to_average():
    problem = mask_problem(SHAPES, 0, torch.float64, "cpu")
    mean = problem.x.mean((0, 1)).reshape(4, 4)
    assert float((mean - torch.rot90(mean)).abs().max()) > 1e-3


def test_digits_are_means_of_pixels():
    problem = digit_problem(replace(DIGITS, size=14), 0, torch.float64, "cpu")
    image = shown_digits("sample").x[6]
    block = image[4:6, 10:12].mean() - 0.5
    assert float(problem.x[1, 1].reshape(14, 14)[2, 5] - block) == pytest.approx(0.0, abs=1e-15)


def test_a_run_resumes_and_makes_its_page(tmp_path):
    changes = [
        "nodes=4", "graphs=24", "channels=2", "invariant=4", "hidden=3", "runs=3", "epochs=3", "passes=4",
        "batch=6", "block=2", "check_epochs=2",
    ]  # fmt: skip
    wanted = request("dynamics/permutation", device="cpu", changes=changes)
    [outcome] = run([wanted], tmp_path, Place(workers=0))
    assert not outcome.problems
    assert not outcome.failed
    assert outcome.cells == 3
    tables = tables_of(RunFolder(outcome.folder))
    assert set(tables) == {"paths", "noise", "work", "precision"}
    assert len(tables["paths"]) == 3 * 3 * 4
    assert (tables["work"]["flops"] > 0).all()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_split_products_on_a_gpu_follow_double_precision():
    config = replace(DIGITS, size=7, channels=(4, 4), images=50, batch=25)
    rows = translations.measure(config, {"part": "precision", "first": 0}, replace(HERE, device="cuda"))
    table = pd.DataFrame(rows["precision"]).query("strategy != 'equivariant'")
    assert (table["drift_single"] / table["drift_double"] - 1).abs().max() < 1e-3


def test_bad_configs_are_refused(tmp_path):
    for change, message in [
        ({"runs": 0}, "runs: expected 1 or more"),
        ({"rate": 0.0}, "positive learning rate"),
        ({"precision": "half"}, "expected single or double"),
        ({"initial": "zero"}, "expected standard or fan-in"),
        ({"check_runs": 31}, "at most 30 runs"),
    ]:
        for kind in (Permutation, Translation, Rotation):
            with pytest.raises(InputError, match=message):
                kind(**change)
    with pytest.raises(InputError, match="nodes: expected 2 or more"):
        Permutation(nodes=1)
    with pytest.raises(InputError, match="a divisor of 28"):
        Translation(size=5)
    with pytest.raises(InputError, match="channels: expected two"):
        Translation(channels=(3, 0))
    with pytest.raises(InputError, match="channels: expected three"):
        Rotation(channels=(3, 3, 0))
    with pytest.raises(InputError, match="expected 2 and 1 or more"):
        Rotation(size=1)
    with pytest.raises(InputError, match="batch: expected at most 4 samples"):
        mini_batches(torch.ones(4, 2), torch.ones(4, 1), 5)
    with pytest.raises(InputError, match="images: expected at most 2000"):
        digit_problem(replace(DIGITS, images=3000), 0, torch.float64, "cpu")
    with pytest.raises(InputError, match="needs MNIST's test set"):
        translations.cells(replace(DIGITS, mnist=str(tmp_path)))


def test_the_rate_of_products_is_that_of_a_product():
    assert product_rate(torch.device("cpu"), torch.float64, 64) > 1e6
