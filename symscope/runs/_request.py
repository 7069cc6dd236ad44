"""What a run is asked to compute, and the folder name and cells that follow from it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from symscope._version import __version__
from symscope.errors import InputError, nearest
from symscope.runs._cell import CellTask, result_columns
from symscope.runs._definition import Experiment
from symscope.runs._environment import chosen_device
from symscope.runs._registry import absolute_modules, experiments, find_experiment
from symscope.runs._settings import config_from_plain, config_to_plain, fingerprint, replace_fields
from symscope.runs._store import FORMAT, RunFolder


@final
@dataclass(frozen=True)
class RunRequest:
    """One experiment with one config, seed and device: everything its results depend on.

    Attributes:
        experiment: The experiment.
        preset: The preset's name; its config may have been changed since.
        config: The config.
        seed: Seed of the run.
        device: "cpu" or "cuda".
        modules: Further modules in which the experiment may be defined.
    """

    experiment: Experiment
    preset: str
    config: Any
    seed: int
    device: str
    modules: tuple[str, ...] = ()

    @property
    def changes(self) -> dict[str, Any]:
        """The fields that differ from the preset."""
        preset, mine = (
            config_to_plain(self.experiment.presets[self.preset].config),
            config_to_plain(self.config),
        )
        return {key: value for key, value in mine.items() if value != preset[key]}

    @property
    def identity(self) -> dict[str, Any]:
        """All that decides the results, as plain data."""
        return {
            "experiment": self.experiment.id,
            "version": self.experiment.version,
            "symscope": __version__,
            "config": config_to_plain(self.config),
            "seed": self.seed,
            "device": self.device,
        }

    @property
    def folder_name(self) -> str:
        """The run's own folder: the experiment, the preset, and a fingerprint of everything else."""
        words = self.experiment.id.replace("/", "-")
        return f"{words}-{self.preset}-{fingerprint(self.identity)}"

    def description(self) -> dict[str, Any]:
        """The content of run.json: the identity, and what a reader needs without the code."""
        experiment = self.experiment
        return {
            "format": FORMAT,
            "fingerprint": fingerprint(self.identity),
            **self.identity,
            "preset": self.preset,
            "differences": list(experiment.presets[self.preset].differences),
            "changes": self.changes,
            "modules": list(self.modules),
            "threads": experiment.threads,
            "paper": experiment.paper,
            "figure": experiment.figure,
            "shows": experiment.shows,
        }

    def tasks(self) -> list[CellTask]:
        """The cells in the experiment's order.

        Raises:
            InputError: No cells, or two that are the same.
        """
        cells = [dict(cell) for cell in self.experiment.cells(self.config)]
        if not cells:
            raise InputError(f"{self.experiment.id}: this config has no cells, so there is nothing to run")
        for cell in cells:
            result_columns({"parameters": [{}]}, cell)  # parameters are plain values too
        plain = config_to_plain(self.config)
        name, threads = self.experiment.id, self.experiment.threads
        tasks = [CellTask(name, self.modules, plain, cell, self.seed, self.device, threads) for cell in cells]
        if len({task.key for task in tasks}) < len(tasks):
            raise InputError(f"{self.experiment.id}: two cells have the same parameters")
        return tasks

    @staticmethod
    def of(
        name: str,
        *,
        preset: str = "quick",
        changes: Sequence[str] = (),
        seed: int = 0,
        device: str = "auto",
        modules: Sequence[str] = (),
    ) -> RunRequest:
        """A request from an experiment's id, a preset and changes, as a user types them.

        Args:
            name: The experiment's id.
            preset: A preset's name.
            changes: Texts "key=value" that change the preset's config.
            seed: Seed of the run.
            device: "auto", "cpu" or "cuda".
            modules: Further modules: dotted names or paths of Python files.

        Raises:
            InputError: An unknown experiment, preset or key, a value of the wrong type, a negative seed.

        >>> RunRequest.of("spectral/circles-distance", changes=["points=8"], device="cpu").changes
        {'points': 8}
        """
        experiment = find_experiment(name, modules)
        if preset not in experiment.presets:
            raise InputError(f"{name} has no preset {preset!r}: {nearest(preset, experiment.presets)}")
        if seed < 0:
            raise InputError(f"--seed is 0 or more, got {seed}")
        config = replace_fields(experiment.presets[preset].config, changes)
        return RunRequest(experiment, preset, config, seed, chosen_device(device), absolute_modules(modules))

    @staticmethod
    def from_folder(folder: Path, modules: Sequence[str] = (), *, continued: bool = True) -> RunRequest:
        """The request of a run folder; the modules it names are imported only if the caller names them too.

        Args:
            folder: A run folder.
            modules: Further modules: dotted names or paths of Python files.
            continued: Whether cells will run, so that the device must be present; False to only read results.

        Raises:
            InputError: Not a run folder, one of another version of symscope or of the experiment, one of a
                device that is not here, or one of an experiment in a module that was not named.
        """
        asked, modules = RunFolder(folder).description(), absolute_modules(modules)
        unnamed = [module for module in asked["modules"] if module not in modules]
        if unnamed and asked["experiment"] not in experiments(modules):
            options = shlex.join(word for module in unnamed for word in ("--module", module))
            raise InputError(
                f"{folder} is of an experiment in {', '.join(unnamed)}, which is imported only if you name "
                f"it: if you trust that code, add {options}"
            )
        experiment = find_experiment(asked["experiment"], modules)
        for what, now in (("symscope", __version__), ("version", experiment.version)):
            if asked[what] != now:
                whose = "symscope" if what == "symscope" else f"the experiment {experiment.id}"
                raise InputError(
                    f"{folder} was made by version {asked[what]} of {whose}, this is {now}: start a new run "
                    f"with `symscope reproduce {experiment.id}`; `symscope report` still shows the old one"
                )
        if continued and asked["device"] not in ("cpu", chosen_device("auto")):
            raise InputError(
                f"{folder} was made on a GPU, and torch sees none here: continue it where there is one, or "
                f"start a new run with `symscope reproduce {experiment.id} --device cpu`"
            )
        config = config_from_plain(experiment.config, asked["config"])
        made = RunRequest(
            experiment,
            asked["preset"],
            config,
            asked["seed"],
            asked["device"],
            modules,
        )
        if asked["preset"] not in experiment.presets or fingerprint(made.identity) != asked["fingerprint"]:
            raise InputError(
                f"{folder}: run.json was changed by hand since the run was made; start a new run"
            )
        return made
