# One-word commands. Everything happens in .venv, made on first use; the work is done by tools/*.py.
# Only relative paths and `python -m`: both survive a folder whose name has spaces.

# An explicit interpreter: make test PYTHON=python3.12
PYTHON ?=
# Some steps of the tests only: make test STEPS="lint unit"
STEPS ?=
PORT ?= 8000
# Jupyter refuses to run as root unless it is told that this is meant, as in a container it is.
AS_ROOT := $(if $(filter 0,$(shell id -u)),--allow-root)

PY := .venv/bin/python

.DEFAULT_GOAL := help
.PHONY: help book test test-long lab refresh serve clean env

help: ## list the commands
	@echo "make book      execute the notebooks, build the book, print the page to open"
	@echo "make test      lint, unit tests, the wheel, notebooks, experiments, book, browser"
	@echo "make test-long all deliberate errors, 20 kills of each kind; make test tries some"
	@echo "make lab       open the notebooks in JupyterLab"
	@echo "make refresh   re-execute the notebooks and store their outputs and the scoreboard"
	@echo "make serve     show the built book on http://localhost:$(PORT)"
	@echo "make clean     delete _build (the environment .venv stays)"
	@echo "Options: PYTHON=python3.12   STEPS=\"lint unit\"   PORT=8000   MI_DATA=folder   MI_STRICT=1"

book: env ## execute in a staging copy and build the HTML
	@$(PY) -m tools.book

test: env ## everything CI checks
	@$(PY) -m tools.check $(STEPS)

test-long: env ## what `make test` has a sample of
	@$(PY) -m tools.check all-mutations long

lab: env ## notebooks in the same environment
	@$(PY) -m jupyterlab book $(AS_ROOT)

refresh: env ## re-execute and re-store
	@$(PY) -m tools.refresh

serve: env ## the built book over HTTP
	@test -f _build/html/index.html || { echo "There is no built book yet: run 'make book' first."; exit 1; }
	@$(PY) -m http.server $(PORT) --bind 127.0.0.1 --directory _build/html

clean: ## everything the commands made, but not .venv
	rm -rf _build .pytest_cache .ruff_cache .hypothesis

env:
	@PYTHON="$(PYTHON)" sh tools/environment.sh
