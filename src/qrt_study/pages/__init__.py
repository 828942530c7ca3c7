"""Pages that people read: the scorecard, the disagreements, the agreement with the published values, the seeds."""
