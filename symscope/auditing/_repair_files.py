"""Repaired networks in files: weights, the way to put them together, and a certificate; never code."""

from __future__ import annotations

import copy
import hashlib
import io
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from symscope.auditing._group_modules import Averaged, Canonical
from symscope.data import Action, is_builtin_action, parse_action, plane_vectors
from symscope.errors import InputError
from symscope.numerics import explained, seeded, write_whole

if TYPE_CHECKING:
    from symscope.auditing._repair import Repair

FORMAT = "symscope repaired network 1"
KINDS = {"averaged": Averaged, "canonical": Canonical}
SAME = 1e-6  # relative difference of what two actions make of random numbers


def save_repaired(repair: Repair, path: str | os.PathLike[str]) -> None:
    """Write a repaired network: its weights, how to put it together, and its certificate.

    The file holds tensors, numbers and words, and is read with `weights_only=True`.
    `load_repaired(path, build())` gives the module back.

    Args:
        repair: What an audit did; one that was applied.
        path: File to write; its folder must exist.

    Raises:
        InputError: Something else than a repair, one that was not applied, or a file that cannot be written.
    """
    from symscope.auditing._repair import Repair

    if not isinstance(repair, Repair):
        raise InputError(
            "repair: expected one of audit.repairs, such as best_repair(audit.repairs) where it is not None, "
            f"got {type(repair).__name__}."
        )
    if repair.module is None:
        raise InputError(f"{repair.name}: it was not applied ({repair.reason}), there is nothing to save.")
    module = repair.module
    kind = next((name for name, made in KINDS.items() if isinstance(module, made)), "plain")
    saved: dict[str, Any] = {
        "format": FORMAT,
        "kind": kind,
        "state": {name: value.detach().cpu() for name, value in module.state_dict().items()},
        "certificate": repair.certificate,
    }
    if isinstance(module, (Averaged, Canonical)):
        saved["settings"] = module.settings()
        saved["action"] = describe_action(module.action, repair.sample_shape)
        saved["outputs"] = list(repair.output_shape)
        saved["target_action"] = _target_words(module, repair)
    saved["settings_sha256"] = _settings_hash(saved)
    buffer = io.BytesIO()
    torch.save(saved, buffer)
    write_whole(buffer.getvalue(), Path(path))


@explained
def load_repaired(
    path: str | os.PathLike[str],
    module: nn.Module,
    action: Action | None = None,
    target_action: Action | None = None,
) -> nn.Module:
    """A repaired network from its file and the network's own code; what is in the file is never run.

    Args:
        path: File that `save_repaired` wrote.
        module: A network of the class that was audited; its weights do not matter and it is left as it is.
        action: Action on inputs, where it is one of your own; symscope's are in the file by name.
        target_action: Action on outputs, where it is one of your own.

    Returns:
        The repaired network in evaluation mode, with the certificate as `module.certificate`.

    Raises:
        InputError: Another file, weights or settings that were changed after they were saved, a network that
            they do not fit, or an action that is not in the file.
    """
    saved = _read(Path(path))
    kind, state = saved["kind"], saved["state"]
    for name, value in state.items():
        if value.numel() * value.element_size() > value.untyped_storage().nbytes():
            raise InputError(f"{path}: {name} is larger than what the file holds of it; save it again.")
    if weights_hash(state) != saved["certificate"].get("weights_sha256"):
        raise InputError(f"{path}: its weights are not those of its certificate; save the network again.")
    if _settings_hash(saved) != saved.get("settings_sha256"):
        raise InputError(
            f"{path}: its settings or certificate were changed after it was saved; save it again."
        )
    made = copy.deepcopy(module)
    if kind != "plain":
        acting = action or _action(saved.get("action"), path, "action")
        if acting.group.name != saved["certificate"].get("group"):
            raise InputError(
                f"{path}: it was repaired for {saved['certificate'].get('group')}, got an action of "
                f"{acting.group.name}."
            )
        target = target_action or _target(saved, acting, path)
        made = _wrapped(kind, made, acting, target, saved["settings"], state)
    try:
        made.load_state_dict(state)
    except RuntimeError as error:
        raise InputError(f"{path}: its weights do not fit the network given: {error}") from error
    made.certificate = saved["certificate"]
    return made.eval()


