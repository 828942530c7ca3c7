"""What is asked for: the configuration, the protocols, the experiments and what they cost."""
