"""Numbers and lists as readers like them; what is missing is the empty text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

MINUS = "\N{MINUS SIGN}"


def is_missing(value: Any) -> bool:
    """Is there no value?"""
    return value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value))


def text(value: Any) -> str:
    """The value as it is, or nothing."""
    return "" if is_missing(value) else str(value)


def count(value: Any) -> str:
    """A number of things."""
    return "" if is_missing(value) else str(int(value))


def number(value: Any, digits: int = 3) -> str:
    """A number with `digits` significant digits."""
    if is_missing(value):
        return ""
    value = float(value)
    if np.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    rounded = float(f"{value:.{digits - 1}e}")  # 9.999 has the digits of 10
    decimals = max(0, digits - 1 - int(np.floor(np.log10(abs(rounded))))) if value else 0
    written = f"{value:.{decimals}f}" if 1e-4 <= abs(value) < 1e6 or value == 0 else f"{value:.{digits - 1}e}"
    return written.replace("-", MINUS)


def two_decimals(value: Any) -> str:
    """A number near one, such as a z-value."""
    return "" if is_missing(value) else f"{value:.2f}".replace("-", MINUS)


def percent(value: Any, digits: int = 2) -> str:
    """A share as a percentage."""
    return "" if is_missing(value) else f"{number(100 * float(value), digits)} %"


def p_value(value: Any) -> str:
    """A p-value, with its sign."""
    if is_missing(value):
        return ""
    return "p < 0.0001" if value < 1e-4 else f"p = {number(value, 2)}"


def interval(low: Any, high: Any) -> str:
    """An interval in brackets."""
    return "" if is_missing(low) or is_missing(high) else f"[{number(low)}, {number(high)}]"


def counted(count: int, thing: str) -> str:
    """ "1 claim", "6 claims"."""
    return f"{count} {thing}{'' if count == 1 else 's'}"


def listed(parts: Sequence[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))
