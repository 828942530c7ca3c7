"""From what the networks say to rows of result tables."""
