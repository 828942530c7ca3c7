"""A study in a folder and on files whose names mean harm."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from conftest import PROJECT
from support.snakemake_calls import call_snakemake


def test_study_runs_in_a_folder_and_on_files_with_the_worst_names(tmp_path: Path) -> None:
    folder = tmp_path / 'a b\' "c" $(touch X);touch Y;`touch Z` é'
    folder.mkdir()
    data = folder / 'my data\' $(touch X); "f".csv'
    numbers = np.arange(150.0)
    columns = {"$(touch X)": numbers, "; touch Y": numbers**2, "<b>'y\"</b>": np.sin(numbers)}
    pd.DataFrame(columns).to_csv(data, index=False)
    own = {"path": str(data), "target": "<b>'y\"</b>", "categorical": []}
    study = {"datasets": [], "sources": ["mirror"], "own_datasets": {"m": own}}
    (folder / "study.yaml").write_text(yaml.safe_dump(study))
    arguments = ["figures/paper/table3_datasets.csv", "--cores", "1", "--directory", str(folder)]
    run = call_snakemake(PROJECT, *arguments, "--configfile", str(folder / "study.yaml"))
    assert run.returncode == 0, run.stderr
    record = json.loads((folder / "data/prepared/m/record.json").read_text())
    assert record["feature_names"] == ["$(touch X)", "; touch Y"]
    assert not [path for name in "XYZ" for path in (*tmp_path.rglob(name), *PROJECT.glob(name))]
