"""`spectral/networks`: cells, what is trained on, and a tiny run of every network."""

from __future__ import annotations

import pandas as pd
import pytest
import torch

from symscope import InputError
from symscope.data import mnist_sample, rotation
from symscope.runs import CellContext, RunRequest, Workers, run_experiments
from symscope.runs._claims import without_cells
from symscope.runs._registry import find_experiment
from symscope.runs._settings import replace_fields
from symscope_papers.spectral.classes.config import Classes
from symscope_papers.spectral.classes.measure import kernel_rows, turned_points
from symscope_papers.spectral.networks.claims import judge_claims
from symscope_papers.spectral.networks.config import Networks
from symscope_papers.spectral.networks.measure import cells, rotated_digits, rule_rows

TINY = (
    "networks=mlp,conv,vit",
    "angles=2,4",
    "left_out=3",
    "images=2",
    "epochs=1",
    "batch=32",
    "measured_points=20",
    "long_networks=mlp",
    "long_left_out=3,7",
    "long_images=1",
    "long_angles=2",
    "long_epochs=3",
)


def test_networks_train_their_digits_together_or_one_at_a_time():
    config = Networks(
        networks=("mlp", "vit"), angles=(2, 8), left_out=(3, 7), long_networks=("vit",), long_left_out=(1, 4)
    )
    listed = [tuple(cell.values()) for cell in cells(config)]
    assert listed == [
        ("rule", 2),
        ("rule", 8),
        ("figure", 2, "mlp", "3,7"),
        ("figure", 2, "vit", "3"),
        ("figure", 2, "vit", "7"),
        ("long", 8, "vit", "1"),
        ("long", 8, "vit", "4"),
        ("figure", 8, "mlp", "3,7"),
        ("figure", 8, "vit", "3"),
        ("figure", 8, "vit", "7"),
    ]


def test_the_paper_preset_is_the_papers():
    config = replace_fields(find_experiment("spectral/networks").presets["paper"].config, ["mnist=sample"])
    all_cells = cells(config)
    figure = [cell for cell in all_cells if cell["part"] == "figure"]
    assert len(figure) == 6 * (1 + 3 + 3)
    assert [cell["angles"] for cell in all_cells[-7:]] == [64] * 7  # the longest may be left for another time
    assert (config.epochs, config.batch, config.learning_rate, config.betas) == (20, 2048, 1e-3, (0.7, 0.9))
    assert config.long_epochs == 1000


def test_only_upright_images_of_the_left_out_digit_are_missing():
    data = rotated_digits("sample", 3, 4, 0, torch.float32, "cpu", ("pixels", "spline"))
    upright = torch.arange(120) % 4 == 0
    for digit in (0, 7):
        assert torch.equal(data.out_test[digit], upright & (data.labels == digit))
        assert not (data.train[digit] & data.in_test[digit]).any()
        assert torch.equal(data.train[digit] | data.in_test[digit], ~data.out_test[digit])
    assert data.points.take(torch.arange(120)).dtype == torch.float32


def test_a_tiny_run_trains_every_network_and_is_complete(tmp_path):
    [outcome] = run_experiments(
        [RunRequest.of("spectral/networks", changes=TINY, device="cpu")], tmp_path, Workers(processes=0)
    )
    assert (outcome.failed, outcome.problems) == (0, ())
    course = outcome.tables()["course"]
    figure, long = course[course["part"] == "figure"], course[course["part"] == "long"]
    assert len(figure) == 3 * 2  # networks, angles; one digit, one epoch
    assert set(figure["network"]) == {"mlp", "conv", "vit"}
    assert set(figure["left_out"]) == {3}
    assert list(zip(long["left_out"], long["epoch"], strict=True)) == [
        (d, e) for d in (3, 7) for e in (1, 2, 3)
    ]
    assert (
        ((course[["train", "in-test", "out-test"]] >= 0) & (course[["train", "in-test", "out-test"]] <= 1))
        .all()
        .all()
    )
    assert {path.stem for path in (outcome.folder / "figures").glob("*.png")} == {"epochs", "angles", "long"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("networks=mpl", "networks: unknown 'mpl'; did you mean 'mlp'"),
        ("together=cnn", "together: unknown 'cnn'"),
        ("angles=1,2", "angles: expected 2 or more"),
        ("angles=8,8", "angles: expected .* different values"),
        ("left_out=12", "left_out: expected numbers from 0 to 9"),
        ("images=0", "images: expected 1 or more"),
        ("long_epochs=2", "long_epochs: expected 20 or more"),
    ],
)
def test_bad_settings_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        RunRequest.of("spectral/networks", changes=[change])


