# Each target makes the virtual environment and installs what it needs, once: a second call starts at once.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo test slow fuzz torture check format bench docs lock audit release clean

help:  ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST)

$(VENV)/.python:
	$(PYTHON) -c 'import sys; sys.exit(f"symscope needs Python 3.11 or newer, this is {sys.version.split()[0]}: set PYTHON=") if sys.version_info < (3, 11) else 0'
	$(PYTHON) -m venv $(VENV)
	touch $@

# every file is checked against the SHA-256 in release/*.lock; those are complete, so nothing else is installed
LOCKED := install --quiet --require-hashes --no-deps --requirement

# on Linux without an NVIDIA GPU the build without CUDA, if PyTorch's own index can be reached
CPU_ONLY := $(shell [ "$$(uname -sm)" = "Linux x86_64" ] && ! command -v nvidia-smi >/dev/null && echo yes)
CPU_INDEX := --retries 1 --extra-index-url https://download.pytorch.org/whl/cpu
$(VENV)/.torch: $(VENV)/.python release/torch.lock release/torch-cpu.lock
	$(if $(CPU_ONLY),$(PIP) $(LOCKED) release/torch-cpu.lock $(CPU_INDEX) ||) $(PIP) $(LOCKED) release/torch.lock
	touch $@

$(VENV)/.run: $(VENV)/.torch release/run.lock pyproject.toml
	$(PIP) $(LOCKED) release/run.lock
	$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	touch $@

$(VENV)/.dev: release/dev.lock $(VENV)/.run
$(VENV)/.docs: release/docs.lock $(VENV)/.dev
$(VENV)/.release: release/release.lock $(VENV)/.dev
$(VENV)/.dev $(VENV)/.docs $(VENV)/.release:
	$(PIP) $(LOCKED) $<
	touch $@

demo: $(VENV)/.run  ## the main job on embedded data: an HTML report and a table
	$(BIN)/symscope demo

test: $(VENV)/.dev  ## the test suite (long reproductions: make slow)
	$(BIN)/python -m pytest -n auto

slow: $(VENV)/.dev  ## the long reproductions, and every law on more examples
	$(BIN)/python -m pytest -m slow
	$(BIN)/python -m pytest -n auto --hypothesis-profile=thorough

fuzz: $(VENV)/.dev  ## hostile inputs for an hour on all cores (FUZZ_MINUTES=5 for less); counts and faults
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.fuzz --minutes $(or $(FUZZ_MINUTES),60)

torture: $(VENV)/.dev  ## kill real runs 1000 times at random moments, about an hour (KILLS=50 for less); counts and faults
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.torture --kills $(or $(KILLS),1000)

check: $(VENV)/.dev  ## format, lint, types, order of packages, examples in docstrings
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest --doctest-modules symscope symscope_papers -q

format: $(VENV)/.dev  ## rewrite the code in the house format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.dev  ## benchmarks, side by side with the peer
	$(BIN)/python -m benchmarks

docs: $(VENV)/.docs  ## the documentation site, strictly
	$(BIN)/mkdocs build --strict

lock: $(VENV)/.release  ## write release/*.lock from pyproject.toml; UPGRADE=--upgrade takes the newest versions
	PATH=$(BIN):$$PATH $(BIN)/python -m release.lock $(UPGRADE)

audit: $(VENV)/.python  ## ask osv.dev for known vulnerabilities of the locked versions; needs a network
	$(BIN)/python -m release.audit

release: $(VENV)/.release  ## build into dist/, check, write the bill of materials: see RELEASING.md
	rm -rf dist
	$(BIN)/python -m build --no-isolation
	$(BIN)/twine check --strict dist/*
	$(BIN)/python -m release.contents dist
	$(BIN)/python -m release.sbom dist

clean:  ## remove the virtual environment and everything generated
	rm -rf $(VENV) site demo build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
