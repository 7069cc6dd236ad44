"""Networks trained together: against plain loops, unseen points, resumed runs, and what is refused."""

from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import replace

import pytest
import torch
from torch import nn

from symscope.data import mnist_sample, rotation
from symscope.errors import InputError
from symscope.networks.architectures import digit_mlp, mlp
from symscope.training import Checkpoint, MiniBatch, Optimiser, StoredPoints, train_networks
from symscope.training._epoch_draws import shuffle
from symscope.training._trained_networks import check_classes
from symscope.training.points import GeneratedPoints
from symscope_papers.spectral.left_out import left_out_data
from tests.tolerances import STACKED
from tests.training.interrupted import classifiers
from tests.training.problems import EPOCHS, masks, pool, steady


def trained_by_hand(net, loss, x, targets, seen, seed):
    """A plain loop in PyTorch, with the order of points that is drawn for this seed."""
    steps = torch.optim.Adam(net.parameters(), lr=1e-2, betas=(0.7, 0.9))
    for epoch in range(EPOCHS.epochs):
        order = shuffle([seen.nonzero()[:, 0]], EPOCHS.batch, (seed,), epoch).orders[0]
        for s in range(4):  # 30 points in 4 steps
            chosen = order[s * 30 // 4 : (s + 1) * 30 // 4]
            steps.zero_grad()
            loss(net(x[chosen]), targets[chosen]).backward()
            steps.step()
    return net


def test_together_one_by_one_and_by_hand_are_the_same():
    x, labels = pool()
    seen = masks()
    together = train_networks(steady, StoredPoints(x), labels, seen, {"rest": ~seen}, EPOCHS, [5, 0, 8])
    for i, seed in enumerate((5, 0, 8)):
        alone = train_networks(
            steady, StoredPoints(x), labels, seen[i : i + 1], {"rest": ~seen[i : i + 1]}, EPOCHS, [seed]
        )
        net = trained_by_hand(steady(seed), nn.functional.cross_entropy, x, labels, seen[i], seed)
        for name, weight in net.named_parameters():
            for result, row in ((together, i), (alone, 0)):
                torch.testing.assert_close(
                    result.stack.weights[name][row], weight.detach(), rtol=STACKED, atol=STACKED
                )
        torch.testing.assert_close(together.losses[:, i], alone.losses[:, 0], rtol=STACKED, atol=STACKED)
        right = (net(x[~seen[i]]).argmax(1) == labels[~seen[i]]).double().mean()
        assert together.measured["rest"][-1, i] == alone.measured["rest"][-1, 0] == right


@pytest.mark.parametrize("augment", [False, True])
def test_what_a_copy_may_not_see_does_not_matter(augment):
    x, labels = pool()
    seen = masks()
    unseen_by_0 = ~seen[0]
    other, swapped = x.clone(), labels.clone()
    other[unseen_by_0] = 50 - other[unseen_by_0]
    swapped[unseen_by_0] = (swapped[unseen_by_0] + 1) % 3
    settings = replace(EPOCHS, augment=augment)
    results = [
        train_networks(steady, StoredPoints(a, order=4), b, seen, {"train": seen}, settings, [5, 6, 7])
        for a, b in ((x, labels), (other, swapped))
    ]
    for name, weight in results[0].stack.weights.items():
        assert torch.equal(weight[0], results[1].stack.weights[name][0])
        assert not torch.equal(weight[1], results[1].stack.weights[name][1])  # the others did see them


def test_augmentation_shows_every_orientation_of_a_seed_in_time():
    """One seed per class under C2, learned in both orientations although each epoch shows one."""
    x = torch.tensor([[1.0, 0.0], [-1.0, 0.2], [0.0, 1.0], [0.1, -1.0]], dtype=torch.float64)
    labels = torch.tensor([0, 0, 1, 1])
    seen = torch.ones(1, 4, dtype=torch.bool)
    settings = MiniBatch(150, 2, Optimiser("adam", 0.05), augment=True, measured_every=150)
    net = train_networks(
        lambda seed: mlp((2, 16, 2), seed=seed),
        StoredPoints(x, 2),
        labels,
        seen,
        {"all": seen},
        settings,
        [1],
    )
    assert net.measured["all"].tolist() == [[1.0]]


def test_digits_are_learned_upright_ones_left_out_are_not():
    """Fig. 1 in small: who saw 9 upside down alone takes an upright one for the 6 it has seen upside down."""
    few = mnist_sample().of_classes(0, 6, 9).per_class(30, seed=0)
    few = replace(few, labels=torch.searchsorted(torch.tensor([0, 6, 9]), few.labels))
    data = left_out_data(few, rotation(2), [2, 0], seed=0, dtype=torch.float32)
    settings = MiniBatch(15, 32, Optimiser("adam", 3e-3), measured_every=15)
    result = train_networks(
        lambda seed: mlp((784, 64, 3), seed=seed),
        data.points,
        data.labels,
        data.train,
        data.tests,
        settings,
        [0, 1],
    )
    assert result.measured_at == (15,)
    assert (result.measured["train"] > 0.95).all()
    assert (result.measured["in-test"] > 0.6).all()
    assert result.measured["out-test"][0, 0] < 0.2


def test_on_the_fly_is_as_stored():
    few = mnist_sample().of_classes(0, 1, 2).per_class(3, seed=0)
    results = []
    for stored in (True, False):
        data = left_out_data(few, rotation(8), [1], seed=0, stored=stored)
        assert isinstance(data.points, StoredPoints if stored else GeneratedPoints)
        net = lambda seed: mlp((784, 6, 3), seed=seed)  # noqa: E731
        results.append(
            train_networks(net, data.points, data.labels, data.train, data.tests, EPOCHS, [3]).losses
        )
    torch.testing.assert_close(*results, rtol=STACKED, atol=STACKED)


def test_mixed_precision_changes_little():
    few = mnist_sample().per_class(4, seed=0)
    losses = []
    for mixed, dtype in ((False, torch.float32), (True, torch.bfloat16)):
        data = left_out_data(few, rotation(2), [1, 2], seed=0, dtype=dtype)
        settings = replace(EPOCHS, batch=16, mixed_precision=mixed)
        result = train_networks(digit_mlp, data.points, data.labels, data.train, data.tests, settings, [0, 1])
        assert {weight.dtype for weight in result.stack.weights.values()} == {torch.float32}
        losses.append(result.losses)
    assert not torch.equal(*losses)
    torch.testing.assert_close(*losses, rtol=0.05, atol=0.0)


def test_accuracy_on_some_points_only():
    x, labels = pool()
    seen = masks()
    settings = replace(EPOCHS, epochs=2, measured_points=4)
    result = train_networks(steady, StoredPoints(x), labels, seen, {"train": seen}, settings, [1, 2, 3])
    assert result.measured["train"].shape == (2, 3)
    assert torch.equal(result.measured["train"] * 4 % 1, torch.zeros(2, 3, dtype=torch.float64))


def test_the_seed_decides_and_progress_is_told():
    reported = []
    first = classifiers(None, lambda *a: reported.append(a))
    again = classifiers(None)
    assert torch.equal(first.losses, again.losses)  # dropout too
    assert [(epoch, epochs) for _, epoch, epochs in reported] == [(i, 6) for i in range(1, 7)]
    assert reported[-1][0] == f"training, loss {float(first.losses[-1].mean()):.3g}"


def normed(seed):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 3)).to(torch.float64)


