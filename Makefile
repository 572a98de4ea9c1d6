# `make serve` and `make test` do all the set-up themselves, in a fresh clone and in an old one.
PYTHON ?= python3
HOST ?= 127.0.0.1
PORT ?= 8000
DATA ?= data
WORKERS ?= 1

VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv pip
MUTANTS := .venv-mutants
AUDIT := .venv-audit
RUN_READY := $(VENV)/.run-ready
DEV_READY := $(VENV)/.dev-ready
TWO_PROCESSES := --numprocesses 2 --dist loadfile --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help install serve quick test coverage lint bench bench-full fuzz fuzz-parsers properties torture \
	mutants messages client-faults accessibility deployment screenshots permission-matrix sbom audit release lock \
	clean faults soak scaling

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

install: $(RUN_READY)  ## create .venv with the locked dependencies

serve: $(RUN_READY)  ## set up, then serve with demo data on http://127.0.0.1:8000
	@exec $(BIN)/fieldgate serve --host $(HOST) --port $(PORT) --data $(DATA) --workers $(WORKERS) --demo

quick: $(DEV_READY)  ## lint and unit tests on SQLite, under two minutes: for every edit
	@$(MAKE) --no-print-directory lint
	@$(BIN)/pytest --quick -q --numprocesses 2

test: $(DEV_READY)  ## everything: lint, unit, conformance, both databases, browser
	@scripts/need chromium chromium
	@scripts/need curl curl
	@scripts/need sqlite3 sqlite3
	@PATH="$$PATH:/usr/sbin" scripts/need nginx nginx
	@PATH="$$PATH:/usr/sbin" scripts/need pgbouncer pgbouncer
	@scripts/install-npm $(VENV)
	@echo "== lint"
	@$(MAKE) --no-print-directory lint
	@echo "== tests (both databases, conformance, browser)"
	@$(BIN)/pytest $(TWO_PROCESSES)

coverage: $(DEV_READY)  ## run the same tests with branch coverage
	@scripts/need chromium chromium
	@scripts/need curl curl
	@scripts/need sqlite3 sqlite3
	@PATH="$$PATH:/usr/sbin" scripts/need nginx nginx
	@PATH="$$PATH:/usr/sbin" scripts/need pgbouncer pgbouncer
	@scripts/install-npm $(VENV)
	@rm -f .coverage .coverage.*
	@$(BIN)/coverage run -m pytest $(TWO_PROCESSES)
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report

