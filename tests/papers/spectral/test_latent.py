"""Turns of objects seen in projection: turns and images, errors against regression solved outright, a run."""

from __future__ import annotations

import math
from dataclasses import replace

import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope import InputError
from symscope.runs import ClaimKind, RunRequest, Workers, run_experiments
from symscope.spectral.dense import regression
from symscope_papers.spectral.latent.claims import _equal_steps
from symscope_papers.spectral.latent.config import Latent
from symscope_papers.spectral.latent.measure import (
    class_points,
    kernel_errors,
    kernel_matrices,
    object_labels,
)
from symscope_papers.spectral.latent.objects import KINDS, _first_met, object_images, sphere, surface, turns

SMALL = [
    "kinds=points",
    "networks=cnn",
    "tilts=0,90",
    "objects=2,4",
    "poses=4",
    "densities=2,4",
    "density_objects=2",
    "side=12",
    "trials=2",
    "trained_trials=2",
    "width=4",
    "epochs=3",
]


@given(st.integers(1, 12), st.floats(0, 90))
def test_turns_are_rotations_about_the_axis_and_make_a_cyclic_group(n, tilt):
    found = turns(n, tilt)
    axis = torch.tensor(
        [0.0, math.sin(math.radians(tilt)), math.cos(math.radians(tilt))], dtype=torch.float64
    )
    torch.testing.assert_close(found @ axis, axis.expand(n, 3))
    torch.testing.assert_close(torch.linalg.det(found), torch.ones(n, dtype=torch.float64))
    torch.testing.assert_close(torch.linalg.matrix_power(found[1 % n], n), torch.eye(3, dtype=torch.float64))
    torch.testing.assert_close(found[1 % n] @ found[-1], found[0])


@pytest.mark.parametrize("kind", KINDS)
def test_turning_about_the_line_of_sight_turns_the_image_and_about_the_vertical_does_not(kind):
    for tilt, same in ((0, True), (90, False)):
        images = object_images(kind, 1, turns(4, tilt), 16, seed=3, trial=0)[0]
        for k in range(4):
            away = float((images[k] - images[0].rot90(k)).abs().max())
            # rays through an edge of a surface may meet either face
            assert (away < (1e-12 if kind == "points" else 0.2)) == (same or k == 0)
        torch.testing.assert_close(images.mean((1, 2)), torch.zeros(4, dtype=torch.float64))
        assert (images - images[:1]).flatten(1).norm(dim=1)[1:].min() > 1  # objects are not symmetric


def test_turning_glowing_points_about_the_vertical_moves_light_along_rows_only():
    images = object_images("points", 1, turns(8, 90), 24, seed=1, trial=0)[0]
    rows = images.sum(2) - images.sum(2).mean(1, keepdim=True)
    torch.testing.assert_close(
        rows / rows.norm(dim=1, keepdim=True), (rows[:1] / rows[:1].norm()).expand(8, -1), rtol=0, atol=2e-3
    )


def test_objects_depend_on_their_number_alone():
    few, many = (object_images("points", m, turns(3, 90), 12, 5, 1) for m in (1, 3))
    assert torch.equal(many[:1], few)
    assert not torch.allclose(many[0], many[1])


def test_of_two_faces_the_nearer_one_is_seen_with_the_brightness_of_its_slope():
    flat = torch.tensor([[-1.0, -1, 0], [1, -1, 0], [0, 1, 0]], dtype=torch.float64)
    behind = flat - torch.tensor([0.0, 0, 1])
    slanted = flat.clone()
    slanted[2, 2] = -2.0  # falls back by 2 over a height of 2: 45 degrees
    from_behind = flat.flip(0) + torch.tensor([0.0, 0, 5])  # faces away from the camera
    middle = (4, 4)
    assert _first_met(torch.stack([flat, behind]), 9)[middle] == 1
    for faces in ([slanted, behind - 4], [behind - 4, slanted], [from_behind, slanted]):
        assert float(_first_met(torch.stack(faces), 9)[middle]) == pytest.approx(math.sqrt(0.5))
    assert _first_met(flat[None], 9)[0, 0] == 0


