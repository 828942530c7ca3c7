"""Text for a terminal: whatever the file of a stranger says has no say over it."""

from __future__ import annotations


def printable(text: str, keep: str = "\n") -> str:
    """`text` with escapes in place of control characters, but for those to keep."""
    return "".join(sign if sign.isprintable() or sign in keep else repr(sign)[1:-1] for sign in text)
