"""The last layer of a network fitted to its end."""

from __future__ import annotations

import copy

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from torch import nn
from torch.nn.utils import parametrizations

from symscope.forecasting import ForecastOptions, TrainingOptions
from symscope.forecasting._budgeted_pilots import FITTED_SHARE, budgeted_pilots
from symscope.forecasting._compressed_training import StepCost
from symscope.forecasting._design_trainer import DesignTrainer
from symscope.forecasting._designs import Design, interleaved_designs
from symscope.forecasting._pilot_plan import REFITTED, PilotPlan
from symscope.forecasting._question import as_question
from symscope.forecasting._refitted_output import (
    DECAY,
    fitted_layer,
    output_layer,
    refit_points,
    refitted_output,
)
from symscope.forecasting._sample_split import forecast_samples
from symscope.forecasting._training_task import Training
from symscope.forecasting._trainings import Trainings
from symscope.networks import user_model
from symscope.training import Optimiser, StepPlan
from tests.forecasting.problems import blobs, number_net, small_net, spots


def problem(seed: int, points: int = 40, width: int = 3, classes: int = 4):
    """Inputs of a layer, classes and a start, none of them symmetric."""
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(points, width, generator=generator, dtype=torch.float64) + 0.3
    weight = torch.randn(classes, width, generator=generator, dtype=torch.float64)
    bias = torch.linspace(-0.5, 1.0, classes, dtype=torch.float64)
    labels = torch.randint(0, classes, (points,), generator=generator)
    return inputs, labels, weight, bias


def objective(inputs, labels, start, weight, bias):
    """What the layer minimises, written out."""
    logits = inputs @ weight.mT + bias
    log_shares = logits - logits.logsumexp(1, keepdim=True)
    return -log_shares[torch.arange(len(labels)), labels].mean() + DECAY * ((weight - start) ** 2).sum()


@given(st.integers(0, 10**6))
def test_no_other_layer_has_a_lower_objective(seed):
    inputs, labels, weight, bias = problem(seed)
    fitted, offset = fitted_layer(inputs, labels, weight, bias)
    reached = float(objective(inputs, labels, weight, fitted, offset))

    def value(flat):
        both = torch.from_numpy(flat).reshape(4, 4)
        return float(objective(inputs, labels, weight, both[:, :3], both[:, 3]))

    start = torch.cat([fitted, offset[:, None]], 1).flatten().numpy()
    assert reached <= float(objective(inputs, labels, weight, weight, bias)) + 1e-12
    assert reached - minimize(value, start, method="BFGS").fun < 1e-4


def test_a_layer_without_bias_gets_none():
    inputs, labels, weight, _ = problem(3)
    fitted = fitted_layer(inputs, labels, weight)
    assert [one.shape for one in fitted] == [(4, 3)]


def network(seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Flatten(), nn.Linear(6, 16), nn.BatchNorm1d(16), nn.Tanh(), nn.Linear(16, 5)
    ).eval()


def clouds(points: int = 90):
    generator = torch.Generator().manual_seed(5)
    labels = torch.arange(points) % 3
    centres = torch.randn(3, 2, 3, generator=generator)
    return centres[labels] + 0.3 * torch.randn(points, 2, 3, generator=generator), labels


def test_only_the_rows_of_the_classes_of_the_last_layer_change():
    net, (x, labels) = network(), clouds()
    before = copy.deepcopy(net)
    columns = torch.tensor([0, 2, 4])
    after = refitted_output(net, x, labels, columns).module
    assert after is net
    assert float((after(x)[:, columns].argmax(1) == labels).double().mean()) > 0.95
    assert float((before(x)[:, columns].argmax(1) == labels).double().mean()) < 0.7
    torch.testing.assert_close(after[4].weight[[1, 3]], before[4].weight[[1, 3]], rtol=0, atol=0)
    for name, old in before[:4].state_dict().items():
        torch.testing.assert_close(after[:4].state_dict()[name], old, rtol=0, atol=0)


class Tied(nn.Module):
    """A network that uses the weights of its last layer before it, too."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(4, 4), nn.Linear(4, 4)
        self.last.weight = self.first.weight

    def forward(self, x):
        return self.last(torch.tanh(self.first(x)))


class TiedBias(Tied):
    """A network that uses the bias of its last layer before it, too."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(4, 4), nn.Linear(4, 4)
        self.last.bias = self.first.bias


class Named(nn.Module):
    """A network that gives its last layer its input by name."""

    def __init__(self) -> None:
        super().__init__()
        self.last = nn.Linear(4, 4)

    def forward(self, x):
        return self.last(input=x)


