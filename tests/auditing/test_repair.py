"""Remedies, applied to small trained networks and measured; the network itself is never changed."""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import pytest
import torch
from torch import nn

from symscope.auditing import Subject, audit_subject
from symscope.auditing._data_symmetry import DataSymmetry
from symscope.auditing._input_invariance import ElementTest
from symscope.auditing._label_survival import LabelTest
from symscope.auditing._measurement import Estimate, measurement
from symscope.auditing._remedies import Remedy, affordable_remedies, repair_plan, wanted_elements
from symscope.auditing._repair import Repair, best_repair, repair
from symscope.auditing._repair_files import weights_hash
from symscope.auditing._target_survival import TargetTest
from symscope.data import Action, LabelledData
from symscope.data.vectors import linear_action
from symscope.dynamics import build_module, declare_network
from symscope.errors import InputError
from symscope.groups import cyclic, permutation
from tests.auditing.trained import bar_subject, classifier, tilt_subject
from tests.tolerances import SINGLE


@pytest.fixture(scope="module")
def classes() -> tuple[Subject, dict[str, Repair]]:
    subject = bar_subject()
    return subject, {one.name: one for one in repair(subject, seconds=600, steps=120)}


@pytest.fixture(scope="module")
def numbers() -> tuple[Subject, dict[str, Repair]]:
    subject = tilt_subject()
    return subject, {one.name: one for one in repair(subject, seconds=600, steps=120)}


def test_all_remedies_are_tried_and_help_a_network_trained_on_aligned_data(classes):
    _, repairs = classes
    assert list(repairs) == [
        "average over 4 elements",
        "average over 2 elements",
        "canonical pose, the network's most confident",
        "canonical pose, nearest to the data",
        "refit of the last layer",
        "fine-tuning with augmentation",
        "fine-tuning with a penalty",
    ]
    assert all(one.module is not None for one in repairs.values())
    before = repairs["average over 4 elements"]
    assert before.error_before.value > 0.5
    assert before.upright_before.value > 0.95
    assert before.everywhere_before.value < 0.75
    assert repairs["canonical pose, nearest to the data"].outcome == "better"
    assert repairs["fine-tuning with augmentation"].outcome == "better"
    assert best_repair(list(repairs.values())).everywhere_after.value > 0.9


def test_exact_averages_and_poses_leave_no_error(classes, numbers):
    for _, repairs in (classes, numbers):
        for name in ("average over 4 elements", "canonical pose, nearest to the data"):
            assert repairs[name].error_after.value < SINGLE
    assert classes[1]["average over 2 elements"].error_after.value > 0.1


def test_errors_and_accuracies_are_those_of_a_plain_loop(classes):
    subject, repairs = classes
    one = repairs["refit of the last layer"]
    fit, judged = one.fitted, one.judged
    assert (fit, judged) == (60, 60)
    # every sample fits or judges, and both halves have every class
    data, seen = subject.data, []
    for half in ("fitted", "judged"):
        part = getattr(repair_plan(subject, (0, 1, 2, 3), 600, 0), half)
        assert part.labels.bincount().tolist() == [20, 20, 20]
        seen += part.indices.tolist()
    assert sorted(seen) == list(range(len(data)))
    judge = repair_plan(subject, (0, 1, 2, 3), 600, 0).judged
    x, labels = judge.x, judge.labels
    with torch.no_grad():
        for module, error, everywhere, upright in (
            (subject.module, one.error_before, one.everywhere_before, one.upright_before),
            (one.module, one.error_after, one.everywhere_after, one.upright_after),
        ):
            outs = torch.stack([module(x.rot90(k, (1, 2))).double() for k in range(4)])
            change = (outs[1:] - outs[0]).square().sum(2).mean()
            spread = (outs[0] - outs[0].mean(0)).square().sum(1).mean()
            assert error.value == pytest.approx(float((change / spread).sqrt()), rel=1e-6)
            right = (outs.argmax(2) == labels).double()
            assert everywhere.value == pytest.approx(float(right.mean()))
            assert upright.value == pytest.approx(float(right[0].mean()))
            for estimate in (error, everywhere, upright):
                assert estimate.low <= estimate.value <= estimate.high


def test_vectors_are_moved_back_before_they_are_compared(numbers):
    _, repairs = numbers
    assert "canonical pose, the network's most confident" not in repairs  # numbers have no confidence
    one = repairs["fine-tuning with augmentation"]
    assert one.certificate["score"] == "root mean square error"
    assert one.everywhere_after.value < 0.7 * one.everywhere_before.value
    assert one.outcome == "better"
    assert repairs["refit of the last layer"].outcome == "better"


def test_the_users_network_is_unchanged_byte_for_byte():
    net = copy.deepcopy(classifier())
    before = weights_hash(net.state_dict())
    subject = audit_subject(net, bar_subject(24).data, "C4 rotation")
    repair(subject, steps=30)
    assert weights_hash(net.state_dict()) == weights_hash(subject.module.state_dict()) == before
    assert not subject.module.training
    assert not any(weight.grad is not None for weight in net.parameters())


