# `make repro` builds the sample benchmark, `make leaderboard` evaluates it, `make photos` makes the annotation tasks of the photographs, `make test` runs the tests, `make check` runs all checks that need no run
# (style, types, imports, doctests, documents), `make docs` builds the documentation site. Each sets up the environment if needed.
PYTHON ?= python3.11
VENV   ?= .venv
BIN     = $(VENV)/bin
UV      = 0.13.8
PORT   ?= 8080
PHOTOS ?= build/photos
IN_VENV = PATH="$(CURDIR)/$(BIN):$$PATH"
CODE    = pipeline annotation research

.PHONY: setup repro leaderboard photos test check docs endurance mutants annotate lock
setup: $(VENV)/.ready

# uv installs the pinned set several times faster than pip; the environment itself is a plain venv.
$(VENV)/.ready: requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV)
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python -r requirements.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
	touch $@

repro: setup
	$(IN_VENV) $(BIN)/dvc repro

# Reference models answer the questions of the release, all predictions are scored, and the paper's rules are compared with ours.
leaderboard: setup
	$(IN_VENV) $(BIN)/dvc repro research/dvc.yaml

# The annotation tasks of the embedded photographs (data/photos), in a folder of their own, so that the sample and dvc.lock stay as they are.
# What is there already is kept: a later call continues. To start from scratch, delete the folder.
photos: setup $(PHOTOS)/params.yaml
	cd $(PHOTOS) && PATH="$(abspath $(BIN)):$$PATH" $(abspath $(BIN))/dvc repro batch

$(PHOTOS)/params.yaml:
	mkdir -p $(PHOTOS)/data
	for name in pipeline annotation research dvc.yaml .dvcignore; do ln -sfn "$(CURDIR)/$$name" $(PHOTOS)/$$name; done
	cp -R data/photos data/README.md $(PHOTOS)/data/
	cd $(PHOTOS) && { test -d .dvc || $(abspath $(BIN))/dvc init --quiet --no-scm; }
	sed 's/^dataset: .*/dataset: photos/' params.yaml > $@

test: setup
	$(IN_VENV) $(BIN)/python -m pytest -n auto --dist loadfile

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright --pythonpath $(BIN)/python
	$(BIN)/python -m pytest --doctest-modules $(CODE) --ignore annotation/server/label_studio_app
	$(BIN)/lint-imports
	$(BIN)/python -m docs.generate --check
	$(BIN)/python -m pytest tests/test_documents.py tests/test_contract.py

# The documentation site, in build/site. A broken link is an error.
docs: setup
	$(BIN)/python -m docs.generate --check
	$(BIN)/mkdocs build --quiet

# 20,000 damaged inputs through the readers (minutes); dvc repro killed at 60 moments over all stages (one to two hours), and at 20 under Ray.
# If it is stopped, the next call resumes it. To start from scratch: rm -r build/mutations.json build/kills
endurance: setup
	$(IN_VENV) $(BIN)/python -m pytest -m endurance tests --ignore tests/test_mutants.py
	$(IN_VENV) $(BIN)/python -m pytest --hypothesis-profile search tests/test_any_text.py
	$(IN_VENV) $(BIN)/python -m tests.mutations
	$(IN_VENV) $(BIN)/python -m tests.kills
	$(IN_VENV) $(BIN)/python -m tests.actor_kills

# 500 faults planted in the code, one at a time. Faults that no test finds are listed. If it is stopped, the next call resumes it.
mutants: setup
	$(IN_VENV) $(BIN)/python -m pytest -m endurance tests/test_mutants.py
	$(IN_VENV) $(BIN)/python -m tests.mutants

# A Label Studio for the human annotation study; see docs/guides/human_annotation.md.
annotate: setup
	$(IN_VENV) $(BIN)/rgqa annotate serve --port $(PORT)

# Pin again what pyproject.toml allows, for all Pythons from 3.11.0 on. Index addresses stay out of the files.
lock: OPTIONS = --quiet --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock"
lock:
	$(BIN)/uv pip compile $(OPTIONS) --universal --python-version 3.11.0 --extra build --extra dev --extra hf pyproject.toml -o requirements.lock
	$(BIN)/uv pip compile $(OPTIONS) --python-version 3.11.0 annotation/server/requirements.in -o annotation/server/requirements.lock
