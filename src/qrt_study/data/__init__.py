"""Data: where it comes from, what is done to it, and how it is split."""
