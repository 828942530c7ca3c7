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
export PATH := $(BIN):$(PATH)
# Some images of containers set it, and then each of hundreds of short jobs compiles the package again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: explorer site-pages help environment dist demo replication publish freeze report status test pytest test-slurm test-skpro check-sources comparison lint golden bench format notebook docs site lock clean

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
	@snakemake --profile workflow/profiles/smoke
	@python -m qrt_study report demo/report.html --folder demo
	@sed -n '3,8p' demo/figures_demo/paper/scorecard.md

# Both protocols judge at the same time, each on half of the cores.
PUBLISHED := snakemake --cores all --configfile replication/study.yaml \
	--set-threads judge=$$(( ($$(getconf _NPROCESSORS_ONLN) + 1) / 2 ))

replication: environment ## draw everything again from the published results, and compare: no data, no network, no training
	@$(PUBLISHED)
	@python -m qrt_study report report.html
	@diff --recursive --brief --exclude README.md figures_published/paper paper_figures
	@diff --recursive --brief figures_published/released replication/released
	@cmp figures_published/article.pdf article/article.pdf
	@echo "Every file in figures_published/ equals the published one (paper_figures/, replication/released/)."

# Drawn in a folder of its own, from what was packed and nothing else, as everybody else will draw it.
STUDY ?= .
publish: environment ## pack the finished results of the study in STUDY (this folder), draw them, write their numbers
	@python -m qrt_study publish --folder $(STUDY)
	@drawn="$$(mktemp -d)"
	@trap 'rm -rf "$$drawn"' EXIT
	@$(PUBLISHED) --directory "$$drawn"
	@find paper_figures replication/released -type f ! -name README.md -delete
	@cp "$$drawn"/figures_published/paper/* paper_figures/
	@cp "$$drawn"/figures_published/released/* replication/released/
	@cp "$$drawn"/figures_published/article.pdf article/
	@python -m qrt_study.documents.published

freeze: environment ## freeze the claims before a run: those that change later are marked
	@python -m qrt_study.verdicts.frozen

status: environment ## how far the study in this folder is, beside a running one too
	@python -m qrt_study status

report: environment ## one page with everything that is finished of the last study: report.html and report.zip
	@python -m qrt_study report report.html report.zip

test: environment ## lint and tests
	@$(MAKE) --no-print-directory --jobs=2 lint pytest

# Tests in a row share what they compute first (fixtures of their module), so a process takes rows of them.
pytest: environment
	@pytest --numprocesses logical --maxprocesses 8 --dist worksteal

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
	@$(ENVIRONMENT)-skpro/bin/python -m pytest tests/estimator/test_skpro_adapter.py

check-sources: environment ## ask OpenML and UCI whether they still have every dataset of the sheet (a minute; downloads nothing)
	@python -m qrt_study check_sources

comparison: environment $(ENVIRONMENT)-comparison/complete ## measure other packages beside QRT (QRT_MIRROR=folder with the datasets)
	@$(ENVIRONMENT)-comparison/bin/python benchmarks/comparison.py --measure-only
	@$(ENVIRONMENT)-comparison/bin/python benchmarks/comparison.py --measure-only --whole
	@python benchmarks/comparison.py --page

lint: environment ## ruff, mypy, snakefmt, snakemake --lint
	@ruff check .
	@ruff format --check .
	@mypy
	@snakefmt --check Snakefile workflow
	@snakemake --lint

golden: environment ## store what training, evaluation, preparation and rules make now; refused without a new version
	@PYTHONPATH=tests python -m support.golden_files

bench: environment ## speed of the engine and cost of the workflow (not part of the tests)
	@python benchmarks/engine.py
	@python benchmarks/jobs.py
	@python benchmarks/workflow.py

format: environment ## format the code in place
	@ruff check --fix .
	@ruff format .
	@snakefmt Snakefile workflow

dist: environment ## the sdist and the wheel of both packages in dist/, built offline with the locked setuptools
	@rm -rf dist
	@python -c 'from setuptools import build_meta; build_meta.build_sdist("dist")' > /dev/null
	@python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-index --no-build-isolation --wheel-dir dist dist/*.tar.gz
	@ls dist

notebook: environment ## run the notebook in examples/ again, in place
	@jupyter-execute --inplace --NotebookClient.record_timing=False examples/*.ipynb

docs: environment ## rebuild docs/configuration.md, docs/results.md and the switches of docs/protocol.md from the code
	@python -m qrt_study.documents.from_code

# The documents and published files side by side as they are in the repository, so that links hold in both places.
SITE := *.md docs examples config/README.md replication/README.md replication/*.yaml replication/released paper_figures article CITATION.cff LICENSE codecheck.yml
BUILD ?= build
EXPLORER ?= figures_published/explorer.html
site: environment explorer site-pages ## the documents, figures, article and explorer as a site in build/site
	@echo "The site: file://$(CURDIR)/$(BUILD)/site/index.html"

explorer:
	@$(PUBLISHED) -- $(EXPLORER)

site-pages:
	@rm -rf $(BUILD) && mkdir -p $(BUILD)/source
	@git ls-files $(SITE) | xargs cp --parents --target-directory $(BUILD)/source
	@cp $(EXPLORER) $(BUILD)/source/
	@NO_MKDOCS_2_WARNING=1 SITE_SOURCE=$(abspath $(BUILD))/source mkdocs build --quiet --strict --site-dir $(abspath $(BUILD))/site
	@cp paper_figures/table*.md $(BUILD)/site/paper_figures/ # MkDocs makes pages of them, scorecards link the files
	@cp replication/released/table*.md $(BUILD)/site/replication/released/

lock: environment ## rebuild requirements.lock from .venv
	@grep '^#' requirements.lock > .lock.partial
	@python -m pip freeze --all --exclude pip --exclude-editable | sed 's/+cpu$$//' | sort -f >> .lock.partial
	@mv .lock.partial requirements.lock

clean: ## remove the demo and the environments (never data/ or results/)
	@rm -rf .venv .venvs demo build dist
