"""Verdicts and refusals that people met: ordinary classifiers, lost labels, words, samples that stay."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from symscope import InputError, audit
from symscope.auditing import audit_page, audit_subject, best_repair, data_symmetry
from symscope.auditing._action_faults import action_fault
from symscope.auditing._error_table import error_table
from symscope.auditing._fitted_repairs import fine_tuned
from symscope.auditing._layer_shares import LayerShare
from symscope.auditing._layer_words import layer_reason
from symscope.auditing._two_sample import two_sample_test
from symscope.data import custom_action, rotation
from symscope.groups import cyclic
from tests.auditing.planted_networks import TurnedConv


def images(count: int, seed: int = 0):
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(count, 6, 6, generator=generator), torch.arange(count) % 3


class Cyclic(nn.Module):
    """Scores that a quarter turn permutes: they change linearly, and the network is not invariant."""

    def __init__(self) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.rand(6, 6, generator=torch.Generator().manual_seed(1)))

    def forward(self, x):
        return torch.stack([(x[:, 0] * self.weights.rot90(k)).sum((1, 2)) for k in range(4)], 1)


def test_scores_of_classes_that_change_linearly_are_not_the_action_s_fault():
    x, y = images(90)
    subject = audit_subject(Cyclic(), (x, y), "C4 rotation")
    assert action_fault(subject, subject.data.x, error_table(subject, subject.data.x, (1, 2, 3))) is None
    numbers = audit_subject(Cyclic(), (x, torch.rand(90, 4)), "C4 rotation", task="regression")
    found = action_fault(numbers, numbers.data.x, error_table(numbers, numbers.data.x, (1, 2, 3)))
    assert "can be fitted" in found.sentence
    assert found.corrected.target.act(1, torch.rand(2, 4)).dtype == torch.float32  # of the outputs


def test_labels_that_the_group_destroys_are_the_data_s_fault():
    x = torch.randn(160, 4, generator=torch.Generator().manual_seed(0))
    y = (x[:, 0] > 0).long()
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
    optimiser = torch.optim.Adam(net.parameters(), 0.02)
    for _ in range(60):
        optimiser.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimiser.step()
    roll = custom_action(cyclic(4), lambda g, v: v.roll(g, -1), 1, "roll")
    result = audit(net, (x, y), roll, repairs=False)
    assert result.data_symmetry.recommendation == "not"
    assert result.causes[0].kind == "data"
    assert "by no others" in result.causes[0].remedy
    training = next(one for one in result.causes if one.kind == "training")
    assert training.remedy == "Nothing to do."


def test_words_are_matched_to_outputs_by_name():
    x, _ = images(12)
    words = ["shoe", "bag", "coat"] * 4
    net = nn.Sequential(nn.Flatten(), nn.Linear(36, 3))
    named = audit_subject(net, (x, words), "C4 rotation", class_names=["shoe", "bag", "coat"])
    assert named.data.labels[:3].tolist() == [0, 1, 2]
    assert audit_subject(net, (x, words), "C4 rotation").class_names == ("bag", "coat", "shoe")
    notes = audit(net, (x, words), "C4 rotation", repairs=False).notes
    assert any("0 bag, 1 coat, 2 shoe" in note for note in notes)
    with pytest.raises(InputError, match="'coat' is not among"):
        audit_subject(net, (x, words), "C4 rotation", class_names=["shoe", "bag"])


def test_what_moves_nothing_and_groups_that_are_too_large_are_refused():
    x, y = images(12)
    net = nn.Sequential(nn.Flatten(), nn.Linear(36, 3))
    with pytest.raises(InputError, match="no element moves the samples"):
        audit_subject(net, (x, y), custom_action(cyclic(4), lambda g, v: v, 2, "nothing"))
    symmetric = sum(x.rot90(k, (1, 2)) for k in range(4))
    with pytest.raises(InputError, match="no element moves the samples"):
        audit_subject(net, (symmetric, y), rotation(4))
    with pytest.raises(InputError, match=r"at most 1,024 elements, got the 5,000"):
        audit_subject(net, (x, y), "C5000 rotation")


@pytest.mark.parametrize("seed", [-1, 2**63])
def test_bad_seeds_and_times_are_refused_at_once(seed):
    x, y = images(12)
    net = nn.Sequential(nn.Flatten(), nn.Linear(36, 3))
    with pytest.raises(InputError, match="seed"):
        audit(net, (x, y), "C4 rotation", seed=seed)
    for seconds in (0, -1.0, float("nan")):
        with pytest.raises(InputError, match="seconds"):
            audit(net, (x, y), "C4 rotation", seconds=seconds)


def test_remedies_need_samples_to_judge_them():
    x, y = images(4)
    result = audit(nn.Sequential(nn.Flatten(), nn.Linear(36, 3)), (x, y), "C4 rotation")
    assert result.repairs == ()
    assert any("Remedies are not tried on 4 samples" in note for note in result.notes)


def test_a_default_of_double_precision_changes_nothing():
    a = torch.randn(30, 3, generator=torch.Generator().manual_seed(0))
    before = two_sample_test(a, a + 1, 0, 49)
    torch.set_default_dtype(torch.float64)
    try:
        assert two_sample_test(a, a + 1, 0, 49).accuracy == pytest.approx(before.accuracy)
    finally:
        torch.set_default_dtype(torch.float32)


def test_the_data_s_symmetry_takes_what_an_audit_takes():
    x, y = images(60)
    found = data_symmetry((x, y), "C4 rotation")
    assert found.recommendation == data_symmetry((x, y), rotation(4)).recommendation
    assert found.samples == 60


def blobs(count: int = 60, seed: int = 0):
    """Bright spots, and where they are."""
    generator = torch.Generator().manual_seed(seed)
    rough = torch.rand(count, 1, 4, 4, generator=generator)
    x = nn.functional.interpolate(rough, size=(8, 8), mode="bilinear")[:, 0]
    return x, (x > 0.5).long()


class Shifted(nn.Module):
    """Scores of two classes by brightness; rows below the middle are darker by what was learned."""

    def __init__(self, dark: float) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 1)
        self.dark = nn.Parameter(torch.tensor(dark))
        with torch.no_grad():
            self.conv.weight[:, 0, 0, 0] = torch.tensor([-20.0, 20.0])
            self.conv.bias.copy_(torch.tensor([10.0, -10.0]))

    def forward(self, x):
        return self.conv(x - self.dark * (torch.arange(8) >= 4).to(x)[:, None])


def test_masks_are_audited_position_by_position():
    x, masks = blobs()
    clean = audit(Shifted(0.0), (x, masks), "D4 dihedral", repairs=False)
    assert clean.clean
    assert clean.subject.target is not None  # masks move with samples
    result = audit(Shifted(0.5), (x, masks), "D4 dihedral", seconds=1)
    assert not result.clean
    unmoved = result.consequences.elements[0]
    scores = Shifted(0.5)(x[:, None]).argmax(1)
    assert unmoved.accuracy == pytest.approx(float((scores == masks).double().mean()))
    turned = Shifted(0.5)(x.rot90(1, (1, 2))[:, None]).argmax(1).rot90(-1, (1, 2))
    quarter = next(one for one in result.consequences.elements if one.element_name in ("r", "90°"))
    assert quarter.accuracy == pytest.approx(float((turned == masks).double().mean()), abs=1e-9)
    averaged = next(one for one in result.repairs if one.name == "average over 8 elements")
    assert averaged.error_after.value < 1e-5 < averaged.error_before.value
    subject = result.subject
    tuned, _ = fine_tuned(
        subject, subject.data, tuple(range(8)), penalty=False, seconds=600, seed=0, steps=20
    )
    losses = [nn.functional.cross_entropy(subject.outputs(x, net), masks) for net in (None, tuned)]
    assert losses[1] < losses[0]
    assert "positions are right" in result.consequences.sentences[0]
    assert any("masks" in sentence for sentence in result.data_symmetry.evidence)


def test_masks_that_do_not_fit_are_refused():
    x, masks = blobs(12)
    net = Shifted(0.5)
    with pytest.raises(InputError, match="classes 0 to 7"):
        audit_subject(net, (x, masks * 7), "C4 rotation")
    with pytest.raises(InputError, match="a mask for each of 12 samples, got 11"):
        audit_subject(net, (x, masks[:11]), "C4 rotation")
    with pytest.raises(InputError, match="classes from 0"):
        audit_subject(net, (x, masks - 1), "C4 rotation")


def test_maps_of_numbers_are_predicted_position_by_position():
    x, _ = blobs()
    result = audit(
        nn.Conv2d(1, 1, 3, padding=1), (x, 0.3 + x), "C4 rotation", target_action="image", seconds=3
    )
    assert len({one.column for one in result.consequences.predictions}) == 1  # all positions together
    assert {one.verdict for one in result.data_symmetry.targets} <= {"survives", "unknown", "not testable"}


@pytest.mark.parametrize("form", ["array", "pair", "file"])
def test_samples_without_labels_have_an_error_and_causes(form, tmp_path):
    x, _ = blobs()
    given = {"array": x, "pair": (x, None), "file": tmp_path / "data.npz"}[form]
    np.savez(tmp_path / "data.npz", X=x.numpy())
    net = nn.Sequential(nn.Flatten(), nn.Linear(64, 3))
    result = audit(net, given, "C4 rotation", seconds=2, repairs=form == "array")
    assert result.causes
    assert result.consequences is None
    assert result.data_symmetry.elements
    assert any("no labels" in note for note in result.notes)
    if form == "array":
        assert "their labels" not in audit_page(result)
        averaged = result.repairs[0]
        assert averaged.outcome == "smaller error"
        assert best_repair(result.repairs).error_after.value < 1e-5
        refused = {one.name: one.reason for one in result.repairs if one.module is None}
        assert "no targets" in refused["refit of the last layer"]


def test_augmentation_that_was_declared_is_not_blamed_on_the_data():
    x, y = blobs()[0], torch.arange(60) % 2
    x = x + 0.5 * (torch.arange(8) / 8)  # brighter on the right
    net = nn.Sequential(nn.Flatten(), nn.Linear(64, 2))
    plain = audit(net, (x, y), "C4 rotation", repairs=False)
    told = audit(net, (x, y), "C4 rotation", repairs=False, augmented=True)
    assert plain.causes[0].kind == "data"
    assert "--augmented" in plain.causes[0].remedy
    assert told.causes[0].kind == "training"
    assert "Training with augmentation" in told.causes[0].sentence
    assert told.error == plain.error


class Placed(nn.Module):
    """Symmetric layers, with a fixed map of positions that a fresh network does not have yet."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.first, self.last = nn.Conv2d(1, 4, 1), nn.Linear(4, 3)
        self.mix = TurnedConv(4, 4)
        self.register_buffer("places", torch.zeros(8, 8) if how == "buffer" else None)
        self.frozen = nn.Parameter(torch.zeros(8, 8), requires_grad=False) if how == "frozen" else None

    def forward(self, x):
        places = self.places if self.frozen is None else self.frozen
        x = torch.relu(self.first(x)) + (torch.arange(8.0) / 4 if places is None else places).to(x)
        return self.last(torch.relu(self.mix(x)).mean((2, 3)))


