"""Claims of `spectral/networks` from tables made by hand."""

from __future__ import annotations

import pandas as pd

from symscope_papers.spectral.networks import Networks
from symscope_papers.spectral.networks_claims import network_claims


def course(out, network="mlp", train=0.99, in_test=0.97, part="figure", epoch=20):
    return [
        {
            "part": part,
            "angles": angles,
            "network": network,
            "left_out": digit,
            "epoch": epoch,
            "train": train,
            "in-test": in_test,
            "out-test": share,
        }
        for angles, share in out.items()
        for digit in (3, 7)
    ]


def long(shares, trains):
    rows = []
    for number, (share, train) in enumerate(zip(shares, trains, strict=True)):
        rows += course({8: share}, part="long", epoch=20 * (number + 1), train=train)
    return rows


def verdicts(rows, config=None):
    claims = network_claims(config or Networks(), {"course": pd.DataFrame(rows)})
    return {claim.statement.partition(" ")[0] + claim.source: claim.verdict.value for claim in claims}, claims


def test_what_the_paper_says_is_reproduced():
    rows = [
        *course({2: 0.1, 8: 0.3, 64: 0.95}),
        *long([0.2] * 20, [0.9, 0.95] + 18 * [1.0]),
    ]
    found, claims = verdicts(rows)
    assert found["MLP:Fig. 1C"] == found["MLP:Sec. 2"] == "reproduced"
    assert [claim.verdict.value for claim in claims[:3]] == ["reproduced"] * 3
    assert [claim.verdict.value for claim in claims if claim.statement.startswith("ViT")] == [
        "not checked at this size"
    ] * 4


def test_the_opposite_is_not_reproduced():
    rows = [
        *course({2: 0.8, 8: 0.9, 64: 0.95}, in_test=0.9),
        *long([0.2] * 10 + [0.9] * 10, [1.0] * 20),
    ]
    _, claims = verdicts(rows)
    mlp = [claim.verdict.value for claim in claims if claim.statement.startswith("MLP")]
    assert mlp == ["not reproduced"] * 4


def test_grokking_is_counted_from_where_training_points_are_fitted():
    late_fit = long([0.1] * 5 + [0.4] * 15, [0.6] * 5 + [1.0] * 15)
    assert verdicts([*course({2: 0.1, 8: 0.3}), *late_fit])[0]["MLP:Sec. 2"] == "reproduced"
    never = long([0.1] * 20, [0.6] * 20)
    assert verdicts([*course({2: 0.1, 8: 0.3}), *never])[0]["MLP:Sec. 2"] == "not checked at this size"


def test_few_left_out_points_cannot_say_whether_long_training_helps():
    rows = [*course({2: 0.1, 8: 0.3}), *long([0.1] * 19 + [0.9], [1.0] * 20)]
    assert verdicts(rows, Networks(long_images=49))[0]["MLP:Sec. 2"] == "not checked at this size"
    assert verdicts(rows, Networks(long_images=50))[0]["MLP:Sec. 2"] == "not reproduced"


def test_few_digits_cannot_say_whether_in_test_follows_training():
    _, claims = verdicts(course({2: 0.1, 8: 0.3}, in_test=0.6), Networks(images=10))
    assert claims[0].verdict.value == "not checked at this size"
    assert "here 10: train 0.990 ± 0.000, in-test 0.600" in claims[0].why
    _, claims = verdicts(course({2: 0.1, 16: 0.3}))
    assert claims[0].why == "needs 8 angles"