def test_surfaces_are_closed_and_seen_from_outside():
    directions, faces = sphere()
    torch.testing.assert_close(directions.norm(dim=1), torch.ones(len(directions), dtype=torch.float64))
    edges = torch.cat([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]).tolist()
    assert len({tuple(edge) for edge in edges}) == len(edges)  # each once in each direction
    assert {tuple(edge) for edge in edges} == {(b, a) for a, b in edges}
    vertices, same = surface((4, 2))
    assert torch.linalg.det(vertices[same]).min() > 0
    assert vertices.norm(dim=1).max() == pytest.approx(1)


def test_errors_are_regression_without_one_pose_of_a_class():
    images = object_images("points", 4, turns(3, 45), 12, seed=0, trial=0)
    grams = kernel_matrices(images)
    labels = object_labels(4).repeat_interleave(3)
    for by, gram in grams.items():
        matrix = gram.flatten(2).flatten(0, 1)
        ridge = 1e-6 * float(matrix.diagonal().mean())
        errors = [
            labels[missing] * (labels[missing] - regression(matrix, labels, missing, ridge))
            for pose in range(3)
            for missing in class_points(4, 3, pose)
        ]
        found = kernel_errors(gram, 1e-6)
        assert found["error"] == pytest.approx(float(torch.stack(errors).mean()), rel=1e-5), by
        assert found["invariance_error"] > 1e-3


def test_the_group_form_is_exact_for_quarter_turns_of_the_image_and_averaging_makes_it_easy():
    grams = kernel_matrices(object_images("points", 4, turns(4, 0), 16, seed=2, trial=0))
    found = {by: kernel_errors(gram, 1e-6) for by, gram in grams.items()}
    for one in found.values():
        assert one["invariance_error"] < 1e-9
        assert one["group_form"] == pytest.approx(one["error"], rel=1e-6, abs=1e-9)
    assert found["wide-mlp"]["error"] > 0.5
    assert abs(found["averaged"]["error"]) < 1e-3


def test_a_small_run_is_complete(tmp_path):
    [outcome] = run_experiments(
        [RunRequest.of("spectral/latent", changes=SMALL, device="cpu")], tmp_path, Workers(processes=0)
    )
    assert (outcome.failed, outcome.problems) == (0, ())
    assert {claim.kind for claim in outcome.claims} == {ClaimKind.BEYOND}
    assert len(outcome.claims) == 4 + 3 + 2 * 2 + 1
    tables = outcome.tables()
    assert set(tables["errors"]["by"]) == {"wide-mlp", "wide-cnn", "averaged", "cnn"}
    assert len(tables["kernels"]) == 2 * 2 * (3 * 2 + 2 * 2)
    figures = {path.stem for path in (outcome.folder / "figures").glob("*.png")}
    assert figures == {"views", "objects", "group-form", "steps"}


def test_errors_at_equal_steps_are_read_off_between_numbers_of_poses():
    rows = [
        {
            "tilt": tilt,
            "trial": trial,
            "objects": 4,
            "poses": poses,
            "step": 12 / poses,
            "error": slope * 12 / poses,
        }
        for tilt, slope in ((0, 0.5), (90, 0.75))
        for trial in (0, 1)
        for poses in (6, 12, 24)
    ]
    table = pd.DataFrame(rows)
    table.loc[table["tilt"] == 90, "step"] *= 0.8  # nearer at as many poses: 24 turns of the image are as 19
    claim = _equal_steps(table, "points", "wide-mlp")
    assert claim.measured == "1.88 ± 0.00 (vertical axis)"  # (0.75 / 0.8) / 0.5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"objects": (3,)}, "objects: expected even numbers"),
        ({"density_objects": 5}, "density_objects: expected an even number"),
        ({"tilts": (45, 90)}, "tilts: expected 0 first"),
        ({"kinds": ("cube",)}, "kinds: unknown 'cube'"),
        ({"densities": (5, 12)}, "densities"),
        ({"missing_poses": 13}, "missing_poses: expected"),
    ],
)
def test_bad_configs_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        replace(Latent(), **change)
