"""The scorecard: what holds of the paper's claims, the dozen of its abstract and conclusion first."""

from __future__ import annotations

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
    filters,
    link,
    paragraph,
    section,
    table,
    tag,
)
from qrt.text.words import counted, listed, text
from qrt_study.data.sheet import paper_datasets
from qrt_study.pages.block import Page
from qrt_study.pages.claim_card import (
    SYMBOLS,
    badge,
    claim_card,
    claim_links,
    is_marked,
    place_in_paper,
    verdict_class,
)
from qrt_study.pages.passages import passage, title
from qrt_study.pages.readings import (
    NO,
    NOT_JUDGED,
    PAPER,
    TITLE,
    ChangedVerdicts,
    Readings,
    marked,
    summary_lines,
    tally,
    tally_words,
)
from qrt_study.pages.strip import KEY
from qrt_study.pages.study_words import StudyWords
from qrt_study.plan.artifacts import ARTIFACTS, FIGURES
from qrt_study.plan.switches import SWITCHES
from qrt_study.verdicts.verdict import NOT_RUN, VERDICTS

MEANINGS = {
    "confirmed": "The results show it: the estimate and its whole interval are where the claim puts them.",
    "leans confirmed": "The estimate is where the claim puts it, but its interval reaches beyond the limit.",
    "inconclusive": "The results could have come out like this whether or not the claim is true.",
    "leans contradicted": "The estimate is on the other side of the limit, but its interval reaches back to it.",
    "contradicted": "The results show the opposite: the whole interval is on the other side of the limit.",
    NOT_RUN: "The study has no results for the claim, or no result can decide it; the notes say which.",
}


def scorecard_csv(readings: Readings) -> pd.DataFrame:
    """One row per claim: the study's reading, the verdict of the other protocol, the switches that change it.

    `other_verdict` is empty where the other protocol was not run; `changed_by` has names joined by `;`.
    """
    ids = readings.own["id"]
    return (
        readings.own.drop(columns="reading")
        .assign(
            other_verdict=[readings.other.get(claim, "") for claim in ids],
            changed_by=[";".join(readings.switches.get(claim, [])) for claim in ids],
        )
        .reset_index(drop=True)
    )


def scorecard_page(readings: Readings, frozen: str = "") -> Page:
    """The page: abstract and conclusion, then all passages, folded, then what the verdicts depend on.

    `frozen` says whether the claims are those that were frozen, with their checksum.
    """
    study, own = readings.study, readings.own
    first = own[marked(own, "abstract")]
    judged = (
        "which a study of the paper's data judges by rule"
        if study.demonstration
        else f"judged by rule on {study.of_paper} of the paper's {len(paper_datasets())} datasets, with "
        f"{counted(study.splits, 'split')}"
    )
    lede = f"What holds of “{PAPER}”: {counted(len(own), 'claim')}, {judged}. Protocol: {study.protocol}."
    html = document(
        "Scorecard",
        lede,
        _first_claims(first, readings),
        _legend(),
        _passages(own[~marked(own, "abstract")], readings),
        _dependence(readings),
        _gallery(own, study),
        paragraph(frozen, class_="soft") if frozen else "",
        file="scorecard.html",
        pages=study.pages,
        demonstration=study.demonstration,
    )
    return Page(html, _markdown(readings, frozen))


def _first_claims(first: pd.DataFrame, readings: Readings) -> Html:
    """The claims of abstract and conclusion one by one, and the numbers of all."""
    study, own = readings.study, readings.own
    apart = marked(own, "by_definition")
    counted_first = first[~apart[first.index]]
    parts: list[Html] = []
    if study.demonstration:
        parts.append(paragraph(NOT_JUDGED, " With the paper's data and full training, each has its verdict here."))
    elif len(first):
        words = f"Of {counted(len(counted_first), 'claim')}: {tally_words(tally(counted_first['verdict']))}."
        parts.append(paragraph(words, class_="answer"))
    parts += [claim_card(claim, readings) for claim in first.to_dict("records")]
    if not study.demonstration:
        parts.append(_tallies({"Abstract and conclusion": counted_first, "All claims": own[~apart]}))
    if apart.any():
        words = f"{counted(int(apart.sum()), 'claim')} that cannot fail, by definition, are counted apart: "
        parts.append(paragraph(words, claim_links(list(own[apart]["id"])), class_="soft"))
    changed = marked(own, "changed_after_run")
    if changed.any():
        words = f"{counted(int(changed.sum()), 'claim')} changed, by words or by rule, after results existed: "
        parts.append(paragraph(words, claim_links(list(own[changed]["id"])), class_="soft"))
    return section("summary", "What abstract and conclusion say" if len(first) else "All claims", *parts)


def _tallies(groups: dict[str, pd.DataFrame]) -> Html:
    parts = []
    for heading, rows in groups.items():
        if rows.empty:
            continue
        counts = tally(rows["verdict"])
        items = [tag("li", tag("b", number_of), badge(verdict)) for verdict, number_of in counts.items() if number_of]
        head = tag("h3", f"{heading} ({len(rows)})")
        parts.append(tag("div", head, bar(counts), tag("ul", *items, class_="counts")))
    return tag("div", *parts, class_="tally")


def bar(counts: dict[str, int], look: str = "bar") -> Html:
    """The shares of the verdicts as a bar."""
    parts = [
        tag("span", class_=f"fill-{verdict_class(verdict)}", style=f"flex: {number_of}", title=f"{number_of} {verdict}")
        for verdict, number_of in counts.items()
        if number_of
    ]
    return tag("div", *parts, class_=look, role="img", aria_label=tally_words(counts))


