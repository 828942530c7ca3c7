"""What each disagreement between paper and released code changes: in the verdicts and in the main comparison."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from qrt.text.formats import escape_markdown
from qrt.text.page import Cell, Column, Content, Html, Row, details, joined, link, paragraph, section, table, tag
from qrt.text.words import count, counted, is_missing, listed, number, p_value, percent
from qrt_study.pages.block import Block, Page, page, values
from qrt_study.pages.changed_differences import CAPTION, largest
from qrt_study.pages.changed_differences import SHOWN as DATASET_COLUMNS
from qrt_study.pages.claim_card import badge, claim_links
from qrt_study.pages.readings import NO, NOTHING_TO_CHANGE, ChangedVerdicts, Readings, beside
from qrt_study.pages.study_words import StudyWords
from qrt_study.pages.value_table import Shown, plain
from qrt_study.plan.switches import SWITCHES, Switch
from qrt_study.results.readings import STUDY

# Those that favour some methods over others: published gains that are artefacts of a scale, and unequal estimators.
FIRST = ("x_scale", "sd")
QUESTION = "With one estimator of SD for all methods, are the post-hoc methods still sharper than BASE?"
_KEY = ["metric", "method", "baseline"]
_VALUES = (
    "datasets",
    "median_difference",
    "median_relative_difference",
    "median_cohens_d",
    "lower_on",
    "mean_rank",
    "baseline_mean_rank",
    "p_holm",
    "significant",
)


def in_order() -> list[Switch]:
    """The switches, those that favour some methods first, then by number."""
    first = [SWITCHES[name] for name in FIRST if name in SWITCHES]
    return [*first, *(switch for switch in SWITCHES.values() if switch not in first)]


def before_and_after(key_numbers: pd.DataFrame, switch: str) -> pd.DataFrame:
    """The key numbers of the study and with one switch changed, on the same datasets.

    Columns: metric, method, baseline, <number>_before, <number>_after.
    """
    before = key_numbers[key_numbers["reading"] == beside(key_numbers, switch)].drop(columns="reading")
    after = key_numbers[key_numbers["reading"] == switch].drop(columns="reading")
    return before.merge(after, on=_KEY, suffixes=("_before", "_after"))


def disagreements_csv(readings: Readings, key_numbers: pd.DataFrame) -> pd.DataFrame:
    """One row per switch, metric and method, in the order of the page; one row with no metric where nothing was run."""
    rows: list[dict[str, Any]] = []
    study, changes = readings.study, readings.changed_by_switch
    for switch in in_order():
        found = changes[switch.name]
        facts = {
            "switch": switch.name,
            "row": switch.row,
            "topic": switch.topic,
            "paper": switch.paper.words,
            "released": switch.released.words,
            "why": switch.why,
            "acts": switch.acts,
            "study": switch.setting(study.settings),
            "run": found.run,
            "verdicts_judged": found.judged,
            "verdicts_changed": len(found.changed),
            "changes": "; ".join(f"{step.replace('→', '->')}: {times}" for step, times in found.steps.items()),
        }
        numbers = before_and_after(key_numbers, switch.name).to_dict("records")
        rows += [facts | {str(name): value for name, value in row.items()} for row in numbers] or [facts]
    values = [f"{name}_{when}" for name in _VALUES for when in ("before", "after")]
    return pd.DataFrame(rows).reindex(columns=[*facts, *_KEY, *values])


def sd_answer(key_numbers: pd.DataFrame, study: StudyWords) -> str:
    """Are the post-hoc methods sharper than BASE with one estimator of SD for all? One sentence."""
    reading = "study" if study.settings.sd == "consistent" else "sd"
    rows = key_numbers[(key_numbers["reading"] == reading) & (key_numbers["metric"] == "SD")]
    rows = rows.dropna(subset=["mean_rank", "baseline_mean_rank"])
    if rows.empty:
        return "This study cannot say: it has no rank tests of SD with one estimator."
    sharper = rows["mean_rank"] < rows["baseline_mean_rank"]
    head = "Yes, by mean rank" if sharper.all() else "In part, by mean rank" if sharper.any() else "No, by mean rank"
    return f"{head}: {'; '.join(_sharper_words(row) for row in rows.to_dict('records'))}."


def _sharper_words(row: dict[str, Any]) -> str:
    holm, outcome = p_value(row["p_holm"]), "not significant"
    if not is_missing(row["significant"]) and row["significant"]:
        outcome = "significantly " + ("sharper" if row["mean_rank"] < row["baseline_mean_rank"] else "less sharp")
    return (
        f"{row['method']} is sharper on {count(row['lower_on'])} of {count(row['datasets'])} datasets "
        f"(median {percent(row['median_relative_difference'])}, mean rank {number(row['mean_rank'])} "
        f"against {number(row['baseline_mean_rank'])}{', Holm ' + holm if holm else ''}: {outcome})"
    )


def _verdict_words(found: ChangedVerdicts, switch: Switch) -> str:
    """One sentence on the verdicts."""
    if found.run == NO:
        reason = (
            "it asks for other networks, which this study does not have" if switch.needs_networks else "no verdicts"
        )
        return f"Not run: {reason}."
    if found.run == NOTHING_TO_CHANGE:
        return "Nothing to change: no result that this study has so far depends on it."
    words = f"{len(found.changed)} of {counted(found.judged, 'verdict')} {_changes(len(found.changed))}"
    if found.steps:
        words += f": {listed([f'{times} {step}' for step, times in found.steps.items()])}"
    lost = (
        f" {counted(found.lost, 'claim')} {'was' if found.lost == 1 else 'were'} not run this way."
        if found.lost
        else ""
    )
    return f"{words}.{lost}"


def _affected_words(switch: Switch, study: StudyWords) -> str:
    """Which datasets a switch concerns, where that is known."""
    if switch.name not in study.affected:
        return ""
    names = study.affected[switch.name]
    return (
        f"It concerns {counted(len(names), 'dataset')} of this study: {listed(names)}."
        if names
        else ("It concerns no dataset of this study.")
    )


def _datasets_words(key_numbers: pd.DataFrame, switch: Switch) -> str:
    """On how many datasets both sides are compared, where networks for the other setting are missing on some."""
    reading = beside(key_numbers, switch.name)
    if reading == STUDY:
        return ""
    here, all_of_them = (
        int(key_numbers.loc[key_numbers["reading"] == name, "datasets"].max()) for name in (reading, STUDY)
    )
    if here == all_of_them:  # only methods outside the main comparison are missing
        return "Both sides are compared on the datasets where networks for both settings were trained."
    return (
        f"Networks for both settings were trained on {here} of the {counted(all_of_them, 'dataset')} of the main "
        f"comparison, and both sides are compared on these."
    )


def _changes(count: int) -> str:
    return "changes" if count == 1 else "change"


def _changed_rows(numbers: pd.DataFrame) -> pd.DataFrame:
    """The rows in which a number differs."""
    differs = pd.Series(False, index=numbers.index)
    for name in _VALUES:
        before, after = numbers[f"{name}_before"], numbers[f"{name}_after"]
        differs |= ((before != after) & ~(before.isna() & after.isna())).fillna(True).astype(bool)
    return numbers[differs]


def _number_words(numbers: pd.DataFrame, changed: pd.DataFrame) -> str:
    if numbers.empty:
        return "The main comparison was not run this way."
    if changed.empty:
        return "No number of the main comparison changes."
    return (
        f"{len(changed)} of {counted(len(numbers), 'pair')} of metric and method of the main comparison "
        f"{_changes(len(changed))}."
    )


def disagreements_page(readings: Readings, key_numbers: pd.DataFrame, by_dataset: pd.DataFrame) -> Page:
    """One part per switch, in the order of `in_order`."""
    study, changes = readings.study, readings.changed_by_switch
    return page(
        "Disagreements",
        f"The paper's text and the released code disagree in {len(SWITCHES)} points. Here each is changed alone, "
        "everything else as in this study.",
        study,
        Block(_overview(changes, key_numbers, study)),
        *(
            _switch_part(switch, changes[switch.name], key_numbers, largest(by_dataset, switch.name), study)
            for switch in in_order()
        ),
        written="Each switch is changed alone, everything else as in this study.",
    )


def _overview(changes: dict[str, ChangedVerdicts], key_numbers: pd.DataFrame, study: StudyWords) -> Html:
    rows = []
    for switch in SWITCHES.values():
        found, numbers = changes[switch.name], before_and_after(key_numbers, switch.name)
        judged = f"{len(found.changed)} of {found.judged}" if found.touched else ""
        changed = f"{len(_changed_rows(numbers))} of {len(numbers)}" if len(numbers) else ""
        of_verdicts: list[Cell | Content] = [
            found.run,
            Cell(judged, float(len(found.changed)) if found.touched else ""),
        ]
        rows.append(
            Row(
                [
                    Cell(switch.row, float(switch.row)),
                    link(f"#{switch.name}", switch.topic),
                    switch.setting(study.settings),
                    switch.acts,
                    *([] if study.demonstration else of_verdicts),
                    Cell(changed, float(len(_changed_rows(numbers))) if len(numbers) else ""),
                ]
            )
        )
    columns_of_verdicts = (Column("Both run", look="tight"), Column("Verdicts that change", "number", "number"))
    columns = (
        Column("Row", "number", "number"),
        Column("Disagreement", look="lead"),
        Column("Study follows", look="tight"),
        Column("Acts", look="tight"),
        *(() if study.demonstration else columns_of_verdicts),
        Column("Numbers that change", "number", "number"),
    )
    return table("overview", columns, rows, caption="All of them at a glance")


def _switch_part(
    switch: Switch, found: ChangedVerdicts, key_numbers: pd.DataFrame, differences: pd.DataFrame, study: StudyWords
) -> Block:
    numbers = before_and_after(key_numbers, switch.name)
    changed, own = _changed_rows(numbers), switch.setting(study.settings)
    claims = values(f"{switch.name}-verdicts", found.changed, _CLAIMS, "Verdicts that change")
    steps = values(
        f"{switch.name}-numbers",
        changed,
        _STEPS,
        "The main comparison with BASE on the non-discrete datasets: this study → with the switch changed "
        "(lower is better)",
        written="Numbers of the main comparison that change",
    )
    shown = differences.iloc[:0] if study.demonstration else differences  # it has the published values beside ours
    datasets = values(f"{switch.name}-datasets", shown, DATASET_COLUMNS, CAPTION)
    affected, of_numbers = _affected_words(switch, study), _number_words(numbers, changed)
    verdicts = "" if study.demonstration else _verdict_words(found, switch)
    answer = sd_answer(key_numbers, study) if switch.name == "sd" and not study.demonstration else ""
    meanings = []
    for name, term, meaning in (
        ("paper", "As the paper says", switch.paper.words),
        ("released", "As released", switch.released.words),
    ):
        meanings += [tag("dt", term), tag("dd", meaning, tag("strong", " (this study)") if name == own else "")]
    if own == "own":
        meanings += [tag("dt", "This study"), tag("dd", str(getattr(study.settings, switch.name)))]
    meanings += [tag("dt", "Why it matters"), tag("dd", switch.why)]
    html = [
        tag("dl", *meanings),
        paragraph(affected) if affected else "",
        paragraph(tag("strong", QUESTION), " ", answer, class_="answer") if answer else "",
        paragraph(f"{verdicts} {_datasets_words(key_numbers, switch)}".strip()) if verdicts else "",
        details("Verdicts that change", claims.html) if claims.html else "",
        paragraph(of_numbers),
        details("Numbers that change", steps.html) if steps.html else "",
        details("Datasets that change most", datasets.html) if datasets.html else "",
    ]
    told = {
        "As the paper says: ": switch.paper.words,
        "As released: ": switch.released.words,
        "Why it matters: ": switch.why,
        "This study follows: ": f"{own}; the switch acts {switch.acts}",
    }
    told_lines = [*(f"{term}{escape_markdown(words)}" for term, words in told.items())]
    told_lines += [escape_markdown(words) for words in (affected, verdicts, of_numbers) if words]
    told_lines += [f"**{QUESTION}** {escape_markdown(answer)}"] if answer else []
    heading = joined([f"{switch.row}. {switch.topic} ", tag("small", f"{switch.name} · acts {switch.acts}")])
    return Block(
        section(switch.name, heading, *filter(None, html)),
        (
            f"## {switch.row}. {escape_markdown(switch.topic)} (`{switch.name}`)",
            "",
            *(f"- {line}" for line in told_lines),
            "",
            *(*claims.lines, *steps.lines, *datasets.lines),
        ),
    )


_CLAIMS = (
    Shown("Id", lambda row: row["id"], html=lambda row: claim_links([row["id"]], "scorecard.html"), look="tight lead"),
    Shown("Claim", lambda row: row["claim"]),
    Shown("This study", lambda row: row["before"], html=lambda row: badge(row["before"]), look="tight"),
    Shown("Switch changed", lambda row: row["after"], html=lambda row: badge(row["after"]), look="tight"),
)


def _step(heading: str, name: str, write: Callable[[Any], str]) -> Shown:
    """A column of a number before and after, or once if it stays; sorted by the value after."""

    def both(row: dict[str, Any]) -> tuple[str, str]:
        return write(row[f"{name}_before"]), write(row[f"{name}_after"])

    def written(row: dict[str, Any]) -> str:
        before, after = both(row)
        return before if before == after else f"{before} → {after}"

    def html(row: dict[str, Any]) -> Content:
        before, after = both(row)
        if not (before or after):
            return ""
        total = f" of {count(row['datasets_after'])}" if name == "lower_on" else ""
        if before == after:
            return f"{before}{total}"
        return joined([f"{before or '–'} → ", tag("strong", f"{after or '–'}{total}")])

    return Shown(heading, written, f"{name}_after", html)


# The numbers of the main comparison that are shown before and after.
_STEPS = (
    plain("Metric", "metric"),
    plain("Method", "method"),
    _step("Median difference", "median_relative_difference", percent),
    _step("Median Cohen's d", "median_cohens_d", number),
    _step("Lower on", "lower_on", count),
    _step("Mean rank", "mean_rank", number),
    _step("Rank of baseline", "baseline_mean_rank", number),
    _step("Holm", "p_holm", p_value),
)
