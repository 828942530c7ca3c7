"""Wording and formats for people."""
