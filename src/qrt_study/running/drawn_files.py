"""What a call without a target makes: the files behind `draw:` of the configuration."""

from __future__ import annotations

from collections.abc import Iterator

from qrt.errors import UserError
from qrt_study.plan.artifacts import ARTICLE, EXPLORER, FIGURES, FROM_SCORES, RESULTS, TABLES
from qrt_study.plan.protocol import PROTOCOLS, switch_of
from qrt_study.running.study_files import StudyFiles

_COLLECTED = ("runs", "methods", "curves", "predictions", "times")


def drawn(files: StudyFiles) -> list[str]:
    """The files of figures, tables, pages and result tables that a scenario is to have."""
    return [path for name in files.study.draw for path in _files_of(name, files)]


def _files_of(name: str, files: StudyFiles) -> Iterator[str]:
    scenario, layout = files.study.scenario, files.layout
    if name == RESULTS:
        yield from (layout.table(scenario, kind) for kind in _COLLECTED)
    elif name in FIGURES or name in TABLES:
        forms = ("pdf", "png") if name in FIGURES else ("csv", "tex", "md")
        yield from (layout.figure(scenario, name, form) for form in forms)
    elif name in (EXPLORER, ARTICLE):  # once, for all scenarios
        if scenario == files.study.scenarios[0] and (name == EXPLORER or _has_article(files)):
            yield layout.explorer if name == EXPLORER else layout.article
    elif not switch_of(scenario) and has_page(name, files):  # a switch is part of the pages of its protocol
        yield layout.figure(scenario, name, "html")


def _has_article(files: StudyFiles) -> bool:
    """Whether the study is the published one, which the article is about."""
    study = files.study
    is_published = study.networks == "published" and set(PROTOCOLS) <= set(study.scenarios) and len(study.seeds) > 1
    if not is_published and study.draw == (ARTICLE,):
        raise UserError(
            "Configuration: draw: the article is about the published results: --configfile replication/study.yaml"
        )
    return is_published


def has_page(page: str, files: StudyFiles) -> bool:
    """Whether a study is to have a page."""
    study = files.study
    asked_alone = study.draw == (page,)
    if page == "seeds" and len(study.seeds) == 1:
        if asked_alone:
            raise UserError("Configuration: draw: seeds compares random starts, but there is one; set seeds: 5.")
        return False
    if page in FROM_SCORES and not asked_alone:
        return study.networks == "published" and files.published_scores
    if page == "stopping" and not {"main", "stopping"} <= set(files.plan.experiments):
        if asked_alone:
            raise UserError(
                "Configuration: draw: stopping needs QRC-STOP, QRC and QRTC among the methods, MLP-3 among the "
                "base models, and scope: everything."
            )
        return False
    if page == "own_data" and not (study.own_datasets and files.own_data_experiments):
        if asked_alone:
            raise UserError(
                "Configuration: draw: own_data has nothing to compare: there are no own_datasets, or no method of the "
                "main comparison (docs/data.md)."
            )
        return False
    return True
