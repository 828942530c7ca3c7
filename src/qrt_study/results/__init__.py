"""From the networks' outputs to rows of result tables."""
