"""Drawing: statistics in, a matplotlib figure out. No files read, no PyTorch."""
