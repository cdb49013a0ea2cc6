# Needs: Python 3.10 or newer with venv, a C++20 compiler (GCC or Clang), make.
# Everything else, CMake and Ninja included, comes from PyPI into environments in this folder.

.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

VERSIONS := 3.10 3.11 3.12 3.13
PYTEST_ARGS ?=
BENCH_ARGS ?=

# The interpreter of a version, X.Y or "any": on the path or installed by pyenv; must really start.
define find-python
$(shell for p in $(if $(filter any,$(1)),python3 $(VERSIONS:%=python%),python$(1)) \
    $${PYENV_ROOT:-$$HOME/.pyenv}/versions/$(if $(filter any,$(1)),3.1,$(1).)*/bin/python3; do \
  if $$p -c 'import sys, venv; sys.exit(sys.version_info < (3, 10))' >/dev/null 2>&1; \
  then echo $$p; break; fi; done)
endef
PYTHON ?= $(call find-python,any)

CPP := $(shell find cpp tests/cpp -name '*.h' -o -name '*.cpp')
CORE := CMakeLists.txt pyproject.toml $(CPP)
SOURCES := $(CORE) $(shell find src -name '*.py')

# $(call new-env,python,folder): an environment with the build tools.
define new-env
	@test -n "$(1)" || { echo "No Python >= 3.10 with venv found; set PYTHON=..."; exit 1; }
	$(1) -m venv $(2)
	$(2)/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	$(2)/bin/python -m pip install --quiet --group build
endef
# $(call install,folder,build folder,what,more options): compile and install. The build folder
# also gets the driver that tests the core without Python; $(call driver,build folder) tells where.
define install
	$(1)/bin/python -m pip install --quiet --no-build-isolation -C build-dir=build/$(2) \
	  -C cmake.define.OBLIQUEBART_DRIVER=ON $(4) $(3)
endef
driver = OBLIQUEBART_DRIVER=$(CURDIR)/build/$(1)/obart_driver

##@ Everyday
.PHONY: help
help:  ## List the commands
	@awk -F ':.*## ' '/^##@/ {printf "\n%s\n", substr($$0, 5)} \
	  /^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: .venv/.built  ## Create .venv and install the package there, editable (quick if nothing changed)

.venv/.tools: pyproject.toml
	$(call new-env,$(PYTHON),.venv)
	@touch $@
.venv/.built: .venv/.tools $(CORE)
	$(call install,.venv,dev,-e ".[dev]")
	@touch $@

.PHONY: demo
demo: build  ## Fit two data sets, print the errors, draw the picture
	.venv/bin/python examples/demo.py

# The statistical tests take as long as all others, so the two halves run side by side.
PYTEST = $(call driver,dev) .venv/bin/python -m pytest
STATISTICAL = tests/exact tests/core
.PHONY: test
test: build  ## Run the tests (PYTEST_ARGS="-k name" selects some)
ifeq ($(PYTEST_ARGS),)
	@mkdir -p build; \
	$(PYTEST) $(STATISTICAL) > build/test-statistical.log 2>&1 & statistical=$$!; \
	$(PYTEST) $(STATISTICAL:%=--ignore=%); others=$$?; \
	wait $$statistical; statistical=$$?; \
	cat build/test-statistical.log; exit $$((others | statistical))
else
	$(PYTEST) $(PYTEST_ARGS)
endif

.PHONY: lint
lint: build  ## Check style and types without changing files
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/clang-format --dry-run --Werror $(CPP)

.PHONY: format
format: build  ## Format Python and C++
	.venv/bin/ruff check --fix --exit-zero .
	.venv/bin/ruff format .
	.venv/bin/clang-format -i $(CPP)

##@ Longer
.PHONY: test-all
test-all: $(VERSIONS:%=test-%)  ## Run the tests on Python 3.10 to 3.13, from an installed wheel

