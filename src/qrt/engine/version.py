"""The version of training; torch-free, since the workflow asks for it.

A change that moves a golden network (tests/golden/networks.json) gets a new number, and the study trains again. Other
changes need nothing.
"""

from __future__ import annotations

TRAINING_VERSION = 1
