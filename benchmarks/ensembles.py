"""Which ensemble, and which maps: networks with and without a map in training, pooled and recalibrated in several ways.

For each dataset and split, trains four networks of each kind from different starts, evaluates single ones and pools
under several post-hoc maps on the test rows, and adds the results to benchmarks/ensembles.csv. `--page` only writes the
first table of docs/ensembles.md from it. `--table` measures one of the page's other tables and prints it. Data come
from the folder QRT_MIRROR.
"""

from __future__ import annotations

import argparse
import itertools
import math
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from comparison import prepared_dataset
from ensemble_tables import TABLES
from qrt.atomic import write_text
from qrt.engine import mixture as gaussian
from qrt.engine.calibration_error import pce_levels
from qrt.engine.calibration_map import CalibrationMap, fit_map
from qrt.engine.trainer import TrainedNetwork, TrainingSettings, Variant, map_rows, train_stack
from qrt_study.data.split_store import load_split
from qrt_study.documents.written_block import markdown_table, with_block

PROJECT = Path(__file__).resolve().parent.parent
TABLE = Path(__file__).with_name("ensembles.csv")
PAGE = PROJECT / "docs/ensembles.md"

DATASETS = (
    *("Yacht", "CPU", "tecator", "MPG", "boston", "Energy", "Fish", "Concrete", "Moneyball"),
    *("MIP-2016-regression", "house_prices_nominal", "socmob", "us_crime", "Airfoil"),
)
KINDS = {
    "none": Variant(),
    "0.2": Variant(alpha=1.0, bandwidth=0.2),
    "0.5": Variant(alpha=1.0, bandwidth=0.5),
}
MEMBERS = 4
MAPS: dict[str, tuple[float | str, ...]] = {
    "none": (),
    "0.1": (0.1,),
    "0.2": (0.2,),
    "leave-one-out": ("leave-one-out",),
    "0.1, 0.1": (0.1, 0.1),
    "0.2, 0.1": (0.2, 0.1),
    "0.2, 0.2": (0.2, 0.2),
}
CANDIDATES = (0.02, 0.05, 0.1, 0.2, 0.4, 0.8)  # for leave-one-out
COVERAGES = (0.5, 0.8, 0.9, 0.95)
_SHOWN_OF_ONE = ("none", "0.1", "0.2, 0.1")

Terms = tuple[Tensor, Tensor, Tensor]  # log f(y): (n,), F(y): (n,), and F at a grid: (n, points)


def leave_one_out_bandwidth(pits: Tensor) -> float:
    """The bandwidth of REFL under which each PIT is most likely, given all others."""
    count = len(pits)

    def likelihood(bandwidth: float) -> float:
        scale = math.sqrt(3) / math.pi * bandwidth * count**-0.2
        distances = [(pits[:, None] - centres) / scale for centres in (pits, -pits, 2 - pits)]
        density = sum(torch.sigmoid(one) * torch.sigmoid(-one) / scale for one in distances)
        assert isinstance(density, Tensor)
        others = density.fill_diagonal_(0).sum(dim=1) / (count - 1)
        return float(others.clamp_min(1e-300).log().mean())

    return max(CANDIDATES, key=likelihood)


def pooled(members: Sequence[Terms]) -> Terms:
    """The linear pool of distributions."""
    log_density, pit, grid = (torch.stack(values) for values in zip(*members, strict=True))
    return torch.logsumexp(log_density, dim=0) - math.log(len(members)), pit.mean(dim=0), grid.mean(dim=0)


def with_maps(calibration: Terms, test: Terms, bandwidths: Sequence[float | str]) -> Terms:
    """The test distributions with maps fitted to the calibration rows, each on top of those before."""
    for asked in bandwidths:
        pits = calibration[1].clamp(0, 1)
        one = fit_map("REFL", pits, leave_one_out_bandwidth(pits) if isinstance(asked, str) else asked)
        calibration, test = _with_map(calibration, one), _with_map(test, one)
    return test


def scores(terms: Terms, y: Tensor, grid: Tensor, scale: float) -> dict[str, float]:
    """NLL and CRPS in the units of the target, PCE, and coverage of central intervals."""
    log_density, pit, cdf = terms
    squares = (cdf - (grid >= y[:, None]).double()).square()
    coverage = {
        f"coverage_{100 * one:g}": float(((pit >= (1 - one) / 2) & (pit <= (1 + one) / 2)).double().mean())
        for one in COVERAGES
    }
    return {
        "nll": math.log(scale) - float(log_density.mean()),
        "crps": scale * float(torch.trapezoid(squares, grid, dim=1).mean()),
        "pce": float(pce_levels(pit)),
        **coverage,
    }


