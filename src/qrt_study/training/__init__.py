"""From prepared data to the networks' outputs."""
