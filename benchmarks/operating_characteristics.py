"""The tables of docs/verdict.md that say how often verdicts are right where the truth is known.

    PYTHONPATH=src:tests python benchmarks/operating_characteristics.py [--studies 200] [--draws 1000]

Takes some minutes. Figure 2: its published differences (or none, or their opposite) as truth, its standard errors as
noise, judged on the datasets of the mirror, on all of the paper's and on those of UCI. Rules: results without effect.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
import pandas as pd

from qrt_study.data.sheet import paper_datasets
from qrt_study.verdicts.verdict import VERDICTS
from support.rules_without_effect import WITHOUT_EFFECT
from support.simulated_studies import MIRROR, figure2_verdicts

SHOWN = {
    "C51": "C51: below BASE on most datasets",
    "C52": "C52: below QRC on most datasets",
    "C53": "C53: significantly ahead of BASE",
    "C54": "C54: significantly ahead of QRC",
    "C68": "C68: BASE and QRC are level",
}
TRUTHS = {1.0: "as published", 0.0: "no effect", -1.0: "opposite"}


def datasets_at_hand() -> dict[str, Sequence[str]]:
    sheet = paper_datasets()
    uci = tuple(name for name, row in sheet.items() if row.group == "uci")
    return {"mirror (35)": MIRROR, "paper (44)": tuple(sheet), "UCI (11)": uci}


def figure2_table(studies: int) -> pd.DataFrame:
    rows = []
    for effect, truth in TRUTHS.items():
        for name, datasets in datasets_at_hand().items():
            found = figure2_verdicts(effect, studies, datasets)
            for claim, words in SHOWN.items():
                shares = {word: f"{found[claim].eq(word).mean():.0%}" for word in VERDICTS[:5]}
                rows.append({"claim": words, "truth": truth, "datasets": name} | shares)
    return pd.DataFrame(rows).sort_values(["claim", "truth"], kind="stable")


def rules_table(draws: int) -> pd.DataFrame:
    rows = []
    for place, (rule, (draw, wrong)) in enumerate(WITHOUT_EFFECT.items()):
        generator = np.random.default_rng(place)
        words = pd.Series([draw(generator).verdict for _ in range(draws)])
        shares = {word: f"{words.eq(word).mean():.1%}" for word in VERDICTS[:5]}
        rows.append({"rule": rule, "wrong would be": wrong} | shares)
    return pd.DataFrame(rows)


def markdown(table: pd.DataFrame) -> str:
    lines = [table.columns.tolist(), ["---"] * len(table.columns), *table.to_numpy().tolist()]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("--draws", type=int, default=1000)
    options = parser.parse_args()
    print(markdown(figure2_table(options.studies)), markdown(rules_table(options.draws)), sep="\n\n")


if __name__ == "__main__":
    main()
