"""Several networks asked on the command line."""

from __future__ import annotations

import json

from tests.cli.test_forecast import OWN, called, few

__all__ = ["few"]  # a fixture


def test_several_networks_share_a_page_and_a_table(few, tmp_path, capsys):
    page = tmp_path / "page.html"
    two = ("--model", "mlp", "--model", f"{OWN}:build", *few, "--group", "C4")
    assert called(*two, "--out", str(page)) == 0
    lines = capsys.readouterr().out.splitlines()
    header = next(k for k, line in enumerate(lines) if line.startswith("network "))
    assert lines[header + 1].startswith("mlp ")
    assert any(line.startswith(f"{OWN}:build ") for line in lines[header + 1 :])
    assert lines[-1] == f"Report: {page}"
    assert 'id="mlp-forecast"' in page.read_text(encoding="utf-8")


def test_programs_get_a_list_and_every_network_is_held_to_the_limit(few, capsys):
    two = ("--model", "mlp", "--model", f"{OWN}:build", *few, "--group", "C4", "--json")
    status = called(*two, "--fail-below", "1")
    streams = capsys.readouterr()
    found = json.loads(streams.out)
    assert [one["model"]["name"] for one in found] == ["mlp", f"{OWN}:build"]
    below = [one["model"]["name"] for one in found if one["accuracy"] < 1]
    assert below
    assert status == 1
    assert streams.err.count("is below 1 (--fail-below)") == len(below)
    assert all(f"symscope: {name}: accuracy" in streams.err for name in below)
