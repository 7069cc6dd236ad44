"""Forecasts of masks, a class at every pixel: overlap by hand, cross-entropy, averaging, words."""

from __future__ import annotations

import io

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from symscope import forecast
from symscope.data import as_samples
from symscope.errors import InputError
from symscope.forecasting import forecast_page
from symscope.forecasting._design_trainer import DesignTrainer
from symscope.forecasting._designs import true_designs
from symscope.forecasting._prediction_task import SEGMENTATION, mean_overlap
from symscope.forecasting._question import as_question
from symscope.forecasting._sample_split import forecast_samples
from symscope.forecasting._training_task import Training
from symscope.forecasting._worker_task import WorkerTask, pickled_work, run_work, saved_samples
from symscope.networks import user_model
from symscope.training import Optimiser, StepPlan, train_steps


def masked(count=30, side=5):
    """Images, and which of three classes each pixel is: dark, bright, or dark in the lowest row."""
    x = torch.randn(count, side, side, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    y = (x > 0).long()
    y[:, -1] *= 2
    return x, y


def mask_net():
    return nn.Sequential(nn.Conv2d(1, 6, 1), nn.ReLU(), nn.Conv2d(6, 3, 1))


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 4), st.integers(1, 6), st.integers(0, 999))
def test_overlap_is_that_of_sets_of_positions(classes, positions, seed):
    generator = torch.Generator().manual_seed(seed)
    outputs = torch.randn(3, classes * positions, generator=generator)
    wanted = torch.rand(3, classes * positions, generator=generator)
    found = mean_overlap(outputs, wanted, classes)
    for row in range(3):
        first, second = (one[row].reshape(classes, positions).argmax(0).tolist() for one in (outputs, wanted))
        shares = []
        for c in set(first) | set(second):
            one, other = ({k for k, label in enumerate(labels) if label == c} for labels in (first, second))
            shares.append(len(one & other) / len(one | other))
        assert float(found[row]) == pytest.approx(sum(shares) / len(shares))


def test_integer_masks_are_classes_and_their_numbers_are_on_request():
    x, y = masked()
    samples, _ = as_samples((x, y))
    assert (samples.classes, samples.target_shape) == (3, (3, 5, 5))
    assert torch.equal(samples.targets.unflatten(1, (3, 5, 5)).argmax(1), y)
    assert as_samples((x, y.double()), "classification")[0].classes == 3
    assert as_samples((x, y[:, None]))[0].target_shape == (3, 5, 5)
    for numbers in (as_samples((x, y), "regression")[0], as_samples((x, y.double()))[0]):
        assert (numbers.classes, numbers.target_shape) == (0, (5, 5))
    for bad in (y - 1, 0 * y, y + 5000):
        with pytest.raises(InputError, match="expected masks of two classes or more"):
            as_samples((x, bad))


def test_masks_are_trained_by_cross_entropy_at_every_position():
    x, y = masked(8)
    module = nn.Sequential(mask_net(), nn.Flatten()).float()
    shares = nn.functional.one_hot(y, 3).movedim(-1, 1).float()
    with torch.no_grad():
        logits = module(x[:, None].float()).unflatten(1, (3, 5, 5))
    chances = logits.exp() / logits.exp().sum(1, keepdim=True)
    wanted = -float(chances.gather(1, y[:, None]).log().mean())
    plan = StepPlan(1, 8, Optimiser("sgd", 0.1))
    seen = torch.arange(8)
    losses = train_steps(module, x[:, None].float(), shares.flatten(1), seen, plan, 0, mask_classes=3)
    assert float(losses[0]) == pytest.approx(wanted, rel=1e-5)


def test_masks_move_with_their_image_without_being_told_and_keep_their_size():
    x, y = masked()
    question = as_question(as_samples((x, y))[0], "D4", seen="upright")
    assert question.task is SEGMENTATION
    assert question.target_action is not None
    turned = question.action.act(3, y.double()).long()
    assert torch.equal(question.targets.values[:, 3].unflatten(1, (3, 5, 5)).argmax(1), turned)
    sizes = (y != 0).flatten(1).sum(1).double()
    assert torch.equal(question.targets.mask_sizes(question.targets.values[:, 3]), sizes)
    smallest, largest = (sizes[question.data.labels == k] for k in (0, len(question.data.classes) - 1))
    assert float(smallest.max()) <= float(largest.min())
    other = as_samples((x, y[:, :4, :4]))[0]
    with pytest.raises(InputError, match="do they change with the samples"):
        as_question(other, "D4")


@pytest.fixture(scope="module")
def trained():
    x, y = masked()
    samples = forecast_samples(as_question(as_samples((x, y))[0], "D4", seen="upright"), 0)
    model = user_model(mask_net, (5, 5), 75, maps=True, name="mask_net")
    trainer = DesignTrainer(model, samples, torch.device("cpu"))
    [design] = true_designs(samples, as_question(as_samples((x, y))[0], "D4").group)
    return trainer, design


def test_averaged_masks_are_chances_moved_back(trained):
    trainer, design = trained
    module = trainer.train(design, StepPlan(20, 8, Optimiser("adam", 1e-2)), 1)
    answer = trainer.evaluate(module, design, 20)
    new, group = trainer.samples.new, trainer.samples.target_action.group
    chances = module(new.points.flatten(0, 1)[:, None]).unflatten(1, (3, 25)).softmax(1)
    chances = chances.detach().unflatten(0, (len(new), group.order)).unflatten(-1, (5, 5))
    action = as_question(as_samples(masked())[0], "D4").action
    mean = torch.stack(
        [action.act(int(group.inverses[g]), chances[:, g].double()) for g in group.elements]
    ).mean(0)
    scores = mean_overlap(mean.flatten(1), new.wanted[:, 0], 3)
    cells = design.missing[new.positions].double()
    assert float(answer.averaged.total.sum()) == pytest.approx(float((scores[:, None] * cells).sum()))
    # 1 x 1 convolutions cannot tell the lowest row: above it they are right about most
    assert 0.3 < float(answer.new.total.sum() / answer.new.count.sum()) < 0.9


def test_a_worker_gives_the_same_answer(trained):
    trainer, design = trained
    job = Training(trainer, design, StepPlan(3, 8, Optimiser("adam", 1e-2)), 1)
    buffer = io.BytesIO()
    torch.save(saved_samples(trainer.samples), buffer)
    task = WorkerTask({}, 1, "cpu", pickled_work(job), buffer.getvalue(), (), ".")
    there, here = run_work(task), job.run()
    assert there["status"] == "done"
    total = torch.tensor(there["tables"]["new"]["total"], dtype=torch.float64)
    torch.testing.assert_close(total, here.new.total)


def test_a_forecast_of_masks_in_words_and_numbers():
    answer = forecast(
        mask_net, masked(40), "D4", seen="upright", steps=40, batch=16, budget="6s", method="pilot"
    )
    assert "overlap (IoU)" in answer.verdict
    assert answer.error is None
    assert 0 <= answer.interval[0] <= answer.accuracy <= answer.interval[1] <= 1
    assert answer.to_dict()["overlap"] == pytest.approx(answer.accuracy)
    assert "overlap" in forecast_page(answer)
    kernel = forecast(mask_net, masked(40), "D4", seen="upright", method="kernel", per_class=2)
    assert 0 <= kernel.accuracy <= 1
    assert "positions" in forecast_page(kernel)


def test_a_network_without_a_channel_for_each_class_is_refused():
    with pytest.raises(InputError, match=r"a channel for each class, \[n, 3, 5, 5\]"):
        forecast(lambda: nn.Conv2d(1, 1, 1), masked(), "D4", seen="upright")
