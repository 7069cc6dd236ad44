"""Good calls of public names that no example in a docstring reaches; each function is run as an example is.

Names are imported inside, where recorders stand in their places by then.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch
from torch import nn


def auditing() -> None:
    from symscope.auditing import audit, audit_page, best_repair
    from symscope.auditing.repairs import Averaged, Canonical, load_repaired, save_repaired
    from symscope.data import LabelledData, rotation

    x = torch.rand(24, 3, 3, generator=torch.Generator().manual_seed(0))
    samples = LabelledData(x, torch.arange(24) % 2, "few", "made")
    net = nn.Sequential(nn.Flatten(), nn.Linear(9, 2))
    result = audit(net, samples, "C4 rotation", seconds=0.1)
    audit_page(result, "symscope audit")
    best_repair(result.repairs)
    result.to_dict()
    save_repaired(result.repairs[0], "net.pt")
    load_repaired("net.pt", net)
    Averaged(net, rotation(4), elements=[0, 2])(x)
    Canonical(net, rotation(4)).best_elements(x)


def data() -> None:
    from symscope.data import LabelledData, MeasuredData, action_from_source
    from symscope.data.periodic import rotation_basis
    from symscope.data.synthetic import absolute_value

    x = torch.arange(12.0, dtype=torch.float64).reshape(3, 2, 2)
    LabelledData(x, torch.tensor([0, 1, 1]), "few", "made").to("cpu", torch.float32)
    measured = MeasuredData(x, torch.arange(3.0).double()[:, None], "few", "made")
    measured.take(torch.tensor([0, 2]))
    measured.to("cpu", torch.float32)
    Path("own.py").write_text("def turn(g, x):\n    return x.roll(int(g), -1)\n")
    action_from_source("own.py:turn", "C4", (2, 2))
    rotation_basis(3, 4).matrix(1)
    absolute_value(5, 0).noisy(0.1, 0)


def discovery() -> None:
    from symscope.discovery import dataset, learning_options, parameter_problem
    from symscope.discovery.fields import FunctionField
    from symscope.discovery.loss_derivatives import point_derivatives
    from symscope.discovery.sampling import class_data, parameters_near, token_data
    from symscope.discovery.uses import TrainingPath, parameter_gradient_descent, parameter_gradient_flow

    net = nn.Linear(2, 1).double()
    x, y = torch.ones(3, 2, dtype=torch.float64), torch.zeros(3, 1, dtype=torch.float64)
    problem = parameter_problem(net, "half-squared", dataset(x, y))
    theta = torch.tensor([0.5, -0.25, 1.0], dtype=torch.float64)
    problem.losses(theta, x, y)
    problem.module_at(theta)
    FunctionField(lambda theta, x, y: theta, "scaling", False)(theta, x, y)
    generator = torch.Generator().manual_seed(0)
    point_derivatives(problem, problem.random_points(3, 2, 0), torch.ones(3, 3, dtype=torch.float64))
    problem.data(2, generator)
    class_data((2,), 3)
    token_data(4, 5, 2)
    parameters_near(theta, 0.1)
    learning_options(1, False, 10)
    TrainingPath(torch.ones(2), torch.ones(2, 3), torch.ones(2))
    parameter_gradient_descent(problem, theta, x, y, 0.1, 3)
    parameter_gradient_flow(problem, theta, x, y, 1.0, records=3)


def dynamics() -> None:
    from symscope.dynamics import TrainingProblem, check_training_assumptions, declare_network
    from symscope.dynamics.gradients import feature_averaged_gradient, penalty_gradient
    from symscope.dynamics.risks import equivariant_risk
    from symscope.groups import cyclic, permutation, trivial
    from symscope.networks.losses import half_squared_loss

    group = cyclic(2)
    x, y = torch.tensor([[1.0, 0.0], [0.5, 2.0]]).double(), torch.tensor([[3.0], [1.0]]).double()
    problem = TrainingProblem(declare_network([permutation(group), trivial(group)]), half_squared_loss, x, y)
    weights = [torch.ones(1, 2).double()]
    check_training_assumptions(problem)
    feature_averaged_gradient(problem, weights)
    penalty_gradient(problem, weights, 0.5)
    equivariant_risk(problem, weights)


def forecasts() -> None:
    from symscope.data import LabelledData
    from symscope.forecasting import ForecastOptions, comparison_page, forecast, forecast_page
    from symscope.forecasting.methods import (
        DesignTrainer,
        FiniteKernel,
        as_question,
        class_pairs,
        class_scores,
        draw_resample,
        forecast_samples,
        full_kernel_prediction,
        interleaved_designs,
        kernel_seconds,
        tangent_kernel,
        true_designs,
    )
    from symscope.networks import user_model
    from symscope.training import Optimiser, StepPlan

    x = torch.randn(6, 3, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    samples = LabelledData(x, torch.arange(6) % 2, "few", "made")
    net = nn.Sequential(nn.Flatten(), nn.Linear(9, 4), nn.ReLU(), nn.Linear(4, 2))
    result = forecast(net, samples, "C4", options=ForecastOptions(method="kernel", per_class=2, resamples=1))
    result.to_dict()
    result.question.class_label(1)
    forecast_page(result, "symscope forecast")
    other = replace(result, model=replace(result.model, name="other"))
    comparison_page([result, other], "symscope forecast")
    question = as_question(samples, "C4")
    model = user_model(net, (3, 3), 2)
    tangent = tangent_kernel(model, (3, 3))
    kernel_seconds(tangent, model, question, 24)
    resample = draw_resample(question, 2, 0)
    class_pairs(tangent.kernel(0)(resample.flat), resample, question.group, 0.0)
    known = forecast_samples(question, 0)
    full = full_kernel_prediction(tangent, question, known, 0.0, 60.0, torch.device("cpu"))
    class_scores(full.known)  # type: ignore[union-attr]
    [design, _] = true_designs(known, question.group)
    interleaved_designs(known, question.group)
    trainer = DesignTrainer(model, known, torch.device("cpu"))
    trainer.evaluate(trainer.train(design, StepPlan(2, 4, Optimiser("sgd", 0.1)), 0), design, 2)
    FiniteKernel("image", net.double())(x)


def groups() -> None:
    from symscope.groups import cyclic, parse, permutation
    from symscope.groups.compact import so
    from symscope.groups.named_groups import symmetric
    from symscope.testing import assert_group_laws, assert_representation

    generator = torch.Generator().manual_seed(0)
    cyclic(4).sample(2, generator)
    large = symmetric(8)
    large.inverse(torch.arange(8).roll(1))
    rotations = so(3)
    turn = rotations.sample(1, generator)[0]
    rotations.inverse(turn)
    rotations.multiply(turn, turn)
    parse("SO(2)")
    assert_group_laws(cyclic(3))
    assert_representation(permutation(cyclic(3)))


def kernels() -> None:
    from symscope.kernels.activations import Abs, Sign
    from symscope.kernels.classical import linear_kernel
    from symscope.kernels.infinite import Affine, Normalise, Pad, Scale, Unflatten

    Abs(), Sign()
    linear_kernel().batched(torch.ones(2, 3, 4, dtype=torch.float64))
    Affine(torch.ones(2), torch.zeros(2))
    Normalise("channels", 1e-5)
    Pad((1, 1), (1, 1), "zeros")
    Scale(2.0)
    Unflatten((2, 2))


def networks() -> None:
    from symscope.networks.losses import cross_entropy_loss, mean_squared_loss

    cross_entropy_loss(torch.tensor([[0.5, -1.0]]), torch.tensor([1]))
    mean_squared_loss(torch.tensor([[0.5, -1.0]]), torch.tensor([[1.0, 0.0]]))


def pages() -> None:
    from symscope.numerics import remove_unfinished
    from symscope.report import (
        Command,
        Facts,
        JudgedClaim,
        Note,
        Picture,
        Table,
        new_figure,
        save_figure,
        write_page,
    )

    Command("symscope list"), Note("a note"), Facts((("a", "b"),)), Picture("<svg></svg>", "title")
    Table("caption", ("a", "b"), (("1", "2"),))
    JudgedClaim("it holds", "good", "holds")
    save_figure(new_figure(1, 1), Path("figure.svg"))
    write_page("<html></html>", Path("page.html"))
    remove_unfinished(Path("page.html"))


def training() -> None:
    from symscope.training import (
        Checkpoint,
        Optimiser,
        StepPlan,
        module_outputs,
        seconds_per_step,
        train_steps,
    )
    from symscope.training.points import StoredPoints

    kept = Checkpoint("state.pt")
    kept.prepare()
    kept.save({"a": 1}, {"weights": torch.ones(2)})
    kept.load({"a": 1}, torch.device("cpu"))
    StoredPoints(torch.ones(2, 3)).problem()
    net, points = nn.Linear(3, 2), torch.arange(12.0).reshape(4, 3) / 10
    classes, plan = torch.tensor([0, 1, 1, 0]), StepPlan(2, 2, Optimiser("sgd", 0.1))
    train_steps(net, points, classes, torch.tensor([0, 1, 3]), plan, 0)
    seconds_per_step(net, points, classes, torch.tensor([0, 1, 3]), plan)
    module_outputs(net, points)


def linear() -> None:
    from symscope.linear import linear_theory

    x = torch.randn(4, 2, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    theory = linear_theory((x, x.flip(1)), "C4 rotation", target_action="image")
    weights = torch.arange(16.0, dtype=torch.float64).reshape(4, 4)
    theory.completed()
    theory.model(seed=0)
    theory.rate(0.01)
    theory.split(weights)
    theory.steps(weights, level=0.5, learning_rate=0.01)
    theory.table()
    theory.tracker(theory.model(seed=1)).predict_linear(theory.flow, learning_rate=theory.rate(0.01))


CALLS = (auditing, data, discovery, dynamics, forecasts, groups, kernels, linear, networks, pages, training)
