from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from qrt_study.verdicts import frozen, rules
from qrt_study.verdicts.claim import paper_claims
from qrt_study.verdicts.rank_rules import level
from qrt_study.verdicts.verdict import VERDICTS
from support import golden_verdicts, rule_cases


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the claims, frozen, in place of those of the package."""
    source = Path(frozen.__file__).parent
    for name in ("claims.csv", frozen.GOLDEN_VERDICTS):
        (tmp_path / name).write_text((source / name).read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr("qrt_study.verdicts.frozen.resources.files", lambda _: tmp_path)
    _forget()
    frozen.freeze(tmp_path / frozen.FILE)
    yield tmp_path
    _forget()


def _forget() -> None:
    frozen._checksums.cache_clear()
    frozen.frozen_state.cache_clear()


def _edit(path: Path, before: str, after: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(before) == 1
    path.write_text(text.replace(before, after), encoding="utf-8")
    _forget()


def test_no_claim_has_changed_since_the_freeze() -> None:
    content = json.loads(Path(frozen.__file__).with_name(frozen.FILE).read_text(encoding="utf-8"))
    assert list(content["claims"]) == [claim.id for claim in paper_claims()]
    state = frozen.frozen_state()
    assert state.changed == frozenset()
    assert state.checksum == state.frozen_checksum == content["checksum"]
    assert state.checksum in state.words


def test_code_comes_to_the_golden_verdicts() -> None:
    assert golden_verdicts.complaint(golden_verdicts.stored_verdicts(), golden_verdicts.golden_verdicts()) == ""


def test_golden_verdicts_have_every_rule_claim_and_verdict() -> None:
    stored = golden_verdicts.stored_verdicts()
    of_studies = {of for of, case in stored if case in golden_verdicts.STUDIES}
    assert of_studies == {claim.id for claim in paper_claims()}
    assert {of for of, _ in stored} - of_studies == {*rules.RULES} - {rules.UNDECIDABLE}
    for study in golden_verdicts.STUDIES:
        found = {row["verdict"] for (_, case), row in stored.items() if case == study}
        assert found >= set(VERDICTS) - {"inconclusive"}


def test_rule_that_moves_a_golden_verdict_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = {(of, case): row for (of, case), row in golden_verdicts.stored_verdicts().items() if of == "level"}
    monkeypatch.setattr(
        "qrt_study.verdicts.rank_rules.level", lambda *results, margin, **others: level(*results, margin=0.1, **others)
    )
    now = {
        (of, case): golden_verdicts.as_row(of, case, verdict)
        for (of, case), verdict in rule_cases.cases().items()
        if of == "level"
    }
    complaint = golden_verdicts.complaint(stored, now)
    assert "level (leans confirmed): verdict 'leans confirmed' is now 'leans contradicted'" in complaint
    assert "marked as changed after the run" in complaint


def test_a_changed_margin_marks_its_claim_alone(installed: Path) -> None:
    before = frozen.frozen_state()
    _edit(installed / "claims.csv", "0.01 nats", "0.05 nats")
    after = frozen.frozen_state()
    assert after.changed == {"C203"}
    assert after.frozen_checksum == before.checksum != after.checksum


def test_wording_for_readers_is_not_frozen(installed: Path) -> None:
    before = frozen.frozen_state()
    _edit(installed / "claims.csv", "QRT adds no trainable parameters.", "QRT has no more parameters.")
    assert frozen.frozen_state() == before


def test_a_changed_golden_verdict_marks_the_claims_of_its_rule_or_its_claim(installed: Path) -> None:
    before = frozen.frozen_state()
    file = installed / frozen.GOLDEN_VERDICTS
    _edit(file, "map_value,leans confirmed,leans confirmed", "map_value,leans confirmed,inconclusive")
    maps = {claim.id for claim in paper_claims() if any(leaf["rule"] == "map_value" for leaf in claim.conditions)}
    assert frozen.frozen_state().changed == maps
    _edit(file, "C36,effects as published,leans contradicted", "C36,effects as published,contradicted")
    after = frozen.frozen_state()
    assert after.changed == maps | {"C36"}
    assert after.checksum == before.checksum, "the claims themselves are as they were"
    assert f"Of {len(maps) + 1} claims" in after.words


def test_without_frozen_checksums_nothing_is_marked(installed: Path) -> None:
    (installed / frozen.FILE).unlink()
    _forget()
    state = frozen.frozen_state()
    assert (state.changed, state.frozen_checksum) == (frozenset(), "")
    assert "not frozen yet" in state.words
