"""How far the last call of Snakemake in a folder is, or how it ended, by the file that our logger plugin keeps."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]

from qrt.atomic import write_json
from qrt.errors import UserError
from qrt.text.words import counted, listed
from qrt_study.plan.config import StudyConfig
from qrt_study.results.layout import Layout
from qrt_study.running.study_files import StudyFiles
from snakemake_logger_plugin_qrt.progress import PROGRESS_FILE, STUDY_FILE, duration


def last_call(folder: Path) -> dict[str, Any] | None:
    """What the last call that ran jobs in `folder` has noted; None if there was none.

    A call that was killed could not note its end: it is interrupted if its process is gone.
    """
    try:
        call: dict[str, Any] = json.loads((folder / PROGRESS_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if call["ended"] is None and call["host"] == platform.node() and not _is_alive(call["process"], call["started"]):
        call |= {"state": "interrupted", "ended": call["written"], "running": []}
    return call


def _is_alive(process: int, before: float) -> bool:
    """Whether a process still runs that began `before` that time: its number may be another's by now."""
    try:
        found = psutil.Process(process)
        # Psutil counts from the start of the machine, whose clock may have been set since then.
        return bool(found.status() != psutil.STATUS_ZOMBIE and found.create_time() < before + 60)
    except psutil.NoSuchProcess:
        return False


def tell_status(*, folder: Path = Path()) -> None:
    """Tell how far the last call of Snakemake in this folder is, or how it ended."""
    call, study = last_call(folder), noted_study(folder)
    lines = call_in_words(call) if call else ["No study has run in this folder."]
    print("\n".join([*lines, *([f"Study: {study_in_words(study)}"] if study else [])]))


def call_in_words(call: Mapping[str, Any]) -> list[str]:
    """A call for people: what it was, how far it is or how it ended, what is left."""
    is_over = call["ended"] is not None
    moment = time.strftime("%d %B %H:%M", time.localtime(call["ended" if is_over else "started"]))
    state = f"{call['state'].capitalize()} {'' if is_over else 'since '}{moment}"
    if call["host"] != platform.node():
        state += f" on {call['host']}"
    if call["state"] != "interrupted":  # a killed call did not tell when it ended
        state += f", {'after' if is_over else 'for'} {duration((call['ended'] or time.time()) - call['started'])}"
    lines = [call["command"], state]
    counts = [f"{sum(call['done'].values())} of {sum(call['planned'].values())} jobs done"]
    counts += [f"{len(call[key])} {key.replace('_', ' ')}" for key in ("running", "failed", "gave_up") if call[key]]
    lines.append(", ".join(counts) if call["planned"] else "There was nothing to do.")
    if call["left"]:
        lines.append("Left: " + ", ".join(f"{count} {rule}" for rule, count in call["left"].items()))
    if call["training_seconds"]:
        lines.append(f"Spent in finished training jobs: {duration(call['training_seconds'])} of one core")
    if not is_over and call["seconds_left"] is not None:
        since = time.time() - call["written"]
        lines.append(f"Training: about {duration(max(call['seconds_left'] - since, 0.0))} left")
    if not is_over:
        lines.append(f"To stop it with its jobs: {call['stop']}")
    return lines + [f"Failed: {words}" for words in call["failed"]] + [f"Gave up: {words}" for words in call["gave_up"]]


def note_study(scenarios: Sequence[StudyFiles], config: Mapping[str, Any], folder: Path = Path()) -> None:
    """Note the study that runs in `folder` and what its training jobs cost, for whoever asks how far it is."""
    study = scenarios[0].study
    jobs = {
        (place.dataset, place.family): round(files.training_job(place.dataset, place.family).seconds, 1)
        for files in scenarios
        for place in files.places(seeds=[0])
        if not files.is_published(place)
    }
    training = {
        "jobs": [(*place, seconds) for place, seconds in jobs.items()],
        "repeats": len(study.splits) * len(study.seeds),
    }
    noted = {"study": study.facts_to_judge(), "config": dict(config), "training": training}
    write_json(folder / STUDY_FILE, json.loads(json.dumps(noted, default=str)))


def noted_study(folder: Path) -> StudyConfig | None:
    """The settings of the last study that ran in `folder`; None if there was none."""
    try:
        noted = json.loads((folder / STUDY_FILE).read_text(encoding="utf-8"))
        return StudyConfig.from_facts(noted["study"])
    except (OSError, ValueError, TypeError, KeyError):  # none, or one of another version
        return None


def noted_config(folder: Path) -> dict[str, Any]:
    """The configuration of the last study that ran in `folder`."""
    try:
        config: dict[str, Any] = json.loads((folder / STUDY_FILE).read_text(encoding="utf-8"))["config"]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UserError(f"{folder.resolve()}: no study has run here yet") from error
    return config


_NETWORKS = {
    "new": "all networks are trained from the data",
    "published": "published results are drawn, nothing is trained",
    "extend": "published networks are used, the others trained",
}


def study_in_words(study: StudyConfig) -> str:
    """What is studied, from which networks, and where it is written, in one line."""
    parts = [
        f"{'scenario' if len(study.scenarios) == 1 else 'scenarios'} {listed(study.scenarios)}",
        counted(len(study.datasets), "dataset"),
        counted(len(study.splits), "split"),
        *([f"{len(study.seeds)} seeds"] if len(study.seeds) > 1 else []),
        *([study.training_words] if study.training_words else []),
    ]
    layout = Layout(study.networks_folder, study.name)
    return f"{', '.join(parts)}; {_NETWORKS[study.networks]}; into {layout.results}/ and {layout.figures}/"