def _passages(claims: pd.DataFrame, readings: Readings) -> Html:
    """All other claims, folded by the passage they come from."""
    records = claims.to_dict("records")
    folded = []
    for key in dict.fromkeys(passage(claim) for claim in records):
        here = [claim for claim in records if passage(claim) == key]
        judged = [claim["verdict"] for claim in here if not is_marked(claim, "by_definition")]
        counts = tally(pd.Series(judged, dtype=str))
        sections = listed(list(dict.fromkeys(place_in_paper(claim) for claim in here)))
        summary = (
            tag("span", title(key), class_="passage-title"),
            tag("span", f"{sections} · {counted(len(here), 'claim')}", class_="soft"),
            bar(counts, "bar thin"),
            tag("span", tally_words(counts) if any(counts.values()) else "by definition", class_="soft counts-words"),
        )
        articles = [claim_card(claim, readings) for claim in here]
        folded.append(details(summary, *articles, class_="passage", id=key.replace(" ", "-")))
    found = set(claims["verdict"])
    buttons: list[tuple[str, str, Content]] = [
        *(("verdict", verdict_class(verdict), badge(verdict)) for verdict in VERDICTS if verdict in found),
        ("kind", "main", "main claims"),
        ("depends", "yes", "depends on the protocol"),
    ]
    return section(
        "claims",
        "All other claims, by passage",
        filters("passages", "claims", buttons),
        tag("div", *folded, id="passages"),
        paragraph("The same as a table: ", link("scorecard.csv", "scorecard.csv"), class_="soft"),
    )


def _legend() -> Html:
    parts = [part for verdict in VERDICTS for part in (tag("dt", badge(verdict)), tag("dd", MEANINGS[verdict]))]
    return details("How to read verdicts and strips", tag("dl", *parts), paragraph(KEY), class_="legend", id="legend")


def _dependence(readings: Readings) -> Html:
    rows = [
        Row(
            [
                Cell(SWITCHES[name].row, float(SWITCHES[name].row)),
                link(f"disagreements.html#{name}", SWITCHES[name].topic),
                tag("code", name),
                Cell(_changed_words(found), float(len(found.changed)) if found.judged else ""),
                claim_links(list(found.changed["id"])),
            ]
        )
        for name, found in readings.changed_by_switch.items()
    ]
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
        paragraph(_other_words(readings.changed_by_protocol, readings.study)),
        table("switches", columns, rows, caption="Each switch changed alone, everything else as in this study"),
    )


def _other_words(other: ChangedVerdicts, study: StudyWords) -> str:
    if study.demonstration:
        return NOT_JUDGED
    if not other.judged:
        return f"The protocol “{study.other}” was not run."
    lost = f" ({counted(other.lost, 'claim')} not run there)" if other.lost else ""
    return (
        f"Under the protocol “{study.other}”, {len(other.changed)} of {counted(other.judged, 'verdict')} "
        f"{'is' if len(other.changed) == 1 else 'are'} different{lost}."
    )


def _changed_words(found: ChangedVerdicts) -> str:
    if not found.touched:
        return NOT_RUN if found.run == NO else found.run
    remark = f", {found.lost} not run" if found.lost else ""
    return f"{len(found.changed)} of {found.judged}{remark}"


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


def _markdown(readings: Readings, frozen: str) -> str:
    study, claims = readings.study, scorecard_csv(readings)
    summary = [f"- {escape_markdown(line)}" for line in (TITLE, *summary_lines(readings))]
    legend = [f"- {SYMBOLS[verdict]} **{verdict}**: {escape_markdown(MEANINGS[verdict])}" for verdict in VERDICTS]
    first = claims[marked(claims, "abstract")]
    return "\n".join(
        [
            "# Scorecard",
            "",
            *summary,
            *(["", escape_markdown(frozen)] if frozen else []),
            "",
            *([to_markdown(_written(first, study), "What abstract and conclusion say.")] if len(first) else []),
            to_markdown(
                _written_switches(readings),
                "What the verdicts depend on: each switch changed alone, everything else as in this study.",
            ),
            to_markdown(
                _written(claims[~marked(claims, "abstract")], study),
                f"All other claims. Verdicts under the protocol {study.protocol}; {study.basis}.",
            ),
            *legend,
            "",
        ]
    )


def _written(claims: pd.DataFrame, study: StudyWords) -> pd.DataFrame:
    records = claims.to_dict("records")
    return pd.DataFrame(
        {
            "Id": claims["id"],
            "Section": claims["section"].map(text),
            "Claim": [text(claim["sentence"]) or claim["claim"] for claim in records],
            "Verdict": [
                f"{SYMBOLS[claim['verdict']]} {claim['verdict']}"
                + (" (by definition)" if is_marked(claim, "by_definition") else "")
                + (" (changed after the run)" if is_marked(claim, "changed_after_run") else "")
                for claim in records
            ],
            "Evidence": claims["explanation"].map(text),
            "Published": claims["published_value"].map(text),
            "Figure": [ARTIFACTS[name].number if name in ARTIFACTS else text(name) for name in claims["figure"]],
            f"Under {study.other}": claims["other_verdict"],
            "Changed by": claims["changed_by"].str.replace(";", ", "),
        }
    )


def _written_switches(readings: Readings) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "Row": switch.row,
                "Switch": switch.name,
                "Disagreement": switch.topic,
                "Verdicts that change": _changed_words(found),
                "Claims": ", ".join(found.changed["id"]),
            }
            for switch, found in zip(SWITCHES.values(), readings.changed_by_switch.values(), strict=True)
        ]
    )
