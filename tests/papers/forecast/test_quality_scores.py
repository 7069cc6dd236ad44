"""Scores and claims from tables written by hand, where every number is known."""

from __future__ import annotations

from types import SimpleNamespace

import pandas as pd
import pytest

from symscope_papers.forecast.quality.claims import judge_claims
from symscope_papers.forecast.quality.scores import (
    case_means,
    floors,
    gains,
    noise_floor,
    scores,
    seed_floor,
    with_combined,
)

CONFIG = SimpleNamespace(pilots=(1, 3), repeats=2)


def written(shift=0.1, gain=0.2):
    """Two cases of three classes; trainings 0.2, 0.4, 0.6 and 0.05 higher or lower by seed."""
    trainings, forecasts, means, refits = [], [], [], []
    for case, network in enumerate(("mlp-1", "mlp-2")):
        where = {"dataset": "mnist", "action": "C4", "network": network}
        for label in range(3):
            truth = 0.2 * (label + 1) + 0.1 * case
            for repeat, noise in enumerate((-0.05, 0.05)):
                for training, away in (("base", 0), ("optimiser", 0.06), ("width", -0.02)):
                    row = {"training": training, "repeat": repeat, "label": label}
                    trainings.append({**where, **row, "accuracy": truth + noise + away, "seen_accuracy": 1.0})
            for variant, off in (("architecture", shift), ("architecture-draws", -shift), ("pilot-3", 0.0)):
                forecasts.append(
                    {
                        **where,
                        "variant": variant,
                        "label": label,
                        "accuracy": truth + off,
                        "low": truth + off - 0.05,
                        "high": truth + off + 0.05,
                    }
                )
            own = {"own": truth, "refit": truth + gain + 0.01 * case, "moved": 0.1}
            more = {"refit_logistic": truth + gain / 4, "continued": truth, "repeat": 0, "label": label}
            more |= {"refit_initial": truth - gain / 2 - 0.01 * case, "refit_head": truth + gain / 8}
            refits.append({**where, **own, **more})
        mean = 0.4 + 0.1 * case
        for variant in ("architecture", "architecture-draws", "pilot-3"):
            row = {"accuracy": mean, "low": mean - 0.1, "high": mean + 0.1 - 0.15 * case}
            means.append({**where, "variant": variant, **row})
    named = {"trainings": trainings, "forecasts": forecasts, "means": means, "refits": refits}
    return {name: pd.DataFrame(rows) for name, rows in named.items()}


def test_errors_are_against_single_trainings_and_against_their_mean():
    result = scores(written())
    assert result["architecture"].single == pytest.approx((0.15 + 0.05) / 2)
    assert result["architecture"].mean == pytest.approx(0.1)
    assert result["architecture"].bias == pytest.approx(0.1)
    assert result["architecture-draws"].bias == pytest.approx(-0.1)
    assert result["pilot-3"].single == pytest.approx(0.05)
    assert result["pilot-3"].ranks == pytest.approx(1)
    assert (result["architecture"].covered, result["pilot-3"].covered) == (0, 1)
    assert result["pilot-3"].classes == 6


def test_the_noise_floor_is_the_mean_over_optimiser_and_width():
    tables = written()
    by = floors(tables).groupby("other")["single"].mean()
    assert by["optimiser"] == pytest.approx(0.06)
    assert by["width"] == pytest.approx(0.02)
    assert noise_floor(tables) == pytest.approx(0.04)


def test_two_seeds_differ_by_their_own_noise():
    tables = written()
    assert seed_floor(tables) == pytest.approx(0.1)
    words = "over what another seed changes"
    assert one(measurements(tables), words).measured == pytest.approx(1.0)  # 0.1 over 0.1
    alone = {**tables, "trainings": tables["trainings"][tables["trainings"]["repeat"] == 0]}
    assert one(measurements(alone), words).measured == "not measured"


def test_intervals_of_means_are_held_against_means():
    covered = case_means(written()).groupby("network")["covered"].all()
    assert covered["mlp-1"]
    assert not covered["mlp-2"]  # its interval ends below the mean


def test_gains_are_means_over_the_classes_of_a_case():
    result = gains(written())
    assert result["refit_gain"].tolist() == pytest.approx([0.2, 0.21])
    assert result["refit_logistic_gain"].tolist() == pytest.approx([0.05, 0.05])


def measurements(tables):
    return {claim.statement: claim for claim in judge_claims(CONFIG, tables)}


def one(result, words):
    [claim] = [claim for statement, claim in result.items() if words in statement]
    return claim


def test_measurements_follow_the_tables():
    result = measurements(written())
    assert {claim.verdict for claim in result.values()} == {None}
    assert one(result, "a forecast from the architecture alone to a training, over the dis").measured == (
        pytest.approx(2.5)  # 0.1 over 0.04
    )
    assert one(result, "pilot training of 3 epochs").measured == pytest.approx(1.25)
    assert "pilot-3, picked after seeing" in one(result, "the best of all forecasts").why
    assert one(result, "Rank correlation").measured == pytest.approx(1)
    assert one(result, "pilot-3 for single classes").measured == 1
    assert one(result, "architecture-draws for single classes").measured == 0
    assert one(result, "regression with the network's own kernel").measured == pytest.approx(0.205)
    assert one(result, "logistic regression").measured == pytest.approx(0.05)
    assert one(result, "kernel held").measured == pytest.approx(0)
    order = one(result, "beside regression with its first kernel")
    assert order.measured == "first kernel 0.345, network 0.450, last kernel 0.655"
    assert "alone gains +0.025" in order.why


def test_measurements_can_turn_out_the_other_way():
    tables = written(shift=0.0, gain=-0.1)
    noisy = tables["trainings"]["training"] == "optimiser"
    tables["trainings"].loc[noisy, "accuracy"] += 0.1
    tables["trainings"].loc[tables["trainings"]["training"] == "width", "seen_accuracy"] = 0.7
    result = measurements(tables)
    assert one(result, "the best of all forecasts").measured < 1
    assert one(result, "regression with the network's own kernel").measured < 0
    fitted = one(result, "accuracy on the points trained on")
    assert fitted.measured == pytest.approx(0.7)
    assert "mlp-1, width" in fitted.why


def test_the_variant_chosen_before_is_asked_where_it_is():
    tables = written()
    chosen = tables["forecasts"].replace({"variant": {"pilot-3": "linearised-10"}})
    means = tables["means"].replace({"variant": {"pilot-3": "linearised-10"}})
    both = {
        **tables,
        "forecasts": pd.concat([tables["forecasts"], chosen[chosen["variant"] == "linearised-10"]]),
        "means": pd.concat([tables["means"], means[means["variant"] == "linearised-10"]]),
    }
    words = "a network trained for 10 epochs and linearised there"
    assert not any(words in statement for statement in measurements(tables))
    assert sum(words in statement for statement in measurements(both)) == 1
    mixed = with_combined(both)["forecasts"]
    mixed = mixed[mixed["variant"] == "combined-10"]
    assert len(mixed) == 6
    truth = chosen[chosen["variant"] == "linearised-10"]["accuracy"].to_numpy()
    assert mixed["accuracy"].to_numpy() == pytest.approx(truth - 0.05)  # the draws are 0.1 lower
    assert one(measurements(both), "the mean of that and").measured == pytest.approx(1.25)


def test_one_case_cannot_decide_the_overshoot():
    tables = {name: table[table["network"] == "mlp-1"] for name, table in written().items()}
    assert one(measurements(tables), "network's own kernel").measured == "not measured"