@pytest.mark.parametrize("how", ["buffer", "frozen", "function"])
def test_a_fixed_map_of_positions_is_the_architecture_s_not_training_s(how):
    x = sum(blobs(120)[0].rot90(k, (1, 2)) * (torch.arange(120) % 4 == k)[:, None, None] for k in range(4))
    torch.manual_seed(0)
    net = Placed(how)
    if how != "function":
        getattr(net, "places" if how == "buffer" else "frozen").data[:4] = 1.0
    result = audit(net, (x, torch.arange(120) % 3), "C4 rotation", builder=lambda: Placed(how), repairs=False)
    first = result.causes[0]
    assert first.kind == "architecture"
    named = {"buffer": "places has values", "frozen": "frozen has values", "function": "the forward does"}
    assert named[how] in first.sentence


def test_every_layer_that_breaks_the_symmetry_is_in_the_table():
    torch.manual_seed(3)
    x, y = images(60)
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3), nn.Flatten(), nn.Linear(16, 3))
    with torch.no_grad():  # the second layer undoes what the first does: putting the first right is worse
        for layer, place in ((net[0], 0), (net[2], 2)):
            layer.weight.zero_()
            layer.bias.zero_()
            layer.weight[:, :, place, place] = 1.0
        net[4].weight.copy_(net[4].weight[:, :1] + 0.05 * torch.randn(3, 16))
    result = audit(net, (x, y), "C4 rotation", repairs=False)
    listed = {one.layer: one for one in result.layers}
    assert {"0", "2", "4"} <= set(listed)
    assert listed["0"].own > 0.1
    assert "next layer" in listed["0"].reason


