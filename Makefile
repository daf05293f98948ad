# corrdp: everything runs in .venv, which is made on first use and again when pyproject.toml changes.

PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

# Real data for the tests that want them; those tests skip when the directory is absent.
CORRDP_DATA ?= $(abspath $(wildcard ../shared/data))
ifneq ($(CORRDP_DATA),)
export CORRDP_DATA
endif

# the tests start many interpreters: what one has compiled, the next should find, whatever was set
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test test-reproduction test-app test-slow test-full test-spark bench docs docs-links dist test-wheel test-pythons test-lowest clean

help:
	@echo "make demo       simulate an activity series and release a private count from it"
	@echo "make test       ruff, mypy and the quick tests"
	@echo "make test-reproduction  the quick tests of the published figures"
	@echo "make test-app   the application in a real browser; installs what it needs, skips without Chromium"
	@echo "make test-slow  the tests of the library that take longer"
	@echo "make test-full  the published figures at full size: hours"
	@echo "make test-spark the Spark engine in local mode; installs PySpark, needs Java 17"
	@echo "make bench      every benchmark, one after another, and their page in the docs"
	@echo "make docs       the site, in docs/_build/html; offline once its tools are there"
	@echo "make docs-links the links of the site that lead elsewhere"
	@echo "make dist       wheel and source archive in dist/, built twice: equal bytes"
	@echo "make test-wheel wheel and source archive, each in a clean environment: example, help, release, theorem"
	@echo "make test-pythons  the wheel on Python 3.11, 3.12 and 3.13, those that are found"
	@echo "make test-lowest the wheel on Python 3.11 with the lowest dependencies that pyproject.toml allows"
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
	@# compiled while types are checked: else both workers compile everything, each for itself
	$(BIN)/corrdp warm & compiling=$$!; $(BIN)/mypy && wait $$compiling
	$(BIN)/python -m pytest -n 2 --dist worksteal tests src

test-reproduction: $(STAMP)
	$(BIN)/python -m pytest -n 2 --dist worksteal reproduction

# with CORRDP_SCREENSHOTS=1 the pictures of docs/app.md are made anew; where root may install
# Debian's packages, as on a fresh machine of CI, Chromium comes from there
test-app: $(STAMP)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev,test-app]" --editable reproduction
	@command -v chromium || command -v chromium-browser || \
		{ test "$$(id -u)" = 0 && apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null; } || \
		$(BIN)/python -m playwright install chromium || true
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "browser and not alone" tests/app
	$(BIN)/python -m pytest -m "browser and alone" tests/app

# compiled loops check their indices here, in a cache of their own
SLOW = CORRDP_EXPLORE=1 NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=.venv/checked $(BIN)/python -m pytest -n 2 --dist worksteal -m slow

test-slow: $(STAMP)
	$(SLOW) tests src

# apart from the library's: one figure alone takes three quarters of an hour
test-full: $(STAMP)
	$(SLOW) reproduction

test-spark: $(STAMP)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev,spark]" --editable reproduction
	$(BIN)/python -m pytest -m spark tests

bench: $(STAMP)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev,bench]" --editable reproduction
	@failed=""; for script in benchmarks/[a-z]*.py; do echo "== $$script"; \
		$(BIN)/python $$script || failed="$$failed $$script"; done; \
		$(BIN)/python benchmarks/_page.py; test -z "$$failed" || { echo "failed:$$failed"; exit 1; }

.venv/.docs: $(STAMP)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev,docs]" --editable reproduction
	@$(BIN)/python docs/mathjax.py
	@touch $@

# warnings are errors, and every link inside the site leads somewhere
docs: .venv/.docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html
	$(BIN)/python docs/links.py

docs-links: .venv/.docs
	$(BIN)/python -m sphinx -b linkcheck docs docs/_build/links

# the time of the last commit is the time of every file in it
dist: export SOURCE_DATE_EPOCH = $(shell git log -1 --format=%ct)
dist: $(STAMP)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check build
	@rm -rf dist build
	$(BIN)/python -m build --outdir dist .
	@rm -rf build/lib build/bdist.*
	$(BIN)/python -m build --outdir build/again .
	@for file in dist/*; do cmp $$file build/again/$$(basename $$file) || exit 1; done; sha256sum dist/*

# the archive goes the same way as the wheel: it must hold what a wheel is built from, theorem pages too
test-wheel: dist
	@tar tzf dist/*.tar.gz | grep -q '/LICENSE$$'
	@set -e; for file in dist/*.whl dist/*.tar.gz; do \
		echo "== $$file"; \
		$(PYTHON) -m venv --clear build/clean; \
		build/clean/bin/python -m pip install --quiet --disable-pip-version-check "$$file[all]"; \
		rm -rf build/elsewhere; mkdir build/elsewhere; \
		(cd build/elsewhere && ../clean/bin/python ../../tests/helpers/wheel.py ../../README.md); \
	done

test-pythons: dist
	$(BIN)/python tests/helpers/environments.py pythons

test-lowest: dist
	$(BIN)/python tests/helpers/environments.py lowest

clean:
	rm -rf .venv demo docs/_build docs/_static build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis src/*.egg-info reproduction/src/*.egg-info
