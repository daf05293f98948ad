# corrdp: everything runs in .venv, which is made on first use and again when pyproject.toml changes.

PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

# Real data for the tests that want them; those tests skip when the directory is absent.
CORRDP_DATA ?= $(abspath $(wildcard ../shared/data))
ifneq ($(CORRDP_DATA),)
export CORRDP_DATA
endif

.PHONY: help demo test test-reproduction test-app test-slow test-spark bench docs clean

help:
	@echo "make demo       simulate an activity series and release a private count from it"
	@echo "make test       ruff, mypy and the quick tests"
	@echo "make test-reproduction  the quick tests of the published figures"
	@echo "make test-app   the application in a real browser; installs what it needs, skips without Chromium"
	@echo "make test-slow  the tests that take longer"
	@echo "make test-spark the Spark engine in local mode; installs PySpark, needs Java 17"
	@echo "make bench      every benchmark, one after another, and their page in the docs"
	@echo "make docs       the site, in docs/_build/html"
	@echo "make clean      remove .venv, demo/ and caches"

$(STAMP): pyproject.toml reproduction/pyproject.toml
	@echo "making .venv (once; a minute or two)"
	@$(PYTHON) -m venv --clear .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]" --editable reproduction
	@touch $@

demo: $(STAMP)
	@$(BIN)/python examples/demo.py

test: $(STAMP)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python -m pytest -n 2 --dist worksteal tests src

test-reproduction: $(STAMP)
	$(BIN)/python -m pytest -n 2 --dist worksteal reproduction

# with CORRDP_SCREENSHOTS=1 the pictures of docs/app.md are made anew
test-app: $(STAMP)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev,test-app]" --editable reproduction
	@command -v chromium || command -v chromium-browser || $(BIN)/python -m playwright install chromium || true
	$(BIN)/python -m pytest -m browser tests/app

# compiled loops check their indices here, in a cache of their own
test-slow: $(STAMP)
	CORRDP_EXPLORE=1 NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=.venv/checked $(BIN)/python -m pytest -n 2 --dist worksteal -m slow

test-spark: $(STAMP)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev,spark]" --editable reproduction
	$(BIN)/python -m pytest -m spark tests

bench: $(STAMP)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev,bench]" --editable reproduction
	@set -e; for script in benchmarks/[a-z]*.py; do echo "== $$script"; $(BIN)/python $$script; done
	@$(BIN)/python benchmarks/_page.py

docs: $(STAMP)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev,docs]" --editable reproduction
	@$(BIN)/python docs/mathjax.py
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

clean:
	rm -rf .venv demo docs/_build docs/_static build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis src/*.egg-info reproduction/src/*.egg-info
