"""Write one page for people, with its text and its numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from qrt_study.plan.config import StudyConfig

if TYPE_CHECKING:
    import pandas as pd

    from qrt_study.pages.study_words import StudyWords
    from qrt_study.running.study_files import Files


def run(name: str, *, study: StudyConfig, out: Path) -> None:
    """Write the files of a page into the folder `out`."""
    import pandas as pd

    from qrt_study.pages.study_words import study_words
    from qrt_study.running.study_files import StudyFiles

    files = StudyFiles(study)
    inputs = files.page_inputs(name)
    words = study_words(study, pd.read_csv(inputs["datasets"][0]), files.datasets_with_results())
    _PAGES[name](study, inputs, words, out)


def _write(out: Path, name: str, *, html: str, markdown: str, table: pd.DataFrame) -> None:
    from qrt.atomic import write_text

    write_text(out / f"{name}.html", html)
    write_text(out / f"{name}.md", markdown)
    write_text(out / f"{name}.csv", table.to_csv(index=False))


def _scorecard(study: StudyConfig, inputs: Files, words: StudyWords, out: Path) -> None:
    from qrt_study.pages import scorecard
    from qrt_study.pages.readings import TITLE, Readings, summary_lines
    from qrt_study.verdicts.frozen import frozen_state
    from qrt_study.verdicts.verdict_job import read_verdicts

    readings, frozen = Readings(read_verdicts(inputs["verdicts"]), words), frozen_state().words
    _write(
        out,
        "scorecard",
        html=scorecard.scorecard_page(readings, frozen),
        markdown=scorecard.scorecard_markdown(readings, frozen),
        table=scorecard.scorecard_csv(readings),
    )
    print("\n".join([TITLE, *summary_lines(readings)]))


def _disagreements(study: StudyConfig, inputs: Files, words: StudyWords, out: Path) -> None:
    import pandas as pd

    from qrt.atomic import write_text
    from qrt_study.pages import disagreements
    from qrt_study.pages.changed_differences import changed_differences
    from qrt_study.pages.readings import Readings
    from qrt_study.verdicts.verdict_job import read_verdicts

    tables = {name: [pd.read_csv(path) for path in inputs[name]] for name in ("numbers", "differences")}
    numbers, differences = (pd.concat(found, ignore_index=True) for found in tables.values())
    readings, by_dataset = Readings(read_verdicts(inputs["verdicts"]), words), changed_differences(differences)
    _write(
        out,
        "disagreements",
        html=disagreements.disagreements_page(readings, numbers, by_dataset),
        markdown=disagreements.disagreements_markdown(readings, numbers, by_dataset),
        table=disagreements.disagreements_csv(readings, numbers),
    )
    write_text(out / "disagreements_by_dataset.csv", by_dataset.to_csv(index=False))


def _agreement(study: StudyConfig, inputs: Files, words: StudyWords, out: Path) -> None:
    import pandas as pd

    from qrt_study import published
    from qrt_study.figures import style
    from qrt_study.figures.agreement import draw_agreement
    from qrt_study.pages.agreement import agreement_markdown, agreement_page
    from qrt_study.results.tables import read_frames
    from qrt_study.statistics.agreement import (
        agreement_statistics,
        figure1_agreement,
        split_differences,
        time_agreement,
    )
    from qrt_study.statistics.metrics import figure_metrics
    from qrt_study.statistics.times import RELEASED, time_ratios

    methods = read_frames([Path(path) for path in inputs["methods"]], "methods")
    per_split = split_differences(methods, f"test_{figure_metrics(study.protocol)['NLL']}")
    figure2 = agreement_statistics(
        pd.read_csv(Path(inputs["differences"][0]) / "per_dataset.csv"), published.figure2(), per_split
    )
    times = time_agreement(time_ratios(pd.read_csv(inputs["times"][0]), RELEASED))
    figure1 = figure1_agreement(pd.read_csv(Path(inputs["curves"][0]) / "selected.csv"), published.figure1_marks())
    points = figure2.points.iloc[:0] if words.demonstration else figure2.points
    png = out / "agreement.png"
    with style.paper_style():
        figure = (
            style.message_figure(words.demonstration, "Agreement") if words.demonstration else draw_agreement(points)
        )
        style.add_footer(figure, f"Protocol: {words.protocol} · {words.basis}")
        style.save(figure, out / "agreement.pdf", png)
    html = agreement_page(figure2, times, figure1, words, png.read_bytes())
    _write(out, "agreement", html=html, markdown=agreement_markdown(figure2, times, figure1, words), table=points)


def _robustness(study: StudyConfig, inputs: Files, words: StudyWords, out: Path) -> None:
    import pandas as pd

    from qrt.atomic import write_text
    from qrt_study.pages.robustness import robustness_markdown, robustness_page
    from qrt_study.results.tables import read_frames
    from qrt_study.statistics.metrics import figure_metrics
    from qrt_study.statistics.robustness import robustness_statistics

    table3 = pd.read_csv(inputs["datasets"][0])
    methods = read_frames([Path(path) for path in inputs["methods"]], "methods")
    discreteness = dict(zip(table3["dataset"], table3["top10"], strict=True))
    statistics = robustness_statistics(methods, figure_metrics(study.protocol), discreteness)
    html, markdown = robustness_page(statistics, words), robustness_markdown(statistics, words)
    _write(out, "robustness", html=html, markdown=markdown, table=statistics.per_dataset)
    write_text(out / "robustness_summary.csv", statistics.summary.to_csv(index=False))


def _seeds(study: StudyConfig, inputs: Files, words: StudyWords, out: Path) -> None:
    from qrt.atomic import write_text
    from qrt.text.words import counted
    from qrt_study import published
    from qrt_study.figures import style
    from qrt_study.figures.seeds import draw_seeds
    from qrt_study.pages.seeds import seeds_markdown, seeds_page
    from qrt_study.results.tables import read_frames
    from qrt_study.statistics.metrics import figure_metrics
    from qrt_study.statistics.seeds import seed_statistics

    methods = read_frames([Path(path) for path in inputs["methods"]], "methods")
    statistics = seed_statistics(methods, figure_metrics(study.protocol))
    # Networks that are trained for a few epochs have nothing to do with the published values.
    theirs = published.figure2() if study.published and not words.demonstration else None
    with_seeds = f"{counted(len(statistics.datasets), 'dataset')} with up to {counted(statistics.seeds, 'seed')}"
    footer = [f"Protocol: {words.protocol}", words.basis, with_seeds]
    png = out / "seeds.png"
    with style.paper_style():
        figure = draw_seeds(statistics.per_dataset, statistics.per_seed, theirs)
        style.add_footer(figure, " · ".join(filter(None, [words.demonstration, *footer])))
        style.save(figure, out / "seeds.pdf", png)
    html = seeds_page(statistics, words, png.read_bytes())
    _write(out, "seeds", html=html, markdown=seeds_markdown(statistics, words), table=statistics.per_dataset)
    write_text(out / "seeds_per_seed.csv", statistics.per_seed.to_csv(index=False))
    write_text(out / "seeds_summary.csv", statistics.summary.to_csv(index=False))


_PAGES: dict[str, Callable[[StudyConfig, Files, StudyWords, Path], None]] = {
    "scorecard": _scorecard,
    "disagreements": _disagreements,
    "agreement": _agreement,
    "robustness": _robustness,
    "seeds": _seeds,
}
