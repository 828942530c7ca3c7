"""One claim on the scorecard: verdict, sentence, what was found, strip; numbers and notes unfold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from qrt.text.page import Content, Html, details, joined, link, tag
from qrt.text.words import count, counted, interval, is_missing, number, p_value, text
from qrt_study.pages.readings import Readings
from qrt_study.pages.strip import strip
from qrt_study.pages.study_words import StudyWords
from qrt_study.plan.artifacts import ARTIFACTS, FIGURES
from qrt_study.plan.switches import SWITCHES
from qrt_study.verdicts.verdict import NOT_RUN

SYMBOLS = {
    "confirmed": "✓",
    "leans confirmed": "↗",
    "inconclusive": "?",
    "leans contradicted": "↘",
    "contradicted": "✗",
    NOT_RUN: "–",
}
REMARKS = {
    "by_definition": "By definition: such a claim cannot fail, so it is counted apart.",
    "changed_after_run": "Changed after the run: the claim or its rule was changed after results existed.",
}


def badge(verdict: str, *, quiet: bool = False) -> Html:
    """A verdict by sign, word and colour."""
    look = f"verdict {verdict_class(verdict)}{' same' if quiet else ''}"
    return tag("span", f"{SYMBOLS[verdict]} {verdict}", class_=look)


def verdict_class(verdict: str) -> str:
    """The verdict as a name in style sheets."""
    return verdict.replace(" ", "-")


def place_in_paper(claim: Mapping[str, Any]) -> str:
    """The first place of the claim in the paper, in words."""
    place = text(claim["section"]).split(";")[0].strip()
    if place[:1].isdigit():
        return f"section {place}"
    return f"appendix {place}" if len(place) == 1 else place.lower()


def is_marked(claim: Mapping[str, Any], mark: str) -> bool:
    """`qrt_study.pages.readings.marked` for one claim."""
    return bool(claim[mark])


def claim_card(claim: dict[str, Any], readings: Readings) -> Html:
    """One claim: verdict, sentence, what was found, strip; numbers and notes unfold."""
    study = readings.study
    verdict, switches = claim["verdict"], readings.switches.get(claim["id"], [])
    marks = ["changed after the run"] if is_marked(claim, "changed_after_run") else []
    if readings.differs(claim) or switches:
        marks.append("depends on the protocol")
    facts = {
        "data_verdict": verdict_class(verdict),
        "data_kind": text(claim["kind"]),
        "data_depends": "yes" if readings.differs(claim) or switches else "no",
    }
    sentence = text(claim["sentence"]) or text(claim["claim"])
    short = "" if study.demonstration else text(claim["short"]) or text(claim["explanation"])
    return tag(
        "article",
        tag("div", _head(claim, study), *(tag("span", mark, class_="mark") for mark in marks), class_="judged"),
        tag(
            "div",
            tag("p", sentence, class_="sentence"),
            tag("p", short, class_="short") if short else "",
            details("Numbers and notes", _notes(claim, readings), class_="notes"),
            class_="said",
        ),
        tag("div", strip(claim), class_="drawn"),
        class_="claim",
        id=claim["id"],
        **facts,
    )


def _head(claim: Mapping[str, Any], study: StudyWords) -> Html:
    """The verdict; of a claim that cannot fail it would be idle, unless it did fail."""
    cannot_fail = is_marked(claim, "by_definition") and claim["verdict"] in {"confirmed", NOT_RUN}
    if cannot_fail and not study.demonstration:
        return tag("span", "≡ by definition", class_="verdict not-run")
    return badge(claim["verdict"])


def _notes(claim: dict[str, Any], readings: Readings) -> Html:
    """Everything else about a claim, as a list of terms."""
    terms: list[tuple[str, Content]] = [
        ("Claim", f"{claim['id']}: {text(claim['claim'])} ({_claim_words(claim)})"),
        (
            "In the paper",
            joined(filter(None, [place_in_paper(claim), figure_link(text(claim["figure"]), readings.study)]), ", "),
        ),
        ("Found", text(claim["explanation"])),
        ("Estimate", _estimate(claim)),
        ("Limit", number(claim["limit"])),
        ("Published", "; ".join(filter(None, [number(claim["published"]), text(claim["published_value"])]))),
        ("Based on", _based_on(claim)),
        ("Other protocol", _other_protocol(claim, readings)),
        ("Changed by", joined([_switch_link(name) for name in readings.switches.get(claim["id"], [])], ", ")),
        ("Remark", " ".join(words for mark, words in REMARKS.items() if is_marked(claim, mark))),
    ]
    known = [part for term, words in terms if str(words) for part in (tag("dt", term), tag("dd", words))]
    return tag("dl", *known)


def _switch_link(name: str) -> Html:
    return link(f"disagreements.html#{name}", f"row {SWITCHES[name].row}, {SWITCHES[name].topic}")


def _other_protocol(claim: Mapping[str, Any], readings: Readings) -> Content:
    other = readings.other.get(claim["id"], "")
    return (
        joined([badge(other, quiet=not readings.differs(claim)), f" under “{readings.study.other}”"]) if other else ""
    )


def _claim_words(claim: dict[str, Any]) -> str:
    facts = {
        name: text(claim[name]).replace("_", " ") for name in ("left", "relation", "right", "metric", "dataset_set")
    }
    known = {name: fact for name, fact in facts.items() if fact not in ("", "-", "none")}
    sides = " ".join(known[name] for name in ("left", "relation", "right") if name in known)
    parts = [known.get("metric", ""), sides, text(claim["base_model"]), known.get("dataset_set", "")]
    return " · ".join([*filter(None, parts), text(claim["kind"])])


def _estimate(claim: dict[str, Any]) -> str:
    if is_missing(claim["estimate"]):
        return ""
    value = f"{number(claim['estimate'])} {interval(claim['low'], claim['high'])}".rstrip()
    return "; ".join(filter(None, [value, p_value(claim["p_value"]), text(claim["quantity"])]))


def _based_on(claim: dict[str, Any]) -> str:
    if claim["verdict"] == NOT_RUN:
        return ""
    parts = [", ".join(counted(int(claim[f"{thing}s"]), thing) for thing in ("dataset", "split"))]
    if not is_missing(claim["datasets_for"]):
        parts.append(f"{count(claim['datasets_for'])} for, {count(claim['datasets_against'])} against")
    if not is_missing(claim["smallest_detectable"]):
        seen = text(claim["detectable"])
        smallest = f"smallest effect that could have been seen {number(claim['smallest_detectable'], 2)}"
        parts.append(f"{smallest} ({seen})" if seen else smallest)
    return "; ".join(parts)


def figure_link(name: str, study: StudyWords) -> Html | str:
    """The number of a figure or table, as a link to its picture or text where the study has it."""
    if name not in ARTIFACTS:
        return name
    number_ = ARTIFACTS[name].number
    return link(f"{name}.{'png' if name in FIGURES else 'md'}", number_) if name in study.figures else number_


def claim_links(ids: Sequence[str], page: str = "") -> Html:
    """Links to claims."""
    return tag("span", *(link(f"{page}#{claim}", claim) for claim in ids), class_="chips") if ids else Html("")
