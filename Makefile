# Every target sets itself up: Python 3.11 or newer and make are all that is needed.
#   make demo    the main job, and where to look afterwards
#   make test    lint, types, tests
PYTHON ?= python3
# Relative on purpose: the checkout may lie in a path with spaces.
VENV := .venv
PY := $(VENV)/bin/python
LOWEST := .venv-lowest
# That of the environment where it has one; else that of $(PYTHON), which fills it from outside.
PIP := $$([ -e $(VENV)/bin/pip ] && echo $(PY) -m pip || echo '$(PYTHON)' -m pip --python $(PY)) \
  --disable-pip-version-check --quiet
PYTEST := --numprocesses auto --dist worksteal --durations 15
OUT ?= results
# Modules of libraries are compiled once, whatever the environment says: else every command takes seconds more.
export PYTHONDONTWRITEBYTECODE :=
GRID_METHODS := euclidean,mahalanobis,learned-weights,mutual-information,rf-proximity,lpa-guided

.DEFAULT_GOAL := help
.PHONY: help demo test pytest coverage browser test-slow test-lowest lint bench study grid docs format clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile

# Without a pip of its own it is made in a fraction of the time.
$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "intravar needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3.11" >&2; exit 2; }
	@{ $(PYTHON) -m venv --without-pip $(VENV) && $(PYTHON) -m pip --python $@ --version >/dev/null 2>&1; } || \
	  $(PYTHON) -m venv $(VENV) || { \
	  echo "could not make a virtual environment; on Debian: apt-get install python3-venv" >&2; exit 2; }

# One stamp per set of extras, so that the demo need not install what only the tests use. Modules
# are compiled when they are first imported: compiling all of every package takes as long as the rest.
# uv installs in a quarter of the time, and pip where it fails or where pip is told where to look.
$(VENV)/.ready-%: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "setting up $(VENV): installing intravar$(if $(filter core,$*),, [$*]), about half a minute ..."
	@wanted="--constraint constraints.txt --editable .$(if $(filter core,$*),,[$*])"; \
	{ ! $(PIP) config list --verbose | grep -qE 'index|find-links' && $(PIP) install --target $(VENV)/uv --upgrade uv && \
	  UV_SYSTEM_CERTS=1 UV_NATIVE_TLS=1 $(VENV)/uv/bin/uv pip install --quiet --python $(PY) $$wanted; } 2>/dev/null || \
	  $(PIP) install --no-compile $$wanted
	@touch '$@'

# The last lines are what you would run on a table of your own; they print themselves.
demo: $(VENV)/.ready-files  ## the paper's SCORE2 table, then page, sheet and workbook of a table of patients
	@echo 'A study: the table of the paper (the first time, some seconds go into compiling):'
	$(PY) -m intravar benchmark --out '$(OUT)'
	@mkdir -p '$(OUT)/own'
	@echo && echo 'As with a table of your own: patients, the measurement, a sheet for one physician, documents:'
	$(PY) -m intravar simulate stress-two-camps --patients 4800 --physicians 16 --no-truth --out '$(OUT)/own/patients.csv'
	$(PY) -m intravar measure '$(OUT)/own/patients.csv' --physician physician --decision decision --out '$(OUT)/own/mine'
	$(PY) -m intravar sheet '$(OUT)/own/mine' --physician P01 --out '$(OUT)/own/sheets'
	$(PY) -m intravar report '$(OUT)/own/mine' --format html,xlsx,pdf
	@echo && echo "open: $(OUT)/report.html (the study), $(OUT)/own/mine/report.html (page), $(OUT)/own/sheets (one sheet)"

# Lint and types run beside the tests, which wait for browsers and databases now and then.
test:  ## lint, types and tests
	@$(MAKE) --no-print-directory --jobs 2 $(VENV)/.ready-dev browser
	@$(MAKE) --no-print-directory --jobs 2 lint pytest

pytest: $(VENV)/.ready-dev
	@$(PY) -m pytest $(PYTEST)

coverage: $(VENV)/.ready-dev browser  ## the tests once more, counting the lines that they run
	@$(PY) -m pytest $(PYTEST) --cov --cov-report=term

browser:  ## set up the browser that the report's tests drive
	@sh tests/documents/setup_browser.sh

lint: $(VENV)/.ready-dev  ## ruff, mypy, and the directions of imports
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m mypy
	@$(VENV)/bin/lint-imports --no-logo --no-cache

format: $(VENV)/.ready-dev  ## let ruff rewrite what it can
	@$(PY) -m ruff check --fix .
	@$(PY) -m ruff format .

test-slow: $(VENV)/.ready-dev  ## the long statistical checks
	@$(PY) -m pytest -m slow

# In a place of its own; resolved anew, since the lowest versions are those of pyproject.toml.
test-lowest:  ## the tests with the lowest versions that are supported
	@$(PYTHON) -m venv $(LOWEST)
	@$(LOWEST)/bin/python -m pip --disable-pip-version-check --quiet install uv
	@$(LOWEST)/bin/python -m uv pip install --quiet --python $(LOWEST)/bin/python \
	  --resolution lowest-direct --editable '.[dev]'
	@$(LOWEST)/bin/python -m pytest $(PYTEST)

bench: $(VENV)/.ready-dev  ## speed and memory, beside literal baselines
	@$(PY) -m benchmarks

study: $(VENV)/.ready-core  ## the paper's 94 conditions, all methods (about ten minutes on two processors)
	@mkdir -p '$(OUT)'
	@$(PY) -m intravar benchmark all --out '$(OUT)/all'

grid: $(VENV)/.ready-core  ## the paper's grid of cohort sizes, ten replicates (about an hour on two processors)
	@mkdir -p '$(OUT)'
	@$(PY) -m intravar benchmark grid --replicates 10 --methods $(GRID_METHODS) --out '$(OUT)/grid'

docs: $(VENV)/.ready-docs  ## build the documentation into site/
	@NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict --quiet
	@echo "documentation: site/index.html"

clean:  ## remove everything that was made here
	rm -rf $(VENV) $(LOWEST) site results dist build .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
