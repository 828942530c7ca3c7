"""The scorecard: every claim of the paper with its verdict and evidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from qrt.pages.page import Cell, Column, Html, Row, document, filters, joined, link, paragraph, section, table, tag
from qrt.pages.readings import (
    NOT_RUN,
    PAPER,
    VERDICTS,
    Comparison,
    changed_by,
    compare,
    compared_switches,
    of_reading,
    summary_lines,
    tally,
    tally_words,
)
from qrt.pages.study_words import StudyWords
from qrt.pages.switches import BY_NAME, SWITCHES
from qrt.study.artifacts import ARTIFACTS, FIGURES
from qrt.text.formats import escape_markdown, to_markdown
from qrt.text.words import count, counted, interval, is_missing, number, p_value, text

SYMBOLS = {"confirmed": "✓", "contradicted": "✗", "inconclusive": "?", NOT_RUN: "–"}
MEANINGS = {
    "confirmed": "The rule of the claim is fulfilled.",
    "contradicted": "The results speak against the claim, and the study is large enough to say so.",
    "inconclusive": "The results could have come out like this whether or not the claim is true. The column Power says "
    "how many datasets and splits there were, and the smallest effect that could have been seen.",
    NOT_RUN: "The study has no results for the claim, or no result can decide it; the evidence says which.",
}
_COLUMNS = (
    Column("Id", look="tight lead"),
    Column("Section", look="after"),
    Column("Claim", look="wide whole"),
    Column("Verdict", "number", "tight"),
    Column("Evidence", look="wide"),
    Column("Estimate", "number", "number"),
    Column("Power", "number", "tight"),
    Column("Other readings", "number"),
)


def scorecard_csv(verdicts: pd.DataFrame) -> pd.DataFrame:
    """One row per claim: the study's reading, the verdict of the other protocol, the switches that change it.

    `other_verdict` is empty where the other protocol was not run; `changed_by` has names joined by `;`.
    """
    own, others, switches = of_reading(verdicts, "study"), other_verdicts(verdicts), changed_by(verdicts)
    return (
        own.drop(columns="reading")
        .assign(
            other_verdict=[others.get(claim, "") for claim in own["id"]],
            changed_by=[";".join(switches.get(claim, [])) for claim in own["id"]],
        )
        .reset_index(drop=True)
    )


def other_verdicts(verdicts: pd.DataFrame) -> dict[str, str]:
    """Claim -> its verdict under the other protocol, where that was run."""
    other = of_reading(verdicts, "other")
    return {str(claim): verdict for claim, verdict in other["verdict"].items() if verdict != NOT_RUN}


def badge(verdict: str, *, quiet: bool = False) -> Html:
    """A verdict by sign, word and colour."""
    look = f"verdict {verdict.replace(' ', '-')}{' same' if quiet else ''}"
    return tag("span", f"{SYMBOLS[verdict]} {verdict}", class_=look)


def scorecard_page(verdicts: pd.DataFrame, study: StudyWords) -> str:
    """The page with the summary at its top and one row per claim."""
    own = of_reading(verdicts, "study")
    lede = f"{counted(len(own), 'claim')} of “{PAPER}”, judged by rule. Protocol: {study.protocol}. {study.basis}."
    return document(
        "Scorecard",
        lede,
        _tallies(own),
        _dependence(verdicts, study),
        _gallery(own, study),
        _claims(verdicts, study),
        _legend(),
        file="scorecard.html",
    )


def bar(counts: dict[str, int], look: str = "bar") -> Html:
    """The shares of the verdicts as a bar."""
    words = tally_words(counts)
    parts = [
        tag(
            "span",
            class_=f"fill-{verdict.replace(' ', '-')}",
            style=f"flex: {number_of}",
            title=f"{number_of} {verdict}",
        )
        for verdict, number_of in counts.items()
        if number_of
    ]
    return tag("div", *parts, class_=look, role="img", aria_label=words)


def _tallies(own: pd.DataFrame) -> Html:
    parts = []
    for heading, rows in (("All claims", own), ("Main claims", own[own["kind"] == "main"])):
        counts = tally(rows["verdict"])
        items = [tag("li", tag("b", number_of), badge(verdict)) for verdict, number_of in counts.items()]
        head = tag("h3", f"{heading} ({len(rows)})")
        parts.append(tag("div", head, bar(counts), tag("ul", *items, class_="counts")))
    return tag("div", *parts, class_="tally", id="summary")


def _dependence(verdicts: pd.DataFrame, study: StudyWords) -> Html:
    other = compare(verdicts, "other")
    rows = []
    for name, found in compared_switches(verdicts).items():
        switch = BY_NAME[name]
        rows.append(
            Row(
                [
                    Cell(switch.row, float(switch.row)),
                    link(f"disagreements.html#{name}", switch.topic),
                    tag("code", name),
                    Cell(_changed_words(found), float(len(found.changed)) if found.judged else None),
                    claim_links(list(found.changed["id"])),
                ]
            )
        )
    columns = (
        Column("Row", "number", "number"),
        Column("Disagreement", look="lead"),
        Column("Switch"),
        Column("Verdicts that change", "number"),
        Column("Claims", ""),
    )
    return section(
        "dependence",
        "What the verdicts depend on",
        paragraph(_other_words(other, study)),
        table("switches", columns, rows, caption="Each switch turned alone, everything else as in this study"),
    )


def _other_words(other: Comparison, study: StudyWords) -> str:
    if not other.judged:
        return f"The protocol “{study.other}” was not run."
    lost = f" ({counted(other.lost, 'claim')} not run there)" if other.lost else ""
    return (
        f"Under the protocol “{study.other}”, {len(other.changed)} of {counted(other.judged, 'verdict')} "
        f"{'is' if len(other.changed) == 1 else 'are'} different{lost}."
    )


def _changed_words(found: Comparison) -> str:
    if not found.judged:
        return "not run"
    remark = f", {found.lost} not run" if found.lost else ""
    return f"{len(found.changed)} of {found.judged}{remark}"


def claim_links(ids: Sequence[str], page: str = "") -> Html:
    """Links to the rows of claims."""
    return tag("span", *(link(f"{page}#{claim}", claim) for claim in ids), class_="chips") if ids else Html("")


def _gallery(own: pd.DataFrame, study: StudyWords) -> Html:
    """The figures of the study with the verdicts on their claims."""
    cards = []
    for name, artifact in FIGURES.items():
        if name not in study.figures:
            continue
        counts = tally(own[own["figure"] == name]["verdict"])
        judged = (
            (bar(counts, "bar thin"), tag("span", tally_words(counts), class_="soft")) if any(counts.values()) else ()
        )
        words = (link(f"{name}.pdf", artifact.number), f": {artifact.title}")
        picture = tag("img", src=f"{name}.png", alt=artifact.number, loading="lazy")
        cards.append(tag("figure", link(f"{name}.png", picture), tag("figcaption", *words, *judged)))
    if not cards:
        return Html("")
    return section("figures", "By figure", tag("div", *cards, class_="gallery"))


def _claims(verdicts: pd.DataFrame, study: StudyWords) -> Html:
    own, others, switches = of_reading(verdicts, "study"), other_verdicts(verdicts), changed_by(verdicts)
    rows = [
        _claim_row(claim, others.get(claim["id"], ""), switches.get(claim["id"], []), study)
        for claim in own.to_dict("records")
    ]
    buttons: list[tuple[str, str, Html | str]] = [
        *(("verdict", verdict.replace(" ", "-"), badge(verdict)) for verdict in VERDICTS),
        ("kind", "main", "main claims"),
        ("depends", "yes", "depends on the protocol"),
    ]
    return section(
        "claims",
        "Claims",
        filters("scorecard", "claims", buttons),
        table("scorecard", _COLUMNS, rows, caption=f"Verdicts under the protocol {study.protocol}; {study.basis}"),
    )


def _claim_row(claim: dict[str, Any], other: str, switches: list[str], study: StudyWords) -> Row:
    verdict = claim["verdict"]
    differs = bool(other) and verdict not in (NOT_RUN, other)
    cells = [
        claim["id"],
        joined([text(claim["section"]), tag("small", figure_link(text(claim["figure"]), study))]),
        joined([claim["claim"], tag("small", _claim_words(claim))]),
        Cell(badge(verdict), float(VERDICTS.index(verdict))),
        _evidence(claim),
        Cell(_estimate(claim), _key(claim["estimate"])),
        Cell(_power(claim), _key(claim["datasets"])),
        Cell(_other_readings(other, differs, switches, study), float(VERDICTS.index(other)) if other else ""),
    ]
    depends = "yes" if differs or switches else "no"
    facts = {"verdict": verdict.replace(" ", "-"), "kind": claim["kind"], "depends": depends}
    return Row(cells, id=claim["id"], facts=facts)


def _other_readings(other: str, differs: bool, switches: list[str], study: StudyWords) -> Html | str:
    """The verdict under the other protocol, and the switches that change the study's."""
    parts = []
    if other:
        parts += [badge(other, quiet=not differs), tag("small", f"under “{study.other}”")]
    if switches:
        links = joined([link(f"disagreements.html#{name}", name) for name in switches], ", ")
        parts.append(tag("small", "changed by ", links))
    return tag("span", *parts) if parts else ""


