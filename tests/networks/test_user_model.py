"""Networks by name, by function and as they are: fresh copies, layouts, weights from files."""

from __future__ import annotations

import sys

import pytest
import torch
from torch import nn

from symscope.errors import InputError
from symscope.networks import user_model
from symscope.networks._named_networks import named_network


def test_networks_for_images_refuse_vectors():
    assert user_model("mlp", (7,), 2).layout == "as is"
    with pytest.raises(InputError, match="takes images"):
        named_network("conv-gap", (7,), 2)
    with pytest.raises(InputError, match="square images"):
        named_network("vit", (6, 8), 2)


def test_a_module_is_redrawn_and_itself_left_alone():
    net = nn.Sequential(nn.Flatten(), nn.Linear(12, 2))
    before = net[1].weight.clone()
    model = user_model(net, (3, 4), 2)
    assert not torch.equal(model.builder(0)[1].weight, model.builder(1)[1].weight)
    assert torch.equal(net[1].weight, before)
    assert net[1].weight.dtype == before.dtype

    class Stuck(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(2))

        def forward(self, x):
            return x.flatten(1)[:, :2] * self.scale

    with pytest.raises(InputError, match="Stuck holds weights and has no reset_parameters"):
        user_model(Stuck(), (3, 4), 2)
    assert user_model(Stuck, (3, 4), 2).parameters == 2


def test_weights_from_a_file_are_the_same_for_every_seed(tmp_path):
    def build():
        return nn.Sequential(nn.Flatten(), nn.Linear(12, 2))

    net = build()
    torch.save(net.state_dict(), tmp_path / "weights.pt")
    model = user_model(build, (3, 4), 2, weights=tmp_path / "weights.pt")
    assert model.fixed
    for seed in (0, 5):
        assert torch.equal(model.builder(seed)[1].weight, net[1].weight.double())


@pytest.mark.parametrize(
    ("saved", "message"),
    [
        (
            nn.Sequential(nn.Flatten(), nn.Linear(12, 5)).state_dict(),
            r"1\.weight has shape \(2, 12\) in the network and \(5, 12\) in the file; 1\.bias has",
        ),
        (
            nn.Linear(12, 2).state_dict(),
            r"the file lacks 1\.weight, 1\.bias; the network has no weight, bias\.",
        ),
        (
            {"epoch": 3, "model": {}},
            r"names to tensors, got a dict with epoch, model; save network\.state_dict",
        ),
        (nn.Linear(12, 2), r"cannot be read as weights alone .* not a whole network"),
    ],
)
def test_weights_that_do_not_fit_are_named_in_one_line(saved, message, tmp_path):
    def build():
        return nn.Sequential(nn.Flatten(), nn.Linear(12, 2))

    torch.save(saved, tmp_path / "others.pt")
    with pytest.raises(InputError, match=message) as raised:
        user_model(build, (3, 4), 2, weights=tmp_path / "others.pt")
    assert len(str(raised.value).splitlines()) == 1
    with pytest.raises(InputError, match=r"there is no file .*none\.pt"):
        user_model(build, (3, 4), 2, weights=tmp_path / "none.pt")


def test_a_convolution_is_never_given_a_batch_as_one_picture():
    conv = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(8, 2))
    assert user_model(conv, (4, 4), 2).layout == "channel"
    with pytest.raises(InputError, match=r"does not take the data, samples of shape \(5, 5\)"):
        user_model(conv, (5, 5), 2)


class Shifts(nn.Module):
    """Changes its input in place, so that a second answer is another one."""

    def __init__(self):
        super().__init__()
        self.last = nn.Linear(16, 2)

    def forward(self, x):
        x -= 1
        return self.last(x.flatten(1))


@pytest.mark.parametrize(
    "build", [Shifts, lambda: nn.Sequential(nn.Flatten(), nn.ReLU(inplace=True), nn.Linear(16, 2))]
)
def test_a_forward_that_changes_its_input_is_refused_for_that(build):
    with pytest.raises(InputError, match="its forward changes its input in place"):
        user_model(build, (4, 4), 2)
    later = nn.Sequential(nn.Conv2d(1, 2, 4), nn.ReLU(inplace=True), nn.Flatten())
    assert user_model(later, (4, 4), 2).outputs == 2  # what is changed in place here is the network's own


def test_code_that_ends_the_program_is_a_mistake_in_it():
    class Leaves(nn.Module):
        def __init__(self):
            super().__init__()
            self.last = nn.Linear(16, 2)

        def forward(self, x):
            sys.exit(0)

    with pytest.raises(InputError, match=r"it raised SystemExit: 0 \(test_user_model\.py, line \d+\)"):
        user_model(Leaves, (4, 4), 2)
    with pytest.raises(InputError, match=r"the function raised SystemExit: no weights \(test_user_model\.py"):
        user_model(lambda: sys.exit("no weights"), (4, 4), 2)


class Spectral(nn.Module):
    def __init__(self, buffer: bool) -> None:
        super().__init__()
        weight = torch.ones(12, dtype=torch.complex64)
        self.linear = nn.Linear(12, 2)
        if buffer:
            self.register_buffer("filter", weight)
        else:
            self.filter = nn.Parameter(weight)

    def forward(self, x):
        return self.linear((x.flatten(1) * self.filter).real)


@pytest.mark.parametrize("buffer", [False, True])
def test_complex_weights_are_refused_instead_of_losing_a_part(buffer):
    with pytest.raises(InputError, match=r"expected real weights, got torch\.complex64 in 'filter'"):
        user_model(lambda: Spectral(buffer), (12,), 2)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("convert", [torch.jit.script, lambda net: torch.jit.trace(net, torch.zeros(2, 12))])
def test_torchscript_is_refused(convert):
    with pytest.raises(InputError, match="got TorchScript"):
        user_model(lambda: convert(nn.Linear(12, 2)), (12,), 2)


def test_outputs_that_are_whole_numbers_are_refused():
    class Decided(nn.Module):
        def forward(self, x):
            return x.flatten(1)[:, :2].long()

    with pytest.raises(InputError, match="leave argmax and rounding out"):
        user_model(Decided(), (2, 2), 2)


def test_lazy_layers_are_refused_until_they_have_a_shape():
    lazy = nn.Sequential(nn.Flatten(), nn.LazyLinear(3), nn.LazyBatchNorm1d())
    with pytest.raises(
        InputError, match=r"got '1.weight' of a lazy layer; call the network once on a sample"
    ):
        user_model(lambda: lazy, (4, 5), classes=3)
    lazy(torch.zeros(2, 4, 5))
    assert user_model(lambda: lazy, (4, 5), classes=3).outputs == 3
