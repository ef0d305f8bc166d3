# The two commands that matter are `make demo` and `make test`; both need nothing but Python 3.11 or newer.
#
# PYTHON=/path/to/python3 chooses the Python for the virtual environment (default: the first that is new enough).

BIN := .venv/bin
export PYTHON
# Compiled modules are kept: without them every process that a test starts compiles longshore anew, for a second or two.
unexport PYTHONDONTWRITEBYTECODE
# Seconds that one test may take with all that it sets up: three times the longest. One that hangs fails, by name.
export PYTEST_TIMEOUT := 600

.PHONY: help demo docs pictures quick test test-failed test-hostile test-long-way test-simulation fresh-seeds test-examples test-deploy test-outside test-storm test-ui test-walls lint format kubectl man clean

help:
	@echo 'make demo      see longshore at work: an Indexed Job of sixty processes'
	@echo 'make quick     lint, types of what changed, and the tests that start no process: a minute'
	@echo 'make test      every check: format, lint, types, layers, tests'
	@echo 'make test-failed  the tests that failed in the last make test once more, alone'
	@echo 'make test-hostile  every list of every kind with 10,000 entries: two minutes'
	@echo 'make test-long-way  some of the tests again, with all shortcuts turned off'
	@echo 'make test-simulation  seeds of the simulation, the recorded kits with faults, and planted faults'
	@echo 'make fresh-seeds  a minute of seeds that nobody has played before'
	@echo 'make test-examples  the examples of tests with Airflow and Prefect, which are too heavy for make test'
	@echo 'make test-deploy  the Helm chart with a real helm, and the image where podman can build it'
	@echo 'make test-outside  controllers outside: leaders that are stopped and continued, shards and webhooks with the printed rights, recorded kits through a bad proxy'
	@echo 'make test-storm  a hundred kill -9 of longshore and its keeper while Jobs run behind walls'
	@echo 'make test-ui   the dashboard in a real Chromium (tools/install-chromium)'
	@echo 'make test-walls  the tests of the keeper again, with walls of level full around every container'
	@echo 'make lint      the same without the tests'
	@echo 'make format    put the code into shape'
	@echo 'make docs      build the handbook into build/docs; warnings, dead links and unrun blocks are errors'
	@echo 'make pictures  record the pictures of the docs anew, from real sessions'
	@echo 'make kubectl   fetch a kubectl into .tools'
	@echo 'make man       write the manual pages into build/man'
	@echo 'make clean     remove what the others made'

demo:
	@tools/venv
	@$(BIN)/longshore run --throw-away examples/demo-job.yaml

# Three workers for two cores: tests also wait, for processes, back-offs and Leases. kubectl is that of the recordings:
# with another one 147 tests are skipped.
test: lint
	@tools/install-kubectl .tools >/dev/null || echo 'kubectl cannot be fetched: tests of its recorded output are skipped' >&2
	$(BIN)/pytest -n 3 --dist loadgroup -q --junitxml build/tests.xml

# The tests that failed in the last `make test`, alone: a failure of the machine passes now, a fault does not. After the
# name of a test in a group stands @ and the group.
test-failed:
	@failed=$$(sed -n 's/^  "\(.*\)": true,\?$$/\1/; s/@[^]@]*$$//; T; p' .pytest_cache/v/cache/lastfailed) && \
	  [ "$$(echo "$$failed" | wc -l)" -le 3 ] || { echo 'more than three tests failed: that is not one lost race' >&2; exit 1; }; \
	echo "$$failed" | xargs -d '\n' $(BIN)/pytest -q -rA

# mypy keeps what it knows, and looks at what changed. tests/support/quick_tests.py says which tests these are.
quick:
	@tools/venv dev
	$(BIN)/ruff check --quiet
	$(BIN)/ruff format --check --quiet
	$(BIN)/mypy
	$(BIN)/pytest -n 2 --dist loadgroup -q --quick

test-hostile:
	@tools/venv dev
	LONGSHORE_TEST_HOSTILE=1 $(BIN)/pytest -n 2 --dist loadgroup -q tests/hostile/loop

# The suites that shortcuts could make a difference to, once more without them (docs/decisions/shortcuts.md).
LONG_WAY := $(addprefix tests/apiserver/,kinds pod rest shortcuts volcano_admission volcano_kinds) \
	$(addprefix tests/controllers/,job job_proof volcano) tests/simulation/kits

