# Every target makes what it needs: a virtual environment, the compiled core, the tools.
# A machine with python3, g++ and make is enough.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
CPP := $(shell find cpp -type f)
# neighbouring tests stay in one process, and share its fixtures
PARALLEL := -n auto --dist worksteal
# tests start many processes, and each would compile the package: keep the byte code
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo quick test test-data test-all test-pure test-oldest test-sanitize test-arm test-spark browsers java \
        lint format reference gallery same-bits bench bench-quick bench-answers bench-coresets \
        bench-quality bench-certificates bench-scale bench-dask bench-spark bench-cluster bench-report dev clean FORCE

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 16

# --- the environment: an editable install, so that editing a Python file reinstalls nothing --------

$(VENV)/made:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade "pip>=25.1"
	@touch $@

$(VENV)/modules: $(VENV)/made FORCE # changes only when a file is added, moved or removed
	@find src -type f -not -path '*/__pycache__/*' -not -name '*.so' | sort > $@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@

$(VENV)/installed: $(VENV)/modules pyproject.toml CMakeLists.txt $(CPP)
	$(PIP) install --group build
	$(PIP) install --no-build-isolation --editable '.[cli,report]'
	@touch $@

$(VENV)/tools: $(VENV)/installed
	$(PIP) install --group test --group lint
	@touch $@

dev: $(VENV)/tools ## everything for working on partita: editable install, tools, commit hook
	$(BIN)/pre-commit install

# --- using it --------------------------------------------------------------------------------------

demo: $(VENV)/installed ## cluster a real data set, and write a report to look at
	$(BIN)/partita demo --force

# --- tests -----------------------------------------------------------------------------------------

quick: $(VENV)/tools ## the inner loop, under 30 seconds: one case of every test, few examples
	$(BIN)/python -m pytest $(PARALLEL) -q --quick

test: $(VENV)/tools ## the tests, in parallel: some minutes
	$(BIN)/python -m pytest $(PARALLEL) --durations=10
	$(BIN)/python -m pytest $(PARALLEL) -q --doctest-modules --pyargs partita

test-data: $(VENV)/tools ## the tests on real data sets; PARTITA_DATA names their folder
	@test -n "$$PARTITA_DATA" || { echo "set PARTITA_DATA to the folder of the data sets"; exit 1; }
	$(BIN)/python -m pytest $(PARALLEL) -m "data and not slow"

test-all: $(VENV)/tools browsers test-pure test-oldest test-sanitize test-spark ## everything: slow tests and other builds too
	$(BIN)/python -m pytest $(PARALLEL) -m "not spark"

browsers: ## install Chromium and tmux (needed by browser and terminal tests)
	@command -v chromium >/dev/null && command -v tmux >/dev/null \
	|| { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
	     && apt-get -qq update && apt-get -qq install -y chromium tmux >/dev/null; } \
	|| echo "Chromium or tmux is absent and cannot be installed here: their tests will be skipped"

test-spark: $(VENV)/tools java ## the tests that start Spark, five minutes; installs pyspark (400 MB)
	$(PIP) install --group spark
	$(BIN)/python -m pytest -m spark

java: ## install Java (needed by Spark)
	@command -v java >/dev/null || test -n "$$JAVA_HOME" \
	|| { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
	     && apt-get -qq update && apt-get -qq install -y openjdk-17-jre-headless >/dev/null; } \
	|| echo "Java is absent and cannot be installed here: Spark's tests will be skipped"

# $(call environment,NAME,ARGUMENTS): a virtual environment of its own with partita built as ARGUMENTS say
define environment
	$(PYTHON) -m venv $(VENV)-$(1)
	$(VENV)-$(1)/bin/python -m pip --quiet --disable-pip-version-check install --upgrade "pip>=25.1"
	$(VENV)-$(1)/bin/python -m pip --quiet --disable-pip-version-check install . --group test $(2)
endef

test-pure: ## the tests on a build without the compiled core
	$(call environment,pure,--config-settings=cmake.define.PARTITA_PURE=ON --config-settings=build-dir=build/pure)
	$(VENV)-pure/bin/python -m pytest $(PARALLEL) -W "ignore:partita's compiled core" -m "not slow and not data and not compiled"

test-oldest: ## the tests with the oldest versions that pyproject.toml allows
	$(call environment,oldest,--constraint tests/oldest.txt)
	$(VENV)-oldest/bin/python -m pytest $(PARALLEL) -W default -m "not slow and not data"

test-sanitize: ## the kernel tests under the address and undefined-behaviour sanitizers
	$(call environment,sanitize,--config-settings=cmake.define.PARTITA_SANITIZE=ON --config-settings=build-dir=build/sanitize)
	LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libubsan.so)" \
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 \
	$(VENV)-sanitize/bin/python -m pytest -x -m "sanitize and not slow and not data" -k "not ctrl_c"

