# Everything runs in .venv, made from uv.lock. Needs only Python 3.11+ and make.
#   make run    the katas, executed, and a report
#   make test   lint, types, the whole test suite, and the solved notebooks compared
SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON     ?= python3
UV_VERSION := 0.13.9
VENV       := .venv
BIN        := $(VENV)/bin
UV         := $(VENV)/.uv/bin/uv
STAMP      := $(VENV)/.synced
OUT        := out/run-$(shell date +%Y%m%d-%H%M%S)

# uv works on our .venv and on no other environment that happens to be active.
export UV_PROJECT_ENVIRONMENT := $(VENV)
export UV_PYTHON_DOWNLOADS    := never
unexport VIRTUAL_ENV

.PHONY: help venv run test lint lab bench clean

help:  ## show this list
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 14

venv: $(STAMP)  ## make or refresh .venv from uv.lock

# uv lives in a folder of its own so that `uv sync`, which removes what the lock does not name, leaves it alone.
$(UV): Makefile
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "labkit needs Python 3.11 or newer; set PYTHON=/path/to/python3.11")'
	@echo "== .venv with uv $(UV_VERSION)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PYTHON) -m venv $(VENV)/.uv
	@$(VENV)/.uv/bin/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	@touch $@

# Compiled once here (ten seconds), or every kernel and every killed child compiles for itself.
$(STAMP): pyproject.toml uv.lock $(UV)
	@echo "== packages from uv.lock"
	@$(UV) sync --locked --quiet --compile-bytecode
	@touch $@

run: venv  ## run every kata; leaves executed notebooks and report.html in a new folder (OUT=...)
	@mkdir -p $(dir $(OUT))
	@$(BIN)/lab run --out $(OUT)

lint: venv  ## ruff: rules and format
	@echo "== ruff"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet . || { echo "some files are not formatted: $(BIN)/ruff format ."; exit 1; }

# `-n logical`: psutil is installed, so `-n auto` would count physical cores, one on a two-thread machine.
# `--dist loadscope`: a module's tests share a worker, and with nbval a notebook's cells share a kernel.
test: venv lint  ## lint, types, the test suite, and the solved notebooks against their stored outputs
	@echo "== mypy"
	@$(BIN)/mypy
	@echo "== tests"
	@$(BIN)/python -m pytest tests -n logical --dist loadscope $(PYTEST_ARGS)
	@shopt -s nullglob; solved=(katas/*/solved.ipynb); \
	if (($${#solved[@]})); then \
	  echo "== solved notebooks"; \
	  $(BIN)/python -m pytest --nbval --nbval-cell-timeout=120 -n logical --dist loadscope "$${solved[@]}"; \
	fi

lab: venv  ## open JupyterLab at the first notebook
	@$(BIN)/lab open

bench: venv  ## the speed ratios
	@$(BIN)/lab bench

clean:  ## remove what builds and runs made; keeps workspace/, the learner's own
	@rm -rf $(VENV) out build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
