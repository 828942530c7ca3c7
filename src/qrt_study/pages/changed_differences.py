"""What a disagreement of paper and code changes on single datasets: test NLL minus that of BASE, ours and published."""

from __future__ import annotations

import numpy as np
import pandas as pd

from qrt.text.words import count
from qrt_study.pages.readings import beside
from qrt_study.pages.value_table import Shown, numbers, plain, with_error
from qrt_study.plan.switches import SWITCHES
from qrt_study.published import figure2

MOST = 6  # rows of a switch that a page shows
FEWEST = 6  # values from which a distance to the published ones is told
CHANGED_DIFFERENCES: dict[str, str] = {
    "row": "number of the disagreement (docs/protocol.md)",
    "switch": "name of the switch",
    "method": "method of the main comparison",
    "dataset": "name of the dataset",
    "before": "test NLL of the method minus that of BASE in this study, mean over splits",
    "before_standard_error": "its standard error over splits",
    "after": "the same with the switch changed",
    "after_standard_error": "its standard error over splits",
    "seeds": "random starts that both settings have; means are those over splits of the means over these",
    "published": "the published difference (Figure 2); missing where there is none",
    "published_standard_error": "its standard error",
}
SHOWN: tuple[Shown, ...] = (
    plain("Dataset", "dataset"),
    plain("Method", "method"),
    with_error("This study", "before"),
    with_error("Switch changed", "after"),
    numbers("Seeds", "seeds", count),
    with_error("Published", "published"),
)
CAPTION = (
    "Test NLL minus that of BASE on the datasets that change most (± standard error over splits), means over the seeds "
    "that both settings have"
)


def changed_differences(differences: pd.DataFrame, over_seeds: pd.DataFrame) -> pd.DataFrame:
    """The differences that a switch changes, each switch's largest change first: CHANGED_DIFFERENCES.

    `differences` are those of the reported seed, `over_seeds` (`statistics.switch_seeds`) takes their place where both
    settings have been trained from several.
    """
    place = ["method", "dataset"]
    published = figure2().rename(columns={"difference": "published", "standard_error": "published_standard_error"})
    published = published[[*place, "published", "published_standard_error"]]
    parts = []
    for switch in SWITCHES.values():
        before, after = (
            differences[differences["reading"] == reading]
            .rename(columns={"difference": name, "standard_error": f"{name}_standard_error"})
            .drop(columns=["reading", "splits"])
            for reading, name in ((beside(differences, switch.name), "before"), (switch.name, "after"))
        )
        of_one = before.merge(after, on=place).assign(seeds=1)
        of_all = over_seeds[over_seeds["switch"] == switch.name].drop(columns="switch")
        of_all = of_all.merge(of_one[place], on=place)  # the datasets that the comparison is of
        both = pd.concat([of_all, of_one]).drop_duplicates(place).merge(published, on=place, how="left")
        change = (both["after"] - both["before"]).abs()
        ranked = both.assign(change=change).sort_values("change", ascending=False, kind="stable")
        parts.append(ranked[ranked["change"] > 0].assign(row=switch.row, switch=switch.name))
    return pd.concat(parts, ignore_index=True)[list(CHANGED_DIFFERENCES)]


def largest(by_dataset: pd.DataFrame, switch: str) -> pd.DataFrame:
    """The rows of one switch that a page shows."""
    return by_dataset[by_dataset["switch"] == switch].head(MOST)


def distances_to_published(by_dataset: pd.DataFrame) -> pd.DataFrame:
    """How far the values that a switch changes are from the published ones: row, switch, values, and before and after.

    Distances are in units of the joint standard errors: their median, and how many are beyond two. A mean would be that
    of a single dataset, where errors are small and values far apart.
    """
    compared = by_dataset[by_dataset["published_standard_error"].notna()]
    found = [
        {"row": row, "switch": switch, "values": len(here)}
        | {f"{name}_{when}": value for when in ("before", "after") for name, value in _distance(here, when).items()}
        for (row, switch), here in compared.groupby(["row", "switch"])
        if len(here) >= FEWEST
    ]
    columns = [f"{name}_{when}" for when in ("before", "after") for name in ("median", "beyond_two")]
    return pd.DataFrame(found, columns=["row", "switch", "values", *columns])


def _distance(rows: pd.DataFrame, when: str) -> dict[str, float]:
    errors = np.hypot(rows[f"{when}_standard_error"], rows["published_standard_error"])
    distances = ((rows[when] - rows["published"]) / errors).abs()
    return {"median": float(distances.median()), "beyond_two": int((distances > 2).sum())}
