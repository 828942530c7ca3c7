"""Snakemake's report of the last study in a folder: one page with everything that is finished."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

from qrt.errors import UserError
from qrt_study.plan.config import load_study
from qrt_study.running.drawn_files import drawn
from qrt_study.running.status import noted_config
from qrt_study.running.study_files import StudyFiles


def make_report(out: list[Path], *, folder: Path = Path(), project: Path = Path()) -> None:
    """Make Snakemake's report of the last study in this folder, in each of the files `out` (.html or .zip)."""
    config = noted_config(folder)
    study = load_study(config, project)
    wanted = [path for scenario in study.scenarios for path in drawn(StudyFiles(study.under(scenario)))]
    finished = [path for path in wanted if (folder / path).exists()]
    if not finished:
        raise UserError(f"{folder.resolve()}: no figure, table or page of the last study is finished yet")
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as settings:
        yaml.safe_dump(config, settings)
        settings.flush()
        for path in out:
            command = [sys.executable, "-m", "snakemake", "--snakefile", str(project / "Snakefile")]
            command += ["--directory", str(folder), "--configfile", settings.name, "--report", str(path.resolve())]
            made = subprocess.run([*command, "--", *finished], capture_output=True, text=True, check=False)  # noqa: S603
            if made.returncode:
                raise UserError(f"Snakemake could not make the report:\n{made.stdout}{made.stderr}")
            print(f"The report: {path.resolve().as_uri()} ({len(finished)} of {len(wanted)} files)")