def test_batch_norm_keeps_the_statistics_it_keeps_by_hand(tmp_path):
    x, labels = pool()
    seen = masks()[:1]
    every = MiniBatch(6, len(x), Optimiser("adam", 1e-2))  # all points in one step: their order is no matter
    net = normed(4)
    steps = torch.optim.Adam(net.parameters(), lr=1e-2)
    for _ in range(6):
        loss = nn.functional.cross_entropy(net(x[seen[0]]), labels[seen[0]])
        steps.zero_grad()
        loss.backward()
        steps.step()
    done = train_networks(normed, StoredPoints(x), labels, seen, {"rest": ~seen}, every, [4])
    mine = done.stack.copy(0)
    for name, value in net.state_dict().items():
        torch.testing.assert_close(mine.state_dict()[name], value, rtol=0, atol=STACKED)
    with torch.no_grad():
        right = (net.eval()(x[~seen[0]]).argmax(1) == labels[~seen[0]]).double().mean()
    assert float(done.measured["rest"][-1]) == float(right)
    kept = Checkpoint(tmp_path / "normed.pt", every=3)

    def stop(what, epoch, epochs):
        if epoch == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_networks(
            normed, StoredPoints(x), labels, seen, {"rest": ~seen}, every, [4], progress=stop, checkpoint=kept
        )
    resumed = train_networks(
        normed, StoredPoints(x), labels, seen, {"rest": ~seen}, every, [4], checkpoint=kept
    )
    for name, value in resumed.stack.copy(0).state_dict().items():
        assert torch.equal(value, mine.state_dict()[name])


