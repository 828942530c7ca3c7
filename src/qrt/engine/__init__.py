"""The engine: mixtures, calibration maps, networks, training and evaluation."""