def test_the_same_seed_gives_the_same_repairs():
    first, second = (repair(bar_subject(48), seconds=600, seed=3, steps=30) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        assert one.certificate["weights_sha256"] == other.certificate["weights_sha256"]
        assert one.error_after == other.error_after


class SureWhenWrong(nn.Module):
    """Right but unsure in three poses, known by the brightest corner; wrong and sure in the fourth."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, x):
        corners = torch.stack([x[:, 0, 0], x[:, -1, 0], x[:, -1, -1], x[:, 0, -1]], 1)
        sides = (x[:, 2, 2] > 0.5).to(x) * 2 - 1
        sides = sides * torch.where(corners.argmax(1) == 2, -10.0, 1.0) * self.scale
        return torch.stack([-sides, sides], 1)


def test_a_remedy_that_makes_things_worse_is_shown_as_worse():
    x = torch.rand(64, 5, 5, generator=torch.Generator().manual_seed(0))
    x[:, 0, 0] = 2
    data = LabelledData(x, (x[:, 2, 2] > 0.5).long(), "corners", "drawn")
    subject = audit_subject(SureWhenWrong(), data, "C4 rotation")
    repairs = {one.name: one for one in repair(subject, steps=20)}
    sure = repairs["canonical pose, the network's most confident"]
    assert (sure.everywhere_before.value, sure.everywhere_after.value) == (0.75, 0)
    assert sure.outcome == "worse"
    averaged = repairs["average over 4 elements"]  # probabilities: one sure answer cannot outvote three
    assert averaged.details == "mean of probabilities"
    assert (averaged.outcome, averaged.everywhere_after.value) == ("better", 1)
    assert repairs["refit of the last layer"].reason == "no linear layer gives its outputs"
    assert best_repair(list(repairs.values())) in (averaged, repairs["canonical pose, nearest to the data"])


def test_nothing_is_done_to_a_network_that_is_invariant():
    net = nn.Sequential(nn.Conv2d(1, 3, 1), nn.Tanh(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    repairs = repair(audit_subject(net, bar_subject(24).data, "C4 rotation"))
    assert {one.module for one in repairs} == {None}
    assert all("nothing to repair" in one.reason for one in repairs)


def test_what_takes_longer_is_measured_on_fewer_samples():
    subject = bar_subject()
    plan = replace(repair_plan(subject, (0, 1, 2, 3), 600, 0), pass_seconds=1 / 240, move_seconds=0.0)
    one = Remedy("one", lambda: (nn.Identity(), ""), "")
    four = replace(one, name="four", passes=4, moves=3)
    plan = replace(plan, seconds=4.0)
    assert (plan.tried([one]).shape, bool(plan.tried([one]).all())) == ((60, 3), True)  # 240 pairs of passes
    few = plan.tried([one, four])  # 80 answers, too few for 24 samples in 4 poses
    assert few.sum(1).unique().tolist() == [2]
    assert (len(few), few.sum(0).tolist()) == (26, [17, 18, 17])
    part = measurement(subject, plan.judged.take(torch.arange(26)), plan.measured, few)
    whole = measurement(subject, plan.judged, plan.measured, plan.tried([one]))
    assert whole.error().value == pytest.approx(part.error().value, rel=0.2)
    assert (len(plan.first_fitted(1, 8)), len(plan.first_fitted(30, 8))) == (60, 8)


def test_remedies_that_take_too_long_are_left_out():
    plan = replace(repair_plan(bar_subject(), (0, 1, 2, 3), 600, 0), pass_seconds=0.1, move_seconds=0.05)
    one = Remedy("one", lambda: (nn.Identity(), ""), "")
    average, fitted = replace(one, name="average", passes=4, moves=3), replace(one, name="fit", making=8.0)
    everything = [average, fitted, one]
    assert affordable_remedies(replace(plan, seconds=600.0), everything) == [one, fitted, average]
    assert affordable_remedies(replace(plan, seconds=30.0), everything) == [one, fitted]
    assert affordable_remedies(replace(plan, seconds=20.0), everything) == [one]
    assert affordable_remedies(replace(plan, seconds=10.0), everything) == []
    late = repair(bar_subject(), seconds=1e-4)
    assert {one.module for one in late} == {None}
    assert all("longer than" in one.reason for one in late)


def test_all_remedies_have_the_same_numbers_before(classes):
    _, repairs = classes
    assert len({one.error_before for one in repairs.values()}) == 1
    assert len({one.everywhere_before for one in repairs.values()}) == 1
    assert len({one.judged for one in repairs.values()}) == 1


def estimate(value: float, half: float = 0.01) -> Estimate:
    return Estimate(value, value - half, value + half)


def made(name: str, error: float, score: float, passes: int = 1) -> Repair:
    return Repair(
        name,
        nn.Identity(),
        error_before=estimate(0.5),
        error_after=estimate(error),
        everywhere_before=estimate(0.6),
        everywhere_after=estimate(score),
        gain=estimate(score - 0.6),
        passes=passes,
    )


def test_the_best_remedy_has_the_best_score_then_the_smallest_error_then_the_fewest_passes():
    rising = made("rising", 0.7, 0.9)
    assert rising.outcome == made("a little", 0.501, 0.9).outcome == "better score, larger error"
    assert made("worse", 0.7, 0.6).outcome == "larger error"
    average, tuned, low = made("average", 0.0, 0.8, 8), made("tuned", 0.3, 0.805), made("low", 0.0, 0.7)
    assert best_repair([rising, low, tuned, average]) is average
    fast = made("fast", 0.0005, 0.796)
    assert best_repair([average, fast, tuned]) is fast
    assert best_repair([rising]) is None
    unknown = [replace(one, everywhere_after=estimate(float("nan"))) for one in (average, tuned)]
    assert best_repair(unknown) is unknown[0]


def symmetry(action: Action, *mixing: int) -> DataSymmetry:
    """What is found in data that looks different under every element, classes 0 and 1 mixed up by some."""
    others = range(1, action.group.order)
    tests = tuple(ElementTest(g, str(g), None, 0.9, 0.8, 1.0, 0.01, 60, 1.0, "different") for g in others)
    labels = tuple(LabelTest(0, 1, g, 0.5, 0.4, 0.6, 1.0, 0.9, 0.01, 60) for g in mixing)
    found = ("bars", "C4 rotation", 60, tests, (), None, True, (0,), labels, (), "not", (0,), ("Do not.",))
    return DataSymmetry(*found)


def test_nothing_is_applied_where_labels_do_not_survive():
    subject = bar_subject(24)
    repairs = repair(subject, data_symmetry=symmetry(subject.action, 1, 2, 3))
    assert [one.module for one in repairs] == [None] * len(repairs)
    assert {one.outcome for one in repairs} == {"not applied"}
    expected = "labels do not survive: 0 moved by 90° can hardly be told from 1"
    assert {one.reason for one in repairs} == {expected}
    assert repairs[0].to_dict()["reason"] == expected


def test_elements_under_which_labels_survive_are_repaired_though_the_data_does_not_show_them():
    subject = bar_subject(24)
    assert wanted_elements(subject, symmetry(subject.action)) == ((0, 1, 2, 3), "")
    repairs = repair(subject, data_symmetry=symmetry(subject.action, 1, 3), steps=30)
    assert repairs[0].name == "average over 2 elements"
    assert repairs[0].module.elements == (0, 2)
    assert repairs[0].elements == ("180°",)
    assert repairs[0].error_after.value < SINGLE


def test_numbers_that_change_are_a_reason_too():
    subject = tilt_subject(24)
    changed = tuple(TargetTest(g, 0.1, 0.9, 0.5, 1.1, 0.0, "changes") for g in (1, 2, 3))
    found = replace(symmetry(subject.action), targets=changed)
    assert wanted_elements(subject, found)[1] == "numbers change when samples are moved by 90°"


def test_a_certificate_is_json_and_names_what_it_rests_on(classes):
    one = classes[1]["average over 4 elements"]
    read = json.loads(json.dumps(one.certificate))
    assert read["elements"] == ["90°", "180°", "270°"]
    assert read["error_after"]["value"] == one.error_after.value
    assert (read["samples_fitted"], read["samples_judged"], read["seed"]) == (60, 60, 0)
    assert len(read["weights_sha256"]) == 64
    assert read["versions"]["torch"] == torch.__version__
    assert read["action"] == {"name": "rotation", "group": "C4", "shape": [6, 6]}


def test_declared_layers_are_projected():
    v = permutation(cyclic(6))
    declared = declare_network([v, 2 * v, v], "relu")
    net = build_module(declared, equivariant=False, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        for weight in net.parameters():
            weight += 0.2 * torch.randn(
                weight.shape, generator=torch.Generator().manual_seed(1), dtype=weight.dtype
            )
    x = torch.randn(40, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    act = linear_action(v)
    subject = audit_subject(net, (x, x.numpy()), act, target_action=act, task="regression")
    repairs = {one.name: one for one in repair(subject, steps=30)}
    one = repairs["projection of declared layers"]
    assert one.error_before.value > 0.1
    assert one.error_after.value < 1e-12
    assert type(one.module) is type(net)
    assert one.module.state_dict().keys() == net.state_dict().keys()


def test_averages_of_large_groups_are_thinned_to_a_subgroup():
    subject = audit_subject(classifier(), bar_subject(24).data, "C36 rotation")
    plan = repair_plan(subject, tuple(range(36)), 60, 0)
    assert plan.averaged == tuple(range(0, 36, 3))
    assert len(plan.measured) == 11


def test_a_repair_says_in_one_line_what_it_did(classes):
    one = classes[1]["average over 4 elements"]
    assert repr(one).startswith("Repair(average over 4 elements: ")
    assert "\n" not in repr(one)
    assert "load_repaired" in one.recipe
    assert one.passes == 4
    assert one.does_not_fix


@pytest.mark.parametrize("options", [{"seconds": 0}, {"seconds": float("inf")}, {"steps": 0}])
def test_times_and_steps_that_make_no_sense_are_refused(options):
    with pytest.raises(InputError, match=next(iter(options))):
        repair(bar_subject(24), **options)
