# The two commands are `make run` and `make test`; each does all its own set-up.
SHELL := /bin/sh
VENV ?= .venv
# The first Python that is new enough; `make run PYTHON=python3.12` takes another.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo "$$p"; break; }; done)
BIN := $(VENV)/bin
# Which tests `make test` runs, by their markers.
MARKS ?= not rare
# The locks name every package, so pip need not resolve anything: an old one takes a newer pydantic for its extras.
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --require-hashes --no-deps
# The locks hold no address of a package index: pip's own configuration says where packages come from.
LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" pyproject.toml
# What everything in a checkout can need: the app, the command line, the MCP server and the agent.
EXTRAS := --extra agent --extra bot --extra cli --extra duckduckgo --extra mcp

.PHONY: help run test lowest beside rare check format coverage chaos chaos-short mutants bench sbom release extras vulnerabilities licences lock features without translations manifest bundle clean

help:  ## what each command does
	@sed -n 's/^\([a-z][a-z-]*\):.*  ## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

run: $(VENV)/local.stamp  ## serve on PORT (3000): a local page, or Slack when its tokens are set
	@exec $(BIN)/python -m bot run

# Most of the suite's time is waiting. Each worker has a Postgres of its own.
test: $(VENV)/dev.stamp  ## the whole suite, with a real Postgres and, where there is one, a real browser
	$(BIN)/python -m pytest --numprocesses=auto --maxprocesses=8 --dist=worksteal -m "$(MARKS)" $(ARGS)

# What the library needs by itself, in the oldest versions that pyproject.toml allows, which what its tests need may not raise: so no
# test of the agent and the MCP server, whose extras need newer ones. What asks the most of these packages is enough.
LOWEST := tests/perplexity/test_client.py tests/perplexity/test_transport.py tests/perplexity/test_markdown.py \
	tests/perplexity/test_urls.py tests/perplexity/wire tests/perplexity/tools/test_arguments.py tests/perplexity/tools/test_tools.py
lowest: $(VENV)/dev.stamp  ## the library's tests with the oldest packages that it allows
	$(BIN)/uv venv --quiet --clear $(VENV)-lowest
	$(BIN)/uv pip install --quiet --python $(VENV)-lowest --resolution lowest-direct --requirements pyproject.toml
	$(BIN)/uv pip freeze --quiet --python $(VENV)-lowest > $(VENV)-lowest/oldest.txt
	$(BIN)/uv pip install --quiet --python $(VENV)-lowest --constraints $(VENV)-lowest/oldest.txt --requirements pyproject.toml \
		--extra bot --extra cli --extra local aioresponses-ng hypothesis linkify-it-py pytest pytest-asyncio pyyaml selenium
	$(VENV)-lowest/bin/python -m pytest -q $(LOWEST) $(ARGS)

beside: $(VENV)/dev.stamp  ## the examples of docs/tools.md beside each library that the tests do without; writes what it tried
	$(BIN)/python -m tests.beside $(ARGS)

rare: $(VENV)/dev.stamp  ## what `make test` leaves out: real processes that die in rare ways, long measurements, more cases of slow tests
	$(BIN)/python -m pytest --numprocesses=auto --maxprocesses=8 --dist=worksteal -m rare $(ARGS)
	$(BIN)/python -m pytest --numprocesses=auto --maxprocesses=8 --dist=worksteal -m hypothesis --hypothesis-profile=many $(ARGS)

check: $(VENV)/dev.stamp  ## style, types, the direction of imports, the files for containers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tests.house --check
	$(BIN)/python -m tests.house.translations --check
	$(BIN)/hadolint Dockerfile
	$(BIN)/check-jsonschema --builtin-schema vendor.compose-spec compose.yaml

format: $(VENV)/dev.stamp  ## apply the style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