@pytest.mark.parametrize("option", ["mixed_precision", "compiled"])
def test_batch_norm_is_trained_in_plain_steps(option):
    x, labels = pool()
    seen = masks()[:1]
    rounded = replace(EPOCHS, **{option: True})
    with pytest.raises(InputError, match="plain steps only"):
        train_networks(
            lambda seed: normed(seed).float(),
            StoredPoints(x.float()),
            labels,
            seen,
            {"rest": ~seen},
            rounded,
            [4],
        )


def test_killed_and_resumed_is_as_if_nothing_had_happened(tmp_path):
    path = tmp_path / "state.pt"
    command = [sys.executable, "-m", "tests.training.interrupted", str(path), "5"]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    reported = []
    resumed, whole = (
        classifiers(str(path), lambda what, epoch, epochs: reported.append(epoch)),
        classifiers(None),
    )
    assert reported == [5, 6]  # epochs 1 to 4 were kept
    for name, weight in whole.stack.weights.items():
        assert torch.equal(resumed.stack.weights[name], weight)
    assert torch.equal(resumed.losses, whole.losses)
    for name, values in whole.measured.items():
        assert torch.equal(resumed.measured[name], values)


def run(x=None, labels=None, seen=None, tests=None, seeds=(0, 1, 2), builder=steady, settings=EPOCHS, **more):
    points, classes = pool()
    seen = masks() if seen is None else seen
    return train_networks(
        builder,
        StoredPoints(points if x is None else x),
        classes if labels is None else labels,
        seen,
        {"train": seen} if tests is None else tests,
        settings,
        list(seeds),
        **more,
    )


def without_class_2() -> torch.Tensor:
    seen = masks()
    seen[1] &= pool()[1] != 2
    return seen


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"labels": pool()[1] + 1},
            r"labels: expected classes 0 .. 2, as the network has outputs, got 1 .. 3",
        ),
        ({"labels": pool()[1] - 1}, r"got -1 .. 1"),
        ({"labels": pool()[1][:7]}, "labels: expected one per point, 40, got 7"),
        ({"seen": without_class_2()}, "copy 1: class 2 has points but none of them is seen"),
        ({"seen": masks() & False}, "seen: expected at least one point for each copy; copy 0 has none"),
        ({"tests": {"out": masks() & False}}, "out: expected at least one point for each copy"),
        (
            {"tests": {"out": masks()[:2]}},
            r"out: expected a mask \[copies, points\] = \(3, 40\), got \(2, 40\)",
        ),
        ({"seeds": (0, 1)}, r"seen: expected a mask \[copies, points\] = \(2, 40\), got \(3, 40\)"),
        ({"x": pool()[0] * float("nan")}, "points from 0 on: expected finite numbers"),
        ({"x": pool()[0][:, :4]}, r"does not take inputs of shape \(4,\)"),
        ({"builder": lambda seed: Pictures(seed)}, "one axis of logits"),
        (
            {"settings": replace(EPOCHS, mixed_precision=True)},
            "expected points in float32 or bfloat16, got float64",
        ),
        (
            {"settings": replace(EPOCHS, optimiser=Optimiser("sgd", 1e308))},
            r"copy 0 \(seed 0\): the loss is nan in epoch 1; lower the learning rate \(1e\+308\)",
        ),
    ],
)
def test_bad_input(change, message):
    with pytest.raises(InputError, match=message):
        run(**change)


