"""One page for people, from the files that the rules declare to those that a page has.

Most pages have no picture, so Matplotlib is imported where one is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from qrt.atomic import write_text
from qrt.text.words import counted
from qrt_study import published
from qrt_study.figures.kinds import KINDS, comparison_of
from qrt_study.pages.agreement import agreement_page
from qrt_study.pages.block import Page
from qrt_study.pages.changed_differences import changed_differences
from qrt_study.pages.disagreements import disagreements_csv, disagreements_page
from qrt_study.pages.extension import WORDS as EXTENSION_WORDS
from qrt_study.pages.extension import Extension, extension_page
from qrt_study.pages.readings import TITLE, Readings, summary_lines
from qrt_study.pages.robustness import robustness_page
from qrt_study.pages.scorecard import scorecard_csv, scorecard_page
from qrt_study.pages.seeds import seeds_page
from qrt_study.pages.study_words import StudyWords, study_words
from qrt_study.plan.artifacts import EXTENSIONS
from qrt_study.plan.config import StudyConfig
from qrt_study.results.readings import STUDY, main_methods_of_readings
from qrt_study.running.drawn_files import has_page
from qrt_study.running.study_files import Files, StudyFiles
from qrt_study.statistics.agreement import agreement_statistics, figure1_agreement, time_agreement
from qrt_study.statistics.figure_statistics import FigureStatistics, read_summary
from qrt_study.statistics.from_predictions import COVERAGE_METRICS
from qrt_study.statistics.metrics import figure_metrics
from qrt_study.statistics.robustness import robustness_statistics
from qrt_study.statistics.seeds import seed_differences, seed_statistics
from qrt_study.statistics.switch_seeds import switch_differences
from qrt_study.statistics.times import RELEASED, time_ratios
from qrt_study.verdicts.frozen import frozen_state
from qrt_study.verdicts.verdict_job import read_verdicts

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def write_page(name: str, *, study: StudyConfig, out: Path) -> None:
    """Write the files of a page into the folder `out`: HTML, Markdown, and its numbers as CSV."""
    files = StudyFiles(study)
    inputs = files.page_inputs(name)
    words = study_words(study, pd.read_csv(inputs["datasets"][0]), files.datasets_with_results())
    for end, content in _PAGES[name](files, inputs, words, out):
        if isinstance(content, Page):
            write_text(out / f"{name}.html", content.html)
            write_text(out / f"{name}.md", content.markdown)
        else:
            write_text(out / f"{name}{end}.csv", content.to_csv(index=False))


# The page itself and its tables, by the ends of their names.
Contents = Iterator[tuple[str, Page | pd.DataFrame]]


def _scorecard(files: StudyFiles, inputs: Files, words: StudyWords, out: Path) -> Contents:
    readings = Readings(read_verdicts(inputs["verdicts"]), words)
    yield "", scorecard_page(readings, frozen_state().words)
    yield "", scorecard_csv(readings)
    print("\n".join([TITLE, *summary_lines(readings)]))


def _disagreements(files: StudyFiles, inputs: Files, words: StudyWords, out: Path) -> Contents:
    tables = {name: [pd.read_csv(path) for path in inputs[name]] for name in ("numbers", "differences")}
    numbers, differences = (pd.concat(found, ignore_index=True) for found in tables.values())
    readings = Readings(read_verdicts(inputs["verdicts"]), words)
    by_dataset = changed_differences(differences, _over_seeds(files))
    yield "", disagreements_page(readings, numbers, by_dataset)
    yield "", disagreements_csv(readings, numbers)
    yield "_by_dataset", by_dataset


def _over_seeds(files: StudyFiles) -> pd.DataFrame:
    """What switches change where both settings have several seeds."""
    runs = files.read(files.places_from_all_seeds(), "runs").to_pandas()
    methods = main_methods_of_readings(runs, files.study) if len(runs) else {}
    return switch_differences(methods, STUDY, figure_metrics(files.study.protocol)["NLL"])


def _agreement(files: StudyFiles, inputs: Files, words: StudyWords, out: Path) -> Contents:
    from qrt_study.figures import style
    from qrt_study.figures.agreement import draw_agreement

    nll = {"NLL": figure_metrics(files.study.protocol)["NLL"]}
    per_split = seed_differences(files.frames(inputs["methods"], "methods"), nll)
    per_dataset = pd.read_csv(Path(inputs["differences"][0]) / "per_dataset.csv")
    figure2 = agreement_statistics(per_dataset, published.figure2(), per_split)
    times = time_agreement(time_ratios(pd.read_csv(inputs["times"][0]), RELEASED))
    figure1 = figure1_agreement(pd.read_csv(Path(inputs["curves"][0]) / "selected.csv"), published.figure1_marks())
    points = figure2.points.iloc[:0] if words.demonstration else figure2.points

    def draw() -> Figure:
        return style.message_figure(words.demonstration, "Agreement") if words.demonstration else draw_agreement(points)

    picture = _picture(draw, f"Protocol: {words.protocol} · {words.basis}", out / "agreement")
    yield "", agreement_page(figure2, times, figure1, words, picture)
    yield "", points


def _robustness(files: StudyFiles, inputs: Files, words: StudyWords, out: Path) -> Contents:
    table3, methods = pd.read_csv(inputs["datasets"][0]), files.frames(inputs["methods"], "methods")
    discreteness = dict(zip(table3["dataset"], table3["top10"], strict=True))
    statistics = robustness_statistics(methods, figure_metrics(files.study.protocol), discreteness)
    yield "", robustness_page(statistics, words)
    yield "", statistics.per_dataset
    yield "_summary", statistics.summary


def _seeds(files: StudyFiles, inputs: Files, words: StudyWords, out: Path) -> Contents:
    from qrt_study.figures.seeds import draw_seeds

    methods = files.frames(inputs["methods"], "methods")
    statistics = seed_statistics(methods, figure_metrics(files.study.protocol))
    # Networks that are trained for a few epochs have nothing to do with the published values.
    theirs = published.figure2() if files.study.published and not words.demonstration else None
    with_seeds = f"{counted(len(statistics.datasets), 'dataset')} with up to {counted(statistics.seeds, 'seed')}"
    footer = " · ".join(filter(None, [words.demonstration, f"Protocol: {words.protocol}", words.basis, with_seeds]))
    picture = _picture(lambda: draw_seeds(statistics.per_dataset, statistics.per_seed, theirs), footer, out / "seeds")
    yield "", seeds_page(statistics, words, picture)
    yield "", statistics.per_dataset
    yield "_per_seed", statistics.per_seed
    yield "_summary", statistics.summary


def _extension(files: StudyFiles, inputs: Files, words: StudyWords, out: Path) -> Contents:
    from qrt_study.figures.comparison import draw_comparison
    from qrt_study.figures.gains import draw_gains

    folder = Path(inputs["statistics"][0])
    statistics = FigureStatistics.read(folder, KINDS[folder.name].tables)
    extension = Extension(EXTENSION_WORDS[folder.name], statistics.tables)

    def draw() -> Figure:
        if folder.name == "gains":
            return draw_gains(extension.per_dataset)
        one, question = comparison_of(EXTENSIONS[folder.name]), extension.words.question
        metrics = tuple(COVERAGE_METRICS) if folder.name == "coverage" else one.metrics
        return draw_comparison(statistics, title=question, metrics=metrics, baseline=one.baseline.label, bars=one.bars)

    picture = _picture(draw, read_summary(folder)["footer"], out / folder.name)
    menu = {f"{one}.html": said.title for one, said in EXTENSION_WORDS.items() if has_page(one, files)}
    yield "", extension_page(extension, replace(words, more_pages=menu), picture)
    yield "", extension.per_dataset
    yield "_summary", extension.summary
    yield from ((f"_{name}", statistics.tables[name]) for name in ("intervals", "ways") if name in statistics.tables)


def _picture(draw: Callable[[], Figure], footer: str, path: Path) -> bytes:
    """The picture of a page, which is also beside it."""
    from qrt_study.figures import style

    png = path.with_suffix(".png")
    with style.paper_style():
        figure = draw()
        style.add_footer(figure, footer)
        style.save(figure, path.with_suffix(".pdf"), png)
    return png.read_bytes()


_PAGES: dict[str, Callable[[StudyFiles, Files, StudyWords, Path], Contents]] = {
    "scorecard": _scorecard,
    "disagreements": _disagreements,
    "agreement": _agreement,
    "robustness": _robustness,
    "seeds": _seeds,
    **dict.fromkeys(EXTENSION_WORDS, _extension),
}