class Scaled(Named):
    """A network that changes the outputs of its last layer in place."""

    def forward(self, x):
        return self.last(x).mul_(0.05)


class Routed(nn.Module):
    """A network in which the first points go through one of two last layers."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])
        self.count = 0

    def forward(self, x):
        late = torch.arange(len(x)) >= 4
        out = x.new_empty(len(x), 4)
        for part, rows in zip(self.parts, (~late, late), strict=True):
            out[rows] = part(x[rows])
        return out


class Twice(nn.Module):
    """A network that calls its last layer twice."""

    def __init__(self) -> None:
        super().__init__()
        self.last = nn.Linear(4, 4)

    def forward(self, x):
        return self.last(torch.relu(self.last(x)))


@pytest.mark.parametrize(
    "make",
    [
        Tied,
        TiedBias,
        Twice,
        Scaled,
        lambda: nn.Sequential(nn.Linear(4, 4), nn.LogSoftmax(1)),
        lambda: nn.Sequential(nn.Linear(4, 8), nn.ReLU(), parametrizations.weight_norm(nn.Linear(8, 4))),
        lambda: nn.Sequential(
            nn.Unflatten(1, (1, 4)), nn.Conv1d(1, 4, 3), nn.AdaptiveAvgPool1d(1), nn.Flatten()
        ),
    ],
)
def test_a_network_without_a_last_layer_of_its_own_gets_a_map_of_its_outputs(make):
    torch.manual_seed(1)
    net = make().eval()
    generator = torch.Generator().manual_seed(2)
    x, labels = torch.randn(60, 4, generator=generator), torch.arange(60) % 4
    x += 2.0 * torch.eye(4)[labels]
    before = {name: one.clone() for name, one in net.state_dict().items()}
    assert output_layer(net, x) is None
    after = refitted_output(net, x, labels, torch.arange(4)).module
    shares = [float((one(x).argmax(1) == labels).double().mean()) for one in (net, after)]
    assert shares[1] > shares[0]
    for name, one in net.state_dict().items():
        torch.testing.assert_close(one, before[name], rtol=0, atol=0)


@pytest.mark.parametrize("make", [Named, Routed])
def test_networks_that_call_their_last_layers_in_other_ways(make):
    torch.manual_seed(4)
    net = make().eval()
    generator = torch.Generator().manual_seed(2)
    x, labels = torch.randn(80, 4, generator=generator), torch.arange(80) % 4
    x += 2.0 * torch.eye(4)[labels]
    before = float((net(x).argmax(1) == labels).double().mean())
    fitted = refitted_output(net, x, labels, torch.arange(4)).module
    after = float((fitted(x).argmax(1) == labels).double().mean())
    assert after > before + 0.3


def test_wide_layers_and_many_classes_are_fitted_to_fewer_points():
    narrow, wide = (nn.Sequential(nn.Linear(2, width), nn.Linear(width, 3)) for width in (128, 4096))
    x = torch.ones(4, 2)
    assert refit_points(narrow, x, 50_000, 10) == 10_000
    assert refit_points(narrow, x, 700, 10) == 700
    assert refit_points(wide, x, 50_000, 10) == 1024
    assert refit_points(wide, x, 50_000, 100) == 102


def test_a_fit_that_does_worse_on_other_points_is_not_kept():
    """Thirty-two points with wrong labels are fitted, and eight with right ones are then worse."""
    net, (x, labels) = network(), clouds(600)
    refitted_output(net, x, labels, torch.arange(3))
    good = copy.deepcopy(net)
    wrong = torch.cat([(labels[:32] + 1) % 3, labels[32:40]])
    assert refitted_output(net, x[:40], wrong, torch.arange(3)).module is net  # 32 are fitted, 8 judge
    torch.testing.assert_close(net.state_dict(), good.state_dict(), rtol=0, atol=0)
    refitted_output(net, x[:40], wrong, torch.arange(3), kept_apart=False)
    assert not torch.equal(net[4].weight, good[4].weight)


def test_layers_that_are_not_trained_stay():
    net, (x, labels) = network(), clouds()
    net[4].weight.requires_grad_(False)
    before = copy.deepcopy(net.state_dict())
    assert refitted_output(net, x, labels, torch.arange(3)).module is net
    torch.testing.assert_close(net.state_dict(), before, rtol=0, atol=0)


def test_the_random_numbers_of_the_user_are_left_alone():
    net = nn.Sequential(network(), nn.LogSoftmax(1)).eval()
    x, labels = clouds()
    before = torch.get_rng_state()
    after = refitted_output(net, x, labels, torch.tensor([4, 0, 2])).module
    assert torch.equal(torch.get_rng_state(), before)
    kept = [1, 3]
    torch.testing.assert_close(after(x)[:, kept], net(x)[:, kept], rtol=0, atol=0)
    assert float((after(x)[:, [4, 0, 2]].argmax(1) == labels).double().mean()) > 0.9


@given(
    st.integers(1, 400),
    st.integers(1, 5000),
    st.integers(400, 3000),
    st.sampled_from([8, 32, 128]),
)
def test_a_pilot_and_the_fit_of_its_last_layer_cost_what_was_planned(length, points, steps, batch):
    whole = StepPlan(steps, batch, Optimiser("adam", 1e-3))
    plan = PilotPlan((length,), 1, 1, whole, 1, 1, 0, 0.0, StepCost(), points)
    fitted, [trained] = plan.refitted(length), plan.trainings
    assert fitted <= points
    if length >= steps:
        assert fitted == 0
        assert trained == whole
        return
    assert fitted / 3 <= REFITTED * length * batch + 1
    spent = trained.steps * trained.batch + fitted / 3
    assert spent <= (length + 0.5) * batch or trained.batch == 4  # a step at least, of four points at least


def trainer_of(data, model=small_net) -> DesignTrainer:
    question = as_question(data, "C4")
    samples = forecast_samples(question, seed=0)
    return DesignTrainer(user_model(model, (6, 6), question.outputs), samples, torch.device("cpu"))


def test_the_last_layer_is_fitted_to_what_the_network_sees_alone():
    trainer = trainer_of(blobs(items=9))
    seen = torch.zeros(len(trainer.samples.known), 4, dtype=torch.bool)
    seen[:, 1] = True
    design = Design(seen, torch.ones(3, 4, dtype=torch.bool))
    poisoned = trainer.samples.known.points.clone()
    poisoned[:, [0, 2, 3]] = torch.nan
    assert trainer.refit_points(design) == len(trainer.samples.known)
    fitted = trainer.refit(small_net_of(1), design, 100, seed=3).module
    object.__setattr__(trainer.samples.known, "points", poisoned)
    again = trainer.refit(small_net_of(1), design, 100, seed=3).module
    torch.testing.assert_close(fitted[3].weight, again[3].weight, rtol=0, atol=0)
    assert not torch.equal(fitted[3].weight, small_net_of(1)[3].weight)


def small_net_of(seed: int) -> nn.Module:
    torch.manual_seed(seed)
    return small_net().eval()


def test_networks_that_predict_numbers_stay_as_they_are():
    trainer = trainer_of(spots(), number_net)
    design = Design(torch.ones(len(trainer.samples.known), 4, dtype=torch.bool), torch.ones(1, 4).bool())
    assert trainer.refit_points(design) == 0


def test_a_short_training_fits_its_data_better_with_its_last_layer_fitted():
    trainer = trainer_of(blobs(items=20))
    seen = torch.ones(len(trainer.samples.known), 4, dtype=torch.bool)
    missing = torch.zeros(3, 4, dtype=torch.bool)
    missing[0, 0] = True
    short = StepPlan(5, 8, Optimiser("adam", 1e-3))
    jobs = [Training(trainer, Design(seen, missing), short, 0, refitted=points) for points in (0, 200)]
    plain, fitted = (job.run().fitted for job in jobs)
    assert fitted > plain + 0.2
    keys = {job.identity("samples")["key"] for job in jobs}
    assert len(keys) == 2


def test_where_fitting_takes_long_it_is_to_fewer_points(monkeypatch):
    data = blobs(items=40)
    question, trainer = as_question(data, "C4"), trainer_of(data)
    monkeypatch.setattr(DesignTrainer, "step_seconds", lambda self, design, plan: 0.001 * plan.batch / 32)
    plan = TrainingOptions(steps=2000, batch=32).plan(small_net(), 300)

    def points(seconds: float) -> int:
        monkeypatch.setattr(DesignTrainer, "refit_seconds", lambda self, points: seconds)
        options = ForecastOptions(budget=5.0, method="pilot")
        chosen = budgeted_pilots(question, trainer, plan, options, False, Trainings())[1]
        assert chosen is not None
        return chosen.points

    every, few = points(0.001), points(10.0)
    assert every == int(interleaved_designs(trainer.samples, question.group)[0].seen.sum())
    assert 0 < few < FITTED_SHARE * 5.0 / 10.0 * every
