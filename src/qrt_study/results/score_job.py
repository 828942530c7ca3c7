"""Every metric from predictions alone: of the methods of the main comparison, and of other maps on their networks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

from qrt.engine import mixture as gaussian
from qrt.engine.evaluation import diverged, evaluate_chains
from qrt.engine.mixture import GaussianMixture
from qrt.engine.predictive import PredictiveDistribution
from qrt.engine.quadrature import crps_and_moments
from qrt.engine.registry import MAP_NAMES, PostHoc
from qrt_study.results.predicted_network import PredictedNetwork
from qrt_study.results.prediction_file import PredictionFile
from qrt_study.results.score_parts import best_map_gain, calibrated_pce, coverage_by_fifth, crps_parts, thresholds
from qrt_study.results.tables import SCORES, write_rows

# Ways to take a network besides the one that makes the method (row 1 of docs/protocol.md; other post-hoc maps).
_MAPS: tuple[PostHoc, ...] = ("none", *MAP_NAMES)
_ON_BASE: tuple[tuple[str, PostHoc], ...] = tuple(("base", name) for name in _MAPS)
_WAYS: dict[str, tuple[tuple[str, PostHoc], ...]] = {
    "QRC": _ON_BASE,
    "QRTC": (*_ON_BASE, ("training_map", "none"), ("training_map", "REFL")),
}
_INTERVAL = torch.tensor([0.05, 0.95], dtype=torch.float64)


def score(protocol: str, *, predictions: Path, out: Path) -> None:
    """Score the predictions on one dataset under a protocol: every metric, without data, training or network."""
    rows = list(score_rows(PredictionFile(predictions), protocol))
    write_rows(out, rows, SCORES)
    print(f"{predictions}: {len(rows)} rows under the protocol {protocol}")


def score_rows(file: PredictionFile, protocol: str) -> Iterator[dict[str, Any]]:
    """The rows of the table `scores` of one protocol."""
    torch.set_num_threads(1)
    for method in file.described["methods"]:
        if method["protocol"] != protocol:
            continue
        for split, outcome in file.described["networks"][method["network"]]["splits"].items():
            row = {"dataset": file.described["dataset"], "split": int(split), "seed": 0, "method": method["method"]}
            row |= {name: method[name] for name in ("posthoc_on", "posthoc_map")} | {"as_tuned": 1}
            row |= {"status": outcome["status"], "as_published": int(outcome["as_published"])}
            if outcome["status"] != "ok":
                yield row
                continue
            network = PredictedNetwork.of_file(file, method["network"], int(split))
            yield from (row | way for way in _ways(network, method))


def _ways(network: PredictedNetwork, method: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A network in every way: what distinguishes it, and its scores."""
    own = (method["posthoc_on"], method["posthoc_map"])
    ways = tuple(dict.fromkeys([own, *_WAYS.get(method["method"], ())]))
    mixture, y = network.part("test")
    chains = [network.chain(method, on, name) for on, name in ways]
    for (on, name), maps, metrics in zip(ways, chains, evaluate_chains(mixture, chains, y), strict=True):
        row: dict[str, Any] = {
            "posthoc_on": on,
            "posthoc_map": name,
            "as_tuned": int((on, name) == own),
            "rows": len(y),
        }
        row |= {"rows": len(y)} | {f"test_{metric}": value for metric, value in metrics.items()}
        has_density = name not in ("EMP", "DCP")
        if has_density and diverged(metrics["nll"]):
            row["status"] = "diverged"
        if has_density:
            row |= _parts(PredictiveDistribution(mixture, maps), y, metrics)
        yield row


def _parts(predictive: PredictiveDistribution, y: torch.Tensor, metrics: Mapping[str, float]) -> dict[str, float]:
    """The scores taken apart."""
    pits, points = predictive.pit(y).numpy(), thresholds(y.numpy())
    (integrals,) = crps_and_moments(predictive.mixture, [predictive.maps], y)
    low, high = predictive.quantile(_INTERVAL).T
    beyond = (low - y).clamp(min=0) + (y - high).clamp(min=0)
    gain = best_map_gain(pits)
    parts = crps_parts(metrics["crps"], cdf_at(predictive, torch.from_numpy(points)).numpy(), points, y.numpy())
    parts |= {"nll_map_gain": gain, "nll_refined": metrics["nll"] - gain}
    parts |= {"interval_score_90": float((high - low + 20 * beyond).mean())}
    parts |= coverage_by_fifth((beyond == 0).numpy(), integrals.standard_deviation.numpy())
    return {f"test_{name}": value for name, value in parts.items()} | calibrated_pce(len(y))


def cdf_at(predictive: PredictiveDistribution, points: torch.Tensor) -> torch.Tensor:
    """F'(t) of every row at every point: (n, T)."""
    means, scales, log_weights = (values.unsqueeze(1) for values in predictive.mixture)
    cdf = gaussian.cdf(GaussianMixture(means, scales, log_weights), points.expand(len(means), -1))
    for one in predictive.maps:
        cdf = one.tabulated_cdf(cdf)
    return cdf