class Pictures(nn.Module):
    """A network whose output has two axes per point."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.line = mlp((5, 6), seed=seed)

    def forward(self, x):
        return self.line(x).unflatten(1, (2, 3))


def test_checkpoints_that_cannot_be_used(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(InputError, match="its folder cannot be written"):
        run(checkpoint=Checkpoint(tmp_path / "file" / "state.pt"))
    (tmp_path / "state.pt").write_bytes(b"PK\x03\x04 not a zip file")
    with pytest.raises(InputError, match="damaged or not a checkpoint"):
        run(checkpoint=Checkpoint(tmp_path / "state.pt"))
    run(checkpoint=Checkpoint(tmp_path / "good.pt"))
    with pytest.raises(InputError, match=r"another training; seeds is \[0, 1, 2\] there, \[0, 1, 4\] here"):
        run(checkpoint=Checkpoint(tmp_path / "good.pt"), seeds=(0, 1, 4))
    seen = masks()
    seen[0, seen[0].nonzero()[0, 0]] = False
    with pytest.raises(InputError, match="another training; seen is"):
        run(checkpoint=Checkpoint(tmp_path / "good.pt"), seen=seen, tests={"train": masks()})
    with pytest.raises(InputError, match="another training; initial weights is"):
        run(checkpoint=Checkpoint(tmp_path / "good.pt"), builder=lambda seed: steady(seed + 100))


@pytest.mark.parametrize("labels", [lambda y: y.double(), lambda y: y[:, None]])
def test_labels_that_are_no_classes(labels):
    with pytest.raises(InputError, match="whole numbers, one class per point"):
        check_classes(labels(pool()[1]), masks(), torch.Size([3]))


@pytest.mark.parametrize("name", ["epochs", "batch", "measured_every", "measured_points"])
def test_bad_settings(name):
    with pytest.raises(InputError, match=f"{name}: expected an integer of at least 1, got 0"):
        replace(EPOCHS, **{name: 0})


@pytest.mark.slow
def test_compiled_steps_are_the_same_steps():
    command = [sys.executable, "-m", "tests.training.compiled"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    differences = [float(line) for line in done.stdout.split()]
    assert len(differences) == 2
    assert max(differences) < STACKED


def two_numbers(seed):
    return mlp((5, 6, 2), seed=seed)


def numbers(count):
    generator = torch.Generator().manual_seed(7)
    return torch.randn(count, 2, generator=generator, dtype=torch.float64)


def test_together_and_by_hand_are_the_same():
    x, _ = pool()
    y, seen = numbers(len(x)), masks()
    together = train_networks(two_numbers, StoredPoints(x), y, seen, {"rest": ~seen}, EPOCHS, [5, 0, 8])
    for i, seed in enumerate((5, 0, 8)):
        net = trained_by_hand(two_numbers(seed), nn.functional.mse_loss, x, y, seen[i], seed)
        for name, weight in net.named_parameters():
            torch.testing.assert_close(
                together.stack.weights[name][i], weight.detach(), rtol=STACKED, atol=STACKED
            )
        with torch.no_grad():
            error = nn.functional.mse_loss(net(x[~seen[i]]), y[~seen[i]])
        assert float(together.measured["rest"][-1, i]) == pytest.approx(float(error), rel=STACKED)


def test_a_resumed_run_is_the_same(tmp_path):
    x, _ = pool()
    y, seen = numbers(len(x)), masks()
    kept = Checkpoint(tmp_path / "state.pt", every=1)

    def stops(what, epoch, epochs):
        if epoch == 2:
            raise KeyboardInterrupt

    arguments = (two_numbers, StoredPoints(x), y, seen, {"rest": ~seen}, EPOCHS, [5, 0, 8])
    with pytest.raises(KeyboardInterrupt):
        train_networks(*arguments, checkpoint=kept, progress=stops)
    resumed = train_networks(*arguments, checkpoint=kept)
    whole = train_networks(*arguments)
    assert torch.equal(resumed.losses, whole.losses)
    assert torch.equal(resumed.measured["rest"], whole.measured["rest"])


def test_what_does_not_fit_is_refused():
    x, _ = pool()
    y, seen = numbers(len(x)), masks()
    settings = MiniBatch(2, 8, Optimiser("sgd", 0.1))

    def trained(targets, builder=two_numbers, how=settings):
        return train_networks(builder, StoredPoints(x), targets, seen, {}, how, [1, 2, 3])

    with pytest.raises(InputError, match=r"expected a network with 3 outputs, .* got outputs \(2,\)"):
        trained(torch.cat([y, y[:, :1]], 1))
    with pytest.raises(InputError, match="targets: expected one per point"):
        trained(y[1:])
    with pytest.raises(InputError, match="targets: expected finite numbers"):
        trained(torch.where(y == y[3, 1], torch.nan, y))
    with pytest.raises(InputError, match=r"the loss is (inf|nan)"):
        trained(1e200 * y)
