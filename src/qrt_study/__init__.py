"""The replication of *Probabilistic Calibration by Design for Neural Network Regression*."""
