"""Which points are asked: laws of the choice, and what the answers at them add up to."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope.forecasting._asked_points import first_of_each, spread_points
from symscope.forecasting._design_trainer import DesignTrainer
from symscope.forecasting._designs import interleaved_designs
from symscope.forecasting._question import as_question
from symscope.forecasting._sample_split import forecast_samples
from symscope.networks import user_model
from symscope.training import module_outputs
from tests.forecasting.problems import blobs, small_net

masks = st.integers(1, 12).flatmap(
    lambda m: st.tuples(
        st.lists(st.lists(st.booleans(), min_size=5, max_size=5), min_size=m, max_size=m),
        st.lists(st.integers(0, 3), min_size=m, max_size=m),
    )
)


@given(masks, st.integers(0, 30))
def test_at_most_so_many_points_of_a_class_of_as_many_samples_as_can_be(given_mask, most):
    mask, positions = torch.tensor(given_mask[0]), torch.tensor(given_mask[1])
    chosen = spread_points(mask, positions, most)
    assert not (chosen & ~mask).any()
    for position in positions.unique():
        there, taken = mask[positions == position], chosen[positions == position]
        assert int(taken.sum()) == min(most, int(there.sum()))
        each = taken.sum(1)[there.any(1)]
        if len(each):  # no sample has two points more than one that has some left
            left = there.sum(1)[there.any(1)] > each
            assert not left.any() or int(each.max()) - int(each[left].min()) <= 1


@given(st.lists(st.integers(0, 4), min_size=1, max_size=30), st.integers(0, 6))
def test_the_first_of_each_class(positions, most):
    chosen = first_of_each(torch.tensor(positions), most).tolist()
    for k, position in enumerate(positions):
        assert chosen[k] == (positions[:k].count(position) < most)


def test_answers_are_those_of_the_network_at_each_point():
    question = as_question(blobs(items=10), "C4", seen="0,1: upright")
    samples = forecast_samples(question, 0)
    trainer = DesignTrainer(user_model(small_net, (6, 6), 3), samples, torch.device("cpu"))
    [design] = interleaved_designs(samples, question.group)
    torch.manual_seed(0)
    net = small_net().eval()
    fitted = trainer.refit(net, design, 60, seed=0)
    answer = trainer.evaluate(fitted.module, design, 1, beside=fitted)
    new = samples.new
    for position in range(3):
        for element in range(4):
            mine = new.positions == position
            if not design.missing[position, element]:
                assert int(answer.new.count[position, element]) == 0
                continue
            outputs = module_outputs(fitted.module, trainer._inputs(new.points[mine, element])).double()
            right = outputs.argmax(1) == position
            assert answer.new.mean[position, element] == right.double().mean()
            torch.testing.assert_close(
                answer.sure.mean[position, element], outputs.softmax(1)[:, position].mean()
            )
    assert torch.equal(answer.near.count, answer.new.count)
    assert trainer.asked_points(design) > int(answer.new.count.sum())
