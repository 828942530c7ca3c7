"""From prepared data to what the networks say."""
