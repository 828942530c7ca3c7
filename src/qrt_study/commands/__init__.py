"""The commands of `python -m qrt`, by stage of the workflow."""
