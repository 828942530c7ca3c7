"""From result tables to every number of a figure. No PyTorch, no files."""
