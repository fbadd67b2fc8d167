# Every target does its own set-up. PYTHON=python3.12 picks an interpreter.
PYTHON ?= python3
export PYTHON
BIN := .venv/bin

.PHONY: help setup demo test check bench image image-test lock clean
.DEFAULT_GOAL := help

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' Makefile

setup: ## make .venv, and install what is missing
	@scripts/setup

demo: setup ## show every tool at work
	@$(BIN)/python demo/run.py

test: setup ## run the tests
	@$(BIN)/python -m pytest -n 2

check: setup ## format, lint and types
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy

bench: setup ## run every benchmark
	@for bench in bench/bench_*.py bench/browser/bench_*.py; do \
		echo "$$bench"; $(BIN)/python -m "$$(echo "$${bench%.py}" | tr / .)" || exit; done

image: ## build the container images, guilds and guilds:code
	@image/build

image-test: setup ## build and test them in a container engine of its own (root, Debian)
	@image/test

lock: ## renew requirements/*.txt with the newest releases that pyproject.toml allows
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && \
	$(PYTHON) -m venv "$$folder" && "$$folder/bin/pip" install -q uv==0.13.9 && \
	lock() { "$$folder/bin/uv" pip compile -q --universal --python-version 3.11 --generate-hashes --upgrade \
		--custom-compile-command "make lock" "$$@"; } && \
	lock --all-extras pyproject.toml -o requirements/dev.txt && \
	lock --extra code pyproject.toml -o requirements/code.txt && \
	lock --extra code --extra browser pyproject.toml -o requirements/sandbox.txt && \
	sed -n 's/^requires = \["\(.*\)"\]/\1/p' pyproject.toml | lock - -o requirements/build.txt

clean: ## remove what the other targets made
	@rm -rf .venv build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	@find . -name __pycache__ -prune -exec rm -rf {} +
