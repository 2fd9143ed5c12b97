# Every target makes what it needs: a virtual environment, the wheel, the tools.
# A machine with python3, g++ and make is enough.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := pyproject.toml CMakeLists.txt README.md $(shell find src cpp -type f -not -name '*.pyc')
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo test programs test-data test-all test-pure test-oldest test-sanitize lint format gallery bench bench-quick dev clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 16

$(VENV)/made:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade "pip>=25.1"
	@touch $@

$(VENV)/installed: $(VENV)/made $(SOURCES)
	$(PIP) install '.[cli,report]'
	@touch $@

$(VENV)/tools: $(VENV)/installed
	$(PIP) install --group test --group lint
	@touch $@

demo: $(VENV)/installed ## cluster a real data set, and write a report to look at
	$(BIN)/partita demo --force

test: $(VENV)/tools ## the tests, some minutes
	$(BIN)/python -m pytest
	$(BIN)/python -m pytest --doctest-modules --pyargs partita -q

test-data: $(VENV)/tools ## the tests on real data sets; PARTITA_DATA says where they are
	@test -n "$$PARTITA_DATA" || { echo "set PARTITA_DATA to the folder of the data sets"; exit 1; }
	$(BIN)/python -m pytest -m "data and not slow"

test-all: $(VENV)/tools programs test-pure test-oldest test-sanitize ## everything, slow tests and other builds included
	$(BIN)/python -m pytest -m ""

programs: ## install what some tests look through, if it is absent and apt-get may: Chromium, tmux
	@command -v chromium >/dev/null && command -v tmux >/dev/null \
	|| { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
	     && apt-get -qq update && apt-get -qq install -y chromium tmux >/dev/null; } \
	|| echo "Chromium or tmux is absent and cannot be installed here: their tests will be skipped"

test-pure: ## the tests on a build without the compiled core
	$(PYTHON) -m venv $(VENV)-pure
	$(VENV)-pure/bin/python -m pip --quiet --disable-pip-version-check install --upgrade "pip>=25.1"
	$(VENV)-pure/bin/python -m pip --quiet install --config-settings=cmake.define.PARTITA_PURE=ON --config-settings=build-dir=build/pure .
	$(VENV)-pure/bin/python -m pip --quiet install --group test
	$(VENV)-pure/bin/python -m pytest -W "ignore:partita's compiled core" -m "not slow and not data and not compiled"

test-oldest: ## the tests with the oldest versions that pyproject.toml allows
	$(PYTHON) -m venv $(VENV)-oldest
	$(VENV)-oldest/bin/python -m pip --quiet --disable-pip-version-check install --upgrade "pip>=25.1"
	$(VENV)-oldest/bin/python -m pip --quiet install . --group test --constraint tests/oldest.txt
	$(VENV)-oldest/bin/python -m pytest -W default -m "not slow and not data"

test-sanitize: ## the kernel tests under the address and undefined-behaviour sanitizers
	$(PYTHON) -m venv $(VENV)-sanitize
	$(VENV)-sanitize/bin/python -m pip --quiet --disable-pip-version-check install --upgrade "pip>=25.1"
	$(VENV)-sanitize/bin/python -m pip --quiet install --config-settings=cmake.define.PARTITA_SANITIZE=ON --config-settings=build-dir=build/sanitize .
	$(VENV)-sanitize/bin/python -m pip --quiet install --group test
	LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libubsan.so)" \
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 \
	$(VENV)-sanitize/bin/python -m pytest -x -k 'not ctrl_c' tests/kernels tests/engine tests/init tests/source tests/test_promises.py tests/common/test_threads.py tests/estimators/medoids/test_medoids.py tests/estimators/kernel tests/estimators/test_minibatch.py tests/estimators/test_spherical.py tests/metrics

lint: $(VENV)/tools ## style, types, and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/project/test_layers.py

format: $(VENV)/tools ## let ruff lay out the Python files
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

gallery: $(VENV)/tools ## draw the pictures of docs/gallery.md again
	$(BIN)/python docs/gallery.py

.bench-venv/made: bench/requirements.txt $(SOURCES)
	test -d .bench-venv || $(PYTHON) -m venv .bench-venv
	.bench-venv/bin/python -m pip --quiet --disable-pip-version-check install . -r bench/requirements.txt
	@touch $@

bench: .bench-venv/made ## partita and its peers, up to 90 minutes; PARTITA_DATA names the data sets
	.bench-venv/bin/python bench/run.py --out bench/RESULTS.md

bench-quick: .bench-venv/made ## a small part of it, under five minutes, only printed
	.bench-venv/bin/python bench/run.py --quick

dev: $(VENV)/made ## an editable install for working on partita
	$(PIP) install --group build --group test --group lint
	$(PIP) install --no-build-isolation --editable .

clean: ## remove what the targets made
	rm -rf $(VENV) $(VENV)-pure $(VENV)-oldest $(VENV)-sanitize .bench-venv build dist
