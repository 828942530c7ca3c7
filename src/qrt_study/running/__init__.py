"""What keeps a run alive: attempts, fingerprints, interruption, status."""
