"""What transformations do to answers, against sums written out, scikit-learn and scipy."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics
from torch import nn

from symscope.auditing import audit_subject, consequences
from symscope.auditing._class_answers import calibration_error, probabilities
from symscope.auditing._consequences import MOST_SAMPLES
from symscope.data import LabelledData, MeasuredData, rotation
from symscope.data.synthetic import letters
from symscope.numerics import seeded


def linear(inputs, outputs, seed=0, bias=True):
    net = nn.Linear(inputs, outputs, bias=bias).double()
    with torch.no_grad():
        for weights in net.parameters():
            weights.copy_(torch.randn(weights.shape, generator=seeded(seed), dtype=torch.float64) / 3)
    return nn.Sequential(nn.Flatten(), net)


@pytest.fixture(scope="module")
def case():
    data = letters(30, 0, "bdFJ")
    net = linear(256, 4)
    subject = audit_subject(net, data, "C4 rotation", class_names=["b", "d", "F", "J"])
    return data, net, consequences(subject)


def test_every_number_of_an_element_against_scikit_learn_and_scipy(case):
    data, net, found = case
    assert [one.element_name for one in found.elements] == ["0°", "90°", "180°", "270°"]
    answers = []
    for g, one in enumerate(found.elements):
        chances = net(rotation(4).act(g, data.x)).softmax(1).detach()
        answers.append(chances.argmax(1))
        right = answers[g] == data.labels
        assert one.accuracy == pytest.approx(metrics.accuracy_score(data.labels, answers[g]))
        ends = stats.binomtest(int(right.sum()), 120).proportion_ci(method="wilson")
        assert (one.low, one.high) == pytest.approx((ends.low, ends.high), abs=1e-6)
        scores = [
            metrics.brier_score_loss((data.labels == c).numpy(), chances[:, c].numpy()) for c in range(4)
        ]
        assert one.brier == pytest.approx(sum(scores))
        assert one.confidence == pytest.approx(float(chances.amax(1).mean()))
        assert one.flips == pytest.approx(float((answers[g] != answers[0]).double().mean()))
        changes = [float(a) - float(b) for a, b in zip(right, answers[0] == data.labels, strict=True)]
        assert one.change == pytest.approx(sum(changes) / 120)
        spread = 1.96 * torch.tensor(changes).double().std().item() / math.sqrt(120)
        assert one.change_low == pytest.approx(one.change - spread, abs=0.3 * spread + 1e-9)
        assert one.change_high == pytest.approx(one.change + spread, abs=0.3 * spread + 1e-9)


def test_every_class_against_a_confusion_matrix(case):
    data, net, found = case
    names = ["b", "d", "F", "J"]
    assert len(found.classes) == 16
    for one in found.classes:
        answers = net(rotation(4).act(one.element, data.x)).argmax(1)
        row = metrics.confusion_matrix(data.labels, answers, labels=range(4))[one.label]
        assert one.class_name == names[one.label]
        assert one.samples == 30
        assert one.accuracy == pytest.approx(row[one.label] / 30)
        wrong = {names[c]: count for c, count in enumerate(row) if c != one.label}
        assert one.mistaken == pytest.approx(max(wrong.values()) / 30)
        assert one.mistaken_for is None or wrong[one.mistaken_for] == max(wrong.values())


def test_flipped_samples_are_where_they_are_said_to_be(case):
    data, net, found = case
    assert found.flipped
    assert len({one.index for one in found.flipped}) == len(found.flipped)
    names = ["b", "d", "F", "J"]
    for one in found.flipped:
        x = data.x[one.index : one.index + 1]
        before, after = (net(y).detach().softmax(1)[0] for y in (x, rotation(4).act(one.element, x)))
        assert (names[int(before.argmax())], names[int(after.argmax())]) == (one.before, one.after)
        assert one.before != one.after
        assert names[int(data.labels[one.index])] == one.label
        assert (one.before_confidence, one.after_confidence) == pytest.approx(
            (float(before.max()), float(after.max()))
        )
    right = [one.before == one.label for one in found.flipped]
    assert right == sorted(right, reverse=True)


def trained(data):
    """A linear classifier fitted to letters as they are."""
    net = linear(256, len(data.classes), seed=1)
    optimiser = torch.optim.Adam(net.parameters(), 0.02)
    for _ in range(40):
        optimiser.zero_grad()
        nn.functional.cross_entropy(net(data.x), data.labels).backward()
        optimiser.step()
    return net


def test_the_transformation_and_class_that_hurt_most_are_named():
    data = letters(40, 0, "bdFJ")
    subject = audit_subject(trained(data), letters(40, 9, "bdFJ"), "flip", class_names=list("bdFJ"))
    found = consequences(subject)
    assert found.worst_elements == (1,)
    assert found.elements[0].accuracy > 0.95
    b = next(one for one in found.classes if one.class_name == "b" and one.element == 1)
    assert b.mistaken_for == "d"
    assert b.mistaken > 0.9
    text = " ".join(found.sentences)
    assert "transformations that surely lower it: r." in text
    assert "overconfident" in text


def test_an_invariant_network_is_not_hurt():
    class Mean(nn.Module):
        def __init__(self):
            super().__init__()
            self.last = nn.Linear(2, 3).double()

        def forward(self, x):
            return self.last(torch.stack([x.mean((1, 2)), x.square().mean((1, 2))], 1))

    found = consequences(audit_subject(Mean(), letters(10, 0, "bdx"), "C4 rotation"))
    assert found.worst_elements == ()
    assert found.flipped == ()
    assert all(one.flips == 0 == one.change for one in found.elements)
    assert "No transformation surely lowers" in " ".join(found.sentences)


def test_one_output_is_a_probability_of_the_second_class():
    data = letters(20, 0, "bF")
    net = linear(256, 1)
    found = consequences(audit_subject(net, data, "flip"))
    expected = ((net(data.x)[:, 0] > 0).long() == data.labels).double().mean()
    assert found.elements[0].accuracy == pytest.approx(float(expected))
    chances = net(data.x)[:, 0].sigmoid()
    brier = 2 * metrics.brier_score_loss(data.labels.numpy(), chances.detach().numpy())
    assert found.elements[0].brier == pytest.approx(brier)


def test_outputs_that_are_probabilities_stay_so():
    given_rows = torch.tensor([[0.2, 0.8], [0.5, 0.5]], dtype=torch.float64)
    assert torch.equal(probabilities(given_rows), given_rows)
    assert not torch.equal(probabilities(2 * given_rows), 2 * given_rows)


@settings(max_examples=50)
@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=40))
def test_calibration_error_is_the_sum_over_bins(pairs):
    total = 0.0
    for b in range(10):
        inside = [(c, r) for c, r in pairs if int(min(c * 10, 9.5)) == b]
        if inside:
            confidence, right = (sum(one) / len(inside) for one in zip(*inside, strict=True))
            total += len(inside) / len(pairs) * abs(confidence - right)
    confidence, right = (torch.tensor(one, dtype=torch.float64) for one in zip(*pairs, strict=True))
    assert calibration_error(confidence, right) == pytest.approx(total, abs=1e-9)


def points(count=60):
    return torch.randn(count, 1, 8, 8, generator=seeded(3), dtype=torch.float64)


def test_errors_of_numbers_are_in_their_units():
    x = points()
    targets = torch.stack([5 * x.mean((1, 2, 3)), 100 * x[:, 0, 0, 1]], 1)
    net = linear(64, 2, seed=2)
    found = consequences(audit_subject(net, MeasuredData(x, targets, "toy", "tests"), "C4 rotation"))
    assert found.elements == found.classes == found.flipped == ()
    before = [metrics.root_mean_squared_error(targets[:, c], net(x)[:, c].detach()) for c in range(2)]
    for one in found.predictions:
        moved = net(rotation(4).act(one.element, x))[:, one.column].detach()
        error = metrics.root_mean_squared_error(targets[:, one.column], moved)
        assert one.error == pytest.approx(error)
        assert one.change == pytest.approx(error - before[one.column], abs=1e-12)
        assert one.low < one.error < one.high
    assert "Number 1: unmoved" in found.sentences[1]


def test_an_exact_predictor_is_hurt_by_the_transformation_its_target_sees():
    x = points()

    class Corner(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(1).double())

        def forward(self, x):
            return self.scale * x[:, 0, 0, 1:2]

    data = MeasuredData(x, x[:, 0, 0, 1] + 0.1 * x[:, 0, 3, 3], "corner", "tests")
    found = consequences(audit_subject(Corner(), data, "flip"))
    assert found.worst_elements == (1,)
    assert found.predictions[0].error < 0.2 < found.predictions[1].low
    assert "moved by r it is" in found.sentences[0]


def test_outputs_that_are_no_answers_have_no_consequences():
    convolution = nn.Conv2d(1, 1, 3, padding=1).double()
    x = points(20)
    data = LabelledData(x, torch.arange(20) % 2, "maps", "tests")
    assert consequences(audit_subject(convolution, data, "C4 rotation", target_action="image")) is None


def test_large_data_and_groups_are_thinned_out_with_a_note():
    count = MOST_SAMPLES + 20
    data = LabelledData(points(count)[..., :6, :6], torch.arange(count) % 2, "many", "tests")
    found = consequences(audit_subject(linear(36, 2), data, "C48 rotation"))
    assert found.samples == MOST_SAMPLES
    assert len(found.elements) == 25
    assert len(found.notes) == 2


def test_harmful_transformations_are_listed_in_the_groups_order():
    data = letters(40, 0, "bdFJ")
    found = consequences(audit_subject(trained(data), data, "C8 rotation"))
    assert found.worst_elements[0] != 1
    assert set(found.worst_elements) == set(range(1, 8))
    assert "7 elements from 45° to 315°" in found.sentences[1]