coverage: $(VENV)/dev.stamp  ## branch coverage; fails below 95 % of perplexity/ or 90 % of bot/ and fake_slack/
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -q $(ARGS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --include='perplexity/*' --fail-under=95
	$(BIN)/coverage report --include='bot/*,fake_slack/*' --fail-under=90

chaos: $(VENV)/dev.stamp  ## break real processes under load and count; ARGS="--list" names the faults
	$(BIN)/python -m tests.chaos $(ARGS)

chaos-short: $(VENV)/dev.stamp  ## the hardest of it, in a few minutes
	$(BIN)/python -m tests.chaos --short $(ARGS)

mutants: $(VENV)/dev.stamp  ## disable each rule of the gate, and show which test notices; ARGS="--only punycode" takes some
	$(BIN)/python -m tests.mutants $(ARGS)

bench: $(VENV)/dev.stamp  ## speed, mostly as ratios; ARGS="--check" fails below a bar, "--only client" measures one part
	$(BIN)/python -m tests.benchmarks $(ARGS)

# The generator takes no version that is worked out, and names its own library, which is pinned so that the same lock makes the same file.
sbom: $(VENV)/dev.stamp  ## a CycloneDX bill of materials of what the app installs, in .artifacts/sbom.json
	@mkdir -p .artifacts
	@sed "s/^dynamic = .*/version = \"$$($(BIN)/hatchling version)\"/" pyproject.toml > .artifacts/pyproject.toml
	$(BIN)/uv tool run --from cyclonedx-bom==7.5.0 --with cyclonedx-python-lib==11.12.0 cyclonedx-py requirements requirements.txt \
		--pyproject .artifacts/pyproject.toml --output-reproducible --output-file .artifacts/sbom.json

release: $(VENV)/dev.stamp  ## wheel, sdist, bill of materials and checksums in dist/, built twice from HEAD and compared; needs the network
	@$(BIN)/python -m tests.packaging.release

PYTHONS ?= 3.11 3.13
extras: $(VENV)/dev.stamp  ## install the wheel in dist/ afresh, alone and with each extra, and use it, on PYTHONS; needs the network
	@$(BIN)/python -m tests.packaging.extras $(PYTHONS)

# It asks a service, so it is no part of `make check`: without a network it says so, and fails nothing.
vulnerabilities: $(VENV)/dev.stamp  ## known vulnerabilities of what the app installs; needs the network
	@if $(BIN)/python -c 'import socket; socket.create_connection(("api.osv.dev", 443), 5)' 2>/dev/null; then \
		$(BIN)/uv tool run pip-audit==2.10.1 --requirement requirements.txt --require-hashes --disable-pip \
			--vulnerability-service osv; \
	else echo "The database of vulnerabilities (api.osv.dev) cannot be reached: nothing was checked."; fi

licences: $(VENV)/dev.stamp  ## docs/licences.md, after a change of the locks
	$(BIN)/python -m tests.packaging.licences > docs/licences.md

lock: $(VENV)/dev.stamp  ## after a change of pyproject.toml; UPGRADE=--upgrade takes newer versions
	$(LOCK) $(UPGRADE) $(EXTRAS) --extra local --extra dev -o requirements-dev.txt
	$(LOCK) $(EXTRAS) --extra local -c requirements-dev.txt -o requirements-local.txt
	$(LOCK) $(EXTRAS) -c requirements-dev.txt -o requirements.txt

features: $(VENV)/dev.stamp  ## the names of the features, one a line
	@$(BIN)/python -c 'from bot.features import FEATURES; print(*(one.name for one in FEATURES), sep="\n")'

without: $(VENV)/dev.stamp  ## a copy of this project without a feature: FEATURE=<name> INTO=<folder>
	@$(BIN)/python -m tests.house.without "$(FEATURE)" "$(INTO)"

translations: $(VENV)/dev.stamp  ## after a change of a text: the catalogues in bot/locale get it, to be translated
	$(BIN)/python -m tests.house.translations

manifest: $(VENV)/dev.stamp  ## after a change of a command or a scope; whatever the environment says
	$(BIN)/python -c 'from bot.features import OFFERS; from bot.manifest import as_yaml; print(as_yaml(OFFERS), end="")' > manifest.yml

bundle:  ## the playground's renderer; needs Node, running the app does not
	cd bot/playground/build && npm ci --no-audit --no-fund && npm run build

clean:  ## remove the environment and the local data
	rm -rf $(VENV) .data .artifacts dist

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed and none was found; set PYTHON=/path/to/python3" >&2; exit 1; }
	@echo "Setting up $(VENV) with $$($(PYTHON) --version) (once)"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/local.stamp: requirements-local.txt | $(BIN)/python
	@$(PIP) -r requirements-local.txt
	@touch $@

$(VENV)/dev.stamp: requirements-dev.txt | $(BIN)/python
	@$(PIP) -r requirements-dev.txt
	@touch $@ $(VENV)/local.stamp
