"""The error of the estimators: a message for people that scikit-learn's tools recognise, too."""

from __future__ import annotations

from qrt.errors import UserError


class UnusableInput(UserError, ValueError):
    """Data, a parameter or a file that cannot be used: the message says what, where, and what would be right.

    It is a `ValueError`, which scikit-learn's tools expect, and a `UserError`, which the command line prints without a
    traceback.
    """
