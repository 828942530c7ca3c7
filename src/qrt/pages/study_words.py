"""What the pages say of a study."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from qrt.results.readings import other_preset
from qrt.study.artifacts import ARTIFACTS
from qrt.study.config import StudyConfig
from qrt.study.protocol import Protocol, describe
from qrt.text.words import counted


@dataclass(frozen=True)
class StudyWords:
    """What the pages say of a study. No dates: the same results give the same pages."""

    protocol: str  # in words (`qrt.study.protocol.describe`)
    other: str  # name of the other preset
    settings: Protocol  # the study's own switches
    datasets: int  # with results
    asked: int  # by the configuration
    splits: int
    figures: tuple[str, ...] = ()  # artifacts whose files lie beside the pages
    demonstration: bool = False  # training is shortened, or no dataset is the paper's

    @property
    def basis(self) -> str:
        """What the results are based on."""
        return f"{self.datasets} of {counted(self.asked, 'dataset')}, {counted(self.splits, 'split')}"


def study_words(study: StudyConfig, dataset_table: pd.DataFrame) -> StudyWords:
    """The words for a study whose datasets are those of Table 3."""
    return StudyWords(
        protocol=describe(study.protocol_name, study.protocol),
        other=other_preset(study),
        settings=study.protocol,
        datasets=int((dataset_table["status"] != "unavailable").sum()),
        asked=len(study.datasets),
        splits=len(study.splits),
        figures=tuple(ARTIFACTS),
        demonstration=getattr(study, "is_demonstration", False),  # a property that StudyConfig is about to get
    )