lint: $(DEV_READY)  ## ruff, mypy --strict, import-linter, unique class names
	@$(BIN)/ruff format --check --quiet . || { echo "run: $(BIN)/ruff format ."; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@$(BIN)/mypy --package fieldgate_client --python-version 3.10
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python scripts/check-class-names

bench: $(DEV_READY)  ## benchmark Fieldgate next to a peer and a bare server
	@scripts/need wrk wrk
	@$(BIN)/python -m benchmarks $(BENCH)
	@$(BIN)/python -m benchmarks.pages
	@$(BIN)/python -m benchmarks.sharing
	@$(BIN)/python -m benchmarks.imports
	@$(BIN)/python -m benchmarks.client

bench-full: bench  ## the same, plus a million events and growth plots
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && \
		$(BIN)/python -m benchmarks.million --data "$$folder" $(EVENTS) && \
		$(BIN)/python -m benchmarks.growth --data "$$folder" --most $(or $(EVENTS),1000000) && \
		$(BIN)/python -m benchmarks.client --data "$$folder" --many $(or $(EVENTS),1000000)

soak: $(DEV_READY)  ## well-behaved callers while an attacker runs: latencies, memory, descriptors (MINUTES=10)
	@$(BIN)/python -m benchmarks.soak --docs --minutes $(or $(MINUTES),10)

scaling: $(DEV_READY)  ## one and two processes over PostgreSQL: throughput, processor time, queries for a request
	@$(BIN)/python -m benchmarks.scaling --docs

fuzz: $(DEV_READY)  ## fuzz a running service from its OpenAPI document in three roles: an hour or more
	@FUZZ_EXAMPLES=$(or $(EXAMPLES),500) $(BIN)/pytest tests/test_fuzzing.py

fuzz-parsers: $(DEV_READY)  ## fuzz every parser, guided by coverage: a minute for each (SECONDS=)
	@scripts/install-locked $(VENV) --require-hashes -r requirements/fuzz.txt
	@$(BIN)/python -m tests.fuzz.coverage_guided --seconds $(or $(SECONDS),60) $(TARGETS)

properties: $(DEV_READY)  ## property tests with new random examples, for minutes
	@$(BIN)/pytest -m 'hypothesis and not nightly' --hypothesis-profile properties $(TWO_PROCESSES) $(PROPERTIES)

torture: $(DEV_READY)  ## hostile files, 10,000 mutations, kill -9 at every stage: about 5 minutes
	@MUTATIONS=$(or $(MUTATIONS),10000) KILL_POSTS=$(or $(KILL_POSTS),200) $(BIN)/pytest -m '' tests/imports/test_killing.py \
		tests/imports/test_hostile.py

faults: $(DEV_READY)  ## kill -9, failovers and attacks; writes the table of docs/reliability.md: about 40 minutes (KILLS=20)
	@PATH="$$PATH:/usr/sbin" scripts/need pgbouncer pgbouncer
	@results=$$(mktemp) && trap 'rm -f "$$results"' EXIT && \
		FAULT_REPORT="$$results" KILLS=$(or $(KILLS),20) $(BIN)/pytest -m '' \
			--deselect tests/faults/test_reliability_table.py tests/faults $(FAULTS) && \
		$(BIN)/python -W ignore -m tests.faults.reliability_table "$$results"

client-faults: $(DEV_READY)  ## the client through a proxy that damages traffic: 200 seeds, 100,000 events: about 10 minutes
	@$(BIN)/pytest -s -m nightly tests/client/faults

accessibility: $(DEV_READY)  ## axe and layout of every page in all languages, widths and colours: about 10 minutes
	@scripts/need chromium chromium
	@scripts/install-npm $(VENV)
	@$(BIN)/pytest -m nightly tests/browser

deployment: $(DEV_READY)  ## the Containerfile in a bare Debian, the service in it as in a container and as under systemd (root): about 4 minutes
	@scripts/need debootstrap debootstrap
	@scripts/need systemd-analyze systemd
	@scripts/need promtool prometheus
	@$(BIN)/pytest -m '' tests/deployment

screenshots: $(DEV_READY)  ## screenshots of every page into the folder screenshots/ (ONLY=events,form; DOCS=yes for docs/images)
	@scripts/need chromium chromium
	@$(BIN)/python -m tests.browser.screenshots screenshots $(if $(ONLY),--only $(ONLY)) $(if $(DOCS),--docs)

mutants: $(DEV_READY) $(MUTANTS)/.ready  ## mutation testing of the core: 300 changes, which tests must notice
	@$(BIN)/python scripts/mutants $(MUTANTS)/bin/cosmic-ray $(BIN)/python $(MUTATE)

messages: $(DEV_READY)  ## collect the messages of the code into fieldgate/i18n/locale
	@$(BIN)/python scripts/collect-messages

permission-matrix: $(DEV_READY)  ## write docs/permission-matrix.md from what the service does
	@$(BIN)/python -W ignore -m tests.access.matrix

sbom: $(DEV_READY)  ## a bill of materials (CycloneDX) of the locked versions, with licences and hashes, into dist/
	@$(BIN)/python scripts/make-sbom dist

audit: $(DEV_READY) $(AUDIT)/.ready  ## look for advisories about the locked versions; status 3 if none can be reached
	@$(BIN)/python scripts/audit $(AUDIT)/bin/pip-audit requirements/run.txt requirements/build.txt requirements/dev.txt

release: $(DEV_READY)  ## check, build reproducible wheels and sdists into dist/, test the wheels in bare environments
	@$(MAKE) --no-print-directory lint
	@scripts/release $(BIN)

lock: $(DEV_READY)  ## upgrade all versions and write requirements/*.txt with hashes
	$(UV) compile --quiet --universal --upgrade --generate-hashes --no-emit-index-url --no-header \
		--no-emit-package fieldgate-client pyproject.toml -o requirements/run.txt
	$(UV) compile --quiet --universal --generate-hashes --no-emit-index-url --no-header \
		--no-emit-package fieldgate-client pyproject.toml --group dev -c requirements/run.txt -o requirements/dev.txt
	$(UV) compile --quiet --universal --generate-hashes --no-emit-index-url --no-header \
		requirements/build.in -c requirements/dev.txt -o requirements/build.txt
	$(UV) compile --quiet --universal --generate-hashes --no-emit-index-url --no-header \
		requirements/uv.in -o requirements/uv.txt
	$(UV) compile --quiet --universal --generate-hashes --no-emit-index-url --no-header \
		requirements/peer.in -o requirements/peer.txt
	$(UV) compile --quiet --universal --generate-hashes --no-emit-index-url --no-header \
		requirements/mutants.in -o requirements/mutants.txt
	$(UV) compile --quiet --universal --generate-hashes --no-emit-index-url --no-header \
		requirements/audit.in -o requirements/audit.txt
	$(UV) compile --quiet --universal --generate-hashes --no-emit-index-url --no-header \
		requirements/fuzz.in -o requirements/fuzz.txt

clean:  ## remove everything that was built (not the data)
	rm -rf $(VENV) $(MUTANTS) $(AUDIT) dist benchmarks/.venv-peer .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage .coverage.*

$(BIN)/uv: requirements/uv.txt
	@echo "== virtual environment in $(VENV)"
	@scripts/make-venv $(PYTHON) $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt
	@touch $@

$(RUN_READY): requirements/run.txt pyproject.toml client/pyproject.toml | $(BIN)/uv
	@echo "== locked dependencies of the service"
	@scripts/install-locked $(VENV) --require-hashes -r requirements/run.txt
	@scripts/install-locked $(VENV) --no-deps --editable client --editable .
	@touch $@

$(DEV_READY): requirements/dev.txt $(RUN_READY)
	@echo "== locked dependencies of the tests"
	@scripts/install-locked $(VENV) --require-hashes -r requirements/dev.txt
	@touch $@

$(MUTANTS)/.ready: requirements/mutants.txt | $(BIN)/uv
	@echo "== locked dependencies of the mutation tests in $(MUTANTS)"
	@scripts/make-venv $(PYTHON) $(MUTANTS)
	@UV_SYSTEM_CERTS=true $(UV) install --quiet --python $(MUTANTS)/bin/python --require-hashes -r requirements/mutants.txt
	@touch $@

$(AUDIT)/.ready: requirements/audit.txt | $(BIN)/uv
	@echo "== locked dependencies of the audit in $(AUDIT)"
	@scripts/make-venv $(PYTHON) $(AUDIT)
	@UV_SYSTEM_CERTS=true $(UV) install --quiet --python $(AUDIT)/bin/python --require-hashes -r requirements/audit.txt
	@touch $@
