# The front door. Each target installs what it lacks (tools/setup.sh), builds what is stale, and can be run again at any time.
SHELL := bash
JOBS ?= $(shell nproc)
PYTHON := build/venv/bin/python

.PHONY: all demo test bench bench-losses bench-gp bench-python lint format docs fuzz fuzz-long sanitize clean setup-build setup-test setup-lint
all: build/release/mercer

setup-build:
	@tools/setup.sh build
setup-test:
	@tools/setup.sh test
setup-lint:
	@tools/setup.sh lint

build/release/build.ninja: CMakeLists.txt CMakePresets.json cmake/*.cmake | setup-build
	cmake --preset release

build/release/mercer: setup-build build/release/build.ninja FORCE
	@cmake --build build/release -j $(JOBS) --target mercer_program
FORCE:

demo: build/release/mercer            ## fit a curl-free field on built-in data, show numbers and a picture
	@build/release/mercer demo -o build/demo

test: setup-test                      ## build everything, run every test: C++, command line, fuzzers for a short while
	cmake --preset release -DMERCER_BENCH=ON -DMERCER_PYTHON=ON -DPython_EXECUTABLE=$(CURDIR)/$(PYTHON) >/dev/null
	cmake --build build/release -j $(JOBS)
	ctest --preset release --output-on-failure -E '^cli$$' -j $(JOBS)
	ctest --preset release --output-on-failure -R '^cli$$'
	$(PYTHON) -m mypy
	$(PYTHON) -m pytest tests/python
	@$(MAKE) --no-print-directory fuzz
	$(PYTHON) tools/check_docs.py

fuzz: setup-test                      ## every fuzzer for a few seconds
	@FUZZ_RUNS=20000 FUZZ_RUNS_SLOW=2000 tools/fuzz.sh
fuzz-long: setup-test                 ## every fuzzer for 10^6 inputs
	@FUZZ_RUNS=1000000 FUZZ_SECONDS=0 tools/fuzz.sh

sanitize: setup-test                  ## the C++ tests under address, undefined-behaviour and thread sanitizers
	cmake --preset asan && cmake --build build/asan -j $(JOBS) && ctest --preset asan -E '^(cli|consumer)$$'
	cmake --preset tsan && cmake --build build/tsan -j $(JOBS) && ctest --preset tsan -E '^(cli|consumer)$$'

bench: setup-test build/release/mercer  ## the speed table, against scikit-learn and the machine's own peak; writes docs/bench.md
	cmake --preset release >/dev/null && cmake --build build/release -j $(JOBS)
	$(PYTHON) bench/peers.py --output docs/bench.md

bench-losses: setup-test build/release/mercer  ## sketches and losses beside numpy and scikit-learn; writes docs/bench-losses.md
	cmake --preset release >/dev/null && cmake --build build/release -j $(JOBS)
	$(PYTHON) bench/losses.py

bench-gp: setup-test build/release/mercer  ## Gaussian processes beside torch, and on long series; writes docs/bench-gp.md
	cmake --preset release >/dev/null && cmake --build build/release -j $(JOBS)
	test -x build/venv-gp/bin/python || (python3 -m venv build/venv-gp && build/venv-gp/bin/pip install -q numpy torch gpytorch scikit-learn)
	build/venv-gp/bin/python bench/gp_exact.py > build/gp_exact.json
	build/venv-gp/bin/python bench/gp_sparse.py --exact build/gp_exact.json --output docs/bench-gp.md

bench-python: setup-test build/release/mercer  ## estimators beside scikit-learn's and gpytorch's, with default settings; writes docs/bench-python.md
	cmake --preset release -DMERCER_PYTHON=ON -DPython_EXECUTABLE=$(CURDIR)/$(PYTHON) >/dev/null && cmake --build build/release -j $(JOBS)
	$(firstword $(wildcard build/venv-gp/bin/python) $(PYTHON)) bench/python_peers.py  # gpytorch is where make bench-gp has put it

lint: setup-lint                      ## formatting, layers, clang-tidy
	@clang-format --version
	clang-format --dry-run --Werror $$(git ls-files '*.cpp' '*.hpp')
	python3 tools/check_layers.py
	cmake --preset release >/dev/null
	@git ls-files 'src/*.cpp' 'cli/*.cpp' | xargs -P $(JOBS) -n 4 clang-tidy --quiet -p build/release

format: setup-lint                    ## rewrite sources in the project's format
	clang-format -i $$(git ls-files '*.cpp' '*.hpp')

build/venv-docs/.installed: tools/requirements-docs.txt | setup-test
	$(PYTHON) -m venv build/venv-docs
	build/venv-docs/bin/pip install -q --disable-pip-version-check -r tools/requirements-docs.txt
	@touch $@

docs: build/release/mercer build/venv-docs/.installed  ## docs/cli.md from the option table, and the site in build/site from docs/, docstrings and examples/python
	build/release/mercer help --markdown > docs/cli.md
	cmake --preset release -DMERCER_PYTHON=ON -DPython_EXECUTABLE=$(CURDIR)/$(PYTHON) >/dev/null
	cmake --build build/release -j $(JOBS) --target mercer_python mercer_stub
	@mkdir -p build/docs-source && find build/docs-source -mindepth 1 -maxdepth 1 ! -name gallery -exec rm -rf {} +
	@cp -r docs/. build/docs-source
	build/venv-docs/bin/python -m sphinx -q -W --keep-going -c docs/site -d build/docs-cache build/docs-source build/site
	@echo "site: build/site/index.html"

clean:                                ## remove builds (keeps the Python environment)
	rm -rf build/release build/debug build/asan build/tsan build/fuzz build/demo build/docs-source build/docs-cache build/site
