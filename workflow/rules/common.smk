# What the rules share: the checked configuration and the names derived from it.
import json
import re
import shlex
from pathlib import Path

from snakemake.exceptions import WorkflowError

from qrt.claims.frozen import claims_checksum
from qrt.running.attempts import given_up
from qrt.running.code_version import code_version
from qrt.study.config import load_config, read_schema
from qrt.study.cost import (
    FETCHING_MB,
    PREPARING_MB,
    table_shape,
    training_group,
    training_memory,
    training_minutes,
)
from qrt.data.embedded import EMBEDDED
from qrt.data.fetch import next_attempt
from qrt.data.raw_store import RAW_FORMAT
from qrt.data.summary import left_out
from qrt.errors import UserError
from qrt.study.experiments import plan_study
from qrt.running.interruption import stop_jobs_when_interrupted
from qrt.results.readings import families_of_other_readings
from qrt.running.status import tell_progress, training_jobs
from qrt.study.artifacts import (
    ARTIFACTS,
    EXAMPLE_DATASETS,
    EXAMPLE_EXPERIMENTS,
    FIGURES,
    TABLES,
    in_order,
    short_target,
)

PROJECT = Path(workflow.basedir)
NAME_PATTERN = "[A-Za-z0-9][A-Za-z0-9_.-]*"

try:
    STUDY = load_config(
        config,
        read_schema(PROJECT / "workflow/schemas/config.schema.yaml"),
        root=PROJECT,
    )
except UserError as error:
    raise WorkflowError(str(error))

PLAN = plan_study(STUDY)
PROTOCOL_JSON = json.dumps(vars(STUDY.protocol), sort_keys=True)
STUDY_JSON = json.dumps(STUDY.facts(), sort_keys=True)
# Written with the scorecard, so the report can say what came out.
LANDING_PAGE = f"{STUDY.results}/statistics/landing.rst"
LARGE_DATASETS = (
    "|".join(
        re.escape(name) for name in STUDY.datasets if table_shape(name)[0] >= 20_000
    )
    or "(?!)"
)

# What every job finds in its environment. Where data comes from is no parameter of a rule: the same data from
# another source is no reason to run anything again. (The path of the package is for `--sdm conda`.)
ENVIRONMENT = {
    "PYTHONPATH": PROJECT / "src",
    "QRT_MIRROR": STUDY.mirror or "",
    "QRT_SOURCES": ",".join(STUDY.sources),
}
# Snakemake formats the prefix, so braces in a path are doubled.
shell.prefix(
    "".join(
        f"export {name}={shlex.quote(str(value))}; "
        for name, value in ENVIRONMENT.items()
    )
    .replace("{", "{{")
    .replace("}", "}}")
)


def own_file(wildcards):
    """The user's file behind a dataset of their own, so that a changed file is read again."""
    own = STUDY.own_datasets.get(wildcards.dataset)
    return [str(own.path)] if own else []


def own_entry(wildcards):
    """A dataset of the user's as JSON, `null` for all others."""
    own = STUDY.own_datasets.get(wildcards.dataset)
    entry = own and {
        "path": str(own.path),
        "target": own.target,
        "categorical": own.categorical,
    }
    return json.dumps(entry)


def fetch_version(wildcards):
    """What a fetched table depends on besides its source: the generator, or the form in which it is stored."""
    if wildcards.dataset in EMBEDDED:
        return code_version("qrt.data.embedded")
    return RAW_FORMAT


def fetch_attempt(wildcards):
    """Grows while a dataset is unavailable, so that every call tries those again."""
    return next_attempt(Path(f"data/raw/{wildcards.dataset}.json"))


def network_files(families, kind, datasets=STUDY.datasets):
    """The files of one kind (runs, curves, predictions) of these families on these datasets, all splits."""
    return expand(
        "results/networks/{dataset}/split{split}/{family}.{kind}.parquet",
        dataset=datasets,
        split=STUDY.splits,
        family=families,
        kind=kind,
    )


def needed_by(experiments):
    """The families that these experiments need, as far as the study has them."""
    needs = [PLAN.needs[name] for name in experiments if name in PLAN.needs]
    return list(dict.fromkeys(family for families in needs for family in families))