test-arm: $(VENV)/tools ## the kernel tests on an emulated ARM processor with dot products (Debian, root): some minutes
	$(BIN)/python tests/emulated_arm.py

same-bits: $(VENV)/tools ## compare over 200 fits with those of another commit: make same-bits BITS=file (see tests/same_bits.py)
	$(BIN)/python tests/same_bits.py compare $(BITS)

# --- style -----------------------------------------------------------------------------------------

lint: $(VENV)/tools ## style, types, and the direction of imports; the commit hook runs the same
	$(BIN)/ruff check .
	$(BIN)/ruff format --check src tests bench docs examples
	$(BIN)/clang-format --dry-run --Werror $(filter %.hpp %.cpp %.inc,$(CPP))
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/project

format: $(VENV)/tools ## let ruff and clang-format lay out the files
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format src tests bench docs examples
	$(BIN)/clang-format -i $(filter %.hpp %.cpp %.inc,$(CPP))

# --- documents -------------------------------------------------------------------------------------

reference: $(VENV)/tools ## write docs/reference.md from the docstrings
	$(BIN)/python docs/reference.py

gallery: $(VENV)/tools ## draw the pictures of docs/gallery.md and README.md again
	$(BIN)/python docs/gallery.py
	$(BIN)/python docs/report_picture.py

# --- benchmarks ------------------------------------------------------------------------------------

.bench-venv/made: bench/requirements.txt pyproject.toml CMakeLists.txt $(CPP) $(shell find src -name '*.py')
	test -d .bench-venv || $(PYTHON) -m venv .bench-venv
	.bench-venv/bin/python -m pip --quiet --disable-pip-version-check install . \
	  --config-settings=build-dir=build/bench -r bench/requirements.txt
	@touch $@

bench: .bench-venv/made ## partita and its peers, up to 90 minutes; PARTITA_DATA names the data sets
	.bench-venv/bin/python bench/run.py --out bench/RESULTS.md

bench-quick: .bench-venv/made ## a small part of it, under five minutes, only printed
	.bench-venv/bin/python bench/run.py --quick

bench-answers: $(VENV)/tools ## how often `partita fit table.csv` is right, on 400 generated tables: half an hour
	$(BIN)/python bench/answers.py --out bench/ANSWERS.md

bench-coresets: $(VENV)/tools ## the error of coresets beside uniform samples, on the data sets of PARTITA_DATA: two minutes
	$(BIN)/python bench/coresets.py --out bench/CORESETS.md

bench-quality: .bench-venv/made ## J beside proven optima, scikit-learn and bkmeans; PARTITA_DATA names the data sets: ten minutes
	.bench-venv/bin/python bench/quality.py --out bench/QUALITY.md

bench-certificates: $(VENV)/tools ## how far from the best possible fits are proven to be: ten minutes
	$(BIN)/python bench/certificates.py --out bench/CERTIFICATES.md

bench-scale: $(VENV)/tools ## fits of files of 6 GB within 1 GiB of memory: half an hour, 20 GB of disk
	$(BIN)/python bench/files.py --out bench/FILES.md

# apart from the other peers: dask-ml decides which scikit-learn suits it
$(VENV)-clusters/made: bench/requirements-clusters.txt pyproject.toml CMakeLists.txt $(CPP) $(shell find src -name '*.py')
	test -d $(VENV)-clusters || $(PYTHON) -m venv $(VENV)-clusters
	$(VENV)-clusters/bin/python -m pip --quiet --disable-pip-version-check install '.[dask,spark]' \
	  --config-settings=build-dir=build/clusters -r bench/requirements-clusters.txt
	@touch $@

bench-dask: $(VENV)-clusters/made ## fits of a dask array by partita and dask-ml: half an hour
	$(VENV)-clusters/bin/python bench/dask_fits.py --out bench/DASK.md

bench-spark: $(VENV)-clusters/made java ## fits of a Spark dataframe by partita and pyspark.ml: ten minutes
	$(VENV)-clusters/bin/python bench/spark_fits.py --out bench/SPARK.md

bench-cluster: $(VENV)/tools ## the cost model of distributed fits, and a simulated cluster: ten minutes
	$(BIN)/python bench/scaling_model.py --out bench/CLUSTER.md --picture docs/scaling.svg

bench-report: $(VENV)/tools browsers ## size and speed of reports in a browser, up to a million rows
	$(BIN)/python bench/report_page.py --out bench/REPORT.md

clean: ## remove what the targets made
	rm -rf $(VENV) $(VENV)-pure $(VENV)-oldest $(VENV)-sanitize $(VENV)-clusters .bench-venv build dist
