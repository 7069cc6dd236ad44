"""The benchmark of large regressions at tiny sizes: every step runs, and its checks hold."""

from __future__ import annotations

import json
import sys

from benchmarks import linear


def test_a_tiny_run(tmp_path, monkeypatch, capsys):
    path = tmp_path / "found.json"
    arguments = ["--features", "7,12", "--samples", "50", "--batch", "20", "--spectra", "40,48"]
    monkeypatch.setattr(
        sys, "argv", ["linear", *arguments, "--rate-size", "32", "--device", "cpu", "--json", str(path)]
    )
    linear.main()
    result = json.loads(path.read_text())
    assert [(row["features"], row["samples"]) for row in result["moments"]] == [(7, 60), (12, 60)]
    assert [row["features"] for row in result["rates"]] == [40, 48]
    for row in result["moments"]:
        assert row["largest relative difference"] < 1e-12
        assert row["seconds"] > 0
    for row in result["rates"]:
        assert row["largest relative difference"] < 1e-8
    assert result["wanted"]["operations"] == 1e6 * 1e4 * (1e4 + 3)
    assert "crossover" in capsys.readouterr().out


def test_the_crossover_is_where_it_stays_faster():
    def row(features, full, ends):
        return {"features": features, "full spectrum s": full, "both ends s": ends}

    assert linear.crossover([row(1, 1, 2), row(2, 3, 2), row(4, 3, 4), row(8, 9, 4), row(16, 30, 9)]) == 8
    assert linear.crossover([row(1, 1, 2), row(2, 1, 2)]) is None