.PHONY: $(VERSIONS:%=test-%)
$(VERSIONS:%=test-%): test-%: .venvs/%/.built
	$(call driver,$*) .venvs/$*/bin/python -m pytest $(PYTEST_ARGS)

.venvs/%/.tools: pyproject.toml
	@test -n "$(call find-python,$*)" || { echo "Python $* not found"; exit 1; }
	$(call new-env,$(call find-python,$*),.venvs/$*)
	@touch $@
.venvs/%/.built: .venvs/%/.tools $(SOURCES)
	$(call install,.venvs/$*,$*,".[test]")
	@touch $@
.PRECIOUS: .venvs/%/.tools .venvs/%/.built

.PHONY: calibrate
calibrate: build  ## Run the long statistical tests
	$(call driver,dev) .venv/bin/python -m pytest -m long --timeout=0 $(PYTEST_ARGS)

.PHONY: instructions
instructions: build  ## Compare the instructions per sweep with the recorded ones (needs valgrind)
	$(call driver,dev) .venv/bin/python benchmarks/instructions.py

.PHONY: bugs
bugs: .venv-bugs/.built  ## Show that the tests catch every planted bug
	$(call driver,bugs) .venv-bugs/bin/python tests/planted/run.py

.venv-bugs/.tools: pyproject.toml
	$(call new-env,$(PYTHON),.venv-bugs)
	@touch $@
.venv-bugs/.built: .venv-bugs/.tools $(SOURCES)
	$(call install,.venv-bugs,bugs,".[test]",-C cmake.define.OBLIQUEBART_PLANTED_BUGS=ON)
	@touch $@

# Mutants of the sampler and of the file reader; the last line is the score.
MUTANTS_ARGS ?=
.PHONY: mutants
mutants: build build/mutants/tools  ## Count the mutants that the tests kill (MUTANTS_ARGS="--number 50 --seed 2")
	PYTHONPATH=tests:build/mutants/tools .venv/bin/python -m mutation.run $(MUTANTS_ARGS)

build/mutants/tools:
	.venv/bin/python -m pip install --quiet --target $@ "libclang>=18.1,<19"

.PHONY: bench
bench: .venv-bench/.built  ## Run the benchmarks of docs/performance.md with small sizes (minutes)
	.venv-bench/bin/python benchmarks/run.py --quick $(BENCH_ARGS)

.PHONY: bench-full
bench-full: .venv-bench/.built  ## Run them in full and write that page (longer, on a quiet machine)
	.venv-bench/bin/python benchmarks/run.py $(BENCH_ARGS)
	.venv-bench/bin/python benchmarks/report.py
	.venv-bench/bin/python docs/tools/readme.py

# pymc-bart 0.13 needs Python 3.12.
.venv-bench/.tools: pyproject.toml benchmarks/requirements.txt benchmarks/requirements-data.txt
	$(call new-env,$(call find-python,3.12),.venv-bench)
	.venv-bench/bin/python -m pip install --quiet -r benchmarks/requirements.txt
	.venv-bench/bin/python -m pip install --quiet --no-deps -r benchmarks/requirements-data.txt
	@touch $@
.venv-bench/.built: .venv-bench/.tools $(SOURCES)
	$(call install,.venv-bench,bench,.)
	@touch $@

.PHONY: docs
docs: .venv-docs/.built  ## Build the documentation and run its gallery; warnings are errors
	.venv-docs/bin/python -m sphinx --fail-on-warning --keep-going -q docs build/docs/html
	.venv-docs/bin/python docs/tools/check_links.py build/docs/html
	@echo "Open build/docs/html/index.html"

.venv-docs/.tools: pyproject.toml
	$(call new-env,$(PYTHON),.venv-docs)
	.venv-docs/bin/python -m pip install --quiet --group docs
	@touch $@
.venv-docs/.built: .venv-docs/.tools $(CORE)
	$(call install,.venv-docs,docs-core,-e ".[dask]" "pandas>=2.2")
	@touch $@

