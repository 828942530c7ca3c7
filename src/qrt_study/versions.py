"""Versions of the stages whose results are dear, beside that of training (`qrt.engine.version`).

A change that moves a golden value (tests/golden/preparation.json, tests/golden/evaluation.json) gets a new number, and
the stage runs again. Cheap stages are fingerprinted instead (`qrt_study.code_version`).
"""

from __future__ import annotations

PREPARATION_VERSION = 1
EVALUATION_VERSION = 1
