"""The verdict on every claim."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from qrt.claims import rules
from qrt.claims.claim import Claim
from qrt.claims.evidence import PAPER_SETS, Workings
from qrt.claims.measure_rules import Measure, difference_of_medians
from qrt.claims.measures import MEASURES
from qrt.claims.table_rules import dataset_count, map_value
from qrt.claims.verdict import NotRun, Verdict, counted, not_run

COLUMNS: dict[str, str] = {
    "id": "number of the claim",
    "kind": "main, secondary, implied, cited, interpretive, design, data, illustration or resource",
    "section": "of the paper",
    "figure": "artifact to look at; empty: none",
    "claim": "what the paper says",
    "metric": "metric of the claim",
    "left": "one side of the claim",
    "relation": "what is said of left and right",
    "right": "the other side",
    "base_model": "kind of network and number of mixture components",
    "dataset_set": "datasets of the claim: all, non_discrete, discrete, single, simulated or none",
    "rule": "rule that decides",
    "verdict": "confirmed, contradicted, inconclusive or not run",
    "explanation": "why, with the numbers",
    "estimate": "the deciding number",
    "quantity": "what it is",
    "low": "lower end of its interval",
    "high": "upper end of its interval",
    "p_value": "p-value of the deciding test",
    "datasets": "datasets that the verdict stands on",
    "datasets_for": "how many of them speak for the claim's left side",
    "datasets_against": "how many against it",
    "splits": "splits of a typical dataset",
    "smallest_detectable": "smallest effect that could have been seen, in units of the estimate",
    "detectable": "what that is",
    "published_value": "what the paper shows for it",
}


def judge(claims: Iterable[Claim], workings: Workings) -> pd.DataFrame:
    """One row for each claim, in their order: the columns of COLUMNS."""
    rows = []
    for claim in claims:
        verdict = _verdict(claim, workings)
        low, high = verdict.interval or (None, None)
        facts = vars(claim) | vars(verdict) | {"low": low, "high": high}
        rows.append({name: facts[name] for name in COLUMNS})
    numbers = ("estimate", "low", "high", "p_value", "smallest_detectable")
    counts = ("datasets", "datasets_for", "datasets_against", "splits")
    types = dict.fromkeys(numbers, "float64") | dict.fromkeys(counts, "Int64")
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(types)


def _verdict(claim: Claim, workings: Workings) -> Verdict:
    if claim.rule == rules.UNDECIDABLE:
        return not_run(f"no result of this study can decide it: {claim.undecidable_reason}")
    verdict = _settle(claim.rule, claim.settings, workings)
    others = [name for name in workings.evidence.datasets if name not in PAPER_SETS["all"]]
    if others and verdict.verdict != "not run" and verdict.datasets:
        remark = f" [{counted(len(others), 'dataset')} of this study not in the paper]"
        verdict = replace(verdict, explanation=verdict.explanation + remark)
    return verdict


def _settle(rule: str, settings: Mapping[str, Any], workings: Workings) -> Verdict:
    """Apply a rule, or a rule that joins others."""
    if rule in rules.JOINING_RULES:
        verdicts = [_settle(condition["rule"], condition, workings) for condition in rules.conditions(settings)]
        return rules.all_of(verdicts) if rule == "all_of" else rules.any_of(verdicts)
    try:
        if "dataset" in settings:
            _require(settings["dataset"], workings)
        if rule in rules.RANK_RULES:
            return _by_ranks(rule, settings, workings)
        if rule in rules.MEASURE_RULES:
            return _by_measure(rule, settings, workings)
        if rule == dataset_count.__name__:
            return dataset_count(workings.evidence.dataset_table, **_fitting(dataset_count, settings))
        return map_value(workings.table("maps"), **_fitting(map_value, settings))
    except NotRun as missing:
        return not_run(str(missing))


def _by_ranks(rule: str, settings: Mapping[str, Any], workings: Workings) -> Verdict:
    """Methods are named in the figure's way, which calls its baseline BASE or BASE-TRAIN depending on the protocol."""
    name = settings["comparison"]
    function = rules.RANK_RULES[rule]
    stated = _fitting(function, settings)
    listed = [key for key in rules.METHOD_LISTS if key in stated]
    single = [] if "among" in listed else [key for key in ("left", "right") if key in stated]
    for key in listed:
        stated[key] = [workings.compared(name, label).label for label in stated[key]]
    if "against" in listed:
        single.remove("right")
    for key in single:
        stated[key] = workings.compared(name, stated[key]).label
    stated["paper_datasets"] = len(PAPER_SETS[workings.plan(name).dataset_set])
    verdict = function(workings.comparison(name), **stated)
    absent = workings.not_run(name)
    if absent:
        remark = f" (compared without {', '.join(absent)}, not run)"
        verdict = replace(verdict, explanation=verdict.explanation + remark)
    return verdict


def _by_measure(rule: str, settings: Mapping[str, Any], workings: Workings) -> Verdict:
    function = rules.MEASURE_RULES[rule]
    stated = _fitting(function, settings)
    if "paper_datasets" in rules.parameters_of(function):
        stated["paper_datasets"] = len(PAPER_SETS[settings["datasets"]])
    measure = _measure(settings, workings)
    if function is not difference_of_medians:
        return function(measure, **stated)
    than = dict(settings) | settings["than"]
    told_apart = [key for key in ("comparison", "datasets") if key in settings["than"]]
    named = [
        replace(one, what=" ".join([one.what, *(f"({of[key]})" for key in told_apart)]))
        for one, of in ((measure, settings), (_measure(than, workings), than))
    ]
    return function(*named, **stated)


def _measure(settings: Mapping[str, Any], workings: Workings) -> Measure:
    function = MEASURES[settings.get("measure", "difference")]
    return function(workings, **_fitting(function, settings))


def _fitting(function: Any, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that the function takes."""
    return {name: settings[name] for name in rules.parameters_of(function) if name in settings}


def _require(dataset: str, workings: Workings) -> None:
    """Raise NotRun unless the study has data of the dataset."""
    evidence = workings.evidence
    if dataset not in evidence.datasets:
        raise NotRun(f"{dataset} is not in this study")
    table = evidence.dataset_table
    state = table[table["dataset"] == dataset]
    if len(state) and state.iloc[0]["status"] == "unavailable":
        raise NotRun(f"{dataset} is not available: {state.iloc[0]['reason']}")
