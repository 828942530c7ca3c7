from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from qrt.text.formats import escape_latex, to_latex, to_markdown
from qrt_study.__main__ import main
from qrt_study.data.discreteness import duplicate_share, top10_share
from qrt_study.data.record import write_record
from qrt_study.data.sheet import paper_datasets
from qrt_study.results.layout import prepared_data
from qrt_study.tables.dataset_table import dataset_table, for_people, status_summary
from support.configured import study_with


def record(**changes: Any) -> dict[str, Any]:
    numbers = {"train_rows": 200, "features": 6, "top10": 0.114, "duplicates": 0.2051}
    return (
        {"dataset": "Yacht", "status": "available", "reason": "", "provenance": {"source": "uci"}} | numbers | changes
    )


def status(**changes: Any) -> str:
    return dataset_table([record(**changes)], paper_datasets())["status"][0]


def test_table_is_written_in_three_forms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_record(tmp_path / prepared_data("Yacht"), record())
    study = json.dumps(study_with(datasets=["Yacht"]).facts())
    files = [argument for form in ("csv", "tex", "markdown") for argument in (f"--{form}", form)]
    assert main(["table", "table3_datasets", "--study", study, *files]) == 0
    table = pd.read_csv("csv")
    assert table[["dataset", "status", "train_rows"]].to_numpy().tolist() == [["Yacht", "verified", 200]]
    assert all("Yacht" in Path(form).read_text() for form in ("tex", "markdown"))


def test_sheet_has_the_57_datasets_with_unique_names_and_abbreviations() -> None:
    rows = paper_datasets().values()
    assert len({row.abbreviation for row in rows}) == len(rows) == 57
    groups = pd.Series([row.group for row in rows]).value_counts().to_dict()
    assert groups == {"uci": 12, "oml_297": 19, "oml_299": 8, "oml_269": 18}
    assert all(row.openml_id or row.uci_address for row in rows)
    assert sum(row.published.top10 > 0.5 for row in rows) == 13


def test_status_compares_counts_exactly_and_shares_to_two_decimals() -> None:
    assert status() == "verified"
    assert status(train_rows=201) == "differs"
    assert status(features=5) == "differs"
    assert status(top10=0.115001) == "differs"
    assert status(duplicates=0.2149) == "verified"
    assert status(status="invalid") == "unavailable"
    assert status(dataset="bimodal") == "not in the paper"


def test_table_holds_published_values_beside_ours_also_where_ours_are_missing() -> None:
    table = dataset_table([{"dataset": "Yacht", "status": "unavailable", "reason": "404"}], paper_datasets())
    row = table.iloc[0]
    assert pd.isna(row["train_rows"])
    assert (row["published_train_rows"], row["published_duplicates"], row["reason"]) == (200, 0.21, "404")
    assert for_people(table)["Training rows"][0] == "– (200)"
    assert status_summary(table) == "1 unavailable"


def test_text_of_datasets_is_shown_as_text() -> None:
    hostile = r"\input{x}_&%$#{}~^<img src=x onerror=alert(1)>|*b*"
    table = pd.DataFrame({"Dataset": [hostile]})
    latex = to_latex(table, "caption", "label")
    assert r"\textbackslash{}input\{x\}\_\&\%\$\#\{\}\textasciitilde{}\textasciicircum{}\textless{}img" in latex
    markdown = to_markdown(table, "caption")
    assert "<img" not in markdown
    assert r"\|\*b\*" in markdown


def test_latex_escape_keeps_plain_text() -> None:
    assert escape_latex("Training rows (200)") == "Training rows (200)"


def test_discreteness_by_hand() -> None:
    import numpy as np

    targets = np.array([1, 1, 1, 2, 2, *range(10, 20)], np.float32)
    assert top10_share(targets) == pytest.approx((3 + 2 + 8) / 15)
    assert duplicate_share(targets) == pytest.approx(5 / 15)