.PHONY: docs-check
docs-check: docs  ## Check the site in Chromium, narrow and wide, light and dark (needs npm)
	npm install --silent --no-save --prefix build/docs/npm axe-core@4
	.venv-docs/bin/python docs/tools/check_site.py build/docs/html build/docs/npm build/docs/shots

.PHONY: tutorials
tutorials: .venv-tutorials/.tools  ## Apply the tutorials' changes to a copy, build it and test it
	rm -rf build/tutorials/copy && mkdir -p build/tutorials/copy
	.venv-tutorials/bin/python docs/extend/build.py build/tutorials/copy
	$(call install,.venv-tutorials,tutorials/core,./build/tutorials/copy)
	for script in docs/extend/*_test.py; do .venv-tutorials/bin/python "$$script"; done

.venv-tutorials/.tools: pyproject.toml
	$(call new-env,$(PYTHON),.venv-tutorials)
	@touch $@

# The sanitizer's runtime must be in the process before Python starts. It needs memory of its own,
# so the test that measures memory is left out.
SANITIZE_TESTS ?= tests/unit/sampling tests/unit/posterior/test_posterior.py \
  tests/unit/explain/test_trees.py \
  tests/core/test_predict.py --deselect tests/core/test_predict.py::test_a_million_rows_stream \
  tests/exact/test_invariants.py::test_same_bits_for_any_number_of_threads \
  tests/exact/test_invariants.py::test_columnar_round_trip
ASAN := address,undefined
preload = $(shell $${CXX:-c++} -print-file-name=lib$(1).so)
asan-env = LD_PRELOAD="$(call preload,asan) $(call preload,ubsan) $(call preload,stdc++)" \
  ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1
# Every scenario of the core without Python, with each set of kernels that this machine can run.
define drive
	for simd in baseline avx2 avx512; do \
	  export OBLIQUEBART_SIMD=$$simd; \
	  $(1) about || continue; \
	  for name in $$($(1) list | sed 's/.*: "\(.*\)".*/\1/'); do \
	    $(1) sweeps $$name 2500 3 30 >/dev/null; done; \
	  $(1) sweeps threads 33000 3 5 >/dev/null; \
	  $(1) threads; done
endef
.PHONY: sanitize
sanitize: .venv-asan/.built .venv-tsan/.built  ## Run tests with the sanitizers
	$(call drive,build/asan/obart_driver)
	$(call drive,build/tsan/obart_driver)
	$(asan-env) .venv-asan/bin/python -m pytest --timeout=0 $(SANITIZE_TESTS)
	LD_PRELOAD="$(call preload,tsan) $(call preload,stdc++)" \
	  .venv-tsan/bin/python -m pytest --timeout=0 $(SANITIZE_TESTS)

FUZZ_SECONDS ?= 120
.PHONY: fuzz
fuzz: .venv-asan/.built  ## Load mutated model files with the address sanitizer for two minutes
	$(asan-env) .venv-asan/bin/python tests/files/fuzz/model_file.py --seconds $(FUZZ_SECONDS)

.venv-asan/.tools .venv-tsan/.tools: pyproject.toml
	$(call new-env,$(PYTHON),$(@D))
	@touch $@
.venv-asan/.built: .venv-asan/.tools $(SOURCES)
	$(call install,.venv-asan,asan,".[test]",-C cmake.define.OBLIQUEBART_SANITIZE=$(ASAN))
	@touch $@
.venv-tsan/.built: .venv-tsan/.tools $(SOURCES)
	$(call install,.venv-tsan,tsan,".[test]",-C cmake.define.OBLIQUEBART_SANITIZE=thread)
	@touch $@

##@ House
.PHONY: clean
clean:  ## Remove all environments, builds and caches
	rm -rf .venv .venv-* .venvs build dist src/obliquebart/_core.pyi
	rm -rf docs/gallery .pytest_cache .mypy_cache .ruff_cache
	find src tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
