# What the rules share: the checked configuration, its files, and the resources to ask for.
import json
import os
import re
import shlex
from pathlib import Path

from snakemake.exceptions import WorkflowError

from qrt.code_version import code_version
from qrt.data.embedded import EMBEDDED
from qrt.data.fetch import next_attempt
from qrt.data.raw_store import RAW_FORMAT
from qrt.data.record import is_available
from qrt.errors import UserError
from qrt.figures.kinds import statistics_tables
from qrt.running.job_environment import job_environment
from qrt.running.forgotten_steps import refuse_forgotten_steps
from qrt.running.study_files import TUNED_FOR_ONE, StudyFiles
from qrt.running.targets import what_was_meant, without_results
from qrt.study import cost
from qrt.study.artifacts import (
    ARTIFACTS,
    FIGURES,
    TABLES,
    is_example,
    in_order,
    short_target,
)
from qrt.study.config import load_config, read_schema

try:
    SCHEMA = read_schema(PROJECT / "workflow/schemas/config.schema.yaml")
    STUDY = load_config(config, SCHEMA, root=PROJECT)
    refuse_forgotten_steps(STUDY, SCHEMA)
except UserError as error:
    raise WorkflowError(str(error))

FILES = StudyFiles(STUDY)
LAYOUT, PLAN = FILES.layout, FILES.plan
PROTOCOL_JSON = json.dumps(vars(STUDY.protocol), sort_keys=True)
STUDY_JSON = json.dumps(STUDY.facts(), sort_keys=True)
# Written with the scorecard, so the report can say what came out.
LANDING_PAGE = LAYOUT.statistics("scorecard", "landing.rst")
# One seed has nothing to be compared with.
SEEDS_PAGE = ["seeds"] if len(STUDY.seeds) > 1 else []
# The user's datasets; a study without any method of the main comparison has nothing to compare on them.
OWN_DATA = (
    list(STUDY.own_datasets)
    if FILES.experiments_json(FILES.tuned_for_one("own"))
    else []
)
OWN_DATA_PAGE = ["own_data"] if OWN_DATA else []

# Where data comes from is no parameter of a rule: the same data from another source is no reason to run anything again.
shell.prefix(
    job_environment(
        STUDY, PROJECT, deployed=bool(workflow.deployment_settings.deployment_method)
    )
)


def one_of(names):
    """A pattern for wildcards that matches these names and nothing else."""
    return "|".join(map(re.escape, names)) or "(?!)"


def own_entry(wildcards):
    """A dataset of the user's as JSON, `null` for all others."""
    own = STUDY.own_datasets.get(wildcards.dataset)
    return json.dumps(own and own.entry())


def fetching_attempt(wildcards):
    """The number of the attempt to fetch a dataset; an unusable file of the user's is tried again as well."""
    raw = Path(LAYOUT.raw(wildcards.dataset, "json"))
    prepared = Path(LAYOUT.prepared(wildcards.dataset))
    return next_attempt(
        raw, prepared if wildcards.dataset in STUDY.own_datasets else None
    )


def fetch_version(wildcards):
    """What a fetched table depends on besides its source: the generator, or the form in which it is stored."""
    if wildcards.dataset in EMBEDDED:
        return code_version("qrt.data.embedded")
    return RAW_FORMAT


EVALUATED = LAYOUT.evaluated("{dataset}", "{seed}", "{family}", "runs")
# Networks that were evaluated need not be there any more: they were restored, or their outputs are not kept.
TRAINED_OR_EVALUATED = (
    LAYOUT.trained("{dataset}", "{seed}", "{split}", "{family}"),
    EVALUATED,
)


def is_finished(wildcards, results):
    """Whether one of these results is there, after which a job has nothing to do."""
    files = (Path(one.format(**dict(wildcards.items()))) for one in results)
    return any(file.exists() for file in files)


def record_for(*results):
    """Input: the record of the prepared data, for a job that is finished if there is one of these `results`.

    Data that is there does not change (`prepare` refuses it where networks were trained), so preparing it again is no
    reason to train again; data that was unavailable may have come. Snakemake leaves a job out whose inputs are all
    ancient while one of them is made again, even if its output is missing, so nothing is ancient for such a job.
    """

    def record(wildcards):
        path = LAYOUT.prepared(wildcards.dataset)
        finished = is_finished(wildcards, results)
        return ancient(path) if finished and is_available(Path(path)) else path

    return record


def arrays_for(names, *results):
    """Input: arrays of the prepared data, for a job that is finished if there is one of these `results`.

    Where results were restored without their data, data that is prepared for others must not seem new to them.
    """

    def arrays(wildcards):
        paths = [LAYOUT.prepared(wildcards.dataset, name) for name in names]
        if is_finished(wildcards, results) and not all(map(os.path.exists, paths)):
            return []
        return [ancient(path) for path in paths]

    return arrays


def family_of(wildcards):
    return FILES.family(wildcards.dataset, wildcards.family)


def job_of(wildcards):
    """The training job, to ask what it costs."""
    return FILES.training_job(wildcards.dataset, wildcards.family)


def trained_file(*place):
    """What a training job writes; kept after its evaluation or not."""
    file = LAYOUT.trained(*place)
    return file if STUDY.keep_outputs else temp(file)


def growing(amount):
    """Memory or minutes to ask for, more with each attempt."""
    return lambda wildcards, attempt: amount * attempt


def describe_last_rule(artifact):
    """The docstring of a rule that a loop defines; by its name a renamed rule of a module would not be found."""
    *_, last = workflow.rules
    last.docstring = f"{artifact.number}: {artifact.title_in(STUDY.datasets)}."
