# What the rules share: the checked configuration, the files of each scenario, and the resources to ask for.
import functools
import json
import re

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger

from qrt.engine.version import TRAINING_VERSION
from qrt.errors import UserError
from qrt_study.code_version import code_version
from qrt_study.data.embedded import EMBEDDED
from qrt_study.data.raw_store import RAW_FORMAT
from qrt_study.plan import cost
from qrt_study.plan.artifacts import (
    ARTICLE_READS,
    COMPARISONS,
    EXTENSIONS,
    FIGURES,
    TABLES,
    in_order,
    is_example,
)
from qrt_study.plan.config import load_config, read_schema
from qrt_study.plan.protocol import PROTOCOLS, SCENARIOS, SWITCHES
from qrt_study.results.layout import prepared_data, raw_data, splits_of_word
from qrt_study.results.predicted_methods import (
    predicted_families,
    prediction_file,
    prediction_files,
)
from qrt_study.running.drawn_files import drawn
from qrt_study.running.job_environment import job_environment
from qrt_study.running.status import study_in_words
from qrt_study.running.study_files import JUDGED, TIMED_EXPERIMENTS, StudyFiles
from qrt_study.versions import EVALUATION_VERSION, PREPARATION_VERSION

try:
    STUDY = load_config(
        config, read_schema(PROJECT / "workflow/schemas/config.schema.yaml"), PROJECT
    )
except UserError as error:
    raise WorkflowError(str(error))

logger.info(f"Study: {study_in_words(STUDY)}")
LAYOUT = StudyFiles(STUDY).layout
ENVIRONMENT = PROJECT / "environment.yml"

# Where data comes from is no parameter of a rule: the same data from another source is no reason to run anything again.
shell.prefix(
    job_environment(
        STUDY, PROJECT, deployed=bool(workflow.deployment_settings.deployment_method)
    )
)


wildcard_constraints:
    dataset="[A-Za-z0-9][A-Za-z0-9_.-]*",
    family="[A-Za-z0-9][A-Za-z0-9_.-]*",
    split="[0-9]+",
    splits="[0-9]+(-[0-9]+|([+][0-9]+)*)",
    seed="[0-9]+",
    scenario="|".join(map(re.escape, SCENARIOS)),
    protocol="|".join(PROTOCOLS),
    experiment="[a-z0-9_]+",
    kind="runs|methods|curves|predictions|times|scores|conditional",
    comparison="|".join(COMPARISONS),
    figure="|".join(FIGURES),
    table="|".join(TABLES),


@functools.cache
def files_of(scenario):
    """The study under a scenario as files."""
    return StudyFiles(STUDY.under(scenario))


DRAWN_PROTOCOLS = list(
    dict.fromkeys(scenario.partition(".")[0] for scenario in STUDY.scenarios)
)


def declared(kind):
    """The files that a comparison, a table or a page is made from, by the name in its path."""
    return lambda wildcards: files_of(wildcards.scenario).inputs_of(
        kind, getattr(wildcards, kind)
    )


def drawn_files():
    try:
        return [
            path for scenario in STUDY.scenarios for path in drawn(files_of(scenario))
        ]
    except UserError as error:
        raise WorkflowError(str(error))


@functools.cache
def facts(scenario, to_judge=False):
    """What the jobs of a scenario know of the study, as JSON."""
    study = STUDY.under(scenario)
    return json.dumps(
        study.facts_to_judge() if to_judge else study.facts(), sort_keys=True
    )


def study(wildcards):
    return facts(wildcards.scenario)


@functools.cache
def trained_in(dataset, family):
    """The study under the first scenario that trains a family; its networks are the same under all that do."""
    for scenario in (*STUDY.scenarios, *SCENARIOS):
        if family in files_of(scenario).plan.families_on(dataset):
            return files_of(scenario)
    raise WorkflowError(f"No scenario trains a family {family!r} on {dataset}.")


@functools.cache
def training_job(dataset, family):
    return trained_in(dataset, family).training_job(dataset, family)


def job_of(wildcards):
    """The training job, to ask what it costs."""
    return training_job(wildcards.dataset, wildcards.family)


def family_of(wildcards):
    return job_of(wildcards).family


def growing(amount):
    """Memory or minutes to ask for, more with each attempt."""
    return lambda wildcards, attempt: amount * attempt


def own_file(wildcards):
    """The user's file behind a dataset of their own, so that a changed file is read again."""
    own = STUDY.own_datasets.get(wildcards.dataset)
    return [str(own.path)] if own else []


def own_entry(wildcards):
    """A dataset of the user's as JSON, `null` for all others."""
    own = STUDY.own_datasets.get(wildcards.dataset)
    return json.dumps(own and own.entry())


def fetch_version(wildcards):
    """What a fetched table depends on besides its source: the generator, or the form in which it is stored."""
    return code_version("data") if wildcards.dataset in EMBEDDED else RAW_FORMAT


def trained_file(*place):
    """What a training job writes; kept after its evaluation or not."""
    file = LAYOUT.trained(*place)
    return file if STUDY.keep_outputs else temp(file)


def training_priority(wildcards):
    place = (wildcards.dataset, wildcards.family)
    return trained_in(*place).priority(*place)


def figure_labels(wildcards):
    figure = FIGURES[wildcards.figure]
    return {"figure": in_order(figure), "shows": figure.title_in(STUDY.datasets)}


def table_labels(wildcards):
    number, _, shows = wildcards.table.partition("_")
    return {"table": number, "shows": shows}


def page_files(name, *others, folder=(), text="md"):
    """The files of a page: for a browser, as text, its numbers, others by the ends of their names, and in a folder."""
    path = LAYOUT.figure("{scenario}", f"{{page,{name}}}", "").removesuffix(".")
    return {
        "html": report(
            f"{path}.html",
            caption=f"../report/{name}.rst",
            category="Verdict",
            subcategory="{scenario}",
            labels={"page": name},
        ),
        "text": f"{path}.{text}",
        "numbers": f"{path}.csv",
        "others": [f"{path}{end}" for end in others]
        + [f"{path}/{one}" for one in folder],
    }


def page_code(wildcards):
    has_figure = wildcards.page in ("agreement", "seeds", *EXTENSIONS)
    return code_version(
        *("pages", "statistics", "verdicts", "plan", "published", "results"),
        *("qrt/text", "qrt/tuning"),
        *(["figures"] if has_figure else []),
    )


def how_to_draw(wildcards):
    """Nothing is drawn over published files: say what was meant."""
    ours = "figures" if STUDY.networks == "published" else LAYOUT.figures
    raise WorkflowError(
        "paper_figures/ has the published figures, which a run leaves alone.\n"
        f"  From networks trained here: snakemake ... {ours}/paper/{wildcards.file}\n"
        f"  From the published results: snakemake ... figures_published/paper/{wildcards.file}"
        " --config networks=published"
    )
