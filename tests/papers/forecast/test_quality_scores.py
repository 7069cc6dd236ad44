"""Scores and claims from tables written by hand, where every number is known."""

from __future__ import annotations

from types import SimpleNamespace

import pandas as pd
import pytest

from symscope.runs._claims import Verdict
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
    words = "within 1.2 times what another seed changes"
    assert one(verdicts(tables), words).measured == pytest.approx(1.0)  # 0.1 over 0.1
    alone = {**tables, "trainings": tables["trainings"][tables["trainings"]["repeat"] == 0]}
    assert one(verdicts(alone), words).verdict is Verdict.NOT_CHECKED


def test_intervals_of_means_are_held_against_means():
    covered = case_means(written()).groupby("network")["covered"].all()
    assert covered["mlp-1"]
    assert not covered["mlp-2"]  # its interval ends below the mean


def test_gains_are_means_over_the_classes_of_a_case():
    result = gains(written())
    assert result["refit_gain"].tolist() == pytest.approx([0.2, 0.21])
    assert result["refit_logistic_gain"].tolist() == pytest.approx([0.05, 0.05])


def verdicts(tables):
    return {claim.statement: claim for claim in judge_claims(CONFIG, tables)}


def one(result, words):
    [claim] = [claim for statement, claim in result.items() if words in statement]
    return claim


def test_claims_follow_the_numbers():
    result = verdicts(written())
    assert one(result, "architecture alone is as near").measured == pytest.approx(2.5)  # 0.1 over 0.04
    assert one(result, "architecture alone is as near").verdict is Verdict.CONTRADICTED
    assert one(result, "pilot training of 3 epochs").measured == pytest.approx(1.25)
    assert one(result, "pilot training of 3 epochs").verdict is Verdict.CONTRADICTED
    assert "pilot-3, picked after seeing" in one(result, "Some forecast of all").why
    assert one(result, "rank classes").verdict is Verdict.HOLDS
    assert one(result, "pilot-3 for single classes").verdict is Verdict.HOLDS
    assert one(result, "architecture-draws for single classes").verdict is Verdict.CONTRADICTED
    assert one(result, "reads more missing points").verdict is Verdict.HOLDS
    assert one(result, "not the squared loss").verdict is Verdict.CONTRADICTED  # a quarter of the gain
    assert one(result, "stays what it is").verdict is Verdict.HOLDS


def test_claims_can_turn_out_the_other_way():
    tables = written(shift=0.0, gain=-0.1)
    noisy = tables["trainings"]["training"] == "optimiser"
    tables["trainings"].loc[noisy, "accuracy"] += 0.1
    tables["trainings"].loc[tables["trainings"]["training"] == "width", "seen_accuracy"] = 0.7
    result = verdicts(tables)
    assert one(result, "architecture alone is as near").verdict is Verdict.HOLDS
    assert one(result, "Some forecast of all").verdict is Verdict.HOLDS
    assert one(result, "reads more missing points").verdict is Verdict.CONTRADICTED
    assert one(result, "learned what they were shown").verdict is Verdict.CONTRADICTED
    assert "mlp-1, width" in one(result, "learned what they were shown").why


def test_the_network_lies_between_its_kernels_or_not():
    words = "The network lies between its first kernel and its last: what it fitted early, it keeps."
    claim = verdicts(written())[words]
    assert claim.verdict is Verdict.HOLDS
    assert "alone gains +0.025" in claim.why
    assert verdicts(written(gain=-0.2))[words].verdict is not Verdict.HOLDS


def test_the_variant_chosen_before_is_asked_where_it_is():
    tables = written()
    chosen = tables["forecasts"].replace({"variant": {"pilot-3": "linearised-10"}})
    means = tables["means"].replace({"variant": {"pilot-3": "linearised-10"}})
    both = {
        **tables,
        "forecasts": pd.concat([tables["forecasts"], chosen[chosen["variant"] == "linearised-10"]]),
        "means": pd.concat([tables["means"], means[means["variant"] == "linearised-10"]]),
    }
    words = "A network trained for 10 epochs and linearised there is as near"
    assert not any(statement.startswith(words) for statement in verdicts(tables))
    assert sum(statement.startswith(words) for statement in verdicts(both)) == 1
    mixed = with_combined(both)["forecasts"]
    mixed = mixed[mixed["variant"] == "combined-10"]
    assert len(mixed) == 6
    truth = chosen[chosen["variant"] == "linearised-10"]["accuracy"].to_numpy()
    assert mixed["accuracy"].to_numpy() == pytest.approx(truth - 0.05)  # the draws are 0.1 lower
    assert one(verdicts(both), "The mean of that and").measured == pytest.approx(1.25)


def test_one_case_cannot_decide_the_overshoot():
    tables = {name: table[table["network"] == "mlp-1"] for name, table in written().items()}
    assert one(verdicts(tables), "reads more missing points").verdict is Verdict.NOT_CHECKED