def test_mnist_that_is_not_there_is_told_before_anything_runs(tmp_path):
    config = replace_fields(
        find_experiment("spectral/networks").presets["paper"].config, [f"mnist={tmp_path / 'absent'}"]
    )
    with pytest.raises(InputError, match=r"needs all of MNIST, which is not in .*absent"):
        cells(config)


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_compiled_steps_in_mixed_precision_train_on_a_gpu(tmp_path):
    changes = [*TINY, "compiled=true", "mixed_precision=true"]
    [outcome] = run_experiments(
        [RunRequest.of("spectral/networks", changes=changes, device="cuda")], tmp_path, Workers(processes=0)
    )
    assert (outcome.failed, outcome.problems) == (0, ())


def course(out, network="mlp", train=0.99, in_test=0.97, part="figure", epoch=20):
    return [
        {
            "part": part,
            "angles": angles,
            "network": network,
            "left_out": digit,
            "epoch": epoch,
            "train": train,
            "in-test": in_test,
            "out-test": share,
        }
        for angles, share in out.items()
        for digit in (3, 7)
    ]


def long(shares, trains):
    rows = []
    for number, (share, train) in enumerate(zip(shares, trains, strict=True)):
        rows += course({8: share}, part="long", epoch=20 * (number + 1), train=train)
    return rows


def settings(**changes):
    return Networks(**{"left_out": (3, 7), "long_left_out": (3, 7), **changes})


def verdicts(rows, config=None):
    claims = judge_claims(config or settings(), {"course": pd.DataFrame(rows)})
    stated = [claim for claim in claims if claim.verdict is not None]
    assert all(claim.quote for claim in stated)
    return [claim.verdict.value for claim in stated if claim.statement.startswith("MLP")], stated


FIGURE = {2: 0.1, 8: 0.3, 64: 0.95}


def test_what_the_paper_says_holds():
    rows = [*course(FIGURE), *long([0.2] * 50, [0.9, 0.95] + 48 * [1.0])]
    mlp, claims = verdicts(rows)
    assert mlp == ["holds"] * 4
    vit = [claim.verdict.value for claim in claims if claim.statement.startswith("ViT")]
    assert vit == ["not checked at this size"] * 4


def test_the_opposite_is_contradicted():
    rows = [*course({2: 0.95, 8: 0.99, 64: 0.98}, in_test=0.9), *long([0.2] * 20 + [0.9] * 30, [1.0] * 50)]
    assert verdicts(rows)[0] == ["contradicted"] * 3 + ["number differs, setting unknown"]
    assert verdicts(rows, settings(long_images=None))[0] == ["contradicted"] * 4


def test_digits_that_differ_too_much_decide_nothing():
    rows = course({8: 0.1})
    rows[1]["out-test"] = 0.95  # differences 0.87 and 0.02: 0.445 ± 0.425
    config = settings(angles=(8,), long_networks=())
    mlp, claims = verdicts(rows, config)
    assert mlp[1] == "not checked at this size"
    assert claims[1].measured == pytest.approx(0.445)
    assert "By left-out digit: 0.870 (3), 0.020 (7)." in claims[1].why
    rows[0]["out-test"] = 0.94  # 0.03 and 0.02
    assert verdicts(rows, config)[0][1] == "holds"
    rows[0]["out-test"] = rows[1]["out-test"] = 0.98
    assert verdicts(rows, config)[0][1] == "contradicted"


def test_long_trainings_that_were_not_run_are_not_the_sizes_fault():
    late = {names: verdicts(course(FIGURE), settings(long_networks=names))[1][3] for names in ((), ("mlp",))}
    assert late[()].why == "this size does not train the MLP for long"
    assert late[("mlp",)].why == "not all trainings of the MLP for 1000 epochs were run"


def test_grokking_is_counted_from_where_training_points_are_fitted():
    late_fit = long([0.1] * 5 + [0.4] * 45, [0.6] * 5 + [1.0] * 45)
    assert verdicts([*course(FIGURE), *late_fit])[0][3] == "holds"
    never = long([0.1] * 50, [0.6] * 50)
    assert verdicts([*course(FIGURE), *never])[0][3] == "not checked at this size"


