# `make serve` and `make test` do all the set-up themselves, in a fresh clone and in an old one.
PYTHON ?= python3
HOST ?= 127.0.0.1
PORT ?= 8000
DATA ?= data
WORKERS ?= 1

VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv pip
AUDIT := .venv-audit
RUN_READY := $(VENV)/.run-ready
DEV_READY := $(VENV)/.dev-ready
TWO_PROCESSES := --numprocesses 2 --dist worksteal
# The headless shell of Debian draws the same pages with two thirds of the processor time; any Chromium will do.
NEED_CHROMIUM := command -v chromium >/dev/null || scripts/need chromium-headless-shell chromium-headless-shell \
	|| scripts/need chromium chromium

# Containers often set it. Then each of the many processes of the tests would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help install serve quick test nightly lint bench messages permission-matrix screenshots release lock clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

install: $(RUN_READY)  ## create .venv with the locked dependencies

serve: $(RUN_READY)  ## set up, then serve with demo data on http://127.0.0.1:8000
	@exec $(BIN)/fieldgate serve --host $(HOST) --port $(PORT) --data $(DATA) --workers $(WORKERS) --demo

quick: $(DEV_READY)  ## lint and unit tests on SQLite, under two minutes: for every edit
	@$(MAKE) --no-print-directory lint
	@$(BIN)/pytest --quick -q --numprocesses 2

test: $(DEV_READY)  ## lint, unit, conformance, both databases, browser: about twelve minutes
	@$(NEED_CHROMIUM)
	@scripts/need curl curl
	@scripts/need sqlite3 sqlite3
	@scripts/install-npm $(VENV)
	@echo "== lint"
	@$(MAKE) --no-print-directory lint
	@echo "== tests (both databases, conformance, browser)"
	@$(BIN)/pytest $(TWO_PROCESSES)

nightly: $(DEV_READY)  ## what takes longer: faults, deployment, fuzzing, all languages, many examples (TESTS=tests/faults)
	@$(NEED_CHROMIUM)
	@scripts/need debootstrap debootstrap
	@scripts/need systemd-analyze systemd
	@scripts/need promtool prometheus
	@PATH="$$PATH:/usr/sbin" scripts/need nginx nginx
	@PATH="$$PATH:/usr/sbin" scripts/need pgbouncer pgbouncer
	@scripts/need caddy caddy
	@scripts/need wrk wrk
	@scripts/install-npm $(VENV)
	@scripts/install-locked $(VENV) --require-hashes -r requirements/fuzz.txt
	@status=0; \
	FAULT_REPORT=faults.md $(BIN)/pytest -m nightly $(TWO_PROCESSES) $(or $(TESTS),tests) || status=1; \
	$(BIN)/pytest -m 'hypothesis and not nightly' --hypothesis-profile nightly $(TWO_PROCESSES) $(or $(TESTS),tests) \
		|| test $$? -eq 5 || status=1; \
	$(BIN)/python -m tests.fuzz.coverage_guided --seconds 30 || status=1; \
	exit $$status

lint: $(DEV_READY)  ## ruff, mypy --strict, import-linter, unique class names
	@$(BIN)/ruff format --check --quiet . || { echo "run: $(BIN)/ruff format ."; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@$(BIN)/mypy --package fieldgate_client --python-version 3.10
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python scripts/check-class-names

bench: $(DEV_READY)  ## benchmark Fieldgate next to a peer and a bare server (BENCH="--only events --rounds 3")
	@$(BIN)/python -m benchmarks $(BENCH)

screenshots: $(DEV_READY)  ## screenshots of every page into the folder screenshots/ (ONLY=events,form; DOCS=yes for docs/images)
	@$(NEED_CHROMIUM)
	@$(BIN)/python -m tests.browser.screenshots screenshots $(if $(ONLY),--only $(ONLY)) $(if $(DOCS),--docs)

messages: $(DEV_READY)  ## collect the messages of the code into fieldgate/i18n/locale
	@$(BIN)/python scripts/collect-messages

permission-matrix: $(DEV_READY)  ## write docs/permission-matrix.md and the endpoints of docs/guide.md from what the service does
	@$(BIN)/python -W ignore -m tests.access.matrix
	@$(BIN)/python -m tests.endpoint_table

release: $(DEV_READY) $(AUDIT)/.ready  ## lint, look for advisories, build reproducible packages and a bill of materials into dist/, test them
	@$(MAKE) --no-print-directory lint
	@$(BIN)/python scripts/audit $(AUDIT)/bin/pip-audit requirements/run.txt requirements/build.txt requirements/dev.txt || test $$? -eq 3
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
		requirements/audit.in -o requirements/audit.txt
	$(UV) compile --quiet --universal --generate-hashes --no-emit-index-url --no-header \
		requirements/fuzz.in -o requirements/fuzz.txt

clean:  ## remove everything that was built (not the data)
	rm -rf $(VENV) faults.md $(AUDIT) dist benchmarks/.venv-peer .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage .coverage.*

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

$(AUDIT)/.ready: requirements/audit.txt | $(BIN)/uv
	@echo "== locked dependencies of the audit in $(AUDIT)"
	@scripts/make-venv $(PYTHON) $(AUDIT)
	@UV_SYSTEM_CERTS=true $(UV) install --quiet --python $(AUDIT)/bin/python --require-hashes -r requirements/audit.txt
	@touch $@