test-long-way:
	@tools/venv dev
	LONGSHORE_SHORTCUTS=off $(BIN)/pytest -n 2 --dist loadgroup -q $(LONG_WAY)

# The simulation (tests/simulation): seeds that have always to pass, and planted faults that have to be found.
test-simulation:
	tools/seeds --count 150
	LONGSHORE_TEST_SIMULATION=1 $(BIN)/pytest -n 2 -q tests/simulation/kits/test_kits_on_bad_days.py
	@echo 'three faults are planted, drawn by $(SEED)'
	tools/seeds --from $(SEED) --some-plants 3

# Fresh seeds every day, for a minute. What they find is as likely an old bug as a new one.
SEED := $(shell date -u +%Y%m%d)00000

fresh-seeds:
	@echo 'the seed of the day is $(SEED)'
	tools/seeds --from $(SEED) --seconds 60

# Examples of tests with packages that are too heavy for `make test`, each with an environment of its own. Settings of
# our own tests do not count: other people's packages warn. Where the system allows it Airflow sees no processes but its
# own, since it ends a side container by killing every shell that it sees. (Prefect's did not end in such a namespace.)
test-examples:
	tools/install-examples
	apart=; ! unshare --pid --fork --mount-proc true 2>/dev/null || apart='unshare --pid --fork --mount-proc --kill-child'; \
	$$apart .venv-examples/airflow/bin/python -m pytest -c /dev/null --rootdir examples/testing/with_airflow \
	  -q -p no:cacheprovider examples/testing/with_airflow
	.venv-examples/prefect/bin/python -m pytest -c /dev/null --rootdir examples/testing/with_prefect \
	  -q -p no:cacheprovider examples/testing/with_prefect

# Kills of longshore, of its keeper and of both (tests/hostile/storm): nothing is run twice, lost or stuck.
KILLS := 100

test-storm:
	@tools/venv dev
	LONGSHORE_STORM=$(KILLS) LONGSHORE_KILLS=$(KILLS) $(BIN)/pytest -q -n 0 -s tests/hostile/storm tests/node/crash/test_kill_9_while_processes_run.py

# The dashboard: its JavaScript linted and type-checked, then used in a real browser. Not part of `make test`: it needs
# Chromium and npm.
test-ui:
	@tools/venv dev
	tools/lint-ui
	LONGSHORE_TEST_UI=1 $(BIN)/pytest -q -n 0 tests/ui

# The chart with a real helm (tools/install-helm), installed into a longshore; and the image.
test-deploy:
	@tools/venv dev
	tools/install-helm
	LONGSHORE_TEST_DEPLOY=1 $(BIN)/pytest -q -n 0 tests/deploy
	tools/build-image

# Controllers outside: stopped and continued, and with the printed rights alone. Leases take their time.
test-outside:
	@tools/venv dev
	LONGSHORE_TEST_OUTSIDE=1 $(BIN)/pytest -q -n 2 tests/up/outside/test_stopped_and_continued.py \
		tests/up/outside/test_under_rights.py tests/up/outside/test_kits_through_a_bad_proxy.py

# Outside /tmp, of which containers of level full have their own.
test-walls:
	@tools/venv dev
	LONGSHORE_TEST_ISOLATION=full $(BIN)/pytest -n 2 --dist loadgroup -q --basetemp /var/tmp/longshore-test-walls \
		tests/node/keeper

lint:
	@tools/venv dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check --quiet
	$(BIN)/mypy
	$(BIN)/mypy examples
	MYPYPATH=src:tools $(BIN)/mypy -p handbook
	$(BIN)/lint-imports --no-logo

format:
	@tools/venv dev
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

docs:
	@tools/venv dev
	$(BIN)/pytest -q -n 0 tests/docs/test_links.py tests/docs/test_unrun_blocks.py
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going -b html docs build/docs
	@echo 'read it: build/docs/index.html'

pictures:
	@tools/venv dev
	PYTHONPATH=tools $(BIN)/python -m handbook.pictures

kubectl:
	@tools/install-kubectl .tools

man:
	@tools/venv
	@$(BIN)/longshore man --to build/man/man1

clean:
	rm -rf .venv .venv-examples .tools build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
