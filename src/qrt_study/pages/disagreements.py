"""What each disagreement between paper and released code changes: in the verdicts and in the main comparison."""

from __future__ import annotations

from typing import Any

import pandas as pd

from qrt.text.formats import escape_markdown, to_markdown
from qrt.text.page import (
    Cell,
    Column,
    Content,
    Html,
    Row,
    details,
    document,
    joined,
    link,
    paragraph,
    section,
    table,
    tag,
)
from qrt.text.words import count, counted, is_missing, listed, number, p_value, percent
from qrt_study.pages.changed_differences import CAPTION, largest
from qrt_study.pages.changed_differences import SHOWN as DATASET_COLUMNS
from qrt_study.pages.claim_card import badge, claim_links
from qrt_study.pages.readings import NO, NOTHING_TO_CHANGE, ChangedVerdicts, Readings, beside
from qrt_study.pages.study_words import StudyWords
from qrt_study.pages.value_table import markdown_table, value_table
from qrt_study.plan.switches import SWITCHES, Switch
from qrt_study.results.readings import STUDY

# Those that favour some methods over others: published gains that are artefacts of a scale, and unequal estimators.
FIRST = ("x_scale", "sd")
QUESTION = "With one estimator of SD for all methods, are the post-hoc methods still sharper than BASE?"
# Columns of `key_numbers` that are shown before and after: heading, and how they are written.
_NUMBERS = {
    "median_relative_difference": ("Median difference", percent),
    "median_cohens_d": ("Median Cohen's d", number),
    "lower_on": ("Lower on", count),
    "mean_rank": ("Mean rank", number),
    "baseline_mean_rank": ("Rank of baseline", number),
    "p_holm": ("Holm", p_value),
}
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


def disagreements_page(readings: Readings, key_numbers: pd.DataFrame, by_dataset: pd.DataFrame) -> str:
    """One section per switch, in the order of `in_order`."""
    study, changes = readings.study, readings.changed_by_switch
    lede = (
        f"The paper's text and the released code disagree in {len(SWITCHES)} points. Here each is changed alone, "
        f"everything else as in this study. Protocol: {study.protocol}. {study.basis}."
    )
    parts = [
        _switch_section(switch, changes[switch.name], key_numbers, largest(by_dataset, switch.name), study)
        for switch in in_order()
    ]
    overview = _overview(changes, key_numbers, study)
    return document(
        "Disagreements", lede, overview, *parts,
        file="disagreements.html", pages=study.pages, demonstration=study.demonstration,
    )  # fmt: skip


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


def _switch_section(
    switch: Switch, found: ChangedVerdicts, key_numbers: pd.DataFrame, differences: pd.DataFrame, study: StudyWords
) -> Html:
    numbers = before_and_after(key_numbers, switch.name)
    changed = _changed_rows(numbers)
    own = switch.setting(study.settings)
    meanings = []
    for name, meaning in (("paper", switch.paper.words), ("released", switch.released.words)):
        mark = tag("strong", " (this study)") if name == own else ""
        meanings += [tag("dt", f"As {'the paper says' if name == 'paper' else 'released'}"), tag("dd", meaning, mark)]
    if own == "own":
        meanings += [tag("dt", "This study"), tag("dd", str(getattr(study.settings, switch.name)))]
    meanings += [tag("dt", "Why it matters"), tag("dd", switch.why)]
    parts: list[Html] = [tag("dl", *meanings)]
    if _affected_words(switch, study):
        parts.append(paragraph(_affected_words(switch, study)))
    if not study.demonstration:
        if switch.name == "sd":
            parts.append(paragraph(tag("strong", QUESTION), " ", sd_answer(key_numbers, study), class_="answer"))
        parts.append(paragraph(f"{_verdict_words(found, switch)} {_datasets_words(key_numbers, switch)}".strip()))
    if len(found.changed):
        parts.append(details("Verdicts that change", _changed_claims(switch, found)))
    parts.append(paragraph(_number_words(numbers, changed)))
    if len(changed):
        parts.append(details("Numbers that change", _number_table(switch, changed)))
    if len(differences) and not study.demonstration:  # it has the published values beside ours
        table_of_datasets = value_table(f"{switch.name}-datasets", differences, DATASET_COLUMNS, CAPTION)
        parts.append(details("Datasets that change most", table_of_datasets))
    heading = joined([f"{switch.row}. {switch.topic} ", tag("small", f"{switch.name} · acts {switch.acts}")])
    return section(switch.name, heading, *parts)


