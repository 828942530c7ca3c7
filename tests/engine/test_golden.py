from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import PROJECT
from qrt import golden
from qrt.errors import UserError

REFERENCE = PROJECT / "tests/golden/reference.json"


@pytest.fixture(scope="module")
def reference() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(REFERENCE.read_text(encoding="utf-8"))
    return content


def test_reference_values_are_met_from_the_command_line() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "qrt.golden", str(REFERENCE)], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
    for section in ("calibration_maps", "recalibrated_distributions", "qrt_loss", "pce"):
        assert section in run.stdout
    assert "BEYOND" not in run.stdout


def test_tolerances_are_those_promised() -> None:
    assert golden.TOLERANCES == {
        "maps": 1e-8,
        "log-densities": 1e-8,
        "loss": 1e-9,
        "gradients": 1e-7,
        "quantiles": 1e-7,
        "scores": 1e-7,
    }


def add(container: Any, key: Any, amount: float) -> None:
    container[key] += amount


@pytest.mark.parametrize(
    ("spoil", "section", "kind", "place"),
    [
        (
            lambda d: add(d["calibration_maps"][1]["refl"]["cdf"], 3, 2e-8),
            "calibration_maps",
            "maps",
            "[1].refl.cdf",
        ),
        (
            lambda d: add(d["calibration_maps"][5]["kde"]["log_pdf"], 0, -2e-8),
            "calibration_maps",
            "log-densities",
            "[5].kde.log_pdf",
        ),
        (
            lambda d: add(d["calibration_maps"][0]["trunc"]["cdf"], 0, 2e-8),
            "calibration_maps",
            "maps",
            "trunc.cdf",
        ),
        (lambda d: add(d["qrt_loss"][2], "loss", 2e-9), "qrt_loss", "loss", "[2].loss"),
        (lambda d: add(d["qrt_loss"][0]["grad_rho"][4], 1, 2e-7), "qrt_loss", "gradients", "[0].grad_rho"),
        (
            lambda d: add(d["recalibrated_distributions"][0]["recalibrated"]["quantiles"][2], 18, 2e-7),
            "recalibrated_distributions",
            "quantiles",
            "[0].recalibrated.quantiles",
        ),
        (
            lambda d: add(d["recalibrated_distributions"][2]["base"]["crps_closed_form"], 1, 2e-7),
            "recalibrated_distributions",
            "scores",
            "[2].base.crps_closed_form",
        ),
        (lambda d: add(d["pce"][0], "pce_levels", 2e-7), "pce", "scores", "[0].pce_levels"),
    ],
)
def test_a_value_off_by_twice_the_tolerance_is_found_and_named(
    reference: dict[str, Any], spoil: Callable[[dict[str, Any]], None], section: str, kind: str, place: str
) -> None:
    document = copy.deepcopy(reference)
    spoil(document)
    beyond = [finding for finding in golden.check(document) if not finding.within_tolerance]
    assert [(finding.section, finding.kind) for finding in beyond] == [(section, kind)]
    assert beyond[0].place.endswith(place)


def test_an_error_beyond_tolerance_gives_exit_status_1(
    reference: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = copy.deepcopy(reference)
    document["pce"][1]["pce_sorted"] += 0.5
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    assert golden.main([str(path)]) == 1
    assert "BEYOND TOLERANCE at pce[1].pce_sorted" in capsys.readouterr().out


def test_a_result_that_is_not_a_number_is_beyond_every_tolerance(reference: dict[str, Any]) -> None:
    document = copy.deepcopy(reference)
    document["recalibrated_distributions"][0]["sd"][0][0] = -1.0
    assert any(not finding.within_tolerance for finding in golden.check(document))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda d: d.pop("pce"), "'pce'"),
        (lambda d: d.update(qrt_loss=[]), "'qrt_loss'"),
        (lambda d: d.update(calibration_maps={"pit": []}), "'calibration_maps'"),
        (lambda d: d["calibration_maps"].append(3), r"calibration_maps\[6\] must be an object"),
        (lambda d: d["calibration_maps"][0].pop("trunc"), r"calibration_maps\[0\] has no 'trunc'"),
        (lambda d: d["calibration_maps"][0]["pit"].append("x"), r"calibration_maps\[0\].pit must be numbers"),
        (lambda d: d["calibration_maps"][0].update(pit=[]), r"calibration_maps\[0\].pit is empty"),
        (
            lambda d: d["calibration_maps"][0].update(pit=[float("nan")]),
            r"\[0\].pit holds a number that is not finite",
        ),
        (lambda d: d["calibration_maps"][0].update(pit=[1.5]), "PITs must be numbers"),
        (lambda d: d["calibration_maps"][0].update(b=0), "bandwidth"),
        (lambda d: d["calibration_maps"][0].update(b=[0.1, 0.2]), r"\[0\].b has shape"),
        (
            lambda d: d["qrt_loss"][1]["mu"][3].pop(),
            r"qrt_loss\[1\].mu must be numbers in lists of equal length",
        ),
        (lambda d: d["qrt_loss"][1]["y"].pop(), r"qrt_loss\[1\].y has shape"),
        (lambda d: d["recalibrated_distributions"][0].update(mu=[1.0]), "mu must be a table"),
        (lambda d: d["recalibrated_distributions"][0]["levels"].reverse(), "levels must be the 19 levels"),
        (lambda d: d["pce"][0].update(pce_levels=None), "pce_levels must be numbers"),
    ],
)
def test_a_file_that_is_not_in_the_format_is_refused_with_the_place(
    reference: dict[str, Any], spoil: Callable[[dict[str, Any]], None], message: str
) -> None:
    document = copy.deepcopy(reference)
    spoil(document)
    with pytest.raises(UserError, match=message):
        golden.check(document)


@pytest.mark.parametrize("content", ["", "{", "[1, 2]", "\N{SNOWMAN}"])
def test_a_file_that_cannot_be_used_gives_exit_status_2_and_a_message(
    content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "golden.json"
    path.write_text(content, encoding="utf-16")
    assert golden.main([str(path)]) == 2
    path.write_text(content, encoding="utf-8")
    assert golden.main([str(path)]) == 2
    assert golden.main([str(tmp_path / "absent.json")]) == 2
    assert golden.main([str(tmp_path)]) == 2
    messages = capsys.readouterr().err
    assert messages.count("error: ") == 4
    assert "No such file" in messages
    assert "Traceback" not in messages
