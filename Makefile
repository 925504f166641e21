# Every target sets itself up: Python 3.11 or newer and make are all that is needed.
#   make demo    the main job, and where to look afterwards
#   make test    lint, types, tests
PYTHON ?= python3
# Relative on purpose: the checkout may lie in a path with spaces.
VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check --quiet
OUT ?= results

.DEFAULT_GOAL := help
.PHONY: help demo test browser test-slow lint bench docs docs-serve format clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/^([a-z-]+):.*## (.*)/  make \1|\2/' | column -t -s '|'

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "intravar needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3.11" >&2; exit 2; }
	@$(PYTHON) -m venv $(VENV) || { \
	  echo "could not make a virtual environment; on Debian: apt-get install python3-venv" >&2; exit 2; }

# One stamp per set of extras, so that the demo need not install what only the tests use.
$(VENV)/.ready-%: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "setting up $(VENV) ($*) ..."
	@$(PIP) install --constraint constraints.txt --editable '.$(if $(filter core,$*),,[$*])'
	@touch '$@'

demo: $(VENV)/.ready-report  ## run all methods on SCORE2, beside the paper; ends with a report
	@$(PY) -m intravar benchmark score2 --out '$(OUT)'

test: lint browser  ## lint, types and tests
	@$(PY) -m pytest --cov --cov-report=term

browser: $(VENV)/.ready-dev  ## set up the browser that the report's tests drive
	@sh tests/report/setup_browser.sh '$(VENV)'

lint: $(VENV)/.ready-dev  ## ruff and mypy
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m mypy

format: $(VENV)/.ready-dev  ## let ruff rewrite what it can
	@$(PY) -m ruff check --fix .
	@$(PY) -m ruff format .

test-slow: $(VENV)/.ready-dev  ## the long statistical checks
	@$(PY) -m pytest -m slow

bench: $(VENV)/.ready-dev  ## speed and memory, beside literal baselines
	@$(PY) -m benchmarks

docs: $(VENV)/.ready-docs  ## build the documentation into site/
	@$(PY) -m mkdocs build --strict --quiet
	@echo "documentation: site/index.html"

clean:  ## remove everything that was made here
	rm -rf $(VENV) site results dist build .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
