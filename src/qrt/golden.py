"""Check the engine against golden values: `python -m qrt.golden FILE.json`.

The file has the format of the published reference values: four lists, `calibration_maps`,
`recalibrated_distributions`, `qrt_loss` and `pce`, of inputs and the outputs they must give. Kernel widths
are the released ones (docs/protocol.md, row 2). Prints the largest absolute error per section and kind of
value. Exit status: 0 all within tolerance, 1 an error beyond it, 2 the file cannot be used.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from qrt.engine import mixture as gaussian
from qrt.engine.calibration_error import pce_levels, pce_sorted
from qrt.engine.calibration_map import fit_map
from qrt.engine.kernel import kernel_scale
from qrt.engine.mixture import GaussianMixture
from qrt.engine.objective import qrt_loss
from qrt.engine.predictive import PredictiveDistribution
from qrt.engine.registry import MapName
from qrt.engine.scores import LEVELS, weighted_interval_score
from qrt.errors import UserError

TOLERANCES = {
    "maps": 1e-8,
    "log-densities": 1e-8,
    "loss": 1e-9,
    "gradients": 1e-7,
    "quantiles": 1e-7,
    "scores": 1e-7,
}


@dataclass(frozen=True)
class Finding:
    """Largest absolute error of one kind of value in one section, and where in the file it is."""

    section: str
    kind: str
    error: float
    place: str

    @property
    def within_tolerance(self) -> bool:
        """False also for an error that is NaN."""
        return self.error <= TOLERANCES[self.kind]


class Entry:
    """One object of the file that knows its place in it, so that errors can name it."""

    def __init__(self, content: Any, place: str) -> None:
        if not isinstance(content, dict):
            raise UserError(f"{place} must be an object with named values, not {type(content).__name__}")
        self.content, self.place = content, place

    def _get(self, key: str) -> Any:
        if key not in self.content:
            raise UserError(f"{self.place} has no {key!r}; it has {', '.join(self.content) or 'nothing'}")
        return self.content[key]

    def entry(self, key: str) -> Entry:
        """The object under `key`."""
        return Entry(self._get(key), f"{self.place}.{key}")

    def numbers(self, key: str, like: Tensor | None = None) -> Tensor:
        """The number, list or table of numbers under `key`, in float64; with `like`, of that shape."""
        place = f"{self.place}.{key}"
        try:
            values = torch.tensor(self._get(key), dtype=torch.float64)
        except (TypeError, ValueError, OverflowError, RuntimeError) as error:
            raise UserError(f"{place} must be numbers in lists of equal length: {error}") from error
        if values.numel() == 0:
            raise UserError(f"{place} is empty")
        if not bool(values.isfinite().all()):
            raise UserError(f"{place} holds a number that is not finite")
        if like is not None and values.shape != like.shape:
            raise UserError(f"{place} has shape {tuple(values.shape)}; {tuple(like.shape)} would fit the other values")
        return values

    def number(self, key: str) -> float:
        """The single number under `key`."""
        return float(self.numbers(key, like=torch.zeros(())))

    def mixture_inputs(self, scale_key: str) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """`mu`, the scale parameters and `logits`: (N, K), and `y`: (N,)."""
        means = self.numbers("mu")
        if means.dim() != 2 or means.numel() == 0:
            raise UserError(f"{self.place}.mu must be a table of rows and components, not {tuple(means.shape)}")
        scales, logits = self.numbers(scale_key, like=means), self.numbers("logits", like=means)
        return means, scales, logits, self.numbers("y", like=means[:, 0])


CheckedValue = tuple[str, str, Tensor, Tensor]  # kind of value, place, expected, computed


def _compare(entry: Entry, kind: str, key: str, computed: Tensor) -> CheckedValue:
    return kind, f"{entry.place}.{key}", entry.numbers(key, like=computed), computed


def _calibration_map(case: Entry) -> Iterator[CheckedValue]:
    points, bandwidth = case.numbers("x"), case.number("b")
    names: tuple[tuple[str, MapName], ...] = (("refl", "REFL"), ("trunc", "TRUNC"), ("kde", "KDE"))
    for key, name in names:
        fitted, expected = fit_map(name, case.numbers("pit"), bandwidth, "scale"), case.entry(key)
        yield _compare(expected, "maps", "cdf", fitted.cdf(points))
        yield _compare(expected, "log-densities", "log_pdf", fitted.log_density(points))


def _recalibrated_distribution(case: Entry) -> Iterator[CheckedValue]:
    means, scales, logits, y = case.mixture_inputs("sd")
    if not torch.allclose(case.numbers("levels", like=LEVELS), LEVELS, rtol=0, atol=1e-9):
        raise UserError(f"{case.place}.levels must be the 19 levels 0.05, 0.10, .., 0.95")
    mixture = GaussianMixture(means, scales, torch.log_softmax(logits, dim=-1))
    post_hoc = fit_map("REFL", case.numbers("cal_pit"), case.number("b"), "scale")
    for key, maps in (("base", ()), ("recalibrated", (post_hoc,))):
        expected, predictive = case.entry(key), PredictiveDistribution(mixture, maps)
        log_density, pit = predictive.log_density_and_pit(y)
        quantiles = predictive.quantile(LEVELS)
        yield _compare(expected, "log-densities", "log_pdf", log_density)
        yield _compare(expected, "maps", "pit", pit)
        yield _compare(expected, "quantiles", "quantiles", quantiles)
        yield _compare(expected, "scores", "wis", weighted_interval_score(quantiles, y))
        if maps:
            yield _compare(expected, "scores", "sd_from_quantiles", quantiles.std(dim=1))
        else:
            yield _compare(expected, "scores", "crps_closed_form", gaussian.crps(mixture, y))
            yield _compare(expected, "scores", "mean", gaussian.mean(mixture))
            yield _compare(expected, "scores", "sd", gaussian.standard_deviation(mixture))


def _qrt_loss(case: Entry) -> Iterator[CheckedValue]:
    means, rho, logits, y = case.mixture_inputs("rho")
    inputs = [values.requires_grad_() for values in (means, rho, logits)]
    scale = kernel_scale(case.number("b"), len(y), "scale")
    loss = qrt_loss(gaussian.from_outputs(torch.cat(inputs, dim=1)), y, case.number("alpha"), scale)
    yield _compare(case, "loss", "loss", loss.detach())
    gradients = torch.autograd.grad(loss, inputs)
    for key, gradient in zip(("grad_mu", "grad_rho", "grad_logits"), gradients, strict=True):
        yield _compare(case, "gradients", key, gradient)


def _pce(case: Entry) -> Iterator[CheckedValue]:
    pits = case.numbers("pit")
    yield _compare(case, "scores", "pce_sorted", pce_sorted(pits))
    yield _compare(case, "scores", "pce_levels", pce_levels(pits))


SECTIONS: dict[str, Callable[[Entry], Iterator[CheckedValue]]] = {
    "calibration_maps": _calibration_map,
    "recalibrated_distributions": _recalibrated_distribution,
    "qrt_loss": _qrt_loss,
    "pce": _pce,
}


def check(document: Any) -> list[Finding]:
    """The largest error per section and kind of value, for the parsed content of a golden file."""
    top = Entry(document, "the file")
    worst: dict[tuple[str, str], Finding] = {}
    for section, compare in SECTIONS.items():
        cases = top.content.get(section)
        if not isinstance(cases, list) or not cases:
            raise UserError(f"the file has no list {section!r} with values to check; it needs {', '.join(SECTIONS)}")
        for number, case in enumerate(cases):
            for kind, place, expected, computed in compare(Entry(case, f"{section}[{number}]")):
                # NaN must not hide behind a comparison: it counts as infinitely wrong.
                error = float((computed - expected).abs().nan_to_num(nan=torch.inf).max())
                best = worst.get((section, kind))
                if best is None or error > best.error:
                    worst[section, kind] = Finding(section, kind, error, place)
    return list(worst.values())


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"it cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise UserError(f"it is not JSON: {error}") from error


def main(arguments: list[str] | None = None) -> int:
    """Run the check from the command line and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m qrt.golden", description="Check the engine against golden values.")
    parser.add_argument("file", type=Path, metavar="FILE.json", help="reference values")
    path = parser.parse_args(arguments).file
    try:
        findings = check(_read(path))
    except UserError as error:
        print(f"error: {path}: {error}", file=sys.stderr)
        return 2
    for finding in findings:
        verdict = "ok" if finding.within_tolerance else f"BEYOND TOLERANCE at {finding.place}"
        print(
            f"{finding.section:27} {finding.kind:14} largest error {finding.error:8.1e}  "
            f"tolerance {TOLERANCES[finding.kind]:.0e}  {verdict}"
        )
    return 0 if all(finding.within_tolerance for finding in findings) else 1


if __name__ == "__main__":
    sys.exit(main())
