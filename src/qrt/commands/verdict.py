"""Commands about the verdict: judge every claim, write the pages; no PyTorch."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from qrt.pages.readings import StudyWords


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add these commands to the parser."""
    verdicts = commands.add_parser("verdicts", help="judge every claim of the paper under every reading")
    verdicts.add_argument("--study", type=json.loads, required=True, help="the study's facts as JSON")
    verdicts.add_argument("--results", type=Path, required=True, help="folder of the study's result tables")
    verdicts.add_argument("--datasets", type=Path, required=True, help="Table 3 as CSV")
    verdicts.add_argument("--networks", type=Path, required=True, help="folder of the training jobs' results")
    verdicts.add_argument("--other-families", nargs="*", default=[], help="families trained for other readings")
    verdicts.add_argument("--verdicts", type=Path, required=True)
    verdicts.add_argument("--numbers", type=Path, required=True)
    verdicts.set_defaults(run=_verdicts)

    scorecard = commands.add_parser("scorecard", help="write the scorecard and the page of disagreements")
    scorecard.add_argument("--study", type=json.loads, required=True)
    scorecard.add_argument("--datasets", type=Path, required=True, help="Table 3 as CSV")
    scorecard.add_argument("--verdicts", type=Path, required=True)
    scorecard.add_argument("--numbers", type=Path, required=True)
    scorecard.add_argument("--out", type=Path, required=True, help="folder for scorecard.* and disagreements.*")
    scorecard.add_argument("--landing", type=Path, required=True, help="text of the report's first page")
    scorecard.set_defaults(run=_scorecard)

    agreement = commands.add_parser("agreement", help="compare our values with the published ones")
    agreement.add_argument("--study", type=json.loads, required=True)
    agreement.add_argument("--datasets", type=Path, required=True, help="Table 3 as CSV")
    agreement.add_argument("--differences", type=Path, required=True, help="statistics of Figure 2")
    agreement.add_argument("--selected", type=Path, required=True, help="statistics of Figure 1")
    agreement.add_argument("--times", type=Path, required=True, help="Table 2 as CSV")
    agreement.add_argument("--out", type=Path, required=True, help="folder for agreement.*")
    agreement.set_defaults(run=_agreement)


def _verdicts(options: argparse.Namespace) -> None:
    import pandas as pd

    from qrt.atomic import write_text
    from qrt.config import StudyConfig
    from qrt.result_tables import read_frames
    from qrt.verdict_job import Pool, judge_readings

    study = StudyConfig.from_facts(options.study)

    def everything(kind: str) -> pd.DataFrame:
        others = [
            options.networks / dataset / f"split{split}" / f"{family}.{kind}.parquet"
            for family in options.other_families
            for dataset in study.datasets
            for split in study.splits
        ]
        return read_frames([options.results / f"{kind}.parquet", *others], kind)

    pool = Pool(
        **{kind: everything(kind) for kind in ("runs", "curves", "predictions")},
        **{kind: read_frames([options.results / f"{kind}.parquet"], kind) for kind in ("methods", "times", "maps")},
        dataset_table=pd.read_csv(options.datasets),
    )
    verdicts, numbers = judge_readings(study, pool, log=print)
    write_text(options.verdicts, verdicts.to_csv(index=False))
    write_text(options.numbers, numbers.to_csv(index=False))


def _scorecard(options: argparse.Namespace) -> None:
    import pandas as pd

    from qrt.atomic import write_text
    from qrt.pages import disagreements, scorecard
    from qrt.pages.landing import landing_page
    from qrt.pages.readings import summary_lines
    from qrt.verdict_job import read_verdicts

    verdicts, numbers = read_verdicts(options.verdicts), pd.read_csv(options.numbers)
    study = _study_words(options)
    write_text(options.out / "scorecard.csv", scorecard.scorecard_csv(verdicts).to_csv(index=False))
    write_text(options.out / "scorecard.html", scorecard.scorecard_page(verdicts, study))
    write_text(options.out / "scorecard.md", scorecard.scorecard_markdown(verdicts, study))
    table = disagreements.disagreements_csv(verdicts, numbers, study)
    write_text(options.out / "disagreements.csv", table.to_csv(index=False))
    write_text(options.out / "disagreements.html", disagreements.disagreements_page(verdicts, numbers, study))
    write_text(options.out / "disagreements.md", disagreements.disagreements_markdown(verdicts, numbers, study))
    lines = summary_lines(verdicts, study)
    write_text(options.landing, landing_page(lines))
    print("\n".join(lines))


def _agreement(options: argparse.Namespace) -> None:
    import pandas as pd

    from qrt import published
    from qrt.atomic import write_text
    from qrt.figures import style
    from qrt.figures.agreement import draw_agreement
    from qrt.pages.agreement import agreement_markdown, agreement_page
    from qrt.statistics.agreement import agreement_statistics, figure1_agreement, time_agreement
    from qrt.statistics.times import time_ratios

    figure2 = agreement_statistics(pd.read_csv(options.differences), published.figure2())
    times = time_agreement(time_ratios(pd.read_csv(options.times)))
    figure1 = figure1_agreement(pd.read_csv(options.selected), published.figure1_marks())
    study = _study_words(options)
    pdf, png = options.out / "agreement.pdf", options.out / "agreement.png"
    with style.paper_style():
        figure = draw_agreement(figure2.points)
        style.add_footer(figure, f"Protocol: {study.protocol} · {study.basis}")
        style.save(figure, pdf, png)
    page = agreement_page(figure2, times, figure1, study, png.read_bytes())
    write_text(options.out / "agreement.html", page)
    write_text(options.out / "agreement.md", agreement_markdown(figure2, times, figure1, study))
    write_text(options.out / "agreement.csv", figure2.points.to_csv(index=False))


def _study_words(options: argparse.Namespace) -> StudyWords:
    import pandas as pd

    from qrt.config import StudyConfig
    from qrt.figures_plan import ARTIFACTS
    from qrt.pages.readings import StudyWords
    from qrt.protocol import describe
    from qrt.readings import other_preset

    study = StudyConfig.from_facts(options.study)
    status = pd.read_csv(options.datasets)["status"]
    return StudyWords(
        protocol=describe(study.protocol_name, study.protocol),
        other=other_preset(study),
        settings=study.protocol,
        datasets=int((status != "unavailable").sum()),
        asked=len(study.datasets),
        splits=len(study.splits),
        figures=tuple(ARTIFACTS),
    )
