# make demo   the whole workflow on embedded datasets       make test   lint and tests
# make lint   style, types, workflow                        make help   all targets
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.ONESHELL:
.DEFAULT_GOAL := help

PYTHON ?= python3
# One environment per content of the lock. `.venv` is a link that appears when its environment is complete, so an
# interrupted or failed installation never looks like a finished one.
ENVIRONMENT := .venvs/$(shell cat requirements.lock pyproject.toml | cksum | cut -d ' ' -f 1)
READY := $(ENVIRONMENT)/complete
BIN := $(CURDIR)/.venv/bin
# For many short jobs: each starts at once instead of importing pandas and PyTorch again.
WARM := python -m qrt.running.warm_command
WARM_SNAKEMAKE := $(WARM) python -m snakemake
# Both at a time, each with as many jobs as there are cores: no core waits for the last job of one. Half of the cores judge,
# because readings that are judged in one process share what they have in common. They write different files, each as a
# whole; the lock that Snakemake sets on a folder in use is that of the second.
SIDE_BY_SIDE := --cores all --set-threads verdicts=$$(( ($$(getconf _NPROCESSORS_ONLN) + 1) / 2 ))
BOTH_PROTOCOLS := export -f draw; $(WARM) bash -c \
	'draw released --nolock & released=$$!; draw paper && wait $$released || { wait; exit 1; }'
export PATH := $(BIN):$(PATH)
# Some images of containers set it, and then each of hundreds of short jobs compiles the package again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help environment demo figures replication publish freeze report status test test-package test-package-begin test-package-end test-workflow test-slurm test-skpro comparison lint bench format notebook docs lock clean

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 20

environment: $(READY) ## install everything into .venv (the other targets do it when needed)
	@ln -sfn $(ENVIRONMENT) .venv

$(READY): | requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
		echo "error: $(PYTHON) is $$($(PYTHON) -V 2>&1), but Python 3.11 or newer is needed: make PYTHON=python3.12 ..." >&2
		exit 1
	}
	@echo "Installing the packages of requirements.lock into $(ENVIRONMENT) (once, a few minutes) ..."
	@rm -rf .venv $(ENVIRONMENT)
	@hash -r # the Python found before may have been that of the old environment
	@$(PYTHON) -m venv $(ENVIRONMENT)
	@$(ENVIRONMENT)/bin/python -m pip install --quiet --disable-pip-version-check --requirement requirements.lock
	@$(ENVIRONMENT)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: environment ## the whole workflow on embedded datasets, into demo/
	@$(WARM_SNAKEMAKE) --profile workflow/profiles/smoke
	@snakemake --profile workflow/profiles/smoke --report report.html --quiet all
	@sed -n 's/^\* //p' demo/results_*/statistics/scorecard/landing.rst | sed 's/\\//g'
	@echo "Look first at file://$(CURDIR)/demo/paper_figures/scorecard.html; figures and tables are beside it."
	@echo "The whole report: file://$(CURDIR)/demo/report.html"

figures: environment ## draw every figure and table that there are results for, training nothing
	@$(WARM_SNAKEMAKE) --cores all --config only_finished=true -- figures tables

replication: environment ## draw everything again from the published results: no data, no network, no training
	@python -m qrt restore
	@draw() { # protocol, options
		python -m snakemake $(SIDE_BY_SIDE) --configfile replication/$$1.yaml $${2:-} &&
			python -m snakemake --configfile replication/$$1.yaml --report report_$$1.html --quiet all
	}
	@$(BOTH_PROTOCOLS)
	@echo "Look first at file://$(CURDIR)/paper_figures/scorecard.html"
	@echo "Everything on one page: file://$(CURDIR)/report_paper.html and file://$(CURDIR)/report_released.html"

