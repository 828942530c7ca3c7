"""The table of counted PITs, which the explorer shows. No torch."""

from __future__ import annotations

import numpy as np

BINS = 20
LEVELS = np.arange(1, 40) / 40
HISTOGRAM, RELIABILITY = "histogram", "reliability"
PITS: dict[str, str] = {
    "protocol": "protocol under which the method is tuned",
    "dataset": "name of the dataset",
    "method": "method of the main comparison",
    "splits": "splits whose test rows are pooled",
    "rows": "PITs: one for each test row of each split",
    "effective_rows": "as many independent rows (Kish): a row that comes back in another split tells nothing new",
    "shows": f"{HISTOGRAM}: one of {BINS} bins of equal width; {RELIABILITY}: a level",
    "level": "upper end of the bin, or the level",
    "share": "share of the PITs in the bin, or at or below the level",
    "lower": "a calibrated model's share for as many independent rows is at least this with probability 0.975",
    "upper": "and at most this, each bin and level on its own (binomial)",
}
