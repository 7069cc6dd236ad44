"""Pictures of irreps."""

from __future__ import annotations

import pytest

from symscope import InputError
from symscope.report import WRONG, irrep_figure


def rows(count: int) -> list[dict[str, object]]:
    return [
        {"irrep": f"k={k}", "share": 1 / (k + 1), "weight": 0.2, "trivial": k == 0, "limits": k >= 5}
        for k in range(count)
    ]


def test_bars_are_shares_and_limiting_irreps_stand_out():
    from matplotlib.colors import to_hex

    axes = irrep_figure(rows(8), title="C15").axes[0]
    assert [bar.get_height() for bar in axes.patches] == [1 / (k + 1) for k in range(8)]
    assert [to_hex(bar.get_facecolor()) == WRONG for bar in axes.patches] == [k >= 5 for k in range(8)]
    assert to_hex(axes.patches[0].get_facecolor()) not in (WRONG, to_hex(axes.patches[1].get_facecolor()))
    assert [label.get_text() for label in axes.get_xticklabels()] == [f"k={k}" for k in range(8)]
    assert axes.collections[0].get_offsets()[3].tolist() == [3.0, 0.2]


def test_many_irreps_keep_readable_labels():
    axes = irrep_figure(rows(33), title="C64").axes[0]
    assert len(axes.patches) == 33
    assert len(axes.get_xticklabels()) == 17


def test_bad_input_is_refused():
    with pytest.raises(InputError, match="irrep, share, weight, trivial, limits"):
        irrep_figure([], title="")
    with pytest.raises(InputError, match="expected one row or more"):
        irrep_figure([{"irrep": "a", "share": 1.0}], title="")
