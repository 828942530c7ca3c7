"""Hand-made verdicts, key numbers and agreements, for the tests of the pages."""

from __future__ import annotations

import numpy as np
import pandas as pd

from qrt_study import published
from qrt_study.pages.changed_differences import changed_differences
from qrt_study.pages.study_words import StudyWords
from qrt_study.plan.protocol import PROTOCOLS
from qrt_study.plan.switches import SWITCHES
from qrt_study.statistics.agreement import Agreement, agreement_statistics, figure1_agreement, time_agreement
from qrt_study.statistics.switch_seeds import switch_differences
from qrt_study.verdicts.claim import paper_claims
from qrt_study.verdicts.judge import COLUMNS
from qrt_study.verdicts.verdict import VERDICTS

DEMONSTRATION = "demonstration: short training on embedded data, no statement about the paper"
HOSTILE = "<img src=x onerror=alert(1)>"
ON_TRAINING = ("kernel_width", "bandwidth_grid", "lambda_grid", "resnet")
BY_DEFINITION = ("C18", "C26", "C146")
CHANGED_AFTER_RUN = ("C36",)
ABSTRACT = 12  # claims of abstract and conclusion: here the first ones
_WORDS = np.array(VERDICTS)


def mock_study(*, hostile: bool = False, demonstration: bool = False) -> StudyWords:
    """A study of six datasets under the released protocol."""
    words = f"released ({HOSTILE} changed)" if hostile else "released"
    return StudyWords(
        words,
        "paper",
        PROTOCOLS["released"],
        datasets=6,
        asked=7,
        of_paper=0 if demonstration else 5,
        splits=5,
        demonstration=DEMONSTRATION if demonstration else "",
    )


def mock_verdicts(claims: int | None = None, seed: int = 0, *, hostile: bool = False) -> pd.DataFrame:
    """A verdict on each claim of the paper (or the first few) under all readings.

    The study's are drawn; other readings change some of them. Switches that act on training were not run.
    """
    generator = np.random.default_rng(seed)
    own = _own(generator, claims)
    if hostile:
        for column in ("explanation", "short", "sentence"):
            own[column] += f" [{HOSTILE} | not in the paper]"
    tables = [own.assign(reading="study")]
    for reading, share in (("other", 0.15), *((name, 0.03) for name in SWITCHES)):
        word = own["verdict"].where(generator.random(len(own)) > share, generator.choice(_WORDS[:-1], len(own)))
        word = word.where(own["verdict"] != "not run", "not run")
        tables.append(own.assign(reading=reading, verdict="not run" if reading in ON_TRAINING else word))
    return pd.concat(tables, ignore_index=True)


def _own(generator: np.random.Generator, count: int | None) -> pd.DataFrame:
    rows: list[dict[str, object]] = []
    for claim in paper_claims()[:count]:
        word = str(generator.choice(_WORDS, p=[0.4, 0.15, 0.15, 0.05, 0.1, 0.15]))
        facts = {name: getattr(claim, name) for name in COLUMNS if hasattr(claim, name)} | {
            "statement": f"{claim.section} {claim.figure}",
            "sentence": f"{claim.claim}.",
            "abstract": len(rows) < ABSTRACT,
            "by_definition": claim.id in BY_DEFINITION,
            "changed_after_run": claim.id in CHANGED_AFTER_RUN,
            "claims_checksum": "0123456789ab",
        }
        rows.append(facts | {"verdict": word} | _evidence(generator, word, claim.left, claim.right, claim.metric))
    return pd.DataFrame(rows).reindex(columns=list(COLUMNS))


def _evidence(generator: np.random.Generator, word: str, left: str, right: str, metric: str) -> dict[str, object]:
    if word == "not run":
        reason = "The experiment posthoc_map is not among the results."
        return {"explanation": reason, "short": reason, "datasets": 0, "splits": 0}
    lower, p_value = int(generator.integers(0, 45)), float(generator.random() ** 3)
    share = lower / 44
    return {
        "explanation": f"{left} has the lower {metric} than {right} on {lower} of 44 datasets, the higher on "
        f"{44 - lower}; mean ranks 1.39 and 2.14, Holm-corrected Wilcoxon p = {p_value:.2g}",
        "short": f"{left} has the lower {metric} on {lower} of 44 datasets.",
        "limit": 0.5,
        "published": 31 / 44 if lower % 2 else np.nan,
        "estimate": share,
        "quantity": f"share of datasets where {left} has the lower {metric} than {right}",
        "low": max(0.0, share - 0.14),
        "high": min(1.0, share + 0.14),
        "p_value": p_value,
        "datasets": 44,
        "datasets_for": lower,
        "datasets_against": 44 - lower,
        "splits": 5,
        "smallest_detectable": 0.7,
        "detectable": "share of datasets on one side that a sign test at Holm's strictest level finds significant",
    }


