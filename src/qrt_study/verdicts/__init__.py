"""The claims of the paper as data, the rules that decide them, and their verdicts."""
