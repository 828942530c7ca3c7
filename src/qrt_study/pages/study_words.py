"""What the pages say of a study."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import pandas as pd

from qrt.text.words import counted
from qrt_study.data.sheet import paper_datasets
from qrt_study.plan.artifacts import ARTIFACTS
from qrt_study.plan.config import StudyConfig
from qrt_study.plan.experiments import x_scale_matters
from qrt_study.plan.protocol import OTHER_PROTOCOL, Protocol, describe

# The pages of a study lie beside each other, in the order of their menu.
PAGES = {
    "scorecard.html": "Scorecard",
    "disagreements.html": "Disagreements",
    "agreement.html": "Agreement",
    "robustness.html": "Robustness",
}
SEEDS_PAGE = {"seeds.html": "Seeds"}  # of a study with more than one seed
OWN_DATA_PAGE = {"own_data.html": "Your data"}  # of a study with data of the user's own


@dataclass(frozen=True)
class StudyWords:
    """What the pages say of a study. No dates: the same results give the same pages."""

    protocol: str  # in words (`qrt_study.plan.protocol.describe`)
    other: str  # name of the other preset
    settings: Protocol  # the study's own switches
    datasets: int  # with results
    asked: int  # by the configuration
    of_paper: int  # datasets with results that are the paper's
    splits: int
    seeds: int = 1
    has_own_data: bool = False
    figures: tuple[str, ...] = ()  # artifacts whose files lie beside the pages
    demonstration: str = ""  # what is said of a demonstration: short training, or none of the paper's datasets
    more_pages: Mapping[str, str] = field(default_factory=dict)  # of extensions, on their own menus
    affected: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # switch -> the only datasets it concerns

    @property
    def pages(self) -> dict[str, str]:
        """The pages that the study has, for their menu: file -> name."""
        seeds = SEEDS_PAGE if self.seeds > 1 else {}
        return PAGES | seeds | (OWN_DATA_PAGE if self.has_own_data else {}) | dict(self.more_pages)

    @property
    def basis(self) -> str:
        """What the results are based on."""
        paper, splits = f"of the paper's {len(paper_datasets())}", counted(self.splits, "split")
        if (self.of_paper, self.asked) == (self.datasets, len(paper_datasets())):
            return f"{self.datasets} {paper} datasets, {splits}"
        return f"{self.datasets} of {counted(self.asked, 'dataset')} ({self.of_paper} {paper}), {splits}"


def study_words(study: StudyConfig, dataset_table: pd.DataFrame, finished: Collection[str] | None = None) -> StudyWords:
    """The words for a study whose datasets are those of Table 3, of which those `finished` have results; None: all."""
    available = dataset_table[dataset_table["status"] != "unavailable"]
    if finished is not None:
        available = available[available["dataset"].isin(list(finished))]
    return StudyWords(
        protocol=describe(study.scenario, study.protocol),
        other=OTHER_PROTOCOL[study.protocol_name],
        settings=study.protocol,
        datasets=len(available),
        asked=len(study.datasets),
        of_paper=int(available["dataset"].isin(list(paper_datasets())).sum()),
        splits=len(study.splits),
        seeds=len(study.seeds),
        has_own_data=study.has_own_data,
        figures=tuple(ARTIFACTS),
        demonstration=study.demonstration,
        affected={"x_scale": tuple(name for name in available["dataset"] if x_scale_matters(name))},
    )
