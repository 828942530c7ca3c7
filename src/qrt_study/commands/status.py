"""Tell how far the last call of Snakemake in this folder is, or how it ended."""

from __future__ import annotations

from pathlib import Path


def run(*, folder: Path = Path()) -> None:
    """Say it."""
    from qrt_study.running.status import call_in_words, last_call, noted_study, study_in_words

    call, study = last_call(folder), noted_study(folder)
    lines = call_in_words(call) if call else ["No study has run in this folder."]
    print("\n".join([*lines, *([f"Study: {study_in_words(study)}"] if study else [])]))
