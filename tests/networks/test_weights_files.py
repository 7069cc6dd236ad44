"""State dicts from files: read as data, everything else refused."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from symscope.errors import InputError
from symscope.networks._weights_files import check_weights, read_weights


def test_a_saved_state_dict_is_read(tmp_path):
    state = nn.Linear(3, 2).state_dict()
    torch.save(state, tmp_path / "weights.pt")
    saved = read_weights(tmp_path / "weights.pt", "weights")
    assert list(saved) == ["weight", "bias"]
    assert all(torch.equal(saved[name], state[name]) for name in state)


def test_what_is_no_state_dict_is_refused(tmp_path):
    with pytest.raises(InputError, match="weights: there is no file"):
        read_weights(tmp_path / "nothing.pt", "weights")
    (tmp_path / "text.pt").write_text("hello")
    with pytest.raises(InputError, match="cannot be read as weights alone"):
        read_weights(tmp_path / "text.pt", "weights")
    torch.save([1, 2], tmp_path / "list.pt")
    with pytest.raises(InputError, match="expected a state dict"):
        read_weights(tmp_path / "list.pt", "weights")
    with pytest.raises(InputError, match="got a dict with epoch, model"):
        check_weights({"epoch": 3, "model": {}}, "params")


def test_a_file_cannot_run_code(tmp_path):
    torch.save({"weight": nn.Linear(2, 2)}, tmp_path / "module.pt")  # a whole module: arbitrary classes
    with pytest.raises(InputError, match="weights_only=True"):
        read_weights(tmp_path / "module.pt", "weights")


def test_complex_weights_are_not_cast():
    with pytest.raises(InputError, match="params: expected real weights, got complex ones in 'w'"):
        check_weights({"w": torch.ones(2, dtype=torch.complex64)}, "params")