def _changed_claims(switch: Switch, found: ChangedVerdicts) -> Html:
    rows = [
        Row([claim_links([row["id"]], "scorecard.html"), row["claim"], badge(row["before"]), badge(row["after"])])
        for row in found.changed.to_dict("records")
    ]
    columns = (
        Column("Id", look="tight lead"),
        Column("Claim"),
        Column("This study", look="tight"),
        Column("Switch changed", look="tight"),
    )
    return table(f"{switch.name}-verdicts", columns, rows, caption="Verdicts that change")


def _number_table(switch: Switch, numbers: pd.DataFrame) -> Html:
    rows = []
    for row in numbers.to_dict("records"):
        cells: list[Cell | Html | str] = [row["metric"], row["method"]]
        cells += [_step(row, name, write) for name, (_, write) in _NUMBERS.items()]
        rows.append(Row(cells))
    columns = (
        Column("Metric", look="lead"),
        Column("Method"),
        *(Column(heading, "number", "number") for heading, _ in _NUMBERS.values()),
    )
    caption = (
        "The main comparison with BASE on the non-discrete datasets: this study → with the switch changed "
        "(lower is better)"
    )
    return table(f"{switch.name}-numbers", columns, rows, caption=caption)


def _step(row: dict[str, Any], name: str, write: Any) -> Cell:
    """The number before and after, or once if it stays. Sorted by the value after."""
    before, after = (write(row[f"{name}_{when}"]) for when in ("before", "after"))
    total = f" of {count(row['datasets_after'])}" if name == "lower_on" else ""
    key = row[f"{name}_after"]
    words: Html | str = f"{before}{total}"
    if before != after:
        words = joined([f"{before or '–'} → ", tag("strong", f"{after or '–'}{total}")])
    return Cell(words if before or after else "", "" if is_missing(key) else float(key))


def disagreements_markdown(readings: Readings, key_numbers: pd.DataFrame, by_dataset: pd.DataFrame) -> str:
    """The page as Markdown."""
    study, changes = readings.study, readings.changed_by_switch
    lines = [
        "# Disagreements",
        "",
        *([f"**{study.demonstration}**", ""] if study.demonstration else []),
        "Each switch is changed alone, everything else as in this study. "
        f"Protocol: {escape_markdown(study.protocol)}. {study.basis}.",
        "",
    ]
    for switch in in_order():
        found, numbers = changes[switch.name], before_and_after(key_numbers, switch.name)
        changed = _changed_rows(numbers)
        lines += [
            f"## {switch.row}. {escape_markdown(switch.topic)} (`{switch.name}`)",
            "",
            f"- As the paper says: {escape_markdown(switch.paper.words)}",
            f"- As released: {escape_markdown(switch.released.words)}",
            f"- Why it matters: {escape_markdown(switch.why)}",
            f"- This study follows: {switch.setting(study.settings)}; the switch acts {switch.acts}",
            *([f"- {escape_markdown(_affected_words(switch, study))}"] if _affected_words(switch, study) else []),
            *([] if study.demonstration else [f"- {_verdict_words(found, switch)}"]),
            f"- {_number_words(numbers, changed)}",
            *(
                [f"- **{QUESTION}** {escape_markdown(sd_answer(key_numbers, study))}"]
                if switch.name == "sd" and not study.demonstration
                else []
            ),
            "",
        ]
        if len(found.changed):
            renamed = found.changed.rename(
                columns={"id": "Id", "claim": "Claim", "before": "This study", "after": "Switch changed"}
            )
            lines.append(to_markdown(renamed, "Verdicts that change"))
        if len(changed):
            lines.append(to_markdown(_markdown_numbers(changed), "Numbers of the main comparison that change"))
        if len(differences := largest(by_dataset, switch.name)) and not study.demonstration:
            lines.append(markdown_table(differences, DATASET_COLUMNS, CAPTION))
    return "\n".join(lines)


def _markdown_numbers(changed: pd.DataFrame) -> pd.DataFrame:
    shown = {"Metric": changed["metric"], "Method": changed["method"]}
    for name, (heading, write) in _NUMBERS.items():
        pairs = zip(changed[f"{name}_before"], changed[f"{name}_after"], strict=True)
        written = [(write(before), write(after)) for before, after in pairs]
        shown[heading] = [before if before == after else f"{before} → {after}" for before, after in written]
    return pd.DataFrame(shown)
