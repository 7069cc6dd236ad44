"""`spectral/networks`: cells, what is trained on, and a tiny run of every network."""

from __future__ import annotations

import pytest
import torch

from symscope import InputError
from symscope.runs import Place, find, request, run
from symscope.runs._outcome import tables_of
from symscope.runs._settings import changed
from symscope.runs._store import RunFolder
from symscope_papers.spectral.networks import Networks, network_cells, rotated_digits

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
    cells = [tuple(cell.values()) for cell in network_cells(config)]
    assert cells == [
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
    config = changed(find("spectral/networks").presets["paper"].config, ["mnist=sample"])
    cells = network_cells(config)
    figure = [cell for cell in cells if cell["part"] == "figure"]
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
    [outcome] = run([request("spectral/networks", changes=TINY, device="cpu")], tmp_path, Place(workers=0))
    assert (outcome.failed, outcome.problems) == (0, ())
    course = tables_of(RunFolder(outcome.folder))["course"]
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
        ("networks=mpl", "networks: no network 'mpl': did you mean 'mlp'"),
        ("together=cnn", "together: no network 'cnn'"),
        ("angles=1,2", "angles: expected numbers from 2 on"),
        ("angles=8,8", "angles: expected different values"),
        ("left_out=12", "left_out: expected digits 0 to 9"),
        ("images=0", "images: expected at least 1"),
        ("long_epochs=2", "long_epochs: expected 20, the epochs, or more"),
    ],
)
def test_bad_settings_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        request("spectral/networks", changes=[change])


def test_mnist_that_is_not_there_is_told_before_anything_runs(tmp_path):
    config = changed(find("spectral/networks").presets["paper"].config, [f"mnist={tmp_path / 'absent'}"])
    with pytest.raises(InputError, match=r"needs all of MNIST, which is not in .*absent"):
        network_cells(config)


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_compiled_steps_in_mixed_precision_train_on_a_gpu(tmp_path):
    changes = [*TINY, "compiled=true", "mixed_precision=true"]
    [outcome] = run(
        [request("spectral/networks", changes=changes, device="cuda")], tmp_path, Place(workers=0)
    )
    assert (outcome.failed, outcome.problems) == (0, ())
