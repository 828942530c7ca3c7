"""Every command that README and docs show is accepted: run with `-n`, which plans and does nothing."""

from __future__ import annotations

import importlib.util
import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml

from conftest import PROJECT
from qrt.__main__ import command_line
from qrt_study.commands import COMMANDS
from support.data_folders import make_mirror, yacht_csv
from support.projects import Project
from support.snakemake_calls import call_snakemake, environment

DOCUMENTS = [
    *(PROJECT / name for name in ("README.md", "CONTRIBUTING.md", "config/README.md", "replication/README.md")),
    *sorted((PROJECT / "docs").glob("*.md")),
]
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^(?:[A-Z_]+=\S+ )*((?:snakemake|make|qrt|python -m qrt\w*)\b.*)$", re.MULTILINE)
_INLINE = re.compile(r"`(make [a-z-]+)`")
_INLINE_COMMAND = re.compile(r"`((?:snakemake|make|qrt|pip|python) [^`]*)`")


def shown() -> list[tuple[str, ...]]:
    """The commands in blocks for the terminal and the targets of make in the text, each once, without comments."""
    texts = [document.read_text(encoding="utf-8") for document in DOCUMENTS]
    lines = [line for text in texts for block in _BLOCK.findall(text) for line in _COMMAND.findall(block)]
    lines += [line for text in texts for line in _INLINE.findall(text)]
    return list(dict.fromkeys(tuple(shlex.split(line, comments=True)) for line in lines))


def shown_for(program: str) -> list[tuple[str, ...]]:
    return [command[1:] for command in shown() if command[0] == program]


def unquoted(line: str) -> str:
    """A line for the shell without its comment and without what is in quotes."""
    return re.sub(r"'[^']*'|\"[^\"]*\"", "", line).split(" #")[0]


def is_run_elsewhere(command: tuple[str, ...]) -> bool:
    """Whether a command needs a cluster (`make test-slurm`)."""
    return "workflow/profiles/slurm" in command


def without_cores(command: tuple[str, ...]) -> tuple[str, ...]:
    """The command with one number of cores, so that the same one for two machines is run once."""
    text = re.sub(r"--cores \d+", "--cores 2", shlex.join(command))
    return tuple(shlex.split(text))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A copy of the project with small data, beside a mirror and with the files that the documents speak of."""
    folder = tmp_path_factory.mktemp("place") / "project"
    folder.mkdir()
    project = Project.new(folder)
    for name in ("Makefile", "requirements.lock", "pyproject.toml"):
        (folder / name).symlink_to(PROJECT / name)
    make_mirror(folder.parent / "datasets", yacht_csv())
    # The whole study would be planned for half a minute each time.
    (folder / "config/config.yaml").write_text(
        yaml.safe_dump({"datasets": ["linear"], "splits": [0], "sources": ["mirror"]})
    )
    (folder / "replication").symlink_to(PROJECT / "replication")
    (folder / "my_study.yaml").write_text(yaml.safe_dump({"splits": [1]}))
    return project


def test_documents_show_commands_of_every_kind() -> None:
    assert ("--cores", "4", "--config", "mirror=../datasets", "datasets=[uci]", "splits=[0]") in shown_for("snakemake")
    assert {"demo", "test", "replication", "report", "status"} <= {command[0] for command in shown_for("make")}
    assert shown_for("python")
    assert shown_for("qrt")


@pytest.mark.parametrize(
    "command",
    sorted({without_cores(command) for command in shown_for("snakemake") if not is_run_elsewhere(command)}),
    ids=" ".join,
)
def test_command_of_snakemake_is_accepted(project: Project, command: tuple[str, ...]) -> None:
    run = call_snakemake(project.folder, "--dry-run", *command, PYTHONPATH=str(project.folder / "src"))
    assert run.returncode == 0, run.stdout


def test_brackets_are_quoted_as_zsh_wants_them() -> None:
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        lines = [line for block in _BLOCK.findall(text) for line in block.splitlines()]
        lines += _INLINE_COMMAND.findall(text)
        for line in lines:
            assert not re.search(r"[\[\]*?]", unquoted(line)), f"{document.name}: {line}"


@pytest.mark.parametrize("command", shown_for("make"), ids=" ".join)
def test_target_of_make_is_there(project: Project, command: tuple[str, ...]) -> None:
    variables = {name: value for name, value in environment().items() if name not in ("MAKEFLAGS", "MAKELEVEL")}
    run = subprocess.run(
        ["make", "-n", *command], cwd=project.folder, env=variables, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("command", shown_for("python"), ids=" ".join)
def test_module_and_files_of_a_python_command_are_there(command: tuple[str, ...]) -> None:
    option, module, *arguments = command
    assert option == "-m"
    assert importlib.util.find_spec(module) is not None
    if module == "qrt_study":
        assert arguments[0] in COMMANDS
    paths = [Path(argument) for argument in arguments if "/" in argument]
    assert all((PROJECT / path).exists() for path in paths)


@pytest.mark.parametrize("command", shown_for("qrt"), ids=" ".join)
def test_options_of_a_command_of_the_light_package_are_there(command: tuple[str, ...]) -> None:
    assert command_line().parse_args(list(command))
