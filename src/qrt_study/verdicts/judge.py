"""The verdict on every claim."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from qrt.text.words import counted
from qrt_study.statistics.rank_tests import holm
from qrt_study.verdicts import rules
from qrt_study.verdicts.claim import Claim
from qrt_study.verdicts.evidence import PAPER_SETS, StudyStatistics
from qrt_study.verdicts.frozen import frozen_state
from qrt_study.verdicts.measure_rules import Measure, shift
from qrt_study.verdicts.measures import MEASURES, MEASURES_OF_METHODS, TIME_MEASURES
from qrt_study.verdicts.rank_rules import find_pair, significantly_better
from qrt_study.verdicts.table_rules import dataset_count, map_value
from qrt_study.verdicts.verdict import NOT_RUN, NotRun, Verdict, not_run

COLUMNS: dict[str, str] = {
    "id": "number of the claim",
    "statement": "passage of the paper that it is part of",
    "kind": "main, secondary, implied, cited, interpretive, design, data, illustration or resource",
    "abstract": "whether abstract or conclusion make it",
    "by_definition": "whether it cannot fail, so that it is counted apart",
    "section": "of the paper",
    "figure": "artifact to look at; empty: none",
    "claim": "what the paper says",
    "sentence": "the claim in one short sentence",
    "metric": "metric of the claim",
    "left": "one side of the claim",
    "relation": "what is said of left and right",
    "right": "the other side",
    "base_model": "kind of network and number of mixture components",
    "dataset_set": "datasets of the claim: all, non_discrete, discrete, single, simulated or none",
    "rule": "rule that decides",
    "margin": "margin within which a difference counts as none, with its unit; empty: none",
    "verdict": "confirmed, leans confirmed, inconclusive, leans contradicted, contradicted or not run",
    "short": "what was found, in one short sentence",
    "explanation": "why, with the numbers",
    "estimate": "the deciding number",
    "quantity": "what it is",
    "limit": "limit that the rule sets for the estimate",
    "low": "lower end of its interval",
    "high": "upper end of its interval",
    "published": "the same estimate from the published numbers on the same datasets",
    "p_value": "p-value of the deciding test",
    "datasets": "datasets that the verdict is based on",
    "datasets_for": "how many of them speak for the claim's left side",
    "datasets_against": "how many against it",
    "splits": "splits of a typical dataset",
    "smallest_detectable": "smallest effect that could have been seen, in units of the estimate",
    "detectable": "what that is",
    "published_value": "what the paper shows for it, in words",
    "changed_after_run": "whether its rule, a parameter, its margin or a golden verdict has changed since the freeze",
    "claims_checksum": "checksum of all claims with their rules, parameters and margins",
}
NUMBERS = ("estimate", "limit", "low", "high", "published", "p_value", "smallest_detectable")
COUNTS = ("datasets", "datasets_for", "datasets_against", "splits")
FLAGS = ("abstract", "by_definition", "changed_after_run")


def judge(claims: Iterable[Claim], study: StudyStatistics) -> pd.DataFrame:
    """One row for each claim, in their order: the columns of COLUMNS."""
    listed = list(claims)
    corrections, frozen = _corrections(listed, study), frozen_state()
    rows = []
    for claim in listed:
        verdict = _verdict(claim, study, corrections.get(claim.id, 1.0))
        low, high = verdict.interval or (None, None)
        shown = {"low": low, "high": high, "sentence": claim.sentence or claim.claim}
        freezing = {"changed_after_run": claim.id in frozen.changed, "claims_checksum": frozen.checksum}
        facts = vars(claim) | vars(verdict) | shown | freezing
        rows.append({name: facts[name] for name in COLUMNS})
    types = dict.fromkeys(NUMBERS, "float64") | dict.fromkeys(COUNTS, "Int64") | dict.fromkeys(FLAGS, "bool")
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(types)


def _verdict(claim: Claim, study: StudyStatistics, correction: float) -> Verdict:
    if claim.rule == rules.UNDECIDABLE:
        return not_run(f"no result of this study can decide it: {claim.undecidable_reason}")
    if study.evidence.demonstration and not claim.needs_no_training:
        return not_run(study.evidence.demonstration)
    verdict = _settle(claim.rule, claim.settings | {"correction": correction}, study)
    if verdict.verdict == NOT_RUN or verdict.datasets < 2 or claim.rule == dataset_count.__name__:
        return verdict
    return replace(verdict, explanation=verdict.explanation + _remark(claim, verdict, study))


def _remark(claim: Claim, verdict: Verdict, study: StudyStatistics) -> str:
    """How many of the paper's datasets the verdict is about."""
    paper = len(PAPER_SETS.get(claim.dataset_set, PAPER_SETS["all"]))
    others = [name for name in study.evidence.datasets if name not in PAPER_SETS["all"]]
    if others:
        return f" [{counted(len(others), 'dataset')} of this study not in the paper, which has {paper}]"
    return f" [{verdict.datasets} of the paper's {paper} datasets]"


