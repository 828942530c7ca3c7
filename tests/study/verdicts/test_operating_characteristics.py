"""How often verdicts are right where the truth is known (docs/verdict.md has a longer table)."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from qrt_study.verdicts.claim import Claim, paper_claims
from qrt_study.verdicts.evidence import StudyStatistics
from qrt_study.verdicts.judge import judge
from support.rules_without_effect import WITHOUT_EFFECT
from support.simulated_studies import FIGURE2_CLAIMS, figure2_verdicts, study_without_effect

STUDIES = 40
BETTER = tuple(name for name in FIGURE2_CLAIMS if name != "C68")  # C68: BASE and QRC are level


def test_the_published_figure_2_as_truth_confirms_what_it_is_said_to_show() -> None:
    found = figure2_verdicts(1.0, STUDIES)
    never_refuted = ~found.isin(["contradicted"]).any(axis=1)
    main_confirmed = found[["C52", "C53"]].eq("confirmed")
    leaning = found["C51"].isin(["confirmed", "leans confirmed"])
    assert never_refuted.mean() >= 0.9
    assert (main_confirmed.mean() >= 0.9).all()
    assert leaning.mean() >= 0.9


def test_without_any_effect_figure_2_is_rarely_decided_wrongly() -> None:
    found = figure2_verdicts(0.0, STUDIES)
    wrong = found[list(BETTER)].eq("confirmed")
    assert wrong.mean(axis=None) <= 0.05
    assert found["C68"].eq("contradicted").mean() <= 0.05


def test_the_opposite_of_figure_2_is_contradicted() -> None:
    found = figure2_verdicts(-1.0, STUDIES)
    clear = found[["C07", "C10", "C52", "C53", "C54", "C71"]].eq("contradicted")
    assert (clear.mean() >= 0.9).all()
    assert found["C51"].isin(["contradicted", "leans contradicted"]).mean() >= 0.9


# Rules by themselves, without any effect: at most 5 % wrong.

DRAWS = 200


@pytest.mark.parametrize("rule", sorted(WITHOUT_EFFECT))
def test_without_any_effect_a_rule_errs_in_five_percent_at_most(rule: str) -> None:
    draw, wrong = WITHOUT_EFFECT[rule]
    generator = np.random.default_rng(sorted(WITHOUT_EFFECT).index(rule))
    errors = sum(draw(generator).verdict == wrong for _ in range(DRAWS))
    assert errors / DRAWS <= 0.05


# Whole studies without any effect

NULL_RELATIONS = ("no_significant_difference", "no_trend", "not_better", "similar", "not_worse")


def wrong_without_effect(claim: Claim) -> str:
    """The verdict that would be wrong if no method differed from another."""
    return "contradicted" if claim.relation in NULL_RELATIONS else "confirmed"


def test_whole_studies_without_any_effect_decide_little_wrongly_in_any_family() -> None:
    """The family of a claim is its rule; few claims of a rule may be decided wrongly by chance."""
    claims = [claim for claim in paper_claims() if not claim.by_definition and not claim.needs_no_training]
    tables = [judge(claims, StudyStatistics(study_without_effect(seed))) for seed in range(2)]
    found = pd.concat([table.assign(wrong=[wrong_without_effect(claim) for claim in claims]) for table in tables])
    found = found[found["verdict"] != "not run"]
    of_family = (found["verdict"] == found["wrong"]).groupby(found["rule"]).agg(["sum", "size"])
    assert of_family["size"].sum() > 300
    assert of_family["sum"].sum() / of_family["size"].sum() <= 0.05
    for rule, (wrong, total) in of_family.iterrows():
        assert wrong <= stats.binom.ppf(0.999, total, 0.05), rule
