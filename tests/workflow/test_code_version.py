from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from qrt_study import code_version as module
from qrt_study.code_version import code_version


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A small package in place of `qrt_study`, beside one in place of `qrt`."""
    for name in ("qrt/engine/trainer.py", "qrt_study/figures/kinds/bars.py", "qrt_study/pages/page.css"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("before")
    (tmp_path / "qrt_study/figures/style.py").write_text("before")
    monkeypatch.setattr(module, "_STUDY", tmp_path / "qrt_study")
    module._checksum.cache_clear()
    yield tmp_path
    module._checksum.cache_clear()


@pytest.mark.parametrize(
    ("changed", "rooms"),
    [
        ("qrt_study/figures/kinds/bars.py", {"figures"}),
        ("qrt_study/figures/style.py", {"figures", "figures/style"}),
        ("qrt_study/pages/page.css", {"pages"}),
        ("qrt/engine/trainer.py", {"qrt/engine"}),
        ("qrt_study/figures/new.csv", {"figures"}),
        ("qrt_study/figures/new.pyc", set()),
    ],
)
def test_a_change_counts_for_its_room_alone(sources: Path, changed: str, rooms: set[str]) -> None:
    def versions() -> dict[str, str]:
        module._checksum.cache_clear()
        return {room: code_version(room) for room in ("figures", "figures/style", "pages", "qrt/engine")}

    before, together = versions(), code_version("figures", "pages")
    (sources / changed).write_text("after")
    after = versions()
    assert {room for room, version in before.items() if after[room] != version} == rooms
    assert (code_version("figures", "pages") != together) == bool(rooms & {"figures", "pages"})


def test_unknown_room_is_refused() -> None:
    with pytest.raises(ValueError, match="no room 'figure'"):
        code_version("figure")
