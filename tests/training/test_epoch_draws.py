from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope.training._epoch_draws import Shuffle, dropout_noise, one_of_each, shuffle


@given(
    sizes=st.lists(st.integers(5, 30), min_size=1, max_size=4),
    batch=st.integers(1, 7),
    epoch=st.integers(0, 3),
)
def test_every_copy_sees_each_of_its_points_once(sizes, batch, epoch):
    own = [torch.arange(size) * 10 + i for i, size in enumerate(sizes)]
    order = shuffle(own, batch, tuple(range(len(sizes))), epoch)
    shown = [[] for _ in sizes]
    counts = [[] for _ in sizes]
    for index, real in order.steps():
        assert index.shape[1] <= batch
        for i in range(len(sizes)):
            shown[i] += index[i][real[i]].tolist()
            counts[i].append(int(real[i].sum()))
            assert set(index[i].tolist()) <= set(own[i].tolist())  # filling too is its own
    assert [sorted(points) for points in shown] == [points.tolist() for points in own]
    assert len(order) == -(-max(sizes) // batch)
    assert all(max(each) - min(each) <= 1 for each in counts)


def test_epochs_and_seeds_give_other_orders_and_nothing_else_does():
    own = torch.arange(30)
    first = shuffle([own, own], 4, (0, 1), epoch=0)
    assert not torch.equal(first.orders[0], first.orders[1])
    assert not torch.equal(first.orders[0], shuffle([own], 4, (0,), epoch=1).orders[0])
    assert torch.equal(first.orders[1], shuffle([own], 4, (1,), epoch=0).orders[0])


def test_each_seed_once_in_an_orientation_it_may_be_seen_in():
    seen = torch.rand(2, 60, generator=torch.Generator().manual_seed(0)) < 0.5
    seen[:, 12:16] = False  # seed 3 is never seen
    drawn = [one_of_each(seen, 4, (0, 1), epoch) for epoch in range(200)]
    for i in range(2):
        known = seen[i].reshape(15, 4).any(1).nonzero()[:, 0].tolist()
        assert 3 not in known
        assert all((points[i] // 4).tolist() == known for points in drawn)
        assert all(seen[i, points[i]].all() for points in drawn)
        everything = torch.cat([points[i] for points in drawn]).unique()
        assert torch.equal(everything, seen[i].nonzero()[:, 0])  # all of them come up


def test_one_copy_alone_has_full_steps():
    index, real = next(Shuffle([torch.arange(6)], 3).steps())
    assert index.tolist() == [[0, 1, 2]]
    assert real.all()


def test_filled_steps_have_one_shape_and_the_same_points():
    own = [torch.arange(11), torch.arange(9)]
    plain, filled = (shuffle(own, 4, (0, 1), epoch=2, filled=filled) for filled in (False, True))
    for (index, real), (wider, wider_real) in zip(plain.steps(), filled.steps(), strict=True):
        assert wider.shape == (2, 4)
        for i in range(2):
            assert torch.equal(index[i][real[i]], wider[i][wider_real[i]])


CPU = torch.device("cpu")


def test_noise_depends_on_its_seed_and_gives_back_the_global_one():
    torch.manual_seed(5)
    expected = torch.rand(2)
    torch.manual_seed(5)
    draws = []
    for seed, epoch in ((0, 3), (0, 3), (0, 4), (1, 3)):
        with dropout_noise(CPU) as start:
            start(seed, epoch)
            draws.append(torch.rand(4).tolist())
    assert draws[0] == draws[1]
    assert len({tuple(draw) for draw in draws}) == 3
    assert torch.equal(torch.rand(2), expected)
