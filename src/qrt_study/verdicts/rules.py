"""The closed set of rules by which claims are decided: their names, and what they may be given."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from types import ModuleType
from typing import Any

from qrt.errors import UserError
from qrt_study.plan.artifacts import COMPARISONS
from qrt_study.verdicts import measure_rules, rank_rules, table_rules
from qrt_study.verdicts.evidence import PAPER_SETS
from qrt_study.verdicts.measures import MEASURES
from qrt_study.verdicts.range import Range
from qrt_study.verdicts.verdict import Verdict, Word

Rule = Callable[..., Verdict]


def _rules_of(module: ModuleType) -> dict[str, Rule]:
    """The public functions of a module that come to a verdict."""
    return {
        name: function
        for name, function in vars(module).items()
        if inspect.isfunction(function)
        and function.__module__ == module.__name__
        and not name.startswith("_")
        and function.__annotations__["return"] == Verdict.__name__
    }


RANK_RULES = _rules_of(rank_rules)  # decided by the rank tests of a comparison
# Decided by a measure, named by the parameter `measure`; `shift` by two, the second in the parameter `than`.
MEASURE_RULES = _rules_of(measure_rules)
TABLE_RULES = _rules_of(table_rules)
JOINING_RULES = ("all_of", "any_of")
UNDECIDABLE = "undecidable"
RULES = (*RANK_RULES, *MEASURE_RULES, *TABLE_RULES, *JOINING_RULES, UNDECIDABLE)

# Parameters that are lists of methods of the comparison.
METHOD_LISTS = ("best", "among", "against", "methods")
_RANGES = ("values", "share", "median", "difference", "value", "correlation", "count")
# What a condition has from its claim unless it says otherwise, and what the study adds.
_FROM_CLAIM = ("comparison", "metric", "left", "right", "datasets")
_FROM_STUDY = ("published", "correction")


def all_of(verdicts: Sequence[Verdict]) -> Verdict:
    """All conditions hold. One that does not contradicts the claim; one that is open leaves it open."""
    return _joined(
        verdicts,
        ("contradicted", "not run", "leans contradicted", "inconclusive", "leans confirmed", "confirmed"),
    )


def any_of(verdicts: Sequence[Verdict]) -> Verdict:
    """At least one condition holds. The claim is contradicted only if each of them is."""
    return _joined(
        verdicts,
        ("confirmed", "leans confirmed", "inconclusive", "not run", "leans contradicted", "contradicted"),
    )


def _joined(verdicts: Sequence[Verdict], strongest_first: Sequence[Word]) -> Verdict:
    """The strongest verdict, with the evidence of the first condition that has it and the sentences of all."""
    deciding = min(verdicts, key=lambda verdict: strongest_first.index(verdict.verdict))
    sentences = "; ".join(dict.fromkeys(f"{verdict.verdict}: {verdict.explanation}" for verdict in verdicts))
    short = f"{deciding.short.removesuffix('.')} (decides among {len(verdicts)} conditions)."
    return replace(deciding, explanation=sentences, short=short)


@cache
def parameters_of(function: Callable[..., Any]) -> dict[str, bool]:
    """The named parameters of a rule or measure, and whether each is required."""
    return {
        name: parameter.default is inspect.Parameter.empty
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }


def check(rule: str, settings: Mapping[str, Any]) -> None:
    """Raise UserError unless the rule is known and the settings (claim and parameters together) fit it."""
    if rule not in RULES:
        raise UserError(f"unknown rule {rule!r}; known are {', '.join(RULES)}")
    if rule in JOINING_RULES:
        for condition in _conditions(rule, settings):
            check(condition["rule"], condition)
        return
    if rule != UNDECIDABLE:
        _check_settings(rule, settings)


def conditions(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The conditions of a joining rule; each has what its claim has and it does not say otherwise."""
    common = {name: value for name, value in settings.items() if name != "conditions"}
    return [common | dict(condition) for condition in settings["conditions"]]


def single_conditions(settings: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The conditions of rules that join others, taken apart: all that is not joined itself."""
    if settings["rule"] not in JOINING_RULES:
        yield dict(settings)
        return
    for condition in conditions(settings):
        yield from single_conditions(condition)


def _conditions(rule: str, settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    stated = settings.get("conditions")
    if not isinstance(stated, list) or len(stated) < 2 or not all("rule" in condition for condition in stated):
        raise UserError(f"{rule} needs the parameter `conditions`: a list of two or more, each with its rule")
    return conditions(settings)


def _check_settings(rule: str, settings: Mapping[str, Any]) -> None:
    functions = list(_functions(rule, settings))
    known = {name for function in functions for name in parameters_of(function)}
    own = {"rule", "measure", "than", "margin", *_FROM_CLAIM, *known}
    unknown = set(settings) - own
    if unknown:
        raise UserError(
            f"{rule} does not know the parameter {sorted(unknown)[0]!r}; it knows {', '.join(sorted(known))}"
        )
    for function in functions:
        for name, required in parameters_of(function).items():
            if required and name not in _FROM_STUDY and name not in settings:
                raise UserError(f"{rule} needs the parameter {name!r}")
    for name in _RANGES:
        if name in settings:
            Range.parse(settings[name])
    if rule == measure_rules.shift.__name__ and not {"difference", "margin"} & set(settings):
        raise UserError(f"{rule} needs the parameter 'difference' or a margin")
    needs_comparison = rule in RANK_RULES or "comparison" in known
    if needs_comparison and not is_comparison(settings["comparison"]):
        raise UserError(f"{rule}: {settings['comparison']!r} is not a comparison of methods over datasets")
    if "datasets" in known and settings["datasets"] not in PAPER_SETS:
        raise UserError(f"{rule}: {settings['datasets']!r} is not a group of datasets")


def _functions(rule: str, settings: Mapping[str, Any]) -> Iterator[Callable[..., Any]]:
    """The rule, and the measures that it judges."""
    yield (RANK_RULES | MEASURE_RULES | TABLE_RULES)[rule]
    if rule in MEASURE_RULES:
        for measured in (settings, settings.get("than", {})):
            name = measured.get(
                "measure", "difference" if measured is settings else settings.get("measure", "difference")
            )
            if name not in MEASURES:
                raise UserError(f"unknown measure {name!r}; known are {', '.join(MEASURES)}")
            yield MEASURES[name]


def is_comparison(name: str) -> bool:
    """Is this a figure that compares methods over datasets, or another comparison that claims are about?"""
    return name in COMPARISONS and COMPARISONS[name].comparison is not None
