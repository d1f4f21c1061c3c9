# Two commands: `make repro` builds the benchmark of the sample, `make test` runs the tests. Each sets up what it needs once.
PYTHON ?= python3.11
VENV   ?= .venv
BIN     = $(VENV)/bin
UV      = 0.13.8
PORT   ?= 8080

.PHONY: setup repro test annotate lock
setup: $(VENV)/.ready

# uv installs the pinned set several times faster than pip; the environment itself is a plain venv.
$(VENV)/.ready: requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV)
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python -r requirements.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
	touch $@

repro: setup
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/dvc repro

test: setup
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest

# A Label Studio of our own for the people's half; docs/annotation.md tells the rest.
annotate: setup
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/rgqa annotate serve --port $(PORT)

# Pins anew what pyproject.toml allows, for the first 3.11, which needs the most; index addresses stay out of the files.
lock:
	$(BIN)/uv pip compile --quiet --python-version 3.11.0 --extra dev pyproject.toml -o requirements.lock --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock"
	$(BIN)/uv pip compile --quiet --python-version 3.11.0 annotation/server/requirements.in -o annotation/server/requirements.lock --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock"
