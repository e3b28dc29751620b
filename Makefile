# make setup  set up .venv, and compile the decode step that make run uses (a minute or two, where a C++ compiler is)
# make run    set up, then decode a prompt with the bundled model through a pipelined topology
# make test   set up .venv, then run the tests
# make slow   the tests that take minutes
# make check  lint, types, and validation of the shipped topologies
# make gpu-check   on a machine with a GPU: the tests that need one, and its benchmark (docs/gpu.md)
# make gpu-wheels  what that needs beside torch, where the machine with the GPU has no network; GPU_PYTHON is its Python
# make bench  laneflow beside other ways to overlap three bodies, and what its parts cost (about half an hour)
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
COMPILED := $(VENV)/.compiled
PEERS := $(VENV)/.peers
TOPOLOGY ?= pingpong
RUN = $(BIN)/laneflow run $(TOPOLOGY) --prompt "The lanes of a pipeline" --max-tokens 64 --ignore-eos

.PHONY: run test slow check bench bench-decode gpu-check gpu-wheels setup clean
.DEFAULT_GOAL := run

setup: $(STAMP) $(COMPILED)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

# Finds the step in the user's cache where it is there already; without a compiler, says that runs will be eager.
$(COMPILED): $(STAMP) $(wildcard deepseek/*.py deepseek/model/*.py deepseek/compiled/*.py)
	$(RUN) --compile >/dev/null
	touch $@

run: $(STAMP) $(COMPILED)
	$(RUN)

test: $(STAMP)
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder

slow: $(STAMP)
	$(BIN)/python -m pytest -m slow

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/laneflow validate topologies

$(PEERS): $(STAMP) benchmarks/install.py
	$(BIN)/python -m benchmarks.install
	touch $@

bench: $(PEERS)
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks.overlap
	$(BIN)/python -m benchmarks.overhead
	$(BIN)/python -m benchmarks.validation
	$(BIN)/python -m benchmarks.stream

bench-decode: $(STAMP)
	$(BIN)/python -m benchmarks.decode

# All but torch and numpy, without what they would pull in themselves; antlr4 has no wheel, and is of Python alone.
GPU_PYTHON ?= 3.12
WHEELS := build/gpu_wheels
gpu-wheels: $(STAMP)
	rm -rf $(WHEELS)
	$(BIN)/python -m pip download --quiet --no-deps --only-binary :all: --python-version $(GPU_PYTHON) \
	  --platform manylinux2014_x86_64 --platform manylinux_2_28_x86_64 --platform any --dest $(WHEELS) \
	  annotated-types iniconfig markdown-it-py mdurl networkx omegaconf packaging pluggy psutil \
	  pydantic-core==$$($(BIN)/python -c 'import pydantic_core; print(pydantic_core.__version__)') \
	  pydantic==$$($(BIN)/python -c 'import pydantic; print(pydantic.__version__)') \
	  pygments pytest pytest-timeout pyyaml rich safetensors tokenizers typing-extensions typing-inspection
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir $(WHEELS) 'antlr4-python3-runtime==4.9.*'

gpu-check:
	bash benchmarks/gpu_check.sh

clean:
	rm -rf $(VENV)
