"""`spectral/networks`: cells, what is trained on, and a tiny run of every network."""

from __future__ import annotations

import pandas as pd
import pytest
import torch

from symscope import InputError
from symscope.runs import RunRequest, Workers, run_experiments
from symscope.runs._registry import find_experiment
from symscope.runs._settings import replace_fields
from symscope_papers.spectral.networks.claims import judge_claims
from symscope_papers.spectral.networks.config import Networks
from symscope_papers.spectral.networks.measure import cells, rotated_digits

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
        ("figure", 2, "mlp", "3,7"),
        ("figure", 2, "vit", "3"),
        ("figure", 2, "vit", "7"),
        ("figure", 8, "mlp", "3,7"),
        ("figure", 8, "vit", "3"),
        ("figure", 8, "vit", "7"),
        ("long", 8, "vit", "1"),
        ("long", 8, "vit", "4"),
    ]


def test_the_paper_preset_is_the_papers():
    config = replace_fields(find_experiment("spectral/networks").presets["paper"].config, ["mnist=sample"])
    all_cells = cells(config)
    figure = [cell for cell in all_cells if cell["part"] == "figure"]
    assert len(figure) == 6 * (1 + 10 + 10)
    assert (config.epochs, config.batch, config.learning_rate, config.betas) == (20, 2048, 1e-3, (0.7, 0.9))
    assert config.long_epochs == 1000


def test_only_upright_images_of_the_left_out_digit_are_missing():
    data = rotated_digits("sample", 3, 4, 0, torch.float32, "cpu")
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


def verdicts(rows, config=None):
    claims = judge_claims(config or Networks(), {"course": pd.DataFrame(rows)})
    return {claim.statement.partition(" ")[0] + claim.source: claim.verdict.value for claim in claims}, claims


def test_what_the_paper_says_is_reproduced():
    rows = [
        *course({2: 0.1, 8: 0.3, 64: 0.95}),
        *long([0.2] * 20, [0.9, 0.95] + 18 * [1.0]),
    ]
    result, claims = verdicts(rows)
    assert result["MLP:Fig. 1C"] == result["MLP:Sec. 2"] == "reproduced"
    assert [claim.verdict.value for claim in claims[:3]] == ["reproduced"] * 3
    assert [claim.verdict.value for claim in claims if claim.statement.startswith("ViT")] == [
        "not checked at this size"
    ] * 4


def test_the_opposite_is_not_reproduced():
    rows = [
        *course({2: 0.8, 8: 0.9, 64: 0.95}, in_test=0.9),
        *long([0.2] * 10 + [0.9] * 10, [1.0] * 20),
    ]
    _, claims = verdicts(rows)
    mlp = [claim.verdict.value for claim in claims if claim.statement.startswith("MLP")]
    assert mlp == ["not reproduced"] * 4


def test_grokking_is_counted_from_where_training_points_are_fitted():
    late_fit = long([0.1] * 5 + [0.4] * 15, [0.6] * 5 + [1.0] * 15)
    assert verdicts([*course({2: 0.1, 8: 0.3}), *late_fit])[0]["MLP:Sec. 2"] == "reproduced"
    never = long([0.1] * 20, [0.6] * 20)
    assert verdicts([*course({2: 0.1, 8: 0.3}), *never])[0]["MLP:Sec. 2"] == "not checked at this size"


def test_few_left_out_points_cannot_say_whether_long_training_helps():
    rows = [*course({2: 0.1, 8: 0.3}), *long([0.1] * 19 + [0.9], [1.0] * 20)]
    assert verdicts(rows, Networks(long_images=49))[0]["MLP:Sec. 2"] == "not checked at this size"
    assert verdicts(rows, Networks(long_images=50))[0]["MLP:Sec. 2"] == "not reproduced"


def test_few_digits_cannot_say_whether_in_test_follows_training():
    _, claims = verdicts(course({2: 0.1, 8: 0.3}, in_test=0.6), Networks(images=10))
    assert claims[0].verdict.value == "not checked at this size"
    assert "here 10: train 0.990 ± 0.000, in-test 0.600" in claims[0].why
    _, claims = verdicts(course({2: 0.1, 16: 0.3}))
    assert claims[0].why == "needs 8 angles"
