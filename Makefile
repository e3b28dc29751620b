# make run    set up .venv, then decode a prompt with the bundled model through a pipelined topology
# make test   set up .venv, then run the tests
# make slow   the tests that take minutes
# make check  lint, types, and validation of the shipped topologies
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
TOPOLOGY ?= pingpong

.PHONY: run test slow check bench setup clean
.DEFAULT_GOAL := run

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

run: $(STAMP)
	$(BIN)/laneflow run $(TOPOLOGY) --prompt "The lanes of a pipeline" --max-tokens 64 --ignore-eos

test: $(STAMP)
	$(BIN)/python -m pytest

slow: $(STAMP)
	$(BIN)/python -m pytest -m slow

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/laneflow validate topologies

bench: $(STAMP)
	$(BIN)/python -m benchmarks.overlap

clean:
	rm -rf $(VENV)
