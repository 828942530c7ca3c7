"""A small drawing of one claim: our estimate, its interval, the limit that the rule sets, the published value."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from qrt.text.page import Html, tag
from qrt.text.words import interval, is_missing, number

WIDTH, HEIGHT = 180, 34
_MIDDLE, _FOOT, _MARGIN = 12, 31, 12  # height of the estimate, of the limit's value; room at both sides
KEY = (
    "Dot: our estimate. Bar: its 95 % interval. Dashed line, with its value: the limit that the claim's rule sets. "
    "Diamond: the published value, where there is one."
)


def strip(claim: Mapping[str, Any]) -> Html:
    """The drawing for one row of the table of verdicts, or nothing where there is no estimate."""
    estimate, low, high, limit, published = (
        _finite(claim[name]) for name in ("estimate", "low", "high", "limit", "published")
    )
    if estimate is None:
        return Html("")
    known = [value for value in (estimate, low, high, limit, published) if value is not None]
    start, stop = min(known), max(known)
    if start == stop:
        start, stop = start - 1, stop + 1

    def x(value: float) -> float:
        return round(_MARGIN + (WIDTH - 2 * _MARGIN) * (value - start) / (stop - start), 1)

    parts = [_line("axis", 0, _MIDDLE, WIDTH, _MIDDLE)]
    if limit is not None:
        parts.append(_line("limit", x(limit), 1, x(limit), _MIDDLE + 9))
        side = "start" if x(limit) < WIDTH / 4 else "end" if x(limit) > 3 * WIDTH / 4 else "middle"
        edge = {"start": x(limit) - 6, "end": x(limit) + 6, "middle": x(limit)}[side]
        parts.append(tag("text", number(limit, 2), x=round(edge, 1), y=_FOOT, text_anchor=side))
    if low is not None and high is not None:
        parts.append(_line("interval", x(low), _MIDDLE, x(high), _MIDDLE))
    if published is not None:
        at = x(published)
        points = f"{at},{_MIDDLE - 6} {at + 5:.1f},{_MIDDLE} {at},{_MIDDLE + 6} {at - 5:.1f},{_MIDDLE}"
        parts.append(tag("polygon", points=points, class_="published"))
    parts.append(tag("circle", cx=x(estimate), cy=_MIDDLE, r=4, class_="estimate"))
    words = strip_words(claim)
    return tag(
        "svg", tag("title", words), *parts, viewBox=f"0 0 {WIDTH} {HEIGHT}", width=WIDTH, height=HEIGHT, role="img",
        aria_label=words, class_="strip",
    )  # fmt: skip


def strip_words(claim: Mapping[str, Any]) -> str:
    """The same in words: "estimate 0.7 [0.55, 0.82], limit 0.5, published 0.66"."""
    parts = [f"estimate {number(claim['estimate'])} {interval(claim['low'], claim['high'])}".rstrip()]
    parts += [f"{name} {number(claim[name])}" for name in ("limit", "published") if _finite(claim[name]) is not None]
    return ", ".join(parts)


def _finite(value: Any) -> float | None:
    return None if is_missing(value) or not math.isfinite(float(value)) else float(value)


def _line(look: str, x1: float, y1: float, x2: float, y2: float) -> Html:
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=look)
