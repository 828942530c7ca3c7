"""Studies whose truth is known, for the operating characteristics of the verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from qrt_study import published
from qrt_study.data.sheet import paper_datasets
from qrt_study.plan.protocol import PROTOCOLS
from qrt_study.verdicts.claim import Claim, paper_claims
from qrt_study.verdicts.evidence import Evidence, StudyStatistics
from qrt_study.verdicts.judge import judge
from support.mock_results import PAPER_METHODS, mock_methods

SPLITS = 5
# The datasets of the mirror: 45 of the paper's 57, 35 of its 44 that are not discrete.
MIRROR = (
    *("Ailerons", "Airfoil", "Bike_Sharing_Demand", "Brazilian_houses", "CPU", "Concrete", "Crime", "Energy", "Fish"),
    *("Kin8nm", "MIP-2016-regression", "MPG", "Mercedes_Benz_Greener_Manufacturing", "MiamiHousing2016", "Moneyball"),
    *("Naval", "Power", "Protein", "SAT11-HAND-runtime-regression", "SGEMM_GPU_kernel_performance"),
    *("Santander_transaction_value", "Yacht", "abalone", "analcatdata_supreme", "boston", "california", "colleges"),
    *("cpu_act", "diamonds", "elevators", "fifa", "house_16H", "house_prices_nominal", "house_sales", "isolet"),
    *("nyc-taxi-green-dec-2016", "pol", "quake", "socmob", "space_ga", "sulfur", "tecator", "us_crime"),
    *("visualizing_soil", "wine_quality"),
)
# What the paper says of Figure 2, and of the rank tests of the same numbers.
FIGURE2_CLAIMS = ("C07", "C10", "C51", "C52", "C53", "C54", "C68", "C71")


def dataset_table(names: Sequence[str]) -> pd.DataFrame:
    """Table 3 with the published values; datasets that are not the paper's are not discrete."""
    sheet = paper_datasets()
    rows = []
    for name in names:
        known = sheet.get(name)
        rows.append(
            {
                "dataset": name,
                "group": known.group if known else "own",
                "train_rows": known.published.train_rows if known else 100,
                "top10": known.published.top10 if known else 0.1,
                "published_top10": known.published.top10 if known else None,
                "duplicates": known.published.duplicates if known else 0.1,
                "status": "verified" if known else "not in the paper",
                "reason": "",
            }
        )
    columns = ["dataset", "group", "train_rows", "top10", "published_top10", "duplicates", "status", "reason"]
    return pd.DataFrame(rows, columns=columns)


def figure2_study(effect: float, generator: np.random.Generator, names: Sequence[str] = MIRROR) -> Evidence:
    """Test NLL of BASE, QRC and QRTC: the published differences times `effect`, with the published standard errors."""
    figure = published.figure2()
    figure = figure[figure["dataset"].isin(names)]
    errors = figure["standard_error"].to_numpy()[:, None] * np.sqrt(SPLITS)
    values = effect * figure["difference"].to_numpy()[:, None] + errors * generator.standard_normal(
        (len(figure), SPLITS)
    )
    datasets = figure["dataset"].drop_duplicates()
    methods = pd.DataFrame(
        {
            "method": np.concatenate([np.repeat(figure["method"], SPLITS), ["BASE"] * (SPLITS * len(datasets))]),
            "dataset": np.concatenate([np.repeat(figure["dataset"], SPLITS), np.repeat(datasets, SPLITS)]),
            "split": np.tile(np.arange(SPLITS), len(figure) + len(datasets)),
            "test_nll": np.concatenate([values.ravel(), np.zeros(SPLITS * len(datasets))]),
        }
    ).assign(experiment="main", status="ok", reason="")
    return Evidence(methods, PROTOCOLS["paper"], tuple(datasets), dataset_table(list(datasets)))


def study_without_effect(seed: int, names: Sequence[str] = MIRROR) -> Evidence:
    """All experiments of the paper with methods that do not differ in anything."""
    effects = {(experiment, method): 0.0 for experiment, methods in PAPER_METHODS.items() for method in methods}
    methods = mock_methods(names, effects, SPLITS, seed)
    return Evidence(methods, PROTOCOLS["paper"], tuple(names), dataset_table(names))


def named_claims(*ids: str) -> list[Claim]:
    """The claims of these numbers."""
    return [claim for claim in paper_claims() if claim.id in ids]


def figure2_verdicts(effect: float, studies: int, names: Sequence[str] = MIRROR, seed: int = 0) -> pd.DataFrame:
    """The verdicts on the claims of Figure 2 in many studies: studies x claims."""
    generator, claims = np.random.default_rng(seed), named_claims(*FIGURE2_CLAIMS)

    def rows() -> Iterator[dict[str, str]]:
        for _ in range(studies):
            judged = judge(claims, StudyStatistics(figure2_study(effect, generator, names)))
            yield dict(zip(judged["id"], judged["verdict"], strict=True))

    return pd.DataFrame(rows())
