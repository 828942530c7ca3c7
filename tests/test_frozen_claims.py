from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from qrt.claims import frozen
from qrt.claims.claim import paper_claims
from qrt.claims.verdict_job import frozen_verdicts, with_frozen_verdicts


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the claims and of what was frozen, in place of those of the package."""
    source = Path(frozen.__file__).parent
    for name in ("claims.csv", frozen.FILE):
        (tmp_path / name).write_text((source / name).read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr("qrt.claims.frozen.resources.files", lambda _: tmp_path)
    _forget()
    yield tmp_path
    _forget()


def _forget() -> None:
    frozen.claim_checksums.cache_clear()
    frozen.frozen_state.cache_clear()


def _edit(path: Path, before: str, after: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(before) == 1
    path.write_text(text.replace(before, after), encoding="utf-8")
    _forget()


def test_every_claim_has_a_frozen_checksum() -> None:
    content = json.loads(Path(frozen.__file__).with_name(frozen.FILE).read_text(encoding="utf-8"))
    assert list(content["claims"]) == [claim.id for claim in paper_claims()]


def test_what_was_just_frozen_has_not_changed(installed: Path) -> None:
    state = frozen.freeze(installed / frozen.FILE)
    assert state.changed == frozenset()
    assert state.checksum == state.frozen_checksum == frozen.claims_checksum()
    assert state.checksum in state.words


def test_a_changed_margin_marks_its_claim_alone(installed: Path) -> None:
    before = frozen.freeze(installed / frozen.FILE)
    _edit(installed / "claims.csv", "0.01 nats", "0.05 nats")
    after = frozen.frozen_state()
    assert after.changed == {"C203"}
    assert after.frozen_checksum == before.checksum != after.checksum
    assert "Changed after the run: 1 of the claims" in after.words


def test_wording_for_readers_is_not_frozen(installed: Path) -> None:
    before = frozen.freeze(installed / frozen.FILE)
    _edit(installed / "claims.csv", "QRT adds no trainable parameters.", "QRT has no more parameters.")
    assert frozen.frozen_state() == before


def test_changed_code_of_a_rule_marks_the_claims_it_decides(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frozen.freeze(installed / frozen.FILE)
    unchanged = frozen._code
    monkeypatch.setattr(frozen, "_code", lambda module: unchanged(module) + "x" * module.endswith("table_rules"))
    _forget()
    changed = frozen.frozen_state().changed
    assert {"C42", "C137", "C146"} <= changed  # counts of datasets and maps
    assert not {"C51", "C53", "C203"} & changed


def test_without_frozen_checksums_nothing_is_marked(installed: Path) -> None:
    (installed / frozen.FILE).unlink()
    _forget()
    state = frozen.frozen_state()
    assert (state.changed, state.frozen_checksum) == (frozenset(), "")
    assert "not frozen yet" in state.words


def _verdicts(changed: bool, verdict: str) -> pd.DataFrame:
    row = {"reading": "study", "id": "C01", "verdict": verdict, "changed_after_run": changed, "frozen_verdict": ""}
    return pd.DataFrame([row, row | {"id": "C02", "changed_after_run": False, "verdict": "confirmed"}])


def test_a_changed_claim_keeps_its_last_verdict_under_the_frozen_rule(tmp_path: Path) -> None:
    file = tmp_path / "frozen_verdicts.csv"
    runs = [("leans confirmed", False), ("confirmed", True), ("contradicted", True)]
    shown = []
    for verdict, changed in runs:
        judged = with_frozen_verdicts(_verdicts(changed, verdict), file)
        file.write_text(frozen_verdicts(judged).to_csv(index=False), encoding="utf-8")
        shown.append(judged["frozen_verdict"].tolist())
    assert shown == [["", ""], ["leans confirmed", ""], ["leans confirmed", ""]]


def test_a_claim_changed_before_any_run_has_no_frozen_verdict(tmp_path: Path) -> None:
    judged = with_frozen_verdicts(_verdicts(True, "confirmed"), tmp_path / "none.csv")
    assert judged["frozen_verdict"].tolist() == ["", ""]
    assert frozen_verdicts(judged)["id"].tolist() == ["C02"]