class Clock:
    """What the audit takes for the time; copies of a network share it."""

    def __init__(self) -> None:
        self.now = 0.0

    def __deepcopy__(self, memo):
        return self


class Waiting(nn.Module):
    """A network that takes 50 ms for a sample, as far as that clock shows."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.clock, self.first, self.last = clock, nn.Linear(36, 8), nn.Linear(8, 3)

    def forward(self, x):
        self.clock.now += 0.05 * len(x)
        return self.last(torch.relu(self.first(x.flatten(1))))


@pytest.mark.parametrize(("order", "slow"), [(4, "network"), (4, "action"), (36, "network")])
def test_slow_networks_and_actions_keep_to_the_time(order, slow, monkeypatch):
    clock = Clock()
    monkeypatch.setattr("time.perf_counter", lambda: clock.now)

    def turn(g, x):
        clock.now += 0.02 * len(x) if slow == "action" else 0.0
        return x.rot90(g, (-2, -1)) if order == 4 else x.flatten(-2).roll(g, -1).reshape(x.shape)

    net = Waiting(clock) if slow == "network" else nn.Sequential(nn.Flatten(), nn.Linear(36, 3))
    told = []
    action = custom_action(cyclic(order), turn, 2, "turn")
    result = audit(net, images(300), action, seconds=20, progress=lambda words, *_: told.append(words))
    assert clock.now < 1.2 * (20 + 10) + 5  # and what finds out how long a pass takes
    assert any("take about" in words for words in told)
    assert any("fewer samples" in note for note in result.notes)


def test_a_mirror_of_one_s_own_is_accused_only_where_it_is_called_a_rotation():
    x, y = images(90)
    torch.manual_seed(0)
    inner = nn.Sequential(nn.Flatten(), nn.Linear(36, 3))

    class Half(nn.Module):
        def forward(self, x):
            return inner(x) + inner(x.rot90(2, (-2, -1)))

    def mirror(g, v):
        return v.flip(-1) if g else v

    own = audit(Half(), (x, y), custom_action(cyclic(2), mirror, 2, "mirror"), repairs=False)
    built_in = audit(Half(), (x, y), "C2 flip-x", repairs=False)
    assert own.causes[0].kind == built_in.causes[0].kind != "action"
    assert own.error == pytest.approx(built_in.error)
    assert any("cannot be told" in note for note in own.notes)
    named = audit(Half(), (x, y), custom_action(cyclic(2), mirror, 2, "rotation"), repairs=False)
    assert named.causes[0].kind == "action"
    plain = audit(inner, (x, y), custom_action(cyclic(2), mirror, 2, "mirror"), repairs=False)
    assert not any("mirror" in note for note in plain.notes)


def test_maps_that_were_declared_not_to_change_are_pointed_to():
    net = nn.Conv2d(1, 2, 3, padding=1)
    after = LayerShare("outputs", "", float("nan"), torch.ones(3).double(), (2, 6, 6), False, False)
    same = audit_subject(net, images(12), "C4 rotation", target_action="same")
    assert "target_action='image'" in layer_reason(after, same)
    moved = audit_subject(net, images(12), "C4 rotation", target_action="image")
    assert "target_action" not in layer_reason(after, moved)