def families_with(kind):
    """The families that have rows of this kind."""
    if kind == "runs":
        return list(PLAN.families)
    return [name for name, family in PLAN.families.items() if family.curves]


def example_option(wildcards):
    """Predictive densities are kept for the datasets of the example figures, in the first split."""
    is_example = wildcards.dataset in EXAMPLE_DATASETS
    return "--examples" if is_example and int(wildcards.split) == 0 else ""


def growing(amount):
    """Memory or minutes to ask for, more with each attempt."""
    return lambda wildcards, attempt: amount * attempt


def number_of_attempt(wildcards, attempt):
    return attempt


def train_memory(wildcards, attempt):
    return training_memory(wildcards.dataset, PLAN.families[wildcards.family], attempt)


def train_group(wildcards):
    epochs = STUDY.training["max_epochs"]
    return training_group(wildcards.dataset, PLAN.families[wildcards.family], epochs)


def train_minutes(wildcards, attempt):
    epochs = STUDY.training["max_epochs"]
    return training_minutes(
        wildcards.dataset, PLAN.families[wildcards.family], epochs, attempt
    )


def trained_elsewhere(family):
    """Whether a study under another protocol has left the results of this family for all datasets and splits."""
    return all(Path(file).exists() for file in network_files([family], "runs"))


def experiments_json(*names):
    """Experiments of the study as JSON, as far as the study has them."""
    return [
        PLAN.experiments[name].to_json() for name in names if name in PLAN.experiments
    ]


def figure_inputs(name):
    """The result files that a figure draws from; what the study does not have is left out, and the figure says so."""
    artifact = FIGURES[name]
    shown = artifact.shown(STUDY.datasets)
    tables = {
        table: [] for table in ("methods", "curves", "predictions", "maps", "sample")
    }
    tables["methods"] = expand(
        f"{STUDY.results}/methods/{{experiment}}.parquet",
        experiment=[one for one in artifact.experiments if one in PLAN.experiments],
    )
    for table in artifact.tables:
        tables[table] = [f"{STUDY.results}/{table}.parquet"]
    if artifact.kind in ("decomposition", "densities"):
        table = "curves" if artifact.kind == "decomposition" else "predictions"
        tables["methods"] = expand(
            f"{STUDY.results}/examples/{{dataset}}.parquet", dataset=shown
        )
        tables[table] = expand(
            f"{STUDY.results}/collected/{{dataset}}.{table}.parquet", dataset=shown
        )
    if artifact.kind == "maps":
        tables |= {"maps": rules.maps.output.maps, "sample": rules.maps.output.sample}
        shown = ()
    elif not artifact.datasets:
        shown = STUDY.datasets
    return tables | {
        "records": expand("data/prepared/{dataset}/record.json", dataset=shown)
    }


# Families that other readings of the same networks can use, if another study in this folder has trained them.
OTHER_FAMILIES = [
    family for family in families_of_other_readings(STUDY) if trained_elsewhere(family)
]


def planned_trainings():
    """Dataset, split and family of every training job that this call is about to run."""
    return [
        (job.wildcards.dataset, int(job.wildcards.split), job.wildcards.family)
        for job in workflow.dag.needrun_jobs()
        if job.rule.name in ("train", "train_large")
    ]


def say_how_to_go_on():
    print(
        "Not finished. What is done is kept: the same command goes on from here.",
        flush=True,
    )


def leave_unlocked():
    workflow.persistence.unlock()
    say_how_to_go_on()


onstart:
    # With a limit on jobs per second, Snakemake 9.27 adds with every finished job one more timer that wakes its
    # scheduler each second: after a thousand jobs it does little else (docs/cluster.md, "Under load").
    workflow.scheduler.job_rate_limiter = None
    stop_jobs_when_interrupted(leave_unlocked)
    tell_progress(training_jobs(STUDY, PLAN, planned_trainings()))


onerror:
    say_how_to_go_on()


onsuccess:
    for message in (left_out(Path("data"), STUDY.datasets), given_up(Path("logs"))):
        if message:
            print(message)
