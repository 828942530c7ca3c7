"""Text that means harm, and how many examples of it a test takes."""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

HARMFUL = (
    "$(touch X)",
    "`touch X`",
    "a; touch X",
    "a' b\" c",
    "a\ntouch X",
    "../../escape",
    "/etc/passwd",
    "~root",
    "=cmd|' /C calc'!A0",
    "<script>alert(1)</script>",
    "{config}",
    "%s%n",
    "a\x00b",
    "a\x1b[2Jb",
    "\u202egnp.exe",
    "é",
    "\ud800",
    "n" * 5000,
    "",
    " ",
    "-rf",
    "__import__('os').system('touch X')",
    "!!python/object/apply:os.system ['touch X']",
)
quick = settings(
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large],
)

words = st.one_of(st.sampled_from(HARMFUL), st.text(max_size=12))