def measured(name: str, split: int, folder: Path) -> list[dict[str, object]]:
    """Rows for all kinds, numbers of members and maps on one split."""
    data = load_split(prepared_dataset(name, folder), split, "unit")
    variants = [kind for kind in KINDS.values() for _ in range(MEMBERS)]
    networks = train_stack(data, variants, TrainingSettings(), 0, seeds=[*range(MEMBERS)] * len(KINDS))
    y = {part: torch.from_numpy(data.part(part)[1]).double() for part in ("train", "calibration", "test")}
    test = y["test"]
    ends = torch.linspace(float(test.min()) - 3, float(test.max()) + 3, 300, dtype=torch.float64)
    around = test[:, None] + torch.linspace(-1.5, 1.5, 201, dtype=torch.float64) ** 3
    grid = torch.cat([ends.expand(len(test), -1), around], dim=1).sort(dim=1).values
    rows = []
    for number, (kind, variant) in enumerate(KINDS.items()):
        members = networks[number * MEMBERS : (number + 1) * MEMBERS]
        calibration = [_terms(one, data.part("calibration")[0], y["calibration"]) for one in members]
        tested = [_terms(one, data.part("test")[0], test, grid) for one in members]
        for count in (1, MEMBERS):
            for first in range(0, MEMBERS, count):
                chosen = slice(first, first + count)
                base = pooled(calibration[chosen]), pooled(tested[chosen])
                found = {maps: with_maps(*base, asked) for maps, asked in MAPS.items()}
                if variant.bandwidth is not None:
                    own = [
                        _own_map(one, variant.bandwidth, data.part("train")[0], y["train"]) for one in members[chosen]
                    ]
                    of_members = [
                        pooled([_with_map(terms, one) for terms, one in zip(part[chosen], own, strict=True)])
                        for part in (calibration, tested)
                    ]
                    found["of training, then 0.1"] = with_maps(of_members[0], of_members[1], (0.1,))
                place = {"dataset": name, "split": split, "train_rows": data.sizes["train"], "bandwidth": kind}
                for maps, terms in found.items():
                    row = place | {"members": count, "first": first, "maps": maps}
                    rows.append(row | scores(terms, test, grid, data.y_scale))
    return rows


def _terms(network: TrainedNetwork, x: np.ndarray, y: Tensor, grid: Tensor | None = None) -> Terms:
    mixture = gaussian.from_outputs(network.outputs(x).double())
    each = gaussian.GaussianMixture(*(values[:, None] for values in mixture))
    points = y[:, None] if grid is None else grid
    return gaussian.log_density(mixture, y), gaussian.cdf(mixture, y), gaussian.cdf(each, points)


def _own_map(network: TrainedNetwork, bandwidth: float, x: np.ndarray, y: Tensor) -> CalibrationMap:
    """The map of training of a network, from PITs of training rows."""
    rows = map_rows(len(y), 0)
    return fit_map("REFL", _terms(network, x[rows.numpy()], y[rows])[1].clamp(0, 1), bandwidth)


def _with_map(terms: Terms, one: CalibrationMap) -> Terms:
    log_phi, mapped = one.log_density_and_cdf(terms[1].clamp(0, 1))
    return terms[0] + log_phi, mapped, one.tabulated_cdf(terms[2].clamp(0, 1))


def table(rows: pd.DataFrame) -> str:
    """Means over datasets, with QRC (no map in training, one network, one map of b = 0.1) as what is compared with."""
    keys, columns = ["bandwidth", "members", "maps"], ["nll", "crps", "pce", *_coverage_columns()]
    means = rows.groupby(["dataset", "train_rows", *keys], sort=False)[columns].mean().reset_index()
    is_qrc = (means["bandwidth"] == "none") & (means["members"] == 1) & (means["maps"] == "0.1")
    qrc = means[is_qrc].set_index("dataset")
    means["nll"] -= means["dataset"].map(qrc["nll"])
    means["crps"] /= means["dataset"].map(qrc["crps"])
    means["pce_wins"] = means["pce"] <= means["dataset"].map(qrc["pce"])
    head = ["map in training", "members", "maps on the pool", "NLL, median", "CRPS", "PCE", "PCE at most QRC's"]
    head += [f"{100 * coverage:g} % covers" for coverage in COVERAGES]
    lines = [tuple(head)]
    for (kind, members, maps), group in means.groupby(keys, sort=False):
        if members == 1 and maps not in _SHOWN_OF_ONE:
            continue
        values = [f"{group['nll'].median():+.3f}", f"{group['crps'].mean():.3f}", f"{group['pce'].mean():.3f}"]
        values += [f"{group['pce_wins'].sum()} of {len(group)}"]
        values += [f"{100 * group[name].mean():.1f}" for name in _coverage_columns()]
        lines.append((kind if kind == "none" else f"b = {kind}", str(members), maps, *values))
    return markdown_table(*lines)


def _coverage_columns() -> list[str]:
    return [f"coverage_{100 * coverage:g}" for coverage in COVERAGES]


def main() -> None:
    """Measure what is missing, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=2, help="splits 0, 1, ... of the study (default: 2)")
    parser.add_argument("--page", action="store_true", help="measure nothing, write the table")
    parser.add_argument("--out", type=Path, default=PAGE, help="the page to write the table to")
    parser.add_argument("--table", choices=TABLES, help="measure this table of the page instead, and print it")
    options = parser.parse_args()
    if options.table is not None:
        torch.set_num_threads(1)
        print(TABLES[options.table]())
        return
    rows = pd.read_csv(TABLE, dtype={"bandwidth": str}, keep_default_na=False)
    if not options.page:
        torch.set_num_threads(1)
        known = set(zip(rows["dataset"], rows["split"], strict=True))
        with tempfile.TemporaryDirectory() as folder:
            for split, name in itertools.product(range(options.splits), DATASETS):
                if (name, split) not in known:
                    rows = pd.concat([rows, pd.DataFrame(measured(name, split, Path(folder)))], ignore_index=True)
                    write_text(TABLE, rows.to_csv(index=False, float_format="%.6g"))
    write_text(options.out, with_block(PAGE.read_text(encoding="utf-8"), "ensembles", table(rows)))


if __name__ == "__main__":
    main()
