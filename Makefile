# Each target makes the virtual environment and installs what it needs, once: a second call starts at once.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo test slow fuzz check format bench docs clean

help:  ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST)

$(VENV)/.python:
	$(PYTHON) -c 'import sys; sys.exit(f"symscope needs Python 3.11 or newer, this is {sys.version.split()[0]}: set PYTHON=") if sys.version_info < (3, 11) else 0'
	$(PYTHON) -m venv $(VENV)
	touch $@

# torch first and alone: the pinned one satisfies every range that follows
$(VENV)/.torch: $(VENV)/.python constraints.txt
	$(PIP) install --quiet --constraint constraints.txt torch
	touch $@

$(VENV)/.run: $(VENV)/.torch pyproject.toml
	$(PIP) install --quiet --constraint constraints.txt --editable .
	touch $@

$(VENV)/.dev: $(VENV)/.run
	$(PIP) install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

$(VENV)/.docs: $(VENV)/.dev
	$(PIP) install --quiet --constraint constraints.txt --editable '.[docs]'
	touch $@

demo: $(VENV)/.run  ## the main job on embedded data: an HTML report and a table
	$(BIN)/symscope demo

test: $(VENV)/.dev  ## the test suite (long reproductions: make slow)
	$(BIN)/python -m pytest -n auto

slow: $(VENV)/.dev  ## the long reproductions
	$(BIN)/python -m pytest -m slow

fuzz: $(VENV)/.dev  ## hostile inputs for an hour on all cores (FUZZ_MINUTES=5 for less); counts and faults
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.fuzz --minutes $(or $(FUZZ_MINUTES),60)

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

clean:  ## remove the virtual environment and everything generated
	rm -rf $(VENV) site demo build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