def figure_link(name: str, study: StudyWords) -> Html | str:
    """The number of a figure or table, as a link to its picture or text where the study has it."""
    if name not in ARTIFACTS:
        return name
    number_ = ARTIFACTS[name].number
    return link(f"{name}.{'png' if name in FIGURES else 'md'}", number_) if name in study.figures else number_


def _claim_words(claim: dict[str, Any]) -> str:
    facts = {
        name: text(claim[name]).replace("_", " ") for name in ("left", "relation", "right", "metric", "dataset_set")
    }
    known = {name: fact for name, fact in facts.items() if fact not in ("", "-", "none")}
    sides = " ".join(known[name] for name in ("left", "relation", "right") if name in known)
    parts = [known.get("metric", ""), sides, text(claim["base_model"]), known.get("dataset_set", "")]
    return " · ".join([*filter(None, parts), text(claim["kind"])])


def _evidence(claim: dict[str, Any]) -> Html:
    parts: list[Html | str] = [text(claim["explanation"])]
    if text(claim["published_value"]):
        parts.append(tag("small", f"Published: {claim['published_value']}"))
    return joined(parts)


def _estimate(claim: dict[str, Any]) -> Html | str:
    if is_missing(claim["estimate"]):
        return ""
    parts = [interval(claim["low"], claim["high"]), p_value(claim["p_value"])]
    value = tag("span", number(claim["estimate"]), title=text(claim.get("quantity")) or None)
    return tag("span", value, *(tag("small", part) for part in parts if part))


