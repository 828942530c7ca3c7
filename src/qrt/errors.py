"""Errors that are meant for people."""


class UserError(Exception):
    """Something the user can mend: the message says what was wrong, where, and what would be right.

    The command line prints the message without a traceback and exits with status 2.
    """