def _corrections(claims: Sequence[Claim], study: StudyStatistics) -> dict[str, float]:
    """What Holm's procedure multiplies the p-value of each claim by, over the significant differences of a passage."""
    passages: dict[str, dict[str, float]] = {}
    for claim in claims:
        if claim.rule == significantly_better.__name__ and not study.evidence.demonstration:
            try:
                settings = claim.settings
                name = settings["comparison"]
                left, right = (study.compared(name, settings[side]).label for side in ("left", "right"))
                pair = find_pair(study.comparison(name, settings["metric"]), settings["metric"], left, right)
            except NotRun:
                continue
            passages.setdefault(claim.statement, {})[claim.id] = pair.p_value
    corrections: dict[str, float] = {}
    for p_values in passages.values():
        corrected = holm(np.array(list(p_values.values())))
        both = zip(p_values.items(), corrected, strict=True)
        corrections |= {name: float(after / before) for (name, before), after in both if before > 0}
    return corrections


def _settle(rule: str, settings: Mapping[str, Any], study: StudyStatistics) -> Verdict:
    """Apply a rule, or a rule that joins others. Readings that agree on what the rule looks at share its verdict."""
    if rule in rules.JOINING_RULES:
        verdicts = [_settle(condition["rule"], condition, study) for condition in rules.conditions(settings)]
        return rules.all_of(verdicts) if rule == "all_of" else rules.any_of(verdicts)
    key = rule, json.dumps(settings), _looked_at(rule, settings, study)
    if key not in study.verdicts:
        study.verdicts[key] = _found(rule, settings, study)
    return study.verdicts[key]


def _looked_at(rule: str, settings: Mapping[str, Any], study: StudyStatistics) -> tuple[Any, ...]:
    """All that the verdict of a rule depends on besides its settings, as far as readings differ in it."""
    if rule in rules.TABLE_RULES:
        return (study.evidence.maps is None,)
    if rule in rules.RANK_RULES:
        return study.looked_at(settings["comparison"], settings["metric"])
    name = settings.get("measure", "difference")
    if name in TIME_MEASURES:
        return (study.evidence.protocol.time_per_epoch,)
    if name in MEASURES_OF_METHODS:
        return study.content(*MEASURES_OF_METHODS[name])
    sides = [settings, {**settings, **settings.get("than", {})}]
    return tuple(study.looked_at(*(one[key] for key in ("comparison", "metric", "left", "right"))) for one in sides)


def _found(rule: str, settings: Mapping[str, Any], study: StudyStatistics) -> Verdict:
    try:
        if "dataset" in settings:
            _require(settings["dataset"], study)
        if rule in rules.RANK_RULES:
            return _by_ranks(rule, settings, study)
        if rule in rules.MEASURE_RULES:
            return _by_measure(rule, settings, study)
        if rule == dataset_count.__name__:
            return dataset_count(study.evidence.dataset_table, **_fitting(dataset_count, settings))
        return map_value(study.table("maps"), **_fitting(map_value, settings))
    except NotRun as missing:
        return not_run(str(missing))


def _by_ranks(rule: str, settings: Mapping[str, Any], study: StudyStatistics) -> Verdict:
    """Methods are named in the figure's way, which calls its baseline BASE or BASE-TRAIN depending on the protocol."""
    name = settings["comparison"]
    function = rules.RANK_RULES[rule]
    stated = _fitting(function, settings)
    listed = [key for key in rules.METHOD_LISTS if key in stated]
    single = [] if "among" in listed else [key for key in ("left", "right") if key in stated]
    for key in listed:
        stated[key] = [study.compared(name, label).label for label in stated[key]]
    if "against" in listed:
        single.remove("right")
    for key in single:
        stated[key] = study.compared(name, stated[key]).label
    if "published" in rules.parameters_of(function):
        stated["published"] = study.published(name)
    verdict = function(study.comparison(name, settings["metric"]), **stated)
    absent = study.not_run(name)
    if absent:
        remark = f" (compared without {', '.join(absent)}, not run)"
        verdict = replace(verdict, explanation=verdict.explanation + remark)
    return verdict


def _by_measure(rule: str, settings: Mapping[str, Any], study: StudyStatistics) -> Verdict:
    function = rules.MEASURE_RULES[rule]
    stated = _fitting(function, settings)
    measure = _measure(settings, study)
    if function is not shift:
        return function(measure, **stated)
    than = dict(settings) | settings["than"]
    told_apart = [key for key in ("comparison", "datasets") if key in settings["than"]]
    named = [
        replace(one, what=" ".join([one.what, *(f"({of[key]})" for key in told_apart)]))
        for one, of in ((measure, settings), (_measure(than, study), than))
    ]
    return function(*named, **stated)


def _measure(settings: Mapping[str, Any], study: StudyStatistics) -> Measure:
    name = settings.get("measure", "difference")
    function = MEASURES[name]
    stated = _fitting(function, settings)
    return study.once("measure", name, *sorted(stated.items()), compute=lambda: function(study, **stated))


def _fitting(function: Any, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that the function takes."""
    return {name: settings[name] for name in rules.parameters_of(function) if name in settings}


def _require(dataset: str, study: StudyStatistics) -> None:
    """Raise NotRun unless the study has data of the dataset."""
    evidence = study.evidence
    if dataset not in evidence.datasets:
        raise NotRun(f"{dataset} is not in this study")
    table = evidence.dataset_table
    state = table[table["dataset"] == dataset]
    if len(state) and state.iloc[0]["status"] == "unavailable":
        raise NotRun(f"{dataset} is not available: {state.iloc[0]['reason']}")
