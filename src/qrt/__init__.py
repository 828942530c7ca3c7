"""Replication of *Probabilistic Calibration by Design for Neural Network Regression* (AISTATS 2024)."""

__version__ = "0.1.0"
