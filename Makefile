# make demo, make test: everything else is below. Needs Python 3.11 or newer; `make PYTHON=python3.12 demo` chooses one.
# Where uv is installed it is used, with PyTorch for CPUs; `make TORCH=auto demo` takes the build for the graphics card.
PYTHON ?= python3
TORCH ?= cpu
BIN := .venv/bin
UV := $(shell command -v uv 2>/dev/null)
ifeq ($(UV),)
VENV := $(PYTHON) -m venv .venv
INSTALL := $(BIN)/python -m pip install --quiet --constraint constraints.txt
else
VENV := $(UV) venv --quiet --python $(PYTHON) .venv
INSTALL := $(UV) pip install --quiet --python $(BIN)/python --torch-backend $(TORCH) --constraint constraints.txt
endif

unexport PYTHONDONTWRITEBYTECODE # compiling every test anew takes 15 s per worker

.PHONY: demo test lint middle stubs soak ledger ledger-check bench faults clean

demo: .venv/installed
	$(BIN)/ftheta train mlp digits --hidden 256,256 --batch-size 16 --epochs 60 --lr 0.001 --set dropout=0.5 --set patience=60 --set training.schedule=cosine

test: .venv/installed-dev
	$(BIN)/pytest -n 2 --dist worksteal -q

lint: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports

# What kills processes, or measures their time or memory, runs alone.
ALONE := tests/train/test_kills.py tests/test_memory.py tests/cli/test_interrupt.py tests/cli/test_terminal.py
middle: .venv/installed-dev
	$(BIN)/pytest tests -m middle -n 2 --dist worksteal -q $(ALONE:%=--ignore=%)
	$(BIN)/pytest $(ALONE) -m middle -q

stubs: .venv/installed-dev
	$(BIN)/python -m tests.stubs

soak: .venv/installed-dev
	FTHETA_PROFILE=soak $(BIN)/pytest tests -m soak

ledger: .venv/installed-dev
	$(BIN)/pytest tests --ledger-write -q

ledger-check: .venv/installed-dev
	$(BIN)/pytest tests --ledger-check -q

bench: .venv/installed-bench
	$(BIN)/python -m bench $(ONLY)

faults: .venv/installed-dev
	$(BIN)/python -m tests.faults

clean:
	rm -rf .venv build dist src/*.egg-info .hypothesis .import_linter_cache .pytest_cache .ruff_cache

# One environment, filled as far as is asked for, and filled again when the requirements change.
.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python " + sys.version.split()[0] + " is too old: install 3.11 or newer, or name it: make PYTHON=python3.12")'
	$(VENV)

.venv/installed: pyproject.toml constraints.txt | .venv/bin/python
	@echo 'Installing into .venv; PyTorch is large, so this takes a minute or more.'
ifeq ($(UV),)
	@[ "$$(uname)" != Linux ] || $(BIN)/python -c 'import torch' 2>/dev/null || printf '%s\n' \
	  'On Linux pip takes PyTorch with 18 packages of CUDA, several GB to download, graphics card or not.' \
	  'A few hundred MB are enough for a CPU: stop with Ctrl-C and install uv (https://docs.astral.sh/uv/), or first type' \
	  '  $(BIN)/python -m pip install -c constraints.txt torch --index-url https://download.pytorch.org/whl/cpu' \
	  'Then make again.'
endif
	$(INSTALL) --editable .
	@touch $@

.venv/installed-%: .venv/installed
	$(INSTALL) --editable '.[dev,$*]'
	@touch $@
