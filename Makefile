# demo, test, sanitize, lint, bench, docs: each works on a fresh clone. The first one that runs makes .venv and installs
# the package into it with what it needs; after that only a change of pyproject.toml installs again.

PYTHON ?= python3
VENV   ?= .venv
# Two workers are what a small machine has. WORKERS=0 runs in one process, WORKERS=auto on all cores.
WORKERS ?= 2
# The browser that prints the course.
CHROMIUM ?= chromium

# The tests start a hundred processes, each of which would compile the library's source again.
unexport PYTHONDONTWRITEBYTECODE

# Clusters, browsers and signals have a run of their own, so that what goes wrong among processes
# fails no other test. One worker runs all that needs the cluster, and a browser is opened by each.
APART := cluster or browser or signals
LATER := exhaustive or benchmarks
# Each worker begins with a half of the files, so that no two compile the same loop at the same time.
define SUITE
	$(1) -m pytest -n $(WORKERS) --dist worksteal -m "not ($(APART) or $(LATER))" $(PYTEST_ARGS)
	$(1) -m pytest -n $(WORKERS) --dist loadgroup -m "($(APART)) and not ($(LATER))" $(PYTEST_ARGS)
endef

BIN   := $(VENV)/bin
APP   := $(VENV)/.installed-app
DEV   := $(VENV)/.installed-dev
BENCH := $(VENV)/.installed-bench
DOCS  := $(VENV)/.installed-docs

.DEFAULT_GOAL := help
.PHONY: help demo test exhaustive bench-test mutants sanitize lint bench docs course pictures oldest clean

help:
	@echo "make demo    fit, save, reload and check models on built-in real data"
	@echo "make test    the test suite                              (WORKERS=$(WORKERS))"
	@echo "make exhaustive  the rest of its grids and random searches"
	@echo "make bench-test  the tests of the benchmarks themselves"
	@echo "make mutants  plant faults in a copy, each of which the tests must find"
	@echo "make sanitize  the test suite with every index of compiled loops checked (slow)"
	@echo "make lint    ruff and mypy"
	@echo "make bench   time to a certified accuracy, beside other libraries (BENCH_ARGS=--quick)"
	@echo "make docs    the documentation, in docs/_build/html/index.html; warnings are errors"
	@echo "make course  the twelve sessions of the course for print: docs/_build/course.pdf (needs Chromium)"
	@echo "make pictures  draw anew what the tests compare pictures with, and README's pictures"
	@echo "make oldest  the test suite on the oldest supported versions (needs Python 3.11)"
	@echo "make clean   remove .venv, caches and build products"

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

comma := ,

define install
	@echo "Installing separatrix with its extras $(1) into $(VENV), once: $(2)."
	$(BIN)/python -m pip install --disable-pip-version-check -e ".[$(1)]"
	@touch $@
endef

$(APP): pyproject.toml | $(BIN)/python
	$(call install,app,30 packages and 0.7 GB)

$(DEV): pyproject.toml | $(BIN)/python
	$(call install,app$(comma)dev,130 packages and 1.7 GB)

$(BENCH): pyproject.toml | $(BIN)/python
	$(call install,app$(comma)dev$(comma)bench,150 packages and 3 GB)

$(DOCS): pyproject.toml | $(BIN)/python
	$(call install,app$(comma)docs,80 packages and 1 GB)

demo: $(APP)
	$(BIN)/python examples/demo.py

test: $(DEV)
	$(call SUITE,$(BIN)/python)

# All configurations of each class in scikit-learn's checks, and eight times the random cases.
exhaustive: $(DEV)
	SEPARATRIX_EXHAUSTIVE=1 $(BIN)/python -m pytest -n $(WORKERS) -m "exhaustive or sampled" $(PYTEST_ARGS)

# Those that need a library of the extra bench are skipped where it is not installed.
bench-test: $(DEV)
	$(BIN)/python -m pytest -n $(WORKERS) -m benchmarks $(PYTEST_ARGS)

# In build/mutants, where loops that no fault has touched stay compiled.
mutants: $(DEV)
	$(BIN)/python -m benchmarks.mutants

# Numba compiles everything again, with a look at every index: IndexError where one is beyond its array.
sanitize: $(DEV)
	$(call SUITE,NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/.numba_cache/sanitize $(BIN)/python)

lint: $(DEV)
	$(BIN)/python -m ruff check .
	$(BIN)/python -m mypy

# Peers whose requirements clash with the others' (an older NumPy).
.venv-peers/.installed: Makefile
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --disable-pip-version-check "adelie>=1.1.52" scikit-learn
	@touch $@

bench: $(BENCH) .venv-peers/.installed
	$(BIN)/python -m benchmarks $(BENCH_ARGS)

docs: $(DOCS)
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

course: docs
	$(CHROMIUM) --headless --no-sandbox --no-pdf-header-footer \
		--print-to-pdf=docs/_build/course.pdf file://$(CURDIR)/docs/_build/html/course.html

pictures: $(DEV)
	$(BIN)/python -m pytest tests/plots tests/report -q -W "ignore:Ignoring --mpl" \
		--mpl-generate-path=tests/plots/baseline
	$(BIN)/python docs/readme_pictures.py

oldest: pyproject.toml .ci/oldest.txt
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check \
		--constraint .ci/oldest.txt -e ".[app,dev]"
	$(call SUITE,NUMBA_CACHE_DIR=$(CURDIR)/.numba_cache/oldest .venv-oldest/bin/python)

clean:
	rm -rf $(VENV) .venv-oldest .venv-peers build dist docs/_build docs/auto_examples docs/generated .pytest_cache .mypy_cache .ruff_cache .hypothesis .numba_cache
	rm -rf src/*.egg-info
	find src tests examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