def weights_hash(state: Mapping[str, Tensor]) -> str:
    """SHA-256 over names, types, shapes and bytes of all weights.

    >>> weights_hash({"a": torch.zeros(2)}) == weights_hash({"a": torch.zeros(1, 2)})
    False
    """
    digest = hashlib.sha256()
    for name in sorted(state):
        value = state[name].detach().cpu().contiguous()
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}\n".encode())
        digest.update(value.reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _settings_hash(saved: Mapping[str, Any]) -> str:
    """SHA-256 over all of a file but its weights, which the certificate has a hash of."""
    words = {key: value for key, value in saved.items() if key not in ("state", "settings_sha256")}
    return hashlib.sha256(json.dumps(words, sort_keys=True).encode()).hexdigest()


def describe_action(action: Action, shape: Sequence[int]) -> dict[str, Any] | None:
    """Name, group and shape that `parse_action` makes the action of; None for one of the user's own."""
    if not is_builtin_action(action):
        return None
    try:
        again = parse_action(action.name, action.group.name, tuple(shape))
    except InputError:  # made by hand from symscope's parts
        return None
    if not _alike(action, again, shape):
        return None
    return {"name": action.name, "group": action.group.name, "shape": [int(side) for side in shape]}


def _target_words(module: Averaged | Canonical, repair: Repair) -> str | dict[str, Any] | None:
    target, shape = module.target_action, repair.output_shape
    if target is None:
        return "same"
    try:
        vectors = _alike(target, plane_vectors(module.action, tuple(shape)), shape)
    except InputError:  # no vectors in the plane
        vectors = False
    return "vector" if vectors else describe_action(target, shape)


def _alike(one: Action, other: Action, shape: Sequence[int]) -> bool:
    """Whether two actions of groups of one table make the same of random numbers."""
    if one.group.order != other.group.order or not torch.equal(one.group.table, other.group.table):
        return False
    x = torch.randn(2, *shape, dtype=torch.float64, generator=seeded(0))
    return all(
        float((one.act(g, x) - other.act(g, x)).norm()) <= SAME * float(x.norm())
        for g in one.group.generators
    )


def _read(path: Path) -> dict[str, Any]:
    if not os.path.isfile(path):
        raise InputError(f"there is no file {path}.")
    try:
        saved = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # unpickling, archive and type errors alike
        raise InputError(
            f"{path} cannot be read as weights alone (weights_only=True); expected a file of save_repaired."
        ) from error
    parts = {"kind": str, "state": dict, "certificate": dict}
    good = isinstance(saved, dict) and saved.get("format") == FORMAT
    if good and saved.get("kind") != "plain":
        good = saved.get("kind") in KINDS and isinstance(saved.get("settings"), dict)
    if not good or not all(isinstance(saved.get(name), kind) for name, kind in parts.items()):
        raise InputError(f"{path}: expected a file of save_repaired, got something else.")
    state = saved["state"]
    if not all(isinstance(name, str) and isinstance(value, Tensor) for name, value in state.items()):
        raise InputError(f"{path}: expected names and tensors in its state.")
    wrong = _wrong_part(saved)
    if wrong:
        raise InputError(
            f"{path}: its part {wrong} is not as save_repaired writes it; save the network again."
        )
    return dict(saved)


def _wrong_part(saved: Mapping[str, Any]) -> str:
    """The name of a part that holds something else than it should; empty where all is well."""

    def sizes(value: object) -> bool:
        return isinstance(value, list) and all(type(one) is int and 0 <= one < 2**31 for one in value)

    def words(value: Any) -> bool:
        if value is None or isinstance(value, str):
            return True
        named = isinstance(value, dict) and set(value) == {"name", "group", "shape"}
        return (
            named and sizes(value["shape"]) and all(isinstance(value[key], str) for key in ("name", "group"))
        )

    try:
        json.dumps({key: value for key, value in saved.items() if key != "state"}, allow_nan=True)
    except (TypeError, ValueError, RecursionError):
        return "certificate"
    if saved["kind"] == "plain":
        return ""
    settings, known = saved["settings"], {"elements", "shape"}
    known |= {"probabilities"} if saved["kind"] == "averaged" else set()
    if set(settings) != known or not sizes(settings["elements"]) or not settings["elements"]:
        return "settings"
    if not (settings["shape"] is None or sizes(settings["shape"])):
        return "settings"
    if not isinstance(settings.get("probabilities", False), bool):
        return "settings"
    frame = [name for name in ("frame_mean", "frame_directions") if name in saved["state"]]
    if saved["kind"] == "canonical" and len(frame) == 1:
        return "state (frame)"
    checks = (("outputs", sizes), ("action", words), ("target_action", words))
    return next((name for name, right in checks if not right(saved.get(name))), "")


def _action(words: object, path: str | os.PathLike[str], argument: str) -> Action:
    if not isinstance(words, dict) or not {"name", "group", "shape"} <= set(words):
        raise InputError(
            f"{path}: the {argument.replace('_', ' ')} was one of your own and is not in the file; give it "
            f"as {argument}=."
        )
    return parse_action(str(words["name"]), str(words["group"]), tuple(words["shape"]))


def _target(saved: dict[str, Any], action: Action, path: str | os.PathLike[str]) -> Action | None:
    words = saved.get("target_action")
    if words == "same":
        return None
    if words == "vector":
        return plane_vectors(action, tuple(saved["outputs"]))
    return _action(words, path, "target_action")


def _wrapped(
    kind: str,
    module: nn.Module,
    action: Action,
    target: Action | None,
    settings: dict[str, Any],
    state: Mapping[str, Tensor],
) -> nn.Module:
    if kind == "averaged":
        return Averaged(module, action, target, **settings)
    frame = None
    if "frame_mean" in state:
        frame = (torch.zeros_like(state["frame_mean"]), torch.zeros_like(state["frame_directions"]))
    return Canonical(module, action, target, frame=frame, **settings)
