"""Repaired networks in files: loading gives identical outputs, and no file can run code."""

from __future__ import annotations

import inspect
import pickle

import pytest
import torch
from torch import nn

from symscope.auditing import audit_subject
from symscope.auditing._repair import Repair, best_repair, repair
from symscope.auditing._repair_files import weights_hash
from symscope.auditing.repairs import load_repaired, save_repaired
from symscope.data import custom_action, rotation
from symscope.errors import InputError
from symscope.groups import cyclic
from tests.auditing.trained import bar_subject, classifier, regressor, tilt_subject


def build(outputs: int = 3, between: type[nn.Module] = nn.ReLU) -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(36, 16), between(), nn.Linear(16, outputs))


@pytest.fixture(scope="module")
def repairs() -> tuple[Repair, ...]:
    return repair(bar_subject(48), steps=30)


def test_loading_gives_identical_outputs(repairs, tmp_path):
    x = bar_subject(12).data.x
    assert len(repairs) == 7
    for one in repairs:
        save_repaired(one, tmp_path / "net.pt")
        loaded = load_repaired(tmp_path / "net.pt", build())
        assert not loaded.training
        with torch.no_grad():
            assert torch.equal(loaded(x), one.module(x)), one.name
        assert loaded.certificate == one.certificate


def test_vectors_are_loaded_with_their_action(tmp_path):
    x = tilt_subject(12).data.x
    for one in repair(tilt_subject(48), steps=30):
        save_repaired(one, tmp_path / "net.pt")
        loaded = load_repaired(tmp_path / "net.pt", build(2, nn.Tanh))
        with torch.no_grad():
            assert torch.equal(loaded(x), one.module(x)), one.name


def test_positions_are_loaded_with_their_action(tmp_path):
    net = nn.Conv2d(1, 1, 3, padding=1)
    data = bar_subject(24).data
    subject = audit_subject(net, (data.x, data.x.flatten(1)), "D4", target_action="image", task="regression")
    one = repair(subject, steps=30)[0]
    save_repaired(one, tmp_path / "net.pt")
    loaded = load_repaired(tmp_path / "net.pt", nn.Conv2d(1, 1, 3, padding=1))
    with torch.no_grad():
        assert torch.equal(loaded(data.x[:, None]), one.module(data.x[:, None]))


def test_an_action_of_ones_own_is_given_again(tmp_path):
    own = custom_action(cyclic(2), lambda g, x: x.flip(-1) if g else x, 2, "mine")
    subject = audit_subject(classifier(), bar_subject(24).data, own)
    one = repair(subject, steps=30)[0]
    save_repaired(one, tmp_path / "net.pt")
    with pytest.raises(InputError, match="action was one of your own"):
        load_repaired(tmp_path / "net.pt", build())
    loaded = load_repaired(tmp_path / "net.pt", build(), action=own)
    with torch.no_grad():
        assert torch.equal(loaded(subject.data.x), one.module(subject.data.x))


def test_a_file_holds_no_code(repairs, tmp_path):
    save_repaired(repairs[0], tmp_path / "net.pt")
    saved = torch.load(tmp_path / "net.pt", weights_only=True)
    assert saved["certificate"]["weights_sha256"] == weights_hash(saved["state"])
    evil = tmp_path / "evil.pt"
    evil.write_bytes(pickle.dumps({"format": print}))
    for content in (evil, tmp_path / "nothing.pt"):
        with pytest.raises(InputError, match=r"there is no file|weights_only=True"):
            load_repaired(content, build())


@pytest.mark.parametrize(
    "change",
    [
        lambda saved: saved["state"].__setitem__("module.1.bias", torch.zeros(16)),
        lambda saved: saved.__setitem__("kind", "other"),
        lambda saved: saved.__setitem__("state", {"a": "b"}),
        lambda saved: saved.__setitem__("format", "other"),
        lambda saved: saved.__setitem__("settings", {"elements": [99]}),
        lambda saved: saved.__setitem__("settings", {"other": 1}),
        lambda saved: saved.__setitem__("action", {"name": "rotation", "group": "C4", "shape": "x"}),
        lambda saved: saved.__setitem__("action", {"name": "rotation", "group": "C4"}),
        lambda saved: saved.__setitem__("settings", {**saved["settings"], "probabilities": "yes"}),
        lambda saved: saved.__setitem__("settings", {**saved["settings"], "shape": [-1]}),
        lambda saved: saved.__setitem__("settings", {**saved["settings"], "elements": [0, 1]}),
        lambda saved: saved.__setitem__("outputs", None),
        lambda saved: saved.__setitem__("certificate", {**saved["certificate"], "outcome": "perfect"}),
        lambda saved: saved["certificate"].__setitem__("error_after", torch.zeros(2)),
        lambda saved: saved["state"].__setitem__(3, torch.zeros(2)),
    ],
)
def test_changed_files_are_refused(change, repairs, tmp_path):
    save_repaired(repairs[0], tmp_path / "net.pt")
    saved = torch.load(tmp_path / "net.pt", weights_only=True)
    change(saved)
    torch.save(saved, tmp_path / "net.pt")
    with pytest.raises(InputError):
        load_repaired(tmp_path / "net.pt", build())


def test_another_network_is_refused(repairs, tmp_path):
    save_repaired(repairs[0], tmp_path / "net.pt")
    with pytest.raises(InputError, match="do not fit the network"):
        load_repaired(tmp_path / "net.pt", build(5))
    given = regressor()
    before = weights_hash(given.state_dict())
    with pytest.raises(InputError, match="do not fit the network"):
        load_repaired(tmp_path / "net.pt", given)
    assert weights_hash(given.state_dict()) == before


def test_what_was_not_applied_is_not_saved(tmp_path):
    with pytest.raises(InputError, match=r"repair: expected one of audit.repairs, .* got NoneType"):
        save_repaired(None, "unused.pt")
    with pytest.raises(InputError, match=r"expected those of an audit, audit.repairs, got Linear"):
        inspect.unwrap(best_repair)(nn.Linear(2, 2))  # the checks of the test suite stop it earlier
    with pytest.raises(InputError, match="nothing to save"):
        save_repaired(Repair("refit", None, "no linear layer"), tmp_path / "net.pt")


def test_a_file_that_claims_more_than_it_holds_and_another_group_are_refused(repairs, tmp_path):
    saved = tmp_path / "net.pt"
    save_repaired(repairs[0], saved)
    with pytest.raises(InputError, match="repaired for C4, got an action of C8"):
        load_repaired(saved, build(), action=rotation(8))
    content = torch.load(saved, weights_only=True)
    name = next(iter(content["state"]))
    content["state"][name] = torch.zeros(1).expand(10**9)
    torch.save(content, saved)
    with pytest.raises(InputError, match="larger than what the file holds"):
        load_repaired(saved, build())