# Drawn in a folder of its own, from what was packed and nothing else, as everybody else will draw it.
STUDY ?= .
publish: environment ## pack the finished results of the study in STUDY (this folder), draw them, write their numbers
	@python -m qrt publish --folder $(STUDY)
	@export drawn="$$(mktemp -d)"
	@trap 'rm -rf "$$drawn"' EXIT
	@python -m qrt restore --folder "$$drawn"
	@draw() { # protocol, options
		python -m snakemake $(SIDE_BY_SIDE) --directory "$$drawn" --configfile replication/$$1.yaml $${2:-}
	}
	@$(BOTH_PROTOCOLS)
	@find paper_figures replication/released -type f ! -name README.md -delete
	@cp "$$drawn"/paper_figures/*.* paper_figures/
	@cp "$$drawn"/replication/released/*.* replication/released/
	@python -m qrt.documentation.published

freeze: environment ## freeze claims, rules and margins before a run: what changes later is marked
	@python -m qrt.claims.frozen

status: environment ## how far the study in this folder is, beside a running one too
	@python -m qrt status

report: environment ## one page with everything that is finished: report.html and report.zip
	@snakemake --report report.html
	@snakemake --report report.zip --quiet all
	@echo "The report: file://$(CURDIR)/report.html; report.zip has the same for sending on."

# Two processes at a time: the tests of the workflow, the two halves of the others, lint.
test: environment ## lint and tests
	@$(MAKE) --no-print-directory --output-sync=target --jobs=2 test-workflow test-package lint

# Two halves of about the same length by name, so that no core is idle while the other is tested on.
test-package: test-package-begin test-package-end

test-package-begin: environment
	@pytest -m "not workflow" tests/test_[a-e]*.py

test-package-end: environment
	@pytest -m "not workflow" tests/test_[!a-e]*.py

test-workflow: environment
	@pytest -m workflow

test-slurm: environment ## a study on a real Slurm of one node (root and apt; skipped elsewhere)
	@python tests/slurm/run.py

# skpro and the packages of the comparison want an older pandas than the lock has. Each of these extras has an environment
# of its own, with the versions of the lock except for pandas.
LOCKED_FOR_EXTRAS := torch numpy scipy scikit-learn pyarrow pytest hypothesis scoringrules

$(ENVIRONMENT)-%/complete: | requirements.lock pyproject.toml
	@rm -rf $(@D)
	@$(PYTHON) -m venv $(@D)
	@grep -Ev '^(#|pandas=)' requirements.lock > $(@D)/constraints.txt
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --constraint $(@D)/constraints.txt \
		$(LOCKED_FOR_EXTRAS) --editable .[$*]
	@touch $@

test-skpro: $(ENVIRONMENT)-skpro/complete ## skpro's own checks of the adapter, in an environment of its own
	@$(ENVIRONMENT)-skpro/bin/python -m pytest tests/test_skpro_adapter.py

comparison: $(ENVIRONMENT)-comparison/complete ## measure NGBoost, CatBoost, crepes and MAPIE beside QRT (QRT_MIRROR=folder with the datasets)
	@$(ENVIRONMENT)-comparison/bin/python benchmarks/comparison.py

lint: environment ## ruff, mypy, snakefmt, snakemake --lint
	@ruff check .
	@ruff format --check .
	@mypy
	@snakefmt --check Snakefile workflow
	@snakemake --lint

bench: environment ## speed of the engine and cost of the workflow (not part of the tests)
	@python benchmarks/engine.py
	@python benchmarks/jobs.py
	@python benchmarks/workflow.py

format: environment ## format the code in place
	@ruff check --fix .
	@ruff format .
	@snakefmt Snakefile workflow

notebook: environment ## run the notebook in examples/ again, in place
	@jupyter-execute --inplace --NotebookClient.record_timing=False examples/*.ipynb

docs: environment ## rebuild docs/configuration.md and docs/results.md from the schema and the tables
	@python -m qrt.documentation.configuration workflow/schemas/config.schema.yaml > .docs.partial
	@mv .docs.partial docs/configuration.md
	@python -m qrt.documentation.results > .docs.partial
	@mv .docs.partial docs/results.md

lock: environment ## rebuild requirements.lock from .venv
	@grep '^#' requirements.lock > .lock.partial
	@python -m pip freeze --all --exclude pip --exclude-editable | sed 's/+cpu$$//' | sort -f >> .lock.partial
	@mv .lock.partial requirements.lock

clean: ## remove the demo and the environments (never data/ or results/)
	@rm -rf .venv .venvs demo