def _power(claim: dict[str, Any]) -> Html | str:
    if claim["verdict"] == NOT_RUN:
        return ""
    stands_on = [counted(int(claim[f"{thing}s"]), thing) for thing in ("dataset", "split")]
    parts = [", ".join(stands_on)]
    if not is_missing(claim["datasets_for"]):
        parts.append(f"{count(claim['datasets_for'])} for, {count(claim['datasets_against'])} against")
    if not is_missing(claim["smallest_detectable"]):
        parts.append(f"smallest effect {number(claim['smallest_detectable'], 2)}")
    head, *rest = parts
    title = text(claim.get("detectable")) or None
    return tag("span", head, *(tag("small", part, title=title) for part in rest))


def _key(value: Any) -> str | float:
    return "" if is_missing(value) else float(value)


def _legend() -> Html:
    parts = [part for verdict in VERDICTS for part in (tag("dt", badge(verdict)), tag("dd", MEANINGS[verdict]))]
    return section("legend", "How to read the verdicts", tag("dl", *parts))


def scorecard_markdown(verdicts: pd.DataFrame, study: StudyWords) -> str:
    """The scorecard as Markdown."""
    claims = scorecard_csv(verdicts)
    shown = pd.DataFrame(
        {
            "Id": claims["id"],
            "Section": claims["section"].map(text),
            "Claim": claims["claim"],
            "Verdict": [f"{SYMBOLS[verdict]} {verdict}" for verdict in claims["verdict"]],
            "Evidence": claims["explanation"].map(text),
            "Published": claims["published_value"].map(text),
            "Figure": [ARTIFACTS[name].number if name in ARTIFACTS else text(name) for name in claims["figure"]],
            f"Under {study.other}": claims["other_verdict"],
            "Changed by": claims["changed_by"].str.replace(";", ", "),
        }
    )
    changes = pd.DataFrame(
        [
            {
                "Row": switch.row,
                "Switch": switch.name,
                "Disagreement": switch.topic,
                "Verdicts that change": _changed_words(found),
                "Claims": ", ".join(found.changed["id"]),
            }
            for switch, found in zip(SWITCHES, compared_switches(verdicts).values(), strict=True)
        ]
    )
    summary = [f"- {escape_markdown(line)}" for line in summary_lines(verdicts, study)]
    legend = [f"- {SYMBOLS[verdict]} **{verdict}**: {escape_markdown(MEANINGS[verdict])}" for verdict in VERDICTS]
    return "\n".join(
        [
            "# Scorecard",
            "",
            *summary,
            "",
            to_markdown(
                changes, "What the verdicts depend on: each switch turned alone, everything else as in this study."
            ),
            to_markdown(shown, f"Verdicts under the protocol {study.protocol}; {study.basis}."),
            *legend,
            "",
        ]
    )