def mock_differences() -> pd.DataFrame:
    """Test NLL minus that of BASE under the study and two switches, of which `x_scale` changes two datasets."""
    study = pd.DataFrame(
        {
            "reading": "study",
            "method": ["QRC", "QRTC", "QRTC", "QRTC"],
            "dataset": ["Yacht", "Yacht", "boston", "a study of <mine>"],
            "difference": [-0.25, -0.9, 0.0, 0.125],
            "standard_error": 0.05,
            "splits": 5,
        }
    )
    scaled = study.assign(reading="x_scale", difference=[-0.25, -0.65, 0.5, 0.125])
    return pd.concat([study, scaled, study.assign(reading="metric_rows")], ignore_index=True)


def mock_by_dataset() -> pd.DataFrame:
    """What the switches change on single datasets."""
    return changed_differences(mock_differences(), switch_differences({}, "study", "nll"))


def mock_key_numbers(seed: int = 0) -> pd.DataFrame:
    """Key numbers of the study, with SD and PCE that change where their switch is changed; none for unrun readings."""
    generator = np.random.default_rng(seed)
    rows = []
    for metric in ("NLL", "PCE", "CRPS", "SD"):
        for number, method in enumerate(("QRC", "QREGC", "QRTC")):
            value = -0.02 * (number + 1) + 0.005 * float(generator.standard_normal())
            rows.append(
                {
                    "metric": metric,
                    "method": method,
                    "baseline": "BASE",
                    "datasets": 44,
                    "median_difference": 3 * value,
                    "median_relative_difference": value,
                    "median_cohens_d": 20 * value,
                    "lower_on": 28 + 3 * number,
                    "mean_rank": 2.6 - 0.4 * number,
                    "baseline_mean_rank": 3.1,
                    "p_holm": 10.0 ** -(number + 1),
                    "significant": number > 0,
                }
            )
    own = pd.DataFrame(rows)
    tables = [own.assign(reading="study"), own.assign(reading="other", median_relative_difference=-0.01)]
    for name in SWITCHES:
        if name in ON_TRAINING:
            continue
        changed = own.assign(reading=name)
        if name in ("sd", "pce"):
            concerned = changed["metric"] == name.upper()
            values = {"median_relative_difference": 0.03, "lower_on": 15, "mean_rank": 2.9, "baseline_mean_rank": 2.0}
            changed.loc[concerned, list(values)] = list(values.values())
        tables.append(changed)
    return pd.concat(tables, ignore_index=True)


def mock_agreements(*, hostile: bool = False) -> tuple[Agreement, Agreement, Agreement]:
    """Figure 2, Table 2 and Figure 1: the published values, shaken."""
    generator = np.random.default_rng(0)
    paper, table2, marks = published.figure2(), published.table2(), published.figure1_marks()
    if hostile:
        paper, table2, marks = (table.replace({"dataset": {"Yacht": HOSTILE}}) for table in (paper, table2, marks))
    ours = paper.rename(columns={"standard_error": "difference_standard_error"}).assign(metric="NLL", common_splits=5)
    ours["difference"] += 2 * generator.standard_normal(len(ours)) * ours["difference_standard_error"].clip(upper=1)
    per_split = pd.concat([ours.assign(split=split, baseline="BASE") for split in range(5)])
    per_split["difference"] += 0.1 * (per_split["split"] - 2)
    ratio = table2["time_per_epoch_QRTC"] / table2["time_per_epoch_BASE"]
    ratios = table2[["dataset"]].assign(ratio=ratio * generator.uniform(0.8, 1.2, len(table2)), published_ratio=ratio)
    selected = marks.assign(part="validation", standard_error=0.1, value=marks["value"] * 1.1)
    return agreement_statistics(ours, paper, per_split), time_agreement(ratios), figure1_agreement(selected, marks)
