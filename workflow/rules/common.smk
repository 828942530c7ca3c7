# What the rules share: the checked configuration and the names derived from it.
import json
import shlex
from pathlib import Path

from snakemake.exceptions import WorkflowError

from qrt.code_version import code_version
from qrt.config import load_config, read_schema
from qrt.data.embedded import EMBEDDED
from qrt.data.fetch import next_attempt
from qrt.data.raw_store import RAW_FORMAT
from qrt.data.summary import left_out
from qrt.errors import UserError

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

# What every job finds in its environment. Where data comes from is no parameter of a rule: the same data from
# another source is no reason to run anything again. (The path of the package is for `--sdm conda`.)
ENVIRONMENT = {
    "PYTHONPATH": PROJECT / "src",
    "QRT_MIRROR": STUDY.mirror or "",
    "QRT_SOURCES": ",".join(STUDY.sources),
}
shell.prefix(
    "".join(
        f"export {name}={shlex.quote(str(value))}; "
        for name, value in ENVIRONMENT.items()
    )
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


onsuccess:
    if message := left_out(Path("data"), STUDY.datasets):
        print(message)