def test_short_or_small_trainings_cannot_say_whether_long_training_helps():
    rows = [*course(FIGURE), *long([0.1] * 40 + [0.9] * 10, [1.0] * 50)]
    assert verdicts(rows, settings(long_images=49))[0][3] == "not checked at this size"
    assert verdicts(rows, settings(long_images=50))[0][3] == "number differs, setting unknown"
    short = [*course(FIGURE), *long([0.1] * 10 + [0.9] * 10, [1.0] * 20)]
    mlp, claims = verdicts(short)
    assert mlp[3] == "not checked at this size"
    [claim] = [c for c in claims if c.statement.startswith("MLP: very long")]
    assert "600 digits of each class, 2 left-out digits, 400 epochs, 8 angles" in claim.why


def test_of_a_run_in_part_only_what_was_trained_for_every_digit_is_judged():
    rows = [*course(FIGURE), *course({2: 0.1, 8: 0.3}, "conv"), *course({2: 0.2, 8: 0.1}, "vit")]
    rows = [row for row in rows if row["network"] != "vit" or row["left_out"] == 3]
    config = settings(angles=(2, 8, 64), long_networks=())
    stated = [claim for claim in judge_claims(config, {"course": pd.DataFrame(rows)}) if claim.verdict]
    after = {claim.statement: claim.verdict.value for claim in without_cells(stated, 0, 9, missing=3)}

    def of(name):
        own = [verdict for statement, verdict in after.items() if statement.startswith(name)]
        return [verdict == "holds" for verdict in own]

    assert of("MLP") == [True, True, True, False]  # the last: not trained for long
    assert of("ConvNet") == [True, True, False, False]  # 64 angles are missing
    assert of("ViT") == [False] * 4  # a digit is missing: not contradicted by the other one
    assert "contradicted" not in after.values()


def test_without_eight_angles_fig_1b_is_not_judged():
    mlp, claims = verdicts(course({2: 0.1, 16: 0.3}))
    assert mlp[:2] == ["not checked at this size"] * 2
    assert claims[0].why == "needs 8 angles"


def test_the_authors_script_rotates_to_the_nearest_pixel_and_does_not_centre():
    data = rotated_digits("sample", 1, 8, 0, torch.float32, "cpu", ("unit", "nearest"))
    points = data.points.take(torch.arange(80))[:, 0].unflatten(0, (10, 8))
    upright = mnist_sample().per_class(1, 0).x.float()
    expected = upright / upright.flatten(1).norm(dim=1)[:, None, None]
    torch.testing.assert_close(points[:, 0], expected)
    assert torch.equal(points[:, 2], torch.rot90(points[:, 0], 1, (-2, -1)))
    values = [set(one.flatten().tolist()) for one in points[:, 0]]
    assert all(
        set(one.flatten().tolist()) <= kept | {0.0} for one, kept in zip(points[:, 1], values, strict=True)
    )


def mirrored(rule, vit=(0.0, 0.4, 0.9)):
    config = settings(angles=(2, 8, 64), networks=("mlp", "vit"), long_networks=())
    angles = dict(zip((2, 8, 64), vit, strict=True))
    rows = [*course({2: 0.1, 8: 0.3, 64: 0.9}), *course(angles, "vit")]
    tables = {"course": pd.DataFrame(rows), "rule": pd.DataFrame(rule, columns=["angles", "accuracy"])}
    return judge_claims(config, tables)[-1]


def test_the_rule_mirrors_networks_that_rise_as_it_does():
    rising = [(2, 0.0), (2, 0.2), (8, 0.3), (64, 1.0)]  # two data sets at 2 angles
    claim = mirrored(rising)
    assert claim.verdict.value == "holds"
    assert claim.measured == "MLP 1.00, ViT 1.00"
    assert "0.10 at n = 2, 0.30 at n = 8, 1.00 at n = 64" in claim.why
    assert mirrored([(2, 1.0), (8, 0.3), (64, 0.1)]).verdict.value == "contradicted"
    assert mirrored(rising, vit=(0.9, 0.4, 0.1)).verdict.value == "contradicted"
    assert mirrored([]).verdict.value == "not checked at this size"


def test_the_rule_is_that_of_ten_classes():
    """The same by the kernel regression of `spectral/classes` on the same digits."""
    context = CellContext(device="cpu", seed=5, run_seed=0)
    config = Networks(images=2)
    ours = rule_rows(config, 4, context)
    classes = Classes(seeds=2, trials=len(ours), epochs=1, left_out=tuple(range(10)))
    for row in ours:
        data = mnist_sample().per_class(2, row["trial"])
        points = turned_points(data, 4, centred=False, device=torch.device("cpu"))
        rows, _ = kernel_rows(points, data.labels, rotation(4).group, classes)
        expected = [one["accuracy"] for one in rows if one["method"] == "rule"]
        assert row["accuracy"] == pytest.approx(sum(expected) / 10)
